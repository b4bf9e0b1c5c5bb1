//! The house rules that a program can check: who may use whom, which package has which door, headers, fixtures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::source_dir;

/// Rooms that every other may use.
const SHARED: [&str; 5] = ["error", "member", "plan", "observe", "stats"];

/// Which rooms each room may use besides; the map in `lib.rs` gives the reasons.
const USES: [(&str, &[&str]); 20] = [
    ("bench", &["engine", "render", "format", "disk", "sys"]),
    (
        "engine",
        &[
            "extract", "create", "diff", "select", "format", "filter", "journal", "volume", "disk",
            "sys",
        ],
    ),
    ("create", &["select", "disk", "sys"]),
    ("diff", &["disk"]),
    ("extract", &["select", "commit", "journal", "disk", "sys"]),
    ("commit", &["journal", "disk"]),
    ("render", &[]),
    ("select", &[]),
    ("format", &[]),
    ("filter", &[]),
    ("volume", &["sys"]),
    ("journal", &[]),
    ("disk", &[]),
    ("sys", &[]),
    ("error", &["member"]),
    ("member", &["error"]),
    ("plan", &["member"]),
    ("observe", &["error", "member"]),
    ("stats", &[]),
    ("lib", &["*"]),
];

/// The rooms that may name a package.
const DOORS: [(&str, &[&str]); 14] = [
    ("tar", &["format"]),
    ("bzip2", &["filter"]),
    ("flate2", &["filter"]),
    ("liblzma", &["filter"]),
    ("lz4_flex", &["filter"]),
    ("zstd", &["filter"]),
    ("clap", &["cli", "bin"]),
    ("serde_json", &["cli", "bench", "bin"]),
    ("plotters", &["bench"]),
    ("sha2", &["bench"]),
    ("libc", &["disk", "sys"]),
    ("rustix", &["disk", "sys"]),
    ("filetime", &["disk"]),
    ("crossbeam_channel", &["extract", "commit", "filter"]),
];

fn sources(below: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut todo = vec![below.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("readable");
                found.push((path, text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

/// The room a file of `src` belongs to.
fn room(path: &Path) -> String {
    let path = path
        .strip_prefix(source_dir().join("src"))
        .expect("below src");
    let first = path
        .components()
        .next()
        .expect("a name")
        .as_os_str()
        .to_str()
        .expect("a plain name");
    first.trim_end_matches(".rs").to_owned()
}

/// What follows each `prefix` in the code, up to the end of the identifier.
fn named<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(move |line| {
        line.match_indices(prefix)
            .map(move |(at, _)| &line[at + prefix.len()..])
    })
    .map(|rest| {
        &rest[..rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len())]
    })
}

/// Whether the code names something of this package, and not of another whose name ends like it or of a module that is
/// called like it.
fn names_package(text: &str, package: &str) -> bool {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| {
            line.match_indices(&format!("{package}::")).any(|(at, _)| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
            })
        })
}

#[test]
fn packages_are_told_from_names_that_end_like_theirs() {
    for line in [
        "use tar::Header;",
        "    tar::Header::new_gnu()",
        "<tar::Header>",
    ] {
        assert!(names_package(line, "tar"), "{line}");
    }
    for line in [
        "use durastar::error;",
        "star::voice::usage()",
        "own_tar::x()",
        "crate::tar::x()",
        "// tar::Header",
    ] {
        assert!(!names_package(line, "tar"), "{line}");
    }
}

/// The code without its tests, which may look anywhere.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]")
        .next()
        .expect("at least one part")
}

fn is_test_file(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

#[test]
fn rooms_use_only_the_rooms_below_them() {
    let uses: BTreeMap<_, _> = USES.into_iter().collect();
    for (path, text) in sources(&source_dir().join("src")) {
        let room = room(&path);
        if matches!(room.as_str(), "main" | "cli" | "bin" | "lib") || is_test_file(&path) {
            continue;
        }
        let allowed = uses
            .get(room.as_str())
            .unwrap_or_else(|| panic!("{room} is not in the map"));
        for used in named(without_tests(&text), "crate::") {
            let shared = SHARED.contains(&used) && !SHARED.contains(&room.as_str());
            assert!(
                used == room || shared || allowed.contains(&used),
                "{} uses {used}, which {room} may not",
                path.display()
            );
        }
    }
}

#[test]
fn each_package_has_one_door() {
    for (path, text) in sources(&source_dir().join("src")) {
        let room = room(&path);
        if is_test_file(&path) {
            continue;
        }
        for (package, rooms) in DOORS {
            let used = names_package(without_tests(&text), package);
            assert!(
                !used || rooms.contains(&room.as_str()),
                "{} uses {package}",
                path.display()
            );
        }
    }
}

#[test]
fn each_file_says_what_it_is_for() {
    for folder in ["src", "fifo/src", "tests"] {
        for (path, text) in sources(&source_dir().join(folder)) {
            let header = text.starts_with("//!") || text.starts_with("#![");
            assert!(header, "{} has no header", path.display());
        }
    }
}

#[test]
fn unsafe_code_is_walled_in() {
    for (path, text) in sources(&source_dir().join("src")) {
        let keyword = "unsafe ";
        let used = without_tests(&text).lines().any(|line| {
            let line = line.trim_start();
            !line.starts_with("//") && line.contains(&format!("{keyword}{{"))
        });
        let walled = path.ends_with("src/disk/os.rs") || room(&path) == "sys";
        assert!(!used || walled, "{} has unsafe code", path.display());
    }
}

#[test]
fn every_fixture_is_described() {
    let root = source_dir().join("fixtures");
    let readme = fs::read_to_string(root.join("README.md")).expect("fixtures/README.md is there");
    for entry in fs::read_dir(&root).expect("readable") {
        let entry = entry.expect("readable");
        let name = entry.file_name().into_string().expect("a plain name");
        assert!(
            name == "README.md" || readme.contains(&name),
            "fixtures/README.md does not describe {name}"
        );
    }
}

/// The page that users read and the code's own description carry the same table.
#[test]
fn the_page_on_durability_says_what_the_code_says() {
    let root = source_dir();
    let page = fs::read_to_string(root.join("man/durastar-durability.7")).expect("the page");
    let code = fs::read_to_string(root.join("src/commit/mod.rs")).expect("the code");
    let rows: Vec<Vec<&str>> = code
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "))
        .map(|line| line.trim_end_matches(" |").split(" | ").collect())
        .filter(|row: &Vec<_>| row[0] != "mode")
        .collect();
    let modes: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(modes, ["each", "group", "batch", "none"]);
    for row in rows {
        let start = page
            .find(&format!(".B {}\n", row[0]))
            .expect("each mode has its place");
        let part = page[start..]
            .split("\n.TP\n")
            .next()
            .expect("at least one part");
        for (word, cell) in ["Promise", "Cost", "Assumed"].iter().zip(&row[1..]) {
            let line = format!("{word}: {cell}.");
            assert!(
                part.lines().any(|found| found == line),
                "{}: {line}",
                row[0]
            );
        }
    }
}
