//! The star command line.
//!
//! Facts about star 1.7.0, from its manual and from running it.

pub(crate) mod defaults;
pub(crate) mod grammar;
pub(crate) mod options;
pub(crate) mod voice;
