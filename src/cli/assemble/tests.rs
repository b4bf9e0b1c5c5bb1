//! Command lines to plans: both dialects' defaults, and what each setting changes.

use std::io;
use std::path::PathBuf;

use durastar::member::Timestamp;
use durastar::plan::create::{ArchiveFormat, Create};
use durastar::plan::{
    Compression, CompressionFormat, DateLimit, DurabilityMode, Existing, ExistingDirectories, Job,
    Pattern, Plan, Scope, Seek, Stamp, SyncMethod, Volume, Wanted,
};

use super::{Assembled, Bad, Command, Dialect, Facts, Page, UsageError, assemble};

const GNU: Dialect = Dialect::Gnu;
const STAR: Dialect = Dialect::Star;

fn modified(name: &[u8]) -> io::Result<Timestamp> {
    match name {
        b"./file" | b"file" => Ok(Timestamp {
            seconds: 5,
            nanos: 6,
        }),
        _ => Err(io::Error::from_raw_os_error(2)),
    }
}

fn read(name: &[u8]) -> io::Result<Vec<u8>> {
    match name {
        b"names" => Ok(b"a/\n-C\nd\nb\\tc\n".to_vec()),
        b"nul" => Ok(b"-a\0b\0".to_vec()),
        b"patterns" => Ok(b"*.o\n\ncore\n".to_vec()),
        b"options" => Ok(b"--exclude=a\n".to_vec()),
        _ => Err(io::Error::from_raw_os_error(2)),
    }
}

/// What a command line comes to for an ordinary user with these variables.
fn try_with(
    dialect: Dialect,
    line: &str,
    variables: &[(&str, &str)],
    superuser: bool,
) -> Result<Assembled, UsageError> {
    let environment = |name: &str| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_bytes().to_vec())
    };
    let facts = Facts {
        superuser,
        umask: 0o22,
        environment: &environment,
        read: &read,
        modified: &modified,
    };
    let words: Vec<Vec<u8>> = line
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| word.as_bytes().to_vec())
        .collect();
    assemble(dialect, &dialect.parse(&words)?, &facts)
}

fn command_with(dialect: Dialect, line: &str, variables: &[(&str, &str)]) -> Command {
    match try_with(dialect, line, variables, false) {
        Ok(Assembled::Command(command)) => *command,
        other => panic!("{line}: {other:?}"),
    }
}

fn command(dialect: Dialect, line: &str) -> Command {
    command_with(dialect, line, &[])
}

fn plan(dialect: Dialect, line: &str) -> Plan {
    command(dialect, line).plan
}

fn error(dialect: Dialect, line: &str) -> UsageError {
    try_with(dialect, line, &[], false).map(drop).unwrap_err()
}

/// The plan of star without what the dialects differ in by default.
fn alike(mut star: Plan, gnu: &Plan) -> Plan {
    // GNU tar's -v comes first, and its -U is about directories too.
    star.extract.announce_first = gnu.extract.announce_first;
    star.extract.existing_directories = gnu.extract.existing_directories;
    assert!(star.extract.secure_links && !gnu.extract.secure_links);
    assert!(star.extract.atime && !gnu.extract.atime);
    star.extract.secure_links = false;
    star.extract.atime = false;
    star
}

#[test]
fn the_same_wish_gives_the_same_plan() {
    for (theirs, ours) in [
        ("-tv f=a.tar", "tvf a.tar"),
        ("tvf a.tar", "-tvf a.tar"),
        ("-t -z file=a.tgz", "-tzf a.tgz"),
        ("-t -xz f=a", "-tJf a"),
        (
            "-t fs=1m bs=1k f=a m",
            "-tf a --fifo-size=1m --record-size=1024 m",
        ),
    ] {
        let (mut star, gnu) = (command(STAR, theirs), command(GNU, ours));
        // What is done to files has no meaning when listing; star's rule for older ones is the third difference.
        assert_ne!(star.plan.extract.existing, gnu.plan.extract.existing);
        star.plan.extract.existing = gnu.plan.extract.existing;
        star.plan = alike(star.plan, &gnu.plan);
        assert_eq!(star, gnu, "{theirs} | {ours}");
    }
    for (theirs, ours) in [
        ("-x -U f=a.tar", "-xf a.tar --sync=each"),
        ("-xp -U -no-fsync f=a.tar", "-xpf a.tar --sync=none"),
        ("-x -U -k f=a", "-x --skip-old-files -f a --sync=each"),
        ("-x -U -remove-first f=a", "-xU -f a --sync=each"),
        (
            "-x -U -o -numeric f=a m",
            "-xo --numeric-owner -f a --sync=each m",
        ),
        ("-x -U -m f=a", "-xm -f a --sync=each"),
        ("-x -U C=d -to-stdout f=a", "-xO -C d -f a"),
        ("-x -U -/ -.. f=a", "-xP -f a --sync=each"),
    ] {
        let (star, gnu) = (plan(STAR, theirs), plan(GNU, ours));
        let star = if star.extract.atime {
            alike(star, &gnu)
        } else {
            // -m took the access times, which GNU tar does not set anyway.
            let mut star = star;
            star.extract.secure_links = false;
            star.extract.announce_first = true;
            star
        };
        assert_eq!(star, gnu, "{theirs} | {ours}");
    }
}

