//! When the watcher takes samples, when calls are noted, and how the samples are scaled to the whole run.
//!
//! Time is divided into cycles of random length. At the end of a cycle the watcher takes a sample. A thread
//! that is in a call at that moment counts as if it had been in a call during the whole cycle. The length of a
//! cycle does not depend on what the program does in it. So every moment is sampled with a probability in
//! proportion to its weight, for every rhythm of the program.
//!
//! The watcher often runs later than asked for, by milliseconds, because it waits for a processor. How late it is
//! depends on what the program does: it is often the end of a call of the program that leaves a processor to the
//! watcher. A sample therefore counts with the length that was asked for, not with the time that went by. A delay does
//! not move the samples after it ([`Plan`]). Otherwise the time of the delays, in which the program is mostly in calls,
//! would have no sample, and the figure would be 2 to 7 percentage points too small in programs that wait often.
//!
//! Cycles become longer with time. There are about a thousand of them in the first seconds. Later, each
//! doubling of the elapsed time has about as many cycles as the one before, because the relative error depends
//! on their number.
//!
//! Noting a call takes two nanoseconds. In a program that makes very many calls, calls are noted only during a
//! part of the time, in *phases* at random distances. A call that begins in a phase counts with a weight,
//! whenever it ends: the length of all the time divided by the length of all phases.

use super::seconds;

/// The mean length of a cycle, as a part of the time since the first cycle.
const PART: f64 = 1.0 / 1000.0;
/// The shortest mean length of a cycle, in seconds.
const SHORTEST_CYCLE: f64 = 0.004;
/// The longest mean length of a cycle, in seconds.
const LONGEST_CYCLE: f64 = 0.5;
/// The shortest cycle in a phase, in seconds.
const LEAST: f64 = 0.001;
/// The length of a phase in mean cycles.
const PHASE_IN_CYCLES: f64 = 1.0;
/// The length of the shortest phase, in seconds.
const SHORTEST_PHASE: f64 = 0.02;
/// The number of calls per second that are noted on average. They take two parts in a thousand of the time of a
/// program that does nothing but call MPI.
const MANY: f64 = 1_000_000.0;
/// Seconds over which the rate of calls is averaged.
const MEMORY: f64 = 0.25;
/// The largest weight of a call.
const HEAVIEST: f64 = 64.0;

/// The longest delay, in nanoseconds, after which the watcher takes all samples that it missed. In a launch that was
/// stopped for an hour these would be very many.
const MISSED: u64 = 100_000_000;

/// The moments at which samples are to be taken. They do not depend on when they were taken.
#[derive(Debug)]
pub struct Plan {
    /// When the cycle before the present one was to end, and when it ended.
    before: u64,
    ended: u64,
    /// When the present cycle is to end.
    next: u64,
}

impl Plan {
    /// The first cycle begins at `time`, in nanoseconds.
    pub fn new(time: u64) -> Plan {
        Plan { before: time, ended: time, next: time }
    }

    /// Begins a cycle of so many seconds. Returns when it is to end; this may have passed.
    pub fn next(&mut self, length: f64) -> u64 {
        self.next = self.before + (length * 1e9) as u64;
        self.next
    }

    /// The present cycle ended at `time`. Returns its seconds in the plan, and how many went by.
    pub fn end(&mut self, time: u64) -> (f64, f64) {
        // The part of a very long delay for which there will be no other sample.
        let skipped = time.saturating_sub(self.next).saturating_sub(MISSED);
        let planned = self.next + skipped;
        let lengths = (seconds(self.before, planned), seconds(self.ended, time));
        (self.before, self.ended) = (planned, time);
        lengths
    }
}

/// Decides when a sample is taken, and when calls are noted.
#[derive(Debug)]
pub struct Sampler {
    random: u64,
    /// How many times longer cycles are because processes share processors.
    crowd: f64,
    /// Seconds since the first cycle began.
    elapsed: f64,
    /// Calls per second while calls are noted.
    rate: f64,
    /// Calls are noted at present.
    is_noting: bool,
    /// When `is_noting` changes, in seconds since the first cycle began.
    change: f64,
    /// The weight of a call in a sample.
    weight: f64,
}

impl Sampler {
    /// A sampler for a node with `crowd` processes for each processor.
    pub fn new(seed: u64, crowd: f64) -> Sampler {
        Sampler {
            random: seed | 1,
            crowd,
            elapsed: 0.0,
            rate: 0.0,
            is_noting: true,
            change: 0.0,
            weight: 1.0,
        }
    }

    /// Uniform in 0.5..1.5 (xorshift64*).
    fn about_one(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let bits = self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        0.5 + bits as f64 / (1u64 << 53) as f64
    }

    /// The mean length of a cycle.
    fn mean(&self) -> f64 {
        (PART * self.elapsed).clamp(SHORTEST_CYCLE, LONGEST_CYCLE) * self.crowd
    }

