//! Members become headers, each format as its reference program writes it.
//!
//! [`Headers`] makes the blocks that stand before a member's data: extension headers, the header itself, maps of holes.
//! It knows neither where they go nor where members come from. What a format cannot hold is said as an [`Unfit`], and
//! nothing is written then. For the same member the bytes are those of GNU tar 1.34 in its formats and of star 1.7.0 in
//! its own; `tests.rs` holds the archives of both against it.

mod field;
mod props;
#[cfg(test)]
mod tests;
mod writer;

pub use writer::{Sink, Writer};

use std::borrow::Cow;
use std::fmt;

use super::limits::BLOCK;
use crate::member::{Extent, Kind, Member, Timestamp};
use crate::plan::create::{ArchiveFormat, PaxOptions, SparseVersion};
use field::Base256;
use props::{Digits, Kinds, Long, Magic, Props, Records, Sparse, Times};

/// The largest number that eleven octal digits hold.
const OCTAL_11: i128 = (1 << 33) - 1;
/// The largest number that seven octal digits hold.
const OCTAL_7: i128 = (1 << 21) - 1;

/// Why a member cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Its name has more bytes than this.
    NameTooLong(usize),
    /// No slash in its name is in a place where the name can be split.
    CannotBeSplit,
    /// A link's target is too long.
    LinkTooLong,
    /// The format has no such members.
    Kind,
    /// A number does not fit: which, and the largest that does.
    Number(&'static str, i128, i128),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTooLong(most) => {
                write!(f, "file name is too long (max {most}); not dumped")
            }
            Self::CannotBeSplit => {
                f.write_str("file name is too long (cannot be split); not dumped")
            }
            Self::LinkTooLong => f.write_str("link name is too long; not dumped"),
            Self::Kind => f.write_str("the format has no such members; not dumped"),
            Self::Number(what, value, most) => {
                write!(f, "value {value} out of {what} range 0..{most}")
            }
        }
    }
}

/// What headers depend on besides the member.
#[derive(Clone, Debug)]
pub struct HeaderOptions {
    /// The format.
    pub format: ArchiveFormat,
    /// What pax headers hold.
    pub pax: PaxOptions,
    /// How maps of holes are written in pax archives.
    pub sparse_version: SparseVersion,
    /// Leave out the names of owners.
    pub numeric_owner: bool,
    /// The names of user and group 0, which stand in the headers of long names.
    pub root: (Vec<u8>, Vec<u8>),
    /// The process's number, for the names of some headers.
    pub process: u32,
    /// Matches a keyword against a shell pattern of [`PaxOptions::delete`].
    pub matches: fn(&[u8], &[u8]) -> bool,
}

/// Makes headers.
#[derive(Debug)]
pub struct Headers {
    options: HeaderOptions,
    props: Props,
    globals: u64,
}

impl Headers {
    /// For a format.
    #[must_use]
    pub fn new(options: HeaderOptions) -> Self {
        Self {
            props: props::of(options.format),
            options,
            globals: 0,
        }
    }

    /// Whether files with holes are stored with a map.
    #[must_use]
    pub fn has_maps(&self) -> bool {
        self.props.sparse != Sparse::None
    }

