//! The journal's file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use twox_hash::XxHash3_64;

use super::{Entry, Fields, Header, Problem};
use crate::error::Operation;
use crate::member::Timestamp;

/// The first line. The number changes when older versions could not read what follows.
const MAGIC: &[u8] = b"durastar journal 1\n";
/// Length and checksum before each payload.
const FRAME: usize = 4 + 8;

/// Appends records.
#[derive(Debug)]
pub struct Writer {
    file: File,
    /// Checksum of the last record.
    last: u64,
    /// Where the next one begins.
    end: u64,
    failed: bool,
}

/// A journal that was read and can be written on.
#[derive(Debug)]
pub struct Opened {
    /// To append to it.
    pub writer: Writer,
    /// When it was begun.
    pub started: Timestamp,
    /// What is settled, as it was appended.
    pub entries: Vec<Entry>,
}

fn system(operation: Operation) -> impl FnOnce(io::Error) -> Problem {
    move |cause| Problem::System(operation, cause)
}

/// Makes a new journal, stable under its name before this returns. `header.started` is set from the file's own time.
///
/// # Errors
/// It exists, or cannot be written.
pub fn create(path: &Path, umask: u32, header: Header) -> Result<Opened, Problem> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o666 & !umask)
        .open(path);
    let file = opened.map_err(|cause| {
        if cause.kind() == io::ErrorKind::AlreadyExists {
            Problem::Refused("it exists already: resume with it, or remove it to begin anew".into())
        } else {
            Problem::System(Operation::Open, cause)
        }
    })?;
    begin(path, file, header)
}

fn begin(path: &Path, mut file: File, mut header: Header) -> Result<Opened, Problem> {
    // So that its time is now, by the clock of its file system.
    file.write_all(MAGIC).map_err(system(Operation::Write))?;
    let about = file.metadata().map_err(system(Operation::Stat))?;
    header.started = Timestamp {
        seconds: about.ctime(),
        nanos: u32::try_from(about.ctime_nsec()).unwrap_or(0),
    };
    let mut writer = Writer {
        file,
        last: 0,
        end: MAGIC.len() as u64,
        failed: false,
    };
    writer
        .append_payload(&header.encode())
        .map_err(system(Operation::Write))?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(system(Operation::Sync))?;
    Ok(Opened {
        writer,
        started: header.started,
        entries: Vec::new(),
    })
}

/// Opens a journal to go on with it. One that was cut before its first record was whole begins anew.
///
/// # Errors
/// It cannot be read or is no journal, or it does not fit `now`.
pub fn resume(path: &Path, now: Header) -> Result<Opened, Problem> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(system(Operation::Open))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(system(Operation::Read))?;
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        if MAGIC.starts_with(&bytes) {
            return anew(path, file, now);
        }
        return Err(Problem::Refused(
            "this is no journal of this version".into(),
        ));
    };
    let mut records = Records { rest, last: 0 };
    let Some(header) = records.next() else {
        return anew(path, file, now);
    };
    let header = Header::decode(header)
        .ok_or_else(|| Problem::Refused("its first record cannot be understood".into()))?;
    if let Some(reason) = header.refuses(&now) {
        return Err(Problem::Refused(reason));
    }
    let mut entries = Vec::new();
    while let Some(payload) = records.next() {
        let mut fields = Fields(payload);
        while !fields.0.is_empty() {
            let entry = Entry::decode(&mut fields)
                .ok_or_else(|| Problem::Refused("a record cannot be understood".into()))?;
            entries.push(entry);
        }
    }
    let end = (bytes.len() - records.rest.len()) as u64;
    let last = records.last;
    // What a crash left of the last record goes away before another one is put there.
    file.set_len(end).map_err(system(Operation::Truncate))?;
    file.seek(SeekFrom::Start(end))
        .map_err(system(Operation::Seek))?;
    file.sync_all().map_err(system(Operation::Sync))?;
    Ok(Opened {
        writer: Writer {
            file,
            last,
            end,
            failed: false,
        },
        started: header.started,
        entries,
    })
}

fn anew(path: &Path, mut file: File, header: Header) -> Result<Opened, Problem> {
    file.set_len(0).map_err(system(Operation::Truncate))?;
    file.seek(SeekFrom::Start(0))
        .map_err(system(Operation::Seek))?;
    begin(path, file, header)
}

/// Whole records from the front of `rest`.
struct Records<'a> {
    rest: &'a [u8],
    last: u64,
}

