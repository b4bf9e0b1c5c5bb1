//! The one door to the file system.
//!
//! Whatever touches files does so through [`Disk`], relative to a directory handle and a last component that is never
//! followed when it is a symbolic link: there are no joined paths that somebody could bend in between. [`Os`] is the
//! real one; [`Faulty`] wraps another and fails chosen calls, so that every error can be played; [`Timed`] tells how long each
//! sync took. [`about()`] says what a directory lies on.

mod about;
mod directory;
mod fault;
mod os;
mod sim;
mod timed;

use std::ffi::{CStr, CString};
use std::fmt::Debug;
use std::io;
use std::path::Path;

use crate::member::Timestamp;

pub use about::{About, about, forget, forget_all};
pub use directory::Directory;
pub use fault::{Call, Faulty};
pub use os::Os;
pub use sim::{Body, Found, Image, Lie, Sim};
pub use timed::{SyncCall, Timed};

/// The error numbers that callers tell apart.
pub mod errno {
    pub use libc::{
        EACCES, EBUSY, EEXIST, EINVAL, EIO, EISDIR, ELOOP, EMFILE, ENAMETOOLONG, ENFILE, ENODATA,
        ENOENT, ENOTDIR, ENOTEMPTY, ENOTSUP, ENXIO, EOPNOTSUPP, EPERM,
    };
}

/// What an object on disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// Something that this program does not know.
    Unknown,
}

/// State of an object on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Permission bits with set-id and sticky bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Number of the file system.
    pub device: u64,
    /// Number of the inode in it.
    pub inode: u64,
    /// How many names it has.
    pub links: u64,
    /// Last change of the contents.
    pub mtime: Timestamp,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of anything: contents, attributes, names that lead to it. No program can set it.
    pub ctime: Timestamp,
    /// How much room it takes, in units of 512 bytes.
    pub blocks: u64,
    /// Major and minor number, of a device.
    pub number: (u32, u32),
}

impl Stat {
    /// What tells it from every other object.
    #[must_use]
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// What a directory says of one of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: CString,
    /// What it is, where the file system tells without being asked for each.
    pub kind: Option<FileKind>,
    /// Number of its inode.
    pub inode: u64,
}

/// Whether a symbolic link stands for itself or for what it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// For itself.
    Keep,
    /// For what it points to.
    Follow,
}

/// A special file that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A FIFO.
    Fifo,
    /// A character device, major and minor number.
    CharDevice(u32, u32),
    /// A block device, major and minor number.
    BlockDevice(u32, u32),
}

/// Where metadata is set.
#[derive(Debug)]
pub enum Target<'a, D: Disk + ?Sized> {
    /// An open file.
    File(&'a D::File),
    /// An open directory.
    Dir(&'a D::Dir),
    /// An object in a directory, itself even if it is a symbolic link.
    At(&'a D::Dir, &'a CStr),
}

/// Times to set; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Last access.
    pub atime: Option<Timestamp>,
    /// Last change of the contents.
    pub mtime: Option<Timestamp>,
}

/// How an existing file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For writing over what it holds, which is cut off first.
    Overwrite,
    /// For writing, keeping what it holds.
    Write,
    /// For reading, or for a sync only.
    Read,
    /// For reading from the device past the page cache (`O_DIRECT`, open(2)): place, length and memory have to be multiples
    /// of [`DIRECT_BYTES`].
    Direct,
}

/// What reads past the page cache are aligned to: enough for every device with blocks of up to a page.
pub const DIRECT_BYTES: usize = 4096;

