//! A member against the file on disk.
//!
//! What is compared, and in which order, is GNU tar's (`-d`): of a regular file the mode, owner, group, time, size and
//! contents; of a directory the mode; of links where they lead; of devices their number. Names of owners do not count,
//! their numbers do. Holes have to read as zeros.

use std::ffi::CString;
use std::io;

use crate::disk::{Disk, FileKind, Links, Stat, errno};
use crate::error::{Complaint, Condition, Difference, Error, Operation};
use crate::member::{Extent, Kind, Member, MemberStream};
use crate::observe::Observer;

/// Most that is compared at once, in bytes.
const PIECE: usize = 256 << 10;

/// What is compared, under which names.
#[derive(Debug)]
pub struct Pair<'a> {
    /// The member.
    pub member: &'a Member,
    /// Its name on disk.
    pub name: &'a [u8],
    /// A link's target as it would be made.
    pub link: &'a [u8],
}

/// Compares a member with what is on disk below `base`, and tells the observer how they differ.
///
/// # Errors
/// The archive cannot be read.
pub fn compare<D: Disk, M: MemberStream>(
    disk: &D,
    base: &D::Dir,
    pair: &Pair<'_>,
    stream: &mut M,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let Pair { member, name, link } = *pair;
    let mut differs = |what: Difference| {
        observer.complaint(&Complaint::difference(name, Condition::Differs(what)));
    };
    let Ok(path) = CString::new(name) else {
        differs(Difference::Missing(
            Operation::Stat,
            io::ErrorKind::InvalidInput.into(),
        ));
        return Ok(());
    };
    if matches!(member.kind, Kind::VolumeHeader | Kind::Continuation) {
        return Ok(());
    }
    let stat = match disk.look(base, &path, Links::Keep) {
        Ok(stat) => stat,
        Err(error) => {
            let operation = match member.kind {
                Kind::Symlink => Operation::ReadLink,
                _ => Operation::Stat,
            };
            differs(Difference::Missing(operation, error));
            return Ok(());
        }
    };
    let same_kind = match member.kind {
        Kind::Regular => stat.kind == FileKind::Regular,
        Kind::Symlink => stat.kind == FileKind::Symlink,
        Kind::Directory => stat.kind == FileKind::Directory,
        Kind::CharDevice => stat.kind == FileKind::CharDevice,
        Kind::BlockDevice => stat.kind == FileKind::BlockDevice,
        Kind::Fifo => stat.kind == FileKind::Fifo,
        Kind::Socket => stat.kind == FileKind::Socket,
        Kind::HardLink | Kind::VolumeHeader | Kind::Continuation => true,
    };
    if !same_kind {
        differs(Difference::Kind);
        return Ok(());
    }
    match member.kind {
        Kind::HardLink => {
            let target = CString::new(link).map_err(|_| io::ErrorKind::InvalidInput.into());
            match target.and_then(|link| disk.look(base, &link, Links::Keep)) {
                Ok(target) if target.identity() == stat.identity() => {}
                Ok(_) => differs(Difference::NotLinked(link.to_vec())),
                Err(cause) => {
                    let what = Difference::Missing(Operation::Stat, cause);
                    observer.complaint(&Complaint::difference(link, Condition::Differs(what)));
                }
            }
            return Ok(());
        }
        Kind::Symlink => {
            let leads = disk.read_link(base, &path);
            if leads.is_ok_and(|leads| leads != link) {
                differs(Difference::Symlink);
            }
            return Ok(());
        }
        Kind::CharDevice | Kind::BlockDevice if stat.number != member.device => {
            differs(Difference::Device);
            return Ok(());
        }
        _ => {}
    }
    if stat.mode != member.mode {
        differs(Difference::Mode);
    }
    if member.kind != Kind::Regular {
        return Ok(());
    }
    if u64::from(stat.uid) != member.uid {
        differs(Difference::Owner);
    }
    if u64::from(stat.gid) != member.gid {
        differs(Difference::Group);
    }
    if !same_time(&stat, member) {
        differs(Difference::Time);
    }
    if stat.size != member.size {
        differs(Difference::Size);
        return Ok(());
    }
    let file = match disk.open_to_read(base, &path, Links::Keep, false) {
        Ok(file) => file,
        Err(cause) => {
            observer.complaint(&Complaint::system(name, Operation::Open, cause));
            return Ok(());
        }
    };
    match contents(disk, &file, member, stream)? {
        Ok(None) => {}
        Ok(Some(what)) => {
            observer.complaint(&Complaint::difference(name, Condition::Differs(what)));
        }
        Err(cause) => {
            observer.complaint(&Complaint::system(name, Operation::Read, cause));
        }
    }
    Ok(())
}

