//! A tree with everything in it goes through an archive and comes back as GNU tar brings it back.
//!
//! The expected tree is the one that GNU tar restores from the same archive, with owners, modes, times, extended
//! attributes, ACLs and holes; where GNU tar is known to be wrong the original is the measure.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Object, Ran, Workdir, has, has_gnu_tar, is_root, tree};

/// Each mode, with one writing thread or several.
const WAYS: [(&str, u8); 4] = [("none", 1), ("each", 4), ("group", 4), ("batch", 1)];

/// One of everything that an archive can hold and an ordinary user can make, then what only root can.
const PLANT: &str = r#"
mkdir -p in/dir/sub/deeper in/empty "in/$(printf 'd%.0s' $(seq 255))" in/sgid in/sticky in/ro
cd in
: >zero; echo one >one; head -c 513 /dev/urandom >odd; head -c 700001 /dev/urandom >dir/large
for i in $(seq 100); do head -c $((i*37)) /dev/urandom >dir/sub/$i; done
f=$(printf 'f%.0s' $(seq 255)); echo long >"$f"; ln "$f" "$(printf 'd%.0s' $(seq 255))/$f"
touch "$(printf 'caf\351')" "$(printf 'new\nline')" 'back\slash' ' blank ' "$(printf 'tab\t')" ~root '*' ./-rf 'ü' '"' "'"
ln odd dir/hard; ln -s one soft; ln -s /nowhere/at/all dangling; ln -s ../../one dir/sub/up; ln -s "$(printf 't%.0s' $(seq 200))" far
ln -P soft soft2; mkfifo -m 640 fifo; ln fifo dir/fifo2
p=deep; for i in $(seq 30); do p=$p/$(printf 'p%.0s' $(seq 40)); done; mkdir -p $p; echo deep >$p/file
truncate -s 3000000 dir/hole; printf middle | dd of=dir/hole bs=1 seek=1500000 conv=notrunc status=none; truncate -s 70000 allhole
head -c 40 /dev/zero >zeros
echo x >set; chmod 6755 set; chmod 2775 sgid; chmod 1777 sticky; echo ro >ro/file; chmod 444 ro/file
echo old >before; echo future >after; echo ns >ns; echo secret >private; chmod 600 private
setfattr -n user.color -v blue one; setfattr -n user.empty one; setfattr -n user.bin -v 0sAAEC/w== odd; setfattr -n user.dir -v d dir
setfattr -n user.many -v "$(printf 'v%.0s' $(seq 2000))" ro/file 2>/dev/null || true
setfacl -m u:12345:rw,g:54321:r one 2>/dev/null || true
setfacl -m u:12345:rwx -m d:u:12345:rx,d:g:54321:rwx dir 2>/dev/null || true
if [ $(id -u) = 0 ]; then
  mknod block b 259 70000; mknod char c 5 1
  setfattr -n trusted.secret -v 1 one; setfattr -n security.note -v 2 odd
  cp /bin/true cap; chown 65534 cap; setcap cap_net_raw+ep cap
  chown 12345:54321 dir/large; chown 3000000:4000000 odd; chown -h 2097152:2097153 far; chown 3000001 set; chmod 6755 set
fi
chmod 555 ro
find . -depth -exec touch -h -d '2011-02-03 04:05:06.123456789 UTC' {} +
touch -h -d '1901-12-31 00:00:00.5 UTC' before; touch -d '2200-01-01 00:00:00.999999999 UTC' after; touch -d '1970-01-01 00:00:00 UTC' ns
"#;

