//! Where tar programs differ, and which of them is right: what only a whole run shows of it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::{Differences, Workdir, has, has_gnu_tar, is_root};

/// A member as the `tar` package writes it, changed by `edit`.
fn member(name: &str, data: &[u8], edit: impl FnOnce(&mut tar::Header)) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).expect("it fits");
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(1_000_000_000);
    header.set_size(data.len() as u64);
    edit(&mut header);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn owned(name: &str, uid: u64, user: &str, gid: u64, group: &str) -> Vec<u8> {
    member(name, b"", |header| {
        header.set_uid(uid);
        header.set_gid(gid);
        header.set_username(user).expect("it fits");
        header.set_groupname(group).expect("it fits");
    })
}

fn pax(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let digits = (1..9)
        .find(|digits| (rest + digits).to_string().len() == *digits)
        .expect("it is short");
    let mut record = format!("{} {key}=", rest + digits).into_bytes();
    record.extend_from_slice(value);
    record.push(b'\n');
    member("PaxHeaders/x", &record, |header| {
        header.set_entry_type(tar::EntryType::XHeader);
    })
}

/// A name that nobody has here leaves the number of its own header, whatever other members of that name say.
#[test]
fn owners_that_nobody_knows_keep_the_number_of_their_own_header() {
    if !is_root() {
        eprintln!("skipped, as only root can give files away");
        return;
    }
    let work = Workdir::new();
    let nobody = "nosuchuser-7f3a";
    let archive = [
        owned("a", 4321, nobody, 8765, nobody),
        owned("b", 1234, nobody, 5678, nobody),
        // A name that is known counts more than its number.
        owned("c", 4321, "root", 8765, "root"),
        owned("d", 99, "", 98, ""),
        vec![0; 1024],
    ];
    work.write("a.tar", archive.concat());
    work.run("tar", &["-xf", "a.tar"]).quiet();
    for (name, expected) in [
        ("a", (4321, 8765)),
        ("b", (1234, 5678)),
        ("c", (0, 0)),
        ("d", (99, 98)),
    ] {
        let state = fs::metadata(work.path(name)).expect("it is there");
        assert_eq!((state.uid(), state.gid()), expected, "{name}");
    }
    work.run("tar", &["-xf", "a.tar", "--numeric-owner"])
        .quiet();
    let state = fs::metadata(work.path("c")).expect("it is there");
    assert_eq!((state.uid(), state.gid()), (4321, 8765));
}

/// Archives that end at once after the last member are whole: no word, status 0.
#[test]
fn missing_end_blocks_are_no_fault() {
    let work = Workdir::new();
    let archive = [member("a", b"1", |_| {}), member("b", &[b'x'; 512], |_| {})].concat();
    work.write("a.tar", &archive);
    assert_eq!(work.run("tar", &["-tf", "a.tar"]).quiet().stdout, "a\nb\n");
    let through_a_pipe = work
        .program("tar")
        .words(&["-t"])
        .input(archive.clone())
        .run();
    assert_eq!(through_a_pipe.quiet().stdout, "a\nb\n");
    work.run("tar", &["-xf", "a.tar"]).quiet();
    assert_eq!(fs::read(work.path("b")).expect("it is there").len(), 512);
}

/// A size of what has no data is passed over alike by listing and by extraction, as bsdtar does.
#[test]
fn sizes_of_members_without_data_mislead_neither_listing_nor_extraction() {
    use tar::EntryType;
    for (letter, kind) in [
        ('s', EntryType::Symlink),
        ('d', EntryType::Directory),
        ('p', EntryType::Fifo),
    ] {
        let work = Workdir::new();
        let odd = member("odd", b"", |header| {
            header.set_entry_type(kind);
            header.set_size(1024);
            if letter == 's' {
                header.set_link_name("to").expect("it fits");
            }
        });
        let inner = member("inner", b"hello", |_| {});
        let archive = [odd, inner, member("after", b"", |_| {}), vec![0; 1024]];
        work.write("a.tar", archive.concat());
        let listed = work.run("tar", &["-tf", "a.tar"]).quiet().stdout.clone();
        let names: Vec<&str> = listed
            .lines()
            .map(|name| name.trim_end_matches('/'))
            .collect();
        assert_eq!(names, ["odd", "inner", "after"], "{letter}");
        work.dir("out");
        work.run("tar", &["-xf", "a.tar", "-C", "out"]).quiet();
        for name in names {
            assert!(
                work.path("out").join(name).symlink_metadata().is_ok(),
                "{letter}: {name}"
            );
        }
        if has("bsdtar") {
            let theirs = work.sh("bsdtar -tf a.tar").stdout;
            let theirs: Vec<&str> = theirs
                .lines()
                .map(|name| name.trim_end_matches('/'))
                .collect();
            assert_eq!(theirs, ["odd", "inner", "after"], "{letter}");
        }
    }
}

