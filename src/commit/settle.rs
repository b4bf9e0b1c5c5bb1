//! Barriers: what makes a window stable, and the thread that does it while the next window is written.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::window::{FileSystem, Load, Unsettled, Window};
use super::{Core, SyncKind, verify};
use crate::disk::{Directory, Disk};
use crate::error::{Complaint, Condition};

/// Does `work` on each item, on up to so many threads.
pub(super) fn in_parallel<T: Sync>(threads: usize, items: &[T], work: impl Fn(&T) + Sync) {
    let threads = threads.min(items.len());
    if threads <= 1 {
        items.iter().for_each(work);
        return;
    }
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Fewer threads do the same work, so one that cannot be had is not missed.
            let _ = thread::Builder::new()
                .name("durastar-sync".into())
                .spawn_scoped(scope, run);
        }
        run();
    });
}

/// Makes everything in these windows stable, and marks as settled what is.
pub(super) fn settle<D: Disk>(core: &Core<D>, windows: &[Arc<Window<D>>]) {
    let mut loads: Vec<(usize, Load<D>)> = Vec::new();
    for (index, window) in windows.iter().enumerate() {
        loads.extend(window.take().into_iter().map(|load| (index, load)));
    }
    // By file system, so that one syncfs(2) serves all windows.
    while let Some((_, first)) = loads.first() {
        let file_system = Arc::clone(&first.file_system);
        let same = |(_, load): &mut (usize, Load<D>)| load.file_system.device == file_system.device;
        let loads: Vec<_> = loads.extract_if(.., same).collect();
        let mut failed = None;
        let mut asked = true;
        if file_system.is_trusted() {
            let root = &file_system.root;
            match core.timed(SyncKind::FileSystem, |disk| disk.sync_fs(&root.handle)) {
                Ok(()) => asked = false,
                Err(cause) => {
                    file_system.distrust();
                    ask_each(core, windows, &file_system, &loads);
                    failed = Some(cause);
                }
            }
        } else {
            ask_each(core, windows, &file_system, &loads);
        }
        // What is not kept open could not be asked, and after a failed sync of the file system it stays unsettled.
        let mut provable: Vec<bool> = windows
            .iter()
            .map(|window| failed.is_none() || window.holds())
            .collect();
        for (index, load) in loads {
            let window = &windows[index];
            provable[index] &= !(asked && load.unheld);
            for (entry, file) in load.files {
                if !core.close(file, &window.name(entry)) {
                    window.lose(entry);
                }
            }
        }
        if core.verify && file_system.broken().is_none() {
            for window in windows {
                verify::window(core, window, file_system.device);
            }
        }
        let mut lost = Vec::new();
        for (window, provable) in windows.iter().zip(provable) {
            if file_system.broken().is_none() && provable {
                window.settle(file_system.device);
            } else {
                lost.extend(window.unsettled(file_system.device));
            }
        }
        match (failed, file_system.broken()) {
            (Some(cause), _) => tell(core, &file_system, &cause, lost),
            (None, Some(errno)) if !lost.is_empty() => {
                tell(
                    core,
                    &file_system,
                    &io::Error::from_raw_os_error(errno),
                    lost,
                );
            }
            (None, _) => {}
        }
    }
    core.write_down(windows);
    windows.iter().for_each(|window| window.release());
    core.count(|counters| counters.windows += 1);
}

/// Says that a sync has failed, and which members may be lost by that. Files whose own sync failed are named already.
fn tell<D: Disk>(
    core: &Core<D>,
    file_system: &FileSystem<D>,
    cause: &io::Error,
    lost: Vec<Unsettled>,
) {
    let path = &file_system.root.path;
    let name = if path.is_empty() { b"." } else { &**path };
    let lost = if lost.is_empty() {
        vec![None]
    } else {
        lost.into_iter().map(Some).collect()
    };
    for lost in lost {
        let (members, first, last) = lost.map_or((0, Vec::new(), Vec::new()), |lost| {
            (lost.members, lost.first, lost.last)
        });
        let what = Condition::NotStable {
            cause: cause
                .raw_os_error()
                .map_or_else(|| cause.kind().into(), io::Error::from_raw_os_error),
            members,
            first,
            last,
        };
        core.inbox.post(Complaint::failure(name, what));
    }
}

