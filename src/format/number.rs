//! Numbers and times as header fields and pax records hold them.
//!
//! A header field holds octal digits (POSIX) or, where those do not suffice, a big-endian two's complement number that
//! is marked by the field's highest bit (GNU tar and star, "base-256"). The digits may be padded in front with blanks
//! and ended by a blank, a NUL or the end of the field: all are found in old archives.

use crate::error::NumberFault;
use crate::member::Timestamp;

/// The number in a header field; `None` when there is none or when it does not fit. A blank field is 0.
///
/// Digits that follow a NUL at the field's beginning count: some old writers let the field before run over.
pub(crate) fn field(field: &[u8]) -> Option<i64> {
    match field.first() {
        None => Some(0),
        Some(first) if first & 0x80 != 0 => base256(field),
        Some(_) => octal(field),
    }
}

/// The number in a field that cannot be negative.
pub(crate) fn unsigned(field_bytes: &[u8]) -> Option<u64> {
    field(field_bytes).and_then(|value| u64::try_from(value).ok())
}

/// Why a field that gave no number, or none that can be used, did not.
pub(crate) fn fault(bytes: &[u8]) -> NumberFault {
    if let Some(value) = field(bytes) {
        return NumberFault::Range(value);
    }
    let end = bytes.iter().rposition(|&byte| byte != 0);
    let text = &bytes[..end.map_or(0, |end| end + 1)];
    match bytes.first() {
        Some(0x80 | 0xff) => NumberFault::Binary,
        _ if text
            .trim_ascii()
            .iter()
            .all(|byte| (b'0'..=b'7').contains(byte)) =>
        {
            NumberFault::Octal(text.trim_ascii().to_vec())
        }
        _ => NumberFault::Text(text.to_vec()),
    }
}

/// Whether a field holds nothing but blanks and NULs.
pub(crate) fn is_blank(field: &[u8]) -> bool {
    field.iter().all(|&byte| byte == 0 || byte == b' ')
}

/// The seconds in a time field. star writes times before 1970 as the 64 bits of a signed number behind a mark for a
/// positive one.
pub(crate) fn seconds(field_bytes: &[u8]) -> Option<i64> {
    let wide = match field_bytes.first() {
        Some(0x80) => wide(field_bytes)?,
        _ => return field(field_bytes),
    };
    match i64::try_from(wide) {
        Ok(seconds) => Some(seconds),
        Err(_) => u64::try_from(wide).ok().map(u64::cast_signed),
    }
}

fn octal(field: &[u8]) -> Option<i64> {
    let mut rest = skip_blanks(field);
    if let Some((0, after)) = rest.split_first() {
        let after = skip_blanks(after);
        if after.first().is_some_and(u8::is_ascii_digit) {
            rest = after;
        }
    }
    let mut value: i64 = 0;
    for (index, &byte) in rest.iter().enumerate() {
        match byte {
            b'0'..=b'7' => {
                value = value.checked_mul(8)?.checked_add(i64::from(byte - b'0'))?;
            }
            0 | b' ' => return Some(value),
            // Tabs and newlines are met as ends, never in front.
            b'\t' | b'\n' if index > 0 => return Some(value),
            _ => return None,
        }
    }
    Some(value)
}

fn skip_blanks(field: &[u8]) -> &[u8] {
    let blanks = field.iter().take_while(|&&byte| byte == b' ').count();
    &field[blanks..]
}

fn base256(field: &[u8]) -> Option<i64> {
    wide(field).and_then(|value| i64::try_from(value).ok())
}

fn wide(field: &[u8]) -> Option<i128> {
    let (&first, rest) = field.split_first()?;
    // The mark is not part of the number; the bit below it is its sign.
    let negative = first & 0x40 != 0;
    let mut value = i128::from(first & 0x3f) - if negative { 0x40 } else { 0 };
    // Fields have at most 12 bytes, so 95 bits: no overflow.
    for &byte in rest.iter().take(14) {
        value = value * 256 + i128::from(byte);
    }
    Some(value)
}

