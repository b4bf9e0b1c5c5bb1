//! Restoring: what was archived is what is there afterwards, whatever the mode, and what was not asked for is not.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use filetime::{FileTime, set_symlink_file_times};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::support::{
    Differences, Ran, Workdir, assert_same_tree, behind, has, has_gnu_tar, is_root, tree,
};

const MODES: [&str; 4] = ["none", "each", "group", "batch"];

/// Bytes that look random and are the same each time.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        })
        .collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

/// A tree with one of everything that a tar archive can hold.
fn plant(root: &Path) {
    let raw = |name: &[u8]| root.join(std::ffi::OsStr::from_bytes(name));
    fs::create_dir_all(root.join("dir/sub/deeper")).expect("directories");
    fs::create_dir_all(root.join("empty")).expect("a directory");
    for (name, len) in [
        (&b"dir/empty"[..], 0),
        (b"dir/thirteen", 13),
        (b"dir/odd", 513),
        (b"dir/sub/record", 10_240),
        (b"dir/sub/deeper/large", 700_001),
        (b"caf\xe9", 3),
        ("gr\u{fc}n".as_bytes(), 4),
        (b"new\nline", 5),
        (b"back\\slash", 6),
        (b" blank ", 7),
    ] {
        fs::write(raw(name), noise(len)).expect("a file");
    }
    let long = "n".repeat(200);
    fs::create_dir_all(root.join(&long)).expect("a directory");
    fs::write(root.join(&long).join(&long), b"long").expect("a file");
    for at in 0..300 {
        fs::write(root.join(format!("dir/sub/deeper/{at}")), noise(at)).expect("a file");
    }
    fs::write(root.join("program"), b"#!/bin/sh\n").expect("a file");
    set_mode(&root.join("program"), 0o4755);
    fs::hard_link(root.join("dir/odd"), root.join("dir/sub/odd too")).expect("a link");
    fs::hard_link(root.join("dir/odd"), root.join(&long).join("odd")).expect("a link");
    fs::hard_link(root.join(&long).join(&long), root.join("zlong")).expect("a link");
    symlink("thirteen", root.join("dir/link")).expect("a link");
    symlink("/nowhere/at/all", root.join("dangling")).expect("a link");
    symlink("../dir/sub", root.join("dir/up")).expect("a link");
    symlink("t".repeat(151), root.join("far")).expect("a link");
    mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::from(0o640), 0).expect("a FIFO");
    if is_root() {
        let mode = Mode::from(0o600);
        let (block, character) = (makedev(259, 70_000), makedev(5, 1));
        mknodat(CWD, root.join("block"), FileType::BlockDevice, mode, block).expect("a device");
        mknodat(
            CWD,
            root.join("character"),
            FileType::CharacterDevice,
            mode,
            character,
        )
        .expect("a device");
        fs::write(root.join("secret"), b"nobody reads this").expect("a file");
        set_mode(&root.join("secret"), 0);
        std::os::unix::fs::chown(root.join("dir/thirteen"), Some(12_345), Some(54_321))
            .expect("an owner");
        std::os::unix::fs::lchown(root.join("far"), Some(3_000_000), Some(1)).expect("an owner");
    }
    set_mode(&root.join("empty"), 0o1777);
    set_mode(&root.join("dir/sub/deeper"), 0o555);
    set_mode(&root.join("dir/sub"), 0o500);
    // Bottom up, as every change of a directory's contents moves its time.
    let mut names: Vec<_> = tree(root).into_keys().collect();
    names.reverse();
    for (at, name) in names.iter().enumerate() {
        let seconds = 1_234_567_890 + 977 * i64::try_from(at).expect("few");
        let nanoseconds = 1 + 1_234_567 * u32::try_from(at % 800).expect("few");
        let time = FileTime::from_unix_time(seconds, nanoseconds);
        set_symlink_file_times(raw(name), time, time).expect("a time");
    }
    let time = FileTime::from_unix_time(-12_345, 250_000_000);
    set_symlink_file_times(root.join("program"), time, time).expect("a time");
    let time = FileTime::from_unix_time(5_000_000_000, 0);
    set_symlink_file_times(root.join("dir/empty"), time, time).expect("a time");
}

