//! Records of pax extended headers, and what they override.
//!
//! A record is `LENGTH KEY=VALUE\n`, LENGTH counting all of it in decimal (POSIX pax, "pax Extended Header"). A value may
//! hold any bytes. An empty one takes back an override that came before, also one of a global header; for attributes it
//! is a value like any other. Names are bytes here, whatever `hdrcharset` says: this is what every system we know does
//! with them.

use super::limits;
use super::number;
use super::sparse::PaxRecords;
use crate::member::{Format, Record, Timestamp};

/// The next record in a header's body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// A record, and what comes after it.
    Record {
        key: &'a [u8],
        value: &'a [u8],
        rest: &'a [u8],
    },
    /// No more records.
    End,
    /// What is here is none; nothing behind it can be trusted.
    Malformed(&'static str),
}

/// Splits the first record off `body`. NULs in its place end the header quietly: some writers pad with them.
pub(crate) fn next_record(body: &[u8]) -> Next<'_> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let lead = body.iter().take_while(|byte| blank(byte)).count();
    let digits = body[lead..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits == 0 {
        return match body.get(lead) {
            None | Some(0) => Next::End,
            Some(_) => Next::Malformed("missing length"),
        };
    }
    let digits_end = lead + digits;
    let length = match number::decimal(&body[lead..digits_end]).map(usize::try_from) {
        Some(Ok(length)) if length <= body.len() => length,
        _ => return Next::Malformed("length out of range"),
    };
    let blanks = body[digits_end..]
        .iter()
        .take_while(|byte| blank(byte))
        .count();
    if blanks == 0 {
        return Next::Malformed("missing blank after length");
    }
    let start = digits_end + blanks;
    // At least `=` and the newline.
    if length < start + 2 {
        return Next::Malformed("length out of range");
    }
    let (record, rest) = body.split_at(length);
    let Some(equals) = record[start..].iter().position(|&byte| byte == b'=') else {
        return Next::Malformed("missing equal sign");
    };
    if record[length - 1] != b'\n' {
        return Next::Malformed("missing newline");
    }
    let equals = start + equals;
    Next::Record {
        key: &record[start..equals],
        value: &record[equals + 1..length - 1],
        rest,
    }
}

/// What one keyword says: `None` nothing, `Some(None)` that no override counts, not even a global one.
pub(crate) type Override<T> = Option<Option<T>>;

/// What the extended headers before a member (or the global ones so far) say about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) path: Override<Vec<u8>>,
    pub(crate) link: Override<Vec<u8>>,
    pub(crate) uname: Override<Vec<u8>>,
    pub(crate) gname: Override<Vec<u8>>,
    pub(crate) uid: Override<u64>,
    pub(crate) gid: Override<u64>,
    pub(crate) size: Override<u64>,
    pub(crate) mtime: Override<Timestamp>,
    pub(crate) atime: Override<Timestamp>,
    pub(crate) ctime: Override<Timestamp>,
    pub(crate) major: Override<u32>,
    pub(crate) minor: Override<u32>,
    /// `SCHILY.realsize`.
    pub(crate) real_size: Override<u64>,
    /// `SCHILY.offset`.
    pub(crate) offset: Override<u64>,
    /// `SCHILY.filetype` is `socket`.
    pub(crate) socket: Override<bool>,
    /// `SCHILY.archtype`.
    pub(crate) format: Override<Format>,
    pub(crate) dumpdir: Override<Vec<u8>>,
    pub(crate) sparse: Option<Box<PaxRecords>>,
    /// GNU tar's label and its continuation, in global headers only.
    pub(crate) volume: Volume,
    /// All other records.
    pub(crate) records: Vec<Record>,
    record_bytes: usize,
}

/// What the `GNU.volume.*` records of a global header say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Volume {
    pub(crate) label: Option<Vec<u8>>,
    pub(crate) filename: Option<Vec<u8>>,
    pub(crate) size: Option<u64>,
    pub(crate) offset: Option<u64>,
}

/// Whether records hold for one member or for all that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Typeflag `x` or `X`.
    Member,
    /// Typeflag `g`.
    Global,
}

impl Overrides {
    /// Takes in a whole body. What is wrong with it is given to `complain`; good records before a malformed one count,
    /// what comes after it does not.
    pub(crate) fn take(&mut self, scope: Scope, body: &[u8], mut complain: impl FnMut(String)) {
        let mut body = body;
        loop {
            match next_record(body) {
                Next::End => return,
                Next::Malformed(what) => return complain(what.to_owned()),
                Next::Record { key, value, rest } => {
                    if let Err(what) = self.apply(scope, key, value) {
                        complain(what);
                    }
                    body = rest;
                }
            }
        }
    }

