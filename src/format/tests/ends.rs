//! Ends of archives, gaps in them, and archives that stop early. What is expected is what GNU tar 1.34 does.

use super::support::{Archive, block, end, file, member, pax, read, read_with};
use crate::error::{Error, Severity};
use crate::format::{Options, Reader, SliceSource, Source};
use crate::member::{Event, MemberStream};

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Bytes that are no header.
fn noise(blocks: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..blocks * 512).map(|_| next()).collect()
}

/// `skipped`: there was a whole block, which was passed over, as GNU tar says too.
fn is_no_archive(archive: &Archive, skipped: bool) {
    assert!(
        matches!(archive.error, Some(Error::NotAnArchive)),
        "{:?}",
        archive.error
    );
    assert_eq!(archive.said().len(), usize::from(skipped));
    assert!(archive.entries.is_empty());
}

#[test]
fn what_is_no_archive_is_said_to_be_none() {
    is_no_archive(&read(b""), false);
    is_no_archive(&read(b"x"), false);
    is_no_archive(&read(&[0; 511]), false);
    is_no_archive(&read(&noise(1)), true);
    is_no_archive(&read(&noise(20)), true);
    is_no_archive(&read(&joined(&[&noise(1), &end()])), true);
}

#[test]
fn zeros_alone_are_an_empty_archive() {
    let one = read(&[0; 512]);
    assert_eq!(one.said(), ["a lone zero block at 0"]);
    assert_eq!(one.complaints[0].severity, Severity::Warning);
    assert!(one.error.is_none());
    assert!(read(&[0; 1024]).clean().entries.is_empty());
    assert_eq!(read(&[0; 10_240]).clean().rest, 9216);
}

#[test]
fn an_archive_may_end_without_zeros() {
    assert_eq!(read(&file("f", b"hello")).clean().names(), ["f"]);
    // Part of a block is no header.
    for tail in [&noise(1)[..300], &[0; 300]] {
        let archive = read(&joined(&[&file("f", b"hello"), tail])).clean();
        assert_eq!(archive.names(), ["f"]);
    }
}

#[test]
fn one_zero_block_ends_an_archive_with_a_warning() {
    let f = file("f", b"hello");
    for rest in [&b""[..], &f] {
        let archive = read(&joined(&[&f, &[0; 512], rest]));
        assert!(archive.error.is_none());
        assert_eq!(archive.said(), ["a lone zero block at 2"]);
        assert_eq!(archive.names(), ["f"]);
    }
}

#[test]
fn zeros_are_passed_over_if_so_wished() {
    let f = file("f", b"hello");
    let options = Options {
        ignore_zeros: true,
        ..Options::default()
    };
    let bytes = joined(&[&[0; 512], &f, &end(), &end(), &f, &[0; 512], &f, &end()]);
    let archive = read_with(&bytes, &options).clean();
    assert_eq!(archive.names(), ["f", "f", "f"]);
    assert_eq!(archive.entries[1].member.block, 7);
    assert!(read_with(&[0; 512], &options).clean().entries.is_empty());
}

#[test]
fn what_follows_the_end_is_left_alone() {
    let f = file("f", b"hello");
    let archive = read(&joined(&[&f, &end(), &noise(3)])).clean();
    assert_eq!(archive.names(), ["f"]);
    assert_eq!(archive.rest, 3 * 512);
}

#[test]
fn the_rest_can_be_drained() {
    let bytes = joined(&[&file("f", b"hello"), &end(), &noise(3)]);
    let mut reader = Reader::new(SliceSource::stingy(bytes, 100, 2048), Options::default());
    while !matches!(reader.advance().unwrap(), Event::End) {}
    assert_eq!(reader.block(), 4);
    reader.drain().unwrap();
    assert_eq!(reader.block(), 7);
    assert!(matches!(reader.advance().unwrap(), Event::End));
    assert_eq!(reader.into_source().at_least(1).unwrap().len(), 0);
}

#[test]
fn a_gap_is_passed_over_and_said_once() {
    let f = file("f", b"hello");
    let archive = read(&joined(&[&f, &noise(5), &f, &noise(1), &f, &end()]));
    assert!(archive.error.is_none());
    assert_eq!(archive.names(), ["f", "f", "f"]);
    assert_eq!(
        archive.said(),
        [
            "skipping to next header after block 2",
            "skipping to next header after block 9"
        ]
    );
    assert_eq!(archive.complaints[0].severity, Severity::Failure);
}

#[test]
fn a_gap_may_be_first_or_last() {
    let f = file("f", b"hello");
    let first = read(&joined(&[&noise(2), &f, &end()]));
    assert_eq!(first.names(), ["f"]);
    assert_eq!(first.said(), ["skipping to next header after block 0"]);
    assert!(first.error.is_none());
    for zeros in [&b""[..], &end()] {
        let last = read(&joined(&[&f, &noise(2), zeros]));
        assert_eq!(last.said(), ["skipping to next header after block 2"]);
        assert!(last.error.is_none());
    }
    let last = read(&joined(&[&f, &noise(2), &[0; 512], &f]));
    assert_eq!(
        last.said(),
        [
            "skipping to next header after block 2",
            "a lone zero block at 4"
        ]
    );
    assert_eq!(last.names(), ["f"]);
}

