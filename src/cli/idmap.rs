//! Files that say which owners become others (`--owner-map`, `--group-map`), as GNU tar reads them.

use std::collections::BTreeMap;

use durastar::plan::{IdMap, NewId};
use durastar::sys::names;

use super::dialect::voice::{name, sentence};

/// Whose numbers a file is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Users.
    Owner,
    /// Groups.
    Group,
}

impl Whose {
    /// The option that names the file.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Owner => "--owner-map",
            Self::Group => "--group-map",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Self::Owner => "UID",
            Self::Group => "GID",
        }
    }

    fn of_name(self, name: &[u8]) -> Option<u32> {
        match self {
            Self::Owner => names::user_id(name),
            Self::Group => names::group_id(name),
        }
    }
}

/// Adds what the text of `file` says to a map, in which the first word about a number counts. Gives what is wrong with it,
/// a sentence for each line.
pub(crate) fn read(map: &mut IdMap, whose: Whose, file: &[u8], text: &[u8]) -> Vec<Vec<u8>> {
    let mut problems = Vec::new();
    for (line, number) in text.split(|&byte| byte == b'\n').zip(1..) {
        match entry(whose, line) {
            Ok(Some((id, new))) => {
                let map: &mut BTreeMap<_, _> = &mut map.0;
                map.entry(id).or_insert(new);
            }
            Ok(None) => {}
            Err(what) => {
                problems.push(sentence![name(file, b":"), format!(":{number}: "), what]);
            }
        }
    }
    problems
}

fn entry(whose: Whose, line: &[u8]) -> Result<Option<(u32, NewId)>, Vec<u8>> {
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let (first, second) = match (words.next(), words.next(), words.next()) {
        (None, ..) => return Ok(None),
        (Some(word), ..) if word.starts_with(b"#") => return Ok(None),
        (Some(first), Some(second), None) => (first, second),
        _ => return Err(b"malformed line".to_vec()),
    };
    let old = number_or_name(whose, first)?;
    let new = match second.iter().position(|&byte| byte == b':') {
        Some(colon) => NewId {
            id: number(whose, &second[colon + 1..])?,
            name: Some(second[..colon].to_vec()).filter(|name| !name.is_empty()),
        },
        None => NewId {
            id: number_or_name(whose, second)?,
            name: (!second.starts_with(b"+")).then(|| second.to_vec()),
        },
    };
    Ok(Some((old, new)))
}

fn number_or_name(whose: Whose, word: &[u8]) -> Result<u32, Vec<u8>> {
    match word.strip_prefix(b"+") {
        Some(digits) => number(whose, digits),
        None => whose
            .of_name(word)
            .ok_or_else(|| sentence!["can't obtain ", whose.id(), " of ", name(word, b"")]),
    }
}

fn number(whose: Whose, digits: &[u8]) -> Result<u32, Vec<u8>> {
    let invalid = || sentence!["invalid ", whose.id(), ": ", name(digits, b"")];
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(invalid());
    }
    let number: u64 = std::str::from_utf8(digits)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(invalid)?;
    // -1 is no owner to chown(2).
    u32::try_from(number)
        .ok()
        .filter(|&number| number != u32::MAX)
        .ok_or_else(|| sentence![whose.id(), " out of range: ", digits])
}

#[cfg(test)]
mod tests {
    use durastar::plan::IdMap;

    use super::{Whose, read};

    /// Expected values: GNU tar 1.34.
    #[test]
    fn maps_are_read_as_gnu_tar_reads_them() {
        let map = |text: &str| {
            let mut map = IdMap::default();
            let problems = read(&mut map, Whose::Owner, b"m", text.as_bytes());
            let problems: Vec<_> = problems
                .into_iter()
                .map(|line| String::from_utf8(line).expect("text"))
                .collect();
            let found: Vec<_> = map
                .0
                .iter()
                .map(|(old, new)| {
                    let name = new.name.as_deref().map(String::from_utf8_lossy);
                    (*old, new.id, name.unwrap_or_default().into_owned())
                })
                .collect();
            (found, problems)
        };
        let fine = |text: &str, old: u32, new: u32, name: &str| {
            assert_eq!(
                map(text),
                (vec![(old, new, name.to_owned())], vec![]),
                "{text}"
            );
        };
        fine("+5 root", 5, 0, "root");
        fine("#c\n\n  root\troot:2 \n", 0, 2, "root");
        fine("root :5", 0, 5, "");
        fine("root +7", 0, 7, "");
        fine("root +7:8", 0, 8, "+7");
        fine("+1 +2\n+1 +3", 1, 2, "");
        for (text, what) in [
            ("root", "m:1: malformed line"),
            ("root #x", "m:1: can't obtain UID of #x"),
            ("root root root", "m:1: malformed line"),
            ("+x root", "m:1: invalid UID: x"),
            ("+5x root", "m:1: invalid UID: 5x"),
            ("\nroot a:b:c", "m:2: invalid UID: b:c"),
            ("no-such-user root", "m:1: can't obtain UID of no-such-user"),
            ("0 root", "m:1: can't obtain UID of 0"),
            ("+4294967296 root", "m:1: UID out of range: 4294967296"),
            (
                "+99999999999999999999 root",
                "m:1: invalid UID: 99999999999999999999",
            ),
        ] {
            assert_eq!(map(text), (vec![], vec![what.to_owned()]), "{text}");
        }
    }
}
