//! The command line as a table: parser, `--help` and manual page read it.

/// A command with its options.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// What stands after the options.
    pub(crate) operands: &'static str,
    /// How many words that must be at least.
    pub(crate) least: usize,
    /// In a few words.
    pub(crate) about: &'static str,
    /// In sentences.
    pub(crate) text: &'static [&'static str],
    pub(crate) options: &'static [&'static Flag],
}

/// An option.
#[derive(Debug)]
pub(crate) struct Flag {
    pub(crate) long: &'static str,
    pub(crate) short: Option<char>,
    /// The name of its value, if it has one.
    pub(crate) value: Option<&'static str>,
    pub(crate) help: &'static str,
}

const fn valued(long: &'static str, value: &'static str, help: &'static str) -> Flag {
    Flag {
        long,
        short: None,
        value: Some(value),
        help,
    }
}

const fn flag(long: &'static str, help: &'static str) -> Flag {
    Flag {
        long,
        short: None,
        value: None,
        help,
    }
}

static DIR: Flag = valued(
    "dir",
    "DIR",
    "where to extract; several are measured in turn; the default is the current directory",
);
static FS: Flag = valued(
    "fs",
    "LIST",
    "make a new file system for every run, of each of these kinds: ext4, xfs, btrfs, on a loop device in a file in DIR; only \
     for the superuser",
);
static MODES: Flag = valued(
    "modes",
    "LIST",
    "durability modes of durastar: each, group, batch, none; the default is all of them",
);
static JOBS: Flag = valued(
    "jobs",
    "LIST",
    "numbers of writing threads of durastar, each measured; default stands for its own choice, which is also the default here",
);
static RUNS: Flag = valued(
    "runs",
    "N",
    "counted rounds, after one that warms up; the default is 5",
);
static PEERS: Flag = valued(
    "peers",
    "LIST",
    "other tars: gtar, bsdtar, star, busybox, or none; one that is not installed is refused; the default is all that are \
     installed",
);
static CACHE: Flag = valued(
    "cache",
    "STATE",
    "warm: the archive is read once before each run; cold: it is taken out of the page cache; the default is warm",
);
static CACHES: Flag = valued(
    "cache",
    "LIST",
    "warm, cold or both; the default is both for the superuser, who alone can empty the kernel's caches, otherwise warm",
);
static NO_TRACE: Flag = flag(
    "no-trace",
    "no additional run of each mode for the charts of FIFO fill and sync latency over time",
);
static JSON: Flag = valued(
    "json",
    "FILE",
    "write the result as JSON to FILE, for the report; - writes it to standard output instead of the table",
);
static DURASTAR: Flag = valued(
    "durastar",
    "PROGRAM",
    "the durastar to measure; the default is the one beside this program",
);
static INTO: Flag = Flag {
    short: Some('C'),
    ..valued(
        "directory",
        "DIR",
        "make the tree below DIR; the default is the current directory",
    )
};
static ARCHIVE: Flag = flag(
    "archive",
    "write an archive of the tree, NAME.tar, without making the tree",
);
static SIZE: Flag = valued(
    "size",
    "SIZE",
    "bytes in each file of a bigtree, with k, m, g (powers of 1024) or kB, MB, GB (of 1000); the default is 3MB",
);
static LARGE: Flag = valued(
    "size",
    "SIZE",
    "bytes in the large file, with k, m, g (powers of 1024) or kB, MB, GB (of 1000); more than the memory defeats all caches; \
     the default is 1g",
);
static DATA: Flag = valued(
    "data",
    "KIND",
    "what files hold: random, or compressible (gzip makes it about four times smaller); the default is random",
);
static SEED: Flag = valued(
    "seed",
    "N",
    "what random numbers begin with; the same seed gives the same result; the default is 1",
);
static FILES: Flag = valued(
    "files",
    "N",
    "files that are made and removed; the default is 10000",
);
static SYNCS: Flag = valued(
    "syncs",
    "N",
    "syncs of each kind that are timed; the default is 300",
);
static THREADS: Flag = valued(
    "threads",
    "N",
    "threads for the second measurement of each kind of sync; the default is 16",
);
static OUTPUT: Flag = Flag {
    short: Some('o'),
    ..valued(
        "output",
        "FILE",
        "write one HTML page with charts to FILE; without it the results are shown as tables",
    )
};

