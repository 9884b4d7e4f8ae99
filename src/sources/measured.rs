//! What earlier launches measured, from the store.

use super::HostNetwork;
use super::source::{Answer, Source, Surroundings};
use crate::base::clock::since_1970;
use crate::base::error::Result;
use crate::store::MeasuredNetwork;
use crate::topology::{Topology, Tree, costs};
use std::sync::Arc;

/// The measurements in the store.
pub struct Measured;

impl Source for Measured {
    fn name(&self) -> &'static str {
        "measured"
    }

    fn needs(&self) -> &'static str {
        "measure the network once: rankweave topo --measure -- LAUNCHER …"
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        let nothing = |why: &str| Ok(Answer::Nothing(why.into()));
        let Some(store) = surroundings.store else { return nothing("there is no store") };
        let names: Vec<String> = surroundings.hosts.iter().map(|host| host.name.clone()).collect();
        let Some(network) = store.measured_network(&names, since_1970().as_secs())? else {
            return nothing("the network between these nodes was not measured");
        };
        if network.is_flat() && !network.is_certain {
            return nothing(
                "the last measurement did not come to its end; it is repeated once ten minutes have passed",
            );
        }
        let Some(tree) = tree(&network, names) else {
            return nothing("the measured groups of nodes are no tree");
        };
        let topology: Arc<dyn Topology> = Arc::new(tree);
        let host_of_node = (0..surroundings.hosts.len()).map(Some).collect();
        Ok(Answer::Network(HostNetwork {
            topology,
            host_of_node,
            origin: "measured".into(),
            remark: String::new(),
        }))
    }
}

/// The tree of the hosts with these names. A flat network has one switch.
fn tree(network: &MeasuredNetwork, names: Vec<String>) -> Option<Tree> {
    let mut distances = distances(network);
    distances.push(costs::NODE);
    let tree = Tree::from_paths(&network.group_of_host, &distances)?;
    (tree.slots() == names.len()).then(|| tree.with_slot_names(names))
}

/// The distance across each level of switches: with each level it grows by that of two nodes, or as much as the
/// bandwidth for each node shrinks, whichever is more.
fn distances(network: &MeasuredNetwork) -> Vec<u64> {
    let levels = network.level_names.len();
    let mut distances: Vec<u64> = Vec::with_capacity(levels);
    for level in (0..levels).rev() {
        let mut sizes = std::collections::HashMap::<u32, usize>::new();
        network.group_of_host.iter().for_each(|path| *sizes.entry(path[level]).or_default() += 1);
        let mut sizes: Vec<usize> = sizes.into_values().collect();
        sizes.sort_unstable();
        let size = sizes.get(sizes.len() / 2).copied().unwrap_or(1) as f64;
        let taper = match (network.bandwidths.get(level), network.bandwidths.last()) {
            (Some(uplink), Some(host)) => (size * host / uplink).clamp(1.0, 100.0),
            _ => 1.0,
        };
        let below = distances.last().copied().unwrap_or(costs::NODE);
        distances.push((below + costs::NODE).max((taper * costs::NODE as f64) as u64));
    }
    distances.reverse();
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::{Host, SiteFiles};
    use crate::store::Store;

    /// A survey on a busy machine reached its limit and counted as one switch for a day.
    #[test]
    fn a_measurement_without_an_end_says_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path());
        let names = ["a", "b", "c", "d"].map(String::from);
        let hosts = names.clone().map(|name| Host::named(&name));
        let said = |is_certain| {
            let network = MeasuredNetwork {
                group_of_host: vec![vec![]; 4],
                measured_at: since_1970().as_secs(),
                is_certain,
                ..MeasuredNetwork::default()
            };
            store.keep_measured_network(&names, &network).unwrap();
            let surroundings = Surroundings {
                hosts: &hosts,
                variable: &|_| None,
                root: std::path::Path::new("/"),
                site: &SiteFiles::default(),
                store: Some(&store),
            };
            Measured.find(&surroundings).unwrap()
        };
        let unfinished = said(false);
        assert!(matches!(&unfinished, Answer::Nothing(why) if why.contains("its end")));
        assert!(matches!(said(true), Answer::Network(_)));
    }

    #[test]
    fn distances_grow_with_the_taper() {
        let network = MeasuredNetwork {
            level_names: vec!["level2".into(), "leaf".into()],
            group_of_host: vec![vec![0, 0], vec![0, 0], vec![0, 1], vec![1, 2]],
            bandwidths: vec![10.0, 4.0, 8.0],
            ..MeasuredNetwork::default()
        };
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        let found = tree(&network, names.clone()).unwrap();
        assert_eq!([1, 2, 3].map(|host| found.distance(0, host)), [100, 200, 300]);
        let flat = MeasuredNetwork { group_of_host: vec![vec![]; 4], ..MeasuredNetwork::default() };
        assert_eq!(tree(&flat, names).unwrap().distance(0, 3), 100);
    }
}
