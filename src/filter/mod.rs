//! Decompression: compressed bytes in, plain bytes out, recognised by content.
//!
//! [`decoder`] looks at the first bytes and gives a [`Read`] of what they hold. Streams one after the other are one
//! archive, in every format. What a well-kept crate decodes is decoded here: gzip (flate2 on zlib-rs), bzip2, xz, lzma and
//! lzip (liblzma), zstd, the blocks of lz4; compress (`.Z`) is small enough to be done by hand. What the user names is
//! left to that program. Whoever reads cannot tell which it is.
//!
//! Measured on two cores (1.36 GB of kernel sources as .tar.xz, 400 MB of them as .tar.zst): liblzma 5.6 s where the pure
//! Rust decoder (lzma-rust2 0.25) needs 9.0 s, zstd 0.24 s where the pure Rust one (ruzstd 0.9) needs 0.71 s. Hence C for
//! these, which a C compiler builds along; the rest is Rust.
//!
//! Checksums are verified, and all that comes before an error is delivered. Nothing is allocated by what a header claims
//! beyond the limits in `limits.rs`.

mod bzip2;
mod codec;
mod detect;
mod input;
mod limits;
mod lz4;
mod lzw;
mod program;
mod streams;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Read};

pub use detect::{DETECT_BYTES, detect};
use input::Input;
use program::Child;
use streams::Streams;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Not compressed, as far as anyone can tell.
    Plain,
    /// gzip, RFC 1952.
    Gzip,
    /// bzip2.
    Bzip2,
    /// The .xz format.
    Xz,
    /// The older .lzma format.
    Lzma,
    /// Zstandard, RFC 8878.
    Zstd,
    /// The LZ4 frame format, and the legacy one.
    Lz4,
    /// lzip.
    Lzip,
    /// compress(1).
    Compress,
}

impl Format {
    /// Its name, which is that of its program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lzma => "lzma",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Lzip => "lzip",
            Self::Compress => "compress",
        }
    }
}

/// How the format is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By content.
    Detect,
    /// It is this one; anything else is an error.
    Force(Format),
    /// This command with `-d` decompresses it. Words are separated by blanks; quotes and backslashes keep them.
    Program(Vec<u8>),
}

/// Plain bytes from compressed ones.
pub struct Decoder {
    format: Format,
    source: Source,
    warnings: Vec<String>,
}

enum Source {
    Plain(Input),
    Streams(Streams),
    Program(Child),
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// What decompression may use besides the thread that reads.
///
/// bzip2 uses the threads for any file, see `bzip2`; each holds a block, some 6 MiB with the decoder, and at least one runs
/// beside the thread that reads.
///
/// xz uses them where the file has blocks that say how long they are: `xz -T` writes such. Each thread holds a block whole, compressed and not, and a dictionary; as few run as the memory is enough for, and with one it is as
/// without. Measured with liblzma alone on two idle cores and the kernel sources as Debian has them (55 blocks of 24 MiB,
/// dictionaries of 8 MiB): 80 MiB are enough for two threads, 3.1 s instead of 5.6; with 64 MiB there is one thread, which
/// uses the memory and gains nothing. Where the cores have other work, two threads gain nothing either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// How many threads.
    pub threads: u32,
    /// How much memory those of xz may take together.
    pub memory_bytes: u64,
}

impl Workers {
    /// As few as can be.
    pub const NONE: Self = Self {
        threads: 1,
        memory_bytes: 0,
    };
}

/// Begins to decompress `input` with as few threads as can be, reading no more of it than is needed to tell the format.
///
/// # Errors
/// The input cannot be read, it is not in the format that was asked for, or the program cannot be started.
pub fn decoder(input: Box<dyn Read + Send>, choice: &Choice) -> io::Result<Decoder> {
    decoder_with(input, choice, Workers::NONE)
}

/// The same with more threads.
///
/// # Errors
/// Those of [`decoder`].
pub fn decoder_with(
    input: Box<dyn Read + Send>,
    choice: &Choice,
    workers: Workers,
) -> io::Result<Decoder> {
    let mut input = Input::new(input);
    if let Choice::Program(command) = choice {
        let child = Child::start(&program::words(command)?, input)?;
        return Ok(Decoder::new(Format::Plain, Source::Program(child)));
    }
    let first = input.peek(DETECT_BYTES)?;
    let nothing = first.is_empty();
    let found = detect(first);
    let skippable = streams::is_skippable(first) && found != Format::Plain;
    let asked = match *choice {
        Choice::Force(format) => Some(format),
        _ => None,
    };
    if asked.unwrap_or(found) == Format::Plain {
        return Ok(Decoder::new(Format::Plain, Source::Plain(input)));
    }
    let streams = if skippable {
        let streams = Streams::after_skippable(input)?;
        if let Some(format) = asked {
            wanted(format, streams.format(), nothing)?;
        }
        streams
    } else {
        let format = match asked {
            Some(format) => wanted(format, found, nothing)?,
            None => found,
        };
        Streams::new(format, workers, input)?
    };
    Ok(Decoder::new(streams.format(), Source::Streams(streams)))
}

/// What to decode as, where the user asked for `format`.
fn wanted(format: Format, found: Format, nothing: bool) -> io::Result<Format> {
    match (format, found) {
        // Nothing is no stream in any format.
        _ if nothing => {
            let what = format!("{}: unexpected end of compressed data", format.name());
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, what))
        }
        // gzip(1) decompresses what compress(1) made, xz(1) what lzma(1) and lzip(1) made.
        (Format::Gzip, Format::Compress) | (Format::Xz, Format::Lzma | Format::Lzip) => Ok(found),
        // Any properties will do, as nothing else tells this format.
        (Format::Lzma, Format::Plain) => Ok(format),
        _ if format == found => Ok(format),
        _ => {
            let what = format!("{0}: not in {0} format", format.name());
            Err(io::Error::new(io::ErrorKind::InvalidData, what))
        }
    }
}

impl Decoder {
    fn new(format: Format, source: Source) -> Self {
        Self {
            format,
            source,
            warnings: Vec::new(),
        }
    }

    /// What the data turned out to be; [`Format::Plain`] with a program of the user's.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// What is worth saying so far, though nothing is lost.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// To be called when all that is wanted was read; gives the warnings.
    ///
    /// What follows the end of an archive is read too, so that its checksum counts, but no further than
    /// `limits::DRAIN_BYTES`. A program is given the time to end by itself, however much it still has to write, and its
    /// exit status counts.
    ///
    /// # Errors
    /// The rest is damaged or cannot be read, or the program failed.
    pub fn finish(mut self) -> io::Result<Vec<String>> {
        match self.source {
            Source::Plain(_) => {}
            Source::Streams(mut streams) => {
                let mut buffer = vec![0; 64 << 10];
                let mut left = limits::DRAIN_BYTES;
                while left > 0 {
                    match streams.read(&mut buffer, &mut self.warnings)? {
                        0 => break,
                        count => left = left.saturating_sub(count),
                    }
                }
            }
            Source::Program(child) => self.warnings.extend(child.finish()?),
        }
        Ok(self.warnings)
    }
}

impl Read for Decoder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Source::Plain(input) => input.read(buffer),
            Source::Streams(streams) => streams.read(buffer, &mut self.warnings),
            Source::Program(child) => child.read(buffer),
        }
    }
}
