//! Reads hwloc's XML export, versions 2 and 3 (and what version 1 has in common with them).
//!
//! For the levels, only the sets of PUs of the objects are used, not the nesting of the objects. The versions nest NUMA
//! domains differently (beside the cores in version 2, above them in version 1), but with the same sets.
//! Objects without PUs make no levels: devices, memory without cores, offline PUs. The devices are read in
//! `hwloc_devices`.

use super::cpuset::CpuSet;
use super::hwloc_devices;
use super::machine::{Division, Machine};
use crate::{Error, ErrorKind, Result};
use roxmltree::{Document, Node, ParsingOptions};

/// The types of objects that may become levels, and the names of the levels. Of two types with the same
/// parts, the earlier one gives the name: an L2 cache of one core is called a core.
const DIVISIONS: [(&str, &str); 7] = [
    ("Package", "package"),
    ("Die", "die"),
    ("NUMANode", "numa"),
    ("Core", "core"),
    ("L3Cache", "l3"),
    ("L2Cache", "l2"),
    ("Group", "group"),
];

/// Groups nested more deeply than this are left out; hwloc nests two or three.
const MAX_GROUPS: usize = 8;

/// More nodes than this in an XML text are refused; hwloc writes about ten per PU.
const MAX_NODES: u32 = 4_000_000;

impl Machine {
    /// Reads the machine that hwloc's XML export describes (`lstopo --of xml`, or
    /// `hwloc_topology_export_xml`).
    ///
    /// Errors: text that is not XML, not a topology, or one without PUs.
    pub fn from_hwloc_xml(xml: &str) -> Result<Machine> {
        let options =
            ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..Default::default() };
        let document = Document::parse_with_options(xml, options)
            .map_err(|e| refuse(format!("the machine description is not XML: {e}")))?;
        let root = document.root_element();
        if root.tag_name().name() != "topology" {
            return Err(refuse(format!(
                "the machine description starts with <{}> instead of <topology>",
                root.tag_name().name()
            )));
        }
        let objects: Vec<Node> =
            root.descendants().filter(|node| node.has_tag_name("object")).collect();
        let pus = pus_below(&root);
        if pus.is_empty() {
            return Err(refuse("the machine description has no processing units".into()));
        }
        let mut divisions = Vec::new();
        for (kind, name) in DIVISIONS {
            // Groups may contain groups; each depth of them is a division of its own.
            let mut by_depth: Vec<Vec<CpuSet>> = Vec::new();
            for object in objects.iter().filter(|object| type_of(object) == kind) {
                let depth = match kind {
                    "Group" => {
                        let outer = object.ancestors().skip(1).filter(|a| type_of(a) == kind);
                        outer.take(MAX_GROUPS).count()
                    }
                    _ => 0,
                };
                if depth == MAX_GROUPS {
                    continue;
                }
                let set = pus_of(object).ok_or_else(|| {
                    refuse(format!("the PU set of a {kind} is not a list of hexadecimal words"))
                })?;
                if !set.is_empty() {
                    by_depth.resize_with(by_depth.len().max(depth + 1), Vec::new);
                    by_depth[depth].push(set);
                }
            }
            for (depth, sets) in by_depth.into_iter().enumerate() {
                let name = match depth {
                    0 => name.to_string(),
                    _ => format!("{name}{}", depth + 1),
                };
                divisions.push(Division { name, sets });
            }
        }
        let is_version_3 =
            root.attribute("version").is_some_and(|version| version.starts_with('3'));
        let devices = hwloc_devices::devices(root, is_version_3);
        Ok(Machine::from_divisions(&pus, divisions).with_devices(devices))
    }
}

/// The type of an object by its name in versions 2 and 3.
fn type_of<'a>(object: &Node<'a, '_>) -> &'a str {
    match (object.attribute("type"), object.attribute("depth")) {
        (Some("Socket"), _) => "Package",
        (Some("Node"), _) => "NUMANode",
        (Some("Cache"), Some("3")) => "L3Cache",
        (Some("Cache"), Some("2")) => "L2Cache",
        (kind, _) => kind.unwrap_or(""),
    }
}

/// The PUs of an object: its `cpuset`, or without one the PUs below it; `None` if malformed.
fn pus_of(object: &Node) -> Option<CpuSet> {
    match object.attribute("cpuset") {
        Some(text) => CpuSet::from_hwloc(text),
        None => Some(pus_below(object)),
    }
}

