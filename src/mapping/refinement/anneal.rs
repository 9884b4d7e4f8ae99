//! Simulated annealing of pair swaps (Kirkpatrick, Gelatt, Vecchi 1983) from a good start.
//!
//! A proposal takes a random task and a random partner of it, and moves the task to a random place near
//! the partner. A task on that place moves to the other's place. Thus every proposal can bring a pair
//! together.

use super::near::Near;
use super::refiner::{Refiner, SearchSpace};
use crate::mapping::engine::{Csr, Distance, EMPTY, Placement, Rng};
use std::sync::LazyLock;

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

/// Entries of [`DRAWS`].
const ENTRIES: usize = 4096;

/// −ln(u) for evenly spaced u. The crate's own logarithm and power are used here: the system's differ
/// between machines by a last bit, and the same seed has to give the same mapping everywhere.
static DRAWS: LazyLock<Box<[f64; ENTRIES]>> = LazyLock::new(|| {
    Box::new(std::array::from_fn(|k| -libm::log((k as f64 + 0.5) / ENTRIES as f64)))
});

impl<D: Distance, N: Near> Refiner<D, N> for Annealing {
    fn refine(&mut self, space: &SearchSpace<'_, D, N>, placement: &mut Placement) -> i128 {
        run(space.graph, space.distance, space.near, space, self, placement)
    }
}

/// Graph, distance and nearness are parameters of their own: behind `space` the compiler has to assume
/// that each swap may change them, and reads their addresses again. For the same reason the state of the
/// random numbers is a local copy.
fn run<D: Distance, N: Near>(
    graph: &Csr,
    d: &D,
    near: &N,
    space: &SearchSpace<'_, D, N>,
    schedule: &mut Annealing,
    placement: &mut Placement,
) -> i128 {
    let (budget, pinned, draws) = (space.budget, space.pinned, &**DRAWS);
    let rng = &mut schedule.rng.clone();
    let is_pinned = |t: u32| pinned.get(t as usize).copied().unwrap_or(false);
    let movable: Vec<u32> = (0..graph.len() as u32)
        .filter(|&t| !is_pinned(t) && graph.degree(t as usize) > 0)
        .collect();
    if movable.is_empty() {
        return 0;
    }
    let propose = |placement: &Placement, rng: &mut Rng| -> Option<(usize, u32)> {
        let u = movable[rng.below(movable.len())] as usize;
        let r = graph.range(u);
        let x = graph.arcs.target(r.start + rng.below(r.len()));
        let q = near.pick(placement.place_of[x as usize], rng);
        if q == placement.place_of[u] {
            return None;
        }
        let v = placement.task_at[q as usize];
        (v == EMPTY || !is_pinned(v)).then_some((u, q))
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
            if delta <= 0 || (delta as f64) < temperature * draws[rng.next_u64() as usize % ENTRIES]
            {
                placement.swap(u, q);
                block_change += delta;
            }
        }
        change += i128::from(block_change);
        temperature *= cooling;
    }
    schedule.rng = rng.clone();
    change
}
