//! Options by which the user, or a program of the user, has a say in each member: `-w`, `--to-command`, `--backup`,
//! `--safe-writes`, owner maps, star's `-ask-remove` and `-e`. What GNU tar 1.34 does was written down here.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Stdio;

use crate::support::{Workdir, behind, has, is_root};

/// `a.tar` with `d`, `d/f`, `d/g`, a hard link `d/h` and a symbolic link `d/s`.
fn archive() -> Workdir {
    let work = Workdir::new();
    work.sh(
        "mkdir d; echo hello >d/f; echo g >d/g; ln d/f d/h; ln -s f d/s; find d -exec touch -h -d @1000000000 {} +; \
         tar --sort=name --owner=0 --group=0 --numeric-owner -H ustar -cf a.tar d; rm -r d",
    );
    work
}

#[test]
fn each_member_is_asked_for() {
    for (answers, stdout, there) in [
        (
            "y\nYes\nno\ny\n\n",
            "extract \u{2018}d\u{2019}?extract \u{2018}d/f\u{2019}?extract \u{2018}d/g\u{2019}?extract \u{2018}d/h\u{2019}?extract \u{2018}d/s\u{2019}?",
            "f h",
        ),
        // At the end of the answers everything is left out.
        (
            "y",
            "extract \u{2018}d\u{2019}?extract \u{2018}d/f\u{2019}?\nextract \u{2018}d/g\u{2019}?\nextract \u{2018}d/h\u{2019}?\nextract \u{2018}d/s\u{2019}?\n",
            "",
        ),
    ] {
        let work = archive();
        let program = work.program("tar").words(&["-xwf", "a.tar"]);
        let ran = program.input(answers.into()).run();
        ran.quiet();
        assert_eq!(ran.stdout, stdout);
        assert_eq!(work.sh("echo $(ls d)").stdout.trim_end(), there);
    }
    // With -v the name follows the question, with -O both go to standard error.
    let work = archive();
    let program = work.program("tar").words(&["-xvwf", "a.tar", "d/f", "d/g"]);
    let ran = program.input(b"n\ny\n".to_vec()).run();
    assert_eq!(
        ran.stdout,
        "extract \u{2018}d/f\u{2019}?extract \u{2018}d/g\u{2019}?d/g\n"
    );
    let program = work.program("tar").words(&["-xOwf", "a.tar", "d/f", "d/g"]);
    let ran = program.input(b"n\ny\n".to_vec()).run();
    assert_eq!((ran.stdout.as_str(), ran.code), ("g\n", Some(0)));
    assert_eq!(
        ran.stderr,
        "extract \u{2018}d/f\u{2019}?extract \u{2018}d/g\u{2019}?"
    );
}

#[test]
fn answers_come_from_the_terminal_when_the_archive_does_not_leave_standard_input_free() {
    if !has("setsid") {
        return;
    }
    let work = archive();
    let bytes = fs::read(work.path("a.tar")).expect("readable");
    // No terminal at all.
    let ran = behind(&work, &["setsid", "-w"], &["-xwf", "-"])
        .input(bytes)
        .run();
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("/dev/tty: Cannot open: "),
        "{}",
        ran.stderr
    );
    assert!(!work.path("d").exists());
}

#[test]
fn star_asks_for_another_name_too() {
    let work = archive();
    let program = work
        .program("star")
        .words(&["-x", "-w", "-U", "-no-statistics", "f=a.tar"]);
    let ran = program.input(b"y\nc\nd/new\nN\nn\n\n".to_vec()).run();
    ran.quiet();
    assert_eq!(work.sh("echo $(ls d)").stdout, "new\n");
    // A name that was typed leads no further out than one of the archive.
    let program =
        work.program("star")
            .words(&["-x", "-w", "-U", "-no-statistics", "f=a.tar", "d/g"]);
    let ran = program.input(b"c\n../outside\n".to_vec()).run();
    assert_eq!(ran.code, Some(254));
    assert!(!work.path("../outside").exists());
}

#[test]
fn star_removes_nothing_without_consent() {
    let work = archive();
    work.sh("mkdir d; echo old >d/f; echo old >d/g");
    let words = [
        "-x",
        "-U",
        "-ask-remove",
        "-no-statistics",
        "f=a.tar",
        "d/f",
        "d/g",
    ];
    let ran = work
        .program("star")
        .words(&words)
        .input(b"n\ny\n".to_vec())
        .run();
    assert_eq!(ran.code, Some(254));
    assert_eq!(
        ran.stdout,
        "remove 'd/f' ? Y(es)/N(o) :remove 'd/g' ? Y(es)/N(o) :"
    );
    assert_eq!(work.sh("cat d/f d/g").stdout, "old\ng\n");
}

