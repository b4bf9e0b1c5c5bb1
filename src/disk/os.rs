//! The operating system's file system.
//!
//! Calls relative to a directory go through rustix, which needs no `unsafe`; times of open files through filetime, which
//! sets both in one call. A [`File`] closes itself silently, so the close that reports errors is done by hand.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use filetime::FileTime;
use rustix::fs::{self, AtFlags, FileType, IFlags, Mode, OFlags, Timespec, Timestamps, XattrFlags};
use rustix::process::{Gid, Uid};

use super::{Access, Disk, FileKind, Node, Stat, Target, Times};
use crate::member::Timestamp;

/// The operating system's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Os;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

fn stat(raw: &fs::Stat) -> Stat {
    let kind = match FileType::from_raw_mode(raw.st_mode) {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Special,
    };
    Stat {
        kind,
        mode: raw.st_mode & 0o7777,
        uid: raw.st_uid,
        gid: raw.st_gid,
        size: raw.st_size.cast_unsigned(),
        device: raw.st_dev,
        inode: raw.st_ino,
        mtime: Timestamp {
            seconds: raw.st_mtime,
            nanos: u32::try_from(raw.st_mtime_nsec).unwrap_or(0),
        },
        ctime: Timestamp {
            seconds: raw.st_ctime,
            nanos: u32::try_from(raw.st_ctime_nsec).unwrap_or(0),
        },
    }
}

fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits & 0o7777)
}

/// The name of an object for calls that have no form with a directory handle (lsetxattr(2)): through the handle's own
/// entry in /proc, so that the way there is not walked again.
fn handle_path(dir: &File, name: &CStr) -> PathBuf {
    Path::new("/proc/self/fd")
        .join(dir.as_raw_fd().to_string())
        .join(OsStr::from_bytes(name.to_bytes()))
}

/// Retries what a signal interrupted. A sync that was interrupted has not failed, and has promised nothing yet.
fn uninterrupted<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            result => return result.map_err(io::Error::from),
        }
    }
}

