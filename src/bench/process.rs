//! Programs as children: started, timed, ended when an end is asked for.
//!
//! Each runs in a process group of its own, so that an interrupt from the keyboard reaches this process only, which then
//! kills the group (a tar with its decompressor) and cleans up behind it.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Error;
use crate::sys::process::{self, Usage};

/// How an end is asked for, from any thread.
#[derive(Debug, Default)]
pub struct Control {
    stopped: AtomicBool,
    /// The process group that is to be killed at an end; nobody has reaped its leader yet.
    child: Mutex<Option<u32>>,
}

impl Control {
    /// Asks for the end: what runs is killed, and what was made is put away.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(leader) = *self.child() {
            // It may have ended by itself just now.
            let _ = process::kill_group(leader);
        }
    }

    /// Whether the end was asked for.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// An error once the end was asked for.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn check(&self) -> Result<(), Error> {
        if self.stopped() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    fn child(&self) -> MutexGuard<'_, Option<u32>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a child that may be killed meanwhile.
    fn wait(&self, child: Child) -> io::Result<(ExitStatus, Usage, Instant)> {
        *self.child() = Some(child.id());
        if self.stopped() {
            // The end was asked for between the start and the line above.
            let _ = process::kill_group(child.id());
        }
        let waited = process::wait_for_end(&child);
        let ended = Instant::now();
        // From here on its number may become another's.
        *self.child() = None;
        waited?;
        let (status, usage) = process::reap(child)?;
        Ok((status, usage, ended))
    }
}

/// What becomes of a child's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// It is kept, up to a limit.
    Keep,
    /// It is counted, as `wc -c` does.
    Count,
}

/// What a child gave.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    /// From before it was started to its end, and to the end of its output where that is counted.
    pub(super) wall: Duration,
    pub(super) usage: Usage,
    pub(super) stdout: Vec<u8>,
    pub(super) stdout_bytes: u64,
    pub(super) stderr: String,
}

/// Reports are a few thousand bytes; messages of a tar that fails at every member are not all wanted.
const KEPT_BYTES: usize = 1 << 20;

fn drain(mut pipe: impl Read) -> (Vec<u8>, u64) {
    let mut kept = Vec::new();
    let mut total = 0;
    let mut buffer = vec![0; 64 << 10];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return (kept, total),
            Ok(count) => {
                total += count as u64;
                let room = KEPT_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..count.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return (kept, total),
        }
    }
}

fn count(mut pipe: impl Read) -> (Vec<u8>, u64) {
    (
        Vec::new(),
        io::copy(&mut pipe, &mut io::sink()).unwrap_or(0),
    )
}

/// Command lines, as people write them.
pub(super) fn spelt(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs a program with a bare environment: variables such as TAR_OPTIONS would change what is measured.
pub(super) fn run(
    control: &Control,
    path: &[PathBuf],
    command: &[OsString],
    output: Output,
) -> Result<Ran, Error> {
    control.check()?;
    let failed = |cause| Error::System {
        what: format!("run {}", spelt(command)),
        cause,
    };
    let (program, arguments) = command.split_first().expect("a command has a first word");
    let mut line = bare(program, path);
    line.args(arguments).stdout(Stdio::piped()).process_group(0);
    let began = Instant::now();
    let mut child = line.spawn().map_err(failed)?;
    let stdout = child.stdout.take().expect("it was piped");
    let stderr = child.stderr.take().expect("it was piped");
    // Both must be read while it runs, or it stops when a pipe is full.
    let (waited, (stdout, stdout_bytes, drained), (stderr, _)) = thread::scope(|scope| {
        let stdout = scope.spawn(move || {
            let (kept, total) = match output {
                Output::Keep => drain(stdout),
                Output::Count => count(stdout),
            };
            (kept, total, Instant::now())
        });
        let stderr = scope.spawn(move || drain(stderr));
        let waited = control.wait(child);
        (
            waited,
            stdout.join().unwrap_or_else(|_| (Vec::new(), 0, began)),
            stderr.join().unwrap_or_default(),
        )
    });
    let (status, usage, ended) = waited.map_err(failed)?;
    control.check()?;
    let ended = match output {
        Output::Keep => ended,
        Output::Count => ended.max(drained),
    };
    Ok(Ran {
        status,
        wall: ended.duration_since(began),
        usage,
        stdout,
        stdout_bytes,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

/// Runs a program that prepares or cleans up and must not be killed halfway.
pub(super) fn must_run(path: &[PathBuf], command: &[OsString]) -> Result<Vec<u8>, Error> {
    let (program, arguments) = command.split_first().expect("a command has a first word");
    let output = bare(program, path)
        .args(arguments)
        .process_group(0)
        .output()
        .map_err(|cause| Error::System {
            what: format!("run {}", spelt(command)),
            cause,
        })?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(failure(command, output.status, &stderr))
    }
}

fn bare(program: &OsStr, path: &[PathBuf]) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    if let Ok(path) = std::env::join_paths(path) {
        command.env("PATH", path);
    }
    command
}

/// A program's failure: the first thing it said, or how it ended.
pub(super) fn failure(command: &[OsString], status: ExitStatus, stderr: &str) -> Error {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("killed by signal {}", signal.unwrap_or(0)),
    };
    let said = match stderr.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{how}: {line}"),
        None => how,
    };
    Error::Program {
        command: spelt(command),
        said,
    }
}

