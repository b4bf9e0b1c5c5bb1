//! Members behind those that an archive has: append, update, join, as GNU tar does them.

use std::fs;

use crate::support::{Differences, Workdir, has, has_gnu_tar};

const TREE: &str = "mkdir d; echo one >d/a; echo two >d/b; ln d/a d/h; ln -s a d/l
    touch -d @1000000000 d/a d/b d; touch -h -d @1000000000 d/l; tar -cf x.tar d; tar -cf p.tar d/b";

/// Runs the same words in both programs, and lists what came of it.
fn both(differences: &mut Differences, setup: &str, words: &[&str], archive: &str) {
    let setup = format!("{TREE}\n{setup}");
    differences.run(&setup, words);
    let listed = |program: &str| {
        let work = Workdir::new();
        work.sh(&setup);
        if program == "tar" {
            work.sh(&format!(
                "tar {} 2>/dev/null >/dev/null || :",
                words.join(" ")
            ));
        } else {
            work.run("tar", words);
        }
        work.sh(&format!("tar --full-time -tvf {archive} 2>&1 || :"))
            .stdout
    };
    let (theirs, ours) = (listed("tar"), listed("durastar"));
    // Times of what was made in the two directories differ.
    let stable = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                [&words[..3.min(words.len())], &words[5.min(words.len())..]]
                    .concat()
                    .join(" ")
            })
            .collect()
    };
    if stable(&theirs) != stable(&ours) {
        differences.note(format!("{words:?}: GNU tar:\n{theirs}here:\n{ours}"));
    }
}

#[test]
fn members_are_appended_updated_and_joined_as_by_gnu_tar() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    let new = "echo three >d/c; touch -d @1000000000 d/c d";
    for (setup, words, archive) in [
        (new, &["-rvf", "x.tar", "d/c"][..], "x.tar"),
        (new, &["-rf", "new.tar", "d"], "new.tar"),
        (new, &["-rf", "x.tar", "-T", "/dev/null"], "x.tar"),
        (new, &["-uvf", "x.tar", "d"], "x.tar"),
        (
            "echo newer >d/b; touch -d @1100000000 d/b",
            &["-uvf", "x.tar", "d"],
            "x.tar",
        ),
        (
            "echo older >d/b; touch -d @900000000 d/b",
            &["-uvf", "x.tar", "d"],
            "x.tar",
        ),
        ("", &["-uf", "x.tar", "nowhere"], "x.tar"),
        ("", &["-Af", "x.tar", "p.tar"], "x.tar"),
        ("", &["-rf", "-", "d"], "x.tar"),
        ("", &["-b1", "-rf", "x.tar", "d/b"], "x.tar"),
    ] {
        both(&mut differences, setup, words, archive);
    }
    differences.none();
}

/// GNU tar 1.34 leaves the end-of-archive blocks of all but the last one in, and then lists the first only.
#[test]
fn several_archives_are_joined_so_that_all_members_are_found() {
    let work = Workdir::new();
    work.sh("echo a >a; echo b >b");
    work.run("tar", &["-cf", "a.tar", "a"]).quiet();
    work.run("tar", &["-cf", "b.tar", "b"]).quiet();
    work.run("tar", &["-Af", "new.tar", "a.tar", "b.tar", "a.tar"])
        .quiet();
    assert_eq!(
        work.run("tar", &["-tf", "new.tar"]).quiet().stdout,
        "a\nb\na\n"
    );
}

#[test]
fn members_are_deleted_as_by_gnu_tar() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    let long = "d=$(printf '%0150d' 0); echo l >d/$d; ln -s $d d/s";
    for (setup, words) in [
        ("", &["--delete", "-f", "x.tar", "d/b"][..]),
        ("", &["--delete", "-vf", "x.tar", "d/b", "d/l"]),
        ("", &["--delete", "-f", "x.tar", "d"]),
        ("", &["--delete", "-f", "x.tar", "nowhere"]),
        (
            &format!("{long}; tar --format=gnu -cf x.tar d"),
            &["--delete", "-f", "x.tar", "d/b"],
        ),
        (
            &format!("{long}; tar --format=posix -cf x.tar d"),
            &["--delete", "-f", "x.tar", "d/s"],
        ),
        (
            "tar --format=posix -V all -cf x.tar d",
            &["--delete", "-f", "x.tar", "d/a"],
        ),
    ] {
        both(&mut differences, setup, words, "x.tar");
    }
    differences.none();
}

#[test]
fn compressed_archives_are_not_appended_to() {
    let work = Workdir::new();
    work.sh("echo a >a");
    work.run("tar", &["-czf", "a.tgz", "a"]).quiet();
    let before = fs::read(work.path("a.tgz")).expect("it was written");
    let said =
        "tar: Cannot update compressed archives\ntar: Error is not recoverable: exiting now\n";
    work.run("tar", &["-rf", "a.tgz", "a"]).says(2, said);
    assert_eq!(fs::read(work.path("a.tgz")).expect("it is there"), before);
}

#[test]
fn a_run_that_fails_leaves_the_archive_as_it_was() {
    if !has("strace") {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir d; seq 200000 >d/f; echo a >a");
    work.run("tar", &["-cf", "a.tar", "a"]).quiet();
    let before = fs::read(work.path("a.tar")).expect("it was written");
    let archive = work.path("a.tar");
    let wrapper = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "trace",
        "-P",
        archive.to_str().expect("a plain name"),
        "-e",
        "trace=pwrite64",
        "-e",
        "inject=pwrite64:error=ENOSPC:when=2",
    ];
    let ran = crate::support::behind(&work, &wrapper, &["-rf", "a.tar", "d"]).run();
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("No space left on device"),
        "{}",
        ran.stderr
    );
    assert!(fs::read(&archive).expect("it is there") == before);
}
