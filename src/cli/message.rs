//! The one door to standard output and standard error.
//!
//! Lines come out whole, also when a signal's thread speaks in between. What was said on standard output is flushed
//! before anything is said on standard error, so that a terminal or a log that gets both shows them in order. A write to
//! standard output that fails is remembered, ends the run and is reported once; a closed pipe never gets here, because
//! SIGPIPE has its default.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durastar::sys;

use super::dialect::voice::Line;

/// Standard output and standard error.
pub(crate) struct Message {
    program: Vec<u8>,
    streams: Mutex<Streams>,
    /// Whether progress may be shown.
    pub(crate) terminal: bool,
}

struct Streams {
    out: BufWriter<Box<dyn Write + Send>>,
    err: Box<dyn Write + Send>,
    /// Somebody may be reading along.
    flush_lines: bool,
    failure: Option<io::Error>,
    /// A write has failed: what is still in the buffer is not tried again, nor is anything else.
    broken: bool,
    progress_shown: bool,
}

/// Large enough that listing many members is not a matter of system calls.
const BUFFER_BYTES: usize = 64 << 10;

impl Message {
    /// The process's streams.
    pub(crate) fn standard(program: &[u8]) -> Self {
        let out: Box<dyn Write + Send> = if sys::standard::was_closed(1) {
            Box::new(Closed)
        } else {
            Self::standard_output()
        };
        let mut message = Self::with(program, out, Box::new(io::stderr()));
        message
            .streams
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .flush_lines = io::stdout().is_terminal();
        message.terminal = io::stderr().is_terminal();
        message
    }

    /// Not `io::stdout()`, which flushes at each newline.
    fn standard_output() -> Box<dyn Write + Send> {
        match io::stdout().as_fd().try_clone_to_owned() {
            Ok(descriptor) => Box::new(File::from(descriptor)),
            Err(_) => Box::new(io::stdout()),
        }
    }

    /// Any streams.
    pub(crate) fn with(
        program: &[u8],
        out: Box<dyn Write + Send>,
        err: Box<dyn Write + Send>,
    ) -> Self {
        Self {
            program: program.to_vec(),
            streams: Mutex::new(Streams {
                out: BufWriter::with_capacity(BUFFER_BYTES, out),
                err,
                flush_lines: false,
                failure: None,
                broken: false,
                progress_shown: false,
            }),
            terminal: false,
        }
    }

    /// The name that messages begin with.
    pub(crate) fn program(&self) -> &[u8] {
        &self.program
    }

    /// Lines for standard output, each with its newline.
    pub(crate) fn out(&self, lines: &[u8]) {
        let mut streams = self.streams();
        streams.hide_progress();
        if streams.broken {
            return;
        }
        let result = streams.out.write_all(lines);
        streams.note(result);
        if streams.flush_lines {
            streams.flush();
        }
    }

    /// Lines for standard error.
    pub(crate) fn err(&self, lines: &[Line]) {
        if lines.is_empty() {
            return;
        }
        let mut text = Vec::new();
        for line in lines {
            match line {
                Line::Said(line) => {
                    text.extend_from_slice(&self.program);
                    text.extend_from_slice(b": ");
                    text.extend_from_slice(line);
                }
                Line::Plain(line) => text.extend_from_slice(line),
            }
            text.push(b'\n');
        }
        self.err_raw(&text);
    }

    /// Whole lines for standard error, without the program's name.
    pub(crate) fn err_raw(&self, text: &[u8]) {
        let mut streams = self.streams();
        streams.hide_progress();
        streams.flush();
        // There is nobody left to tell when this fails.
        let _ = streams.err.write_all(text);
    }

    /// A line on the terminal that the next one replaces.
    pub(crate) fn progress(&self, text: &str) {
        let mut streams = self.streams();
        streams.hide_progress();
        let _ = streams.err.write_all(text.as_bytes());
        let _ = streams.err.flush();
        streams.progress_shown = true;
    }

    /// Whether a write to standard output has failed.
    pub(crate) fn failed(&self) -> bool {
        self.streams().broken
    }

    /// Flushes standard output; gives the first failure of all.
    pub(crate) fn finish(&self) -> Result<(), io::Error> {
        let mut streams = self.streams();
        streams.hide_progress();
        streams.flush();
        streams.failure.take().map_or(Ok(()), Err)
    }

    /// Standard output for the contents of members. Failures go to who writes, not to [`Message::finish`].
    pub(crate) fn contents(&self) -> Contents<'_> {
        Contents(self)
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streams {
    fn flush(&mut self) {
        if !self.broken {
            let result = self.out.flush();
            self.note(result);
        }
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure = Some(error);
            self.broken = true;
        }
    }

    fn hide_progress(&mut self) {
        if std::mem::take(&mut self.progress_shown) {
            // Carriage return and "erase to the end of the line" (ECMA-48).
            let _ = self.err.write_all(b"\r\x1b[K");
        }
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Message").finish_non_exhaustive()
    }
}

/// Standard output where there is none. (What is open in its place by now is `/dev/null`.)
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(sys::standard::bad_descriptor())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output as a `Write`.
#[derive(Debug)]
pub(crate) struct Contents<'a>(&'a Message);

impl Write for Contents<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut streams = self.0.streams();
        let result = streams.out.write(bytes);
        streams.broken |= result.is_err();
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut streams = self.0.streams();
        let result = streams.out.flush();
        streams.broken |= result.is_err();
        result
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::{Line, Message};

    /// A stream that a test can look at; both streams of a message into one show the order.
    #[derive(Clone, Default)]
    pub(crate) struct Shared(pub(crate) Arc<Mutex<Vec<u8>>>);

    impl Shared {
        pub(crate) fn text(&self) -> String {
            String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(28))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_was_said_first_comes_out_first() {
        let both = Shared::default();
        let message = Message::with(b"tar", Box::new(both.clone()), Box::new(both.clone()));
        message.out(b"a\n");
        message.err(&[Line::said("no"), Line::plain("help")]);
        message.out(b"b\n");
        message.finish().unwrap();
        assert_eq!(both.text(), "a\ntar: no\nhelp\nb\n");
    }

    #[test]
    fn a_progress_line_goes_before_anything_else_is_said() {
        let both = Shared::default();
        let message = Message::with(b"tar", Box::new(both.clone()), Box::new(both.clone()));
        message.progress("1 member");
        message.err(&[Line::said("no")]);
        assert_eq!(both.text(), "1 member\r\x1b[Ktar: no\n");
    }

    #[test]
    fn who_writes_contents_reports_that_it_failed() {
        let message = Message::with(b"tar", Box::new(Full), Box::new(io::sink()));
        message.contents().write_all(b"a").unwrap();
        message.contents().flush().unwrap_err();
        assert!(message.failed());
        message.finish().unwrap();
    }

    #[test]
    fn a_full_disk_is_noticed() {
        let message = Message::with(b"tar", Box::new(Full), Box::new(io::sink()));
        message.out(b"a\n");
        assert!(!message.failed(), "still in the buffer");
        assert_eq!(message.finish().unwrap_err().raw_os_error(), Some(28));
        message.finish().unwrap();
    }
}
