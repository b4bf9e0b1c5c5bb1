//! What is wrong with a command line, as parts; each dialect's voice makes the sentence.

use std::io;

use durastar::error::Operation;

use super::option::Bad;

/// Why a command line cannot be carried out.
#[derive(Debug)]
pub(crate) enum UsageError {
    /// Neither `-x` nor `-t` nor another.
    NoOperation,
    /// More than one of them.
    SeveralOperations,
    /// A word that begins like an option and is none.
    UnknownLong {
        /// The word.
        word: Vec<u8>,
        /// An option that is spelt much like it.
        similar: Option<String>,
    },
    /// A letter that is no option.
    UnknownShort(char),
    /// A letter in a first argument without a dash that is no option.
    UnknownOld(char),
    /// The beginning of more than one long option.
    Ambiguous {
        /// As given.
        given: Vec<u8>,
        /// What it may mean.
        possibilities: Vec<String>,
    },
    /// A long option without its value.
    LongNeedsValue(String),
    /// A letter without its value.
    ShortNeedsValue(char),
    /// A letter of a first argument without a dash, without its value.
    OldNeedsValue(char),
    /// A value for an option that has none.
    TakesNoValue(String),
    /// A value that cannot be used.
    BadValue {
        /// The option.
        option: String,
        /// The value.
        value: Vec<u8>,
        /// What is wrong with it.
        bad: Bad,
    },
    /// A known option that is not built.
    Refused {
        /// The option.
        option: String,
        /// What to use instead; may be empty.
        instead: &'static str,
    },
    /// Two options that exclude each other.
    Contradiction {
        /// The one that came last.
        later: String,
        /// The one before it.
        earlier: String,
    },
    /// Two ways of compression.
    Compression,
    /// Several archives where only one can be.
    SeveralArchives,
    /// The archive would be read from a terminal.
    Terminal {
        /// It was to be written there, not read.
        writes: bool,
    },
    /// A file that the command line names cannot be read.
    File {
        /// The option that names it.
        option: &'static str,
        /// Its name.
        name: Vec<u8>,
        /// What was tried.
        operation: Operation,
        /// What the system said.
        cause: io::Error,
    },
    /// A file that maps owners cannot be understood: a sentence for each line.
    MapFile(Vec<Vec<u8>>),
    /// Plain arguments in an environment variable that is for options.
    ArgumentsInEnvironment(&'static str),
    /// The options in an environment variable are wrong.
    Environment(&'static str, Box<UsageError>),
    /// Called by a name that stands for a command line we do not speak.
    Personality {
        /// The name.
        name: Vec<u8>,
        /// Whether another tar has a command line of this name.
        known: bool,
    },
    /// Anything else, in words.
    Other(String),
}
