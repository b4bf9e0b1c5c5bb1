//! Counters of a run. The last word of a name is its unit; times are [`Duration`]s.

use std::time::Duration;

/// The FIFO, by star's definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fifo {
    /// Records (or the parts of one at the end) added.
    pub puts: u64,
    /// Steps in which the consumer took what it needed: a header, a run of data.
    pub gets: u64,
    /// Times the consumer had to wait for data.
    pub empty: u64,
    /// Times the producer had to wait for room.
    pub full: u64,
    /// The largest fill seen.
    pub held_max_bytes: u64,
    /// The fill when the run ended (not 0 only when it ended early).
    pub held_end_bytes: u64,
    /// The fill limit.
    pub size_bytes: u64,
    /// Time the consumer waited for data.
    pub wait_empty: Duration,
    /// Time the producer waited for room.
    pub wait_full: Duration,
}

/// The input side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Bytes of the archive as tar sees it, decompressed.
    pub archive_bytes: u64,
    /// Bytes read from the file or pipe.
    pub read_bytes: u64,
    /// Bytes in one record.
    pub record_bytes: u64,
    /// Time spent waiting for the file or pipe.
    pub wait_input: Duration,
    /// Name of the compression format; empty for none.
    pub compression: &'static str,
    /// The bytes of each pair were found the wrong way round.
    pub swapped: bool,
    /// Time the reader thread worked or waited: read, decompressed, put.
    pub reader_busy: Duration,
}

/// What was restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Members restored (or listed), of every kind.
    pub members: u64,
    /// Regular files among them.
    pub files: u64,
    /// Bytes of their contents.
    pub file_bytes: u64,
    /// Members passed over (not wanted, or kept as they were).
    pub skipped: u64,
    /// Failures.
    pub failures: u64,
    /// Warnings.
    pub warnings: u64,
    /// Members that may not be what was wanted: files that changed while they were read.
    pub differences: u64,
    /// Members that an earlier run had settled and that were left as they are.
    pub resumed: u64,
    /// Members that an earlier run had settled and that were restored again, as they were not on disk as written.
    pub repaired: u64,
    /// Threads that wrote file contents; 1 when the deciding thread did it itself.
    pub jobs: u64,
    /// Time the deciding thread waited for a writer to take work.
    pub wait_writers: Duration,
}

/// Syncs and what they cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sync {
    /// fsync(2) of regular files.
    pub file_syncs: u64,
    /// fsync(2) of directories.
    pub directory_syncs: u64,
    /// syncfs(2) calls.
    pub fs_syncs: u64,
    /// Syncs that failed.
    pub failed_syncs: u64,
    /// Members that are settled.
    pub settled_members: u64,
    /// Windows that were settled.
    pub windows: u64,
    /// Files that were read back from the device and compared.
    pub verified_files: u64,
    /// Bytes of them.
    pub verified_bytes: u64,
    /// Length of the journal; 0 without one.
    pub journal_bytes: u64,
    /// Time in which the run could not go on because stable storage was waited for.
    pub wait_storage: Duration,
    /// Time spent in sync calls, added up over threads (may exceed the wall time).
    pub in_syncs: Duration,
    /// Median time of one sync.
    pub p50: Duration,
    /// 99th percentile of the time of one sync.
    pub p99: Duration,
    /// The longest sync.
    pub max: Duration,
}

/// What limited a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bottleneck {
    /// Reading the archive.
    Input,
    /// Decompressing it.
    Decompression,
    /// Writing files (CPU and file system, without syncs).
    Writing,
    /// Waiting for stable storage.
    Storage,
}

impl Bottleneck {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Decompression => "decompression",
            Self::Writing => "writing",
            Self::Storage => "storage",
        }
    }
}

/// All counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The FIFO; all zero when the archive was read without one.
    pub fifo: Fifo,
    /// The input side.
    pub input: Input,
    /// What was restored.
    pub restored: Restored,
    /// Syncs.
    pub sync: Sync,
    /// Wall time from start to end.
    pub wall: Duration,
}
