//! durastar as a library: tar archives restored as durably as a plan asks for.
//!
//! # The flow
//!
//! ```text
//!  1 cli (the program's)  words of the command line  -> Plan    the last place that knows a dialect
//!  2 engine               Plan                       -> threads started, members taken one by one, Outcome
//!  3 volume, filter       files, compressed bytes    -> plain bytes, on the reader's thread
//!  4 fifo (a crate)       put: the reader's thread; get: the engine's
//!  5 format               plain bytes, read in place -> Members with their data in spans
//!  6 select               Member                     -> wanted or not, under which name
//!  7 extract              Member and what is on disk -> files; contents written by several threads, names by one
//!  8 commit               what was written           -> windows, barriers; members become settled
//!  9 extract::fixup       directory modes and times, deepest first; then the last barrier
//! ```
//!
//! Writing an archive is the same chain from the other end: `create` walks and makes Members, with several threads that
//! look and read ahead of it; `format::write` makes blocks of them; the fifo, `filter` on the writer's thread, the file.
//!
//! # Rooms
//!
//! Each folder is a room. Every room may use `error`, `member`, `plan`, `observe` and `stats`; besides, `bench` (the room
//! of the second program, durastar-bench) uses `engine`, `render`, `format`, `disk` and `sys`, `engine` may use all but
//! `bench`, `extract` uses `select`, `commit`, `journal`, `disk` and `sys`, `create` uses `select`, `disk` and `sys`,
//! `commit` uses `journal` and `disk`, `diff` uses `disk`, `volume` uses `sys`, and the others use nothing.
//! `tests/house.rs` holds this against the code. The file system is reached through [`disk`] only, the rest of the system
//! through [`sys`].
//!
//! # Words
//!
//! A *member* is one object in an archive, a *block* 512 bytes, a *record* what is transferred at a time. The *FIFO* takes
//! *puts* and gives *gets*. A *window* is what is made stable together in mode group, a *barrier* the call that does it,
//! and a member is *settled* when a barrier that came after everything done to it has succeeded. A *complaint* is about
//! one member, an *error* ends the run.
//!
//! The library prints nothing, never exits, and reads neither environment nor configuration.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod bench;
pub mod commit;
pub mod create;
pub mod diff;
pub mod disk;
pub mod engine;
pub mod error;
pub mod extract;
pub mod filter;
pub mod format;
pub mod journal;
pub mod member;
pub mod observe;
pub mod plan;
pub mod render;
pub mod select;
pub mod stats;
pub mod sys;
pub mod volume;
