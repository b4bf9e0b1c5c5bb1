//! Members become files.
//!
//! One thread decides, in archive order, and does everything that makes, removes or replaces a name; so the same name
//! twice is simply made twice, and the last one wins. Contents and metadata of regular files go through the open file
//! to the `executor`'s threads, which need no order. What directories need at the end waits in `fixup`.
//! Nothing here syncs: that is `commit`'s.

mod acl;
mod backup;
mod command;
mod executor;
mod extents;
mod extras;
mod file;
mod fixup;
mod place;
mod remove;
mod restore;
mod resume;
mod staging;
mod way;

use std::ffi::{CStr, CString};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::commit::{Committer, Record, SYNC_THREADS, Ticket};
use crate::disk::{Directory, Disk, FileKind, Node, Stat, Target, Times, errno};
use crate::error::{Complaint, Condition, Error, Operation, Severity};
use crate::journal::{self, Opened, What};
use crate::member::{Kind, Member, MemberStream, Timestamp};
use crate::observe::{Inbox, Observer, Verdict};
use crate::plan::{DurabilityMode, Existing, ExistingDirectories, Plan};
use crate::select::names::{components, has_dot_dot};
use crate::stats;
use crate::sys;
pub use command::Commands;
use executor::{BATCH_TASKS, Executor};
pub use extents::write_out;
use extras::Extras;
use fixup::Fixups;
use place::{Blocked, MakeMissing, Places, c_string};
use restore::Attributes;
use resume::Before;
pub use resume::Known;
use staging::Staging;

/// The largest piece of a file that one task writes: large enough that calls do not count, small enough that a ring of
/// the default size holds several.
const PIECE_BYTES: usize = 256 << 10;

/// The longest path that is walked, in bytes. The kernel's limit of 4096 is one for each call, and we make one for each
/// component; but every directory on the way costs an open file, so there has to be an end.
const PATH_BYTES: usize = 16 << 10;

/// A member as it is to be restored: where, and under which names.
#[derive(Debug)]
pub struct Request<'a> {
    /// The member.
    pub member: &'a Member,
    /// Its name after selection and renaming.
    pub name: &'a [u8],
    /// A hard link's target after renaming, or a symbolic link's as it is.
    pub link: &'a [u8],
    /// Index into [`Plan::directories`].
    pub directory: usize,
    /// Which member of the archive it is, from 0; for the journal.
    pub index: u64,
    /// [`journal::chain`] up to it; for the journal.
    pub headers: u64,
}

/// Why a member was not restored. The run goes on unless the archive itself is at fault.
enum Refusal {
    /// To be told to the user.
    Complaint(Complaint),
    /// As the plan wants it: nothing to be said.
    Silent,
    /// The archive cannot be read on.
    Fatal(Error),
}

impl From<Complaint> for Refusal {
    fn from(complaint: Complaint) -> Self {
        Self::Complaint(complaint)
    }
}

/// A place for an object: the directory it is in and its last component.
struct Spot<D: Disk> {
    directory: Arc<Directory<D>>,
    base: usize,
    /// Path below the destination, cleaned.
    path: Vec<u8>,
    name: CString,
    /// For messages.
    shown: Vec<u8>,
    /// The name it gets once it is stable; `name` is a temporary one then.
    becomes: Option<CString>,
}

/// Restores members.
#[derive(Debug)]
pub struct Extractor<'p, D: Disk, S> {
    disk: Arc<D>,
    plan: &'p Plan,
    inbox: Arc<Inbox>,
    places: Places<D>,
    executor: Executor<D, S>,
    committer: Committer<D>,
    fixups: Fixups<D>,
    staging: Staging,
    numbers: backup::Numbers,
    /// What an earlier run has settled.
    before: Option<Before>,
    now: Timestamp,
    counts: stats::Restored,
    seen_member: bool,
    stopped: bool,
    /// Directories that were made on the way and are still to be told of.
    made: Vec<Box<[u8]>>,
    /// Settled members that the observer knows of.
    settled: u64,
}

