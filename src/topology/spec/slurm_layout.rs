//! The content of Slurm's topology files, and the topology that follows from it. Slots are nodes.
//!
//! - Tree: the distance of two nodes is twice the number of switch levels up to the first switch that
//!   both are below. All branches count as if they were as deep as the deepest one. Trees without a
//!   common root are joined by one more level.
//! - Block: the distance is 2 in a block. Each size of `BlockSizes` that is too small to hold both nodes
//!   adds 2.
//! - Ring and torus: the distance is the number of hops. Several rings or tori are farther from each other than
//!   any two nodes of one of them.
//! - Flat: the file names no nodes. All nodes that the caller knows are equally far from each other.
//!
//! A node that is named below several switches or in several blocks is on the first one; Slurm only warns about it.

use super::usage;
use crate::topology::{Grid, Islands, Subset, Topology, Tree};
use crate::{Error, ErrorKind, Result};
use std::collections::{HashMap, HashSet};

/// A node below more switches than this is refused. Real networks have up to five levels, and every node has a
/// number for each level.
const MAX_LEVELS: usize = 32;

/// The content of `topology.conf` or `topology.yaml`.
pub(super) enum Layout {
    /// Switches with their nodes and the switches below them.
    Switches(Vec<Switch>),
    /// Block sizes and the nodes of each block.
    Blocks(Vec<usize>, Vec<Block>),
    /// Rings, with their nodes in the order of the ring.
    Rings(Vec<Vec<String>>),
    /// Tori of three dimensions.
    Tori(Vec<Torus>),
    /// No network is described.
    Flat,
}

/// One switch.
pub(super) struct Switch {
    pub name: String,
    pub nodes: Vec<String>,
    pub below: Vec<String>,
}

/// One block.
#[derive(Default)]
pub(super) struct Block {
    /// Its name; empty if it has none.
    pub name: String,
    pub nodes: Vec<String>,
}

/// One torus.
pub(super) struct Torus {
    /// Lengths of the dimensions x, y and z.
    pub dims: [usize; 3],
    /// Points with a node. The number of a point is x + X·(y + Y·z).
    pub nodes: Vec<(usize, String)>,
}

impl Layout {
    /// The topology of the nodes. `known` are nodes that are taken for the nodes of a flat network.
    pub(super) fn build(self, label: String, known: &[String]) -> Result<Box<dyn Topology>> {
        match self {
            Layout::Switches(switches) => from_switches(&switches, label),
            Layout::Blocks(sizes, blocks) => from_blocks(&sizes, &blocks, label),
            Layout::Rings(rings) => {
                let tori = rings.into_iter().map(|nodes| Torus {
                    dims: [nodes.len(), 1, 1],
                    nodes: nodes.into_iter().enumerate().collect(),
                });
                from_tori(tori.filter(|ring| ring.dims[0] > 0).collect(), true, label)
            }
            Layout::Tori(tori) => from_tori(tori, false, label),
            Layout::Flat => flat(known, label),
        }
    }
}

fn flat(known: &[String], label: String) -> Result<Box<dyn Topology>> {
    if known.is_empty() {
        return Err(Error::new(
            ErrorKind::NotFound,
            "the network is flat: the file describes no switches, and all nodes are equally far from each other",
        ));
    }
    unique(known)?;
    tree(vec![Vec::new(); known.len()], known.to_vec(), label, |_, _| None)
}

fn from_tori(tori: Vec<Torus>, rings: bool, label: String) -> Result<Box<dyn Topology>> {
    let names: Vec<String> =
        tori.iter().flat_map(|torus| torus.nodes.iter().map(|node| node.1.clone())).collect();
    unique(&names)?;
    let mut parts: Vec<Box<dyn Topology>> = Vec::new();
    for Torus { dims: [x, y, z], nodes } in tori.into_iter().filter(|torus| !torus.nodes.is_empty())
    {
        // The file lets x vary fastest, which is the last coordinate here.
        let dims = if rings { vec![x] } else { vec![z, y, x] };
        let grid = Grid::torus(&dims)
            .ok_or_else(|| usage("a torus has more points than can be kept"))?
            .with_label(label.clone());
        let mut names = vec![String::new(); grid.slots()];
        let slots: Vec<usize> = nodes.iter().map(|node| node.0).collect();
        for (at, name) in nodes {
            if !names[at].is_empty() {
                return Err(Error::new(
                    ErrorKind::Format,
                    format!("two nodes have the same point of the torus: {} and {name}", names[at]),
                ));
            }
            names[at] = name;
        }
        let all = slots.len() == grid.slots();
        let grid = Box::new(grid.with_slot_names(names));
        parts.push(if all { grid } else { Box::new(Subset::of_owned(grid, &slots)?) });
    }
    match parts.len() {
        0 => Err(Error::new(ErrorKind::Format, "no node is named")),
        1 => Ok(parts.swap_remove(0)),
        _ => Ok(Box::new(Islands::new(parts, label))),
    }
}

