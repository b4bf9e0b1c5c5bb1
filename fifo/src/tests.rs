//! Every promise of the two ends.
//!
//! Where a test needs a side asleep it waits until that side has published its wish and left the door, so that it is on
//! its condition variable and nothing the test does afterwards comes too early.

use crate::{Aborted, Config, Get, Put, Span, ring};
use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc;
use std::thread;

#[cfg(not(miri))]
mod mixes;

fn small(size: usize, record: usize) -> (Put, Get) {
    ring(Config { size, record }).unwrap()
}

/// The byte at a position of the stream; 251 is prime to all lengths used, so a byte in the wrong place is seen.
fn byte_at(position: usize) -> u8 {
    (position % 251) as u8
}

fn bytes(range: std::ops::Range<usize>) -> Vec<u8> {
    range.map(byte_at).collect()
}

/// Puts the next `n` bytes of the stream, for which there is room.
fn put_bytes(put: &mut Put, n: usize) {
    let start = put.tail.position() as usize;
    put.room(n).unwrap()[..n].copy_from_slice(&bytes(start..start + n));
    put.commit(n);
}

/// Waits for an event that another thread brings about.
fn until(event: impl Fn() -> bool) {
    while !event() {
        thread::yield_now();
    }
}

/// Runs `sleeper` on a thread with the producer and `rest` here once the producer sleeps. What `rest` gives back is kept
/// until the producer is done.
fn with_sleeping_producer<R>(
    mut put: Put,
    get: Get,
    sleeper: impl FnOnce(&mut Put) + Send,
    rest: impl FnOnce(Get) -> R,
) {
    let ring = crate::sync::Arc::clone(&get.head.ring);
    thread::scope(|scope| {
        let producer = scope.spawn(move || sleeper(&mut put));
        until(|| ring.producer_sleeps());
        let kept = rest(get);
        producer.join().unwrap();
        drop(kept);
    });
}

/// Runs `sleeper` on a thread with the consumer and `rest` here once the consumer sleeps.
fn with_sleeping_consumer(
    put: Put,
    mut get: Get,
    sleeper: impl FnOnce(&mut Get) + Send,
    rest: impl FnOnce(Put),
) {
    let ring = crate::sync::Arc::clone(&get.head.ring);
    thread::scope(|scope| {
        let consumer = scope.spawn(move || sleeper(&mut get));
        until(|| ring.consumer_sleeps());
        rest(put);
        consumer.join().unwrap();
    });
}

mod sizes {
    use super::*;

    #[test]
    fn size_is_rounded_up_to_whole_records() {
        for (size, record, rounded) in [
            (8 << 20, 10240, 8_396_800),
            (64 << 20, 10240, 67_112_960),
            (8 << 20, 512, 8 << 20),
            (20480, 10240, 20480),
            (20481, 10240, 30720),
            (usize::MAX, 10240, usize::MAX),
        ] {
            assert_eq!(Config { size, record }.rounded_size(), rounded, "{size}");
        }
    }

    #[test]
    fn size_is_at_least_two_records() {
        for size in [0, 1, 512, 513] {
            let config = Config { size, record: 512 };
            assert_eq!(config.rounded_size(), 1024);
            assert_eq!(ring(config).unwrap().1.size(), 1024);
        }
    }

    #[test]
    fn whole_size_can_be_filled_and_read_at_once() {
        let (mut put, mut get) = small(if cfg!(miri) { 3000 } else { 8 << 20 }, 10240);
        let size = get.size();
        assert_eq!(put.room(size).unwrap().len(), size);
        put_bytes(&mut put, size);
        assert_eq!(put.room(0).unwrap().len(), 0);
        assert_eq!(get.at_least(size).unwrap(), bytes(0..size));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let refused = |size, record| ring(Config { size, record }).unwrap_err().kind();
        assert_eq!(refused(1, 0), io::ErrorKind::InvalidInput);
        assert_eq!(refused(usize::MAX, 10240), io::ErrorKind::OutOfMemory);
        assert_eq!(refused(usize::MAX / 2 + 1, 1), io::ErrorKind::OutOfMemory);
    }

