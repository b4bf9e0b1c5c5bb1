//! Models for loom: the smallest rings in which each wake-up can be lost, run in every order of the threads.
//!
//! A wake-up that is lost is a deadlock, which loom reports; a slice that the other side may still touch is a cell
//! that is read and written at once, which it reports too. How to run them is said in `lib.rs`.

use crate::{Aborted, Config, Get, Put, ring};
use loom::thread;
use std::io;

/// Preemptions per run. The known ways to lose a wake-up need one or two; with three each model still takes seconds.
const PREEMPTIONS: usize = 3;

fn model(run: impl Fn() + Send + Sync + 'static) {
    model_within(PREEMPTIONS, run);
}

fn model_within(preemptions: usize, run: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

/// A ring of `size` bytes in records of one.
fn small(size: usize) -> (Put, Get) {
    ring(Config { size, record: 1 }).unwrap()
}

/// Puts a byte, whatever room that takes.
fn put_byte(put: &mut Put, byte: u8) -> Result<(), Aborted> {
    put.room(1)?[0] = byte;
    put.commit(1);
    Ok(())
}

fn take_byte(get: &mut Get) -> Option<u8> {
    let byte = get.at_least(1).unwrap().first().copied()?;
    get.consume(1);
    Some(byte)
}

#[test]
fn loom_both_sides_wait_for_each_other() {
    model(|| {
        let (mut put, mut get) = small(2);
        let producer = thread::spawn(move || {
            for byte in 1..=4 {
                put_byte(&mut put, byte).unwrap();
            }
            put.finish();
        });
        for byte in 1..=4 {
            assert_eq!(take_byte(&mut get), Some(byte));
        }
        assert_eq!(take_byte(&mut get), None);
        producer.join().unwrap();
    });
}

#[test]
fn loom_more_than_one_byte_is_waited_for() {
    model(|| {
        let (mut put, mut get) = small(2);
        let producer = thread::spawn(move || {
            for byte in 1..=3 {
                put_byte(&mut put, byte).unwrap();
            }
            put.finish();
        });
        assert_eq!(get.at_least(2).unwrap(), [1, 2]);
        get.consume(1);
        assert_eq!(get.at_least(2).unwrap(), [2, 3]);
        producer.join().unwrap();
    });
}

#[test]
fn loom_a_span_dropped_elsewhere_wakes_the_producer() {
    model(|| {
        let (mut put, mut get) = small(2);
        put_byte(&mut put, 1).unwrap();
        put_byte(&mut put, 2).unwrap();
        let span = get.span(2);
        let worker = thread::spawn(move || assert_eq!(*span, [1, 2]));
        let producer = thread::spawn(move || {
            put_byte(&mut put, 3).unwrap();
            put.finish();
        });
        assert_eq!(take_byte(&mut get), Some(3));
        worker.join().unwrap();
        producer.join().unwrap();
    });
}

#[test]
fn loom_spans_in_any_order_feed_a_hungry_consumer() {
    // Three threads beside the consumer, and both sides want the whole ring.
    model_within(2, || {
        let (mut put, mut get) = small(2);
        put_byte(&mut put, 1).unwrap();
        put_byte(&mut put, 2).unwrap();
        let spans = [get.span(1), get.span(1)];
        let workers = spans.map(|span| {
            thread::spawn(move || {
                assert!([1, 2].contains(&span[0]));
            })
        });
        let producer = thread::spawn(move || {
            let room = put.room(2).unwrap();
            room.copy_from_slice(&[3, 4]);
            put.commit(2);
            put.finish();
        });
        assert_eq!(get.at_least(2).unwrap(), [3, 4]);
        for thread in workers.into_iter().chain([producer]) {
            thread.join().unwrap();
        }
    });
}

#[test]
fn loom_room_behind_a_span_comes_back_with_it() {
    model(|| {
        let (mut put, mut get) = small(2);
        put_byte(&mut put, 1).unwrap();
        put_byte(&mut put, 2).unwrap();
        let span = get.span(1);
        let worker = thread::spawn(move || drop(span));
        // Races with the drop for who frees the second byte.
        get.consume(1);
        let producer = thread::spawn(move || {
            let n = put.room(2).unwrap().len();
            assert_eq!(n, 2);
            put.finish();
        });
        worker.join().unwrap();
        producer.join().unwrap();
        assert_eq!(get.stats().fill_bytes, 0);
    });
}

#[test]
fn loom_a_hungry_consumer_overrides_the_watermark() {
    model(|| {
        // One eighth is two bytes; the consumer frees one and wants the whole ring.
        let (mut put, mut get) = small(16);
        let n = put.room(16).unwrap().len();
        put.commit(n);
        let producer = thread::spawn(move || {
            put_byte(&mut put, 7).unwrap();
            put.finish();
        });
        get.consume(1);
        assert_eq!(get.at_least(16).unwrap()[15], 7);
        producer.join().unwrap();
    });
}

#[test]
fn loom_a_span_below_the_watermark_is_enough_for_a_hungry_consumer() {
    model_within(2, || {
        let (mut put, mut get) = small(16);
        let n = put.room(16).unwrap().len();
        put.commit(n);
        let first = get.span(1);
        // The rest stays out until the consumer has what it waits for: only the first span can make room.
        let rest = get.span(15);
        let worker = thread::spawn(move || drop(first));
        let producer = thread::spawn(move || {
            put_byte(&mut put, 7).unwrap();
            put.finish();
        });
        assert_eq!(take_byte(&mut get), Some(7));
        drop(rest);
        worker.join().unwrap();
        producer.join().unwrap();
    });
}

#[test]
fn loom_sides_that_want_more_than_there_is_do_not_stop() {
    model(|| {
        let (mut put, mut get) = small(3);
        put_byte(&mut put, 1).unwrap();
        let producer = thread::spawn(move || {
            let mut byte = 1;
            while byte < 4 {
                // Never there while the first byte is: the consumer waits for it with two more.
                let room = put.room(3).unwrap();
                byte += 1;
                room[0] = byte;
                put.commit(1);
            }
            put.finish();
        });
        assert_eq!(get.at_least(3).unwrap(), [1, 2, 3]);
        get.consume(3);
        assert_eq!(take_byte(&mut get), Some(4));
        producer.join().unwrap();
    });
}

/// The consumer goes to sleep while the producer puts a byte and leaves in one of three ways.
fn leave(how: fn(Put), check: fn(io::Result<&[u8]>)) {
    model(move || {
        let (mut put, mut get) = small(2);
        let producer = thread::spawn(move || {
            put_byte(&mut put, 1).unwrap();
            how(put);
        });
        check(get.at_least(2));
        assert_eq!(get.at_least(1).unwrap(), [1]);
        producer.join().unwrap();
    });
}

#[test]
fn loom_finish_wakes_the_consumer() {
    leave(Put::finish, |end| assert_eq!(end.unwrap(), [1]));
}

#[test]
fn loom_fail_wakes_the_consumer() {
    leave(
        |put| put.fail(io::Error::other("torn")),
        |end| assert_eq!(end.unwrap_err().to_string(), "torn"),
    );
}

#[test]
fn loom_a_vanished_producer_wakes_the_consumer() {
    leave(drop, |end| {
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    });
}

/// The producer goes to sleep on a full ring while the consumer leaves.
fn abandon(how: fn(Get)) {
    model(move || {
        let (mut put, get) = small(2);
        put_byte(&mut put, 1).unwrap();
        put_byte(&mut put, 2).unwrap();
        let producer = thread::spawn(move || assert_eq!(put_byte(&mut put, 3), Err(Aborted)));
        how(get);
        producer.join().unwrap();
    });
}

#[test]
fn loom_abort_wakes_the_producer() {
    abandon(|mut get| {
        get.abort();
        assert_eq!(get.at_least(2).unwrap(), [1, 2]);
    });
}

#[test]
fn loom_a_vanished_consumer_wakes_the_producer() {
    abandon(drop);
}

#[test]
fn loom_both_ends_and_a_span_go_in_any_order() {
    model_within(2, || {
        let (mut put, mut get) = small(2);
        put_byte(&mut put, 1).unwrap();
        let span = get.span(1);
        let threads = [
            thread::spawn(move || drop(put)),
            thread::spawn(move || drop(get)),
        ];
        assert_eq!(*span, [1]);
        drop(span);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
