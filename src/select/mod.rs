//! Which members are wanted, and what they are to be called.
//!
//! Names are compared as they stand in the archive; what is done to them (components stripped, leading slashes removed)
//! comes after, and every check of a name after that: a name that was harmless may not be so any more.

pub mod names;
pub mod pattern;

use std::collections::HashMap;

use crate::member::{Kind, Member};
use crate::plan::{Pattern, Selection, Wanted};

/// What becomes of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nobody asked for it.
    Skip,
    /// It is wanted.
    Take(Chosen),
}

/// A wanted member and what it is to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its name after stripping and without a leading slash; it may hold `..`, which is for the caller to refuse. Empty
    /// when stripping has left nothing: then there is nothing to restore.
    pub name: Vec<u8>,
    /// The target of a link: changed like a name for hard links, as it is for symbolic ones.
    pub link: Vec<u8>,
    /// Index into the plan's directories; `usize::MAX` stands for the last of them.
    pub directory: usize,
    /// What was taken off the front of the name.
    pub removed_prefix: Vec<u8>,
    /// What was taken off the front of a hard link's target.
    pub removed_link_prefix: Vec<u8>,
}

/// Chooses members.
#[derive(Debug)]
pub struct Selector<'a> {
    selection: &'a Selection,
    /// Plain names, without trailing slashes: the indices of those that are wanted so.
    literal: HashMap<&'a [u8], Vec<usize>>,
    /// The indices of all others.
    patterns: Vec<usize>,
    found: Vec<bool>,
    /// The member to start at has not come yet.
    waiting: bool,
}

/// Whether a name is looked up instead of compared one by one.
fn is_literal(pattern: &Pattern) -> bool {
    !pattern.wildcards && pattern.anchored && !pattern.ignore_case
}

impl<'a> Selector<'a> {
    /// Prepares a choice.
    #[must_use]
    pub fn new(selection: &'a Selection) -> Self {
        let mut literal: HashMap<&[u8], Vec<usize>> = HashMap::new();
        let mut patterns = Vec::new();
        for (index, wanted) in selection.wanted.iter().enumerate() {
            if is_literal(&wanted.pattern) {
                literal
                    .entry(names::without_slashes(&wanted.pattern.text))
                    .or_default()
                    .push(index);
            } else {
                patterns.push(index);
            }
        }
        Self {
            selection,
            literal,
            patterns,
            found: vec![false; selection.wanted.len()],
            waiting: selection.starting_at.is_some(),
        }
    }

    /// Decides about one member.
    pub fn choose(&mut self, member: &Member) -> Choice {
        if self.waiting {
            let start = self.selection.starting_at.as_deref().unwrap_or_default();
            if names::without_slashes(&member.name) != names::without_slashes(start) {
                return Choice::Skip;
            }
            self.waiting = false;
        }
        let wanted = self.wanted(&member.name);
        let directory = match (wanted, self.selection.invert) {
            (Some(_), true) | (None, false) => return Choice::Skip,
            (None, true) => usize::MAX,
            (Some(directory), false) => directory,
        };
        if self
            .selection
            .excludes
            .iter()
            .any(|pattern| pattern::matches(pattern, &member.name))
        {
            return Choice::Skip;
        }
        Choice::Take(self.rename(member, directory))
    }

    /// What was asked for and not found, in the order given.
    pub fn unmatched(&self) -> impl Iterator<Item = &Wanted> {
        let found = self.found.iter();
        self.selection
            .wanted
            .iter()
            .zip(found)
            .filter(|(_, found)| !**found)
            .map(|(wanted, _)| wanted)
    }

    /// The directory of the first wish that asks for this name; all wishes that do are found.
    fn wanted(&mut self, name: &[u8]) -> Option<usize> {
        let wishes = &self.selection.wanted;
        if wishes.is_empty() {
            return (!self.selection.invert).then_some(usize::MAX);
        }
        let mut first: Option<usize> = None;
        if !self.literal.is_empty() {
            let whole = names::without_slashes(name);
            for end in names::ends(whole) {
                for &index in self.literal.get(&whole[..end]).into_iter().flatten() {
                    if end == whole.len() || wishes[index].pattern.recursive {
                        self.found[index] = true;
                        first = Some(first.map_or(index, |first| first.min(index)));
                    }
                }
            }
        }
        for &index in &self.patterns {
            if pattern::matches(&wishes[index].pattern, name) {
                self.found[index] = true;
                first = Some(first.map_or(index, |first| first.min(index)));
            }
        }
        first.map(|index| wishes[index].directory)
    }

    fn rename(&self, member: &Member, directory: usize) -> Chosen {
        let selection = self.selection;
        let strip = |name: &[u8]| names::stripped(name, selection.strip_components).to_vec();
        let mut chosen = Chosen {
            name: strip(&member.name),
            link: member.link.clone(),
            directory,
            removed_prefix: Vec::new(),
            removed_link_prefix: Vec::new(),
        };
        if !selection.absolute_names {
            let prefix = names::leading_slashes(&chosen.name);
            remove_prefix(&mut chosen.name, prefix, &mut chosen.removed_prefix);
        }
        if member.kind == Kind::HardLink {
            chosen.link = strip(&member.link);
            if !selection.absolute_names {
                let prefix = if selection.keep_dot_dot {
                    names::leading_slashes(&chosen.link)
                } else {
                    names::unsafe_prefix(&chosen.link)
                };
                remove_prefix(&mut chosen.link, prefix, &mut chosen.removed_link_prefix);
            }
        }
        chosen
    }
}

/// Takes a prefix off; a name that was nothing else becomes `.`, as GNU tar has it.
fn remove_prefix(name: &mut Vec<u8>, length: usize, removed: &mut Vec<u8>) {
    if length > 0 {
        *removed = name.drain(..length).collect();
        if name.is_empty() {
            name.push(b'.');
        }
    }
}

#[cfg(test)]
mod tests;
