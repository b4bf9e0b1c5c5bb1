//! What durability costs and what it gives: system calls counted and made to fail by strace(1), power cut by copying the
//! disk under a mounted file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Ran, Workdir, behind, has, has_gnu_tar, is_root};

const DURABLE: [&str; 3] = ["each", "group", "batch"];

/// Whether strace(1) is there and may trace; if not, says that what needs it is skipped.
fn can_trace() -> bool {
    if !has("strace") {
        return false;
    }
    let may = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !may {
        eprintln!("skipped, as strace may not trace here");
    }
    may
}

/// 20 files in two directories in one: `x.tar`.
fn twenty_files(work: &Workdir) {
    work.sh(
        "mkdir -p x/1 x/2 o; for i in $(seq 20); do echo $i >x/$((i%2+1))/$i; done; tar -cf x.tar x",
    );
}

struct Call {
    name: String,
    line: String,
}

/// Runs the program in strace and gives the calls that were traced.
fn traced(
    work: &Workdir,
    strace: &[&str],
    words: &[&str],
    environment: &[(&str, &str)],
) -> (Ran, Vec<Call>) {
    let mut wrapper = vec!["strace", "-f", "-y", "-qq", "-o", "trace"];
    wrapper.extend(strace);
    let mut program = behind(work, &wrapper, words);
    for (name, value) in environment {
        program = program.env(name, value);
    }
    let ran = program.run();
    let text = fs::read(work.path("trace")).expect("strace wrote it");
    let mut calls = Vec::new();
    let mut begun = BTreeMap::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let Some((thread, line)) = line.split_once(' ') else {
            continue;
        };
        let line = line.trim_start();
        // A call that another thread's came in between of stands in two lines.
        if let Some(start) = line.strip_suffix("<unfinished ...>") {
            begun.insert(thread.to_owned(), start.to_owned());
            continue;
        }
        let line = match (line.split_once(" resumed>"), begun.remove(thread)) {
            (Some((_, end)), Some(start)) => start + end,
            _ => line.to_owned(),
        };
        if let Some((name, _)) = line.split_once('(') {
            calls.push(Call {
                name: name.to_owned(),
                line: line.clone(),
            });
        }
    }
    (ran, calls)
}

const SYNCS: &str = "trace=fsync,fdatasync,syncfs,sync,sync_file_range,msync";

/// How often each kind of sync was called; each call is one line, as none is interrupted by a signal.
fn syncs(work: &Workdir, words: &[&str], environment: &[(&str, &str)]) -> Vec<(String, usize)> {
    let (ran, calls) = traced(work, &["-e", SYNCS], words, environment);
    ran.quiet();
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.name).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn none() -> Vec<(String, usize)> {
    Vec::new()
}

fn once(name: &str) -> Vec<(String, usize)> {
    vec![(name.to_owned(), 1)]
}

#[test]
fn each_mode_syncs_exactly_as_often_as_it_has_to() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    twenty_files(&work);
    for jobs in ["--jobs=1", "--jobs=8"] {
        let count = |mode: &str| {
            work.sh("rm -rf o; mkdir o");
            syncs(&work, &[mode, jobs, "-xf", "x.tar", "-C", "o"], &[])
        };
        assert_eq!(count("--sync=none"), none());
        // 20 files, 3 directories, the destination.
        assert_eq!(count("--sync=each"), [("fsync".to_owned(), 24)]);
        assert_eq!(count("--sync=group"), once("syncfs"));
        assert_eq!(count("--sync=batch"), once("syncfs"));
    }
    let count = |words: &[&str]| {
        work.sh("rm -rf o; mkdir o");
        let mut all = vec!["-xf", "x.tar", "-C", "o"];
        all.extend(words);
        syncs(&work, &all, &[])
    };
    // Every file and every directory once.
    for mode in ["--sync=group", "--sync=batch"] {
        let counts = count(&[mode, "--sync-method=fsync"]);
        assert_eq!(counts.len(), 1, "{mode}: {counts:?}");
        assert_eq!(counts[0].0, "fsync");
        assert_eq!(counts[0].1, 24, "{mode}");
    }
    // 23 members in windows of 5: one sync a window, the last of which is that of the end.
    let windows = count(&["--sync=group", "--sync-window=5,"]);
    assert_eq!(windows.len(), 1);
    assert_eq!(windows[0].0, "syncfs");
    assert_eq!(windows[0].1, 5);
    assert_eq!(
        count(&["--sync=group", "--sync-window=1000,1g"]),
        once("syncfs")
    );
    assert_eq!(count(&["--sync=batch", "--sync-window=5,"]), once("syncfs"));
    // Nothing is written, so nothing is synced.
    assert_eq!(syncs(&work, &["-tf", "x.tar"], &[]), none());
    assert_eq!(syncs(&work, &["-xOf", "x.tar"], &[]), none());
}

