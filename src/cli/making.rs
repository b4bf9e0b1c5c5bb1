//! Settings that only writing an archive knows, and what they make of a plan.
//!
//! They are folded apart from the others so that the table of settings stays one that can be looked over.

use durastar::member::Timestamp;
use durastar::plan::Plan;
use durastar::plan::create::{
    AccessTimes, ArchiveFormat, Holes, Identity, IgnoreFile, IgnoreSyntax, Mapped, ModeBits,
    ModeChange, ModeOperator, Mtime, PaxOptions, Sort, SparseVersion, Tag, TagExtent,
};

use super::assemble::Facts;
use super::option::Bad;
use super::{date, number};

/// One wish about writing.
#[derive(Clone, Debug)]
pub(crate) enum Making {
    /// The format.
    Format(ArchiveFormat),
    /// Keywords for pax headers.
    PaxOption(Vec<u8>),
    /// The version of maps of holes.
    SparseVersion(SparseVersion),
    /// Look for holes.
    Sparse,
    /// How holes are found.
    HoleDetection(Holes),
    /// Follow symbolic links.
    Dereference,
    /// Store hard links as files.
    HardDereference,
    /// Stay on one file system.
    OneFileSystem,
    /// The order of entries.
    Sort(Sort),
    /// Leave out directories with this file.
    Tag(Tag),
    /// Leave out what this file says.
    IgnoreFile(Vec<IgnoreFile>),
    /// The owner of all members.
    Owner(Vec<u8>),
    /// The group of all members.
    Group(Vec<u8>),
    /// Owners by a list.
    OwnerMap(Vec<u8>),
    /// Groups by a list.
    GroupMap(Vec<u8>),
    /// Changes to modes.
    Mode(Vec<u8>),
    /// The modification time.
    Mtime(Vec<u8>),
    /// It is the latest one, not the only one.
    ClampMtime,
    /// Access times.
    AccessTimes(AccessTimes),
    /// A label.
    Label(Vec<u8>),
    /// Remove what was archived.
    RemoveFiles,
    /// Unreadable files are no failure.
    IgnoreFailedRead,
    /// Look for missing links.
    CheckLinks,
    /// Compress by the archive's name, or not.
    CompressByName(bool),
    /// The level of compression.
    Level(u32),
}

/// What is known only once all settings are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Later {
    mtime: Option<Timestamp>,
    clamp: bool,
    sparse: bool,
    detection: Option<Holes>,
    by_name: bool,
    format_given: bool,
}

impl Later {
    /// Takes a setting; gives why its value cannot be used.
    pub(crate) fn take(
        &mut self,
        making: &Making,
        plan: &mut Plan,
        facts: &Facts<'_>,
    ) -> Result<(), (Vec<u8>, Bad)> {
        let create = &mut plan.create;
        match making {
            &Making::Format(format) => {
                create.format = format;
                self.format_given = true;
            }
            Making::PaxOption(text) => {
                pax_option(text, &mut create.pax).map_err(|bad| (text.clone(), bad))?;
                // As in GNU tar, which lets other formats not be chosen beside it.
                create.format = ArchiveFormat::Posix;
            }
            &Making::SparseVersion(version) => {
                create.sparse_version = version;
                self.sparse = true;
            }
            Making::Sparse => self.sparse = true,
            &Making::HoleDetection(holes) => {
                self.sparse = true;
                self.detection = Some(holes);
            }
            Making::Dereference => create.dereference = true,
            Making::HardDereference => create.hard_dereference = true,
            Making::OneFileSystem => create.one_file_system = true,
            &Making::Sort(sort) => create.sort = sort,
            Making::Tag(tag) => create.tags.push(tag.clone()),
            Making::IgnoreFile(files) => create.ignore_files.extend(files.iter().cloned()),
            Making::Owner(text) => {
                create.owner =
                    Some(identity(text).ok_or((text.clone(), Bad::Value("Invalid owner")))?);
            }
            Making::Group(text) => {
                create.group =
                    Some(identity(text).ok_or((text.clone(), Bad::Value("Invalid group")))?);
            }
            Making::OwnerMap(name) => {
                create.owner_map = map(name, facts, durastar::sys::names::user_id)?;
            }
            Making::GroupMap(name) => {
                create.group_map = map(name, facts, durastar::sys::names::group_id)?;
            }
            Making::Mode(text) => {
                create.mode = mode(text, facts.umask)
                    .ok_or((text.clone(), Bad::Value("Invalid mode given on option")))?;
            }
            Making::Mtime(text) => self.mtime = Some(time(text, facts)?),
            Making::ClampMtime => self.clamp = true,
            &Making::AccessTimes(times) => create.access_times = times,
            Making::Label(text) => create.label = Some(text.clone()),
            Making::RemoveFiles => create.remove_files = true,
            Making::IgnoreFailedRead => create.ignore_failed_read = true,
            Making::CheckLinks => create.check_links = true,
            &Making::CompressByName(on) => self.by_name = on,
            &Making::Level(level) => create.effort.level = Some(level),
        }
        Ok(())
    }

