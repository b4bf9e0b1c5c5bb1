//! star's command line: the lines that its users have in their scripts, its statistics, its messages.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::{Ran, Workdir, fixture, has};

/// A record: 20 blocks.
const RECORD: u64 = 10_240;

/// A source tree packed as the archives that the command lines name, with a directory to run in beside them.
fn sources(work: &Workdir) -> u64 {
    work.sh(
        "mkdir -p tree/linux-3.5.1/kernel run; for i in $(seq 40); do seq 1000 >tree/linux-3.5.1/kernel/$i.c; done
         ln -s kernel tree/linux-3.5.1/link; find tree -exec touch -h -d @1344800000 {} +
         tar --sort=name -cf linux-3.5.1.tar -C tree ./linux-3.5.1; cp linux-3.5.1.tar run/archive.tar",
    );
    fs::metadata(work.path("linux-3.5.1.tar"))
        .expect("it is there")
        .len()
}

/// Compares line by line; `#` in what is expected stands for any number.
#[track_caller]
fn assert_lines(ran: &Ran, expected: &str) {
    let found: Vec<&str> = ran.stderr.lines().collect();
    let expected: Vec<&str> = expected.lines().collect();
    let alike = |found: &str, expected: &str| {
        let mut rest = found;
        for (at, part) in expected.split('#').enumerate() {
            if at > 0 {
                let digits =
                    rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                if digits == 0 {
                    return false;
                }
                rest = &rest[digits..];
            }
            let Some(after) = rest.strip_prefix(part) else {
                return false;
            };
            rest = after;
        }
        rest.is_empty()
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| alike(a, b)),
        "expected:\n{}\nfound:\n{}",
        expected.join("\n"),
        found.join("\n")
    );
}

/// The line that is always printed: records, bytes of a partial one, all bytes.
fn blocks(bytes: u64) -> String {
    format!(
        "star: {} blocks + {} bytes (total of {bytes} bytes = {}.{:02}k).\n",
        bytes / RECORD,
        bytes % RECORD,
        bytes / 1024,
        bytes % 1024 * 100 / 1024
    )
}

const TIME: &str = "star: Total time #.#sec (# kBytes/sec)\n";

/// A FIFO of `size` bytes that never had to move anything.
fn fifo(size: u64) -> String {
    format!(
        "star: fifo had # puts # gets.\nstar: fifo was # times empty and # times full.\n\
         star: fifo held # bytes max, size was {size} bytes\n"
    )
}

fn assert_extracted(work: &Workdir) {
    for i in 1..=40 {
        let name = format!("linux-3.5.1/kernel/{i}.c");
        let found = fs::read(work.path("run").join(&name)).expect("it is there");
        assert_eq!(
            found,
            fs::read(work.path("tree").join(&name)).expect("readable")
        );
    }
    let state = fs::metadata(work.path("run/linux-3.5.1/kernel/1.c")).expect("it is there");
    assert_eq!(state.mtime(), 1_344_800_000);
}

fn again(work: &Workdir) {
    work.sh("rm -rf run/linux-3.5.1");
}

#[test]
fn extracting_lines_work_word_for_word() {
    let work = Workdir::new();
    let bytes = sources(&work);
    let run = work.path("run");
    let star = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        work.program("star").at(&run).words(&words)
    };
    if has("bzip2") {
        work.sh("bzip2 -k linux-3.5.1.tar");
        let line = "-x -bz -xdir -xdot -U -fs=64m -fifostats -time file=../linux-3.5.1.tar.bz2";
        let ran = star(line).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
        assert_lines(
            &ran,
            &format!("{}{}{TIME}", fifo(67_112_960), blocks(bytes)),
        );
        assert_extracted(&work);
        again(&work);
        let ran = star("-xp -xdot -time")
            .reading(&work.path("linux-3.5.1.tar.bz2"))
            .run();
        assert_eq!(ran.code, Some(0));
        assert_lines(&ran, &format!("{}{TIME}", blocks(bytes)));
        assert_extracted(&work);
        again(&work);
    }
    let ran = star("-x -xdir -xdot -U -fs=64m -fifostats -time file=../linux-3.5.1.tar").run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_lines(
        &ran,
        &format!("{}{}{TIME}", fifo(67_112_960), blocks(bytes)),
    );
    // A put adds up to one record.
    let puts = ran
        .stderr
        .split(' ')
        .nth(3)
        .and_then(|word| word.parse::<u64>().ok());
    assert!(puts >= Some(bytes / RECORD), "{}", ran.stderr);
    assert_extracted(&work);
    again(&work);
    let ran = star("-xp -xdot -time -no-fsync")
        .reading(&work.path("linux-3.5.1.tar"))
        .run();
    assert_eq!(ran.code, Some(0));
    assert_lines(&ran, &format!("{}{TIME}", blocks(bytes)));
    assert_extracted(&work);
    again(&work);
    let all = fs::read(work.path("linux-3.5.1.tar")).expect("readable");
    let ran = star("-xp -xdot -time -no-fsync").input(all).run();
    assert_eq!(ran.code, Some(0));
    assert_lines(&ran, &format!("{}{TIME}", blocks(bytes)));
    assert_extracted(&work);
}

