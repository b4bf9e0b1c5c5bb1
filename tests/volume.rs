//! Archives over several volumes: sets that GNU tar made, read side by side with it.

use std::fs;

use crate::support::{Differences, Workdir, fixture, has, has_gnu_tar};

/// Sets of ten volumes named `FORMAT.1.tar` and so on; `o` is a directory.
const SETS: &str = "mkdir o; long=$(printf 'n%.0s' $(seq 130))
    seq 1 60000 >big; seq 1 9000 >middle; seq 1 30000 >$long; : >empty; ln big link
    truncate -s 3M sparse; for at in 0 7 15 23; do seq 1 4000 | dd of=sparse bs=100k seek=$at conv=notrunc status=none; done
    touch -d @1234567890 big middle $long empty sparse
    for format in gnu oldgnu posix; do
      archives=$(for at in $(seq 10); do echo -f $format.$at.tar; done)
      tar -cMS -L 100 -H $format $archives middle big empty link $long sparse </dev/null 2>/dev/null
      tar -cM -L 100 -V set -H $format -f label-$format.1.tar -f label-$format.2.tar -f label-$format.3.tar -f label-$format.4.tar big
    done; rm big middle $long empty sparse link";

fn words<'a>(first: &[&'a str], volumes: &[&'a str], last: &[&'a str]) -> Vec<&'a str> {
    let volumes = volumes.iter().flat_map(|volume| ["-f", volume]);
    let first = first.iter().copied();
    first.chain(volumes).chain(last.iter().copied()).collect()
}

