//! From one volume of a set to the next.
//!
//! A set is cut wherever a volume is full, also within a member. GNU tar and star begin each further volume with headers
//! of their own: a label (`V`), a global header, and a continuation of the member that was cut. They are compared with
//! what is missing, and what they hold is then handed out as the rest of that member's data, so no consumer can tell.
//! A volume that does not fit is refused, and another one asked for.
//!
//! In which of its headers a continuation keeps its figures: GNU tar in `M` (name, size of the rest, offset); in POSIX
//! format in a global header's `GNU.volume.filename`, `.size` and `.offset`, followed by the header of a file that other
//! tars can extract; star in `M`, with `SCHILY.realsize` and `SCHILY.offset` before it where the format has them, and the
//! volume's number in `SCHILY.volhdr.volno`.

use tar::Header;

use super::Reader;
use crate::error::{Complaint, Condition, Error, VolumeFault};
use crate::format::header::{self, Verdict};
use crate::format::limits::{self, BLOCK};
use crate::format::number;
use crate::format::pax::{Overrides, Scope};
use crate::format::source::Source;
use crate::member::{Kind, Member};

/// Bytes of the name in a header without prefix, which is all of a long name that GNU tar's continuations have.
const HEADER_NAME: usize = 100;

/// The name that star gives to all of its continuations.
const STAR_CONTINUATION: &[u8] = b"././@MultHeader";

/// When a set was made, and its label, as the volume header has them.
type Identity = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What volumes have to agree with.
#[derive(Debug, Default)]
pub(super) struct Set {
    /// The member that is being read.
    name: Vec<u8>,
    /// Its real size.
    total: u64,
    /// Where its data would begin in the file: not 0 for the rest of one that began on a volume before.
    offset: u64,
    /// The number in the volume header, where there is one.
    number: Option<u64>,
    /// That of the set.
    identity: Identity,
    /// The headers at the beginning of a volume are being read: they are not continued elsewhere.
    opening: bool,
}

/// What the beginning of a volume says of the member that goes on there.
struct Continued {
    name: Vec<u8>,
    size: u64,
    offset: u64,
    /// star's: the name says nothing.
    nameless: bool,
}

impl<S: Source> Reader<S> {
    /// A member whose data may go on elsewhere.
    pub(super) fn remember_member(&mut self, member: &Member) {
        if self.options.volumes {
            self.set.name.clone_from(&member.name);
            self.set.offset = member.offset;
            // GNU tar takes the rest of a member for a whole one when its set is read from the middle.
            self.set.total = match member.kind {
                Kind::Continuation => member.offset + member.stored,
                _ => member.size,
            };
        }
    }

    /// The records of a global header that are about the volume.
    pub(super) fn note_volume(&mut self, global: &Overrides) {
        let (number, identity) = volume_header(global);
        if number.is_some() {
            self.set.number = number;
            self.set.identity = identity;
        }
    }

    /// Goes on to the next volume of the set; false when this archive is none, or there is no further one.
    pub(super) fn next_volume(&mut self) -> Result<bool, Error> {
        if !self.options.volumes || self.set.opening || !self.at.is_multiple_of(BLOCK as u64) {
            return Ok(false);
        }
        self.set.opening = true;
        let result = self.try_volumes();
        self.set.opening = false;
        result
    }

    fn try_volumes(&mut self) -> Result<bool, Error> {
        loop {
            let next = self.source.next_volume(self.format);
            if !next.map_err(|cause| super::cannot_read(&self.options.name, cause))? {
                return Ok(false);
            }
            let at = self.at;
            match self.volume_head()? {
                Ok(()) => return Ok(true),
                Err(fault) => {
                    self.at = at;
                    self.remark(fault);
                }
            }
        }
    }

    fn remark(&mut self, fault: VolumeFault) {
        let name = self.set.name.clone();
        self.source
            .remark(Complaint::warning(&name, Condition::Volume(fault)));
    }