/// Makes read-only directories below writable again, or an ordinary user's scratch directory cannot be removed.
fn thaw(work: &Workdir) {
    if !is_root() {
        work.sh("find . -type d ! -perm -700 -exec chmod u+rwx {} + || true");
    }
}

#[test]
fn a_tree_of_gnu_tar_comes_back_whole_in_every_mode() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    plant(&work.dir("in"));
    work.sh("tar --format=posix -cf a.tar -C in .");
    let bytes = fs::read(work.path("a.tar")).expect("it is there");
    for mode in MODES {
        for jobs in ["1", "2", "8"] {
            for through in ["file", "pipe"] {
                let out = format!("out-{mode}-{jobs}-{through}");
                let to = work.dir(&out);
                let (sync, jobs) = (format!("--sync={mode}"), format!("--jobs={jobs}"));
                let program = work.program("durastar").words(&[
                    &sync,
                    &jobs,
                    "--warning=no-timestamp",
                    "-C",
                    &out,
                ]);
                if through == "file" {
                    program.words(&["-xpf", "a.tar"]).run().quiet();
                } else {
                    program.words(&["-xp"]).input(bytes.clone()).run().quiet();
                }
                assert_same_tree(&work.path("in"), &to);
                thaw(&work);
                fs::remove_dir_all(to).expect("it is ours");
            }
        }
    }
}

#[test]
fn small_windows_and_small_buffers_change_nothing() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    plant(&work.dir("in"));
    work.sh("tar --format=posix -cf a.tar -C in .");
    for (at, words) in [
        &["--sync=group", "--sync-window=1,"][..],
        &["--sync=group", "--sync-window=7,4k", "--jobs=8"],
        &["--sync=group", "--sync-method=fsync"],
        &["--sync=batch", "--sync-method=fsync"],
        &["--sync=batch", "--fifo-size=10240"],
        &["--sync=none", "--fifo-size=20480", "--jobs=2"],
        &["--sync=each", "--fifo-size=64m", "-b1"],
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("out{at}");
        work.dir(&out);
        work.program("durastar")
            .words(words)
            .words(&["--warning=no-timestamp", "-xpf", "a.tar", "-C", &out])
            .run()
            .quiet();
        assert_same_tree(&work.path("in"), &work.path(&out));
    }
    thaw(&work);
}

#[test]
fn every_format_of_gnu_tar_comes_back() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    // What the oldest format can hold too.
    work.sh(
        "mkdir -p in/d/e; echo one >in/d/one; ln in/d/one in/two; ln -s d/one in/three; : >in/d/e/empty
         head -c 70000 /dev/zero >in/zeros; chmod 4711 in/two; chmod 555 in/d/e
         find in -exec touch -h -d @1234567890 {} +",
    );
    for format in ["v7", "oldgnu", "gnu", "ustar", "posix"] {
        work.sh(&format!("tar --format={format} -cf {format}.tar -C in ."));
        work.dir(format);
        work.run("tar", &["-xpf", &format!("{format}.tar"), "-C", format])
            .quiet();
        assert_same_tree(&work.path("in"), &work.path(format));
    }
    thaw(&work);
}

