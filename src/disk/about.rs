//! What a directory lies on: file system, its options, the device and that device's write cache.
//!
//! All of it comes from `/proc/self/mountinfo` (proc_pid_mountinfo(5)) and `/sys/dev/block`; what the kernel does not
//! tell stays empty. Only what a caller needs to judge a measurement is here.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise, statvfs};

/// What is known of the place of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The type of the file system, as in mount(8): `ext4`.
    pub file_system: String,
    /// Its mount options, those of the mount and those of the file system.
    pub options: String,
    /// What is mounted: `/dev/sda1`.
    pub source: String,
    /// The whole disk below, for a partition; otherwise as `source`, or empty.
    pub device: String,
    /// The device's model name.
    pub model: String,
    /// What the device says of its cache: `write back` (volatile unless flushed) or `write through`.
    pub cache: String,
    /// Whether the device says that it turns.
    pub rotational: Option<bool>,
    /// For a loop device, the file that holds it.
    pub backing_file: Option<PathBuf>,
    /// Where that file lies.
    pub below: Option<Box<About>>,
    /// Bytes that this process may still write there.
    pub available_bytes: u64,
    /// Files that may still be made there; `None` when there is no fixed limit.
    pub available_files: Option<u64>,
}

impl About {
    /// Whether nothing written here survives the power: tmpfs and ramfs keep files in memory only.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        matches!(
            self.file_system.as_str(),
            "tmpfs" | "ramfs" | "devtmpfs" | "rootfs"
        ) || self.below.as_ref().is_some_and(|below| below.is_memory())
    }

    /// The last place down: behind loop devices.
    #[must_use]
    pub fn bottom(&self) -> &Self {
        self.below.as_ref().map_or(self, |below| below.bottom())
    }
}

/// Finds out about a directory (or any file).
///
/// # Errors
/// It does not exist, or `/proc` is not there.
pub fn about(path: &Path) -> io::Result<About> {
    about_at_depth(path, 0)
}

/// Loop devices in files on loop devices: nobody builds more of them than this.
const DEPTH: u32 = 4;

fn about_at_depth(path: &Path, depth: u32) -> io::Result<About> {
    let path = fs::canonicalize(path)?;
    let mounts = fs::read("/proc/self/mountinfo")?;
    let mounts = String::from_utf8_lossy(&mounts);
    let mount = mount_of(&mounts, &path).ok_or(io::ErrorKind::NotFound)?;
    let space = statvfs(&path)?;
    let mut about = About {
        file_system: mount.kind,
        options: mount.options,
        source: mount.source,
        available_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        // btrfs has as many as there is room for and says 0.
        available_files: (space.f_files > 0).then_some(space.f_favail),
        ..About::default()
    };
    // The source's own number first: btrfs gives its mounts numbers of no device.
    let number = fs::metadata(&about.source)
        .ok()
        .filter(|_| about.source.starts_with("/dev/"))
        .map(|state| {
            let device = state.rdev();
            format!(
                "{}:{}",
                rustix::fs::major(device),
                rustix::fs::minor(device)
            )
        })
        .unwrap_or(mount.number);
    let Ok(entry) = fs::canonicalize(Path::new("/sys/dev/block").join(number)) else {
        return Ok(about);
    };
    let disk = match entry.parent() {
        Some(parent) if entry.join("partition").exists() => parent.to_path_buf(),
        _ => entry,
    };
    if let Some(name) = disk.file_name() {
        about.device = Path::new("/dev").join(name).to_string_lossy().into_owned();
    }
    let read = |name: &str| fs::read_to_string(disk.join(name)).map(|text| text.trim().to_owned());
    about.model = read("device/model").unwrap_or_default();
    about.cache = read("queue/write_cache").unwrap_or_default();
    about.rotational = read("queue/rotational").ok().map(|text| text == "1");
    if let Ok(file) = read("loop/backing_file") {
        let file = PathBuf::from(file);
        if depth < DEPTH {
            about.below = about_at_depth(&file, depth + 1).ok().map(Box::new);
        }
        about.backing_file = Some(file);
    }
    Ok(about)
}