    /// The length of the next cycle, in seconds. The cycles of a phase are so short that all phases together
    /// have as many cycles as there would be without phases.
    pub fn next(&mut self) -> f64 {
        let mean = self.mean();
        let in_phase = (mean / self.weight).max(mean.min(LEAST * self.crowd));
        let length = (if self.is_noting { in_phase } else { mean }) * self.about_one();
        // A cycle must not end after a change of `is_noting`, or the phase would become longer.
        let left = if self.weight > 1.0 { self.change - self.elapsed } else { f64::INFINITY };
        length.min(left.max(LEAST / 10.0))
    }

    /// The weight of a call in the present sample.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Whether calls are to be noted.
    pub fn is_noting(&self) -> bool {
        self.is_noting
    }

    /// To be called at the end of a cycle of this `length`, in which `calls` calls were noted. Returns whether
    /// a group of cycles ends with this cycle.
    pub fn learn(&mut self, calls: u64, length: f64) -> bool {
        let was_noting = self.is_noting;
        self.elapsed += length;
        if self.is_noting {
            let rate = calls as f64 / length.max(1e-6);
            self.rate += (rate - self.rate) * length / (length + MEMORY);
        }
        if self.elapsed >= self.change {
            let weight = (self.rate / MANY).clamp(1.0, HEAVIEST);
            let phase = (PHASE_IN_CYCLES * self.mean()).max(SHORTEST_PHASE);
            let was_always = self.is_noting && self.weight == 1.0;
            self.is_noting = !self.is_noting || weight == 1.0;
            let length = match (self.is_noting, was_always) {
                (true, _) => {
                    self.weight = weight;
                    phase
                }
                // The first pause is shortened by a random part, as if the time began anywhere between two
                // phases.
                (false, true) => (weight - 1.0) * phase * (self.about_one() - 0.5),
                (false, false) => (self.weight - 1.0) * phase * self.about_one(),
            };
            // Changes happen at the ends of cycles, a little late. The delays must not add up.
            let begin = if was_always { self.elapsed } else { self.change };
            self.change = begin + length;
        }
        self.is_noting && (self.weight == 1.0 || !was_noting)
    }
}

/// The sums over the samples.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Seconds that went by.
    covered: f64,
    /// Seconds of all cycles in the plan, and those in calls according to the samples.
    cycles: f64,
    in_calls: f64,
    /// `cycles` and `in_calls` at the end of the last group of cycles, and the part of that group that was in
    /// calls.
    group: (f64, f64),
    part: Option<f64>,
    variance: f64,
}

impl Seen {
    /// Adds a cycle that was to be `planned` seconds long and took `length` seconds. At its end, `inside` threads were
    /// in calls that each count with this `weight`.
    pub fn add(&mut self, planned: f64, length: f64, inside: u32, weight: f64) {
        self.covered += length;
        self.cycles += planned;
        self.in_calls += f64::from(inside) * weight * planned;
    }

    /// Ends a group of cycles. A group is one cycle, or a phase and the time up to the next phase.
    ///
    /// Consecutive groups differ because the program did different things, and by chance. Half of the square of
    /// the difference is on average not less than the variance by chance (von Neumann 1941).
    pub fn end_group(&mut self) {
        let length = self.cycles - self.group.0;
        let part = (self.in_calls - self.group.1) / length.max(1e-9);
        self.group = (self.cycles, self.in_calls);
        if let Some(before) = self.part.replace(part) {
            self.variance += (length * (part - before)).powi(2) / 2.0;
        }
    }

