//! The history of a record: the times of earlier launches, from which follows whether reordering helped.
//!
//! Times can be compared only between launches that did the same work on the same kind of places. Every entry
//! therefore has a hash of each. The hash of the work is that of the arguments of the program and of the MPI
//! library. The hash of the places contains which processes share a node, and the names of the nodes without
//! their numbers. So another allocation of the same cluster counts as the same places, and another cluster does
//! not.
//!
//! The list is bounded: the newest [`KEPT`] launches with the same order (the launcher's or another one), work
//! and places, and at most [`LONGEST`] in all.

use crate::base::sorting::Arrange;
use serde::{Deserialize, Serialize};

/// The number of launches in the history with the same order, the same work and the same kind of places.
pub const KEPT: usize = 8;
/// The number of launches in the history in all.
pub const LONGEST: usize = 64;

/// The time that the processes of a launch spent in MPI: in calls that move data or wait for other processes,
/// without file operations. The times of the threads of a process are added up, to at most the time of the
/// process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct InMpi {
    /// Seconds, mean over the processes.
    pub mean_seconds: f64,
    /// The largest time of a process.
    pub max_seconds: f64,
    /// The number of calls that were timed, in all processes together.
    pub calls: u64,
    /// Standard error of the mean, in seconds; 0 if every call was timed. Not stored.
    #[serde(skip)]
    pub error_seconds: f64,
}

impl InMpi {
    /// The mean as a part of a time, in percent, at most 100. `None` if the time is 0.
    pub fn percent_of(&self, seconds: f64) -> Option<f64> {
        (seconds > 0.0).then(|| (100.0 * self.mean_seconds / seconds).min(100.0))
    }

    /// The same figures, each at most the time of the job.
    pub fn within(self, seconds: f64) -> InMpi {
        InMpi {
            mean_seconds: self.mean_seconds.min(seconds),
            max_seconds: self.max_seconds.min(seconds),
            ..self
        }
    }

    /// These figures if they are possible times, and `None` otherwise.
    pub(super) fn sound(self) -> Option<InMpi> {
        let sound = |s: f64| s.is_finite() && s >= 0.0;
        (sound(self.mean_seconds) && sound(self.max_seconds)).then_some(self)
    }
}

/// How one launch went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// Random number of the launch.
    pub id: u64,
    /// When it ended, seconds since 1970-01-01 UTC.
    pub ended_at: u64,
    /// Ranks were in another order than the launcher's.
    pub reordered: bool,
    /// Hash of the work, see [`work_of`].
    pub work: u32,
    /// Hash of the places, see [`places_of`].
    pub places: u32,
    /// Seconds between MPI_Init and MPI_Finalize on rank 0.
    pub wall_seconds: f64,
    /// Bytes sent between tasks on different nodes.
    pub internode_bytes: u64,
    /// Bytes sent in all.
    pub total_bytes: u64,
    /// Hop-bytes predicted for the launcher's order and for the order that was used; both 0 without a
    /// prediction.
    pub predicted: (u128, u128),
    /// Time in MPI; `None` if it was not measured.
    #[serde(skip)]
    pub in_mpi: Option<InMpi>,
}

impl Past {
    /// Whether the time is possible.
    fn is_sound(&self) -> bool {
        self.wall_seconds.is_finite() && self.wall_seconds >= 0.0
    }

    /// Whether two launches have the same kind of order, the same work and the same places.
    fn is_like(&self, other: &Past) -> bool {
        (self.reordered, self.work, self.places) == (other.reordered, other.work, other.places)
    }
}

/// Puts two histories of one record together: each launch once, the oldest first, no more than the
/// bounds allow. Entries that cannot be right are dropped.
pub fn joined(a: &[Past], b: &[Past]) -> Vec<Past> {
    let mut all: Vec<Past> = a.iter().chain(b).filter(|past| past.is_sound()).cloned().collect();
    all.arrange_by_key(|past| (past.ended_at, past.id));
    all.dedup_by_key(|past| (past.ended_at, past.id));
    // From the newest on.
    let mut kept: Vec<Past> = Vec::new();
    for past in all.into_iter().rev() {
        let alike = kept.iter().filter(|k| k.is_like(&past)).count();
        if alike < KEPT && kept.len() < LONGEST {
            kept.push(past);
        }
    }
    kept.reverse();
    kept
}

