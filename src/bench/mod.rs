//! Measuring: what safety costs here, on this disk.
//!
//! The second program, `durastar-bench`, is a thin command line over this room. Each kind of measurement gives one JSON
//! object that holds its figures together with everything needed to read them again; terminal tables and HTML pages are
//! made from such objects only, never from state that is not in them.
//!
//! | file | holds |
//! |---|---|
//! | `extract.rs` | every durability mode and other tars unpack the same archives, in turn |
//! | `create.rs` | durastar and other tars write a tree into a pipe that is counted |
//! | `tree.rs` | trees of known shape, on disk or straight into an archive |
//! | `probe.rs` | what a file system can do at best: throughput, seeks, latency of syncs |
//! | `trace.rs` | one run looked at closely: FIFO fill and each sync over time |
//! | `tool.rs` | durastar and its peers: where they are, their versions, how each is told to do the same |
//! | `place.rs` | where a run happens: a new directory, or a new file system on a loop device |
//! | `process.rs` | programs as children: started, timed, ended on request |
//! | `facts.rs` | machine, device, archive and date as JSON |
//! | `figures.rs` | medians, percentiles, and units for people |
//! | `text.rs`, `page.rs`, `chart.rs` | results as a table, as a page, as drawings |
//! | `random.rs` | numbers and contents that come out the same for the same seed |
//!
//! Tools are measured as processes, durastar too: a peer has to be started, to map its libraries and to end, so durastar
//! pays for that as well; its counters come from its report. Only the traces run inside this process, and no figure in a
//! table comes from them.
//!
//! Trees and probes make plain files through the standard library: they are new, nobody else is there, and what is
//! measured is the file system, not the restoring of members. Syncs go through `disk`.

mod chart;
pub mod create;
pub mod extract;
mod facts;
pub mod figures;
pub mod page;
mod place;
pub mod probe;
mod process;
mod random;
pub mod text;
pub mod tool;
mod trace;
pub mod tree;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use place::FileSystem;
pub use process::Control;

/// The number of the layout of results, `durastar_bench` in each. Fields may be added under the same number; one that
/// is removed or changes its meaning makes the next number. Units are the last word of a name.
pub const VERSION: u64 = 1;

/// What a measurement needs to know besides its own request; the library reads no environment.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where programs are looked for, in this order.
    pub path: Vec<PathBuf>,
    /// The durastar that is measured.
    pub durastar: PathBuf,
    /// The command line, which goes into the result.
    pub command: Vec<String>,
    /// The process's umask.
    pub umask: u32,
    /// How an end is asked for.
    pub control: Arc<Control>,
}

/// Is told how far a measurement is.
pub trait Watch {
    /// `done` of `total` steps are over, and this is what comes now.
    fn step(&mut self, _done: u64, _total: u64, _what: &str) {}

    /// Something that the user should know, such as a peer that is left out.
    fn note(&mut self, _text: &str) {}
}

/// Looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {}

/// Why there is no result.
#[derive(Debug)]
pub enum Error {
    /// It would be wrong, or would not work, to measure this; the reason.
    Refused(String),
    /// A system call failed.
    System {
        /// What was tried, and on what: `write /srv/x`.
        what: String,
        /// What the system said.
        cause: io::Error,
    },
    /// A program failed.
    Program {
        /// Its command line.
        command: String,
        /// What it said, or how it ended.
        said: String,
    },
    /// The end was asked for.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => f.write_str(reason),
            Self::System { what, cause } => write!(f, "cannot {what}: {cause}"),
            Self::Program { command, said } => write!(f, "{command}: {said}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// Adds what was tried to an error of the system.
fn system<'a>(verb: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Error + 'a {
    move |cause| Error::System {
        what: format!("{verb} {}", path.display()),
        cause,
    }
}
