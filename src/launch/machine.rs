//! The machine of a launch: the topology with the slot and the node of each process.
//!
//! It is the topology that the user gives; or else the nodes that were discovered, on the network that a
//! [source](crate::sources) knows, with the machine inside each node.

use super::{AskedSources, UserTopology};
use crate::base::error::{Error, ErrorKind, Result};
use crate::options::Settings;
use crate::sources::{Choice, HostNetwork};
use crate::store::{Placement, Signature};
use crate::topology::{self, Processes, Rails, Topology, WithRails};

/// Networks with more nodes of the launch than this have a signature of some of their distances only.
const ALL_PAIRS: usize = 512;

/// The machine of a launch, as the mapping problem needs it.
pub struct LaunchMachine {
    /// The topology.
    pub topology: Box<dyn Topology>,
    /// The slot of each process.
    pub slots: Vec<usize>,
    /// The node of each process.
    pub nodes: Vec<u32>,
    /// What is known of the network above the nodes; `None` if the user gives the whole topology, or if there are
    /// too few nodes to ask.
    pub choice: Option<Choice>,
    /// Signature of the distances between the nodes: 0 if all are equally far from each other.
    pub network_signature: u64,
    /// The nodes are hosts of the topology that the user gave.
    pub by_host_name: bool,
}

impl LaunchMachine {
    /// The machine of so many processes, with the network that the sources `said` to know.
    ///
    /// Errors: the topology of the machine is not known, or the given description is not a valid topology.
    pub fn of(
        settings: &Settings,
        placement: Option<&Placement>,
        said: AskedSources,
        processes: usize,
    ) -> Result<LaunchMachine> {
        if let Some(given) = UserTopology::by_host_name(settings, placement) {
            let network = given?;
            let mut machine = LaunchMachine::on(placement, Some(&network))?;
            machine.by_host_name = true;
            return Ok(machine);
        }
        if let Some(given) = UserTopology::read(settings, processes) {
            let UserTopology { topology, slots, nodes } = given?;
            return Ok(LaunchMachine {
                topology,
                slots,
                nodes,
                choice: None,
                network_signature: 0,
                by_host_name: false,
            });
        }
        let choice = placement.and_then(|placement| said.choice(settings, placement));
        let network = choice.as_ref().and_then(|choice| choice.network.as_ref());
        let machine = LaunchMachine::on(placement, network)?;
        Ok(LaunchMachine { choice, ..machine })
    }

    /// The error of a launch whose processes could not find out where they run.
    pub(super) fn unknown_places() -> Error {
        Error::new(ErrorKind::Infeasible, "the places of the processes could not be found")
            .advise("describe the machine with --topology")
    }

    /// The machine of processes with these places, on a network if one is known.
    fn on(placement: Option<&Placement>, network: Option<&HostNetwork>) -> Result<LaunchMachine> {
        let placement = placement.ok_or_else(LaunchMachine::unknown_places)?;
        let processes = Processes {
            node_of_process: &placement.node_of_process,
            place_of_process: &placement.place_of_process,
            level_costs: &placement.level_costs,
        };
        let network = network.filter(|network| network.separates());
        let topology = match network {
            Some(HostNetwork { topology, host_of_node, .. }) => {
                topology::on_network(topology, host_of_node, processes)?
            }
            None => Box::new(topology::from_launch(
                processes.node_of_process,
                processes.place_of_process,
                processes.level_costs,
            )?),
        };
        // Rails matter only where the processes of a node have different ones.
        let rails = placement.rails().filter(Rails::have_choice);
        let topology = WithRails::on(topology, rails);
        Ok(LaunchMachine {
            network_signature: network.map_or(0, |_| signature(topology.as_ref(), placement)),
            topology,
            slots: (0..placement.node_of_process.len()).collect(),
            nodes: placement.node_of_process.clone(),
            choice: None,
            by_host_name: false,
        })
    }
}