/// Hash of the work of a launch: the arguments of the program (without its own name) and the MPI library.
pub fn work_of(command: &[String], mpi: &str) -> u32 {
    let arguments = command.iter().skip(1).map(String::as_bytes);
    hash(arguments.chain([mpi.as_bytes()]))
}

/// Hash of where the processes of a launch ran: the node of each, and the nodes' names without digits.
/// 0 when that is not known.
pub fn places_of(node_of_process: &[u32], node_names: &[String]) -> u32 {
    if node_of_process.is_empty() {
        return 0;
    }
    let nodes: Vec<u8> = node_of_process.iter().flat_map(|node| node.to_le_bytes()).collect();
    let mut stems: Vec<String> = node_names
        .iter()
        .map(|name| name.chars().filter(|c| !c.is_ascii_digit()).collect())
        .collect();
    stems.sort_unstable();
    stems.dedup();
    hash(std::iter::once(nodes.as_slice()).chain(stems.iter().map(String::as_bytes))).max(1)
}

/// CRC-32 over the parts, each closed by its length.
fn hash<'a>(parts: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
        hasher.update(&(part.len() as u64).to_le_bytes());
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn past(id: u64, reordered: bool) -> Past {
        Past { id, ended_at: id, reordered, wall_seconds: 1.0, ..Past::default() }
    }

    #[test]
    fn the_entries_of_two_launches_are_both_kept() {
        let before: Vec<Past> = (0..3).map(|id| past(id, id > 1)).collect();
        let a = joined(&before, &[past(10, true)]);
        let b = joined(&before, &[past(11, false)]);
        let both = joined(&a, &b);
        assert_eq!(both.iter().map(|p| p.id).collect::<Vec<_>>(), [0, 1, 2, 10, 11]);
    }

    #[test]
    fn the_newest_of_each_arrangement_are_kept() {
        // One in the launcher's order, then many reordered: the one stays.
        let many: Vec<Past> = (0..100).map(|id| past(id, id > 0)).collect();
        let kept = joined(&[], &many);
        assert_eq!(kept.len(), KEPT + 1);
        assert_eq!((kept[0].id, kept[1].id, kept[KEPT].id), (0, 100 - KEPT as u64, 99));
        let mut spoilt = past(5, true);
        spoilt.wall_seconds = f64::NAN;
        assert_eq!(joined(&[spoilt], &[past(6, true)]).len(), 1);
    }

    #[test]
    fn work_and_places() {
        let of = |line: &str| {
            work_of(&line.split(' ').map(str::to_string).collect::<Vec<_>>(), "Open MPI")
        };
        assert_eq!(of("./app in"), of("/opt/app in"));
        assert_ne!(of("./app in"), of("./app out"));
        assert_ne!(of("./app a b"), of("./app ab"));
        let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let at = |nodes: &[u32], list: &[&str]| places_of(nodes, &names(list));
        assert_eq!(at(&[0, 0, 1, 1], &["n01", "n02"]), at(&[0, 0, 1, 1], &["n17", "n33"]));
        assert_ne!(at(&[0, 0, 1, 1], &["n01", "n02"]), at(&[0, 1, 0, 1], &["n01", "n02"]));
        assert_ne!(at(&[0, 0, 1, 1], &["n01", "n02"]), at(&[0, 0, 1, 1], &["fat1", "fat2"]));
        assert_eq!(at(&[], &[]), 0);
    }

    proptest! {
        #[test]
        fn bounds_hold(seen in prop::collection::vec((0u64..50, any::<bool>(), 0u32..9), 0..200)) {
            let all: Vec<Past> = seen
                .iter()
                .map(|&(id, reordered, work)| Past { work, ..past(id, reordered) })
                .collect();
            let (a, b) = all.split_at(all.len() / 2);
            let kept = joined(a, b);
            prop_assert!(kept.len() <= LONGEST);
            prop_assert!(kept.windows(2).all(|w| (w[0].ended_at, w[0].id) < (w[1].ended_at, w[1].id)));
            prop_assert_eq!(joined(&kept, &kept), kept.clone());
            prop_assert!(kept.iter().all(|p| kept.iter().filter(|k| k.is_like(p)).count() <= KEPT));
        }
    }
}
