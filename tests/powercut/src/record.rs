//! One run of one tool on the logging disk.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::archive::{self, Member};
use crate::compare;
use crate::control::Lie;
use crate::disk::{Event, Recording};
use crate::random::Random;
use crate::rig::{FileSystem, Result, Rig, THIS_PROGRAM, failed};

/// What extracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// The program under test with `--sync=MODE`, and with `--sync-method=fsync` if so.
    Durastar {
        name: &'static str,
        mode: &'static str,
        fsync: bool,
    },
    GnuTar,
    Control(Lie),
}

impl Tool {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let durastar = |name, mode, fsync| Self::Durastar { name, mode, fsync };
        let tools = [
            durastar("each", "each", false),
            durastar("group", "group", false),
            durastar("batch", "batch", false),
            durastar("group-fsync", "group", true),
            durastar("batch-fsync", "batch", true),
            durastar("none", "none", false),
            Self::GnuTar,
        ];
        tools.into_iter().chain(Lie::ALL.map(Self::Control))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Durastar { name, .. } => name,
            Self::GnuTar => "gnu-tar",
            Self::Control(lie) => lie.name(),
        }
    }

    /// Whether it promises something, at its end at the latest.
    pub(crate) fn promises(self) -> bool {
        match self {
            Self::Durastar { mode, .. } => mode != "none",
            Self::GnuTar => false,
            Self::Control(_) => true,
        }
    }

    /// Success is a promise that everything is stable.
    pub(crate) fn promises_all(self) -> bool {
        matches!(self, Self::Durastar { .. }) && self.promises()
    }

    /// Whether losses must be seen: if not, the harness is blind. A missing directory sync is hidden by file systems
    /// whose fsync(2) commits the whole journal.
    pub(crate) fn must_lose(self, file_system: FileSystem) -> bool {
        match self {
            Self::Durastar { .. } | Self::GnuTar => !self.promises(),
            Self::Control(Lie::Nothing) => false,
            Self::Control(Lie::NoDirectorySync) => file_system == FileSystem::Btrfs,
            Self::Control(_) => true,
        }
    }

    /// Whether not one loss may be seen.
    pub(crate) fn must_keep(self) -> bool {
        self.promises_all() || self == Self::Control(Lie::Nothing)
    }
}

/// What is there before the extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Nothing.
    Fresh,
    /// Older members of the same names.
    Replace,
    /// The same, with `--safe-writes`: a file is the old one or the new one, never a mixture, promised or not.
    Safe,
}

impl Scenario {
    pub(crate) const ALL: [Self; 3] = [Self::Fresh, Self::Replace, Self::Safe];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Replace => "replace",
            Self::Safe => "safe",
        }
    }
}

/// What a recording is of. With the same seed the members are the same; the order of the tool's threads is not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) tool: Tool,
    pub(crate) scenario: Scenario,
    pub(crate) file_system: FileSystem,
    pub(crate) members: usize,
    pub(crate) jobs: u32,
    /// Members in a window of mode group.
    pub(crate) window: u32,
    pub(crate) seed: u64,
}

impl Spec {
    pub(crate) fn json(&self) -> Value {
        json!({
            "tool": self.tool.name(),
            "scenario": self.scenario.name(),
            "file_system": self.file_system.name(),
            "members": self.members,
            "jobs": self.jobs,
            "window": self.window,
            "seed": self.seed,
        })
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let number = |key: &str| value[key].as_u64();
        Some(Self {
            tool: Tool::all().find(|tool| value["tool"] == tool.name())?,
            scenario: Scenario::ALL
                .into_iter()
                .find(|scenario| value["scenario"] == scenario.name())?,
            file_system: FileSystem::ALL
                .into_iter()
                .find(|file_system| value["file_system"] == file_system.name())?,
            members: number("members")?.try_into().ok()?,
            jobs: number("jobs")?.try_into().ok()?,
            window: number("window")?.try_into().ok()?,
            seed: number("seed")?,
        })
    }

    /// Whether a file that is replaced must be the old one or the new one at any time. Without `--safe-writes` it need
    /// not, and mixtures that are seen there show that they would be seen.
    pub(crate) fn must_not_mix(&self) -> bool {
        self.scenario == Scenario::Safe && self.tool.promises_all()
    }

    pub(crate) fn new_members(&self) -> Vec<Member> {
        archive::members(self.members, self.seed)
    }

    pub(crate) fn old_members(&self) -> Option<Vec<Member>> {
        (self.scenario != Scenario::Fresh).then(|| archive::older(&self.new_members(), self.seed))
    }
}

/// The directory that is restored into.
pub(crate) const DEST: &str = "restored";

/// Words for GNU tar and for durastar: everything that the members have.
const COMPLETE: [&str; 5] = [
    "-p",
    "--numeric-owner",
    "--acls",
    "--xattrs",
    "--xattrs-include=*",
];

/// Whether this durastar takes `--safe-writes`.
pub(crate) fn takes_safe_writes(durastar: &Path) -> bool {
    Command::new(durastar)
        .arg("--help")
        .output()
        .is_ok_and(|output| {
            output
                .stdout
                .windows(13)
                .any(|words| words == b"--safe-writes")
        })
}

