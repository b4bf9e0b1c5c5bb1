//! The extractor on real directories, with members made by hand and failures on demand.

mod faults;
mod staging;

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::{Extractor, Finished, Request};
use crate::disk::{Call, Disk, Faulty, Os};
use crate::error::{Complaint, Condition, Error, Operation, Severity};
use crate::member::{Event, Extent, Kind, Member, MemberStream, Timestamp};
use crate::observe::{Observer, Verdict};
use crate::plan::{
    Archive, Compression, Durability, DurabilityMode, Existing, ExistingDirectories, Extract,
    IdMap, Job, Plan, Seek, Selection, SyncMethod, Volume,
};

const EIO: i32 = libc::EIO;

/// A stream whose members are made beforehand.
#[derive(Default)]
struct Prepared {
    data: VecDeque<Vec<u8>>,
    ends_early: bool,
}

impl MemberStream for Prepared {
    type Span = Vec<u8>;

    fn advance(&mut self) -> Result<Event, Error> {
        Ok(Event::End)
    }

    fn data(&mut self, most: usize) -> Result<Option<Vec<u8>>, Error> {
        let Some(mut piece) = self.data.pop_front() else {
            return if self.ends_early {
                Err(Error::UnexpectedEnd { block: 0 })
            } else {
                Ok(None)
            };
        };
        if piece.len() > most {
            self.data.push_front(piece.split_off(most));
        }
        Ok(Some(piece))
    }

