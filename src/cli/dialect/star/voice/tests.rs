//! star's sentences and its summary of problems.

use std::io;

use super::{Complaint, Condition, Error, Line, Operation, Problems, complaint, fatal};

fn said(what: &Complaint) -> String {
    String::from_utf8(complaint(what)).unwrap()
}

#[test]
fn complaints_word_for_word() {
    for (what, expected) in [
        (
            Complaint::warning(b"dir/hello.txt", Condition::NotNewer),
            "current 'dir/hello.txt' newer.",
        ),
        (
            Complaint::warning(
                b"",
                Condition::PrefixRemoved {
                    prefix: b"/".to_vec(),
                    link: false,
                },
            ),
            "WARNING: skipping leading '/' on filenames.",
        ),
        (
            Complaint::failure(b"etc/mtab", Condition::UnsafeLink(b"/proc/mounts".to_vec())),
            "'etc/mtab' potentially insecure link, skipping ...",
        ),
        (
            Complaint::system(b"f", Operation::Open, io::Error::from_raw_os_error(13)),
            "Permission denied. Cannot create 'f'.",
        ),
    ] {
        assert_eq!(said(&what), expected);
    }
}

#[test]
fn a_missing_archive() {
    let error = Error::System {
        operation: Operation::Open,
        name: b"/nonexist".to_vec(),
        cause: io::Error::from_raw_os_error(2),
    };
    assert_eq!(
        fatal(&error),
        [Line::said(
            "No such file or directory. Cannot open '/nonexist'."
        )]
    );
}

#[test]
fn the_summary_counts_by_class() {
    let mut problems = Problems::default();
    let system =
        |operation, code| Complaint::system(b"f", operation, io::Error::from_raw_os_error(code));
    problems.count(&system(Operation::Open, 13));
    problems.count(&system(Operation::MakeDirectory, 13));
    problems.count(&system(Operation::Write, 28));
    problems.count(&system(Operation::Open, 36));
    problems.count(&Complaint::failure(b"l", Condition::UnsafeLink(Vec::new())));
    problems.count(&Complaint::failure(b"../x", Condition::DotDot));
    problems.count(&Complaint::warning(b"f", Condition::NotNewer));
    assert_eq!(
        problems.summary(),
        [
            Line::said("The following problems occurred during archive processing:"),
            Line::said("Cannot: stat 0, open 2, read/write 1, chdir 0, iconv 0. Size changed 0."),
            Line::said("Missing links 0, Name too long 1, File too big 0, Not dumped 0."),
            Line::said("Skipped for security reason: path name 1, link name 1."),
        ]
    );
}
