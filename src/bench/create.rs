//! durastar and other tars write the same trees into a pipe that is counted: `tar -cf - TREE | wc -c`.
//!
//! Nothing is written to a disk, so what is measured is how fast a tree is walked and read: from the kernel's caches, or
//! from the device.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::extract::Cache;
use super::figures::{Summary, summary};
use super::process::{self, Output};
use super::tool::{self, LeftOut, Peers, Tool};
use super::{Error, Setup, Watch, facts, system};
use crate::disk;
use crate::sys;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Request {
    /// The trees.
    pub trees: Vec<PathBuf>,
    /// The states of the caches.
    pub caches: Vec<Cache>,
    /// Counted rounds.
    pub runs: NonZeroUsize,
    /// Other tars.
    pub peers: Peers,
}

struct Tree {
    parent: PathBuf,
    name: OsString,
    about: Value,
}

struct Cell<'a> {
    tree: usize,
    cache: Cache,
    tool: &'a Tool,
    walls: Vec<f64>,
    processor: Vec<f64>,
    archive_bytes: u64,
    failed: Option<String>,
}

/// Measures.
///
/// # Errors
/// Wrong use, as [`Error::Refused`]; a system call that failed; or an interrupt. A tool that fails is none of these: its
/// cell says so, and the others go on.
pub fn run(request: &Request, setup: &Setup, watch: &mut dyn Watch) -> Result<Value, Error> {
    if request.caches.contains(&Cache::Cold) && !sys::is_superuser() {
        return Err(Error::Refused(
            "cold runs empty the kernel's caches, which only the superuser may; use --cache=warm"
                .into(),
        ));
    }
    let trees = request
        .trees
        .iter()
        .map(|path| tree(path))
        .collect::<Result<Vec<_>, _>>()?;
    let (peers, mut left_out) = tool::peers(setup, &request.peers, watch)?;
    let durastar = tool::durastar(setup)?;
    let mut tools = Vec::new();
    match cannot_create(setup, &durastar)? {
        None => tools.push(durastar),
        Some(reason) if peers.is_empty() => return Err(Error::Refused(reason)),
        Some(reason) => {
            watch.note(&format!("left out: {reason}"));
            left_out.push(LeftOut {
                name: durastar.kind.name(),
                reason,
            });
        }
    }
    tools.extend(peers);
    let mut cells = Vec::new();
    for tree in 0..trees.len() {
        for cache in &request.caches {
            cells.extend(tools.iter().map(|tool| Cell {
                tree,
                cache: *cache,
                tool,
                walls: Vec::new(),
                processor: Vec::new(),
                archive_bytes: 0,
                failed: None,
            }));
        }
    }
    let rounds = request.runs.get() + 1;
    let total = (rounds * cells.len()) as u64;
    let mut done = 0;
    for round in 0..rounds {
        for group in cells.chunks_mut(tools.len()) {
            group.rotate_left(usize::from(round > 0));
            for (index, cell) in group.iter_mut().enumerate() {
                let what = match round {
                    0 => "warm-up".to_owned(),
                    _ => format!("round {round} of {}", request.runs),
                };
                let label = cell.tool.kind.name();
                watch.step(
                    done,
                    total,
                    &format!("{what}, {}: {label}", cell.cache.name()),
                );
                done += 1;
                if cell.failed.is_some() {
                    continue;
                }
                // The cold runs of the round before have emptied the caches.
                let refill = index == 0 && request.caches.len() > 1;
                match measure(cell, round, refill, &trees[cell.tree], setup) {
                    Ok(()) => {}
                    Err(error @ Error::Program { .. }) => {
                        watch.note(&format!("{label}: {error}"));
                        cell.failed = Some(error.to_string());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    cells.sort_by_key(|cell| {
        let tool = tools.iter().position(|tool| tool == cell.tool);
        let cache = request.caches.iter().position(|cache| *cache == cell.cache);
        (cell.tree, cache, tool)
    });
    let mut value = facts::head(setup, "create");
    value["tools"] = tools.iter().map(Tool::json).collect();
    value["left_out"] = left_out.iter().map(LeftOut::json).collect();
    value["runs"] = json!(request.runs);
    value["trees"] = trees.iter().map(|tree| tree.about.clone()).collect();
    value["cells"] = cells.iter().map(|cell| result(cell, &trees)).collect();
    Ok(value)
}

fn tree(path: &Path) -> Result<Tree, Error> {
    let path = std::fs::canonicalize(path).map_err(system("use", path))?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::Refused(format!(
            "{} has no parent to stand in",
            path.display()
        )));
    };
    let about = disk::about(&path).map_err(system("examine", &path))?;
    let mut value = facts::about(&about);
    value["path"] = json!(path.to_string_lossy());
    Ok(Tree {
        parent: parent.to_path_buf(),
        name: name.to_owned(),
        about: value,
    })
}

/// Why this durastar does not write archives, if it does not: asked with an archive of nothing.
fn cannot_create(setup: &Setup, durastar: &Tool) -> Result<Option<String>, Error> {
    let line: Vec<OsString> = [
        durastar.program.clone().into(),
        "-cf".into(),
        "-".into(),
        "-T".into(),
        "/dev/null".into(),
    ]
    .into();
    let ran = process::run(&setup.control, &setup.path, &line, Output::Keep)?;
    if ran.status.success() {
        return Ok(None);
    }
    let said = ran
        .stderr
        .lines()
        .next()
        .unwrap_or("it says nothing")
        .to_owned();
    Ok(Some(format!(
        "durastar does not write archives yet ({said})"
    )))
}

fn measure(
    cell: &mut Cell<'_>,
    round: usize,
    refill: bool,
    tree: &Tree,
    setup: &Setup,
) -> Result<(), Error> {
    let line = cell.tool.create(&tree.parent, &tree.name);
    if cell.cache == Cache::Cold {
        disk::forget_all().map_err(|cause| Error::System {
            what: "empty the kernel's caches".into(),
            cause,
        })?;
    } else if refill {
        process::run(&setup.control, &setup.path, &line, Output::Count)?;
    }
    let ran = process::run(&setup.control, &setup.path, &line, Output::Count)?;
    if !ran.status.success() {
        return Err(process::failure(&line, ran.status, &ran.stderr));
    }
    cell.archive_bytes = ran.stdout_bytes;
    if round > 0 {
        cell.walls.push(ran.wall.as_secs_f64());
        cell.processor
            .push((ran.usage.user + ran.usage.system).as_secs_f64());
    }
    Ok(())
}

fn result(cell: &Cell<'_>, trees: &[Tree]) -> Value {
    let tree = &trees[cell.tree];
    let line = cell.tool.create(&tree.parent, &tree.name);
    json!({
        "tree": cell.tree,
        "cache": cell.cache.name(),
        "tool": cell.tool.kind.name(),
        "label": cell.tool.kind.name(),
        "command": line.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
        "failed": cell.failed,
        "archive_bytes": cell.archive_bytes,
        "wall_seconds": summary(&cell.walls).map(Summary::json),
        "processor_seconds": summary(&cell.processor).map(Summary::json),
        "runs": cell.walls,
    })
}
