//! Numbers, times and records as headers hold them.

use super::props::Digits;
use crate::member::Timestamp;

/// Writes a number; gives whether it fits. One that does not leaves the field as it was.
pub(super) fn number(field: &mut [u8], value: i128, digits: Digits, base256: Base256) -> bool {
    let octal = if value < 0 {
        None
    } else {
        Some(format!("{value:o}"))
    };
    let room = field.len() - 1;
    if let Some(octal) = octal.filter(|octal| octal.len() <= room) {
        // Fields of eight bytes leave room for a blank and a NUL, unless the number needs it.
        let (width, fill) = match digits {
            Digits::Blanks if field.len() == 8 => (octal.len().max(6), b' '),
            Digits::Blanks => (room, b' '),
            Digits::ZerosNul | Digits::ZerosBlank => (room, b'0'),
        };
        let end = if digits == Digits::ZerosNul { 0 } else { b' ' };
        field.fill(0);
        field[..width].fill(fill);
        field[width - octal.len()..width].copy_from_slice(octal.as_bytes());
        field[width] = end;
        return true;
    }
    let bytes = match base256 {
        Base256::No => return false,
        // GNU tar extends the sign over the whole field.
        Base256::Gnu => {
            let least = -(1_i128 << (8 * room));
            if value < least || value >= -least {
                return false;
            }
            value
        }
        // star writes the 64 bits of a negative number behind a mark for a positive one.
        Base256::Star => {
            if i64::try_from(value).is_err() {
                return false;
            }
            if field.len() > 8 && value < 0 {
                i128::from((value as i64).cast_unsigned())
            } else {
                value
            }
        }
    }
    .to_be_bytes();
    let tail = &bytes[bytes.len() - room..];
    field[0] = if value < 0 && base256 == Base256::Gnu {
        0xff
    } else {
        0x80
    };
    field[1..].copy_from_slice(tail);
    true
}

/// How numbers that need more than their digits are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base256 {
    No,
    Gnu,
    Star,
}

/// Writes a text as far as it fits.
pub(super) fn text(field: &mut [u8], text: &[u8]) {
    let length = text.len().min(field.len());
    field[..length].copy_from_slice(&text[..length]);
}

/// The checksum: six digits, a NUL and a blank, or as other numbers of star.
pub(super) fn checksum(header: &mut [u8; 512], digits: Digits) {
    header[148..156].fill(b' ');
    let sum = header.iter().map(|&byte| i128::from(byte)).sum();
    match digits {
        Digits::ZerosNul => number(&mut header[148..155], sum, digits, Base256::No),
        _ => number(&mut header[148..156], sum, digits, Base256::No),
    };
}

/// Adds a pax record. Its length counts its own digits.
pub(super) fn record(body: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    // A blank, an equals sign, a newline.
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length.to_string().len() + rest != length {
        length = length.to_string().len() + rest;
    }
    body.extend_from_slice(length.to_string().as_bytes());
    body.push(b' ');
    body.extend_from_slice(key);
    body.push(b'=');
    body.extend_from_slice(value);
    body.push(b'\n');
}

/// A time as a pax record has it: GNU tar drops zeros at the end, star writes nine digits.
pub(super) fn time(time: Timestamp, star: bool) -> Vec<u8> {
    // Nanoseconds count forwards, but the text has one sign for both parts.
    let (sign, seconds, nanos) = if time.seconds < 0 && time.nanos > 0 {
        (
            "-",
            -(i128::from(time.seconds) + 1),
            1_000_000_000 - time.nanos,
        )
    } else if time.seconds < 0 {
        ("-", -i128::from(time.seconds), 0)
    } else {
        ("", i128::from(time.seconds), time.nanos)
    };
    let mut text = format!("{sign}{seconds}");
    if star {
        text.push_str(&format!(".{nanos:09}"));
    } else if nanos > 0 {
        let fraction = format!("{nanos:09}");
        text.push('.');
        text.push_str(fraction.trim_end_matches('0'));
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_records_length_counts_its_own_digits() {
        // POSIX pax, "pax Extended Header": the decimal length of the record, the trailing newline included.
        for (value, whole) in [
            (1, "9 a=v\n".len()),
            (92, 98),
            (93, 99),
            (94, 101),
            (990, 997),
        ] {
            let mut body = Vec::new();
            record(&mut body, b"a", &vec![b'v'; value]);
            let digits = body.iter().position(|&byte| byte == b' ').unwrap();
            let told: usize = std::str::from_utf8(&body[..digits])
                .unwrap()
                .parse()
                .unwrap();
            assert_eq!(told, body.len());
            assert!(whole == body.len() || value != 92, "{whole} {}", body.len());
        }
    }

    #[test]
    fn times_are_told_as_gnu_tar_and_star_do() {
        let at = |seconds, nanos| Timestamp { seconds, nanos };
        assert_eq!(time(at(5, 500_000_000), false), b"5.5");
        assert_eq!(time(at(5, 0), false), b"5");
        assert_eq!(time(at(-1, 250_000_000), false), b"-0.75");
        assert_eq!(time(at(-86400, 0), true), b"-86400.000000000");
    }
}
