//! One line for each member, as GNU tar and star write them.
//!
//! GNU tar's lines are measured (1.34) and given byte for byte, with two exceptions. User and group names with
//! characters that cannot be printed are escaped as member names are; GNU tar hands them to the terminal. And years
//! beyond 2147483647 are themselves, where GNU tar's overflow and turn negative.
//!
//! star's long line for a regular file, its line for an extracted file and for an extracted directory are measured
//! (1.7.0); the other forms follow its manual and its public sources, and are marked below. star writes names as they
//! are; here names with characters that cannot be printed are escaped, unless the quoting style is `literal`.

use std::borrow::Cow;
use std::io::Write as _;

use super::quote::{Charset, Quoter, Style};
use super::time::{self, BrokenDownTime, Detail};
use crate::member::{Kind, Member};

/// How lines are made.
pub struct Options<'a> {
    /// The long form (`-v`); otherwise the name only.
    pub verbose: bool,
    /// Owner and group as numbers (`--numeric-owner`, `-numeric`).
    pub numeric_owner: bool,
    /// A block number before the line (`--block-number`, `-block-number`).
    pub block_number: Option<u64>,
    /// GNU: how much of the time is shown (`--full-time`).
    pub detail: Detail,
    /// star: names only, no link targets (`-tpath`).
    pub path_only: bool,
    /// How names are quoted.
    pub quoter: &'a Quoter,
    /// What time it is at the user's place; [`time::utc`] for `--utc`.
    pub local: &'a dyn Fn(i64) -> Option<BrokenDownTime>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("verbose", &self.verbose)
            .field("numeric_owner", &self.numeric_owner)
            .field("block_number", &self.block_number)
            .field("detail", &self.detail)
            .field("path_only", &self.path_only)
            .field("quoter", &self.quoter)
            .finish_non_exhaustive()
    }
}

/// How wide the columns of a listing have become: they grow, and never shrink again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Owner, group and size with the characters between them.
    owner_size: usize,
    /// Date and time.
    date: usize,
}

impl Default for Widths {
    /// What GNU tar begins with: user/group and size in 19 columns, a date with minutes in 16.
    fn default() -> Self {
        Self {
            owner_size: 19,
            date: 16,
        }
    }
}

/// The names that a line shows: the archive's own, or what they become on disk (`--show-transformed-names`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// The member's.
    pub name: &'a [u8],
    /// Its link's target.
    pub link: &'a [u8],
}

impl<'a> Names<'a> {
    /// As the archive has them.
    #[must_use]
    pub fn of(member: &'a Member) -> Self {
        Self {
            name: &member.name,
            link: &member.link,
        }
    }
}

/// A line of `tar -t` or `tar -tv` as GNU tar writes it, with its newline.
pub fn gnu(
    member: &Member,
    names: Names<'_>,
    options: &Options<'_>,
    widths: &mut Widths,
    out: &mut Vec<u8>,
) {
    if let Some(block) = options.block_number {
        push(out, format_args!("block {block}: "));
    }
    let shown = gnu_name(names.name);
    if !options.verbose {
        options.quoter.quote(&shown, out);
        out.push(b'\n');
        return;
    }
    out.push(gnu_type(member));
    push_mode(member.mode, b'S', out);
    let user = owner(&member.uname, member.uid, options);
    let group = owner(&member.gname, member.gid, options);
    let size = match member.kind {
        Kind::CharDevice | Kind::BlockDevice => {
            format!("{},{}", member.device.0, member.device.1)
        }
        // What a header says of a link's size is about the file it points to.
        Kind::HardLink | Kind::Symlink => "0".into(),
        // What of it is on this volume and those behind it.
        Kind::Continuation => member.stored.to_string(),
        // The list of what it held.
        Kind::Directory if member.typeflag == b'D' => {
            member.dumpdir.as_ref().map_or(0, Vec::len).to_string()
        }
        _ => member.size.to_string(),
    };
    let used = user.len() + 1 + group.len() + 1 + size.len();
    widths.owner_size = widths.owner_size.max(used);
    out.push(b' ');
    out.extend_from_slice(&user);
    out.push(b'/');
    out.extend_from_slice(&group);
    out.push(b' ');
    spaces(widths.owner_size - used, out);
    out.extend_from_slice(size.as_bytes());
    out.push(b' ');
    let before = out.len();
    time::push(member.mtime, options.local, options.detail, out);
    let used = out.len() - before;
    widths.date = widths.date.max(used);
    spaces(widths.date - used, out);
    out.push(b' ');
    options.quoter.quote(&shown, out);
    gnu_tail(member, names.link, options.quoter, out);
    out.push(b'\n');
}

/// The line of `tar -xvv` for a directory that was made on the way to a member: its mode, and its name where names
/// stand.
pub fn gnu_directory_made(
    path: &[u8],
    mode: u32,
    quoter: &Quoter,
    widths: &Widths,
    out: &mut Vec<u8>,
) {
    const WHAT: &[u8] = b"Creating directory:";
    out.push(b'd');
    push_mode(mode, b'S', out);
    out.push(b' ');
    spaces(
        (widths.owner_size + 1 + widths.date).saturating_sub(WHAT.len()),
        out,
    );
    out.extend_from_slice(WHAT);
    out.push(b' ');
    quoter.quote(path, out);
    out.push(b'\n');
}

