//! Numbers and contents that come out the same for the same seed, on every machine.
//!
//! SplitMix64 (Steele, Lea and Flood, 2014): one addition and three multiplications a number, and every seed is a good
//! one. Nothing here is secret, so nothing more is needed.

/// A source of numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

/// What contents are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Bytes that no compressor makes smaller.
    #[default]
    Random,
    /// Words in random order, which gzip makes about four times smaller.
    Compressible,
}

const WORDS: [&[u8]; 32] = [
    b"static ",
    b"return ",
    b"struct ",
    b"const ",
    b"unsigned ",
    b"int ",
    b"char *",
    b"void ",
    b"if (",
    b") {\n\t",
    b"}\n",
    b";\n\t",
    b"->data",
    b" = ",
    b" == 0",
    b"&& ",
    b"device",
    b"buffer",
    b"length",
    b"offset",
    b"lock",
    b"state",
    b"index",
    b"error",
    b"page",
    b"inode",
    b"NULL",
    b"0x1f",
    b"/* see below */\n",
    b"goto out",
    b"sizeof(",
    b")",
];

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another source, for the so-many-th file of this seed.
    pub(super) fn part(seed: u64, index: u64) -> Self {
        let mut mix = Self(seed ^ index.wrapping_mul(0xD1B5_4A32_D192_ED03));
        Self(mix.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(end);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from 0 up to, but not, 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn fill(&mut self, data: Data, buffer: &mut [u8]) {
        match data {
            Data::Random => {
                for chunk in buffer.chunks_mut(8) {
                    let bytes = self.next().to_le_bytes();
                    chunk.copy_from_slice(&bytes[..chunk.len()]);
                }
            }
            Data::Compressible => {
                let mut at = 0;
                while at < buffer.len() {
                    let mut choice = self.next();
                    // Twelve words of five bits from one number.
                    for _ in 0..12 {
                        let word = WORDS[(choice & 31) as usize];
                        choice >>= 5;
                        let take = word.len().min(buffer.len() - at);
                        buffer[at..at + take].copy_from_slice(&word[..take]);
                        at += take;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{Data, Random};

    #[test]
    fn the_generator_is_splitmix64() {
        // The first numbers of the authors' program for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([random.next(), random.next(), random.next()], expected);
    }

    #[test]
    fn numbers_stay_below_their_end() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            assert!(random.below(7) < 7);
            assert!((0.0..1.0).contains(&random.unit()));
        }
    }

    #[test]
    fn one_kind_of_data_is_compressible_and_the_other_is_not() {
        let ratio = |data| {
            let mut bytes = vec![0; 200_001];
            Random::new(5).fill(data, &mut bytes);
            let mut packed =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            packed.write_all(&bytes).unwrap();
            bytes.len() as f64 / packed.finish().unwrap().len() as f64
        };
        assert!(ratio(Data::Random) < 1.01);
        let words = ratio(Data::Compressible);
        assert!((3.0..5.5).contains(&words), "{words}");
    }
}
