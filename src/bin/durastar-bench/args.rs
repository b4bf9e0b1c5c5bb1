//! Words of the command line become a request.

use std::ffi::{OsStr, OsString};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches};
use durastar::bench::extract::Cache;
use durastar::bench::tool::{Kind, Peers};
use durastar::bench::tree::{Data, Shape};
use durastar::bench::{FileSystem, create, extract, probe, tree};
use durastar::plan::DurabilityMode;

use crate::table::{COMMANDS, COMMON, Command, Flag};

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Wish {
    Help(Option<&'static Command>),
    Version,
    Extract(extract::Request, Common),
    Create(create::Request, Common),
    Tree(tree::Request, Common),
    Disk(probe::Request, Common),
    Report {
        files: Vec<PathBuf>,
        output: Option<PathBuf>,
    },
}

/// What several commands have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Common {
    pub(crate) json: Option<PathBuf>,
    pub(crate) durastar: Option<PathBuf>,
}

const OPERANDS: &str = "operands";

fn arg(option: &Flag) -> Arg {
    let arg = Arg::new(option.long)
        .long(option.long)
        .action(match option.value {
            Some(_) => ArgAction::Append,
            None => ArgAction::SetTrue,
        });
    let arg = match option.value {
        Some(_) => arg.value_parser(clap::value_parser!(OsString)),
        None => arg,
    };
    match option.short {
        Some(short) => arg.short(short),
        None => arg,
    }
}

fn grammar() -> clap::Command {
    let bare = |name: &'static str| {
        clap::Command::new(name)
            .disable_help_flag(true)
            .disable_version_flag(true)
            .disable_help_subcommand(true)
            .args(COMMON.iter().map(arg))
    };
    let commands = COMMANDS.iter().map(|command| {
        bare(command.name)
            .args(command.options.iter().map(|option| arg(option)))
            .arg(
                Arg::new(OPERANDS)
                    .num_args(0..)
                    .value_parser(clap::value_parser!(OsString)),
            )
    });
    bare("durastar-bench").subcommands(commands)
}

/// Reads the words after the program's name; an error is the reason for a refusal.
pub(crate) fn parse(words: Vec<OsString>, superuser: bool) -> Result<Wish, String> {
    let name = OsString::from("durastar-bench");
    let matches = grammar()
        .try_get_matches_from(std::iter::once(name).chain(words))
        .map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        })?;
    if matches.get_flag("version") {
        return Ok(Wish::Version);
    }
    let Some((name, found)) = matches.subcommand() else {
        return if matches.get_flag("help") {
            Ok(Wish::Help(None))
        } else {
            Err("a command is missing: extract, create, tree, disk or report".into())
        };
    };
    let command = COMMANDS
        .iter()
        .find(|command| command.name == name)
        .expect("the grammar has the table's commands only");
    if found.get_flag("help") {
        return Ok(Wish::Help(Some(command)));
    }
    if found.get_flag("version") {
        return Ok(Wish::Version);
    }
    let words = Words { command, found };
    if words.operands().count() < command.least {
        return Err(format!("{name} needs {}", command.operands));
    }
    match name {
        "extract" => words.extract(),
        "create" => words.create(superuser),
        "tree" => words.tree(),
        "disk" => words.disk(),
        _ => Ok(Wish::Report {
            files: words.operands().map(PathBuf::from).collect(),
            output: words.last("output").map(PathBuf::from),
        }),
    }
}

struct Words<'a> {
    command: &'static Command,
    found: &'a ArgMatches,
}

