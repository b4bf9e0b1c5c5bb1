//! Cuts the power under an extraction and looks what is left of what it promised.
//!
//! A tool extracts onto a file system on a disk that logs every write and every flush ([`rig`], [`disk`]); its log of
//! settled members goes into the same log. From that one recording the disk is built as it would be after losing power at
//! many moments ([`cuts`]): all that was flushed and a seeded part of what was not. It is mounted again, the journal
//! recovers, and every member that was promised by then must be there, whole. Extractors that lie ([`control`]), GNU tar
//! and `--sync=none` show that losses are seen.
//!
//! It needs root, FUSE and loop devices, and says so where they are missing. It mounts by itself, without libfuse.

mod archive;
mod compare;
mod control;
mod cuts;
mod disk;
mod random;
mod record;
mod rig;
mod table;

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::Value;

use control::Lie;
use cuts::{Cutter, Promises};
use disk::{Cut, Recording};
use record::{Scenario, Spec, Tool};
use rig::{FileSystem, Result, Rig, failed};

/// As automake's test driver has it for a test that was skipped.
const SKIPPED: u8 = 77;

fn main() -> ExitCode {
    let matches = command_line().get_matches();
    let result = match matches.subcommand() {
        Some(("clean-up", words)) => rig::clean_up(path(words, "DIR")).map(|()| true),
        Some(("extract", words)) => extract(words).map(|()| true),
        Some(("archive", words)) => write_archive(words).map(|()| true),
        Some(("table", words)) => show_table(words),
        other => match missing() {
            Some(what) => {
                println!("skipped: {what}");
                return ExitCode::from(SKIPPED);
            }
            None => match other {
                Some(("replay", words)) => replay(words),
                _ => campaign(&matches),
            },
        },
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            eprintln!("durastar-powercut: {what}");
            ExitCode::from(2)
        }
    }
}

fn command_line() -> Command {
    let list =
        |id: &'static str, all: Vec<&'static str>, default: &'static str, help: &'static str| {
            Arg::new(id)
                .long(id)
                .value_parser(PossibleValuesParser::new(all))
                .value_delimiter(',')
                .default_value(default)
                .help(help)
        };
    let number = |id: &'static str, default: &'static str, help: &'static str| {
        Arg::new(id)
            .long(id)
            .value_parser(value_parser!(u64))
            .default_value(default)
            .help(help)
    };
    let word = |id: &'static str| Arg::new(id).required(true);
    let file = |id: &'static str| word(id).value_parser(value_parser!(PathBuf));
    Command::new("durastar-powercut")
        .about("Cuts the power under extractions and compares what is left with what was promised")
        .after_help(
            "Exit status: 0 if every promise held and every wrong tool was caught, 1 if not, 2 if the harness itself \
             failed, 77 if it cannot run here.",
        )
        .args([
            list(
                "tools",
                Tool::all().map(Tool::name).collect(),
                "each,group,batch",
                "what extracts: modes of durastar, gnu-tar, honest and lying extractors",
            ),
            list(
                "file-systems",
                FileSystem::ALL.map(|all| all.name()).into(),
                "ext4,xfs,btrfs",
                "on what",
            ),
            list(
                "scenarios",
                Scenario::ALL.map(|all| all.name()).into(),
                "fresh",
                "into an empty directory, over older members, or over them with --safe-writes",
            ),
            number("cuts", "30", "for each tool, scenario and file system"),
            number("cuts-per-run", "50", "from one recorded run; each run has a seed of its own"),
            number("members", "2000", "in the archive"),
            number("window", "100", "members in a window of mode group"),
            number("jobs", "0", "threads that write; 0 takes 1, 2, 8 in turn"),
            number("seed", "1", "of the first run"),
            Arg::new("durastar")
                .long("durastar")
                .value_parser(value_parser!(PathBuf))
                .help("the program under test; without it the one beside this program"),
            Arg::new("out")
                .long("out")
                .value_parser(value_parser!(PathBuf))
                .help("directory for results.jsonl, table.txt and the recordings of runs with failures"),
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("print the results as JSON lines instead of a table"),
        ])
        .args_conflicts_with_subcommands(true)
        .subcommand(
            Command::new("replay")
                .about("Repeats one cut of a recording")
                .args([file("RECORDING"), word("POSITION"), word("KEEP")]),
        )
        .subcommand(
            Command::new("table")
                .about("Adds up results of several runs")
                .arg(file("RESULTS").num_args(1..)),
        )
        .subcommand(
            Command::new("extract").hide(true).args([
                word("LIE"),
                word("MEMBERS"),
                word("SEED"),
                file("DEST"),
                file("PROMISES"),
            ]),
        )
        .subcommand(
            Command::new("archive")
                .about("Writes the archive that a run extracts")
                .args([word("MEMBERS"), word("SEED"), file("FILE")]),
        )
        .subcommand(Command::new("clean-up").hide(true).arg(file("DIR")))
}

