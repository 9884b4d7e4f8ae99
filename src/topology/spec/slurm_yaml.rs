//! Slurm's `topology.yaml`: a list of topologies. The default of the cluster is used, or else the first one.
//!
//! Source: topology.yaml(5) and `src/plugins/topology` of Slurm. The `placements` of a torus are shapes that jobs may
//! get, and say nothing about the network.

use super::hostlist::HostLists;
use super::slurm_layout::{Block, Layout, Switch, Torus};
use super::yaml::{count, hosts, is_absent, load, text};
use super::{MAX_SLOTS, bad};
use crate::Result;
use crate::base::nouns::{are, counted};
use yaml_rust2::Yaml;

pub(super) fn parse(text: &str) -> Result<Layout> {
    of_value(&load(text)?)
}

/// The layout of a file that was read.
pub(super) fn of_value(file: &Yaml) -> Result<Layout> {
    let list = file.as_vec().ok_or_else(|| bad("the file is not a list of topologies"))?;
    let entry = list
        .iter()
        .find(|entry| entry["cluster_default"].as_bool() == Some(true))
        .or(list.first())
        .ok_or_else(|| bad("the list of topologies is empty"))?;
    let name = text(&entry["topology"]).unwrap_or_else(|| "without a name".into());
    of_topology(entry).map_err(|e| {
        let inner = e.place().map_or(String::new(), |place| format!(", {place}"));
        e.at(format!("topology {name}{inner}"))
    })
}

/// The layout of one topology, which has one of the keys `tree`, `block`, `ring`, `torus3d` and `flat`.
pub(super) fn of_topology(entry: &Yaml) -> Result<Layout> {
    let lists = &HostLists::new();
    if let Some(switches) = entry["tree"]["switches"].as_vec() {
        let read = |switch: &Yaml| {
            Ok(Switch {
                name: text(&switch["switch"]).ok_or_else(|| bad("a switch has no name"))?,
                nodes: hosts(&switch["nodes"], lists)?,
                below: hosts(&switch["children"], lists)?,
            })
        };
        return Ok(Layout::Switches(switches.iter().map(read).collect::<Result<_>>()?));
    }
    if let Some(blocks) = entry["block"]["blocks"].as_vec() {
        let read = |block: &Yaml| {
            let name = text(&block["block"]).unwrap_or_default();
            Ok(Block { name, nodes: hosts(&block["nodes"], lists)? })
        };
        let blocks = blocks.iter().map(read).collect::<Result<_>>()?;
        return Ok(Layout::Blocks(block_sizes(&entry["block"]["block_sizes"])?, blocks));
    }
    if let Some(rings) = entry["ring"]["rings"].as_vec() {
        let rings = rings.iter().map(|ring| hosts(&ring["nodes"], lists)).collect::<Result<_>>()?;
        return Ok(Layout::Rings(rings));
    }
    if let Some(tori) = entry["torus3d"]["toruses"].as_vec() {
        return Ok(Layout::Tori(
            tori.iter().map(|entry| torus(entry, lists)).collect::<Result<_>>()?,
        ));
    }
    if !is_absent(&entry["flat"]) && entry["flat"].as_bool() != Some(false) {
        return Ok(Layout::Flat);
    }
    Err(bad("it has neither tree, block, ring, torus3d nor flat"))
}

/// A list of sizes, or one text `30,120` as in `topology.conf`.
fn block_sizes(value: &Yaml) -> Result<Vec<usize>> {
    let wrong = || bad("a block size is not a whole number from 1");
    match value {
        Yaml::Array(list) => {
            list.iter().map(|size| count(size, MAX_SLOTS).ok_or_else(wrong)).collect()
        }
        value if is_absent(value) => Ok(Vec::new()),
        value => {
            let sizes = text(value).ok_or_else(wrong)?;
            let size = |word: &str| word.trim().parse().ok().filter(|&size: &usize| size > 0);
            sizes.split(',').map(|word| size(word).ok_or_else(wrong)).collect()
        }
    }
}

