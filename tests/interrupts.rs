//! Signals, and standard streams that are not there: what ends, what is settled before that, what is said.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};

use crate::support::{Workdir, behind, has, has_gnu_tar, tree};

const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const QUIT: i32 = 3;
const USER_1: i32 = 10;
const TERMINATE: i32 = 15;

/// A program that reads an archive from a pipe which this test holds open.
struct Fed {
    child: Child,
    input: Option<ChildStdin>,
    errors: BufReader<ChildStderr>,
    /// The process that signals go to.
    target: u32,
}

impl Fed {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        Self {
            input: child.stdin.take(),
            errors: BufReader::new(child.stderr.take().expect("a pipe")),
            target: child.id(),
            child,
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).expect("it reads");
        input.flush().expect("it reads");
    }

    fn signal(&self, signal: i32) {
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &self.target.to_string()])
            .status()
            .expect("kill(1) is there");
        assert!(sent.success());
    }

    /// Waits until a line with this in it comes on standard error.
    fn line_with(&mut self, part: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let count = self.errors.read_line(&mut line).expect("text");
            assert!(count > 0, "no line with {part:?} in {all}");
            if line.contains(part) {
                return line;
            }
            all += &line;
        }
    }

    /// Waits for the end, the input still open.
    fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.errors.read_to_string(&mut rest).expect("text");
        let status = self.child.wait().expect("it ends");
        drop(self.input.take());
        (status, rest)
    }
}

/// An archive of a directory and many files, and the members that a test counts with.
fn archive(work: &Workdir, files: usize) -> Vec<u8> {
    work.sh(&format!(
        "mkdir x o; for i in $(seq {files}); do echo $i >x/$i; done; tar --sort=name -cf a.tar x"
    ));
    fs::read(work.path("a.tar")).expect("it is there")
}

