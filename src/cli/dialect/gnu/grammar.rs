//! Words of a GNU tar command line become settings.
//!
//! clap does the parsing, from a command built out of the table: bundles, attached values, abbreviations of long names.
//! What it cannot know is done before and after. A first word without a dash is expanded into options (`xvf a.tar`);
//! getopt keeps an equals sign after a letter (`-f=x` is the file `=x`) and clap drops it, so it gets a second one; and
//! the order of different options, which clap sorts by name, is put together again from the positions it reports.
//! Its error kinds are translated, because messages are compared word for word with GNU tar's.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::builder::OsStringValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use crate::cli::dialect::Dialect;
use crate::cli::option::{Category, Gives, OptionDef, Value};
use crate::cli::setting::{Given, Setting};
use crate::cli::usage::UsageError;

/// The id of plain arguments.
const MEMBERS: &str = "MEMBER";
/// Long names in the order in which GNU tar 1.34 tells them when a beginning may mean several, by their first letters.
/// Ours come after them.
const ORDER: &str = "\
    append atime-preserve acls auto-compress absolute-names after-date add-file anchored blocking-factor bzip2 \
    backup block-number create compare catenate concatenate check-device clamp-mtime compress checkpoint \
    checkpoint-action check-links confirmation diff delete delay-directory-restore dereference directory \
    extract exclude exclude-from exclude-caches exclude-caches-under exclude-caches-all exclude-tag \
    exclude-ignore exclude-ignore-recursive exclude-tag-under exclude-tag-all exclude-vcs exclude-vcs-ignores \
    exclude-backups file force-local format full-time files-from get group group-map gzip gunzip hole-detection \
    hard-dereference help incremental ignore-failed-read ignore-command-error info-script ignore-zeros \
    index-file interactive ignore-case keep-old-files keep-newer-files keep-directory-symlink list \
    listed-incremental level label lzip lzma lzop mtime mode multi-volume no-seek no-check-device \
    no-overwrite-dir no-ignore-command-error no-same-owner numeric-owner no-same-permissions \
    no-delay-directory-restore no-xattrs no-selinux no-acls new-volume-script no-auto-compress newer \
    newer-mtime no-quote-chars null no-null no-unquote no-verbatim-files-from no-recursion no-anchored \
    no-ignore-case no-wildcards no-wildcards-match-slash occurrence overwrite overwrite-dir one-top-level owner \
    owner-map old-archive one-file-system preserve-permissions preserve-order portability posix pax-option \
    program-name quoting-style quote-chars remove-files recursive-unlink rmt-command rsh-command record-size \
    read-full-records restrict recursion sparse sparse-version seek skip-old-files same-owner same-permissions \
    same-order sort selinux starting-file suffix strip-components show-defaults show-snapshot-field-ranges \
    show-omitted-dirs show-transformed-names show-stored-names test-label to-stdout to-command touch \
    tape-length transform totals update unlink-first use-compress-program ungzip uncompress utc unquote usage \
    verify volno-file verbose verbatim-files-from version warning wildcards wildcards-match-slash xattrs \
    xattrs-include xattrs-exclude xz xform";
/// Stands for "no value": an argument cannot hold a NUL byte.
const ABSENT: &str = "\0";

