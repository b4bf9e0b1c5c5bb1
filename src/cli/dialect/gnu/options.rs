//! GNU tar's options. Rows stand in the order of its `--help`, in which it lists the possibilities of an ambiguous
//! abbreviation (within an option its synonyms go together here).

use std::num::NonZeroU64;

use durastar::plan::create::{AccessTimes, ArchiveFormat, Holes, Sort, SparseVersion, TagExtent};
use durastar::plan::{
    Compression, CompressionFormat, Existing, ExistingDirectories, RECORD_BYTES, Seek, Told,
    VolumeScript,
};
use durastar::select::names;
use durastar::sys::signal;

use crate::cli::idmap::Whose;
use crate::cli::making::{self, Making};
use crate::cli::number;
use crate::cli::option::Category::{
    Archive, Attributes, Matching as Patterns, Operation, Other, Output, Overwriting, Selection,
};
use crate::cli::option::{Bad, OptionDef, Value, flag, optional, refused, valued};
use crate::cli::setting::{Matching, Page, Quoting, Setting};

/// Said of every option that is about making archives.
const READS_ONLY: &str = "durastar does not do this yet";

/// The rows.
pub(crate) static OPTIONS: &[OptionDef] = &[
    flag(
        Operation,
        "A",
        &["catenate", "concatenate"],
        "append the members of other archives",
        || Setting::Join,
    ),
    flag(Operation, "c", &["create"], "write a new archive", || {
        Setting::Create
    })
    .more(
        "In the durable modes it is written under another name beside the one \
         that is meant, synced and renamed, so there is the old archive or a \
         whole new one. With --sync=none it is written in place.",
    ),
    flag(
        Operation,
        "",
        &["delete"],
        "take members out of an archive",
        || Setting::Delete,
    )
    .more("What stays is copied to a new file that takes the archive's place once it is whole."),
    flag(
        Operation,
        "d",
        &["diff", "compare"],
        "compare members with what is on disk",
        || Setting::Compare,
    )
    .more("Says how they differ, and ends with 1 where something does."),
    flag(
        Operation,
        "r",
        &["append"],
        "append members to an archive",
        || Setting::Append,
    )
    .more("It is written in place. When the run fails it is what it was before."),
    refused(Operation, "", &["test-label"], Value::None, READS_ONLY),
    flag(
        Operation,
        "t",
        &["list"],
        "list the members of an archive",
        || Setting::List,
    )
    .more("With -v a line with mode, owner, size and time for each."),
    flag(
        Operation,
        "u",
        &["update"],
        "append files that the archive does not have, or has older",
        || Setting::Update,
    ),
    flag(
        Operation,
        "x",
        &["extract", "get"],
        "restore members from an archive",
        || Setting::Extract,
    ),
    // Operation modifiers.
    refused(Selection, "", &["check-device"], Value::None, READS_ONLY),
    refused(
        Selection,
        "g",
        &["listed-incremental"],
        Value::Required("FILE"),
        "incremental archives are extracted like any other, nothing is removed",
    ),
    refused(
        Selection,
        "G",
        &["incremental"],
        Value::None,
        "incremental archives are extracted like any other, nothing is removed",
    ),
    valued(
        Archive,
        "",
        &["hole-detection"],
        "TYPE",
        "how -S finds holes: seek or raw",
        |word| match word {
            b"seek" => Ok(Setting::Making(Making::HoleDetection(Holes::Ask))),
            b"raw" => Ok(Setting::Making(Making::HoleDetection(Holes::Zeros))),
            _ => Err(Bad::OneOf(&["raw", "seek"])),
        },
    )
    .more(
        "seek asks the file system, and looks for zeros where it knows of no \
         holes in a file that takes less room than it is long; raw looks for \
         zeros in all such files. Implies -S.",
    ),
    flag(
        Selection,
        "",
        &["ignore-failed-read"],
        "a file that cannot be read does not make the run fail",
        || Setting::Making(Making::IgnoreFailedRead),
    ),
    refused(
        Selection,
        "",
        &["level"],
        Value::Required("NUMBER"),
        READS_ONLY,
    ),
    refused(Selection, "", &["no-check-device"], Value::None, READS_ONLY),
    flag(
        Archive,
        "",
        &["no-seek"],
        "never skip data by seeking in the archive",
        || Setting::Seek(Seek::Never),
    ),
    flag(
        Archive,
        "n",
        &["seek"],
        "skip data that nobody wants by seeking",
        || Setting::Seek(Seek::Always),
    )
    .more("Without either, that is done when listing a plain file."),
    optional(
        Selection,
        &["occurrence"],
        "NUMBER",
        "of each name that is asked for only the NUMBERth member (1)",
        |word| match word {
            None => Ok(Setting::Occurrence(Some(NonZeroU64::MIN))),
            Some(word) => number::plain(word)
                .map(|number| Setting::Occurrence(NonZeroU64::new(number)))
                .ok_or_else(|| {
                    let word = word.escape_ascii();
                    Bad::Fatal(format!("{word}: Invalid number"))
                }),
        },
    )
    .more("Reading ends once all of them have been found."),
    valued(
        Archive,
        "",
        &["sparse-version"],
        "MAJOR[.MINOR]",
        "the version of maps of holes in posix archives: 0.0, 0.1 or 1.0",
        |word| match word {
            b"0.0" | b"0" => Ok(Setting::Making(Making::SparseVersion(SparseVersion::V0_0))),
            b"0.1" => Ok(Setting::Making(Making::SparseVersion(SparseVersion::V0_1))),
            b"1.0" | b"1" => Ok(Setting::Making(Making::SparseVersion(SparseVersion::V1_0))),
            _ => Err(Bad::Value("Invalid sparse version value")),
        },
    )
    .more("Implies -S."),
    flag(
        Archive,
        "S",
        &["sparse"],
        "store holes of files as such; make holes of zeros in files that are \
         extracted",
        || Setting::MakeHoles,
    )
    .more("Holes that the archive knows of are restored always."),
    // Which files.
    valued(
        Selection,
        "",
        &["add-file"],
        "MEMBER",
        "a member by name, also one that begins with a dash",
        |name| Ok(Setting::Member(name.to_vec())),
    ),
    valued(
        Selection,
        "C",
        &["directory"],
        "DIR",
        "names after this are relative to DIR",
        |name| Ok(Setting::Directory(name.to_vec())),
    )
    .more("A further -C starts from the one before it."),
    valued(
        Selection,
        "",
        &["exclude"],
        "PATTERN",
        "leave out members that match PATTERN",
        |text| Ok(Setting::Exclude(text.to_vec())),
    ),
    flag(
        Selection,
        "",
        &["exclude-backups"],
        "leave out backup and lock files",
        || Setting::ExcludeAll(BACKUPS),
    ),
    flag(
        Selection,
        "",
        &["exclude-caches"],
        "of cache directories store only the directory and its tag",
        || Setting::Making(making::cache_tag(TagExtent::Contents)),
    )
    .more(
        "A cache directory holds a CACHEDIR.TAG with a signature \
         (https://bford.info/cachedir/).",
    ),
    flag(
        Selection,
        "",
        &["exclude-caches-all"],
        "leave cache directories out",
        || Setting::Making(making::cache_tag(TagExtent::All)),
    ),
    flag(
        Selection,
        "",
        &["exclude-caches-under"],
        "of cache directories store only the directory",
        || Setting::Making(making::cache_tag(TagExtent::Under)),
    ),
    valued(
        Selection,
        "",
        &["exclude-ignore"],
        "FILE",
        "leave out what patterns in FILE of a directory match there",
        |name| Ok(Setting::Making(making::ignore_file(name, false))),
    ),
    valued(
        Selection,
        "",
        &["exclude-ignore-recursive"],
        "FILE",
        "the same, for directories below too",
        |name| Ok(Setting::Making(making::ignore_file(name, true))),
    ),
    valued(
        Selection,
        "",
        &["exclude-tag"],
        "FILE",
        "of directories with FILE store only the directory and FILE",
        |name| Ok(Setting::Making(making::tag(name, TagExtent::Contents))),
    ),
    valued(
        Selection,
        "",
        &["exclude-tag-all"],
        "FILE",
        "leave out directories with FILE",
        |name| Ok(Setting::Making(making::tag(name, TagExtent::All))),
    ),
    valued(
        Selection,
        "",
        &["exclude-tag-under"],
        "FILE",
        "of directories with FILE store only the directory",
        |name| Ok(Setting::Making(making::tag(name, TagExtent::Under))),
    ),
    flag(
        Selection,
        "",
        &["exclude-vcs"],
        "leave out files and directories of version control systems",
        || Setting::ExcludeAll(VERSION_CONTROL),
    ),
    flag(
        Selection,
        "",
        &["exclude-vcs-ignores"],
        "leave out what .cvsignore, .gitignore, .bzrignore and .hgignore name",
        || Setting::Making(making::version_control_ignores()),
    )
    .more(
        "Patterns that take others back (!) and regular expressions in \
         .hgignore are passed over.",
    ),
    flag(Selection, "", &["no-null"], "undo --null", || {
        Setting::NulSeparated(false)
    }),
    flag(
        Selection,
        "",
        &["no-recursion"],
        "names after this stand only for themselves",
        || Setting::Matching(Matching::Recursive(false)),
    ),
    flag(
        Selection,
        "",
        &["no-unquote"],
        "take names in lists after this as they are",
        || Setting::Unquote(false),
    ),
    flag(
        Selection,
        "",
        &["no-verbatim-files-from"],
        "a line with a dash in a list is an option (default)",
        || Setting::Verbatim(false),
    )
    .more("Only -C is supported there."),
    flag(
        Selection,
        "",
        &["null"],
        "names in lists after this, and in the settled log, end in NUL",
        || Setting::NulSeparated(true),
    ),
    flag(
        Selection,
        "",
        &["recursion"],
        "a directory's name stands for what is below it (default)",
        || Setting::Matching(Matching::Recursive(true)),
    ),
    valued(
        Selection,
        "T",
        &["files-from"],
        "FILE",
        "the members whose names are in FILE; - is standard input",
        |name| Ok(Setting::MembersFrom(name.to_vec())),
    ),
    flag(
        Selection,
        "",
        &["unquote"],
        "undo backslash escapes in lists (default)",
        || Setting::Unquote(true),
    ),
    flag(
        Selection,
        "",
        &["verbatim-files-from"],
        "a line with a dash in a list is a name",
        || Setting::Verbatim(true),
    ),
    valued(
        Selection,
        "X",
        &["exclude-from"],
        "FILE",
        "leave out members that match a pattern in FILE",
        |name| Ok(Setting::ExcludeFrom(name.to_vec())),
    ),
    // Matching.
    flag(
        Patterns,
        "",
        &["anchored"],
        "match from the beginning of the name",
        || Setting::Matching(Matching::Anchored(true)),
    ),
    flag(
        Patterns,
        "",
        &["ignore-case"],
        "upper and lower case are the same",
        || Setting::Matching(Matching::IgnoreCase(true)),
    ),
    flag(
        Patterns,
        "",
        &["no-anchored"],
        "match after any slash (default for excludes)",
        || Setting::Matching(Matching::Anchored(false)),
    ),
    flag(
        Patterns,
        "",
        &["no-ignore-case"],
        "case matters (default)",
        || Setting::Matching(Matching::IgnoreCase(false)),
    ),
    flag(
        Patterns,
        "",
        &["no-wildcards"],
        "nothing is special in patterns",
        || Setting::Matching(Matching::Wildcards(false)),
    ),
    flag(
        Patterns,
        "",
        &["no-wildcards-match-slash"],
        "wildcards do not match a slash",
        || Setting::Matching(Matching::MatchSlash(false)),
    ),
    flag(
        Patterns,
        "",
        &["wildcards"],
        "* ? and [...] are special (default for excludes)",
        || Setting::Matching(Matching::Wildcards(true)),
    ),
    flag(
        Patterns,
        "",
        &["wildcards-match-slash"],
        "wildcards match a slash (default)",
        || Setting::Matching(Matching::MatchSlash(true)),
    ),
    // Overwriting.
    flag(
        Overwriting,
        "",
        &["keep-directory-symlink"],
        "a symbolic link to a directory may stand for one",
        || Setting::KeepDirectorySymlink,
    ),
    flag(
        Overwriting,
        "",
        &["keep-newer-files"],
        "keep files that are as new as the member or newer",
        || {
            Setting::Existing(Existing::KeepNotOlder {
                directories: false,
                except_dot: false,
            })
        },
    ),
    flag(
        Overwriting,
        "k",
        &["keep-old-files"],
        "keep files that are there; each counts as an error",
        || Setting::Existing(Existing::KeepComplain),
    ),
    flag(
        Overwriting,
        "",
        &["no-overwrite-dir"],
        "leave the metadata of directories that are there alone",
        || Setting::ExistingDirectories(ExistingDirectories::Keep),
    ),
    optional(
        Selection,
        &["one-top-level"],
        "DIR",
        "put everything below DIR, a directory that is made for it",
        one_top_level,
    )
    .more(
        "Names that begin with DIR already stay as they are. Without DIR it is \
         the archive's name without what says that it is one: .tar, .tgz, \
         .tar.xz and so on.",
    ),
    flag(
        Overwriting,
        "",
        &["overwrite"],
        "write into files that are there, they stay the same inode",
        || Setting::Existing(Existing::Overwrite),
    ),
    flag(
        Overwriting,
        "",
        &["overwrite-dir"],
        "set the metadata of directories that are there (default)",
        || Setting::ExistingDirectories(ExistingDirectories::Restore),
    ),
    flag(
        Overwriting,
        "",
        &["recursive-unlink"],
        "remove what is there before anything else, full directories too",
        || Setting::RemoveRecursively,
    )
    .more(
        "It goes for directories of the archive as well: what is in those that \
         are there and not in the archive is lost. The directory that is \
         extracted into is not emptied (GNU tar does that too, for a member \
         ./), and nothing on other file systems is removed. Wins over all other \
         options about files that are there.",
    ),
    flag(
        Overwriting,
        "",
        &["remove-files"],
        "remove files once they are archived",
        || Setting::Making(Making::RemoveFiles),
    )
    .more(
        "Not before the whole archive is written, and stable in the durable \
         modes. Files that changed while they were read stay.",
    ),
    flag(
        Overwriting,
        "",
        &["skip-old-files"],
        "keep files that are there",
        || Setting::Existing(Existing::KeepSilently),
    ),
    flag(
        Overwriting,
        "U",
        &["unlink-first"],
        "remove a file that is there before anything else",
        || Setting::Existing(Existing::RemoveFirst),
    ),
    refused(Overwriting, "W", &["verify"], Value::None, READS_ONLY),
    // Output stream.
    flag(
        Output,
        "",
        &["ignore-command-error"],
        "the exit status of --to-command's program does not matter",
        || Setting::IgnoreStatus(true),
    ),
    flag(
        Output,
        "",
        &["no-ignore-command-error"],
        "a status other than 0 of that program is a failure (default)",
        || Setting::IgnoreStatus(false),
    ),
    flag(
        Output,
        "O",
        &["to-stdout"],
        "write the contents of files to standard output",
        || Setting::ToOutput,
    )
    .more("What -v prints then goes to standard error."),
    valued(
        Output,
        "",
        &["to-command"],
        "COMMAND",
        "give the contents of each regular file to COMMAND",
        |line| Ok(Setting::ToCommand(line.to_vec())),
    )
    .more(
        "The shell /bin/sh runs COMMAND once for each, with the contents as its standard input and what is known of the \
         member in the environment: TAR_FILENAME and TAR_REALNAME (the name after renaming), TAR_FILETYPE (f), TAR_MODE \
         (octal), TAR_SIZE (bytes), TAR_MTIME, TAR_ATIME and TAR_CTIME (seconds since 1970, with decimals), TAR_UID, \
         TAR_GID, TAR_UNAME, TAR_GNAME, TAR_ARCHIVE, TAR_FORMAT (v7, ustar, gnu, posix or star), TAR_VOLUME, \
         TAR_BLOCKING_FACTOR and TAR_VERSION (durastar's). Nothing else is restored. -O wins over it.",
    ),
    // Attributes.
    optional(
        Attributes,
        &["atime-preserve"],
        "METHOD",
        "keep access times: replace or system",
        |word| match word {
            None | Some(b"replace") => {
                Ok(Setting::Making(Making::AccessTimes(AccessTimes::SetBack)))
            }
            Some(b"system") => Ok(Setting::Making(Making::AccessTimes(
                AccessTimes::NotTouched,
            ))),
            _ => Err(Bad::OneOf(&["replace", "system"])),
        },
    )
    .more(
        "system opens files so that reading leaves no trace, where one owns \
         them; replace sets times back.",
    ),
    flag(
        Attributes,
        "",
        &["clamp-mtime"],
        "with --mtime, only for files that are newer",
        || Setting::Making(Making::ClampMtime),
    ),
    flag(
        Attributes,
        "",
        &["delay-directory-restore"],
        "accepted: directories always get mode and times at the end",
        || Setting::Always,
    ),
    valued(
        Attributes,
        "",
        &["group"],
        "NAME",
        "the group of all members: NAME, NAME:NUMBER or NUMBER",
        |text| Ok(Setting::Making(Making::Group(text.to_vec()))),
    ),
    valued(
        Attributes,
        "",
        &["group-map"],
        "FILE",
        "groups become others, as FILE says",
        |name| Ok(Setting::IdMap(Whose::Group, name.to_vec())),
    )
    .more("As --owner-map, for groups."),
    valued(
        Attributes,
        "",
        &["mode"],
        "CHANGES",
        "change the modes of members as chmod does",
        |text| Ok(Setting::Making(Making::Mode(text.to_vec()))),
    ),
    valued(
        Attributes,
        "",
        &["mtime"],
        "DATE-OR-FILE",
        "the modification time of all members",
        |text| Ok(Setting::Making(Making::Mtime(text.to_vec()))),
    ),
    flag(
        Attributes,
        "m",
        &["touch"],
        "do not restore modification times",
        || Setting::NoTimes,
    ),
    flag(
        Attributes,
        "",
        &["no-delay-directory-restore"],
        "accepted: directories always get mode and times at the end",
        || Setting::Always,
    ),
    flag(
        Attributes,
        "",
        &["no-same-owner"],
        "files belong to the caller (default for ordinary users)",
        || Setting::SameOwner(false),
    ),
    flag(
        Attributes,
        "",
        &["no-same-permissions"],
        "the umask applies to modes (default for ordinary users)",
        || Setting::SamePermissions(false),
    ),
    flag(
        Attributes,
        "",
        &["numeric-owner"],
        "owners by number, never by name",
        || Setting::NumericOwner,
    ),
    valued(
        Attributes,
        "",
        &["owner"],
        "NAME",
        "the owner of all members: NAME, NAME:NUMBER or NUMBER",
        |text| Ok(Setting::Making(Making::Owner(text.to_vec()))),
    ),
    valued(
        Attributes,
        "",
        &["owner-map"],
        "FILE",
        "owners become others, as FILE says",
        |name| Ok(Setting::IdMap(Whose::Owner, name.to_vec())),
    )
    .more(
        "A line of FILE is OLD NEW; OLD is a name or +NUMBER, NEW a name, +NUMBER or NAME:NUMBER; # begins a comment. Names \
         have to be known to the system. On extraction it holds for the number that a member would get otherwise, \
         which is its name's where the system knows that; GNU tar does nothing with it there. Listings stay as they are.",
    ),
    flag(
        Attributes,
        "p",
        &["preserve-permissions", "same-permissions"],
        "set modes as the archive has them (default for the superuser)",
        || Setting::SamePermissions(true),
    ),
    flag(
        Attributes,
        "",
        &["same-owner"],
        "set owner and group (default for the superuser)",
        || Setting::SameOwner(true),
    ),
    valued(
        Attributes,
        "",
        &["sort"],
        "ORDER",
        "the order of a directory's entries: none, name or inode",
        |word| match word {
            b"none" => Ok(Setting::Making(Making::Sort(Sort::None))),
            b"name" => Ok(Setting::Making(Making::Sort(Sort::Name))),
            b"inode" => Ok(Setting::Making(Making::Sort(Sort::Inode))),
            _ => Err(Bad::OneOf(&["none", "name", "inode"])),
        },
    ),
    flag(
        Selection,
        "s",
        &["preserve-order", "same-order"],
        "accepted: the archive is read once, in its order",
        || Setting::Always,
    ),
    flag(
        Attributes,
        "",
        &["acls"],
        "store or set access control lists",
        || Setting::Acls(true),
    ),
    flag(
        Attributes,
        "",
        &["no-acls"],
        "leave access control lists alone (default)",
        || Setting::Acls(false),
    ),
    flag(
        Attributes,
        "",
        &["no-selinux"],
        "leave SELinux contexts alone (default)",
        || Setting::Selinux(false),
    ),
    flag(
        Attributes,
        "",
        &["no-xattrs"],
        "leave extended attributes alone (default)",
        || Setting::Xattrs(false),
    ),
    flag(
        Attributes,
        "",
        &["selinux"],
        "store or set SELinux contexts",
        || Setting::Selinux(true),
    ),
    flag(
        Attributes,
        "",
        &["xattrs"],
        "store or set extended attributes",
        || Setting::Xattrs(true),
    )
    .more(
        "When writing all of them, and in posix format unless --format says \
         otherwise; when extracting those of the user namespace, unless \
         --xattrs-include asks for others.",
    ),
    valued(
        Attributes,
        "",
        &["xattrs-exclude"],
        "MASK",
        "no extended attributes that match MASK",
        |mask| Ok(Setting::XattrsExclude(mask.to_vec())),
    ),
    valued(
        Attributes,
        "",
        &["xattrs-include"],
        "MASK",
        "only extended attributes that match MASK",
        |mask| Ok(Setting::XattrsInclude(mask.to_vec())),
    )
    .more("Both imply --xattrs and may be given several times."),
    // Devices.
    flag(
        Archive,
        "",
        &["force-local"],
        "accepted: archives are always local files",
        || Setting::Always,
    ),
    valued(
        Archive,
        "f",
        &["file"],
        "ARCHIVE",
        "the archive; - is standard input or output",
        |name| Ok(Setting::Archive(name.to_vec())),
    )
    .more(
        "Without it the archive is what TAPE names, or standard input or \
         output.",
    ),
    valued(
        Archive,
        "F",
        &["info-script", "new-volume-script"],
        "COMMAND",
        "run COMMAND when the next volume is needed; implies -M",
        |command| {
            Ok(Setting::VolumeScript(VolumeScript {
                command: command.to_vec(),
                told: Told::Environment,
            }))
        },
    )
    .more(
        "A shell runs it. TAR_VOLUME is the number of the volume that is wanted \
         and TAR_ARCHIVE its name; a name that is written to the file \
         descriptor TAR_FD is opened instead. TAR_BLOCKING_FACTOR, \
         TAR_SUBCOMMAND (-t or -x), TAR_FORMAT and TAR_VERSION are set too. A \
         status other than 0 ends the run.",
    ),
    refused(
        Archive,
        "L",
        &["tape-length"],
        Value::Required("NUMBER"),
        READS_ONLY,
    ),
    flag(
        Archive,
        "M",
        &["multi-volume"],
        "the archive goes on from one volume to the next",
        || Setting::MultiVolume,
    )
    .more(
        "Several -f name the volumes in their order. After the last one the \
         next is asked for, on standard error; an empty line or y says that it \
         is ready, n NAME that it is the file NAME, q ends the run. A volume \
         that does not go on with the member that is not complete is refused, \
         and the next one asked for. Volumes are not compressed.",
    ),
    refused(
        Archive,
        "",
        &["rmt-command"],
        Value::Required("COMMAND"),
        "archives are local files",
    ),
    refused(
        Archive,
        "",
        &["rsh-command"],
        Value::Required("COMMAND"),
        "archives are local files",
    ),
    valued(
        Archive,
        "",
        &["volno-file"],
        "FILE",
        "with -M, FILE keeps the number of the volume",
        |name| Ok(Setting::VolumeNumberFile(name.to_vec())),
    ),
    // Blocking.
    valued(
        Archive,
        "b",
        &["blocking-factor"],
        "BLOCKS",
        "a record is BLOCKS times 512 bytes (20)",
        |word| {
            number::plain(word)
                .and_then(|blocks| usize::try_from(blocks).ok()?.checked_mul(512))
                .filter(|&bytes| bytes > 0 && bytes <= RECORD_LIMIT)
                .map(Setting::RecordBytes)
                .ok_or(Bad::Value("Invalid blocking factor"))
        },
    ),
    flag(
        Archive,
        "B",
        &["read-full-records"],
        "accepted: short reads from pipes are always put together",
        || Setting::Always,
    ),
    flag(
        Archive,
        "i",
        &["ignore-zeros"],
        "go on after zero blocks, which end an archive otherwise",
        || Setting::IgnoreZeros,
    ),
    valued(
        Archive,
        "",
        &["record-size"],
        "SIZE",
        "a record is SIZE bytes, a multiple of 512 (10240)",
        record_size,
    ),
    // Formats.
    valued(
        Archive,
        "H",
        &["format"],
        "FORMAT",
        "the format to write: v7, oldgnu, gnu (default), ustar, posix or pax",
        |word| match word {
            b"v7" => Ok(Setting::Making(Making::Format(ArchiveFormat::V7))),
            b"oldgnu" => Ok(Setting::Making(Making::Format(ArchiveFormat::OldGnu))),
            b"gnu" => Ok(Setting::Making(Making::Format(ArchiveFormat::Gnu))),
            b"ustar" => Ok(Setting::Making(Making::Format(ArchiveFormat::Ustar))),
            b"posix" | b"pax" => Ok(Setting::Making(Making::Format(ArchiveFormat::Posix))),
            _ => Err(Bad::Usage(format!(
                "{}: Invalid archive format",
                word.escape_ascii()
            ))),
        },
    )
    .more("Formats are recognised when reading."),
    flag(
        Archive,
        "",
        &["old-archive", "portability"],
        "the same as --format=v7",
        || Setting::Making(Making::Format(ArchiveFormat::V7)),
    ),
    valued(
        Archive,
        "",
        &["pax-option"],
        "KEYWORDS",
        "what extended headers of posix archives hold",
        |text| Ok(Setting::Making(Making::PaxOption(text.to_vec()))),
    )
    .more(
        "Parts separated by commas: delete=PATTERN leaves keywords out, \
         KEYWORD=VALUE goes into a global header, KEYWORD:=VALUE into each \
         member's; exthdr.name=, exthdr.mtime=, globexthdr.name= and \
         globexthdr.mtime= say what the headers themselves are called and \
         dated. Implies --format=posix.",
    ),
    flag(
        Archive,
        "",
        &["posix"],
        "the same as --format=posix",
        || Setting::Making(Making::Format(ArchiveFormat::Posix)),
    ),
    valued(
        Archive,
        "V",
        &["label"],
        "TEXT",
        "label the archive",
        |text| Ok(Setting::Making(Making::Label(text.to_vec()))),
    ),
    // Compression.
    flag(
        Archive,
        "a",
        &["auto-compress"],
        "compress as the archive's name says",
        || Setting::Making(Making::CompressByName(true)),
    )
    .more(
        ".gz .tgz .taz .bz2 .tbz .tbz2 .tz2 .xz .txz .zst .tzst .lz4 .lz .lzma \
         .tlz .lzo .Z .taZ. When reading, compression is recognised.",
    ),
    valued(
        Archive,
        "I",
        &["use-compress-program"],
        "PROG",
        "compress with PROG, or decompress with PROG -d",
        |program| Ok(Setting::Compression(Compression::Program(program.to_vec()))),
    ),
    flag(
        Archive,
        "j",
        &["bzip2"],
        "the archive is compressed with bzip2",
        || named(CompressionFormat::Bzip2),
    )
    .more(
        "Compression is recognised; these options are needed only where it \
         should be enforced.",
    ),
    flag(
        Archive,
        "J",
        &["xz"],
        "the archive is compressed with xz",
        || named(CompressionFormat::Xz),
    ),
    flag(
        Archive,
        "",
        &["lz4"],
        "the archive is compressed with lz4",
        || named(CompressionFormat::Lz4),
    ),
    flag(
        Archive,
        "",
        &["lzip"],
        "the archive is compressed with lzip",
        || named(CompressionFormat::Lzip),
    ),
    flag(
        Archive,
        "",
        &["lzma"],
        "the archive is compressed with lzma",
        || named(CompressionFormat::Lzma),
    ),
    refused(Archive, "", &["lzop"], Value::None, "-I lzop"),
    flag(
        Archive,
        "",
        &["no-auto-compress"],
        "undo -a (default)",
        || Setting::Making(Making::CompressByName(false)),
    ),
    flag(
        Archive,
        "",
        &["zstd"],
        "the archive is compressed with zstd",
        || named(CompressionFormat::Zstd),
    ),
    flag(
        Archive,
        "z",
        &["gzip", "gunzip", "ungzip"],
        "the archive is compressed with gzip",
        || named(CompressionFormat::Gzip),
    ),
    flag(
        Archive,
        "Z",
        &["compress", "uncompress"],
        "the archive is compressed with compress",
        || named(CompressionFormat::Compress),
    ),
    // Local files.
    optional(
        Overwriting,
        &["backup"],
        "CONTROL",
        "keep what is in the way of a member under another name",
        |word| Ok(Setting::Backup(word.map(<[u8]>::to_vec))),
    )
    .more(
        "CONTROL is simple or never (a suffix is added), numbered or t (.~1~, .~2~ and so on are added), existing or nil \
         (numbered where there are numbered ones, simple otherwise), none or off. Without it the environment variable \
         VERSION_CONTROL decides, or else it is existing. Comes before all rules about files that are there; \
         directories are never renamed.",
    ),
    flag(
        Selection,
        "",
        &["hard-dereference"],
        "store every name of a file with its contents",
        || Setting::Making(Making::HardDereference),
    ),
    flag(
        Selection,
        "h",
        &["dereference"],
        "store what symbolic links point to",
        || Setting::Making(Making::Dereference),
    ),
    valued(
        Selection,
        "K",
        &["starting-file"],
        "MEMBER",
        "MEMBER, and of other names only members after it",
        |name| Ok(Setting::StartingAt(name.to_vec())),
    )
    .more("MEMBER itself counts as a name that is asked for, so without others it alone is restored, as with GNU tar 1.34."),
    valued(
        Selection,
        "",
        &["newer-mtime"],
        "DATE",
        "as --newer, but by the time of modification only",
        |text| Ok(Setting::Newer(text.to_vec(), "--newer-mtime")),
    ),
    valued(
        Selection,
        "N",
        &["newer", "after-date"],
        "DATE-OR-FILE",
        "only files that changed at that time or later",
        |text| Ok(Setting::Newer(text.to_vec(), "--after-date")),
    )
    .more(
        "When writing, a change of the inode counts too; archives do not tell \
         of it. A value that begins with / or . is a file whose time of \
         modification counts. Dates are @SECONDS, YYYY-MM-DD or 'YYYY-MM-DD \
         HH:MM:SS', in local time unless a zone like Z or +0200 follows, or as \
         in mails: '9 Sep 2001 01:46:40 +0000'. GNU tar knows more spellings, \
         such as yesterday.",
    ),
    flag(
        Selection,
        "",
        &["one-file-system"],
        "stay on the file system of each name",
        || Setting::Making(Making::OneFileSystem),
    ),
    flag(
        Selection,
        "P",
        &["absolute-names"],
        "keep leading slashes and members with .. in their names",
        || Setting::AbsoluteNames,
    )
    .more("An archive can then write anywhere."),
    valued(
        Overwriting,
        "",
        &["suffix"],
        "STRING",
        "what is added to the name of a simple backup (~); implies --backup",
        |suffix| Ok(Setting::BackupSuffix(suffix.to_vec())),
    )
    .more("The environment variable SIMPLE_BACKUP_SUFFIX sets the default."),
    // Renaming.
    valued(
        Selection,
        "",
        &["strip-components"],
        "NUMBER",
        "take NUMBER components off the front of names",
        |word| {
            number::plain(word)
                .and_then(|count| usize::try_from(count).ok())
                .map(Setting::StripComponents)
                .ok_or(Bad::Value("Invalid number of elements"))
        },
    )
    .more("Names with no more than that are left out."),
    valued(
        Selection,
        "",
        &["transform", "xform"],
        "EXPRESSION",
        "rename members by sed's s/REGEXP/REPLACEMENT/FLAGS",
        |text| Ok(Setting::Transform(text.to_vec())),
    )
    .more(
        "Flags are g, i, x (extended expressions) and a number; r, s and h \
         limit it to names, targets of symbolic links and of hard links, R, S \
         and H leave those alone. Several are joined by ; and flags=FLAGS; sets \
         what holds for those that follow. It comes before --strip-components.",
    ),
    // What is printed.
    optional(
        Output,
        &["checkpoint"],
        "NUMBER",
        "a message every NUMBER records (10)",
        |word| {
            let Some(word) = word else {
                return Ok(Setting::Checkpoint(10));
            };
            // GNU tar takes a negative number as none.
            match word.strip_prefix(b"-") {
                Some(digits) if number::plain(digits).is_some() => Ok(Setting::Checkpoint(0)),
                _ => number::plain(word)
                    .map(Setting::Checkpoint)
                    .ok_or_else(|| Bad::Fatal("--checkpoint value is not an integer".to_owned())),
            }
        },
    ),
    refused(
        Output,
        "",
        &["checkpoint-action"],
        Value::Required("ACTION"),
        "--checkpoint prints a message",
    ),
    flag(
        Output,
        "",
        &["full-time"],
        "times to their full resolution",
        || Setting::FullTime,
    ),
    refused(
        Output,
        "",
        &["index-file"],
        Value::Required("FILE"),
        "-v prints to standard output",
    ),
    flag(
        Output,
        "l",
        &["check-links"],
        "warn of files that have names which are not archived",
        || Setting::Making(Making::CheckLinks),
    ),
    valued(
        Output,
        "",
        &["no-quote-chars"],
        "STRING",
        "undo --quote-chars for the characters of STRING",
        |bytes| Ok(Setting::QuoteChars(bytes.to_vec(), false)),
    ),
    valued(
        Output,
        "",
        &["quote-chars"],
        "STRING",
        "quote the characters of STRING too",
        |bytes| Ok(Setting::QuoteChars(bytes.to_vec(), true)),
    ),
    valued(
        Output,
        "",
        &["quoting-style"],
        "STYLE",
        "how names are quoted in listings",
        |word| {
            QUOTING
                .iter()
                .find(|(name, _)| name.as_bytes() == word)
                .map(|&(_, style)| Setting::Quoting(style))
                .ok_or(match word {
                    b"shell-escape" | b"shell-escape-always" => {
                        Bad::Value("This quoting style is not supported yet")
                    }
                    _ => Bad::Style,
                })
        },
    )
    .more(
        "literal, shell, shell-always, c, c-maybe, escape (default), locale or \
         clocale.",
    ),
    flag(
        Output,
        "R",
        &["block-number"],
        "the block number before each name",
        || Setting::BlockNumber,
    ),
    refused(
        Output,
        "",
        &["show-defaults"],
        Value::None,
        "the manual has them",
    ),
    refused(Output, "", &["show-omitted-dirs"], Value::None, ""),
    refused(
        Output,
        "",
        &["show-snapshot-field-ranges"],
        Value::None,
        READS_ONLY,
    ),
    flag(
        Output,
        "",
        &["show-transformed-names", "show-stored-names"],
        "names as they are after --transform and --strip-components",
        || Setting::TransformedNames(true),
    ),
    optional(
        Output,
        &["totals"],
        "SIGNAL",
        "the number of bytes read or written, at the end or when SIGNAL arrives",
        |word| match word {
            None => Ok(Setting::Totals),
            Some(word) => SIGNALS
                .iter()
                .find(|(name, _)| name.as_bytes() == word.strip_prefix(b"SIG").unwrap_or(word))
                .map(|&(_, signal)| Setting::TotalsOn(signal))
                .ok_or_else(|| {
                    Bad::Fatal(format!(
                        "Unknown signal name: {}",
                        String::from_utf8_lossy(word)
                    ))
                }),
        },
    )
    .more("SIGNAL is HUP, QUIT, INT, USR1 or USR2, with or without SIG before it."),
    flag(Output, "", &["utc"], "times in UTC", || Setting::Utc),
    flag(
        Output,
        "v",
        &["verbose"],
        "print the name of each member; twice for more",
        || Setting::Verbose,
    ),
    valued(
        Output,
        "",
        &["warning"],
        "KEYWORD",
        "turn warnings of a kind on, or off with no- before it",
        warning,
    )
    .more("all, none, and the keywords of GNU tar."),
    flag(
        Output,
        "w",
        &["interactive", "confirmation"],
        "ask before each member is restored",
        || Setting::Ask,
    )
    .more(
        "An answer that begins with y means yes. Answers come from standard input, or from the terminal when the archive \
         comes from there. Listing asks nothing.",
    ),
    flag(
        Attributes,
        "o",
        &[],
        "the same as --no-same-owner; with -c as --format=v7",
        || Setting::SameOwner(false),
    ),
    flag(Other, "?", &["help"], "print the list of options", || {
        Setting::Page(Page::Help)
    }),
    flag(
        Other,
        "",
        &["restrict"],
        "accepted: no option starts programs that an archive could name",
        || Setting::Always,
    ),
    flag(Other, "", &["usage"], "print a short reminder", || {
        Setting::Page(Page::Usage)
    }),
    flag(Other, "", &["version"], "print the version", || {
        Setting::Page(Page::Version)
    }),
];

