//! The record of an extraction, by which it can be resumed.
//!
//! A file that is only ever appended to. The first line tells what it is, then records follow: length (4 bytes), checksum
//! (8), payload; numbers are little-endian. The checksum is XXH3 of the payload with the checksum before it as its seed, so
//! that no record can stand anywhere but where it was written. The first record says what is extracted, how and whereto;
//! each of the others holds members that one barrier made stable. It is written after the barrier and synced before
//! anything else is said about them. What a crash leaves of a record that was being written fails its checksum: reading
//! ends there, and the file is cut there before it is written on.
//!
//! Device numbers are not kept: they may change when the machine starts again, which is when a journal is needed most.

mod file;

use std::hash::Hasher;

use twox_hash::XxHash3_64;

use crate::member::{Kind, Member, Timestamp};
use crate::plan::Plan;

pub use file::{Opened, Writer, create, resume};

/// A checksum of bytes as they come: XXH3, 64 bits (the XXH3 family of Yann Collet's xxHash, no cryptography).
#[derive(Clone)]
pub struct Checksum(XxHash3_64);

impl Default for Checksum {
    fn default() -> Self {
        Self(XxHash3_64::new())
    }
}

impl std::fmt::Debug for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Checksum").field(&self.value()).finish()
    }
}

impl Checksum {
    /// Takes more bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The checksum of what was taken so far.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.finish()
    }
}

/// Why a journal cannot be used.
#[derive(Debug)]
pub enum Problem {
    /// A call on it failed.
    System(crate::error::Operation, std::io::Error),
    /// It does not fit; the reason.
    Refused(String),
}

/// What is known of the archive's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Its size in bytes.
    pub size: u64,
    /// When it was last modified.
    pub mtime: Timestamp,
    /// Number of its inode.
    pub inode: u64,
    /// Checksum of its first record, as it stands in the file.
    pub head: u64,
}

/// What is extracted, how and whereto.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The archive, where it is a regular file.
    pub archive: Option<Archive>,
    /// Checksums of the choice of members and of the rules by which they are restored.
    pub options: [u64; 2],
    /// Numbers of the destinations' inodes.
    pub destinations: Vec<u64>,
    /// The file system's time when it began: what is there and was changed later is ours.
    pub started: Timestamp,
}

impl Header {
    /// The checksums of those parts of a plan that must be the same when it goes on.
    #[must_use]
    pub fn options(plan: &Plan) -> [u64; 2] {
        let checksum = |text: String| XxHash3_64::oneshot(text.as_bytes());
        [
            checksum(format!(
                "{:?} {:?}",
                plan.selection, plan.archive.ignore_zeros
            )),
            checksum(format!("{:?} {:o}", plan.extract, plan.umask)),
        ]
    }

    /// Why a run with the header `now` cannot go on with what this one began.
    #[must_use]
    pub fn refuses(&self, now: &Self) -> Option<String> {
        if let (Some(then), Some(now)) = (&self.archive, &now.archive) {
            if then.size != now.size {
                return Some(format!(
                    "the archive has changed: it has {} bytes and had {}",
                    now.size, then.size
                ));
            }
            if then.head != now.head {
                return Some("the archive has changed: its first blocks are others".into());
            }
            if then.mtime != now.mtime {
                return Some("the archive has changed: it was modified since".into());
            }
        }
        if self.options[0] != now.options[0] {
            return Some("it was begun with another choice of members or of their names".into());
        }
        if self.options[1] != now.options[1] {
            return Some(
                "it was begun with other rules for restoring (owners, modes, what exists, umask)"
                    .into(),
            );
        }
        if self.destinations != now.destinations {
            return Some(
                "the destination is another directory than the one it was begun in".into(),
            );
        }
        None
    }
}

/// What a settled member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A regular file.
    File,
    /// A name of a file that another member has brought.
    HardLink,
    /// A symbolic link.
    Symlink,
    /// A FIFO or a device.
    Special,
    /// A directory that is to get the member's owner, mode and times when everything else is done.
    Directory,
    /// A directory that was there and is left as it is.
    KeptDirectory,
}

/// A settled member, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which member of the archive, from 0.
    pub index: u64,
    /// Number of the block at which it begins.
    pub block: u64,
    /// [`chain`] up to this member.
    pub headers: u64,
    /// What it is.
    pub what: What,
    /// Which destination it is below.
    pub base: u64,
    /// Path below it.
    pub path: Vec<u8>,
    /// The target of a link.
    pub link: Vec<u8>,
    /// State on disk: permission bits.
    pub mode: u32,
    /// State on disk: owner and group.
    pub owner: (u32, u32),
    /// State on disk: size in bytes.
    pub size: u64,
    /// State on disk: last change of the contents.
    pub mtime: Timestamp,
    /// State on disk: number of the inode.
    pub inode: u64,
    /// Checksum of the data that the archive holds for it; 0 where it holds none.
    pub checksum: u64,
}

