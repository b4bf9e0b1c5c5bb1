//! Archives of GNU tar and star, read and written again: the same bytes.

use std::io::Read;

use super::{HeaderOptions, Headers};
use crate::format::{Options, Reader, SliceSource};
use crate::member::{Event, Extent, MemberStream};
use crate::plan::create::{ArchiveFormat, PaxOptions, SparseVersion};

fn options(format: ArchiveFormat) -> HeaderOptions {
    HeaderOptions {
        format,
        pax: PaxOptions::default(),
        sparse_version: SparseVersion::V1_0,
        numeric_owner: false,
        root: (b"root".to_vec(), b"root".to_vec()),
        process: 0,
        matches: |pattern, key| pattern == key,
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(path).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// Reads an archive, writes each member's headers again and compares them with those that were read.
#[track_caller]
fn same(name: &str, options: &HeaderOptions, least: usize) {
    let bytes = fixture(name);
    let mut options = options.clone();
    if let Some(place) = bytes.windows(14).position(|part| part == b"GNUSparseFile.") {
        let digits = bytes[place + 14..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit());
        options.process = digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    }
    let headers = Headers::new(options);
    let mut reader = Reader::new(SliceSource::new(bytes.clone()), Options::default());
    let mut seen = 0;
    loop {
        let mut member = match reader.advance().unwrap() {
            Event::Member(member) => member,
            Event::Complaint(complaint) => panic!("{complaint}"),
            Event::End => break,
        };
        if let Some(map) = &mut member.sparse {
            map.push(Extent {
                offset: member.size,
                length: 0,
            });
        }
        let mut written = Vec::new();
        headers
            .member(&member, &member.name, &mut written)
            .unwrap_or_else(|unfit| panic!("{name}: {}: {unfit}", member.name.escape_ascii()));
        // Where it is said that a member begins, there may be headers of its own before.
        let header = member.block as usize * 512;
        let begin = written
            .chunks(512)
            .position(|block| block == &bytes[header..header + 512])
            .map_or(header, |place| header.saturating_sub(place * 512));
        let found = &bytes[begin..begin + written.len()];
        for (number, (expected, found)) in found.chunks(512).zip(written.chunks(512)).enumerate() {
            assert!(
                expected == found,
                "{name}: {}, block {number} of {}\n{}\n{}",
                member.name.escape_ascii(),
                written.len() / 512,
                expected.escape_ascii(),
                found.escape_ascii()
            );
        }
        seen += 1;
    }
    assert!(seen >= least, "{name}: {seen} members");
}

#[test]
fn headers_are_those_of_gnu_tar() {
    for (name, format, least) in [
        ("gnu/v7", ArchiveFormat::V7, 15),
        ("gnu/oldgnu", ArchiveFormat::OldGnu, 24),
        ("gnu/gnu", ArchiveFormat::Gnu, 24),
        ("gnu/ustar", ArchiveFormat::Ustar, 15),
        ("gnu/posix", ArchiveFormat::Posix, 24),
        ("gnu/posix-xattr-acl", ArchiveFormat::Posix, 24),
        ("gnu/gnu-sparse", ArchiveFormat::Gnu, 24),
        ("gnu/oldgnu-sparse", ArchiveFormat::OldGnu, 24),
    ] {
        same(name, &options(format), least);
    }
}

#[test]
fn maps_in_pax_archives_are_those_of_gnu_tar() {
    for (name, sparse_version) in [
        ("gnu/posix-sparse-0.0", SparseVersion::V0_0),
        ("gnu/posix-sparse-0.1", SparseVersion::V0_1),
        ("gnu/posix-sparse-1.0", SparseVersion::V1_0),
        ("gnu/posix-sparse", SparseVersion::V1_0),
    ] {
        let options = HeaderOptions {
            sparse_version,
            ..options(ArchiveFormat::Posix)
        };
        same(name, &options, 24);
    }
}

#[test]
fn headers_are_those_of_star() {
    for (name, format, least) in [
        ("star/v7tar", ArchiveFormat::StarV7, 11),
        ("star/tar", ArchiveFormat::StarTar, 15),
        ("star/star", ArchiveFormat::Star, 24),
        ("star/gnutar", ArchiveFormat::StarGnu, 24),
        ("star/ustar", ArchiveFormat::StarUstar, 18),
        ("star/pax", ArchiveFormat::Pax, 24),
        ("star/epax", ArchiveFormat::Epax, 24),
        ("star/xstar", ArchiveFormat::Xstar, 24),
        ("star/xustar", ArchiveFormat::Xustar, 24),
        ("star/exustar", ArchiveFormat::Exustar, 24),
        ("star/exustar-acl-xattr", ArchiveFormat::Exustar, 24),
        ("star/suntar", ArchiveFormat::Suntar, 24),
    ] {
        same(name, &options(format), least);
    }
}
