//! Every format whole, in pieces, one after the other, damaged; samples made by other programs (`fixtures/compressed`).

use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{Choice, Decoder, Format, Workers, decoder, decoder_with, detect};

/// The samples, with the format they are in. Those that are checked by a checksum come first.
const CHECKED: [(&str, Format); 19] = [
    ("seq.gz", Format::Gzip),
    ("seq-name.gz", Format::Gzip),
    ("seq.bz2", Format::Bzip2),
    ("long.bz2", Format::Bzip2),
    ("empty.bz2", Format::Bzip2),
    ("seq.xz", Format::Xz),
    ("seq-crc32.xz", Format::Xz),
    ("seq-sha256.xz", Format::Xz),
    ("seq-blocks.xz", Format::Xz),
    ("seq-blocks-unsized.xz", Format::Xz),
    ("seq-filters.xz", Format::Xz),
    ("seq.lz", Format::Lzip),
    ("seq.zst", Format::Zstd),
    ("seq.lz4", Format::Lz4),
    ("seq-size.lz4", Format::Lz4),
    ("long-linked.lz4", Format::Lz4),
    ("long-checks.lz4", Format::Lz4),
    ("long-31.zst", Format::Zstd),
    ("seq-nocheck.zst", Format::Zstd),
];
const UNCHECKED: [(&str, Format); 7] = [
    ("seq-nocheck.xz", Format::Xz),
    ("seq.lzma", Format::Lzma),
    ("seq-size.lzma", Format::Lzma),
    ("seq-legacy.lz4", Format::Lz4),
    ("seq.Z", Format::Compress),
    ("seq-b10.Z", Format::Compress),
    ("long-b12.Z", Format::Compress),
];

fn samples() -> impl Iterator<Item = (&'static str, Format)> {
    CHECKED.into_iter().chain(UNCHECKED)
}

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/compressed");
    fs::read(path.join(name)).expect("a fixture")
}

/// What a sample holds.
fn content(name: &str) -> Vec<u8> {
    let times = match name {
        name if name.starts_with("seq") => 1,
        name if name.starts_with("long") => 10,
        _ => 0,
    };
    (1..=2000)
        .flat_map(|number| format!("{number}\n").repeat(times).into_bytes())
        .collect()
}

/// Gives a byte or two at a time, and is interrupted in between.
struct Drip(Cursor<Vec<u8>>, u8);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = (self.1 + 1) % 3;
        if self.1 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = buffer.len().min(self.1.into());
        self.0.read(&mut buffer[..count])
    }
}

fn open(data: Vec<u8>, choice: &Choice) -> io::Result<Decoder> {
    decoder(Box::new(Cursor::new(data)), choice)
}

/// Everything up to the end or an error, and the error.
fn read_all(mut from: impl Read) -> (Vec<u8>, Option<io::Error>) {
    let mut all = Vec::new();
    let error = from.read_to_end(&mut all).err();
    (all, error)
}

