//! Maps of sparse files, in the six ways in which archives hold them.
//!
//! | where | layout |
//! |---|---|
//! | GNU and old GNU, typeflag `S` | 4 entries in the header, then blocks of 21 while the one before says so; size counts data only |
//! | star, xstar and its kin, typeflag `S` | none (or, long ago, 4) in the header, then blocks of 21; size counts the blocks too |
//! | pax 0.0 | `GNU.sparse.offset` and `GNU.sparse.numbytes` in turn |
//! | pax 0.1 | `GNU.sparse.map`: offset, length, offset ... |
//! | pax 1.0 | decimal numbers, one a line, in the data's first blocks: count, then offset and length in turn |
//!
//! All end in one [`Map`], which takes extents in ascending order only and never more than it is shown: the counts that
//! archives give are not used to reserve memory. Data of all extents follow each other without padding in between, also
//! where extents do not end on a block. Sources: the GNU tar manual, "Storing Sparse Files"; star(4); libarchive's
//! tar(5), which has the comments in maps of version 1.0.

use tar::{GnuExtSparseHeader, GnuSparseHeader, Header};

use super::limits::{self, BLOCK};
use super::number;
use crate::member::Extent;

/// Largest offset in a file: `off_t` has 63 bits.
const MAX_OFFSET: u64 = i64::MAX as u64;

/// The extents collected so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Map {
    extents: Vec<Extent>,
    /// Where the last entry ends, also an empty one.
    end: u64,
    /// Bytes in all extents.
    data: u64,
    /// What was wrong first.
    fault: Option<&'static str>,
}

impl Map {
    /// Adds an entry. An empty one says where the file ends, or nothing.
    pub(crate) fn push(&mut self, offset: Option<u64>, length: Option<u64>) {
        if self.fault.is_some() {
            return;
        }
        let (Some(offset), Some(length)) = (offset, length) else {
            self.fail("sparse map entry is no number");
            return;
        };
        let end = match offset.checked_add(length) {
            Some(end) if end <= MAX_OFFSET => end,
            _ => return self.fail("sparse map entry too large"),
        };
        if length == 0 {
            self.end = self.end.max(end);
            return;
        }
        if let Some(last) = self.extents.last_mut() {
            let last_end = last.offset + last.length;
            if offset < last_end {
                return self.fail("sparse map entries overlap or are out of order");
            }
            if offset == last_end {
                last.length += length;
                self.data += length;
                self.end = self.end.max(end);
                return;
            }
        }
        if self.extents.len() >= limits::EXTENTS {
            return self.fail("sparse map too long");
        }
        self.extents.push(Extent { offset, length });
        self.data += length;
        self.end = self.end.max(end);
    }

    /// Makes the map unusable; the first reason stays.
    pub(crate) fn fail(&mut self, fault: &'static str) {
        if self.fault.is_none() {
            self.fault = Some(fault);
            self.extents = Vec::new();
        }
    }

    /// The extents, the file's real size and the bytes of data, for a member that holds `stored` bytes of data.
    pub(crate) fn finish(
        self,
        real_size: Option<u64>,
        stored: u64,
    ) -> Result<(Vec<Extent>, u64, u64), &'static str> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let data_end = self
            .extents
            .last()
            .map_or(0, |last| last.offset + last.length);
        // Without a real size the map says where the file ends.
        let size = real_size.unwrap_or(self.end);
        if size > MAX_OFFSET {
            return Err("real size too large");
        }
        if data_end > size {
            return Err("sparse map goes beyond the real size");
        }
        if self.data > stored {
            return Err("sparse map has more data than the member");
        }
        Ok((self.extents, size, self.data))
    }
}

/// The four entries in a GNU header; gives whether map blocks follow.
pub(crate) fn gnu_header(header: &Header, map: &mut Map) -> bool {
    let bytes = header.as_bytes();
    match header.as_gnu() {
        Some(gnu) => {
            entries(gnu.sparse.iter().map(fields), map);
            is_set(gnu.isextended[0])
        }
        // The magic may be missing; the places are the same.
        None => {
            entries(
                bytes[386..482].chunks_exact(24).map(|e| e.split_at(12)),
                map,
            );
            is_set(bytes[482])
        }
    }
}

