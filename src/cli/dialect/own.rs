//! durastar's own options, which every dialect has too, always spelt with dashes.

use std::num::NonZeroUsize;

use durastar::plan::SyncMethod;

use crate::cli::assemble::{MODES, mode};
use crate::cli::making::Making;
use crate::cli::number;
use crate::cli::option::Category::{Archive, Durability, Hidden, Output, Overwriting};
use crate::cli::option::{Bad, OptionDef, flag, valued};
use crate::cli::setting::{Page, Setting};

/// The rows.
pub(crate) static OPTIONS: &[OptionDef] = &[
    valued(
        Durability,
        "",
        &["sync"],
        "MODE",
        "force members to stable storage: each, group, batch or none",
        |word| mode(word).map(Setting::Durability).ok_or(Bad::OneOf(MODES)),
    )
    .more(
        "each syncs every file by itself before that file counts as done, several at a time unless --jobs=1 is given, and every directory once; group does so for windows of members \
         with one sync for each; batch syncs once at the end; none never does and promises nothing. In the first three \
         the program ends with success only after everything is stable. The environment variable DURASTAR_SYNC sets \
         the default.",
    ),
    valued(
        Durability,
        "",
        &["sync-window"],
        "MEMBERS,SIZE",
        "bounds of a window in mode group; either part may be empty",
        window,
    )
    .more(
        "A crash costs at most two windows. The defaults are 1024 members and 64 MiB of contents. SIZE may end in k, m \
         or g.",
    ),
    valued(
        Durability,
        "",
        &["sync-method"],
        "METHOD",
        "how windows and batches are synced: auto or fsync",
        |word| match word {
            b"auto" => Ok(Setting::SyncMethod(SyncMethod::Auto)),
            b"fsync" => Ok(Setting::SyncMethod(SyncMethod::Fsync)),
            _ => Err(Bad::OneOf(&["auto", "fsync"])),
        },
    )
    .more(
        "auto takes syncfs(2) where the file system makes it a promise; fsync syncs each file and directory, which does \
         not wait for what other programs have written.",
    ),
    flag(
        Overwriting,
        "",
        &["safe-writes"],
        "make members under temporary names and rename them once they are stable",
        || Setting::SafeWrites,
    )
    .more(
        "Whatever happens, also a power cut, each name then stands for the old file or for the whole new one. It costs \
         one rename for each member and, but for mode each, one sync more at the end. With --sync=none a rename waits \
         only until the file is written, so that a crash of the program, but not of the system, is covered. A program \
         that is killed leaves temporary names behind, which begin with .durastar-; nothing uses them later. With \
         --backup the old file gets its second name as a hard link. Directories are made at once, and one that a file \
         takes the place of is removed first. It cannot be combined with options that remove files first or write into \
         them.",
    ),
    valued(
        Durability,
        "",
        &["journal"],
        "FILE",
        "record in FILE what is settled, so that --resume can go on",
        |name| Ok(Setting::Journal(name.to_vec())),
    )
    .more(
        "FILE must not exist. It needs --sync=each or group: each window of members (in mode each there are windows then, \
         too, at whose end the directories are synced) is written down there after its sync, and FILE is synced. It stays \
         valid whenever the run is cut. Keep it outside of the destination.",
    ),
    flag(
        Durability,
        "",
        &["resume"],
        "go on with an extraction that was cut, by its --journal",
        || Setting::Resume,
    )
    .more(
        "Give the same archive, destination and options. Members that the journal names are left as they are if they are \
         on disk as they were written (kind, inode, mode, owner, size, modification time, link target; contents are not \
         read again), and restored again if not; everything else is restored, and directories get their modes and times. \
         An archive that is a plain file is passed over by seeking from header to header; another one is read from the \
         beginning. An archive or a destination that is not the same is refused.",
    ),
    flag(
        Durability,
        "",
        &["verify-settled"],
        "read settled files back from the device and compare",
        || Setting::VerifySettled,
    )
    .more(
        "Checksums (XXH3) are taken while extracting. After its sync each file of a window is read with O_DIRECT, or where \
         there is none after its cached pages were dropped; one that differs is an error and is not settled. Holes of \
         sparse files are not read. It needs --sync=each or group, which then settles in windows too.",
    ),
    valued(
        Durability,
        "",
        &["jobs"],
        "N",
        "use N threads: to read or write files, to compress",
        |word| {
            number::plain(word)
                .and_then(|jobs| usize::try_from(jobs).ok())
                .and_then(NonZeroUsize::new)
                .map(Setting::Jobs)
                .ok_or(Bad::Value("Invalid number of jobs"))
        },
    )
    .more("With 1 everything happens in the archive's order."),
    valued(
        Archive,
        "",
        &["compress-level"],
        "N",
        "compress with this level of the format",
        |word| {
            number::plain(word)
                .and_then(|level| u32::try_from(level).ok())
                .map(|level| Setting::Making(Making::Level(level)))
                .ok_or(Bad::Value("Invalid level"))
        },
    )
    .more(
        "The defaults are those of the formats' programs: 6 for gzip and xz, 9 for bzip2, 3 for zstd. gzip, bzip2, xz and \
         zstd use as many threads as --jobs says, or as there are cores.",
    ),
    valued(
        Durability,
        "",
        &["fifo-size"],
        "SIZE",
        "size of the buffer between reading and writing (8m)",
        |word| {
            number::size(word)
                .and_then(|size| usize::try_from(size).ok())
                .map(Setting::FifoBytes)
                .ok_or(Bad::Value("Invalid FIFO size"))
        },
    )
    .more("SIZE is in bytes, or ends in k, m or g. It is rounded up to whole records."),
    flag(
        Output,
        "",
        &["fifo-stats"],
        "print the buffer's counters at the end",
        || Setting::FifoStats,
    ),
    flag(
        Output,
        "",
        &["sync-stats"],
        "print at the end what stable storage has cost",
        || Setting::SyncStats,
    )
    .more(
        "The mode and whether its promise was kept, syncs by kind, settled members, the time the run waited for stable \
         storage and its share, the times of single syncs, and what limited the run.",
    ),
    valued(
        Output,
        "",
        &["report"],
        "FILE",
        "write all counters to FILE as JSON; - is standard output",
        |name| Ok(Setting::Report(name.to_vec())),
    )
    .more("See REPORT."),
    valued(
        Output,
        "",
        &["settled-log"],
        "FILE",
        "write each member's name to FILE as soon as it is settled",
        |name| Ok(Setting::SettledLog(name.to_vec())),
    )
    .more(
        "A name is there only after a sync that covers the member and the names that lead to it has succeeded, and it \
         is handed to the system at once. Names end in newline, and backslash escapes stand for control bytes; with \
         --null (star: -read0) they end in NUL and are not escaped. FILE - is standard output.",
    ),
    flag(
        Hidden,
        "",
        &["render-manual"],
        "print this dialect's manual page as roff",
        || Setting::Page(Page::Manual),
    ),
];

fn window(word: &[u8]) -> Result<Setting, Bad> {
    const BAD: Bad = Bad::Value("Invalid window, not MEMBERS,SIZE");
    let mut parts = word.splitn(2, |&byte| byte == b',');
    let (members, bytes) = (parts.next().unwrap_or(b""), parts.next().unwrap_or(b""));
    if members.is_empty() && bytes.is_empty() {
        return Err(BAD);
    }
    let part = |text: &[u8], read: fn(&[u8]) -> Option<u64>| match text {
        b"" => Ok(None),
        text => match read(text) {
            None | Some(0) => Err(BAD),
            some => Ok(some),
        },
    };
    Ok(Setting::Window {
        members: part(members, number::plain)?
            .map(|members| usize::try_from(members).map_err(|_| BAD))
            .transpose()?,
        bytes: part(bytes, number::size)?,
    })
}
