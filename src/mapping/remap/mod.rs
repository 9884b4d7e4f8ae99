//! A new mapping after a change of resources, with little movement.
//!
//! It minimises the objective plus a price for every task that leaves its slot. Tasks whose slot is gone
//! must move; their price is the same in every candidate. The candidates are:
//!
//! * the previous mapping, in which the tasks whose slot is gone are placed greedily;
//! * a fresh mapping, turned by the machine's symmetries so that most tasks are where they were;
//! * mixtures of both. The moves that lead from one mapping to the other form chains, in which each task
//!   takes the place of the next one. A chain is applied if it saves more than it costs.
//!
//! A local search that knows the price improves each; the independent evaluator chooses the best.

mod adapt;
mod align;
mod chains;
mod local_search;

#[cfg(test)]
mod tests;

use super::engine::{Prepared, with_distance};
use super::evaluation::value;
use super::problem::refused;
use super::{Budget, Mapper, Objective, Outcome, Preset, Problem};
use crate::base::error::{Error, Result};
use crate::base::nouns::counted;
pub use adapt::{Basis, adapt, remap_from};

/// The previous mapping and what leaving it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// The slot that every task had; it need not exist any more. Tasks beyond the end are new, and have no
    /// price.
    pub slot_of_task: Vec<usize>,
    /// Price of one moved task, in units of the objective. For hop-bytes these are bytes times distance:
    /// moving B bytes of a task's data over d hops costs B·d. For total hops they are hops.
    pub migration_cost: u64,
}

/// A mapping with what was moved for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Remapped {
    /// The mapping.
    pub outcome: Outcome,
    /// Tasks that are not on their previous slot.
    pub moved: usize,
    /// The number of moved tasks whose previous slot may not be used any more.
    pub forced: usize,
}

impl Previous {
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
    let budget = &mut budget.as_needed();
    // A stronger preset has the answers of the weaker ones too, so it is never worse.
    let first = if mapper.compares() { Preset::Fast } else { problem.preset() };
    let mut best: Option<(Worth, Remapped)> = None;
    for preset in problem.preset().and_cheaper().skip(first as usize) {
        if best.is_some() && budget.expired() {
            break;
        }
        let problem = problem.with_preset(preset);
        let (worth, answer) = remap_by_preset(&problem, previous, mapper, budget)?;
        if best.as_ref().is_none_or(|best| worth < best.0) {
            best = Some((worth, answer));
        }
    }
    best.map(|best| best.1).ok_or_else(no_candidate)
}

/// Value with prices as a real and as a whole number, one of them 0, and the number of moved tasks.
type Worth = (f64, u128, usize);

fn no_candidate() -> Error {
    refused("there is no candidate").advise("use another algorithm")
}

/// The best mapping with the preset of the problem, and its worth.
fn remap_by_preset(
    problem: &Problem<'_>,
    previous: &Previous,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<(Worth, Remapped)> {
    let prepared = Prepared::new(problem);
    let old = OldPlaces::new(problem, previous);
    let fresh = mapper.map(problem, budget)?.place_of_task;
    let turned = align::to_previous(&prepared, &old, fresh.clone());
    let stay = with_distance!(&prepared.lookup, d => local_search::stay(&prepared, &old, d));
    let price = prepared.scale.price(previous.migration_cost);
    let mut candidates = Vec::new();
    with_distance!(&prepared.lookup, d => {
        for (from, to) in [(&stay, &turned), (&turned, &stay)] {
            candidates.push(chains::merge(&prepared, &old, d, from, to, price));
        }
    });
    candidates.extend([stay, turned, fresh]);
    let settled = candidates.into_iter().flat_map(|place_of| {
        let settled = local_search::settle(&prepared, &old, place_of.clone(), price, budget);
        [place_of, settled]
    });
    let judged = settled.map(|answer| {
        let outcome = Outcome::new(problem, answer);
        let moved = previous.moved(&outcome.slot_of_task);
        let paid = u128::from(previous.migration_cost).saturating_mul(moved as u128);
        // The comparison uses whole numbers if the objective has them.
        let (real, whole) = match problem.objective() {
            Objective::TotalHops => {
                (value(problem, &outcome.slot_of_task).unwrap_or(0.0) + paid as f64, 0)
            }
            _ => (0.0, outcome.hop_bytes.saturating_add(paid)),
        };
        ((real, whole, moved), outcome)
    });
    let best = judged.reduce(|best, other| if other.0 < best.0 { other } else { best });
    let (worth, outcome) = best.ok_or_else(no_candidate)?;
    Ok((worth, Remapped { outcome, moved: worth.2, forced: old.forced }))
}

/// Refuses requests that have no answer.
pub(super) fn check(previous: &Previous, tasks: usize, objective: Objective) -> Result<()> {
    if previous.slot_of_task.len() > tasks {
        let before = previous.slot_of_task.len();
        return Err(refused(format!(
            "the previous mapping has {}, but the matrix has {tasks}",
            counted(before, "task")
        ))
        .advise("give the mapping of the same program"));
    }
    let sums = [Objective::HopBytes, Objective::SumCom, Objective::TotalHops];
    if !sums.contains(&objective) {
        return Err(refused(format!(
            "--previous needs an objective that is a sum over pairs, and {} \
                                    is none",
            objective.name()
        ))
        .advise("use --objective hop-bytes or total-hops"));
    }
    Ok(())
}

/// The previous mapping, in places.
struct OldPlaces {
    /// The first place of the slot a task had, by task; `u32::MAX` if it had none or lost it.
    first_place: Vec<u32>,
    /// The first place of the slot that a place belongs to.
    slot_place: Vec<u32>,
    /// Tasks that had a slot that is gone.
    forced: usize,
}

/// No place.
const NONE: u32 = u32::MAX;

impl OldPlaces {
    fn new(problem: &Problem<'_>, previous: &Previous) -> OldPlaces {
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
                let Some(&slot) = previous.slot_of_task.get(task) else { return NONE };
                let place = first.get(slot).copied().unwrap_or(NONE);
                forced += usize::from(place == NONE);
                place
            })
            .collect();
        OldPlaces { first_place, slot_place, forced }
    }

    /// 1 if the previous slot of a task may still be used and this place is not on it, else 0.
    fn left(&self, task: usize, place: u32) -> i64 {
        let home = self.first_place[task];
        i64::from(home != NONE && self.slot_place[place as usize] != home)
    }
}
