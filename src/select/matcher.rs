//! A list of patterns, compared with one name at a time: which is the first that matches?

use super::glob::{Glob, Rules, has_wildcards};
use super::literal::Literals;
use crate::plan::Pattern;

/// The patterns, sorted by how they can be looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Matcher {
    /// By [`set_of`].
    literals: [Literals; 4],
    /// All others, with their places, ascending.
    globs: Vec<(usize, Glob)>,
    count: usize,
}

/// A pattern that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Its place in the list: the first of those that match, as GNU tar gives members to the first name that takes them.
    pub(super) place: usize,
    /// It, or one after it, matched a directory above.
    pub(super) below: bool,
    /// It matched the whole name.
    pub(super) whole: bool,
}

fn set_of(anchored: bool, recursive: bool) -> usize {
    usize::from(anchored) * 2 + usize::from(recursive)
}

impl Matcher {
    /// Adds a pattern at the end of the list. `text` is the pattern's, perhaps without trailing slashes.
    pub(super) fn push(&mut self, pattern: &Pattern, text: &[u8]) {
        let place = self.count;
        self.count += 1;
        let rules = Rules {
            match_slash: pattern.wildcards_match_slash,
            ignore_case: pattern.ignore_case,
            leading_directory: pattern.recursive,
            anchored: pattern.anchored,
        };
        if pattern.wildcards && has_wildcards(text) {
            self.globs.push((place, Glob::new(text, rules)));
        } else if pattern.ignore_case {
            self.globs.push((place, Glob::literal(text, rules)));
        } else {
            self.literals[set_of(pattern.anchored, pattern.recursive)].insert(text, place);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first pattern that matches.
    pub(super) fn find(&self, name: &[u8]) -> Option<Hit> {
        let mut hit: Option<Hit> = None;
        let mut found = |place: usize, below: bool| {
            hit = Some(match hit {
                Some(best) if best.place < place => Hit {
                    below: best.below || below,
                    ..best
                },
                best => Hit {
                    place,
                    below: below || best.is_some_and(|best| best.below),
                    whole: !below || best.is_some_and(|best| best.place == place && best.whole),
                },
            });
        };
        for anchored in [false, true] {
            for recursive in [false, true] {
                self.literals[set_of(anchored, recursive)]
                    .search(name, anchored, recursive, &mut found);
            }
        }
        for (place, glob) in &self.globs {
            if hit.is_some_and(|hit| hit.place < *place) {
                break;
            }
            if let Some(end) = glob.find(name) {
                let below = end < name.len();
                hit = Some(Hit {
                    place: *place,
                    below: below || hit.is_some_and(|hit| hit.below),
                    whole: !below,
                });
                break;
            }
        }
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a list of names means, said in the simplest way.
    fn naive(patterns: &[Pattern], name: &str) -> Option<usize> {
        patterns.iter().position(|pattern| {
            let text = std::str::from_utf8(&pattern.text).unwrap();
            let begins =
                |at: usize| at == 0 || (!pattern.anchored && name.as_bytes()[at - 1] == b'/');
            (0..=name.len())
                .filter(|&at| begins(at) && (at == 0 || !name[at..].starts_with('/')))
                .filter(|&at| at == 0 || at < name.len())
                .filter_map(|at| name[at..].strip_prefix(text))
                .any(|rest| rest.is_empty() || (pattern.recursive && rest.starts_with('/')))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn hashed_names_are_found_like_compared_ones(
            texts in prop::collection::vec(("[ab/]{0,5}", any::<bool>(), any::<bool>()), 0..12),
            name in "[ab/]{0,9}",
        ) {
            let patterns: Vec<_> = texts
                .iter()
                .map(|(text, anchored, recursive)| Pattern {
                    anchored: *anchored,
                    recursive: *recursive,
                    ..Pattern::literal(text.as_bytes())
                })
                .collect();
            let mut matcher = Matcher::default();
            for pattern in &patterns {
                matcher.push(pattern, &pattern.text);
            }
            let expected = naive(&patterns, &name);
            prop_assert_eq!(matcher.find(name.as_bytes()).map(|hit| hit.place), expected);
            // The same by way of wildcards.
            let mut globs = Matcher::default();
            for pattern in &patterns {
                let folded = Pattern { ignore_case: true, ..pattern.clone() };
                globs.push(&folded, &folded.text);
            }
            prop_assert_eq!(globs.find(name.as_bytes()).map(|hit| hit.place), expected);
        }
    }
}
