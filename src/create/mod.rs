//! Files become members of an archive.
//!
//! `walk` finds them, `ahead` looks at them and reads the small ones on several threads, and here, on the engine's
//! thread, each becomes a [`Member`] in archive order and goes into a [`MemberSink`]: hard links are told from first
//! names, holes are mapped, owners, modes and times become what the plan wants. What cannot be read is complained about,
//! and what was promised in a header is kept: a file that shrinks while it is read is filled with zeros.
//!
//! Not here: how headers look (`format::write`), and where the archive goes (`engine::sink`).

mod ahead;
mod attributes;
mod holes;
mod ignore;
mod walk;

use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::sync::Arc;
use std::thread;

use crate::disk::{Disk, FileKind, Links, Stat, errno};
use crate::error::{Complaint, Condition, Error, Operation, Severity};
use crate::member::{Extent, Kind, Member, MemberSink, Timestamp};
use crate::observe::{Observer, Verdict};
use crate::plan::create::{
    AccessTimes, Create, Holes, Identity, ModeBits, ModeChange, ModeOperator, Mtime,
};
use crate::plan::{Plan, Stamp};
use crate::select::Remark;
use crate::select::names::without_trailing_slashes;
use crate::select::outgoing::{Of, Renamer};
use crate::stats::Restored;
use crate::sys::{self, names};
use ahead::{Ahead, Contents, Found, Rules, Seen, Task};
use attributes::Wanted;
use walk::Walker;

/// Readers beyond these do not make it faster: they wait for the disk, and its queue is long enough.
const READERS: usize = 8;

/// The archive that is being written, which must not be archived itself.
#[derive(Clone, Debug, Default)]
pub struct Itself {
    /// What was there before under its name: device and inode. It is passed over with a warning.
    pub known: Vec<(u64, u64)>,
    /// What it is written to meanwhile, and what it will be called in its directory: passed over as that.
    pub hidden: Vec<((u64, u64), Vec<u8>)>,
    /// Names of members that are in the archive already, without trailing slashes, and the latest time of each: what is
    /// not newer is passed over, and so are directories.
    pub members: HashMap<Vec<u8>, Timestamp>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Created {
    /// Counters.
    pub stats: Restored,
    /// What is to be removed once the archive is safe: names, with their directories after what is in them.
    removals: Vec<Removal>,
}

#[derive(Debug)]
struct Removal {
    base: usize,
    path: Vec<u8>,
    directory: bool,
}

/// Which links the walker and the readers follow.
fn links(plan: &Plan) -> Links {
    if plan.create.dereference {
        Links::Follow
    } else {
        Links::Keep
    }
}

/// Archives everything that the plan asks for.
///
/// # Errors
/// What ends the run: a directory to start from cannot be entered, the archive cannot be written, the observer stops.
pub fn create<D: Disk, S: MemberSink>(
    disk: &Arc<D>,
    plan: &Plan,
    itself: &Itself,
    sink: &mut S,
    observer: &mut dyn Observer,
) -> Result<Created, Error> {
    let bases = bases(&**disk, plan)?;
    let wanted = sink
        .records()
        .map(|style| Wanted::new(&plan.extract, style));
    let create = &plan.create;
    let rules = Rules {
        links: links(plan),
        quiet: create.access_times == AccessTimes::NotTouched,
        holes: create.holes != Holes::Ignore && sink.has_maps(),
        join: !create.hard_dereference,
        attributes: wanted.as_ref().map(Wanted::prefixes).unwrap_or_default(),
        archive: itself
            .known
            .iter()
            .copied()
            .chain(itself.hidden.iter().map(|(identity, _)| *identity))
            .collect(),
        wanted: is_wanted,
        newer: plan.selection.newer,
    };
    let ahead = Ahead::new(Arc::clone(disk), rules.clone(), plan.archive.fifo_bytes);
    let readers = match plan.jobs {
        Some(jobs) => jobs.get() - 1,
        None => (sys::cores().get() * 2).min(READERS),
    };
    let renamer =
        Renamer::new(&plan.selection).map_err(|problem| Error::Plan(problem.to_string()))?;
    let mut creator = Creator {
        disk,
        plan,
        create,
        itself,
        rules,
        wanted,
        renamer,
        links: HashMap::new(),
        created: Created::default(),
        several: create.dereference || plan.selection.wanted.len() > 1,
        records: 0,
    };
    creator.created.stats.jobs = readers as u64 + 1;
    thread::scope(|scope| {
        let ahead = &ahead;
        let bases = &bases;
        let walker = thread::Builder::new()
            .name("durastar-walk".into())
            .spawn_scoped(scope, move || {
                let _guard = Guard(ahead);
                Walker::new(&**disk, plan, ahead).run(bases);
                ahead.close();
            })
            .map_err(|cause| Error::System {
                operation: Operation::Execute,
                name: b"walker".to_vec(),
                cause,
            })?;
        let mut threads = vec![("durastar-walk", walker)];
        for _ in 0..readers {
            let reader = thread::Builder::new()
                .name("durastar-look".into())
                .spawn_scoped(scope, move || {
                    let _guard = Guard(ahead);
                    ahead.read();
                });
            match reader {
                Ok(reader) => threads.push(("durastar-look", reader)),
                // What is not read ahead is read later.
                Err(_) => break,
            }
        }
        let result = creator.take_all(ahead, sink, observer);
        ahead.abort();
        let mut panicked = None;
        for (name, thread) in threads {
            if thread.join().is_err() {
                panicked = Some(Error::Panic(name));
            }
        }
        match (result, panicked) {
            (Ok(()), Some(error)) => Err(error),
            (result, _) => result,
        }
    })?;
    if create.check_links {
        creator.check_links(observer);
    }
    Ok(creator.created)
}

/// Ends everybody's waiting when a thread panics.
struct Guard<'a, D: Disk>(&'a Ahead<D>);

