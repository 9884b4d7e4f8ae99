//! The tree of a running job, with one slot for each process.

use super::costs;
use super::tree::Tree;
use crate::base::nouns::counted;
use crate::{Error, ErrorKind, Result};

/// The tree with one slot per process: process k sits on slot k.
///
/// - `node_of_process[k]`: its node, numbered from 0.
/// - `place_of_process[k]`: its path inside the node ([`Machine::path_of`](super::Machine::path_of)).
///   All paths have the same length. The list is empty if nothing is known below the nodes.
/// - `level_costs`: for each level, the distance of two processes that first differ there, the node
///   level first. One more number at the end ([`costs::of_levels`] adds it) is the distance of two
///   processes that share every level; without it, that distance is [`costs::SLOT`].
///
/// Errors: lengths that do not fit together; costs that rise towards the inside or are 0.
pub fn from_launch(
    node_of_process: &[u32],
    place_of_process: &[Vec<u32>],
    level_costs: &[u64],
) -> Result<Tree> {
    let processes = node_of_process.len();
    if !place_of_process.is_empty() && place_of_process.len() != processes {
        return Err(misfit(format!(
            "nodes of {} are given, but places of {}",
            counted(processes, "process"),
            place_of_process.len()
        )));
    }
    let inner = place_of_process.first().map_or(0, Vec::len);
    if let Some(odd) = place_of_process.iter().position(|place| place.len() != inner) {
        return Err(misfit(format!(
            "the place of process {odd} has {}, that of process 0 has {inner}",
            counted(place_of_process[odd].len(), "level")
        )));
    }
    let mut costs = level_costs.to_vec();
    if costs.len() == inner + 1 {
        costs.push(costs::SLOT);
    }
    if costs.len() != inner + 2 {
        return Err(misfit(format!(
            "{} for {} (nodes and {} in them)",
            counted(level_costs.len(), "distance"),
            counted(inner + 1, "level"),
            counted(inner, "level")
        )));
    }
    let paths: Vec<Vec<u32>> = (0..processes)
        .map(|k| {
            let place = place_of_process.get(k).map_or(&[][..], Vec::as_slice);
            [&node_of_process[k..=k], place].concat()
        })
        .collect();
    Tree::from_paths(&paths, &costs).ok_or_else(|| {
        misfit(format!(
            "the distances {level_costs:?} do not decrease from the nodes to the cores, or one of them is 0"
        ))
    })
}

fn misfit(what: String) -> Error {
    Error::new(ErrorKind::Infeasible, what).advise("record the program again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Topology, UNPLACED};

    #[test]
    fn nodes_and_places() {
        let tree = from_launch(
            &[0, 0, 0, 1, 1],
            &[vec![0, 0], vec![0, 1], vec![1, 2], vec![0, 0], vec![UNPLACED, UNPLACED]],
            &[100, 10, 2],
        )
        .unwrap();
        assert_eq!(tree.distance(0, 1), 2);
        assert_eq!(tree.distance(0, 2), 10);
        assert_eq!(tree.distance(0, 3), 100);
        assert_eq!(tree.distance(3, 4), 10);
    }

    #[test]
    fn nodes_only() {
        let tree = from_launch(&[0, 1, 0], &[], &[100]).unwrap();
        assert_eq!((tree.distance(0, 2), tree.distance(0, 1)), (1, 100));
    }

    #[test]
    fn misfits_are_explained() {
        for (nodes, places, costs, what) in [
            (vec![0, 1], vec![vec![0]], vec![9, 2], "2 processes"),
            (vec![0, 1], vec![vec![0], vec![]], vec![9, 2], "process 1"),
            (vec![0, 1], vec![], vec![9, 5, 4, 1], "4 distances"),
            (vec![0, 1], vec![], vec![2, 3], "do not decrease"),
            (vec![0, 1], vec![], vec![0], "do not decrease"),
        ] {
            let error = from_launch(&nodes, &places, &costs).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
