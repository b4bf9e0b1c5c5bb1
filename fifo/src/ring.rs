//! What both sides share, and where each of them stands.
//!
//! Positions are bytes since the start of the stream, so they only grow (2^64 bytes are out of reach), and
//!
//! ```text
//!     freed <= taken <= put <= freed + size
//! ```
//!
//! `put` is where the producer's bytes end, `taken` is where the consumer is, and everything before `freed` is room
//! again. Bytes between `freed` and `taken` are out in spans or lie behind one. The producer writes into
//! `put .. freed + size` only, everybody else reads from `freed .. put` only, and these two never overlap; that is the
//! whole reason why handing out slices is sound. A side that moves a position stores it with Release after its last
//! access to the bytes it gives away, and the other side loads it with Acquire before its first access to them.
//!
//! A position becomes a place in memory modulo the length of the mapping, which is a whole number of pages and at least
//! `size`. Each side keeps the place beside its position, so nobody divides.
//!
//! [`Tail`], [`Head`] and [`Piece`] keep these rules, so that the files above this one need no unsafe code.
#![allow(unsafe_code, reason = "turns positions into slices")]

use crate::get::Get;
use crate::map::Memory;
use crate::put::Put;
use crate::span::Ledger;
use crate::stats::{Counter, Sleeps, Stats};
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Mutex, lock};
use crate::wait::Waiting;
use std::fmt;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};

/// How large a ring is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The size wanted, in bytes.
    pub size: usize,
    /// The length of a record in bytes, not 0.
    pub record: usize,
}

impl Config {
    /// The size that the ring will have: `size` rounded up to whole records, and at least two of them. With one, the
    /// two sides could only take turns, because the last bytes of a record would keep the next one out.
    ///
    /// ```
    /// assert_eq!(fifo::Config { size: 8 << 20, record: 10240 }.rounded_size(), 8396800);
    /// ```
    pub fn rounded_size(&self) -> usize {
        let record = self.record.max(1);
        self.size.div_ceil(record).max(2).saturating_mul(record)
    }
}

/// Makes a ring and gives its two ends.
///
/// Fails if a record is empty, or if the memory cannot be had.
pub fn ring(config: Config) -> io::Result<(Put, Get)> {
    if config.record == 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a record has no bytes",
        ));
    }
    let size = config.rounded_size();
    let ring = Arc::new(Ring {
        memory: Memory::new(size)?,
        size: size as u64,
        record: config.record as u64,
        put_side: Line(PutSide::default()),
        get_side: Line(GetSide::default()),
        waiting: Line(Waiting::new()),
        end: Mutex::new(None),
        ledger: Mutex::new(Ledger::default()),
    });
    let tail = Tail {
        ring: Arc::clone(&ring),
        place: Place::default(),
        freed: 0,
    };
    let head = Head {
        ring,
        place: Place::default(),
        seen: 0,
    };
    Ok((Put::new(tail), Get::new(head)))
}

/// Keeps what one side writes often off the cache lines of the other; 128 because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Line<T>(T);

impl<T> std::ops::Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Written by the producer only.
#[derive(Debug, Default)]
pub(crate) struct PutSide {
    /// End of the bytes put.
    put: AtomicU64,
    /// Nothing will be put any more; set after the last commit, and after `Ring::end`.
    ended: AtomicBool,
    pub(crate) full: Sleeps,
    max_fill_bytes: Counter,
}

/// Written by the consumer, and `freed` and `spans` also by whoever drops a span.
#[derive(Debug, Default)]
pub(crate) struct GetSide {
    /// End of the bytes that are room again. Written by the consumer while no span is out, else under the ledger's
    /// lock.
    freed: AtomicU64,
    /// How many spans are out. Written under the ledger's lock, after `freed`. Only the consumer raises it, so when
    /// the consumer sees 0 here nobody else will write `freed`.
    spans: AtomicUsize,
    /// The consumer wants no more; written by the consumer.
    aborted: AtomicBool,
    pub(crate) empty: Sleeps,
    pub(crate) gets: Counter,
}

