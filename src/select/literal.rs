//! Names without wildcards, found by hashing: ten thousand of them cost no more than one.
//!
//! A wanted name matches at places that the member's name alone decides: from its beginning (or, not anchored, from
//! after a slash) to its end (or, recursive, to before a slash). So those pieces of the member's name are looked up,
//! and only as many as there are lengths and slash counts among the wanted names: a hostile name with a million
//! slashes costs a million short look-ups at most, not their square.

use std::collections::HashMap;

/// Names that are compared by the same rules, each with the first place in the list it came from.
#[derive(Clone, Debug, Default)]
pub(super) struct Literals {
    places: HashMap<Box<[u8]>, usize>,
    /// How many slashes the names hold, each number once, ascending.
    slashes: Vec<usize>,
    longest: usize,
}

impl Literals {
    pub(super) fn insert(&mut self, name: &[u8], place: usize) {
        let count = slashes(name);
        if let Err(at) = self.slashes.binary_search(&count) {
            self.slashes.insert(at, count);
        }
        self.longest = self.longest.max(name.len());
        self.places.entry(name.into()).or_insert(place);
    }

    /// Calls `found` for each piece of the name that is in the set, with its place in the list and whether the piece ends
    /// before a slash.
    pub(super) fn search(
        &self,
        name: &[u8],
        anchored: bool,
        recursive: bool,
        mut found: impl FnMut(usize, bool),
    ) {
        if self.places.is_empty() {
            return;
        }
        let mut start = 0;
        loop {
            self.pieces_from(&name[start..], recursive, &mut found);
            if anchored {
                return;
            }
            let next = name[start..]
                .windows(2)
                .position(|pair| pair[0] == b'/' && pair[1] != b'/');
            match next {
                Some(offset) => start += offset + 1,
                None => return,
            }
        }
    }

    fn pieces_from(&self, name: &[u8], recursive: bool, found: &mut impl FnMut(usize, bool)) {
        if !recursive {
            if name.len() <= self.longest {
                self.look_up(name, false, found);
            }
            return;
        }
        // The piece that holds n slashes ends before slash n + 1, or at the end of the name.
        let mut wanted = self.slashes.iter();
        let mut next = wanted.next();
        let reach = name.len().min(self.longest + 1);
        let mut seen = 0;
        for (at, _) in name[..reach]
            .iter()
            .enumerate()
            .filter(|&(_, &byte)| byte == b'/')
        {
            let Some(&count) = next else {
                return;
            };
            if seen == count {
                self.look_up(&name[..at], true, found);
                next = wanted.next();
            }
            seen += 1;
        }
        if name.len() <= self.longest && next == Some(&seen) {
            self.look_up(name, false, found);
        }
    }

    fn look_up(&self, piece: &[u8], below: bool, found: &mut impl FnMut(usize, bool)) {
        if let Some(&place) = self.places.get(piece) {
            found(place, below);
        }
    }
}

fn slashes(name: &[u8]) -> usize {
    name.iter().filter(|&&byte| byte == b'/').count()
}