#[test]
fn extension_headers_before_a_gap_are_forgotten() {
    let bytes = joined(&[
        &file("f", b"hello"),
        &pax(b'x', &[("path", b"wrong")]),
        &noise(1),
        &file("g", b""),
        &end(),
    ]);
    let archive = read(&bytes);
    assert_eq!(archive.names(), ["f", "g"]);
    // Nor do they reach over zeros.
    let options = Options {
        ignore_zeros: true,
        ..Options::default()
    };
    let bytes = joined(&[&pax(b'x', &[("path", b"wrong")]), &end(), &file("g", b"")]);
    assert_eq!(read_with(&bytes, &options).clean().names(), ["g"]);
}

#[test]
fn data_that_stop_early_end_the_run() {
    let bytes = joined(&[&file("whole", b"hello"), &file("f", &[b'x'; 1000])]);
    for (length, given, at) in [(1536, 0, 3), (1600, 64, 3), (2048, 512, 4), (2535, 999, 4)] {
        let archive = read(&bytes[..length]);
        assert_eq!(archive.names(), ["whole", "f"]);
        assert!(
            matches!(archive.error, Some(Error::UnexpectedEnd { block }) if block == at),
            "{:?}",
            archive.error
        );
        assert!(archive.entries[1].data.len() <= given);
    }
    // All of the data, but not all of the padding: the member is whole, the archive is not.
    let archive = read(&bytes[..2536]);
    assert_eq!(archive.entries[1].data.len(), 1000);
    assert!(matches!(
        archive.error,
        Some(Error::UnexpectedEnd { block: 4 })
    ));
}

#[test]
fn headers_that_stop_early_end_the_run() {
    let long = pax(b'x', &[("path", &[b'a'; 600])]);
    let whole = file("whole", b"hello");
    for length in [512, 700, 1024, 1100] {
        let archive = read(&joined(&[&whole, &long[..length]]));
        assert_eq!(archive.names(), ["whole"]);
        assert!(
            matches!(archive.error, Some(Error::UnexpectedEnd { .. })),
            "{length}"
        );
    }
}

