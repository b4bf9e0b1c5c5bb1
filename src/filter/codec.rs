//! One compressed stream: what each library does, behind one trait.

use std::io::{self, BufRead};

use flate2::{FlushDecompress, Status};
use liblzma::stream as lzma;
use zstd::stream::raw::{DParameter, InBuffer, Operation, OutBuffer};

use super::bzip2::Bzip2;
use super::input::Input;
use super::limits;
use super::lz4::Lz4;
use super::lzw::Lzw;
use super::{Format, Workers};

/// Whether the stream goes on.
pub(super) enum State {
    More,
    End,
}

/// Why it does not.
pub(super) enum Failure {
    /// The input could not be read.
    Input(io::Error),
    /// The input ended first.
    Truncated,
    /// What is wrong with the data.
    Damaged(String),
    /// It would need more memory than there is or than is allowed.
    Memory(String),
}

/// The decoder of one stream.
pub(super) trait Codec: Send {
    /// Decompresses into `output`, which is not empty. Gives how many bytes that made, and what comes after them: bytes
    /// may have been made before an error. Takes nothing that is behind the stream's end.
    fn decode(&mut self, input: &mut Input, output: &mut [u8]) -> (usize, Result<State, Failure>);
}

/// A decoder for a new stream.
///
/// # Errors
/// There is not enough memory for it.
pub(super) fn start(format: Format, workers: Workers) -> io::Result<Box<dyn Codec>> {
    let lzma = |stream: Result<lzma::Stream, lzma::Error>| -> io::Result<Box<dyn Codec>> {
        let stream = stream.map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Box::new(Sliced::new(stream)))
    };
    Ok(match format {
        Format::Gzip => {
            // 15: the largest window, 32 KiB, which all of deflate may use.
            let decoder = flate2::Decompress::new_gzip(15);
            Box::new(Sliced::new(decoder))
        }
        Format::Bzip2 => {
            let threads = usize::try_from(workers.threads).unwrap_or(usize::MAX);
            Box::new(Bzip2::new(threads))
        }
        Format::Xz if workers.threads > 1 => lzma(
            lzma::MtStreamBuilder::new()
                .threads(workers.threads)
                .memlimit_threading(workers.memory_bytes)
                .memlimit_stop(limits::LZMA_BYTES)
                .decoder(),
        )?,
        Format::Xz => lzma(lzma::Stream::new_stream_decoder(limits::LZMA_BYTES, 0))?,
        Format::Lzma => lzma(lzma::Stream::new_lzma_decoder(limits::LZMA_BYTES))?,
        Format::Lzip => lzma(lzma::Stream::new_lzip_decoder(limits::LZMA_BYTES, 0))?,
        Format::Zstd => {
            let mut decoder = zstd::stream::raw::Decoder::new()?;
            decoder.set_parameter(DParameter::WindowLogMax(limits::ZSTD_WINDOW_LOG))?;
            let decoder = Zstd {
                decoder,
                wanted: ZSTD_FIRST,
                full: false,
            };
            Box::new(Sliced::new(decoder))
        }
        Format::Lz4 => Box::new(Lz4::new()),
        Format::Compress => Box::new(Lzw::new()),
        Format::Plain => unreachable!("plain data are not decoded"),
    })
}

/// A library that takes a slice and gives a slice.
trait Slices: Send {
    /// Returns how much was taken and how much was made.
    fn step(
        &mut self,
        input: &[u8],
        last: bool,
        output: &mut [u8],
    ) -> (usize, usize, Result<State, Failure>);
}

struct Sliced<D> {
    decoder: D,
    /// The last output was filled to its end, so the decoder may hold more that needs no more input.
    full: bool,
    /// The input has ended. liblzma, once told so, does not want to hear otherwise.
    last: bool,
    /// Steps in a row that changed nothing.
    idle: u8,
}

/// Libraries may have an idle step or two between others; with more it would go on for ever.
const IDLE_STEPS: u8 = 8;

impl<D> Sliced<D> {
    fn new(decoder: D) -> Self {
        Self {
            decoder,
            full: false,
            last: false,
            idle: 0,
        }
    }
}

