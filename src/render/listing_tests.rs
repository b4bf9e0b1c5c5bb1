//! Lines, against what GNU tar 1.34 printed for archives with the same headers.

use super::*;
use crate::member::{Extent, Record, Timestamp};

fn member(kind: Kind, typeflag: u8, name: &str) -> Member {
    Member {
        typeflag,
        uname: b"root".to_vec(),
        gname: b"root".to_vec(),
        mtime: Timestamp {
            seconds: 1_000_000_000,
            nanos: 0,
        },
        ..Member::new(kind, name.as_bytes())
    }
}

/// The members of the archive that was listed.
fn members() -> Vec<Member> {
    let file = |name: &str| member(Kind::Regular, b'0', name);
    let with_mode = |name: &str, mode: u32| Member { mode, ..file(name) };
    let owned = |name: &str, uid: u64, gid: u64, uname: &str, gname: &str| Member {
        uid,
        gid,
        uname: uname.into(),
        gname: gname.into(),
        ..file(name)
    };
    let directory = |name: &str, mode: u32| Member {
        mode,
        ..member(Kind::Directory, b'5', name)
    };
    let to = |kind: Kind, typeflag: u8, name: &str, link: &str, mode: u32| Member {
        link: link.into(),
        mode,
        ..member(kind, typeflag, name)
    };
    let device = |kind: Kind, typeflag: u8, name: &str, numbers: (u32, u32)| Member {
        device: numbers,
        ..member(kind, typeflag, name)
    };
    vec![
        Member {
            size: 4,
            ..file("f")
        },
        directory("d/", 0o755),
        to(Kind::HardLink, b'1', "hl", "f", 0o644),
        to(Kind::Symlink, b'2', "sl", "f", 0o777),
        device(Kind::CharDevice, b'3', "c", (1, 3)),
        device(Kind::BlockDevice, b'4', "b", (259, 1_048_575)),
        member(Kind::Fifo, b'6', "p"),
        member(Kind::Regular, b'7', "cont"),
        member(Kind::Regular, b'Q', "unk"),
        Member {
            mode: 0,
            ..member(Kind::VolumeHeader, b'V', "vol")
        },
        Member {
            offset: 1234,
            ..member(Kind::Continuation, b'M', "M")
        },
        with_mode("suid", 0o4755),
        with_mode("suidnx", 0o4644),
        with_mode("sgid", 0o2755),
        with_mode("sgidnx", 0o2644),
        directory("sticky", 0o1777),
        directory("stickynx", 0o1776),
        with_mode("m0", 0),
        owned("nonames", 1_234_567, 7, "", ""),
        owned("biggroup", 4_294_967_295, 0, "", "averyveryverylonggroup"),
        owned("longer", 0, 0, "averylonguser", "averylonggroup"),
        file("after"),
        to(Kind::Symlink, b'2', "odd\nname", "odd\ntarget", 0o644),
        directory("d//", 0o755),
        member(Kind::Regular, b'N', "names"),
        member(Kind::Regular, 0, "old"),
        Member {
            size: 10,
            ..to(Kind::HardLink, b'1', "hl2", "f", 0o644)
        },
        member(Kind::Regular, 0xff, "unk2"),
    ]
}

fn options(quoter: &Quoter) -> Options<'_> {
    Options {
        verbose: true,
        numeric_owner: false,
        block_number: None,
        detail: Detail::Minutes,
        path_only: false,
        quoter,
        local: &time::utc,
    }
}

