//! Slurm's `topology.yaml`: a list of topologies. The default of the cluster is used, or else the first one.

use super::hostlist;
use super::slurm_layout::{Layout, Switch};
use crate::{Error, ErrorKind, Result};
use yaml_rust2::{Yaml, YamlLoader};

fn bad(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Format, what)
}

pub(super) fn parse(text: &str) -> Result<Layout> {
    let documents =
        YamlLoader::load_from_str(text).map_err(|e| bad(format!("the file is not YAML: {e}")))?;
    let list = documents.first().and_then(Yaml::as_vec);
    let list = list.ok_or_else(|| bad("the file is not a list of topologies"))?;
    let entry = list
        .iter()
        .find(|entry| entry["cluster_default"].as_bool() == Some(true))
        .or(list.first())
        .ok_or_else(|| bad("the list of topologies is empty"))?;
    let name = entry["topology"].as_str().unwrap_or("without a name");
    read(entry).map_err(|e| e.at(format!("topology {name}")))
}

fn read(entry: &Yaml) -> Result<Layout> {
    if let Some(switches) = entry["tree"]["switches"].as_vec() {
        let read = |switch: &Yaml| {
            Ok(Switch {
                name: text(&switch["switch"]).ok_or_else(|| bad("a switch has no name"))?,
                nodes: hosts(&switch["nodes"])?,
                below: hosts(&switch["children"])?,
            })
        };
        return Ok(Layout::Switches(switches.iter().map(read).collect::<Result<_>>()?));
    }
    if let Some(blocks) = entry["block"]["blocks"].as_vec() {
        let sizes = entry["block"]["block_sizes"].as_vec().map_or(&[][..], Vec::as_slice);
        let sizes: Result<Vec<usize>> = sizes
            .iter()
            .map(|size| match size.as_i64() {
                Some(size) if size > 0 => Ok(size as usize),
                _ => Err(bad("a block size is not a whole number from 1")),
            })
            .collect();
        let blocks = blocks.iter().map(|block| hosts(&block["nodes"])).collect::<Result<_>>()?;
        return Ok(Layout::Blocks(sizes?, blocks));
    }
    if let Some(rings) = entry["ring"]["rings"].as_vec() {
        return match rings.as_slice() {
            [ring] => Ok(Layout::Ring(hosts(&ring["nodes"])?)),
            _ => Err(bad(format!("{} rings, which are not connected", rings.len()))),
        };
    }
    if let Some(toruses) = entry["torus3d"]["toruses"].as_vec() {
        let [torus] = toruses.as_slice() else {
            return Err(bad(format!("{} tori, which are not connected", toruses.len())));
        };
        let side = |key: &str| match torus["dims"][key].as_i64() {
            Some(side) if side > 0 => Ok(side as usize),
            _ => Err(bad(format!("the torus has no dimension {key}"))),
        };
        if torus["nodes"].is_badvalue() {
            return Err(bad("the torus lists regions instead of nodes; only nodes are read"));
        }
        // The file lets x vary fastest, which is the last coordinate here.
        return Ok(Layout::Torus([side("z")?, side("y")?, side("x")?], hosts(&torus["nodes"])?));
    }
    Err(bad("it has neither tree, block, ring nor torus3d"))
}

/// A scalar as text; numbers may be names.
fn text(value: &Yaml) -> Option<String> {
    match value {
        Yaml::String(text) | Yaml::Real(text) => Some(text.clone()),
        Yaml::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn hosts(value: &Yaml) -> Result<Vec<String>> {
    match text(value) {
        Some(list) => hostlist::expand(&list),
        None if value.is_badvalue() || value.is_null() => Ok(Vec::new()),
        None => Err(bad("a host list is not text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    fn topology(text: &str) -> Result<Box<dyn Topology>> {
        parse(text)?.build("slurm:x.yaml".into())
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
    fn blocks_rings_and_tori() {
        let t = topology("- topology: b\n  block:\n    block_sizes: [2, 4]\n    blocks:\n      - block: a\n        nodes: n[1-2]\n      - block: b\n        nodes: n[3-4]\n      - block: c\n        nodes: n5\n").unwrap();
        assert_eq!((t.distance(0, 1), t.distance(0, 2), t.distance(0, 4)), (2, 4, 6));
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
            ("- topology: x\n  flat: true", "topology x"),
            ("- tree:\n    switches:\n      - nodes: a", "no name"),
            ("- block:\n    block_sizes: [0]\n    blocks: []", "block size"),
            ("- torus3d:\n    toruses:\n      - dims: {x: 2}\n        nodes: a", "dimension z"),
        ] {
            let error = topology(text).err().unwrap().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