    #[test]
    #[should_panic(expected = "21 bytes at once from a fifo of 20")]
    fn asking_for_more_bytes_than_the_size_panics() {
        let _ = small(20, 10).1.at_least(21);
    }

    #[test]
    #[should_panic(expected = "21 bytes of room in a fifo of 20")]
    fn asking_for_more_room_than_the_size_panics() {
        let _ = small(20, 10).0.room(21);
    }

    #[test]
    #[should_panic(expected = "3 bytes taken of 2")]
    fn taking_more_than_there_is_panics() {
        let (mut put, mut get) = small(20, 10);
        put_bytes(&mut put, 2);
        get.consume(3);
    }

    #[test]
    #[should_panic(expected = "commit of 21 bytes into a room of 20")]
    fn committing_more_than_the_room_panics() {
        small(20, 10).0.commit(21);
    }

    #[test]
    fn ends_and_spans_can_travel() {
        fn travels<T: Send + 'static>() {}
        fn is_shared<T: Send + Sync + 'static>() {}
        travels::<Put>();
        travels::<Get>();
        is_shared::<Span>();
        is_shared::<crate::Monitor>();
    }
}

mod contiguous {
    use super::*;

    /// Small rings in a mapping of a page wrap at the page, others wherever the size ends in it.
    #[test]
    fn what_is_put_and_got_is_in_one_piece_at_every_wrap() {
        let laps = if cfg!(miri) { 2 } else { 12 };
        for (size, record, step) in [
            (14, 7, 5),
            (4096, 512, 1000),
            (20480, 10240, 7777),
            (10000, 2, 999),
        ] {
            let (mut put, mut get) = small(size, record);
            let mut read = 0;
            put_bytes(&mut put, size - step);
            while read < laps * size.max(if cfg!(miri) { 0 } else { 4096 }) {
                assert_eq!(put.room(step).unwrap().len(), step);
                put_bytes(&mut put, step);
                assert_eq!(get.at_least(size).unwrap(), bytes(read..read + size));
                let span = get.span(step);
                assert_eq!(*span, bytes(read..read + step));
                read += step;
            }
        }
    }

    #[test]
    fn bytes_written_but_not_committed_stay_in_the_room() {
        let (mut put, mut get) = small(20, 10);
        for lap in 0..1000 {
            put.room(7).unwrap()[..7].copy_from_slice(&[lap as u8; 7]);
            put.commit(3);
            assert_eq!(put.room(4).unwrap()[..4], [lap as u8; 4]);
            put.commit(4);
            assert_eq!(get.at_least(7).unwrap(), [lap as u8; 7]);
            get.consume(7);
        }
    }

    #[test]
    fn all_that_is_there_is_given() {
        let (mut put, mut get) = small(20, 10);
        assert_eq!(put.room(1).unwrap().len(), 20);
        put_bytes(&mut put, 13);
        assert_eq!(put.room(1).unwrap().len(), 7);
        assert_eq!(get.at_least(1).unwrap(), bytes(0..13));
        assert_eq!(get.at_least(0).unwrap(), bytes(0..13));
        assert_eq!(get.available(), 13);
        get.consume(4);
        assert_eq!(get.available(), 9);
        assert_eq!(put.room(1).unwrap().len(), 11);
        assert!(!get.would_wait(9) && get.would_wait(10));
        put.finish();
        assert!(!get.would_wait(10));
    }
}

mod ends {
    use super::*;

    const FILLS: [usize; 4] = [0, 1, 10, 20];

    /// What is left comes first, whatever its amount, then the end as often as it is asked for.
    fn ends_with(leave: impl Fn(Put), check: impl Fn(io::Result<&[u8]>)) {
        for fill in FILLS {
            let (mut put, mut get) = small(20, 10);
            put_bytes(&mut put, fill);
            leave(put);
            assert_eq!(get.at_least(fill).unwrap(), bytes(0..fill));
            if fill < 20 {
                check(get.at_least(fill + 1).map(|left| {
                    assert_eq!(left.len(), fill);
                    &left[fill..]
                }));
            }
            assert_eq!(get.at_least(fill).unwrap(), bytes(0..fill));
            get.consume(fill / 2);
            drop(get.span(fill - fill / 2));
            for _ in 0..3 {
                check(get.at_least(1));
                check(get.at_least(20));
            }
            assert!(get.at_least(0).unwrap().is_empty());
        }
    }

