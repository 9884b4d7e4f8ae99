//! The time in MPI of one process with its standard error, and the figures of a job.

use rw::store::InMpi;
use serde::{Deserialize, Serialize};

/// What one process measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeInMpi {
    /// Seconds in MPI, and their standard error.
    seconds: f64,
    error: f64,
    /// Seconds that were measured.
    elapsed: f64,
    /// Calls that were timed.
    calls: u64,
}

impl TimeInMpi {
    /// If the standard error of a process is larger than this part of its time, its figure is not used.
    const LARGEST_ERROR: f64 = 0.1;

    /// The figure of a process in which all calls were timed.
    pub fn certain(seconds: f64, elapsed: f64, calls: u64) -> TimeInMpi {
        TimeInMpi { seconds: seconds.min(elapsed), error: 0.0, elapsed, calls }
    }

    /// The figure of a process whose time is an estimate with this standard error.
    ///
    /// The sum over threads that wait for each other in MPI may be far above the time of the process. The figure then
    /// is the time of the process, and only a sum that is really below it would make the figure wrong. With a sum
    /// that is `b` standard errors above the limit, the mean square of what the figure is too large by is at most
    /// half of the variance times exp(-b²/2), for a normal distribution.
    pub fn estimated(seconds: f64, error: f64, elapsed: f64, calls: u64) -> TimeInMpi {
        let above = (seconds - elapsed) / error;
        let error = if above > 0.0 {
            error * std::f64::consts::FRAC_1_SQRT_2 * libm::exp(-above * above / 4.0)
        } else {
            error
        };
        TimeInMpi { error, ..TimeInMpi::certain(seconds, elapsed, calls) }
    }

    /// Whether the figure enters the result of the job.
    fn is_good(&self) -> bool {
        let sound =
            [self.seconds, self.error, self.elapsed].iter().all(|s| s.is_finite() && *s >= 0.0);
        sound && self.error <= Self::LARGEST_ERROR * self.elapsed
    }
}

/// What the processes of a job measured.
#[derive(Debug, Default)]
pub struct Gathered {
    processes: usize,
    good: usize,
    sum: f64,
    variance: f64,
    elapsed: f64,
    most: f64,
    calls: u64,
}

impl Gathered {
    /// If the standard error of the mean over the processes is larger than this part of their time, the mean is
    /// not shown.
    const LARGEST_ERROR: f64 = 0.03;

    /// Adds a process. `measured` is `None` if it has no figure.
    pub fn add(&mut self, measured: Option<TimeInMpi>) {
        self.processes += 1;
        if let Some(measured) = measured.filter(TimeInMpi::is_good) {
            self.good += 1;
            self.sum += measured.seconds;
            self.variance += measured.error * measured.error;
            self.elapsed += measured.elapsed;
            self.most = self.most.max(measured.seconds);
            self.calls = self.calls.saturating_add(measured.calls);
        }
    }

    /// Mean and maximum. `None` if more than one process in ten has no good figure, or if the mean is not known
    /// well enough.
    pub fn result(&self) -> Option<InMpi> {
        let enough = self.good > 0 && 10 * self.good >= 9 * self.processes;
        let error = self.variance.sqrt();
        (enough && error <= Self::LARGEST_ERROR * self.elapsed).then(|| InMpi {
            mean_seconds: self.sum / self.good as f64,
            max_seconds: self.most,
            calls: self.calls,
            error_seconds: error / self.good as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_needs_figures_of_nearly_all_processes() {
        let good = TimeInMpi::estimated(2.0, 0.2, 10.0, 100);
        let poor = TimeInMpi { error: 1.2, ..good };
        let of = |list: &[Option<TimeInMpi>]| {
            let mut gathered = Gathered::default();
            list.iter().for_each(|&m| gathered.add(m));
            gathered.result()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Some(good), None]), None);
        assert_eq!(of(&[Some(good), Some(poor)]), None);
        let longer = TimeInMpi { seconds: 4.0, ..good };
        let both = of(&[Some(good), Some(longer)]).unwrap();
        assert_eq!((both.mean_seconds, both.max_seconds, both.calls), (3.0, 4.0, 200));
        assert!((both.error_seconds - 0.2 / 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(of(&[Some(TimeInMpi { seconds: f64::NAN, ..good })]), None);
        let mut many = vec![Some(good); 19];
        many.push(None);
        assert_eq!(of(&many).map(|m| m.mean_seconds), Some(2.0));
    }

    #[test]
    fn the_mean_of_many_processes_is_known_better_than_the_time_of_one() {
        let rough = TimeInMpi::estimated(2.0, 0.8, 10.0, 100);
        let mut gathered = Gathered::default();
        gathered.add(Some(rough));
        assert_eq!(gathered.result(), None, "8 % of the time");
        (1..16).for_each(|_| gathered.add(Some(rough)));
        assert!(gathered.result().is_some(), "2 %");
    }

    /// Four threads that wait for each other's calls: a rough sum of 20 s in 10 s.
    #[test]
    fn a_sum_far_above_the_time_is_a_certain_figure() {
        let figure = |seconds, error| TimeInMpi::estimated(seconds, error, 10.0, 100);
        assert_eq!(figure(9.9, 2.0).error, 2.0, "below the limit, the error is that of the sum");
        assert!(!figure(10.1, 2.0).is_good());
        let far = figure(20.0, 3.0);
        assert!(far.is_good() && far.seconds == 10.0, "{far:?}");
        assert_eq!(figure(20.0, 0.0).error, 0.0);
        assert!(!figure(20.0, f64::INFINITY).is_good() && !figure(20.0, f64::NAN).is_good());
    }

    /// The error against the exact one, by numerical integration of the normal distribution.
    #[test]
    fn the_error_at_the_limit_is_not_too_small() {
        for b in [0.01, 0.3, 1.0, 2.0, 3.0] {
            let step = 1e-3;
            let square: f64 = (0..12_000)
                .map(|i| (f64::from(i) + 0.5) * step)
                .map(|y| y * y * (-(b + y) * (b + y) / 2.0).exp() * step)
                .sum();
            let exact = (square / std::f64::consts::TAU.sqrt()).sqrt();
            let ours = TimeInMpi::estimated(10.0 + b, 1.0, 10.0, 1).error;
            assert!(ours >= exact && ours < 6.0 * exact, "{b}: {ours} for {exact}");
        }
    }

    #[test]
    fn a_figure_is_no_longer_than_the_time() {
        assert_eq!(TimeInMpi::certain(12.0, 10.0, 5).seconds, 10.0);
    }
}
