//! compress(1): LZW with codes of 9 to 16 bits, as its manual page and the files of ncompress 4.2.4.6 have it.
//!
//! Nothing in the format marks its end or checks it: a truncated file is a shorter one. The codes stand in groups of
//! eight; when their length changes, the rest of the group is passed over.
//!
//! compress(1) itself makes rubbish of streams that follow each other, having no end to see. Here the next one is told by
//! its header and by what comes after it: each of its first codes has to be one that a new table knows. Other data are
//! taken for a stream in less than one of 2^40 places.

use std::io::BufRead;

use super::codec::{Codec, Failure, State, exact};
use super::input::Input;

/// The code that empties the table, if the file has it at all.
const CLEAR: usize = 256;
const BITS_FIRST: u32 = 9;
const BITS_MAX: u32 = 16;

pub(super) struct Lzw {
    /// `None` before the header.
    table: Option<Box<Table>>,
    bits: Bits,
    /// The bytes of a code, last first, as following the prefixes gives them.
    pending: Vec<u8>,
}

/// How many codes of what may be a stream are looked at; all of them have the first length.
const LOOK_CODES: usize = 64;
/// The header and those codes.
const LOOK_BYTES: usize = 3 + LOOK_CODES * BITS_FIRST as usize / 8;

/// Whether a stream begins here.
fn begins(first: &[u8]) -> bool {
    let [0x1f, 0x9d, flags, codes @ ..] = first else {
        return false;
    };
    // Two bits have no meaning, and no program sets them.
    if flags & 0x60 != 0 || !(BITS_FIRST..=BITS_MAX).contains(&u32::from(flags & 0x1f)) {
        return false;
    }
    let has_clear = flags & 0x80 != 0;
    let mut known = usize::from(u8::MAX);
    let (mut held, mut held_bits) = (0_usize, 0);
    for (at, byte) in codes.iter().enumerate() {
        // A short stream, and one more.
        if held == 0 && held_bits < 8 && begins(&codes[at..]) {
            return true;
        }
        held |= usize::from(*byte) << held_bits;
        held_bits += 8;
        if held_bits < BITS_FIRST {
            continue;
        }
        let code = held & ((1 << BITS_FIRST) - 1);
        held >>= BITS_FIRST;
        held_bits -= BITS_FIRST;
        if code > known || (code == CLEAR && has_clear) {
            return false;
        }
        // The first code makes no entry; with the second there may be one, which is the first free code.
        known = if known < CLEAR {
            CLEAR + usize::from(has_clear)
        } else {
            known + 1
        };
    }
    true
}

/// What the codes mean.
struct Table {
    bits_max: u32,
    has_clear: bool,
    /// The string of a code is that of its prefix and one more byte.
    prefix: Vec<u16>,
    suffix: Vec<u8>,
    /// The next code to be given a meaning.
    free: usize,
    /// The code before, and the first byte of its string.
    before: Option<(u16, u8)>,
}

/// Codes from bytes, the low bits first.
struct Bits {
    length: u32,
    held: u64,
    held_bits: u32,
    /// Codes taken of the group.
    taken: u32,
}

impl Lzw {
    pub(super) fn new() -> Self {
        let bits = Bits {
            length: BITS_FIRST,
            held: 0,
            held_bits: 0,
            taken: 0,
        };
        Self {
            table: None,
            bits,
            pending: Vec::new(),
        }
    }

    /// The next code's bytes. `None` at the end.
    fn more(&mut self, input: &mut Input) -> Result<Option<()>, Failure> {
        let table = match &mut self.table {
            Some(table) => table,
            None => self.table.insert(Box::new(Table::open(input)?)),
        };
        if table.free > table.code_max(self.bits.length) {
            if self.bits.pass_over(input)?.is_none() {
                return Ok(None);
            }
            self.bits.length += 1;
        }
        let Some(code) = self.bits.next(input)? else {
            return Ok(None);
        };
        if code == CLEAR && table.has_clear {
            if self.bits.pass_over(input)?.is_none() {
                return Ok(None);
            }
            self.bits.length = BITS_FIRST;
            // The next code still makes an entry, for this code, which nothing can name.
            table.free = CLEAR;
            return Ok(Some(()));
        }
        table.string(code, &mut self.pending)?;
        Ok(Some(()))
    }
}

