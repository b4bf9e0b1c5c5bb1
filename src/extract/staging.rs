//! Members that get their names only when they are stable (rule D5).
//!
//! Each is made in its directory under a temporary name that nobody can foresee, and waits here, in archive order, until
//! its stage says that it is stable; then it is renamed over what is there. Until then its name is reserved: a way that
//! leads over it, and a rule that has to look at it, first wait for everything that is here. Hard links are made to the
//! temporary name of their target, so they wait for nothing. What could not be written is removed again; only a process
//! that is killed leaves temporary names behind, all of which begin with `.durastar-`.
//!
//! The directories are not kept open, as there may be many: they are looked up again and have to be the same.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Extractor, Refusal, Request, Spot};
use crate::commit::{Record, Stage, Ticket};
use crate::disk::{Disk, FileKind, errno};
use crate::error::{Complaint, Condition, Operation};
use crate::observe::Observer;
use crate::plan::{DurabilityMode, Existing};

/// One object that waits for its name.
#[derive(Debug)]
struct Pending {
    base: usize,
    /// Its directory's path below the destination.
    path: Box<[u8]>,
    /// What its directory has to be.
    identity: (u64, u64),
    temporary: CString,
    name: CString,
    /// The member's name.
    shown: Box<[u8]>,
    stage: Arc<Stage>,
    /// It is a hard link to what this is about.
    source: Option<Arc<Stage>>,
    is_link: bool,
}

/// Everything that waits for its name.
#[derive(Debug)]
pub(super) struct Staging {
    pending: VecDeque<Pending>,
    /// Tells the names of this run from those of others.
    tag: u64,
    made: u64,
}

impl Staging {
    pub(super) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_nanos() as u64);
        Self {
            pending: VecDeque::new(),
            tag: now ^ u64::from(std::process::id()).rotate_right(16),
            made: 0,
        }
    }

    /// A name for something temporary.
    pub(super) fn temporary(&mut self) -> CString {
        self.made += 1;
        let name = format!(".durastar-{:016x}-{}", self.tag, self.made);
        CString::new(name).expect("digits hold no NUL byte")
    }

    /// The stage of what has this temporary name.
    fn stage_of(&self, temporary: &CStr) -> Option<&Arc<Stage>> {
        // Links mostly follow their target closely.
        self.pending
            .iter()
            .rev()
            .find(|pending| *pending.temporary == *temporary)
            .map(|pending| &pending.stage)
    }
}

/// The path of a name in a directory.
fn below(path: &[u8], name: &CStr) -> Vec<u8> {
    let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
    [path, slash, name.to_bytes()].concat()
}

impl<D: Disk, S: AsRef<[u8]> + Send + Sync + 'static> Extractor<'_, D, S> {
    /// What waits for the name of this place is settled first, if a rule is about to look at what is there.
    pub(super) fn before_looking(&mut self, spot: &Spot<D>, observer: &mut dyn Observer) {
        let extract = &self.plan.extract;
        let looks = extract.existing != Existing::Replace || extract.backup.is_some();
        if looks
            && self
                .places
                .reserved(spot.directory.identity(), &spot.name)
                .is_some()
        {
            self.settle_pending(observer);
        }
    }

    /// Where the plan wants it, gives the place a temporary name.
    pub(super) fn stage(&mut self, spot: Spot<D>) -> Spot<D> {
        if !self.plan.extract.safe_writes {
            return spot;
        }
        Spot {
            becomes: Some(spot.name),
            name: self.staging.temporary(),
            ..spot
        }
    }

    /// What is about to be made gets this name later. What may not be replaced is kept, and a directory in the way is
    /// removed now, as no file can take its name.
    pub(super) fn before_making(
        &mut self,
        spot: &Spot<D>,
        name: &CStr,
        operation: Operation,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let Ok(stat) = self.disk.stat_at(&spot.directory.handle, name) else {
            return Ok(());
        };
        let now = Spot {
            directory: Arc::clone(&spot.directory),
            base: spot.base,
            path: spot.path.clone(),
            name: name.to_owned(),
            shown: spot.shown.clone(),
            becomes: None,
        };
        match self.plan.extract.existing {
            // It has another name by now; that it has this one too is only so that there is no gap.
            _ if self.plan.extract.backup.is_some() && stat.kind != FileKind::Directory => Ok(()),
            Existing::KeepSilently if !self.is_unfinished(&now) => {
                Err(Complaint::warning(&spot.shown, Condition::Kept).into())
            }
            Existing::KeepComplain if !self.is_unfinished(&now) => {
                let cause = io::Error::from_raw_os_error(errno::EEXIST);
                Err(Complaint::system(&spot.shown, operation, cause).into())
            }
            _ if stat.kind == FileKind::Directory => self.clear_way(&now, operation, observer),
            _ => self.ask_removal(&now, operation, observer),
        }
    }

