//! The archives in `fixtures/`: listed, extracted, and compared with the tree that they were made from.
//!
//! `fixtures/tree.json` describes that tree. What an archive cannot give back of it is in the table below, and is what its
//! maker extracts from it: `makers_extract_what_is_recorded` runs the makers where they are installed. What star extracts
//! from its own was derived from what its formats can hold, and compared with GNU tar and bsdtar where they read them.
//! The table in `fixtures/README.md` is written here (`BLESS=1` renews it).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use durastar::format::{Options, Reader, SliceSource, SwapRead, is_byte_swapped};
use durastar::member::{Event, MemberStream};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{
    Object, Workdir, fixture, gnu_tar, has, has_gnu_tar, is_root, source_dir, tree,
};

/// What an archive of the tree holds of it, and what it does not.
#[derive(Clone, Copy)]
struct Sample {
    /// Its name in `fixtures/`, without `.tar.gz`.
    name: &'static str,
    /// Members, as many lines as a listing has.
    members: usize,
    /// Part of the tree that was archived; empty for all of it.
    part: &'static str,
    /// Whether it has times to the nanosecond.
    nanos: bool,
    /// Whether the sparse files are stored without their holes.
    sparse: bool,
    /// Whether it holds attributes and ACLs.
    attributes: bool,
    /// What extracting does not give back.
    lost: &'static [&'static str],
}

/// An archive that holds the whole tree, but neither nanoseconds nor holes nor attributes.
const WHOLE: Sample = Sample {
    name: "",
    members: 25,
    part: "",
    nanos: false,
    sparse: false,
    attributes: false,
    lost: &[],
};

const fn whole(name: &'static str) -> Sample {
    Sample { name, ..WHOLE }
}

