//! The disk: what is on it, the log of what was done to it, and what of that a power cut leaves.
//!
//! The log is one order of writes, flushes and promises, since one thread serves the disk. A write is stable once a flush
//! came after it: the kernel sends the flush only after the writes it is for have been answered. Of the writes since the
//! last flush a cut leaves any part: each is there, gone, or torn into sectors, whatever became of those before it.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use crate::random::Random;

/// A disk writes a sector whole or not at all.
const SECTOR: usize = 512;
const BLOCK: usize = 4096;
/// The blocks with the superblock of ext4 and xfs and with that of btrfs. They are longer than a sector, and a torn one is
/// mounted by no kernel (seen with ext4: "invalid superblock checksum"): the file systems count on a disk that writes
/// 4 KiB at once. All else they have to find torn and put right, so it is torn.
const SUPERBLOCKS: [u64; 2] = [0, 16];

/// The contents of a disk: blocks that are not all zero. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image(HashMap<u64, Arc<[u8; BLOCK]>>);

/// The pieces of a range by block: block number, first byte in the block, first byte in the range, length.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let (block, within) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
        let count = (BLOCK - within).min(length - done);
        let piece = (block, within, done, count);
        done += count;
        (count > 0).then_some(piece)
    })
}

impl Image {
    pub(crate) fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        for (block, within, at, count) in pieces(offset, length) {
            if let Some(data) = self.0.get(&block) {
                bytes[at..at + count].copy_from_slice(&data[within..within + count]);
            }
        }
        bytes
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (block, within, at, count) in pieces(offset, bytes.len()) {
            let data = Arc::make_mut(self.0.entry(block).or_insert_with(|| Arc::new([0; BLOCK])));
            data[within..within + count].copy_from_slice(&bytes[at..at + count]);
        }
    }

    pub(crate) fn zero(&mut self, offset: u64, length: u64) {
        let end = offset + length;
        let mut at = offset;
        while at < end {
            let block = at / BLOCK as u64;
            let next = end.min((block + 1) * BLOCK as u64);
            if next - at == BLOCK as u64 {
                self.0.remove(&block);
            } else if self.0.contains_key(&block) {
                self.write(at, &vec![0; (next - at) as usize]);
            }
            at = next;
        }
    }
}

/// One thing in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Write {
        offset: u64,
        bytes: Vec<u8>,
    },
    Zero {
        offset: u64,
        length: u64,
    },
    Flush,
    /// A piece of the log of settled members, as the tool wrote it.
    Promise(Vec<u8>),
    /// The tool has ended with success.
    Exit,
}

/// A run: the disk before it, all of it stable, and the log.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) size: u64,
    pub(crate) base: Image,
    pub(crate) events: Vec<Event>,
}

/// A moment and a fate for what was not flushed by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cut {
    /// So many events happened.
    pub(crate) position: usize,
    /// 0 keeps nothing that was not flushed; any other seed decides write by write.
    pub(crate) keep: u64,
}

/// Builds the disk after cuts, which must come in the order of their positions.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    recording: &'a Recording,
    flushed: Image,
    /// Events before this are in `flushed`.
    done: usize,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            flushed: recording.base.clone(),
            done: 0,
        }
    }

    pub(crate) fn after(&mut self, cut: Cut) -> Image {
        let events = &self.recording.events[..cut.position];
        let last = events.iter().rposition(|event| *event == Event::Flush);
        let stable = last.unwrap_or(0).max(self.done);
        for event in &events[self.done..stable] {
            match event {
                Event::Write { offset, bytes } => self.flushed.write(*offset, bytes),
                Event::Zero { offset, length } => self.flushed.zero(*offset, *length),
                Event::Flush | Event::Promise(_) | Event::Exit => {}
            }
        }
        self.done = stable;
        let mut image = self.flushed.clone();
        if cut.keep != 0 {
            keep_some(&mut image, &events[stable..], &mut Random::new(cut.keep));
        }
        image
    }
}

fn keep_some(image: &mut Image, events: &[Event], random: &mut Random) {
    // From nearly nothing to nearly all, as a cache that is full or idle leaves it.
    let kept = *random.pick(&[5, 30, 60, 90, 100]);
    for event in events {
        let whole = random.percent(kept);
        let torn = !whole && random.percent(30);
        match event {
            Event::Write { offset, bytes } if whole => image.write(*offset, bytes),
            Event::Write { offset, bytes } if torn => {
                let (mut last, mut there) = (None, false);
                for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                    let at = offset + (index * SECTOR) as u64;
                    let block = at / BLOCK as u64;
                    let unit = if SUPERBLOCKS.contains(&block) {
                        block * BLOCK as u64
                    } else {
                        at
                    };
                    if last.replace(unit) != Some(unit) {
                        there = random.percent(50);
                    }
                    if there {
                        image.write(at, sector);
                    }
                }
            }
            Event::Zero { offset, length } if whole => image.zero(*offset, *length),
            _ => {}
        }
    }
}

const MAGIC: &[u8; 16] = b"durastar-cut-1\n\0";

impl Recording {
    /// Writes it down with a line about where it comes from.
    pub(crate) fn save(&self, about: &str, to: &mut impl Write) -> io::Result<()> {
        let put = |to: &mut dyn Write, kind: u8, number: u64, bytes: &[u8]| {
            to.write_all(&[kind])?;
            to.write_all(&number.to_le_bytes())?;
            to.write_all(&(bytes.len() as u64).to_le_bytes())?;
            to.write_all(bytes)
        };
        to.write_all(MAGIC)?;
        put(to, b'a', self.size, about.as_bytes())?;
        for (block, data) in &self.base.0 {
            put(to, b'b', *block, &data[..])?;
        }
        for event in &self.events {
            match event {
                Event::Write { offset, bytes } => put(to, b'w', *offset, bytes)?,
                Event::Zero { offset, length } => put(to, b'z', *offset, &length.to_le_bytes())?,
                Event::Flush => put(to, b'f', 0, b"")?,
                Event::Promise(bytes) => put(to, b'p', 0, bytes)?,
                Event::Exit => put(to, b'e', 0, b"")?,
            }
        }
        to.flush()
    }

