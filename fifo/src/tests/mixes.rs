//! Random mixes of everything both sides can do, on four threads.

use super::*;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use std::collections::VecDeque;

/// Bytes the consumer takes in one way or another, after waiting for `wait` bytes.
#[derive(Debug, Clone, Copy)]
struct Step {
    wait: usize,
    take: usize,
    how: How,
}

#[derive(Debug, Clone, Copy)]
enum How {
    Consume,
    Drop,
    /// To a worker, which drops it when it likes.
    Send(usize),
    /// Handed on to a worker only when the consumer would have to wait.
    Keep(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let how = prop_oneof![
        proptest::strategy::Just(How::Consume),
        proptest::strategy::Just(How::Drop),
        (0..WORKERS).prop_map(How::Send),
        (0..WORKERS).prop_map(How::Keep),
    ];
    let step =
        (0..200_usize, 0..120_usize, how).prop_map(|(wait, take, how)| Step { wait, take, how });
    prop::collection::vec(step, 1..60)
}

const WORKERS: usize = 2;

/// Keeps spans until there are no more to come for now, then drops them in an order made of `seed`.
fn work(spans: mpsc::Receiver<(usize, Span)>, mut seed: u64) {
    let mut kept: Vec<(usize, Span)> = Vec::new();
    loop {
        match spans.try_recv() {
            Ok(span) => kept.push(span),
            Err(mpsc::TryRecvError::Empty) => {
                while !kept.is_empty() {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
                    let (start, span) = kept.swap_remove((seed >> 33) as usize % kept.len());
                    assert_eq!(*span, bytes(start..start + span.len()));
                }
                match spans.recv() {
                    Ok(span) => kept.push(span),
                    Err(mpsc::RecvError) => return,
                }
            }
            Err(mpsc::TryRecvError::Disconnected) => break,
        }
    }
    for (start, span) in kept {
        assert_eq!(*span, bytes(start..start + span.len()));
    }
}

/// Reads the whole stream, repeating the steps, and gives its length.
fn consume(get: &mut Get, steps: &[Step], seed: u64) -> usize {
    let (senders, threads): (Vec<_>, Vec<_>) = (0..WORKERS)
        .map(|worker| {
            let (sender, receiver) = mpsc::channel();
            (
                sender,
                thread::spawn(move || work(receiver, seed + worker as u64)),
            )
        })
        .unzip();
    let mut kept = VecDeque::new();
    let mut read = 0;
    let mut taken = false;
    for step in steps.iter().cycle() {
        // Steps that neither wait nor take would go on for ever.
        let least = usize::from(!taken);
        let wait = step.wait.clamp(least, get.size());
        if get.would_wait(wait) {
            for (worker, start, span) in kept.drain(..) {
                let worker: &mpsc::Sender<(usize, Span)> = &senders[worker];
                worker.send((start, span)).unwrap();
            }
        }
        let there = get.at_least(wait).unwrap();
        assert_eq!(there, bytes(read..read + there.len()));
        if wait > 0 && there.is_empty() {
            break;
        }
        let n = step.take.max(least).min(there.len());
        taken = n > 0;
        match step.how {
            How::Consume => get.consume(n),
            How::Drop => drop(get.span(n)),
            How::Send(worker) => senders[worker].send((read, get.span(n))).unwrap(),
            How::Keep(worker) => kept.push_back((worker, read, get.span(n))),
        }
        read += n;
        get.head.ring.check();
    }
    drop((kept, senders));
    for thread in threads {
        thread.join().unwrap();
    }
    read
}

fn check(get: &Get, length: usize, record: usize) {
    let stats = get.stats();
    assert_eq!(stats.put_bytes, length as u64);
    assert_eq!(stats.puts, length.div_ceil(record) as u64);
    assert_eq!(stats.fill_bytes, 0);
    assert!(stats.max_fill_bytes <= stats.size_bytes);
}

/// Gives pieces of these lengths, then in turn again, and sometimes has to be asked twice.
struct Pieces {
    position: usize,
    length: usize,
    pieces: Vec<usize>,
    next: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.pieces[self.next % self.pieces.len()];
        self.next += 1;
        if piece == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = piece.min(buffer.len()).min(self.length - self.position);
        buffer[..n].copy_from_slice(&bytes(self.position..self.position + n));
        self.position += n;
        Ok(n)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn stream_comes_out_as_it_went_in(
        size in 1..300_usize,
        record in 1..40_usize,
        puts in prop::collection::vec((0..300_usize, 0..300_usize), 0..80),
        steps in steps(),
        seed in any::<u32>(),
    ) {
        let (mut put, mut get) = small(size, record);
        let size = get.size();
        let producer = thread::spawn(move || {
            for (min, n) in puts {
                let start = put.tail.position() as usize;
                let room = put.room(min.min(size)).unwrap();
                let n = n.min(room.len());
                room[..n].copy_from_slice(&bytes(start..start + n));
                put.commit(n);
            }
            let length = put.tail.position() as usize;
            put.finish();
            length
        });
        let read = consume(&mut get, &steps, u64::from(seed));
        assert_eq!(read, producer.join().unwrap());
        check(&get, read, record);
    }

    #[test]
    fn filling_comes_out_as_it_went_in(
        size in 1..300_usize,
        record in 1..40_usize,
        length in 0..6000_usize,
        mut pieces in prop::collection::vec(0..100_usize, 0..20),
        steps in steps(),
        seed in any::<u32>(),
    ) {
        let (put, mut get) = small(size, record);
        pieces.push(17);
        let producer = thread::spawn(move || {
            put.fill_from(&mut Pieces { position: 0, length, pieces, next: 0 })
        });
        let read = consume(&mut get, &steps, u64::from(seed));
        assert_eq!(read, length);
        assert_eq!(producer.join().unwrap(), Ok(length as u64));
        check(&get, length, record);
    }
}
