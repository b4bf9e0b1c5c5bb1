//! The write side: a ring that members are put into, and a thread that takes records out of it, compresses them and
//! writes them. The mirror of `source`.

use std::io::{self, Write};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{Error, Operation};
use crate::filter::{self, Packing};
use crate::format::write::Sink;
use crate::plan::create::Effort;
use crate::plan::{Archive, Compression, CompressionFormat};
use crate::stats;
use crate::sys;

/// Most that is written at once, and least that is waited for while there is more to come: few wake-ups, and both
/// threads at work.
const WRITE_BYTES: usize = 256 << 10;

/// The ring as a [`Sink`].
#[derive(Debug)]
pub(super) struct RingSink {
    put: fifo::Put,
    /// What can be waited for at once.
    most: usize,
}

impl RingSink {
    /// Ends the archive.
    pub(super) fn finish(self) {
        self.put.finish();
    }

    /// Ends it with what is there: it is of no use.
    pub(super) fn abandon(self) {
        self.put.fail(io::ErrorKind::Interrupted.into());
    }
}

impl Sink for RingSink {
    fn room(&mut self, least: usize) -> Result<&mut [u8], Error> {
        // The writer says why nobody takes any more.
        self.put
            .room(least.min(self.most))
            .map_err(|_| Error::Stopped)
    }

    fn commit(&mut self, n: usize) {
        self.put.commit(n);
    }
}

/// What the writer thread found.
#[derive(Debug)]
struct Report {
    error: Option<io::Error>,
    wait_output: Duration,
    fifo: fifo::Stats,
}

/// The writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    thread: JoinHandle<Report>,
    name: Vec<u8>,
}

/// How a plan's archive is compressed.
fn packing(compression: &Compression, effort: Effort) -> Packing {
    let format = |format| Packing::Format(format, effort.level);
    match compression {
        Compression::Detect => format(filter::Format::Plain),
        Compression::Program(command) => Packing::Program(command.clone()),
        Compression::Named(named) => format(match named {
            CompressionFormat::Gzip => filter::Format::Gzip,
            CompressionFormat::Bzip2 => filter::Format::Bzip2,
            CompressionFormat::Xz => filter::Format::Xz,
            CompressionFormat::Lzma => filter::Format::Lzma,
            CompressionFormat::Zstd => filter::Format::Zstd,
            CompressionFormat::Lz4 => filter::Format::Lz4,
            CompressionFormat::Lzip => filter::Format::Lzip,
            CompressionFormat::Compress => filter::Format::Compress,
        }),
    }
}

/// Starts to write an archive to `output` through a new ring. `records` says that each record has to be one write, as
/// tapes want it.
pub(super) fn start(
    archive: &Archive,
    effort: Effort,
    jobs: Option<std::num::NonZeroUsize>,
    name: Vec<u8>,
    output: Box<dyn Write + Send>,
    records: bool,
) -> Result<(RingSink, Writer), Error> {
    let failed = |cause| Error::System {
        operation: Operation::Write,
        name: name.clone(),
        cause,
    };
    let config = fifo::Config {
        size: archive.fifo_bytes,
        record: archive.record_bytes,
    };
    let most = (config.rounded_size() / 2).max(1);
    let (put, get) = fifo::ring(config).map_err(failed)?;
    let record = archive.record_bytes;
    let packing = packing(&archive.compression, effort);
    let threads = jobs.unwrap_or_else(sys::cores).get();
    let thread = thread::Builder::new()
        .name("durastar-write".into())
        .spawn(move || drain(get, output, &packing, threads, record, records))
        .map_err(failed)?;
    Ok((RingSink { put, most }, Writer { thread, name }))
}

/// The writer thread: everything that is put into the ring goes to the output.
fn drain(
    mut get: fifo::Get,
    output: Box<dyn Write + Send>,
    packing: &Packing,
    threads: usize,
    record: usize,
    records: bool,
) -> Report {
    let mut wait_output = Duration::ZERO;
    let result: io::Result<()> = (|| {
        let mut encoder = filter::encoder(output, packing, threads)?;
        let least = record.max(WRITE_BYTES.min(get.size() / 4));
        loop {
            let bytes = get.at_least(least)?;
            if bytes.is_empty() {
                break;
            }
            let n = if records {
                record.min(bytes.len())
            } else {
                let most = bytes.len().min(record.max(4 * WRITE_BYTES));
                // Whole records while there are some.
                if most > record {
                    most / record * record
                } else {
                    most
                }
            };
            let start = Instant::now();
            encoder.write_all(&bytes[..n])?;
            wait_output += start.elapsed();
            get.consume(n);
        }
        encoder.finish()
    })();
    if result.is_err() {
        get.abort();
    }
    Report {
        error: result.err(),
        wait_output,
        fifo: get.stats(),
    }
}

impl Writer {
    /// Waits for the thread's end, which comes when the ring is finished or the output fails.
    pub(super) fn finish(self, counters: &mut stats::Stats) -> Result<(), Error> {
        let report = self
            .thread
            .join()
            .map_err(|_| Error::Panic("durastar-write"))?;
        let fifo = report.fifo;
        counters.fifo = stats::Fifo {
            puts: fifo.puts,
            gets: fifo.gets,
            empty: fifo.empty,
            full: fifo.full,
            held_max_bytes: fifo.max_fill_bytes,
            held_end_bytes: fifo.fill_bytes,
            size_bytes: fifo.size_bytes,
            wait_empty: fifo.wait_empty,
            wait_full: fifo.wait_full,
        };
        counters.input.archive_bytes = fifo.put_bytes;
        counters.input.wait_input = report.wait_output;
        match report.error {
            None => Ok(()),
            Some(cause) if cause.raw_os_error().is_some() => Err(Error::System {
                operation: Operation::Write,
                name: self.name,
                cause,
            }),
            Some(cause) => Err(Error::Decompression(cause.to_string())),
        }
    }
}
