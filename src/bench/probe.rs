//! What a file system can do at best, in the manner of Bonnie, and what a sync costs on it.
//!
//! Output, rewrite, input and seeks on one large file; files made and removed; then the latency of fsync(2) of a new
//! file, of fsync(2) of the directory with a new name, and of syncfs(2), alone and from many threads. A file larger than
//! memory measures the device whatever the caches do; a smaller one is taken out of the page cache before it is read.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::num::{NonZeroU64, NonZeroUsize};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figures::{percentile, seconds};
use super::place::{self, Scratch};
use super::random::{Data, Random};
use super::{Error, Setup, Watch, facts, system};
use crate::disk::{self, About, Disk, Os};
use crate::sys;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where.
    pub dir: PathBuf,
    /// Size of the large file.
    pub size: NonZeroU64,
    /// What it holds: random data defeats a file system that compresses.
    pub data: Data,
    /// What random numbers begin with.
    pub seed: u64,
    /// Files that are made and removed.
    pub files: NonZeroU64,
    /// Syncs of each kind that are timed.
    pub syncs: NonZeroU64,
    /// Threads for the second measurement of each.
    pub threads: NonZeroUsize,
}

/// Transfers of the large file: the block of Bonnie's successors is 8 KiB, tars read and write more at a time.
const BLOCK_BYTES: usize = 64 << 10;
/// Seeks read this much.
const SEEK_BYTES: usize = 8 << 10;
/// Seeks in all, by four threads, a tenth of which write back: Bonnie's numbers.
const SEEKS: u64 = 4000;
const SEEKERS: u64 = 4;
/// Contents of a file whose sync is timed.
const SMALL_BYTES: usize = 4096;

/// Measures.
///
/// # Errors
/// Wrong use, as [`Error::Refused`]; a system call that failed; or an interrupt.
pub fn run(request: &Request, setup: &Setup, watch: &mut dyn Watch) -> Result<Value, Error> {
    let dir = fs::canonicalize(&request.dir).map_err(system("use", &request.dir))?;
    let about = disk::about(&dir).map_err(system("examine", &dir))?;
    place::refuse_memory(&request.dir, &about)?;
    let objects = request.files.get().max(request.syncs.get());
    let small = objects * 4096;
    place::refuse_full(&request.dir, &about, request.size.get() + small, objects)?;
    let scratch = Scratch::new(&request.dir)?;
    let mut steps = Steps { done: 0, watch };
    let throughput = throughput(request, setup, scratch.path(), &mut steps)?;
    let names = names(request, setup, scratch.path(), &mut steps)?;
    let latencies = latencies(request, setup, scratch.path(), &mut steps)?;
    let (verdict, reasons) = flushes(&about, latencies.fastest);
    let mut value = facts::head(setup, "disk");
    value["site"] = facts::about(&about);
    value["site"]["directory"] = json!(dir.to_string_lossy());
    value["size_bytes"] = json!(request.size);
    value["larger_than_memory"] = json!(request.size.get() > sys::machine::machine().memory_bytes);
    value["data"] = json!(match request.data {
        Data::Random => "random",
        Data::Compressible => "compressible",
    });
    value["seed"] = json!(request.seed);
    value["throughput"] = throughput;
    value["names"] = names;
    value["latencies"] = json!(latencies.rows);
    value["flush"] = json!({ "verdict": verdict, "reasons": reasons });
    Ok(value)
}

const STEPS: u64 = 11;

struct Steps<'a> {
    done: u64,
    watch: &'a mut dyn Watch,
}

impl Steps<'_> {
    fn next(&mut self, what: &str) {
        self.watch.step(self.done, STEPS, what);
        self.done += 1;
    }
}

