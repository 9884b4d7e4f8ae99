//! The slowest of many links whose loads a hash decides.
//!
//! Each load is taken for normally distributed and independent of the others. The slowest link is then below x with the
//! probability Π (1 − P(load > x)), about e^−n(x), where n(x) is the expected number of links above x. The time given is the
//! one for which this is one half. So many links with the same mean are slower than a few.
//! Limit: of very few flows on a link, the load is not normally distributed.

/// The mean and the variance of the time of a physical link, and how many such links there are.
pub(super) struct Spread {
    pub mean: f64,
    pub variance: f64,
    pub lanes: f64,
}

/// Steps of the search for the time; each halves the interval.
const STEPS: usize = 50;

/// Standard deviations above the mean that no load exceeds.
const MOST: f64 = 8.0;

/// The time that the slowest link stays below in half of all cases.
pub(super) fn slowest(links: &[Spread]) -> f64 {
    let deviation = |link: &Spread| link.variance.max(0.0).sqrt();
    let above = |time: f64| -> f64 {
        let random = links.iter().filter(|link| link.variance > 0.0);
        random.map(|link| link.lanes * tail((time - link.mean) / deviation(link))).sum()
    };
    let mut low = links.iter().map(|link| link.mean).fold(0.0, f64::max);
    if above(low) <= std::f64::consts::LN_2 {
        return low;
    }
    let mut high = links.iter().map(|link| link.mean + MOST * deviation(link)).fold(low, f64::max);
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        match above(middle) > std::f64::consts::LN_2 {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The probability that a normally distributed number is more than `z` standard deviations above its mean.
fn tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b
    }

    #[test]
    fn more_links_are_slower_and_certain_loads_count_whole() {
        let of = |lanes| slowest(&[Spread { mean: 100.0, variance: 100.0, lanes }]);
        assert!(of(1.0) < of(4.0) && of(4.0) < of(64.0) && of(64.0) < 140.0);
        // Half of the loads of one link are above the mean, and ln 2 links are wanted.
        assert!(close(of(1.0), 100.0));
        let certain = |mean| Spread { mean, variance: 0.0, lanes: 1.0 };
        assert!(close(slowest(&[certain(70.0), certain(30.0)]), 70.0));
        let both = slowest(&[certain(500.0), Spread { mean: 100.0, variance: 100.0, lanes: 8.0 }]);
        assert!(close(both, 500.0));
        assert!(slowest(&[]) == 0.0);
    }
}
