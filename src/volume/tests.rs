//! The order of volumes, and who is asked for which.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Set, name};
use crate::error::{Complaint, Condition, Error, VolumeFault};
use crate::member::Format;
use crate::observe::{Operator, Prepared};
use crate::plan::{
    Archive, Compression, FIFO_BYTES, Job, MultiVolume, RECORD_BYTES, Seek, Told, Volume,
    VolumeScript,
};

/// Answers from a list, and writes down what it is asked.
struct Listed {
    answers: Vec<Prepared>,
    log: Rc<RefCell<Vec<String>>>,
}

impl Operator for Listed {
    fn prepare(&mut self, number: u64, name: &[u8]) -> Prepared {
        let name = String::from_utf8_lossy(name).into_owned();
        self.log.borrow_mut().push(format!("{number} {name}"));
        if self.answers.is_empty() {
            Prepared::None
        } else {
            self.answers.remove(0)
        }
    }

    fn remark(&mut self, complaint: &Complaint) {
        self.log.borrow_mut().push(complaint.to_string());
    }
}

fn set(
    names: &[&str],
    change: &MultiVolume,
    answers: Vec<Prepared>,
) -> (Result<Set, Error>, Rc<RefCell<Vec<String>>>) {
    let archive = Archive {
        volumes: names.iter().map(|name| Volume::File(name.into())).collect(),
        compression: Compression::Detect,
        record_bytes: RECORD_BYTES,
        fifo_bytes: FIFO_BYTES,
        ignore_zeros: false,
        seek: Seek::Auto,
        multi_volume: Some(change.clone()),
    };
    let log = Rc::new(RefCell::new(Vec::new()));
    let operator = Listed {
        answers,
        log: Rc::clone(&log),
    };
    let set = Set::new(
        &archive,
        change,
        Job::Extract,
        0o022,
        Some(Box::new(operator)),
    );
    (set, log)
}

fn now(set: &Set) -> String {
    String::from_utf8(name(set.current())).unwrap()
}

#[test]
fn named_volumes_come_first_and_then_the_operator_is_asked() {
    let answers = vec![Prepared::Ready, Prepared::Named(b"c".to_vec())];
    let (set, log) = set(&["a", "b"], &MultiVolume::default(), answers);
    let mut set = set.unwrap();
    let mut seen = vec![now(&set)];
    for _ in 0..3 {
        set.advance(Format::Gnu).unwrap();
        seen.push(now(&set));
    }
    assert_eq!(seen, ["a", "b", "a", "c"]);
    assert!(matches!(set.advance(Format::Gnu), Err(Error::NoVolume(5))));
    assert_eq!(*log.borrow(), ["3 a", "4 b", "5 a"]);
}

#[test]
fn a_refused_volume_does_not_count() {
    let (set, log) = set(&["a", "wrong", "b"], &MultiVolume::default(), Vec::new());
    let mut set = set.unwrap();
    set.advance(Format::Gnu).unwrap();
    set.remark(&Complaint::warning(
        b"big",
        Condition::Volume(VolumeFault::NotContinued),
    ));
    set.advance(Format::Gnu).unwrap();
    assert_eq!(now(&set), "b");
    assert!(matches!(set.advance(Format::Gnu), Err(Error::NoVolume(3))));
    assert_eq!(*log.borrow(), ["big: not continued on this volume", "3 a"]);
}

#[test]
fn a_program_is_told_what_is_wanted_and_may_name_the_volume() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    std::fs::write(&count, "7\n").unwrap();
    let change = MultiVolume {
        script: Some(VolumeScript {
            command: b"echo $TAR_ARCHIVE-$TAR_VOLUME$TAR_SUBCOMMAND-$TAR_FORMAT-$TAR_BLOCKING_FACTOR >&$TAR_FD".to_vec(),
            told: Told::Environment,
        }),
        number_file: Some(count.clone()),
    };
    let (set, _) = set(&["a"], &change, Vec::new());
    let mut set = set.unwrap();
    set.advance(Format::Pax).unwrap();
    assert_eq!(now(&set), "a-8-x-posix-20");
    assert_eq!(std::fs::read(&count).unwrap(), b"7\n");
    set.finish().unwrap();
    assert_eq!(std::fs::read(&count).unwrap(), b"8\n");
}

#[test]
fn a_program_that_brings_what_was_refused_is_not_asked_for_ever() {
    for command in ["echo b >&$TAR_FD", ":"] {
        let change = MultiVolume {
            script: Some(VolumeScript {
                command: command.into(),
                told: Told::Environment,
            }),
            number_file: None,
        };
        let (set, _) = set(&["a"], &change, Vec::new());
        let mut set = set.unwrap();
        set.advance(Format::Gnu).unwrap();
        set.remark(&Complaint::warning(
            b"big",
            Condition::Volume(VolumeFault::NotContinued),
        ));
        assert!(matches!(
            set.advance(Format::Gnu),
            Err(Error::VolumeScript(_))
        ));
    }
}

#[test]
fn a_failing_program_ends_it() {
    for (command, told) in [
        ("exit 3", Told::Environment),
        ("/bin/false", Told::Arguments),
    ] {
        let change = MultiVolume {
            script: Some(VolumeScript {
                command: command.into(),
                told,
            }),
            number_file: None,
        };
        let (set, _) = set(&["a"], &change, Vec::new());
        assert!(matches!(
            set.unwrap().advance(Format::Gnu),
            Err(Error::VolumeScript(_))
        ));
    }
}

#[test]
fn a_number_that_is_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    let change = MultiVolume {
        script: None,
        number_file: Some(count.clone()),
    };
    assert_eq!(set(&["a"], &change, Vec::new()).0.unwrap().number, 1);
    for text in ["", "x", "0", "-1"] {
        std::fs::write(&count, text).unwrap();
        let result = set(&["a"], &change, Vec::new()).0;
        assert!(matches!(result, Err(Error::VolumeNumber(_))), "{text}");
    }
}
