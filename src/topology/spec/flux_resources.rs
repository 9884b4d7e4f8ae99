//! The resources of a Flux instance: the resource set R, as `flux resource R` prints it and as `/etc/flux/system/R`
//! holds it.
//!
//! Flux tells a job's processes nothing about the network in their environment. R has two places that may tell it:
//!
//! - `scheduling.graph`, the graph of Fluxion: the path of a node, such as `/cluster0/rack1/node5`, names the places
//!   around it.
//! - `execution.properties`: groups of nodes by name. A property counts if its name begins with that of a kind of
//!   place (`rack1`, `switch-a`), and all properties of one kind are a level.
//!
//! The hosts are those of `execution.nodelist`, in the order of the ranks in `execution.R_lite`; or `node` in an entry
//! of `R_lite`. R in the instance of a job has no graph if its scheduler is not Fluxion.
//!
//! Source: Flux RFC 20 (Resource Set Specification, version 1), RFC 22 (idsets), RFC 29 (hostlists), RFC 4 and the JSON
//! Graph Format of flux-sched.

use super::hostlist::HostLists;
use super::labels::{LabelledHosts, is_place};
use super::slurm_layout::Layout;
use super::yaml::{hosts, load, text};
use super::{bad, in_file, read_text};
use crate::Result;
use crate::topology::Topology;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use yaml_rust2::Yaml;

/// Levels in the path of a node.
const MOST_LEVELS: usize = 16;

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path)
}

/// The topology of a text.
pub(super) fn of_text(content: &str, path: &str) -> Result<Box<dyn Topology>> {
    parse(content)
        .and_then(|layout| layout.build(format!("flux:{path}"), &[]))
        .map_err(|e| in_file(e, path))
}

/// Whether a text is a resource set.
pub(super) fn is_resource_set(content: &str) -> bool {
    content.trim_start().starts_with('{')
        && content.contains("\"R_lite\"")
        && content.contains("\"execution\"")
}

fn parse(content: &str) -> Result<Layout> {
    let file = load(content)?;
    let execution = &file["execution"];
    let (mut all, name_of_rank) = ranks(execution)?;
    of_graph(&file["scheduling"]["graph"], &name_of_rank, &mut all);
    of_properties(&execution["properties"], &name_of_rank, &mut all)?;
    all.layout("nodes of Flux")
}

/// The hosts, and their names by rank. Each rank has a name in the file, so that there are not more ranks than names.
fn ranks(execution: &Yaml) -> Result<(LabelledHosts, BTreeMap<u64, String>)> {
    let mut names = hosts(&execution["nodelist"], &HostLists::new())?.into_iter();
    let mut all = LabelledHosts::default();
    let mut name_of_rank = BTreeMap::new();
    for entry in execution["R_lite"].as_vec().into_iter().flatten() {
        let mut own = text(&entry["node"]);
        let list = text(&entry["rank"]).ok_or_else(|| bad("an entry of R_lite has no rank"))?;
        for rank in idset(&list)?.into_iter().flatten() {
            let Some(name) = own.take().or_else(|| names.next()) else {
                return Err(bad(format!("rank {rank} has no name in the nodelist")));
            };
            all.host(&name);
            name_of_rank.insert(rank, name);
        }
    }
    Ok((all, name_of_rank))
}

/// The ranges of an idset: `0-3,7`, perhaps in brackets.
fn idset(list: &str) -> Result<Vec<RangeInclusive<u64>>> {
    let inner = list.trim().trim_start_matches('[').trim_end_matches(']');
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
        range.map(|(first, last)| first..=last)
    };
    let parts = inner.split(',').filter(|part| !part.trim().is_empty());
    let ranges: Option<Vec<_>> = parts.map(range).collect();
    ranges.ok_or_else(|| bad(format!("'{list}' is no list of ranks")))
}

/// Labels the hosts with the places in their paths in the graph.
fn of_graph(graph: &Yaml, name_of_rank: &BTreeMap<u64, String>, all: &mut LabelledHosts) {
    for vertex in graph["nodes"].as_vec().into_iter().flatten() {
        let data = &vertex["metadata"];
        if text(&data["type"]).as_deref() != Some("node") {
            continue;
        }
        let by_rank = data["rank"].as_i64().and_then(|rank| name_of_rank.get(&(rank as u64)));
        let own = text(&data["name"]).filter(|name| all.knows(name));
        let Some(name) = own.or_else(|| by_rank.cloned()) else { continue };
        let path = text(&data["paths"]["containment"]).unwrap_or_default();
        let places: Vec<&str> = path.split('/').filter(|place| !place.is_empty()).collect();
        let host = all.host(&name);
        // The first place is the cluster, the last one is the node itself.
        let end = places.len().saturating_sub(1).min(MOST_LEVELS);
        for level in 1..end {
            all.label(host, &format!("level {level:02}"), &places[..=level].join("/"));
        }
    }
}

