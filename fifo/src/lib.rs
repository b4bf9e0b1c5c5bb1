//! A byte ring between one producer and one consumer.
//!
//! The producer adds with [`Put`], the consumer takes with [`Get`], each on its own thread. What the consumer looks at
//! lies in one piece wherever it is in the ring, because the memory is mapped twice in a row; and it can be handed to
//! other threads as a [`Span`], which keeps its room in the ring until it is dropped. So a byte is copied once, into
//! the ring, and never again.
//!
//! The ring knows nothing about what passes through it, except that it comes in *records*, which are only counted.
//!
//! ```
//! use std::io::Read;
//!
//! let (put, mut get) = fifo::ring(fifo::Config { size: 8 << 20, record: 10240 })?;
//! let reader = std::thread::spawn(move || put.fill_from(&mut std::io::repeat(7).take(100_000)));
//! while !get.at_least(512)?.is_empty() {
//!     let n = get.available().min(512);
//!     let span = get.span(n);
//!     assert!(span.iter().all(|byte| *byte == 7));
//! }
//! assert_eq!(reader.join().unwrap(), Ok(100_000));
//! assert_eq!(get.stats().puts, 10);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | put | adding up to one record; bytes put are readable |
//! | get | taking what is wanted in one step, by `consume` or by `span` |
//! | room | bytes the producer may write; contiguous, like everything here |
//! | fill | bytes put and not yet given back: unread ones, and those held by spans and behind them |
//! | size | the most the fill can be: what was asked for, rounded up to whole records |
//! | watermark | the free room at which a sleeping producer is woken, one eighth of the size |
//! | end | what the producer left behind: a clean end, an error, or nothing because it vanished |
//!
//! # Map
//!
//! | file | holds |
//! |---|---|
//! | `map.rs` | the memory, mapped twice |
//! | `ring.rs` | the shared state and the positions of both sides |
//! | `wait.rs` | the rules of sleeping and waking, and why they cannot stop |
//! | `put.rs` | the producer's side |
//! | `get.rs` | the consumer's side |
//! | `span.rs` | what travels to other threads, and the ledger of what is out |
//! | `stats.rs` | the counters |
//! | `sync.rs` | std's locks and atomics, or loom's |
//!
//! # Checking
//!
//! `cargo test -p durastar-fifo` runs the unit and property tests. The sleeping and waking is also checked under every
//! order in which the threads can run (bounded in the number of preemptions):
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p durastar-fifo --release --lib --target-dir target/loom
//! ```
//!
//! There the memory is a plain allocation written twice instead of mapped twice, in which loom watches each byte for
//! a read and a write that are not in order. A model that stops is reported as a deadlock; since the ends are then
//! dropped in a broken model, the test program may end with an abort instead of a summary.

mod get;
mod map;
mod put;
mod ring;
mod span;
mod stats;
mod sync;
mod wait;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

pub use get::Get;
pub use put::{Aborted, Put};
pub use ring::{Config, ring};
pub use span::Span;
pub use stats::{Monitor, Stats};
