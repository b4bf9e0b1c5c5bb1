//! Archives by other programs, against the tree that they were made from.
//!
//! The expected lists below say where an archive differs from the tree: what its format cannot hold, or what its maker
//! wrote. An archive without a list holds everything.

use std::io::Read;

use super::support::{Archive, Entry, read_all};
use crate::format::{Options, SeekSource, SliceSource, SwapRead, is_byte_swapped};
use crate::member::{Format, Kind, Timestamp};

/// One object of the tree.
struct Object {
    path: &'static [u8],
    kind: Kind,
    mode: u32,
    owner: (u64, u64),
    mtime: (i64, u32),
    /// Size and hash of the contents.
    contents: (u64, u64),
    /// Where a symbolic link leads to, or the other name of the same file.
    link: &'static [u8],
    device: (u32, u32),
}

const TIME: (i64, u32) = (1_344_814_000, 987_654_321);
const NOTHING: (u64, u64) = (0, 0xcbf2_9ce4_8422_2325);
const HELLO: (u64, u64) = (13, 0xe60e_7ee6_4882_9675);
const LONG: (u64, u64) = (10, 0x1d8f_466b_d3c3_ac48);

const PLAIN: Object = Object {
    path: b"",
    kind: Kind::Regular,
    mode: 0o644,
    owner: (0, 0),
    mtime: TIME,
    contents: NOTHING,
    link: b"",
    device: (0, 0),
};

const DIRECTORY: Object = Object {
    kind: Kind::Directory,
    mode: 0o755,
    ..PLAIN
};

const SYMLINK: Object = Object {
    kind: Kind::Symlink,
    mode: 0o777,
    ..PLAIN
};

macro_rules! d60 {
    () => {
        "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
    };
}
macro_rules! de {
    () => {
        concat!(
            d60!(),
            "/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
        )
    };
}
macro_rules! def {
    () => {
        concat!(
            de!(),
            "/ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
        )
    };
}
macro_rules! long_name {
    () => {
        concat!(
            def!(),
            "/gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg.txt"
        )
    };
}

const TREE: &[Object] = &[
    Object { path: b"a-blk", kind: Kind::BlockDevice, device: (259, 70_000), ..PLAIN },
    Object { path: b"a-chr", kind: Kind::CharDevice, device: (5, 1), ..PLAIN },
    Object { path: b"a-fifo", kind: Kind::Fifo, ..PLAIN },
    Object { path: b"dangling", link: b"/nonexistent/absolute", ..SYMLINK },
    Object { path: d60!().as_bytes(), ..DIRECTORY },
    Object { path: b"dir", ..DIRECTORY },
    Object { path: b"empty", owner: (70_000, 80_000), mtime: (-86_400, 0), ..PLAIN },
    Object { path: b"empty-dir", mode: 0o555, ..DIRECTORY },
    Object { path: b"hard-to-hello", owner: (3_000_000, 4_000_000), contents: HELLO, link: b"dir/hello.txt", ..PLAIN },
    Object { path: b"hard-to-long", contents: LONG, link: long_name!().as_bytes(), ..PLAIN },
    Object { path: b"latin1-\xe9\xff", contents: (2, 0x08ac_d607_b553_50b3), ..PLAIN },
    Object { path: b"link-to-hello", link: b"dir/hello.txt", ..SYMLINK },
    Object {
        path: b"long-symlink",
        link: b"tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt",
        ..SYMLINK
    },
    Object {
        path: b"name with  spaces\nand newline",
        mtime: (5_000_000_000, 1),
        contents: (2, 0x08b3_b607_b559_3901),
        ..PLAIN
    },
    Object { path: b"sparse-many.bin", contents: (2_621_440, 0x039c_f113_f5e2_d325), ..PLAIN },
    Object { path: b"sparse.bin", contents: (3_145_728, 0xa5a8_2396_f791_861d), ..PLAIN },
    Object { path: b"\xc3\xbctf-8-n\xc3\xa4me", contents: (2, 0x08c4_b407_b567_a8ce), ..PLAIN },
    Object { path: b"dir/hello.txt", owner: (3_000_000, 4_000_000), contents: HELLO, link: b"hard-to-hello", ..PLAIN },
    Object { path: b"dir/sub", mode: 0o1777, ..DIRECTORY },
    Object { path: b"dir/sub/blocky.bin", mode: 0, contents: (10_240, 0xaea6_acd0_c0dd_1b25), ..PLAIN },
    Object { path: b"dir/sub/odd.bin", mode: 0o4775, contents: (513, 0xc464_da8f_0197_8f07), ..PLAIN },
    Object { path: de!().as_bytes(), ..DIRECTORY },
    Object { path: def!().as_bytes(), ..DIRECTORY },
    Object { path: long_name!().as_bytes(), contents: LONG, link: b"hard-to-long", ..PLAIN },
];