    /// Holes of files are stored as such.
    pub(crate) fn store_holes(&mut self) {
        self.sparse = true;
    }

    /// Whether the archive's name says how it is compressed.
    pub(crate) fn by_name(&self) -> bool {
        self.by_name
    }

    /// Makes the rest of the plan. Gives what is wrong with it.
    pub(crate) fn finish(&self, plan: &mut Plan) -> Result<(), String> {
        let create = &mut plan.create;
        create.mtime = match (self.mtime, self.clamp) {
            (None, false) => Mtime::OfFile,
            (Some(time), false) => Mtime::Fixed(time),
            (Some(time), true) => Mtime::AtMost(time),
            (None, true) => {
                return Err("--clamp-mtime needs a date specified using --mtime".to_owned());
            }
        };
        let extract = &plan.extract;
        let records = extract.acls || extract.selinux || extract.xattrs.is_some();
        if records && !self.format_given && create.format == ArchiveFormat::Gnu {
            // Only extended headers can hold them.
            create.format = ArchiveFormat::Posix;
        }
        if self.sparse {
            create.holes = self.detection.unwrap_or(Holes::Ask);
        }
        Ok(())
    }
}

/// A time as a date or of a file, whose name begins with a slash or a dot.
fn time(text: &[u8], facts: &Facts<'_>) -> Result<Timestamp, (Vec<u8>, Bad)> {
    if matches!(text.first(), Some(b'/' | b'.')) {
        return (facts.modified)(text).map_err(|_| {
            let what = "Date sample file not found".to_owned();
            (text.to_vec(), Bad::Usage(what))
        });
    }
    date::parse(text).ok_or_else(|| {
        (
            text.to_vec(),
            Bad::Usage(format!(
                "Not a date: '{}'; write @SECONDS, YYYY-MM-DD or 'YYYY-MM-DD HH:MM:SS', or ./FILE for that of a file",
                String::from_utf8_lossy(text).escape_debug()
            )),
        )
    })
}

/// `NAME`, `NAME:NUMBER`, `:NUMBER`, `NUMBER` or `+NUMBER`.
fn identity(text: &[u8]) -> Option<Identity> {
    let digits = |text: &[u8]| number::plain(text.strip_prefix(b"+").unwrap_or(text));
    if let Some(colon) = text.iter().position(|&byte| byte == b':') {
        let (name, id) = (&text[..colon], &text[colon + 1..]);
        let id = match id {
            b"" => None,
            id => Some(digits(id)?),
        };
        return Some(Identity {
            name: (!name.is_empty() || id.is_none()).then(|| name.to_vec()),
            id,
        });
    }
    Some(match digits(text) {
        Some(id)
            if text
                .first()
                .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'+') =>
        {
            Identity {
                name: None,
                id: Some(id),
            }
        }
        _ if text.is_empty() => return None,
        _ => Identity {
            name: Some(text.to_vec()),
            id: None,
        },
    })
}

