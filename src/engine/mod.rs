//! A plan becomes a chain of stages, the stages run, and what came of it is an [`Outcome`].
//!
//! The reader thread (`source`) fills the ring; the caller's thread takes members from it, one after the other, and
//! lists or restores them. It is the only one that speaks to the observer.

mod append;
mod create;
mod delete;
mod sink;
mod source;
mod target;

use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::diff;
use crate::disk::{Disk, Os};
use crate::error::{Complaint, Condition, Error, Operation, Severity};
use crate::extract::{Commands, Extractor, Known, Request, write_out};
use crate::format::{Options, Reader as Members, SeekSource, Source};
use crate::journal;
use crate::member::{Event, Kind, Member, MemberStream, Timestamp};
use crate::observe::{Answer, Observer, Operator, Stop, Verdict};
use crate::plan::{Compression, DurabilityMode, Job, MultiVolume, Plan, Seek};
use crate::select::{Choice, Chosen, Selector};
use crate::stats::{Bottleneck, Stats};
use crate::sys;
use crate::volume::{self, Set};
use source::{Reader, RingSource, SetSource, read_error};

/// What a durability mode's promise came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promise {
    /// Every member that was asked for is restored and on stable storage, as are the names that lead to it.
    Kept,
    /// Something failed: some members were not restored as asked for, or may not be on stable storage.
    Broken,
    /// Nothing was promised (mode none, or a job that writes nothing).
    NotMade,
}

impl Promise {
    /// The word for it: `kept`, `broken`, `not made`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::NotMade => "not made",
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// All counters.
    pub stats: Stats,
    /// What ended the run early, if anything did.
    pub error: Option<Error>,
    /// What the durability mode's promise came to.
    pub promise: Promise,
    /// What limited the run; `None` when it was too short to tell.
    pub bottleneck: Option<Bottleneck>,
}

/// Runs a plan. Contents for [`Job::ExtractToOutput`] go to `output`.
#[must_use]
pub fn run(plan: &Plan, output: &mut dyn Write, observer: &mut dyn Observer) -> Outcome {
    run_on(&Arc::new(Os), plan, output, observer)
}

/// Runs a plan on a file system of the caller's choice.
#[must_use]
pub fn run_on<D: Disk>(
    disk: &Arc<D>,
    plan: &Plan,
    output: &mut dyn Write,
    observer: &mut dyn Observer,
) -> Outcome {
    let started = Instant::now();
    let mut run = Run {
        plan,
        stats: Stats::default(),
        promise: Promise::NotMade,
        observer: Counting {
            observer,
            failures: 0,
            differences: 0,
            warnings: 0,
            stopped: false,
            stop: None,
        },
        journal: None,
        members: 0,
        headers: 0,
    };
    run.stats.input.record_bytes = plan.archive.record_bytes as u64;
    let error = run.all(disk, output).err();
    let Run {
        mut stats,
        promise,
        observer,
        ..
    } = run;
    stats.restored.failures = observer.failures;
    stats.restored.warnings = observer.warnings;
    stats.restored.differences = observer.differences;
    stats.wall = started.elapsed();
    let bottleneck = bottleneck(&stats);
    // What was restored is settled, but that is not all that was asked for.
    let promise = if promise == Promise::Kept && (error.is_some() || stats.restored.failures > 0) {
        Promise::Broken
    } else {
        promise
    };
    Outcome {
        stats,
        error,
        promise,
        bottleneck,
    }
}

/// Passes everything on, and counts complaints.
struct Counting<'a> {
    observer: &'a mut dyn Observer,
    failures: u64,
    differences: u64,
    warnings: u64,
    stopped: bool,
    stop: Option<Arc<Stop>>,
}

