//! durastar and its peers: where they are, their versions, and how each is told to do the same work.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::process::{self, Control, Output};
use super::{Error, Setup, Watch};
use crate::plan::DurabilityMode;

/// A kind of tar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The program that is measured.
    Durastar,
    /// GNU tar.
    Gtar,
    /// The tar of libarchive.
    Bsdtar,
    /// Schily's star.
    Star,
    /// busybox's applet.
    Busybox,
}

impl Kind {
    /// Everything that durastar is compared with.
    pub const PEERS: [Self; 4] = [Self::Gtar, Self::Bsdtar, Self::Star, Self::Busybox];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Durastar => "durastar",
            Self::Gtar => "gtar",
            Self::Bsdtar => "bsdtar",
            Self::Star => "star",
            Self::Busybox => "busybox",
        }
    }

    /// The peer of this name.
    #[must_use]
    pub fn peer(name: &str) -> Option<Self> {
        Self::PEERS.into_iter().find(|kind| kind.name() == name)
    }

    /// The programs it may be, and what its version says.
    fn programs(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Durastar => (&[], "durastar"),
            Self::Gtar => (&["gtar", "tar"], "(GNU tar)"),
            Self::Bsdtar => (&["bsdtar", "tar"], "bsdtar"),
            Self::Star => (&["star"], "star"),
            Self::Busybox => (&["busybox"], "BusyBox"),
        }
    }
}

/// Which peers are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Those that are installed; the others are named.
    Installed,
    /// These; one that is not installed is a reason to measure nothing.
    These(Vec<Kind>),
}

/// A program that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) kind: Kind,
    pub(super) program: PathBuf,
    pub(super) version: String,
}

/// How one program is told to extract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) tool: Tool,
    /// durastar's durability mode.
    pub(super) mode: Option<DurabilityMode>,
    /// durastar's number of writing threads, when it was said.
    pub(super) jobs: Option<NonZeroUsize>,
    /// star with its fsync(2) of each file, its default.
    pub(super) fsync: bool,
}

impl Variant {
    /// Short, as it stands beside a bar.
    pub(super) fn label(&self) -> String {
        let mut label = self.tool.kind.name().to_owned();
        if let Some(mode) = self.mode {
            label = format!("{label} {}", mode.name());
        }
        if let Some(jobs) = self.jobs {
            label = format!("{label} j{jobs}");
        }
        if self.fsync {
            label.push_str(" fsync");
        }
        label
    }

    /// Whether it says of itself that what it restored is stable.
    pub(super) fn syncs(&self) -> bool {
        self.fsync || self.mode.is_some_and(|mode| mode != DurabilityMode::None)
    }

    /// Variants of the same family differ in their syncs only, so their quotient is what safety costs.
    pub(super) fn family(&self) -> String {
        match self.jobs {
            Some(jobs) => format!("{} j{jobs}", self.tool.kind.name()),
            None => self.tool.kind.name().to_owned(),
        }
    }

    pub(super) fn extract(&self, archive: &Path, into: &Path) -> Vec<OsString> {
        let mut line: Vec<OsString> = vec![self.tool.program.clone().into()];
        let mut word = |text: &str| line.push(text.into());
        match self.tool.kind {
            Kind::Durastar => {
                if let Some(mode) = self.mode {
                    word(&format!("--sync={}", mode.name()));
                }
                if let Some(jobs) = self.jobs {
                    word(&format!("--jobs={jobs}"));
                }
                word("--report=-");
            }
            Kind::Busybox => word("tar"),
            Kind::Star => {
                // Also files that are not newer than what is there, and the metadata of directories: as the others.
                for option in ["-x", "-U", "-xdir"] {
                    word(option);
                }
                if !self.fsync {
                    word("-no-fsync");
                }
                word("-C");
                line.push(into.into());
                let mut file = OsString::from("f=");
                file.push(archive);
                line.push(file);
                return line;
            }
            Kind::Gtar | Kind::Bsdtar => {}
        }
        line.extend(["-xf".into(), archive.into(), "-C".into(), into.into()]);
        line
    }
}

impl Tool {
    /// Writes an archive of `name` in `parent` to standard output.
    pub(super) fn create(&self, parent: &Path, name: &OsString) -> Vec<OsString> {
        let mut line: Vec<OsString> = vec![self.program.clone().into()];
        match self.kind {
            Kind::Star => line.extend(["-c".into(), "f=-".into(), "-C".into()]),
            Kind::Busybox => {
                line.extend(["tar".into(), "-cf".into(), "-".into(), "-C".into()]);
            }
            Kind::Durastar | Kind::Gtar | Kind::Bsdtar => {
                line.extend(["-cf".into(), "-".into(), "-C".into()]);
            }
        }
        line.push(parent.into());
        line.push(name.clone());
        line
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.kind.name(),
            "program": self.program.to_string_lossy(),
            "version": self.version,
        })
    }
}

