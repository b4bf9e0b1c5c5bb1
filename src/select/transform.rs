//! Substitutions on names: `--transform` of GNU tar, `-s` of star.
//!
//! The expressions are sed's. Measured differences of GNU tar 1.34 from its own manual are not followed: a name with
//! fewer matches than the flag asks for stays as it is (GNU tar repeats parts of it), an expression that matches
//! nothing, with `g`, ends (GNU tar does not), and `\u\L` gives a capital before small letters (GNU tar forgets the
//! `\u`). What the expressions themselves cannot do is said in `regex`.

use std::fmt;
use std::num::NonZeroUsize;

use super::regex::{Expression, Groups};
use crate::plan::{Case, Replacement, Scope, Syntax, Transform};

/// What is wrong with a substitution or a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadExpression {
    /// It does not have the form of a substitution.
    Form,
    /// No such flag.
    Flag(u8),
    /// The expression it looks for cannot be used; why.
    Pattern(String),
    /// The replacement speaks of a group that the expression does not have.
    Group(usize),
}

impl fmt::Display for BadExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("not of the form s/expression/replacement/flags"),
            Self::Flag(flag) => write!(f, "unknown flag '{}'", flag.escape_ascii()),
            Self::Pattern(why) => f.write_str(why),
            Self::Group(number) => write!(f, "there is no group {number}"),
        }
    }
}

impl std::error::Error for BadExpression {}

/// Takes an argument of `--transform` apart: substitutions and `flags=`, joined by `;`.
///
/// `scope` is what substitutions without flags of their own are about. `flags=` changes it, also for the arguments that
/// follow, so one variable goes through all calls; it begins as [`Scope::default`].
///
/// # Errors
/// What is wrong with the argument. What this returns without an error, [`Selector::new`](super::Selector::new) takes.
pub fn parse(argument: &[u8], scope: &mut Scope) -> Result<Vec<Transform>, BadExpression> {
    let mut transforms = Vec::new();
    let mut rest = argument;
    loop {
        if let Some(flags) = rest.strip_prefix(b"flags=") {
            rest = parse_scope(flags, scope)?;
        } else {
            let (transform, left) = parse_one(rest, *scope)?;
            transforms.push(transform);
            rest = left;
        }
        match rest {
            [] | [b';'] => return Ok(transforms),
            [b';', left @ ..] => rest = left,
            [other, ..] => return Err(BadExpression::Flag(*other)),
        }
    }
}

/// Takes an argument of star's `-s` apart: `/pattern/replacement/flags`, the pattern in star's syntax, the only flag
/// `g`. The first one that matches a name is the last one tried; link targets are left alone.
///
/// # Errors
/// What is wrong with the argument.
pub fn parse_star(argument: &[u8]) -> Result<Transform, BadExpression> {
    let [pattern, replacement, flags] = split(argument).ok_or(BadExpression::Form)?;
    let mut all_matches = false;
    for &flag in flags {
        match flag {
            b'g' => all_matches = true,
            other => return Err(BadExpression::Flag(other)),
        }
    }
    let mut pieces = Pieces::default();
    let mut bytes = replacement.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'&' => pieces.push(Replacement::Group(0)),
            b'\\' => pieces.text.extend(bytes.next()),
            _ => pieces.text.push(byte),
        }
    }
    let transform = Transform {
        pattern: pattern.to_vec(),
        syntax: Syntax::Star,
        ignore_case: false,
        replacement: pieces.finish(),
        from_match: NonZeroUsize::MIN,
        all_matches,
        scope: Scope {
            names: true,
            hard_links: false,
            symlinks: false,
        },
        last: true,
    };
    compile(&transform)?;
    Ok(transform)
}

/// `flags=` without that word, up to the next `;`. What is not named is not meant.
fn parse_scope<'a>(flags: &'a [u8], scope: &mut Scope) -> Result<&'a [u8], BadExpression> {
    let end = flags
        .iter()
        .position(|&byte| byte == b';')
        .unwrap_or(flags.len());
    let mut named = Scope {
        names: false,
        hard_links: false,
        symlinks: false,
    };
    for &flag in &flags[..end] {
        if !scope_flag(&mut named, flag) {
            return Err(BadExpression::Flag(flag));
        }
    }
    *scope = named;
    Ok(&flags[end..])
}

