//! When writes are forced to stable storage, and what may be said of it afterwards.
//!
//! | mode | promise when it reports success | cost | assumed of the file system |
//! |---|---|---|---|
//! | each | every member is stable, and so are the names that lead to it | one fsync(2) a regular file, from several threads, one fsync(2) a directory at the end | fsync(2) of a file and of the directories above it makes both stable |
//! | group | the same; in between, whole windows are | one syncfs(2) a window while the next is written | syncfs(2) waits for data and metadata and reports errors; elsewhere fsync(2) as in each |
//! | batch | the same, all at the end | one syncfs(2) | as group |
//! | none | nothing | nothing | nothing |
//!
//! With a journal, or when what is settled is verified, mode each settles in windows as group does: at the end of each the
//! directories in which names were made are synced, after the files. Then, in this order: the barrier, reading back, the
//! journal, the names that are told.
//!
//! `man/durastar-durability.7` carries the same table, for users. The rules, which tests name:
//!
//! - D1 a member is settled only after a barrier that began after its last write and its last metadata change, and that
//!   succeeded;
//! - D2 success in a durable mode means: a barrier succeeded after all members, the names that lead to them, all fixups;
//! - D3 in mode group at most one window is unsettled and one is being settled;
//! - D4 a failed sync is final: the run does not end in success. When syncfs(2) fails, every file of the window, open
//!   since it was made, is asked with fsync(2), which tells the lost ones from the others (an open file description
//!   reports each write error once); those that pass are stable by that fsync(2), not by a second try of the first. What
//!   is not kept open (in mode batch everything, in mode group the directories) cannot be asked: a file opened again has
//!   forgotten the error once the kernel has dropped its inode. It does not settle, and is told by number and as a
//!   range of the archive. A file that is lost takes its other
//!   names, hard links among the members, with it;
//! - D6 what directories need comes after the last member below them, deepest first, and before the last barrier;
//! - D7 an early end settles what was begun;
//! - D8 mode none settles nothing.
//! - D5 a file that is replaced by renaming is the old one or the whole new one after a crash: it is written under a
//!   temporary name, a barrier makes that stable (its [`Stage`] tells), then it is renamed, and that belongs to the window
//!   that is being filled then, whose barrier settles the member. So each barrier serves the contents of one window and
//!   the names of the one before; a member waits for one window more than D3 says.
//!
//! `extract` tells the [`Committer`] of each object and hands over each finished file; it never syncs by itself. What a
//! directory still needs at the end (its mode and times, its own fsync(2)) is `extract`'s last pass, which comes
//! before [`Committer::last_barrier`].

mod latency;
mod settle;
mod verify;
mod window;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{Directory, Disk, errno};
use crate::error::{Complaint, Operation};
use crate::journal::{Entry, Writer};
use crate::observe::Inbox;
use crate::plan::{Durability, DurabilityMode, SyncMethod};
use crate::stats;
use latency::Histogram;
use settle::Settler;
use window::{Action, FileSystem, Window};
pub use window::{Record, Stage, Ticket};

/// Threads that wait for fsync(2) at the same time: their calls share commits of the journal. Measured with 20,458 members
/// (182 MB) on ext4, two cores: 13 to 21 s with one thread, 2.4 to 4.7 s with 16, 1.8 to 3.1 s with 32, 1.5 to 1.9 s with 64.
/// They sleep nearly all the time.
pub const SYNC_THREADS: usize = 64;

/// What the threads of a run share.
#[derive(Debug)]
struct Core<D: Disk> {
    disk: Arc<D>,
    inbox: Arc<Inbox>,
    threads: usize,
    counters: Mutex<Counters>,
    spoilt: Mutex<Spoilt>,
    /// Where settled members are written down, and its name.
    journal: Option<(Mutex<Writer>, Vec<u8>)>,
    /// Whether files are read back before they settle.
    verify: bool,
}

