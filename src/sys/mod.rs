//! What only the operating system can say, outside of files: names of users and groups, the umask, limits, cores,
//! signals, children and local time.
//!
//! The standard library has none of these, so they go through libc. Each call is wrapped in a function that is safe
//! for any argument; nobody else in the crate needs unsafe code for them. The room uses no other room.

#![allow(unsafe_code)] // Calls into libc; every block says why it is sound.

pub mod machine;
pub mod names;
pub mod process;
pub mod signal;
pub mod standard;
pub mod time;

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

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

/// The process's umask, left as it is: for whoever starts other programs, which inherit it. 022 where the kernel does not
/// tell (before Linux 4.7).
#[must_use]
pub fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    field
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .unwrap_or(0o022)
}

/// Sets the process's umask.
pub fn set_umask(mask: u32) {
    // SAFETY: umask(2) takes any value, touches no memory and cannot fail.
    unsafe {
        libc::umask(mask & 0o777);
    }
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

/// Makes a pipe hold as much as an ordinary user may ask for (`F_SETPIPE_SZ`, fcntl(2)): fewer wake-ups. Anything else, and
/// a system that does not want to, stays as it is.
pub fn widen_pipe(file: &impl std::os::fd::AsFd) {
    // /proc/sys/fs/pipe-max-size, by default.
    let _ = rustix::pipe::fcntl_setpipe_size(file, 1 << 20);
}

/// This process's number.
#[must_use]
pub fn process() -> u32 {
    std::process::id()
}

/// Makes a write to a pipe that nobody reads an error again.
pub fn ignore_sigpipe() {
    // SAFETY: SIG_IGN is a valid disposition for SIGPIPE, and no handler is installed that this could race with.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Ignores SIGXFSZ: a file that meets the limit on file sizes (`RLIMIT_FSIZE`) is then a failed write with a name, not the
/// end of everything.
pub fn ignore_sigxfsz() {
    // SAFETY: SIG_IGN is a valid disposition for SIGXFSZ, and no handler is installed that this could race with.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
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

/// A file descriptor kept for programs that are started: taken early its number has one digit, and there are shells
/// (dash) that redirect to no other.
#[derive(Debug)]
pub struct KeptDescriptor(OwnedFd);

impl KeptDescriptor {
    /// Takes the lowest number that is free.
    ///
    /// # Errors
    /// What open(2) says.
    pub fn take() -> io::Result<Self> {
        File::open("/dev/null").map(|file| Self(file.into()))
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Makes it the same as `other`, open in every program that is started until [`KeptDescriptor::take_back`].
    ///
    /// # Errors
    /// What dup2(2) says.
    pub fn lend(&mut self, other: &impl AsFd) -> io::Result<()> {
        Ok(rustix::io::dup2(other, &mut self.0)?)
    }

    /// Keeps it from programs again.
    ///
    /// # Errors
    /// What open(2) and dup3(2) say.
    pub fn take_back(&mut self) -> io::Result<()> {
        let nothing = File::open("/dev/null")?;
        Ok(rustix::io::dup3(
            &nothing,
            &mut self.0,
            rustix::io::DupFlags::CLOEXEC,
        )?)
    }
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