fn decompress(data: Vec<u8>, choice: &Choice) -> (Vec<u8>, Option<io::Error>) {
    match open(data, choice) {
        Ok(decoder) => read_all(decoder),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// Whether both are the same, without printing books when they are not.
#[track_caller]
fn assert_same(left: &[u8], right: &[u8], what: &str) {
    let differs = left
        .iter()
        .zip(right)
        .position(|(left, right)| left != right);
    assert!(
        left == right,
        "{what}: {} and {} bytes, first difference: {differs:?}",
        left.len(),
        right.len()
    );
}

#[track_caller]
fn assert_whole((data, error): (Vec<u8>, Option<io::Error>), expected: &[u8], what: &str) {
    assert!(error.is_none(), "{what}: {error:?}");
    assert_same(&data, expected, what);
}

#[test]
fn every_sample_is_recognised_and_decompressed() {
    for (name, format) in samples() {
        assert_eq!(detect(&sample(name)), format, "{name}");
        for choice in [Choice::Detect, Choice::Force(format)] {
            let mut decoder = open(sample(name), &choice).expect(name);
            assert_eq!(decoder.format(), format, "{name}");
            assert_whole(read_all(&mut decoder), &content(name), name);
            assert!(decoder.finish().expect(name).is_empty(), "{name}");
        }
    }
}

#[test]
fn every_sample_comes_through_a_few_bytes_at_a_time() {
    for (name, _) in samples() {
        let drip = Drip(Cursor::new(sample(name)), 0);
        let mut decoder = decoder(Box::new(drip), &Choice::Detect).expect(name);
        let mut all = Vec::new();
        let mut buffer = [0; 7];
        loop {
            match decoder.read(&mut buffer).expect(name) {
                0 => break,
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
        assert_same(&all, &content(name), name);
        assert_eq!(decoder.read(&mut buffer).expect(name), 0, "{name}");
    }
}

#[test]
fn streams_one_after_the_other_are_one_archive() {
    for (first, format) in samples() {
        for (second, _) in samples().filter(|(_, other)| *other == format) {
            let what = format!("{first} and {second}");
            let data = [sample(first), sample(second), sample(first)].concat();
            let expected = [content(first), content(second), content(first)].concat();
            assert_whole(decompress(data, &Choice::Detect), &expected, &what);
        }
    }
}

#[test]
fn xz_streams_may_have_padding_between_them() {
    let data = [
        sample("seq.xz"),
        vec![0; 8],
        sample("seq-blocks.xz"),
        vec![0; 4],
    ]
    .concat();
    let expected = content("seq").repeat(2);
    assert_whole(decompress(data, &Choice::Detect), &expected, "padding");
}

#[test]
fn xz_on_many_threads_gives_the_same() {
    let workers = Workers {
        threads: 4,
        memory_bytes: 64 << 20,
    };
    let open = |data: Vec<u8>| decoder_with(Box::new(Cursor::new(data)), &Choice::Detect, workers);
    for (name, _) in samples().filter(|(_, format)| *format == Format::Xz) {
        let (data, expected) = (sample(name), content(name));
        let twice = open([&data[..], &data].concat()).expect(name);
        assert_whole(read_all(twice), &expected.repeat(2), name);
        for length in (12..data.len()).step_by(data.len() / 30 + 1) {
            let what = format!("{name}, {length} bytes");
            let (there, error) = read_all(open(data[..length].to_vec()).expect(&what));
            assert!(expected.starts_with(&there), "{what}");
            let error = error.expect(&what).to_string();
            assert_eq!(error, "xz: unexpected end of compressed data", "{what}");
        }
        // Whoever stops early waits for no thread that waits for him.
        let mut stopped = open(data).expect(name);
        stopped.read_exact(&mut [0; 10]).expect(name);
        drop(stopped);
    }
    // What comes before damage is delivered here too.
    let mut damaged = sample("seq-blocks.xz");
    let at = damaged.len() / 2;
    damaged[at..at + 8].fill(0xff);
    let (there, error) = read_all(open(damaged).expect("xz"));
    assert_eq!(
        error.expect("damage").to_string(),
        "xz: compressed data is corrupt"
    );
    assert!(there.len() >= 2048 && content("seq").starts_with(&there[..2048]));
}

#[test]
fn skippable_frames_are_skipped_wherever_they_are() {
    let skippable = |length: usize| {
        let size = u32::try_from(length).expect("small").to_le_bytes();
        [&[0x5a, 0x2a, 0x4d, 0x18][..], &size, &vec![b'x'; length]].concat()
    };
    for (name, format) in
        samples().filter(|(_, format)| matches!(format, Format::Zstd | Format::Lz4))
    {
        // 100,000 bytes are more than `detect` sees.
        for length in [0, 5, 100_000] {
            let frame = skippable(length);
            let all = [
                &frame[..],
                &frame,
                &sample(name),
                &frame,
                &sample(name),
                &frame,
            ]
            .concat();
            let expected = content(name).repeat(2);
            for choice in [Choice::Detect, Choice::Force(format)] {
                let what = format!("{name} after {length} bytes");
                let decoder = open(all.clone(), &choice).expect(&what);
                assert_eq!(decoder.format(), format, "{what}");
                assert_whole(read_all(decoder), &expected, &what);
            }
        }
    }
    assert_whole(
        decompress(skippable(9), &Choice::Detect),
        b"",
        "nothing else",
    );
    let (_, error) = decompress(skippable(9)[..12].to_vec(), &Choice::Detect);
    assert_eq!(
        error.expect("truncated").to_string(),
        "zstd: unexpected end of compressed data"
    );
    let (_, error) = decompress([&skippable(9)[..], b"text"].concat(), &Choice::Detect);
    assert_eq!(
        error.expect("garbage").to_string(),
        "zstd: unknown data after the end of the compressed data"
    );
    let error = open(
        [skippable(9), sample("seq.lz4")].concat(),
        &Choice::Force(Format::Zstd),
    );
    assert_eq!(
        error.expect_err("lz4").to_string(),
        "zstd: not in zstd format"
    );
}

#[test]
fn what_is_truncated_gives_what_there_is_and_then_an_error() {
    for (name, format) in samples() {
        let (data, expected) = (sample(name), content(name));
        let step = data.len() / 30 + 1;
        let lengths =
            (1..data.len()).filter(|length| length % step == 0 || length + 15 > data.len());
        for length in lengths {
            let what = format!("{name}, {length} bytes of {}", data.len());
            let (there, error) = decompress(data[..length].to_vec(), &Choice::Force(format));
            assert!(expected.starts_with(&there), "{what}: wrong data");
            match error {
                Some(error) => {
                    let text = error.to_string();
                    let format = format.name();
                    let whole = format!("{format}: unexpected end of compressed data");
                    // The first few bytes tell no format.
                    let short = text == format!("{format}: not in {format} format") && length < 16;
                    assert!(text == whole || short, "{what}: {text}");
                }
                // These two do not mark their end; a legacy frame can end after its block.
                None => assert_eq!(format, Format::Compress, "{what}: no error"),
            }
        }
    }
}

#[test]
fn nothing_before_damage_is_lost_however_large_the_reads() {
    for (name, format, at_least) in [
        ("seq.gz", Format::Gzip, 1000),
        ("seq-blocks.xz", Format::Xz, 2048 * 2),
        ("seq.lzma", Format::Lzma, 1000),
        ("long-checks.lz4", Format::Lz4, 65_536),
        ("long-b12.Z", Format::Compress, 20_000),
    ] {
        let mut data = sample(name);
        let from = data.len() * 3 / 4;
        data.truncate(from);
        data.extend([0xff; 4000]);
        let mut decoder = open(data, &Choice::Force(format)).expect(name);
        let mut buffer = vec![0; 1 << 20];
        let mut length = 0;
        let error = loop {
            match decoder.read(&mut buffer[length..]) {
                Ok(0) => break None,
                Ok(count) => length += count,
                Err(error) => break Some(error),
            }
        };
        let same = buffer[..length]
            .iter()
            .zip(&content(name))
            .take_while(|(a, b)| a == b)
            .count();
        assert!(same >= at_least, "{name}: {same} bytes");
        if format != Format::Compress {
            let error = error.expect(name).to_string();
            assert!(
                error.starts_with(&format!("{}: ", format.name())),
                "{error}"
            );
            // An error does not become an end.
            let again = decoder.read(&mut buffer).expect_err(name);
            assert_eq!(again.to_string(), error);
        }
    }
}

#[test]
fn zstd_blocks_before_damage_are_delivered() {
    // Blocks of 128 KiB that do not compress.
    let mut random = Random(7);
    let plain: Vec<u8> = (0..600_000).map(|_| random.byte()).collect();
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.write_all(&plain).expect("into memory");
    let mut data = encoder.finish().expect("into memory");
    let at = data.len() - 100_000;
    data.truncate(at);
    let mut decoder = open(data, &Choice::Detect).expect("zstd");
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    while let Ok(count) = decoder.read(&mut buffer[length..]) {
        assert_ne!(count, 0, "an error does not become an end");
        length += count;
    }
    assert!(length >= 3 << 17, "{length}");
    assert_same(&buffer[..length], &plain[..length], "zstd");
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    for (name, format) in CHECKED {
        if name == "seq-nocheck.zst" {
            continue;
        }
        let (data, expected) = (sample(name), content(name));
        let step = data.len() / 150 + 1;
        for at in (0..data.len()).filter(|at| at % step == 0 || at + 40 > data.len()) {
            let mut data = data.clone();
            data[at] ^= 1 << (at % 8);
            let (there, error) = decompress(data, &Choice::Force(format));
            let text = error.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(
                error.is_some() || there == expected,
                "{name}: byte {at} was changed, nobody saw it"
            );
            assert!(
                error.is_none() || text.starts_with(format.name()),
                "{name}: {text}"
            );
        }
    }
}

#[test]
fn wrong_checksums_are_named() {
    for (name, from_end, expected) in [
        ("seq.gz", 8, "gzip: checksum error"),
        ("seq.gz", 4, "gzip: length error"),
        ("seq.bz2", 4, "bzip2: checksum error over all blocks"),
        ("seq.xz", 28, "xz: compressed data is corrupt"),
        ("seq.lz", 20, "lzip: compressed data is corrupt"),
        ("seq.zst", 4, "zstd: restored data doesn't match checksum"),
        ("seq.lz4", 4, "lz4: content checksum error"),
    ] {
        let mut data = sample(name);
        let at = data.len() - from_end;
        data[at] ^= 0x40;
        let (there, error) = decompress(data, &Choice::Detect);
        assert_eq!(error.expect(name).to_string(), expected);
        assert_same(&there, &content(name), name);
    }
}

#[test]
fn finish_reads_on_to_the_checksum() {
    let mut data = sample("seq.gz");
    let at = data.len() - 8;
    data[at] ^= 1;
    let mut decoder = open(data, &Choice::Detect).expect("gzip");
    decoder.read_exact(&mut [0; 100]).expect("good up to here");
    let error = decoder.finish().expect_err("a wrong checksum");
    assert_eq!(error.to_string(), "gzip: checksum error");
}

#[test]
fn zeros_after_the_end_are_nothing() {
    for (name, format) in samples() {
        if format == Format::Compress {
            continue;
        }
        for zeros in [1, 3, 512, 100_000] {
            let data = [sample(name), vec![0; zeros]].concat();
            let mut decoder = open(data, &Choice::Detect).expect(name);
            assert_whole(read_all(&mut decoder), &content(name), name);
            assert!(decoder.finish().expect(name).is_empty(), "{name}");
        }
    }
}

#[test]
fn garbage_after_the_end_is_what_the_programs_make_of_it() {
    let garbage = b"\0\0This is no stream of any kind";
    for (name, format) in samples() {
        let data = [&sample(name)[..], garbage].concat();
        let mut decoder = open(data, &Choice::Detect).expect(name);
        let (there, error) = read_all(&mut decoder);
        match format {
            Format::Gzip | Format::Bzip2 | Format::Lz4 => {
                assert!(error.is_none(), "{name}: {error:?}");
                let format = format.name();
                let expected = format!("{format}: decompression OK, trailing garbage ignored");
                assert_eq!(decoder.warnings(), [&expected[..]]);
                assert_eq!(decoder.finish().expect(name), [expected]);
            }
            Format::Lzip => {
                assert!(error.is_none(), "{name}: {error:?}");
                assert!(decoder.finish().expect(name).is_empty());
            }
            Format::Compress => continue,
            _ => {
                let format = format.name();
                let expected =
                    format!("{format}: unknown data after the end of the compressed data");
                assert_eq!(error.expect(name).to_string(), expected);
            }
        }
        assert_same(&there, &content(name), name);
    }
    let damaged = [sample("seq.lz"), sample("seq.lz").split_off(1)].concat();
    assert!(decompress(damaged, &Choice::Detect).1.is_none());
    let mut second = sample("seq.lz");
    second[0] = b'l';
    let error = decompress([sample("seq.lz"), second].concat(), &Choice::Detect).1;
    assert_eq!(
        error.expect("damaged").to_string(),
        "lzip: corrupt header in multimember file"
    );
}

#[test]
fn a_forced_format_is_demanded() {
    for format in [
        Format::Gzip,
        Format::Bzip2,
        Format::Xz,
        Format::Zstd,
        Format::Lz4,
        Format::Lzip,
        Format::Compress,
    ] {
        let name = format.name();
        let error = open(vec![b'a'; 1024], &Choice::Force(format)).expect_err(name);
        assert_eq!(error.to_string(), format!("{name}: not in {name} format"));
        let error = open(Vec::new(), &Choice::Force(format)).expect_err(name);
        assert_eq!(
            error.to_string(),
            format!("{name}: unexpected end of compressed data")
        );
    }
    let gzip = decompress(sample("seq.Z"), &Choice::Force(Format::Gzip));
    assert_whole(gzip, &content("seq"), "gzip reads what compress made");
    for name in ["seq.lzma", "seq.lz"] {
        assert_whole(
            decompress(sample(name), &Choice::Force(Format::Xz)),
            &content("seq"),
            name,
        );
    }
    let plain = decompress(sample("seq.gz"), &Choice::Force(Format::Plain));
    assert_whole(plain, &sample("seq.gz"), "plain");
}

#[test]
fn plain_data_are_read_straight_into_the_callers_buffer() {
    /// Remembers how much it was asked for.
    struct Asked(std::sync::mpsc::Sender<usize>);
    impl Read for Asked {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.send(buffer.len()).expect("listening");
            buffer.fill(b'a');
            Ok(buffer.len())
        }
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut decoder = decoder(Box::new(Asked(sender)), &Choice::Detect).expect("plain");
    let mut buffer = vec![0; 1 << 20];
    assert_eq!(decoder.read(&mut buffer).expect("the first block"), 512);
    assert_eq!(decoder.read(&mut buffer).expect("more"), 1 << 20);
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [512, 1 << 20]);
    assert!(decompress(Vec::new(), &Choice::Detect).1.is_none());
}

#[test]
fn an_input_that_fails_is_not_blamed_on_the_data() {
    /// An input error after the data.
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(5))
        }
    }
    for (name, format) in samples() {
        let half = sample(name).split_off(0);
        let half = Cursor::new(half[..half.len() / 2].to_vec());
        let Ok(mut decoder) = decoder(Box::new(half.chain(Broken)), &Choice::Force(format)) else {
            continue;
        };
        let (there, error) = read_all(&mut decoder);
        assert!(content(name).starts_with(&there), "{name}");
        assert_eq!(error.expect(name).raw_os_error(), Some(5), "{name}");
        let again = decoder.read(&mut [0; 10]).expect_err(name);
        assert_eq!(again.raw_os_error(), Some(5), "{name}");
    }
}