fn path<'a>(words: &'a ArgMatches, id: &str) -> &'a Path {
    words.get_one::<PathBuf>(id).expect("it is required")
}

fn parsed<T: std::str::FromStr>(words: &ArgMatches, id: &str) -> Result<T> {
    let word = words.get_one::<String>(id).expect("it is required");
    word.parse().map_err(|_| format!("{word} is not a number"))
}

fn number(matches: &ArgMatches, id: &str) -> u64 {
    *matches.get_one::<u64>(id).expect("it has a default")
}

/// What this machine lacks, if anything.
fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("needs root".into());
    }
    for device in ["/dev/fuse", "/dev/loop-control"] {
        if let Err(cause) = OpenOptions::new().read(true).write(true).open(device) {
            return Some(format!("{device}: {cause}"));
        }
    }
    // Root in a container may not mount.
    let tried = Rig::new().and_then(|mut rig| {
        rig.state().size = 1 << 20;
        rig.attach()?;
        rig.detach()
    });
    tried.err()
}

/// One of the lying extractors, as a process of its own.
fn extract(words: &ArgMatches) -> Result<()> {
    let name = words.get_one::<String>("LIE").expect("it is required");
    let lie = Lie::ALL.into_iter().find(|lie| lie.name() == name);
    let lie = lie.ok_or_else(|| format!("no extractor is called {name}"))?;
    let members = archive::members(parsed(words, "MEMBERS")?, parsed(words, "SEED")?);
    control::extract(&members, path(words, "DEST"), path(words, "PROMISES"), lie)
}

fn write_archive(words: &ArgMatches) -> Result<()> {
    let members = archive::members(parsed(words, "MEMBERS")?, parsed(words, "SEED")?);
    let file = path(words, "FILE");
    fs::write(file, archive::encode(&members)).map_err(failed("cannot write", file))
}

fn show_table(words: &ArgMatches) -> Result<bool> {
    let mut rows = Vec::new();
    for file in words.get_many::<PathBuf>("RESULTS").into_iter().flatten() {
        let text = fs::read_to_string(file).map_err(failed("cannot read", file))?;
        for line in text.lines() {
            rows.push(serde_json::from_str(line).map_err(failed("not a result in", file))?);
        }
    }
    let (text, right) = table::table(&rows);
    print!("{text}");
    Ok(right)
}

fn replay(words: &ArgMatches) -> Result<bool> {
    let file = path(words, "RECORDING");
    let mut reader = BufReader::new(File::open(file).map_err(failed("cannot open", file))?);
    let (recording, about) = Recording::load(&mut reader).map_err(failed("cannot read", file))?;
    let about: Value = serde_json::from_str(&about).map_err(failed("no origin in", file))?;
    let spec = Spec::from_json(&about).ok_or_else(|| format!("unknown origin: {about}"))?;
    let cut = Cut {
        position: parsed::<usize>(words, "POSITION")?.min(recording.events.len()),
        keep: parsed(words, "KEEP")?,
    };
    let promises = Promises::read(&recording, &spec.new_members())?;
    let mut rig = Rig::new()?;
    rig.state().size = recording.size;
    let mut cutter = Cutter::new(&spec, &recording, &promises);
    let found = cutter.cut(&mut rig, cut)?;
    println!("{about}: {} promised", found.promised);
    for loss in found.losses.iter().chain(&found.mixtures) {
        println!("{}: {}", cutter.name(loss), loss.what);
    }
    println!(
        "{}",
        found
            .damage
            .as_deref()
            .unwrap_or("the file system is sound")
    );
    Ok(found.is_good(&spec))
}

