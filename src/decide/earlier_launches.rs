//! Did reordering help? The answer comes from the times of earlier launches.
//!
//! Two groups of launches with the same work on the same kind of places are compared: those in the
//! launcher's order, and the reordered ones. They count as different if their medians differ by more
//! than [`FLOOR`], by more than [`SHORTEST`], and by more than a few times the larger of their median absolute
//! deviations: five times if a group has fewer than four launches, else three times. One disturbed launch
//! hardly changes such medians and deviations. If the two groups do not really differ (5 % noise, one launch
//! in ten disturbed by up to a half), the judgement "slower" is wrong about once in fifty times with two
//! launches of each, and once in five hundred with eight (test `mistakes_are_rare`).
//!
//! Limits: the launches of a group ran at different times, perhaps next to different jobs; a change of
//! the machine between them looks like an effect of the order. `rankweave compare` runs both orders in
//! turn.

use crate::base::quantity::seconds;
use crate::base::sorting::Arrange;
use crate::store::Past;

/// A difference below this part of the time in the launcher's order does not count.
pub const FLOOR: f64 = 0.02;
/// A difference of fewer seconds does not count. Beside other work on the machine, launches of 30 ms in the same order
/// differ by more than they last (docs/decisions/0056).
pub const SHORTEST: f64 = 0.05;
/// With fewer launches in one of the groups there is no judgement.
pub const ENOUGH: usize = 2;
/// With so many launches in each group their deviation is known well.
const MANY: usize = 4;

/// Times of launches that can be compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchTimes {
    /// Seconds of launches in the launcher's order.
    pub given: Vec<f64>,
    /// Seconds of reordered launches.
    pub reordered: Vec<f64>,
    /// Seconds in MPI of these launches (mean over the processes), where they were measured.
    pub in_mpi_given: Vec<f64>,
    /// The same of reordered launches.
    pub in_mpi_reordered: Vec<f64>,
    /// Bytes between nodes of the newest launch in the launcher's order, and of the newest reordered launch.
    pub internode_bytes: (Option<u64>, Option<u64>),
}

/// What the times say about reordering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Too few launches.
    TooFew,
    /// Reordered launches look slower than the only one in the launcher's order: another launch in that
    /// order is needed.
    Doubtful,
    /// Reordering made it faster.
    Faster,
    /// Reordering made it slower.
    Slower,
    /// The difference is within the noise.
    Same,
}

impl LaunchTimes {
    /// The launches of a history that had this work on these places.
    pub fn of(history: &[Past], work: u32, places: u32) -> LaunchTimes {
        let mut measured = LaunchTimes::default();
        for past in history.iter().filter(|p| (p.work, p.places) == (work, places)) {
            // The time of such a launch is not known.
            if past.wall_seconds <= 0.0 {
                continue;
            }
            let in_mpi = past.in_mpi.map(|t| t.mean_seconds);
            if past.reordered {
                measured.in_mpi_reordered.extend(in_mpi);
                measured.reordered.push(past.wall_seconds);
                measured.internode_bytes.1 = Some(past.internode_bytes);
            } else {
                measured.in_mpi_given.extend(in_mpi);
                measured.given.push(past.wall_seconds);
                measured.internode_bytes.0 = Some(past.internode_bytes);
            }
        }
        measured
    }

    /// The median time of launches in the launcher's order, and that of reordered launches. `None` if there is no time
    /// of one of the two kinds.
    pub fn medians(&self) -> Option<(f64, f64)> {
        Some((median(&self.given)?, median(&self.reordered)?))
    }

    /// Change of the median time in percent, negative when reordering made it faster.
    pub fn change_percent(&self) -> Option<f64> {
        self.medians().map(|(given, reordered)| 100.0 * (reordered / given - 1.0))
    }

    /// What the times say.
    pub fn judgement(&self) -> Judgement {
        let Some((given, reordered)) = self.medians() else { return Judgement::TooFew };
        let fewer = self.given.len().min(self.reordered.len());
        let times = if fewer < MANY { 5.0 } else { 3.0 };
        let deviation = deviation(&self.given, given).max(deviation(&self.reordered, reordered));
        let noise = (times * deviation).max(FLOOR * given).max(SHORTEST);
        let slower = reordered - given > noise;
        if self.reordered.len() < ENOUGH {
            Judgement::TooFew
        } else if self.given.len() < ENOUGH {
            if slower { Judgement::Doubtful } else { Judgement::TooFew }
        } else if slower {
            Judgement::Slower
        } else if given - reordered > noise {
            Judgement::Faster
        } else {
            Judgement::Same
        }
    }

    /// The measured change in words; empty before there is a launch in each group.
    pub fn words(&self) -> String {
        let Some(((given, reordered), percent)) = self.medians().zip(self.change_percent()) else {
            return String::new();
        };
        let conclusion = match self.judgement() {
            Judgement::TooFew | Judgement::Doubtful => "too few launches to tell",
            Judgement::Faster => "faster",
            Judgement::Slower => "slower",
            Judgement::Same => "within the noise",
        };
        let in_mpi = match (median(&self.in_mpi_given), median(&self.in_mpi_reordered)) {
            (Some(given), Some(reordered)) => {
                format!("; time in MPI {} → {}", seconds(given), seconds(reordered))
            }
            _ => String::new(),
        };
        format!(
            "measured time {} → {} ({percent:+.1} %, medians of {} and {} launches: \
             {conclusion}){in_mpi}",
            seconds(given),
            seconds(reordered),
            self.given.len(),
            self.reordered.len()
        )
    }
}

