//! Whole archives through the reader.

mod ends;
mod extended;
mod fixtures;
mod headers;
mod keywords;
mod seeds;
mod sparse;
mod support;
mod volumes;
mod writers;
