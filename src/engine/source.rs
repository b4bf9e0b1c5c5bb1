//! The read side: volumes, decompression and the ring, on a thread of its own.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{Complaint, Error, Operation};
use crate::filter::{self, Choice, Decoder};
use crate::format::{Source, SwapRead, is_byte_swapped};
use crate::journal;
use crate::member::{Format, Timestamp};
use crate::observe::Stop;
use crate::plan::{Archive, Compression, CompressionFormat, RECORD_BYTES, Volume};
use crate::stats;
use crate::sys::{self, cores};
use crate::volume::{self, Set};

/// The consumer's end of the ring, as a parser wants it.
pub(super) struct RingSource {
    get: fifo::Get,
    size: usize,
    hook: Option<Box<dyn FnMut()>>,
}

impl RingSource {
    /// The ring's figures, for whoever wants to look while it runs.
    pub(super) fn monitor(&self) -> fifo::Monitor {
        self.get.monitor()
    }

    fn may_sleep(&mut self, n: usize) {
        if self.get.would_wait(n)
            && let Some(hook) = &mut self.hook
        {
            hook();
        }
    }
}

impl Source for RingSource {
    type Span = fifo::Span;

    fn limit(&self) -> usize {
        self.size
    }

    fn at_least(&mut self, n: usize) -> io::Result<&[u8]> {
        self.may_sleep(n);
        self.get.at_least(n)
    }

    fn before_sleep(&mut self, hook: Box<dyn FnMut()>) {
        self.hook = Some(hook);
    }

    fn consume(&mut self, n: usize) {
        self.get.consume(n);
    }

    fn span(&mut self, n: usize) -> fifo::Span {
        self.get.span(n)
    }

    fn skip(&mut self, n: u64) -> io::Result<u64> {
        let mut left = n;
        while left > 0 {
            let there = self.at_least(1)?.len();
            if there == 0 {
                break;
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(there);
            self.get.consume(step);
            left -= step as u64;
        }
        Ok(n - left)
    }

    fn would_wait(&self, n: usize) -> bool {
        self.get.would_wait(n)
    }
}

/// What the reader thread tells at its end.
#[derive(Debug, Default)]
pub(super) struct ReaderReport {
    /// What the decompressor thinks worth saying.
    pub(super) warnings: Vec<String>,
    /// What came to light only after the last byte (a program that failed).
    pub(super) error: Option<io::Error>,
    busy: Duration,
    compression: &'static str,
    swapped: bool,
}

/// The thread that fills the ring.
#[derive(Debug)]
pub(super) struct Reader {
    thread: JoinHandle<ReaderReport>,
    meter: Arc<Meter>,
    stop: Option<Arc<Stop>>,
    name: Vec<u8>,
}

/// Bytes and time of the raw input.
#[derive(Debug, Default)]
struct Meter {
    bytes: AtomicU64,
    nanos: AtomicU64,
}

/// An input that keeps its meter running, and that gives up when the run is to end.
struct Metered {
    input: File,
    meter: Arc<Meter>,
    /// Set where a read may sleep for as long as somebody else likes, which a regular file's does not.
    stop: Option<Arc<Stop>>,
}

impl Metered {
    fn new(input: File, meter: Arc<Meter>, stop: Option<Arc<Stop>>) -> Self {
        let is_file = input.metadata().is_ok_and(|state| state.is_file());
        Self {
            input,
            meter,
            stop: stop.filter(|_| !is_file),
        }
    }

