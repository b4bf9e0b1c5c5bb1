//! The manual pages of the command lines, rendered from the option tables as roff.
//!
//! `man/durastar.1` and `man/durastar-star.1` are what this gives; a test compares them and `BLESS=1` rewrites them.

use std::fmt::Write;

use super::dialect::Dialect;
use super::help;
use super::option::{Category, OptionDef, Value};
use super::report::LAYOUT;

/// The manual page of a dialect.
pub(crate) fn page(dialect: Dialect) -> String {
    let mut text = String::new();
    let title = match dialect {
        Dialect::Gnu => "DURASTAR",
        Dialect::Star => "DURASTAR-STAR",
    };
    let _ = writeln!(
        text,
        ".\\\" Rendered from the option tables; do not edit.\n\
         .TH {title} 1 \"\" \"durastar {}\" \"User Commands\"",
        env!("CARGO_PKG_VERSION")
    );
    head(dialect, &mut text);
    text.push_str(".SH OPTIONS\n");
    for category in Category::ALL {
        let rows: Vec<_> = dialect
            .options()
            .filter(|row| row.category == category && row.is_built())
            .collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, ".SS {}", escape(category.heading()));
        for row in rows {
            option(dialect, row, &mut text);
        }
    }
    text.push_str(".SS Known and not supported yet\n");
    text.push_str("These are refused by name: ");
    text.push_str(&escape(&help::refused(dialect).join(", ")));
    text.push_str(".\n");
    tail(dialect, &mut text);
    text
}

fn head(dialect: Dialect, text: &mut String) {
    match dialect {
        Dialect::Gnu => text.push_str(
            ".SH NAME\n\
             durastar \\- list, extract, create and compare tar archives, as durably as you ask\n\
             .SH SYNOPSIS\n\
             .B durastar\n\
             .RB { \\-c | \\-r | \\-u | \\-A | \\-d | \\-t | \\-x }\n\
             .RB [ \\-f\n\
             .IR ARCHIVE ]\n\
             .RI [ OPTION ...]\n\
             .RI [ MEMBER ...]\n\
             .SH DESCRIPTION\n\
             .B durastar\n\
             reads tar archives in all formats of GNU tar, pax and star, compressed or not, and lists or restores \
             their members. Its command line is that of GNU tar with options of its own. Called as\n\
             .BR tar ,\n\
             .B gtar\n\
             or\n\
             .B gnutar\n\
             it is the same. Called as\n\
             .BR star ,\n\
             .B ustar\n\
             or\n\
             .BR suntar ,\n\
             or with a first argument\n\
             .BR cli=star ,\n\
             its command line is that of star, see\n\
             .BR durastar-star (1).\n\
             .PP\n\
             Options may be bundled\n\
             .RB ( \\-xvf ),\n\
             long names may be abbreviated as long as they are unambiguous, and a first argument without a dash is a \
             bundle whose values follow in their order\n\
             .RB ( \"xvf a.tar\" ).\n\
             .PP\n\
             What ends with status 0 is on stable storage, as far as the system tells, unless\n\
             .B \\-\\-sync=none\n\
             was asked for.\n",
        ),
        Dialect::Star => text.push_str(
            ".SH NAME\n\
             durastar-star \\- the star command line of durastar\n\
             .SH SYNOPSIS\n\
             .B star\n\
             .RB { \\-c | \\-r | \\-u | \\-diff | \\-t | \\-x | \\-n }\n\
             .RB [ f=\\fINAME ]\n\
             .RI [ options ]\n\
             .RI [ file ...]\n\
             .br\n\
             .B durastar cli=star\n\
             \\&...\n\
             .SH DESCRIPTION\n\
             When\n\
             .BR durastar (1)\n\
             is called as\n\
             .BR star ,\n\
             .B ustar\n\
             or\n\
             .BR suntar ,\n\
             or with a first argument\n\
             .BR cli=star ,\n\
             its command line is that of star.\n\
             .PP\n\
             Names begin with one dash or two, also long ones. Values follow an equals sign, and such an option needs \
             no dash; its value may also be the next argument if it has one. Single letters may be bundled; a word that \
             is the name of an option is that option, not a bundle. A first argument without a dash and an equals sign \
             is a bundle whose values follow in their order\n\
             .RB ( \"tvf a.tar\" ).\n\
             .PP\n\
             Unlike GNU tar, star keeps files that are not older than the member unless told\n\
             .BR \\-U ,\n\
             refuses links that lead out of the destination, and syncs each file.\n",
        ),
    }
}

