//! Each row of the table in each spelling, and mistakes in GNU tar's words.

use super::{Category, Dialect, Given, Gives, Setting, UsageError, Value, parse, split_words};
use crate::cli::dialect::gnu::voice::{Marks, usage_error};
use crate::cli::dialect::voice::Line;

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| word.as_bytes().to_vec())
        .collect()
}

/// The settings of a command line, as text.
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

/// What is printed about a wrong command line, in a locale without curly marks.
fn said(line: &str) -> String {
    usage_error(&error(line), b"tar", Marks::of(&|_| None))
        .iter()
        .map(|line| match line {
            Line::Said(text) => format!("tar: {}\n", String::from_utf8_lossy(text)),
            Line::Plain(text) => format!("{}\n", String::from_utf8_lossy(text)),
        })
        .collect()
}

/// A value that this option takes.
fn sample(name: &str) -> &'static str {
    match name {
        "sync" => "batch",
        "sync-window" => "8,1m",
        "sync-method" => "fsync",
        "fifo-size" | "record-size" => "64k",
        "jobs" | "blocking-factor" | "strip-components" | "checkpoint" | "occurrence" => "3",
        "quoting-style" => "c",
        "totals" => "USR1",
        "warning" => "no-timestamp",
        "atime-preserve" => "system",
        _ => "word",
    }
}

#[test]
fn every_spelling_of_a_row_gives_the_same() {
    for row in Dialect::Gnu.options() {
        let name = row.longs.first().copied().unwrap_or(row.shorts);
        let value = sample(name);
        let mut spellings = Vec::new();
        for short in row.shorts.chars() {
            match row.value {
                Value::Required(_) => {
                    spellings.push(format!("-{short}{value}"));
                    spellings.push(format!("-{short} {value}"));
                    spellings.push(format!("{short} {value}"));
                }
                _ => {
                    spellings.push(format!("-{short}"));
                    spellings.push(format!("{short}"));
                }
            }
        }
        for long in row.longs {
            match row.value {
                Value::None => spellings.push(format!("--{long}")),
                Value::Required(_) => {
                    spellings.push(format!("--{long}={value}"));
                    spellings.push(format!("--{long} {value}"));
                }
                Value::Optional(_) => spellings.push(format!("--{long}={value}")),
            }
        }
        let expected = settings(&spellings[0]);
        assert_eq!(expected.len(), 1, "{name}");
        for spelling in &spellings {
            assert_eq!(settings(spelling), expected, "{spelling}");
        }
        if matches!(row.gives, Gives::Refused(_)) {
            assert!(expected[0].starts_with("Refused"), "{name}");
        }
    }
}

#[test]
fn an_option_without_its_optional_value() {
    assert_eq!(settings("--checkpoint"), ["Checkpoint(10)"]);
    assert_eq!(settings("--checkpoint=7"), ["Checkpoint(7)"]);
    assert_eq!(settings("--checkpoint=-1"), ["Checkpoint(0)"]);
    assert_eq!(settings("--totals"), ["Totals"]);
    assert_eq!(settings("--occurrence"), ["Occurrence(Some(1))"]);
    assert_eq!(settings("--occurrence=0"), ["Occurrence(None)"]);
    assert_eq!(settings("--one-top-level"), ["OneTopLevel(None)"]);
    assert_eq!(settings("--totals=SIGHUP").len(), 1);
    // Only an equals sign attaches it.
    assert_eq!(settings("--totals USR1").len(), 2);
}

#[test]
fn values_that_cannot_be_used() {
    for (name, value) in [
        ("sync", "often"),
        ("sync", ""),
        ("sync-window", "x"),
        ("sync-window", ","),
        ("sync-window", "0,"),
        ("sync-window", "1,2,3"),
        ("sync-method", "syncfs"),
        ("fifo-size", "big"),
        ("jobs", "0"),
        ("one-top-level", "/a"),
        ("one-top-level", "a/../b"),
        ("jobs", "-1"),
        ("blocking-factor", "0"),
        ("blocking-factor", "1k"),
        ("blocking-factor", "99999999999"),
        ("record-size", "511"),
        ("record-size", "0"),
        ("record-size", "lots"),
        ("strip-components", "-1"),
        ("strip-components", ""),
        ("checkpoint", "x"),
        ("checkpoint", ""),
        ("quoting-style", "pretty"),
        ("quoting-style", "shell-escape"),
        ("totals", "KILL"),
        ("warning", "noise"),
    ] {
        let line = format!("--{name}={value}");
        assert!(
            matches!(error(&line), UsageError::BadValue { .. }),
            "{line}"
        );
    }
}

#[test]
fn parts_of_a_window_may_be_left_out() {
    assert!(settings("--sync-window=5,")[0].contains("members: Some(5), bytes: None"));
    assert!(settings("--sync-window=5")[0].contains("members: Some(5), bytes: None"));
    assert!(settings("--sync-window=,2m")[0].contains("members: None, bytes: Some(2097152)"));
}