fn scope_flag(scope: &mut Scope, flag: u8) -> bool {
    match flag {
        b'r' => scope.names = true,
        b'R' => scope.names = false,
        b'h' => scope.hard_links = true,
        b'H' => scope.hard_links = false,
        b's' => scope.symlinks = true,
        b'S' => scope.symlinks = false,
        _ => return false,
    }
    true
}

/// What stands between the first two delimiters and between the next two, and the rest; the first byte delimits.
fn split(text: &[u8]) -> Option<[&[u8]; 3]> {
    let (&delimiter, rest) = text.split_first()?;
    let (pattern, rest) = part(rest, delimiter)?;
    let (replacement, rest) = part(rest, delimiter)?;
    Some([pattern, replacement, rest])
}

/// Up to the next delimiter that no backslash stands before, and what follows it.
fn part(text: &[u8], delimiter: u8) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    while at < text.len() {
        if text[at] == delimiter {
            return Some((&text[..at], &text[at + 1..]));
        }
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    None
}

fn parse_one(text: &[u8], scope: Scope) -> Result<(Transform, &[u8]), BadExpression> {
    let text = text.strip_prefix(b"s").ok_or(BadExpression::Form)?;
    let delimiter = *text.first().ok_or(BadExpression::Form)?;
    let [pattern, replacement, mut rest] = split(text).ok_or(BadExpression::Form)?;
    let mut transform = Transform {
        pattern: pattern.to_vec(),
        syntax: Syntax::Basic,
        ignore_case: false,
        replacement: parse_replacement(replacement, delimiter),
        from_match: NonZeroUsize::MIN,
        all_matches: false,
        scope,
        last: false,
    };
    while let [flag, left @ ..] = rest {
        match flag {
            b';' => break,
            b'g' => transform.all_matches = true,
            b'i' => transform.ignore_case = true,
            b'x' => transform.syntax = Syntax::Extended,
            b'0'..=b'9' => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = rest[..digits].iter().fold(0_usize, |number, digit| {
                    number
                        .saturating_mul(10)
                        .saturating_add(usize::from(digit - b'0'))
                });
                // 0 means the first, as in GNU tar.
                transform.from_match = NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
                rest = &rest[digits..];
                continue;
            }
            &other => {
                if !scope_flag(&mut transform.scope, other) {
                    return Err(BadExpression::Flag(other));
                }
            }
        }
        rest = left;
    }
    compile(&transform)?;
    Ok((transform, rest))
}

/// Pieces of a replacement, bytes gathered into one text.
#[derive(Default)]
struct Pieces {
    pieces: Vec<Replacement>,
    text: Vec<u8>,
}

impl Pieces {
    fn push(&mut self, piece: Replacement) {
        self.end_text();
        self.pieces.push(piece);
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.pieces
                .push(Replacement::Text(std::mem::take(&mut self.text)));
        }
    }

    fn finish(mut self) -> Vec<Replacement> {
        self.end_text();
        self.pieces
    }
}

