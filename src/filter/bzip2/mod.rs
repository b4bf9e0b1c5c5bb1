//! bzip2 on several threads, whoever made the file.
//!
//! The thread that reads cuts the input into blocks (`scan`), workers decode them each by itself (`block`, with the bzip2
//! crate), and the same thread gives out what they made in the order of the blocks. So there is no block that nobody works
//! on while a later one waits for its turn: workers take the blocks in order, and the first that is not done always has
//! one. Memory is bounded by the number of blocks under way and by how much of a block waits to be given out.
//!
//! A block that was cut in the middle, because what begins a block stands in it by chance, does not decode; then it is
//! tried again together with what follows.
//!
//! What crates there are for this (2026-12: `parallel_bzip2_decoder` 0.2, `lbzip2` 0.5) took 1.7 to 1.9 times the time of
//! a core that the bzip2 crate takes for the same file, and want the file in memory.

mod block;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::mem;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, TryRecvError};

use super::codec::{Codec, Failure, State};
use super::input::Input;
use block::Block;
use scan::{Bits, Item, Scanner};

/// How many blocks are under way besides those that workers have: one that is given out, one that is next.
const AHEAD: usize = 2;

/// How much of what a block holds is handed over at once, and how much may wait for its turn. Blocks of the highest level
/// hold 900,000 bytes, more if there are runs of the same byte.
const PART_BYTES: usize = 1 << 20;

/// Why a block is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Truncated,
    Damaged,
    Memory,
    /// Who worked on it has gone.
    Lost,
}

/// What a worker says of a block.
enum Word {
    Part(Vec<u8>),
    /// What was made and not handed over yet, and whether it was all.
    End(Vec<u8>, Result<(), Broken>),
}

struct Work {
    bits: Arc<Bits>,
    level: u8,
    to: Sender<Word>,
}

/// What was cut, in order.
enum Cut {
    Block {
        bits: Arc<Bits>,
        level: u8,
        /// `None` if no worker could be started.
        from: Option<Receiver<Word>>,
    },
    Rest(Bits, u8, Broken),
    End(u32),
    Failed(io::Error),
}

/// Where what is given out comes from.
enum Front {
    /// Whatever was cut next.
    Next,
    Worker(Receiver<Word>),
    Here(Box<Block>),
    Failed(Broken),
}

/// The block that is given out.
#[derive(Default)]
struct Current {
    bits: Arc<Bits>,
    level: u8,
    /// Some of it was given out.
    given: bool,
    /// It is the rest of a stream that has no end, for this reason.
    rest: Option<Broken>,
}

/// All bzip2 streams that follow each other.
pub(super) struct Bzip2 {
    scanner: Scanner,
    /// The input has ended.
    last: bool,
    /// Nothing more is to be cut.
    all: bool,
    queue: VecDeque<Cut>,
    front: Front,
    current: Current,
    /// What is given out of it now, from this byte on.
    part: Vec<u8>,
    at: usize,
    /// The checksum of the stream as far as it was given out.
    combined: u32,
    /// How many blocks were begun to be given out.
    blocks: u64,
    threads: usize,
    /// Where the workers get their work; `None` once they are to end.
    work: Option<(Sender<Work>, Receiver<Work>)>,
    workers: Vec<JoinHandle<()>>,
}

impl Bzip2 {
    /// With so many workers, at least one.
    pub(super) fn new(threads: usize) -> Self {
        let threads = threads.max(1);
        Self {
            scanner: Scanner::new(),
            last: false,
            all: false,
            queue: VecDeque::new(),
            front: Front::Next,
            current: Current::default(),
            part: Vec::new(),
            at: 0,
            combined: 0,
            blocks: 0,
            threads,
            work: Some(crossbeam_channel::bounded(threads + AHEAD)),
            workers: Vec::new(),
        }
    }