#[test]
fn bundles_and_old_style_keys() {
    let expected = settings("-x -v -f a.tar");
    for line in [
        "-xvf a.tar",
        "-xvfa.tar",
        "xvf a.tar",
        "xfv a.tar",
        "-x -vf a.tar",
    ] {
        let mut found = settings(line);
        let mut wanted = expected.clone();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{line}");
    }
    assert_eq!(settings("xbf 3 a.tar m"), settings("-x -b 3 -f a.tar m"));
    // A value of an old-style key may look like an option.
    assert_eq!(settings("xf -v"), ["Extract", "Archive([45, 118])"]);
}

#[test]
fn an_equals_sign_after_a_letter_belongs_to_the_value() {
    let file = format!("Archive({:?})", b"=a");
    assert_eq!(settings("-xf=a"), ["Extract".to_owned(), file.clone()]);
    assert_eq!(settings("-x -f =a"), ["Extract".to_owned(), file]);
    // Here the word is a value, not a bundle.
    assert_eq!(
        settings("--exclude -f=a"),
        [format!("Exclude({:?})", b"-f=a")]
    );
    assert_eq!(settings("-f -f=a"), [format!("Archive({:?})", b"-f=a")]);
}

#[test]
fn order_is_kept_across_options() {
    assert_eq!(
        settings("-x a -C d b --exclude=e c -C f -- -g"),
        [
            "Extract",
            "Member([97])",
            "Directory([100])",
            "Member([98])",
            "Exclude([101])",
            "Member([99])",
            "Directory([102])",
            "Member([45, 103])",
        ]
    );
    assert_eq!(settings("-v -t -v -v").len(), 4);
}

#[test]
fn names_need_not_be_text() {
    let given = parse(&[b"-xf".to_vec(), b"a\xff".to_vec(), b"b\xfe".to_vec()]).unwrap();
    assert!(matches!(&given[1].setting, Setting::Archive(name) if name == b"a\xff"));
    assert!(matches!(&given[2].setting, Setting::Member(name) if name == b"b\xfe"));
}

#[test]
fn long_names_may_be_abbreviated() {
    assert_eq!(settings("--extr"), ["Extract"]);
    assert_eq!(settings("--verbo"), ["Verbose"]);
    assert_eq!(settings("--strip=2"), ["StripComponents(2)"]);
    assert_eq!(settings("--exclude=a"), settings("-x --exclude=a")[1..]);
    // Two names of one option are no ambiguity.
    assert_eq!(settings("--show-t"), ["TransformedNames(true)"]);
}

#[test]
fn every_exact_name_wins_over_longer_ones() {
    for row in Dialect::Gnu.options() {
        for long in row.longs {
            let found = super::meant(long.as_bytes());
            assert_eq!(found.len(), 1, "{long}");
        }
    }
}

