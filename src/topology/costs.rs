//! Distances of the levels of a discovered machine: the one place where they are chosen.
//!
//! Only the ratios of distances matter to a mapping. The main steps follow the 1 : 10 : 100 for core, package
//! and node that process mapping tools use as their default (KaHIP and VieM). The levels between them are
//! ordered by the path of a cache line. Cores below one L3 exchange lines inside the L3. Cores of one NUMA
//! domain exchange them through the on-die network, domains of one package through its memory controllers, and
//! packages over the link between them. The network is an order of magnitude above all of these, because its
//! bandwidth is shared by every process of the node and each message passes two adapters. Two processes on one
//! core (hyperthreads) are the closest.

/// Distance of two processes on the same core, or of two whose known places are the same.
pub const SLOT: u64 = 1;

/// Distance of two processes on different nodes below one switch, or when switches are unknown.
pub const NODE: u64 = 100;

/// Distance of two processes that are in different groups of `level`, and in the same group of every level
/// outside it.
///
/// Known levels are `node`, `package`, `die`, `group`, `numa`, `l3`, `l2`, `core`; any other one is
/// taken for a part of a package.
pub fn of_level(level: &str) -> u64 {
    match level {
        "node" => NODE,
        "package" => 10,
        "die" => 8,
        "numa" => 6,
        "l3" => 4,
        "l2" => 3,
        "core" => 2,
        "slot" => SLOT,
        _ => 7,
    }
}

/// Distances for all of `level_names`, outermost first, with that of the slots themselves added at
/// the end: one number more than names.
///
/// Distances never rise towards the inside. Some machines nest levels in an unusual order (an L3 cache
/// around several NUMA domains); there the outer level gets at least the distance of the inner one.
pub fn of_levels(level_names: &[String]) -> Vec<u64> {
    let mut costs: Vec<u64> = level_names.iter().map(|name| of_level(name)).collect();
    costs.push(SLOT);
    for level in (0..level_names.len()).rev() {
        costs[level] = costs[level].max(costs[level + 1]);
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fall_from_the_network_to_the_core() {
        let names = ["node", "package", "die", "group", "numa", "l3", "l2", "core"];
        let costs = of_levels(&names.map(String::from));
        assert!(costs.windows(2).all(|w| w[0] > w[1]), "{costs:?}");
        assert!(costs[0] >= 10 * costs[1]);
        assert_eq!(costs.last(), Some(&SLOT));
    }

    #[test]
    fn never_rise_towards_the_inside() {
        let costs = of_levels(&["package", "l3", "numa", "core"].map(String::from));
        assert_eq!(costs, [10, 6, 6, 2, 1]);
        assert_eq!(of_levels(&[]), [SLOT]);
    }
}
