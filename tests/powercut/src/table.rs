//! Results: one line of JSON for each recorded run, and the table of what was lost.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::cuts::Found;
use crate::disk::Cut;
use crate::record::{Spec, Tool};
use crate::rig::FileSystem;

/// The result of the cuts through one recorded run.
pub(crate) fn row(spec: &Spec, cuts: &[(Cut, Found)]) -> Value {
    let sum =
        |count: fn(&Found) -> usize| cuts.iter().map(|(_, found)| count(found)).sum::<usize>();
    let mut row = spec.json();
    let numbers = json!({
        "cuts": cuts.len(),
        "cuts_nothing_kept": cuts.iter().filter(|(cut, _)| cut.keep == 0).count(),
        "cuts_after_exit": sum(|found| found.after_exit.into()),
        "promised": sum(|found| found.promised),
        "lost": sum(|found| found.losses.len()),
        "cuts_with_losses": sum(|found| (!found.losses.is_empty()).into()),
        "most_lost": cuts.iter().map(|(_, found)| found.losses.len()).max(),
        "mixtures": sum(|found| found.mixtures.len()),
        "damaged": sum(|found| found.damage.is_some().into()),
    });
    if let (Value::Object(row), Value::Object(numbers)) = (&mut row, numbers) {
        row.extend(numbers);
    }
    row
}

#[derive(Debug, Default)]
struct Line {
    runs: u64,
    sums: [u64; 8],
    most_lost: u64,
}

const SUMS: [&str; 8] = [
    "cuts",
    "cuts_nothing_kept",
    "cuts_after_exit",
    "promised",
    "lost",
    "cuts_with_losses",
    "mixtures",
    "damaged",
];

/// The rows of the same tool, scenario and file system added up, and whether all is as it must be.
pub(crate) fn table(rows: &[Value]) -> (String, bool) {
    let mut lines: BTreeMap<[String; 3], Line> = BTreeMap::new();
    let order = |row: &Value| Tool::all().position(|tool| row["tool"] == tool.name());
    let mut rows: Vec<&Value> = rows.iter().collect();
    rows.sort_by_key(|row| order(row));
    let mut keys = Vec::new();
    for row in rows {
        let key = ["tool", "scenario", "file_system"]
            .map(|key| row[key].as_str().unwrap_or("?").to_owned());
        if !keys.contains(&key) {
            keys.push(key.clone());
        }
        let line = lines.entry(key).or_default();
        line.runs += 1;
        for (sum, name) in line.sums.iter_mut().zip(SUMS) {
            *sum += row[name].as_u64().unwrap_or(0);
        }
        line.most_lost = line.most_lost.max(row["most_lost"].as_u64().unwrap_or(0));
    }
    let mut text = format!(
        "{:20} {:8} {:6} {:>4} {:>5} {:>8} {:>10} {:>9} {:>7} {:>9} {:>9} {:>8} {:>7}\n",
        "tool",
        "scenario",
        "fs",
        "runs",
        "cuts",
        "nothing",
        "after exit",
        "promised",
        "lost",
        "lossy",
        "most lost",
        "mixtures",
        "damaged"
    );
    let mut right = true;
    for key in keys {
        let line = &lines[&key];
        let [
            cuts,
            nothing,
            exit,
            promised,
            lost,
            lossy,
            mixtures,
            damaged,
        ] = line.sums;
        let tool = Tool::all().find(|tool| tool.name() == key[0]);
        let file_system = FileSystem::ALL
            .into_iter()
            .find(|file_system| file_system.name() == key[2]);
        let verdict = match (tool, file_system) {
            (Some(tool), _) if tool.must_keep() && lost > 0 => "PROMISE BROKEN",
            (Some(tool), _) if tool.promises_all() && key[1] == "safe" && mixtures > 0 => {
                "NEITHER OLD NOR NEW"
            }
            (Some(tool), Some(file_system)) if tool.must_lose(file_system) && lost == 0 => {
                "NOT CAUGHT"
            }
            _ if damaged > 0 => "FILE SYSTEM DAMAGED",
            _ => "",
        };
        right &= verdict.is_empty();
        let [tool, scenario, file_system] = key;
        writeln!(
            text,
            "{tool:20} {scenario:8} {file_system:6} {:4} {cuts:5} {nothing:8} {exit:10} {promised:9} {lost:7} {lossy:9} {:9} {mixtures:8} {damaged:7} {verdict}",
            line.runs, line.most_lost
        )
        .expect("a String takes everything");
    }
    (text, right)
}
