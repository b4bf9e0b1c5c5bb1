//! Settings over a dialect's defaults become a plan: the last place that knows a dialect's rules.
//!
//! Settings are folded from left to right, because order means something: `-C` and the matching rules hold for what
//! comes after them. What contradicts itself is refused here, with both options named. Wishes that concern only what is
//! printed stay in [`Wishes`]; the library never sees them.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use durastar::member::Timestamp;
use durastar::plan::create::{ArchiveFormat, Create};
use durastar::plan::{
    Backup, BackupControl, Compression, CompressionFormat, DateLimit, DurabilityMode, Existing,
    ExistingDirectories, Job, Journal, Pattern, Plan, Scope, Stamp, StarPattern, Volume, Wanted,
};
use durastar::render::time::{self as calendar, BrokenDownTime, Detail};
use durastar::select::transform::{self, BadExpression};
use durastar::sys::signal::Signal;

use super::date;
use super::dialect::{Dialect, Rules};
use super::files;
use super::idmap::{self, Whose};
use super::listing::local;
use super::making;
use super::option::{Bad, Category};
use super::setting::{Given, Matching, Page, Quoting, Setting};
use super::top;
use super::usage::UsageError;

/// What the command line comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Assembled {
    /// A page about the program.
    Page(Page),
    /// Work.
    Command(Box<Command>),
}

/// A run: what the library does and what is said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// For the library.
    pub(crate) plan: Plan,
    /// For us.
    pub(crate) wishes: Wishes,
}

/// Wishes that concern only what is printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// How often `-v` was given.
    pub(crate) verbose: u8,
    /// Say what extracting would do.
    pub(crate) trace: bool,
    /// Print what kind of archive it is, and nothing else.
    pub(crate) archive_type: bool,
    /// Print totals at the end.
    pub(crate) totals: bool,
    /// Print totals when one of these arrives.
    pub(crate) totals_on: Vec<Signal>,
    /// A message every so many records; 0 for none.
    pub(crate) checkpoint: u64,
    /// Print the FIFO's counters.
    pub(crate) fifo_stats: bool,
    /// Print what syncs cost.
    pub(crate) sync_stats: bool,
    /// Print how long it took.
    pub(crate) time: bool,
    /// Print no statistics.
    pub(crate) no_statistics: bool,
    /// Where the report goes.
    pub(crate) report: Option<Vec<u8>>,
    /// Where the names of settled members go.
    pub(crate) settled_log: Option<Vec<u8>>,
    /// Names in that log end in NUL.
    pub(crate) nul_separated: bool,
    /// How names are quoted.
    pub(crate) quoting: Quoting,
    /// Bytes that are quoted too.
    pub(crate) quoted_too: Vec<u8>,
    /// What is to be said before the work begins.
    pub(crate) notes: Vec<Vec<u8>>,
    /// Times to the full resolution.
    pub(crate) full_time: bool,
    /// Times in UTC.
    pub(crate) utc: bool,
    /// Block numbers before each name.
    pub(crate) block_number: bool,
    /// Names as they are after renaming.
    pub(crate) transformed_names: bool,
    /// Path names only.
    pub(crate) paths_only: bool,
    /// It was said whether names are patterns, so one that looks like a pattern is not worth a hint.
    pub(crate) no_pattern_hint: bool,
    /// The directories of the plan as each was given, for messages; empty for where the program stands.
    pub(crate) entered: Vec<Vec<u8>>,
    /// The first failure ends the run.
    pub(crate) stop_at_failure: bool,
    /// Warnings turned on or off, in order.
    pub(crate) warnings: Vec<(&'static str, bool)>,
}

/// What a plan depends on besides the command line.
pub(crate) struct Facts<'a> {
    /// Whether the caller is the superuser.
    pub(crate) superuser: bool,
    /// The umask the process was started with.
    pub(crate) umask: u32,
    /// The environment.
    pub(crate) environment: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// Reads a whole file; `-` is standard input.
    pub(crate) read: &'a dyn Fn(&[u8]) -> io::Result<Vec<u8>>,
    /// When a file was last modified.
    pub(crate) modified: &'a dyn Fn(&[u8]) -> io::Result<Timestamp>,
}

/// Folds settings into a plan.
pub(crate) fn assemble(
    dialect: Dialect,
    settings: &[Given],
    facts: &Facts<'_>,
) -> Result<Assembled, UsageError> {
    // Help wins over everything that may be wrong beside it.
    for given in settings {
        if let Setting::Page(page) = given.setting {
            return Ok(Assembled::Page(page));
        }
    }
    let operation = operation(settings)?;
    let mut fold = Fold::new(dialect, facts)?;
    for given in settings {
        fold.take(given)?;
    }
    if dialect == Dialect::Gnu {
        fold.wishes.no_pattern_hint = fold.matching.wildcards.is_some();
        // GNU tar counts -t as a -v, so that the second makes long lines.
        let lists = settings
            .iter()
            .filter(|given| matches!(given.setting, Setting::List))
            .count();
        let more = u8::try_from(lists.saturating_sub(1)).unwrap_or(u8::MAX);
        fold.wishes.verbose = fold.wishes.verbose.saturating_add(more);
    }
    fold.finish(operation)
        .map(|command| Assembled::Command(Box::new(command)))
}

