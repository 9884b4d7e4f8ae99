//! How networks choose among the paths of a message, by the names that users give.

mod detours;
mod hashed;
mod minimal_paths;
mod routed;
mod shortest_paths;

#[cfg(test)]
mod tests;

pub use routed::Routed;

use super::{Routing, SinglePath, Topology};
use crate::base::named_enum::named_enum;

named_enum! {
    /// A routing; the names are those after `routing=` in the description of a topology.
    #[derive(Default)]
    pub enum RoutingKind, "routing" {
        /// That which the kind of network has if nothing is said.
        #[default]
        Usual = "usual",
        /// Meshes and tori: along one dimension after the other.
        DimensionOrder = "dimension-order",
        /// Dragonflies: always the shortest path. Networks by their links: a forwarding table.
        Static = "static",
        /// Messages avoid loaded links. On meshes, tori and networks by their links they use all shortest paths, on
        /// dragonflies also longer ones.
        Adaptive = "adaptive",
        /// Dragonflies: always over a third group.
        Valiant = "valiant",
        /// Trees, and networks by their links: a hash chooses one of the shortest paths for each pair.
        Ecmp = "ecmp",
        /// Trees: the bytes of each pair are spread over all parallel links.
        Ideal = "ideal",
    }
}

impl RoutingKind {
    /// The routings that the kind of network of a topology can have.
    pub fn of(topology: &dyn Topology) -> &'static [RoutingKind] {
        use RoutingKind::{Adaptive, DimensionOrder, Ecmp, Ideal, Static, Valiant};
        match () {
            () if topology.as_grid().is_some() => &[DimensionOrder, Adaptive],
            () if topology.as_dragonfly().is_some() => &[Static, Valiant, Adaptive],
            () if topology.as_graph().is_some() => &[Static, Ecmp, Adaptive],
            () if topology.as_tree().is_some() => &[Ideal, Ecmp],
            () => &[],
        }
    }

    /// This routing on the network of a topology; that of the network itself where it does not fit.
    pub(super) fn on(self, topology: &dyn Topology) -> Option<Box<dyn Routing + '_>> {
        let network = topology.network()?;
        let (grid, dragonfly) = (topology.as_grid(), topology.as_dragonfly());
        Some(match (self, grid, dragonfly, topology.as_graph()) {
            (RoutingKind::Adaptive, Some(grid), _, _) => {
                Box::new(minimal_paths::MinimalPaths(grid))
            }
            (RoutingKind::Valiant, _, Some(dragonfly), _) => Box::new(detours::Valiant(dragonfly)),
            (RoutingKind::Adaptive, _, Some(dragonfly), _) => {
                Box::new(detours::Adaptive(dragonfly))
            }
            (RoutingKind::Ecmp, _, _, Some(graph)) => Box::new(shortest_paths::Hashed(graph)),
            (RoutingKind::Adaptive, _, _, Some(graph)) => Box::new(shortest_paths::Spread(graph)),
            (RoutingKind::Ecmp, None, None, None) => Box::new(hashed::Hashed::new(topology)),
            (RoutingKind::Static | RoutingKind::DimensionOrder | RoutingKind::Ideal, ..) => {
                Box::new(SinglePath(network))
            }
            _ => network.routing(),
        })
    }
}
