//! The machine as the user describes it: the slots of the processes, and their nodes.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::{are, counted};
use crate::base::numbering::by_first_appearance;
use crate::options::Settings;
use crate::sources::{self, Host, HostNetwork};
use crate::store::Placement;
use crate::topology::{self, Topology};
use std::sync::Arc;

/// A topology that the user gave, with the places of the processes in it.
pub struct UserTopology {
    /// The topology.
    pub topology: Box<dyn Topology>,
    /// The slot of each process.
    pub slots: Vec<usize>,
    /// The node of each process, numbered by first appearance.
    pub nodes: Vec<u32>,
}

impl UserTopology {
    /// The topology of the settings for so many processes; `None` if they give none.
    ///
    /// Errors: a specification that cannot be read, a list of slots that cannot be read, is too short or
    /// names slots that the topology does not have.
    pub fn read(settings: &Settings, processes: usize) -> Option<Result<UserTopology>> {
        let specification = settings.topology.as_ref()?;
        Some(topology::parse(specification).and_then(|topology| {
            let slots = slots_in(settings, processes, topology.as_ref())?;
            let nodes = nodes_of(topology.as_ref(), &slots);
            Ok(UserTopology { topology, slots, nodes })
        }))
    }

    /// The network that the settings give, if its slots have the names of the nodes. `None` if they give none, if
    /// they list the slots of the processes, or if a node is not among its hosts. Of a fabric in several parts, half of
    /// the nodes are enough: the others are in parts that no link connects.
    ///
    /// Errors: a specification that cannot be read, or whose hosts have no names.
    pub fn by_host_name(
        settings: &Settings,
        placement: Option<&Placement>,
    ) -> Option<Result<HostNetwork>> {
        let specification = settings.topology.as_ref()?;
        let placement = placement.filter(|_| settings.slots.is_none())?;
        let hosts = Host::all_of(placement);
        let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
        let topology: Arc<dyn Topology> = match topology::parse_for(specification, &names) {
            Ok(topology) => topology.into(),
            Err(error) => return Some(Err(error)),
        };
        topology.slot_name(0)?;
        if topology.nameless() {
            return Some(Err(sources::nameless(specification)));
        }
        let network = HostNetwork::by_name(topology, &hosts, specification.clone());
        let in_parts = network.topology.left_out().is_some() && 2 * network.known() >= hosts.len();
        let is_found = network.known() == hosts.len() || in_parts;
        (is_found && !hosts.is_empty()).then_some(Ok(network))
    }

    /// The names that records give to the nodes.
    pub fn node_names(nodes: &[u32]) -> Vec<String> {
        let count = nodes.iter().max().map_or(0, |&most| most as usize + 1);
        (0..count).map(|node| format!("node{node}")).collect()
    }
}

/// The slot of each process.
fn slots_in(settings: &Settings, processes: usize, topology: &dyn Topology) -> Result<Vec<usize>> {
    let slots: Vec<usize> = match &settings.slots {
        Some(list) => list.read()?.into_iter().map(|slot| slot as usize).collect(),
        None => (0..processes).collect(),
    };
    let problem = |what: String, advice: &str| {
        Err(Error::new(ErrorKind::Infeasible, what).at(topology.name()).advise(advice.to_string()))
    };
    if slots.len() < processes {
        return problem(
            format!(
                "{} {} listed for {}",
                counted(slots.len(), "slot"),
                are(slots.len()),
                counted(processes, "process")
            ),
            "list one slot for each process (--slots or RANKWEAVE_SLOTS)",
        );
    }
    let slots = slots[..processes].to_vec();
    if let Some(&slot) = slots.iter().find(|&&slot| slot >= topology.slots()) {
        return problem(
            format!(
                "the topology has {}, but a process is on slot {slot}",
                counted(topology.slots(), "slot")
            ),
            "give a larger topology (--topology or RANKWEAVE_TOPOLOGY), or neither, so that it is discovered",
        );
    }
    Ok(slots)
}

/// The node of each slot: in a tree the group above it, elsewhere every slot is a node.
fn nodes_of(topology: &dyn Topology, slots: &[usize]) -> Vec<u32> {
    let group = |&slot: &usize| match topology.as_tree() {
        Some(tree) if tree.levels() >= 2 => tree.groups(tree.levels() - 2)[slot] as usize,
        _ => slot,
    };
    by_first_appearance(slots.iter().map(group)).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Slots;

    fn read(specification: &str, slots: Option<&[u32]>, processes: usize) -> Result<UserTopology> {
        let settings = Settings {
            topology: Some(specification.into()),
            slots: slots.map(|slots| Slots::List(slots.to_vec())),
            ..Settings::default()
        };
        UserTopology::read(&settings, processes).unwrap()
    }

    #[test]
    fn nodes_of_a_tree_are_the_groups_above_its_slots() {
        let tree = read("tree:2:2", Some(&[3, 0, 1, 2]), 4).unwrap();
        assert_eq!(tree.nodes, [0, 1, 1, 0]);
        assert_eq!(UserTopology::node_names(&tree.nodes), ["node0", "node1"]);
        let torus = read("torus:4", Some(&[2, 2, 1]), 3).unwrap();
        assert_eq!(torus.nodes, [0, 0, 1]);
    }

    #[test]
    fn without_a_list_processes_sit_on_the_slots_of_their_numbers() {
        assert_eq!(read("tree:2:2", None, 3).unwrap().slots, [0, 1, 2]);
        assert!(UserTopology::read(&Settings::default(), 3).is_none());
    }

    #[test]
    fn nodes_in_a_part_of_the_fabric_that_is_not_used_are_not_described() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cables.txt");
        std::fs::write(&path, "s n0\ns n1\nt n2\ns t\nmgmt n9\nmgmt pdu\n").unwrap();
        let settings = Settings {
            topology: Some(format!("cabling:{}", path.display())),
            ..Settings::default()
        };
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            let nodes = (0..names.len() as u32).collect();
            UserTopology::by_host_name(&settings, Some(&Placement::of_nodes(nodes, names)))
        };
        let found = of(&["n0", "n1", "n2", "n9"]).unwrap().unwrap();
        assert_eq!((found.known(), found.host_of_node[3]), (3, None));
        assert!(of(&["n0", "x", "y"]).is_none());
        assert_eq!(of(&["n9", "pdu"]).unwrap().unwrap().known(), 2);
        let ib = "Switch 8 \"S-1\"\n[1] \"H-1\"[1] # \"MT4129\"\n";
        std::fs::write(&path, ib).unwrap();
        let settings =
            Settings { topology: Some(format!("ib:{}", path.display())), ..Settings::default() };
        let places = Placement::of_nodes(vec![0], vec!["n0".into()]);
        let error = UserTopology::by_host_name(&settings, Some(&places)).unwrap().err().unwrap();
        assert!(error.to_string().contains("no host is named"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for (specification, slots, what) in [
            ("no such thing", None, ""),
            ("tree:2:2", Some(&[0, 1][..]), "2 slots are listed for 4 processes"),
            ("tree:2:2", Some(&[0, 1, 2, 4]), "a process is on slot 4"),
            ("tree:2", None, "has 2 slots"),
        ] {
            let error = read(specification, slots, 4).err().unwrap().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
