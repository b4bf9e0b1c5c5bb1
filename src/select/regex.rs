//! Expressions: POSIX regular expressions, basic and extended, and star's patterns, on names that are bytes.
//!
//! Each is translated into the syntax of `regex_automata`, which takes time proportional to expression and name and
//! cannot be made to hang. What that changes against POSIX:
//!
//! - Back references in the expression itself (`\(a\)\1`) are refused: no automaton can follow them.
//! - The match is the leftmost longest one, as POSIX wants. Inside it, groups are those of a search that prefers the
//!   first alternative and the longest repetition; that is what glibc does too (measured), POSIX is stricter.
//! - Character classes (`[[:alpha:]]`), `\w`, `\b` and ignored case know ASCII letters only. All other characters of
//!   UTF-8 still count as one character each, for `.` as for sets.
//!
//! A name that is no valid UTF-8 is searched in a copy in which each stray byte is a character of the last private
//! plane, so `.` takes it and a stray byte in an expression finds it; only positions are taken from that copy.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::glob::{class_contains, first_char};
use crate::plan::Syntax;

/// More than any expression for names needs, and little enough that compiling one is quick.
const SIZE_LIMIT: usize = 4 << 20;
/// The largest count in an interval, as glibc.
const DUP_MAX: u32 = 0x7fff;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    /// Finds where the leftmost match begins.
    first: Regex,
    /// Finds where the longest match from there ends.
    longest: Regex,
    /// Finds the groups of a match that is known to be the whole text.
    whole: Regex,
    groups: usize,
}

/// Where a match and its groups lie; group 0 is the whole.
pub(super) type Groups = Vec<Option<Range<usize>>>;

impl Expression {
    /// Translates and compiles. The error says in words what is wrong.
    pub(super) fn new(text: &[u8], kind: Syntax, ignore_case: bool) -> Result<Self, String> {
        let translated = Translator::translate(text, kind, ignore_case)?;
        let source = translated.out;
        let compile = |source: &str, kind: MatchKind| {
            Regex::builder()
                .syntax(syntax::Config::new().utf8(false).dot_matches_new_line(true))
                .configure(
                    Regex::config()
                        .match_kind(kind)
                        .nfa_size_limit(Some(SIZE_LIMIT)),
                )
                .build(source)
                .map_err(|_| String::from("the expression is too large"))
        };
        Ok(Self {
            first: compile(&source, MatchKind::LeftmostFirst)?,
            longest: compile(&source, MatchKind::All)?,
            whole: compile(&format!("\\A(?:{source})\\z"), MatchKind::LeftmostFirst)?,
            groups: translated.groups,
        })
    }

    /// The number of the last group.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// Whether the whole name matches.
    pub(super) fn matches_whole(&self, name: &[u8]) -> bool {
        let view = View::new(name);
        self.whole.is_match(view.text.as_bytes())
    }

    /// All matches in a name, handed to `each` from left to right until it answers no. An empty match right behind
    /// another match is none.
    pub(super) fn matches(&self, name: &[u8], mut each: impl FnMut(&Groups) -> bool) {
        let view = View::new(name);
        let text = view.text.as_bytes();
        let mut at = 0;
        let mut last_end = None;
        while at <= text.len() {
            let Some(found) = self.find(text, at) else {
                return;
            };
            if found.is_empty() && last_end == Some(found.start) {
                let Some(rest) = text.get(found.end..).filter(|rest| !rest.is_empty()) else {
                    return;
                };
                at = found.end + first_char(rest).1;
                continue;
            }
            let groups = self.groups_of(text, &found, &view);
            if !each(&groups) {
                return;
            }
            last_end = Some(found.end);
            at = found.end;
        }
    }

    fn find(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let input = Input::new(text).range(at..);
        let first = self.first.find(input)?.range();
        if first.end == text.len() {
            return Some(first);
        }
        let input = Input::new(text)
            .range(first.start..)
            .anchored(Anchored::Yes);
        self.longest.find(input).map(|found| found.range())
    }

    fn groups_of(&self, text: &[u8], found: &Range<usize>, view: &View<'_>) -> Groups {
        let mut groups = vec![None; self.groups + 1];
        groups[0] = Some(view.range(found.clone()));
        if self.groups > 0 {
            let mut captures = self.whole.create_captures();
            // Searched in the match alone: looking back over its beginning (`\b`) may fail there, then there are no groups.
            self.whole.captures(&text[found.clone()], &mut captures);
            for (number, group) in groups.iter_mut().enumerate().skip(1) {
                *group = captures
                    .get_group(number)
                    .map(|span| view.range(found.start + span.start..found.start + span.end));
            }
        }
        groups
    }
}