impl<'p, D: Disk, S: AsRef<[u8]> + Send + Sync + 'static> Extractor<'p, D, S> {
    /// Opens the destinations and starts the writers. `open_files` is how many files the process may have open.
    ///
    /// # Errors
    /// A destination cannot be opened.
    pub fn new(disk: Arc<D>, plan: &'p Plan, open_files: usize) -> Result<Self, Error> {
        Self::with_journal(disk, plan, open_files, None)
    }

    /// The same with an open journal: looks at what it says is settled.
    ///
    /// # Errors
    /// As [`Extractor::new`].
    pub fn with_journal(
        disk: Arc<D>,
        plan: &'p Plan,
        open_files: usize,
        journal: Option<Opened>,
    ) -> Result<Self, Error> {
        let inbox = Arc::new(Inbox::default());
        let mut places = Places::open(
            &disk,
            &plan.directories,
            plan.selection.keep_dot_dot,
            open_files,
        )
        .map_err(|(index, cause)| {
            let name = plan
                .directories
                .get(index)
                .map_or(Path::new("/"), |path| path.as_path());
            Error::System {
                operation: Operation::ChangeDirectory,
                name: name.as_os_str().as_bytes().to_vec(),
                cause,
            }
        })?;
        let jobs = jobs(plan);
        // Where each file is waited for on its own, a writer that has several would only make the others wait.
        let batch = match plan.durability.mode {
            DurabilityMode::Each => 1,
            _ => BATCH_TASKS,
        };
        let executor = Executor::new(&disk, &inbox, jobs, batch);
        let threads = if jobs == 1 { 1 } else { jobs.max(SYNC_THREADS) };
        let (mut before, mut writer) = (None, None);
        if let Some(opened) = journal {
            if !opened.entries.is_empty() || plan.journal.as_ref().is_some_and(|it| it.resume) {
                let (started, entries) = (opened.started, opened.entries);
                before = Some(Before::examine(&*disk, &mut places, started, entries));
            }
            writer = Some((opened.writer, journal_name(plan)));
        }
        let committer = Committer::new(
            Arc::clone(&disk),
            Arc::clone(&inbox),
            &plan.durability,
            open_files,
            threads,
            writer,
        );
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let now = Timestamp {
            seconds: since.as_secs().cast_signed(),
            nanos: since.subsec_nanos(),
        };
        Ok(Self {
            disk,
            plan,
            inbox,
            places,
            executor,
            committer,
            fixups: Fixups::new(),
            staging: Staging::new(),
            numbers: backup::Numbers::default(),
            before,
            now,
            counts: stats::Restored::default(),
            seen_member: false,
            stopped: false,
            made: Vec::new(),
            settled: 0,
        })
    }

    /// Restores one member, taking its data from `stream`.
    ///
    /// # Errors
    /// The archive cannot be read on. What is wrong with the member alone goes to the observer.
    pub fn restore<M: MemberStream<Span = S>>(
        &mut self,
        request: &Request<'_>,
        stream: &mut M,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let first = !std::mem::replace(&mut self.seen_member, true);
        let result = self.try_restore(request, first, stream, observer);
        self.tell_made(observer);
        let result = match result {
            Ok(()) => {
                self.counts.members += 1;
                Ok(())
            }
            Err(Refusal::Complaint(complaint)) => {
                self.counts.skipped += 1;
                self.complain(&complaint, observer);
                Ok(())
            }
            Err(Refusal::Silent) => {
                self.counts.skipped += 1;
                Ok(())
            }
            Err(Refusal::Fatal(error)) => Err(error),
        };
        self.between_members(observer);
        result
    }

    /// Whether the observer has asked for the end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Hands everything that is held back to the writers; for [`MemberStream::before_sleep`].
    pub fn flusher(&self) -> Box<dyn FnMut()> {
        self.executor.flusher()
    }

    /// To be called before anything that may wait for input: what is held back goes on its way.
    pub fn before_waiting(&mut self, observer: &mut dyn Observer) {
        self.executor.flush();
        self.between_members(observer);
    }

    /// Ends the run: everything is written, fixed up and settled as the mode says. `self` is used up.
    pub fn finish(mut self, observer: &mut dyn Observer) -> Finished {
        self.executor.drain();
        self.settle_pending(observer);
        let mut settled = |names: &mut dyn Iterator<Item = &[u8]>| observer.settled(names);
        self.committer.wait(&mut settled);
        self.fixups.apply(
            &*self.disk,
            &self.inbox,
            &mut self.places,
            &mut self.committer,
        );
        self.committer.last_barrier(&mut settled);
        self.deliver(observer);
        let jobs = self.executor.jobs();
        self.counts.jobs = jobs as u64;
        self.counts.wait_writers = self.executor.waited();
        Finished {
            restored: self.counts,
            sync: self.committer.stats(jobs),
            intact: self.committer.is_intact(),
            well: self.executor.finish(),
        }
    }

    fn tell_made(&mut self, observer: &mut dyn Observer) {
        let mode = 0o777 & !self.plan.umask;
        for path in self.made.drain(..) {
            observer.directory_made(&path, mode);
        }
    }

    fn journal_name(&self) -> Vec<u8> {
        journal_name(self.plan)
    }

    /// What is known of a member before it is on disk.
    fn entry(&self, request: &Request<'_>, spot: &Spot<D>, what: What) -> journal::Entry {
        journal::Entry {
            index: request.index,
            block: request.member.block,
            headers: request.headers,
            what,
            base: spot.base as u64,
            path: spot.path.clone(),
            link: request.link.to_vec(),
            mode: 0,
            owner: (0, 0),
            size: 0,
            mtime: Timestamp::default(),
            inode: 0,
            checksum: 0,
        }
    }

    /// Describes a member for the journal, or so that it can be read back.
    fn describe(
        &self,
        ticket: &mut Ticket<D>,
        request: &Request<'_>,
        spot: &Spot<D>,
        has_data: bool,
    ) {
        if self.committer.settles_early() {
            ticket.describe(Record {
                entry: self.entry(request, spot, journal::what(request.member.kind)),
                directory: Arc::clone(&spot.directory),
                name: spot.name.clone(),
                extents: request.member.sparse.clone(),
                has_data,
            });
        }
    }

    /// Notes for the journal what becomes of a directory.
    fn note_directory(&mut self, request: &Request<'_>, spot: &Spot<D>, what: What) {
        if self.committer.settles_early() {
            self.committer.note(self.entry(request, spot, what));
        }
    }

    fn complain(&mut self, complaint: &Complaint, observer: &mut dyn Observer) {
        if observer.complaint(complaint) == Verdict::Stop {
            self.stopped = true;
        }
    }

    fn deliver(&mut self, observer: &mut dyn Observer) {
        for complaint in self.inbox.take() {
            self.complain(&complaint, observer);
        }
    }

    fn between_members(&mut self, observer: &mut dyn Observer) {
        if self.committer.is_full() {
            self.rotate(observer);
        }
        self.committer.poll(&mut |names| observer.settled(names));
        self.rename_stable();
        self.tell_settled(observer);
        self.deliver(observer);
    }

    fn tell_settled(&mut self, observer: &mut dyn Observer) {
        let settled = self.committer.settled();
        if settled > self.settled {
            self.settled = settled;
            observer.settled_members(settled);
        }
    }

    fn rotate(&mut self, observer: &mut dyn Observer) {
        // The window is settled once its files are written, so they must be on their way.
        self.executor.flush();
        self.committer.rotate(&mut |names| observer.settled(names));
    }

    fn try_restore<M: MemberStream<Span = S>>(
        &mut self,
        request: &Request<'_>,
        first: bool,
        stream: &mut M,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let member = request.member;
        match member.kind {
            Kind::VolumeHeader => {
                observer.member(member, request.name, request.link);
                return Err(Refusal::Silent);
            }
            Kind::Continuation => {
                observer.member(member, request.name, request.link);
                return Err(Complaint::failure(request.name, Condition::Continued).into());
            }
            Kind::Socket => {
                return Err(
                    Complaint::warning(request.name, Condition::Unsupported("a socket")).into(),
                );
            }
            Kind::Directory if self.plan.extract.no_directories => return Err(Refusal::Silent),
            _ => {}
        }
        if !self.plan.selection.keep_dot_dot && has_dot_dot(request.name) {
            return Err(Complaint::failure(request.name, Condition::DotDot).into());
        }
        if self.plan.extract.announce_first {
            observer.member(member, request.name, request.link);
        }
        if member.kind == Kind::Directory {
            return self.directory(request, first, observer);
        }
        let spot = self.spot(request, observer)?;
        self.refuse_new(&spot)?;
        self.before_looking(&spot, observer);
        let backup = self.back_up(&spot, self.plan.extract.safe_writes, observer)?;
        if backup.is_none() {
            self.refuse_not_newer(&spot, member)?;
        }
        if !self.plan.extract.announce_first {
            observer.member(member, request.name, request.link);
        }
        self.tell_made(observer);
        // A hard link looks first whether it is to itself.
        if self.plan.extract.existing == Existing::RemoveFirst
            && member.kind != Kind::HardLink
            && self.there(&spot)?.is_some()
        {
            self.clear_way(&spot, Operation::Remove, observer)?;
        }
        self.warn_of_odd_time(request, observer);
        let spot = self.stage(spot);
        let result = self.make_member(request, &spot, stream, observer);
        if result.is_err() {
            self.discard(&spot);
            if let Some(backup) = backup {
                self.undo_backup(&spot, &backup, observer);
            }
        }
        result
    }

    /// Anything but a directory, at a place from which what may not be there is gone.
    fn make_member<M: MemberStream<Span = S>>(
        &mut self,
        request: &Request<'_>,
        spot: &Spot<D>,
        stream: &mut M,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let member = request.member;
        match member.kind {
            Kind::Regular => self.regular(request, spot, stream, observer),
            Kind::HardLink => self.hard_link(request, spot, stream, observer),
            Kind::Symlink => self.symlink(request, spot, observer),
            Kind::Fifo => self.node(request, spot, Node::Fifo, observer),
            Kind::CharDevice => self.node(
                request,
                spot,
                Node::CharDevice(member.device.0, member.device.1),
                observer,
            ),
            Kind::BlockDevice => self.node(
                request,
                spot,
                Node::BlockDevice(member.device.0, member.device.1),
                observer,
            ),
            Kind::Directory | Kind::Socket | Kind::VolumeHeader | Kind::Continuation => Ok(()),
        }?;
        if let Some(before) = &mut self.before {
            before.made(spot.base, &spot.path);
        }
        Ok(())
    }

    /// A directory in which a name is about to change.
    fn changing(
        committer: &mut Committer<D>,
        fixups: &mut Fixups<D>,
        directory: &Arc<Directory<D>>,
    ) -> std::io::Result<()> {
        committer.touch(directory)?;
        if committer.needs_every_directory() {
            fixups.changed(directory);
        }
        Ok(())
    }

    /// Finds the directory that a name leads to, making what is missing.
    fn parent(
        &mut self,
        base: usize,
        absolute: bool,
        path: &[u8],
    ) -> Result<Arc<Directory<D>>, Blocked> {
        let Self {
            places,
            committer,
            fixups,
            plan,
            made,
            ..
        } = self;
        let mut changing =
            |directory: &Arc<Directory<D>>| Self::changing(committer, fixups, directory);
        let may_make = !plan.extract.no_directories && !plan.extract.refresh;
        let make = may_make.then_some(MakeMissing {
            mode: 0o777 & !plan.umask,
            changing: &mut changing,
            made,
        });
        places.find(base, absolute, path, make)
    }

    fn locate(
        &mut self,
        base: usize,
        name: &[u8],
        shown: &[u8],
        operation: Operation,
        observer: &mut dyn Observer,
    ) -> Result<Spot<D>, Refusal> {
        let path = components(name).collect::<Vec<_>>().join(&b'/');
        if path.len() > PATH_BYTES {
            let cause = std::io::Error::from_raw_os_error(errno::ENAMETOOLONG);
            return Err(Complaint::system(shown, operation, cause).into());
        }
        let (parent, last) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&path[..0], &path[..]),
        };
        let absolute = self.plan.selection.absolute_names && name.starts_with(b"/");
        let name = if last.is_empty() {
            Ok(c".".into())
        } else {
            c_string(last)
        };
        let name = name.map_err(|cause| Complaint::system(shown, operation, cause))?;
        let mut found = self.parent(base, absolute, parent);
        if found.as_ref().is_err_and(Blocked::is_for_want_of_files) {
            self.relieve(observer);
            found = self.parent(base, absolute, parent);
        }
        if matches!(found, Err(Blocked::Reserved)) {
            self.settle_pending(observer);
            found = self.parent(base, absolute, parent);
        }
        let directory = match found {
            Ok(directory) => directory,
            Err(Blocked::System(_, cause))
                if self.plan.extract.refresh && cause.raw_os_error() == Some(errno::ENOENT) =>
            {
                return Err(Refusal::Silent);
            }
            Err(blocked) => return Err(blocked.complaint_for(shown, operation).into()),
        };
        Ok(Spot {
            base: directory.base,
            directory,
            path,
            name,
            shown: shown.to_vec(),
            becomes: None,
        })
    }

    fn spot(
        &mut self,
        request: &Request<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Spot<D>, Refusal> {
        let found = self.locate(
            request.directory,
            request.name,
            request.name,
            Self::operation(request.member),
            observer,
        );
        match found {
            // GNU tar takes what it cannot look at for newer.
            Err(Refusal::Complaint(Complaint {
                condition: Condition::System { cause, .. },
                ..
            })) if self.plan.extract.existing_directories == ExistingDirectories::KeepFull
                && cause.raw_os_error() == Some(errno::ENOTDIR) =>
            {
                let mut unseen = Complaint::system(request.name, Operation::Stat, cause);
                unseen.severity = Severity::Warning;
                self.complain(&unseen, observer);
                Err(Complaint::warning(request.name, Condition::NotNewer).into())
            }
            other => other,
        }
    }

    /// What making this member is called.
    fn operation(member: &Member) -> Operation {
        match member.kind {
            Kind::HardLink => Operation::Link,
            Kind::Symlink => Operation::Symlink,
            Kind::Fifo => Operation::MakeFifo,
            Kind::CharDevice | Kind::BlockDevice => Operation::MakeNode,
            Kind::Directory => Operation::MakeDirectory,
            _ => Operation::Open,
        }
    }

    fn warn_of_odd_time(&mut self, request: &Request<'_>, observer: &mut dyn Observer) {
        let time = request.member.mtime;
        let ahead = time.seconds.saturating_sub(self.now.seconds);
        if self.plan.extract.mtime && (time.seconds < 0 || time > self.now) {
            let complaint = Complaint::warning(request.name, Condition::OddTime { time, ahead });
            self.complain(&complaint, observer);
        }
    }

    fn owner(&self, member: &Member) -> Result<Option<(u32, u32)>, &'static str> {
        let extract = &self.plan.extract;
        if !extract.same_owner {
            return Ok(None);
        }
        let by_name = |name: &[u8], look: fn(&[u8]) -> Option<u32>| {
            (!extract.numeric_owner && !name.is_empty())
                .then(|| look(name))
                .flatten()
        };
        // -1 means "leave it" to chown(2), so it is no number that can be set.
        let by_number = |number: u64| {
            u32::try_from(number)
                .ok()
                .filter(|number| *number != u32::MAX)
        };
        let uid = by_name(&member.uname, sys::names::user_id)
            .or_else(|| by_number(member.uid))
            .ok_or("uid")?;
        let gid = by_name(&member.gname, sys::names::group_id)
            .or_else(|| by_number(member.gid))
            .ok_or("gid")?;
        Ok(Some((extract.owners.apply(uid), extract.groups.apply(gid))))
    }

    /// What the member wants to be set, before anything is left out because it is so already.
    fn attributes(&self, request: &Request<'_>) -> Attributes {
        let member = request.member;
        let extract = &self.plan.extract;
        let owner = self.owner(member).unwrap_or_else(|field| {
            self.inbox
                .post(Complaint::failure(request.name, Condition::BadField(field)));
            None
        });
        let mode = if extract.same_permissions {
            member.mode & 0o7777
        } else {
            member.mode & 0o777 & !self.plan.umask
        };
        let times = Times {
            atime: member.atime.filter(|_| extract.atime),
            mtime: extract.mtime.then_some(member.mtime),
        };
        Attributes {
            owner,
            mode: Some(mode),
            times,
        }
    }

    /// Metadata of an object that has no open file, and its ticket.
    fn settle_by_name(
        &mut self,
        request: &Request<'_>,
        spot: &Spot<D>,
        stat: &Stat,
        attributes: Attributes,
    ) -> Result<(), Refusal> {
        let begun = self.begin(request, spot, 0, None);
        let mut ticket =
            begun.map_err(|cause| Complaint::system(&spot.shown, Operation::Stat, cause))?;
        self.describe(&mut ticket, request, spot, false);
        let owner = attributes
            .owner
            .filter(|owner| *owner != (stat.uid, stat.gid));
        let mode = attributes.mode.filter(|mode| {
            stat.kind != FileKind::Symlink && (*mode != stat.mode || owner.is_some())
        });
        let attributes = Attributes {
            owner,
            mode,
            ..attributes
        };
        let target = Target::At(&spot.directory.handle, &spot.name);
        let extras = Extras::of(request.member, &self.plan.extract);
        if restore::apply(
            &*self.disk,
            &self.inbox,
            request.name,
            &target,
            &attributes,
            extras.as_deref(),
        ) {
            if ticket.is_described() {
                match self.disk.stat_at(&spot.directory.handle, &spot.name) {
                    Ok(stat) => ticket.saw(&stat, 0),
                    Err(_) => ticket.forget(),
                }
            }
            ticket.finish();
        } else {
            ticket.fail_inode(stat.identity());
        }
        Ok(())
    }

    fn stat(&self, spot: &Spot<D>) -> Result<Stat, Refusal> {
        let stat = self.disk.stat_at(&spot.directory.handle, &spot.name);
        Ok(stat.map_err(|cause| Complaint::system(&spot.shown, Operation::Stat, cause))?)
    }

    /// What stands there, if anything does. That it cannot be seen is no reason to take it for absent, and to remove it.
    fn there(&self, spot: &Spot<D>) -> Result<Option<Stat>, Refusal> {
        self.there_as(spot, &spot.name)
    }

    /// The same under another name beside it.
    fn there_as(&self, spot: &Spot<D>, name: &CStr) -> Result<Option<Stat>, Refusal> {
        match self.disk.stat_at(&spot.directory.handle, name) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.raw_os_error() == Some(errno::ENOENT) => Ok(None),
            Err(cause) => Err(Complaint::system(&spot.shown, Operation::Stat, cause).into()),
        }
    }

    fn symlink(
        &mut self,
        request: &Request<'_>,
        spot: &Spot<D>,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let target = request.link;
        let climbs = target.starts_with(b"/")
            || target.split(|byte| *byte == b'/').any(|part| part == b"..");
        if climbs && self.plan.extract.secure_links && leads_out(&spot.path, target) {
            return Err(
                Complaint::failure(&spot.shown, Condition::UnsafeLink(target.to_vec())).into(),
            );
        }
        let shown = Some(target);
        let link = c_string(target).map_err(|cause| {
            let target = shown.map(<[u8]>::to_vec);
            Complaint::failure(
                &spot.shown,
                Condition::System {
                    operation: Operation::Symlink,
                    cause,
                    target,
                },
            )
        })?;
        self.make(spot, Operation::Symlink, shown, observer, |disk, at| {
            disk.symlink(&link, at, &spot.name)
        })?;
        if climbs && !self.plan.selection.keep_dot_dot {
            self.places.refuse_link(&spot.directory, &spot.name);
        }
        let stat = self.stat(spot)?;
        self.settle_by_name(request, spot, &stat, self.attributes(request))
    }

    fn node(
        &mut self,
        request: &Request<'_>,
        spot: &Spot<D>,
        node: Node,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let operation = if node == Node::Fifo {
            Operation::MakeFifo
        } else {
            Operation::MakeNode
        };
        let attributes = self.attributes(request);
        let mode = attributes.mode.unwrap_or(0o600);
        let first_mode = if attributes.owner.is_some() {
            mode & 0o700
        } else {
            mode & 0o777
        };
        self.make(spot, operation, None, observer, |disk, at| {
            disk.make_node(at, &spot.name, first_mode, node)
        })?;
        let stat = self.stat(spot)?;
        self.settle_by_name(request, spot, &stat, attributes)
    }

    fn directory(
        &mut self,
        request: &Request<'_>,
        first: bool,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let member = request.member;
        let spot = self.spot(request, observer)?;
        self.refuse_new(&spot)?;
        if self
            .places
            .reserved(spot.directory.identity(), &spot.name)
            .is_some()
        {
            self.settle_pending(observer);
        }
        let is_destination = spot.path.is_empty();
        let before = self.before.as_ref();
        let decided = before.and_then(|before| before.directory(request.index));
        if decided == Some(What::KeptDirectory) {
            return Err(Refusal::Silent);
        }
        let taken = decided.is_some() || (!is_destination && self.is_unfinished(&spot));
        let backup = self.back_up(&spot, false, observer)?;
        let mut there = self.there(&spot)?;
        if let (
            Existing::KeepNotOlder {
                directories: true,
                except_dot,
            },
            Some(stat),
        ) = (self.plan.extract.existing, &there)
        {
            let excepted = (except_dot && first && is_destination) || taken;
            if !excepted && stat.mtime >= member.mtime {
                self.note_directory(request, &spot, What::KeptDirectory);
                return Err(Complaint::warning(&spot.shown, Condition::NotNewer).into());
            }
        }
        if !self.plan.extract.announce_first {
            observer.member(member, request.name, request.link);
        }
        self.tell_made(observer);
        self.warn_of_odd_time(request, observer);
        let attributes = self.attributes(request);
        let mode = attributes.mode.unwrap_or(0o700);
        let mut exists = there.is_some_and(|stat| stat.kind == FileKind::Directory);
        // As GNU tar has it, existing files are kept with their metadata, and a directory is worth no complaint.
        match self.plan.extract.existing {
            _ if taken => {}
            Existing::KeepSilently if there.is_some() => {
                self.note_directory(request, &spot, What::KeptDirectory);
                return Err(Complaint::warning(&spot.shown, Condition::Kept).into());
            }
            Existing::KeepComplain if there.is_some() => {
                self.note_directory(request, &spot, What::KeptDirectory);
                return Ok(());
            }
            _ => {}
        }
        if exists
            && !taken
            && self.plan.extract.existing == Existing::RemoveFirst
            && self.may_remove_tree(&spot)
        {
            self.clear_way(&spot, Operation::MakeDirectory, observer)?;
            (exists, there) = (false, None);
        }
        let rule = self.plan.extract.existing_directories;
        if rule == ExistingDirectories::KeepFull
            && there
                .is_some_and(|stat| stat.kind != FileKind::Directory && stat.mtime >= member.mtime)
        {
            return Err(Complaint::warning(&spot.shown, Condition::NotNewer).into());
        }
        let remakes = matches!(
            rule,
            ExistingDirectories::KeepFull | ExistingDirectories::Remove
        );
        if exists && remakes && !is_destination {
            match self.clear_way(&spot, Operation::Remove, observer) {
                Ok(()) => (exists, there) = (false, None),
                Err(Refusal::Complaint(Complaint {
                    condition: Condition::System { cause, .. },
                    ..
                })) if rule == ExistingDirectories::KeepFull && remove::is_not_empty(&cause) => {
                    return Err(Refusal::Silent);
                }
                Err(refusal) => return Err(refusal),
            }
        }
        if let Some(stat) = &there
            && stat.kind == FileKind::Symlink
            && self.places.link_to_directory(&spot.directory, &spot.name)
        {
            if self.plan.extract.keep_directory_symlink {
                return Ok(());
            }
            self.complain(
                &Complaint::warning(&spot.shown, Condition::ReplacedDirectoryLink),
                observer,
            );
        }
        if !exists {
            // Ours to work in; what the archive wants comes at the end.
            let first_mode = if attributes.owner.is_some() {
                0o700
            } else {
                (mode & 0o777) | 0o700
            };
            let made = self.make(
                &spot,
                Operation::MakeDirectory,
                None,
                observer,
                |disk, at| disk.make_dir(at, &spot.name, first_mode),
            );
            if let (Err(_), Some(backup)) = (&made, backup) {
                self.undo_backup(&spot, &backup, observer);
            }
            made?;
        }
        let begun = self.committer.begin_late(request.name, &spot.directory);
        let ticket =
            begun.map_err(|cause| Complaint::system(&spot.shown, Operation::Stat, cause))?;
        let keep =
            exists && !taken && self.plan.extract.existing_directories == ExistingDirectories::Keep;
        if keep {
            self.note_directory(request, &spot, What::KeptDirectory);
            ticket.finish();
        } else {
            self.note_directory(request, &spot, What::Directory);
            let extras = Extras::of(member, &self.plan.extract);
            self.fixups.add(
                spot.base,
                &spot.path,
                request.name,
                (attributes, extras),
                ticket,
            );
        }
        Ok(())
    }
}

