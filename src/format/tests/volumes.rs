//! Sets of volumes, cut at every place.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use super::support::{end, file, member, pax, read_all};
use crate::error::{Complaint, Error};
use crate::format::slice::SliceSpan;
use crate::format::{Options, SliceSource, Source};
use crate::member::{Format, Kind};

/// Volumes one after the other.
struct Volumes {
    now: SliceSource,
    later: VecDeque<Vec<u8>>,
    remarks: Rc<RefCell<Vec<String>>>,
}

impl Source for Volumes {
    type Span = SliceSpan;

    fn limit(&self) -> usize {
        self.now.limit()
    }

    fn at_least(&mut self, n: usize) -> io::Result<&[u8]> {
        self.now.at_least(n)
    }

    fn consume(&mut self, n: usize) {
        self.now.consume(n);
    }

    fn span(&mut self, n: usize) -> SliceSpan {
        self.now.span(n)
    }

    fn skip(&mut self, n: u64) -> io::Result<u64> {
        self.now.skip(n)
    }

    fn would_wait(&self, n: usize) -> bool {
        self.now.would_wait(n)
    }

    fn next_volume(&mut self, _: Format) -> io::Result<bool> {
        let next = self.later.pop_front();
        let next = next.ok_or_else(|| io::Error::other(Error::NoVolume(9)))?;
        self.now = SliceSource::stingy(next, 700, 2000);
        Ok(true)
    }

    fn remark(&mut self, complaint: Complaint) {
        self.remarks.borrow_mut().push(complaint.to_string());
    }
}

/// Reads a set; gives members as `name: length of data`, and what was remarked.
fn read(volumes: &[&[u8]]) -> (super::support::Archive, Vec<String>) {
    let remarks = Rc::new(RefCell::new(Vec::new()));
    let source = Volumes {
        now: SliceSource::new(volumes[0]),
        later: volumes[1..].iter().map(|volume| volume.to_vec()).collect(),
        remarks: Rc::clone(&remarks),
    };
    let options = Options {
        volumes: true,
        ..Options::default()
    };
    let archive = read_all(source, options);
    let remarks = remarks.borrow().clone();
    (archive, remarks)
}

const DATA: [u8; 2000] = {
    let mut data = [0; 2000];
    let mut at = 0;
    while at < data.len() {
        data[at] = (at % 251) as u8;
        at += 1;
    }
    data
};