    /// Announces what was made at this place. A hard link's `source` is the temporary name of what it is a link to.
    pub(super) fn begin(
        &mut self,
        request: &Request<'_>,
        spot: &Spot<D>,
        bytes: u64,
        source: Option<&CStr>,
    ) -> io::Result<Ticket<D>> {
        let Some(name) = &spot.becomes else {
            return self.committer.begin(request.name, &spot.directory, bytes);
        };
        let stage = Arc::default();
        let ticket = self
            .committer
            .begin_staged(request.name, &spot.directory, bytes, &stage)?;
        let identity = spot.directory.identity();
        self.places.reserve(identity, name, &spot.name);
        self.places
            .replaced(spot.directory.base, &below(&spot.directory.path, name));
        let source = source
            .and_then(|source| self.staging.stage_of(source))
            .cloned();
        self.staging.pending.push_back(Pending {
            base: spot.directory.base,
            path: spot.directory.path.clone(),
            identity,
            temporary: spot.name.clone(),
            name: name.clone(),
            shown: request.name.into(),
            stage,
            source,
            is_link: request.member.kind == crate::member::Kind::HardLink,
        });
        Ok(ticket)
    }

    /// A member could not be made: its temporary name must not stay.
    pub(super) fn discard(&self, spot: &Spot<D>) {
        let waits = self.staging.pending.back();
        if spot.becomes.is_some() && waits.is_none_or(|last| last.temporary != spot.name) {
            // Mostly it was never there.
            let _ = self.disk.remove(&spot.directory.handle, &spot.name);
        }
    }

    /// Gives their names to those that are stable, in archive order.
    pub(super) fn rename_stable(&mut self) {
        let limit = self.plan.durability.window_members.max(1);
        let windows = matches!(
            self.plan.durability.mode,
            DurabilityMode::Group | DurabilityMode::Batch
        );
        if self.staging.pending.len() > limit && !windows {
            self.executor.drain();
        }
        while let Some(first) = self.staging.pending.front()
            && let Some(stable) = first.stage.is_stable()
            && let Some(first) = self.staging.pending.pop_front()
        {
            self.rename(&first, stable);
        }
    }

    /// Waits until everything that waits for its name has got it, or is given up.
    pub(super) fn settle_pending(&mut self, observer: &mut dyn Observer) {
        if self.staging.pending.is_empty() {
            return;
        }
        self.executor.drain();
        self.rotate(observer);
        self.committer.wait(&mut |names| observer.settled(names));
        while let Some(first) = self.staging.pending.pop_front() {
            // What is still not known to be stable never will be: the thread that settles has ended.
            let stable = first.stage.is_stable() == Some(true);
            self.rename(&first, stable);
        }
    }

    fn rename(&mut self, pending: &Pending, stable: bool) {
        let Pending {
            identity,
            temporary,
            name,
            shown,
            ..
        } = pending;
        self.places.release(*identity, name, temporary);
        let directory = match self.places.find_again(pending.base, &pending.path) {
            Ok(directory) if directory.identity() == *identity => directory,
            Ok(_) => {
                let what = "its directory was replaced before it could get its name";
                let complaint = Complaint::failure(shown, Condition::Other(what.into()));
                self.inbox.post(complaint);
                return;
            }
            Err(blocked) => {
                self.inbox
                    .post(blocked.complaint_for(shown, Operation::Rename));
                return;
            }
        };
        let disk = Arc::clone(&self.disk);
        let remove = || {
            // A rename that worked has left nothing, except between two names of one file.
            let _ = disk.remove(&directory.handle, temporary);
        };
        if !stable {
            // Why is said already.
            self.places.allow_link(*identity, temporary);
            remove();
            return;
        }
        let source = pending.source.as_ref();
        if source.is_some_and(|source| source.is_stable() == Some(false)) {
            let what = "what it is a link to could not be written";
            let complaint = Complaint::failure(shown, Condition::Other(what.into()));
            self.inbox.post(complaint);
            remove();
            return;
        }
        let begun = Self::changing(&mut self.committer, &mut self.fixups, &directory)
            .and_then(|()| self.committer.begin(shown, &directory, 0));
        let renamed = begun.and_then(|ticket| {
            let at = &directory.handle;
            self.disk.rename(at, temporary, at, name).map(|()| ticket)
        });
        match renamed {
            Ok(mut ticket) => {
                if let Some(entry) = pending.stage.entry() {
                    ticket.describe(Record {
                        entry: entry.clone(),
                        directory: Arc::clone(&directory),
                        name: name.clone(),
                        extents: None,
                        // Its contents were read back before it got its name.
                        has_data: false,
                    });
                }
                self.places.renamed(*identity, temporary, name);
                self.places
                    .replaced(pending.base, &below(&pending.path, name));
                if pending.is_link {
                    remove();
                }
                ticket.finish();
            }
            Err(cause) => {
                self.places.allow_link(*identity, temporary);
                self.inbox
                    .post(Complaint::system(shown, Operation::Rename, cause));
                remove();
            }
        }
    }
}
