//! The portfolio itself.

use super::candidate::Candidate;
use super::generators::candidates;
use super::objectives::{lower_largest, lower_links};
use super::polish;
use crate::base::error::Result;
use crate::mapping::engine::Prepared;
use crate::mapping::evaluation::value;
use crate::mapping::{Budget, Mapper, Objective, Outcome, Problem, papers};

/// Portfolio of algorithms; the given order is always a candidate.
pub struct Auto;

impl Mapper for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn source(&self) -> &'static str {
        "portfolio; sources at its parts"
    }

    fn compares(&self) -> bool {
        true
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let given =
            || Outcome::new(problem, problem.identity_places()).with("chosen", "given order");
        if problem.tasks() < 2 || problem.graph().edges() == 0 {
            return Ok(given());
        }
        let search = || {
            let prepared = Prepared::new(problem);
            let best = by_hops(&prepared, budget);
            (prepared, best)
        };
        // Judging the given order walks all over memory; a second thread can do it meanwhile.
        let (given, (prepared, best)) = match budget.threads() > 1 && problem.tasks() >= 65_536 {
            false => (given(), search()),
            true => std::thread::scope(|scope| {
                let beside = scope.spawn(given);
                let found = search();
                (beside.join().unwrap_or_else(|_| given()), found)
            }),
        };
        let best = best.unwrap_or_else(|| given.clone());
        match problem.objective() {
            Objective::HopBytes | Objective::SumCom => {
                Ok(if best.hop_bytes < given.hop_bytes { best } else { given })
            }
            _ => Ok(best_for_objective(&prepared, given, best, budget)),
        }
    }
}

/// The best answer in hops, weighted as the graph of the problem is.
fn by_hops(prepared: &Prepared<'_, '_>, budget: &Budget) -> Option<Outcome> {
    let problem = prepared.problem;
    let (candidates, effort) = candidates(prepared, budget);
    let mut list: Vec<(i128, Candidate)> = candidates
        .into_iter()
        .map(|mut candidate| {
            prepared.honour_fixed(&mut candidate.place_of);
            (0, candidate)
        })
        .collect();
    // On a large tree the only candidate has nothing to be compared with.
    if list.len() > 1 || prepared.tree.is_none() {
        list.iter_mut().for_each(|(cost, c)| *cost = prepared.cost(&c.place_of));
    }
    let alone = list.len() == 1;
    list.sort_by_key(|(cost, _)| *cost);
    // A placement by the stencil alone that comes first does not take the place of those that local
    // search improves more: they are refined as well.
    let ahead = list.first().is_some_and(|(_, candidate)| candidate.by_stencil);
    let first = ahead.then(|| list.remove(0));
    if first.is_none() {
        list.retain(|(_, candidate)| !candidate.by_stencil);
    }
    let lowest = list.first().map_or(0, |(cost, _)| *cost);
    // Those that local search could still turn round.
    list.retain(|(cost, _)| *cost <= lowest + lowest / 50);
    list.truncate(effort.polished);
    if let Some(first) = first {
        list.retain(|(cost, _)| *cost <= first.0 + first.0 / 8);
        list.insert(0, first);
    }
    let polished = list.into_iter().map(|(cost, candidate)| {
        if prepared.tree.is_none() && cost == prepared.least() {
            return (cost, candidate);
        }
        let place_of = polish(prepared, candidate.place_of, &effort, budget);
        let cost = if alone { 0 } else { prepared.cost(&place_of) };
        (cost, Candidate { place_of, ..candidate })
    });
    let (_, best) = polished.min_by_key(|(cost, _)| *cost)?;
    let place_of = prepared.by_task(best.place_of);
    Some(Outcome::by(budget.threads(), problem, place_of).with("chosen", best.name))
}

/// The best of the given order, the hop-bytes answer and what the objective's own search makes.
fn best_for_objective(
    prepared: &Prepared<'_, '_>,
    given: Outcome,
    by_hops: Outcome,
    budget: &mut Budget,
) -> Outcome {
    let problem = prepared.problem;
    let mut list = Vec::new();
    match problem.objective() {
        Objective::MaxCom => {
            for (start, name) in
                [(&by_hops, "largest pair lowered"), (&given, "given order, largest pair lowered")]
            {
                let start = prepared.by_vertex(start.place_of_task.clone());
                let place_of = prepared.by_task(lower_largest(prepared, start, budget));
                list.push(Outcome::new(problem, place_of).with("chosen", name));
            }
        }
        Objective::Mc | Objective::Mmc | Objective::Time => {
            let place_of = by_hops.place_of_task.clone();
            if let Some(place_of) = lower_links(prepared, place_of, budget) {
                list.push(
                    Outcome::new(problem, place_of).with("chosen", "most loaded link lowered"),
                );
            }
            let umpa = match problem.objective() {
                Objective::Mmc => papers::MAXIMUM_MESSAGE_CONGESTION,
                _ => papers::MAXIMUM_CONGESTION,
            };
            // On large machines the paper's refinement takes longer than all the rest.
            if problem.tasks() <= 4096
                && let Ok(outcome) = umpa.map(problem, budget)
            {
                list.push(outcome.with("chosen", umpa.name()));
            }
        }
        Objective::TotalHops => {
            // Hop-bytes count light pairs less, and may still be the better start.
            let weighed = problem.with_objective(Objective::HopBytes);
            if let Some(outcome) = self::by_hops(&Prepared::new(&weighed), budget) {
                list.push(outcome);
            }
        }
        Objective::HopBytes | Objective::SumCom => {}
    }
    let mut best = given;
    let mut lowest = value(problem, &best.slot_of_task);
    for outcome in std::iter::once(by_hops).chain(list) {
        let cost = value(problem, &outcome.slot_of_task);
        if cost.is_some_and(|c| lowest.is_none_or(|l| c < l)) {
            lowest = cost;
            best = outcome;
        }
    }
    best
}
