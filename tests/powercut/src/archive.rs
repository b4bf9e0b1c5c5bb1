//! The archive that is extracted: members of every kind, made from a seed, and the same as a pax archive.
//!
//! Formats: POSIX.1-2017 `pax` (ustar blocks, extended header records), the keywords `SCHILY.xattr.*` and
//! `SCHILY.acl.*` that star and GNU tar share, sparse format 1.0 of GNU tar's manual.

use crate::random::Random;

/// One member and what must be on disk of it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    /// Seconds and nanoseconds.
    pub(crate) mtime: (i64, u32),
    pub(crate) attributes: Vec<(String, Vec<u8>)>,
    pub(crate) acl: Option<Acl>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    File(Data),
    /// To the file that is the member with this index, whose metadata it shares.
    HardLink(usize),
    Symlink(Vec<u8>),
    Directory,
    Fifo,
    Device {
        block: bool,
        major: u32,
        minor: u32,
    },
}

/// Contents: pseudo-random bytes at these places, zeros elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) size: u64,
    seed: u64,
    extents: Vec<(u64, u64)>,
}

impl Data {
    fn new(size: u64, seed: u64) -> Self {
        Self {
            size,
            seed,
            extents: vec![(0, size)],
        }
    }

    fn is_sparse(&self) -> bool {
        self.extents != [(0, self.size)]
    }

    fn extents(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        let mut random = Random::new(self.seed);
        self.extents
            .iter()
            .map(move |(offset, length)| (*offset, random.bytes(*length as usize)))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        for (offset, data) in self.extents() {
            bytes[offset as usize..][..data.len()].copy_from_slice(&data);
        }
        bytes
    }
}

/// An access list with one named user and one named group; the mask is the mode's group part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acl {
    user: (u32, u32),
    group: (u32, u32),
    owning_group: u32,
}

impl Acl {
    fn text(self, mode: u32) -> String {
        let bits = |bits: u32| {
            let letter = |bit: u32, letter| if bits & bit == 0 { '-' } else { letter };
            [letter(4, 'r'), letter(2, 'w'), letter(1, 'x')]
                .iter()
                .collect::<String>()
        };
        format!(
            "user::{},user:{}:{},group::{},group:{}:{},mask::{},other::{}",
            bits(mode >> 6 & 7),
            self.user.0,
            bits(self.user.1),
            bits(self.owning_group),
            self.group.0,
            bits(self.group.1),
            bits(mode >> 3 & 7),
            bits(mode & 7)
        )
    }

    /// As the kernel shows it: `system.posix_acl_access`, version 2, entries of tag, permissions, id (linux/posix_acl_xattr.h).
    pub(crate) fn kernel(self, mode: u32) -> Vec<u8> {
        const NOBODY: u32 = u32::MAX;
        let entries = [
            (0x01, mode >> 6 & 7, NOBODY),
            (0x02, self.user.1, self.user.0),
            (0x04, self.owning_group, NOBODY),
            (0x08, self.group.1, self.group.0),
            (0x10, mode >> 3 & 7, NOBODY),
            (0x20, mode & 7, NOBODY),
        ];
        let mut bytes = 2_u32.to_le_bytes().to_vec();
        for (tag, bits, id) in entries {
            bytes.extend_from_slice(&(tag as u16).to_le_bytes());
            bytes.extend_from_slice(&(bits as u16).to_le_bytes());
            bytes.extend_from_slice(&u32::to_le_bytes(id));
        }
        bytes
    }
}

/// So many members, the same for the same seed.
pub(crate) fn members(count: usize, seed: u64) -> Vec<Member> {
    let mut random = Random::new(seed);
    let mut members = vec![plain(b"tree".to_vec(), Kind::Directory, &mut random)];
    let mut directories = vec![(b"tree".to_vec(), 1)];
    let mut files: Vec<usize> = Vec::new();
    while members.len() < count {
        let number = members.len();
        let (parent, depth) = random.pick(&directories).clone();
        let mut name = [parent, component(number, &mut random)].join(&b'/');
        let kind = match random.below(100) {
            0..8 if depth < 6 => {
                directories.push((name.clone(), depth + 1));
                Kind::Directory
            }
            0..11 => Kind::File(Data::new(0, 0)),
            11..16 => Kind::File(sparse(&mut random)),
            16..25 if !files.is_empty() => Kind::HardLink(*random.pick(&files)),
            16..34 => Kind::Symlink(link_target(&mut random)),
            34..37 => Kind::Fifo,
            37..39 => Kind::Device {
                block: random.percent(30),
                major: 1 + random.below(200) as u32,
                minor: random.below(256) as u32,
            },
            39..41 => {
                // The directory above is no member.
                name = [&name[..], format!("file {number}").as_bytes()].join(&b'/');
                Kind::File(Data::new(1 + random.below(5000), random.next()))
            }
            _ => Kind::File(Data::new(size(&mut random), random.next())),
        };
        if matches!(kind, Kind::File(_)) {
            files.push(number);
        }
        let member = match kind {
            Kind::HardLink(to) => Member {
                name,
                kind,
                ..members[to].clone()
            },
            _ => plain(name, kind, &mut random),
        };
        members.push(member);
    }
    members
}

