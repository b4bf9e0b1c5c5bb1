//! Which members are wanted, and under which names they are made.
//!
//! A [`Selector`] is asked once for each member, in archive order. It compares the archive's own name (without trailing
//! slashes) with what was asked for and what was excluded, then makes the name for the disk from it: substitutions
//! first, then stripped components, then the top directory. What would lead out of the destination is looked for after
//! every step that can bring it in; GNU tar 1.34 looks once, before components are stripped, and so writes
//! `x//tmp/f` to `/tmp/f`.
//!
//! Nothing here touches a file system, and no pattern can be made to hang: literal names are hashed, wildcards take time
//! proportional to the product of pattern and name at most, expressions are automata. The worst that a name can do is
//! to a substitution of all matches (`g`) whose every match is looked for up to the name's end: the square of its length.

pub mod glob;
mod literal;
mod matcher;
pub mod names;
pub mod outgoing;
mod regex;
pub mod transform;

use std::collections::HashSet;

use crate::error::Condition;
use crate::member::{Kind, Member, Timestamp};
use crate::plan::{DateLimit, Selection, Stamp, Syntax, Wanted};
use matcher::Matcher;
use regex::Expression;
use transform::{BadExpression, Substitutions, Whose};

/// What is to be done with a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It was not asked for.
    Skip,
    /// It was.
    Take(Chosen),
}

/// A wanted member's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its name after every transformation, relative unless [`Selection::absolute_names`] and without `..` unless
    /// [`Selection::keep_dot_dot`] is set. A trailing slash of the archive's name is kept. Empty when stripping has left
    /// nothing: then there is nothing to restore.
    pub name: Vec<u8>,
    /// A link's target: of a hard link transformed as names are, of a symbolic link by substitutions only; otherwise
    /// empty. A hard link's may be empty too, when it had no more components than are stripped.
    pub link: Vec<u8>,
    /// Index into [`Plan::directories`](crate::plan::Plan::directories); `None` for the last, which takes what was not
    /// asked for by name.
    pub directory: Option<usize>,
    /// The archive's name holds `..`: not to be made ([`Condition::DotDot`]), though it may be listed. Judged by the name
    /// as stored, as GNU tar does, even where a substitution took the `..` away.
    pub dot_dot: bool,
    /// What to tell the user about the names, in this order.
    pub remarks: Vec<Remark>,
}

/// Something that was done to a name and that the user should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A prefix was taken off. Comes once for each prefix and kind of name in a run.
    PrefixRemoved {
        /// What was taken off.
        prefix: Vec<u8>,
        /// Whether it stood in a hard link's target.
        link: bool,
    },
    /// The name was empty, `.` stands for it.
    Empty {
        /// Whether it was a hard link's target.
        link: bool,
    },
}

impl Remark {
    /// As a condition for a complaint.
    #[must_use]
    pub fn condition(&self) -> Condition {
        match self {
            Self::PrefixRemoved { prefix, link } => Condition::PrefixRemoved {
                prefix: prefix.clone(),
                link: *link,
            },
            Self::Empty { link: false } => {
                Condition::Other("substituting '.' for empty member name".into())
            }
            Self::Empty { link: true } => {
                Condition::Other("substituting '.' for empty hard link target".into())
            }
        }
    }
}

/// Decides about members by a [`Selection`].
#[derive(Debug)]
pub struct Selector {
    selection: Selection,
    wanted: Matcher,
    excludes: Matcher,
    star_patterns: Vec<Expression>,
    substitutions: Substitutions,
    /// How often each wanted name was met.
    counts: Vec<u64>,
    /// Wanted names that were not met often enough.
    missing: usize,
    /// The name to start at, until it is met.
    start: Option<Vec<u8>>,
    /// All that was asked for is behind us.
    finished: bool,
    /// Prefixes that were remarked on, and whether in a link's target.
    remarked: HashSet<(Vec<u8>, bool)>,
}

