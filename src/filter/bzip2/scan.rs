//! Finding where blocks begin, without decoding them.
//!
//! A bzip2 stream is `BZh` and the level, then blocks, each of which begins with the 48 bits of [`BLOCK`], then the 48
//! bits of [`END`] and a checksum over those of the blocks. Only a stream begins at a byte; what is in it begins at any
//! bit, and no length is written anywhere. So the bits are looked for. They may stand in the middle of a block by chance,
//! once in some ten terabytes, or because somebody put them there: what is found here is a candidate, and whoever decodes
//! the blocks joins the parts of one that was cut wrongly.

use std::mem;

use super::super::{Format, detect};
use super::Broken;

/// The digits of pi.
const BLOCK: u64 = 0x3141_5926_5359;
/// Those of its square root.
pub(super) const END: u64 = 0x1772_4538_5090;
pub(super) const MAGIC_BITS: usize = 48;
pub(super) const CHECKSUM_BITS: usize = 32;

/// `BZh` and the level.
const HEADER_BYTES: usize = 4;
/// What [`detect`] has to see of a stream.
const STREAM_BYTES: usize = HEADER_BYTES + MAGIC_BITS / 8;

/// More than any block has: 900,000 symbols of 20 bits, the longest code there is, and the tables of the codes.
pub(super) const BLOCK_BYTES: usize = 2_500_000;

/// Bits that begin and end anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    /// How many bits of the first byte come before.
    skip: usize,
    /// How many there are.
    count: usize,
}

impl Bits {
    /// Those of `bytes` from `start` to before `end`.
    pub(super) fn cut(bytes: &[u8], start: usize, end: usize) -> Self {
        Self {
            bytes: bytes[start / 8..end.div_ceil(8)].to_vec(),
            skip: start % 8,
            count: end - start,
        }
    }

    /// How many bytes that is, begun ones too.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// `count` bits from `at` on, 56 at most; beyond the end they are zeros.
    pub(super) fn get(&self, at: usize, count: usize) -> u64 {
        let there = self.count.saturating_sub(at).min(count);
        bits(&self.bytes, self.skip + at, there) << (count - there)
    }

    /// Appends them to bytes whose last one has `free` bits left. Gives how many it has then.
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>, free: usize) -> usize {
        if (8 - self.skip) % 8 == free {
            // Byte for byte.
            let mut from = &self.bytes[..];
            if let (Some(last), Some((first, rest))) = (bytes.last_mut(), from.split_first())
                && free > 0
            {
                *last |= first & (0xff >> self.skip);
                from = rest;
            }
            bytes.extend_from_slice(from);
            let end = (self.skip + self.count) % 8;
            let left = (8 - end) % 8;
            if let Some(last) = bytes.last_mut() {
                *last &= 0xff << left;
            }
            return left;
        }
        let mut free = free;
        let mut at = 0;
        while at < self.count {
            let count = (self.count - at).min(48);
            free = append(bytes, free, self.get(at, count), count);
            at += count;
        }
        free
    }

    /// The same bits and those of `next`.
    pub(super) fn join(&self, next: &Self) -> Self {
        let mut bytes = Vec::with_capacity(self.bytes.len() + next.bytes.len() + 1);
        let free = self.append_to(&mut bytes, 0);
        next.append_to(&mut bytes, free);
        Self {
            bytes,
            skip: 0,
            count: self.count + next.count,
        }
    }
}

/// Appends the low `count` bits of `value`, 56 at most, to bytes whose last one has `free` bits left. Gives how many it
/// has then.
pub(super) fn append(bytes: &mut Vec<u8>, free: usize, value: u64, count: usize) -> usize {
    let mut left = count;
    let mut free = free;
    while left > 0 {
        if free == 0 {
            bytes.push(0);
            free = 8;
        }
        let step = left.min(free);
        let part = (value >> (left - step)) & ((1 << step) - 1);
        let last = bytes.last_mut().expect("a byte was pushed");
        *last |= u8::try_from(part << (free - step)).expect("no more than 8 bits");
        left -= step;
        free -= step;
    }
    free
}

/// `count` bits from the bit `at`, 56 at most.
fn bits(bytes: &[u8], at: usize, count: usize) -> u64 {
    let from = &bytes[at / 8..];
    let mut eight = [0; 8];
    let there = from.len().min(8);
    eight[..there].copy_from_slice(&from[..there]);
    if count == 0 {
        return 0;
    }
    (u64::from_be_bytes(eight) << (at % 8)) >> (64 - count)
}

