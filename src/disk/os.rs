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

use super::{Access, Disk, Entry, FileKind, Links, Node, Stat, Target, Times};
use crate::member::Timestamp;

/// The operating system's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Os;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

fn stat(raw: &fs::Stat) -> Stat {
    let time = |seconds, nanos| Timestamp {
        seconds,
        nanos: u32::try_from(nanos).unwrap_or(0),
    };
    Stat {
        kind: kind(FileType::from_raw_mode(raw.st_mode)).unwrap_or(FileKind::Unknown),
        mode: raw.st_mode & 0o7777,
        uid: raw.st_uid,
        gid: raw.st_gid,
        size: raw.st_size.cast_unsigned(),
        device: raw.st_dev,
        inode: raw.st_ino,
        mtime: time(raw.st_mtime, raw.st_mtime_nsec),
        atime: time(raw.st_atime, raw.st_atime_nsec),
        ctime: time(raw.st_ctime, raw.st_ctime_nsec),
        links: raw.st_nlink,
        blocks: raw.st_blocks.cast_unsigned(),
        number: (fs::major(raw.st_rdev), fs::minor(raw.st_rdev)),
    }
}

fn kind(kind: FileType) -> Option<FileKind> {
    Some(match kind {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::Unknown => return None,
    })
}

/// Calls for the size, then for the value, until it has not grown in between.
fn sized(mut call: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 256];
    loop {
        match call(&mut buffer) {
            Ok(size) => {
                buffer.truncate(size);
                return Ok(buffer);
            }
            Err(rustix::io::Errno::RANGE) => {
                // A call without room gives the size there is now.
                let size = call(&mut [])?;
                buffer.resize(size.max(buffer.len() * 2), 0);
            }
            Err(error) => return Err(error.into()),
        }
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

/// Sets the mode of an object that may be a symbolic link by now, which must not be followed: chmod(2) has no such form
/// before Linux 6.6 (fchmodat2(2)), and the C library goes through /proc there (fchmodat(3)).
fn set_mode_at(dir: &File, name: &CStr, bits: u32) -> io::Result<()> {
    let bits = mode(bits).bits();
    loop {
        // SAFETY: `dir` is an open descriptor and `name` ends in a NUL; both live across the call, which only reads them.
        let code = unsafe {
            libc::fchmodat(
                dir.as_raw_fd(),
                name.as_ptr(),
                bits,
                libc::AT_SYMLINK_NOFOLLOW,
            )
        };
        if code == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
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

    fn entries(&self, dir: &File) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                entries.push(Entry {
                    name: name.to_owned(),
                    kind: kind(entry.file_type()),
                    inode: entry.ino(),
                });
            }
        }
        Ok(entries)
    }

    fn look(&self, at: &File, name: &CStr, links: Links) -> io::Result<Stat> {
        let flags = match links {
            Links::Keep => AtFlags::SYMLINK_NOFOLLOW,
            Links::Follow => AtFlags::empty(),
        };
        Ok(stat(&fs::statat(at, name, flags)?))
    }

    fn enter(&self, at: &File, name: &CStr, links: Links) -> io::Result<File> {
        let flags = match links {
            Links::Keep => DIRECTORY | OFlags::NOFOLLOW,
            Links::Follow => DIRECTORY,
        };
        uninterrupted(|| fs::openat(at, name, flags, Mode::empty())).map(File::from)
    }

    fn open_to_read(&self, at: &File, name: &CStr, links: Links, quiet: bool) -> io::Result<File> {
        // As in `open_file`.
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        if links == Links::Keep {
            flags |= OFlags::NOFOLLOW;
        }
        if quiet {
            flags |= OFlags::NOATIME;
        }
        uninterrupted(|| fs::openat(at, name, flags, Mode::empty())).map(File::from)
    }

    fn read_at(&self, file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match file.read_at(into, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn next_data(&self, file: &File, offset: u64) -> io::Result<Option<u64>> {
        match fs::seek(file, fs::SeekFrom::Data(offset)) {
            Ok(place) => Ok(Some(place)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn next_hole(&self, file: &File, offset: u64) -> io::Result<u64> {
        Ok(fs::seek(file, fs::SeekFrom::Hole(offset))?)
    }

    fn attribute_names(&self, target: &Target<'_, Self>) -> io::Result<Vec<CString>> {
        let list = sized(|buffer| match target {
            Target::File(file) | Target::Dir(file) => fs::flistxattr(file, buffer),
            Target::At(dir, name) => fs::llistxattr(handle_path(dir, name), buffer),
        })?;
        let names = list
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names.filter_map(|name| CString::new(name).ok()).collect())
    }

    fn attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<Vec<u8>> {
        sized(|buffer| match target {
            Target::File(file) | Target::Dir(file) => fs::fgetxattr(file, name, buffer),
            Target::At(dir, at) => fs::lgetxattr(handle_path(dir, at), name, buffer),
        })
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
        uninterrupted(|| fs::mkdirat(at, name, mode(bits)))
    }

    fn symlink(&self, target: &CStr, at: &File, name: &CStr) -> io::Result<()> {
        uninterrupted(|| fs::symlinkat(target, at, name))
    }

    fn link(&self, from: &File, source: &CStr, at: &File, name: &CStr) -> io::Result<()> {
        uninterrupted(|| fs::linkat(from, source, at, name, AtFlags::empty()))
    }

    fn make_node(&self, at: &File, name: &CStr, bits: u32, node: Node) -> io::Result<()> {
        let (kind, device) = match node {
            Node::Fifo => (FileType::Fifo, 0),
            Node::CharDevice(major, minor) => {
                (FileType::CharacterDevice, fs::makedev(major, minor))
            }
            Node::BlockDevice(major, minor) => (FileType::BlockDevice, fs::makedev(major, minor)),
        };
        uninterrupted(|| fs::mknodat(at, name, kind, mode(bits), device))
    }

    fn remove(&self, at: &File, name: &CStr) -> io::Result<()> {
        uninterrupted(|| fs::unlinkat(at, name, AtFlags::empty()))
    }

    fn remove_dir(&self, at: &File, name: &CStr) -> io::Result<()> {
        uninterrupted(|| fs::unlinkat(at, name, AtFlags::REMOVEDIR))
    }

    fn rename(&self, from: &File, source: &CStr, at: &File, name: &CStr) -> io::Result<()> {
        uninterrupted(|| fs::renameat(from, source, at, name))
    }

    fn stat_at(&self, at: &File, name: &CStr) -> io::Result<Stat> {
        uninterrupted(|| fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)).map(|raw| stat(&raw))
    }

    fn stat_dir(&self, dir: &File) -> io::Result<Stat> {
        uninterrupted(|| fs::fstat(dir)).map(|raw| stat(&raw))
    }

    fn stat_file(&self, file: &File) -> io::Result<Stat> {
        uninterrupted(|| fs::fstat(file)).map(|raw| stat(&raw))
    }

    fn read_link(&self, at: &File, name: &CStr) -> io::Result<Vec<u8>> {
        uninterrupted(|| fs::readlinkat(at, name, Vec::new())).map(CString::into_bytes)
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
        uninterrupted(|| match target {
            Target::File(file) | Target::Dir(file) => fs::fchown(file, uid, gid),
            Target::At(dir, name) => fs::chownat(dir, *name, uid, gid, AtFlags::SYMLINK_NOFOLLOW),
        })
    }

    fn set_mode(&self, target: &Target<'_, Self>, bits: u32) -> io::Result<()> {
        match target {
            Target::File(file) | Target::Dir(file) => {
                uninterrupted(|| fs::fchmod(file, mode(bits)))
            }
            Target::At(dir, name) => set_mode_at(dir, name, bits),
        }
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
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                uninterrupted(|| fs::utimensat(dir, *name, &times, flags))
            }
        }
    }

    fn set_attribute(
        &self,
        target: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> io::Result<()> {
        uninterrupted(|| match target {
            Target::File(file) | Target::Dir(file) => {
                fs::fsetxattr(file, name, value, XattrFlags::empty())
            }
            Target::At(dir, at) => {
                fs::lsetxattr(handle_path(dir, at), name, value, XattrFlags::empty())
            }
        })
    }

    fn remove_attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<()> {
        uninterrupted(|| match target {
            Target::File(file) | Target::Dir(file) => fs::fremovexattr(file, name),
            Target::At(dir, at) => fs::lremovexattr(handle_path(dir, at), name),
        })
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
