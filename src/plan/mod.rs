//! What is to be done, as plain data: never how it was spelt.
//!
//! A dialect turns a command line into one [`Plan`]; the engine runs it. The same wish gives the same plan in every
//! dialect, so tests compare plans. Everything the library needs to know is here: it reads neither the environment nor
//! any configuration.

pub mod create;

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use crate::member::Timestamp;
use create::Create;

/// The default record: 20 blocks of 512 bytes (POSIX pax, `-b`).
pub const RECORD_BYTES: usize = 20 * 512;
/// The FIFO's default size before it is rounded up to whole records: 8 MiB, as star.
pub const FIFO_BYTES: usize = 8 << 20;
/// Members in a window of mode group: few enough to keep each of them open until it is settled.
pub const WINDOW_MEMBERS: usize = 1024;
/// Bytes of file contents in a window of mode group: what a crash may cost at most, twice.
pub const WINDOW_BYTES: u64 = 64 << 20;

/// The whole of what is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The kind of work.
    pub job: Job,
    /// Where the archive comes from and how it is read.
    pub archive: Archive,
    /// The directories that members are unpacked into, as `-C` gives them, each as a path from where the program
    /// stands (or absolute); never empty. [`Wanted::directory`] chooses one, the last takes everything else.
    pub directories: Vec<PathBuf>,
    /// Which members, under which names.
    pub selection: Selection,
    /// How members are restored.
    pub extract: Extract,
    /// How an archive is written.
    pub create: Create,
    /// When writes are forced to stable storage.
    pub durability: Durability,
    /// The record by which the extraction can be resumed.
    pub journal: Option<Journal>,
    /// How many threads write file contents; `None` for the default. With one, everything happens in archive order.
    pub jobs: Option<NonZeroUsize>,
    /// The process's umask; the library never asks for it.
    pub umask: u32,
}

/// The record by which an extraction can be resumed. Only modes each and group settle anything on the way that is worth
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// Its file.
    pub path: PathBuf,
    /// Go on with what it says; otherwise it is made and must not exist.
    pub resume: bool,
}

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Job {
    /// Tell the observer of each member, read nothing else.
    List,
    /// Restore members on disk.
    Extract,
    /// Write the contents of regular files to the output that the engine is given.
    ExtractToOutput,
    /// Give the contents of each regular file to [`Extract::command`].
    ExtractToCommand,
    /// Compare members with what is on disk.
    Compare,
    /// Take members out of an archive.
    Delete,
    /// Write a new archive; to the output that the engine is given where its name is [`Volume::Standard`].
    Create,
    /// Write members behind those that an archive has.
    Append,
    /// The same with files that the archive does not have, or has older.
    Update,
    /// Write the members of other archives, which [`Selection::wanted`] names, behind those that an archive has.
    Join,
}

impl Job {
    /// Whether it makes members of files, or of those of other archives.
    #[must_use]
    pub fn makes(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Append | Self::Update | Self::Join
        )
    }

    /// Whether it writes anything that can be made durable.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Extract | Self::Delete) || self.makes()
    }
}

/// Where the archive comes from and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The volumes in their order.
    pub volumes: Vec<Volume>,
    /// How it is compressed.
    pub compression: Compression,
    /// Bytes in one record: a multiple of 512.
    pub record_bytes: usize,
    /// The FIFO's size in bytes; the ring rounds it up to whole records.
    pub fifo_bytes: usize,
    /// Go on after zero blocks: what follows is taken as more of the archive (`-i` in GNU tar).
    pub ignore_zeros: bool,
    /// Read on without a FIFO where the archive is a plain file in which data can be skipped by seeking.
    pub seek: Seek,
    /// The archive goes on from one volume to the next: how those are asked for. `None` for an archive in one piece.
    pub multi_volume: Option<MultiVolume>,
}

/// How the volumes of a set are changed. Volumes are not compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiVolume {
    /// Program that makes the next volume ready once all volumes of the plan were read; without it the observer's
    /// [`Operator`](crate::observe::Operator) is asked.
    pub script: Option<VolumeScript>,
    /// File with the number of the volume that is read: where counting begins, and renewed at the end.
    pub number_file: Option<PathBuf>,
}

/// A program that brings volumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeScript {
    /// What is run.
    pub command: Vec<u8>,
    /// How it is told what is wanted.
    pub told: Told,
}

/// How a program is told which volume is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    /// By environment variables (`TAR_VOLUME`, `TAR_ARCHIVE` ...); the command is a shell's, and it may write another
    /// name to the file descriptor `TAR_FD` (GNU tar).
    Environment,
    /// By two arguments, the volume's number and its name; the command is a program (star).
    Arguments,
}

