//! A short round of power cuts, as part of all tests. The long one is a command of its own, in the README.

use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The program under test, beside the harness and no older than its source.
fn build_durastar(harness: &Path) {
    let profile = harness.parent().expect("it is in a directory");
    let target = profile.parent().expect("and that in the target directory");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([
            "build",
            "--locked",
            "--package",
            "durastar",
            "--bin",
            "durastar",
            "--target-dir",
        ])
        .arg(target);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo runs").success());
}

#[test]
fn promises_outlive_power_cuts_and_lies_are_caught() {
    let harness = Path::new(env!("CARGO_BIN_EXE_durastar-powercut"));
    build_durastar(harness);
    let output = Command::new(harness)
        .args(["--members=150", "--cuts=4"])
        .arg("--tools=each,group,batch,none,name-before-sync")
        .output()
        .expect("the harness runs");
    let (said, progress) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    // Past the capture of the test driver: what was skipped must be seen.
    write!(std::io::stderr(), "power cuts: {said}").expect("standard error is open");
    let skipped = output.status.code() == Some(77);
    assert!(
        skipped || output.status.success(),
        "{}: {said}{progress}",
        output.status
    );
}
