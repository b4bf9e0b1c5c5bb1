//! What an earlier run has settled, and what is still to be done.
//!
//! A member that the journal names is passed over if it is on disk as it was written: its kind, inode, mode, owner, size,
//! time and, for links, what it points to. Contents are not read again; whoever changes them and puts the time back is not
//! noticed. Everything is looked at before anything is done, then members come in the archive's order:
//!
//! - of several members with one name only the last settled one counts, the others are passed over with it;
//! - a hard link has to be a name of the same file as its target still is; if it is not and the target has been replaced by
//!   a later member, all members of that name are done again, in order;
//! - once anything was done again each member is looked at again when its turn comes;
//! - directories are always gone through, as their modes and times come last; whether one was taken or kept as it was is
//!   what the journal says;
//! - the rules for what exists do not hold for what the earlier run left unfinished: what was changed after it began (no
//!   program can set that time) and is not settled.

use std::collections::{HashMap, HashSet};

use super::place::{Places, c_string};
use super::{Extractor, Request, Spot};
use crate::disk::{Disk, FileKind, Stat};
use crate::error::Error;
use crate::journal::{Entry, What};
use crate::member::{Kind, Timestamp};
use crate::select::names::components;

/// Where a member is: number of the destination and path below it.
type Key = (u64, Vec<u8>);

/// What an earlier run has settled.
#[derive(Debug)]
pub(super) struct Before {
    started: Timestamp,
    entries: HashMap<u64, Entry>,
    /// The last settled member of each name.
    last: HashMap<Key, u64>,
    /// Members that are not on disk as they were written.
    damaged: HashSet<u64>,
    /// What this run has made.
    redone: HashSet<Key>,
}

/// What is known of a member before it is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It has to be restored.
    Unsettled,
    /// It was settled and is not on disk as it was written.
    Damaged,
    /// It is there.
    Settled,
}

fn key(entry: &Entry) -> Key {
    (entry.base, entry.path.clone())
}

/// The place that a hard link's target is at.
fn target(entry: &Entry) -> Key {
    let path = components(&entry.link).collect::<Vec<_>>().join(&b'/');
    (entry.base, path)
}

fn is_directory(entry: &Entry) -> bool {
    matches!(entry.what, What::Directory | What::KeptDirectory)
}

/// The state of what is at a place, and the target if it is a symbolic link.
fn look<D: Disk>(disk: &D, places: &mut Places<D>, (base, path): &Key) -> Option<(Stat, Vec<u8>)> {
    let (parent, last) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], &path[..]),
    };
    let base = usize::try_from(*base).ok()?;
    let directory = places.find_known(base, parent)?;
    let name = c_string(last).ok()?;
    let stat = disk.stat_at(&directory.handle, &name).ok()?;
    let link = match stat.kind {
        FileKind::Symlink => disk.read_link(&directory.handle, &name).ok()?,
        _ => Vec::new(),
    };
    Some((stat, link))
}

/// Whether a member is on disk as it was written.
fn is_there<D: Disk>(disk: &D, places: &mut Places<D>, entry: &Entry) -> bool {
    let Some((stat, link)) = look(disk, places, &key(entry)) else {
        return false;
    };
    let is_special = matches!(
        stat.kind,
        FileKind::Fifo | FileKind::CharDevice | FileKind::BlockDevice
    );
    let is_that = match entry.what {
        What::File => stat.kind == FileKind::Regular,
        What::Symlink => stat.kind == FileKind::Symlink,
        What::Special => is_special,
        What::HardLink => {
            let target = look(disk, places, &target(entry));
            return stat.inode == entry.inode
                && target.is_some_and(|(target, _)| target.identity() == stat.identity());
        }
        What::Directory | What::KeptDirectory => return true,
    };
    is_that
        && stat.inode == entry.inode
        && stat.mode == entry.mode
        && (stat.uid, stat.gid) == entry.owner
        && (entry.what == What::Special || stat.size == entry.size)
        && stat.mtime == entry.mtime
        && (entry.what != What::Symlink || link == entry.link)
}