    /// Reads the headers of its own that a volume begins with. The inner error says why it is the wrong one.
    fn volume_head(&mut self) -> Result<Result<(), VolumeFault>, Error> {
        let left = self.left + self.more;
        let mut global = Overrides::default();
        let mut local = Overrides::default();
        let mut label_seen = false;
        let mut global_seen = false;
        if self.look(1)?.is_empty() {
            return Ok(Err(VolumeFault::Empty));
        }
        let continued = loop {
            let Some(block) = self.next_block()? else {
                break None;
            };
            if header::examine(&block) != Verdict::Header {
                break None;
            }
            let view = Header::from_byte_slice(&block);
            let size = header::size(view);
            match header::typeflag(view) {
                b'V' if !label_seen && !global_seen => {
                    label_seen = true;
                    self.take(BLOCK);
                }
                b'g' if !global_seen && size.is_some() => {
                    global_seen = true;
                    self.take(BLOCK);
                    if self.read_body(size.unwrap_or(0), limits::PAX_HEADER)? {
                        global.take(Scope::Global, &self.body, |_| {});
                    }
                }
                b'x' | b'X' if left > 0 && size.is_some() => {
                    self.take(BLOCK);
                    if self.read_body(size.unwrap_or(0), limits::PAX_HEADER)? {
                        local.take(Scope::Member, &self.body, |_| {});
                    }
                }
                b'M' if left > 0 => {
                    self.take(BLOCK);
                    break Some(from_header(&block, &local));
                }
                _ if left > 0 && global.volume.filename.is_some() => {
                    self.take(BLOCK);
                    let volume = std::mem::take(&mut global.volume);
                    break Some(Continued {
                        name: volume.filename.unwrap_or_default(),
                        size: volume.size.unwrap_or(0),
                        offset: volume.offset.unwrap_or(0),
                        nameless: false,
                    });
                }
                _ => break None,
            }
        };
        if let Err(fault) = self.same_set(&global) {
            return Ok(Err(fault));
        }
        if left > 0
            && let Err(fault) = self.goes_on(continued, left)
        {
            return Ok(Err(fault));
        }
        self.note_volume(&global);
        Ok(Ok(()))
    }

    /// Whether star's volume header is that of the next volume.
    fn same_set(&self, global: &Overrides) -> Result<(), VolumeFault> {
        let (found, identity) = volume_header(global);
        let (Some(found), Some(before)) = (found, self.set.number) else {
            return Ok(());
        };
        if identity != self.set.identity {
            return Err(VolumeFault::OtherSet);
        }
        let wanted = before.saturating_add(1);
        if found == wanted {
            Ok(())
        } else {
            Err(VolumeFault::Number { wanted, found })
        }
    }

    /// Whether the volume goes on with the member of which `left` bytes are missing.
    fn goes_on(&mut self, continued: Option<Continued>, left: u64) -> Result<(), VolumeFault> {
        let Some(continued) = continued else {
            return Err(VolumeFault::NotContinued);
        };
        let name = &self.set.name;
        let cut = name.len() >= HEADER_NAME && continued.name == name[..HEADER_NAME];
        if !continued.nameless && continued.name != *name && !cut {
            return Err(VolumeFault::NotContinued);
        }
        let total = self.set.total;
        let Continued { size, offset, .. } = continued;
        // A sparse file's rest is counted as it is stored, its size is the real one: star counts both as stored.
        if size.checked_add(offset) != Some(total) && !(continued.nameless && size == left) {
            return Err(VolumeFault::Size {
                total,
                size,
                offset,
            });
        }
        if size != left {
            return Err(VolumeFault::Sequence {
                total,
                left,
                offset,
            });
        }
        if cut {
            self.remark(VolumeFault::NameCut);
        }
        Ok(())
    }
}

/// What a continuation's header, with the pax records before it, says.
fn from_header(block: &[u8; BLOCK], local: &Overrides) -> Continued {
    let decoded = header::decode(block);
    let member = decoded.member;
    let name = local.path.clone().flatten().unwrap_or(member.name);
    Continued {
        nameless: name == STAR_CONTINUATION,
        name,
        size: local.size.flatten().or(decoded.size).unwrap_or(0),
        offset: local.offset.flatten().unwrap_or(member.offset),
    }
}

/// Number, label and date of star's volume header.
fn volume_header(global: &Overrides) -> (Option<u64>, Identity) {
    let record = |key: &[u8]| {
        let found = global.records.iter().find(|record| record.key == key);
        found.map(|record| record.value.clone())
    };
    let number = record(b"SCHILY.volhdr.volno").and_then(|value| number::decimal(&value));
    let label = record(b"SCHILY.volhdr.label");
    (number, (record(b"SCHILY.volhdr.dumpdate"), label))
}
