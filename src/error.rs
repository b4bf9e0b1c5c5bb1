//! What can go wrong, as parts that a dialect puts into words.
//!
//! Two levels. An [`Error`] ends the run. A [`Complaint`] is about one member (or one sync, or one argument), and the run
//! goes on. `Display` gives lower-case text without program name or newline; the sentences that users see are made from
//! the parts, in `cli`.

use std::fmt;
use std::io;

use crate::member::Timestamp;

/// What was tried on the file system (or on the archive) when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Opening or creating a regular file, or opening anything else.
    Open,
    /// Making a directory.
    MakeDirectory,
    /// Making a symbolic link.
    Symlink,
    /// Making a hard link.
    Link,
    /// Making a FIFO.
    MakeFifo,
    /// Making a device.
    MakeNode,
    /// Reading.
    Read,
    /// Writing file contents.
    Write,
    /// Moving in the archive file.
    Seek,
    /// Setting a file's length.
    Truncate,
    /// Closing: the last moment at which some file systems report a failed write.
    Close,
    /// Setting owner and group.
    ChangeOwner,
    /// Setting the mode.
    ChangeMode,
    /// Setting times.
    SetTimes,
    /// Setting an extended attribute or ACL.
    SetAttribute,
    /// Setting file flags.
    SetFlags,
    /// Removing what is in the way.
    Remove,
    /// Removing a directory.
    RemoveDirectory,
    /// Renaming.
    Rename,
    /// Looking at a file's state.
    Stat,
    /// Reading where a symbolic link points to.
    ReadLink,
    /// Reading a directory.
    ReadDirectory,
    /// Entering a directory (`-C`).
    ChangeDirectory,
    /// Forcing a file, a directory or a file system to stable storage.
    Sync,
    /// Starting a program.
    Execute,
}

impl Operation {
    /// The verb for messages: `open`, `make directory` ...
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::MakeDirectory => "mkdir",
            Self::Symlink => "create symlink",
            Self::Link => "hard link",
            Self::MakeFifo => "mkfifo",
            Self::MakeNode => "mknod",
            Self::Read => "read",
            Self::Write => "write",
            Self::Seek => "seek",
            Self::Truncate => "truncate",
            Self::Close => "close",
            Self::ChangeOwner => "change ownership",
            Self::ChangeMode => "change mode",
            Self::SetTimes => "utime",
            Self::SetAttribute => "set attribute",
            Self::SetFlags => "set flags",
            Self::Remove => "unlink",
            Self::RemoveDirectory => "rmdir",
            Self::Rename => "rename",
            Self::Stat => "stat",
            Self::ReadLink => "read link",
            Self::ReadDirectory => "read directory",
            Self::ChangeDirectory => "chdir",
            Self::Sync => "sync",
            Self::Execute => "exec",
        }
    }
}

