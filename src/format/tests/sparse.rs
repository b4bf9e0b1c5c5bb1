//! Sparse members in all layouts, good and bad.

use super::support::{Archive, block, end, file, member, pax, read, read_all};
use crate::format::{Options, SliceSource, limits};
use crate::member::{Extent, Format};

type Entry = (u64, u64);

fn octal(value: u64) -> [u8; 12] {
    let mut field = [0; 12];
    field[..11].copy_from_slice(format!("{value:011o}").as_bytes());
    field
}

fn entries(bytes: &mut [u8], entries: &[Entry]) {
    for (place, &(offset, length)) in bytes.chunks_exact_mut(24).zip(entries) {
        place[..12].copy_from_slice(&octal(offset));
        place[12..].copy_from_slice(&octal(length));
    }
}

/// Map blocks of 21 entries.
fn extensions(map: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = map.len().div_ceil(21);
    for (index, part) in map.chunks(21).enumerate() {
        let mut block = [0; 512];
        entries(&mut block[..504], part);
        block[504] = u8::from(index + 1 < count);
        bytes.extend_from_slice(&block);
    }
    bytes
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// A member of GNU tar, written through the `tar` package's view.
fn gnu(map: &[Entry], real_size: u64, data: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("sp").unwrap();
    header.set_size(data.len() as u64);
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    let (first, rest) = map.split_at(map.len().min(4));
    let view = header.as_gnu_mut().unwrap();
    for (place, &(offset, length)) in view.sparse.iter_mut().zip(first) {
        place.offset = octal(offset);
        place.numbytes = octal(length);
    }
    view.isextended = [u8::from(!rest.is_empty())];
    view.realsize = octal(real_size);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend(extensions(rest));
    bytes.extend(padded(data.to_vec()));
    bytes
}

/// A member of star, with this magic in the header's last bytes. The map is in blocks after the header, or, as its oldest
/// versions did, begins in the header.
fn star(magic: &[u8; 4], in_header: bool, map: &[Entry], real_size: u64, data: &[u8]) -> Vec<u8> {
    let (first, rest) = map.split_at(if in_header { map.len().min(4) } else { 0 });
    let mut body = extensions(rest);
    body.extend_from_slice(data);
    let mut bytes = member("sp", &body, |header| {
        header.set_entry_type(tar::EntryType::GNUSparse);
        let prefix = &mut header.as_ustar_mut().unwrap().prefix;
        if in_header {
            entries(&mut prefix[11..107], first);
            prefix[10] = u8::from(!rest.is_empty());
        }
        prefix[107..119].copy_from_slice(&octal(real_size));
        prefix[131..155].copy_from_slice(b"00000000001 00000000002 ");
        header.as_mut_bytes()[508..].copy_from_slice(magic);
        if magic == b"tar\0" && in_header {
            // star of 1985.
            header.as_mut_bytes()[257..265].copy_from_slice(b"1     1 ");
        }
    });
    bytes.truncate(bytes.len() / 512 * 512);
    bytes
}

fn map_text(map: &[Entry]) -> String {
    let numbers: Vec<_> = map
        .iter()
        .map(|(offset, length)| format!("{offset},{length}"))
        .collect();
    numbers.join(",")
}

fn pax00(map: &[Entry], real_size: u64, data: &[u8]) -> Vec<u8> {
    let mut records = vec![
        ("GNU.sparse.size", real_size.to_string()),
        ("GNU.sparse.numblocks", map.len().to_string()),
    ];
    for (offset, length) in map {
        records.push(("GNU.sparse.offset", offset.to_string()));
        records.push(("GNU.sparse.numbytes", length.to_string()));
    }
    let records: Vec<_> = records
        .iter()
        .map(|(key, value)| (*key, value.as_bytes()))
        .collect();
    [pax(b'x', &records), file("sp", data)].concat()
}

fn pax01(map: &str, real_size: u64, data: &[u8]) -> Vec<u8> {
    let size = real_size.to_string();
    let records: [(&str, &[u8]); 4] = [
        ("GNU.sparse.size", size.as_bytes()),
        ("GNU.sparse.numblocks", b"1000000000000"),
        ("GNU.sparse.name", b"sp"),
        ("GNU.sparse.map", map.as_bytes()),
    ];
    [pax(b'x', &records), file("GNUSparseFile.1/sp", data)].concat()
}

fn pax10(map: &str, real_size: Option<&str>, data: &[u8]) -> Vec<u8> {
    let mut records: Vec<(&str, &[u8])> = vec![
        ("GNU.sparse.major", b"1"),
        ("GNU.sparse.minor", b"0"),
        ("GNU.sparse.name", b"sp"),
    ];
    if let Some(size) = real_size {
        records.push(("GNU.sparse.realsize", size.as_bytes()));
    }
    let mut body = padded(map.as_bytes().to_vec());
    body.extend_from_slice(data);
    [pax(b'x', &records), file("GNUSparseFile.1/sp", &body)].concat()
}

fn map_lines(map: &[Entry]) -> String {
    let lines = map
        .iter()
        .map(|(offset, length)| format!("{offset}\n{length}\n"));
    format!("{}\n{}", map.len(), lines.collect::<String>())
}

/// The same file in every layout.
fn every_layout(map: &[Entry], real_size: u64, data: &[u8]) -> Vec<(Format, Vec<u8>)> {
    vec![
        (Format::Gnu, gnu(map, real_size, data)),
        (Format::Xstar, star(b"tar\0", false, map, real_size, data)),
        (Format::Xustar, star(&[0; 4], false, map, real_size, data)),
        (Format::Star, star(b"tar\0", true, map, real_size, data)),
        (Format::Pax, pax00(map, real_size, data)),
        (Format::Pax, pax01(&map_text(map), real_size, data)),
        (
            Format::Pax,
            pax10(&map_lines(map), Some(&real_size.to_string()), data),
        ),
    ]
}

fn with_neighbours(bytes: &[u8]) -> Vec<u8> {
    [&file("before", b"b"), bytes, &file("after", b"a"), &end()].concat()
}

fn wanted(map: &[Entry]) -> Vec<Extent> {
    let extents = map.iter().filter(|(_, length)| *length > 0);
    extents
        .map(|&(offset, length)| Extent { offset, length })
        .collect()
}

#[test]
fn every_layout_gives_the_same_file() {
    for count in [0, 1, 4, 5, 21, 22, 25, 26, 46, 100] {
        let mut map: Vec<Entry> = (0..count).map(|n| (4096 * n + 512, 512)).collect();
        let real_size = 4096 * (count + 1);
        map.push((real_size, 0));
        let data: Vec<u8> = (0..count as usize * 512)
            .map(|n| (n / 7) as u8 | 1)
            .collect();
        for (format, bytes) in every_layout(&map, real_size, &data) {
            let archive = read(&with_neighbours(&bytes)).clean();
            assert_eq!(archive.names(), ["before", "sp", "after"]);
            let entry = archive.find("sp");
            assert_eq!(entry.member.format, format);
            assert_eq!(entry.member.sparse.as_deref(), Some(&wanted(&map)[..]));
            assert_eq!(entry.member.size, real_size);
            assert!(entry.data == data);
        }
    }
}

#[test]
fn extents_need_not_be_whole_blocks() {
    let map = [(3, 2), (700, 1), (1000, 600), (5000, 0)];
    let data: Vec<u8> = (0..603).map(|n| n as u8).collect();
    for (_, bytes) in every_layout(&map, 5000, &data) {
        let archive = read(&with_neighbours(&bytes)).clean();
        let sp = archive.find("sp");
        assert_eq!(sp.data, data);
        let contents = sp.contents();
        assert_eq!(contents.len(), 5000);
        assert_eq!(
            (contents[3], contents[4], contents[700], contents[1599]),
            (0, 1, 2, 90)
        );
        assert_eq!(archive.names().len(), 3);
    }
}

#[test]
fn a_hole_may_be_huge() {
    let tib = 1 << 40;
    let map = [(0, 512), (tib - 512, 512)];
    let data = [b'x'; 1024];
    // Eleven octal digits, which the other layouts have by themselves, end at 8 GiB.
    for bytes in [
        pax00(&map, tib, &data),
        pax01(&map_text(&map), tib, &data),
        pax10(&map_lines(&map), Some(&tib.to_string()), &data),
    ] {
        let archive = read(&with_neighbours(&bytes)).clean();
        let sp = &archive.find("sp").member;
        assert_eq!((sp.size, sp.stored), (tib, 1024));
    }
    let mut bytes = gnu(&[(0, 512)], 0, &[b'x'; 512]);
    bytes[386..410].copy_from_slice(b"\x80\0\0\0\0\0\x40\0\0\0\0\x0000000001000\0");
    bytes[483..495].copy_from_slice(b"\x80\0\0\0\x40\0\0\0\0\0\0\0");
    let mut header = tar::Header::new_old();
    header.as_mut_bytes().copy_from_slice(&bytes[..512]);
    header.set_cksum();
    let archive = read(&with_neighbours(&block(&header, &[b'x'; 512]))).clean();
    let sp = &archive.find("sp").member;
    assert_eq!(sp.size, 1 << 62);
    assert_eq!(
        sp.sparse.as_deref(),
        Some(
            &[Extent {
                offset: 1 << 46,
                length: 512
            }][..]
        )
    );
}

#[test]
fn the_end_may_be_said_by_the_real_size_or_the_map() {
    // No empty entry at the end.
    for (_, bytes) in every_layout(&[(0, 512)], 8192, &[b'x'; 512]) {
        assert_eq!(
            read(&with_neighbours(&bytes))
                .clean()
                .find("sp")
                .member
                .size,
            8192
        );
    }
    // No real size.
    let archive = read(&with_neighbours(&pax10(
        "2\n0\n512\n9000\n0\n",
        None,
        &[b'x'; 512],
    )))
    .clean();
    assert_eq!(archive.find("sp").member.size, 9000);
}

#[test]
fn touching_extents_are_one() {
    for (_, bytes) in every_layout(&[(0, 512), (512, 512), (1024, 100)], 2000, &[b'x'; 1124]) {
        let archive = read(&with_neighbours(&bytes)).clean();
        let one = Extent {
            offset: 0,
            length: 1124,
        };
        assert_eq!(
            archive.find("sp").member.sparse.as_deref(),
            Some(&[one][..])
        );
    }
}

#[test]
fn data_that_the_map_does_not_name_are_passed_over() {
    for (_, bytes) in every_layout(&[(0, 512)], 8192, &[b'x'; 3000]) {
        let archive = read(&with_neighbours(&bytes)).clean();
        assert_eq!(archive.find("sp").data.len(), 512);
        assert_eq!(archive.names(), ["before", "sp", "after"]);
    }
}

/// The member is left out with one complaint, its neighbours are there.
#[track_caller]
fn is_left_out(archive: &Archive, why: &str) {
    assert!(archive.error.is_none());
    assert_eq!(archive.names(), ["before", "after"]);
    let said = archive.said();
    let last = said.last().expect("a complaint");
    assert_eq!(
        *last,
        format!("sp: malformed extended header: {why}, member left out")
    );
}

#[test]
fn maps_that_make_no_sense_cost_their_member() {
    let overlap = "sparse map entries overlap or are out of order";
    for (map, real_size, why) in [
        (&[(0, 1000), (500, 24)][..], 8192, overlap),
        (&[(4096, 512), (0, 512)], 8192, overlap),
        (
            &[(0, 512), (4096, 512)],
            4607,
            "sparse map goes beyond the real size",
        ),
        (
            &[(0, 512), (4096, 513)],
            8192,
            "sparse map has more data than the member",
        ),
    ] {
        for (_, bytes) in every_layout(map, real_size, &[b'x'; 1024]) {
            is_left_out(&read(&with_neighbours(&bytes)), why);
        }
    }
    let max = i64::MAX as u64;
    let bytes = pax00(&[(max, 1)], 8192, &[b'x'; 1024]);
    is_left_out(
        &read(&with_neighbours(&bytes)),
        "sparse map entry too large",
    );
}

#[test]
fn maps_of_version_1_0_are_read_line_by_line() {
    let data = [b'x'; 512];
    let good = |map: &str| {
        let archive = read(&with_neighbours(&pax10(map, Some("8192"), &data))).clean();
        assert_eq!(archive.find("sp").data, data, "{map}");
    };
    good("1\n4096\n512\n");
    good("# made by bsdtar\n1\n#\n4096\n# and its length\n512\n");
    let bad = |map: &str, why: &str| {
        is_left_out(
            &read(&with_neighbours(&pax10(map, Some("8192"), &data))),
            why,
        );
    };
    bad("x\n", "sparse map entry is no number");
    bad("1\n-1\n512\n", "sparse map entry is no number");
    bad("1\n\n512\n", "sparse map entry is no number");
    bad("9223372036854775808\n0\n1\n", "sparse map too long");
    bad(&"1".repeat(2000), "sparse map has no lines");
    // A count too large, then padding and data.
    bad("1000000000000\n0\n512\n", "sparse map has no lines");
    // Digits and newlines to the end of the member.
    let mut text = "1000000000000\n".to_owned();
    text.push_str(&"0\n".repeat(505));
    assert_eq!(text.len(), 1024);
    let bytes = pax10(&text, Some("8192"), b"");
    is_left_out(&read(&with_neighbours(&bytes)), "sparse map ends early");
}

#[test]
fn maps_of_version_0_1_are_lists_of_pairs() {
    for (map, why) in [
        ("0,a", "sparse map entry is no number"),
        ("0,", "sparse map entry is no number"),
        ("0,512,", "sparse map has an odd number of entries"),
        ("-1,5", "sparse map entry is no number"),
        ("0,512,4096", "sparse map has an odd number of entries"),
    ] {
        let mut archive = read(&with_neighbours(&pax01(map, 8192, &[b'x'; 512])));
        assert_eq!(
            archive.complaints.remove(0).to_string(),
            "sp: malformed extended header: invalid GNU.sparse.map"
        );
        if map == "0,512," {
            continue;
        }
        is_left_out(&archive, why);
    }
}

#[test]
fn map_blocks_have_to_be_there() {
    let whole = gnu(&[(0, 1); 30], 8192, &[b'x'; 30]);
    let archive = read(&[&file("before", b"b")[..], &whole[..1200]].concat());
    assert!(archive.error.is_some());
    // star counts them in the size.
    let mut bytes = star(b"tar\0", false, &[(0, 1)], 8192, b"");
    bytes[512 + 504] = 1;
    is_left_out(
        &read(&with_neighbours(&bytes)),
        "sparse map goes beyond the member",
    );
}

#[test]
fn extents_have_a_limit() {
    let too_many = limits::EXTENTS as u64 + 1;
    let map: Vec<Entry> = (0..too_many).map(|n| (2 * n, 1)).collect();
    let bytes = pax10(
        &map_lines(&map),
        Some("10000000000"),
        &vec![b'x'; map.len()],
    );
    let archive = read_all(
        SliceSource::new(with_neighbours(&bytes)),
        Options::default(),
    );
    is_left_out(&archive, "sparse map too long");
    let most = &map[1..];
    let bytes = pax10(
        &map_lines(most),
        Some("10000000000"),
        &vec![b'x'; most.len()],
    );
    let archive = read_all(
        SliceSource::new(with_neighbours(&bytes)),
        Options::default(),
    )
    .clean();
    assert_eq!(archive.find("sp").member.stored, most.len() as u64);
}

#[test]
fn sparse_records_on_other_kinds_mean_nothing() {
    let records: [(&str, &[u8]); 3] = [
        ("GNU.sparse.major", b"1"),
        ("GNU.sparse.minor", b"0"),
        ("GNU.sparse.name", b"sp"),
    ];
    let dir = member("dir/", b"", |header| {
        header.set_entry_type(tar::EntryType::Directory);
    });
    let archive = read(&with_neighbours(&[pax(b'x', &records), dir].concat())).clean();
    assert_eq!(archive.names(), ["before", "dir/", "after"]);
    // Nor do they in a global header.
    let archive = read(&with_neighbours(
        &[pax(b'g', &records), file("f", b"hello")].concat(),
    ))
    .clean();
    assert_eq!(archive.find("f").data, b"hello");
}