impl<'a> Words<'a> {
    fn operands(&self) -> impl Iterator<Item = &'a OsStr> {
        let words = self.found.get_many::<OsString>(OPERANDS);
        words.unwrap_or_default().map(OsString::as_os_str)
    }

    /// All values of an option; none where the command does not have it.
    fn all(&self, option: &str) -> impl Iterator<Item = &'a OsStr> + use<'a> {
        let has = self.command.options.iter().any(|row| row.long == option);
        let words = if has {
            self.found.get_many::<OsString>(option)
        } else {
            None
        };
        words.unwrap_or_default().map(OsString::as_os_str)
    }

    fn last(&self, option: &str) -> Option<&'a OsStr> {
        self.all(option).last()
    }

    /// The words of a list with commas, without doubles.
    fn list<T: PartialEq>(
        &self,
        option: &str,
        known: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let mut list = Vec::new();
        for value in self.all(option) {
            let value = value.to_string_lossy();
            for word in value.split(',') {
                let one = read(word).ok_or_else(|| {
                    format!("--{option} knows {known}, not '{}'", word.escape_debug())
                })?;
                if !list.contains(&one) {
                    list.push(one);
                }
            }
        }
        Ok(list)
    }

    fn number<T: std::str::FromStr>(&self, option: &str, default: T) -> Result<T, String> {
        match self.last(option) {
            None => Ok(default),
            Some(word) => {
                let word = word.to_string_lossy();
                word.parse().map_err(|_| {
                    format!(
                        "--{option} needs a whole number above 0, not '{}'",
                        word.escape_debug()
                    )
                })
            }
        }
    }

    fn common(&self) -> Common {
        Common {
            json: self.last("json").map(PathBuf::from),
            durastar: self.last("durastar").map(PathBuf::from),
        }
    }

    fn runs(&self) -> Result<NonZeroUsize, String> {
        self.number("runs", NonZeroUsize::new(5).expect("5 is not 0"))
    }

    fn peers(&self) -> Result<Peers, String> {
        let known = "gtar, bsdtar, star, busybox, none";
        let list = self.list("peers", known, |word| match word {
            "none" => Some(None),
            word => Kind::peer(word).map(Some),
        })?;
        match (list.is_empty(), list.contains(&None), list.len()) {
            (true, _, _) => Ok(Peers::Installed),
            (_, true, 2..) => Err("--peers=none goes with no other peer".into()),
            _ => Ok(Peers::These(list.into_iter().flatten().collect())),
        }
    }

    fn extract(&self) -> Result<Wish, String> {
        let modes = [
            DurabilityMode::Each,
            DurabilityMode::Group,
            DurabilityMode::Batch,
            DurabilityMode::None,
        ];
        let mut chosen = self.list("modes", "each, group, batch, none", |word| {
            modes.into_iter().find(|mode| mode.name() == word)
        })?;
        if chosen.is_empty() {
            chosen = modes.to_vec();
        }
        let mut jobs = self.list("jobs", "numbers above 0 and default", |word| match word {
            "default" => Some(None),
            word => word.parse::<NonZeroUsize>().ok().map(Some),
        })?;
        if jobs.is_empty() {
            jobs.push(None);
        }
        let mut dirs: Vec<PathBuf> = self.all("dir").map(PathBuf::from).collect();
        if dirs.is_empty() {
            dirs.push(".".into());
        }
        dirs.dedup();
        let cache = self.caches()?;
        if cache.len() > 1 {
            return Err("extract measures one state of the cache at a time".into());
        }
        let request = extract::Request {
            archives: self.operands().map(PathBuf::from).collect(),
            dirs,
            file_systems: self.list("fs", "ext4, xfs, btrfs", FileSystem::named)?,
            modes: chosen,
            jobs,
            runs: self.runs()?,
            peers: self.peers()?,
            cache: cache.first().copied().unwrap_or(Cache::Warm),
            trace: !self.found.get_flag("no-trace"),
        };
        Ok(Wish::Extract(request, self.common()))
    }

    fn caches(&self) -> Result<Vec<Cache>, String> {
        self.list("cache", "warm, cold", |word| {
            [Cache::Warm, Cache::Cold]
                .into_iter()
                .find(|cache| cache.name() == word)
        })
    }

    fn create(&self, superuser: bool) -> Result<Wish, String> {
        let mut caches = self.caches()?;
        if caches.is_empty() {
            caches = if superuser {
                vec![Cache::Cold, Cache::Warm]
            } else {
                vec![Cache::Warm]
            };
        }
        let request = create::Request {
            trees: self.operands().map(PathBuf::from).collect(),
            caches,
            runs: self.runs()?,
            peers: self.peers()?,
        };
        Ok(Wish::Create(request, self.common()))
    }

    fn data(&self) -> Result<Data, String> {
        match self
            .last("data")
            .map(|word| word.to_string_lossy())
            .as_deref()
        {
            None | Some("random") => Ok(Data::Random),
            Some("compressible") => Ok(Data::Compressible),
            Some(word) => Err(format!(
                "--data knows random, compressible, not '{}'",
                word.escape_debug()
            )),
        }
    }

    fn size(&self, default: u64) -> Result<NonZeroU64, String> {
        let word = self.last("size").map(|word| word.to_string_lossy());
        let size = match &word {
            None => Some(default),
            Some(word) => size(word),
        };
        size.and_then(NonZeroU64::new).ok_or_else(|| {
            format!(
                "--size needs a size such as 3MB or 64k, not '{}'",
                word.unwrap_or_default().escape_debug()
            )
        })
    }

    fn tree(&self) -> Result<Wish, String> {
        let words: Vec<String> = self
            .operands()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let numbers = || {
            words[1..]
                .iter()
                .map(|word| match word.parse::<u64>() {
                    // More than the names of a directory are ever good for, and far from where products overflow.
                    Ok(number @ 1..=10_000_000) => Ok(number),
                    _ => Err(format!(
                        "a tree is made of whole numbers from 1 to 10000000, not '{}'",
                        word.escape_debug()
                    )),
                })
                .collect::<Result<Vec<u64>, String>>()
        };
        let sized = self.last("size").is_some();
        if sized && words[0] != "bigtree" {
            return Err("--size is for bigtree only".into());
        }
        let shape = match (words[0].as_str(), numbers()?.as_slice()) {
            ("bigtree", &[a, b, c, files]) => Shape::Bigtree {
                levels: [a, b, c],
                files,
                size: self.size(3_000_000)?.get(),
            },
            ("forest", &[a, b, c, files, kib]) => Shape::Forest {
                levels: [a, b, c],
                files,
                size: kib * 1024,
            },
            ("linux-like", []) => Shape::LinuxLike { files: 78_579 },
            ("linux-like", &[files]) => Shape::LinuxLike { files },
            ("bigtree" | "forest" | "linux-like", _) => {
                return Err(format!("tree needs {}", self.command.operands));
            }
            (other, _) => {
                return Err(format!(
                    "no tree is called '{}'; tree needs {}",
                    other.escape_debug(),
                    self.command.operands
                ));
            }
        };
        let request = tree::Request {
            shape,
            data: self.data()?,
            seed: self.number("seed", 1)?,
            dir: self
                .last("directory")
                .map_or_else(|| ".".into(), PathBuf::from),
            archive: self.found.get_flag("archive"),
        };
        Ok(Wish::Tree(request, self.common()))
    }

    fn disk(&self) -> Result<Wish, String> {
        let mut dirs = self.operands();
        let (Some(dir), None) = (dirs.next(), dirs.next()) else {
            return Err("disk measures one directory at a time".into());
        };
        let number = |value| NonZeroU64::new(value).expect("the defaults are not 0");
        let request = probe::Request {
            dir: dir.into(),
            size: self.size(1 << 30)?,
            data: self.data()?,
            seed: self.number("seed", 1)?,
            files: self.number("files", number(10_000))?,
            syncs: self.number("syncs", number(300))?,
            threads: self.number("threads", NonZeroUsize::new(16).expect("16 is not 0"))?,
        };
        if request.threads.get() > 1024 {
            return Err("--threads goes up to 1024".into());
        }
        Ok(Wish::Disk(request, self.common()))
    }
}

