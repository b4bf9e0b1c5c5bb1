//! Telling a format by its first bytes, never by the name of a file.

use super::Format;

/// How many of the first bytes [`detect`] wants to see to be sure: a tar header, which says itself that it is one.
pub const DETECT_BYTES: usize = 512;

/// Where a tar header has its checksum.
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// Tells a format by the first bytes of the data. What no format claims is plain.
#[must_use]
pub fn detect(first: &[u8]) -> Format {
    // A header begins with a name, and a name may begin with `BZh9`.
    if is_tar_header(first) {
        return Format::Plain;
    }
    match first {
        [0x1f, 0x8b, ..] => Format::Gzip,
        [0x1f, 0x9d, ..] => Format::Compress,
        [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] if is_bzip2(rest) => Format::Bzip2,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Format::Xz,
        [b'L', b'Z', b'I', b'P', ..] => Format::Lzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Format::Zstd,
        [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Format::Lz4,
        // A skippable frame, which zstd and lz4 have in common: the frame after it tells. If that is too far away,
        // `decoder` skips the frame and asks again.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, length @ ..] => {
            let length = length
                .first_chunk()
                .map(|length| u32::from_le_bytes(*length));
            let next = length.and_then(|length| usize::try_from(length).ok()?.checked_add(8));
            match next.and_then(|next| first.get(next..)).map(detect) {
                Some(Format::Lz4) => Format::Lz4,
                _ => Format::Zstd,
            }
        }
        first if is_lzma(first) => Format::Lzma,
        _ => Format::Plain,
    }
}

/// Whether these bytes are a tar header by its checksum, summed as unsigned or as signed bytes.
fn is_tar_header(first: &[u8]) -> bool {
    let Some(header) = first.first_chunk::<DETECT_BYTES>() else {
        return false;
    };
    let field = header[CHECKSUM].trim_ascii_start();
    let digits = field
        .iter()
        .take_while(|byte| matches!(byte, b'0'..=b'7'))
        .count();
    if digits == 0 {
        return false;
    }
    let expected = field[..digits]
        .iter()
        .fold(0_i64, |sum, digit| sum * 8 + i64::from(digit - b'0'));
    let (mut unsigned, mut signed) = (0, 0);
    for (at, byte) in header.iter().enumerate() {
        let byte = if CHECKSUM.contains(&at) { b' ' } else { *byte };
        unsigned += i64::from(byte);
        signed += i64::from(byte.cast_signed());
    }
    expected == unsigned || expected == signed
}

/// What follows `BZh` and the level: the number that begins a block, or the one that ends a stream without blocks.
fn is_bzip2(rest: &[u8]) -> bool {
    const BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: [u8; 6] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    let known = &rest[..rest.len().min(6)];
    BLOCK.starts_with(known) || END.starts_with(known)
}

/// The .lzma format has no magic number. This is the test of xz(1): properties in range, a dictionary of 2^n or
/// 2^n + 2^(n-1) bytes, and a length that is unknown or below 256 GiB. The first byte that is coded is always 0.
fn is_lzma(first: &[u8]) -> bool {
    let Some((&properties, rest)) = first.split_first() else {
        return false;
    };
    let (Some(dictionary), Some(length)) = (
        rest.first_chunk::<4>(),
        rest.get(4..).and_then(<[u8]>::first_chunk::<8>),
    ) else {
        return false;
    };
    let dictionary = u32::from_le_bytes(*dictionary);
    let length = u64::from_le_bytes(*length);
    let top = dictionary.checked_ilog2().map_or(0, |log| 1_u32 << log);
    let usual = dictionary == u32::MAX
        || (dictionary >= 4096 && (dictionary == top || dictionary == top + top / 2));
    let coded = rest.get(12).is_none_or(|byte| *byte == 0);
    properties < 9 * 5 * 5 && usual && (length == u64::MAX || length < 1 << 38) && coded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with nothing but a name and its checksum.
    fn header(name: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name);
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum::<u32>() + 8 * 32;
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header
    }

    #[test]
    fn a_tar_header_is_plain_whatever_the_name_begins_with() {
        for name in [
            &b"BZh91AY&SY"[..],
            b"\x1f\x8b\x08",
            b"LZIP",
            b"\x28\xb5\x2f\xfd",
            b"]\0\0\x80",
            b"\xfd7zXZ\0",
        ] {
            let mut first = header(name);
            assert_eq!(detect(&first), Format::Plain, "{}", name.escape_ascii());
            first[300] = 1;
            let damaged = detect(&first);
            assert!(
                damaged != Format::Plain || name[0] == b']',
                "{}",
                name.escape_ascii()
            );
        }
    }

    #[test]
    fn few_bytes_are_plain_and_nothing_panics() {
        let sample = b"\x50\x2a\x4d\x18\xff\xff\xff\xff";
        for length in 0..sample.len() {
            let _ = detect(&sample[..length]);
        }
        assert_eq!(detect(b""), Format::Plain);
        assert_eq!(detect(b"\x1f"), Format::Plain);
        assert_eq!(detect(b"BZh9 is how this text begins"), Format::Plain);
        assert_eq!(detect(&[0; 512]), Format::Plain);
    }

    #[test]
    fn the_frame_after_a_skippable_one_tells() {
        let skippable = b"\x53\x2a\x4d\x18\x02\0\0\0ab";
        assert_eq!(
            detect(&[&skippable[..], b"\x04\x22\x4d\x18"].concat()),
            Format::Lz4
        );
        assert_eq!(
            detect(&[&skippable[..], skippable, b"\x02\x21\x4c\x18"].concat()),
            Format::Lz4
        );
        assert_eq!(
            detect(&[&skippable[..], b"\x28\xb5\x2f\xfd"].concat()),
            Format::Zstd
        );
    }
}
