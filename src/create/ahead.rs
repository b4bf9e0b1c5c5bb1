//! Files are looked at and read ahead of the writer, on several threads, and come out in archive order.
//!
//! The walker puts batches of work into a queue, readers take the oldest that nobody has, the writer takes the oldest of
//! all once it is done. How far readers may be ahead is bounded in bytes and in batches; the oldest batch is exempt from
//! the bound, so the chain can slow down but not stop. A writer that meets a batch nobody has begun does it itself, so
//! everything works without readers too.
//!
//! Large files are only looked at: the writer reads them straight to where they go.

use std::collections::{HashSet, VecDeque};
use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, FileKind, Links, Stat, Target, errno};
use crate::error::{Complaint, Operation};
use crate::sys;

/// Items in a batch: enough to make the queue's lock cheap.
pub(super) const BATCH_ITEMS: usize = 32;
/// Directories in a batch, each of which is kept open.
pub(super) const BATCH_DIRECTORIES: usize = 8;
/// Batches between the walker and the writer.
const QUEUE: usize = 128;
/// Larger files are left to the writer.
const SMALL: u64 = 256 << 10;
/// Contents held in one batch; what is more is left to the writer too.
const BATCH_BYTES: usize = 2 << 20;

/// Something to archive: where it is, and what it is called.
#[derive(Debug)]
pub(super) struct Task<D: Disk> {
    /// Which of the directories that operands are relative to its path begins in.
    pub(super) base: usize,
    /// The directory it is reached from.
    pub(super) at: Arc<D::Dir>,
    /// Its name from there.
    pub(super) entry: CString,
    /// Its name as it is spoken of, from the operand on.
    pub(super) path: Vec<u8>,
    /// What it is, if that is known.
    pub(super) kind: Option<FileKind>,
    /// It was asked for by name.
    pub(super) operand: bool,
}

/// What a batch is made of.
#[derive(Debug)]
pub(super) enum Item<D: Disk> {
    /// To be looked at.
    Task(Task<D>),
    /// A directory that the walker has entered: the handle and its state.
    Directory(Task<D>, Arc<D::Dir>, Box<Stat>),
    /// A directory that the walker has left: the number of the directory it was reached from, and its name.
    Left(usize, Vec<u8>),
    /// Something to say.
    Note(Complaint),
}

/// What came of an item.
#[derive(Debug)]
pub(super) enum Found<D: Disk> {
    /// An object, or why there is none.
    Object(Task<D>, Result<Seen, (Operation, io::Error)>),
    /// As [`Item::Left`].
    Left(usize, Vec<u8>),
    /// As [`Item::Note`].
    Note(Complaint),
}

/// What is known of an object.
#[derive(Debug)]
pub(super) struct Seen {
    /// Its state, from before it was read.
    pub(super) stat: Stat,
    /// Its contents.
    pub(super) contents: Contents,
    /// Where a symbolic link points to.
    pub(super) link: Vec<u8>,
    /// Extended attributes, those that are wanted.
    pub(super) attributes: Vec<(CString, Vec<u8>)>,
}

/// The contents of a regular file.
#[derive(Debug)]
pub(super) enum Contents {
    /// There are none, or nobody has read them.
    Unread,
    /// This part of the batch's buffer, and whether the file's state was the same afterwards.
    Read {
        /// Where in the buffer.
        range: Range<usize>,
        /// Bytes the file turned out to lack.
        short: u64,
        /// Its state changed while it was read.
        changed: bool,
        /// Reading failed at that byte of the file.
        failed: Option<(u64, io::Error)>,
    },
}

/// What readers have to know.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Whether symbolic links stand for what they point to.
    pub(super) links: Links,
    /// Reading must not change access times.
    pub(super) quiet: bool,
    /// Files that have to be looked at for holes are left to the writer.
    pub(super) holes: bool,
    /// Files of several names are the same file, to be read once.
    pub(super) join: bool,
    /// Which attributes are read: all whose names one of these begins.
    pub(super) attributes: Vec<&'static [u8]>,
    /// The archive itself, which is not read.
    pub(super) archive: Vec<(u64, u64)>,
    /// Whether a file of this state is archived at all.
    pub(super) wanted: fn(&Rules, &Stat) -> bool,
    /// For [`Rules::wanted`]: the limit.
    pub(super) newer: Option<crate::plan::DateLimit>,
}

