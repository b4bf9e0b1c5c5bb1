//! Points in time as people write them on command lines.
//!
//! GNU tar takes whatever looks like a date (`yesterday`, `next thursday`) and goes on without a limit after what does
//! not. Here a date is `@SECONDS`, ISO 8601 or that of a mail; everything else is refused.

use durastar::member::Timestamp;
use durastar::sys::time::{self, Civil};

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// `@SECONDS`, `2001-09-09[ 01:46[:40[.5]][ +0000]]` or `[Sun, ]9 Sep 2001[ 01:46[:40] [+0000]]`; local time unless a
/// zone is given.
pub(crate) fn parse(text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.trim();
    match text.strip_prefix('@') {
        Some(number) => since_1970(number),
        None => iso(text).or_else(|| mail(text)),
    }
}

fn since_1970(text: &str) -> Option<Timestamp> {
    let (whole, nanos) = fraction(text)?;
    let (negative, digits) = match whole.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, whole),
    };
    let seconds = i64::from(number(digits, 1, 10)?);
    Some(match (negative, nanos) {
        (false, _) | (true, 0) => Timestamp {
            seconds: if negative { -seconds } else { seconds },
            nanos,
        },
        (true, _) => Timestamp {
            seconds: -seconds - 1,
            nanos: 1_000_000_000 - nanos,
        },
    })
}

fn iso(text: &str) -> Option<Timestamp> {
    let (date, clock) = match text.split_once(['T', 't', ' ']) {
        Some((date, clock)) => (date, clock),
        None => (text, ""),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    at(
        number(year, 4, 4)?,
        number(month, 2, 2)?,
        number(day, 2, 2)?,
        clock,
    )
}

fn mail(text: &str) -> Option<Timestamp> {
    let text = match text.split_once(',') {
        Some((day, rest)) if DAYS.contains(&day.to_ascii_lowercase().as_str()) => rest,
        Some(_) => return None,
        None => text,
    };
    let mut words = text.split_ascii_whitespace();
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let month = MONTHS
        .iter()
        .position(|name| month.eq_ignore_ascii_case(name))?;
    let clock = words.collect::<Vec<_>>().join(" ");
    at(
        number(year, 4, 4)?,
        u32::try_from(month).ok()? + 1,
        number(day, 1, 2)?,
        &clock,
    )
}

/// A day with the rest of the text: a clock, and perhaps a zone.
fn at(year: u32, month: u32, day: u32, rest: &str) -> Option<Timestamp> {
    let rest = rest.trim();
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.'))
        .unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let (clock, nanos) = fraction(clock)?;
    let mut parts = clock.split(':').map(|part| number(part, 2, 2));
    let (hour, minute, second) = if clock.is_empty() {
        if !zone.is_empty() || nanos > 0 {
            return None;
        }
        (0, 0, 0)
    } else {
        let (hour, minute) = (parts.next()??, parts.next()??);
        // A fraction belongs to a second.
        let second = match parts.next() {
            Some(second) => second?,
            None if nanos == 0 => 0,
            None => return None,
        };
        if parts.next().is_some() {
            return None;
        }
        (hour, minute, second)
    };
    let civil = Civil {
        year: i64::from(year),
        month,
        day,
        hour,
        minute,
        second,
    };
    let seconds = match offset(zone.trim())? {
        Some(offset) => time::from_utc(civil)? - offset,
        None => time::from_local(civil)?,
    };
    Some(Timestamp { seconds, nanos })
}

/// Seconds east of Greenwich; `None` inside for no zone at all.
#[allow(
    clippy::option_option,
    reason = "a wrong zone is something else than none"
)]
fn offset(zone: &str) -> Option<Option<i64>> {
    if zone.is_empty() {
        return Some(None);
    }
    if ["z", "utc", "gmt"].contains(&zone.to_ascii_lowercase().as_str()) {
        return Some(Some(0));
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() {
        0
    } else {
        number(minutes, 2, 2)?
    };
    let hours = number(hours, 2, 2)?;
    (hours <= 24 && minutes < 60)
        .then(|| Some(sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60)))
}

/// What stands before the point, and nanoseconds; what is finer than those is dropped.
fn fraction(text: &str) -> Option<(&str, u32)> {
    let Some((whole, digits)) = text.split_once('.') else {
        return Some((text, 0));
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos = format!("{digits:0<9}")[..9].parse().ok()?;
    Some((whole, nanos))
}

/// So many decimal digits and nothing else.
fn number(text: &str, least: usize, most: usize) -> Option<u32> {
    let right = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    right.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, parse, time};

    fn told(text: &str) -> Option<(i64, u32)> {
        parse(text.as_bytes()).map(|time: Timestamp| (time.seconds, time.nanos))
    }

    #[test]
    fn dates_with_a_zone() {
        for (text, seconds, nanos) in [
            ("@0", 0, 0),
            ("@1000000000", 1_000_000_000, 0),
            ("@1000000000.25", 1_000_000_000, 250_000_000),
            ("@-5", -5, 0),
            ("@-5.5", -6, 500_000_000),
            ("2001-09-09T01:46:40Z", 1_000_000_000, 0),
            (
                "2001-09-09 01:46:40.123456789 UTC",
                1_000_000_000,
                123_456_789,
            ),
            ("2001-09-09 01:46 +0000", 999_999_960, 0),
            ("2001-09-09 03:46:40+02:00", 1_000_000_000, 0),
            ("2001-09-08 20:16:40 -0530", 1_000_000_000, 0),
            ("Sun, 09 Sep 2001 01:46:40 +0000", 1_000_000_000, 0),
            ("9 sep 2001 01:46:40 GMT", 1_000_000_000, 0),
        ] {
            assert_eq!(told(text), Some((seconds, nanos)), "{text}");
        }
    }

    #[test]
    fn dates_without_one_are_local() {
        let midnight = told("2001-09-09").unwrap().0;
        let at = time::local(midnight).unwrap();
        assert_eq!((at.year, at.month, at.day), (2001, 9, 9));
        assert_eq!((at.hour, at.minute, at.second), (0, 0, 0));
        for text in ["2001-09-09 00:00", "2001-09-09T00:00:00", "9 Sep 2001"] {
            assert_eq!(told(text), Some((midnight, 0)), "{text}");
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "@",
            "@x",
            "@1.",
            "@-",
            "@99999999999",
            "yesterday",
            "2001",
            "2001-09",
            "2001-9-9",
            "2001-02-30",
            "2001-13-01",
            "2001-00-01",
            "2001-09-09 24:00",
            "2001-09-09 1:00",
            "2001-09-09 01",
            "2001-09-09 01:46:40:00",
            "2001-09-09 01:46.5",
            "2001-09-09 Z",
            "2001-09-09 01:46 +1",
            "2001-09-09 01:46 +0060",
            "2001-09-09 01:46 MEZ",
            "Foo, 9 Sep 2001",
            "9 Sept 2001",
            "2001-09-09-01",
            "+001-09-09",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }
}
