//! The durastar program: argv, environment and standard streams in, an exit status out.

mod cli;

use std::process::ExitCode;

use durastar::sys;

fn main() -> ExitCode {
    sys::reset_sigpipe();
    sys::ignore_sigxfsz();
    let umask = sys::take_umask();
    sys::raise_open_files();
    cli::run(std::env::args_os(), umask)
}