    #[test]
    fn clean_end_comes_after_the_bytes() {
        ends_with(Put::finish, |end| assert!(end.unwrap().is_empty()));
    }

    #[test]
    fn error_comes_after_the_bytes_and_again() {
        ends_with(
            |put| put.fail(io::Error::new(io::ErrorKind::InvalidData, "no bzip2 data")),
            |end| {
                let error = end.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
                assert_eq!(error.to_string(), "no bzip2 data");
            },
        );
    }

    #[test]
    fn error_of_the_system_keeps_its_number() {
        ends_with(
            |put| put.fail(io::Error::from_raw_os_error(libc::EIO)),
            |end| assert_eq!(end.unwrap_err().raw_os_error(), Some(libc::EIO)),
        );
    }

    #[test]
    fn repeated_error_leads_to_the_first_one() {
        let (put, mut get) = small(20, 10);
        put.fail(Aborted.into());
        for _ in 0..2 {
            let error = get.at_least(1).unwrap_err();
            let source = std::error::Error::source(error.get_ref().unwrap()).unwrap();
            assert!(source.is::<Aborted>());
        }
    }

    #[test]
    fn vanished_producer_is_never_a_clean_end() {
        ends_with(drop, |end| {
            assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        });
    }

    #[test]
    fn panic_of_the_producer_is_an_error() {
        let (mut put, mut get) = small(20, 10);
        let producer = thread::spawn(move || {
            put_bytes(&mut put, 5);
            panic!("expected by this test");
        });
        assert_eq!(
            get.at_least(10).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert_eq!(get.at_least(5).unwrap(), bytes(0..5));
        assert!(producer.join().is_err());
    }

    #[test]
    fn sleeping_consumer_learns_of_each_end_at_any_fill() {
        type Leave = fn(Put);
        let ways: [(Leave, Option<io::ErrorKind>); 3] = [
            (Put::finish, None),
            (
                |put| put.fail(io::ErrorKind::TimedOut.into()),
                Some(io::ErrorKind::TimedOut),
            ),
            (drop, Some(io::ErrorKind::UnexpectedEof)),
        ];
        for (leave, kind) in ways {
            for fill in [0, 1, 10, 19] {
                let (mut put, get) = small(20, 10);
                put_bytes(&mut put, fill);
                with_sleeping_consumer(
                    put,
                    get,
                    |get| {
                        let end = get.at_least(fill + 1).map(<[u8]>::len);
                        assert_eq!(
                            end.map_err(|error| error.kind()),
                            kind.map_or(Ok(fill), Err)
                        );
                    },
                    leave,
                );
            }
        }
    }

    #[test]
    fn sleeping_producer_learns_that_the_consumer_left_at_any_fill() {
        let ways: [fn(Get); 2] = [drop, |mut get| {
            let fill = get.available();
            get.abort();
            assert_eq!(get.at_least(fill).unwrap(), bytes(0..fill));
            if fill < 20 {
                let error = get.at_least(fill + 1).unwrap_err();
                // Unless the producer, which is on its way, has ended by now.
                assert!(matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::UnexpectedEof
                ));
            }
        }];
        for leave in ways {
            for fill in [1, 10, 20] {
                let (mut put, get) = small(20, 10);
                put_bytes(&mut put, fill);
                with_sleeping_producer(
                    put,
                    get,
                    |put| assert_eq!(put.room(20 - fill + 1).unwrap_err(), Aborted),
                    leave,
                );
            }
        }
    }

    #[test]
    fn aborted_producer_gets_no_room_even_if_there_is_some() {
        for fill in FILLS {
            let (mut put, mut get) = small(20, 10);
            put_bytes(&mut put, fill);
            get.abort();
            assert!(!get.would_wait(20));
            for min in [0, 1, 20] {
                assert_eq!(put.room(min).unwrap_err(), Aborted);
            }
            let error = put.write(b"x").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
    }
}

mod spans {
    use super::*;

