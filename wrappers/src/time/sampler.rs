//! When windows are open, and how the time in them is scaled to the whole run.
//!
//! Time is divided into cycles: a gap of random length, then a window. The time of the calls that begin in
//! a window, whenever they end, stands for the whole cycle, in proportion to the measured lengths of both.
//! The length of a gap does not depend on what happens in it, so that every moment is as likely to be in
//! a window as its weight says, whatever rhythm the program has.
//!
//! What timing costs depends on the number of calls. A program that calls seldom is watched all the time:
//! there are no gaps, and nothing is estimated. For other programs windows are so short that the calls in
//! them stay within an allowance per second.

/// Longest and first length of a cycle, in seconds.
const CYCLE: (f64, f64) = (0.5, 0.02);
/// First part of a cycle that is window: nothing is known of the program yet.
const FIRST: f64 = 0.125;
/// Smallest part.
const LEAST: f64 = 1.0 / 4096.0;
/// How much larger the part may become from one cycle to the next.
const GROWTH: f64 = 4.0;

/// Largest standard error of a figure, as a part of the time that it is about.
const ERROR: f64 = 0.05;

/// What a call of `length` seconds that stands for `weight` times itself adds to the variance of the sum:
/// it would have been seen with a probability of one in `weight` (Horvitz and Thompson 1952).
pub fn variance(length: f64, weight: f64) -> f64 {
    (weight * weight - weight).max(0.0) * length * length
}

/// The next cycle, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cycle {
    /// Before the window; 0 for none.
    pub gap: f64,
    /// Length of the window.
    pub window: f64,
    /// Calls that may be timed in it.
    pub calls: u64,
    /// What the time in the window counts for, as planned.
    pub weight: f64,
}

/// Decides on windows.
#[derive(Debug)]
pub struct Sampler {
    random: u64,
    /// Calls per second that may be timed on average.
    allowance: f64,
    length: f64,
    part: f64,
}

impl Sampler {
    /// With `allowance` calls per second.
    pub fn new(seed: u64, allowance: f64) -> Sampler {
        Sampler { random: seed | 1, allowance, length: CYCLE.1, part: FIRST }
    }

    /// Uniform in 0..1 (xorshift64*).
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next cycle.
    pub fn next(&mut self) -> Cycle {
        let length = self.length;
        self.length = (2.0 * self.length).min(CYCLE.0);
        let gap = match self.part < 1.0 {
            true => (1.0 - self.part) * length * (0.5 + self.uniform()),
            false => 0.0,
        };
        Cycle {
            gap,
            window: self.part * length,
            calls: (self.allowance * length).max(32.0) as u64,
            weight: 1.0 / self.part,
        }
    }

    /// So many calls began in the last window, which was open for so many seconds.
    pub fn learn(&mut self, calls: u64, open: f64) {
        let rate = calls as f64 / open.max(1e-6);
        // Half of what is allowed: calls are not spread evenly.
        let wanted = if rate > 0.0 { 0.5 * self.allowance / rate } else { 1.0 };
        self.part = wanted.min(GROWTH * self.part).clamp(LEAST, 1.0);
    }
}

/// What was seen.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Seconds of whole cycles, and of the windows in them.
    pub cycles: f64,
    pub windows: f64,
}

impl Seen {
    /// A cycle of `cycle` seconds with a window of `window` seconds; its weight.
    pub fn add(&mut self, cycle: f64, window: f64) -> f64 {
        let window = window.max(1e-7).min(cycle);
        self.cycles += cycle;
        self.windows += window;
        cycle / window
    }

    /// The time in calls of the `elapsed` seconds, from the weighted time in those of the cycles. `None`
    /// if less than half of it was in cycles.
    pub fn estimate(&self, weighted: f64, elapsed: f64) -> Option<f64> {
        (self.cycles > 0.5 * elapsed).then(|| weighted * elapsed / self.cycles)
    }