/// The entries in a header of star, which only its oldest versions put there; gives whether map blocks follow.
pub(crate) fn star_header(header: &Header, map: &mut Map) -> bool {
    let bytes = header.as_bytes();
    // The eleventh byte of the first offset is a digit where there is a map; a prefix would be where the map is.
    if bytes[345] == 0 && bytes[366] != 0 {
        entries(
            bytes[356..452].chunks_exact(24).map(|e| e.split_at(12)),
            map,
        );
        is_set(bytes[355])
    } else {
        true
    }
}

/// The 21 entries of a map block; gives whether another one follows.
pub(crate) fn extension(block: &[u8; BLOCK], map: &mut Map) -> bool {
    let mut extension = GnuExtSparseHeader::new();
    extension.as_mut_bytes().copy_from_slice(block);
    entries(extension.sparse.iter().map(fields), map);
    is_set(extension.isextended[0])
}

fn fields(entry: &GnuSparseHeader) -> (&[u8], &[u8]) {
    (&entry.offset, &entry.numbytes)
}

/// An entry whose length is empty ends the list.
fn entries<'a>(list: impl Iterator<Item = (&'a [u8], &'a [u8])>, map: &mut Map) {
    for (offset, length) in list {
        if length[0] == 0 {
            return;
        }
        map.push(number::unsigned(offset), number::unsigned(length));
    }
}

fn is_set(flag: u8) -> bool {
    !matches!(flag, 0 | b' ' | b'0')
}

/// Which of the pax sparse formats a member is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaxSparse {
    /// The map is in the records (0.0, 0.1).
    Records,
    /// The map is in the data (1.0).
    Data,
}

/// What the `GNU.sparse.*` records of one member say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PaxRecords {
    major: Option<u64>,
    minor: Option<u64>,
    /// Set by any record that has a part of the map.
    mapped: bool,
    map: Map,
    /// The offset whose length has not come yet.
    offset: Option<u64>,
    pub(crate) real_size: Option<u64>,
    pub(crate) name: Option<Vec<u8>>,
}

impl PaxRecords {
    /// Takes one record, its key without `GNU.sparse.`; gives false when the value cannot be right.
    pub(crate) fn take(&mut self, key: &[u8], value: &[u8]) -> bool {
        let number = number::decimal(value);
        match key {
            b"major" => self.major = number,
            b"minor" => self.minor = number,
            // In version 0.0 and 0.1 `size`, in 1.0 `realsize`.
            b"size" | b"realsize" => self.real_size = number.filter(|&size| size <= MAX_OFFSET),
            b"name" => {
                if value.len() > limits::NAME {
                    return false;
                }
                self.name = (!value.is_empty()).then(|| super::header::text(value).to_vec());
                return true;
            }
            b"numblocks" => {}
            b"offset" => {
                self.mapped = true;
                self.offset = number;
            }
            b"numbytes" => {
                self.mapped = true;
                let offset = self.offset.take();
                self.map.push(offset, number);
            }
            b"map" => {
                self.mapped = true;
                self.map = Map::default();
                return self.take_map(value);
            }
            _ => return true,
        }
        number.is_some()
    }

    fn take_map(&mut self, value: &[u8]) -> bool {
        let mut numbers = value.split(|&byte| byte == b',').map(number::decimal);
        while let Some(offset) = numbers.next() {
            match numbers.next() {
                Some(length) => self.map.push(offset, length),
                None => self.map.fail("sparse map has an odd number of entries"),
            }
        }
        self.map.fault.is_none()
    }

    /// How the map is stored, if there is one.
    pub(crate) fn kind(&self) -> Option<PaxSparse> {
        match (self.major, self.minor) {
            (Some(1), Some(0)) => Some(PaxSparse::Data),
            _ if self.mapped => Some(PaxSparse::Records),
            _ => None,
        }
    }

    /// The map that the records hold.
    pub(crate) fn take_records_map(&mut self) -> Map {
        std::mem::take(&mut self.map)
    }
}

/// Reads the map of a pax 1.0 member, block by block.
#[derive(Debug, Default)]
pub(crate) struct DataMap {
    map: Map,
    /// Numbers that are still to come; `None` before the count.
    left: Option<u64>,
    offset: Option<u64>,
    line: Vec<u8>,
    done: bool,
}

