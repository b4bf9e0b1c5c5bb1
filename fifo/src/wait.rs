//! Sleeping and waking.
//!
//! Nobody spins, and nobody makes a system call to wake a side that does not sleep. Each side, before it sleeps,
//! publishes the position at which it wants to be woken; whoever moves that position compares, which costs a fence and
//! a load, and rings the bell if it is reached.
//!
//! # No wake-up is lost
//!
//! The sleeper stores its wish, then a SeqCst fence, then looks at the positions again. The waker stores a position,
//! then a SeqCst fence, then looks at the wish. One of the two fences is the later one, and its thread sees what the
//! other stored: either the sleeper finds what it wants, or the waker finds the wish. The sleeper holds the `door` from
//! storing its wish until it is on the condition variable, and the waker passes through the door before it rings, so the
//! ring cannot come in between. The waker takes the wish away (compare and exchange) before it rings: one sleep costs
//! one system call, however much is moved until the sleeper runs. A sleeper that wakes looks again and, if it was for
//! nothing, stores its wish anew, with a new fence; so the argument starts afresh and a wish taken away is no loss.
//!
//! # When the consumer wakes
//!
//! As soon as what it asked for is there, or the stream has ended.
//!
//! # When the producer wakes
//!
//! A producer that is woken for each record as it becomes free would change places with the consumer all the time. So
//! it sleeps until there is the room it asked for and at least one eighth of the ring (the watermark). That could wait
//! for ever: if the consumer sleeps too, the only room to come is from spans that are out, or none at all. Therefore,
//! while the consumer is *hungry*, that is, sleeps for a position that is not put yet, less is enough: the room that
//! was asked for; and if no span is out, so that no more room can come, any room at all. [`Ring::producer_may_go`] says
//! exactly this. It depends on the wish of the producer, on that of the consumer, on `freed`, on the number of spans out
//! and on `aborted`; everyone who changes one of these asks it afterwards, beyond a fence: the producer before it
//! sleeps, the consumer when it frees room, when it gets hungry and when it leaves, and whoever drops a span. With more
//! than two taking part the argument is the same: the thread whose fence is the last sees what all have stored.
//!
//! # Why this cannot stop
//!
//! Let the consumer sleep for `n <= size` bytes, and let other threads drop all spans that are out, sooner or later.
//! Once they have, `freed = taken`, and fewer than `n` bytes are unread, so there is room. The one who dropped the last
//! span, or the consumer if there was none, has seen both sleep and has woken the producer, which gets that room even
//! if it asked for more. So bytes come (or an end), until there are `n`. The price is that the room can be smaller than
//! what was asked for; but only if what both sides ask for together is more than the size.
//!
//! A consumer that itself keeps spans and then waits for more than fits beside them waits for ever: nobody else can
//! give that room back. It has to hand its spans on, or drop them, before it waits.
//!
//! The word "asleep" covers the time from the wish to the moment the thread runs again, which is why the statistics
//! count a sleep only when the condition variable was really reached.

use crate::ring::Ring;
use crate::sync::{AtomicU64, Condvar, Mutex, fence, lock, wait};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::Instant;

/// The wish of a side that is awake: no position is as large.
const AWAKE: u64 = u64::MAX;

/// Written rarely: when a side goes to sleep or is woken.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The producer sleeps until `freed` is here. Written by the producer; set to `AWAKE` by whoever wakes it.
    put_wish: AtomicU64,
    /// What is enough for the producer if the consumer is hungry. Written by the producer, before `put_wish`.
    put_least: AtomicU64,
    /// The consumer sleeps until `put` is here. Written by the consumer; set to `AWAKE` by whoever wakes it.
    get_wish: AtomicU64,
    /// Held from the wish to the sleep, and by nobody during a system call.
    door: Mutex<()>,
    put_bell: Condvar,
    get_bell: Condvar,
}

impl Waiting {
    pub(crate) fn new() -> Waiting {
        Waiting {
            put_wish: AtomicU64::new(AWAKE),
            put_least: AtomicU64::new(AWAKE),
            get_wish: AtomicU64::new(AWAKE),
            door: Mutex::new(()),
            put_bell: Condvar::new(),
            get_bell: Condvar::new(),
        }
    }

    /// Wakes the side that sleeps with this wish, unless someone else does.
    fn wake(&self, wish: &AtomicU64, seen: u64, bell: &Condvar) {
        if wish.compare_exchange(seen, AWAKE, Relaxed, Relaxed).is_ok() {
            drop(lock(&self.door));
            bell.notify_one();
        }
    }
}