fn throughput(
    request: &Request,
    setup: &Setup,
    root: &Path,
    steps: &mut Steps<'_>,
) -> Result<Value, Error> {
    let path = root.join("large");
    let size = request.size.get();
    let mut random = Random::new(request.seed);
    let mut block = vec![0; BLOCK_BYTES];
    steps.next("block output");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(system("make", &path))?;
    // Making random data costs less than writing it, and is done beforehand for as much as fits.
    let mut pool = vec![0; 16 * BLOCK_BYTES];
    random.fill(request.data, &mut pool);
    let began = Instant::now();
    for (index, at, length) in blocks(size) {
        setup.control.check()?;
        let from = (index % 16) as usize * BLOCK_BYTES;
        let piece = &mut pool[from..from + length];
        // No block is that of another, or a file system that looks for that would not write it.
        piece[..8.min(length)].copy_from_slice(&index.to_le_bytes()[..8.min(length)]);
        file.write_all_at(piece, at)
            .map_err(system("write", &path))?;
    }
    let written = began.elapsed();
    file.sync_all().map_err(system("sync", &path))?;
    let stable = began.elapsed();

    steps.next("rewrite");
    disk::forget(&path).map_err(system("uncache", &path))?;
    let began = Instant::now();
    for (_, at, length) in blocks(size) {
        setup.control.check()?;
        let piece = &mut block[..length];
        file.read_exact_at(piece, at)
            .map_err(system("read", &path))?;
        piece[0] = piece[0].wrapping_add(1);
        file.write_all_at(piece, at)
            .map_err(system("write", &path))?;
    }
    file.sync_all().map_err(system("sync", &path))?;
    let rewritten = began.elapsed();

    steps.next("block input");
    disk::forget(&path).map_err(system("uncache", &path))?;
    let began = Instant::now();
    for (_, at, length) in blocks(size) {
        setup.control.check()?;
        file.read_exact_at(&mut block[..length], at)
            .map_err(system("read", &path))?;
    }
    let read = began.elapsed();

    steps.next("seeks");
    disk::forget(&path).map_err(system("uncache", &path))?;
    let began = Instant::now();
    in_threads(SEEKERS, |thread| seek(request, setup, &file, thread))
        .map_err(|error| or(error, "seek in", &path))?;
    let sought = began.elapsed();
    drop(file);
    fs::remove_file(&path).map_err(system("remove", &path))?;
    let rate = |time: Duration| size as f64 / time.as_secs_f64().max(1e-9);
    Ok(json!({
        "output_bytes_per_second": rate(written),
        "output_and_sync_bytes_per_second": rate(stable),
        "rewrite_bytes_per_second": rate(rewritten),
        "input_bytes_per_second": rate(read),
        "seeks_per_second": SEEKS as f64 / sought.as_secs_f64().max(1e-9),
    }))
}

/// Number, place and length of each block of a file.
fn blocks(size: u64) -> impl Iterator<Item = (u64, u64, usize)> {
    let block = BLOCK_BYTES as u64;
    (0..size.div_ceil(block)).map(move |index| {
        let at = index * block;
        let length = usize::try_from(size - at).unwrap_or(BLOCK_BYTES);
        (index, at, length.min(BLOCK_BYTES))
    })
}

fn seek(request: &Request, setup: &Setup, file: &File, thread: u64) -> io::Result<Vec<Duration>> {
    let places = request.size.get() / SEEK_BYTES as u64;
    let mut random = Random::part(request.seed, thread);
    let mut block = vec![0; SEEK_BYTES];
    for turn in 0..SEEKS / SEEKERS {
        if places == 0 || setup.control.stopped() {
            break;
        }
        let at = random.below(places) * SEEK_BYTES as u64;
        file.read_exact_at(&mut block, at)?;
        if turn % 10 == 9 {
            block[0] = block[0].wrapping_add(1);
            file.write_all_at(&block, at)?;
        }
    }
    Ok(Vec::new())
}

fn names(
    request: &Request,
    setup: &Setup,
    root: &Path,
    steps: &mut Steps<'_>,
) -> Result<Value, Error> {
    let dir = root.join("names");
    fs::create_dir(&dir).map_err(system("make", &dir))?;
    let count = request.files.get();
    steps.next("files made");
    let began = Instant::now();
    for index in 0..count {
        setup.control.check()?;
        let path = dir.join(index.to_string());
        File::create_new(&path).map_err(system("make", &path))?;
    }
    let made = began.elapsed();
    sync_fs(&dir).map_err(system("sync", &dir))?;
    let stable = began.elapsed();
    steps.next("files removed");
    let began = Instant::now();
    for index in 0..count {
        setup.control.check()?;
        let path = dir.join(index.to_string());
        fs::remove_file(&path).map_err(system("remove", &path))?;
    }
    let removed = began.elapsed();
    sync_fs(&dir).map_err(system("sync", &dir))?;
    let rate = |time: Duration| count as f64 / time.as_secs_f64().max(1e-9);
    Ok(json!({
        "files": count,
        "creates_per_second": rate(made),
        "creates_and_sync_per_second": rate(stable),
        "removes_per_second": rate(removed),
    }))
}

