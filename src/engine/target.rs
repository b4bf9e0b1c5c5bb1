//! The file that an archive is written to, and how it comes to be there whole or not at all.
//!
//! In a durable mode a regular file is written under another name in the same directory, synced, renamed, and the
//! directory synced: after a crash there is the old archive or the new one (rule D5), and a run that failed leaves the
//! old one. What is no regular file, such as a tape, a pipe or standard output, is written as it is. In mode none it is
//! the same for files: they are cut off at the beginning, as by other tars, and keep their inode.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::create::Itself;
use crate::disk::{Access, Disk, errno};
use crate::error::{Error, Operation};
use crate::plan::{DurabilityMode, Plan, Volume};
use crate::sys;

/// Where an archive goes.
#[derive(Debug)]
pub(super) struct Target<D: Disk> {
    disk: Arc<D>,
    /// Its name, for messages.
    pub(super) name: Vec<u8>,
    place: Place<D>,
}

#[derive(Debug)]
enum Place<D: Disk> {
    /// As it is.
    Here { file: File, sync: bool },
    /// Under another name until it is whole.
    Aside {
        directory: D::Dir,
        temporary: CString,
        last: CString,
        sync: bool,
    },
}

/// A target, what is written goes through, and which file must not be archived.
pub(super) struct Opened<D: Disk> {
    pub(super) target: Target<D>,
    pub(super) output: Box<dyn Write + Send>,
    pub(super) itself: Itself,
    /// Each record has to be one write.
    pub(super) records: bool,
}

/// How many names are tried for the file aside.
const TRIES: u32 = 100;

/// Opens what the plan names.
pub(super) fn open<D: Disk>(disk: &Arc<D>, plan: &Plan) -> Result<Opened<D>, Error> {
    let durable = plan.durability.mode != DurabilityMode::None;
    let path = match plan.archive.volumes.first() {
        None | Some(Volume::Standard) => {
            let file = io::stdout()
                .as_fd()
                .try_clone_to_owned()
                .map(File::from)
                .map_err(|cause| failed(b"-", Operation::Open, cause))?;
            return Ok(here(disk, b"-".to_vec(), file, durable));
        }
        Some(Volume::File(path)) => path,
    };
    let name = path.as_os_str().as_bytes().to_vec();
    let there = std::fs::metadata(path).ok();
    let regular = there.as_ref().is_none_or(std::fs::Metadata::is_file);
    if durable && regular {
        // A link stays, and what it points to is replaced.
        let path = match &there {
            Some(_) => std::fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
            None => path.clone(),
        };
        let mode = there
            .as_ref()
            .map_or(0o666 & !plan.umask, |there| there.mode() & 0o777);
        if let Some(mut opened) = aside(disk, &path, name.clone(), mode, true) {
            if let Some(there) = &there {
                opened.itself.known.push((there.dev(), there.ino()));
            }
            return Ok(opened);
        }
        // A directory that nobody may write to can hold a file that one may.
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o666 & !plan.umask)
        .open(path)
        .map_err(|cause| failed(&name, Operation::Open, cause))?;
    Ok(here(disk, name, file, durable))
}

/// A new file that takes the place of one that is there once it is whole.
pub(super) fn open_aside<D: Disk>(
    disk: &Arc<D>,
    plan: &Plan,
    path: &Path,
) -> Result<Opened<D>, Error> {
    let name = path.as_os_str().as_bytes().to_vec();
    let path =
        std::fs::canonicalize(path).map_err(|cause| failed(&name, Operation::Open, cause))?;
    let mode = std::fs::metadata(&path).map_or(0o600, |there| there.mode() & 0o777);
    let durable = plan.durability.mode != DurabilityMode::None;
    aside(disk, &path, name.clone(), mode, durable).ok_or_else(|| {
        let what = "no file can be made beside it";
        failed(&name, Operation::Open, io::Error::other(what))
    })
}

fn failed(name: &[u8], operation: Operation, cause: io::Error) -> Error {
    Error::System {
        operation,
        name: name.to_vec(),
        cause,
    }
}

fn here<D: Disk>(disk: &Arc<D>, name: Vec<u8>, file: File, sync: bool) -> Opened<D> {
    let state = file.metadata().ok();
    let mut itself = Itself::default();
    let mut records = false;
    if let Some(state) = &state {
        if state.is_file() {
            itself.known.push((state.dev(), state.ino()));
        }
        records = state.file_type().is_char_device();
    }
    sys::widen_pipe(&file);
    let output: Box<dyn Write + Send> = match file.try_clone() {
        Ok(copy) => Box::new(copy),
        Err(error) => Box::new(Broken(Some(error))),
    };
    Opened {
        target: Target {
            disk: Arc::clone(disk),
            name,
            place: Place::Here { file, sync },
        },
        output,
        itself,
        records,
    }
}

