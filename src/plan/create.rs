//! How an archive is written: the part of a plan that only writing needs.

use crate::member::Timestamp;

/// A format to write, named after the program whose way of writing it is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArchiveFormat {
    /// GNU tar's `v7`: the seventh edition's header with typeflags for links and directories.
    V7,
    /// GNU tar's `oldgnu`: as `gnu`, with a NUL after each name.
    OldGnu,
    /// GNU tar's own format and default.
    Gnu,
    /// GNU tar's `ustar`: POSIX.1-1988.
    Ustar,
    /// GNU tar's `posix` (`pax`): ustar with extended headers for what does not fit, and for times.
    Posix,
    /// star's `v7tar`: regular files and hard links only.
    StarV7,
    /// star's `tar`: v7 with directories and symbolic links.
    StarTar,
    /// star's format of 1985.
    Star,
    /// star's `gnutar`.
    StarGnu,
    /// star's `ustar`.
    StarUstar,
    /// star's `pax`: extended headers where they are needed.
    Pax,
    /// star's `epax`: extended headers for every member.
    Epax,
    /// star's `xstar`: ustar with access and status change times, and star's mark at the end.
    Xstar,
    /// star's `xustar`: xstar without the mark, with extended headers where they are needed.
    Xustar,
    /// star's `exustar`: extended headers for every member.
    Exustar,
    /// star's `suntar`: Solaris tar's extended headers (typeflag `X`).
    Suntar,
}

/// What `--pax-option` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaxOptions {
    /// Keywords that match one of these shell patterns are not written.
    pub delete: Vec<Vec<u8>>,
    /// Records of a global header at the archive's beginning (`keyword=value`).
    pub global: Vec<(Vec<u8>, Vec<u8>)>,
    /// Records of every member's extended header (`keyword:=value`), in place of its own.
    pub each: Vec<(Vec<u8>, Vec<u8>)>,
    /// The name of extended headers: `%d` directory, `%f` file, `%p` process, `%%` percent.
    pub header_name: Option<Vec<u8>>,
    /// The name of global headers: `%n` their number, `%p` process, `%%` percent.
    pub global_name: Option<Vec<u8>>,
    /// The modification time of extended headers; that of the member otherwise.
    pub header_time: Option<i64>,
    /// The modification time of global headers; now otherwise.
    pub global_time: Option<i64>,
}

/// How a map of holes is written in pax archives (GNU tar's manual, "Storing Sparse Files").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SparseVersion {
    /// `GNU.sparse.offset` and `GNU.sparse.numbytes` in turn.
    V0_0,
    /// `GNU.sparse.map`.
    V0_1,
    /// Before the data.
    #[default]
    V1_0,
}

/// How holes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holes {
    /// Files are stored as they read.
    Ignore,
    /// The file system is asked (`SEEK_HOLE`); where it knows of none in a file that takes less room than it is long,
    /// blocks of zeros are holes.
    Ask,
    /// Blocks of zeros are holes.
    Zeros,
}

/// The order of a directory's entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    /// As the file system gives them.
    #[default]
    None,
    /// By their bytes.
    Name,
    /// By inode number, which is often the order on disk.
    Inode,
}

/// A directory that holds a certain file is left out, in part or whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The file's name.
    pub name: Vec<u8>,
    /// It has to begin with the signature of cache directories (<https://bford.info/cachedir/>).
    pub cache: bool,
    /// How much is left out.
    pub extent: TagExtent,
}

/// How much of a tagged directory is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagExtent {
    /// What is in it, but for the tag.
    Contents,
    /// All that is in it.
    Under,
    /// It and all that is in it.
    All,
}

/// A file with patterns of names that are not to be archived, found on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreFile {
    /// Its name.
    pub name: Vec<u8>,
    /// Whether it holds for directories below too.
    pub recursive: bool,
    /// Whose syntax it has.
    pub syntax: IgnoreSyntax,
}

/// The syntax of an ignore file, as far as it is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IgnoreSyntax {
    /// A pattern a line, as `--exclude`.
    Plain,
    /// CVS: patterns separated by blanks.
    Cvs,
    /// Git and Bazaar: comments begin with `#`.
    Git,
    /// Mercurial: `syntax: glob` and `syntax: regexp` switch; regular expressions are passed over.
    Mercurial,
}