/// Lines of `FROM TO`, FROM a name or `+NUMBER`, TO as for `--owner`; `#` begins a comment.
fn map(
    name: &[u8],
    facts: &Facts<'_>,
    id_of: fn(&[u8]) -> Option<u32>,
) -> Result<Vec<Mapped>, (Vec<u8>, Bad)> {
    let told = String::from_utf8_lossy(name).escape_debug().to_string();
    let text = (facts.read)(name).map_err(|error| {
        let what = format!(
            "{told}: Cannot open: {}",
            super::dialect::voice::cause(&error)
        );
        (name.to_vec(), Bad::Fatal(what))
    })?;
    let mut map = Vec::new();
    for (place, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let Some(from) = words.next() else {
            continue;
        };
        let wrong = |what: &str| {
            let what = format!("{told}:{}: {what}", place + 1);
            (name.to_vec(), Bad::Fatal(what))
        };
        let from_id = match from.strip_prefix(b"+") {
            Some(digits) => number::plain(digits).and_then(|id| u32::try_from(id).ok()),
            None => id_of(from),
        };
        let from = from_id.ok_or_else(|| wrong("unknown user or group"))?;
        let to = words.next().and_then(identity);
        let to = to.ok_or_else(|| wrong("malformed line"))?;
        map.push(Mapped { from, to });
    }
    Ok(map)
}

/// The permission bits and those above them.
const ALL: u32 = 0o7777;

/// A mode as chmod(1) takes it: octal, or clauses of who, operator and permissions.
fn mode(text: &[u8], umask: u32) -> Option<Vec<ModeChange>> {
    if let Some(bits) = number::octal(text) {
        return (bits <= ALL).then(|| {
            vec![ModeChange {
                affected: ALL,
                operator: ModeOperator::Set,
                bits: ModeBits::Fixed(bits),
            }]
        });
    }
    let mut changes = Vec::new();
    for clause in text.split(|&byte| byte == b',') {
        let who_end = clause.iter().position(|byte| !b"ugoa".contains(byte))?;
        let who = clause[..who_end].iter().fold(0, |who, letter| {
            who | match letter {
                b'u' => 0o4700,
                b'g' => 0o2070,
                b'o' => 0o1007,
                _ => ALL,
            }
        });
        // Without anybody named it is everybody, but for what the umask takes away.
        let affected = if who_end == 0 { ALL & !umask } else { who };
        let mut rest = &clause[who_end..];
        if rest.is_empty() {
            return None;
        }
        while let Some((operator, tail)) = rest.split_first() {
            let operator = match operator {
                b'+' => ModeOperator::Add,
                b'-' => ModeOperator::Remove,
                b'=' => ModeOperator::Set,
                _ => return None,
            };
            let end = tail
                .iter()
                .position(|byte| b"+-=".contains(byte))
                .unwrap_or(tail.len());
            let bits = match &tail[..end] {
                b"u" => ModeBits::CopyOf(0),
                b"g" => ModeBits::CopyOf(1),
                b"o" => ModeBits::CopyOf(2),
                letters => {
                    let mut with_x = false;
                    let mut bits = 0;
                    for letter in letters {
                        bits |= match letter {
                            b'r' => 0o444,
                            b'w' => 0o222,
                            b'x' => 0o111,
                            b's' => 0o6000,
                            b't' => 0o1000,
                            b'X' => {
                                with_x = true;
                                0
                            }
                            _ => return None,
                        };
                    }
                    if with_x {
                        ModeBits::WithX(bits)
                    } else {
                        ModeBits::Fixed(bits)
                    }
                }
            };
            changes.push(ModeChange {
                affected,
                operator,
                bits,
            });
            rest = &tail[end..];
        }
    }
    Some(changes)
}