    /// Whether attributes and ACLs can be stored, as records.
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.props.records != Records::None
    }

    /// Whether star's way of writing is followed.
    #[must_use]
    pub fn is_star(&self) -> bool {
        self.props.star
    }

    /// Adds what stands at the archive's beginning: a global header, a label.
    ///
    /// # Errors
    /// The label is too long.
    pub fn begin(
        &mut self,
        label: Option<&[u8]>,
        now: i64,
        out: &mut Vec<u8>,
    ) -> Result<(), Unfit> {
        let mut body = Vec::new();
        if self.options.format == ArchiveFormat::Exustar {
            let release = concat!("durastar ", env!("CARGO_PKG_VERSION"));
            field::record(&mut body, b"SCHILY.release", release.as_bytes());
            field::record(&mut body, b"SCHILY.archtype", b"exustar");
        }
        if self.has_records() {
            for (key, value) in &self.options.pax.global {
                field::record(&mut body, key, value);
            }
            if let Some(label) = label {
                let key: &[u8] = if self.props.star {
                    b"SCHILY.volhdr.label"
                } else {
                    b"GNU.volume.label"
                };
                field::record(&mut body, key, label);
            }
        }
        if !body.is_empty() {
            self.globals += 1;
            let (name, time) = if self.props.star {
                (b"././@PaxHeader".to_vec(), 0)
            } else {
                let pattern = self.options.pax.global_name.as_deref();
                let pattern = pattern.unwrap_or(b"/tmp/GlobalHead.%p.%n");
                (
                    self.expand(pattern, b"", self.globals),
                    self.options.pax.global_time.unwrap_or(now),
                )
            };
            self.extension(b'g', &name, time, &body, out);
        } else if let Some(label) = label {
            if label.len() > 99 {
                return Err(Unfit::NameTooLong(99));
            }
            let mut header = [0; BLOCK];
            field::text(&mut header[..100], label);
            header[156] = b'V';
            let digits = self.props.digits;
            field::number(&mut header[136..148], now.into(), digits, Base256::Gnu);
            field::checksum(&mut header, digits);
            out.extend_from_slice(&header);
        }
        Ok(())
    }

    /// Adds all headers of a member. `source` is its name before renaming, after which pax headers are named. Gives how
    /// many bytes of data have to follow: [`Member::stored`].
    ///
    /// For a sparse member the last extent has to say where the file ends, be it an empty one.
    ///
    /// # Errors
    /// The format cannot hold it; nothing is added then.
    pub fn member(&self, member: &Member, source: &[u8], out: &mut Vec<u8>) -> Result<u64, Unfit> {
        let begin = out.len();
        let result = self.all(member, source, out);
        if result.is_err() {
            out.truncate(begin);
        }
        result
    }

    fn all(&self, member: &Member, source: &[u8], out: &mut Vec<u8>) -> Result<u64, Unfit> {
        self.check_kind(member.kind)?;
        let mut header = [0; BLOCK];
        let mut body = Body {
            owner: self,
            bytes: Vec::new(),
            begun: false,
        };
        let map = match (&member.sparse, self.props.sparse) {
            (Some(map), sparse) if sparse != Sparse::None => Some(map.as_slice()),
            _ => None,
        };
        // What stands before the data and counts as such.
        let mut ahead = Vec::new();
        let mut name = Cow::Borrowed(member.name.as_slice());
        if let (Some(map), Sparse::Pax) = (map, self.props.sparse) {
            name = self.pax_map(member, source, map, &mut body, &mut ahead);
        }
        if self.props.star {
            self.star_records(member, &mut body);
        }
        self.link(member, &mut header, &mut body, out)?;
        self.name(&name, &mut header, &mut body, out)?;
        let stored = match self.props.sparse {
            _ if !matches!(
                member.kind,
                Kind::Regular | Kind::HardLink | Kind::Continuation
            ) =>
            {
                0
            }
            Sparse::Star => {
                if let Some(map) = map {
                    self.map_blocks(map, &mut ahead);
                }
                member.stored + ahead.len() as u64
            }
            _ => member.stored + ahead.len() as u64,
        };
        self.numbers(member, stored, &mut header, &mut body)?;
        self.owners(member, &mut header, &mut body);
        self.times(member, &mut header);
        for record in &member.records {
            body.add(&record.key, || record.value.clone());
        }
        header[156] = self.typeflag(member, map.is_some());
        match self.props.magic {
            Magic::None => {}
            Magic::Ustar => header[257..265].copy_from_slice(b"ustar\x0000"),
            Magic::Gnu => header[257..265].copy_from_slice(b"ustar  \0"),
        }
        if self.props.trailer {
            header[508..512].copy_from_slice(b"tar\0");
        }
        if let Some(map) = map {
            self.map_in_header(map, member.size, &mut header, &mut ahead);
        }
        let needed = self.props.star
            && self.props.records == Records::Needed
            && !self.star_needs(member, body.begun);
        if !needed {
            body.finish(member, source, out);
        }
        field::checksum(&mut header, self.props.digits);
        out.extend_from_slice(&header);
        out.extend_from_slice(&ahead);
        Ok(member.stored)
    }

    fn check_kind(&self, kind: Kind) -> Result<(), Unfit> {
        let special = matches!(kind, Kind::CharDevice | Kind::BlockDevice | Kind::Fifo);
        let fits = match self.props.kinds {
            Kinds::All => kind != Kind::Socket,
            Kinds::NoSpecial => !special && kind != Kind::Socket,
            Kinds::Files => matches!(kind, Kind::Regular | Kind::HardLink),
        };
        if fits { Ok(()) } else { Err(Unfit::Kind) }
    }

    fn typeflag(&self, member: &Member, mapped: bool) -> u8 {
        match member.kind {
            Kind::Regular if mapped && self.props.sparse != Sparse::Pax => b'S',
            Kind::Regular if self.options.format == ArchiveFormat::V7 => 0,
            Kind::Regular | Kind::Socket => b'0',
            Kind::HardLink => b'1',
            Kind::Symlink => b'2',
            Kind::CharDevice => b'3',
            Kind::BlockDevice => b'4',
            Kind::Directory => b'5',
            Kind::Fifo => b'6',
            Kind::VolumeHeader => b'V',
            Kind::Continuation => b'M',
        }
    }

    fn link(
        &self,
        member: &Member,
        header: &mut [u8; BLOCK],
        body: &mut Body<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unfit> {
        let link = &member.link;
        if link.is_empty() {
            return Ok(());
        }
        if link.len() > self.props.name {
            match self.props.long {
                Long::Refused => return Err(Unfit::LinkTooLong),
                Long::Members => self.long_member(b'K', link, out),
                Long::Records => {
                    if !self.props.star {
                        body.add(b"linkpath", || link.clone());
                    }
                }
            }
        }
        // GNU tar ends names of its old format with a NUL, link names not; star both of GNU's.
        let room = if self.props.star {
            self.props.name
        } else {
            100
        };
        field::text(&mut header[157..157 + room], link);
        Ok(())
    }

    fn name(
        &self,
        name: &[u8],
        header: &mut [u8; BLOCK],
        body: &mut Body<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unfit> {
        let room = self.props.name;
        let record = self.props.long == Long::Records;
        if record && !self.props.star && !name.is_ascii() {
            body.add(b"path", || name.to_vec());
        } else if name.len() > room {
            match self.split(name) {
                Ok(place) => {
                    field::text(&mut header[345..345 + self.props.prefix], &name[..place]);
                    field::text(&mut header[..100], &name[place + 1..]);
                    return Ok(());
                }
                Err(unfit) => match self.props.long {
                    Long::Refused => return Err(unfit),
                    Long::Members => self.long_member(b'L', name, out),
                    Long::Records => {
                        if !self.props.star {
                            body.add(b"path", || name.to_vec());
                        }
                    }
                },
            }
        }
        field::text(&mut header[..room], name);
        Ok(())
    }

    /// The slash at which a name is split: the last one that leaves no more than the prefix holds before it.
    fn split(&self, name: &[u8]) -> Result<usize, Unfit> {
        let prefix = self.props.prefix;
        if prefix == 0 {
            return Err(Unfit::NameTooLong(self.props.name.min(99)));
        }
        let most = prefix + self.props.name + 1;
        if name.len() > most {
            return Err(Unfit::NameTooLong(most));
        }
        let end = if name.len() > prefix + 1 {
            prefix + 1
        } else if name.ends_with(b"/") {
            name.len() - 1
        } else {
            name.len()
        };
        match name[..end].iter().rposition(|&byte| byte == b'/') {
            None | Some(0) => Err(Unfit::CannotBeSplit),
            Some(place) => {
                let rest = name.len() - place - 1;
                if rest == 0 || rest > self.props.name {
                    Err(Unfit::CannotBeSplit)
                } else {
                    Ok(place)
                }
            }
        }
    }

    /// A name in a member of its own, ended by a NUL.
    fn long_member(&self, typeflag: u8, name: &[u8], out: &mut Vec<u8>) {
        let mut body = name.to_vec();
        body.push(0);
        let title: &[u8] = match typeflag {
            b'L' if self.props.star => b"././@LongName",
            _ => b"././@LongLink",
        };
        self.extension(typeflag, title, 0, &body, out);
    }

    /// An extension header and its body.
    fn extension(&self, typeflag: u8, name: &[u8], time: i64, body: &[u8], out: &mut Vec<u8>) {
        let mut header = [0; BLOCK];
        let props = &self.props;
        let digits = props.digits;
        field::text(&mut header[..100], name);
        let put = |field: &mut [u8], value: i128| {
            field::number(field, value, digits, Base256::No);
        };
        put(
            &mut header[100..108],
            if props.star { 0o600 } else { 0o644 },
        );
        put(&mut header[108..116], 0);
        put(&mut header[116..124], 0);
        put(&mut header[124..136], body.len() as i128);
        put(&mut header[136..148], i128::from(time).clamp(0, OCTAL_11));
        header[156] = typeflag;
        let named = props.star || matches!(typeflag, b'L' | b'K') && !self.options.numeric_owner;
        match props.magic {
            Magic::None => {}
            Magic::Gnu if props.star || matches!(typeflag, b'L' | b'K') => {
                header[257..265].copy_from_slice(b"ustar  \0");
            }
            _ => header[257..265].copy_from_slice(b"ustar\x0000"),
        }
        if named {
            let (uname, gname) = self.name_fields();
            field::text(&mut header[uname], &self.options.root.0);
            field::text(&mut header[gname], &self.options.root.1);
        }
        if props.star {
            if props.magic == Magic::Ustar {
                put(&mut header[329..337], 0);
                put(&mut header[337..345], 0);
            }
            let zero = Some(Timestamp::default());
            self.more_times(zero, zero, &mut header);
            if props.times == Times::Star {
                self.star_fields(0, 0, 0, &mut header);
            }
            if props.trailer {
                header[508..512].copy_from_slice(b"tar\0");
            }
        }
        field::checksum(&mut header, digits);
        out.extend_from_slice(&header);
        out.extend_from_slice(body);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }

    fn numbers(
        &self,
        member: &Member,
        stored: u64,
        header: &mut [u8; BLOCK],
        body: &mut Body<'_>,
    ) -> Result<(), Unfit> {
        let digits = self.props.digits;
        let star = self.props.star;
        let base256 = match (self.props.base256, star) {
            (false, _) => Base256::No,
            (true, true) => Base256::Star,
            (true, false) => Base256::Gnu,
        };
        let records = self.props.records != Records::None;
        field::number(
            &mut header[100..108],
            member.mode.into(),
            digits,
            Base256::No,
        );
        for (what, key, range, value) in [
            ("uid_t", &b"uid"[..], 108..116, member.uid),
            ("gid_t", b"gid", 116..124, member.gid),
        ] {
            let value = i128::from(value);
            let field = &mut header[range];
            if !field::number(field, value, digits, base256) {
                if !records && !star {
                    return Err(Unfit::Number(what, value, OCTAL_7));
                }
                field::number(field, 0, digits, Base256::No);
                if !star {
                    body.add(key, || value.to_string().into_bytes());
                }
            }
        }
        let field = &mut header[124..136];
        if !field::number(field, stored.into(), digits, base256) {
            if !records {
                return Err(Unfit::Number("off_t", stored.into(), OCTAL_11));
            }
            field::number(field, 0, digits, Base256::No);
            if !star {
                body.add(b"size", || stored.to_string().into_bytes());
            }
        }
        let seconds = i128::from(member.mtime.seconds);
        let fits = (0..=OCTAL_11).contains(&seconds);
        if records && !star && (!fits || member.mtime.nanos != 0) {
            body.add(b"mtime", || field::time(member.mtime, false));
        }
        let field = &mut header[136..148];
        if !field::number(field, seconds, digits, base256) {
            if star {
                // star keeps the digits that there is room for.
                field::number(field, seconds & OCTAL_11, digits, Base256::No);
            } else if records {
                field::number(field, 0, digits, Base256::No);
            } else {
                return Err(Unfit::Number("time_t", seconds, OCTAL_11));
            }
        }
        self.device(member, base256, header, body)
    }

    fn device(
        &self,
        member: &Member,
        base256: Base256,
        header: &mut [u8; BLOCK],
        body: &mut Body<'_>,
    ) -> Result<(), Unfit> {
        let star = self.props.star;
        let device = matches!(member.kind, Kind::CharDevice | Kind::BlockDevice);
        // star's headers without a magic have no such fields, those of GNU only where there is a device.
        let absent = match self.props.magic {
            Magic::None => star,
            Magic::Gnu => !device,
            Magic::Ustar => false,
        };
        if absent {
            return Ok(());
        }
        let digits = self.props.digits;
        let (major, minor) = if device { member.device } else { (0, 0) };
        for (what, key, range, value) in [
            ("major_t", &b"SCHILY.devmajor"[..], 329..337, major),
            ("minor_t", b"SCHILY.devminor", 337..345, minor),
        ] {
            let value = i128::from(value);
            let field = &mut header[range];
            if digits == Digits::Blanks {
                // As wide as the field, unlike other numbers of these formats.
                let text = format!("{value:>7o} ");
                field.copy_from_slice(&text.as_bytes()[..8]);
                continue;
            }
            if !field::number(field, value, digits, base256) {
                if self.props.records == Records::None {
                    return Err(Unfit::Number(what, value, OCTAL_7));
                }
                field::number(field, 0, digits, Base256::No);
                if !star {
                    body.add(key, || value.to_string().into_bytes());
                }
            }
        }
        Ok(())
    }

    fn owners(&self, member: &Member, header: &mut [u8; BLOCK], body: &mut Body<'_>) {
        if !self.props.star && self.props.records != Records::None {
            for (key, time) in [(&b"atime"[..], member.atime), (b"ctime", member.ctime)] {
                if let Some(time) = time {
                    body.add(key, || field::time(time, false));
                }
            }
        }
        if !self.props.owner_names || self.options.numeric_owner {
            return;
        }
        let (uname, gname) = self.name_fields();
        for (key, range, name) in [
            (&b"uname"[..], uname, &member.uname),
            (b"gname", gname, &member.gname),
        ] {
            let long = name.len() > range.len() || !name.is_ascii();
            if self.props.records != Records::None && !self.props.star && long {
                body.add(key, || name.clone());
            }
            field::text(&mut header[range], name);
        }
        if self.props.magic != Magic::None || self.props.star {
            // The last byte of these is a NUL (POSIX).
            header[296] &= if self.props.times == Times::Star {
                0xff
            } else {
                0
            };
            header[328] &= if self.props.times == Times::Star {
                0xff
            } else {
                0
            };
        }
    }

    /// Where the owners' names stand.
    fn name_fields(&self) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        if self.props.times == Times::Star {
            (314..330, 330..345)
        } else {
            (265..297, 297..329)
        }
    }

    fn times(&self, member: &Member, header: &mut [u8; BLOCK]) {
        self.more_times(member.atime, member.ctime, header);
        if self.props.times == Times::Star {
            let (class, kind) = match member.kind {
                Kind::Regular | Kind::HardLink => (1, 0o100_000),
                Kind::Symlink => (2, 0o120_000),
                Kind::Directory => (3, 0o40_000),
                Kind::CharDevice => (0, 0o20_000),
                Kind::BlockDevice => (0, 0o60_000),
                Kind::Fifo => (0, 0o10_000),
                _ => (0, 0),
            };
            let device = match member.kind {
                Kind::CharDevice | Kind::BlockDevice => {
                    let (major, minor) = (u64::from(member.device.0), u64::from(member.device.1));
                    // Linux's 64-bit dev_t.
                    minor & 0xff
                        | (major & 0xfff) << 8
                        | (minor & !0xff) << 12
                        | (major & !0xfff) << 32
                }
                _ => 0,
            };
            self.star_fields(class, kind, device, header);
        }
    }

    /// Access and status change times in the header, where the format has them.
    fn more_times(
        &self,
        atime: Option<Timestamp>,
        ctime: Option<Timestamp>,
        header: &mut [u8; BLOCK],
    ) {
        let place = match self.props.times {
            Times::None => return,
            Times::Gnu => 345,
            Times::Xstar => 476,
            Times::Star => 290,
        };
        for (place, time) in [(place, atime), (place + 12, ctime)] {
            // Zeros where it is not known: xustar is told from ustar by digits here.
            let seconds = time.unwrap_or_default().seconds;
            field::number(
                &mut header[place..place + 12],
                seconds.into(),
                self.props.digits,
                Base256::Star,
            );
        }
    }

    /// Version, class, type and device in star's header of 1985.
    fn star_fields(&self, class: u64, kind: u64, device: u64, header: &mut [u8; BLOCK]) {
        let digits = self.props.digits;
        header[257] = b'1';
        field::number(&mut header[258..266], class.into(), digits, Base256::No);
        field::number(&mut header[266..278], kind.into(), digits, Base256::No);
        field::number(&mut header[278..290], device.into(), digits, Base256::Star);
        // No bits say how the device is made up: it is as the system has it.
        header[289] = b'@';
    }

    /// star's records of one member, in its order.
    fn star_records(&self, member: &Member, body: &mut Body<'_>) {
        if self.props.records == Records::None {
            return;
        }
        for (key, time, wanted) in [
            (&b"atime"[..], member.atime, self.props.all_times),
            (b"ctime", member.ctime, self.props.all_times),
            (b"mtime", Some(member.mtime), true),
        ] {
            if let (Some(time), true) = (time, wanted) {
                body.add(key, || field::time(time, true));
            }
        }
        let name = &member.name;
        let long = |name: &[u8]| name.len() > self.props.name && self.split(name).is_err();
        if !name.is_ascii() || long(name) {
            body.add(b"path", || name.clone());
        }
        if member.link.len() > self.props.name || !member.link.is_ascii() {
            body.add(b"linkpath", || member.link.clone());
        }
        let too_large = |value: u64, most: i128| i128::from(value) > most;
        for (key, value) in [(&b"uid"[..], member.uid), (b"gid", member.gid)] {
            if too_large(value, OCTAL_7) {
                body.add(key, || value.to_string().into_bytes());
            }
        }
        for (key, name, room) in [
            (&b"uname"[..], &member.uname, 31),
            (b"gname", &member.gname, 31),
        ] {
            if name.len() > room || !name.is_ascii() {
                body.add(key, || name.clone());
            }
        }
        if too_large(member.stored, OCTAL_11) {
            body.add(b"size", || member.stored.to_string().into_bytes());
        }
        if matches!(member.kind, Kind::CharDevice | Kind::BlockDevice) {
            for (key, value) in [
                (&b"SCHILY.devmajor"[..], member.device.0),
                (b"SCHILY.devminor", member.device.1),
            ] {
                if too_large(value.into(), OCTAL_7) {
                    body.add(key, || value.to_string().into_bytes());
                }
            }
        }
    }

    /// Whether the header alone does not say everything.
    fn star_needs(&self, member: &Member, begun: bool) -> bool {
        let times = [Some(member.mtime), member.atime, member.ctime];
        let count = if self.props.all_times { 3 } else { 1 };
        let fine = |time: &Timestamp| {
            time.nanos != 0 || !(0..=OCTAL_11).contains(&i128::from(time.seconds))
        };
        let bare = Body {
            owner: self,
            bytes: Vec::new(),
            begun: false,
        };
        let mut rest = bare;
        let timeless = Member {
            atime: None,
            ctime: None,
            mtime: Timestamp::default(),
            ..member.clone()
        };
        self.star_records(&timeless, &mut rest);
        let mut only_time = Vec::new();
        field::record(
            &mut only_time,
            b"mtime",
            &field::time(Timestamp::default(), true),
        );
        begun
            && (times[..count].iter().flatten().any(fine)
                || rest.bytes.len() > only_time.len()
                || !member.records.is_empty()
                || !self.options.pax.each.is_empty())
    }

    /// A map in blocks that count as data.
    fn map_blocks(&self, map: &[Extent], out: &mut Vec<u8>) {
        let mut rest = map;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(21));
            self.map_block(now, !later.is_empty(), out);
            rest = later;
        }
    }

    fn map_block(&self, map: &[Extent], more: bool, out: &mut Vec<u8>) {
        let mut block = [0; BLOCK];
        self.entries(map, &mut block);
        block[504] = u8::from(more);
        out.extend_from_slice(&block);
    }

    fn entries(&self, map: &[Extent], into: &mut [u8]) {
        let base256 = if self.props.star {
            Base256::Star
        } else {
            Base256::Gnu
        };
        for (extent, entry) in map.iter().zip(into.chunks_exact_mut(24)) {
            let (offset, length) = entry.split_at_mut(12);
            field::number(offset, extent.offset.into(), self.props.digits, base256);
            field::number(length, extent.length.into(), self.props.digits, base256);
        }
    }

    fn map_in_header(
        &self,
        map: &[Extent],
        size: u64,
        header: &mut [u8; BLOCK],
        ahead: &mut Vec<u8>,
    ) {
        let digits = self.props.digits;
        match self.props.sparse {
            Sparse::None | Sparse::Pax => {}
            Sparse::Gnu => {
                let (here, later) = map.split_at(map.len().min(4));
                self.entries(here, &mut header[386..482]);
                header[482] = u8::from(!later.is_empty());
                field::number(&mut header[483..495], size.into(), digits, Base256::Gnu);
                self.map_blocks(later, ahead);
            }
            Sparse::Star => {
                field::number(&mut header[452..464], size.into(), digits, Base256::Star);
            }
        }
    }

    /// The records of a map in a pax archive, and what of it stands before the data. Gives the name for the header.
    fn pax_map<'a>(
        &self,
        member: &'a Member,
        source: &[u8],
        map: &[Extent],
        body: &mut Body<'_>,
        ahead: &mut Vec<u8>,
    ) -> Cow<'a, [u8]> {
        let number = |value: u64| value.to_string().into_bytes();
        let hidden = |this: &Self| {
            let mut name = this.expand(b"%d/GNUSparseFile.%p/%f", source, 0);
            name.truncate(100);
            Cow::Owned(name)
        };
        let version = match self.options.sparse_version {
            SparseVersion::V0_1 if self.is_deleted(b"GNU.sparse.map") => SparseVersion::V0_0,
            version => version,
        };
        match version {
            SparseVersion::V0_0 => {
                body.add(b"GNU.sparse.size", || number(member.size));
                body.add(b"GNU.sparse.numblocks", || number(map.len() as u64));
                for extent in map {
                    body.add(b"GNU.sparse.offset", || number(extent.offset));
                    body.add(b"GNU.sparse.numbytes", || number(extent.length));
                }
                Cow::Borrowed(&member.name)
            }
            SparseVersion::V0_1 => {
                body.add(b"GNU.sparse.size", || number(member.size));
                body.add(b"GNU.sparse.numblocks", || number(map.len() as u64));
                body.add(b"GNU.sparse.name", || member.name.clone());
                body.add(b"GNU.sparse.map", || {
                    let pairs = map
                        .iter()
                        .map(|extent| format!("{},{}", extent.offset, extent.length));
                    pairs.collect::<Vec<_>>().join(",").into_bytes()
                });
                hidden(self)
            }
            SparseVersion::V1_0 => {
                body.add(b"GNU.sparse.major", || b"1".to_vec());
                body.add(b"GNU.sparse.minor", || b"0".to_vec());
                body.add(b"GNU.sparse.name", || member.name.clone());
                body.add(b"GNU.sparse.realsize", || number(member.size));
                ahead.extend_from_slice(format!("{}\n", map.len()).as_bytes());
                for extent in map {
                    let line = format!("{}\n{}\n", extent.offset, extent.length);
                    ahead.extend_from_slice(line.as_bytes());
                }
                ahead.resize(ahead.len().next_multiple_of(BLOCK), 0);
                hidden(self)
            }
        }
    }

    fn is_deleted(&self, key: &[u8]) -> bool {
        let matches = self.options.matches;
        self.options
            .pax
            .delete
            .iter()
            .any(|pattern| matches(pattern, key))
    }

    /// A name for a header that is made for `source`.
    fn expand(&self, pattern: &[u8], source: &[u8], number: u64) -> Vec<u8> {
        let end = source
            .iter()
            .rposition(|&byte| byte != b'/')
            .map_or(source.len().min(1), |last| last + 1);
        let source = &source[..end];
        let (directory, file): (&[u8], &[u8]) = match source.iter().rposition(|&byte| byte == b'/')
        {
            None => (b".", source),
            Some(0) => (b"/", &source[1..]),
            Some(place) => (&source[..place], &source[place + 1..]),
        };
        let mut name = Vec::new();
        let mut rest = pattern.iter();
        while let Some(&byte) = rest.next() {
            if byte != b'%' {
                name.push(byte);
                continue;
            }
            match rest.next() {
                Some(b'd') => name.extend_from_slice(directory),
                Some(b'f') => name.extend_from_slice(file),
                Some(b'p') => name.extend_from_slice(self.options.process.to_string().as_bytes()),
                Some(b'n') => name.extend_from_slice(number.to_string().as_bytes()),
                Some(b'%') => name.push(b'%'),
                Some(&other) => name.extend_from_slice(&[b'%', other]),
                None => name.push(b'%'),
            }
        }
        name
    }
}

