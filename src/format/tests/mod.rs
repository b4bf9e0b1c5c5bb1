//! Whole archives through the reader.

mod support;
mod writers;