#[test]
fn sets_are_listed_and_extracted_as_gnu_tar_does() {
    if !has_gnu_tar() || !has("seq") {
        return;
    }
    let mut differences = Differences::default();
    for format in ["gnu", "oldgnu", "posix"] {
        let names: Vec<_> = (1..=10).map(|at| format!("{format}.{at}.tar")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        differences.run(SETS, &words(&["-tvMR"], &names, &[]));
        differences.run(SETS, &words(&["-xvM"], &names, &["-C", "o"]));
        differences.run(SETS, &words(&["-xOM"], &names, &["big"]));
        differences.run(
            SETS,
            &words(&["-xM"], &names, &["-C", "o", "sparse", "empty"]),
        );
        let labels: Vec<_> = (1..=4)
            .map(|at| format!("label-{format}.{at}.tar"))
            .collect();
        let labels: Vec<_> = labels.iter().map(String::as_str).collect();
        differences.run(SETS, &words(&["-tM"], &labels, &[]));
        differences.run(SETS, &words(&["-xvM"], &labels, &["-C", "o"]));
    }
    differences.none();
}

#[test]
fn missing_and_wrong_volumes_word_for_word() {
    if !has_gnu_tar() || !has("seq") {
        return;
    }
    let mut differences = Differences::default();
    for volumes in [
        &["gnu.1.tar"][..],
        &["gnu.1.tar", "gnu.3.tar"],
        &["gnu.1.tar", "gnu.3.tar", "gnu.2.tar"],
        &["gnu.1.tar", "missing"],
        &["gnu.1.tar", "missing", "gnu.2.tar"],
        &["missing"],
        &["gnu.1.tar", "posix.2.tar", "gnu.2.tar"],
        &["gnu.1.tar", "label-gnu.2.tar"],
        &["gnu.2.tar"],
        &["posix.2.tar"],
    ] {
        differences.run(SETS, &words(&["-tvM"], volumes, &[]));
        differences.run(SETS, &words(&["-xvM"], volumes, &["-C", "o"]));
    }
    // A part of a set that is taken for a whole archive.
    for words in [
        &["-tvf", "gnu.2.tar"][..],
        &["-xvf", "gnu.2.tar", "-C", "o"],
        &["-xOvf", "gnu.2.tar"],
        &["-tvf", "posix.2.tar"],
        &["-tf", "gnu.1.tar", "-f", "gnu.2.tar"],
        &["-tMzf", "gnu.1.tar"],
    ] {
        differences.run(SETS, words);
    }
    differences.none();
}

#[test]
fn scripts_bring_volumes() {
    if !has_gnu_tar() || !has("seq") {
        return;
    }
    let mut differences = Differences::default();
    let told = "echo $TAR_ARCHIVE $TAR_VOLUME $TAR_BLOCKING_FACTOR $TAR_FORMAT $TAR_SUBCOMMAND; echo ${TAR_ARCHIVE%%.*}.$TAR_VOLUME.tar >&$TAR_FD";
    for words in [
        &["-t", "-F", told, "-f", "gnu.1.tar"][..],
        &["-tM", "--info-script", told, "-f", "posix.1.tar"],
        &[
            "-xv",
            "--new-volume-script",
            told,
            "-f",
            "posix.1.tar",
            "-C",
            "o",
        ],
        &[
            "-x",
            "-F",
            told,
            "-f",
            "gnu.1.tar",
            "-f",
            "gnu.2.tar",
            "-C",
            "o",
        ],
        &["-t", "-F", "exit 3", "-f", "gnu.1.tar"],
        &[
            "-tM",
            "--volno-file=count",
            "-f",
            "gnu.1.tar",
            "-f",
            "gnu.2.tar",
            "-F",
            "exit 1",
        ],
    ] {
        differences.run(SETS, words);
    }
    differences.none();
}

#[test]
fn a_person_brings_volumes() {
    if !has_gnu_tar() || !has("seq") {
        return;
    }
    let work = Workdir::new();
    work.sh(SETS);
    let answers = b"?\nz\nn\nn gnu.2.tar\n\nn gnu.3.tar\nn gnu.4.tar\ny\nq\n".to_vec();
    let ran = work
        .program("tar")
        .words(&["-tMf", "gnu.1.tar"])
        .input(answers)
        .run();
    assert_eq!(
        (ran.code, ran.stdout.starts_with("middle\nbig\n")),
        (Some(2), true)
    );
    let asked: Vec<_> = ran
        .stderr
        .split("Prepare volume ")
        .skip(1)
        .map(|part| part.split(" and").next().unwrap_or_default())
        .collect();
    let (one, two, three, four) = ("‘gnu.1.tar’", "‘gnu.2.tar’", "‘gnu.3.tar’", "‘gnu.4.tar’");
    let expected = [
        format!("#2 for {one}"),
        format!("#2 for {one}"),
        format!("#2 for {one}"),
        format!("#2 for {one}"),
        // gnu.2 again: refused.
        format!("#3 for {two}"),
        format!("#3 for {two}"),
        format!("#4 for {three}"),
        // gnu.4 again.
        format!("#5 for {four}"),
        format!("#5 for {four}"),
    ];
    assert_eq!(asked, expected, "{}", ran.stderr);
    assert!(ran.stderr.contains("This volume is out of sequence"));
    assert!(ran.stderr.contains("File name not specified. Try again."));
    assert!(ran.stderr.contains("No new volume; exiting."));
}

#[test]
fn parts_of_a_set_of_star_follow_each_other() {
    if !has("gzip") {
        return;
    }
    let work = Workdir::new();
    for name in ["mv1", "mv2"] {
        let packed = fixture(&format!("star/{name}.tar.gz"));
        work.sh(&format!("gzip -dc {} >{name}", packed.display()));
    }
    // The volumes were made in two files in turn: mv2 is the second of the set, mv1 the third, and the first is lost.
    let found = work.run("star", &["-t", "f=mv2", "f=mv1"]);
    let continued = "././@MultHeader --Continued at byte 1013760--\n";
    assert_eq!((found.code, &found.stdout[..]), (Some(0), continued));
    assert!(
        found.stderr.contains("total of 2088960 bytes"),
        "{}",
        found.stderr
    );
    let refused = work.run("star", &["-t", "-multivol", "f=mv2", "f=mv2", "f=mv1"]);
    assert_eq!(refused.code, Some(0));
    let why = "this is volume 2, volume 3 is wanted";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let alone = work.run("star", &["-x", "-multivol", "f=mv2"]);
    assert_eq!(alone.code, Some(255));
    let extracted = work.run("star", &["-x", "f=mv2", "f=mv1"]);
    assert_eq!(extracted.code, Some(254));
    assert!(extracted.stderr.contains("continued from another volume"));
    // Its program is told the number and the name.
    work.sh("printf '#!/bin/sh\\necho $1 $2 >told; mv mv1 mv2\\n' >next; chmod +x next");
    let brought = work.run("star", &["-t", "new-volume-script=./next", "f=mv2"]);
    assert_eq!((brought.code, &brought.stdout[..]), (Some(0), continued));
    assert_eq!(fs::read(work.path("told")).expect("it ran"), b"2 mv2\n");
}