/// FNV-1a, 64 bits; the values above are of contents whose SHA-256 was compared with that of the tree.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn plain(name: &[u8]) -> &[u8] {
    let name = name.strip_prefix(b"./").unwrap_or(name);
    name.strip_suffix(b"/").unwrap_or(name)
}

fn shown(name: &[u8]) -> String {
    match name {
        name if name == d60!().as_bytes() => "D".to_owned(),
        name if name == de!().as_bytes() => "D/E".to_owned(),
        name if name == def!().as_bytes() => "D/E/F".to_owned(),
        name if name == long_name!().as_bytes() => "D/E/F/G".to_owned(),
        name if name.starts_with(b"tttt") => format!("t x {}", name.len()),
        name => name.escape_ascii().to_string(),
    }
}

/// Opens an archive in `fixtures`, swapped back if need be.
fn open(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .unwrap();
    if is_byte_swapped(&bytes) {
        let mut swapped = Vec::new();
        SwapRead::new(&bytes[..]).read_to_end(&mut swapped).unwrap();
        bytes = swapped;
    }
    bytes
}

fn read(name: &str) -> Archive {
    let bytes = open(name);
    let archive = read_all(SliceSource::new(&bytes[..]), Options::default());
    let pieces = read_all(SliceSource::stingy(bytes, 700, 2000), Options::default());
    assert_eq!(archive.said(), pieces.said());
    assert_eq!(archive.entries.len(), pieces.entries.len());
    for (a, b) in archive.entries.iter().zip(&pieces.entries) {
        assert_eq!(a.member, b.member);
        assert!(a.data == b.data, "data of {}", shown(&a.member.name));
    }
    archive
}

/// Where an archive differs from the tree.
fn differences(archive: &Archive, format: Format) -> Vec<String> {
    let mut all = Vec::new();
    let nanos = matches!(format, Format::Pax | Format::Exustar | Format::Suntar);
    for object in TREE {
        let name = shown(object.path);
        let found = |entry: &&Entry| plain(&entry.member.name) == object.path;
        let Some(entry) = archive.entries.iter().find(found) else {
            all.push(format!("{name} is missing"));
            continue;
        };
        let mut differ = |what: String| all.push(format!("{name} has {what}"));
        let member = &entry.member;
        if member.format != format {
            differ(format!("format {:?}", member.format));
        }
        let is_link = member.kind == Kind::HardLink && !object.link.is_empty();
        if member.kind != object.kind && !is_link {
            differ(format!("kind {:?}", member.kind));
        }
        if member.mode != object.mode {
            differ(format!("mode {:o}", member.mode));
        }
        if (member.uid, member.gid) != object.owner {
            differ(format!("owner {}/{}", member.uid, member.gid));
        }
        let (seconds, fraction) = object.mtime;
        let mtime = Timestamp {
            seconds,
            nanos: if nanos { fraction } else { 0 },
        };
        // Attributes were set on it between the archives.
        if member.mtime != mtime && object.path != b"dir" {
            differ(format!(
                "time {}.{:09}",
                member.mtime.seconds, member.mtime.nanos
            ));
        }
        if member.kind == Kind::Regular {
            let contents = entry.contents();
            assert_eq!(contents.len() as u64, member.size);
            if (contents.len() as u64, hash(&contents)) != object.contents {
                differ(format!("other contents, {} bytes", contents.len()));
            }
        }
        if matches!(member.kind, Kind::HardLink | Kind::Symlink)
            && plain(&member.link) != object.link
        {
            differ(format!("link to {}", shown(&member.link)));
        }
        if member.device != object.device {
            differ(format!("device {:?}", member.device));
        }
    }
    for entry in &archive.entries {
        let name = plain(&entry.member.name);
        if !TREE.iter().any(|object| object.path == name) && name != b"." && !name.is_empty() {
            all.push(format!("{} is not in the tree", shown(name)));
        }
    }
    all
}

