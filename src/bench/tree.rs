//! Trees of known shape, on disk or straight into an archive.
//!
//! `bigtree` and `forest` are those of a comparison of Linux file systems of 2001, which made them with two programs of
//! the names mkbigtree and mkforest and then timed `tar cf - TREE | wc -c`: three levels of directories, and in each of
//! the lowest a few large files, or many small ones. `linux-like` has the sizes and the depth of a kernel source.
//!
//! The same definition and seed give the same names, sizes and contents, on disk and in an archive, on every machine.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

pub use super::random::Data;
use super::random::Random;
use super::{Error, Setup, Watch, facts, place, system};
use crate::disk::{self, Disk, Os};
use crate::format::plain;

/// What a tree looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Large files of one size.
    Bigtree {
        /// Directories in each directory, from the top down.
        levels: [u64; 3],
        /// Files in each of the lowest directories.
        files: u64,
        /// Bytes in each file.
        size: u64,
    },
    /// Small files of random sizes: anything from nothing to twice the mean.
    Forest {
        /// Directories in each directory, from the top down.
        levels: [u64; 3],
        /// Files in each of the lowest directories.
        files: u64,
        /// Bytes in a file, on average.
        size: u64,
    },
    /// Sizes and directories as in a kernel source.
    LinuxLike {
        /// Files in all.
        files: u64,
    },
}

impl Shape {
    /// The name of the tree: its definition.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Bigtree {
                levels: [a, b, c],
                files,
                size,
            } => format!("bigtree.{a}.{b}.{c}.{files}.{size}"),
            Self::Forest {
                levels: [a, b, c],
                files,
                size,
            } => format!("forest.{a}.{b}.{c}.{files}.{size}"),
            Self::LinuxLike { files } => format!("linux-like.{files}"),
        }
    }
}

impl Shape {
    /// Objects and bytes that it comes to, roughly: enough to see what is far too large without counting it out.
    fn estimate(&self) -> (u64, u64) {
        match self {
            Self::Bigtree {
                levels: [a, b, c],
                files,
                size,
            }
            | Self::Forest {
                levels: [a, b, c],
                files,
                size,
            } => {
                let lowest = a.saturating_mul(*b).saturating_mul(*c);
                let files = lowest.saturating_mul(*files);
                (files.saturating_add(lowest), files.saturating_mul(*size))
            }
            // The smallest mean that random sizes come to in practice.
            Self::LinuxLike { files } => (*files, files.saturating_mul(8192)),
        }
    }
}

/// What is to be made.
#[derive(Clone, Debug)]
pub struct Request {
    /// The shape.
    pub shape: Shape,
    /// What files hold.
    pub data: Data,
    /// What random numbers begin with.
    pub seed: u64,
    /// Where it is made.
    pub dir: PathBuf,
    /// Write an archive and no tree.
    pub archive: bool,
}

/// What a tree consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Directories, the top one too.
    pub directories: u64,
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub file_bytes: u64,
}

/// Takes the objects of a tree, parents first.
trait Sink {
    fn directory(&mut self, name: &str) -> Result<(), Error>;
    fn file(&mut self, name: &str, size: u64, random: Random) -> Result<(), Error>;
}

/// Files of a kernel source (linux-source-6.1 of Debian, 78,579 files, measured 2026): so many percent are no larger
/// than this. Between two rows sizes are spread evenly on a logarithmic scale.
const KERNEL_SIZES: [(f64, f64); 16] = [
    (0.0, 1.0),
    (1.0, 73.0),
    (5.0, 254.0),
    (10.0, 446.0),
    (20.0, 959.0),
    (30.0, 1621.0),
    (40.0, 2525.0),
    (50.0, 3874.0),
    (60.0, 5910.0),
    (70.0, 9044.0),
    (80.0, 14_833.0),
    (90.0, 28_759.0),
    (95.0, 48_093.0),
    (99.0, 124_858.0),
    (99.9, 1_120_270.0),
    (100.0, 23_944_620.0),
];

/// Files in each directory of the same source that has any.
const KERNEL_FILES: [(f64, f64); 10] = [
    (0.0, 1.0),
    (10.0, 2.0),
    (25.0, 3.0),
    (50.0, 7.0),
    (70.0, 12.0),
    (80.0, 19.0),
    (90.0, 34.0),
    (99.0, 160.0),
    (99.9, 513.0),
    (100.0, 2541.0),
];

