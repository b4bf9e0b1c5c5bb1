//! Keywords of pax headers one by one: values at their limits, those of all members, those that other programs add.

use super::support::{end, file, member, pax, read};
use crate::member::Timestamp;

fn mtime(value: &str) -> Option<Timestamp> {
    let bytes = [
        pax(b'x', &[("mtime", value.as_bytes())]),
        file("f", b""),
        end(),
    ]
    .concat();
    let archive = read(&bytes);
    let mtime = archive.find("f").member.mtime;
    let said = archive.said();
    if said.is_empty() {
        return Some(mtime);
    }
    assert_eq!(said, ["f: malformed extended header: invalid mtime"]);
    assert_eq!(mtime.seconds, 1_600_000_000, "the field counts then");
    None
}

/// POSIX: "shall be represented as a decimal number of seconds since the Epoch", with a fraction if need be.
#[test]
fn times_before_the_epoch_and_far_ahead() {
    let at = |seconds, nanos| Some(Timestamp { seconds, nanos });
    for (value, expected) in [
        ("0", at(0, 0)),
        ("1.5", at(1, 500_000_000)),
        ("1.", at(1, 0)),
        ("0.000000001", at(0, 1)),
        ("-0", at(0, 0)),
        ("-1", at(-1, 0)),
        ("-0.5", at(-1, 500_000_000)),
        ("-0.000000001", at(-1, 999_999_999)),
        ("-86400.25", at(-86_401, 750_000_000)),
        // Finer than a nanosecond: towards the past.
        ("1.9999999999", at(1, 999_999_999)),
        ("-1.9999999999", at(-2, 0)),
        ("-1.0000000001", at(-2, 999_999_999)),
        // 2038, 2106, 2242 (eleven octal digits), 2514 (34 bits), 9999, 33658.
        ("2147483648", at(2_147_483_648, 0)),
        ("4294967296.25", at(4_294_967_296, 250_000_000)),
        ("8589934592", at(8_589_934_592, 0)),
        ("17179869184", at(17_179_869_184, 0)),
        ("253402300799", at(253_402_300_799, 0)),
        ("1000000000000", at(1_000_000_000_000, 0)),
        ("9223372036854775807", at(i64::MAX, 0)),
        ("-9223372036854775807", at(-i64::MAX, 0)),
        ("9223372036854775808", None),
        ("99999999999999999999", None),
        ("1e3", None),
        ("0x10", None),
        ("1,5", None),
        ("1.5.5", None),
        ("+1", None),
        (" 1", None),
        (".", None),
        ("-", None),
    ] {
        assert_eq!(mtime(value), expected, "{value}");
    }
}

/// `hdrcharset` says how names are encoded; here they are bytes either way, and nothing is said of bytes that are no text.
#[test]
fn names_are_bytes_whatever_the_charset() {
    let name = b"latin1-\xe9\xff";
    for charset in [
        &b"BINARY"[..],
        b"ISO-IR 10646 2000 UTF-8",
        b"ISO-IR 8859 1 1998",
        b"",
    ] {
        for typeflag in [b'x', b'g'] {
            let bytes = [
                pax(typeflag, &[("hdrcharset", charset)]),
                pax(b'x', &[("path", name), ("uname", name), ("gname", name)]),
                file("f", b""),
                pax(b'x', &[("linkpath", name)]),
                member("l", b"", |header| {
                    header.set_entry_type(tar::EntryType::Symlink);
                    header.set_link_name("old").unwrap();
                }),
                end(),
            ];
            let archive = read(&bytes.concat()).clean();
            let f = &archive.entries[0].member;
            assert_eq!(
                (&f.name[..], &f.uname[..], &f.gname[..]),
                (&name[..], &name[..], &name[..])
            );
            assert_eq!(archive.find("l").member.link, name);
        }
    }
}

