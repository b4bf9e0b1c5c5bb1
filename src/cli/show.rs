//! The observer: what the library tells becomes lines, in the dialect's voice.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use durastar::error::{Complaint, Condition, Severity};
use durastar::member::Member;
use durastar::observe::{Observer, Stop, Verdict};
use durastar::plan::Job;
use durastar::select::glob::has_wildcards;

use super::assemble::Command;
use super::dialect::voice;
use super::dialect::voice::{Line, cause, name, sentence};
use super::dialect::{Dialect, gnu, star};
use super::listing::Listing;
use super::message::Message;
use super::signal::Live;
use super::statistics;

/// Where the names of settled members go.
#[derive(Debug)]
pub(crate) enum SettledLog {
    /// Standard output.
    Output,
    /// A file, by this name.
    File(File, Vec<u8>),
}

/// Receives what happens during a run and says what is to be said.
pub(crate) struct Show<'a> {
    dialect: Dialect,
    command: &'a Command,
    message: &'a Message,
    live: &'a Live,
    marks: gnu::voice::Marks,
    listing: Listing<'a>,
    settled: Option<SettledLog>,
    progress: Progress,
    checkpoint: u64,
    line: Vec<u8>,
    /// Complaints so far.
    pub(crate) tally: Tally,
}

/// What was complained about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Failures.
    pub(crate) failures: u64,
    /// Warnings.
    pub(crate) warnings: u64,
    /// Failures by star's classes.
    pub(crate) problems: star::voice::Problems,
    /// The archive does not begin with a header, and that was said.
    pub(crate) no_archive: bool,
}

/// A line about how far the run is, on a terminal, for runs that take long enough to wonder.
#[derive(Debug)]
struct Progress {
    wanted: bool,
    members: u64,
    next: Instant,
}

/// Runs shorter than this show no progress.
const PROGRESS_AFTER: Duration = Duration::from_secs(1);
/// How often the line is renewed.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

