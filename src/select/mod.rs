//! stub
pub mod names;
