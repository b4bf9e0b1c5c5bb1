//! Members against files on disk: what differs is said as GNU tar says it.

use crate::support::{Differences, has_gnu_tar};

const TREE: &str = "mkdir d; echo one >d/a; echo two >d/b; ln d/a d/h; ln -s a d/l; mkfifo d/p
    truncate -s 1M d/s; echo end >>d/s
    touch -d @1000000000 d/a d/b d/s; touch -h -d @1000000000 d/l; tar --format=gnu -S -cf x.tar d";

#[test]
fn differences_are_those_that_gnu_tar_finds() {
    if !has_gnu_tar() {
        return;
    }
    let mut differences = Differences::default();
    for change in [
        ":",
        "echo TWO >d/b; touch -d @1000000000 d/b",
        "echo longer than before >d/b",
        "chmod 600 d/a; chmod 700 d",
        "touch -d @5 d/a",
        "rm d/l; ln -s b d/l",
        "rm d/h; echo one >d/h; touch -d @1000000000 d/h",
        "rm d/a; mkdir d/a",
        "rm d/p; echo >d/p",
        "rm d/l d/b d/h",
        "rm -r d",
        "echo y | dd of=d/s bs=1 seek=5000 conv=notrunc 2>/dev/null; touch -d @1000000000 d/s",
    ] {
        for words in [&["-df", "x.tar"][..], &["-dvf", "x.tar", "d/b", "d/l"]] {
            differences.run(&format!("{TREE}\n{change}"), words);
        }
    }
    differences.run(TREE, &["-df", "nowhere.tar"]);
    differences.run(TREE, &["-df", "x.tar", "nowhere"]);
    differences.run(
        &format!("{TREE}\nmkdir e; mv d e"),
        &["-df", "x.tar", "-C", "e"],
    );
    differences.none();
}