impl Before {
    /// Looks at everything that is settled.
    pub(super) fn examine<D: Disk>(
        disk: &D,
        places: &mut Places<D>,
        started: Timestamp,
        entries: Vec<Entry>,
    ) -> Self {
        let mut before = Self {
            started,
            // What was settled again by a later run stands there last.
            entries: entries
                .into_iter()
                .map(|entry| (entry.index, entry))
                .collect(),
            last: HashMap::new(),
            damaged: HashSet::new(),
            redone: HashSet::new(),
        };
        for entry in before.entries.values().filter(|entry| !is_directory(entry)) {
            let last = before.last.entry(key(entry)).or_insert(entry.index);
            *last = (*last).max(entry.index);
        }
        // In the archive's order directories are walked once.
        let mut order: Vec<u64> = before.last.values().copied().collect();
        order.sort_unstable();
        let mut again: HashSet<Key> = HashSet::new();
        for index in order {
            let entry = &before.entries[&index];
            if is_there(disk, places, entry) {
                continue;
            }
            before.damaged.insert(index);
            let target = target(entry);
            if entry.what == What::HardLink
                && before.last.get(&target).is_some_and(|last| *last > index)
            {
                again.insert(target);
            }
        }
        if !again.is_empty() {
            let all = before
                .entries
                .values()
                .filter(|entry| again.contains(&key(entry)));
            before.damaged.extend(all.map(|entry| entry.index));
        }
        places.forget();
        before
    }

    /// What becomes of a directory, where the earlier run has decided that.
    pub(super) fn directory(&self, index: u64) -> Option<What> {
        let entry = self.entries.get(&index)?;
        is_directory(entry).then_some(entry.what)
    }

    /// Whether this is something that the earlier run has left unfinished.
    pub(super) fn is_unfinished(&self, base: usize, path: &[u8], stat: &Stat) -> bool {
        if stat.ctime < self.started {
            return false;
        }
        let key = (base as u64, path.to_vec());
        let settled = self
            .last
            .get(&key)
            .is_some_and(|index| !self.damaged.contains(index));
        !settled && !self.redone.contains(&key)
    }

    /// This run has made something here.
    pub(super) fn made(&mut self, base: usize, path: &[u8]) {
        self.redone.insert((base as u64, path.to_vec()));
    }
}

impl<D: Disk, S: AsRef<[u8]> + Send + Sync + 'static> Extractor<'_, D, S> {
    /// Whether an earlier run has settled this member.
    ///
    /// # Errors
    /// The journal is about another archive.
    pub fn known(&mut self, request: &Request<'_>) -> Result<Known, Error> {
        let Some(before) = &self.before else {
            return Ok(Known::Unsettled);
        };
        let Some(entry) = before.entries.get(&request.index) else {
            return Ok(Known::Unsettled);
        };
        if entry.headers != request.headers || entry.block != request.member.block {
            return Err(Error::Journal {
                name: self.journal_name(),
                reason: format!(
                    "the archive is another one: its header at block {} or one before it is not what was read then",
                    request.member.block
                ),
            });
        }
        if request.member.kind == Kind::Directory {
            return Ok(Known::Unsettled);
        }
        let key = key(entry);
        if before.damaged.contains(&entry.index) {
            return Ok(Known::Damaged);
        }
        if before.redone.is_empty() {
            return Ok(Known::Settled);
        }
        // A later member of this name stands for it, unless something was put there again.
        let counts = before.last.get(&key) == Some(&entry.index);
        let redone = before.redone.contains(&key);
        let there = !redone && (!counts || is_there(&*self.disk, &mut self.places, entry));
        Ok(if there {
            Known::Settled
        } else {
            Known::Damaged
        })
    }

    /// Counts a member that is passed over because it is settled.
    pub fn pass_over(&mut self, known: Known) {
        match known {
            Known::Settled => self.counts.resumed += 1,
            Known::Damaged => self.counts.repaired += 1,
            Known::Unsettled => {}
        }
    }

    /// Whether what stands in a place is of an earlier run that could not finish it: no rule protects it.
    pub(super) fn is_unfinished(&self, spot: &Spot<D>) -> bool {
        self.before.as_ref().is_some_and(|before| {
            self.disk
                .stat_at(&spot.directory.handle, &spot.name)
                .is_ok_and(|stat| before.is_unfinished(spot.base, &spot.path, &stat))
        })
    }
}