impl Table {
    fn open(input: &mut Input) -> Result<Self, Failure> {
        let mut head = [0; 3];
        exact(input, &mut head)?;
        let bits_max = u32::from(head[2] & 0x1f);
        if head[..2] != [0x1f, 0x9d] || !(BITS_FIRST..=BITS_MAX).contains(&bits_max) {
            return Err(damaged("not in compress format"));
        }
        let has_clear = head[2] & 0x80 != 0;
        Ok(Self {
            bits_max,
            has_clear,
            prefix: vec![0; 1 << bits_max],
            suffix: vec![0; 1 << bits_max],
            free: CLEAR + usize::from(has_clear),
            before: None,
        })
    }

    /// The largest code of this length. With the last length the table is full, and lengths do not change any more;
    /// only that with `-b 9` compress(1) goes on to 10 bits all the same.
    fn code_max(&self, length: u32) -> usize {
        if length == self.bits_max && length != BITS_FIRST {
            1 << length
        } else {
            (1 << length) - 1
        }
    }

    /// Appends the bytes of a code, last first, and gives the next free code its meaning.
    fn string(&mut self, code: usize, to: &mut Vec<u8>) -> Result<(), Failure> {
        let Some((before, first)) = self.before else {
            // The first code stands for itself.
            let byte = u8::try_from(code).map_err(|_| damaged("compressed data is corrupt"))?;
            to.push(byte);
            self.before = Some((byte.into(), byte));
            return Ok(());
        };
        let mut at = code;
        if code >= self.free {
            if code > self.free || self.free == self.prefix.len() {
                return Err(damaged("compressed data is corrupt"));
            }
            // The code that is about to be made: the string before and its own first byte.
            to.push(first);
            at = before.into();
        }
        // Prefixes are older than what they begin, so this ends.
        while at > usize::from(u8::MAX) {
            to.push(self.suffix[at]);
            at = self.prefix[at].into();
        }
        let first = at.to_le_bytes()[0];
        to.push(first);
        if self.free < self.prefix.len() {
            self.prefix[self.free] = before;
            self.suffix[self.free] = first;
            self.free += 1;
        }
        let code = u16::try_from(code).map_err(|_| damaged("compressed data is corrupt"))?;
        self.before = Some((code, first));
        Ok(())
    }
}

impl Bits {
    /// The next code. `None` at the end, where up to seven bits are left over, and where another stream begins.
    fn next(&mut self, input: &mut Input) -> Result<Option<usize>, Failure> {
        while self.held_bits < self.length {
            let Some(&byte) = input.fill_buf().map_err(Failure::Input)?.first() else {
                return Ok(None);
            };
            // The last byte of a stream is filled up with zeros.
            if byte == 0x1f
                && self.held == 0
                && self.held_bits < 8
                && begins(input.peek(LOOK_BYTES).map_err(Failure::Input)?)
            {
                return Ok(None);
            }
            input.consume(1);
            self.held |= u64::from(byte) << self.held_bits;
            self.held_bits += 8;
        }
        let code = self.held & ((1 << self.length) - 1);
        self.held >>= self.length;
        self.held_bits -= self.length;
        self.taken = (self.taken + 1) % 8;
        Ok(usize::try_from(code).ok())
    }

    /// Passes over the rest of the group. `None` at the end.
    fn pass_over(&mut self, input: &mut Input) -> Result<Option<()>, Failure> {
        while self.taken != 0 {
            if self.next(input)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }
}

impl Codec for Lzw {
    fn decode(&mut self, input: &mut Input, output: &mut [u8]) -> (usize, Result<State, Failure>) {
        let mut made = 0;
        loop {
            while let Some(byte) = self.pending.pop() {
                output[made] = byte;
                made += 1;
                if made == output.len() {
                    return (made, Ok(State::More));
                }
            }
            match self.more(input) {
                Ok(Some(())) => {}
                Ok(None) => return (made, Ok(State::End)),
                Err(failure) => return (made, Err(failure)),
            }
        }
    }
}

fn damaged(what: &str) -> Failure {
    Failure::Damaged(what.into())
}
