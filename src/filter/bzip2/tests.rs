//! Blocks on several threads: in order, whole, checked; what is damaged, cut wrongly or cut short.

use std::io::{Cursor, Read};

use super::super::{Choice, Decoder, Format, Workers, decoder_with};
use super::scan::{self, MAGIC_BITS};

/// Bytes that do not compress, always the same, and some that do.
fn text(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes = Vec::with_capacity(count + 300);
    while bytes.len() < count {
        let word = next();
        if word % 64 == 0 {
            let run = usize::try_from(word >> 32).expect("fits") % 300;
            bytes.extend(std::iter::repeat_n(word.to_le_bytes()[3], run));
        }
        bytes.extend(word.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

/// As the bzip2 crate makes it, with blocks of `level` times 100,000 bytes.
fn compress(data: &[u8], level: u32) -> Vec<u8> {
    let mut to = Vec::new();
    ::bzip2::read::BzEncoder::new(data, ::bzip2::Compression::new(level))
        .read_to_end(&mut to)
        .expect("memory");
    to
}

fn open(data: Vec<u8>, threads: u32) -> Decoder {
    let workers = Workers {
        threads,
        memory_bytes: 0,
    };
    decoder_with(Box::new(Cursor::new(data)), &Choice::Detect, workers).expect("bzip2")
}

/// All there is, and the error that ends it.
fn decode(data: Vec<u8>, threads: u32) -> (Vec<u8>, Option<String>) {
    let mut decoder = open(data, threads);
    assert_eq!(decoder.format(), Format::Bzip2);
    let mut there = Vec::new();
    let result = decoder.read_to_end(&mut there);
    (there, result.err().map(|error| error.to_string()))
}

#[test]
fn blocks_come_in_order_with_any_number_of_threads() {
    let text = text(1_200_000);
    for level in [1, 2, 9] {
        let data = compress(&text, level);
        for threads in [1, 2, 7] {
            let (there, error) = decode(data.clone(), threads);
            assert_eq!(error, None);
            assert!(there == text, "level {level}, {threads} threads");
        }
    }
}

#[test]
fn many_short_streams_are_one() {
    let text = text(300_000);
    let mut data = Vec::new();
    for part in text.chunks(1001) {
        data.extend(compress(part, 9));
        data.extend(compress(b"", 1));
    }
    assert!(decode(data, 3) == (text, None));
}

#[test]
fn runs_that_fill_many_parts_do_not_stop_the_others() {
    // A block of runs of 255 holds 46 MB.
    let mut text = vec![b'x'; 30_000_000];
    text.extend(self::text(250_000));
    text.extend(vec![0; 10_000_000]);
    let data = compress(&text, 1);
    for threads in [1, 2, 4] {
        assert!(decode(data.clone(), threads) == (text.clone(), None));
    }
}

#[test]
fn damage_is_named_by_its_block_and_what_is_before_it_is_delivered() {
    let text = text(1_300_000);
    let data = compress(&text, 1);
    let blocks: Vec<usize> = block_bits(&data);
    assert!(blocks.len() > 8);
    // Where blocks begin in the text is told by decoding what is before.
    for broken in [0, 3, blocks.len() - 1] {
        let middle = blocks[broken] / 8 + 2000;
        for flip in [0x01, 0x80] {
            let mut data = data.clone();
            data[middle] ^= flip;
            let (there, error) = decode(data, 3);
            let expected = format!("bzip2: block {}: data checksum error", broken + 1);
            assert_eq!(error, Some(expected));
            // A block of level 1 holds no less than 99,900 bytes of this text, the last one excepted.
            assert!(
                there.len() >= broken * 99_900,
                "{} of {broken}",
                there.len()
            );
            let good = there.len().min(broken * 99_900);
            assert!(there[..good] == text[..good]);
        }
    }
}

#[test]
fn a_beginning_that_is_damaged_does_not_hide_the_block_before() {
    let text = text(500_000);
    let data = compress(&text, 1);
    let blocks = block_bits(&data);
    let mut damaged = data.clone();
    damaged[blocks[2] / 8 + 3] ^= 0x10;
    let (there, error) = decode(damaged, 2);
    assert_eq!(
        error.as_deref(),
        Some("bzip2: block 2: data checksum error")
    );
    assert!(
        there.len() >= 199_800 && text.starts_with(&there),
        "{}",
        there.len()
    );
}

#[test]
fn a_stream_may_end_anywhere_and_that_is_told() {
    let text = text(350_000);
    let data = compress(&text, 1);
    for cut in (4..data.len()).step_by(data.len() / 60) {
        let (there, error) = decode(data[..cut].to_vec(), 2);
        assert_eq!(
            error.as_deref(),
            Some("bzip2: unexpected end of compressed data"),
            "{cut}"
        );
        assert!(text.starts_with(&there), "{cut}");
    }
    // All blocks are there.
    let (there, error) = decode(data[..data.len() - 1].to_vec(), 2);
    assert!(there == text && error.is_some());
}

/// A block in which the number that begins one stands is still one block. Such data are not met; so a block is cut at its
/// middle as the scanner would do it, and must come out whole.
#[test]
fn a_block_that_was_cut_wrongly_is_joined() {
    let text = text(400_000);
    let data = compress(&text, 1);
    let blocks = block_bits(&data);
    let bits = |from: usize, to: usize| scan::Bits::cut(&data, from, to);
    for at in [81, 100, 4000, 4001, 500_000] {
        let (from, to) = (blocks[1], blocks[2]);
        let whole = bits(from, to);
        let joined = bits(from, from + at).join(&bits(from + at, to));
        let [mut one, mut other] =
            [&whole, &joined].map(|bits| super::block::Block::new(bits, b'1', true));
        let mut buffers = [vec![0; 200_000], vec![0; 200_000]];
        let one = one.decode(&mut buffers[0]);
        let other = other.decode(&mut buffers[1]);
        assert!(one.0 > 99_000 && one.0 == other.0, "{at}");
        assert!(buffers[0] == buffers[1]);
        // The half of it gives nothing at all, so that it is tried again with the rest.
        let mut half = super::block::Block::new(&bits(from, from + at), b'1', true);
        let (made, result) = loop {
            match half.decode(&mut buffers[0]) {
                (0, Ok(false)) => {}
                end => break end,
            }
        };
        assert!(made == 0 && result.is_err(), "{at}");
    }
}

#[test]
fn who_stops_early_waits_for_nobody() {
    let data = compress(&text(3_000_000), 1);
    for threads in [1, 4] {
        let mut decoder = open(data.clone(), threads);
        decoder.read_exact(&mut [0; 100]).expect("data");
        drop(decoder);
        drop(open(data.clone(), threads));
    }
}

/// A pipe that stays open when the stream is complete must not keep its last block back.
#[test]
fn the_end_of_a_stream_is_seen_without_more_input() {
    struct Open(Cursor<Vec<u8>>);
    impl Read for Open {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => panic!("nothing more was to be asked for"),
                count => Ok(count),
            }
        }
    }
    let text = text(150_000);
    let data = compress(&text, 1);
    let workers = Workers::NONE;
    let mut decoder =
        decoder_with(Box::new(Open(Cursor::new(data))), &Choice::Detect, workers).expect("bzip2");
    let mut there = vec![0; text.len()];
    decoder.read_exact(&mut there).expect("data");
    assert!(there == text);
}

/// Where the blocks begin: there is no other such number in these data.
fn block_bits(data: &[u8]) -> Vec<usize> {
    let magic = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    let bit = |at: usize| data[at / 8] >> (7 - at % 8) & 1;
    let wanted = |at: usize| magic[at / 8] >> (7 - at % 8) & 1;
    (0..data.len() * 8 - MAGIC_BITS)
        .filter(|from| (0..MAGIC_BITS).all(|at| bit(from + at) == wanted(at)))
        .collect()
}