#[track_caller]
fn check(name: &str, format: Format, sparse: bool, expected: &[&str]) {
    let archive = read(name).clean();
    let found = differences(&archive, format);
    assert_eq!(found, expected, "{name}");
    for entry in &archive.entries {
        let is_sparse = entry.member.name.ends_with(b"sparse.bin")
            || entry.member.name.ends_with(b"sparse-many.bin");
        assert_eq!(entry.member.sparse.is_some(), sparse && is_sparse, "{name}");
        if sparse && is_sparse {
            let many = entry.member.name.ends_with(b"sparse-many.bin");
            let extents = entry.member.sparse.as_ref().unwrap();
            assert_eq!(extents.len(), if many { 20 } else { 3 });
            assert_eq!(entry.member.stored, if many { 81_920 } else { 24_576 });
        }
        let name = plain(&entry.member.name);
        let of_root = TREE
            .iter()
            .any(|object| object.path == name && object.owner == (0, 0));
        if of_root && format != Format::V7 {
            assert_eq!(entry.member.uname, b"root", "{name:?}");
        }
    }
}

#[test]
fn star_v7() {
    // Regular files and hard links only. Before 1970 is after 2200: star reads it so itself.
    let missing = [
        "a-blk is missing",
        "a-chr is missing",
        "a-fifo is missing",
        "dangling is missing",
        "D is missing",
        "dir is missing",
        "empty has time 8589848192.000000000",
        "empty-dir is missing",
        "hard-to-hello has owner 0/0",
        "link-to-hello is missing",
        "long-symlink is missing",
        "dir/hello.txt has owner 0/0",
        "dir/sub is missing",
        "D/E is missing",
        "D/E/F is missing",
        "D/E/F/G is missing",
    ];
    check("star/v7tar", Format::V7, false, &missing);
}

#[test]
fn star_tar() {
    // With directories and symbolic links; names of up to 99 bytes.
    let missing = [
        "a-blk is missing",
        "a-chr is missing",
        "a-fifo is missing",
        "empty has time 8589848192.000000000",
        "hard-to-hello has owner 0/0",
        "long-symlink is missing",
        "dir/hello.txt has owner 0/0",
        "D/E is missing",
        "D/E/F is missing",
        "D/E/F/G is missing",
    ];
    check("star/tar", Format::V7, false, &missing);
}

#[test]
fn star_ustar_in_both_byte_orders() {
    let missing = [
        "empty has time 8589848192.000000000",
        "hard-to-hello has owner 0/0",
        "long-symlink is missing",
        "dir/hello.txt has owner 0/0",
        "D/E/F/G is missing",
    ];
    check("star/ustar", Format::Ustar, false, &missing);
    check("star/ustar-byteswapped", Format::Ustar, false, &missing);
}

#[test]
fn star_of_1985() {
    check("star/star", Format::Star, true, &[]);
}

#[test]
fn star_gnutar() {
    check("star/gnutar", Format::Gnu, true, &[]);
}

#[test]
fn star_pax_and_suntar() {
    check("star/pax", Format::Pax, false, &[]);
    check("star/epax", Format::Pax, false, &[]);
    check("star/suntar", Format::Suntar, false, &[]);
}

#[test]
fn star_xstar_and_its_kin() {
    check("star/xstar", Format::Xstar, true, &[]);
    // With nanoseconds every member of xustar has a pax header, and nothing says that it is not exustar.
    check("star/xustar", Format::Exustar, true, &[]);
    check("star/exustar", Format::Exustar, true, &[]);
    check("star/exustar-dump", Format::Exustar, true, &[]);
    check("star/exustar-acl-xattr", Format::Exustar, true, &[]);
}