/// A name as valid UTF-8, and the way back to the name's own positions.
struct View<'a> {
    text: Cow<'a, str>,
    /// For each byte of `text`, where in the name it comes from; empty when both are the same.
    origins: Vec<usize>,
}

impl<'a> View<'a> {
    fn new(name: &'a [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(name) {
            return Self {
                text: Cow::Borrowed(text),
                origins: Vec::new(),
            };
        }
        let mut text = String::with_capacity(name.len() * 2);
        let mut origins = Vec::with_capacity(name.len() * 2);
        let mut at = 0;
        while at < name.len() {
            let (c, length) = first_char(&name[at..]);
            let before = text.len();
            text.push(as_char(c));
            origins.resize(origins.len() + text.len() - before, at);
            at += length;
        }
        origins.push(name.len());
        Self {
            text: Cow::Owned(text),
            origins,
        }
    }

    fn range(&self, range: Range<usize>) -> Range<usize> {
        if self.origins.is_empty() {
            range
        } else {
            self.origins[range.start]..self.origins[range.end]
        }
    }
}

/// A character as [`first_char`] numbers it; stray bytes at the end of the last private plane.
fn as_char(c: u32) -> char {
    char::from_u32(c).unwrap_or_else(|| {
        char::from_u32(0x10_ff00 + (c & 0xff)).expect("the last private plane is valid")
    })
}

/// Builds the source for `regex_automata`.
struct Translator<'a> {
    rest: &'a [u8],
    ignore_case: bool,
    out: String,
    /// Where the last thing that can be repeated begins in `out`.
    atom: Option<usize>,
    /// Where each open group begins, and (star) whether a `#` stands before it.
    open: Vec<(usize, bool)>,
    groups: usize,
}

impl<'a> Translator<'a> {
    fn translate(text: &'a [u8], kind: Syntax, ignore_case: bool) -> Result<Self, String> {
        let mut this = Self {
            rest: text,
            ignore_case,
            out: String::new(),
            atom: None,
            open: Vec::new(),
            groups: 0,
        };
        match kind {
            Syntax::Basic => this.posix(false)?,
            Syntax::Extended => this.posix(true)?,
            Syntax::Star => this.star()?,
        }
        if !this.open.is_empty() {
            return Err("a group is not closed".into());
        }
        Ok(this)
    }

    fn next(&mut self) -> Option<u32> {
        if self.rest.is_empty() {
            return None;
        }
        let (c, length) = first_char(self.rest);
        self.rest = &self.rest[length..];
        Some(c)
    }