/// A torus with a list of all nodes, or with regions: boxes of the torus with a list of nodes each.
fn torus(entry: &Yaml, lists: &HostLists) -> Result<Torus> {
    let dims = point(&entry["dims"], "the torus", "dimension", 1)?;
    if dims
        .iter()
        .try_fold(1usize, |all, &side| all.checked_mul(side).filter(|&n| n <= MAX_SLOTS))
        .is_none()
    {
        return Err(bad(format!("the torus has more than {MAX_SLOTS} points")));
    }
    let mut torus = Torus { dims, nodes: Vec::new() };
    let Some(regions) = entry["regions"].as_vec() else {
        let nodes = hosts(&entry["nodes"], lists)?;
        let points = dims.iter().product::<usize>();
        if nodes.len() != points {
            return Err(bad(format!(
                "{} {} named for a torus of {points}",
                counted(nodes.len(), "node"),
                are(nodes.len())
            )));
        }
        torus.nodes = nodes.into_iter().enumerate().collect();
        return Ok(torus);
    };
    for region in regions {
        let anchor = match is_absent(&region["anchor"]) {
            true => [0; 3],
            false => point(&region["anchor"], "the anchor of a region", "coordinate", 0)?,
        };
        let size = point(&region["dims"], "a region", "dimension", 1)?;
        if (0..3).any(|k| anchor[k].saturating_add(size[k]) > dims[k]) {
            return Err(bad("a region ends outside of its torus"));
        }
        let nodes = text(&region["nodes"])
            .map_or_else(|| hosts(&region["nodes"], lists), |list| lists.expand(&list))?;
        if nodes.len() != size.iter().product::<usize>() {
            return Err(bad(format!(
                "{} {} named for a region of {}x{}x{}",
                counted(nodes.len(), "node"),
                are(nodes.len()),
                size[0],
                size[1],
                size[2]
            )));
        }
        for (k, node) in nodes.into_iter().enumerate() {
            let [x, y, z] = [k % size[0], k / size[0] % size[1], k / (size[0] * size[1])];
            let at = anchor[0] + x + dims[0] * (anchor[1] + y + dims[1] * (anchor[2] + z));
            torus.nodes.push((at, node));
        }
    }
    let most = (1 << 16) + 16 * torus.nodes.len();
    if dims.iter().product::<usize>() > most {
        return Err(bad(format!(
            "the torus has more than {most} points, and nodes at few of them"
        )));
    }
    Ok(torus)
}

/// Whether a text is a number that is too large for a coordinate, however large.
fn is_large(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|number| number > MAX_SLOTS as f64)
}

