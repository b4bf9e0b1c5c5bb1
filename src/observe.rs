//! What the library tells its caller while it works.
//!
//! All calls come from the thread that runs the engine, in archive order, so an observer needs no locks and its output
//! is in order.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Complaint;
use crate::member::Member;

/// Whether the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Go on with the next member.
    Continue,
    /// End the run; what was begun is finished and settled as the mode says.
    Stop,
}

/// Whoever can bring the further volumes of a set: a person, or a test.
///
/// It is asked on the thread that runs the engine, also while a member is being restored.
pub trait Operator {
    /// Makes volume `number` (from 1) ready, which is to be opened by this name.
    fn prepare(&mut self, number: u64, name: &[u8]) -> Prepared;

    /// A program is about to run that may print: what is to stand before that has to be out.
    fn before_program(&mut self) {}

    /// What was wrong with the volume that was opened last. After most faults the next one is tried.
    fn remark(&mut self, complaint: &Complaint);
}

/// What comes of asking for a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// It is ready.
    Ready,
    /// It is ready under this name.
    Named(Vec<u8>),
    /// There is none; what is to be said about that was said.
    None,
}

/// What the observer wants done about a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Restore it.
    Yes,
    /// Leave it out.
    No,
    /// Restore it under this name.
    Rename(Vec<u8>),
}

/// Receives what happens during a run. Every method has a default that ignores it.
pub trait Observer {
    /// A wanted member, before its data is read; `name` is what it is called after renaming, `link` its target then.
    fn member(&mut self, _member: &Member, _name: &[u8], _link: &[u8]) {}

    /// Asked before a wanted member is restored, where [`Selection::ask`](crate::plan::Selection::ask) is set.
    fn confirm(&mut self, _member: &Member, _name: &[u8]) -> Answer {
        Answer::Yes
    }

    /// Asked before what is in the way of this member is removed, where
    /// [`Extract::ask_before_removing`](crate::plan::Extract::ask_before_removing) is set.
    fn confirm_removal(&mut self, _name: &[u8]) -> bool {
        true
    }

    /// What was in the way of a member was renamed, or, when the member could not be made, renamed back.
    fn backed_up(&mut self, _from: &[u8], _to: &[u8], _back: bool) {}

    /// A problem with one member.
    fn complaint(&mut self, _complaint: &Complaint) -> Verdict {
        Verdict::Continue
    }

    /// A directory that no member names, or none yet, was made on the way to the last member; its path below the
    /// destination and its mode.
    fn directory_made(&mut self, _path: &[u8], _mode: u32) {}

    /// These members are settled: they and the names that lead to them are on stable storage. Only called when the plan
    /// asks for names; the order is the archive's within a window.
    fn settled(&mut self, _names: &mut dyn Iterator<Item = &[u8]>) {}

    /// So many records were read since the start; called when the number grows, at most once a member.
    fn records(&mut self, _records: u64) {}

    /// The FIFO that the archive passes through, before the first member; not called where it is read without one. Its
    /// fill may be looked at from any thread while the run goes on.
    fn fifo(&mut self, _monitor: fifo::Monitor) {}

    /// The end of the archive was reached: the number of the first zero block there, or of the block after the last one
    /// where `zeros` says that there is none.
    fn ended(&mut self, _block: u64, _zeros: bool) {}

    /// Asked at the start of a run over several volumes: who brings those that the plan does not name.
    fn operator(&mut self) -> Option<Box<dyn Operator>> {
        None
    }

    /// So many members are settled by now; called when the number has grown.
    fn settled_members(&mut self, _members: u64) {}

    /// Asked once, before the archive is read: by what the run can be told to end even while it waits for input.
    fn stop(&mut self) -> Option<Arc<Stop>> {
        None
    }

    /// Asked between members: whether to end early (an interrupt).
    fn verdict(&mut self) -> Verdict {
        Verdict::Continue
    }
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl Observer for Ignore {}

/// Tells a run to end, from any thread. A run that sleeps because its archive (a pipe, a terminal) brings nothing wakes
/// up by it: next to the input it waits for the pipe in here.
#[derive(Debug)]
pub struct Stop {
    requested: AtomicBool,
    reader: PipeReader,
    writer: PipeWriter,
}

impl Stop {
    /// Nothing is requested yet.
    ///
    /// # Errors
    /// There are no descriptors left for a pipe.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self {
            requested: AtomicBool::new(false),
            reader,
            writer,
        })
    }

    /// The run ends as soon as it can: what was begun is finished and settled as the mode says.
    pub fn request(&self) {
        if !self.requested.swap(true, Ordering::SeqCst) {
            // One byte always fits. Nobody takes it out, so that everyone who waits sees it.
            let _ = (&self.writer).write_all(&[1]);
        }
    }

    /// Whether it was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// Readable once it is requested.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

/// Complaints on their way from other threads to the engine's, which hands them to the observer.
///
/// It is bounded by the work in flight: the engine empties it between members.
#[derive(Debug, Default)]
pub struct Inbox {
    news: AtomicBool,
    complaints: Mutex<Vec<Complaint>>,
}

impl Inbox {
    /// Leaves a complaint; from any thread, never blocks for long.
    pub fn post(&self, complaint: Complaint) {
        self.complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(complaint);
        self.news.store(true, Ordering::Release);
    }

    /// Takes what was left since the last time; costs next to nothing when there is nothing.
    #[must_use]
    pub fn take(&self) -> Vec<Complaint> {
        if !self.news.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        std::mem::take(
            &mut *self
                .complaints
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}
