//! What the library tells its caller while it works.
//!
//! All calls come from the thread that runs the engine, in archive order, so an observer needs no locks and its output
//! is in order.

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

    /// Asked between members: whether to end early (an interrupt).
    fn verdict(&mut self) -> Verdict {
        Verdict::Continue
    }
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl Observer for Ignore {}