/// The one operation; several different ones are refused before one that is not built is.
fn operation(settings: &[Given]) -> Result<&Given, UsageError> {
    let mut found: Option<&Given> = None;
    for given in settings {
        let is_operation = match &given.setting {
            Setting::Extract
            | Setting::List
            | Setting::Trace
            | Setting::Compare
            | Setting::Delete
            | Setting::Create
            | Setting::Append
            | Setting::Update
            | Setting::Join
            | Setting::ArchiveType => true,
            Setting::Refused(row) => row.category == Category::Operation,
            _ => false,
        };
        if !is_operation {
            continue;
        }
        match found {
            Some(before) if before.spelt != given.spelt => {
                return Err(UsageError::SeveralOperations);
            }
            _ => found = Some(given),
        }
    }
    found.ok_or(UsageError::NoOperation)
}

/// The state of the fold.
struct Fold<'a> {
    rules: Rules,
    plan: Plan,
    wishes: Wishes,
    facts: &'a Facts<'a>,
    volumes: Vec<Volume>,
    matching: Current,
    lists: files::Format,
    compression: Option<Compression>,
    /// The option that chose `plan.extract.existing`, for messages.
    existing: Option<(Existing, String)>,
    /// The option that chose `plan.extract.existing_directories`.
    existing_directories: Option<(ExistingDirectories, String)>,
    unconditional: bool,
    directories_always: bool,
    dot_always: bool,
    to_output: bool,
    /// What substitutions without flags of their own are about.
    scope: Scope,
    /// Dates as they were written: the option, the text and what it was taken for.
    dates: Vec<(&'static str, Vec<u8>, Timestamp)>,
    /// `--backup`'s word, if backups are wanted.
    backup: Option<Option<Vec<u8>>>,
    backup_suffix: Option<Vec<u8>>,
    /// `--to-command`.
    command: Option<Vec<u8>>,
    ignore_status: bool,
    /// `--one-top-level` without a name.
    top_of_archive: bool,
    occurrence_given: bool,
    making: making::Later,
    /// A list of names was read, though it may have been empty.
    names_from_list: bool,
    /// `--newer`: a file whose inode has changed is new too.
    newer_by_ctime: bool,
    /// `-o` was given, which means something else when writing.
    old_letter: bool,
    /// Where the volume's number is kept.
    number_file: Option<PathBuf>,
    journal: Option<Vec<u8>>,
    resume: bool,
}

/// The matching rules that hold for the next name or pattern; `None` where a dialect's default for its kind holds.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    wildcards: Option<bool>,
    anchored: Option<bool>,
    match_slash: Option<bool>,
    ignore_case: bool,
    flat: bool,
}

impl Current {
    fn set(&mut self, rule: Matching) {
        match rule {
            Matching::Wildcards(on) => self.wildcards = Some(on),
            Matching::Anchored(on) => self.anchored = Some(on),
            Matching::MatchSlash(on) => self.match_slash = Some(on),
            Matching::IgnoreCase(on) => self.ignore_case = on,
            Matching::Recursive(on) => self.flat = !on,
        }
    }

    fn apply(self, mut pattern: Pattern) -> Pattern {
        pattern.wildcards = self.wildcards.unwrap_or(pattern.wildcards);
        pattern.anchored = self.anchored.unwrap_or(pattern.anchored);
        pattern.wildcards_match_slash = self.match_slash.unwrap_or(pattern.wildcards_match_slash);
        pattern.ignore_case = self.ignore_case;
        pattern.recursive &= !self.flat;
        pattern
    }
}

impl<'a> Fold<'a> {
    fn new(dialect: Dialect, facts: &'a Facts<'a>) -> Result<Self, UsageError> {
        let (mut plan, rules) = dialect.defaults(facts)?;
        if let Some(word) = (facts.environment)("DURASTAR_SYNC").filter(|word| !word.is_empty()) {
            plan.durability.mode = mode(&word).ok_or_else(|| UsageError::BadValue {
                option: "DURASTAR_SYNC".to_owned(),
                value: word.clone(),
                bad: Bad::OneOf(MODES),
            })?;
        }
        Ok(Self {
            rules,
            plan,
            wishes: Wishes::default(),
            facts,
            volumes: Vec::new(),
            matching: Current::default(),
            lists: files::Format::default(),
            compression: None,
            existing: None,
            existing_directories: None,
            unconditional: false,
            directories_always: false,
            dot_always: false,
            to_output: false,
            scope: Scope::default(),
            dates: Vec::new(),
            backup: None,
            backup_suffix: None,
            command: None,
            ignore_status: false,
            top_of_archive: false,
            occurrence_given: false,
            making: making::Later::default(),
            names_from_list: false,
            newer_by_ctime: false,
            old_letter: false,
            number_file: None,
            journal: None,
            resume: false,
        })
    }