#[test]
fn an_archive_of_the_tar_crate_comes_back() {
    let work = Workdir::new();
    let mut builder = tar::Builder::new(File::create(work.path("a.tar")).expect("a file"));
    let header = |kind: tar::EntryType, mode: u32, size: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size as u64);
        header.set_mtime(1_111_111_111);
        header.set_uid(rustix::process::geteuid().as_raw().into());
        header.set_gid(rustix::process::getegid().as_raw().into());
        header
    };
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(180));
    let data = noise(100_000);
    let mut dir = header(tar::EntryType::Directory, 0o750, 0);
    builder
        .append_data(&mut dir, "a", &b""[..])
        .expect("written");
    let mut file = header(tar::EntryType::Regular, 0o640, data.len());
    builder
        .append_data(&mut file, &long, &data[..])
        .expect("written");
    let mut link = header(tar::EntryType::Link, 0o640, 0);
    builder
        .append_link(&mut link, "a/hard", &long)
        .expect("written");
    let mut link = header(tar::EntryType::Symlink, 0o777, 0);
    builder
        .append_link(&mut link, "a/soft", &long)
        .expect("written");
    builder
        .into_inner()
        .expect("written")
        .sync_all()
        .expect("a file");

    work.dir("out");
    work.run("durastar", &["-xpf", "a.tar", "-C", "out"])
        .quiet();
    let found = tree(&work.path("out"));
    let names: Vec<_> = found
        .keys()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    assert_eq!(names, ["", "a", "a/hard", "a/soft", &long[..120], &long]);
    assert_eq!(found[&b"a"[..]].mode, 0o40750);
    assert_eq!(found[&b"a"[..]].mtime, (1_111_111_111, 0));
    let file = &found[&b"a/hard"[..]];
    assert_eq!((file.mode, file.mtime), (0o100_640, (1_111_111_111, 0)));
    assert_eq!(file.contents, data);
    assert_eq!(
        found[long.as_bytes()].same_as.as_deref(),
        Some(&b"a/hard"[..])
    );
    assert_eq!(found[&b"a/soft"[..]].contents, long.as_bytes());
    assert_eq!(found[&b"a/soft"[..]].mtime, (1_111_111_111, 0));
}

/// A member, then a pax header of more than the buffer holds: the buffer has to be emptied without waiting for more.
#[test]
fn a_header_larger_than_the_buffer_does_not_hang() {
    let work = Workdir::new();
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o644);
    for (name, contents, pax) in [
        ("first", &b"1"[..], 0),
        ("second", b"22", 100_000),
        ("third", b"333", 30_000),
    ] {
        if pax > 0 {
            let comment = vec![b'c'; pax];
            builder
                .append_pax_extensions([("comment", &comment[..])])
                .expect("written");
        }
        header.set_size(contents.len() as u64);
        builder
            .append_data(&mut header, name, contents)
            .expect("written");
    }
    let bytes = builder.into_inner().expect("written");
    let archive = work.write("a.tar", &bytes);
    for mode in MODES {
        for jobs in ["1", "2", "8"] {
            for piped in [false, true] {
                let out = format!("out-{mode}-{jobs}-{piped}");
                work.dir(&out);
                let program = work.program("durastar").words(&[
                    "-x",
                    "--fifo-size=20480",
                    &format!("--sync={mode}"),
                    &format!("--jobs={jobs}"),
                    "-C",
                    &out,
                ]);
                let program = if piped {
                    program.input(bytes.clone())
                } else {
                    program.reading(&archive)
                };
                program.run().quiet();
                for (name, contents) in [("first", "1"), ("second", "22"), ("third", "333")] {
                    let found =
                        fs::read_to_string(work.path(&out).join(name)).expect("it is there");
                    assert_eq!(found, contents);
                }
            }
        }
    }
}

