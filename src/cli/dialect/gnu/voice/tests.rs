//! GNU tar's sentences, as it prints them in the C locale.

use std::io;

use durastar::member::Timestamp;

use super::{Complaint, Condition, Error, Line, Marks, Operation, Severity, complaint, fatal};

fn plain() -> Marks {
    Marks::of(&|_| None)
}

fn said(what: &Complaint) -> String {
    String::from_utf8(complaint(what, plain())).unwrap()
}

fn denied() -> io::Error {
    io::Error::from_raw_os_error(13)
}

#[test]
fn complaints_word_for_word() {
    let system = |operation| Complaint::system(b"dir/file", operation, denied());
    for (what, expected) in [
        (
            system(Operation::Open),
            "dir/file: Cannot open: Permission denied",
        ),
        (
            system(Operation::MakeDirectory),
            "dir/file: Cannot mkdir: Permission denied",
        ),
        (
            system(Operation::SetTimes),
            "dir/file: Cannot utime: Permission denied",
        ),
        (
            Complaint::failure(
                b"l",
                Condition::System {
                    operation: Operation::Symlink,
                    cause: denied(),
                    target: Some(b"t".to_vec()),
                },
            ),
            "l: Cannot create symlink to 't': Permission denied",
        ),
        (
            Complaint::failure(
                b"l",
                Condition::System {
                    operation: Operation::ChangeOwner,
                    cause: denied(),
                    target: Some(b"uid 1, gid 2".to_vec()),
                },
            ),
            "l: Cannot change ownership to uid 1, gid 2: Permission denied",
        ),
        (
            Complaint::warning(b"", Condition::LoneZeroBlock(22)),
            "A lone zero block at 23",
        ),
        (
            Complaint::failure(b"", Condition::BadHeader(3)),
            "Skipping to next header",
        ),
        (
            Complaint::failure(b"", Condition::UnexpectedEnd),
            "Unexpected EOF in archive",
        ),
        (
            Complaint::warning(
                b"",
                Condition::PrefixRemoved {
                    prefix: b"/".to_vec(),
                    link: false,
                },
            ),
            "Removing leading `/' from member names",
        ),
        (
            Complaint::warning(
                b"",
                Condition::PrefixRemoved {
                    prefix: b"../".to_vec(),
                    link: true,
                },
            ),
            "Removing leading `../' from hard link targets",
        ),
        (
            Complaint::failure(b"../x", Condition::DotDot),
            "../x: Member name contains '..'",
        ),
        (
            Complaint::failure(b"f", Condition::Kept),
            "f: Cannot open: File exists",
        ),
        (
            Complaint::warning(b"f", Condition::Kept),
            "f: skipping existing file",
        ),
        (
            Complaint::warning(b"f", Condition::NotNewer),
            "Current 'f' is newer or same age",
        ),
        (
            Complaint::failure(b"nope", Condition::NotFound),
            "nope: Not found in archive",
        ),
        (
            Complaint::failure(b"a:\n", Condition::NotFound),
            "a\\:\\n: Not found in archive",
        ),
    ] {
        assert_eq!(said(&what), expected);
    }
}

#[test]
fn marks_follow_the_locale() {
    let utf8 = Marks::of(&|name| (name == "LANG").then(|| b"C.UTF-8".to_vec()));
    let what = Complaint::warning(b"f", Condition::NotNewer);
    assert_eq!(
        complaint(&what, utf8),
        "Current \u{2018}f\u{2019} is newer or same age".as_bytes()
    );
    let overridden = Marks::of(&|name| match name {
        "LANG" => Some(b"de_DE.utf8".to_vec()),
        "LC_ALL" => Some(b"C".to_vec()),
        _ => None,
    });
    assert_eq!(
        complaint(&what, overridden),
        b"Current 'f' is newer or same age"
    );
}

#[test]
fn odd_times_are_told_with_what_is_odd() {
    let at = |seconds, ahead| {
        said(&Complaint::warning(
            b"f",
            Condition::OddTime {
                time: Timestamp { seconds, nanos: 0 },
                ahead,
            },
        ))
    };
    // The day depends on the time zone, the rest does not.
    let text = at(4_102_488_000, 3600);
    assert!(text.starts_with("f: time stamp 2100-01-0"), "{text}");
    assert!(text.ends_with(" is 3600 s in the future"), "{text}");
    let text = at(-90_000, -1);
    assert!(
        text.starts_with("f: implausibly old time stamp 1969-12-3"),
        "{text}"
    );
}

#[test]
fn fatal_errors_word_for_word() {
    let open = Error::System {
        operation: Operation::Open,
        name: b"nonexist".to_vec(),
        cause: io::Error::from_raw_os_error(2),
    };
    assert_eq!(
        fatal(&open, plain()),
        [
            Line::said("nonexist: Cannot open: No such file or directory"),
            Line::said("Error is not recoverable: exiting now"),
        ]
    );
    assert_eq!(
        fatal(&Error::NotAnArchive, plain()),
        [
            Line::said("This does not look like a tar archive"),
            Line::said("Exiting with failure status due to previous errors"),
        ]
    );
    assert_eq!(
        fatal(&Error::UnexpectedEnd { block: 3 }, plain())[0],
        Line::said("Unexpected EOF in archive")
    );
    assert_eq!(fatal(&Error::Stopped, plain()), []);
}

#[test]
fn only_warnings_have_keywords() {
    let mut what = Complaint::warning(b"f", Condition::NotNewer);
    assert_eq!(super::warning_keyword(&what), Some("ignore-newer"));
    what.severity = Severity::Failure;
    assert_eq!(super::warning_keyword(&what), None);
}