#[test]
fn a_dictionary_beyond_the_limit_is_refused() {
    let mut data = sample("seq.lzma");
    data[1..5].fill(0xff);
    let (_, error) = decompress(data, &Choice::Detect);
    let error = error.expect("4 GiB");
    assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    assert_eq!(
        error.to_string(),
        "lzma: more than 1600 MiB of memory would be needed"
    );
}

/// A generator of numbers that are the same every time (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).expect("64 bits")).expect("below the limit")
    }

    fn byte(&mut self) -> u8 {
        self.below(256).to_le_bytes()[0]
    }
}

/// How often each sample is damaged in another way. With 40,000 nothing was found either.
const ROUNDS: usize = 40;

#[test]
fn nothing_panics_whatever_the_data() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (name, format) in samples() {
        let good = sample(name);
        for _ in 0..ROUNDS {
            let mut data = good.clone();
            // Most of what can go wrong is in the headers.
            let reach = if random.below(2) == 0 {
                data.len().min(40)
            } else {
                data.len()
            };
            for _ in 0..=random.below(6) {
                let at = random.below(reach);
                match random.below(4) {
                    0 => data[at] = random.byte(),
                    1 => data[at] ^= 1 << random.below(8),
                    2 => data.insert(at, random.byte()),
                    _ => data[at] = 0xff,
                }
            }
            if random.below(4) == 0 {
                data.truncate(random.below(good.len()));
            }
            for choice in [Choice::Detect, Choice::Force(format)] {
                if let Ok(decoder) = open(data.clone(), &choice) {
                    // A few bytes may stand for very many.
                    let _ = read_all(decoder.take(1 << 20));
                }
            }
        }
    }
}