/// A value whose distribution is that of the table.
fn drawn(table: &[(f64, f64)], random: &mut Random) -> u64 {
    let percent = random.unit() * 100.0;
    let upper = table
        .iter()
        .position(|(limit, _)| percent < *limit)
        .unwrap_or(table.len() - 1)
        .max(1);
    let ((from, low), (to, high)) = (table[upper - 1], table[upper]);
    let share = (percent - from) / (to - from);
    // Never negative, and far below 2^63.
    (low.ln() + (high.ln() - low.ln()) * share).exp() as u64
}

fn walk(request: &Request, sink: &mut dyn Sink, setup: &Setup) -> Result<Counts, Error> {
    let top = request.shape.name();
    let mut counts = Counts::default();
    let mut sizes = Random::new(request.seed);
    let directory = |counts: &mut Counts, sink: &mut dyn Sink, name: &str| {
        counts.directories += 1;
        sink.directory(name)
    };
    let file = |counts: &mut Counts, sink: &mut dyn Sink, name: &str, size: u64| {
        setup.control.check()?;
        let contents = Random::part(request.seed, counts.files);
        counts.files += 1;
        counts.file_bytes += size;
        sink.file(name, size, contents)
    };
    directory(&mut counts, sink, &top)?;
    match request.shape {
        Shape::Bigtree {
            levels: [a, b, c],
            files,
            size,
        }
        | Shape::Forest {
            levels: [a, b, c],
            files,
            size,
        } => {
            let even = matches!(request.shape, Shape::Bigtree { .. });
            for first in 0..a {
                let first = format!("{top}/{first}");
                directory(&mut counts, sink, &first)?;
                for second in 0..b {
                    let second = format!("{first}/{second}");
                    directory(&mut counts, sink, &second)?;
                    for third in 0..c {
                        let third = format!("{second}/{third}");
                        directory(&mut counts, sink, &third)?;
                        for index in 0..files {
                            let size = if even {
                                size
                            } else {
                                sizes.below(2 * size + 1)
                            };
                            file(&mut counts, sink, &format!("{third}/{index}"), size)?;
                        }
                    }
                }
            }
        }
        Shape::LinuxLike { files } => {
            let mut directories = vec![(top, 0)];
            while counts.files < files {
                let (parent, depth) = shallow(&directories, &mut sizes);
                let name = format!("{parent}/d{}", directories.len());
                directory(&mut counts, sink, &name)?;
                let here = drawn(&KERNEL_FILES, &mut sizes).min(files - counts.files);
                for index in 0..here {
                    let size = drawn(&KERNEL_SIZES, &mut sizes);
                    file(&mut counts, sink, &format!("{name}/f{index}"), size)?;
                }
                directories.push((name, depth + 1));
            }
        }
    }
    Ok(counts)
}

/// Where the next directory is made. Of two the one nearer to the top: that gives a mean depth of 5 for 5,000
/// directories, as in a kernel source, where any one would give 9.
fn shallow(directories: &[(String, u32)], random: &mut Random) -> (String, u32) {
    let mut draw = || {
        let index = usize::try_from(random.below(directories.len() as u64)).unwrap_or(0);
        &directories[index]
    };
    let (one, other) = (draw(), draw());
    if one.1 <= other.1 { one } else { other }.clone()
}

/// What it would come to, without making it.
///
/// # Errors
/// An interrupt.
pub fn counts(request: &Request, setup: &Setup) -> Result<Counts, Error> {
    struct Nowhere;
    impl Sink for Nowhere {
        fn directory(&mut self, _name: &str) -> Result<(), Error> {
            Ok(())
        }
        fn file(&mut self, _name: &str, _size: u64, _random: Random) -> Result<(), Error> {
            Ok(())
        }
    }
    walk(request, &mut Nowhere, setup)
}

/// Contents are made and written in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;

fn pour(
    size: u64,
    data: Data,
    random: &mut Random,
    buffer: &mut Vec<u8>,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut left = size;
    while left > 0 {
        let piece = usize::try_from(left)
            .unwrap_or(PIECE_BYTES)
            .min(PIECE_BYTES);
        buffer.resize(piece, 0);
        random.fill(data, buffer);
        output.write_all(buffer)?;
        left -= piece as u64;
    }
    Ok(())
}

struct OnDisk<'a> {
    dir: &'a Path,
    data: Data,
    buffer: Vec<u8>,
    progress: Progress<'a>,
}