/// A record larger than this is a mistake: it is held in memory. GNU tar has no limit but its `int`.
const RECORD_LIMIT: usize = 1 << 30;

const _: () = assert!(RECORD_BYTES <= RECORD_LIMIT);

/// What `--exclude-backups` leaves out (GNU tar's manual).
const BACKUPS: &[&str] = &[".#*", "*~", "#*#"];

/// What `--exclude-vcs` leaves out (GNU tar's manual).
const VERSION_CONTROL: &[&str] = &[
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".svn",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    ".hgtags",
    "_darcs",
];

const QUOTING: &[(&str, Quoting)] = &[
    ("literal", Quoting::Literal),
    ("shell", Quoting::Shell),
    ("shell-always", Quoting::ShellAlways),
    ("c", Quoting::C),
    ("c-maybe", Quoting::CMaybe),
    ("escape", Quoting::Escape),
    ("locale", Quoting::Locale),
    ("clocale", Quoting::CLocale),
];

const SIGNALS: &[(&str, signal::Signal)] = &[
    ("HUP", signal::HANGUP),
    ("QUIT", signal::QUIT),
    ("INT", signal::INTERRUPT),
    ("USR1", signal::USER_1),
    ("USR2", signal::USER_2),
];

/// The keywords of `--warning`, in the order in which GNU tar 1.34 lists them.
pub(crate) const WARNINGS: &[&str] = &[
    "all",
    "alone-zero-block",
    "bad-dumpdir",
    "cachedir",
    "contiguous-cast",
    "file-changed",
    "file-ignored",
    "file-removed",
    "file-shrank",
    "file-unchanged",
    "filename-with-nuls",
    "ignore-archive",
    "ignore-newer",
    "new-directory",
    "rename-directory",
    "symlink-cast",
    "timestamp",
    "unknown-cast",
    "unknown-keyword",
    "xdev",
    "decompress-program",
    "existing-file",
    "xattr-write",
    "record-size",
    "failed-read",
];