/// The escapes that GNU tar knows; a backslash before anything else stands for itself.
fn parse_replacement(text: &[u8], delimiter: u8) -> Vec<Replacement> {
    let mut pieces = Pieces::default();
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'&' {
            pieces.push(Replacement::Group(0));
            continue;
        }
        if byte != b'\\' {
            pieces.text.push(byte);
            continue;
        }
        match bytes.next() {
            Some(digit @ b'0'..=b'9') => {
                pieces.push(Replacement::Group(usize::from(digit - b'0')));
            }
            Some(b'U') => pieces.push(Replacement::Case(Case::Upper)),
            Some(b'L') => pieces.push(Replacement::Case(Case::Lower)),
            Some(b'u') => pieces.push(Replacement::Case(Case::NextUpper)),
            Some(b'l') => pieces.push(Replacement::Case(Case::NextLower)),
            Some(b'E') => pieces.push(Replacement::Case(Case::Keep)),
            Some(b'a') => pieces.text.push(0x07),
            Some(b'b') => pieces.text.push(0x08),
            Some(b'f') => pieces.text.push(0x0c),
            Some(b'n') => pieces.text.push(b'\n'),
            Some(b'r') => pieces.text.push(b'\r'),
            Some(b't') => pieces.text.push(b'\t'),
            Some(b'v') => pieces.text.push(0x0b),
            Some(byte) if byte == b'\\' || byte == b'&' || byte == delimiter => {
                pieces.text.push(byte);
            }
            Some(other) => pieces.text.extend([b'\\', other]),
            None => pieces.text.push(b'\\'),
        }
    }
    pieces.finish()
}

fn compile(transform: &Transform) -> Result<Expression, BadExpression> {
    let expression = Expression::new(&transform.pattern, transform.syntax, transform.ignore_case)
        .map_err(BadExpression::Pattern)?;
    for piece in &transform.replacement {
        match piece {
            Replacement::Group(number) if *number > expression.groups() => {
                return Err(BadExpression::Group(*number));
            }
            _ => {}
        }
    }
    Ok(expression)
}

/// Whose name is transformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A member's own.
    Member,
    /// A hard link's target.
    HardLink,
    /// A symbolic link's target.
    Symlink,
}

/// All substitutions of a selection, compiled.
#[derive(Debug, Default)]
pub(super) struct Substitutions(Vec<(Transform, Expression)>);