/// A name and number to give out as owner or group. A part that is `None` is looked up by the other one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: Option<Vec<u8>>,
    /// The number.
    pub id: Option<u64>,
}

/// One line of an owner or group map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The number on disk.
    pub from: u32,
    /// What stands for it in the archive.
    pub to: Identity,
}

/// A change to modes, one clause of chmod(1)'s symbolic form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModeChange {
    /// The bits that may change.
    pub affected: u32,
    /// What is done.
    pub operator: ModeOperator,
    /// The bits themselves.
    pub bits: ModeBits,
}

/// What a mode change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModeOperator {
    /// `+`
    Add,
    /// `-`
    Remove,
    /// `=`
    Set,
}

/// The bits of a mode change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModeBits {
    /// These.
    Fixed(u32),
    /// These; execution (`X`) only for directories and for what somebody may execute.
    WithX(u32),
    /// Those of the owner (0), the group (1) or others (2).
    CopyOf(u8),
}

/// Which modification time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mtime {
    /// The file's.
    OfFile,
    /// This one.
    Fixed(Timestamp),
    /// The file's, but none later than this one (`--clamp-mtime`).
    AtMost(Timestamp),
}

/// What is done about access times, which reading changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AccessTimes {
    /// Nothing.
    #[default]
    Leave,
    /// Files are opened so that they do not change (`O_NOATIME`).
    NotTouched,
    /// They are set back.
    SetBack,
}

/// The level of compression and who does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Effort {
    /// The format's own number; `None` for its program's default.
    pub level: Option<u32>,
}

/// How an archive is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Create {
    /// The format.
    pub format: ArchiveFormat,
    /// What pax headers hold.
    pub pax: PaxOptions,
    /// How maps of holes are written in pax archives.
    pub sparse_version: SparseVersion,
    /// How holes are found.
    pub holes: Holes,
    /// Store what symbolic links point to (`-h`).
    pub dereference: bool,
    /// Store every name of a file with its contents (`--hard-dereference`).
    pub hard_dereference: bool,
    /// Do not enter other file systems.
    pub one_file_system: bool,
    /// The order of a directory's entries.
    pub sort: Sort,
    /// Directories that are left out for what they hold.
    pub tags: Vec<Tag>,
    /// Files that say what is left out.
    pub ignore_files: Vec<IgnoreFile>,
    /// Owner of all members.
    pub owner: Option<Identity>,
    /// Group of all members.
    pub group: Option<Identity>,
    /// Owners by what they are on disk; these come before `owner`.
    pub owner_map: Vec<Mapped>,
    /// Groups by what they are on disk; these come before `group`.
    pub group_map: Vec<Mapped>,
    /// Changes to modes, in order.
    pub mode: Vec<ModeChange>,
    /// Modification times.
    pub mtime: Mtime,
    /// What is done about access times.
    pub access_times: AccessTimes,
    /// A label at the archive's beginning (`-V`).
    pub label: Option<Vec<u8>>,
    /// Remove files once they are archived.
    pub remove_files: bool,
    /// An unreadable file does not make the run fail.
    pub ignore_failed_read: bool,
    /// Complain about hard links whose other names are not all archived (`-l`).
    pub check_links: bool,
    /// How hard to compress.
    pub effort: Effort,
    /// Leave `./` off the front of names (star).
    pub skip_dot: bool,
    /// The process's number, for `%p` in names of headers.
    pub process: u32,
}

impl Default for Create {
    /// GNU tar's defaults.
    fn default() -> Self {
        Self {
            format: ArchiveFormat::Gnu,
            pax: PaxOptions::default(),
            sparse_version: SparseVersion::default(),
            holes: Holes::Ignore,
            dereference: false,
            hard_dereference: false,
            one_file_system: false,
            sort: Sort::None,
            tags: Vec::new(),
            ignore_files: Vec::new(),
            owner: None,
            group: None,
            owner_map: Vec::new(),
            group_map: Vec::new(),
            mode: Vec::new(),
            mtime: Mtime::OfFile,
            access_times: AccessTimes::Leave,
            label: None,
            remove_files: false,
            ignore_failed_read: false,
            check_links: false,
            effort: Effort::default(),
            skip_dot: false,
            process: 0,
        }
    }
}