#[test]
fn the_documented_command_lines_of_star() {
    let line = "-x -bz -xdir -xdot -U -fs=64m -fifostats -time file=../linux-3.5.1.tar.bz2";
    let found = command(STAR, line);
    assert_eq!(found.plan.job, Job::Extract);
    assert_eq!(found.plan.archive.fifo_bytes, 64 << 20);
    assert_eq!(
        found.plan.archive.compression,
        Compression::Named(CompressionFormat::Bzip2)
    );
    assert_eq!(
        found.plan.archive.volumes,
        [Volume::File("../linux-3.5.1.tar.bz2".into())]
    );
    assert_eq!(found.plan.extract.existing, Existing::Replace);
    assert_eq!(found.plan.durability.mode, DurabilityMode::Each);
    assert!(found.wishes.fifo_stats && found.wishes.time);

    let found = command(STAR, "-xp -xdot -time");
    assert_eq!(found.plan.archive.volumes, [Volume::Standard]);
    assert_eq!(found.plan.archive.compression, Compression::Detect);
    assert!(found.plan.extract.same_permissions);
    assert_eq!(
        found.plan.extract.existing,
        Existing::KeepNotOlder {
            directories: true,
            except_dot: true
        }
    );
    assert_eq!(
        plan(STAR, "-xp -xdot -time -no-fsync").durability.mode,
        DurabilityMode::None
    );
    let found = command(STAR, "-tpath -t f=archive.tar");
    assert!(found.wishes.paths_only);
    assert_eq!(found.plan.job, Job::List);
    let found = command(STAR, "-n f=archive.tar");
    assert!(found.wishes.trace);
    assert_eq!(found.plan.job, Job::List);
}

#[test]
fn the_age_rule_of_star() {
    let rule = |line: &str| plan(STAR, line).extract.existing;
    let older = |directories, except_dot| Existing::KeepNotOlder {
        directories,
        except_dot,
    };
    assert_eq!(rule("-x"), older(true, false));
    assert_eq!(rule("-x -xdot"), older(true, true));
    assert_eq!(rule("-x -xdir"), older(false, false));
    assert_eq!(rule("-x -xdir -xdot"), older(false, false));
    assert_eq!(rule("-x -U"), Existing::Replace);
    assert_eq!(rule("-x -remove-first"), older(true, false));
    assert_eq!(rule("-x -U -remove-first"), Existing::RemoveFirst);
    assert_eq!(rule("-x -k"), Existing::KeepSilently);
    assert_eq!(rule("-x -U -k -remove-first"), Existing::KeepSilently);
    assert_eq!(rule("-x -U -remove-first -k"), Existing::KeepSilently);
}

#[test]
fn existing_files_in_gnu_tar() {
    let rule = |line: &str| plan(GNU, line).extract.existing;
    assert_eq!(rule("-x"), Existing::Replace);
    assert_eq!(rule("-x -k"), Existing::KeepComplain);
    assert_eq!(rule("-xk -k --keep-old-files"), Existing::KeepComplain);
    assert_eq!(rule("-x --skip-old-files"), Existing::KeepSilently);
    assert_eq!(rule("-x --overwrite"), Existing::Overwrite);
    assert_eq!(rule("-xU"), Existing::RemoveFirst);
    assert!(matches!(
        rule("-x --keep-newer-files"),
        Existing::KeepNotOlder {
            directories: false,
            ..
        }
    ));
    let UsageError::Contradiction { later, earlier } =
        error(GNU, "-t --keep-old-files --overwrite")
    else {
        panic!("no contradiction")
    };
    assert_eq!(
        (later.as_str(), earlier.as_str()),
        ("--overwrite", "--keep-old-files")
    );
    let directories = |line: &str| plan(GNU, line).extract.existing_directories;
    assert_eq!(directories("-x"), ExistingDirectories::Restore);
    assert_eq!(
        directories("-x --no-overwrite-dir"),
        ExistingDirectories::Keep
    );
    assert_eq!(directories("-xU"), ExistingDirectories::Remove);
    assert_eq!(
        directories("-x --keep-newer-files"),
        ExistingDirectories::KeepFull
    );
    for line in [
        "-x --no-overwrite-dir --overwrite-dir",
        "-x -k --overwrite-dir",
        "-x --no-overwrite-dir -k",
    ] {
        assert!(
            matches!(error(GNU, line), UsageError::Contradiction { .. }),
            "{line}"
        );
    }
    assert!(
        plan(GNU, "-x --keep-directory-symlink")
            .extract
            .keep_directory_symlink
    );
}

