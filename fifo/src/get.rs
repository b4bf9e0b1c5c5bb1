//! The consumer's side.

use crate::ring::{End, Head};
use crate::span::Span;
use crate::stats::{Monitor, Stats};
use crate::sync::Arc;
use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Read};

/// Takes bytes from the ring.
///
/// When it is dropped the producer learns that nobody wants any more.
#[derive(Debug)]
pub struct Get {
    pub(crate) head: Head,
}

impl Get {
    pub(crate) fn new(head: Head) -> Get {
        Get { head }
    }

    /// Waits until `n` bytes can be read, and gives all that can be read, in one piece: fewer than `n` only at the end
    /// of the stream. With 0 it never waits.
    ///
    /// Spans that the caller itself keeps take room. It has to hand them on or drop them before it waits for more than
    /// fits beside them, or it waits for ever; spans on other threads are no obstacle.
    ///
    /// # Errors
    ///
    /// That of the producer, once fewer than `n` bytes are left before it, and then again each time; what is left can
    /// still be read by asking for no more than [`available`](Get::available). A producer that is gone without an end is
    /// `UnexpectedEof`. (Not `BrokenPipe`: programs pass over that one in silence, and this one means a part is
    /// missing.) After [`abort`](Get::abort) nothing is waited for any more: `ConnectionAborted`.
    ///
    /// # Panics
    ///
    /// If `n` is more than the size of the ring.
    pub fn at_least(&mut self, n: usize) -> io::Result<&[u8]> {
        let ring = &self.head.ring;
        assert!(
            n as u64 <= ring.size,
            "{n} bytes at once from a fifo of {}",
            ring.size
        );
        if self.head.look() < n {
            let ring = &self.head.ring;
            if !ring.ended() && !ring.aborted() {
                ring.sleep_for_bytes(self.head.position() + n as u64);
            }
            // Once more: the last commit may have come between the look and the end.
            if self.head.look() < n {
                self.end()?;
            }
        }
        Ok(self.head.bytes())
    }

    /// What it means that there are fewer bytes than asked for.
    fn end(&self) -> io::Result<()> {
        match self.head.ring.end() {
            Some(End::Clean) => Ok(()),
            Some(End::Failed(error)) => Err(repeat(error)),
            Some(End::Gone) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the producer of the fifo is gone without an end",
            )),
            None => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    /// How many bytes can be read now.
    pub fn available(&self) -> usize {
        // Not more than the size, which is a usize.
        (self.head.ring.put_position() - self.head.position()) as usize
    }

    /// Whether `at_least(n)` would have to wait now. Time for a caller that gathers work to hand it on.
    pub fn would_wait(&self, n: usize) -> bool {
        // In this order, see `ended`.
        let over = self.head.ring.ended() || self.head.ring.aborted();
        !over && self.available() < n
    }

    /// Drops `n` bytes from the front: one get.
    ///
    /// Their room is free at once, or when the spans before them are dropped.
    ///
    /// # Panics
    ///
    /// If fewer are available.
    pub fn consume(&mut self, n: usize) {
        self.count(n);
        self.head.drop_front(n);
    }

    /// Hands the next `n` bytes out: one get.
    ///
    /// # Panics
    ///
    /// If fewer are available.
    #[must_use = "dropping it gives the bytes back"]
    pub fn span(&mut self, n: usize) -> Span {
        self.count(n);
        Span(self.head.hand_out(n))
    }

    fn count(&self, n: usize) {
        if n > 0 {
            self.head.ring.get_side.gets.add(1);
        }
    }

    /// The size of the ring: the most that can be asked for at once.
    pub fn size(&self) -> usize {
        self.head.ring.size as usize
    }

    /// The numbers so far.
    pub fn stats(&self) -> Stats {
        self.head.ring.stats()
    }

    /// Something that reads the numbers on another thread.
    pub fn monitor(&self) -> Monitor {
        Monitor(Arc::clone(&self.head.ring))
    }

    /// Tells the producer that nobody wants any more, and wakes it if it sleeps. What is in the ring can still be read.
    pub fn abort(&mut self) {
        self.head.ring.abort();
    }
}

impl Drop for Get {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Waits for one byte at least. Each `consume` is one get.
impl BufRead for Get {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.at_least(1)
    }

    fn consume(&mut self, n: usize) {
        Get::consume(self, n);
    }
}

/// Waits for one byte at least. Each `read` is one get.
impl Read for Get {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.at_least(usize::from(!buffer.is_empty()))?;
        let n = bytes.len().min(buffer.len());
        buffer[..n].copy_from_slice(&bytes[..n]);
        self.consume(n);
        Ok(n)
    }
}

/// The same error once more. An `io::Error` cannot be cloned, and what came from the system is its number anyway.
fn repeat(error: std::sync::Arc<io::Error>) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), Repeated(error)),
    }
}

/// Looks like the error it holds.
#[derive(Debug)]
struct Repeated(std::sync::Arc<io::Error>);

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Repeated {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.get_ref().map(|inner| inner as _)
    }
}
