//! GNU tar's command line: run side by side with it, word for word.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::support::{Differences, Workdir, fixture, gnu_tar, has, has_gnu_tar, source_dir};

/// A small archive and what else command lines here name.
const SETUP: &str = "mkdir -p d/e o; echo one >d/f; ln d/f d/g; ln -s f d/l; echo x >top
     find d top -exec touch -h -d @1234567890 {} +; tar --sort=name -cf a.tar d top; rm -r d top";

#[test]
fn usage_errors_word_for_word() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for words in [
        &[][..],
        &["-f", "a.tar"],
        &["-v"],
        &["a.tar"],
        &["-xt", "-f", "a.tar"],
        &["-x", "-t", "-f", "a.tar"],
        &["-tx"],
        &["--bogus"],
        &["--bogus=1", "-tf", "a.tar"],
        &["-tf", "a.tar", "-Y"],
        &["-tf"],
        &["-tf", "a.tar", "-C"],
        &["-tf", "a.tar", "--directory"],
        &["-tf", "a.tar", "--strip-components"],
        &["-tf", "a.tar", "--strip-components=x"],
        &["-tf", "a.tar", "--strip-components=-1"],
        &["-tf", "a.tar", "--list=1"],
        &["-tf", "a.tar", "--verbose=2"],
        &["-tf", "a.tar", "--no-same"],
        &["-tf", "a.tar", "-b", "x"],
        &["-tf", "a.tar", "-b", "0"],
        &["-tf", "a.tar", "--record-size=1000"],
        &["-tf", "a.tar", "--record-size=x"],
        &["-tf", "a.tar", "--quoting-style=fancy"],
        &["-tf", "a.tar", "--warning=bogus"],
        &["-tf", "a.tar", "--totals=BOGUS"],
        &["-tf", "a.tar", "--checkpoint=x"],
        &["-tf", "a.tar", "-z", "-j"],
        &["-xf", "a.tar", "-k", "--overwrite"],
        &["-xf", "a.tar", "--overwrite", "--unlink-first"],
        &["-tf", "a.tar", "-f", "b.tar"],
        &["tf"],
        &["tfY", "a.tar"],
        &["xtf", "a.tar"],
        &["tfC", "a.tar"],
        &["tbf", "x", "a.tar"],
    ] {
        differences.run(SETUP, words);
    }
    differences.none();
}

#[test]
fn ambiguous_abbreviations() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for word in ["--no", "--ex", "--keep", "--fil=a.tar"] {
        differences.run(SETUP, &["-tf", "a.tar", word]);
    }
    differences.none();
}

#[test]
fn corners_of_listing() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for words in [
        &["-Rtf", "a.tar"][..],
        &["-Rtvf", "a.tar"],
        &["-tf", "a.tar", "--checkpoint=1"],
        &["-xvvf", "a.tar", "-C", "o", "d/f"],
    ] {
        differences.run(SETUP, words);
    }
    differences.none();
}

#[test]
fn targets_of_absolute_hard_links() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    let setup = "mkdir in o; echo f >in/f; ln in/f in/g; touch -d @1234567890 in/f
         tar -Pcf a.tar in/f in/g --transform='s,in/,/in/,'; rm -r in";
    differences.run(setup, &["-tvf", "a.tar"]);
    differences.run(setup, &["-xvf", "a.tar", "-C", "o"]);
    differences.none();
}