/// Compresses with another program. `None` if it is missing here, which is said.
fn by_program(words: &[&str], data: &[u8]) -> Option<Vec<u8>> {
    let child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let _ = writeln!(io::stderr(), "skipped: {}: {error}", words[0]);
            return None;
        }
    };
    let mut input = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(data).expect("the program reads"));
        Some(child.wait_with_output().expect("it ends").stdout)
    })
}

#[test]
fn what_other_programs_compress_here_is_decompressed() {
    // Text, then what does not compress, then a long run: 3 MiB, so that tables fill and windows slide.
    let mut random = Random(11);
    let mut plain = content("long").repeat(20);
    plain.extend((0..1 << 20).map(|_| random.byte()));
    plain.resize(plain.len() + (1 << 19), 0);
    plain.extend(content("seq"));
    for (words, format) in [
        (&["gzip", "-1"][..], Format::Gzip),
        (&["gzip", "-9"], Format::Gzip),
        (&["bzip2", "-1"], Format::Bzip2),
        (&["xz", "-1"], Format::Xz),
        (&["xz", "-T2", "--block-size=300KiB"], Format::Xz),
        (&["lzma", "-1"], Format::Lzma),
        (&["lzip", "-1", "-b", "200000"], Format::Lzip),
        (&["zstd", "-q", "-1"], Format::Zstd),
        (&["zstd", "-q", "-19", "--long=27"], Format::Zstd),
        (&["lz4", "-q"], Format::Lz4),
        (&["lz4", "-q", "-9", "-BD", "-B5"], Format::Lz4),
        (&["lz4", "-q", "-l"], Format::Lz4),
        (&["compress"], Format::Compress),
        (&["compress", "-b", "13"], Format::Compress),
    ] {
        let what = words.join(" ");
        let Some(data) = by_program(words, &plain) else {
            continue;
        };
        let decoder = open(data, &Choice::Detect).expect(&what);
        assert_eq!(decoder.format(), format, "{what}");
        assert_whole(read_all(decoder), &plain, &what);
    }
}
