//! The switches above a node, as Slurm tells each task in its environment.
//!
//! With the plugin topology/tree, slurmd sets `SLURM_TOPOLOGY_ADDR=root.s3.s0.dev2` and
//! `SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.switch.node`; with topology/block the pattern is `block.node`
//! (srun(1), "OUTPUT ENVIRONMENT VARIABLES"). A site without Slurm can set `RANKWEAVE_ADDRESS` on its nodes, in
//! the same form. The value belongs to a node, so every process reports its own. With the plugins that know no
//! network the value is the name of the node alone. Some launchers give all processes the environment of the node on
//! which they were started. An address that several nodes report is therefore that of none of them.

use super::Host;
use super::source::{Answer, Source, Surroundings};
use super::tree_of_names::tree_of_names;
use crate::base::error::Result;
use std::collections::HashMap;

/// The address that each process reports.
pub struct SlurmAddress;

/// The switches in an address: all of its parts but the name of the node.
///
/// The name of a node may have dots. If the pattern is known, it says how many parts are switches; else the
/// address ends with the name of the host, or its last part is the node. `None` if no switch is named.
fn switches(host: &Host, pattern: Option<&str>) -> Option<Vec<String>> {
    let parts: Vec<&str> = host.address.split('.').collect();
    let of_pattern = pattern.map(|pattern| pattern.split('.').count().saturating_sub(1));
    let of_name = host.address.strip_suffix(host.name.as_str()).and_then(|rest| {
        let rest = rest.strip_suffix('.')?;
        Some(rest.split('.').count())
    });
    let count = of_pattern.or(of_name).unwrap_or(parts.len() - 1);
    let fits = count > 0 && count < parts.len() && parts[..count].iter().all(|p| !p.is_empty());
    fits.then(|| parts[..count].iter().map(|part| part.to_string()).collect())
}

impl Source for SlurmAddress {
    fn name(&self) -> &'static str {
        "slurm-address"
    }

    fn needs(&self) -> &'static str {
        "set TopologyPlugin=topology/tree in slurm.conf and describe the switches in topology.conf, or set \
         RANKWEAVE_ADDRESS=switch.switch.node in the environment of the processes of each node"
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Answer> {
        let hosts = surroundings.hosts;
        if hosts.iter().all(|host| host.address.is_empty()) {
            return Ok(Answer::Nothing("SLURM_TOPOLOGY_ADDR is not set on the nodes".into()));
        }
        let own = (surroundings.variable)("RANKWEAVE_ADDRESS").is_some();
        let pattern = (surroundings.variable)("SLURM_TOPOLOGY_ADDR_PATTERN").filter(|_| !own);
        let variable = if own { "RANKWEAVE_ADDRESS" } else { "SLURM_TOPOLOGY_ADDR" };
        let mut times = HashMap::<&str, usize>::new();
        hosts.iter().for_each(|host| *times.entry(host.address.as_str()).or_default() += 1);
        let is_own = |host: &Host| times.get(host.address.as_str()) == Some(&1);
        if !hosts.iter().any(|host| !host.address.is_empty() && is_own(host)) {
            return Ok(Answer::Nothing(format!(
                "the nodes have the same {variable}: the launcher passed on that of one node"
            )));
        }
        let path = |host: &Host| switches(host, pattern.as_deref()).filter(|_| is_own(host));
        let paths: Vec<_> = hosts.iter().map(path).collect();
        let origin = if own { variable.into() } else { format!("Slurm ({variable})") };
        let Some(network) = tree_of_names(hosts, &paths, origin) else {
            let address = hosts.iter().map(|host| &host.address).find(|a| !a.is_empty());
            let shown = address.map_or("", String::as_str);
            return Ok(Answer::Nothing(format!("the address '{shown}' of a node names no switch")));
        };
        Ok(Answer::Network(network))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::SiteFiles;

    fn of(name: &str, address: &str, pattern: Option<&str>) -> Option<String> {
        let host = Host { address: address.into(), ..Host::named(name) };
        switches(&host, pattern).map(|path| path.join("/"))
    }

    #[test]
    fn the_last_part_is_the_node() {
        let pattern = Some("switch.switch.node");
        assert_eq!(of("n1", "root.s1.n1", pattern).as_deref(), Some("root/s1"));
        assert_eq!(of("n1.site.org", "root.s1.n1.site.org", pattern).as_deref(), Some("root/s1"));
        assert_eq!(of("n1.site.org", "root.s1.n1.site.org", None).as_deref(), Some("root/s1"));
        assert_eq!(of("other", "root.s1.n1", None).as_deref(), Some("root/s1"));
        assert_eq!(of("n1", "b3.n1", Some("block.node")).as_deref(), Some("b3"));
    }

    fn find(addresses: &[&str]) -> Answer {
        let host = |(k, address): (usize, &&str)| Host {
            address: address.to_string(),
            ..Host::named(format!("n{k}").as_str())
        };
        let hosts: Vec<Host> = addresses.iter().enumerate().map(host).collect();
        let surroundings = Surroundings {
            hosts: &hosts,
            variable: &|_| None,
            root: std::path::Path::new("/nonexistent"),
            site: &SiteFiles::default(),
            store: None,
        };
        SlurmAddress.find(&surroundings).unwrap()
    }

    /// With MPICH's launcher in a batch script, all processes have the address of the first node, and all nodes
    /// seemed to be below one switch.
    #[test]
    fn an_address_that_the_launcher_passed_on_is_not_believed() {
        let Answer::Nothing(why) = find(&["r.s1.n0"; 4]) else { panic!("believed") };
        assert!(why.contains("passed on"), "{why}");
        let Answer::Network(network) = find(&["r.s1.n0", "r.s1.n0", "r.s2.n2", "r.s2.n3"]) else {
            panic!("not found")
        };
        assert_eq!(network.known(), 2);
    }

    #[test]
    fn addresses_without_switches_are_none() {
        for address in ["", "n1", ".n1", "a..n1"] {
            assert_eq!(of("n1", address, None), None, "{address}");
        }
        assert_eq!(of("n1", "n1", Some("node")), None);
    }
}
