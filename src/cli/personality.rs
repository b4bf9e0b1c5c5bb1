//! The name we are called by chooses the command line we speak. Nothing else looks at `argv[0]`.

use super::dialect::Dialect;
use super::usage::UsageError;

/// Who we are in this run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Personality {
    /// The command line we speak.
    pub(crate) dialect: Dialect,
    /// The name that messages begin with.
    pub(crate) program: Vec<u8>,
    /// The arguments that are left.
    pub(crate) arguments: Vec<Vec<u8>>,
}

/// The names of the command lines we speak.
const NAMES: &[(&str, Dialect)] = &[
    ("durastar", Dialect::Gnu),
    ("tar", Dialect::Gnu),
    ("gtar", Dialect::Gnu),
    ("gnutar", Dialect::Gnu),
    ("star", Dialect::Star),
    ("ustar", Dialect::Star),
    ("suntar", Dialect::Star),
];

/// Names that star knows and we do not speak.
const REFUSED: &[&str] = &["pax", "spax", "cpio", "scpio"];

/// Chooses by a first argument `cli=NAME` or by the program's name; a name nobody knows speaks as `durastar` does, so
/// that a copy called `durastar-0.1` works.
///
/// `cli=NAME` stands for having been called by that name, in messages too.
pub(crate) fn choose(mut arguments: Vec<Vec<u8>>) -> Result<Personality, (Vec<u8>, UsageError)> {
    let called = if arguments.is_empty() {
        b"durastar".to_vec()
    } else {
        arguments.remove(0)
    };
    let program = called
        .rsplit(|&byte| byte == b'/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(b"durastar")
        .to_vec();
    let asked = arguments
        .first()
        .and_then(|first| first.strip_prefix(b"cli="))
        .map(<[u8]>::to_vec);
    let name = asked.clone().unwrap_or_else(|| program.clone());
    let found = NAMES
        .iter()
        .find(|(known, _)| known.as_bytes() == name)
        .map(|&(_, dialect)| dialect);
    let known = REFUSED.iter().any(|known| known.as_bytes() == name);
    let dialect = match found {
        Some(dialect) => dialect,
        None if known || asked.is_some() => {
            return Err((program, UsageError::Personality { name, known }));
        }
        None => Dialect::Gnu,
    };
    if asked.is_some() {
        arguments.remove(0);
    }
    Ok(Personality {
        dialect,
        program: name,
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use super::{Dialect, choose};

    fn words(line: &str) -> Vec<Vec<u8>> {
        line.split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect()
    }

    #[test]
    fn each_name_speaks_its_command_line() {
        for (line, dialect, program) in [
            ("durastar -t", Dialect::Gnu, "durastar"),
            ("/usr/bin/tar -t", Dialect::Gnu, "tar"),
            ("gtar -t", Dialect::Gnu, "gtar"),
            ("./gnutar -t", Dialect::Gnu, "gnutar"),
            ("star -t", Dialect::Star, "star"),
            ("bin/ustar -t", Dialect::Star, "ustar"),
            ("suntar -t", Dialect::Star, "suntar"),
            ("durastar cli=star -t", Dialect::Star, "star"),
            ("star cli=gnutar -t", Dialect::Gnu, "gnutar"),
            ("durastar-0.1 -t", Dialect::Gnu, "durastar-0.1"),
        ] {
            let chosen = choose(words(line)).unwrap();
            assert_eq!(chosen.dialect, dialect, "{line}");
            assert_eq!(chosen.program, program.as_bytes(), "{line}");
            assert_eq!(chosen.arguments, words("-t"), "{line}");
        }
    }

    #[test]
    fn no_arguments_at_all() {
        assert_eq!(choose(Vec::new()).unwrap().program, b"durastar");
    }

    #[test]
    fn command_lines_that_we_do_not_speak() {
        for line in ["cpio -t", "durastar cli=pax", "star cli=nothing"] {
            choose(words(line)).unwrap_err();
        }
    }

    #[test]
    fn only_the_first_argument_chooses() {
        let chosen = choose(words("star -t cli=gnutar")).unwrap();
        assert_eq!(chosen.dialect, Dialect::Star);
        assert_eq!(chosen.arguments, words("-t cli=gnutar"));
    }
}
