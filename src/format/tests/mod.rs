//! Whole archives through the reader.

mod fixtures;
mod support;
mod writers;
