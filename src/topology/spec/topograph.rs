//! What NVIDIA's topograph writes: the topology files of Slurm, its `graph` output, and its models of clusters.
//!
//! | content | how it is read |
//! |---|---|
//! | `topology.conf` with `SwitchName=` or `BlockName=` lines | as `slurm:` reads it |
//! | a list of topologies, or one of them with `tree:`, `block:` … | as `topology.yaml` of Slurm |
//! | `instances:` with `network_layers` (the leaf switch first) | a tree of these layers |
//! | `switches:`, `nodes:`, `capacity_blocks:` or `blocks:` (a model) | a tree of the switches |
//!
//! The nodes of an accelerated domain (a capacity block, `nvlink`) are the level below their leaf switch. Where a
//! domain spans leaf switches, its parts below different leaf switches count as separate groups.
//!
//! Source: `docs/modeling.md`, `docs/engines/graph.md`, `docs/engines/slurm.md` and `tests/models` of topograph.

use super::hostlist::HostLists;
use super::slurm_layout::{Block, Layout, Switch};
use super::yaml::{hosts, is_absent, load, text};
use super::{bad, in_file, read_text, slurm, slurm_yaml};
use crate::Result;
use crate::topology::Topology;
use std::collections::{BTreeMap, HashMap, HashSet};
use yaml_rust2::Yaml;

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path, &[])
}

/// The topology of a text; `known` are the nodes of a flat network.
pub(super) fn of_text(content: &str, path: &str, known: &[String]) -> Result<Box<dyn Topology>> {
    parse(content)
        .and_then(|layout| layout.build(format!("topograph:{path}"), known))
        .map_err(|e| in_file(e, path))
}

fn parse(content: &str) -> Result<Layout> {
    if is_conf(content) {
        return slurm::parse_conf(content);
    }
    let file = load(content)?;
    if file.as_vec().is_some() {
        return slurm_yaml::of_value(&file);
    }
    if ["tree", "block", "ring", "torus3d", "flat"].iter().any(|&key| !is_absent(&file[key])) {
        return slurm_yaml::of_topology(&file);
    }
    if let Some(instances) = file["instances"].as_vec() {
        return of_instances(instances);
    }
    of_model(&file)
}

/// Whether a text has lines of `topology.conf`: the first line that is no comment has a key with `=`.
pub(super) fn is_conf(content: &str) -> bool {
    let first =
        content.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let key =
        first.and_then(|line| line.split_once('=')).map(|(key, _)| key.trim().to_ascii_lowercase());
    key.is_some_and(|key| {
        ["switchname", "blockname", "ringname", "blocksizes", "linkspeed"].contains(&key.as_str())
    })
}

/// Switches by name, in the order of the file.
#[derive(Default)]
struct Switches {
    list: Vec<Switch>,
    number: HashMap<String, usize>,
}

impl Switches {
    fn get(&mut self, name: &str) -> &mut Switch {
        let number = *self.number.entry(name.to_string()).or_insert_with(|| {
            self.list.push(Switch { name: name.into(), nodes: Vec::new(), below: Vec::new() });
            self.list.len() - 1
        });
        &mut self.list[number]
    }

    /// The tree, with the nodes of each accelerated domain as a level of their own below their switch.
    fn layout(self, domain: &HashMap<String, String>) -> Layout {
        let mut list = Vec::with_capacity(self.list.len());
        for mut switch in self.list {
            let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            let mut alone = Vec::new();
            for node in std::mem::take(&mut switch.nodes) {
                match domain.get(&node) {
                    Some(group) => groups.entry(group).or_default().push(node),
                    None => alone.push(node),
                }
            }
            // A domain that is all of its switch, or one node, is no level.
            let one_is_all = groups.len() == 1 && alone.is_empty();
            if one_is_all || groups.values().all(|group| group.len() == 1) {
                switch.nodes = groups.into_values().flatten().chain(alone).collect();
                list.push(switch);
                continue;
            }
            switch.nodes = alone;
            let at = list.len();
            for (group, nodes) in groups {
                let name = format!("{}\u{0}{group}", switch.name);
                switch.below.push(name.clone());
                list.push(Switch { name, nodes, below: Vec::new() });
            }
            list.insert(at, switch);
        }
        Layout::Switches(list)
    }
}

