//! The machine where the user gave one: the slots of the processes in it, and their nodes.

use rw::base::error::ErrorKind;
use rw::options::Settings;
use rw::topology::Topology;

/// The slot of each process in a topology the user gave.
pub fn given_slots(
    settings: &Settings,
    tasks: usize,
    topology: &dyn Topology,
) -> rw::Result<Vec<usize>> {
    let slots: Vec<usize> = match &settings.slots {
        Some(list) => list.read()?.into_iter().map(|s| s as usize).collect(),
        None => (0..tasks).collect(),
    };
    let problem = |what: String, advice: &str| {
        Err(rw::Error::new(ErrorKind::Infeasible, what)
            .at(topology.name())
            .advise(advice.to_string()))
    };
    if slots.len() < tasks {
        return problem(
            format!("{} slots are listed for {tasks} processes", slots.len()),
            "list one slot per process (RANKWEAVE_SLOTS)",
        );
    }
    let slots = slots[..tasks].to_vec();
    if let Some(&slot) = slots.iter().find(|&&s| s >= topology.slots()) {
        return problem(
            format!("the topology has {} slots, but a process sits on {slot}", topology.slots()),
            "a larger topology (RANKWEAVE_TOPOLOGY), or none to have it discovered",
        );
    }
    Ok(slots)
}

/// The node of each process in a given topology: in a tree the groups above the slots, elsewhere
/// every slot is a node.
pub fn nodes_of(topology: &dyn Topology, slots: &[usize]) -> Vec<u32> {
    let mut number = std::collections::BTreeMap::new();
    slots
        .iter()
        .map(|&slot| {
            let group = match topology.as_tree() {
                Some(tree) if tree.levels() >= 2 => tree.groups(tree.levels() - 2)[slot] as usize,
                _ => slot,
            };
            let next = number.len() as u32;
            *number.entry(group).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rw::topology;

    #[test]
    fn nodes_of_a_given_tree_are_the_groups_above_its_slots() {
        let tree = topology::parse("tree:2:2").unwrap();
        assert_eq!(nodes_of(tree.as_ref(), &[3, 0, 1, 2]), [0, 1, 1, 0]);
        let torus = topology::parse("torus:4").unwrap();
        assert_eq!(nodes_of(torus.as_ref(), &[2, 2, 1]), [0, 0, 1]);
    }
}