/// The body of a pax header.
struct Body<'a> {
    owner: &'a Headers,
    bytes: Vec<u8>,
    /// Whether there was anything to say, even if it was replaced by what the user says.
    begun: bool,
}

impl Body<'_> {
    fn add(&mut self, key: &[u8], value: impl FnOnce() -> Vec<u8>) {
        if self.owner.props.records == Records::None || self.owner.is_deleted(key) {
            return;
        }
        self.begun = true;
        let pax = &self.owner.options.pax;
        if !pax.each.iter().any(|(replaced, _)| replaced == key) {
            field::record(&mut self.bytes, key, &value());
        }
    }

    fn finish(mut self, member: &Member, source: &[u8], out: &mut Vec<u8>) {
        if !self.begun {
            return;
        }
        let owner = self.owner;
        let pax = &owner.options.pax;
        for (key, value) in &pax.each {
            field::record(&mut self.bytes, key, value);
        }
        if self.bytes.is_empty() {
            return;
        }
        let (name, time) = if owner.props.star {
            (b"././@PaxHeader".to_vec(), 0)
        } else {
            let pattern = pax.header_name.as_deref().unwrap_or(b"%d/PaxHeaders/%f");
            (
                owner.expand(pattern, source, 0),
                pax.header_time.unwrap_or(member.mtime.seconds),
            )
        };
        owner.extension(owner.props.record_flag, &name, time, &self.bytes, out);
    }
}
