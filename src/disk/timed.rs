//! A file system whose syncs are timed one by one.
//!
//! Wraps another [`Disk`]; each sync call is told to a listener with the moment it began and how long it took. All other
//! calls pass through. Statistics of a run keep percentiles only; a chart of latency over time needs each call.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Access, Disk, Entry, Links, Node, Stat, Target, Times};

/// The kinds of sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncCall {
    /// fsync(2) of a file.
    File,
    /// fsync(2) of a directory.
    Directory,
    /// syncfs(2).
    FileSystem,
}

impl SyncCall {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::FileSystem => "file system",
        }
    }
}

type Listener = dyn Fn(SyncCall, Instant, Duration) + Send + Sync;

/// A [`Disk`] that tells of each sync.
#[derive(Clone)]
pub struct Timed<D> {
    below: D,
    listener: Arc<Listener>,
}

impl<D: fmt::Debug> fmt::Debug for Timed<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timed")
            .field("below", &self.below)
            .finish_non_exhaustive()
    }
}

impl<D: Disk> Timed<D> {
    /// `listener` is called after each sync, successful or not, from whichever thread made it.
    pub fn new(
        below: D,
        listener: impl Fn(SyncCall, Instant, Duration) + Send + Sync + 'static,
    ) -> Self {
        Self {
            below,
            listener: Arc::new(listener),
        }
    }

    fn timed(&self, call: SyncCall, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let began = Instant::now();
        let result = sync();
        (self.listener)(call, began, began.elapsed());
        result
    }
}

fn pass<'a, D: Disk>(target: &Target<'a, Timed<D>>) -> Target<'a, D> {
    match *target {
        Target::File(file) => Target::File(file),
        Target::Dir(dir) => Target::Dir(dir),
        Target::At(dir, name) => Target::At(dir, name),
    }
}

impl<D: Disk> Disk for Timed<D> {
    type Dir = D::Dir;
    type File = D::File;

    fn open_path(&self, path: &Path) -> io::Result<D::Dir> {
        self.below.open_path(path)
    }

    fn open_dir(&self, at: &D::Dir, name: &CStr) -> io::Result<D::Dir> {
        self.below.open_dir(at, name)
    }

    fn list(&self, dir: &D::Dir) -> io::Result<Vec<CString>> {
        self.below.list(dir)
    }

    fn entries(&self, dir: &D::Dir) -> io::Result<Vec<Entry>> {
        self.below.entries(dir)
    }

    fn look(&self, at: &D::Dir, name: &CStr, links: Links) -> io::Result<Stat> {
        self.below.look(at, name, links)
    }

    fn enter(&self, at: &D::Dir, name: &CStr, links: Links) -> io::Result<D::Dir> {
        self.below.enter(at, name, links)
    }

    fn open_to_read(
        &self,
        at: &D::Dir,
        name: &CStr,
        links: Links,
        quiet: bool,
    ) -> io::Result<D::File> {
        self.below.open_to_read(at, name, links, quiet)
    }

    fn read_at(&self, file: &D::File, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.below.read_at(file, into, offset)
    }

    fn next_data(&self, file: &D::File, offset: u64) -> io::Result<Option<u64>> {
        self.below.next_data(file, offset)
    }

    fn next_hole(&self, file: &D::File, offset: u64) -> io::Result<u64> {
        self.below.next_hole(file, offset)
    }

    fn attribute_names(&self, target: &Target<'_, Self>) -> io::Result<Vec<CString>> {
        self.below.attribute_names(&pass(target))
    }

    fn attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<Vec<u8>> {
        self.below.attribute(&pass(target), name)
    }

    fn create(&self, at: &D::Dir, name: &CStr, mode: u32) -> io::Result<D::File> {
        self.below.create(at, name, mode)
    }

    fn open_file(&self, at: &D::Dir, name: &CStr, access: Access) -> io::Result<D::File> {
        self.below.open_file(at, name, access)
    }

    fn make_dir(&self, at: &D::Dir, name: &CStr, mode: u32) -> io::Result<()> {
        self.below.make_dir(at, name, mode)
    }

