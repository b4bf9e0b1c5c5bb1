//! An archive in memory: for tests, and for small archives that are there already.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::source::Source;

/// A byte slice as a [`Source`]. [`SliceSource::stingy`] makes one that shows few bytes at a time.
#[derive(Clone, Debug)]
pub struct SliceSource {
    bytes: Arc<[u8]>,
    at: usize,
    /// How far a reader can see already.
    seen: usize,
    /// How many bytes come into view at once.
    step: usize,
    limit: usize,
}

/// A piece of a [`SliceSource`].
#[derive(Clone, Debug)]
pub struct SliceSpan {
    bytes: Arc<[u8]>,
    range: Range<usize>,
}

impl AsRef<[u8]> for SliceSpan {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl SliceSource {
    /// All of these bytes, to be seen at once.
    #[must_use]
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            bytes: bytes.into(),
            at: 0,
            seen: 0,
            step: usize::MAX,
            limit: usize::MAX,
        }
    }

    /// The same bytes, `step` of them coming into view at a time and no more than `limit` in one piece, as if they came
    /// through a small pipe and a small ring. `limit` is at least 1024: a header and the block after it.
    #[must_use]
    pub fn stingy(bytes: impl Into<Arc<[u8]>>, step: usize, limit: usize) -> Self {
        Self {
            step: step.max(1),
            limit: limit.max(1024),
            ..Self::new(bytes)
        }
    }
}

impl Source for SliceSource {
    type Span = SliceSpan;

    fn limit(&self) -> usize {
        self.limit
    }

    fn at_least(&mut self, n: usize) -> io::Result<&[u8]> {
        assert!(n <= self.limit, "asked for more than the limit");
        while self.seen < self.bytes.len() && self.seen - self.at < n {
            self.seen = self.seen.saturating_add(self.step).min(self.bytes.len());
        }
        Ok(&self.bytes[self.at..self.seen])
    }

    fn consume(&mut self, n: usize) {
        assert!(n <= self.seen - self.at, "consumed what was not seen");
        self.at += n;
    }

    fn span(&mut self, n: usize) -> SliceSpan {
        let start = self.at;
        self.consume(n);
        SliceSpan {
            bytes: Arc::clone(&self.bytes),
            range: start..start + n,
        }
    }

    fn skip(&mut self, n: u64) -> io::Result<u64> {
        let there = (self.bytes.len() - self.at) as u64;
        let skipped = n.min(there);
        self.at += skipped as usize;
        self.seen = self.seen.max(self.at);
        Ok(skipped)
    }

    fn would_wait(&self, n: usize) -> bool {
        self.seen < self.bytes.len() && self.seen - self.at < n
    }
}