/// Whether data that nobody wants is skipped by seeking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seek {
    /// When listing a regular file that is not compressed.
    Auto,
    /// Whenever the archive can seek (`-n`, `--seek`).
    Always,
    /// Never (`--no-seek`).
    Never,
}

/// One file, device or pipe that holds an archive or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// Standard input.
    Standard,
    /// A file, opened by this name.
    File(PathBuf),
}

/// How the archive is compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compression {
    /// What its first bytes say.
    Detect,
    /// As this name says (`gzip`, `bzip2`, `xz`, `lzma`, `zstd`, `lz4`, `lzip`, `compress`), whatever the bytes look like.
    Named(CompressionFormat),
    /// By this program with its arguments, called with `-d` added.
    Program(Vec<u8>),
}

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompressionFormat {
    /// gzip, RFC 1952.
    Gzip,
    /// bzip2.
    Bzip2,
    /// The .xz format.
    Xz,
    /// The older .lzma format ("LZMA alone").
    Lzma,
    /// Zstandard, RFC 8878.
    Zstd,
    /// The LZ4 frame format.
    Lz4,
    /// lzip.
    Lzip,
    /// compress(1), `.Z`.
    Compress,
}

/// Which members, under which names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The members asked for; empty means all.
    pub wanted: Vec<Wanted>,
    /// Members left out.
    pub excludes: Vec<Pattern>,
    /// Components taken off the front of each name; members with no more than that are left out.
    pub strip_components: usize,
    /// Keep leading slashes (`-P`, star's `-/`).
    pub absolute_names: bool,
    /// Restore members with `..` as a component of their names (`-P`, star's `-..`).
    pub keep_dot_dot: bool,
    /// Only the contents of these: members before the first that is named so are passed over (`-K`).
    pub starting_at: Option<Vec<u8>>,
    /// Patterns in star's syntax (`pat=`): a member has to match one of them as well as [`Selection::wanted`]; empty for
    /// no such rule.
    pub star_patterns: Vec<StarPattern>,
    /// Members that match none of [`Selection::star_patterns`] are taken instead (star's `-not`, `-V`).
    pub invert_star_patterns: bool,
    /// Only the so-many-th member of each name asked for, counted from 1 (`--occurrence`).
    pub occurrence: Option<NonZeroU64>,
    /// Members older than this are left out.
    pub newer: Option<DateLimit>,
    /// Regular files larger than so many bytes are left out (star's `maxsize=`).
    pub max_size: Option<u64>,
    /// Substitutions on names, in the order in which they are made (`--transform`).
    pub transforms: Vec<Transform>,
    /// Ask the observer about each member that would be restored.
    pub ask: bool,
    /// A directory that every name is put below unless it is there already (`--one-top-level`): relative, without `..`.
    pub one_top_level: Option<Vec<u8>>,
}

/// A pattern in star's syntax: `? * [...]`, `#` for repetition, `{...}` for groups, `!` for or, `%` for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StarPattern {
    /// The pattern.
    pub text: Vec<u8>,
    /// Index into [`Plan::directories`].
    pub directory: usize,
}

/// How old a member may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DateLimit {
    /// The limit.
    pub time: Timestamp,
    /// Which of a member's times is compared.
    pub stamp: Stamp,
    /// Whether a member of exactly this time is taken (GNU tar's dates) or left out (newer than a file, star).
    pub inclusive: bool,
}

/// One of a member's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stamp {
    /// Last change of the contents: what GNU tar compares on reading, for `--newer` and `--newer-mtime` alike.
    Modified,
    /// Last change of the inode where the archive has it, of the contents otherwise (star's `-ctime`).
    Changed,
}

/// One substitution on names, `s/pattern/replacement/flags`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    /// The expression that is looked for.
    pub pattern: Vec<u8>,
    /// How it is written.
    pub syntax: Syntax,
    /// Upper and lower case are the same (`i`; ASCII).
    pub ignore_case: bool,
    /// What stands in for a match.
    pub replacement: Vec<Replacement>,
    /// The first match that is replaced, counted from 1; a name with fewer stays as it is.
    pub from_match: NonZeroUsize,
    /// Whether the matches after that one are replaced too (`g`).
    pub all_matches: bool,
    /// Which names this is about.
    pub scope: Scope,
    /// Once this one has replaced something in a name, the ones after it leave that name alone (star, pax).
    pub last: bool,
}

/// How an expression is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// POSIX basic regular expressions, with the additions of GNU.
    Basic,
    /// POSIX extended regular expressions, with the additions of GNU.
    Extended,
    /// As [`StarPattern`].
    Star,
}

