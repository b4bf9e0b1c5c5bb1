//! Fields, formats and types of single headers.

use super::support::{block, end, file, member, pax, read};
use crate::error::{Condition, Severity};
use crate::member::{Format, Kind, Timestamp};

/// A header of zeros with a name, a typeflag and a checksum, changed by `edit` before.
fn bare(name: &str, typeflag: u8, edit: impl FnOnce(&mut [u8; 512])) -> Vec<u8> {
    let mut header = tar::Header::new_old();
    let bytes = header.as_mut_bytes();
    bytes.fill(0);
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[156] = typeflag;
    edit(bytes);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn put(bytes: &mut [u8; 512], at: usize, text: &[u8]) {
    bytes[at..at + text.len()].copy_from_slice(text);
}

#[test]
fn a_v7_header_of_little_more_than_a_name_is_read() {
    let archive = read(&[bare("f", 0, |_| {}), end()].concat()).clean();
    let f = &archive.find("f").member;
    assert_eq!(
        (f.kind, f.format, f.mode, f.size),
        (Kind::Regular, Format::V7, 0, 0)
    );
    assert_eq!(f.mtime, Timestamp::default());
    assert_eq!((f.atime, f.ctime), (None, None));
}

#[test]
fn a_name_of_hundred_bytes_needs_no_nul() {
    let name = "n".repeat(100);
    let archive = read(&[bare(&name, b'0', |_| {}), end()].concat()).clean();
    assert_eq!(archive.names(), [name]);
}

#[test]
fn magics_decide_the_format_header_by_header() {
    let mut bytes = Vec::new();
    for (name, magic, xmagic) in [
        ("ustar", &b"ustar\x0000"[..], &b""[..]),
        ("old", b"ustar\0\0\0", b""),
        ("odd", b"ustar   ", b""),
        ("gnu", b"ustar  \0", b""),
        ("v7", b"", b""),
        ("xstar", b"ustar\x0000", b"tar\0"),
        ("star", b"1     1 ", b"tar\0"),
    ] {
        bytes.extend(bare(name, b'0', |bytes| {
            put(bytes, 257, magic);
            put(bytes, 265, b"owner");
            put(bytes, 508, xmagic);
        }));
    }
    let archive = read(&[bytes, end()].concat()).clean();
    let formats: Vec<_> = archive
        .entries
        .iter()
        .map(|entry| entry.member.format)
        .collect();
    assert_eq!(
        formats,
        [
            Format::Ustar,
            Format::Ustar,
            Format::Ustar,
            Format::Gnu,
            Format::V7,
            Format::Xstar,
            Format::Star
        ]
    );
    for entry in &archive.entries[..4] {
        assert_eq!(entry.member.uname, b"owner");
    }
    assert_eq!(archive.find("v7").member.uname, b"");
}

#[test]
fn prefixes_are_as_long_as_the_format_has_them() {
    let long = [b'p'; 155];
    let ustar = bare("name", b'0', |bytes| {
        put(bytes, 257, b"ustar\x0000");
        put(bytes, 345, &long);
    });
    // The last byte before the times is always NUL.
    let xstar = bare("name", b'0', |bytes| {
        put(bytes, 257, b"ustar\x0000");
        put(bytes, 345, &long[..130]);
        put(bytes, 476, b"00000000001 00000000002 ");
        put(bytes, 508, b"tar\0");
    });
    let xustar = bare("name", b'0', |bytes| {
        put(bytes, 257, b"ustar\x0000");
        put(bytes, 345, &long[..130]);
        put(bytes, 476, b"00000000001 \x80\0\0\0\0\0\0\0\0\0\0\x02");
    });
    // A prefix that holds digits, but no byte of NUL before them.
    let digits = bare("name", b'0', |bytes| {
        put(bytes, 257, b"ustar\x0000");
        put(bytes, 345, &long[..131]);
        put(bytes, 476, b"00000000001 00000000002 ");
    });
    // GNU tar has times where others have the prefix.
    let gnu = bare("name", b'0', |bytes| {
        put(bytes, 257, b"ustar  \0");
        put(bytes, 345, b"00000000001\x0000000000002\0");
    });
    let archive = read(&[ustar, xstar, xustar, digits, gnu, end()].concat()).clean();
    let second = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let seen: Vec<_> = archive
        .entries
        .iter()
        .map(|entry| &entry.member)
        .map(|member| (member.format, member.name.len(), member.atime, member.ctime))
        .collect();
    assert_eq!(
        seen,
        [
            (Format::Ustar, 160, None, None),
            (Format::Xstar, 135, second(1), second(2)),
            (Format::Xustar, 135, second(1), second(2)),
            (Format::Ustar, 160, None, None),
            (Format::Gnu, 4, second(1), second(2)),
        ]
    );
    assert_eq!(
        archive.entries[3].member.name[131..],
        b"00000000001 00000000002 /name"[..]
    );
}

#[test]
fn checksums_may_be_signed_and_spelt_in_many_ways() {
    let sums = |name: &str, spell: &dyn Fn(u32) -> String, signed: bool| {
        let mut bytes = bare(name, b'0', |bytes| put(bytes, 1, b"\xe4\xf6\xfc"));
        bytes[148..156].fill(b' ');
        let mut sum: u32 = bytes.iter().map(|&byte| u32::from(byte)).sum();
        if signed {
            sum -= 3 * 256;
        }
        let text = spell(sum);
        bytes[148..156].copy_from_slice(text.as_bytes());
        bytes
    };
    let bytes = [
        sums("a", &|sum| format!("{sum:06o}\0 "), false),
        sums("b", &|sum| format!("{sum:06o}\0 "), true),
        sums("c", &|sum| format!("{sum:6o} \0"), false),
        sums("d", &|sum| format!("{sum:07o}\0"), false),
        sums("e", &|sum| format!("{sum:08o}"), false),
        sums("f", &|sum| format!("{sum:o}\0\0\0\0"), false),
        end(),
    ]
    .concat();
    assert_eq!(read(&bytes).clean().entries.len(), 6);
    let wrong = sums("w", &|sum| format!("{:06o}\0 ", sum + 1), false);
    let blank = sums("w", &|_| " ".repeat(8), false);
    let archive = read(&[file("f", b""), wrong, blank, end()].concat());
    assert_eq!(archive.said(), ["skipping to next header after block 1"]);
}

#[test]
fn numbers_may_be_base_256() {
    let big = member("f", b"hello", |header| {
        let old = header.as_old_mut();
        old.uid = *b"\x80\0\0\0\x77\x35\x94\0";
        old.gid = [0xff; 8];
        old.size = *b"\x80\0\0\0\0\0\0\0\0\0\0\x05";
        old.mtime = *b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xae\x80";
    });
    let archive = read(&[big, end()].concat()).clean();
    let f = &archive.find("f").member;
    assert_eq!(
        (f.uid, f.gid, f.size),
        (2_000_000_000, u64::from(u32::MAX), 5)
    );
    assert_eq!(f.mtime.seconds, -86_400);
}

#[test]
fn device_numbers() {
    let star = |device: &[u8]| {
        bare("d", b'3', |bytes| {
            put(bytes, 257, b"1     0 ");
            put(bytes, 278, device);
            put(bytes, 508, b"tar\0");
        })
    };
    let ustar = member("d", b"", |header| {
        header.set_entry_type(tar::EntryType::Block);
        header.set_device_major(259).unwrap();
        header.set_device_minor(0o1_777_777).unwrap();
    });
    // On other members the fields may hold anything.
    let junk = member("f", b"", |header| {
        header.as_ustar_mut().unwrap().dev_major = *b"no thing";
    });
    let bytes = [
        star(b" 2104201560@"),
        star(b"       2401@"),
        star(b"       2401H"),
        ustar,
        junk,
        end(),
    ]
    .concat();
    let archive = read(&bytes).clean();
    let seen: Vec<_> = archive
        .entries
        .iter()
        .map(|entry| entry.member.device)
        .collect();
    assert_eq!(
        seen,
        [(259, 70_000), (5, 1), (5, 1), (259, 0o1_777_777), (0, 0)]
    );
}

#[test]
fn typeflags() {
    let mut bytes = Vec::new();
    for typeflag in b"0\x0071234567" {
        bytes.extend(bare("m", *typeflag, |_| {}));
    }
    let archive = read(&[bytes, end()].concat()).clean();
    let kinds: Vec<_> = archive
        .entries
        .iter()
        .map(|entry| entry.member.kind)
        .collect();
    assert_eq!(
        kinds,
        [
            Kind::Regular,
            Kind::Regular,
            Kind::Regular,
            Kind::HardLink,
            Kind::Symlink,
            Kind::CharDevice,
            Kind::BlockDevice,
            Kind::Directory,
            Kind::Fifo,
            Kind::Regular,
        ]
    );
    assert_eq!(archive.entries[9].member.typeflag, b'7');
}

#[test]
fn unknown_typeflags_are_regular_files() {
    let odd = member("odd", b"hello", |header| {
        header.set_entry_type(tar::EntryType::new(b'?'));
    });
    let archive = read(&[odd, end()].concat());
    assert_eq!(archive.find("odd").data, b"hello");
    assert_eq!(archive.find("odd").member.kind, Kind::Regular);
    assert!(matches!(
        archive.complaints[0].condition,
        Condition::UnknownTypeflag(b'?')
    ));
    assert_eq!(archive.complaints[0].severity, Severity::Warning);
    assert_eq!(archive.complaints[0].member, b"odd");
}

#[test]
fn a_regular_file_with_a_slash_at_its_end_is_a_directory() {
    for typeflag in [0, b'0'] {
        let dir = bare("dir/", typeflag, |bytes| put(bytes, 124, b"00000000005\0"));
        let archive = read(&[dir, vec![b'x'; 512], file("f", b"hello"), end()].concat()).clean();
        let dir = archive.find("dir/");
        assert_eq!(
            (dir.member.kind, dir.member.size, dir.member.stored),
            (Kind::Directory, 0, 0)
        );
        assert_eq!(archive.find("f").data, b"hello");
    }
}

#[test]
fn sizes_of_members_without_data_mean_nothing() {
    for typeflag in *b"123456" {
        for magic in [&b"ustar\x0000"[..], b"ustar  \0", b""] {
            let link = bare("l", typeflag, |bytes| {
                put(bytes, 124, b"00000002000\0");
                put(bytes, 257, magic);
            });
            for after in [file("f", b"hello"), Vec::new()] {
                let archive = read(&[&link[..], &after, &end()].concat()).clean();
                assert_eq!(archive.find("l").member.stored, 0);
                assert_eq!(archive.entries.len(), if after.is_empty() { 1 } else { 2 });
            }
            // Nor does a pax size, but for hard links.
            if typeflag != b'1' {
                let size = pax(b'x', &[("size", b"1024")]);
                let archive =
                    read(&[&size[..], &link, &file("f", b"hello"), &end()].concat()).clean();
                assert_eq!(archive.find("f").data, b"hello");
            }
        }
    }
}

#[test]
fn hard_links_may_carry_data() {
    let link = |data: &[u8]| {
        member("link", data, |header| {
            header.set_entry_type(tar::EntryType::Link);
            header.set_link_name("file").unwrap();
        })
    };
    let with_data = read(
        &[
            file("file", b"hello"),
            link(b"hello"),
            file("f", b""),
            end(),
        ]
        .concat(),
    )
    .clean();
    let entry = with_data.find("link");
    assert_eq!((entry.member.size, &entry.data[..]), (5, &b"hello"[..]));
    assert_eq!(with_data.names(), ["file", "link", "f"]);
    // A pax size is believed even where the data look like a header.
    let inner = file("inner", b"");
    let size = pax(b'x', &[("size", b"512")]);
    let archive = read(&[&size[..], &link(b""), &inner, &file("f", b""), &end()].concat()).clean();
    assert_eq!(archive.names(), ["link", "f"]);
    assert_eq!(archive.find("link").data, inner);
    // A global one is not about links.
    let size = pax(b'g', &[("size", b"512")]);
    let archive = read(&[&size[..], &link(b""), &end()].concat()).clean();
    assert_eq!(archive.names(), ["link"]);
}

#[test]
fn long_names_of_gnu_tar_belong_to_the_next_member() {
    let long = |typeflag: u8, name: &[u8]| {
        member("././@LongLink", name, |header| {
            header.set_entry_type(tar::EntryType::new(typeflag));
        })
    };
    let name = [b'n'; 5000];
    let target = [b't'; 3000];
    let link = member("short", b"", |header| {
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_link_name("to").unwrap();
    });
    let bytes = [
        long(b'L', b"first\0"),
        long(b'K', &target),
        long(b'L', &name),
        link.clone(),
        link,
        long(b'K', b"of no use\0"),
        long(b'L', b""),
        file("f", b"hello"),
        end(),
    ]
    .concat();
    let archive = read(&bytes).clean();
    assert_eq!(archive.entries[0].member.name, name);
    assert_eq!(archive.entries[0].member.link, target);
    assert_eq!(archive.entries[1].member.name, b"short");
    assert_eq!(archive.entries[1].member.link, b"to");
    assert_eq!(archive.entries[2].member.name, b"f");
    assert_eq!(archive.entries[2].member.link, b"");
    // Only the headers that count are counted in.
    assert_eq!(archive.entries[0].member.block, 2);
}

#[test]
fn names_have_a_limit() {
    let long = |length: usize| {
        let mut name = vec![b'n'; length];
        name.push(0);
        member("././@LongLink", &name, |header| {
            header.set_entry_type(tar::EntryType::GNULongName);
        })
    };
    let limit = crate::format::limits::NAME;
    let archive = super::support::read_all(
        crate::format::SliceSource::new([long(limit), file("f", b""), end()].concat()),
        crate::format::Options::default(),
    )
    .clean();
    assert_eq!(archive.entries[0].member.name.len(), limit);
    let archive = super::support::read_all(
        crate::format::SliceSource::new([long(limit + 1), file("f", b""), end()].concat()),
        crate::format::Options::default(),
    );
    assert_eq!(archive.names(), ["f"]);
    assert_eq!(
        archive.said(),
        ["f: malformed extended header: 1048578 bytes are too many"]
    );
}

#[test]
fn continuations_of_gnu_tar_say_where_they_go_on() {
    let part = bare("f", b'M', |bytes| {
        put(bytes, 124, b"00000000005\0");
        put(bytes, 369, b"00000001000\0");
        put(bytes, 483, b"00000003000\0");
    });
    let archive =
        read(&[block(tar::Header::from_byte_slice(&part), b"hello"), end()].concat()).clean();
    let f = archive.find("f");
    assert_eq!(
        (f.member.kind, f.member.offset, f.member.size),
        (Kind::Continuation, 512, 1536)
    );
    assert_eq!(f.data, b"hello");
}

/// As GNU tar takes them when it is not told of volumes: files that can be put together again by hand.
#[test]
fn parts_of_gnu_tar_in_posix_format_are_files() {
    let volume = pax(
        b'g',
        &[
            ("GNU.volume.filename", b"dir/big"),
            ("GNU.volume.size", b"5"),
            ("GNU.volume.offset", b"512"),
        ],
    );
    let bytes = [
        volume,
        file("GNUFileParts/big.2", b"hello"),
        file("f", b""),
        end(),
    ]
    .concat();
    let archive = read(&bytes).clean();
    assert_eq!(archive.names(), ["GNUFileParts/big.2", "f"]);
    assert_eq!(archive.find("GNUFileParts/big.2").data, b"hello");
}
