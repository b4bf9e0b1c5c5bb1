//! The way to a member: directory handles instead of path strings.
//!
//! A location is a directory handle and a last component. The way there is walked one component at a time, each opened
//! without following links, so nothing that changes in between can bend it. A symbolic link on the way is read and its
//! target walked in the same manner; `..` is refused at the destination, and so is a target that begins with a slash,
//! unless the destination is the file system's root. Hence nothing outside the destination can be reached. Links that
//! this run has made and that are absolute or climb are not followed at all, wherever they lead (GNU tar makes them last
//! for the same reason).

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk::{Directory, Disk, errno};
use crate::error::Operation;

/// As Linux's limit for one path (path_resolution(7)).
const MAX_LINKS: u32 = 40;
/// Directory handles kept at a time, at most; a source tree rarely needs more than its depth.
const CACHED: usize = 256;
/// [`Directory::base`] of `/`, below which absolute names lie.
const ABSOLUTE: usize = usize::MAX;

/// Why a way cannot be walked.
#[derive(Debug)]
pub(super) enum Blocked {
    /// A system call failed.
    System(Operation, io::Error),
    /// It leads out of the destination.
    Leaves,
    /// Something that has still its temporary name is to stand there.
    Reserved,
}

impl Blocked {
    /// The number that the system gives for it, or would give.
    pub(super) fn errno(&self) -> i32 {
        match self {
            Self::System(_, cause) => cause.raw_os_error().unwrap_or(errno::EIO),
            Self::Leaves => errno::ELOOP,
            Self::Reserved => errno::EBUSY,
        }
    }

    /// The process, or the system, may not open any more files.
    pub(super) fn is_for_want_of_files(&self) -> bool {
        matches!(self, Self::System(_, cause) if matches!(cause.raw_os_error(), Some(errno::EMFILE | errno::ENFILE)))
    }
}

fn system(operation: Operation) -> impl FnOnce(io::Error) -> Blocked {
    move |cause| Blocked::System(operation, cause)
}

fn not_a_directory() -> Blocked {
    Blocked::System(
        Operation::Open,
        io::Error::from_raw_os_error(errno::ENOTDIR),
    )
}

/// A name for the kernel.
///
/// # Errors
/// It holds a NUL byte, which no file name can.
pub(super) fn c_string(name: &[u8]) -> io::Result<CString> {
    CString::new(name).map_err(|_| io::Error::from_raw_os_error(errno::EINVAL))
}

/// Where a walk begins and what bounds it.
#[derive(Debug)]
struct Root<D: Disk> {
    directory: Arc<Directory<D>>,
    /// The destination is `/`: absolute links stay inside, and `..` of the root is the root.
    whole: bool,
}

/// Called with a directory before a name is made in it.
pub(super) type Changing<'a, D> = &'a mut dyn FnMut(&Arc<Directory<D>>) -> io::Result<()>;

/// How directories that are missing on the way are made.
pub(super) struct MakeMissing<'a, D: Disk> {
    pub(super) mode: u32,
    pub(super) changing: Changing<'a, D>,
    /// Takes the paths of those that were made.
    pub(super) made: &'a mut Vec<Box<[u8]>>,
}

#[derive(Debug)]
struct Cached<D: Disk> {
    directory: Arc<Directory<D>>,
    used: u64,
}

/// Finds directories below the destinations.
#[derive(Debug)]
pub(super) struct Places<D: Disk> {
    disk: Arc<D>,
    roots: Vec<Root<D>>,
    absolute: Option<Root<D>>,
    /// Names may be absolute and hold `..`, and links are followed wherever they lead (`-P`).
    unbounded: bool,
    cache: HashMap<(usize, Box<[u8]>), Cached<D>>,
    /// How many handles are kept: an eighth of the files that may be open.
    capacity: usize,
    clock: u64,
    last: Option<Arc<Directory<D>>>,
    /// Links made in this run that are never followed: directory and name.
    refused_links: HashSet<(u64, u64, Box<[u8]>)>,
    /// Names that are about to be taken, with the temporary name of what will take them: directory and name.
    reserved: HashMap<(u64, u64, Box<[u8]>), CString>,
}

