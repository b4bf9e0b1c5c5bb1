//! Reading an archive to its end, and building blocks by hand.

use crate::error::{Complaint, Error};
use crate::format::{Options, Reader, SliceSource, Source};
use crate::member::{Event, Member, MemberStream};

/// A member with all of its stored data.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) member: Member,
    pub(super) data: Vec<u8>,
}

impl Entry {
    /// The file as it is to be on disk: holes filled with zeros.
    pub(super) fn contents(&self) -> Vec<u8> {
        let Some(extents) = &self.member.sparse else {
            return self.data.clone();
        };
        let mut file = vec![0; self.member.size as usize];
        let mut data = &self.data[..];
        for extent in extents {
            let (piece, rest) = data.split_at(extent.length as usize);
            file[extent.offset as usize..][..piece.len()].copy_from_slice(piece);
            data = rest;
        }
        assert!(data.is_empty());
        file
    }
}

/// All that an archive gave.
#[derive(Debug)]
pub(super) struct Archive {
    pub(super) entries: Vec<Entry>,
    pub(super) complaints: Vec<Complaint>,
    pub(super) error: Option<Error>,
    /// Bytes that were left in the source.
    pub(super) rest: u64,
}

impl Archive {
    pub(super) fn names(&self) -> Vec<String> {
        let shown = |entry: &Entry| entry.member.name.escape_ascii().to_string();
        self.entries.iter().map(shown).collect()
    }

    pub(super) fn said(&self) -> Vec<String> {
        self.complaints.iter().map(ToString::to_string).collect()
    }

    pub(super) fn find(&self, name: &str) -> &Entry {
        let found = self
            .entries
            .iter()
            .find(|entry| entry.member.name == name.as_bytes());
        found.unwrap_or_else(|| panic!("{name} not in {:?}", self.names()))
    }

    /// Nothing was wrong.
    pub(super) fn clean(self) -> Self {
        assert!(self.error.is_none(), "{:?}", self.error);
        assert!(self.complaints.is_empty(), "{:?}", self.said());
        self
    }
}

pub(super) fn read_all<S: Source>(source: S, options: Options) -> Archive {
    let mut reader = Reader::new(source, options);
    let mut archive = Archive {
        entries: Vec::new(),
        complaints: Vec::new(),
        error: None,
        rest: 0,
    };
    let error = 'run: loop {
        match reader.advance() {
            Ok(Event::Member(member)) => {
                let mut data = Vec::new();
                loop {
                    match reader.data(100_000) {
                        Ok(Some(span)) => {
                            assert!(!span.as_ref().is_empty() && span.as_ref().len() <= 100_000);
                            data.extend_from_slice(span.as_ref());
                        }
                        Ok(None) => break,
                        Err(error) => {
                            archive.entries.push(Entry {
                                member: *member,
                                data,
                            });
                            break 'run Some(error);
                        }
                    }
                }
                assert_eq!(data.len() as u64, member.stored);
                archive.entries.push(Entry {
                    member: *member,
                    data,
                });
            }
            Ok(Event::Complaint(complaint)) => archive.complaints.push(complaint),
            Ok(Event::End) => break None,
            Err(error) => break Some(error),
        }
    };
    // What has ended stays ended.
    match (&error, reader.advance()) {
        (None, Ok(Event::End)) => {}
        (Some(first), Err(again)) => assert_eq!(first.to_string(), again.to_string()),
        (first, again) => panic!("{first:?}, then {again:?}"),
    }
    archive.error = error;
    archive.rest = reader.into_source().skip(u64::MAX).unwrap_or(0);
    archive
}

/// Reads the same bytes at once, in small pieces and one by one; all have to come to the same.
pub(super) fn read(bytes: &[u8]) -> Archive {
    read_with(bytes, &Options::default())
}

pub(super) fn read_with(bytes: &[u8], options: &Options) -> Archive {
    let whole = read_all(SliceSource::new(bytes), options.clone());
    for (step, limit) in [(1, 1024), (511, 1500), (10_240, 65_536)] {
        let pieces = read_all(SliceSource::stingy(bytes, step, limit), options.clone());
        assert_eq!(pieces.said(), whole.said());
        let ends = [&pieces, &whole].map(|archive| archive.error.as_ref().map(ToString::to_string));
        assert_eq!(ends[0], ends[1]);
        assert_eq!(pieces.entries.len(), whole.entries.len());
        for (a, b) in pieces.entries.iter().zip(&whole.entries) {
            assert_eq!(a.member, b.member);
            assert_eq!(a.data, b.data);
        }
    }
    whole
}

/// A member written by the `tar` package: ustar, with these values changed by `edit`.
pub(super) fn member(name: &str, data: &[u8], edit: impl FnOnce(&mut tar::Header)) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).unwrap();
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(1_600_000_000);
    header.set_size(data.len() as u64);
    header.set_entry_type(tar::EntryType::Regular);
    edit(&mut header);
    header.set_cksum();
    block(&header, data)
}

/// A header as it is, data, padding.
pub(super) fn block(header: &tar::Header, data: &[u8]) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// A plain file.
pub(super) fn file(name: &str, data: &[u8]) -> Vec<u8> {
    member(name, data, |_| {})
}

/// A pax header with these records.
pub(super) fn pax(typeflag: u8, records: &[(&str, &[u8])]) -> Vec<u8> {
    let body: Vec<u8> = records
        .iter()
        .flat_map(|(key, value)| record(key, value))
        .collect();
    raw_pax(typeflag, &body)
}

/// A pax header with this body.
pub(super) fn raw_pax(typeflag: u8, body: &[u8]) -> Vec<u8> {
    member("PaxHeaders/x", body, |header| {
        header.set_entry_type(tar::EntryType::new(typeflag));
    })
}

/// A record with its length in front.
pub(super) fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    let mut bytes = format!("{length} {key}=").into_bytes();
    bytes.extend_from_slice(value);
    bytes.push(b'\n');
    bytes
}

/// Two zero blocks.
pub(super) fn end() -> Vec<u8> {
    vec![0; 1024]
}
