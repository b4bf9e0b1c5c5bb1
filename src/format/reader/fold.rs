//! From a member's header and the extension headers before it to the member that consumers see.

use tar::Header;

use super::{Ahead, Reader, bad_size};
use crate::error::{Condition, Error, Severity};
use crate::format::header::{self, Decoded, Verdict};
use crate::format::limits::{self, BLOCK};
use crate::format::pax::{self, Override, Overrides};
use crate::format::source::Source;
use crate::format::sparse::{self, DataMap, Map, PaxRecords, PaxSparse};
use crate::member::{Format, Kind, Member, Record};

/// What pax records say and a [`Member`] has no single field for.
#[derive(Default)]
struct Facts {
    /// The size, from the member's own records or the global ones.
    size: Option<u64>,
    /// Whether it is from the member's own.
    own_size: bool,
    real_size: Option<u64>,
    sparse: Option<Box<PaxRecords>>,
}

impl<S: Source> Reader<S> {
    /// After the header of a member, which has been taken.
    pub(super) fn member(&mut self, block: &[u8; BLOCK], number: u64) -> Result<(), Error> {
        let Decoded {
            mut member,
            size,
            real_size,
            known,
            bad,
        } = header::decode(block);
        let mut ahead = std::mem::take(&mut self.ahead);
        let [name, link] = ahead.long_blocks;
        member.block = number.saturating_sub(name.saturating_add(link));
        let no_size = size.is_none()
            && ahead
                .pax
                .as_ref()
                .is_none_or(|pax| pax.size.flatten().is_none());
        if no_size {
            ahead.note(bad_size(Header::from_byte_slice(block)), Severity::Failure);
            self.notes_out(b"", ahead.notes);
            self.open_gap(number);
            return Ok(());
        }
        for (field, fault) in bad {
            ahead.note(Condition::BadNumber(field, fault), Severity::Failure);
        }
        if !known {
            let unknown = Condition::UnknownTypeflag(member.typeflag);
            ahead.note(unknown, Severity::Warning);
        }
        let is_link = matches!(member.kind, Kind::HardLink | Kind::Symlink);
        if let Some(name) = ahead.long_name.take() {
            member.name = name;
        }
        if let Some(link) = ahead.long_link.take()
            && is_link
        {
            member.link = link;
        }
        let facts = self.fold(&mut member, &mut ahead);
        let is_data_link =
            member.kind == Kind::HardLink && self.link_has_data(&member, size, facts.own_size)?;
        let size = if needs_size(&member) || is_data_link {
            facts.size.or(size).unwrap_or(0)
        } else {
            0
        };
        match member.kind {
            Kind::Regular if member.name.ends_with(b"/") => {
                // Before 1988 there was no typeflag for directories. What data there is has no place to go.
                member.kind = Kind::Directory;
                self.set_data(0, size);
            }
            // It is a socket by its pax header only; the data of a volume header is passed over, as GNU tar does.
            Kind::Socket | Kind::VolumeHeader => self.set_data(0, size),
            Kind::Regular if member.typeflag == b'S' || has_map(&facts) => {
                let real_size = facts.real_size.or(real_size);
                if let Err(fault) = self.sparse(&mut member, block, size, real_size, facts)? {
                    ahead.fail(format!("{fault}, member left out"));
                    self.notes_out(&member.name, ahead.notes);
                    return Ok(());
                }
            }
            Kind::Regular | Kind::HardLink => {
                member.size = size;
                member.stored = size;
                self.set_data(size, 0);
            }
            Kind::Continuation => {
                let end = member.offset.saturating_add(size);
                member.size = facts.real_size.or(real_size).unwrap_or(end);
                member.stored = size;
                self.set_data(size, 0);
            }
            Kind::Directory if member.typeflag == b'D' => {
                if self.read_body(size, limits::DUMPDIR)? {
                    member.dumpdir = Some(std::mem::take(&mut self.body));
                } else {
                    ahead.fail(super::too_many(size));
                }
            }
            _ => {}
        }
        self.notes_out(&member.name, ahead.notes);
        self.format = member.format;
        self.remember_member(&member);
        self.ready = Some(member);
        Ok(())
    }

