//! What signals ask for.
//!
//! A thread waits for them, because statistics are wanted at once, not when the engine next looks up. An interrupt lets
//! the engine come to an orderly end (rule D7: one more barrier, and the number of settled members); a second one ends
//! the program on the spot, as does the first where nothing is being written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

use durastar::plan::Job;
use durastar::sys::signal::{self, HANGUP, INTERRUPT, QUIT, Signal, TERMINATE};

use super::assemble::Command;
use super::dialect::Dialect;
use super::message::Message;
use super::statistics;

/// What the signals' thread and the observer know of each other.
#[derive(Debug)]
pub(crate) struct Live {
    /// The signal that asked for the end; 0 for none.
    asked: AtomicI32,
    /// Records read so far, written by the observer.
    records: AtomicU64,
    /// The run is over; what follows is said by the main thread.
    over: AtomicBool,
    started: Instant,
    record_bytes: u64,
}

impl Live {
    /// Before a run.
    pub(crate) fn new(command: &Command) -> Self {
        Self {
            asked: AtomicI32::new(0),
            records: AtomicU64::new(0),
            over: AtomicBool::new(false),
            started: Instant::now(),
            record_bytes: command.plan.archive.record_bytes as u64,
        }
    }

    /// The signal that asked for the end.
    pub(crate) fn asked(&self) -> Option<Signal> {
        match self.asked.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal),
        }
    }

    /// Tells how far the run is.
    pub(crate) fn at_record(&self, records: u64) {
        self.records.store(records, Ordering::Relaxed);
    }

    /// Bytes of the archive read so far, in whole records.
    pub(crate) fn archive_bytes(&self) -> u64 {
        self.records.load(Ordering::Relaxed) * self.record_bytes
    }

    /// Since when the run goes.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// The run is over: a signal now ends the program.
    pub(crate) fn finish(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Starts to watch signals. The thread lives as long as the process: nothing can wake it but a signal, and it holds
/// nothing that has to be put away.
pub(crate) fn watch(dialect: Dialect, command: &Command, message: &Arc<Message>, live: &Arc<Live>) {
    let wishes = &command.wishes;
    let mut signals = vec![INTERRUPT, HANGUP, TERMINATE];
    if dialect == Dialect::Star {
        signals.push(QUIT);
    }
    signals.extend(
        wishes
            .totals_on
            .iter()
            .filter(|signal| **signal != INTERRUPT),
    );
    signals.sort_unstable();
    signals.dedup();
    // Without descriptors for a pipe signals keep their defaults; that is no reason not to run.
    let Ok(mut watcher) = signal::watch(&signals) else {
        return;
    };
    let desk = Desk {
        dialect,
        totals_on: wishes.totals_on.clone(),
        statistics: !wishes.no_statistics,
        time: wishes.time,
        orderly: command.plan.job == Job::Extract,
        message: Arc::clone(message),
        live: Arc::clone(live),
    };
    let _ = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while let Ok(signal) = watcher.next() {
                desk.take(signal);
            }
        });
}

/// Where signals arrive.
struct Desk {
    dialect: Dialect,
    totals_on: Vec<Signal>,
    statistics: bool,
    time: bool,
    /// Whether there is anything to bring to an end.
    orderly: bool,
    message: Arc<Message>,
    live: Arc<Live>,
}

impl Desk {
    fn take(&self, signal: Signal) {
        if self.totals_on.contains(&signal) {
            self.totals();
        } else if signal == QUIT {
            self.figures();
        } else if self.orderly
            && !self.live.over.load(Ordering::Relaxed)
            && self.live.asked.swap(signal, Ordering::Relaxed) == 0
        {
            // The engine looks between members.
        } else {
            if !self.orderly && self.dialect == Dialect::Star {
                self.figures();
            }
            signal::die_of(signal);
        }
    }

    fn totals(&self) {
        let line = statistics::gnu_totals(self.live.archive_bytes(), self.live.started.elapsed());
        self.message.err(&[line]);
    }

    fn figures(&self) {
        if !self.statistics {
            return;
        }
        let bytes = self.live.archive_bytes();
        let mut lines = vec![statistics::star_blocks(bytes, self.live.record_bytes)];
        if self.time {
            lines.push(statistics::star_time(bytes, self.live.started.elapsed()));
        }
        self.message.err(&lines);
    }
}
