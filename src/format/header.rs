//! One header block: which format it is written in, and what its fields say.
//!
//! The layout is the `tar` package's. It knows ustar and GNU tar; star's formats use parts of the same block
//! differently, which is described here by the places in the fields of the `tar` package's views:
//!
//! - xstar and xustar end the prefix after 131 bytes; access and status change time follow. Sparse members and
//!   continuations use the end of the prefix too (the real size, and the offset or the map).
//! - star of 1985 has its own fields after the link name: version, type, device and times, then owner names of 16 and 15
//!   bytes.
//!
//! Sources: POSIX pax, "ustar Interchange Format"; the GNU tar manual, "Basic Tar Format"; star(4).

use tar::{EntryType, Header};

use super::limits::BLOCK;
use super::number;
use crate::error::NumberFault;
use crate::member::{Format, Kind, Member, Timestamp};

/// Bytes of the prefix in the formats of star that use its end for times.
const XSTAR_PREFIX: usize = 131;

/// Where star's map in the header ends and its real size begins, counted from the beginning of the prefix.
const XSTAR_REAL_SIZE: usize = 107;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing but zeros.
    Zero,
    /// Its checksum is right.
    Header,
    /// Neither.
    Other,
}

/// What this block is.
pub(crate) fn examine(block: &[u8; BLOCK]) -> Verdict {
    if has_checksum(block) {
        Verdict::Header
    } else if block.iter().all(|&byte| byte == 0) {
        Verdict::Zero
    } else {
        Verdict::Other
    }
}

/// Whether the block's checksum is right: the sum of its bytes, the field itself taken as blanks. Some old tars summed
/// signed bytes.
pub(crate) fn has_checksum(block: &[u8; BLOCK]) -> bool {
    let field = &Header::from_byte_slice(block).as_old().cksum;
    if number::is_blank(field) {
        return false;
    }
    let Some(wanted) = number::field(field) else {
        return false;
    };
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    let unsigned = i64::from(sum(block)) - i64::from(sum(field)) + 8 * i64::from(b' ');
    if wanted == unsigned {
        return true;
    }
    let high = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte >= 0x80).count() as i64;
    wanted == unsigned - 256 * (high(block) - high(field))
}

/// The format of a header, as far as it shows by itself: pax formats need the extended header.
pub(crate) fn recognise(header: &Header) -> Format {
    let pad = &header.as_old().pad;
    let star = pad.ends_with(b"tar\0");
    if pad.starts_with(b"ustar  \0") {
        Format::Gnu
    } else if pad.starts_with(b"ustar") {
        if star {
            Format::Xstar
        } else if is_xustar(header) {
            Format::Xustar
        } else {
            Format::Ustar
        }
    } else if star {
        Format::Star
    } else {
        Format::V7
    }
}

/// Without a mark of its own, xustar shows by its times: a plain ustar prefix has no such digits there.
fn is_xustar(header: &Header) -> bool {
    let Some(ustar) = header.as_ustar() else {
        return false;
    };
    let is_time = |field: &[u8]| {
        let (digits, end) = field.split_at(11);
        field[0] & 0x80 != 0
            || digits.iter().all(|byte| (b'0'..=b'7').contains(byte)) && matches!(end, [b' '] | [0])
    };
    // A continuation has its offset's last byte there.
    (ustar.prefix[XSTAR_PREFIX - 1] == 0 || ustar.typeflag[0] == b'M')
        && is_time(&ustar.prefix[131..143])
        && is_time(&ustar.prefix[143..155])
}

/// Whether it is one of star's formats that use the end of the prefix.
pub(crate) fn is_xstar(format: Format) -> bool {
    matches!(format, Format::Xstar | Format::Xustar | Format::Exustar)
}

/// The size field; `None` when it holds no usable number.
pub(crate) fn size(header: &Header) -> Option<u64> {
    number::unsigned(&header.as_old().size)
}

/// The typeflag byte.
pub(crate) fn typeflag(header: &Header) -> u8 {
    header.as_old().linkflag[0]
}

/// What a typeflag stands for; `None` when nobody knows.
fn kind(typeflag: u8) -> Option<Kind> {
    Some(match EntryType::new(typeflag) {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => Kind::Regular,
        EntryType::Link => Kind::HardLink,
        EntryType::Symlink => Kind::Symlink,
        EntryType::Char => Kind::CharDevice,
        EntryType::Block => Kind::BlockDevice,
        EntryType::Directory => Kind::Directory,
        EntryType::Fifo => Kind::Fifo,
        _ => match typeflag {
            b'D' => Kind::Directory,
            b'V' => Kind::VolumeHeader,
            b'M' => Kind::Continuation,
            _ => return None,
        },
    })
}

/// The bytes of a text field up to its first NUL.
pub(crate) fn text(field: &[u8]) -> &[u8] {
    let end = field
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(field.len());
    &field[..end]
}

