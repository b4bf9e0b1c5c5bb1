//! `--help`, usage and version, rendered from the option tables.

use std::fmt::Write;

use super::dialect::Dialect;
use super::option::{Category, OptionDef, Value};

/// Where the descriptions begin, as in GNU programs.
const COLUMN: usize = 29;
/// Lines are no longer than this.
const WIDTH: usize = 79;

/// The version. Scripts look here for the program whose options they may use.
pub(crate) fn version(dialect: Dialect) -> String {
    let whose = match dialect {
        Dialect::Gnu => "GNU tar 1.34",
        Dialect::Star => "star 1.7",
    };
    format!(
        "durastar {}\nIts command line is that of {whose}.\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// All options of a dialect.
pub(crate) fn help(dialect: Dialect, program: &str) -> String {
    let mut text = match dialect {
        Dialect::Gnu => format!(
            "Usage: {program} [OPTION...] [MEMBER]...\n\
             List, extract, create and compare tar archives, durably.\n\n\
             Examples:\n  \
             {program} -tvf archive.tar        # List all members.\n  \
             {program} -xf archive.tar         # Extract all members.\n  \
             {program} -xf archive.tar dir/a   # Extract one.\n  \
             {program} -cf archive.tar dir     # Create it from what is below dir.\n"
        ),
        Dialect::Star => format!(
            "Usage:\t{program} cmd [options] file1 ... filen\n\
             List, extract, create and compare tar archives, durably.\n\n\
             Examples:\n  \
             {program} -tv f=archive.tar       # List all members.\n  \
             {program} -xp f=archive.tar       # Extract all members.\n"
        ),
    };
    for category in Category::ALL {
        let rows: Vec<_> = dialect
            .options()
            .filter(|row| row.category == category && row.is_built())
            .collect();
        if rows.is_empty() {
            continue;
        }
        let _ = write!(text, "\n {}:\n\n", category.heading());
        for row in rows {
            entry(dialect, row, &mut text);
        }
    }
    let refused = refused(dialect);
    text.push_str("\n Known and not supported yet:\n\n");
    wrap(&refused.join(", "), 2, 2, &mut text);
    text
}

/// A short reminder.
pub(crate) fn usage(program: &str) -> String {
    let mut text = format!("Usage: {program}");
    let mut line = text.len();
    let mut flags = String::from("[-");
    for row in Dialect::Gnu.options() {
        if row.is_built() && row.value == Value::None {
            flags.push_str(row.shorts);
        }
    }
    flags.push(']');
    let shorts = Dialect::Gnu.options().filter_map(|row| match row.value {
        Value::Required(value) if row.is_built() => {
            Some(format!("[-{} {value}]", row.shorts.chars().next()?))
        }
        _ => None,
    });
    let longs = Dialect::Gnu
        .options()
        .filter(|row| row.is_built() && row.category != Category::Hidden)
        .flat_map(|row| {
            row.longs.iter().map(|long| match row.value {
                Value::None => format!("[--{long}]"),
                Value::Required(value) => format!("[--{long}={value}]"),
                Value::Optional(value) => format!("[--{long}[={value}]]"),
            })
        });
    let words = std::iter::once(flags)
        .chain(shorts)
        .chain(longs)
        .chain(["[MEMBER]...".to_owned()]);
    for word in words {
        if line + 1 + word.len() > WIDTH {
            text.push_str("\n           ");
            line = 11;
        }
        text.push(' ');
        text.push_str(&word);
        line += 1 + word.len();
    }
    text.push('\n');
    text
}

/// The spellings of an option, as its dialect's users write them.
pub(crate) fn spellings(dialect: Dialect, row: &OptionDef) -> String {
    let own = super::dialect::own::OPTIONS
        .iter()
        .any(|own| std::ptr::eq(own, row));
    let mut parts: Vec<String> = Vec::new();
    match dialect {
        Dialect::Star if !own => {
            let names = row
                .shorts
                .chars()
                .map(String::from)
                .chain(row.longs.iter().map(|long| (*long).to_owned()));
            for name in names {
                parts.push(match row.value {
                    Value::None => format!("-{name}"),
                    Value::Required(value) | Value::Optional(value) => format!("{name}={value}"),
                });
            }
        }
        _ => {
            parts.extend(row.shorts.chars().map(|short| format!("-{short}")));
            let count = row.longs.len();
            for (at, long) in row.longs.iter().enumerate() {
                // The value stands once, after the last name.
                parts.push(match row.value {
                    Value::Required(value) if at + 1 == count => format!("--{long}={value}"),
                    Value::Optional(value) if at + 1 == count => format!("--{long}[={value}]"),
                    _ => format!("--{long}"),
                });
            }
            if count == 0
                && let Value::Required(value) = row.value
                && let Some(last) = parts.last_mut()
            {
                last.push(' ');
                last.push_str(value);
            }
        }
    }
    parts.join(", ")
}

/// The names of the options that are known and not built.
pub(crate) fn refused(dialect: Dialect) -> Vec<String> {
    dialect
        .options()
        .filter(|row| !row.is_built())
        .flat_map(|row| {
            let dashes = if dialect == Dialect::Gnu { "--" } else { "-" };
            let longs = row.longs.iter().map(move |long| format!("{dashes}{long}"));
            let shorts = row.shorts.chars().map(|short| format!("-{short}"));
            shorts.chain(longs).collect::<Vec<_>>()
        })
        .collect()
}

fn entry(dialect: Dialect, row: &OptionDef, text: &mut String) {
    let names = spellings(dialect, row);
    // A long name without a letter is indented as if it had one.
    let indent = if row.shorts.is_empty() && names.starts_with("--") {
        6
    } else {
        2
    };
    let mut head = format!("{:indent$}{names}", "");
    if head.len() + 2 > COLUMN {
        head.push('\n');
        text.push_str(&head);
        wrap(row.help, COLUMN, COLUMN, text);
    } else {
        text.push_str(&head);
        let mut help = String::new();
        wrap(row.help, COLUMN, COLUMN, &mut help);
        text.push_str(&help[head.len()..]);
    }
}

/// Breaks a text into lines with an indent.
fn wrap(words: &str, first: usize, others: usize, text: &mut String) {
    let mut line = format!("{:first$}", "");
    let mut empty = true;
    for word in words.split(' ') {
        if !empty && line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = format!("{:others$}", "");
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{Category, Dialect, help, usage};

    #[test]
    fn help_is_no_wider_than_a_terminal() {
        for dialect in [Dialect::Gnu, Dialect::Star] {
            let text = help(dialect, "durastar");
            assert!(text.lines().all(|line| line.len() <= 79), "{text}");
        }
        assert!(usage("durastar").lines().all(|line| line.len() <= 79));
    }

    #[test]
    fn each_built_option_has_its_line_and_each_refused_one_its_name() {
        for dialect in [Dialect::Gnu, Dialect::Star] {
            let text = help(dialect, "durastar");
            for row in dialect
                .options()
                .filter(|row| row.category != Category::Hidden)
            {
                for long in row.longs {
                    assert!(text.contains(long), "{long}");
                }
                assert!(!row.is_built() || !row.help.is_empty(), "{row:?}");
            }
        }
    }

    #[test]
    fn spellings_as_each_dialect_writes_them() {
        let gnu = help(Dialect::Gnu, "tar");
        assert!(gnu.contains("\n  -x, --extract, --get       restore members from an archive\n"));
        assert!(gnu.contains("\n      --sync=MODE            force members"));
        let star = help(Dialect::Star, "star");
        assert!(star.contains("\n  f=NAME, file=NAME          the archive"));
        assert!(star.contains("\n      --sync=MODE            force members"));
    }
}
