//! Compressed streams, one after the other.

use std::io::{self, BufRead, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::Stream;
use lz4_flex::frame::FrameDecoder;

use super::input::Input;
use super::{Format, LZMA_MEMORY, detect};

/// The decoder of the stream that is being read.
enum Codec {
    Gzip(GzDecoder<Input>),
    Bzip2(BzDecoder<Input>),
    /// xz, lzma and lzip.
    Lzma(XzDecoder<Input>),
    Zstd(Box<zstd::Decoder<'static, Input>>),
    Lz4(Box<FrameDecoder<Input>>),
}

/// All streams of an input.
pub(super) struct Streams {
    format: Format,
    /// `None` after the end and after an error.
    codec: Option<Codec>,
}

impl Streams {
    pub(super) fn new(format: Format, input: Input) -> io::Result<Self> {
        let mut streams = Self {
            format,
            codec: None,
        };
        streams.begin(input, true, &mut Vec::new())?;
        Ok(streams)
    }

    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        warnings: &mut Vec<String>,
    ) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(codec) = &mut self.codec {
            let result = match codec {
                Codec::Gzip(decoder) => decoder.read(buffer),
                Codec::Bzip2(decoder) => decoder.read(buffer),
                Codec::Lzma(decoder) => decoder.read(buffer),
                Codec::Zstd(decoder) => decoder.read(buffer),
                Codec::Lz4(decoder) => decoder.read(buffer),
            };
            match result {
                Ok(0) => {}
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.codec = None;
                    return Err(self.explain(error));
                }
            }
            let input = match self.codec.take() {
                Some(Codec::Gzip(decoder)) => decoder.into_inner(),
                Some(Codec::Bzip2(decoder)) => decoder.into_inner(),
                Some(Codec::Zstd(decoder)) => decoder.finish(),
                Some(Codec::Lz4(decoder)) => decoder.into_inner(),
                Some(Codec::Lzma(decoder)) => decoder.into_inner(),
                None => break,
            };
            self.begin(input, false, warnings)?;
        }
        Ok(0)
    }

    /// Starts the next stream, if there is one. After the last, zeros say nothing and anything else is worth a warning.
    fn begin(
        &mut self,
        mut input: Input,
        first: bool,
        warnings: &mut Vec<String>,
    ) -> io::Result<()> {
        if matches!(self.format, Format::Zstd | Format::Lz4) {
            skip_frames(&mut input)?;
        }
        if self.format == Format::Xz && !first {
            skip_padding(&mut input)?;
        }
        let next = input.peek(16)?;
        if !first && (detect(next) != self.format || matches!(self.format, Format::Lzma)) {
            let rest = only_zeros(&mut input)?;
            if !rest {
                warnings.push(format!("{}: trailing garbage ignored", self.format.name()));
            }
            return Ok(());
        }
        let failed = |error: liblzma::stream::Error| self.explain(error.into());
        self.codec = Some(match self.format {
            Format::Gzip => Codec::Gzip(GzDecoder::new(input)),
            Format::Bzip2 => Codec::Bzip2(BzDecoder::new(input)),
            Format::Xz => {
                let stream = Stream::new_stream_decoder(LZMA_MEMORY, 0).map_err(failed)?;
                Codec::Lzma(XzDecoder::new_stream(input, stream))
            }
            Format::Lzma => {
                let stream = Stream::new_lzma_decoder(LZMA_MEMORY).map_err(failed)?;
                Codec::Lzma(XzDecoder::new_stream(input, stream))
            }
            Format::Lzip => {
                let stream = Stream::new_lzip_decoder(LZMA_MEMORY, 0).map_err(failed)?;
                Codec::Lzma(XzDecoder::new_stream(input, stream))
            }
            Format::Zstd => {
                Codec::Zstd(Box::new(zstd::Decoder::with_buffer(input)?.single_frame()))
            }
            Format::Lz4 => Codec::Lz4(Box::new(FrameDecoder::new(input))),
            Format::Plain | Format::Compress => return Ok(()),
        });
        Ok(())
    }

    /// What the library says, with the format's name; what the system says stays as it is.
    fn explain(&self, error: io::Error) -> io::Error {
        if error.raw_os_error().is_some() {
            return error;
        }
        let name = self.format.name();
        match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("{name}: unexpected end of compressed data"),
            ),
            _ => io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{name}: compressed data is damaged: {error}"),
            ),
        }
    }
}

/// Passes over skippable frames (RFC 8878, section 3.1.2; the LZ4 frame format has the same).
fn skip_frames(input: &mut Input) -> io::Result<()> {
    while let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d] = *input.peek(8)? {
        let mut left = 8 + u64::from(u32::from_le_bytes([a, b, c, d]));
        while left > 0 {
            let there = input.fill_buf()?.len();
            if there == 0 {
                return Ok(());
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(there);
            input.consume(step);
            left -= step as u64;
        }
    }
    Ok(())
}

/// Passes over the zeros that may stand between xz streams, four at a time.
fn skip_padding(input: &mut Input) -> io::Result<()> {
    while input.peek(4)? == [0; 4] {
        input.consume(4);
    }
    Ok(())
}

/// Whether nothing but zeros follows. Reads to the end, or to the first byte that is none.
fn only_zeros(input: &mut Input) -> io::Result<bool> {
    loop {
        let there = input.fill_buf()?;
        if there.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        match there.len() {
            0 => return Ok(true),
            count => input.consume(count),
        }
    }
}
