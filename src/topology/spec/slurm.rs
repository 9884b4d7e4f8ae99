//! Slurm's `topology.conf` and `topology.yaml`: which nodes hang on which switch. Slots are nodes.
//!
//! - Tree: two nodes are twice as many hops apart as there are switch levels up to the first switch
//!   that both are below. Branches that are less deep than the deepest count as if they were as
//!   deep; trees without a common root are joined by one more level.
//! - Block: 2 in a block, 2 more for each block size of `BlockSizes` that is needed to hold both.
//! - Ring: hops along the ring.

use super::{hostlist, in_line, read_text, slurm_yaml, usage};
use crate::topology::{Grid, Topology, Tree};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    let text = read_text(path)?;
    let yaml = [".yaml", ".yml"].iter().any(|end| path.to_ascii_lowercase().ends_with(end));
    let label = format!("slurm:{path}");
    let parts = if yaml { slurm_yaml::parse(&text) } else { parse_conf(&text) };
    parts.and_then(|layout| layout.build(label)).map_err(|e| {
        let place = e.place().map_or(path.to_string(), |p| format!("{path}, {p}"));
        e.at(place)
    })
}

/// What either file says.
pub(super) enum Layout {
    /// Switches with their nodes and the switches below them.
    Switches(Vec<Switch>),
    /// Block sizes and the nodes of each block.
    Blocks(Vec<usize>, Vec<Vec<String>>),
    /// Nodes in the order of the ring.
    Ring(Vec<String>),
    /// Nodes of a torus and its dimensions, the slowest first.
    Torus([usize; 3], Vec<String>),
}

/// One switch.
pub(super) struct Switch {
    pub name: String,
    pub nodes: Vec<String>,
    pub below: Vec<String>,
}

/// Reads `topology.conf`: one `Key=value …` line per item, `#` comments, `\` joins lines.
fn parse_conf(text: &str) -> Result<Layout> {
    let (mut switches, mut blocks, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ring, mut kind) = (Vec::new(), "");
    let mut joined = String::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim_end();
        if let Some(head) = line.strip_suffix('\\') {
            joined.push_str(head);
            continue;
        }
        joined.push_str(line);
        let line = std::mem::take(&mut joined);
        let mut fields: HashMap<String, &str> = HashMap::new();
        for word in line.split_whitespace() {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| in_line(number + 1, format!("'{word}' is not Key=value")))?;
            fields.insert(key.to_ascii_lowercase(), value);
        }
        if fields.is_empty() {
            continue;
        }
        let hosts = |key: &str| match fields.get(key) {
            Some(list) => hostlist::expand(list).map_err(|e| e.at(format!("line {}", number + 1))),
            None => Ok(Vec::new()),
        };
        let this =
            if let Some(name) = fields.get("switchname") {
                let (nodes, below) = (hosts("nodes")?, hosts("switches")?);
                switches.push(Switch { name: name.to_string(), nodes, below });
                "switches"
            } else if fields.contains_key("blockname") {
                blocks.push(hosts("nodes")?);
                "blocks"
            } else if let Some(list) = fields.get("blocksizes") {
                for word in list.split(',') {
                    let size = word.trim().parse().ok().filter(|&s: &usize| s > 0);
                    sizes.push(size.ok_or_else(|| {
                        in_line(number + 1, format!("'{word}' is not a block size"))
                    })?);
                }
                "blocks"
            } else if fields.contains_key("ringname") {
                if !ring.is_empty() {
                    return Err(in_line(number + 1, "several rings: they are not connected"));
                }
                ring = hosts("nodes")?;
                "a ring"
            } else {
                return Err(in_line(
                    number + 1,
                    "the line has neither SwitchName, BlockName, BlockSizes nor RingName",
                ));
            };
        if !kind.is_empty() && kind != this {
            return Err(in_line(number + 1, format!("{kind} and {this} in one file")));
        }
        kind = this;
    }
    match kind {
        "switches" => Ok(Layout::Switches(switches)),
        "blocks" => Ok(Layout::Blocks(sizes, blocks)),
        "a ring" => Ok(Layout::Ring(ring)),
        _ => Err(Error::new(ErrorKind::Format, "the file names no switch, block or ring")),
    }
}

impl Layout {
    /// The topology of the nodes.
    pub(super) fn build(self, label: String) -> Result<Box<dyn Topology>> {
        match self {
            Layout::Switches(switches) => from_switches(&switches, label),
            Layout::Blocks(sizes, blocks) => from_blocks(&sizes, &blocks, label),
            Layout::Ring(nodes) => grid(&[nodes.len()], nodes, label),
            Layout::Torus(dims, nodes) => grid(&dims, nodes, label),
        }
    }
}

fn grid(dims: &[usize], nodes: Vec<String>, label: String) -> Result<Box<dyn Topology>> {
    unique(&nodes)?;
    let grid = Grid::torus(dims).ok_or_else(|| usage("no node is named"))?;
    if grid.slots() != nodes.len() {
        return Err(usage(format!("{} nodes for a torus of {}", nodes.len(), grid.slots())));
    }
    Ok(Box::new(grid.with_label(label).with_slot_names(nodes)))
}

/// Refuses nodes that are named twice.
fn unique(nodes: &[String]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match nodes.iter().find(|node| !seen.insert(node.as_str())) {
        Some(twice) => Err(Error::new(ErrorKind::Format, format!("node {twice} is named twice"))),
        None => Ok(()),
    }
}

