//! Compressed archives, as the programs make them: whole, in pieces, damaged, and by a program of the user's.

use std::fs;

use crate::support::{Workdir, assert_same_tree, has, has_gnu_tar};

/// Format, the program that makes it, the command, the option that enforces it.
const FORMATS: [(&str, &str, &str, &str); 8] = [
    ("gzip", "gzip", "gzip -c", "--gzip"),
    ("bzip2", "bzip2", "bzip2 -c", "--bzip2"),
    ("xz", "xz", "xz -c", "--xz"),
    ("lzma", "xz", "xz --format=lzma -c", "--lzma"),
    ("zstd", "zstd", "zstd -q -c", "--zstd"),
    ("lz4", "lz4", "lz4 -q -B4 -c", "-I lz4"),
    ("lzip", "lzip", "lzip -c", "--lzip"),
    ("compress", "compress", "compress -c", "--compress"),
];

/// A tree, its archive `a.tar`, and that compressed in each format whose program is there: `a.FORMAT`.
fn archives(work: &Workdir) -> Vec<(&'static str, &'static str, &'static str)> {
    work.sh(
        "mkdir in; for i in 1 2 3 4 5 6 7 8; do seq -f \"%g times $i\" 20000 >in/$i; done; head -c 200000 /dev/urandom >in/r
         tar --sort=name --format=posix -cf a.tar -C in .",
    );
    FORMATS
        .into_iter()
        .filter(|(_, program, _, _)| has(program) && (*program != "compress" || has("gzip")))
        .map(|(format, _, command, option)| {
            work.sh(&format!("{command} <a.tar >a.{format}"));
            (format, command, option)
        })
        .collect()
}

#[test]
fn whole_from_a_file_and_from_a_pipe() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    for (format, _, option) in archives(&work) {
        let name = format!("a.{format}");
        let bytes = fs::read(work.path(&name)).expect("it is there");
        let named: Vec<&str> = option.split(' ').collect();
        for (at, words) in [&[][..], &named, &["-a"]].into_iter().enumerate() {
            let out = format!("{format}-{at}");
            work.dir(&out);
            work.program("tar")
                .words(&["-xpf", &name, "-C", &out])
                .words(words)
                .run()
                .quiet();
            assert_same_tree(&work.path("in"), &work.path(&out));
            let out = format!("{format}-{at}-pipe");
            work.dir(&out);
            work.program("tar")
                .words(&["-xp", "-C", &out])
                .words(words)
                .input(bytes.clone())
                .run()
                .quiet();
            assert_same_tree(&work.path("in"), &work.path(&out));
        }
        let listed = work.run("tar", &["-tf", &name]);
        assert_eq!(
            listed.quiet().stdout,
            work.run("tar", &["-tf", "a.tar"]).stdout,
            "{format}"
        );
    }
}

/// Streams one after the other are one archive, wherever it is cut (gzip, RFC 1952 section 2.2; zstd, RFC 8878 section
/// 3; the manuals of bzip2, xz, lz4 and lzip). xz(1) and compress(1) refuse it in the .lzma format and in their own, in
/// which nothing says that it cannot be.
#[test]
fn concatenated_streams_are_one_archive() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    for (_, command, _) in archives(&work) {
        for cut in [1, 511, 512, 100_000] {
            // compress(1) fails with what it cannot make shorter, and writes it all the same.
            let line = format!(
                "set +e; (head -c {cut} a.tar | {command}; : | {command}; tail -c +{} a.tar | {command}) >b; rm -rf o; mkdir o",
                cut + 1
            );
            work.sh(&line);
            work.run("tar", &["-xpf", "b", "-C", "o"]).quiet();
            assert_same_tree(&work.path("in"), &work.path("o"));
        }
    }
}

