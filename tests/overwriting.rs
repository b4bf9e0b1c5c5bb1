//! What becomes of what is there already: every kind of object on disk under every kind of member and option.
//!
//! `overwriting.expected` was recorded from GNU tar 1.34 (`RECORD_GNU=1` does it again with the tar that is installed), so
//! the test needs none. What is otherwise here on purpose is left out below, with the reason.

use std::fmt::Write;
use std::fs;

use crate::support::{Ran, Workdir, gnu_tar, source_dir, tree};

/// Makes the member `o`, and `t` for it to be linked to.
const MEMBERS: [(&str, &str); 5] = [
    ("file", "echo new >o"),
    ("directory", "mkdir o; echo in >o/in"),
    ("symlink", "ln -s t o"),
    ("hardlink", "ln t o"),
    ("fifo", "mkfifo o"),
];

/// Makes `o` on disk.
const THERE: [(&str, &str); 11] = [
    ("older file", "echo old >o; touch -d @900000000 o"),
    (
        "file of the same age",
        "echo old >o; touch -d @1000000000 o",
    ),
    ("newer file", "echo old >o"),
    ("file with two names", "echo old >o; ln o other"),
    ("file without permissions", "echo old >o; chmod 0 o"),
    ("empty directory", "mkdir o; touch -d @900000000 o"),
    (
        "full directory",
        "mkdir o; echo x >o/x; touch -d @900000000 o/x o",
    ),
    ("link to a file", "echo l >l; ln -s l o"),
    ("link to a directory", "mkdir l; ln -s l o"),
    ("dangling link", "ln -s gone o"),
    ("FIFO", "mkfifo o"),
];

const OPTIONS: [&str; 11] = [
    "",
    "--keep-old-files",
    "--skip-old-files",
    "--keep-newer-files",
    "--overwrite",
    "--unlink-first",
    "--recursive-unlink",
    "--overwrite-dir",
    "--no-overwrite-dir",
    "--keep-directory-symlink",
    "--backup",
];

/// What is otherwise here on purpose.
fn differs(there: &str, option: &str) -> bool {
    match option {
        // GNU tar opens the FIFO and waits for a reader.
        "--overwrite" => there == "FIFO",
        // GNU tar sets the time of a directory whose metadata its manual says are preserved.
        "--no-overwrite-dir" => there.ends_with("directory"),
        _ => false,
    }
}

fn outcome(ran: &Ran, work: &Workdir) -> String {
    let mut line = format!("exit {}", ran.code.unwrap_or(-1));
    for said in ran.stderr.lines() {
        // A warning that GNU tar does not give.
        if !said.contains("Symbolic link to a directory replaced by a directory") {
            let _ = write!(line, " | {said}");
        }
    }
    for (name, object) in tree(&work.path("")) {
        if name.is_empty() || name == b"a.tar" {
            continue;
        }
        let _ = write!(line, "; {} {:o}", name.escape_ascii(), object.mode);
        match object.mtime.0 {
            0..1_500_000_000 => {
                let _ = write!(line, " @{}", object.mtime.0);
            }
            _ => line.push_str(" now"),
        }
        if !object.contents.is_empty() {
            let _ = write!(line, " {:?}", String::from_utf8_lossy(&object.contents));
        }
        if let Some(first) = object.same_as {
            let _ = write!(line, " = {}", first.escape_ascii());
        }
    }
    line
}

#[test]
fn every_object_in_the_way_of_every_member_is_treated_as_gnu_tar_treats_it() {
    let record = std::env::var_os("RECORD_GNU").is_some();
    let run = |member: &(&str, &str)| {
        let mut lines = Vec::new();
        let made = Workdir::new();
        made.sh(&format!(
            "mkdir A; cd A; echo target >t; {}; find . -exec touch -h -d @1000000000 {{}} +; tar --owner=0 --group=0 \\
             --sort=name -cf ../a.tar $(ls -r)",
            member.1
        ));
        for (there, setup) in THERE {
            for option in OPTIONS {
                if differs(there, option) {
                    continue;
                }
                let work = Workdir::new();
                fs::copy(made.path("a.tar"), work.path("a.tar")).expect("a copy");
                work.sh(setup);
                let mut words = vec!["-xf", "a.tar"];
                words.extend([option].iter().filter(|option| !option.is_empty()));
                let ran = if record {
                    gnu_tar(&work.path(""), &words, &[])
                } else {
                    work.run("tar", &words)
                };
                let outcome = outcome(&ran, &work);
                lines.push(format!("{} over {there} {option}: {outcome}", member.0));
            }
        }
        lines
    };
    let found: Vec<String> = std::thread::scope(|scope| {
        let run = &run;
        let runs: Vec<_> = MEMBERS
            .iter()
            .map(|member| scope.spawn(move || run(member)))
            .collect();
        let joined = runs.into_iter().map(|run| run.join().expect("no panic"));
        joined.flatten().collect()
    });
    let path = source_dir().join("tests/overwriting.expected");
    if record {
        fs::write(&path, found.join("\n") + "\n").expect("writable");
        return;
    }
    let expected = fs::read_to_string(&path).expect("recorded");
    let different: Vec<String> = expected
        .lines()
        .zip(&found)
        .filter(|(expected, found)| expected != found)
        .map(|(expected, found)| format!("GNU tar: {expected}\n   here: {found}"))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert_eq!(expected.lines().count(), found.len());
}