impl Observer for Counting<'_> {
    fn member(&mut self, member: &Member, name: &[u8], link: &[u8]) {
        self.observer.member(member, name, link);
    }

    fn complaint(&mut self, complaint: &Complaint) -> Verdict {
        match complaint.severity {
            Severity::Failure => self.failures += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Difference => self.differences += 1,
        }
        let verdict = self.observer.complaint(complaint);
        self.stopped |= verdict == Verdict::Stop;
        verdict
    }

    fn directory_made(&mut self, path: &[u8], mode: u32) {
        self.observer.directory_made(path, mode);
    }

    fn confirm(&mut self, member: &Member, name: &[u8]) -> Answer {
        self.observer.confirm(member, name)
    }

    fn confirm_removal(&mut self, name: &[u8]) -> bool {
        self.observer.confirm_removal(name)
    }

    fn backed_up(&mut self, from: &[u8], to: &[u8], back: bool) {
        self.observer.backed_up(from, to, back);
    }

    fn settled(&mut self, names: &mut dyn Iterator<Item = &[u8]>) {
        self.observer.settled(names);
    }

    fn records(&mut self, records: u64) {
        self.observer.records(records);
    }

    fn fifo(&mut self, monitor: fifo::Monitor) {
        self.observer.fifo(monitor);
    }

    fn operator(&mut self) -> Option<Box<dyn Operator>> {
        self.observer.operator()
    }

    fn ended(&mut self, block: u64, zeros: bool) {
        self.observer.ended(block, zeros);
    }

    fn settled_members(&mut self, members: u64) {
        self.observer.settled_members(members);
    }

    fn verdict(&mut self) -> Verdict {
        let asked = self.stop.as_ref().is_some_and(|stop| stop.is_requested());
        let verdict = if self.stopped || asked {
            Verdict::Stop
        } else {
            self.observer.verdict()
        };
        self.stopped |= verdict == Verdict::Stop;
        verdict
    }
}

struct Run<'a> {
    plan: &'a Plan,
    stats: Stats,
    promise: Promise,
    observer: Counting<'a>,
    /// The journal's header, where there is one to be.
    journal: Option<journal::Header>,
    /// How many members were seen, and the checksum of their headers; for the journal.
    members: u64,
    headers: u64,
}