/// `instances: [{id: n1, network_layers: [leaf, spine], attributes: {nvlink: d1}}]`.
fn of_instances(instances: &[Yaml]) -> Result<Layout> {
    let mut switches = Switches::default();
    let mut domain = HashMap::new();
    let mut seen = HashSet::new();
    for instance in instances {
        let id = text(&instance["id"])
            .filter(|id| !id.is_empty())
            .ok_or_else(|| bad("an instance has no id"))?;
        let wrong = || bad(format!("the network layers of instance {id} are not a list of names"));
        let layers: Vec<String> = match &instance["network_layers"] {
            Yaml::Array(list) => {
                list.iter().map(|layer| text(layer).ok_or_else(wrong)).collect::<Result<_>>()?
            }
            value if is_absent(value) => Vec::new(),
            _ => return Err(wrong()),
        };
        let layers: Vec<String> = layers.into_iter().filter(|layer| !layer.is_empty()).collect();
        // Instances of unknown place are together below a switch of their own.
        switches.get(layers.first().map_or("", String::as_str)).nodes.push(id.clone());
        for pair in layers.windows(2) {
            switches.get(&pair[0]);
            let above = switches.get(&pair[1]);
            if seen.insert((pair[0].clone(), pair[1].clone())) {
                above.below.push(pair[0].clone());
            }
        }
        if let Some(nvlink) = text(&instance["attributes"]["nvlink"]) {
            domain.insert(id, nvlink);
        }
    }
    Ok(switches.layout(&domain))
}

/// The entries of a map by name, or of a list of entries that have a key `name`.
fn entries(value: &Yaml) -> Result<Vec<(String, &Yaml)>> {
    let named = |name: Option<String>| name.ok_or_else(|| bad("an entry of the model has no name"));
    match value {
        Yaml::Hash(map) => map.iter().map(|(key, entry)| Ok((named(text(key))?, entry))).collect(),
        Yaml::Array(list) => list
            .iter()
            .map(|entry| {
                let name = text(&entry["name"]).or_else(|| text(&entry["switch"]));
                Ok((named(name)?, entry))
            })
            .collect(),
        value if is_absent(value) => Ok(Vec::new()),
        _ => Err(bad("a part of the model is neither a map nor a list")),
    }
}