#[test]
fn listing_lines_work_word_for_word() {
    let work = Workdir::new();
    let bytes = sources(&work);
    let run = work.path("run");
    let star = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        work.program("star")
            .at(&run)
            .words(&words)
            .env("TZ", "UTC")
            .run()
    };
    let names = work.sh("tar -tf linux-3.5.1.tar").stdout;
    for line in [
        "-tv f=archive.tar",
        "tvf archive.tar",
        "-t -v file=archive.tar",
        "-vt f=archive.tar",
    ] {
        let ran = star(line);
        assert_eq!(ran.code, Some(0), "{line}");
        assert_lines(&ran, &blocks(bytes));
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines.len(), names.lines().count(), "{line}");
        let file = lines
            .iter()
            .find(|line| line.ends_with("kernel/7.c"))
            .expect("it is listed");
        assert!(file.starts_with("   3893 -rw"), "{file}");
        assert!(
            file.ends_with(" Aug 12 19:33 2012 ./linux-3.5.1/kernel/7.c"),
            "{file}"
        );
    }
    for line in [
        "-tpath -t f=archive.tar",
        "-t f=archive.tar",
        "-t -v -tpath f=archive.tar",
        "tf archive.tar",
    ] {
        let ran = star(line);
        assert_eq!(ran.code, Some(0), "{line}");
        // What -t says of a link besides its name only -tpath leaves out.
        let name = |found: &str| found.split(" -> ").next().expect("a part").to_owned();
        let found: Vec<String> = ran.stdout.lines().map(name).collect();
        assert_eq!(found, names.lines().collect::<Vec<_>>(), "{line}");
        assert!(!line.contains("-tpath") || ran.stdout == names, "{line}");
        assert_lines(&ran, &blocks(bytes));
    }
    let ran = star("-n f=archive.tar");
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout
            .contains("x ./linux-3.5.1/kernel/7.c 3893 bytes, 8 tape blocks\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("x ./linux-3.5.1/kernel/ directory\n"),
        "{}",
        ran.stdout
    );
    assert!(!run.join("linux-3.5.1").exists());
    let ran = star("-t f=archive.tar -no-statistics");
    ran.quiet();
}

/// The line of star 1.7: name, compression, order of the bytes, format.
#[test]
fn the_type_of_an_archive_is_printed() {
    let work = Workdir::new();
    let folder = fixture("");
    let folder = folder.to_str().expect("a plain name");
    for (name, expected) in [
        ("star/star.tar.gz", "gzip compressed star archive."),
        ("star/xstar.tar.gz", "gzip compressed xstar archive."),
        ("star/exustar.tar.gz", "gzip compressed exustar archive."),
        ("star/suntar.tar.gz", "gzip compressed suntar archive."),
        (
            "star/ustar-byteswapped.tar.gz",
            "gzip compressed swapped ustar archive.",
        ),
        ("gnu/gnu.tar.gz", "gzip compressed gnutar archive."),
        ("gnu/posix.tar.gz", "gzip compressed pax archive."),
        ("bsd/v7tar.tar.gz", "gzip compressed tar archive."),
    ] {
        let archive = format!("{folder}{name}");
        let ran = work.run("star", &["-print-artype", &format!("f={archive}")]);
        ran.quiet();
        assert_eq!(ran.stdout, format!("{archive}: {expected}\n"));
    }
    let plain = work
        .sh(&format!("gzip -dc {folder}gnu/v7.tar.gz"))
        .stdout_bytes;
    let ran = work
        .program("star")
        .words(&["-print-artype"])
        .input(plain)
        .run();
    ran.quiet();
    assert_eq!(ran.stdout, "-: tar archive.\n");
    let ran = work.run("star", &["-print-artype", "-t", "f=-"]);
    assert_eq!(ran.code, Some(255), "{}", ran.stderr);
}