    /// The estimate that is shown of `weighted` seconds, at most the time itself. `None` if a few long calls
    /// make up so much of it that other windows would have given another result. `variance`: see
    /// [`variance`].
    pub fn figure(&self, weighted: f64, variance: f64, elapsed: f64) -> Option<f64> {
        let estimate = self.estimate(weighted, elapsed)?;
        let error = variance.max(0.0).sqrt() * elapsed / self.cycles;
        (error <= ERROR * elapsed).then_some(estimate.min(elapsed))
    }

    /// Nearly all was in windows.
    pub fn is_whole(&self) -> bool {
        self.windows > 0.95 * self.cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program as a list of calls `(begin, length)`, watched: what was seen, the weighted sum, its variance,
    /// and how many calls were timed.
    fn watch(calls: &[(f64, f64)], end: f64, seed: u64) -> (Seen, f64, f64, u64) {
        let mut sampler = Sampler::new(seed, 5000.0);
        let (mut seen, mut weighted, mut now, mut timed) = (Seen::default(), 0.0, 0.0, 0u64);
        let mut spread = 0.0;
        loop {
            let cycle = sampler.next();
            let open = now + cycle.gap;
            let mut close = open + cycle.window;
            let first = calls.partition_point(|c| c.0 < open);
            let mut number = calls.partition_point(|c| c.0 < close) - first;
            if number as u64 > cycle.calls {
                number = cycle.calls as usize;
                close = calls[first + number].0;
            }
            if close > end {
                break;
            }
            let weight = seen.add(close - now, close - open);
            let in_window = &calls[first..first + number];
            weighted += weight * in_window.iter().map(|c| c.1).sum::<f64>();
            let longer = in_window.iter().filter(|c| c.0 + c.1 > close);
            spread += longer.map(|c| variance(c.1, weight)).sum::<f64>();
            timed += number as u64;
            sampler.learn(number as u64, close - open);
            now = close;
        }
        (seen, weighted, spread, timed)
    }

    fn sums(calls: &[(f64, f64)], end: f64, seed: u64) -> (Seen, f64, f64) {
        let (seen, weighted, spread, _) = watch(calls, end, seed);
        (seen, weighted, spread)
    }

    /// The same: the estimate, and how many calls were timed.
    fn watched(calls: &[(f64, f64)], end: f64, seed: u64) -> (f64, u64, Seen) {
        let (seen, weighted, _, timed) = watch(calls, end, seed);
        (seen.estimate(weighted, end).unwrap_or(0.0), timed, seen)
    }

    /// Calls of `length` seconds at `period`, with a phase in which they come `burst` times as often.
    fn program(end: f64, period: f64, length: f64, burst: f64) -> Vec<(f64, f64)> {
        let (mut now, mut calls) = (0.0, Vec::new());
        while now < end {
            let often = if now % 3.0 < 1.0 { burst } else { 1.0 };
            calls.push((now, length / often));
            now += period / often;
        }
        calls
    }

    #[test]
    fn seldom_calls_are_all_seen() {
        // Ten calls a second, each nearly as long as the time between them.
        let calls = program(60.0, 0.1, 0.08, 1.0);
        let (estimate, _, seen) = watched(&calls, 60.0, 3);
        assert!(seen.is_whole());
        assert!((estimate / 48.0 - 1.0).abs() < 0.02, "{estimate}");
    }

    #[test]
    fn estimates_are_unbiased() {
        for (period, length, burst) in
            [(2e-5, 1e-5, 1.0), (2e-4, 1.5e-4, 10.0), (1e-4, 1e-5, 30.0), (2e-5, 1.9e-5, 1.0)]
        {
            let end = 20.0;
            let calls = program(end, period, length, burst);
            let truth: f64 = calls.iter().map(|c| c.1).sum();
            let seeds = 1..=40u64;
            let estimates: Vec<f64> =
                seeds.clone().map(|s| watched(&calls, end, s * 0x9e37_79b9).0 / truth).collect();
            let mean = estimates.iter().sum::<f64>() / 40.0;
            assert!((mean - 1.0).abs() < 0.03, "{period} {length} {burst}: {mean}");
            let worst = estimates.iter().map(|e| (e - 1.0).abs()).fold(0.0, f64::max);
            assert!(worst < 0.35, "{period} {length} {burst}: {worst}");
        }
    }

    #[test]
    fn long_calls_between_short_ones_are_weighed_right() {
        // Rounds of 100 calls of 5 µs and one of 1 ms, every 2 ms: 25 000 calls per second.
        let (mut now, mut calls) = (0.0, Vec::new());
        while now < 30.0 {
            for i in 0..100 {
                calls.push((now + f64::from(i) * 8e-6, 5e-6));
            }
            calls.push((now + 1e-3 - 1e-6, 1e-3));
            now += 2e-3;
        }
        let truth: f64 = calls.iter().map(|c| c.1).sum();
        let estimates: Vec<f64> =
            (1..=40u64).map(|s| watched(&calls, 30.0, s * 77_777).0 / truth).collect();
        let mean = estimates.iter().sum::<f64>() / 40.0;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn the_allowance_is_kept() {
        for period in [1e-7, 1e-6, 1e-5, 1e-4, 1e-3] {
            let calls = program(2.0, period, period / 2.0, 1.0);
            let (_, timed, _) = watched(&calls, 2.0, 11);
            assert!(timed as f64 <= 1.1 * 5000.0 * 2.0, "{period}: {timed}");
            assert!(timed >= 100, "{period}: {timed}");
        }
    }

    #[test]
    fn a_burst_ends_its_window() {
        let mut sampler = Sampler::new(5, 5000.0);
        for _ in 0..10 {
            sampler.next();
            sampler.learn(0, 1.0);
        }
        assert_eq!(sampler.next().gap, 0.0, "nothing is called: always open");
        sampler.learn(2500, 0.0003);
        let cycle = sampler.next();
        assert!(cycle.gap > 0.2 && cycle.window < 0.001, "{cycle:?}");
    }

    /// Bursts of 40 ms of short calls, half of that in calls, each before a wait as long.
    fn bursts_before_waits(end: f64) -> Vec<(f64, f64)> {
        let (mut now, mut calls) = (0.0, Vec::new());
        while now < end - 0.1 {
            calls.extend((0..20_000).map(|i| (now + f64::from(i) * 2e-6, 1e-6)));
            calls.push((now + 0.04 - 1e-6, 0.04));
            now += 0.08;
        }
        calls
    }

    #[test]
    fn a_few_long_calls_do_not_make_a_figure() {
        let end = 10.0;
        let calls = bursts_before_waits(end);
        let truth: f64 = calls.iter().map(|c| c.1).sum();
        let (mut wrong, mut shown) = (0, Vec::new());
        for seed in 1..=400u64 {
            let (seen, weighted, variance) = sums(&calls, end, seed * 0x9e37_79b9);
            let estimate = seen.estimate(weighted, end).unwrap_or(0.0);
            wrong += u32::from(estimate > truth + 0.2 * end);
            shown.extend(seen.figure(weighted, variance, end));
        }
        assert!(wrong > 40, "estimates without the error are as good: {wrong}");
        assert!(shown.len() > 40, "{} figures", shown.len());
        let most = shown.iter().fold(0.0, |a: f64, &b| a.max(b));
        assert!(most <= truth + 0.2 * end, "{most} of {truth}");
    }

    #[test]
    fn a_figure_is_no_longer_than_the_time() {
        let seen = Seen { cycles: 10.0, windows: 1.0 };
        assert_eq!(seen.figure(12.0, 0.0, 10.0), Some(10.0));
        assert_eq!(seen.figure(4.0, 0.16, 10.0), Some(4.0));
        assert_eq!(seen.figure(4.0, 0.36, 10.0), None);
        assert_eq!(variance(3.0, 1.0), 0.0, "a call that is always timed is certain");
    }

    #[test]
    fn too_little_is_no_measurement() {
        let mut seen = Seen::default();
        assert_eq!(seen.estimate(0.0, 1.0), None);
        seen.add(0.25, 0.125);
        assert_eq!(seen.estimate(0.125, 1.0), None);
        assert_eq!(seen.estimate(0.125, 0.25), Some(0.125));
    }
}