    fn room(put: &mut Put) -> usize {
        put.room(0).unwrap().len()
    }

    #[test]
    fn room_comes_back_in_ring_order() {
        let (mut put, mut get) = small(20, 10);
        put_bytes(&mut put, 20);
        let mut spans: Vec<Option<Span>> = (0..5).map(|_| Some(get.span(4))).collect();
        for (back, free) in [(3, 0), (1, 0), (0, 8), (4, 8), (2, 20)] {
            spans[back] = None;
            assert_eq!(room(&mut put), free, "after span {back}");
            get.head.ring.check();
        }
    }

    #[test]
    fn what_is_consumed_behind_a_span_comes_back_with_it() {
        let (mut put, mut get) = small(20, 10);
        put_bytes(&mut put, 20);
        get.consume(2);
        let first = get.span(3);
        get.consume(4);
        let second = get.span(5);
        get.consume(1);
        assert_eq!(room(&mut put), 2);
        drop(first);
        assert_eq!(room(&mut put), 9);
        drop(second);
        assert_eq!(room(&mut put), 15);
        get.consume(5);
        assert_eq!(room(&mut put), 20);
    }

    #[test]
    fn empty_spans_take_no_room_and_no_part_in_the_order() {
        let (mut put, mut get) = small(20, 10);
        let nothing = get.span(0);
        put_bytes(&mut put, 20);
        let also_nothing = get.span(0);
        get.consume(20);
        assert_eq!(room(&mut put), 20);
        assert!(nothing.is_empty() && also_nothing.is_empty());
        assert_eq!(get.stats().gets, 1);
    }

    #[test]
    fn spans_dropped_in_reverse_on_other_threads_wake_the_producer_with_the_first() {
        let (mut put, mut get) = small(20, 10);
        put_bytes(&mut put, 20);
        let spans: Vec<Span> = (0..4).map(|_| get.span(5)).collect();
        with_sleeping_producer(
            put,
            get,
            |put| assert_eq!(put.room(1).unwrap().len(), 20),
            |get| {
                for (index, span) in spans.into_iter().enumerate().rev() {
                    assert!(get.head.ring.producer_sleeps());
                    assert_eq!(*span, bytes(index * 5..index * 5 + 5));
                    thread::spawn(move || drop(span)).join().unwrap();
                }
                assert_eq!(get.stats().fill_bytes, 0);
                get
            },
        );
    }

    #[test]
    fn spans_live_longer_than_both_ends() {
        let (mut put, mut get) = small(20, 10);
        put_bytes(&mut put, 20);
        get.consume(5);
        let span = get.span(10);
        drop(get);
        assert_eq!(put.room(0).unwrap_err(), Aborted);
        drop(put);
        let read = thread::spawn(move || span.to_vec()).join().unwrap();
        assert_eq!(read, bytes(5..15));
    }

    #[test]
    fn last_span_feeds_a_consumer_that_waits_for_the_whole_ring() {
        let (mut put, mut get) = small(20, 10);
        put_bytes(&mut put, 20);
        let spans = [get.span(7), get.span(6), get.span(7)];
        let ring = crate::sync::Arc::clone(&get.head.ring);
        with_sleeping_producer(
            put,
            get,
            |put| put_bytes(put, 20),
            |mut get| {
                let releaser = thread::spawn(move || {
                    until(|| ring.consumer_sleeps());
                    for span in spans.into_iter().rev() {
                        assert!(ring.producer_sleeps());
                        drop(span);
                    }
                });
                assert_eq!(get.at_least(20).unwrap(), bytes(20..40));
                releaser.join().unwrap();
            },
        );
    }

    #[test]
    fn ledger_does_not_grow_behind_a_span_that_stays() {
        let (mut put, mut get) = small(40000, 1);
        put_bytes(&mut put, 40000);
        let stays = get.span(1);
        for _ in 0..if cfg!(miri) { 100 } else { 19000 } {
            get.consume(1);
            drop(get.span(1));
            assert_eq!(get.head.ring.spans_out(), 1);
        }
        drop(stays);
        assert_eq!(get.head.ring.spans_out(), 0);
    }
}

mod waking {
    use super::*;

