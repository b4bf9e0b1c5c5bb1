//! The program: command lines in, words and an exit status out.
//!
//! Only `main` knows this room, so the library cannot even name it, and only this room prints. A command line goes
//! through it in this order: `personality` chooses the dialect, the dialect's grammar makes settings of the words,
//! `assemble` makes a plan of the settings, the engine runs it and tells `show`, and `exit` computes the status.

mod assemble;
mod date;
mod dialect;
mod exit;
mod files;
mod help;
mod idmap;
mod listing;
mod making;
mod man;
mod message;
mod number;
mod option;
mod personality;
mod report;
mod resume;
mod setting;
mod show;
mod signal;
mod statistics;
mod top;
mod usage;
mod volumes;

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::process::ExitCode;
use std::sync::Arc;

use durastar::engine::{self, Outcome};
use durastar::error::{Error, Operation};
use durastar::member::Timestamp;
use durastar::plan::{Job, Volume};
use durastar::sys;

use assemble::{Assembled, Command, Facts};
use dialect::voice::{Line, cause, name, sentence};
use dialect::{Dialect, gnu, star};
use message::Message;
use personality::Personality;
use setting::{Given, Page};
use show::{SettledLog, Show};
use signal::Live;
use usage::UsageError;
use volumes::Prompt;

/// Runs the program. `umask` is the one it was started with; the process's is 0 by now.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>, umask: u32) -> ExitCode {
    let arguments = arguments.map(OsString::into_vec).collect();
    let environment = |name: &str| std::env::var_os(name).map(OsString::into_vec);
    let facts = Facts {
        superuser: sys::is_superuser(),
        umask,
        environment: &environment,
        read: &read_file,
        modified: &modified,
    };
    let personality = match personality::choose(arguments) {
        Ok(personality) => personality,
        Err((program, error)) => {
            let message = Message::standard(&program);
            return refuse(Dialect::Gnu, &message, &facts, &error);
        }
    };
    let message = Arc::new(Message::standard(&personality.program));
    match prepare(&personality, &facts) {
        Ok(Assembled::Page(page)) => print_page(page, &personality, &message),
        Ok(Assembled::Command(command)) => carry_out(&personality, &command, &message, &facts),
        Err(error) => refuse(personality.dialect, &message, &facts, &error),
    }
}

/// The command line's words, those of the environment before them, as work.
fn prepare(personality: &Personality, facts: &Facts<'_>) -> Result<Assembled, UsageError> {
    let dialect = personality.dialect;
    let mut settings: Vec<Given> = Vec::new();
    if let Some(variable) = dialect.options_variable()
        && let Some(text) = (facts.environment)(variable)
    {
        settings.extend(gnu::grammar::parse_variable(variable, &text)?);
    }
    settings.extend(dialect.parse(&personality.arguments)?);
    let assembled = assemble::assemble(dialect, &settings, facts)?;
    if let Assembled::Command(command) = &assembled
        && command.plan.archive.volumes == [Volume::Standard]
    {
        let writes = command.plan.job == Job::Create;
        if writes && io::stdout().is_terminal() || !writes && io::stdin().is_terminal() {
            return Err(UsageError::Terminal { writes });
        }
    }
    Ok(assembled)
}

fn refuse(dialect: Dialect, message: &Message, facts: &Facts<'_>, error: &UsageError) -> ExitCode {
    let program = message.program();
    message.err(&match dialect {
        Dialect::Gnu => {
            gnu::voice::usage_error(error, program, gnu::voice::Marks::of(facts.environment))
        }
        Dialect::Star => star::voice::usage_error(error, program),
    });
    ExitCode::from(exit::usage(dialect, error))
}

fn print_page(page: Page, personality: &Personality, message: &Message) -> ExitCode {
    let dialect = personality.dialect;
    let program = String::from_utf8_lossy(&personality.program);
    match (page, dialect) {
        // star says it on standard error.
        (Page::Usage, Dialect::Star) => message.err(&star::voice::usage(&personality.program)),
        (Page::Usage, Dialect::Gnu) => message.out(help::usage(&program).as_bytes()),
        (Page::Help, _) => message.out(help::help(dialect, &program).as_bytes()),
        (Page::Version, _) => message.out(help::version(dialect).as_bytes()),
        (Page::Manual, _) => message.out(man::page(dialect).as_bytes()),
    }
    match message.finish() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            message.err(&[output_failure(dialect, &error)]);
            ExitCode::from(exit::run(
                dialect,
                exit::Run {
                    failed: true,
                    ..exit::Run::default()
                },
            ))
        }
    }
}