#[test]
fn verbose_extraction_has_a_line_for_each() {
    let work = Workdir::new();
    work.sh("mkdir -p dir/sub; head -c 513 /dev/zero >dir/sub/odd.bin; : >dir/none; tar --sort=name -cf a.tar dir; rm -r dir");
    let ran = work.run("star", &["-xv", "f=a.tar"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stdout,
        "x dir/ directory\nx dir/none 0 bytes, 0 tape blocks\nx dir/sub/ directory\nx dir/sub/odd.bin 513 bytes, 2 tape blocks\n"
    );
    assert_lines(
        &ran,
        "star: 1 blocks + 0 bytes (total of 10240 bytes = 10.00k).\n",
    );
}

#[test]
fn statistics_count_records_and_the_rest() {
    let work = Workdir::new();
    work.sh("echo x >f; tar -b1 -cf short.tar f; tar -cf a.tar f; head -c 20480 /dev/zero >z; tar -cf z.tar z; rm f z");
    for (name, bytes) in [("short.tar", 2048), ("a.tar", 10_240), ("z.tar", 30_720)] {
        let ran = work.run("star", &["-x", "-U", &format!("f={name}")]);
        assert_eq!(ran.code, Some(0));
        assert_lines(&ran, &blocks(bytes));
        let ran = work.run("star", &["-t", &format!("f={name}")]);
        assert_lines(&ran, &blocks(bytes));
    }
    // Records of another size: 8 times 512 bytes.
    let ran = work.run("star", &["-x", "-U", "b=8", "f=z.tar"]);
    assert_lines(
        &ran,
        "star: 7 blocks + 2048 bytes (total of 30720 bytes = 30.00k).\n",
    );
    let ran = work.run("star", &["-x", "-U", "bs=4k", "f=z.tar"]);
    assert_lines(
        &ran,
        "star: 7 blocks + 2048 bytes (total of 30720 bytes = 30.00k).\n",
    );
    for (words, size) in [
        (&["-fifostats"][..], 8_396_800),
        (&["-fifostats", "fs=64m"], 67_112_960),
        (&["-fifostats", "fs=1x1M"], 1_054_720),
        (&["-fifostats", "-fs=20480."], 20_480),
        (&["-fifostats", "fs=100b"], 51_200),
    ] {
        let mut all = vec!["-x", "-U", "f=z.tar"];
        all.extend(words);
        let ran = work.run("star", &all);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_lines(&ran, &format!("{}{}", fifo(size), blocks(30_720)));
    }
    let sized = |words: &[&str]| {
        let ran = work
            .program("star")
            .words(&["-x", "-U", "f=z.tar", "-fifostats"])
            .words(words);
        ran.env("STAR_FIFOSIZE", "2m").run()
    };
    assert_lines(
        &sized(&[]),
        &format!("{}{}", fifo(2_099_200), blocks(30_720)),
    );
    assert_lines(
        &sized(&["fs=64m"]),
        &format!("{}{}", fifo(67_112_960), blocks(30_720)),
    );
}

#[test]
fn a_member_that_is_not_newer_is_skipped_with_a_message() {
    let work = Workdir::new();
    work.sh(
        "mkdir dir; echo new >dir/hello.txt; touch -d @1344800000 dir/hello.txt dir; tar --sort=name -cf a.tar dir
         echo there >dir/hello.txt; touch -d @1344800000 dir/hello.txt dir",
    );
    let total = blocks(RECORD);
    let ran = work.run("star", &["-x", "f=a.tar"]);
    assert_eq!(ran.code, Some(0));
    assert_lines(
        &ran,
        &format!("star: current 'dir/' newer.\nstar: current 'dir/hello.txt' newer.\n{total}"),
    );
    assert_eq!(
        fs::read(work.path("dir/hello.txt")).expect("it is there"),
        b"there\n"
    );
    let ran = work.run("star", &["-x", "-xdir", "f=a.tar"]);
    assert_eq!(ran.code, Some(0));
    assert_lines(
        &ran,
        &format!("star: current 'dir/hello.txt' newer.\n{total}"),
    );
    // -xdot is about a first member . only.
    let ran = work.run("star", &["-x", "-xdot", "f=a.tar"]);
    assert_lines(
        &ran,
        &format!("star: current 'dir/' newer.\nstar: current 'dir/hello.txt' newer.\n{total}"),
    );
    let ran = work.run("star", &["-x", "-U", "-k", "f=a.tar"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        fs::read(work.path("dir/hello.txt")).expect("it is there"),
        b"there\n"
    );
    let ran = work.run("star", &["-x", "-U", "f=a.tar"]);
    assert_lines(&ran, &total);
    assert_eq!(
        fs::read(work.path("dir/hello.txt")).expect("it is there"),
        b"new\n"
    );
    work.sh("echo older >dir/hello.txt; touch -d @1344799999 dir/hello.txt");
    let ran = work.run("star", &["-x", "-xdir", "f=a.tar"]);
    assert_lines(&ran, &total);
    assert_eq!(
        fs::read(work.path("dir/hello.txt")).expect("it is there"),
        b"new\n"
    );
}

#[test]
fn dangerous_names_and_links() {
    let work = Workdir::new();
    work.sh(
        "mkdir in out; echo f >in/f; ln -s /etc/mtab in/mtab; ln -s ../../up in/up; ln -s f in/fine
         tar --sort=name -cf links.tar -C in f fine mtab up
         tar -Pcf slash.tar in/f --transform='s,in/,/,'; tar -Pcf dots.tar in/f --transform='s,in/,../,'",
    );
    let ran = work.run("star", &["-x", "f=links.tar", "-C", "out"]);
    assert_eq!(ran.code, Some(254));
    assert_lines(
        &ran,
        &format!(
            "star: 'mtab' potentially insecure link, skipping ...\n\
             star: 'up' potentially insecure link, skipping ...\n{}\
             star: The following problems occurred during archive processing:\n\
             star: Cannot: stat 0, open 0, read/write 0, chdir 0, iconv 0. Size changed 0.\n\
             star: Missing links 0, Name too long 0, File too big 0, Not dumped 0.\n\
             star: Skipped for security reason: path name 0, link name 2.\n\
             star: Processed all possible files, despite earlier errors.\n",
            blocks(RECORD)
        ),
    );
    work.sh("test ! -L out/mtab; test ! -L out/up; test -L out/fine; rm -r out; mkdir out");
    let ran = work.run(
        "star",
        &["-x", "-no-secure-links", "f=links.tar", "-C", "out"],
    );
    assert_eq!(ran.code, Some(0));
    work.sh("test -L out/mtab; test -L out/up; rm -r out; mkdir out");
    let ran = work
        .program("star")
        .words(&["-x", "f=links.tar", "-C", "out"])
        .env("STAR_SECURE_LINKS", "N")
        .run();
    assert_eq!(ran.code, Some(0));
    work.sh("test -L out/mtab; rm -r out; mkdir out");
    let ran = work
        .program("star")
        .words(&["-x", "-secure-links", "f=links.tar", "-C", "out"])
        .env("STAR_SECURE_LINKS", "N")
        .run();
    assert_eq!(ran.code, Some(254));
    let ran = work.run("star", &["-x", "-U", "f=slash.tar", "-C", "out"]);
    assert_eq!(ran.code, Some(0));
    assert_lines(
        &ran,
        &format!(
            "star: WARNING: skipping leading '/' on filenames.\n{}",
            blocks(RECORD)
        ),
    );
    let ran = work.run("star", &["-x", "-U", "f=dots.tar", "-C", "out"]);
    assert_eq!(ran.code, Some(254));
    assert!(
        ran.stderr
            .contains("star: Skipped for security reason: path name 1, link name 0.\n"),
        "{}",
        ran.stderr
    );
    work.sh("test ! -e f; cat out/f");
    let ran = work.run("star", &["-x", "-U", "-..", "f=dots.tar", "-C", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    work.sh("cat f");
}

#[test]
fn mistakes_end_with_255_and_fatal_errors_with_their_number() {
    let work = Workdir::new();
    work.sh("echo x >f; tar -cf a.tar f");
    for (words, first) in [
        (&["-x", "-bogus"][..], "star: Bad Option: -bogus."),
        (&["-t", "--bogus", "f=a.tar"], "star: Bad Option: --bogus."),
        (&["-t", "bogus=1", "f=a.tar"], ""),
        (&["f=a.tar"], ""),
        (&["-x", "-t", "f=a.tar"], ""),
        (&["-t", "bs=1000", "f=a.tar"], ""),
        (&["-t", "fs=many", "f=a.tar"], ""),
    ] {
        let ran = work.run("star", words);
        if words.contains(&"bogus=1") {
            // A word without a dash that is no option is a member.
            assert_eq!(ran.code, Some(254), "{words:?}");
            continue;
        }
        assert_eq!(ran.code, Some(255), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(first), "{words:?}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("star: "),
            "{words:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("\nUsage:"), "{words:?}: {}", ran.stderr);
    }
    let ran = work.run("star", &["-t", "f=/nonexist"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .starts_with("star: No such file or directory. Cannot open '/nonexist'.\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_name_and_cli_choose_the_command_line() {
    let work = Workdir::new();
    work.sh("echo x >f; touch -d @1344800000 f; tar -cf a.tar f");
    let total =
        |program: &str| format!("{program}: 1 blocks + 0 bytes (total of 10240 bytes = 10.00k).\n");
    for (name, words) in [
        ("star", &["-t", "f=a.tar"][..]),
        ("ustar", &["-t", "f=a.tar"]),
        ("suntar", &["tf", "a.tar"]),
        ("durastar", &["cli=star", "-t", "f=a.tar"]),
        ("tar", &["cli=star", "-t", "f=a.tar"]),
    ] {
        let ran = work.run(name, words);
        let program = if words[0] == "cli=star" { "star" } else { name };
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "f\n"), "{name}");
        assert_eq!(ran.stderr, total(program), "{name}");
    }
    for (name, words) in [
        ("tar", &["-tf", "a.tar"][..]),
        ("gtar", &["tf", "a.tar"]),
        ("gnutar", &["tf", "a.tar"]),
        ("durastar", &["tf", "a.tar"]),
        ("star", &["cli=gnutar", "-tf", "a.tar"]),
        ("star", &["cli=tar", "-tf", "a.tar"]),
    ] {
        let ran = work.run(name, words);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "f\n", ""),
            "{name}"
        );
    }
    for name in ["pax", "cpio", "nonsense"] {
        let ran = work.run("star", &[&format!("cli={name}"), "-t", "f=a.tar"]);
        assert_ne!(ran.code, Some(0), "{name}");
    }
}

#[test]
fn bundles_long_names_and_values() {
    let work = Workdir::new();
    work.sh("mkdir d out; echo x >d/a; echo y >d/b; tar --sort=name -cf a.tar d; printf 'd/b\\0' >zero; echo d/b >lines");
    for (words, names) in [
        (
            &["-xvp", "f=a.tar", "-C", "out", "-no-statistics", "-tpath"][..],
            "d/\nd/a\nd/b\n",
        ),
        (&["-t", "-f=a.tar", "-no-statistics"], "d/\nd/a\nd/b\n"),
        (&["-t", "--no-statistics", "file=a.tar"], "d/\nd/a\nd/b\n"),
        (&["-t", "-f", "a.tar", "-no-statistics"], "d/\nd/a\nd/b\n"),
        (&["-t", "f=a.tar", "-no-statistics", "d/a"], "d/a\n"),
        (&["-t", "f=a.tar", "-no-statistics", "pat=*b"], "d/b\n"),
        (
            &["-t", "f=a.tar", "-no-statistics", "-not", "pat=*b"],
            "d/\nd/a\n",
        ),
        (&["-t", "f=a.tar", "-no-statistics", "list=lines"], "d/b\n"),
        (
            &["-t", "f=a.tar", "-no-statistics", "-read0", "list=zero"],
            "d/b\n",
        ),
        (&["-tT", "-no-statistics"], "d/\nd/a\nd/b\n"),
    ] {
        let ran = work.program("star").words(words).env("TAPE", "a.tar").run();
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            (names, ""),
            "{words:?}"
        );
    }
    let ran = work.run(
        "star",
        &["-x", "-to-stdout", "f=a.tar", "d/b", "-no-statistics"],
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "y\n"));
}