/// The class of a problem, with the parts that are particular to it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Condition {
    /// A system call failed. `target` is the other name of a link, where there is one.
    System {
        /// What was tried.
        operation: Operation,
        /// What the system said.
        cause: io::Error,
        /// The name a link was to point to.
        target: Option<Vec<u8>>,
    },
    /// A zero block that is followed by something else than a second one; its number, from 0. (GNU tar's message counts
    /// from 1.)
    LoneZeroBlock(u64),
    /// A header's checksum is wrong: skipping to the next good one. Said once per gap, with the block it begins at.
    BadHeader(u64),
    /// An extended header cannot be understood; what is wrong with it.
    BadExtension(String),
    /// A member's number cannot be used here; which field.
    BadField(&'static str),
    /// A header field holds no number, or one that cannot be used; which field, and why.
    BadNumber(&'static str, NumberFault),
    /// A typeflag that nobody knows, taken as a regular file.
    UnknownTypeflag(u8),
    /// The archive ends in the middle of this member.
    UnexpectedEnd,
    /// Something follows after the end of the compressed data, or the decompressor warned; its words.
    Decompression(String),
    /// A prefix was taken off member names (`link` false) or hard link targets (`link` true); said once per prefix.
    PrefixRemoved {
        /// What was taken off: `/`, `../` ...
        prefix: Vec<u8>,
        /// Whether it stood in a link's target.
        link: bool,
    },
    /// The name holds `..` as a component and was skipped.
    DotDot,
    /// The link leads, or may lead, out of the destination and was not made (star's `-secure-links`); its target.
    UnsafeLink(Vec<u8>),
    /// The way to the member leads out of the destination through a symbolic link.
    LeavesDestination,
    /// The file on disk is as new as the member or newer: skipped. Not a failure.
    NotNewer,
    /// The file exists and was kept. A failure or not as the plan says.
    Kept,
    /// A symbolic link to a directory was replaced by a directory, as the archive has one there.
    ReplacedDirectoryLink,
    /// The member's kind cannot be made here (a socket), or it was left out as the plan says.
    Unsupported(&'static str),
    /// What is in the way could not be renamed out of it.
    NoBackup(io::Error),
    /// The command that got the member's contents ended with a status other than 0.
    CommandFailed {
        /// Its process.
        process: u32,
        /// Its exit status.
        status: i32,
    },
    /// The command that got the member's contents was ended by a signal.
    CommandKilled {
        /// Its process.
        process: u32,
        /// The signal.
        signal: i32,
    },
    /// A name on the command line that no member has.
    NotFound,
    /// A name that was asked for is not as often in the archive as the plan wants.
    OccurrenceNotFound,
    /// The member's time lies before 1970 ("implausibly old") or in the future by so many seconds.
    OddTime {
        /// The time in the archive.
        time: Timestamp,
        /// Seconds it lies ahead of the clock; negative for implausibly old ones.
        ahead: i64,
    },
    /// A sync failed. The member field names the file system's directory; files whose own sync failed have complaints of
    /// their own.
    NotStable {
        /// What the system said.
        cause: io::Error,
        /// How many members may be lost by it, besides those with complaints of their own.
        members: u64,
        /// The first of them in the archive, or one before it; empty if there are none.
        first: Vec<u8>,
        /// The last of them in the archive, or one after it.
        last: Vec<u8>,
    },
    /// The file's state changed while it was archived.
    FileChanged,
    /// The file lost so many bytes while it was read; zeros stand for them.
    FileShrank(u64),
    /// The file was there when its directory was read, and was not when it was its turn.
    FileRemoved,
    /// Reading failed at this byte; so many that were to be read there are zeros in the archive.
    ReadFailed {
        /// Where.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is the archive that is being written.
    IsArchive,
    /// A kind of file that archives do not hold: `socket`, `door` ...
    FileIgnored(&'static str),
    /// The file is not new enough to be archived.
    FileUnchanged,
    /// The directory is on another file system and was not entered.
    OtherFileSystem,
    /// The directory holds this tag, and some of it was left out: what.
    Tagged(Vec<u8>, &'static str),
    /// Not all names of a file were archived.
    MissingLinks,
    /// The file on disk is not what the archive holds.
    Differs(Difference),
    /// A volume of a set is not the one that is wanted, or not quite.
    Volume(VolumeFault),
    /// The member began on a volume that was not read.
    Continued,
    /// Anything else, in words (lower case, no full stop).
    Other(String),
}

/// How a file on disk differs from a member.
#[derive(Debug)]
pub enum Difference {
    /// It cannot be looked at: what was tried.
    Missing(Operation, io::Error),
    /// It is something else.
    Kind,
    /// Another mode.
    Mode,
    /// Another owner.
    Owner,
    /// Another group.
    Group,
    /// Another modification time.
    Time,
    /// Another size.
    Size,
    /// Other contents.
    Contents,
    /// There are data where the member has a hole: in the block at this byte.
    NotHole(u64),
    /// The symbolic link leads elsewhere.
    Symlink,
    /// It is not another name of this file.
    NotLinked(Vec<u8>),
    /// Another device.
    Device,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing(operation, cause) => {
                return write!(f, "cannot {}: {cause}", operation.verb());
            }
            Self::Kind => "file type differs",
            Self::Mode => "mode differs",
            Self::Owner => "uid differs",
            Self::Group => "gid differs",
            Self::Time => "mod time differs",
            Self::Size => "size differs",
            Self::Contents => "contents differ",
            Self::Symlink => "symlink differs",
            Self::NotLinked(target) => {
                return write!(f, "not linked to {}", target.escape_ascii());
            }
            Self::NotHole(at) => return write!(f, "file fragment at {at} is not a hole"),
            Self::Device => "device number differs",
        })
    }
}

/// Why a header field is no number that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberFault {
    /// There is something else; without the NULs at its end.
    Text(Vec<u8>),
    /// Octal digits of a number that is too large.
    Octal(Vec<u8>),
    /// A number that the field cannot mean.
    Range(i64),
    /// A binary number that is too large.
    Binary,
}

impl fmt::Display for NumberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "'{}' is no number", text.escape_ascii()),
            Self::Octal(digits) => write!(f, "{} is too large", digits.escape_ascii()),
            Self::Range(number) => write!(f, "{number} is out of range"),
            Self::Binary => f.write_str("a binary number that is too large"),
        }
    }
}