/// The first line of what a program says about its version.
fn version(setup: &Setup, program: &Path, kind: Kind) -> Option<String> {
    // busybox has no option for it and says it above its help.
    let argument = if kind == Kind::Busybox {
        "--help"
    } else {
        "--version"
    };
    let line = [program.into(), argument.into()];
    // Asking must not end with the measurement.
    let ran = process::run(&Control::default(), &setup.path, &line, Output::Keep).ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned() + &ran.stderr;
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    // busybox adds "multi-call binary."
    let first = first.trim().trim_end_matches(" multi-call binary.");
    first.contains(kind.programs().1).then(|| first.to_owned())
}

/// Finds a peer.
fn peer(setup: &Setup, kind: Kind) -> Result<Tool, String> {
    let (programs, _) = kind.programs();
    for program in programs {
        if let Some(program) = process::find(&setup.path, program)
            && let Some(version) = version(setup, &program, kind)
        {
            return Ok(Tool {
                kind,
                program,
                version,
            });
        }
    }
    Err(format!(
        "{} is not installed (looked for {})",
        kind.name(),
        programs.join(", ")
    ))
}

/// The program that is measured.
pub(super) fn durastar(setup: &Setup) -> Result<Tool, Error> {
    let program = setup.durastar.clone();
    match version(setup, &program, Kind::Durastar) {
        Some(version) => Ok(Tool {
            kind: Kind::Durastar,
            program,
            version,
        }),
        None => Err(Error::Refused(format!(
            "{} does not run; the durastar beside this program is the one that is measured, or that of --durastar",
            program.display()
        ))),
    }
}

/// Something that is not measured, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) name: &'static str,
    pub(super) reason: String,
}

impl LeftOut {
    pub(super) fn json(&self) -> Value {
        json!({ "name": self.name, "reason": self.reason })
    }
}

/// The peers that are wanted, and those that are left out.
pub(super) fn peers(
    setup: &Setup,
    wanted: &Peers,
    watch: &mut dyn Watch,
) -> Result<(Vec<Tool>, Vec<LeftOut>), Error> {
    let (kinds, must) = match wanted {
        Peers::Installed => (Kind::PEERS.to_vec(), false),
        Peers::These(kinds) => (kinds.clone(), true),
    };
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for kind in kinds {
        match peer(setup, kind) {
            Ok(tool) => found.push(tool),
            Err(reason) if must => return Err(Error::Refused(reason)),
            Err(reason) => {
                watch.note(&format!("left out: {reason}"));
                left_out.push(LeftOut {
                    name: kind.name(),
                    reason,
                });
            }
        }
    }
    Ok((found, left_out))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::num::NonZeroUsize;
    use std::path::Path;

    use super::{Kind, Tool, Variant};
    use crate::bench::process::spelt;
    use crate::plan::DurabilityMode;

    fn variant(kind: Kind) -> Variant {
        Variant {
            tool: Tool {
                kind,
                program: kind.name().into(),
                version: String::new(),
            },
            mode: None,
            jobs: None,
            fsync: false,
        }
    }

    #[test]
    fn each_tool_is_told_to_do_the_same_in_its_own_words() {
        let line = |variant: &Variant| spelt(&variant.extract(Path::new("a.tar"), Path::new("d")));
        let own = Variant {
            mode: Some(DurabilityMode::Each),
            jobs: NonZeroUsize::new(2),
            ..variant(Kind::Durastar)
        };
        assert_eq!(
            line(&own),
            "durastar --sync=each --jobs=2 --report=- -xf a.tar -C d"
        );
        assert_eq!(
            (own.label(), own.family(), own.syncs()),
            ("durastar each j2".into(), "durastar j2".into(), true)
        );
        assert_eq!(line(&variant(Kind::Gtar)), "gtar -xf a.tar -C d");
        assert_eq!(line(&variant(Kind::Bsdtar)), "bsdtar -xf a.tar -C d");
        assert_eq!(line(&variant(Kind::Busybox)), "busybox tar -xf a.tar -C d");
        let star = variant(Kind::Star);
        assert_eq!(line(&star), "star -x -U -xdir -no-fsync -C d f=a.tar");
        let star = Variant {
            fsync: true,
            ..star
        };
        assert_eq!(line(&star), "star -x -U -xdir -C d f=a.tar");
        assert!(star.syncs());
        let name = OsString::from("t");
        assert_eq!(
            spelt(&star.tool.create(Path::new("p"), &name)),
            "star -c f=- -C p t"
        );
        let busybox = variant(Kind::Busybox).tool;
        assert_eq!(
            spelt(&busybox.create(Path::new("p"), &name)),
            "busybox tar -cf - -C p t"
        );
        assert_eq!(Kind::peer("gtar"), Some(Kind::Gtar));
        assert_eq!(Kind::peer("durastar"), None);
    }
}
