//! Choosing and renaming; the expected names are what GNU tar 1.34 makes of the same archives.

use super::names::{components, stripped, unsafe_prefix, without_slashes};
use super::{Choice, Chosen, Selector};
use crate::member::{Kind, Member};
use crate::plan::{Pattern, Selection, Wanted};

fn wanted(text: &str, directory: usize) -> Wanted {
    Wanted {
        pattern: Pattern::literal(text.as_bytes()),
        directory,
    }
}

fn taken(selector: &mut Selector<'_>, name: &str) -> Option<Chosen> {
    match selector.choose(&Member::new(Kind::Regular, name.as_bytes())) {
        Choice::Take(chosen) => Some(chosen),
        Choice::Skip => None,
    }
}

#[test]
fn without_wishes_everything_is_taken() {
    let selection = Selection::default();
    let mut selector = Selector::new(&selection);
    assert_eq!(taken(&mut selector, "a/b").expect("taken").name, b"a/b");
    assert_eq!(selector.unmatched().count(), 0);
}

#[test]
fn wishes_take_themselves_and_what_is_below_and_name_their_directory() {
    let selection = Selection {
        wanted: vec![
            wanted("d/", 0),
            wanted("e", 1),
            wanted("missing", 1),
            wanted("d/sub", 2),
        ],
        ..Selection::default()
    };
    let mut selector = Selector::new(&selection);
    assert_eq!(taken(&mut selector, "d/").expect("taken").directory, 0);
    assert_eq!(taken(&mut selector, "d/sub/x").expect("taken").directory, 0);
    assert_eq!(taken(&mut selector, "e").expect("taken").directory, 1);
    assert!(taken(&mut selector, "dd").is_none());
    let unmatched: Vec<_> = selector
        .unmatched()
        .map(|wanted| wanted.pattern.text.as_slice())
        .collect();
    assert_eq!(unmatched, [b"missing"]);
}

#[test]
fn excludes_win_and_inversion_turns_wishes_round() {
    let mut selection = Selection {
        wanted: vec![wanted("d", 0)],
        excludes: vec![Pattern::exclude(b"*.o")],
        ..Selection::default()
    };
    let mut selector = Selector::new(&selection);
    assert!(taken(&mut selector, "d/x.o").is_none());
    assert!(taken(&mut selector, "d/x.c").is_some());
    selection.invert = true;
    let mut selector = Selector::new(&selection);
    assert!(taken(&mut selector, "d/x.c").is_none());
    assert!(taken(&mut selector, "e").is_some());
}

#[test]
fn starting_at_passes_over_what_comes_before() {
    let selection = Selection {
        starting_at: Some(b"b".to_vec()),
        ..Selection::default()
    };
    let mut selector = Selector::new(&selection);
    let names: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .filter(|name| taken(&mut selector, name).is_some())
        .collect();
    assert_eq!(names, ["b", "c"]);
}

#[test]
fn components_are_stripped_as_gnu_tar_counts_them() {
    for (name, count, left) in [
        ("a/b/c", 1, "b/c"),
        ("a//b", 1, "/b"),
        ("//a/b", 1, "b"),
        ("a/b/", 1, "b/"),
        ("a/", 1, ""),
        ("a", 1, ""),
        ("./a", 1, "a"),
        ("a//b//c", 2, "/c"),
        ("a/b", 5, ""),
        ("a/b", 0, "a/b"),
    ] {
        assert_eq!(
            stripped(name.as_bytes(), count),
            left.as_bytes(),
            "{name} {count}"
        );
    }
}

#[test]
fn a_slash_that_stripping_lays_bare_is_removed() {
    let selection = Selection {
        strip_components: 1,
        ..Selection::default()
    };
    let mut selector = Selector::new(&selection);
    let chosen = taken(&mut selector, "x//tmp/f").expect("taken");
    assert_eq!(
        (chosen.name.as_slice(), chosen.removed_prefix.as_slice()),
        (&b"tmp/f"[..], &b"/"[..])
    );
}

#[test]
fn targets_of_hard_links_change_like_names_and_those_of_symbolic_links_do_not() {
    let selection = Selection {
        strip_components: 1,
        ..Selection::default()
    };
    let mut selector = Selector::new(&selection);
    let mut member = Member::new(Kind::HardLink, b"p/q/b");
    member.link = b"p/q/a".to_vec();
    let Choice::Take(chosen) = selector.choose(&member) else {
        panic!("skipped")
    };
    assert_eq!(chosen.link, b"q/a");
    member.kind = Kind::Symlink;
    let Choice::Take(chosen) = selector.choose(&member) else {
        panic!("skipped")
    };
    assert_eq!(chosen.link, b"p/q/a");
}

#[test]
fn prefixes_that_climb_are_taken_off_hard_link_targets() {
    for (name, length) in [
        ("../a", 3),
        ("a/../b", 5),
        ("/a", 1),
        ("a", 0),
        ("a/..", 4),
        ("..a", 0),
        ("../../x/y", 6),
    ] {
        assert_eq!(unsafe_prefix(name.as_bytes()), length, "{name}");
    }
    assert_eq!(without_slashes(b"a//"), b"a");
    assert_eq!(without_slashes(b"//"), b"/");
    assert_eq!(components(b"./a//./b/").collect::<Vec<_>>(), [b"a", b"b"]);
}

#[test]
fn a_name_that_is_nothing_but_slashes_becomes_a_dot() {
    let selection = Selection::default();
    let mut selector = Selector::new(&selection);
    assert_eq!(taken(&mut selector, "///").expect("taken").name, b".");
}