/// Median distance from the median.
fn deviation(times: &[f64], middle: f64) -> f64 {
    let distances: Vec<f64> = times.iter().map(|t| (t - middle).abs()).collect();
    median(&distances).unwrap_or(0.0)
}

/// The middle of a list; the mean of the two in the middle of an even number.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.arrange_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len() % 2 == 1 { upper } else { (sorted.get(half - 1)? + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::InMpi;

    fn judged(given: &[f64], reordered: &[f64]) -> Judgement {
        LaunchTimes { given: given.into(), reordered: reordered.into(), ..LaunchTimes::default() }
            .judgement()
    }

    #[test]
    fn judgements() {
        assert_eq!(judged(&[], &[]), Judgement::TooFew);
        assert_eq!(judged(&[10.0], &[20.0]), Judgement::TooFew);
        assert_eq!(judged(&[10.0], &[20.0, 20.5]), Judgement::Doubtful);
        assert_eq!(judged(&[10.0], &[8.0, 8.1]), Judgement::TooFew);
        assert_eq!(judged(&[10.0, 10.2], &[20.0, 20.5]), Judgement::Slower);
        assert_eq!(judged(&[10.0, 10.2], &[8.0, 8.1]), Judgement::Faster);
        assert_eq!(judged(&[10.0, 12.0], &[12.5, 13.0]), Judgement::Same, "within the noise");
        assert_eq!(judged(&[10.0, 10.01], &[10.1, 10.11]), Judgement::Same, "below the floor");
        assert_eq!(judged(&[0.028], &[0.035, 0.036]), Judgement::TooFew, "launches of 30 ms");
        assert_eq!(judged(&[0.028, 0.029], &[0.07, 0.071]), Judgement::Same, "launches of 30 ms");
        assert_eq!(judged(&[0.07, 0.071], &[0.028, 0.029]), Judgement::Same, "launches of 30 ms");
        assert_eq!(judged(&[0.07, 0.071], &[0.13, 0.131]), Judgement::Slower, "by more than 50 ms");
        // One disturbed launch in four changes nothing.
        assert_eq!(judged(&[10.0, 10.1, 10.2, 99.0], &[11.0, 11.1, 11.2, 3.0]), Judgement::Slower);
    }

    #[test]
    fn only_comparable_launches_count() {
        let past = |reordered, work, places| Past {
            reordered,
            work,
            places,
            wall_seconds: 3.0,
            internode_bytes: 9,
            ..Past::default()
        };
        let history = [past(false, 1, 2), past(true, 1, 2), past(true, 1, 3), past(false, 4, 2)];
        let measured = LaunchTimes::of(&history, 1, 2);
        assert_eq!((measured.given.len(), measured.reordered.len()), (1, 1));
        assert_eq!(measured.internode_bytes, (Some(9), Some(9)));
        assert_eq!(measured.change_percent(), Some(0.0));
        assert!(measured.words().contains("too few"), "{}", measured.words());
        assert_eq!(LaunchTimes::of(&history, 9, 9).words(), "");
    }

    #[test]
    fn time_in_mpi_is_told_where_it_was_measured() {
        let past = |reordered, mean_seconds: Option<f64>| Past {
            reordered,
            wall_seconds: 10.0,
            in_mpi: mean_seconds.map(|s| InMpi { mean_seconds: s, ..InMpi::default() }),
            ..Past::default()
        };
        let mut history = vec![past(false, Some(5.1)), past(true, None)];
        assert!(!LaunchTimes::of(&history, 0, 0).words().contains("in MPI"));
        history.push(past(true, Some(0.4)));
        let words = LaunchTimes::of(&history, 0, 0).words();
        assert!(words.ends_with("; time in MPI 5.10 s → 400 ms"), "{words}");
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    /// Launches that do not differ in truth: how often are they said to?
    #[test]
    fn mistakes_are_rare() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        // About normal with 5 % deviation, and one launch in ten disturbed by up to a half.
        let mut time = || {
            let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            let disturbed = if uniform() < 0.1 { 5.0 * uniform() } else { 0.0 };
            10.0 + 0.5 * normal + disturbed
        };
        for (each, most) in [(2, 0.03), (4, 0.04), (8, 0.005)] {
            let rounds = 4000;
            let mut wrong = 0;
            for _ in 0..rounds {
                let given: Vec<f64> = (0..each).map(|_| time()).collect();
                let reordered: Vec<f64> = (0..each).map(|_| time()).collect();
                wrong += usize::from(judged(&given, &reordered) == Judgement::Slower);
            }
            let rate = wrong as f64 / rounds as f64;
            assert!(rate <= most, "{each} launches of each: {rate}");
        }
    }
}
