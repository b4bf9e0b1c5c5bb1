//! The fuzz targets over their seeds, over each seed with some bytes changed, and over what fuzzing found worth keeping.

use std::fs;
use std::io::Read;

use super::support::read_all;
use crate::format::{Options, SliceSource, fuzz};

/// Runs a target over its seeds as they are, cut short, and with one byte changed here and there.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = format!("{}/tests/fuzz/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut seeds = 0;
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for seed in fs::read_dir(&folder).unwrap() {
        let seed = fs::read(seed.unwrap().path()).unwrap();
        target(&seed);
        for _ in 0..20 {
            target(&seed[..random(seed.len())]);
            let mut changed = seed.clone();
            changed[random(seed.len())] = random(256) as u8;
            target(&changed);
        }
        seeds += 1;
    }
    assert!(seeds > 3, "{folder}");
    target(b"");
    corpus(name, target);
}

/// Runs a target over the smallest inputs that reach all that fuzzing has reached so far.
fn corpus(name: &str, target: fn(&[u8])) {
    let path = format!(
        "{}/tests/fuzz/corpus/{name}.tar.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(&path).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    let archive = read_all(SliceSource::new(bytes), Options::default()).clean();
    assert!(archive.entries.len() > 50, "{path}");
    for entry in &archive.entries {
        target(&entry.data);
    }
}

#[test]
fn headers() {
    replay("header", fuzz::header);
}

#[test]
fn records() {
    replay("records", fuzz::records);
}

#[test]
fn maps() {
    replay("maps", fuzz::maps);
}

#[test]
fn archives() {
    replay("archive", fuzz::archive);
}
