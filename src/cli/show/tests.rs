//! What comes out on which stream while a run is observed.

use std::cell::Cell;
use std::io;
use std::os::unix::ffi::OsStrExt;

use durastar::error::{Complaint, Condition, Operation};
use durastar::member::{Kind, Member};
use durastar::observe::{Observer, Verdict};

use super::{SettledLog, Show};
use crate::cli::assemble::{Assembled, Command, Facts, assemble};
use crate::cli::dialect::{Dialect, gnu};
use crate::cli::message::Message;
use crate::cli::message::tests::Shared;
use crate::cli::signal::Live;

fn command(dialect: Dialect, line: &str) -> Command {
    let facts = Facts {
        superuser: false,
        umask: 0o22,
        environment: &|_| None,
        read: &|_| Err(io::ErrorKind::NotFound.into()),
        modified: &|_| Err(io::ErrorKind::NotFound.into()),
    };
    let words: Vec<Vec<u8>> = line
        .split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect();
    match assemble(dialect, &dialect.parse(&words).unwrap(), &facts) {
        Ok(Assembled::Command(command)) => *command,
        other => panic!("{other:?}"),
    }
}

/// What comes out on standard output and on standard error while `events` happen.
fn shown(dialect: Dialect, line: &str, events: impl FnOnce(&mut Show<'_>)) -> (String, String) {
    let command = command(dialect, line);
    let (out, err) = (Shared::default(), Shared::default());
    let name = if dialect == Dialect::Gnu {
        "tar"
    } else {
        "star"
    };
    let message = Message::with(
        name.as_bytes(),
        Box::new(out.clone()),
        Box::new(err.clone()),
    );
    let live = Live::new(&command);
    let marks = gnu::voice::Marks::of(&|_| None);
    let log = command
        .wishes
        .settled_log
        .is_some()
        .then_some(SettledLog::Output);
    events(&mut Show::new(
        dialect, &command, &message, &live, marks, log,
    ));
    message.finish().unwrap();
    (out.text(), err.text())
}

fn file(name: &[u8]) -> Member {
    Member {
        size: 513,
        stored: 513,
        block: 2,
        ..Member::new(Kind::Regular, name)
    }
}

fn both(show: &mut Show<'_>) {
    show.member(&Member::new(Kind::Directory, b"p/d/"), b"d/", b"");
    show.member(&file(b"p/odd\n.bin"), b"odd\n.bin", b"");
}

#[test]
fn the_end_has_a_block_number_too() {
    fn ends(show: &mut Show<'_>) {
        show.ended(10, true);
        show.ended(12, false);
    }
    for (dialect, line, out, err) in [
        (Dialect::Gnu, "-tRf a", NUMBERED, ""),
        (Dialect::Gnu, "-xRf a", NUMBERED, ""),
        (Dialect::Gnu, "-xROf a", "", NUMBERED),
        (Dialect::Gnu, "-tf a", "", ""),
        (Dialect::Star, "-t -block-number f=a", "", ""),
    ] {
        let expected = (out.to_owned(), err.to_owned());
        assert_eq!(shown(dialect, line, ends), expected, "{line}");
    }
    const NUMBERED: &str = "block 10: ** Block of NULs **\nblock 12: ** End of File **\n";
}

#[test]
fn names_of_members() {
    for (dialect, line, expected) in [
        (Dialect::Gnu, "-xf a", ""),
        (Dialect::Gnu, "-xvf a", "p/d/\np/odd\\n.bin\n"),
        (Dialect::Gnu, "-tf a", "p/d/\np/odd\\n.bin\n"),
        (
            Dialect::Gnu,
            "-tf a --show-transformed-names",
            "d/\nodd\\n.bin\n",
        ),
        (
            Dialect::Gnu,
            "-tf a --quoting-style=literal",
            "p/d/\np/odd\n.bin\n",
        ),
        (
            Dialect::Gnu,
            "-tRf a",
            "block 0: p/d/\nblock 2: p/odd\\n.bin\n",
        ),
        (Dialect::Star, "-x f=a", ""),
        (Dialect::Star, "-t f=a", "p/d/\np/odd\\n.bin\n"),
        (Dialect::Star, "-tv -tpath f=a", "p/d/\np/odd\\n.bin\n"),
        (
            Dialect::Star,
            "-xv f=a",
            "x p/d/ directory\nx p/odd\\n.bin 513 bytes, 2 tape blocks\n",
        ),
        (
            Dialect::Star,
            "-n f=a",
            "x p/d/ directory\nx p/odd\\n.bin 513 bytes, 2 tape blocks\n",
        ),
        (Dialect::Star, "-xv -tpath f=a", "p/d/\np/odd\\n.bin\n"),
    ] {
        assert_eq!(
            shown(dialect, line, both),
            (expected.to_owned(), String::new()),
            "{line}"
        );
    }
}

#[test]
fn names_go_to_the_other_stream_when_contents_go_to_standard_output() {
    let (out, err) = shown(Dialect::Gnu, "-xvOf a", both);
    assert_eq!((out.as_str(), err.as_str()), ("", "p/d/\np/odd\\n.bin\n"));
}

#[test]
fn complaints_have_the_name_before_them_and_are_counted() {
    let (failures, warnings) = (Cell::new(0), Cell::new(0));
    let (_, err) = shown(Dialect::Gnu, "-xf a", |show| {
        let denied = io::Error::from_raw_os_error(13);
        show.complaint(&Complaint::system(b"dir/file", Operation::Open, denied));
        show.complaint(&Complaint::warning(b"", Condition::LoneZeroBlock(5)));
        failures.set(show.tally.failures);
        warnings.set(show.tally.warnings);
    });
    assert_eq!(
        err,
        "tar: dir/file: Cannot open: Permission denied\ntar: A lone zero block at 6\n"
    );
    assert_eq!((failures.get(), warnings.get()), (1, 1));
}

#[test]
fn warnings_can_be_turned_off_and_on() {
    let kept = |show: &mut Show<'_>| {
        show.complaint(&Complaint::warning(b"f", Condition::Kept));
    };
    let newer = |show: &mut Show<'_>| {
        show.complaint(&Complaint::warning(b"f", Condition::NotNewer));
    };
    let err = |line: &str, events: fn(&mut Show<'_>)| shown(Dialect::Gnu, line, events).1;
    assert_eq!(err("-xf a", kept), "");
    assert_eq!(err("-xvf a", kept), "tar: f: skipping existing file\n");
    assert_eq!(
        err("-xf a --warning=existing-file", kept),
        "tar: f: skipping existing file\n"
    );
    assert_eq!(err("-xvf a --warning=none", kept), "");
    assert_eq!(
        err("-xf a", newer),
        "tar: Current 'f' is newer or same age\n"
    );
    assert_eq!(err("-xf a --warning=no-ignore-newer", newer), "");
    assert_eq!(
        err("-xf a --warning=none --warning=ignore-newer", newer),
        "tar: Current 'f' is newer or same age\n"
    );
    assert_eq!(
        shown(Dialect::Star, "-x f=a", newer).1,
        "star: current 'f' newer.\n"
    );
    assert_eq!(shown(Dialect::Star, "-x -nowarn f=a", newer).1, "");
}

