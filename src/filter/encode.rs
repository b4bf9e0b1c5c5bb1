//! Compression: plain bytes in, compressed ones out.
//!
//! zstd and xz have threads of their own; gzip and bzip2 are compressed in blocks (`blocks`); lz4 is faster than
//! anything that feeds it. lzip and compress(1) are left to their programs, as is what the user names.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use liblzma::stream as lzma;

use super::blocks::{Blocks, Kind};
use super::{Format, program};

/// How to compress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packing {
    /// In this format, at this level of it or at its program's default one.
    Format(Format, Option<u32>),
    /// By this program, which reads its standard input and writes its standard output.
    Program(Vec<u8>),
}

type Output = Box<dyn Write + Send>;

/// Compresses what is written to it.
pub struct Encoder(Inner);

enum Inner {
    Plain(Output),
    Zstd(Box<zstd::stream::write::Encoder<'static, Output>>),
    Xz(Box<liblzma::write::XzEncoder<Output>>),
    Lz4(Box<lz4_flex::frame::FrameEncoder<Output>>),
    Blocks(Box<Blocks>),
    Program(Program),
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

/// Begins to compress into `output` on so many threads.
///
/// # Errors
/// The program cannot be started, there is not enough memory, or the output fails.
pub fn encoder(output: Output, how: &Packing, threads: usize) -> io::Result<Encoder> {
    let threads = threads.max(1);
    Ok(Encoder(match how {
        Packing::Program(command) => Inner::Program(Program::start(&words(command)?, output)?),
        Packing::Format(format, level) => {
            let level = *level;
            match format {
                Format::Plain => Inner::Plain(output),
                Format::Gzip => {
                    let level = level.unwrap_or(6).min(9);
                    Inner::Blocks(Box::new(Blocks::new(output, Kind::Gzip, level, threads)?))
                }
                Format::Bzip2 => {
                    let level = level.unwrap_or(9).clamp(1, 9);
                    Inner::Blocks(Box::new(Blocks::new(output, Kind::Bzip2, level, threads)?))
                }
                Format::Zstd => {
                    let level = i32::try_from(level.unwrap_or(0)).unwrap_or(i32::MAX);
                    let mut encoder = zstd::stream::write::Encoder::new(output, level)?;
                    encoder.include_checksum(true)?;
                    if threads > 1 {
                        encoder.multithread(u32::try_from(threads).unwrap_or(1))?;
                    }
                    Inner::Zstd(Box::new(encoder))
                }
                Format::Xz | Format::Lzma => {
                    let preset = level.unwrap_or(6).min(9);
                    let stream = match format {
                        Format::Xz if threads > 1 => lzma::MtStreamBuilder::new()
                            .threads(u32::try_from(threads).unwrap_or(1))
                            .preset(preset)
                            .check(lzma::Check::Crc64)
                            .encoder(),
                        Format::Xz => lzma::Stream::new_easy_encoder(preset, lzma::Check::Crc64),
                        _ => lzma::LzmaOptions::new_preset(preset)
                            .and_then(|options| lzma::Stream::new_lzma_encoder(&options)),
                    };
                    let stream = stream.map_err(io::Error::from)?;
                    Inner::Xz(Box::new(liblzma::write::XzEncoder::new_stream(
                        output, stream,
                    )))
                }
                Format::Lz4 => {
                    let info = lz4_flex::frame::FrameInfo::new()
                        .block_size(lz4_flex::frame::BlockSize::Max4MB)
                        .content_checksum(true);
                    let encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, output);
                    Inner::Lz4(Box::new(encoder))
                }
                Format::Lzip | Format::Compress => {
                    let mut words = vec![format.name().as_bytes().to_vec()];
                    words.extend(level.map(|level| format!("-{level}").into_bytes()));
                    Inner::Program(Program::start(&words, output)?)
                }
            }
        }
    }))
}

fn words(command: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut words = program::words(command)?;
    // That is for decompressing.
    words.pop();
    Ok(words)
}

impl Encoder {
    /// Writes all that is left; gives the output back where there is no program between.
    ///
    /// # Errors
    /// The output or the program failed.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Inner::Plain(mut output) => output.flush(),
            Inner::Zstd(encoder) => encoder.finish()?.flush(),
            Inner::Xz(encoder) => encoder.finish()?.flush(),
            Inner::Lz4(encoder) => encoder.finish().map_err(io::Error::other)?.flush(),
            Inner::Blocks(blocks) => blocks.finish()?.flush(),
            Inner::Program(program) => program.finish(),
        }
    }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Plain(output) => output.write(bytes),
            Inner::Zstd(encoder) => encoder.write(bytes),
            Inner::Xz(encoder) => encoder.write(bytes),
            Inner::Lz4(encoder) => encoder.write(bytes),
            Inner::Blocks(blocks) => blocks.write(bytes),
            Inner::Program(program) => program.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A program that compresses. A thread of ours takes its output to where it belongs.
struct Program {
    name: String,
    process: Child,
    /// A socket: writing to a pipe whose reader is gone would end us by a signal.
    input: Option<UnixStream>,
    carrier: Option<JoinHandle<io::Result<()>>>,
}

impl Program {
    fn start(words: &[Vec<u8>], mut output: Output) -> io::Result<Self> {
        let name = words[0].escape_ascii().to_string();
        let (input, theirs) = UnixStream::pair()?;
        let mut command = Command::new(OsStr::from_bytes(&words[0]));
        command
            .args(words[1..].iter().map(|word| OsStr::from_bytes(word)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped());
        let spawned = command.spawn();
        // It holds the program's side of the socket, which must close when the program ends.
        drop(command);
        let mut process = spawned.map_err(|error| {
            let reason = error.to_string();
            let reason = reason.split(" (os error").next().unwrap_or_default();
            io::Error::new(error.kind(), format!("{name}: Cannot exec: {reason}"))
        })?;
        let from = process.stdout.take();
        let carrier = thread::Builder::new()
            .name("durastar-carry".into())
            .spawn(move || {
                let Some(mut from) = from else {
                    return Ok(());
                };
                let mut buffer = vec![0; 128 << 10];
                loop {
                    match from.read(&mut buffer) {
                        Ok(0) => return output.flush(),
                        Ok(n) => output.write_all(&buffer[..n])?,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
            });
        match carrier {
            Ok(carrier) => Ok(Self {
                name,
                process,
                input: Some(input),
                carrier: Some(carrier),
            }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn finish(mut self) -> io::Result<()> {
        // Closing it tells the program that this is all.
        drop(self.input.take());
        let carried = match self.carrier.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_)) => Err(io::Error::other("the thread that carries panicked")),
        };
        let status = self.process.wait()?;
        carried?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("{}: {status}", self.name)))
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.carrier.is_some() {
            // The run ended early: what it has written is of no use.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