const fn of_dir(name: &'static str, members: usize, lost: &'static [&'static str]) -> Sample {
    Sample {
        name,
        members,
        part: "dir",
        lost,
        ..WHOLE
    }
}

static SAMPLES: &[Sample] = &[
    Sample {
        members: 11,
        lost: &[
            "a-blk is missing",
            "a-chr is missing",
            "a-fifo is missing",
            "dangling is missing",
            "d... is missing",
            "d.../e... is missing",
            "d.../e.../f... is missing",
            "d.../e.../f.../g... is missing",
            "dir is missing",
            "dir/hello.txt has owner 0/0",
            "dir/sub is missing",
            "empty has time 8589848192.000000000",
            "empty-dir is missing",
            "hard-to-hello has owner 0/0",
            "link-to-hello is missing",
            "long-symlink is missing",
        ],
        ..whole("star/v7tar")
    },
    Sample {
        members: 18,
        lost: &[
            "a-blk is missing",
            "a-chr is missing",
            "a-fifo is missing",
            "d.../e... is missing",
            "d.../e.../f... is missing",
            "d.../e.../f.../g... is missing",
            "dir/hello.txt has owner 0/0",
            "empty has time 8589848192.000000000",
            "hard-to-hello has owner 0/0",
            "long-symlink is missing",
        ],
        ..whole("star/tar")
    },
    Sample {
        sparse: true,
        ..whole("star/star")
    },
    Sample {
        sparse: true,
        ..whole("star/gnutar")
    },
    Sample {
        members: 23,
        lost: &[
            "d.../e.../f.../g... is missing",
            "dir/hello.txt has owner 0/0",
            "empty has time 8589848192.000000000",
            "hard-to-hello has owner 0/0",
            "long-symlink is missing",
        ],
        ..whole("star/ustar")
    },
    Sample {
        members: 23,
        lost: &[
            "d.../e.../f.../g... is missing",
            "dir/hello.txt has owner 0/0",
            "empty has time 8589848192.000000000",
            "hard-to-hello has owner 0/0",
            "long-symlink is missing",
        ],
        ..whole("star/ustar-byteswapped")
    },
    Sample {
        nanos: true,
        ..whole("star/pax")
    },
    Sample {
        nanos: true,
        ..whole("star/epax")
    },
    Sample {
        sparse: true,
        ..whole("star/xstar")
    },
    Sample {
        nanos: true,
        sparse: true,
        ..whole("star/xustar")
    },
    Sample {
        nanos: true,
        sparse: true,
        ..whole("star/exustar")
    },
    Sample {
        nanos: true,
        sparse: true,
        ..whole("star/exustar-dump")
    },
    Sample {
        nanos: true,
        sparse: true,
        attributes: true,
        ..whole("star/exustar-acl-xattr")
    },
    Sample {
        nanos: true,
        ..whole("star/suntar")
    },
    Sample {
        members: 16,
        lost: &[
            "a-blk is missing",
            "a-chr is missing",
            "a-fifo is missing",
            "d.../e... is missing",
            "d.../e.../f... is missing",
            "d.../e.../f.../g... is missing",
            "dir/hello.txt is missing",
            "empty is missing",
            "hard-to-hello is missing",
            "long-symlink has other contents",
        ],
        ..whole("gnu/v7")
    },
    whole("gnu/oldgnu"),
    Sample {
        sparse: true,
        ..whole("gnu/oldgnu-sparse")
    },
    whole("gnu/gnu"),
    Sample {
        sparse: true,
        ..whole("gnu/gnu-sparse")
    },
    Sample {
        members: 21,
        lost: &[
            "d.../e.../f.../g... is missing",
            "dir/hello.txt is missing",
            "empty is missing",
            "hard-to-hello is missing",
            "long-symlink has other contents",
        ],
        ..whole("gnu/ustar")
    },
    Sample {
        nanos: true,
        ..whole("gnu/posix")
    },
    Sample {
        nanos: true,
        sparse: true,
        ..whole("gnu/posix-sparse")
    },
    Sample {
        nanos: true,
        sparse: true,
        ..whole("gnu/posix-sparse-0.0")
    },
    Sample {
        nanos: true,
        sparse: true,
        ..whole("gnu/posix-sparse-0.1")
    },
    Sample {
        nanos: true,
        sparse: true,
        ..whole("gnu/posix-sparse-1.0")
    },
    Sample {
        nanos: true,
        attributes: true,
        ..whole("gnu/posix-xattr-acl")
    },
    Sample {
        members: 20,
        lost: &[
            "d.../e.../f.../g... is missing",
            "dir/hello.txt is missing",
            "dir/sub/odd.bin has mode 104755",
            "empty is missing",
            "hard-to-hello is missing",
            "long-symlink is missing",
        ],
        ..whole("bsd/ustar")
    },
    Sample {
        nanos: true,
        sparse: true,
        attributes: true,
        ..whole("bsd/pax")
    },
    Sample {
        lost: &[
            "dir/sub/odd.bin has mode 104755",
            "empty has time 0.000000000",
        ],
        ..whole("bsd/gnutar")
    },
    Sample {
        members: 15,
        lost: &[
            "a-blk is missing",
            "a-chr is missing",
            "a-fifo is missing",
            "d.../e... is missing",
            "d.../e.../f... is missing",
            "d.../e.../f.../g... is missing",
            "dir/hello.txt is missing",
            "dir/sub/odd.bin has mode 104755",
            "empty is missing",
            "hard-to-hello is missing",
            "long-symlink is missing",
        ],
        ..whole("bsd/v7tar")
    },
    Sample {
        lost: &["empty has time 0.000000000"],
        ..whole("busybox/busybox")
    },
    of_dir("gnu/gnu-label", 6, &[]),
    Sample {
        nanos: true,
        ..of_dir("gnu/posix-label", 6, &[])
    },
    of_dir("gnu/incremental-0", 5, &[]),
    of_dir(
        "gnu/incremental-1",
        3,
        &[
            "dir/hello.txt is missing",
            "dir/new-file is not of the tree",
            "dir/sub/blocky.bin is missing",
            "dir/sub/odd.bin is missing",
        ],
    ),
];

/// Volumes, which alone are not complete, and how many members have something in each.
const VOLUMES: [(&str, usize); 5] = [
    ("gnu/mv-gnu-1", 1),
    ("gnu/mv-gnu-2", 1),
    ("gnu/mv-gnu-3", 6),
    ("star/mv1", 1),
    ("star/mv2", 1),
];

/// What star made besides tar archives, in the formats of cpio.
const CPIO: [&str; 5] = ["star/asc", "star/bin", "star/cpio", "star/crc", "star/odc"];

/// Attributes were set on `dir` between the archives, so that its time in most of them is that of everything else.
const DIR_TIME: (i64, i64) = (1_344_814_000, 987_654_321);

/// An object of the tree, as far as a restore can bring it back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    mode: u32,
    owner: (u32, u32),
    mtime: (i64, i64),
    device: u64,
    /// Target of a symbolic link, SHA-256 and size of a file.
    contents: Vec<u8>,
    /// The first of its names.
    first: Vec<u8>,
    attributes: BTreeMap<String, Vec<u8>>,
}