/// `keyword[[:]=value],...`, where commas in values are doubled or escaped.
fn pax_option(text: &[u8], pax: &mut PaxOptions) -> Result<(), Bad> {
    for part in parts(text) {
        let unknown = || {
            let part = String::from_utf8_lossy(&part).escape_debug().to_string();
            Bad::Usage(format!("Unknown or not yet implemented keyword: {part}"))
        };
        let Some(equals) = part.iter().position(|&byte| byte == b'=') else {
            return Err(Bad::Usage(format!(
                "Keyword {} is unknown or not yet implemented",
                String::from_utf8_lossy(&part).escape_debug()
            )));
        };
        let (key, value) = (part[..equals].trim_ascii(), &part[equals + 1..]);
        match key.strip_suffix(b":") {
            Some(key) => {
                check_key(key)?;
                pax.each
                    .push((key.trim_ascii_end().to_vec(), value.to_vec()));
            }
            None => match key {
                b"delete" => pax.delete.push(value.to_vec()),
                b"exthdr.name" => pax.header_name = Some(value.to_vec()),
                b"globexthdr.name" => pax.global_name = Some(value.to_vec()),
                b"exthdr.mtime" | b"globexthdr.mtime" => {
                    let time = date::parse(value)
                        .or_else(|| {
                            let seconds = number::plain(value)?;
                            Some(Timestamp {
                                seconds: i64::try_from(seconds).ok()?,
                                nanos: 0,
                            })
                        })
                        .ok_or_else(unknown)?
                        .seconds;
                    if key == b"exthdr.mtime" {
                        pax.header_time = Some(time);
                    } else {
                        pax.global_time = Some(time);
                    }
                }
                _ => {
                    check_key(key)?;
                    pax.global.push((key.to_vec(), value.to_vec()));
                }
            },
        }
    }
    Ok(())
}

/// What says how a file with holes is stored cannot be said otherwise.
fn check_key(key: &[u8]) -> Result<(), Bad> {
    if key.is_empty() || key.starts_with(b"GNU.sparse.") {
        return Err(Bad::Usage(format!(
            "Keyword {} cannot be overridden",
            String::from_utf8_lossy(key).escape_debug()
        )));
    }
    Ok(())
}

/// The parts between commas; a backslash takes a comma's meaning away.
fn parts(text: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' => parts.push(std::mem::take(&mut part)),
            b'\\' => part.extend(bytes.next()),
            // POSIX pax has values in braces, GNU tar times.
            _ => part.push(byte),
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    for part in &mut parts {
        let start = part
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        part.drain(..start);
        if let Some(equals) = part.iter().position(|&byte| byte == b'=')
            && part[equals + 1..].starts_with(b"{")
            && part.ends_with(b"}")
        {
            part.pop();
            part.remove(equals + 1);
        }
    }
    parts
}

/// A tag that leaves out a directory's contents, or more.
pub(crate) fn tag(name: &[u8], extent: TagExtent) -> Making {
    Making::Tag(Tag {
        name: name.to_vec(),
        cache: false,
        extent,
    })
}

/// The tag of cache directories.
pub(crate) fn cache_tag(extent: TagExtent) -> Making {
    Making::Tag(Tag {
        name: b"CACHEDIR.TAG".to_vec(),
        cache: true,
        extent,
    })
}

/// A file with patterns of what to leave out.
pub(crate) fn ignore_file(name: &[u8], recursive: bool) -> Making {
    Making::IgnoreFile(vec![IgnoreFile {
        name: name.to_vec(),
        recursive,
        syntax: IgnoreSyntax::Plain,
    }])
}

/// The files in which version control systems say what they ignore.
pub(crate) fn version_control_ignores() -> Making {
    let file = |name: &str, recursive, syntax| IgnoreFile {
        name: name.as_bytes().to_vec(),
        recursive,
        syntax,
    };
    Making::IgnoreFile(vec![
        file(".cvsignore", false, IgnoreSyntax::Cvs),
        file(".gitignore", true, IgnoreSyntax::Git),
        file(".bzrignore", true, IgnoreSyntax::Git),
        file(".hgignore", true, IgnoreSyntax::Mercurial),
    ])
}

