//! Matching names against patterns, as fnmatch(3) does, on bytes.
//!
//! `*`, `?` and `[...]` with ranges, classes and `!` or `^`; a backslash takes the specialty from what follows. The time is
//! at most the product of the lengths: only the last `*` is ever tried again, which is enough, since what an earlier one
//! could still take a later one can take as well.

use super::names;
use crate::plan::Pattern;

/// Whether a pattern selects a name, by itself or as a directory above it.
#[must_use]
pub fn matches(pattern: &Pattern, name: &[u8]) -> bool {
    let text = match names::without_slashes(&pattern.text) {
        // Nothing but a slash: the root.
        b"/" => &pattern.text[..1],
        text => text,
    };
    let name = names::without_slashes(name);
    let starts = std::iter::once(0).chain(
        name.iter()
            .enumerate()
            .filter(|(_, byte)| !pattern.anchored && **byte == b'/')
            .map(|(at, _)| at + 1),
    );
    for start in starts {
        let rest = &name[start..];
        for end in names::ends(rest) {
            if (end == rest.len() || pattern.recursive) && one(pattern, text, &rest[..end]) {
                return true;
            }
        }
    }
    false
}

fn one(pattern: &Pattern, text: &[u8], name: &[u8]) -> bool {
    if pattern.wildcards {
        glob(
            text,
            name,
            pattern.wildcards_match_slash,
            pattern.ignore_case,
        )
    } else if pattern.ignore_case {
        text.eq_ignore_ascii_case(name)
    } else {
        text == name
    }
}

/// fnmatch(3) without FNM_PERIOD: with `match_slash` off as with FNM_PATHNAME, with `ignore_case` as with FNM_CASEFOLD.
#[must_use]
pub fn glob(pattern: &[u8], name: &[u8], match_slash: bool, ignore_case: bool) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on when what follows the last star does not fit: after the star, one byte later.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match (pattern.get(p), name.get(n)) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                retry = Some((p + 1, n));
                p += 1;
                continue;
            }
            (Some(_), Some(&byte)) => fits(&pattern[p..], byte, match_slash, ignore_case),
            (None, Some(_)) | (Some(_), None) => None,
        };
        match (step, retry) {
            (Some(length), _) => {
                p += length;
                n += 1;
            }
            (None, Some((after, at))) if at < name.len() && (match_slash || name[at] != b'/') => {
                retry = Some((after, at + 1));
                (p, n) = (after, at + 1);
            }
            _ => return false,
        }
    }
}

/// How many bytes of the pattern one byte of the name uses up, if it fits.
fn fits(pattern: &[u8], byte: u8, match_slash: bool, ignore_case: bool) -> Option<usize> {
    let same = |wanted: u8| wanted == byte || ignore_case && wanted.eq_ignore_ascii_case(&byte);
    match pattern {
        [b'?', ..] => (match_slash || byte != b'/').then_some(1),
        [b'\\', escaped, ..] => same(*escaped).then_some(2),
        [b'[', ..] => match bracket(pattern, byte, ignore_case) {
            Some((inside, length)) => (inside && (match_slash || byte != b'/')).then_some(length),
            // Never closed: an ordinary character.
            None => same(b'[').then_some(1),
        },
        [plain, ..] => same(*plain).then_some(1),
        [] => None,
    }
}

/// A bracket expression: whether the byte is in it, and its length; `None` when it has no end.
fn bracket(pattern: &[u8], byte: u8, ignore_case: bool) -> Option<(bool, usize)> {
    let mut at = 1;
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    at += usize::from(negated);
    let first = at;
    let mut inside = false;
    let bytes = if ignore_case {
        [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()]
    } else {
        [byte, byte]
    };
    loop {
        match *pattern.get(at..)? {
            [b']', ..] if at > first => return Some((inside != negated, at + 1)),
            [b'[', b':', ..] => {
                let name = &pattern[at + 2..];
                let length = name.windows(2).position(|end| end == b":]")?;
                inside |= bytes.iter().any(|byte| is_in_class(&name[..length], *byte));
                at += length + 4;
            }
            [b'\\', low, ..] | [low, ..] => {
                at += if pattern[at] == b'\\' && pattern.len() > at + 1 {
                    2
                } else {
                    1
                };
                let high = match *pattern.get(at..)? {
                    [b'-', b']', ..] => low,
                    [b'-', b'\\', high, ..] => {
                        at += 3;
                        high
                    }
                    [b'-', high, ..] => {
                        at += 2;
                        high
                    }
                    _ => low,
                };
                inside |= bytes.iter().any(|byte| (low..=high).contains(byte));
            }
            [] => return None,
        }
    }
}

/// The classes of POSIX in the C locale.
fn is_in_class(class: &[u8], byte: u8) -> bool {
    match class {
        b"alpha" => byte.is_ascii_alphabetic(),
        b"digit" => byte.is_ascii_digit(),
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"upper" => byte.is_ascii_uppercase(),
        b"lower" => byte.is_ascii_lowercase(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"punct" => byte.is_ascii_punctuation(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"graph" => byte.is_ascii_graphic(),
        b"cntrl" => byte.is_ascii_control(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases and answers of fnmatch(3).
    #[test]
    fn globs_match_as_fnmatch_does() {
        for (pattern, name, expected) in [
            ("*.c", "a.c", true),
            ("*.c", "dir/a.c", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("[[:digit:][:upper:]]*", "7", true),
            ("[[:digit:]]", "a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("[", "[", true),
            ("[ab", "[ab", true),
            ("*", "", true),
            ("**a**", "bab", true),
            ("a*b*c*d", "a1b2c3", false),
            ("a*b*c*d", "a1b2c3bcd", true),
            ("", "", true),
            ("", "a", false),
            ("[\\]]", "]", true),
            ("[a\\-c]", "b", false),
        ] {
            assert_eq!(
                glob(pattern.as_bytes(), name.as_bytes(), true, false),
                expected,
                "{pattern} {name}"
            );
        }
        assert!(!glob(b"*.c", b"dir/a.c", false, false));
        assert!(!glob(b"dir?a.c", b"dir/a.c", false, false));
        assert!(!glob(b"dir[/]a.c", b"dir/a.c", false, false));
        assert!(glob(b"*/*.c", b"dir/a.c", false, false));
        assert!(glob(b"A[B-C]*", b"abx", true, true));
    }

    #[test]
    fn hostile_patterns_end_soon() {
        let pattern = b"*a".repeat(5000);
        let name = b"a".repeat(4999);
        assert!(!glob(&pattern, &name, true, false));
        assert!(!glob(&b"[".repeat(3000), &b"[".repeat(2999), true, false));
    }

    #[test]
    fn a_pattern_takes_what_is_below_a_directory() {
        let exclude = Pattern::exclude(b"cache");
        assert!(matches(&exclude, b"cache"));
        assert!(matches(&exclude, b"cache/"));
        assert!(matches(&exclude, b"a/cache/b/c"));
        assert!(!matches(&exclude, b"a/cached"));
        let literal = Pattern::literal(b"a/b/");
        assert!(
            matches(&literal, b"a/b/c") && matches(&literal, b"a/b") && matches(&literal, b"a/b/")
        );
        assert!(!matches(&literal, b"x/a/b") && !matches(&literal, b"a/bc"));
        let exact = Pattern {
            recursive: false,
            ..Pattern::literal(b"a")
        };
        assert!(matches(&exact, b"a/") && !matches(&exact, b"a/b"));
    }
}
