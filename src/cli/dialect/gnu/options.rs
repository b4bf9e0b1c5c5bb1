//! GNU tar's options. Rows stand in the order of its `--help`, in which it lists the possibilities of an ambiguous
//! abbreviation (within an option its synonyms go together here).

use std::num::NonZeroU64;

use durastar::plan::{
    Compression, CompressionFormat, Existing, ExistingDirectories, RECORD_BYTES, Seek, Told,
    VolumeScript,
};
use durastar::select::names;
use durastar::sys::signal;

use crate::cli::number;
use crate::cli::option::Category::{
    Archive, Attributes, Matching as Patterns, Operation, Other, Output, Overwriting, Selection,
};
use crate::cli::option::{Bad, OptionDef, Value, flag, optional, refused, valued};
use crate::cli::setting::{Matching, Page, Quoting, Setting};

/// Said of every option that is about making archives.
const READS_ONLY: &str = "durastar only lists and extracts for now";
/// Said of the options that choose a format for writing.
const FORMAT: &str = "formats are recognised when reading, and durastar does not write yet";

/// The rows.
pub(crate) static OPTIONS: &[OptionDef] = &[
    refused(
        Operation,
        "A",
        &["catenate", "concatenate"],
        Value::None,
        READS_ONLY,
    ),
    refused(Operation, "c", &["create"], Value::None, READS_ONLY),
    refused(Operation, "", &["delete"], Value::None, READS_ONLY),
    refused(
        Operation,
        "d",
        &["diff", "compare"],
        Value::None,
        READS_ONLY,
    ),
    refused(Operation, "r", &["append"], Value::None, READS_ONLY),
    refused(Operation, "", &["test-label"], Value::None, READS_ONLY),
    flag(
        Operation,
        "t",
        &["list"],
        "list the members of an archive",
        || Setting::List,
    )
    .more("With -v a line with mode, owner, size and time for each."),
    refused(Operation, "u", &["update"], Value::None, READS_ONLY),
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
    refused(
        Archive,
        "",
        &["hole-detection"],
        Value::Required("TYPE"),
        READS_ONLY,
    ),
    refused(
        Selection,
        "",
        &["ignore-failed-read"],
        Value::None,
        READS_ONLY,
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
    refused(
        Archive,
        "",
        &["sparse-version"],
        Value::Required("MAJOR[.MINOR]"),
        READS_ONLY,
    ),
    flag(
        Archive,
        "S",
        &["sparse"],
        "blocks of zeros in files that are extracted become holes",
        || Setting::MakeHoles,
    )
    .more("Holes that the archive knows of are restored always.")
    ,
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
        "restore members named after this below DIR",
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
    refused(Selection, "", &["exclude-caches"], Value::None, READS_ONLY),
    refused(
        Selection,
        "",
        &["exclude-caches-all"],
        Value::None,
        READS_ONLY,
    ),
    refused(
        Selection,
        "",
        &["exclude-caches-under"],
        Value::None,
        READS_ONLY,
    ),
    refused(
        Selection,
        "",
        &["exclude-ignore"],
        Value::Required("FILE"),
        READS_ONLY,
    ),
    refused(
        Selection,
        "",
        &["exclude-ignore-recursive"],
        Value::Required("FILE"),
        READS_ONLY,
    ),
    refused(
        Selection,
        "",
        &["exclude-tag"],
        Value::Required("FILE"),
        READS_ONLY,
    ),
    refused(
        Selection,
        "",
        &["exclude-tag-all"],
        Value::Required("FILE"),
        READS_ONLY,
    ),
    refused(
        Selection,
        "",
        &["exclude-tag-under"],
        Value::Required("FILE"),
        READS_ONLY,
    ),
    flag(
        Selection,
        "",
        &["exclude-vcs"],
        "leave out files and directories of version control systems",
        || Setting::ExcludeAll(VERSION_CONTROL),
    ),
    refused(
        Selection,
        "",
        &["exclude-vcs-ignores"],
        Value::None,
        READS_ONLY,
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
        "Names that begin with DIR already stay as they are. Without DIR it is the archive's name without what says \
         that it is one: .tar, .tgz, .tar.xz and so on.",
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
        "It goes for directories of the archive as well: what is in those that are there and not in the archive is \
         lost. The directory that is extracted into is not emptied (GNU tar does that too, for a member ./), and \
         nothing on other file systems is removed. Wins over all other options about files that are there.",
    ),
    refused(Overwriting, "", &["remove-files"], Value::None, READS_ONLY),
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
    refused(
        Output,
        "",
        &["ignore-command-error"],
        Value::None,
        "there is no --to-command",
    ),
    refused(
        Output,
        "",
        &["no-ignore-command-error"],
        Value::None,
        "there is no --to-command",
    ),
    flag(
        Output,
        "O",
        &["to-stdout"],
        "write the contents of files to standard output",
        || Setting::ToOutput,
    )
    .more("What -v prints then goes to standard error."),
    refused(
        Output,
        "",
        &["to-command"],
        Value::Required("COMMAND"),
        "-O writes to a pipe",
    ),
    // Attributes.
    refused(
        Attributes,
        "",
        &["atime-preserve"],
        Value::Optional("METHOD"),
        READS_ONLY,
    ),
    refused(Attributes, "", &["clamp-mtime"], Value::None, READS_ONLY),
    flag(
        Attributes,
        "",
        &["delay-directory-restore"],
        "accepted: directories always get mode and times at the end",
        || Setting::Always,
    ),
    refused(
        Attributes,
        "",
        &["group"],
        Value::Required("NAME"),
        READS_ONLY,
    ),
    refused(
        Attributes,
        "",
        &["group-map"],
        Value::Required("FILE"),
        READS_ONLY,
    ),
    refused(
        Attributes,
        "",
        &["mode"],
        Value::Required("CHANGES"),
        READS_ONLY,
    ),
    refused(
        Attributes,
        "",
        &["mtime"],
        Value::Required("DATE-OR-FILE"),
        READS_ONLY,
    ),
    flag(
        Attributes,
        "m",
        &["touch"],
        "do not restore modification times",
        || Setting::NoTimes,
    ),
    refused(
        Attributes,
        "",
        &["no-delay-directory-restore"],
        Value::None,
        "directories always get mode and times at the end",
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
    refused(
        Attributes,
        "",
        &["owner"],
        Value::Required("NAME"),
        READS_ONLY,
    ),
    refused(
        Attributes,
        "",
        &["owner-map"],
        Value::Required("FILE"),
        READS_ONLY,
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
    refused(
        Attributes,
        "",
        &["sort"],
        Value::Required("ORDER"),
        READS_ONLY,
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
        "set access control lists",
        || Setting::Acls(true),
    ),
    flag(
        Attributes,
        "",
        &["no-acls"],
        "do not set access control lists (default)",
        || Setting::Acls(false),
    ),
    flag(
        Attributes,
        "",
        &["no-selinux"],
        "do not set SELinux contexts (default)",
        || Setting::Selinux(false),
    ),
    flag(
        Attributes,
        "",
        &["no-xattrs"],
        "do not set extended attributes (default)",
        || Setting::Xattrs(false),
    ),
    flag(Attributes, "", &["selinux"], "set SELinux contexts", || {
        Setting::Selinux(true)
    }),
    flag(
        Attributes,
        "",
        &["xattrs"],
        "set extended attributes",
        || Setting::Xattrs(true),
    )
    .more("Those of the user namespace, unless --xattrs-include asks for others."),
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
        "the archive; - is standard input",
        |name| Ok(Setting::Archive(name.to_vec())),
    )
    .more("Without it the archive is what TAPE names, or standard input."),
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
        "A shell runs it. TAR_VOLUME is the number of the volume that is wanted and TAR_ARCHIVE its name; a name that \
         is written to the file descriptor TAR_FD is opened instead. TAR_BLOCKING_FACTOR, TAR_SUBCOMMAND (-t or -x), \
         TAR_FORMAT and TAR_VERSION are set too. A status other than 0 ends the run.",
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
        "Several -f name the volumes in their order. After the last one the next is asked for, on standard error; an \
         empty line or y says that it is ready, n NAME that it is the file NAME, q ends the run. A volume that does \
         not go on with the member that is not complete is refused, and the next one asked for. Volumes are not \
         compressed.",
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
    refused(Archive, "H", &["format"], Value::Required("FORMAT"), FORMAT),
    refused(
        Archive,
        "",
        &["old-archive", "portability"],
        Value::None,
        FORMAT,
    ),
    refused(
        Archive,
        "",
        &["pax-option"],
        Value::Required("KEYWORDS"),
        FORMAT,
    ),
    refused(Archive, "", &["posix"], Value::None, FORMAT),
    refused(
        Archive,
        "V",
        &["label"],
        Value::Required("TEXT"),
        READS_ONLY,
    ),
    // Compression.
    flag(
        Archive,
        "a",
        &["auto-compress"],
        "accepted: compression is recognised when reading",
        || Setting::Always,
    ),
    valued(
        Archive,
        "I",
        &["use-compress-program"],
        "PROG",
        "decompress with PROG, called with -d added",
        |program| Ok(Setting::Compression(Compression::Program(program.to_vec()))),
    ),
    flag(
        Archive,
        "j",
        &["bzip2"],
        "the archive is compressed with bzip2",
        || named(CompressionFormat::Bzip2),
    )
    .more("Compression is recognised; these options are needed only where it should be enforced."),
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
        "accepted: a file's name never says how it is compressed",
        || Setting::Always,
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
    refused(Overwriting, "", &["backup"], Value::Optional("CONTROL"), ""),
    refused(
        Selection,
        "",
        &["hard-dereference"],
        Value::None,
        READS_ONLY,
    ),
    refused(Selection, "h", &["dereference"], Value::None, READS_ONLY),
    valued(
        Selection,
        "K",
        &["starting-file"],
        "MEMBER",
        "pass over everything before MEMBER",
        |name| Ok(Setting::StartingAt(name.to_vec())),
    ),
    valued(
        Selection,
        "",
        &["newer-mtime"],
        "DATE",
        "the same as --newer: archives hold no other time",
        |text| Ok(Setting::Newer(text.to_vec(), "--newer-mtime")),
    ),
    valued(
        Selection,
        "N",
        &["newer", "after-date"],
        "DATE-OR-FILE",
        "only members that were modified at that time or later",
        |text| Ok(Setting::Newer(text.to_vec(), "--after-date")),
    )
    .more(
        "A value that begins with / or . is a file whose time of modification counts. Dates are @SECONDS, YYYY-MM-DD \
         or 'YYYY-MM-DD HH:MM:SS', in local time unless a zone like Z or +0200 follows, or as in mails: \
         '9 Sep 2001 01:46:40 +0000'. GNU tar knows more spellings, such as yesterday.",
    ),
    refused(Selection, "", &["one-file-system"], Value::None, READS_ONLY),
    flag(
        Selection,
        "P",
        &["absolute-names"],
        "keep leading slashes and members with .. in their names",
        || Setting::AbsoluteNames,
    )
    .more("An archive can then write anywhere."),
    refused(Overwriting, "", &["suffix"], Value::Required("STRING"), ""),
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
        "Flags are g, i, x (extended expressions) and a number; r, s and h limit it to names, targets of symbolic \
         links and of hard links, R, S and H leave those alone. Several are joined by ; and flags=FLAGS; sets what \
         holds for those that follow. It comes before --strip-components.",
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
    refused(Output, "l", &["check-links"], Value::None, READS_ONLY),
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
    .more("literal, shell, shell-always, c, c-maybe, escape (default), locale or clocale."),
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
        "the number of bytes read, at the end or when SIGNAL arrives",
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
    refused(
        Output,
        "w",
        &["interactive", "confirmation"],
        Value::None,
        "",
    ),
    flag(Attributes, "o", &[], "the same as --no-same-owner", || {
        Setting::SameOwner(false)
    }),
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