/// What the producer left behind.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// `Put::finish`.
    Clean,
    /// `Put::fail`.
    Failed(std::sync::Arc<io::Error>),
    /// Dropped without a word, as by a panic.
    Gone,
}

/// Everything both ends, all spans and all monitors share.
pub(crate) struct Ring {
    memory: Memory,
    pub(crate) size: u64,
    pub(crate) record: u64,
    pub(crate) put_side: Line<PutSide>,
    pub(crate) get_side: Line<GetSide>,
    pub(crate) waiting: Line<Waiting>,
    /// Written once, by the producer.
    end: Mutex<Option<End>>,
    /// Written by the consumer and by whoever drops a span. Never locked across a system call.
    ledger: Mutex<Ledger>,
}

impl Ring {
    pub(crate) fn put_position(&self) -> u64 {
        self.put_side.put.load(Acquire)
    }

    pub(crate) fn freed_position(&self) -> u64 {
        self.get_side.freed.load(Acquire)
    }

    /// To be asked before `freed_position`: if this says 0, that one says where the last span left it.
    pub(crate) fn spans_out(&self) -> usize {
        self.get_side.spans.load(Acquire)
    }

    /// To be asked before `put_position`: if this says yes, that one gives the last position there will be.
    pub(crate) fn ended(&self) -> bool {
        self.put_side.ended.load(Acquire)
    }

    pub(crate) fn aborted(&self) -> bool {
        self.get_side.aborted.load(Acquire)
    }

    /// The producer's last word.
    pub(crate) fn close(&self, end: End) {
        *lock(&self.end) = Some(end);
        self.put_side.ended.store(true, Release);
        self.stream_ended();
    }

    pub(crate) fn end(&self) -> Option<End> {
        lock(&self.end).clone()
    }

    /// The consumer's last word.
    pub(crate) fn abort(&self) {
        self.get_side.aborted.store(true, Release);
        self.consumer_left();
    }

    pub(crate) fn stats(&self) -> Stats {
        // `put` first: the other order could show more than the ring holds.
        let put = self.put_position();
        let freed = self.freed_position();
        Stats {
            puts: put.div_ceil(self.record),
            gets: self.get_side.gets.get(),
            empty: self.get_side.empty.count(),
            full: self.put_side.full.count(),
            max_fill_bytes: self.put_side.max_fill_bytes.get(),
            fill_bytes: put.saturating_sub(freed),
            size_bytes: self.size,
            put_bytes: put,
            full_records: put / self.record,
            partial_bytes: put % self.record,
            wait_empty: self.get_side.empty.time(),
            wait_full: self.put_side.full.time(),
        }
    }

    fn take_back(&self, start: u64) {
        let freed = {
            let mut ledger = lock(&self.ledger);
            let freed = ledger.take_back(start);
            if let Some(freed) = freed {
                self.get_side.freed.store(freed, Release);
            }
            self.get_side.spans.store(ledger.out(), Release);
            freed
        };
        // A span that was not the first gives no room yet: the one before it will.
        if freed.is_some() {
            self.room_grew();
        }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("size", &self.size)
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

/// A position and its place in memory.
#[derive(Debug, Default)]
struct Place {
    position: u64,
    offset: usize,
}

impl Place {
    /// `n` is not more than the size, which is not more than `len`.
    fn advance(&mut self, n: usize, len: usize) {
        self.position += n as u64;
        self.offset += n;
        if self.offset >= len {
            self.offset -= len;
        }
    }
}

/// Where the producer stands. There is one per ring.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) ring: Arc<Ring>,
    place: Place,
    /// `freed` as it was when last looked at: not more than it is now.
    freed: u64,
}

impl Tail {
    pub(crate) fn position(&self) -> u64 {
        self.place.position
    }

    /// Looks how much room there is.
    pub(crate) fn look(&mut self) -> usize {
        self.freed = self.ring.freed_position();
        self.room_seen()
    }

    /// The room at the last look.
    pub(crate) fn room_seen(&self) -> usize {
        // Not more than the size, which is a usize.
        (self.freed + self.ring.size - self.place.position) as usize
    }