fn sync_fs(dir: &Path) -> io::Result<()> {
    Os.sync_fs(&Os.open_path(dir)?)
}

struct Latencies {
    rows: Vec<Value>,
    /// Median of a single thread's overwrite of one block, which has nothing to do but flush.
    fastest: Duration,
}

/// What is timed.
#[derive(Clone, Copy)]
enum Timed {
    /// fdatasync(2) after writing the same block again.
    Overwrite,
    /// fsync(2) of a new file.
    File,
    /// fsync(2) of a directory in which a name was made.
    Directory,
    /// syncfs(2) after a new file.
    FileSystem,
}

impl Timed {
    fn name(self) -> &'static str {
        match self {
            Self::Overwrite => "fdatasync of an overwritten block",
            Self::File => "fsync of a new file",
            Self::Directory => "fsync of a directory",
            Self::FileSystem => "syncfs",
        }
    }
}

fn latencies(
    request: &Request,
    setup: &Setup,
    root: &Path,
    steps: &mut Steps<'_>,
) -> Result<Latencies, Error> {
    let mut rows = Vec::new();
    let mut fastest = Duration::ZERO;
    let kinds = [
        Timed::Overwrite,
        Timed::File,
        Timed::Directory,
        Timed::FileSystem,
    ];
    for kind in kinds {
        steps.next(kind.name());
        let many = request.threads.get() as u64;
        let threads = if many == 1 { vec![1] } else { vec![1, many] };
        for threads in threads {
            let dir = root.join("syncs");
            fs::create_dir(&dir).map_err(system("make", &dir))?;
            let each = request.syncs.get().div_ceil(threads);
            let began = Instant::now();
            let mut times = in_threads(threads, |thread| {
                sync_repeatedly(kind, setup, &dir.join(thread.to_string()), each)
            })
            .map_err(|error| or(error, "sync in", &dir))?;
            let wall = began.elapsed();
            setup.control.check()?;
            times.sort_unstable();
            let sorted: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
            if matches!(kind, Timed::Overwrite) && threads == 1 {
                fastest = Duration::from_secs_f64(percentile(&sorted, 50));
            }
            rows.push(json!({
                "what": kind.name(),
                "threads": threads,
                "count": sorted.len(),
                "p50_seconds": percentile(&sorted, 50),
                "p99_seconds": percentile(&sorted, 99),
                "max_seconds": percentile(&sorted, 100),
                "per_second": sorted.len() as f64 / wall.as_secs_f64().max(1e-9),
            }));
            fs::remove_dir_all(&dir).map_err(system("remove", &dir))?;
        }
    }
    Ok(Latencies { rows, fastest })
}

/// One thread's syncs, in a directory of its own.
fn sync_repeatedly(
    kind: Timed,
    setup: &Setup,
    dir: &Path,
    count: u64,
) -> io::Result<Vec<Duration>> {
    fs::create_dir(dir)?;
    let handle = Os.open_path(dir)?;
    let block = [b'x'; SMALL_BYTES];
    let same = File::create_new(dir.join("same"))?;
    same.write_all_at(&block, 0)?;
    same.sync_all()?;
    let mut times = Vec::new();
    for index in 0..count {
        if setup.control.stopped() {
            break;
        }
        let file = match kind {
            Timed::Overwrite => {
                same.write_all_at(&block, 0)?;
                None
            }
            _ => {
                let file = File::create_new(dir.join(index.to_string()))?;
                if !matches!(kind, Timed::Directory) {
                    file.write_all_at(&block, 0)?;
                }
                Some(file)
            }
        };
        let began = Instant::now();
        match (kind, &file) {
            (Timed::File, Some(file)) => file.sync_all()?,
            (Timed::Directory, _) => Os.sync_dir(&handle)?,
            (Timed::FileSystem, _) => Os.sync_fs(&handle)?,
            _ => same.sync_data()?,
        }
        times.push(began.elapsed());
    }
    Ok(times)
}

