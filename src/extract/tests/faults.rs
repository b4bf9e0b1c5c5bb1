//! Every call that can fail, failing: with each error, at each place where it is made, in each mode.
//!
//! Whatever fails, the run ends, and says what failed and why; what it says nothing of is whole, and so is what it
//! calls settled.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileTypeExt;

use super::*;
use crate::member::Record;
use crate::plan::XattrSelection;

const CALLS: [Call; 29] = [
    Call::OpenPath,
    Call::OpenDir,
    Call::List,
    Call::Create,
    Call::OpenFile,
    Call::MakeDir,
    Call::Symlink,
    Call::Link,
    Call::MakeNode,
    Call::Remove,
    Call::RemoveDir,
    Call::Rename,
    Call::StatAt,
    Call::StatDir,
    Call::StatFile,
    Call::ReadLink,
    Call::Write,
    Call::SetSize,
    Call::SetOwner,
    Call::SetMode,
    Call::SetTimes,
    Call::SetAttribute,
    Call::RemoveAttribute,
    Call::AddFlags,
    Call::Close,
    Call::SyncFile,
    Call::SyncDir,
    Call::SyncFs,
    Call::SyncFsIsPromise,
];

/// Calls that nothing in the archive below leads to.
const NOT_MADE: [Call; 3] = [Call::Rename, Call::AddFlags, Call::RemoveAttribute];

const ERRORS: [i32; 9] = [
    libc::ENOSPC,
    libc::EDQUOT,
    libc::EIO,
    libc::EROFS,
    libc::EMFILE,
    libc::EACCES,
    libc::ENAMETOOLONG,
    libc::ELOOP,
    libc::EINTR,
];

/// One of everything.
fn archive() -> Vec<(Member, Vec<u8>)> {
    let mut members = vec![
        directory("x", 0o755),
        directory("x/1", 0o750),
        directory("x/2", 0o555),
        file("x/1/a", b"contents of a"),
        file("x/2/b", b"contents of b"),
    ];
    let mut set_id = file("x/1/set-id", b"s");
    set_id.0.mode = 0o4755;
    members.push(set_id);
    let mut sparse = file("x/1/hole", b"1");
    sparse.0.size = 9999;
    sparse.0.sparse = Some(vec![Extent {
        offset: 5,
        length: 1,
    }]);
    members.push(sparse);
    let mut attribute = file("x/1/attribute", b"with an attribute");
    attribute.0.records.push(Record {
        key: b"SCHILY.xattr.user.color".to_vec(),
        value: b"blue".to_vec(),
    });
    members.push(attribute);
    members.push(link(Kind::Symlink, "x/soft", "1"));
    members.push(file("x/soft/through", b"the link"));
    members.push(link(Kind::HardLink, "x/hard", "x/1/a"));
    let mut with_data = link(Kind::HardLink, "x/data", "x/2/empty");
    (with_data.0.size, with_data.0.stored) = (4, 4);
    with_data.1 = b"data".to_vec();
    members.push(file("x/2/empty", b""));
    members.push(with_data);
    members.push((Member::new(Kind::Fifo, b"x/pipe"), Vec::new()));
    let mut owned = file("x/owned", b"somebody else's");
    owned.0.uid = if crate::sys::is_superuser() {
        12_345
    } else {
        0
    };
    members.push(owned);
    // In the way of these stand a file, an empty directory, and a full one.
    members.push(file("x/1/old", b"new"));
    members.push(file("x/1/empty-dir", b"file"));
    members.push(file("x/1/full-dir", b"file"));
    members.push(file("implied/by/name", b"i"));
    members
}

/// Where it is restored; in memory where that can be had, as thousands of runs sync.
fn prepared() -> (TempDir, PathBuf) {
    let scratch = TempDir::new_in("/dev/shm").ok().filter(|scratch| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(scratch.path(), c"user.probe", b"1", flags).is_ok()
    });
    let scratch = scratch.unwrap_or_else(|| TempDir::new().unwrap());
    let d = scratch.path().join("d");
    fs::create_dir_all(d.join("x/1/empty-dir")).unwrap();
    fs::create_dir_all(d.join("x/1/full-dir/sub/deeper")).unwrap();
    fs::write(d.join("x/1/full-dir/sub/file"), "in the way").unwrap();
    fs::write(d.join("x/1/old"), "old").unwrap();
    (scratch, d)
}

/// What is there under a name: kind and mode, owner, size, time and contents.
type State = (u32, (u32, u32), u64, i64, Vec<u8>);

