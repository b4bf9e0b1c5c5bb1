//! Extractors that lie, each in one way, and one that does not: a harness that does not catch them proves nothing.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};

use crate::archive::{Kind, Member};
use crate::rig::{Result, failed};

/// In what an extractor is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Nothing: the measure for the others.
    Nothing,
    /// The name is announced before the sync that it speaks of.
    NameBeforeSync,
    /// Owner, mode, times and attributes are set after the sync.
    MetadataAfterSync,
    /// Each file is synced, the directories with the names never; all are announced at the end.
    NoDirectorySync,
    /// Each file is written under another name, synced, renamed and announced; the directory is not synced.
    NoSyncAfterRename,
}

impl Lie {
    pub(crate) const ALL: [Self; 5] = [
        Self::Nothing,
        Self::NameBeforeSync,
        Self::MetadataAfterSync,
        Self::NoDirectorySync,
        Self::NoSyncAfterRename,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "honest",
            Self::NameBeforeSync => "name-before-sync",
            Self::MetadataAfterSync => "metadata-after-sync",
            Self::NoDirectorySync => "no-directory-sync",
            Self::NoSyncAfterRename => "no-sync-after-rename",
        }
    }
}

/// Extracts these members below a directory and announces names, each ended by NUL.
pub(crate) fn extract(members: &[Member], dest: &Path, promises: &Path, lie: Lie) -> Result<()> {
    let mut log = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(promises)
        .map_err(failed("cannot open", promises))?;
    let mut announce = |name: &[u8]| {
        log.write_all(&[name, b"\0"].concat())
            .map_err(failed("cannot write", promises))
    };
    let mut directories = Vec::new();
    let mut later = Vec::new();
    for member in members {
        let path = dest.join(OsStr::from_bytes(&member.name));
        let parent = path.parent().expect("it is below dest").to_path_buf();
        fs::create_dir_all(&parent).map_err(failed("cannot make", &parent))?;
        if matches!(member.kind, Kind::Directory) {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&path)
                .map_err(failed("cannot make", &path))?;
            directories.push((path, member));
            continue;
        }
        let temporary = parent.join(".new");
        let made = if lie == Lie::NoSyncAfterRename {
            &temporary
        } else {
            &path
        };
        make(members, member, dest, made).map_err(failed("cannot make", &path))?;
        let is_file = matches!(member.kind, Kind::File(_));
        match lie {
            Lie::Nothing => {
                set(member, made)?;
                settle(&path, dest, is_file)?;
                announce(&member.name)?;
            }
            Lie::NameBeforeSync => {
                set(member, made)?;
                announce(&member.name)?;
                settle(&path, dest, is_file)?;
            }
            Lie::MetadataAfterSync => {
                settle(&path, dest, is_file)?;
                set(member, made)?;
                announce(&member.name)?;
            }
            Lie::NoDirectorySync => {
                set(member, made)?;
                if is_file {
                    sync(&path)?;
                }
                later.push(&member.name);
            }
            Lie::NoSyncAfterRename => {
                set(member, made)?;
                if is_file {
                    sync(made)?;
                }
                fs::rename(made, &path).map_err(failed("cannot rename", &path))?;
                if is_file {
                    announce(&member.name)?;
                }
            }
        }
    }
    // The deepest first.
    for (path, member) in directories.iter().rev() {
        set(member, path)?;
    }
    if lie == Lie::Nothing {
        settle(dest, dest, false)?;
        for (_, member) in &directories {
            announce(&member.name)?;
        }
    }
    for name in later {
        announce(name)?;
    }
    Ok(())
}

fn make(members: &[Member], member: &Member, dest: &Path, path: &Path) -> std::io::Result<()> {
    let special = |kind, device| {
        rustix::fs::mknodat(CWD, path, kind, Mode::RUSR, device).map_err(std::io::Error::from)
    };
    match &member.kind {
        Kind::File(data) => {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?;
            file.write_all_at(&data.bytes(), 0)
        }
        Kind::HardLink(to) => fs::hard_link(dest.join(OsStr::from_bytes(&members[*to].name)), path),
        Kind::Symlink(target) => std::os::unix::fs::symlink(OsStr::from_bytes(target), path),
        Kind::Fifo => special(FileType::Fifo, 0),
        Kind::Device {
            block,
            major,
            minor,
        } => special(
            if *block {
                FileType::BlockDevice
            } else {
                FileType::CharacterDevice
            },
            rustix::fs::makedev(*major, *minor),
        ),
        Kind::Directory => Ok(()),
    }
}

/// Metadata: owner first, which clears bits of the mode and capabilities; times last.
fn set(member: &Member, path: &Path) -> Result<()> {
    let all = || -> std::io::Result<()> {
        if matches!(member.kind, Kind::HardLink(_)) {
            return Ok(());
        }
        std::os::unix::fs::lchown(path, Some(member.owner.0), Some(member.owner.1))?;
        if !matches!(member.kind, Kind::Symlink(_)) {
            rustix::fs::chmod(path, Mode::from_raw_mode(member.mode))?;
        }
        let acl = member.acl.map(|acl| {
            (
                "system.posix_acl_access".to_owned(),
                acl.kernel(member.mode),
            )
        });
        for (name, value) in acl.iter().chain(&member.attributes) {
            rustix::fs::lsetxattr(path, name, value, XattrFlags::empty())?;
        }
        let time = Timespec {
            tv_sec: member.mtime.0,
            tv_nsec: member.mtime.1.into(),
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(())
    };
    all().map_err(failed("cannot set the metadata of", path))
}

fn sync(path: &Path) -> Result<()> {
    let file = File::open(path).map_err(failed("cannot open", path))?;
    file.sync_all().map_err(failed("cannot sync", path))
}

/// The file, then every directory that leads to it; for what cannot be opened, the whole file system.
fn settle(path: &Path, dest: &Path, is_file: bool) -> Result<()> {
    if !is_file {
        let file = File::open(dest).map_err(failed("cannot open", dest))?;
        return rustix::fs::syncfs(&file).map_err(failed("cannot sync", dest));
    }
    sync(path)?;
    let above: Vec<PathBuf> = path.ancestors().skip(1).map(PathBuf::from).collect();
    above
        .iter()
        .take_while(|dir| dir.starts_with(dest))
        .try_for_each(|dir| sync(dir))
}