#[test]
fn no_sync_reaches_further_than_the_destination() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    twenty_files(&work);
    let inside = work.path("o");
    let inside = inside.to_str().expect("a plain name");
    for mode in DURABLE {
        work.sh("rm -rf o; mkdir o");
        let mode = format!("--sync={mode}");
        let words = [&mode, "-xf", "x.tar", "-C", "o"];
        let (ran, calls) = traced(&work, &["-e", SYNCS], &words, &[]);
        ran.quiet();
        let mut synced = BTreeSet::new();
        for call in calls {
            assert_ne!(call.name, "sync", "{mode}: that waits for every disk");
            let file = call.line.split(['<', '>']).nth(1).expect("the file's name");
            assert!(Path::new(file).starts_with(inside), "{mode}: {}", call.line);
            assert!(
                synced.insert(file.to_owned()),
                "{mode}: {file} is synced twice"
            );
        }
    }
}

/// Data before names: in mode each no directory is synced before the files in it are.
#[test]
fn directories_come_after_their_files_and_deepest_first() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    twenty_files(&work);
    let words = ["--sync=each", "--jobs=1", "-xf", "x.tar", "-C", "o"];
    let (ran, calls) = traced(&work, &["-e", "trace=fsync"], &words, &[]);
    ran.quiet();
    let order: Vec<&Path> = calls
        .iter()
        .filter_map(|call| call.line.split(['<', '>']).nth(1))
        .map(Path::new)
        .collect();
    assert_eq!(order.len(), 24);
    let file = |path: &Path| path.components().count() == work.path("o/x/1/1").components().count();
    let last_file = order
        .iter()
        .rposition(|path| file(path))
        .expect("files are synced");
    assert_eq!(last_file, 19, "{order:?}");
}

#[test]
fn options_win_over_the_environment_and_the_last_option_wins() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    twenty_files(&work);
    let each = vec![("fsync".to_owned(), 24)];
    let gnu = ["-xf", "x.tar", "-C", "o"];
    let star = [
        "cli=star",
        "-x",
        "-U",
        "f=x.tar",
        "-C",
        "o",
        "-no-statistics",
    ];
    for (words, more, environment, expected) in [
        (&gnu[..], &[][..], &[][..], once("syncfs")),
        (&gnu, &[], &[("DURASTAR_SYNC", "none")], none()),
        (&gnu, &[], &[("DURASTAR_SYNC", "each")], each.clone()),
        (
            &gnu,
            &["--sync=batch"],
            &[("DURASTAR_SYNC", "none")],
            once("syncfs"),
        ),
        (&gnu, &["--sync=none"], &[("DURASTAR_SYNC", "each")], none()),
        (&gnu, &["--sync=none", "--sync=each"], &[], each.clone()),
        // Another dialect's variable.
        (&gnu, &[], &[("STAR_FSYNC", "N")], once("syncfs")),
        (&star, &[], &[], each.clone()),
        (&star, &["-no-fsync"], &[], none()),
        (&star, &["-no-fsync", "-do-fsync"], &[], each.clone()),
        (&star, &["-do-fsync", "-no-fsync"], &[], none()),
        (&star, &["--sync=batch"], &[], once("syncfs")),
        (&star, &[], &[("STAR_FSYNC", "N")], none()),
        (&star, &[], &[("STAR_FSYNC", "Y")], each.clone()),
        (&star, &["-do-fsync"], &[("STAR_FSYNC", "N")], each.clone()),
        (&star, &["-no-fsync"], &[("STAR_FSYNC", "Y")], none()),
        (&star, &[], &[("DURASTAR_SYNC", "batch")], once("syncfs")),
        (
            &star,
            &[],
            &[("DURASTAR_SYNC", "batch"), ("STAR_FSYNC", "N")],
            once("syncfs"),
        ),
    ] {
        work.sh("rm -rf o; mkdir o");
        let all = [words, more].concat();
        assert_eq!(
            syncs(&work, &all, environment),
            expected,
            "{environment:?} {all:?}"
        );
    }
    let bad = work
        .program("durastar")
        .words(&gnu)
        .env("DURASTAR_SYNC", "always")
        .run();
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("DURASTAR_SYNC"), "{}", bad.stderr);
    for window in ["", ",", "0,", "x,", ",x", "5,0"] {
        let bad = work.run(
            "durastar",
            &["-xf", "x.tar", &format!("--sync-window={window}")],
        );
        assert_eq!(bad.code, Some(2), "{window}");
    }
    assert_eq!(
        work.run("durastar", &["-xf", "x.tar", "--sync=never"]).code,
        Some(2)
    );
}

