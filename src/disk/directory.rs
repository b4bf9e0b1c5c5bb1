//! An open directory and what is known of it.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Disk, Stat};

/// An open directory and what is known of it.
#[derive(Debug)]
pub struct Directory<D: Disk> {
    /// The handle; everything in the directory is reached through it.
    pub handle: D::Dir,
    /// Number of the file system it is on.
    pub device: u64,
    /// Number of its inode.
    pub inode: u64,
    /// Which destination it is below: the caller's own number.
    pub base: usize,
    /// The path below the destination by which it was reached; empty for the destination itself.
    pub path: Box<[u8]>,
    birth: Birth,
}

/// Who owns a file that is made here, and which mode bits it is made with: what a first file showed, so that the others
/// need neither a look nor a call to set what they have already.
#[derive(Debug, Default)]
struct Birth {
    /// uid in the upper half, gid in the lower.
    owner: AtomicU64,
    known: AtomicU32,
    modes: AtomicU32,
}

impl<D: Disk> Directory<D> {
    /// Wraps an open directory.
    ///
    /// # Errors
    /// Its state cannot be read.
    pub fn new(disk: &D, handle: D::Dir, base: usize, path: &[u8]) -> io::Result<Self> {
        let stat = disk.stat_dir(&handle)?;
        Ok(Self {
            handle,
            device: stat.device,
            inode: stat.inode,
            base,
            path: path.into(),
            birth: Birth::default(),
        })
    }

    /// What tells it from every other object.
    #[must_use]
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Owner and group of files made here, once a first one has shown them.
    #[must_use]
    pub fn owner_at_birth(&self) -> Option<(u32, u32)> {
        if self.birth.known.load(Ordering::Acquire) == 0 {
            return None;
        }
        let both = self.birth.owner.load(Ordering::Relaxed);
        Some(((both >> 32) as u32, (both & u64::from(u32::MAX)) as u32))
    }

    /// Whether a file made here with this mode is known to have it (umask and default ACLs take nothing away).
    #[must_use]
    pub fn keeps_mode(&self, mode: u32) -> bool {
        self.birth.known.load(Ordering::Acquire) != 0
            && mode & !self.birth.modes.load(Ordering::Relaxed) == 0
    }

    /// Remembers what a file looked like that was made here with this mode.
    pub fn learn(&self, asked: u32, stat: &Stat) {
        self.birth.owner.store(
            u64::from(stat.uid) << 32 | u64::from(stat.gid),
            Ordering::Relaxed,
        );
        if stat.mode == asked {
            self.birth.modes.fetch_or(asked, Ordering::Relaxed);
        }
        self.birth.known.store(1, Ordering::Release);
    }
}