/// The format that an archive's name asks for: what GNU tar's `-a` knows, and lz4.
pub(crate) fn compression_by_name(name: &[u8]) -> Option<durastar::plan::Compression> {
    use durastar::plan::Compression::{Named, Program};
    use durastar::plan::CompressionFormat as Format;
    const SUFFIXES: &[(&str, Format)] = &[
        ("gz", Format::Gzip),
        ("tgz", Format::Gzip),
        ("taz", Format::Gzip),
        ("Z", Format::Compress),
        ("taZ", Format::Compress),
        ("bz2", Format::Bzip2),
        ("tbz", Format::Bzip2),
        ("tbz2", Format::Bzip2),
        ("tz2", Format::Bzip2),
        ("lz", Format::Lzip),
        ("lzma", Format::Lzma),
        ("tlz", Format::Lzma),
        ("xz", Format::Xz),
        ("txz", Format::Xz),
        ("zst", Format::Zstd),
        ("tzst", Format::Zstd),
        ("lz4", Format::Lz4),
    ];
    let suffix = name.rsplit(|&byte| byte == b'.').next()?;
    if suffix == b"lzo" {
        return Some(Program(b"lzop".to_vec()));
    }
    SUFFIXES
        .iter()
        .find(|(known, _)| known.as_bytes() == suffix)
        .map(|&(_, format)| Named(format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_names_numbers_or_both() {
        let of = |name: Option<&str>, id| {
            Some(Identity {
                name: name.map(|name| name.as_bytes().to_vec()),
                id,
            })
        };
        assert_eq!(identity(b"joe"), of(Some("joe"), None));
        assert_eq!(identity(b"joe:12"), of(Some("joe"), Some(12)));
        assert_eq!(identity(b"12"), of(None, Some(12)));
        assert_eq!(identity(b"+12"), of(None, Some(12)));
        assert_eq!(identity(b":12"), of(None, Some(12)));
        assert_eq!(identity(b""), None);
        assert_eq!(identity(b"joe:x"), None);
    }

    #[test]
    fn modes_are_what_chmod_takes() {
        // chmod(1): what each leaves of 0640, the umask being 022.
        let applied = |text: &str| {
            let changes = mode(text.as_bytes(), 0o022)?;
            Some(changes.iter().fold(0o640, |mode, change| {
                let bits = match change.bits {
                    ModeBits::Fixed(bits) => bits,
                    ModeBits::WithX(bits) => bits,
                    ModeBits::CopyOf(class) => {
                        let class = mode >> (6 - 3 * u32::from(class)) & 7;
                        class << 6 | class << 3 | class
                    }
                } & change.affected;
                match change.operator {
                    ModeOperator::Add => mode | bits,
                    ModeOperator::Remove => mode & !bits,
                    ModeOperator::Set => mode & !change.affected | bits,
                }
            }))
        };
        for (text, left) in [
            ("755", Some(0o755)),
            ("u+x", Some(0o740)),
            ("go=", Some(0o600)),
            ("a+rX", Some(0o644)),
            ("+w", Some(0o640)),
            ("g=u,o-r", Some(0o660)),
            ("u=rwx,go=rx", Some(0o755)),
            ("u+s", Some(0o4640)),
            ("q", None),
            ("", None),
            ("u", None),
        ] {
            assert_eq!(applied(text), left, "{text}");
        }
    }

    #[test]
    fn pax_options_are_told_apart() {
        let mut pax = PaxOptions::default();
        let text = b"delete=atime,exthdr.name=%d/x/%f,exthdr.mtime=12,comment=a\\,b,uname:=me";
        pax_option(text, &mut pax).unwrap();
        assert_eq!(pax.delete, [b"atime"]);
        assert_eq!(pax.header_name.as_deref(), Some(&b"%d/x/%f"[..]));
        assert_eq!(pax.header_time, Some(12));
        assert_eq!(pax.global, [(b"comment".to_vec(), b"a,b".to_vec())]);
        assert_eq!(pax.each, [(b"uname".to_vec(), b"me".to_vec())]);
        pax_option(b"GNU.sparse.size=1", &mut pax).unwrap_err();
        pax_option(b"atime", &mut pax).unwrap_err();
    }
}
