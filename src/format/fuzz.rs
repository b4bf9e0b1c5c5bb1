//! What may be done with any bytes whatever: the parts of the parser behind doors that the fuzz targets in `tests/fuzz`
//! and the tests use. Each checks what has to hold for every input, and panics if it does not.

use super::header::{self, Verdict};
use super::limits::{self, BLOCK};
use super::pax::{Overrides, Scope};
use super::sparse::{self, DataMap, Map};
use super::{Options, Reader, SeekSource, SliceSource, Source};
use crate::error::Error;
use crate::member::{Event, Kind, Member, MemberStream};

/// One header block; what is missing is zeros.
pub fn header(bytes: &[u8]) {
    let mut block = [0; BLOCK];
    let length = bytes.len().min(BLOCK);
    block[..length].copy_from_slice(&bytes[..length]);
    let _ = super::is_byte_swapped(&block);
    let verdict = header::examine(&block);
    assert_eq!(verdict == Verdict::Zero, block == [0; BLOCK]);
    // Fields are read of headers with a good checksum only, but nothing depends on that.
    let decoded = header::decode(&block);
    assert!(decoded.member.name.len() <= 256 && decoded.member.link.len() <= 100);
    assert!(decoded.member.mode <= 0o7777);
    assert!(decoded.member.mtime.nanos == 0);
}

/// The body of a pax header: of a member, and of all.
pub fn records(body: &[u8]) {
    for scope in [Scope::Member, Scope::Global] {
        let mut overrides = Overrides::default();
        let mut complaints = 0usize;
        overrides.take(scope, body, |_| complaints += 1);
        assert!(complaints <= body.len());
        assert!(overrides.records.len() <= limits::RECORDS);
        let kept = overrides.records.iter();
        let kept: usize = kept
            .map(|record| record.key.len() + record.value.len())
            .sum();
        assert!(kept <= body.len().min(limits::RECORD_BYTES));
        for time in [overrides.mtime, overrides.atime, overrides.ctime] {
            assert!(time.flatten().is_none_or(|time| time.nanos < 1_000_000_000));
        }
        if let Some(mut sparse) = overrides.sparse {
            finish(sparse.take_records_map(), sparse.real_size);
        }
    }
}

/// Sparse maps: these bytes as a header, as blocks after one, as lines in the data.
pub fn maps(bytes: &[u8]) {
    let mut map = Map::default();
    let mut in_data = DataMap::default();
    for (index, chunk) in bytes.chunks(BLOCK).enumerate() {
        let mut block = [0; BLOCK];
        block[..chunk.len()].copy_from_slice(chunk);
        if index == 0 {
            let view = tar::Header::from_byte_slice(&block);
            for layout in [sparse::gnu_header, sparse::star_header] {
                let mut map = Map::default();
                layout(view, &mut map);
                finish(map, None);
            }
        }
        sparse::extension(&block, &mut map);
    }
    finish(map, None);
    for chunk in bytes.chunks(BLOCK) {
        if !in_data.take(chunk) {
            break;
        }
    }
    finish(in_data.finish(), Some(1 << 40));
}

fn finish(map: Map, real_size: Option<u64>) {
    if let Ok((extents, size, stored)) = map.finish(real_size, u64::MAX) {
        assert!(extents.len() <= limits::EXTENTS);
        let mut end = 0;
        let mut sum = 0;
        for extent in extents {
            assert!(extent.length > 0 && extent.offset >= end);
            end = extent.offset + extent.length;
            sum += extent.length;
        }
        assert!(end <= size && sum == stored);
    }
}

