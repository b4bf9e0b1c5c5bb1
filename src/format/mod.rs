//! Archive formats: bytes in, members out.

mod source;

pub use source::Source;
