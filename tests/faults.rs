//! File systems and limits that really refuse: full, read-only, too small, too simple.
//!
//! What cannot be restored is told with its name and its cause, the exit status is 2, everything else is there, and what
//! failed is neither in the settled log nor looks whole.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, Workdir, behind, gnu_tar, has, has_gnu_tar, is_root};

const MODES: [&str; 4] = ["none", "each", "group", "batch"];

/// Unmounts when the test ends, however it does.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

fn has_program(program: &str) -> bool {
    Path::new("/sbin").join(program).exists()
        || Path::new("/usr/sbin").join(program).exists()
        || has(program)
}

/// A fresh file system of this kind, mounted as `m`; if it cannot be had, says so.
fn mounted(work: &Workdir, make: &str, size: &str, options: &str) -> Option<Mounted> {
    if !is_root() || !has_program(make.split(' ').next().unwrap_or_default()) {
        eprintln!("skipped, as {make} and mount need root and the programs");
        return None;
    }
    // A name of its own each time, as the loop device of the one before may not be gone yet.
    let image = (0..)
        .map(|at| format!("img{at}"))
        .find(|name| !work.path(name).exists());
    let image = image.expect("there is always another");
    let made = work.sh(&format!(
        "truncate -s {size} {image}; mkdir -p m; PATH=$PATH:/sbin:/usr/sbin; {make} {image} 2>&1 && echo made || true"
    ));
    // mkfs.btrfs looks at every loop device of the machine, and fails where one is in disorder.
    if !made.stdout.ends_with("made\n") {
        eprintln!("skipped, as {make} fails: {}", made.stdout);
        return None;
    }
    let status = Command::new("mount")
        .args(["-o", options])
        .args([work.path(&image), work.path("m")])
        .output();
    if !status.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped, as {make} cannot be mounted here: {status:?}");
        return None;
    }
    Some(Mounted(work.path("m")))
}

/// A file system in memory, mounted as `m`.
fn in_memory(work: &Workdir, options: &[&str]) -> Option<Mounted> {
    let status = Command::new("mount")
        .args(options)
        .arg("memory")
        .arg(work.dir("m"))
        .status();
    let made = is_root() && status.is_ok_and(|status| status.success());
    if !made {
        eprintln!("skipped, as {options:?} cannot be mounted here");
    }
    made.then(|| Mounted(work.path("m")))
}

