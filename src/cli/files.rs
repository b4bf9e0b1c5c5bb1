//! Lists of names and patterns in files.

/// How a list of names is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Names end in NUL, not newline. Implies `verbatim`.
    pub(crate) nul_separated: bool,
    /// A line that begins with a dash is a name too.
    pub(crate) verbatim: bool,
    /// Backslash escapes are undone.
    pub(crate) unquote: bool,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            nul_separated: false,
            verbatim: false,
            unquote: true,
        }
    }
}

/// What a line of a list stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A member.
    Name(Vec<u8>),
    /// A directory to go to, as after `-C`.
    Directory(Vec<u8>),
    /// Another option.
    Option(Vec<u8>),
}

impl Format {
    /// The items of a list.
    pub(crate) fn split(self, text: &[u8]) -> Vec<Item> {
        let end = if self.nul_separated { b'\0' } else { b'\n' };
        let verbatim = self.verbatim || self.nul_separated;
        let mut items = Vec::new();
        let mut lines = lines(text, end);
        while let Some(line) = lines.next() {
            if verbatim || line.first() != Some(&b'-') || line == b"-" {
                items.push(Item::Name(if self.unquote && !self.nul_separated {
                    unquoted(line)
                } else {
                    line.to_vec()
                }));
                continue;
            }
            let directory = line
                .strip_prefix(b"--directory=")
                .or_else(|| line.strip_prefix(b"-C"))
                .map(<[u8]>::trim_ascii_start);
            items.push(match directory {
                Some(b"") => match lines.next() {
                    Some(next) => Item::Directory(next.to_vec()),
                    None => Item::Option(line.to_vec()),
                },
                Some(directory) => Item::Directory(directory.to_vec()),
                None => Item::Option(line.to_vec()),
            });
        }
        items
    }
}

/// The lines of a text that are not empty.
pub(crate) fn lines(text: &[u8], end: u8) -> impl Iterator<Item = &[u8]> {
    text.split(move |&byte| byte == end)
        .filter(|line| !line.is_empty())
}

/// Undoes the escapes that GNU tar writes in listings: `\n`, `\\`, three octal digits ... What is none stays.
fn unquoted(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let digits = rest
            .iter()
            .take(3)
            .take_while(|digit| (b'0'..b'8').contains(*digit))
            .count();
        if digits > 0 {
            let value = rest[..digits]
                .iter()
                .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            out.push((value & 0xff) as u8);
            rest = &rest[digits..];
            continue;
        }
        let plain = match rest.first() {
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 11,
            Some(b'?') => 0x7f,
            Some(b'\\') => b'\\',
            _ => {
                out.push(b'\\');
                continue;
            }
        };
        out.push(plain);
        rest = &rest[1..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Format, Item, unquoted};

    fn name(text: &[u8]) -> Item {
        Item::Name(text.to_vec())
    }

    #[test]
    fn lines_are_names_and_empty_ones_nothing() {
        assert_eq!(
            Format::default().split(b"a\n\nb c\n"),
            [name(b"a"), name(b"b c")]
        );
        assert_eq!(Format::default().split(b"a"), [name(b"a")]);
    }

    #[test]
    fn escapes_are_undone_unless_told_otherwise() {
        assert_eq!(unquoted(br"a\nb\\c\101\q\"), b"a\nb\\cA\\q\\");
        let plain = Format {
            unquote: false,
            ..Format::default()
        };
        assert_eq!(plain.split(br"a\n"), [name(br"a\n")]);
    }

    #[test]
    fn nul_separated_names_are_verbatim() {
        let nul = Format {
            nul_separated: true,
            ..Format::default()
        };
        assert_eq!(nul.split(b"-a\0b\nc\0"), [name(b"-a"), name(b"b\nc")]);
    }

    #[test]
    fn directories_may_stand_in_a_list_and_other_options_not() {
        assert_eq!(
            Format::default().split(b"-C\nd\n-Ce\n-C f\n--directory=g\n--null\n"),
            [
                Item::Directory(b"d".to_vec()),
                Item::Directory(b"e".to_vec()),
                Item::Directory(b"f".to_vec()),
                Item::Directory(b"g".to_vec()),
                Item::Option(b"--null".to_vec()),
            ]
        );
    }
}
