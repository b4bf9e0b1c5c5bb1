//! Members that get their names only when they are stable.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use super::{
    Call, DurabilityMode, EIO, Existing, Faulty, Kind, Member, Os, directory, file, link, never,
    plan, restore, scratch, small_tree, trusted,
};
use crate::plan::{Backup, BackupControl, Plan};

const MODES: [DurabilityMode; 4] = [
    DurabilityMode::Each,
    DurabilityMode::Group,
    DurabilityMode::Batch,
    DurabilityMode::None,
];

fn safe(destination: &Path, mode: DurabilityMode) -> Plan {
    let mut plan = plan(destination, mode);
    plan.extract.safe_writes = true;
    plan
}

/// What is below a directory: kind, contents and how many names, by path.
fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut todo = vec![root.to_path_buf()];
    while let Some(path) = todo.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let state = fs::symlink_metadata(&path).unwrap();
            let what = if state.is_dir() {
                todo.push(path.clone());
                format!("directory {:o} {}", state.mode(), state.mtime())
            } else if state.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else {
                format!("{:?} x{}", fs::read(&path).unwrap(), state.nlink())
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, what);
        }
    }
    found
}

fn leftovers(root: &Path) -> Vec<String> {
    tree(root)
        .into_keys()
        .filter(|name| name.contains(".durastar-"))
        .collect()
}

/// What is there before.
fn furnish(d: &Path, seed: u64) {
    fs::write(d.join("a"), b"old a").unwrap();
    fs::create_dir(d.join("b")).unwrap();
    if seed.is_multiple_of(2) {
        fs::write(d.join("b/x"), b"old b/x").unwrap();
    }
    symlink("b", d.join("c")).unwrap();
    fs::hard_link(d.join("a"), d.join("d")).unwrap();
    for name in ["a", "b"] {
        fs::File::open(d.join(name))
            .unwrap()
            .set_modified(UNIX_EPOCH + Duration::from_secs(999_999_999))
            .unwrap();
    }
}

/// Members with few names, so that they meet.
fn meeting(seed: u64) -> Vec<(Member, Vec<u8>)> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % bound
    };
    let names = [
        "a", "b", "c", "d", "a/x", "b/x", "b/y", "c/x", "e", "e/x", "g",
    ];
    // Never directories: a link to one fails after what is in its way was removed, where that is not kept.
    let targets = ["a", "d", "a/x", "b/x", "b/y", "c/x", "e/x"];
    (0..12)
        .map(|index| {
            let name = names[next(names.len())];
            match next(8) {
                0 => directory(["b", "c", "g", "b/z"][next(4)], 0o755),
                // With backups no second way to a file, as above.
                1 if seed.is_multiple_of(3) => link(Kind::Symlink, name, "nowhere"),
                1 => link(Kind::Symlink, name, ["b", "a", "nowhere"][next(3)]),
                2 | 3 => {
                    // Not to itself nor over itself: it would be renamed out of its own way.
                    let target = targets[next(targets.len())];
                    let real = |name: &str| name.replace("c/", "b/");
                    let is_itself =
                        real(target).starts_with(&real(name)) || target.starts_with(name);
                    link(
                        Kind::HardLink,
                        name,
                        if is_itself { "nowhere" } else { target },
                    )
                }
                _ => file(name, format!("new {index}").as_bytes()),
            }
        })
        .collect()
}