    /// Takes these bytes if they come next.
    fn eat(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn posix(&mut self, extended: bool) -> Result<(), String> {
        // At the beginning of the expression, of a group or of an alternative.
        let mut begins = true;
        while let Some(c) = self.next() {
            let byte = u8::try_from(c).ok();
            let began = std::mem::take(&mut begins);
            let (escaped, operator) = match byte {
                Some(b'\\') => match self.next() {
                    None => return Err("a backslash at the end".into()),
                    Some(next) => (true, u8::try_from(next).map_err(|_| next)),
                },
                Some(byte) => (false, Ok(byte)),
                None => (false, Err(c)),
            };
            let byte = match operator {
                Ok(byte) => byte,
                Err(c) => {
                    self.literal(c);
                    continue;
                }
            };
            // What is an operator alone in one syntax is one after a backslash in the other.
            let operates = escaped != extended;
            match byte {
                b'(' if operates => {
                    self.open.push((self.out.len(), false));
                    self.groups += 1;
                    self.out.push('(');
                    self.atom = None;
                    begins = true;
                }
                b')' if operates => {
                    let Some((start, _)) = self.open.pop() else {
                        if extended {
                            self.literal(c);
                            continue;
                        }
                        return Err("a group is closed that was not opened".into());
                    };
                    self.out.push(')');
                    self.atom = Some(start);
                }
                b'|' if operates => {
                    self.out.push('|');
                    self.atom = None;
                    begins = true;
                }
                b'{' if operates => self.interval(extended)?,
                b'+' | b'?' if operates => self.repeat(char::from(byte), extended, byte)?,
                b'*' if !escaped => self.repeat('*', extended, byte)?,
                b'^' if !escaped && (extended || began) => {
                    self.out.push_str("\\A");
                    self.atom = None;
                    // A star behind it is no operator either.
                    begins = false;
                }
                b'$' if !escaped && (extended || self.closes()) => {
                    self.out.push_str("\\z");
                    self.atom = None;
                }
                b'.' if !escaped => self.put("."),
                b'[' if !escaped => self.set(false)?,
                b'1'..=b'9' if escaped => {
                    return Err(format!(
                        "the back reference \\{} is not supported in an expression",
                        char::from(byte)
                    ));
                }
                b'<' if escaped => self.put_anchor("(?-u:\\b{start})"),
                b'>' if escaped => self.put_anchor("(?-u:\\b{end})"),
                b'b' if escaped => self.put_anchor("(?-u:\\b)"),
                b'B' if escaped => self.put_anchor("(?-u:\\B)"),
                b'`' if escaped => self.put_anchor("\\A"),
                b'\'' if escaped => self.put_anchor("\\z"),
                b'w' if escaped => self.put("[0-9A-Za-z_]"),
                b'W' if escaped => self.put("[^0-9A-Za-z_]"),
                b's' if escaped => self.put("[\\x09-\\x0d ]"),
                b'S' if escaped => self.put("[^\\x09-\\x0d ]"),
                _ => self.literal(u32::from(byte)),
            }
        }
        Ok(())
    }

    /// Basic syntax: `$` is an anchor only before the end of the expression, a group or an alternative.
    fn closes(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(b"\\)") || self.rest.starts_with(b"\\|")
    }

    fn put(&mut self, source: &str) {
        self.atom = Some(self.out.len());
        self.out.push_str(source);
    }

    fn put_anchor(&mut self, source: &str) {
        self.atom = None;
        self.out.push_str(source);
    }

    fn literal(&mut self, c: u32) {
        self.atom = Some(self.out.len());
        let c = as_char(c);
        if self.ignore_case && c.is_ascii_alphabetic() {
            let (lower, upper) = (c.to_ascii_lowercase(), c.to_ascii_uppercase());
            self.out.extend(['[', lower, upper, ']']);
        } else {
            push_char(&mut self.out, c);
        }
    }

    fn repeat(&mut self, operator: char, extended: bool, byte: u8) -> Result<(), String> {
        match self.atom {
            Some(start) => {
                self.wrap(start, operator.encode_utf8(&mut [0; 4]));
                Ok(())
            }
            None if extended => Err("nothing stands before a repetition".into()),
            None => {
                self.literal(u32::from(byte));
                Ok(())
            }
        }
    }

    /// Repeats what begins at `start`. Always in a group, as `a*?` means something else there than in POSIX.
    fn wrap(&mut self, start: usize, operator: &str) {
        self.out.insert_str(start, "(?:");
        self.out.push(')');
        self.out.push_str(operator);
        self.atom = Some(start);
    }

    fn interval(&mut self, extended: bool) -> Result<(), String> {
        let Some(start) = self.atom else {
            return Err("nothing stands before a repetition".into());
        };
        let close: &[u8] = if extended { b"}" } else { b"\\}" };
        let least = self.number()?;
        let most = if self.eat(b",") {
            self.number()?
        } else if least.is_none() {
            return Err("a repetition has no count".into());
        } else {
            least
        };
        if !self.eat(close) {
            return Err("a repetition is not closed or holds no count".into());
        }
        let least = least.unwrap_or(0);
        let operator = match most {
            Some(most) if most < least => {
                return Err("a repetition's counts are the wrong way round".into());
            }
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        };
        self.wrap(start, &operator);
        Ok(())
    }

    fn number(&mut self) -> Result<Option<u32>, String> {
        let digits = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 {
            return Ok(None);
        }
        let (text, rest) = self.rest.split_at(digits);
        self.rest = rest;
        std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok())
            .filter(|&number| number <= DUP_MAX)
            .map(Some)
            .ok_or_else(|| String::from("a repetition's count is too large"))
    }