impl<'a> Records<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let (checksum, rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (payload, rest) = rest.split_at_checked(length)?;
        let checksum = u64::from_le_bytes(*checksum);
        if checksum != XxHash3_64::oneshot_with_seed(self.last, payload) {
            return None;
        }
        (self.rest, self.last) = (rest, checksum);
        Some(payload)
    }
}

impl Writer {
    /// Appends settled members and makes that stable. After an error nothing more is appended: a record after one that
    /// is missing would not be read.
    ///
    /// # Errors
    /// It cannot be written or synced; given once.
    pub fn append<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>) -> io::Result<()> {
        /// Far below what fits the length's four bytes, and in memory.
        const PAYLOAD: usize = 1 << 20;
        let mut payload = Vec::new();
        for entry in entries {
            entry.encode(&mut payload);
            if payload.len() >= PAYLOAD {
                self.append_once(&payload)?;
                payload.clear();
            }
        }
        if payload.is_empty() {
            return Ok(());
        }
        self.append_once(&payload)
    }

    /// How long the journal is, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end
    }

    fn append_once(&mut self, payload: &[u8]) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let result = self.append_payload(payload);
        self.failed = result.is_err();
        result
    }

    fn append_payload(&mut self, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
        let checksum = XxHash3_64::oneshot_with_seed(self.last, payload);
        let mut record = Vec::with_capacity(FRAME + payload.len());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&checksum.to_le_bytes());
        record.extend_from_slice(payload);
        self.file.write_all(&record)?;
        self.file.sync_data()?;
        self.last = checksum;
        self.end += record.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::What;
    use super::*;

    fn header() -> Header {
        Header {
            archive: None,
            options: [1, 2],
            destinations: vec![3],
            started: Timestamp::default(),
        }
    }

    fn entry(index: u64) -> Entry {
        Entry {
            index,
            block: 7,
            headers: 8,
            what: What::Symlink,
            base: 0,
            path: b"a/\xff".to_vec(),
            link: b"x".to_vec(),
            mode: 0o777,
            owner: (1, 2),
            size: 3,
            mtime: Timestamp {
                seconds: -5,
                nanos: 6,
            },
            inode: 9,
            checksum: 10,
        }
    }

    #[test]
    fn a_journal_cut_anywhere_gives_what_was_whole_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let mut opened = create(&path, 0o22, header()).unwrap();
        let mut ends = vec![opened.writer.length()];
        for index in 0..4 {
            opened
                .writer
                .append([entry(2 * index), entry(2 * index + 1)].iter())
                .unwrap();
            ends.push(opened.writer.length());
        }
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len() as u64, *ends.last().unwrap());
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut opened = resume(&path, header()).unwrap();
            let records = ends
                .iter()
                .filter(|end| **end <= cut as u64)
                .count()
                .saturating_sub(1);
            let expected: Vec<Entry> = (0..2 * records as u64).map(entry).collect();
            assert_eq!(opened.entries, expected, "cut at {cut}");
            opened.writer.append([entry(99)].iter()).unwrap();
            drop(opened);
            let again = resume(&path, header()).unwrap();
            assert_eq!(again.entries.len(), expected.len() + 1, "cut at {cut}");
            assert_eq!(again.entries.last().unwrap().index, 99);
        }
    }

    #[test]
    fn a_changed_byte_ends_what_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let mut opened = create(&path, 0o22, header()).unwrap();
        let first = opened.writer.length() as usize;
        opened.writer.append([entry(0)].iter()).unwrap();
        opened.writer.append([entry(1)].iter()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in first..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            let entries = resume(&path, header()).unwrap().entries;
            assert!(entries.len() < 2, "byte {at}");
            assert!(entries.iter().all(|found| *found == entry(found.index)));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        create(&path, 0o22, header()).unwrap();
        let refused = |now: Header| match resume(&path, now).unwrap_err() {
            Problem::Refused(reason) => reason,
            Problem::System(..) => panic!("no call failed"),
        };
        assert!(
            refused(Header {
                options: [0, 2],
                ..header()
            })
            .contains("choice of members")
        );
        assert!(
            refused(Header {
                options: [1, 0],
                ..header()
            })
            .contains("rules")
        );
        assert!(
            refused(Header {
                destinations: vec![4],
                ..header()
            })
            .contains("destination")
        );
        assert!(matches!(
            create(&path, 0o22, header()),
            Err(Problem::Refused(_))
        ));
        std::fs::write(&path, "something else").unwrap();
        assert!(refused(header()).contains("no journal"));
    }
}