/// Runs the engine and says what came of it.
fn carry_out(
    personality: &Personality,
    command: &Command,
    message: &Arc<Message>,
    facts: &Facts<'_>,
) -> ExitCode {
    let dialect = personality.dialect;
    // Before anything is extracted: a report that cannot be written should not cost a run.
    let (report, settled) = match open_logs(command, facts.umask) {
        Ok(logs) => logs,
        Err(error) => return refuse(dialect, message, facts, &error),
    };
    let notes = command.wishes.notes.iter().cloned();
    message.err(&notes.map(Line::said).collect::<Vec<_>>());
    let live = Arc::new(Live::new(command));
    signal::watch(dialect, command, message, &live);
    let marks = gnu::voice::Marks::of(facts.environment);
    let mut show = Show::new(dialect, command, message, &live, marks, settled);
    let from_input = command.plan.archive.volumes.contains(&Volume::Standard);
    show.prompt = command
        .plan
        .archive
        .multi_volume
        .is_some()
        .then(|| Prompt::new(dialect, message, marks, from_input));
    let asks = command.plan.selection.ask || command.plan.extract.ask_before_removing;
    if asks && command.plan.job != Job::List {
        match answers(&command.plan.archive.volumes) {
            Ok(answers) => show.answers = Some(answers),
            Err(error) => return refuse(dialect, message, facts, &error),
        }
    }
    if command.plan.job == Job::ExtractToCommand {
        // Nothing is made here, and the command's files are the user's.
        sys::set_umask(facts.umask);
        sys::ignore_sigpipe();
    }
    let mut outcome = engine::run(&command.plan, &mut message.contents(), &mut show);
    let tally = show.tally;
    if let Some(Error::System {
        operation: Operation::ChangeDirectory,
        name,
        ..
    }) = &mut outcome.error
    {
        // The plan has it joined to those before it.
        let directories = command.plan.directories.iter().zip(&command.wishes.entered);
        let mut given = directories.filter(|(path, _)| path.as_os_str().as_bytes() == *name);
        if let Some((_, entered)) = given.next() {
            name.clone_from(entered);
        }
    }
    let mut failures = tally.failures;

    if let Some(error) = &outcome.error {
        message.err(&match dialect {
            // The rest was said when the first block was passed over.
            Dialect::Gnu if tally.no_archive && matches!(error, Error::NotAnArchive) => {
                vec![Line::said(gnu::voice::PREVIOUS_ERRORS)]
            }
            Dialect::Gnu => gnu::voice::fatal(error, marks),
            Dialect::Star => star::voice::fatal(error),
        });
    }
    // The run for its format was ended by us.
    let stopped = matches!(outcome.error, Some(Error::Stopped)) && show.format.is_none();
    if let Some(format) = show.format {
        let archive = match command.plan.archive.volumes.first() {
            Some(Volume::File(path)) => path.as_os_str().as_bytes(),
            _ => b"-",
        };
        message.out(&star::voice::archive_type(
            archive,
            &outcome.stats.input,
            format,
        ));
    }
    // One that came when everything was done already changes nothing.
    let interrupted = live.asked().filter(|_| stopped);
    if interrupted.is_some() {
        message.err(&if command.plan.job.makes() {
            vec![Line::said(
                "interrupted, the archive is not complete".to_owned(),
            )]
        } else {
            how_to_go_on(command, &outcome)
        });
    }
    figures(dialect, command, &outcome, message);
    let output = message.finish();
    if let Err(error) = &output {
        failures += 1;
        message.err(&[output_failure(dialect, error)]);
    }
    let run = |failures| exit::Run {
        aborted: tally.aborted,
        ..exit::Run::of(&outcome, failures, stopped)
    };
    let mut status = exit::run(dialect, run(failures));
    if let Some((name, file)) = report {
        let text = report::render(
            &outcome,
            report::Around {
                dialect,
                exit_status: status,
                failures,
                warnings: tally.warnings,
                signal: interrupted,
                plan: &command.plan,
            },
        );
        if let Err(error) = write_report(file, &text, message) {
            failures += 1;
            message.err(&[file_failure(dialect, &name, "write", &error)]);
            status = exit::run(dialect, run(failures));
        }
    }
    live.finish();
    last_words(
        dialect, command, &outcome, status, failures, &tally, message,
    );
    if let Some(signal) = interrupted {
        // So that a shell sees what ended us.
        sys::signal::die_of(signal);
    }
    ExitCode::from(status)
}