/// Files that failed, as far as they exist: a hard link to one is no better than it. Failures are few.
#[derive(Debug, Default)]
struct Spoilt {
    inodes: HashSet<(u64, u64)>,
    /// Which file it was cannot be told.
    any: bool,
}

impl Spoilt {
    fn holds(&self, inode: (u64, u64)) -> bool {
        self.any || self.inodes.contains(&inode)
    }
}

#[derive(Debug, Default)]
struct Counters {
    files: u64,
    directories: u64,
    file_systems: u64,
    failed: u64,
    settled: u64,
    windows: u64,
    verified_files: u64,
    verified_bytes: u64,
    latencies: Histogram,
}

#[derive(Clone, Copy, Debug)]
enum SyncKind {
    File,
    Directory,
    FileSystem,
}

impl<D: Disk> Core<D> {
    /// Does one sync and counts it.
    fn timed(&self, kind: SyncKind, sync: impl FnOnce(&D) -> io::Result<()>) -> io::Result<()> {
        let start = Instant::now();
        let result = sync(&self.disk);
        let took = start.elapsed();
        self.count(|counters| {
            match kind {
                SyncKind::File => counters.files += 1,
                SyncKind::Directory => counters.directories += 1,
                SyncKind::FileSystem => counters.file_systems += 1,
            }
            counters.failed += u64::from(result.is_err());
            counters.latencies.add(took);
        });
        result
    }