impl<D: Disk> Places<D> {
    /// Opens the destinations.
    ///
    /// # Errors
    /// One cannot be opened: its index and the cause.
    pub(super) fn open(
        disk: &Arc<D>,
        paths: &[impl AsRef<Path>],
        unbounded: bool,
        open_files: usize,
    ) -> Result<Self, (usize, io::Error)> {
        let top = disk
            .open_path(Path::new("/"))
            .and_then(|handle| disk.stat_dir(&handle))
            .map_err(|e| (0, e))?;
        let mut roots = Vec::new();
        for (base, path) in paths.iter().enumerate() {
            let open = || Directory::new(&**disk, disk.open_path(path.as_ref())?, base, b"");
            let directory = open().map_err(|cause| (base, cause))?;
            let whole = directory.identity() == top.identity();
            roots.push(Root {
                directory: Arc::new(directory),
                whole,
            });
        }
        Ok(Self {
            disk: Arc::clone(disk),
            roots,
            absolute: None,
            unbounded,
            cache: HashMap::new(),
            capacity: (open_files.saturating_sub(24) / 8).clamp(2, CACHED),
            clock: 0,
            last: None,
            refused_links: HashSet::new(),
            reserved: HashMap::new(),
        })
    }

    /// The directory that these components lead to, from a destination or, for an absolute name, from `/`.
    pub(super) fn find(
        &mut self,
        base: usize,
        absolute: bool,
        path: &[u8],
        make: Option<MakeMissing<'_, D>>,
    ) -> Result<Arc<Directory<D>>, Blocked> {
        let base = if absolute {
            self.open_absolute()?
        } else {
            base
        };
        self.walk(base, path, make, true)
    }

    fn walk(
        &mut self,
        base: usize,
        path: &[u8],
        mut make: Option<MakeMissing<'_, D>>,
        keep: bool,
    ) -> Result<Arc<Directory<D>>, Blocked> {
        if let Some(last) = &self.last
            && last.base == base
            && *last.path == *path
        {
            return Ok(Arc::clone(last));
        }
        // From the nearest ancestor that is open.
        let mut known = path.len();
        let mut current = loop {
            if known == 0 {
                break Arc::clone(&self.root(base).directory);
            }
            if let Some(directory) = self.cached(base, &path[..known]) {
                break directory;
            }
            known = path[..known]
                .iter()
                .rposition(|byte| *byte == b'/')
                .unwrap_or(0);
        };
        let mut end = known;
        while end < path.len() {
            let start = if end == 0 { 0 } else { end + 1 };
            end = path[start..]
                .iter()
                .position(|byte| *byte == b'/')
                .map_or(path.len(), |length| start + length);
            let next = self.step(
                &current,
                base,
                &path[start..end],
                &path[..end],
                make.as_mut(),
            )?;
            current = Arc::new(next);
            if keep {
                self.keep(&current);
            }
        }
        if keep {
            self.last = Some(Arc::clone(&current));
        }
        Ok(current)
    }

    /// The same for a directory that was found before; names that are reserved meanwhile still stand for what they did.
    pub(super) fn find_again(
        &mut self,
        base: usize,
        path: &[u8],
    ) -> Result<Arc<Directory<D>>, Blocked> {
        let reserved = std::mem::take(&mut self.reserved);
        // What is reserved must not come to be among the handles that are kept.
        let found = self.walk(base, path, None, reserved.is_empty());
        self.reserved = reserved;
        found
    }

    /// The directory that these components lead to from a destination (or from `/`, by its own number), if it is there.
    pub(super) fn find_known(&mut self, base: usize, path: &[u8]) -> Option<Arc<Directory<D>>> {
        let absolute = base == ABSOLUTE;
        if !absolute && base >= self.roots.len() {
            return None;
        }
        self.find(base, absolute, path, None).ok()
    }

    /// Opens one component, following a link if that is allowed, making a directory if it is missing.
    fn step(
        &self,
        current: &Arc<Directory<D>>,
        base: usize,
        name: &[u8],
        path: &[u8],
        make: Option<&mut MakeMissing<'_, D>>,
    ) -> Result<Directory<D>, Blocked> {
        let name = c_string(name).map_err(system(Operation::Open))?;
        if self.reserved(current.identity(), &name).is_some() {
            return Err(Blocked::Reserved);
        }
        let handle = match self.disk.open_dir(&current.handle, &name) {
            Err(error) if error.raw_os_error() == Some(errno::ENOENT) => {
                let Some(make) = make else {
                    return Err(Blocked::System(Operation::Open, error));
                };
                (make.changing)(current).map_err(system(Operation::MakeDirectory))?;
                match self.disk.make_dir(&current.handle, &name, make.mode) {
                    Err(error) if error.raw_os_error() != Some(errno::EEXIST) => {
                        return Err(Blocked::System(Operation::MakeDirectory, error));
                    }
                    result => {
                        if result.is_ok() {
                            make.made.push(path.into());
                        }
                        self.disk.open_dir(&current.handle, &name)
                    }
                }
            }
            other => other,
        };
        let handle = match handle {
            Ok(handle) => handle,
            Err(error) if is_link_error(&error) => {
                let directory = self.follow_inside(self.root(base), current, &name)?;
                return self.wrap(directory, base, path);
            }
            Err(error) => return Err(Blocked::System(Operation::Open, error)),
        };
        self.wrap(handle, base, path)
    }