fn tail(dialect: Dialect, text: &mut String) {
    text.push_str(".SH ENVIRONMENT\n");
    for (name, what) in variables(dialect) {
        let _ = writeln!(text, ".TP\n.B {name}\n{}", escape(what));
    }
    text.push_str(".SH \"EXIT STATUS\"\n");
    for (status, what) in statuses(dialect) {
        let _ = writeln!(text, ".TP\n.B {status}\n{}", escape(what));
    }
    text.push_str(
        ".SH REPORT\n\
         The file that\n\
         .B \\-\\-report\n\
         writes is a JSON object. Fields may be added; one that changes its meaning changes the number in\n\
         .BR durastar_report .\n\
         A dot in a name below stands for an object in the object. Times are in seconds, as fractions.\n",
    );
    for (name, what) in LAYOUT {
        let _ = writeln!(text, ".TP\n.B {}\n{}", escape(name), escape(what));
    }
    text.push_str(".SH SIGNALS\n");
    text.push_str(
        "An interrupt, a hangup or SIGTERM ends an extraction as soon as what is in hand is written, also while the \
         archive brings nothing: it is settled as the durability mode says, and the number of settled members and how to \
         go on are printed. A new archive that is not complete is removed, one that was appended to becomes what it was. \
         A second one ends it at once.\n",
    );
    text.push_str(match dialect {
        Dialect::Gnu => "SIGUSR1 prints figures so far, and work goes on.\n",
        Dialect::Star => "SIGQUIT and SIGUSR1 print figures so far, and work goes on.\n",
    });
    text.push_str(".SH \"SEE ALSO\"\n");
    text.push_str(match dialect {
        Dialect::Gnu => {
            ".BR durastar-star (1),\n.BR durastar-durability (7),\n.BR tar (1),\n.BR syncfs (2)\n"
        }
        Dialect::Star => {
            ".BR durastar (1),\n.BR durastar-durability (7),\n.BR star (1),\n.BR syncfs (2)\n"
        }
    });
}

fn variables(dialect: Dialect) -> Vec<(&'static str, &'static str)> {
    let mut variables = vec![(
        "DURASTAR_SYNC",
        "The durability mode when --sync does not say: each, group, batch or none.",
    )];
    match dialect {
        Dialect::Gnu => variables.extend([
            ("TAPE", "The archive when -f does not say."),
            (
                "TAR_OPTIONS",
                "Options that stand before those of the command line.",
            ),
        ]),
        Dialect::Star => variables.extend([
            (
                "STAR_FIFOSIZE",
                "The size of the FIFO when fs= does not say.",
            ),
            (
                "STAR_FSYNC",
                "N turns syncing off when no option says otherwise. DURASTAR_SYNC comes before it.",
            ),
            (
                "STAR_SECURE_LINKS",
                "N restores links that lead out of the destination.",
            ),
            ("TAPE", "The archive with -T."),
        ]),
    }
    variables.push(("TZ", "The time zone of times in listings."));
    variables
}

fn statuses(dialect: Dialect) -> &'static [(&'static str, &'static str)] {
    match dialect {
        Dialect::Gnu => &[
            (
                "0",
                "Everything asked for was done; unless the mode is none, it is on stable storage.",
            ),
            (
                "1",
                "With -d something differs; when writing, a file changed while it was read.",
            ),
            (
                "2",
                "Something was not done; messages say what. Also for mistakes in the command line.",
            ),
            (
                "64",
                "An option that does not exist, or one without its value.",
            ),
        ],
        Dialect::Star => &[
            (
                "0",
                "Everything asked for was done; unless the mode is none, it is on stable storage.",
            ),
            ("254", "Some members could not be processed."),
            (
                "255",
                "A mistake in the command line, or the archive is damaged.",
            ),
            (
                "other",
                "The number of the system's error (errno) that ended the run.",
            ),
        ],
    }
}

fn option(dialect: Dialect, row: &OptionDef, text: &mut String) {
    let _ = writeln!(text, ".TP\n{}", names(dialect, row));
    let mut sentence = row.help.to_owned();
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    sentence.push('.');
    if !row.more.is_empty() {
        sentence.push(' ');
        sentence.push_str(row.more);
    }
    text.push_str(&escape(&sentence));
    text.push('\n');
}

/// The option's spellings, names bold and values in italics.
fn names(dialect: Dialect, row: &OptionDef) -> String {
    let spelt = help::spellings(dialect, row);
    let value = match row.value {
        Value::None => None,
        Value::Required(value) | Value::Optional(value) => Some(value),
    };
    let parts: Vec<String> = spelt
        .split(", ")
        .map(
            |part| match value.and_then(|value| part.split_once(value)) {
                Some((before, after)) => format!(
                    "\\fB{}\\fI{}\\fB{}\\fR",
                    escape(before),
                    escape(value.unwrap_or_default()),
                    escape(after)
                ),
                None => format!("\\fB{}\\fR", escape(part)),
            },
        )
        .collect();
    parts.join(", ")
}

/// Text for roff: dashes are dashes, backslashes backslashes, and no line begins with a request.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Dialect, page};

    #[test]
    fn the_manual_pages_are_fresh() {
        for (dialect, file) in [
            (Dialect::Gnu, "man/durastar.1"),
            (Dialect::Star, "man/durastar-star.1"),
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            let fresh = page(dialect);
            if std::env::var_os("BLESS").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &fresh).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                kept == fresh,
                "{file} is stale; run the tests once with BLESS=1\n--- kept\n{kept}\n--- fresh\n{fresh}"
            );
        }
    }

    #[test]
    fn no_line_of_text_is_taken_for_a_request() {
        for dialect in [Dialect::Gnu, Dialect::Star] {
            for line in page(dialect).lines() {
                if let Some(request) = line.strip_prefix('.') {
                    let known = [
                        "\\\"", "TH", "SH", "SS", "TP", "PP", "B", "BR", "RB", "RI", "IR", "br",
                    ];
                    let word = request.split(' ').next().unwrap();
                    assert!(known.contains(&word), "{line}");
                }
            }
        }
    }
}
