//! gzip and bzip2 on several threads.
//!
//! The input is cut into blocks, each is compressed by whoever is free, and the results come out in order. For bzip2
//! every block is a stream of its own: decompressors read one after the other. For gzip all blocks are parts of one
//! member, as pigz(1) makes it: each but the last ends on a byte with an empty stored block (`Z_SYNC_FLUSH`), begins with
//! the 32 KiB before it as its dictionary, and the check sums are put together at the end.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};
use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// Bytes of a gzip block: pigz's default. A dictionary is a quarter of it.
const GZIP_BLOCK: usize = 128 << 10;
/// As far as deflate looks back.
const WINDOW: usize = 32 << 10;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gzip,
    Bzip2,
}

struct Job {
    data: Vec<u8>,
    /// The end of the data before.
    dictionary: Arc<[u8]>,
    last: bool,
    reply: Sender<Packed>,
}

struct Packed {
    bytes: io::Result<Vec<u8>>,
    crc: Crc,
}

/// Compresses what is written to it.
pub(super) struct Blocks {
    output: Box<dyn Write + Send>,
    kind: Kind,
    level: u32,
    size: usize,
    block: Vec<u8>,
    dictionary: Arc<[u8]>,
    /// Blocks at work, in order.
    waiting: VecDeque<Receiver<Packed>>,
    most: usize,
    jobs: Option<Sender<Job>>,
    workers: Vec<JoinHandle<()>>,
    crc: Crc,
}

impl Blocks {
    /// On so many threads.
    ///
    /// # Errors
    /// No thread can be started, or the output fails.
    pub(super) fn new(
        mut output: Box<dyn Write + Send>,
        kind: Kind,
        level: u32,
        threads: usize,
    ) -> io::Result<Self> {
        let (jobs, taken) = bounded::<Job>(threads);
        let mut workers = Vec::new();
        for _ in 0..threads {
            let taken = taken.clone();
            let worker = thread::Builder::new()
                .name("durastar-pack".into())
                .spawn(move || work(&taken, kind, level));
            match worker {
                Ok(worker) => workers.push(worker),
                Err(error) if workers.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        if kind == Kind::Gzip {
            // RFC 1952: no name and no time, so that the same input gives the same bytes; made on Unix.
            let extra = match level {
                9 => 2,
                1 => 4,
                _ => 0,
            };
            output.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, extra, 3])?;
        }
        Ok(Self {
            output,
            kind,
            level,
            size: match kind {
                Kind::Gzip => GZIP_BLOCK,
                // What a stream of this level takes at once, less what its first stage may add.
                Kind::Bzip2 => (level as usize) * 100_000 - 20,
            },
            block: Vec::new(),
            dictionary: Arc::from([]),
            waiting: VecDeque::new(),
            most: threads * 2,
            jobs: Some(jobs),
            workers,
            crc: Crc::new(),
        })
    }

    fn send(&mut self, last: bool) -> io::Result<()> {
        let data = std::mem::replace(&mut self.block, Vec::with_capacity(self.size));
        let after: Arc<[u8]> = match self.kind {
            Kind::Gzip => Arc::from(&data[data.len().saturating_sub(WINDOW)..]),
            Kind::Bzip2 => Arc::from([]),
        };
        let dictionary = std::mem::replace(&mut self.dictionary, after);
        let (reply, packed) = bounded(1);
        let job = Job {
            data,
            dictionary,
            last,
            reply,
        };
        let sent = self
            .jobs
            .as_ref()
            .is_some_and(|jobs| jobs.send(job).is_ok());
        if !sent {
            return Err(io::Error::other("the threads that compress are gone"));
        }
        self.waiting.push_back(packed);
        while self.waiting.len() > self.most {
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        let Some(packed) = self.waiting.pop_front() else {
            return Ok(());
        };
        let packed = packed
            .recv()
            .map_err(|_| io::Error::other("a thread that compresses panicked"))?;
        self.output.write_all(&packed.bytes?)?;
        self.crc.combine(&packed.crc);
        Ok(())
    }

    /// Writes all that is left.
    ///
    /// # Errors
    /// The output fails.
    pub(super) fn finish(mut self) -> io::Result<Box<dyn Write + Send>> {
        if self.kind == Kind::Gzip || !self.block.is_empty() {
            self.send(true)?;
        }
        while !self.waiting.is_empty() {
            self.receive()?;
        }
        self.jobs = None;
        for worker in self.workers.drain(..) {
            worker
                .join()
                .map_err(|_| io::Error::other("a thread that compresses panicked"))?;
        }
        if self.kind == Kind::Gzip {
            // RFC 1952: the sum, and the length modulo 2^32.
            self.output.write_all(&self.crc.sum().to_le_bytes())?;
            self.output.write_all(&self.crc.amount().to_le_bytes())?;
        }
        Ok(self.output)
    }
}

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(self.size - self.block.len());
        self.block.extend_from_slice(&bytes[..n]);
        if self.block.len() == self.size {
            self.send(false)?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocks")
            .field("kind", &self.kind)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

fn work(jobs: &Receiver<Job>, kind: Kind, level: u32) {
    for job in jobs {
        let mut crc = Crc::new();
        let bytes = match kind {
            Kind::Gzip => {
                crc.update(&job.data);
                deflated(&job, level)
            }
            Kind::Bzip2 => bzipped(&job.data, level),
        };
        // Whoever asked may be gone by now.
        let _ = job.reply.send(Packed { bytes, crc });
    }
}

fn deflated(job: &Job, level: u32) -> io::Result<Vec<u8>> {
    // A new one each time: one that was reset gives bytes that depend on what it had before.
    let mut deflate = Compress::new(Compression::new(level.min(9)), false);
    if !job.dictionary.is_empty() {
        deflate.set_dictionary(&job.dictionary)?;
    }
    let flush = if job.last {
        FlushCompress::Finish
    } else {
        FlushCompress::Sync
    };
    let mut packed = Vec::with_capacity(job.data.len() / 2 + 1024);
    loop {
        let begin = deflate.total_in() as usize;
        let before = packed.len();
        let status = deflate.compress_vec(&job.data[begin..], &mut packed, flush)?;
        let all = deflate.total_in() as usize == job.data.len();
        match status {
            Status::StreamEnd => return Ok(packed),
            // Room that was not used up means that all is flushed.
            _ if all && !job.last && packed.len() < packed.capacity() => return Ok(packed),
            Status::BufError
                if all && !job.last && packed.len() == before && begin == job.data.len() =>
            {
                return Ok(packed);
            }
            _ => packed.reserve(packed.capacity().max(1024)),
        }
    }
}

fn bzipped(data: &[u8], level: u32) -> io::Result<Vec<u8>> {
    let packed = Vec::with_capacity(data.len() / 3);
    let mut encoder =
        bzip2::write::BzEncoder::new(packed, bzip2::Compression::new(level.clamp(1, 9)));
    encoder.write_all(data)?;
    encoder.finish()
}
