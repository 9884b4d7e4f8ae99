//! What a mapping costs the ends of messages: the slots that send and receive, and the nodes or rails with their
//! injection limit.
//!
//! A slot sends and receives its bytes over all its links at once, and each message costs it what the network charges
//! ([`Charges`]). A node sends and receives no faster than its injection limit, or each of its rails if it is known
//! which rail a slot uses. These times stand beside those of the links: the slowest of all decides. Where a network
//! charges nothing, there are none, because some link of a slot takes at least as long.
//!
//! Limit: what a hop costs is counted along the shortest path, also where messages take detours.

use crate::topology::{Charges, Network, Topology};

/// The slots and nodes (or rails) of a network as resources that take time, numbered from 0.
pub(crate) struct Ends<'a> {
    network: &'a dyn Network,
    charges: Charges,
    /// The bandwidth of all links of each slot together; empty if messages cost nothing.
    widths: Vec<f64>,
    /// The node of each slot; empty if injection is not limited.
    node_of: Vec<u32>,
    /// The rail of each slot, or else its node, in one numbering.
    port_of: Vec<u32>,
    ports: usize,
}

/// What is sent from one slot to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub from: usize,
    pub to: usize,
    pub bytes: f64,
    pub messages: f64,
}

impl<'a> Ends<'a> {
    /// `None` if the network charges nothing but the bytes on links.
    pub(crate) fn new(topology: &dyn Topology, network: &'a dyn Network) -> Option<Ends<'a>> {
        let charges = network.charges();
        let by_message = charges.message > 0.0 || charges.hop > 0.0;
        if !by_message && charges.injection.is_none() {
            return None;
        }
        let slots = topology.slots();
        let widths = match by_message {
            true => (0..slots).map(|slot| width(network, slot)).collect(),
            false => Vec::new(),
        };
        let node_of: Vec<u32> = match charges.injection {
            Some(_) => (0..slots).map(|slot| topology.node_of(slot) as u32).collect(),
            None => Vec::new(),
        };
        let rails = topology.rails();
        let nodes = node_of.iter().max().map_or(0, |&last| last as usize + 1);
        let port = |(slot, &node): (usize, &u32)| {
            let rail = rails.and_then(|rails| rails.of(slot));
            rail.map_or(node, |rail| (nodes + rail) as u32)
        };
        let port_of = node_of.iter().enumerate().map(port).collect();
        let ports = nodes + rails.map_or(0, |rails| rails.all().len());
        Some(Ends { network, charges, widths, node_of, port_of, ports })
    }

    /// The number of resources: each slot and each node or rail in both directions.
    pub(crate) fn count(&self) -> usize {
        2 * (self.widths.len() + self.ports)
    }

    /// Visits the resources that something takes time of, with the time. Inside of a slot, nothing takes time.
    pub(crate) fn visit(&self, sent: Sent, visit: &mut dyn FnMut(usize, f64)) {
        let Sent { from, to, bytes, messages } = sent;
        if from == to {
            return;
        }
        if !self.widths.is_empty() {
            let mut each = self.charges.message;
            if self.charges.hop > 0.0 {
                self.network.route(from, to, &mut |_| each += self.charges.hop);
            }
            visit(2 * from, bytes / self.widths[from] + messages * each);
            visit(2 * to + 1, bytes / self.widths[to] + messages * each);
        }
        if let Some(injection) = self.charges.injection
            && self.node_of[from] != self.node_of[to]
        {
            let first = 2 * self.widths.len();
            visit(first + 2 * self.port_of[from] as usize, bytes / injection);
            visit(first + 2 * self.port_of[to] as usize + 1, bytes / injection);
        }
    }
}

/// The bandwidth of all links of a slot together.
fn width(network: &dyn Network, slot: usize) -> f64 {
    let mut width = 0.0;
    network.neighbours(slot, &mut |_, link| width += network.bandwidth(link));
    if width > 0.0 { width } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    fn times(spec: &str, sent: Sent) -> Vec<(usize, f64)> {
        let topology = parse(spec).unwrap();
        let ends = Ends::new(topology.as_ref(), topology.network().unwrap()).unwrap();
        let mut found = Vec::new();
        ends.visit(sent, &mut |resource, time| found.push((resource, time)));
        assert!(found.iter().all(|&(resource, _)| resource < ends.count()));
        found
    }

    #[test]
    fn both_ends_take_time() {
        let sent = Sent { from: 0, to: 2, bytes: 100.0, messages: 2.0 };
        // Two links on the way; slot 0 has one link, slot 2 two.
        let found = times("mesh:4,message=10,hop=5", sent);
        assert_eq!(found, [(0, 100.0 + 2.0 * 20.0), (5, 50.0 + 2.0 * 20.0)]);
        assert_eq!(times("mesh:4,injection=2", sent), [(0, 50.0), (5, 50.0)]);
        assert!(times("mesh:4,injection=2", Sent { to: 0, ..sent }).is_empty());
    }

    #[test]
    fn bytes_on_links_alone_have_no_ends() {
        let topology = parse("torus:4x4").unwrap();
        assert!(Ends::new(topology.as_ref(), topology.network().unwrap()).is_none());
    }
}
