//! The positions in the names of the nodes of HPE Cray systems.
//!
//! - An xname `x1000c0s3b0n1` is cabinet 1000, chassis 0, blade slot 3, node card 0, node 1 (HPE Cray EX
//!   documentation, "Component names (xnames)"). On Slingshot, the nodes of a chassis share its switches, and a
//!   cabinet is usually a group of the dragonfly.
//! - A cname `c3-1c2s7n0` is cabinet 3 of row 1, chassis 2, slot 7, node 0 of a Cray XC. The nodes of a slot share
//!   a router, the slots of a chassis are directly connected, and two cabinets are a group (Cray XC Series
//!   Network, Alverson et al. 2012).
//!
//! A node has such a name, or says it in `/etc/cray/xname` or `/proc/cray_xt/cname`.

use super::Host;
use super::name_pattern::NamePattern;
use super::source::{Answer, Source, Surroundings};
use super::tree_of_names::tree_of_names;
use crate::base::error::Result;

/// The positions in names.
pub struct Names;

/// The groups of a node with these numbers, from the outside in.
type Groups = fn(&[u64]) -> Vec<u64>;

/// The known forms: pattern, name of the form, and the groups that follow.
const FORMS: [(&str, &str, Groups); 2] = [
    ("x{}c{}s{}b{}n{}", "xname", |n| vec![n[0], n[1], n[2]]),
    // Two cabinets of a row are one electrical group.
    ("c{}-{}c{}s{}n{}", "cname", |n| vec![n[1], n[0] / 2, n[2] + 100 * n[0], n[3]]),
];

fn paths(hosts: &[Host], pattern: &NamePattern, groups: Groups) -> Vec<Option<Vec<String>>> {
    let read = |host: &Host| pattern.read(&host.position).or_else(|| pattern.read(&host.name));
    let path = |numbers: Vec<u64>| groups(&numbers).iter().map(u64::to_string).collect();
    hosts.iter().map(|host| read(host).map(path)).collect()
}

impl Source for Names {
    fn name(&self) -> &'static str {
        "names"
    }

    fn needs(&self) -> &'static str {
        "describe the names of the nodes in the site file, such as names = \"r{}c{}n{}\""
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        for (text, form, groups) in FORMS {
            let paths = paths(surroundings.hosts, &NamePattern::parse(text)?, groups);
            let origin = format!("the names of the nodes (Cray {form}s)");
            if let Some(network) = tree_of_names(surroundings.hosts, &paths, origin) {
                return Ok(Answer::Network(network));
            }
        }
        Ok(Answer::Nothing("the names of the nodes are no names of a Cray system".into()))
    }
}