    fn count<T>(&self, change: impl FnOnce(&mut Counters) -> T) -> T {
        change(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn spoilt(&self) -> MutexGuard<'_, Spoilt> {
        self.spoilt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something of this file was not done, or is not stable.
    fn spoil(&self, file: &D::File) {
        match self.disk.stat_file(file) {
            Ok(stat) => drop(self.spoilt().inodes.insert(stat.identity())),
            Err(_) => self.spoilt().any = true,
        }
    }

    fn sync_file(&self, file: &D::File, name: &[u8]) -> bool {
        let result = self.timed(SyncKind::File, |disk| disk.sync_file(file));
        if result.is_err() {
            self.spoil(file);
        }
        self.passed(name, Operation::Sync, result)
    }

    /// Gives the error number of a failure, which it has told.
    fn sync_directory(&self, directory: &Directory<D>) -> Result<(), i32> {
        let result = self.timed(SyncKind::Directory, |disk| disk.sync_dir(&directory.handle));
        result.map_err(|cause| {
            let errno = cause.raw_os_error().unwrap_or(errno::EIO);
            let name = if directory.path.is_empty() {
                b"."
            } else {
                &*directory.path
            };
            self.inbox
                .post(Complaint::system(name, Operation::Sync, cause));
            errno
        })
    }

    fn close(&self, file: D::File, name: &[u8]) -> bool {
        let result = self.disk.close(file);
        if result.is_err() {
            self.spoilt().any = true;
        }
        self.passed(name, Operation::Close, result)
    }

    /// Writes down what is settled in these windows.
    fn write_down(&self, windows: &[Arc<Window<D>>]) {
        let Some((journal, name)) = &self.journal else {
            return;
        };
        let mut entries: Vec<Entry> = windows
            .iter()
            .flat_map(|window| window.to_write_down())
            .collect();
        entries.sort_by_key(|entry| entry.index);
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(cause) = journal.append(entries.iter()) {
            self.inbox
                .post(Complaint::system(name, Operation::Write, cause));
        }
    }

    fn passed(&self, name: &[u8], operation: Operation, result: io::Result<()>) -> bool {
        result
            .map_err(|cause| self.inbox.post(Complaint::system(name, operation, cause)))
            .is_ok()
    }
}

/// Decides when to sync. Belongs to the thread that decides about members; [`Ticket`]s travel.
#[derive(Debug)]
pub struct Committer<D: Disk> {
    core: Arc<Core<D>>,
    durability: Durability,
    /// Files and directories that a window may keep open.
    open_limit: usize,
    file_systems: Vec<Arc<FileSystem<D>>>,
    /// The window that is being filled.
    current: Arc<Window<D>>,
    /// What is settled only at the end: directories, and in modes each and batch everything.
    run: Arc<Window<D>>,
    settler: Settler<D>,
    waited: Duration,
}

impl<D: Disk> Committer<D> {
    /// `journal` is where settled members are written down, with its name. `open_files` is how many files the process may
    /// have open; a window takes its share of them.
    #[must_use]
    pub fn new(
        disk: Arc<D>,
        inbox: Arc<Inbox>,
        durability: &Durability,
        open_files: usize,
        threads: usize,
        journal: Option<(Writer, Vec<u8>)>,
    ) -> Self {
        let core = Arc::new(Core {
            disk,
            inbox,
            threads,
            counters: Mutex::default(),
            spoilt: Mutex::default(),
            journal: journal.map(|(writer, name)| (Mutex::new(writer), name)),
            verify: durability.verify,
        });
        Self {
            durability: durability.clone(),
            // Two windows are open at a time; a quarter is left for everything else.
            open_limit: (open_files.saturating_sub(24) / 8).saturating_mul(3).max(1),
            file_systems: Vec::new(),
            current: Window::new(&core, true, true),
            run: Window::new(&core, durability.report_settled, false),
            settler: Settler::new(&core),
            core,
            waited: Duration::ZERO,
        }
    }

    /// Announces an object that is about to be made or changed in `directory`; `bytes` is the size of its contents.
    ///
    /// The first announcement for a file system opens the view through which its write errors are seen, so it must come
    /// before the first change there.
    ///
    /// # Errors
    /// The directory's file system cannot be examined.
    pub fn begin(
        &mut self,
        name: &[u8],
        directory: &Arc<Directory<D>>,
        bytes: u64,
    ) -> io::Result<Ticket<D>> {
        let file_system = self.file_system(directory)?;
        let action = match self.durability.mode {
            DurabilityMode::None => Action::Close,
            DurabilityMode::Each => Action::Sync,
            DurabilityMode::Group => Action::Hold,
            DurabilityMode::Batch if file_system.is_trusted() => Action::Close,
            DurabilityMode::Batch => Action::Hold,
        };
        let window = match action {
            _ if self.durability.mode == DurabilityMode::None => None,
            Action::Hold => Some(&self.current),
            Action::Close | Action::Sync => Some(&self.run),
        };
        let window = match action {
            Action::Sync if self.settles_early() => Some(&self.current),
            _ => window,
        };
        let in_window = action == Action::Hold || (action == Action::Sync && self.settles_early());
        let held = in_window.then_some(directory);
        Ok(Ticket::new(
            &self.core,
            window,
            &file_system,
            action,
            name,
            held,
            bytes,
        ))
    }

    /// Announces an object that is made under a temporary name, which it keeps until `stage` says that it is stable. With
    /// its real name it is announced again.
    ///
    /// # Errors
    /// As [`Committer::begin`].
    pub fn begin_staged(
        &mut self,
        name: &[u8],
        directory: &Arc<Directory<D>>,
        bytes: u64,
        stage: &Arc<Stage>,
    ) -> io::Result<Ticket<D>> {
        let file_system = self.file_system(directory)?;
        let (action, window) = match self.durability.mode {
            DurabilityMode::None => (Action::Close, None),
            // Where windows are settled on the way, what is read back or written down belongs to one.
            DurabilityMode::Each if self.settles_early() => (Action::Sync, Some(&self.current)),
            DurabilityMode::Each => (Action::Sync, None),
            DurabilityMode::Batch if file_system.is_trusted() => {
                (Action::Close, Some(&self.current))
            }
            DurabilityMode::Group | DurabilityMode::Batch => (Action::Hold, Some(&self.current)),
        };
        let held = matches!(action, Action::Hold).then_some(directory);
        let ticket = Ticket::new(&self.core, window, &file_system, action, name, held, bytes);
        Ok(ticket.staged(stage))
    }

    /// Whether this file has failed, and with it every hard link to it. One that fails later takes those with it whose
    /// tickets depend on it.
    #[must_use]
    pub fn has_failed(&self, inode: (u64, u64)) -> bool {
        self.core.spoilt().holds(inode)
    }

    /// Announces an object that is settled at the end only: a directory, whose mode and times come last.
    ///
    /// # Errors
    /// As [`Committer::begin`].
    pub fn begin_late(
        &mut self,
        name: &[u8],
        directory: &Arc<Directory<D>>,
    ) -> io::Result<Ticket<D>> {
        let file_system = self.file_system(directory)?;
        // The name stands in `directory` now, which a window's fsync(2)s must not miss.
        self.touch(directory)?;
        let window = (self.durability.mode != DurabilityMode::None).then_some(&self.run);
        Ok(Ticket::new(
            &self.core,
            window,
            &file_system,
            Action::Close,
            name,
            None,
            0,
        ))
    }

    /// Says that a name was made or removed in `directory` that belongs to no member.
    ///
    /// # Errors
    /// As [`Committer::begin`].
    pub fn touch(&mut self, directory: &Arc<Directory<D>>) -> io::Result<()> {
        let file_system = self.file_system(directory)?;
        let holds = match self.durability.mode {
            DurabilityMode::Group => true,
            DurabilityMode::Batch => !file_system.is_trusted(),
            DurabilityMode::Each => self.settles_early(),
            DurabilityMode::None => false,
        };
        if holds {
            self.current.touch(&file_system, Some(directory));
        } else if self.durability.mode != DurabilityMode::None {
            self.run.touch(&file_system, None);
        }
        Ok(())
    }

    /// Whether members are described, for a journal or to be read back: then each settles in windows too, whose
    /// directories are synced with them.
    #[must_use]
    pub fn settles_early(&self) -> bool {
        self.core.journal.is_some() || self.core.verify
    }

    /// Notes what was decided about a directory, to be written down with the window that is being filled.
    pub fn note(&mut self, entry: Entry) {
        self.current.note(entry);
    }

    /// Whether a directory on this file system must be synced by itself at the end, after its mode and times were set.
    #[must_use]
    pub fn needs_directory_sync(&self, device: u64) -> bool {
        match self.durability.mode {
            DurabilityMode::None => false,
            DurabilityMode::Each => true,
            DurabilityMode::Group | DurabilityMode::Batch => self
                .file_systems
                .iter()
                .any(|file_system| file_system.device == device && !file_system.is_trusted()),
        }
    }

    /// Whether every changed directory has to be remembered for the end, whatever its file system.
    #[must_use]
    pub fn needs_every_directory(&self) -> bool {
        self.durability.mode == DurabilityMode::Each
    }

    /// A directory that may need a sync of its own cannot be opened for it: the names in it are not stable, and which
    /// they are cannot be told.
    pub fn cannot_reach_directory(&mut self, errno: i32) {
        for file_system in &self.file_systems {
            if self.needs_directory_sync(file_system.device) {
                file_system.mark_broken(errno);
            }
        }
    }

    /// Syncs directories one by one, from several threads. For the end only: no name may be made in them afterwards.
    pub fn sync_directories(&mut self, directories: &[Arc<Directory<D>>]) {
        let start = Instant::now();
        let core = &self.core;
        let failed = Mutex::new(Vec::new());
        settle::in_parallel(core.threads, directories, |directory| {
            if let Err(errno) = core.sync_directory(directory) {
                failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((directory.device, errno));
            }
        });
        // Every name of the last window is made by now, so these need no second sync with it.
        self.current.forget(directories);
        for (device, errno) in failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            for file_system in self
                .file_systems
                .iter()
                .filter(|file_system| file_system.device == device)
            {
                file_system.mark_broken(errno);
            }
        }
        self.waited += start.elapsed();
    }

    /// Whether the window that is being filled has reached its bounds.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let fill = self.current.fill();
        let trusting = self.durability.mode == DurabilityMode::Batch
            && self.file_systems.iter().all(|known| known.is_trusted());
        fill.open >= self.open_limit
            || !trusting
                && (fill.members >= self.durability.window_members.max(1)
                    || fill.bytes >= self.durability.window_bytes.max(1))
    }