    /// Cuts one item off, or reads once so that there may be one.
    fn cut(&mut self, input: &mut Input) {
        let Some(item) = self.scanner.next(self.last) else {
            match input.fill_buf() {
                Ok([]) => self.last = true,
                Ok(bytes) => {
                    self.scanner.feed(bytes);
                    let count = bytes.len();
                    input.consume(count);
                }
                Err(error) => {
                    self.all = true;
                    self.queue.push_back(Cut::Failed(error));
                }
            }
            return;
        };
        match item {
            Item::Block(bits, level) => {
                let bits = Arc::new(bits);
                let from = self.hand_over(&bits, level);
                self.queue.push_back(Cut::Block { bits, level, from });
            }
            Item::End(checksum) => self.queue.push_back(Cut::End(checksum)),
            Item::Rest(bits, level, broken) => {
                self.all = true;
                self.queue.push_back(Cut::Rest(bits, level, broken));
            }
            Item::Nothing => self.all = true,
        }
    }

    /// Gives a block to the workers.
    fn hand_over(&mut self, bits: &Arc<Bits>, level: u8) -> Option<Receiver<Word>> {
        let (work, from) = self.work.as_ref()?;
        if self.workers.len() < self.threads {
            let from = from.clone();
            let name = format!("bzip2 {}", self.workers.len());
            // With fewer it takes longer.
            if let Ok(worker) = thread::Builder::new().name(name).spawn(|| run(from)) {
                self.workers.push(worker);
            }
        }
        if self.workers.is_empty() {
            return None;
        }
        // One part may wait, and the end.
        let (to, from) = crossbeam_channel::bounded(1);
        let bits = Arc::clone(bits);
        work.send(Work { bits, level, to }).ok()?;
        Some(from)
    }

    /// Whether one more may be under way.
    fn has_room(&self) -> bool {
        self.queue.len() < self.threads + AHEAD
    }

    /// What the worker says next. Until it does, the input is cut further, unless one would have to wait for input only to
    /// know that there is none.
    fn listen(&mut self, from: &Receiver<Word>, input: &mut Input) -> Word {
        loop {
            match from.try_recv() {
                Ok(word) => return word,
                Err(TryRecvError::Empty)
                    if self.has_room() && !self.all && !self.scanner.is_between() =>
                {
                    self.cut(input);
                }
                Err(_) => {
                    let lost = |_| Word::End(Vec::new(), Err(Broken::Lost));
                    return from.recv().unwrap_or_else(lost);
                }
            }
        }
    }

    /// The end of the block that is given out.
    fn end(&mut self, result: Result<(), Broken>, input: &mut Input) {
        self.front = match result {
            Ok(()) => {
                let block = block::checksum(&self.current.bits);
                self.combined = scan::combine(self.combined, block);
                Front::Next
            }
            Err(broken) if self.current.given => Front::Failed(broken),
            Err(broken) => match self.join(input) {
                Some(block) => {
                    self.part.clear();
                    Front::Here(block)
                }
                None => Front::Failed(broken),
            },
        };
    }

    /// The block together with what was taken for the next one, if it can be that.
    fn join(&mut self, input: &mut Input) -> Option<Box<Block>> {
        while self.queue.is_empty() && !self.all {
            self.cut(input);
        }
        let (bits, rest) = match self.queue.pop_front()? {
            Cut::Block { bits, .. } => (self.current.bits.join(&bits), None),
            Cut::Rest(bits, _, broken) => (self.current.bits.join(&bits), Some(broken)),
            other @ (Cut::End(_) | Cut::Failed(_)) => {
                self.queue.push_front(other);
                return None;
            }
        };
        if bits.bytes() > scan::BLOCK_BYTES {
            return None;
        }
        self.current.bits = Arc::new(bits);
        self.current.rest = rest;
        let block = Block::new(&self.current.bits, self.current.level, rest.is_none());
        Some(Box::new(block))
    }

    /// Decodes here what is given out next.
    fn decode_here(&mut self, mut block: Box<Block>, input: &mut Input) {
        self.part.resize(PART_BYTES, 0);
        let (made, result) = block.decode(&mut self.part);
        self.part.truncate(made);
        self.at = 0;
        match (result, self.current.rest) {
            (Ok(false), _) => self.front = Front::Here(block),
            // It is whole, and then the stream breaks off.
            (Ok(true) | Err(Broken::Truncated), Some(broken)) => self.front = Front::Failed(broken),
            (Err(broken), Some(_)) => self.front = Front::Failed(broken),
            (Ok(true), None) => self.end(Ok(()), input),
            (Err(broken), None) if block.made => self.front = Front::Failed(broken),
            (Err(broken), None) => self.end(Err(broken), input),
        }
    }

