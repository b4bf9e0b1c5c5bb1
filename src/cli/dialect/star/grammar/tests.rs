//! Each row of the table in each spelling, and what is a bundle, a value or a member.

use super::{Dialect, Gives, OPTIONS, UsageError, Value, parse};
use crate::cli::dialect::star::voice::usage_error;
use crate::cli::dialect::voice::Line;

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

fn settings(line: &str) -> Vec<String> {
    parse(&words(line))
        .unwrap_or_else(|error| panic!("{line}: {error:?}"))
        .iter()
        .map(|given| format!("{:?}", given.setting))
        .collect()
}

fn error(line: &str) -> UsageError {
    parse(&words(line)).map(drop).unwrap_err()
}

fn said(line: &str) -> String {
    let Line::Said(text) = &usage_error(&error(line), b"star")[0] else {
        panic!("{line}");
    };
    String::from_utf8_lossy(text).into_owned()
}

fn sample(name: &str) -> &'static str {
    match name {
        "sync" => "batch",
        "sync-window" => "8,1m",
        "sync-method" => "fsync",
        "jobs" | "b" | "blocks" => "3",
        "bs" | "fs" | "fifo-size" => "64k",
        "umask" => "22",
        "maxsize" => "4",
        "s" => "/a/b/g",
        "H" => "exustar",
        "compress-level" => "3",
        _ => "word",
    }
}

#[test]
fn every_spelling_of_a_row_gives_the_same() {
    for row in Dialect::Star.options() {
        let own = !OPTIONS.iter().any(|theirs| std::ptr::eq(theirs, row));
        let names: Vec<String> = row
            .shorts
            .chars()
            .map(String::from)
            .chain(row.longs.iter().map(|long| (*long).to_owned()))
            .collect();
        let value = sample(&names[0]);
        let mut spellings = Vec::new();
        for name in &names {
            match row.value {
                Value::None => {
                    spellings.push(format!("-{name}"));
                    spellings.push(format!("--{name}"));
                }
                _ => {
                    spellings.push(format!("-{name}={value}"));
                    spellings.push(format!("--{name}={value}"));
                    spellings.push(format!("-{name} {value}"));
                    if !own {
                        spellings.push(format!("-t {name}={value}"));
                    }
                }
            }
        }
        let expected = settings(&spellings[0]);
        assert_eq!(expected.len(), 1, "{names:?}");
        for spelling in &spellings {
            let found = settings(spelling);
            assert_eq!(found.last(), expected.last(), "{spelling}");
        }
        if matches!(row.gives, Gives::Refused(_)) {
            assert!(expected[0].starts_with("Refused"), "{names:?}");
        }
    }
}

#[test]
fn own_options_need_a_dash() {
    assert_eq!(settings("-x sync=none").len(), 2);
    assert!(settings("-x sync=none")[1].starts_with("Member"));
    assert_eq!(settings("-x --sync=none")[1], "Durability(None)");
}

#[test]
fn a_name_is_not_a_bundle() {
    // `-xz` would be x and z, `-bz` b and z, `-fs` f and s.
    assert!(settings("-xz")[0].contains("Xz"));
    assert!(settings("-bz")[0].contains("Bzip2"));
    assert_eq!(settings("-xdir"), ["DirectoriesAlways"]);
    assert_eq!(settings("-xdot"), ["DotAlways"]);
    assert_eq!(settings("-fs=64m"), ["FifoBytes(67108864)"]);
    assert_eq!(settings("-time"), ["Time"]);
    assert_eq!(settings("-tpath"), ["PathsOnly"]);
}

#[test]
fn letters_may_be_bundled() {
    assert_eq!(settings("-xvp"), settings("-x -v -p"));
    assert_eq!(settings("-xp"), settings("-x -p"));
    assert_eq!(settings("-xvf a.tar"), settings("-x -v f=a.tar"));
    assert_eq!(settings("-xvf=a.tar"), settings("-x -v f=a.tar"));
    assert_eq!(settings("-xU/"), settings("-x -U -/"));
}

#[test]
fn the_classic_syntax() {
    assert_eq!(settings("tvf archive.tar"), settings("-t -v f=archive.tar"));
    assert_eq!(settings("xvbf 3 a.tar m"), settings("-x -v b=3 f=a.tar m"));
    // A value with a dash stays a value.
    assert_eq!(settings("tf -v")[1], format!("Archive({:?})", b"-v"));
    assert_eq!(said("tq"), "Illegal option 'q' for compat mode.");
    assert_eq!(said("tf"), "Missing arg for '-f' option.");
    // With an equals sign it is an option like any other.
    assert_eq!(settings("f=a.tar -t"), settings("-f=a.tar -t"));
}

#[test]
fn members_are_what_is_no_option() {
    assert_eq!(settings("-x a=b")[1], format!("Member({:?})", b"a=b"));
    assert_eq!(settings("-x -- -v f=a").len(), 3);
    assert_eq!(settings("-x -")[1], "Member([45])");
    assert_eq!(settings("-x ./f=a")[1], format!("Member({:?})", b"./f=a"));
}

