//! Reading back what a barrier has made stable, past the page cache.
//!
//! The cache would give back what was written, whatever the device holds. `O_DIRECT` (open(2)) goes around it; where the
//! file system has none, the file's cached pages are dropped first (posix_fadvise(2)), which works for pages that are
//! stable. What a device's own cache gives nobody can tell from what its medium holds.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Core;
use super::settle::in_parallel;
use super::window::{Record, Window};
use crate::disk::{Access, DIRECT_BYTES, Disk};
use crate::error::{Complaint, Condition, Operation};
use crate::journal::Checksum;
use crate::member::Extent;

/// Bytes of one read: a multiple of [`DIRECT_BYTES`].
const READ_BYTES: usize = 256 << 10;
/// More readers than this only make a disk seek.
const READERS: usize = 8;

/// Verifies every file of a window that would be settled now. What differs is lost.
pub(super) fn window<D: Disk>(core: &Core<D>, window: &Window<D>, device: u64) {
    let records = window.ready_records(device);
    let (files, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel(
        core.threads.min(READERS),
        &records,
        |(entry, record)| match read_back(&*core.disk, record) {
            Ok(Same::Yes(count)) => {
                files.fetch_add(1, Ordering::Relaxed);
                bytes.fetch_add(count, Ordering::Relaxed);
            }
            Ok(Same::Replaced) => {}
            Ok(Same::No) => {
                let what = "what is read back from the device is not what was written".to_owned();
                fail(core, window, *entry, record, Condition::Other(what));
            }
            Err(cause) => {
                let what = Condition::System {
                    operation: Operation::Read,
                    cause,
                    target: None,
                };
                fail(core, window, *entry, record, what);
            }
        },
    );
    core.count(|counters| {
        counters.verified_files += files.into_inner();
        counters.verified_bytes += bytes.into_inner();
    });
}

fn fail<D: Disk>(
    core: &Core<D>,
    window: &Window<D>,
    entry: usize,
    record: &Record<D>,
    condition: Condition,
) {
    let device = record.directory.device;
    core.inbox
        .post(Complaint::failure(&window.name(entry), condition));
    core.count(|counters| counters.failed += 1);
    core.spoilt().inodes.insert((device, record.entry.inode));
    window.lose(entry);
}

enum Same {
    /// So many bytes were compared.
    Yes(u64),
    No,
    /// A later member has taken its name: there is nothing left to compare.
    Replaced,
}

fn read_back<D: Disk>(disk: &D, record: &Record<D>) -> std::io::Result<Same> {
    let (directory, name) = (&record.directory.handle, &record.name);
    let is_replaced = |file: &D::File| -> std::io::Result<bool> {
        let stat = disk.stat_file(file)?;
        let entry = &record.entry;
        Ok(stat.inode != entry.inode || stat.size != entry.size || stat.mtime != entry.mtime)
    };
    let direct = disk.open_file(directory, name, Access::Direct);
    let is_direct = direct.is_ok();
    let file = match direct {
        Ok(file) => file,
        Err(_) => match disk.open_file(directory, name, Access::Read) {
            // Its name is another member's, or gone for one.
            Err(_) if is_gone(disk, record) => return Ok(Same::Replaced),
            other => other?,
        },
    };
    if is_replaced(&file)? {
        return Ok(Same::Replaced);
    }
    if !is_direct {
        disk.drop_cached(&file)?;
    }
    let whole = [Extent {
        offset: 0,
        length: record.entry.size,
    }];
    let mut buffer = vec![0; READ_BYTES + DIRECT_BYTES];
    let start = buffer.as_ptr().align_offset(DIRECT_BYTES);
    let buffer = &mut buffer[start..start + READ_BYTES];
    let mut checksum = Checksum::default();
    let mut count = 0;
    for extent in record.extents.as_deref().unwrap_or(&whole) {
        let mut at = extent.offset;
        let end = extent.offset.saturating_add(extent.length);
        while at < end {
            let from = at / DIRECT_BYTES as u64 * DIRECT_BYTES as u64;
            let there = from + disk.read_at(&file, buffer, from)? as u64;
            if there <= at {
                // It ends too early.
                return Ok(Same::No);
            }
            let stop = there.min(end);
            // Both lie within the buffer.
            checksum.add(&buffer[(at - from) as usize..(stop - from) as usize]);
            count += stop - at;
            at = stop;
        }
    }
    if checksum.value() == record.entry.checksum {
        return Ok(Same::Yes(count));
    }
    // It may have been replaced, or written over, while it was read.
    Ok(if is_replaced(&file)? {
        Same::Replaced
    } else {
        Same::No
    })
}

fn is_gone<D: Disk>(disk: &D, record: &Record<D>) -> bool {
    !disk
        .stat_at(&record.directory.handle, &record.name)
        .is_ok_and(|stat| stat.inode == record.entry.inode)
}
