//! A file system in memory that can lose power.
//!
//! Every object has two states: what calls see now, and what is on stable storage. Syncs copy the first to the second, and
//! no more than POSIX makes them: fsync(2) of a file its contents and attributes, not its name; fsync(2) of a directory
//! its names and attributes, and those of the objects in it that cannot be opened (links, FIFOs, devices), not its files
//! nor the directories in it; syncfs(2) everything. Real file systems mostly do more, so what is safe here is safe there.
//!
//! After each call that changes something the whole state is remembered (objects are shared, so that is cheap). A test
//! runs once and then asks what is left after a power cut at each moment: only what was stable, or besides that any part
//! of what was not. [`Lie`]s make it forget to do what it says, as a faulty program would forget to ask for it: a test
//! that passes then proves nothing.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Access, Call, Disk, Entry, FileKind, Links, Node, Stat, Target, Times};
use crate::member::Timestamp;

/// Number of the top directory.
const TOP: u64 = 1;
/// Number of the only file system.
const DEVICE: u64 = 1;

/// What the simulated disk does not do although it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Syncs of this kind ([`Call::SyncFile`], [`Call::SyncDir`], [`Call::SyncFs`]) do nothing.
    Forgets(Call),
    /// Times of open files are set when they are closed, hence after their sync.
    TimesAfterSync,
    /// What is read is not what was written, in files of more bytes than this.
    ReadsWrong(usize),
}

/// What an object holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A regular file's contents.
    File(Vec<u8>),
    /// A directory's names and the numbers of the objects they stand for.
    Directory(BTreeMap<Vec<u8>, u64>),
    /// A symbolic link's target.
    Symlink(Vec<u8>),
    /// Nothing; a special file.
    Special(Node),
}

/// An object, as it is now or on stable storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What it holds.
    pub body: Body,
    /// Permission bits.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Last change of the contents.
    pub mtime: Timestamp,
    /// Last change of anything.
    pub ctime: Timestamp,
    /// Extended attributes.
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// What is left of an object after a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of its inode.
    pub inode: u64,
    /// Its state; `None` when there is a name and nothing behind it that was ever stable.
    pub image: Option<Arc<Image>>,
}

#[derive(Clone, Debug)]
struct Inode {
    now: Arc<Image>,
    stable: Option<Arc<Image>>,
    parent: u64,
}

type Moment = BTreeMap<u64, Inode>;

#[derive(Debug)]
struct State {
    inodes: Moment,
    history: Vec<Moment>,
    clock: i64,
    late_times: BTreeMap<u64, Times>,
}

/// The simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct Sim {
    state: Arc<Mutex<State>>,
    lie: Option<Lie>,
    trusted: bool,
}

fn error<T>(number: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(number))
}

impl Default for Sim {
    fn default() -> Self {
        Self::new()
    }
}

impl Sim {
    /// An empty disk, on which syncfs(2) is a promise.
    #[must_use]
    pub fn new() -> Self {
        let mut state = State {
            inodes: BTreeMap::new(),
            history: Vec::new(),
            clock: 1_000_000_000,
            late_times: BTreeMap::new(),
        };
        let top = state.add(Body::Directory(BTreeMap::new()), 0o755, TOP);
        debug_assert_eq!(top, TOP);
        state.stabilise_all();
        state.history.push(state.inodes.clone());
        Self {
            state: Arc::new(Mutex::new(state)),
            lie: None,
            trusted: true,
        }
    }

    /// Another disk with the same on it.
    #[must_use]
    pub fn copy(&self) -> Self {
        let state = self.lock();
        let copy = State {
            inodes: state.inodes.clone(),
            history: vec![state.inodes.clone()],
            clock: state.clock,
            late_times: BTreeMap::new(),
        };
        Self {
            state: Arc::new(Mutex::new(copy)),
            ..*self
        }
    }

    /// The same disk, but it lies.
    #[must_use]
    pub fn lying(self, lie: Lie) -> Self {
        Self {
            lie: Some(lie),
            ..self
        }
    }