    /// Hands the window that was being filled over to be settled and begins a new one. Waits while the one before is not
    /// settled (rule D3). All its work must have been handed to threads that will finish it.
    pub fn rotate(&mut self, settled: &mut dyn FnMut(&mut dyn Iterator<Item = &[u8]>)) {
        self.wait(settled);
        let window = std::mem::replace(&mut self.current, Window::new(&self.core, true, true));
        if let Some(window) = self.settler.settle(window) {
            window.report(settled);
        }
    }

    /// Reports what was settled since the last time, without waiting.
    pub fn poll(&mut self, settled: &mut dyn FnMut(&mut dyn Iterator<Item = &[u8]>)) {
        if let Some(window) = self.settler.try_finished() {
            window.report(settled);
        }
    }

    /// Waits until no window is being settled.
    pub fn wait(&mut self, settled: &mut dyn FnMut(&mut dyn Iterator<Item = &[u8]>)) {
        let start = Instant::now();
        if let Some(window) = self.settler.finished() {
            window.report(settled);
            self.waited += start.elapsed();
        }
    }

    /// The end: after this everything that can be settled is. All work must be finished, fixups included.
    pub fn last_barrier(&mut self, settled: &mut dyn FnMut(&mut dyn Iterator<Item = &[u8]>)) {
        self.wait(settled);
        let start = Instant::now();
        let windows = [Arc::clone(&self.current), Arc::clone(&self.run)];
        settle::settle(&self.core, &windows);
        self.waited += start.elapsed();
        for window in &windows {
            window.report(settled);
        }
    }

