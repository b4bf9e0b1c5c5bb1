//! Compressed bytes, some of which can be looked at before they are taken.

use std::io::{self, BufRead, Read};

/// Bytes of a read from the file or pipe: what a pipe holds.
const BUFFER_BYTES: usize = 64 << 10;

/// A buffered input. Reads larger than what is buffered go straight through.
pub(super) struct Input {
    inner: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    position: usize,
}

impl Input {
    pub(super) fn new(inner: Box<dyn Read + Send>) -> Self {
        Self { inner, buffer: Vec::new(), position: 0 }
    }

    /// The next `n` bytes, fewer only at the end. Nothing is taken.
    pub(super) fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.buffer.len() - self.position < n {
            self.buffer.drain(..self.position);
            self.position = 0;
            let known = self.buffer.len();
            self.buffer.resize(known + n, 0);
            let result = self.inner.read(&mut self.buffer[known..]);
            self.buffer.truncate(known + result.as_ref().map_or(0, |count| *count));
            match result {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let there = &self.buffer[self.position..];
        Ok(&there[..n.min(there.len())])
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.position < self.buffer.len() {
            let there = &self.buffer[self.position..];
            let count = there.len().min(into.len());
            into[..count].copy_from_slice(&there[..count]);
            self.position += count;
            return Ok(count);
        }
        self.inner.read(into)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.position >= self.buffer.len() {
            self.position = 0;
            self.buffer.resize(BUFFER_BYTES, 0);
            let result = loop {
                match self.inner.read(&mut self.buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    result => break result,
                }
            };
            self.buffer.truncate(result.as_ref().map_or(0, |count| *count));
            result?;
        }
        Ok(&self.buffer[self.position..])
    }

    fn consume(&mut self, count: usize) {
        self.position += count;
    }
}