    /// Reads what [`Recording::save`] wrote, and the line.
    pub(crate) fn load(from: &mut impl Read) -> io::Result<(Self, String)> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut magic = [0; 16];
        from.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(invalid("not a recording"));
        }
        let mut recording = Self::default();
        let mut about = String::new();
        let mut kind = [0];
        while from.read(&mut kind)? == 1 {
            let mut number = [0; 8];
            from.read_exact(&mut number)?;
            let offset = u64::from_le_bytes(number);
            from.read_exact(&mut number)?;
            let length = u64::from_le_bytes(number);
            let mut bytes = Vec::new();
            from.take(length).read_to_end(&mut bytes)?;
            if bytes.len() as u64 != length {
                return Err(invalid("the recording is cut short"));
            }
            match kind[0] {
                b'a' => {
                    recording.size = offset;
                    about = String::from_utf8(bytes).map_err(|_| invalid("not text"))?;
                }
                b'b' => recording.base.write(offset * BLOCK as u64, &bytes),
                b'w' => recording.events.push(Event::Write { offset, bytes }),
                b'z' => {
                    let length = bytes.try_into().map_err(|_| invalid("not a length"))?;
                    let length = u64::from_le_bytes(length);
                    recording.events.push(Event::Zero { offset, length });
                }
                b'f' => recording.events.push(Event::Flush),
                b'p' => recording.events.push(Event::Promise(bytes)),
                b'e' => recording.events.push(Event::Exit),
                _ => return Err(invalid("an unknown event")),
            }
        }
        Ok((recording, about))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, byte: u8, length: usize) -> Event {
        Event::Write {
            offset,
            bytes: vec![byte; length],
        }
    }

    #[test]
    fn what_was_flushed_is_there_and_what_was_not_is_not() {
        let recording = Recording {
            size: 1 << 20,
            base: Image::default(),
            events: vec![
                write(100, 1, 5000),
                Event::Flush,
                write(0, 2, 4096),
                Event::Zero {
                    offset: 4096,
                    length: 4096,
                },
                Event::Flush,
            ],
        };
        let mut replay = Replay::new(&recording);
        let cut = |position| Cut { position, keep: 0 };
        assert_eq!(replay.after(cut(1)).read(0, 6000), vec![0; 6000]);
        let first: Vec<u8> = [vec![0; 100], vec![1; 5000], vec![0; 900]].concat();
        assert_eq!(replay.after(cut(2)).read(0, 6000), first);
        assert_eq!(replay.after(cut(4)).read(0, 6000), first);
        let second: Vec<u8> = [vec![2; 4096], vec![0; 1904]].concat();
        assert_eq!(replay.after(cut(5)).read(0, 6000), second);
    }

    #[test]
    fn what_was_not_flushed_is_kept_by_sectors_in_any_choice() {
        let events: Vec<Event> = (32..96).map(|at| write(at * 4096, 7, 4096)).collect();
        let recording = Recording {
            size: 1 << 20,
            base: Image::default(),
            events,
        };
        let (mut torn, mut later_without_earlier) = (false, false);
        for keep in 1..50 {
            let cut = Cut { position: 64, keep };
            let image = Replay::new(&recording).after(cut);
            assert_eq!(
                image.read(0, 1 << 19),
                Replay::new(&recording).after(cut).read(0, 1 << 19),
                "the same seed gives the same disk"
            );
            let sectors: Vec<u8> = (256..768).map(|at| image.read(at * 512, 1)[0]).collect();
            for sector in 256..768 {
                let bytes = image.read(sector * 512, 512);
                assert!(bytes.iter().all(|byte| *byte == bytes[0]));
            }
            torn |= sectors
                .chunks(8)
                .any(|block| block.iter().any(|s| *s != block[0]));
            later_without_earlier |= sectors.windows(2).any(|pair| pair == [0, 7]);
        }
        assert!(torn && later_without_earlier);
    }

    #[test]
    fn a_superblock_is_never_torn() {
        for block in SUPERBLOCKS {
            let recording = Recording {
                size: 1 << 20,
                base: Image::default(),
                events: vec![write(block * 4096, 7, 8192)],
            };
            for keep in 1..50 {
                let image = Replay::new(&recording).after(Cut { position: 1, keep });
                let bytes = image.read(block * 4096, 4096);
                assert!(bytes.iter().all(|byte| *byte == bytes[0]));
            }
        }
    }

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let mut recording = Recording {
            size: 1 << 20,
            base: Image::default(),
            events: vec![
                write(512, 3, 1024),
                Event::Promise(b"x\0".to_vec()),
                Event::Zero {
                    offset: 1,
                    length: 9,
                },
                Event::Flush,
                Event::Exit,
            ],
        };
        recording.base.write(5000, b"base");
        let mut file = Vec::new();
        recording.save("about it", &mut file).expect("memory");
        let (again, about) = Recording::load(&mut &file[..]).expect("it was just written");
        assert_eq!(about, "about it");
        assert_eq!(
            (again.size, &again.events),
            (recording.size, &recording.events)
        );
        assert_eq!(again.base.read(4990, 20), recording.base.read(4990, 20));
        assert!(Recording::load(&mut &file[..file.len() - 1]).is_err());
    }
}