/// Checksum of everything that matters in the headers of the members so far.
#[must_use]
pub fn chain(before: u64, member: &Member) -> u64 {
    let mut bytes = Vec::with_capacity(128 + member.name.len() + member.link.len());
    for number in [
        member.block,
        member.mode.into(),
        member.uid,
        member.gid,
        member.size,
        member.stored,
        member.mtime.seconds.cast_unsigned(),
        member.mtime.nanos.into(),
    ] {
        put(&mut bytes, number);
    }
    bytes.push(member.typeflag);
    put_bytes(&mut bytes, &member.name);
    put_bytes(&mut bytes, &member.link);
    XxHash3_64::oneshot_with_seed(before, &bytes)
}

/// What a member of this kind is once it is settled.
#[must_use]
pub fn what(kind: Kind) -> What {
    match kind {
        Kind::HardLink => What::HardLink,
        Kind::Symlink => What::Symlink,
        Kind::CharDevice | Kind::BlockDevice | Kind::Fifo => What::Special,
        Kind::Directory => What::Directory,
        Kind::Regular | Kind::Socket | Kind::VolumeHeader | Kind::Continuation => What::File,
    }
}

const WHATS: [What; 6] = [
    What::File,
    What::HardLink,
    What::Symlink,
    What::Special,
    What::Directory,
    What::KeptDirectory,
];

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_time(out: &mut Vec<u8>, time: Timestamp) {
    put(out, time.seconds.cast_unsigned());
    put(out, time.nanos.into());
}

/// Takes fields off the front; `None` when they are not there.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn number(&mut self) -> Option<u64> {
        let bytes = self.raw(8)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let count = self.number()?.try_into().ok()?;
        self.raw(count).map(<[u8]>::to_vec)
    }

    fn time(&mut self) -> Option<Timestamp> {
        Some(Timestamp {
            seconds: self.number()?.cast_signed(),
            nanos: self.small()?,
        })
    }
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, u64::from(self.archive.is_some()));
        if let Some(archive) = &self.archive {
            put(&mut out, archive.size);
            put_time(&mut out, archive.mtime);
            put(&mut out, archive.inode);
            put(&mut out, archive.head);
        }
        put(&mut out, self.options[0]);
        put(&mut out, self.options[1]);
        put(&mut out, self.destinations.len() as u64);
        for inode in &self.destinations {
            put(&mut out, *inode);
        }
        put_time(&mut out, self.started);
        out
    }

    fn decode(payload: &[u8]) -> Option<Self> {
        let mut fields = Fields(payload);
        let archive = match fields.number()? {
            0 => None,
            _ => Some(Archive {
                size: fields.number()?,
                mtime: fields.time()?,
                inode: fields.number()?,
                head: fields.number()?,
            }),
        };
        let options = [fields.number()?, fields.number()?];
        let count = fields.number()?;
        let mut destinations = Vec::new();
        for _ in 0..count {
            destinations.push(fields.number()?);
        }
        Some(Self {
            archive,
            options,
            destinations,
            started: fields.time()?,
        })
    }
}

impl Entry {
    fn encode(&self, out: &mut Vec<u8>) {
        let what = WHATS.iter().position(|what| *what == self.what);
        for number in [
            self.index,
            self.block,
            self.headers,
            what.unwrap_or(0) as u64,
            self.base,
            self.mode.into(),
            self.owner.0.into(),
            self.owner.1.into(),
            self.size,
            self.inode,
            self.checksum,
        ] {
            put(out, number);
        }
        put_time(out, self.mtime);
        put_bytes(out, &self.path);
        put_bytes(out, &self.link);
    }

    fn decode(fields: &mut Fields<'_>) -> Option<Self> {
        let (index, block, headers) = (fields.number()?, fields.number()?, fields.number()?);
        let what = *WHATS.get(usize::try_from(fields.number()?).ok()?)?;
        Some(Self {
            index,
            block,
            headers,
            what,
            base: fields.number()?,
            mode: fields.small()?,
            owner: (fields.small()?, fields.small()?),
            size: fields.number()?,
            inode: fields.number()?,
            checksum: fields.number()?,
            mtime: fields.time()?,
            path: fields.bytes()?,
            link: fields.bytes()?,
        })
    }
}