#[test]
fn safe_writes_give_what_others_give() {
    for seed in 0..120 {
        let members = meeting(seed);
        let existing = [
            Existing::Replace,
            Existing::Replace,
            Existing::KeepComplain,
            Existing::KeepSilently,
            Existing::KeepNotOlder {
                directories: true,
                except_dot: false,
            },
        ][seed as usize % 5];
        let run = |safe: bool| {
            let (scratch, d) = scratch();
            furnish(&d, seed);
            let mut plan = plan(&d, MODES[seed as usize / 5 % 4]);
            plan.extract.safe_writes = safe;
            plan.extract.existing = existing;
            plan.extract.remove_recursively = seed % 7 == 0;
            plan.extract.backup = (seed % 3 == 0).then(|| Backup {
                control: BackupControl::Existing,
                suffix: b"~".to_vec(),
            });
            plan.jobs = std::num::NonZeroUsize::new(seed as usize % 2 + 1);
            let (heard, _) = restore(&plan, &members, &trusted(never));
            // Times of directories that no member set are those of the run.
            let tree: BTreeMap<_, _> = tree(&d)
                .into_iter()
                .map(|(name, what)| {
                    let now = what.starts_with("directory") && !what.ends_with("1000000001");
                    (name, if now { "directory".to_owned() } else { what })
                })
                .collect();
            drop(scratch);
            // Which failed; why may differ, as what is there is so a moment longer.
            let failed: Vec<String> = heard
                .failures()
                .iter()
                .map(|failure| failure.split(':').next().unwrap_or_default().to_owned())
                .collect();
            (tree, failed)
        };
        let members: Vec<_> = members
            .iter()
            .map(|(member, _)| {
                format!(
                    "{:?} {} {}",
                    member.kind,
                    member.name.escape_ascii(),
                    member.link.escape_ascii()
                )
            })
            .collect();
        assert_eq!(run(true), run(false), "{seed} {existing:?} {members:#?}");
    }
}

/// The calls of a run that matter for the order, as they were made.
fn order(mode: DurabilityMode, promise: bool, members: &[(Member, Vec<u8>)]) -> Vec<Call> {
    let (_scratch, d) = scratch();
    let made = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&made);
    let disk = Faulty::new(Os, move |call, _| {
        log.lock().unwrap().push(call);
        None
    })
    .with_promise(promise);
    let mut plan = safe(&d, mode);
    plan.jobs = std::num::NonZeroUsize::new(1);
    let (heard, finished) = restore(&plan, members, &disk);
    assert_eq!(heard.failures(), Vec::<String>::new());
    assert_eq!(leftovers(&d), Vec::<String>::new());
    if mode != DurabilityMode::None {
        assert_eq!(finished.sync.settled_members, members.len() as u64);
        assert_eq!(heard.settled.len(), members.len());
    }
    let calls = made.lock().unwrap().clone();
    calls
        .into_iter()
        .filter(|call| {
            matches!(
                call,
                Call::Write
                    | Call::SetTimes
                    | Call::Rename
                    | Call::SyncFile
                    | Call::SyncDir
                    | Call::SyncFs
            )
        })
        .collect()
}

#[test]
fn a_barrier_comes_before_each_rename_and_one_after() {
    let members = small_tree();
    let renamed = 20;
    // Windows of 4 members. One barrier serves the contents of one window and the names of the one before.
    let group = order(DurabilityMode::Group, true, &members);
    let syncs = group.iter().filter(|call| **call == Call::SyncFs).count();
    let windows = (2 * members.len()).div_ceil(4);
    assert!(syncs <= windows + 2, "{syncs} of {windows}: {group:?}");
    let batch = order(DurabilityMode::Batch, true, &members);
    let syncs = batch.iter().filter(|call| **call == Call::SyncFs).count();
    assert_eq!(syncs, 2, "{batch:?}");
    for calls in [&group, &batch] {
        let mut stable = 0;
        let mut written = 0;
        let mut renames = 0;
        for call in calls {
            match call {
                Call::Write => written += 1,
                Call::SyncFs => stable = written,
                Call::Rename => {
                    renames += 1;
                    assert!(renames <= stable, "{calls:?}");
                }
                _ => {}
            }
        }
        assert_eq!(renames, renamed);
        let last = |wanted: Call| calls.iter().rposition(|call| *call == wanted);
        assert!(last(Call::SyncFs) > last(Call::Rename), "{calls:?}");
        assert!(last(Call::SyncFs) > last(Call::SetTimes), "{calls:?}");
    }
    // Each file by itself; on the deciding thread that is at once.
    let each = order(DurabilityMode::Each, true, &members);
    let files: Vec<_> = each
        .iter()
        .filter(|call| matches!(call, Call::SyncFile | Call::Rename))
        .collect();
    assert_eq!(files.len(), 2 * renamed);
    for pair in files.chunks(2) {
        assert_eq!(pair, [&Call::SyncFile, &Call::Rename]);
    }
    let last = |wanted: Call| each.iter().rposition(|call| *call == wanted);
    assert!(last(Call::SyncDir) > last(Call::Rename));
    // Where syncfs is no promise.
    let asked = order(DurabilityMode::Group, false, &members);
    let last = |wanted: Call| asked.iter().rposition(|call| *call == wanted);
    assert!(last(Call::SyncDir) > last(Call::Rename));
    let (mut synced, mut renames) = (0, 0);
    for call in &asked {
        match call {
            Call::SyncFile => synced += 1,
            Call::Rename => {
                renames += 1;
                assert!(renames <= synced, "{asked:?}");
            }
            _ => {}
        }
    }
    assert!(order(DurabilityMode::None, true, &members).contains(&Call::Rename));
}