/// What is wrong with a volume that was to continue a set.
#[derive(Debug)]
pub enum VolumeFault {
    /// It cannot be opened.
    Open(io::Error),
    /// It is empty.
    Empty,
    /// It goes on with another member than the one that is not complete.
    NotContinued,
    /// It goes on with a member of which only the beginning of the name is known. That is taken for the same.
    NameCut,
    /// What it holds of the member and what came before are not the whole; in bytes.
    Size {
        /// The whole.
        total: u64,
        /// What it says it holds of it, with what comes on volumes behind it.
        size: u64,
        /// Where it says that begins.
        offset: u64,
    },
    /// It goes on at another place in the member; in bytes.
    Sequence {
        /// The whole.
        total: u64,
        /// What is missing of it.
        left: u64,
        /// Where the volume begins.
        offset: u64,
    },
    /// Its volume header has another number.
    Number {
        /// The number that is wanted.
        wanted: u64,
        /// Its own.
        found: u64,
    },
    /// Its volume header says that it belongs to another set.
    OtherSet,
}

impl fmt::Display for VolumeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(cause) => write!(f, "cannot open: {cause}"),
            Self::Empty => f.write_str("this volume is empty"),
            Self::NotContinued => f.write_str("not continued on this volume"),
            Self::NameCut => f.write_str("possibly continued on this volume, the name is cut"),
            Self::Size {
                total,
                size,
                offset,
            } => write!(f, "wrong size: {total} is not {size} + {offset}"),
            Self::Sequence {
                total,
                left,
                offset,
            } => write!(
                f,
                "volume out of sequence: {total} - {left} is not {offset}"
            ),
            Self::Number { wanted, found } => {
                write!(f, "this is volume {found}, volume {wanted} is wanted")
            }
            Self::OtherSet => f.write_str("this volume belongs to another set"),
        }
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth saying; the run still counts as successful.
    Warning,
    /// What was done may not be what was wanted: files differ, or changed while they were read.
    Difference,
    /// Something that was asked for was not done: the exit status tells.
    Failure,
}

/// One problem with one member; the run goes on.
#[derive(Debug)]
pub struct Complaint {
    /// The member's name (after renaming), the file or argument concerned; empty for the archive as a whole.
    pub member: Vec<u8>,
    /// What it is.
    pub condition: Condition,
    /// How bad it is.
    pub severity: Severity,
}

impl Complaint {
    /// A failure with this member.
    #[must_use]
    pub fn failure(member: &[u8], condition: Condition) -> Self {
        Self {
            member: member.to_vec(),
            condition,
            severity: Severity::Failure,
        }
    }

    /// A warning about this member.
    #[must_use]
    pub fn warning(member: &[u8], condition: Condition) -> Self {
        Self {
            member: member.to_vec(),
            condition,
            severity: Severity::Warning,
        }
    }

    /// Something about this member that makes the result doubtful.
    #[must_use]
    pub fn difference(member: &[u8], condition: Condition) -> Self {
        Self {
            member: member.to_vec(),
            condition,
            severity: Severity::Difference,
        }
    }