    fn take(&mut self, given: &Given) -> Result<(), UsageError> {
        let plan = &mut self.plan;
        let extract = &mut plan.extract;
        let wishes = &mut self.wishes;
        match &given.setting {
            Setting::Page(_)
            | Setting::Extract
            | Setting::List
            | Setting::Compare
            | Setting::Delete
            | Setting::Create
            | Setting::Append
            | Setting::Update
            | Setting::Join
            | Setting::Always => {}
            Setting::Making(making) => {
                let result = self.making.take(making, plan, self.facts);
                result.map_err(|(value, bad)| wrong_value(given, &value, bad))?;
            }
            Setting::Trace => wishes.trace = true,
            Setting::ArchiveType => {
                wishes.archive_type = true;
                wishes.no_statistics = true;
            }
            Setting::Refused(row) => {
                let instead = match row.gives {
                    super::option::Gives::Refused(instead) => instead,
                    _ => "",
                };
                return Err(UsageError::Refused {
                    option: given.spelt.clone(),
                    instead,
                });
            }

            Setting::Archive(name) => self.volumes.push(volume(name)),
            Setting::ArchiveFromTape => match (self.facts.environment)("TAPE") {
                Some(name) => self.volumes.push(volume(&name)),
                None => return Err(UsageError::Other("TAPE is not set".to_owned())),
            },
            &Setting::RecordBytes(bytes) => plan.archive.record_bytes = bytes,
            &Setting::FifoBytes(bytes) => plan.archive.fifo_bytes = bytes,
            Setting::IgnoreZeros => plan.archive.ignore_zeros = true,
            &Setting::Seek(seek) => plan.archive.seek = seek,
            Setting::Compression(chosen) => {
                if self
                    .compression
                    .as_ref()
                    .is_some_and(|before| !same(before, chosen))
                {
                    return Err(UsageError::Compression);
                }
                self.compression = Some(chosen.clone());
            }

            Setting::MultiVolume => {
                plan.archive.multi_volume.get_or_insert_default();
            }
            Setting::VolumeScript(script) => {
                let change = plan.archive.multi_volume.get_or_insert_default();
                change.script = Some(script.clone());
            }
            Setting::VolumeNumberFile(name) => {
                self.number_file = Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)));
            }

            Setting::Directory(name) => self.enter(name),
            Setting::Member(name) => self.want(name),
            Setting::MembersFrom(name) => self.want_from(name)?,
            Setting::Pattern(text) => {
                let directory = plan.directories.len() - 1;
                plan.selection.star_patterns.push(StarPattern {
                    text: text.clone(),
                    directory,
                });
            }
            &Setting::Occurrence(number) => {
                plan.selection.occurrence = number;
                self.occurrence_given = number.is_some();
            }
            Setting::Newer(text, option) => self.newer(given, text, option)?,
            Setting::NewerThanFile(name) => {
                let time = (self.facts.modified)(name).map_err(|cause| UsageError::File {
                    option: "newer=",
                    name: name.clone(),
                    operation: durastar::error::Operation::Stat,
                    cause,
                })?;
                plan.selection.newer = Some(DateLimit {
                    time,
                    stamp: Stamp::Modified,
                    inclusive: false,
                });
            }
            &Setting::MaxSize(bytes) => plan.selection.max_size = Some(bytes),
            Setting::Transform(text) => {
                let found = transform::parse(text, &mut self.scope).map_err(|problem| {
                    wrong_value(given, text, transform_problem(text, &problem))
                })?;
                plan.selection.transforms.extend(found);
            }
            Setting::Substitution(substitution) => {
                plan.selection.transforms.push(substitution.clone());
                wishes.transformed_names = true;
            }
            Setting::OneTopLevel(name) => {
                self.top_of_archive = name.is_none();
                plan.selection.one_top_level.clone_from(name);
            }
            Setting::Invert => plan.selection.invert_star_patterns = true,
            Setting::Exclude(text) => self.exclude(text),
            Setting::ExcludeFrom(name) => self.exclude_from(name)?,
            Setting::ExcludeAll(patterns) => {
                for text in *patterns {
                    // Whole names: these lists are meant for directory entries, at any depth.
                    plan.selection
                        .excludes
                        .push(Pattern::exclude(text.as_bytes()));
                }
            }
            &Setting::Matching(rule) => self.matching.set(rule),
            &Setting::NulSeparated(on) => {
                self.lists.nul_separated = on;
                wishes.nul_separated = on;
            }
            &Setting::Verbatim(on) => self.lists.verbatim = on,
            &Setting::Unquote(on) => self.lists.unquote = on,
            &Setting::StripComponents(count) => plan.selection.strip_components = count,
            Setting::AbsoluteNames => {
                plan.selection.absolute_names = true;
                plan.selection.keep_dot_dot = true;
            }
            Setting::KeepSlashes => plan.selection.absolute_names = true,
            Setting::KeepDotDot => plan.selection.keep_dot_dot = true,
            Setting::StartingAt(name) => plan.selection.starting_at = Some(name.clone()),

            Setting::ToOutput => self.to_output = true,
            Setting::ToCommand(line) => self.command = Some(line.clone()),
            &Setting::IgnoreStatus(on) => self.ignore_status = on,
            Setting::Ask => plan.selection.ask = true,
            Setting::IdMap(whose, name) => {
                let text = (self.facts.read)(name).map_err(|cause| UsageError::File {
                    option: whose.option(),
                    name: name.clone(),
                    operation: durastar::error::Operation::Open,
                    cause,
                })?;
                let map = match whose {
                    Whose::Owner => &mut extract.owners,
                    Whose::Group => &mut extract.groups,
                };
                let problems = idmap::read(map, *whose, name, &text);
                if !problems.is_empty() {
                    return Err(UsageError::MapFile(problems));
                }
                let made = match whose {
                    Whose::Owner => making::Making::OwnerMap(name.clone()),
                    Whose::Group => making::Making::GroupMap(name.clone()),
                };
                self.making
                    .take(&made, plan, self.facts)
                    .map_err(|(value, bad)| wrong_value(given, &value, bad))?;
            }
            Setting::Backup(word) => {
                let word = word.clone().filter(|word| !word.is_empty());
                if let Some(word) = &word {
                    backup_control(word, "--backup")?;
                }
                self.backup = Some(word);
            }
            Setting::BackupSuffix(suffix) => {
                if suffix.contains(&b'/') {
                    let what = "A backup's suffix cannot hold a slash".to_owned();
                    return Err(wrong_value(given, suffix, Bad::Usage(what)));
                }
                self.backup.get_or_insert(None);
                self.backup_suffix = Some(suffix.clone());
            }
            Setting::SafeWrites => extract.safe_writes = true,
            Setting::Refresh => extract.refresh = true,
            Setting::AskBeforeRemoving => extract.ask_before_removing = true,
            Setting::KeepFullDirectories => extract.keep_full_directories = true,
            Setting::StopAtFailure => wishes.stop_at_failure = true,
            &Setting::SameOwner(on) => {
                extract.same_owner = on;
                self.old_letter |= given.spelt == "-o";
            }
            Setting::NumericOwner => extract.numeric_owner = true,
            &Setting::SamePermissions(on) => extract.same_permissions = on,
            &Setting::Umask(mask) => plan.umask = mask,
            Setting::NoTimes => {
                extract.mtime = false;
                extract.atime = false;
            }
            &Setting::Existing(rule) => {
                if let Some((_, earlier)) = &self.existing_directories {
                    return Err(UsageError::Contradiction {
                        later: given.spelt.clone(),
                        earlier: earlier.clone(),
                    });
                }
                match &self.existing {
                    Some((before, spelt)) if *before != rule && !self.rules.newer_wins => {
                        return Err(UsageError::Contradiction {
                            later: given.spelt.clone(),
                            earlier: spelt.clone(),
                        });
                    }
                    // In star options of this kind stand side by side, and keeping is the strongest.
                    Some((Existing::KeepSilently, _)) => {}
                    _ => self.existing = Some((rule, given.spelt.clone())),
                }
            }
            Setting::RemoveRecursively => extract.remove_recursively = true,
            Setting::Unconditional => self.unconditional = true,
            Setting::DirectoriesAlways => self.directories_always = true,
            Setting::DotAlways => self.dot_always = true,
            &Setting::ExistingDirectories(rule) => {
                // To GNU tar these are two more rules about existing files.
                let files = self.existing.as_ref().map(|(_, spelt)| spelt);
                let others = self.existing_directories.as_ref();
                let others = others.filter(|(before, _)| *before != rule);
                if let Some(earlier) = files.or(others.map(|(_, spelt)| spelt)) {
                    return Err(UsageError::Contradiction {
                        later: given.spelt.clone(),
                        earlier: earlier.clone(),
                    });
                }
                extract.existing_directories = rule;
                self.existing_directories = Some((rule, given.spelt.clone()));
            }
            Setting::KeepDirectorySymlink => extract.keep_directory_symlink = true,
            &Setting::SecureLinks(on) => extract.secure_links = on,
            Setting::MakeHoles => {
                extract.make_holes = true;
                if !self.rules.newer_wins {
                    // GNU tar's -S is about writing too; star has another option for that.
                    self.making.store_holes();
                }
            }
            Setting::NoDirectories => extract.no_directories = true,
            &Setting::Acls(on) => extract.acls = on,
            Setting::AclsAndPermissions => {
                extract.acls = true;
                extract.same_permissions = true;
            }
            Setting::Xattrs(true) => {
                extract.xattrs.get_or_insert_default();
            }
            Setting::Xattrs(false) => extract.xattrs = None,
            Setting::XattrsInclude(mask) => {
                let xattrs = extract.xattrs.get_or_insert_default();
                xattrs.include.push(attribute_mask(mask));
            }
            Setting::XattrsExclude(mask) => {
                let xattrs = extract.xattrs.get_or_insert_default();
                xattrs.exclude.push(attribute_mask(mask));
            }
            &Setting::Selinux(on) => extract.selinux = on,
            Setting::FileFlags => extract.file_flags = true,

            &Setting::Durability(mode) => plan.durability.mode = mode,
            &Setting::Window { members, bytes } => {
                let durability = &mut plan.durability;
                durability.window_members = members.unwrap_or(durability.window_members);
                durability.window_bytes = bytes.unwrap_or(durability.window_bytes);
            }
            &Setting::SyncMethod(method) => plan.durability.method = method,
            &Setting::Jobs(jobs) => plan.jobs = Some(jobs),

            Setting::Verbose => wishes.verbose = wishes.verbose.saturating_add(1),
            Setting::Totals => wishes.totals = true,
            &Setting::TotalsOn(signal) => wishes.totals_on.push(signal),
            &Setting::Checkpoint(records) => wishes.checkpoint = records,
            Setting::FifoStats => wishes.fifo_stats = true,
            Setting::SyncStats => wishes.sync_stats = true,
            Setting::Time => wishes.time = true,
            Setting::NoStatistics => wishes.no_statistics = true,
            Setting::Report(name) => wishes.report = Some(name.clone()),
            Setting::SettledLog(name) => wishes.settled_log = Some(name.clone()),
            Setting::Journal(name) => self.journal = Some(name.clone()),
            Setting::Resume => self.resume = true,
            Setting::VerifySettled => plan.durability.verify = true,
            &Setting::Quoting(style) => wishes.quoting = style,
            Setting::QuoteChars(bytes, true) => wishes.quoted_too.extend(bytes),
            Setting::QuoteChars(bytes, false) => {
                wishes.quoted_too.retain(|byte| !bytes.contains(byte));
            }
            Setting::FullTime => wishes.full_time = true,
            Setting::Utc => wishes.utc = true,
            Setting::BlockNumber => wishes.block_number = true,
            &Setting::TransformedNames(on) => wishes.transformed_names = on,
            Setting::PathsOnly => wishes.paths_only = true,
            &Setting::Warning(kind, on) => wishes.warnings.push((kind, on)),
        }
        Ok(())
    }

    fn enter(&mut self, name: &[u8]) {
        let directories = &mut self.plan.directories;
        let last = directories.len() - 1;
        let base = if self.rules.directories_stack {
            directories[last].as_path()
        } else {
            Path::new(HERE)
        };
        let patterns = &self.plan.selection.star_patterns;
        let entered = join(base, Path::new(std::ffi::OsStr::from_bytes(name)));
        if self
            .plan
            .selection
            .wanted
            .iter()
            .map(|wanted| wanted.directory)
            .chain(patterns.iter().map(|pattern| pattern.directory))
            .any(|directory| directory == last)
        {
            directories.push(entered);
        } else {
            directories[last] = entered;
        }
        let last = directories.len() - 1;
        self.wishes.entered.resize(last, Vec::new());
        self.wishes.entered.push(name.to_vec());
    }

    /// GNU tar's limit by a date, or by the time of a file whose name begins with a slash or a dot.
    fn newer(
        &mut self,
        given: &Given,
        text: &[u8],
        option: &'static str,
    ) -> Result<(), UsageError> {
        if self.plan.selection.newer.is_some() {
            let what = "More than one threshold date".to_owned();
            return Err(wrong_value(given, text, Bad::Usage(what)));
        }
        let time = if matches!(text.first(), Some(b'/' | b'.')) {
            (self.facts.modified)(text).map_err(|cause| UsageError::File {
                option: "-N",
                name: text.to_vec(),
                operation: durastar::error::Operation::Stat,
                cause,
            })?
        } else {
            let time = date::parse(text).ok_or_else(|| {
                wrong_value(
                    given,
                    text,
                    Bad::Usage(format!(
                        "Not a date: '{}'; write @SECONDS, YYYY-MM-DD or 'YYYY-MM-DD HH:MM:SS', or ./FILE for that of a file",
                        String::from_utf8_lossy(text).escape_debug()
                    )),
                )
            })?;
            self.dates.push((option, text.to_vec(), time));
            time
        };
        self.newer_by_ctime = option == "--after-date";
        self.plan.selection.newer = Some(DateLimit {
            time,
            stamp: Stamp::Modified,
            inclusive: true,
        });
        Ok(())
    }

    fn want(&mut self, name: &[u8]) {
        let pattern = self
            .matching
            .apply(Pattern::literal(without_end_slashes(name)));
        self.want_pattern(pattern);
    }

    fn want_pattern(&mut self, pattern: Pattern) {
        self.plan.selection.wanted.push(Wanted {
            pattern,
            directory: self.plan.directories.len() - 1,
        });
    }

    fn want_from(&mut self, file: &[u8]) -> Result<(), UsageError> {
        self.names_from_list = true;
        let text = (self.facts.read)(file).map_err(|cause| UsageError::File {
            option: self.rules.list_option,
            name: file.to_vec(),
            operation: durastar::error::Operation::Stat,
            cause,
        })?;
        for item in self.lists.split(&text) {
            match item {
                files::Item::Name(name) => {
                    let mut pattern = self
                        .matching
                        .apply(Pattern::literal(without_end_slashes(&name)));
                    pattern.recursive &= self.rules.lists_recurse;
                    self.want_pattern(pattern);
                }
                files::Item::Directory(name) => self.enter(&name),
                files::Item::Option(line) => {
                    return Err(UsageError::Other(format!(
                        "{}: options in lists of names are not supported yet: {}; \
                         --verbatim-files-from takes such lines as names",
                        file.escape_ascii(),
                        line.escape_ascii()
                    )));
                }
            }
        }
        Ok(())
    }

    fn exclude(&mut self, text: &[u8]) {
        let pattern = if self.rules.excludes_are_names {
            Pattern {
                recursive: false,
                ..Pattern::literal(text)
            }
        } else {
            self.matching.apply(Pattern::exclude(text))
        };
        self.plan.selection.excludes.push(pattern);
    }

    fn exclude_from(&mut self, file: &[u8]) -> Result<(), UsageError> {
        let text = (self.facts.read)(file).map_err(|cause| UsageError::File {
            option: "-X",
            name: file.to_vec(),
            operation: durastar::error::Operation::Open,
            cause,
        })?;
        for line in files::lines(&text, b'\n') {
            self.exclude(line);
        }
        Ok(())
    }

    fn finish(mut self, operation: &Given) -> Result<Command, UsageError> {
        let plan = &mut self.plan;
        plan.job = match (&operation.setting, self.to_output, &self.command) {
            (Setting::Extract, true, _) => Job::ExtractToOutput,
            (Setting::Extract, false, Some(_)) => Job::ExtractToCommand,
            (Setting::Extract, false, None) => Job::Extract,
            (Setting::Compare, _, _) => Job::Compare,
            (Setting::Delete, _, _) => Job::Delete,
            (Setting::Create, _, _) => Job::Create,
            (Setting::Append, _, _) => Job::Append,
            (Setting::Update, _, _) => Job::Update,
            (Setting::Join, _, _) => Job::Join,
            _ => Job::List,
        };
        if let Some(word) = &self.backup {
            plan.extract.backup = backup(word.as_deref(), self.backup_suffix, self.facts)?;
        }
        if self.volumes.is_empty() {
            let tape = self
                .rules
                .tape_by_default
                .then(|| (self.facts.environment)("TAPE"))
                .flatten();
            self.volumes
                .push(tape.map_or(Volume::Standard, |name| volume(&name)));
        }
        if self.volumes.len() > 1 {
            if self.rules.several_volumes {
                plan.archive.multi_volume.get_or_insert_default();
            } else if plan.archive.multi_volume.is_none() {
                return Err(UsageError::SeveralArchives);
            }
            if self.volumes.contains(&Volume::Standard) {
                return Err(UsageError::Other(
                    "cannot read a multi volume archive from standard input".to_owned(),
                ));
            }
        }
        if plan.job.makes() && plan.archive.multi_volume.is_some() {
            return Err(wrong("Archives over several volumes are only read for now"));
        }
        if let Some(change) = &mut plan.archive.multi_volume {
            if self.compression.is_some() {
                return Err(wrong("Cannot use multi-volume compressed archives"));
            }
            change.number_file = self.number_file;
        }
        if let Some(start) = &plan.selection.starting_at {
            // GNU tar takes it for the first of the names that are asked for, also when there is no other.
            let first = Wanted {
                pattern: Pattern::literal(without_end_slashes(start)),
                directory: plan.directories.len() - 1,
            };
            plan.selection.wanted.insert(0, first);
        }
        if self.occurrence_given && plan.selection.wanted.is_empty() {
            return Err(wrong("--occurrence is meaningless without a file list"));
        }
        if self.top_of_archive {
            let name = match &self.volumes[0] {
                Volume::File(name) => top::directory(name.as_os_str().as_bytes()),
                Volume::Standard => None,
            };
            let name = name.ok_or_else(|| {
                wrong(
                    "Cannot deduce top-level directory name; please set it explicitly with --one-top-level=DIR",
                )
            })?;
            plan.selection.one_top_level = Some(name.to_vec());
        }
        if plan.job == Job::List && !self.wishes.transformed_names {
            // Nobody sees what becomes of the names; but substitutions may bring in what is told to be removed.
            plan.selection.strip_components = 0;
            plan.selection.one_top_level = None;
        }
        if plan.job == Job::List || self.wishes.verbose > 0 {
            let local: &dyn Fn(i64) -> Option<BrokenDownTime> = if self.wishes.utc {
                &calendar::utc
            } else {
                &local
            };
            let notes = self.dates.iter();
            let notes =
                notes.filter_map(|(option, text, time)| treated(option, text, *time, local));
            self.wishes.notes.extend(notes);
        }
        if !plan.job.makes() {
            // It says nothing about reading, and equal wishes are equal plans.
            plan.create = Create::default();
        } else {
            if plan.job != Job::Create {
                if self.volumes.contains(&Volume::Standard) {
                    return Err(wrong("Options '-Aru' are incompatible with '-f -'"));
                }
                if self.compression.is_some() {
                    return Err(wrong("Cannot update compressed archives"));
                }
            }
            let empty = plan.selection.wanted.is_empty() && !self.names_from_list;
            if plan.job == Job::Create && empty {
                return Err(wrong("Cowardly refusing to create an empty archive"));
            }
            if self.rules.newer_wins {
                // star takes slashes off when it extracts.
                plan.selection.absolute_names = true;
            }
            if self.old_letter && !self.rules.newer_wins {
                // POSIX: in create mode the letter asks for the old format.
                plan.create.format = ArchiveFormat::V7;
            }
            self.making.finish(plan).map_err(|what| wrong(&what))?;
            if plan.job == Job::Create
                && self.making.by_name()
                && self.compression.is_none()
                && let Volume::File(name) = &self.volumes[0]
            {
                self.compression = making::compression_by_name(name.as_os_str().as_bytes());
            }
            if let (Some(limit), true) = (&mut plan.selection.newer, self.newer_by_ctime) {
                limit.stamp = Stamp::Changed;
            }
            plan.create.process = durastar::sys::process();
        }
        if plan.job == Job::ExtractToCommand {
            plan.extract.command = self.command.map(|line| durastar::plan::Command {
                line,
                ignore_status: self.ignore_status,
                archive: match &self.volumes[0] {
                    Volume::File(name) => name.as_os_str().as_bytes().to_vec(),
                    Volume::Standard => b"-".to_vec(),
                },
            });
        }
        plan.archive.volumes = self.volumes;
        plan.archive.compression = self.compression.unwrap_or(Compression::Detect);
        plan.extract.existing = existing(
            self.rules.newer_wins,
            self.existing.as_ref().map(|(rule, _)| *rule),
            self.unconditional,
            self.directories_always,
            self.dot_always,
        );
        if !self.rules.newer_wins && !plan.extract.remove_recursively {
            // What GNU tar's rules for files mean for directories.
            match plan.extract.existing {
                Existing::RemoveFirst => {
                    plan.extract.existing_directories = ExistingDirectories::Remove;
                }
                Existing::KeepNotOlder { .. } => {
                    plan.extract.existing_directories = ExistingDirectories::KeepFull;
                }
                _ => {}
            }
        }
        if plan.extract.remove_recursively && !self.rules.newer_wins {
            // GNU tar's --recursive-unlink is more than a word about -U: it wins over everything.
            plan.extract.existing = Existing::RemoveFirst;
        }
        journal(plan, self.journal, self.resume)?;
        if plan.extract.safe_writes
            && matches!(
                plan.extract.existing,
                Existing::RemoveFirst | Existing::Overwrite
            )
        {
            let earlier = self.existing.map(|(_, spelt)| spelt);
            return Err(UsageError::Contradiction {
                later: self.rules.safe_writes.to_owned(),
                earlier: earlier.unwrap_or_else(|| "--recursive-unlink".to_owned()),
            });
        }
        if !plan.job.writes() {
            // Nothing is written, so nothing can be promised.
            plan.durability.mode = DurabilityMode::None;
        }
        plan.durability.report_settled = self.wishes.settled_log.is_some();
        Ok(Command {
            plan: self.plan,
            wishes: self.wishes,
        })
    }
}

