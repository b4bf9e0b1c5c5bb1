//! A member: one object in an archive, its header(s) and its data.
//!
//! `format` makes members from bytes, everything else takes them. Extension headers are folded in before anyone sees a
//! [`Member`], so a name is whole, a size is the one that counts, and what a consumer does not understand is still
//! there in [`Member::records`]. Names are bytes: no encoding is assumed and none is checked.

use crate::error::{Complaint, Error};

/// A point in time as archives hold it: seconds since 1970-01-01 00:00:00 UTC, and nanoseconds after that second.
///
/// Times before 1970 have negative `seconds`; `nanos` always counts forwards (POSIX `struct timespec`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds, rounded towards the past.
    pub seconds: i64,
    /// 0 to 999,999,999.
    pub nanos: u32,
}

/// What a member is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file (typeflag `0`, NUL, `S`, `7` and, as POSIX says, any that is not known).
    Regular,
    /// Another name for a member before it (typeflag `1`); may carry data (pax, star -link-data).
    HardLink,
    /// A symbolic link (typeflag `2`).
    Symlink,
    /// A character device (typeflag `3`).
    CharDevice,
    /// A block device (typeflag `4`).
    BlockDevice,
    /// A directory (typeflag `5`, GNU `D`, or a v7 name that ends in a slash).
    Directory,
    /// A FIFO (typeflag `6`).
    Fifo,
    /// A socket, which no tar can make again (SCHILY.filetype=socket).
    Socket,
    /// A volume label (GNU `V`): nothing on disk.
    VolumeHeader,
    /// The rest of a member that began on the volume before (GNU and star `M`).
    Continuation,
}

/// The archive format that one header is written in; archives may mix them, so each member has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Seventh edition: no magic.
    V7,
    /// star 1985: `tar\0` in the last four bytes, no ustar magic.
    Star,
    /// POSIX.1-1988 ustar.
    Ustar,
    /// `ustar  \0`: GNU tar and old GNU tar.
    Gnu,
    /// ustar with pax extended headers.
    Pax,
    /// star's ustar variant with `tar\0` at the end.
    Xstar,
    /// xstar without that trailer.
    Xustar,
    /// xustar with pax extended headers.
    Exustar,
    /// Solaris tar: typeflag `X` for extended headers.
    Suntar,
}

/// A run of data in a sparse file. What lies between runs is a hole and reads as zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Where the run begins in the file, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// One pax record as it stood in the archive, value uninterpreted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The keyword, for example `SCHILY.xattr.user.comment`.
    pub key: Vec<u8>,
    /// The value, any bytes.
    pub value: Vec<u8>,
}

/// One object in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it is.
    pub kind: Kind,
    /// The type byte of its header, for listings.
    pub typeflag: u8,
    /// How its header was written.
    pub format: Format,
    /// Its name as stored: not cleaned, a directory's trailing slash kept.
    pub name: Vec<u8>,
    /// The name a hard or symbolic link points to; empty for other kinds.
    pub link: Vec<u8>,
    /// Permission bits with set-id and sticky bits (`07777`).
    pub mode: u32,
    /// Owner number. Not a `u32`: archives hold numbers that no system can have.
    pub uid: u64,
    /// Group number.
    pub gid: u64,
    /// Owner name; empty when the archive has none.
    pub uname: Vec<u8>,
    /// Group name; empty when the archive has none.
    pub gname: Vec<u8>,
    /// The file's size in bytes once restored; for a sparse file with its holes.
    pub size: u64,
    /// How many bytes of data follow in the archive, without padding to a block.
    pub stored: u64,
    /// Last change of the contents.
    pub mtime: Timestamp,
    /// Last access, where the archive has it.
    pub atime: Option<Timestamp>,
    /// Last change of the inode, where the archive has it. No system lets it be restored.
    pub ctime: Option<Timestamp>,
    /// Major and minor number of a device.
    pub device: (u32, u32),
    /// The data runs of a sparse file, ascending and without overlap; `None` when the file is stored whole.
    pub sparse: Option<Vec<Extent>>,
    /// Offset in the real file at which the stored data begins: not 0 only for [`Kind::Continuation`].
    pub offset: u64,
    /// A GNU incremental archive's list of what the directory held (`D`, `GNU.dumpdir`).
    pub dumpdir: Option<Vec<u8>>,
    /// The pax records that were not folded into a field above (attributes, ACLs, flags, comments ...), in archive order.
    pub records: Vec<Record>,
    /// Number of the 512-byte block at which the member's header begins, from 0. GNU headers with a long name belong to
    /// it, pax headers do not: so GNU tar counts.
    pub block: u64,
}

impl Member {
    /// A regular file with this name and nothing else set; what tests and builders start from.
    #[must_use]
    pub fn new(kind: Kind, name: &[u8]) -> Self {
        Self {
            kind,
            typeflag: b'0',
            format: Format::Ustar,
            name: name.to_vec(),
            link: Vec::new(),
            mode: 0o644,
            uid: 0,
            gid: 0,
            uname: Vec::new(),
            gname: Vec::new(),
            size: 0,
            stored: 0,
            mtime: Timestamp::default(),
            atime: None,
            ctime: None,
            device: (0, 0),
            sparse: None,
            offset: 0,
            dumpdir: None,
            records: Vec::new(),
            block: 0,
        }
    }

    /// The value of the last record with this keyword.
    #[must_use]
    pub fn record(&self, key: &[u8]) -> Option<&[u8]> {
        self.records
            .iter()
            .rev()
            .find(|record| record.key == key)
            .map(|record| record.value.as_slice())
    }
}

/// What comes next in an archive.
#[derive(Debug)]
pub enum Event {
    /// A member; its data can be taken with [`MemberStream::data`] until the next event is asked for.
    Member(Box<Member>),
    /// Something is not as it should be, and reading goes on.
    Complaint(Complaint),
    /// The end of the archive: nothing follows.
    End,
}

/// An archive as its consumers see it: one member after the other, each with its data.
pub trait MemberStream {
    /// A piece of data that can travel to another thread and is read in place.
    type Span: AsRef<[u8]> + Send + Sync + 'static;

    /// Goes on to the next event; data of the member before that nobody took is skipped.
    ///
    /// # Errors
    /// What ends the run: the input cannot be read, or it is no archive at all. After an error only errors follow.
    fn advance(&mut self) -> Result<Event, Error>;

    /// The next piece of the current member's stored data, at most `most` bytes and never empty; `None` after the last.
    ///
    /// For a sparse member these are the bytes of its extents, in their order.
    ///
    /// # Errors
    /// As [`MemberStream::advance`]; also the archive ends inside the data (`Error` with a kind of unexpected end).
    fn data(&mut self, most: usize) -> Result<Option<Self::Span>, Error>;

    /// Whether the next call may have to sleep until the input brings more.
    fn would_wait(&self) -> bool;

    /// `hook` is called before each sleep, also in the middle of a call. Whoever holds spans back must hand them on
    /// there: the room they occupy may be what the input waits for.
    fn before_sleep(&mut self, hook: Box<dyn FnMut()>) {
        drop(hook);
    }
}
