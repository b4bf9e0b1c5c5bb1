//! The observer: what the library tells becomes lines, in the dialect's voice.

use std::fs::File;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use durastar::error::{Complaint, Condition, Difference, Severity};
use durastar::member::{Format, Member};
use durastar::observe::{Answer, Observer, Operator, Stop, Verdict};
use durastar::plan::{Job, Volume};
use durastar::render::listing::Names;
use durastar::select::glob::has_wildcards;

use super::assemble::Command;
use super::dialect::voice;
use super::dialect::voice::{Line, cause, name, sentence};
use super::dialect::{Dialect, gnu, star};
use super::listing::Listing;
use super::message::Message;
use super::signal::Live;
use super::statistics;
use super::volumes::Prompt;

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
    /// Where answers to questions come from; nowhere means no.
    pub(crate) answers: Option<Box<dyn BufRead>>,
    progress: Progress,
    checkpoint: u64,
    line: Vec<u8>,
    /// The format of the first member, where nothing more is asked for.
    pub(crate) format: Option<Format>,
    /// Who is asked for further volumes.
    pub(crate) prompt: Option<Prompt>,
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
    /// A failure has ended the run, as was wished.
    pub(crate) aborted: bool,
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
            answers: None,
            progress: Progress {
                wanted: message.terminal && quiet && command.plan.job == Job::Extract,
                members: 0,
                next: Instant::now() + PROGRESS_AFTER,
            },
            checkpoint: 0,
            line: Vec::new(),
            format: None,
            prompt: None,
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

    /// Whether standard output is for something else than what is printed.
    fn output_is_taken(&self) -> bool {
        match self.command.plan.job {
            Job::ExtractToOutput => true,
            Job::Create => self.command.plan.archive.volumes == [Volume::Standard],
            _ => false,
        }
    }

    /// What goes where the names of members go: to standard output, unless contents go there.
    fn tell(&self, text: &[u8]) {
        if self.output_is_taken() {
            self.message.err_raw(text);
        } else {
            self.message.out(text);
        }
    }

    /// Asks, and gives the line that comes back, without its newline; an empty one at the end of all answers.
    fn ask(&mut self, question: &[u8]) -> Vec<u8> {
        self.tell(question);
        // A failure is remembered by `message`.
        let _ = self.message.contents().flush();
        let mut line = Vec::new();
        let answers = self.answers.as_mut();
        let ended = match answers.map(|answers| answers.read_until(b'\n', &mut line)) {
            Some(Ok(count)) => count == 0,
            Some(Err(_)) | None => true,
        };
        line.pop_if(|last| *last == b'\n');
        if ended {
            self.tell(b"\n");
        }
        line
    }

    /// A failure outside of the engine.
    fn fail(&mut self, text: Vec<u8>) {
        self.message.err(&[Line::said(text)]);
        self.tally.failures += 1;
    }
}

impl Observer for Show<'_> {
    fn member(&mut self, member: &Member, name: &[u8], link: &[u8]) {
        if self.command.wishes.archive_type {
            self.format = self.format.or(Some(member.format));
            return;
        }
        self.progress.members += 1;
        self.line.clear();
        self.listing
            .line(member, Names { name, link }, &mut self.line);
        if !self.line.is_empty() {
            self.tell(&self.line);
            if self.command.plan.job == Job::ExtractToCommand {
                // Before anything that the command prints.
                let _ = self.message.contents().flush();
            }
        }
        self.show_progress();
    }

    fn directory_made(&mut self, path: &[u8], mode: u32) {
        if self.dialect == Dialect::Gnu && self.command.wishes.verbose > 1 {
            self.line.clear();
            self.listing.directory_made(path, mode, &mut self.line);
            self.message.out(&self.line);
        }
    }

    fn complaint(&mut self, complaint: &Complaint) -> Verdict {
        match complaint.severity {
            Severity::Failure => self.tally.failures += 1,
            Severity::Warning => self.tally.warnings += 1,
            // The engine counts these: the exit status tells them apart.
            Severity::Difference => {}
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
            // GNU tar prints what it has found as it prints names.
            let found = self.dialect == Dialect::Gnu
                && matches!(&complaint.condition, Condition::Differs(what)
                    if !matches!(what, Difference::Missing(..)));
            if found {
                let mut line = text;
                line.push(b'\n');
                self.message.out(&line);
            } else {
                self.message.err(&[Line::said(text)]);
            }
        }
        if self.command.wishes.stop_at_failure && complaint.severity == Severity::Failure {
            self.tally.aborted = true;
            return Verdict::Stop;
        }
        Verdict::Continue
    }

    fn confirm(&mut self, _member: &Member, name: &[u8]) -> Answer {
        let yes = |line: &[u8]| matches!(line.first(), Some(b'y' | b'Y'));
        let name = name.strip_suffix(b"/").unwrap_or(name);
        if self.dialect == Dialect::Gnu {
            let line = self.ask(&sentence!["extract ", self.marks.around(name), "?"]);
            return if yes(&line) { Answer::Yes } else { Answer::No };
        }
        let question = sentence![voice::name(name, b""), " get ? Y(es)/N(o)/C(hange name) :"];
        match self.ask(&question) {
            line if yes(&line) => Answer::Yes,
            line if matches!(line.first(), Some(b'c' | b'C')) => {
                Answer::Rename(self.ask(b"Enter new name:"))
            }
            _ => Answer::No,
        }
    }

    fn confirm_removal(&mut self, name: &[u8]) -> bool {
        let question = sentence!["remove '", voice::name(name, b""), "' ? Y(es)/N(o) :"];
        matches!(self.ask(&question).first(), Some(b'y' | b'Y'))
    }

    fn backed_up(&mut self, from: &[u8], to: &[u8], back: bool) {
        if self.command.wishes.verbose > 0 {
            let back = if back { " back" } else { "" };
            let (from, to) = (self.marks.around(from), self.marks.around(to));
            self.tell(&sentence!["Renaming ", from, back, " to ", to, "\n"]);
        }
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
                "{} checkpoint {}",
                if self.command.plan.job.makes() {
                    "Write"
                } else {
                    "Read"
                },
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
        self.tell(format!("block {block}: ** {what} **\n").as_bytes());
    }

    fn operator(&mut self) -> Option<Box<dyn Operator>> {
        self.prompt
            .take()
            .map(|prompt| Box::new(prompt) as Box<dyn Operator>)
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
        if self.live.asked().is_some() || nowhere || self.format.is_some() {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }
}

#[cfg(test)]
mod tests;
