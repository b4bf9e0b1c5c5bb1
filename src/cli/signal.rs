//! What signals ask for.
//!
//! A thread waits for them, because statistics are wanted at once, not when the engine next looks up. An interrupt lets
//! the engine come to an orderly end (rule D7: one more barrier, and the number of settled members), also while it waits
//! for an archive that brings nothing; a second one ends the program on the spot, whatever it waits for, as does the
//! first where nothing is being written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

use durastar::observe::Stop;
use durastar::plan::DurabilityMode;
use durastar::sys::signal::{self, HANGUP, INTERRUPT, QUIT, Signal, TERMINATE, USER_1};

use super::assemble::Command;
use super::dialect::Dialect;
use super::dialect::voice::Line;
use super::message::Message;
use super::statistics;

/// What the signals' thread and the observer know of each other.
#[derive(Debug)]
pub(crate) struct Live {
    /// The signal that asked for the end; 0 for none.
    asked: AtomicI32,
    /// Records read so far, written by the observer.
    records: AtomicU64,
    /// Members that are settled, written by the observer.
    settled: AtomicU64,
    /// The archive is open and the engine listens to `stop`.
    begun: AtomicBool,
    /// The run is over; what follows is said by the main thread.
    over: AtomicBool,
    /// Missing only where no descriptors were left for it.
    stop: Option<Arc<Stop>>,
    started: Instant,
    record_bytes: u64,
}

impl Live {
    /// Before a run.
    pub(crate) fn new(command: &Command) -> Self {
        Self {
            asked: AtomicI32::new(0),
            records: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            begun: AtomicBool::new(false),
            over: AtomicBool::new(false),
            stop: Stop::new().ok().map(Arc::new),
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

    /// The engine is about to read the archive; from now on it ends in order when it is asked to.
    pub(crate) fn begin(&self) -> Option<Arc<Stop>> {
        self.begun.store(true, Ordering::Relaxed);
        self.stop.clone()
    }

    /// Tells how many members are settled.
    pub(crate) fn at_settled(&self, members: u64) {
        self.settled.store(members, Ordering::Relaxed);
    }

    /// Whether this signal is the first that asks for the end of a run that can end in order.
    fn ask(&self, signal: Signal) -> bool {
        let can = self.begun.load(Ordering::Relaxed) && !self.over.load(Ordering::Relaxed);
        if !can || self.asked.swap(signal, Ordering::Relaxed) != 0 {
            return false;
        }
        if let Some(stop) = &self.stop {
            stop.request();
        }
        true
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
    let mut signals = vec![INTERRUPT, HANGUP, TERMINATE, USER_1];
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
        orderly: command.plan.job.writes(),
        done: if command.plan.job.makes() {
            "written"
        } else {
            "read"
        },
        durable: command.plan.durability.mode != DurabilityMode::None && !command.plan.job.makes(),
        message: Arc::clone(message),
        live: Arc::clone(live),
    };
    let _ = std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while let Ok(signal) = watcher.wait() {
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
    /// What is done with the archive's bytes.
    done: &'static str,
    /// Whether anything is ever settled.
    durable: bool,
    message: Arc<Message>,
    live: Arc<Live>,
}

impl Desk {
    fn take(&self, signal: Signal) {
        if self.totals_on.contains(&signal) {
            self.totals();
        } else if signal == QUIT || signal == USER_1 {
            match self.dialect {
                Dialect::Star => self.figures(),
                Dialect::Gnu => self.totals(),
            }
            if self.durable {
                let settled = self.live.settled.load(Ordering::Relaxed);
                let line = format!("{} so far", statistics::settled(settled));
                self.message.err(&[Line::said(line)]);
            }
        } else if self.orderly && self.live.ask(signal) {
            // What follows may take its time: the window's sync.
            let line = "interrupted, what was begun is being settled; once more ends it at once";
            self.message.err(&[Line::said(line)]);
        } else {
            if !self.orderly && self.dialect == Dialect::Star {
                self.figures();
            }
            signal::die_of(signal);
        }
    }

    fn totals(&self) {
        let line = statistics::gnu_totals(
            self.done,
            self.live.archive_bytes(),
            self.live.started.elapsed(),
        );
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Arc, AtomicI32, AtomicU64, Desk, Instant, Message};
    use super::{AtomicBool, Dialect, INTERRUPT, Live, QUIT, Stop, USER_1};
    use crate::cli::message::tests::Shared;

    fn desk(dialect: Dialect, err: &Shared) -> Desk {
        let live = Live {
            asked: AtomicI32::new(0),
            records: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            begun: AtomicBool::new(true),
            over: AtomicBool::new(false),
            stop: Some(Arc::new(Stop::new().unwrap())),
            started: Instant::now(),
            record_bytes: 10240,
        };
        Desk {
            dialect,
            totals_on: vec![USER_1],
            statistics: true,
            time: false,
            orderly: true,
            done: "read",
            durable: false,
            message: Arc::new(Message::with(
                b"star",
                Box::new(io::sink()),
                Box::new(err.clone()),
            )),
            live: Arc::new(live),
        }
    }

    #[test]
    fn an_interrupt_asks_for_an_orderly_end() {
        let desk = desk(Dialect::Gnu, &Shared::default());
        assert_eq!(desk.live.asked(), None);
        desk.take(INTERRUPT);
        assert_eq!(desk.live.asked(), Some(INTERRUPT));
        assert!(desk.live.begin().unwrap().is_requested());
    }

    #[test]
    fn figures_come_at_once_and_work_goes_on() {
        let err = Shared::default();
        let desk = desk(Dialect::Star, &err);
        desk.live.at_record(3);
        desk.take(QUIT);
        assert_eq!(
            err.text(),
            "star: 3 blocks + 0 bytes (total of 30720 bytes = 30.00k).\n"
        );
        assert_eq!(desk.live.asked(), None);
    }

    #[test]
    fn totals_come_when_their_signal_does() {
        let err = Shared::default();
        let desk = desk(Dialect::Gnu, &err);
        desk.live.at_record(2);
        desk.take(USER_1);
        assert!(
            err.text().starts_with("Total bytes read: 20480 (20KiB, "),
            "{}",
            err.text()
        );
    }
}