impl Run<'_> {
    fn all<D: Disk>(&mut self, disk: &Arc<D>, output: &mut dyn Write) -> Result<(), Error> {
        self.check()?;
        if self.plan.job.makes() || self.plan.job == Job::Delete {
            self.observer.stop = self.observer.observer.stop();
        }
        match self.plan.job {
            Job::Create => return self.create(disk),
            Job::Append | Job::Update | Job::Join => return self.append(disk),
            Job::Delete => return self.delete(disk),
            Job::List
            | Job::Extract
            | Job::ExtractToOutput
            | Job::ExtractToCommand
            | Job::Compare => {}
        }
        let file = source::open(&self.plan.archive)?;
        // From here on there is something to bring to an end; before, a signal ends the program.
        self.observer.stop = self.observer.observer.stop();
        if let Some(change) = &self.plan.archive.multi_volume {
            return self.set(disk, file, change, output);
        }
        if self.plan.journal.is_some() && self.plan.job == Job::Extract {
            self.journal = Some(self.header(&**disk, file.as_ref())?);
        }
        match self.seekable(file) {
            Ok((source, length)) => {
                let name = volume::name(self.plan.archive.volumes.first());
                let mut members = Members::new(source, self.options());
                let result = self.work(disk, &mut members, &name, output);
                // Whole records, as if they had been read.
                let record = self.plan.archive.record_bytes.max(512) as u64;
                let seen = (members.block() * 512).next_multiple_of(record);
                self.stats.input.archive_bytes = seen.min(length);
                self.stats.input.read_bytes = self.stats.input.archive_bytes;
                result
            }
            Err(file) => {
                let (source, reader) =
                    source::start(&self.plan.archive, file, self.observer.stop.clone())?;
                self.observer.fifo(source.monitor());
                let mut members = Members::new(source, self.options());
                let mut result = self.work(disk, &mut members, reader.name(), output);
                if result.is_ok() {
                    // To the last record: a decompressor checks its sums there, and a program on the other side of a
                    // pipe ends by itself.
                    result = members
                        .drain()
                        .map_err(|error| self.named(error, reader.name()));
                }
                self.end_reader(members.into_source(), reader, result)
            }
        }
    }

    /// The same over several volumes.
    fn set<D: Disk>(
        &mut self,
        disk: &Arc<D>,
        file: Option<File>,
        change: &MultiVolume,
        output: &mut dyn Write,
    ) -> Result<(), Error> {
        let archive = &self.plan.archive;
        let set = Set::new(
            archive,
            change,
            self.plan.job,
            self.plan.umask,
            self.observer.operator(),
        )?;
        let source = SetSource::start(archive, file, set, self.observer.stop.clone())?;
        let name = source.name();
        let mut members = Members::new(source, self.options());
        let result = self.work(disk, &mut members, &name, output);
        let set = members.into_source().finish(&mut self.stats)?;
        // A run that ended early has not come to the volume it asked for.
        result.and_then(|()| set.finish())
    }

    /// Refuses what a mode cannot give.
    fn check(&self) -> Result<(), Error> {
        let early = self.plan.journal.is_some() || self.plan.durability.verify;
        let windows = matches!(
            self.plan.durability.mode,
            DurabilityMode::Each | DurabilityMode::Group
        );
        if self.plan.job == Job::Extract && early && !windows {
            let what = "a journal and verifying need mode each or group: the others settle nothing on the way";
            return Err(Error::Plan(what.into()));
        }
        Ok(())
    }

    /// What is extracted, how and whereto.
    fn header<D: Disk>(&self, disk: &D, file: Option<&File>) -> Result<journal::Header, Error> {
        let archive = match file {
            Some(file) => source::identity(file),
            None => source::standard_input().and_then(|file| source::identity(&file)),
        };
        let archive = archive.map_err(|cause| Error::System {
            operation: Operation::Read,
            name: volume::name(self.plan.archive.volumes.first()),
            cause,
        })?;
        let mut destinations = Vec::new();
        for path in &self.plan.directories {
            let open = || disk.stat_dir(&disk.open_path(path)?);
            let stat = open().map_err(|cause| Error::System {
                operation: Operation::ChangeDirectory,
                name: path.as_os_str().as_bytes().to_vec(),
                cause,
            })?;
            destinations.push(stat.inode);
        }
        Ok(journal::Header {
            archive,
            options: journal::Header::options(self.plan),
            destinations,
            started: Timestamp::default(),
        })
    }

    fn open_journal(&mut self) -> Result<Option<journal::Opened>, Error> {
        let (Some(plan), Some(header)) = (&self.plan.journal, self.journal.clone()) else {
            return Ok(None);
        };
        let opened = if plan.resume {
            journal::resume(&plan.path, header)
        } else {
            journal::create(&plan.path, self.plan.umask, header)
        };
        let name = plan.path.as_os_str().as_bytes().to_vec();
        opened.map(Some).map_err(|problem| match problem {
            journal::Problem::System(operation, cause) => Error::System {
                operation,
                name,
                cause,
            },
            journal::Problem::Refused(reason) => Error::Journal { name, reason },
        })
    }

    fn options(&self) -> Options {
        Options {
            volumes: self.plan.archive.multi_volume.is_some(),
            ignore_zeros: self.plan.archive.ignore_zeros,
            ..Options::default()
        }
    }

    /// A source that seeks, where that is wanted and the archive is a plain file, and the file's length; otherwise the file is
    /// given back.
    fn seekable(&self, file: Option<File>) -> Result<(SeekSource<File>, u64), Option<File>> {
        let wanted = match self.plan.archive.seek {
            Seek::Always => true,
            // What is settled already is passed over.
            Seek::Auto => {
                let resumes = self
                    .plan
                    .journal
                    .as_ref()
                    .is_some_and(|journal| journal.resume);
                self.plan.job == Job::List || (self.plan.job == Job::Extract && resumes)
            }
            Seek::Never => false,
        };
        match file {
            Some(file) if wanted && self.plan.archive.compression == Compression::Detect => {
                match source::plain_length(&file) {
                    Some(length) => Ok((SeekSource::new(file, 0, length), length)),
                    None => Err(Some(file)),
                }
            }
            other => Err(other),
        }
    }

    /// Waits for the reader; what it has to say comes after what was wrong with the members.
    fn end_reader(
        &mut self,
        source: RingSource,
        reader: Reader,
        result: Result<(), Error>,
    ) -> Result<(), Error> {
        let name = reader.name().to_vec();
        let report = reader.finish(source, &mut self.stats)?;
        for warning in report.warnings {
            self.observer
                .complaint(&Complaint::warning(b"", Condition::Decompression(warning)));
        }
        match (result, report.error) {
            (Ok(()), Some(error)) => Err(read_error(error, &name)),
            (result, _) => result,
        }
    }

    fn named(&self, error: Error, archive: &[u8]) -> Error {
        match error {
            Error::System {
                operation,
                name,
                cause,
            } if name.is_empty() => match read_error(cause, archive) {
                Error::System { name, cause, .. } => Error::System {
                    operation,
                    name,
                    cause,
                },
                other => other,
            },
            other => other,
        }
    }

    /// Takes members to the end of the archive, or to that of the work.
    fn work<S: Source, D: Disk>(
        &mut self,
        disk: &Arc<D>,
        members: &mut Members<S>,
        archive: &[u8],
        output: &mut dyn Write,
    ) -> Result<(), Error> {
        let mut selector = Selector::new(&self.plan.selection)
            .map_err(|problem| Error::Plan(problem.to_string()))?;
        let mut result = match self.plan.job {
            Job::List => self.each_member(members, &mut selector, |run, member, chosen, _| {
                run.observer.member(member, &chosen.name, &chosen.link);
                run.stats.restored.members += 1;
                Ok(())
            }),
            Job::ExtractToCommand => self.run_commands(members, &mut selector),
            Job::ExtractToOutput => {
                self.each_member(members, &mut selector, |run, member, chosen, members| {
                    if run.asked(member, chosen).is_none() {
                        return Ok(());
                    }
                    run.observer.member(member, &chosen.name, &chosen.link);
                    if member.kind == Kind::Continuation {
                        let complaint = Complaint::failure(&member.name, Condition::Continued);
                        run.observer.complaint(&complaint);
                    }
                    if member.kind == Kind::Regular {
                        run.stats.restored.members += 1;
                        run.stats.restored.files += 1;
                        run.stats.restored.file_bytes += member.size;
                        write_out(member, members, output)?;
                    }
                    Ok(())
                })
            }
            Job::Extract => self.extract(disk, members, &mut selector),
            Job::Compare => self.compare(disk, members, &mut selector),
            // These write, and do not come here.
            Job::Create | Job::Append | Job::Update | Job::Join | Job::Delete => Ok(()),
        };
        // The input gives up when it is told to, and that is no fault of the archive.
        if result.is_err() && self.observer.verdict() == Verdict::Stop {
            result = Err(Error::Stopped);
        }
        result = result.map_err(|error| self.named(error, archive));
        if result.is_ok() && !self.observer.stopped {
            for wanted in selector.unmatched() {
                let condition = match self.plan.selection.occurrence {
                    Some(_) => Condition::OccurrenceNotFound,
                    None => Condition::NotFound,
                };
                let complaint = Complaint::failure(&wanted.pattern.text, condition);
                self.observer.complaint(&complaint);
            }
        }
        result
    }

    /// The name under which a member is to be restored, as the user wants it; `None` leaves it out.
    fn asked(&mut self, member: &Member, chosen: &Chosen) -> Option<Vec<u8>> {
        if !self.plan.selection.ask {
            return Some(chosen.name.clone());
        }
        match self.observer.confirm(member, &chosen.name) {
            Answer::Yes => Some(chosen.name.clone()),
            Answer::Rename(name) if !name.is_empty() => Some(name),
            Answer::No | Answer::Rename(_) => {
                self.stats.restored.skipped += 1;
                None
            }
        }
    }

    fn run_commands<S: Source>(
        &mut self,
        members: &mut Members<S>,
        selector: &mut Selector,
    ) -> Result<(), Error> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or(Duration::ZERO);
        let started = Timestamp {
            seconds: since.as_secs().cast_signed(),
            nanos: since.subsec_nanos(),
        };
        let commands = Commands::new(self.plan, started)
            .ok_or_else(|| Error::Plan("there is no command".into()))?;
        self.each_member(members, selector, |run, member, chosen, members| {
            let Some(name) = run.asked(member, chosen) else {
                return Ok(());
            };
            run.observer.member(member, &name, &chosen.link);
            if member.kind != Kind::Regular {
                return Ok(());
            }
            run.stats.restored.members += 1;
            run.stats.restored.files += 1;
            run.stats.restored.file_bytes += member.size;
            if let Some(complaint) = commands.run(member, &name, members)? {
                run.observer.complaint(&complaint);
            }
            Ok(())
        })
    }

    fn extract<S: Source, D: Disk>(
        &mut self,
        disk: &Arc<D>,
        members: &mut Members<S>,
        selector: &mut Selector,
    ) -> Result<(), Error> {
        let journal = self.open_journal()?;
        let mut extractor = Extractor::<D, S::Span>::with_journal(
            Arc::clone(disk),
            self.plan,
            sys::open_files(),
            journal,
        )?;
        members.before_sleep(extractor.flusher());
        let result = loop {
            if members.would_wait() {
                extractor.before_waiting(&mut self.observer);
            }
            match self.next(members, selector) {
                Ok(Some(Step::Take(member, chosen))) => {
                    if self.plan.selection.ask {
                        // The answer may take its time.
                        extractor.before_waiting(&mut self.observer);
                    }
                    let Some(name) = self.asked(&member, &chosen) else {
                        continue;
                    };
                    let request = Request {
                        member: &member,
                        name: &name,
                        link: &chosen.link,
                        directory: chosen
                            .directory
                            .unwrap_or(self.plan.directories.len().saturating_sub(1)),
                        index: self.members - 1,
                        headers: self.headers,
                    };
                    let known = match extractor.known(&request) {
                        Ok(known) => known,
                        Err(error) => break Err(error),
                    };
                    extractor.pass_over(known);
                    if known == Known::Settled {
                        continue;
                    }
                    if let Err(error) = extractor.restore(&request, members, &mut self.observer) {
                        break Err(error);
                    }
                }
                Ok(Some(Step::Pass)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let finished = extractor.finish(&mut self.observer);
        let skipped = self.stats.restored.skipped + finished.restored.skipped;
        self.stats.restored = finished.restored;
        self.stats.restored.skipped = skipped;
        self.stats.sync = finished.sync;
        self.promise = match (self.plan.durability.mode, finished.intact) {
            (DurabilityMode::None, _) => Promise::NotMade,
            (_, true) => Promise::Kept,
            (_, false) => Promise::Broken,
        };
        if finished.well {
            result
        } else {
            result.and(Err(Error::Panic("durastar-write")))
        }
    }

    fn compare<S: Source, D: Disk>(
        &mut self,
        disk: &Arc<D>,
        members: &mut Members<S>,
        selector: &mut Selector,
    ) -> Result<(), Error> {
        let mut bases = Vec::new();
        for directory in &self.plan.directories {
            let base = disk.open_path(directory).map_err(|cause| Error::System {
                operation: Operation::ChangeDirectory,
                name: directory.as_os_str().as_encoded_bytes().to_vec(),
                cause,
            })?;
            bases.push(base);
        }
        self.each_member(members, selector, |run, member, chosen, members| {
            run.observer.member(member, &chosen.name, &chosen.link);
            run.stats.restored.members += 1;
            let last = bases.len() - 1;
            let pair = diff::Pair {
                member,
                name: &chosen.name,
                link: &chosen.link,
            };
            let base = &bases[chosen.directory.unwrap_or(last).min(last)];
            diff::compare(&**disk, base, &pair, members, &mut run.observer)
        })
    }

    fn each_member<S: Source>(
        &mut self,
        members: &mut Members<S>,
        selector: &mut Selector,
        mut take: impl FnMut(&mut Self, &Member, &Chosen, &mut Members<S>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            match self.next(members, selector)? {
                Some(Step::Take(member, chosen)) => take(self, &member, &chosen, members)?,
                Some(Step::Pass) => {}
                None => return Ok(()),
            }
        }
    }

    /// The record that holds this block has been read.
    fn record_of(&mut self, block: u64) {
        let record = self.plan.archive.record_bytes.max(512) as u64;
        self.observer.records(block * 512 / record + 1);
    }

    /// The next step, or `None` at the end.
    fn next<S: Source>(
        &mut self,
        members: &mut Members<S>,
        selector: &mut Selector,
    ) -> Result<Option<Step>, Error> {
        if self.observer.verdict() == Verdict::Stop {
            return Err(Error::Stopped);
        }
        if selector.finished() {
            return Ok(None);
        }
        let member = match members.advance()? {
            Event::End => {
                let zeros = members.end_marker();
                self.record_of(members.block().saturating_sub(1));
                let block = zeros.unwrap_or_else(|| members.block());
                self.observer.ended(block, zeros.is_some());
                return Ok(None);
            }
            Event::Complaint(complaint) => {
                self.observer.complaint(&complaint);
                return Ok(Some(Step::Pass));
            }
            Event::Member(member) => member,
        };
        self.members += 1;
        if self.journal.is_some() {
            self.headers = journal::chain(self.headers, &member);
        }
        self.record_of(member.block);
        match selector.choose(&member) {
            Choice::Skip => {
                self.stats.restored.skipped += 1;
                Ok(Some(Step::Pass))
            }
            Choice::Take(chosen) => {
                for remark in &chosen.remarks {
                    self.observer
                        .complaint(&Complaint::warning(b"", remark.condition()));
                }
                if self.plan.job != Job::List {
                    if chosen.dot_dot {
                        self.observer
                            .complaint(&Complaint::failure(&member.name, Condition::DotDot));
                    }
                    if chosen.dot_dot || chosen.name.is_empty() {
                        self.stats.restored.skipped += 1;
                        return Ok(Some(Step::Pass));
                    }
                }
                Ok(Some(Step::Take(member, chosen)))
            }
        }
    }
}

enum Step {
    Take(Box<Member>, Chosen),
    Pass,
}

/// What the run waited for longest, from the FIFO's waiting times: the consumer waits for the input side, and what
/// keeps the input side busy is either the file (or pipe) or the decompressor; what is left is writing and syncs.
fn bottleneck(stats: &Stats) -> Option<Bottleneck> {
    if stats.wall < Duration::from_millis(1) {
        return None;
    }
    let storage = stats.sync.wait_storage;
    let empty = stats.fifo.wait_empty;
    let writing = stats.wall.saturating_sub(storage).saturating_sub(empty);
    if storage >= empty && storage >= writing {
        return Some(Bottleneck::Storage);
    }
    if writing >= empty {
        return Some(Bottleneck::Writing);
    }
    let decompressing = stats
        .input
        .reader_busy
        .saturating_sub(stats.input.wait_input);
    if !stats.input.compression.is_empty() && decompressing > stats.input.wait_input {
        Some(Bottleneck::Decompression)
    } else {
        Some(Bottleneck::Input)
    }
}
