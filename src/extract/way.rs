//! What is in the way of a member, and what becomes of it.
//!
//! Names are tried first and looked at only when that fails; the exceptions are the rules that compare with what is there.

use super::{Extractor, Refusal, Spot, remove};
use crate::disk::{Access, Disk, FileKind, Stat, errno};
use crate::error::{Complaint, Condition, Operation};
use crate::member::Member;
use crate::observe::Observer;
use crate::plan::Existing;

impl<D: Disk, S: AsRef<[u8]> + Send + Sync + 'static> Extractor<'_, D, S> {
    /// star's rule and GNU tar's `--keep-newer-files`.
    pub(super) fn refuse_not_newer(
        &mut self,
        spot: &Spot<D>,
        member: &Member,
    ) -> Result<(), Refusal> {
        let Existing::KeepNotOlder { directories, .. } = self.plan.extract.existing else {
            return Ok(());
        };
        let is_newer = |there: Option<Stat>| {
            there.is_some_and(|stat| {
                // Where directories are not asked for their time, one does not keep a file away either.
                stat.mtime >= member.mtime && (directories || stat.kind != FileKind::Directory)
            })
        };
        if !is_newer(self.there(spot)?) {
            return Ok(());
        }
        // A file that is still being written is as old as this moment until it gets its time.
        self.executor.drain();
        if is_newer(self.there(spot)?) && !self.is_unfinished(spot) {
            return Err(Complaint::warning(&spot.shown, Condition::NotNewer).into());
        }
        Ok(())
    }