/// Labels the hosts with their properties.
fn of_properties(
    properties: &Yaml,
    name_of_rank: &BTreeMap<u64, String>,
    all: &mut LabelledHosts,
) -> Result<()> {
    for (property, list) in properties.as_hash().into_iter().flatten() {
        let (Some(property), Some(list)) = (text(property), text(list)) else { continue };
        let Some(kind) = kind_of(&property) else { continue };
        for (_, name) in idset(&list)?.into_iter().flat_map(|ranks| name_of_rank.range(ranks)) {
            let host = all.host(name);
            all.label(host, kind, &property);
        }
    }
    Ok(())
}

/// The kind of place that a property is called after: `rack` of `rack1`, `rack-a` and `rack:a`.
fn kind_of(property: &str) -> Option<&str> {
    let end = property.find(|c: char| !c.is_ascii_alphabetic()).filter(|&end| end > 0)?;
    Some(&property[..end]).filter(|kind| is_place(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROPERTIES: &str = r#"{"version": 1, "execution": {
        "R_lite": [{"rank": "0-3", "children": {"core": "0-47"}}, {"rank": "[4-5]", "children": {"core": "0-3"}}],
        "nodelist": ["f[1-4]", "g1,g2"], "starttime": 0.0,
        "properties": {"rack1": "0-3", "rack2": "4-5", "switch-a": "0-1", "switch-b": "2-3", "switch-c": "4-5",
                       "gpu": "0-5", "pbatch": "0,4"}}}"#;

    fn distances(text: &str) -> Vec<u64> {
        let tree = of_text(text, "f").unwrap();
        let slot = |name| (0..6).find(|&s| tree.slot_name(s) == Some(name)).unwrap();
        let first = slot("f1");
        ["f2", "f3", "g1"].map(|name| tree.distance(first, slot(name))).to_vec()
    }

    #[test]
    fn properties_are_levels() {
        assert!(is_resource_set(PROPERTIES));
        assert_eq!(distances(PROPERTIES), [2, 4, 6]);
    }

    #[test]
    fn the_graph_is_a_tree() {
        let node = |rank: u32, name: &str, path: &str| {
            format!(
                r#"{{"id": "{rank}", "metadata": {{"type": "node", "rank": {rank}, "name": "{name}",
                   "paths": {{"containment": "/cluster0/{path}/{name}"}}}}}}"#
            )
        };
        let vertices = [
            r#"{"id": "9", "metadata": {"type": "rack", "name": "rack0", "paths": {"containment": "/cluster0/rack0"}}}"#
                .to_string(),
            node(0, "f1", "rack0/switch0"),
            node(1, "f2", "rack0/switch0"),
            node(2, "f3", "rack0/switch1"),
            node(3, "node3", "rack0/switch1"),
            node(4, "g1", "rack1/switch2"),
            node(5, "g2", "rack1/switch2"),
        ];
        let text = format!(
            r#"{{"version": 1, "execution": {{"R_lite": [{{"rank": "0-5"}}], "nodelist": ["f[1-4],g[1-2]"]}},
               "scheduling": {{"graph": {{"nodes": [{}], "edges": []}}}}}}"#,
            vertices.join(",")
        );
        assert_eq!(distances(&text), [2, 4, 6]);
    }

    #[test]
    fn what_tells_nothing_is_an_error() {
        for text in [
            "{}",
            r#"{"execution": {"R_lite": [{"rank": "0-1"}], "nodelist": ["a"]}}"#,
            r#"{"execution": {"R_lite": [{"rank": "x"}], "nodelist": ["a"]}}"#,
            r#"{"execution": {"R_lite": [{"rank": "0-1"}], "nodelist": ["a[1-2]"]}}"#,
            r#"{"execution": {"R_lite": [{"rank": "0-99999999999"}], "nodelist": []}}"#,
            r#"{"execution": {"R_lite": [{}]}}"#,
        ] {
            assert!(of_text(text, "f").is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn damaged_files_are_survived(at in 0usize..500, byte in any::<char>(), cut in 0usize..500) {
            let mut text: Vec<char> = PROPERTIES.chars().take(cut).collect();
            if let Some(c) = text.get_mut(at) {
                *c = byte;
            }
            let _ = of_text(&text.into_iter().collect::<String>(), "f");
        }
    }
}
