//! Directories that are in the way, with all that is in them.
//!
//! Everything is reached through handles, so no link is followed, and a single directory is open besides the one at the
//! top: the way back up is `..`, and what is found there has to be what the way down came through. Trees that are
//! deeper than any path can be written are removed like others.

use std::ffi::{CStr, CString};
use std::io;

use super::place::Places;
use crate::disk::{Disk, FileKind, errno};

/// A directory on the way down.
struct Level {
    /// What it is called in the one above.
    name: CString,
    identity: (u64, u64),
    /// What is left in it.
    entries: Vec<CString>,
}

/// Removes the directory `name` with everything below it.
///
/// # Errors
/// The first thing that cannot be removed; what was removed before it is gone. `EBUSY` where another file system begins
/// and at a destination: they are left alone, as is what is on the way to them.
pub(super) fn tree<D: Disk>(
    disk: &D,
    places: &mut Places<D>,
    at: &D::Dir,
    name: &CStr,
) -> io::Result<()> {
    let device = disk.stat_dir(at)?.device;
    let mut current = disk.open_dir(at, name)?;
    let mut levels = vec![enter(disk, places, &current, name, device)?];
    while let Some(level) = levels.last_mut() {
        if let Some(entry) = level.entries.pop() {
            places.allow_link(level.identity, &entry);
            if !remove_entry(disk, &current, &entry)? {
                current = disk.open_dir(&current, &entry)?;
                levels.push(enter(disk, places, &current, &entry, device)?);
            }
            continue;
        }
        let done = levels.pop().map(|level| level.name);
        let (Some(done), Some(above)) = (done, levels.last()) else {
            break;
        };
        current = disk.open_dir(&current, c"..")?;
        if disk.stat_dir(&current)?.identity() != above.identity {
            // Somebody has moved it meanwhile; whatever is above it now is not ours to touch.
            return Err(busy());
        }
        gone(disk.remove_dir(&current, &done))?;
    }
    gone(disk.remove_dir(at, name))
}

fn enter<D: Disk>(
    disk: &D,
    places: &Places<D>,
    directory: &D::Dir,
    name: &CStr,
    device: u64,
) -> io::Result<Level> {
    let identity = disk.stat_dir(directory)?.identity();
    if identity.0 != device || places.is_root(identity) {
        return Err(busy());
    }
    Ok(Level {
        name: name.to_owned(),
        identity,
        entries: disk.list(directory)?,
    })
}

/// Removes one entry; `false` when it is a directory with something in it.
fn remove_entry<D: Disk>(disk: &D, at: &D::Dir, entry: &CStr) -> io::Result<bool> {
    let kind = match disk.stat_at(at, entry) {
        Ok(stat) => stat.kind,
        Err(error) if error.raw_os_error() == Some(errno::ENOENT) => return Ok(true),
        Err(error) => return Err(error),
    };
    if kind != FileKind::Directory {
        return gone(disk.remove(at, entry)).map(|()| true);
    }
    match gone(disk.remove_dir(at, entry)) {
        Ok(()) => Ok(true),
        Err(error) if is_not_empty(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a directory could not be removed because something is in it.
pub(super) fn is_not_empty(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(errno::ENOTEMPTY | errno::EEXIST))
}

/// What is not there needs no removing.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(errno::ENOENT) => Ok(()),
        other => other,
    }
}

fn busy() -> io::Error {
    io::Error::from_raw_os_error(errno::EBUSY)
}
