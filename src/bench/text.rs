//! A result as text for a terminal.

use std::fmt::Write;

use serde_json::Value;

use super::figures::{bytes, count, seconds};
use crate::render::table::{Align, table};

/// Items of an array; none for anything else.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A word, or nothing.
pub(super) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// A figure, if it is there.
pub(super) fn time(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".into(), seconds)
}

fn per_second(value: &Value) -> String {
    value
        .as_f64()
        .map_or_else(|| "-".into(), |rate| format!("{}/s", bytes(rate)))
}

fn number(value: &Value) -> String {
    value
        .as_f64()
        .map_or_else(|| "-".into(), |number| count(number.round() as u64))
}

/// The machine and the day, in a line.
pub(super) fn machine(result: &Value) -> String {
    let machine = &result["machine"];
    format!(
        "{}, {} cores, {} of memory, {}, {}",
        word(&machine["processor"]),
        machine["cores"],
        bytes(machine["memory_bytes"].as_f64().unwrap_or(0.0)),
        word(&machine["kernel"]),
        word(&result["date"]),
    )
}

/// The place of a measurement, in a line.
pub(super) fn site(site: &Value) -> String {
    let mut text = format!(
        "{} ({}) on {}",
        word(&site["file_system"]),
        word(&site["options"]),
        word(&site["source"])
    );
    if site["fresh"] == true {
        text.push_str(", made new for every run");
    }
    let mut here = site;
    loop {
        let device = word(&here["device"]);
        if !device.is_empty() && device != word(&here["source"]) {
            let _ = write!(text, ", device {device}");
        }
        if !word(&here["model"]).is_empty() {
            let _ = write!(text, " {}", word(&here["model"]));
        }
        let cache = word(&here["cache"]);
        let _ = match cache {
            "" => write!(text, ", cache setting not known"),
            cache => write!(text, ", cache {cache}"),
        };
        if !here["below"].is_object() {
            return text;
        }
        here = &here["below"];
        let _ = write!(
            text,
            "; its file on {} ({}) on {}",
            word(&here["file_system"]),
            word(&here["options"]),
            word(&here["source"])
        );
    }
}

/// An archive, in a line.
pub(super) fn archive(archive: &Value) -> String {
    let mut text = format!(
        "{}, {}, {} files of {} in all",
        word(&archive["name"]),
        bytes(archive["bytes"].as_f64().unwrap_or(0.0)),
        number(&archive["files"]),
        bytes(archive["file_bytes"].as_f64().unwrap_or(0.0)),
    );
    if !word(&archive["compression"]).is_empty() {
        let _ = write!(text, ", {}", word(&archive["compression"]));
    }
    text
}

/// Whatever kind of result it is.
#[must_use]
pub fn render(result: &Value) -> String {
    match word(&result["kind"]) {
        "extract" => extract(result),
        "create" => create(result),
        "disk" => disk(result),
        "tree" => tree(result),
        other => format!("nothing is known of a result of kind '{other}'\n"),
    }
}

fn left_out(result: &Value, text: &mut String) {
    for one in items(&result["left_out"]) {
        let _ = writeln!(text, "left out: {}", word(&one["reason"]));
    }
}

/// Cells of one site and one archive.
pub(super) fn cells(result: &Value, site: usize, archive: usize) -> impl Iterator<Item = &Value> {
    items(&result["cells"])
        .iter()
        .filter(move |cell| cell["site"] == site && cell["archive"] == archive)
}

/// Rows of the table of an extraction: tool, the time until all is stable, its own time, what safety
/// costs, what limited it. The most important stands first, as a telephone shows only the beginning of a wide table.
pub(super) const EXTRACT_HEAD: [(&str, Align); 8] = [
    ("tool", Align::Left),
    ("stable after", Align::Right),
    ("median", Align::Right),
    ("min", Align::Right),
    ("max", Align::Right),
    ("waited for storage", Align::Right),
    ("safe/unsafe", Align::Right),
    ("limited by", Align::Left),
];

pub(super) fn extract_row(cell: &Value) -> Vec<String> {
    if let Some(reason) = cell["failed"].as_str() {
        let mut row = vec![word(&cell["label"]).to_owned()];
        row.extend((0..6).map(|_| "-".to_owned()));
        row.push(format!("failed: {reason}"));
        return row;
    }
    let wall = &cell["wall_seconds"];
    let stable = time(&cell["stable_seconds"]["median"]);
    let stable = match cell["syncs_itself"].as_bool() {
        Some(true) => stable,
        _ => format!("{stable} with sync -f"),
    };
    let ratio = cell["ratio_safe_unsafe"].as_f64();
    vec![
        word(&cell["label"]).to_owned(),
        stable,
        time(&wall["median"]),
        time(&wall["min"]),
        time(&wall["max"]),
        time(&cell["sync_share_seconds"]["median"]),
        ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}")),
        word(&cell["limited_by"]).to_owned(),
    ]
}

