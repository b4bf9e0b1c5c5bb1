//! The rules D1 to D8 of durability on the simulated disk: power is cut after every single call of a small extraction.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use durastar::disk::{Body, Call, Disk, Faulty, Found, Lie, Sim};
use durastar::engine::{Outcome, Promise, run_on};
use durastar::error::{Complaint, Severity};
use durastar::observe::{Observer, Verdict};
use durastar::plan::create::Create;
use durastar::plan::{
    Archive, Compression, Durability, DurabilityMode, Existing, ExistingDirectories, Extract,
    IdMap, Job, Journal, Plan, Seek, Selection, SyncMethod, Volume, XattrSelection,
};
use tempfile::NamedTempFile;

const EIO: i32 = 5;
const MODES: [DurabilityMode; 3] = [
    DurabilityMode::Each,
    DurabilityMode::Group,
    DurabilityMode::Batch,
];

/// A member and what it has to be on disk.
#[derive(Clone)]
struct Wanted {
    name: &'static str,
    kind: char,
    mode: u32,
    contents: Vec<u8>,
    link: &'static str,
}

/// One of each kind, some in directories that no member stands for.
fn members() -> Vec<Wanted> {
    let member = |name, kind, mode| Wanted {
        name,
        kind,
        mode,
        contents: Vec::new(),
        link: "",
    };
    let file = |name, mode, length: usize| Wanted {
        contents: (0..length).map(|at| (at % 251) as u8).collect(),
        ..member(name, 'f', mode)
    };
    let to = |name, kind, link| Wanted {
        link,
        ..member(name, kind, 0o777)
    };
    vec![
        member("d", 'd', 0o750),
        file("d/a", 0o640, 700),
        file("d/large", 0o4755, 600_000),
        file("d/empty", 0o600, 0),
        to("d/s", 's', "a"),
        to("d/h", 'h', "d/a"),
        member("d/p", 'p', 0o640),
        member("d/c", 'c', 0o600),
        file("i/j/implied", 0o444, 10),
        file("i/x", 0o644, 30),
        member("d/sub", 'd', 0o555),
        file("d/sub/y", 0o400, 5000),
        file("z", 0o644, 1),
    ]
}

const TIME: u64 = 1_234_567_890;
const OWNER: (u32, u32) = (7, 8);

fn archive(members: &[Wanted]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a file");
    let mut builder = tar::Builder::new(Vec::new());
    for member in members {
        let mut header = tar::Header::new_ustar();
        header.set_mode(member.mode);
        header.set_mtime(TIME);
        header.set_uid(OWNER.0.into());
        header.set_gid(OWNER.1.into());
        header.set_size(member.contents.len() as u64);
        header.set_entry_type(match member.kind {
            'd' => tar::EntryType::Directory,
            's' => tar::EntryType::Symlink,
            'h' => tar::EntryType::Link,
            'p' => tar::EntryType::Fifo,
            'c' => tar::EntryType::Char,
            _ => tar::EntryType::Regular,
        });
        if member.kind == 'f' {
            let comment = ("SCHILY.xattr.user.c", &b"yes"[..]);
            builder.append_pax_extensions([comment]).expect("in memory");
        }
        if member.link.is_empty() {
            builder
                .append_data(&mut header, member.name, &member.contents[..])
                .expect("in memory");
        } else {
            builder
                .append_link(&mut header, member.name, member.link)
                .expect("in memory");
        }
    }
    let bytes = builder.into_inner().expect("in memory");
    file.write_all(&bytes).expect("room");
    file
}