/// Fails with the reason why there is nothing to write to.
struct Broken(Option<io::Error>);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| io::ErrorKind::Other.into()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A new file beside the one that is meant; `None` where none can be made.
fn aside<D: Disk>(
    disk: &Arc<D>,
    path: &Path,
    name: Vec<u8>,
    mode: u32,
    sync: bool,
) -> Option<Opened<D>> {
    let last = CString::new(path.file_name()?.as_bytes()).ok()?;
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let directory = disk.open_path(&parent).ok()?;
    let mut number = 0;
    let (temporary, file) = loop {
        // Short names: with the whole of a long one before it, it would be too long.
        let temporary = format!(".durastar-{}-{number}", sys::process());
        let temporary = CString::new(temporary).ok()?;
        match disk.create(&directory, &temporary, mode) {
            Ok(file) => break (temporary, file),
            Err(error) if error.raw_os_error() == Some(errno::EEXIST) && number < TRIES => {
                number += 1;
            }
            Err(_) => return None,
        }
    };
    let hidden = disk.stat_file(&file).ok()?.identity();
    Some(Opened {
        target: Target {
            disk: Arc::clone(disk),
            name,
            place: Place::Aside {
                directory,
                temporary,
                last: last.clone(),
                sync,
            },
        },
        output: Box::new(DiskFile {
            disk: Arc::clone(disk),
            file,
            at: 0,
        }),
        itself: Itself {
            hidden: vec![(hidden, last.into_bytes())],
            ..Itself::default()
        },
        records: false,
    })
}

/// A file of a [`Disk`], written from its beginning on.
#[derive(Debug)]
struct DiskFile<D: Disk> {
    disk: Arc<D>,
    file: D::File,
    at: u64,
}

impl<D: Disk> Write for DiskFile<D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write_at(&self.file, bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What became durable.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settled {
    /// Files and directories that were synced.
    pub(super) files: u64,
    pub(super) directories: u64,
}

impl<D: Disk> Target<D> {
    /// The archive is whole: makes it durable where that is wanted and possible, and lets it be seen.
    ///
    /// # Errors
    /// A sync or the renaming failed: the old archive is still there, or the new one may not be durable.
    pub(super) fn commit(self) -> Result<Settled, Error> {
        let Self { disk, name, place } = self;
        match place {
            Place::Here { sync: false, .. } => Ok(Settled::default()),
            Place::Here { file, sync: true } => match file.sync_all() {
                Ok(()) => Ok(Settled {
                    files: 1,
                    directories: 0,
                }),
                // Pipes and terminals have nothing to sync (fsync(2)).
                Err(error)
                    if matches!(error.raw_os_error(), Some(errno::EINVAL | errno::ENOTSUP)) =>
                {
                    Ok(Settled::default())
                }
                Err(cause) => Err(failed(&name, Operation::Sync, cause)),
            },
            Place::Aside {
                directory,
                temporary,
                last,
                sync,
            } => {
                let result = disk
                    .open_file(&directory, &temporary, Access::Read)
                    .and_then(|file| {
                        if sync {
                            disk.sync_file(&file)?;
                        }
                        disk.close(file)
                    })
                    .map_err(|cause| failed(&name, Operation::Sync, cause))
                    .and_then(|()| {
                        disk.rename(&directory, &temporary, &directory, &last)
                            .map_err(|cause| failed(&name, Operation::Rename, cause))
                    });
                if result.is_err() {
                    // What is left is of no use; if even that fails, its name says whose it is.
                    let _ = disk.remove(&directory, &temporary);
                }
                result?;
                if !sync {
                    return Ok(Settled::default());
                }
                disk.sync_dir(&directory)
                    .map_err(|cause| failed(&name, Operation::Sync, cause))?;
                Ok(Settled {
                    files: 1,
                    directories: 1,
                })
            }
        }
    }

    /// The archive did not become whole: removes what there is of it, where it has a name of its own.
    pub(super) fn discard(self) {
        if let Place::Aside {
            directory,
            temporary,
            ..
        } = &self.place
        {
            let _ = self.disk.remove(directory, temporary);
        }
    }
}
