//! Whole archives through the reader.

mod ends;
mod extended;
mod fixtures;
mod headers;
mod sparse;
mod support;
mod writers;
