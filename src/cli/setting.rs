//! One wish without its spelling.
//!
//! A [`Setting`] is named for what it does, never for a letter: `-U` overwrites newer files in star and unlinks first in
//! GNU tar. Grammars give settings in the order of the command line, `assemble` folds them from left to right.

use std::num::NonZeroU64;

use durastar::plan::{
    Compression, DurabilityMode, Existing, ExistingDirectories, Seek, SyncMethod, Transform,
    VolumeScript,
};
use durastar::sys::signal::Signal;

use super::idmap::Whose;
use super::making::Making;
use super::option::OptionDef;

/// A setting with the words it came from, for messages about it.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// What is wished.
    pub(crate) setting: Setting,
    /// The option as the table spells it (`--keep-old-files`); empty for a plain argument.
    pub(crate) spelt: String,
}

/// One wish.
#[derive(Clone, Debug)]
pub(crate) enum Setting {
    /// Print something about the program and end.
    Page(Page),
    /// Restore members.
    Extract,
    /// List members.
    List,
    /// Compare members with what is on disk.
    Compare,
    /// Take members out of an archive.
    Delete,
    /// Write a new archive.
    Create,
    /// Write behind what an archive has.
    Append,
    /// The same with what it does not have, or has older.
    Update,
    /// Write what other archives have behind what an archive has.
    Join,
    /// Something that only writing knows.
    Making(Making),
    /// Say what extracting would do (star's `-n`).
    Trace,
    /// Print what kind of archive it is (star's `-print-artype`).
    ArchiveType,
    /// An option that is known and not built.
    Refused(&'static OptionDef),
    /// Accepted: what it asks for is always so.
    Always,

    /// A volume of the archive; `-` is standard input.
    Archive(Vec<u8>),
    /// The archive is what TAPE names (star's `-T`).
    ArchiveFromTape,
    /// Bytes in a record.
    RecordBytes(usize),
    /// The FIFO's size.
    FifoBytes(usize),
    /// Go on after zero blocks.
    IgnoreZeros,
    /// Skip unwanted data by seeking.
    Seek(Seek),
    /// How the archive is compressed.
    Compression(Compression),
    /// The archive goes on from volume to volume.
    MultiVolume,
    /// The same, and what makes the next volume ready.
    VolumeScript(VolumeScript),
    /// Where the volume's number is kept.
    VolumeNumberFile(Vec<u8>),

    /// Members named after this go below this directory.
    Directory(Vec<u8>),
    /// A member by name.
    Member(Vec<u8>),
    /// Members by the names in a file.
    MembersFrom(Vec<u8>),
    /// A pattern that members have to match (star's `pat=`).
    Pattern(Vec<u8>),
    /// Only the so-many-th member of each name; none for all of them.
    Occurrence(Option<NonZeroU64>),
    /// Only members from this date or the time of this file on, and the option as GNU tar calls it.
    Newer(Vec<u8>, &'static str),
    /// Only members that are newer than this file (star's `newer=`).
    NewerThanFile(Vec<u8>),
    /// No files of more bytes than this.
    MaxSize(u64),
    /// Substitutions on names, with whatever `--transform` can say.
    Transform(Vec<u8>),
    /// A substitution on names (star's `-s`).
    Substitution(Transform),
    /// Everything below one directory, which is named after the archive when it is not given.
    OneTopLevel(Option<Vec<u8>>),
    /// Take what does not match (star's `-not`).
    Invert,
    /// Leave out what matches.
    Exclude(Vec<u8>),
    /// Leave out what matches a line of a file.
    ExcludeFrom(Vec<u8>),
    /// Leave out what matches one of these.
    ExcludeAll(&'static [&'static str]),
    /// How names and patterns after this are compared.
    Matching(Matching),
    /// Name lists are NUL-separated, and so is the log of settled members.
    NulSeparated(bool),
    /// Lines of name lists are taken as they are.
    Verbatim(bool),
    /// Backslash escapes in name lists are undone.
    Unquote(bool),
    /// Components taken off the front of names.
    StripComponents(usize),
    /// Keep leading slashes and restore members with `..` in their names.
    AbsoluteNames,
    /// Keep leading slashes.
    KeepSlashes,
    /// Restore members with `..` in their names.
    KeepDotDot,
    /// Pass over everything before this member.
    StartingAt(Vec<u8>),

    /// Contents go to standard output.
    ToOutput,
    /// Contents go to a command.
    ToCommand(Vec<u8>),
    /// The command's exit status does not matter.
    IgnoreStatus(bool),
    /// Ask before each member.
    Ask,
    /// Owners or groups become others, as this file says.
    IdMap(Whose, Vec<u8>),
    /// Keep what is in the way under another name, made in the way of this word.
    Backup(Option<Vec<u8>>),
    /// What is added to such a name; implies it.
    BackupSuffix(Vec<u8>),
    /// Temporary names until members are stable.
    SafeWrites,
    /// Only what exists (star's `-refresh`).
    Refresh,
    /// Ask before anything is removed (star's `-ask-remove`).
    AskBeforeRemoving,
    /// Keep directories in the way that are not empty.
    KeepFullDirectories,
    /// The first failure ends the run (star's `-e`).
    StopAtFailure,
    /// Set owners.
    SameOwner(bool),
    /// Owners by number only.
    NumericOwner,
    /// Set modes exactly.
    SamePermissions(bool),
    /// The umask to use instead of the process's.
    Umask(u32),
    /// Leave times as they come.
    NoTimes,
    /// What to do about a file that is there. Two different ones contradict each other.
    Existing(Existing),
    /// Remove directories that are in the way with all that is in them.
    RemoveRecursively,
    /// Overwrite also what is newer (star's `-U`).
    Unconditional,
    /// Directories are restored even where the one on disk is newer (star's `-xdir`).
    DirectoriesAlways,
    /// The same for a first `.` (star's `-xdot`).
    DotAlways,
    /// What to do about the metadata of directories that are there.
    ExistingDirectories(ExistingDirectories),
    /// A symbolic link to a directory may stand in for one.
    KeepDirectorySymlink,
    /// Refuse links that lead out of the destination.
    SecureLinks(bool),
    /// Zeros become holes.
    MakeHoles,
    /// Make no directories.
    NoDirectories,
    /// Set access control lists.
    Acls(bool),
    /// Set access control lists, and modes exactly (star).
    AclsAndPermissions,
    /// Set extended attributes.
    Xattrs(bool),
    /// Set only extended attributes that match; implies them.
    XattrsInclude(Vec<u8>),
    /// Do not set extended attributes that match; implies the others.
    XattrsExclude(Vec<u8>),
    /// Set SELinux contexts.
    Selinux(bool),
    /// Set file flags.
    FileFlags,

    /// When writes are forced to stable storage.
    Durability(DurabilityMode),
    /// The size of a window; a part that is `None` stays as it is.
    Window {
        /// Members in a window.
        members: Option<usize>,
        /// Bytes in a window.
        bytes: Option<u64>,
    },
    /// How windows and batches are settled.
    SyncMethod(SyncMethod),
    /// Threads that write.
    Jobs(std::num::NonZeroUsize),

    /// One step more of verbosity.
    Verbose,
    /// Print totals at the end.
    Totals,
    /// Print totals when this signal arrives.
    TotalsOn(Signal),
    /// A message every so many records; 0 for none.
    Checkpoint(u64),
    /// Print the FIFO's counters.
    FifoStats,
    /// Print what syncs cost.
    SyncStats,
    /// Print how long it took (star's `-time`).
    Time,
    /// Do not print statistics at the end (star).
    NoStatistics,
    /// Write a report to this file.
    Report(Vec<u8>),
    /// Write the names of settled members to this file.
    SettledLog(Vec<u8>),
    /// Record the extraction in this file.
    Journal(Vec<u8>),
    /// Go on with what the journal says.
    Resume,
    /// Read back what is stable.
    VerifySettled,
    /// How names are quoted.
    Quoting(Quoting),
    /// Bytes that are quoted too, or no more.
    QuoteChars(Vec<u8>, bool),
    /// Times to the full resolution.
    FullTime,
    /// Times in UTC.
    Utc,
    /// Block numbers before each name.
    BlockNumber,
    /// Names as they are after renaming.
    TransformedNames(bool),
    /// Path names only (star's `-tpath`).
    PathsOnly,
    /// Turns warnings of this kind on or off.
    Warning(&'static str, bool),
}

/// A page that the program prints about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// All options.
    Help,
    /// A few lines on how to call it.
    Usage,
    /// The version.
    Version,
    /// The manual page of a dialect, as roff.
    Manual,
}

/// One rule by which names and patterns are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    /// Whether `* ? [...]` are special.
    Wildcards(bool),
    /// Whether a match begins at the front of the name.
    Anchored(bool),
    /// Whether wildcards match a slash.
    MatchSlash(bool),
    /// Whether case does not matter.
    IgnoreCase(bool),
    /// Whether a directory stands for what is below it.
    Recursive(bool),
}

/// How names are quoted in listings: GNU tar's styles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// As they are.
    Literal,
    /// For a shell, where needed.
    Shell,
    /// For a shell, always.
    ShellAlways,
    /// As a C string.
    C,
    /// As a C string, where needed.
    CMaybe,
    /// Backslash escapes (GNU tar's default).
    #[default]
    Escape,
    /// As a C string in the locale's quotation marks.
    Locale,
    /// As a C string in double or the locale's quotation marks.
    CLocale,
}