impl<D: Disk> Drop for Guard<'_, D> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abort();
        }
    }
}

/// The directories that names are relative to; those that no name uses stand for nothing.
fn bases<D: Disk>(disk: &D, plan: &Plan) -> Result<Vec<Arc<D::Dir>>, Error> {
    let mut bases = Vec::new();
    let last = plan
        .selection
        .wanted
        .iter()
        .map(|wanted| wanted.directory)
        .max();
    for directory in plan
        .directories
        .iter()
        .take(last.map_or(0, |last| last + 1))
    {
        let handle = disk.open_path(directory).map_err(|cause| Error::System {
            operation: Operation::ChangeDirectory,
            name: std::os::unix::ffi::OsStrExt::as_bytes(directory.as_os_str()).to_vec(),
            cause,
        })?;
        bases.push(Arc::new(handle));
    }
    Ok(bases)
}

/// Whether a file is new enough.
fn is_wanted(rules: &Rules, stat: &Stat) -> bool {
    let Some(limit) = rules.newer else {
        return true;
    };
    let new = |time: Timestamp| {
        if limit.inclusive {
            time >= limit.time
        } else {
            time > limit.time
        }
    };
    stat.kind == FileKind::Directory
        || new(stat.mtime)
        || limit.stamp == Stamp::Changed && new(stat.ctime)
}

/// Files with several names that were archived, by device and inode.
struct Linked {
    /// The first of its names, as on disk.
    name: Vec<u8>,
    /// How many of its names are still to come.
    missing: u64,
}

struct Creator<'a, D: Disk> {
    disk: &'a Arc<D>,
    plan: &'a Plan,
    create: &'a Create,
    itself: &'a Itself,
    rules: Rules,
    wanted: Option<Wanted>,
    renamer: Renamer,
    links: HashMap<(u64, u64), Linked>,
    created: Created,
    /// A file may come twice even if it has one name.
    several: bool,
    /// Whole records so far.
    records: u64,
}

