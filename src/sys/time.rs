//! Local time, by the system's time zone data.

use std::sync::Once;

/// A point in time on the clock and calendar of some time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year; not limited to four digits, archives hold worse.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 60: leap seconds exist in some zone files.
    pub second: u32,
}

/// The local time of so many seconds after 1970 (UTC); `None` where the year does not fit.
#[must_use]
pub fn local(seconds: i64) -> Option<Civil> {
    // localtime_r need not read TZ (POSIX), and reading it once keeps listings consistent.
    static ZONE: Once = Once::new();
    unsafe extern "C" {
        // libc 0.2 does not declare it for Linux.
        fn tzset();
    }
    // SAFETY: tzset(3) takes nothing; `Once` keeps it from running on two threads.
    ZONE.call_once(|| unsafe { tzset() });
    convert(seconds, |time, broken| {
        // SAFETY: both point to values that outlive the call; localtime_r writes only to `broken`.
        !unsafe { libc::localtime_r(time, broken) }.is_null()
    })
}

/// The same in UTC.
#[must_use]
pub fn utc(seconds: i64) -> Option<Civil> {
    convert(seconds, |time, broken| {
        // SAFETY: as in `local`, with gmtime_r.
        !unsafe { libc::gmtime_r(time, broken) }.is_null()
    })
}

fn convert(seconds: i64, call: impl FnOnce(&libc::time_t, &mut libc::tm) -> bool) -> Option<Civil> {
    let time = libc::time_t::try_from(seconds).ok()?;
    // SAFETY: `tm` holds integers and a pointer, for which all bits zero are valid values.
    let mut broken: libc::tm = unsafe { std::mem::zeroed() };
    if !call(&time, &mut broken) {
        return None;
    }
    let part = |value: libc::c_int| u32::try_from(value).ok();
    Some(Civil {
        year: i64::from(broken.tm_year) + 1900,
        month: part(broken.tm_mon)? + 1,
        day: part(broken.tm_mday)?,
        hour: part(broken.tm_hour)?,
        minute: part(broken.tm_min)?,
        second: part(broken.tm_sec)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Civil, local, utc};

    #[test]
    fn a_known_second_is_told_in_utc() {
        let told = utc(1_000_000_000).unwrap();
        assert_eq!(
            told,
            Civil {
                year: 2001,
                month: 9,
                day: 9,
                hour: 1,
                minute: 46,
                second: 40
            }
        );
        assert!(local(1_000_000_000).is_some());
    }

    #[test]
    fn years_out_of_range_are_refused() {
        assert_eq!(utc(i64::MAX), None);
        assert_eq!(utc(-1).unwrap().year, 1969);
    }
}