#[test]
fn gnu_v7() {
    let missing = [
        "a-blk is missing",
        "a-chr is missing",
        "a-fifo is missing",
        "empty is missing",
        "hard-to-hello is missing",
        "long-symlink has link to t x 100",
        "dir/hello.txt is missing",
        "D/E is missing",
        "D/E/F is missing",
        "D/E/F/G is missing",
    ];
    check("gnu/v7", Format::V7, false, &missing);
}

#[test]
fn gnu_ustar() {
    let missing = [
        "empty is missing",
        "hard-to-hello is missing",
        "long-symlink has link to t x 100",
        "dir/hello.txt is missing",
        "D/E/F/G is missing",
    ];
    check("gnu/ustar", Format::Ustar, false, &missing);
}

#[test]
fn gnu_formats() {
    check("gnu/oldgnu", Format::Gnu, false, &[]);
    check("gnu/oldgnu-sparse", Format::Gnu, true, &[]);
    check("gnu/gnu", Format::Gnu, false, &[]);
    check("gnu/gnu-sparse", Format::Gnu, true, &[]);
}

#[test]
fn gnu_posix() {
    check("gnu/posix", Format::Pax, false, &[]);
    check("gnu/posix-sparse", Format::Pax, true, &[]);
    check("gnu/posix-sparse-0.0", Format::Pax, true, &[]);
    check("gnu/posix-sparse-0.1", Format::Pax, true, &[]);
    check("gnu/posix-sparse-1.0", Format::Pax, true, &[]);
    check("gnu/posix-xattr-acl", Format::Pax, false, &[]);
}

#[test]
fn bsd_formats() {
    // It takes the group's bits from the ACL, where star and GNU tar take the mask.
    let mode = "dir/sub/odd.bin has mode 4755";
    let missing = [
        "empty is missing",
        "hard-to-hello is missing",
        "long-symlink is missing",
        "dir/hello.txt is missing",
        mode,
        "D/E/F/G is missing",
    ];
    check("bsd/ustar", Format::Ustar, false, &missing);
    let missing = [
        "a-blk is missing",
        "a-chr is missing",
        "a-fifo is missing",
        "empty is missing",
        "hard-to-hello is missing",
        "long-symlink is missing",
        "dir/hello.txt is missing",
        mode,
        "D/E is missing",
        "D/E/F is missing",
        "D/E/F/G is missing",
    ];
    check("bsd/v7tar", Format::V7, false, &missing);
    let old = "empty has time 0.000000000";
    check("bsd/gnutar", Format::Gnu, false, &[old, mode]);
    check("bsd/pax", Format::Pax, true, &[mode]);
}

#[test]
fn busybox() {
    let old = "empty has time 0.000000000";
    check("busybox/busybox", Format::Gnu, false, &[old]);
}

fn keys(entry: &Entry) -> Vec<String> {
    let key = |record: &crate::member::Record| record.key.escape_ascii().to_string();
    entry.member.records.iter().map(key).collect()
}

#[test]
fn attributes_stay_in_the_records() {
    let star = read("star/exustar-acl-xattr").clean();
    let hello = star.find("hard-to-hello");
    assert_eq!(
        keys(hello),
        ["SCHILY.xattr.user.comment", "SCHILY.xattr.user.bin"]
    );
    assert_eq!(
        hello.member.record(b"SCHILY.xattr.user.bin"),
        Some(&b"\0\xff\n="[..])
    );
    assert_eq!(keys(star.find("dir/sub/odd.bin")), ["SCHILY.acl.access"]);
    assert_eq!(keys(star.find("dir/")), ["SCHILY.acl.default"]);

    let gnu = read("gnu/posix-xattr-acl").clean();
    let mut hello = keys(gnu.find("./hard-to-hello"));
    hello.sort();
    assert_eq!(
        hello,
        ["SCHILY.xattr.user.bin", "SCHILY.xattr.user.comment"]
    );
    let acl = ["SCHILY.acl.access", "SCHILY.xattr.system.posix_acl_access"];
    assert_eq!(keys(gnu.find("./dir/sub/odd.bin")), acl);
}

