//! The portfolio itself.

use super::grid_on_grid::on_grid;
use super::objectives::{lower_largest, lower_links};
use super::regular_patterns::{by_cycles, is_regular};
use super::{Effort, polish};
use crate::base::error::Result;
use crate::mapping::engine::{Prepared, align_tree, with_distance};
use crate::mapping::evaluation::value;
use crate::mapping::geometric::{detect, place_on_tree};
use crate::mapping::multisection::{Bisector, Halves, dual_bisect, multisect};
use crate::mapping::{Budget, Mapper, Objective, Outcome, Preset, Problem, papers, stencil};

/// Portfolio of algorithms; the given order is always a candidate.
pub struct Auto;

/// One first answer with its name.
struct Candidate {
    name: &'static str,
    place_of: Vec<u32>,
    /// Made from the stencil alone.
    by_stencil: bool,
}

impl Candidate {
    fn new(name: &'static str, place_of: Vec<u32>) -> Candidate {
        Candidate { name, place_of, by_stencil: false }
    }
}

impl Mapper for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn source(&self) -> &'static str {
        "portfolio; sources at its parts"
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
    let mut effort = Effort::new(problem.preset(), problem.tasks(), prepared.tree.is_some());
    let mut list: Vec<(i128, Candidate)> = candidates(prepared, &mut effort, budget)
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

fn candidates(prepared: &Prepared<'_, '_>, effort: &mut Effort, budget: &Budget) -> Vec<Candidate> {
    let mut list = Vec::new();
    let problem = prepared.problem;
    let full = problem.places().len() == prepared.graph.len();
    let detected = detect(&prepared.graph);
    if let Some(shape) = &detected {
        if let Some(tree) = &prepared.tree
            && let Some(mut sorted) = place_on_tree(&prepared.graph, shape, tree)
        {
            align_tree(prepared, tree, &mut sorted);
            let place_of = sorted.iter().map(|&k| tree.order[k as usize]).collect();
            list.push(Candidate::new("grid in boxes", place_of));
        }
        if full && let Some(place_of) = on_grid(prepared, shape) {
            list.push(Candidate::new("grid on grid", place_of));
        }
    }
    if list.iter().any(|c| prepared.cost(&c.place_of) == prepared.least()) {
        return list;
    }
    let by_stencil = stencil::best(prepared, detected.as_ref(), !list.is_empty(), budget);
    if detected.is_some() {
        let enough = prepared.graph.len() > 4096 || problem.preset() == Preset::Fast;
        // Boxes that other placements beat are not what the engine would find.
        let beaten = by_stencil.as_ref().is_some_and(|(_, place_of)| {
            let cost = prepared.cost(place_of);
            list.iter().all(|c| prepared.cost(&c.place_of) > cost)
        });
        if !list.is_empty() && enough && !beaten {
            return list;
        }
        // On an allocation with gaps the grid keeps its order along every dimension.
        if list.is_empty()
            && problem.grid().is_some()
            && let Ok(outcome) = papers::GEOM.map(problem, &mut budget.clone())
        {
            let place_of = prepared.by_vertex(outcome.place_of_task);
            list.push(Candidate::new("geom, refined", place_of));
        }
    }
    let mut graphs = Vec::new();
    if list.is_empty() && is_regular(&prepared.graph) {
        graphs.extend(by_cycles(&prepared.graph).map(|graph| ("blocks by cycles", graph)));
        // With blocks found, or without a tree, one start is as good as several.
        if graphs.is_empty() && prepared.tree.is_some() {
            *effort = effort.for_regular();
        }
    }
    let starts = effort.polished.max(1) as u64;
    let graphs = graphs.iter().map(|(name, graph)| (*name, graph, 0));
    let own = (0..starts).map(|start| ("", &prepared.graph, start));
    for (name, graph, start) in graphs.chain(own) {
        let mut bisector = Bisector::new(effort.bisect, budget);
        let rng = &match start {
            0 => prepared.rng.clone(),
            _ => prepared.rng.fork(0x57a7 + start),
        };
        if let Some(tree) = &prepared.tree {
            let mut sorted = multisect(graph, tree, &mut bisector, rng);
            align_tree(prepared, tree, &mut sorted);
            let place_of = sorted.iter().map(|&k| tree.order[k as usize]).collect();
            let name = if name.is_empty() { "multisection" } else { name };
            list.push(Candidate::new(name, place_of));
        } else {
            let grid = problem.grid();
            let halves = match &grid {
                Some((grid, points)) => Halves::Grid(grid, points),
                None => Halves::Distances,
            };
            let place_of = with_distance!(&prepared.lookup, d => {
                dual_bisect(graph, &prepared.chosen, d, &halves, &mut bisector, rng)
            });
            let name = if name.is_empty() { "dual recursive bisection" } else { name };
            list.push(Candidate::new(name, place_of));
        }
    }
    if list.is_empty() {
        let place_of = prepared.by_vertex(problem.identity_places());
        list.push(Candidate::new("given order, refined", place_of));
    }
    list.extend(by_stencil.map(|(name, place_of)| Candidate { name, place_of, by_stencil: true }));
    list
}
