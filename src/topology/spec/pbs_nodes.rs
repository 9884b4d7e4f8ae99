//! The nodes of a PBS complex, as `pbsnodes -av` and `pbsnodes -a -F json` print them.
//!
//! PBS tells a job the names of its nodes and nothing about the network. Sites that use placement sets label their
//! nodes with resources, such as `resources_available.switch = s3`, or `tier0` and `tier1`
//! (`node_group_key`). The resources whose names are those of places in a network are the levels of a tree
//! ([`labels`](super::labels)). If a resource has several values, each place of the list is a label of its own. The
//! vnodes of one host are one host.
//!
//! Source: pbsnodes(8B) and pbs_node_attributes(7B) of OpenPBS; PBS Professional Administrator's Guide, "Placement
//! Sets".

use super::labels::{LabelledHosts, is_place};
use super::slurm_layout::Layout;
use super::yaml::{load, text};
use super::{bad, in_file, read_text};
use crate::Result;
use crate::topology::Topology;

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path)
}

/// The topology of a text.
pub(super) fn of_text(content: &str, path: &str) -> Result<Box<dyn Topology>> {
    parse(content)
        .and_then(|layout| layout.build(format!("pbs:{path}"), &[]))
        .map_err(|e| in_file(e, path))
}

const RESOURCES: &str = "resources_available";

/// Characters at the beginning of a text that are looked at.
const BEGINNING: usize = 4096;

/// Whether a text is the output of pbsnodes.
pub(super) fn is_listing(content: &str) -> bool {
    let end = content.char_indices().map(|(at, _)| at).nth(BEGINNING).unwrap_or(content.len());
    let beginning = &content[..end];
    if beginning.trim_start().starts_with('{') {
        return beginning.contains("\"pbs_version\"") && content.contains("\"nodes\"");
    }
    let mut lines = beginning.lines().filter(|line| !line.trim().is_empty());
    let name =
        lines.next().is_some_and(|line| !line.starts_with([' ', '\t']) && !line.contains('='));
    let attributes: Vec<&str> = lines.take_while(|line| line.starts_with([' ', '\t'])).collect();
    let is_known = |line: &&&str| {
        ["Mom =", "ntype =", "state ="].iter().any(|key| line.trim_start().starts_with(key))
    };
    name && attributes.iter().find(is_known).is_some()
}

fn parse(content: &str) -> Result<Layout> {
    let mut vnodes = Vec::new();
    if content.trim_start().starts_with('{') {
        of_json(content, &mut vnodes)?;
    } else {
        of_lines(content, &mut vnodes)?;
    }
    let mut hosts = LabelledHosts::default();
    for Vnode { name, host, resources } in vnodes {
        // A vnode of a host that is divided is called `host[0]`.
        let host = host.unwrap_or_else(|| name.split('[').next().unwrap_or(&name).to_string());
        if host.is_empty() {
            return Err(bad("a node has no name"));
        }
        let host = hosts.host(&host);
        for (resource, value) in resources {
            for (k, value) in value.split(',').map(str::trim).enumerate() {
                let label = if k == 0 { resource.clone() } else { format!("{resource} {k}") };
                hosts.label(host, &label, value.trim_matches('"'));
            }
        }
    }
    hosts.layout("nodes of PBS")
}

/// What is said of one vnode: its name, its host, and the resources that may be places.
#[derive(Default)]
struct Vnode {
    name: String,
    host: Option<String>,
    resources: Vec<(String, String)>,
}

impl Vnode {
    fn resource(&mut self, name: &str, value: String) {
        if name == "host" {
            self.host = Some(value.trim().to_string()).filter(|host| !host.is_empty());
        } else if is_place(name) {
            self.resources.push((name.to_string(), value));
        }
    }
}

fn of_lines(content: &str, vnodes: &mut Vec<Vnode>) -> Result<()> {
    for (number, line) in content.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with([' ', '\t']) {
            vnodes.push(Vnode { name: line.trim().into(), ..Vnode::default() });
            continue;
        }
        let vnode = vnodes.last_mut().ok_or_else(|| {
            bad("an attribute stands before the first node").at(format!("line {}", number + 1))
        })?;
        let attribute =
            line.trim().split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        if let Some((name, value)) = attribute
            && let Some(resource) =
                name.strip_prefix(RESOURCES).and_then(|rest| rest.strip_prefix('.'))
        {
            vnode.resource(resource, value.into());
        }
    }
    Ok(())
}

