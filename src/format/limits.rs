//! How much of an archive's own claims is believed.
//!
//! A header can name any number. None of them is allocated for: bodies grow as their bytes arrive, and stop growing
//! here. What is over a limit is passed over with a complaint, and reading goes on behind it.

/// A block, the unit of every tar format, in bytes (POSIX pax, "ustar Interchange Format").
pub const BLOCK: usize = 512;

/// Longest member or link name, in bytes. Linux takes 4,096 in one system call, but deeper trees exist and are reached
/// directory by directory; 1 MiB is a tree of 4,096 levels of the longest component names.
pub const NAME: usize = 1 << 20;

/// Longest body of one pax extended header, in bytes: half a million extents in a map of format 0.0. Attributes are at
/// most 64 KiB each on Linux, all ACLs far less.
pub const PAX_HEADER: u64 = 32 << 20;

/// Longest value of a record that is kept for the consumer, in bytes: sixteen times Linux's `XATTR_SIZE_MAX`.
pub const RECORD: usize = 1 << 20;

/// Records kept with one member, over all its extended headers. The names of all attributes of a file fit in 64 KiB
/// on Linux (`XATTR_LIST_MAX`), so it has fewer.
pub const RECORDS: usize = 16_384;

/// Bytes of the records kept with one member.
pub const RECORD_BYTES: usize = 16 << 20;

/// Records of global headers that are kept for all later members; star writes seven, `git archive` one.
pub const GLOBAL_RECORDS: usize = 64;

/// Bytes of all records of global headers that are kept, and of a name that holds for all later members. Each member gets
/// a copy, so this bounds what a small member can cost.
pub const GLOBAL_BYTES: usize = 16 << 10;

/// Longest list of a directory's contents in a GNU incremental archive, in bytes.
pub const DUMPDIR: u64 = 16 << 20;

/// Extents of one sparse file: 16 bytes each, 16 MiB together.
pub const EXTENTS: usize = 1 << 20;

/// Longest line in the map of a pax sparse file of format 1.0, in bytes: a number has at most 20 digits, the rest is
/// room for the comments that bsdtar allows.
pub const MAP_LINE: usize = 512;

/// Complaints about one member, and about all global headers of an archive, that are reported one by one; what is wrong
/// more often than this is said no more.
pub const COMPLAINTS: usize = 16;

/// Largest piece of a member's data that is waited for when it does not fit in one piece, in bytes: large enough for
/// the system calls to be cheap, small enough to keep the reader of the archive and the writer of the file busy at once.
pub const PIECE: usize = 256 << 10;
