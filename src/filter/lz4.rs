//! LZ4 frames, after "LZ4 Frame Format Description" 1.6.4; the blocks in them are decoded by lz4_flex.
//!
//! The frame decoder of that crate takes an end between two blocks for the end of the frame, and refuses legacy frames
//! whose data do not compress. So the frame is read here: a header, blocks of at most 4 MiB (8 in a legacy frame), an end
//! mark, a checksum.

use std::hash::Hasher;

use lz4_flex::block::decompress_into_with_dict;
use twox_hash::XxHash32;

use super::codec::{Codec, Failure, State, exact};
use super::input::Input;

const MAGIC: u32 = 0x184d_2204;
const LEGACY_MAGIC: u32 = 0x184c_2102;

/// How far back a block may refer.
const WINDOW_BYTES: usize = 64 << 10;
/// The size of all blocks of a legacy frame but the last.
const LEGACY_BLOCK_BYTES: usize = 8 << 20;
/// What `LZ4_compressBound` says of that: data that do not compress grow.
const LEGACY_COMPRESSED_BYTES: usize = LEGACY_BLOCK_BYTES + LEGACY_BLOCK_BYTES / 255 + 16;

/// One frame. Skippable ones are not seen here.
pub(super) struct Lz4 {
    frame: Option<Frame>,
    compressed: Vec<u8>,
    /// The window, then the block. The window's bytes stand at its end.
    plain: Vec<u8>,
    window: usize,
    /// What of the block is still to be delivered.
    position: usize,
    end: usize,
}

/// What the header said.
struct Frame {
    legacy: bool,
    linked: bool,
    block_checksums: bool,
    block_bytes: usize,
    /// Of what is left of it.
    content_bytes: Option<u64>,
    content_checksum: Option<XxHash32>,
}

impl Lz4 {
    pub(super) fn new() -> Self {
        Self {
            frame: None,
            compressed: Vec::new(),
            plain: Vec::new(),
            window: 0,
            position: 0,
            end: 0,
        }
    }

    /// Reads the header.
    fn header(input: &mut Input) -> Result<Frame, Failure> {
        match number(input)? {
            MAGIC => {}
            LEGACY_MAGIC => {
                return Ok(Frame {
                    legacy: true,
                    linked: false,
                    block_checksums: false,
                    block_bytes: LEGACY_BLOCK_BYTES,
                    content_bytes: None,
                    content_checksum: None,
                });
            }
            _ => return Err(damaged("not in lz4 format")),
        }
        let mut head = [0; 15];
        exact(input, &mut head[..2])?;
        let [flags, block, ..] = head;
        let (has_content_bytes, has_dictionary) = (flags & 0x08 != 0, flags & 0x01 != 0);
        let length = 2 + if has_content_bytes { 8 } else { 0 } + if has_dictionary { 4 } else { 0 };
        exact(input, &mut head[2..=length])?;
        if XxHash32::oneshot(0, &head[..length]).to_le_bytes()[1] != head[length] {
            return Err(damaged("header checksum error"));
        }
        if flags >> 6 != 1 || flags & 0x02 != 0 || block & 0x8f != 0 {
            return Err(damaged("unsupported version or options"));
        }
        if has_dictionary {
            return Err(damaged("a dictionary would be needed"));
        }
        let block_bytes = match block >> 4 {
            size @ 4..=7 => 1 << (8 + 2 * size),
            _ => return Err(damaged("unsupported block size")),
        };
        let content_bytes = head[2..]
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes));
        Ok(Frame {
            legacy: false,
            linked: flags & 0x20 == 0,
            block_checksums: flags & 0x10 != 0,
            block_bytes,
            content_bytes: content_bytes.filter(|_| has_content_bytes),
            content_checksum: (flags & 0x04 != 0).then(|| XxHash32::with_seed(0)),
        })
    }

    /// Reads one block, or what ends the frame.
    fn block(&mut self, input: &mut Input) -> Result<State, Failure> {
        let Some(frame) = &mut self.frame else {
            let frame = Self::header(input)?;
            self.plain.resize(WINDOW_BYTES + frame.block_bytes, 0);
            self.frame = Some(frame);
            return Ok(State::More);
        };
        let limit = if frame.legacy {
            LEGACY_COMPRESSED_BYTES
        } else {
            frame.block_bytes
        };
        if frame.legacy {
            // Nothing ends a legacy frame but the end, or what cannot be the size of a block.
            let next = input.peek(4).map_err(Failure::Input)?;
            match next.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) {
                None if next.iter().all(|byte| *byte == 0) => return Ok(State::End),
                None => return Err(Failure::Truncated),
                Some(0) => return Ok(State::End),
                Some(size) if size as usize > limit => return Ok(State::End),
                Some(_) => {}
            }
        }
        let size = number(input)?;
        if size == 0 {
            if frame.content_bytes.is_some_and(|left| left != 0) {
                return Err(damaged("content size error"));
            }
            if let Some(hash) = &frame.content_checksum
                && u64::from(number(input)?) != hash.finish()
            {
                return Err(damaged("content checksum error"));
            }
            return Ok(State::End);
        }
        let stored = size >> 31 != 0 && !frame.legacy;
        let size = (size & !(1 << 31)) as usize;
        if size > limit {
            return Err(damaged("block too large"));
        }
        // Linked blocks refer to the end of those before them.
        let keep = if frame.linked {
            WINDOW_BYTES.min(self.window + self.end.saturating_sub(WINDOW_BYTES))
        } else {
            0
        };
        self.plain
            .copy_within(self.end - keep..self.end, WINDOW_BYTES - keep);
        self.window = keep;
        self.position = WINDOW_BYTES;
        self.end = WINDOW_BYTES;

        let (window, block) = self.plain.split_at_mut(WINDOW_BYTES);
        let window = &window[WINDOW_BYTES - keep..];
        let from = if stored {
            &mut block[..size]
        } else {
            self.compressed.resize(size, 0);
            &mut self.compressed[..]
        };
        exact(input, from)?;
        if frame.block_checksums && number(input)? != XxHash32::oneshot(0, from) {
            return Err(damaged("block checksum error"));
        }
        let made = if stored {
            size
        } else {
            let block = &mut block[..frame.block_bytes];
            decompress_into_with_dict(&self.compressed, block, window)
                .map_err(|_| damaged("compressed data is corrupt"))?
        };
        if let Some(hash) = &mut frame.content_checksum {
            hash.write(&self.plain[WINDOW_BYTES..WINDOW_BYTES + made]);
        }
        if let Some(left) = &mut frame.content_bytes {
            *left = left
                .checked_sub(made as u64)
                .ok_or_else(|| damaged("content size error"))?;
        }
        self.end = WINDOW_BYTES + made;
        Ok(State::More)
    }
}

impl Codec for Lz4 {
    fn decode(&mut self, input: &mut Input, output: &mut [u8]) -> (usize, Result<State, Failure>) {
        while self.position == self.end {
            match self.block(input) {
                Ok(State::More) => {}
                result => return (0, result),
            }
        }
        let count = output.len().min(self.end - self.position);
        output[..count].copy_from_slice(&self.plain[self.position..self.position + count]);
        self.position += count;
        (count, Ok(State::More))
    }
}

fn number(input: &mut Input) -> Result<u32, Failure> {
    let mut bytes = [0; 4];
    exact(input, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn damaged(what: &str) -> Failure {
    Failure::Damaged(what.into())
}
