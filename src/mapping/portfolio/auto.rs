//! The portfolio itself.

use super::symmetry::{align_grid, align_tree};
use super::{Effort, Prepared, polish};
use crate::error::Result;
use crate::mapping::geometric::{detect, place_on_grid, place_on_tree};
use crate::mapping::multisection::{Bisector, Halves, dual_bisect, multisect};
use crate::mapping::work::Lookup;
use crate::mapping::{Budget, Mapper, Outcome, Preset, Problem};

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
        let effort = Effort::new(problem.preset(), problem.tasks(), prepared.tree.is_some());
        let mut first: Option<Candidate> = None;
        let mut lowest = i128::MAX;
        for mut candidate in candidates(&prepared, &effort, budget) {
            prepared.honour_fixed(&mut candidate.place_of);
            let cost = prepared.cost(&candidate.place_of);
            if cost < lowest {
                lowest = cost;
                first = Some(candidate);
            }
        }
        let Some(first) = first else { return Ok(given) };
        let best = if lowest == prepared.least() {
            Outcome::new(problem, first.place_of)
        } else {
            Outcome::new(problem, polish(&prepared, first.place_of, &effort, budget))
        };
        Ok(if best.hop_bytes < given.hop_bytes { best.with("chosen", first.name) } else { given })
    }
}

fn candidates(prepared: &Prepared<'_, '_>, effort: &Effort, budget: &Budget) -> Vec<Candidate> {
    let mut list = Vec::new();
    let problem = prepared.problem;
    let full = problem.places().len() == prepared.graph.len();
    if full && let Some(shape) = detect(&prepared.graph) {
        if let Some(tree) = &prepared.tree
            && let Some(mut sorted) = place_on_tree(&prepared.graph, &shape, tree)
        {
            align_tree(problem, tree, &mut sorted);
            let place_of = sorted.iter().map(|&k| tree.order[k as usize]).collect();
            list.push(Candidate { name: "grid in boxes", place_of });
        }
        if let Some(machine) = problem.topology().as_grid()
            && let Some(mut slots) = place_on_grid(&shape, machine)
        {
            align_grid(problem, machine, &mut slots);
            if let Some(place_of) = prepared.places_of_slots(&slots) {
                list.push(Candidate { name: "grid on grid", place_of });
            }
        }
        let enough = prepared.graph.len() > 4096 || problem.preset() == Preset::Fast;
        if !list.is_empty() && enough {
            return list;
        }
    }
    if let Some(tree) = &prepared.tree
        && full
        && !budget.expired()
    {
        let mut bisector = Bisector::new(effort.bisect);
        let mut sorted = multisect(&prepared.graph, tree, &mut bisector, &prepared.rng);
        align_tree(problem, tree, &mut sorted);
        let place_of = sorted.iter().map(|&k| tree.order[k as usize]).collect();
        list.push(Candidate { name: "multisection", place_of });
    }
    if prepared.tree.is_none() && full && !budget.expired() {
        let places: Vec<u32> = (0..problem.places().len() as u32).collect();
        let halves = match problem.topology().as_grid() {
            Some(grid) => Halves::Grid(grid, problem.places()),
            None => Halves::Distances,
        };
        let mut bisector = Bisector::new(effort.bisect);
        let (graph, rng) = (&prepared.graph, &prepared.rng);
        let place_of = match &prepared.lookup {
            Lookup::Tree(d) => dual_bisect(graph, &places, d, &halves, &mut bisector, rng),
            Lookup::Table(d) => dual_bisect(graph, &places, d, &halves, &mut bisector, rng),
            Lookup::Asked(d) => dual_bisect(graph, &places, d, &halves, &mut bisector, rng),
        };
        list.push(Candidate { name: "dual recursive bisection", place_of });
    }
    if list.is_empty() {
        let place_of = problem.identity_places();
        list.push(Candidate { name: "given order, refined", place_of });
    }
    list
}
