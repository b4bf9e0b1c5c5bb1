//! Decompression by another program.
//!
//! The program reads the archive from a socket that a thread of ours feeds: a write to a socket whose other side is gone
//! is an error, where a write to a pipe would be a signal that ends the whole process. Whoever stops early closes the
//! program's output and waits for its end, so no child is left behind.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};

use super::input::Input;

/// gzip(1): the exit status that means a warning.
const WARNED: i32 = 2;

/// A program that decompresses.
pub(super) struct Child {
    name: String,
    process: process::Child,
    output: Option<ChildStdout>,
    /// Gives the error that ended the input, if one did.
    feeder: Option<JoinHandle<Option<io::Error>>>,
    /// The program's output was read to its end, and its status is known.
    status: Option<ExitStatus>,
}

/// Splits a command into words, as a shell would without expanding anything, and adds `-d`.
///
/// # Errors
/// A quote is not closed, or there is no word.
pub(super) fn words(command: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = command.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(b'\''), byte) => word.get_or_insert_default().push(byte),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (None, b' ' | b'\t' | b'\n') => words.extend(word.take()),
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    if quote.is_some() || words.is_empty() {
        let what = format!("cannot understand the command '{}'", command.escape_ascii());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    words.push(b"-d".to_vec());
    Ok(words)
}

impl Child {
    /// Starts the program and the thread that feeds it.
    ///
    /// # Errors
    /// The program cannot be started: the message names it.
    pub(super) fn start(words: &[Vec<u8>], input: Input) -> io::Result<Self> {
        let name = words[0].escape_ascii().to_string();
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(OsStr::from_bytes(&words[0]));
        command.args(words[1..].iter().map(|word| OsStr::from_bytes(word)));
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped());
        let spawned = command.spawn();
        // It holds the program's side of the socket, which must close when the program ends.
        drop(command);
        let mut process = spawned.map_err(|error| {
            let reason = error.to_string();
            let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
            io::Error::new(error.kind(), format!("{name}: Cannot exec: {reason}"))
        })?;
        let output = process.stdout.take();
        let feed = move || feed(input, &ours);
        let feeder = thread::Builder::new().name("durastar-feed".into()).spawn(feed);
        match feeder {
            Ok(feeder) => Ok(Self { name, process, output, feeder: Some(feeder), status: None }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// Lets the program write what it still has, and looks at how it ended. Gives its warning.
    ///
    /// # Errors
    /// It failed, or the input could not be read to its end.
    pub(super) fn finish(mut self) -> io::Result<Option<String>> {
        if self.status.is_none() {
            if let Some(output) = &mut self.output {
                io::copy(output, &mut io::sink())?;
            }
            self.end()?;
        }
        Ok((self.status.and_then(|status| status.code()) == Some(WARNED))
            .then(|| format!("{}: exit status {WARNED} (a warning)", self.name)))
    }

    /// The program has closed its output: how did it end?
    fn end(&mut self) -> io::Result<()> {
        self.output = None;
        let status = self.process.wait()?;
        self.status = Some(status);
        let fed = self.feeder.take().and_then(|feeder| feeder.join().ok()).flatten();
        let what = match (status.code(), status.signal()) {
            (Some(0 | WARNED), _) => return fed.map_or(Ok(()), Err),
            (Some(code), _) => format!("{}: exit status {code}", self.name),
            (None, Some(signal)) => format!("{}: ended by signal {signal}", self.name),
            (None, None) => format!("{}: failed", self.name),
        };
        Err(io::Error::other(what))
    }
}

impl Read for Child {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(output) = &mut self.output else {
            return Ok(0);
        };
        let count = output.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            // A failure has to come before the end, or half an archive would look whole.
            self.end()?;
        }
        Ok(count)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.status.is_some() {
            return;
        }
        // Nobody wants the rest: the program ends at its next write, or at once.
        self.output = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
        if let Some(feeder) = self.feeder.take().filter(JoinHandle::is_finished) {
            let _ = feeder.join();
        }
        // A feeder that still waits for input ends with its next write, which fails.
    }
}

/// Gives the program all of the input. Gives the error that ended it, unless it is the program that has ended.
fn feed(mut input: Input, to: &UnixStream) -> Option<io::Error> {
    let mut buffer = vec![0; 64 << 10];
    let error = loop {
        match input.read(&mut buffer) {
            Ok(0) => break None,
            Ok(count) => {
                let mut to = to;
                if to.write_all(&buffer[..count]).is_err() {
                    return None;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Some(error),
        }
    };
    let _ = to.shutdown(Shutdown::Write);
    error
}