impl Selector {
    /// Prepares for a selection.
    ///
    /// # Errors
    /// A substitution or a star pattern cannot be used. Those that [`transform::parse`], [`transform::parse_star`] and
    /// [`check_star_pattern`] found right can.
    pub fn new(selection: &Selection) -> Result<Self, BadExpression> {
        let mut wanted = Matcher::default();
        for one in &selection.wanted {
            // `dir/` asks for the same as `dir`, as in GNU tar.
            let text = names::without_trailing_slashes(&one.pattern.text);
            wanted.push(&one.pattern, text);
        }
        let mut excludes = Matcher::default();
        for pattern in &selection.excludes {
            excludes.push(pattern, &pattern.text);
        }
        let star_patterns = selection
            .star_patterns
            .iter()
            .map(|pattern| star_expression(&pattern.text))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            wanted,
            excludes,
            star_patterns,
            substitutions: Substitutions::new(&selection.transforms)?,
            counts: vec![0; selection.wanted.len()],
            missing: selection.wanted.len(),
            start: selection
                .starting_at
                .as_deref()
                .map(|name| names::without_trailing_slashes(name).to_vec()),
            finished: false,
            remarked: HashSet::new(),
            selection: selection.clone(),
        })
    }

    /// Whether the member is wanted, and under which names.
    ///
    /// Volume headers and continuations are always taken: they are about the archive, and what to do with them is the
    /// caller's business.
    pub fn choose(&mut self, member: &Member) -> Choice {
        let stored = names::without_trailing_slashes(&member.name);
        let mut starts_here = false;
        if let Some(start) = &self.start {
            let below = stored
                .strip_prefix(&start[..])
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
            if !below {
                return self.unless_about_archive(member);
            }
            self.start = None;
            starts_here = true;
        }
        let mut directory = None;
        if !self.wanted.is_empty() {
            match self.take_wanted(stored, member.name.len() > stored.len()) {
                Some(place) => directory = Some(self.selection.wanted[place].directory),
                // The member to start at needs not be asked for as well: it is a name that was asked for.
                None if starts_here => {}
                None => return self.unless_about_archive(member),
            }
        }
        if !self.star_patterns.is_empty() {
            let place = self
                .star_patterns
                .iter()
                .position(|pattern| pattern.matches_whole(stored));
            if place.is_some() == self.selection.invert_star_patterns {
                return self.unless_about_archive(member);
            }
            if let (None, Some(place)) = (directory, place) {
                directory = Some(self.selection.star_patterns[place].directory);
            }
        }
        if self.left_out(member, stored) {
            return self.unless_about_archive(member);
        }
        self.chosen(member, stored, directory)
    }

    /// The names and patterns that no member matched, or not as often as [`Selection::occurrence`] wants, in order.
    #[must_use]
    pub fn unmatched(&self) -> Vec<&Wanted> {
        let enough = self.enough();
        self.selection
            .wanted
            .iter()
            .zip(&self.counts)
            .filter(|&(_, &count)| count < enough)
            .map(|(wanted, _)| wanted)
            .collect()
    }

    /// The name of [`Selection::starting_at`] when no member had it.
    #[must_use]
    pub fn start_not_found(&self) -> Option<&[u8]> {
        self.start
            .as_ref()
            .and(self.selection.starting_at.as_deref())
    }

    /// Whether each name was met as often as [`Selection::occurrence`] wants and nothing that follows can belong to them:
    /// reading may stop once the member that was asked about last has been dealt with.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.finished
    }

    fn enough(&self) -> u64 {
        self.selection.occurrence.map_or(1, u64::from)
    }

    /// The wanted name that takes the member. Counts it.
    fn take_wanted(&mut self, stored: &[u8], slash: bool) -> Option<usize> {
        let hit = self.wanted.find(stored);
        let taken = hit.and_then(|hit| {
            let count = &mut self.counts[hit.place];
            // What lies below a directory belongs to the occurrence of the directory; it counts by itself only when the
            // directory has no member of its own.
            if hit.whole || *count == 0 {
                *count += 1;
                if *count == self.selection.occurrence.map_or(1, u64::from) {
                    self.missing -= 1;
                }
            }
            let count = *count;
            self.selection
                .occurrence
                .is_none_or(|wanted| count == u64::from(wanted))
                .then_some(hit.place)
        });
        if self.selection.occurrence.is_some() && self.missing == 0 {
            // A directory that was found is finished by the first member that is not below it.
            self.finished = !slash && !hit.is_some_and(|hit| hit.below);
        }
        taken
    }

    fn unless_about_archive(&mut self, member: &Member) -> Choice {
        match member.kind {
            Kind::VolumeHeader | Kind::Continuation => {
                let stored = names::without_trailing_slashes(&member.name);
                self.chosen(member, stored, None)
            }
            _ => Choice::Skip,
        }
    }

    /// Excluded, too old or too large.
    fn left_out(&self, member: &Member, stored: &[u8]) -> bool {
        if self
            .selection
            .newer
            .is_some_and(|limit| too_old(member, limit))
        {
            return true;
        }
        if self
            .selection
            .max_size
            .is_some_and(|most| member.kind == Kind::Regular && member.size > most)
        {
            return true;
        }
        !self.excludes.is_empty() && self.excludes.find(stored).is_some()
    }

    fn chosen(&mut self, member: &Member, stored: &[u8], directory: Option<usize>) -> Choice {
        let mut chosen = Chosen {
            name: Vec::new(),
            link: Vec::new(),
            directory,
            dot_dot: false,
            remarks: Vec::new(),
        };
        if member.kind == Kind::VolumeHeader {
            // A label is no name.
            chosen.name = member.name.clone();
            return Choice::Take(chosen);
        }
        chosen.dot_dot = !self.selection.keep_dot_dot && names::has_dot_dot(stored);
        if let Some(mut name) = self.on_disk(stored, Whose::Member, &mut chosen.remarks) {
            if member.name.len() > stored.len() && name.last() != Some(&b'/') {
                name.push(b'/');
            }
            chosen.name = name;
        }
        // Stripped of all its components it can still be listed, with its target, but there is nothing to restore.
        chosen.link = match member.kind {
            Kind::HardLink => self
                .on_disk(&member.link, Whose::HardLink, &mut chosen.remarks)
                .unwrap_or_default(),
            Kind::Symlink => {
                let mut target = member.link.clone();
                self.substitutions.apply(&mut target, Whose::Symlink);
                target
            }
            _ => Vec::new(),
        };
        Choice::Take(chosen)
    }

    /// The name that a stored name (or a hard link's target) becomes on disk; `None` when nothing is left of it.
    fn on_disk(
        &mut self,
        stored: &[u8],
        whose: Whose,
        remarks: &mut Vec<Remark>,
    ) -> Option<Vec<u8>> {
        let link = whose == Whose::HardLink;
        let mut name = stored.to_vec();
        self.substitutions.apply(&mut name, whose);
        if name.is_empty()
            && !stored.is_empty()
            && self.selection.transforms.iter().any(|one| one.last)
        {
            // star's rule, and that of pax: the member is left out. In GNU tar it becomes `.`.
            return None;
        }
        self.make_safe(&mut name, link, remarks);
        if self.selection.strip_components > 0 {
            let left = names::strip(&name, self.selection.strip_components).len();
            name.drain(..name.len() - left);
            if name.is_empty() {
                return None;
            }
            self.make_safe(&mut name, link, remarks);
        }
        if let Some(top) = &self.selection.one_top_level {
            name = names::below_top(&name, top);
        }
        Some(name)
    }

    /// Takes off what leads out of the destination.
    fn make_safe(&mut self, name: &mut Vec<u8>, link: bool, remarks: &mut Vec<Remark>) {
        let mut removed = 0;
        if !self.selection.absolute_names {
            removed = if self.selection.keep_dot_dot {
                name.iter().take_while(|byte| **byte == b'/').count()
            } else {
                names::unsafe_prefix(name)
            };
            if removed > 0 {
                let prefix: Vec<u8> = name.drain(..removed).collect();
                if self.remarked.insert((prefix.clone(), link)) {
                    remarks.push(Remark::PrefixRemoved { prefix, link });
                }
            }
        }
        if name.is_empty() {
            if removed == 0 {
                remarks.push(Remark::Empty { link });
            }
            name.push(b'.');
        }
    }
}

/// Whether a text is a pattern in star's syntax.
///
/// # Errors
/// What is wrong with it.
pub fn check_star_pattern(text: &[u8]) -> Result<(), BadExpression> {
    star_expression(text).map(|_| ())
}

fn star_expression(text: &[u8]) -> Result<Expression, BadExpression> {
    Expression::new(text, Syntax::Star, false).map_err(BadExpression::Pattern)
}

fn too_old(member: &Member, limit: DateLimit) -> bool {
    let time: Timestamp = match limit.stamp {
        Stamp::Modified => member.mtime,
        Stamp::Changed => member.ctime.unwrap_or(member.mtime),
    };
    if limit.inclusive {
        time < limit.time
    } else {
        time <= limit.time
    }
}

#[cfg(test)]
mod tests;