/// The checksum of a stream after one more block: that of what was before is turned by a bit.
pub(super) fn combine(before: u32, block: u32) -> u32 {
    before.rotate_left(1) ^ block
}

/// For each value of a byte in a magic number which of the 8 shifts of which of the two numbers has it there. `byte`
/// counts from the first one that belongs to the number whatever the shift.
const fn shifts(byte: u32) -> [u16; 256] {
    let mut table = [0; 256];
    let mut shift = 0;
    while shift < 8 {
        // With shift n the first byte before those has 8 - n bits of it.
        let down = 32 + shift - 8 * byte;
        table[((BLOCK >> down) & 0xff) as usize] |= 1 << shift;
        table[((END >> down) & 0xff) as usize] |= 1 << (8 + shift);
        shift += 1;
    }
    table
}

static SECOND: [u16; 256] = shifts(0);
static THIRD: [u16; 256] = shifts(1);

/// The first magic number that begins at the bit `from` or later: where, and whether it is that of the end.
fn find(bytes: &[u8], from: usize) -> Option<(usize, bool)> {
    let first = from / 8;
    let pairs = bytes.get(first..)?.windows(3);
    for (at, three) in pairs.enumerate() {
        let seen = SECOND[usize::from(three[1])];
        // Some of 256 values are left after the first look, some of 65,536 after the second.
        if seen == 0 || seen & THIRD[usize::from(three[2])] == 0 {
            continue;
        }
        let byte = first + at;
        for shift in 0..8 {
            let bit = byte * 8 + shift;
            if bit < from || bit + MAGIC_BITS > bytes.len() * 8 {
                continue;
            }
            match bits(bytes, bit, MAGIC_BITS) {
                BLOCK => return Some((bit, false)),
                END => return Some((bit, true)),
                _ => {}
            }
        }
    }
    None
}

/// What streams are made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// From one candidate to the next, in a stream of this level.
    Block(Bits, u8),
    /// The end of a stream, with the checksum that stands there.
    End(u32),
    /// What is left of a stream that has no end, and why it has none.
    Rest(Bits, u8, Broken),
    /// No stream follows.
    Nothing,
}

/// Cuts streams into blocks.
pub(super) struct Scanner {
    /// What is not cut yet.
    held: Vec<u8>,
    /// The bit of it at which the block begins.
    start: usize,
    /// The bit from which on nothing was looked for yet.
    from: usize,
    level: u8,
    place: Place,
    /// The checksum of the stream so far, if every candidate is a block.
    combined: u32,
    /// The end of the stream was found with the end of its last block.
    end: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where a stream may begin.
    Between,
    /// Behind its header, where a block or the end has to be.
    First,
    Block,
    Done,
}

impl Scanner {
    pub(super) fn new() -> Self {
        Self {
            held: Vec::new(),
            start: 0,
            from: 0,
            level: b'9',
            place: Place::Between,
            combined: 0,
            end: None,
        }
    }

