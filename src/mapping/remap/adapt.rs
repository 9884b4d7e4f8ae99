//! A new mapping after a small change of the traffic, without a new search.
//!
//! The previous mapping is the start. A local search looks at the tasks whose traffic changed, and then at tasks whose
//! surroundings changed. If only a digest of the earlier traffic is known, it looks at each task. A new search is made
//! only if it is likely to find much more:
//!
//! * the traffic changed by more than [`MOST_CHANGED`] since the last search;
//! * the previous mapping is no longer near a local optimum: the local search saves more than [`MOST_SAVED`];
//! * the launcher's order costs no more than the mapping;
//! * tasks lost their slots, or are new;
//! * there are so few places that a search takes milliseconds.
//!
//! The traffic is always compared with that of the last *search*. Many small changes therefore lead to a search in the
//! end, and not to a slow decline.

use super::local_search::PricedSearch;
use super::{NONE, OldPlaces, Previous, Remapped, check, remap};
use crate::base::error::Result;
use crate::mapping::engine::{Placement, Prepared};
use crate::mapping::refinement::{TABU_PLACES, with_near};
use crate::mapping::{Budget, Mapper, Objective, Outcome, Problem};
use crate::matrix::{Graph, TrafficSketch, difference};
use crate::metrics;

/// The largest part of the traffic that may have changed, in squares of the weights.
const MOST_CHANGED: f64 = 0.1;

/// The largest part of the cost of the previous mapping that the local search may save.
const MOST_SAVED: f64 = 0.1;

/// The traffic of the search that a previous mapping comes from.
#[derive(Debug, Clone, Copy)]
pub enum Basis<'a> {
    /// All of it.
    Graph(&'a Graph),
    /// A digest of it.
    Sketch(&'a TrafficSketch),
}

impl Basis<'_> {
    /// What part of the traffic changed, and which tasks have other traffic, if that is known.
    fn compared_with(&self, graph: &Graph) -> (f64, Option<Vec<bool>>) {
        match self {
            Basis::Graph(before) if before.vertices() != graph.vertices() => (1.0, None),
            Basis::Graph(before) => {
                let (share, differ) = difference(graph, before);
                (share, Some(differ))
            }
            Basis::Sketch(before) => (TrafficSketch::new(graph).share_changed(before), None),
        }
    }
}

/// As [`remap()`], but without a new search if the traffic changed little since the search that the previous mapping
/// comes from.
///
/// Errors: those of [`remap()`].
pub fn remap_from(
    problem: &Problem<'_>,
    previous: &Previous,
    basis: Basis<'_>,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<Remapped> {
    check(previous, problem.tasks(), problem.objective())?;
    match adapt(problem, previous, basis, budget) {
        Some(answer) => Ok(answer),
        None => remap(problem, previous, mapper, budget),
    }
}

/// The previous mapping, improved by a local search. It is never worse than the previous mapping and than the given order,
/// each with the price of its moves. `None` if a new search is likely to find much more.
pub fn adapt(
    problem: &Problem<'_>,
    previous: &Previous,
    basis: Basis<'_>,
    budget: &Budget,
) -> Option<Remapped> {
    let by_bytes = matches!(problem.objective(), Objective::HopBytes | Objective::SumCom);
    // A search for few tasks takes milliseconds, and finds more than a local search does.
    let are_few = problem.places().len() <= TABU_PLACES;
    if are_few || !by_bytes || previous.slot_of_task.len() != problem.tasks() {
        return None;
    }
    let (changed, awake) = basis.compared_with(problem.graph());
    if changed > MOST_CHANGED {
        return None;
    }
    let old = OldPlaces::new(problem, previous);
    let before = same_places(problem, &old)?;
    let prepared = Prepared::by_tasks(problem);
    let price = prepared.scale.price(previous.migration_cost);
    let mut placement = Placement::new(before.clone(), problem.places().len());
    let change = with_near!(&prepared, d, near => {
        let search = PricedSearch { prepared: &prepared, old: &old, price, budget, awake };
        search.run(d, near, &mut placement)
    });
    let outcome = |places| {
        let outcome = Outcome::by(budget.threads(), problem, places);
        let moved = previous.moved(&outcome.slot_of_task);
        let paid = u128::from(previous.migration_cost).saturating_mul(moved as u128);
        (outcome.hop_bytes.saturating_add(paid), moved, outcome)
    };
    let after = outcome(placement.place_of);
    // To evaluate a mapping takes long. If the search has no other numbers than the metrics, it knows the change.
    let is_exact = prepared.scale.is_exact() && previous.migration_cost == 0;
    let saved = u128::try_from(-change).unwrap_or(0);
    let before = if is_exact { Err(after.0 + saved) } else { Ok(outcome(before)) };
    let cost_before = before.as_ref().map_or_else(|&cost| cost, |before| before.0);
    if (after.0 as f64) < (1.0 - MOST_SAVED) * cost_before as f64 {
        return None;
    }
    let (worth, moved, outcome) = match before {
        Ok(before) if before.0 < after.0 => before,
        _ => after,
    };
    (!given_order_costs_less(problem, previous, worth)).then(|| Remapped {
        outcome: outcome.with("chosen", "previous mapping, adapted"),
        moved,
        forced: old.forced,
    })
}

/// Whether the given order with the price of its moves costs less than `worth`.
fn given_order_costs_less(problem: &Problem<'_>, previous: &Previous, worth: u128) -> bool {
    let slots = problem.slots_of(&problem.identity_places());
    let moved = previous.moved(&slots) as u128;
    let paid = u128::from(previous.migration_cost).saturating_mul(moved);
    let less = worth.checked_sub(paid).and_then(|rest| rest.checked_sub(1));
    less.is_some_and(|most| {
        metrics::hop_bytes_within(problem.graph(), problem.topology(), &slots, most).is_some()
    })
}

/// The place of each task on its previous slot. `None` if a slot is gone or full, or a task is fixed elsewhere.
fn same_places(problem: &Problem<'_>, old: &OldPlaces) -> Option<Vec<u32>> {
    let mut next = vec![0u32; old.slot_place.len()];
    let mut place_of = Vec::with_capacity(problem.tasks());
    for (task, &first) in old.first_place.iter().enumerate() {
        if first == NONE {
            return None;
        }
        let place = first + next[first as usize];
        next[first as usize] += 1;
        let is_there = old.slot_place.get(place as usize) == Some(&first);
        let is_right =
            problem.fixed_place(task).is_none_or(|fixed| old.slot_place.get(fixed) == Some(&first));
        if !is_there || !is_right {
            return None;
        }
        place_of.push(place);
    }
    Some(place_of)
}
