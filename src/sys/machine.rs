//! What a figure has to be read with: processor, memory and kernel.

use std::fs;
use std::num::NonZeroUsize;

/// The machine that a measurement was made on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name as the kernel gives it; its architecture where it gives none.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: NonZeroUsize,
    /// Main memory in bytes; 0 when the kernel does not say.
    pub memory_bytes: u64,
    /// The kernel's name and release.
    pub kernel: String,
}

/// Asks the kernel.
#[must_use]
pub fn machine() -> Machine {
    let system = rustix::system::uname();
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Machine {
        processor: field(&processors, "model name").map_or_else(
            || system.machine().to_string_lossy().into_owned(),
            str::to_owned,
        ),
        cores: super::cores(),
        memory_bytes: field(&memory, "MemTotal").and_then(kilobytes).unwrap_or(0),
        kernel: format!(
            "{} {}",
            system.sysname().to_string_lossy(),
            system.release().to_string_lossy()
        ),
    }
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// `/proc/meminfo` writes kB and means units of 1024 (proc_meminfo(5)).
fn kilobytes(value: &str) -> Option<u64> {
    let number: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{field, kilobytes, machine};

    #[test]
    fn fields_of_proc_are_found() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.0 GHz\nflags\t\t: a b\n";
        assert_eq!(field(text, "model name"), Some("Some CPU @ 2.0 GHz"));
        assert_eq!(field(text, "model"), None);
        assert_eq!(kilobytes("24683652 kB"), Some(25_276_059_648));
        assert_eq!(kilobytes("12"), None);
    }

    #[test]
    fn this_machine_has_a_kernel() {
        let machine = machine();
        assert!(machine.kernel.starts_with("Linux "), "{}", machine.kernel);
        assert!(!machine.processor.is_empty());
        assert!(machine.memory_bytes > 1 << 20);
    }
}
