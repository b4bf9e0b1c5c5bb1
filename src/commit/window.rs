//! The members between two barriers, and the tickets by which their writers report.

use std::collections::HashSet;
use std::ffi::CString;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Core;
use crate::disk::{Directory, Disk, Stat};
use crate::error::{Complaint, Condition};
use crate::journal;
use crate::member::Extent;

/// A file system that members are restored on.
#[derive(Debug)]
pub(super) struct FileSystem<D: Disk> {
    pub(super) device: u64,
    /// Opened before anything was changed there: write errors from then on are reported through it.
    pub(super) root: Arc<Directory<D>>,
    trusted: AtomicBool,
    /// The error number of the sync after which nothing is settled here any more; 0 before.
    broken: AtomicI32,
}

impl<D: Disk> FileSystem<D> {
    pub(super) fn new(device: u64, root: Arc<Directory<D>>, trusted: bool) -> Self {
        Self {
            device,
            root,
            trusted: AtomicBool::new(trusted),
            broken: AtomicI32::new(0),
        }
    }

    /// Whether a successful syncfs(2) is a promise here.
    pub(super) fn is_trusted(&self) -> bool {
        self.trusted.load(Ordering::Relaxed)
    }

    /// After a failed syncfs(2): from now on every file is asked.
    pub(super) fn distrust(&self) {
        self.trusted.store(false, Ordering::Relaxed);
    }

    /// After a failed sync of a directory: which names are lost cannot be told, so nothing more is settled here.
    pub(super) fn mark_broken(&self, errno: i32) {
        self.broken.store(errno, Ordering::Relaxed);
    }

    /// The error number of that sync.
    pub(super) fn broken(&self) -> Option<i32> {
        Some(self.broken.load(Ordering::Relaxed)).filter(|errno| *errno != 0)
    }
}

/// What happens to a finished file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It is closed; a sync of its file system follows later, or none.
    Close,
    /// It is synced and closed by the thread that wrote it.
    Sync,
    /// It stays open until its window is settled, so that an error can be attributed.
    Hold,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Ready,
    Lost,
    Settled,
}

#[derive(Debug)]
struct Entry<D: Disk> {
    name_end: usize,
    file_system: usize,
    state: State,
    /// For a hard link: the file it is one to.
    inode: Option<(u64, u64)>,
    /// It has no name yet: this is told instead of the observer.
    stage: Option<Arc<Stage>>,
    record: Option<Arc<Record<D>>>,
}

/// Where an object stands that gets its name only once it is stable. Mode none calls it stable when it is complete.
#[derive(Debug, Default)]
pub struct Stage {
    state: AtomicU8,
    /// What is written down of it once it has its name.
    entry: OnceLock<journal::Entry>,
}

impl Stage {
    const STABLE: u8 = 1;
    const LOST: u8 = 2;

    /// Whether it is stable (`true`), or lost and never will be; `None` while that is not known.
    #[must_use]
    pub fn is_stable(&self) -> Option<bool> {
        match self.state.load(Ordering::Acquire) {
            Self::STABLE => Some(true),
            Self::LOST => Some(false),
            _ => None,
        }
    }

    /// What is to be written down of it, if anything is; known once it is stable.
    #[must_use]
    pub fn entry(&self) -> Option<&journal::Entry> {
        self.entry.get()
    }

    fn set(&self, stable: bool, entry: Option<&journal::Entry>) {
        if let Some(entry) = entry {
            // Told once only.
            let _ = self.entry.set(entry.clone());
        }
        let state = if stable { Self::STABLE } else { Self::LOST };
        self.state.store(state, Ordering::Release);
    }
}

/// What is known of a member besides its name, for a journal and to read it back.
#[derive(Debug)]
pub struct Record<D: Disk> {
    /// What is written down; its state on disk is filled in when the member is complete.
    pub entry: journal::Entry,
    /// The directory it is in.
    pub directory: Arc<Directory<D>>,
    /// Its name there.
    pub name: CString,
    /// Where its data lies; `None` for one piece from the beginning.
    pub extents: Option<Vec<Extent>>,
    /// Whether it has contents that can be read back.
    pub has_data: bool,
}

