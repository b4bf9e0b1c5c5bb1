//! Compressed bytes, some of which can be looked at before they are taken.

use std::io::{self, BufRead, Read};

/// Bytes of a read from the file or pipe: what a pipe holds.
const BUFFER_BYTES: usize = 64 << 10;

/// A buffered input. Once the buffer is empty, reads go straight through: a plain archive is never copied twice.
pub(super) struct Input {
    inner: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What is in the buffer and not taken yet.
    position: usize,
    end: usize,
}

impl Input {
    pub(super) fn new(inner: Box<dyn Read + Send>) -> Self {
        Self {
            inner,
            buffer: Vec::new(),
            position: 0,
            end: 0,
        }
    }

    /// An input that has nothing, to stand in for one that was taken.
    pub(super) fn empty() -> Self {
        Self::new(Box::new(io::empty()))
    }

    /// The next `n` bytes, fewer only at the end. Nothing is taken.
    pub(super) fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        if self.end - self.position < n {
            self.buffer.copy_within(self.position..self.end, 0);
            self.end -= self.position;
            self.position = 0;
            if self.buffer.len() < n {
                self.buffer.resize(n, 0);
            }
        }
        while self.end - self.position < n && self.read_more()? > 0 {}
        let there = self.buffered();
        Ok(&there[..n.min(there.len())])
    }

    /// What was read already.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.position..self.end]
    }

    /// Takes `count` bytes and forgets them. Gives how many there were: fewer only at the end.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut done = 0;
        while done < count {
            let there = self.fill_buf()?.len();
            if there == 0 {
                break;
            }
            let step = usize::try_from(count - done)
                .unwrap_or(usize::MAX)
                .min(there);
            self.consume(step);
            done += step as u64;
        }
        Ok(done)
    }

    /// Gives back what was taken last.
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let mut buffer = bytes;
        buffer.extend_from_slice(self.buffered());
        self.position = 0;
        self.end = buffer.len();
        self.buffer = buffer;
    }

    /// One read behind what is there.
    fn read_more(&mut self) -> io::Result<usize> {
        loop {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let there = self.buffered();
        if there.is_empty() {
            return self.inner.read(into);
        }
        let count = there.len().min(into.len());
        into[..count].copy_from_slice(&there[..count]);
        self.position += count;
        Ok(count)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position == self.end {
            self.position = 0;
            self.end = 0;
            if self.buffer.len() < BUFFER_BYTES {
                self.buffer.resize(BUFFER_BYTES, 0);
            }
            self.read_more()?;
        }
        Ok(self.buffered())
    }

    fn consume(&mut self, count: usize) {
        self.position += count;
    }
}