#[test]
fn exactly_one_operation() {
    for dialect in [GNU, STAR] {
        assert!(matches!(error(dialect, "-f=a"), UsageError::NoOperation));
        assert!(matches!(
            error(dialect, "-x -t"),
            UsageError::SeveralOperations
        ));
        assert!(matches!(
            error(dialect, "-x -c"),
            UsageError::SeveralOperations
        ));
        assert!(matches!(
            error(dialect, "-c -f=a"),
            UsageError::BadValue { .. }
        ));
        assert_eq!(plan(dialect, "-x -x").job, Job::Extract);
    }
}

#[test]
fn what_is_written_and_how() {
    let create = |dialect, words: &str| plan(dialect, words).create;
    assert_eq!(plan(GNU, "-cf a b").job, Job::Create);
    assert_eq!(plan(GNU, "-rf a b").job, Job::Append);
    assert_eq!(plan(GNU, "-uf a b").job, Job::Update);
    assert_eq!(plan(GNU, "-Af a b").job, Job::Join);
    assert_eq!(plan(GNU, "-df a").job, Job::Compare);
    assert_eq!(create(GNU, "-cf a b").format, ArchiveFormat::Gnu);
    assert_eq!(create(STAR, "-c f=a b").format, ArchiveFormat::Xstar);
    assert_eq!(
        create(STAR, "-c H=suntar f=a b").format,
        ArchiveFormat::Suntar
    );
    assert_eq!(create(GNU, "-H ustar -cf a b").format, ArchiveFormat::Ustar);
    assert_eq!(create(GNU, "-o -cf a b").format, ArchiveFormat::V7);
    assert_eq!(create(GNU, "--xattrs -cf a b").format, ArchiveFormat::Posix);
    assert_eq!(
        create(GNU, "--pax-option=delete=x -cf a b").format,
        ArchiveFormat::Posix
    );
    // Nothing of this is about reading.
    assert_eq!(create(GNU, "-H ustar -S -tf a"), Create::default());
    let compression = |words: &str| plan(GNU, words).archive.compression;
    assert_eq!(compression("-cf a.tgz b"), Compression::Detect);
    assert_eq!(
        compression("-caf a.tgz b"),
        Compression::Named(CompressionFormat::Gzip)
    );
    assert_eq!(
        compression("-cajf a.tgz b"),
        Compression::Named(CompressionFormat::Bzip2)
    );
    assert_eq!(compression("-caf a.tar b"), Compression::Detect);
    assert!(matches!(
        error(GNU, "-rzf a b"),
        UsageError::BadValue { .. }
    ));
    assert!(matches!(error(GNU, "-rf - b"), UsageError::BadValue { .. }));
    assert!(matches!(
        error(GNU, "--clamp-mtime -cf a b"),
        UsageError::BadValue { .. }
    ));
}

#[test]
fn help_wins_over_mistakes() {
    for line in ["--help", "-x -t --help", "-c --help"] {
        for dialect in [GNU, STAR] {
            assert_eq!(
                try_with(dialect, line, &[], false).unwrap(),
                Assembled::Page(Page::Help)
            );
        }
    }
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let UsageError::Refused { option, instead } = error(GNU, "-xf a --index-file=x") else {
        panic!("not refused")
    };
    assert_eq!(option, "--index-file");
    assert!(instead.contains("-v"));
    let UsageError::Refused { option, .. } = error(STAR, "-x -xmeta f=a") else {
        panic!("not refused")
    };
    assert_eq!(option, "-xmeta");
}

