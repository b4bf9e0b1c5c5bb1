//! What each format can hold, as values that the writer asks.
//!
//! Sources: POSIX pax, "ustar Interchange Format"; the GNU tar manual, "Basic Tar Format"; star(4); and the archives that
//! GNU tar 1.34 and star 1.7.0 have written.

use crate::plan::create::ArchiveFormat;

/// How digits stand in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digits {
    /// Zeros in front, a NUL behind.
    ZerosNul,
    /// Zeros in front, a blank behind.
    ZerosBlank,
    /// Blanks in front, a blank and where there is room a NUL behind.
    Blanks,
}

/// The bytes that tell the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Magic {
    /// There are none.
    None,
    /// `ustar\0` and version `00`.
    Ustar,
    /// `ustar  \0`.
    Gnu,
}

/// Where names go that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Long {
    /// Nowhere.
    Refused,
    /// Into members of typeflag `L` and `K` before the header.
    Members,
    /// Into pax records.
    Records,
}

/// When a pax header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Records {
    /// Never.
    None,
    /// When something does not fit: times with fractions of a second do not.
    Needed,
    /// Before every member.
    Always,
}

/// Where access and status change times stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// Nowhere in the header.
    None,
    /// Where GNU tar has them, at 345.
    Gnu,
    /// At the end of the prefix, at 476.
    Xstar,
    /// star of 1985, at 290.
    Star,
}

/// How files with holes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sparse {
    /// As they read.
    None,
    /// Typeflag `S`, four entries in the header.
    Gnu,
    /// Typeflag `S`, all entries in blocks behind the header that count as data.
    Star,
    /// A regular file with pax records.
    Pax,
}

/// Which kinds of members there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinds {
    /// All.
    All,
    /// No devices and FIFOs.
    NoSpecial,
    /// Regular files and hard links.
    Files,
}

/// What a format can hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Props {
    /// Whether star's way of writing is followed where the two differ.
    pub(super) star: bool,
    pub(super) digits: Digits,
    pub(super) magic: Magic,
    /// Longest name or link name in its own field, in bytes.
    pub(super) name: usize,
    /// Longest part of a name in the prefix, in bytes.
    pub(super) prefix: usize,
    pub(super) long: Long,
    /// Numbers that are too large for digits may be binary.
    pub(super) base256: bool,
    /// Owners have names.
    pub(super) owner_names: bool,
    pub(super) times: Times,
    /// The last four bytes of a header are `tar\0`.
    pub(super) trailer: bool,
    pub(super) records: Records,
    /// Access and status change times are among the records.
    pub(super) all_times: bool,
    /// The typeflag of pax headers.
    pub(super) record_flag: u8,
    pub(super) sparse: Sparse,
    pub(super) kinds: Kinds,
}

const V7: Props = Props {
    star: false,
    digits: Digits::ZerosNul,
    magic: Magic::None,
    name: 100,
    prefix: 0,
    long: Long::Refused,
    base256: false,
    owner_names: false,
    times: Times::None,
    trailer: false,
    records: Records::None,
    all_times: true,
    record_flag: b'x',
    sparse: Sparse::None,
    kinds: Kinds::All,
};

const GNU: Props = Props {
    magic: Magic::Gnu,
    long: Long::Members,
    base256: true,
    owner_names: true,
    sparse: Sparse::Gnu,
    ..V7
};

const USTAR: Props = Props {
    magic: Magic::Ustar,
    prefix: 155,
    owner_names: true,
    ..V7
};

const STAR_USTAR: Props = Props {
    star: true,
    digits: Digits::ZerosBlank,
    ..USTAR
};

const XSTAR: Props = Props {
    prefix: 130,
    base256: true,
    long: Long::Members,
    times: Times::Xstar,
    trailer: true,
    sparse: Sparse::Star,
    ..STAR_USTAR
};

const STAR_TAR: Props = Props {
    star: true,
    digits: Digits::Blanks,
    kinds: Kinds::NoSpecial,
    ..V7
};

const STAR_PAX: Props = Props {
    long: Long::Records,
    records: Records::Needed,
    ..STAR_USTAR
};

const XUSTAR: Props = Props {
    trailer: false,
    long: Long::Records,
    records: Records::Needed,
    ..XSTAR
};

/// What this format can hold.
pub(super) fn of(format: ArchiveFormat) -> Props {
    match format {
        ArchiveFormat::V7 => V7,
        ArchiveFormat::OldGnu => Props { name: 99, ..GNU },
        ArchiveFormat::Gnu => GNU,
        ArchiveFormat::Ustar => USTAR,
        ArchiveFormat::Posix => Props {
            prefix: 0,
            long: Long::Records,
            records: Records::Needed,
            sparse: Sparse::Pax,
            ..USTAR
        },
        ArchiveFormat::StarV7 => Props {
            kinds: Kinds::Files,
            ..STAR_TAR
        },
        ArchiveFormat::StarTar => STAR_TAR,
        ArchiveFormat::Star => Props {
            star: true,
            digits: Digits::Blanks,
            prefix: 155,
            long: Long::Members,
            base256: true,
            owner_names: true,
            times: Times::Star,
            trailer: true,
            sparse: Sparse::Star,
            ..V7
        },
        ArchiveFormat::StarGnu => Props {
            star: true,
            digits: Digits::Blanks,
            name: 99,
            times: Times::Gnu,
            ..GNU
        },
        ArchiveFormat::StarUstar => STAR_USTAR,
        ArchiveFormat::Pax => STAR_PAX,
        ArchiveFormat::Epax => Props {
            records: Records::Always,
            ..STAR_PAX
        },
        ArchiveFormat::Suntar => Props {
            record_flag: b'X',
            all_times: false,
            ..STAR_PAX
        },
        ArchiveFormat::Xstar => XSTAR,
        ArchiveFormat::Xustar => XUSTAR,
        ArchiveFormat::Exustar => Props {
            records: Records::Always,
            ..XUSTAR
        },
    }
}