#[test]
fn no_two_rows_share_a_name() {
    let mut names: Vec<String> = Dialect::Gnu
        .options()
        .flat_map(|row| {
            let shorts = row.shorts.chars().map(|short| format!("-{short}"));
            shorts.chain(row.longs.iter().map(|long| format!("--{long}")))
        })
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn nothing_that_gnu_tar_lists_is_unknown() {
    // The options of `tar --help`, version 1.34.
    const SHORTS: &str = "AcdrtuxgGnSCTXkUWOmpsfFLMbBiHVaIjJzZhKNPlRvwo?";
    const LONGS: &str = "catenate concatenate create delete diff compare append test-label list update extract get \
        check-device listed-incremental incremental hole-detection ignore-failed-read level no-check-device no-seek \
        seek occurrence sparse-version sparse add-file directory exclude exclude-backups exclude-caches \
        exclude-caches-all exclude-caches-under exclude-ignore exclude-ignore-recursive exclude-tag exclude-tag-all \
        exclude-tag-under exclude-vcs exclude-vcs-ignores no-null no-recursion no-unquote no-verbatim-files-from null \
        recursion files-from unquote verbatim-files-from exclude-from anchored ignore-case no-anchored \
        no-ignore-case no-wildcards no-wildcards-match-slash wildcards wildcards-match-slash keep-directory-symlink \
        keep-newer-files keep-old-files no-overwrite-dir one-top-level overwrite overwrite-dir recursive-unlink \
        remove-files skip-old-files unlink-first verify ignore-command-error no-ignore-command-error to-stdout \
        to-command atime-preserve clamp-mtime delay-directory-restore group group-map mode mtime touch \
        no-delay-directory-restore no-same-owner no-same-permissions numeric-owner owner owner-map \
        preserve-permissions same-permissions same-owner sort preserve-order same-order acls no-acls no-selinux \
        no-xattrs selinux xattrs xattrs-exclude xattrs-include force-local file info-script new-volume-script \
        tape-length multi-volume rmt-command rsh-command volno-file blocking-factor read-full-records ignore-zeros \
        record-size format old-archive portability pax-option posix label auto-compress use-compress-program bzip2 xz \
        lzip lzma lzop no-auto-compress zstd gzip gunzip ungzip compress uncompress backup hard-dereference \
        dereference starting-file newer-mtime newer after-date one-file-system absolute-names suffix \
        strip-components transform xform checkpoint checkpoint-action full-time index-file check-links \
        no-quote-chars quote-chars quoting-style block-number show-defaults show-omitted-dirs \
        show-snapshot-field-ranges show-transformed-names show-stored-names totals utc verbose warning interactive \
        confirmation help restrict usage version";
    for short in SHORTS.bytes() {
        assert!(super::short(short).is_some(), "-{}", char::from(short));
    }
    for long in LONGS.split_whitespace() {
        let known = Dialect::Gnu.options().any(|row| row.longs.contains(&long));
        assert!(known, "--{long}");
    }
}

#[test]
fn mistakes_are_told_in_the_words_of_gnu_tar() {
    const TRY: &str = "Try 'tar --help' or 'tar --usage' for more information.\n";
    for (line, expected) in [
        ("--bogus", "unrecognized option '--bogus'"),
        ("-t --bogus=1", "unrecognized option '--bogus=1'"),
        ("-Y", "invalid option -- 'Y'"),
        ("-tY", "invalid option -- 'Y'"),
        ("xq", "invalid option -- 'q'"),
        ("xfC a.tar", "Old option 'C' requires an argument."),
        ("xb20f a.tar", "Old option 'f' requires an argument."),
        ("-x -f", "option requires an argument -- 'f'"),
        ("-xf", "option requires an argument -- 'f'"),
        (
            "-t --strip-components",
            "option '--strip-components' requires an argument",
        ),
        (
            "-t --strip",
            "option '--strip-components' requires an argument",
        ),
        ("--list=3", "option '--list' doesn't allow an argument"),
        ("--strip-components=x", "x: Invalid number of elements"),
        ("-b 0", "0: Invalid blocking factor"),
        ("--record-size=1x", "1x: Invalid record size"),
        (
            "--record-size=100",
            "Record size must be a multiple of 512.",
        ),
    ] {
        assert_eq!(said(line), format!("tar: {expected}\n{TRY}"), "{line}");
    }
    const OVER: &str = "tar: Error is not recoverable: exiting now\n";
    for (line, expected) in [
        ("--record-size=0", "Invalid value for record_size"),
        ("--checkpoint=x", "--checkpoint value is not an integer"),
        ("--totals=x", "Unknown signal name: x"),
        ("--occurrence=x", "x: Invalid number"),
        ("--occurrence=-1", "-1: Invalid number"),
        (
            "--quoting-style=foo",
            "Unknown quoting style 'foo'. Try 'tar --quoting-style=help' to get a list.",
        ),
    ] {
        assert_eq!(said(line), format!("tar: {expected}\n{OVER}"), "{line}");
    }
}

#[test]
fn an_ambiguous_name_lists_what_it_may_mean() {
    let text = said("--rec=512");
    assert!(
        text.starts_with("tar: option '--rec=512' is ambiguous; possibilities: '--"),
        "{text}"
    );
    for possibility in ["'--recursive-unlink'", "'--record-size'", "'--recursion'"] {
        assert!(text.contains(possibility), "{text}");
    }
    assert!(
        !said("--re").contains("manual"),
        "hidden options stay hidden"
    );
}

#[test]
fn durastar_itself_suggests_what_was_meant() {
    let lines = usage_error(&error("--sinc=none"), b"durastar", Marks::of(&|_| None));
    assert_eq!(lines[1], Line::said("did you mean '--sync'?"));
    assert!(!said("--sinc=none").contains("did you mean"));
}

#[test]
fn a_word_out_of_a_list_is_told_with_the_list() {
    assert_eq!(
        said("--sync=often"),
        "tar: invalid argument 'often' for '--sync'\nValid arguments are:\n  - 'each'\n  - 'group'\n  - 'batch'\n  \
         - 'none'\n"
    );
}

#[test]
fn words_of_a_variable() {
    assert_eq!(
        split_words(br#" -x  --exclude='a b' "c\"d" e\ f '' "#),
        [&b"-x"[..], b"--exclude=a b", b"c\"d", b"e f", b""]
    );
}

#[test]
fn only_options_may_stand_in_a_variable() {
    let given = super::parse_variable("TAR_OPTIONS", b"-v --totals").unwrap();
    assert_eq!(given.len(), 2);
    for text in [&b"v"[..], b"-v a"] {
        assert!(matches!(
            super::parse_variable("TAR_OPTIONS", text),
            Err(UsageError::ArgumentsInEnvironment("TAR_OPTIONS"))
        ));
    }
    assert!(matches!(
        super::parse_variable("TAR_OPTIONS", b"--bogus"),
        Err(UsageError::Environment("TAR_OPTIONS", _))
    ));
}

#[test]
fn hidden_rows_are_found_and_nowhere_listed() {
    assert_eq!(settings("--render-manual"), ["Page(Manual)"]);
    let hidden = Dialect::Gnu
        .options()
        .filter(|row| row.category == Category::Hidden)
        .count();
    assert_eq!(hidden, 1);
}

#[test]
fn spellings_are_the_table_names() {
    let given: Vec<Given> = parse(&words("-k --skip-old")).unwrap();
    assert_eq!(given[0].spelt, "--keep-old-files");
    assert_eq!(given[1].spelt, "--skip-old-files");
}