#[test]
fn owners_and_modes_depend_on_who_asks() {
    let of = |line: &str, superuser| {
        let Ok(Assembled::Command(command)) = try_with(GNU, line, &[], superuser) else {
            panic!("{line}")
        };
        (
            command.plan.extract.same_owner,
            command.plan.extract.same_permissions,
        )
    };
    assert_eq!(of("-x", false), (false, false));
    assert_eq!(of("-x", true), (true, true));
    assert_eq!(of("-x --same-owner -p", false), (true, true));
    assert_eq!(
        of("-x --no-same-owner --no-same-permissions", true),
        (false, false)
    );
    assert_eq!(of("-xo", true), (false, true));
    assert_eq!(of("-xp --no-same-permissions", false), (false, false));
    assert_eq!(of("-x --no-same-permissions -p", false), (false, true));
    assert_eq!(plan(GNU, "-x").umask, 0o22);
    assert_eq!(plan(STAR, "-x umask=77").umask, 0o77);
    assert!(!plan(STAR, "-xp -no-p").extract.same_permissions);
}

#[test]
fn durability_from_environment_and_options() {
    let of = |dialect, line: &str, variables: &[(&str, &str)]| {
        command_with(dialect, line, variables).plan.durability.mode
    };
    assert_eq!(of(GNU, "-x", &[]), DurabilityMode::Group);
    assert_eq!(of(STAR, "-x", &[]), DurabilityMode::Each);
    assert_eq!(of(GNU, "-x --sync=batch", &[]), DurabilityMode::Batch);
    assert_eq!(
        of(GNU, "-x --sync=batch --sync=none", &[]),
        DurabilityMode::None
    );
    assert_eq!(
        of(STAR, "-x -no-fsync -do-fsync", &[]),
        DurabilityMode::Each
    );
    assert_eq!(of(STAR, "-x --sync=group", &[]), DurabilityMode::Group);
    assert_eq!(of(STAR, "-x", &[("STAR_FSYNC", "N")]), DurabilityMode::None);
    assert_eq!(of(STAR, "-x", &[("STAR_FSYNC", "Y")]), DurabilityMode::Each);
    assert_eq!(
        of(STAR, "-x -do-fsync", &[("STAR_FSYNC", "N")]),
        DurabilityMode::Each
    );
    for dialect in [GNU, STAR] {
        assert_eq!(
            of(dialect, "-x", &[("DURASTAR_SYNC", "batch")]),
            DurabilityMode::Batch
        );
        assert_eq!(
            of(dialect, "-x --sync=none", &[("DURASTAR_SYNC", "batch")]),
            DurabilityMode::None
        );
        let wrong = try_with(dialect, "-x", &[("DURASTAR_SYNC", "maybe")], false);
        assert!(matches!(wrong, Err(UsageError::BadValue { .. })));
        // Nothing is written, so nothing is promised.
        assert_eq!(of(dialect, "-t --sync=each", &[]), DurabilityMode::None);
    }
    assert_eq!(
        of(
            STAR,
            "-x",
            &[("STAR_FSYNC", "N"), ("DURASTAR_SYNC", "group")]
        ),
        DurabilityMode::Group
    );
    let durability = plan(
        GNU,
        "-x --sync-window=5, --sync-window=,1m --sync-method=fsync --jobs=3",
    );
    assert_eq!(durability.durability.window_members, 5);
    assert_eq!(durability.durability.window_bytes, 1 << 20);
    assert_eq!(durability.durability.method, SyncMethod::Fsync);
    assert_eq!(durability.jobs.map(std::num::NonZero::get), Some(3));
    assert!(!durability.durability.report_settled);
    assert!(plan(GNU, "-x --settled-log=l").durability.report_settled);
}

#[test]
fn the_rest_of_the_environment_of_star() {
    let found = command_with(
        STAR,
        "-x",
        &[
            ("STAR_FIFOSIZE", "2m"),
            ("STAR_SECURE_LINKS", "N"),
            ("STAR_COMPRESS_FLAG", "-9"),
            ("TAPE", "/dev/tape"),
        ],
    );
    assert_eq!(found.plan.archive.fifo_bytes, 2 << 20);
    assert!(!found.plan.extract.secure_links);
    assert_eq!(found.plan.archive.volumes, [Volume::Standard]);
    let found = command_with(
        STAR,
        "-xT fs=1m -secure-links",
        &[
            ("STAR_FIFOSIZE", "2m"),
            ("STAR_SECURE_LINKS", "N"),
            ("TAPE", "/dev/tape"),
        ],
    );
    assert_eq!(found.plan.archive.fifo_bytes, 1 << 20);
    assert!(found.plan.extract.secure_links);
    assert_eq!(
        found.plan.archive.volumes,
        [Volume::File("/dev/tape".into())]
    );
    assert!(!plan(STAR, "-x -no-secure-links").extract.secure_links);
    try_with(STAR, "-xT", &[], false).unwrap_err();
    try_with(STAR, "-x", &[("STAR_FIFOSIZE", "big")], false).unwrap_err();
}