/// The file of a program, found as a shell finds it.
pub(super) fn find(path: &[PathBuf], program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    path.iter().map(|dir| dir.join(program)).find(|file| {
        file.metadata()
            .is_ok_and(|state| state.is_file() && state.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::{Control, Error, Output, find, must_run, run};

    fn path() -> Vec<PathBuf> {
        vec!["/usr/bin".into(), "/bin".into()]
    }

    fn words(line: &[&str]) -> Vec<OsString> {
        line.iter().map(OsString::from).collect()
    }

    #[test]
    fn output_is_kept_or_counted() {
        let control = Control::default();
        let line = words(&["sh", "-c", "echo out; echo err >&2; exit 3"]);
        let ran = run(&control, &path(), &line, Output::Keep).unwrap();
        assert_eq!(ran.status.code(), Some(3));
        assert_eq!(
            (ran.stdout.as_slice(), ran.stderr.as_str()),
            (&b"out\n"[..], "err\n")
        );
        let line = words(&["head", "-c", "1000000", "/dev/zero"]);
        let ran = run(&control, &path(), &line, Output::Count).unwrap();
        assert_eq!((ran.stdout.len(), ran.stdout_bytes), (0, 1_000_000));
    }

    #[test]
    fn variables_that_change_other_tars_do_not_reach_them() {
        let ran = run(&Control::default(), &path(), &words(&["env"]), Output::Keep).unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        let mut names: Vec<&str> = text
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH"]);
    }

    #[test]
    fn an_end_kills_what_runs() {
        // It says that it is there and then waits for ever on a pipe that nobody writes to.
        let control = Arc::new(Control::default());
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        must_run(&path(), &["mkfifo".into(), pipe.clone().into()]).unwrap();
        let line: Vec<OsString> = vec![
            "sh".into(),
            "-c".into(),
            "echo here >\"$0\"; read -r never <\"$0\"".into(),
            pipe.clone().into(),
        ];
        let other = Arc::clone(&control);
        let waiting = std::thread::spawn(move || run(&other, &path(), &line, Output::Keep));
        assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "here\n");
        control.stop();
        assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
        let after = run(&control, &path(), &words(&["true"]), Output::Keep);
        assert!(matches!(after, Err(Error::Interrupted)));
    }

    #[test]
    fn a_failure_tells_the_command_and_its_words() {
        let error =
            must_run(&path(), &words(&["sh", "-c", "echo no room >&2; exit 4"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sh -c echo no room >&2; exit 4: exit status 4: no room"
        );
        assert!(find(&path(), "sh").is_some());
        assert!(find(&path(), "no-such-program").is_none());
    }
}