/// File systems on which Linux's syncfs(2) waits for data and metadata and reports write errors. FUSE and network file
/// systems are missing on purpose: FUSE passes syncfs(2) on for virtiofs only, NFS and CIFS have no super-block sync
/// that reaches the server's disk for certain. tmpfs is not here because nothing is durable there, overlayfs because
/// it syncs its upper layer but not always reports that layer's errors. Numbers: statfs(2), linux/magic.h.
const PROMISING: [(i64, &str); 6] = [
    (0xEF53, "ext2, ext3, ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0xF2F5_2010, "f2fs"),
    (0x2FC1_2FC1, "zfs"),
    (0xCA45_1A4E, "bcachefs"),
];

/// Whether the kernel is 5.8 or newer: before, syncfs(2) did not report failed writes.
fn kernel_reports_errors() -> bool {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy().into_owned();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (5, 8)
}

impl Disk for Os {
    type Dir = File;
    type File = File;

    fn open_path(&self, path: &Path) -> io::Result<File> {
        uninterrupted(|| fs::open(path, DIRECTORY, Mode::empty())).map(File::from)
    }

    fn open_dir(&self, at: &File, name: &CStr) -> io::Result<File> {
        uninterrupted(|| fs::openat(at, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()))
            .map(File::from)
    }

    fn list(&self, dir: &File) -> io::Result<Vec<CString>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn create(&self, at: &File, name: &CStr, bits: u32) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        uninterrupted(|| fs::openat(at, name, flags, mode(bits))).map(File::from)
    }

    fn open_file(&self, at: &File, name: &CStr, access: Access) -> io::Result<File> {
        // NONBLOCK: a FIFO that somebody put in place of the file must not hang us; it means nothing for regular files.
        let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = match access {
            Access::Overwrite => flags | OFlags::WRONLY | OFlags::TRUNC,
            Access::Write => flags | OFlags::WRONLY,
            Access::Read => flags | OFlags::RDONLY,
            Access::Direct => flags | OFlags::RDONLY | OFlags::DIRECT,
        };
        uninterrupted(|| fs::openat(at, name, flags, Mode::empty())).map(File::from)
    }

    fn make_dir(&self, at: &File, name: &CStr, bits: u32) -> io::Result<()> {
        Ok(fs::mkdirat(at, name, mode(bits))?)
    }

    fn symlink(&self, target: &CStr, at: &File, name: &CStr) -> io::Result<()> {
        Ok(fs::symlinkat(target, at, name)?)
    }

    fn link(&self, from: &File, source: &CStr, at: &File, name: &CStr) -> io::Result<()> {
        Ok(fs::linkat(from, source, at, name, AtFlags::empty())?)
    }

    fn make_node(&self, at: &File, name: &CStr, bits: u32, node: Node) -> io::Result<()> {
        let (kind, device) = match node {
            Node::Fifo => (FileType::Fifo, 0),
            Node::CharDevice(major, minor) => {
                (FileType::CharacterDevice, fs::makedev(major, minor))
            }
            Node::BlockDevice(major, minor) => (FileType::BlockDevice, fs::makedev(major, minor)),
        };
        Ok(fs::mknodat(at, name, kind, mode(bits), device)?)
    }

    fn remove(&self, at: &File, name: &CStr) -> io::Result<()> {
        Ok(fs::unlinkat(at, name, AtFlags::empty())?)
    }

    fn remove_dir(&self, at: &File, name: &CStr) -> io::Result<()> {
        Ok(fs::unlinkat(at, name, AtFlags::REMOVEDIR)?)
    }

    fn rename(&self, from: &File, source: &CStr, at: &File, name: &CStr) -> io::Result<()> {
        Ok(fs::renameat(from, source, at, name)?)
    }

    fn stat_at(&self, at: &File, name: &CStr) -> io::Result<Stat> {
        Ok(stat(&fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn stat_dir(&self, dir: &File) -> io::Result<Stat> {
        Ok(stat(&fs::fstat(dir)?))
    }

    fn stat_file(&self, file: &File) -> io::Result<Stat> {
        Ok(stat(&fs::fstat(file)?))
    }

    fn read_link(&self, at: &File, name: &CStr) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(at, name, Vec::new())?.into_bytes())
    }

    fn read_at(&self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match FileExt::read_at(file, buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn drop_cached(&self, file: &File) -> io::Result<()> {
        Ok(fs::fadvise(file, 0, None, fs::Advice::DontNeed)?)
    }

    fn write_at(&self, file: &File, data: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(data, offset)
    }

    fn set_size(&self, file: &File, size: u64) -> io::Result<()> {
        uninterrupted(|| fs::ftruncate(file, size))
    }

    fn set_owner(&self, target: &Target<'_, Self>, uid: u32, gid: u32) -> io::Result<()> {
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        Ok(match target {
            Target::File(file) | Target::Dir(file) => fs::fchown(file, uid, gid),
            Target::At(dir, name) => fs::chownat(dir, *name, uid, gid, AtFlags::SYMLINK_NOFOLLOW),
        }?)
    }

    fn set_mode(&self, target: &Target<'_, Self>, bits: u32) -> io::Result<()> {
        Ok(match target {
            Target::File(file) | Target::Dir(file) => fs::fchmod(file, mode(bits)),
            Target::At(dir, name) => fs::chmodat(dir, *name, mode(bits), AtFlags::empty()),
        }?)
    }

    fn set_times(&self, target: &Target<'_, Self>, times: Times) -> io::Result<()> {
        match target {
            Target::File(file) | Target::Dir(file) => {
                let convert = |time: Timestamp| FileTime::from_unix_time(time.seconds, time.nanos);
                filetime::set_file_handle_times(
                    file,
                    times.atime.map(convert),
                    times.mtime.map(convert),
                )
            }
            Target::At(dir, name) => {
                let convert = |time: Option<Timestamp>| match time {
                    Some(time) => Timespec {
                        tv_sec: time.seconds,
                        tv_nsec: time.nanos.into(),
                    },
                    None => Timespec {
                        tv_sec: 0,
                        tv_nsec: fs::UTIME_OMIT,
                    },
                };
                let times = Timestamps {
                    last_access: convert(times.atime),
                    last_modification: convert(times.mtime),
                };
                Ok(fs::utimensat(
                    dir,
                    *name,
                    &times,
                    AtFlags::SYMLINK_NOFOLLOW,
                )?)
            }
        }
    }

    fn set_attribute(
        &self,
        target: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> io::Result<()> {
        Ok(match target {
            Target::File(file) | Target::Dir(file) => {
                fs::fsetxattr(file, name, value, XattrFlags::empty())
            }
            Target::At(dir, at) => {
                fs::lsetxattr(handle_path(dir, at), name, value, XattrFlags::empty())
            }
        }?)
    }

    fn remove_attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<()> {
        Ok(match target {
            Target::File(file) | Target::Dir(file) => fs::fremovexattr(file, name),
            Target::At(dir, at) => fs::lremovexattr(handle_path(dir, at), name),
        }?)
    }

    fn add_flags(&self, target: &Target<'_, Self>, flags: u32) -> io::Result<()> {
        let (Target::File(file) | Target::Dir(file)) = target else {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        };
        let now = fs::ioctl_getflags(file)?;
        Ok(fs::ioctl_setflags(
            file,
            now | IFlags::from_bits_retain(flags),
        )?)
    }

    fn close(&self, file: File) -> io::Result<()> {
        let descriptor = file.into_raw_fd();
        // SAFETY: the descriptor was just taken out of its only owner, so nobody else closes or uses it.
        if unsafe { libc::close(descriptor) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            // Linux has closed it even so (close(2)); nothing was lost.
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => Err(error),
        }
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        uninterrupted(|| fs::fsync(file))
    }

    fn sync_dir(&self, dir: &File) -> io::Result<()> {
        uninterrupted(|| fs::fsync(dir))
    }

    fn sync_fs(&self, dir: &File) -> io::Result<()> {
        uninterrupted(|| fs::syncfs(dir))
    }

    fn sync_fs_is_promise(&self, dir: &File) -> io::Result<bool> {
        let kind = fs::fstatfs(dir)?.f_type;
        Ok(kernel_reports_errors() && PROMISING.iter().any(|(magic, _)| *magic == kind))
    }
}
