//! The report: all counters of a run as JSON, for programs.
//!
//! The layout has a number. Fields may be added under the same number; one that is removed or changes its meaning makes
//! the next number. Units are the last word of a name. The manual page describes it, from [`LAYOUT`].

use std::time::Duration;

use durastar::engine::{Outcome, Promise};
use durastar::error::Error;
use durastar::plan::{Job, Plan, SyncMethod};
use serde_json::{Value, json};

use super::dialect::Dialect;

/// The number of the layout.
pub(crate) const VERSION: u64 = 1;

/// What the report holds besides the outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    /// The command line's dialect.
    pub(crate) dialect: Dialect,
    /// The exit status.
    pub(crate) exit_status: u8,
    /// Complaints that were failures.
    pub(crate) failures: u64,
    /// Complaints that were warnings.
    pub(crate) warnings: u64,
    /// The signal that ended the run.
    pub(crate) signal: Option<i32>,
    /// The plan.
    pub(crate) plan: &'a Plan,
}

/// The report's text, ending in a newline.
pub(crate) fn render(outcome: &Outcome, around: Around<'_>) -> String {
    let stats = &outcome.stats;
    let (fifo, input, restored, sync) = (&stats.fifo, &stats.input, &stats.restored, &stats.sync);
    let plan = around.plan;
    let value = json!({
        "durastar_report": VERSION,
        "program_version": env!("CARGO_PKG_VERSION"),
        "dialect": around.dialect.word(),
        "job": match plan.job {
            Job::List => "list",
            Job::Extract => "extract",
            Job::ExtractToOutput => "extract-to-output",
            Job::Compare => "compare",
            Job::Delete => "delete",
            Job::Create => "create",
            Job::Append => "append",
            Job::Update => "update",
            Job::Join => "join",
            Job::ExtractToCommand => "extract-to-command",
        },
        "exit_status": around.exit_status,
        "error": outcome.error.as_ref().map(error),
        "signal": around.signal,
        "complaints": { "failures": around.failures, "warnings": around.warnings },
        "durability": {
            "mode": plan.durability.mode.name(),
            "promise": match outcome.promise {
                Promise::Kept => "kept",
                Promise::Broken => "broken",
                Promise::NotMade => "not-made",
            },
            "method": match plan.durability.method {
                SyncMethod::Auto => "auto",
                SyncMethod::Fsync => "fsync",
            },
            "window_members": plan.durability.window_members,
            "window_bytes": plan.durability.window_bytes,
        },
        "bottleneck": outcome.bottleneck.map(durastar::stats::Bottleneck::name),
        "wall_seconds": seconds(stats.wall),
        "fifo": {
            "puts": fifo.puts,
            "gets": fifo.gets,
            "empty": fifo.empty,
            "full": fifo.full,
            "held_max_bytes": fifo.held_max_bytes,
            "held_end_bytes": fifo.held_end_bytes,
            "size_bytes": fifo.size_bytes,
            "wait_empty_seconds": seconds(fifo.wait_empty),
            "wait_full_seconds": seconds(fifo.wait_full),
        },
        "input": {
            "archive_bytes": input.archive_bytes,
            "read_bytes": input.read_bytes,
            "record_bytes": input.record_bytes,
            "wait_input_seconds": seconds(input.wait_input),
            "compression": input.compression,
            "reader_busy_seconds": seconds(input.reader_busy),
        },
        "restored": {
            "members": restored.members,
            "files": restored.files,
            "file_bytes": restored.file_bytes,
            "skipped": restored.skipped,
            "failures": restored.failures,
            "warnings": restored.warnings,
            "resumed": restored.resumed,
            "repaired": restored.repaired,
            "jobs": restored.jobs,
            "wait_writers_seconds": seconds(restored.wait_writers),
        },
        "sync": {
            "file_syncs": sync.file_syncs,
            "directory_syncs": sync.directory_syncs,
            "fs_syncs": sync.fs_syncs,
            "failed_syncs": sync.failed_syncs,
            "settled_members": sync.settled_members,
            "windows": sync.windows,
            "verified_files": sync.verified_files,
            "verified_bytes": sync.verified_bytes,
            "journal_bytes": sync.journal_bytes,
            "wait_storage_seconds": seconds(sync.wait_storage),
            "in_syncs_seconds": seconds(sync.in_syncs),
            "p50_seconds": seconds(sync.p50),
            "p99_seconds": seconds(sync.p99),
            "max_seconds": seconds(sync.max),
        },
    });
    format!("{value:#}\n")
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn error(error: &Error) -> Value {
    Value::from(error.to_string())
}

/// Each field and what it is, for the manual page; a test holds it against what [`render`] writes.
pub(crate) const LAYOUT: &[(&str, &str)] = &[
    ("durastar_report", "number of this layout: 1"),
    ("program_version", "version of durastar"),
    ("dialect", "the command line spoken: gnutar or star"),
    ("job", "list, extract or extract-to-output"),
    ("exit_status", "the exit status; a signal may replace it"),
    ("error", "what ended the run early, or null"),
    ("signal", "number of the signal that ended the run, or null"),
    ("complaints.failures", "problems that made the run fail"),
    ("complaints.warnings", "problems that did not"),
    (
        "durability.mode",
        "each, group, batch or none; none also where nothing was written",
    ),
    (
        "durability.promise",
        "kept: all that was asked for is restored and on stable storage; broken: something failed; not-made: mode none, \
         or nothing was written",
    ),
    ("durability.method", "auto or fsync"),
    ("durability.window_members", "bound of a window"),
    ("durability.window_bytes", "bound of a window"),
    (
        "bottleneck",
        "input, decompression, writing, storage, or null when it was too short to tell",
    ),
    ("wall_seconds", "time from start to end"),
    ("fifo.puts", "records added to the buffer"),
    ("fifo.gets", "steps in which data was taken out"),
    ("fifo.empty", "times the taking side waited"),
    ("fifo.full", "times the adding side waited"),
    ("fifo.held_max_bytes", "largest fill"),
    (
        "fifo.held_end_bytes",
        "fill at the end; not 0 only when the run ended early",
    ),
    (
        "fifo.size_bytes",
        "its size; 0 when the archive was read without one",
    ),
    ("fifo.wait_empty_seconds", "time the taking side waited"),
    ("fifo.wait_full_seconds", "time the adding side waited"),
    ("input.archive_bytes", "bytes of the archive, decompressed"),
    ("input.read_bytes", "bytes read from the file or pipe"),
    ("input.record_bytes", "bytes in a record"),
    (
        "input.wait_input_seconds",
        "time waited for the file or pipe",
    ),
    (
        "input.compression",
        "name of the compression format, empty for none",
    ),
    (
        "input.reader_busy_seconds",
        "time the reading thread worked or waited for input",
    ),
    ("restored.members", "members restored or listed"),
    ("restored.files", "regular files among them"),
    ("restored.file_bytes", "bytes of their contents"),
    ("restored.skipped", "members passed over"),
    ("restored.failures", "failures while restoring"),
    ("restored.warnings", "warnings while restoring"),
    (
        "restored.resumed",
        "members that an earlier run had settled, left as they are",
    ),
    (
        "restored.repaired",
        "members that an earlier run had settled, restored again",
    ),
    ("restored.jobs", "threads that wrote"),
    (
        "restored.wait_writers_seconds",
        "time waited for a writing thread to take work",
    ),
    ("sync.file_syncs", "fsync(2) of files"),
    ("sync.directory_syncs", "fsync(2) of directories"),
    ("sync.fs_syncs", "syncfs(2) calls"),
    ("sync.failed_syncs", "syncs that failed"),
    (
        "sync.settled_members",
        "members that are on stable storage for certain",
    ),
    ("sync.windows", "windows settled"),
    (
        "sync.verified_files",
        "files read back from the device and compared",
    ),
    ("sync.verified_bytes", "bytes of them"),
    ("sync.journal_bytes", "length of the journal, 0 without one"),
    (
        "sync.wait_storage_seconds",
        "time in which the run waited for stable storage",
    ),
    (
        "sync.in_syncs_seconds",
        "time in sync calls, added up over threads",
    ),
    ("sync.p50_seconds", "median of one sync"),
    ("sync.p99_seconds", "99th percentile of one sync"),
    ("sync.max_seconds", "the longest sync"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use durastar::stats::Stats;

    use super::{Around, Dialect, LAYOUT, Outcome, Promise, Value, render};
    use crate::cli::assemble::Facts;

    #[test]
    fn the_layout_names_every_field() {
        let facts = Facts {
            superuser: false,
            umask: 0o22,
            environment: &|_| None,
            read: &|_| Err(std::io::ErrorKind::NotFound.into()),
            modified: &|_| Err(std::io::ErrorKind::NotFound.into()),
        };
        let (plan, _) = Dialect::Gnu.defaults(&facts).unwrap();
        let outcome = Outcome {
            stats: Stats::default(),
            error: None,
            promise: Promise::Kept,
            bottleneck: None,
        };
        let text = render(
            &outcome,
            Around {
                dialect: Dialect::Gnu,
                exit_status: 0,
                failures: 0,
                warnings: 0,
                signal: None,
                plan: &plan,
            },
        );
        assert!(text.ends_with("}\n"));
        let value: Value = serde_json::from_str(&text).unwrap();
        let mut found = BTreeSet::new();
        for (name, part) in value.as_object().unwrap() {
            match part {
                Value::Object(fields) => {
                    found.extend(fields.keys().map(|field| format!("{name}.{field}")));
                }
                _ => {
                    found.insert(name.clone());
                }
            }
        }
        let told: BTreeSet<String> = LAYOUT.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(found, told);
        assert_eq!(value["durability"]["promise"], "kept");
        assert_eq!(value["durability"]["mode"], "group");
        assert_eq!(value["error"], Value::Null);
    }
}
