//! Which hosts answer, from pairs that gave no answer.
//!
//! A pair without an answer does not say which of its hosts is silent. A miss counts against a host if the other one
//! gave an answer later, to any host: it was there. So a host is not left out because its partners were silent. Two
//! hosts that both gave no answer since are both in doubt, and neither is left out because of the other.
//!
//! A wire that knows that a host did not even report counts this against that host alone.

/// A host with so many misses that count against it takes part in no further round.
pub(super) const MISSES: usize = 3;
/// The same for misses in a row of any kind: nothing more can be learned from this host.
pub(super) const MISSES_OF_ANY_KIND: usize = 8;

/// What is known of one host.
#[derive(Debug, Clone, Default)]
struct Host {
    /// The number of its last answer, counted over all hosts; 0 if there was none.
    last_answer: u64,
    /// Its partners without an answer since then.
    missed: Vec<u32>,
    /// It did not report.
    is_silent: bool,
}

/// Hosts that answer, and hosts that do not.
#[derive(Debug)]
pub(super) struct Presence {
    hosts: Vec<Host>,
    answers: u64,
}

impl Presence {
    /// All hosts are taken for present.
    pub fn new(hosts: usize) -> Presence {
        Presence { hosts: vec![Host::default(); hosts], answers: 0 }
    }

    /// Notes that both hosts of a pair answered.
    pub fn answered(&mut self, (a, b): (u32, u32)) {
        self.answers += 1;
        for host in [a, b] {
            let host = &mut self.hosts[host as usize];
            host.last_answer = self.answers;
            host.missed.clear();
        }
    }

    /// Notes that a pair gave no answer. `silent` says of each of the two whether it is known to be the reason.
    pub fn missed(&mut self, (a, b): (u32, u32), silent: [bool; 2]) {
        self.hosts[a as usize].is_silent |= silent[0];
        self.hosts[b as usize].is_silent |= silent[1];
        if silent == [false; 2] {
            self.hosts[a as usize].missed.push(b);
            self.hosts[b as usize].missed.push(a);
        }
    }

    /// Whether a host still takes part.
    pub fn is_present(&self, host: u32) -> bool {
        let Host { last_answer, missed, is_silent } = &self.hosts[host as usize];
        let was_there = |&&other: &&u32| self.hosts[other as usize].last_answer > *last_answer;
        let against = missed.iter().filter(was_there).count();
        !is_silent && against < MISSES && missed.len() < MISSES_OF_ANY_KIND
    }

    /// The hosts that take part, or those that do not.
    pub fn all(&self, present: bool) -> Vec<u32> {
        (0..self.hosts.len() as u32).filter(|&host| self.is_present(host) == present).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_of_silent_hosts_stay() {
        let mut presence = Presence::new(6);
        // Hosts 1 to 3 are silent. Host 0 meets all of them before it answers once, and then 4 and 5 meet them.
        for silent in 1..4 {
            presence.missed((0, silent), [false; 2]);
            presence.answered((4, 5));
        }
        assert_eq!(presence.all(false), [0u32; 0]);
        for host in [4, 5] {
            (1..4).for_each(|silent| presence.missed((silent, host), [false; 2]));
        }
        assert_eq!(
            presence.all(false),
            [0u32; 0],
            "each silent host has two misses with hosts that were there"
        );
        presence.answered((0, 4));
        assert_eq!(presence.all(false), [1, 2, 3]);
        assert_eq!(presence.all(true), [0, 4, 5]);
    }

    #[test]
    fn hosts_that_fall_silent_are_found() {
        let mut presence = Presence::new(4);
        presence.answered((0, 1));
        presence.answered((2, 3));
        for other in 1..4 {
            presence.missed((0, other), [false; 2]);
            presence.answered((1 + other % 3, 1 + (other + 1) % 3));
        }
        assert_eq!(presence.all(false), [0]);
    }

    #[test]
    fn known_silence_counts_at_once_and_for_one_host_only() {
        let mut presence = Presence::new(3);
        for _ in 0..2 * MISSES_OF_ANY_KIND {
            presence.missed((0, 1), [false, true]);
        }
        assert_eq!(presence.all(false), [1]);
    }

    #[test]
    fn hosts_that_never_answer_are_given_up() {
        let mut presence = Presence::new(2);
        for _ in 0..MISSES_OF_ANY_KIND {
            assert_eq!(presence.all(false), [0u32; 0]);
            presence.missed((0, 1), [false; 2]);
        }
        assert_eq!(presence.all(false), [0, 1]);
    }
}