    /// The same disk, but its syncfs(2) is no promise.
    #[must_use]
    pub fn without_promise(self) -> Self {
        Self {
            trusted: false,
            ..self
        }
    }

    /// How many calls have changed something.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.lock().history.len() - 1
    }

    /// What is left, by path, when power is lost after so many of the calls that changed something. Wherever the state at
    /// that moment is not the stable one, `keeps` is asked whether this piece (a name, an object) has reached the disk by
    /// chance.
    ///
    /// # Panics
    /// There were not so many calls.
    pub fn after_power_cut(
        &self,
        operations: usize,
        keeps: &mut dyn FnMut() -> bool,
    ) -> BTreeMap<Vec<u8>, Found> {
        let state = self.lock();
        let moment = &state.history[operations];
        let mut found = BTreeMap::new();
        let mut images = BTreeMap::new();
        let mut todo = vec![(Vec::new(), TOP)];
        while let Some((path, inode)) = todo.pop() {
            let object = &moment[&inode];
            // One decision for all of its names.
            let image = images.entry(inode).or_insert_with(|| {
                let same = object.stable.as_ref() == Some(&object.now);
                if !same && keeps() {
                    Some(Arc::clone(&object.now))
                } else {
                    object.stable.clone()
                }
            });
            if let Body::Directory(now) = &object.now.body {
                let none = BTreeMap::new();
                let stable = match object.stable.as_ref().map(|stable| &stable.body) {
                    Some(Body::Directory(names)) => names,
                    _ => &none,
                };
                let mut names: Vec<&Vec<u8>> = now.keys().chain(stable.keys()).collect();
                names.sort();
                names.dedup();
                for name in names {
                    let (new, old) = (now.get(name), stable.get(name));
                    let chosen = if new != old && keeps() { new } else { old };
                    if let Some(child) = chosen {
                        let mut below = path.clone();
                        if !below.is_empty() {
                            below.push(b'/');
                        }
                        below.extend_from_slice(name);
                        todo.push((below, *child));
                    }
                }
            }
            let image = image.clone();
            found.insert(path, Found { inode, image });
        }
        found
    }

    /// Loses power now: what is left is all there is. Handles from before mean nothing any more.
    pub fn lose_power(&self, keeps: &mut dyn FnMut() -> bool) {
        let left = self.after_power_cut(self.operations(), keeps);
        let mut state = self.lock();
        let mut names: BTreeMap<u64, BTreeMap<Vec<u8>, u64>> = BTreeMap::new();
        let mut parents = BTreeMap::from([(TOP, TOP)]);
        for (path, found) in left.iter().filter(|(path, _)| !path.is_empty()) {
            let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
                Some(slash) => (&path[..slash], &path[slash + 1..]),
                None => (&path[..0], &path[..]),
            };
            let parent = left[parent].inode;
            parents.insert(found.inode, parent);
            names
                .entry(parent)
                .or_default()
                .insert(name.to_vec(), found.inode);
        }
        for (inode, object) in &mut state.inodes {
            let found = left.values().find(|found| found.inode == *inode);
            let mut image = (*object.now).clone();
            match found.and_then(|found| found.image.clone()) {
                Some(kept) => image = (*kept).clone(),
                None => image.mode = 0,
            }
            match &mut image.body {
                Body::Directory(inside) => *inside = names.remove(inode).unwrap_or_default(),
                Body::File(contents) if image.mode == 0 => contents.clear(),
                _ => {}
            }
            object.now = Arc::new(image);
            object.stable = Some(Arc::clone(&object.now));
            object.parent = parents.get(inode).copied().unwrap_or(TOP);
        }
        state.late_times.clear();
        let moment = state.inodes.clone();
        state.history.push(moment);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a call that changes something.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.lock();
        let result = change(&mut state);
        if result.is_ok() {
            let moment = state.inodes.clone();
            state.history.push(moment);
        }
        result
    }

    fn sync(&self, call: Call, sync: impl FnOnce(&mut State)) -> io::Result<()> {
        self.change(|state| {
            if self.lie != Some(Lie::Forgets(call)) {
                sync(state);
            }
            Ok(())
        })
    }
}