    /// A failed system call on this member.
    #[must_use]
    pub fn system(member: &[u8], operation: Operation, cause: io::Error) -> Self {
        Self::failure(
            member,
            Condition::System {
                operation,
                cause,
                target: None,
            },
        )
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System {
                operation,
                cause,
                target: None,
            } => write!(f, "cannot {}: {cause}", operation.verb()),
            Self::System {
                operation,
                cause,
                target: Some(target),
            } => {
                write!(
                    f,
                    "cannot {} to {}: {cause}",
                    operation.verb(),
                    target.escape_ascii()
                )
            }
            Self::LoneZeroBlock(block) => write!(f, "a lone zero block at {block}"),
            Self::BadHeader(block) => write!(f, "skipping to next header after block {block}"),
            Self::BadExtension(what) => write!(f, "malformed extended header: {what}"),
            Self::BadField(field) => write!(f, "bad value in header field {field}"),
            Self::BadNumber(field, fault) => {
                write!(f, "bad value in header field {field}: {fault}")
            }
            Self::UnknownTypeflag(flag) => {
                write!(
                    f,
                    "unknown file type '{}', taken as regular file",
                    flag.escape_ascii()
                )
            }
            Self::UnexpectedEnd => f.write_str("unexpected end of archive"),
            Self::Volume(fault) => fault.fmt(f),
            Self::Continued => f.write_str("continued from another volume"),
            Self::Decompression(what) | Self::Other(what) => f.write_str(what),
            Self::PrefixRemoved { prefix, link } => write!(
                f,
                "removing leading '{}' from {}",
                prefix.escape_ascii(),
                if *link {
                    "hard link targets"
                } else {
                    "member names"
                }
            ),
            Self::DotDot => f.write_str("member name contains '..'"),
            Self::UnsafeLink(target) => write!(
                f,
                "link to {} may lead out of the destination",
                target.escape_ascii()
            ),
            Self::LeavesDestination => {
                f.write_str("a symbolic link on the way leads out of the destination")
            }
            Self::NotNewer => f.write_str("the file on disk is not older"),
            Self::Kept => f.write_str("exists and is kept"),
            Self::ReplacedDirectoryLink => {
                f.write_str("symbolic link to a directory replaced by a directory")
            }
            Self::Unsupported(what) => write!(f, "{what} cannot be made"),
            Self::NoBackup(cause) => write!(f, "cannot be kept under another name: {cause}"),
            Self::CommandFailed { process, status } => {
                write!(f, "command {process} ended with status {status}")
            }
            Self::CommandKilled { process, signal } => {
                write!(f, "command {process} was ended by signal {signal}")
            }
            Self::NotFound => f.write_str("not found in archive"),
            Self::OccurrenceNotFound => f.write_str("required occurrence not found in archive"),
            Self::OddTime { ahead, .. } if *ahead > 0 => {
                write!(f, "time stamp lies {ahead} s in the future")
            }
            Self::OddTime { .. } => f.write_str("implausibly old time stamp"),
            Self::FileChanged => f.write_str("file changed as we read it"),
            Self::FileShrank(bytes) => {
                write!(f, "file shrank by {bytes} bytes; padding with zeros")
            }
            Self::FileRemoved => f.write_str("file removed before we read it"),
            Self::ReadFailed {
                offset,
                bytes,
                cause,
            } => write!(f, "cannot read {bytes} bytes at {offset}: {cause}"),
            Self::IsArchive => f.write_str("file is the archive; not dumped"),
            Self::FileIgnored(what) => write!(f, "{what} ignored"),
            Self::FileUnchanged => f.write_str("file is unchanged; not dumped"),
            Self::OtherFileSystem => f.write_str("file is on a different filesystem; not dumped"),
            Self::Tagged(tag, what) => {
                write!(
                    f,
                    "contains a cache directory tag {}; {what}",
                    tag.escape_ascii()
                )
            }
            Self::MissingLinks => f.write_str("missing links"),
            Self::Differs(what) => what.fmt(f),
            Self::NotStable {
                cause, members: 0, ..
            } => {
                write!(
                    f,
                    "cannot sync, no member is lost that is not named: {cause}"
                )
            }
            Self::NotStable {
                cause,
                members: 1,
                first,
                ..
            } => {
                write!(
                    f,
                    "cannot sync, 1 member may be lost, {}: {cause}",
                    first.escape_ascii()
                )
            }
            Self::NotStable {
                cause,
                members,
                first,
                last,
            } => write!(
                f,
                "cannot sync, {members} members may be lost, {} to {}: {cause}",
                first.escape_ascii(),
                last.escape_ascii()
            ),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.member.is_empty() {
            write!(f, "{}: ", self.member.escape_ascii())?;
        }
        self.condition.fmt(f)
    }
}

/// Why a run ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A system call on the archive (or on the destination as a whole) failed.
    System {
        /// What was tried.
        operation: Operation,
        /// On which file; `-` for standard input.
        name: Vec<u8>,
        /// What the system said.
        cause: io::Error,
    },
    /// This is not a tar archive.
    NotAnArchive,
    /// The archive ends in the middle of a member or a header; the number of the block that is missing.
    UnexpectedEnd {
        /// Block number, from 0.
        block: u64,
    },
    /// The compressed data cannot be decompressed; the decompressor's words.
    Decompression(String),
    /// A further volume is wanted and there is none; its number, from 1. Whoever was asked for it has said why.
    NoVolume(u64),
    /// The program that was to bring the next volume failed; the program as it was given, or what it gave.
    VolumeScript(Vec<u8>),
    /// The file that holds the number of the volume holds none; its name.
    VolumeNumber(Vec<u8>),
    /// A thread of the library panicked: a fault in durastar itself.
    Panic(&'static str),
    /// The plan cannot be carried out; what is wrong with it.
    Plan(String),
    /// The journal cannot be used.
    Journal {
        /// Its name.
        name: Vec<u8>,
        /// Why.
        reason: String,
    },
    /// The observer asked for the end.
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System {
                operation,
                name,
                cause,
            } => {
                write!(
                    f,
                    "{}: cannot {}: {cause}",
                    name.escape_ascii(),
                    operation.verb()
                )
            }
            Self::NotAnArchive => f.write_str("this does not look like a tar archive"),
            Self::UnexpectedEnd { block } => {
                write!(f, "unexpected end of archive at block {block}")
            }
            Self::Decompression(what) | Self::Plan(what) => f.write_str(what),
            Self::NoVolume(number) => write!(f, "volume {number} is missing"),
            Self::VolumeScript(command) => {
                write!(f, "{}: failed to bring a volume", command.escape_ascii())
            }
            Self::VolumeNumber(name) => {
                write!(f, "{}: holds no volume number", name.escape_ascii())
            }
            Self::Journal { name, reason } => write!(f, "{}: {reason}", name.escape_ascii()),
            Self::Panic(thread) => write!(f, "internal error in thread {thread}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