    fn symlink(&self, target: &CStr, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.below.symlink(target, at, name)
    }

    fn link(&self, from: &D::Dir, source: &CStr, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.below.link(from, source, at, name)
    }

    fn make_node(&self, at: &D::Dir, name: &CStr, mode: u32, node: Node) -> io::Result<()> {
        self.below.make_node(at, name, mode, node)
    }

    fn remove(&self, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.below.remove(at, name)
    }

    fn remove_dir(&self, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.below.remove_dir(at, name)
    }

    fn rename(&self, from: &D::Dir, source: &CStr, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.below.rename(from, source, at, name)
    }

    fn stat_at(&self, at: &D::Dir, name: &CStr) -> io::Result<Stat> {
        self.below.stat_at(at, name)
    }

    fn stat_dir(&self, dir: &D::Dir) -> io::Result<Stat> {
        self.below.stat_dir(dir)
    }

    fn stat_file(&self, file: &D::File) -> io::Result<Stat> {
        self.below.stat_file(file)
    }

    fn read_link(&self, at: &D::Dir, name: &CStr) -> io::Result<Vec<u8>> {
        self.below.read_link(at, name)
    }

    fn write_at(&self, file: &D::File, data: &[u8], offset: u64) -> io::Result<()> {
        self.below.write_at(file, data, offset)
    }

    fn set_size(&self, file: &D::File, size: u64) -> io::Result<()> {
        self.below.set_size(file, size)
    }

    fn drop_cached(&self, file: &D::File) -> io::Result<()> {
        self.below.drop_cached(file)
    }

    fn set_owner(&self, target: &Target<'_, Self>, uid: u32, gid: u32) -> io::Result<()> {
        self.below.set_owner(&pass(target), uid, gid)
    }

    fn set_mode(&self, target: &Target<'_, Self>, mode: u32) -> io::Result<()> {
        self.below.set_mode(&pass(target), mode)
    }

    fn set_times(&self, target: &Target<'_, Self>, times: Times) -> io::Result<()> {
        self.below.set_times(&pass(target), times)
    }

    fn set_attribute(
        &self,
        target: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> io::Result<()> {
        self.below.set_attribute(&pass(target), name, value)
    }

    fn remove_attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<()> {
        self.below.remove_attribute(&pass(target), name)
    }

    fn add_flags(&self, target: &Target<'_, Self>, flags: u32) -> io::Result<()> {
        self.below.add_flags(&pass(target), flags)
    }

    fn close(&self, file: D::File) -> io::Result<()> {
        self.below.close(file)
    }

    fn sync_file(&self, file: &D::File) -> io::Result<()> {
        self.timed(SyncCall::File, || self.below.sync_file(file))
    }

    fn sync_dir(&self, dir: &D::Dir) -> io::Result<()> {
        self.timed(SyncCall::Directory, || self.below.sync_dir(dir))
    }

    fn sync_fs(&self, dir: &D::Dir) -> io::Result<()> {
        self.timed(SyncCall::FileSystem, || self.below.sync_fs(dir))
    }

    fn sync_fs_is_promise(&self, dir: &D::Dir) -> io::Result<bool> {
        self.below.sync_fs_is_promise(dir)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{Arc, Disk, SyncCall, Timed};
    use crate::disk::Os;

    #[test]
    fn each_sync_is_told_and_nothing_else() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&told);
        let disk = Timed::new(Os, move |call, _, _| listener.lock().unwrap().push(call));
        let scratch = tempfile::tempdir().unwrap();
        let dir = disk.open_path(scratch.path()).unwrap();
        let file = disk.create(&dir, c"a", 0o600).unwrap();
        disk.write_at(&file, b"x", 0).unwrap();
        disk.sync_file(&file).unwrap();
        disk.sync_dir(&dir).unwrap();
        disk.sync_fs(&dir).unwrap();
        let expected = [SyncCall::File, SyncCall::Directory, SyncCall::FileSystem];
        assert_eq!(*told.lock().unwrap(), expected);
    }
}
