//! Slurm's `topology.conf` and `topology.yaml`: the switch of each node. Slots are nodes.

use super::hostlist::HostLists;
use super::slurm_layout::{Block, Layout, Switch};
use super::{in_file, in_line, read_text, slurm_yaml};
use crate::topology::Topology;
use crate::{Error, ErrorKind, Result};
use std::collections::HashMap;

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    let text = read_text(path)?;
    let yaml =
        [".yaml", ".yml", ".json"].iter().any(|end| path.to_ascii_lowercase().ends_with(end));
    let label = format!("slurm:{path}");
    let parts = if yaml { slurm_yaml::parse(&text) } else { parse_conf(&text) };
    parts.and_then(|layout| layout.build(label, &[])).map_err(|e| in_file(e, path))
}

/// Reads `topology.conf`: one `Key=value …` line per item, `#` comments, `\` joins lines.
pub(super) fn parse_conf(text: &str) -> Result<Layout> {
    let (mut switches, mut blocks, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rings, mut kind) = (Vec::new(), "");
    let mut joined = String::new();
    let lists = HostLists::new();
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
            Some(list) => lists.expand(list).map_err(|e| e.at(format!("line {}", number + 1))),
            None => Ok(Vec::new()),
        };
        let this =
            if let Some(name) = fields.get("switchname") {
                let (nodes, below) = (hosts("nodes")?, hosts("switches")?);
                switches.push(Switch { name: name.to_string(), nodes, below });
                "switches"
            } else if let Some(name) = fields.get("blockname") {
                blocks.push(Block { name: name.to_string(), nodes: hosts("nodes")? });
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
                rings.push(hosts("nodes")?);
                "a ring"
            } else {
                return Err(in_line(
                    number + 1,
                    "the line has neither SwitchName, BlockName, BlockSizes nor RingName",
                ));
            };
        if !kind.is_empty() && kind != this {
            return Err(in_line(number + 1, format!("the file has both {kind} and {this}")));
        }
        kind = this;
    }
    match kind {
        "switches" => Ok(Layout::Switches(switches)),
        "blocks" => Ok(Layout::Blocks(sizes, blocks)),
        "a ring" => Ok(Layout::Rings(rings)),
        _ => Err(Error::new(ErrorKind::Format, "the file names no switch, block or ring")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Box<dyn Topology> {
        parse_conf(text).and_then(|l| l.build("slurm:x".into(), &[])).unwrap()
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
    fn nodes_beside_switches_are_a_branch() {
        let t = topology("SwitchName=leaf Nodes=x,y\nSwitchName=top Nodes=z,x Switches=leaf\n");
        assert_eq!((t.slots(), t.distance(0, 1), t.distance(0, 2)), (3, 2, 4));
    }

    #[test]
    fn rings_apart_are_far() {
        let t = topology("RingName=a Nodes=n[1-4]\nRingName=b Nodes=m[1-4]\n");
        assert_eq!((t.slots(), t.distance(0, 2), t.distance(0, 4)), (8, 2, 3));
    }

    #[test]
    fn blocks_aggregate() {
        let t = topology(
            "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 \
             Nodes=n[5-6]\nBlockSizes=2,4\n",
        );
        let d: Vec<u64> = [1, 2, 4].iter().map(|&b| t.distance(0, b)).collect();
        assert_eq!(d, [2, 4, 6]);
        let tree = t.as_tree().unwrap();
        let names = |slot| (0..2).map(|level| tree.switch_name(level, slot)).collect::<Vec<_>>();
        assert_eq!(names(2), [Some("b1-b2"), Some("b2")]);
        assert_eq!(names(4), [Some("b3"), Some("b3")]);
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
            ("RingName=a Nodes=x\nRingName=b Nodes=x", "x is named twice"),
            ("SwitchName=a Nodes=x\nSwitchName=a Nodes=y", "defined twice"),
            ("SwitchName=a Nodes=x Switches=b\nSwitchName=b Switches=a", "below itself"),
            ("SwitchName=a Nodes=x[", "line 1"),
            ("SwitchName=a Nodes=x\nRingName=r Nodes=y", "the file has both"),
            ("BlockSizes=0", "'0' is not a block size"),
            ("SwitchName=a", "no node"),
        ] {
            let error = parse_conf(text).and_then(|l| l.build(String::new(), &[])).err().unwrap();
            assert!(error.to_string().contains(what), "{text}: {error}");
        }
    }
}
