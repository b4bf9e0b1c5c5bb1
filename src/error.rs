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
    /// Renaming.
    Rename,
    /// Looking at a file's state.
    Stat,
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
            Self::Rename => "rename",
            Self::Stat => "stat",
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
    /// A header field holds no number, or one that cannot be used; which field.
    BadField(&'static str),
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
    /// A sync failed: these members may be lost. The member field names the first, or the file system's directory.
    NotStable {
        /// What the system said.
        cause: io::Error,
        /// How many members the sync stood for.
        members: u64,
    },
    /// Anything else, in words (lower case, no full stop).
    Other(String),
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth saying; the run still counts as successful.
    Warning,
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
            Self::UnknownTypeflag(flag) => {
                write!(
                    f,
                    "unknown file type '{}', taken as regular file",
                    flag.escape_ascii()
                )
            }
            Self::UnexpectedEnd => f.write_str("unexpected end of archive"),
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
            Self::NotFound => f.write_str("not found in archive"),
            Self::OccurrenceNotFound => f.write_str("required occurrence not found in archive"),
            Self::OddTime { ahead, .. } if *ahead > 0 => {
                write!(f, "time stamp lies {ahead} s in the future")
            }
            Self::OddTime { .. } => f.write_str("implausibly old time stamp"),
            Self::NotStable { cause, members } => {
                write!(f, "cannot sync, {members} members may be lost: {cause}")
            }
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
