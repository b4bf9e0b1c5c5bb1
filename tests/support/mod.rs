//! What tests of the program share: a scratch directory, the program under any name, archives, trees.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

/// The checkout.
pub(crate) fn source_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file in `fixtures/`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    source_dir().join("fixtures").join(name)
}

/// Whether this process is root's.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|state| state.uid() == 0)
}

/// Whether a program can be started; if not, says that what needs it is skipped.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("skipped, as {program} is not installed");
    }
    found
}

/// A fresh directory that goes away with the test.
pub(crate) struct Workdir(TempDir);

impl Workdir {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a scratch directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.0.path().to_path_buf()
        } else {
            self.0.path().join(name)
        }
    }

    /// An empty directory in it.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.path(name)).expect("a directory");
        self.path(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), contents).expect("a file");
        self.path(name)
    }

    /// Runs a shell line here; it has to succeed.
    pub(crate) fn sh(&self, line: &str) -> Ran {
        let output = Command::new("sh")
            .arg("-ec")
            .arg(line)
            .current_dir(self.path(""))
            .output()
            .expect("sh runs");
        let ran = Ran::from(output);
        assert_eq!(ran.code, Some(0), "{line}\n{}{}", ran.stdout, ran.stderr);
        ran
    }

    /// The program, called by this name, with these words.
    pub(crate) fn run(&self, name: &str, words: &[&str]) -> Ran {
        self.program(name).words(words).run()
    }

    pub(crate) fn program(&self, name: &str) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_durastar"));
        command
            .arg0(name)
            .current_dir(self.path(""))
            .stdin(Stdio::null());
        command
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Program {
            command,
            input: None,
        }
    }
}

/// The program about to be run.
pub(crate) struct Program {
    command: Command,
    input: Option<Vec<u8>>,
}

/// Longer than any run takes, however busy the machine: a program that still runs then hangs.
const FOREVER: Duration = Duration::from_secs(120);

impl Program {
    pub(crate) fn words(mut self, words: &[impl AsRef<OsStr>]) -> Self {
        self.command.args(words);
        self
    }

    /// Where it runs, below or outside of the scratch directory.
    pub(crate) fn at(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Its standard input is this file.
    pub(crate) fn reading(mut self, path: &Path) -> Self {
        self.command.stdin(File::open(path).expect("readable"));
        self
    }

    /// For what the other functions do not offer.
    pub(crate) fn command(self) -> Command {
        self.command
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// What it reads from standard input, through a pipe.
    pub(crate) fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    pub(crate) fn run(mut self) -> Ran {
        if self.input.is_some() {
            self.command.stdin(Stdio::piped());
        }
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program starts");
        let feeder = self.input.map(|bytes| {
            let mut pipe = child.stdin.take().expect("a pipe");
            // It may end before it has read everything.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)))
        });
        let (ended, watch) = mpsc::channel::<()>();
        let id = child.id().to_string();
        let watchdog = std::thread::spawn(move || {
            if watch.recv_timeout(FOREVER) == Err(mpsc::RecvTimeoutError::Timeout) {
                // Its output then ends, and the test fails by the signal.
                drop(Command::new("kill").args(["-9", &id]).status());
            }
        });
        let output = child.wait_with_output().expect("the program ends");
        drop(ended);
        watchdog.join().expect("the watchdog ends");
        if let Some(feeder) = feeder {
            feeder.join().expect("the feeder ends");
        }
        Ran::from(output)
    }
}

/// The program named like the one under test behind another one, as strace(1) or setpriv(1) start it.
pub(crate) fn behind(work: &Workdir, wrapper: &[&str], words: &[&str]) -> Program {
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(env!("CARGO_BIN_EXE_durastar"))
        .args(words)
        .current_dir(work.path(""))
        .stdin(Stdio::null())
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    Program {
        command,
        input: None,
    }
}

/// Whether `tar` is GNU tar, whose words the tests compare with; if not, says that what needs it is skipped.
pub(crate) fn has_gnu_tar() -> bool {
    let version = Command::new("tar").arg("--version").output();
    let found = version.is_ok_and(|output| output.stdout.starts_with(b"tar (GNU tar)"));
    if !found {
        eprintln!("skipped, as GNU tar is not installed");
    }
    found
}

/// GNU tar with these words, in this directory.
pub(crate) fn gnu_tar(dir: &Path, words: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = Command::new("tar");
    command
        .args(words)
        .current_dir(dir)
        .stdin(Stdio::null())
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.envs(environment.iter().copied());
    Ran::from(command.output().expect("tar runs"))
}

/// What the program did otherwise than GNU tar, over many runs: all of it is told at the end.
#[derive(Default)]
pub(crate) struct Differences(Vec<String>);

impl Differences {
    /// Runs GNU tar and the program as `tar` in two directories that `setup` has made equal, and compares status, both
    /// outputs and what is on disk then.
    pub(crate) fn run(&mut self, setup: &str, words: &[&str]) {
        self.run_in(setup, words, &[]);
    }

    /// The same with more environment variables.
    pub(crate) fn run_in(&mut self, setup: &str, words: &[&str], environment: &[(&str, &str)]) {
        let (theirs, ours) = (Workdir::new(), Workdir::new());
        theirs.sh(setup);
        ours.sh(setup);
        let expected = gnu_tar(&theirs.path(""), words, environment);
        let mut program = ours.program("tar").words(words);
        for (name, value) in environment {
            program = program.env(name, value);
        }
        let found = program.run();
        // A warning that GNU tar ought to give.
        let stderr: String = found
            .stderr
            .split_inclusive('\n')
            .filter(|line| !line.contains("Symbolic link to a directory replaced by a directory"))
            .collect();
        let what = format!("{environment:?} tar {words:?} (after: {setup})");
        if (found.code, &found.stdout_bytes, &stderr)
            != (expected.code, &expected.stdout_bytes, &expected.stderr)
        {
            self.0.push(format!(
                "{what}:\nGNU tar: {:?} {:?}\n{}here: {:?} {:?}\n{}",
                expected.code,
                expected.stdout,
                expected.stderr,
                found.code,
                found.stdout,
                found.stderr
            ));
        }
        let disk = |work: &Workdir| {
            let mut tree = tree(&work.path(""));
            for object in tree.values_mut() {
                // What was made in the two directories was not made at the same time.
                if object.mtime.0 > 1_500_000_000 {
                    object.mtime = (0, 0);
                }
                // So that what is told stays short.
                if object.contents.len() > 64 {
                    let mut sum = DefaultHasher::new();
                    object.contents.hash(&mut sum);
                    object.contents = format!("hash {:x}", sum.finish()).into_bytes();
                }
            }
            // Nor are archives equal that hold such times.
            tree.retain(|name, _| !name.ends_with(b".tar"));
            tree
        };
        let (expected, found) = (disk(&theirs), disk(&ours));
        let names: std::collections::BTreeSet<_> = expected.keys().chain(found.keys()).collect();
        for name in names {
            if found.get(name) != expected.get(name) {
                self.0.push(format!(
                    "{what}: {}:\nGNU tar: {:?}\nhere: {:?}",
                    name.escape_ascii(),
                    expected.get(name),
                    found.get(name)
                ));
            }
        }
    }

    /// Takes note of anything else.
    pub(crate) fn note(&mut self, what: String) {
        self.0.push(what);
    }

    #[track_caller]
    pub(crate) fn none(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n\n"));
    }
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) stdout_bytes: Vec<u8>,
}

impl From<std::process::Output> for Ran {
    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            stdout_bytes: output.stdout,
        }
    }
}