/// A piece of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// These bytes.
    Text(Vec<u8>),
    /// What this group matched; 0 for the whole match.
    Group(usize),
    /// Letters from here on (or the next one) become upper or lower case.
    Case(Case),
}

/// Case conversion in a replacement (ASCII letters).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// `\U`: upper case until [`Case::Keep`].
    Upper,
    /// `\L`: lower case until [`Case::Keep`].
    Lower,
    /// `\u`: the next byte in upper case.
    NextUpper,
    /// `\l`: the next byte in lower case.
    NextLower,
    /// `\E`: as it is from here on.
    Keep,
}

/// Which names a substitution is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Members' own names (`r`, not `R`).
    pub names: bool,
    /// Targets of hard links (`h`, not `H`).
    pub hard_links: bool,
    /// Targets of symbolic links (`s`, not `S`).
    pub symlinks: bool,
}

impl Default for Scope {
    /// All of them, as GNU tar.
    fn default() -> Self {
        Self {
            names: true,
            hard_links: true,
            symlinks: true,
        }
    }
}

/// A member asked for by name or pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name or the pattern.
    pub pattern: Pattern,
    /// Index into [`Plan::directories`].
    pub directory: usize,
}

/// A name or a pattern with the rules by which it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The text.
    pub text: Vec<u8>,
    /// Whether `* ? [...]` are special.
    pub wildcards: bool,
    /// Whether it has to match from the name's beginning, or may begin after any slash.
    pub anchored: bool,
    /// Whether `*` and `?` match a slash.
    pub wildcards_match_slash: bool,
    /// Whether upper and lower case are the same (ASCII).
    pub ignore_case: bool,
    /// Whether a match of a directory takes what is below it.
    pub recursive: bool,
}

impl Pattern {
    /// A plain name: matches itself and what is below it.
    #[must_use]
    pub fn literal(text: &[u8]) -> Self {
        Self {
            text: text.to_vec(),
            wildcards: false,
            anchored: true,
            wildcards_match_slash: true,
            ignore_case: false,
            recursive: true,
        }
    }

    /// GNU tar's default for `--exclude`: wildcards, not anchored, `*` matches slashes.
    #[must_use]
    pub fn exclude(text: &[u8]) -> Self {
        Self {
            wildcards: true,
            anchored: false,
            ..Self::literal(text)
        }
    }
}

/// How members are restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// Set owner and group (root's default).
    pub same_owner: bool,
    /// Take owner and group by number only, never by name.
    pub numeric_owner: bool,
    /// Set the mode as the archive has it, set-id and sticky bits too; otherwise the umask applies (root's default: true).
    pub same_permissions: bool,
    /// Set modification times (off with `-m`).
    pub mtime: bool,
    /// Set access times where the archive has them.
    pub atime: bool,
    /// What to do about a file that is there already.
    pub existing: Existing,
    /// When a directory with something in it is in the way, remove it with all that is below it. With
    /// [`Existing::RemoveFirst`] that goes for directories of the archive too, so that nothing old is left in them; only
    /// a destination itself is never emptied.
    pub remove_recursively: bool,
    /// What to do about the metadata of directories that are there already.
    pub existing_directories: ExistingDirectories,
    /// A symbolic link to a directory stands in for a directory of the archive (`--keep-directory-symlink`).
    pub keep_directory_symlink: bool,
    /// Links that are absolute or climb with `..`: made, or refused with a complaint (star's `-secure-links`).
    pub secure_links: bool,
    /// Set access control lists (`--acls`, star's `-acl`).
    pub acls: bool,
    /// Set extended attributes, those that this lets through (`--xattrs`, star's `-xattr-linux`).
    pub xattrs: Option<XattrSelection>,
    /// Set SELinux contexts (`--selinux`).
    pub selinux: bool,
    /// Set file flags such as immutable or nodump (star's `-xfflags`).
    pub file_flags: bool,
    /// Blocks of zeros in new files become holes (`--sparse`, star's `-force-hole`).
    pub make_holes: bool,
    /// Do not make directories that are only implied by the names of members, nor directory members (star's `-d`).
    pub no_directories: bool,
    /// Members become files under temporary names, which are settled before they take the place of what is there
    /// (`--safe-writes`, star's `-install`): whatever happens, a name stands for the old file or for the whole new one.
    pub safe_writes: bool,
    /// What is in the way is renamed, not removed (`--backup`); comes before every rule about existing files.
    pub backup: Option<Backup>,
    /// Only what exists is restored, nothing new is made (star's `-refresh`).
    pub refresh: bool,
    /// The observer is asked before anything is removed (star's `-ask-remove`).
    pub ask_before_removing: bool,
    /// A directory in the way that is not empty is kept without a complaint (star's `-keep-nonempty-dirs`).
    pub keep_full_directories: bool,
    /// The observer is told of a member before anything is tried, also if nothing comes of it (GNU tar's `-v`).
    pub announce_first: bool,
    /// Owners that become others.
    pub owners: IdMap,
    /// Groups that become others.
    pub groups: IdMap,
    /// For [`Job::ExtractToCommand`].
    pub command: Option<Command>,
}

