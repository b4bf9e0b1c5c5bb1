//! Signals as messages: a handler that only writes a byte to a pipe, and a watcher that reads it.
//!
//! A handler may call next to nothing. A blocked signal mask with sigwait(3) would let it do more, but children inherit
//! the mask and a decompressor would not end at an interrupt; handlers are reset when a child starts its program.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// The write end of the pipe. Set before a handler is installed, never closed.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// A signal's number.
pub type Signal = i32;

/// The terminal went away.
pub const HANGUP: Signal = libc::SIGHUP;
/// Interrupt from the keyboard.
pub const INTERRUPT: Signal = libc::SIGINT;
/// Quit from the keyboard.
pub const QUIT: Signal = libc::SIGQUIT;
/// Asked to end.
pub const TERMINATE: Signal = libc::SIGTERM;
/// For users.
pub const USER_1: Signal = libc::SIGUSR1;
/// For users.
pub const USER_2: Signal = libc::SIGUSR2;

/// Receives the signals that [`watch`] was asked for.
#[derive(Debug)]
pub struct Watcher {
    pipe: File,
}

impl Watcher {
    /// Waits for the next signal.
    ///
    /// # Errors
    /// The pipe cannot be read.
    pub fn wait(&mut self) -> io::Result<Signal> {
        let mut byte = [0_u8];
        self.pipe.read_exact(&mut byte)?;
        Ok(Signal::from(byte[0]))
    }
}

/// Takes these signals over. One that the caller of the program ignores (nohup) stays ignored.
///
/// # Errors
/// There are no descriptors left for a pipe, or the process already watches signals.
pub fn watch(signals: &[Signal]) -> io::Result<Watcher> {
    let (reader, writer) = io::pipe()?;
    let writer = OwnedFd::from(writer).into_raw_fd();
    if PIPE
        .compare_exchange(-1, writer, Ordering::SeqCst, Ordering::SeqCst)
        .is_err()
    {
        // SAFETY: `writer` came out of an OwnedFd just now and nobody else has it.
        drop(unsafe { OwnedFd::from_raw_fd(writer) });
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    for &signal in signals {
        install(signal)?;
    }
    Ok(Watcher {
        pipe: File::from(OwnedFd::from(reader)),
    })
}

/// Ends the process as this signal ends one by default, so that a shell sees why.
pub fn die_of(signal: Signal) -> ! {
    // SAFETY: SIG_DFL is valid for every signal; raise(3) sends it to this thread, and abort(3) never returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        libc::abort()
    }
}

fn install(signal: Signal) -> io::Result<()> {
    // SAFETY: all bits zero are a valid sigaction (default handler, empty mask, no flags).
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only asks; `old` outlives the call.
    check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut old) })?;
    if old.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }
    // SAFETY: as above.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = handle as extern "C" fn(libc::c_int) as libc::sighandler_t;
    new.sa_flags = libc::SA_RESTART; // nobody expects EINTR from a read of a file
    // SAFETY: `new` is filled in, its handler is async-signal-safe, and a null old action is allowed.
    check(unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) })
}

fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

extern "C" fn handle(signal: libc::c_int) {
    let byte = u8::try_from(signal).unwrap_or(0);
    // SAFETY: write(2) is async-signal-safe, `byte` lives across the call, and errno is put back because the code that
    // was interrupted may be about to read it.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        libc::write(PIPE.load(Ordering::SeqCst), (&raw const byte).cast(), 1);
        *errno = saved;
    }
}

#[cfg(test)]
mod tests {
    use super::{USER_2, watch};

    // One test: a process watches once.
    #[test]
    fn a_signal_arrives_as_a_message() {
        let mut watcher = watch(&[USER_2]).unwrap();
        for _ in 0..2 {
            // SAFETY: the handler for this signal is installed, so raising it ends nothing.
            unsafe { libc::raise(USER_2) };
            assert_eq!(watcher.wait().unwrap(), USER_2);
        }
        watch(&[USER_2]).unwrap_err();
    }
}
