//! Topologies of one machine, or of several equal ones: hwloc's XML and hwloc's synthetic descriptions.
//!
//! Distances are those of [`costs`], as for a discovered machine.

use super::{MAX_SLOTS, bounded, in_line, read_text, usage};
use crate::Result;
use crate::topology::{
    CpuSet, Device, Machine, Rail, Rails, Topology, Tree, WithRails, costs, from_launch,
};
use std::collections::HashSet;

pub(super) fn hwloc_pus(path: &str) -> Result<Box<dyn Topology>> {
    let machine = read(path)?;
    let positions = (0..machine.pus().len()).collect();
    tree(&machine, positions, format!("hwloc:{path}"))
}

/// One slot for each core, in the place of the first PU of the core.
pub(super) fn hwloc_cores(path: &str) -> Result<Box<dyn Topology>> {
    let machine = read(path)?;
    let positions = cores(&machine);
    tree(&machine, positions, format!("hwloc-cores:{path}"))
}

/// The position of the first PU of each core in [`Machine::pus`].
fn cores(machine: &Machine) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..machine.pus().len()).collect();
    if let Some(core) = machine.level_names().iter().position(|name| name == "core") {
        let mut seen = HashSet::new();
        positions.retain(|&k| seen.insert(machine.groups(core)[k]));
    }
    positions
}

/// `16:node.xml`: equal nodes on one switch, with one slot for each core, and with the rails of the machine.
pub(super) fn nodes(text: &str) -> Result<Box<dyn Topology>> {
    let (count, path) = text.split_once(':').unwrap_or(("", text));
    let count = count.trim().parse().ok().filter(|&count: &usize| count > 0);
    let count = count.ok_or_else(|| usage("the number of nodes is no whole number from 1"))?;
    let machine = read(path.trim())?;
    let positions = cores(&machine);
    let slots = bounded(&[count, positions.len()])
        .ok_or_else(|| usage(format!("{count} nodes have no slot, or more than {MAX_SLOTS}")))?;
    let place = |&k: &usize| [machine.pus()[k]].into_iter().collect::<CpuSet>();
    let places: Vec<CpuSet> = positions.iter().map(place).collect();
    let path_of: Vec<Vec<u32>> = places.iter().map(|place| machine.path_of(place)).collect();
    let of_node: Vec<u32> = (0..slots).map(|slot| (slot / positions.len()) as u32).collect();
    let paths: Vec<Vec<u32>> = path_of.iter().cycle().take(slots).cloned().collect();
    let mut levels = vec!["node".to_string()];
    levels.extend_from_slice(machine.level_names());
    let names = (0..slots).map(|slot| {
        format!(
            "node {} pu {}",
            slot / positions.len(),
            machine.pus()[positions[slot % positions.len()]]
        )
    });
    let tree = from_launch(&of_node, &paths, &costs::of_levels(&levels))?
        .with_label(format!("nodes:{}", text.trim()))
        .with_slot_names(names.collect());
    Ok(WithRails::on(Box::new(tree), rails(&machine, &places, count)?))
}

/// The rails of equal nodes; `None` if the machine has none.
fn rails(machine: &Machine, places: &[CpuSet], nodes: usize) -> Result<Option<Rails>> {
    let of_machine = machine.rails();
    if of_machine.is_empty() {
        return Ok(None);
    }
    let attached = machine.attachments(places);
    let all = (0..nodes as u32).flat_map(|node| {
        let rail = move |rail: &&Device| Rail {
            node,
            node_name: format!("node{node}"),
            name: rail.name.clone(),
        };
        of_machine.iter().map(rail)
    });
    let of_slot = (0..nodes).flat_map(|node| {
        let first = node * of_machine.len();
        attached.iter().map(move |attachment| attachment.rail.map(|rail| first + rail))
    });
    Rails::new(all.collect(), of_slot.collect(), costs::NODE).map(Some)
}

fn read(path: &str) -> Result<Machine> {
    Machine::from_hwloc_xml(&read_text(path)?).map_err(|e| e.at(path))
}

/// The tree over the PUs at the given positions of [`Machine::pus`].
fn tree(machine: &Machine, positions: Vec<usize>, label: String) -> Result<Box<dyn Topology>> {
    let levels = machine.level_names();
    let paths: Vec<Vec<u32>> = positions
        .iter()
        .map(|&k| (0..levels.len()).map(|l| machine.groups(l)[k]).collect())
        .collect();
    let names = positions.iter().map(|&k| format!("pu {}", machine.pus()[k])).collect();
    let tree = Tree::from_paths(&paths, &costs::of_levels(levels))
        .ok_or_else(|| usage("the levels of the machine do not form a tree"))?;
    Ok(Box::new(tree.with_node_level(None).with_label(label).with_slot_names(names)))
}