/// How full a window is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fill {
    pub(super) members: usize,
    pub(super) bytes: u64,
    pub(super) open: usize,
}

#[derive(Debug)]
struct Inner<D: Disk> {
    outstanding: usize,
    fill: Fill,
    /// One for each member, in archive order, if names are kept; else only `shares` count.
    entries: Vec<Entry<D>>,
    /// Decisions about directories.
    notes: Vec<journal::Entry>,
    names: Vec<u8>,
    shares: Vec<Share<D>>,
    held: Vec<(usize, D::File)>,
    directories: Vec<Arc<Directory<D>>>,
    known: HashSet<(u64, u64)>,
}

/// What of a window is on one file system.
#[derive(Debug)]
struct Share<D: Disk> {
    file_system: Arc<FileSystem<D>>,
    /// Finished members.
    ready: u64,
    /// Hard links among them, where names are not kept.
    links: u64,
    /// Files without names were closed, so that they cannot be asked.
    unheld: bool,
    /// The first and the last member, finished or not, so that a loss can be told without keeping all names.
    first: Vec<u8>,
    last: Vec<u8>,
}

/// Members that are finished and did not settle.
#[derive(Debug)]
pub(super) struct Unsettled {
    pub(super) members: u64,
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
}

/// The members between two barriers.
#[derive(Debug)]
pub(super) struct Window<D: Disk> {
    core: Arc<Core<D>>,
    keep_names: bool,
    /// Its files stay open until it is settled.
    holds: bool,
    inner: Mutex<Inner<D>>,
    all_done: Condvar,
}

/// Finished members of a window on one file system, taken out to be synced.
#[derive(Debug)]
pub(super) struct Load<D: Disk> {
    pub(super) file_system: Arc<FileSystem<D>>,
    /// Not all of its files can be asked.
    pub(super) unheld: bool,
    pub(super) directories: Vec<Arc<Directory<D>>>,
    /// With the index of the member in its window.
    pub(super) files: Vec<(usize, D::File)>,
}