/// A file system.
///
/// Every method may fail with any error that the system call of its name can give (see its page in section 2 of the
/// manual); `EINTR` is dealt with inside. No method follows a symbolic link in `name`.
pub trait Disk: Debug + Send + Sync + 'static {
    /// An open directory.
    type Dir: Debug + Send + Sync + 'static;
    /// An open regular file.
    type File: Debug + Send + Sync + 'static;

    /// Opens a directory by path, following links: for destinations only.
    ///
    /// # Errors
    /// See the trait.
    fn open_path(&self, path: &Path) -> io::Result<Self::Dir>;
    /// Opens the directory `name`; `..` is its parent.
    ///
    /// # Errors
    /// See the trait; `ENOTDIR` or `ELOOP` when it is a symbolic link.
    fn open_dir(&self, at: &Self::Dir, name: &CStr) -> io::Result<Self::Dir>;
    /// The names in a directory, without `.` and `..`, in no particular order.
    ///
    /// # Errors
    /// See the trait.
    fn list(&self, dir: &Self::Dir) -> io::Result<Vec<CString>>;
    /// The entries of a directory, without `.` and `..`, in the file system's order.
    ///
    /// # Errors
    /// See the trait.
    fn entries(&self, dir: &Self::Dir) -> io::Result<Vec<Entry>>;
    /// fstatat(2) of a name that may lead through directories, following links on the way.
    ///
    /// # Errors
    /// See the trait.
    fn look(&self, at: &Self::Dir, name: &CStr, links: Links) -> io::Result<Stat>;
    /// Opens a directory by a name that may lead through others, following links on the way.
    ///
    /// # Errors
    /// See the trait.
    fn enter(&self, at: &Self::Dir, name: &CStr, links: Links) -> io::Result<Self::Dir>;
    /// Opens a file for reading by a name that may lead through directories, following links on the way. Reading does
    /// not change its access time where `quiet` is set (`O_NOATIME`).
    ///
    /// # Errors
    /// See the trait.
    fn open_to_read(
        &self,
        at: &Self::Dir,
        name: &CStr,
        links: Links,
        quiet: bool,
    ) -> io::Result<Self::File>;
    /// pread(2): fewer bytes than fit only at the end of the file (or where a device gives fewer); 0 at the end only.
    ///
    /// # Errors
    /// See the trait.
    fn read_at(&self, file: &Self::File, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Where data begin at `offset` or after it (`SEEK_DATA`); `None` when there are none.
    ///
    /// # Errors
    /// See the trait; `EINVAL` where the file system cannot tell.
    fn next_data(&self, file: &Self::File, offset: u64) -> io::Result<Option<u64>>;
    /// Where a hole begins after `offset` (`SEEK_HOLE`); the file's end counts as one.
    ///
    /// # Errors
    /// As [`Disk::next_data`].
    fn next_hole(&self, file: &Self::File, offset: u64) -> io::Result<u64>;
    /// The names of an object's extended attributes.
    ///
    /// # Errors
    /// See the trait; `EOPNOTSUPP` where the file system has none.
    fn attribute_names(&self, target: &Target<'_, Self>) -> io::Result<Vec<CString>>;
    /// An extended attribute.
    ///
    /// # Errors
    /// See the trait; `ENODATA` where there is none of that name.
    fn attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<Vec<u8>>;
    /// Makes a regular file that must not exist, with exactly this mode where umask and default ACLs allow.
    ///
    /// # Errors
    /// See the trait.
    fn create(&self, at: &Self::Dir, name: &CStr, mode: u32) -> io::Result<Self::File>;
    /// Opens a regular file that exists.
    ///
    /// # Errors
    /// See the trait.
    fn open_file(&self, at: &Self::Dir, name: &CStr, access: Access) -> io::Result<Self::File>;
    /// mkdirat(2).
    ///
    /// # Errors
    /// See the trait.
    fn make_dir(&self, at: &Self::Dir, name: &CStr, mode: u32) -> io::Result<()>;
    /// symlinkat(2).
    ///
    /// # Errors
    /// See the trait.
    fn symlink(&self, target: &CStr, at: &Self::Dir, name: &CStr) -> io::Result<()>;
    /// linkat(2).
    ///
    /// # Errors
    /// See the trait.
    fn link(&self, from: &Self::Dir, source: &CStr, at: &Self::Dir, name: &CStr) -> io::Result<()>;
    /// mknodat(2).
    ///
    /// # Errors
    /// See the trait.
    fn make_node(&self, at: &Self::Dir, name: &CStr, mode: u32, node: Node) -> io::Result<()>;
    /// unlinkat(2).
    ///
    /// # Errors
    /// See the trait.
    fn remove(&self, at: &Self::Dir, name: &CStr) -> io::Result<()>;
    /// unlinkat(2) of an empty directory.
    ///
    /// # Errors
    /// See the trait.
    fn remove_dir(&self, at: &Self::Dir, name: &CStr) -> io::Result<()>;
    /// renameat(2).
    ///
    /// # Errors
    /// See the trait.
    fn rename(
        &self,
        from: &Self::Dir,
        source: &CStr,
        at: &Self::Dir,
        name: &CStr,
    ) -> io::Result<()>;
    /// fstatat(2).
    ///
    /// # Errors
    /// See the trait.
    fn stat_at(&self, at: &Self::Dir, name: &CStr) -> io::Result<Stat>;
    /// fstat(2).
    ///
    /// # Errors
    /// See the trait.
    fn stat_dir(&self, dir: &Self::Dir) -> io::Result<Stat>;
    /// fstat(2).
    ///
    /// # Errors
    /// See the trait.
    fn stat_file(&self, file: &Self::File) -> io::Result<Stat>;
    /// readlinkat(2).
    ///
    /// # Errors
    /// See the trait.
    fn read_link(&self, at: &Self::Dir, name: &CStr) -> io::Result<Vec<u8>>;
    /// Asks the system to forget what it holds in memory of a file that is stable (posix_fadvise(2)), so that the next
    /// read comes from the device.
    ///
    /// # Errors
    /// See the trait.
    fn drop_cached(&self, file: &Self::File) -> io::Result<()>;
    /// Writes all of `data` at `offset`.
    ///
    /// # Errors
    /// See the trait; what was written before the error stays.
    fn write_at(&self, file: &Self::File, data: &[u8], offset: u64) -> io::Result<()>;
    /// ftruncate(2).
    ///
    /// # Errors
    /// See the trait.
    fn set_size(&self, file: &Self::File, size: u64) -> io::Result<()>;
    /// fchown(2) or fchownat(2).
    ///
    /// # Errors
    /// See the trait.
    fn set_owner(&self, target: &Target<'_, Self>, uid: u32, gid: u32) -> io::Result<()>;
    /// fchmod(2) or fchmodat(2).
    ///
    /// # Errors
    /// See the trait; for [`Target::At`] the caller has made sure that it is no symbolic link.
    fn set_mode(&self, target: &Target<'_, Self>, mode: u32) -> io::Result<()>;
    /// futimens(2) or utimensat(2).
    ///
    /// # Errors
    /// See the trait.
    fn set_times(&self, target: &Target<'_, Self>, times: Times) -> io::Result<()>;
    /// setxattr(2) in its form for what `target` is.
    ///
    /// # Errors
    /// See the trait.
    fn set_attribute(&self, target: &Target<'_, Self>, name: &CStr, value: &[u8])
    -> io::Result<()>;
    /// removexattr(2) in its form for what `target` is.
    ///
    /// # Errors
    /// See the trait; `ENODATA` when there is none.
    fn remove_attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<()>;
    /// Adds file flags (`FS_IOC_SETFLAGS`, ioctl_iflags(2)) to those that are set.
    ///
    /// # Errors
    /// See the trait; `ENOTTY` or `EOPNOTSUPP` where the file system or the object has none.
    fn add_flags(&self, target: &Target<'_, Self>, flags: u32) -> io::Result<()>;
    /// close(2): on some file systems the last moment at which a failed write is reported.
    ///
    /// # Errors
    /// See the trait. The file is closed all the same.
    fn close(&self, file: Self::File) -> io::Result<()>;
    /// fsync(2).
    ///
    /// # Errors
    /// See the trait. After an error the file's contents are unknown: trying again proves nothing.
    fn sync_file(&self, file: &Self::File) -> io::Result<()>;
    /// fsync(2).
    ///
    /// # Errors
    /// See the trait.
    fn sync_dir(&self, dir: &Self::Dir) -> io::Result<()>;
    /// syncfs(2): everything on the file system of `dir`. Write errors since `dir` was opened are reported (Linux 5.8).
    ///
    /// # Errors
    /// See the trait.
    fn sync_fs(&self, dir: &Self::Dir) -> io::Result<()>;
    /// Whether a successful [`Disk::sync_fs`] means that everything is stable on this file system.
    ///
    /// # Errors
    /// See the trait.
    fn sync_fs_is_promise(&self, dir: &Self::Dir) -> io::Result<bool>;
}
