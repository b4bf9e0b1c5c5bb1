//! Archives that attack: whatever they hold, nothing outside the destination changes, and the good members around them
//! are restored.
//!
//! Each class of attack has its smallest forms here. The box has the destination `a/d` and beside it what must not
//! change: `canary`, `a/sibling`. Every archive is restored as we are and as an ordinary user, from a file and from a
//! pipe, and between a member before and a member after the attack.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::{Ran, Workdir, has, is_root};

/// An archive, block by block. A name or number goes into the header as it is.
#[derive(Clone, Default)]
struct Tar(Vec<u8>);

const GNU: &[u8; 8] = b"ustar  \0";
const POSIX: &[u8; 8] = b"ustar\x0000";

impl Tar {
    /// A header with these fields, then the data.
    fn raw(
        mut self,
        flag: u8,
        name: &[u8],
        link: &[u8],
        mode: &[u8],
        size: &[u8],
        data: &[u8],
    ) -> Self {
        let mut block = [0_u8; 512];
        let mut put = |at: usize, room: usize, value: &[u8]| {
            let length = value.len().min(room);
            block[at..at + length].copy_from_slice(&value[..length]);
        };
        put(0, 100, name);
        put(100, 8, mode);
        // Whose it is does not matter here, so it is ours.
        put(
            108,
            8,
            format!("{:07o}", rustix::process::geteuid().as_raw()).as_bytes(),
        );
        put(
            116,
            8,
            format!("{:07o}", rustix::process::getegid().as_raw()).as_bytes(),
        );
        put(124, 12, size);
        put(136, 12, b"07000000000");
        put(148, 8, b"        ");
        put(156, 1, &[flag]);
        put(157, 100, link);
        put(
            257,
            8,
            if matches!(flag, b'L' | b'K' | b'S') {
                GNU
            } else {
                POSIX
            },
        );
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        self.0.extend_from_slice(&block);
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn entry(
        self,
        flag: u8,
        name: impl AsRef<[u8]>,
        link: impl AsRef<[u8]>,
        mode: u32,
        data: &[u8],
    ) -> Self {
        let (mode, size) = (format!("{mode:07o}"), format!("{:011o}", data.len()));
        self.raw(
            flag,
            name.as_ref(),
            link.as_ref(),
            mode.as_bytes(),
            size.as_bytes(),
            data,
        )
    }

    fn file(self, name: impl AsRef<[u8]>) -> Self {
        self.entry(b'0', name, "", 0o644, b"evil\n")
    }

    fn dir(self, name: impl AsRef<[u8]>, mode: u32) -> Self {
        self.entry(b'5', name, "", mode, b"")
    }

    fn link(self, name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.entry(b'2', name, target, 0o777, b"")
    }

    fn hard(self, name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        self.entry(b'1', name, target, 0o644, b"")
    }

    /// Extended records for the next member, or for all that follow.
    fn pax(self, flag: u8, records: &[(&str, &[u8])]) -> Self {
        let mut data = Vec::new();
        for (key, value) in records {
            let bare = key.len() + value.len() + 3;
            let mut length = bare + 1;
            while length != bare + length.to_string().len() {
                length = bare + length.to_string().len();
            }
            data.extend_from_slice(format!("{length} {key}=").as_bytes());
            data.extend_from_slice(value);
            data.push(b'\n');
        }
        self.entry(flag, "PaxHeader", "", 0o644, &data)
    }

    /// GNU tar's long name (`L`) or link name (`K`) for the next member.
    fn long(self, flag: u8, name: impl AsRef<[u8]>) -> Self {
        let data = [name.as_ref(), b"\0"].concat();
        self.entry(flag, "././@LongLink", "", 0, &data)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn end(self) -> Vec<u8> {
        self.bytes(&[0; 1024]).0
    }

    /// This between two members that must be restored.
    fn between(self) -> Vec<u8> {
        let good = |name: &str, data: &[u8]| Self::default().entry(b'0', name, "", 0o644, data);
        let before = good("ok-before", b"before\n").0;
        let after = good("ok-after", b"after\n").end();
        [before, self.0, after].concat()
    }
}

fn tar() -> Tar {
    Tar::default()
}

/// The destination and what is around it.
struct Sandbox {
    work: Workdir,
    program: PathBuf,
}

impl Sandbox {
    fn new() -> Self {
        let work = Workdir::new();
        fs::set_permissions(work.path(""), fs::Permissions::from_mode(0o755)).expect("a mode");
        // Where it was built nobody else may get to.
        fs::copy(env!("CARGO_BIN_EXE_durastar"), work.path("durastar")).expect("a copy");
        let program = work.path("durastar");
        Self { work, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path("box").join(name)
    }

    fn outside(&self) -> String {
        self.path("canary")
            .to_str()
            .expect("a plain name")
            .to_owned()
    }

    /// A fresh box; `before` is run in the destination.
    fn fresh(&self, uid: Option<u32>, before: &str) {
        let own = uid.map_or(String::new(), |uid| {
            format!("chown -hR {uid}:{uid} box/a/d")
        });
        self.work.sh(&format!(
            "rm -rf box; mkdir -p box/a/d box/a/cwd box/canary/dir; cd box/canary
             echo secret >victim; echo inner >dir/inner; chmod 640 victim; chmod 751 dir
             echo sibling >../a/sibling; touch -d @1000000000 victim dir/inner dir . ../a/sibling
             cd ../a/d; OUT={}; {before}
             cd {}; {own}",
            self.outside(),
            self.work.path("").display(),
        ));
    }

    /// Everything outside the destination.
    fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut todo = vec![
            self.path("canary"),
            self.path("a/sibling"),
            self.path("a/cwd"),
        ];
        while let Some(path) = todo.pop() {
            let stat = fs::symlink_metadata(&path).expect("it is there");
            let mut all = format!(
                "{:o} {}:{} {} {} {}.{}",
                stat.mode(),
                stat.uid(),
                stat.gid(),
                stat.nlink(),
                stat.mtime(),
                stat.ctime(),
                stat.ctime_nsec()
            );
            if stat.is_dir() {
                let entries = fs::read_dir(&path).expect("readable");
                todo.extend(entries.map(|entry| entry.expect("readable").path()));
            } else {
                all.push_str(&String::from_utf8_lossy(
                    &fs::read(&path).expect("readable"),
                ));
            }
            found.insert(path, all);
        }
        // What is beside the canary.
        for dir in ["", "a"] {
            for entry in fs::read_dir(self.path(dir)).expect("readable") {
                found.entry(entry.expect("readable").path()).or_default();
            }
        }
        found
    }

    fn extract(&self, uid: Option<u32>, piped: bool, words: &[&str], archive: &[u8]) -> Ran {
        let file = self.work.write("archive.tar", archive);
        let mut command = match uid {
            Some(uid) => {
                let mut command = Command::new("setpriv");
                command.args([&format!("--reuid={uid}"), &format!("--regid={uid}")]);
                command.arg("--clear-groups").arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        // Syncs have nothing to do with it, and cost time.
        command.arg("--sync=none").args(words);
        command.arg("-C").arg(self.path("a/d"));
        command
            .current_dir(self.path("a/cwd"))
            .env("LC_ALL", "C.UTF-8");
        if piped {
            command
                .arg("-xf-")
                .stdin(fs::File::open(&file).expect("readable"));
            let mut cat = Command::new("cat")
                .arg(&file)
                .stdout(Stdio::piped())
                .spawn()
                .expect("cat runs");
            command.stdin(cat.stdout.take().expect("a pipe"));
            let ran = Ran::from(command.output().expect("it runs"));
            cat.wait().expect("it ends");
            return ran;
        }
        command.arg("-xf").arg(&file).stdin(Stdio::null());
        Ran::from(command.output().expect("it runs"))
    }

    /// As we are and from a file; as an ordinary user, if we are root, and from a pipe.
    fn ways(&self) -> Vec<(Option<u32>, bool)> {
        let last = self.users().pop().expect("us at least");
        vec![(None, false), (last, true)]
    }

    fn users(&self) -> Vec<Option<u32>> {
        if is_root() && has("setpriv") {
            vec![None, Some(65534)]
        } else {
            vec![None]
        }
    }

    /// Restores these archives one after the other into a fresh destination, in every way. `right` looks at the destination.
    fn attack(
        &self,
        what: &str,
        before: &str,
        words: &[&str],
        archives: &[Vec<u8>],
        right: impl Fn(&Path),
    ) {
        for (uid, piped) in self.ways() {
            self.fresh(uid, before);
            let outside = self.state();
            for archive in archives {
                let ran = self.extract(uid, piped, words, archive);
                let who = format!("{what}, uid {uid:?}, pipe {piped}: {}", ran.stderr);
                assert_eq!(ran.signal, None, "{who}");
                assert!(matches!(ran.code, Some(0 | 2)), "{who}: {:?}", ran.code);
                assert!(!ran.stderr.contains("panicked"), "{who}");
                assert_eq!(self.state(), outside, "{who}");
            }
            let d = self.path("a/d");
            if !words.contains(&"-O") && !words.iter().any(|word| word.starts_with("--strip")) {
                let below = if words.contains(&"--one-top-level=top") {
                    "top/"
                } else {
                    ""
                };
                for (name, contents) in [("ok-before", "before\n"), ("ok-after", "after\n")] {
                    let found = fs::read_to_string(d.join(format!("{below}{name}")));
                    assert_eq!(
                        found.ok().as_deref(),
                        Some(contents),
                        "{what}, {uid:?}: {name}"
                    );
                }
            }
            right(&d);
        }
    }

    fn simple(&self, what: &str, tar: Tar) {
        self.attack(what, "true", &[], &[tar.between()], |_| {});
    }
}

fn contents(d: &Path, name: &str) -> Option<String> {
    fs::symlink_metadata(d.join(name))
        .is_ok_and(|stat| stat.is_file())
        .then(|| fs::read_to_string(d.join(name)).expect("readable"))
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").mode() & 0o7777
}

#[test]
fn names_that_lead_out() {
    let sandbox = Sandbox::new();
    let out = sandbox.outside();
    let long = format!("{}/../../canary/{}", "d".repeat(120), "f".repeat(120));
    for name in [
        format!("{out}/victim"),
        format!("//{out}/new"),
        format!("//././/{out}/victim"),
        "../../canary/victim".into(),
        "..//..//canary/new".into(),
        "/../../canary/victim".into(),
        "sub/../../../canary/victim".into(),
        "./../sibling".into(),
        "..".into(),
        ".".into(),
        "/".into(),
        "//".into(),
        "./".into(),
        "sub/..".into(),
    ] {
        let members = tar()
            .file(&name)
            .dir(format!("{name}/"), 0o777)
            .link(&name, &out)
            .hard(&name, "ok-before")
            .entry(b'6', &name, "", 0o666, b"");
        sandbox.simple(&name, members.clone());
        // The same name by other records.
        let by_records = tar()
            .long(b'L', &name)
            .file("x")
            .pax(b'x', &[("path", name.as_bytes())])
            .file("x")
            .pax(b'x', &[("path", name.as_bytes())])
            .dir("x", 0o777)
            .pax(
                b'x',
                &[
                    ("GNU.sparse.major", b"1"),
                    ("GNU.sparse.minor", b"0"),
                    ("GNU.sparse.name", name.as_bytes()),
                    ("GNU.sparse.realsize", b"5"),
                ],
            )
            .entry(
                b'0',
                "x",
                "",
                0o644,
                &[&b"1\n0\n5\n"[..], &[0; 506], b"evil\n"].concat(),
            );
        sandbox.simple(&name, by_records);
    }
    sandbox.simple("long", tar().long(b'L', &long).file("x"));
    let nul = |name: &str| format!("x\0/../../{name}");
    sandbox.simple(
        "NUL",
        tar()
            .file(nul("canary/victim"))
            .pax(b'x', &[("path", nul("canary/victim").as_bytes())])
            .file("y"),
    );
    // A global header counts for every member that has no name of its own.
    let global = tar().pax(
        b'g',
        &[
            ("path", b"../../canary/victim"),
            ("linkpath", out.as_bytes()),
        ],
    );
    sandbox.fresh(None, "true");
    let outside = sandbox.state();
    sandbox.extract(
        None,
        false,
        &[],
        &global.file("x").hard("y", "x").link("z", "y").end(),
    );
    assert_eq!(sandbox.state(), outside);
}

#[test]
fn odd_names_are_kept_as_they_are() {
    let sandbox = Sandbox::new();
    let names: [&[u8]; 8] = [
        b"new\nline",
        b"caf\xe9",
        b"back\\slash",
        b"~root",
        b"--rf",
        b" ",
        b"\x1b[31m",
        &[b'n'; 255],
    ];
    let mut members = tar();
    for name in names {
        members = members.pax(b'x', &[("path", name)]).file("x");
    }
    sandbox.attack("odd names", "true", &[], &[members.between()], |d| {
        let found = fs::read_dir(d)
            .expect("readable")
            .map(|entry| entry.expect("readable").file_name());
        let found: std::collections::BTreeSet<Vec<u8>> =
            found.map(|name| name.as_bytes().to_vec()).collect();
        for name in names {
            assert!(found.contains(name), "{}", name.escape_ascii());
        }
        assert_eq!(found.len(), names.len() + 2);
    });
    // A destination that takes its own rights away gets everything first.
    sandbox.attack(
        "./ with mode 0",
        "true",
        &[],
        &[tar().dir("./", 0).dir("d", 0).file("d/f").between()],
        |d| {
            assert_eq!(mode(d), 0);
            fs::set_permissions(d, fs::Permissions::from_mode(0o755)).expect("ours");
            assert_eq!(mode(&d.join("d")), 0);
            fs::set_permissions(d.join("d"), fs::Permissions::from_mode(0o755)).expect("ours");
            assert_eq!(contents(d, "d/f").as_deref(), Some("evil\n"));
        },
    );
}

#[test]
fn links_that_lead_out() {
    let sandbox = Sandbox::new();
    let out = sandbox.outside();
    let victim = format!("{out}/victim");
    for target in [
        &out[..],
        "../../canary",
        "./../.././canary/",
        "sub/../../../canary",
        "/proc/self/cwd/../../canary",
    ] {
        let first = || tar().dir("sub", 0o755).link("l", target);
        sandbox.simple(target, first().file("l/victim").file("l/new"));
        sandbox.simple(
            target,
            first()
                .dir("l/dir", 0o777)
                .dir("l/new", 0o777)
                .dir("l/", 0o777),
        );
        sandbox.simple(
            target,
            first().dir("l/dir/", 0o777).link("l/dir/inner", "x"),
        );
        sandbox.simple(
            target,
            first()
                .link("l/new", "x")
                .hard("l/hard", "ok-before")
                .entry(b'6', "l/fifo", "", 0o666, b""),
        );
        sandbox.simple(
            target,
            first()
                .hard("h", "l/victim")
                .entry(b'0', "h", "", 0o666, b""),
        );
        sandbox.simple(target, tar().link("a/b", target).file("a/b/victim"));
        // By way of further links, and of other names of the link.
        sandbox.simple(
            target,
            first().link("m", "l").link("n", "m").file("n/victim"),
        );
        sandbox.simple(
            target,
            first().hard("m", "l").file("m/victim").dir("m/dir", 0o777),
        );
        // A directory that was used before turns into the link.
        sandbox.simple(
            target,
            tar()
                .dir("l", 0o755)
                .link("l", target)
                .file("l/victim")
                .dir("l", 0o777),
        );
        sandbox.simple(
            target,
            tar()
                .file("l/f")
                .link("l/f", "x")
                .link("l", target)
                .file(".//l/./victim"),
        );
        // And the link into a directory: what is below is inside then.
        sandbox.attack(
            target,
            "true",
            &[],
            &[first().dir("l", 0o700).file("l/victim").between()],
            |d| {
                assert_eq!(contents(d, "l/victim").as_deref(), Some("evil\n"));
            },
        );
    }
    for target in [&victim[..], "../../canary/victim", "../../canary/new"] {
        for data in [&b""[..], b"evil\n"] {
            sandbox.attack(
                target,
                "true",
                &[],
                &[tar()
                    .link("l", target)
                    .entry(b'0', "l", "", 0o666, data)
                    .between()],
                |d| {
                    assert_eq!(
                        contents(d, "l").map(String::into_bytes).as_deref(),
                        Some(data)
                    );
                },
            );
        }
        sandbox.attack(
            target,
            "true",
            &[],
            &[tar().link("l", target).hard("h", "l").file("h").between()],
            |d| {
                assert_eq!(contents(d, "h").as_deref(), Some("evil\n"));
            },
        );
        sandbox.simple(
            target,
            tar()
                .link("l", target)
                .entry(b'6', "l", "", 0o666, b"")
                .dir("l", 0o777),
        );
    }
    sandbox.simple(
        "climbing by steps",
        tar()
            .link("x", "..")
            .link("x/y", "..")
            .file("x/y/canary/victim"),
    );
    sandbox.simple(
        "a link named with a slash",
        tar().link("l/", &out).file("l/victim"),
    );
    sandbox.simple(
        "a link to itself",
        tar()
            .link("s", "s")
            .file("s/f")
            .link("p", "q")
            .link("q", "p")
            .file("p/f"),
    );
    sandbox.simple(
        "by long records",
        tar()
            .long(b'K', &out)
            .link("l", "x")
            .file("l/victim")
            .pax(b'x', &[("linkpath", out.as_bytes())])
            .link("m", "x")
            .file("m/victim"),
    );
    sandbox.attack(
        "a link that stays inside",
        "true",
        &[],
        &[tar()
            .dir("usr/lib", 0o755)
            .link("lib", "usr/lib")
            .file("lib/f")
            .between()],
        |d| {
            assert_eq!(contents(d, "usr/lib/f").as_deref(), Some("evil\n"));
        },
    );
}

#[test]
fn hard_links_that_lead_out() {
    let sandbox = Sandbox::new();
    let out = sandbox.outside();
    for target in [
        format!("{out}/victim"),
        "../../canary/victim".into(),
        "x/../../../canary/victim".into(),
    ] {
        sandbox.simple(
            &target,
            tar().hard("h", &target).entry(b'0', "h", "", 0o777, b""),
        );
        // With contents of its own, and by other records.
        sandbox.simple(&target, tar().entry(b'1', "h", &target, 0o777, b"evil\n"));
        sandbox.simple(
            &target,
            tar()
                .pax(b'x', &[("linkpath", target.as_bytes())])
                .hard("h", "ok-before")
                .file("h"),
        );
        sandbox.simple(
            &target,
            tar().long(b'K', &target).hard("h", "ok-before").file("h"),
        );
    }
    sandbox.attack(
        "to itself",
        "true",
        &[],
        &[tar().file("f").hard("f", "f").hard("./f", ".//f").between()],
        |d| {
            assert_eq!(contents(d, "f").as_deref(), Some("evil\n"));
        },
    );
    sandbox.simple(
        "to nothing, to a directory, to what comes later",
        tar()
            .hard("h", "nothing")
            .dir("d", 0o755)
            .hard("i", "d")
            .hard("j", "ok-after"),
    );
    // The file's other name is outside: it is neither written through nor changed in any other way.
    for flags in [&[][..], &["--unlink-first"], &["--recursive-unlink"]] {
        let members = tar()
            .hard("h", "f")
            .entry(b'1', "i", "f", 0o777, b"longer than before\n")
            .hard("f", "f")
            .file("f");
        sandbox.fresh(None, "true");
        sandbox.work.sh("ln box/canary/victim box/a/d/f");
        let before = fs::read(sandbox.path("canary/victim")).expect("readable");
        let ran = sandbox.extract(None, false, flags, &members.between());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(
            fs::read(sandbox.path("canary/victim")).expect("readable"),
            before
        );
        assert_eq!(mode(&sandbox.path("canary/victim")), 0o640);
        assert_eq!(
            contents(&sandbox.path("a/d"), "f").as_deref(),
            Some("evil\n")
        );
    }
    // Contents that come with a link are taken where the file lacks them.
    let with_contents = tar()
        .entry(b'0', "f", "", 0o644, b"")
        .entry(b'1', "h", "f", 0o600, b"later\n");
    sandbox.attack("contents", "true", &[], &[with_contents.between()], |d| {
        assert_eq!(contents(d, "f").as_deref(), Some("later\n"));
        assert_eq!(contents(d, "h").as_deref(), Some("later\n"));
    });
}

#[test]
fn metadata_that_is_set_late() {
    let sandbox = Sandbox::new();
    let out = sandbox.outside();
    for target in [&out[..], "../../canary", "../../canary/dir"] {
        // The directory's mode and time must not reach what has taken its place.
        sandbox.simple(target, tar().dir("d", 0o777).link("d", target));
        sandbox.simple(
            target,
            tar().dir("d", 0o777).dir("d/dir", 0o777).link("d", target),
        );
        sandbox.simple(
            target,
            tar()
                .dir("d", 0o755)
                .dir("d/dir", 0o777)
                .link("d/dir", target)
                .dir("d", 0o711),
        );
    }
    sandbox.attack(
        "a file in its place",
        "true",
        &[],
        &[tar()
            .dir("d", 0o777)
            .entry(b'0', "d", "", 0o600, b"")
            .between()],
        |d| {
            assert_eq!(mode(&d.join("d")), 0o600);
        },
    );
    sandbox.attack(
        "mode 0",
        "true",
        &[],
        &[tar()
            .dir("d", 0)
            .file("d/f")
            .dir("d/e", 0o500)
            .file("d/e/g")
            .between()],
        |d| {
            assert_eq!(mode(&d.join("d")), 0);
            fs::set_permissions(d.join("d"), fs::Permissions::from_mode(0o700)).expect("ours");
            assert_eq!(contents(d, "d/f").as_deref(), Some("evil\n"));
            assert_eq!(mode(&d.join("d/e")), 0o500);
            fs::set_permissions(d.join("d/e"), fs::Permissions::from_mode(0o700)).expect("ours");
        },
    );
    let xattr = |value: &'static str| {
        [
            ("SCHILY.xattr.user.evil", value.as_bytes()),
            ("SCHILY.acl.access", b"user::rwx,group::rwx,other::rwx"),
        ]
    };
    let words = &["--xattrs", "--acls", "--xattrs-include=*"];
    for target in [
        format!("{out}/victim"),
        "../../canary/dir".into(),
        out.clone(),
    ] {
        let members = tar()
            .pax(b'x', &xattr("1"))
            .link("l", &target)
            .pax(b'x', &xattr("2"))
            .dir("d", 0o755)
            .link("d", &target)
            .pax(b'x', &xattr("3"))
            .file("f")
            .link("f", &target);
        sandbox.attack("attributes", "true", words, &[members.between()], |_| {});
    }
}

#[test]
fn special_files_are_not_opened() {
    let sandbox = Sandbox::new();
    sandbox.attack(
        "a FIFO, then a file",
        "mkfifo there",
        &[],
        &[tar()
            .entry(b'6', "p", "", 0o666, b"")
            .file("p")
            .file("there")
            .between()],
        |d| {
            assert_eq!(contents(d, "p").as_deref(), Some("evil\n"));
            assert_eq!(contents(d, "there").as_deref(), Some("evil\n"));
        },
    );
    // Where devices cannot be made that is told; in no case is one written to.
    sandbox.attack(
        "a device, then a file",
        "true",
        &[],
        &[tar()
            .entry(b'3', "n", "", 0o666, b"")
            .entry(b'4', "m", "", 0o666, b"")
            .file("n")
            .file("m")
            .between()],
        |d| {
            assert_eq!(contents(d, "n").as_deref(), Some("evil\n"));
            assert_eq!(contents(d, "m").as_deref(), Some("evil\n"));
        },
    );
    for flag in *b"AIXVDMN\xff" {
        sandbox.simple(
            "a type of somebody's",
            tar().entry(flag, "../../canary/victim", "", 0o666, &[0; 700]),
        );
    }
    // Sizes of what has no data mean nothing.
    for flag in *b"2356" {
        sandbox.simple(
            "a size without data",
            tar().raw(flag, b"s", b"target", b"0000644", b"00000002000", b""),
        );
    }
    let set_id = tar().entry(b'0', "s", "", 0o6755, b"");
    for uid in sandbox.users() {
        sandbox.fresh(uid, "true");
        sandbox.extract(uid, false, &[], &set_id.clone().end());
        let found = mode(&sandbox.path("a/d/s"));
        // Only the superuser's restore keeps what lets others act as the owner, as in GNU tar.
        let expected = if is_root() && uid.is_none() {
            0o6755
        } else {
            0o755
        };
        assert_eq!(found, expected, "{uid:?}");
    }
}

#[test]
fn headers_records_and_maps_that_lie() {
    let sandbox = Sandbox::new();
    let good_after = |what: &str, members: Tar| sandbox.simple(what, members);
    for records in [
        &b"9999999999 path=x\n"[..],
        b"9223372036854775808 path=x\n",
        b"-5 path=x\n",
        b"0 path=x\n",
        b"11 path=xyz",
        b"8 path\n",
        b"6 =x\n",
        b"",
        &[0; 4096],
        b"25 size=92233720368547758\n",
        b"20 GNU.sparse.map=,\n",
        b"\xff\xfe\xfd",
    ] {
        let members = tar().entry(b'x', "x", "", 0o644, records).file("x");
        sandbox.fresh(None, "true");
        let outside = sandbox.state();
        for piped in [false, true] {
            let ran = sandbox.extract(None, piped, &[], &members.clone().between());
            assert!(
                matches!((ran.code, ran.signal), (Some(0 | 2), None)),
                "{}: {}",
                records.escape_ascii(),
                ran.stderr
            );
            assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
            assert_eq!(sandbox.state(), outside);
            assert_eq!(
                contents(&sandbox.path("a/d"), "ok-before").as_deref(),
                Some("before\n")
            );
        }
    }
    // A record of one member is not another's.
    sandbox.attack(
        "leaks",
        "true",
        &[],
        &[tar()
            .pax(b'x', &[("path", b"first")])
            .file("x")
            .file("second")
            .long(b'L', "third")
            .file("x")
            .file("fourth")
            .between()],
        |d| {
            for name in ["first", "second", "third", "fourth"] {
                assert!(contents(d, name).is_some(), "{name}");
            }
            assert!(contents(d, "x").is_none());
        },
    );
    let ends_badly = |what: &str, archive: Vec<u8>| {
        for piped in [false, true] {
            sandbox.fresh(None, "true");
            let outside = sandbox.state();
            let ran = sandbox.extract(None, piped, &[], &archive);
            assert_eq!(
                (ran.code, ran.signal),
                (Some(2), None),
                "{what}: {}",
                ran.stderr
            );
            assert_eq!(sandbox.state(), outside, "{what}");
            assert_eq!(
                contents(&sandbox.path("a/d"), "ok-before").as_deref(),
                Some("before\n"),
                "{what}"
            );
        }
    };
    let before = tar().entry(b'0', "ok-before", "", 0o644, b"before\n");
    let huge = |flag: u8, size: &[u8]| {
        before
            .clone()
            .raw(flag, b"huge", b"", b"0000644", size, b"x")
            .0
    };
    ends_badly(
        "a size of 1 PiB",
        huge(b'0', b"\x80\0\0\0\0\x04\0\0\0\0\0\0"),
    );
    ends_badly(
        "the largest size",
        huge(b'0', b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
    );
    ends_badly(
        "a long name of 1 TiB",
        huge(b'L', b"\x80\0\0\0\0\0\x01\0\0\0\0\0"),
    );
    ends_badly(
        "a negative size",
        [
            huge(b'0', b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00"),
            vec![0; 1024],
        ]
        .concat(),
    );
    ends_badly(
        "cut in the data",
        before
            .clone()
            .entry(b'0', "cut", "", 0o644, &[b'c'; 2000])
            .0[..2048]
            .to_vec(),
    );
    ends_badly("rubbish", before.clone().bytes(&[0xa5; 8192]).0);
    let mut broken = tar().file("broken").0;
    broken[10] ^= 1;
    sandbox.attack(
        "a bad sum in the middle",
        "true",
        &[],
        &[Tar(broken).between()],
        |d| {
            assert!(contents(d, "broken").is_none());
        },
    );
    // Nothing is allocated by what a map claims, and no time is spent on holes.
    for map in [
        "1000000000000\n",
        "2\n0\n5\n3\n5\n",
        "1\n-1\n5\n",
        "1\n0\n99999999999\n",
        "x\n",
        &"1".repeat(4096),
    ] {
        let mut data = map.as_bytes().to_vec();
        data.resize(data.len().next_multiple_of(512), 0);
        data.extend_from_slice(b"evil\n");
        let records: [(&str, &[u8]); 4] = [
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"sparse"),
            ("GNU.sparse.realsize", b"4611686018427387904"),
        ];
        good_after(
            map,
            tar().pax(b'x', &records).entry(b'0', "x", "", 0o644, &data),
        );
    }
}

#[test]
fn destinations_with_links_in_them() {
    let sandbox = Sandbox::new();
    let canary = "ln -s $OUT d; ln -s ../../canary e; ln -s $OUT/victim f; ln -s usr/lib lib; mkdir -p usr/lib";
    for flags in [
        &[][..],
        &["--keep-directory-symlink"],
        &["--overwrite"],
        &["--unlink-first"],
        &["--recursive-unlink"],
        &["--keep-old-files"],
        &["--no-overwrite-dir"],
        &["--sync=each", "--jobs=1"],
        &["--sync=none"],
    ] {
        sandbox.attack(
            "links that lead out",
            canary,
            flags,
            &[tar()
                .file("d/victim")
                .file("d/new")
                .file("e/victim")
                .dir("e/dir", 0o777)
                .dir("d/dir", 0o777)
                .file("f")
                .hard("h", "d/victim")
                .hard("i", "f")
                .file("i")
                .between()],
            |_| {},
        );
        sandbox.attack(
            "directories over links that lead out",
            canary,
            flags,
            &[tar()
                .dir("d", 0o777)
                .file("d/victim")
                .dir("e", 0o777)
                .dir("e/dir", 0o777)
                .dir("f", 0o777)
                .between()],
            |_| {},
        );
        sandbox.attack(
            "a link that stays inside",
            canary,
            flags,
            &[tar().file("lib/f").between()],
            |d| {
                assert_eq!(
                    contents(d, "usr/lib/f").as_deref(),
                    Some("evil\n"),
                    "{flags:?}"
                );
            },
        );
        // What is removed is removed here, not where links lead.
        sandbox.attack(
            "removal",
            "mkdir -p full/sub; ln -s $OUT full/sub/l; ln -s $OUT full/m; ln -s $OUT dir",
            flags,
            &[tar().file("full").file("dir").between()],
            |_| {},
        );
    }
}

#[test]
fn one_archive_after_the_other() {
    let sandbox = Sandbox::new();
    let out = sandbox.outside();
    for target in [&out[..], "../../canary"] {
        let first = tar()
            .link("l", target)
            .dir("sub", 0o755)
            .link("sub/m", format!("../{target}"))
            .between();
        let second = tar()
            .file("l/victim")
            .file("sub/m/victim")
            .dir("l/dir", 0o777)
            .hard("h", "l/victim")
            .file("h");
        let third = tar().dir("l", 0).dir("sub/m", 0);
        for flags in [
            &[][..],
            &["--keep-directory-symlink"],
            &["--overwrite"],
            &["--sync=batch"],
        ] {
            sandbox.attack(
                target,
                "true",
                flags,
                &[
                    first.clone(),
                    second.clone().between(),
                    third.clone().between(),
                ],
                |_| {},
            );
        }
    }
    // Links each of which stays inside, until one of their directories is replaced.
    let first = tar()
        .dir("a/b/c", 0o755)
        .link("l", "a/b/c/../../../d")
        .link("d", "a")
        .between();
    let second = tar()
        .link("a", "..")
        .file("l/x")
        .file("l/canary/victim")
        .between();
    sandbox.attack("made to climb", "true", &[], &[first, second], |_| {});
}

#[test]
fn names_are_judged_after_they_are_changed() {
    let sandbox = Sandbox::new();
    let out = sandbox.outside();
    let members = tar()
        .file(format!("x/{out}/victim"))
        .file("x/../../../canary/victim")
        .hard("x/h", format!("x/{out}/victim"))
        .hard("x/i", "x/../../../canary/victim")
        .link("x/l", &out)
        .file("x/l/victim")
        .file("evil/victim")
        .dir("evil/dir", 0o777)
        .file("p/h");
    let transform = |to: &str| format!("--transform=s,^evil,{to},");
    let (up, away) = (transform("../../canary"), transform(&out));
    let linked = format!("--transform=s,^ok-before,{out}/victim,RS");
    for words in [
        &["--strip-components=1"][..],
        &["--strip-components=2"],
        &[&up],
        &[&away],
        &["--strip-components=1", &up],
        &["--one-top-level=top"],
        &["--one-top-level=top", &up],
        &["--one-top-level=top", &away],
        &["--one-top-level=top", "--strip-components=1"],
        &[&linked],
        &["-O"],
    ] {
        sandbox.attack(
            &format!("{words:?}"),
            "true",
            words,
            &[members.clone().hard("p/h", "ok-before").between()],
            |_| {},
        );
    }
    let ran = sandbox.work.sh(&format!(
        "mkdir -p u; cd u; {} --one-top-level=../../up -xf ../archive.tar 2>&1 || true; ls ..",
        sandbox.program.display()
    ));
    assert!(!ran.stdout.contains("up\n"), "{}", ran.stdout);
}

#[test]
fn an_archive_that_holds_its_own_name() {
    let sandbox = Sandbox::new();
    for first in [
        tar().entry(b'0', "a.tar", "", 0o644, b""),
        tar().link("a.tar", "a.tar").file("a.tar"),
        tar().hard("h", "a.tar").file("h"),
    ] {
        let mut members = first;
        for at in 0..200 {
            members = members.entry(b'0', format!("f{at}"), "", 0o644, &[b'x'; 2000]);
        }
        sandbox.fresh(None, "true");
        let path = sandbox.path("a/d/a.tar");
        fs::write(&path, members.end()).expect("a file");
        let ran = Ran::from(
            Command::new(&sandbox.program)
                .args(["-xf", "a.tar"])
                .current_dir(sandbox.path("a/d"))
                .output()
                .expect("it runs"),
        );
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for at in 0..200 {
            assert_eq!(
                contents(&sandbox.path("a/d"), &format!("f{at}")).map(|text| text.len()),
                Some(2000)
            );
        }
    }
}

/// Somebody exchanges a directory for a link all the time.
#[test]
fn directories_that_turn_into_links_while_we_look() {
    let sandbox = Sandbox::new();
    let mut members = tar().dir("d", 0o777);
    for at in 0..300 {
        members = members
            .entry(b'0', format!("d/f{}", at % 7), "", 0o666, b"evil\n")
            .dir(format!("d/s{}", at % 5), 0o777)
            .entry(b'6', "victim", "", 0o666, b"")
            .entry(b'6', "d/victim", "", 0o666, b"")
            .hard("d/h", "ok-before")
            .link("d/m", "f0")
            .link("c", "other/e/../../canary")
            .file("up/victim")
            .file("up/new")
            .file("r/victim")
            .file("d/e/victim");
    }
    let archive = members.dir("d", 0o755).between();
    for target in [sandbox.outside(), "../../canary".into()] {
        for sync in ["--sync=none", "--sync=each"] {
            sandbox.fresh(
                None,
                "mkdir -p d/e r other/e; chmod 700 d; ln -s other/e/../../canary up; mkdir canary",
            );
            let d = sandbox.path("a/d");
            let swap = sandbox.work.dir("swap");
            for name in ["d", "r", "e", "victim", "d-victim"] {
                let place = swap.join(name);
                drop(fs::remove_file(&place));
                let to = if name.contains("victim") {
                    format!("{target}/victim")
                } else {
                    target.clone()
                };
                symlink(to, place).expect("a link");
            }
            // So that a mode that was set through a link would show.
            let outside = sandbox.state();
            let done = AtomicBool::new(false);
            // Through a handle, as by its name we would follow our own links.
            let inside = fs::File::open(d.join("d")).expect("a directory");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let flags = RenameFlags::NOREPLACE;
                    while !done.load(Ordering::Relaxed) {
                        for name in ["d", "r", "victim"] {
                            let _ = renameat_with(
                                CWD,
                                swap.join(name),
                                CWD,
                                d.join(name),
                                RenameFlags::EXCHANGE,
                            );
                        }
                        for (name, place) in [("e", "e"), ("d-victim", "victim")] {
                            let _ = renameat_with(
                                CWD,
                                swap.join(name),
                                &inside,
                                place,
                                RenameFlags::EXCHANGE,
                            );
                        }
                        // And one directory is moved to and fro, so that `..` of what is below it changes.
                        let _ = renameat_with(CWD, d.join("other"), CWD, swap.join("other"), flags);
                        let _ = renameat_with(CWD, swap.join("other"), CWD, d.join("other"), flags);
                    }
                });
                for _ in 0..5 {
                    let words = [sync, "--overwrite-dir", "-p"];
                    let ran = sandbox.extract(None, false, &words, &archive);
                    assert_eq!(ran.signal, None, "{}", ran.stderr);
                    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
                }
                done.store(true, Ordering::Relaxed);
            });
            assert_eq!(sandbox.state(), outside, "{sync} {target}");
            drop(fs::remove_dir_all(&swap));
        }
    }
}

