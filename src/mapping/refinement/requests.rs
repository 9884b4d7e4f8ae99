//! Requests for memory that a local search needs soon.
//!
//! The vertices of a queue, their partners and the places of these are far from each other in the memory of a large
//! problem. A processor loads them while the search still looks at other vertices, if it is told early enough: first the
//! edges of a vertex, then the places of its partners, and at last what is known about these places.

use super::near::Near;
use crate::mapping::engine::{Csr, Distance, Placement, ask_for};
use std::collections::VecDeque;

/// The data of smaller problems are in the caches of the processor.
const FROM: usize = 65_536;

/// Tells the processor to load what a search needs for the next vertices of `queue`.
#[inline(always)]
pub(crate) fn ask_ahead<D: Distance, N: Near>(
    queue: &VecDeque<u32>,
    graph: &Csr,
    d: &D,
    near: &N,
    placement: &Placement,
) {
    if graph.len() < FROM {
        return;
    }
    if let Some(&v) = queue.get(12) {
        graph.arcs.ask_for(graph.offsets[v as usize]);
    }
    if let Some(&v) = queue.get(8) {
        graph.arcs(v as usize).for_each(|(t, _)| ask_for(&placement.place_of[t..]));
    }
    if let Some(&v) = queue.get(4) {
        for (t, _) in graph.arcs(v as usize) {
            let place = placement.place_of[t];
            near.ask_for(place);
            d.ask_for(place);
        }
    }
}