/// Options of every command and of none.
pub(crate) static COMMON: [Flag; 2] = [
    Flag {
        short: Some('h'),
        ..flag("help", "show this help")
    },
    Flag {
        short: Some('V'),
        ..flag("version", "show the version")
    },
];

/// The commands.
pub(crate) static COMMANDS: [Command; 5] = [
    Command {
        name: "extract",
        operands: "ARCHIVE...",
        least: 1,
        about: "compare durastar's durability modes and other tars in unpacking",
        text: &[
            "Each round gives every tool one run with every archive at every place, in changing order; the first round warms \
             up and is not counted. Each run gets a new directory, or with --fs a new file system, which is the only way \
             to keep runs from disturbing each other: on ext4, files made soon after many were deleted are made several \
             times slower.",
            "After each run one syncfs(2), as sync -f does it, is timed by itself. For a tool that does not sync it is the \
             rest of the price, so the figures of a peer with and without sync -f come from the same runs.",
            "A directory on tmpfs is refused, since nothing is durable there, as is one with too little space for a run.",
        ],
        options: &[
            &DIR, &FS, &MODES, &JOBS, &RUNS, &PEERS, &CACHE, &NO_TRACE, &JSON, &DURASTAR,
        ],
    },
    Command {
        name: "create",
        operands: "TREE...",
        least: 1,
        about: "compare durastar and other tars in archiving, into a pipe that is counted",
        text: &[
            "What is timed is tar -cf - TREE | wc -c, with the counting done here. Before a cold run the kernel's caches of \
             contents, names and inodes are emptied, for the whole machine.",
        ],
        options: &[&CACHES, &RUNS, &PEERS, &JSON, &DURASTAR],
    },
    Command {
        name: "tree",
        operands: "bigtree A B C FILES | forest A B C FILES KIB | linux-like [FILES]",
        least: 1,
        about: "make a tree of known shape, or an archive of one",
        text: &[
            "bigtree and forest have A directories, B in each of these, C in each of those, and FILES files in each of the \
             lowest: in a bigtree all of one size, in a forest of random sizes from nothing to twice KIB KiB. bigtree 5 10 \
             20 10 and forest 5 10 20 1000 20 are the trees of a comparison of file systems of 2001. linux-like has FILES \
             files (78579 unless said) with sizes and directories distributed as in the source of Linux 6.1.",
            "The name of what was made goes to standard output, its figures to standard error. The same shape, data and \
             seed give the same tree and the same archive everywhere.",
        ],
        options: &[&INTO, &ARCHIVE, &SIZE, &DATA, &SEED, &JSON],
    },
    Command {
        name: "disk",
        operands: "DIR",
        least: 1,
        about: "measure what a file system can do at best, and what a sync costs on it",
        text: &[
            "Block output, rewrite, block input and seeks on one large file, in the manner of Bonnie; files made and removed; \
             the latency of fsync(2) of a file and of a directory and of syncfs(2), alone and from many threads. A flush \
             that is faster than a device can be is pointed out: it probably ends in a volatile cache.",
        ],
        options: &[&LARGE, &DATA, &SEED, &FILES, &SYNCS, &THREADS, &JSON],
    },
    Command {
        name: "report",
        operands: "RUN.json...",
        least: 1,
        about: "show results as tables, or as one page with charts",
        text: &[
            "The page needs nothing else: no network, no scripts. It can be read in print, on a telephone, light and dark.",
        ],
        options: &[&OUTPUT],
    },
];