/// A model: switches with switches, nodes or capacity blocks below them.
fn of_model(file: &Yaml) -> Result<Layout> {
    let lists = &HostLists::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut number: HashMap<String, usize> = HashMap::new();
    let mut listed: HashSet<String> = HashSet::new();
    let mut domain: HashMap<String, String> = HashMap::new();
    for (name, entry) in entries(&file["capacity_blocks"])? {
        let nodes = hosts(&entry["nodes"], lists)?;
        let nvlink = text(&entry["attributes"]["nvlink"]).or_else(|| text(&entry["nvlink"]));
        for node in &nodes {
            domain.insert(node.clone(), nvlink.clone().unwrap_or_else(|| name.clone()));
            listed.insert(node.clone());
        }
        number.insert(name.clone(), blocks.len());
        blocks.push(Block { name, nodes });
    }
    for (name, entry) in entries(&file["nodes"])? {
        let nvlink = text(&entry["attributes"]["nvlink"]);
        let block = text(&entry["capacity_block"]);
        if let Some(domain_of_node) = nvlink.or(block.clone()) {
            domain.entry(name.clone()).or_insert(domain_of_node);
        }
        if let Some(block) = block.filter(|_| !listed.contains(&name)) {
            let block = *number.entry(block).or_insert_with_key(|block| {
                blocks.push(Block { name: block.clone(), nodes: Vec::new() });
                blocks.len() - 1
            });
            blocks[block].nodes.push(name);
        }
    }
    let mut switches = Switches::default();
    for (name, entry) in entries(&file["switches"])? {
        let (mut nodes, below) =
            (hosts(&entry["nodes"], lists)?, hosts(&entry["switches"], lists)?);
        for block in hosts(&entry["capacity_blocks"], lists)? {
            // A block has one switch. If the file gives it to a second one, it stays on the first.
            nodes.append(
                &mut number
                    .get(&block)
                    .map_or_else(Vec::new, |&k| std::mem::take(&mut blocks[k].nodes)),
            );
        }
        let switch = switches.get(&name);
        switch.nodes.append(&mut nodes);
        switch.below.extend(below);
    }
    for entry in file["blocks"].as_vec().map_or(&[][..], Vec::as_slice) {
        let name =
            text(&entry["switch"]).ok_or_else(|| bad("a block of the model has no switch"))?;
        let nodes = hosts(&entry["nodes"], lists)?;
        let label = entry["labels"].as_hash().and_then(|labels| text(labels.values().next()?));
        for node in &nodes {
            domain.insert(node.clone(), label.clone().unwrap_or_else(|| name.clone()));
        }
        switches.get(&name).nodes.extend(nodes);
    }
    if switches.list.is_empty() {
        return match blocks.is_empty() {
            true => Err(bad("the file has neither topologies, instances, switches nor blocks")),
            false => Ok(Layout::Blocks(Vec::new(), blocks)),
        };
    }
    // Children that have no entry of their own are leaf switches without nodes.
    let children: Vec<String> = switches.list.iter().flat_map(|s| s.below.clone()).collect();
    for child in children {
        switches.get(&child);
    }
    Ok(switches.layout(&domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(content: &str) -> Result<Box<dyn Topology>> {
        of_text(content, "x", &[])
    }

    fn distances(content: &str) -> Vec<u64> {
        let t = topology(content).unwrap();
        (1..t.slots()).map(|slot| t.distance(0, slot)).collect()
    }

    #[test]
    fn files_of_slurm() {
        let conf = "# switch.1.1=leaf\nSwitchName=switch.1.1 Nodes=n[1-2]\n";
        assert_eq!(distances(conf), [2]);
        assert_eq!(
            distances("- topology: t\n  block:\n    blocks: [{block: b, nodes: \"n[1-3]\"}]\n"),
            [2, 2]
        );
        assert_eq!(
            distances("{\"tree\": {\"switches\": [{\"switch\": \"s\", \"nodes\": \"a,b\"}]}}"),
            [2]
        );
    }

    #[test]
    fn instances_have_layers_from_the_leaf_up() {
        let json = r#"{"instances": [
            {"id": "a", "network_layers": ["l1", "s1"], "attributes": {"nvlink": "d1"}},
            {"id": "b", "network_layers": ["l1", "s1"], "attributes": {"nvlink": "d1"}},
            {"id": "c", "network_layers": ["l1", "s1"], "attributes": {"nvlink": "d2"}},
            {"id": "d", "network_layers": ["l2", "s1"]}]}"#;
        assert_eq!(distances(json), [2, 4, 6]);
        assert_eq!(distances(&json.replace("d2", "d1")), [2, 2, 4]);
    }

    #[test]
    fn models_of_every_release() {
        let map = "switches:\n  core: {switches: [l1, l2]}\n  l1: {nodes: [\"n[1-2]\"]}\n  l2: {nodes: [n3]}\n";
        assert_eq!(distances(map), [2, 4]);
        let list = "switches:\n- {name: core, switches: [l1, l2]}\n- {name: l1, capacity_blocks: [b1, b2]}\n\
                    - {name: l2, capacity_blocks: [b3]}\ncapacity_blocks:\n- {name: b1, nodes: [\"n[1-2]\"]}\n\
                    - {name: b2, nodes: [n3, n4]}\n- {name: b3, nodes: [n5, n6]}\n";
        assert_eq!(distances(list), [2, 4, 4, 6, 6]);
        let blocks = "switches:\n  core: {switches: [l1, l2]}\nblocks:\n- {switch: l1, nodes: [\"n[1-2]\"]}\n\
                      - {switch: l2, nodes: [n3]}\n";
        assert_eq!(distances(blocks), [2, 4]);
        let nodes = "nodes:\n  n1: {capacity_block: b1}\n  n2: {capacity_block: b1}\n  n3: {capacity_block: b2}\n";
        assert_eq!(distances(nodes), [2, 4]);
    }

    #[test]
    fn wrong_files_are_named() {
        for (content, what) in [
            ("", "neither topologies"),
            ("a: 1", "neither topologies"),
            ("instances: [{a: 1}]", "no id"),
            ("instances: [{id: a, network_layers: 3}]", "network layers"),
            ("switches: 3", "neither a map nor a list"),
            ("switches: [{nodes: a}]", "no name"),
            ("switches: {a: {switches: [a]}}", "no node"),
            ("blocks: [{nodes: a}]", "no switch"),
            ("flat: true", "flat"),
        ] {
            let error = topology(content).err().unwrap().to_string();
            assert!(error.contains(what), "{content}: {error}");
        }
        assert_eq!(of_text("flat: true", "x", &["a".into(), "b".into()]).unwrap().slots(), 2);
    }
}
