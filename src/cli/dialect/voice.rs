//! What the dialects' voices share: names fit for a terminal, causes without Rust's additions.

use std::io;

/// A line for standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// With the program's name before it.
    Said(Vec<u8>),
    /// As it is.
    Plain(Vec<u8>),
}

impl Line {
    /// A line with the program's name before it.
    pub(crate) fn said(text: impl Into<Vec<u8>>) -> Self {
        Self::Said(text.into())
    }

    /// A line as it is.
    pub(crate) fn plain(text: impl Into<Vec<u8>>) -> Self {
        Self::Plain(text.into())
    }
}

/// What the system says about a failure, as strerror(3) words it: `Display` adds ` (os error N)`.
pub(crate) fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(code) => text
            .strip_suffix(&format!(" (os error {code})"))
            .unwrap_or(&text)
            .to_owned(),
        None => text,
    }
}

/// A name as messages show it: control bytes, backslashes and what is not UTF-8 as C escapes, so that no name can
/// command a terminal. `also` is escaped too.
pub(crate) fn name(name: &[u8], also: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut buffer = [0_u8; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            match character {
                '\\' => out.extend_from_slice(b"\\\\"),
                '\n' => out.extend_from_slice(b"\\n"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\x07' => out.extend_from_slice(b"\\a"),
                '\x08' => out.extend_from_slice(b"\\b"),
                '\x0b' => out.extend_from_slice(b"\\v"),
                '\x0c' => out.extend_from_slice(b"\\f"),
                _ if character.is_control() => octal(bytes, &mut out),
                _ if bytes.len() == 1 && also.contains(&bytes[0]) => {
                    out.extend_from_slice(&[b'\\', bytes[0]]);
                }
                _ => out.extend_from_slice(bytes),
            }
        }
        octal(chunk.invalid(), &mut out);
    }
    out
}

fn octal(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
    }
}

/// A sentence out of texts and names.
macro_rules! sentence {
    ($($part:expr),+ $(,)?) => {{
        let mut out: Vec<u8> = Vec::new();
        $(out.extend_from_slice(::std::convert::AsRef::<[u8]>::as_ref(&$part));)+
        out
    }};
}
pub(crate) use sentence;

#[cfg(test)]
mod tests {
    use std::io;

    use super::{cause, name};

    #[test]
    fn names_cannot_command_a_terminal() {
        assert_eq!(name(b"a b", b""), b"a b");
        assert_eq!(name(b"a\x1b[31m\n\\", b""), br"a\033[31m\n\\");
        assert_eq!(
            name("a:\u{e4}\u{9b}".as_bytes(), b":"),
            "a\\:\u{e4}\\302\\233".as_bytes()
        );
        assert_eq!(name(b"\xff\x7f", b""), br"\377\177");
    }

    #[test]
    fn causes_are_worded_as_the_system_does() {
        assert_eq!(
            cause(&io::Error::from_raw_os_error(2)),
            "No such file or directory"
        );
        assert_eq!(cause(&io::Error::other("odd")), "odd");
    }
}