impl Sink for OnDisk<'_> {
    fn directory(&mut self, name: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        fs::create_dir(&path).map_err(system("make", &path))
    }

    fn file(&mut self, name: &str, size: u64, mut random: Random) -> Result<(), Error> {
        let path = self.dir.join(name);
        let mut file = File::create_new(&path).map_err(system("make", &path))?;
        pour(size, self.data, &mut random, &mut self.buffer, &mut file)
            .map_err(system("write", &path))?;
        self.progress.add(size);
        Ok(())
    }
}

struct InArchive<'a> {
    path: &'a Path,
    output: BufWriter<File>,
    data: Data,
    buffer: Vec<u8>,
    progress: Progress<'a>,
}

impl InArchive<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.output
            .write_all(bytes)
            .map_err(system("write", self.path))
    }
}

impl Sink for InArchive<'_> {
    fn directory(&mut self, name: &str) -> Result<(), Error> {
        let header = plain::directory(name).map_err(system("write", self.path))?;
        self.put(&header)
    }

    fn file(&mut self, name: &str, size: u64, mut random: Random) -> Result<(), Error> {
        let header = plain::file(name, size).map_err(system("write", self.path))?;
        self.put(&header)?;
        pour(
            size,
            self.data,
            &mut random,
            &mut self.buffer,
            &mut self.output,
        )
        .map_err(system("write", self.path))?;
        self.put(plain::padding(size))?;
        self.progress.add(size);
        Ok(())
    }
}

struct Progress<'a> {
    done: u64,
    told: u64,
    total: u64,
    name: &'a str,
    watch: &'a mut dyn Watch,
}

/// A line for each so many bytes is enough for a person.
const TOLD_BYTES: u64 = 16 << 20;

impl Progress<'_> {
    fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if self.done >= self.told + TOLD_BYTES {
            self.told = self.done;
            self.watch.step(self.done, self.total, self.name);
        }
    }
}

/// Removes what was begun and not finished.
struct Unfinished<'a>(Option<&'a Path>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.0 {
            let _ = if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            };
        }
    }
}

