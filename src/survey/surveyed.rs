//! The result of a survey.

use super::session::Evidence;
use crate::base::nouns::counted;
use crate::base::quantity::{bytes, seconds};

/// The network that a survey found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surveyed {
    /// For each level of switches, the outermost first: the group of each host. Each level is inside the one
    /// before. Empty if the network is flat, or if nothing can be said.
    pub levels: Vec<Vec<u32>>,
    /// Bytes per second of the link above a group of each level, outermost first, and of the link of a host
    /// at the end. Empty if nothing was measured.
    pub bandwidths: Vec<f64>,
    /// Seconds of a round trip between hosts that first differ in each level, outermost first, and between
    /// hosts of one innermost group at the end. Empty if nothing was measured.
    pub latencies: Vec<f64>,
    /// Hosts that did not answer. In `levels` each of them is in a group of its own.
    pub absent: Vec<u32>,
    /// What was done.
    pub evidence: Evidence,
    /// Whether the survey came to its end, with all hosts. If not, it says nothing for later launches.
    pub is_certain: bool,
    /// Why there are these levels or none: a sentence without a full stop.
    pub reason: String,
}

impl Surveyed {
    /// Whether no switches were found.
    pub fn is_flat(&self) -> bool {
        self.levels.is_empty()
    }

    /// What was found and what it cost, in one line.
    pub fn words(&self) -> String {
        let Evidence { rounds, pings, bytes_per_host, seconds: time, .. } = self.evidence;
        let absent = match self.absent.len() {
            0 => String::new(),
            n => format!("; {} did not answer", counted(n, "node")),
        };
        format!(
            "{}{absent} ({}, {}, at most {} per node, {})",
            self.reason,
            counted(rounds, "round"),
            counted(pings, "pair"),
            bytes(bytes_per_host),
            seconds(time)
        )
    }
}

/// Number of groups in a list of groups that are numbered from 0.
pub(super) fn count(groups: &[u32]) -> usize {
    groups.iter().max().map_or(0, |&most| most as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_did_not_answer_are_counted() {
        let surveyed = |absent: &[u32]| Surveyed { absent: absent.to_vec(), ..Surveyed::default() };
        assert!(surveyed(&[3]).words().contains("; 1 node did not answer ("));
        assert!(surveyed(&[3, 4]).words().contains("; 2 nodes did not answer ("));
        assert!(surveyed(&[]).words().contains("at most 0 B per node, "));
    }
}