    /// Begins with what was cut next. Whether there is something.
    fn begin(&mut self, input: &mut Input) -> Result<bool, Failure> {
        while self.queue.is_empty() && !self.all {
            self.cut(input);
        }
        let Some(next) = self.queue.pop_front() else {
            return Ok(false);
        };
        let mut current = |bits, level, rest| {
            self.blocks += 1;
            self.current = Current {
                bits,
                level,
                given: false,
                rest,
            };
        };
        match next {
            Cut::Block { bits, level, from } => {
                self.front = match from {
                    Some(from) => Front::Worker(from),
                    None => Front::Here(Box::new(Block::new(&bits, level, true))),
                };
                current(bits, level, None);
            }
            Cut::Rest(bits, level, broken) => {
                self.front = Front::Here(Box::new(Block::new(&bits, level, false)));
                current(Arc::new(bits), level, Some(broken));
            }
            Cut::End(checksum) if checksum == self.combined => self.combined = 0,
            Cut::End(_) => {
                let what = "checksum error over all blocks";
                return Err(Failure::Damaged(what.into()));
            }
            Cut::Failed(error) => return Err(Failure::Input(error)),
        }
        Ok(true)
    }

    fn explain(&self, broken: Broken) -> Failure {
        match broken {
            Broken::Truncated => Failure::Truncated,
            Broken::Memory => Failure::Memory("not enough memory".into()),
            Broken::Damaged => {
                Failure::Damaged(format!("block {}: data checksum error", self.blocks))
            }
            Broken::Lost => Failure::Damaged(format!("block {}: the decoder failed", self.blocks)),
        }
    }
}

impl Codec for Bzip2 {
    fn decode(&mut self, input: &mut Input, output: &mut [u8]) -> (usize, Result<State, Failure>) {
        loop {
            let there = &self.part[self.at..];
            if !there.is_empty() {
                let count = there.len().min(output.len());
                output[..count].copy_from_slice(&there[..count]);
                self.at += count;
                self.current.given = true;
                return (count, Ok(State::More));
            }
            match mem::replace(&mut self.front, Front::Next) {
                Front::Next => match self.begin(input) {
                    Ok(true) => {}
                    Ok(false) => {
                        input.put_back(self.scanner.leave());
                        return (0, Ok(State::End));
                    }
                    Err(failure) => return (0, Err(failure)),
                },
                Front::Worker(from) => {
                    let word = self.listen(&from, input);
                    self.at = 0;
                    match word {
                        Word::Part(part) => {
                            self.part = part;
                            self.front = Front::Worker(from);
                        }
                        Word::End(part, result) => {
                            self.part = part;
                            self.end(result, input);
                        }
                    }
                }
                Front::Here(block) => self.decode_here(block, input),
                Front::Failed(broken) => {
                    self.front = Front::Failed(broken);
                    return (0, Err(self.explain(broken)));
                }
            }
        }
    }
}

impl Drop for Bzip2 {
    fn drop(&mut self) {
        // Nobody listens any more, so nobody waits to be heard.
        self.work = None;
        self.queue.clear();
        self.front = Front::Next;
        for worker in self.workers.drain(..) {
            // A panic was noticed when the block did not come.
            let _ = worker.join();
        }
    }
}

/// A worker, until there is no more work.
fn run(work: Receiver<Work>) {
    for Work { bits, level, to } in work {
        let mut block = Block::new(&bits, level, true);
        let end = loop {
            let mut part = vec![0; PART_BYTES];
            let mut filled = 0;
            let result = loop {
                let (made, result) = block.decode(&mut part[filled..]);
                filled += made;
                match result {
                    Ok(false) if filled < part.len() => {}
                    result => break result,
                }
            };
            part.truncate(filled);
            match result {
                Ok(false) => {
                    if to.send(Word::Part(part)).is_err() {
                        break None;
                    }
                }
                Ok(true) => break Some(Word::End(part, Ok(()))),
                Err(broken) => break Some(Word::End(part, Err(broken))),
            }
        };
        if let Some(end) = end {
            // If nobody wants it, that is that.
            let _ = to.send(end);
        }
    }
}
