//! What is in the way of a member, and what becomes of it.
//!
//! Names are tried first and looked at only when that fails; the exceptions are the rules that compare with what is there.

use super::{Extractor, Refusal, Spot, remove};
use crate::disk::{Access, Disk, FileKind, errno};
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
        let is_newer = |disk: &D| {
            disk.stat_at(&spot.directory.handle, &spot.name)
                .is_ok_and(|stat| {
                    // Where directories are not asked for their time, one does not keep a file away either.
                    stat.mtime >= member.mtime && (directories || stat.kind != FileKind::Directory)
                })
        };
        if !is_newer(&self.disk) {
            return Ok(());
        }
        // A file that is still being written is as old as this moment until it gets its time.
        self.executor.drain();
        if is_newer(&self.disk) && !self.is_unfinished(spot) {
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
                        self.clear_way(spot, operation)?;
                    }
                    Existing::KeepSilently => {
                        return Err(Complaint::warning(&spot.shown, Condition::Kept).into());
                    }
                    Existing::KeepComplain => return Err(failure(error).into()),
                    // Overwriting is not removing.
                    Existing::Overwrite
                        if operation == Operation::Open && self.is_directory(spot) =>
                    {
                        let cause = std::io::Error::from_raw_os_error(errno::EISDIR);
                        return Err(failure(cause).into());
                    }
                    _ => self.clear_way(spot, operation)?,
                },
                Some(errno::EMFILE | errno::ENFILE) if attempts < 2 => self.relieve(observer),
                _ => return Err(failure(error).into()),
            }
        }
    }

    pub(super) fn is_directory(&self, spot: &Spot<D>) -> bool {
        self.disk
            .stat_at(&spot.directory.handle, &spot.name)
            .is_ok_and(|stat| stat.kind == FileKind::Directory)
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
    ) -> Result<(), Refusal> {
        let directory = &spot.directory.handle;
        let stat = match self.disk.stat_at(directory, &spot.name) {
            Ok(stat) => stat,
            Err(error) if error.raw_os_error() == Some(errno::ENOENT) => return Ok(()),
            Err(cause) => return Err(Complaint::system(&spot.shown, Operation::Stat, cause).into()),
        };
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

    /// A destination, and what a name that ends in `..` stands for, are never removed with what they hold.
    pub(super) fn may_remove_tree(&self, spot: &Spot<D>) -> bool {
        self.plan.extract.remove_recursively && !matches!(spot.name.to_bytes(), b"." | b"..")
    }

    /// GNU tar's `--overwrite`: a regular file that exists is written into.
    pub(super) fn open_to_overwrite(&mut self, spot: &Spot<D>) -> Result<Option<D::File>, Refusal> {
        if self.plan.extract.existing != Existing::Overwrite {
            return Ok(None);
        }
        let at = &spot.directory.handle;
        let regular = self
            .disk
            .stat_at(at, &spot.name)
            .is_ok_and(|stat| stat.kind == FileKind::Regular);
        if !regular {
            return Ok(None);
        }
        // It is about to be cut to nothing, which is a change.
        Self::changing(&mut self.committer, &mut self.fixups, &spot.directory)
            .map_err(|cause| Complaint::system(&spot.shown, Operation::Open, cause))?;
        let file = self.disk.open_file(at, &spot.name, Access::Overwrite);
        Ok(Some(file.map_err(|cause| {
            Complaint::system(&spot.shown, Operation::Open, cause)
        })?))
    }
}