impl<D: Slices> Codec for Sliced<D> {
    fn decode(&mut self, input: &mut Input, output: &mut [u8]) -> (usize, Result<State, Failure>) {
        loop {
            // A pipe may have nothing for a long time: what is ready must not wait for it.
            if input.buffered().is_empty() && !self.full {
                match input.fill_buf() {
                    Ok(from) => self.last |= from.is_empty(),
                    Err(error) => return (0, Err(Failure::Input(error))),
                }
            }
            let (taken, made, result) = self.decoder.step(input.buffered(), self.last, output);
            input.consume(taken);
            self.full = made == output.len();
            self.idle = if taken == 0 && made == 0 {
                self.idle + 1
            } else {
                0
            };
            match result {
                Ok(State::More) if self.idle > 0 && self.last => {
                    return (0, Err(Failure::Truncated));
                }
                Ok(State::More) if self.idle > IDLE_STEPS => {
                    return (
                        0,
                        Err(Failure::Damaged("compressed data is corrupt".into())),
                    );
                }
                Ok(State::More) if made == 0 => {}
                result => return (made, result),
            }
        }
    }
}

/// The difference of a counter, which is about one buffer.
fn since(before: u64, after: u64) -> usize {
    usize::try_from(after - before).expect("no more than the buffers hold")
}

impl Slices for flate2::Decompress {
    fn step(
        &mut self,
        input: &[u8],
        _last: bool,
        output: &mut [u8],
    ) -> (usize, usize, Result<State, Failure>) {
        let before = (self.total_in(), self.total_out());
        let result = self.decompress(input, output, FlushDecompress::None);
        let taken = since(before.0, self.total_in());
        let made = since(before.1, self.total_out());
        let result = match result {
            Ok(Status::StreamEnd) => Ok(State::End),
            Ok(Status::Ok | Status::BufError) => Ok(State::More),
            Err(error) => Err(Failure::Damaged(match error.message() {
                Some("incorrect data check") => "checksum error".into(),
                Some("incorrect length check") => "length error".into(),
                Some(what) => format!("invalid compressed data: {what}"),
                None => "invalid compressed data".into(),
            })),
        };
        (taken, made, result)
    }
}

impl Slices for lzma::Stream {
    fn step(
        &mut self,
        input: &[u8],
        last: bool,
        output: &mut [u8],
    ) -> (usize, usize, Result<State, Failure>) {
        let before = (self.total_in(), self.total_out());
        let action = if last {
            lzma::Action::Finish
        } else {
            lzma::Action::Run
        };
        let result = self.process(input, output, action);
        let taken = since(before.0, self.total_in());
        let made = since(before.1, self.total_out());
        let result = match result {
            Ok(lzma::Status::StreamEnd) => Ok(State::End),
            Ok(_) => Ok(State::More),
            Err(lzma::Error::Format) => Err(Failure::Damaged("file format not recognized".into())),
            Err(lzma::Error::Options) => Err(Failure::Damaged("unsupported options".into())),
            Err(lzma::Error::Mem) => Err(Failure::Memory("not enough memory".into())),
            Err(lzma::Error::MemLimit) => Err(Failure::Memory(format!(
                "more than {} MiB of memory would be needed",
                limits::LZMA_BYTES >> 20
            ))),
            Err(_) => Err(Failure::Damaged("compressed data is corrupt".into())),
        };
        (taken, made, result)
    }
}

/// What zstd wants to see first: the shortest frame header (`ZSTD_FRAMEHEADERSIZE_MIN`).
const ZSTD_FIRST: usize = 5;

/// zstd is given what it asks for, block by block: in a call that fails, it does not tell what it made before.
struct Zstd {
    decoder: zstd::stream::raw::Decoder<'static>,
    wanted: usize,
    /// The last output was filled, so there may be more of the block, which comes first.
    full: bool,
}

impl Slices for Zstd {
    fn step(
        &mut self,
        input: &[u8],
        _last: bool,
        output: &mut [u8],
    ) -> (usize, usize, Result<State, Failure>) {
        let length = if self.full {
            0
        } else {
            input.len().min(self.wanted)
        };
        let input = &input[..length];
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(output);
        let result = self.decoder.run(&mut from, &mut to);
        let (taken, made) = (from.pos(), to.pos());
        self.full = made == output.len();
        let result = match result {
            Ok(0) => Ok(State::End),
            Ok(wanted) => {
                self.wanted = wanted;
                Ok(State::More)
            }
            Err(error) => {
                let what = error.to_string().to_ascii_lowercase();
                Err(Failure::Damaged(what))
            }
        };
        (taken, made, result)
    }
}

/// Fills `into`, or fails.
pub(super) fn exact(input: &mut Input, into: &mut [u8]) -> Result<(), Failure> {
    let mut done = 0;
    while done < into.len() {
        // Through the buffer: what is read here is small, mostly.
        let from = input.fill_buf().map_err(Failure::Input)?;
        if from.is_empty() {
            return Err(Failure::Truncated);
        }
        let count = from.len().min(into.len() - done);
        into[done..done + count].copy_from_slice(&from[..count]);
        input.consume(count);
        done += count;
    }
    Ok(())
}