/// A FIFO-shaped member, a device and a link in the destination must not be written through.
#[test]
fn what_is_in_the_way_is_treated_like_gnu_tar_does() {
    let mut differences = Differences::default();
    if !has_gnu_tar() {
        return;
    }
    let archive = "mkdir d; echo new >f; echo x >d/x; touch -d @1000000000 f d/x d; tar -cf a.tar f d; rm -r f d; ";
    for there in [
        "echo old >f",
        "echo old >f; chmod 400 f",
        "mkdir f",
        "mkdir f; echo >f/g; touch -d @1000000000 f/g f",
        "echo old >target; touch -d @1000000000 target; ln -s target f",
        "ln -s nowhere f",
        "mkfifo f",
        "echo old >f; ln f g",
        "echo old >d",
        "mkdir e; ln -s e d",
        "mkdir d; chmod 700 d; echo >d/y; touch -d @1000000000 d/y",
    ] {
        let setup = format!("{archive}{there}");
        for words in [
            &["-xf", "a.tar"][..],
            &["-xkf", "a.tar"],
            &["-xf", "a.tar", "--skip-old-files"],
            &["-xf", "a.tar", "--skip-old-files", "-v"],
            &["-xf", "a.tar", "--keep-newer-files"],
            &["-xf", "a.tar", "--overwrite"],
            &["-xf", "a.tar", "--unlink-first"],
            &["-xf", "a.tar", "--no-overwrite-dir"],
            &["-xf", "a.tar", "--overwrite-dir"],
            &["-xf", "a.tar", "--keep-directory-symlink"],
        ] {
            let skipped = match words.last() {
                // GNU tar opens a FIFO that it overwrites, and waits for a reader.
                Some(&"--overwrite") => there == "mkfifo f",
                // GNU tar keeps the mode and sets the time, against its manual: "Preserve metadata".
                Some(&"--no-overwrite-dir") => there.starts_with("mkdir d"),
                Some(&("--keep-newer-files" | "--unlink-first" | "-v")) => !there.contains('f'),
                _ => false,
            };
            if !skipped {
                differences.run(&setup, words);
            }
        }
    }
    differences.none();
}

/// What GNU tar does where a directory is to be restored and something else is there.
#[test]
#[ignore = "--keep-newer-files asks directories nothing, --unlink-first keeps directories that are not empty"]
fn directories_are_existing_files_too() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    let archive = "mkdir d; echo x >d/x; touch -d @1000000000 d/x d; tar -cf a.tar d; rm -r d; ";
    for there in [
        "echo old >d",
        "mkdir e; ln -s e d",
        "mkdir d; chmod 700 d; echo >d/y; touch -d @1000000000 d/y",
    ] {
        let setup = format!("{archive}{there}");
        differences.run(&setup, &["-xf", "a.tar", "--keep-newer-files"]);
        differences.run(&setup, &["-xf", "a.tar", "--unlink-first"]);
        differences.run(&setup, &["-xf", "a.tar", "--skip-old-files", "-v"]);
    }
    differences.none();
}

/// Rarely met, and said otherwise than by GNU tar.
#[test]
#[ignore = "-v does not list what --keep-newer-files skips; -C is shown joined"]
fn corners_of_selection() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for words in [
        &["-xvf", "a.tar", "--keep-newer-files"][..],
        &["-xf", "a.tar", "-C", "o", "top", "-C", "nowhere", "p/q"],
    ] {
        differences.run(SELECT_FROM, words);
    }
    differences.none();
}

#[test]
fn keep_newer_files_compares_times() {
    let mut differences = Differences::default();
    if !has_gnu_tar() {
        return;
    }
    for there in ["@1000000001", "@1000000000", "@999999999"] {
        let setup = format!(
            "echo new >f; touch -d @1000000000 f; tar -cf a.tar f; echo there >f; touch -d {there} f"
        );
        differences.run(&setup, &["-xf", "a.tar", "--keep-newer-files"]);
    }
    differences.none();
}

/// Makes `a.tar`, which holds a hard link, a symbolic link and directories.
const SELECT_FROM: &str = "mkdir -p p/q/r o u; echo 1 >p/q/a; ln p/q/a p/q/r/b; ln -s q/a p/s; echo 2 >p/q/r/c.o; echo 3 >top
                 find p top -exec touch -h -d @1000000000 {} +; tar --sort=name -cf a.tar p top; echo p/q/r >list; echo '*.o' >skip
                 touch -d @1000000000 list skip";

