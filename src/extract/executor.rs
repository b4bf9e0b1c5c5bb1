//! Writing file contents, on the thread that decides or on several others.
//!
//! A [`Writing`] is one file on its way. Pieces of its contents travel with a share of it; whoever lets go of the last
//! share completes the file: size, owner, mode, times, and then its [`Ticket`]. The pieces are written at their offsets,
//! so they may come in any order, and each gives its room in the ring back as soon as it is written.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::extras::Extras;
use super::restore::{self, Attributes};
use crate::commit::Ticket;
use crate::disk::{Disk, Target};
use crate::error::{Complaint, Operation};
use crate::observe::Inbox;

/// Tasks that travel together: waking a writer costs more than a small file.
pub(super) const BATCH_TASKS: usize = 32;
/// Contents that travel together; with the queue a fraction of the default ring.
const BATCH_BYTES: usize = 256 << 10;

/// One file that is being written.
#[derive(Debug)]
pub(super) struct Writing<D: Disk> {
    pub(super) file: D::File,
    pub(super) name: Box<[u8]>,
    pub(super) attributes: Attributes,
    pub(super) extras: Option<Box<Extras>>,
    /// The size to set at the end, for a file that ends in a hole.
    pub(super) size: Option<u64>,
    /// Blocks of zeros are left out: the file is new, so there they read as zeros.
    pub(super) holes: bool,
    /// Something of it could not be written.
    pub(super) failed: AtomicBool,
    /// The archive ends before it does.
    pub(super) cut: AtomicBool,
    /// The mode a broken file is left with: nobody takes it for the whole one.
    pub(super) broken_mode: u32,
    /// Of its data, if the ticket is described; set before the last share is given away.
    pub(super) checksum: AtomicU64,
    pub(super) ticket: Ticket<D>,
}

impl<D: Disk> Writing<D> {
    fn write(&self, disk: &D, inbox: &Inbox, data: &[u8], offset: u64) {
        // After a failed write the rest is pointless; one message is enough.
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        let result = if self.holes {
            filled(data, offset)
                .try_for_each(|(offset, run)| disk.write_at(&self.file, run, offset))
        } else {
            disk.write_at(&self.file, data, offset)
        };
        if let Err(cause) = result
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            inbox.post(Complaint::system(&self.name, Operation::Write, cause));
        }
    }

    fn complete(self, disk: &D, inbox: &Inbox) {
        let Self {
            file,
            name,
            attributes,
            extras,
            size,
            holes: _,
            failed,
            cut,
            broken_mode,
            checksum,
            mut ticket,
        } = self;
        let target = Target::<D>::File(&file);
        if failed.into_inner() || cut.into_inner() {
            // Its time stays that of the failure, for the same reason.
            let _ = disk.set_mode(&target, broken_mode);
            ticket.fail(&file);
            let _ = disk.close(file);
            return;
        }
        let mut well = true;
        if let Some(size) = size
            && let Err(cause) = disk.set_size(&file, size)
        {
            inbox.post(Complaint::system(&name, Operation::Truncate, cause));
            well = false;
        }
        well &= restore::apply(disk, inbox, &name, &target, &attributes, extras.as_deref());
        if well && ticket.is_described() {
            match disk.stat_file(&file) {
                Ok(stat) => ticket.saw(&stat, checksum.into_inner()),
                Err(_) => ticket.forget(),
            }
        }
        if well {
            ticket.finish_file(file, &name);
            return;
        }
        ticket.fail(&file);
        if let Err(cause) = disk.close(file) {
            inbox.post(Complaint::system(&name, Operation::Close, cause));
        }
    }
}

/// A hole has whole blocks of the file system: this is the usual size of one, and of a page.
const HOLE_BYTES: usize = 4096;

/// The runs of `data`, which belongs at `offset`, that are not blocks of zeros, each with its place.
fn filled(data: &[u8], offset: u64) -> impl Iterator<Item = (u64, &[u8])> {
    // Blocks are those of the file, not of this piece.
    let into = (offset % HOLE_BYTES as u64) as usize;
    let block_end = move |at: usize| (at + into) / HOLE_BYTES * HOLE_BYTES + HOLE_BYTES - into;
    let is_zero = move |at: usize| {
        let block = &data[at..block_end(at).min(data.len())];
        block.iter().all(|&byte| byte == 0)
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < data.len() && is_zero(at) {
            at = block_end(at).min(data.len());
        }
        let start = at;
        while at < data.len() && !is_zero(at) {
            at = block_end(at).min(data.len());
        }
        (start < at).then(|| (offset + start as u64, &data[start..at]))
    })
}