/// A header of the kind that GNU tar begins a volume with: no magic, its own fields.
fn gnu_part(name: &str, offset: u64) -> Vec<u8> {
    let mut header = tar::Header::new_old();
    let rest = &DATA[offset as usize..];
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_mode(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(rest.len() as u64);
    header.set_entry_type(tar::EntryType::new(b'M'));
    header.as_mut_bytes()[369..381].copy_from_slice(format!("{offset:011o}\0").as_bytes());
    header.set_cksum();
    super::support::block(&header, rest)
}

/// A volume that star goes on with: volume header, figures, continuation.
fn star_part(volume: &str, offset: u64) -> Vec<u8> {
    [
        star_head(volume),
        pax(
            b'x',
            &[
                ("SCHILY.realsize", b"2000"),
                ("SCHILY.offset", offset.to_string().as_bytes()),
            ],
        ),
        member("x", &DATA[offset as usize..], |header| {
            // set_path would take the dots away.
            header.as_mut_bytes()[..15].copy_from_slice(b"././@MultHeader");
            header.set_entry_type(tar::EntryType::new(b'M'));
        }),
    ]
    .concat()
}

fn star_head(volume: &str) -> Vec<u8> {
    pax(
        b'g',
        &[
            ("SCHILY.archtype", b"exustar"),
            ("SCHILY.volhdr.label", b"set"),
            ("SCHILY.volhdr.dumpdate", b"1.5"),
            ("SCHILY.volhdr.volno", volume.as_bytes()),
        ],
    )
}

/// The first volume of a set of which `f` is cut after so many bytes.
fn first(head: &[u8], bytes: u64) -> Vec<u8> {
    let mut volume = [head, &file("f", &DATA)].concat();
    volume.truncate(head.len() + 512 + bytes as usize);
    volume
}

#[track_caller]
fn whole((archive, remarks): (super::support::Archive, Vec<String>)) {
    let archive = archive.clean();
    assert_eq!(archive.names(), ["f", "g"]);
    assert!(archive.find("f").data == DATA);
    assert_eq!(archive.find("g").data, b"after");
    assert!(remarks.is_empty(), "{remarks:?}");
}

#[test]
fn members_go_on_wherever_they_are_cut() {
    let rest = [file("g", b"after"), end()].concat();
    for cut in [0, 512, 1024, 1536] {
        let second = [gnu_part("f", cut), rest.clone()].concat();
        whole(read(&[&first(b"", cut), &second]));
        let second = [star_part("2", cut), rest.clone()].concat();
        whole(read(&[&first(&star_head("1"), cut), &second]));
        let posix = pax(
            b'g',
            &[
                ("GNU.volume.filename", b"f"),
                ("GNU.volume.size", (2000 - cut).to_string().as_bytes()),
                ("GNU.volume.offset", cut.to_string().as_bytes()),
            ],
        );
        let part = file("./GNUFileParts/f.2", &DATA[cut as usize..]);
        let second = [posix, pax(b'x', &[("atime", b"0")]), part, rest.clone()].concat();
        whole(read(&[&first(b"", cut), &second]));
    }
}

#[test]
fn three_volumes_hold_one_member() {
    let mut second = star_part("2", 512);
    second.truncate(second.len() - 1024);
    let third = [star_part("3", 1024), file("g", b"after"), end()].concat();
    whole(read(&[&first(&star_head("1"), 512), &second, &third]));
}

#[test]
fn volumes_that_end_between_members_or_in_headers_go_on() {
    let long = "n".repeat(600);
    let whole = [
        file("a", b"one"),
        pax(b'x', &[("path", long.as_bytes())]),
        file("short", b"two"),
        end(),
    ]
    .concat();
    for cut in (1..whole.len() / 512 - 2).map(|block| block * 512) {
        // A member's data is a block that cannot be cut.
        let (archive, remarks) = read(&[&whole[..cut], &whole[cut..]]);
        if cut == 512 || cut == whole.len() - 1024 - 512 {
            // In front of data: the next volume would have to say so.
            assert_eq!(remarks.len(), 1, "{cut}");
            continue;
        }
        let archive = archive.clean();
        assert_eq!(archive.names(), ["a".to_owned(), long.clone()], "{cut}");
    }
}

#[test]
fn wrong_volumes_are_refused_and_the_right_one_still_goes_on() {
    let right = [gnu_part("f", 512), file("g", b"after"), end()].concat();
    let (other, early) = (gnu_part("other", 512), gnu_part("f", 1024));
    let mut size = gnu_part("f", 512);
    size[124..136].copy_from_slice(b"00000000010\0");
    let mut header = tar::Header::new_old();
    header.as_mut_bytes().copy_from_slice(&size[..512]);
    header.set_cksum();
    size[..512].copy_from_slice(header.as_bytes());
    let zeros = [0; 1024];
    let (archive, remarks) = read(&[
        &first(b"", 512),
        b"",
        &other,
        &early,
        &size,
        &zeros,
        &file("f", b"x"),
        &right,
    ]);
    assert_eq!(archive.clean().find("f").data, DATA);
    assert_eq!(
        remarks,
        [
            "f: this volume is empty",
            "f: not continued on this volume",
            "f: volume out of sequence: 2000 - 1488 is not 1024",
            "f: wrong size: 2000 is not 8 + 512",
            "f: not continued on this volume",
            "f: not continued on this volume",
        ]
    );
}

#[test]
fn volume_headers_of_star_are_compared() {
    let other_set = String::from_utf8_lossy(&star_part("2", 512)).replace("=1.5", "=2.5");
    let right = [star_part("2", 512), file("g", b"after"), end()].concat();
    let (archive, remarks) = read(&[
        &first(&star_head("1"), 512),
        &star_part("3", 512),
        other_set.as_bytes(),
        &right,
    ]);
    assert_eq!(archive.clean().find("f").data, DATA);
    assert_eq!(
        remarks,
        [
            "f: this is volume 3, volume 2 is wanted",
            "f: this volume belongs to another set",
        ]
    );
}

#[test]
fn a_set_read_from_its_middle_goes_on_from_there() {
    let mut second = gnu_part("f", 512);
    second.truncate(512 + 512);
    let third = [gnu_part("f", 1024), file("g", b"after"), end()].concat();
    let (archive, remarks) = read(&[&second, &third]);
    let archive = archive.clean();
    let f = archive.find("f");
    assert_eq!((f.member.kind, f.member.offset), (Kind::Continuation, 512));
    assert_eq!(f.data, DATA[512..]);
    assert_eq!(archive.find("g").data, b"after");
    assert!(remarks.is_empty());
}

#[test]
fn a_missing_volume_ends_it() {
    let (archive, _) = read(&[&first(b"", 512)]);
    assert!(matches!(archive.error, Some(Error::NoVolume(9))));
    assert_eq!(archive.find("f").data, DATA[..512]);
}

#[test]
fn a_long_name_is_known_by_its_beginning() {
    let long = "n".repeat(130);
    let mut start = [pax(b'x', &[("path", long.as_bytes())]), file("n", &DATA)].concat();
    start.truncate(1024 + 512 + 512);
    let second = [gnu_part(&long[..100], 512), end()].concat();
    let (archive, remarks) = read(&[&start, &second]);
    assert_eq!(archive.clean().find(&long).data, DATA);
    assert_eq!(
        remarks,
        [format!(
            "{long}: possibly continued on this volume, the name is cut"
        )]
    );
}
