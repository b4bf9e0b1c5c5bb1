//! A file system that fails when told to.
//!
//! Wraps another [`Disk`] and counts its calls. Before each call a rule of the test decides whether the call fails, and
//! with which error; a failed call does not reach the file system below.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Access, Disk, Entry, Links, Node, Stat, Target, Times};

/// The calls of [`Disk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the method of that name")]
pub enum Call {
    OpenPath,
    OpenDir,
    List,
    Look,
    Enter,
    OpenToRead,
    Read,
    NextData,
    NextHole,
    AttributeNames,
    Attribute,
    Create,
    OpenFile,
    MakeDir,
    Symlink,
    Link,
    MakeNode,
    Remove,
    RemoveDir,
    Rename,
    StatAt,
    StatDir,
    StatFile,
    ReadLink,
    DropCached,
    Write,
    SetSize,
    SetOwner,
    SetMode,
    SetTimes,
    SetAttribute,
    RemoveAttribute,
    AddFlags,
    Close,
    SyncFile,
    SyncDir,
    SyncFs,
    SyncFsIsPromise,
}

type Rule = dyn Fn(Call, u64) -> Option<i32> + Send + Sync;

/// A [`Disk`] that fails chosen calls.
#[derive(Clone)]
pub struct Faulty<D> {
    below: D,
    rule: Arc<Rule>,
    counts: Arc<Mutex<HashMap<Call, u64>>>,
    promise: Option<bool>,
}

impl<D: fmt::Debug> fmt::Debug for Faulty<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty")
            .field("below", &self.below)
            .finish_non_exhaustive()
    }
}

impl<D: Disk> Faulty<D> {
    /// `rule` gets the call and how often it was made before (from 0), and gives the `errno` to fail with.
    pub fn new(below: D, rule: impl Fn(Call, u64) -> Option<i32> + Send + Sync + 'static) -> Self {
        Self {
            below,
            rule: Arc::new(rule),
            counts: Arc::default(),
            promise: None,
        }
    }

    /// Says that syncfs is, or is not, a promise here, whatever the file system below is.
    #[must_use]
    pub fn with_promise(mut self, promise: bool) -> Self {
        self.promise = Some(promise);
        self
    }

    /// How often a call was made, failed ones included.
    #[must_use]
    pub fn count(&self, call: Call) -> u64 {
        *self
            .counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&call)
            .unwrap_or(&0)
    }

    fn pass(&self, call: Call) -> io::Result<&D> {
        let before = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(call).or_insert(0);
            *count += 1;
            *count - 1
        };
        match (self.rule)(call, before) {
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            None => Ok(&self.below),
        }
    }

    fn below<'a>(target: &'a Target<'a, Self>) -> Target<'a, D> {
        match *target {
            Target::File(file) => Target::File(file),
            Target::Dir(dir) => Target::Dir(dir),
            Target::At(dir, name) => Target::At(dir, name),
        }
    }
}

impl<D: Disk> Disk for Faulty<D> {
    type Dir = D::Dir;
    type File = D::File;