/// The tree as it was.
fn expected_tree() -> BTreeMap<Vec<u8>, Facts> {
    let text = fs::read(fixture("tree.json")).expect("it is there");
    let objects: Vec<Value> = serde_json::from_slice(&text).expect("it is JSON");
    let mut tree: BTreeMap<Vec<u8>, Facts> = objects
        .iter()
        .map(|object| {
            // Bytes as Latin-1.
            let bytes = |key: &str| -> Vec<u8> {
                let text = object[key].as_str().unwrap_or_default();
                text.chars()
                    .map(|letter| u8::try_from(u32::from(letter)).expect("Latin-1"))
                    .collect()
            };
            let number = |key: &str| object[key].as_i64().unwrap_or_default();
            let mode = object["mode"]
                .as_str()
                .and_then(|text| text.strip_prefix("0o"));
            let small = |value: i64| u32::try_from(value).expect("small");
            let device = |at: usize| small(object["rdev"][at].as_i64().unwrap_or_default());
            let mtime = number("mtime_ns");
            let contents = match object["sha256"].as_str() {
                Some(sum) => format!("{sum} {}", number("size")).into_bytes(),
                None => bytes("target"),
            };
            let attributes = object["xattr"].as_object().into_iter().flatten();
            let facts = Facts {
                mode: u32::from_str_radix(mode.expect("a mode"), 8).expect("octal"),
                owner: (small(number("uid")), small(number("gid"))),
                mtime: (
                    mtime.div_euclid(1_000_000_000),
                    mtime.rem_euclid(1_000_000_000),
                ),
                device: rustix::fs::makedev(device(0), device(1)),
                contents,
                first: bytes("links"),
                attributes: attributes
                    .map(|(key, value)| (key.clone(), base64(value.as_str().expect("text"))))
                    .collect(),
            };
            (bytes("path"), facts)
        })
        .collect();
    name_groups(&mut tree);
    tree
}

/// What is in a directory.
fn found_tree(root: &Path) -> BTreeMap<Vec<u8>, Facts> {
    let mut found: BTreeMap<Vec<u8>, Facts> = tree(root)
        .into_iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, object)| {
            let path = root.join(std::ffi::OsStr::from_bytes(&name));
            let Object {
                mode,
                owner,
                mtime,
                rdev,
                contents,
                same_as,
                ..
            } = object;
            let contents = match mode & 0o170_000 {
                0o100_000 => {
                    format!("{} {}", hex(&Sha256::digest(&contents)), contents.len()).into_bytes()
                }
                _ => contents,
            };
            let facts = Facts {
                mode,
                owner,
                mtime,
                device: rdev,
                contents,
                first: same_as.unwrap_or_else(|| name.clone()),
                attributes: attributes(&path, mode),
            };
            (name, facts)
        })
        .collect();
    name_groups(&mut found);
    found
}

/// Gives all names of one file the first of them that is there; only regular files count.
fn name_groups(tree: &mut BTreeMap<Vec<u8>, Facts>) {
    let mut first: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (name, facts) in tree.iter_mut() {
        if facts.mode & 0o170_000 != 0o100_000 {
            facts.first = Vec::new();
            continue;
        }
        let group = std::mem::take(&mut facts.first);
        facts.first = first.entry(group).or_insert_with(|| name.clone()).clone();
    }
}

