//! The command lines we speak. Each is a folder with the same four files; a new one adds a folder and a few lines here.

pub(crate) mod gnu;
pub(crate) mod own;
pub(crate) mod star;
pub(crate) mod voice;

use durastar::plan::Plan;

use super::assemble::Facts;
use super::option::OptionDef;
use super::setting::Given;
use super::usage::UsageError;

/// A way to spell commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// GNU tar's, which `durastar` itself speaks.
    Gnu,
    /// star's.
    Star,
}

/// What a dialect does differently and no setting says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Each `-C` goes on from the one before, not from where the program stands.
    pub(crate) directories_stack: bool,
    /// Names in lists stand for what is below them too.
    pub(crate) lists_recurse: bool,
    /// Lists of excludes hold names, not patterns.
    pub(crate) excludes_are_names: bool,
    /// Without an archive's name TAPE is asked.
    pub(crate) tape_by_default: bool,
    /// Several archives are the volumes of one.
    pub(crate) several_volumes: bool,
    /// A file on disk that is not older than the member is kept unless told otherwise.
    pub(crate) newer_wins: bool,
    /// What `--safe-writes` is called.
    pub(crate) safe_writes: &'static str,
    /// The option that names a list of members.
    pub(crate) list_option: &'static str,
}

impl Dialect {
    /// Its word, in reports and for `cli=`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Gnu => "gnutar",
            Self::Star => "star",
        }
    }

    /// Its options.
    pub(crate) fn options(self) -> impl Iterator<Item = &'static OptionDef> + Clone {
        let theirs = match self {
            Self::Gnu => gnu::options::OPTIONS,
            Self::Star => star::options::OPTIONS,
        };
        theirs.iter().chain(own::OPTIONS)
    }

    /// Words become settings.
    pub(crate) fn parse(self, words: &[Vec<u8>]) -> Result<Vec<Given>, UsageError> {
        match self {
            Self::Gnu => gnu::grammar::parse(words),
            Self::Star => star::grammar::parse(words),
        }
    }

    /// The variable whose words stand before those of the command line.
    pub(crate) fn options_variable(self) -> Option<&'static str> {
        match self {
            Self::Gnu => Some("TAR_OPTIONS"),
            Self::Star => None,
        }
    }

    /// The plan of an empty command line, and what no setting says.
    pub(crate) fn defaults(self, facts: &Facts<'_>) -> Result<(Plan, Rules), UsageError> {
        match self {
            Self::Gnu => Ok(gnu::defaults::defaults(facts)),
            Self::Star => star::defaults::defaults(facts),
        }
    }
}
