//! Archives written: the same bytes as GNU tar's, readable by others, whole or not there.

use std::fs;
use std::process::Command;

use crate::support::{Workdir, assert_same_tree, behind, gnu_tar, has, has_gnu_tar, is_root};

/// A tree with every kind of object that needs no privileges, holes, long names and two names of one file.
const TREE: &str = "
    mkdir -p t/sub/deep t/empty
    printf hello >t/f; ln t/f t/g; ln -s f t/l; ln -s /nowhere t/dangling; mkfifo t/p
    : >t/zero; printf x >t/sub/x; head -c 300000 /dev/zero | tr '\\0' a >t/large
    truncate -s 1000000 t/holes; printf end >>t/holes
    d=$(printf '%060d' 0); mkdir -p t/$d/$d; printf long >t/$d/$d/$(printf '%090d' 1)
    ln -s $(printf '%0150d' 2) t/longlink; printf u >t/\u{fc}
    chmod 4755 t/sub/x; chmod 1777 t/sub/deep; touch -d @1000000000.25 t/f t/sub/x
    find t -depth -newer t/f -exec touch -h -d @1234567890.5 {} +
";

/// Compares what GNU tar and the program write for the same words, in one directory.
#[track_caller]
fn same_as_gnu_tar(setup: &str, cases: &[&str]) {
    if !has_gnu_tar() {
        return;
    }
    let work = Workdir::new();
    work.sh(setup);
    let mut wrong = Vec::new();
    for case in cases {
        // Outside of the tree that is archived.
        let out = Workdir::new();
        let archive = out.path("a.tar");
        let archive = archive.to_str().expect("a plain name");
        let words: Vec<&str> = ["-f", archive].into_iter().chain(case.split(' ')).collect();
        let theirs = gnu_tar(&work.path(""), &words, &[]);
        let expected = fs::read(archive).unwrap_or_default();
        let _ = fs::remove_file(archive);
        let ours = work.program("tar").words(&words).run();
        let found = fs::read(archive).unwrap_or_default();
        if (theirs.code, &theirs.stdout_bytes, &theirs.stderr)
            != (ours.code, &ours.stdout_bytes, &ours.stderr)
        {
            wrong.push(format!(
                "{case}:\nGNU tar: {:?} {}{}\nhere: {:?} {}{}",
                theirs.code, theirs.stdout, theirs.stderr, ours.code, ours.stdout, ours.stderr
            ));
        }
        if expected != found {
            let place = expected.iter().zip(&found).position(|(a, b)| a != b);
            wrong.push(format!(
                "{case}: {} and {} bytes, the first difference at {place:?}",
                expected.len(),
                found.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn archives_are_those_of_gnu_tar() {
    same_as_gnu_tar(
        TREE,
        &[
            "-cv t",
            "-cvv t/f t/l t/g t/sub",
            "--format=gnu -S -cv t",
            "--format=oldgnu -c t",
            "--format=oldgnu -S -c t",
            "--format=v7 -c t/f t/g t/l t/sub",
            "-o -c t/f",
            "--format=ustar -c t/f t/g t/l t/sub",
            "--format=posix -cv t",
            "--format=posix --sparse-version=0.0 -c t",
            "-S --hole-detection=raw -c t/holes t/large",
            "-c -C t . -C sub x",
            "--no-recursion -cv t",
            "--sort=name -c t",
            "--sort=inode -c t",
            "-b1 -c t/f",
            "-b100 -c t/f",
            "-h -c t/l t/f t/sub",
            "--hard-dereference -c t",
            "-l -c t/f",
            "--one-file-system -c t",
            "-V label -c t/f",
            "-c nowhere t/f",
            "-cv t/sub/../f",
            "--exclude=x --exclude=*e* -cv t",
            "-c -T /dev/null",
        ],
    );
}

#[test]
fn owners_modes_and_times_are_overridden_as_in_gnu_tar() {
    same_as_gnu_tar(
        &format!("{TREE}\nprintf '+0 joe:55\\n# none\\n' >map"),
        &[
            "--owner=joe:77 --group=12 -c t",
            "--owner=root --group=:7 -c t/f",
            "--numeric-owner -c t",
            "--owner-map=map --group-map=map -c t",
            "--mode=u+x,go-r -c t",
            "--mode=a=rX -c t",
            "--mode=0600 -c t/f t/sub",
            "--mtime=@12345 -c t",
            "--mtime=@1100000000 --clamp-mtime -c t",
            "--mtime=./t/f -c t",
            "--transform=s,^t,new, -cv t",
            "--transform=s,^t,new, --show-transformed-names -cv t",
            "--newer=2035-01-01 -cv t",
            "--newer-mtime=2005-01-01 -cv t",
        ],
    );
}

#[test]
fn pax_options_are_those_of_gnu_tar() {
    same_as_gnu_tar(
        TREE,
        &[
            "--pax-option=delete=atime,delete=ctime -c t",
            "--pax-option=delete=?time -c t",
            "--pax-option=uname:=bob,delete=ctime -c t",
            "--pax-option=comment=all,globexthdr.name=/x/%n,globexthdr.mtime=1 -c t/f",
            "--pax-option=exthdr.name=%d/P/%f,exthdr.mtime=5 -c t/sub",
            "--format=posix -V label --pax-option=globexthdr.name=g,globexthdr.mtime=1 -c t/f",
        ],
    );
}

#[test]
fn what_is_left_out_is_what_gnu_tar_leaves_out() {
    same_as_gnu_tar(
        "mkdir -p t/x t/cache t/.git t/m/n; : >t/x/T; : >t/x/file; : >t/f; : >t/.git/h; : >t/.gitignore
         printf 'Signature: 8a477f597d28d172789f06886806bc55\\n' >t/cache/CACHEDIR.TAG; : >t/cache/z
         printf '*.o\\n' >t/m/.ig; : >t/m/a.o; : >t/m/a.c; : >t/m/n/b.o; : >t/back~
         printf 't/x\\nt/f\\n' >list; printf 't/x\\0t/f\\0' >list0; echo f >excludes",
        &[
            "--exclude-tag=T -cv t",
            "--exclude-tag-under=T -cv t",
            "--exclude-tag-all=T -cv t",
            "--exclude-caches -cv t",
            "--exclude-caches-under -c t",
            "--exclude-caches-all -cv t",
            "--exclude-vcs -cv t",
            "--exclude-backups -cv t",
            "--exclude-ignore-recursive=.ig -cv t",
            "-X excludes -cv t",
            "-cv -T list",
            "--null -cv -T list0",
            "--anchored --exclude=t/x -cv t",
        ],
    );
}

#[test]
fn a_file_that_is_shorter_than_it_says_is_filled_with_zeros() {
    // The kernel gives such files a page and fills in less.
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    if fs::metadata(file).is_ok_and(|state| state.len() == 4096) {
        same_as_gnu_tar("", &[&format!("-cP {file}")]);
    } else {
        eprintln!("skipped, as {file} is not there");
    }
}

#[test]
fn other_tars_read_what_is_written() {
    let work = Workdir::new();
    work.sh(TREE);
    for (name, format) in [
        ("tar", "--format=gnu"),
        ("tar", "--format=oldgnu"),
        ("tar", "--format=posix"),
        ("star", "H=xstar"),
        ("star", "H=xustar"),
        ("star", "H=exustar"),
        ("star", "H=pax"),
        ("star", "H=epax"),
    ] {
        work.run(name, &[format, "-c", "-f", "a.tar", "t"]);
        for other in ["tar -xpf", "bsdtar -xpf", "busybox tar -xpf"] {
            let program = other.split(' ').next().expect("a word");
            let records = format != "--format=gnu" && format != "--format=oldgnu";
            if !has(program) || program == "busybox" && records {
                continue;
            }
            work.sh(&format!("rm -rf o; mkdir o; {other} a.tar -C o"));
            // busybox and star's headers without records have whole seconds only.
            work.sh("diff -r --no-dereference t o/t 2>&1 | grep -v 'is a fifo' || :");
            let kinds = "find . -printf '%P %y %m %s %l\\n' | sort";
            let theirs = work.sh(&format!("cd o/t; {kinds}")).stdout;
            let ours = work.sh(&format!("cd t; {kinds}")).stdout;
            let without_sizes = |text: &str| -> Vec<String> {
                text.lines()
                    .filter(|line| !line.contains(" d "))
                    .map(str::to_owned)
                    .collect()
            };
            assert_eq!(
                without_sizes(&theirs),
                without_sizes(&ours),
                "{name} {format} {other}"
            );
        }
    }
}

#[test]
fn what_is_written_can_be_restored() {
    let work = Workdir::new();
    work.sh(TREE);
    for words in [
        &["--format=posix", "-S", "-c", "-f", "a.tar", "-C", "t", "."][..],
        &[
            "--format=posix",
            "--sparse-version=0.1",
            "-c",
            "-f",
            "a.tar",
            "-C",
            "t",
            ".",
        ],
        &["--format=posix", "-c", "-f", "a.tar", "-C", "t", "."],
    ] {
        work.run("tar", words).quiet();
        work.sh("rm -rf o");
        work.dir("o");
        work.run("tar", &["-xpf", "a.tar", "-C", "o"]).quiet();
        assert_same_tree(&work.path("t"), &work.path("o"));
    }
}

#[test]
fn compressed_archives_are_read_by_their_programs() {
    let work = Workdir::new();
    work.sh("mkdir t; seq 200000 >t/numbers; head -c 700000 /dev/urandom >t/noise; : >t/empty");
    work.run("tar", &["-cf", "plain.tar", "t"]).quiet();
    let plain = fs::read(work.path("plain.tar")).expect("it was written");
    for (option, suffix, program) in [
        ("-z", "gz", "gzip"),
        ("-j", "bz2", "bzip2"),
        ("-J", "xz", "xz"),
        ("--zstd", "zst", "zstd"),
        ("--lz4", "lz4", "lz4"),
        ("--lzma", "lzma", "xz"),
        ("--lzip", "lz", "lzip"),
    ] {
        if !has(program) {
            continue;
        }
        let archive = format!("a.tar.{suffix}");
        work.run("tar", &["-c", option, "-f", &archive, "t"])
            .quiet();
        let unpacked = work.sh(&format!("{program} -dc {archive}")).stdout_bytes;
        assert!(unpacked == plain, "{option}");
        let by_name = format!("b.tar.{suffix}");
        work.run("tar", &["-caf", &by_name, "t"]).quiet();
        let (one, other) = (fs::read(work.path(&archive)), fs::read(work.path(&by_name)));
        assert!(
            one.expect("written") == other.expect("written"),
            "-a {suffix}"
        );
        for level in ["--compress-level=1", "--compress-level=9"] {
            work.run("tar", &["-c", option, level, "-f", &archive, "t"])
                .quiet();
            let unpacked = work.sh(&format!("{program} -dc {archive}")).stdout_bytes;
            assert!(unpacked == plain, "{option} {level}");
        }
        let alone = work.run("tar", &["--jobs=1", "-c", option, "-f", &archive, "t"]);
        alone.quiet();
        let unpacked = work.sh(&format!("{program} -dc {archive}")).stdout_bytes;
        assert!(unpacked == plain, "{option} alone");
    }
    work.run("tar", &["-c", "-I", "gzip -9", "-f", "c.gz", "t"])
        .quiet();
    assert!(work.sh("gzip -dc c.gz").stdout_bytes == plain);
    work.run("tar", &["-c", "-I", "false", "-f", "d.gz", "t"]);
    assert!(!work.path("d.gz").exists(), "a failed run leaves nothing");
}

#[test]
fn an_empty_archive_compresses_too() {
    let work = Workdir::new();
    for (option, program) in [
        ("-z", "gzip"),
        ("-j", "bzip2"),
        ("-J", "xz"),
        ("--zstd", "zstd"),
    ] {
        work.run("tar", &["-c", option, "-f", "a", "-T", "/dev/null"])
            .quiet();
        if has(program) {
            assert_eq!(
                work.sh(&format!("{program} -dc a")).stdout_bytes,
                [0; 10240]
            );
        }
    }
}

#[test]
fn the_archive_is_not_archived() {
    let work = Workdir::new();
    work.sh("mkdir t; : >t/f");
    for sync in ["--sync=none", "--sync=group"] {
        for _ in 0..2 {
            let ran = work.run("tar", &[sync, "--sort=name", "-cvf", "t/a.tar", "t"]);
            ran.says(0, "tar: t/a.tar: file is the archive; not dumped\n");
            assert_eq!(ran.stdout, "t/\nt/f\n");
        }
        fs::remove_file(work.path("t/a.tar")).expect("it is there");
    }
}

#[test]
fn the_old_archive_stays_until_the_new_one_is_stable() {
    if !has("strace") {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir t; seq 1000 >t/f; echo old >a.tar; chmod 640 a.tar");
    let trace = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "trace",
        "-e",
        "trace=fsync,rename,renameat,renameat2,unlink,unlinkat",
    ];
    let ran = behind(&work, &trace, &["--remove-files", "-cf", "a.tar", "t"]).run();
    ran.quiet();
    let trace = fs::read_to_string(work.path("trace")).expect("strace wrote it");
    let calls: Vec<&str> = ["fsync", "rename", "fsync", "unlink", "unlink"].to_vec();
    let seen: Vec<&str> = trace
        .lines()
        .filter(|line| line.contains(" = 0"))
        .filter_map(|line| {
            calls
                .iter()
                .copied()
                .find(|call| line.contains(&format!(" {call}")))
        })
        .collect();
    // The file, then its name, then the directory that holds it; only then is anything removed.
    assert_eq!(seen, calls, "{trace}");
    assert!(!work.path("t").exists());
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(work.path("a.tar"))
            .expect("it is there")
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_sync_that_fails_leaves_the_old_archive() {
    if !has("strace") {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir t; seq 1000 >t/f; echo old >a.tar");
    let trace = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "trace",
        "-e",
        "inject=fsync:error=EIO:when=1",
    ];
    let ran = behind(&work, &trace, &["--remove-files", "-cf", "a.tar", "t"]).run();
    ran.says(
        2,
        "durastar: a.tar: Cannot sync: Input/output error\ndurastar: Error is not recoverable: exiting now\n",
    );
    assert_eq!(fs::read(work.path("a.tar")).expect("it is there"), b"old\n");
    assert!(work.path("t/f").exists());
    let left: Vec<_> = fs::read_dir(work.path("")).expect("readable").collect();
    // The tree, the archive and the trace.
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_full_disk_leaves_nothing_that_looks_whole() {
    if fs::metadata("/dev/full").is_err() {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir t; seq 100000 >t/f");
    work.run("tar", &["-cf", "/dev/full", "t"]).says(
        2,
        "tar: /dev/full: Cannot write: No space left on device\ntar: Error is not recoverable: exiting now\n",
    );
    let ran = work.run("tar", &["-cf", "nowhere/a.tar", "t"]);
    ran.says(
        2,
        "tar: nowhere/a.tar: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now\n",
    );
}

#[test]
fn unreadable_files_are_named_and_the_rest_is_archived() {
    if !is_root() || !has("setpriv") {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir t t/closed; echo a >t/a; echo b >t/b; chmod 0 t/a t/closed; chmod 777 .");
    let wrapper = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let ran = behind(&work, &wrapper, &["--sort=name", "-cf", "a.tar", "t"]).run();
    ran.says(
        2,
        "durastar: t/a: Cannot open: Permission denied\n\
         durastar: t/closed: Cannot open: Permission denied\n\
         durastar: Exiting with failure status due to previous errors\n",
    );
    assert_eq!(work.run("tar", &["-tf", "a.tar"]).stdout, "t/\nt/b\n");
    let words = ["--ignore-failed-read", "--sort=name", "-cf", "a.tar", "t"];
    let ran = behind(&work, &wrapper, &words).run();
    ran.says(
        0,
        "durastar: t/a: Warning: Cannot open: Permission denied\n\
         durastar: t/closed: Warning: Cannot open: Permission denied\n",
    );
}

#[test]
fn deep_trees_need_few_open_files() {
    let work = Workdir::new();
    // Deeper than the kernel takes in one path.
    work.sh("d=$(printf '%0200d' 0); i=0; mkdir t; cd t; while [ $i -lt 60 ]; do mkdir $d; cd -P $d; echo $i >f; i=$((i+1)); done");
    let ran = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -n 64; exec {} --jobs=1 -cf a.tar t",
            env!("CARGO_BIN_EXE_durastar")
        ))
        .current_dir(work.path(""))
        .output()
        .expect("sh runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let listed = work.run("tar", &["-tf", "a.tar"]).stdout;
    assert_eq!(listed.lines().count(), 121);
}

#[test]
fn the_same_files_give_the_same_archive() {
    let work = Workdir::new();
    work.sh(TREE);
    work.sh("cp -a t u; touch u/f; mkdir one two; mv t one/t; mv u two/t; touch -d @5 two/t/sub");
    let words = [
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--mtime=@0",
        "--format=posix",
        "--pax-option=delete=atime,delete=ctime",
        "-czf",
    ];
    for side in ["one", "two"] {
        let mut words = words.to_vec();
        let archive = format!("{side}.tgz");
        words.extend([archive.as_str(), "-C", side, "t"]);
        work.run("tar", &words).quiet();
    }
    let read = |name: &str| fs::read(work.path(name)).expect("it was written");
    assert!(read("one.tgz") == read("two.tgz"));
}

#[test]
fn star_archives_by_its_own_words() {
    let work = Workdir::new();
    work.sh("mkdir t; printf hello >t/f; ln t/f t/g; ln -s f t/l");
    let ran = work.run("star", &["-c", "-v", "f=a.tar", "t/f", "t/g", "t/l"]);
    assert_eq!(
        ran.stdout,
        "a t/f 5 bytes, 1 tape blocks\na t/g link to t/f\na t/l symbolic link to f\n"
    );
    let bytes = fs::read(work.path("a.tar")).expect("it was written");
    assert_eq!(&bytes[508..512], b"tar\0");
    work.run("star", &["-c", "H=v7tar", "f=b.tar", "-C", "t", "."]);
    assert_eq!(work.run("tar", &["-tf", "b.tar"]).stdout.lines().count(), 2);
}
