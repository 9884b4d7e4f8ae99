//! The levels that show in many values: each level is a peak of their distribution.
//!
//! The values are sorted into bins of equal ratio. Between two levels there are bins with almost no values.
//! Limits: a level of fewer than [`FEWEST`] pairs is not seen; levels whose values overlap count as one.

use crate::base::sorting::Arrange;

/// Logarithm of the ratio of the borders of a bin.
const WIDTH: f64 = 0.03;
/// Values that a level has at least.
const FEWEST: f64 = 6.0;
/// The bins between two levels have at most this part of the smaller peak.
const VALLEY: f64 = 0.25;
/// Above the level with most values, a level has at least this part of all values. Values that are too large
/// by accident are spread there.
const ABOVE: f64 = 0.03;

/// The thresholds between the levels, ascending; empty if there is only one level.
pub(super) fn thresholds(values: &[f64]) -> Vec<f64> {
    let mut logs: Vec<f64> = values.iter().filter(|&&v| v > 0.0).map(|&v| libm::log(v)).collect();
    logs.arrange_by(f64::total_cmp);
    let (Some(&low), Some(&high)) = (logs.first(), logs.last()) else { return Vec::new() };
    // Values far above the median are accidents.
    let high = high.min(logs[logs.len() / 2] + 4.0);
    let count = ((high - low) / WIDTH) as usize + 1;
    let mut bins = vec![0f64; count];
    for log in &logs {
        bins[(((log - low) / WIDTH) as usize).min(count - 1)] += 1.0;
    }
    // Sums of three bins, so that a level on a border of bins is one peak.
    let sum = |k: usize| bins[k.saturating_sub(1)..(k + 2).min(count)].iter().sum::<f64>();
    let smooth: Vec<f64> = (0..count).map(sum).collect();
    let mut peaks: Vec<(usize, f64)> = Vec::new();
    let mut borders: Vec<usize> = Vec::new();
    // The lowest bin since the last peak.
    let mut valley: Option<usize> = None;
    for (k, &here) in smooth.iter().enumerate() {
        let Some(last) = peaks.last_mut() else {
            peaks.push((k, here));
            continue;
        };
        let lowest = valley.map_or(f64::INFINITY, |v| smooth[v]);
        if lowest <= VALLEY * here.min(last.1) && here >= FEWEST {
            borders.extend(valley);
            peaks.push((k, here));
            valley = None;
        } else if here > last.1 && (last.1 < FEWEST || lowest > VALLEY * last.1) {
            *last = (k, here);
            valley = None;
        } else if here < lowest {
            valley = Some(k);
        }
    }
    let mut cuts: Vec<f64> =
        borders.iter().map(|&k| libm::exp(low + (k as f64 + 0.5) * WIDTH)).collect();
    let heaviest = (0..peaks.len()).max_by(|&a, &b| peaks[a].1.total_cmp(&peaks[b].1)).unwrap_or(0);
    let above = |cut: f64| logs.iter().filter(|&&log| log > libm::log(cut)).count() as f64;
    while cuts.len() > heaviest
        && cuts.last().is_some_and(|&cut| above(cut) < ABOVE * logs.len() as f64)
    {
        cuts.pop();
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    fn drawn(levels: &[(f64, usize)], seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut values = Vec::new();
        for &(value, count) in levels {
            values.extend((0..count).map(|_| value * (1.0 - 0.03 * random.unit().max(1e-9).ln())));
        }
        values
    }

    #[test]
    fn levels_of_different_weight() {
        for seed in 0..20 {
            let cuts = thresholds(&drawn(&[(1.0, 30), (1.5, 500), (2.2, 9000)], seed));
            assert_eq!(cuts.len(), 2, "{cuts:?}");
            assert!(1.0 < cuts[0] && cuts[0] < 1.5 && 1.5 < cuts[1] && cuts[1] < 2.2, "{cuts:?}");
        }
    }

    #[test]
    fn one_level_and_outliers() {
        for seed in 0..20 {
            let mut values = drawn(&[(1.0, 5000)], seed);
            let mut random = SplitMix64::new(seed);
            values.extend((0..60).map(|_| 1.0 + 20.0 * random.unit()));
            assert_eq!(thresholds(&values), Vec::<f64>::new());
        }
        assert!(thresholds(&[]).is_empty() && thresholds(&[1.0]).is_empty());
    }
}