    /// A set after its `[`. With `quoting` (star) a backslash quotes and there are no classes.
    fn set(&mut self, quoting: bool) -> Result<(), String> {
        let negated = self.eat(b"^");
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut first = true;
        loop {
            if self.rest.is_empty() {
                return Err("a set is not closed".into());
            }
            if (!first || quoting) && self.eat(b"]") {
                break;
            }
            first = false;
            if !quoting && self.rest.starts_with(b"[:") {
                let Some(end) = self.rest[2..].windows(2).position(|pair| pair == b":]") else {
                    return Err("a set is not closed".into());
                };
                let name = &self.rest[2..2 + end];
                self.rest = &self.rest[end + 4..];
                for c in 0..0x80 {
                    match class_contains(name, c) {
                        Some(true) => ranges.push((c, c)),
                        Some(false) => {}
                        None => return Err("a set names an unknown class".into()),
                    }
                }
                continue;
            }
            let low = self.set_char(quoting)?;
            let mut high = low;
            if self.rest.len() > 1 && self.rest[0] == b'-' && self.rest[1] != b']' {
                self.rest = &self.rest[1..];
                high = self.set_char(quoting)?;
            }
            if low > high {
                return Err("a range in a set is the wrong way round".into());
            }
            ranges.push((low, high));
        }
        if ranges.is_empty() {
            return Err("a set is empty".into());
        }
        self.atom = Some(self.out.len());
        self.out.push_str(if negated { "[^" } else { "[" });
        for (low, high) in ranges {
            self.push_range(low, high);
            if self.ignore_case {
                for (first, other) in
                    [(b'a', b'A'), (b'A', b'a')].map(|(a, b)| (u32::from(a), u32::from(b)))
                {
                    let (from, to) = (low.max(first), high.min(first + 25));
                    if from <= to {
                        self.push_range(from - first + other, to - first + other);
                    }
                }
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn push_range(&mut self, low: u32, high: u32) {
        push_char(&mut self.out, as_char(low));
        self.out.push('-');
        push_char(&mut self.out, as_char(high));
    }

    fn set_char(&mut self, quoting: bool) -> Result<u32, String> {
        let open = "a set is not closed";
        if quoting {
            self.eat(b"\\");
            return self.next().ok_or_else(|| open.into());
        }
        for (begin, end) in [(b"[.", b".]"), (b"[=", b"=]")] {
            if self.eat(begin) {
                let c = self.next().ok_or(open)?;
                if !self.eat(end) {
                    return Err("a set holds a collating element of more than one character".into());
                }
                return Ok(c);
            }
        }
        self.next().ok_or_else(|| open.into())
    }

    fn star(&mut self) -> Result<(), String> {
        // A `#` before what comes next.
        let mut repeated = false;
        while let Some(c) = self.next() {
            let hash = std::mem::take(&mut repeated);
            match u8::try_from(c).unwrap_or(0) {
                b'#' => {
                    repeated = true;
                    continue;
                }
                b'!' if !hash => {
                    self.out.push('|');
                    continue;
                }
                b'{' => {
                    self.open.push((self.out.len(), hash));
                    self.out.push_str("(?:");
                    continue;
                }
                b'}' if !hash => {
                    let Some((start, hash)) = self.open.pop() else {
                        return Err("a group is closed that was not opened".into());
                    };
                    self.out.push(')');
                    if hash {
                        self.wrap(start, "*");
                    }
                    continue;
                }
                b'!' | b'}' => return Err("nothing stands behind a #".into()),
                b'?' => self.put("."),
                b'*' => self.put("(?:.*)"),
                b'%' => self.put("(?:)"),
                b'^' => self.put("\\A"),
                b'$' => self.put("\\z"),
                b'[' => self.set(true)?,
                b']' => return Err("a set is closed that was not opened".into()),
                b'\\' => {
                    let quoted = self.next().ok_or("a backslash at the end")?;
                    self.literal(quoted);
                }
                _ => self.literal(c),
            }
            if let (true, Some(start)) = (hash, self.atom) {
                self.wrap(start, "*");
            }
        }
        if repeated {
            return Err("nothing stands behind a #".into());
        }
        Ok(())
    }
}

fn push_char(out: &mut String, c: char) {
    write!(out, "\\x{{{:x}}}", u32::from(c)).expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn star(pattern: &str) -> Result<Expression, String> {
        Expression::new(pattern.as_bytes(), Syntax::Star, false)
    }

    #[test]
    fn star_patterns_match_whole_names() {
        for (pattern, yes, no) in [
            ("*.c", &["a.c", "d/e.c", ".c"][..], &["a.h", "a.c/b"][..]),
            ("this!that", &["this", "that"], &["thisthat", "thi"]),
            (
                "{%!{test}}version",
                &["version", "testversion"],
                &["tversion"],
            ),
            ("a#bc", &["ac", "abc", "abbbc"], &["abb"]),
            ("#{ab}c", &["c", "ababc"], &["abac"]),
            ("#[0-9].o", &[".o", "12.o"], &["a.o"]),
            ("W?", &["Wa", "W1", "W\u{e4}"], &["W", "Wab"]),
            ("[^a-c]x", &["dx", "-x"], &["ax", "x"]),
            ("[a\\]-]", &["a", "]", "-"], &["\\", "b"]),
            ("\\*\\!", &["*!"], &["a!"]),
            ("^*$", &["", "anything"], &[]),
            ("##a", &["", "aaa"], &["b"]),
            ("", &[""], &["a"]),
        ] {
            let expression = star(pattern).unwrap();
            for name in yes {
                assert!(
                    expression.matches_whole(name.as_bytes()),
                    "{pattern} {name}"
                );
            }
            for name in no {
                assert!(
                    !expression.matches_whole(name.as_bytes()),
                    "{pattern} {name}"
                );
            }
        }
    }

    #[test]
    fn malformed_star_patterns_are_refused() {
        for pattern in ["{a", "a}", "[a", "a]", "a#", "#!a", "{#}", "\\", "[]"] {
            assert!(star(pattern).is_err(), "{pattern}");
        }
    }
}