    fn read_unless_stopped(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(stop) = &self.stop
            && !sys::readable_before(self.input.as_fd(), stop.descriptor())?
        {
            return Err(io::Error::other("stopped"));
        }
        self.input.read(buffer)
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        let result = self.read_unless_stopped(buffer);
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.meter.nanos.fetch_add(nanos, Ordering::Relaxed);
        if let Ok(count) = result {
            self.meter.bytes.fetch_add(count as u64, Ordering::Relaxed);
        }
        result
    }
}

/// Standard input without a buffer, whose bytes poll(2) would not see.
pub(super) fn standard_input() -> io::Result<File> {
    if sys::standard::was_closed(0) {
        return Err(sys::standard::bad_descriptor());
    }
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Opens a volume; `None` stands for standard input.
fn open_volume(volume: Option<&Volume>) -> io::Result<Option<File>> {
    match volume {
        Some(Volume::File(path)) => File::open(path).map(Some),
        _ => Ok(None),
    }
}

/// Opens the archive's file; `None` stands for standard input.
pub(super) fn open(archive: &Archive) -> Result<Option<File>, Error> {
    let first = archive.volumes.first();
    open_volume(first).map_err(|cause| Error::System {
        operation: Operation::Open,
        name: volume::name(first),
        cause,
    })
}

/// A set of volumes: each is read through a ring of its own.
pub(super) struct SetSource {
    ring: RingSource,
    reader: Option<Reader>,
    set: Set,
    archive: Archive,
    stop: Option<Arc<Stop>>,
    /// Of the volumes that were read to their end.
    counters: stats::Stats,
}

impl SetSource {
    /// Starts to read the first volume of a set, which is open already.
    pub(super) fn start(
        archive: &Archive,
        file: Option<File>,
        set: Set,
        stop: Option<Arc<Stop>>,
    ) -> Result<Self, Error> {
        let (ring, reader) = start(archive, file, stop.clone())?;
        Ok(Self {
            ring,
            reader: Some(reader),
            set,
            archive: archive.clone(),
            stop,
            counters: stats::Stats::default(),
        })
    }

    /// The name of the volume that is being read.
    pub(super) fn name(&self) -> Vec<u8> {
        volume::name(self.set.current())
    }

    fn change(&mut self, format: Format) -> Result<(), Error> {
        let hook = self.ring.hook.take();
        let old = self.reader.take();
        self.set.advance(format)?;
        let file = loop {
            match open_volume(self.set.current()) {
                Ok(file) => break file,
                Err(cause) => self.set.cannot_open(cause, format)?,
            }
        };
        self.archive.volumes = self.set.current().cloned().into_iter().collect();
        let (mut ring, reader) = start(&self.archive, file, self.stop.clone())?;
        ring.hook = hook;
        let ended = std::mem::replace(&mut self.ring, ring);
        self.reader = Some(reader);
        if let Some(mut old) = old {
            // It has come to its volume's end by itself, and the next ones can still be told to stop.
            old.stop = None;
            old.finish(ended, &mut self.counters)?;
        }
        Ok(())
    }

    /// Ends the last reader, counts what all of them together have read, and gives the set back.
    pub(super) fn finish(mut self, counters: &mut stats::Stats) -> Result<Set, Error> {
        if let Some(reader) = self.reader.take() {
            reader.finish(self.ring, &mut self.counters)?;
        }
        counters.fifo = self.counters.fifo;
        counters.input = stats::Input {
            record_bytes: counters.input.record_bytes,
            ..self.counters.input
        };
        Ok(self.set)
    }
}

impl Source for SetSource {
    type Span = fifo::Span;

    fn limit(&self) -> usize {
        self.ring.limit()
    }

    fn at_least(&mut self, n: usize) -> io::Result<&[u8]> {
        self.ring.at_least(n)
    }

    fn before_sleep(&mut self, hook: Box<dyn FnMut()>) {
        self.ring.before_sleep(hook);
    }

    fn consume(&mut self, n: usize) {
        self.ring.consume(n);
    }

    fn span(&mut self, n: usize) -> fifo::Span {
        self.ring.span(n)
    }

    fn skip(&mut self, n: u64) -> io::Result<u64> {
        self.ring.skip(n)
    }

    fn next_volume(&mut self, format: Format) -> io::Result<bool> {
        self.change(format).map_err(io::Error::other)?;
        Ok(true)
    }

    fn remark(&mut self, complaint: Complaint) {
        self.set.remark(&complaint);
    }

    fn would_wait(&self, n: usize) -> bool {
        self.ring.would_wait(n)
    }
}

/// The length of a regular file that holds a plain archive from its beginning on: one that can be read by seeking.
pub(super) fn plain_length(file: &File) -> Option<u64> {
    let state = file.metadata().ok().filter(|state| state.is_file())?;
    let mut first = [0; 512];
    let mut known = 0;
    while known < first.len() {
        match file.read_at(&mut first[known..], known as u64) {
            Ok(0) => break,
            Ok(count) => known += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    let plain = filter::detect(&first[..known]) == filter::Format::Plain
        && !is_byte_swapped(&first[..known]);
    plain.then_some(state.len())
}

/// What is known of an archive's file, if it is a regular one; read at its places, so that nothing is taken from it.
pub(super) fn identity(file: &File) -> io::Result<Option<journal::Archive>> {
    let state = file.metadata()?;
    if !state.is_file() {
        return Ok(None);
    }
    let mut head = [0; RECORD_BYTES];
    let mut known = 0;
    while known < head.len() {
        match file.read_at(&mut head[known..], known as u64) {
            Ok(0) => break,
            Ok(count) => known += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut checksum = journal::Checksum::default();
    checksum.add(&head[..known]);
    Ok(Some(journal::Archive {
        size: state.len(),
        mtime: Timestamp {
            seconds: state.mtime(),
            nanos: u32::try_from(state.mtime_nsec()).unwrap_or(0),
        },
        inode: state.ino(),
        head: checksum.value(),
    }))
}

fn choice(compression: &Compression) -> Choice {
    match compression {
        Compression::Detect => Choice::Detect,
        Compression::Program(command) => Choice::Program(command.clone()),
        Compression::Named(format) => Choice::Force(match format {
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

/// Starts to read an opened archive into a new ring.
pub(super) fn start(
    archive: &Archive,
    file: Option<File>,
    stop: Option<Arc<Stop>>,
) -> Result<(RingSource, Reader), Error> {
    let name = volume::name(archive.volumes.first());
    let failed = |cause| Error::System {
        operation: Operation::Read,
        name: name.clone(),
        cause,
    };
    let config = fifo::Config {
        size: archive.fifo_bytes,
        record: archive.record_bytes,
    };
    let size = config.rounded_size();
    let (put, get) = fifo::ring(config).map_err(failed)?;
    let meter = Arc::new(Meter::default());
    let choice = match archive.multi_volume {
        // A compressed stream cannot go on on another volume.
        Some(_) => Choice::Force(filter::Format::Plain),
        None => choice(&archive.compression),
    };
    let file = file.map_or_else(standard_input, Ok).map_err(failed)?;
    let input = Metered::new(file, Arc::clone(&meter), stop.clone());
    let run = move || fill(put, Box::new(input), &choice);
    let thread = thread::Builder::new()
        .name("durastar-read".into())
        .spawn(run)
        .map_err(failed)?;
    Ok((
        RingSource {
            get,
            size,
            hook: None,
        },
        Reader {
            thread,
            meter,
            stop,
            name,
        },
    ))
}

/// The reader thread: everything the input holds goes into the ring.
fn fill(put: fifo::Put, input: Box<dyn Read + Send>, choice: &Choice) -> ReaderReport {
    let start = Instant::now();
    let mut report = ReaderReport::default();
    let mut decoder = match filter::decoder_with(input, choice, workers()) {
        Ok(decoder) => decoder,
        Err(error) => {
            put.fail(error);
            return report;
        }
    };
    report.compression = match decoder.format() {
        filter::Format::Plain => "",
        format => format.name(),
    };
    report.swapped = fill_from(put, &mut decoder);
    report.busy = start.elapsed();
    match decoder.finish() {
        Ok(warnings) => report.warnings = warnings,
        Err(error) => report.error = Some(error),
    }
    report
}

/// All cores decode, where the format lets them. The memory is what is left to bzip2 only, which needs little of it: xz
/// would need 40 MiB for each thread, and the whole is to stay small.
fn workers() -> filter::Workers {
    filter::Workers {
        threads: u32::try_from(cores().get()).unwrap_or(u32::MAX),
        memory_bytes: 0,
    }
}

/// Looks at the first block, which tells whether the archive's bytes stand in pairs the wrong way round; gives that back.
fn fill_from(put: fifo::Put, decoder: &mut Decoder) -> bool {
    let mut first = Vec::with_capacity(512);
    if let Err(error) = decoder.by_ref().take(512).read_to_end(&mut first) {
        put.fail(error);
        return false;
    }
    let swapped = is_byte_swapped(&first);
    let mut input = io::Cursor::new(first).chain(decoder);
    // An error of the input is for the consumer, who gets it from the ring; a consumer that is gone wants none.
    if swapped {
        let _ = put.fill_from(&mut SwapRead::new(input));
    } else {
        let _ = put.fill_from(&mut input);
    }
    swapped
}

impl Reader {
    /// Waits for the thread's end, which comes now if it has not come yet: nobody takes from the ring any more.
    pub(super) fn finish(
        self,
        source: RingSource,
        counters: &mut stats::Stats,
    ) -> Result<ReaderReport, Error> {
        let fifo = source.get.stats();
        drop(source);
        // It may be asleep, waiting for what nobody wants any more.
        if let Some(stop) = &self.stop {
            stop.request();
        }
        let report = self
            .thread
            .join()
            .map_err(|_| Error::Panic("durastar-read"))?;
        // Added up: a set of volumes has several readers, one after the other.
        let before = counters.fifo;
        counters.fifo = stats::Fifo {
            puts: before.puts + fifo.puts,
            gets: before.gets + fifo.gets,
            empty: before.empty + fifo.empty,
            full: before.full + fifo.full,
            held_max_bytes: before.held_max_bytes.max(fifo.max_fill_bytes),
            held_end_bytes: fifo.fill_bytes,
            size_bytes: fifo.size_bytes,
            wait_empty: before.wait_empty + fifo.wait_empty,
            wait_full: before.wait_full + fifo.wait_full,
        };
        counters.input.archive_bytes += fifo.put_bytes;
        counters.input.read_bytes += self.meter.bytes.load(Ordering::Relaxed);
        counters.input.wait_input += Duration::from_nanos(self.meter.nanos.load(Ordering::Relaxed));
        counters.input.reader_busy += report.busy.saturating_sub(fifo.wait_full);
        counters.input.compression = report.compression;
        counters.input.swapped = report.swapped;
        Ok(report)
    }

    /// The archive's name, for messages.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }
}

/// A failed read: of the system, or of what the decompressor found.
pub(super) fn read_error(cause: io::Error, name: &[u8]) -> Error {
    if cause.raw_os_error().is_some() {
        Error::System {
            operation: Operation::Read,
            name: name.to_vec(),
            cause,
        }
    } else {
        Error::Decompression(cause.to_string())
    }
}