    #[test]
    fn producer_sleeps_until_an_eighth_is_free() {
        let (mut put, get) = small(80, 1);
        put_bytes(&mut put, 80);
        with_sleeping_producer(
            put,
            get,
            |put| assert!(put.room(1).unwrap().len() >= 10),
            |mut get| {
                get.consume(4);
                get.consume(5);
                assert!(get.head.ring.producer_sleeps());
                get.consume(1);
                assert!(!get.head.ring.producer_sleeps());
                get
            },
        );
    }

    #[test]
    fn producer_sleeps_until_it_has_what_it_asked_for() {
        let (mut put, get) = small(80, 1);
        put_bytes(&mut put, 80);
        with_sleeping_producer(
            put,
            get,
            |put| assert_eq!(put.room(40).unwrap().len(), 40),
            |mut get| {
                get.consume(39);
                assert!(get.head.ring.producer_sleeps());
                get.consume(1);
                assert!(!get.head.ring.producer_sleeps());
                get
            },
        );
    }

    #[test]
    fn hungry_consumer_wakes_a_producer_below_the_watermark() {
        let (mut put, get) = small(80, 1);
        put_bytes(&mut put, 80);
        with_sleeping_producer(
            put,
            get,
            |put| put_bytes(put, 1),
            |mut get| {
                get.consume(1);
                assert!(get.head.ring.producer_sleeps());
                assert_eq!(get.at_least(80).unwrap(), bytes(1..81));
            },
        );
    }

    #[test]
    fn hungry_consumer_gets_bytes_from_a_producer_that_wants_too_much() {
        let (mut put, get) = small(80, 1);
        put_bytes(&mut put, 79);
        with_sleeping_producer(
            put,
            get,
            |put| {
                assert_eq!(put.room(2).unwrap().len(), 1);
                put.commit(1);
            },
            |mut get| assert_eq!(get.at_least(80).unwrap().len(), 80),
        );
    }

    #[test]
    fn consumer_sleeps_until_it_has_what_it_asked_for() {
        let (put, get) = small(80, 1);
        let ring = crate::sync::Arc::clone(&get.head.ring);
        with_sleeping_consumer(
            put,
            get,
            |get| assert_eq!(get.at_least(8).unwrap(), bytes(0..8)),
            |mut put| {
                put_bytes(&mut put, 3);
                put_bytes(&mut put, 4);
                assert!(ring.consumer_sleeps());
                put_bytes(&mut put, 1);
                assert!(!ring.consumer_sleeps());
            },
        );
    }
}

mod statistics {
    use super::*;

    /// Says it read, and touches nothing; a short read after each `piece` bytes.
    struct Pretend {
        left: usize,
        piece: usize,
    }

    impl Read for Pretend {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(self.piece).min(self.left);
            self.left -= n;
            Ok(n)
        }
    }

    #[test]
    fn a_put_is_a_record_whatever_the_size_of_the_reads() {
        if cfg!(miri) {
            return;
        }
        // The archive measured with star.
        const BYTES: usize = 675_061_760;
        for piece in [4096, 10240, 65536, 1 << 20] {
            let (put, mut get) = small(8 << 20, 10240);
            let producer =
                thread::spawn(move || put.fill_from(&mut Pretend { left: BYTES, piece }));
            loop {
                let n = get.at_least(512).unwrap().len();
                if n == 0 {
                    break;
                }
                get.consume(n);
            }
            assert_eq!(producer.join().unwrap(), Ok(BYTES as u64));
            let stats = get.stats();
            assert_eq!(stats.puts, 65924, "reads of {piece}");
            assert_eq!(stats.put_bytes, BYTES as u64);
            assert_eq!((stats.full_records, stats.partial_bytes), (65924, 0));
            assert!(stats.max_fill_bytes <= stats.size_bytes);
            assert_eq!((stats.size_bytes, stats.fill_bytes), (8_396_800, 0));
        }
    }