    fn apply(&mut self, scope: Scope, key: &[u8], value: &[u8]) -> Result<(), String> {
        match key {
            b"path" => set_text(&mut self.path, scope, key, value),
            b"linkpath" => set_text(&mut self.link, scope, key, value),
            b"uname" => set_text(&mut self.uname, scope, key, value),
            b"gname" => set_text(&mut self.gname, scope, key, value),
            b"uid" => set(&mut self.uid, key, value, number::decimal),
            b"gid" => set(&mut self.gid, key, value, number::decimal),
            b"size" => set(&mut self.size, key, value, file_size),
            b"mtime" => set(&mut self.mtime, key, value, number::time),
            b"atime" => set(&mut self.atime, key, value, number::time),
            b"ctime" => set(&mut self.ctime, key, value, number::time),
            // Names are bytes whatever it says.
            b"hdrcharset" => Ok(()),
            b"SCHILY.devmajor" => set(&mut self.major, key, value, device_part),
            b"SCHILY.devminor" => set(&mut self.minor, key, value, device_part),
            b"SCHILY.realsize" => set(&mut self.real_size, key, value, file_size),
            b"SCHILY.offset" => set(&mut self.offset, key, value, file_size),
            b"SCHILY.filetype" => {
                self.socket = Some(Some(value == b"socket"));
                self.keep(scope, key, value)
            }
            b"SCHILY.archtype" => {
                self.format = Some(archive_type(value));
                self.keep(scope, key, value)
            }
            b"GNU.dumpdir" => {
                if value.len() as u64 > limits::DUMPDIR {
                    return Err(format!("{} too long", shown(key)));
                }
                self.dumpdir = Some((!value.is_empty()).then(|| value.to_vec()));
                Ok(())
            }
            b"GNU.volume.label" | b"GNU.volume.filename"
                if scope == Scope::Global && value.len() > limits::NAME =>
            {
                Err(format!("{} too long", shown(key)))
            }
            b"GNU.volume.label" if scope == Scope::Global => {
                self.volume.label = Some(value.to_vec());
                self.keep(scope, key, value)
            }
            b"GNU.volume.filename" if scope == Scope::Global => {
                self.volume.filename = Some(value.to_vec());
                Ok(())
            }
            b"GNU.volume.size" if scope == Scope::Global => {
                self.volume.size = file_size(value);
                Ok(())
            }
            b"GNU.volume.offset" if scope == Scope::Global => {
                self.volume.offset = file_size(value);
                Ok(())
            }
            _ => match key.strip_prefix(b"GNU.sparse.") {
                Some(rest) => {
                    let sparse = self.sparse.get_or_insert_default();
                    if sparse.take(rest, value) {
                        Ok(())
                    } else {
                        Err(invalid(key))
                    }
                }
                None => self.keep(scope, key, value),
            },
        }
    }

    fn keep(&mut self, scope: Scope, key: &[u8], value: &[u8]) -> Result<(), String> {
        let (records, bytes, length) = match scope {
            Scope::Member => (limits::RECORDS, limits::RECORD_BYTES, limits::RECORD),
            Scope::Global => (
                limits::GLOBAL_RECORDS,
                limits::GLOBAL_BYTES,
                limits::GLOBAL_BYTES,
            ),
        };
        let size = key.len() + value.len();
        if size > length {
            return Err(format!("{} too long", shown(key)));
        }
        if scope == Scope::Global {
            // Few, so a search is cheap; the later one counts, an empty one takes it back.
            self.records.retain(|record| record.key != key);
            let lengths = self
                .records
                .iter()
                .map(|kept| kept.key.len() + kept.value.len());
            self.record_bytes = lengths.sum();
            if value.is_empty() {
                return Ok(());
            }
        }
        if self.records.len() >= records || self.record_bytes + size > bytes {
            return Err("too many records".to_owned());
        }
        self.record_bytes += size;
        self.records.push(Record {
            key: key.to_vec(),
            value: value.to_vec(),
        });
        Ok(())
    }
}

