//! Bytes of the ring that travel, and the ledger of those that are out.
//!
//! Room comes back in ring order whatever the order of the spans: up to the oldest one that is out, or up to where the
//! consumer is if there is none. So the ledger needs only the positions where spans that are out begin. What the
//! consumer has dropped between or behind them, and spans that came back early, leave no trace in it, and its memory is
//! eight bytes for each span that is alive.

use crate::ring::Piece;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;

/// A contiguous piece of the stream, which can be sent to another thread.
///
/// Its room in the ring is taken until it is dropped, on any thread, in any order. It keeps the memory of the ring
/// alive, even after both ends are gone.
pub struct Span(pub(crate) Piece);

impl Deref for Span {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl AsRef<[u8]> for Span {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Span")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Where the spans that are out begin, and where the consumer is.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// In growing order: they are handed out in ring order. Taking one out of the middle moves the shorter side; the
    /// oldest, the usual case, costs nothing.
    starts: VecDeque<u64>,
    /// Up to date only while spans are out: nobody asks otherwise.
    taken: u64,
}

impl Ledger {
    /// How many spans are out.
    pub(crate) fn out(&self) -> usize {
        self.starts.len()
    }

    /// A span from `start` to `end` goes out. It is not empty, so no two begin at the same position.
    pub(crate) fn hand_out(&mut self, start: u64, end: u64) {
        debug_assert!(self.starts.back().is_none_or(|last| *last < start) && start < end);
        self.starts.push_back(start);
        self.taken = end;
    }

    /// The consumer went on to `taken`. Says what is free now if no span is out.
    pub(crate) fn take(&mut self, taken: u64) -> Option<u64> {
        self.taken = taken;
        self.starts.is_empty().then_some(taken)
    }

    /// The span that begins at `start` is back. Says what is free now if that changed.
    pub(crate) fn take_back(&mut self, start: u64) -> Option<u64> {
        let index = self
            .starts
            .binary_search(&start)
            .expect("a span is in the ledger until it is dropped");
        self.starts.remove(index);
        (index == 0).then(|| self.starts.front().copied().unwrap_or(self.taken))
    }
}
