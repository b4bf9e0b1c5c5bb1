//! Pax extended headers: what they override, for how long, and what happens to bad ones.

use super::support::{end, file, member, pax, raw_pax, read, record};
use crate::format::limits;
use crate::member::{Format, Kind, Timestamp};

#[test]
fn every_posix_keyword_overrides_its_field() {
    let records: [(&str, &[u8]); 10] = [
        ("path", b"new/name"),
        ("uid", b"3000000000"),
        ("gid", b"4000000000"),
        ("uname", b"someone"),
        ("gname", b"everyone"),
        ("mtime", b"1.000000001"),
        ("atime", b"2.5"),
        ("ctime", b"-3.25"),
        ("size", b"5"),
        ("hdrcharset", b"BINARY"),
    ];
    let empty = member("old", b"", |header| header.set_size(0));
    let mut bytes = [pax(b'x', &records), empty].concat();
    bytes.extend_from_slice(b"hello");
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes.extend(end());
    let archive = read(&bytes).clean();
    let entry = archive.find("new/name");
    let member = &entry.member;
    assert_eq!((member.uid, member.gid), (3_000_000_000, 4_000_000_000));
    assert_eq!(
        (&member.uname[..], &member.gname[..]),
        (&b"someone"[..], &b"everyone"[..])
    );
    let at = |seconds, nanos| Timestamp { seconds, nanos };
    assert_eq!(member.mtime, at(1, 1));
    assert_eq!(member.atime, Some(at(2, 500_000_000)));
    assert_eq!(member.ctime, Some(at(-4, 750_000_000)));
    assert_eq!((member.size, &entry.data[..]), (5, &b"hello"[..]));
    assert!(member.records.is_empty());
}

#[test]
fn a_link_path_overrides_links_only() {
    let to = pax(b'x', &[("linkpath", "z\u{fc}".as_bytes())]);
    let link = member("link", b"", |header| {
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_link_name("old").unwrap();
    });
    let bytes = [&to[..], &link, &to, &file("f", b"hello"), &link, &end()].concat();
    let archive = read(&bytes).clean();
    assert_eq!(archive.entries[0].member.link, "z\u{fc}".as_bytes());
    assert_eq!(archive.entries[1].member.link, b"");
    assert_eq!(archive.entries[2].member.link, b"old");
}

#[test]
fn an_empty_value_takes_an_override_back() {
    let bytes = [
        pax(
            b'g',
            &[("mtime", b"1000"), ("path", b"global"), ("comment", b"abc")],
        ),
        file("a", b""),
        pax(b'x', &[("path", b"first"), ("path", b""), ("mtime", b"")]),
        file("b", b""),
        pax(b'x', &[("mtime", b"2000")]),
        file("c", b""),
        pax(b'g', &[("path", b""), ("comment", b"")]),
        file("d", b""),
        end(),
    ]
    .concat();
    let archive = read(&bytes).clean();
    assert_eq!(archive.names(), ["global", "b", "global", "d"]);
    let times: Vec<_> = archive
        .entries
        .iter()
        .map(|entry| entry.member.mtime.seconds)
        .collect();
    assert_eq!(times, [1000, 1_600_000_000, 2000, 1000]);
    assert_eq!(archive.entries[3].member.format, Format::Ustar);
}

#[test]
fn global_records_reach_members_unless_they_are_about_the_archive() {
    let bytes = [
        pax(
            b'g',
            &[
                ("comment", b"commit"),
                ("SCHILY.xattr.user.a", b"1"),
                ("SCHILY.release", b"star"),
            ],
        ),
        pax(b'g', &[("SCHILY.xattr.user.a", b"2")]),
        pax(b'x', &[("comment", b"of f")]),
        file("f", b""),
        end(),
    ]
    .concat();
    let archive = read(&bytes).clean();
    let f = &archive.find("f").member;
    let keys: Vec<_> = f.records.iter().map(|record| &record.key[..]).collect();
    assert_eq!(keys, [&b"SCHILY.xattr.user.a"[..], b"comment"]);
    assert_eq!(f.record(b"SCHILY.xattr.user.a"), Some(&b"2"[..]));
    assert_eq!(f.record(b"comment"), Some(&b"of f"[..]));

    let mut reader = crate::format::Reader::new(
        crate::format::SliceSource::new(bytes),
        crate::format::Options::default(),
    );
    use crate::member::MemberStream;
    reader.advance().unwrap();
    let keys: Vec<_> = reader
        .globals()
        .iter()
        .map(|record| &record.key[..])
        .collect();
    assert_eq!(
        keys,
        [&b"comment"[..], b"SCHILY.release", b"SCHILY.xattr.user.a"]
    );
}