/// User attributes and ACLs of an object.
fn attributes(path: &Path, mode: u32) -> BTreeMap<String, Vec<u8>> {
    // Symbolic links have none of these.
    if mode & 0o170_000 == 0o120_000 {
        return BTreeMap::new();
    }
    let keys = [
        "user.comment",
        "user.bin",
        "system.posix_acl_access",
        "system.posix_acl_default",
    ];
    keys.into_iter()
        .filter_map(|key| {
            let mut value = [0; 1024];
            let length = rustix::fs::lgetxattr(path, key, &mut value[..]).ok()?;
            Some((key.to_owned(), value[..length].to_vec()))
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 4648, with padding.
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text
        .bytes()
        .filter(|&byte| byte != b'=')
        .map(digit)
        .collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let bits = four
            .iter()
            .fold(0u32, |bits, &digit| bits << 6 | u32::from(digit));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

/// A name for people: the long ones by their first letters.
fn shown(name: &[u8]) -> String {
    let parts = name
        .split(|&byte| byte == b'/')
        .map(|part| match part.first() {
            Some(first) if part.len() > 50 => format!("{}...", char::from(*first)),
            _ => part.escape_ascii().to_string(),
        });
    parts.collect::<Vec<_>>().join("/")
}

/// What is not as it was.
fn differences(root: &Path, sample: &Sample) -> Vec<String> {
    let (mut expected, mut found) = (expected_tree(), found_tree(root));
    let inside = |name: &[u8]| {
        let rest = name.strip_prefix(sample.part.as_bytes());
        sample.part.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    };
    expected.retain(|name, _| inside(name));
    // A file is one of a group only with the names that are there.
    for (tree, other) in [
        (&mut expected, &found.clone()),
        (&mut found, &expected_tree()),
    ] {
        let mut first: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for (name, facts) in tree.iter_mut() {
            if other.contains_key(name) && !facts.first.is_empty() {
                facts.first = first
                    .entry(facts.first.clone())
                    .or_insert_with(|| name.clone())
                    .clone();
            }
        }
    }
    // A directory that was made only because something is in it was not restored.
    let members = read(sample.name).names;
    found.retain(|name, facts| facts.mode & 0o170_000 != 0o040_000 || members.contains(name));
    let names: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let mut all = Vec::new();
    for name in names {
        let (Some(was), Some(is)) = (expected.get(name), found.get(name)) else {
            let what = if found.contains_key(name) {
                "is not of the tree"
            } else {
                "is missing"
            };
            all.push(format!("{} {what}", shown(name)));
            continue;
        };
        let mut differ = |what: String| all.push(format!("{} has {what}", shown(name)));
        if is.mode != was.mode {
            differ(format!("mode {:o}", is.mode));
        }
        if is.owner != was.owner {
            differ(format!("owner {}/{}", is.owner.0, is.owner.1));
        }
        let rounded =
            |(seconds, nanos): (i64, i64)| (seconds, if sample.nanos { nanos } else { 0 });
        let of_dir = name == b"dir" && rounded(is.mtime) == rounded(DIR_TIME);
        if rounded(is.mtime) != rounded(was.mtime) && !of_dir {
            differ(format!("time {}.{:09}", is.mtime.0, is.mtime.1));
        }
        if is.device != was.device {
            differ("another device number".to_owned());
        }
        if is.contents != was.contents {
            differ("other contents".to_owned());
        }
        if is.first != was.first {
            differ("other names".to_owned());
        }
        if sample.attributes && is.attributes != was.attributes {
            differ("other attributes".to_owned());
        }
        if sample.sparse && name.starts_with(b"sparse") {
            let state = fs::metadata(root.join(shown(name))).expect("it is there");
            if state.blocks() * 512 > state.len() / 2 {
                differ("no holes".to_owned());
            }
        }
    }
    all
}

/// What the parser says of an archive.
#[derive(Default)]
struct Read {
    /// The formats of its members.
    formats: BTreeSet<String>,
    /// Their names, without what says that they are directories or here.
    names: Vec<Vec<u8>>,
}

fn read(name: &str) -> Read {
    let file = fs::File::open(fixture(&format!("{name}.tar.gz"))).expect("it is there");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut bytes)
        .expect("it is gzip");
    if is_byte_swapped(&bytes) {
        let mut swapped = Vec::new();
        SwapRead::new(&bytes[..])
            .read_to_end(&mut swapped)
            .expect("in memory");
        bytes = swapped;
    }
    let mut reader = Reader::new(SliceSource::new(bytes), Options::default());
    let mut read = Read::default();
    while let Ok(event) = reader.advance() {
        match event {
            Event::Member(member) => {
                read.formats
                    .insert(format!("{:?}", member.format).to_lowercase());
                let name = member.name.strip_prefix(b"./").unwrap_or(&member.name);
                read.names
                    .push(name.strip_suffix(b"/").unwrap_or(name).to_vec());
            }
            Event::Complaint(_) => {}
            Event::End => break,
        }
    }
    read
}

const OPTIONS: [&str; 4] = [
    "--xattrs",
    "--xattrs-include=*",
    "--acls",
    "--warning=no-timestamp",
];

/// Extracts a sample as root would; says whether that went without a word, and what is not as it was.
fn extract(work: &Workdir, sample: &Sample) -> (bool, Vec<String>) {
    let path = fixture(&format!("{}.tar.gz", sample.name));
    let path = path.to_str().expect("a plain name");
    let out = work.dir(&sample.name.replace('/', "-"));
    let words = ["-xpf", path, "-C", out.to_str().expect("a plain name")];
    let options = if sample.attributes {
        &OPTIONS[..]
    } else {
        &OPTIONS[3..]
    };
    let ran = work.program("tar").words(&words).words(options).run();
    let quiet = (ran.code, ran.stderr.as_str()) == (Some(0), "");
    (quiet, differences(&out, sample))
}

fn say(yes: bool) -> &'static str {
    if yes { "yes" } else { "NO" }
}

/// A row of the table for an archive of the tree.
fn row(work: &Workdir, sample: &Sample) -> String {
    let name = sample.name;
    let file = format!("{name}.tar.gz");
    let listing = work.run(
        "tar",
        &["-tvf", fixture(&file).to_str().expect("a plain name")],
    );
    let read = read(name);
    let counts = [listing.stdout.lines().count(), read.names.len()];
    let listed = listing.code == Some(0) && counts == [sample.members; 2];
    let (extracted, found) = extract(work, sample);
    let kept = match (sample.part, sample.attributes) {
        ("", false) => "the tree".to_owned(),
        ("", true) => "the tree, with attributes and ACLs".to_owned(),
        (part, _) => format!("the tree's `{part}`"),
    };
    let equal = match (found == sample.lost, sample.lost.is_empty()) {
        (true, true) => kept,
        (true, false) => format!("{kept}, but {}", sample.lost.join(", ")),
        (false, _) => format!("NO: {}", found.join(", ")),
    };
    let formats: Vec<String> = read.formats.into_iter().collect();
    let [listed, extracted] = [say(listed), say(extracted)];
    format!(
        "| `{name}` | {} | {} | {listed} | {extracted} | {equal} |\n",
        formats.join(", "),
        sample.members
    )
}

/// A row for a part of a set: its own members are listed; extracting needs the others.
fn row_of_volume(work: &Workdir, name: &str, members: usize) -> String {
    let file = format!("{name}.tar.gz");
    let listing = work.run(
        "tar",
        &["-tf", fixture(&file).to_str().expect("a plain name")],
    );
    let read = read(name);
    let counts = [listing.stdout.lines().count(), read.names.len()];
    let formats: Vec<String> = read.formats.into_iter().collect();
    format!(
        "| `{name}` | {} | {members} | {} | | one volume of a set |\n",
        formats.join(", "),
        say(counts == [members; 2])
    )
}

/// A row for what is no tar archive, and is said to be none.
fn row_of_cpio(work: &Workdir, name: &str) -> String {
    let file = fixture(&format!("{name}.tar.gz"));
    let file = file.to_str().expect("a plain name");
    let refused = |words: &[&str]| {
        let ran = work.run("tar", words);
        ran.code == Some(2)
            && ran
                .stderr
                .starts_with("tar: This does not look like a tar archive\n")
    };
    work.dir("cpio");
    let [listed, extracted] = [
        refused(&["-tf", file]),
        refused(&["-xf", file, "-C", "cpio"]),
    ]
    .map(|refused| if refused { "refused" } else { "NO" });
    format!("| `{name}` | none | 0 | {listed} | {extracted} | a cpio archive |\n")
}

fn table() -> String {
    let work = Workdir::new();
    let mut text = String::from(
        "| sample | formats found | members | listed | extracted | what comes back |\n|---|---|--:|---|---|---|\n",
    );
    for sample in SAMPLES {
        text += &row(&work, sample);
    }
    for (name, members) in VOLUMES {
        text += &row_of_volume(&work, name, members);
    }
    for name in CPIO {
        text += &row_of_cpio(&work, name);
    }
    text
}

const BEGIN: &str = "<!-- written by tests/samples.rs -->\n";
const END: &str = "<!-- end -->\n";

/// Nothing is left out.
#[test]
fn every_sample_has_its_row() {
    let named = SAMPLES
        .iter()
        .map(|sample| sample.name)
        .chain(VOLUMES.map(|(name, _)| name))
        .chain(CPIO);
    let named: BTreeSet<String> = named.map(|name| format!("{name}.tar.gz")).collect();
    let mut there = BTreeSet::new();
    for folder in ["star", "gnu", "bsd", "busybox"] {
        for entry in fs::read_dir(fixture(folder)).expect("readable") {
            there.insert(format!(
                "{folder}/{}",
                entry.expect("readable").file_name().display()
            ));
        }
    }
    assert_eq!(named, there);
}

#[test]
fn every_sample_is_read_as_the_table_says() {
    if !is_root() {
        eprintln!("skipped, as only root can restore owners and devices");
        return;
    }
    let path = source_dir().join("fixtures/README.md");
    let readme = fs::read_to_string(&path).expect("it is there");
    let (head, rest) = readme.split_once(BEGIN).expect("the table begins");
    let (written, tail) = rest.split_once(END).expect("the table ends");
    let table = table();
    if std::env::var_os("BLESS").is_some() && table != written {
        fs::write(&path, [head, BEGIN, &table, END, tail].concat()).expect("it can be written");
        return;
    }
    assert!(
        table == written,
        "fixtures/README.md:\n{written}\nfound:\n{table}\n(BLESS=1 renews it)"
    );
    assert!(!table.contains("NO"), "{table}");
}

/// GNU tar, bsdtar and busybox lose of their own archives what is recorded of them.
#[test]
fn makers_extract_what_is_recorded() {
    if !is_root() {
        eprintln!("skipped, as only root can restore owners and devices");
        return;
    }
    let mut wrong = String::new();
    for sample in SAMPLES {
        let work = Workdir::new();
        let out = work.dir("out");
        let path = fixture(&format!("{}.tar.gz", sample.name));
        let path = path.to_str().expect("a plain name");
        let maker = sample.name.split('/').next().expect("a folder");
        match maker {
            "gnu" if has_gnu_tar() => {
                let words = [&["-xpf", path, "-C", "out"][..], &OPTIONS].concat();
                gnu_tar(&work.path(""), &words, &[]).quiet();
            }
            "bsd" if has("bsdtar") => drop(work.sh(&format!("bsdtar -xpf {path} -C out"))),
            "busybox" if has("busybox") => {
                drop(work.sh(&format!("busybox tar -xpzf {path} -C out")))
            }
            _ => continue,
        }
        let mut found = differences(&out, sample);
        if maker == "busybox" {
            // It leaves directories and symbolic links with the time they were made at.
            found.retain(|text| !text.contains(" has time 1"));
        }
        if found != sample.lost {
            wrong += &format!("{}: {found:?}\n", sample.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