fn set<T>(
    field: &mut Override<T>,
    key: &[u8],
    value: &[u8],
    parse: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<(), String> {
    if value.is_empty() {
        *field = Some(None);
        return Ok(());
    }
    match parse(value) {
        Some(value) => {
            *field = Some(Some(value));
            Ok(())
        }
        None => Err(invalid(key)),
    }
}

/// Text ends at a NUL: no system can have one in a name.
fn set_text(
    field: &mut Override<Vec<u8>>,
    scope: Scope,
    key: &[u8],
    value: &[u8],
) -> Result<(), String> {
    let most = match scope {
        Scope::Member => limits::NAME,
        Scope::Global => limits::GLOBAL_BYTES,
    };
    set(field, key, value, |value| {
        let text = super::header::text(value);
        (text.len() <= most && !text.is_empty()).then(|| text.to_vec())
    })
}

fn file_size(value: &[u8]) -> Option<u64> {
    number::decimal(value).filter(|&size| i64::try_from(size).is_ok())
}

fn device_part(value: &[u8]) -> Option<u32> {
    number::decimal(value).and_then(|part| u32::try_from(part).ok())
}

/// The names that star gives to its formats (star(1), `H=`).
fn archive_type(value: &[u8]) -> Option<Format> {
    Some(match value {
        b"v7tar" | b"tar" => Format::V7,
        b"star" => Format::Star,
        b"ustar" => Format::Ustar,
        b"gnutar" => Format::Gnu,
        b"pax" | b"epax" => Format::Pax,
        b"xstar" => Format::Xstar,
        b"xustar" => Format::Xustar,
        b"exustar" => Format::Exustar,
        b"suntar" => Format::Suntar,
        _ => return None,
    })
}

fn invalid(key: &[u8]) -> String {
    format!("invalid {}", shown(key))
}

/// A key for a message: keys come from the archive and may be long.
fn shown(key: &[u8]) -> String {
    key[..key.len().min(64)].escape_ascii().to_string()
}

/// Whether a global record is about the archive, not about its members.
pub(crate) fn is_about_archive(key: &[u8]) -> bool {
    key == b"comment"
        || key == b"SCHILY.release"
        || key == b"SCHILY.archtype"
        || key.starts_with(b"SCHILY.volhdr.")
        || key.starts_with(b"GNU.volume.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// POSIX: the length is that of the whole record, its own digits, the blank and the newline too.
    fn write(key: &[u8], value: &[u8]) -> Vec<u8> {
        let rest = key.len() + value.len() + 3;
        let digits = (1..20)
            .find(|digits| (rest + digits).to_string().len() == *digits)
            .expect("some number of digits fits");
        let mut record = format!("{} ", rest + digits).into_bytes();
        record.extend_from_slice(key);
        record.push(b'=');
        record.extend_from_slice(value);
        record.push(b'\n');
        record
    }

    type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

    fn records(mut body: &[u8]) -> (Pairs, Option<&'static str>) {
        let mut all = Vec::new();
        loop {
            match next_record(body) {
                Next::End => return (all, None),
                Next::Malformed(what) => return (all, Some(what)),
                Next::Record { key, value, rest } => {
                    assert!(rest.len() < body.len());
                    all.push((key.to_vec(), value.to_vec()));
                    body = rest;
                }
            }
        }
    }

    #[test]
    fn the_example_of_the_standard_is_read() {
        // The shortest lengths around a change of the number of digits.
        assert_eq!(write(b"k", b"12"), b"7 k=12\n");
        assert_eq!(write(b"path", &[b'a'; 1]).len(), 9);
        assert_eq!(write(b"path", &[b'a'; 2]), b"11 path=aa\n");
        let body = b"25 ctime=1084839148.1212\n11 path=aa\n";
        let (all, fault) = records(body);
        assert_eq!(fault, None);
        assert_eq!(all[0], (b"ctime".to_vec(), b"1084839148.1212".to_vec()));
        assert_eq!(all[1], (b"path".to_vec(), b"aa".to_vec()));
    }

    proptest! {
        #[test]
        fn records_are_read_back(list in vec((vec(1u8..0x3d, 1..20), vec(any::<u8>(), 0..1200)), 0..6)) {
            let body: Vec<u8> = list.iter().flat_map(|(key, value)| write(key, value)).collect();
            // A key that begins with a blank cannot be told from the blank before it.
            prop_assume!(list.iter().all(|(key, _)| !matches!(key[0], b' ' | b'\t')));
            prop_assert_eq!(records(&body), (list, None));
        }

        #[test]
        fn any_bytes_come_to_an_end(body in vec(any::<u8>(), 0..300)) {
            let _ = records(&body);
        }

        #[test]
        fn broken_records_do_no_harm(
            list in vec((vec(b'a'..=b'z', 1..6), vec(any::<u8>(), 0..40)), 1..6),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut body: Vec<u8> = list.iter().flat_map(|(key, value)| write(key, value)).collect();
            let at = at.index(body.len());
            body[at] = byte;
            let mut overrides = Overrides::default();
            overrides.take(Scope::Member, &body, |_| {});
            let mut overrides = Overrides::default();
            overrides.take(Scope::Global, &body, |_| {});
            prop_assert!(overrides.record_bytes <= limits::GLOBAL_BYTES);
        }
    }
}
