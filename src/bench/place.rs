//! Where a run happens: a new directory, or a new file system on a loop device, put away afterwards.
//!
//! A new file system for every run, because runs disturb each other on the same one: on ext4, making files soon after
//! many were deleted is several times slower, since its allocator avoids inodes that were deleted recently.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::process::{self, must_run};
use super::{Error, Setup, figures, system};
use crate::disk::{self, About, Disk, Os};
use crate::sys;

/// A file system that can be made fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
}

impl FileSystem {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ext4, Self::Xfs, Self::Btrfs];

    /// Its name, as mount(8) knows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn make(self, image: &Path) -> Vec<OsString> {
        let words: &[&str] = match self {
            // Otherwise a kernel thread goes on initialising tables while runs are timed (mke2fs(8)).
            Self::Ext4 => &[
                "mkfs.ext4",
                "-q",
                "-F",
                "-E",
                "lazy_itable_init=0,lazy_journal_init=0",
            ],
            Self::Xfs => &["mkfs.xfs", "-q", "-f"],
            Self::Btrfs => &["mkfs.btrfs", "-q", "-f"],
        };
        let mut line: Vec<OsString> = words.iter().map(OsString::from).collect();
        line.push(image.into());
        line
    }
}

/// A directory for everything that a measurement makes; it goes away with the last that holds it.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(dir: &Path) -> Result<Rc<Self>, Error> {
        let dir = fs::canonicalize(dir).map_err(system("use", dir))?;
        let path = dir.join(format!(".durastar-bench.{}", std::process::id()));
        fs::create_dir(&path).map_err(system("make", &path))?;
        Ok(Rc::new(Self(path)))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is still mounted, and `Place` has said so.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One of the sites that runs go to in turn.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    pub(super) fresh: Option<FileSystem>,
    scratch: Rc<Scratch>,
    image_bytes: u64,
}

/// What a run needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Bytes of contents and of what a file system adds.
    pub(super) bytes: u64,
    /// Files and directories.
    pub(super) objects: u64,
}

/// Journals and tables of a small file system.
const OVERHEAD_BYTES: u64 = 300 << 20;

impl Site {
    /// Looks whether runs can go there.
    pub(super) fn new(
        dir: &Path,
        fresh: Option<FileSystem>,
        scratch: &Rc<Scratch>,
        needs: Needs,
    ) -> Result<Self, Error> {
        let about = disk::about(scratch.path()).map_err(system("examine", dir))?;
        refuse_memory(dir, &about)?;
        let mut bytes = needs.bytes + (64 << 20);
        if fresh.is_some() {
            bytes += OVERHEAD_BYTES;
        }
        refuse_full(
            dir,
            &about,
            bytes,
            if fresh.is_some() { 2 } else { needs.objects },
        )?;
        let name = match fresh {
            Some(kind) => kind.name().to_owned(),
            None => about.file_system.clone(),
        };
        Ok(Self {
            name,
            dir: scratch.path().parent().unwrap_or(dir).to_path_buf(),
            fresh,
            scratch: Rc::clone(scratch),
            // The file has holes: it takes no more than is written. One inode in 16 KiB is ext4's default.
            image_bytes: (2 * bytes + (1 << 30)).max(needs.objects * 32 * 1024),
        })
    }

    /// A new place for one run.
    pub(super) fn prepare(&self, setup: &Setup) -> Result<Place, Error> {
        setup.control.check()?;
        let root = self.scratch.path();
        let mut place = Place {
            path: root.join("run"),
            mount: None,
            image: None,
            search: setup.path.clone(),
            prepared: Vec::new(),
        };
        let Some(kind) = self.fresh else {
            fs::create_dir(&place.path).map_err(system("make", &place.path))?;
            return Ok(place);
        };
        let (image, mount) = (root.join("image"), root.join("mount"));
        place.image = Some(image.clone());
        let file = fs::File::create(&image).map_err(system("make", &image))?;
        file.set_len(self.image_bytes)
            .map_err(system("make", &image))?;
        drop(file);
        fs::create_dir_all(&mount).map_err(system("make", &mount))?;
        place.execute(kind.make(&image))?;
        let line = ["mount", "-t", kind.name(), "-o", "loop"].map(OsString::from);
        let mut line = line.to_vec();
        line.extend([image.into(), mount.clone().into()]);
        place.execute(line)?;
        place.mount = Some(mount.clone());
        place.path = mount.join("run");
        fs::create_dir(&place.path).map_err(system("make", &place.path))?;
        setup.control.check()?;
        Ok(place)
    }
}

/// Nothing is durable in memory.
pub(super) fn refuse_memory(dir: &Path, about: &About) -> Result<(), Error> {
    if about.is_memory() {
        return Err(Error::Refused(format!(
            "{} is on {}, which keeps files in memory only: nothing is durable there, so there is nothing to measure",
            dir.display(),
            about.bottom().file_system
        )));
    }
    Ok(())
}

