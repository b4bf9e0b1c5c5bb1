//! One run looked at closely: how full the FIFO is, and how long each sync takes, over time.
//!
//! It runs inside this process, through the same engine and a disk that tells of each sync, and is not among the runs
//! whose times are compared.

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::facts;
use super::figures::Thinned;
use super::{Error, Setup};
use crate::disk::{Os, SyncCall, Timed};
use crate::engine;
use crate::observe::{Observer, Verdict};
use crate::plan::DurabilityMode;

/// Points in a chart: more than it has pixels.
const POINTS: usize = 800;
/// How often the FIFO is looked at.
const EVERY: Duration = Duration::from_millis(2);

type Syncs = Mutex<Thinned<(Instant, SyncCall, Duration)>>;

struct Watcher<'a> {
    setup: &'a Setup,
    monitor: mpsc::Sender<fifo::Monitor>,
}

impl Observer for Watcher<'_> {
    fn fifo(&mut self, monitor: fifo::Monitor) {
        // The sampler listens until the run is over.
        let _ = self.monitor.send(monitor);
    }

    fn verdict(&mut self) -> Verdict {
        if self.setup.control.stopped() {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }
}

/// Looks at the FIFO until the sender of its monitor is gone.
fn sample(monitors: &mpsc::Receiver<fifo::Monitor>, began: Instant) -> Thinned<(f64, u64)> {
    let mut fill = Thinned::new(POINTS);
    fill.push((0.0, 0));
    let Ok(monitor) = monitors.recv() else {
        return fill;
    };
    while let Err(RecvTimeoutError::Timeout) = monitors.recv_timeout(EVERY) {
        let stats = monitor.stats();
        fill.push((began.elapsed().as_secs_f64(), stats.fill_bytes));
    }
    fill
}

/// Extracts an archive and tells what happened when.
pub(super) fn run(
    setup: &Setup,
    archive: &Path,
    into: &Path,
    mode: DurabilityMode,
    jobs: Option<NonZeroUsize>,
) -> Result<Value, Error> {
    let mut plan = facts::plan(setup, archive, into);
    plan.durability.mode = mode;
    plan.jobs = jobs;
    let syncs: Arc<Syncs> = Arc::new(Mutex::new(Thinned::new(POINTS)));
    let listener = Arc::clone(&syncs);
    let disk = Arc::new(Timed::new(Os, move |call, began, took| {
        listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((began, call, took));
    }));
    let began = Instant::now();
    let (outcome, fill) = thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let sampler = scope.spawn(move || sample(&receiver, began));
        let mut watcher = Watcher {
            setup,
            monitor: sender,
        };
        let outcome = engine::run_on(&disk, &plan, &mut io::sink(), &mut watcher);
        drop(watcher);
        (outcome, sampler.join())
    });
    setup.control.check()?;
    if let Some(error) = outcome.error {
        return Err(Error::Refused(format!("{}: {error}", archive.display())));
    }
    let fill = fill.unwrap_or_else(|_| Thinned::new(POINTS));
    let syncs = syncs.lock().unwrap_or_else(PoisonError::into_inner);
    let points: Vec<Value> = syncs
        .items()
        .iter()
        .map(|(at, call, took)| {
            let at = at.saturating_duration_since(began).as_secs_f64();
            json!([round(at), call.name(), round(took.as_secs_f64())])
        })
        .collect();
    let fill: Vec<Value> = fill
        .items()
        .iter()
        .map(|(at, bytes)| json!([round(*at), bytes]))
        .collect();
    Ok(json!({
        "mode": mode.name(),
        "jobs": jobs,
        "wall_seconds": outcome.stats.wall.as_secs_f64(),
        "fifo_size_bytes": outcome.stats.fifo.size_bytes,
        "fill": fill,
        "syncs": points,
        "sync_calls": syncs.seen(),
    }))
}

/// Microseconds are enough.
fn round(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}