#[test]
fn cut_short_is_a_failure_that_is_told() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    for (format, _, _) in archives(&work) {
        let name = format!("a.{format}");
        let bytes = fs::read(work.path(&name)).expect("it is there");
        for (at, left) in [bytes.len() / 2, bytes.len() - 20, bytes.len() - 1]
            .into_iter()
            .enumerate()
        {
            if format == "compress" && at > 0 {
                // Its format has neither an end nor a sum: what lacks is seen only where the archive breaks off.
                continue;
            }
            for piped in [false, true] {
                work.sh("rm -rf o; mkdir o");
                work.write("cut", &bytes[..left]);
                let ran = if piped {
                    work.program("tar")
                        .words(&["-x", "-C", "o"])
                        .input(bytes[..left].to_vec())
                        .run()
                } else {
                    work.run("tar", &["-xf", "cut", "-C", "o"])
                };
                assert_eq!(
                    ran.code,
                    Some(2),
                    "{format} {left} of {}: {}",
                    bytes.len(),
                    ran.stderr
                );
                let told = if format == "compress" {
                    ran.stderr.contains("nexpected")
                } else {
                    ran.stderr.contains(&format!(
                        "tar: {format}: unexpected end of compressed data\n"
                    ))
                };
                assert!(told, "{format} {left}: {}", ran.stderr);
                assert!(
                    ran.stderr
                        .ends_with("tar: Error is not recoverable: exiting now\n"),
                    "{format}: {}",
                    ran.stderr
                );
                // What had come whole is there.
                if at > 0 {
                    let found = fs::read(work.path("o/1"))
                        .unwrap_or_else(|error| panic!("{format} {left} {piped}: {error}"));
                    assert_eq!(
                        found,
                        fs::read(work.path("in/1")).expect("readable"),
                        "{format}"
                    );
                }
            }
        }
    }
}

#[test]
fn damage_inside_is_a_failure() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    for (format, _, _) in archives(&work) {
        // No sums in these.
        let mut bytes = fs::read(work.path(&format!("a.{format}"))).expect("it is there");
        let middle = bytes.len() / 2;
        for byte in &mut bytes[middle..middle + 8] {
            *byte ^= 0x5a;
        }
        work.sh("rm -rf o; mkdir o");
        work.write("bad", &bytes);
        let ran = work.run("tar", &["-xf", "bad", "-C", "o"]);
        assert_eq!(ran.code, Some(2), "{format}: {}", ran.stderr);
        assert!(ran.stderr.contains(format), "{format}: {}", ran.stderr);
    }
}

/// Whoever made the format decides what may follow it: with gzip(1), bzip2(1) and lzip(1) anything, which is a warning at
/// most, with the others nothing.
#[test]
fn what_follows_the_compressed_data_is_judged_as_its_program_does() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    for (format, command, _) in archives(&work) {
        if format == "compress" {
            // Whatever follows is data.
            continue;
        }
        work.sh(&format!(
            "(cat a.{format}; echo not compressed at all) >garbage; (cat a.{format}; head -c 1000 /dev/zero) >zeros"
        ));
        for name in ["garbage", "zeros"] {
            work.sh("rm -rf o; mkdir o");
            let program = command.replace("-c", "-dc");
            let status = work
                .sh(&format!("{program} <{name} >/dev/null 2>&1 || echo $?"))
                .stdout;
            // 2 is gzip's warning.
            let fine = status.is_empty() || (format == "gzip" && status == "2\n");
            let ran = work.run("tar", &["-xpf", name, "-C", "o"]);
            // durastar may be milder, but not silent about it. Tapes and dd(1) leave zeros.
            if ran.code == Some(0) {
                assert_same_tree(&work.path("in"), &work.path("o"));
                assert!(
                    fine || name == "zeros" || ran.stderr.contains("trailing garbage ignored"),
                    "{format}: {}",
                    ran.stderr
                );
            } else {
                assert!(!fine, "{format} {name}: {}", ran.stderr);
                assert_eq!(ran.code, Some(2));
                assert!(
                    ran.stderr.contains(format),
                    "{format} {name}: {}",
                    ran.stderr
                );
            }
        }
    }
}