    /// Makes something that must not be there yet, clearing the way as the plan says.
    pub(super) fn make<T>(
        &mut self,
        spot: &Spot<D>,
        operation: Operation,
        target: Option<&[u8]>,
        observer: &mut dyn Observer,
        make: impl Fn(&D, &D::Dir) -> std::io::Result<T>,
    ) -> Result<T, Refusal> {
        let failure = |cause| {
            let target = target.map(<[u8]>::to_vec);
            Complaint::failure(
                &spot.shown,
                Condition::System {
                    operation,
                    cause,
                    target,
                },
            )
        };
        // What could not be made is told with a link's target, also where something else was in the way.
        let in_full = |refusal| match refusal {
            Refusal::Complaint(Complaint {
                condition:
                    Condition::System {
                        cause,
                        operation: failed,
                        ..
                    },
                ..
            }) if failed == operation => failure(cause).into(),
            other => other,
        };
        if let Some(name) = &spot.becomes {
            let ready = self.before_making(spot, name, operation, observer);
            ready.map_err(in_full)?;
        }
        Self::changing(&mut self.committer, &mut self.fixups, &spot.directory).map_err(failure)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let error = match make(&self.disk, &spot.directory.handle) {
                Ok(made) => return Ok(made),
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(errno::EEXIST) if attempts < 4 => match self.plan.extract.existing {
                    Existing::KeepSilently | Existing::KeepComplain if self.is_unfinished(spot) => {
                        self.clear_way(spot, operation, observer)?;
                    }
                    Existing::KeepSilently => {
                        return Err(Complaint::warning(&spot.shown, Condition::Kept).into());
                    }
                    Existing::KeepComplain => return Err(failure(error).into()),
                    // Overwriting is not removing.
                    Existing::Overwrite
                        if operation == Operation::Open && self.is_directory(spot)? =>
                    {
                        let cause = std::io::Error::from_raw_os_error(errno::EISDIR);
                        return Err(failure(cause).into());
                    }
                    _ if spot.becomes.is_some() => return Err(failure(error).into()),
                    _ => self.clear_way(spot, operation, observer).map_err(in_full)?,
                },
                Some(errno::EMFILE | errno::ENFILE) if attempts < 2 => self.relieve(observer),
                _ => return Err(failure(error).into()),
            }
        }
    }

    fn is_directory(&self, spot: &Spot<D>) -> Result<bool, Refusal> {
        let there = self.there(spot)?;
        Ok(there.is_some_and(|stat| stat.kind == FileKind::Directory))
    }

    /// Open files have run out: settle what keeps them open, close the rest.
    pub(super) fn relieve(&mut self, observer: &mut dyn Observer) {
        self.executor.drain();
        self.rotate(observer);
        self.committer.wait(&mut |names| observer.settled(names));
        self.places.forget();
    }

    /// Removes what is in the way; a directory that is not empty only where the plan says so.
    pub(super) fn clear_way(
        &mut self,
        spot: &Spot<D>,
        operation: Operation,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let directory = &spot.directory.handle;
        let Some(stat) = self.there(spot)? else {
            return Ok(());
        };
        self.ask_removal(spot, operation, observer)?;
        if matches!(stat.kind, FileKind::Directory | FileKind::Symlink) {
            // It may hold, or lead to, something that has no name yet.
            self.settle_pending(observer);
        }
        self.places
            .allow_link(spot.directory.identity(), &spot.name);
        let result = if stat.kind == FileKind::Directory {
            self.places.forget();
            let mut result = self.disk.remove_dir(directory, &spot.name);
            if result.is_ok() {
                self.fixups.forget(spot.base, &spot.path);
            } else if let Err(error) = &result
                && remove::is_not_empty(error)
                && self.may_remove_tree(spot)
            {
                result = remove::tree(&*self.disk, &mut self.places, directory, &spot.name);
                if result.is_ok() {
                    self.fixups.forget_below(spot.base, &spot.path);
                }
            }
            result
        } else {
            if stat.kind == FileKind::Symlink {
                self.places.forget();
            }
            self.disk.remove(directory, &spot.name)
        };
        match result {
            Err(error) if error.raw_os_error() == Some(errno::ENOENT) => Ok(()),
            Err(error)
                if remove::is_not_empty(&error) && self.plan.extract.keep_full_directories =>
            {
                Err(Refusal::Silent)
            }
            // GNU tar says what it could not make, and why: what is there is a directory with something in it.
            Err(error)
                if error.raw_os_error() == Some(errno::ENOTEMPTY)
                    && operation != Operation::Remove =>
            {
                let exists = std::io::Error::from_raw_os_error(errno::EEXIST);
                Err(Complaint::system(&spot.shown, operation, exists).into())
            }
            Err(cause) => Err(Complaint::system(&spot.shown, Operation::Remove, cause).into()),
            Ok(()) => Ok(()),
        }
    }

    /// The user may want to keep what is there.
    pub(super) fn ask_removal(
        &mut self,
        spot: &Spot<D>,
        operation: Operation,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        if !self.plan.extract.ask_before_removing {
            return Ok(());
        }
        self.executor.flush();
        if observer.confirm_removal(&spot.shown) {
            return Ok(());
        }
        let cause = std::io::Error::from_raw_os_error(errno::EEXIST);
        Err(Complaint::system(&spot.shown, operation, cause).into())
    }

    /// Where only what exists is restored, everything else is passed over.
    pub(super) fn refuse_new(&self, spot: &Spot<D>) -> Result<(), Refusal> {
        let identity = spot.directory.identity();
        let is_new = self.plan.extract.refresh
            && self.places.reserved(identity, &spot.name).is_none()
            && self
                .disk
                .stat_at(&spot.directory.handle, &spot.name)
                .is_err();
        if is_new { Err(Refusal::Silent) } else { Ok(()) }
    }

    /// A destination, and what a name that ends in `..` stands for, are never removed with what they hold.
    pub(super) fn may_remove_tree(&self, spot: &Spot<D>) -> bool {
        self.plan.extract.remove_recursively && !matches!(spot.name.to_bytes(), b"." | b"..")
    }

    /// GNU tar's `--overwrite`: a regular file that exists is written into.
    pub(super) fn open_to_overwrite(&mut self, spot: &Spot<D>) -> Result<Option<D::File>, Refusal> {
        if self.plan.extract.existing != Existing::Overwrite {
            return Ok(None);
        }
        let there = self.there(spot)?;
        if there.is_none_or(|stat| stat.kind != FileKind::Regular) {
            return Ok(None);
        }
        let at = &spot.directory.handle;
        // It is about to be cut to nothing, which is a change.
        Self::changing(&mut self.committer, &mut self.fixups, &spot.directory)
            .map_err(|cause| Complaint::system(&spot.shown, Operation::Open, cause))?;
        let file = self.disk.open_file(at, &spot.name, Access::Overwrite);
        Ok(Some(file.map_err(|cause| {
            Complaint::system(&spot.shown, Operation::Open, cause)
        })?))
    }
}