/// The PUs that are this object or below it.
fn pus_below(object: &Node) -> CpuSet {
    let pus = object
        .descendants()
        .filter(|below| below.has_tag_name("object") && below.attribute("type") == Some("PU"));
    pus.filter_map(|pu| pu.attribute("os_index")?.parse::<usize>().ok()).collect()
}

fn refuse(what: String) -> Error {
    Error::new(ErrorKind::Format, what).advise("write one with `lstopo --of xml FILE.xml`")
}

#[cfg(test)]
mod tests {
    use super::super::machine::UNPLACED;
    use super::*;

    fn machine(file: &str) -> Machine {
        let path = format!("{}/tests/machines/{file}", env!("CARGO_MANIFEST_DIR"));
        Machine::from_hwloc_xml(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn path(machine: &Machine, cpus: &str) -> Vec<u32> {
        machine.path_of(&CpuSet::from_list(cpus).unwrap())
    }

    #[test]
    fn two_packages_with_two_domains_each() {
        let m = machine("2package-4numa-32core-64pu.xml");
        assert_eq!(m.level_names(), ["package", "numa", "core"]);
        assert_eq!(m.describe(), "2 package, 4 numa, 32 core, 64 pu");
        assert_eq!(path(&m, "0-1"), [0, 0, 0]);
        assert_eq!(path(&m, "63"), [1, 3, 31]);
        assert_eq!(path(&m, "16-31"), [0, 1, UNPLACED]);
        assert_eq!(path(&m, "0-63"), [UNPLACED; 3]);
    }

    #[test]
    fn dies_and_shared_caches() {
        let m = machine("2package-4die-8l3-32core.xml");
        assert_eq!(m.level_names(), ["package", "die", "l3", "core"]);
        assert_eq!(path(&m, "31"), [1, 3, 7, 31]);
    }

    #[test]
    fn cache_around_several_domains() {
        let m = machine("2l3-4numa-16core.xml");
        assert_eq!(m.level_names(), ["l3", "numa", "core"]);
    }

    #[test]
    fn cores_taken_away_unevenly() {
        let m = machine("uneven-11core-22pu.xml");
        assert_eq!(m.level_names(), ["package", "numa", "core"]);
        assert_eq!(m.pus().len(), 22);
        let sizes: Vec<usize> =
            (0..4).map(|g| m.groups(1).iter().filter(|&&x| x == g).count()).collect();
        assert_eq!(sizes, [16, 2, 2, 2]);
        assert_eq!(path(&m, "34-35"), [UNPLACED; 3], "PUs that are not there");
    }

    #[test]
    fn disallowed_cores_stay() {
        let m = machine("disallowed-8of16core.xml");
        assert_eq!(m.level_names(), ["package", "core"]);
        assert_eq!(m.pus().len(), 16);
    }

    #[test]
    fn nested_groups_and_memory_without_cores() {
        let m = machine("groups-and-cpuless-numa.xml");
        assert_eq!(m.level_names(), ["group", "group2", "numa", "core"]);
    }

    #[test]
    fn a_laptop_without_branches_but_cores() {
        let m = machine("1package-2core.xml");
        assert_eq!(m.level_names(), ["core"]);
    }

    #[test]
    fn version_3_puts_infos_elsewhere() {
        let m = machine("hwloc3-2package-8core.xml");
        assert_eq!(m.level_names(), ["package", "core"]);
    }

    #[test]
    fn version_1_puts_cores_below_domains() {
        let m = machine("hwloc1-2package-4numa-16core.xml");
        assert_eq!(m.level_names(), ["package", "numa", "core"]);
        assert_eq!(path(&m, "31"), [1, 3, 15]);
    }

    #[test]
    fn broken_descriptions_are_refused_with_advice() {
        for (text, what) in [
            ("", "not XML"),
            ("<topology", "not XML"),
            ("<html/>", "<html>"),
            ("<topology/>", "no processing units"),
            (r#"<topology><object type="PU"/></topology>"#, "no processing units"),
            (
                r#"<topology><object type="Core" cpuset="zz"><object type="PU" os_index="0"/></object></topology>"#,
                "hexadecimal",
            ),
        ] {
            let error = Machine::from_hwloc_xml(text).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("lstopo"), "{text}: {error}");
        }
    }

    #[test]
    fn deep_nesting_is_harmless() {
        let deep = "<object type='Group' cpuset='0x1'>".repeat(3000);
        let xml = format!(
            "<topology>{deep}<object type='PU' os_index='0'/>{}</topology>",
            "</object>".repeat(3000)
        );
        assert!(Machine::from_hwloc_xml(&xml).unwrap().level_names().is_empty());
    }
}