impl Substitutions {
    pub(super) fn new(transforms: &[Transform]) -> Result<Self, BadExpression> {
        transforms
            .iter()
            .map(|transform| Ok((transform.clone(), compile(transform)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Makes the substitutions in a name, one after the other.
    pub(super) fn apply(&self, name: &mut Vec<u8>, whose: Whose) {
        for (transform, expression) in &self.0 {
            let meant = match whose {
                Whose::Member => transform.scope.names,
                Whose::HardLink => transform.scope.hard_links,
                Whose::Symlink => transform.scope.symlinks,
            };
            if !meant {
                continue;
            }
            if let Some(changed) = substitute(transform, expression, name) {
                *name = changed;
                if transform.last {
                    return;
                }
            }
        }
    }
}

/// The name with its matches replaced; `None` when there are none.
fn substitute(transform: &Transform, expression: &Expression, name: &[u8]) -> Option<Vec<u8>> {
    let mut changed = Vec::new();
    let mut copied = None;
    let mut count = 0;
    expression.matches(name, |groups| {
        count += 1;
        if count < transform.from_match.get() {
            return true;
        }
        let found = groups[0].clone().expect("group 0 is the match");
        changed.extend_from_slice(&name[copied.unwrap_or(0)..found.start]);
        replace(&transform.replacement, name, groups, &mut changed);
        copied = Some(found.end);
        transform.all_matches
    });
    changed.extend_from_slice(&name[copied?..]);
    Some(changed)
}

fn replace(pieces: &[Replacement], name: &[u8], groups: &Groups, out: &mut Vec<u8>) {
    let mut lasting = Case::Keep;
    let mut next = None;
    for piece in pieces {
        let text = match piece {
            Replacement::Text(text) => &text[..],
            Replacement::Group(number) => match groups.get(*number) {
                Some(Some(range)) => &name[range.clone()],
                _ => &[],
            },
            Replacement::Case(case @ (Case::NextUpper | Case::NextLower)) => {
                next = Some(*case);
                continue;
            }
            Replacement::Case(case) => {
                lasting = *case;
                continue;
            }
        };
        out.extend(
            text.iter()
                .map(|byte| match next.take().unwrap_or(lasting) {
                    Case::Upper | Case::NextUpper => byte.to_ascii_uppercase(),
                    Case::Lower | Case::NextLower => byte.to_ascii_lowercase(),
                    Case::Keep => *byte,
                }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(arguments: &[&str]) -> Substitutions {
        let mut scope = Scope::default();
        let mut transforms = Vec::new();
        for argument in arguments {
            transforms.extend(parse(argument.as_bytes(), &mut scope).expect(argument));
        }
        Substitutions::new(&transforms).unwrap()
    }

    fn apply(substitutions: &Substitutions, name: &str, whose: Whose) -> String {
        let mut name = name.as_bytes().to_vec();
        substitutions.apply(&mut name, whose);
        String::from_utf8(name).unwrap()
    }

    #[test]
    fn names_change_as_with_gnu_tar() {
        const NAMES: &str = "usr/foo usr/Bar a-b-c aaa foofoobar d/e";
        for (argument, expected) in [
            ("s/usr/USR/", "USR/foo USR/Bar a-b-c aaa foofoobar d/e"),
            (
                "s,\\(usr\\)/\\(.*\\),\\2/\\1,",
                "foo/usr Bar/usr a-b-c aaa foofoobar d/e",
            ),
            (
                "s,(usr)/(.*),\\2/\\1,x",
                "foo/usr Bar/usr a-b-c aaa foofoobar d/e",
            ),
            ("s/a/b/g", "usr/foo usr/Bbr b-b-c bbb foofoobbr d/e"),
            ("s/a/b/gg", "usr/foo usr/Bbr b-b-c bbb foofoobbr d/e"),
            ("s/a/b/0", "usr/foo usr/Bbr b-b-c baa foofoobbr d/e"),
            ("s/USR/x/i", "x/foo x/Bar a-b-c aaa foofoobar d/e"),
            ("s/.*/\\U&/", "USR/FOO USR/BAR A-B-C AAA FOOFOOBAR D/E"),
            ("s/.*/\\u&/", "Usr/foo Usr/Bar A-b-c Aaa Foofoobar D/e"),
            (
                "s/\\(.\\)\\(.*\\)/\\U\\1\\E\\2/",
                "Usr/foo Usr/Bar A-b-c Aaa Foofoobar D/e",
            ),
            (
                "s/\\(.\\)\\(.*\\)/\\U\\1\\L\\2/",
                "Usr/foo Usr/bar A-b-c Aaa Foofoobar D/e",
            ),
            (
                "s/usr/\\Uab\\lCD\\Eef/",
                "ABcDef/foo ABcDef/Bar a-b-c aaa foofoobar d/e",
            ),
            (
                "s/usr/\\uab\\lCD/",
                "AbcD/foo AbcD/Bar a-b-c aaa foofoobar d/e",
            ),
            ("s/usr/x/;s/x/y/", "y/foo y/Bar a-b-c aaa foofoobar d/e"),
            ("s/usr/x/;", "x/foo x/Bar a-b-c aaa foofoobar d/e"),
            (
                "s/^/p\\/x/",
                "p/xusr/foo p/xusr/Bar p/xa-b-c p/xaaa p/xfoofoobar p/xd/e",
            ),
            (
                "s,$,END,",
                "usr/fooEND usr/BarEND a-b-cEND aaaEND foofoobarEND d/eEND",
            ),
            ("s//x/", "xusr/foo xusr/Bar xa-b-c xaaa xfoofoobar xd/e"),
            (
                "s/usr/\\0\\,\\q[\\&]/",
                "usr\\,\\q[&]/foo usr\\,\\q[&]/Bar a-b-c aaa foofoobar d/e",
            ),
            ("s\\a\\b\\", "usr/foo usr/Bbr b-b-c baa foofoobbr d/e"),
            (
                "s/\\(x\\)\\?usr/[\\1]/",
                "[]/foo []/Bar a-b-c aaa foofoobar d/e",
            ),
        ] {
            let substitutions = all(&[argument]);
            let names: Vec<_> = NAMES
                .split(' ')
                .map(|name| apply(&substitutions, name, Whose::Member))
                .collect();
            assert_eq!(names.join(" "), expected, "{argument}");
        }
    }

    #[test]
    fn counted_matches_are_those_of_sed() {
        for (argument, name, expected) in [
            ("s/a/b/2", "aaa", "aba"),
            ("s/a/b/2g", "aaaa", "abbb"),
            ("s/a/b/1g3", "aaa", "aab"),
            ("s/a/b/2", "usr/Bar", "usr/Bar"),
            ("s/b*/x/2", "aaa", "axaa"),
            ("s/b*/x/g", "aaa", "xaxaxax"),
            ("s/a*/x/g", "baaac", "xbxcx"),
            ("s/\\(a\\|ab\\)/[\\1]/", "abcd", "[ab]cd"),
            (
                "s/\\(a\\|ab\\)\\(c\\|bcd\\)\\(d*\\)/[\\1][\\2][\\3]/",
                "abcd",
                "[a][bcd][]",
            ),
            ("s/.*/\\u\\L&/", "ABC", "Abc"),
            ("s/./_/g", "a\u{e4}\u{20ac}", "___"),
            ("s/[^\u{e4}]/_/g", "\u{e4}x\u{20ac}", "\u{e4}__"),
        ] {
            assert_eq!(
                apply(&all(&[argument]), name, Whose::Member),
                expected,
                "{argument}"
            );
        }
    }

    #[test]
    fn flags_say_whose_names_are_meant() {
        for (arguments, expected) in [
            (&["s/usr/U/"][..], "U U U"),
            (&["s/usr/U/S"], "U U usr"),
            (&["s/usr/U/H"], "U usr U"),
            (&["s/usr/U/R"], "usr U U"),
            (&["s/usr/U/RSH"], "usr usr usr"),
            (&["s/usr/U/r"], "U U U"),
            (&["s/usr/U/sh"], "U U U"),
            (&["s/usr/U/rR"], "usr U U"),
            (&["flags=r;s/usr/U/"], "U usr usr"),
            (&["flags=R;s/usr/U/"], "usr usr usr"),
            (&["flags=R;s/usr/U/r"], "U usr usr"),
            (&["flags=;s/usr/U/"], "usr usr usr"),
            (&["flags=h;s/usr/U/;s/U/V/s"], "usr V usr"),
            (&["flags=r", "s/usr/U/"], "U usr usr"),
            (&["flags=r;s/x/y/", "s/usr/U/"], "U usr usr"),
        ] {
            let substitutions = all(arguments);
            let names: Vec<_> = [Whose::Member, Whose::HardLink, Whose::Symlink]
                .into_iter()
                .map(|whose| apply(&substitutions, "usr", whose))
                .collect();
            assert_eq!(names.join(" "), expected, "{arguments:?}");
        }
    }

    #[test]
    fn basic_and_extended_syntax_differ_as_in_posix() {
        for (argument, name, expected) in [
            ("s|a\\|b|X|", "bcd", "Xcd"),
            ("s+a\\+b+X+", "aab", "X"),
            ("s,a\\,b,X,", "a,b", "X"),
            ("s/*/q/", "a*b", "aqb"),
            ("s/^*/q/", "*b", "qb"),
            ("s/\\(*\\)b/q/", "a*b", "aq"),
            ("s/a*b/q/", "aab", "q"),
            ("s/a)/q/x", "a)", "q"),
            ("s/a{,2}/q/x", "aaa", "qa"),
            ("s/a\\{2\\}/q/", "aaa", "qa"),
            ("s/a{1,}/q/x", "aaa", "q"),
            ("s/a^b/q/", "a^b", "q"),
            ("s/a^b/q/x", "a^b", "a^b"),
            ("s/a$b/q/", "a$b", "q"),
            ("s/a|/q/x", "b", "qb"),
            ("s/()/q/x", "a", "qa"),
            ("s/[b-]/q/", "a-", "aq"),
            ("s/[]b]/q/", "a]", "aq"),
            ("s/[\\]/q/", "x\\y", "xqy"),
            ("s/\\<b/q/", "ab b", "ab q"),
            ("s/b\\>/q/", "ba b", "ba q"),
            ("s/[[:digit:]]*$//", "a12", "a"),
            ("s/[A-C]/q/gi", "abcd", "qqqd"),
            ("s/a*?/q/x", "aab", "qb"),
            ("s/\\w\\W\\s/q/", "a- b", "qb"),
            ("s/\\./q/", "a.b", "aqb"),
            ("s/.*\\///", "a/b/c", "c"),
            ("s/a.b/q/", "a\nb", "q"),
        ] {
            assert_eq!(
                apply(&all(&[argument]), name, Whose::Member),
                expected,
                "{argument}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_matched_one_by_one() {
        let substitute = |argument: &[u8], name: &[u8]| {
            let transforms = parse(argument, &mut Scope::default()).unwrap();
            let mut name = name.to_vec();
            Substitutions::new(&transforms)
                .unwrap()
                .apply(&mut name, Whose::Member);
            name
        };
        assert_eq!(substitute(b"s/\xff/x/", b"a\xff\xfe"), b"ax\xfe");
        assert_eq!(substitute(b"s/a.\\(.\\)/x\\1/", b"ba\xffc\xfe"), b"bxc\xfe");
        assert_eq!(substitute(b"s/[\xfe-\xff]/x/g", b"\xfd\xfe\xff"), b"\xfdxx");
        assert_eq!(substitute(b"s/b/\xff/", b"\xc3b\xa4"), b"\xc3\xff\xa4");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let form = BadExpression::Form;
        for (argument, error) in [
            ("x", form.clone()),
            ("s", form.clone()),
            ("s/a", form.clone()),
            ("s/a/b", form.clone()),
            ("y/a/b/", form.clone()),
            (" s/a/b/", form.clone()),
            ("s/a/b/g;q", form.clone()),
            ("s/usr/x/;;s/x/y/;", form),
            ("s/a/b/q", BadExpression::Flag(b'q')),
            ("s/a/b/ s/c/d/", BadExpression::Flag(b' ')),
            ("flags=q", BadExpression::Flag(b'q')),
            ("s/a/\\1/", BadExpression::Group(1)),
            ("s/(a)/\\3/x", BadExpression::Group(3)),
        ] {
            assert_eq!(
                parse(argument.as_bytes(), &mut Scope::default()),
                Err(error),
                "{argument}"
            );
        }
        for argument in [
            "s/\\(/b/",
            "s/\\)/b/",
            "s/[/x/",
            "s/\\{1\\}/q/",
            "s/*/q/x",
            "s/(*a)/q/x",
            "s/a{x/q/x",
            "s/a{1/q/x",
            "s/a{2,1}/q/x",
            "s/a{99999}/q/x",
            "s/f\\(o\\)\\1/X/",
            "s/[z-a]/x/",
            "s/[[:foo:]]/x/",
            "s/(((((a{999}){999}){999}){999}){999})/x/x",
        ] {
            assert!(
                matches!(
                    parse(argument.as_bytes(), &mut Scope::default()),
                    Err(BadExpression::Pattern(_))
                ),
                "{argument}"
            );
        }
    }

    #[test]
    fn star_substitutes_by_its_own_patterns() {
        let transforms: Vec<_> = ["/usr!opt/&.old/", "/o/0/g", "/a\\/b/x\\&y/"]
            .iter()
            .map(|argument| parse_star(argument.as_bytes()).unwrap())
            .collect();
        let substitutions = Substitutions::new(&transforms).unwrap();
        for (name, expected) in [
            ("opt/foo", "opt.old/foo"),
            ("foo", "f00"),
            ("a/b", "x&y"),
            ("bar", "bar"),
        ] {
            assert_eq!(apply(&substitutions, name, Whose::Member), expected);
            assert_eq!(apply(&substitutions, name, Whose::HardLink), name);
        }
        assert_eq!(parse_star(b"/a/b"), Err(BadExpression::Form));
        assert_eq!(parse_star(b"/a/b/p"), Err(BadExpression::Flag(b'p')));
        assert!(matches!(
            parse_star(b"/{a/b/"),
            Err(BadExpression::Pattern(_))
        ));
    }
}