/// The journal and what goes with it.
fn journal(plan: &mut Plan, name: Option<Vec<u8>>, resume: bool) -> Result<(), UsageError> {
    let other = |what: &str| Err(UsageError::Other(what.to_owned()));
    let option = match (&name, resume, plan.durability.verify) {
        (None, true, _) => return other("--resume needs the --journal of the run that was cut"),
        (Some(_), _, _) => "--journal",
        (None, false, true) => "--verify-settled",
        (None, false, false) => return Ok(()),
    };
    if plan.job != Job::Extract {
        return other(&format!("{option} is for extracting to disk"));
    }
    let mode = plan.durability.mode;
    if !matches!(mode, DurabilityMode::Each | DurabilityMode::Group) {
        return other(&format!(
            "{option} needs --sync=each or --sync=group: mode {} settles nothing on the way",
            mode.name()
        ));
    }
    // What was asked for or kept on the way by an earlier run is not in its journal.
    let bars = [
        (plan.archive.multi_volume.is_some(), "several volumes"),
        (plan.selection.ask, "asking for each member"),
        (plan.extract.backup.is_some(), "--backup"),
    ];
    if let Some((_, what)) = bars.iter().find(|(given, _)| *given && name.is_some()) {
        return other(&format!("{option} does not go with {what}"));
    }
    plan.journal = name.map(|name| Journal {
        path: PathBuf::from(std::ffi::OsStr::from_bytes(&name)),
        resume,
    });
    Ok(())
}