    #[test]
    fn a_record_begun_is_a_put() {
        let (mut put, get) = small(40, 10);
        for (n, puts, full, partial) in [
            (0, 0, 0, 0),
            (1, 1, 0, 1),
            (8, 1, 0, 9),
            (1, 1, 1, 0),
            (21, 4, 3, 1),
        ] {
            put.commit(n);
            let stats = get.stats();
            assert_eq!(
                (stats.puts, stats.full_records, stats.partial_bytes),
                (puts, full, partial)
            );
        }
    }

    #[test]
    fn each_step_of_the_consumer_is_a_get() {
        let (mut put, mut get) = small(40, 10);
        put_bytes(&mut put, 40);
        get.consume(3);
        drop(get.span(7));
        get.consume(0);
        let mut three = [0; 3];
        get.read_exact(&mut three).unwrap();
        assert_eq!(get.stats().gets, 3);
    }

    #[test]
    fn fill_and_its_maximum_count_what_spans_hold() {
        let (mut put, mut get) = small(40, 10);
        put_bytes(&mut put, 15);
        let span = get.span(5);
        get.consume(5);
        put_bytes(&mut put, 20);
        let stats = get.stats();
        assert_eq!((stats.fill_bytes, stats.max_fill_bytes), (35, 35));
        drop(span);
        get.consume(20);
        put_bytes(&mut put, 3);
        let stats = get.stats();
        assert_eq!((stats.fill_bytes, stats.max_fill_bytes), (8, 35));
    }

    #[test]
    fn each_wait_counts_once() {
        let (mut put, get) = small(80, 1);
        put_bytes(&mut put, 80);
        let monitor = get.monitor();
        assert_eq!((monitor.stats().empty, monitor.stats().full), (0, 0));
        with_sleeping_producer(
            put,
            get,
            |put| put_bytes(put, 40),
            |mut get| {
                // In four steps, one of them enough for the watermark but not for the producer.
                for _ in 0..4 {
                    get.consume(10);
                }
                get
            },
        );
        assert_eq!((monitor.stats().empty, monitor.stats().full), (0, 1));

        let (put, get) = small(80, 1);
        let monitor = get.monitor();
        with_sleeping_consumer(
            put,
            get,
            |get| {
                get.at_least(40).unwrap();
            },
            |mut put| {
                for _ in 0..4 {
                    put_bytes(&mut put, 10);
                }
            },
        );
        let stats = monitor.stats();
        assert_eq!((stats.empty, stats.full), (1, 0));
        assert!(stats.wait_full.is_zero());
    }

    #[test]
    fn a_monitor_reads_on_another_thread_while_the_consumer_sleeps() {
        let (put, get) = small(20, 10);
        let monitor = get.monitor();
        with_sleeping_consumer(
            put,
            get,
            |get| {
                get.at_least(20).unwrap();
                get.consume(20);
            },
            |mut put| {
                put_bytes(&mut put, 11);
                let stats = thread::scope(|scope| scope.spawn(|| monitor.clone().stats()).join());
                let stats = stats.unwrap();
                assert_eq!((stats.puts, stats.gets, stats.fill_bytes), (2, 0, 11));
                put_bytes(&mut put, 9);
            },
        );
        assert_eq!(monitor.stats().gets, 1);
        assert_eq!(monitor.stats().fill_bytes, 0);
    }
}

mod filling {
    use super::*;

    /// Gives what is sent to it, one piece for each read, and says before each read that it was asked.
    struct Steps {
        asked: mpsc::Sender<usize>,
        pieces: mpsc::Receiver<io::Result<usize>>,
        position: usize,
    }