#[test]
fn overrides_reach_over_other_extension_headers() {
    let long = member("././@LongLink", b"long", |header| {
        header.set_entry_type(tar::EntryType::GNULongName);
    });
    let inner = file("smuggled", b"x");
    // Whatever stands in between, the size is that of the member.
    let size = pax(b'x', &[("size", b"1024")]);
    let carrier = member("short", b"", |_| {});
    for order in [[&long[..], &size, &carrier], [&size, &long, &carrier]] {
        let bytes = [&order.concat()[..], &inner, &file("after", b""), &end()].concat();
        let archive = read(&bytes).clean();
        assert_eq!(archive.names(), ["long", "after"]);
        assert_eq!(archive.find("long").data, inner);
    }
    // A path in a pax header counts more than a long name.
    let path = pax(b'x', &[("path", b"pax")]);
    let archive = read(&[path, long, carrier, end()].concat()).clean();
    assert_eq!(archive.names(), ["pax"]);
    // Two pax headers: both count, the later one first.
    let bytes = [
        pax(b'x', &[("path", b"one"), ("uid", b"7")]),
        pax(b'x', &[("path", b"two")]),
        file("f", b""),
        file("g", b""),
        end(),
    ];
    let archive = read(&bytes.concat()).clean();
    assert_eq!(archive.names(), ["two", "g"]);
    assert_eq!(archive.find("two").member.uid, 7);
    assert_eq!(archive.find("g").member.uid, 0);
}

#[test]
fn a_pax_size_of_zero_counts_too() {
    let bytes = [
        pax(b'x', &[("size", b"0")]),
        file("f", &file("inner", b"x")),
        end(),
    ]
    .concat();
    let archive = read(&bytes);
    assert_eq!(archive.names(), ["f", "inner"]);
    assert_eq!(archive.find("f").member.size, 0);
}

#[test]
fn malformed_records_end_their_header_only() {
    for (bad, what) in [
        (&b"999 path=x\n"[..], "length out of range"),
        (b"9223372036854775808 path=x\n", "length out of range"),
        (b"18446744073709551627 path=x\n", "length out of range"),
        (b"-5 path=x\n", "missing length"),
        (b"path=x\n", "missing length"),
        (b"10path=xy\n", "missing blank after length"),
        (b"9 path x\n", "missing equal sign"),
        (b"9 path=xy", "missing newline"),
        (b"3 \n", "length out of range"),
        (b"0 a=b\n", "length out of range"),
    ] {
        let mut body = record("uid", b"7");
        body.extend_from_slice(bad);
        body.extend(record("gid", b"8"));
        let archive = read(&[raw_pax(b'x', &body), file("f", b"hello"), end()].concat());
        assert!(archive.error.is_none());
        assert_eq!(
            archive.said(),
            [format!("f: malformed extended header: {what}")]
        );
        let f = archive.find("f");
        assert_eq!(
            (f.member.uid, f.member.gid),
            (7, 0),
            "good records before it count"
        );
        assert_eq!(f.data, b"hello");
    }
}

#[test]
fn bad_values_cost_their_record_only() {
    for (key, value) in [
        ("size", &b" 5"[..]),
        ("size", b"5 "),
        ("size", b"-5"),
        ("size", b"+5"),
        ("size", b"0x5"),
        ("size", b"5.0"),
        ("size", b"5e0"),
        ("uid", b"-1"),
        ("mtime", b"now"),
        ("path", b"\0hidden"),
        ("SCHILY.devmajor", b"4294967296"),
        ("GNU.sparse.numblocks", b"many"),
    ] {
        let bytes = [
            pax(b'x', &[(key, value), ("gid", b"8")]),
            file("f", b"hello"),
            end(),
        ]
        .concat();
        let archive = read(&bytes);
        assert_eq!(
            archive.said(),
            [format!("f: malformed extended header: invalid {key}")]
        );
        let f = archive.find("f");
        assert_eq!((f.member.gid, &f.data[..]), (8, &b"hello"[..]));
    }
}

#[test]
fn unusual_but_sound_records_are_read() {
    let mut body = b"012 uid=123\n  \t12 gid=4\n".to_vec();
    body.extend_from_slice(&[0; 100]);
    let archive = read(&[raw_pax(b'x', &body), file("f", b""), end()].concat()).clean();
    assert_eq!(
        (archive.find("f").member.uid, archive.find("f").member.gid),
        (123, 4)
    );
    for body in [&b""[..], &[0; 4096]] {
        let archive = read(&[raw_pax(b'x', body), file("f", b""), end()].concat()).clean();
        assert_eq!(archive.names(), ["f"]);
    }
    // Values are any bytes; a name ends at a NUL.
    let archive = read(
        &[
            pax(
                b'x',
                &[("path", b"a=b\nc\0d"), ("k=v", b"x"), ("empty", b"")],
            ),
            file("f", b""),
            end(),
        ]
        .concat(),
    )
    .clean();
    let f = &archive.entries[0].member;
    assert_eq!(f.name, b"a=b\nc");
    assert_eq!(f.record(b"k"), Some(&b"v=x"[..]));
    assert_eq!(f.record(b"empty"), Some(&b""[..]));
}

