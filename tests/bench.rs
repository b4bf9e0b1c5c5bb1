//! durastar-bench as users meet it: what it refuses, what it writes, and that it leaves nothing behind.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Ran, Workdir, fixture, has, has_gnu_tar, is_root, source_dir, tree};

fn command(work: &Workdir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_durastar-bench"));
    command
        .args(words)
        .current_dir(work.path(""))
        .stdin(Stdio::null())
        .env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

fn bench(work: &Workdir, words: &[&str]) -> Ran {
    Ran::from(command(work, words).output().expect("it starts"))
}

/// A directory that is not in memory, or none: then what needs it is skipped.
fn on_disk() -> Option<Workdir> {
    let work = Workdir::new();
    let refused = bench(
        &work,
        &[
            "disk",
            ".",
            "--size=4k",
            "--files=1",
            "--syncs=1",
            "--threads=1",
        ],
    );
    if refused.stderr.contains("keeps files in memory only") {
        eprintln!("skipped, as the scratch directory is in memory");
        return None;
    }
    assert_eq!(refused.code, Some(0), "{}", refused.stderr);
    Some(work)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a result")).expect("JSON")
}

/// Nothing is left of the places in which was measured.
fn assert_clean(work: &Workdir) {
    for entry in fs::read_dir(work.path("")).expect("readable") {
        let name = entry.expect("readable").file_name();
        let name = name.to_string_lossy();
        assert!(!name.starts_with(".durastar-bench"), "{name} is left");
    }
}

#[test]
fn wrong_use_is_refused_with_a_reason_and_status_2() {
    let work = Workdir::new();
    let archive = fixture("bzip2-1.0.8.tar.gz");
    let archive = archive.to_str().expect("a plain name");
    for (words, reason) in [
        (
            vec!["extract", archive, "--peers=tar"],
            "--peers knows gtar, bsdtar, star, busybox, none, not 'tar'",
        ),
        (vec!["extract"], "extract needs ARCHIVE..."),
        (vec!["disk"], "disk needs DIR"),
        (vec!["measure"], "unrecognized subcommand 'measure'"),
    ] {
        let text = format!("durastar-bench: {reason}\nTry 'durastar-bench --help'.\n");
        bench(&work, &words).says(2, &text);
    }
    // A peer that is not there, whatever is installed: nothing is on this path but durastar itself.
    let ran = command(&work, &["extract", archive, "--peers=bsdtar"])
        .env("PATH", "")
        .output();
    Ran::from(ran.expect("it starts")).says(
        2,
        "durastar-bench: bsdtar is not installed (looked for bsdtar, tar)\n",
    );
    let text = work.write(
        "text",
        "no archive, though it is long enough to be one. ".repeat(20),
    );
    let text = text.to_str().expect("a plain name");
    let ran = bench(&work, &["extract", text, "--peers=none"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("does not look like a tar archive"),
        "{}",
        ran.stderr
    );
    assert_clean(&work);
}

#[test]
fn a_directory_in_memory_is_refused() {
    let work = Workdir::new();
    if !fs::read_to_string("/proc/self/mountinfo")
        .is_ok_and(|mounts| mounts.contains(" /dev/shm rw"))
    {
        eprintln!("skipped, as there is no /dev/shm");
        return;
    }
    let archive = fixture("bzip2-1.0.8.tar.gz");
    let archive = archive.to_str().expect("a plain name");
    for words in [
        vec!["extract", archive, "--dir=/dev/shm", "--peers=none"],
        vec!["disk", "/dev/shm"],
    ] {
        bench(&work, &words).says(
            2,
            "durastar-bench: /dev/shm is on tmpfs, which keeps files in memory only: nothing is durable there, so there \
             is nothing to measure\n",
        );
    }
}

#[test]
fn too_little_space_is_refused_before_anything_is_made() {
    let Some(work) = on_disk() else { return };
    let ran = bench(&work, &["disk", ".", "--size=900000g"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("has too little space: "),
        "{}",
        ran.stderr
    );
    let ran = bench(&work, &["tree", "bigtree", "1000", "1000", "1000", "1000"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_eq!(fs::read_dir(work.path("")).expect("readable").count(), 0);
}

#[test]
fn mounting_without_the_right_to_is_refused() {
    if !is_root() || !has("setpriv") {
        return;
    }
    let work = Workdir::new();
    work.sh("chmod 755 .");
    let archive = work.path("a.tar.gz");
    fs::copy(fixture("bzip2-1.0.8.tar.gz"), &archive).expect("a copy");
    // Where the program lies may be closed to others, so it comes along.
    fs::copy(
        env!("CARGO_BIN_EXE_durastar-bench"),
        work.path("durastar-bench"),
    )
    .expect("a copy");
    let ran = Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "./durastar-bench",
        ])
        .args(["extract", "a.tar.gz", "--fs=ext4"])
        .current_dir(work.path(""))
        .output();
    Ran::from(ran.expect("setpriv runs")).says(
        2,
        "durastar-bench: --fs makes and mounts file systems, which only the superuser may; use --dir with directories on \
         them\n",
    );
}

#[test]
fn an_extraction_gives_figures_with_all_that_is_needed_to_read_them() {
    let Some(work) = on_disk() else { return };
    let archive = fixture("bzip2-1.0.8.tar.gz");
    let words = [
        "extract",
        archive.to_str().expect("a plain name"),
        "--runs=2",
        "--peers=none",
        "--json=run.json",
    ];
    let ran = bench(&work, &words);
    ran.quiet();
    for word in [
        "durastar each",
        "durastar group",
        "durastar batch",
        "durastar none",
        "sha256 ",
        "safe/unsafe",
    ] {
        assert!(ran.stdout.contains(word), "{word} in {}", ran.stdout);
    }
    assert_clean(&work);
    let result = read(&work.path("run.json"));
    assert_eq!(
        (&result["durastar_bench"], &result["kind"]),
        (&Value::from(1), &Value::from("extract"))
    );
    for field in [
        "/machine/processor",
        "/machine/kernel",
        "/date",
        "/sites/0/file_system",
        "/sites/0/options",
    ] {
        let value = result.pointer(field).and_then(Value::as_str);
        assert!(value.is_some_and(|text| !text.is_empty()), "{field}");
    }
    assert_eq!(result["command"][1], "extract");
    assert!(result["machine"]["memory_bytes"].as_u64() > Some(0));
    assert!(
        result["tools"][0]["version"]
            .as_str()
            .is_some_and(|text| text.starts_with("durastar "))
    );
    if has("sha256sum") {
        let sum = work.sh(&format!("sha256sum {}", archive.display())).stdout;
        assert_eq!(
            result["archives"][0]["sha256"].as_str(),
            sum.split(' ').next()
        );
    }
    let cells = result["cells"].as_array().expect("cells");
    let labels: Vec<_> = cells
        .iter()
        .map(|cell| cell["label"].as_str().expect("a label"))
        .collect();
    assert_eq!(
        labels,
        [
            "durastar each",
            "durastar group",
            "durastar batch",
            "durastar none"
        ]
    );
    if has_gnu_tar() {
        // What GNU tar lists: regular files and the sum of their sizes.
        let line =
            "tar tvf \"$0\" | awk '/^-/ { files++; bytes += $3 } END { print files, bytes }'";
        let listed = work
            .sh(&line.replace("$0", &archive.to_string_lossy()))
            .stdout;
        for cell in cells {
            let made = format!("{} {}\n", cell["made_files"], cell["made_file_bytes"]);
            assert_eq!(made, listed, "{}", cell["label"]);
        }
    }
    for cell in cells {
        let runs = cell["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 2);
        let (min, max) = (&cell["wall_seconds"]["min"], &cell["wall_seconds"]["max"]);
        assert!(min.as_f64() > Some(0.0) && min.as_f64() <= max.as_f64());
        assert!(cell["ratio_safe_unsafe"].as_f64() > Some(0.0));
        let promise = &runs[0]["report"]["durability"]["promise"];
        let expected = if cell["mode"] == "none" {
            "not-made"
        } else {
            "kept"
        };
        assert_eq!(promise, expected);
    }
    let traces = result["traces"].as_array().expect("traces");
    assert_eq!(traces.len(), 4);
    let files = cells[0]["made_files"].as_u64().expect("a number");
    let each = &traces[0];
    assert_eq!(each["mode"], "each");
    assert!(
        each["sync_calls"].as_u64() > Some(files),
        "a sync for each file, and for directories"
    );
    assert_eq!(traces[3]["sync_calls"], 0);
}

#[test]
fn a_page_is_well_formed_and_needs_nothing_from_elsewhere() {
    let Some(work) = on_disk() else { return };
    let archive = fixture("bzip2-1.0.8.tar.gz");
    let archive = archive.to_str().expect("a plain name");
    // A name that would be markup if it were not escaped.
    fs::copy(archive, work.path("<b>&\"'.tar")).expect("a copy");
    bench(
        &work,
        &[
            "extract",
            "<b>&\"'.tar",
            "--runs=1",
            "--peers=none",
            "--json=e.json",
        ],
    )
    .quiet();
    let disk = [
        "disk",
        ".",
        "--size=64k",
        "--files=3",
        "--syncs=3",
        "--threads=2",
        "--json=d.json",
    ];
    bench(&work, &disk).quiet();
    let ran = bench(&work, &["tree", "linux-like", "5", "--json=t.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "linux-like.5\n"));
    let caches = [
        "create",
        "linux-like.5",
        "--cache=warm",
        "--runs=1",
        "--json=c.json",
    ];
    let with_create = has_gnu_tar() && bench(&work, &caches).code == Some(0);
    let mut words = vec!["report", "e.json", "d.json", "t.json", "-o", "r.html"];
    if with_create {
        words.push("c.json");
    }
    bench(&work, &words).quiet();
    let page = fs::read_to_string(work.path("r.html")).expect("a page");
    for outside in [
        "http:", "https:", "//", "<script", "<link", "<img", "@import", "url(", "src=",
    ] {
        let found = page.find(outside);
        assert!(
            found.is_none(),
            "{outside} in {}",
            &page[found.unwrap_or(0)..][..80]
        );
    }
    for inside in [
        "<svg",
        "prefers-color-scheme: dark",
        "@media print",
        "&lt;b&gt;&amp;&quot;",
    ] {
        assert!(page.contains(inside), "{inside}");
    }
    assert!(!page.contains("<b>"));
    assert_well_formed(&page);
    let manual =
        fs::read_to_string(source_dir().join("man/durastar-bench.1")).expect("a manual page");
    for file in words.iter().filter(|word| word.ends_with(".json")) {
        for field in read(&work.path(file))
            .as_object()
            .expect("an object")
            .keys()
        {
            let row = format!("\n.B {field}\n");
            assert!(
                manual.contains(&row),
                "the manual page does not tell of {field} in {file}"
            );
        }
    }
    // The same as tables.
    let ran = bench(&work, &words[..4]);
    ran.quiet();
    assert!(ran.stdout.contains("block output") && ran.stdout.contains("durastar each"));
}

/// Every element that is opened is closed, in the order of XML; elements without contents are those of HTML.
fn assert_well_formed(page: &str) {
    // What the style stands in.
    let mut open = vec!["html", "head"];
    let mut rest = page.split_once("</style>").expect("a style").1;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/', '\n'])
            .next()
            .expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "in {open:?}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn what_is_no_result_is_not_reported() {
    let work = Workdir::new();
    work.write("a", "{");
    work.write("b", "{}");
    work.write("c", "{\"durastar_bench\": 99}");
    let ran = bench(&work, &["report", "a"]);
    assert!(
        ran.stderr.starts_with("durastar-bench: a: no JSON: "),
        "{}",
        ran.stderr
    );
    bench(&work, &["report", "b"]).says(2, "durastar-bench: b: no result of durastar-bench\n");
    bench(&work, &["report", "c"]).says(
        2,
        "durastar-bench: c: its layout has the number 99, and this program knows 1\n",
    );
    bench(&work, &["report", "d"]).says(
        1,
        "durastar-bench: cannot read d: No such file or directory (os error 2)\n",
    );
}

#[test]
fn a_tree_and_its_archive_are_the_same_to_gnu_tar() {
    if !has_gnu_tar() {
        return;
    }
    for shape in [
        &["bigtree", "2", "2", "2", "3", "--size=70000"][..],
        &["forest", "2", "1", "2", "5", "20", "--data=compressible"],
        &["linux-like", "60", "--seed=9"],
    ] {
        let work = Workdir::new();
        let mut words = vec!["tree", "-C", "."];
        words.extend(shape);
        let made = bench(&work, &words);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        words.push("--archive");
        let archived = bench(&work, &words);
        assert_eq!(archived.code, Some(0), "{}", archived.stderr);
        let name = made.stdout.trim_end();
        assert_eq!(archived.stdout, format!("{name}.tar\n"));
        let unpacked = work.dir("unpacked");
        work.sh(&format!("tar xf {name}.tar -C unpacked"));
        let (expected, found) = (tree(&work.path(name)), tree(&unpacked.join(name)));
        let contents = |tree: &std::collections::BTreeMap<Vec<u8>, crate::support::Object>| {
            tree.iter()
                .map(|(name, object)| (name.clone(), object.contents.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(contents(&expected), contents(&found), "{shape:?}");
    }
}

#[test]
fn bigtree_and_forest_have_the_directories_and_files_of_their_definitions() {
    let work = Workdir::new();
    for (words, directories, files) in [
        (
            &["tree", "bigtree", "5", "10", "20", "1", "--size=1"][..],
            1 + 5 + 50 + 1000,
            1000,
        ),
        (
            &["tree", "forest", "5", "2", "3", "4", "1"],
            1 + 5 + 10 + 30,
            120,
        ),
    ] {
        let name = bench(&work, words).stdout;
        let counted = work.sh(&format!(
            "find {0} -type d | wc -l; find {0} -type f | wc -l",
            name.trim_end()
        ));
        let counted: Vec<u64> = counted
            .stdout
            .split_whitespace()
            .map(|word| word.parse().expect("a number"))
            .collect();
        assert_eq!(counted, [directories, files]);
    }
}

#[test]
fn an_interrupt_unmounts_and_removes_everything() {
    if !is_root() || !has("mkfs.ext4") || !has("losetup") {
        return;
    }
    let Some(work) = on_disk() else { return };
    // In a container root may not mount; and a run that never begins would be waited for below.
    let line = "truncate -s 16M image && mkfs.ext4 -q -F image && mkdir mount && mount -o loop image mount && umount mount";
    if Command::new("sh")
        .args(["-c", line])
        .current_dir(work.path(""))
        .status()
        .is_ok_and(|status| !status.success())
    {
        eprintln!("skipped, as nothing can be mounted here");
        return;
    }
    // A durastar that never ends: it says that it is there, and waits on a pipe that nobody writes to.
    let archive = fixture("bzip2-1.0.8.tar.gz");
    let slow = work.write(
        "durastar",
        "#!/bin/sh\ncase $1 in --version) echo durastar 0;; *) echo here >pipe; read -r never <pipe;; esac\n",
    );
    work.sh("chmod 755 durastar; mkfifo pipe");
    let mut child = command(
        &work,
        &[
            "extract",
            archive.to_str().expect("a plain name"),
            "--fs=ext4",
            "--peers=none",
            "--durastar",
        ],
    )
    .arg(&slow)
    .stderr(Stdio::piped())
    .stdout(Stdio::null())
    .spawn()
    .expect("it starts");
    // The pipe opens when the first run is under way, on a mounted file system.
    let mut bytes = [0; 5];
    fs::File::open(work.path("pipe"))
        .and_then(|mut pipe| pipe.read_exact(&mut bytes))
        .expect("the run is under way");
    let mounts = || fs::read_to_string("/proc/self/mountinfo").expect("readable");
    let here = work.path("");
    let here = here.to_str().expect("a plain name");
    assert!(mounts().contains(here));
    work.sh(&format!("kill -INT {}", child.id()));
    let mut said = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut said)
        .expect("its words");
    let status = child.wait().expect("it ends");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(2),
        "{said}"
    );
    assert_eq!(
        said,
        "durastar-bench: interrupted; what was made is put away\n"
    );
    assert!(!mounts().contains(here), "{}", mounts());
    assert_clean(&work);
}
