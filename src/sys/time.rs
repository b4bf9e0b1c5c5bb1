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

/// The seconds after 1970 (UTC) at which local clocks show this; `None` where they never do. Of the two in an hour that
/// comes twice the system chooses.
#[must_use]
pub fn from_local(civil: Civil) -> Option<i64> {
    let mut broken = broken_down(civil)?;
    // SAFETY: mktime only reads and normalises the value it is given, which outlives the call.
    let seconds = unsafe { libc::mktime(&raw mut broken) };
    (local(seconds)? == civil).then_some(seconds)
}

/// The same for UTC.
#[must_use]
pub fn from_utc(civil: Civil) -> Option<i64> {
    let mut broken = broken_down(civil)?;
    // SAFETY: as in `from_local`, with timegm.
    let seconds = unsafe { libc::timegm(&raw mut broken) };
    (utc(seconds)? == civil).then_some(seconds)
}

fn broken_down(civil: Civil) -> Option<libc::tm> {
    let part = |value: u32| libc::c_int::try_from(value).ok();
    // SAFETY: `tm` holds integers and a pointer, for which all bits zero are valid values.
    let mut broken: libc::tm = unsafe { std::mem::zeroed() };
    broken.tm_year = libc::c_int::try_from(civil.year.checked_sub(1900)?).ok()?;
    broken.tm_mon = part(civil.month)?.checked_sub(1)?;
    broken.tm_mday = part(civil.day)?;
    broken.tm_hour = part(civil.hour)?;
    broken.tm_min = part(civil.minute)?;
    broken.tm_sec = part(civil.second)?;
    broken.tm_isdst = -1;
    Some(broken)
}

/// What [`local`] gives, in UTC.
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
    use super::{Civil, from_local, from_utc, local, utc};

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
    fn there_and_back_is_the_same() {
        for seconds in [0, -1, 1_000_000_000, 951_782_400, 4_102_444_799] {
            assert_eq!(from_utc(utc(seconds).unwrap()), Some(seconds));
            let there = local(seconds).unwrap();
            let back = from_local(there).unwrap();
            assert_eq!(local(back).unwrap(), there);
        }
        let mut wrong = utc(951_782_400).unwrap();
        wrong.day = 30;
        assert_eq!(
            (wrong.month, from_utc(wrong), from_local(wrong)),
            (2, None, None)
        );
    }

    #[test]
    fn years_out_of_range_are_refused() {
        assert_eq!(utc(i64::MAX), None);
        assert_eq!(utc(-1).unwrap().year, 1969);
    }
}