    /// Takes more of the input.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        // What is cut goes now and then only, as that moves the rest.
        let done = self.start / 8;
        if done > self.held.len() / 2 {
            self.held.drain(..done);
            self.start -= done * 8;
            self.from -= done * 8;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Whether no stream has begun whose end was not seen.
    pub(super) fn is_between(&self) -> bool {
        matches!(self.place, Place::Between | Place::Done)
    }

    /// What was taken and belongs to no stream.
    pub(super) fn leave(&mut self) -> Vec<u8> {
        mem::take(&mut self.held)
    }

    /// The next item. `None` if more of the input is needed, of which there is no more if `last`.
    pub(super) fn next(&mut self, last: bool) -> Option<Item> {
        if let Some(checksum) = self.end.take() {
            return Some(Item::End(checksum));
        }
        loop {
            match self.place {
                Place::Done => return Some(Item::Nothing),
                Place::Between => {
                    if self.held.len() < STREAM_BYTES && !last {
                        return None;
                    }
                    if detect(&self.held) != Format::Bzip2 || self.held.len() < HEADER_BYTES {
                        self.place = Place::Done;
                        return Some(Item::Nothing);
                    }
                    self.level = self.held[HEADER_BYTES - 1];
                    self.held.drain(..HEADER_BYTES);
                    (self.start, self.from, self.combined) = (0, 0, 0);
                    self.place = Place::First;
                }
                Place::First | Place::Block => {
                    let found = self.candidate(last);
                    let rest = || -> Option<Broken> {
                        let held = self.held.len() - self.start / 8;
                        let misplaced = self.place == Place::First && self.from > 0;
                        match () {
                            () if misplaced || held > BLOCK_BYTES => Some(Broken::Damaged),
                            () if last => Some(Broken::Truncated),
                            () => None,
                        }
                    };
                    let Some((at, end)) = found else {
                        let broken = rest()?;
                        self.place = Place::Done;
                        let bits = Bits::cut(&self.held, self.start, self.held.len() * 8);
                        self.held.clear();
                        return Some(Item::Rest(bits, self.level, broken));
                    };
                    let block =
                        (self.place == Place::Block).then(|| Bits::cut(&self.held, self.start, at));
                    if let Some(checksum) = end {
                        let bytes = (at + MAGIC_BITS + CHECKSUM_BITS).div_ceil(8);
                        self.held.drain(..bytes);
                        (self.start, self.from) = (0, 0);
                        self.place = Place::Between;
                        let Some(block) = block else {
                            return Some(Item::End(checksum));
                        };
                        self.end = Some(checksum);
                        return Some(Item::Block(block, self.level));
                    }
                    self.start = at;
                    self.place = Place::Block;
                    if let Some(block) = block {
                        return Some(Item::Block(block, self.level));
                    }
                }
            }
        }
    }

    /// The next place where a block begins, or the stream ends with a checksum. What is before it is never looked at
    /// again.
    fn candidate(&mut self, last: bool) -> Option<(usize, Option<u32>)> {
        loop {
            let Some((at, end)) = find(&self.held, self.from) else {
                let looked = (self.held.len() * 8).saturating_sub(MAGIC_BITS - 1);
                self.from = self.from.max(looked);
                return None;
            };
            self.from = at;
            if at > 0 && self.place == Place::First {
                return None;
            }
            let behind = at + MAGIC_BITS + CHECKSUM_BITS;
            if self.held.len() * 8 < behind {
                return None;
            }
            let checksum = bits(&self.held, at + MAGIC_BITS, CHECKSUM_BITS);
            let checksum = u32::try_from(checksum).expect("these are 32 bits");
            if !end {
                self.combined = combine(self.combined, checksum);
                self.from = behind;
                return Some((at, None));
            }
            if checksum == self.combined {
                return Some((at, Some(checksum)));
            }
            // Damaged, or the end of a stream in which not every candidate was a block, or none at all. An end is filled
            // up to the byte with zeros, and something that makes sense follows.
            let next = &self.held[behind.div_ceil(8)..];
            if next.len() < STREAM_BYTES && !last {
                return None;
            }
            let filled = bits(&self.held, behind, behind.div_ceil(8) * 8 - behind) == 0;
            if filled && (next.is_empty() || detect(next) == Format::Bzip2) {
                return Some((at, Some(checksum)));
            }
            self.from = at + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight bits and more of each shift, made by hand.
    fn shifted(shift: usize, magic: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let free = append(&mut bytes, 0, 0, shift);
        let free = append(&mut bytes, free, magic, MAGIC_BITS);
        append(&mut bytes, free, 0x5a5a_5a5a, CHECKSUM_BITS);
        bytes
    }

    #[test]
    fn both_numbers_are_found_at_every_bit() {
        for before in 0..4 {
            for shift in 0..8 {
                for (magic, end) in [(BLOCK, false), (END, true)] {
                    let bytes = [vec![0x31; before], shifted(shift, magic)].concat();
                    let at = before * 8 + shift;
                    assert_eq!(find(&bytes, 0), Some((at, end)));
                    assert_eq!(find(&bytes, at), Some((at, end)));
                    assert_eq!(find(&bytes, at + 1), None);
                    let cut = (at + MAGIC_BITS - 1) / 8;
                    assert_eq!(find(&bytes[..cut], 0), None);
                }
            }
        }
    }

    #[test]
    fn bits_are_joined_as_they_are_read() {
        let bytes: Vec<u8> = (0..40_u8).map(|byte| byte.wrapping_mul(37)).collect();
        for start in 0..17 {
            for middle in [start, start + 1, 60, 61, 64, 67] {
                for end in [middle, 128, 131, 255] {
                    let joined =
                        Bits::cut(&bytes, start, middle).join(&Bits::cut(&bytes, middle, end));
                    let whole = Bits::cut(&bytes, start, end);
                    assert_eq!(joined.count, whole.count);
                    for at in 0..whole.count {
                        assert_eq!(
                            joined.get(at, 1),
                            whole.get(at, 1),
                            "{start} {middle} {end} {at}"
                        );
                    }
                }
            }
        }
    }
}
