//! A topology with another routing than its own, and with what its messages cost.

use super::RoutingKind;
use crate::topology::forwarded::forwarded;
use crate::topology::{Charges, Network, Rails, Routing, Topology};
use crate::{Error, ErrorKind, Result};

/// Another topology, with a routing and with charges. Slots, distances and links are those of the other topology.
pub struct Routed {
    topology: Box<dyn Topology>,
    kind: RoutingKind,
    charges: Charges,
    label: String,
}

impl Routed {
    /// The topology with this routing and these charges. `options` is what is added to its name.
    ///
    /// Errors: a topology without links, a routing that its kind of network does not have.
    pub fn on(
        topology: Box<dyn Topology>,
        kind: RoutingKind,
        charges: Charges,
        options: &str,
    ) -> Result<Routed> {
        let refused = |what: String| Err(Error::new(ErrorKind::Usage, what));
        if topology.network().is_none() {
            let what = format!("{} has no links, so it has no routing", topology.name());
            return refused(what).map_err(|e| e.advise("leave out what follows the comma"));
        }
        let fitting = RoutingKind::of(topology.as_ref());
        if kind != RoutingKind::Usual && !fitting.contains(&kind) {
            let names: Vec<&str> = fitting.iter().map(|kind| kind.name()).collect();
            let what = format!("{} has no routing '{}'", topology.name(), kind.name());
            return refused(what).map_err(|e| match names.is_empty() {
                true => e.advise("leave out what follows the comma"),
                false => e.advise(format!("use one of {}", names.join(", "))),
            });
        }
        let label = format!("{}{options}", topology.name());
        Ok(Routed { topology, kind, charges, label })
    }

    fn links_of(&self) -> Option<&dyn Network> {
        self.topology.network()
    }
}

impl Topology for Routed {
    forwarded!();

    fn name(&self) -> String {
        self.label.clone()
    }

    fn network(&self) -> Option<&dyn Network> {
        self.links_of().map(|_| self as &dyn Network)
    }

    fn rails(&self) -> Option<&Rails> {
        self.topology.rails()
    }
}

impl Network for Routed {
    fn vertices(&self) -> usize {
        self.links_of().map_or(0, Network::vertices)
    }

    fn links(&self) -> usize {
        self.links_of().map_or(0, Network::links)
    }

    fn bandwidth(&self, link: usize) -> f64 {
        self.links_of().map_or(1.0, |network| network.bandwidth(link))
    }

    fn neighbours(&self, vertex: usize, visit: &mut dyn FnMut(usize, usize)) {
        if let Some(network) = self.links_of() {
            network.neighbours(vertex, visit);
        }
    }

    fn route(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize)) {
        if let Some(network) = self.links_of() {
            network.route(from, to, visit);
        }
    }

    fn routing(&self) -> Box<dyn Routing + '_> {
        let routing = self.kind.on(self.topology.as_ref());
        routing.unwrap_or_else(|| Box::new(crate::topology::SinglePath(self)))
    }

    fn charges(&self) -> Charges {
        self.charges
    }
}