#[test]
fn selection_is_gnu_tars() {
    let mut differences = Differences::default();
    if !has_gnu_tar() {
        return;
    }
    for words in [
        &["-xf", "a.tar", "-C", "o", "--strip-components=1"][..],
        &["-xf", "a.tar", "-C", "o", "--strip-components=2", "-v"],
        &[
            "-xf",
            "a.tar",
            "-C",
            "o",
            "--strip-components=2",
            "-v",
            "--show-transformed-names",
        ],
        &["-xf", "a.tar", "-C", "o", "--strip-components=9"],
        &["-xf", "a.tar", "-C", "o", "p/q/r"],
        &["-xf", "a.tar", "-C", "o", "p/q/r/"],
        &["-xf", "a.tar", "-C", "o", "top", "nothing", "p/q/nothing"],
        &["-xf", "a.tar", "-C", "o", "q"],
        &["-xf", "a.tar", "-C", "o", "*.o", "nothing", "[x]"],
        &["-xf", "a.tar", "-C", "o", "--no-wildcards", "*.o"],
        &["-xf", "a.tar", "-C", "o", "--wildcards", "*.o", "*.h"],
        &["-xf", "a.tar", "-C", "o", "--exclude=*.o"],
        &["-xf", "a.tar", "-C", "o", "--exclude=r"],
        &["-xf", "a.tar", "-C", "o", "--exclude=p/q", "p", "top"],
        &["-xf", "a.tar", "-C", "o", "--anchored", "--exclude=q"],
        &["-xf", "a.tar", "-C", "o", "--no-recursion", "p/q"],
        &["-xf", "a.tar", "-C", "o", "-T", "list"],
        &["-xf", "a.tar", "-C", "o", "-X", "skip"],
        &["-xf", "a.tar", "-T", "nolist"],
        &["-xf", "a.tar", "-X", "nolist"],
        &["-xvf", "a.tar", "-C", "o", "top", "-C", "../u", "p/q"],
        &["-xvf", "a.tar", "-C", "o", "-C", "../u"],
        &["-xf", "a.tar", "-C", "nowhere"],
        &["-xOf", "a.tar", "top", "p/q/r"],
        &["-xvOf", "a.tar"],
        &["-xOf", "a.tar", "nothing"],
        &["-tf", "a.tar", "p/s", "zero"],
        &["-tvf", "a.tar", "--exclude=q"],
    ] {
        differences.run(SELECT_FROM, words);
    }
    differences.none();
}

#[test]
fn links_follow_strip_components() {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir -p p/q o; echo x >p/q/a; ln p/q/a p/q/b; ln -s q/a p/s; tar -cf hl.tar p");
    work.run("tar", &["-xf", "hl.tar", "--strip-components=1", "-C", "o"])
        .quiet();
    assert_eq!(
        fs::metadata(work.path("o/q/b"))
            .expect("it is there")
            .nlink(),
        2
    );
    assert_eq!(
        fs::read_link(work.path("o/s")).expect("a link"),
        Path::new("q/a")
    );
}

#[test]
fn the_same_name_twice_ends_as_the_last() {
    let mut differences = Differences::default();
    if !has_gnu_tar() {
        return;
    }
    let append = "echo one >f; echo g >g; tar -cf a.tar f g; echo second >f; chmod 600 f; tar -rf a.tar f; rm f; ln g f
                  tar -rf a.tar g f; rm f g; ln -s nowhere f; tar -rf a.tar f; ";
    for mode in MODES {
        for jobs in ["1", "8"] {
            let (sync, jobs) = (format!("--sync={mode}"), format!("--jobs={jobs}"));
            let work = Workdir::new();
            work.sh(&format!(
                "{append} rm f; echo last >f; touch -d @1000000000 f; tar -rf a.tar f; rm f"
            ));
            work.run("tar", &["-xf", "a.tar", &sync, &jobs]).quiet();
            assert_eq!(
                fs::read_to_string(work.path("f")).expect("a file"),
                "last\n"
            );
            assert_eq!(fs::read_to_string(work.path("g")).expect("a file"), "g\n");
            let state = fs::symlink_metadata(work.path("f")).expect("it is there");
            assert_eq!(
                (state.nlink(), state.mtime()),
                (1, 1_000_000_000),
                "{sync} {jobs}"
            );
        }
    }
    differences.run(append, &["-xf", "a.tar"]);
    differences.run("echo hi >f; tar -chf f.tar f ./f; rm f", &["-xf", "f.tar"]);
    differences.none();
}