/// Every keyword that has a field can stand in a global header, loses against the member's own, and is taken back.
#[test]
fn global_keywords_are_taken_back_one_by_one() {
    let all: [(&str, &[u8]); 9] = [
        ("path", b"all"),
        ("linkpath", b"there"),
        ("uname", b"u"),
        ("gname", b"g"),
        ("uid", b"11"),
        ("gid", b"12"),
        ("mtime", b"13"),
        ("atime", b"14"),
        ("ctime", b"15"),
    ];
    let link = |name: &str| {
        member(name, b"", |header| {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_link_name("old").unwrap();
        })
    };
    let facts = |bytes: &[Vec<u8>]| -> Vec<[String; 9]> {
        let archive = read(&bytes.concat()).clean();
        let facts = archive.entries.iter().map(|entry| {
            let m = &entry.member;
            let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
            let time = |time: Option<Timestamp>| {
                time.map_or(String::new(), |time| time.seconds.to_string())
            };
            [
                text(&m.name),
                text(&m.link),
                text(&m.uname),
                text(&m.gname),
                m.uid.to_string(),
                m.gid.to_string(),
                m.mtime.seconds.to_string(),
                time(m.atime),
                time(m.ctime),
            ]
        });
        facts.collect()
    };
    let fields = ["l", "old", "", "", "0", "0", "1600000000", "", ""];
    let global = ["all", "there", "u", "g", "11", "12", "13", "14", "15"];
    for (at, (key, _)) in all.iter().enumerate() {
        let own: (&str, &[u8]) = (key, b"7");
        let found = facts(&[
            pax(b'g', &all),
            link("l"),
            // For one member: its own value, then its field.
            pax(b'x', &[own]),
            link("l"),
            pax(b'x', &[(key, b"")]),
            link("l"),
            // From here on none.
            pax(b'g', &[(key, b"")]),
            link("l"),
            pax(b'g', &[own]),
            link("l"),
            end(),
        ]);
        let with = |value: &str| {
            let mut expected = global.map(str::to_owned);
            expected[at] = value.to_owned();
            expected
        };
        let expected = [
            with(global[at]),
            with("7"),
            with(fields[at]),
            with(fields[at]),
            with("7"),
        ];
        assert_eq!(found, expected, "{key}");
    }
    // A later global header adds to an earlier one.
    let found = facts(&[pax(b'g', &all[..4]), pax(b'g', &all[4..]), link("l"), end()]);
    assert_eq!(found, [global.map(str::to_owned)]);
}

/// A size for all members is one that each of them has.
#[test]
fn a_global_size_counts_until_it_is_taken_back() {
    let bytes = [
        pax(b'g', &[("size", b"3")]),
        file("a", b"abc"),
        pax(b'x', &[("size", b"5")]),
        file("b", b"abcde"),
        pax(b'g', &[("size", b"")]),
        file("c", b"abcdefg"),
        end(),
    ];
    let archive = read(&bytes.concat()).clean();
    let data: Vec<&[u8]> = archive
        .entries
        .iter()
        .map(|entry| &entry.data[..])
        .collect();
    assert_eq!(data, [&b"abc"[..], b"abcde", b"abcdefg"]);
}

/// What has no field here stays readable under its own name: it is for the consumers that understand it.
#[test]
fn keywords_of_other_programs_are_kept() {
    let all: [(&str, &[u8]); 18] = [
        ("LIBARCHIVE.creationtime", b"1344814000.987654321"),
        ("LIBARCHIVE.symlinktype", b"file"),
        ("LIBARCHIVE.xattr.user.bin", b"AP8KPQ"),
        ("SCHILY.xattr.user.bin", b"\0\xff\n="),
        ("SCHILY.xattr.security.capability", b"\x01\0\0\x02"),
        ("SCHILY.acl.access", b"user::rwx,group::r-x,other::r--"),
        ("SCHILY.acl.default", b"user::rwx,group::r-x,other::r--"),
        ("SCHILY.acl.ace", b"owner@:rwx:allow"),
        ("SCHILY.fflags", b"nodump,immutable"),
        ("SCHILY.dev", b"2049"),
        ("SCHILY.ino", b"1234567890123"),
        ("SCHILY.nlink", b"2"),
        ("SCHILY.dir", b"\tf\0\0"),
        ("RHT.security.selinux", b"system_u:object_r:etc_t:s0\0"),
        ("SUN.unknown", b"x"),
        ("VENDOR.any thing", b"with\nnewline"),
        ("comment", b"of this member"),
        ("charset", b"ISO-IR 646 1990"),
    ];
    let bytes = [pax(b'x', &all), file("f", b"abc"), file("g", b""), end()];
    let archive = read(&bytes.concat()).clean();
    let f = &archive.find("f").member;
    for (key, value) in all {
        assert_eq!(f.record(key.as_bytes()), Some(value), "{key}");
    }
    assert!(archive.find("g").member.records.is_empty());
}

/// SCHILY.realsize is the size on disk beside that in the archive; GNU.sparse.size is an older name for it.
#[test]
fn real_sizes_by_every_name() {
    for (key, major) in [
        ("GNU.sparse.realsize", true),
        ("GNU.sparse.size", false),
        ("SCHILY.realsize", false),
    ] {
        let mut records: Vec<(&str, &[u8])> = vec![(key, b"9000")];
        let map = b"1\n0\n512\n";
        let mut data = Vec::new();
        if major {
            records.extend([("GNU.sparse.major", &b"1"[..]), ("GNU.sparse.minor", b"0")]);
            data.extend_from_slice(map);
            data.resize(512, 0);
        } else {
            records.push(("GNU.sparse.map", b"0,512"));
        }
        data.resize(data.len() + 512, b'x');
        let bytes = [pax(b'x', &records), file("f", &data), end()];
        let archive = read(&bytes.concat()).clean();
        let f = archive.find("f");
        assert_eq!((f.member.size, f.member.stored), (9000, 512), "{key}");
        assert_eq!(
            f.contents().iter().filter(|&&byte| byte == b'x').count(),
            512
        );
    }
}
