//! Work that has to wait until the tree is complete.
//!
//! A directory's times change whenever something is made in it, and a mode without `w` would stop us from making
//! anything. So directories are made with a mode we can work in, and the archive's owner, mode and times are kept here.
//! They are applied deepest first: setting a parent may take away our way to its children. The last header of a
//! directory wins, also when it comes after its files. In mode each every directory that was changed is here too, since
//! each needs its own sync, once, after everything else was done to it. Objects are opened again and their type is
//! checked: what is no directory any more is left alone.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::extras::Extras;
use super::place::{Blocked, Places};
use super::restore::{self, Attributes};
use crate::commit::{Committer, Ticket};
use crate::disk::{Directory, Disk, Target, errno};
use crate::error::{Complaint, Condition, Operation};
use crate::observe::Inbox;

/// What a directory still needs.
#[derive(Debug)]
struct Pending<D: Disk> {
    /// From its last header.
    attributes: Option<(Attributes, Option<Box<Extras>>)>,
    /// The member's name, for messages.
    name: Box<[u8]>,
    /// One for each of its headers.
    tickets: Vec<Ticket<D>>,
}

/// Where a directory is: number of the destination and path below it.
type Key = (usize, Box<[u8]>);

/// Directories that need something at the end.
#[derive(Debug)]
pub(super) struct Fixups<D: Disk> {
    pending: BTreeMap<Key, Pending<D>>,
    last_changed: Option<Arc<Directory<D>>>,
}

impl<D: Disk> Fixups<D> {
    pub(super) fn new() -> Self {
        Self {
            pending: BTreeMap::new(),
            last_changed: None,
        }
    }

    fn entry(&mut self, base: usize, path: &[u8], name: &[u8]) -> &mut Pending<D> {
        self.pending
            .entry((base, path.into()))
            .or_insert_with(|| Pending {
                attributes: None,
                name: name.into(),
                tickets: Vec::new(),
            })
    }

    /// A directory member; what an earlier header said is forgotten.
    pub(super) fn add(
        &mut self,
        base: usize,
        path: &[u8],
        name: &[u8],
        attributes: (Attributes, Option<Box<Extras>>),
        ticket: Ticket<D>,
    ) {
        let pending = self.entry(base, path, name);
        pending.attributes = Some(attributes);
        pending.name = name.into();
        pending.tickets.push(ticket);
    }

    /// A directory in which names were made and which has to be synced by itself.
    pub(super) fn changed(&mut self, directory: &Arc<Directory<D>>) {
        if self
            .last_changed
            .as_ref()
            .is_some_and(|last| Arc::ptr_eq(last, directory))
        {
            return;
        }
        let name: &[u8] = if directory.path.is_empty() {
            b"."
        } else {
            &directory.path
        };
        self.entry(directory.base, &directory.path, name);
        self.last_changed = Some(Arc::clone(directory));
    }

    /// The directory was removed, and nothing is known of any below it: it was empty.
    pub(super) fn forget(&mut self, base: usize, path: &[u8]) {
        self.pending.remove(&(base, path.into()));
        self.last_changed = None;
    }

    /// The directory was removed with everything below it.
    pub(super) fn forget_below(&mut self, base: usize, path: &[u8]) {
        self.forget(base, path);
        // The byte after a slash is a zero, so these two enclose what begins with the path and a slash.
        let bound = |end: u8| (base, [path, &[end]].concat().into_boxed_slice());
        let below: Vec<Key> = self
            .pending
            .range(bound(b'/')..bound(b'/' + 1))
            .map(|(key, _)| key.clone())
            .collect();
        for key in &below {
            self.pending.remove(key);
        }
    }

    /// Applies everything, deepest first, and syncs what has to be synced by itself.
    pub(super) fn apply(
        &mut self,
        disk: &D,
        inbox: &Inbox,
        places: &mut Places<D>,
        committer: &mut Committer<D>,
    ) {
        let mut all: Vec<(Key, Pending<D>)> =
            std::mem::take(&mut self.pending).into_iter().collect();
        self.last_changed = None;
        let depth = |path: &[u8]| match path {
            b"" => 0,
            path => 1 + path.iter().filter(|byte| **byte == b'/').count(),
        };
        // Then by name, so that runs are alike.
        all.sort_by_cached_key(|((base, path), _)| (Reverse(depth(path)), *base, path.clone()));
        places.forget();
        while !all.is_empty() {
            // As many as may be open at a time: their syncs share commits of the journal.
            let rest = all.split_off(places.capacity().min(all.len()));
            let mut to_sync = Vec::new();
            let mut tickets = Vec::new();
            for ((base, path), pending) in std::mem::replace(&mut all, rest) {
                let directory = match places.find(base, false, &path, None) {
                    Ok(directory) => directory,
                    Err(blocked) => {
                        committer.cannot_reach_directory(blocked.errno());
                        inbox.post(blocked.complaint(&pending.name));
                        continue;
                    }
                };
                let target = Target::<D>::Dir(&directory.handle);
                let well = pending.attributes.is_none_or(|(attributes, extras)| {
                    restore::apply(
                        disk,
                        inbox,
                        &pending.name,
                        &target,
                        &attributes,
                        extras.as_deref(),
                    )
                });
                if well {
                    tickets.extend(pending.tickets);
                }
                if committer.needs_directory_sync(directory.device) {
                    to_sync.push(directory);
                }
            }
            committer.sync_directories(&to_sync);
            // A failed sync has marked the file system, so that these do not settle.
            tickets.into_iter().for_each(Ticket::finish);
        }
    }
}

impl Blocked {
    /// The complaint about a member whose way is blocked.
    pub(super) fn complaint(self, name: &[u8]) -> Complaint {
        self.complaint_for(name, Operation::Open)
    }

    /// The same, for what was to be done at the end of the way.
    pub(super) fn complaint_for(self, name: &[u8], operation: Operation) -> Complaint {
        match self {
            Self::System(Operation::Open, cause) => Complaint::system(name, operation, cause),
            Self::System(operation, cause) => Complaint::system(name, operation, cause),
            Self::Leaves => Complaint::failure(name, Condition::LeavesDestination),
            // Nothing is by the time that this is said.
            Self::Reserved => {
                let cause = std::io::Error::from_raw_os_error(errno::EBUSY);
                Complaint::system(name, operation, cause)
            }
        }
    }
}