    /// How many members are settled by now.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.core.count(|counters| counters.settled)
    }

    /// Whether no sync has failed.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.core.count(|counters| counters.failed == 0)
    }

    /// The counters. `writers` is how many threads shared the syncs of mode each.
    #[must_use]
    pub fn stats(&self, writers: usize) -> stats::Sync {
        let inline = self.durability.mode == DurabilityMode::Each;
        self.core.count(|counters| {
            let in_syncs = counters.latencies.sum();
            let shared = if inline {
                in_syncs / u32::try_from(writers.max(1)).unwrap_or(1)
            } else {
                Duration::ZERO
            };
            stats::Sync {
                file_syncs: counters.files,
                directory_syncs: counters.directories,
                fs_syncs: counters.file_systems,
                failed_syncs: counters.failed,
                settled_members: counters.settled,
                windows: counters.windows,
                verified_files: counters.verified_files,
                verified_bytes: counters.verified_bytes,
                journal_bytes: self.core.journal.as_ref().map_or(0, |(journal, _)| {
                    journal
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .length()
                }),
                wait_storage: self.waited.max(shared),
                in_syncs,
                p50: counters.latencies.percentile(50),
                p99: counters.latencies.percentile(99),
                max: counters.latencies.max(),
            }
        })
    }

    fn file_system(&mut self, directory: &Arc<Directory<D>>) -> io::Result<Arc<FileSystem<D>>> {
        let device = directory.device;
        if let Some(known) = self
            .file_systems
            .iter()
            .find(|file_system| file_system.device == device)
        {
            return Ok(Arc::clone(known));
        }
        let trusted = match (self.durability.mode, self.durability.method) {
            (DurabilityMode::Group | DurabilityMode::Batch, SyncMethod::Auto) => {
                self.core.disk.sync_fs_is_promise(&directory.handle)?
            }
            _ => false,
        };
        let file_system = Arc::new(FileSystem::new(device, Arc::clone(directory), trusted));
        self.file_systems.push(Arc::clone(&file_system));
        Ok(file_system)
    }
}
