//! Journals on the command line: runs that are killed and go on, what is refused, what is said.

use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};

use crate::support::{Workdir, assert_same_tree, has, has_gnu_tar};

/// A tree with every kind of member that anybody may make, names of files that came long before, and one name twice.
fn tree_and_archive(work: &Workdir) {
    work.sh(
        "mkdir -p x/d x/ro; for i in $(seq 300); do echo $i >x/d/$i; done; head -c 300000 /dev/urandom >x/big
         ln x/d/1 x/z1; ln x/d/299 x/z2; ln -s d/1 x/s; mkfifo x/p; echo r >x/ro/f; chmod 640 x/d/7; chmod 555 x/ro
         touch -d @1234567890 x/d/* x/big x/ro/f x/p; touch -hd @1234567890 x/s; touch -d @1234567891 x/ro x/d x
         tar --sort=name -cf a.tar x; echo twice >x/d/1; touch -d @1234567892 x/d/1; touch -d @1234567891 x/d
         tar -rf a.tar x/d/1; mkdir whole; tar -xf a.tar -C whole; touch -d @1234567891 whole/x/d",
    );
}

/// The program, reading the archive from a pipe; killed after so many bytes were taken.
fn killed(work: &Workdir, words: &[&str], bytes: &[u8]) {
    let mut child = fed(work, words, bytes);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

fn fed(work: &Workdir, words: &[&str], bytes: &[u8]) -> Child {
    let mut child = work
        .program("durastar")
        .words(words)
        .command()
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let input = child.stdin.as_mut().expect("a pipe");
    input.write_all(bytes).expect("it reads");
    child
}

/// What the report says of this field.
fn reported(work: &Workdir, field: &str) -> u64 {
    let text = fs::read_to_string(work.path("r.json")).expect("a report");
    let at = text.find(&format!("\"{field}\": ")).expect("the field");
    let number = text[at + field.len() + 4..].chars();
    let digits: String = number.take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn a_run_killed_again_and_again_is_resumed_to_the_same_tree() {
    let work = Workdir::new();
    tree_and_archive(&work);
    let bytes = fs::read(work.path("a.tar")).expect("the archive");
    let tail = ["--journal=j", "--sync-window=16,", "-C", "o"];
    for mode in ["--sync=group", "--sync=each"] {
        for from in ["a.tar", "-"] {
            work.sh("rm -rf o j; mkdir o");
            let mut resume = None;
            for eighth in [2, 3, 5, 7] {
                let words = [&[mode, "-xf", "-"], &tail[..], resume.as_slice()].concat();
                killed(&work, &words, &bytes[..bytes.len() * eighth / 8]);
                // It may have been killed before it had made its journal.
                resume = work.path("j").exists().then_some("--resume");
            }
            let words = [
                &[mode, "-xf", from, "--report=r.json"],
                &tail[..],
                resume.as_slice(),
            ]
            .concat();
            work.program("durastar")
                .words(&words)
                .input(bytes.clone())
                .run()
                .quiet();
            assert_same_tree(&work.path("whole"), &work.path("o"));
            // All is there, so that once more changes nothing.
            let words = [
                &[mode, "-xf", from, "--report=r.json", "--resume"],
                &tail[..],
            ]
            .concat();
            work.program("durastar")
                .words(&words)
                .input(bytes.clone())
                .run()
                .quiet();
            assert_same_tree(&work.path("whole"), &work.path("o"));
            assert!(reported(&work, "resumed") >= 300, "{mode} {from}");
        }
    }
}

#[test]
fn what_was_changed_since_is_repaired() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    tree_and_archive(&work);
    for dialect in [
        &["cli=gnutar", "-xf", "a.tar"][..],
        &["cli=star", "-x", "f=a.tar", "-no-statistics", "-p"],
    ] {
        let mut words = dialect.to_vec();
        words.extend(["--sync=group", "--journal=j", "-C", "o"]);
        work.sh("rm -rf o j; mkdir o");
        work.run("durastar", &words).quiet();
        work.sh(
            "cd o/x; rm d/5 z2; echo longer >d/6; touch -d @1234567890 d/6; chmod 777 d/8; touch d/9
             ln -sfn other s; rm p; : >p; chmod 700 ro; touch ro/f; rm d/1",
        );
        words.extend(["--resume", "--report=r.json"]);
        work.run("durastar", &words).quiet();
        assert_same_tree(&work.path("whole"), &work.path("o"));
        assert!(reported(&work, "repaired") >= 8);
    }
}

/// star keeps files that are not older than the member. What the killed run left half done is newer, but nobody's.
#[test]
fn rules_for_what_exists_do_not_protect_what_was_left_unfinished() {
    let work = Workdir::new();
    work.sh(
        "mkdir x o; head -c 400000 /dev/urandom >x/a; echo b >x/b; echo c >x/c; touch -d @1234567890 x/* x
         tar -cf a.tar x/a x/b x/c; mkdir o/x; echo newer >o/x/c; sleep 0.02",
    );
    let bytes = fs::read(work.path("a.tar")).expect("the archive");
    let words = [
        "cli=star",
        "-x",
        "f=-",
        "-C",
        "o",
        "--sync=group",
        "--journal=j",
        "--fifo-size=64k",
        "bs=512",
    ];
    let mut child = fed(&work, &words, &bytes[..200_000]);
    while !work.path("o/x/a").exists() {
        std::thread::yield_now();
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let words = [
        "cli=star",
        "-x",
        "f=a.tar",
        "-C",
        "o",
        "--sync=group",
        "--journal=j",
        "--resume",
        "-no-statistics",
    ];
    work.run("durastar", &words);
    assert_eq!(
        fs::read(work.path("o/x/a")).unwrap(),
        fs::read(work.path("x/a")).unwrap()
    );
    assert_eq!(fs::read_to_string(work.path("o/x/b")).unwrap(), "b\n");
    assert_eq!(fs::read_to_string(work.path("o/x/c")).unwrap(), "newer\n");
}

#[test]
fn what_does_not_go_together_is_refused_with_the_reason() {
    let work = Workdir::new();
    tree_and_archive(&work);
    work.sh("mkdir o other; cp -p a.tar b.tar; tar -rf b.tar x/s; cp -p a.tar c.tar; printf Z | dd of=c.tar conv=notrunc status=none
             tar --sort=name --exclude=x/big -cf d.tar x");
    work.run("durastar", &["-xf", "a.tar", "-C", "o", "--journal=j"])
        .quiet();
    for (words, reason) in [
        (
            &["-xf", "a.tar", "-C", "o", "--journal=j"][..],
            "it exists already",
        ),
        (
            &["-xf", "b.tar", "-C", "o", "--journal=j", "--resume"],
            "the archive has changed: it has",
        ),
        (
            &["-xf", "c.tar", "-C", "o", "--journal=j", "--resume"],
            "its first blocks are others",
        ),
        (
            &["-xf", "a.tar", "-C", "other", "--journal=j", "--resume"],
            "the destination is another directory",
        ),
        (
            &["-xf", "a.tar", "-C", "o", "--journal=j", "--resume", "x/d"],
            "another choice of members",
        ),
        (
            &["-xf", "a.tar", "-C", "o", "--journal=j", "--resume", "-m"],
            "other rules for restoring",
        ),
        (
            &["-xf", "a.tar", "-C", "o", "--journal=none", "--resume"],
            "No such file",
        ),
        (
            &["-xf", "a.tar", "-C", "o", "--journal=a.tar", "--resume"],
            "--journal names the archive",
        ),
        (
            &["-xf", "a.tar", "-C", "o", "--journal=x/z1", "--resume"],
            "this is no journal",
        ),
        (&["-xf", "a.tar", "-C", "o", "--resume"], "--resume needs"),
        (
            &["-xf", "a.tar", "-C", "o", "--journal=k", "--sync=batch"],
            "needs --sync=each or --sync=group",
        ),
        (
            &["-xf", "a.tar", "-C", "o", "--verify-settled", "--sync=none"],
            "needs --sync=each or --sync=group",
        ),
        (&["-tf", "a.tar", "--journal=k"], "is for extracting"),
        (&["-xOf", "a.tar", "--verify-settled"], "is for extracting"),
    ] {
        let ran = work.run("durastar", words);
        assert_eq!(ran.code, Some(2), "{words:?}");
        assert!(ran.stderr.contains(reason), "{words:?}: {}", ran.stderr);
    }
    // A pipe has no size: its headers tell.
    let other = fs::read(work.path("d.tar")).expect("an archive");
    let words = ["-xf", "-", "-C", "o", "--journal=j", "--resume"];
    let ran = work.program("durastar").words(&words).input(other).run();
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("the archive is another one"),
        "{}",
        ran.stderr
    );
    assert!(!work.path("k").exists());
    let words = ["-xf", "a.tar", "-C", "o", "--journal=j", "--resume"];
    work.run("durastar", &words).quiet();
    assert_same_tree(&work.path("whole"), &work.path("o"));
}

#[test]
fn verified_files_are_read_past_the_page_cache() {
    if !has("strace") {
        return;
    }
    let work = Workdir::new();
    tree_and_archive(&work);
    for mode in ["--sync=group", "--sync=each"] {
        work.sh("rm -rf o; mkdir o");
        let wrapper = [
            "strace",
            "-f",
            "-qq",
            "-o",
            "trace",
            "-e",
            "trace=openat,fadvise64,fsync,syncfs",
        ];
        let words = [
            mode,
            "--verify-settled",
            "--report=r.json",
            "-xf",
            "a.tar",
            "-C",
            "o",
        ];
        crate::support::behind(&work, &wrapper, &words)
            .run()
            .quiet();
        let trace = fs::read_to_string(work.path("trace")).expect("a trace");
        let past = trace.lines().filter(|line| {
            line.contains("O_DIRECT") && !line.contains(" = -1") || line.contains("fadvise64")
        });
        // 302 files, one of them replaced by its second version.
        assert!(past.count() >= 302, "{mode}");
        assert!(reported(&work, "verified_files") >= 302, "{mode}");
        assert_same_tree(&work.path("whole"), &work.path("o"));
    }
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let work = Workdir::new();
    tree_and_archive(&work);
    work.sh("mkdir o");
    let bytes = fs::read(work.path("a.tar")).expect("the archive");
    let mut child = work
        .program("durastar")
        .words(&["-xf", "-", "-C", "o", "--journal=my j", "--checkpoint=1"])
        .command()
        .stdin(Stdio::piped())
        .stderr(fs::File::create(work.path("err")).expect("a file"))
        .spawn()
        .expect("it starts");
    let input = child.stdin.as_mut().expect("a pipe");
    input
        .write_all(&bytes[..bytes.len() / 2])
        .expect("it reads");
    let said = || fs::read_to_string(work.path("err")).expect("text");
    while !said().contains("checkpoint 5\n") {
        std::thread::yield_now();
    }
    work.sh(&format!("kill -INT {}", child.id()));
    child.wait().expect("it ends");
    let said = said();
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("durastar: to go on: "));
    let line = line.expect("a command");
    assert_eq!(
        line,
        "durastar -xf - -C o '--journal=my j' --checkpoint=1 --resume"
    );
    let line = line.replacen("durastar", env!("CARGO_BIN_EXE_durastar"), 1);
    work.sh(&format!("{line} <a.tar"));
    assert_same_tree(&work.path("whole"), &work.path("o"));
}
