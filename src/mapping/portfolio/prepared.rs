//! A problem in the engine's own terms, shared by all candidates.

use crate::mapping::refinement::cost;
use crate::mapping::work::{Csr, Lookup, Rng, Scale, TreePlaces, lookup};
use crate::mapping::{Objective, Problem};

/// Scaled graph, sorted places, distances.
pub(crate) struct Prepared<'a, 'b> {
    pub(crate) problem: &'b Problem<'a>,
    pub(crate) graph: Csr,
    pub(crate) tree: Option<TreePlaces>,
    pub(crate) lookup: Lookup<'a, 'b>,
    pub(crate) pinned: Vec<bool>,
    pub(crate) rng: Rng,
}

impl<'a, 'b> Prepared<'a, 'b> {
    pub(crate) fn new(problem: &'b Problem<'a>) -> Self {
        let graph = problem.graph();
        let scale = Scale::new(graph.total_weight(), largest_distance(problem));
        let mut csr = Csr::from_graph(graph, scale);
        if problem.objective() == Objective::TotalHops {
            csr.weights.iter_mut().for_each(|w| *w = 1);
        }
        let tree =
            problem.topology().as_tree().and_then(|t| TreePlaces::new(t, problem.places(), scale));
        let lookup = lookup(problem, tree.as_ref(), scale);
        let pinned = if problem.has_fixed() {
            (0..problem.tasks()).map(|t| problem.fixed_place(t).is_some()).collect()
        } else {
            Vec::new()
        };
        Prepared { problem, graph: csr, tree, lookup, pinned, rng: Rng::new(problem.seed()) }
    }

    /// Cost of a mapping in the search's own numbers.
    pub(crate) fn cost(&self, place_of: &[u32]) -> i128 {
        match &self.lookup {
            Lookup::Tree(d) => cost(&self.graph, d, place_of),
            Lookup::Table(d) => cost(&self.graph, d, place_of),
            Lookup::Asked(d) => cost(&self.graph, d, place_of),
        }
    }

    /// What no mapping can beat where all distances are at least 1: every pair at distance 1.
    /// Only meaningful for grids; trees reach it only if everything fits in one group.
    pub(crate) fn least(&self) -> i128 {
        self.graph.weights.iter().map(|&w| i128::from(w)).sum::<i128>() / 2
    }

    /// The place on each slot, where every slot has exactly one.
    pub(crate) fn places_of_slots(&self, slots: &[u32]) -> Option<Vec<u32>> {
        let mut place_at = vec![u32::MAX; self.problem.topology().slots()];
        for (place, &slot) in self.problem.places().iter().enumerate() {
            let at = &mut place_at[slot as usize];
            if *at != u32::MAX {
                return None;
            }
            *at = place as u32;
        }
        slots
            .iter()
            .map(|&s| place_at.get(s as usize).copied().filter(|&p| p != u32::MAX))
            .collect()
    }

    /// Puts fixed tasks where they belong, by swaps; the rest of the answer stays.
    pub(crate) fn honour_fixed(&self, place_of: &mut [u32]) {
        if self.pinned.is_empty() {
            return;
        }
        let mut at = vec![u32::MAX; self.problem.places().len()];
        for (task, &place) in place_of.iter().enumerate() {
            at[place as usize] = task as u32;
        }
        for task in 0..place_of.len() {
            let Some(wanted) = self.problem.fixed_place(task) else { continue };
            let (here, other) = (place_of[task] as usize, at[wanted]);
            if here == wanted {
                continue;
            }
            place_of[task] = wanted as u32;
            at[wanted] = task as u32;
            at[here] = other;
            if let Some(p) = place_of.get_mut(other as usize) {
                *p = here as u32;
            }
        }
    }
}

/// An upper bound for the distances between the problem's places.
fn largest_distance(problem: &Problem<'_>) -> u64 {
    if let Some(tree) = problem.topology().as_tree() {
        return (0..tree.levels()).map(|l| tree.cost(l)).max().unwrap_or(1).max(1);
    }
    // The triangle inequality bounds all pairs by twice the largest distance from one place; a
    // topology with costs need not obey it, so another factor of 4 is left as margin.
    let places = problem.places();
    let Some(&first) = places.first() else { return 1 };
    places
        .iter()
        .map(|&p| problem.topology().distance(first as usize, p as usize))
        .max()
        .unwrap_or(1)
        .saturating_mul(8)
        .max(1)
}