/// Where answers come from: standard input, unless the archive does.
fn answers(volumes: &[Volume]) -> Result<Box<dyn BufRead>, UsageError> {
    const TERMINAL: &str = "/dev/tty";
    if !volumes.contains(&Volume::Standard) {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(TERMINAL) {
        Ok(terminal) => Ok(Box::new(io::BufReader::new(terminal))),
        Err(cause) => Err(UsageError::File {
            option: "-w",
            name: TERMINAL.into(),
            operation: Operation::Open,
            cause,
        }),
    }
}

/// After an interrupt: what is settled, and how to go on.
fn how_to_go_on(command: &Command, outcome: &Outcome) -> Vec<Line> {
    let stats = &outcome.stats;
    let mut settled = statistics::settled(stats.sync.settled_members);
    if stats.restored.resumed > 0 {
        settled += &format!(", besides {} that were already", stats.restored.resumed);
    }
    let mut lines = vec![Line::said(settled)];
    if command.plan.journal.is_some() {
        let words = std::env::args_os().map(OsString::into_vec);
        let mut text = b"to go on: ".to_vec();
        text.extend(resume::command(words));
        lines.push(Line::said(text));
    } else {
        let how = "the same command begins anew; with --journal=FILE it can be resumed";
        lines.push(Line::said(how));
    }
    lines
}

/// The figures that were asked for, and those that star prints always.
fn figures(dialect: Dialect, command: &Command, outcome: &Outcome, message: &Message) {
    let (wishes, stats) = (&command.wishes, &outcome.stats);
    let mut lines = Vec::new();
    let star = dialect == Dialect::Star;
    let creates = command.plan.job.makes();
    if wishes.fifo_stats && !(star && wishes.no_statistics) {
        lines.extend(statistics::star_fifo(&stats.fifo));
    }
    let bytes = stats.input.archive_bytes;
    // star ends at once when it cannot open its archive.
    let unopened = bytes == 0
        && matches!(
            outcome.error,
            Some(Error::System {
                operation: Operation::Open,
                ..
            })
        );
    if star && !wishes.no_statistics && !unopened {
        let record = match stats.input.record_bytes {
            0 => command.plan.archive.record_bytes as u64,
            bytes => bytes,
        };
        lines.push(statistics::star_blocks(bytes, record));
        if wishes.time {
            lines.push(statistics::star_time(bytes, stats.wall));
        }
    }
    // GNU tar gives no totals of a run that ended early.
    if wishes.totals && outcome.error.is_none() {
        lines.push(statistics::gnu_totals(
            if creates { "written" } else { "read" },
            bytes,
            stats.wall,
        ));
    }
    if wishes.sync_stats {
        lines.extend(statistics::syncs(&command.plan, outcome));
    }
    message.err(&lines);
}

/// What is said when a run that went to its end was not all right.
fn last_words(
    dialect: Dialect,
    command: &Command,
    outcome: &Outcome,
    status: u8,
    failures: u64,
    tally: &show::Tally,
    message: &Message,
) {
    if status == 0 {
        return;
    }
    match dialect {
        // What only differs has had its say.
        Dialect::Gnu if outcome.error.is_none() && status == 1 => {}
        Dialect::Gnu if outcome.error.is_none() => {
            message.err(&[Line::said(gnu::voice::PREVIOUS_ERRORS)]);
        }
        Dialect::Gnu => {}
        Dialect::Star => {
            let silent =
                command.wishes.no_statistics || command.wishes.warnings.contains(&("all", false));
            if failures > 0 && !silent {
                message.err(&tally.problems.summary());
            }
            if outcome.error.is_none() {
                message.err(&[Line::said(star::voice::DESPITE)]);
            }
        }
    }
}

/// An open file with its name; no file stands for standard output.
type Log = (Vec<u8>, Option<File>);

fn open_logs(
    command: &Command,
    umask: u32,
) -> Result<(Option<Log>, Option<SettledLog>), UsageError> {
    let wishes = &command.wishes;
    let identity = |path: &std::path::Path| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path)
            .ok()
            .map(|state| (state.dev(), state.ino()))
    };
    let is_archive = |name: &[u8]| {
        let there = identity(OsStr::from_bytes(name).as_ref());
        let volumes = &command.plan.archive.volumes;
        there.is_some()
            && volumes.iter().any(|volume| match volume {
                Volume::File(path) => identity(path) == there,
                Volume::Standard => false,
            })
    };
    if let Some(journal) = &command.plan.journal {
        let name = journal.path.as_os_str().as_bytes();
        let logs = [&wishes.report, &wishes.settled_log];
        if is_archive(name) || logs.iter().any(|log| log.as_deref() == Some(name)) {
            return Err(UsageError::Other(
                "--journal names the archive, the report or the settled log".into(),
            ));
        }
    }
    let create = |option: &'static str, name: &[u8]| {
        // It would be cut to nothing before it is read.
        if is_archive(name) {
            return Err(UsageError::Other(format!(
                "{option} names the archive itself"
            )));
        }
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o666 & !umask)
            .open(OsStr::from_bytes(name))
            .map_err(|cause| UsageError::File {
                option,
                name: name.to_vec(),
                operation: Operation::Open,
                cause,
            })
    };
    let one_file = wishes.report.is_some() && wishes.report == wishes.settled_log;
    if one_file && wishes.report.as_deref() != Some(b"-") {
        return Err(UsageError::Other(
            "--report and --settled-log name the same file".into(),
        ));
    }
    let contents = command.plan.job == Job::ExtractToOutput;
    if contents {
        for (option, name) in [
            ("--report", &wishes.report),
            ("--settled-log", &wishes.settled_log),
        ] {
            if name.as_deref() == Some(b"-") {
                return Err(UsageError::Other(format!(
                    "{option}=- cannot go to standard output, contents of members go there"
                )));
            }
        }
    }
    let report = match wishes.report.as_deref() {
        None => None,
        Some(b"-") => Some((b"-".to_vec(), None)),
        Some(name) => Some((name.to_vec(), Some(create("--report", name)?))),
    };
    let settled = match wishes.settled_log.as_deref() {
        None => None,
        Some(b"-") => Some(SettledLog::Output),
        Some(name) => Some(SettledLog::File(
            create("--settled-log", name)?,
            name.to_vec(),
        )),
    };
    Ok((report, settled))
}

