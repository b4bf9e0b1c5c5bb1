//! The manual page, rendered from the table; a test compares it with `man/durastar-bench.1`, and `BLESS=1` rewrites that.

use std::fmt::Write;

use crate::help::{capital, spelling};
use crate::table::{COMMANDS, COMMON, Flag};

/// What the fields of a result mean.
const LAYOUT: &[(&str, &str)] = &[
    ("durastar_bench", "number of this layout: 1"),
    ("program_version", "version of durastar-bench"),
    ("kind", "extract, create, tree or disk"),
    ("date", "when it was measured, UTC"),
    ("command", "the words of the command line"),
    ("machine", "processor, cores, memory_bytes, kernel"),
    ("tools", "name, program and version of each tar"),
    (
        "left_out",
        "name and reason of each tar that was not measured",
    ),
    (
        "cache",
        "state of the archive before each run: warm or cold",
    ),
    ("runs", "counted rounds"),
    (
        "sites",
        "extract: each place with file_system, options, source, device, model, cache (write back or write through, as the \
         device says), rotational, available_bytes, backing_file and below (the same of the file behind a loop device), \
         fresh, and prepared, the commands that made it",
    ),
    (
        "archives",
        "extract: name, path, bytes, sha256, plain_bytes, members, files, file_bytes, compression",
    ),
    (
        "cells",
        "extract and create: the runs of one tool with one archive on one site (site and archive are positions in those \
         lists), or with one tree: label, command, failed (a reason, or null), wall_seconds (median, min, max), and all runs. \
         For extract also stable_seconds (until everything is stable, with the sync afterwards where the tool has none), \
         sync_share_seconds, ratio_safe_unsafe, limited_by, made_files and made_file_bytes; each run with \
         sync_after_seconds, user_seconds, system_seconds, resident_max_bytes and durastar's own report",
    ),
    (
        "traces",
        "extract: one run of each mode looked at closely: fill (seconds, bytes in the FIFO), syncs (seconds, what, how long)",
    ),
    ("trees", "create: what is known of each tree's place"),
    ("site", "tree and disk: the place, as in sites"),
    (
        "tree",
        "tree: name, path, archive, data, seed, directories, files, file_bytes, wall_seconds, stable_seconds",
    ),
    ("size_bytes", "disk: the large file"),
    (
        "larger_than_memory",
        "disk: whether that is larger than the memory",
    ),
    ("data", "disk: random or compressible"),
    ("seed", "disk: what random numbers began with"),
    (
        "throughput",
        "disk: rates of the large file, bytes or seeks in a second",
    ),
    (
        "names",
        "disk: files, and how many were made and removed in a second",
    ),
    (
        "latencies",
        "disk: what, threads, count, p50_seconds, p99_seconds, max_seconds, per_second of each kind of sync",
    ),
    (
        "flush",
        "disk: verdict, plausible or doubtful, and the reasons",
    ),
];

/// As roff.
pub(crate) fn page() -> String {
    let mut text = format!(
        ".\\\" Rendered from the table of options; do not edit.\n\
         .TH DURASTAR\\-BENCH 1 \"\" \"durastar {}\" \"User Commands\"\n\
         .SH NAME\n\
         durastar\\-bench \\- measure what safe extraction costs on this disk\n\
         .SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION")
    );
    for (index, command) in COMMANDS.iter().enumerate() {
        if index > 0 {
            text.push_str(".br\n");
        }
        let _ = writeln!(
            text,
            ".B durastar\\-bench {}\n.RI [ OPTION ...]\n.I {}",
            command.name,
            escape(command.operands)
        );
    }
    text.push_str(
        ".SH DESCRIPTION\n\
         Measures how long durastar takes to extract archives safely, in each of its durability modes, beside other tars; how \
         fast trees are archived; and what the disk below can do at best. Results are tables, JSON, and a page with charts.\n\
         .PP\n\
         durastar and its peers are started as programs, with an environment that holds PATH and LC_ALL=C only. An interrupt \
         ends the program that runs, unmounts and removes what was made, and writes no result.\n\
         .SH OPTIONS\n",
    );
    for option in &COMMON {
        entry(option, &mut text);
    }
    text.push_str(".SH COMMANDS\n");
    for command in &COMMANDS {
        let _ = writeln!(text, ".SS {} {}", command.name, escape(command.operands));
        let _ = writeln!(text, "{}.", escape(&capital(command.about)));
        for paragraph in command.text {
            let _ = writeln!(text, ".PP\n{}", escape(paragraph));
        }
        for option in command.options {
            entry(option, &mut text);
        }
    }
    text.push_str(
        ".SH RESULTS\n\
         A result is a JSON object. Fields may be added; one that changes its meaning changes the number in\n\
         .BR durastar_bench .\n\
         Times are in seconds, as fractions.\n",
    );
    for (name, what) in LAYOUT {
        let _ = writeln!(text, ".TP\n.B {name}\n{}", escape(what));
    }
    text.push_str(
        ".SH \"EXIT STATUS\"\n\
         .TP\n.B 0\nEverything was measured.\n\
         .TP\n.B 1\nA tool, a helper program or a system call failed; messages say which.\n\
         .TP\n.B 2\nWrong use, refused with the reason; nothing was measured.\n\
         .PP\n\
         After an interrupt the program ends by the same signal.\n\
         .SH \"SEE ALSO\"\n\
         .BR durastar (1),\n.BR syncfs (2),\n.BR sync (1)\n",
    );
    text
}

fn entry(option: &Flag, text: &mut String) {
    let spelt = escape(&spelling(option));
    let spelt = match spelt.split_once('=') {
        Some((name, value)) => format!("\\fB{name}\\fR=\\fI{value}\\fR"),
        None => format!("\\fB{spelt}\\fR"),
    };
    let _ = writeln!(text, ".TP\n{spelt}\n{}.", escape(&capital(option.help)));
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::page;

    #[test]
    fn the_manual_page_is_fresh() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man/durastar-bench.1");
        let fresh = page();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == fresh,
            "{} is stale; run the tests once with BLESS=1\n--- kept\n{kept}\n--- fresh\n{fresh}",
            path.display()
        );
    }

    #[test]
    fn no_line_of_text_is_taken_for_a_request() {
        for line in page().lines().filter_map(|line| line.strip_prefix('.')) {
            let word = line.split(' ').next().unwrap();
            let known = [
                "\\\"", "TH", "SH", "SS", "TP", "PP", "B", "BR", "RI", "I", "br",
            ];
            assert!(known.contains(&word), "{line}");
        }
    }
}
