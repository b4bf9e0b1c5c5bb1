//! The disk as the kernel sees it: a file of our own FUSE file system, a loop device on it, a file system on that.
//!
//! The tool's log of settled members is the second file there, so that each promise gets its place in the log of writes:
//! one thread serves both. Both are opened for direct I/O, so nothing is kept between the kernel and that thread.
//!
//! Every rig has its own directory and takes the next free loop device, so several can run at a time. What a rig leaves
//! behind when it is interrupted or killed is removed by a second process of this program, which waits for its end.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};

use crate::disk::{Event, Image};

/// What went wrong with the rig itself, in words.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// For `map_err`: what was tried, on what.
pub(crate) fn failed<'a, E: std::fmt::Display>(
    what: &'a str,
    on: &'a Path,
) -> impl FnOnce(E) -> String + use<'a, E> {
    move |cause| format!("{what} {}: {cause}", on.display())
}

/// Also when its file was replaced meanwhile.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

const DISK: INodeNo = INodeNo(2);
const PROMISES: INodeNo = INodeNo(3);

/// The disk and, while one is made, its log.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) size: u64,
    pub(crate) image: Image,
    pub(crate) log: Option<Vec<Event>>,
}

impl State {
    fn note(&mut self, event: impl FnOnce() -> Event) {
        if let Some(log) = &mut self.log {
            log.push(event());
        }
    }
}

#[derive(Debug, Default)]
struct Server(Arc<Mutex<State>>);

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    fn attributes(&self, number: INodeNo) -> FileAttr {
        FileAttr {
            ino: number,
            size: if number == DISK { self.state().size } else { 0 },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if number == INodeNo::ROOT {
                FileType::Directory
            } else {
                FileType::RegularFile
            },
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Filesystem for Server {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let number = match name.to_str() {
            Some("disk") if parent == INodeNo::ROOT => DISK,
            Some("promises") if parent == INodeNo::ROOT => PROMISES,
            _ => return reply.error(Errno::ENOENT),
        };
        reply.entry(&Duration::ZERO, &self.attributes(number), Generation(0));
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::ZERO, &self.attributes(number));
    }

    /// The tool cuts its log to nothing when it opens it.
    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.attr(&Duration::ZERO, &self.attributes(number));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if number != DISK {
            return reply.data(b"");
        }
        let state = self.state();
        let length = state.size.saturating_sub(offset).min(u64::from(size));
        reply.data(&state.image.read(offset, length as usize));
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = self.state();
        if number == DISK {
            if offset + data.len() as u64 > state.size {
                return reply.error(Errno::ENOSPC);
            }
            state.image.write(offset, data);
            state.note(|| Event::Write {
                offset,
                bytes: data.to_vec(),
            });
        } else {
            state.note(|| Event::Promise(data.to_vec()));
        }
        reply.written(data.len() as u32);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if number == DISK {
            self.state().note(|| Event::Flush);
        }
        reply.ok();
    }

    /// Discarded and zeroed ranges read as zeros; the size never changes.
    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        const KEEP_SIZE: i32 = 1;
        const PUNCH_HOLE: i32 = 2;
        const ZERO_RANGE: i32 = 16;
        let zeroes = [PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE, ZERO_RANGE | KEEP_SIZE].contains(&mode);
        let mut state = self.state();
        if number != DISK || !zeroes || offset + length > state.size {
            return reply.error(Errno::EOPNOTSUPP);
        }
        state.image.zero(offset, length);
        state.note(|| Event::Zero { offset, length });
        reply.ok();
    }
}

/// A kind of file system under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileSystem {
    Ext4,
    Xfs,
    Btrfs,
}

impl FileSystem {
    pub(crate) const ALL: [Self; 3] = [Self::Ext4, Self::Xfs, Self::Btrfs];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// In bytes. Smaller ones are made by rules of their own: xfs wants 300 MiB, btrfs mixes data and metadata.
    fn size(self) -> u64 {
        match self {
            Self::Ext4 | Self::Xfs => 512 << 20,
            Self::Btrfs => 2 << 30,
        }
    }

    /// Without what the file system would do by itself soon: a commit in between settles members that nobody synced.
    fn mount_options(self) -> &'static str {
        match self {
            Self::Ext4 => "noatime,noinit_itable,commit=600",
            Self::Xfs => "noatime",
            Self::Btrfs => "noatime,commit=600",
        }
    }

    fn make(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["mkfs.ext4", "-q", "-E", "nodiscard"],
            Self::Xfs => &["mkfs.xfs", "-q", "-K"],
            Self::Btrfs => &["mkfs.btrfs", "-q", "-K"],
        }
    }

    /// Reads only, and fails if anything is wrong.
    fn check(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["e2fsck", "-fn"],
            Self::Xfs => &["xfs_repair", "-n"],
            Self::Btrfs => &["btrfs", "check", "--readonly"],
        }
    }

    /// The programs that it needs and that are not there.
    pub(crate) fn missing(self) -> Vec<&'static str> {
        let mut programs = vec![self.make()[0], self.check()[0]];
        programs.retain(|program| Command::new(program).arg("-V").output().is_err());
        programs
    }
}

/// Runs a program to its end; what it says is told only if it fails.
pub(crate) fn run(program: &[&str], on: &[&Path]) -> Result<String> {
    let output = Command::new(program[0])
        .args(&program[1..])
        .args(on)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .output()
        .map_err(|cause| format!("{}: {cause}", program[0]))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{}: {}: {said}{errors}",
        program.join(" "),
        output.status
    ))
}