/// Makes a tree or an archive of it, and tells how long that took, and how long until it was stable.
///
/// # Errors
/// Wrong use, as [`Error::Refused`], a name that exists among it; a system call that failed; or an interrupt. What was
/// begun is then removed.
pub fn run(request: &Request, setup: &Setup, watch: &mut dyn Watch) -> Result<Value, Error> {
    let about = disk::about(&request.dir).map_err(system("use", &request.dir))?;
    let (objects, bytes) = request.shape.estimate();
    // Half of it, as it is an estimate; the exact check follows.
    let objects = if request.archive { 1 } else { objects / 2 };
    place::refuse_full(&request.dir, &about, bytes / 2, objects)?;
    let counts = counts(request, setup)?;
    let name = request.shape.name();
    let written = if request.archive {
        counts.file_bytes + counts.files * 1024 + counts.directories * 512
    } else {
        counts.file_bytes + (counts.files + counts.directories) * 4096
    };
    let objects = if request.archive {
        1
    } else {
        counts.files + counts.directories
    };
    place::refuse_full(&request.dir, &about, written, objects)?;
    let made = if request.archive {
        format!("{name}.tar")
    } else {
        name.clone()
    };
    let path = request.dir.join(&made);
    if path.symlink_metadata().is_ok() {
        return Err(Error::Refused(format!("{} exists", path.display())));
    }
    let progress = Progress {
        done: 0,
        told: 0,
        total: counts.file_bytes,
        name: &name,
        watch,
    };
    let began = Instant::now();
    let mut unfinished = Unfinished(Some(&path));
    if request.archive {
        let file = File::create_new(&path).map_err(system("make", &path))?;
        let mut sink = InArchive {
            path: &path,
            output: BufWriter::with_capacity(PIECE_BYTES, file),
            data: request.data,
            buffer: Vec::new(),
            progress,
        };
        walk(request, &mut sink, setup)?;
        sink.put(plain::END)?;
        sink.output.flush().map_err(system("write", &path))?;
    } else {
        let mut sink = OnDisk {
            dir: &request.dir,
            data: request.data,
            buffer: Vec::new(),
            progress,
        };
        walk(request, &mut sink, setup)?;
    }
    let wall = began.elapsed().as_secs_f64();
    let sync = || Os.sync_fs(&Os.open_path(&request.dir)?);
    sync().map_err(system("sync", &request.dir))?;
    let stable = began.elapsed().as_secs_f64();
    unfinished.0 = None;
    drop(unfinished);
    let mut value = facts::head(setup, "tree");
    value["site"] = facts::about(&about);
    value["tree"] = json!({
        "name": name,
        "path": path.to_string_lossy(),
        "archive": request.archive,
        "data": match request.data {
            Data::Random => "random",
            Data::Compressible => "compressible",
        },
        "seed": request.seed,
        "directories": counts.directories,
        "files": counts.files,
        "file_bytes": counts.file_bytes,
        "wall_seconds": wall,
        "stable_seconds": stable,
    });
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::{Counts, Data, Request, Shape, counts, drawn, run};
    use crate::bench::random::Random;
    use crate::bench::{Setup, Silent};

    fn setup() -> Setup {
        Setup {
            path: Vec::new(),
            durastar: "durastar".into(),
            command: Vec::new(),
            umask: 0o22,
            control: std::sync::Arc::default(),
        }
    }

    fn request(shape: Shape) -> Request {
        Request {
            shape,
            data: Data::Random,
            seed: 1,
            dir: ".".into(),
            archive: false,
        }
    }

    #[test]
    fn the_trees_of_2001_have_the_counts_of_their_definitions() {
        // 5 x 10 x 20 directories with 10 files of 3 MB in each of the lowest: 30 GB.
        let big = request(Shape::Bigtree {
            levels: [5, 10, 20],
            files: 10,
            size: 3_000_000,
        });
        let directories = 1 + 5 + 5 * 10 + 5 * 10 * 20;
        let expected = Counts {
            directories,
            files: 10_000,
            file_bytes: 30_000_000_000,
        };
        assert_eq!(counts(&big, &setup()).unwrap(), expected);
        assert_eq!(big.shape.name(), "bigtree.5.10.20.10.3000000");
        // The same directories with 1000 files of about 20 KB: 1,000,000 files.
        let forest = request(Shape::Forest {
            levels: [5, 10, 20],
            files: 1000,
            size: 20_480,
        });
        let found = counts(&forest, &setup()).unwrap();
        assert_eq!((found.directories, found.files), (directories, 1_000_000));
        let mean = found.file_bytes as f64 / 1e6;
        assert!((20_400.0..20_560.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_kernel_like_tree_has_the_sizes_of_a_kernel() {
        let mut random = Random::new(3);
        let mut sizes: Vec<u64> = (0..50_000)
            .map(|_| drawn(&super::KERNEL_SIZES, &mut random))
            .collect();
        sizes.sort_unstable();
        let median = sizes[25_000] as f64;
        assert!((3600.0..4200.0).contains(&median), "{median}");
        let found = counts(&request(Shape::LinuxLike { files: 20_000 }), &setup()).unwrap();
        assert_eq!(found.files, 20_000);
        // A kernel source has 16 files for each directory.
        let each = found.files / found.directories;
        assert!((8..32).contains(&each), "{each}");
        let mean = found.file_bytes / found.files;
        assert!((11_000..24_000).contains(&mean), "{mean}");
    }

    #[test]
    fn what_exists_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let mut request = request(Shape::LinuxLike { files: 3 });
        request.dir = dir.path().to_path_buf();
        run(&request, &setup(), &mut Silent).unwrap();
        let error = run(&request, &setup(), &mut Silent).unwrap_err();
        assert!(
            error.to_string().ends_with("linux-like.3 exists"),
            "{error}"
        );
        assert!(dir.path().join("linux-like.3").is_dir());
    }

    #[test]
    fn an_interrupted_tree_is_removed() {
        struct Stop(Setup);
        impl crate::bench::Watch for Stop {
            fn step(&mut self, _done: u64, _total: u64, _what: &str) {
                self.0.control.stop();
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let setup = setup();
        for archive in [false, true] {
            let mut request = request(Shape::Bigtree {
                levels: [1, 1, 1],
                files: 3,
                size: 20 << 20,
            });
            request.dir = dir.path().to_path_buf();
            request.archive = archive;
            let setup = Setup {
                control: std::sync::Arc::default(),
                ..setup.clone()
            };
            let error = run(&request, &setup, &mut Stop(setup.clone())).unwrap_err();
            assert_eq!(error.to_string(), "interrupted");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