/// Whether the times are the same, as far as the archive has them.
fn same_time(stat: &Stat, member: &Member) -> bool {
    stat.mtime.seconds == member.mtime.seconds
        && (member.mtime.nanos == 0 || stat.mtime.nanos == member.mtime.nanos)
}

/// How a file's contents differ from the member's. The inner error is that of reading the file.
fn contents<D: Disk, M: MemberStream>(
    disk: &D,
    file: &D::File,
    member: &Member,
    stream: &mut M,
) -> Result<io::Result<Option<Difference>>, Error> {
    let whole = [Extent {
        offset: 0,
        length: member.size,
    }];
    let extents = member.sparse.as_deref().unwrap_or(&whole);
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    for extent in extents {
        match zeros(disk, file, at, extent.offset, &mut buffer) {
            Ok(None) => {}
            other => return Ok(other),
        }
        at = extent.offset;
        let end = extent.offset + extent.length;
        while at < end {
            let most = usize::try_from(end - at).map_or(PIECE, |left| left.min(PIECE));
            let Some(span) = stream.data(most)? else {
                return Ok(Ok(Some(Difference::Contents)));
            };
            let bytes = span.as_ref();
            match read(disk, file, &mut buffer[..bytes.len()], at) {
                Ok(true) if buffer[..bytes.len()] == *bytes => {}
                Ok(_) => return Ok(Ok(Some(Difference::Contents))),
                Err(error) => return Ok(Err(error)),
            }
            at += bytes.len() as u64;
        }
    }
    Ok(zeros(disk, file, at, member.size, &mut buffer))
}

/// What there is in a part of a file that should be a hole.
fn zeros<D: Disk>(
    disk: &D,
    file: &D::File,
    from: u64,
    to: u64,
    buffer: &mut [u8],
) -> io::Result<Option<Difference>> {
    let mut at = from;
    while at < to {
        // A hole in a hole needs not be read.
        match disk.next_data(file, at) {
            Ok(None) => return Ok(None),
            Ok(Some(data)) if data >= to => return Ok(None),
            Ok(Some(data)) => at = at.max(data),
            Err(error) if error.raw_os_error() == Some(errno::EINVAL) => {}
            Err(error) => return Err(error),
        }
        let most = usize::try_from(to - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let part = &mut buffer[..most];
        if !read(disk, file, part, at)? {
            return Ok(Some(Difference::Contents));
        }
        if let Some(place) = part.iter().position(|&byte| byte != 0) {
            // GNU tar counts in blocks from where the hole begins.
            let blocks = (at + place as u64 - from) / 512;
            return Ok(Some(Difference::NotHole(from + blocks * 512)));
        }
        at += most as u64;
    }
    Ok(None)
}

/// Fills a buffer from a file; gives whether there was enough.
fn read<D: Disk>(disk: &D, file: &D::File, into: &mut [u8], offset: u64) -> io::Result<bool> {
    let mut known = 0;
    while known < into.len() {
        match disk.read_at(file, &mut into[known..], offset + known as u64)? {
            0 => return Ok(false),
            n => known += n,
        }
    }
    Ok(true)
}