#[test]
fn archives() {
    let volumes = |dialect, line: &str, variables: &[(&str, &str)]| {
        command_with(dialect, line, variables).plan.archive.volumes
    };
    assert_eq!(volumes(GNU, "-t", &[]), [Volume::Standard]);
    assert_eq!(
        volumes(GNU, "-t", &[("TAPE", "/dev/t")]),
        [Volume::File("/dev/t".into())]
    );
    assert_eq!(
        volumes(GNU, "-tf -", &[("TAPE", "/dev/t")]),
        [Volume::Standard]
    );
    assert_eq!(
        volumes(STAR, "-t f=a file=b", &[]),
        [Volume::File("a".into()), Volume::File("b".into())]
    );
    assert!(matches!(
        error(GNU, "-t -f a -f b"),
        UsageError::SeveralArchives
    ));
    assert!(matches!(error(STAR, "-t f=a f=-"), UsageError::Other(_)));
    assert_eq!(plan(GNU, "-t -b 4").archive.record_bytes, 2048);
    assert_eq!(
        plan(GNU, "-t -b 4 --record-size=1k").archive.record_bytes,
        1024
    );
    assert!(plan(GNU, "-ti").archive.ignore_zeros);
    assert_eq!(plan(GNU, "-t").archive.seek, Seek::Auto);
    assert_eq!(plan(GNU, "-tn").archive.seek, Seek::Always);
    assert_eq!(plan(GNU, "-tn --no-seek").archive.seek, Seek::Never);
    assert_eq!(
        plan(GNU, "-t --fifo-size=64MiB").archive.fifo_bytes,
        64 << 20
    );
}

#[test]
fn compression() {
    let of = |dialect, line: &str| plan(dialect, line).archive.compression;
    for (gnu, star, format) in [
        ("-tz", "-tz", CompressionFormat::Gzip),
        ("-tj", "-t -bz", CompressionFormat::Bzip2),
        ("-tj", "-tj", CompressionFormat::Bzip2),
        ("-tJ", "-tJ", CompressionFormat::Xz),
        ("-t --lzma", "-t -lzma", CompressionFormat::Lzma),
        ("-t --zstd", "-t -zstd", CompressionFormat::Zstd),
        ("-t --lzip", "-t -lzip", CompressionFormat::Lzip),
        ("-t --lz4", "-t -xz -xz", CompressionFormat::Lz4),
        ("-tZ", "-tZ", CompressionFormat::Compress),
    ] {
        assert_eq!(of(GNU, gnu), Compression::Named(format), "{gnu}");
        if format != CompressionFormat::Lz4 {
            assert_eq!(of(STAR, star), Compression::Named(format), "{star}");
        }
    }
    assert_eq!(
        of(GNU, "-t -I prog"),
        Compression::Program(b"prog".to_vec())
    );
    assert_eq!(
        of(STAR, "-t compress-program=p"),
        Compression::Program(b"p".to_vec())
    );
    assert_eq!(
        of(GNU, "-tzz -I gzip"),
        Compression::Program(b"gzip".to_vec())
    );
    assert!(matches!(error(GNU, "-tzj"), UsageError::Compression));
    assert!(matches!(error(STAR, "-tz -bz"), UsageError::Compression));
}

fn wanted(text: &str, directory: usize) -> Wanted {
    Wanted {
        pattern: Pattern::literal(text.as_bytes()),
        directory,
    }
}

#[test]
fn directories_hold_for_what_follows() {
    let of = |dialect, line: &str| {
        let plan = plan(dialect, line);
        (plan.directories, plan.selection.wanted)
    };
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(of(GNU, "-x"), (paths(&["."]), vec![]));
    assert_eq!(of(GNU, "-x -C d"), (paths(&["d"]), vec![]));
    assert_eq!(of(GNU, "-x -C d -C e"), (paths(&["d/e"]), vec![]));
    assert_eq!(of(STAR, "-x C=d C=e"), (paths(&["e"]), vec![]));
    assert_eq!(
        of(GNU, "-x a -C d b c -C /e"),
        (
            paths(&[".", "d", "/e"]),
            vec![wanted("a", 0), wanted("b", 1), wanted("c", 1)]
        )
    );
    assert_eq!(of(GNU, "-xT names").0, paths(&[".", "d"]));
}

