//! Load of the links under static routing.

use crate::matrix::SparseMatrix;
use crate::topology::Network;

/// The load of a link: bytes and number of pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) bytes: u64,
    pub(super) pairs: u64,
}

/// The load of the links if every task sends all its data once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Congestion {
    /// Largest bytes over bandwidth of a link.
    pub mc: f64,
    /// Largest number of pairs of tasks whose messages use a link.
    pub mmc: u64,
    /// Mean bytes over bandwidth of the links in use.
    pub ac: f64,
    /// Mean number of pairs of the links in use.
    pub amc: f64,
}

/// Routes every pair; the loads are in the unit of the matrix. The caller has checked the mapping, and that all
/// bytes fit into 64 bits.
pub(super) fn of_links(
    matrix: &SparseMatrix,
    network: &dyn Network,
    slot_of_task: &[usize],
) -> Congestion {
    let mut bytes = vec![0u64; network.links()];
    let mut pairs = vec![0u64; network.links()];
    for (i, j, traffic) in matrix.entries() {
        network.route(slot_of_task[i as usize], slot_of_task[j as usize], &mut |link| {
            bytes[link] += traffic.bytes;
            pairs[link] += 1;
        });
    }
    let loads = bytes.into_iter().zip(pairs).map(|(bytes, pairs)| Load { bytes, pairs });
    of_loads(network, loads)
}

/// The figures for the loads of all links, in the order of the links' numbers.
pub(super) fn of_loads(network: &dyn Network, loads: impl Iterator<Item = Load>) -> Congestion {
    let mut sums = Congestion { mc: 0.0, mmc: 0, ac: 0.0, amc: 0.0 };
    let mut used = 0u64;
    for (link, Load { bytes, pairs }) in loads.enumerate() {
        if pairs > 0 {
            let load = bytes as f64 / network.bandwidth(link);
            sums.mc = sums.mc.max(load);
            sums.mmc = sums.mmc.max(pairs);
            sums.ac += load;
            sums.amc += pairs as f64;
            used += 1;
        }
    }
    if used > 0 {
        sums.ac /= used as f64;
        sums.amc /= used as f64;
    }
    sums
}
