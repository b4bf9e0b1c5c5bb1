//! A plain archive file that is read where its headers are, without a ring.
//!
//! Listing needs the headers only: 84,000 of them in the 1.3 GB of a kernel's sources. So this reads a few kilobytes at
//! a place, and skipping moves the place.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::limits;
use super::source::Source;

/// Bytes of a read after the place was moved by more than a read would have cost: one header and a small file's data,
/// after which the next header often lies.
const NEAR: usize = 4 << 10;

/// What can be read at any place without moving a position: a regular file, bytes in memory.
pub trait ReadAt {
    /// Reads into `buf` what is at `offset` (in bytes); 0 at the end only.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buf, offset)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        let n = buf.len().min(self.len() - start);
        buf[..n].copy_from_slice(&self[start..start + n]);
        Ok(n)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buf, offset)
    }
}

/// A [`Source`] that reads at places.
#[derive(Debug)]
pub struct SeekSource<F> {
    file: F,
    /// The file's length, which skipping must not leave.
    length: u64,
    /// Where in the file the buffered bytes begin.
    at: u64,
    /// Shared with the spans that were handed out.
    buffer: Arc<Vec<u8>>,
    ready: Range<usize>,
    /// Whether the place was moved since the last read.
    moved: bool,
    /// Length of the last read: doubled while bytes are read one after the other.
    pace: usize,
}

/// A piece of a [`SeekSource`].
#[derive(Clone, Debug)]
pub struct SeekSpan {
    buffer: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl AsRef<[u8]> for SeekSpan {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }
}

impl<F: ReadAt> SeekSource<F> {
    /// Reads `file`, which has this `length`, from `offset` on; all in bytes.
    pub fn new(file: F, offset: u64, length: u64) -> Self {
        Self {
            file,
            length,
            at: offset.min(length),
            buffer: Arc::new(Vec::new()),
            ready: 0..0,
            moved: true,
            pace: NEAR,
        }
    }

    /// Makes the buffer ours and moves what is in it to its beginning.
    fn own_buffer(&mut self, size: usize) {
        let kept = self.ready.len();
        match Arc::get_mut(&mut self.buffer) {
            Some(buffer) if buffer.len() >= size => buffer.copy_within(self.ready.clone(), 0),
            _ => {
                let mut buffer = vec![0; size];
                buffer[..kept].copy_from_slice(&self.buffer[self.ready.clone()]);
                self.buffer = Arc::new(buffer);
            }
        }
        self.ready = 0..kept;
    }

    fn fill(&mut self, n: usize) -> io::Result<()> {
        self.pace = if self.moved {
            NEAR
        } else {
            (self.pace * 2).min(limits::PIECE)
        };
        self.moved = false;
        let end = n.max(self.ready.len() + self.pace).min(self.limit());
        let mut place = self.at + self.ready.len() as u64;
        let mut filled = self.ready.len();
        self.own_buffer(end);
        let buffer = Arc::get_mut(&mut self.buffer).expect("just made ours");
        while filled < n {
            match self.file.read_at(&mut buffer[filled..end], place) {
                Ok(0) => break,
                Ok(more) => {
                    filled += more;
                    place += more as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.ready = 0..filled;
        Ok(())
    }
}

impl<F: ReadAt> Source for SeekSource<F> {
    type Span = SeekSpan;

    fn limit(&self) -> usize {
        limits::PIECE
    }

    fn at_least(&mut self, n: usize) -> io::Result<&[u8]> {
        if self.ready.len() < n {
            self.fill(n)?;
        }
        Ok(&self.buffer[self.ready.clone()])
    }

    fn consume(&mut self, n: usize) {
        assert!(n <= self.ready.len(), "consumed what was not seen");
        self.ready.start += n;
        self.at += n as u64;
    }

    fn span(&mut self, n: usize) -> SeekSpan {
        let start = self.ready.start;
        self.consume(n);
        SeekSpan {
            buffer: Arc::clone(&self.buffer),
            range: start..start + n,
        }
    }

    fn skip(&mut self, n: u64) -> io::Result<u64> {
        if n <= self.ready.len() as u64 {
            self.consume(n as usize);
            return Ok(n);
        }
        let n = n.min(
            self.length
                .saturating_sub(self.at)
                .max(self.ready.len() as u64),
        );
        self.at += n;
        self.ready = 0..0;
        self.moved = true;
        Ok(n)
    }

    fn would_wait(&self, _: usize) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes() -> Vec<u8> {
        (0..100_000u32).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn bytes_come_in_order_around_skips() {
        let bytes = bytes();
        let mut source = SeekSource::new(&bytes[..], 0, bytes.len() as u64);
        assert_eq!(&source.at_least(10).unwrap()[..10], &bytes[..10]);
        source.consume(3);
        let span = source.span(5);
        assert_eq!(source.skip(50_000).unwrap(), 50_000);
        assert_eq!(
            &source.at_least(20_000).unwrap()[..20_000],
            &bytes[50_008..70_008]
        );
        let second = source.span(20_000);
        assert_eq!(
            &source.at_least(9_000).unwrap()[..9_000],
            &bytes[70_008..79_008]
        );
        assert_eq!(span.as_ref(), &bytes[3..8]);
        assert_eq!(second.as_ref(), &bytes[50_008..70_008]);
    }

    #[test]
    fn the_end_is_not_passed() {
        let bytes = bytes();
        let mut source = SeekSource::new(&bytes[..], 0, bytes.len() as u64);
        assert_eq!(source.skip(99_990).unwrap(), 99_990);
        assert_eq!(source.at_least(100).unwrap().len(), 10);
        assert_eq!(source.skip(u64::MAX).unwrap(), 10);
        assert_eq!(source.at_least(1).unwrap().len(), 0);
        assert_eq!(source.skip(1).unwrap(), 0);
    }
}
