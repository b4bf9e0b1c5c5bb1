//! The directory that `--one-top-level` means when it names none.

/// What GNU tar 1.34 takes off the end of an archive's name.
const SUFFIXES: [&str; 19] = [
    "tar", "gz", "tgz", "taz", "Z", "taZ", "bz2", "tbz", "tbz2", "tz2", "lz", "lzma", "tlz", "lzo",
    "xz", "txz", "zst", "tzst", "lz4",
];

/// The last component of an archive's name without what says that it is one; `None` where nothing does, or nothing else
/// is left.
pub(crate) fn directory(archive: &[u8]) -> Option<&[u8]> {
    let name = archive.rsplit(|&byte| byte == b'/').next()?;
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    let (stem, suffix) = (&name[..dot], &name[dot + 1..]);
    if !SUFFIXES.iter().any(|known| known.as_bytes() == suffix) || stem.is_empty() {
        return None;
    }
    // A second one is taken off only where something is left of it.
    let inner = stem
        .strip_suffix(b".tar")
        .filter(|inner| suffix != b"tar" && !inner.is_empty());
    Some(inner.unwrap_or(stem))
}

#[cfg(test)]
mod tests {
    use super::directory;

    #[test]
    fn names_are_cut_as_gnu_tar_cuts_them() {
        for (name, expected) in [
            ("a.tar", Some("a")),
            ("/x/y.tar.gz/b.tgz", Some("b")),
            ("a.tar.zst", Some("a")),
            ("a.gz", Some("a")),
            ("a.b.tar", Some("a.b")),
            ("a.tar.tar", Some("a.tar")),
            ("a.tgz.tar", Some("a.tgz")),
            (".tar.gz", Some(".tar")),
            ("..tar", Some(".")),
            ("a.taZ", Some("a")),
            // GNU tar 1.34 does not know this one.
            ("a.tar.lz4", Some("a")),
            (".tar", None),
            (".gz", None),
            ("plain", None),
            ("a.TAR", None),
            ("a.tb2", None),
            ("a.tar.gz.bak", None),
            ("dir.tar/x", None),
            ("a.tar~", None),
            ("", None),
        ] {
            let found = directory(name.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{name}");
        }
    }
}