/// A value that cannot be used.
fn wrong_value(given: &Given, value: &[u8], bad: Bad) -> UsageError {
    UsageError::BadValue {
        option: given.spelt.clone(),
        value: value.to_vec(),
        bad,
    }
}

/// Options that do not go together.
fn wrong(what: &str) -> UsageError {
    UsageError::BadValue {
        option: String::new(),
        value: Vec::new(),
        bad: Bad::Usage(what.to_owned()),
    }
}

/// What is wrong with a `--transform`, in GNU tar's words.
fn transform_problem(text: &[u8], problem: &BadExpression) -> Bad {
    Bad::Usage(match problem {
        BadExpression::Form => "Invalid transform expression".to_owned(),
        BadExpression::Flag(flag) => {
            let flag = flag.escape_ascii();
            if text.starts_with(b"flags=") {
                format!("Unknown transform flag: {flag}")
            } else {
                format!("Unknown flag in transform expression: {flag}")
            }
        }
        BadExpression::Group(_) => {
            "Invalid transform replacement: back reference out of range".to_owned()
        }
        other => format!("Invalid transform expression: {other}"),
    })
}

/// What a date was taken for, unless it was written just so.
fn treated(
    option: &str,
    text: &[u8],
    time: Timestamp,
    local: &dyn Fn(i64) -> Option<BrokenDownTime>,
) -> Option<Vec<u8>> {
    let mut told = Vec::new();
    calendar::push(time, local, Detail::Full, &mut told);
    (told != text).then(|| {
        let text = text.escape_ascii();
        let mut note = format!("Option {option}: Treating date '{text}' as ").into_bytes();
        note.extend(told);
        note
    })
}