fn listed(members: &[Member], options: &Options<'_>) -> String {
    let mut out = Vec::new();
    let mut widths = Widths::default();
    for member in members {
        gnu(member, Names::of(member), options, &mut widths, &mut out);
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn long_lines_are_those_of_gnu_tar() {
    let quoter = Quoter::default();
    assert_eq!(
        listed(&members(), &options(&quoter)),
        "\
-rw-r--r-- root/root         4 2001-09-09 01:46 f
drwxr-xr-x root/root         0 2001-09-09 01:46 d/
hrw-r--r-- root/root         0 2001-09-09 01:46 hl link to f
lrwxrwxrwx root/root         0 2001-09-09 01:46 sl -> f
crw-r--r-- root/root       1,3 2001-09-09 01:46 c
brw-r--r-- root/root 259,1048575 2001-09-09 01:46 b
prw-r--r-- root/root           0 2001-09-09 01:46 p
Crw-r--r-- root/root           0 2001-09-09 01:46 cont
?rw-r--r-- root/root           0 2001-09-09 01:46 unk unknown file type \u{2018}Q\u{2019}
V--------- root/root           0 2001-09-09 01:46 vol--Volume Header--
Mrw-r--r-- root/root           0 2001-09-09 01:46 M--Continued at byte 1234--
-rwsr-xr-x root/root           0 2001-09-09 01:46 suid
-rwSr--r-- root/root           0 2001-09-09 01:46 suidnx
-rwxr-sr-x root/root           0 2001-09-09 01:46 sgid
-rw-r-Sr-- root/root           0 2001-09-09 01:46 sgidnx
drwxrwxrwt root/root           0 2001-09-09 01:46 sticky
drwxrwxrwT root/root           0 2001-09-09 01:46 stickynx
---------- root/root           0 2001-09-09 01:46 m0
-rw-r--r-- 1234567/7           0 2001-09-09 01:46 nonames
-rw-r--r-- 4294967295/averyveryverylonggroup 0 2001-09-09 01:46 biggroup
-rw-r--r-- averylonguser/averylonggroup      0 2001-09-09 01:46 longer
-rw-r--r-- root/root                         0 2001-09-09 01:46 after
lrw-r--r-- root/root                         0 2001-09-09 01:46 odd\\nname -> odd\\ntarget
drwxr-xr-x root/root                         0 2001-09-09 01:46 d/
?rw-r--r-- root/root                         0 2001-09-09 01:46 names unknown file type \u{2018}N\u{2019}
-rw-r--r-- root/root                         0 2001-09-09 01:46 old
hrw-r--r-- root/root                         0 2001-09-09 01:46 hl2 link to f
?rw-r--r-- root/root                         0 2001-09-09 01:46 unk2 unknown file type \u{2018}\\377\u{2019}
"
    );
}

#[test]
fn lines_change_with_the_options() {
    let quoter = Quoter::new(Style::C, Charset::Ascii);
    let members = members();
    let numbered = |range: std::ops::Range<usize>, verbose: bool| {
        let lines = range.map(|block| {
            let options = Options {
                verbose,
                numeric_owner: true,
                block_number: Some(block as u64),
                ..options(&quoter)
            };
            listed(&members[block..=block], &options)
        });
        lines.collect::<String>()
    };
    assert_eq!(
        numbered(4..9, true),
        "\
block 4: crw-r--r-- 0/0             1,3 2001-09-09 01:46 \"c\"
block 5: brw-r--r-- 0/0     259,1048575 2001-09-09 01:46 \"b\"
block 6: prw-r--r-- 0/0               0 2001-09-09 01:46 \"p\"
block 7: Crw-r--r-- 0/0               0 2001-09-09 01:46 \"cont\"
block 8: ?rw-r--r-- 0/0               0 2001-09-09 01:46 \"unk\" unknown file type 'Q'
"
    );
    assert_eq!(
        numbered(0..3, false),
        "block 0: \"f\"\nblock 1: \"d/\"\nblock 2: \"hl\"\n"
    );
    let mut out = Vec::new();
    gnu_zero_block(11, &mut out);
    assert_eq!(out, b"block 11: ** Block of NULs **\n");
}

#[test]
fn the_date_column_grows_with_full_times() {
    let quoter = Quoter::default();
    let members: Vec<_> = [
        (1_000_000_000, 500_000_000),
        (1_000_000_000, 123_456_789),
        (1_000_000_000, 0),
    ]
    .into_iter()
    .map(|(seconds, nanos)| Member {
        mtime: Timestamp { seconds, nanos },
        ..member(Kind::Regular, b'0', "p")
    })
    .collect();
    assert_eq!(
        listed(
            &members,
            &Options {
                detail: Detail::Full,
                ..options(&quoter)
            }
        ),
        "\
-rw-r--r-- root/root         0 2001-09-09 01:46:40.5 p
-rw-r--r-- root/root         0 2001-09-09 01:46:40.123456789 p
-rw-r--r-- root/root         0 2001-09-09 01:46:40           p
"
    );
}

#[test]
fn owners_cannot_reach_the_terminal_either() {
    let mut odd = member(Kind::Regular, b'0', "x");
    odd.uname = b"u\x1b[2J".to_vec();
    odd.gname = b"WORK\\group".to_vec();
    let quoter = Quoter::default();
    assert_eq!(
        listed(&[odd], &options(&quoter)),
        "-rw-r--r-- u\\033[2J/WORK\\group 0 2001-09-09 01:46 x\n"
    );
}

#[test]
fn transformed_names_take_the_place_of_stored_ones() {
    let quoter = Quoter::default();
    let mut link = member(Kind::HardLink, b'1', "d/hl");
    link.link = b"d/f".to_vec();
    let names = Names {
        name: b"e/hl",
        link: b"e/f",
    };
    let mut out = Vec::new();
    gnu(
        &link,
        names,
        &options(&quoter),
        &mut Widths::default(),
        &mut out,
    );
    assert!(out.ends_with(b" e/hl link to e/f\n"));
}

#[test]
fn star_lists_in_its_own_columns() {
    let quoter = Quoter::default();
    let mut all = members();
    all.truncate(11);
    let mut odd = member(Kind::Regular, b'0', "dir/sub/odd.bin");
    odd.size = 513;
    odd.mode = 0o4775;
    // 2012-08-12 23:26:03
    odd.mtime.seconds = 1_344_813_963;
    all.push(odd);
    let mut rich = member(Kind::Regular, b'0', "rich");
    rich.uname = b"a".to_vec();
    rich.gname = b"bin".to_vec();
    rich.mode = 0o2644;
    rich.sparse = Some(vec![Extent {
        offset: 0,
        length: 1,
    }]);
    for (key, value) in [
        ("SCHILY.acl.access", "x"),
        ("SCHILY.xattr.user.a", "x"),
        ("SCHILY.nlink", "3"),
    ] {
        rich.records.push(Record {
            key: key.into(),
            value: value.into(),
        });
    }
    all.push(rich);
    let list = |options: &Options<'_>, all: &[Member]| {
        let mut out = Vec::new();
        for member in all {
            star(
                member,
                Names::of(member),
                options,
                &mut Widths::default(),
                &mut out,
            );
        }
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        list(&options(&quoter), &all),
        "      4 -rw-r--r--  root/root Sep  9 01:46 2001 f
      0 drwxr-xr-x  root/root Sep  9 01:46 2001 d/
      0 Hrw-r--r--  root/root Sep  9 01:46 2001 hl link to f
      0 lrwxrwxrwx  root/root Sep  9 01:46 2001 sl -> f
  1   3 crw-r--r--  root/root Sep  9 01:46 2001 c
259 1048575 brw-r--r--  root/root Sep  9 01:46 2001 b
      0 prw-r--r--  root/root Sep  9 01:46 2001 p
      0 Crw-r--r--  root/root Sep  9 01:46 2001 cont
      0 -rw-r--r--  root/root Sep  9 01:46 2001 unk
      0 V---------  root/root Sep  9 01:46 2001 vol --Volume Header--
      0 Mrw-r--r--  root/root Sep  9 01:46 2001 M --Continued at byte 1234--
    513 -rwsrwxr-x  root/root Aug 12 23:26 2012 dir/sub/odd.bin
      0 Srw-r-lr--+@  3   a/bin Sep  9 01:46 2001 rich
"
    );
    let bare = Options {
        verbose: false,
        path_only: true,
        block_number: Some(7),
        ..options(&quoter)
    };
    assert_eq!(
        list(&bare, &all[2..4]),
        "block         7: hl\nblock         7: sl\n"
    );
    let short = Options {
        verbose: false,
        ..options(&quoter)
    };
    assert_eq!(list(&short, &all[..3]), "f\nd/\nhl link to f\n");
}

#[test]
fn star_tells_what_it_extracted() {
    let quoter = Quoter::default();
    let mut all = members();
    all.truncate(7);
    let mut odd = member(Kind::Regular, b'0', "dir/sub/odd.bin");
    odd.size = 513;
    odd.stored = 513;
    all.push(odd);
    all.push(member(Kind::Regular, b'0', "bad\nname\\"));
    let mut out = Vec::new();
    for member in &all {
        star_extracted(member, Names::of(member), &options(&quoter), &mut out);
    }
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\
x f 4 bytes, 0 tape blocks
x d/ directory
x hl link to f
x sl symbolic link to f
x c special
x b special
x p special
x dir/sub/odd.bin 513 bytes, 2 tape blocks
x bad\\nname\\\\ 0 bytes, 0 tape blocks
"
    );
}
