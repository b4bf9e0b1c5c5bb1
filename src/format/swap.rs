//! Archives whose bytes are swapped in pairs, as tapes were written on machines that differed in byte order.
//!
//! The swap concerns everything, headers and data. So it is undone before the parser: whoever opens an archive looks at
//! its first block with [`is_byte_swapped`] and reads through a [`SwapRead`] if the answer is yes.

use std::io::{self, Read};

use super::header;
use super::limits::BLOCK;

/// Whether an archive's first block is a header only when its bytes are swapped in pairs.
///
/// The sum of a header's bytes does not change by swapping them, but the digits it is compared with do.
#[must_use]
pub fn is_byte_swapped(first_block: &[u8]) -> bool {
    let Some(block) = first_block.first_chunk::<BLOCK>() else {
        return false;
    };
    if header::has_checksum(block) {
        return false;
    }
    let mut swapped = *block;
    swap_pairs(&mut swapped);
    header::has_checksum(&swapped)
}

fn swap_pairs(bytes: &mut [u8]) {
    for pair in bytes.chunks_exact_mut(2) {
        pair.swap(0, 1);
    }
}

/// Swaps what it reads in pairs of bytes. An odd byte at the end stays as it is.
#[derive(Debug)]
pub struct SwapRead<R> {
    inner: R,
    buffer: Vec<u8>,
    /// What of `buffer` has been swapped and not given.
    ready: std::ops::Range<usize>,
}

impl<R: Read> SwapRead<R> {
    /// Swaps the bytes of `inner`.
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            buffer: vec![0; 64 << 10],
            ready: 0..0,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        let mut filled = 0;
        loop {
            match self.inner.read(&mut self.buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => {
                    filled += n;
                    // Only whole pairs can be given.
                    if filled.is_multiple_of(2) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        swap_pairs(&mut self.buffer[..filled]);
        self.ready = 0..filled;
        Ok(())
    }
}

impl<R: Read> Read for SwapRead<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && !buf.is_empty() {
            self.refill()?;
        }
        let n = buf.len().min(self.ready.len());
        buf[..n].copy_from_slice(&self.buffer[self.ready.start..self.ready.start + n]);
        self.ready.start += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time.
    struct Single<'a>(&'a [u8]);

    impl Read for Single<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = buf.len().min(1);
            self.0.read(&mut buf[..n])
        }
    }

    #[test]
    fn pairs_are_swapped_however_they_arrive() {
        let mut out = Vec::new();
        SwapRead::new(&b"abcdefg"[..])
            .read_to_end(&mut out)
            .unwrap();
        assert_eq!(out, b"badcfeg");
        out.clear();
        SwapRead::new(Single(b"abcdefg"))
            .read_to_end(&mut out)
            .unwrap();
        assert_eq!(out, b"badcfeg");
    }

    #[test]
    fn only_a_swapped_header_is_taken_as_swapped() {
        let mut header = tar::Header::new_ustar();
        header.set_path("a-name").unwrap();
        header.set_size(3);
        header.set_cksum();
        let mut block = *header.as_bytes();
        assert!(!is_byte_swapped(&block));
        swap_pairs(&mut block);
        assert!(is_byte_swapped(&block));
        assert!(!is_byte_swapped(&block[..511]));
        assert!(!is_byte_swapped(&[0; 512]));
    }
}