/// What [`Extractor::finish`] gives.
#[derive(Debug)]
pub struct Finished {
    /// What was restored; failures and warnings are the observer's to count.
    pub restored: stats::Restored,
    /// Syncs.
    pub sync: stats::Sync,
    /// No sync has failed.
    pub intact: bool,
    /// No thread has panicked.
    pub well: bool,
}

/// The journal's name, for messages.
fn journal_name(plan: &Plan) -> Vec<u8> {
    let journal = plan.journal.as_ref();
    journal.map_or_else(Vec::new, |journal| {
        journal.path.as_os_str().as_bytes().to_vec()
    })
}

/// Threads that write: as many as there are cores, but in mode each as many as pay while they wait for fsync(2).
fn jobs(plan: &Plan) -> usize {
    // Writing into files that exist needs the archive's order: one may have two names.
    if plan.extract.existing == Existing::Overwrite {
        return 1;
    }
    plan.jobs.map_or_else(
        || match plan.durability.mode {
            DurabilityMode::Each => SYNC_THREADS,
            _ => sys::cores().get(),
        },
        NonZeroUsize::get,
    )
}

/// Whether a symbolic link at `path` with this target leads out of the destination, by its text alone.
fn leads_out(path: &[u8], target: &[u8]) -> bool {
    if target.starts_with(b"/") {
        return true;
    }
    let mut depth = path.iter().filter(|byte| **byte == b'/').count();
    for part in components(target) {
        if part != b".." {
            depth += 1;
        } else if depth == 0 {
            return true;
        } else {
            depth -= 1;
        }
    }
    false
}

#[cfg(test)]
mod tests;