/// The rule for existing files. In star `-k` wins over everything, and the age rule over `-remove-first`.
fn existing(
    newer_wins: bool,
    chosen: Option<Existing>,
    unconditional: bool,
    directories_always: bool,
    dot_always: bool,
) -> Existing {
    match chosen {
        Some(rule) if !newer_wins || unconditional || rule == Existing::KeepSilently => rule,
        _ if newer_wins && !unconditional => Existing::KeepNotOlder {
            directories: !directories_always,
            except_dot: dot_always && !directories_always,
        },
        _ => Existing::Replace,
    }
}

/// What `--backup` may be followed by (GNU's manuals, "Backup options"); each line means one thing.
const CONTROLS: &[&[&str]] = &[
    &["none", "off"],
    &["simple", "never"],
    &["existing", "nil"],
    &["numbered", "t"],
];

/// What a word for backups means; none for no backups. An unmistakable beginning will do.
fn backup_control(word: &[u8], option: &str) -> Result<Option<BackupControl>, UsageError> {
    let controls = [
        None,
        Some(BackupControl::Simple),
        Some(BackupControl::Existing),
        Some(BackupControl::Numbered),
    ];
    let whole = |known: &&str| known.as_bytes() == word;
    let begins = |known: &&str| known.as_bytes().starts_with(word);
    let mut found = CONTROLS.iter().zip(controls);
    if let Some((_, control)) = found.find(|(words, _)| words.iter().any(whole)) {
        return Ok(control);
    }
    let matching: Vec<_> = CONTROLS
        .iter()
        .zip(controls)
        .filter(|(words, _)| words.iter().any(begins))
        .collect();
    match matching[..] {
        [(_, control)] => Ok(control),
        _ => Err(UsageError::BadValue {
            option: option.to_owned(),
            value: word.to_vec(),
            bad: Bad::NoWord {
                words: CONTROLS,
                ambiguous: !matching.is_empty(),
            },
        }),
    }
}

