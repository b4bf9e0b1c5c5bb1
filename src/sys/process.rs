//! Waiting for a child together with what it has used, and ending it.
//!
//! The standard library's wait tells nothing about processor time and memory; wait4(2) does.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// What a child and its own children have used, as far as they were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in user mode.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// The largest resident size of one process, in bytes.
    pub resident_max_bytes: u64,
}

/// Waits for the end of a child without taking note of it: its number stays its own, so it may still be killed.
///
/// # Errors
/// It is no child of this process, or was waited for already.
pub fn wait_for_end(child: &Child) -> io::Result<()> {
    loop {
        // SAFETY: all bits zero are a valid siginfo_t, which the call fills in; it lives across the call.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is valid for writing, and the other arguments are plain numbers.
        let code = unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut info, flags) };
        match code {
            0 => return Ok(()),
            _ => retry(io::Error::last_os_error())?,
        }
    }
}

/// Waits for a child's end and takes note of it: its number may then become another's.
///
/// # Errors
/// It is no child of this process, or was waited for already.
pub fn reap(child: Child) -> io::Result<(ExitStatus, Usage)> {
    let number = number(child.id())?;
    // Dropping it neither waits nor kills.
    drop(child);
    loop {
        let mut status = 0;
        // SAFETY: all bits zero are a valid rusage, which the call fills in.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `status` and `used` are valid for writing and live across the call.
        if unsafe { libc::wait4(number, &raw mut status, 0, &raw mut used) } == number {
            let usage = Usage {
                user: time(used.ru_utime),
                system: time(used.ru_stime),
                // Linux counts it in units of 1024 bytes (getrusage(2)).
                resident_max_bytes: u64::try_from(used.ru_maxrss).unwrap_or(0) * 1024,
            };
            return Ok((ExitStatus::from_raw(status), usage));
        }
        retry(io::Error::last_os_error())?;
    }
}

/// Kills a process group, of which `leader` is the first process. The caller knows that it was not reaped yet.
///
/// # Errors
/// There is no such group any more, or it is somebody else's.
pub fn kill_group(leader: u32) -> io::Result<()> {
    let number = number(leader)?;
    // SAFETY: kill(2) takes plain numbers.
    if unsafe { libc::kill(-number, libc::SIGKILL) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn number(id: u32) -> io::Result<libc::pid_t> {
    // 0 and 1 would mean this group and everything.
    match libc::pid_t::try_from(id) {
        Ok(number) if number > 1 => Ok(number),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn retry(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Interrupted {
        Ok(())
    } else {
        Err(error)
    }
}

fn time(value: libc::timeval) -> Duration {
    let seconds = u64::try_from(value.tv_sec).unwrap_or(0);
    let micros = u64::try_from(value.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    use super::{kill_group, reap, wait_for_end};

    #[test]
    fn a_child_ends_with_its_status_and_its_usage() {
        let child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        wait_for_end(&child).unwrap();
        let (status, usage) = reap(child).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(usage.resident_max_bytes > 0);
    }

    #[test]
    fn a_group_is_killed_with_its_children() {
        // cat waits for input that never comes: only the signal ends the two.
        let mut command = Command::new("sh");
        command.args(["-c", "cat; true"]).process_group(0);
        let child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        kill_group(child.id()).unwrap();
        wait_for_end(&child).unwrap();
        assert_eq!(reap(child).unwrap().0.signal(), Some(9));
    }

    #[test]
    fn nobody_kills_everything() {
        kill_group(0).unwrap_err();
        kill_group(1).unwrap_err();
    }
}