fn of_json(content: &str, vnodes: &mut Vec<Vnode>) -> Result<()> {
    let file = load(content)?;
    let nodes = file["nodes"].as_hash().ok_or_else(|| bad("there are no nodes in the file"))?;
    for (name, attributes) in nodes {
        let mut vnode = Vnode { name: text(name).unwrap_or_default(), ..Vnode::default() };
        for (name, value) in attributes[RESOURCES].as_hash().into_iter().flatten() {
            if let (Some(name), Some(value)) = (text(name), text(value)) {
                vnode.resource(&name, value);
            }
        }
        vnodes.push(vnode);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINES: &str = "\
a1
     Mom = a1.site.org
     ntype = PBS
     resources_available.host = a1
     resources_available.ncpus = 64
     resources_available.switch = s1,big

a2[0]
     Mom = a2.site.org
     resources_available.switch = s1,big

a2[1]
     Mom = a2.site.org
     resources_available.switch = s1,big

b1
     state = free
     resources_available.switch = s2,big

b2
     resources_available.switch = \"s2\",small
c1
     resources_available.switch = s3,small
c2
     resources_available.switch = s3,small
";

    fn slots(tree: &dyn Topology) -> Vec<String> {
        (0..tree.slots()).map(|s| tree.slot_name(s).unwrap_or_default().to_string()).collect()
    }

    #[test]
    fn resources_are_levels() {
        assert!(is_listing(LINES));
        // b2 is not where its switch is: the outer label does not go around the inner one.
        let tree = of_text(LINES, "f").unwrap();
        assert_eq!(slots(tree.as_ref()).len(), 6);
        let text = LINES.replace("\"s2\",small", "\"s2\",big");
        let tree = of_text(&text, "f").unwrap();
        let slot = |name: &str| slots(tree.as_ref()).iter().position(|slot| slot == name).unwrap();
        let distance = |a, b| tree.distance(slot(a), slot(b));
        assert_eq!((distance("a1", "a2"), distance("a1", "b1"), distance("a1", "c1")), (2, 4, 6));
    }

    #[test]
    fn json_and_lines_say_the_same() {
        let json = r#"{ "timestamp":1, "pbs_version":"2022.1.1", "pbs_server":"p", "nodes":{
            "x1":{"Mom":"x1.org","resources_available":{"host":"x1","ncpus":64,"tier0":"x1-g1","tier1":"g1"}},
            "x2":{"Mom":"x2.org","resources_available":{"host":"x2","tier0":"x1-g1","tier1":"g1"}},
            "x3":{"Mom":"x3.org","resources_available":{"host":"x3","tier0":"x2-g1","tier1":"g1"}},
            "x4":{"Mom":"x4.org","resources_available":{"host":"x4","tier0":"x3-g2","tier1":"g2"}},
            "x5":{"Mom":"x5.org","resources_available":{"host":"x5","tier0":"x3-g2","tier1":"g2"}}}}"#;
        assert!(is_listing(json));
        let tree = of_text(json, "f").unwrap();
        assert_eq!(slots(tree.as_ref()), ["x1", "x2", "x3", "x4", "x5"]);
        assert_eq!([1, 2, 3].map(|b| tree.distance(0, b)), [2, 4, 6]);
    }

    #[test]
    fn other_texts_are_no_listing() {
        for text in [
            "",
            "a b\n",
            "SwitchName=a Nodes=b\n",
            "{\"nodes\": {}}",
            "leaf1 n1\n  n2\n",
            " x = 1\n",
        ] {
            assert!(!is_listing(text), "{text}");
        }
        for text in ["", " Mom = a\n", "a\n Mom = a\n", "{\"pbs_version\":1}", "{"] {
            assert!(of_text(text, "f").is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn damaged_listings_are_survived(at in 0usize..500, byte in any::<char>(), cut in 0usize..500) {
            let mut text: Vec<char> = LINES.chars().take(cut).collect();
            if let Some(c) = text.get_mut(at) {
                *c = byte;
            }
            let text: String = text.into_iter().collect();
            let _ = is_listing(&text);
            let _ = of_text(&text, "f");
        }
    }
}
