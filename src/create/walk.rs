//! From the names that were asked for to everything below them, in the order of the archive.
//!
//! One thread walks. It reads directories and looks at nothing else: what an entry is, the directory says on most file
//! systems. A directory is entered from its parent's handle and never by a joined path, so a tree that somebody renames
//! meanwhile cannot lead elsewhere. Parents far above are closed and entered again through `..`, where it has to be the
//! same directory as before, so depth costs no handles.

use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::vec::IntoIter;

use super::ahead::{Ahead, BATCH_DIRECTORIES, BATCH_ITEMS, Item, Task};
use super::ignore::Ignores;
use crate::disk::{Disk, Entry, FileKind, Links, Stat, errno};
use crate::error::{Complaint, Condition, Operation, Severity};
use crate::plan::create::{Create, Sort, TagExtent};
use crate::plan::{Plan, Selection};
use crate::select::names::without_trailing_slashes;
use crate::select::outgoing::Excluder;

/// Directories of the way down that are kept open.
const OPEN_FRAMES: usize = 16;

/// The longest beginning of a tag that is compared: the signature of cache directories.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// A directory being read.
struct Frame<D: Disk> {
    /// `None` where it was closed for want of handles.
    handle: Option<Arc<D::Dir>>,
    stat: Stat,
    path: Vec<u8>,
    entries: IntoIter<Entry>,
    ignores: Ignores,
}

/// The walker.
pub(super) struct Walker<'a, D: Disk> {
    disk: &'a D,
    create: &'a Create,
    selection: &'a Selection,
    excluder: Excluder,
    links: Links,
    ahead: &'a Ahead<D>,
    batch: Vec<Item<D>>,
    /// Directories in the batch.
    directories: usize,
    /// Which of the directories that operands are relative to is at work.
    base: usize,
    /// The directories on the way down, the innermost last.
    frames: Vec<Frame<D>>,
}

/// Nobody wants any more.
pub(super) struct Over;

impl<'a, D: Disk> Walker<'a, D> {
    pub(super) fn new(disk: &'a D, plan: &'a Plan, ahead: &'a Ahead<D>) -> Self {
        Self {
            disk,
            create: &plan.create,
            selection: &plan.selection,
            excluder: Excluder::new(&plan.selection.excludes),
            links: super::links(plan),
            ahead,
            batch: Vec::with_capacity(BATCH_ITEMS),
            directories: 0,
            base: 0,
            frames: Vec::new(),
        }
    }

    /// Walks all operands.
    pub(super) fn run(mut self, bases: &[Arc<D::Dir>]) {
        for wanted in &self.selection.wanted {
            let Some(base) = bases.get(wanted.directory) else {
                continue;
            };
            let name = without_trailing_slashes(&wanted.pattern.text);
            if self
                .operand(wanted.directory, base, name, wanted.pattern.recursive)
                .is_err()
            {
                return;
            }
        }
        // Nobody is there to hear that nobody is there.
        let _ = self.flush();
    }

