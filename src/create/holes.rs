//! Where a file has data, and where it reads as zeros.
//!
//! The file system knows (`SEEK_HOLE`, lseek(2)). Where it says that a file has no holes although it takes less room than
//! it is long, as a compressing one does, blocks of zeros are holes, as in GNU tar.

use std::io;

use crate::disk::{Disk, Stat};
use crate::member::Extent;
use crate::plan::create::Holes;

/// A hole is made of these at least: no format can say more precisely where one begins.
const BLOCK: usize = 512;
/// Extents in one map: 16 MiB of them. A file with more is stored whole.
const EXTENTS: usize = 1 << 20;

/// The map of a file with holes. The last entry, which may be empty, ends where the file ends; `None` where the file is to
/// be stored whole.
///
/// # Errors
/// The file cannot be read.
pub(super) fn map<D: Disk>(
    disk: &D,
    file: &D::File,
    stat: &Stat,
    holes: Holes,
) -> io::Result<Option<Vec<Extent>>> {
    if holes == Holes::Ignore || stat.size == 0 || stat.blocks.saturating_mul(512) >= stat.size {
        return Ok(None);
    }
    if holes == Holes::Ask
        && let Some(map) = asked(disk, file, stat.size)?
    {
        return Ok(Some(map));
    }
    zeros(disk, file, stat.size)
}

fn asked<D: Disk>(disk: &D, file: &D::File, size: u64) -> io::Result<Option<Vec<Extent>>> {
    let mut map = Vec::new();
    let mut at = 0;
    loop {
        let offset = match disk.next_data(file, at) {
            Ok(Some(offset)) if offset < size => offset,
            Ok(_) => {
                map.push(Extent {
                    offset: size,
                    length: 0,
                });
                return Ok(Some(map));
            }
            // It cannot tell.
            Err(_) => return Ok(None),
        };
        let Ok(end) = disk.next_hole(file, offset) else {
            return Ok(None);
        };
        let end = end.min(size);
        // One that answers this to everything knows nothing.
        if offset == 0 && end == size || end <= offset {
            return Ok(None);
        }
        if map.len() >= EXTENTS {
            return Ok(None);
        }
        map.push(Extent {
            offset,
            length: end - offset,
        });
        at = end;
    }
}

fn zeros<D: Disk>(disk: &D, file: &D::File, size: u64) -> io::Result<Option<Vec<Extent>>> {
    let mut map: Vec<Extent> = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let mut at = 0;
    let mut open = false;
    while at < size {
        let most = buffer
            .len()
            .min(usize::try_from(size - at).unwrap_or(usize::MAX));
        let mut known = 0;
        while known < most {
            match disk.read_at(file, &mut buffer[known..most], at + known as u64)? {
                0 => break,
                n => known += n,
            }
        }
        buffer[known..most].fill(0);
        for block in buffer[..most].chunks(BLOCK) {
            if block.iter().all(|&byte| byte == 0) {
                open = false;
            } else if let (true, Some(last)) = (open, map.last_mut()) {
                last.length += block.len() as u64;
            } else {
                if map.len() >= EXTENTS {
                    return Ok(None);
                }
                map.push(Extent {
                    offset: at,
                    length: block.len() as u64,
                });
                open = true;
            }
            at += block.len() as u64;
        }
    }
    if !open {
        map.push(Extent {
            offset: size,
            length: 0,
        });
    }
    Ok(Some(map))
}
