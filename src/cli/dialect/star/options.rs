//! star's options.
//!
//! Names of one letter are in `shorts` and can be bundled; all others are in `longs`, spelt with one dash or two.

use durastar::plan::create::{AccessTimes, ArchiveFormat};
use durastar::plan::{
    Compression, CompressionFormat, DurabilityMode, Existing, Told, VolumeScript,
};
use durastar::select::{check_star_pattern, transform};

use crate::cli::making::Making;
use crate::cli::number;
use crate::cli::option::Category::{
    Archive, Attributes, Durability, Operation, Other, Output, Overwriting, Selection,
};
use crate::cli::option::{Bad, OptionDef, Value, flag, refused, valued};
use crate::cli::setting::{Matching, Page, Setting};

/// Said of every option that is about making archives.
const READS_ONLY: &str = "durastar does not do this yet";
const NUMBER: Bad = Bad::Value("Badly formed number");

/// The rows.
pub(crate) static OPTIONS: &[OptionDef] = &[
    flag(Operation, "c", &[], "write a new archive", || Setting::Create).more("In the durable modes it is written under another name beside the one that is meant, \
     synced and renamed, so there is the old archive or a whole new one. With -no-fsync it \
     is written in place. Names lose a ./ in front."),
    refused(Operation, "", &["copy"], Value::None, READS_ONLY),
    refused(Operation, "", &["xcopy"], Value::None, READS_ONLY),
    flag(Operation, "", &["diff"], "compare members with what is on disk", || Setting::Compare),
    flag(Operation, "n", &[], "say what -x would extract, and extract nothing", || Setting::Trace),
    flag(Operation, "r", &[], "append members to an archive", || Setting::Append).more("It is written in place. When the run fails it is what it was before."),
    flag(Operation, "t", &[], "list the members of an archive", || Setting::List)
        .more("With -v a line with size, mode, owner and time for each."),
    flag(Operation, "u", &[], "append files that the archive does not have, or has older", || Setting::Update),
    flag(Operation, "x", &[], "restore members from an archive", || Setting::Extract),
    flag(Operation, "", &["print-artype"], "print how an archive is compressed and its format", || {
        Setting::ArchiveType
    })
    .more("The format is that of its first member."),
    // The archive.
    valued(Archive, "f", &["file"], "NAME", "the archive; - is standard input or output", |name| {
        Ok(Setting::Archive(name.to_vec()))
    })
    .more("Several are the volumes of one archive, in their order. Without any it is standard input or output."),
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
        "compress with this program, or decompress with it and -d",
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
    valued(
        Archive,
        "H",
        &["artype"],
        "FORMAT",
        "the format to write: xstar (default), xustar, exustar, ustar, pax, epax, star, \
         gnutar, suntar, tar or v7tar",
        |word| match word {
        b"v7tar" => Ok(Setting::Making(Making::Format(ArchiveFormat::StarV7))),
        b"tar" => Ok(Setting::Making(Making::Format(ArchiveFormat::StarTar))),
        b"star" => Ok(Setting::Making(Making::Format(ArchiveFormat::Star))),
        b"gnutar" => Ok(Setting::Making(Making::Format(ArchiveFormat::StarGnu))),
        b"ustar" => Ok(Setting::Making(Making::Format(ArchiveFormat::StarUstar))),
        b"pax" => Ok(Setting::Making(Making::Format(ArchiveFormat::Pax))),
        b"epax" => Ok(Setting::Making(Making::Format(ArchiveFormat::Epax))),
        b"xstar" => Ok(Setting::Making(Making::Format(ArchiveFormat::Xstar))),
        b"xustar" => Ok(Setting::Making(Making::Format(ArchiveFormat::Xustar))),
        b"exustar" => Ok(Setting::Making(Making::Format(ArchiveFormat::Exustar))),
        b"suntar" => Ok(Setting::Making(Making::Format(ArchiveFormat::Suntar))),
        _ => Err(Bad::Value("Bad archive type")) },
    )
    .more("Formats are recognised when reading."),
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
    valued(Archive, "", &["VOLHDR"], "NAME", "label the archive", |text| Ok(Setting::Making(Making::Label(text.to_vec())))),
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
        "names after this are relative to DIR",
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
    flag(Selection, "D", &["dodesc"], "do not enter directories", || Setting::Matching(Matching::Recursive(false))),
    flag(Selection, "M", &["xdev"], "stay on the file system of each name", || Setting::Making(Making::OneFileSystem)),
    refused(Selection, "F", &[], Value::None, ""),
    refused(Selection, "S", &[], Value::None, ""),
    flag(Selection, "hL", &["pax-L"], "store what symbolic links point to", || Setting::Making(Making::Dereference)),
    refused(Selection, "", &["pax-H", "pax-P"], Value::None, ""),
    flag(Selection, "w", &[], "ask before each member, which may also be renamed", || Setting::Ask)
        .more(
            "Answers are y, n (or an empty line) and c for another name, which is asked for then. They come from standard \
             input, or from the terminal when the archive comes from there.",
        ),
    refused(Selection, "", &["pax-i", "uncond-rename"], Value::None, "-w asks"),
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
    flag(
        Overwriting,
        "",
        &["ask-remove", "ask_remove"],
        "ask before anything that is in the way is removed",
        || Setting::AskBeforeRemoving,
    )
    .more("Answers come from where those of -w come from; a member whose way is not cleared counts as an error."),
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
    flag(
        Overwriting,
        "",
        &["keep-nonempty-dirs", "keep_nonempty_dirs"],
        "leave out members in whose way a directory is that is not empty, without a message",
        || Setting::KeepFullDirectories,
    ),
    flag(
        Overwriting,
        "",
        &["refresh", "refresh-old-files", "refresh_old_files"],
        "restore only what is there already, make nothing new",
        || Setting::Refresh,
    ),
    flag(
        Overwriting,
        "",
        &["install"],
        "the same as --safe-writes",
        || Setting::SafeWrites,
    ),
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
    flag(Attributes, "", &["sparse"], "store holes of files as such", || Setting::Making(Making::Sparse)).more("When extracting they are always restored."),
    flag(
        Attributes,
        "",
        &["force-hole", "force_hole"],
        "blocks of zeros in files that are extracted become holes",
        || Setting::MakeHoles,
    ),
    flag(Attributes, "", &["acl"], "store access control lists, or set them, and modes as with -p", || {
        Setting::AclsAndPermissions
    }),
    flag(Attributes, "", &["xattr-linux"], "store or set extended attributes, of all namespaces", || {
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
    flag(Attributes, "a", &["atime"], "set access times of files back after reading them", || Setting::Making(Making::AccessTimes(AccessTimes::SetBack))),
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
    flag(Output, "e", &[], "the first failure ends the run, with exit status 253", || {
        Setting::StopAtFailure
    }),
    refused(Output, "", &["data-change-warn"], Value::None, READS_ONLY),
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
