//! The mapper `auto`: makes candidates, refines the best, and answers with the best of all.

use super::candidate::Candidate;
use super::generators::candidates;
use super::objectives::{lower_largest, lower_links};
use super::polish;
use crate::base::error::Result;
use crate::base::sorting::Arrange;
use crate::mapping::engine::Prepared;
use crate::mapping::evaluation::value;
use crate::mapping::papers::umpa_congestion;
use crate::mapping::{Budget, Mapper, Objective, Outcome, Problem};

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
        // To evaluate the given order takes many accesses to memory. A second thread can do it at the same
        // time.
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
    // On a large tree there is only one candidate, and no comparison.
    let compared = candidates.len() > 1 || prepared.tree.is_none();
    let alone = candidates.len() == 1;
    let mut list: Vec<(i128, Candidate)> = candidates
        .into_iter()
        .map(|mut candidate| {
            prepared.honour_fixed(&mut candidate.place_of);
            (if compared { prepared.cost(&candidate.place_of) } else { 0 }, candidate)
        })
        .collect();
    list.arrange_by_key(|(cost, _)| *cost);
    // The best is refined. Local search improves a placement by the stencil alone less than others:
    // where such a placement is the best, the next one is refined too, unless it is much worse.
    // A folded grid is improved even less. If it keeps most neighbours together, the others are no better.
    let by_stencil = list.first().is_some_and(|(_, candidate)| candidate.by_stencil);
    let loose = |(cost, candidate): &(i128, Candidate)| {
        candidate.folded && *cost > prepared.least() + prepared.least() / 4
    };
    let folded = list.first().is_some_and(loose);
    list.truncate(if by_stencil || folded { 2 } else { 1 });
    if !folded {
        let most = list.first().map_or(0, |(cost, _)| cost + cost / 8);
        list.retain(|(cost, _)| *cost <= most);
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

/// The best of the given order, the answer in hops, and the answers of the objective's own search.
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
            let lowered = lower_links(prepared, place_of, budget);
            list.extend(lowered.map(|place_of| {
                Outcome::new(problem, place_of).with("chosen", "most loaded link lowered")
            }));
            let (umpa, name): (fn(&_, &_) -> _, _) = match problem.objective() {
                Objective::Mmc => (umpa_congestion::by_messages, "umpa-mmc"),
                _ => (umpa_congestion::by_bytes, "umpa-mc"),
            };
            // On large machines the paper's refinement takes longer than all other steps together.
            if problem.tasks() <= 4096
                && let Ok(outcome) = umpa(problem, budget)
            {
                list.push(outcome.with("chosen", name));
            }
        }
        Objective::TotalHops => {
            // The answer for hop-bytes may still be better in total hops.
            let weighed = problem.with_objective(Objective::HopBytes);
            list.extend(self::by_hops(&Prepared::new(&weighed), budget));
        }
        Objective::HopBytes | Objective::SumCom => {}
    }
    let valued = |o: Outcome| (value(problem, &o.slot_of_task).unwrap_or(f64::INFINITY), o);
    let others = std::iter::once(by_hops).chain(list).map(valued);
    others.fold(valued(given), |best, other| if other.0 < best.0 { other } else { best }).1
}