#[test]
fn star_refreshes_keeps_full_directories_and_aborts() {
    let work = archive();
    work.sh("mkdir d; echo old >d/f");
    work.run(
        "star",
        &["-x", "-U", "-refresh", "-no-statistics", "f=a.tar"],
    )
    .quiet();
    assert_eq!(work.sh("ls d; cat d/f").stdout, "f\nhello\n");
    work.sh("rm d/f; mkdir d/f; echo >d/f/x");
    let words = ["-x", "-U", "-no-statistics", "f=a.tar", "d/f"];
    assert_eq!(work.run("star", &words).code, Some(254));
    let words = [
        "-x",
        "-U",
        "-keep-nonempty-dirs",
        "-no-statistics",
        "f=a.tar",
        "d/f",
    ];
    work.run("star", &words).quiet();
    // The first failure is the last thing that happens.
    let words = ["-x", "-U", "-e", "-no-statistics", "f=a.tar"];
    assert_eq!(work.run("star", &words).code, Some(253));
    assert!(!work.path("d/g").exists());
}

#[test]
fn a_command_gets_contents_and_is_told_of_the_member() {
    let work = archive();
    let ran = work.run(
        "tar",
        &[
            "-xvf",
            "a.tar",
            "--to-command=cat; env | grep ^TAR_ | LC_ALL=C sort | grep -v 'TIME=1[7-9]'",
            "d/f",
            "d/s",
        ],
    );
    ran.quiet();
    assert_eq!(
        ran.stdout,
        format!(
            "d/f\nhello\nTAR_ARCHIVE=a.tar\nTAR_BLOCKING_FACTOR=20\nTAR_FILENAME=d/f\nTAR_FILETYPE=f\nTAR_FORMAT=ustar\n\
             TAR_GID=0\nTAR_MODE=0644\nTAR_MTIME=1000000000\nTAR_REALNAME=d/f\nTAR_SIZE=6\nTAR_UID=0\n\
             TAR_VERSION={}\nTAR_VOLUME=1\nd/s\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert!(!work.path("d").exists());
    // Names are bytes in the environment, never words of the command.
    work.sh("mkdir e; echo x >'e/a b; touch owned'; tar -cf b.tar e");
    let ran = work.run(
        "tar",
        &[
            "-xf",
            "b.tar",
            "--to-command=printf '[%s]' \"$TAR_FILENAME\"",
        ],
    );
    assert_eq!(ran.stdout, "[e/a b; touch owned]");
    assert!(!work.path("owned").exists());
}

#[test]
fn how_a_command_ends_is_told() {
    let work = archive();
    let run = |words: &[&str]| {
        let mut all = vec!["-xf", "a.tar", "d/f"];
        all.extend(words);
        let ran = work.run("tar", &all);
        // The process's number is the one thing that cannot be known.
        let stderr = ran.stderr.splitn(3, ": ").collect::<Vec<_>>();
        let said = match stderr[..] {
            ["tar", number, rest] if number.parse::<u32>().is_ok() => format!("tar: N: {rest}"),
            _ => ran.stderr.clone(),
        };
        (ran.code, said)
    };
    let failed = "tar: N: Child returned status 3\ntar: Exiting with failure status due to previous errors\n";
    assert_eq!(run(&["--to-command=exit 3"]), (Some(2), failed.into()));
    assert_eq!(
        run(&["--to-command=exit 3", "--ignore-command-error"]),
        (Some(0), String::new())
    );
    let both = [
        "--ignore-command-error",
        "--no-ignore-command-error",
        "--to-command=exit 3",
    ];
    assert_eq!(run(&both), (Some(2), failed.into()));
    // A signal is only worth a warning to GNU tar.
    let killed = "tar: N: Child terminated on signal 15\n";
    assert_eq!(
        run(&["--to-command=kill -TERM $$"]),
        (Some(0), killed.into())
    );
    assert_eq!(
        run(&["-O", "--to-command=exit 3"]),
        (Some(0), String::new())
    );
}

#[test]
fn a_command_need_not_read_everything() {
    let work = Workdir::new();
    work.sh("head -c 3000000 /dev/zero >big; echo after >small; tar -cf a.tar big small");
    let ran = work.run("tar", &["-xf", "a.tar", "--to-command=head -c 3 | wc -c"]);
    ran.quiet();
    assert_eq!(
        ran.stdout.split_whitespace().collect::<Vec<_>>(),
        ["3", "3"]
    );
    // The files that it makes are made with the user's umask.
    work.run(
        "tar",
        &["-xf", "a.tar", "--to-command=cat >copy; exec <&-", "small"],
    )
    .quiet();
    let mask = work.sh("umask").stdout;
    let mask = u32::from_str_radix(mask.trim_end(), 8).expect("octal");
    assert_eq!(
        fs::metadata(work.path("copy")).expect("there").mode() & 0o777,
        0o666 & !mask
    );
}

#[test]
fn backups_are_named_as_gnu_names_them() {
    for (words, environment, expected) in [
        (&["--backup"][..], None, "f f.~1~ f~ h"),
        (&["--backup=numbered"], None, "f f.~1~ f.~2~ h"),
        (&["--backup=simple"], None, "f f.~1~ f~ h"),
        (&["--backup=nil"], None, "f f.~1~ f.~2~ h"),
        (&["--backup=none"], None, "f f.~1~ h"),
        (
            &["--suffix=.bak", "--backup=never"],
            None,
            "f f.bak f.~1~ h",
        ),
        (
            &["--backup"],
            Some(("VERSION_CONTROL", "simple")),
            "f f.~1~ f~ h",
        ),
        (
            &["--backup=simple"],
            Some(("SIMPLE_BACKUP_SUFFIX", ".o")),
            "f f.o f.~1~ h",
        ),
        (&[], Some(("VERSION_CONTROL", "numbered")), "f f.~1~ h"),
    ] {
        for safe in [&[][..], &["--safe-writes"]] {
            for mode in ["--sync=none", "--sync=each", "--sync=group", "--sync=batch"] {
                let work = archive();
                work.sh("mkdir d; echo old >d/f; ln d/f d/h; echo older >d/f.~1~");
                let mut program = work.program("tar").words(&["-xvf", "a.tar", "d/f", mode]);
                program = program.words(words).words(safe);
                if let Some((name, value)) = environment {
                    program = program.env(name, value);
                }
                let ran = program.run();
                ran.quiet();
                let expected = if words == ["--backup"] && environment.is_none() {
                    // There are numbered ones.
                    "f f.~1~ f.~2~ h"
                } else {
                    expected
                };
                let there = work.sh("LC_ALL=C ls d | tr '\\n' ' '").stdout;
                let mut expected: Vec<_> = expected.split(' ').collect();
                expected.sort_unstable();
                assert_eq!(
                    there.trim_end(),
                    expected.join(" "),
                    "{words:?} {safe:?} {mode}"
                );
                let new = expected
                    .iter()
                    .find(|name| !["f", "h", "f.~1~"].contains(name));
                let told = new.map_or(String::new(), |new| {
                    format!("Renaming \u{2018}d/f\u{2019} to \u{2018}d/{new}\u{2019}\n")
                });
                assert_eq!(ran.stdout, format!("d/f\n{told}"));
                if let Some(new) = new {
                    assert_eq!(
                        fs::read(work.path(&format!("d/{new}"))).expect("kept"),
                        b"old\n"
                    );
                }
                assert_eq!(fs::read(work.path("d/f")).expect("new"), b"hello\n");
                assert_eq!(fs::read(work.path("d/h")).expect("untouched"), b"old\n");
            }
        }
    }
}

#[test]
fn a_backup_that_cannot_be_made_costs_the_member() {
    let work = archive();
    work.sh("mkdir -p d/f~; echo old >d/f");
    work.run("tar", &["-xf", "a.tar", "--backup=simple", "d/f"])
        .says(
            2,
            "tar: d/f: Cannot rename to \u{2018}d/f~\u{2019}: Is a directory\n\
         tar: d/f: Was unable to backup this file: Is a directory\n\
         tar: Exiting with failure status due to previous errors\n",
        );
    assert_eq!(work.sh("cat d/f").stdout, "old\n");
    work.run("tar", &["-xf", "a.tar", "--backup=bogus"]).says(
        2,
        "tar: invalid argument \u{2018}bogus\u{2019} for \u{2018}--backup\u{2019}\nValid arguments are:\n\
         \x20 - \u{2018}none\u{2019}, \u{2018}off\u{2019}\n  - \u{2018}simple\u{2019}, \u{2018}never\u{2019}\n\
         \x20 - \u{2018}existing\u{2019}, \u{2018}nil\u{2019}\n  - \u{2018}numbered\u{2019}, \u{2018}t\u{2019}\n",
    );
}

#[test]
fn a_backup_goes_back_when_the_member_cannot_be_made() {
    let work = archive();
    work.sh("mkdir d; echo old >d/h");
    // Its target is not there.
    let ran = work.run("tar", &["-xvf", "a.tar", "--backup=simple", "d/h"]);
    assert_eq!(
        ran.stdout,
        "d/h\nRenaming \u{2018}d/h\u{2019} to \u{2018}d/h~\u{2019}\nRenaming \u{2018}d/h~\u{2019} back to \u{2018}d/h\u{2019}\n"
    );
    assert_eq!(work.sh("ls d; cat d/h").stdout, "h\nold\n");
}

#[test]
fn safe_writes_leave_what_others_leave_and_nothing_temporary() {
    for (program, words) in [
        ("tar", &["--safe-writes", "-xf", "a.tar"][..]),
        (
            "star",
            &["-x", "-U", "-install", "-no-statistics", "f=a.tar"],
        ),
    ] {
        for mode in ["--sync=none", "--sync=each", "--sync=group", "--sync=batch"] {
            let work = archive();
            work.sh("mkdir d; echo old >d/f; echo old >d/h");
            symlink("g", work.path("d/s")).expect("a link");
            let ran = work.program(program).words(words).words(&[mode]).run();
            ran.quiet();
            assert_eq!(
                work.sh("ls -A d; cat d/*; stat -c %h d/f; readlink d/s")
                    .stdout,
                "f\ng\nh\ns\nhello\ng\nhello\nhello\n2\nf\n"
            );
        }
    }
    let work = archive();
    for words in [["--overwrite"], ["-U"], ["--recursive-unlink"]] {
        let ran = work
            .program("tar")
            .words(&["--safe-writes", "-xf", "a.tar"])
            .words(&words)
            .run();
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr
                .contains("'--safe-writes' cannot be used with '--"),
            "{}",
            ran.stderr
        );
    }
    // An archive that is cut off does not cost the old file.
    work.sh("mkdir d; echo old >d/f; head -c 1026 a.tar >cut.tar");
    let ran = work.run("tar", &["--safe-writes", "-xf", "cut.tar"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(work.sh("ls -A d; cat d/f").stdout, "f\nold\n");
}

#[test]
fn owners_become_others() {
    if !is_root() {
        return;
    }
    let work = archive();
    work.write("owners", "+0 +1234\n");
    work.write("groups", "# all\n+0 anybody:4321\n");
    work.run(
        "tar",
        &["--owner-map=owners", "--group-map=groups", "-xf", "a.tar"],
    )
    .quiet();
    assert_eq!(
        work.sh("stat -c %u:%g d d/f d/s").stdout,
        "1234:4321\n".repeat(3)
    );
    work.write("bad", "+0\n+x +1\n");
    work.run("tar", &["--owner-map=bad", "-xf", "a.tar"]).says(
        2,
        "tar: bad:1: malformed line\ntar: bad:2: invalid UID: x\ntar: errors reading map file\n\
         tar: Error is not recoverable: exiting now\n",
    );
    work.run("tar", &["--group-map=missing", "-xf", "a.tar"]).says(
        2,
        "tar: missing: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now\n",
    );
}

#[test]
fn an_interrupted_run_leaves_no_temporary_names() {
    let work = Workdir::new();
    work.sh("mkdir d; for i in $(seq 50); do echo new >d/$i; done; tar -cf a.tar d; echo old >d/1");
    let mut command = work
        .program("tar")
        .words(&["--safe-writes", "--sync=batch", "-xf", "-"])
        .command();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let bytes = fs::read(work.path("a.tar")).expect("readable");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, &bytes[..20 * 512]).expect("it reads");
    // It waits for more now, or will; the next member after the signal ends it.
    work.sh(&format!("kill -INT {}", child.id()));
    let _ = std::io::Write::write_all(&mut input, &bytes[20 * 512..]);
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty() || said.contains("interrupted"), "{said}");
    assert_eq!(work.sh("ls -A d | grep -c durastar || :").stdout, "0\n");
}