impl<D: Disk> Window<D> {
    pub(super) fn new(core: &Arc<Core<D>>, keep_names: bool, holds: bool) -> Arc<Self> {
        let inner = Inner {
            outstanding: 0,
            fill: Fill::default(),
            entries: Vec::new(),
            notes: Vec::new(),
            names: Vec::new(),
            shares: Vec::new(),
            held: Vec::new(),
            directories: Vec::new(),
            known: HashSet::new(),
        };
        Arc::new(Self {
            core: Arc::clone(core),
            keep_names,
            holds,
            inner: Mutex::new(inner),
            all_done: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner<D>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fill(&self) -> Fill {
        self.lock().fill
    }

    /// Whether its files stay open until it is settled, so that each can be asked.
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// Adds a directory in which names change, and its file system.
    pub(super) fn touch(
        &self,
        file_system: &Arc<FileSystem<D>>,
        directory: Option<&Arc<Directory<D>>>,
    ) {
        self.lock().touch(file_system, directory);
    }

    /// These directories were synced by themselves.
    pub(super) fn forget(&self, directories: &[Arc<Directory<D>>]) {
        let synced: HashSet<_> = directories
            .iter()
            .map(|directory| directory.identity())
            .collect();
        self.lock()
            .directories
            .retain(|directory| !synced.contains(&directory.identity()));
    }

    /// Waits for all members and takes out what has to be synced, by file system.
    pub(super) fn take(&self) -> Vec<Load<D>> {
        let mut inner = self.lock();
        while inner.outstanding > 0 {
            inner = self
                .all_done
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let load = |share: &Share<D>| Load {
            file_system: Arc::clone(&share.file_system),
            unheld: share.unheld,
            directories: Vec::new(),
            files: Vec::new(),
        };
        let mut loads: Vec<Load<D>> = inner.shares.iter().map(load).collect();
        for directory in std::mem::take(&mut inner.directories) {
            if let Some(load) = loads
                .iter_mut()
                .find(|load| load.file_system.device == directory.device)
            {
                load.directories.push(directory);
            }
        }
        for (entry, file) in std::mem::take(&mut inner.held) {
            let file_system = inner.entries[entry].file_system;
            loads[file_system].files.push((entry, file));
        }
        loads
    }

    /// The name of a member, where names are kept.
    pub(super) fn name(&self, entry: usize) -> Vec<u8> {
        self.lock().name(entry).to_vec()
    }

    /// A member whose own sync failed.
    pub(super) fn lose(&self, entry: usize) {
        let mut inner = self.lock();
        let file_system = inner.entries[entry].file_system;
        if std::mem::replace(&mut inner.entries[entry].state, State::Lost) == State::Ready {
            inner.shares[file_system].ready -= 1;
        }
    }

    /// What is ready on this file system is settled, and counted.
    pub(super) fn settle(&self, device: u64) {
        let mut inner = self.lock();
        let Some(index) = inner.share(device) else {
            return;
        };
        let mut staged = 0;
        let spoilt = self.core.spoilt();
        let mut failed = Vec::new();
        for (at, entry) in inner.entries.iter_mut().enumerate() {
            if entry.file_system != index || entry.state != State::Ready {
                continue;
            }
            if entry.inode.is_some_and(|inode| spoilt.holds(inode)) {
                entry.state = State::Lost;
                failed.push(at);
            } else {
                entry.state = State::Settled;
                staged += u64::from(entry.stage.is_some());
            }
        }
        for entry in &failed {
            let what = Condition::Other("the file it is linked to has failed".into());
            self.core
                .inbox
                .post(Complaint::failure(inner.name(*entry), what));
        }
        let mut lost = failed.len() as u64;
        if !self.keep_names && (spoilt.any || !spoilt.inodes.is_empty()) {
            // Which links they are is not known here, so none is counted.
            lost += inner.shares[index].links;
        }
        drop(spoilt);
        let count = std::mem::take(&mut inner.shares[index].ready) - staged;
        drop(inner);
        self.core
            .count(|counters| counters.settled += count.saturating_sub(lost));
    }

    /// What is ready on this file system and stays so: the names of the first and the last such member, or where names are
    /// not kept of the first and the last that were begun.
    pub(super) fn unsettled(&self, device: u64) -> Option<Unsettled> {
        let inner = self.lock();
        let index = inner.share(device)?;
        let share = &inner.shares[index];
        let mut ready = inner
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.file_system == index && entry.state == State::Ready)
            .map(|(entry, _)| entry);
        let first = ready.next();
        let last = ready.next_back().or(first);
        let name = |entry: Option<usize>, else_this: &[u8]| {
            entry.map_or(else_this, |entry| inner.name(entry)).to_vec()
        };
        (share.ready > 0).then(|| Unsettled {
            members: share.ready,
            first: name(first, &share.first),
            last: name(last, &share.last),
        })
    }

    /// Tells those that have no name yet what became of them. Once everything that can be settled is.
    pub(super) fn release(&self) {
        for entry in &self.lock().entries {
            if let Some(stage) = &entry.stage {
                let record = entry.record.as_ref().map(|record| &record.entry);
                stage.set(entry.state == State::Settled, record);
            }
        }
    }

    /// A decision about a directory.
    pub(super) fn note(&self, entry: journal::Entry) {
        self.lock().notes.push(entry);
    }

    /// Members with contents that would be settled now on this file system, with their indices.
    pub(super) fn ready_records(&self, device: u64) -> Vec<(usize, Arc<Record<D>>)> {
        let inner = self.lock();
        let on = |entry: &Entry<D>| inner.shares[entry.file_system].file_system.device == device;
        let ready = inner.entries.iter().enumerate();
        ready
            .filter(|(_, entry)| entry.state == State::Ready && on(entry))
            .filter_map(|(index, entry)| Some((index, Arc::clone(entry.record.as_ref()?))))
            .filter(|(_, record)| record.has_data)
            .collect()
    }

    /// What is to be written down of this window.
    pub(super) fn to_write_down(&self) -> Vec<journal::Entry> {
        let mut inner = self.lock();
        let mut all = std::mem::take(&mut inner.notes);
        let settled = inner
            .entries
            .iter()
            .filter(|entry| entry.state == State::Settled && entry.stage.is_none());
        all.extend(settled.filter_map(|entry| Some(entry.record.as_ref()?.entry.clone())));
        all
    }

    /// Gives the names of settled members, in archive order.
    pub(super) fn report(&self, settled: &mut dyn FnMut(&mut dyn Iterator<Item = &[u8]>)) {
        let inner = self.lock();
        let mut names = inner
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.state == State::Settled && entry.stage.is_none())
            .map(|(index, _)| inner.name(index))
            .peekable();
        if names.peek().is_some() {
            settled(&mut names);
        }
    }
}

impl<D: Disk> Inner<D> {
    fn name(&self, entry: usize) -> &[u8] {
        let start = entry
            .checked_sub(1)
            .map_or(0, |before| self.entries[before].name_end);
        &self.names[start..self.entries[entry].name_end]
    }

    fn touch(
        &mut self,
        file_system: &Arc<FileSystem<D>>,
        directory: Option<&Arc<Directory<D>>>,
    ) -> usize {
        if let Some(directory) = directory {
            let is_last = self
                .directories
                .last()
                .is_some_and(|last| Arc::ptr_eq(last, directory));
            if !is_last && self.known.insert(directory.identity()) {
                self.directories.push(Arc::clone(directory));
                self.fill.open += 1;
            }
        }
        self.share(file_system.device).unwrap_or_else(|| {
            self.shares.push(Share {
                file_system: Arc::clone(file_system),
                ready: 0,
                links: 0,
                unheld: false,
                first: Vec::new(),
                last: Vec::new(),
            });
            self.shares.len() - 1
        })
    }

    fn share(&self, device: u64) -> Option<usize> {
        self.shares
            .iter()
            .position(|share| share.file_system.device == device)
    }
}

/// One member on its way to being settled. Whoever does the last thing to it reports here; a ticket that is dropped
/// means that the member failed.
pub struct Ticket<D: Disk> {
    core: Arc<Core<D>>,
    window: Option<Arc<Window<D>>>,
    file_system: usize,
    entry: Option<usize>,
    action: Action,
    /// Told at once, where no window does it.
    stage: Option<Arc<Stage>>,
    record: Option<Box<Record<D>>>,
    done: bool,
}

impl<D: Disk> fmt::Debug for Ticket<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("entry", &self.entry)
            .field("action", &self.action)
            .finish_non_exhaustive()
    }
}