/// The library puts things below a destination only, so the directory has to be below it too.
fn one_top_level(name: Option<&[u8]>) -> Result<Setting, Bad> {
    if let Some(name) = name
        && !names::is_safe(name)
    {
        return Err(Bad::Value(
            "The directory has to be relative and without '..'; make it and use -C",
        ));
    }
    let clean = |name| names::components(name).collect::<Vec<_>>().join(&b'/');
    Ok(Setting::OneTopLevel(name.map(clean)))
}

fn named(format: CompressionFormat) -> Setting {
    Setting::Compression(Compression::Named(format))
}

fn record_size(word: &[u8]) -> Result<Setting, Bad> {
    let bytes = number::size(word).ok_or(Bad::Value("Invalid record size"))?;
    match usize::try_from(bytes) {
        Ok(0) => Err(Bad::Fatal("Invalid value for record_size".to_owned())),
        Ok(bytes) if bytes > RECORD_LIMIT => Err(Bad::Value("Invalid record size")),
        Ok(bytes) if bytes % 512 != 0 => Err(Bad::Usage(
            "Record size must be a multiple of 512.".to_owned(),
        )),
        Ok(bytes) => Ok(Setting::RecordBytes(bytes)),
        Err(_) => Err(Bad::Value("Invalid record size")),
    }
}

fn warning(word: &[u8]) -> Result<Setting, Bad> {
    if word == b"none" {
        return Ok(Setting::Warning("all", false));
    }
    let (word, on) = match word.strip_prefix(b"no-") {
        Some(word) => (word, false),
        None => (word, true),
    };
    WARNINGS
        .iter()
        .find(|known| known.as_bytes() == word)
        .map(|&known| Setting::Warning(known, on))
        .ok_or(Bad::OneOf(WARNINGS))
}