#[derive(Debug)]
struct Task<D: Disk, S> {
    writing: Arc<Writing<D>>,
    offset: u64,
    data: Option<S>,
}

impl<D: Disk, S: AsRef<[u8]>> Task<D, S> {
    fn run(self, disk: &D, inbox: &Inbox) {
        if let Some(data) = &self.data {
            self.writing.write(disk, inbox, data.as_ref(), self.offset);
        }
        drop(self.data);
        if let Some(writing) = Arc::into_inner(self.writing) {
            writing.complete(disk, inbox);
        }
    }
}

/// Batches that were handed out and are not finished.
#[derive(Debug, Default)]
struct InFlight {
    batches: Mutex<usize>,
    none: Condvar,
}

impl InFlight {
    fn change(&self, change: impl FnOnce(&mut usize)) {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut batches);
        if *batches == 0 {
            self.none.notify_all();
        }
    }

    fn wait(&self) {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        while *batches > 0 {
            batches = self
                .none
                .wait(batches)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The deciding thread's side of the pool. Shared only with the hook that flushes it, on the same thread.
#[derive(Debug)]
struct Pool<D: Disk, S> {
    disk: Arc<D>,
    inbox: Arc<Inbox>,
    queue: Sender<Vec<Task<D, S>>>,
    batch: Vec<Task<D, S>>,
    batch_bytes: usize,
    batch_tasks: usize,
    in_flight: Arc<InFlight>,
    threads: Vec<JoinHandle<()>>,
    waited: Duration,
}

/// Runs tasks: here, or on a pool of threads.
#[derive(Debug)]
pub(super) struct Executor<D: Disk, S> {
    disk: Arc<D>,
    inbox: Arc<Inbox>,
    pool: Option<Rc<RefCell<Pool<D, S>>>>,
}

impl<D: Disk, S: AsRef<[u8]> + Send + 'static> Executor<D, S> {
    /// With one job everything is done on the calling thread, in order; otherwise up to `batch_tasks` travel together.
    pub(super) fn new(disk: &Arc<D>, inbox: &Arc<Inbox>, jobs: usize, batch_tasks: usize) -> Self {
        let pool = (jobs > 1)
            .then(|| Pool::start(disk, inbox, jobs, batch_tasks))
            .flatten();
        let pool = pool.map(|pool| Rc::new(RefCell::new(pool)));
        Self {
            disk: Arc::clone(disk),
            inbox: Arc::clone(inbox),
            pool,
        }
    }

    /// Threads that write; 1 for the calling one.
    pub(super) fn jobs(&self) -> usize {
        self.pool
            .as_ref()
            .map_or(1, |pool| pool.borrow().threads.len())
    }

    /// Time spent waiting for a writer to take work.
    pub(super) fn waited(&self) -> Duration {
        self.pool
            .as_ref()
            .map_or(Duration::ZERO, |pool| pool.borrow().waited)
    }

    /// Writes a piece of a file; without data it only gives back the caller's share.
    pub(super) fn write(&mut self, writing: Arc<Writing<D>>, offset: u64, data: Option<S>) {
        let task = Task {
            writing,
            offset,
            data,
        };
        match &self.pool {
            Some(pool) => pool.borrow_mut().add(task),
            None => task.run(&self.disk, &self.inbox),
        }
    }

    /// Hands everything that is held back to the writers. To be called before waiting for anything else.
    pub(super) fn flush(&mut self) {
        if let Some(pool) = &self.pool {
            pool.borrow_mut().flush();
        }
    }

    /// Does the same from wherever the deciding thread is about to sleep.
    pub(super) fn flusher(&self) -> Box<dyn FnMut()> {
        let pool = self.pool.as_ref().map(Rc::downgrade);
        Box::new(move || {
            if let Some(pool) = pool.as_ref().and_then(Weak::upgrade) {
                pool.borrow_mut().flush();
            }
        })
    }

    /// Waits until everything that was handed in is done.
    pub(super) fn drain(&mut self) {
        if let Some(pool) = &self.pool {
            pool.borrow_mut().drain();
        }
    }

    /// Ends the threads; gives whether none of them panicked.
    pub(super) fn finish(mut self) -> bool {
        let Some(pool) = self.pool.take().and_then(Rc::into_inner) else {
            return true;
        };
        let mut pool = pool.into_inner();
        pool.flush();
        drop(pool.queue);
        // Each is joined, also after one that panicked.
        pool.threads
            .into_iter()
            .map(JoinHandle::join)
            .filter(Result::is_err)
            .count()
            == 0
    }
}

impl<D: Disk, S: AsRef<[u8]> + Send + 'static> Pool<D, S> {
    fn start(disk: &Arc<D>, inbox: &Arc<Inbox>, jobs: usize, batch_tasks: usize) -> Option<Self> {
        let (queue, work) = bounded(2 * jobs);
        let in_flight = Arc::new(InFlight::default());
        let threads: Vec<_> = (0..jobs)
            .map_while(|index| {
                let (work, disk, inbox) = (work.clone(), Arc::clone(disk), Arc::clone(inbox));
                let in_flight = Arc::clone(&in_flight);
                let run = move || serve(&work, &*disk, &inbox, &in_flight);
                thread::Builder::new()
                    .name(format!("durastar-write-{index}"))
                    .spawn(run)
                    .ok()
            })
            .collect();
        let (disk, inbox) = (Arc::clone(disk), Arc::clone(inbox));
        // Where no thread can be had the caller does the work.
        (!threads.is_empty()).then(|| Self {
            disk,
            inbox,
            queue,
            batch: Vec::new(),
            batch_bytes: 0,
            batch_tasks,
            in_flight,
            threads,
            waited: Duration::ZERO,
        })
    }

    fn add(&mut self, task: Task<D, S>) {
        self.batch_bytes += task.data.as_ref().map_or(0, |data| data.as_ref().len());
        self.batch.push(task);
        if self.batch.len() >= self.batch_tasks || self.batch_bytes >= BATCH_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.batch_bytes = 0;
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(self.batch_tasks));
        self.in_flight.change(|batches| *batches += 1);
        let rejected = match self.queue.try_send(batch) {
            Ok(()) => return,
            Err(TrySendError::Full(batch)) => {
                let start = Instant::now();
                let result = self.queue.send(batch).map_err(|error| error.into_inner());
                self.waited += start.elapsed();
                result.err()
            }
            Err(TrySendError::Disconnected(batch)) => Some(batch),
        };
        // All writers are gone (each panicked): the work is still done.
        if let Some(batch) = rejected {
            batch
                .into_iter()
                .for_each(|task| task.run(&self.disk, &self.inbox));
            self.in_flight.change(|batches| *batches -= 1);
        }
    }

    fn drain(&mut self) {
        self.flush();
        let start = Instant::now();
        self.in_flight.wait();
        self.waited += start.elapsed();
    }
}

