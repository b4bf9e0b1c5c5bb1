//! What a compressed archive may make us do, whatever its headers claim.

/// The memory of a decoder for xz, lzma or lzip, in bytes: the largest dictionary that xz(1) itself makes is 1.5 GiB, and
/// its own usual presets stop at 64 MiB. The decoder touches a dictionary only as far as there are data for it, so a lie
/// costs address space only.
pub(super) const LZMA_BYTES: u64 = (1536 + 64) << 20;

/// The largest zstd window: 2 GiB, what `zstd --long=31` makes, the most that the format's reference can read. That one
/// wants an option for more than 128 MiB; nobody can give one to tar, and this memory, too, is touched as data come.
pub(super) const ZSTD_WINDOW_LOG: u32 = if usize::BITS < 64 { 30 } else { 31 };

/// How much may follow the end of an archive and still be decompressed to check the checksum after it. tar pads to a
/// record, 10 KiB by default and rarely more than a few MiB; whoever stops in the middle does not want to wait for the rest.
pub(super) const DRAIN_BYTES: usize = 16 << 20;
