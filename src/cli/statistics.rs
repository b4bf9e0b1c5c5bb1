//! The figures at the end of a run, in the words of each program that has them.

use std::time::Duration;

use durastar::engine::{Outcome, Promise};
use durastar::plan::Plan;
use durastar::stats::{Fifo, Stats};

use super::dialect::voice::Line;

/// How many members are settled, as a sentence without its end.
pub(crate) fn settled(members: u64) -> String {
    match members {
        1 => "1 member is settled".to_owned(),
        _ => format!("{members} members are settled"),
    }
}

/// star's lines about the FIFO. The line of moves is left out: a ring that is mapped twice has none.
pub(crate) fn star_fifo(fifo: &Fifo) -> Vec<Line> {
    let mut lines = vec![
        Line::said(format!("fifo had {} puts {} gets.", fifo.puts, fifo.gets)),
        Line::said(format!(
            "fifo was {} times empty and {} times full.",
            fifo.empty, fifo.full
        )),
        Line::said(format!(
            "fifo held {} bytes max, size was {} bytes",
            fifo.held_max_bytes, fifo.size_bytes
        )),
    ];
    if fifo.held_end_bytes > 0 {
        let percent = fifo.held_end_bytes * 100 / fifo.size_bytes.max(1);
        lines.push(Line::said(format!(
            "fifo is {percent}% full ({}k), size {}k.",
            fifo.held_end_bytes / 1024,
            fifo.size_bytes / 1024
        )));
    }
    lines
}

/// star's line about the archive: full records, the bytes of a partial one, and the sum.
pub(crate) fn star_blocks(archive_bytes: u64, record_bytes: u64) -> Line {
    let record = record_bytes.max(1);
    let hundredths = archive_bytes % 1024 * 100 / 1024;
    Line::said(format!(
        "{} blocks + {} bytes (total of {archive_bytes} bytes = {}.{hundredths:02}k).",
        archive_bytes / record,
        archive_bytes % record,
        archive_bytes / 1024
    ))
}

/// star's line about the time.
pub(crate) fn star_time(archive_bytes: u64, wall: Duration) -> Line {
    let millis = wall.as_millis();
    let rate = u128::from(archive_bytes / 1024) * 1000 / millis.max(1);
    Line::said(format!(
        "Total time {}.{:03}sec ({rate} kBytes/sec)",
        millis / 1000,
        millis % 1000
    ))
}

/// GNU tar's `--totals`.
pub(crate) fn gnu_totals(done: &str, archive_bytes: u64, wall: Duration) -> Line {
    let seconds = wall.as_secs_f64();
    let rate = if seconds > 0.0 {
        human(archive_bytes as f64 / seconds)
    } else {
        "?".to_owned()
    };
    Line::plain(format!(
        "Total bytes {done}: {archive_bytes} ({}, {rate}/s)",
        human(archive_bytes as f64)
    ))
}

/// A size as GNU programs shorten it: powers of 1024, one decimal below 10, rounded up.
fn human(bytes: f64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let tenths = (value * 10.0).ceil() / 10.0;
    if unit == 0 || tenths >= 10.0 {
        match value.ceil() {
            whole if whole >= 1024.0 && unit + 1 < UNITS.len() => {
                format!("1.0{}", UNITS[unit + 1])
            }
            whole => format!("{whole:.0}{}", UNITS[unit]),
        }
    } else {
        format!("{tenths:.1}{}", UNITS[unit])
    }
}