    fn would_wait(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct Heard {
    complaints: Vec<(Vec<u8>, String, Severity)>,
    members: Vec<Vec<u8>>,
    settled: Vec<Vec<u8>>,
    stop: bool,
}

impl Observer for Heard {
    fn member(&mut self, _member: &Member, name: &[u8], _link: &[u8]) {
        self.members.push(name.to_vec());
    }
    fn complaint(&mut self, complaint: &Complaint) -> Verdict {
        let said = (
            complaint.member.clone(),
            complaint.condition.to_string(),
            complaint.severity,
        );
        self.complaints.push(said);
        if self.stop {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }
    fn settled(&mut self, names: &mut dyn Iterator<Item = &[u8]>) {
        self.settled.extend(names.map(<[u8]>::to_vec));
    }
}

impl Heard {
    fn failures(&self) -> Vec<String> {
        let failed = self
            .complaints
            .iter()
            .filter(|(_, _, severity)| *severity == Severity::Failure);
        failed
            .map(|(name, what, _)| format!("{}: {what}", name.escape_ascii()))
            .collect()
    }

    fn settled_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .settled
            .iter()
            .map(|name| name.escape_ascii().to_string())
            .collect();
        names.sort();
        names
    }
}

fn plan(destination: &Path, mode: DurabilityMode) -> Plan {
    Plan {
        job: Job::Extract,
        archive: Archive {
            volumes: vec![Volume::Standard],
            compression: Compression::Detect,
            record_bytes: crate::plan::RECORD_BYTES,
            fifo_bytes: crate::plan::FIFO_BYTES,
            ignore_zeros: false,
            multi_volume: None,
            seek: Seek::Auto,
        },
        directories: vec![destination.to_path_buf()],
        selection: Selection::default(),
        extract: Extract {
            same_owner: false,
            numeric_owner: false,
            same_permissions: true,
            mtime: true,
            atime: false,
            existing: Existing::Replace,
            remove_recursively: false,
            existing_directories: ExistingDirectories::Restore,
            keep_directory_symlink: false,
            secure_links: false,
            acls: false,
            xattrs: None,
            selinux: false,
            file_flags: false,
            make_holes: false,
            no_directories: false,
            safe_writes: false,
            backup: None,
            refresh: false,
            ask_before_removing: false,
            keep_full_directories: false,
            announce_first: false,
            owners: IdMap::default(),
            groups: IdMap::default(),
            command: None,
        },
        create: crate::plan::create::Create::default(),
        durability: Durability {
            mode,
            window_members: 4,
            window_bytes: 1 << 20,
            method: SyncMethod::Auto,
            report_settled: true,
            verify: false,
        },
        journal: None,
        jobs: std::num::NonZeroUsize::new(2),
        umask: 0o022,
    }
}

fn file(name: &str, data: &[u8]) -> (Member, Vec<u8>) {
    let mut member = Member::new(Kind::Regular, name.as_bytes());
    (member.size, member.stored) = (data.len() as u64, data.len() as u64);
    member.mtime = Timestamp {
        seconds: 1_000_000_000,
        nanos: 123_456_789,
    };
    (member, data.to_vec())
}

fn directory(name: &str, mode: u32) -> (Member, Vec<u8>) {
    let mut member = Member::new(Kind::Directory, name.as_bytes());
    member.mode = mode;
    member.mtime = Timestamp {
        seconds: 1_000_000_001,
        nanos: 0,
    };
    (member, Vec::new())
}

fn link(kind: Kind, name: &str, target: &str) -> (Member, Vec<u8>) {
    let mut member = Member::new(kind, name.as_bytes());
    member.link = target.as_bytes().to_vec();
    member.mtime = Timestamp {
        seconds: 1_000_000_002,
        nanos: 0,
    };
    (member, Vec::new())
}

fn never(_: Call, _: u64) -> Option<i32> {
    None
}

/// Restores members on a disk that fails as `rule` says; syncfs counts as a promise, whatever lies below.
fn restore(plan: &Plan, members: &[(Member, Vec<u8>)], disk: &Faulty<Os>) -> (Heard, Finished) {
    try_restore(plan, members, disk).expect("the destination is there")
}

/// The same where the destination may fail to open.
fn try_restore(
    plan: &Plan,
    members: &[(Member, Vec<u8>)],
    disk: &Faulty<Os>,
) -> Option<(Heard, Finished)> {
    let mut heard = Heard::default();
    let disk = Arc::new(disk.clone());
    let mut extractor = Extractor::<_, Vec<u8>>::new(disk, plan, 1024).ok()?;
    for (member, data) in members {
        let mut stream = Prepared::default();
        if !data.is_empty() {
            stream.data.push_back(data.clone());
        }
        let request = Request {
            member,
            name: &member.name,
            link: &member.link,
            directory: 0,
            index: 0,
            headers: 0,
        };
        extractor
            .restore(&request, &mut stream, &mut heard)
            .expect("the stream does not fail");
    }
    let finished = extractor.finish(&mut heard);
    Some((heard, finished))
}

fn trusted(rule: impl Fn(Call, u64) -> Option<i32> + Send + Sync + 'static) -> Faulty<Os> {
    Faulty::new(Os, rule).with_promise(true)
}

fn scratch() -> (TempDir, PathBuf) {
    let scratch = TempDir::new().unwrap();
    let destination = scratch.path().join("d");
    fs::create_dir(&destination).unwrap();
    (scratch, destination)
}

fn small_tree() -> Vec<(Member, Vec<u8>)> {
    let mut members = vec![
        directory("x", 0o755),
        directory("x/1", 0o755),
        directory("x/2", 0o555),
    ];
    for index in 0..20 {
        members.push(file(&format!("x/{}/{index}", index % 2 + 1), b"contents"));
    }
    members
}

#[test]
fn every_kind_is_restored_with_its_attributes() {
    for jobs in [1, 2, 8] {
        let (_scratch, d) = scratch();
        let mut plan = plan(&d, DurabilityMode::None);
        plan.jobs = std::num::NonZeroUsize::new(jobs);
        let mut program = file("dir/program", b"#!");
        program.0.mode = 0o4711;
        let mut sparse = file("sparse", b"abcd");
        sparse.0.size = 1 << 20;
        sparse.0.sparse = Some(vec![
            Extent {
                offset: 4096,
                length: 1,
            },
            Extent {
                offset: 500_000,
                length: 3,
            },
        ]);
        let mut pipe = Member::new(Kind::Fifo, b"dir/pipe");
        pipe.mode = 0o600;
        let members = [
            directory("dir/", 0o500),
            program,
            link(Kind::HardLink, "dir/hard", "dir/program"),
            link(Kind::Symlink, "dir/soft", "program"),
            (pipe, Vec::new()),
            sparse,
            file("implied/below/file", b"1"),
        ];
        let (heard, finished) = restore(&plan, &members, &Faulty::new(Os, never));
        assert_eq!(heard.failures(), Vec::<String>::new());
        assert_eq!(finished.restored.members, 7);
        let program = fs::metadata(d.join("dir/program")).unwrap();
        assert_eq!(
            (program.mode() & 0o7777, program.nlink(), program.size()),
            (0o4711, 2, 2)
        );
        assert_eq!(
            (program.mtime(), program.mtime_nsec()),
            (1_000_000_000, 123_456_789)
        );
        let dir = fs::metadata(d.join("dir")).unwrap();
        assert_eq!((dir.mode() & 0o7777, dir.mtime()), (0o500, 1_000_000_001));
        assert_eq!(
            fs::read_link(d.join("dir/soft")).unwrap(),
            Path::new("program")
        );
        assert_eq!(
            fs::symlink_metadata(d.join("dir/soft")).unwrap().mtime(),
            1_000_000_002
        );
        assert_eq!(
            fs::symlink_metadata(d.join("dir/pipe")).unwrap().mode() & 0o777,
            0o600
        );
        let mut expected = vec![0; 1 << 20];
        expected[4096] = b'a';
        expected[500_000..500_003].copy_from_slice(b"bcd");
        assert!(fs::read(d.join("sparse")).unwrap() == expected);
        assert!(
            fs::metadata(d.join("sparse")).unwrap().blocks() < 100,
            "the holes are holes"
        );
        assert_eq!(
            fs::metadata(d.join("implied/below")).unwrap().mode() & 0o777,
            0o755
        );
        fs::set_permissions(d.join("dir"), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn the_last_of_several_members_with_one_name_wins() {
    for jobs in [1, 4] {
        let (_scratch, d) = scratch();
        let mut plan = plan(&d, DurabilityMode::Group);
        plan.jobs = std::num::NonZeroUsize::new(jobs);
        let mut members = Vec::new();
        for round in 0..200_u32 {
            members.push(file("same", format!("round {round}").as_bytes()));
        }
        members.push(file("hard", b"through"));
        members.push(link(Kind::HardLink, "other", "hard"));
        members.push(file("hard", b"not through"));
        let (heard, _) = restore(&plan, &members, &trusted(never));
        assert_eq!(heard.failures(), Vec::<String>::new());
        assert_eq!(fs::read(d.join("same")).unwrap(), b"round 199");
        // A regular file after a hard link of its name must not be written through the link.
        assert_eq!(fs::read(d.join("other")).unwrap(), b"through");
        assert_eq!(fs::read(d.join("hard")).unwrap(), b"not through");
    }
}

#[test]
fn directory_times_survive_late_members_and_the_last_header_wins() {
    let (_scratch, d) = scratch();
    let mut late = directory("a", 0o700);
    late.0.mtime = Timestamp {
        seconds: 1_234_567,
        nanos: 5,
    };
    let members = [
        directory("a", 0o755),
        file("a/1", b""),
        late,
        file("a/2", b""),
        directory("./", 0o711),
    ];
    let (heard, _) = restore(
        &plan(&d, DurabilityMode::None),
        &members,
        &Faulty::new(Os, never),
    );
    assert_eq!(heard.failures(), Vec::<String>::new());
    let a = fs::metadata(d.join("a")).unwrap();
    assert_eq!(
        (a.mtime(), a.mtime_nsec(), a.mode() & 0o777),
        (1_234_567, 5, 0o700)
    );
    let itself = fs::metadata(&d).unwrap();
    assert_eq!(
        (itself.mtime(), itself.mode() & 0o777),
        (1_000_000_001, 0o711)
    );
}

#[test]
fn nothing_outside_the_destination_is_reached() {
    let (scratch, d) = scratch();
    let outside = scratch.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim"), "untouched").unwrap();
    std::os::unix::fs::symlink(&outside, d.join("before")).unwrap();
    std::os::unix::fs::symlink("../outside", d.join("climbs")).unwrap();
    fs::hard_link(outside.join("victim"), d.join("victim")).unwrap();
    std::os::unix::fs::symlink("inside", d.join("stays")).unwrap();
    fs::create_dir(d.join("inside")).unwrap();
    let absolute = outside.to_str().unwrap();
    let members = [
        file("before/new", b"1"),
        file("climbs/new", b"2"),
        file("../outside/new", b"3"),
        file("a/../../outside/new", b"4"),
        link(Kind::Symlink, "made", absolute),
        file("made/new", b"5"),
        link(Kind::Symlink, "made2", "../outside"),
        file("made2/new", b"6"),
        directory("made2/dir", 0o777),
        link(Kind::HardLink, "taken", "climbs/victim"),
        link(Kind::HardLink, "taken2", "../outside/victim"),
        file("victim", b"7"),
        link(Kind::Symlink, "victim2", "../outside/victim"),
        file("victim2", b"8"),
        file("stays/in", b"9"),
    ];
    for mode in [DurabilityMode::None, DurabilityMode::Group] {
        let before = fs::metadata(&outside).unwrap();
        let (heard, _) = restore(&plan(&d, mode), &members, &trusted(never));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read(outside.join("victim")).unwrap(), b"untouched");
        let after = fs::metadata(&outside).unwrap();
        assert_eq!(
            (before.mtime_nsec(), before.mode()),
            (after.mtime_nsec(), after.mode())
        );
        assert_eq!(heard.failures().len(), 9, "{:#?}", heard.failures());
        assert_eq!(fs::read(d.join("victim")).unwrap(), b"7");
        assert_eq!(fs::read(d.join("victim2")).unwrap(), b"8");
        assert_eq!(fs::read(d.join("inside/in")).unwrap(), b"9");
    }
}

/// Before each call that sets something by name, somebody puts a link in the place of what was just made.
#[test]
fn nothing_is_set_through_a_link_that_took_the_place_of_an_object() {
    for failing in [
        Call::SetMode,
        Call::SetTimes,
        Call::SetOwner,
        Call::SetAttribute,
    ] {
        let (scratch, d) = scratch();
        let victim = scratch.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&victim).unwrap();
        let mut fifo = Member::new(Kind::Fifo, b"pipe");
        (fifo.mode, fifo.mtime.seconds) = (0o4666, 1);
        (fifo.uid, fifo.gid) = (12_345, 12_345);
        fifo.records.push(crate::member::Record {
            key: b"SCHILY.xattr.trusted.evil".to_vec(),
            value: b"1".to_vec(),
        });
        let mut plan = plan(&d, DurabilityMode::None);
        plan.extract.same_owner = crate::sys::is_superuser();
        plan.extract.xattrs = Some(crate::plan::XattrSelection {
            include: vec![crate::plan::Pattern {
                wildcards: true,
                ..crate::plan::Pattern::literal(b"*")
            }],
            exclude: Vec::new(),
        });
        let pipe = d.join("pipe");
        let disk = trusted(move |call, _| {
            if call == failing {
                drop(fs::remove_file(&pipe));
                std::os::unix::fs::symlink("../victim", &pipe).unwrap();
            }
            None
        });
        restore(&plan, &[(fifo, Vec::new())], &disk);
        let after = fs::metadata(&victim).unwrap();
        assert_eq!(
            (
                before.mode(),
                before.uid(),
                before.mtime_nsec(),
                before.ctime_nsec()
            ),
            (
                after.mode(),
                after.uid(),
                after.mtime_nsec(),
                after.ctime_nsec()
            ),
            "{failing:?}"
        );
    }
}

/// Somebody moves a directory out of the destination while a link that climbs is followed through it.
#[test]
fn a_directory_that_is_moved_away_leads_nobody_out() {
    for at in 0..12 {
        let (scratch, d) = scratch();
        let outside = scratch.path().join("outside");
        fs::create_dir_all(outside.join("target")).unwrap();
        fs::create_dir_all(d.join("a/b/c")).unwrap();
        fs::create_dir(d.join("target")).unwrap();
        std::os::unix::fs::symlink("a/b/c/../../../target", d.join("l")).unwrap();
        let (from, to) = (d.join("a/b"), outside.join("b"));
        let disk = trusted(move |call, count| {
            if call == Call::OpenDir && count == at {
                fs::rename(&from, &to).unwrap();
            }
            None
        });
        restore(&plan(&d, DurabilityMode::None), &[file("l/f", b"1")], &disk);
        assert_eq!(
            fs::read_dir(outside.join("target")).unwrap().count(),
            0,
            "{at}"
        );
        assert!(!scratch.path().join("target").exists());
    }
}

#[test]
fn mode_each_syncs_each_file_and_each_directory_once() {
    let (_scratch, d) = scratch();
    let disk = trusted(never);
    let (heard, finished) = restore(&plan(&d, DurabilityMode::Each), &small_tree(), &disk);
    assert_eq!(heard.failures(), Vec::<String>::new());
    // 20 files, x x/1 x/2, and the destination that holds the name x.
    assert_eq!(
        (
            disk.count(Call::SyncFile),
            disk.count(Call::SyncDir),
            disk.count(Call::SyncFs)
        ),
        (20, 4, 0)
    );
    assert_eq!(
        (finished.sync.file_syncs, finished.sync.directory_syncs),
        (20, 4)
    );
    assert_eq!(finished.sync.settled_members, 23);
    assert_eq!(heard.settled.len(), 23);
}

#[test]
fn mode_batch_syncs_the_file_system_once() {
    let (_scratch, d) = scratch();
    let disk = trusted(never);
    let (heard, finished) = restore(&plan(&d, DurabilityMode::Batch), &small_tree(), &disk);
    assert_eq!(
        (
            disk.count(Call::SyncFile),
            disk.count(Call::SyncDir),
            disk.count(Call::SyncFs)
        ),
        (0, 0, 1)
    );
    assert_eq!(
        (finished.sync.settled_members, heard.settled.len()),
        (23, 23)
    );
}

#[test]
fn mode_group_syncs_the_file_system_once_a_window_and_at_the_end() {
    let (_scratch, d) = scratch();
    let disk = trusted(never);
    let (heard, finished) = restore(&plan(&d, DurabilityMode::Group), &small_tree(), &disk);
    // 20 files in windows of 4, and one barrier after the directories' times.
    assert_eq!(
        (
            disk.count(Call::SyncFile),
            disk.count(Call::SyncDir),
            disk.count(Call::SyncFs)
        ),
        (0, 0, 6)
    );
    assert_eq!(
        (finished.sync.settled_members, heard.settled.len()),
        (23, 23)
    );
}

#[test]
fn mode_none_syncs_nothing_and_settles_nothing() {
    let (_scratch, d) = scratch();
    let disk = trusted(never);
    let (heard, finished) = restore(&plan(&d, DurabilityMode::None), &small_tree(), &disk);
    assert_eq!(
        (
            disk.count(Call::SyncFile),
            disk.count(Call::SyncDir),
            disk.count(Call::SyncFs)
        ),
        (0, 0, 0)
    );
    assert_eq!((finished.sync.settled_members, heard.settled.len()), (0, 0));
}

#[test]
fn where_syncfs_is_no_promise_every_file_and_directory_is_synced() {
    for (mode, method) in [
        (DurabilityMode::Group, SyncMethod::Auto),
        (DurabilityMode::Batch, SyncMethod::Auto),
        (DurabilityMode::Group, SyncMethod::Fsync),
    ] {
        let (_scratch, d) = scratch();
        let disk = Faulty::new(Os, never).with_promise(method == SyncMethod::Fsync);
        let mut plan = plan(&d, mode);
        plan.durability.method = method;
        let (heard, finished) = restore(&plan, &small_tree(), &disk);
        assert_eq!(
            (disk.count(Call::SyncFile), disk.count(Call::SyncFs)),
            (20, 0)
        );
        assert!(
            disk.count(Call::SyncDir) >= 4,
            "x x/1 x/2 and the destination"
        );
        assert_eq!(
            (finished.sync.settled_members, heard.settled.len()),
            (23, 23)
        );
    }
}

#[test]
fn a_failed_fsync_is_named_and_its_file_does_not_settle() {
    let (_scratch, d) = scratch();
    let mut plan = plan(&d, DurabilityMode::Each);
    plan.jobs = std::num::NonZeroUsize::new(1);
    let disk = trusted(|call, count| (call == Call::SyncFile && count == 7).then_some(EIO));
    let (heard, finished) = restore(&plan, &small_tree(), &disk);
    assert_eq!(
        heard.failures(),
        ["x/2/7: cannot sync: Input/output error (os error 5)"]
    );
    assert!(!finished.intact);
    assert_eq!(
        disk.count(Call::SyncFile),
        20,
        "the failed one is not tried again"
    );
    assert_eq!(heard.settled.len(), 22);
    assert!(!heard.settled_names().contains(&"x/2/7".to_owned()));
}

#[test]
fn a_failed_syncfs_is_attributed_by_asking_each_file_of_the_window() {
    let (_scratch, d) = scratch();
    let mut plan = plan(&d, DurabilityMode::Group);
    plan.jobs = std::num::NonZeroUsize::new(1);
    // The second window fails: files 4 to 7; the kernel reports the error through file 5.
    let disk = trusted(|call, count| match call {
        Call::SyncFs if count == 1 => Some(EIO),
        Call::SyncFile if count == 1 => Some(EIO),
        _ => None,
    });
    let (heard, finished) = restore(&plan, &small_tree(), &disk);
    let failures = heard.failures();
    assert_eq!(failures.len(), 2, "{failures:?}");
    let lost = failures[0].split(':').next().unwrap().to_owned();
    assert!(
        ["x/1/4", "x/2/5", "x/1/6", "x/2/7"].contains(&lost.as_str()),
        "{failures:?}"
    );
    // The others of the window have passed, so nothing is said of them.
    assert_eq!(
        failures[1],
        ".: cannot sync, no member is lost that is not named: Input/output error (os error 5)"
    );
    assert!(!finished.intact);
    assert!(!heard.settled_names().contains(&lost));
    assert_eq!(heard.settled.len(), 22);
}

#[test]
fn a_failed_directory_sync_lets_nothing_settle_behind_it() {
    let (_scratch, d) = scratch();
    let disk = trusted(|call, count| (call == Call::SyncDir && count == 0).then_some(EIO));
    let (heard, finished) = restore(&plan(&d, DurabilityMode::Each), &small_tree(), &disk);
    let told = heard.failures();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains(": cannot sync: "), "{told:?}");
    assert_eq!(
        told[1],
        ".: cannot sync, 23 members may be lost, x to x/2/19: Input/output error (os error 5)"
    );
    assert!(!finished.intact);
    assert_eq!(heard.settled, Vec::<Vec<u8>>::new());
}

#[test]
fn a_failed_syncfs_in_mode_batch_settles_nothing() {
    let (_scratch, d) = scratch();
    let disk = trusted(|call, _| (call == Call::SyncFs).then_some(EIO));
    let (heard, finished) = restore(&plan(&d, DurabilityMode::Batch), &small_tree(), &disk);
    // The files are closed by now and cannot be asked: what may be lost is told as a range of the archive.
    assert_eq!(
        heard.failures(),
        [".: cannot sync, 23 members may be lost, x to x/2/19: Input/output error (os error 5)"]
    );
    assert!(!finished.intact && heard.settled.is_empty());
    assert_eq!(disk.count(Call::SyncFs), 1, "it is not tried again");
}

#[test]
fn a_broken_file_does_not_look_whole() {
    let (_scratch, d) = scratch();
    let disk = trusted(|call, count| (call == Call::Write && count == 0).then_some(libc::ENOSPC));
    let (heard, _) = restore(
        &plan(&d, DurabilityMode::Each),
        &[file("f", b"contents"), file("g", b"g")],
        &disk,
    );
    assert_eq!(
        heard.failures(),
        ["f: cannot write: No space left on device (os error 28)"]
    );
    let f = fs::metadata(d.join("f")).unwrap();
    assert_eq!(f.mode() & 0o777, 0o600);
    assert_ne!(f.mtime(), 1_000_000_000);
    assert_eq!(heard.settled_names(), ["g"]);
}

#[test]
fn a_member_that_is_cut_off_stays_recognisably_broken() {
    for jobs in [1, 3] {
        let (_scratch, d) = scratch();
        let mut plan = plan(&d, DurabilityMode::Group);
        plan.jobs = std::num::NonZeroUsize::new(jobs);
        let mut heard = Heard::default();
        let mut extractor =
            Extractor::<_, Vec<u8>>::new(Arc::new(trusted(never)), &plan, 1024).unwrap();
        let (mut member, _) = file("cut", b"");
        (member.size, member.stored) = (1000, 1000);
        let mut stream = Prepared {
            data: VecDeque::from([vec![7; 10]]),
            ends_early: true,
        };
        let request = Request {
            member: &member,
            name: b"cut",
            link: b"",
            directory: 0,
            index: 0,
            headers: 0,
        };
        let result = extractor.restore(&request, &mut stream, &mut heard);
        assert!(matches!(result, Err(Error::UnexpectedEnd { .. })));
        extractor.finish(&mut heard);
        let cut = fs::metadata(d.join("cut")).unwrap();
        assert_eq!((cut.size(), cut.mode() & 0o777), (10, 0o600));
        assert_ne!(cut.mtime(), 1_000_000_000);
        assert_eq!(heard.settled, Vec::<Vec<u8>>::new());
    }
}

#[test]
fn a_member_larger_than_many_pieces_is_written_whole() {
    let (_scratch, d) = scratch();
    let data: Vec<u8> = (0..5_000_003_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for jobs in [1, 8] {
        let mut plan = plan(&d, DurabilityMode::Batch);
        plan.jobs = std::num::NonZeroUsize::new(jobs);
        let (heard, _) = restore(&plan, &[file("large", &data)], &trusted(never));
        assert_eq!(heard.failures(), Vec::<String>::new());
        assert!(fs::read(d.join("large")).unwrap() == data);
    }
}

#[test]
fn what_is_there_already_is_treated_as_the_plan_says() {
    let (_scratch, d) = scratch();
    let cases: [(Existing, &str, usize); 6] = [
        (Existing::Replace, "new", 0),
        (Existing::RemoveFirst, "new", 0),
        (Existing::Overwrite, "new", 0),
        (Existing::KeepComplain, "old", 1),
        (Existing::KeepSilently, "old", 0),
        (
            Existing::KeepNotOlder {
                directories: false,
                except_dot: false,
            },
            "old",
            0,
        ),
    ];
    for (existing, expected, failures) in cases {
        let _ = fs::remove_file(d.join("f"));
        fs::write(d.join("f"), "old").unwrap();
        let inode = fs::metadata(d.join("f")).unwrap().ino();
        let mut plan = plan(&d, DurabilityMode::None);
        plan.extract.existing = existing;
        let (heard, _) = restore(&plan, &[file("f", b"new")], &Faulty::new(Os, never));
        assert_eq!(
            fs::read_to_string(d.join("f")).unwrap(),
            expected,
            "{existing:?}"
        );
        assert_eq!(
            heard.failures().len(),
            failures,
            "{existing:?} {:?}",
            heard.failures()
        );
        if existing == Existing::Overwrite {
            assert_eq!(fs::metadata(d.join("f")).unwrap().ino(), inode);
        }
    }
}

#[test]
fn a_hard_link_to_itself_keeps_the_file() {
    let (_scratch, d) = scratch();
    let members = [
        file("f", b"hi"),
        link(Kind::HardLink, "f", "f"),
        link(Kind::HardLink, "./f", ".//f"),
    ];
    let (heard, _) = restore(
        &plan(&d, DurabilityMode::None),
        &members,
        &Faulty::new(Os, never),
    );
    assert_eq!(heard.failures(), Vec::<String>::new());
    assert_eq!(fs::read(d.join("f")).unwrap(), b"hi");
}

#[test]
fn a_directory_takes_the_place_of_a_file_and_a_file_that_of_an_empty_directory() {
    let (_scratch, d) = scratch();
    fs::write(d.join("was-file"), "").unwrap();
    fs::create_dir(d.join("was-empty")).unwrap();
    fs::create_dir_all(d.join("was-full/sub")).unwrap();
    let members = [
        directory("was-file", 0o755),
        file("was-empty", b"1"),
        file("was-full", b"2"),
        file("after", b"3"),
    ];
    let (heard, _) = restore(&plan(&d, DurabilityMode::Group), &members, &trusted(never));
    assert!(
        d.join("was-file").is_dir() && d.join("was-empty").is_file() && d.join("after").is_file()
    );
    assert_eq!(
        heard.failures(),
        ["was-full: cannot open: File exists (os error 17)"]
    );
}

#[test]
fn a_name_with_a_nul_byte_is_refused() {
    let (_scratch, d) = scratch();
    let members = [
        file("a\0b", b"1"),
        link(Kind::Symlink, "l", "a\0b"),
        file("c", b"2"),
    ];
    let (heard, _) = restore(
        &plan(&d, DurabilityMode::None),
        &members,
        &Faulty::new(Os, never),
    );
    assert_eq!(heard.failures().len(), 2, "{:?}", heard.failures());
    assert_eq!(fs::read_dir(&d).unwrap().count(), 1);
}

#[test]
fn paths_longer_than_the_kernel_takes_in_one_call_are_restored() {
    let (_scratch, d) = scratch();
    let name = format!("{}file", "component-of-a-path/".repeat(400));
    let members = [
        directory(name.trim_end_matches("/file"), 0o700),
        file(&name, b"deep"),
    ];
    for mode in [DurabilityMode::Each, DurabilityMode::Group] {
        let (heard, _) = restore(&plan(&d, mode), &members, &trusted(never));
        assert_eq!(heard.failures(), Vec::<String>::new());
        assert_eq!(heard.settled.len(), 2);
    }
}

#[test]
fn the_open_file_limit_bounds_a_window() {
    let (_scratch, d) = scratch();
    let mut plan = plan(&d, DurabilityMode::Group);
    plan.durability.window_members = 100_000;
    let mut heard = Heard::default();
    let disk = trusted(never);
    let mut extractor = Extractor::<_, Vec<u8>>::new(Arc::new(disk.clone()), &plan, 64).unwrap();
    for index in 0..100 {
        let (member, _) = file(&format!("f{index}"), b"");
        let request = Request {
            member: &member,
            name: &member.name,
            link: b"",
            directory: 0,
            index: 0,
            headers: 0,
        };
        extractor
            .restore(&request, &mut Prepared::default(), &mut heard)
            .unwrap();
    }
    extractor.finish(&mut heard);
    assert!(
        disk.count(Call::SyncFs) >= 4,
        "{}",
        disk.count(Call::SyncFs)
    );
    assert_eq!(heard.settled.len(), 100);
}

/// Once in a while no more files can be opened: what is open is settled and closed, and the work goes on.
#[test]
fn running_out_of_open_files_costs_time_and_nothing_else() {
    for failing in [Call::Create, Call::OpenDir] {
        for mode in [
            DurabilityMode::Each,
            DurabilityMode::Group,
            DurabilityMode::Batch,
            DurabilityMode::None,
        ] {
            let (_scratch, d) = scratch();
            let disk = trusted(move |call, count| {
                let now = if failing == Call::Create {
                    count % 5 == 2
                } else {
                    count == 1
                };
                (call == failing && now).then_some(libc::EMFILE)
            });
            let mut plan = plan(&d, mode);
            plan.durability.window_members = 1000;
            let (heard, finished) = restore(&plan, &small_tree(), &disk);
            assert_eq!(
                heard.failures(),
                Vec::<String>::new(),
                "{failing:?} {mode:?}"
            );
            assert_eq!(finished.restored.members, 23);
        }
    }
}

#[test]
fn the_observer_can_end_the_run() {
    let (_scratch, d) = scratch();
    let plan = plan(&d, DurabilityMode::Group);
    let mut heard = Heard {
        stop: true,
        ..Heard::default()
    };
    let mut extractor = Extractor::<_, Vec<u8>>::new(Arc::new(trusted(never)), &plan, 64).unwrap();
    let (member, _) = file("../f", b"");
    let request = Request {
        member: &member,
        name: &member.name,
        link: b"",
        directory: 0,
        index: 0,
        headers: 0,
    };
    extractor
        .restore(&request, &mut Prepared::default(), &mut heard)
        .unwrap();
    assert!(extractor.is_stopped());
    extractor.finish(&mut heard);
}

#[test]
fn conditions_carry_operation_and_cause() {
    let complaint = Complaint::system(
        b"f",
        Operation::Write,
        std::io::Error::from_raw_os_error(EIO),
    );
    assert!(matches!(
        complaint.condition,
        Condition::System {
            operation: Operation::Write,
            ..
        }
    ));
}

/// A destination with `d/old`, a deep chain of directories below `d/deep` and a link out of it.
fn full_directory(d: &Path) -> PathBuf {
    let outside = d.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "k").unwrap();
    fs::create_dir_all(d.join("d/sub/empty")).unwrap();
    fs::write(d.join("d/old"), "o").unwrap();
    fs::write(d.join("d/sub/old"), "o").unwrap();
    std::os::unix::fs::symlink(&outside, d.join("d/sub/out")).unwrap();
    outside
}

#[test]
fn a_full_directory_in_the_way_is_removed_when_asked_for() {
    let pipe = (Member::new(Kind::Fifo, b"d"), Vec::new());
    for existing in [Existing::Replace, Existing::RemoveFirst] {
        for member in [
            file("d", b"new"),
            link(Kind::Symlink, "d", "anywhere"),
            link(Kind::HardLink, "d", "other"),
            pipe.clone(),
        ] {
            for asked in [false, true] {
                let (_scratch, d) = scratch();
                let outside = full_directory(&d);
                let mut plan = plan(&d, DurabilityMode::Each);
                plan.extract.existing = existing;
                plan.extract.remove_recursively = asked;
                let members = [file("other", b""), member.clone(), file("after", b"")];
                let (heard, _) = restore(&plan, &members, &trusted(never));
                assert_eq!(heard.failures().is_empty(), asked, "{:?}", heard.failures());
                assert_eq!(d.join("d/sub/old").exists(), !asked);
                assert_eq!(fs::symlink_metadata(d.join("d")).unwrap().is_dir(), !asked);
                assert!(d.join("after").exists());
                assert!(outside.join("kept").exists());
            }
        }
    }
}

#[test]
fn directories_of_the_archive_are_emptied_only_when_removed_first() {
    for (existing, left) in [(Existing::Replace, true), (Existing::RemoveFirst, false)] {
        let (_scratch, d) = scratch();
        let outside = full_directory(&d);
        fs::write(d.join("beside"), "b").unwrap();
        let mut plan = plan(&d, DurabilityMode::Group);
        plan.extract.existing = existing;
        plan.extract.remove_recursively = true;
        let members = [
            directory("./", 0o755),
            directory("d/", 0o750),
            file("d/a", b"a"),
        ];
        let (heard, _) = restore(&plan, &members, &trusted(never));
        assert_eq!(heard.failures(), Vec::<String>::new());
        assert_eq!(d.join("d/sub/old").exists(), left);
        assert!(d.join("d/a").exists() && outside.join("kept").exists());
        assert_eq!(fs::metadata(d.join("d")).unwrap().mode() & 0o7777, 0o750);
        // The destination itself is not.
        assert!(d.join("beside").exists());
    }
}

#[test]
fn what_was_to_be_done_below_a_removed_directory_is_forgotten() {
    let (_scratch, d) = scratch();
    let mut plan = plan(&d, DurabilityMode::Each);
    plan.extract.remove_recursively = true;
    let members = [
        directory("d", 0o755),
        directory("d/sub", 0o500),
        file("d/sub/a", b"a"),
        directory("d/sub/deeper", 0o755),
        directory("d.beside", 0o700),
        file("d", b"now a file"),
    ];
    let (heard, finished) = restore(&plan, &members, &trusted(never));
    assert_eq!(heard.failures(), Vec::<String>::new());
    assert!(finished.intact);
    assert_eq!(fs::read(d.join("d")).unwrap(), b"now a file");
    let beside = fs::metadata(d.join("d.beside")).unwrap();
    assert_eq!(beside.mode() & 0o7777, 0o700);
}

#[test]
fn deep_trees_need_no_more_open_files_than_flat_ones() {
    let (_scratch, d) = scratch();
    let disk = Os;
    let mut at = disk.open_path(&d).unwrap();
    // Longer than any path, and more levels than open files.
    for _ in 0..3000 {
        disk.make_dir(&at, c"d", 0o755).unwrap();
        at = disk.open_dir(&at, c"d").unwrap();
        disk.create(&at, c"f", 0o644).unwrap();
    }
    let mut plan = plan(&d, DurabilityMode::None);
    plan.extract.remove_recursively = true;
    let (heard, _) = restore(&plan, &[file("d", b"flat")], &trusted(never));
    assert_eq!(heard.failures(), Vec::<String>::new());
    assert_eq!(fs::read(d.join("d")).unwrap(), b"flat");
}

#[test]
fn neither_a_destination_nor_what_is_above_it_is_removed() {
    let (scratch, d) = scratch();
    fs::create_dir(scratch.path().join("other")).unwrap();
    fs::write(d.join("kept"), "k").unwrap();
    for existing in [Existing::Replace, Existing::RemoveFirst] {
        let mut plan = plan(scratch.path(), DurabilityMode::None);
        plan.directories.push(d.clone());
        plan.selection.keep_dot_dot = true;
        plan.extract.existing = existing;
        plan.extract.remove_recursively = true;
        for name in ["d", ".", "other/..", "other/."] {
            let (heard, _) = restore(&plan, &[file(name, b"x")], &trusted(never));
            assert_eq!(
                heard.failures().len(),
                usize::from(name != "other/."),
                "{name}"
            );
            assert!(d.join("kept").exists(), "{name}");
        }
        fs::remove_file(scratch.path().join("other")).unwrap();
        fs::create_dir(scratch.path().join("other")).unwrap();
    }
}

#[test]
fn what_cannot_be_removed_is_one_members_failure() {
    for call in [Call::List, Call::Remove, Call::OpenDir, Call::RemoveDir] {
        let (_scratch, d) = scratch();
        let outside = full_directory(&d);
        let mut plan = plan(&d, DurabilityMode::None);
        plan.extract.remove_recursively = true;
        // The first remove_dir is the one that finds something in it.
        let from = u64::from(call == Call::RemoveDir);
        let disk = trusted(move |made, count| (made == call && count >= from).then_some(EIO));
        let (heard, _) = restore(&plan, &[file("d", b"x"), file("after", b"")], &disk);
        assert_eq!(heard.failures().len(), 1, "{call:?}");
        assert!(
            heard.failures()[0].starts_with("d: "),
            "{:?}",
            heard.failures()
        );
        assert!(d.join("after").exists() && outside.join("kept").exists());
    }
}

#[test]
fn a_member_is_compared_with_its_earlier_self_once_that_is_written() {
    for mode in [DurabilityMode::Each, DurabilityMode::None] {
        for round in 0..20 {
            let (_scratch, d) = scratch();
            let mut plan = plan(&d, mode);
            plan.extract.existing = Existing::KeepNotOlder {
                directories: true,
                except_dot: false,
            };
            let mut members = vec![file("a", b"first"), file("a", b"second")];
            members[1].0.mtime.seconds += 1;
            let (heard, _) = restore(&plan, &members, &trusted(never));
            assert_eq!(heard.complaints, [], "{round}");
            assert_eq!(fs::read(d.join("a")).unwrap(), b"second");
        }
    }
}