    impl Read for Steps {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.asked.send(buffer.len()).unwrap();
            let n = self.pieces.recv().unwrap_or(Ok(0))?;
            buffer[..n].copy_from_slice(&bytes(self.position..self.position + n));
            self.position += n;
            Ok(n)
        }
    }

    struct Filling {
        asked: mpsc::Receiver<usize>,
        pieces: mpsc::Sender<io::Result<usize>>,
        producer: thread::JoinHandle<Result<u64, Aborted>>,
    }

    fn fill(put: Put) -> Filling {
        let (asked_by, asked) = mpsc::channel();
        let (pieces, from) = mpsc::channel();
        let producer = thread::spawn(move || {
            put.fill_from(&mut Steps {
                asked: asked_by,
                pieces: from,
                position: 0,
            })
        });
        Filling {
            asked,
            pieces,
            producer,
        }
    }

    #[test]
    fn short_reads_are_collected_until_a_record_is_full() {
        let (put, mut get) = small(40, 10);
        let Filling {
            asked,
            pieces,
            producer,
        } = fill(put);
        // What is readable when the reader is asked for more, after a piece each; Interrupted counts as none.
        assert_eq!(asked.recv().unwrap(), 40);
        for (piece, wanted, readable) in [
            (Ok(4), 36, 0),
            (Ok(5), 31, 0),
            (Err(io::ErrorKind::Interrupted), 31, 0),
            (Ok(2), 29, 10),
            (Ok(12), 17, 20),
            (Ok(7), 10, 30),
        ] {
            pieces.send(piece.map_err(io::Error::from)).unwrap();
            assert_eq!(asked.recv().unwrap(), wanted);
            assert_eq!(get.available(), readable);
        }
        pieces.send(Ok(3)).unwrap();
        drop(pieces);
        assert_eq!(producer.join().unwrap(), Ok(33));
        assert_eq!(get.at_least(40).unwrap(), bytes(0..33));
        assert_eq!(get.stats().puts, 4);
    }

    #[test]
    fn error_of_the_reader_comes_after_the_begun_record() {
        let (put, mut get) = small(40, 10);
        let filling = fill(put);
        filling.pieces.send(Ok(13)).unwrap();
        let error = io::Error::from_raw_os_error(libc::EIO);
        filling.pieces.send(Err(error)).unwrap();
        assert_eq!(filling.producer.join().unwrap(), Ok(13));
        assert_eq!(get.at_least(13).unwrap(), bytes(0..13));
        let error = get.at_least(14).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
    }

    #[test]
    fn panic_of_the_reader_is_an_error() {
        struct Panics;
        impl Read for Panics {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("expected by this test");
            }
        }
        let (put, mut get) = small(40, 10);
        let producer = thread::spawn(move || put.fill_from(&mut Panics));
        assert_eq!(
            get.at_least(1).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert!(producer.join().is_err());
    }

    #[test]
    fn consumer_that_leaves_ends_the_filling() {
        let (put, get) = small(40, 10);
        let producer = thread::spawn(move || put.fill_from(&mut io::repeat(1)));
        until(|| get.stats().fill_bytes == 40);
        drop(get);
        assert_eq!(producer.join().unwrap(), Err(Aborted));
    }

    #[test]
    fn consumer_that_wants_the_whole_ring_gets_it_off_the_records() {
        let (put, mut get) = small(40, 10);
        let length = 4321;
        let producer = thread::spawn(move || put.fill_from(&mut &bytes(0..4321)[..]));
        let mut read = 0;
        while read < length {
            let n = get.at_least(40).unwrap().len();
            assert_eq!(n, 40.min(length - read));
            assert_eq!(get.at_least(0).unwrap(), bytes(read..read + n));
            // 3 is prime to the record, so every rest of a record comes up.
            get.consume(3.min(n));
            read += 3.min(n);
        }
        assert_eq!(producer.join().unwrap(), Ok(length as u64));
        assert_eq!(get.stats().puts, 433);
    }

    #[test]
    fn both_ends_are_streams() {
        let (mut put, mut get) = small(40, 10);
        let producer = thread::spawn(move || {
            put.write_all(&bytes(0..1000))?;
            put.write_all(b"\nlast line")?;
            put.flush()?;
            put.finish();
            io::Result::Ok(())
        });
        let mut head = vec![0; 1000];
        get.read_exact(&mut head).unwrap();
        assert_eq!(head, bytes(0..1000));
        let lines: Vec<String> = get.lines().map(Result::unwrap).collect();
        assert_eq!(lines, ["", "last line"]);
        producer.join().unwrap().unwrap();
    }
}
