//! What signals ask for.
//!
//! A thread waits for them, because statistics are wanted at once, not when the engine next looks up. An interrupt lets
//! the engine come to an orderly end (rule D7: one more barrier, and the number of settled members); a second one ends
//! the program on the spot, as does the first where nothing is being written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

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
        orderly: command.plan.job.writes(),
        done: if command.plan.job.makes() {
            "written"
        } else {
            "read"
        },
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
    use super::{AtomicBool, Dialect, INTERRUPT, Live, QUIT};
    use crate::cli::message::tests::Shared;
    use durastar::sys::signal::USER_1;

    fn desk(dialect: Dialect, err: &Shared) -> Desk {
        let live = Live {
            asked: AtomicI32::new(0),
            records: AtomicU64::new(0),
            over: AtomicBool::new(false),
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
