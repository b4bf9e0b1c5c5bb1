//! Compressed streams, one after the other: the part of a decoder that is the same for every format.
//!
//! The codecs get their input in slices and say how much of it they took, so that what comes before an error is still
//! delivered: what a damaged archive holds up to there is good. An error stays: no later read makes it look like an end.

use std::io::{self, BufRead};

use super::codec::{self, Codec, Failure, State};
use super::input::Input;
use super::{Format, Workers, detect};

/// What stands between two streams, or after the last.
const NEXT_BYTES: usize = 16;

/// All streams of an input.
pub(super) struct Streams {
    format: Format,
    workers: Workers,
    input: Input,
    codec: Option<Box<dyn Codec>>,
    end: End,
}

/// How it ended, if it has.
enum End {
    NotYet,
    Good,
    /// This and everything later is the error.
    Failed(io::ErrorKind, String),
    /// The same for what the system said.
    System(i32),
}

impl Streams {
    /// Starts with the first stream, which the input is known to begin with.
    ///
    /// # Errors
    /// There is not enough memory for the decoder.
    pub(super) fn new(format: Format, workers: Workers, input: Input) -> io::Result<Self> {
        let codec = codec::start(format, workers)?;
        Ok(Self {
            format,
            workers,
            input,
            codec: Some(codec),
            end: End::NotYet,
        })
    }

    /// The same when skippable frames are all that was seen, which zstd and LZ4 have in common.
    ///
    /// # Errors
    /// The input cannot be read, or ends within such a frame.
    pub(super) fn after_skippable(mut input: Input) -> io::Result<Self> {
        let mut streams = Self {
            format: Format::Zstd,
            workers: Workers::NONE,
            input: Input::empty(),
            codec: None,
            end: End::NotYet,
        };
        skip_frames(&mut input).map_err(|failure| streams.explain(failure))?;
        if detect(input.peek(NEXT_BYTES)?) == Format::Lz4 {
            streams.format = Format::Lz4;
        }
        streams.input = input;
        Ok(streams)
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Decompresses into `buffer`.
    ///
    /// # Errors
    /// The data are damaged, or reading them failed.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        warnings: &mut Vec<String>,
    ) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match &self.end {
                End::NotYet => {}
                End::Good => return Ok(0),
                End::Failed(kind, what) => return Err(io::Error::new(*kind, what.clone())),
                End::System(number) => return Err(io::Error::from_raw_os_error(*number)),
            }
            let Some(codec) = &mut self.codec else {
                let next = self.next(warnings);
                self.keep(next);
                continue;
            };
            let (count, state) = codec.decode(&mut self.input, buffer);
            match state {
                Ok(State::More) => {}
                Ok(State::End) => self.codec = None,
                Err(error) => {
                    let error = self.explain(error);
                    self.keep(Err(error));
                }
            }
            if count > 0 {
                return Ok(count);
            }
        }
    }

    /// Starts the next stream, if there is one.
    ///
    /// After the last one zeros say nothing: tapes and `dd` leave them. gzip(1), bzip2(1) and lz4(1) warn about anything
    /// else, lzip(1) ignores it unless it looks like a damaged member, and xz(1) and zstd(1) fail. So do we: it may be a
    /// stream whose beginning was damaged.
    fn next(&mut self, warnings: &mut Vec<String>) -> io::Result<()> {
        if self.format == Format::Xz {
            // Stream padding. It should be a multiple of four bytes; one that is not comes from a tape.
            only_zeros(&mut self.input)?;
        } else if matches!(self.format, Format::Zstd | Format::Lz4) {
            skip_frames(&mut self.input).map_err(|failure| self.explain(failure))?;
        }
        let next = self.input.peek(NEXT_BYTES)?;
        let found = detect(next);
        if found == self.format {
            self.codec = Some(codec::start(self.format, self.workers)?);
            return Ok(());
        }
        let damaged_lzip = next
            .iter()
            .zip(b"LZIP")
            .filter(|(byte, magic)| byte == magic)
            .count()
            >= 2;
        self.end = End::Good;
        if only_zeros(&mut self.input)? {
            return Ok(());
        }
        let name = self.format.name();
        match self.format {
            Format::Xz | Format::Zstd | Format::Lzma => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{name}: unknown data after the end of the compressed data"),
            )),
            Format::Lzip if damaged_lzip => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "lzip: corrupt header in multimember file",
            )),
            Format::Lzip => Ok(()),
            _ => {
                warnings.push(format!(
                    "{name}: decompression OK, trailing garbage ignored"
                ));
                Ok(())
            }
        }
    }

    fn keep(&mut self, result: io::Result<()>) {
        let Err(error) = result else {
            return;
        };
        self.codec = None;
        self.end = match error.raw_os_error() {
            Some(number) => End::System(number),
            None => End::Failed(error.kind(), error.to_string()),
        };
    }

    /// What the library says, with the format's name; what the input says stays as it is.
    fn explain(&self, error: Failure) -> io::Error {
        let name = self.format.name();
        match error {
            Failure::Input(error) => error,
            Failure::Truncated => io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("{name}: unexpected end of compressed data"),
            ),
            Failure::Damaged(what) => {
                io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {what}"))
            }
            Failure::Memory(what) => {
                io::Error::new(io::ErrorKind::OutOfMemory, format!("{name}: {what}"))
            }
        }
    }
}

/// Whether it is the magic number of a skippable frame (RFC 8878, section 3.1.2; the LZ4 frame format has the same).
pub(super) fn is_skippable(first: &[u8]) -> bool {
    matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn skip_frames(input: &mut Input) -> Result<(), Failure> {
    while is_skippable(input.peek(4).map_err(Failure::Input)?) {
        let mut head = [0; 8];
        codec::exact(input, &mut head)?;
        let [.., a, b, c, d] = head;
        let length = u32::from_le_bytes([a, b, c, d]).into();
        if input.skip(length).map_err(Failure::Input)? < length {
            return Err(Failure::Truncated);
        }
    }
    Ok(())
}

/// Takes zeros, up to the first byte that is none. Says whether there is no such byte.
fn only_zeros(input: &mut Input) -> io::Result<bool> {
    loop {
        let there = input.fill_buf()?;
        if there.is_empty() {
            return Ok(true);
        }
        let zeros = there.iter().take_while(|byte| **byte == 0).count();
        let other = zeros < there.len();
        input.consume(zeros);
        if other {
            return Ok(false);
        }
    }
}
