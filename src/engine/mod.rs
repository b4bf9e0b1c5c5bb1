//! A plan becomes a chain of stages, the stages run, and what came of it is an [`Outcome`].

use std::io::Write;

use crate::error::Error;
use crate::observe::Observer;
use crate::plan::Plan;
use crate::stats::{Bottleneck, Stats};

/// What a durability mode's promise came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promise {
    /// Every member is on stable storage, as are the names that lead to them.
    Kept,
    /// Some members may not be.
    Broken,
    /// Nothing was promised (mode none, or a job that writes nothing).
    NotMade,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// All counters.
    pub stats: Stats,
    /// What ended the run early, if anything did.
    pub error: Option<Error>,
    /// What the durability mode's promise came to.
    pub promise: Promise,
    /// What limited the run; `None` when it was too short to tell.
    pub bottleneck: Option<Bottleneck>,
}

/// Runs a plan. Contents for [`crate::plan::Job::ExtractToOutput`] go to `output`.
#[must_use]
pub fn run(plan: &Plan, output: &mut dyn Write, observer: &mut dyn Observer) -> Outcome {
    let _ = (plan, output, observer);
    Outcome {
        stats: Stats::default(),
        error: Some(Error::NotAnArchive),
        promise: Promise::NotMade,
        bottleneck: None,
    }
}