impl Ring {
    /// Sleeps until the producer, which stands at `put`, has `min` bytes of room, or less in the cases above.
    pub(crate) fn sleep_for_room(&self, put: u64, min: usize) {
        let watermark = (self.size / 8).max(min as u64);
        let waiting = &self.waiting;
        let mut since = None;
        let mut door = lock(&waiting.door);
        loop {
            // Neither goes below 0: there is less room than `min`, so `put + min > freed + size`.
            let least = put + min as u64 - self.size;
            waiting.put_least.store(least, Relaxed);
            waiting.put_wish.store(put + watermark - self.size, Release);
            fence(SeqCst);
            if self.producer_may_go().is_some() {
                break;
            }
            if since.is_none() {
                self.put_side.full.begin();
                since = Some(Instant::now());
            }
            door = wait(&waiting.put_bell, door);
        }
        waiting.put_wish.store(AWAKE, Relaxed);
        drop(door);
        if let Some(since) = since {
            self.put_side.full.end(since.elapsed());
        }
    }

    /// Sleeps until the bytes before `want` are put, or nothing more comes.
    pub(crate) fn sleep_for_bytes(&self, want: u64) {
        let waiting = &self.waiting;
        let mut since = None;
        let mut door = lock(&waiting.door);
        loop {
            waiting.get_wish.store(want, Relaxed);
            fence(SeqCst);
            if self.ended() || self.put_position() >= want {
                break;
            }
            if let Some(wish) = self.producer_may_go() {
                // Not through the door, in which we stand.
                drop(door);
                waiting.wake(&waiting.put_wish, wish, &waiting.put_bell);
                door = lock(&waiting.door);
                continue;
            }
            if since.is_none() {
                self.get_side.empty.begin();
                since = Some(Instant::now());
            }
            door = wait(&waiting.get_bell, door);
        }
        waiting.get_wish.store(AWAKE, Relaxed);
        drop(door);
        if let Some(since) = since {
            self.get_side.empty.end(since.elapsed());
        }
    }

    /// The wish of the producer, if it sleeps and need not.
    fn producer_may_go(&self) -> Option<u64> {
        let wish = self.waiting.put_wish.load(Acquire);
        if wish == AWAKE {
            return None;
        }
        // In this order, see `spans_out`.
        let spans = self.spans_out();
        let freed = self.freed_position();
        let go = freed >= wish || self.aborted() || {
            let hungry_for = self.waiting.get_wish.load(Relaxed);
            let put = self.put_position();
            hungry_for != AWAKE
                && hungry_for > put
                && (freed >= self.waiting.put_least.load(Relaxed)
                    || (spans == 0 && freed + self.size > put))
        };
        go.then_some(wish)
    }

    /// After `freed` was moved.
    pub(crate) fn room_grew(&self) {
        fence(SeqCst);
        self.wake_producer();
    }

    /// After `aborted` was set.
    pub(crate) fn consumer_left(&self) {
        fence(SeqCst);
        self.wake_producer();
    }

    fn wake_producer(&self) {
        if let Some(wish) = self.producer_may_go() {
            let waiting = &self.waiting;
            waiting.wake(&waiting.put_wish, wish, &waiting.put_bell);
        }
    }

    /// After `put` was moved.
    pub(crate) fn bytes_grew(&self, put: u64) {
        fence(SeqCst);
        let wish = self.waiting.get_wish.load(Relaxed);
        // Awake is more than any position.
        if wish <= put {
            self.wake_consumer(wish);
        }
    }

    /// After `ended` was set.
    pub(crate) fn stream_ended(&self) {
        fence(SeqCst);
        let wish = self.waiting.get_wish.load(Relaxed);
        if wish != AWAKE {
            self.wake_consumer(wish);
        }
    }

    fn wake_consumer(&self, wish: u64) {
        let waiting = &self.waiting;
        waiting.wake(&waiting.get_wish, wish, &waiting.get_bell);
    }
}

#[cfg(all(test, not(loom)))]
mod checks {
    use super::*;

    impl Ring {
        /// The producer is, or was, on its condition variable, and nobody has woken it before this call.
        pub(crate) fn producer_sleeps(&self) -> bool {
            self.sleeps(&self.waiting.put_wish)
        }

        /// The same for the consumer.
        pub(crate) fn consumer_sleeps(&self) -> bool {
            self.sleeps(&self.waiting.get_wish)
        }

        fn sleeps(&self, wish: &AtomicU64) -> bool {
            let wished = wish.load(Acquire) != AWAKE;
            // Free only once the side with the wish is on its condition variable.
            drop(lock(&self.waiting.door));
            wished
        }
    }
}
