//! Words of a star command line become settings.
//!
//! star's words are outside what clap accepts: long names with one dash, values without any (`fs=64m`), letters in
//! bundles that must not shadow a long name. So this file reads the table itself. A word is taken for the longest thing
//! it can be: a whole name first, then `name=value`, then a bundle of letters. Without a dash only `name=value` with a
//! name from the table is an option; everything else names a member.

use crate::cli::dialect::Dialect;
use crate::cli::option::{Gives, OptionDef, Value};
use crate::cli::setting::{Given, Setting};
use crate::cli::usage::UsageError;

use super::options::OPTIONS;

/// The letters of the classic syntax; the others mean too different things in other tars.
const CLASSIC: &[u8] = b"crtuxbfXBFTLdehijklmnopvwz01234567";

/// Words become settings, in their order.
pub(crate) fn parse(words: &[Vec<u8>]) -> Result<Vec<Given>, UsageError> {
    let words = expand(words)?;
    let mut settings = Vec::new();
    let mut words = words.iter();
    let mut only_members = false;
    while let Some(word) = words.next() {
        if only_members || word == b"-" || word.is_empty() {
            settings.push(member(word));
        } else if word == b"--" {
            only_members = true;
        } else if word[0] == b'-' {
            let next = &mut || words.next().cloned();
            settings.extend(dashed(word, next)?);
        } else if let Some((row, value)) = assignment(word, OPTIONS.iter()) {
            settings.push(give(row, spelt(word), Some(value))?);
        } else {
            settings.push(member(word));
        }
    }
    Ok(settings)
}

/// A first word without a dash is a bundle of letters whose values follow, in their order.
fn expand(words: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, UsageError> {
    let Some((bundle, rest)) = words.split_first() else {
        return Ok(Vec::new());
    };
    if bundle.first().is_none_or(|&first| first == b'-') || bundle.contains(&b'=') {
        return Ok(words.to_vec());
    }
    let mut expanded = Vec::new();
    let mut rest = rest.iter();
    for &letter in bundle {
        if !CLASSIC.contains(&letter) {
            return Err(UsageError::UnknownOld(char::from(letter)));
        }
        let mut word = vec![b'-', letter];
        if matches!(letter, b'f' | b'b' | b'X') {
            let value = rest
                .next()
                .ok_or_else(|| UsageError::OldNeedsValue(char::from(letter)))?;
            word.push(b'=');
            word.extend_from_slice(value);
        }
        expanded.push(word);
    }
    expanded.extend(rest.cloned());
    Ok(expanded)
}

/// A word with one dash or two: a name, a name with a value, or a bundle.
fn dashed(
    word: &[u8],
    next: &mut dyn FnMut() -> Option<Vec<u8>>,
) -> Result<Vec<Given>, UsageError> {
    let two = word.starts_with(b"--");
    let text = &word[1 + usize::from(two)..];
    if let Some(row) = named(text) {
        let value = match row.value {
            Value::Required(_) => {
                Some(next().ok_or_else(|| UsageError::LongNeedsValue(spelt(word)))?)
            }
            _ => None,
        };
        return Ok(vec![give(row, spelt(word), value.as_deref())?]);
    }
    if let Some((row, value)) = assignment(text, Dialect::Star.options()) {
        return Ok(vec![give(row, spelt(word), Some(value))?]);
    }
    if two {
        return Err(unknown(word));
    }
    bundle(text, next)?.ok_or_else(|| unknown(word))
}

/// A bundle of letters; the last may have a value, after `=` or as the next word. `None` when it is none.
fn bundle(
    text: &[u8],
    next: &mut dyn FnMut() -> Option<Vec<u8>>,
) -> Result<Option<Vec<Given>>, UsageError> {
    let mut settings = Vec::new();
    for (at, &letter) in text.iter().enumerate() {
        let Some(row) = named(&[letter]) else {
            return Ok(None);
        };
        let rest = &text[at + 1..];
        let name = format!("-{}", char::from(letter));
        if matches!(row.value, Value::None) {
            settings.push(give(row, name, None)?);
            continue;
        }
        let value = match rest.strip_prefix(b"=") {
            Some(value) => value.to_vec(),
            None if rest.is_empty() => {
                next().ok_or(UsageError::ShortNeedsValue(char::from(letter)))?
            }
            // `-ffile` could be any misspelt long name; star's manual warns of it.
            None => return Ok(None),
        };
        settings.push(give(row, name, Some(&value))?);
        return Ok(Some(settings));
    }
    Ok(Some(settings))
}

fn unknown(word: &[u8]) -> UsageError {
    UsageError::UnknownLong {
        word: word.to_vec(),
        similar: None,
    }
}

/// The row with exactly this name.
fn named(text: &[u8]) -> Option<&'static OptionDef> {
    Dialect::Star.options().find(|row| has_name(row, text))
}

fn has_name(row: &OptionDef, text: &[u8]) -> bool {
    row.longs.iter().any(|long| long.as_bytes() == text)
        || (text.len() == 1 && row.shorts.as_bytes().contains(&text[0]))
}

/// `name=value`, where the name is one of an option with a value.
fn assignment(
    text: &[u8],
    mut rows: impl Iterator<Item = &'static OptionDef>,
) -> Option<(&'static OptionDef, &[u8])> {
    let at = text.iter().position(|&byte| byte == b'=')?;
    let row = rows.find(|row| row.value != Value::None && has_name(row, &text[..at]))?;
    Some((row, &text[at + 1..]))
}

/// The option as given, without its value.
fn spelt(word: &[u8]) -> String {
    String::from_utf8_lossy(word.split(|&byte| byte == b'=').next().unwrap_or(word)).into_owned()
}

fn member(word: &[u8]) -> Given {
    Given {
        setting: Setting::Member(word.to_vec()),
        spelt: String::new(),
    }
}

fn give(row: &'static OptionDef, spelt: String, value: Option<&[u8]>) -> Result<Given, UsageError> {
    let setting = match row.gives {
        Gives::Flag(setting) => Ok(setting()),
        Gives::Refused(_) => Ok(Setting::Refused(row)),
        Gives::Valued(read) => read(value.unwrap_or_default()),
        Gives::Optional(read) => read(value),
    };
    match setting {
        Ok(setting) => Ok(Given { setting, spelt }),
        Err(bad) => Err(UsageError::BadValue {
            option: spelt,
            value: value.unwrap_or_default().to_vec(),
            bad,
        }),
    }
}

#[cfg(test)]
mod tests;
