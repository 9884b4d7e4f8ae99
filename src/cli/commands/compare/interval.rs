//! The median of a few ratios, and an interval for it.
//!
//! The interval needs no assumption about the distribution of the noise. The median of the distribution lies
//! between the k-th smallest and the k-th largest of n independent values with probability 1 − 2 P(B < k).
//! B is the number of heads in n throws of a coin (H. A. David, H. N. Nagaraja, Order Statistics, section
//! 7.1). Five pairs are too few for 95 %: their largest interval has 93.75 %.

use crate::decide::median;

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// The median.
    pub(super) median: f64,
    /// The lower end of the interval.
    pub(super) low: f64,
    /// The upper end of the interval.
    pub(super) high: f64,
    /// Probability with which the interval holds the median, from 0 to 1.
    pub(super) coverage: f64,
}

impl Estimate {
    /// The narrowest interval with a probability of at least `confidence` (below 1), or else the widest
    /// interval. `None` if there are no values.
    pub(super) fn of(values: &[f64], confidence: f64) -> Option<Estimate> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        // P(B = i) and its sum so far; 2^-n is 0 only beyond a thousand values.
        let mut term = 0.5f64.powi(n as i32);
        let mut below = 0.0;
        let (mut k, mut coverage) = (1, 1.0 - 2.0 * term);
        for i in 0..n / 2 {
            below += term;
            let covered = 1.0 - 2.0 * below;
            if covered < confidence {
                break;
            }
            (k, coverage) = (i + 1, covered);
            term *= (n - i) as f64 / (i + 1) as f64;
        }
        Some(Estimate {
            median: median(values)?,
            low: *sorted.get(k - 1)?,
            high: *sorted.get(n - k)?,
            coverage: coverage.max(0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_known_sizes() {
        let of = |n: usize| {
            let values: Vec<f64> = (1..=n).map(|v| v as f64).collect();
            let e = Estimate::of(&values, 0.95).unwrap();
            (e.low as usize, e.high as usize, (e.coverage * 1e4).round() / 1e4)
        };
        // From the table of the sign test.
        assert_eq!(of(1), (1, 1, 0.0));
        assert_eq!(of(5), (1, 5, 0.9375));
        assert_eq!(of(6), (1, 6, 0.9688));
        assert_eq!(of(8), (1, 8, 0.9922));
        assert_eq!(of(9), (2, 8, 0.9609));
        assert_eq!(of(10), (2, 9, 0.9785));
        assert_eq!(of(20), (6, 15, 0.9586));
        assert_eq!(Estimate::of(&[], 0.95), None);
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for n in [6, 9, 15] {
            let rounds = 4000;
            let mut inside = 0;
            let mut coverage = 0.0;
            for _ in 0..rounds {
                // Skewed, with median 0.25.
                let values: Vec<f64> = (0..n).map(|_| uniform().powi(2)).collect();
                let e = Estimate::of(&values, 0.95).unwrap();
                coverage = e.coverage;
                inside += usize::from(e.low <= 0.25 && 0.25 <= e.high);
            }
            let rate = f64::from(inside as u32) / f64::from(rounds);
            assert!((rate - coverage).abs() < 0.015, "{n}: {rate}, said {coverage}");
        }
    }
}