impl<D: Disk> Ticket<D> {
    pub(super) fn new(
        core: &Arc<Core<D>>,
        window: Option<&Arc<Window<D>>>,
        file_system: &Arc<FileSystem<D>>,
        action: Action,
        name: &[u8],
        directory: Option<&Arc<Directory<D>>>,
        bytes: u64,
    ) -> Self {
        let mut ticket = Self {
            core: Arc::clone(core),
            window: window.map(Arc::clone),
            file_system: 0,
            entry: None,
            action,
            stage: None,
            record: None,
            done: false,
        };
        if let Some(window) = window {
            let mut inner = window.lock();
            inner.outstanding += 1;
            inner.fill.members += 1;
            inner.fill.bytes += bytes;
            // It may have no file to keep open; the bound need not be exact, but must hold before the file is written.
            inner.fill.open += usize::from(action == Action::Hold);
            ticket.file_system = inner.touch(file_system, directory);
            let share = &mut inner.shares[ticket.file_system];
            if share.first.is_empty() {
                share.first.extend_from_slice(name);
            }
            share.last.clear();
            share.last.extend_from_slice(name);
            if window.keep_names {
                inner.names.extend_from_slice(name);
                let entry = Entry {
                    name_end: inner.names.len(),
                    file_system: ticket.file_system,
                    state: State::Pending,
                    stage: None,
                    inode: None,
                    record: None,
                };
                inner.entries.push(entry);
                ticket.entry = Some(inner.entries.len() - 1);
            }
        }
        ticket
    }