/// Does the same on several threads and puts together what they give.
fn in_threads(
    threads: u64,
    work: impl Fn(u64) -> io::Result<Vec<Duration>> + Sync,
) -> io::Result<Vec<Duration>> {
    thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = (0..threads)
            .map(|index| {
                thread::Builder::new()
                    .name("durastar-probe".into())
                    .spawn_scoped(scope, move || work(index))
            })
            .collect::<io::Result<_>>()?;
        let mut all = Vec::new();
        for thread in started {
            let times = thread
                .join()
                .map_err(|_| io::Error::other("a thread panicked"))?;
            all.extend(times?);
        }
        Ok(all)
    })
}

fn or(cause: io::Error, verb: &str, path: &Path) -> Error {
    system(verb, path)(cause)
}

/// The fastest devices that keep their promise (NVMe with a buffered cache, persistent memory behind a file system) take
/// about this long for a command that goes there and back.
const ROUND_TRIP: Duration = Duration::from_micros(8);
/// Half a turn at 15,000 turns a minute: no disk that turns writes the same block again sooner.
const HALF_TURN: Duration = Duration::from_millis(2);

/// Whether a flush seems to reach stable storage, and why not.
fn flushes(about: &About, median: Duration) -> (&'static str, Vec<String>) {
    let bottom = about.bottom();
    let shown = seconds(median.as_secs_f64());
    let mut reasons = Vec::new();
    let mut place = Some(about);
    while let Some(here) = place {
        for option in ["nobarrier", "barrier=0"] {
            if here.options.split(',').any(|word| word == option) {
                reasons.push(format!(
                    "{} is mounted with {option}: nothing is flushed",
                    here.source
                ));
            }
        }
        place = here.below.as_deref();
    }
    if median < ROUND_TRIP {
        reasons.push(format!(
            "a flush takes {shown}, less than a command to any device: likely a volatile cache, or a flush that is not done"
        ));
    } else if bottom.rotational == Some(true) && median < HALF_TURN {
        reasons.push(format!(
            "{} says that it turns, and a flush takes {shown}, less than half a turn: likely a volatile cache, or a \
             virtual device that is not what it says",
            bottom.device
        ));
    }
    let verdict = if reasons.is_empty() {
        "plausible"
    } else {
        "doubtful"
    };
    (verdict, reasons)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{About, blocks, flushes};

    #[test]
    fn blocks_cover_a_file_without_gaps() {
        let all: Vec<_> = blocks(150_000).collect();
        assert_eq!(
            all,
            [(0, 0, 65536), (1, 65536, 65536), (2, 131_072, 18_928)]
        );
    }

    #[test]
    fn impossible_speed_is_flagged() {
        let micros = Duration::from_micros;
        let disk = |rotational| About {
            device: "/dev/sda".into(),
            options: "rw,relatime".into(),
            rotational: Some(rotational),
            ..About::default()
        };
        assert_eq!(flushes(&disk(false), micros(40)).0, "plausible");
        assert_eq!(flushes(&disk(true), micros(8000)).0, "plausible");
        let (verdict, reasons) = flushes(&disk(true), micros(400));
        assert_eq!(verdict, "doubtful");
        assert!(reasons[0].contains("half a turn"), "{reasons:?}");
        assert_eq!(flushes(&disk(false), micros(2)).0, "doubtful");
        let careless = About {
            options: "rw,nobarrier".into(),
            source: "/dev/sda1".into(),
            ..disk(false)
        };
        let on_loop = About {
            below: Some(Box::new(careless)),
            ..disk(false)
        };
        let (verdict, reasons) = flushes(&on_loop, micros(40));
        assert_eq!(verdict, "doubtful");
        assert_eq!(
            reasons,
            ["/dev/sda1 is mounted with nobarrier: nothing is flushed"]
        );
    }
}
