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
use std::process::{self, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::input::Input;

/// The exit status with which these programs say that they have warned. With others it is a failure: bzip2 and lzip say
/// so that the data are corrupt.
const WARNED: i32 = 2;
const WARNERS: [&[u8]; 9] = [
    b"gzip", b"gunzip", b"zcat", b"xz", b"unxz", b"xzcat", b"lzma", b"unlzma", b"lzcat",
];

/// A program that decompresses.
pub(super) struct Child {
    name: String,
    /// Whether an exit status of 2 is a warning.
    warns: bool,
    process: process::Child,
    /// `None` after its end.
    output: Option<ChildStdout>,
    feeder: Option<JoinHandle<()>>,
    fed: Arc<Fed>,
    /// How it ended, once its output was read to the end: with a warning, or with an error, which stays.
    ended: Option<Result<Option<String>, String>>,
}

/// What the feeding thread tells.
#[derive(Default)]
struct Fed {
    /// It has nothing more to do, so joining it takes no time. Set before the program can see the end of its input.
    done: AtomicBool,
    /// Why the input could not be read to its end.
    error: Mutex<Option<io::Error>>,
}

impl Fed {
    fn error(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped());
        let spawned = command.spawn();
        // It holds the program's side of the socket, which must close when the program ends.
        drop(command);
        let mut process = spawned.map_err(|error| {
            let reason = error.to_string();
            let reason = reason
                .split(" (os error")
                .next()
                .unwrap_or_default()
                .to_owned();
            io::Error::new(error.kind(), format!("{name}: Cannot exec: {reason}"))
        })?;
        let output = process.stdout.take();
        let fed = Arc::new(Fed::default());
        let feeder = {
            let fed = Arc::clone(&fed);
            let feed = move || feed(input, &ours, &fed);
            thread::Builder::new()
                .name("durastar-feed".into())
                .spawn(feed)
        };
        let base = words[0].rsplit(|byte| *byte == b'/').next();
        match feeder {
            Ok(feeder) => Ok(Self {
                name,
                warns: base.is_some_and(|base| WARNERS.contains(&base)),
                process,
                output,
                feeder: Some(feeder),
                fed,
                ended: None,
            }),
            Err(error) => {
                // The closure is gone, and with it the program's input.
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
        if let Some(output) = &mut self.output {
            io::copy(output, &mut io::sink())?;
            self.end()?;
        }
        match self.ended.take() {
            Some(Ok(warning)) => Ok(warning),
            Some(Err(what)) => Err(io::Error::other(what)),
            None => Ok(None),
        }
    }

    /// The program has closed its output: how did it end?
    fn end(&mut self) -> io::Result<()> {
        self.output = None;
        let status = self.process.wait()?;
        self.stop_feeding();
        let name = &self.name;
        let result = match (status.code(), status.signal()) {
            (Some(0), _) => Ok(None),
            (Some(WARNED), _) if self.warns => {
                Ok(Some(format!("{name}: exit status {WARNED} (a warning)")))
            }
            (Some(code), _) => Err(format!("{name}: exit status {code}")),
            (None, Some(signal)) => Err(format!("{name}: ended by signal {signal}")),
            (None, None) => Err(format!("{name}: failed")),
        };
        self.ended = Some(result.clone());
        // An input that could not be read explains whatever the program says.
        let fed = self.fed.error().take();
        if let Some(error) = fed {
            self.ended = Some(Err(error.to_string()));
            return Err(error);
        }
        result.map(drop).map_err(io::Error::other)
    }

    /// Joins the thread, unless it waits for input that may never come: then it ends with its next write, which fails.
    fn stop_feeding(&mut self) {
        let feeder = self.feeder.take();
        let ends =
            |feeder: &JoinHandle<()>| self.fed.done.load(Ordering::Acquire) || feeder.is_finished();
        if let Some(feeder) = feeder.filter(ends)
            && feeder.join().is_err()
        {
            let what = format!("{}: the thread that feeds it panicked", self.name);
            *self.fed.error() = Some(io::Error::other(what));
        }
    }
}

impl Read for Child {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(output) = &mut self.output else {
            return match &self.ended {
                Some(Err(what)) => Err(io::Error::other(what.clone())),
                _ => Ok(0),
            };
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
        // Nobody wants the rest: the program ends at its next write, or at once.
        if self.output.take().is_some() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
        self.stop_feeding();
    }
}

/// Gives the program all of the input, or what it takes of it.
fn feed(mut input: Input, to: &UnixStream, fed: &Fed) {
    let mut buffer = vec![0; 64 << 10];
    let mut to = to;
    loop {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                if to.write_all(&buffer[..count]).is_err() {
                    // The program has ended, or wants no more; its status tells which.
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                *fed.error() = Some(error);
                break;
            }
        }
    }
    fed.done.store(true, Ordering::Release);
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn split(command: &str) -> Vec<String> {
        let words = words(command.as_bytes()).expect("words");
        words
            .into_iter()
            .map(|word| String::from_utf8(word).expect("text"))
            .collect()
    }

    /// A program of ours: `sh -c SCRIPT`, which gets `-d` as its name.
    fn sh(script: &str, input: impl Read + Send + 'static) -> Child {
        let words = [&b"sh"[..], b"-c", script.as_bytes(), b"-d"].map(<[u8]>::to_vec);
        Child::start(&words, Input::new(Box::new(input))).expect("sh")
    }

    fn read_all(child: &mut Child) -> (Vec<u8>, Option<String>) {
        let mut all = Vec::new();
        let error = child.read_to_end(&mut all).err();
        (all, error.map(|error| error.to_string()))
    }

    #[test]
    fn commands_are_split_as_a_shell_would() {
        assert_eq!(split("xz"), ["xz", "-d"]);
        assert_eq!(
            split("  zstd  --long=31\t-T0 "),
            ["zstd", "--long=31", "-T0", "-d"]
        );
        assert_eq!(
            split("sh -c 'a \"b\"  c'"),
            ["sh", "-c", "a \"b\"  c", "-d"]
        );
        assert_eq!(
            split(r#"a\ b "c \" \\ 'd'" '' e''f"#),
            ["a b", "c \" \\ 'd'", "", "ef", "-d"]
        );
        for bad in ["", "  ", "a 'b", "a \"b"] {
            assert!(words(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes_go_through_a_program() {
        // More than a pipe holds, both ways.
        let data: Vec<u8> = (0..3_000_000_u32)
            .map(|number| number.to_le_bytes()[1])
            .collect();
        let mut child = sh("cat", io::Cursor::new(data.clone()));
        let (there, error) = read_all(&mut child);
        assert_eq!(error, None);
        assert!(there == data);
        assert_eq!(child.finish().expect("no failure"), None);
    }

    #[test]
    fn a_missing_program_is_named() {
        let missing = words(b"/nowhere/xz").expect("words");
        let error = Child::start(&missing, Input::empty())
            .map(drop)
            .expect_err("missing");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(
            error.to_string(),
            "/nowhere/xz: Cannot exec: No such file or directory"
        );
    }

    #[test]
    fn a_failure_comes_before_the_end_and_stays() {
        for (script, expected) in [
            ("echo half; exit 3", "sh: exit status 3"),
            ("echo half; exit 2", "sh: exit status 2"),
            ("echo half; kill -TERM $$", "sh: ended by signal 15"),
        ] {
            let mut child = sh(script, io::empty());
            let (there, error) = read_all(&mut child);
            assert_eq!(there, b"half\n");
            assert_eq!(error.as_deref(), Some(expected));
            assert_eq!(read_all(&mut child).1.as_deref(), Some(expected));
            assert_eq!(child.finish().expect_err("a failure").to_string(), expected);
        }
    }

    #[test]
    fn a_warning_is_no_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("gzip");
        std::os::unix::fs::symlink("/bin/sh", &program).expect("a link");
        let program = program.as_os_str().as_bytes();
        let words = [program, b"-c", b"echo good; exit 2"].map(<[u8]>::to_vec);
        let mut child = Child::start(&words, Input::empty()).expect("sh");
        assert_eq!(read_all(&mut child), (b"good\n".to_vec(), None));
        let warning = child.finish().expect("no failure").expect("a warning");
        assert!(
            warning.ends_with("/gzip: exit status 2 (a warning)"),
            "{warning}"
        );
    }

    #[test]
    fn a_program_that_still_has_to_write_is_given_the_time() {
        // Padding after the archive's end: closing the pipe would make the program fail.
        let mut child = sh(
            "echo good; head -c 1000000 /dev/zero || exit 1",
            io::empty(),
        );
        child.read_exact(&mut [0; 5]).expect("the archive");
        assert_eq!(child.finish().expect("no failure"), None);
        let mut child = sh("echo good; head -c 1000000 /dev/zero; exit 7", io::empty());
        child.read_exact(&mut [0; 5]).expect("the archive");
        assert_eq!(
            child.finish().expect_err("a failure").to_string(),
            "sh: exit status 7"
        );
    }

    #[test]
    fn stopping_early_leaves_nothing_behind() {
        let mut child = sh("exec yes", io::repeat(b'a'));
        child.read_exact(&mut [0; 100]).expect("yes");
        let id = child.process.id();
        drop(child);
        let gone = !std::path::Path::new(&format!("/proc/{id}/stat")).exists();
        assert!(gone || !std::path::Path::new("/proc/self").exists());
    }

    #[test]
    fn children_have_the_default_for_closed_pipes() {
        // Rust ignores SIGPIPE, and what is ignored stays so over exec: the signal would not end this shell.
        let mut child = sh("kill -PIPE $$; echo still here", io::empty());
        assert_eq!(
            read_all(&mut child),
            (Vec::new(), Some("sh: ended by signal 13".into()))
        );
    }

    #[test]
    fn an_input_error_is_the_reason() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(5))
            }
        }
        let mut child = sh("cat; exit 1", io::Cursor::new(b"data").chain(Broken));
        let mut all = Vec::new();
        let error = child.read_to_end(&mut all).expect_err("an input error");
        assert_eq!(all, b"data");
        assert_eq!(error.raw_os_error(), Some(5));
    }

    #[test]
    fn a_program_that_ends_before_its_input_does_not_hold_us() {
        /// An input that gives nothing until the other side is dropped.
        struct Waiting(mpsc::Receiver<()>);
        impl Read for Waiting {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Ok(0)
            }
        }
        let (sender, receiver) = mpsc::channel();
        let mut child = sh("echo all", Waiting(receiver));
        assert_eq!(read_all(&mut child), (b"all\n".to_vec(), None));
        assert_eq!(child.finish().expect("no failure"), None);
        let (again, receiver) = mpsc::channel();
        drop(sh("cat", Waiting(receiver)));
        drop((sender, again));
    }
}