impl<D: Disk> Creator<'_, D> {
    fn take_all<S: MemberSink>(
        &mut self,
        ahead: &Ahead<D>,
        sink: &mut S,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let mut used = None;
        while let Some(mut batch) = ahead.next(used.take()) {
            while let Some(found) = batch.found.pop_front() {
                if observer.verdict() == Verdict::Stop {
                    return Err(Error::Stopped);
                }
                match found {
                    Found::Note(complaint) => {
                        observer.complaint(&complaint);
                    }
                    Found::Left(base, path) => self.left((base, path)),
                    Found::Object(task, Ok(seen)) => {
                        self.object(task, seen, &batch.buffer, sink, observer)?;
                        let records =
                            sink.written() / self.plan.archive.record_bytes.max(512) as u64;
                        if records > self.records {
                            self.records = records;
                            observer.records(records);
                        }
                    }
                    Found::Object(task, Err((operation, cause))) => {
                        self.failed(&task, operation, cause, observer);
                    }
                }
            }
            used = Some(batch);
        }
        Ok(())
    }

    fn failed(
        &mut self,
        task: &Task<D>,
        operation: Operation,
        cause: io::Error,
        observer: &mut dyn Observer,
    ) {
        let gone = cause.raw_os_error() == Some(errno::ENOENT) && !task.operand;
        let complaint = if gone {
            Complaint::difference(&task.path, Condition::FileRemoved)
        } else {
            Complaint {
                severity: self.unreadable(),
                ..Complaint::system(&task.path, operation, cause)
            }
        };
        observer.complaint(&complaint);
    }

    /// How bad it is that a file cannot be read.
    fn unreadable(&self) -> Severity {
        if self.create.ignore_failed_read {
            Severity::Warning
        } else {
            Severity::Failure
        }
    }

    fn object<S: MemberSink>(
        &mut self,
        task: Task<D>,
        seen: Seen,
        buffer: &[u8],
        sink: &mut S,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let stat = &seen.stat;
        let identity = stat.identity();
        if let Some((_, name)) = self
            .itself
            .hidden
            .iter()
            .find(|(file, _)| *file == identity)
        {
            // Where there was an archive before, it is met under its own name.
            if self.itself.known.is_empty() {
                let directory = task.path.iter().rposition(|&byte| byte == b'/');
                let mut path = task.path[..directory.map_or(0, |slash| slash + 1)].to_vec();
                path.extend_from_slice(name);
                observer.complaint(&Complaint::warning(&path, Condition::IsArchive));
            }
            return Ok(());
        }
        if self.itself.known.contains(&identity) {
            observer.complaint(&Complaint::warning(&task.path, Condition::IsArchive));
            return Ok(());
        }
        if !is_wanted(&self.rules, stat) {
            self.created.stats.skipped += 1;
            observer.complaint(&Complaint::warning(&task.path, Condition::FileUnchanged));
            return Ok(());
        }
        let kind = match stat.kind {
            FileKind::Regular => Kind::Regular,
            FileKind::Directory => Kind::Directory,
            FileKind::Symlink => Kind::Symlink,
            FileKind::Fifo => Kind::Fifo,
            FileKind::CharDevice => Kind::CharDevice,
            FileKind::BlockDevice => Kind::BlockDevice,
            FileKind::Socket => {
                observer.complaint(&Complaint::warning(
                    &task.path,
                    Condition::FileIgnored("socket"),
                ));
                return Ok(());
            }
            FileKind::Unknown => {
                let what = Condition::FileIgnored("Unknown file type; file");
                refused(&task.path, what, observer);
                return Ok(());
            }
        };
        let (mut member, source) = self.member(kind, &task, &seen, observer);
        if self.is_there(kind, &member, stat.mtime) {
            self.created.stats.skipped += 1;
            return Ok(());
        }
        if kind == Kind::Directory {
            self.plain(&task, &source, &mut member, sink, observer)?;
            return Ok(());
        }
        if self.is_link(stat, &mut member, observer) {
            // A name that was given twice is one member: a link to itself destroys what it links to.
            if member.link == member.name
                || self.plain(&task, &source, &mut member, sink, observer)?
            {
                self.remove(task, false);
            }
            return Ok(());
        }
        let links = stat.links;
        let done = if kind == Kind::Regular {
            self.regular(&task, &source, seen, buffer, &mut member, sink, observer)?
        } else {
            self.plain(&task, &source, &mut member, sink, observer)?
        };
        if done {
            if !self.create.hard_dereference && (links > 1 || self.several) {
                // As in GNU tar it is said here what links to it would be called, be there any or not.
                let mut remarks = Vec::new();
                self.stored(&task.path, Of::HardLink, &mut remarks);
                tell(&remarks, observer);
                let linked = Linked {
                    name: task.path.clone(),
                    missing: links.saturating_sub(1),
                };
                self.links.insert(identity, linked);
            }
            self.remove(task, false);
        }
        Ok(())
    }

    /// Whether the archive has it already, and as new.
    fn is_there(&self, kind: Kind, member: &Member, mtime: Timestamp) -> bool {
        let members = &self.itself.members;
        if members.is_empty() {
            return false;
        }
        members
            .get(without_trailing_slashes(&member.name))
            .is_some_and(|&there| {
                // Most formats hold whole seconds.
                let now = if there.nanos == 0 {
                    Timestamp { nanos: 0, ..mtime }
                } else {
                    mtime
                };
                kind == Kind::Directory || now <= there
            })
    }

    /// Makes a hard link of a member whose file was archived under another name.
    fn is_link(&mut self, stat: &Stat, member: &mut Member, observer: &mut dyn Observer) -> bool {
        let Some(linked) = self.links.get_mut(&stat.identity()) else {
            return false;
        };
        linked.missing = linked.missing.saturating_sub(1);
        let name = linked.name.clone();
        let mut remarks = Vec::new();
        let mut target = self.stored(&name, Of::HardLink, &mut remarks);
        self.renamer.substitute(&mut target, Of::HardLink);
        tell(&remarks, observer);
        member.kind = Kind::HardLink;
        member.link = target;
        member.size = 0;
        member.stored = 0;
        true
    }

    /// A member without data.
    fn plain<S: MemberSink>(
        &mut self,
        task: &Task<D>,
        source: &[u8],
        member: &mut Member,
        sink: &mut S,
        observer: &mut dyn Observer,
    ) -> Result<bool, Error> {
        member.block = sink.written() / 512;
        if let Some(condition) = sink.member(member, source)? {
            refused(&task.path, condition, observer);
            return Ok(false);
        }
        self.show(task, member, observer);
        Ok(true)
    }

    /// Tells the observer of a member: under its name on disk, and what it is called in the archive.
    fn show(&mut self, task: &Task<D>, member: &mut Member, observer: &mut dyn Observer) {
        self.created.stats.members += 1;
        let mut shown = task.path.clone();
        if member.kind == Kind::Directory && shown.last() != Some(&b'/') {
            shown.push(b'/');
        }
        let stored = std::mem::replace(&mut member.name, shown);
        observer.member(member, &stored, &member.link);
        member.name = stored;
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "all of them differ from call to call"
    )]
    fn regular<S: MemberSink>(
        &mut self,
        task: &Task<D>,
        source: &[u8],
        seen: Seen,
        buffer: &[u8],
        member: &mut Member,
        sink: &mut S,
        observer: &mut dyn Observer,
    ) -> Result<bool, Error> {
        let Contents::Read {
            range,
            short,
            changed,
            failed,
        } = seen.contents
        else {
            return self.large(task, source, member, sink, observer);
        };
        member.block = sink.written() / 512;
        if let Some(condition) = sink.member(member, source)? {
            refused(&task.path, condition, observer);
            return Ok(false);
        }
        self.show(task, member, observer);
        sink.put(&buffer[range])?;
        self.count(member);
        let failed = failed.map(|(offset, cause)| (offset, member.size - offset, cause));
        Ok(self.after(task, short, failed, changed, observer))
    }

    /// A file that nobody has read yet.
    fn large<S: MemberSink>(
        &mut self,
        task: &Task<D>,
        source: &[u8],
        member: &mut Member,
        sink: &mut S,
        observer: &mut dyn Observer,
    ) -> Result<bool, Error> {
        let disk = &**self.disk;
        let (file, stat) = match ahead::open(disk, &self.rules, task) {
            Ok(opened) if opened.1.kind == FileKind::Regular => opened,
            Ok(_) => {
                observer.complaint(&Complaint::difference(&task.path, Condition::FileChanged));
                return Ok(false);
            }
            Err(cause) => {
                self.failed(task, Operation::Open, cause, observer);
                return Ok(false);
            }
        };
        member.size = stat.size;
        member.stored = stat.size;
        if self.rules.holes {
            match holes::map(disk, &file, &stat, self.create.holes) {
                Ok(map) => {
                    if let Some(map) = &map {
                        member.stored = map.iter().map(|extent| extent.length).sum();
                    }
                    member.sparse = map;
                }
                Err(cause) => {
                    self.failed(task, Operation::Read, cause, observer);
                    return Ok(false);
                }
            }
        }
        member.block = sink.written() / 512;
        if let Some(condition) = sink.member(member, source)? {
            refused(&task.path, condition, observer);
            return Ok(false);
        }
        self.show(task, member, observer);
        let whole = [Extent {
            offset: 0,
            length: stat.size,
        }];
        let (short, failed) = copy(
            disk,
            &file,
            member.sparse.as_deref().unwrap_or(&whole),
            sink,
        )?;
        self.count(member);
        let changed = disk
            .stat_file(&file)
            .is_ok_and(|now| now.ctime != stat.ctime || now.size > stat.size);
        if self.create.access_times == AccessTimes::SetBack {
            let times = crate::disk::Times {
                atime: Some(stat.atime),
                mtime: None,
            };
            // It is a courtesy; what cannot be set back stays.
            let _ = disk.set_times(&crate::disk::Target::File(&file), times);
        }
        Ok(self.after(task, short, failed, changed, observer))
    }

    fn count(&mut self, member: &Member) {
        self.created.stats.files += 1;
        self.created.stats.file_bytes += member.size;
    }

    /// Says what was wrong with reading a file; gives whether nothing was.
    fn after(
        &self,
        task: &Task<D>,
        short: u64,
        failed: Option<(u64, u64, io::Error)>,
        changed: bool,
        observer: &mut dyn Observer,
    ) -> bool {
        if let Some((offset, bytes, cause)) = failed {
            observer.complaint(&Complaint {
                severity: self.unreadable(),
                ..Complaint::failure(
                    &task.path,
                    Condition::ReadFailed {
                        offset,
                        bytes,
                        cause,
                    },
                )
            });
            return false;
        }
        let condition = if short > 0 {
            Condition::FileShrank(short)
        } else if changed {
            Condition::FileChanged
        } else {
            return true;
        };
        observer.complaint(&Complaint::difference(&task.path, condition));
        false
    }

    fn left(&mut self, task: (usize, Vec<u8>)) {
        if self.create.remove_files {
            let (base, path) = task;
            self.created.removals.push(Removal {
                base,
                path,
                directory: true,
            });
        }
    }

    fn remove(&mut self, task: Task<D>, directory: bool) {
        if self.create.remove_files {
            self.created.removals.push(Removal {
                base: task.base,
                path: task.path,
                directory,
            });
        }
    }

    fn check_links(&self, observer: &mut dyn Observer) {
        let missing = self.links.values().filter(|linked| linked.missing > 0);
        let mut names: Vec<_> = missing.map(|linked| &linked.name).collect();
        names.sort();
        for name in names {
            observer.complaint(&Complaint::warning(name, Condition::MissingLinks));
        }
    }

    /// The name under which something is stored, but for substitutions.
    fn stored(&mut self, path: &[u8], of: Of, remarks: &mut Vec<Remark>) -> Vec<u8> {
        let mut path = path;
        if self.create.skip_dot {
            while let Some(rest) = path.strip_prefix(b"./").filter(|rest| !rest.is_empty()) {
                path = rest;
            }
        }
        self.renamer.safe(path, of, remarks)
    }

    /// The member that an object becomes, and its name before substitutions.
    fn member(
        &mut self,
        kind: Kind,
        task: &Task<D>,
        seen: &Seen,
        observer: &mut dyn Observer,
    ) -> (Member, Vec<u8>) {
        let stat = &seen.stat;
        let mut remarks = Vec::new();
        let source = self.stored(&task.path, Of::Member, &mut remarks);
        tell(&remarks, observer);
        let mut member = Member::new(kind, &source);
        self.renamer.substitute(&mut member.name, Of::Member);
        if kind == Kind::Directory && member.name.last() != Some(&b'/') {
            member.name.push(b'/');
        }
        if kind == Kind::Symlink {
            member.link.clone_from(&seen.link);
            self.renamer.substitute(&mut member.link, Of::Symlink);
        }
        if kind == Kind::Regular {
            member.size = stat.size;
            member.stored = stat.size;
        }
        member.mode = changed_mode(stat.mode, kind == Kind::Directory, self.plan);
        member.mtime = match self.create.mtime {
            Mtime::OfFile => stat.mtime,
            Mtime::Fixed(time) => time,
            Mtime::AtMost(time) => stat.mtime.min(time),
        };
        member.atime = Some(stat.atime);
        member.ctime = Some(stat.ctime);
        if matches!(kind, Kind::CharDevice | Kind::BlockDevice) {
            member.device = stat.number;
        }
        let create = self.create;
        let owner = identity(stat.uid, &create.owner_map, create.owner.as_ref());
        (member.uid, member.uname) = spelt(stat.uid, owner, names::user_name, names::user_id);
        let group = identity(stat.gid, &create.group_map, create.group.as_ref());
        (member.gid, member.gname) = spelt(stat.gid, group, names::group_name, names::group_id);
        if let Some(wanted) = &self.wanted {
            member.records = wanted.records(&seen.attributes, stat.mode, kind == Kind::Directory);
        }
        (member, source)
    }
}

