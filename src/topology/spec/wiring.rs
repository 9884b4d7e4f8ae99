//! The hosts, switches and links of a fabric, as the readers of fabric files collect them.
//!
//! A host has one vertex, however many adapters it has, because hosts are known by their names. Hosts without any
//! link are left out: a file that names a host and not its place says nothing about the network. Messages do not pass
//! through hosts on their way, except in fabrics whose hosts are the routers ([`Wiring::hosts_forward`]).
//!
//! The links of a file may form several networks: a switch that is not connected yet, or a management network beside
//! the fabric. One of them is used ([`parts`]), and the network says what was left out.

use super::{bad, parts};
use crate::Result;
use crate::base::sorting::Arrange;
use crate::topology::NetworkGraph;
use crate::topology::network::is_bandwidth;
use std::collections::HashMap;

/// Collects a fabric. Memory: about 100 bytes for each host and 24 for each link, and the names.
#[derive(Default)]
pub(super) struct Wiring {
    /// The name of the host that a vertex is, `None` for a switch.
    names: Vec<Option<String>>,
    hosts: HashMap<String, usize>,
    links: Vec<(usize, usize, Option<f64>)>,
    hosts_forward: bool,
    switch_names: HashMap<usize, String>,
    nameless: bool,
}

impl Wiring {
    /// The vertex of the host with this name.
    pub(super) fn host(&mut self, name: &str) -> usize {
        if let Some(&vertex) = self.hosts.get(name) {
            return vertex;
        }
        self.hosts.insert(name.to_string(), self.names.len());
        self.names.push(Some(name.to_string()));
        self.names.len() - 1
    }

    /// A new switch with a name; an empty one is none.
    pub(super) fn named_switch(&mut self, name: &str) -> usize {
        let vertex = self.switch();
        if !name.is_empty() {
            self.switch_names.insert(vertex, name.to_string());
        }
        vertex
    }

    /// A new switch.
    pub(super) fn switch(&mut self) -> usize {
        self.names.push(None);
        self.names.len() - 1
    }

    /// Number of hosts, also of those without links.
    pub(super) fn count_hosts(&self) -> usize {
        self.hosts.len()
    }

    /// A link of this bandwidth in both directions, `None` if the file does not tell it. Several links between the
    /// same vertices add up. A link from a vertex to itself is left out.
    pub(super) fn link(&mut self, a: usize, b: usize, bandwidth: Option<f64>) {
        if a != b {
            self.links.push((a, b, bandwidth.filter(|&b| is_bandwidth(b))));
        }
    }

    /// Says that the names of the hosts are those of their adapters, because the file has no names of hosts.
    pub(super) fn nameless(&mut self) {
        self.nameless = true;
    }

    /// Lets messages pass through hosts.
    pub(super) fn hosts_forward(&mut self) {
        self.hosts_forward = true;
    }

    /// The network. Its slots are the hosts, in the order in which they were made. If the links form several networks,
    /// the one with most of the hosts in `wanted` is used, or else the largest one; the other hosts are left out.
    ///
    /// Links of unknown bandwidth get the median of the known ones, so that a link without a figure does not look like
    /// a bottleneck; all get 1 if none is known.
    ///
    /// Errors: no host has a link.
    pub(super) fn build(mut self, label: String, wanted: &[String]) -> Result<NetworkGraph> {
        let chosen = parts::choose(&self.names, self.links.iter().map(|l| (l.0, l.1)), wanted);
        let mut linked = vec![false; self.names.len()];
        self.links.retain(|&(a, _, _)| chosen.is_in[a]);
        for &(a, b, _) in &self.links {
            linked[a] = true;
            linked[b] = true;
        }
        let is_slot = |vertex: usize| self.names[vertex].is_some() && linked[vertex];
        let slots = (0..self.names.len()).filter(|&v| is_slot(v)).count();
        if slots == 0 {
            return Err(match self.hosts.len() {
                0 => bad("the fabric has no hosts"),
                _ => bad("no host of the fabric has a link"),
            });
        }
        let (mut slot, mut switch) = (0u32.., slots as u32..);
        let mut vertices = 0;
        let number: Vec<u32> = (0..self.names.len())
            .map(|v| {
                vertices += usize::from(linked[v]);
                match (linked[v], is_slot(v)) {
                    (_, true) => slot.next().unwrap_or(0),
                    (true, _) => switch.next().unwrap_or(0),
                    _ => 0,
                }
            })
            .collect();
        let usual = self.usual_bandwidth();
        let links: Vec<(u32, u32, f64)> = self
            .links
            .iter()
            .map(|&(a, b, bandwidth)| (number[a], number[b], bandwidth.unwrap_or(usual)))
            .collect();
        let names: Vec<String> = self
            .names
            .into_iter()
            .zip(&linked)
            .filter_map(|(name, &linked)| name.filter(|_| linked))
            .collect();
        let switch_names = self.switch_names.into_iter().filter(|&(v, _)| linked[v]);
        let switch_names = switch_names.map(|(v, name)| (number[v], name)).collect();
        Ok(NetworkGraph::with_forwarding(slots, vertices, &links, label, self.hosts_forward)?
            .with_slot_names(names)
            .with_switch_names(&switch_names)
            .with_remarks(chosen.left_out, self.nameless))
    }