fn plan(archive: &Path, mode: DurabilityMode, jobs: usize) -> Plan {
    Plan {
        job: Job::Extract,
        archive: Archive {
            volumes: vec![Volume::File(archive.to_path_buf())],
            compression: Compression::Detect,
            record_bytes: 10240,
            fifo_bytes: 1 << 20,
            ignore_zeros: false,
            seek: Seek::Auto,
            multi_volume: None,
        },
        directories: vec![PathBuf::from("/")],
        selection: Selection::default(),
        extract: Extract {
            same_owner: true,
            numeric_owner: true,
            same_permissions: true,
            mtime: true,
            atime: false,
            existing: Existing::Replace,
            remove_recursively: false,
            existing_directories: ExistingDirectories::Restore,
            keep_directory_symlink: false,
            secure_links: false,
            acls: false,
            xattrs: Some(XattrSelection::default()),
            selinux: false,
            file_flags: false,
            no_directories: false,
            make_holes: false,
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
        create: Create::default(),
        durability: Durability {
            mode,
            window_members: 4,
            window_bytes: 1 << 30,
            method: SyncMethod::Auto,
            report_settled: true,
            verify: false,
        },
        journal: None,
        jobs: NonZeroUsize::new(jobs),
        umask: 0,
    }
}

/// Notes each settled name with the number of calls before it.
struct Notes {
    sim: Sim,
    settled: Vec<(Vec<u8>, usize)>,
    failures: Vec<String>,
    members: usize,
    stop_after: usize,
}

impl Observer for Notes {
    fn member(&mut self, _: &durastar::member::Member, _: &[u8], _: &[u8]) {
        self.members += 1;
    }
    fn complaint(&mut self, complaint: &Complaint) -> Verdict {
        if complaint.severity == Severity::Failure {
            self.failures.push(complaint.to_string());
        }
        Verdict::Continue
    }
    fn settled(&mut self, names: &mut dyn Iterator<Item = &[u8]>) {
        let now = self.sim.operations();
        self.settled.extend(names.map(|name| (name.to_vec(), now)));
    }
    fn verdict(&mut self) -> Verdict {
        if self.members >= self.stop_after {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }
}

/// A run on a disk that wraps the simulated one.
fn run<D: Disk>(sim: &Sim, disk: D, plan: &Plan, stop_after: usize) -> (Outcome, Notes) {
    let mut notes = Notes {
        sim: sim.clone(),
        settled: Vec::new(),
        failures: Vec::new(),
        members: 0,
        stop_after,
    };
    let outcome = run_on(&Arc::new(disk), plan, &mut std::io::sink(), &mut notes);
    (outcome, notes)
}

/// What is wrong with a member after a power cut.
fn wrong(member: &Wanted, left: &BTreeMap<Vec<u8>, Found>) -> Option<String> {
    let Some(found) = left.get(member.name.as_bytes()) else {
        return Some(format!("{} is gone", member.name));
    };
    let Some(image) = &found.image else {
        return Some(format!("{} has nothing behind its name", member.name));
    };
    let right = match (&image.body, member.kind) {
        (Body::File(contents), 'f') => {
            *contents == member.contents
                && image.attributes.get(&b"user.c"[..]).map(Vec::as_slice) == Some(b"yes")
        }
        (Body::Directory(_), 'd') | (Body::Special(_), 'p' | 'c') => true,
        (Body::Symlink(target), 's') => target == member.link.as_bytes(),
        (Body::File(_), 'h') => {
            return (left.get(member.link.as_bytes()).map(|found| found.inode)
                != Some(found.inode))
            .then(|| format!("{} is no other name of {}", member.name, member.link));
        }
        _ => false,
    };
    let mode = member.kind == 's' || image.mode == member.mode;
    let times = image.mtime.seconds == TIME.cast_signed();
    (!(right && mode && times && image.owner == OWNER)).then(|| {
        format!(
            "{} is not as it was: {:o} {:?}",
            member.name, image.mode, image.mtime
        )
    })
}

/// Ways in which what was not stable may have reached the disk all the same: not at all, all of it, any part of it.
fn chances() -> Vec<Box<dyn FnMut() -> bool>> {
    let mut ways: Vec<Box<dyn FnMut() -> bool>> = vec![Box::new(|| false), Box::new(|| true)];
    for seed in 1..4_u32 {
        let mut state = seed;
        ways.push(Box::new(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 31 == 1
        }));
    }
    ways
}

/// Every lie that a power cut at any moment brings to light; `early` announces each name before its last sync.
fn lies(
    sim: &Sim,
    outcome: &Outcome,
    notes: &Notes,
    members: &[Wanted],
    early: usize,
    ways: usize,
) -> Vec<String> {
    let mut found = Vec::new();
    let end = sim.operations();
    for cut in 0..=end {
        for mut keeps in chances().into_iter().take(ways) {
            let left = sim.after_power_cut(cut, &mut *keeps);
            for member in members {
                let logged = notes.settled.iter().any(|(name, at)| {
                    let name = name.strip_suffix(b"/").unwrap_or(name);
                    name == member.name.as_bytes() && at.saturating_sub(early) <= cut
                });
                let promised = cut == end && outcome.promise == Promise::Kept;
                if (logged || promised)
                    && let Some(what) = wrong(member, &left)
                {
                    found.push(format!("cut after {cut} of {end}: {what}"));
                }
            }
        }
    }
    found
}

#[test]
fn after_a_power_cut_at_any_call_everything_settled_is_whole() {
    let members = members();
    let archive = archive(&members);
    for mode in MODES {
        for jobs in [1, 4] {
            for trusted in [true, false] {
                let sim = if trusted {
                    Sim::new()
                } else {
                    Sim::new().without_promise()
                };
                for safe in [false, true] {
                    let sim = sim.copy();
                    let mut plan = plan(archive.path(), mode, jobs);
                    plan.extract.safe_writes = safe;
                    let (outcome, notes) = run(&sim, sim.clone(), &plan, usize::MAX);
                    assert_eq!(notes.failures, [""; 0]);
                    assert_eq!(outcome.promise, Promise::Kept);
                    assert_eq!(notes.settled.len(), members.len(), "{mode:?}");
                    assert_eq!(outcome.stats.sync.settled_members, 13, "{mode:?}");
                    let lies = lies(&sim, &outcome, &notes, &members, 0, 5);
                    assert!(lies.is_empty(), "{mode:?} with {jobs} jobs: {lies:#?}");
                }
            }
        }
    }
}

/// Rule D5: whatever the moment, under each name is the old file or the new one, and never a part of one.
#[test]
fn what_safe_writes_replace_is_old_or_new_after_a_power_cut_at_any_call() {
    let new = members();
    let old: Vec<Wanted> = new
        .iter()
        .cloned()
        .map(|mut member| {
            if member.kind == 'f' {
                member.contents = format!("old {}", member.name).into_bytes();
                member.mode = 0o600;
            }
            member
        })
        .collect();
    let (old_archive, archive) = (archive(&old), archive(&new));
    for mode in MODES {
        for trusted in [true, false] {
            for jobs in [1, 4] {
                let sim = Sim::new();
                let sim = if trusted { sim } else { sim.without_promise() };
                let before = plan(old_archive.path(), mode, jobs);
                let (outcome, _) = run(&sim, sim.clone(), &before, usize::MAX);
                assert_eq!(outcome.promise, Promise::Kept);
                let sim = sim.copy();
                let mixtures = |safe: bool| {
                    let sim = sim.copy();
                    let mut after = plan(archive.path(), mode, jobs);
                    after.extract.safe_writes = safe;
                    let (outcome, _) = run(&sim, sim.clone(), &after, usize::MAX);
                    assert_eq!(outcome.promise, Promise::Kept);
                    let mut found = Vec::new();
                    for cut in 0..=sim.operations() {
                        for mut keeps in chances() {
                            let left = sim.after_power_cut(cut, &mut *keeps);
                            for (old, new) in
                                old.iter().zip(&new).filter(|(_, new)| new.kind == 'f')
                            {
                                if let (Some(_), Some(what)) =
                                    (wrong(old, &left), wrong(new, &left))
                                {
                                    found.push(format!("cut after {cut}: {what}"));
                                }
                            }
                        }
                    }
                    found
                };
                let safe = mixtures(true);
                assert!(safe.is_empty(), "{mode:?} {trusted} {jobs}: {safe:#?}");
                assert!(!mixtures(false).is_empty(), "without them there are some");
            }
        }
    }
}

/// What would let a faulty run pass proves nothing.
#[test]
fn a_forgotten_or_early_sync_is_found() {
    let members = members();
    let archive = archive(&members);
    for (mode, lie) in [
        (DurabilityMode::Each, Lie::Forgets(Call::SyncFile)),
        (DurabilityMode::Each, Lie::Forgets(Call::SyncDir)),
        (DurabilityMode::Each, Lie::TimesAfterSync),
        (DurabilityMode::Group, Lie::Forgets(Call::SyncFs)),
        (DurabilityMode::Batch, Lie::Forgets(Call::SyncFs)),
    ] {
        let sim = Sim::new().lying(lie);
        let plan = plan(archive.path(), mode, 1);
        let (outcome, notes) = run(&sim, sim.clone(), &plan, usize::MAX);
        let lies = lies(&sim, &outcome, &notes, &members, 0, 5);
        assert!(!lies.is_empty(), "{mode:?}: {lie:?} was not found");
    }
    for mode in MODES {
        let sim = Sim::new();
        let plan = plan(archive.path(), mode, 1);
        let (outcome, notes) = run(&sim, sim.clone(), &plan, usize::MAX);
        let lies = lies(&sim, &outcome, &notes, &members, 1, 5);
        assert!(!lies.is_empty(), "{mode:?}: an early name was not found");
    }
}

/// Files, directories (with the destination) and file systems: what is synced how often.
#[test]
fn the_number_of_syncs_of_each_kind_is_known() {
    let members = members();
    let archive = archive(&members);
    for (mode, trusted, expected) in [
        (DurabilityMode::None, true, (0, 0, 0)),
        // 7 files; d, d/sub, i, i/j and the destination.
        (DurabilityMode::Each, true, (7, 5, 0)),
        // 13 members of which 11 are no directories, 4 to a window: two full ones, and one with the end.
        (DurabilityMode::Group, true, (0, 0, 3)),
        (DurabilityMode::Batch, true, (0, 0, 1)),
        // Where syncfs(2) is no promise files stay open, so these are windows again: a directory for each it changes in.
        (DurabilityMode::Batch, false, (7, 2 + 4 + 4, 0)),
    ] {
        for jobs in [1, 4] {
            let sim = if trusted {
                Sim::new()
            } else {
                Sim::new().without_promise()
            };
            let plan = plan(archive.path(), mode, jobs);
            let (outcome, _) = run(&sim, sim.clone(), &plan, usize::MAX);
            let sync = &outcome.stats.sync;
            let found = (sync.file_syncs, sync.directory_syncs, sync.fs_syncs);
            assert_eq!(found, expected, "{mode:?} {trusted} {jobs}");
        }
    }
}

#[test]
fn mode_none_settles_nothing_and_loses_everything() {
    let members = members();
    let archive = archive(&members);
    let sim = Sim::new();
    let plan = plan(archive.path(), DurabilityMode::None, 1);
    let (outcome, notes) = run(&sim, sim.clone(), &plan, usize::MAX);
    assert_eq!(outcome.promise, Promise::NotMade);
    assert!(notes.settled.is_empty());
    let left = sim.after_power_cut(sim.operations(), &mut || false);
    assert!(members.iter().all(|member| wrong(member, &left).is_some()));
    // Without a power cut everything is there.
    let left = sim.after_power_cut(sim.operations(), &mut || true);
    let wrong: Vec<_> = members
        .iter()
        .filter_map(|member| wrong(member, &left))
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn an_early_end_settles_what_was_begun() {
    let members = members();
    let archive = archive(&members);
    for mode in MODES {
        for jobs in [1, 4] {
            for stop_after in 1..members.len() {
                let sim = Sim::new();
                let plan = plan(archive.path(), mode, jobs);
                let (outcome, notes) = run(&sim, sim.clone(), &plan, stop_after);
                assert_eq!(outcome.promise, Promise::Broken);
                assert_eq!(notes.settled.len(), stop_after, "{mode:?}");
                assert_eq!(outcome.stats.sync.settled_members, stop_after as u64);
                let lies = lies(&sim, &outcome, &notes, &members, 0, 5);
                assert!(lies.is_empty(), "{mode:?}: {lies:#?}");
            }
        }
    }
}

/// EIO from each sync, write and close, one after the other: never a name that is not there, never success, and no
/// sync of the same thing a second time.
#[test]
fn a_failed_call_is_told_and_what_it_may_have_lost_is_not_settled() {
    let members = members();
    let archive = archive(&members);
    for call in [
        Call::SyncFs,
        Call::SyncFile,
        Call::SyncDir,
        Call::Close,
        Call::Write,
    ] {
        let mut failed = 0;
        for mode in MODES {
            for trusted in [true, false] {
                for jobs in [1, 4] {
                    for which in 0.. {
                        let sim = if trusted {
                            Sim::new()
                        } else {
                            Sim::new().without_promise()
                        };
                        let disk = Faulty::new(sim.clone(), move |made, before| {
                            (made == call && before == which).then_some(EIO)
                        });
                        let plan = plan(archive.path(), mode, jobs);
                        let (outcome, notes) = run(&sim, disk.clone(), &plan, usize::MAX);
                        if disk.count(call) <= which {
                            assert_eq!(outcome.promise, Promise::Kept);
                            break;
                        }
                        failed += 1;
                        assert!(!notes.failures.is_empty(), "{mode:?} {call:?} {which}");
                        assert!(outcome.stats.restored.failures > 0);
                        if matches!(call, Call::SyncFs | Call::SyncFile | Call::SyncDir) {
                            assert_eq!(outcome.promise, Promise::Broken);
                        }
                        let judged = Outcome {
                            promise: Promise::Broken,
                            ..outcome
                        };
                        let lies = lies(&sim, &judged, &notes, &members, 0, 1);
                        assert!(lies.is_empty(), "{mode:?} {call:?} {which}: {lies:#?}");
                    }
                }
            }
        }
        assert!(failed > 0, "{call:?} was never made");
    }
}

/// The disk dies at every call in turn, the power goes, and another run goes on with the journal: in the end everything is
/// as after one run, and what was settled is not done again.
#[test]
fn a_run_cut_at_any_call_is_resumed_by_its_journal() {
    let mut members = members();
    // The same name again, and a name of what it was before.
    let mut again = members[1].clone();
    again.contents = b"another".to_vec();
    members.push(again);
    let archive = archive(&members);
    let expected: Vec<Wanted> = {
        let mut last = members.clone();
        last.remove(1);
        for member in &mut last {
            // `d/h` is a name of the first `d/a`.
            if member.name == "d/h" {
                *member = Wanted {
                    name: "d/h",
                    ..members[1].clone()
                };
            }
        }
        last
    };
    let mut resumed = 0;
    for (mode, safe) in [
        (DurabilityMode::Each, false),
        (DurabilityMode::Group, false),
        (DurabilityMode::Each, true),
        (DurabilityMode::Group, true),
    ] {
        for jobs in [1, 4] {
            for calls in (0..).step_by(if jobs == 1 { 1 } else { 7 }) {
                // In memory where that can be had: the journal is synced each time.
                let work = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
                let work = work.expect("a directory");
                let journal = |resume| {
                    Some(Journal {
                        path: work.path().join("j"),
                        resume,
                    })
                };
                let sim = Sim::new();
                let made = AtomicU64::new(0);
                let disk = Faulty::new(sim.clone(), move |_, _| {
                    (made.fetch_add(1, Ordering::Relaxed) >= calls).then_some(EIO)
                });
                let mut first = plan(archive.path(), mode, jobs);
                first.extract.safe_writes = safe;
                first.journal = journal(false);
                let (outcome, before) = run(&sim, disk, &first, usize::MAX);
                let ended = outcome.promise == Promise::Kept;
                for mut keeps in chances().into_iter().skip(usize::from(jobs > 1)).step_by(2) {
                    let copy = work.path().join("copy");
                    let is_there = std::fs::copy(work.path().join("j"), &copy).is_ok();
                    let sim = sim.copy();
                    sim.lose_power(&mut *keeps);
                    let mut second = plan(archive.path(), mode, jobs);
                    second.extract.safe_writes = safe;
                    second.journal = Some(Journal {
                        path: copy.clone(),
                        resume: is_there,
                    });
                    let (outcome, notes) = run(&sim, sim.clone(), &second, usize::MAX);
                    assert_eq!(notes.failures, [""; 0], "{mode:?} cut after {calls}");
                    assert_eq!(outcome.promise, Promise::Kept);
                    resumed += outcome.stats.restored.resumed;
                    let directories = |name: &[u8]| {
                        name == b"d/" || name == b"d/sub/" || name == b"d" || name == b"d/sub"
                    };
                    let settled = before.settled.iter().filter(|(name, _)| !directories(name));
                    // Only the duplicate and what hangs on it may be done again.
                    let again = notes.settled.iter().filter(|(name, _)| !directories(name));
                    let (settled, again) = (settled.count(), again.count());
                    assert!(
                        settled + again <= 12 + 3,
                        "{mode:?} {calls}: {settled} and {again}"
                    );
                    let left = sim.after_power_cut(sim.operations(), &mut || false);
                    let wrong: Vec<_> = expected
                        .iter()
                        .filter_map(|member| wrong(member, &left))
                        .collect();
                    assert_eq!(
                        wrong, [""; 0],
                        "{mode:?} with {jobs} jobs cut after {calls}"
                    );
                    drop(std::fs::remove_file(copy));
                }
                if ended {
                    break;
                }
            }
        }
    }
    assert!(resumed > 1000, "hardly anything was resumed: {resumed}");
}

#[test]
fn a_file_that_reads_back_differently_is_told_and_not_settled() {
    let members = members();
    let archive = archive(&members);
    for mode in [DurabilityMode::Each, DurabilityMode::Group] {
        for jobs in [1, 4] {
            let sim = Sim::new().lying(Lie::ReadsWrong(600));
            let mut plan = plan(archive.path(), mode, jobs);
            plan.durability.verify = true;
            let (outcome, notes) = run(&sim, sim.clone(), &plan, usize::MAX);
            let mut told = notes.failures.clone();
            told.sort();
            let what = "what is read back from the device is not what was written";
            let wrong = ["d/a", "d/large", "d/sub/y"];
            let mut expected = wrong.map(|name| format!("{name}: {what}")).to_vec();
            expected.push("d/h: the file it is linked to has failed".to_owned());
            expected.sort();
            assert_eq!(told, expected);
            assert_eq!(outcome.promise, Promise::Broken);
            assert_eq!(outcome.stats.sync.verified_files, 4);
            for (name, _) in &notes.settled {
                assert!(
                    !wrong
                        .iter()
                        .any(|wrong| wrong.as_bytes() == name.as_slice())
                );
                // The other name of `d/a` is no better.
                assert_ne!(name, b"d/h");
            }
            assert_eq!(notes.settled.len(), members.len() - 4);
        }
    }
    // A disk that keeps what it is given passes.
    let sim = Sim::new();
    let mut plan = plan(archive.path(), DurabilityMode::Group, 4);
    plan.durability.verify = true;
    let (outcome, _) = run(&sim, sim.clone(), &plan, usize::MAX);
    assert_eq!(outcome.promise, Promise::Kept);
    assert_eq!(outcome.stats.sync.verified_files, 7);
    assert_eq!(
        outcome.stats.sync.verified_bytes,
        700 + 600_000 + 10 + 30 + 5000 + 1
    );
}