/// Names in pax headers are bytes: those that are no text are restored as they are, without a word.
#[test]
fn names_that_are_no_text_come_back_as_they_are() {
    use std::os::unix::ffi::OsStrExt;
    let work = Workdir::new();
    let name = b"latin1-\xe9\xff";
    let link = member("l", b"", |header| {
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_link_name("old").expect("it fits");
    });
    let archive = [
        pax("path", name),
        member("a", b"x", |_| {}),
        pax("linkpath", name),
        link,
        pax("linkpath", "z\u{fc}".as_bytes()),
        member("m", b"", |header| {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_link_name("old").expect("it fits");
        }),
        vec![0; 1024],
    ];
    work.write("a.tar", archive.concat());
    work.run("tar", &["-xf", "a.tar"]).quiet();
    let here = work.path("");
    assert!(here.join(std::ffi::OsStr::from_bytes(name)).is_file());
    let target = |link: &str| fs::read_link(work.path(link)).expect("a link");
    assert_eq!(target("l").as_os_str().as_bytes(), name);
    assert_eq!(target("m").as_os_str().as_bytes(), "z\u{fc}".as_bytes());
}

/// The time of a pax header counts also where the header itself has none, as in archives of some Python packages.
#[test]
fn the_time_of_a_pax_header_wins_over_a_field_of_zero() {
    let work = Workdir::new();
    let zero = member("a", b"x", |header| header.set_mtime(0));
    let archive = [pax("mtime", b"1637175999.25"), zero, vec![0; 1024]];
    work.write("a.tar", archive.concat());
    work.run("tar", &["-xf", "a.tar"]).quiet();
    let state = fs::metadata(work.path("a")).expect("it is there");
    assert_eq!(
        (state.mtime(), state.mtime_nsec()),
        (1_637_175_999, 250_000_000)
    );
    let listed = work.run("tar", &["--utc", "--full-time", "-tvf", "a.tar"]);
    assert!(
        listed.quiet().stdout.contains(" 2021-11-17 19:06:39.25 a"),
        "{}",
        listed.stdout
    );
}

/// Attributes and ACLs are restored only when that is asked for.
#[test]
fn attributes_are_restored_only_when_asked_for() {
    let work = Workdir::new();
    let archive = [
        pax("SCHILY.xattr.user.comment", b"hello"),
        member("a", b"x", |_| {}),
        vec![0; 1024],
    ];
    work.write("a.tar", archive.concat());
    let value = |name: &str| {
        let mut value = [0; 64];
        let length = rustix::fs::lgetxattr(work.path(name), "user.comment", &mut value[..]);
        length.ok().map(|length| value[..length].to_vec())
    };
    work.run("tar", &["-xf", "a.tar"]).quiet();
    assert_eq!(value("a"), None);
    let asked = work.run("tar", &["-xf", "a.tar", "--xattrs"]);
    // Not every file system has them.
    if asked.stderr.is_empty() {
        assert_eq!(value("a").as_deref(), Some(&b"hello"[..]));
    }
}

/// Odd names: what is shown of them is what GNU tar shows, in every style, and so are the targets of links.
#[test]
fn odd_names_are_listed_as_gnu_tar_lists_them() {
    if !has_gnu_tar() {
        return;
    }
    let setup = r#"mkdir in; cd in
        printf x >'a b'; : >"it's"; : >'"q"'; : >'back\slash'; : >"$(printf 'tab\there')"; : >"$(printf 'nl\nx')"
        : >"$(printf 'esc\033[31m')"; : >"$(printf 'bell\007')"; : >"$(printf 'del\177')"; : >"$(printf 'l1-\351')"
        : >"$(printf 'u8-\303\244')"; : >'~home'; : >'#hash'; : >'a=b'; : >'{x}'; : >'??='; : >'-dash'; : >'*'
        : >'$v'; : >'`c`'; : >'a|b'; : >'trail '; : >' lead'; mkdir 'd r' "$(printf 'd\nn')"
        ln -s 'to where' "$(printf 's\nl')"; ln "it's" 'hard link'; mkfifo 'p p'
        find . -exec touch -h -d @1000000000 {} +; cd ..
        tar --owner=root --group=root --sort=name --format=gnu -cf a.tar -C in ."#;
    let mut differences = Differences::default();
    for style in [
        "literal",
        "shell",
        "shell-always",
        "c",
        "c-maybe",
        "escape",
        "locale",
        "clocale",
    ] {
        let style = format!("--quoting-style={style}");
        for detail in ["-tf", "-tvf", "-tvvRf"] {
            for locale in ["C", "C.UTF-8"] {
                differences.run_in(setup, &[&style, detail, "a.tar"], &[("LC_ALL", locale)]);
            }
        }
    }
    differences.none();
}
