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

/// Receives what happens during a run. Every method has a default that ignores it.
pub trait Observer {
    /// A wanted member, before its data is read; `name` is what it is called after renaming.
    fn member(&mut self, _member: &Member, _name: &[u8]) {}

    /// A problem with one member.
    fn complaint(&mut self, _complaint: &Complaint) -> Verdict {
        Verdict::Continue
    }

    /// These members are settled: they and the names that lead to them are on stable storage. Only called when the plan
    /// asks for names; the order is the archive's within a window.
    fn settled(&mut self, _names: &mut dyn Iterator<Item = &[u8]>) {}

    /// So many records were read since the start; called when the number grows, at most once a member.
    fn records(&mut self, _records: u64) {}

    /// The end of the archive was reached: the number of the first zero block there, or of the block after the last one
    /// where `zeros` says that there is none.
    fn ended(&mut self, _block: u64, _zeros: bool) {}

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