/// How backups are made, by the option's word or else by the environment's.
fn backup(
    word: Option<&[u8]>,
    suffix: Option<Vec<u8>>,
    facts: &Facts<'_>,
) -> Result<Option<Backup>, UsageError> {
    let set = |name: &str| (facts.environment)(name).filter(|value| !value.is_empty());
    let control = match (word, set("VERSION_CONTROL")) {
        (Some(word), _) => backup_control(word, "--backup")?,
        (None, Some(word)) => backup_control(&word, "$VERSION_CONTROL")?,
        (None, None) => Some(BackupControl::Existing),
    };
    let suffix = suffix
        .or_else(|| set("SIMPLE_BACKUP_SUFFIX").filter(|suffix| !suffix.contains(&b'/')))
        .unwrap_or_else(|| b"~".to_vec());
    Ok(control.map(|control| Backup { control, suffix }))
}

/// The words for durability modes.
pub(crate) const MODES: &[&str] = &["each", "group", "batch", "none"];

/// The durability mode of this name.
pub(crate) fn mode(word: &[u8]) -> Option<DurabilityMode> {
    [
        DurabilityMode::Each,
        DurabilityMode::Group,
        DurabilityMode::Batch,
        DurabilityMode::None,
    ]
    .into_iter()
    .find(|mode| mode.name().as_bytes() == word)
}