#[test]
fn an_enforced_format_that_is_not_there_is_a_failure() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    let made = archives(&work);
    for (forced, option) in [
        ("gzip", "-z"),
        ("bzip2", "-j"),
        ("xz", "-J"),
        ("lzip", "--lzip"),
        ("zstd", "--zstd"),
        ("compress", "-Z"),
    ] {
        for name in made.iter().map(|(format, _, _)| *format).chain(["tar"]) {
            // Some programs read more than their own format: what they take is no failure.
            let program = if forced == "compress" {
                "uncompress"
            } else {
                forced
            };
            let line = format!("{program} -dc <a.{name} >/dev/null 2>&1 && echo taken || true");
            if name == forced || !has(program) || work.sh(&line).stdout == "taken\n" {
                continue;
            }
            work.sh("rm -rf o; mkdir o");
            let ran = work.run("tar", &[option, "-xf", &format!("a.{name}"), "-C", "o"]);
            assert_eq!(ran.code, Some(2), "{option} {name}: {}", ran.stderr);
            assert_eq!(
                ran.stderr,
                format!(
                    "tar: {forced}: not in {forced} format\ntar: Error is not recoverable: exiting now\n"
                ),
                "{option} {name}"
            );
            assert_eq!(fs::read_dir(work.path("o")).expect("readable").count(), 0);
        }
    }
    // GNU tar runs lzma(1), which cannot tell and fails on the data.
    let ran = work.run("tar", &["--lzma", "-xf", "a.tar"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn a_program_of_the_users_is_called_with_d() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    work.sh(
        "mkdir in; seq 50000 >in/a; echo b >in/b; tar --format=posix -cf a.tar -C in .; tr 'a-y' 'b-z' <a.tar >a.rot
         printf '#!/bin/sh\\n[ \"$1\" = -d ] || exit 7\\necho \"$#\" >>calls\\nexec tr b-z a-y\\n' >rot; chmod +x rot
         printf '#!/bin/sh\\ncat\\nexit 3\\n' >bad; printf '#!/bin/sh\\nhead -c 4000\\nkill -9 $$\\n' >killed
         printf '#!/bin/sh\\nexit 0\\n' >nothing; chmod +x bad killed nothing",
    );
    let bytes = fs::read(work.path("a.rot")).expect("it is there");
    for (at, option) in [
        "-I./rot",
        "--use-compress-program=./rot",
        "-I./rot --more words",
    ]
    .into_iter()
    .enumerate()
    {
        if at == 2 {
            // -d comes last, as GNU tar has it.
            let ran = work.run("tar", &[option, "-xf", "a.rot"]);
            assert_eq!(ran.code, Some(2), "{}", ran.stderr);
            continue;
        }
        for piped in [false, true] {
            let out = format!("o{at}{piped}");
            work.dir(&out);
            let program = work.program("tar").words(&[option, "-xpC", &out]);
            let program = if piped {
                program.input(bytes.clone())
            } else {
                program.words(&["-f", "a.rot"])
            };
            program.run().quiet();
            assert_same_tree(&work.path("in"), &work.path(&out));
        }
    }
    assert_eq!(
        fs::read_to_string(work.path("calls")).expect("it was called"),
        "1\n".repeat(4)
    );
    for (program, word) in [("bad", "exit status 3"), ("killed", "signal 9")] {
        work.sh("rm -rf o; mkdir o");
        let ran = work.run(
            "tar",
            &[&format!("-I./{program}"), "-xf", "a.tar", "-C", "o"],
        );
        assert_eq!(ran.code, Some(2), "{program}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!("./{program}")),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(word), "{}", ran.stderr);
    }
    assert_eq!(
        work.run("tar", &["-I./nothing", "-tf", "a.tar"]).code,
        Some(2)
    );
    let ran = work.run("tar", &["-I", "./no such", "-tf", "a.tar"]);
    ran.says(
        2,
        "tar: ./no: Cannot exec: No such file or directory\ntar: Error is not recoverable: exiting now\n",
    );
    assert_eq!(
        work.run("tar", &["-I", "no-such-program", "-tf", "a.tar"])
            .code,
        Some(2)
    );
}

/// It has more to write when the archive has ended, and is let write.
#[test]
fn a_program_that_writes_on_after_the_archive_succeeds() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir in o; echo b >in/b; tar --format=posix -cf a.tar -C in .");
    for script in [
        "cat; sleep .2; head -c 1000000 /dev/zero || exit 1",
        "cat; head -c 5000000 /dev/zero",
    ] {
        let option = format!("sh -c \"{script}\"");
        work.run("tar", &["-x", "-I", &option, "-f", "a.tar", "-C", "o"])
            .quiet();
        work.run("tar", &["-t", "-I", &option, "-f", "a.tar"])
            .quiet();
        assert_same_tree(&work.path("in"), &work.path("o"));
    }
}

#[test]
fn the_real_archive_comes_out_whole() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    let archive = crate::support::fixture("bzip2-1.0.8.tar.gz");
    let archive = archive.to_str().expect("a plain name");
    work.sh(&format!("mkdir in o; tar -xf {archive} -C in"));
    work.run("durastar", &["-xf", archive, "-C", "o"]).quiet();
    // It has no members for its directories.
    work.sh("find in o -type d -exec touch -d @1000000000 {} +");
    assert_same_tree(&work.path("in"), &work.path("o"));
}