/// What was there before: the same names, with other contents and metadata.
pub(crate) fn older(members: &[Member], seed: u64) -> Vec<Member> {
    let mut random = Random::new(!seed);
    let mut older: Vec<Member> = Vec::new();
    for member in members {
        let kind = match &member.kind {
            Kind::File(_) => Kind::File(Data::new(1 + size(&mut random), random.next())),
            Kind::Symlink(_) => Kind::Symlink(link_target(&mut random)),
            other => other.clone(),
        };
        older.push(match kind {
            Kind::HardLink(to) => Member {
                name: member.name.clone(),
                kind,
                ..older[to].clone()
            },
            // A directory that is there is kept, with what the archive does not say of it.
            Kind::Directory => Member {
                attributes: Vec::new(),
                acl: None,
                ..plain(member.name.clone(), kind, &mut random)
            },
            _ => plain(member.name.clone(), kind, &mut random),
        });
    }
    older
}

fn plain(name: Vec<u8>, kind: Kind, random: &mut Random) -> Member {
    let mode = match kind {
        Kind::Directory => *random.pick(&[0o755, 0o700, 0o555, 0o1777, 0o2755, 0o750, 0o500]),
        Kind::Symlink(_) => 0o777,
        Kind::File(_) => *random.pick(&[0o644, 0o600, 0o444, 0o755, 0o4755, 0o2711, 0o666, 0o400]),
        _ => *random.pick(&[0o644, 0o600, 0o666]),
    };
    let has_more = matches!(kind, Kind::File(_) | Kind::Directory);
    let mut attributes = Vec::new();
    if has_more && random.percent(15) {
        for index in 0..=random.below(3) {
            let length = *random.pick(&[1, 20, 100, 300, 700]);
            attributes.push((format!("user.note {index}"), random.bytes(length)));
        }
        if random.percent(30) {
            attributes.push(("trusted.note".into(), random.bytes(40)));
        }
    }
    if matches!(kind, Kind::File(_)) && random.percent(2) {
        // Revision 2, effective, cap_net_bind_service permitted (linux/capability.h).
        let capability = [0x0200_0001_u32, 1 << 10, 0, 0, 0];
        let value = capability
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        attributes.push(("security.capability".into(), value));
    }
    let acl = (has_more && random.percent(8)).then(|| Acl {
        user: (1000 + random.below(50) as u32, random.below(8) as u32),
        group: (2000 + random.below(50) as u32, random.below(8) as u32),
        owning_group: random.below(8) as u32,
    });
    Member {
        name,
        kind,
        mode,
        owner: (random.below(60_000) as u32, random.below(60_000) as u32),
        mtime: (
            1 + random.below(1_700_000_000) as i64,
            random.below(1_000_000_000) as u32,
        ),
        attributes,
        acl,
    }
}

fn component(number: usize, random: &mut Random) -> Vec<u8> {
    let mut name = format!("{number:05}").into_bytes();
    match random.below(20) {
        0 => name.resize(255, b'x'),
        1 => name.resize(120, b'y'),
        2 => name.extend_from_slice(b" \xff\xfe not UTF-8"),
        3 => name.extend_from_slice(b" two\nlines"),
        4 => name.extend_from_slice("-größe".as_bytes()),
        _ => {}
    }
    name
}

fn link_target(random: &mut Random) -> Vec<u8> {
    // Short ones lie in the inode, long ones in a block of their own.
    let length = *random.pick(&[1, 10, 50, 59, 60, 61, 99, 100, 101, 300, 1000]);
    let mut target = b"../".repeat(length / 3 + 1);
    target.truncate(length);
    target
}

fn size(random: &mut Random) -> u64 {
    let limit = match random.below(100) {
        0..45 => 4096,
        45..82 => 32 << 10,
        82..97 => 96 << 10,
        _ => 1 << 20,
    };
    match random.below(8) {
        // Whole blocks too, and those of the archive.
        0 => (1 + random.below(limit / 512)) * 512,
        _ => 1 + random.below(limit),
    }
}

