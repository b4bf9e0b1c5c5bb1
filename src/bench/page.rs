//! Results as one HTML page that needs nothing else: no scripts, no fonts, no pictures from anywhere.
//!
//! Everything on it comes from the results. The colours follow the reader's choice of light or dark, and are light on
//! paper; each drawing is there for a wide and for a narrow page.

use std::fmt::Write;

use serde_json::Value;

use super::chart::{self, Bar, Ink, Line, Series};
use super::figures::{bytes, seconds};
use super::text::{self, CREATE_HEAD, EXTRACT_HEAD, LATENCY_HEAD, STATISTICS_HEAD, items, word};
use crate::render::table::Align;

const STYLE: &str = include_str!("page.css");

/// Text that may stand anywhere in HTML.
pub(super) fn escape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => plain.push_str("&amp;"),
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '"' => plain.push_str("&quot;"),
            // Control characters are not allowed in a page, however they are written.
            c if c.is_control() => plain.push('\u{fffd}'),
            c => plain.push(c),
        }
    }
    plain
}

/// The page of some results, in their order.
#[must_use]
pub fn render(results: &[Value]) -> String {
    let mut body = String::new();
    for result in results {
        match word(&result["kind"]) {
            "extract" => extract(result, &mut body),
            "create" => create(result, &mut body),
            "disk" => disk(result, &mut body),
            "tree" => tree(result, &mut body),
            other => {
                let _ = write!(
                    body,
                    "<p>Nothing is known of a result of kind {}.</p>",
                    escape(other)
                );
            }
        }
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>What safety costs</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>What safety costs</h1>\n\
         <p class=\"quiet\">Measured by durastar-bench {}. Times are wall time, the median of all counted runs; \
         thin lines reach from the shortest to the longest.</p>\n{body}</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn paragraph(class: &str, text: &str, body: &mut String) {
    let _ = writeln!(body, "<p class=\"{class}\">{}</p>", escape(text));
}

fn heading(level: u8, text: &str, body: &mut String) {
    let _ = writeln!(body, "<h{level}>{}</h{level}>", escape(text));
}

fn table(head: &[(&str, Align)], rows: &[Vec<String>], body: &mut String) {
    let class = |align: Align| match align {
        Align::Left => "",
        Align::Right => " class=\"figure\"",
    };
    body.push_str("<div class=\"scroll\"><table><thead><tr>");
    for (title, align) in head {
        let _ = write!(body, "<th{}>{}</th>", class(*align), escape(title));
    }
    body.push_str("</tr></thead><tbody>\n");
    for row in rows {
        body.push_str("<tr>");
        for (index, (cell, (_, align))) in row.iter().zip(head).enumerate() {
            // A reason for a failure takes the rest of the row.
            let left = head.len() - index;
            if index + 1 == row.len() && left > 1 {
                let _ = write!(body, "<td colspan=\"{left}\">{}</td>", escape(cell));
            } else {
                let _ = write!(body, "<td{}>{}</td>", class(*align), escape(cell));
            }
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div>\n");
}

fn legend(entries: &[(Ink, &str)], body: &mut String) {
    body.push_str("<ul class=\"legend\">");
    for (ink, text) in entries {
        let _ = write!(
            body,
            "<li><span style=\"background:var({})\"></span>{}</li>",
            ink.variable(),
            escape(text)
        );
    }
    body.push_str("</ul>\n");
}

/// Rows that are commands as they were typed.
const COMMANDS: [&str; 3] = ["Command", "Prepared by", "Run"];

fn facts(rows: &[(&str, String)], body: &mut String) {
    body.push_str("<table class=\"facts\"><tbody>\n");
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let value = if COMMANDS.contains(name) {
            format!("<code>{}</code>", escape(value))
        } else {
            escape(value)
        };
        let _ = writeln!(body, "<tr><td>{}</td><td>{value}</td></tr>", escape(name));
    }
    body.push_str("</tbody></table>\n");
}

fn words(value: &Value) -> String {
    items(value).iter().map(word).collect::<Vec<_>>().join(" ")
}

/// What every kind of result has to say about where it comes from.
fn origin(result: &Value, more: Vec<(&str, String)>, body: &mut String) {
    heading(3, "To read this again", body);
    let mut rows = vec![
        ("Machine", text::machine(result)),
        ("Command", words(&result["command"])),
    ];
    for tool in items(&result["tools"]) {
        rows.push((
            "Tool",
            format!("{}: {}", word(&tool["program"]), word(&tool["version"])),
        ));
    }
    for one in items(&result["left_out"]) {
        rows.push(("Left out", word(&one["reason"]).to_owned()));
    }
    rows.extend(more);
    facts(&rows, body);
}

fn median(value: &Value) -> Option<f64> {
    value["median"].as_f64()
}

fn extract(result: &Value, body: &mut String) {
    let sites = items(&result["sites"]);
    for (archive_index, archive) in items(&result["archives"]).iter().enumerate() {
        heading(2, &format!("Extracting {}", word(&archive["name"])), body);
        paragraph(
            "quiet",
            &format!(
                "{}; {} cache, {} runs of each tool, in turn; {}",
                text::archive(archive),
                word(&result["cache"]),
                result["runs"],
                text::machine(result)
            ),
            body,
        );
        sentences(result, archive_index, body);
        legend(
            &[
                (Ink::Own, "durastar at work"),
                (Ink::Peer, "another tar at work"),
                (Ink::Sync, "waiting for stable storage"),
            ],
            body,
        );
        for (site_index, site) in sites.iter().enumerate() {
            heading(3, word(&site["name"]), body);
            let lines: Vec<Line> = text::cells(result, site_index, archive_index)
                .filter_map(extract_bar)
                .collect();
            let label = format!("time until everything is stable, {}", word(&site["name"]));
            body.push_str(&chart::figure(
                |width| chart::bars(&lines, "s", None, &label, width),
                if site_index > 0 {
                    ""
                } else {
                    "Time until everything is on stable storage. What does not sync by itself is followed by one \
                     syncfs(2), as <code>sync -f</code> does; its bar without that part is its time without safety."
                },
            ));
            let rows: Vec<_> = text::cells(result, site_index, archive_index)
                .map(text::extract_row)
                .collect();
            table(&EXTRACT_HEAD, &rows, body);
            for remark in text::incomplete(result, site_index, archive_index) {
                paragraph("warn", &remark, body);
            }
        }
        ratios(result, archive_index, body);
        statistics(result, archive_index, body);
        traces(result, archive_index, body);
        let mut rows = vec![(
            "Archive",
            format!(
                "{}, SHA-256 {}",
                word(&archive["path"]),
                word(&archive["sha256"])
            ),
        )];
        for site in sites {
            rows.push((
                "Place",
                format!("{}: {}", word(&site["directory"]), text::site(site)),
            ));
            for line in items(&site["prepared"]) {
                rows.push(("Prepared by", word(line).to_owned()));
            }
        }
        for cell in text::cells(result, 0, archive_index) {
            rows.push(("Run", words(&cell["command"])));
        }
        origin(result, rows, body);
    }
}

fn extract_bar(cell: &Value) -> Option<Line> {
    let stable = &cell["stable_seconds"];
    let whole = median(stable)?;
    let share = median(&cell["sync_share_seconds"])
        .unwrap_or(0.0)
        .min(whole);
    let own = cell["tool"] == "durastar";
    Some(Line::Bar(Bar {
        label: label(cell),
        value: seconds(whole),
        ink: if own { Ink::Own } else { Ink::Peer },
        first: whole - share,
        second: share,
        range: Some((stable["min"].as_f64()?, stable["max"].as_f64()?)),
    }))
}

fn label(cell: &Value) -> String {
    let label = word(&cell["label"]);
    if cell["syncs_itself"] == true {
        label.to_owned()
    } else {
        format!("{label} + sync -f")
    }
}

/// What a reader wants to know first, for each place.
fn sentences(result: &Value, archive: usize, body: &mut String) {
    body.push_str("<ul>\n");
    for (index, site) in items(&result["sites"]).iter().enumerate() {
        let cells: Vec<&Value> = text::cells(result, index, archive).collect();
        let fastest = |wanted: &dyn Fn(&Value) -> bool, figure: &str| {
            cells
                .iter()
                .filter(|cell| wanted(cell))
                .filter_map(|cell| Some((median(&cell[figure])?, *cell)))
                .min_by(|one, other| one.0.total_cmp(&other.0))
        };
        let own = |cell: &Value| cell["tool"] == "durastar" && cell["syncs_itself"] == true;
        let peer = |cell: &Value| cell["tool"] != "durastar";
        let mut sentence = String::new();
        if let Some((time, cell)) = fastest(&own, "stable_seconds") {
            let mode = word(&cell["label"]);
            let _ = write!(
                sentence,
                "everything is stable after {} with {mode}",
                seconds(time)
            );
            if let Some(ratio) = cell["ratio_safe_unsafe"].as_f64() {
                let _ = write!(sentence, ", {ratio:.2} times what it takes without safety");
            }
            sentence.push_str(". ");
        }
        if let Some((time, cell)) = fastest(&peer, "stable_seconds") {
            let _ = write!(
                sentence,
                "Of the others {} is the first, after {}",
                label(cell),
                seconds(time)
            );
            if let Some((time, cell)) = fastest(&peer, "wall_seconds") {
                let _ = write!(
                    sentence,
                    "; {} ends after {}, with nothing promised",
                    word(&cell["label"]),
                    seconds(time)
                );
            }
            sentence.push('.');
        }
        let _ = writeln!(
            body,
            "<li><strong>{}</strong>: {}</li>",
            escape(word(&site["name"])),
            escape(&sentence)
        );
    }
    body.push_str("</ul>\n");
}

fn ratios(result: &Value, archive: usize, body: &mut String) {
    let mut lines = Vec::new();
    for (index, site) in items(&result["sites"]).iter().enumerate() {
        lines.push(Line::Heading(word(&site["name"]).to_owned()));
        for cell in text::cells(result, index, archive) {
            let Some(ratio) = cell["ratio_safe_unsafe"].as_f64() else {
                continue;
            };
            let own = cell["tool"] == "durastar";
            lines.push(Line::Bar(Bar {
                label: label(cell),
                value: format!("{ratio:.2}"),
                ink: if own { Ink::Own } else { Ink::Peer },
                first: ratio,
                second: 0.0,
                range: None,
            }));
        }
    }
    heading(3, "What safety costs, as a factor", body);
    body.push_str(&chart::figure(
        |width| {
            chart::bars(
                &lines,
                "×",
                Some(1.0),
                "time with safety divided by time without, per file system",
                width,
            )
        },
        "Time until everything is stable, divided by the time of the same tool without any sync.",
    ));
}

fn statistics(result: &Value, archive: usize, body: &mut String) {
    for (index, site) in items(&result["sites"]).iter().enumerate() {
        let rows: Vec<_> = text::cells(result, index, archive)
            .filter_map(text::statistics_row)
            .collect();
        if !rows.is_empty() {
            heading(3, &format!("FIFO and syncs, {}", word(&site["name"])), body);
            table(&STATISTICS_HEAD, &rows, body);
        }
    }
}

fn mode_ink(mode: &str) -> Ink {
    match mode {
        "each" => Ink::Each,
        "group" => Ink::Group,
        "batch" => Ink::Batch,
        _ => Ink::None,
    }
}

fn traces(result: &Value, archive: usize, body: &mut String) {
    for (index, site) in items(&result["sites"]).iter().enumerate() {
        let traces: Vec<&Value> = items(&result["traces"])
            .iter()
            .filter(|trace| trace["site"] == index && trace["archive"] == archive)
            .collect();
        if traces.is_empty() {
            continue;
        }
        let name = word(&site["name"]);
        heading(3, &format!("A close look, {name}"), body);
        let entries: Vec<(Ink, &str)> = traces
            .iter()
            .map(|trace| (mode_ink(word(&trace["mode"])), word(&trace["mode"])))
            .collect();
        legend(&entries, body);
        let points = |list: &str, value: usize| -> Vec<Series> {
            traces
                .iter()
                .map(|trace| Series {
                    ink: mode_ink(word(&trace["mode"])),
                    points: items(&trace[list])
                        .iter()
                        .filter_map(|point| Some((point[0].as_f64()?, point[value].as_f64()?)))
                        .collect(),
                })
                .collect()
        };
        let fill = points("fill", 1);
        let top = traces
            .iter()
            .filter_map(|trace| trace["fifo_size_bytes"].as_f64())
            .fold(0.0, f64::max);
        body.push_str(&chart::figure(
            |width| chart::over_time(&fill, top, bytes, &format!("FIFO fill over time, {name}"), width),
            "FIFO fill over time, one run of each mode. Full: the disk is slower than the archive is read. Empty: the \
             archive is slower.",
        ));
        let syncs = points("syncs", 2);
        if syncs.iter().any(|series| !series.points.is_empty()) {
            body.push_str(&chart::figure(
                |width| chart::scattered(&syncs, seconds, &format!("sync latency over time, {name}"), width),
                "Each sync call of the same runs: when it began, and how long it took, on a logarithmic scale. Of many \
                 calls an even choice is drawn.",
            ));
        }
    }
}

fn create(result: &Value, body: &mut String) {
    let mut rows = Vec::new();
    for (index, tree) in items(&result["trees"]).iter().enumerate() {
        heading(2, &format!("Archiving {}", word(&tree["path"])), body);
        paragraph(
            "quiet",
            &format!(
                "{} runs of each tool, in turn, into a pipe that is counted; {}",
                result["runs"],
                text::machine(result)
            ),
            body,
        );
        let cells = || {
            items(&result["cells"])
                .iter()
                .filter(|cell| cell["tree"] == index)
        };
        let mut lines = Vec::new();
        for cache in ["cold", "warm"] {
            let here: Vec<&Value> = cells().filter(|cell| cell["cache"] == cache).collect();
            if !here.is_empty() {
                lines.push(Line::Heading(format!("{cache} cache")));
            }
            lines.extend(here.into_iter().filter_map(|cell| {
                let wall = &cell["wall_seconds"];
                Some(Line::Bar(Bar {
                    label: word(&cell["label"]).to_owned(),
                    value: seconds(median(wall)?),
                    ink: if cell["tool"] == "durastar" {
                        Ink::Own
                    } else {
                        Ink::Peer
                    },
                    first: median(wall)?,
                    second: 0.0,
                    range: Some((wall["min"].as_f64()?, wall["max"].as_f64()?)),
                }))
            }));
        }
        body.push_str(&chart::figure(
            |width| {
                chart::bars(
                    &lines,
                    "s",
                    None,
                    "time to write the archive into a pipe",
                    width,
                )
            },
            "Time of <code>tar -cf - | wc -c</code>.",
        ));
        table(
            &CREATE_HEAD,
            &cells().map(text::create_row).collect::<Vec<_>>(),
            body,
        );
        rows.push((
            "Tree",
            format!("{}: {}", word(&tree["path"]), text::site(tree)),
        ));
        rows.extend(cells().map(|cell| ("Run", words(&cell["command"]))));
    }
    origin(result, rows, body);
}

fn disk(result: &Value, body: &mut String) {
    let site = &result["site"];
    heading(
        2,
        &format!("What {} can do", word(&site["directory"])),
        body,
    );
    paragraph(
        "quiet",
        &format!("{}; {}", text::site(site), text::machine(result)),
        body,
    );
    let doubtful = word(&result["flush"]["verdict"]) != "plausible";
    paragraph(
        if doubtful { "warn" } else { "" },
        &text::flush(result),
        body,
    );
    let lines: Vec<Line> = items(&result["latencies"])
        .iter()
        .filter_map(|row| {
            let (p50, p99) = (row["p50_seconds"].as_f64()?, row["p99_seconds"].as_f64()?);
            Some(Line::Bar(Bar {
                label: short(row),
                value: seconds(p50),
                ink: Ink::Sync,
                first: p50 * 1e3,
                second: 0.0,
                range: Some((p50 * 1e3, p99 * 1e3)),
            }))
        })
        .collect();
    body.push_str(&chart::figure(
        |width| chart::bars(&lines, "ms", None, "latency of syncs", width),
        "Latency of one sync: the bar is the median, the line reaches to the 99th percentile.",
    ));
    let rows: Vec<_> = items(&result["latencies"])
        .iter()
        .map(text::latency_row)
        .collect();
    table(&LATENCY_HEAD, &rows, body);
    let head = [("at best", Align::Left), ("rate", Align::Right)];
    table(&head, &text::rates(result), body);
    let large = format!(
        "{} of {} data, seed {}",
        bytes(result["size_bytes"].as_f64().unwrap_or(0.0)),
        word(&result["data"]),
        result["seed"]
    );
    origin(result, vec![("Large file", large)], body);
}

/// A latency's name, as short as a telephone wants it.
fn short(row: &Value) -> String {
    let what = match word(&row["what"]) {
        "fdatasync of an overwritten block" => "overwrite",
        "fsync of a new file" => "new file",
        "fsync of a directory" => "directory",
        other => other,
    };
    match row["threads"].as_u64() {
        Some(1) => what.to_owned(),
        threads => format!("{what}, {} threads", threads.unwrap_or(0)),
    }
}

fn tree(result: &Value, body: &mut String) {
    let tree = &result["tree"];
    heading(2, &format!("Making {}", word(&tree["name"])), body);
    paragraph("", &text::tree_line(tree), body);
    let rows = vec![
        ("Place", text::site(&result["site"])),
        ("Path", word(&tree["path"]).to_owned()),
        ("Seed", tree["seed"].to_string()),
    ];
    origin(result, rows, body);
}
