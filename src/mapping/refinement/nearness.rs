//! Chooses by the topology how near places are found.

use super::near::{ListNear, TreeNear};
use crate::mapping::engine::{Lookup, Prepared, with_distance};

/// Places near a place that local search tries.
const WIDTH: usize = 8;

/// Up to this many places, the nearest are found by looking at all pairs.
const SCAN_LIMIT: usize = 2048;

/// Runs `$body` with `$d` bound to the distances of a problem and `$near` to its near places.
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

/// The ways to find near places.
pub(crate) enum Nearness<'a> {
    Tree(TreeNear<'a>),
    List(ListNear),
}

/// The best way for a topology.
pub(crate) fn near_of<'a>(prepared: &'a Prepared<'_, '_>) -> Nearness<'a> {
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