fn serve<D: Disk, S: AsRef<[u8]>>(
    work: &Receiver<Vec<Task<D, S>>>,
    disk: &D,
    inbox: &Inbox,
    in_flight: &InFlight,
) {
    /// Counts a batch as finished even if a task panics, so that nobody waits for ever.
    struct Finished<'a>(&'a InFlight);
    impl Drop for Finished<'_> {
        fn drop(&mut self) {
            self.0.change(|batches| *batches -= 1);
        }
    }
    for batch in work {
        let _finished = Finished(in_flight);
        batch.into_iter().for_each(|task| task.run(disk, inbox));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{HOLE_BYTES, filled};

    proptest! {
        #[test]
        fn what_is_filled_and_zeros_are_the_whole(
            runs in vec((any::<bool>(), 1usize..3 * HOLE_BYTES), 0..8),
            offset in 0u64..20_000,
        ) {
            let data: Vec<u8> = runs
                .iter()
                .flat_map(|&(zero, length)| std::iter::repeat_n(u8::from(!zero), length))
                .collect();
            let mut whole = vec![0; data.len()];
            let mut last = None;
            for (at, run) in filled(&data, offset) {
                let start = usize::try_from(at - offset).unwrap();
                prop_assert!(!run.is_empty() && last.is_none_or(|last| last < start));
                prop_assert!(start == 0 || at % HOLE_BYTES as u64 == 0);
                // No block of it could have been left out.
                let first = HOLE_BYTES - (at % HOLE_BYTES as u64) as usize;
                let (head, rest) = run.split_at(first.min(run.len()));
                prop_assert!(head.iter().any(|&byte| byte != 0));
                for block in rest.chunks(HOLE_BYTES) {
                    prop_assert!(block.iter().any(|&byte| byte != 0));
                }
                whole[start..start + run.len()].copy_from_slice(run);
                last = Some(start + run.len());
            }
            prop_assert_eq!(whole, data);
        }
    }
}
