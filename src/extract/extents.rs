//! Where a member's stored bytes belong in the file.

use std::io::Write;

use super::PIECE_BYTES;
use crate::error::{Error, Operation};
use crate::member::{Extent, Member, MemberStream};

/// Walks through the extents of a file as its stored bytes come.
#[derive(Debug)]
pub(super) struct Extents<'a> {
    extents: &'a [Extent],
    done: u64,
}

impl<'a> Extents<'a> {
    pub(super) fn new(extents: &'a [Extent]) -> Self {
        let mut extents = Self { extents, done: 0 };
        extents.advance(0);
        extents
    }

    /// Where the next byte belongs; `None` after the last.
    pub(super) fn offset(&self) -> Option<u64> {
        self.extents
            .first()
            .map(|extent| extent.offset.saturating_add(self.done))
    }

    /// How many bytes follow there in one run.
    pub(super) fn left(&self) -> u64 {
        self.extents
            .first()
            .map_or(0, |extent| extent.length - self.done)
    }

    pub(super) fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        while let Some((first, rest)) = self.extents.split_first()
            && self.done >= first.length
        {
            self.done -= first.length;
            self.extents = rest;
        }
    }
}

/// Writes the contents of a regular file to a stream instead of a file.
///
/// # Errors
/// The archive cannot be read on, or the output cannot be written.
pub fn write_out<M: MemberStream>(
    member: &Member,
    stream: &mut M,
    output: &mut dyn Write,
) -> Result<(), Error> {
    let failed = |cause| Error::System {
        operation: Operation::Write,
        name: b"-".to_vec(),
        cause,
    };
    let whole = [Extent {
        offset: 0,
        length: member.stored,
    }];
    let mut extents = Extents::new(member.sparse.as_deref().unwrap_or(&whole));
    let mut position = 0;
    while let Some(offset) = extents.offset() {
        let most = usize::try_from(extents.left())
            .unwrap_or(usize::MAX)
            .min(PIECE_BYTES);
        let Some(data) = stream.data(most)? else {
            break;
        };
        write_zeros(output, offset.saturating_sub(position)).map_err(failed)?;
        output.write_all(data.as_ref()).map_err(failed)?;
        position = offset + data.as_ref().len() as u64;
        extents.advance(data.as_ref().len() as u64);
    }
    write_zeros(output, member.size.saturating_sub(position)).map_err(failed)
}

fn write_zeros(output: &mut dyn Write, mut count: u64) -> std::io::Result<()> {
    const ZEROS: [u8; 8192] = [0; 8192];
    while count > 0 {
        let length = usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(ZEROS.len());
        output.write_all(&ZEROS[..length])?;
        count -= length as u64;
    }
    Ok(())
}