/// Numbers of users or groups that become others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdMap(pub BTreeMap<u32, NewId>);

/// What a user or a group becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewId {
    /// Its number.
    pub id: u32,
    /// Its name, if that was said; nobody has asked the system for it.
    pub name: Option<Vec<u8>>,
}

impl IdMap {
    /// What this number becomes.
    #[must_use]
    pub fn apply(&self, id: u32) -> u32 {
        self.0.get(&id).map_or(id, |new| new.id)
    }
}

/// How what is in the way is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// How the name is made.
    pub control: BackupControl,
    /// What is added to the name of a simple backup.
    pub suffix: Vec<u8>,
}

/// How the name of a backup is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackupControl {
    /// The suffix is added; an older backup is lost.
    Simple,
    /// `.~1~` is added, or the first number above those that are there.
    Numbered,
    /// Numbered where there are numbered ones, simple otherwise.
    Existing,
}

/// A program that gets the contents of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The command, for the shell.
    pub line: Vec<u8>,
    /// Its exit status does not matter.
    pub ignore_status: bool,
    /// The archive's name as the user gave it, which the command is told.
    pub archive: Vec<u8>,
}

/// Which extended attributes are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XattrSelection {
    /// Only those that match one of these; when empty those of the `user` namespace, as GNU tar.
    pub include: Vec<Pattern>,
    /// Not those that match one of these.
    pub exclude: Vec<Pattern>,
}

/// What to do about a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Existing {
    /// Remove it and make the new one (GNU tar's default).
    Replace,
    /// Remove it before trying (`-U` of GNU tar, `-remove-first` of star).
    RemoveFirst,
    /// Write into it, keeping its inode (`--overwrite`).
    Overwrite,
    /// Keep it and complain (`-k` of GNU tar).
    KeepComplain,
    /// Keep it without a word (`--skip-old-files`, `-k` of star).
    KeepSilently,
    /// Keep it, with a note, unless the member is newer (star's default, `--keep-newer-files`).
    KeepNotOlder {
        /// The rule also holds for directories (star without `-xdir`).
        directories: bool,
        /// It does not hold for a first member that is `.` or `./` (star's `-xdot`).
        except_dot: bool,
    },
}

/// What to do about the metadata of directories that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExistingDirectories {
    /// Set owner, mode and times as the archive has them (default).
    Restore,
    /// Leave them as they are (`--no-overwrite-dir`).
    Keep,
    /// Leave those as they are that have something in them, and make empty ones anew (GNU tar's `--keep-newer-files`).
    KeepFull,
    /// Remove them first like files; for one that has something in it that is a failure (GNU tar's `-U`).
    Remove,
}

/// When writes are forced to stable storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durability {
    /// The mode.
    pub mode: DurabilityMode,
    /// Mode group: members in a window.
    pub window_members: usize,
    /// Mode group: bytes of contents in a window.
    pub window_bytes: u64,
    /// How windows and batches are settled.
    pub method: SyncMethod,
    /// Whether the observer wants the name of each settled member; without it names are not kept.
    pub report_settled: bool,
    /// Whether what a barrier has made stable is read back from the device before it counts as settled (modes each and
    /// group).
    pub verify: bool,
}

/// When writes are forced to stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DurabilityMode {
    /// fsync(2) of every file, then of every directory.
    Each,
    /// Windows of members made stable by one syncfs(2).
    Group,
    /// One syncfs(2) at the end.
    Batch,
    /// Nothing is forced and nothing is promised.
    None,
}

impl DurabilityMode {
    /// The word for it: `each`, `group`, `batch`, `none`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Group => "group",
            Self::Batch => "batch",
            Self::None => "none",
        }
    }
}

/// How windows and batches are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncMethod {
    /// syncfs(2) where it is a promise, otherwise fsync(2) of each file.
    Auto,
    /// fsync(2) of each file and directory everywhere: does not wait for other programs' data.
    Fsync,
}