#[test]
fn records_of_star() {
    let bytes = [
        pax(
            b'x',
            &[
                ("SCHILY.devmajor", b"259"),
                ("SCHILY.devminor", b"4000000000"),
                ("SCHILY.ino", b"7"),
            ],
        ),
        member("d", b"", |header| {
            header.set_entry_type(tar::EntryType::Block)
        }),
        pax(b'x', &[("SCHILY.filetype", b"socket")]),
        file("s", &file("hidden", b"")),
        pax(b'x', &[("SCHILY.filetype", b"regular")]),
        file("r", b""),
        end(),
    ]
    .concat();
    let archive = read(&bytes).clean();
    assert_eq!(archive.find("d").member.device, (259, 4_000_000_000));
    assert_eq!(
        archive.find("d").member.record(b"SCHILY.ino"),
        Some(&b"7"[..])
    );
    assert_eq!(archive.find("s").member.kind, Kind::Socket);
    assert_eq!(archive.find("s").member.stored, 0);
    assert_eq!(archive.names(), ["d", "s", "r"]);
    assert_eq!(archive.find("r").member.kind, Kind::Regular);
}

#[test]
fn solaris_marks_its_headers_otherwise() {
    let bytes = [
        pax(b'X', &[("path", b"new")]),
        file("f", b""),
        file("g", b""),
        end(),
    ]
    .concat();
    let archive = read(&bytes).clean();
    assert_eq!(archive.names(), ["new", "g"]);
    assert_eq!(archive.entries[0].member.format, Format::Suntar);
    assert_eq!(archive.entries[1].member.format, Format::Ustar);
}

#[test]
fn extended_headers_without_a_member_are_dropped() {
    let archive = read(&[file("f", b""), pax(b'x', &[("path", b"new")]), end()].concat()).clean();
    assert_eq!(archive.names(), ["f"]);
    let archive = read(&pax(b'x', &[("path", b"new")])).clean();
    assert!(archive.entries.is_empty());
}

#[test]
fn limits_bound_what_is_kept() {
    let long = vec![b'v'; limits::RECORD];
    let archive = super::support::read_all(
        crate::format::SliceSource::new(
            [
                pax(b'x', &[("SCHILY.xattr.user.long", &long), ("uid", b"7")]),
                file("f", b""),
                end(),
            ]
            .concat(),
        ),
        crate::format::Options::default(),
    );
    assert_eq!(
        archive.said(),
        ["f: malformed extended header: SCHILY.xattr.user.long too long"]
    );
    assert_eq!(archive.find("f").member.uid, 7);

    let many: Vec<u8> = (0..limits::RECORDS + 100)
        .flat_map(|n| record(&format!("k{n}"), b"v"))
        .collect();
    let archive = super::support::read_all(
        crate::format::SliceSource::new([raw_pax(b'x', &many), file("f", b""), end()].concat()),
        crate::format::Options::default(),
    );
    assert_eq!(archive.find("f").member.records.len(), limits::RECORDS);
    assert_eq!(archive.complaints.len(), limits::COMPLAINTS);

    let globals: Vec<u8> = (0..1000)
        .flat_map(|n| pax(b'g', &[(&format!("k{n}"), b"v")]))
        .collect();
    let archive = super::support::read_all(
        crate::format::SliceSource::new([globals, file("f", b""), end()].concat()),
        crate::format::Options::default(),
    );
    assert_eq!(
        archive.find("f").member.records.len(),
        limits::GLOBAL_RECORDS
    );
    assert_eq!(archive.complaints.len(), limits::COMPLAINTS);
    assert_eq!(archive.complaints[0].member, b"");
}

#[test]
fn a_header_that_declares_too_much_is_passed_over() {
    let mut header = tar::Header::new_ustar();
    header.set_path("x").unwrap();
    header.set_entry_type(tar::EntryType::XHeader);
    header.set_size(limits::PAX_HEADER + 1);
    header.set_cksum();
    let archive = super::support::read_all(
        crate::format::SliceSource::new([&file("f", b"")[..], header.as_bytes()].concat()),
        crate::format::Options::default(),
    );
    assert_eq!(archive.names(), ["f"]);
    assert!(archive.error.is_some());
}