#[test]
fn settled_names_end_in_newline_or_nul() {
    let settle = |show: &mut Show<'_>| {
        show.settled(&mut [&b"a"[..], b"b\n"].into_iter());
        show.settled(&mut [&b"c"[..]].into_iter());
    };
    let out = |line: &str| shown(Dialect::Gnu, line, settle).0;
    assert_eq!(out("-xf a --settled-log=-"), "a\nb\\n\nc\n");
    assert_eq!(out("-xf a --settled-log=- --null"), "a\0b\n\0c\0");
    assert_eq!(out("-xf a"), "");
}

#[test]
fn a_settled_log_that_cannot_be_written_is_a_failure_once() {
    let command = command(Dialect::Gnu, "-xf a --settled-log=/dev/full");
    let err = Shared::default();
    let message = Message::with(b"tar", Box::new(io::sink()), Box::new(err.clone()));
    let live = Live::new(&command);
    let marks = gnu::voice::Marks::of(&|_| None);
    let name = std::ffi::OsStr::from_bytes(b"/dev/full");
    let full = std::fs::OpenOptions::new().write(true).open(name).unwrap();
    let log = Some(SettledLog::File(full, b"/dev/full".to_vec()));
    let mut show = Show::new(Dialect::Gnu, &command, &message, &live, marks, log);
    show.settled(&mut [&b"a"[..]].into_iter());
    show.settled(&mut [&b"b"[..]].into_iter());
    assert_eq!(show.tally.failures, 1);
    assert_eq!(
        err.text(),
        "tar: /dev/full: Cannot write: No space left on device\n"
    );
}

#[test]
fn each_checkpoint_that_is_passed_is_told() {
    let (_, err) = shown(Dialect::Gnu, "-xf a --checkpoint=3", |show| {
        for records in [1, 2, 3, 5, 10] {
            show.records(records);
        }
    });
    assert_eq!(
        err,
        "tar: Read checkpoint 3\ntar: Read checkpoint 6\ntar: Read checkpoint 9\n"
    );
    let (_, err) = shown(Dialect::Gnu, "-xf a --checkpoint=0", |show| show.records(9));
    assert_eq!(err, "");
}

#[test]
fn the_run_goes_on_unless_somebody_asks_for_the_end() {
    shown(Dialect::Gnu, "-xf a", |show| {
        assert_eq!(show.verdict(), Verdict::Continue);
    });
}