impl State {
    fn tick(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp {
            seconds: self.clock,
            nanos: 0,
        }
    }

    fn add(&mut self, body: Body, mode: u32, parent: u64) -> u64 {
        let inode = self.inodes.len() as u64 + TOP;
        let time = self.tick();
        let now = Arc::new(Image {
            body,
            mode,
            owner: (0, 0),
            mtime: time,
            ctime: time,
            attributes: BTreeMap::new(),
        });
        let stable = None;
        self.inodes.insert(
            inode,
            Inode {
                now,
                stable,
                parent,
            },
        );
        inode
    }

    fn image(&self, inode: u64) -> &Arc<Image> {
        &self.inodes[&inode].now
    }

    /// The object's state, to be changed.
    fn edit(&mut self, inode: u64) -> &mut Image {
        let time = self.tick();
        let object = self.inodes.get_mut(&inode).expect("inodes are never taken");
        let image = Arc::make_mut(&mut object.now);
        image.ctime = time;
        image
    }

    fn names(&self, directory: u64) -> &BTreeMap<Vec<u8>, u64> {
        match &self.image(directory).body {
            Body::Directory(names) => names,
            _ => unreachable!("directory handles are of directories"),
        }
    }

    fn find(&self, directory: u64, name: &CStr) -> io::Result<u64> {
        match name.to_bytes() {
            b"." => Ok(directory),
            b".." => Ok(self.inodes[&directory].parent),
            name => match self.names(directory).get(name) {
                Some(inode) => Ok(*inode),
                None => error(libc::ENOENT),
            },
        }
    }

    /// Changes the names in a directory.
    fn with_names<T>(
        &mut self,
        directory: u64,
        change: impl FnOnce(&mut BTreeMap<Vec<u8>, u64>) -> T,
    ) -> T {
        let image = self.edit(directory);
        image.mtime = image.ctime;
        match &mut image.body {
            Body::Directory(names) => change(names),
            _ => unreachable!("directory handles are of directories"),
        }
    }

    fn make(&mut self, at: u64, name: &CStr, body: Body, mode: u32) -> io::Result<u64> {
        if self.find(at, name).is_ok() {
            return error(libc::EEXIST);
        }
        let inode = self.add(body, mode, at);
        self.with_names(at, |names| names.insert(name.to_bytes().to_vec(), inode));
        Ok(inode)
    }

    fn stabilise(&mut self, inode: u64) {
        let object = self.inodes.get_mut(&inode).expect("inodes are never taken");
        object.stable = Some(Arc::clone(&object.now));
    }

    fn stabilise_directory(&mut self, directory: u64) {
        self.stabilise(directory);
        let inside: Vec<u64> = self.names(directory).values().copied().collect();
        for inode in inside {
            if matches!(self.image(inode).body, Body::Symlink(_) | Body::Special(_)) {
                self.stabilise(inode);
            } else if matches!(self.image(inode).body, Body::Directory(_))
                && self.inodes[&inode].stable.is_none()
            {
                // A name that leads to a directory leads to one: empty, until it is synced itself.
                let mut born = (**self.image(inode)).clone();
                born.body = Body::Directory(BTreeMap::new());
                if let Some(object) = self.inodes.get_mut(&inode) {
                    object.stable = Some(Arc::new(born));
                }
            }
        }
    }

    fn stabilise_all(&mut self) {
        for object in self.inodes.values_mut() {
            object.stable = Some(Arc::clone(&object.now));
        }
    }

    fn target(&self, target: &Target<'_, Sim>) -> io::Result<u64> {
        match *target {
            Target::File(inode) | Target::Dir(inode) => Ok(*inode),
            Target::At(directory, name) => self.find(*directory, name),
        }
    }