    fn put(&mut self, item: Item<D>) -> Result<(), Over> {
        self.directories += usize::from(matches!(item, Item::Directory(..)));
        self.batch.push(item);
        if self.batch.len() >= BATCH_ITEMS || self.directories >= BATCH_DIRECTORIES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Over> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.directories = 0;
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_ITEMS));
        if self.ahead.push(batch) {
            Ok(())
        } else {
            Err(Over)
        }
    }

    fn note(&mut self, path: &[u8], condition: Condition) -> Result<(), Over> {
        self.put(Item::Note(Complaint::warning(path, condition)))
    }

    fn failed(
        &mut self,
        path: &[u8],
        operation: Operation,
        cause: std::io::Error,
    ) -> Result<(), Over> {
        let gone = cause.raw_os_error() == Some(errno::ENOENT) && !self.frames.is_empty();
        self.put(Item::Note(if gone {
            Complaint::difference(path, Condition::FileRemoved)
        } else {
            Complaint {
                severity: if self.create.ignore_failed_read {
                    Severity::Warning
                } else {
                    Severity::Failure
                },
                ..Complaint::system(path, operation, cause)
            }
        }))
    }

    fn operand(
        &mut self,
        number: usize,
        base: &Arc<D::Dir>,
        name: &[u8],
        recursive: bool,
    ) -> Result<(), Over> {
        self.base = number;
        if self.excluder.excludes(name) {
            return Ok(());
        }
        let Ok(entry) = CString::new(name) else {
            let what = "file name contains a NUL byte".to_owned();
            return self.put(Item::Note(Complaint::failure(name, Condition::Other(what))));
        };
        let task = Task {
            base: self.base,
            at: Arc::clone(base),
            entry,
            path: name.to_vec(),
            kind: None,
            operand: true,
        };
        self.task(task, recursive)?;
        while !self.frames.is_empty() {
            self.step()?;
        }
        Ok(())
    }

    /// The next entry of the innermost directory.
    fn step(&mut self) -> Result<(), Over> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        let Some(entry) = frame.entries.next() else {
            return self.leave();
        };
        let Some(at) = frame.handle.clone() else {
            return self.leave();
        };
        let mut path = Vec::with_capacity(frame.path.len() + 1 + entry.name.count_bytes());
        path.extend_from_slice(&frame.path);
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(entry.name.to_bytes());
        let ignored = Ignores::any(self.frames.iter().map(|frame| &frame.ignores), &path);
        if ignored || self.excluder.excludes(&path) {
            return Ok(());
        }
        let kind = match (entry.kind, self.links) {
            // What it points to may be anything.
            (Some(FileKind::Symlink), Links::Follow) => None,
            (kind, _) => kind,
        };
        let task = Task {
            base: self.base,
            at,
            entry: entry.name,
            path,
            kind,
            operand: false,
        };
        self.task(task, true)
    }

    fn task(&mut self, mut task: Task<D>, recursive: bool) -> Result<(), Over> {
        if task.kind.is_none() {
            match self.disk.look(&task.at, &task.entry, self.links) {
                Ok(stat) => task.kind = Some(stat.kind),
                Err(cause) => return self.failed(&task.path, Operation::Stat, cause),
            }
        }
        if task.kind == Some(FileKind::Directory) {
            return self.directory(task, recursive);
        }
        self.put(Item::Task(task))
    }

    fn directory(&mut self, task: Task<D>, recursive: bool) -> Result<(), Over> {
        let opened = self
            .disk
            .enter(&task.at, &task.entry, self.links)
            .and_then(|handle| {
                let stat = self.disk.stat_dir(&handle)?;
                Ok((handle, stat))
            });
        let (handle, stat) = match opened {
            Ok(opened) => opened,
            Err(cause) => return self.failed(&task.path, Operation::Open, cause),
        };
        let identity = stat.identity();
        if self.links == Links::Follow
            && self
                .frames
                .iter()
                .any(|frame| frame.stat.identity() == identity)
        {
            let what = "contains itself, not entered again".to_owned();
            return self.note(&task.path, Condition::Other(what));
        }
        let handle = Arc::new(handle);
        let path = task.path.clone();
        let mut only = None;
        for tag in &self.create.tags {
            if !self.has_tag(&handle, tag) {
                continue;
            }
            let what = match tag.extent {
                TagExtent::All => "directory not dumped",
                TagExtent::Contents | TagExtent::Under => "contents not dumped",
            };
            let told = [&path[..], b"/"].concat();
            self.note(&told, Condition::Tagged(tag.name.clone(), what))?;
            match tag.extent {
                TagExtent::All => return Ok(()),
                TagExtent::Under => {
                    only = Some(None);
                    break;
                }
                TagExtent::Contents => {
                    only = Some(Some(tag.name.clone()));
                    break;
                }
            }
        }
        let other = self.create.one_file_system
            && self
                .frames
                .last()
                .is_some_and(|parent| parent.stat.device != stat.device);
        self.put(Item::Directory(task, Arc::clone(&handle), Box::new(stat)))?;
        if !recursive {
            return Ok(());
        }
        if other {
            return self.note(&path, Condition::OtherFileSystem);
        }
        let mut entries = match &only {
            Some(only) => only
                .iter()
                .filter_map(|name| {
                    Some(Entry {
                        name: CString::new(name.clone()).ok()?,
                        kind: None,
                        inode: 0,
                    })
                })
                .collect(),
            None => match self.disk.entries(&handle) {
                Ok(entries) => entries,
                Err(cause) => return self.failed(&path, Operation::Read, cause),
            },
        };
        match self.create.sort {
            Sort::None => {}
            Sort::Name => entries.sort_by(|a, b| a.name.cmp(&b.name)),
            Sort::Inode => entries.sort_by_key(|entry| entry.inode),
        }
        let ignores = Ignores::read(self.disk, &handle, &self.create.ignore_files);
        if self.frames.len() >= OPEN_FRAMES {
            let deep = self.frames.len() - OPEN_FRAMES;
            self.frames[deep].handle = None;
        }
        self.frames.push(Frame {
            handle: Some(handle),
            stat,
            path,
            entries: entries.into_iter(),
            ignores,
        });
        Ok(())
    }

    /// Leaves the innermost directory for its parent.
    fn leave(&mut self) -> Result<(), Over> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        if let Some(handle) = &frame.handle {
            let changed = self
                .disk
                .stat_dir(handle)
                .is_ok_and(|now| now.ctime != frame.stat.ctime);
            if changed && !self.create.remove_files {
                self.put(Item::Note(Complaint::difference(
                    &frame.path,
                    Condition::FileChanged,
                )))?;
            }
        }
        self.put(Item::Left(self.base, frame.path))?;
        let Some(parent) = self.frames.last_mut() else {
            return Ok(());
        };
        if parent.handle.is_none()
            && let Some(handle) = &frame.handle
        {
            let again = self
                .disk
                .enter(handle, c"..", Links::Keep)
                .and_then(|parent| {
                    let stat = self.disk.stat_dir(&parent)?;
                    Ok((parent, stat))
                });
            match again {
                Ok((handle, stat)) if stat.identity() == parent.stat.identity() => {
                    parent.handle = Some(Arc::new(handle));
                }
                Ok(_) => {
                    let path = parent.path.clone();
                    let what = "moved while it was archived; the rest is not dumped".to_owned();
                    self.put(Item::Note(Complaint::failure(
                        &path,
                        Condition::Other(what),
                    )))?;
                }
                Err(cause) => {
                    let path = parent.path.clone();
                    self.failed(&path, Operation::Open, cause)?;
                }
            }
        }
        Ok(())
    }

    fn has_tag(&self, handle: &D::Dir, tag: &crate::plan::create::Tag) -> bool {
        let Ok(name) = CString::new(tag.name.clone()) else {
            return false;
        };
        if !tag.cache {
            return self.disk.look(handle, &name, Links::Keep).is_ok();
        }
        starts_with(self.disk, handle, &name, CACHE_SIGNATURE)
    }
}

fn starts_with<D: Disk>(disk: &D, at: &D::Dir, name: &CStr, signature: &[u8]) -> bool {
    let Ok(file) = disk.open_to_read(at, name, Links::Follow, false) else {
        return false;
    };
    let mut begin = vec![0; signature.len()];
    let mut known = 0;
    while known < begin.len() {
        match disk.read_at(&file, &mut begin[known..], known as u64) {
            Ok(0) | Err(_) => return false,
            Ok(n) => known += n,
        }
    }
    begin == signature
}