/// A batch that is done.
#[derive(Debug)]
pub(super) struct Batch<D: Disk> {
    /// What was found, in order.
    pub(super) found: VecDeque<Found<D>>,
    /// The contents of files.
    pub(super) buffer: Vec<u8>,
    /// How many bytes of it count against the bound.
    held: usize,
    /// How many directories it keeps open.
    directories: usize,
}

#[derive(Debug)]
enum Slot<D: Disk> {
    Waiting(Vec<Item<D>>),
    Taken,
    Done(Batch<D>),
}

#[derive(Debug)]
struct State<D: Disk> {
    slots: VecDeque<Slot<D>>,
    /// The number of the slot at the front.
    first: u64,
    /// How many of the slots at the front somebody has taken.
    taken: usize,
    /// Bytes of contents that wait for the writer.
    held: usize,
    /// Directories that the batches in the queue keep open.
    directories: usize,
    /// No more batches come.
    closed: bool,
    /// Nobody wants any more.
    aborted: bool,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
}

/// The queue between walker, readers and writer.
#[derive(Debug)]
pub(super) struct Ahead<D: Disk> {
    disk: Arc<D>,
    rules: Rules,
    state: Mutex<State<D>>,
    /// There is something to take.
    work: Condvar,
    /// The front is done.
    done: Condvar,
    /// There is room for a batch.
    room: Condvar,
    limit: usize,
    /// How many directories the queue may keep open.
    directories: usize,
    /// Files with several names that somebody reads already.
    joined: Mutex<HashSet<(u64, u64)>>,
}