/// `pack:2 [numa] l3:1 core:8 pu:2` as `lstopo --input` takes it; attributes in parentheses and
/// attached memory in brackets do not matter here. The last level gives the slots.
pub(super) fn hwloc_synthetic(text: &str) -> Result<Box<dyn Topology>> {
    let plain = text.trim().trim_matches(['"', '\'']);
    let plain = without(&without(plain, '(', ')')?, '[', ']')?;
    let mut arity = Vec::new();
    let mut names = Vec::new();
    for (k, word) in plain.split_whitespace().enumerate() {
        let (kind, count) = match word.split_once(':') {
            Some((kind, count)) => (kind.to_ascii_lowercase(), count),
            // A level without a type is taken for a group; hwloc guesses its type.
            None => (String::from("group"), word),
        };
        let count = count.parse().ok().filter(|&count: &usize| count > 0).ok_or_else(|| {
            in_line(1, format!("'{word}' (level {k}) has no whole number from 1"))
        })?;
        let name = match kind.as_str() {
            k if k.starts_with("mach") || k.starts_with("sys") => "node",
            k if k.starts_with("pack") || k.starts_with("sock") => "package",
            k if k.starts_with("die") => "die",
            k if k.starts_with("group") => "group",
            k if k.starts_with("numa") || k.starts_with("node") => "numa",
            k if k.starts_with("l3") || k.starts_with("l4") || k.starts_with("l5") => "l3",
            k if k.starts_with("l2") => "l2",
            k if k.starts_with("l1") || k.starts_with("core") => "core",
            "pu" | "proc" | "thread" => "slot",
            _ => return Err(usage(format!("'{kind}' is not an object type of hwloc"))),
        };
        arity.push(count);
        names.push(name);
    }
    if bounded(&arity).is_none() {
        return Err(usage(format!("'{plain}' has no level, or more than {MAX_SLOTS} slots")));
    }
    // Levels that do not branch have no distance. If no level branches, the first one stays.
    let kept: Vec<usize> = (0..arity.len()).filter(|&k| arity[k] > 1).collect();
    let kept = if kept.is_empty() { vec![0] } else { kept };
    let mut cost: Vec<u64> = kept.iter().map(|&k| costs::of_level(names[k])).collect();
    for k in (0..cost.len().saturating_sub(1)).rev() {
        cost[k] = cost[k].max(cost[k + 1]);
    }
    let arity: Vec<usize> = kept.iter().map(|&k| arity[k]).collect();
    let node_level = (names[kept[0]] == "node").then_some(0);
    let tree = Tree::regular(&arity, &cost).ok_or_else(|| usage("not a tree"))?;
    Ok(Box::new(tree.with_node_level(node_level).with_label(format!("hwloc-synthetic:{plain}"))))
}

/// The text without its parts between `open` and `close`.
fn without(text: &str, open: char, close: char) -> Result<String> {
    let mut kept = String::new();
    let mut depth = 0usize;
    for c in text.chars() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth
                .checked_sub(1)
                .ok_or_else(|| usage(format!("'{close}' without '{open}' in '{text}'")))?;
        } else if depth == 0 {
            kept.push(c);
        }
    }
    match depth {
        0 => Ok(kept),
        _ => Err(usage(format!("'{open}' without '{close}' in '{text}'"))),
    }
}

#[cfg(test)]
mod tests {
    use crate::topology::parse;

    fn fixture(kind: &str, file: &str) -> String {
        format!("{kind}:{}/tests/machines/{file}", env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn synthetic_and_xml_agree() {
        let text = "hwloc-synthetic:\"pack:2 l3:2 [numa(memory=1GB)] core:8 pu:2\"";
        let synthetic = parse(text).unwrap();
        let xml = parse(&fixture("hwloc", "2package-4numa-32core-64pu.xml")).unwrap();
        assert_eq!((synthetic.slots(), xml.slots()), (64, 64));
        for (a, b, d) in [(0, 1, 1), (0, 2, 2), (0, 32, 10)] {
            assert_eq!((synthetic.distance(a, b), xml.distance(a, b)), (d, d));
        }
        // The XML calls the level by its NUMA domains, the text by its caches.
        assert_eq!((synthetic.distance(0, 16), xml.distance(0, 16)), (4, 6));
        assert_eq!(xml.slot_name(63), Some("pu 63"));
    }

    #[test]
    fn one_slot_per_core() {
        let cores = parse(&fixture("hwloc-cores", "uneven-11core-22pu.xml")).unwrap();
        assert_eq!(cores.slots(), 11);
        assert_eq!(cores.slot_name(1), Some("pu 2"));
        assert_eq!(cores.node_of(10), 0);
    }

    #[test]
    fn nodes_have_the_rails_of_the_machine() {
        let file = fixture("", "omni-path-2.xml");
        let nodes = parse(&format!("nodes:3{file}")).unwrap();
        assert_eq!(nodes.slots(), 24);
        assert_eq!([1, 4, 8].map(|b| nodes.distance(0, b)), [2, 10, 100]);
        assert_eq!((nodes.node_of(23), nodes.slot_name(8).unwrap()), (2, "node 1 pu 0"));
        let rails = nodes.rails().unwrap();
        assert_eq!([0, 3, 4, 7, 8, 15].map(|slot| rails.of(slot).unwrap()), [0, 0, 1, 1, 2, 3]);
        assert!(rails.have_choice());
        let plain = parse(&format!("nodes:2{}", fixture("", "hwloc3-2package-8core.xml")));
        assert!(plain.unwrap().rails().is_none());
    }

    #[test]
    fn plain_numbers_and_one_slot() {
        assert_eq!(parse("hwloc-synthetic:2 4 8").unwrap().slots(), 64);
        assert_eq!(parse("hwloc-synthetic:pack:1 core:1 pu:1").unwrap().slots(), 1);
    }

    #[test]
    fn wrong_descriptions_are_named() {
        for (spec, what) in [
            ("hwloc-synthetic:", "no level"),
            ("hwloc-synthetic:pack:0", "pack:0"),
            ("hwloc-synthetic:rack:2", "'rack'"),
            ("hwloc-synthetic:pack:2(memory=1", "'(' without"),
            ("nodes:machine.xml", "number of nodes"),
            ("nodes:0:machine.xml", "number of nodes"),
        ] {
            let error = parse(spec).err().unwrap().to_string();
            assert!(error.contains(what), "{spec}: {error}");
        }
    }
}