fn state(path: &Path) -> Option<State> {
    let stat = fs::symlink_metadata(path).ok()?;
    let kind = stat.file_type();
    let contents = if kind.is_symlink() {
        fs::read_link(path)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes()
    } else if kind.is_file() {
        fs::read(path).unwrap_or_else(|_| b"unreadable".to_vec())
    } else {
        Vec::new()
    };
    let size = if kind.is_dir() { 0 } else { stat.len() };
    assert!(!kind.is_socket());
    Some((
        stat.mode(),
        (stat.uid(), stat.gid()),
        size,
        stat.mtime(),
        contents,
    ))
}

type States = BTreeMap<Vec<u8>, Option<State>>;

fn states(d: &Path, members: &[(Member, Vec<u8>)]) -> States {
    let name = |member: &Member| member.name.clone();
    members
        .iter()
        // This one changes with the link that brings contents along, which stands for both.
        .filter(|(member, _)| member.name != b"x/2/empty")
        .map(|(member, _)| {
            let mut state = state(&d.join(OsStr::from_bytes(&member.name)));
            if let Some(state) = &mut state
                && member.name == b"implied/by/name"
            {
                // Its directories are nobody's members.
                state.3 = 0;
            }
            (name(member), state)
        })
        .collect()
}

fn wanted(d: &Path, mode: DurabilityMode, existing: Existing, jobs: usize) -> Plan {
    let mut plan = plan(d, mode);
    plan.jobs = std::num::NonZeroUsize::new(jobs);
    plan.extract.existing = existing;
    plan.extract.remove_recursively = true;
    plan.extract.same_owner = crate::sys::is_superuser();
    plan.extract.numeric_owner = true;
    plan.extract.xattrs = Some(XattrSelection::default());
    plan.durability.report_settled = true;
    plan.durability.window_members = 5;
    plan
}

/// Restores on a disk with this rule; what was heard, the disk, and what is there afterwards. `None` when the destination
/// could not be opened.
fn run(
    mode: DurabilityMode,
    existing: Existing,
    promise: bool,
    jobs: usize,
    members: &[(Member, Vec<u8>)],
    rule: impl Fn(Call, u64) -> Option<i32> + Send + Sync + 'static,
) -> (Option<(Heard, Finished)>, Faulty<Os>, States) {
    let (_scratch, d) = prepared();
    let plan = wanted(&d, mode, existing, jobs);
    let disk = Faulty::new(Os, rule).with_promise(promise);
    let result = try_restore(&plan, members, &disk);
    let states = states(&d, members);
    (result, disk, states)
}

/// The members whose state a failure of this one may spoil: itself, and hard links to it.
fn shares(members: &[(Member, Vec<u8>)], name: &[u8]) -> BTreeSet<Vec<u8>> {
    let links = members
        .iter()
        .filter(|(member, _)| member.kind == Kind::HardLink && member.link == name);
    let mut all: BTreeSet<_> = links.map(|(member, _)| member.name.clone()).collect();
    all.insert(name.to_vec());
    all
}

/// A call that fails.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: Call,
    /// How often it is made before.
    at: u64,
    errno: i32,
}

