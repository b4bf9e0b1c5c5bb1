//! What is archived, and under which names: the rules of a selection seen from the other side.
//!
//! GNU tar takes off what leads out of the destination first and substitutes afterwards; on extraction it is the other
//! way round.

use std::collections::HashSet;

use super::matcher::Matcher;
use super::names;
use super::transform::{BadExpression, Substitutions, Whose};
use super::{Remark, Selection};
use crate::plan::Pattern;

/// Says which names are left out.
#[derive(Clone, Debug, Default)]
pub struct Excluder(Matcher);

impl Excluder {
    /// For these patterns.
    #[must_use]
    pub fn new(patterns: &[Pattern]) -> Self {
        let mut matcher = Matcher::default();
        for pattern in patterns {
            matcher.push(pattern, &pattern.text);
        }
        Self(matcher)
    }

    /// Whether there is nothing that could be left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the name is left out.
    #[must_use]
    pub fn excludes(&self, name: &[u8]) -> bool {
        !self.0.is_empty() && self.0.find(name).is_some()
    }
}

/// Makes the names that are stored of those on disk.
#[derive(Debug)]
pub struct Renamer {
    absolute_names: bool,
    substitutions: Substitutions,
    remarked: HashSet<(Vec<u8>, bool)>,
}

/// Whose name is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A member's own.
    Member,
    /// A hard link's target.
    HardLink,
    /// A symbolic link's target.
    Symlink,
}

impl Renamer {
    /// Prepares for a selection.
    ///
    /// # Errors
    /// A substitution cannot be used.
    pub fn new(selection: &Selection) -> Result<Self, BadExpression> {
        Ok(Self {
            absolute_names: selection.absolute_names,
            substitutions: Substitutions::new(&selection.transforms)?,
            remarked: HashSet::new(),
        })
    }

    /// The name without what would lead out of a destination; what there is to say about it goes to `remarks`.
    pub fn safe(&mut self, name: &[u8], of: Of, remarks: &mut Vec<Remark>) -> Vec<u8> {
        if self.absolute_names || of == Of::Symlink {
            return name.to_vec();
        }
        let link = of == Of::HardLink;
        let prefix = names::unsafe_prefix(name);
        if prefix > 0 && self.remarked.insert((name[..prefix].to_vec(), link)) {
            remarks.push(Remark::PrefixRemoved {
                prefix: name[..prefix].to_vec(),
                link,
            });
        }
        let rest = &name[prefix..];
        if rest.is_empty() {
            if prefix == 0 {
                remarks.push(Remark::Empty { link });
            }
            return b".".to_vec();
        }
        rest.to_vec()
    }

    /// The name after substitutions.
    pub fn substitute(&self, name: &mut Vec<u8>, of: Of) {
        let whose = match of {
            Of::Member => Whose::Member,
            Of::HardLink => Whose::HardLink,
            Of::Symlink => Whose::Symlink,
        };
        self.substitutions.apply(name, whose);
    }
}
