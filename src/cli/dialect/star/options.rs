//! star's options.
//!
//! Names of one letter are in `shorts` and can be bundled; all others are in `longs`, spelt with one dash or two.

use durastar::plan::{
    Compression, CompressionFormat, DurabilityMode, Existing, Told, VolumeScript,
};
use durastar::select::{check_star_pattern, transform};

use crate::cli::number;
use crate::cli::option::Category::{
    Archive, Attributes, Durability, Operation, Other, Output, Overwriting, Selection,
};
use crate::cli::option::{Bad, OptionDef, Value, flag, refused, valued};
use crate::cli::setting::{Page, Setting};

/// Said of every option that is about making archives.
const READS_ONLY: &str = "durastar only lists and extracts for now";
const NUMBER: Bad = Bad::Value("Badly formed number");

/// The rows.
pub(crate) static OPTIONS: &[OptionDef] = &[
    refused(Operation, "c", &[], Value::None, READS_ONLY),
    refused(Operation, "", &["copy"], Value::None, READS_ONLY),
    refused(Operation, "", &["xcopy"], Value::None, READS_ONLY),
    refused(Operation, "", &["diff"], Value::None, READS_ONLY),
    flag(Operation, "n", &[], "say what -x would extract, and extract nothing", || Setting::Trace),
    refused(Operation, "r", &[], Value::None, READS_ONLY),
    flag(Operation, "t", &[], "list the members of an archive", || Setting::List)
        .more("With -v a line with size, mode, owner and time for each."),
    refused(Operation, "u", &[], Value::None, READS_ONLY),
    flag(Operation, "x", &[], "restore members from an archive", || Setting::Extract),
    refused(Operation, "", &["print-artype"], Value::None, ""),
    // The archive.
    valued(Archive, "f", &["file"], "NAME", "the archive; - is standard input", |name| {
        Ok(Setting::Archive(name.to_vec()))
    })
    .more("Several are the volumes of one archive, in their order. Without any it is standard input."),
    flag(Archive, "T", &[], "the archive is what TAPE names", || Setting::ArchiveFromTape),
    refused(Archive, "01234567", &[], Value::None, "file= names a device"),
    valued(Archive, "", &["bs"], "SIZE", "a record is SIZE bytes (10240)", |word| {
        record(number::star(word, 1))
    })
    .more("Sizes may end in w (2), b (512), k, m, g, t or p, and 7x8k multiplies."),
    valued(
        Archive,
        "b",
        &["blocks"],
        "N",
        "a record is N times 512 bytes (20)",
        |word| record(number::star(word, 512)),
    ),
    flag(Archive, "B", &[], "accepted: short reads from pipes are always put together", || {
        Setting::Always
    }),
    flag(Archive, "i", &[], "accepted: damaged headers are always skipped, with a message", || {
        Setting::Always
    }),
    flag(Archive, "z", &[], "the archive is compressed with gzip", || {
        named(CompressionFormat::Gzip)
    })
    .more("Compression is recognised; these options are needed only where it should be enforced."),
    flag(Archive, "j", &["bz"], "the archive is compressed with bzip2", || {
        named(CompressionFormat::Bzip2)
    }),
    flag(Archive, "J", &["xz"], "the archive is compressed with xz", || {
        named(CompressionFormat::Xz)
    }),
    flag(Archive, "Z", &[], "the archive is compressed with compress", || {
        named(CompressionFormat::Compress)
    }),
    flag(Archive, "", &["lzip"], "the archive is compressed with lzip", || {
        named(CompressionFormat::Lzip)
    }),
    flag(Archive, "", &["lzma"], "the archive is compressed with lzma", || {
        named(CompressionFormat::Lzma)
    }),
    flag(Archive, "", &["zstd"], "the archive is compressed with zstd", || {
        named(CompressionFormat::Zstd)
    }),
    refused(Archive, "", &["lzo"], Value::None, "compress-program=lzop"),
    refused(Archive, "", &["7z"], Value::None, "compress-program= names a program"),
    refused(Archive, "", &["freeze"], Value::None, "compress-program=freeze"),
    valued(
        Archive,
        "",
        &["compress-program"],
        "NAME",
        "decompress with this program, called with -d added",
        |program| Ok(Setting::Compression(Compression::Program(program.to_vec()))),
    ),
    flag(Archive, "", &["fifo"], "accepted: there is always a FIFO", || Setting::Always),
    refused(Archive, "", &["no-fifo", "no_fifo"], Value::None, "fs= makes the FIFO small"),
    refused(Archive, "", &["shm"], Value::None, "the FIFO is shared by threads, not processes"),
    valued(
        Archive,
        "",
        &["fs"],
        "SIZE",
        "size of the FIFO between reading and writing (8m)",
        |word| {
            number::star(word, 1)
                .and_then(|size| usize::try_from(size).ok())
                .map(Setting::FifoBytes)
                .ok_or(NUMBER)
        },
    )
    .more("It is rounded up to whole records. The environment variable STAR_FIFOSIZE sets the default."),
    flag(Archive, "", &["force-local"], "accepted: archives are always local files", || {
        Setting::Always
    }),
    refused(
        Archive,
        "H",
        &["artype"],
        Value::Required("FORMAT"),
        "formats are recognised when reading, and durastar does not write yet",
    ),
    flag(Archive, "", &["multivol"], "the archive goes on from one volume to the next", || {
        Setting::MultiVolume
    })
    .more(
        "Several file= say so too, and name the volumes in their order. After the last one the next is asked for, on \
         standard error; an empty line or y says that it is ready, n NAME that it is the file NAME, q ends the run. A \
         volume that does not go on with the member that is not complete, or whose volume header has another number \
         or is of another set, is refused. Volumes are not compressed.",
    ),
    valued(
        Archive,
        "",
        &["new-volume-script"],
        "PROGRAM",
        "run PROGRAM when the next volume is needed; implies -multivol",
        |command| {
            Ok(Setting::VolumeScript(VolumeScript {
                command: command.to_vec(),
                told: Told::Arguments,
            }))
        },
    )
    .more("Its arguments are the number of the volume and its name. A status other than 0 ends the run."),
    refused(Archive, "", &["VOLHDR"], Value::Required("NAME"), READS_ONLY),
    refused(Archive, "", &["rsh", "rmt"], Value::Required("PATH"), "archives are local files"),
    refused(Archive, "", &["wready"], Value::None, ""),
    refused(Archive, "", &["tsize"], Value::Required("N"), READS_ONLY),
    refused(
        Archive,
        "",
        &["qic24", "qic120", "qic150", "qic250", "qic525"],
        Value::None,
        READS_ONLY,
    ),
    refused(Archive, "O", &[], Value::None, READS_ONLY),
    refused(Archive, "P", &[], Value::None, READS_ONLY),
    refused(Archive, "", &["signed-checksum", "signed_checksum"], Value::None, ""),
    refused(Archive, "", &["hpdev", "modebits", "no-xheader"], Value::None, ""),
    refused(Archive, "", &["onull", "nullout"], Value::None, READS_ONLY),
    // Selection.
    valued(
        Selection,
        "C",
        &[],
        "DIR",
        "restore members named after this below DIR",
        |name| Ok(Setting::Directory(name.to_vec())),
    )
    .more("A further C= starts again from where the program stands."),
    refused(Selection, "", &["bsdchdir"], Value::None, ""),
    valued(
        Selection,
        "",
        &["list"],
        "FILE",
        "the members whose names are in FILE; - is standard input",
        |name| Ok(Setting::MembersFrom(name.to_vec())),
    ),
    flag(
        Selection,
        "",
        &["read0"],
        "names in list= files after this, and in the settled log, end in NUL",
        || Setting::NulSeparated(true),
    ),
    refused(Selection, "", &["pkglist"], Value::Required("FILE"), "list="),
    refused(Selection, "", &["find"], Value::None, ""),
    valued(
        Selection,
        "",
        &["pat", "pattern"],
        "PATTERN",
        "members that match PATTERN",
        pattern,
    )
    .more(
        "? matches one character, * any number of them, slashes too, [...] one of a set; # stands before what is \
         repeated any number of times, {...} groups, ! separates alternatives, % is nothing, ^ and $ are the ends of \
         the name and \\ takes a meaning away. Several are alternatives. Members have to match names as well where some \
         are given.",
    ),
    flag(Selection, "V", &["not"], "members that match no pat=", || Setting::Invert),
    refused(Selection, "", &["notarg", "pax-c"], Value::None, "-not"),
    refused(Selection, "", &["match-tree", "pax-match", "pax-n"], Value::None, ""),
    valued(
        Selection,
        "X",
        &["exclude-from"],
        "FILE",
        "leave out members whose names are in FILE",
        |name| Ok(Setting::ExcludeFrom(name.to_vec())),
    ),
    flag(Selection, "/", &[], "keep leading slashes; an archive can then write anywhere", || {
        Setting::KeepSlashes
    }),
    flag(Selection, "", &[".."], "restore members with .. in their names", || Setting::KeepDotDot),
    valued(Selection, "", &["newer"], "FILE", "only members that are newer than FILE", |name| {
        Ok(Setting::NewerThanFile(name.to_vec()))
    }),
    valued(Selection, "", &["maxsize"], "N", "no files larger than N times 1024 bytes", |word| {
        number::star(word, 1024).map(Setting::MaxSize).ok_or(NUMBER)
    })
    .more("With a suffix, as for bs=, N counts those: maxsize=1000. is 1000 bytes."),
    refused(Selection, "", &["ctime", "nodump"], Value::None, READS_ONLY),
    valued(
        Selection,
        "s",
        &[],
        "/OLD/NEW/[g]",
        "rename members: NEW for the first match of the pattern OLD in a name",
        |text| {
            transform::parse_star(text)
                .map(Setting::Substitution)
                .map_err(|problem| Bad::Usage(format!("Bad substitution: {problem}.")))
        },
    )
    .more(
        "With g for all of them. OLD is as for pat=, & in NEW stands for what matched, and any character may stand for \
         the slash. Of several the first that matches is the last one tried. A member of whose name nothing is left \
         is left out.",
    ),
    refused(Selection, "", &["one-file"], Value::None, ""),
    refused(Selection, "D", &["dodesc"], Value::None, READS_ONLY),
    refused(Selection, "M", &["xdev"], Value::None, READS_ONLY),
    refused(Selection, "F", &[], Value::None, ""),
    refused(Selection, "S", &[], Value::None, ""),
    refused(Selection, "hL", &["pax-L", "pax-H", "pax-P"], Value::None, READS_ONLY),
    refused(Selection, "w", &["pax-i", "uncond-rename"], Value::None, ""),
    refused(Selection, "I", &[], Value::None, "it is obsolete in star too"),
    refused(Selection, "", &["newest", "newest-file", "newest_file"], Value::None, ""),
    refused(Selection, "", &["level", "tardumps", "dumpdate", "fs-name"], Value::Required("X"), READS_ONLY),
    refused(
        Selection,
        "",
        &[
            "wtardumps",
            "dump",
            "cumulative",
            "dump-cumulative",
            "dumpmeta",
            "meta",
            "link-dirs",
            "dirmode",
        ],
        Value::None,
        READS_ONLY,
    ),
    refused(Selection, "", &["restore", "partial", "force-restore", "xmeta"], Value::None, ""),
    // Overwriting.
    flag(
        Overwriting,
        "U",
        &[],
        "overwrite files that are as new as the member or newer too",
        || Setting::Unconditional,
    )
    .more("Without it they are kept, with a message, directories too."),
    flag(
        Overwriting,
        "",
        &["xdir"],
        "restore directories even if those on disk are newer",
        || Setting::DirectoriesAlways,
    ),
    flag(
        Overwriting,
        "",
        &["xdot"],
        "the same for a first member . or ./ only",
        || Setting::DotAlways,
    ),
    flag(
        Overwriting,
        "k",
        &["keep-old-files", "keep_old_files"],
        "keep files that are there",
        || Setting::Existing(Existing::KeepSilently),
    ),
    flag(
        Overwriting,
        "",
        &["remove-first", "remove_first"],
        "with -U, remove a file that is there before anything else",
        || Setting::Existing(Existing::RemoveFirst),
    ),
    flag(
        Overwriting,
        "",
        &["force-remove", "force_remove"],
        "accepted: files without write permission are replaced like others",
        || Setting::Always,
    ),
    refused(Overwriting, "", &["ask-remove", "ask_remove"], Value::None, ""),
    flag(
        Overwriting,
        "",
        &["remove-recursive", "remove_recursive"],
        "remove directories that are in the way with all that is in them",
        || Setting::RemoveRecursively,
    )
    .more(
        "With -U -remove-first directories of the archive are emptied too before they are restored. The directory that \
         is extracted into is not, and nothing on other file systems is removed.",
    ),
    refused(Overwriting, "", &["keep-nonempty-dirs"], Value::None, ""),
    refused(
        Overwriting,
        "",
        &["refresh", "refresh-old-files", "refresh_old_files"],
        Value::None,
        "",
    ),
    refused(Overwriting, "", &["install"], Value::None, ""),
    refused(
        Overwriting,
        "",
        &["copylinks", "copyhardlinks", "copysymlinks", "copydlinks", "hardlinks", "symlinks"],
        Value::None,
        "",
    ),
    refused(Overwriting, "", &["link-data"], Value::None, READS_ONLY),
    // Attributes.
    flag(
        Attributes,
        "p",
        &[],
        "set modes as the archive has them (the superuser's default)",
        || Setting::SamePermissions(true),
    ),
    flag(Attributes, "", &["no-p"], "the umask applies to modes", || {
        Setting::SamePermissions(false)
    }),
    flag(Attributes, "o", &["nochown"], "files belong to the caller", || {
        Setting::SameOwner(false)
    }),
    flag(Attributes, "", &["numeric"], "owners by number, never by name", || {
        Setting::NumericOwner
    }),
    flag(Attributes, "m", &[], "do not restore times", || Setting::NoTimes),
    flag(Attributes, "d", &[], "restore no directories", || Setting::NoDirectories),
    flag(
        Attributes,
        "",
        &["secure-links"],
        "refuse links whose targets begin with / or hold .. (default)",
        || Setting::SecureLinks(true),
    )
    .more("STAR_SECURE_LINKS=N in the environment turns the default off."),
    flag(Attributes, "", &["no-secure-links"], "restore such links", || {
        Setting::SecureLinks(false)
    }),
    valued(Attributes, "", &["umask"], "MASK", "use this umask, octal", |word| {
        number::octal(word)
            .filter(|&mask| mask <= 0o777)
            .map(Setting::Umask)
            .ok_or(Bad::Value("Bad umask"))
    }),
    flag(Attributes, "", &["sparse"], "accepted: holes are always restored", || Setting::Always),
    flag(
        Attributes,
        "",
        &["force-hole", "force_hole"],
        "blocks of zeros in files that are extracted become holes",
        || Setting::MakeHoles,
    ),
    flag(Attributes, "", &["acl"], "set access control lists, and modes as with -p", || {
        Setting::AclsAndPermissions
    }),
    flag(Attributes, "", &["xattr-linux"], "set extended attributes, of all namespaces", || {
        Setting::XattrsInclude(b"*".to_vec())
    }),
    refused(
        Attributes,
        "",
        &["xattr"],
        Value::None,
        "it is meant for NFSv4, use -xattr-linux",
    ),
    flag(Attributes, "", &["xfflags"], "set file flags", || Setting::FileFlags),
    refused(Attributes, "", &["dir-owner", "dir-group"], Value::Required("NAME"), ""),
    refused(Attributes, "", &["pax-p", "pax-o"], Value::Required("STRING"), ""),
    refused(Attributes, "a", &["atime"], Value::None, READS_ONLY),
    refused(Attributes, "l", &[], Value::None, READS_ONLY),
    // Stable storage.
    flag(
        Durability,
        "",
        &["no-fsync"],
        "force nothing to stable storage: the same as --sync=none",
        || Setting::Durability(DurabilityMode::None),
    )
    .more("STAR_FSYNC=N in the environment makes it the default."),
    flag(
        Durability,
        "",
        &["do-fsync"],
        "force each member to stable storage: the same as --sync=each (default)",
        || Setting::Durability(DurabilityMode::Each),
    ),
    // What is printed.
    flag(Output, "v", &[], "say what is done with each member; twice for more", || {
        Setting::Verbose
    }),
    flag(Output, "", &["tpath"], "names only, even with -v", || Setting::PathsOnly),
    flag(Output, "", &["block-number"], "the block number before each name", || {
        Setting::BlockNumber
    }),
    flag(Output, "", &["fifostats"], "print the FIFO's counters at the end", || {
        Setting::FifoStats
    }),
    flag(Output, "", &["time"], "print the time it took and the rate", || Setting::Time),
    flag(Output, "", &["no-statistics", "no_statistics"], "print no statistics at the end", || {
        Setting::NoStatistics
    }),
    flag(Output, "", &["nowarn", "silent"], "print no warnings", || {
        Setting::Warning("all", false)
    }),
    flag(
        Output,
        "",
        &["to-stdout", "to_stdout"],
        "write the contents of files to standard output",
        || Setting::ToOutput,
    )
    .more("What -v prints then goes to standard error."),
    refused(Output, "", &["cpio-statistics"], Value::None, ""),
    refused(Output, "", &["pax-ls", "prinodes"], Value::None, ""),
    refused(Output, "", &["no-dirslash"], Value::None, READS_ONLY),
    refused(Output, "", &["diffopts"], Value::Required("LIST"), READS_ONLY),
    refused(Output, "e", &["data-change-warn"], Value::None, ""),
    refused(Output, "", &["errctl"], Value::Required("FILE"), ""),
    refused(Output, "", &["debug"], Value::None, ""),
    refused(Output, "", &["xdebug", "xd"], Value::Required("N"), ""),
    refused(Other, "", &["lowmem"], Value::None, "fs= makes the FIFO small"),
    flag(Other, "?", &["help"], "print the list of options", || Setting::Page(Page::Help)),
    flag(Other, "", &["xhelp"], "the same", || Setting::Page(Page::Help)),
    flag(Other, "", &["version"], "print the version", || Setting::Page(Page::Version)),
];

fn named(format: CompressionFormat) -> Setting {
    Setting::Compression(Compression::Named(format))
}

fn record(bytes: Option<u64>) -> Result<Setting, Bad> {
    let bytes = bytes
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or(NUMBER)?;
    if bytes == 0 || bytes % 512 != 0 || bytes > 1 << 30 {
        return Err(Bad::Usage(format!("Invalid block size {bytes}.")));
    }
    Ok(Setting::RecordBytes(bytes))
}

fn pattern(text: &[u8]) -> Result<Setting, Bad> {
    match check_star_pattern(text) {
        Ok(()) => Ok(Setting::Pattern(text.to_vec())),
        Err(_) => Err(Bad::Value("Bad pattern")),
    }
}