#[test]
fn words_in_every_order_and_form() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for words in [
        &["tf", "a.tar"][..],
        &["tvf", "a.tar"],
        &["ft", "a.tar"],
        &["xvf", "a.tar", "-C", "o"],
        &["xvfC", "a.tar", "o"],
        &["xCvf", "o", "a.tar", "top"],
        &["tbf", "20", "a.tar"],
        &["tfX", "a.tar", "/dev/null"],
        &["-tfa.tar"],
        &["-vtfa.tar"],
        &["-t", "--file", "a.tar"],
        &["-t", "--file=a.tar"],
        &["--lis", "--fi", "a.tar"],
        &["--extr", "-f", "a.tar", "--direc=o"],
        &["--get", "-f", "a.tar", "--di", "o"],
        &["-ttf", "a.tar"],
        &["top", "-tf", "a.tar"],
        &["-tf", "a.tar", "--", "top"],
        &["-tf", "a.tar", "--", "-top"],
        &["-tf", "a.tar", "--add-file=top"],
        &["-tf", "a.tar", "--add-file=-top"],
        &["-tf", "./a.tar"],
        &["-tf", "a.tar", "--force-local"],
        &["-tvf", "a.tar", "-v"],
        &["-tvvvf", "a.tar"],
        &["-xvvf", "a.tar", "-C", "o"],
        &["-xvf", "a.tar", "--directory=o", "--strip=1"],
        &["-itf", "a.tar"],
        &["-ntf", "a.tar"],
        &["-tf", "a.tar", "--no-seek"],
        &["-tf", "a.tar", "--checkpoint"],
        &["-tf", "a.tar", "--quoting-style=c"],
        &["-tf", "missing.tar"],
        &["-xf", "missing.tar"],
        &["-tf", "a.tar", "-T", "missing"],
        &["-tf", "a.tar", "-X", "missing"],
        &["-xf", "a.tar", "-C", "missing"],
        &["-tf", "a.tar", "missing", "top", "d/missing/"],
    ] {
        differences.run(SETUP, words);
    }
    differences.none();
}

#[test]
fn options_from_the_environment() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for (words, options) in [
        (&["-tf", "a.tar"][..], "-v"),
        (&["-tf", "a.tar"], "--verbose --full-time"),
        (&["-tf", "a.tar"], "--exclude='d/*' --quoting-style=c"),
        (&["-tf", "a.tar"], "--exclude=d\\/f"),
        (&["-t"], "-f a.tar"),
        (&["-tf", "a.tar"], "  "),
        (&["-tf", "a.tar"], "--bogus"),
        (&["-tf", "a.tar"], "word"),
        (&["-tf", "a.tar"], "--strip-components=x"),
        (&["tf", "a.tar"], "-v"),
        (&["xf", "a.tar"], "-C o"),
    ] {
        differences.run_in(SETUP, words, &[("TAR_OPTIONS", options)]);
    }
    differences.run_in(SETUP, &["-t"], &[("TAPE", "a.tar")]);
    differences.run_in(SETUP, &["-t"], &[("TAPE", "missing")]);
    differences.run_in(SETUP, &["-tf", "a.tar"], &[("TAPE", "missing")]);
    differences.none();
}

/// `Total bytes read: 10240 (10KiB, 3.0MiB/s)`: the rate depends on the clock.
#[test]
fn totals_are_gnu_tars() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    let work = Workdir::new();
    work.sh(&format!(
        "{SETUP}; head -c 3000000 /dev/zero >z; tar -cf big.tar z; tar -b1 -cf one.tar z; gzip -k big.tar"
    ));
    for words in [
        &["-xf", "a.tar", "--totals"][..],
        &["-tf", "a.tar", "--totals"],
        &["-xf", "big.tar", "--totals"],
        &["-tf", "big.tar", "--totals"],
        &["-tf", "one.tar", "-b1", "--totals"],
        &["-xOf", "big.tar.gz", "--totals"],
        &["-tf", "big.tar", "--totals", "-n"],
        &["-tf", "big.tar", "--totals", "--no-seek"],
        &["-tf", "missing.tar", "--totals"],
        &["-tf", "a.tar", "--totals", "missing"],
    ] {
        let rateless = |text: &str| -> Vec<String> {
            text.lines()
                .map(|line| match line.rsplit_once(", ") {
                    Some((start, rate)) if line.starts_with("Total") => {
                        let unit: String = rate.chars().filter(|c| !c.is_ascii_digit()).collect();
                        assert!(unit.ends_with("B/s)"), "{line}");
                        start.to_owned()
                    }
                    _ => line.to_owned(),
                })
                .collect()
        };
        let expected = gnu_tar(&work.path(""), words, &[]);
        let found = work.run("tar", words);
        if rateless(&found.stderr) != rateless(&expected.stderr) || found.code != expected.code {
            differences.note(format!(
                "{words:?}\nGNU tar: {}here: {}",
                expected.stderr, found.stderr
            ));
        }
    }
    differences.none();
}