/// Removes what was archived (`--remove-files`); to be called once the archive is safe.
pub fn remove<D: Disk>(
    disk: &D,
    plan: &Plan,
    created: Created,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    if created.removals.is_empty() {
        return Ok(());
    }
    let bases = bases(disk, plan)?;
    for removal in created.removals {
        let Ok(name) = CString::new(removal.path.clone()) else {
            continue;
        };
        // What is below `.` goes, the directory that was started from stays.
        if removal.directory && removal.path.ends_with(b".") {
            continue;
        }
        let at = &bases[removal.base];
        let result = if removal.directory {
            disk.remove_dir(at, &name)
        } else {
            disk.remove(at, &name)
        };
        if let Err(cause) = result {
            let operation = if removal.directory {
                Operation::RemoveDirectory
            } else {
                Operation::Remove
            };
            observer.complaint(&Complaint::system(&removal.path, operation, cause));
        }
    }
    Ok(())
}

/// Says that a format does not hold something.
fn refused(path: &[u8], condition: Condition, observer: &mut dyn Observer) {
    observer.complaint(&match condition {
        Condition::FileIgnored(_) => Complaint::warning(path, condition),
        _ => Complaint::failure(path, condition),
    });
}

fn tell(remarks: &[Remark], observer: &mut dyn Observer) {
    for remark in remarks {
        observer.complaint(&Complaint::warning(b"", remark.condition()));
    }
}

