//! A program that makes a volume ready.
//!
//! GNU tar's (`--info-script`): a shell command, told by the environment what is wanted; what it writes to the file
//! descriptor `TAR_FD` is the next volume's name. star's (`new-volume-script=`): a program with two arguments, the
//! volume's number and its name. Both end with status 0 when the volume is ready.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::error::{Error, Operation};
use crate::member::Format;
use crate::plan::{Job, Told, VolumeScript};
use crate::sys::KeptDescriptor;

/// The longest name that is taken from a program: more than any system opens.
const NAME_BYTES: u64 = 64 << 10;

/// What is wanted.
pub(super) struct Wanted<'a> {
    pub(super) number: u64,
    pub(super) name: &'a [u8],
    pub(super) record_bytes: usize,
    pub(super) job: Job,
    pub(super) format: Format,
}

/// Runs the program and waits for it; gives the name that it wants to be opened instead, if it says one.
pub(super) fn run(
    script: &VolumeScript,
    wanted: &Wanted<'_>,
    place: &mut KeptDescriptor,
) -> Result<Option<Vec<u8>>, Error> {
    let failed = |cause| Error::System {
        operation: Operation::Execute,
        name: script.command.clone(),
        cause,
    };
    let (status, said) = match script.told {
        Told::Environment => with_environment(&script.command, wanted, place),
        Told::Arguments => Command::new(OsStr::from_bytes(&script.command))
            .arg(wanted.number.to_string())
            .arg(OsStr::from_bytes(wanted.name))
            .status()
            .map(|status| (status, Vec::new())),
    }
    .map_err(failed)?;
    if !status.success() {
        return Err(Error::VolumeScript(script.command.clone()));
    }
    let line = said.split(|&byte| byte == b'\n').next();
    Ok(line.filter(|line| !line.is_empty()).map(<[u8]>::to_vec))
}

fn with_environment(
    command: &[u8],
    wanted: &Wanted<'_>,
    place: &mut KeptDescriptor,
) -> io::Result<(std::process::ExitStatus, Vec<u8>)> {
    let (mut answer, end) = io::pipe()?;
    place.lend(&end)?;
    drop(end);
    let child = Command::new("/bin/sh")
        .arg("-c")
        .arg(OsStr::from_bytes(command))
        .env("TAR_VERSION", env!("CARGO_PKG_VERSION"))
        .env("TAR_ARCHIVE", OsStr::from_bytes(wanted.name))
        .env("TAR_VOLUME", wanted.number.to_string())
        .env(
            "TAR_BLOCKING_FACTOR",
            (wanted.record_bytes / 512).to_string(),
        )
        .env(
            "TAR_SUBCOMMAND",
            if wanted.job == Job::List { "-t" } else { "-x" },
        )
        .env("TAR_FORMAT", format_word(wanted.format))
        .env("TAR_FD", place.number().to_string())
        .spawn();
    // At once, so that the end of the program is the end of what it says.
    place.take_back()?;
    let mut child = child?;
    let mut said = Vec::new();
    let read = answer.by_ref().take(NAME_BYTES).read_to_end(&mut said);
    // Closed before the wait: a program that says more than that does not wait for us.
    drop(answer);
    let status = child.wait()?;
    read?;
    Ok((status, said))
}

/// GNU tar's words for formats; those that it has no word for are told by the one they are made from.
fn format_word(format: Format) -> &'static str {
    match format {
        Format::V7 | Format::Star => "v7",
        Format::Gnu => "gnu",
        Format::Pax | Format::Exustar | Format::Suntar => "posix",
        Format::Ustar | Format::Xstar | Format::Xustar => "ustar",
    }
}