    /// The room at the last look.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let n = self.room_seen();
        // SAFETY: `put .. freed + size` is the producer's alone, and `freed` was loaded with Acquire. This is the
        // producer, of which there is one, and it is borrowed as long as the slice lives.
        unsafe { self.ring.memory.bytes_mut(self.place.offset, n) }
    }

    /// Publishes the first `n` bytes of the room.
    pub(crate) fn advance(&mut self, n: usize) {
        assert!(
            n <= self.room_seen(),
            "commit of {n} bytes into a room of {}",
            self.room_seen()
        );
        // SAFETY: a part of the room, see there.
        unsafe { self.ring.memory.written(self.place.offset, n) };
        self.place.advance(n, self.ring.memory.len());
        let side = &self.ring.put_side;
        side.put.store(self.place.position, Release);
        // A fresh look at `freed`, or the largest fill would be one that never was.
        let fill = self.ring.size - self.look() as u64;
        self.ring.put_side.max_fill_bytes.raise_to(fill);
        self.ring.bytes_grew(self.place.position);
    }
}

/// Where the consumer stands. There is one per ring.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) ring: Arc<Ring>,
    place: Place,
    /// `put` as it was when last looked at: not more than it is now.
    seen: u64,
}

impl Head {
    pub(crate) fn position(&self) -> u64 {
        self.place.position
    }

    /// Looks how much there is to read.
    pub(crate) fn look(&mut self) -> usize {
        self.seen = self.ring.put_position();
        self.bytes_seen()
    }

    /// What there was to read at the last look.
    pub(crate) fn bytes_seen(&self) -> usize {
        // Not more than the size, which is a usize.
        (self.seen - self.place.position) as usize
    }

    /// What there was to read at the last look.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `taken .. put` is written by nobody as long as `freed <= taken`. `put` was loaded with Acquire, and
        // `taken` does not move while the slice borrows from this, the only one who moves it.
        unsafe { self.ring.memory.bytes(self.place.offset, self.bytes_seen()) }
    }

    /// Gives the first `n` bytes back, or lets them lie if a span before them is out.
    pub(crate) fn drop_front(&mut self, n: usize) {
        self.check(n);
        self.place.advance(n, self.ring.memory.len());
        let taken = self.place.position;
        let side = &self.ring.get_side;
        if self.ring.spans_out() == 0 {
            side.freed.store(taken, Release);
        } else {
            let mut ledger = lock(&self.ring.ledger);
            let Some(freed) = ledger.take(taken) else {
                return;
            };
            // The last span came back meanwhile.
            side.freed.store(freed, Release);
        }
        self.ring.room_grew();
    }

    /// Hands the first `n` bytes out.
    pub(crate) fn hand_out(&mut self, n: usize) -> Piece {
        self.check(n);
        let start = self.place.position;
        let piece = Piece {
            ring: Arc::clone(&self.ring),
            start,
            offset: self.place.offset,
            len: n,
        };
        self.place.advance(n, self.ring.memory.len());
        if n > 0 {
            let mut ledger = lock(&self.ring.ledger);
            ledger.hand_out(start, self.place.position);
            self.ring.get_side.spans.store(ledger.out(), Release);
        }
        piece
    }

    /// More may have come since the last look.
    fn check(&mut self, n: usize) {
        if n > self.bytes_seen() {
            let there = self.look();
            assert!(n <= there, "{n} bytes taken of {there}");
        }
    }
}

/// Bytes that were handed out. They are in the ledger until this is dropped.
#[derive(Debug)]
pub(crate) struct Piece {
    ring: Arc<Ring>,
    start: u64,
    offset: usize,
    len: usize,
}

impl Piece {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `freed` does not pass `start` while the ledger knows this piece, so the producer stays away. They
        // were put before the consumer handed them out, and this value came from the consumer.
        unsafe { self.ring.memory.bytes(self.offset, self.len) }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if self.len > 0 {
            self.ring.take_back(self.start);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod checks {
    use super::*;

    impl Ring {
        /// The positions keep their order.
        pub(crate) fn check(&self) {
            // What is older first: both only grow.
            let freed = self.freed_position();
            assert!(freed <= self.put_position());
            let put = self.put_position();
            assert!(put <= self.freed_position() + self.size);
        }
    }
}