#[test]
fn members_by_name() {
    let of = |dialect, line: &str| plan(dialect, line).selection;
    assert_eq!(
        of(GNU, "-t d/ ///").wanted,
        [wanted("d", 0), wanted("/", 0)]
    );
    assert_eq!(
        of(GNU, "-tT names").wanted,
        [wanted("a", 0), wanted("b\tc", 1)]
    );
    assert_eq!(
        of(GNU, "-t --null -T nul").wanted,
        [wanted("-a", 0), wanted("b", 0)]
    );
    assert_eq!(of(GNU, "-t --add-file=-x").wanted, [wanted("-x", 0)]);
    // star takes names in lists for themselves only.
    assert!(
        of(STAR, "-t list=names")
            .wanted
            .iter()
            .all(|wanted| !wanted.pattern.recursive)
    );
    assert!(of(STAR, "-t names").wanted[0].pattern.recursive);
    assert_eq!(of(STAR, "-t -read0 list=nul").wanted.len(), 2);
    let found = of(STAR, "-t pat=*.c C=d pat=#x -V a");
    let patterns = found.star_patterns.iter();
    let patterns: Vec<_> = patterns.map(|one| (&one.text[..], one.directory)).collect();
    assert_eq!(patterns, [(&b"*.c"[..], 0), (b"#x", 1)]);
    assert!(found.invert_star_patterns && found.wanted == [wanted("a", 1)]);
    assert!(!of(STAR, "-t pat=a").invert_star_patterns);
    assert_eq!(of(GNU, "-tK m").starting_at.as_deref(), Some(&b"m"[..]));
    assert!(matches!(error(GNU, "-tT options"), UsageError::Other(_)));
    assert!(matches!(error(GNU, "-tT missing"), UsageError::File { .. }));
}

#[test]
fn matching_rules_hold_for_what_follows() {
    let excludes = |line: &str| plan(GNU, line).selection.excludes;
    let wants = |line: &str| plan(GNU, line).selection.wanted[0].pattern.clone();
    assert_eq!(excludes("-t --exclude=*.o"), [Pattern::exclude(b"*.o")]);
    assert_eq!(
        excludes("-tX patterns"),
        [Pattern::exclude(b"*.o"), Pattern::exclude(b"core")]
    );
    let all =
        excludes("-t --exclude=a --anchored --no-wildcards --exclude=b --no-anchored --exclude=c");
    assert_eq!(all[0], Pattern::exclude(b"a"));
    assert!(all[1].anchored && !all[1].wildcards);
    assert!(!all[2].anchored && !all[2].wildcards);
    assert!(!wants("-t a").wildcards && wants("-t --wildcards a").wildcards);
    assert!(!wants("-t --wildcards --no-wildcards a").wildcards);
    assert!(wants("-t a").anchored && !wants("-t --no-anchored a").anchored);
    assert!(wants("-t --ignore-case a").ignore_case);
    assert!(!wants("-t --ignore-case --no-ignore-case a").ignore_case);
    assert!(!wants("-t --no-wildcards-match-slash a").wildcards_match_slash);
    assert!(
        !wants("-t --no-recursion a").recursive
            && wants("-t --no-recursion --recursion a").recursive
    );
    assert!(
        excludes("-t --exclude-vcs")
            .iter()
            .any(|pattern| pattern.text == b".git")
    );
    assert_eq!(excludes("-t --exclude-backups").len(), 3);
    let names = plan(STAR, "-t -X patterns").selection.excludes;
    assert!(
        names
            .iter()
            .all(|name| !name.wildcards && !name.recursive && name.anchored)
    );
}

#[test]
fn names_that_lead_out() {
    let of = |dialect, line: &str| {
        let selection = plan(dialect, line).selection;
        (selection.absolute_names, selection.keep_dot_dot)
    };
    assert_eq!(of(GNU, "-x"), (false, false));
    assert_eq!(of(GNU, "-xP"), (true, true));
    assert_eq!(of(STAR, "-x"), (false, false));
    assert_eq!(of(STAR, "-x -/"), (true, false));
    assert_eq!(of(STAR, "-x -.."), (false, true));
}

#[test]
fn what_is_printed() {
    let wishes = command(
        GNU,
        "-tvv --totals --checkpoint=5 --fifo-stats --sync-stats --report=r --settled-log=s --null --full-time --utc -R \
         --show-transformed-names --quoting-style=c --warning=no-timestamp --warning=all --totals=HUP",
    )
    .wishes;
    assert_eq!(wishes.verbose, 2);
    assert!(wishes.totals && wishes.fifo_stats && wishes.sync_stats && wishes.full_time);
    assert!(wishes.utc && wishes.block_number && wishes.transformed_names && wishes.nul_separated);
    assert_eq!(wishes.checkpoint, 5);
    assert_eq!(wishes.report.as_deref(), Some(&b"r"[..]));
    assert_eq!(wishes.settled_log.as_deref(), Some(&b"s"[..]));
    assert_eq!(wishes.warnings, [("timestamp", false), ("all", true)]);
    assert_eq!(wishes.totals_on.len(), 1);
    assert_eq!(command(GNU, "-t").wishes, super::Wishes::default());
    let wishes = command(STAR, "-tv -no-statistics -block-number -nowarn").wishes;
    assert!(wishes.no_statistics && wishes.block_number);
}