/// A whole archive, read in three ways that have to agree. The first byte says how.
pub fn archive(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else {
        return;
    };
    let mended = mend(bytes);
    // Chance finds no checksums.
    let bytes = if how & 2 != 0 { &mended } else { bytes };
    let options = Options {
        volumes: false,
        ignore_zeros: how & 1 != 0,
        name: Vec::new(),
    };
    let whole = walk(SliceSource::new(bytes), &options, usize::MAX, bytes.len());
    let step = 1 + usize::from(how) * 7;
    let limit = 1024 + usize::from(how) * 33;
    let stingy = SliceSource::stingy(bytes, step, limit);
    assert_eq!(whole, walk(stingy, &options, limit, bytes.len()));
    let seeking = SeekSource::new(bytes, 0, bytes.len() as u64);
    assert_eq!(whole, walk(seeking, &options, 4096, bytes.len()));
}

/// The same blocks with good checksums in all that may be headers.
fn mend(bytes: &[u8]) -> Vec<u8> {
    let mut mended = bytes.to_vec();
    for chunk in mended.chunks_exact_mut(BLOCK) {
        if chunk[0] != 0 && chunk[148..156] != [0; 8] {
            let mut header = tar::Header::new_old();
            header.as_mut_bytes().copy_from_slice(chunk);
            header.set_cksum();
            chunk.copy_from_slice(header.as_bytes());
        }
    }
    mended
}

/// What an archive gives: members with all of their data, complaints, how it ends.
#[derive(Debug, PartialEq)]
struct Walk {
    members: Vec<(Member, Vec<u8>)>,
    said: Vec<String>,
    end: Option<String>,
}

fn walk(source: impl Source, options: &Options, most: usize, length: usize) -> Walk {
    let mut reader = Reader::new(source, options.clone());
    let mut walk = Walk {
        members: Vec::new(),
        said: Vec::new(),
        end: None,
    };
    // A header is needed for each member, and no header gives rise to more than so many complaints.
    let blocks = length.div_ceil(BLOCK) + 1;
    let most_said = blocks * (limits::COMPLAINTS + 3);
    loop {
        match reader.advance() {
            Ok(Event::End) => break,
            Ok(Event::Complaint(complaint)) => walk.said.push(complaint.to_string()),
            Ok(Event::Member(member)) => {
                assert_member(&member, blocks as u64);
                let mut data = Vec::new();
                let end = loop {
                    let _ = reader.would_wait();
                    match reader.data(most) {
                        Ok(Some(span)) => {
                            assert!((1..=most).contains(&span.as_ref().len()));
                            data.extend_from_slice(span.as_ref());
                        }
                        Ok(None) => {
                            assert_eq!(data.len() as u64, member.stored);
                            break None;
                        }
                        Err(error) => break Some(error),
                    }
                };
                assert!(data.len() as u64 <= member.stored && data.len() <= length);
                walk.members.push((*member, data));
                if end.is_some() {
                    assert!(matches!(end, Some(Error::UnexpectedEnd { .. })));
                    walk.end = end.map(|error| error.to_string());
                    break;
                }
            }
            Err(error) => {
                walk.end = Some(error.to_string());
                break;
            }
        }
        assert!(walk.members.len() <= blocks && walk.said.len() <= most_said);
    }
    assert!(reader.block() <= blocks as u64);
    reader.drain().expect("the source does not fail");
    walk
}

fn assert_member(member: &Member, blocks: u64) {
    assert!(member.block < blocks);
    assert!(i64::try_from(member.stored).is_ok());
    assert!(member.name.len() <= limits::NAME && member.link.len() <= limits::NAME);
    assert!(member.sparse.is_none() || member.kind == Kind::Regular);
    if let Some(extents) = &member.sparse {
        let sum: u64 = extents.iter().map(|extent| extent.length).sum();
        assert_eq!(sum, member.stored);
        let end = extents.last().map_or(0, |last| last.offset + last.length);
        assert!(end <= member.size);
    }
    if member.dumpdir.is_some() {
        assert_eq!(member.kind, Kind::Directory);
    }
    if !matches!(
        member.kind,
        Kind::Regular | Kind::HardLink | Kind::Continuation
    ) {
        assert_eq!((member.size, member.stored), (0, 0));
    }
}