/// Signature of the distances between the nodes. The names of the nodes are not part of it, so that another
/// allocation of the same shape has the same signature.
fn signature(topology: &dyn Topology, placement: &Placement) -> u64 {
    let nodes = placement.node_names.len();
    let mut first = vec![usize::MAX; nodes];
    for (process, &node) in placement.node_of_process.iter().enumerate() {
        first[node as usize] = first[node as usize].min(process);
    }
    let first: Vec<usize> = first.into_iter().filter(|&process| process != usize::MAX).collect();
    let row = |(k, &a): (usize, &usize)| {
        let step = if nodes <= ALL_PAIRS { 1 } else { 1 + (nodes / ALL_PAIRS) };
        let others = first[k + 1..].iter().step_by(step);
        others.map(|&b| topology.distance(a, b)).collect::<Vec<u64>>()
    };
    let rows = first.iter().enumerate().map(row);
    rows.fold(Signature::new(), |signature, row| signature.words(row)).value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn placement(addresses: &[&str]) -> Placement {
        let names = (0..addresses.len()).map(|node| format!("n{node}")).collect();
        let nodes = (0..2 * addresses.len() as u32).map(|process| process / 2).collect();
        Placement {
            level_costs: vec![100, 1],
            level_names: vec!["node".into()],
            place_of_process: vec![Vec::new(); 2 * addresses.len()],
            node_addresses: addresses.iter().map(|text| text.to_string()).collect(),
            ..Placement::of_nodes(nodes, names)
        }
    }

    fn machine(settings: &Settings, placement: &Placement) -> LaunchMachine {
        let processes = placement.node_of_process.len();
        let sources = AskedSources::not_yet(settings, None);
        LaunchMachine::of(settings, Some(placement), sources, processes).unwrap()
    }

    fn without_site() -> Settings {
        Settings { site: Some(PathBuf::new()), ..Settings::default() }
    }

    #[test]
    fn addresses_of_the_scheduler_are_levels_above_the_nodes() {
        let places = placement(&["r.a.n0", "r.b.n1", "r.a.n2", "r.b.n3"]);
        let found = machine(&without_site(), &places);
        assert_eq!([1, 2, 4].map(|b| found.topology.distance(0, b)), [1, 200, 100]);
        let sentence = found.choice.unwrap().sentence();
        assert_eq!(sentence, "network: Slurm (SLURM_TOPOLOGY_ADDR): 4 nodes below 2 switches");
        let off = Settings { network: crate::options::NetworkChoice::Off, ..without_site() };
        let flat = machine(&off, &places);
        assert_eq!((flat.topology.distance(0, 2), flat.network_signature), (100, 0));
    }

    #[test]
    fn allocations_of_the_same_shape_have_the_same_signature() {
        let of =
            |addresses: &[&str]| machine(&without_site(), &placement(addresses)).network_signature;
        let one = of(&["r.a.n0", "r.b.n1", "r.a.n2", "r.b.n3"]);
        assert_eq!(one, of(&["r.x.n0", "r.y.n1", "r.x.n2", "r.y.n3"]));
        assert_ne!(one, of(&["r.a.n0", "r.a.n1", "r.b.n2", "r.b.n3"]));
        assert_eq!(of(&["r.a.n0", "r.a.n1", "r.a.n2", "r.a.n3"]), 0, "one switch");
    }

    #[test]
    fn two_nodes_have_no_network() {
        assert!(machine(&without_site(), &placement(&["r.a.n0", "r.b.n1"])).choice.is_none());
    }

    #[test]
    fn a_given_topology_with_names_of_hosts_is_used_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("topology.conf");
        fs::write(&file, "SwitchName=a Nodes=n0,n3\nSwitchName=b Nodes=n1,n2\n").unwrap();
        let specification = format!("slurm:{}", file.display());
        let settings = Settings { topology: Some(specification), ..without_site() };
        let found = machine(&settings, &placement(&["", "", "", ""]));
        assert_eq!([1, 2, 6].map(|b| found.topology.distance(0, b)), [1, 200, 100]);
        assert!(found.by_host_name);
        let listed = Some(crate::options::Slots::List(vec![0, 0, 1, 1, 2, 2, 3, 3]));
        let listed =
            machine(&Settings { slots: listed, ..settings }, &placement(&["", "", "", ""]));
        assert!(!listed.by_host_name);
    }
}
