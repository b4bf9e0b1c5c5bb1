//! What only the operating system can say, outside of files: names of users and groups, the umask, limits, cores,
//! signals and local time.
//!
//! The standard library has none of these, so they go through libc. Each call is wrapped in a function that is safe
//! for any argument; nobody else in the crate needs unsafe code for them. The room uses no other room.

#![allow(unsafe_code)] // Calls into libc; every block says why it is sound.

pub mod names;
pub mod signal;
pub mod standard;
pub mod time;

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, poll};

/// Sets the process's umask to 0 and gives back what it was.
///
/// The kernel has no call that only reads it, and between reading it from `/proc` and using it a thread could change
/// it. Whoever wants exact modes needs 0 anyway; the plan carries the value that was in force.
#[must_use]
pub fn take_umask() -> u32 {
    // SAFETY: umask(2) takes any value, touches no memory and cannot fail.
    let previous = unsafe { libc::umask(0) };
    previous & 0o777
}

/// Raises the soft limit of open files to the hard one and gives back the limit now in force.
///
/// Mode group keeps the files of a window open, and 1024, the usual soft limit, is one window.
pub fn raise_open_files() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid rlimit that lives across the call, which writes nothing else.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return 256; // POSIX promises 20; every system that runs this has at least 256.
    }
    if limit.rlim_cur < limit.rlim_max {
        let wanted = libc::rlimit {
            rlim_cur: limit.rlim_max,
            rlim_max: limit.rlim_max,
        };
        // SAFETY: `wanted` is a valid rlimit, only read by the call.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) } == 0 {
            return wanted.rlim_cur;
        }
    }
    limit.rlim_cur
}

/// How many files this process may have open: the soft limit.
#[must_use]
pub fn open_files() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

/// Sleeps until `input` can be read without sleeping (also because it is at its end), or until `stop` can; gives whether
/// it was not `stop`.
///
/// # Errors
/// poll(2) failed.
pub fn readable_before(input: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> io::Result<bool> {
    let mut both = [
        PollFd::from_borrowed_fd(input, PollFlags::IN),
        PollFd::from_borrowed_fd(stop, PollFlags::IN),
    ];
    loop {
        match poll(&mut both, None) {
            Ok(_) => return Ok(both[1].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives SIGPIPE its default again, which Rust's run time takes away: a closed pipe then ends the program quietly, as
/// it ends every other tar.
pub fn reset_sigpipe() {
    // SAFETY: SIG_DFL is a valid disposition for SIGPIPE, and no handler is installed that this could race with.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Whether the process acts as the superuser.
#[must_use]
pub fn is_superuser() -> bool {
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Cores that this process may use, at least 1.
#[must_use]
pub fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::{cores, is_superuser, raise_open_files};

    #[test]
    fn raising_the_limit_twice_gives_the_same() {
        let first = raise_open_files();
        assert!(first >= 256);
        assert_eq!(raise_open_files(), first);
    }

    #[test]
    fn there_is_a_core() {
        assert!(cores().get() >= 1);
        let _ = is_superuser();
    }
}