fn write_report(file: Option<File>, text: &str, message: &Message) -> io::Result<()> {
    match file {
        Some(mut file) => file.write_all(text.as_bytes()),
        None => {
            message.out(text.as_bytes());
            message.finish()
        }
    }
}

/// Standard output could not be written.
fn output_failure(dialect: Dialect, error: &io::Error) -> Line {
    match dialect {
        Dialect::Gnu => Line::said(format!("stdout: write error: {}", cause(error))),
        Dialect::Star => file_failure(dialect, b"stdout", "write", error),
    }
}

fn file_failure(dialect: Dialect, file: &[u8], verb: &str, error: &io::Error) -> Line {
    Line::said(match dialect {
        Dialect::Gnu => sentence![name(file, b":"), ": Cannot ", verb, ": ", cause(error)],
        Dialect::Star => sentence![cause(error), ". Cannot ", verb, " '", name(file, b""), "'."],
    })
}

/// When a file was last modified.
fn modified(name: &[u8]) -> io::Result<Timestamp> {
    let about = std::fs::metadata(OsStr::from_bytes(name))?;
    Ok(Timestamp {
        seconds: about.mtime(),
        nanos: u32::try_from(about.mtime_nsec()).unwrap_or(0),
    })
}

fn read_file(name: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if name == b"-" {
        io::stdin().lock().read_to_end(&mut text)?;
    } else {
        File::open(OsStr::from_bytes(name))?.read_to_end(&mut text)?;
    }
    Ok(text)
}