pub(super) const STATISTICS_HEAD: [(&str, Align); 10] = [
    ("durastar", Align::Left),
    ("puts", Align::Right),
    ("gets", Align::Right),
    ("empty", Align::Right),
    ("full", Align::Right),
    ("held at most", Align::Right),
    ("files/dirs/fs synced", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("max", Align::Right),
];

/// FIFO and syncs of the run in the middle.
pub(super) fn statistics_row(cell: &Value) -> Option<Vec<String>> {
    let mut runs: Vec<&Value> = items(&cell["runs"]).iter().collect();
    runs.sort_by(|one, other| {
        let wall = |run: &Value| run["wall_seconds"].as_f64().unwrap_or(0.0);
        wall(one).total_cmp(&wall(other))
    });
    let report = &runs.get(runs.len() / 2)?["report"];
    let (fifo, sync) = (&report["fifo"], &report["sync"]);
    // Without a sync there is no latency, and the report has zeros.
    let latency = |field: &str| match sync["max_seconds"].as_f64() {
        Some(max) if max > 0.0 => time(&sync[field]),
        _ => "-".into(),
    };
    fifo.is_object().then(|| {
        vec![
            word(&cell["mode"]).to_owned()
                + &cell["jobs"]
                    .as_u64()
                    .map_or_else(String::new, |jobs| format!(" j{jobs}")),
            number(&fifo["puts"]),
            number(&fifo["gets"]),
            number(&fifo["empty"]),
            number(&fifo["full"]),
            bytes(fifo["held_max_bytes"].as_f64().unwrap_or(0.0)),
            format!(
                "{}/{}/{}",
                number(&sync["file_syncs"]),
                number(&sync["directory_syncs"]),
                number(&sync["fs_syncs"])
            ),
            latency("p50_seconds"),
            latency("p99_seconds"),
            latency("max_seconds"),
        ]
    })
}

/// Tools that did not restore what most of them did.
pub(super) fn incomplete(result: &Value, site: usize, archive: usize) -> Vec<String> {
    let most = cells(result, site, archive)
        .filter_map(|cell| cell["made_files"].as_u64())
        .max()
        .unwrap_or(0);
    cells(result, site, archive)
        .filter(|cell| cell["failed"].is_null() && cell["made_files"].as_u64() != Some(most))
        .map(|cell| {
            format!(
                "{} made {} files, where others made {}",
                word(&cell["label"]),
                number(&cell["made_files"]),
                count(most)
            )
        })
        .collect()
}

fn extract(result: &Value) -> String {
    let mut text = format!("{}\n", machine(result));
    left_out(result, &mut text);
    for (site_index, place) in items(&result["sites"]).iter().enumerate() {
        for (archive_index, one) in items(&result["archives"]).iter().enumerate() {
            let _ = writeln!(
                text,
                "\n{}: {}\n{}, {} cache, {} runs each\nsha256 {}\n",
                word(&place["name"]),
                site(place),
                archive(one),
                word(&result["cache"]),
                result["runs"],
                word(&one["sha256"]),
            );
            let rows: Vec<_> = cells(result, site_index, archive_index)
                .map(extract_row)
                .collect();
            text.push_str(&table(&EXTRACT_HEAD, &rows));
            for remark in incomplete(result, site_index, archive_index) {
                let _ = writeln!(text, "{remark}");
            }
            let rows: Vec<_> = cells(result, site_index, archive_index)
                .filter_map(statistics_row)
                .collect();
            if !rows.is_empty() {
                text.push('\n');
                text.push_str(&table(&STATISTICS_HEAD, &rows));
            }
        }
    }
    text
}

pub(super) const CREATE_HEAD: [(&str, Align); 7] = [
    ("tool", Align::Left),
    ("cache", Align::Left),
    ("median", Align::Right),
    ("min", Align::Right),
    ("max", Align::Right),
    ("processor", Align::Right),
    ("wc -c", Align::Right),
];

pub(super) fn create_row(cell: &Value) -> Vec<String> {
    let mut row = vec![
        word(&cell["label"]).to_owned(),
        word(&cell["cache"]).to_owned(),
    ];
    if let Some(reason) = cell["failed"].as_str() {
        row.push(format!("failed: {reason}"));
        return row;
    }
    let wall = &cell["wall_seconds"];
    row.extend([
        time(&wall["median"]),
        time(&wall["min"]),
        time(&wall["max"]),
        time(&cell["processor_seconds"]["median"]),
        number(&cell["archive_bytes"]),
    ]);
    row
}

fn create(result: &Value) -> String {
    let mut text = format!("{}\n", machine(result));
    left_out(result, &mut text);
    for (index, tree) in items(&result["trees"]).iter().enumerate() {
        let _ = writeln!(
            text,
            "\n{}: {}\n{} runs each\n",
            word(&tree["path"]),
            site(tree),
            result["runs"]
        );
        let cells = items(&result["cells"]).iter();
        let rows: Vec<_> = cells
            .filter(|cell| cell["tree"] == index)
            .map(create_row)
            .collect();
        text.push_str(&table(&CREATE_HEAD, &rows));
    }
    text
}

pub(super) const LATENCY_HEAD: [(&str, Align); 7] = [
    ("sync", Align::Left),
    ("threads", Align::Right),
    ("count", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("max", Align::Right),
    ("a second", Align::Right),
];

pub(super) fn latency_row(row: &Value) -> Vec<String> {
    vec![
        word(&row["what"]).to_owned(),
        number(&row["threads"]),
        number(&row["count"]),
        time(&row["p50_seconds"]),
        time(&row["p99_seconds"]),
        time(&row["max_seconds"]),
        number(&row["per_second"]),
    ]
}

/// What a file system did at best, by name.
pub(super) fn rates(result: &Value) -> Vec<Vec<String>> {
    let (data, names) = (&result["throughput"], &result["names"]);
    [
        ("block output", per_second(&data["output_bytes_per_second"])),
        (
            "block output with sync",
            per_second(&data["output_and_sync_bytes_per_second"]),
        ),
        (
            "rewrite with sync",
            per_second(&data["rewrite_bytes_per_second"]),
        ),
        ("block input", per_second(&data["input_bytes_per_second"])),
        ("seeks", number(&data["seeks_per_second"]) + "/s"),
        ("files made", number(&names["creates_per_second"]) + "/s"),
        (
            "files made with sync",
            number(&names["creates_and_sync_per_second"]) + "/s",
        ),
        ("files removed", number(&names["removes_per_second"]) + "/s"),
    ]
    .map(|(name, value)| vec![name.to_owned(), value])
    .to_vec()
}

/// What is to be thought of flushes, in a sentence or two.
pub(super) fn flush(result: &Value) -> String {
    match word(&result["flush"]["verdict"]) {
        "plausible" => "Flushes take as long as they must if they reach the device.".into(),
        _ => {
            let reasons: Vec<&str> = items(&result["flush"]["reasons"])
                .iter()
                .map(word)
                .collect();
            format!(
                "DOUBTFUL whether flushes reach stable storage: {}.",
                reasons.join("; ")
            )
        }
    }
}

fn disk(result: &Value) -> String {
    let mut text = format!("{}\n", machine(result));
    let _ = writeln!(
        text,
        "{}: {}\n{} of {} data{}\n",
        word(&result["site"]["directory"]),
        site(&result["site"]),
        bytes(result["size_bytes"].as_f64().unwrap_or(0.0)),
        word(&result["data"]),
        if result["larger_than_memory"] == true {
            ""
        } else {
            ", which fit into memory"
        },
    );
    let head = [("at best", Align::Left), ("rate", Align::Right)];
    text.push_str(&table(&head, &rates(result)));
    text.push('\n');
    let rows: Vec<_> = items(&result["latencies"])
        .iter()
        .map(latency_row)
        .collect();
    text.push_str(&table(&LATENCY_HEAD, &rows));
    let _ = writeln!(text, "\n{}", flush(result));
    text
}

fn tree(result: &Value) -> String {
    let tree = &result["tree"];
    format!(
        "{}\n{}\n{}\n",
        machine(result),
        site(&result["site"]),
        tree_line(tree)
    )
}

/// What was made and how long it took, in a line.
pub(super) fn tree_line(tree: &Value) -> String {
    format!(
        "{}: {} directories, {} files, {} of {} data; {}, stable after {}",
        word(&tree["name"]),
        number(&tree["directories"]),
        number(&tree["files"]),
        bytes(tree["file_bytes"].as_f64().unwrap_or(0.0)),
        word(&tree["data"]),
        time(&tree["wall_seconds"]),
        time(&tree["stable_seconds"]),
    )
}