#[test]
fn output_and_times_and_directories() {
    assert_eq!(plan(GNU, "-xO").job, Job::ExtractToOutput);
    assert_eq!(plan(GNU, "-tO").job, Job::List);
    assert_eq!(plan(STAR, "-x -to-stdout").job, Job::ExtractToOutput);
    assert!(!plan(GNU, "-xm").extract.mtime);
    assert!(plan(STAR, "-x -d").extract.no_directories);
    assert!(plan(GNU, "-x --numeric-owner").extract.numeric_owner);
}

#[test]
fn attributes_beyond_the_mode() {
    let extract = |dialect, line: &str| plan(dialect, line).extract;
    let plain = extract(GNU, "-x");
    assert!(!plain.acls && !plain.selinux && !plain.file_flags && plain.xattrs.is_none());
    assert!(extract(GNU, "-x --acls").acls && !extract(GNU, "-x --acls --no-acls").acls);
    assert!(extract(GNU, "-x --selinux").selinux);
    assert!(!extract(GNU, "-x --selinux --no-selinux").selinux);
    let all = extract(GNU, "-x --xattrs").xattrs.unwrap();
    assert!(all.include.is_empty() && all.exclude.is_empty());
    assert!(extract(GNU, "-x --xattrs --no-xattrs").xattrs.is_none());
    let line = "-x --xattrs-include=* --xattrs-exclude=user.a --xattrs";
    let some = extract(GNU, line).xattrs.unwrap();
    assert_eq!(some.include[0].text, b"*");
    assert_eq!(some.exclude[0].text, b"user.a");
    assert!(some.include[0].wildcards && !some.exclude[0].recursive);
    let star = extract(STAR, "-x -acl -xattr-linux -xfflags");
    assert!(star.acls && star.same_permissions && star.file_flags);
    assert_eq!(star.xattrs.unwrap().include[0].text, b"*");
}

