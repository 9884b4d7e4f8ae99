//! Simulated annealing of pair swaps (Kirkpatrick, Gelatt, Vecchi 1983) from a good start.
//!
//! A proposal takes a random task and a random partner of it, and swaps the task with whoever sits
//! at a random place near the partner: only proposals that can bring a pair together.

use super::near::Near;
use super::refiner::{Refiner, SearchSpace};
use crate::mapping::engine::{Csr, Distance, EMPTY, Placement, Rng};

/// One annealing run. The final state may be worse than the first.
#[derive(Debug, Clone)]
pub(crate) struct Annealing {
    /// Proposals in all.
    pub(crate) steps: u64,
    /// First temperature, in units of the mean uphill step.
    pub(crate) hot: f64,
    /// Last temperature, in the same units.
    pub(crate) cold: f64,
    /// Draws the proposals.
    pub(crate) rng: Rng,
}

/// Entries of the table of −ln(u).
const DRAWS: usize = 4096;

impl<D: Distance, N: Near> Refiner<D, N> for Annealing {
    fn refine(&mut self, space: &SearchSpace<'_, D, N>, placement: &mut Placement) -> i128 {
        run(space.graph, space.distance, space.near, space, self, placement)
    }
}

/// Graph, distance and nearness are parameters of their own: behind `space` the compiler has to assume that
/// each swap may change them, and reads their addresses again.
fn run<D: Distance, N: Near>(
    graph: &Csr,
    d: &D,
    near: &N,
    space: &SearchSpace<'_, D, N>,
    schedule: &mut Annealing,
    placement: &mut Placement,
) -> i128 {
    let budget = space.budget;
    let rng = &mut schedule.rng;
    let movable: Vec<u32> = (0..graph.len() as u32)
        .filter(|&t| !space.is_pinned(t as usize) && graph.degree(t as usize) > 0)
        .collect();
    if movable.is_empty() {
        return 0;
    }
    let propose = |placement: &Placement, rng: &mut Rng| -> Option<(usize, u32)> {
        let u = movable[rng.below(movable.len())] as usize;
        let r = graph.range(u);
        let x = graph.targets[r.start + rng.below(r.len())];
        let q = near.pick(placement.place_of[x as usize], rng);
        if q == placement.place_of[u] {
            return None;
        }
        let v = placement.task_at[q as usize];
        (v == EMPTY || !space.is_pinned(v as usize)).then_some((u, q))
    };
    // The mean uphill step sets the scale of temperatures.
    let (mut uphill, mut count) = (0f64, 0u32);
    for _ in 0..512 {
        if let Some((u, q)) = propose(placement, rng) {
            let delta = placement.delta(graph, d, u, q);
            if delta > 0 {
                uphill += delta as f64;
                count += 1;
            }
        }
    }
    if count == 0 {
        return 0;
    }
    let unit = uphill / f64::from(count);
    // The crate's own logarithm and power: the system's differ between machines by a last bit, and
    // the same seed has to give the same mapping everywhere.
    let draws: Vec<f64> = (0..DRAWS).map(|k| -libm::log((k as f64 + 0.5) / DRAWS as f64)).collect();
    const BLOCK: u64 = 1024;
    let blocks = (schedule.steps / BLOCK).max(1);
    let cooling = libm::pow(schedule.cold / schedule.hot, 1.0 / blocks as f64);
    let mut temperature = unit * schedule.hot;
    let mut change = 0i128;
    for block in 0..blocks {
        if budget.expired() {
            break;
        }
        if block % 16 == 0 {
            budget.report("annealing", block, blocks);
        }
        let mut block_change = 0i64;
        for _ in 0..BLOCK {
            let Some((u, q)) = propose(placement, rng) else { continue };
            let delta = placement.delta(graph, d, u, q);
            if delta <= 0
                || (delta as f64) < temperature * draws[rng.next_u64() as usize & (DRAWS - 1)]
            {
                placement.swap(u, q);
                block_change += delta;
            }
        }
        change += i128::from(block_change);
        temperature *= cooling;
    }
    change
}