    /// Lets the pax records speak: those of the member, then the global ones.
    fn fold(&self, member: &mut Member, ahead: &mut Ahead) -> Facts {
        let local = ahead.pax.take();
        let has_local = local.is_some();
        let mut facts = Facts::default();
        let mut hint = None;
        if has_local || self.has_global {
            let mut local = local.map_or_else(Overrides::default, |local| *local);
            let global = &self.global;
            replace(&mut member.name, pick(local.path, &global.path));
            if matches!(member.kind, Kind::HardLink | Kind::Symlink) {
                replace(&mut member.link, pick(local.link, &global.link));
            }
            replace(&mut member.uname, pick(local.uname, &global.uname));
            replace(&mut member.gname, pick(local.gname, &global.gname));
            replace(&mut member.uid, pick(local.uid, &global.uid));
            replace(&mut member.gid, pick(local.gid, &global.gid));
            replace(&mut member.mtime, pick(local.mtime, &global.mtime));
            member.atime = pick(local.atime, &global.atime).or(member.atime);
            member.ctime = pick(local.ctime, &global.ctime).or(member.ctime);
            if matches!(member.kind, Kind::CharDevice | Kind::BlockDevice) {
                replace(&mut member.device.0, pick(local.major, &global.major));
                replace(&mut member.device.1, pick(local.minor, &global.minor));
            }
            if member.kind == Kind::Continuation {
                replace(&mut member.offset, pick(local.offset, &global.offset));
            }
            if member.kind == Kind::Directory {
                member.dumpdir = pick(local.dumpdir, &None);
            }
            if member.kind == Kind::Regular && pick(local.socket, &None) == Some(true) {
                member.kind = Kind::Socket;
            }
            facts.own_size = local.size.flatten().is_some();
            facts.size = pick(local.size, &global.size);
            facts.real_size = pick(local.real_size, &None);
            hint = pick(local.format, &global.format);
            if member.kind == Kind::Regular {
                facts.sparse = local.sparse;
                let name = facts.sparse.as_mut().and_then(|sparse| sparse.name.take());
                replace(&mut member.name, name);
            }
            let about_members = |record: &&Record| !pax::is_about_archive(&record.key);
            member.records = global
                .records
                .iter()
                .filter(about_members)
                .cloned()
                .collect();
            member.records.append(&mut local.records);
        }
        member.format = match (member.format, hint) {
            (Format::Ustar, _) if ahead.suntar => Format::Suntar,
            (Format::Ustar, Some(Format::Suntar)) => Format::Suntar,
            (Format::Ustar, _) if has_local => Format::Pax,
            (Format::Xustar, Some(Format::Xustar)) => Format::Xustar,
            (Format::Xustar, Some(Format::Exustar)) => Format::Exustar,
            (Format::Xustar, _) if has_local => Format::Exustar,
            (format, _) => format,
        };
        facts
    }

    /// Whether data follow a hard link. A pax size says so. A size in its header may, except in v7 and GNU archives,
    /// whose writers are known to repeat the file's size: then what follows has to be something else than a header.
    fn link_has_data(
        &mut self,
        member: &Member,
        size: Option<u64>,
        own_size: bool,
    ) -> Result<bool, Error> {
        if own_size {
            return Ok(true);
        }
        if size.is_none_or(|size| size == 0) || matches!(member.format, Format::V7 | Format::Gnu) {
            return Ok(false);
        }
        Ok(self
            .next_block()?
            .is_some_and(|block| header::examine(&block) == Verdict::Other))
    }

    /// Reads the map of a sparse member of which `size` bytes follow. The inner error says why the map is of no use.
    fn sparse(
        &mut self,
        member: &mut Member,
        block: &[u8; BLOCK],
        size: u64,
        real_size: Option<u64>,
        facts: Facts,
    ) -> Result<Result<(), &'static str>, Error> {
        let header = Header::from_byte_slice(block);
        let mut map = Map::default();
        let mut real_size = real_size;
        let mut stored = size;
        if member.typeflag == b'S' {
            // In star's formats the size counts the blocks of the map too.
            let counted = !matches!(member.format, Format::Gnu | Format::V7);
            let mut more = if counted {
                sparse::star_header(header, &mut map)
            } else {
                sparse::gnu_header(header, &mut map)
            };
            while more {
                if counted {
                    let Some(rest) = stored.checked_sub(BLOCK as u64) else {
                        map.fail("sparse map goes beyond the member");
                        break;
                    };
                    stored = rest;
                }
                more = sparse::extension(&self.needed_block()?, &mut map);
            }
        } else if let Some(mut records) = facts.sparse {
            real_size = records.real_size.or(real_size);
            if records.kind() == Some(PaxSparse::Data) {
                let mut in_data = DataMap::default();
                while let Some(rest) = stored.checked_sub(BLOCK as u64) {
                    stored = rest;
                    if !in_data.take(&self.needed_block()?) {
                        break;
                    }
                }
                map = in_data.finish();
            } else {
                map = records.take_records_map();
            }
        }
        match map.finish(real_size, stored) {
            Ok((extents, size, data)) => {
                member.sparse = Some(extents);
                member.size = size;
                member.stored = data;
                self.set_data(data, stored - data);
                Ok(Ok(()))
            }
            Err(fault) => {
                self.set_data(0, stored);
                Ok(Err(fault))
            }
        }
    }
}

/// Kinds whose size field tells how much data follows.
fn needs_size(member: &Member) -> bool {
    matches!(
        member.kind,
        Kind::Regular | Kind::Socket | Kind::Continuation | Kind::VolumeHeader
    ) || member.typeflag == b'D'
}

fn has_map(facts: &Facts) -> bool {
    facts
        .sparse
        .as_ref()
        .is_some_and(|sparse| sparse.kind().is_some())
}

/// The member's own record, or that for all members.
fn pick<T: Clone>(local: Override<T>, global: &Override<T>) -> Option<T> {
    match local {
        Some(own) => own,
        None => global.clone().flatten(),
    }
}

fn replace<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
