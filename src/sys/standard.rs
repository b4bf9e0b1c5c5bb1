//! Which standard streams were closed when the program started.
//!
//! Before `main` Rust's run time opens `/dev/null` in the place of a closed one, and then a listing that went nowhere
//! looks like one that was read. So the C library is asked to call a function of ours still before that, as it does with
//! every function in the section `.init_array` (System V ABI, "Initialization and Termination Functions").

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};

/// One bit for each of descriptors 0, 1 and 2. Written once, before `main`.
static CLOSED: AtomicU8 = AtomicU8::new(0);

#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds addresses of functions without arguments that matter; this one allocates nothing and needs
// nothing that Rust's run time sets up.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    for descriptor in 0..3 {
        // SAFETY: F_GETFD takes no third argument and any number; it only looks.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
}

/// Whether standard input (0), output (1) or error (2) was closed when the program started.
#[must_use]
pub fn was_closed(descriptor: u8) -> bool {
    // So that the linker does not leave the function out with the object file it is in.
    #[cfg(target_os = "linux")]
    black_box(&LOOK);
    descriptor < 3 && CLOSED.load(Ordering::Relaxed) >> descriptor & 1 == 1
}

/// The error of a call on a closed descriptor.
#[must_use]
pub fn bad_descriptor() -> std::io::Error {
    std::io::Error::from_raw_os_error(libc::EBADF)
}