/// What stable storage has cost.
pub(crate) fn syncs(plan: &Plan, outcome: &Outcome) -> Vec<Line> {
    let Stats { sync, wall, .. } = &outcome.stats;
    let promise = match outcome.promise {
        Promise::Kept => "promise kept",
        Promise::Broken => "promise BROKEN: some members failed or may not be on stable storage",
        Promise::NotMade => "nothing promised",
    };
    let share = if wall.is_zero() {
        0.0
    } else {
        sync.wait_storage.as_secs_f64() / wall.as_secs_f64() * 100.0
    };
    let bottleneck = outcome
        .bottleneck
        .map_or("too short to tell", durastar::stats::Bottleneck::name);
    vec![
        Line::said(format!(
            "sync mode {}, {promise}",
            plan.durability.mode.name()
        )),
        Line::said(format!(
            "{} file syncs, {} directory syncs, {} file system syncs, {} failed",
            sync.file_syncs, sync.directory_syncs, sync.fs_syncs, sync.failed_syncs
        )),
        Line::said(format!(
            "{} members settled in {} windows",
            sync.settled_members, sync.windows
        )),
        Line::said(format!(
            "waited {:.3} s for stable storage, {share:.1}% of {:.3} s",
            sync.wait_storage.as_secs_f64(),
            wall.as_secs_f64()
        )),
        Line::said(format!(
            "one sync took {:.3} s (p50), {:.3} s (p99), {:.3} s (max)",
            sync.p50.as_secs_f64(),
            sync.p99.as_secs_f64(),
            sync.max.as_secs_f64()
        )),
        Line::said(format!("bottleneck: {bottleneck}")),
    ]
}

/// A line of progress.
pub(crate) fn progress(members: u64, archive_bytes: u64, elapsed: Duration) -> String {
    let rate = archive_bytes as f64 / elapsed.as_secs_f64().max(0.001);
    format!(
        "{members} members, {} read, {}/s",
        human(archive_bytes as f64),
        human(rate)
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use durastar::stats::Fifo;

    use super::{Line, gnu_totals, human, star_blocks, star_fifo, star_time};

    fn text(lines: &[Line]) -> String {
        lines
            .iter()
            .map(|line| match line {
                Line::Said(text) => format!("star: {}\n", String::from_utf8_lossy(text)),
                Line::Plain(text) => format!("{}\n", String::from_utf8_lossy(text)),
            })
            .collect()
    }

    #[test]
    fn the_statistics_of_star_byte_for_byte() {
        let fifo = Fifo {
            puts: 46849,
            gets: 80626,
            empty: 1,
            full: 12,
            held_max_bytes: 67_112_960,
            held_end_bytes: 2048,
            size_bytes: 67_112_960,
            ..Fifo::default()
        };
        let mut lines = star_fifo(&fifo);
        lines.push(star_blocks(479_733_760, 10240));
        lines.push(star_time(479_733_760, Duration::from_millis(73_528)));
        assert_eq!(
            text(&lines),
            "star: fifo had 46849 puts 80626 gets.\n\
             star: fifo was 1 times empty and 12 times full.\n\
             star: fifo held 67112960 bytes max, size was 67112960 bytes\n\
             star: fifo is 0% full (2k), size 65540k.\n\
             star: 46849 blocks + 0 bytes (total of 479733760 bytes = 468490.00k).\n\
             star: Total time 73.528sec (6371 kBytes/sec)\n"
        );
    }

    #[test]
    fn a_drained_fifo_has_no_fill_level() {
        assert_eq!(star_fifo(&Fifo::default()).len(), 3);
    }

    #[test]
    fn partial_records_and_parts_of_a_kilobyte() {
        assert_eq!(
            text(&[star_blocks(10752, 10240)]),
            "star: 1 blocks + 512 bytes (total of 10752 bytes = 10.50k).\n"
        );
        assert_eq!(
            text(&[star_time(10240, Duration::ZERO)]),
            "star: Total time 0.000sec (10000 kBytes/sec)\n"
        );
    }

    #[test]
    fn totals_of_gnu_tar() {
        assert_eq!(
            text(&[gnu_totals("read", 10240, Duration::from_micros(8200))]),
            "Total bytes read: 10240 (10KiB, 1.2MiB/s)\n"
        );
        assert_eq!(
            text(&[gnu_totals("written", 10240, Duration::ZERO)]),
            "Total bytes written: 10240 (10KiB, ?/s)\n"
        );
    }

    #[test]
    fn sizes_as_people_read_them() {
        for (bytes, expected) in [
            (0.0, "0B"),
            (512.0, "512B"),
            (1024.0, "1.0KiB"),
            (1025.0, "1.1KiB"),
            (10_240.0, "10KiB"),
            (10_241.0, "11KiB"),
            (1_048_575.0, "1.0MiB"),
            (9.95 * 1024.0, "10KiB"),
        ] {
            assert_eq!(human(bytes), expected, "{bytes}");
        }
    }
}