/// The numbers x, y and z of a value, each at least `least`.
fn point(value: &Yaml, whose: &str, what: &str, least: i64) -> Result<[usize; 3]> {
    let mut numbers = [0; 3];
    for (number, key) in numbers.iter_mut().zip(["x", "y", "z"]) {
        let given = value[key].as_i64().filter(|&n| n >= least && n <= MAX_SLOTS as i64);
        let problem = || match text(&value[key]).filter(|text| !text.is_empty()) {
            None => bad(format!("{whose} has no {what} {key}")),
            Some(text) if is_large(&text) => bad(format!(
                "{whose} has the {what} {key} = {text}, which is too large: {MAX_SLOTS} is the largest"
            )),
            Some(text) => bad(format!(
                "{whose} has the {what} {key} = {text}, which is no whole number from {least}"
            )),
        };
        *number = given.ok_or_else(problem)? as usize;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    fn topology(text: &str) -> Result<Box<dyn Topology>> {
        parse(text)?.build("slurm:x.yaml".into(), &[])
    }

    #[test]
    fn takes_the_default_tree() {
        let t = topology(
            "- topology: other\n  flat: true\n- topology: main\n  cluster_default: true\n  tree:\n    switches:\n\
             \n      - switch: s0\n        nodes: n[1-2]\n      - switch: s1\n        nodes: n[3-4]\n\
             \n      - switch: top\n        children: s[0-1]\n",
        )
        .unwrap();
        assert_eq!((t.slots(), t.distance(0, 1), t.distance(1, 2)), (4, 2, 4));
    }

    #[test]
    fn a_dimension_that_is_too_large_is_called_so() {
        for (x, what) in [
            ("4000000000", "x = 4000000000, which is too large"),
            ("99999999999999999999999", "too large"),
            ("0", "x = 0, which is no whole number from 1"),
            ("-3", "no whole number"),
            ("two", "no whole number"),
            ("", "has no dimension x"),
        ] {
            let text = format!(
                "- topology: t\n  torus3d:\n    toruses:\n      - name: a\n        dims: {{x: {x}, y: 1, z: 1}}\n        nodes: n1\n"
            );
            let error = topology(&text).err().unwrap().to_string();
            assert!(error.contains(what), "{x}: {error}");
        }
    }

    #[test]
    fn blocks_rings_and_tori() {
        let t = topology("- topology: b\n  block:\n    block_sizes: [2, 4]\n    blocks:\n      - block: a\n        nodes: n[1-2]\n      - block: b\n        nodes: n[3-4]\n      - block: c\n        nodes: n5\n").unwrap();
        assert_eq!((t.distance(0, 1), t.distance(0, 2), t.distance(0, 4)), (2, 4, 6));
        assert_eq!(t.as_tree().unwrap().switch_name(1, 2), Some("b"));
        let t = topology(
            "- topology: t\n  torus3d:\n    toruses:\n      - name: t\n        dims: {x: 4, y: 2, z: 1}\n        nodes: n[1-8]\n",
        )
        .unwrap();
        assert_eq!((t.distance(0, 1), t.distance(0, 3), t.distance(0, 4)), (1, 1, 1));
        assert_eq!(t.as_grid().unwrap().dims(), [1, 2, 4]);
        let t = topology(
            "- topology: r\n  ring:\n    rings:\n      - ring: r\n        nodes: n[1-5]\n",
        );
        assert_eq!(t.unwrap().distance(0, 4), 1);
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("a: b: c", "not YAML"),
            ("", "not a list"),
            ("[]", "empty"),
            ("- topology: x\n  flat: true", "is flat"),
            ("- topology: x\n  flat: false", "topology x"),
            ("- tree:\n    switches:\n      - nodes: a", "no name"),
            ("- block:\n    block_sizes: [0]\n    blocks: []", "block size"),
            ("- torus3d:\n    toruses:\n      - dims: {x: 2}\n        nodes: a", "dimension y"),
            (
                "- torus3d:\n    toruses:\n      - dims: {x: 2, y: 1, z: 1}\n        nodes: a",
                "1 node is named",
            ),
            (
                "- torus3d:\n    toruses:\n      - dims: {x: 2, y: 1, z: 1}\n        regions:\n          - anchor: {x: 1, y: 0, z: 0}\n            dims: {x: 2, y: 1, z: 1}\n            nodes: n[1-2]",
                "outside",
            ),
            (
                "- torus3d:\n    toruses:\n      - dims: {x: 2, y: 1, z: 1}\n        regions:\n          - {dims: {x: 1, y: 1, z: 1}, nodes: a}\n          - {dims: {x: 1, y: 1, z: 1}, nodes: b}",
                "two nodes",
            ),
        ] {
            let error = topology(text).err().unwrap().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn regions_fill_a_part_of_a_torus() {
        // Two boxes of 2x2x1 nodes at opposite corners of a torus of 4x4x1.
        let t = topology(
            "- topology: t\n  torus3d:\n    toruses:\n      - name: t\n        dims: {x: 4, y: 4, z: 1}\n        regions:\n          - anchor: {x: 0, y: 0, z: 0}\n            dims: {x: 2, y: 2, z: 1}\n            nodes: a[1-4]\n          - anchor: {x: 2, y: 2, z: 0}\n            dims: {x: 2, y: 2, z: 1}\n            nodes: b[1-4]\n        placements:\n          - dims: {x: 2, y: 2, z: 1}\n",
        )
        .unwrap();
        assert_eq!((t.slots(), t.slot_name(4)), (8, Some("b1")));
        // a1 is at (0,0), a4 at (1,1), b1 at (2,2), b4 at (3,3), which is next to (0,0) around both edges.
        assert_eq!(
            [t.distance(0, 3), t.distance(0, 4), t.distance(0, 7), t.distance(3, 4)],
            [2, 4, 2, 2]
        );
        assert_eq!(t.as_part_of_grid().unwrap().0.dims(), [1, 4, 4]);
    }

    #[test]
    fn rings_apart_are_farther_than_anything_in_a_ring() {
        let t = topology(
            "- topology: r\n  ring:\n    rings:\n      - {ring: r1, nodes: \"a[1-6]\"}\n      - {ring: r2, nodes: \"b[1-4]\"}\n",
        )
        .unwrap();
        assert_eq!(t.slots(), 10);
        assert_eq!(
            [t.distance(0, 3), t.distance(6, 8), t.distance(0, 6), t.distance(5, 9)],
            [3, 2, 4, 4]
        );
    }
}