struct Mount {
    number: String,
    kind: String,
    options: String,
    source: String,
}

/// The mount that a path lies on: the longest mount point above it, and of two on the same point the later one.
fn mount_of(mounts: &str, path: &Path) -> Option<Mount> {
    let mut found: Option<(usize, Mount)> = None;
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else {
            continue;
        };
        let before: Vec<&str> = before.split(' ').collect();
        let after: Vec<&str> = after.split(' ').collect();
        let (&[_, _, number, _, point, options, ..], &[kind, source, ..]) =
            (before.as_slice(), after.as_slice())
        else {
            continue;
        };
        let point = PathBuf::from(unescape(point));
        let length = point.as_os_str().len();
        if !path.starts_with(&point) || found.as_ref().is_some_and(|(best, _)| *best > length) {
            continue;
        }
        // Both lists begin with rw or ro.
        let mut all: Vec<&str> = options.split(',').collect();
        for option in after.get(2).unwrap_or(&"").split(',') {
            if !option.is_empty() && !all.contains(&option) {
                all.push(option);
            }
        }
        let mount = Mount {
            number: number.to_owned(),
            kind: kind.to_owned(),
            options: all.join(","),
            source: unescape(source),
        };
        found = Some((length, mount));
    }
    found.map(|(_, mount)| mount)
}

/// The kernel writes space, tab, newline and backslash as a backslash with three octal digits.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let digits = after
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match digits {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = &after[3..];
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Takes a file's pages out of the page cache, so that the next read comes from the device.
///
/// # Errors
/// It cannot be opened, or its data cannot be written back before.
pub fn forget(path: &Path) -> io::Result<()> {
    let file = fs::File::open(path)?;
    // Pages that are not written yet stay (posix_fadvise(2)).
    file.sync_data()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Takes everything that is clean out of the kernel's caches, names and inodes too, for the whole machine.
///
/// # Errors
/// Only the superuser may.
pub fn forget_all() -> io::Result<()> {
    fs::write("/proc/sys/vm/drop_caches", "3")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{About, about, mount_of, unescape};

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 22 0:25 / /mnt rw - tmpfs tmpfs rw
31 30 7:0 / /mnt/my\\040disk rw,noatime shared:2 master:1 - xfs /dev/loop0 rw,attr2
32 30 0:40 / /mnt/my\\040disk ro - btrfs /dev/loop1 ro,space_cache=v2
";

    #[test]
    fn the_last_mount_on_the_longest_point_is_the_one() {
        let mount = mount_of(MOUNTS, Path::new("/mnt/my disk/a")).unwrap();
        assert_eq!(mount.kind, "btrfs");
        assert_eq!(mount.options, "ro,space_cache=v2");
        assert_eq!(mount.source, "/dev/loop1");
        let mount = mount_of(MOUNTS, Path::new("/mnt2")).unwrap();
        assert_eq!(
            (mount.kind.as_str(), mount.number.as_str()),
            ("ext4", "254:0")
        );
        assert_eq!(mount.options, "rw,relatime,discard");
    }

    #[test]
    fn names_in_mountinfo_are_unescaped() {
        assert_eq!(unescape("a\\040b\\134c"), "a b\\c");
        assert_eq!(unescape("\\9"), "\\9");
    }

    #[test]
    fn memory_is_known_even_behind_a_loop_device() {
        let memory = About {
            file_system: "tmpfs".into(),
            ..About::default()
        };
        assert!(memory.is_memory());
        let on_memory = About {
            file_system: "ext4".into(),
            below: Some(Box::new(memory)),
            ..About::default()
        };
        assert!(on_memory.is_memory());
        assert_eq!(on_memory.bottom().file_system, "tmpfs");
    }

    #[test]
    fn the_directory_here_lies_on_something() {
        let about = about(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(!about.file_system.is_empty());
        assert!(about.options.starts_with("rw"), "{}", about.options);
    }
}