/// Words become settings, in their order.
pub(crate) fn parse(words: &[Vec<u8>]) -> Result<Vec<Given>, UsageError> {
    let words = shield(expand(words)?);
    let matches = command()
        .try_get_matches_from(words.iter().map(|word| OsString::from_vec(word.clone())))
        .map_err(|error| translate(&error, &words))?;

    let mut found: Vec<(usize, Option<&'static OptionDef>, Vec<u8>)> = Vec::new();
    let rows = Dialect::Gnu.options().map(|row| (id(row), Some(row)));
    for (id, row) in rows.chain([(MEMBERS, None)]) {
        let (Some(positions), Some(values)) =
            (matches.indices_of(id), matches.get_many::<OsString>(id))
        else {
            continue;
        };
        for (position, value) in positions.zip(values) {
            found.push((position, row, value.as_bytes().to_vec()));
        }
    }
    found.sort_by_key(|&(position, ..)| position);
    found
        .into_iter()
        .map(|(_, row, value)| give(row, value))
        .collect()
}

/// What a row gives for a value.
fn give(row: Option<&'static OptionDef>, value: Vec<u8>) -> Result<Given, UsageError> {
    let Some(row) = row else {
        return Ok(Given {
            setting: Setting::Member(value),
            spelt: String::new(),
        });
    };
    let given = (value != ABSENT.as_bytes()).then_some(value);
    let setting = match row.gives {
        Gives::Flag(setting) => Ok(setting()),
        Gives::Refused(_) => Ok(Setting::Refused(row)),
        Gives::Valued(read) => read(given.as_deref().unwrap_or_default()),
        Gives::Optional(read) => read(given.as_deref()),
    };
    let spelt = row.name();
    match setting {
        Ok(setting) => Ok(Given { setting, spelt }),
        Err(bad) => Err(UsageError::BadValue {
            option: spelt,
            value: given.unwrap_or_default(),
            bad,
        }),
    }
}

/// A first word without a dash is a bundle of letters whose values follow, in their order.
fn expand(words: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, UsageError> {
    let Some((bundle, rest)) = words.split_first() else {
        return Ok(Vec::new());
    };
    if bundle.is_empty() || bundle[0] == b'-' {
        return Ok(words.to_vec());
    }
    let mut expanded = Vec::new();
    let mut rest = rest.iter();
    for &letter in bundle {
        // Attached, so that a value cannot be taken for an option. A letter that is none is left for clap to find:
        // GNU tar misses values first.
        let mut word = vec![b'-', letter];
        if short(letter).is_some_and(|row| matches!(row.value, Value::Required(_))) {
            let value = rest
                .next()
                .ok_or_else(|| UsageError::OldNeedsValue(char::from(letter)))?;
            word.extend_from_slice(value);
            let empty = value.is_empty();
            expanded.push(word);
            expanded.extend(empty.then(Vec::new));
        } else {
            expanded.push(word);
        }
    }
    expanded.extend(rest.cloned());
    Ok(expanded)
}

/// Doubles an equals sign that directly follows a letter with a value.
fn shield(mut words: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut is_value = false;
    for word in &mut words {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word == b"--" {
            break;
        }
        if let Some(name) = word.strip_prefix(b"--") {
            is_value = !name.contains(&b'=')
                && matches!(&meant(name)[..], [row] if matches!(row.value, Value::Required(_)));
            continue;
        }
        if word.first() != Some(&b'-') {
            continue;
        }
        let valued = (1..word.len())
            .find(|&at| short(word[at]).is_none_or(|row| matches!(row.value, Value::Required(_))));
        if let Some(at) = valued
            && short(word[at]).is_some()
        {
            match word.get(at + 1) {
                None => is_value = true,
                Some(b'=') => word.insert(at + 1, b'='),
                Some(_) => {}
            }
        }
    }
    words
}

fn command() -> Command {
    let mut command = Command::new("tar")
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .infer_long_args(true)
        .args_override_self(false);
    for row in Dialect::Gnu.options() {
        let mut arg = Arg::new(id(row))
            .action(ArgAction::Append)
            .value_parser(OsStringValueParser::new());
        let mut shorts = row.shorts.chars();
        if let Some(short) = shorts.next() {
            arg = arg.short(short).short_aliases(shorts.collect::<Vec<_>>());
        }
        if let Some((first, others)) = row.longs.split_first() {
            arg = arg.long(*first).aliases(others);
        }
        arg = match row.value {
            Value::None => arg.num_args(0).default_missing_value(ABSENT),
            Value::Required(_) => arg.num_args(1).allow_hyphen_values(true),
            Value::Optional(_) => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value(ABSENT),
        };
        command = command.arg(arg);
    }
    command.arg(
        Arg::new(MEMBERS)
            .num_args(0..)
            .action(ArgAction::Append)
            .value_parser(OsStringValueParser::new()),
    )
}

/// clap's name for a row.
fn id(row: &'static OptionDef) -> &'static str {
    row.longs.first().copied().unwrap_or(row.shorts)
}

fn short(letter: u8) -> Option<&'static OptionDef> {
    Dialect::Gnu
        .options()
        .find(|row| row.shorts.as_bytes().contains(&letter))
}

/// The options that a beginning of a long name may mean; an exact name means only itself.
fn meant(beginning: &[u8]) -> Vec<&'static OptionDef> {
    let exact = Dialect::Gnu
        .options()
        .find(|row| row.longs.iter().any(|long| long.as_bytes() == beginning));
    match exact {
        Some(row) => vec![row],
        None => Dialect::Gnu
            .options()
            .filter(|row| {
                row.longs
                    .iter()
                    .any(|long| long.as_bytes().starts_with(beginning))
            })
            .collect(),
    }
}

/// clap's error in our parts.
fn translate(error: &clap::Error, words: &[Vec<u8>]) -> UsageError {
    let invalid = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::UnknownArgument => match invalid.strip_prefix("--") {
            Some(beginning) => {
                let similar = match error.get(ContextKind::SuggestedArg) {
                    Some(ContextValue::String(similar)) => Some(name_in(similar)),
                    _ => None,
                };
                unknown_long(beginning, words, similar)
            }
            None => UsageError::UnknownShort(invalid.chars().nth(1).unwrap_or('-')),
        },
        // An attached value where there is none.
        ErrorKind::TooManyValues => UsageError::TakesNoValue(name_in(&invalid)),
        // The last word is an option that needs a value.
        ErrorKind::InvalidValue | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            match words.last() {
                Some(word) if !word.starts_with(b"--") => {
                    UsageError::ShortNeedsValue(word.last().copied().map_or('-', char::from))
                }
                _ => UsageError::LongNeedsValue(name_in(&invalid)),
            }
        }
        _ => UsageError::Other(error.kind().to_string()),
    }
}

