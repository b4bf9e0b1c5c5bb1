//! Members with contents: regular files, and hard links that bring some.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::executor::Writing;
use super::extents::Extents;
use super::extras::Extras;
use super::place::{Blocked, c_string};
use super::{Extractor, PIECE_BYTES, Refusal, Request, Spot};
use crate::disk::{Access, Directory, Disk, FileKind, Stat};
use crate::error::{Complaint, Condition, Error, Operation};
use crate::journal::Checksum;
use crate::member::{Extent, Member, MemberStream};
use crate::observe::Observer;
use crate::plan::Existing;
use crate::select::names::{components, has_dot_dot};

impl<D: Disk, S: AsRef<[u8]> + Send + Sync + 'static> Extractor<'_, D, S> {
    pub(super) fn regular<M: MemberStream<Span = S>>(
        &mut self,
        request: &Request<'_>,
        spot: &Spot<D>,
        stream: &mut M,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let member = request.member;
        let mut attributes = self.attributes(request);
        let mode = attributes.mode.unwrap_or(0o600);
        // Until it belongs to its owner nobody else may look into it, and no set-id bit may be there.
        let born = spot.directory.owner_at_birth();
        let ours = attributes.owner.is_none() || attributes.owner == born;
        let extras = Extras::of(member, &self.plan.extract);
        let first_mode = match (ours, &extras) {
            (true, None) => mode & 0o777,
            // An attribute can only be set on a file that its owner may write.
            (true, Some(_)) => mode & 0o777 | 0o200,
            (false, _) => mode & 0o700 | 0o200,
        };
        let overwritten = self.open_to_overwrite(spot)?;
        let is_new = overwritten.is_none();
        let file = match overwritten {
            Some(file) => file,
            None => self.make(spot, Operation::Open, None, observer, |disk, at| {
                disk.create(at, &spot.name, first_mode)
            })?,
        };
        // Only now: where open files run out, `make` waits for everything that has begun.
        let begun = self.begin(request, spot, member.size, None);
        let mut ticket =
            begun.map_err(|cause| Complaint::system(&spot.shown, Operation::Open, cause))?;
        self.describe(&mut ticket, request, spot, true);
        if is_new {
            let directory = &spot.directory;
            if !directory.keeps_mode(first_mode) || born.is_none() {
                match self.disk.stat_file(&file) {
                    Ok(stat) => directory.learn(first_mode, &stat),
                    Err(cause) => {
                        ticket.fail(&file);
                        let complaint = Complaint::system(&spot.shown, Operation::Stat, cause);
                        return Err(complaint.into());
                    }
                }
            }
            if attributes.owner == directory.owner_at_birth() {
                attributes.owner = None;
            }
            if attributes.owner.is_none() && first_mode == mode && directory.keeps_mode(mode) {
                attributes.mode = None;
            }
        }
        let ends_in_hole = member.sparse.is_some() && member.stored < member.size;
        let holes = self.plan.extract.make_holes && is_new;
        let writing = Arc::new(Writing {
            file,
            name: request.name.into(),
            attributes,
            extras,
            size: (ends_in_hole || holes).then_some(member.size),
            holes,
            failed: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            checksum: AtomicU64::new(0),
            broken_mode: mode & 0o600,
            ticket,
        });
        self.counts.files += 1;
        self.counts.file_bytes += member.stored;
        self.contents(member, writing, stream, observer)
            .map_err(Refusal::Fatal)
    }

    /// Hands the member's data to the executor, and with the last piece our share of the file.
    pub(super) fn contents<M: MemberStream<Span = S>>(
        &mut self,
        member: &Member,
        writing: Arc<Writing<D>>,
        stream: &mut M,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let whole = [Extent {
            offset: 0,
            length: member.stored,
        }];
        let mut extents = Extents::new(member.sparse.as_deref().unwrap_or(&whole));
        let mut left = member.stored;
        let mut checksum = writing.ticket.is_described().then(Checksum::default);
        while left > 0 {
            let Some(offset) = extents.offset() else {
                break;
            };
            if stream.would_wait() {
                self.before_waiting(observer);
            }
            let most = usize::try_from(extents.left())
                .unwrap_or(usize::MAX)
                .min(PIECE_BYTES);
            let data = match stream.data(most) {
                Ok(Some(data)) => data,
                Ok(None) => break,
                Err(error) => {
                    writing.cut.store(true, Ordering::Relaxed);
                    self.executor.write(writing, 0, None);
                    return Err(error);
                }
            };
            let length = data.as_ref().len() as u64;
            left = left.saturating_sub(length);
            extents.advance(length);
            if let Some(checksum) = &mut checksum {
                checksum.add(data.as_ref());
            }
            if left == 0 {
                if let Some(checksum) = checksum {
                    writing.checksum.store(checksum.value(), Ordering::Relaxed);
                }
                self.executor.write(writing, offset, Some(data));
                return Ok(());
            }
            self.executor
                .write(Arc::clone(&writing), offset, Some(data));
        }
        if left > 0 {
            writing.cut.store(true, Ordering::Relaxed);
        }
        if let Some(checksum) = checksum {
            writing.checksum.store(checksum.value(), Ordering::Relaxed);
        }
        self.executor.write(writing, 0, None);
        Ok(())
    }

