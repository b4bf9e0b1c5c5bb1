//! A member as it should be against what is on disk.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::archive::{Kind, Member};

/// A member that is not as it should be, and in what.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) member: usize,
    pub(crate) what: String,
}

/// Compares those members that must be there. `complete` says that all are, so that links can be counted.
pub(crate) fn losses(
    dest: &Path,
    members: &[Member],
    required: &[bool],
    complete: bool,
) -> Vec<Loss> {
    let mut links = vec![0; members.len()];
    for (member, _) in members
        .iter()
        .zip(required)
        .filter(|(_, required)| **required)
    {
        if let Kind::HardLink(to) = member.kind {
            links[to] += 1;
        }
    }
    let mut losses = Vec::new();
    for (index, member) in members
        .iter()
        .enumerate()
        .filter(|(index, _)| required[*index])
    {
        let compared = compare(dest, members, member).and_then(|state| {
            let names = match member.kind {
                Kind::File(_) => 1 + links[index],
                _ => return Ok(()),
            };
            let right = if complete {
                state.nlink() == names
            } else {
                state.nlink() >= names
            };
            right
                .then_some(())
                .ok_or(format!("{} links, not {names}", state.nlink()))
        });
        if let Err(what) = compared {
            losses.push(Loss {
                member: index,
                what,
            });
        }
    }
    losses
}

/// Files that are neither as they were nor as they shall be: a replacement is the one or the other.
pub(crate) fn mixtures(dest: &Path, old: &[Member], new: &[Member]) -> Vec<Loss> {
    let mut mixtures = Vec::new();
    for (index, (old_member, new_member)) in old.iter().zip(new).enumerate() {
        if !matches!(new_member.kind, Kind::File(_)) {
            continue;
        }
        if let (Err(old), Err(new)) = (
            compare(dest, old, old_member),
            compare(dest, new, new_member),
        ) {
            let what = format!("not the old one ({old}), not the new one ({new})");
            mixtures.push(Loss {
                member: index,
                what,
            });
        }
    }
    mixtures
}

fn path(dest: &Path, name: &[u8]) -> PathBuf {
    dest.join(OsStr::from_bytes(name))
}

fn compare(dest: &Path, members: &[Member], member: &Member) -> Result<Metadata, String> {
    let path = path(dest, &member.name);
    let state = fs::symlink_metadata(&path).map_err(|cause| cause.to_string())?;
    let kind = state.file_type();
    let right_kind = match member.kind {
        Kind::File(_) | Kind::HardLink(_) => kind.is_file(),
        Kind::Symlink(_) => kind.is_symlink(),
        Kind::Directory => kind.is_dir(),
        Kind::Fifo => kind.is_fifo(),
        Kind::Device { block: true, .. } => kind.is_block_device(),
        Kind::Device { block: false, .. } => kind.is_char_device(),
    };
    if !right_kind {
        return Err("another kind of file".into());
    }
    let same = |what: &str, found: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| {
        let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
        (found == expected)
            .then_some(())
            .ok_or_else(|| format!("{what} {found}, not {expected}"))
    };
    match &member.kind {
        Kind::File(data) => {
            same("size", &state.size(), &data.size)?;
            let bytes = fs::read(&path).map_err(|cause| format!("cannot be read: {cause}"))?;
            let expected = data.bytes();
            if let Some(at) = bytes.iter().zip(&expected).position(|(a, b)| a != b) {
                return Err(format!("contents differ from byte {at} of {}", data.size));
            }
        }
        Kind::HardLink(to) => {
            let other = self::path(dest, &members[*to].name);
            let other =
                fs::symlink_metadata(other).map_err(|cause| format!("its file: {cause}"))?;
            same("inode", &state.ino(), &other.ino())?;
        }
        Kind::Symlink(target) => {
            let found = fs::read_link(&path).map_err(|cause| cause.to_string())?;
            same("target", &found, &Path::new(OsStr::from_bytes(target)))?;
        }
        Kind::Device { major, minor, .. } => {
            let device = state.rdev();
            let found = (rustix::fs::major(device), rustix::fs::minor(device));
            same("device", &found, &(*major, *minor))?;
        }
        Kind::Directory | Kind::Fifo => {}
    }
    if !kind.is_symlink() {
        same("mode", &(state.mode() & 0o7777), &member.mode)?;
    }
    same("owner", &(state.uid(), state.gid()), &member.owner)?;
    let mtime = (state.mtime(), state.mtime_nsec());
    same(
        "mtime",
        &mtime,
        &(member.mtime.0, i64::from(member.mtime.1)),
    )?;
    let mut expected = member.attributes.clone();
    if let Some(acl) = member.acl {
        expected.push(("system.posix_acl_access".into(), acl.kernel(member.mode)));
    }
    expected.sort();
    let found = attributes(&path).map_err(|cause| format!("attributes: {cause}"))?;
    if found != expected {
        let names = |list: &[(String, Vec<u8>)]| {
            list.iter()
                .map(|(name, value)| format!("{name} ({} bytes)", value.len()))
                .collect::<Vec<_>>()
        };
        return Err(format!(
            "attributes {:?}, not {:?}, or their values",
            names(&found),
            names(&expected)
        ));
    }
    Ok(state)
}

/// All of them, by name.
fn attributes(path: &Path) -> rustix::io::Result<Vec<(String, Vec<u8>)>> {
    let mut list = vec![0_u8; 8192];
    let count = rustix::fs::llistxattr(path, &mut list[..])?;
    let mut found = Vec::new();
    for name in list[..count]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
    {
        let mut value = vec![0_u8; 8192];
        let count = rustix::fs::lgetxattr(path, name, &mut value[..])?;
        value.truncate(count);
        let name = String::from_utf8_lossy(name).into_owned();
        // SELinux labels by itself; xfs shows an access list a second time.
        if name != "security.selinux" && !name.starts_with("trusted.SGI_ACL_") {
            found.push((name, value));
        }
    }
    found.sort();
    Ok(found)
}