fn check(
    fault: Fault,
    what: &str,
    members: &[(Member, Vec<u8>)],
    whole: &States,
    (result, disk, states): (Option<(Heard, Finished)>, Faulty<Os>, States),
) {
    if disk.count(fault.call) <= fault.at {
        return;
    }
    let Some((heard, finished)) = result else {
        assert!(
            matches!(fault.call, Call::OpenPath | Call::StatDir),
            "{what}: the run ended"
        );
        return;
    };
    assert!(finished.well, "{what}: a thread has panicked");
    let told = heard.failures();
    let cause = std::io::Error::from_raw_os_error(fault.errno).to_string();
    let consequence = |said: &String| {
        // What is said of a member because another one failed, or because a file seemed to be a link.
        said.contains("has failed")
            || said.contains("os error 2)")
            || said.contains("os error 20)")
            || said.contains("os error 17)")
    };
    for said in &told {
        assert!(said.contains(&cause) || consequence(said), "{what}: {said}");
        assert!(!said.starts_with(':'), "{what}: nothing is named: {said}");
    }
    let complained: BTreeSet<Vec<u8>> = heard
        .complaints
        .iter()
        .filter(|(_, _, severity)| *severity == Severity::Failure)
        .flat_map(|(name, _, _)| shares(members, name))
        .collect();
    // Nothing is lost in silence, and what failed has cost only itself.
    for (name, expected) in whole {
        assert!(
            complained.contains(name) || states[name] == *expected,
            "{what}: {} is {:?}, not {expected:?}\n{told:#?}",
            name.escape_ascii(),
            states[name]
        );
    }
    // What is called settled is whole, and nobody has complained of it.
    for name in &heard.settled {
        assert_eq!(
            states.get(name),
            whole.get(name),
            "{what}: {} is settled\n{told:#?}",
            name.escape_ascii()
        );
        let own = |(member, _, severity): &&(Vec<u8>, String, Severity)| {
            member == name && *severity == Severity::Failure
        };
        assert_eq!(
            heard.complaints.iter().find(own),
            None,
            "{what}: settled and complained of"
        );
    }
    let settled: BTreeSet<_> = heard.settled.iter().collect();
    assert_eq!(settled.len(), heard.settled.len(), "{what}: settled twice");
    let is_sync = matches!(fault.call, Call::SyncFile | Call::SyncDir | Call::SyncFs);
    if is_sync {
        assert!(!told.is_empty() && !finished.intact, "{what}: nothing said");
    }
    // Every member is settled, complained of, or in the range of what may be lost.
    let counted: u64 = heard
        .complaints
        .iter()
        .filter_map(|(_, said, _)| said.split_once(" member").map(|(before, _)| before))
        .filter_map(|before| before.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    if disk.count(Call::SyncFile) + disk.count(Call::SyncDir) + disk.count(Call::SyncFs) > 0 {
        let silent = members
            .iter()
            .filter(|(member, _)| {
                !settled.contains(&member.name) && !complained.contains(&member.name)
            })
            .count() as u64;
        assert!(
            silent <= counted,
            "{what}: {silent} members are neither settled nor told, {counted} may be lost\n{told:#?}"
        );
        if is_sync && fault.call != Call::SyncDir && told.iter().all(|said| said.contains("sync")) {
            assert_eq!(silent, counted, "{what}: {told:#?}");
        }
    }
}

#[test]
fn whatever_call_fails_is_told_and_costs_no_other_member() {
    let members = archive();
    let mut made = BTreeSet::new();
    let kept = Existing::KeepNotOlder {
        directories: false,
        except_dot: true,
    };
    let ways = [
        (DurabilityMode::Each, Existing::Replace, true),
        (DurabilityMode::Group, Existing::RemoveFirst, true),
        (DurabilityMode::Group, kept, false),
        (DurabilityMode::Batch, Existing::Overwrite, true),
        (DurabilityMode::Batch, Existing::Replace, false),
        (DurabilityMode::None, Existing::Replace, true),
    ];
    for (way, (mode, existing, promise)) in ways.into_iter().enumerate() {
        let (result, usual, whole) = run(mode, existing, promise, 1, &members, never);
        let (heard, _) = result.expect("nothing fails");
        let excused = if existing == Existing::Overwrite {
            2 // Directories are not overwritten by files.
        } else {
            0
        };
        assert_eq!(heard.failures().len(), excused, "{:#?}", heard.failures());
        let excused: BTreeSet<Vec<u8>> = heard.complaints.iter().map(|c| c.0.clone()).collect();
        let members: Vec<_> = members
            .iter()
            .filter(|(member, _)| !excused.contains(&member.name))
            .cloned()
            .collect();
        let mut whole = whole;
        whole.retain(|name, _| !excused.contains(name));
        for (number, call) in CALLS.into_iter().enumerate() {
            let times = usual.count(call);
            if times > 0 {
                made.insert(format!("{call:?}"));
            }
            for at in 0..times {
                for (index, errno) in ERRORS.into_iter().enumerate() {
                    // Every error at the first place, and at each other place one of them.
                    let turn = usize::try_from(at).unwrap() + number + way;
                    if at > 0 && turn % ERRORS.len() != index {
                        continue;
                    }
                    for for_ever in [false, true] {
                        if for_ever && (turn + index) % 3 != 0 {
                            continue;
                        }
                        let fault = Fault { call, at, errno };
                        let rule = move |made, count| {
                            let due = count == at || (for_ever && count > at);
                            (made == call && due).then_some(errno)
                        };
                        let what = format!("{mode:?} {existing:?} {fault:?}, for ever: {for_ever}");
                        let jobs = if index % 2 == 0 { 1 } else { 3 };
                        let ran = run(mode, existing, promise, jobs, &members, rule);
                        check(fault, &what, &members, &whole, ran);
                    }
                }
            }
        }
    }
    let expected: BTreeSet<String> = CALLS
        .into_iter()
        .filter(|call| !NOT_MADE.contains(call))
        .filter(|call| *call != Call::SetOwner || crate::sys::is_superuser())
        .map(|call| format!("{call:?}"))
        .collect();
    assert_eq!(made, expected, "the archive does not lead to every call");
}
