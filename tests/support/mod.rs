//! What tests of the program share: a scratch directory, the program under any name, archives, trees.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The checkout.
pub fn source_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file in `fixtures/`.
pub fn fixture(name: &str) -> PathBuf {
    source_dir().join("fixtures").join(name)
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|state| state.uid() == 0)
}

/// Whether a program can be started; if not, says that what needs it is skipped.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if !found {
        eprintln!("skipped, as {program} is not installed");
    }
    found
}

/// A fresh directory that goes away with the test.
pub struct Workdir(TempDir);

impl Workdir {
    pub fn new() -> Self {
        Self(TempDir::new().expect("a scratch directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.0.path().to_path_buf()
        } else {
            self.0.path().join(name)
        }
    }

    /// An empty directory in it.
    pub fn dir(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.path(name)).expect("a directory");
        self.path(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), contents).expect("a file");
        self.path(name)
    }

    /// Runs a shell line here; it has to succeed.
    pub fn sh(&self, line: &str) -> Ran {
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
    pub fn run(&self, name: &str, words: &[&str]) -> Ran {
        self.program(name).words(words).run()
    }

    pub fn program(&self, name: &str) -> Program {
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
pub struct Program {
    command: Command,
    input: Option<Vec<u8>>,
}

impl Program {
    pub fn words(mut self, words: &[impl AsRef<OsStr>]) -> Self {
        self.command.args(words);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// What it reads from standard input, through a pipe.
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = Some(bytes);
        self
    }

    pub fn run(mut self) -> Ran {
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
        let output = child.wait_with_output().expect("the program ends");
        if let Some(feeder) = feeder {
            feeder.join().expect("the feeder ends");
        }
        Ran::from(output)
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub stdout_bytes: Vec<u8>,
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
    pub fn quiet(&self) -> &Self {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (Some(0), ""),
            "stdout: {}",
            self.stdout
        );
        self
    }

    /// Ended with this status and exactly these words on standard error.
    #[track_caller]
    pub fn says(&self, code: i32, stderr: &str) -> &Self {
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
pub struct Object {
    pub mode: u32,
    pub owner: (u32, u32),
    pub mtime: (i64, i64),
    pub size: u64,
    pub rdev: u64,
    pub contents: Vec<u8>,
    /// The first name of the same inode, for a file with several.
    pub same_as: Option<Vec<u8>>,
}

/// A directory with everything below it, by name.
pub fn tree(root: &Path) -> BTreeMap<Vec<u8>, Object> {
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
pub fn assert_same_tree(expected: &Path, found: &Path) {
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
