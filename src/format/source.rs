//! Where a parser's bytes come from: contiguous, looked at in place, handed out in spans.

use std::io;

use crate::error::Complaint;
use crate::member::Format;

/// Plain archive bytes, seen from the consumer's side.
///
/// The ring of the `fifo` crate is one (through the engine), a plain file that can seek is another, a byte slice a third.
pub trait Source {
    /// A piece that was handed out: readable in place, on any thread, until it is dropped.
    type Span: AsRef<[u8]> + Send + Sync + 'static;

    /// The largest `n` that [`Source::at_least`] and [`Source::span`] serve in one piece, in bytes.
    fn limit(&self) -> usize;

    /// Waits until `n` bytes are there and gives all that are; fewer than `n` only at the end of the input.
    ///
    /// # Errors
    /// The input cannot be read or decompressed; the same error again at every later call.
    fn at_least(&mut self, n: usize) -> io::Result<&[u8]>;

    /// Drops the first `n` bytes, which were seen with [`Source::at_least`].
    fn consume(&mut self, n: usize);

    /// Hands out the first `n` bytes, which were seen with [`Source::at_least`].
    fn span(&mut self, n: usize) -> Self::Span;

    /// Passes over `n` bytes, by seeking where that is possible; gives how many there were (fewer only at the end).
    ///
    /// # Errors
    /// As [`Source::at_least`].
    fn skip(&mut self, n: u64) -> io::Result<u64>;

    /// Whether [`Source::at_least`] with this `n` would have to sleep now.
    fn would_wait(&self, n: usize) -> bool;

    /// Goes on with the volume after this one, whose bytes are used up; false where there is none.
    ///
    /// `format` is that of the last header, which who changes the volumes may want to know.
    ///
    /// # Errors
    /// There has to be one and it cannot be had.
    fn next_volume(&mut self, format: Format) -> io::Result<bool> {
        let _ = format;
        Ok(false)
    }

    /// What is to be said about the volume that was opened last.
    fn remark(&mut self, complaint: Complaint) {
        drop(complaint);
    }

    /// `hook` is called before each sleep of [`Source::at_least`] and [`Source::skip`]: whoever holds spans back hands
    /// them on there, since their room may be what the input waits for. Sources that never sleep ignore it.
    fn before_sleep(&mut self, hook: Box<dyn FnMut()>) {
        drop(hook);
    }
}