    /// What it is about has no name yet, and `stage` waits to be told.
    pub(super) fn staged(mut self, stage: &Arc<Stage>) -> Self {
        match (&self.window, self.entry) {
            (Some(window), Some(entry)) => {
                let mut inner = window.lock();
                inner.entries[entry].stage = Some(Arc::clone(stage));
                if self.action == Action::Close {
                    inner.shares[self.file_system].unheld = true;
                }
            }
            _ => self.stage = Some(Arc::clone(stage)),
        }
        self
    }

    /// The file is complete: contents and metadata. It is closed, synced or kept, as the mode says.
    pub fn finish_file(mut self, file: D::File, name: &[u8]) {
        let passed = match self.action {
            Action::Close => self.core.close(file, name),
            Action::Sync => {
                let synced = self.core.sync_file(&file, name);
                self.core.close(file, name) && synced
            }
            Action::Hold => {
                self.report(true, Some(file));
                return;
            }
        };
        self.report(passed, None);
    }

    /// It is a hard link to this file, and is whole only if that is.
    pub fn depends_on(&mut self, inode: (u64, u64)) {
        let Some(window) = &self.window else {
            return;
        };
        let mut inner = window.lock();
        match self.entry {
            Some(entry) => inner.entries[entry].inode = Some(inode),
            None => inner.shares[self.file_system].links += 1,
        }
    }

    /// Something of the file was not done: neither it nor a hard link to it will settle. It is for the caller to close.
    pub fn fail(mut self, file: &D::File) {
        self.core.spoil(file);
        self.report(false, None);
    }

    /// The same of an object that has no open file.
    pub fn fail_inode(mut self, inode: (u64, u64)) {
        self.core.spoilt().inodes.insert(inode);
        self.report(false, None);
    }

    /// What is to be known of the member once it is settled. Its state on disk is not needed yet.
    pub fn describe(&mut self, record: Record<D>) {
        self.record = Some(Box::new(record));
    }

    /// Whether the member's state on disk is wanted.
    #[must_use]
    pub fn is_described(&self) -> bool {
        self.record.is_some()
    }

    /// The member's state on disk and the checksum of its data, now that it is complete.
    pub fn saw(&mut self, stat: &Stat, checksum: u64) {
        if let Some(record) = &mut self.record {
            let entry = &mut record.entry;
            entry.mode = stat.mode;
            entry.owner = (stat.uid, stat.gid);
            entry.size = stat.size;
            entry.mtime = stat.mtime;
            entry.inode = stat.inode;
            entry.checksum = checksum;
        }
    }

    /// Its state could not be looked at: it is not written down.
    pub fn forget(&mut self) {
        self.record = None;
    }

    /// The object is complete and there is no open file to it.
    pub fn finish(mut self) {
        self.report(true, None);
    }

    fn report(&mut self, passed: bool, file: Option<D::File>) {
        self.done = true;
        if let Some(stage) = &self.stage {
            let record = self.record.as_ref().map(|record| &record.entry);
            stage.set(passed, record);
        }
        let Some(window) = &self.window else {
            return;
        };
        let mut inner = window.lock();
        if let Some(entry) = self.entry {
            inner.entries[entry].state = if passed { State::Ready } else { State::Lost };
            inner.entries[entry].record = self.record.take().map(|record| Arc::new(*record));
            if let Some(file) = file {
                inner.held.push((entry, file));
            }
        }
        if passed {
            inner.shares[self.file_system].ready += 1;
        }
        inner.outstanding -= 1;
        if inner.outstanding == 0 {
            window.all_done.notify_all();
        }
    }
}

impl<D: Disk> Drop for Ticket<D> {
    fn drop(&mut self) {
        if !self.done {
            self.report(false, None);
        }
    }
}
