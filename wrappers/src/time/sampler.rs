//! When the watcher looks, when windows are open, and how what was seen is scaled to the whole run.
//!
//! Time is divided into cycles: a gap of random length, then a moment or a window. A thread that is in a call at
//! the moment stands for the whole cycle in calls. The time of the calls that begin in a window,
//! whenever they end, also stands for the whole cycle, in proportion to the measured lengths of both.
//! The length of a gap does not depend on what happens in it, so that every moment is as likely to be seen as its
//! weight says, whatever rhythm the program has.
//!
//! What timing costs depends on the number of calls and of windows. Windows are so short that the calls in them
//! stay within an allowance per second. Cycles become longer with time: there are a few hundred in the first
//! seconds and a hundred for each further doubling of the time, as the error depends on their number.

/// A cycle is this part of the time since the first one, so that there are as many in every time span as long as
/// all before it. Two numbers each: without and with a window, which costs more.
const PART: (f64, f64) = (1.0 / 1000.0, 1.0 / 400.0);
/// The shortest cycles, and the longest one, in seconds.
const SHORTEST: (f64, f64) = (0.004, 0.01);
const LONGEST: f64 = 0.5;
/// The first and the shortest window, in seconds. The thread does not sleep for a shorter time.
const WINDOW: (f64, f64) = (0.001, 0.00005);
/// Calls that may be timed in any window: opening it costs about as much.
const CALLS: u64 = 64;
/// How much longer a window may be than the one before.
const GROWTH: f64 = 4.0;

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
    /// How many times longer cycles are because processes share processors.
    crowd: f64,
    /// Seconds since the first cycle began.
    elapsed: f64,
    window: f64,
}

impl Sampler {
    /// With `allowance` calls per second, and `crowd` processes for each processor.
    pub fn new(seed: u64, allowance: f64, crowd: f64) -> Sampler {
        Sampler { random: seed | 1, allowance, crowd, elapsed: 0.0, window: WINDOW.0 }
    }

    /// Uniform in 0..1 (xorshift64*).
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The mean length of a cycle.
    fn length(&self, has_window: bool) -> f64 {
        let (part, shortest) = match has_window {
            false => (PART.0, SHORTEST.0),
            true => (PART.1, SHORTEST.1),
        };
        (part * self.elapsed).clamp(shortest, LONGEST) * self.crowd
    }

    fn calls(&self) -> u64 {
        ((self.allowance * self.length(true)) as u64).max(CALLS)
    }

    /// The next cycle, with or without a window.
    pub fn next(&mut self, has_window: bool) -> Cycle {
        let length = self.length(has_window);
        let window = if has_window { self.window.min(length / 2.0) } else { 0.0 };
        let gap = (length - window) * (0.5 + self.uniform());
        Cycle { gap, window, calls: self.calls(), weight: length / window.max(WINDOW.1) }
    }

    /// So many calls began in the last window, which was open for `open` of the `cycle` seconds.
    pub fn learn(&mut self, calls: u64, open: f64, cycle: f64) {
        self.elapsed += cycle;
        if open > 0.0 {
            let rate = calls as f64 / open.max(1e-6);
            // Half of what is allowed: calls are not spread evenly.
            let wanted = if rate > 0.0 { 0.5 * self.calls() as f64 / rate } else { LONGEST };
            self.window = wanted.min(GROWTH * self.window).max(WINDOW.1);
        }
    }
}

/// What was seen.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Seconds of whole cycles.
    cycles: f64,
    /// Seconds in calls that were noted.
    noted: f64,
    /// The part of the last cycle in calls.
    part: Option<f64>,
    /// The variance of the time in calls.
    variance: f64,
}

