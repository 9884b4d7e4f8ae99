//! The best way to know which places are near, by the topology.

use super::near::{ListNear, TreeNear};
use crate::mapping::engine::{Lookup, Prepared, with_distance};

/// Places near a place that local search tries.
const WIDTH: usize = 8;

/// Up to this many places, the nearest are found by looking at all pairs.
const SCAN_LIMIT: usize = 2048;

/// Runs `$body` with `$d` bound to the distance of a problem and `$near` to which places are near.
macro_rules! with_near {
    ($prepared:expr, $d:ident, $near:ident => $body:expr) => {
        match ($crate::mapping::refinement::near_of($prepared), &$prepared.lookup) {
            ($crate::mapping::refinement::Nearness::Tree($near), lookup) => {
                let $near = &$near;
                $crate::mapping::engine::with_distance!(lookup, $d => $body)
            }
            ($crate::mapping::refinement::Nearness::List($near), lookup) => {
                let $near = &$near;
                $crate::mapping::engine::with_distance!(lookup, $d => $body)
            }
        }
    };
}
pub(crate) use with_near;

/// The ways to know which places are near.
pub(crate) enum Nearness {
    Tree(TreeNear),
    List(ListNear),
}

/// The best way for a topology.
pub(crate) fn near_of(prepared: &Prepared<'_, '_>) -> Nearness {
    let places = prepared.problem.places();
    if let (Lookup::Tree(_), Some(tree)) = (&prepared.lookup, &prepared.all) {
        return Nearness::Tree(TreeNear::new(tree));
    }
    Nearness::List(if places.len() <= SCAN_LIMIT {
        with_distance!(&prepared.lookup, d => ListNear::scan(d, places.len(), WIDTH))
    } else if let Some(network) = prepared.problem.topology().network() {
        ListNear::search(network, places, WIDTH)
    } else {
        with_distance!(&prepared.lookup, d => ListNear::sample(d, places.len(), WIDTH, 256))
    })
}