impl Ran {
    /// Succeeded without a word on standard error.
    #[track_caller]
    pub(crate) fn quiet(&self) -> &Self {
        assert_eq!(
            (self.code, self.signal, self.stderr.as_str()),
            (Some(0), None, ""),
            "stdout: {}",
            self.stdout
        );
        self
    }

    /// Ended with this status and exactly these words on standard error.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, stderr: &str) -> &Self {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (Some(code), stderr),
            "stdout: {}",
            self.stdout
        );
        self
    }
}

/// Everything about one object that a restore can bring back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) mtime: (i64, i64),
    pub(crate) size: u64,
    pub(crate) rdev: u64,
    pub(crate) contents: Vec<u8>,
    /// The first name of the same inode, for a file with several.
    pub(crate) same_as: Option<Vec<u8>>,
}

/// A directory with everything below it, by name.
pub(crate) fn tree(root: &Path) -> BTreeMap<Vec<u8>, Object> {
    let mut found = BTreeMap::new();
    let mut inodes = BTreeMap::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(name) = todo.pop() {
        let path = root.join(&name);
        let state = fs::symlink_metadata(&path).expect("it was just listed");
        let kind = state.file_type();
        let contents = if kind.is_file() {
            fs::read(&path).expect("readable")
        } else if kind.is_symlink() {
            fs::read_link(&path)
                .expect("readable")
                .into_os_string()
                .into_vec()
        } else {
            Vec::new()
        };
        if kind.is_dir() {
            let mut names: Vec<OsString> = fs::read_dir(&path)
                .expect("readable")
                .map(|entry| entry.expect("readable").file_name())
                .collect();
            // The stack is emptied from its end.
            names.sort_by(|a, b| b.cmp(a));
            todo.extend(names.into_iter().map(|entry| name.join(entry)));
        }
        let key = name.as_os_str().as_bytes().to_vec();
        let same_as = if state.nlink() > 1 && !kind.is_dir() {
            let first = inodes
                .entry((state.dev(), state.ino()))
                .or_insert_with(|| key.clone())
                .clone();
            (first != key).then_some(first)
        } else {
            None
        };
        let object = Object {
            mode: state.mode(),
            owner: (state.uid(), state.gid()),
            mtime: (state.mtime(), state.mtime_nsec()),
            size: if kind.is_dir() { 0 } else { state.size() },
            rdev: if kind.is_char_device() || kind.is_block_device() {
                state.rdev()
            } else {
                0
            },
            contents,
            same_as,
        };
        found.insert(key, object);
    }
    found
}

/// Compares two trees and shows the first differences; the roots' own metadata may differ.
#[track_caller]
pub(crate) fn assert_same_tree(expected: &Path, found: &Path) {
    let (mut expected, mut found) = (tree(expected), tree(found));
    expected.remove(&b""[..]);
    found.remove(&b""[..]);
    let names: std::collections::BTreeSet<_> =
        expected.keys().chain(found.keys()).cloned().collect();
    let different: Vec<String> = names
        .iter()
        .filter(|name| expected.get(*name) != found.get(*name))
        .take(5)
        .map(|name| {
            let brief = |object: Option<&Object>| {
                object.map(|object| Object {
                    contents: object.contents.iter().copied().take(40).collect(),
                    ..object.clone()
                })
            };
            format!(
                "{}:\n  {:?}\n  {:?}",
                name.escape_ascii(),
                brief(expected.get(name)),
                brief(found.get(name))
            )
        })
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}
