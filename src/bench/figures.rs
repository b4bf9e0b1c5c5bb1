//! Medians, percentiles and units.

use serde_json::{Value, json};

/// Median, least and greatest of some figures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

/// Sums up figures; `None` when there are none.
#[must_use]
pub fn summary(figures: &[f64]) -> Option<Summary> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    };
    Some(Summary { median, min, max })
}

impl Summary {
    /// As it stands in a result.
    #[must_use]
    pub fn json(self) -> Value {
        json!({ "median": self.median, "min": self.min, "max": self.max })
    }
}

/// The figure below which so many percent lie (nearest rank); 0 when there are none.
#[must_use]
pub fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

/// Seconds with as many decimals as a reader can use.
#[must_use]
pub fn seconds(value: f64) -> String {
    if value < 0.000_999_5 {
        format!("{:.0} µs", value * 1e6)
    } else if value < 0.0995 {
        format!("{:.1} ms", value * 1e3)
    } else if value < 0.9995 {
        format!("{:.0} ms", value * 1e3)
    } else if value < 99.95 {
        format!("{value:.2} s")
    } else {
        format!("{value:.0} s")
    }
}

/// Bytes in powers of 1000, as devices are sold.
#[must_use]
pub fn bytes(value: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = value;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 || value >= 99.95 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// A count with a comma after each three digits.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// At most so many items of a series that may be long: when it is full, every other one is dropped and from then on
/// half as many are taken.
#[derive(Debug)]
pub(super) struct Thinned<T> {
    items: Vec<T>,
    limit: usize,
    stride: u64,
    seen: u64,
}

impl<T> Thinned<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            items: Vec::new(),
            limit: limit.max(2),
            stride: 1,
            seen: 0,
        }
    }

    pub(super) fn push(&mut self, item: T) {
        let wanted = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        if !wanted {
            return;
        }
        self.items.push(item);
        if self.items.len() >= self.limit {
            let mut index = 0;
            self.items.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// How many there were.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn items(&self) -> &[T] {
        &self.items
    }
}

#[cfg(test)]
mod tests {
    use super::{Summary, Thinned, bytes, count, percentile, seconds, summary};

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert_eq!(summary(&[]), None);
        let expected = Summary {
            median: 2.5,
            min: 1.0,
            max: 9.0,
        };
        assert_eq!(summary(&[9.0, 1.0, 2.0, 3.0]), Some(expected));
        assert_eq!(summary(&[3.0, 1.0, 2.0]).unwrap().median, 2.0);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let figures: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(&figures, 50), 100.0);
        assert_eq!(percentile(&figures, 99), 198.0);
        assert_eq!(percentile(&figures, 100), 200.0);
        assert_eq!(percentile(&[], 50), 0.0);
        assert_eq!(percentile(&[7.0], 99), 7.0);
    }

    #[test]
    fn units_suit_the_value() {
        assert_eq!(seconds(0.000_05), "50 µs");
        assert_eq!(seconds(0.0042), "4.2 ms");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(seconds(3.456), "3.46 s");
        assert_eq!(seconds(125.4), "125 s");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(479_733_760.0), "480 MB");
        assert_eq!(bytes(1_361_950_720.0), "1.4 GB");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn a_long_series_is_thinned_evenly() {
        let mut series = Thinned::new(8);
        for item in 0..100 {
            series.push(item);
        }
        assert_eq!(series.seen(), 100);
        assert!(series.items().len() < 8);
        let steps: Vec<i32> = series
            .items()
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
    }
}