impl<D: Disk> Ahead<D> {
    /// At most about `limit` bytes of contents are held.
    pub(super) fn new(disk: Arc<D>, rules: Rules, limit: usize) -> Self {
        Self {
            disk,
            rules,
            state: Mutex::new(State {
                slots: VecDeque::new(),
                first: 0,
                taken: 0,
                held: 0,
                directories: 0,
                closed: false,
                aborted: false,
                spare: Vec::new(),
            }),
            work: Condvar::new(),
            done: Condvar::new(),
            room: Condvar::new(),
            limit,
            directories: (sys::open_files() / 8).clamp(BATCH_DIRECTORIES, 512),
            joined: Mutex::new(HashSet::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch; waits while there are too many. Gives false when nobody wants it.
    pub(super) fn push(&self, items: Vec<Item<D>>) -> bool {
        let mut state = self.lock();
        let directories = directories(&items);
        while !state.aborted
            && (state.slots.len() >= QUEUE
                || !state.slots.is_empty() && state.directories + directories > self.directories)
        {
            state = self
                .room
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.aborted {
            return false;
        }
        state.directories += directories;
        state.slots.push_back(Slot::Waiting(items));
        // The writer may be waiting for a front to appear.
        if state.slots.len() == 1 {
            self.done.notify_one();
        }
        self.work.notify_one();
        true
    }

    /// No more batches come.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Nobody wants any more: walker and readers end.
    pub(super) fn abort(&self) {
        self.lock().aborted = true;
        self.work.notify_all();
        self.room.notify_all();
        self.done.notify_all();
    }

    /// A reader's life.
    pub(super) fn read(&self) {
        while let Some((place, items, buffer)) = self.take() {
            let batch = self.work_off(items, buffer);
            let mut state = self.lock();
            state.held += batch.held;
            // Nothing leaves the queue before it is done.
            let index = (place - state.first) as usize;
            state.slots[index] = Slot::Done(batch);
            if index == 0 {
                self.done.notify_one();
            }
        }
    }

    /// The oldest batch that nobody has taken, once the bound allows; `None` at the end.
    fn take(&self) -> Option<(u64, Vec<Item<D>>, Vec<u8>)> {
        let mut state = self.lock();
        loop {
            if state.aborted {
                return None;
            }
            let within = state.held < self.limit || state.taken == 0;
            if within && let Some(taken) = state.take_next() {
                return Some(taken);
            }
            if state.closed && state.taken == state.slots.len() {
                return None;
            }
            state = self
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The oldest batch of all, done; `None` at the end. `used` is one that the writer is through with.
    pub(super) fn next(&self, used: Option<Batch<D>>) -> Option<Batch<D>> {
        let mut state = self.lock();
        if let Some(used) = used {
            state.held -= used.held;
            if state.spare.len() < 16 {
                state.spare.push(used.buffer);
            }
            self.work.notify_one();
        }
        loop {
            match state.slots.front() {
                Some(Slot::Done(_)) => {
                    let Some(Slot::Done(batch)) = state.slots.pop_front() else {
                        return None;
                    };
                    state.left(&batch);
                    self.room.notify_one();
                    return Some(batch);
                }
                Some(Slot::Waiting(_)) => {
                    let (_, items, buffer) = state.take_next()?;
                    drop(state);
                    let batch = self.work_off(items, buffer);
                    state = self.lock();
                    state.held += batch.held;
                    state.slots.pop_front();
                    state.left(&batch);
                    self.room.notify_one();
                    return Some(batch);
                }
                _ if state.aborted => return None,
                None if state.closed => return None,
                Some(Slot::Taken) | None => {
                    state = self
                        .done
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn work_off(&self, items: Vec<Item<D>>, buffer: Vec<u8>) -> Batch<D> {
        let mut batch = Batch {
            found: VecDeque::with_capacity(items.len()),
            buffer,
            held: 0,
            directories: directories(&items),
        };
        for item in items {
            let found = match item {
                Item::Note(complaint) => Found::Note(complaint),
                Item::Left(base, path) => Found::Left(base, path),
                Item::Directory(task, handle, stat) => {
                    let seen = Seen {
                        stat: *stat,
                        contents: Contents::Unread,
                        link: Vec::new(),
                        attributes: self.attributes(&Target::Dir(&*handle)),
                    };
                    Found::Object(task, Ok(seen))
                }
                Item::Task(task) => {
                    let seen = self.look(&task, &mut batch);
                    Found::Object(task, seen)
                }
            };
            batch.found.push_back(found);
        }
        batch
    }

    /// Looks at an object, and reads it where it is a small file.
    fn look(&self, task: &Task<D>, batch: &mut Batch<D>) -> Result<Seen, (Operation, io::Error)> {
        let (disk, rules) = (&*self.disk, &self.rules);
        let at = &task.at;
        // A file is opened without a look before: its state is that of what was opened.
        if task.kind == Some(FileKind::Regular)
            && let Ok((file, stat)) = open(disk, rules, task)
            && stat.kind == FileKind::Regular
        {
            return Ok(self.regular(&file, stat, batch));
        }
        let stat = disk
            .look(at, &task.entry, rules.links)
            .map_err(|cause| (Operation::Stat, cause))?;
        let mut seen = Seen {
            stat,
            contents: Contents::Unread,
            link: Vec::new(),
            attributes: Vec::new(),
        };
        match stat.kind {
            FileKind::Regular if (rules.wanted)(rules, &stat) => {
                if rules.archive.contains(&stat.identity()) {
                    return Ok(seen);
                }
                let (file, stat) =
                    open(disk, rules, task).map_err(|cause| (Operation::Open, cause))?;
                if stat.kind == FileKind::Regular {
                    return Ok(self.regular(&file, stat, batch));
                }
                seen.stat = stat;
            }
            FileKind::Symlink => {
                seen.link = disk
                    .read_link(at, &task.entry)
                    .map_err(|cause| (Operation::ReadLink, cause))?;
                seen.attributes = self.attributes(&Target::At(&**at, &task.entry));
            }
            _ => seen.attributes = self.attributes(&Target::At(&**at, &task.entry)),
        }
        Ok(seen)
    }

    fn regular(&self, file: &D::File, stat: Stat, batch: &mut Batch<D>) -> Seen {
        let rules = &self.rules;
        let mut seen = Seen {
            stat,
            contents: Contents::Unread,
            link: Vec::new(),
            attributes: Vec::new(),
        };
        let identity = stat.identity();
        if rules.archive.contains(&identity) || !(rules.wanted)(rules, &stat) {
            return seen;
        }
        seen.attributes = self.attributes(&Target::File(file));
        let begin = batch.held;
        let later = stat.size > SMALL
            || begin + stat.size as usize > BATCH_BYTES
            || rules.holes && stat.blocks * 512 < stat.size;
        if later || rules.join && stat.links > 1 && !self.first_of(identity) {
            return seen;
        }
        let end = begin + stat.size as usize;
        if batch.buffer.len() < end {
            batch.buffer.resize(end.next_multiple_of(64 << 10), 0);
        }
        let into = &mut batch.buffer[begin..end];
        let mut at = 0;
        let mut failed = None;
        while at < into.len() {
            match self.disk.read_at(file, &mut into[at..], at as u64) {
                Ok(0) => break,
                Ok(n) => at += n,
                Err(cause) => {
                    failed = Some((at as u64, cause));
                    break;
                }
            }
        }
        into[at..].fill(0);
        let changed = self
            .disk
            .stat_file(file)
            .is_ok_and(|now| now.ctime != stat.ctime || now.size > stat.size);
        seen.contents = Contents::Read {
            range: begin..end,
            short: if failed.is_some() {
                0
            } else {
                (end - begin - at) as u64
            },
            changed,
            failed,
        };
        batch.held = end;
        seen
    }

    fn first_of(&self, identity: (u64, u64)) -> bool {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined.insert(identity)
    }

    /// The attributes that are wanted. What cannot be read is not there: most file systems know only some.
    pub(super) fn attributes(&self, target: &Target<'_, D>) -> Vec<(CString, Vec<u8>)> {
        if self.rules.attributes.is_empty() {
            return Vec::new();
        }
        let names = self.disk.attribute_names(target).unwrap_or_default();
        let wanted = names.into_iter().filter(|name| {
            let prefixes = &self.rules.attributes;
            prefixes
                .iter()
                .any(|prefix| name.to_bytes().starts_with(prefix))
        });
        wanted
            .filter_map(|name| {
                let value = self.disk.attribute(target, &name).ok()?;
                Some((name, value))
            })
            .collect()
    }
}

fn directories<D: Disk>(items: &[Item<D>]) -> usize {
    let entered = |item: &&Item<D>| matches!(item, Item::Directory(..));
    items.iter().filter(entered).count()
}

/// Opens a regular file and looks at its state.
pub(super) fn open<D: Disk>(
    disk: &D,
    rules: &Rules,
    task: &Task<D>,
) -> io::Result<(D::File, Stat)> {
    let open = |quiet| disk.open_to_read(&task.at, &task.entry, rules.links, quiet);
    let file = match open(rules.quiet) {
        // Only the owner may keep the time.
        Err(error) if rules.quiet && error.raw_os_error() == Some(errno::EPERM) => open(false)?,
        result => result?,
    };
    let stat = disk.stat_file(&file)?;
    Ok((file, stat))
}

impl<D: Disk> State<D> {
    /// The batch at the front has left the queue.
    fn left(&mut self, batch: &Batch<D>) {
        self.first += 1;
        self.taken -= 1;
        self.directories -= batch.directories;
    }

    fn take_next(&mut self) -> Option<(u64, Vec<Item<D>>, Vec<u8>)> {
        let place = self.taken;
        let slot = self.slots.get_mut(place)?;
        let Slot::Waiting(items) = std::mem::replace(slot, Slot::Taken) else {
            return None;
        };
        self.taken += 1;
        let buffer = self.spare.pop().unwrap_or_default();
        Some((self.first + place as u64, items, buffer))
    }
}