/// What one header says, before extended headers are folded in.
pub(crate) struct Decoded {
    /// The member; `size` and `stored` are still 0.
    pub(crate) member: Box<Member>,
    /// The size field, if it is usable.
    pub(crate) size: Option<u64>,
    /// The real size beside a sparse map or a continuation, where the format has one and it is not blank.
    pub(crate) real_size: Option<u64>,
    /// Whether the typeflag is known.
    pub(crate) known: bool,
    /// Fields that hold no number, at most one of each.
    pub(crate) bad: Vec<(&'static str, NumberFault)>,
}

/// Reads all fields of a header with a good checksum.
pub(crate) fn decode(block: &[u8; BLOCK]) -> Decoded {
    let header = Header::from_byte_slice(block);
    let old = header.as_old();
    let format = recognise(header);
    let flag = typeflag(header);
    let known = kind(flag);
    let mut member = Box::new(Member::new(known.unwrap_or(Kind::Regular), b""));
    let mut bad = Vec::new();
    member.typeflag = flag;
    member.format = format;
    member.link = match member.kind {
        Kind::HardLink | Kind::Symlink => text(&old.linkname).to_vec(),
        _ => Vec::new(),
    };
    member.mode = unsigned("mode", &old.mode, &mut bad) as u32 & 0o7777;
    member.uid = id("uid", &old.uid, &mut bad);
    member.gid = id("gid", &old.gid, &mut bad);
    member.mtime = seconds("mtime", &old.mtime, &mut bad);
    let mut decoded = Decoded {
        member,
        size: size(header),
        real_size: None,
        known: known.is_some(),
        bad,
    };
    match format {
        Format::V7 => v7(header, &mut decoded),
        Format::Gnu => gnu(header, &mut decoded),
        Format::Star => star(header, &mut decoded),
        _ => match header.as_ustar() {
            Some(ustar) => posix(ustar, format, &mut decoded),
            None => {
                // A version that nobody defined. The fields are where they are in version 00.
                let mut versioned = Header::new_ustar();
                let version = versioned.as_mut_bytes()[257..265].to_vec();
                versioned.as_mut_bytes().copy_from_slice(block);
                versioned.as_mut_bytes()[257..265].copy_from_slice(&version);
                if let Some(ustar) = versioned.as_ustar() {
                    posix(ustar, format, &mut decoded);
                }
            }
        },
    }
    decoded
}

fn v7(header: &Header, decoded: &mut Decoded) {
    decoded.member.name = text(&header.as_old().name).to_vec();
    // GNU tar writes continuations and labels without a magic, but with its own fields.
    if decoded.member.kind == Kind::Continuation {
        // The fields where GNU tar has them, through a copy that carries its magic.
        let mut copy = Header::new_gnu();
        let magic = copy.as_bytes()[257..265].to_vec();
        copy.as_mut_bytes().copy_from_slice(header.as_bytes());
        copy.as_mut_bytes()[257..265].copy_from_slice(&magic);
        gnu(&copy, decoded);
    }
}

fn gnu(header: &Header, decoded: &mut Decoded) {
    let Some(gnu) = header.as_gnu() else {
        return;
    };
    let bad = &mut decoded.bad;
    let member = &mut *decoded.member;
    member.name = text(&gnu.name).to_vec();
    member.uname = text(&gnu.uname).to_vec();
    member.gname = text(&gnu.gname).to_vec();
    devices(member, &gnu.dev_major, &gnu.dev_minor, bad);
    member.atime = optional_time(&gnu.atime);
    member.ctime = optional_time(&gnu.ctime);
    if member.kind == Kind::Continuation {
        member.offset = unsigned("offset", &gnu.offset, bad);
    }
    if has_real_size(member.typeflag) {
        decoded.real_size = optional(&gnu.realsize);
    }
}

fn posix(ustar: &tar::UstarHeader, format: Format, decoded: &mut Decoded) {
    let bad = &mut decoded.bad;
    let member = &mut *decoded.member;
    let prefix = if is_xstar(format) {
        // A member with a map, and a continuation, have numbers further in front.
        let end = if has_real_size(member.typeflag) {
            XSTAR_REAL_SIZE
        } else {
            XSTAR_PREFIX
        };
        text(&ustar.prefix[..end])
    } else {
        text(&ustar.prefix)
    };
    member.name = joined(prefix, text(&ustar.name));
    member.uname = text(&ustar.uname).to_vec();
    member.gname = text(&ustar.gname).to_vec();
    devices(member, &ustar.dev_major, &ustar.dev_minor, bad);
    if is_xstar(format) {
        member.atime = optional_time(&ustar.prefix[131..143]);
        member.ctime = optional_time(&ustar.prefix[143..155]);
        if member.kind == Kind::Continuation {
            member.offset = unsigned("offset", &ustar.prefix[119..131], bad);
        }
    }
    if has_real_size(member.typeflag) {
        decoded.real_size = optional(&ustar.prefix[XSTAR_REAL_SIZE..119]);
    }
}

/// star of 1985, by place in the block: version 257, type 258 and 266, device 278, access time 290, status change time
/// 302, owner names 314 and 330, prefix 345.
fn star(header: &Header, decoded: &mut Decoded) {
    let bytes = header.as_bytes();
    let bad = &mut decoded.bad;
    let member = &mut *decoded.member;
    let prefix_end = if has_real_size(member.typeflag) {
        345 + XSTAR_REAL_SIZE
    } else {
        500
    };
    member.name = joined(text(&bytes[345..prefix_end]), text(&header.as_old().name));
    member.uname = text(&bytes[314..330]).to_vec();
    member.gname = text(&bytes[330..345]).to_vec();
    if matches!(member.kind, Kind::CharDevice | Kind::BlockDevice) {
        let device = unsigned("device", &bytes[278..289], bad);
        member.device = star_device(device, bytes[289]);
    }
    member.atime = optional_time(&bytes[290..302]);
    member.ctime = optional_time(&bytes[302..314]);
    if member.kind == Kind::Continuation {
        member.offset = unsigned("offset", &bytes[464..476], bad);
    }
    if has_real_size(member.typeflag) {
        decoded.real_size = optional(&bytes[345 + XSTAR_REAL_SIZE..464]);
    }
}

/// Whether the end of the prefix holds the real size of a file.
fn has_real_size(typeflag: u8) -> bool {
    matches!(typeflag, b'S' | b'M')
}

/// The device number of star 1985 is one number; the byte after it is `@` and the number of bits in its minor part,
/// where those are its low end. Otherwise it is laid out as Linux's 64-bit `dev_t`.
fn star_device(device: u64, bits: u8) -> (u32, u32) {
    match bits {
        b'A'..=b'_' => {
            let bits = u32::from(bits - b'@');
            ((device >> bits) as u32, (device & ((1 << bits) - 1)) as u32)
        }
        _ => (
            (device >> 8 & 0xfff | device >> 32 & 0xffff_f000) as u32,
            (device & 0xff | device >> 12 & 0xffff_ff00) as u32,
        ),
    }
}

fn joined(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    if prefix.is_empty() {
        return name.to_vec();
    }
    let mut joined = Vec::with_capacity(prefix.len() + 1 + name.len());
    joined.extend_from_slice(prefix);
    joined.push(b'/');
    joined.extend_from_slice(name);
    joined
}

fn devices(
    member: &mut Member,
    major: &[u8],
    minor: &[u8],
    bad: &mut Vec<(&'static str, NumberFault)>,
) {
    if matches!(member.kind, Kind::CharDevice | Kind::BlockDevice) {
        member.device = (
            device_part("devmajor", major, bad),
            device_part("devminor", minor, bad),
        );
    }
}

fn device_part(
    name: &'static str,
    field: &[u8],
    bad: &mut Vec<(&'static str, NumberFault)>,
) -> u32 {
    u32::try_from(unsigned(name, field, bad)).unwrap_or_else(|_| {
        bad.push((name, number::fault(field)));
        0
    })
}

fn unsigned(name: &'static str, field: &[u8], bad: &mut Vec<(&'static str, NumberFault)>) -> u64 {
    number::unsigned(field).unwrap_or_else(|| {
        bad.push((name, number::fault(field)));
        0
    })
}

/// An owner number. Systems write -1 and -2 (nobody) as negative numbers: they mean the 32-bit numbers of the same bits.
fn id(name: &'static str, field: &[u8], bad: &mut Vec<(&'static str, NumberFault)>) -> u64 {
    match number::field(field) {
        Some(value) if value >= 0 => value as u64,
        Some(value) if i32::try_from(value).is_ok() => u64::from(value as i32 as u32),
        _ => {
            bad.push((name, number::fault(field)));
            0
        }
    }
}

fn seconds(
    name: &'static str,
    field: &[u8],
    bad: &mut Vec<(&'static str, NumberFault)>,
) -> Timestamp {
    let seconds = number::seconds(field).unwrap_or_else(|| {
        bad.push((name, number::fault(field)));
        0
    });
    Timestamp { seconds, nanos: 0 }
}

/// A time that not every writer of the format fills in. What cannot be read was put there by one that uses the place
/// for something else, and nothing depends on it.
fn optional_time(field: &[u8]) -> Option<Timestamp> {
    if number::is_blank(field) {
        return None;
    }
    number::seconds(field).map(|seconds| Timestamp { seconds, nanos: 0 })
}

fn optional(field: &[u8]) -> Option<u64> {
    if number::is_blank(field) {
        return None;
    }
    number::unsigned(field)
}
