//! Every durability mode and other tars unpack the same archives, in turn.
//!
//! One round gives each tool one run, on each site and with each archive; tools change their order from round to round,
//! so that none always follows the same. The first round warms up and is not counted; in it the trees are counted too,
//! because a tar that leaves something out is fast. After every run one syncfs(2), which is what `sync -f` does, is timed
//! by itself: for a tool that does not sync it is the rest of the price, so its unsafe and its safe time come from the
//! same run; after a durable mode it shows what was left to do.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::facts::{self, Contents};
use super::figures::{Summary, summary};
use super::place::{self, FileSystem, Needs, Place, Scratch, Site};
use super::process::{self, Output};
use super::tool::{self, Kind, Peers, Variant};
use super::{Error, Setup, Watch, system, trace};
use crate::disk;
use crate::plan::DurabilityMode;

/// In which state the archive is when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cache {
    /// Read once just before: in the page cache.
    Warm,
    /// Taken out of the page cache just before.
    Cold,
}

impl Cache {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Request {
    /// The archives.
    pub archives: Vec<PathBuf>,
    /// Where to; with file systems, where their files are.
    pub dirs: Vec<PathBuf>,
    /// File systems that are made fresh for every run; when empty, runs go to the directories themselves.
    pub file_systems: Vec<FileSystem>,
    /// durastar's modes.
    pub modes: Vec<DurabilityMode>,
    /// durastar's numbers of writing threads; `None` for its default.
    pub jobs: Vec<Option<NonZeroUsize>>,
    /// Counted rounds.
    pub runs: NonZeroUsize,
    /// Other tars.
    pub peers: Peers,
    /// The archive's state.
    pub cache: Cache,
    /// Whether each mode is also looked at closely, once for each site and archive.
    pub trace: bool,
}

/// The runs of one tool with one archive on one site.
struct Cell {
    site: usize,
    archive: usize,
    variant: Variant,
    command: Vec<String>,
    runs: Vec<Run>,
    /// Files and bytes of contents that it made, in the round that warms up.
    made: (u64, u64),
    /// Why it is not measured any more.
    failed: Option<String>,
}

struct Run {
    wall: f64,
    sync_after: f64,
    user: f64,
    system: f64,
    resident_max_bytes: u64,
    report: Value,
}

/// Measures.
///
/// # Errors
/// Wrong use, as [`Error::Refused`]; a system call or a helper program that failed; or an interrupt. A tool that fails is
/// none of these: its cell says so, and the others go on.
pub fn run(request: &Request, setup: &Setup, watch: &mut dyn Watch) -> Result<Value, Error> {
    place::refuse_mounting(setup, &request.file_systems)?;
    let durastar = tool::durastar(setup)?;
    let (peers, left_out) = tool::peers(setup, &request.peers, watch)?;
    watch.step(0, 0, "reading the archives");
    let archives = request
        .archives
        .iter()
        .map(|path| facts::archive(setup, path))
        .collect::<Result<Vec<_>, _>>()?;
    let sites = sites(request, &archives)?;
    // One place of each kind before anything is timed: a file system that cannot be made is known at once.
    let mut known = Vec::new();
    for site in &sites {
        watch.step(0, 0, &format!("preparing {}", site.name));
        let place = site.prepare(setup)?;
        known.push(facts::site(site, &place)?);
        place.finish()?;
    }
    let variants = variants(request, &durastar, &peers);
    let mut cells = Vec::new();
    for site in 0..sites.len() {
        for archive in 0..archives.len() {
            cells.extend(variants.iter().map(|variant| Cell {
                site,
                archive,
                variant: variant.clone(),
                command: Vec::new(),
                runs: Vec::new(),
                made: (0, 0),
                failed: None,
            }));
        }
    }
    let rounds = request.runs.get() + 1;
    let traced = if request.trace {
        request.modes.len()
    } else {
        0
    };
    let total = (rounds * cells.len() + traced * sites.len() * archives.len()) as u64;
    let mut done = 0;
    for round in 0..rounds {
        for group in cells.chunks_mut(variants.len()) {
            group.rotate_left(usize::from(round > 0));
            for cell in group {
                let what = match round {
                    0 => "warm-up".to_owned(),
                    _ => format!("round {round} of {}", request.runs),
                };
                let (site, archive) = (&sites[cell.site], &archives[cell.archive]);
                let what = format!("{what}, {}: {}", site.name, cell.variant.label());
                watch.step(done, total, &what);
                done += 1;
                if cell.failed.is_none() {
                    one(cell, round, site, archive, request.cache, setup)?;
                    if let Some(reason) = &cell.failed {
                        watch.note(&format!(
                            "{} on {}: {reason}",
                            cell.variant.label(),
                            site.name
                        ));
                    }
                }
            }
        }
    }
    // As they were before they took turns.
    cells.sort_by_key(|cell| {
        let index = variants.iter().position(|variant| *variant == cell.variant);
        (cell.site, cell.archive, index)
    });
    let traces = if request.trace {
        traces(request, &sites, &archives, setup, watch, (done, total))?
    } else {
        Vec::new()
    };
    let mut value = facts::head(setup, "extract");
    let tools: Vec<Value> = std::iter::once(&durastar)
        .chain(&peers)
        .map(tool::Tool::json)
        .collect();
    value["tools"] = json!(tools);
    value["left_out"] = left_out.iter().map(tool::LeftOut::json).collect();
    value["cache"] = json!(request.cache.name());
    value["runs"] = json!(request.runs);
    value["sites"] = json!(known);
    value["archives"] = archives.iter().map(Contents::json).collect();
    value["cells"] = results(&cells);
    value["traces"] = json!(traces);
    Ok(value)
}

fn sites(request: &Request, archives: &[Contents]) -> Result<Vec<Site>, Error> {
    let needs = archives
        .iter()
        .fold(Needs::default(), |needs, archive| Needs {
            bytes: needs
                .bytes
                .max(archive.plain_bytes + archive.members * 4096),
            objects: needs.objects.max(archive.members),
        });
    let mut sites = Vec::new();
    for dir in &request.dirs {
        let scratch = Scratch::new(dir)?;
        if request.file_systems.is_empty() {
            sites.push(Site::new(dir, None, &scratch, needs)?);
        }
        for kind in &request.file_systems {
            sites.push(Site::new(dir, Some(*kind), &scratch, needs)?);
        }
    }
    // Two of the same kind are told apart by where they are.
    let names: Vec<String> = sites.iter().map(|site| site.name.clone()).collect();
    for site in &mut sites {
        if names.iter().filter(|name| **name == site.name).count() > 1 {
            site.name = format!("{} in {}", site.name, site.dir.display());
        }
    }
    Ok(sites)
}

fn variants(request: &Request, durastar: &tool::Tool, peers: &[tool::Tool]) -> Vec<Variant> {
    let mut variants = Vec::new();
    for jobs in &request.jobs {
        for mode in &request.modes {
            variants.push(Variant {
                tool: durastar.clone(),
                mode: Some(*mode),
                jobs: *jobs,
                fsync: false,
            });
        }
    }
    for tool in peers {
        let plain = Variant {
            tool: tool.clone(),
            mode: None,
            jobs: None,
            fsync: false,
        };
        if tool.kind == Kind::Star {
            variants.push(Variant {
                fsync: true,
                ..plain.clone()
            });
        }
        variants.push(plain);
    }
    variants
}

/// One run of one cell.
fn one(
    cell: &mut Cell,
    round: usize,
    site: &Site,
    archive: &Contents,
    cache: Cache,
    setup: &Setup,
) -> Result<(), Error> {
    let place = site.prepare(setup)?;
    match measure(cell, round, &place, archive, cache, setup) {
        Ok(()) => {}
        Err(error @ Error::Program { .. }) => cell.failed = Some(error.to_string()),
        Err(error) => return Err(error),
    }
    place.finish()
}

fn measure(
    cell: &mut Cell,
    round: usize,
    place: &Place,
    archive: &Contents,
    cache: Cache,
    setup: &Setup,
) -> Result<(), Error> {
    match cache {
        Cache::Warm => facts::read_through(setup, &archive.path, |_| {})?,
        Cache::Cold => disk::forget(&archive.path).map_err(system("uncache", &archive.path))?,
    }
    // What the preparation has left must not be paid for by the run.
    place.sync()?;
    let line = cell.variant.extract(&archive.path, &place.path);
    let ran = process::run(&setup.control, &setup.path, &line, Output::Keep)?;
    let began = Instant::now();
    place.sync()?;
    let sync_after = began.elapsed().as_secs_f64();
    if !ran.status.success() {
        return Err(process::failure(&line, ran.status, &ran.stderr));
    }
    if round == 0 {
        cell.command = line
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        cell.made = count(setup, &place.path)?;
        return Ok(());
    }
    let report = match cell.variant.mode {
        Some(_) => serde_json::from_slice(&ran.stdout).map_err(|error| Error::Program {
            command: process::spelt(&line),
            said: format!("its report cannot be read: {error}"),
        })?,
        None => Value::Null,
    };
    cell.runs.push(Run {
        wall: ran.wall.as_secs_f64(),
        sync_after,
        user: ran.usage.user.as_secs_f64(),
        system: ran.usage.system.as_secs_f64(),
        resident_max_bytes: ran.usage.resident_max_bytes,
        report,
    });
    Ok(())
}

/// Regular files below a directory and the sum of their sizes.
fn count(setup: &Setup, root: &Path) -> Result<(u64, u64), Error> {
    let (mut files, mut bytes) = (0, 0);
    let mut todo = vec![root.to_path_buf()];
    while let Some(dir) = todo.pop() {
        setup.control.check()?;
        for entry in std::fs::read_dir(&dir).map_err(system("read", &dir))? {
            let entry = entry.map_err(system("read", &dir))?;
            let state = entry.metadata().map_err(system("examine", &dir))?;
            if state.is_dir() {
                todo.push(entry.path());
            } else if state.is_file() {
                files += 1;
                bytes += state.len();
            }
        }
    }
    Ok((files, bytes))
}

fn traces(
    request: &Request,
    sites: &[Site],
    archives: &[Contents],
    setup: &Setup,
    watch: &mut dyn Watch,
    (mut done, total): (u64, u64),
) -> Result<Vec<Value>, Error> {
    let mut traces = Vec::new();
    let jobs = request.jobs.first().copied().flatten();
    for (site_index, site) in sites.iter().enumerate() {
        for (archive_index, archive) in archives.iter().enumerate() {
            for mode in &request.modes {
                watch.step(
                    done,
                    total,
                    &format!("a close look at {}, {}", mode.name(), site.name),
                );
                done += 1;
                let place = site.prepare(setup)?;
                facts::read_through(setup, &archive.path, |_| {})?;
                place.sync()?;
                let mut trace = trace::run(setup, &archive.path, &place.path, *mode, jobs)?;
                trace["site"] = json!(site_index);
                trace["archive"] = json!(archive_index);
                traces.push(trace);
                place.finish()?;
            }
        }
    }
    Ok(traces)
}

fn results(cells: &[Cell]) -> Value {
    let alike = |cell: &Cell, other: &Cell| {
        (cell.site, cell.archive, cell.variant.family())
            == (other.site, other.archive, other.variant.family())
    };
    cells
        .iter()
        .map(|cell| {
            // What the same tool takes when it promises nothing.
            let unsafe_median = cells
                .iter()
                .find(|other| alike(cell, other) && !other.variant.syncs())
                .and_then(wall)
                .map(|summary| summary.median);
            result(cell, unsafe_median)
        })
        .collect()
}

fn wall(cell: &Cell) -> Option<Summary> {
    summary(&cell.runs.iter().map(|run| run.wall).collect::<Vec<_>>())
}

fn result(cell: &Cell, unsafe_median: Option<f64>) -> Value {
    let of = |figure: fn(&Run) -> f64| -> Vec<f64> { cell.runs.iter().map(figure).collect() };
    let plain = summary(&of(|run| run.wall));
    let synced = summary(&of(|run| run.wall + run.sync_after));
    // The time at whose end everything is stable, and how much of it was spent waiting for that.
    let safe = if cell.variant.syncs() { plain } else { synced };
    let shares: Vec<f64> = cell
        .runs
        .iter()
        .filter_map(|run| waited(cell, run))
        .collect();
    let ratio = match (safe, unsafe_median) {
        (Some(safe), Some(without)) if without > 0.0 => Some(safe.median / without),
        _ => None,
    };
    json!({
        "site": cell.site,
        "archive": cell.archive,
        "tool": cell.variant.tool.kind.name(),
        "label": cell.variant.label(),
        "mode": cell.variant.mode.map(DurabilityMode::name),
        "jobs": cell.variant.jobs,
        "syncs_itself": cell.variant.syncs(),
        "command": cell.command,
        "failed": cell.failed,
        "made_files": cell.made.0,
        "made_file_bytes": cell.made.1,
        "wall_seconds": plain.map(Summary::json),
        "wall_and_sync_seconds": synced.map(Summary::json),
        "stable_seconds": safe.map(Summary::json),
        "sync_share_seconds": summary(&shares).map(Summary::json),
        "ratio_safe_unsafe": ratio,
        "limited_by": limit(cell),
        "runs": cell.runs.iter().map(|run| json!({
            "wall_seconds": run.wall,
            "sync_after_seconds": run.sync_after,
            "user_seconds": run.user,
            "system_seconds": run.system,
            "resident_max_bytes": run.resident_max_bytes,
            "report": run.report,
        })).collect::<Vec<_>>(),
    })
}

/// How long a run waited for stable storage: what durastar reports, or the sync that came after it. A tool that syncs
/// by itself and has no report does not tell.
fn waited(cell: &Cell, run: &Run) -> Option<f64> {
    match (cell.variant.syncs(), cell.variant.mode) {
        (true, Some(_)) => run.report["sync"]["wait_storage_seconds"].as_f64(),
        (true, None) => None,
        (false, _) => Some(run.sync_after),
    }
}

/// What limited most of the runs: durastar's own word; of a peer it is only known whether it computed all the time.
fn limit(cell: &Cell) -> Option<String> {
    let words: Vec<String> = cell
        .runs
        .iter()
        .filter_map(|run| match cell.variant.mode {
            Some(_) => run.report["bottleneck"].as_str().map(str::to_owned),
            None => {
                let share = (run.user + run.system) / run.wall.max(1e-9);
                Some(if share >= 0.9 { "processor" } else { "waiting" }.to_owned())
            }
        })
        .collect();
    let often = |word: &String| words.iter().filter(|other| *other == word).count();
    words.iter().max_by_key(|word| often(word)).cloned()
}
