//! One block, decoded as a stream of its own.
//!
//! It gets the header of its stream, its bits from the first byte on, and an end whose checksum is its own, as a stream of
//! one block has it. So the library checks the block, which does not know that there were others.

use ::bzip2::{Decompress, Status};

use super::Broken;
use super::scan::{self, Bits, CHECKSUM_BITS, MAGIC_BITS};

pub(super) struct Block {
    decoder: Decompress,
    bytes: Vec<u8>,
    taken: usize,
    /// Something was decoded, so the block was read to its end: all of it is needed for the first byte.
    pub(super) made: bool,
}

impl Block {
    /// `whole` says that the bits end where the block does.
    pub(super) fn new(bits: &Bits, level: u8, whole: bool) -> Self {
        let mut bytes = vec![b'B', b'Z', b'h', level];
        let free = bits.append_to(&mut bytes, 0);
        if whole {
            let free = scan::append(&mut bytes, free, scan::END, MAGIC_BITS);
            scan::append(&mut bytes, free, checksum(bits).into(), CHECKSUM_BITS);
        }
        Self {
            decoder: Decompress::new(false),
            bytes,
            taken: 0,
            made: false,
        }
    }

    /// Decodes into `output`, which is not empty. Gives how many bytes that made, and whether that was all: an error may
    /// come after bytes.
    pub(super) fn decode(&mut self, output: &mut [u8]) -> (usize, Result<bool, Broken>) {
        let before = (self.decoder.total_in(), self.decoder.total_out());
        let result = self.decoder.decompress(&self.bytes[self.taken..], output);
        let since = |before, after: u64| {
            usize::try_from(after - before).expect("no more than the buffers hold")
        };
        let taken = since(before.0, self.decoder.total_in());
        let made = since(before.1, self.decoder.total_out());
        self.taken += taken;
        self.made |= made > 0;
        let result = match result {
            // Nothing but the last bits may be left over.
            Ok(Status::StreamEnd) if self.taken < self.bytes.len() => Err(Broken::Damaged),
            Ok(Status::StreamEnd) => Ok(true),
            Ok(Status::MemNeeded) => Err(Broken::Memory),
            Ok(_) if taken == 0 && made == 0 => Err(Broken::Truncated),
            Ok(_) => Ok(false),
            Err(_) => Err(Broken::Damaged),
        };
        (made, result)
    }
}

/// The checksum in the header of a block.
pub(super) fn checksum(bits: &Bits) -> u32 {
    u32::try_from(bits.get(MAGIC_BITS, CHECKSUM_BITS)).expect("these are 32 bits")
}