/// The names in a settled log.
fn log(work: &Workdir) -> BTreeSet<String> {
    let text = fs::read_to_string(work.path("log")).expect("the log was written");
    assert!(text.is_empty() || text.ends_with('\n'));
    let names: BTreeSet<String> = text.lines().map(ToOwned::to_owned).collect();
    assert_eq!(
        names.len(),
        text.lines().count(),
        "a name stands there twice"
    );
    names
}

/// The paths below `o` whose call with this name strace has made fail.
fn injected(work: &Workdir, calls: &[Call], name: &str) -> BTreeSet<String> {
    let inside = work.path("o");
    calls
        .iter()
        .filter(|call| call.name == name && call.line.contains("(INJECTED)"))
        .filter_map(|call| call.line.split(['<', '>']).nth(1))
        .map(|path| {
            let below = Path::new(path).strip_prefix(&inside).expect("below o");
            match below.to_str().expect("a plain name") {
                "" => ".".to_owned(),
                name => name.to_owned(),
            }
        })
        .collect()
}

#[test]
fn a_file_whose_sync_fails_is_named_and_not_logged() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    // Many enough that every syncing thread comes to its third call.
    work.sh("mkdir x o; for i in $(seq 400); do echo $i >x/$i; done; tar -cf x.tar x");
    for jobs in ["--jobs=1", "--jobs=2", "--jobs=8"] {
        work.sh("rm -rf o; mkdir o");
        let words = [
            "--sync=each",
            jobs,
            "--settled-log=log",
            "-xf",
            "x.tar",
            "-C",
            "o",
        ];
        let inject = ["-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=3"];
        let (ran, calls) = traced(&work, &inject, &words, &[]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        let lost = injected(&work, &calls, "fsync");
        assert!(!lost.is_empty());
        let logged = log(&work);
        for name in &lost {
            let line = format!("durastar: {name}: Cannot sync: Input/output error\n");
            assert!(
                ran.stderr.contains(&line),
                "{line} is missing in {}",
                ran.stderr
            );
            assert!(!logged.contains(name), "{name} is lost and logged");
        }
        assert!(
            ran.stderr
                .ends_with("durastar: Exiting with failure status due to previous errors\n")
        );
        if !lost.contains("x") && !lost.contains(".") {
            // Nothing else is affected.
            let files = (1..=400)
                .map(|i| format!("x/{i}"))
                .filter(|name| !lost.contains(name));
            for name in files {
                assert!(logged.contains(&name), "{name} is neither lost nor logged");
            }
        }
    }
}

#[test]
fn a_group_whose_sync_fails_is_told_and_only_what_is_proven_is_logged() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    twenty_files(&work);
    for mode in ["--sync=group", "--sync=batch"] {
        let words = [mode, "--settled-log=log", "-xf", "x.tar", "-C", "o"];
        // Only the sync of the file system fails.
        work.sh("rm -rf o; mkdir o");
        let inject = ["-e", "trace=syncfs", "-e", "inject=syncfs:error=EIO"];
        let (ran, calls) = traced(&work, &inject, &words, &[]);
        assert_eq!(ran.code, Some(2), "{mode}: {}", ran.stderr);
        assert_eq!(injected(&work, &calls, "syncfs").len(), 1);
        assert!(
            ran.stderr
                .contains("durastar: .: Cannot sync: Input/output error: 23 members may be lost\n"),
            "{mode}: {}",
            ran.stderr
        );
        // Nor is any file stable by itself: nothing may be logged.
        work.sh("rm -rf o; mkdir o");
        let inject = [
            "-e",
            "trace=syncfs,fsync",
            "-e",
            "inject=syncfs,fsync:error=EIO",
        ];
        let (ran, _) = traced(&work, &inject, &words, &[]);
        assert_eq!(ran.code, Some(2), "{mode}: {}", ran.stderr);
        assert_eq!(log(&work), BTreeSet::new(), "{mode}");
        // A later window does not make good an earlier one that failed.
        if mode == "--sync=group" {
            work.sh("rm -rf o; mkdir o");
            let inject = [
                "-e",
                "trace=syncfs,fsync",
                "-e",
                "inject=syncfs:error=EIO:when=1",
                "-e",
                "inject=fsync:error=EIO:when=1",
            ];
            let small = [&words[..], &["--sync-window=5,"]].concat();
            let (ran, calls) = traced(&work, &inject, &small, &[]);
            assert_eq!(ran.code, Some(2), "{}", ran.stderr);
            let logged = log(&work);
            for name in injected(&work, &calls, "fsync") {
                assert!(!logged.contains(&name), "{name} is lost and logged");
            }
        }
    }
}