#[test]
fn numbers_count_in_their_units() {
    assert_eq!(settings("-t bs=7x8k"), ["List", "RecordBytes(57344)"]);
    assert_eq!(settings("-t b=20"), ["List", "RecordBytes(10240)"]);
    assert_eq!(settings("-t blocks=10k"), ["List", "RecordBytes(10240)"]);
    for line in [
        "-t bs=100",
        "-t bs=0",
        "-t b=0",
        "-t b=1.",
        "-t bs=x",
        "-t fs=1q",
        "-t umask=9",
    ] {
        assert!(matches!(error(line), UsageError::BadValue { .. }), "{line}");
    }
    assert_eq!(said("-t bs=100"), "Invalid block size 100.");
    assert_eq!(said("-t fs=1q"), "Badly formed number '1q'.");
}

#[test]
fn patterns_and_substitutions_are_looked_at() {
    assert_eq!(settings("-t pat=*.c pattern={a}!{b}#c -V").len(), 4);
    assert_eq!(said("-t pat={a"), "Bad pattern '{a'.");
    assert_eq!(settings("-x -s /a/b/ s=,{c},d,g").len(), 3);
    assert_eq!(
        said("-x -s /a/b"),
        "Bad substitution: not of the form s/expression/replacement/flags."
    );
    assert_eq!(said("-x -s /a/b/q"), "Bad substitution: unknown flag 'q'.");
    assert_eq!(settings("-t maxsize=4")[1], "MaxSize(4096)");
    assert_eq!(settings("-t maxsize=4.")[1], "MaxSize(4)");
    assert_eq!(settings("-t maxsize=1m")[1], "MaxSize(1048576)");
    assert_eq!(said("-t maxsize=x"), "Badly formed number 'x'.");
}

#[test]
fn unknown_options() {
    assert_eq!(said("-bogus"), "Bad Option: -bogus.");
    assert_eq!(said("--bogus"), "Bad Option: --bogus.");
    assert_eq!(said("-x -bogus=1"), "Bad Option: -bogus=1.");
    assert_eq!(said("-Q"), "Bad Option: -Q.");
    // Letters with two dashes are no bundle.
    assert_eq!(said("--xv"), "Bad Option: --xv.");
    // A value attached to a letter could be any misspelt name.
    assert_eq!(said("-filename"), "Bad Option: -filename.");
}

#[test]
fn usage_follows_a_mistake() {
    let lines = usage_error(&error("-bogus"), b"star");
    assert_eq!(
        lines[1],
        Line::plain("Usage:\tstar cmd [options] file1 ... filen")
    );
}

#[test]
fn no_two_rows_share_a_name() {
    let mut names: Vec<String> = Dialect::Star
        .options()
        .flat_map(|row| {
            let shorts = row.shorts.chars().map(String::from);
            shorts.chain(row.longs.iter().map(|long| (*long).to_owned()))
        })
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn nothing_that_star_lists_is_unknown() {
    // The names in star's -help and -xhelp, and those of its manual that are in neither.
    const NAMES: &str = "c u r x t n copy xcopy diff help xhelp version blocks b file f T 0 1 2 3 4 5 6 7 fifo no-fifo \
        shm v block-number tpath H artype print-artype C bsdchdir find Z z j bz lzo 7z xz lzip zstd lzma freeze \
        compress-program B i d m o nochown pax-o pax-p a atime p no-p l h L pax-L pax-H pax-P D M xdev w pax-i O P S F \
        U uncond-rename diffopts debug xdebug xd pax-ls silent lowmem not V pax-match pax-n notarg pax-c VOLHDR xdir \
        xdot dirmode link-dirs dump restore partial force-restore no-xheader meta xmeta dumpmeta keep-old-files k \
        refresh-old-files refresh / .. secure-links no-secure-links no-dirslash list X exclude-from pkglist read0 \
        data-change-warn e errctl dodesc pattern pat match-tree s level cumulative tardumps wtardumps dumpdate fs-name \
        maxsize newer multivol new-volume-script ctime nodump acl xattr xattr-linux xfflags prinodes bs fs tsize qic24 \
        qic120 qic150 qic250 qic525 no-fsync do-fsync nowarn time no-statistics cpio-statistics fifostats numeric \
        newest newest-file hpdev modebits copylinks copyhardlinks copysymlinks copydlinks hardlinks link-data symlinks \
        signed-checksum rmt rsh sparse force-hole to-stdout wready force-remove ask-remove remove-first \
        remove-recursive keep-nonempty-dirs install dir-owner dir-group umask onull nullout force-local one-file I";
    for name in NAMES.split_whitespace() {
        assert!(super::named(name.as_bytes()).is_some(), "{name}");
    }
}
