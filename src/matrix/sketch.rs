//! A digest of a graph by which two graphs can be compared: how much of the traffic differs.
//!
//! It is a count sketch (Charikar, Chen, Farach-Colton: "Finding frequent items in data streams", 2002): a hash sends
//! each edge to one of [`COUNTERS`] counters and gives it a sign, and the counter adds up the signed weights. Scalar
//! products of two graphs, seen as vectors of the weights of all pairs, are estimated by those of their sketches. The
//! standard error of such an estimate is 4 % of the lengths.

use super::Graph;
use crate::base::random::SplitMix64;
use serde::{Deserialize, Serialize};

/// Number of counters: a sketch takes at most a few kilobytes for any number of tasks.
const COUNTERS: usize = 512;

/// The sketch of the weights of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficSketch {
    counters: Vec<i128>,
}

impl TrafficSketch {
    /// The sketch of a graph.
    pub fn new(graph: &Graph) -> TrafficSketch {
        let mut counters = vec![0i128; COUNTERS];
        for v in 0..graph.vertices() {
            let row = graph.neighbours(v);
            let above = row.partition_point(|&u| u as usize <= v);
            for (&u, &weight) in row[above..].iter().zip(&graph.weights(v)[above..]) {
                let hash = mixed((v as u64) << 32 | u64::from(u));
                let weight = i128::from(weight);
                // The top bits choose the counter, and the lowest one the sign.
                let counter = &mut counters[(hash >> 32) as usize % COUNTERS];
                *counter += if hash & 1 == 0 { weight } else { -weight };
            }
        }
        TrafficSketch { counters }
    }

    /// About what part of the traffic of this graph is not that of the other one times a common factor: 0 if all
    /// weights have the same ratio, 1 if no pair has traffic in both graphs. It is a part of the sum of the squares of
    /// the weights, so heavy pairs count more than light ones.
    pub fn share_changed(&self, other: &TrafficSketch) -> f64 {
        if self.counters.len() != other.counters.len() {
            return 1.0;
        }
        let product = |a: &TrafficSketch, b: &TrafficSketch| -> f64 {
            a.counters.iter().zip(&b.counters).map(|(&x, &y)| x as f64 * y as f64).sum()
        };
        let (own, others) = (product(self, self), product(other, other));
        let common = product(self, other);
        share(own, others, common)
    }
}

/// How a graph differs from an earlier one with as many vertices: what part of it is not the other one times a
/// common factor, in squares of the weights ([`TrafficSketch::share_changed`] estimates it), and which
/// vertices have other edges.
pub fn difference(graph: &Graph, before: &Graph) -> (f64, Vec<bool>) {
    let (mut own, mut others, mut common) = (0.0, 0.0, 0.0);
    let mut differ = vec![false; graph.vertices()];
    for (v, differs) in differ.iter_mut().enumerate() {
        let mut row = before.arcs(v).peekable();
        for (u, weight) in graph.arcs(v) {
            own += weight as f64 * weight as f64;
            while let Some((_, old)) = row.next_if(|&(t, _)| t < u) {
                others += old as f64 * old as f64;
                *differs = true;
            }
            let old = row.next_if(|&(t, _)| t == u).map_or(0, |(_, old)| old);
            others += old as f64 * old as f64;
            common += weight as f64 * old as f64;
            *differs |= old != weight;
        }
        for (_, old) in row {
            others += old as f64 * old as f64;
            *differs = true;
        }
    }
    (share(own, others, common), differ)
}

/// The part of a vector that is no multiple of another one, from the squares of their lengths and their product.
fn share(own: f64, others: f64, common: f64) -> f64 {
    if own <= 0.0 || others <= 0.0 {
        return if own == others { 0.0 } else { 1.0 };
    }
    if common <= 0.0 {
        return 1.0;
    }
    (1.0 - (common / own) * (common / others)).clamp(0.0, 1.0)
}

/// A well mixed number for each number.
fn mixed(number: u64) -> u64 {
    SplitMix64::new(number).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::synthetic::pattern;
    use proptest::prelude::*;

    /// The edges of a pattern.
    fn edges(text: &str) -> Vec<(u32, u32, u64)> {
        let graph = pattern(text).unwrap();
        let arcs = |v: usize| graph.arcs(v).map(move |(u, w)| (v as u32, u, w)).collect::<Vec<_>>();
        (0..graph.vertices()).flat_map(arcs).filter(|e| e.0 < e.1).collect()
    }

    fn changed(from: &[(u32, u32, u64)], to: &[(u32, u32, u64)]) -> f64 {
        let sketch = |edges| TrafficSketch::new(&Graph::from_edges(2000, edges));
        sketch(to).share_changed(&sketch(from))
    }

    #[test]
    fn the_share_is_about_the_part_of_the_edges_that_changed() {
        let before = edges("rgg:2000");
        assert_eq!(changed(&before, &before), 0.0);
        let tripled: Vec<_> = before.iter().map(|&(i, j, w)| (i, j, 3 * w)).collect();
        assert!(changed(&before, &tripled) < 1e-12);
        // Every tenth edge goes to another task: the products of the rest are 0.9 of the whole.
        let moved = |&(i, j, w): &(u32, u32, u64)| (i, (i + 997 + j % 5) % 2000, w);
        let after: Vec<_> = before
            .iter()
            .enumerate()
            .map(|(k, edge)| if k % 10 == 0 { moved(edge) } else { *edge })
            .collect();
        let share_of_tenth = changed(&before, &after);
        assert!((0.13..0.25).contains(&share_of_tenth), "{share_of_tenth}");
        let all: Vec<_> = before.iter().map(moved).collect();
        assert!(changed(&before, &all) > 0.9);
        assert_eq!(
            (changed(&before, &[]), changed(&[], &before), changed(&[], &[])),
            (1.0, 1.0, 0.0)
        );
    }

    #[test]
    fn graphs_are_compared_vertex_by_vertex() {
        let before = Graph::from_edges(5, &[(0, 1, 2), (1, 2, 4), (3, 4, 1)]);
        let (share, differ) = difference(&before, &before);
        assert_eq!((share, differ), (0.0, vec![false; 5]));
        let after = Graph::from_edges(5, &[(0, 1, 2), (1, 3, 4), (3, 4, 1)]);
        let (share, differ) = difference(&after, &before);
        assert_eq!(differ, [false, true, true, true, false]);
        // Of the squares 4, 16 and 1, that of the moved edge is not common.
        assert!((share - (1.0 - (5.0f64 / 21.0).powi(2))).abs() < 1e-12, "{share}");
        assert_eq!(difference(&Graph::from_edges(5, &[]), &before).0, 1.0);
    }

    proptest! {
        #[test]
        fn a_share_is_between_0_and_1_for_any_weights(
            a in prop::collection::vec((0u32..9, 0u32..9, any::<u64>()), 0..20),
            b in prop::collection::vec((0u32..9, 0u32..9, any::<u64>()), 0..20),
        ) {
            let of_both = changed(&a, &b);
            prop_assert!((0.0..=1.0).contains(&of_both));
            prop_assert!(changed(&a, &a) == 0.0);
        }
    }
}
