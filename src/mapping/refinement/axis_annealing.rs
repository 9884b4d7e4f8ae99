//! Annealing on grids, where all places near a partner are judged together.
//!
//! A random task and a random partner of it are drawn as on other topologies. But in place of one place near the partner,
//! all of them are judged. They are tried one after the other from a random one on, until the task moves. What is needed
//! for a task is read once for all these places, and whether any of them is taken is one branch, which the processor
//! predicts well. A proposal takes half of the time that it takes alone.
//!
//! Taken alone, each draw has the distribution that annealing needs. The draws for one task are spread evenly: where one
//! place is refused, the next is taken somewhat more often than with independent draws.
//!
//! Limits: eight places of a longer list are looked at, and draws have 1024 values.

use super::axis_costs::{Amount, AxisCosts, BUNCH};
use super::near::{ListNear, Near};
use super::proposals::{BLOCK, Proposals, Taken, exponential};
use crate::mapping::engine::{Placement, Rng};
use std::sync::LazyLock;

/// Entries of [`DRAWS`], without the repeated ones at the end.
const ENTRIES: usize = 1024;

/// Odd, and about the entries divided by the golden ratio: the draws that follow one another are spread evenly.
const STRIDE: usize = 633;

/// −ln(u) for evenly spaced u, in an order in which those that follow one another are far apart. The first ones are
/// repeated at the end, so that a bunch may begin with each.
static DRAWS: LazyLock<Box<[f32; ENTRIES + BUNCH]>> = LazyLock::new(|| {
    Box::new(std::array::from_fn(|k| exponential(k * STRIDE % ENTRIES, ENTRIES) as f32))
});

/// A block of proposals, judged by tables.
pub(super) fn block<A: Amount>(
    costs: &mut AxisCosts<'_, A>,
    proposals: &Proposals<'_>,
    near: &ListNear,
    placement: &mut Placement,
    temperature: f64,
    rng: &mut Rng,
) -> Taken {
    let (all_draws, temperature) = (&**DRAWS, temperature as f32);
    let arcs = &proposals.graph.arcs;
    let (mut taken, mut looked) = (Taken::default(), 0);
    let mut least = [A::default(); BUNCH];
    while looked < BLOCK as usize {
        let (u, arc) = proposals.pair(rng);
        let partner = arcs.target(arc);
        let places = near.nearest(placement.place_of[partner as usize]);
        let coin = rng.next_u64();
        let places = window(places, coin);
        let draws = &all_draws[coin as usize % ENTRIES..][..BUNCH];
        let most = |k: usize| temperature * draws[k];

        costs.at_least(placement, u, places, &mut least);
        let is_first = places[0] == placement.place_of[partner as usize];
        if is_first {
            least[0] += A::of(costs.of_edge(placement, u, places[0], arcs.weight(arc)));
        }
        // The set of the places that may be taken. A place in the same slot as the task's own changes nothing.
        let mut hopeful = 0u32;
        for (k, least) in least.iter().enumerate() {
            hopeful |= u32::from(least.to_f32() < most(k)) << k;
        }
        hopeful &= !costs.same_slot(placement, u, places) & ((1 << places.len()) - 1);
        looked += places.len();

        let first = ((coin >> 48) as usize * places.len()) >> 16;
        while hopeful != 0 {
            let from_first = hopeful >> first << first;
            let k = if from_first != 0 { from_first } else { hopeful }.trailing_zeros() as usize;
            hopeful &= !(1 << k);
            let q = places[k];
            if !proposals.may_move(placement, u, q) {
                continue;
            }
            let is_counted = is_first && k == 0;
            let edge = if is_counted { 0 } else { costs.between(placement, u, q) };
            let change = least[k].into() + edge;
            if (change as f32) < most(k) {
                costs.swap(placement, u, q);
                taken.count += 1;
                taken.change += change;
                // The places after this one were not proposed.
                looked -= (first + places.len() - 1 - k) % places.len();
                break;
            }
        }
    }
    taken
}

/// The places of a list that are looked at: of a long one, a random part.
#[inline(always)]
fn window(places: &[u32], coin: u64) -> &[u32] {
    match places.len().checked_sub(BUNCH) {
        None | Some(0) => places,
        Some(more) => &places[(coin >> 32) as u16 as usize % (more + 1)..][..BUNCH],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values are there once, and the draws of a bunch are from all parts of the range.
    #[test]
    fn draws_are_spread_evenly() {
        let mut values: Vec<f32> = DRAWS[..ENTRIES].to_vec();
        values.sort_by(f32::total_cmp);
        values.dedup();
        assert_eq!(values.len(), ENTRIES);
        let mean = values.iter().sum::<f32>() / ENTRIES as f32;
        assert!((mean - 1.0).abs() < 0.001, "the mean of an exponential draw is 1, not {mean}");
        for bunch in DRAWS.windows(BUNCH) {
            let large = bunch.iter().filter(|&&draw| draw > std::f32::consts::LN_2).count();
            assert!((3..=5).contains(&large), "{bunch:?}");
        }
    }
}