/// fsync(2) of every file that is held, then of every directory that names were made in.
fn ask_each<D: Disk>(
    core: &Core<D>,
    windows: &[Arc<Window<D>>],
    file_system: &FileSystem<D>,
    loads: &[(usize, Load<D>)],
) {
    let files: Vec<(usize, usize, &D::File)> = loads
        .iter()
        .flat_map(|(window, load)| {
            load.files
                .iter()
                .map(move |(entry, file)| (*window, *entry, file))
        })
        .collect();
    in_parallel(core.threads, &files, |(window, entry, file)| {
        if !core.sync_file(file, &windows[*window].name(*entry)) {
            windows[*window].lose(*entry);
        }
    });
    let directories: HashMap<(u64, u64), &Arc<Directory<D>>> = loads
        .iter()
        .flat_map(|(_, load)| &load.directories)
        .map(|directory| (directory.identity(), directory))
        .collect();
    let directories: Vec<_> = directories.into_values().collect();
    in_parallel(core.threads, &directories, |directory| {
        if let Err(errno) = core.sync_directory(directory) {
            file_system.mark_broken(errno);
        }
    });
}

/// The thread that settles windows, one at a time. Started with the first.
#[derive(Debug)]
pub(super) struct Settler<D: Disk> {
    core: Arc<Core<D>>,
    thread: Option<Thread<D>>,
    busy: bool,
}

#[derive(Debug)]
struct Thread<D: Disk> {
    windows: Sender<Arc<Window<D>>>,
    finished: Receiver<Arc<Window<D>>>,
    handle: JoinHandle<()>,
}

impl<D: Disk> Settler<D> {
    pub(super) fn new(core: &Arc<Core<D>>) -> Self {
        Self {
            core: Arc::clone(core),
            thread: None,
            busy: false,
        }
    }

    /// Begins to settle a window. None may be under way. Where no thread can be had it is done here and given back.
    pub(super) fn settle(&mut self, window: Arc<Window<D>>) -> Option<Arc<Window<D>>> {
        debug_assert!(!self.busy, "one window at a time");
        if self.thread.is_none() {
            self.thread = start(&self.core);
        }
        let thread = self.thread.as_ref();
        self.busy = thread.is_some_and(|thread| thread.windows.send(Arc::clone(&window)).is_ok());
        if self.busy {
            return None;
        }
        settle(&self.core, std::slice::from_ref(&window));
        Some(window)
    }

    /// The window that was settled since the last time, without waiting.
    pub(super) fn try_finished(&mut self) -> Option<Arc<Window<D>>> {
        let window = self
            .thread
            .as_ref()
            .filter(|_| self.busy)?
            .finished
            .try_recv()
            .ok()?;
        self.busy = false;
        Some(window)
    }

    /// Waits for the window that is being settled, if one is.
    pub(super) fn finished(&mut self) -> Option<Arc<Window<D>>> {
        if !std::mem::take(&mut self.busy) {
            return None;
        }
        let thread = self.thread.as_ref()?;
        match thread.finished.recv() {
            Ok(window) => Some(window),
            Err(_) => {
                let what = Condition::Other("the thread that settles windows has ended".into());
                self.core.inbox.post(Complaint::failure(b"", what));
                self.core.count(|counters| counters.failed += 1);
                None
            }
        }
    }
}

fn start<D: Disk>(core: &Arc<Core<D>>) -> Option<Thread<D>> {
    let (windows, work) = bounded::<Arc<Window<D>>>(1);
    let (done, finished) = bounded(1);
    let core = Arc::clone(core);
    let run = move || {
        for window in work {
            settle(&core, std::slice::from_ref(&window));
            if done.send(window).is_err() {
                return;
            }
        }
    };
    let handle = thread::Builder::new()
        .name("durastar-settle".into())
        .spawn(run)
        .ok()?;
    Some(Thread {
        windows,
        finished,
        handle,
    })
}

impl<D: Disk> Drop for Settler<D> {
    fn drop(&mut self) {
        if let Some(Thread {
            windows,
            finished,
            handle,
        }) = self.thread.take()
        {
            drop((windows, finished));
            // A panic was reported by `finished`.
            let _ = handle.join();
        }
    }
}