/// Runs a program that wants the device for itself. Whoever looks for a free loop device may claim any of them for a
/// moment (loop_configure() in the kernel claims it before it asks whether it is taken), and nothing tells when it is over.
fn run_alone(program: &[&str], on: &[&Path]) -> Result<()> {
    let mut tries = 100;
    loop {
        match run(program, on) {
            Err(cause) if cause.contains("busy") && tries > 0 => tries -= 1,
            result => return result.map(drop),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A disk that can be attached and mounted. Dropping it takes everything down.
#[derive(Debug)]
pub(crate) struct Rig {
    dir: PathBuf,
    state: Arc<Mutex<State>>,
    session: Option<BackgroundSession>,
    device: Option<PathBuf>,
    mounted: bool,
    /// Removes what is left once its standard input ends, which is when this process is gone.
    janitor: Child,
}

impl Rig {
    pub(crate) fn new() -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("durastar-powercut.{}", std::process::id()));
        fs::create_dir(&dir).map_err(failed("cannot make", &dir))?;
        let janitor = Command::new(THIS_PROGRAM)
            .arg("clean-up")
            .arg(&dir)
            .stdin(Stdio::piped())
            // Ctrl-C is not for it.
            .process_group(0)
            .spawn()
            .map_err(|cause| format!("the cleaning process: {cause}"))?;
        let mut rig = Self {
            dir,
            state: Arc::default(),
            session: None,
            device: None,
            mounted: false,
            janitor,
        };
        for name in ["fuse", "mount"] {
            let dir = rig.dir.join(name);
            fs::create_dir(&dir).map_err(failed("cannot make", &dir))?;
        }
        let mut options = fuser::Config::default();
        options.mount_options = vec![fuser::MountOption::FSName("durastar-powercut".into())];
        // One thread serves the disk and the promises, so the log is one order.
        options.n_threads = Some(1);
        let at = rig.dir.join("fuse");
        let server = Server(Arc::clone(&rig.state));
        let session = fuser::spawn_mount(server, &at, &options).map_err(failed("FUSE", &at))?;
        rig.session = Some(session);
        Ok(rig)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// A file in this rig's own directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Where the file system is mounted.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("mount")
    }

    /// Where the tool writes its log of settled members.
    pub(crate) fn promises(&self) -> PathBuf {
        self.path("fuse/promises")
    }

    /// Makes an empty file system and mounts it.
    pub(crate) fn make(&mut self, file_system: FileSystem) -> Result<()> {
        *self.state() = State {
            size: file_system.size(),
            ..State::default()
        };
        let device = self.attach()?;
        run_alone(file_system.make(), &[&device])?;
        self.mount(file_system)
    }

    /// Attaches the disk as it is now.
    pub(crate) fn attach(&mut self) -> Result<PathBuf> {
        let disk = self.path("fuse/disk");
        let device = run(&["losetup", "--find", "--show"], &[&disk])?;
        let device = PathBuf::from(device.trim_end());
        self.device = Some(device.clone());
        Ok(device)
    }

    pub(crate) fn mount(&mut self, file_system: FileSystem) -> Result<()> {
        let device = self.device.clone().ok_or("no disk is attached")?;
        let options = file_system.mount_options();
        let mount = ["mount", "-t", file_system.name(), "-o", options];
        run_alone(&mount, &[&device, &self.root()])?;
        self.mounted = true;
        Ok(())
    }

    pub(crate) fn unmount(&mut self) -> Result<()> {
        if std::mem::take(&mut self.mounted) {
            run_alone(&["umount"], &[&self.root()])?;
        }
        Ok(())
    }

    /// Runs the file system's checker on the disk, which is not mounted.
    pub(crate) fn check(&self, file_system: FileSystem) -> Result<()> {
        let device = self.device.as_deref().ok_or("no disk is attached")?;
        run_alone(file_system.check(), &[device])
    }

    pub(crate) fn detach(&mut self) -> Result<()> {
        self.unmount()?;
        let Some(device) = self.device.take() else {
            return Ok(());
        };
        // btrfs remembers the devices it has seen, and the next disk is an older one of the same name.
        let _ = Command::new("btrfs")
            .args(["device", "scan", "--forget"])
            .arg(&device)
            .output();
        run(&["losetup", "--detach"], &[&device]).map(drop)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // What fails here the janitor tries again, with more force.
        let _ = self.detach();
        if let Some(session) = self.session.take() {
            let _ = session.umount_and_join();
        }
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
    }
}

/// Waits for the end of the process that has the other end of standard input; then unmounts, detaches and removes
/// everything below this directory.
pub(crate) fn clean_up(dir: &Path) -> Result<()> {
    let _ = io::stdin().read_to_end(&mut Vec::new());
    // Asked for before anything is unmounted: afterwards the names of the files behind them are cut short.
    let list = [
        "losetup",
        "--list",
        "--noheadings",
        "--output",
        "NAME,BACK-FILE",
    ];
    let loops = run(&list, &[])?;
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|cause| cause.to_string())?;
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    // The last mounted first.
    let mut points: Vec<&Path> = points
        .map(Path::new)
        .filter(|at| at.starts_with(dir))
        .collect();
    points.reverse();
    for point in &points {
        let _ = run(&["umount", "--lazy"], &[point]);
    }
    let loops = loops
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace));
    for (device, _) in loops.filter(|(_, file)| Path::new(file.trim()).starts_with(dir)) {
        let _ = run(&["losetup", "--detach", device], &[]);
    }
    fs::remove_dir_all(dir).map_err(failed("cannot remove", dir))
}
