//! Points in time as text.
//!
//! What time it is at a place only the system knows; this room is given a function for that. [`utc`] is the one for
//! `--utc`, and for tests.

use std::fmt::Write as _;

use crate::member::Timestamp;

/// A second on a calendar and a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BrokenDownTime {
    /// The year, proleptic Gregorian; 0 is the one before the year 1.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 60.
    pub second: u8,
}

/// The time in Greenwich, or `None` where the C library has none either: its years since 1900 are a 32-bit number.
#[must_use]
pub fn utc(seconds: i64) -> Option<BrokenDownTime> {
    const DAY: i64 = 86_400;
    /// Days from 0000-03-01 to 1970-01-01.
    const EPOCH: i64 = 719_468;
    /// Days in 400 years.
    const ERA: i64 = 146_097;
    let days = seconds.div_euclid(DAY);
    let clock = seconds.rem_euclid(DAY);
    // Years that begin in March: the leap day is the last, and the lengths of months follow one formula.
    let days = days + EPOCH;
    let era = days.div_euclid(ERA);
    let day_of_era = days.rem_euclid(ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / (ERA - 1)) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year_of_era + late;
    i32::try_from(year - 1900).ok()?;
    let small = |number: i64| u8::try_from(number).expect("a part of a date or a day is small");
    Some(BrokenDownTime {
        year,
        month: small(month),
        day: small(day),
        hour: small(clock / 3_600),
        minute: small(clock / 60 % 60),
        second: small(clock % 60),
    })
}

/// How much of a time is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// `2001-09-09 01:46`
    Minutes,
    /// `2001-09-09 01:46:40.5` (`--full-time`): nanoseconds without zeros at the end.
    Full,
}

/// A time as GNU tar shows it; as a plain number when there is no calendar date for it.
pub fn push(
    time: Timestamp,
    local: &dyn Fn(i64) -> Option<BrokenDownTime>,
    detail: Detail,
    out: &mut Vec<u8>,
) {
    let mut text = String::new();
    let result = match local(time.seconds) {
        None => write!(text, "{}", time.seconds),
        Some(t) => {
            // The year as it is: not cut to four digits, and no zeros before it (GNU tar's `%ld`).
            let date = write!(
                text,
                "{}-{:02}-{:02} {:02}:{:02}",
                t.year, t.month, t.day, t.hour, t.minute
            );
            match detail {
                Detail::Minutes => date,
                Detail::Full => date.and_then(|()| write!(text, ":{:02}", t.second)),
            }
        }
    };
    result.expect("writing to a String cannot fail");
    out.extend_from_slice(text.as_bytes());
    if detail == Detail::Full && time.nanos > 0 {
        let digits = format!(".{:09}", time.nanos);
        out.extend_from_slice(digits.trim_end_matches('0').as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_look_as_with_gnu_tar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (-2_522_880_000, "1890-01-20 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_330_473_600, "2012-02-29 00:00:00"),
            (253_402_300_799, "9999-12-31 23:59:59"),
            (253_402_300_800, "10000-01-01 00:00:00"),
            (1 << 40, "36812-02-20 00:36:16"),
            (1 << 55, "1141709097-06-13 06:26:08"),
            (67_767_976_233_446_399, "2147483647-12-30 23:59:59"),
            (67_768_036_191_676_800, "67768036191676800"),
            (1 << 62, "4611686018427387904"),
            (-(1 << 62), "-4611686018427387904"),
            (i64::MAX, "9223372036854775807"),
            (i64::MIN, "-9223372036854775808"),
            (-62_135_596_801, "0-12-31 23:59:59"),
            (-62_135_596_800, "1-01-01 00:00:00"),
            (-62_167_219_201, "-1-12-31 23:59:59"),
            (-(1 << 40), "-32873-11-12 23:23:44"),
            (-67_768_040_609_740_800, "-2147481748-01-01 00:00:00"),
            (-67_768_040_609_740_801, "-67768040609740801"),
            (-377_705_116_801, "-10000-12-31 23:59:59"),
        ] {
            let mut out = Vec::new();
            push(
                Timestamp { seconds, nanos: 0 },
                &utc,
                Detail::Full,
                &mut out,
            );
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn nanoseconds_are_shown_without_zeros_at_the_end() {
        for (seconds, nanos, expected) in [
            (1_000_000_000, 500_000_000, "2001-09-09 01:46:40.5"),
            (1_000_000_000, 123_456_789, "2001-09-09 01:46:40.123456789"),
            (-2, 500_000_000, "1969-12-31 23:59:58.5"),
            (0, 1, "1970-01-01 00:00:00.000000001"),
        ] {
            let mut out = Vec::new();
            push(Timestamp { seconds, nanos }, &utc, Detail::Full, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            let mut out = Vec::new();
            push(
                Timestamp { seconds, nanos },
                &utc,
                Detail::Minutes,
                &mut out,
            );
            assert_eq!(out, expected.as_bytes()[..16]);
        }
    }

    #[test]
    fn every_day_follows_the_day_before() {
        let mut before = utc(-800_000 * 86_400).unwrap();
        for day in -799_999..800_000_i64 {
            let today = utc(day * 86_400).unwrap();
            let next =
                (today.year, today.month, today.day) > (before.year, before.month, before.day);
            assert!(
                next && (today.day == before.day + 1 || today.day == 1),
                "{today:?}"
            );
            before = today;
        }
    }
}
