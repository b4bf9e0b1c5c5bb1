//! What is printed for a member: which line, with which name.
//!
//! The long lines and the quoting styles belong to `render`; [`long_gnu`], [`long_star`] and [`quoted`] are the places
//! where it will be called, and until then hold a plain stand-in.

use durastar::member::{Kind, Member};
use durastar::sys::time;

use super::assemble::{Command, Wishes};
use super::dialect::{Dialect, voice};
use super::setting::Quoting;

use durastar::plan::Job;

/// Prints members of one run: column widths grow as it goes.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    dialect: Dialect,
    command: &'a Command,
    /// The width of owner, group and size together, as GNU tar keeps it.
    width: usize,
}

impl<'a> Listing<'a> {
    /// For this run.
    pub(crate) fn new(dialect: Dialect, command: &'a Command) -> Self {
        Self {
            dialect,
            command,
            width: 19,
        }
    }

    /// The line for a member, if there is one, with its newline.
    pub(crate) fn line(&mut self, member: &Member, name: &[u8], out: &mut Vec<u8>) {
        let wishes = &self.command.wishes;
        let listing = self.command.plan.job == Job::List && !wishes.trace;
        // How much is printed: 0 nothing, 1 the name (star extracting: what is done), 2 a long line.
        let detail = wishes.verbose + u8::from(listing || wishes.trace);
        if detail == 0 {
            return;
        }
        let name = if wishes.transformed_names {
            name
        } else {
            &member.name
        };
        match self.dialect {
            Dialect::Gnu => {
                if wishes.block_number {
                    out.extend_from_slice(format!("block {}: ", member.block).as_bytes());
                }
                if detail > 1 {
                    long_gnu(member, name, self.command, &mut self.width, out);
                } else {
                    quoted(wishes.quoting, name, out);
                }
            }
            Dialect::Star => self.star(member, name, listing, detail, out),
        }
        out.push(b'\n');
    }

    fn star(&self, member: &Member, name: &[u8], listing: bool, detail: u8, out: &mut Vec<u8>) {
        let wishes = &self.command.wishes;
        if wishes.block_number {
            out.extend_from_slice(format!("block {:9}: ", member.block).as_bytes());
        }
        if !listing && !wishes.paths_only {
            out.extend_from_slice(b"x ");
        }
        if wishes.paths_only || (listing && detail == 1) {
            out.extend_from_slice(&voice::name(name, b""));
        } else if detail > 1 {
            long_star(member, name, self.command, out);
        } else {
            done_star(member, name, out);
        }
    }
}

/// What star says of a member that it extracts.
fn done_star(member: &Member, name: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&voice::name(name, b""));
    let link = voice::name(&member.link, b"");
    match member.kind {
        Kind::Directory => out.extend_from_slice(b" directory"),
        Kind::HardLink => {
            out.extend_from_slice(b" link to ");
            out.extend_from_slice(&link);
        }
        Kind::Symlink => {
            out.extend_from_slice(b" symbolic link to ");
            out.extend_from_slice(&link);
        }
        Kind::CharDevice | Kind::BlockDevice | Kind::Fifo | Kind::Socket => {
            out.extend_from_slice(b" special");
        }
        Kind::Regular | Kind::VolumeHeader | Kind::Continuation => out.extend_from_slice(
            format!(
                " {} bytes, {} tape blocks",
                member.size,
                member.stored.div_ceil(512)
            )
            .as_bytes(),
        ),
    }
}

/// Call site of `render::quote`.
pub(crate) fn quoted(style: Quoting, name: &[u8], out: &mut Vec<u8>) {
    match style {
        Quoting::Literal => out.extend_from_slice(name),
        _ => out.extend_from_slice(&voice::name(name, b"")),
    }
}