#[test]
fn wherever_a_run_breaks_off_each_name_is_old_or_new() {
    let members: Vec<_> = (0..6)
        .map(|index| file(&format!("{index}"), b"all of the new contents"))
        .chain([
            link(Kind::HardLink, "6", "0"),
            link(Kind::Symlink, "7", "0"),
        ])
        .collect();
    for mode in MODES {
        let run = |from: u64| {
            let (scratch, d) = scratch();
            for index in 0..8 {
                fs::write(d.join(index.to_string()), b"old").unwrap();
            }
            let count = Arc::new(Mutex::new(0));
            let calls = Arc::clone(&count);
            // Nothing that changes anything works from here on, as if the program were not there any more.
            let disk = trusted(move |call, _| {
                let mut calls = calls.lock().unwrap();
                let harmless = matches!(
                    call,
                    Call::OpenPath | Call::OpenDir | Call::StatDir | Call::SyncFsIsPromise
                );
                *calls += u64::from(!harmless);
                (!harmless && *calls > from).then_some(EIO)
            });
            let mut plan = safe(&d, mode);
            plan.jobs = std::num::NonZeroUsize::new(1);
            let (heard, _) = restore(&plan, &members, &disk);
            for index in 0..8 {
                let there = fs::read(d.join(index.to_string())).unwrap();
                assert!(
                    there == b"old" || there == b"all of the new contents",
                    "{mode:?} {from} {index} {:?}",
                    there.escape_ascii().to_string()
                );
            }
            for name in &heard.settled {
                let name = std::str::from_utf8(name).unwrap();
                assert_ne!(
                    fs::read(d.join(name)).unwrap(),
                    b"old",
                    "{mode:?} {from} {name}"
                );
            }
            drop(scratch);
            *count.lock().unwrap()
        };
        let all = run(u64::MAX);
        assert!(all > 20);
        for from in 0..all {
            run(from);
        }
    }
}

