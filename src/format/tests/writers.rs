//! Archives written by the `tar` package.

use super::support::{end, file, member, read};
use crate::member::{Format, Kind};

#[test]
fn ustar_members_are_read() {
    let mut archive = file("a.txt", b"hello");
    archive.extend(member("dir/", b"", |header| {
        header.set_entry_type(tar::EntryType::Directory);
        header.set_mode(0o40755);
        header.set_username("root").unwrap();
    }));
    archive.extend(end());
    let archive = read(&archive).clean();
    assert_eq!(archive.names(), ["a.txt", "dir/"]);
    let a = archive.find("a.txt");
    assert_eq!(a.data, b"hello");
    assert_eq!((a.member.size, a.member.stored), (5, 5));
    assert_eq!(a.member.format, Format::Ustar);
    assert_eq!(a.member.mtime.seconds, 1_600_000_000);
    let dir = &archive.find("dir/").member;
    assert_eq!((dir.kind, dir.mode), (Kind::Directory, 0o755));
    assert_eq!(dir.uname, b"root");
    assert_eq!(dir.block, 2);
    assert_eq!(archive.rest, 0);
}

#[test]
fn long_names_of_the_gnu_builder_are_read() {
    let name = format!("{}file", "directory/".repeat(40));
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(3);
    builder
        .append_data(&mut header, &name, &b"abc"[..])
        .unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    header.set_entry_type(tar::EntryType::Symlink);
    builder.append_link(&mut header, "link", &name).unwrap();
    let archive = read(&builder.into_inner().unwrap()).clean();
    assert_eq!(archive.names(), [&name, "link"]);
    assert_eq!(archive.find(&name).data, b"abc");
    let link = &archive.find("link").member;
    assert_eq!(link.link, name.as_bytes());
    assert_eq!((link.kind, link.format), (Kind::Symlink, Format::Gnu));
    assert_eq!(link.block, 4);
}

#[test]
fn pax_records_of_the_builder_are_read() {
    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_pax_extensions([
            ("path", "renamed".as_bytes()),
            ("mtime", b"-1.5"),
            ("SCHILY.xattr.user.a", b"\0\n="),
        ])
        .unwrap();
    let mut header = tar::Header::new_ustar();
    header.set_size(3);
    header.set_path("short").unwrap();
    header.set_cksum();
    builder.append(&header, &b"abc"[..]).unwrap();
    let archive = read(&builder.into_inner().unwrap()).clean();
    let entry = archive.find("renamed");
    assert_eq!(entry.data, b"abc");
    assert_eq!(entry.member.format, Format::Pax);
    assert_eq!(
        (entry.member.mtime.seconds, entry.member.mtime.nanos),
        (-2, 500_000_000)
    );
    assert_eq!(
        entry.member.record(b"SCHILY.xattr.user.a"),
        Some(&b"\0\n="[..])
    );
    // A pax header is not counted in.
    assert_eq!(entry.member.block, 2);
}
