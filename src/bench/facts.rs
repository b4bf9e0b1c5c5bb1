//! What a result has to be read with, as JSON: machine, place, archive, date.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::place::{Place, Site};
use super::{Error, Setup, VERSION, system};
use crate::disk::{self, About};
use crate::engine;
use crate::member::{Kind, Member};
use crate::observe::{Observer, Verdict};
use crate::plan::{
    Archive, Compression, Durability, DurabilityMode, Existing, ExistingDirectories, Extract,
    FIFO_BYTES, IdMap, Job, Plan, RECORD_BYTES, Seek, Selection, SyncMethod, Volume, WINDOW_BYTES,
    WINDOW_MEMBERS,
};
use crate::sys;

/// The beginning of every result.
pub(super) fn head(setup: &Setup, kind: &str) -> Value {
    let machine = sys::machine::machine();
    json!({
        "durastar_bench": VERSION,
        "program_version": env!("CARGO_PKG_VERSION"),
        "kind": kind,
        "date": date(),
        "command": setup.command,
        "machine": {
            "processor": machine.processor,
            "cores": machine.cores.get(),
            "memory_bytes": machine.memory_bytes,
            "kernel": machine.kernel,
        },
    })
}

/// Now, in UTC, as ISO 8601 has it.
fn date() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(0));
    sys::time::utc(seconds).map_or_else(String::new, |now| {
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            now.year, now.month, now.day, now.hour, now.minute, now.second
        )
    })
}

/// What is known of a directory.
pub(super) fn about(about: &About) -> Value {
    json!({
        "file_system": about.file_system,
        "options": about.options,
        "source": about.source,
        "device": about.device,
        "model": about.model,
        "cache": about.cache,
        "rotational": about.rotational,
        "available_bytes": about.available_bytes,
        "backing_file": about.backing_file.as_ref().map(|file| file.to_string_lossy()),
        "below": about.below.as_deref().map(self::about),
    })
}

/// A site, seen through a place that was prepared there.
pub(super) fn site(site: &Site, place: &Place) -> Result<Value, Error> {
    let about = disk::about(&place.path).map_err(system("examine", &place.path))?;
    let mut value = self::about(&about);
    value["name"] = json!(site.name);
    value["directory"] = json!(site.dir.to_string_lossy());
    value["fresh"] = json!(site.fresh.is_some());
    value["prepared"] = json!(place.prepared);
    Ok(value)
}

/// What is known of an archive.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    pub(super) plain_bytes: u64,
    pub(super) members: u64,
    pub(super) files: u64,
    pub(super) file_bytes: u64,
    pub(super) compression: &'static str,
}

impl Contents {
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.path.file_name().map(|name| name.to_string_lossy()),
            "path": self.path.to_string_lossy(),
            "bytes": self.bytes,
            "sha256": self.sha256,
            "plain_bytes": self.plain_bytes,
            "members": self.members,
            "files": self.files,
            "file_bytes": self.file_bytes,
            "compression": self.compression,
        })
    }
}

/// Reads an archive once: its checksum and what is in it.
pub(super) fn archive(setup: &Setup, path: &Path) -> Result<Contents, Error> {
    let path = std::fs::canonicalize(path).map_err(system("open", path))?;
    let state = path.metadata().map_err(system("open", &path))?;
    if !state.is_file() {
        return Err(Error::Refused(format!(
            "{} is no regular file: every run reads the same archive again",
            path.display()
        )));
    }
    let sha256 = checksum(setup, &path)?;
    let mut counts = Counts {
        setup,
        about: Contents {
            bytes: state.len(),
            sha256,
            ..Contents::default()
        },
    };
    let mut plan = plan(setup, &path, Path::new("."));
    plan.job = Job::List;
    // To its end, through the decompressor: the bytes are wanted.
    plan.archive.seek = Seek::Never;
    let outcome = engine::run(&plan, &mut io::sink(), &mut counts);
    setup.control.check()?;
    if let Some(error) = outcome.error {
        return Err(Error::Refused(format!("{}: {error}", path.display())));
    }
    let mut about = counts.about;
    about.plain_bytes = outcome.stats.input.archive_bytes;
    about.compression = outcome.stats.input.compression;
    about.path = path;
    Ok(about)
}

struct Counts<'a> {
    setup: &'a Setup,
    about: Contents,
}

impl Observer for Counts<'_> {
    fn member(&mut self, member: &Member, _name: &[u8], _link: &[u8]) {
        self.about.members += 1;
        if member.kind == Kind::Regular {
            self.about.files += 1;
            self.about.file_bytes += member.size;
        }
    }

    fn verdict(&mut self) -> Verdict {
        if self.setup.control.stopped() {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }
}

fn checksum(setup: &Setup, path: &Path) -> Result<String, Error> {
    let mut sum = Sha256::new();
    read_through(setup, path, |bytes| sum.update(bytes))?;
    Ok(sum
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// Reads a file to its end, which also brings it into the page cache.
pub(super) fn read_through(
    setup: &Setup,
    path: &Path,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Error> {
    let mut file = File::open(path).map_err(system("open", path))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        setup.control.check()?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(system("read", path)(error)),
        }
    }
}

/// What durastar does when nobody says otherwise, with this archive and into this directory.
pub(super) fn plan(setup: &Setup, archive: &Path, into: &Path) -> Plan {
    let superuser = sys::is_superuser();
    Plan {
        job: Job::Extract,
        archive: Archive {
            volumes: vec![Volume::File(archive.to_path_buf())],
            compression: Compression::Detect,
            record_bytes: RECORD_BYTES,
            fifo_bytes: FIFO_BYTES,
            ignore_zeros: false,
            seek: Seek::Auto,
            multi_volume: None,
        },
        directories: vec![into.to_path_buf()],
        selection: Selection::default(),
        extract: Extract {
            same_owner: superuser,
            numeric_owner: false,
            same_permissions: superuser,
            mtime: true,
            atime: false,
            existing: Existing::Replace,
            remove_recursively: false,
            existing_directories: ExistingDirectories::Restore,
            keep_directory_symlink: false,
            secure_links: false,
            acls: false,
            xattrs: None,
            selinux: false,
            file_flags: false,
            no_directories: false,
            make_holes: false,
            safe_writes: false,
            backup: None,
            refresh: false,
            ask_before_removing: false,
            keep_full_directories: false,
            announce_first: true,
            owners: IdMap::default(),
            groups: IdMap::default(),
            command: None,
        },
        create: crate::plan::create::Create::default(),
        durability: Durability {
            mode: DurabilityMode::Group,
            window_members: WINDOW_MEMBERS,
            window_bytes: WINDOW_BYTES,
            method: SyncMethod::Auto,
            report_settled: false,
            verify: false,
        },
        journal: None,
        jobs: None,
        umask: setup.umask,
    }
}