/// Call site of `render::listing::gnu`.
fn long_gnu(member: &Member, name: &[u8], command: &Command, width: &mut usize, out: &mut Vec<u8>) {
    let wishes = &command.wishes;
    let (owner, group) = owners(member, command);
    let size = match member.kind {
        Kind::CharDevice | Kind::BlockDevice => {
            format!("{},{}", member.device.0, member.device.1)
        }
        _ => member.size.to_string(),
    };
    let needed = owner.len() + 1 + group.len() + 1 + size.len();
    *width = (*width).max(needed);
    out.extend_from_slice(mode(member).as_bytes());
    out.push(b' ');
    out.extend_from_slice(&owner);
    out.push(b'/');
    out.extend_from_slice(&group);
    out.extend(std::iter::repeat_n(b' ', *width - needed + 1));
    out.extend_from_slice(size.as_bytes());
    out.push(b' ');
    out.extend_from_slice(stamp(member, wishes).as_bytes());
    out.push(b' ');
    quoted(wishes.quoting, name, out);
    let arrow: &[u8] = match member.kind {
        Kind::Symlink => b" -> ",
        Kind::HardLink => b" link to ",
        _ => return,
    };
    out.extend_from_slice(arrow);
    quoted(wishes.quoting, &member.link, out);
}

/// Call site of `render::listing::star`.
fn long_star(member: &Member, name: &[u8], command: &Command, out: &mut Vec<u8>) {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (owner, group) = owners(member, command);
    let owner = format!(
        "{:>3}/{:<3}",
        String::from_utf8_lossy(&owner),
        String::from_utf8_lossy(&group)
    );
    let stamp = time::local(member.mtime.seconds).map_or_else(String::new, |at| {
        let month = MONTHS[(at.month as usize - 1).min(11)];
        format!(
            "{month} {:2} {:02}:{:02} {}",
            at.day, at.hour, at.minute, at.year
        )
    });
    out.extend_from_slice(
        format!("{:7} {} {owner} {stamp} ", member.size, mode(member)).as_bytes(),
    );
    out.extend_from_slice(&voice::name(name, b""));
    let arrow: &[u8] = match member.kind {
        Kind::Symlink => b" -> ",
        Kind::HardLink => b" link to ",
        _ => return,
    };
    out.extend_from_slice(arrow);
    out.extend_from_slice(&voice::name(&member.link, b""));
}

fn owners(member: &Member, command: &Command) -> (Vec<u8>, Vec<u8>) {
    let numeric = command.plan.extract.numeric_owner;
    let of = |name: &[u8], id: u64| {
        if numeric || name.is_empty() {
            id.to_string().into_bytes()
        } else {
            name.to_vec()
        }
    };
    (of(&member.uname, member.uid), of(&member.gname, member.gid))
}

fn stamp(member: &Member, wishes: &Wishes) -> String {
    let civil = if wishes.utc {
        time::utc(member.mtime.seconds)
    } else {
        time::local(member.mtime.seconds)
    };
    let Some(at) = civil else {
        return member.mtime.seconds.to_string();
    };
    let date = format!(
        "{:04}-{:02}-{:02} {:02}:{:02}",
        at.year, at.month, at.day, at.hour, at.minute
    );
    if wishes.full_time {
        format!("{date}:{:02}.{:09}", at.second, member.mtime.nanos)
    } else {
        date
    }
}

fn mode(member: &Member) -> String {
    let kind = match member.kind {
        Kind::Regular => '-',
        Kind::HardLink => 'h',
        Kind::Symlink => 'l',
        Kind::CharDevice => 'c',
        Kind::BlockDevice => 'b',
        Kind::Directory => 'd',
        Kind::Fifo => 'p',
        Kind::Socket => 's',
        Kind::VolumeHeader => 'V',
        Kind::Continuation => 'M',
    };
    let mut text = String::from(kind);
    for (shift, special, set, plain) in [
        (6, 0o4000, 's', 'S'),
        (3, 0o2000, 's', 'S'),
        (0, 0o1000, 't', 'T'),
    ] {
        let bits = member.mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (bits & 1 != 0, member.mode & special != 0) {
            (true, true) => set,
            (false, true) => plain,
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    text
}