/// Refuses nodes that are named twice.
fn unique(nodes: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
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
    let mut names: Vec<String> = Vec::new();
    let mut paths: Vec<Vec<u32>> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for (k, switch) in switches.iter().enumerate().filter(|(_, s)| !s.nodes.is_empty()) {
        let mut path = vec![k as u32];
        while let Some(&above) = parent.get(path[path.len() - 1] as usize)
            && above != usize::MAX
        {
            path.push(above as u32);
            if path.len() > switches.len() {
                return Err(bad(format!("switch {} is below itself", switch.name)));
            }
            if path.len() > MAX_LEVELS {
                return Err(bad(format!(
                    "switch {} is below itself, or below more than {MAX_LEVELS} switches",
                    switch.name
                )));
            }
        }
        path.reverse();
        for node in switch.nodes.iter().filter(|node| seen.insert(node)) {
            names.push(node.clone());
            paths.push(path.clone());
        }
    }
    let depth = paths.iter().map(Vec::len).max().ok_or_else(|| bad("no node is named".into()))?;
    // Nodes of a switch that has switches below it are a branch of their own.
    for path in &mut paths {
        let own = path.last().map_or(0, |&switch| switches.len() as u32 + switch);
        path.resize(depth, own);
    }
    // A level at which all nodes are below one switch separates no nodes.
    while paths[0].len() > 1 && paths.iter().all(|path| path[0] == paths[0][0]) {
        for path in &mut paths {
            path.remove(0);
        }
    }
    // Labels of hosts become switches whose names have the labels around them in front.
    let name = |switch: u32| switches[switch as usize % switches.len()].name.rsplit('\u{0}').next();
    let name = |switch: u32| name(switch).filter(|name| !name.is_empty()).map(String::from);
    tree(paths, names, label, |_, switch| name(switch))
}

fn from_blocks(sizes: &[usize], all: &[Block], label: String) -> Result<Box<dyn Topology>> {
    let mut seen: HashSet<&str> = HashSet::new();
    let blocks: Vec<Vec<&String>> = all
        .iter()
        .map(|block| block.nodes.iter().filter(|node| seen.insert(node)).collect())
        .collect();
    let names: Vec<String> = blocks.iter().flatten().map(|&node| node.clone()).collect();
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
    // Blocks that a larger size joins are called by the first and the last of them.
    let name = |level: usize, number: u32| {
        let first = number as usize * spans[level];
        let last = (first + spans[level]).min(all.len()) - 1;
        let (first, last) = (all.get(first)?, all.get(last)?);
        let named = !first.name.is_empty() && !last.name.is_empty();
        named.then(|| match first.name == last.name {
            true => first.name.clone(),
            false => format!("{}-{}", first.name, last.name),
        })
    };
    tree(paths, names, label, name)
}

/// The tree of the nodes. Each level adds 2 hops. `name` is the name of a switch in a path, by its level and number.
fn tree(
    paths: Vec<Vec<u32>>,
    names: Vec<String>,
    label: String,
    name: impl Fn(usize, u32) -> Option<String>,
) -> Result<Box<dyn Topology>> {
    let levels = paths.first().map_or(0, Vec::len);
    let costs: Vec<u64> = (0..=levels as u64).map(|l| 2 * (levels as u64 + 1 - l)).collect();
    let tree =
        Tree::from_paths(&paths, &costs).ok_or_else(|| usage("the switches form no tree"))?;
    let tree = tree.with_switch_names(|level, slot| name(level, paths[slot][level]));
    Ok(Box::new(tree.with_node_level(Some(levels)).with_label(label).with_slot_names(names)))
}