/// The line of `--block-number` for the zero block that ends an archive.
pub fn gnu_zero_block(block: u64, out: &mut Vec<u8>) {
    push(out, format_args!("block {block}: ** Block of NULs **\n"));
}

/// GNU tar takes trailing slashes off when it reads a name and puts one back when it shows it.
fn gnu_name(name: &[u8]) -> Cow<'_, [u8]> {
    match name {
        [.., b'/', b'/'] => {
            let end = name
                .iter()
                .rposition(|&byte| byte != b'/')
                .map_or(1, |at| at + 2);
            Cow::Borrowed(&name[..end])
        }
        _ => Cow::Borrowed(name),
    }
}

fn gnu_type(member: &Member) -> u8 {
    match member.kind {
        Kind::HardLink => b'h',
        Kind::Symlink => b'l',
        Kind::CharDevice => b'c',
        Kind::BlockDevice => b'b',
        Kind::Directory => b'd',
        Kind::Fifo => b'p',
        Kind::Socket => b's',
        Kind::VolumeHeader => b'V',
        Kind::Continuation => b'M',
        Kind::Regular => match member.typeflag {
            b'7' => b'C',
            _ if is_unknown(member) => b'?',
            _ => b'-',
        },
    }
}

/// Whether a member is taken as a regular file because nobody knows its type.
fn is_unknown(member: &Member) -> bool {
    member.kind == Kind::Regular && !matches!(member.typeflag, 0 | b'0' | b'7' | b'S')
}

fn gnu_tail(member: &Member, link: &[u8], quoter: &Quoter, out: &mut Vec<u8>) {
    match member.kind {
        Kind::HardLink => {
            out.extend_from_slice(b" link to ");
            quoter.quote(link, out);
        }
        Kind::Symlink => {
            out.extend_from_slice(b" -> ");
            quoter.quote(link, out);
        }
        Kind::VolumeHeader => out.extend_from_slice(b"--Volume Header--"),
        Kind::Continuation => {
            push(out, format_args!("--Continued at byte {}--", member.offset));
        }
        _ if is_unknown(member) => {
            out.extend_from_slice(b" unknown file type ");
            Quoter::new(Style::Locale, quoter.charset).quote(&[member.typeflag], out);
        }
        _ => {}
    }
}

/// A line of `star -t` or `star -tv`, with its newline; star's columns do not grow.
///
/// Measured: regular files, directories. From its manual and sources: devices, `H` for hard links, the link count of
/// SCHILY.nlink, `+` and `@` for ACLs and attributes, what follows the name.
pub fn star(
    member: &Member,
    names: Names<'_>,
    options: &Options<'_>,
    _widths: &mut Widths,
    out: &mut Vec<u8>,
) {
    star_block(options, out);
    if options.verbose {
        star_columns(member, options, out);
    }
    plain(names.name, options.quoter, out);
    if options.path_only {
        out.push(b'\n');
        return;
    }
    match member.kind {
        Kind::HardLink => {
            out.extend_from_slice(b" link to ");
            plain(names.link, options.quoter, out);
        }
        Kind::Symlink => {
            out.extend_from_slice(b" -> ");
            plain(names.link, options.quoter, out);
        }
        Kind::VolumeHeader => out.extend_from_slice(b" --Volume Header--"),
        Kind::Continuation => {
            push(
                out,
                format_args!(" --Continued at byte {}--", member.offset),
            );
        }
        _ => {}
    }
    out.push(b'\n');
}

/// star's line for a member that was extracted (`-xv`), with its newline.
///
/// Measured: regular files and directories. From its sources: links and special files.
pub fn star_extracted(member: &Member, names: Names<'_>, options: &Options<'_>, out: &mut Vec<u8>) {
    star_block(options, out);
    if options.path_only {
        plain(names.name, options.quoter, out);
        out.push(b'\n');
        return;
    }
    out.extend_from_slice(b"x ");
    plain(names.name, options.quoter, out);
    match member.kind {
        Kind::Directory => out.extend_from_slice(b" directory"),
        Kind::HardLink => {
            out.extend_from_slice(b" link to ");
            plain(names.link, options.quoter, out);
        }
        Kind::Symlink => {
            out.extend_from_slice(b" symbolic link to ");
            plain(names.link, options.quoter, out);
        }
        Kind::CharDevice | Kind::BlockDevice | Kind::Fifo | Kind::Socket => {
            out.extend_from_slice(b" special");
        }
        Kind::Regular | Kind::VolumeHeader | Kind::Continuation => push(
            out,
            format_args!(
                " {} bytes, {} tape blocks",
                member.size,
                member.stored.div_ceil(512)
            ),
        ),
    }
    out.push(b'\n');
}

fn star_block(options: &Options<'_>, out: &mut Vec<u8>) {
    if let Some(block) = options.block_number {
        push(out, format_args!("block {block:>9}: "));
    }
}