impl DataMap {
    /// Takes the next block; gives whether the map goes on after it.
    pub(crate) fn take(&mut self, block: &[u8]) -> bool {
        for &byte in block {
            if byte != b'\n' {
                if self.line.len() >= limits::MAP_LINE {
                    self.map.fail("sparse map has no lines");
                    self.done = true;
                    return false;
                }
                self.line.push(byte);
                continue;
            }
            if self.line.first() != Some(&b'#') {
                self.number();
            }
            self.line.clear();
            if self.done {
                return false;
            }
        }
        true
    }

    fn number(&mut self) {
        let Some(number) = number::decimal(&self.line) else {
            self.map.fail("sparse map entry is no number");
            self.done = true;
            return;
        };
        match self.left {
            None => {
                self.left = number.checked_mul(2);
                if self.left.is_none() {
                    self.map.fail("sparse map too long");
                    self.done = true;
                }
            }
            Some(left) => {
                match self.offset.take() {
                    None => self.offset = Some(number),
                    Some(offset) => self.map.push(Some(offset), Some(number)),
                }
                self.left = Some(left - 1);
            }
        }
        self.done |= self.left == Some(0) || self.map.fault.is_some();
    }

    /// The map; a fault when it is not complete.
    pub(crate) fn finish(mut self) -> Map {
        if !self.done {
            self.map.fail("sparse map ends early");
        }
        self.map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Ascending entries from the lengths of holes and data.
    fn ascending(runs: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut at = 0;
        let mut entries = Vec::new();
        for &(hole, data) in runs {
            entries.push((at + hole, data));
            at += hole + data;
        }
        entries
    }

    fn extents(entries: &[(u64, u64)]) -> Vec<Extent> {
        let extents = entries.iter().filter(|entry| entry.1 > 0);
        extents
            .map(|&(offset, length)| Extent { offset, length })
            .collect()
    }

    proptest! {
        #[test]
        fn ascending_entries_are_taken(runs in vec((1u64..1 << 40, 0u64..1 << 40), 0..60)) {
            let entries = ascending(&runs);
            let end = entries.last().map_or(0, |last| last.0 + last.1);
            let stored = entries.iter().map(|entry| entry.1).sum();
            let mut map = Map::default();
            for &(offset, length) in &entries {
                map.push(Some(offset), Some(length));
            }
            prop_assert_eq!(map.clone().finish(None, stored), Ok((extents(&entries), end, stored)));
            if stored > 0 {
                prop_assert!(map.finish(None, stored - 1).is_err());
            }
        }

        #[test]
        fn what_is_taken_is_in_order(entries in vec((0u64..100, 0u64..20), 0..12)) {
            let mut map = Map::default();
            for &(offset, length) in &entries {
                map.push(Some(offset), Some(length));
            }
            if let Ok((extents, size, stored)) = map.finish(Some(200), 10_000) {
                prop_assert_eq!(size, 200);
                prop_assert_eq!(stored, extents.iter().map(|extent| extent.length).sum::<u64>());
                prop_assert!(extents.iter().all(|extent| extent.length > 0));
                prop_assert!(extents.windows(2).all(|two| two[0].offset + two[0].length < two[1].offset));
            }
        }

        #[test]
        fn maps_in_data_are_read_back(runs in vec((1u64..1 << 40, 1u64..1 << 40), 0..60), comment in any::<bool>()) {
            let entries = ascending(&runs);
            let mut text = format!("{}\n", entries.len());
            for (offset, length) in &entries {
                if comment {
                    text.push_str("# an extent\n");
                }
                text.push_str(&format!("{offset}\n{length}\n"));
            }
            let mut bytes = text.into_bytes();
            bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
            let mut map = DataMap::default();
            let blocks = bytes.chunks(BLOCK).take_while(|block| map.take(block)).count();
            prop_assert_eq!(blocks, bytes.len() / BLOCK - 1);
            let (read, _, _) = map.finish().finish(None, u64::MAX).unwrap();
            prop_assert_eq!(read, extents(&entries));
        }
    }
}