/// A run that fails for want of room has measured nothing.
pub(super) fn refuse_full(
    dir: &Path,
    about: &About,
    bytes: u64,
    objects: u64,
) -> Result<(), Error> {
    if about.available_bytes < bytes {
        return Err(Error::Refused(format!(
            "{} has too little space: {} available, {} needed",
            dir.display(),
            figures::bytes(about.available_bytes as f64),
            figures::bytes(bytes as f64)
        )));
    }
    match about.available_files {
        Some(available) if available < objects => Err(Error::Refused(format!(
            "{} has too few free inodes: {available} available, {objects} needed",
            dir.display()
        ))),
        _ => Ok(()),
    }
}

/// Fresh file systems need the right to mount and the programs.
pub(super) fn refuse_mounting(setup: &Setup, kinds: &[FileSystem]) -> Result<(), Error> {
    if kinds.is_empty() {
        return Ok(());
    }
    if !sys::is_superuser() {
        return Err(Error::Refused(
            "--fs makes and mounts file systems, which only the superuser may; use --dir with directories on them".into(),
        ));
    }
    for kind in kinds {
        let line = kind.make(Path::new(""));
        let program = line[0].to_string_lossy().into_owned();
        if process::find(&setup.path, &program).is_none() {
            return Err(Error::Refused(format!(
                "--fs {} needs {program}, which is not installed",
                kind.name()
            )));
        }
    }
    Ok(())
}

/// A place for one run. It is put away by [`Place::finish`], or when it is dropped, then without a word about failures.
#[derive(Debug)]
pub(super) struct Place {
    /// The empty directory to work in.
    pub(super) path: PathBuf,
    mount: Option<PathBuf>,
    image: Option<PathBuf>,
    search: Vec<PathBuf>,
    /// The commands that made it.
    pub(super) prepared: Vec<String>,
}

impl Place {
    fn execute(&mut self, line: Vec<OsString>) -> Result<(), Error> {
        must_run(&self.search, &line)?;
        self.prepared.push(process::spelt(&line));
        Ok(())
    }

    /// Makes everything on its file system stable: what `sync -f` does.
    pub(super) fn sync(&self) -> Result<(), Error> {
        let sync = || {
            let dir = Os.open_path(&self.path)?;
            Os.sync_fs(&dir)
        };
        sync().map_err(system("sync", &self.path))
    }

    /// Puts everything away.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.put_away()
    }

    fn put_away(&mut self) -> Result<(), Error> {
        if let Some(mount) = self.mount.take() {
            must_run(&self.search, &["umount".into(), mount.into()])?;
        } else if self.path.exists() {
            fs::remove_dir_all(&self.path).map_err(system("remove", &self.path))?;
            // Otherwise the next run's syncs would pay for this removal.
            if let Some(above) = self.path.parent() {
                let sync = || Os.sync_fs(&Os.open_path(above)?);
                sync().map_err(system("sync", above))?;
            }
        }
        match self.image.take() {
            Some(image) => fs::remove_file(&image).map_err(system("remove", &image)),
            None => Ok(()),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.put_away();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{About, Error, FileSystem, Needs, Scratch, Site, refuse_full, refuse_memory};
    use crate::bench::Setup;

    fn setup() -> Setup {
        Setup {
            path: vec![
                "/usr/sbin".into(),
                "/usr/bin".into(),
                "/sbin".into(),
                "/bin".into(),
            ],
            durastar: "durastar".into(),
            command: Vec::new(),
            umask: 0o22,
            control: std::sync::Arc::default(),
        }
    }

    #[test]
    fn a_directory_is_new_for_each_run_and_gone_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(dir.path()).unwrap();
        let site = Site::new(dir.path(), None, &scratch, Needs::default()).unwrap();
        for _ in 0..2 {
            let place = site.prepare(&setup()).unwrap();
            std::fs::write(place.path.join("a"), "x").unwrap();
            place.sync().unwrap();
            place.finish().unwrap();
        }
        let place = site.prepare(&setup()).unwrap();
        assert_eq!(std::fs::read_dir(&place.path).unwrap().count(), 0);
        drop((place, site, scratch));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_end_asked_for_prepares_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(dir.path()).unwrap();
        let site = Site::new(dir.path(), None, &scratch, Needs::default()).unwrap();
        let setup = setup();
        setup.control.stop();
        assert!(matches!(site.prepare(&setup), Err(Error::Interrupted)));
    }

    #[test]
    fn wrong_places_are_refused_with_a_reason() {
        let memory = About {
            file_system: "tmpfs".into(),
            ..About::default()
        };
        let error = refuse_memory(Path::new("/dev/shm"), &memory).unwrap_err();
        assert!(
            error.to_string().starts_with("/dev/shm is on tmpfs"),
            "{error}"
        );
        let small = About {
            available_bytes: 1_000_000,
            available_files: Some(10),
            ..About::default()
        };
        let error = refuse_full(Path::new("/x"), &small, 2_000_000, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/x has too little space: 1.0 MB available, 2.0 MB needed"
        );
        let error = refuse_full(Path::new("/x"), &small, 1, 11).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/x has too few free inodes: 10 available, 11 needed"
        );
        refuse_full(Path::new("/x"), &small, 1_000_000, 10).unwrap();
    }

    #[test]
    fn file_systems_are_known_by_name() {
        for kind in FileSystem::ALL {
            assert_eq!(FileSystem::named(kind.name()), Some(kind));
        }
        assert_eq!(FileSystem::named("tmpfs"), None);
    }
}