    /// The time in calls of the `elapsed` seconds and its standard error. `None` if less than half of the time was in
    /// cycles.
    pub fn estimate(&self, elapsed: f64) -> Option<(f64, f64)> {
        let scale = elapsed / self.cycles;
        (self.covered > 0.5 * elapsed)
            .then(|| (self.in_calls * scale, self.variance.sqrt() * scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program as a list of calls `(begin, length)`, watched: the estimate with its error, and how many calls were
    /// noted.
    fn watch(calls: &[(f64, f64)], end: f64, seed: u64) -> ((f64, f64), u64) {
        watch_late(calls, end, seed, |moment| moment)
    }

    /// The same with a watcher that runs at the time `late(moment)` instead of at the moment of the plan.
    fn watch_late(
        calls: &[(f64, f64)],
        end: f64,
        seed: u64,
        late: impl Fn(f64) -> f64,
    ) -> ((f64, f64), u64) {
        let mut sampler = Sampler::new(seed, 1.0);
        let mut plan = Plan::new(0);
        let (mut seen, mut now, mut noted) = (Seen::default(), 0.0, 0u64);
        // The calls that began while calls were noted, and the last of them that did not end yet.
        let (mut is_noting, mut current) = (true, None::<(f64, f64)>);
        loop {
            let asked = sampler.next();
            let moment = late(plan.next(asked) as f64 / 1e9).max(now);
            if moment > end {
                return (seen.estimate(end).unwrap(), noted);
            }
            let range =
                calls.partition_point(|c| c.0 <= now)..calls.partition_point(|c| c.0 <= moment);
            let count = if is_noting { range.len() as u64 } else { 0 };
            if let Some(&last) = calls[range].last().filter(|_| is_noting) {
                current = Some(last);
            }
            let is_inside = current.is_some_and(|c| moment < c.0 + c.1);
            let (planned, length) = plan.end((moment * 1e9) as u64);
            seen.add(planned, length, is_inside.into(), sampler.weight());
            noted += count;
            if sampler.learn(count, length) {
                seen.end_group();
            }
            is_noting = sampler.is_noting();
            now = moment;
        }
    }

    /// Calls of `length` seconds at `period`, with a phase in which they come `burst` times as often.
    fn program(end: f64, period: f64, length: f64, burst: f64) -> Vec<(f64, f64)> {
        // Calls that begin with the first cycle are noted as well.
        let (mut now, mut calls) = (1e-9, Vec::new());
        while now < end {
            let often = if now % 3.0 < 1.0 { burst } else { 1.0 };
            calls.push((now, length / often));
            now += period / often;
        }
        calls
    }

    /// Bursts of 20 ms of short calls, half of that in calls, each before a wait as long.
    fn bursts_before_waits(end: f64, period: f64) -> Vec<(f64, f64)> {
        // Calls that begin with the first cycle are noted as well.
        let (mut now, mut calls) = (1e-9, Vec::new());
        while now < end - 0.1 {
            let count = (0.02 / period) as i32;
            calls.extend((0..count).map(|i| (now + f64::from(i) * period, period / 2.0)));
            calls.push((now + 0.02 - 1e-9, 0.02));
            now += 0.05;
        }
        calls
    }

    #[test]
    fn estimates_are_unbiased_and_know_their_error() {
        let end = 4.0;
        let programs = [
            program(end, 0.1, 0.08, 1.0),
            program(end, 2e-5, 1e-5, 1.0),
            program(end, 1e-4, 1e-5, 30.0),
            program(end, 2e-5, 1.9e-5, 1.0),
            bursts_before_waits(end, 1e-6),
            bursts_before_waits(end, 6e-8),
            program(end, 1.2e-7, 6e-8, 1.0),
        ];
        for (number, calls) in programs.iter().enumerate() {
            let truth: f64 = calls.iter().map(|c| c.1).sum();
            let results: Vec<(f64, f64)> =
                (1..=40u64).map(|s| watch(calls, end, s * 0x9e37_79b9).0).collect();
            let mean = results.iter().map(|r| r.0).sum::<f64>() / 40.0;
            let most = if number < 5 { 0.015 } else { 0.03 } * end;
            assert!((mean - truth).abs() < most, "{number}: {mean} of {truth}");
            let close = results.iter().filter(|(t, e)| (t - truth).abs() <= 2.0 * e).count();
            assert!(close >= if number < 5 { 32 } else { 26 }, "{number}: {close} of 40");
            let most = results.iter().map(|r| r.1).fold(0.0, f64::max);
            assert!(most < if number < 5 { 0.03 } else { 0.15 } * end, "{number}: {most}");
        }
    }

    /// Waits of 20 ms keep the processor from the watcher in their first 10 ms.
    #[test]
    fn delays_do_not_move_later_samples() {
        let calls = program(4.0, 0.06, 0.02, 1.0);
        let late = |moment: f64| {
            let begin = calls[calls.partition_point(|c| c.0 <= moment).saturating_sub(1)].0;
            moment.max(begin + 0.01)
        };
        let results = (1..=20u64).map(|s| watch_late(&calls, 4.0, s * 0x9e37_79b9, late).0.0);
        let mean = results.sum::<f64>() / 20.0;
        let truth: f64 = calls.iter().map(|c| c.1).sum();
        assert!((mean - truth).abs() < 0.015 * 4.0, "{mean} of {truth}");
    }

    #[test]
    fn a_very_long_delay_is_one_sample() {
        let mut plan = Plan::new(1000);
        assert_eq!(plan.next(1.0), 1_000_001_000);
        assert_eq!(plan.end(11_000_001_000), (10.9, 11.0));
        assert_eq!(plan.next(0.05), 10_950_001_000);
        assert_eq!(plan.end(11_000_001_000), (0.05, 0.0));
    }

    #[test]
    fn not_too_many_calls_are_noted() {
        let calls = program(3.0, 1e-7, 5e-8, 1.0);
        let (_, noted) = watch(&calls, 3.0, 11);
        assert!(noted < 8_000_000, "{noted} of {}", calls.len());
    }

    #[test]
    fn less_than_half_of_the_time_gives_no_estimate() {
        let mut seen = Seen::default();
        assert_eq!(seen.estimate(1.0), None);
        seen.add(0.25, 0.25, 1, 2.0);
        seen.end_group();
        assert_eq!(seen.estimate(1.0), None);
        assert_eq!(seen.estimate(0.25), Some((0.5, 0.0)));
    }

    /// Of two cycles of the same length, one is late because the program kept the processor until it left MPI.
    #[test]
    fn a_late_sample_counts_no_more_than_others() {
        let mut seen = Seen::default();
        seen.add(0.25, 0.25, 1, 1.0);
        seen.add(0.25, 0.75, 0, 1.0);
        assert_eq!(seen.estimate(1.0).map(|e| e.0), Some(0.5));
    }
}