/// Where results go besides standard output.
struct Results {
    dir: Option<PathBuf>,
    rows: Vec<Value>,
    json: bool,
}

impl Results {
    fn add(&mut self, row: Value) -> Result<()> {
        if self.json {
            println!("{row}");
        }
        if let Some(dir) = &self.dir {
            let file = dir.join("results.jsonl");
            let mut options = OpenOptions::new();
            let opened = options.append(true).create(true).open(&file);
            let written = opened.and_then(|mut file| writeln!(file, "{row}"));
            written.map_err(failed("cannot write", &file))?;
        }
        self.rows.push(row);
        if let Some(dir) = &self.dir {
            let file = dir.join("table.txt");
            let (text, _) = table::table(&self.rows);
            fs::write(&file, text).map_err(failed("cannot write", &file))?;
        }
        Ok(())
    }
}

/// What is to be recorded, and how often each is cut. Says what is left out.
fn runs(matches: &ArgMatches, durastar: &Path) -> Vec<(Spec, usize)> {
    let chosen = |id: &str, name: &str| {
        let mut words = matches.get_many::<String>(id).into_iter().flatten();
        words.any(|word| word == name)
    };
    let mut file_systems = FileSystem::ALL.to_vec();
    file_systems.retain(|file_system| {
        let lacks = file_system.missing();
        let name = file_system.name();
        let wanted = chosen("file-systems", name);
        if wanted && !lacks.is_empty() {
            println!("skipped: {name}, as {} is not installed", lacks.join(", "));
        }
        wanted && lacks.is_empty()
    });
    let mut scenarios = Scenario::ALL.to_vec();
    scenarios.retain(|scenario| chosen("scenarios", scenario.name()));
    if scenarios.contains(&Scenario::Safe) && !record::takes_safe_writes(durastar) {
        println!("skipped: scenario safe, as this durastar does not take --safe-writes");
        scenarios.retain(|scenario| *scenario != Scenario::Safe);
    }
    let tools: Vec<Tool> = Tool::all()
        .filter(|tool| chosen("tools", tool.name()))
        .collect();
    let cuts = number(matches, "cuts");
    let per_run = number(matches, "cuts-per-run").max(1);
    let mut runs = Vec::new();
    // Runs in the outer loop, so that a table that is not finished has something of everything.
    for run in 0..cuts.div_ceil(per_run) {
        let jobs = match number(matches, "jobs") {
            0 => [1, 2, 8][(run % 3) as usize],
            jobs => jobs,
        };
        for &file_system in &file_systems {
            for &tool in &tools {
                // The others have no option for it, or would only show the same once more.
                let only_durastar = |all: &&Scenario| {
                    **all == Scenario::Fresh || matches!(tool, Tool::Durastar { .. })
                };
                for &scenario in scenarios.iter().filter(only_durastar) {
                    let spec = Spec {
                        tool,
                        scenario,
                        file_system,
                        members: number(matches, "members").max(1) as usize,
                        jobs: jobs as u32,
                        window: number(matches, "window") as u32,
                        seed: number(matches, "seed") + run,
                    };
                    runs.push((spec, per_run.min(cuts - run * per_run) as usize));
                }
            }
        }
    }
    runs
}

