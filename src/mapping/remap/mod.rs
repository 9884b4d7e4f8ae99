//! A new mapping after a change of resources, with little movement.
//!
//! What counts is the objective plus a price for every task that leaves its slot. Tasks whose slot
//! is gone must move and cost the same. Candidates are the previous mapping with the homeless
//! tasks placed greedily, a fresh mapping turned by the machine's symmetries to where most tasks
//! were, and mixtures of both: the difference of two mappings falls apart into chains of tasks that
//! follow each other, and each chain pays for itself or not. A local search that knows the price
//! works on each; the independent evaluator decides.

mod align;
mod chains;
mod local_search;

#[cfg(test)]
mod tests;

use super::engine::{Prepared, with_distance};
use super::evaluation::value;
use super::problem::refused;
use super::{Budget, Mapper, Objective, Outcome, Problem};
use crate::base::error::Result;

/// The previous mapping and what leaving it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// The slot that every task had; it need not exist any more. Tasks beyond the end are new and
    /// move for free.
    pub slot_of_task: Vec<usize>,
    /// Price of one moved task, in units of the objective: hop-bytes, that is bytes times
    /// distance, so that moving B bytes of a task's data over d hops costs B·d; for total hops,
    /// hops.
    pub migration_cost: u64,
}

/// A mapping with what was moved for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Remapped {
    /// The mapping.
    pub outcome: Outcome,
    /// Tasks that are not on their previous slot.
    pub moved: usize,
    /// Of these, those whose previous slot may not be used any more.
    pub forced: usize,
}

impl Previous {
    /// The slot a task had, if it had one.
    fn slot(&self, task: usize) -> Option<usize> {
        self.slot_of_task.get(task).copied()
    }

    /// Number of tasks that are not where they were.
    pub fn moved(&self, slot_of_task: &[usize]) -> usize {
        let before = self.slot_of_task.iter();
        slot_of_task.iter().zip(before).filter(|(now, before)| now != before).count()
    }
}

/// Maps anew with the price of moves; fresh candidates come from `mapper`.
///
/// Errors: more previous slots than tasks; an objective whose value has no common unit with a price
/// per task (a maximum); what the algorithm refuses.
pub fn remap(
    problem: &Problem<'_>,
    previous: &Previous,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<Remapped> {
    check(previous, problem.tasks(), problem.objective())?;
    let prepared = Prepared::new(problem);
    let seats = Seats::new(problem, previous);
    let fresh = mapper.map(problem, budget)?.place_of_task;
    let turned = align::to_previous(&prepared, &seats, fresh.clone());
    let stay = with_distance!(&prepared.lookup, d => local_search::stay(&prepared, &seats, d));
    let price = prepared.scale.price(previous.migration_cost);
    let mut candidates = Vec::new();
    with_distance!(&prepared.lookup, d => {
        for (from, to) in [(&stay, &turned), (&turned, &stay)] {
            candidates.push(chains::merge(&prepared, &seats, d, from, to, price));
        }
    });
    candidates.extend([stay, turned, fresh]);
    let mut best: Option<(f64, u128, Remapped)> = None;
    for place_of in candidates {
        let settled = local_search::settle(&prepared, &seats, place_of.clone(), price, budget);
        for answer in [place_of, settled] {
            let outcome = Outcome::new(problem, answer);
            let moved = previous.moved(&outcome.slot_of_task);
            let paid = u128::from(previous.migration_cost).saturating_mul(moved as u128);
            // Whole numbers decide where they can.
            let (real, whole) = match problem.objective() {
                Objective::TotalHops => {
                    (value(problem, &outcome.slot_of_task).unwrap_or(0.0) + paid as f64, 0)
                }
                _ => (0.0, outcome.hop_bytes.saturating_add(paid)),
            };
            let key = |b: &(f64, u128, Remapped)| (real, whole, moved) < (b.0, b.1, b.2.moved);
            if best.as_ref().is_none_or(key) {
                best = Some((real, whole, Remapped { outcome, moved, forced: seats.forced }));
            }
        }
    }
    let best = best.ok_or_else(|| refused("there is no candidate").advise("another algorithm"))?;
    Ok(best.2)
}

/// Refuses what has no answer.
pub(super) fn check(previous: &Previous, tasks: usize, objective: Objective) -> Result<()> {
    if previous.slot_of_task.len() > tasks {
        let before = previous.slot_of_task.len();
        return Err(refused(format!(
            "the previous mapping has {before} tasks, the matrix {tasks}"
        ))
        .advise("the mapping of the same program"));
    }
    let sums = [Objective::HopBytes, Objective::SumCom, Objective::TotalHops];
    if !sums.contains(&objective) {
        return Err(refused(format!("a price for moves has no meaning for {}", objective.name()))
            .advise("--objective hop-bytes or total-hops"));
    }
    Ok(())
}

/// Where tasks were, in places.
struct Seats {
    /// The first place of the slot a task had, by task; `u32::MAX` if it had none or lost it.
    first_place: Vec<u32>,
    /// The first place of the slot that a place belongs to.
    slot_place: Vec<u32>,
    /// Tasks that had a slot that is gone.
    forced: usize,
}

/// No place.
const NONE: u32 = u32::MAX;

impl Seats {
    fn new(problem: &Problem<'_>, previous: &Previous) -> Seats {
        let mut first = vec![NONE; problem.topology().slots()];
        let mut slot_place = Vec::with_capacity(problem.places().len());
        for (place, &slot) in problem.places().iter().enumerate() {
            let at = &mut first[slot as usize];
            if *at == NONE {
                *at = place as u32;
            }
            slot_place.push(*at);
        }
        let mut forced = 0;
        let first_place = (0..problem.tasks())
            .map(|task| {
                let Some(slot) = previous.slot(task) else { return NONE };
                let place = first.get(slot).copied().unwrap_or(NONE);
                forced += usize::from(place == NONE);
                place
            })
            .collect();
        Seats { first_place, slot_place, forced }
    }

    /// 1 if a task on this place has moved and it was its own decision.
    fn left(&self, task: usize, place: u32) -> i64 {
        let home = self.first_place[task];
        i64::from(home != NONE && self.slot_place[place as usize] != home)
    }
}