/// Runs the tool and takes the log. After success, with no cut, everything must be as in the archive.
pub(crate) fn record(rig: &mut Rig, spec: &Spec, durastar: &Path) -> Result<Recording> {
    let members = spec.new_members();
    let archive = rig.path("new.tar");
    fs::write(&archive, archive::encode(&members)).map_err(failed("cannot write", &archive))?;
    rig.make(spec.file_system)?;
    let dest = rig.root().join(DEST);
    fs::create_dir(&dest).map_err(failed("cannot make", &dest))?;
    if let Some(old) = spec.old_members() {
        let archive = rig.path("old.tar");
        fs::write(&archive, archive::encode(&old)).map_err(failed("cannot write", &archive))?;
        finish(gnu_tar(&archive, &dest))?;
    }
    sync_all(&dest)?;
    let base = {
        let mut state = rig.state();
        state.log = Some(Vec::new());
        state.image.clone()
    };

    finish(command(rig, spec, durastar, &archive, &dest))?;
    if let Some(log) = &mut rig.state().log {
        log.push(Event::Exit);
    }
    if spec.tool.promises_all() {
        go_on(&rig.root(), &mut Random::new(spec.seed))
            .map_err(failed("cannot write below", &rig.root()))?;
    }
    let (events, size) = {
        let mut state = rig.state();
        (state.log.take().unwrap_or_default(), state.size)
    };
    let all = vec![true; members.len()];
    let losses = compare::losses(&dest, &members, &all, true);
    rig.detach()?;
    if let Some(first) = losses.first() {
        let name = members[first.member].name.escape_ascii();
        return Err(format!(
            "{}: {} members differ without any cut, first {name}: {}",
            spec.json(),
            losses.len(),
            first.what
        ));
    }
    Ok(Recording { size, base, events })
}

fn command(rig: &Rig, spec: &Spec, durastar: &Path, archive: &Path, dest: &Path) -> Command {
    match spec.tool {
        Tool::GnuTar => gnu_tar(archive, dest),
        Tool::Durastar { mode, fsync, .. } => {
            let mut command = Command::new(durastar);
            command.args(COMPLETE).args([
                format!("--sync={mode}"),
                format!("--sync-window={}", spec.window),
                format!("--jobs={}", spec.jobs),
                "--null".into(),
            ]);
            if fsync {
                command.arg("--sync-method=fsync");
            }
            if spec.scenario == Scenario::Safe {
                command.arg("--safe-writes");
            }
            command.arg("--settled-log").arg(rig.promises());
            command.arg("-xf").arg(archive).arg("-C").arg(dest);
            command
        }
        Tool::Control(lie) => {
            // A process of its own: this one must not wait for the disk that it serves.
            let mut command = Command::new(THIS_PROGRAM);
            command.args([
                "extract",
                lie.name(),
                &spec.members.to_string(),
                &spec.seed.to_string(),
            ]);
            command.args([dest, &rig.promises()]);
            command
        }
    }
}

fn gnu_tar(archive: &Path, dest: &Path) -> Command {
    let mut command = Command::new("tar");
    // The archive is not in the order of the tree: without this, directories get their times before all is in them.
    command.arg("--delay-directory-restore");
    command
        .args(COMPLETE)
        .arg("-xf")
        .arg(archive)
        .arg("-C")
        .arg(dest);
    command
}

fn finish(mut command: Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .env("LC_ALL", "C.UTF-8")
        .output()
        .map_err(|cause| format!("{command:?}: {cause}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    output
        .status
        .success()
        .then_some(())
        .ok_or_else(|| format!("{command:?}: {}: {errors}", output.status))
}

fn sync_all(path: &Path) -> Result<()> {
    let file = fs::File::open(path).map_err(failed("cannot open", path))?;
    rustix::fs::syncfs(&file).map_err(failed("cannot sync", path))
}

/// The machine goes on after the extraction: others write, rename, remove and sync. A promise holds through that.
fn go_on(root: &Path, random: &mut Random) -> io::Result<()> {
    let dir = root.join("after");
    fs::create_dir(&dir)?;
    let mut names: Vec<PathBuf> = Vec::new();
    for round in 0..4 {
        for number in 0..12 {
            let path = dir.join(format!("{round}.{number}"));
            let file = fs::File::create(&path)?;
            let length = 1 + random.below(60_000) as usize;
            file.write_all_at(&random.bytes(length), random.below(9000))?;
            if random.percent(25) {
                file.sync_all()?;
            }
            names.push(path);
        }
        for _ in 0..3 {
            fs::remove_file(names.swap_remove(random.below(names.len() as u64) as usize))?;
            let last = names.len() - 1;
            fs::rename(&names[0], &names[last])?;
            names.swap_remove(0);
        }
        if round % 2 == 1 {
            rustix::fs::syncfs(fs::File::open(&dir)?)?;
        }
    }
    Ok(())
}
