//! durastar as a library.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod commit;
pub mod disk;
pub mod engine;
pub mod error;
pub mod extract;
pub mod filter;
pub mod format;
pub mod member;
pub mod observe;
pub mod plan;
pub mod render;
pub mod select;
pub mod stats;
pub mod sys;
