//! The durastar-bench program: a command line over [`durastar::bench`], tables and files out.

mod args;
mod help;
#[cfg(test)]
mod man;
mod progress;
mod table;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use durastar::bench::{self, Control, Error, Setup, page, text};
use durastar::sys::{self, signal};
use serde_json::Value;

use args::{Common, Wish};
use progress::Progress;

/// Wrong use.
const REFUSED: u8 = 2;
/// Something failed.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    sys::reset_sigpipe();
    sys::raise_open_files();
    let words: Vec<_> = std::env::args_os().collect();
    let command = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let wish = match args::parse(words.into_iter().skip(1).collect(), sys::is_superuser()) {
        Ok(wish) => wish,
        Err(reason) => {
            complain(&reason);
            eprintln!("Try 'durastar-bench --help'.");
            return ExitCode::from(REFUSED);
        }
    };
    let control = Arc::new(Control::default());
    let asked = watch_signals(&control);
    let setup = Setup {
        path: std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect(),
        durastar: beside(),
        command,
        umask: sys::umask(),
        control,
    };
    let result = act(wish, setup);
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Error::Interrupted) => {
            complain("interrupted; what was made is put away");
            signal::die_of(asked.load(Ordering::SeqCst));
        }
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(match error {
                Error::Refused(_) => REFUSED,
                _ => FAILED,
            })
        }
    }
}

fn complain(text: &str) {
    eprintln!("durastar-bench: {text}");
}

/// The durastar beside this program.
fn beside() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("durastar")
}

/// A signal asks for the end; how, is kept for the end of this program.
fn watch_signals(control: &Arc<Control>) -> Arc<AtomicI32> {
    let asked = Arc::new(AtomicI32::new(signal::INTERRUPT));
    let signals = [signal::INTERRUPT, signal::HANGUP, signal::TERMINATE];
    // Without descriptors for a pipe signals keep their defaults.
    if let Ok(mut watcher) = signal::watch(&signals) {
        let (control, kept) = (Arc::clone(control), Arc::clone(&asked));
        let watch = move || {
            while let Ok(signal) = watcher.wait() {
                kept.store(signal, Ordering::SeqCst);
                control.stop();
            }
        };
        let _ = std::thread::Builder::new()
            .name("signals".into())
            .spawn(watch);
    }
    asked
}

fn act(wish: Wish, mut setup: Setup) -> Result<u8, Error> {
    let mut progress = Progress::new();
    let mut name = None;
    let (result, common) = match wish {
        Wish::Help(None) => return put(help::program().as_bytes()),
        Wish::Help(Some(command)) => return put(help::command(command).as_bytes()),
        Wish::Version => {
            let text = format!("durastar-bench {}\n", env!("CARGO_PKG_VERSION"));
            return put(text.as_bytes());
        }
        Wish::Report { files, output } => return report(&files, output.as_deref()),
        Wish::Extract(request, common) => {
            choose(&mut setup, &common)?;
            (bench::extract::run(&request, &setup, &mut progress), common)
        }
        Wish::Create(request, common) => {
            choose(&mut setup, &common)?;
            (bench::create::run(&request, &setup, &mut progress), common)
        }
        Wish::Tree(request, common) => {
            writable(&common)?;
            let mut made = request.shape.name();
            if request.archive {
                made.push_str(".tar");
            }
            name = Some(made);
            (bench::tree::run(&request, &setup, &mut progress), common)
        }
        Wish::Disk(request, common) => {
            writable(&common)?;
            (bench::probe::run(&request, &setup, &mut progress), common)
        }
    };
    progress.clear();
    let result = result?;
    let table = text::render(&result);
    let json = format!("{result:#}\n");
    match common.json.as_deref() {
        Some(file) if file == Path::new("-") => put(json.as_bytes())?,
        Some(file) => {
            write(file, json.as_bytes())?;
            show(&table, name.as_deref())?
        }
        None => show(&table, name.as_deref())?,
    };
    let failed = |cell: &Value| !cell["failed"].is_null();
    let cells = result["cells"].as_array();
    Ok(if cells.is_some_and(|cells| cells.iter().any(failed)) {
        FAILED
    } else {
        0
    })
}

/// A tree's name is for scripts: it stands alone on standard output, and the figures beside it.
fn show(table: &str, name: Option<&str>) -> Result<u8, Error> {
    match name {
        Some(name) => {
            eprint!("{table}");
            put(format!("{name}\n").as_bytes())
        }
        None => put(table.as_bytes()),
    }
}

fn choose(setup: &mut Setup, common: &Common) -> Result<(), Error> {
    if let Some(program) = &common.durastar {
        setup.durastar.clone_from(program);
        // A bare name would be looked for in the path, and it is a file that is meant.
        if let Ok(program) = fs::canonicalize(program) {
            setup.durastar = program;
        }
    }
    writable(common)
}

/// Hours of measuring must not end in a file that cannot be written.
fn writable(common: &Common) -> Result<(), Error> {
    match common.json.as_deref() {
        Some(file) if file != Path::new("-") => fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o644)
            .open(file)
            .map(drop)
            .map_err(|cause| failed("write", file, cause)),
        _ => Ok(()),
    }
}

fn report(files: &[PathBuf], output: Option<&Path>) -> Result<u8, Error> {
    let mut results = Vec::new();
    for file in files {
        let bytes = fs::read(file).map_err(|cause| failed("read", file, cause))?;
        let refuse = |what: &str| Error::Refused(format!("{}: {what}", file.display()));
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| refuse(&format!("no JSON: {error}")))?;
        match value["durastar_bench"].as_u64() {
            Some(bench::VERSION) => results.push(value),
            Some(other) => {
                return Err(refuse(&format!(
                    "its layout has the number {other}, and this program knows {}",
                    bench::VERSION
                )));
            }
            None => return Err(refuse("no result of durastar-bench")),
        }
    }
    match output {
        Some(file) if file != Path::new("-") => {
            write(file, page::render(&results).as_bytes())?;
            Ok(0)
        }
        Some(_) => put(page::render(&results).as_bytes()),
        None => {
            let tables: Vec<String> = results.iter().map(text::render).collect();
            put(tables.join("\n").as_bytes())
        }
    }
}

fn failed(verb: &str, file: &Path, cause: io::Error) -> Error {
    Error::System {
        what: format!("{verb} {}", file.display()),
        cause,
    }
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o644)
        .open(file)
        .and_then(|mut open| open.write_all(bytes))
        .map_err(|cause| failed("write", file, cause))
}

fn put(bytes: &[u8]) -> Result<u8, Error> {
    let mut output = io::stdout().lock();
    output
        .write_all(bytes)
        .and_then(|()| output.flush())
        .map_err(|cause| failed("write", Path::new("standard output"), cause))?;
    Ok(0)
}