#[test]
fn damage_is_told_and_the_rest_is_there() {
    let mut differences = Differences::default();
    if !has_gnu_tar() {
        return;
    }
    let make =
        "mkdir o in; for i in 1 2 3 4 5; do head -c 3000 /dev/zero | tr '\\0' $i >in/$i; done
                touch -d @1000000000 in/*; tar --sort=name -b1 -cf whole.tar -C in 1 2 3 4 5; ";
    for (cut, what) in [
        ("head -c 7400 whole.tar >a.tar", "in the middle of a header"),
        ("head -c 7168 whole.tar >a.tar", "between members"),
        (": >a.tar", "nothing at all"),
        ("head -c 100 whole.tar >a.tar", "less than a block"),
        ("head -c 10240 /dev/zero >a.tar", "nothing but zeros"),
        (
            "(head -c 3584 whole.tar; yes | head -c 1024; tail -c +3585 whole.tar) >a.tar",
            "rubbish within",
        ),
        (
            "(head -c 3584 whole.tar; head -c 512 /dev/zero; tail -c +3585 whole.tar) >a.tar",
            "a zero block within",
        ),
        ("mkdir a.tar", "a directory"),
        ("true", "missing"),
    ] {
        eprintln!("{what}");
        differences.run(&format!("{make}{cut}"), &["-xvf", "a.tar", "-C", "o"]);
        differences.run(&format!("{make}{cut}"), &["-tf", "a.tar"]);
    }
    differences.none();
    let work = Workdir::new();
    work.sh("yes hello | head -c 20480 >a.tar; yes hello | head -c 700 >b.tar");
    for name in ["a.tar", "b.tar"] {
        let ran = work.run("tar", &["-xf", name]);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr
                .starts_with("tar: This does not look like a tar archive\n"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr
                .ends_with("tar: Exiting with failure status due to previous errors\n"),
            "{}",
            ran.stderr
        );
    }
    // In every mode what was whole is there.
    for mode in MODES {
        let work = Workdir::new();
        work.sh(&format!("{make} head -c 9000 whole.tar >a.tar"));
        let ran = work.run(
            "durastar",
            &["-xf", "a.tar", "-C", "o", &format!("--sync={mode}")],
        );
        assert_eq!(ran.code, Some(2), "{mode}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("Unexpected EOF in archive"),
            "{mode}: {}",
            ran.stderr
        );
        for name in ["1", "2"] {
            assert_eq!(
                fs::read(work.path("o").join(name)).expect("it is there"),
                name.repeat(3000).as_bytes(),
                "{mode}"
            );
        }
    }
}

#[test]
fn rubbish_before_the_first_header_is_skipped() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for make in [
        "yes hello | head -c 20480 >a.tar",
        "echo x >f; touch -d @1000000000 f; tar -cf b.tar f; rm f; (yes | head -c 1024; cat b.tar) >a.tar",
    ] {
        differences.run(make, &["-xvf", "a.tar"]);
        differences.run(make, &["-tf", "a.tar"]);
    }
    differences.none();
}

/// Runs as an ordinary user: as we are, or as nobody if we are root.
#[test]
fn an_ordinary_user_restores_read_only_directories_and_meets_refusals() {
    if !has_gnu_tar() || (is_root() && !has("setpriv")) {
        return;
    }
    let work = Workdir::new();
    set_mode(&work.path(""), 0o755);
    // Where it was built nobody else may get to.
    fs::copy(env!("CARGO_BIN_EXE_durastar"), work.path("tar")).expect("a copy");
    work.sh(
        "mkdir -p ro/in o mine; echo 1 >ro/in/f; echo 2 >ro/g; chmod 555 ro/in ro; touch -d @1000000000 ro/in ro
         tar -cf ro.tar ro; chmod 777 o; mkdir closed; chmod 555 closed",
    );
    let user: &[&str] = if is_root() {
        &[
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ]
    } else {
        &["env"]
    };
    let run = |words: &[&str]| {
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).arg(work.path("tar")).args(words);
        command.current_dir(work.path("")).stdin(Stdio::null());
        Ran::from(command.output().expect("it runs"))
    };
    for mode in MODES {
        let out = format!("o/{mode}");
        work.dir(&out);
        set_mode(&work.path(&out), 0o777);
        run(&["-xf", "ro.tar", "-C", &out, &format!("--sync={mode}")]).quiet();
        for name in ["ro", "ro/in"] {
            let state = fs::metadata(work.path(&out).join(name)).expect("it is there");
            assert_eq!(
                (state.mode() & 0o7777, state.mtime()),
                (0o555, 1_000_000_000),
                "{mode}"
            );
        }
        assert_eq!(
            fs::read_to_string(work.path(&out).join("ro/in/f")).expect("readable"),
            "1\n"
        );
    }
    let refused = run(&["-xf", "ro.tar", "-C", "closed"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .starts_with("tar: ro: Cannot mkdir: Permission denied\n"),
        "{}",
        refused.stderr
    );
    assert!(
        refused
            .stderr
            .ends_with("tar: Exiting with failure status due to previous errors\n"),
        "{}",
        refused.stderr
    );
    if !is_root() {
        thaw(&work);
    }
}

/// 300 MB go through; what the process ever held at once is the buffer and little more.
#[test]
fn memory_does_not_grow_with_the_archive() {
    const SIZE: u64 = 300_000_000;
    const BUFFER: u64 = 8 << 20;
    let work = Workdir::new();
    let mut header = tar::Header::new_ustar();
    header.set_path("zeros").expect("a short name");
    header.set_mode(0o644);
    header.set_size(SIZE);
    header.set_cksum();
    for words in [
        &["-xO", "--sync=none"][..],
        &["-x", "--sync=none"],
        &["-x", "--sync=group", "--jobs=8"],
    ] {
        let mut command = work
            .program("durastar")
            .words(words)
            .words(&["--fifo-size=8m"])
            .command();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(header.as_bytes()).expect("it reads");
        let mut left = SIZE.next_multiple_of(512);
        let zeros = vec![0; 1 << 20];
        while left > 0 {
            let step = left.min(1 << 20);
            pipe.write_all(&zeros[..usize::try_from(step).expect("small")])
                .expect("it reads");
            left -= step;
        }
        // It now waits for the next header, so it has not ended and its state can be read.
        let state = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
        pipe.write_all(&[0; 1024]).expect("it reads");
        drop(pipe);
        assert!(child.wait().expect("it ends").success());
        let peak: u64 = state
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|line| line.trim().strip_suffix(" kB"))
            .and_then(|number| number.trim().parse().ok())
            .expect("Linux tells the peak");
        assert!(peak * 1024 < BUFFER + (32 << 20), "{words:?}: {peak} kB");
        if words[0] == "-x" {
            let state = fs::metadata(work.path("zeros")).expect("it is there");
            assert_eq!(state.len(), SIZE);
            let mut start = [1; 4096];
            let mut file = File::open(work.path("zeros")).expect("readable");
            file.read_exact(&mut start).expect("readable");
            assert_eq!(start, [0; 4096]);
            fs::remove_file(work.path("zeros")).expect("it is ours");
        }
    }
}

/// The memory of the ring is no file to a limit on the size of files, which holds for what is extracted.
#[test]
fn a_limit_on_the_size_of_files_is_about_files() {
    let work = Workdir::new();
    work.sh("mkdir t o; head -c 1000 /dev/zero >t/a; head -c 100000 /dev/zero >t/b; echo c >t/c; tar cf a.tar -C t .");
    let words = ["-c", "ulimit -f 64; trap '' XFSZ; exec \"$0\" \"$@\""];
    let ran = behind(
        &work,
        &["sh", words[0], words[1]],
        &["-xf", "a.tar", "-C", "o"],
    )
    .run();
    ran.says(
        2,
        "durastar: ./b: Cannot write: File too large\n\
         durastar: Exiting with failure status due to previous errors\n",
    );
    work.sh("cmp t/a o/a && cmp t/c o/c").quiet();
}