/// A number of bytes with its unit.
fn size(word: &str) -> Option<u64> {
    let units: [(&str, u64); 9] = [
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("k", 1 << 10),
        ("m", 1 << 20),
        ("g", 1 << 30),
        ("K", 1 << 10),
        ("M", 1 << 20),
        ("G", 1 << 30),
    ];
    let found = units
        .iter()
        .find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, *factor)));
    let (digits, factor) = found.unwrap_or((word, 1));
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::num::NonZeroUsize;

    use super::{Cache, Common, Data, FileSystem, Kind, Peers, Shape, Wish, parse, size};

    fn read(line: &str) -> Result<Wish, String> {
        parse(line.split_whitespace().map(OsString::from).collect(), true)
    }

    fn refused(line: &str) -> String {
        match read(line) {
            Ok(wish) => panic!("{line} gave {wish:?}"),
            Err(reason) => reason,
        }
    }

    #[test]
    fn an_extraction_is_read_with_all_its_options() {
        let line = "extract a.tar b.tar --dir /x --dir=/y --fs ext4,btrfs --modes each,none --jobs 1,default --runs 3 \
                    --peers gtar,busybox --cache cold --no-trace --json r.json --durastar /d";
        let Ok(Wish::Extract(request, common)) = read(line) else {
            panic!("no extraction");
        };
        assert_eq!(request.archives.len(), 2);
        assert_eq!(request.dirs, ["/x", "/y"].map(std::path::PathBuf::from));
        assert_eq!(request.file_systems, [FileSystem::Ext4, FileSystem::Btrfs]);
        assert_eq!(request.modes.len(), 2);
        assert_eq!(request.jobs, [NonZeroUsize::new(1), None]);
        assert_eq!(request.runs.get(), 3);
        assert_eq!(request.peers, Peers::These(vec![Kind::Gtar, Kind::Busybox]));
        assert_eq!((request.cache, request.trace), (Cache::Cold, false));
        let expected = Common {
            json: Some("r.json".into()),
            durastar: Some("/d".into()),
        };
        assert_eq!(common, expected);
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        let Ok(Wish::Extract(request, common)) = read("extract a.tar") else {
            panic!("no extraction");
        };
        assert_eq!(request.dirs, [std::path::PathBuf::from(".")]);
        assert_eq!((request.modes.len(), request.runs.get()), (4, 5));
        assert_eq!(
            (request.peers, request.cache),
            (Peers::Installed, Cache::Warm)
        );
        assert_eq!(common, Common::default());
        let Ok(Wish::Create(request, _)) = parse(vec!["create".into(), "t".into()], false) else {
            panic!("no creation");
        };
        assert_eq!(request.caches, [Cache::Warm]);
    }

    #[test]
    fn trees_are_read_as_they_were_written_in_2001() {
        let Ok(Wish::Tree(request, _)) = read("tree bigtree 5 10 20 10") else {
            panic!("no tree");
        };
        let expected = Shape::Bigtree {
            levels: [5, 10, 20],
            files: 10,
            size: 3_000_000,
        };
        assert_eq!(
            (request.shape, request.data, request.seed),
            (expected, Data::Random, 1)
        );
        let Ok(Wish::Tree(request, _)) =
            read("tree forest 5 10 20 1000 20 -C /x --archive --data compressible --seed 7")
        else {
            panic!("no tree");
        };
        let expected = Shape::Forest {
            levels: [5, 10, 20],
            files: 1000,
            size: 20_480,
        };
        assert_eq!(
            (request.shape, request.archive, request.seed),
            (expected, true, 7)
        );
        assert_eq!(request.data, Data::Compressible);
    }

    #[test]
    fn wrong_words_are_refused_by_name() {
        for (line, reason) in [
            (
                "",
                "a command is missing: extract, create, tree, disk or report",
            ),
            ("extract", "extract needs ARCHIVE..."),
            (
                "extract a --modes all",
                "--modes knows each, group, batch, none, not 'all'",
            ),
            (
                "extract a --fs zfs",
                "--fs knows ext4, xfs, btrfs, not 'zfs'",
            ),
            (
                "extract a --peers tar",
                "--peers knows gtar, bsdtar, star, busybox, none, not 'tar'",
            ),
            (
                "extract a --peers none,gtar",
                "--peers=none goes with no other peer",
            ),
            (
                "extract a --jobs 0",
                "--jobs knows numbers above 0 and default, not '0'",
            ),
            (
                "extract a --runs 0",
                "--runs needs a whole number above 0, not '0'",
            ),
            (
                "extract a --cache warm,cold",
                "extract measures one state of the cache at a time",
            ),
            (
                "tree oak 1",
                "no tree is called 'oak'; tree needs bigtree A B C FILES | forest A B C FILES KIB | linux-like [FILES]",
            ),
            (
                "tree forest 1 1 1 1 1 --size 3",
                "--size is for bigtree only",
            ),
            (
                "tree bigtree 1 1 1 0",
                "a tree is made of whole numbers from 1 to 10000000, not '0'",
            ),
            ("disk a b", "disk measures one directory at a time"),
            (
                "disk a --size 0",
                "--size needs a size such as 3MB or 64k, not '0'",
            ),
        ] {
            assert_eq!(refused(line), reason, "{line}");
        }
        assert!(refused("extract a --mode each").contains("--mode"));
        assert!(refused("measure").contains("measure"));
    }

    #[test]
    fn sizes_have_units_of_both_kinds() {
        assert_eq!(size("3MB"), Some(3_000_000));
        assert_eq!(size("64k"), Some(65536));
        assert_eq!(size("1G"), Some(1 << 30));
        assert_eq!(size("12"), Some(12));
        for wrong in ["", "k", "-1", "1.5m", "99999999999g"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