/// Attributes and ACLs of everything, as getfattr(1) dumps them.
fn attributes(root: &Path) -> BTreeMap<String, String> {
    let output = Command::new("getfattr")
        .args(["-R", "-P", "-h", "-d", "-m", "-", "-e", "hex", "."])
        .current_dir(root)
        .env("LC_ALL", "C")
        .output()
        .expect("getfattr runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split("\n\n")
        .filter_map(|part| part.split_once('\n'))
        .map(|(name, rest)| (name.to_owned(), rest.to_owned()))
        .collect()
}

fn holes(root: &Path) -> Vec<u64> {
    ["dir/hole", "allhole"]
        .map(|name| fs::metadata(root.join(name)).expect("it is there").blocks())
        .into()
}

fn compare(what: &str, original: &Path, expected: &Path, found: &Path) {
    let (mut theirs, mut ours) = (tree(expected), tree(found));
    // Where members of a directory come late GNU tar leaves it with the time at which they were made.
    let original = tree(original);
    for (name, object) in &mut theirs {
        let (Some(right), Some(found)) = (original.get(name), ours.get(name)) else {
            continue;
        };
        let is_now = object.mtime.0 > 1_700_000_000 && object.mode & 0o170_000 == 0o040_000;
        if is_now && found.mtime.0 == right.mtime.0 {
            object.mtime = found.mtime;
        }
    }
    // GNU tar leaves the time of the destination, which is set only at the end, to later members.
    theirs.remove(&b""[..]);
    ours.remove(&b""[..]);
    let brief = |object: Option<&Object>| {
        object.map(|object| Object {
            contents: object.contents.iter().copied().take(40).collect(),
            ..object.clone()
        })
    };
    let names: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    for name in names {
        assert!(
            theirs.get(name) == ours.get(name),
            "{what}: {}:\nGNU tar: {:?}\nhere:    {:?}",
            name.escape_ascii(),
            brief(theirs.get(name)),
            brief(ours.get(name))
        );
    }
    let (theirs, ours) = (attributes(expected), attributes(found));
    for (name, value) in &theirs {
        assert_eq!(Some(value), ours.get(name), "{what}: attributes of {name}");
    }
    assert_eq!(theirs.len(), ours.len(), "{what}");
    for (theirs, ours) in holes(expected).into_iter().zip(holes(found)) {
        assert!(
            ours <= theirs.max(16),
            "{what}: {ours} blocks, not {theirs}"
        );
    }
}

fn has_everything() -> bool {
    has_gnu_tar()
        && ["setfattr", "getfattr", "setfacl", "setpriv", "touch"]
            .into_iter()
            .all(has)
        && (!is_root()
            || std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
                .any(|dir| dir.join("setcap").exists())
            || has("setcap"))
}

#[test]
fn a_tree_with_everything_in_it_comes_back_as_gnu_tar_brings_it() {
    if !has_everything() {
        return;
    }
    let work = Workdir::new();
    fs::set_permissions(work.path(""), fs::Permissions::from_mode(0o755)).expect("a mode");
    work.sh(&format!("PATH=$PATH:/sbin:/usr/sbin\n{PLANT}"));
    let program = work.path("durastar");
    fs::copy(env!("CARGO_BIN_EXE_durastar"), &program).expect("a copy");
    work.sh(
        "cd in; tar --xattrs --xattrs-include='*' --acls --selinux -S --format=posix -cf ../posix.tar . 2>/dev/null
         tar --xattrs --xattrs-include='*' --acls --format=pax --sparse-version=0.1 -S -cf ../pax01.tar .
         tar --format=gnu -S -cf ../gnu.tar .; tar --format=oldgnu -cf ../oldgnu.tar . 2>/dev/null || true",
    );
    let mut archives = vec!["posix", "pax01", "gnu"];
    if has("bsdtar") {
        work.sh("cd in; bsdtar --format=pax --xattrs --acls -cf ../bsd.tar . 2>/dev/null; bsdtar --format=gnutar -cf ../bsdgnu.tar . 2>/dev/null");
        archives.extend(["bsd", "bsdgnu"]);
    }
    let users: &[Option<u32>] = if is_root() {
        &[None, Some(65534)]
    } else {
        &[None]
    };
    for archive in archives {
        for user in users {
            // There an ordinary user's GNU tar fails at a file that is read-only and has an attribute.
            if user.is_some() && archive.starts_with("bsd") {
                continue;
            }
            // An ordinary user's GNU tar cannot restore an attribute or ACL of a file that is read-only.
            let extras: &[&str] = if user.is_none() {
                &["--xattrs", "--xattrs-include=*", "--acls"]
            } else {
                &[]
            };
            let restore = |program: &Path, out: &str, more: &[String]| {
                let to = work.dir(out);
                let mut command = match user {
                    Some(uid) => {
                        std::os::unix::fs::chown(&to, Some(*uid), Some(*uid)).expect("an owner");
                        let mut command = Command::new("setpriv");
                        command.args([&format!("--reuid={uid}"), &format!("--regid={uid}")]);
                        command.arg("--clear-groups").arg(program);
                        command
                    }
                    None => Command::new(program),
                };
                command.args(more).args(extras).arg("-xpf");
                command
                    .arg(work.path(&format!("{archive}.tar")))
                    .arg("-C")
                    .arg(&to);
                command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
                Ran::from(command.output().expect("it runs"))
            };
            let lines = |ran: &Ran| {
                let mut lines: Vec<_> = ran
                    .stderr
                    .lines()
                    .map(|line| {
                        line.split_once(": ")
                            .map_or(line, |(_, rest)| rest)
                            .to_owned()
                    })
                    .filter(|line| {
                        !line.contains("time stamp")
                            && !line.contains("extended header keyword")
                            && !line.contains("xattr")
                            && !line.contains("set attribute")
                    })
                    .collect();
                lines.sort();
                lines
            };
            let expected = restore(Path::new("tar"), "expected", &[]);
            for (mode, jobs) in WAYS {
                let out = format!("out-{mode}-{jobs}");
                let more = [format!("--sync={mode}"), format!("--jobs={jobs}")];
                let ran = restore(&program, &out, &more);
                let what = format!("{archive} {user:?} {mode} {jobs}");
                assert_eq!(lines(&ran), lines(&expected), "{what}");
                compare(
                    &what,
                    &work.path("in"),
                    &work.path("expected"),
                    &work.path(&out),
                );
                work.sh(&format!("chmod -R u+rwx {out}; rm -rf {out}"));
            }
            if archive == "posix" && user.is_none() && is_root() {
                // It writes a FIFO with two names twice.
                work.sh("rm expected/dir/fifo2; ln expected/fifo expected/dir/fifo2; touch -d @1 expected/dir; touch -r in/dir expected/dir");
                compare(
                    "GNU tar itself",
                    &work.path("in"),
                    &work.path("in"),
                    &work.path("expected"),
                );
            }
            work.sh("chmod -R u+rwx expected; rm -rf expected");
        }
    }
    work.sh("chmod -R u+rwx in");
}