fn campaign(matches: &ArgMatches) -> Result<bool> {
    let beside = std::env::current_exe()
        .map_err(|cause| cause.to_string())?
        .with_file_name("durastar");
    let durastar = matches.get_one::<PathBuf>("durastar").unwrap_or(&beside);
    let durastar =
        fs::canonicalize(durastar).map_err(failed("no durastar to test at", durastar))?;
    let dir = matches.get_one::<PathBuf>("out").cloned();
    if let Some(dir) = &dir {
        fs::create_dir_all(dir).map_err(failed("cannot make", dir))?;
    }
    let mut results = Results {
        dir,
        rows: Vec::new(),
        json: matches.get_flag("json"),
    };
    let mut rig = Rig::new()?;
    let mut broken = 0;
    for (spec, cuts) in runs(matches, &durastar) {
        if let Err(what) = round(&mut rig, &spec, cuts, &durastar, &mut results) {
            eprintln!("durastar-powercut: {what}");
            broken += 1;
            // The rest of a long campaign is worth going on for.
            drop(rig);
            rig = Rig::new()?;
        }
    }
    let (text, right) = table::table(&results.rows);
    if !results.json {
        print!("{text}");
    }
    match broken {
        0 => Ok(right),
        _ => Err(format!("{broken} runs could not be made or cut")),
    }
}

/// Records one run and cuts it so many times.
fn round(
    rig: &mut Rig,
    spec: &Spec,
    count: usize,
    durastar: &Path,
    results: &mut Results,
) -> Result<()> {
    let start = Instant::now();
    let recording = record::record(rig, spec, durastar)?;
    let recorded = start.elapsed();
    let promises = Promises::read(&recording, &spec.new_members())?;
    let named = promises.since.len();
    if spec.tool.promises_all() && named != spec.members {
        return Err(format!(
            "{}: success, but only {named} members were settled",
            spec.json()
        ));
    }
    if !spec.tool.promises() && named != 0 {
        return Err(format!("{}: {named} members were settled", spec.json()));
    }
    let mut cutter = Cutter::new(spec, &recording, &promises);
    let mut found = Vec::new();
    let mut saved = None;
    for cut in cuts::choose(spec, &recording, &promises, count) {
        let after = cutter.cut(rig, cut)?;
        if !after.is_good(spec) {
            if saved.is_none() {
                saved = save(spec, &recording, results)?;
            }
            tell(&cutter, spec, cut, &after, saved.as_deref());
        }
        found.push((cut, after));
    }
    let row = table::row(spec, &found);
    eprintln!(
        "{row} ({:.1} s recording {} events, {:.2} s a cut)",
        recorded.as_secs_f32(),
        recording.events.len(),
        (start.elapsed() - recorded).as_secs_f32() / found.len().max(1) as f32
    );
    results.add(row)
}

fn save(spec: &Spec, recording: &Recording, results: &Results) -> Result<Option<PathBuf>> {
    let Some(dir) = &results.dir else {
        return Ok(None);
    };
    let (tool, scenario, fs) = (
        spec.tool.name(),
        spec.scenario.name(),
        spec.file_system.name(),
    );
    let path = dir.join(format!("{tool}.{scenario}.{fs}.{}.recording", spec.seed));
    let file = File::create(&path).map_err(failed("cannot make", &path))?;
    recording
        .save(&spec.json().to_string(), &mut BufWriter::new(file))
        .map_err(failed("cannot write", &path))?;
    Ok(Some(path))
}

fn tell(cutter: &Cutter<'_>, spec: &Spec, cut: Cut, found: &cuts::Found, saved: Option<&Path>) {
    println!(
        "{}: cut after event {}, keep {}:",
        spec.json(),
        cut.position,
        cut.keep
    );
    println!(
        "  {} of {} promised members lost",
        found.losses.len(),
        found.promised
    );
    for loss in found.losses.iter().chain(&found.mixtures).take(5) {
        println!("  {}: {}", cutter.name(loss), loss.what);
    }
    if let Some(damage) = &found.damage {
        println!("  {damage}");
    }
    match saved {
        Some(file) => println!(
            "  again: durastar-powercut replay {} {} {}",
            file.display(),
            cut.position,
            cut.keep
        ),
        None => println!("  with --out=DIR the recording is kept and the cut can be repeated"),
    }
}