    fn stat(&self, inode: u64) -> Stat {
        let image = self.image(inode);
        let (kind, size) = match &image.body {
            Body::File(contents) => (FileKind::Regular, contents.len() as u64),
            Body::Directory(_) => (FileKind::Directory, 4096),
            Body::Symlink(target) => (FileKind::Symlink, target.len() as u64),
            Body::Special(node) => (
                match node {
                    Node::Fifo => FileKind::Fifo,
                    Node::CharDevice(..) => FileKind::CharDevice,
                    Node::BlockDevice(..) => FileKind::BlockDevice,
                },
                0,
            ),
        };
        Stat {
            kind,
            mode: image.mode,
            uid: image.owner.0,
            gid: image.owner.1,
            size,
            device: DEVICE,
            inode,
            links: self.links(inode),
            mtime: image.mtime,
            // Not simulated.
            atime: image.mtime,
            ctime: image.ctime,
            blocks: size.div_ceil(512),
            number: match image.body {
                Body::Special(Node::CharDevice(major, minor) | Node::BlockDevice(major, minor)) => {
                    (major, minor)
                }
                _ => (0, 0),
            },
        }
    }

    /// How many names an object has.
    fn links(&self, inode: u64) -> u64 {
        let directories = self.inodes.values().map(|object| &object.now.body);
        let names = directories.filter_map(|body| match body {
            Body::Directory(names) => Some(names.values()),
            _ => None,
        });
        names.flatten().filter(|named| **named == inode).count() as u64
    }

    fn set_times(&mut self, inode: u64, times: Times) {
        let image = self.edit(inode);
        image.mtime = times.mtime.unwrap_or(image.mtime);
    }

    fn contents(&mut self, file: u64) -> &mut Vec<u8> {
        let image = self.edit(file);
        image.mtime = image.ctime;
        match &mut image.body {
            Body::File(contents) => contents,
            _ => unreachable!("file handles are of files"),
        }
    }
}

impl Disk for Sim {
    type Dir = u64;
    type File = u64;

