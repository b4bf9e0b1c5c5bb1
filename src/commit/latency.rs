//! How long syncs take: counts in buckets whose width grows with the value, so that memory is fixed.

use std::time::Duration;

/// Buckets in each doubling of the value: a percentile is off by at most 1/16.
const STEPS: usize = 16;
/// 2^40 microseconds are twelve days.
const DOUBLINGS: usize = 40;

/// Counts of durations.
#[derive(Debug)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: Duration,
    max: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; STEPS * DOUBLINGS],
            total: 0,
            sum: Duration::ZERO,
            max: Duration::ZERO,
        }
    }
}

fn bucket(time: Duration) -> usize {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    if micros < STEPS as u64 {
        return micros as usize;
    }
    let doubling = micros.ilog2() as usize - 3;
    let step = (micros >> (doubling - 1)) as usize - STEPS;
    (doubling * STEPS + step).min(STEPS * DOUBLINGS - 1)
}

/// The largest duration that falls into a bucket.
fn upper(bucket: usize) -> Duration {
    let (doubling, step) = (bucket / STEPS, bucket % STEPS);
    let micros = if doubling == 0 {
        step as u64
    } else {
        (((STEPS + step + 1) as u64) << (doubling - 1)) - 1
    };
    Duration::from_micros(micros)
}

impl Histogram {
    /// Counts one.
    pub(super) fn add(&mut self, time: Duration) {
        self.counts[bucket(time)] += 1;
        self.total += 1;
        self.sum += time;
        self.max = self.max.max(time);
    }

    /// The time below which `percent` of all lie; zero when there are none.
    pub(super) fn percentile(&self, percent: u64) -> Duration {
        let rank = (self.total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper(index).min(self.max);
            }
        }
        Duration::ZERO
    }

    /// The longest.
    pub(super) fn max(&self) -> Duration {
        self.max
    }

    /// All together.
    pub(super) fn sum(&self) -> Duration {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_grow_without_gaps_and_hold_what_they_say() {
        let mut last = 0;
        for micros in 0..100_000_u64 {
            let index = bucket(Duration::from_micros(micros));
            assert!(
                index == last || index == last + 1,
                "{micros} in {index} after {last}"
            );
            last = index;
            assert!(upper(index) >= Duration::from_micros(micros), "{micros}");
            assert!(
                upper(index).as_micros() as u64 <= micros + micros / 16 + 1,
                "{micros}"
            );
        }
    }

    #[test]
    fn percentiles_of_one_to_a_hundred() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), Duration::ZERO);
        for millis in 1..=100 {
            histogram.add(Duration::from_millis(millis));
        }
        let half = histogram.percentile(50).as_millis();
        assert!((50..=53).contains(&half), "{half}");
        assert!(histogram.percentile(99).as_millis() >= 99);
        assert_eq!(histogram.percentile(100), Duration::from_millis(100));
        assert_eq!(histogram.max(), Duration::from_millis(100));
        assert_eq!(histogram.sum(), Duration::from_millis(5050));
    }
}
