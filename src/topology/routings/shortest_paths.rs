//! Networks that are given by their links: all shortest paths, one of them for each pair, or all at once.

use crate::topology::{NetworkGraph, Routing};

/// Each vertex spreads the bytes over all neighbours on shortest paths.
pub(super) struct Spread<'a>(pub(super) &'a NetworkGraph);

/// Each vertex sends a pair to one of these neighbours, chosen by a hash.
pub(super) struct Hashed<'a>(pub(super) &'a NetworkGraph);

impl Routing for Spread<'_> {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        self.0.spread(from, to, visit);
    }
}

impl Routing for Hashed<'_> {
    fn name(&self) -> &'static str {
        "ecmp"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        self.0.spread(from, to, visit);
    }

    fn is_hashed(&self) -> bool {
        true
    }
}