#[test]
fn what_fails_leaves_the_old_file_and_no_temporary_name() {
    for mode in MODES {
        for call in [
            Call::Create,
            Call::Write,
            Call::SetTimes,
            Call::SyncFile,
            Call::Rename,
        ] {
            let syncs = mode == DurabilityMode::Each;
            if call == Call::SyncFile && !syncs {
                continue;
            }
            let (_scratch, d) = scratch();
            for name in ["a", "b"] {
                fs::write(d.join(name), b"old").unwrap();
            }
            let mut plan = safe(&d, mode);
            plan.jobs = std::num::NonZeroUsize::new(1);
            let members = [file("a", b"new"), file("b", b"new")];
            let disk = trusted(move |made, before| (made == call && before == 0).then_some(EIO));
            let (heard, _) = restore(&plan, &members, &disk);
            assert_eq!(
                heard.failures().len(),
                1,
                "{mode:?} {call:?} {:?}",
                heard.failures()
            );
            assert!(
                heard.failures()[0].starts_with("a: "),
                "{:?}",
                heard.failures()
            );
            assert_eq!(fs::read(d.join("a")).unwrap(), b"old", "{mode:?} {call:?}");
            assert_eq!(fs::read(d.join("b")).unwrap(), b"new", "{mode:?} {call:?}");
            assert_eq!(leftovers(&d), Vec::<String>::new(), "{mode:?} {call:?}");
            let settled = if mode == DurabilityMode::None {
                vec![]
            } else {
                vec!["b".to_owned()]
            };
            assert_eq!(heard.settled_names(), settled, "{mode:?} {call:?}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_made_stable_does_not_take_a_name() {
    let (_scratch, d) = scratch();
    fs::write(d.join("a"), b"old").unwrap();
    let members = [
        file("a", b"new"),
        file("b", b"new"),
        link(Kind::HardLink, "c", "a"),
    ];
    // The first barrier fails, and of the files that are asked then the first.
    let disk = trusted(|call, before| {
        (matches!(call, Call::SyncFs | Call::SyncFile) && before == 0).then_some(EIO)
    });
    let mut plan = safe(&d, DurabilityMode::Group);
    plan.jobs = std::num::NonZeroUsize::new(1);
    plan.durability.window_members = 100;
    let (heard, finished) = restore(&plan, &members, &disk);
    assert!(!finished.intact);
    assert_eq!(fs::read(d.join("a")).unwrap(), b"old");
    assert_eq!(leftovers(&d), Vec::<String>::new());
    let failures = heard.failures().join("\n");
    assert!(failures.contains("cannot sync"), "{failures}");
    // Either is a name for the lost contents.
    assert!(
        !d.join("c").exists() || fs::read(d.join("b")).is_err(),
        "{failures}"
    );
    // In mode batch nothing is kept open that could be asked.
    let (_scratch, d) = scratch();
    fs::write(d.join("a"), b"old").unwrap();
    let disk = trusted(|call, _| (call == Call::SyncFs).then_some(EIO));
    let (heard, finished) = restore(&safe(&d, DurabilityMode::Batch), &members, &disk);
    assert!(!finished.intact);
    assert_eq!(heard.settled_names(), Vec::<String>::new());
    assert_eq!(
        tree(&d),
        BTreeMap::from([("a".to_owned(), format!("{:?} x1", b"old"))])
    );
}

#[test]
fn many_links_to_one_file_cost_no_more_syncs() {
    let (_scratch, d) = scratch();
    let disk = trusted(never);
    let mut plan = safe(&d, DurabilityMode::Group);
    plan.durability.window_members = 1000;
    let mut members = vec![file("source", b"contents")];
    for index in 0..200 {
        members.push(link(Kind::HardLink, &format!("{index}"), "source"));
    }
    let (heard, _) = restore(&plan, &members, &disk);
    assert_eq!(heard.failures(), Vec::<String>::new());
    assert_eq!(disk.count(Call::SyncFs), 2);
    assert_eq!(fs::metadata(d.join("source")).unwrap().nlink(), 201);
    // Again: rename(2) does nothing between two names of one file.
    let members: Vec<_> = (0..200)
        .map(|index| link(Kind::HardLink, &format!("{index}"), "source"))
        .collect();
    let (heard, _) = restore(&plan, &members, &trusted(never));
    assert_eq!(heard.failures(), Vec::<String>::new());
    assert_eq!(leftovers(&d), Vec::<String>::new());
    assert_eq!(fs::metadata(d.join("source")).unwrap().nlink(), 201);
}

#[test]
fn a_link_with_contents_changes_no_file_under_its_name() {
    let (_scratch, d) = scratch();
    fs::write(d.join("there"), b"other contents").unwrap();
    let (mut brings, data) = file("new", b"contents");
    brings.kind = Kind::HardLink;
    brings.link = b"there".to_vec();
    let (mut again, _) = file("second", b"contents");
    again.kind = Kind::HardLink;
    again.link = b"first".to_vec();
    let members = [
        (brings, data.clone()),
        file("first", b"contents"),
        (again, data),
    ];
    let (heard, _) = restore(&safe(&d, DurabilityMode::Group), &members, &trusted(never));
    assert_eq!(heard.failures(), Vec::<String>::new());
    assert_eq!(fs::read(d.join("there")).unwrap(), b"other contents");
    assert_eq!(fs::read(d.join("new")).unwrap(), b"contents");
    assert_eq!(fs::read(d.join("second")).unwrap(), b"contents");
    assert_eq!(fs::metadata(d.join("first")).unwrap().nlink(), 2);
}
