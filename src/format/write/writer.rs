//! Members with their data become a stream of blocks.

use super::{Headers, Unfit};
use crate::error::{Condition, Error};
use crate::format::limits::BLOCK;
use crate::member::{AclStyle, Member, MemberSink};

/// Where blocks go.
pub trait Sink {
    /// Waits until there is room for `least` bytes, and gives all there is.
    ///
    /// # Errors
    /// Nobody takes them any more.
    fn room(&mut self, least: usize) -> Result<&mut [u8], Error>;

    /// Takes the first `n` bytes of the room.
    fn commit(&mut self, n: usize);
}

/// Writes an archive.
#[derive(Debug)]
pub struct Writer<S> {
    sink: S,
    headers: Headers,
    /// Bytes put so far.
    at: u64,
    /// Bytes of data of the current member that are to come.
    left: u64,
    blocks: Vec<u8>,
}

impl<S: Sink> Writer<S> {
    /// Goes on behind `at` bytes that are there already.
    pub fn new(sink: S, headers: Headers, at: u64) -> Self {
        Self {
            sink,
            headers,
            at,
            left: 0,
            blocks: Vec::new(),
        }
    }

    /// Puts what stands at the beginning: a label, a global header.
    ///
    /// # Errors
    /// As [`MemberSink::member`]; also the label does not fit.
    pub fn begin(&mut self, label: Option<&[u8]>, now: i64) -> Result<(), Error> {
        let mut blocks = Vec::new();
        self.headers
            .begin(label, now, &mut blocks)
            .map_err(|unfit: Unfit| Error::Plan(format!("label: {unfit}")))?;
        self.bytes(&blocks)
    }

    /// Puts the end of the archive: two zero blocks, and zeros to the end of a record. Gives the
    /// sink back, and where the archive ends.
    ///
    /// # Errors
    /// As [`MemberSink::member`].
    pub fn finish(mut self, record: usize) -> Result<(S, u64), Error> {
        let end = (self.at + 2 * BLOCK as u64).next_multiple_of(record as u64);
        let mut zeros = end - self.at;
        while zeros > 0 {
            let room = self.sink.room(1)?;
            let n = room.len().min(usize::try_from(zeros).unwrap_or(usize::MAX));
            room[..n].fill(0);
            self.sink.commit(n);
            zeros -= n as u64;
        }
        Ok((self.sink, end))
    }

    /// Puts blocks of another archive as they are.
    ///
    /// # Errors
    /// As [`MemberSink::member`].
    pub fn raw(&mut self, blocks: &[u8]) -> Result<(), Error> {
        self.bytes(blocks)
    }

    /// The sink, without an end of the archive in it.
    pub fn into_sink(self) -> S {
        self.sink
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.at += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = self.sink.room(1)?;
            let n = room.len().min(bytes.len());
            room[..n].copy_from_slice(&bytes[..n]);
            self.sink.commit(n);
            bytes = &bytes[n..];
        }
        Ok(())
    }
}

impl<S: Sink> MemberSink for Writer<S> {
    fn member(&mut self, member: &Member, source: &[u8]) -> Result<Option<Condition>, Error> {
        debug_assert_eq!(self.left, 0, "the member before is complete");
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.clear();
        let result = match self.headers.member(member, source, &mut blocks) {
            Ok(stored) => {
                self.left = stored;
                self.bytes(&blocks).map(|()| None)
            }
            Err(Unfit::Kind) => Ok(Some(Condition::FileIgnored("Unknown file type; file"))),
            Err(unfit) => Ok(Some(Condition::Other(unfit.to_string()))),
        };
        self.blocks = blocks;
        result
    }

    fn room(&mut self) -> Result<&mut [u8], Error> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let room = self.sink.room(left.min(1))?;
        let n = room.len().min(left);
        Ok(&mut room[..n])
    }

    fn filled(&mut self, n: usize) -> Result<(), Error> {
        self.sink.commit(n);
        self.at += n as u64;
        self.left -= n as u64;
        if self.left == 0 {
            let padding = self.at.next_multiple_of(BLOCK as u64) - self.at;
            self.bytes(&[0; BLOCK][..padding as usize])?;
        }
        Ok(())
    }

    fn written(&self) -> u64 {
        self.at
    }

    fn has_maps(&self) -> bool {
        self.headers.has_maps()
    }

    fn records(&self) -> Option<AclStyle> {
        match (self.headers.has_records(), self.headers.is_star()) {
            (false, _) => None,
            (true, true) => Some(AclStyle::Commas),
            (true, false) => Some(AclStyle::Lines),
        }
    }
}