#[test]
fn what_star_dumps_stays_in_the_records() {
    let archive = read("star/exustar-dump").clean();
    let dir = archive.find("dir/");
    assert_eq!(
        dir.member.record(b"SCHILY.filetype"),
        Some(&b"directory"[..])
    );
    assert_eq!(
        dir.member.record(b"SCHILY.dir"),
        Some(&b"\thello.txt\0\x05sub\0\0"[..])
    );
    assert_eq!(
        dir.member.record(b"SCHILY.release"),
        None,
        "that is the archive's"
    );
}

#[test]
fn volumes_of_star_begin_with_a_continuation() {
    for (name, offset, stored) in [
        ("star/mv1", 2_055_680, 565_760),
        ("star/mv2", 1_013_760, 1_607_680),
    ] {
        let archive = read(name);
        let first = &archive.entries[0].member;
        assert_eq!(first.kind, Kind::Continuation);
        assert_eq!(
            (first.offset, first.stored, first.size),
            (offset, stored, 2_621_440)
        );
    }
}

#[test]
fn volumes_of_gnu_tar_begin_with_a_continuation() {
    let first = read("gnu/mv-gnu-1");
    assert!(matches!(
        first.error,
        Some(crate::error::Error::UnexpectedEnd { block: 2060 })
    ));
    let second = read("gnu/mv-gnu-2");
    assert!(matches!(
        second.error,
        Some(crate::error::Error::UnexpectedEnd { block: 2060 })
    ));
    let third = read("gnu/mv-gnu-3").clean();
    let mut file = Vec::new();
    for archive in [&first, &second, &third] {
        let entry = &archive.entries[0];
        assert_eq!(plain(&entry.member.name), b"sparse-many.bin");
        assert_eq!(entry.member.size, 2_621_440);
        assert_eq!(entry.member.offset, file.len() as u64);
        file.extend_from_slice(&entry.data);
    }
    assert_eq!(third.entries[0].member.kind, Kind::Continuation);
    assert_eq!(
        (2_621_440, hash(&file)),
        (file.len(), 0x039c_f113_f5e2_d325)
    );
    assert_eq!(third.entries.len(), 6);
}

#[test]
fn labels_are_members() {
    for (name, typeflag) in [("gnu/gnu-label", b'V'), ("gnu/posix-label", b'g')] {
        let archive = read(name).clean();
        let label = &archive.entries[0].member;
        assert_eq!((label.kind, label.typeflag), (Kind::VolumeHeader, typeflag));
        assert_eq!(label.name, b"MY LABEL");
        assert_eq!(
            archive.names()[1..],
            [
                "dir/",
                "dir/hello.txt",
                "dir/sub/",
                "dir/sub/odd.bin",
                "dir/sub/blocky.bin"
            ]
        );
    }
}

#[test]
fn incremental_archives_list_their_directories() {
    let full = read("gnu/incremental-0").clean();
    let dir = &full.find("dir/").member;
    assert_eq!(
        (dir.kind, dir.typeflag, dir.size),
        (Kind::Directory, b'D', 0)
    );
    assert_eq!(dir.dumpdir.as_deref(), Some(&b"Yhello.txt\0Dsub\0\0"[..]));
    let next = read("gnu/incremental-1").clean();
    assert_eq!(
        next.find("dir/").member.dumpdir.as_deref(),
        Some(&b"Nhello.txt\0Ynew-file\0Dsub\0\0"[..])
    );
    assert_eq!(next.names(), ["dir/", "dir/sub/", "dir/new-file"]);
}

#[test]
fn a_file_that_can_seek_gives_the_same() {
    for name in [
        "star/exustar-dump",
        "gnu/oldgnu-sparse",
        "gnu/posix-sparse-1.0",
    ] {
        let bytes = open(name);
        let archive = read(name);
        let length = bytes.len() as u64;
        let sought = read_all(SeekSource::new(&bytes[..], 0, length), Options::default()).clean();
        assert_eq!(archive.entries.len(), sought.entries.len());
        for (a, b) in archive.entries.iter().zip(&sought.entries) {
            assert_eq!(a.member, b.member);
            assert!(a.data == b.data, "data of {}", shown(&a.member.name));
        }
    }
}
