//! What is taken, against what GNU tar 1.34 takes; the expected values were measured with it.

use std::num::NonZeroU64;

use super::*;
use crate::plan::Pattern;

/// A member as an archive has it: a name that ends in a slash is a directory.
fn member(name: &str) -> Member {
    let kind = if name.ends_with('/') {
        Kind::Directory
    } else {
        Kind::Regular
    };
    let mut member = Member::new(kind, name.as_bytes());
    member.mtime.seconds = 1_000_000_000;
    member
}

fn link(kind: Kind, name: &str, target: &str) -> Member {
    Member {
        kind,
        link: target.as_bytes().to_vec(),
        ..member(name)
    }
}

fn wanted(names: &[&str]) -> Vec<Wanted> {
    names
        .iter()
        .enumerate()
        .map(|(directory, name)| Wanted {
            pattern: Pattern::literal(name.as_bytes()),
            directory,
        })
        .collect()
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The archive's names of those that are taken.
fn taken(selection: &Selection, names: &str) -> String {
    let mut selector = Selector::new(selection).unwrap();
    let mut taken = Vec::new();
    for name in names.split_whitespace() {
        if selector.choose(&member(name)) != Choice::Skip {
            taken.push(name);
        }
        if selector.finished() {
            break;
        }
    }
    taken.join(" ")
}

fn unmatched(selection: &Selection, names: &str) -> String {
    let mut selector = Selector::new(selection).unwrap();
    for name in names.split_whitespace() {
        selector.choose(&member(name));
    }
    selector
        .unmatched()
        .iter()
        .map(|wanted| text(&wanted.pattern.text))
        .collect::<Vec<_>>()
        .join(" ")
}

fn chosen(selection: &Selection, member: &Member) -> Option<Chosen> {
    match Selector::new(selection).unwrap().choose(member) {
        Choice::Skip => None,
        Choice::Take(chosen) => Some(chosen),
    }
}

const NAMES: &str = "/ /// d/ d/a ./d/b d//c D/a dd/a e/d/a e/d/ d.x * [a]b";

#[test]
fn everything_is_taken_when_nothing_is_asked_for() {
    assert_eq!(taken(&Selection::default(), NAMES), NAMES);
}

#[test]
fn names_take_what_is_below_them() {
    for (asked, expected) in [
        (&["d"][..], "d/ d/a d//c"),
        (&["d/"], "d/ d/a d//c"),
        (&["d//"], "d/ d/a d//c"),
        (&["./d"], "./d/b"),
        (&["./d/"], "./d/b"),
        (&["d/a", "d"], "d/ d/a d//c"),
        (&["*"], "*"),
        (&["[a]b"], "[a]b"),
        (&["\\*"], ""),
        (&["e", "d/a", "e/d"], "d/a e/d/a e/d/"),
    ] {
        let selection = Selection {
            wanted: wanted(asked),
            ..Selection::default()
        };
        assert_eq!(taken(&selection, NAMES), expected, "{asked:?}");
    }
}

#[test]
fn the_first_name_that_matches_gets_the_member() {
    for (asked, missing) in [
        (&["d/a", "d"][..], ""),
        (&["d", "d/a"], "d/a"),
        (&["d/nonex", "d", "zz", "yy"], "d/nonex zz yy"),
        (&["d", "e", "d"], "d"),
        (&["e", "d/a", "e/d"], "e/d"),
    ] {
        let selection = Selection {
            wanted: wanted(asked),
            ..Selection::default()
        };
        assert_eq!(unmatched(&selection, NAMES), missing, "{asked:?}");
    }
    // And its directory with it.
    let selection = Selection {
        wanted: wanted(&["d/a", "d"]),
        ..Selection::default()
    };
    assert_eq!(
        chosen(&selection, &member("d/a")).unwrap().directory,
        Some(0)
    );
    assert_eq!(
        chosen(&selection, &member("d/b")).unwrap().directory,
        Some(1)
    );
    assert_eq!(
        chosen(&Selection::default(), &member("d/b"))
            .unwrap()
            .directory,
        None
    );
}

#[test]
fn patterns_are_compared_by_their_rules() {
    let literal = Pattern::literal(b"");
    let wild = Pattern {
        wildcards: true,
        ..literal.clone()
    };
    for (pattern, asked, expected) in [
        (wild.clone(), "*", NAMES),
        (wild.clone(), "d/*", "d/a d//c"),
        (wild.clone(), "[[:lower:]]/a", "d/a"),
        (wild.clone(), "D?a", "D/a"),
        (wild.clone(), "\\*", "*"),
        (wild.clone(), "[a]b", ""),
        (
            Pattern {
                wildcards_match_slash: false,
                ..wild.clone()
            },
            "d*",
            "d/ d/a d//c dd/a d.x",
        ),
        (
            Pattern {
                anchored: false,
                ..literal.clone()
            },
            "a",
            "d/a D/a dd/a e/d/a",
        ),
        (
            Pattern {
                anchored: false,
                ..literal.clone()
            },
            "d",
            "d/ d/a ./d/b d//c e/d/a e/d/",
        ),
        (
            Pattern {
                anchored: false,
                ..wild.clone()
            },
            "d",
            "d/ d/a ./d/b d//c e/d/a e/d/",
        ),
        (
            Pattern {
                ignore_case: true,
                ..literal.clone()
            },
            "d",
            "d/ d/a d//c D/a",
        ),
        (
            Pattern {
                recursive: false,
                ..literal.clone()
            },
            "d",
            "d/",
        ),
    ] {
        let selection = Selection {
            wanted: vec![Wanted {
                pattern: Pattern {
                    text: asked.into(),
                    ..pattern.clone()
                },
                directory: 0,
            }],
            ..Selection::default()
        };
        assert_eq!(taken(&selection, NAMES), expected, "{asked} {pattern:?}");
    }
}

#[test]
fn excluded_names_are_left_out() {
    let exclude = Pattern::exclude(b"");
    let anchored = Pattern {
        anchored: true,
        ..exclude.clone()
    };
    let plain = Pattern {
        wildcards: false,
        ..exclude.clone()
    };
    let no_slash = Pattern {
        wildcards_match_slash: false,
        ..exclude.clone()
    };
    for (pattern, text, expected) in [
        (&exclude, "d", "/ /// D/a dd/a d.x * [a]b"),
        (
            &exclude,
            "d/",
            "/ /// d/ d/a ./d/b D/a dd/a e/d/a e/d/ d.x * [a]b",
        ),
        (&exclude, "/d", NAMES),
        (
            &exclude,
            "./d",
            "/ /// d/ d/a d//c D/a dd/a e/d/a e/d/ d.x * [a]b",
        ),
        (
            &exclude,
            "d/a",
            "/ /// d/ ./d/b d//c D/a dd/a e/d/ d.x * [a]b",
        ),
        (&exclude, "*a", "/ /// d/ ./d/b d//c e/d/ d.x * [a]b"),
        (&anchored, "d", "/ /// ./d/b D/a dd/a e/d/a e/d/ d.x * [a]b"),
        (&exclude, "d*", "/ /// D/a * [a]b"),
        (
            &no_slash,
            "d*a",
            "/ /// d/ d/a ./d/b d//c D/a dd/a e/d/a e/d/ d.x * [a]b",
        ),
        (&plain, "d*", NAMES),
        (
            &exclude,
            "\\*",
            "/ /// d/ d/a ./d/b d//c D/a dd/a e/d/a e/d/ d.x [a]b",
        ),
    ] {
        let selection = Selection {
            excludes: vec![Pattern {
                text: text.into(),
                ..pattern.clone()
            }],
            ..Selection::default()
        };
        assert_eq!(taken(&selection, NAMES), expected, "{text} {pattern:?}");
    }
}

#[test]
fn an_excluded_name_was_still_found() {
    let selection = Selection {
        wanted: wanted(&["d"]),
        excludes: vec![Pattern::exclude(b"d")],
        ..Selection::default()
    };
    assert_eq!(taken(&selection, NAMES), "");
    assert_eq!(unmatched(&selection, NAMES), "");
}

#[test]
fn occurrences_are_counted_for_each_name() {
    const TWICE: &str = "d/ d/a f d/a d/ f d/b g f d/a h";
    for (occurrence, asked, expected, missing) in [
        (1, &["f"][..], "f", ""),
        (2, &["f"], "f", ""),
        (4, &["f"], "", "f"),
        (1, &["d"], "d/ d/a", ""),
        (2, &["d"], "d/", ""),
        (1, &["d/a", "d"], "d/ d/a", ""),
        (3, &["d/a"], "d/a", ""),
        (1, &["g", "f"], "f g", ""),
    ] {
        let selection = Selection {
            wanted: wanted(asked),
            occurrence: NonZeroU64::new(occurrence),
            ..Selection::default()
        };
        assert_eq!(taken(&selection, TWICE), expected, "{occurrence} {asked:?}");
        assert_eq!(
            unmatched(&selection, TWICE),
            missing,
            "{occurrence} {asked:?}"
        );
    }
    let second = Selection {
        wanted: wanted(&["f"]),
        occurrence: NonZeroU64::new(2),
        ..Selection::default()
    };
    let mut selector = Selector::new(&second).unwrap();
    let positions: Vec<_> = TWICE
        .split_whitespace()
        .map(|name| selector.choose(&member(name)) != Choice::Skip)
        .collect();
    assert_eq!(positions.iter().position(|&taken| taken), Some(5));
}

#[test]
fn reading_may_stop_once_all_occurrences_are_complete() {
    let selection = Selection {
        wanted: wanted(&["d"]),
        occurrence: NonZeroU64::new(1),
        ..Selection::default()
    };
    let mut selector = Selector::new(&selection).unwrap();
    let steps: Vec<_> = ["x", "d/", "d/a", "d/b/", "y"]
        .iter()
        .map(|name| {
            selector.choose(&member(name));
            selector.finished()
        })
        .collect();
    assert_eq!(steps, [false, false, false, false, true]);

    let mut selector = Selector::new(&Selection {
        wanted: wanted(&["f"]),
        ..Selection::default()
    })
    .unwrap();
    selector.choose(&member("f"));
    selector.choose(&member("g"));
    assert!(!selector.finished(), "without an occurrence all are wanted");
}

#[test]
fn members_before_the_starting_name_are_passed_over() {
    const NAMES: &str = "d/ d/a f d/a d/ f d/b g f d/a h";
    let start = |name: &str, asked: &[&str]| Selection {
        starting_at: Some(name.into()),
        wanted: wanted(asked),
        ..Selection::default()
    };
    assert_eq!(taken(&start("d/b", &[]), NAMES), "d/b g f d/a h");
    assert_eq!(taken(&start("d/b", &["f"]), NAMES), "d/b f");
    assert_eq!(taken(&start("g", &["d/a"]), NAMES), "g d/a");
    assert_eq!(taken(&start("d/", &[]), NAMES), NAMES);
    assert_eq!(taken(&start("nonex", &["f"]), NAMES), "");
    assert_eq!(unmatched(&start("nonex", &["f"]), NAMES), "f");
    let selection = start("nonex", &[]);
    let selector = Selector::new(&selection).unwrap();
    assert_eq!(selector.start_not_found(), Some(&b"nonex"[..]));
}

#[test]
fn old_members_are_left_out() {
    let at = |seconds, nanos| Timestamp { seconds, nanos };
    let mut old = member("old");
    old.mtime = at(100, 500);
    old.ctime = Some(at(2000, 0));
    for (time, stamp, inclusive, takes) in [
        (at(100, 500), Stamp::Modified, true, true),
        (at(100, 500), Stamp::Modified, false, false),
        (at(100, 499), Stamp::Modified, false, true),
        (at(100, 501), Stamp::Modified, true, false),
        (at(1000, 0), Stamp::Modified, true, false),
        (at(1000, 0), Stamp::Changed, true, true),
    ] {
        let selection = Selection {
            newer: Some(DateLimit {
                time,
                stamp,
                inclusive,
            }),
            ..Selection::default()
        };
        assert_eq!(
            chosen(&selection, &old).is_some(),
            takes,
            "{time:?} {stamp:?}"
        );
    }
}

#[test]
fn large_files_are_left_out() {
    let selection = Selection {
        max_size: Some(1024),
        ..Selection::default()
    };
    let mut file = member("f");
    file.size = 1024;
    assert!(chosen(&selection, &file).is_some());
    file.size = 1025;
    assert!(chosen(&selection, &file).is_none());
    file.kind = Kind::Directory;
    assert!(chosen(&selection, &file).is_some());
}

/// Name on disk and remarks; `-` for a member that is left out.
fn made(selection: &Selection, member: &Member) -> String {
    let Some(chosen) = chosen(selection, member) else {
        return "-".into();
    };
    if chosen.name.is_empty() {
        // Nothing is left of it to restore.
        return "-".into();
    }
    let mut line = text(&chosen.name);
    if !chosen.link.is_empty() {
        line += &format!(" {}", text(&chosen.link));
    }
    if chosen.dot_dot {
        line += " dotdot";
    }
    for remark in &chosen.remarks {
        line += &match remark {
            Remark::PrefixRemoved { prefix, link } => {
                format!(
                    " {}{}",
                    if *link { "link" } else { "removed" },
                    text(prefix)
                )
            }
            Remark::Empty { .. } => " empty".into(),
        };
    }
    line
}

#[test]
fn what_leads_out_is_taken_off_names() {
    let plain = Selection::default();
    let stripped = Selection {
        strip_components: 1,
        ..Selection::default()
    };
    let absolute = Selection {
        absolute_names: true,
        keep_dot_dot: true,
        ..Selection::default()
    };
    for (name, as_is, one_less, kept) in [
        ("/q/a", "q/a removed/", "a removed/", "/q/a"),
        ("//q/b", "q/b removed//", "b removed//", "//q/b"),
        ("../c", "c dotdot removed../", "-", "../c"),
        (
            "a/../e/f",
            "e/f dotdot removeda/../",
            "f dotdot removeda/../",
            "a/../e/f",
        ),
        ("..", ". dotdot removed..", "-", ".."),
        ("...", "...", "-", "..."),
        ("/", ". removed/", "-", "/"),
        ("///", "./ removed/", "-", "/"),
        ("", ". empty", "-", ". empty"),
        ("./i/..j", "./i/..j", "i/..j", "./i/..j"),
        ("x//tmp/f", "x//tmp/f", "tmp/f removed/", "x//tmp/f"),
        ("d/e/", "d/e/", "e/", "d/e/"),
        ("d/", "d/", "-", "d/"),
        ("x/./", "x/./", "./", "x/./"),
        ("./", "./", "-", "./"),
    ] {
        let member = member(name);
        assert_eq!(made(&plain, &member), as_is);
        assert_eq!(made(&stripped, &member), one_less, "{name} stripped");
        assert_eq!(made(&absolute, &member), kept, "{name} absolute");
    }
}

#[test]
fn prefixes_are_remarked_on_once_each() {
    let mut selector = Selector::new(&Selection::default()).unwrap();
    let mut remarks = 0;
    for name in ["/a", "/b", "//c", "/d"] {
        for member in [member(name), link(Kind::HardLink, "x", name)] {
            if let Choice::Take(chosen) = selector.choose(&member) {
                remarks += chosen.remarks.len();
            }
        }
    }
    assert_eq!(remarks, 4);
}

#[test]
fn links_lose_what_names_lose_symbolic_ones_keep_all() {
    let plain = Selection::default();
    let stripped = Selection {
        strip_components: 1,
        ..Selection::default()
    };
    let top = Selection {
        one_top_level: Some(b"top".to_vec()),
        ..Selection::default()
    };
    let hard = |target| link(Kind::HardLink, "d/b", target);
    let soft = |target| link(Kind::Symlink, "d/b", target);
    for (member, as_is, one_less, below) in [
        (
            hard("/d/a"),
            "d/b d/a link/",
            "b a link/",
            "top/d/b top/d/a link/",
        ),
        (
            hard("../d/a"),
            "d/b d/a link../",
            "b a link../",
            "top/d/b top/d/a link../",
        ),
        (
            hard("x/../d/a"),
            "d/b d/a linkx/../",
            "b a linkx/../",
            "top/d/b top/d/a linkx/../",
        ),
        (hard("d//a"), "d/b d//a", "b a link/", "top/d/b top/d/a"),
        (hard("./d/a"), "d/b ./d/a", "b d/a", "top/d/b top/d/a"),
        (hard("a"), "d/b a", "b", "top/d/b top/a"),
        (soft("/d/a"), "d/b /d/a", "b /d/a", "top/d/b /d/a"),
        (soft("../d/a"), "d/b ../d/a", "b ../d/a", "top/d/b ../d/a"),
    ] {
        assert_eq!(made(&plain, &member), as_is);
        assert_eq!(made(&stripped, &member), one_less);
        assert_eq!(made(&top, &member), below);
    }
}

#[test]
fn a_top_directory_takes_what_is_not_below_it() {
    let top = Selection {
        one_top_level: Some(b"d".to_vec()),
        ..Selection::default()
    };
    for (name, expected) in [
        ("d/a", "d/a"),
        ("./d/b", "./d/b"),
        ("../e", "d/e dotdot removed../"),
        ("/f", "d/f removed/"),
        ("./", "d/"),
        ("d", "d"),
        ("dd", "d/dd"),
    ] {
        assert_eq!(made(&top, &member(name)), expected, "{name}");
    }
}

#[test]
fn volume_labels_are_always_taken_as_they_are() {
    let selection = Selection {
        wanted: wanted(&["f"]),
        strip_components: 3,
        excludes: vec![Pattern::exclude(b"*")],
        ..Selection::default()
    };
    let label = Member::new(Kind::VolumeHeader, b"/my label");
    assert_eq!(made(&selection, &label), "/my label");
    let selection = Selection {
        starting_at: Some(b"f".to_vec()),
        ..Selection::default()
    };
    assert_eq!(made(&selection, &label), "/my label");
}

#[test]
fn a_hostile_name_costs_no_more_than_its_length() {
    let selection = Selection {
        wanted: wanted(&["x", "x/y", "x/y/z"])
            .into_iter()
            .map(|mut wanted| {
                wanted.pattern.anchored = false;
                wanted
            })
            .collect(),
        excludes: vec![
            Pattern::exclude(b"*a*a*a*a*a*b"),
            Pattern::exclude(b"a/*a*a/*[!a]b"),
        ],
        ..Selection::default()
    };
    let name = "a/".repeat(500_000);
    let mut selector = Selector::new(&selection).unwrap();
    let begin = std::time::Instant::now();
    assert_eq!(selector.choose(&member(&name)), Choice::Skip);
    assert!(selector.excludes.find(name.as_bytes()).is_none());
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

fn transformed(arguments: &[&str]) -> Selection {
    let mut scope = crate::plan::Scope::default();
    Selection {
        transforms: arguments
            .iter()
            .flat_map(|argument| transform::parse(argument.as_bytes(), &mut scope).unwrap())
            .collect(),
        ..Selection::default()
    }
}

#[test]
fn substitutions_cannot_lead_out() {
    for (argument, name, expected) in [
        ("s/usr//", "usr/foo", "foo removed/"),
        ("s,^usr,../q,", "usr/foo", "q/foo removed../"),
        ("s,^usr,/q,", "usr/foo", "q/foo removed/"),
        ("s,d/e,/,", "d/e/", "./ removed/"),
        ("s,d,.,", "d/e/", "./e/"),
        ("s,.*,,", "d/e/", "./ empty"),
        ("s,^\\.\\./,,", "../c", "c dotdot"),
        ("s,^a/\\.\\./,,", "a/../b", "b dotdot"),
    ] {
        assert_eq!(
            made(&transformed(&[argument]), &member(name)),
            expected,
            "{argument}"
        );
    }
    let argument = &["s,^usr,../q,"];
    let hard = link(Kind::HardLink, "hl", "usr/foo");
    let soft = link(Kind::Symlink, "sl", "usr/foo");
    assert_eq!(made(&transformed(argument), &hard), "hl q/foo link../");
    assert_eq!(made(&transformed(argument), &soft), "sl ../q/foo");
    let both = Selection {
        strip_components: 1,
        one_top_level: Some(b"top".to_vec()),
        ..transformed(&["s,usr,a/b,"])
    };
    assert_eq!(made(&both, &member("usr/foo")), "top/b/foo");
    assert_eq!(made(&both, &hard), "-");
}

#[test]
fn names_are_compared_before_substitutions() {
    let selection = Selection {
        wanted: wanted(&["usr"]),
        ..transformed(&["s/usr/opt/"])
    };
    assert_eq!(made(&selection, &member("usr/a")), "opt/a");
    assert_eq!(made(&selection, &member("opt/a")), "-");
}

#[test]
fn star_patterns_and_names_are_both_asked() {
    let pattern = |text: &str, directory| crate::plan::StarPattern {
        text: text.into(),
        directory,
    };
    let mut selection = Selection {
        star_patterns: vec![pattern("*.c", 1), pattern("*.h", 2)],
        ..Selection::default()
    };
    const NAMES: &str = "a.c a.o d/ d/b.h d/b.o";
    assert_eq!(taken(&selection, NAMES), "a.c d/b.h");
    assert_eq!(
        chosen(&selection, &member("b.h")).unwrap().directory,
        Some(2)
    );
    selection.wanted = wanted(&["d"]);
    assert_eq!(taken(&selection, NAMES), "d/b.h");
    selection.invert_star_patterns = true;
    assert_eq!(taken(&selection, NAMES), "d/ d/b.o");
    selection.star_patterns.push(pattern("{", 0));
    assert!(Selector::new(&selection).is_err());
}