fn sparse(random: &mut Random) -> Data {
    let mut extents = Vec::new();
    let mut at = 0;
    for _ in 0..1 + random.below(6) {
        at += (1 + random.below(20)) * 4096;
        let length = (1 + random.below(3)) * 4096;
        extents.push((at, length));
        at += length;
    }
    // Some end in a hole.
    let size = at + random.below(2) * 12_345;
    Data {
        size,
        seed: random.next(),
        extents,
    }
}

/// The archive.
pub(crate) fn encode(members: &[Member]) -> Vec<u8> {
    let mut archive = Vec::new();
    for member in members {
        encode_member(&mut archive, member, members);
    }
    archive.resize((archive.len() + 1024).next_multiple_of(10_240), 0);
    archive
}

fn encode_member(archive: &mut Vec<u8>, member: &Member, members: &[Member]) {
    let mut records = Vec::new();
    let mut record = |key: &str, value: &[u8]| {
        let rest = key.len() + value.len() + 3;
        let mut length = rest + 1;
        while length != rest + length.to_string().len() {
            length = rest + length.to_string().len();
        }
        records.extend_from_slice(format!("{length} {key}=").as_bytes());
        records.extend_from_slice(value);
        records.push(b'\n');
    };
    let mut contents = Vec::new();
    let mut link: &[u8] = b"";
    let (typeflag, device) = match &member.kind {
        Kind::File(data) => {
            if data.is_sparse() {
                record("GNU.sparse.major", b"1");
                record("GNU.sparse.minor", b"0");
                record("GNU.sparse.name", &member.name);
                record("GNU.sparse.realsize", data.size.to_string().as_bytes());
                // A hole at the end is told by an empty extent there.
                let end = (data.size, 0);
                let map: Vec<_> = data.extents.iter().copied().chain([end]).collect();
                contents.extend_from_slice(format!("{}\n", map.len()).as_bytes());
                for (offset, length) in map {
                    contents.extend_from_slice(format!("{offset}\n{length}\n").as_bytes());
                }
                contents.resize(contents.len().next_multiple_of(512), 0);
            }
            for (_, bytes) in data.extents() {
                contents.extend_from_slice(&bytes);
            }
            (b'0', (0, 0))
        }
        Kind::HardLink(to) => {
            link = &members[*to].name;
            (b'1', (0, 0))
        }
        Kind::Symlink(target) => {
            link = target;
            (b'2', (0, 0))
        }
        Kind::Device {
            block,
            major,
            minor,
        } => (if *block { b'4' } else { b'3' }, (*major, *minor)),
        Kind::Directory => (b'5', (0, 0)),
        Kind::Fifo => (b'6', (0, 0)),
    };
    record("path", &member.name);
    if !link.is_empty() {
        record("linkpath", link);
    }
    record(
        "mtime",
        format!("{}.{:09}", member.mtime.0, member.mtime.1).as_bytes(),
    );
    if !matches!(member.kind, Kind::HardLink(_)) {
        for (name, value) in &member.attributes {
            record(&format!("SCHILY.xattr.{name}"), value);
        }
        if let Some(acl) = member.acl {
            record("SCHILY.acl.access", acl.text(member.mode).as_bytes());
        }
    }
    block(archive, b'x', b"pax", b"", member, records.len(), (0, 0));
    archive.extend_from_slice(&records);
    archive.resize(archive.len().next_multiple_of(512), 0);
    block(
        archive,
        typeflag,
        &member.name,
        link,
        member,
        contents.len(),
        device,
    );
    archive.extend_from_slice(&contents);
    archive.resize(archive.len().next_multiple_of(512), 0);
}

fn block(
    archive: &mut Vec<u8>,
    typeflag: u8,
    name: &[u8],
    link: &[u8],
    member: &Member,
    size: usize,
    device: (u32, u32),
) {
    let mut header = [0_u8; 512];
    let mut field = |at: usize, width: usize, value: &[u8]| {
        let count = value.len().min(width);
        header[at..at + count].copy_from_slice(&value[..count]);
    };
    // The whole names stand in the records.
    field(0, 99, name);
    field(100, 8, format!("{:07o}", member.mode).as_bytes());
    field(108, 8, format!("{:07o}", member.owner.0).as_bytes());
    field(116, 8, format!("{:07o}", member.owner.1).as_bytes());
    field(124, 12, format!("{size:011o}").as_bytes());
    field(136, 12, format!("{:011o}", member.mtime.0).as_bytes());
    field(148, 8, b"        ");
    field(156, 1, &[typeflag]);
    field(157, 99, link);
    field(257, 8, b"ustar\x0000");
    field(329, 8, format!("{:07o}", device.0).as_bytes());
    field(337, 8, format!("{:07o}", device.1).as_bytes());
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    archive.extend_from_slice(&header);
}