#[test]
fn a_failing_close_is_a_lost_file_in_every_mode() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    twenty_files(&work);
    for mode in ["none", "each", "group", "batch"] {
        for jobs in ["--jobs=1", "--jobs=8"] {
            work.sh("rm -rf o log; mkdir o; : >log");
            let mode = format!("--sync={mode}");
            let lost = ["x/1/4", "x/2/7"];
            let paths = lost.map(|name| work.path("o").join(name));
            let mut strace = vec!["-e", "trace=close", "-e", "inject=close:error=EDQUOT"];
            for path in &paths {
                strace.extend(["-P", path.to_str().expect("a plain name")]);
            }
            let words = [&mode, jobs, "--settled-log=log", "-xf", "x.tar", "-C", "o"];
            let (ran, calls) = traced(&work, &strace, &words, &[]);
            assert!(
                !injected(&work, &calls, "close").is_empty(),
                "{mode} {jobs}"
            );
            assert_eq!(ran.code, Some(2), "{mode} {jobs}: {}", ran.stderr);
            let logged = log(&work);
            for name in lost {
                let line = format!("durastar: {name}: Cannot close: Disk quota exceeded\n");
                assert!(ran.stderr.contains(&line), "{mode} {jobs}: {}", ran.stderr);
                assert!(!logged.contains(name), "{mode} {jobs}: {name}");
            }
        }
    }
}

#[test]
fn a_failing_write_is_a_lost_file_in_every_mode() {
    if !can_trace() {
        return;
    }
    let work = Workdir::new();
    twenty_files(&work);
    for mode in ["none", "each", "group", "batch"] {
        work.sh("rm -rf o log; mkdir o; : >log");
        let mode = format!("--sync={mode}");
        let path = work.path("o/x/1/4");
        let strace = [
            "-e",
            "trace=write,pwrite64,writev",
            "-e",
            "inject=write,pwrite64,writev:error=ENOSPC",
            "-P",
            path.to_str().expect("a plain name"),
        ];
        let words = [&mode, "--settled-log=log", "-xf", "x.tar", "-C", "o"];
        let (ran, _) = traced(&work, &strace, &words, &[]);
        assert_eq!(ran.code, Some(2), "{mode}: {}", ran.stderr);
        assert!(
            ran.stderr
                .contains("durastar: x/1/4: Cannot write: No space left on device\n"),
            "{mode}: {}",
            ran.stderr
        );
        assert!(!log(&work).contains("x/1/4"), "{mode}");
        assert_eq!(
            fs::read_to_string(work.path("o/x/1/6")).expect("the rest is there"),
            "6\n"
        );
    }
}

