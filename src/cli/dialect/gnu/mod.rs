//! The GNU tar command line, which `durastar` itself speaks.
//!
//! Facts about GNU tar 1.34, from its `--help` and from running it.

pub(crate) mod defaults;
pub(crate) mod grammar;
pub(crate) mod options;
pub(crate) mod voice;