/// What a copy came to lack at the end, and where reading failed: offset, bytes, reason.
type Lacking = (u64, Option<(u64, u64, io::Error)>);

/// Most that is read at once, in bytes: the writer of the archive works while the next piece is read.
const PIECE: usize = 256 << 10;

/// Copies the extents of a file. What is not there any more, or cannot be read, is zeros.
fn copy<D: Disk, S: MemberSink>(
    disk: &D,
    file: &D::File,
    extents: &[Extent],
    sink: &mut S,
) -> Result<Lacking, Error> {
    let mut short = 0;
    let mut failed = None;
    for extent in extents {
        let mut at = extent.offset;
        let end = extent.offset + extent.length;
        while at < end {
            let room = sink.room()?;
            let most = usize::try_from(end - at).unwrap_or(usize::MAX);
            let most = most.min(room.len()).min(PIECE);
            let room = &mut room[..most];
            let n = if short > 0 || failed.is_some() {
                Ok(0)
            } else {
                disk.read_at(file, room, at)
            };
            let n = match n {
                Ok(0) => {
                    room.fill(0);
                    match &mut failed {
                        Some((_, bytes, _)) => *bytes += most as u64,
                        None => short += most as u64,
                    }
                    most
                }
                Ok(n) => n,
                Err(cause) => {
                    failed = Some((at, 0, cause));
                    continue;
                }
            };
            sink.filled(n)?;
            at += n as u64;
        }
    }
    Ok((short, failed))
}

