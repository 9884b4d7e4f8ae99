//! Rounds of one survey: counts what they cost, ends them at the limits, and leaves out hosts that do not answer.

use super::presence::Presence;
use super::wire::{Probe, Round, Wire};
use crate::base::random::SplitMix64;
use serde::{Deserialize, Serialize};

/// Round trips of a ping. The shortest one counts.
const REPEATS: u32 = 5;

/// Up to this many hosts all pairs are measured, if that many are needed.
pub(super) const ALL_PAIRS: usize = 24;
/// Seconds of a survey of so few hosts. All processes of the job wait meanwhile.
const OF_FEW: f64 = 1.75;
/// Seconds of a survey at most.
const MOST: f64 = 8.0;
/// The least time that a round gets, however late it is.
const LEAST_PATIENCE: f64 = 0.1;

/// What a survey may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Seconds after which no further round begins. A round that has begun has the rest of them, and at least a tenth
    /// of a second.
    pub seconds: f64,
    /// Bytes that a host may send.
    pub bytes_per_host: u64,
    /// Bytes of one exchange, in each direction.
    pub bytes_per_exchange: u64,
}

impl Limits {
    /// The usual limits for so many hosts.
    pub fn for_hosts(hosts: usize) -> Limits {
        let seconds = match hosts <= ALL_PAIRS {
            true => OF_FEW,
            false => (4.0 + 0.015 * hosts as f64).min(MOST),
        };
        Limits { seconds, bytes_per_host: 256 << 20, bytes_per_exchange: 4 << 20 }
    }
}

/// What a survey did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Rounds.
    pub rounds: u32,
    /// Pairs of all rounds.
    pub pings: u64,
    /// The largest number of bytes that a host sent.
    pub bytes_per_host: u64,
    /// Seconds from the beginning to the end.
    pub seconds: f64,
    /// The smaller of two shares, from measurements that had no part in finding the groups: pairs of one group
    /// that were near, and pairs of different groups that were far. 0 if nothing was found.
    pub agreement: f64,
}

/// A limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitReached;

/// The seconds of a pair of hosts.
pub(super) type Measured = (u32, u32, f64);

pub(super) struct Session<'w> {
    wire: &'w mut dyn Wire,
    pub limits: Limits,
    pub random: SplitMix64,
    pub evidence: Evidence,
    bytes: Vec<u64>,
    presence: Presence,
}

impl<'w> Session<'w> {
    pub fn new(wire: &'w mut dyn Wire, limits: Limits, seed: u64) -> Session<'w> {
        let hosts = wire.hosts();
        Session {
            wire,
            limits,
            random: SplitMix64::new(seed),
            evidence: Evidence::default(),
            bytes: vec![0; hosts],
            presence: Presence::new(hosts),
        }
    }

    /// Whether this share of the time is over.
    pub fn is_past(&self, share: f64) -> bool {
        self.wire.elapsed() > share * self.limits.seconds
    }

    /// Gives the survey `factor` times more seconds, for links that are so much slower than usual ones.
    pub fn allow_more(&mut self, factor: f64) {
        let most = MOST.max(self.limits.seconds);
        self.limits.seconds = (self.limits.seconds * factor.max(1.0)).min(most);
    }

    /// Hosts that answer.
    pub fn present(&self) -> Vec<u32> {
        self.presence.all(true)
    }

    /// Hosts that do not.
    pub fn absent(&self) -> Vec<u32> {
        self.presence.all(false)
    }

    /// The round-trip times of disjoint pairs. Pairs without an answer are left out.
    pub fn ping(&mut self, pairs: &[(u32, u32)]) -> Result<Vec<Measured>, LimitReached> {
        self.run(Probe::Ping { repeats: REPEATS }, pairs)
    }

    /// The times of exchanges of `bytes` between disjoint pairs. Pairs without an answer are left out.
    pub fn exchange(
        &mut self,
        pairs: &[(u32, u32)],
        bytes: u64,
    ) -> Result<Vec<Measured>, LimitReached> {
        let bytes = bytes.min(self.limits.bytes_per_exchange);
        self.run(Probe::Exchange { bytes }, pairs)
    }

    fn run(&mut self, probe: Probe, pairs: &[(u32, u32)]) -> Result<Vec<Measured>, LimitReached> {
        let there = |host: u32| self.presence.is_present(host);
        let pairs: Vec<(u32, u32)> =
            pairs.iter().copied().filter(|&(a, b)| there(a) && there(b)).collect();
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let cost = match probe {
            Probe::Ping { repeats } => 8 * u64::from(repeats),
            Probe::Exchange { bytes } => bytes,
        };
        let most = self.bytes.iter().max().copied().unwrap_or(0);
        let left = self.limits.seconds - self.wire.elapsed();
        if left < 0.0 || most + cost > self.limits.bytes_per_host {
            return Err(LimitReached);
        }
        let round = Round { probe, pairs, patience: left.max(LEAST_PATIENCE) };
        let answers = self.wire.run(&round);
        self.evidence.rounds += 1;
        self.evidence.pings += round.pairs.len() as u64;
        let mut measured = Vec::with_capacity(round.pairs.len());
        for (k, &(a, b)) in round.pairs.iter().enumerate() {
            let answer = answers.get(k).copied().flatten().filter(|&t| t.is_finite() && t > 0.0);
            self.bytes[a as usize] += cost;
            self.bytes[b as usize] += cost;
            match answer {
                Some(_) => self.presence.answered((a, b)),
                None => {
                    let silent = [a, b].map(|host| self.wire.is_silent(host));
                    self.presence.missed((a, b), silent);
                }
            }
            measured.extend(answer.map(|seconds| (a, b, seconds)));
        }
        Ok(measured)
    }

    /// What was done until now.
    pub fn told(&self) -> Evidence {
        let bytes_per_host = self.bytes.iter().max().copied().unwrap_or(0);
        Evidence { bytes_per_host, seconds: self.wire.elapsed(), ..self.evidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::Silent;
    use crate::survey::presence::MISSES_OF_ANY_KIND;

    #[test]
    fn hosts_that_do_not_answer_are_left_out() {
        let mut wire = Silent(4);
        let mut session = Session::new(&mut wire, Limits::for_hosts(4), 1);
        for _ in 0..MISSES_OF_ANY_KIND {
            assert_eq!(session.present().len(), 4);
            assert_eq!(session.ping(&[(0, 1)]), Ok(vec![]));
        }
        assert_eq!((session.present(), session.absent()), (vec![2, 3], vec![0, 1]));
        session.ping(&[(0, 1)]).unwrap();
        assert_eq!(session.told().rounds as usize, MISSES_OF_ANY_KIND);
    }

    #[test]
    fn limits_end_the_rounds() {
        let mut wire = Silent(2);
        let limits = Limits { bytes_per_host: 100, ..Limits::for_hosts(2) };
        let mut session = Session::new(&mut wire, limits, 1);
        assert_eq!(session.exchange(&[(0, 1)], 60), Ok(vec![]));
        assert_eq!(session.exchange(&[(0, 1)], 60), Err(LimitReached));
        let limits = Limits { seconds: -1.0, ..limits };
        let mut session = Session::new(&mut wire, limits, 1);
        assert_eq!(session.ping(&[(0, 1)]), Err(LimitReached));
        assert_eq!(session.told().bytes_per_host, 0);
    }
}