impl Seen {
    /// A cycle of this `length`: so many threads were in calls at a moment of it, and calls that were timed took so
    /// many weighted seconds.
    ///
    /// Cycles that follow each other differ by what the program did and by chance. Half of the square of the
    /// difference is on average not less than the variance by chance (von Neumann 1941).
    pub fn add(&mut self, length: f64, inside: u32, weighted: f64) {
        let noted = f64::from(inside) * length;
        self.cycles += length;
        self.noted += noted;
        let part = (noted + weighted) / length.max(1e-9);
        if let Some(before) = self.part.replace(part) {
            self.variance += (length * (part - before)).powi(2) / 2.0;
        }
    }

    /// The time in calls of the `elapsed` seconds and its standard error, from the weighted time in those that were
    /// timed, and from the variance of those that outlasted their window. `None` if less than half of the
    /// time was in cycles.
    pub fn estimate(&self, weighted: f64, variance: f64, elapsed: f64) -> Option<(f64, f64)> {
        let scale = elapsed / self.cycles;
        let error = (variance.max(0.0) + self.variance).sqrt();
        (self.cycles > 0.5 * elapsed).then(|| ((weighted + self.noted) * scale, error * scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program as a list of calls `(begin, length)`, watched: what was seen, the weighted sum, its variance,
    /// and how many calls were timed.
    fn watch(calls: &[(f64, f64)], end: f64, seed: u64) -> (Seen, f64, f64, u64) {
        let mut sampler = Sampler::new(seed, 5000.0, 1.0);
        let (mut seen, mut weighted, mut now, mut timed) = (Seen::default(), 0.0, 0.0, 0u64);
        let mut spread = 0.0;
        loop {
            let cycle = sampler.next(true);
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
            let weight = (close - now) / (close - open);
            let in_window = &calls[first..first + number];
            weighted += weight * in_window.iter().map(|c| c.1).sum::<f64>();
            let (longer, shorter): (Vec<&(f64, f64)>, Vec<&(f64, f64)>) =
                in_window.iter().partition(|c| c.0 + c.1 > close);
            seen.add(close - now, 0, weight * shorter.iter().map(|c| c.1).sum::<f64>());
            spread += longer.iter().map(|c| variance(c.1, weight)).sum::<f64>();
            timed += number as u64;
            sampler.learn(number as u64, close - open, close - now);
            now = close;
        }
        (seen, weighted, spread, timed)
    }

    /// The same: the estimate with its error, and how many calls were timed.
    fn watched(calls: &[(f64, f64)], end: f64, seed: u64) -> ((f64, f64), u64) {
        let (seen, weighted, spread, timed) = watch(calls, end, seed);
        (seen.estimate(weighted, spread, end).unwrap(), timed)
    }

    /// The estimates of a program with different random numbers, each as multiples of the truth; in how many of
    /// them the truth is within two standard errors.
    fn estimates(calls: &[(f64, f64)], end: f64) -> (Vec<f64>, usize) {
        let truth: f64 = calls.iter().map(|c| c.1).sum();
        let results: Vec<(f64, f64)> =
            (1..=40u64).map(|s| watched(calls, end, s * 0x9e37_79b9).0).collect();
        let close = results.iter().filter(|(t, error)| (t - truth).abs() <= 2.0 * error).count();
        (results.iter().map(|(t, _)| t / truth).collect(), close)
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

    /// The same program with moments instead of windows.
    fn looked_at(calls: &[(f64, f64)], end: f64, seed: u64) -> (f64, f64) {
        let mut sampler = Sampler::new(seed, 5000.0, 1.0);
        let (mut seen, mut now) = (Seen::default(), 0.0);
        loop {
            let moment = now + sampler.next(false).gap;
            if moment > end {
                return seen.estimate(0.0, 0.0, end).unwrap();
            }
            let last = calls.partition_point(|c| c.0 <= moment);
            let is_inside = last > 0 && moment < calls[last - 1].0 + calls[last - 1].1;
            seen.add(moment - now, is_inside.into(), 0.0);
            sampler.learn(0, 0.0, moment - now);
            now = moment;
        }
    }

    #[test]
    fn moments_see_short_and_long_calls_alike() {
        let end = 10.0;
        for calls in
            [program(end, 0.1, 0.08, 1.0), program(end, 1e-5, 2e-6, 30.0), bursts_before_waits(end)]
        {
            let truth: f64 = calls.iter().map(|c| c.1).sum();
            let results: Vec<(f64, f64)> =
                (1..=40u64).map(|s| looked_at(&calls, end, s * 0x9e37_79b9)).collect();
            let mean = results.iter().map(|r| r.0).sum::<f64>() / 40.0;
            assert!((mean - truth).abs() < 0.01 * end, "{mean} of {truth}");
            let close =
                results.iter().filter(|(t, error)| (t - truth).abs() <= 2.0 * error).count();
            assert!(close >= 36 && results.iter().all(|r| r.1 < 0.02 * end), "{close} of 40");
        }
    }

    #[test]
    fn estimates_are_unbiased_and_know_their_error() {
        for (period, length, burst) in
            [(2e-5, 1e-5, 1.0), (2e-4, 1.5e-4, 10.0), (1e-4, 1e-5, 30.0), (2e-5, 1.9e-5, 1.0)]
        {
            let calls = program(20.0, period, length, burst);
            let (estimates, close) = estimates(&calls, 20.0);
            let mean = estimates.iter().sum::<f64>() / 40.0;
            assert!((mean - 1.0).abs() < 0.03, "{period} {length} {burst}: {mean}");
            let worst = estimates.iter().map(|e| (e - 1.0).abs()).fold(0.0, f64::max);
            assert!(worst < 0.2, "{period} {length} {burst}: {worst}");
            assert!(close >= 36, "{period} {length} {burst}: {close} of 40");
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
        let (estimates, close) = estimates(&calls, 30.0);
        let mean = estimates.iter().sum::<f64>() / 40.0;
        assert!((mean - 1.0).abs() < 0.03 && close >= 34, "{mean}, {close} of 40");
    }

    #[test]
    fn the_allowance_is_kept() {
        for period in [1e-7, 1e-6, 1e-5, 1e-4, 1e-3] {
            let calls = program(20.0, period, period / 2.0, 1.0);
            let (_, timed) = watched(&calls, 20.0, 11);
            assert!(timed as f64 <= 1.1 * 5000.0 * 20.0, "{period}: {timed}");
            assert!(timed >= 1000, "{period}: {timed}");
        }
    }

    #[test]
    fn a_burst_ends_its_window() {
        let mut sampler = Sampler::new(5, 5000.0, 1.0);
        for _ in 0..20 {
            let cycle = sampler.next(true);
            sampler.learn(0, cycle.window, cycle.gap + cycle.window);
        }
        assert_eq!(sampler.next(true).window, 0.005, "nothing is called: half of the time");
        sampler.learn(2500, 0.0003, 0.0003);
        let cycle = sampler.next(true);
        assert!(cycle.gap > 0.004 && cycle.window < 0.001, "{cycle:?}");
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
        let results: Vec<(f64, f64)> =
            (1..=400u64).map(|seed| watched(&calls, end, seed * 0x9e37_79b9).0).collect();
        let wrong = |(t, _): &&(f64, f64)| *t > truth + 0.2 * end;
        assert!(results.iter().filter(wrong).count() > 40, "without the error all is well");
        let shown = results.iter().filter(|(_, error)| *error < 0.05 * end);
        assert_eq!(shown.filter(wrong).count(), 0);
        assert_eq!(variance(3.0, 1.0), 0.0, "a call that is always timed is certain");
    }

    #[test]
    fn too_little_is_no_measurement() {
        let mut seen = Seen::default();
        assert_eq!(seen.estimate(0.0, 0.0, 1.0), None);
        seen.add(0.25, 0, 0.125);
        assert_eq!(seen.estimate(0.125, 0.0, 1.0), None);
        assert_eq!(seen.estimate(0.125, 0.0, 0.25), Some((0.125, 0.0)));
    }
}