#[test]
fn a_size_that_is_no_number_makes_a_gap() {
    let mut header = tar::Header::new_ustar();
    header.set_path("bad").unwrap();
    header.as_old_mut().size = *b"twelve\0\0\0\0\0\0";
    header.set_mode(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    let bad = block(&header, b"");
    let archive = read(&joined(&[&bad, &noise(2), &file("f", b""), &end()]));
    assert_eq!(archive.names(), ["f"]);
    assert_eq!(
        archive.said(),
        [
            "bad value in header field size: 'twelve' is no number",
            "skipping to next header after block 0"
        ]
    );
    // A pax size makes up for it.
    let archive = read(&joined(&[
        &pax(b'x', &[("size", b"600")]),
        &bad,
        &noise(2),
        &end(),
    ]));
    assert_eq!(archive.clean().entries[0].data, noise(2)[..600]);
}

#[test]
fn huge_sizes_do_not_overflow() {
    for size in [
        "9223372036854775807",
        "9223372036854775000",
        "1125899906842624",
    ] {
        let bytes = joined(&[
            &pax(b'x', &[("size", size.as_bytes())]),
            &file("f", b"hello"),
        ]);
        let archive = read(&bytes);
        assert_eq!(archive.names(), ["f"]);
        assert!(matches!(
            archive.error,
            Some(Error::UnexpectedEnd { block: 4 })
        ));
    }
    for size in ["9223372036854775808", "99999999999999999999999"] {
        let bytes = joined(&[
            &pax(b'x', &[("size", size.as_bytes())]),
            &file("f", b"hello"),
            &end(),
        ]);
        let archive = read(&bytes);
        assert_eq!(
            archive.said(),
            ["f: malformed extended header: invalid size"]
        );
        assert_eq!(archive.find("f").data, b"hello");
    }
}

#[test]
fn an_error_of_the_source_stays() {
    struct Broken(bool);
    impl Source for Broken {
        type Span = Vec<u8>;
        fn limit(&self) -> usize {
            4096
        }
        fn at_least(&mut self, _: usize) -> std::io::Result<&[u8]> {
            if self.0 {
                return Err(std::io::Error::other(Error::Decompression(
                    "bad block".to_owned(),
                )));
            }
            Err(std::io::Error::from_raw_os_error(5))
        }
        fn consume(&mut self, _: usize) {}
        fn span(&mut self, _: usize) -> Vec<u8> {
            Vec::new()
        }
        fn skip(&mut self, _: u64) -> std::io::Result<u64> {
            Err(std::io::Error::from_raw_os_error(5))
        }
        fn would_wait(&self, _: usize) -> bool {
            false
        }
    }
    let options = Options {
        name: b"a.tar".to_vec(),
        ..Options::default()
    };
    let mut reader = Reader::new(Broken(false), options.clone());
    for _ in 0..3 {
        match reader.advance() {
            Err(Error::System { name, cause, .. }) => {
                assert_eq!(name, b"a.tar");
                assert_eq!(cause.raw_os_error(), Some(5));
            }
            other => panic!("{other:?}"),
        }
    }
    let mut reader = Reader::new(Broken(true), options);
    assert!(matches!(reader.advance(), Err(Error::Decompression(what)) if what == "bad block"));
}

#[test]
fn data_nobody_takes_are_skipped() {
    let bytes = joined(&[&file("a", &[b'x'; 5000]), &file("b", b"hello"), &end()]);
    let mut reader = Reader::new(SliceSource::stingy(bytes, 100, 2048), Options::default());
    assert!(matches!(reader.advance().unwrap(), Event::Member(_)));
    assert!(reader.data(100).unwrap().is_some());
    assert!(matches!(reader.advance().unwrap(), Event::Member(member) if member.name == b"b"));
    assert_eq!(reader.data(4).unwrap().unwrap().as_ref(), b"hell");
    assert!(matches!(reader.advance().unwrap(), Event::End));
    assert!(reader.data(4).unwrap().is_none());
}

#[test]
fn small_members_come_in_one_piece_and_large_ones_in_whole_pages() {
    let bytes = joined(&[
        &file("a", &[b'x'; 9000]),
        &file("b", &[b'y'; 100_000]),
        &end(),
    ]);
    let mut reader = Reader::new(SliceSource::stingy(bytes, 1000, 20_000), Options::default());
    reader.advance().unwrap();
    assert_eq!(reader.data(10_000).unwrap().unwrap().as_ref().len(), 9000);
    assert!(reader.data(10_000).unwrap().is_none());
    reader.advance().unwrap();
    let mut left = 100_000;
    while let Some(span) = reader.data(usize::MAX).unwrap() {
        let length = span.as_ref().len();
        left -= length;
        assert!(
            left == 0 || length % 4096 == 0 && length > 12_000,
            "{length}"
        );
    }
    assert_eq!(left, 0);
}

#[test]
fn it_is_known_when_the_next_step_may_wait() {
    let bytes = joined(&[&file("a", &[b'x'; 3000]), &end()]);
    let mut reader = Reader::new(SliceSource::stingy(bytes, 1024, 4096), Options::default());
    assert!(reader.would_wait());
    reader.advance().unwrap();
    // One step holds the header and the first block of data.
    assert!(reader.would_wait());
    assert_eq!(reader.data(512).unwrap().unwrap().as_ref().len(), 512);
    reader.data(4096).unwrap().unwrap();
    // The fourth step ends with the first zero block.
    assert!(!reader.would_wait());
    assert!(matches!(reader.advance().unwrap(), Event::End));
}

#[test]
fn complaints_name_the_member() {
    let bad = member("f", b"", |header| header.as_old_mut().uid = *b"nobody\0\0");
    let archive = read(&joined(&[&bad, &end()]));
    assert_eq!(archive.complaints.len(), 1);
    assert_eq!(archive.complaints[0].member, b"f");
    assert_eq!(
        archive.complaints[0].condition.to_string(),
        "bad value in header field uid: 'nobody' is no number"
    );
    assert_eq!(archive.find("f").member.uid, 0);
}

#[test]
fn the_block_that_ended_it_is_known() {
    let f = file("f", b"hello");
    for (archive, expected) in [
        (joined(&[&f, &end()]), Some(2)),
        (joined(&[&f, &[0; 512]]), Some(2)),
        (f.clone(), None),
    ] {
        let mut reader = Reader::new(SliceSource::new(&archive[..]), Options::default());
        assert_eq!(reader.end_marker(), None);
        while !matches!(reader.advance().unwrap(), Event::End) {}
        assert_eq!(reader.end_marker(), expected);
    }
}

#[test]
fn a_header_whose_size_is_no_number_is_passed_over_whatever_it_is_of() {
    for kind in [b'0', b'1', b'2', b'3', b'5', b'6', b'V'] {
        for (size, why) in [
            (b"00080000000\0", "'00080000000' is no number"),
            (b"xyz\0\0\0\0\0\0\0\0\0", "'xyz' is no number"),
            (&[0xff; 12], "-1 is out of range"),
            (
                &[
                    0x80, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                ],
                "a binary number that is too large",
            ),
        ] {
            let bad = member("bad", b"", |header| {
                header.set_entry_type(tar::EntryType::new(kind));
                header.as_old_mut().size = *size;
            });
            let archive = read(&joined(&[&file("f", b""), &bad, &file("g", b""), &end()]));
            assert!(archive.error.is_none());
            assert_eq!(archive.names(), ["f", "g"]);
            assert_eq!(
                archive.said(),
                [
                    format!("bad value in header field size: {why}"),
                    "skipping to next header after block 1".to_owned(),
                ]
            );
        }
    }
}

#[test]
fn a_pax_size_stands_in_for_one_that_is_no_number() {
    let bad = member("f", b"hello", |header| {
        header.as_old_mut().size = [b'x'; 12];
    });
    let size = super::support::pax(b'x', &[("size", b"5")]);
    let archive = read(&joined(&[&size, &bad, &end()])).clean();
    assert_eq!(archive.find("f").data, b"hello");
}
