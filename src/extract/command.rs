//! Contents that go to a program instead of a file: one process of the shell for each regular member.
//!
//! What is known of the member is in its environment, as GNU tar's manual says under "Writing to an External Program".
//! The program may end before it has read everything; then the rest is passed over and its status decides. For that a
//! write to a pipe that nobody reads has to be an error, so whoever runs such a plan has SIGPIPE ignored (Rust's default).

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Stdio};

use super::extents::write_out;
use crate::error::{Complaint, Condition, Error, Operation};
use crate::member::{Format, Member, MemberStream, Timestamp};
use crate::plan::{Command, Plan};

/// Gives members to programs.
#[derive(Debug)]
pub struct Commands<'p> {
    command: &'p Command,
    record_bytes: usize,
    /// What stands for times that the archive does not have, as in GNU tar.
    started: Timestamp,
}

/// Standard input of the program. Once nobody reads it, everything else is passed over.
struct Pipe {
    input: Option<process::ChildStdin>,
    /// Why something could not be written.
    failed: Option<io::Error>,
}

impl Write for Pipe {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self.input.as_mut().map(|input| input.write(data)) {
            Some(Ok(count)) => return Ok(count),
            Some(Err(error)) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Some(Err(error)) if error.kind() != ErrorKind::BrokenPipe => self.failed = Some(error),
            _ => {}
        }
        self.input = None;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'p> Commands<'p> {
    /// For a plan that names a command; `started` is now.
    #[must_use]
    pub fn new(plan: &'p Plan, started: Timestamp) -> Option<Self> {
        Some(Self {
            command: plan.extract.command.as_ref()?,
            record_bytes: plan.archive.record_bytes,
            started,
        })
    }

    /// Runs the command for one regular member and waits for it. Gives what is to be complained of.
    ///
    /// # Errors
    /// The archive cannot be read on.
    pub fn run<M: MemberStream>(
        &self,
        member: &Member,
        name: &[u8],
        stream: &mut M,
    ) -> Result<Option<Complaint>, Error> {
        let spawned = self.shell(member, name).stdin(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(cause) => return Ok(Some(Complaint::system(name, Operation::Execute, cause))),
        };
        let mut pipe = Pipe {
            input: child.stdin.take(),
            failed: None,
        };
        let written = write_out(member, stream, &mut pipe);
        let failed = pipe.failed.take();
        // So that it sees the end, also of contents that the archive does not have whole.
        drop(pipe);
        let status = child.wait();
        written?;
        let process = child.id();
        Ok(match (status, failed) {
            (Err(cause), _) => Some(Complaint::system(name, Operation::Execute, cause)),
            (_, Some(cause)) => Some(Complaint::system(name, Operation::Write, cause)),
            (Ok(status), None) => match (status.code(), status.signal()) {
                (Some(status), _) if status != 0 && !self.command.ignore_status => Some(
                    Complaint::failure(name, Condition::CommandFailed { process, status }),
                ),
                // GNU tar's exit status does not tell of these.
                (None, Some(signal)) => Some(Complaint::warning(
                    name,
                    Condition::CommandKilled { process, signal },
                )),
                _ => None,
            },
        })
    }

    fn shell(&self, member: &Member, name: &[u8]) -> process::Command {
        let mut shell = process::Command::new("/bin/sh");
        shell.arg("-c").arg(OsStr::from_bytes(&self.command.line));
        let blocks = (self.record_bytes / 512).to_string();
        let format: &[u8] = match member.format {
            Format::V7 => b"v7",
            Format::Ustar => b"ustar",
            Format::Gnu => b"gnu",
            Format::Pax | Format::Exustar | Format::Suntar => b"posix",
            Format::Star | Format::Xstar | Format::Xustar => b"star",
        };
        let time = |time: Option<Timestamp>| decimal(time.unwrap_or(self.started)).into_bytes();
        let number = |number: u64| number.to_string().into_bytes();
        let name = name.strip_suffix(b"/").unwrap_or(name);
        for (key, value) in [
            ("TAR_VERSION", env!("CARGO_PKG_VERSION").into()),
            ("TAR_ARCHIVE", self.command.archive.clone()),
            ("TAR_VOLUME", number(1)),
            ("TAR_BLOCKING_FACTOR", blocks.into_bytes()),
            ("TAR_FORMAT", format.to_vec()),
            ("TAR_FILETYPE", b"f".to_vec()),
            ("TAR_MODE", format!("0{:o}", member.mode).into_bytes()),
            ("TAR_FILENAME", name.to_vec()),
            ("TAR_REALNAME", name.to_vec()),
            ("TAR_UNAME", member.uname.clone()),
            ("TAR_GNAME", member.gname.clone()),
            ("TAR_ATIME", time(member.atime)),
            ("TAR_MTIME", time(Some(member.mtime))),
            ("TAR_CTIME", time(member.ctime)),
            ("TAR_SIZE", number(member.size)),
            ("TAR_UID", number(member.uid)),
            ("TAR_GID", number(member.gid)),
        ] {
            shell.env(key, OsStr::from_bytes(&value));
        }
        for (key, missing) in [
            ("TAR_UNAME", member.uname.is_empty()),
            ("TAR_GNAME", member.gname.is_empty()),
        ] {
            if missing {
                shell.env_remove(key);
            }
        }
        for key in ["TAR_LINKNAME", "TAR_MAJOR", "TAR_MINOR"] {
            shell.env_remove(key);
        }
        shell
    }
}

/// Seconds with as many decimals as they need.
fn decimal(time: Timestamp) -> String {
    let (sign, seconds, nanos) = if time.seconds < 0 && time.nanos > 0 {
        (
            "-",
            (time.seconds + 1).unsigned_abs(),
            1_000_000_000 - time.nanos,
        )
    } else if time.seconds < 0 {
        ("-", time.seconds.unsigned_abs(), 0)
    } else {
        ("", time.seconds.unsigned_abs(), time.nanos)
    };
    if nanos == 0 {
        return format!("{sign}{seconds}");
    }
    let text = format!("{sign}{seconds}.{nanos:09}");
    text.trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, decimal};

    #[test]
    fn times_have_the_decimals_they_need() {
        for (seconds, nanos, text) in [
            (0, 0, "0"),
            (1_796_098_872, 0, "1796098872"),
            (1_796_098_872, 196_623_430, "1796098872.19662343"),
            (10, 5, "10.000000005"),
            (-1, 500_000_000, "-0.5"),
            (-2, 0, "-2"),
            (i64::MIN, 0, "-9223372036854775808"),
        ] {
            assert_eq!(decimal(Timestamp { seconds, nanos }), text);
        }
    }
}