    fn open_path(&self, path: &Path) -> io::Result<u64> {
        let mut at = TOP;
        let parts = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
        for part in parts.filter(|part| !part.is_empty()) {
            at = self.open_dir(&at, &CString::new(part)?)?;
        }
        Ok(at)
    }
    fn open_dir(&self, at: &u64, name: &CStr) -> io::Result<u64> {
        let state = self.lock();
        let inode = state.find(*at, name)?;
        match state.image(inode).body {
            Body::Directory(_) => Ok(inode),
            _ => error(libc::ENOTDIR),
        }
    }
    fn list(&self, dir: &u64) -> io::Result<Vec<CString>> {
        let state = self.lock();
        let names = state.names(*dir).keys();
        names.map(|name| Ok(CString::new(name.clone())?)).collect()
    }
    fn entries(&self, dir: &u64) -> io::Result<Vec<Entry>> {
        let state = self.lock();
        let names = state.names(*dir).iter();
        let entry = |(name, inode): (&Vec<u8>, &u64)| {
            Ok(Entry {
                name: CString::new(name.clone())?,
                kind: Some(state.stat(*inode).kind),
                inode: *inode,
            })
        };
        names.map(entry).collect()
    }
    // Links are not followed on this disk, and names lead through no directories: what archives it is tested elsewhere.
    fn look(&self, at: &u64, name: &CStr, _: Links) -> io::Result<Stat> {
        self.stat_at(at, name)
    }
    fn enter(&self, at: &u64, name: &CStr, _: Links) -> io::Result<u64> {
        self.open_dir(at, name)
    }
    fn open_to_read(&self, at: &u64, name: &CStr, _: Links, _: bool) -> io::Result<u64> {
        self.open_file(at, name, Access::Read)
    }
    fn next_data(&self, file: &u64, offset: u64) -> io::Result<Option<u64>> {
        let size = self.lock().stat(*file).size;
        Ok(Some(offset).filter(|offset| *offset < size))
    }
    fn next_hole(&self, file: &u64, _: u64) -> io::Result<u64> {
        Ok(self.lock().stat(*file).size)
    }
    fn attribute_names(&self, target: &Target<'_, Self>) -> io::Result<Vec<CString>> {
        let state = self.lock();
        let image = state.image(state.target(target)?);
        let names = image.attributes.keys();
        names.map(|name| Ok(CString::new(name.clone())?)).collect()
    }
    fn attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<Vec<u8>> {
        let state = self.lock();
        let image = state.image(state.target(target)?);
        match image.attributes.get(name.to_bytes()) {
            Some(value) => Ok(value.clone()),
            None => error(libc::ENODATA),
        }
    }
    fn create(&self, at: &u64, name: &CStr, mode: u32) -> io::Result<u64> {
        self.change(|state| state.make(*at, name, Body::File(Vec::new()), mode))
    }
    fn open_file(&self, at: &u64, name: &CStr, access: Access) -> io::Result<u64> {
        let found = self.lock().find(*at, name)?;
        if !matches!(self.lock().image(found).body, Body::File(_)) {
            return error(libc::ELOOP);
        }
        if access == Access::Overwrite {
            self.set_size(&found, 0)?;
        }
        Ok(found)
    }
    fn make_dir(&self, at: &u64, name: &CStr, mode: u32) -> io::Result<()> {
        let made =
            |state: &mut State| state.make(*at, name, Body::Directory(BTreeMap::new()), mode);
        self.change(made).map(drop)
    }
    fn symlink(&self, target: &CStr, at: &u64, name: &CStr) -> io::Result<()> {
        let body = Body::Symlink(target.to_bytes().to_vec());
        self.change(|state| state.make(*at, name, body, 0o777))
            .map(drop)
    }
    fn link(&self, from: &u64, source: &CStr, at: &u64, name: &CStr) -> io::Result<()> {
        self.change(|state| {
            let inode = state.find(*from, source)?;
            if state.find(*at, name).is_ok() {
                return error(libc::EEXIST);
            }
            state.edit(inode);
            state.with_names(*at, |names| names.insert(name.to_bytes().to_vec(), inode));
            Ok(())
        })
    }
    fn make_node(&self, at: &u64, name: &CStr, mode: u32, node: Node) -> io::Result<()> {
        self.change(|state| state.make(*at, name, Body::Special(node), mode))
            .map(drop)
    }
    fn remove(&self, at: &u64, name: &CStr) -> io::Result<()> {
        self.change(|state| {
            let inode = state.find(*at, name)?;
            if matches!(state.image(inode).body, Body::Directory(_)) {
                return error(libc::EISDIR);
            }
            state.with_names(*at, |names| names.remove(name.to_bytes()));
            Ok(())
        })
    }
    fn remove_dir(&self, at: &u64, name: &CStr) -> io::Result<()> {
        self.change(|state| {
            let inode = state.find(*at, name)?;
            match &state.image(inode).body {
                Body::Directory(names) if names.is_empty() => {}
                Body::Directory(_) => return error(libc::ENOTEMPTY),
                _ => return error(libc::ENOTDIR),
            }
            state.with_names(*at, |names| names.remove(name.to_bytes()));
            Ok(())
        })
    }
    fn rename(&self, from: &u64, source: &CStr, at: &u64, name: &CStr) -> io::Result<()> {
        self.change(|state| {
            let inode = state.find(*from, source)?;
            state.with_names(*from, |names| names.remove(source.to_bytes()));
            state.with_names(*at, |names| names.insert(name.to_bytes().to_vec(), inode));
            Ok(())
        })
    }
    fn stat_at(&self, at: &u64, name: &CStr) -> io::Result<Stat> {
        let state = self.lock();
        Ok(state.stat(state.find(*at, name)?))
    }
    fn stat_dir(&self, dir: &u64) -> io::Result<Stat> {
        Ok(self.lock().stat(*dir))
    }
    fn stat_file(&self, file: &u64) -> io::Result<Stat> {
        Ok(self.lock().stat(*file))
    }
    fn read_link(&self, at: &u64, name: &CStr) -> io::Result<Vec<u8>> {
        let state = self.lock();
        match &state.image(state.find(*at, name)?).body {
            Body::Symlink(target) => Ok(target.clone()),
            _ => error(libc::EINVAL),
        }
    }
    fn read_at(&self, file: &u64, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.lock();
        let Body::File(contents) = &state.image(*file).body else {
            return error(libc::EISDIR);
        };
        let start = usize::try_from(offset).map_or(contents.len(), |at| at.min(contents.len()));
        let count = buffer.len().min(contents.len() - start);
        buffer[..count].copy_from_slice(&contents[start..start + count]);
        if let Some(Lie::ReadsWrong(bytes)) = self.lie
            && contents.len() > bytes
            && count > 0
        {
            buffer[count / 2] ^= 1;
        }
        Ok(count)
    }
    fn drop_cached(&self, _: &u64) -> io::Result<()> {
        Ok(())
    }
    fn write_at(&self, file: &u64, data: &[u8], offset: u64) -> io::Result<()> {
        self.change(|state| {
            let contents = state.contents(*file);
            let start = usize::try_from(offset).or_else(|_| error(libc::EFBIG))?;
            let end = start + data.len();
            if contents.len() < end {
                contents.resize(end, 0);
            }
            contents[start..end].copy_from_slice(data);
            Ok(())
        })
    }
    fn set_size(&self, file: &u64, size: u64) -> io::Result<()> {
        self.change(|state| {
            let size = usize::try_from(size).or_else(|_| error(libc::EFBIG))?;
            state.contents(*file).resize(size, 0);
            Ok(())
        })
    }
    fn set_owner(&self, target: &Target<'_, Self>, uid: u32, gid: u32) -> io::Result<()> {
        self.change(|state| {
            let inode = state.target(target)?;
            let image = state.edit(inode);
            image.owner = (uid, gid);
            if matches!(image.body, Body::File(_)) {
                image.mode &= 0o1777;
            }
            Ok(())
        })
    }
    fn set_mode(&self, target: &Target<'_, Self>, mode: u32) -> io::Result<()> {
        self.change(|state| {
            let inode = state.target(target)?;
            state.edit(inode).mode = mode;
            Ok(())
        })
    }
    fn set_times(&self, target: &Target<'_, Self>, times: Times) -> io::Result<()> {
        self.change(|state| {
            let inode = state.target(target)?;
            if self.lie == Some(Lie::TimesAfterSync) && matches!(target, Target::File(_)) {
                state.late_times.insert(inode, times);
            } else {
                state.set_times(inode, times);
            }
            Ok(())
        })
    }
    fn set_attribute(
        &self,
        target: &Target<'_, Self>,
        name: &CStr,
        value: &[u8],
    ) -> io::Result<()> {
        self.change(|state| {
            let inode = state.target(target)?;
            let attributes = &mut state.edit(inode).attributes;
            attributes.insert(name.to_bytes().to_vec(), value.to_vec());
            Ok(())
        })
    }
    fn remove_attribute(&self, target: &Target<'_, Self>, name: &CStr) -> io::Result<()> {
        self.change(|state| {
            let inode = state.target(target)?;
            match state.edit(inode).attributes.remove(name.to_bytes()) {
                Some(_) => Ok(()),
                None => error(libc::ENODATA),
            }
        })
    }
    fn add_flags(&self, _: &Target<'_, Self>, _: u32) -> io::Result<()> {
        error(libc::EOPNOTSUPP)
    }
    fn close(&self, file: u64) -> io::Result<()> {
        let late = self.lock().late_times.remove(&file);
        late.map_or(Ok(()), |times| {
            self.change(|state| {
                state.set_times(file, times);
                Ok(())
            })
        })
    }
    fn sync_file(&self, file: &u64) -> io::Result<()> {
        self.sync(Call::SyncFile, |state| state.stabilise(*file))
    }
    fn sync_dir(&self, dir: &u64) -> io::Result<()> {
        self.sync(Call::SyncDir, |state| state.stabilise_directory(*dir))
    }
    fn sync_fs(&self, _: &u64) -> io::Result<()> {
        self.sync(Call::SyncFs, State::stabilise_all)
    }
    fn sync_fs_is_promise(&self, _: &u64) -> io::Result<bool> {
        Ok(self.trusted)
    }
}
