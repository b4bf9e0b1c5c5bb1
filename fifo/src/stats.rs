//! What the ring counts, by star's definitions.
//!
//! Each counter has one writer, so adding to it is a load and a store and takes no locked instruction; a [`Monitor`]
//! may read them at any time and from any thread. They order nothing, so they are std's atomics under loom too.

use crate::ring::Ring;
use crate::sync::Arc;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The numbers of one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Puts: each adds up to one record. A record that arrives in several pieces is one put, and several that arrive
    /// in one piece are as many, so this is `put_bytes` in records, the last one perhaps begun and not full.
    pub puts: u64,
    /// Gets: each removes what the consumer asked for in one step. Taking nothing is no get.
    pub gets: u64,
    /// How many times the consumer went to sleep for want of bytes.
    pub empty: u64,
    /// How many times the producer went to sleep for want of room.
    pub full: u64,
    /// The largest fill there was after a commit.
    pub max_fill_bytes: u64,
    /// The fill now: bytes put and not given back, those held by spans and behind them included.
    pub fill_bytes: u64,
    /// The size of the ring, which is the most it can hold.
    pub size_bytes: u64,
    /// All bytes put so far.
    pub put_bytes: u64,
    /// How many full records that is.
    pub full_records: u64,
    /// The bytes put after the last full record.
    pub partial_bytes: u64,
    /// How long the consumer slept for want of bytes, waits that are over.
    pub wait_empty: Duration,
    /// How long the producer slept for want of room, waits that are over.
    pub wait_full: Duration,
}

/// Reads the statistics of a ring that others use, from any thread.
///
/// It keeps the memory of the ring, not only its numbers, alive.
#[derive(Clone)]
pub struct Monitor(pub(crate) Arc<Ring>);

impl Monitor {
    /// The numbers of this moment. While both sides run they are not all of the same instant.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Monitor").field(&self.stats()).finish()
    }
}

/// A number with one writer.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// For the one writer.
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.get() + n, Relaxed);
    }

    /// For the one writer.
    pub(crate) fn raise_to(&self, n: u64) {
        if n > self.get() {
            self.0.store(n, Relaxed);
        }
    }
}

/// Sleeps of one side and how long they were.
#[derive(Debug, Default)]
pub(crate) struct Sleeps {
    count: Counter,
    nanoseconds: Counter,
}

impl Sleeps {
    pub(crate) fn begin(&self) {
        self.count.add(1);
    }

    pub(crate) fn end(&self, slept: Duration) {
        // 2^64 nanoseconds are 584 years.
        let nanoseconds = u64::try_from(slept.as_nanos()).unwrap_or(u64::MAX / 2);
        self.nanoseconds.add(nanoseconds);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.get())
    }
}