/// The words of a mistake that belong to no value.
fn complaint(dialect: Dialect, line: &str) -> String {
    match error(dialect, line) {
        UsageError::BadValue {
            bad: Bad::Usage(what),
            ..
        } => what,
        UsageError::BadValue {
            bad: Bad::Value(what),
            value,
            ..
        } => format!("{}: {what}", value.escape_ascii()),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn names_are_changed() {
    let of = |dialect, line: &str| plan(dialect, line).selection;
    let found = of(
        GNU,
        "-x --xform=flags=r;s/a/b/ --strip-components=2 --transform=s,c,d,gh;s/e/f/S",
    );
    assert_eq!(found.strip_components, 2);
    let [first, second, third] = &found.transforms[..] else {
        panic!("{:?}", found.transforms)
    };
    let only_names = Scope {
        names: true,
        hard_links: false,
        symlinks: false,
    };
    // What flags= has said holds for the options that follow.
    assert_eq!((first.scope, third.scope), (only_names, only_names));
    assert!(second.all_matches && second.scope.hard_links && !second.scope.symlinks);
    for (line, expected) in [
        ("-x --xform=foo", "Invalid transform expression"),
        ("-x --xform=s/a", "Invalid transform expression"),
        (
            "-x --xform=s/a/b/q",
            "Unknown flag in transform expression: q",
        ),
        ("-x --xform=flags=q;s/a/b/", "Unknown transform flag: q"),
        (
            "-x --xform=s/a/\\3/",
            "Invalid transform replacement: back reference out of range",
        ),
    ] {
        assert_eq!(complaint(GNU, line), expected, "{line}");
    }
    let found = command(STAR, "-t -s /a/b/g -s ,c,,");
    assert_eq!(found.plan.selection.transforms.len(), 2);
    assert!(found.plan.selection.transforms[0].last && found.wishes.transformed_names);
}

#[test]
fn listing_changes_no_names_unless_they_are_shown() {
    let line = "--strip-components=1 --xform=s/a/b/ --one-top-level=d";
    let hidden = plan(GNU, &format!("-t {line}")).selection;
    assert_eq!((hidden.strip_components, hidden.one_top_level), (0, None));
    for operation in ["-t --show-transformed-names", "-x", "-xO"] {
        let shown = plan(GNU, &format!("{operation} {line}")).selection;
        assert_eq!((shown.strip_components, shown.transforms.len()), (1, 1));
        assert_eq!(shown.one_top_level.as_deref(), Some(&b"d"[..]));
    }
}

#[test]
fn one_directory_for_everything() {
    let of = |line: &str| plan(GNU, line).selection.one_top_level;
    assert_eq!(of("-x --one-top-level=d"), Some(b"d".to_vec()));
    assert_eq!(of("-x --one-top-level=./d//e/"), Some(b"d/e".to_vec()));
    assert_eq!(of("-x --one-top-level=."), Some(Vec::new()));
    assert_eq!(of("-x --one-top-level -f x/a.tar.gz"), Some(b"a".to_vec()));
    assert_eq!(
        of("-x --one-top-level --one-top-level=d"),
        Some(b"d".to_vec())
    );
    for line in ["-x", "-xf -", "-xf a", "-tf a.tar.bak"] {
        assert_eq!(
            complaint(GNU, &format!("{line} --one-top-level")),
            "Cannot deduce top-level directory name; please set it explicitly with --one-top-level=DIR"
        );
    }
}

#[test]
fn members_by_age_number_and_size() {
    let of = |dialect, line: &str| plan(dialect, line).selection;
    let limit = |seconds, nanos, inclusive| {
        Some(DateLimit {
            time: Timestamp { seconds, nanos },
            stamp: Stamp::Modified,
            inclusive,
        })
    };
    assert_eq!(of(GNU, "-t -N @7.5").newer, limit(7, 500_000_000, true));
    assert_eq!(of(GNU, "-t --newer-mtime=@7").newer, limit(7, 0, true));
    assert_eq!(of(GNU, "-t --after-date=./file").newer, limit(5, 6, true));
    assert_eq!(of(STAR, "-t newer=file").newer, limit(5, 6, false));
    assert!(matches!(error(GNU, "-t -N /no"), UsageError::File { .. }));
    assert!(matches!(
        error(STAR, "-t newer=no"),
        UsageError::File { .. }
    ));
    assert_eq!(
        complaint(GNU, "-t -N @1 --newer-mtime=@1"),
        "More than one threshold date"
    );
    assert!(complaint(GNU, "-t -N file").starts_with("Not a date: 'file';"));
    assert_eq!(of(STAR, "-t maxsize=2").max_size, Some(2048));

    let notes = |line: &str| command(GNU, line).wishes.notes;
    assert_eq!(
        notes("-t --utc -N @1000000000"),
        [b"Option --after-date: Treating date '@1000000000' as 2001-09-09 01:46:40"]
    );
    assert_eq!(notes("-xv --newer-mtime=@0").len(), 1);
    assert_eq!(notes("-x -N @0"), [b""; 0]);
    assert_eq!(notes("-t -N ./file"), [b""; 0]);

    assert_eq!(of(GNU, "-t a").occurrence, None);
    let number = |line: &str| of(GNU, line).occurrence.map(u64::from);
    assert_eq!(number("-t --occurrence a"), Some(1));
    assert_eq!(number("-t --occurrence=3 a"), Some(3));
    assert_eq!(number("-t --occurrence=3 --occurrence=0 a"), None);
    assert_eq!(
        complaint(GNU, "-t --occurrence=2"),
        "--occurrence is meaningless without a file list"
    );
}

#[test]
fn full_directories_in_the_way() {
    // GNU tar's option decides by itself what is done with files that are there.
    for line in ["", "-k", "--overwrite", "-U", "--keep-newer-files"] {
        let extract = plan(GNU, &format!("-x {line} --recursive-unlink")).extract;
        assert!(extract.remove_recursively, "{line}");
        assert_eq!(extract.existing, Existing::RemoveFirst, "{line}");
    }
    let extract = plan(STAR, "-x -U -remove-recursive").extract;
    assert!(extract.remove_recursively);
    assert_eq!(extract.existing, Existing::Replace);
    assert!(!plan(GNU, "-xU").extract.remove_recursively);
}

#[test]
fn bytes_that_are_quoted_too() {
    let of = |line: &str| command(GNU, line).wishes.quoted_too;
    assert_eq!(of("-t --quote-chars=ab --quote-chars=c"), b"abc");
    assert_eq!(of("-t --quote-chars=abc --no-quote-chars=bx"), b"ac");
    assert_eq!(of("-t --no-quote-chars=a --quote-chars=a"), b"a");
}
