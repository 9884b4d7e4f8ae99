//! The portfolio itself.

use super::on_grid::on_grid;
use super::other::{lower_largest, lower_links, value};
use super::symmetry::align_tree;
use super::{Effort, Prepared, polish};
use crate::error::Result;
use crate::mapping::geometric::{detect, place_on_tree};
use crate::mapping::multisection::{Bisector, Halves, dual_bisect, multisect};
use crate::mapping::work::with_distance;
use crate::mapping::{Budget, Mapper, Objective, Outcome, Preset, Problem, by_name};

/// Portfolio of algorithms; the given order is always a candidate.
pub struct Auto;

/// One first answer with its name.
struct Candidate {
    name: &'static str,
    place_of: Vec<u32>,
}

impl Mapper for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn source(&self) -> &'static str {
        "portfolio; sources at its parts"
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let given = Outcome::new(problem, problem.identity_places()).with("chosen", "given order");
        if problem.tasks() < 2 || problem.graph().edges() == 0 {
            return Ok(given);
        }
        let prepared = Prepared::new(problem);
        let best = by_hops(&prepared, budget).unwrap_or_else(|| given.clone());
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
    let effort = Effort::new(problem.preset(), problem.tasks(), prepared.tree.is_some());
    let mut first: Option<Candidate> = None;
    let mut lowest = i128::MAX;
    for mut candidate in candidates(prepared, &effort, budget) {
        prepared.honour_fixed(&mut candidate.place_of);
        let cost = prepared.cost(&candidate.place_of);
        if cost < lowest {
            lowest = cost;
            first = Some(candidate);
        }
    }
    let first = first?;
    let best = if lowest == prepared.least() {
        first.place_of
    } else {
        polish(prepared, first.place_of, &effort, budget)
    };
    Some(Outcome::new(problem, prepared.by_task(best)).with("chosen", first.name))
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
                let place_of = prepared.by_task(lower_largest(prepared, start));
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
            let name = if problem.objective() == Objective::Mmc { "umpa-mmc" } else { "umpa-mc" };
            // On large machines the paper's refinement takes longer than all the rest.
            if problem.tasks() <= 4096
                && let Ok(outcome) = by_name(name).and_then(|m| m.map(problem, budget))
            {
                list.push(outcome.with("chosen", name));
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

fn candidates(prepared: &Prepared<'_, '_>, effort: &Effort, budget: &Budget) -> Vec<Candidate> {
    let mut list = Vec::new();
    let problem = prepared.problem;
    let full = problem.places().len() == prepared.graph.len();
    if let Some(shape) = detect(&prepared.graph) {
        if let Some(tree) = &prepared.tree
            && let Some(mut sorted) = place_on_tree(&prepared.graph, &shape, tree)
        {
            align_tree(prepared, tree, &mut sorted);
            let place_of = sorted.iter().map(|&k| tree.order[k as usize]).collect();
            list.push(Candidate { name: "grid in boxes", place_of });
        }
        if full && let Some(place_of) = on_grid(prepared, &shape) {
            list.push(Candidate { name: "grid on grid", place_of });
        }
        let enough = prepared.graph.len() > 4096 || problem.preset() == Preset::Fast;
        let perfect = |c: &Candidate| prepared.cost(&c.place_of) == prepared.least();
        if !list.is_empty() && (enough || list.iter().any(perfect)) {
            return list;
        }
    }
    if let Some(tree) = &prepared.tree {
        let mut bisector = Bisector::new(effort.bisect, budget);
        let (graph, rng) = (&prepared.graph, &prepared.rng);
        let mut sorted = multisect(graph, tree, &mut bisector, rng);
        align_tree(prepared, tree, &mut sorted);
        let place_of = sorted.iter().map(|&k| tree.order[k as usize]).collect();
        list.push(Candidate { name: "multisection", place_of });
    }
    if prepared.tree.is_none() {
        let grid = problem.grid();
        let halves = match &grid {
            Some((grid, points)) => Halves::Grid(grid, points),
            None => Halves::Distances,
        };
        let mut bisector = Bisector::new(effort.bisect, budget);
        let (graph, rng) = (&prepared.graph, &prepared.rng);
        let place_of = with_distance!(&prepared.lookup, d => {
            dual_bisect(graph, &prepared.chosen, d, &halves, &mut bisector, rng)
        });
        list.push(Candidate { name: "dual recursive bisection", place_of });
    }
    if list.is_empty() {
        let place_of = prepared.by_vertex(problem.identity_places());
        list.push(Candidate { name: "given order, refined", place_of });
    }
    list
}