fn star_columns(member: &Member, options: &Options<'_>, out: &mut Vec<u8>) {
    match member.kind {
        Kind::CharDevice | Kind::BlockDevice => push(
            out,
            format_args!("{:>3} {:>3}", member.device.0, member.device.1),
        ),
        _ => push(out, format_args!("{:>7}", member.size)),
    }
    out.push(b' ');
    out.push(match member.kind {
        Kind::HardLink => b'H',
        Kind::Symlink => b'l',
        Kind::CharDevice => b'c',
        Kind::BlockDevice => b'b',
        Kind::Directory if member.typeflag == b'D' => b'D',
        Kind::Directory => b'd',
        Kind::Fifo => b'p',
        Kind::Socket => b's',
        Kind::VolumeHeader => b'V',
        Kind::Continuation => b'M',
        Kind::Regular if member.typeflag == b'7' => b'C',
        Kind::Regular if member.sparse.is_some() => b'S',
        Kind::Regular => b'-',
    });
    // star tells a set-group-id directory from a file with mandatory locking.
    let locked = if member.kind == Kind::Directory {
        b'S'
    } else {
        b'l'
    };
    push_mode(member.mode, locked, out);
    let has = |prefix: &[u8]| {
        member
            .records
            .iter()
            .any(|record| record.key.starts_with(prefix))
    };
    match (has(b"SCHILY.acl."), has(b"SCHILY.xattr.")) {
        (false, false) => out.push(b' '),
        (true, false) => out.push(b'+'),
        (false, true) => out.push(b'@'),
        (true, true) => out.extend_from_slice(b"+@"),
    }
    let links = member
        .record(b"SCHILY.nlink")
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|value| value.parse::<u64>().ok());
    if let Some(links) = links.filter(|&links| links > 0) {
        push(out, format_args!(" {links:>2}"));
    }
    let user = owner(&member.uname, member.uid, options);
    let group = owner(&member.gname, member.gid, options);
    out.push(b' ');
    spaces(3_usize.saturating_sub(user.len()), out);
    out.extend_from_slice(&user);
    out.push(b'/');
    out.extend_from_slice(&group);
    spaces(3_usize.saturating_sub(group.len()), out);
    out.push(b' ');
    star_date(member, options, out);
    out.push(b' ');
}

/// The parts of ctime(3): `Aug 12 23:26 2012`. Not measured: years beyond 9999, which star cuts to four digits, are
/// whole here; a time without a date is its number.
fn star_date(member: &Member, options: &Options<'_>, out: &mut Vec<u8>) {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    match (options.local)(member.mtime.seconds) {
        None => push(out, format_args!("{}", member.mtime.seconds)),
        Some(t) => push(
            out,
            format_args!(
                "{} {:>2} {:02}:{:02} {}",
                MONTHS[usize::from(t.month.clamp(1, 12)) - 1],
                t.day,
                t.hour,
                t.minute,
                t.year
            ),
        ),
    }
}

/// A name as it is, unless it holds something that cannot be printed: then escaped.
fn plain(name: &[u8], quoter: &Quoter, out: &mut Vec<u8>) {
    if quoter.style == Style::Literal || printable(name, quoter.charset) {
        out.extend_from_slice(name);
    } else {
        Quoter::new(Style::Escape, quoter.charset).quote(name, out);
    }
}

fn printable(name: &[u8], charset: Charset) -> bool {
    if name.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return true;
    }
    // Nothing but backslashes is escaped in what can be printed.
    let escaped = Quoter::new(Style::Escape, charset).quoted(name);
    let backslashes = name.iter().filter(|&&byte| byte == b'\\').count();
    escaped.len() == name.len() + backslashes
}

/// A user or group by name, or by number where the archive has no name.
fn owner<'a>(name: &'a [u8], number: u64, options: &Options<'_>) -> Cow<'a, [u8]> {
    if options.numeric_owner || name.is_empty() {
        return Cow::Owned(number.to_string().into_bytes());
    }
    if options.quoter.style == Style::Literal || printable(name, options.quoter.charset) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(Quoter::new(Style::Escape, options.quoter.charset).quoted(name))
}

/// `rwxr-xr-x`, with set-id and sticky bits; `group` stands for a set-group-id bit where the group may not execute.
fn push_mode(mode: u32, group: u8, out: &mut Vec<u8>) {
    let bit = |bit: u32, letter: u8| if mode & bit != 0 { letter } else { b'-' };
    let execute = |special: u32, bit: u32, both: u8, alone: u8| match (
        mode & special != 0,
        mode & bit != 0,
    ) {
        (true, true) => both,
        (true, false) => alone,
        (false, true) => b'x',
        (false, false) => b'-',
    };
    out.extend([
        bit(0o400, b'r'),
        bit(0o200, b'w'),
        execute(0o4000, 0o100, b's', b'S'),
        bit(0o040, b'r'),
        bit(0o020, b'w'),
        execute(0o2000, 0o010, b's', group),
        bit(0o004, b'r'),
        bit(0o002, b'w'),
        execute(0o1000, 0o001, b't', b'T'),
    ]);
}

fn spaces(count: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + count, b' ');
}

fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a Vec cannot fail");
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