/// A whole system is restored through its own links, and the archive's links are not followed even there.
#[test]
fn the_root_directory_as_destination() {
    if !is_root() || !has("chroot") {
        eprintln!("skipped, as only root may change the root directory");
        return;
    }
    let sandbox = Sandbox::new();
    let libraries = sandbox.work.sh(&format!(
        "mkdir -p root/usr/lib root/etc root/secret; ln -s usr/lib root/lib; ln -s /etc root/configuration
         for f in {0} $(ldd {0} | grep -o '/[^ )]*'); do mkdir -p root/usr/bin; mkdir -p root/usr/lib; case $f in
         */durastar) cp $f root/usr/bin/;; *) mkdir -p root$(dirname $f); cp -L $f root$f;; esac; done; ls root",
        sandbox.program.display()
    ));
    assert!(libraries.stdout.contains("usr"));
    let archive = tar()
        .file("configuration/f")
        .file("lib/g")
        .link("evil", "/secret")
        .file("evil/h")
        .link("climbs", "../../../secret")
        .file("climbs/i")
        .between();
    fs::write(sandbox.work.path("root/archive.tar"), archive).expect("a file");
    let ran = Ran::from(
        Command::new("chroot")
            .arg(sandbox.work.path("root"))
            .args(["/usr/bin/durastar", "-xf", "/archive.tar", "-C", "/"])
            .output()
            .expect("it runs"),
    );
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let root = sandbox.work.path("root");
    for name in ["etc/f", "usr/lib/g", "ok-after"] {
        assert!(contents(&root, name).is_some(), "{name}: {}", ran.stderr);
    }
    assert_eq!(
        fs::read_dir(root.join("secret")).expect("readable").count(),
        0
    );
}