/// Every style of quoting in every detail, and what else changes a line.
fn forms() -> Vec<Vec<&'static str>> {
    let mut forms = Vec::new();
    for style in [
        "--quoting-style=literal",
        "--quoting-style=shell",
        "--quoting-style=shell-always",
        "--quoting-style=c",
        "--quoting-style=c-maybe",
        "--quoting-style=escape",
        "--quoting-style=locale",
        "--quoting-style=clocale",
    ] {
        forms.extend(["-t", "-tv", "-tvv"].map(|detail| vec![style, detail]));
    }
    let others: [&[&str]; 13] = [
        &["-tvv"],
        &["-tv", "--full-time"],
        &["-tv", "--utc"],
        &["-tv", "--numeric-owner"],
        &["-tv", "--quote-chars=abc "],
        &["-tv", "--no-quote-chars=\n "],
        &["-tv", "--quoting-style=literal", "--quote-chars=a"],
        &[
            "-tv",
            "--transform=s,dir,odd\\,",
            "--show-transformed-names",
        ],
        &["-tv", "--transform=s,dir,X,rSH", "--show-transformed-names"],
        &["-tv", "--strip-components=1", "--show-transformed-names"],
        &["-tv", "--seek"],
        &["-tv", "--ignore-zeros"],
        &["-t", "--block-number"],
    ];
    forms.extend(others.map(<[&str]>::to_vec));
    forms
}

/// Lists this fixture in these forms, and with -t and -tvR, and compares standard output.
fn list_fixture(name: &str, forms: &[Vec<&str>], differences: &mut Differences) {
    let work = Workdir::new();
    // Once, not for every form.
    let path = fixture(name);
    work.sh(&format!("gzip -dc '{}' >a.tar", path.display()));
    let mut compare = |words: &[&str], zone: &str| {
        let words = [words, &["-f", "a.tar"]].concat();
        let expected = gnu_tar(&work.path(""), &words, &[("TZ", zone)]);
        let found = work.program("tar").words(&words).env("TZ", zone).run();
        if found.stdout_bytes != expected.stdout_bytes {
            let mut lines = expected.stdout.lines().zip(found.stdout.lines());
            let first = lines.find(|(expected, found)| expected != found);
            differences.note(format!("{name}: TZ={zone} tar {words:?}: {first:?}"));
        }
        // GNU tar takes a negative time in a star header for one after the end of time.
        if expected.code == Some(0) && found.code != Some(0) {
            differences.note(format!("{name}: TZ={zone} tar {words:?}: {:?}", found.code));
        }
    };
    compare(&["-t"], "UTC");
    compare(&["-tvR"], "UTC");
    for zone in ["UTC", "Europe/Berlin", "America/St_Johns"] {
        compare(&["-tv"], zone);
    }
    for words in forms {
        compare(words, "UTC");
    }
}

/// Where GNU tar shows something of the archive's making rather than of the member.
const OWN_LISTING: [&str; 5] = [
    "gnu/incremental-0.tar.gz",
    "gnu/incremental-1.tar.gz",
    "gnu/mv-gnu-2.tar.gz",
    "gnu/mv-gnu-3.tar.gz",
    "gnu/posix-label.tar.gz",
];

/// What GNU tar misreads: the format of 1985, volumes in the middle of a set, swapped bytes, star's negative times; and
/// what is no archive for either.
const BEYOND: [&str; 12] = [
    "star/asc.tar.gz",
    "star/bin.tar.gz",
    "star/cpio.tar.gz",
    "star/crc.tar.gz",
    "star/odc.tar.gz",
    "star/star.tar.gz",
    "star/tar.tar.gz",
    "star/mv1.tar.gz",
    "star/mv2.tar.gz",
    "star/ustar-byteswapped.tar.gz",
    "star/xstar.tar.gz",
    "star/gnutar.tar.gz",
];