/// The word that clap did not know, with its value as GNU tar prints it, or the options it may mean.
fn unknown_long(beginning: &str, words: &[Vec<u8>], similar: Option<String>) -> UsageError {
    let given = words
        .iter()
        .find(|word| {
            word.strip_prefix(b"--").is_some_and(|word| {
                word.split(|&byte| byte == b'=').next() == Some(beginning.as_bytes())
            })
        })
        .cloned()
        .unwrap_or_else(|| format!("--{beginning}").into_bytes());
    let mut possibilities: Vec<String> = meant(beginning.as_bytes())
        .iter()
        .filter(|row| row.category != Category::Hidden)
        .flat_map(|row| row.longs)
        .filter(|long| long.starts_with(beginning))
        .map(|long| format!("--{long}"))
        .collect();
    let place = |option: &String| {
        ORDER
            .split_ascii_whitespace()
            .position(|name| option.strip_prefix("--") == Some(name))
            .unwrap_or(usize::MAX)
    };
    possibilities.sort_by_key(place);
    if possibilities.len() > 1 && !beginning.is_empty() {
        UsageError::Ambiguous {
            given,
            possibilities,
        }
    } else {
        UsageError::UnknownLong {
            word: given,
            similar,
        }
    }
}

/// `--name` out of clap's `--name <VALUE>`.
fn name_in(text: &str) -> String {
    text.split([' ', '='])
        .next()
        .unwrap_or_default()
        .trim_end_matches('[')
        .to_owned()
}

/// The words of an environment variable: blanks separate them, quotes and backslashes hold them together.
pub(crate) fn split_words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => {
                word.get_or_insert_default().extend(bytes.next());
            }
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (b' ' | b'\t' | b'\n', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words
}

/// Settings of the environment's options: there are no plain arguments among them.
pub(crate) fn parse_variable(
    variable: &'static str,
    text: &[u8],
) -> Result<Vec<Given>, UsageError> {
    let words = split_words(text);
    // GNU tar expands no bundle here: a word without a dash is an argument.
    if words
        .first()
        .is_some_and(|word| word.first() != Some(&b'-'))
    {
        return Err(UsageError::ArgumentsInEnvironment(variable));
    }
    let settings =
        parse(&words).map_err(|error| UsageError::Environment(variable, Box::new(error)))?;
    if settings
        .iter()
        .any(|given| given.spelt.is_empty() && matches!(given.setting, Setting::Member(_)))
    {
        return Err(UsageError::ArgumentsInEnvironment(variable));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests;
