//! Archive formats: bytes in, members out, and the other way round.
//!
//! [`Reader`] reads tar archives of every format by recognition, from any [`Source`].

#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod header;
pub mod limits;
mod number;
mod pax;
pub mod plain;
mod reader;
mod seek;
mod slice;
mod source;
mod sparse;
mod swap;
#[cfg(test)]
mod tests;
pub mod write;

pub use reader::{Options, Reader};
pub use seek::{ReadAt, SeekSource, SeekSpan};
pub use slice::{SliceSource, SliceSpan};
pub use source::Source;
pub use swap::{SwapRead, is_byte_swapped};