fn logged(work: &Workdir) -> Vec<String> {
    let log = fs::read_to_string(work.path("log")).expect("the log is there");
    log.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn an_interrupt_ends_a_run_whose_archive_brings_nothing() {
    for signal in [INTERRUPT, TERMINATE, HANGUP] {
        for mode in ["each", "group", "batch"] {
            let work = Workdir::new();
            let bytes = archive(&work, 40);
            let mode = format!("--sync={mode}");
            let words = [
                &mode,
                "--checkpoint=1",
                "--settled-log=log",
                "-xf",
                "-",
                "-C",
                "o",
            ];
            let mut fed = Fed::start(work.program("durastar").words(&words).command());
            // Two records and the beginning of a third, and the pipe stays open.
            fed.feed(&bytes[..45 * 512]);
            fed.line_with("Read checkpoint");
            fed.signal(signal);
            fed.line_with("once more ends it at once");
            let (status, said) = fed.end();
            assert_eq!(status.signal(), Some(signal), "{said}");
            // Each member there is settled, in order: the directory, then files of one block each.
            let names = logged(&work);
            let count = names.len();
            assert!(count > 1, "{names:?}");
            assert!(
                said.contains(&format!("durastar: {count} members are settled")),
                "{said}"
            );
            for name in names.iter().filter(|name| *name != "x/") {
                let wanted = fs::read(work.path(name)).expect("it is there");
                let path = work.path("o").join(name);
                assert_eq!(fs::read(path).expect("settled"), wanted, "{name}");
            }
        }
    }
}

#[test]
fn an_interrupt_before_the_archive_can_be_opened_ends_it() {
    let work = Workdir::new();
    work.sh("mkfifo p; mkdir o");
    let command = work
        .program("durastar")
        .words(&["-xf", "p", "-C", "o"])
        .command();
    let mut fed = Fed::start(command);
    // Statistics show that signals are being watched.
    loop {
        let watched = fs::read_to_string(format!("/proc/{}/status", fed.target)).expect("it runs");
        let caught = watched
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .expect("a field of proc(5)");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("hexadecimal");
        if caught >> (INTERRUPT - 1) & 1 == 1 && caught >> (USER_1 - 1) & 1 == 1 {
            break;
        }
        std::thread::yield_now();
    }
    fed.signal(USER_1);
    fed.line_with("0 members are settled so far");
    fed.signal(INTERRUPT);
    let (status, _) = fed.end();
    assert_eq!(status.signal(), Some(INTERRUPT));
}

#[test]
fn a_second_interrupt_does_not_wait_for_a_sync_that_hangs() {
    if !has("strace") {
        return;
    }
    for (mode, call) in [("each", "fsync"), ("group", "syncfs"), ("batch", "syncfs")] {
        let work = Workdir::new();
        let bytes = archive(&work, 40);
        let inject = format!("inject={call}:delay_enter=600000000");
        let mode = format!("--sync={mode}");
        let mut wrapper = vec!["strace", "-f", "-qq", "-o", "trace", "-e"];
        wrapper.push(&inject);
        let words = [&mode, "--settled-log=log", "-xf", "-", "-C", "o"];
        let mut fed = Fed::start(behind(&work, &wrapper, &words).command());
        fed.feed(&bytes);
        // The program is strace's child, and has made something that is to be synced.
        let children = format!("/proc/{0}/task/{0}/children", fed.target);
        fed.target = loop {
            let found = fs::read_to_string(&children).expect("a file of proc(5)");
            let threads =
                |pid: &str| fs::read_dir(format!("/proc/{pid}/task")).map(Iterator::count);
            if let Some(pid) = found.split_whitespace().next()
                && threads(pid).is_ok_and(|count| count > 2)
                && fs::read_dir(work.path("o")).is_ok_and(|made| made.count() > 0)
            {
                break pid.parse().expect("a number");
            }
            std::thread::yield_now();
        };
        fed.signal(INTERRUPT);
        fed.line_with("once more ends it at once");
        fed.signal(INTERRUPT);
        // strace itself would wait for what it delays.
        while !fs::read_to_string(work.path("trace"))
            .is_ok_and(|trace| trace.contains("killed by SIGINT"))
        {
            std::thread::yield_now();
        }
        fed.child.kill().expect("it runs");
        fed.end();
        assert_eq!(logged(&work), Vec::<String>::new(), "{mode}");
    }
}

#[test]
fn statistics_are_told_and_the_run_goes_on() {
    for (name, words, signal, told) in [
        (
            "durastar",
            &["--checkpoint=1", "-xf", "-", "-C", "o"][..],
            USER_1,
            "Total bytes read: ",
        ),
        ("star", &["-x", "f=-", "-C", "o"], USER_1, "star: "),
        ("star", &["-x", "f=-", "-C", "o"], QUIT, "star: "),
    ] {
        let work = Workdir::new();
        let bytes = archive(&work, 40);
        let mut fed = Fed::start(work.program(name).words(words).command());
        fed.feed(&bytes[..45 * 512]);
        if name == "durastar" {
            fed.line_with("Read checkpoint");
        } else {
            // It is reading: the first file was made.
            while !work.path("o/x/1").exists() {
                std::thread::yield_now();
            }
        }
        fed.signal(signal);
        fed.line_with(told);
        fed.line_with("settled so far");
        fed.feed(&bytes[45 * 512..]);
        drop(fed.input.take());
        let (status, said) = fed.end();
        assert_eq!(status.code(), Some(0), "{said}");
        assert_eq!(tree(&work.path("o")).len(), 42);
    }
}

#[test]
fn standard_output_that_is_closed_or_full_is_an_error_where_something_is_written() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    archive(&work, 3);
    for words in ["-tf", "-tvf", "-xvf", "-xOf", "-xf"] {
        for output in [">&-", ">/dev/full"] {
            let run = |program: &str| {
                work.sh("rm -rf o; mkdir o");
                let line =
                    format!("set +e; {program} {words} a.tar -C o {output}; echo $? >status");
                let ran = work.sh(&line);
                let status = fs::read_to_string(work.path("status")).expect("written");
                (status, tree(&work.path("o")), ran.stderr)
            };
            let theirs = run("/bin/tar");
            let ours = run(env!("CARGO_BIN_EXE_durastar"));
            assert_eq!(ours.0, theirs.0, "{words} {output}: {}", ours.2);
            assert_eq!(ours.1.len(), theirs.1.len(), "{words} {output}");
            assert_eq!(ours.2.is_empty(), theirs.2.is_empty(), "{words} {output}");
            if words != "-xf" {
                let said = if words == "-xOf" {
                    "write"
                } else {
                    "stdout: write error"
                };
                assert!(ours.2.contains(said), "{words} {output}: {}", ours.2);
            }
        }
    }
    // In place of the closed one there is something that can be read, and nothing in it.
    let ran = work.sh(&format!(
        "if {} -tf - <&-; then exit 1; else test $? = 2; fi",
        env!("CARGO_BIN_EXE_durastar")
    ));
    assert!(ran.stderr.contains("Cannot read: Bad file descriptor"));
}

/// Numbers that look random and are the same in each run (Numerical Recipes' generator).
struct Seeded(u32);

impl Seeded {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % bound
    }
}

#[test]
fn what_the_settled_log_names_survives_a_kill_at_any_moment() {
    let work = Workdir::new();
    let bytes = archive(&work, 500);
    let mut seeded = Seeded(7);
    let mut named = 0;
    for round in 0..20 {
        work.sh("rm -rf o log; mkdir o; : >log");
        let mode = ["--sync=group", "--sync=group", "--sync=each"][round % 3];
        let words = [
            mode,
            "--sync-window=10,",
            "--settled-log=log",
            "--checkpoint=1",
            "-xf",
            "-",
            "-C",
            "o",
        ];
        let mut fed = Fed::start(work.program("durastar").words(&words).command());
        // Where in the archive it is killed is random, and so is what it is doing then.
        let records = 4 + seeded.below(bytes.len() / (20 * 512) - 4);
        fed.feed(&bytes[..records * 20 * 512]);
        fed.line_with(&format!("Read checkpoint {}\n", records - 2));
        fed.child.kill().expect("it runs");
        let (status, _) = fed.end();
        assert_eq!(status.signal(), Some(9));
        for name in logged(&work).iter().filter(|name| *name != "x/") {
            named += 1;
            let wanted = fs::read(work.path(name)).expect("it is there");
            let path = work.path("o").join(name);
            assert_eq!(fs::read(path).expect("settled"), wanted, "{name}");
        }
    }
    assert!(named > 0, "nothing was settled before any kill");
}
