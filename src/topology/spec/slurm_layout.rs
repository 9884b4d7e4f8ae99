//! The content of Slurm's topology files, and the topology that follows from it. Slots are nodes.
//!
//! - Tree: the distance of two nodes is twice the number of switch levels up to the first switch that
//!   both are below. All branches count as if they were as deep as the deepest one. Trees without a
//!   common root are joined by one more level.
//! - Block: the distance is 2 in a block. Each size of `BlockSizes` that is too small to hold both nodes
//!   adds 2.
//! - Ring and torus: the distance is the number of hops.

use super::usage;
use crate::topology::{Grid, Topology, Tree};
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;

/// The content of `topology.conf` or `topology.yaml`.
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
        return Err(usage(format!(
            "{} nodes are named for a torus of {} nodes",
            nodes.len(),
            grid.slots()
        )));
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
    // A level at which all nodes are below one switch separates no nodes.
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
    // Block sizes are numbers of nodes. The first size is that of one block, so that each size is a number of
    // blocks.
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

/// The tree of the nodes. Each level adds 2 hops.
fn tree(paths: Vec<Vec<u32>>, names: Vec<String>, label: String) -> Result<Box<dyn Topology>> {
    let levels = paths.first().map_or(0, Vec::len);
    let costs: Vec<u64> = (0..=levels as u64).map(|l| 2 * (levels as u64 + 1 - l)).collect();
    let tree =
        Tree::from_paths(&paths, &costs).ok_or_else(|| usage("the switches form no tree"))?;
    Ok(Box::new(tree.with_node_level(Some(levels)).with_label(label).with_slot_names(names)))
}
