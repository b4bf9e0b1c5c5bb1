//! Numbers as people write them on command lines: star's with suffixes and products, GNU tar's plain ones.

/// A number in star's notation, with suffix `.` `w` `b` `k` `m` `g` `t` `p` in either case (1, 2, 512 and the powers of
/// 1024), parts multiplied with `x` or `*`: `7x8k`. A number without suffix counts in `unit`s. `None` for anything else,
/// also where it does not fit 64 bits.
pub(crate) fn star(text: &[u8], unit: u64) -> Option<u64> {
    // star decides by the last character of the whole, so `2x4` counts units and `2x4k` bytes.
    let unit = if text.last()?.is_ascii_digit() {
        unit
    } else {
        1
    };
    text.split(|&byte| matches!(byte, b'x' | b'X' | b'*'))
        .try_fold(unit, |product, factor| product.checked_mul(one(factor)?))
}

/// A size for durastar's own options: as star's, bytes without suffix, also written `64MiB`.
pub(crate) fn size(text: &[u8]) -> Option<u64> {
    star(text.strip_suffix(b"iB").unwrap_or(text), 1)
}

/// Decimal digits only.
pub(crate) fn plain(text: &[u8]) -> Option<u64> {
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Octal digits only.
pub(crate) fn octal(text: &[u8]) -> Option<u32> {
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(text).ok()?, 8).ok()
}

fn one(factor: &[u8]) -> Option<u64> {
    let (digits, scale) = match factor.last()?.to_ascii_lowercase() {
        b'.' => (&factor[..factor.len() - 1], 1),
        b'w' => (&factor[..factor.len() - 1], 2),
        b'b' => (&factor[..factor.len() - 1], 512),
        b'k' => (&factor[..factor.len() - 1], 1 << 10),
        b'm' => (&factor[..factor.len() - 1], 1 << 20),
        b'g' => (&factor[..factor.len() - 1], 1 << 30),
        b't' => (&factor[..factor.len() - 1], 1 << 40),
        b'p' => (&factor[..factor.len() - 1], 1 << 50),
        _ => (factor, 1),
    };
    plain(digits)?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::{octal, plain, size, star};

    #[test]
    fn suffixes_and_products() {
        assert_eq!(star(b"64m", 1), Some(64 << 20));
        assert_eq!(star(b"7x8k", 1), Some(7 * 8192));
        assert_eq!(star(b"7*8K", 512), Some(7 * 8192));
        assert_eq!(star(b"20", 512), Some(10240));
        assert_eq!(star(b"2x10", 512), Some(10240));
        assert_eq!(star(b"5.", 512), Some(5));
        assert_eq!(star(b"3w", 1), Some(6));
        assert_eq!(star(b"1P", 1), Some(1 << 50));
        assert_eq!(size(b"64MiB"), Some(64 << 20));
    }

    #[test]
    fn nonsense_and_overflow() {
        for text in [
            &b""[..],
            b"k",
            b"x",
            b"4x",
            b"-1",
            b"+1",
            b"1kk",
            b"1e3",
            b"16384p",
            b" 1",
            b"99999999999999999999",
        ] {
            assert_eq!(star(text, 1), None, "{}", text.escape_ascii());
        }
        assert_eq!(plain(b"12"), Some(12));
        assert_eq!(plain(b"1x"), None);
        assert_eq!(octal(b"022"), Some(0o22));
        assert_eq!(octal(b"8"), None);
    }
}