/// Where the program stands.
pub(crate) const HERE: &str = ".";

fn join(base: &Path, entered: &Path) -> PathBuf {
    if base == Path::new(HERE) {
        entered.to_path_buf()
    } else {
        base.join(entered)
    }
}

fn volume(name: &[u8]) -> Volume {
    if name == b"-" {
        Volume::Standard
    } else {
        Volume::File(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
    }
}

/// A mask of attribute names: a whole name, with wildcards.
fn attribute_mask(text: &[u8]) -> Pattern {
    Pattern {
        wildcards: true,
        recursive: false,
        ..Pattern::literal(text)
    }
}

/// `dir/` on a command line means `dir`.
fn without_end_slashes(name: &[u8]) -> &[u8] {
    let end = name
        .iter()
        .rposition(|&byte| byte != b'/')
        .map_or(name.len().min(1), |at| at + 1);
    &name[..end]
}

/// Whether two ways of compression are the same: `-z` and `-I gzip` do not contradict each other.
fn same(one: &Compression, other: &Compression) -> bool {
    fn program(compression: &Compression) -> &[u8] {
        match compression {
            Compression::Detect => b"",
            Compression::Program(program) => program,
            Compression::Named(format) => match format {
                CompressionFormat::Gzip => b"gzip",
                CompressionFormat::Bzip2 => b"bzip2",
                CompressionFormat::Xz => b"xz",
                CompressionFormat::Lzma => b"lzma",
                CompressionFormat::Zstd => b"zstd",
                CompressionFormat::Lz4 => b"lz4",
                CompressionFormat::Lzip => b"lzip",
                CompressionFormat::Compress => b"compress",
            },
        }
    }
    program(one) == program(other)
}

#[cfg(test)]
mod tests;
