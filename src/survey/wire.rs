//! What a survey asks of the hosts: rounds of disjoint pairs that send each other messages.
//!
//! A [`Wire`] carries out the rounds: with MPI in a job, or in a model of a network ([`super::Simulated`]). A
//! wire never waits without a bound. A pair whose time is not known within this bound has no answer.

use serde::{Deserialize, Serialize};

/// What the two hosts of a pair do in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Probe {
    /// A small message there and back, several times. The answer is the shortest time of a round trip.
    Ping {
        /// How many times.
        repeats: u32,
    },
    /// Both hosts send each other a message at the same time. The answer is the time until both have arrived.
    Exchange {
        /// Bytes in each direction.
        bytes: u64,
    },
}

/// Pairs of hosts that all begin at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// What every pair does.
    pub probe: Probe,
    /// The pairs. A host is in at most one of them.
    pub pairs: Vec<(u32, u32)>,
    /// Seconds that the survey waits for it. A wire may wait for less.
    pub patience: f64,
}

/// The hosts, and a way to let them send each other messages.
pub trait Wire {
    /// Number of hosts.
    fn hosts(&self) -> usize;

    /// Carries out a round. Returns the seconds of each pair; `None` for a pair without an answer in time.
    fn run(&mut self, round: &Round) -> Vec<Option<f64>>;

    /// Whether it is known of a host that it gave no sign of life in some round, so that pairs with it have no answer
    /// because of it. A wire that cannot tell says no.
    fn is_silent(&self, _host: u32) -> bool {
        false
    }

    /// Seconds since the survey began.
    fn elapsed(&self) -> f64;
}

/// Hosts that never answer: the template of a wire.
#[derive(Debug, Clone, Copy)]
pub struct Silent(
    /// Number of hosts.
    pub usize,
);

impl Wire for Silent {
    fn hosts(&self) -> usize {
        self.0
    }

    fn run(&mut self, round: &Round) -> Vec<Option<f64>> {
        vec![None; round.pairs.len()]
    }

    fn elapsed(&self) -> f64 {
        0.0
    }
}