    fn wrap(&self, handle: D::Dir, base: usize, path: &[u8]) -> Result<Directory<D>, Blocked> {
        Directory::new(&*self.disk, handle, base, path).map_err(system(Operation::Stat))
    }

    /// The directory that the symbolic link `name` leads to, if it is inside.
    fn follow_inside(
        &self,
        root: &Root<D>,
        at: &Directory<D>,
        name: &CStr,
    ) -> Result<D::Dir, Blocked> {
        let found = self.follow(root, at, name, &mut MAX_LINKS.clone())?;
        if !self.unbounded && !root.whole {
            self.check_inside(root, &found)?;
        }
        Ok(found)
    }

    /// Climbs from a directory to the destination. The `..` of a link's target has passed by the destination unseen if
    /// somebody moved a directory away while it was walked; from outside there is no way up that meets it.
    fn check_inside(&self, root: &Root<D>, directory: &D::Dir) -> Result<(), Blocked> {
        let look = |directory: &D::Dir| {
            let stat = self.disk.stat_dir(directory);
            stat.map(|stat| stat.identity())
                .map_err(system(Operation::Stat))
        };
        let mut identity = look(directory)?;
        let mut above: Option<D::Dir> = None;
        while identity != root.directory.identity() {
            let next = self
                .disk
                .open_dir(above.as_ref().unwrap_or(directory), c"..");
            let next = next.map_err(system(Operation::Open))?;
            let over = look(&next)?;
            if over == identity {
                return Err(Blocked::Leaves);
            }
            identity = over;
            above = Some(next);
        }
        Ok(())
    }