    pub(super) fn hard_link<M: MemberStream<Span = S>>(
        &mut self,
        request: &Request<'_>,
        spot: &Spot<D>,
        stream: &mut M,
        observer: &mut dyn Observer,
    ) -> Result<(), Refusal> {
        let link = request.link;
        let failure = |cause| {
            let what = Condition::System {
                operation: Operation::Link,
                cause,
                target: Some(link.to_vec()),
            };
            Complaint::failure(&spot.shown, what)
        };
        if !self.plan.selection.keep_dot_dot && has_dot_dot(link) {
            return Err(
                Complaint::failure(&spot.shown, Condition::UnsafeLink(link.to_vec())).into(),
            );
        }
        let path = components(link).collect::<Vec<_>>().join(&b'/');
        let (parent, last) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&path[..0], &path[..]),
        };
        let source_name = c_string(last).map_err(failure)?;
        let absolute = self.plan.selection.absolute_names && link.starts_with(b"/");
        let mut found = self.places.find(request.directory, absolute, parent, None);
        if matches!(found, Err(Blocked::Reserved)) {
            self.settle_pending(observer);
            found = self.places.find(request.directory, absolute, parent, None);
        }
        if found.as_ref().is_err_and(Blocked::is_for_want_of_files) {
            self.relieve(observer);
            found = self.places.find(request.directory, absolute, parent, None);
        }
        let source = match found {
            Ok(source) => source,
            Err(Blocked::System(_, cause)) => return Err(failure(cause).into()),
            Err(blocked) => {
                return Err(blocked.complaint_for(&spot.shown, Operation::Link).into());
            }
        };
        let waiting = self.places.reserved(source.identity(), &source_name);
        let waiting = waiting.map(std::ffi::CStr::to_owned);
        let source_name = waiting.clone().unwrap_or(source_name);
        let stat = self
            .disk
            .stat_at(&source.handle, &source_name)
            .map_err(failure)?;
        let name = spot.becomes.as_ref().unwrap_or(&spot.name);
        let there = self.there_as(spot, name)?;
        let is_itself = there.is_some_and(|there| there.identity() == stat.identity());
        let brings_its_own = spot.becomes.is_some()
            && waiting.is_none()
            && request.member.stored > 0
            && (stat.size, stat.mtime) != (request.member.size, request.member.mtime);
        if is_itself && spot.becomes.is_some() && !brings_its_own {
            let begun = self.committer.begin(request.name, &spot.directory, 0);
            begun.map_err(failure)?.finish();
            return Ok(());
        }
        if brings_its_own {
            // What is there is another file, which may not be changed under its name: this becomes one of its own.
            return self.regular(request, spot, stream, observer);
        }
        // Linked to itself, under whatever spelling, it is there already; removing it first would lose it.
        if !is_itself {
            if self.plan.extract.existing == Existing::RemoveFirst && there.is_some() {
                self.clear_way(spot, Operation::Remove, observer)?;
            }
            self.make(spot, Operation::Link, Some(link), observer, |disk, at| {
                disk.link(&source.handle, &source_name, at, &spot.name)
            })?;
        }
        if self.committer.has_failed(stat.identity()) {
            let what = Condition::Other("the file it is linked to has failed".into());
            return Err(Complaint::failure(&spot.shown, what).into());
        }
        let begun = self.begin(request, spot, request.member.stored, waiting.as_deref());
        let mut ticket = begun.map_err(failure)?;
        ticket.depends_on(stat.identity());
        // Where no file may change under its name, one that is there under that name is not written into again.
        let is_whole = spot.becomes.is_some() && waiting.is_none();
        if is_whole || !self.wants_contents(request.member, &source, &source_name, &stat)? {
            self.describe(&mut ticket, request, spot, false);
            ticket.saw(&stat, 0);
            ticket.finish();
            return Ok(());
        }
        self.describe(&mut ticket, request, spot, true);
        let file = self
            .disk
            .open_file(&spot.directory.handle, &spot.name, Access::Overwrite)
            .map_err(failure)?;
        let writing = Arc::new(Writing {
            file,
            name: request.name.into(),
            attributes: self.attributes(request),
            extras: Extras::of(request.member, &self.plan.extract),
            size: None,
            holes: false,
            failed: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            checksum: AtomicU64::new(0),
            broken_mode: stat.mode & 0o600,
            ticket,
        });
        self.contents(request.member, writing, stream, observer)
            .map_err(Refusal::Fatal)?;
        self.executor.drain();
        Ok(())
    }
    /// Whether the contents that a hard link brings along (pax, star -link-data) have to be written. Where the file has
    /// that size they are there, and cutting them off could only lose them. Other names than the one it is linked to
    /// may lie outside the destination: what they show must not change.
    fn wants_contents(
        &mut self,
        member: &Member,
        source: &Directory<D>,
        name: &CStr,
        stat: &Stat,
    ) -> Result<bool, Refusal> {
        if member.stored == 0 || stat.kind != FileKind::Regular || stat.links > 1 {
            return Ok(false);
        }
        // They may still be under way under the other name.
        self.executor.drain();
        let stat = self.disk.stat_at(&source.handle, name);
        let stat = stat.map_err(|cause| Complaint::system(&member.name, Operation::Stat, cause))?;
        Ok(stat.size != member.size)
    }
}
