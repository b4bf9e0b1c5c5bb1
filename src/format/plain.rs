//! Headers of members that are made up, with nothing but a name and a size: POSIX ustar, names of at most 255 bytes.
//!
//! The same name and size give the same header, whoever makes it and when: owner and group are 0, the time is fixed.

use std::io;

use tar::{EntryType, Header};

/// Two zero blocks: the end of an archive (POSIX pax, "ustar Interchange Format").
pub const END: &[u8] = &[0; 1024];

/// 2001-09-09 01:46:40 UTC.
const TIME: u64 = 1_000_000_000;

/// The block of a directory.
///
/// # Errors
/// The name does not fit.
pub fn directory(name: &str) -> io::Result<[u8; 512]> {
    header(&format!("{name}/"), EntryType::Directory, 0o755, 0)
}

/// The block before a regular file's contents.
///
/// # Errors
/// The name does not fit.
pub fn file(name: &str, size: u64) -> io::Result<[u8; 512]> {
    header(name, EntryType::Regular, 0o644, size)
}

/// What fills the last block of contents.
#[must_use]
pub fn padding(size: u64) -> &'static [u8] {
    let rest = usize::try_from(size % 512).unwrap_or(0);
    &END[..(512 - rest) % 512]
}

fn header(name: &str, kind: EntryType, mode: u32, size: u64) -> io::Result<[u8; 512]> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(TIME);
    header.set_cksum();
    Ok(*header.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{directory, file, padding};

    #[test]
    fn blocks_are_filled_up() {
        for (size, expected) in [(0, 0), (1, 511), (511, 1), (512, 0), (513, 511)] {
            assert_eq!(padding(size).len(), expected, "{size}");
        }
    }

    #[test]
    fn long_names_are_split_and_longer_ones_refused() {
        let name = format!("{}/{}", "a".repeat(150), "b".repeat(99));
        let block = file(&name, 5).unwrap();
        assert_eq!(&block[257..262], b"ustar");
        assert_eq!(&block[345..348], b"aaa");
        assert_eq!(directory("d").unwrap()[156], b'5');
        file(&"c".repeat(300), 5).unwrap_err();
    }
}