    /// The directory that the symbolic link `name` leads to.
    fn follow(
        &self,
        root: &Root<D>,
        at: &Directory<D>,
        name: &CStr,
        budget: &mut u32,
    ) -> Result<D::Dir, Blocked> {
        if self
            .refused_links
            .contains(&(at.device, at.inode, name.to_bytes().into()))
        {
            return Err(not_a_directory());
        }
        if *budget == 0 {
            return Err(Blocked::System(
                Operation::Open,
                io::Error::from_raw_os_error(errno::ELOOP),
            ));
        }
        *budget -= 1;
        let target = match self.disk.read_link(&at.handle, name) {
            Ok(target) => target,
            // Not a link after all: a file where a directory should be.
            Err(error) if error.raw_os_error() == Some(errno::EINVAL) => {
                return Err(not_a_directory());
            }
            Err(error) => return Err(Blocked::System(Operation::Open, error)),
        };
        let open = |at: &D::Dir, name: &CStr| self.disk.open_dir(at, name);
        let mut current = if target.starts_with(b"/") {
            if !self.unbounded && !root.whole {
                return Err(Blocked::Leaves);
            }
            self.disk.open_path(Path::new("/"))
        } else {
            open(&at.handle, c".")
        }
        .map_err(system(Operation::Open))?;
        for component in target
            .split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty() && *part != b".")
        {
            if component == b".." && !self.unbounded {
                let stat = self
                    .disk
                    .stat_dir(&current)
                    .map_err(system(Operation::Stat))?;
                if stat.identity() == root.directory.identity() {
                    if root.whole {
                        continue;
                    }
                    return Err(Blocked::Leaves);
                }
            }
            let component = c_string(component).map_err(system(Operation::Open))?;
            if !self.reserved.is_empty() {
                let stat = self.disk.stat_dir(&current);
                let stat = stat.map_err(system(Operation::Stat))?;
                if self.reserved(stat.identity(), &component).is_some() {
                    return Err(Blocked::Reserved);
                }
            }
            current = match open(&current, &component) {
                Ok(next) => next,
                Err(error) if is_link_error(&error) => {
                    let at = self.wrap(current, 0, b"")?;
                    self.follow(root, &at, &component, budget)?
                }
                Err(error) => return Err(Blocked::System(Operation::Open, error)),
            };
        }
        Ok(current)
    }

    /// The directory that a symbolic link leads to, if it leads to one inside the destination.
    pub(super) fn link_to_directory(&self, at: &Directory<D>, name: &CStr) -> bool {
        self.follow_inside(self.root(at.base), at, name).is_ok()
    }

    /// A link was made that must not be followed.
    pub(super) fn refuse_link(&mut self, at: &Directory<D>, name: &CStr) {
        self.refused_links
            .insert((at.device, at.inode, name.to_bytes().into()));
    }

    /// The object called `temporary` gets this name later.
    pub(super) fn reserve(&mut self, (device, inode): (u64, u64), name: &CStr, temporary: &CStr) {
        self.reserved
            .insert((device, inode, name.to_bytes().into()), temporary.into());
    }

    /// The temporary name of the last object that is to get this name.
    pub(super) fn reserved(&self, (device, inode): (u64, u64), name: &CStr) -> Option<&CStr> {
        if self.reserved.is_empty() {
            return None;
        }
        self.reserved
            .get(&(device, inode, name.to_bytes().into()))
            .map(CString::as_c_str)
    }

    /// The object called `temporary` has got the name, or never will.
    pub(super) fn release(&mut self, at: (u64, u64), name: &CStr, temporary: &CStr) {
        if self.reserved(at, name) == Some(temporary) {
            self.reserved.remove(&(at.0, at.1, name.to_bytes().into()));
        }
    }

    /// What stood there has another name now.
    pub(super) fn renamed(&mut self, at: (u64, u64), from: &CStr, to: &CStr) {
        self.allow_link(at, to);
        if !self.refused_links.is_empty()
            && self
                .refused_links
                .remove(&(at.0, at.1, from.to_bytes().into()))
        {
            self.refused_links
                .insert((at.0, at.1, to.to_bytes().into()));
        }
    }

    /// Something other than a refused link stands there now.
    pub(super) fn allow_link(&mut self, (device, inode): (u64, u64), name: &CStr) {
        if !self.refused_links.is_empty() {
            self.refused_links
                .remove(&(device, inode, name.to_bytes().into()));
        }
    }

    /// Whether this is one of the destinations, or the root of the file system.
    pub(super) fn is_root(&self, identity: (u64, u64)) -> bool {
        self.roots
            .iter()
            .chain(&self.absolute)
            .any(|root| root.directory.identity() == identity)
    }

    /// Forgets every handle if this path has led to a directory: something else gets its name.
    pub(super) fn replaced(&mut self, base: usize, path: &[u8]) {
        let leads = |known: &[u8]| {
            known
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        if self
            .cache
            .keys()
            .any(|(other, known)| *other == base && leads(known))
        {
            self.forget();
        }
    }

    /// Forgets every handle: a directory or a link was removed or replaced, or open files have run out.
    pub(super) fn forget(&mut self) {
        self.cache.clear();
        self.last = None;
    }

    /// How many directories may be open at a time.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    fn root(&self, base: usize) -> &Root<D> {
        match &self.absolute {
            Some(root) if base == ABSOLUTE => root,
            _ => &self.roots[base],
        }
    }

    fn open_absolute(&mut self) -> Result<usize, Blocked> {
        if self.absolute.is_none() {
            let handle = self
                .disk
                .open_path(Path::new("/"))
                .map_err(system(Operation::Open))?;
            let directory = Arc::new(self.wrap(handle, ABSOLUTE, b"")?);
            self.absolute = Some(Root {
                directory,
                whole: true,
            });
        }
        Ok(ABSOLUTE)
    }

    fn cached(&mut self, base: usize, path: &[u8]) -> Option<Arc<Directory<D>>> {
        self.clock += 1;
        let cached = self.cache.get_mut(&(base, path.into()))?;
        cached.used = self.clock;
        Some(Arc::clone(&cached.directory))
    }

    fn keep(&mut self, directory: &Arc<Directory<D>>) {
        if self.cache.len() >= self.capacity {
            // Half at a time, so that the search for the oldest is paid for by many insertions.
            let mut uses: Vec<u64> = self.cache.values().map(|cached| cached.used).collect();
            let (_, median, _) = uses.select_nth_unstable(self.capacity / 2);
            let median = *median;
            self.cache.retain(|_, cached| cached.used > median);
        }
        self.clock += 1;
        let key = (directory.base, directory.path.clone());
        self.cache.insert(
            key,
            Cached {
                directory: Arc::clone(directory),
                used: self.clock,
            },
        );
    }
}

/// What opening a symbolic link with O_DIRECTORY and O_NOFOLLOW gives: ENOTDIR on Linux, ELOOP elsewhere.
fn is_link_error(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(errno::ENOTDIR | errno::ELOOP))
}