/// The decimal number of a pax record: digits only (POSIX pax, "pax Extended Header Keywords").
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The time of a pax record: seconds, with a sign and a fraction if need be. What is finer than a nanosecond is rounded
/// towards the past.
pub(crate) fn time(text: &[u8]) -> Option<Timestamp> {
    const NANOS: u32 = 1_000_000_000;
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let point = text.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &text[..0]),
    };
    let whole = i64::try_from(decimal(whole)?).ok()?;
    let mut nanos = 0u32;
    let mut finer = false;
    for (index, byte) in fraction.iter().enumerate() {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = u32::from(byte - b'0');
        if index < 9 {
            nanos += digit * 10u32.pow(8 - index as u32);
        } else {
            finer |= digit != 0;
        }
    }
    if !negative {
        return Some(Timestamp {
            seconds: whole,
            nanos,
        });
    }
    // Minus 1.3 s is 0.7 s after minus 2 s.
    if finer {
        nanos += 1;
    }
    if nanos == 0 {
        return Some(Timestamp {
            seconds: -whole,
            nanos,
        });
    }
    Some(Timestamp {
        seconds: (-whole).checked_sub(1)?,
        nanos: NANOS - nanos,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octal_fields_in_every_spelling() {
        for spelling in [
            &b"          6 "[..],
            b"00000000006 ",
            b"000000000006",
            b"6\0\0\0\0\0\0\0\0\0\0\0",
            b"6 \0 \0\0\0\0\0\0\0\0",
            b"\0     6 \0",
            b"0000006\0",
            b"6",
        ] {
            assert_eq!(field(spelling), Some(6), "{}", spelling.escape_ascii());
        }
        assert_eq!(field(b"777777777777"), Some(0o777_777_777_777));
    }

    #[test]
    fn blank_fields_are_zero() {
        for blank in [&b""[..], b"\0\0\0\0", b"        ", b"   \0  \0", b"\0junk"] {
            assert_eq!(field(blank), Some(0), "{}", blank.escape_ascii());
        }
        assert!(is_blank(b" \0 "));
        assert!(!is_blank(b" \x000"));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for bad in [
            &b"0000abc\0"[..],
            b"+000012\0",
            b"-000012\0",
            b"00000008",
            b"0x1f\0",
            b"12.5\0",
        ] {
            assert_eq!(field(bad), None, "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn base_256_is_twos_complement() {
        assert_eq!(field(b"\x80\0\0\0\0\0\0\x06"), Some(6));
        assert_eq!(field(b"\x80\0\0\0\0-\xc6\xc0"), Some(3_000_000));
        assert_eq!(field(&[0xff; 12]), Some(-1));
        assert_eq!(
            field(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xae\x80"),
            Some(-86_400)
        );
        // More than 63 bits do not fit, in either direction.
        assert_eq!(
            field(b"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
            None
        );
        assert_eq!(field(b"\xc0\0\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(field(b"\x80\0\0\0\x80\0\0\0\0\0\0\0"), None);
        assert_eq!(unsigned(&[0xff; 8]), None);
        assert_eq!(
            seconds(b"\x80\0\0\0\xff\xff\xff\xff\xff\xfe\xae\x80"),
            Some(-86_400)
        );
        assert_eq!(
            seconds(b"\x80\0\0\x01\0\0\0\0\0\0\0\0"),
            None,
            "more than 64 bits"
        );
    }

    #[test]
    fn times_round_towards_the_past() {
        let at = |seconds, nanos| Some(Timestamp { seconds, nanos });
        assert_eq!(
            time(b"1344814000.987654321"),
            at(1_344_814_000, 987_654_321)
        );
        assert_eq!(time(b"0"), at(0, 0));
        assert_eq!(time(b"-86400.000000000"), at(-86_400, 0));
        assert_eq!(time(b"-1.3"), at(-2, 700_000_000));
        assert_eq!(time(b"1.9999999999"), at(1, 999_999_999));
        assert_eq!(time(b"-1.0000000001"), at(-2, 999_999_999));
        assert_eq!(time(b"-0.9999999999"), at(-1, 0));
        assert_eq!(time(b"5."), at(5, 0));
        for bad in [
            &b""[..],
            b"-",
            b".5",
            b"1,5",
            b"1.5x",
            b" 1",
            b"1e9",
            b"9223372036854775808",
        ] {
            assert_eq!(time(bad), None, "{}", bad.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn octal_digits_are_read_back(value in 0i64..1 << 36, width in 12usize..=12) {
            prop_assert_eq!(field(format!("{value:0width$o}").as_bytes()), Some(value));
            prop_assert_eq!(field(format!("{value:>width$o}").as_bytes()), Some(value));
        }

        #[test]
        fn base_256_is_read_back(value in any::<i64>()) {
            let mut bytes = vec![if value < 0 { 0xff } else { 0x80 }; 4];
            if value >= 0 {
                bytes[1..].fill(0);
            }
            bytes.extend_from_slice(&value.to_be_bytes());
            prop_assert_eq!(field(&bytes), Some(value));
        }

        #[test]
        fn decimals_are_read_back(value in any::<u64>()) {
            prop_assert_eq!(decimal(value.to_string().as_bytes()), Some(value));
        }

        #[test]
        fn times_are_read_back(seconds in -(1i64 << 50)..1 << 50, nanos in 0u32..1_000_000_000) {
            // As a signed sum: seconds + nanos / 10^9.
            let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
            let text = format!(
                "{}{}.{:09}",
                if total < 0 { "-" } else { "" },
                total.abs() / 1_000_000_000,
                total.abs() % 1_000_000_000
            );
            prop_assert_eq!(time(text.as_bytes()), Some(Timestamp { seconds, nanos }));
        }

        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let _ = (field(&bytes), unsigned(&bytes), decimal(&bytes), time(&bytes));
        }
    }
}