#[test]
fn the_settled_log_has_every_member_once() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    work.sh(
        "mkdir -p d/e o; echo 1 >d/f; ln d/f d/g; ln -s f d/l; mkfifo d/p; echo 2 >\"d/new
line\"; echo 3 >'d/back\\slash'; tar --sort=name -cf a.tar d",
    );
    let raw: BTreeSet<&[u8]> = [
        &b"d/"[..],
        b"d/e/",
        b"d/f",
        b"d/g",
        b"d/l",
        b"d/p",
        b"d/new\nline",
        b"d/back\\slash",
    ]
    .into();
    let escaped: BTreeSet<&[u8]> = [
        &b"d/"[..],
        b"d/e/",
        b"d/f",
        b"d/g",
        b"d/l",
        b"d/p",
        b"d/new\\nline",
        b"d/back\\\\slash",
    ]
    .into();
    for mode in DURABLE {
        for window in ["1,", "3,", "1000,"] {
            for (end, null, expected) in [(b'\n', "--no-null", &escaped), (b'\0', "--null", &raw)] {
                work.sh("rm -rf o; mkdir o");
                let (sync, window) = (format!("--sync={mode}"), format!("--sync-window={window}"));
                let words = [
                    &sync,
                    &window,
                    null,
                    "--settled-log=log",
                    "-xf",
                    "a.tar",
                    "-C",
                    "o",
                ];
                work.run("durastar", &words).quiet();
                let text = fs::read(work.path("log")).expect("it was written");
                let text = text.strip_suffix(&[end]).expect("the last name has an end");
                let names: Vec<&[u8]> = text.split(|byte| *byte == end).collect();
                assert_eq!(names.len(), expected.len(), "{mode} {window}");
                assert_eq!(
                    &names.into_iter().collect::<BTreeSet<_>>(),
                    expected,
                    "{mode}"
                );
            }
        }
    }
    // Nothing is promised, so nothing is settled.
    work.sh("rm -rf o; mkdir o");
    let words = [
        "--sync=none",
        "--settled-log=log",
        "-xf",
        "a.tar",
        "-C",
        "o",
    ];
    work.run("durastar", &words).quiet();
    assert_eq!(fs::read(work.path("log")).expect("it was written"), b"");
    // To standard output; star's option for NUL.
    work.sh("rm -rf o; mkdir o");
    let words = [
        "-x",
        "-U",
        "-read0",
        "--settled-log=-",
        "-no-statistics",
        "f=a.tar",
        "-C",
        "o",
    ];
    let ran = work.run("star", &words);
    let found: BTreeSet<&[u8]> = ran
        .stdout_bytes
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(found, raw);
    // Where it cannot be written nothing is extracted.
    work.sh("rm -rf o; mkdir o");
    let ran = work.run(
        "durastar",
        &["--settled-log=no/log", "-xf", "a.tar", "-C", "o"],
    );
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no/log"), "{}", ran.stderr);
    assert_eq!(
        fs::read_dir(work.path("o")).expect("a directory").count(),
        0
    );
}

/// Unmounts when the test ends, however it does.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

fn mount(work: &Workdir, image: &str, options: &str, dir: &str) -> Option<Mounted> {
    let status = Command::new("mount")
        .args(["-o", options])
        .args([work.path(image), work.dir(dir)])
        .status();
    status
        .is_ok_and(|status| status.success())
        .then(|| Mounted(work.path(dir)))
}

#[test]
fn what_ended_in_success_survives_a_power_cut() {
    if !is_root() {
        eprintln!("skipped, as only root may mount");
        return;
    }
    if !["mkfs.ext4", "mount", "umount"]
        .into_iter()
        .all(|program| has(program) || Path::new("/sbin").join(program).exists())
    {
        return;
    }
    let work = Workdir::new();
    work.sh(
        "mkdir t; for i in $(seq 200); do head -c 3000 /dev/urandom >t/$i; done; ln -s 1 t/l; ln t/1 t/h; mkdir t/e
         tar -cf t.tar t",
    );
    for mode in DURABLE {
        for more in ["--sync-method=auto", "--sync-method=fsync"] {
            work.sh(
                "PATH=$PATH:/sbin:/usr/sbin; rm -f img snap; truncate -s 64M img; mkfs.ext4 -q img",
            );
            // The journal does not commit by itself in between.
            let Some(mounted) = mount(&work, "img", "loop,commit=600", "m1") else {
                eprintln!("skipped, as loop devices cannot be mounted here");
                return;
            };
            let words = [&format!("--sync={mode}"), more, "-xf", "t.tar", "-C", "m1"];
            work.run("durastar", &words).quiet();
            work.sh("cp img snap");
            drop(mounted);
            let _mounted = mount(&work, "snap", "loop", "m2").expect("the journal is replayed");
            let whole = (1..=200)
                .filter(|i| {
                    let name = format!("t/{i}");
                    fs::read(work.path("m2").join(&name)).is_ok_and(|found| {
                        found == fs::read(work.path(&name)).expect("it is there")
                    })
                })
                .count();
            assert_eq!(whole, 200, "{mode} {more}");
            let after = work.path("m2/t");
            assert_eq!(
                fs::read_link(after.join("l")).expect("a link"),
                Path::new("1"),
                "{mode}"
            );
            assert_eq!(
                fs::read(after.join("h")).expect("a link"),
                fs::read(work.path("t/1")).expect("it is there"),
                "{mode}"
            );
            assert!(after.join("e").is_dir(), "{mode}");
        }
    }
}