fn log(work: &Workdir) -> BTreeSet<String> {
    fs::read_to_string(work.path("log"))
        .expect("it was written")
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Names of files whose state here is the original one.
fn whole(original: &Path, found: &Path, names: &[String]) -> BTreeSet<String> {
    let same = |name: &&String| {
        let state = |root: &Path| fs::symlink_metadata(root.join(name));
        match (state(original), state(found)) {
            (Ok(a), Ok(b)) => {
                (a.mode(), a.mtime(), a.len()) == (b.mode(), b.mtime(), b.len())
                    && fs::read(original.join(name)).ok() == fs::read(found.join(name)).ok()
            }
            _ => false,
        }
    };
    names.iter().filter(same).cloned().collect()
}

fn failed(ran: &Ran) -> BTreeSet<String> {
    ran.stderr
        .lines()
        .filter_map(|line| line.strip_prefix("durastar: ")?.split_once(": Cannot"))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// More than fits: some members are there, the rest is told one by one.
fn overfill(work: &Workdir, what: &str, remount: impl Fn() -> Option<Mounted>) {
    work.sh("mkdir -p t; for i in $(seq 100 139); do head -c 1500000 /dev/urandom >t/$i; done; touch -d @1000000000 t/*; tar --sort=name -cf t.tar -C t $(ls t)");
    let names: Vec<String> = (100..140).map(|at| at.to_string()).collect();
    for mode in MODES {
        let Some(mount) = remount() else { return };
        let (sync, words) = (
            format!("--sync={mode}"),
            ["--settled-log=log", "-xf", "t.tar", "-C", "m"],
        );
        let ran = work.program("durastar").words(&[&sync]).words(&words).run();
        let what = format!("{what} {mode}");
        assert_eq!(
            (ran.code, ran.signal),
            (Some(2), None),
            "{what}: {}",
            ran.stderr
        );
        let causes = ["No space left on device", "Disk quota exceeded"];
        assert!(
            causes.iter().any(|cause| ran.stderr.contains(cause)),
            "{what}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr
                .ends_with("durastar: Exiting with failure status due to previous errors\n"),
            "{what}"
        );
        let whole = whole(&work.path("t"), &work.path("m"), &names);
        let told = failed(&ran);
        assert!(!whole.is_empty(), "{what}: nothing is there");
        let named =
            |name: &String| told.contains(name) || ran.stderr.contains("members may be lost");
        for name in names.iter().filter(|name| !whole.contains(*name)) {
            assert!(
                named(name),
                "{what}: {name} is lost in silence\n{}",
                ran.stderr
            );
        }
        for name in &log(work) {
            assert!(
                whole.contains(name),
                "{what}: {name} is settled\n{}",
                ran.stderr
            );
            assert!(!told.contains(name), "{what}: {name} is settled and told");
        }
        if mode == "none" {
            assert_eq!(log(work).len(), 0);
        }
        drop(mount);
    }
}

#[test]
fn a_full_file_system_costs_what_does_not_fit() {
    for (make, size, options) in [
        ("mkfs.ext4 -q", "32M", "loop"),
        ("mkfs.xfs -q", "300M", "loop"),
        ("mkfs.btrfs -q", "120M", "loop"),
        ("mkfs.vfat", "32M", "loop"),
    ] {
        let work = Workdir::new();
        overfill(&work, make, || {
            let mount = mounted(&work, make, size, options)?;
            if make.starts_with("mkfs.xfs") || make.starts_with("mkfs.btrfs") {
                // These do not come small: fill them up to 20 MB.
                work.sh("free=$(df --output=avail -B1000000 m | tail -1); head -c $(((free-20)*1000000)) /dev/urandom >m/filler 2>/dev/null || true; sync -f m");
            }
            Some(mount)
        });
    }
    let work = Workdir::new();
    overfill(&work, "tmpfs", || {
        in_memory(&work, &["-t", "tmpfs", "-o", "size=20m"])
    });
}

#[test]
fn a_quota_is_a_limit_like_another() {
    if !has_program("setquota") {
        return;
    }
    let work = Workdir::new();
    overfill(&work, "quota", || {
        let mount = mounted(
            &work,
            "mkfs.ext4 -q -O quota -E quotatype=usrquota",
            "200M",
            "loop,usrquota",
        )?;
        let set = Command::new("setquota")
            .args(["-u", "0", "0", "20000", "0", "0"])
            .arg(work.path("m"))
            .status();
        if !set.is_ok_and(|status| status.success()) {
            eprintln!("skipped, as quotas cannot be set here");
            return None;
        }
        Some(mount)
    });
}

#[test]
fn out_of_inodes_is_told_member_by_member() {
    let work = Workdir::new();
    work.sh("mkdir t; for i in $(seq 100 199); do : >t/$i; done; tar --sort=name -cf t.tar -C t $(ls t)");
    for mode in MODES {
        let Some(_mount) = mounted(&work, "mkfs.ext4 -q -N 64", "8M", "loop") else {
            return;
        };
        let ran = work.run(
            "durastar",
            &[
                &format!("--sync={mode}"),
                "--settled-log=log",
                "-xf",
                "t.tar",
                "-C",
                "m",
            ],
        );
        assert_eq!(ran.code, Some(2), "{mode}: {}", ran.stderr);
        let made = (100..200)
            .filter(|at| work.path(&format!("m/{at}")).exists())
            .count();
        assert_eq!(failed(&ran).len() + made, 100, "{mode}");
        assert_eq!(
            log(&work).len(),
            if mode == "none" { 0 } else { made },
            "{mode}"
        );
    }
}

#[test]
fn a_read_only_file_system_refuses_everything() {
    let work = Workdir::new();
    work.sh(
        "mkdir t; echo 1 >t/f; ln t/f t/g; ln -s f t/l; mkfifo t/p; tar --sort=name -cf t.tar t",
    );
    let Some(_mount) = mounted(&work, "mkfs.ext4 -q", "8M", "loop") else {
        return;
    };
    work.sh("mount -o remount,ro m");
    for mode in MODES {
        let ran = work.run(
            "durastar",
            &[&format!("--sync={mode}"), "-xf", "t.tar", "-C", "m"],
        );
        assert_eq!(ran.code, Some(2), "{mode}: {}", ran.stderr);
        for name in ["t", "t/f", "t/g", "t/l", "t/p"] {
            // Each for the same cause: the directory that it needs.
            let line = format!("durastar: {name}: Cannot mkdir: Read-only file system\n");
            assert!(ran.stderr.contains(&line), "{mode}: {}", ran.stderr);
        }
    }
}

#[test]
fn limits_of_the_process_cost_the_members_they_hit() {
    if !has("prlimit") {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir t; for i in $(seq 100 149); do head -c $((i == 120 ? 300000 : 900)) /dev/zero >t/$i; done; mkdir -p t/a/b/c/d/e/f/g; echo x >t/a/b/c/d/e/f/g/h; tar --sort=name -cf t.tar t");
    for mode in MODES {
        work.sh("rm -rf o; mkdir o");
        let sync = format!("--sync={mode}");
        let words = [&sync[..], "--settled-log=log", "-xf", "t.tar", "-C", "o"];
        // A file larger than may be.
        let ran = behind(&work, &["prlimit", "--fsize=100000"], &words).run();
        ran.says(
            2,
            "durastar: t/120: Cannot write: File too large\n\
             durastar: Exiting with failure status due to previous errors\n",
        );
        assert!(!log(&work).contains("t/120"));
        assert_eq!(
            log(&work).len(),
            if mode == "none" { 0 } else { 58 },
            "{mode}"
        );
        assert_eq!(
            fs::metadata(work.path("o/t/120"))
                .expect("it is there")
                .mode()
                & 0o777,
            0o600
        );
        // Few files may be open: it takes longer, no more.
        work.sh("rm -rf o; mkdir o");
        behind(&work, &["prlimit", "--nofile=32"], &words)
            .run()
            .quiet();
        assert_eq!(
            log(&work).len(),
            if mode == "none" { 0 } else { 59 },
            "{mode}"
        );
    }
}

#[test]
fn names_that_do_not_fit_are_told_and_deep_paths_do() {
    let work = Workdir::new();
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |path: &str| {
        let mut header = tar::Header::new_ustar();
        header.set_mode(0o644);
        header.set_size(2);
        header.set_path("x").expect("short");
        builder
            .append_pax_extensions([("path", path.as_bytes())])
            .expect("written");
        header.set_cksum();
        builder.append(&header, &b"x\n"[..]).expect("written");
    };
    let (long, deep) = ("n".repeat(256), "d/".repeat(2100));
    add(&long);
    add(&format!("{long}/f"));
    add(&format!("{deep}f"));
    add("after");
    work.write("a.tar", builder.into_inner().expect("written"));
    for mode in MODES {
        work.sh("rm -rf o; mkdir o");
        let ran = work.run(
            "durastar",
            &[&format!("--sync={mode}"), "-xf", "a.tar", "-C", "o"],
        );
        ran.says(
            2,
            &format!(
                "durastar: {long}: Cannot open: File name too long\n\
                 durastar: {long}/f: Cannot open: File name too long\n\
                 durastar: Exiting with failure status due to previous errors\n"
            ),
        );
        assert!(work.path("o/after").exists());
        // No path reaches it, but every step does.
        let found = work.sh(
            "cd o; for i in 1 2 3 4 5 6 7; do cd -P $(printf 'd/%.0s' $(seq 300)); done; cat f",
        );
        assert_eq!(found.stdout, "x\n");
    }
}

/// What these file systems cannot hold is told as GNU tar tells it; the rest is there.
#[test]
fn file_systems_without_links_owners_or_attributes() {
    if !has_gnu_tar() || !has("setfattr") {
        return;
    }
    let work = Workdir::new();
    work.sh("mkdir t; echo 1 >t/f; ln t/f t/hard; ln -s f t/soft; mkfifo t/pipe; echo 2 >t/owned; setfattr -n user.color -v red t/owned; setfacl -m u:12345:r t/owned || true
             touch -d @1000000000 t/*; touch -h -d @1000000000 t/soft");
    if is_root() {
        work.sh("chown 12345:12345 t/owned");
    }
    work.sh("tar --xattrs --acls --sort=name --format=posix -cf t.tar t");
    for make in ["mkfs.vfat", "ramfs"] {
        for extras in [&[][..], &["--xattrs", "--acls"]] {
            let mount = if make == "ramfs" {
                in_memory(&work, &["-t", "ramfs"])
            } else {
                mounted(&work, make, "8M", "loop")
            };
            let Some(mount) = mount else { continue };
            let words = [&["-xpf", "t.tar", "-C", "m"], extras].concat();
            let expected = gnu_tar(&work.path(""), &words, &[]);
            work.sh("rm -rf m/t");
            let ran = work.run("tar", &words);
            let names = |ran: &Ran| -> BTreeSet<String> {
                let lines = ran
                    .stderr
                    .lines()
                    .filter_map(|line| line.strip_prefix("tar: ")?.split_once(": Cannot"));
                lines.map(|(name, _)| name.to_owned()).collect()
            };
            if extras.is_empty() {
                assert_eq!(
                    ran.code, expected.code,
                    "{make}: {}\n{}",
                    ran.stderr, expected.stderr
                );
                assert_eq!(
                    names(&ran),
                    names(&expected),
                    "{make}: {}\n{}",
                    ran.stderr,
                    expected.stderr
                );
            } else {
                // GNU tar only warns where attributes cannot be had; they were asked for.
                assert_eq!(ran.code, Some(2), "{make}: {}", ran.stderr);
                assert!(ran.stderr.contains("t/owned: Cannot"), "{}", ran.stderr);
            }
            assert_eq!(
                fs::read_to_string(work.path("m/t/f")).expect("it is there"),
                "1\n"
            );
            assert_eq!(
                fs::read_to_string(work.path("m/t/owned")).expect("it is there"),
                "2\n"
            );
            drop(mount);
        }
    }
}

/// A link cannot reach into another file system: that costs the link and nothing else.
#[test]
fn a_hard_link_across_a_mount_point_is_told() {
    let work = Workdir::new();
    work.sh("mkdir -p x/m m; echo 1 >x/a; ln x/a x/m/b; echo 2 >x/m/c; tar --sort=name -cf x.tar -C x a m");
    for mode in MODES {
        work.sh("mkdir -p o/m");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "tmpfs"])
            .arg(work.path("o/m"))
            .status();
        if !is_root() || !status.is_ok_and(|status| status.success()) {
            eprintln!("skipped, as only root may mount");
            return;
        }
        let mount = Mounted(work.path("o/m"));
        let ran = work.run(
            "tar",
            &[
                "-xf",
                "x.tar",
                "-C",
                "o",
                &format!("--sync={mode}"),
                "--settled-log=log",
            ],
        );
        ran.says(
            2,
            "tar: m/b: Cannot hard link to ‘a’: Invalid cross-device link\n\
             tar: Exiting with failure status due to previous errors\n",
        );
        assert_eq!(
            fs::read_to_string(work.path("o/a")).expect("it is there"),
            "1\n"
        );
        assert_eq!(
            fs::read_to_string(work.path("o/m/c")).expect("it is there"),
            "2\n"
        );
        assert!(!log(&work).contains("m/b"));
        drop(mount);
    }
}

/// A directory of the lower layer changes its identity when it is first written to.
#[test]
fn directories_of_an_overlay_get_their_modes_and_times() {
    let work = Workdir::new();
    work.sh("mkdir -p lo/d/e ov m; echo 1 >lo/d/e/f; chmod 750 lo/d; chmod 555 lo/d/e; touch -d @1000000000 lo/d/e lo/d; tar -C lo -cf ov.tar d; chmod 755 lo/d/e; touch lo/d");
    let Some(upper) = in_memory(&work, &["-t", "tmpfs"]) else {
        return;
    };
    for mode in MODES {
        work.sh("rm -rf m/*; mkdir -p m/up m/wk mnt");
        let layers = format!(
            "lowerdir={},upperdir={},workdir={},xino=off",
            work.path("lo").display(),
            work.path("m/up").display(),
            work.path("m/wk").display()
        );
        let status = Command::new("mount")
            .args(["-t", "overlay", "overlay", "-o", &layers])
            .arg(work.path("mnt"))
            .status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("skipped, as overlays cannot be mounted here");
            return;
        }
        let mount = Mounted(work.path("mnt"));
        work.run(
            "tar",
            &["-xpf", "ov.tar", "-C", "mnt", &format!("--sync={mode}")],
        )
        .quiet();
        for (name, bits) in [("mnt/d", 0o750), ("mnt/d/e", 0o555)] {
            let stat = fs::metadata(work.path(name)).expect("it is there");
            assert_eq!(
                (stat.mode() & 0o7777, stat.mtime()),
                (bits, 1_000_000_000),
                "{mode} {name}"
            );
        }
        drop(mount);
    }
    drop(upper);
}
