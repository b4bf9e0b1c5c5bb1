//! Taking members out of an archive.
//!
//! What stays is copied block by block to a new file, with the headers that belong to it, and takes the archive's place
//! when it is whole: in the durable modes synced before and after. So there is the old archive or the new one, whatever
//! happens. It needs room for both.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::append::failed;
use super::{Members, Promise, Run, source, target};
use crate::disk::Disk;
use crate::error::{Complaint, Condition, Error, Operation};
use crate::format::SeekSource;
use crate::member::{Event, MemberStream};
use crate::observe::{Observer, Verdict};
use crate::plan::{DurabilityMode, Volume};
use crate::select::{Choice, Selector};

/// Bytes copied at a time.
const COPY_BYTES: usize = 256 << 10;

impl Run<'_> {
    pub(super) fn delete<D: Disk>(&mut self, disk: &Arc<D>) -> Result<(), Error> {
        let plan = self.plan;
        let Some(Volume::File(path)) = plan.archive.volumes.first() else {
            return Err(Error::Plan("nothing can be deleted from a pipe".to_owned()));
        };
        let file = File::open(path).map_err(failed(path, Operation::Open))?;
        let length = file
            .metadata()
            .map_err(failed(path, Operation::Stat))?
            .len();
        if source::plain_length(&file).is_none() {
            return Err(Error::Plan("Cannot update compressed archives".to_owned()));
        }
        let kept = self.kept(&file, path, length)?;
        let target::Opened {
            target, mut output, ..
        } = target::open_aside(disk, plan, path)?;
        let result = copy(&file, path, &kept, &mut *output)
            .and_then(|at| end(at, plan.archive.record_bytes, path, &mut *output));
        drop(output);
        match result {
            Ok(bytes) => self.stats.input.archive_bytes = bytes,
            Err(error) => {
                target.discard();
                return Err(error);
            }
        }
        let settled = target.commit().inspect_err(|_| {
            self.promise = Promise::Broken;
            self.stats.sync.failed_syncs += 1;
        })?;
        self.stats.sync.file_syncs = settled.files;
        self.stats.sync.directory_syncs = settled.directories;
        if plan.durability.mode != DurabilityMode::None {
            self.promise = Promise::Kept;
        }
        Ok(())
    }

    /// The parts of the archive that stay, as bytes from and to.
    fn kept(&mut self, file: &File, path: &Path, length: u64) -> Result<Vec<(u64, u64)>, Error> {
        let mut selector = Selector::new(&self.plan.selection)
            .map_err(|problem| Error::Plan(problem.to_string()))?;
        let copy = file.try_clone().map_err(failed(path, Operation::Open))?;
        let mut members = Members::new(SeekSource::new(copy, 0, length), self.options());
        let mut kept: Vec<(u64, u64)> = Vec::new();
        let mut keep = |from: u64, to: u64| match kept.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ if from < to => kept.push((from, to)),
            _ => {}
        };
        let mut at = 0;
        loop {
            if self.observer.verdict() == Verdict::Stop {
                return Err(Error::Stopped);
            }
            let event = members
                .advance()
                .map_err(|error| self.named(error, path.as_os_str().as_bytes()))?;
            match event {
                Event::End => break,
                Event::Complaint(complaint) => {
                    self.observer.complaint(&complaint);
                }
                Event::Member(member) => {
                    let (own, end) = members.place();
                    // What stands between the members is about all of them.
                    keep(at, own);
                    at = end;
                    let asked = !self.plan.selection.wanted.is_empty();
                    if asked && matches!(selector.choose(&member), Choice::Take(_)) {
                        // Like GNU tar, which prints no names here even with -v.
                        self.stats.restored.members += 1;
                    } else {
                        keep(own, end);
                    }
                }
            }
        }
        for wanted in selector.unmatched() {
            let complaint = Complaint::failure(&wanted.pattern.text, Condition::NotFound);
            self.observer.complaint(&complaint);
        }
        Ok(kept)
    }
}

/// Copies parts of a file one after the other; gives how many bytes that made.
fn copy(
    file: &File,
    path: &Path,
    parts: &[(u64, u64)],
    output: &mut dyn std::io::Write,
) -> Result<u64, Error> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut all = 0;
    for &(from, to) in parts {
        let mut at = from;
        while at < to {
            let n = usize::try_from(to - at).map_or(COPY_BYTES, |left| left.min(COPY_BYTES));
            file.read_exact_at(&mut buffer[..n], at)
                .map_err(failed(path, Operation::Read))?;
            output
                .write_all(&buffer[..n])
                .map_err(failed(path, Operation::Write))?;
            at += n as u64;
        }
        all += to - from;
    }
    Ok(all)
}

/// Two zero blocks, and zeros to the end of a record; gives where that is.
fn end(at: u64, record: usize, path: &Path, output: &mut dyn std::io::Write) -> Result<u64, Error> {
    let end = (at + 1024).next_multiple_of(record as u64);
    let zeros = vec![0; usize::try_from(end - at).unwrap_or(1024)];
    output
        .write_all(&zeros)
        .map_err(failed(path, Operation::Write))?;
    Ok(end)
}