fn from_switches(switches: &[Switch], label: String) -> Result<Box<dyn Topology>> {
    let bad = |what: String| Error::new(ErrorKind::Format, what);
    let mut number: HashMap<&str, usize> = HashMap::new();
    for (k, switch) in switches.iter().enumerate() {
        if number.insert(&switch.name, k).is_some() {
            return Err(bad(format!("switch {} is defined twice", switch.name)));
        }
    }
    let mut parent = vec![usize::MAX; switches.len()];
    for (k, switch) in switches.iter().enumerate() {
        for name in &switch.below {
            let below = *number.get(name.as_str()).ok_or_else(|| {
                bad(format!("switch {} names {name}, which is not defined", switch.name))
            })?;
            if parent[below] != usize::MAX {
                return Err(bad(format!("switch {name} is below two switches")));
            }
            parent[below] = k;
        }
    }
    let mut names = Vec::new();
    let mut paths: Vec<Vec<u32>> = Vec::new();
    for (k, switch) in switches.iter().enumerate().filter(|(_, s)| !s.nodes.is_empty()) {
        let mut path = vec![k as u32];
        while let Some(&above) = parent.get(path[path.len() - 1] as usize)
            && above != usize::MAX
        {
            path.push(above as u32);
            if path.len() > switches.len() {
                return Err(bad(format!("switch {} is below itself", switch.name)));
            }
        }
        path.reverse();
        for node in &switch.nodes {
            names.push(node.clone());
            paths.push(path.clone());
        }
    }
    unique(&names)?;
    let depth = paths.iter().map(Vec::len).max().ok_or_else(|| bad("no node is named".into()))?;
    for path in &mut paths {
        path.resize(depth, 0);
    }
    // A level at which all nodes share one switch separates nobody.
    while paths[0].len() > 1 && paths.iter().all(|path| path[0] == paths[0][0]) {
        for path in &mut paths {
            path.remove(0);
        }
    }
    tree(paths, names, label)
}

fn from_blocks(
    sizes: &[usize],
    blocks: &[Vec<String>],
    label: String,
) -> Result<Box<dyn Topology>> {
    let names = blocks.concat();
    unique(&names)?;
    if names.is_empty() {
        return Err(Error::new(ErrorKind::Format, "no node is named"));
    }
    // Sizes count nodes; in blocks, the first size is one block.
    let base = sizes.first().copied().unwrap_or(1);
    let mut spans: Vec<usize> = sizes.iter().map(|size| size.div_ceil(base)).collect();
    spans.push(1);
    spans.sort_unstable_by(|a, b| b.cmp(a));
    spans.dedup();
    let paths = blocks
        .iter()
        .enumerate()
        .flat_map(|(k, block)| {
            let path: Vec<u32> = spans.iter().map(|span| (k / span) as u32).collect();
            std::iter::repeat_n(path, block.len())
        })
        .collect();
    tree(paths, names, label)
}

/// The tree of nodes: 2 hops for each level up.
fn tree(paths: Vec<Vec<u32>>, names: Vec<String>, label: String) -> Result<Box<dyn Topology>> {
    let levels = paths.first().map_or(0, Vec::len);
    let costs: Vec<u64> = (0..=levels as u64).map(|l| 2 * (levels as u64 + 1 - l)).collect();
    let tree =
        Tree::from_paths(&paths, &costs).ok_or_else(|| usage("the switches form no tree"))?;
    Ok(Box::new(tree.with_node_level(Some(levels)).with_label(label).with_slot_names(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Box<dyn Topology> {
        parse_conf(text).and_then(|l| l.build("slurm:x".into())).unwrap()
    }

    #[test]
    fn switches_form_a_tree() {
        let t = topology(
            "# three leaves\nSwitchName=s0 Nodes=dev[0-1] LinkSpeed=100\nswitchname=s1 nodes=dev[2-3]\n\
             SwitchName=s2 \\\n Nodes=dev[4-5]\nSwitchName=m0 Switches=s[0-1]\nSwitchName=top Switches=m0,s2\n",
        );
        assert_eq!(t.slots(), 6);
        let d: Vec<u64> = [1, 2, 4].iter().map(|&b| t.distance(0, b)).collect();
        assert_eq!(d, [2, 4, 6]);
        assert_eq!((t.slot_name(5), t.node_of(5)), (Some("dev5"), 5));
    }

    #[test]
    fn trees_without_a_common_root_are_farthest_apart() {
        let t = topology("SwitchName=a Nodes=x,y\nSwitchName=b Nodes=z\n");
        assert_eq!((t.distance(0, 1), t.distance(0, 2)), (2, 4));
    }

    #[test]
    fn blocks_aggregate() {
        let t = topology(
            "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\nBlockSizes=2,4\n",
        );
        let d: Vec<u64> = [1, 2, 4].iter().map(|&b| t.distance(0, b)).collect();
        assert_eq!(d, [2, 4, 6]);
    }

    #[test]
    fn rings_go_round() {
        let t = topology("RingName=r Nodes=n[1-8]\n");
        assert_eq!((t.distance(0, 7), t.distance(0, 4), t.slot_name(7)), (1, 4, Some("n8")));
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("", "names no switch"),
            ("Hello", "line 1"),
            ("LinkSpeed=3", "neither"),
            ("SwitchName=a Switches=b", "not defined"),
            ("SwitchName=a Nodes=x\nSwitchName=b Nodes=x", "x is named twice"),
            ("SwitchName=a Nodes=x\nSwitchName=a Nodes=y", "defined twice"),
            ("SwitchName=a Nodes=x Switches=b\nSwitchName=b Switches=a", "below itself"),
            ("SwitchName=a Nodes=x[", "line 1"),
            ("SwitchName=a Nodes=x\nRingName=r Nodes=y", "in one file"),
            ("BlockSizes=0", "'0' is not a block size"),
            ("SwitchName=a", "no node"),
        ] {
            let error = parse_conf(text).and_then(|l| l.build(String::new())).err().unwrap();
            assert!(error.to_string().contains(what), "{text}: {error}");
        }
    }
}