    fn open_path(&self, path: &Path) -> io::Result<D::Dir> {
        self.pass(Call::OpenPath)?.open_path(path)
    }
    fn open_dir(&self, at: &D::Dir, name: &CStr) -> io::Result<D::Dir> {
        self.pass(Call::OpenDir)?.open_dir(at, name)
    }
    fn list(&self, dir: &D::Dir) -> io::Result<Vec<CString>> {
        self.pass(Call::List)?.list(dir)
    }
    fn entries(&self, dir: &D::Dir) -> io::Result<Vec<Entry>> {
        self.pass(Call::List)?.entries(dir)
    }
    fn look(&self, at: &D::Dir, name: &CStr, links: Links) -> io::Result<Stat> {
        self.pass(Call::Look)?.look(at, name, links)
    }
    fn enter(&self, at: &D::Dir, name: &CStr, links: Links) -> io::Result<D::Dir> {
        self.pass(Call::Enter)?.enter(at, name, links)
    }
    fn open_to_read(
        &self,
        at: &D::Dir,
        name: &CStr,
        links: Links,
        quiet: bool,
    ) -> io::Result<D::File> {
        self.pass(Call::OpenToRead)?
            .open_to_read(at, name, links, quiet)
    }
    fn read_at(&self, file: &D::File, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.pass(Call::Read)?.read_at(file, into, offset)
    }
    fn next_data(&self, file: &D::File, offset: u64) -> io::Result<Option<u64>> {
        self.pass(Call::NextData)?.next_data(file, offset)
    }
    fn next_hole(&self, file: &D::File, offset: u64) -> io::Result<u64> {
        self.pass(Call::NextHole)?.next_hole(file, offset)
    }
    fn attribute_names(&self, target: &Target<'_, Self>) -> io::Result<Vec<CString>> {
        self.pass(Call::AttributeNames)?
            .attribute_names(&Self::below(target))
    }
    fn attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<Vec<u8>> {
        self.pass(Call::Attribute)?
            .attribute(&Self::below(target), name)
    }
    fn create(&self, at: &D::Dir, name: &CStr, mode: u32) -> io::Result<D::File> {
        self.pass(Call::Create)?.create(at, name, mode)
    }
    fn open_file(&self, at: &D::Dir, name: &CStr, access: Access) -> io::Result<D::File> {
        self.pass(Call::OpenFile)?.open_file(at, name, access)
    }
    fn make_dir(&self, at: &D::Dir, name: &CStr, mode: u32) -> io::Result<()> {
        self.pass(Call::MakeDir)?.make_dir(at, name, mode)
    }
    fn symlink(&self, target: &CStr, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.pass(Call::Symlink)?.symlink(target, at, name)
    }
    fn link(&self, from: &D::Dir, source: &CStr, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.pass(Call::Link)?.link(from, source, at, name)
    }
    fn make_node(&self, at: &D::Dir, name: &CStr, mode: u32, node: Node) -> io::Result<()> {
        self.pass(Call::MakeNode)?.make_node(at, name, mode, node)
    }
    fn remove(&self, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.pass(Call::Remove)?.remove(at, name)
    }
    fn remove_dir(&self, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.pass(Call::RemoveDir)?.remove_dir(at, name)
    }
    fn rename(&self, from: &D::Dir, source: &CStr, at: &D::Dir, name: &CStr) -> io::Result<()> {
        self.pass(Call::Rename)?.rename(from, source, at, name)
    }
    fn stat_at(&self, at: &D::Dir, name: &CStr) -> io::Result<Stat> {
        self.pass(Call::StatAt)?.stat_at(at, name)
    }
    fn stat_dir(&self, dir: &D::Dir) -> io::Result<Stat> {
        self.pass(Call::StatDir)?.stat_dir(dir)
    }
    fn stat_file(&self, file: &D::File) -> io::Result<Stat> {
        self.pass(Call::StatFile)?.stat_file(file)
    }
    fn read_link(&self, at: &D::Dir, name: &CStr) -> io::Result<Vec<u8>> {
        self.pass(Call::ReadLink)?.read_link(at, name)
    }
    fn drop_cached(&self, file: &D::File) -> io::Result<()> {
        self.pass(Call::DropCached)?.drop_cached(file)
    }
    fn write_at(&self, file: &D::File, data: &[u8], offset: u64) -> io::Result<()> {
        self.pass(Call::Write)?.write_at(file, data, offset)
    }
    fn set_size(&self, file: &D::File, size: u64) -> io::Result<()> {
        self.pass(Call::SetSize)?.set_size(file, size)
    }
    fn set_owner(&self, target: &Target<'_, Self>, uid: u32, gid: u32) -> io::Result<()> {
        self.pass(Call::SetOwner)?
            .set_owner(&Self::below(target), uid, gid)
    }
    fn set_mode(&self, target: &Target<'_, Self>, mode: u32) -> io::Result<()> {
        self.pass(Call::SetMode)?
            .set_mode(&Self::below(target), mode)
    }
    fn set_times(&self, target: &Target<'_, Self>, times: Times) -> io::Result<()> {
        self.pass(Call::SetTimes)?
            .set_times(&Self::below(target), times)
    }
    fn set_attribute(
        &self,
        target: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> io::Result<()> {
        self.pass(Call::SetAttribute)?
            .set_attribute(&Self::below(target), name, value)
    }
    fn remove_attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<()> {
        self.pass(Call::RemoveAttribute)?
            .remove_attribute(&Self::below(target), name)
    }
    fn add_flags(&self, target: &Target<'_, Self>, flags: u32) -> io::Result<()> {
        self.pass(Call::AddFlags)?
            .add_flags(&Self::below(target), flags)
    }
    fn close(&self, file: D::File) -> io::Result<()> {
        self.pass(Call::Close)?.close(file)
    }
    fn sync_file(&self, file: &D::File) -> io::Result<()> {
        self.pass(Call::SyncFile)?.sync_file(file)
    }
    fn sync_dir(&self, dir: &D::Dir) -> io::Result<()> {
        self.pass(Call::SyncDir)?.sync_dir(dir)
    }
    fn sync_fs(&self, dir: &D::Dir) -> io::Result<()> {
        self.pass(Call::SyncFs)?.sync_fs(dir)
    }
    fn sync_fs_is_promise(&self, dir: &D::Dir) -> io::Result<bool> {
        let below = self.pass(Call::SyncFsIsPromise)?;
        self.promise
            .map_or_else(|| below.sync_fs_is_promise(dir), Ok)
    }
}