impl<'a> Show<'a> {
    /// For a run.
    pub(crate) fn new(
        dialect: Dialect,
        command: &'a Command,
        message: &'a Message,
        live: &'a Live,
        marks: gnu::voice::Marks,
        settled: Option<SettledLog>,
    ) -> Self {
        let quiet = command.wishes.verbose == 0 && command.wishes.checkpoint == 0;
        Self {
            dialect,
            command,
            message,
            live,
            marks,
            listing: Listing::new(dialect, command),
            settled,
            progress: Progress {
                wanted: message.terminal && quiet && command.plan.job == Job::Extract,
                members: 0,
                next: Instant::now() + PROGRESS_AFTER,
            },
            checkpoint: 0,
            line: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Whether warnings of this kind are printed.
    fn is_on(&self, keyword: &str) -> bool {
        let quiet = gnu::voice::QUIET_WARNINGS.contains(&keyword);
        let by_default = !quiet || self.command.wishes.verbose > 0;
        self.command
            .wishes
            .warnings
            .iter()
            .fold(by_default, |on, &(kind, wished)| {
                if kind == "all" || kind == keyword {
                    wished
                } else {
                    on
                }
            })
    }

    fn is_silent(&self, complaint: &Complaint) -> bool {
        if complaint.severity == Severity::Failure {
            return false;
        }
        match self.dialect {
            Dialect::Gnu => {
                gnu::voice::warning_keyword(complaint).is_some_and(|keyword| !self.is_on(keyword))
            }
            Dialect::Star => {
                !self.is_on("")
                    || matches!(
                        complaint.condition,
                        Condition::OddTime { .. } | Condition::Kept
                    )
            }
        }
    }

    fn show_progress(&mut self) {
        if !self.progress.wanted {
            return;
        }
        let now = Instant::now();
        if now < self.progress.next {
            return;
        }
        self.progress.next = now + PROGRESS_EVERY;
        self.message.progress(&statistics::progress(
            self.progress.members,
            self.live.archive_bytes(),
            now - self.live.started(),
        ));
    }

    /// A failure outside of the engine.
    fn fail(&mut self, text: Vec<u8>) {
        self.message.err(&[Line::said(text)]);
        self.tally.failures += 1;
    }
}

impl Observer for Show<'_> {
    fn member(&mut self, member: &Member, name: &[u8]) {
        self.progress.members += 1;
        self.line.clear();
        self.listing.line(member, name, &mut self.line);
        if !self.line.is_empty() {
            if self.command.plan.job == Job::ExtractToOutput {
                self.message.err_raw(&self.line);
            } else {
                self.message.out(&self.line);
            }
        }
        self.show_progress();
    }

    fn complaint(&mut self, complaint: &Complaint) -> Verdict {
        match complaint.severity {
            Severity::Failure => self.tally.failures += 1,
            Severity::Warning => self.tally.warnings += 1,
        }
        self.tally.problems.count(complaint);
        if self.dialect == Dialect::Gnu
            && !self.command.wishes.no_pattern_hint
            && matches!(complaint.condition, Condition::NotFound)
            && has_wildcards(&complaint.member)
        {
            self.message.err(&gnu::voice::PATTERN_HINT.map(Line::said));
        }
        if self.dialect == Dialect::Gnu && matches!(complaint.condition, Condition::BadHeader(0)) {
            self.tally.no_archive = true;
            self.message.err(&[Line::said(gnu::voice::NO_ARCHIVE)]);
        }
        if !self.is_silent(complaint) {
            let text = match self.dialect {
                Dialect::Gnu => gnu::voice::complaint(complaint, self.marks),
                Dialect::Star => star::voice::complaint(complaint),
            };
            self.message.err(&[Line::said(text)]);
        }
        Verdict::Continue
    }

    fn settled(&mut self, names: &mut dyn Iterator<Item = &[u8]>) {
        let mut text = Vec::new();
        for name in names {
            if self.command.wishes.nul_separated {
                text.extend_from_slice(name);
                text.push(b'\0');
            } else {
                text.extend_from_slice(&voice::name(name, b""));
                text.push(b'\n');
            }
        }
        let result = match &mut self.settled {
            None => Ok(()),
            Some(SettledLog::Output) => {
                self.message.out(&text);
                self.message.contents().flush()
            }
            // Straight to the system: a name that is still in our memory when we are killed is of no use.
            Some(SettledLog::File(file, _)) => file.write_all(&text),
        };
        if let Err(error) = result {
            let log = match self.settled.take() {
                Some(SettledLog::File(_, log)) => log,
                _ => b"-".to_vec(),
            };
            self.fail(sentence![
                name(&log, b":"),
                ": Cannot write: ",
                cause(&error)
            ]);
        }
    }

    fn records(&mut self, records: u64) {
        self.live.at_record(records);
        let every = self.command.wishes.checkpoint;
        while let Some(passed) = records.checked_div(every)
            && self.checkpoint < passed
        {
            self.checkpoint += 1;
            self.message.err(&[Line::said(format!(
                "Read checkpoint {}",
                self.checkpoint * every
            ))]);
        }
        self.show_progress();
    }

    fn ended(&mut self, block: u64, zeros: bool) {
        if self.dialect != Dialect::Gnu || !self.command.wishes.block_number {
            return;
        }
        let what = if zeros {
            "Block of NULs"
        } else {
            "End of File"
        };
        let line = format!("block {block}: ** {what} **\n");
        if self.command.plan.job == Job::ExtractToOutput {
            self.message.err_raw(line.as_bytes());
        } else {
            self.message.out(line.as_bytes());
        }
    }

    fn settled_members(&mut self, members: u64) {
        self.live.at_settled(members);
    }

    fn stop(&mut self) -> Option<Arc<Stop>> {
        self.live.begin()
    }

    fn verdict(&mut self) -> Verdict {
        // A restore goes on when its listing cannot be written, as GNU tar's does; the exit status tells.
        let nowhere = self.command.plan.job != Job::Extract && self.message.failed();
        if self.live.asked().is_some() || nowhere {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }
}

#[cfg(test)]
mod tests;
