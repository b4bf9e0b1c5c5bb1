//! durastar as a library.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod engine;
pub mod error;
pub mod format;
pub mod member;
pub mod observe;
pub mod plan;
pub mod render;
pub mod select;
pub mod stats;
