//! The shape of an option table: the only place where an option exists.
//!
//! Grammar, `--help` and manual page all read the same rows, so none of them can know an option that another does not.
//! An option that a dialect knows and durastar does not do is a row too, of kind [`Gives::Refused`].

use super::setting::Setting;

/// One option.
#[derive(Debug)]
pub(crate) struct OptionDef {
    /// Its letters.
    pub(crate) shorts: &'static str,
    /// Its long names, the one to speak of first.
    pub(crate) longs: &'static [&'static str],
    /// Whether it takes a value, and what the manual calls it.
    pub(crate) value: Value,
    /// Where it stands in the manual.
    pub(crate) category: Category,
    /// What it does, in a line or two: no capital, no full stop.
    pub(crate) help: &'static str,
    /// What else there is to say about it in the manual; may be empty.
    pub(crate) more: &'static str,
    /// What it gives.
    pub(crate) gives: Gives,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// It does not.
    None,
    /// It needs one.
    Required(&'static str),
    /// It may have one, after `=`.
    Optional(&'static str),
}

/// What an option gives.
#[derive(Clone, Copy)]
pub(crate) enum Gives {
    /// Always the same.
    Flag(fn() -> Setting),
    /// Something made from its value.
    Valued(fn(&[u8]) -> Result<Setting, Bad>),
    /// Something made from its value, if it has one.
    Optional(fn(Option<&[u8]>) -> Result<Setting, Bad>),
    /// A refusal, with what to use instead; empty when there is nothing to say.
    Refused(&'static str),
}

impl std::fmt::Debug for Gives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Flag(_) => "Flag",
            Self::Valued(_) => "Valued",
            Self::Optional(_) => "Optional",
            Self::Refused(_) => "Refused",
        })
    }
}

/// Why a value cannot be used. The kinds differ in what follows the message, see the dialects' voices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// The value, then these words: `x: Invalid blocking factor`.
    Value(&'static str),
    /// These words alone, as a mistake in usage.
    Usage(String),
    /// These words alone, as a failure that ends the run.
    Fatal(String),
    /// No quoting style.
    Style,
    /// Not one of these.
    OneOf(&'static [&'static str]),
    /// Not one of these, of which each may be called in several ways; or the beginning of more than one.
    NoWord {
        /// The words.
        words: &'static [&'static [&'static str]],
        /// It may mean several.
        ambiguous: bool,
    },
}

/// Where an option stands in the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    /// Exactly one of these is needed.
    Operation,
    /// The archive: where it is, how it is blocked and compressed.
    Archive,
    /// Which members.
    Selection,
    /// How patterns match.
    Matching,
    /// Files that are there already.
    Overwriting,
    /// Owner, mode, times.
    Attributes,
    /// Stable storage.
    Durability,
    /// What is printed.
    Output,
    /// Help and the like.
    Other,
    /// For those who build durastar; in no list.
    Hidden,
}

impl Category {
    /// All, in the manual's order.
    pub(crate) const ALL: [Self; 9] = [
        Self::Operation,
        Self::Archive,
        Self::Selection,
        Self::Matching,
        Self::Overwriting,
        Self::Attributes,
        Self::Durability,
        Self::Output,
        Self::Other,
    ];

    /// Its heading.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Operation => "Operation (exactly one)",
            Self::Archive => "The archive",
            Self::Selection => "Choosing and renaming members",
            Self::Matching => "How patterns match",
            Self::Overwriting => "Files that are there already",
            Self::Attributes => "Owner, mode and times",
            Self::Durability => "Stable storage and threads",
            Self::Output => "What is printed",
            Self::Other | Self::Hidden => "Other",
        }
    }
}

impl OptionDef {
    /// The option as messages speak of it when it was not spelt: `--exclude`, or `-b` where it has no long name.
    pub(crate) fn name(&self) -> String {
        match (self.longs.first(), self.shorts.chars().next()) {
            (Some(long), _) => format!("--{long}"),
            (None, Some(short)) => format!("-{short}"),
            (None, None) => String::new(),
        }
    }

    /// Whether the option is there to be used.
    pub(crate) fn is_built(&self) -> bool {
        !matches!(self.gives, Gives::Refused(_))
    }

    /// The same row with more to say in the manual.
    pub(crate) const fn more(mut self, more: &'static str) -> Self {
        self.more = more;
        self
    }
}

/// An option without value.
pub(crate) const fn flag(
    category: Category,
    shorts: &'static str,
    longs: &'static [&'static str],
    help: &'static str,
    gives: fn() -> Setting,
) -> OptionDef {
    OptionDef {
        shorts,
        longs,
        value: Value::None,
        category,
        help,
        more: "",
        gives: Gives::Flag(gives),
    }
}

/// An option that needs a value.
pub(crate) const fn valued(
    category: Category,
    shorts: &'static str,
    longs: &'static [&'static str],
    value: &'static str,
    help: &'static str,
    gives: fn(&[u8]) -> Result<Setting, Bad>,
) -> OptionDef {
    OptionDef {
        shorts,
        longs,
        value: Value::Required(value),
        category,
        help,
        more: "",
        gives: Gives::Valued(gives),
    }
}

/// An option that may have a value.
pub(crate) const fn optional(
    category: Category,
    longs: &'static [&'static str],
    value: &'static str,
    help: &'static str,
    gives: fn(Option<&[u8]>) -> Result<Setting, Bad>,
) -> OptionDef {
    OptionDef {
        shorts: "",
        longs,
        value: Value::Optional(value),
        category,
        help,
        more: "",
        gives: Gives::Optional(gives),
    }
}

/// An option that is known and not built; `instead` says what to use.
pub(crate) const fn refused(
    category: Category,
    shorts: &'static str,
    longs: &'static [&'static str],
    value: Value,
    instead: &'static str,
) -> OptionDef {
    OptionDef {
        shorts,
        longs,
        value,
        category,
        help: "",
        more: "",
        gives: Gives::Refused(instead),
    }
}
