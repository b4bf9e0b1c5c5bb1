//! Sizes and rates for people: `10KiB`, `1.2MiB/s`.

use std::time::Duration;

/// The largest power that 64 bits reach is E.
const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A number of bytes as `--totals` shows it: in the largest unit that leaves at least 1, rounded up, with one decimal
/// below 10.
#[must_use]
pub fn bytes(count: u64) -> String {
    if count < 1024 {
        return format!("{count}B");
    }
    let mut power = count.ilog2() / 10;
    let tenths = (u128::from(count) * 10).div_ceil(1 << (10 * power));
    if tenths < 100 {
        return format!("{}.{}{}", tenths / 10, tenths % 10, UNITS[power as usize]);
    }
    let mut whole = u128::from(count).div_ceil(1 << (10 * power));
    if whole == 1024 {
        // Rounded up into the next unit.
        power += 1;
        whole = 1;
        return format!("{whole}.0{}", UNITS[power as usize]);
    }
    format!("{whole}{}", UNITS[power as usize])
}

/// Bytes in a second; `?/s` when no time has passed.
#[must_use]
pub fn rate(count: u64, time: Duration) -> String {
    let nanos = time.as_nanos();
    if nanos == 0 {
        return "?/s".into();
    }
    let rate = u128::from(count) * 1_000_000_000 / nanos;
    format!("{}/s", bytes(u64::try_from(rate).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_as_in_gnu_tar() {
        for (count, expected) in [
            (0, "0B"),
            (1, "1B"),
            (1023, "1023B"),
            (1024, "1.0KiB"),
            (1025, "1.1KiB"),
            (10240, "10KiB"),
            (20480, "20KiB"),
            (10_137, "9.9KiB"),
            (10_138, "10KiB"),
            (1_047_553, "1.0MiB"),
            (1_048_576, "1.0MiB"),
            (1_054_720, "1.1MiB"),
            (10_496_000, "11MiB"),
            (123_463_680, "118MiB"),
            (u64::MAX, "16EiB"),
        ] {
            assert_eq!(bytes(count), expected, "{count}");
        }
    }

    #[test]
    fn rates_need_time() {
        assert_eq!(rate(10_240, Duration::from_millis(500)), "20KiB/s");
        assert_eq!(rate(1, Duration::from_secs(2)), "0B/s");
        assert_eq!(rate(1, Duration::ZERO), "?/s");
        assert_eq!(rate(u64::MAX, Duration::from_nanos(1)), "16EiB/s");
    }
}
