//! The program and the library as their users meet them: one binary, one module a job.

mod append;
mod bench;
mod crash;
mod create;
mod dialect_gnu;
mod dialect_star;
mod diff;
mod durability;
mod extract;
mod faults;
mod filter;
mod hostile;
mod house;
mod interrupts;
mod overwriting;
mod questions;
mod resume;
mod roundtrip;
mod rules;
mod samples;
mod support;
mod volume;

/// A module that nobody lists here would never run.
#[test]
fn every_test_file_is_listed() {
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(support::source_dir().join("tests")).expect("tests are there") {
        let path = entry.expect("readable").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_str()
            .expect("a plain name")
            .to_owned();
        if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            assert!(
                listed.contains(&format!("mod {name};")),
                "tests/main.rs does not list {name}"
            );
        }
    }
}