#[test]
fn listings_of_every_fixture_byte_for_byte() {
    if !has_gnu_tar() || !has("gzip") {
        return;
    }
    let mut differences = Differences::default();
    let mut count = 0;
    for folder in ["star", "gnu", "bsd", "busybox"] {
        for entry in fs::read_dir(source_dir().join("fixtures").join(folder)).expect("readable") {
            let name = entry.expect("readable").file_name();
            let name = format!("{folder}/{}", name.to_str().expect("a plain name"));
            if !BEYOND.contains(&name.as_str()) && !OWN_LISTING.contains(&name.as_str()) {
                // Each maker's names and links; the forms do not depend on the format.
                let all = ["gnu/posix.tar.gz", "gnu/gnu.tar.gz", "bsd/v7tar.tar.gz"];
                let forms = if all.contains(&name.as_str()) {
                    forms()
                } else {
                    Vec::new()
                };
                list_fixture(&name, &forms, &mut differences);
                count += 1;
            }
        }
    }
    assert!(count > 20);
    list_fixture("bzip2-1.0.8.tar.gz", &forms(), &mut differences);
    differences.none();
}

#[test]
fn listings_of_volumes_labels_and_dumpdirs() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for name in OWN_LISTING {
        list_fixture(name, &[vec!["-tvv"]], &mut differences);
    }
    differences.none();
}

/// `tar -tf big | head -1`: the pipe's signal ends it, and nothing is said.
#[test]
fn a_closed_pipe_ends_it_quietly() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir in o; for i in $(seq 3000); do : >in/a-name-that-is-not-short-$i; done; head -c 3000000 /dev/zero >in/z
             tar --sort=name -cf a.tar in; for i in $(seq 30000); do echo in/a-name-that-is-not-short-1; done >list");
    for words in [
        &["-tf", "a.tar"][..],
        &["-tvf", "a.tar"],
        &["-xvf", "a.tar", "-C", "o"],
        &["-xOf", "a.tar"],
    ] {
        let mut child = work
            .program("tar")
            .words(words)
            .command()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut output = BufReader::with_capacity(1, child.stdout.take().expect("a pipe"));
        let mut first = Vec::new();
        if words[0] == "-xOf" {
            let mut byte = [1];
            std::io::Read::read_exact(&mut output, &mut byte).expect("it writes");
        } else {
            output.read_until(b'\n', &mut first).expect("it writes");
            assert!(first.ends_with(b"in/\n"));
        }
        // More follows than a pipe holds.
        drop(output);
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(
            ended.status.signal(),
            Some(13),
            "{words:?}: {:?}",
            ended.status
        );
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{words:?}");
    }
}

#[test]
fn help_and_version_end_well() {
    let work = Workdir::new();
    for name in ["tar", "durastar", "gtar", "star"] {
        for option in ["--help", "--version"] {
            let ran = work.run(name, &[option]);
            assert_eq!(
                (ran.code, ran.stderr.as_str()),
                (Some(0), ""),
                "{name} {option}"
            );
            assert!(!ran.stdout.is_empty(), "{name} {option}");
        }
    }
    assert!(
        work.run("tar", &["--version"])
            .stdout
            .contains("GNU tar 1.34")
    );
    // What is known and not done says so.
    for option in ["--test-label", "-xW"] {
        let ran = work.run("tar", &[option, "-f", "a.tar", "x"]);
        assert_eq!(ran.code, Some(2), "{option}");
        assert!(
            ran.stderr.contains("not supported yet"),
            "{option}: {}",
            ran.stderr
        );
    }
}

/// Names that lead out of the destination (GNU tar's manual, "Absolute File Names" and "Security rules of thumb").
#[test]
fn dangerous_names_are_treated_like_gnu_tar_does() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for make in [
        "tar -Pcf a.tar $PWD/in/f --transform='s,.*/in/,/in/,'",
        "tar -Pcf a.tar in/f --transform='s,in/f,../f,'",
        "tar -Pcf a.tar in/f --transform='s,in/f,in/../g,'",
        "tar -Pcf a.tar in/f --transform='s,in/f,//x//f,'",
        "tar -Pcf a.tar in/f --transform='s,in/f,./f,'",
    ] {
        let setup = format!(
            "mkdir in o; echo f >in/f; ln in/f in/g; touch -d @1234567890 in/f; {make}; touch -d @1234567890 in; rm -r in"
        );
        for words in [
            &["-xvf", "a.tar", "-C", "o"][..],
            &["-tvf", "a.tar"],
            &["-xf", "a.tar", "-C", "o", "--strip-components=1"],
        ] {
            // There GNU tar 1.34 writes outside of the destination.
            if !make.contains("//x//f") || words[0] != "-xf" {
                differences.run(&setup, words);
            }
        }
    }
    differences.none();
}