    fn usual_bandwidth(&self) -> f64 {
        let mut known: Vec<f64> = self.links.iter().filter_map(|link| link.2).collect();
        known.arrange_by(f64::total_cmp);
        known.get(known.len() / 2).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    #[test]
    fn hosts_without_links_are_left_out() {
        let mut wiring = Wiring::default();
        let (a, lost, b) = (wiring.host("a"), wiring.host("lost"), wiring.host("b"));
        let switch = wiring.switch();
        wiring.switch();
        assert_eq!((wiring.host("a"), wiring.count_hosts(), lost), (a, 3, 1));
        wiring.link(a, switch, Some(4.0));
        wiring.link(switch, b, None);
        wiring.link(b, b, None);
        let net = wiring.build("x".into(), &[]).unwrap();
        assert_eq!((net.slots(), net.slot_name(1), net.distance(0, 1)), (2, Some("b"), 2));
        let network = net.network().unwrap();
        assert_eq!((network.vertices(), network.bandwidth(0)), (3, 4.0));
        assert!((0..network.links()).all(|link| network.bandwidth(link) == 4.0));
    }

    #[test]
    fn broken_fabrics_are_named() {
        assert!(
            Wiring::default()
                .build(String::new(), &[])
                .unwrap_err()
                .to_string()
                .contains("no hosts")
        );
        let mut wiring = Wiring::default();
        wiring.host("a");
        assert!(
            wiring.build(String::new(), &[]).unwrap_err().to_string().contains("no host of the")
        );
    }

    #[test]
    fn one_of_several_networks_is_used_and_the_rest_is_told() {
        let build = |wanted: &[&str]| {
            let mut wiring = Wiring::default();
            for (leaf, hosts) in [("s", &["a", "b", "c"][..]), ("t", &["x", "y"])] {
                let switch = wiring.named_switch(leaf);
                for host in hosts {
                    let host = wiring.host(host);
                    wiring.link(host, switch, None);
                }
            }
            wiring.switch();
            let wanted: Vec<String> = wanted.iter().map(|name| name.to_string()).collect();
            wiring.build("x".into(), &wanted).unwrap()
        };
        let names = |net: &NetworkGraph| -> Vec<String> {
            (0..net.slots()).filter_map(|slot| net.slot_name(slot).map(String::from)).collect()
        };
        let whole = build(&[]);
        assert_eq!(names(&whole), ["a", "b", "c"]);
        assert!(whole.left_out().unwrap().contains("x, y"), "{:?}", whole.left_out());
        assert_eq!(whole.network().unwrap().vertices(), 4);
        assert_eq!(names(&build(&["x.site.org", "Y", "a"])), ["x", "y"]);
        assert_eq!(names(&build(&["x", "a", "elsewhere"])), ["a", "b", "c"]);
        assert_eq!(names(&build(&["elsewhere"])), ["a", "b", "c"]);
    }
}
