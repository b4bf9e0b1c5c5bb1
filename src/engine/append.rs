//! To the end of an archive, and on from there: append, update, join.
//!
//! The archive is read by seeking to find its end, then members go where its end-of-archive blocks were. It is written in
//! place, as appending to what may be many gigabytes has to be; what was behind its last member is kept, and put back
//! when the run fails, so the archive is then what it was before.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::create::header_options;
use super::{Members, Promise, Run, sink, source};
use crate::create::{self, Itself};
use crate::disk::Disk;
use crate::error::{Error, Operation};
use crate::format::SeekSource;
use crate::format::write::{Headers, Writer};
use crate::member::{Event, MemberStream, Timestamp};
use crate::observe::Observer;
use crate::plan::{DurabilityMode, Job, Volume};
use crate::select::names::without_trailing_slashes;

/// More than this behind the end is no end-of-archive, and is not kept.
const TAIL_BYTES: u64 = 64 << 20;
/// Bytes copied at a time.
const COPY_BYTES: usize = 256 << 10;

/// What is known of an archive once it was read.
struct Read {
    /// Where its end-of-archive blocks begin, or would.
    end: u64,
    /// Its members' names without trailing slashes, and the latest time of each.
    names: HashMap<Vec<u8>, Timestamp>,
}

/// The archive, from a place on.
#[derive(Debug)]
struct Tail {
    file: File,
    at: u64,
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write_at(bytes, self.at)?;
        self.at += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn failed(path: &Path, operation: Operation) -> impl FnOnce(io::Error) -> Error {
    let name = path.as_os_str().as_bytes().to_vec();
    move |cause| Error::System {
        operation,
        name,
        cause,
    }
}

impl Run<'_> {
    pub(super) fn append<D: Disk>(&mut self, disk: &Arc<D>) -> Result<(), Error> {
        let plan = self.plan;
        let Some(Volume::File(path)) = plan.archive.volumes.first() else {
            return Err(Error::Plan("a pipe cannot be appended to".to_owned()));
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o666 & !plan.umask)
            .open(path)
            .map_err(failed(path, Operation::Open))?;
        let state = file.metadata().map_err(failed(path, Operation::Stat))?;
        let length = state.len();
        let read = self.read(&file, path, length)?;
        let mut tail = vec![0; usize::try_from((length - read.end).min(TAIL_BYTES)).unwrap_or(0)];
        file.read_exact_at(&mut tail, read.end)
            .map_err(failed(path, Operation::Read))?;
        let result = self.write_on(disk, path, &file, &state, &read);
        if result.is_err() {
            // What cannot be put back is said by the error that led here: the archive is cut off then.
            let _ = file.write_all_at(&tail, read.end);
            let _ = file.set_len(read.end + tail.len() as u64);
        }
        let created = result?;
        if plan.durability.mode != DurabilityMode::None {
            file.sync_all().map_err(failed(path, Operation::Sync))?;
            self.stats.sync.file_syncs = 1;
            self.stats.sync.settled_members = created.stats.members;
            self.promise = Promise::Kept;
        }
        create::remove(&**disk, plan, created, &mut self.observer)
    }

    fn write_on<D: Disk>(
        &mut self,
        disk: &Arc<D>,
        path: &Path,
        file: &File,
        state: &std::fs::Metadata,
        read: &Read,
    ) -> Result<create::Created, Error> {
        let plan = self.plan;
        let output = Tail {
            file: file.try_clone().map_err(failed(path, Operation::Open))?,
            at: read.end,
        };
        let (ring, writer) = sink::start(
            &plan.archive,
            plan.create.effort,
            plan.jobs,
            path.as_os_str().as_bytes().to_vec(),
            Box::new(output),
            false,
        )?;
        let mut archive = Writer::new(ring, Headers::new(header_options(plan)), read.end);
        let made = if plan.job == Job::Join {
            self.join(&mut archive).map(|()| create::Created::default())
        } else {
            let itself = Itself {
                known: vec![(state.dev(), state.ino())],
                hidden: Vec::new(),
                members: if plan.job == Job::Update {
                    read.names.clone()
                } else {
                    HashMap::new()
                },
            };
            create::create(disk, plan, &itself, &mut archive, &mut self.observer)
        };
        let made = match made {
            Ok(created) => archive
                .finish(plan.archive.record_bytes)
                .map(|(ring, end)| {
                    ring.finish();
                    (created, end)
                }),
            Err(error) => {
                archive.into_sink().abandon();
                Err(error)
            }
        };
        let written = writer.finish(&mut self.stats);
        let (created, end) = match (made, written) {
            (Ok(made), Ok(())) => made,
            (Ok(_) | Err(Error::Stopped), Err(error)) if !self.observer.stopped => {
                return Err(error);
            }
            (Err(error), _) | (Ok(_), Err(error)) => return Err(error),
        };
        file.set_len(end)
            .map_err(failed(path, Operation::Truncate))?;
        self.stats.restored = created.stats;
        Ok(created)
    }

    /// Reads an archive to its end.
    fn read(&mut self, file: &File, path: &Path, length: u64) -> Result<Read, Error> {
        let mut read = Read {
            end: 0,
            names: HashMap::new(),
        };
        if length == 0 {
            return Ok(read);
        }
        if source::plain_length(file).is_none() {
            return Err(Error::Plan("Cannot update compressed archives".to_owned()));
        }
        let copy = file.try_clone().map_err(failed(path, Operation::Open))?;
        let mut members = Members::new(SeekSource::new(copy, 0, length), self.options());
        let keep = self.plan.job == Job::Update;
        loop {
            match members
                .advance()
                .map_err(|error| self.named(error, path.as_os_str().as_bytes()))?
            {
                Event::End => break,
                Event::Complaint(complaint) => {
                    self.observer.complaint(&complaint);
                }
                Event::Member(member) if keep => {
                    let name = without_trailing_slashes(&member.name).to_vec();
                    let time = read.names.entry(name).or_insert(member.mtime);
                    *time = member.mtime.max(*time);
                }
                Event::Member(_) => {}
            }
        }
        read.end = members.end_marker().unwrap_or_else(|| members.block()) * 512;
        read.end = read.end.min(length / 512 * 512);
        Ok(read)
    }

    /// Copies the members of other archives, block by block.
    fn join(&mut self, archive: &mut Writer<sink::RingSink>) -> Result<(), Error> {
        for wanted in &self.plan.selection.wanted {
            let directory = &self.plan.directories[wanted.directory];
            let path = directory.join(std::ffi::OsStr::from_bytes(&wanted.pattern.text));
            let file = File::open(&path).map_err(failed(&path, Operation::Open))?;
            let length = file
                .metadata()
                .map_err(failed(&path, Operation::Stat))?
                .len();
            let end = self.read(&file, &path, length)?.end;
            let mut buffer = vec![0; COPY_BYTES];
            let mut at = 0;
            while at < end {
                let n = usize::try_from(end - at).map_or(COPY_BYTES, |left| left.min(COPY_BYTES));
                file.read_exact_at(&mut buffer[..n], at)
                    .map_err(failed(&path, Operation::Read))?;
                archive.raw(&buffer[..n])?;
                at += n as u64;
            }
        }
        Ok(())
    }
}