/// What stands for an owner: a line of the map, or the one for all.
fn identity<'a>(
    id: u32,
    map: &'a [crate::plan::create::Mapped],
    all: Option<&'a Identity>,
) -> Option<&'a Identity> {
    map.iter()
        .find(|mapped| mapped.from == id)
        .map(|mapped| &mapped.to)
        .or(all)
}

/// The number and the name of an owner, each looked up by the other where only one is given.
fn spelt(
    id: u32,
    instead: Option<&Identity>,
    name_of: fn(u32) -> Option<Vec<u8>>,
    id_of: fn(&[u8]) -> Option<u32>,
) -> (u64, Vec<u8>) {
    let look_up = |id: u64| u32::try_from(id).ok().and_then(name_of).unwrap_or_default();
    match instead {
        None => (id.into(), name_of(id).unwrap_or_default()),
        Some(Identity {
            name: Some(name),
            id: number,
        }) => {
            let number = number.or_else(|| id_of(name).map(u64::from));
            (number.unwrap_or(id.into()), name.clone())
        }
        Some(Identity {
            name: None,
            id: number,
        }) => {
            let number = number.unwrap_or(id.into());
            (number, look_up(number))
        }
    }
}

/// A mode after the changes that are wanted (chmod(1)).
fn changed_mode(mode: u32, directory: bool, plan: &Plan) -> u32 {
    plan.create.mode.iter().fold(mode, |mode, change| {
        let ModeChange {
            affected,
            operator,
            bits,
        } = *change;
        let bits = match bits {
            ModeBits::Fixed(bits) => bits,
            ModeBits::WithX(bits) if directory || mode & 0o111 != 0 => bits | 0o111,
            ModeBits::WithX(bits) => bits,
            ModeBits::CopyOf(class) => {
                let class = mode >> (6 - 3 * u32::from(class)) & 7;
                class << 6 | class << 3 | class
            }
        } & affected;
        match operator {
            ModeOperator::Add => mode | bits,
            ModeOperator::Remove => mode & !bits,
            ModeOperator::Set => mode & !affected | bits,
        }
    })
}
