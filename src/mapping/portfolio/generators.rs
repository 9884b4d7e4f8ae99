//! All generators of candidates, and when they are asked.

use super::Effort;
use super::candidate::Candidate;
use super::generator::{Generator, Offers};
use super::grid_on_grid::on_grid;
use super::regular_patterns::{by_cycles, is_regular};
use crate::mapping::engine::{Csr, Prepared, align_tree, with_distance};
use crate::mapping::geometric::place_on_tree;
use crate::mapping::multisection::{Bisector, Halves, dual_bisect, multisect};
use crate::mapping::{Budget, Preset, papers, stencil};

/// Placements by the shape of the tasks, which may be perfect.
const BY_SHAPE: [&dyn Generator; 2] = [&GridInBoxes, &GridOnGrid];

/// Placements by the stencil alone.
const BY_STENCIL: [&dyn Generator; 1] = [&Stencil];

/// All others, which search.
const BY_SEARCH: [&dyn Generator; 5] =
    [&GridWithGaps, &BlocksByCycles, &Multisection, &DualBisection, &GivenOrder];

/// The candidates for a problem, and the effort to spend on them.
pub(super) fn candidates(prepared: &Prepared<'_, '_>, budget: &Budget) -> (Vec<Candidate>, Effort) {
    let mut offers = Offers::new(prepared, budget);
    offers.ask(&BY_SHAPE);
    if offers.reach_the_least() {
        return (offers.list, offers.effort);
    }
    offers.ask(&BY_STENCIL);
    // Boxes that other placements beat are not what a search would find.
    let fast = prepared.graph.len() > 4096 || prepared.problem.preset() == Preset::Fast;
    if !offers.list.is_empty() && fast && !offers.are_beaten_by_stencil() {
        return (offers.list, offers.effort);
    }
    offers.ask(&BY_SEARCH);
    offers.list.append(&mut offers.by_stencil);
    (offers.list, offers.effort)
}

/// A grid of tasks cut into boxes for the groups of a tree.
struct GridInBoxes;

impl Generator for GridInBoxes {
    fn name(&self) -> &'static str {
        "grid in boxes"
    }

    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool {
        offers.detected.is_some() && offers.prepared.tree.is_some()
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        let prepared = offers.prepared;
        let place = || {
            let (shape, tree) = (offers.detected.as_ref()?, prepared.tree.as_ref()?);
            let mut sorted = place_on_tree(&prepared.graph, shape, tree)?;
            align_tree(prepared, tree, &mut sorted);
            Some(sorted.iter().map(|&k| tree.order[k as usize]).collect())
        };
        place().map(|place_of| Candidate::new(self.name(), place_of)).into_iter().collect()
    }
}

/// A grid of tasks on a machine that is a grid, neighbours on neighbours.
struct GridOnGrid;

impl Generator for GridOnGrid {
    fn name(&self) -> &'static str {
        "grid on grid"
    }

    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool {
        let full = offers.prepared.problem.places().len() == offers.prepared.graph.len();
        offers.detected.is_some() && full
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        let shape = offers.detected.as_ref();
        let place_of = shape.and_then(|shape| on_grid(offers.prepared, shape));
        place_of.map(|place_of| Candidate::new(self.name(), place_of)).into_iter().collect()
    }
}

/// The best placement that knows the stencil only.
struct Stencil;

impl Generator for Stencil {
    fn name(&self) -> &'static str {
        "stencil"
    }

    fn applies(&self, _offers: &Offers<'_, '_, '_>) -> bool {
        true
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        let boxes = !offers.list.is_empty();
        let best = stencil::best(offers.prepared, offers.detected.as_ref(), boxes, offers.budget);
        let candidate = |(name, place_of)| Candidate { name, place_of, by_stencil: true };
        best.map(candidate).into_iter().collect()
    }
}

/// A grid of tasks on an allocation with gaps: the grid keeps its order along every dimension.
struct GridWithGaps;

impl Generator for GridWithGaps {
    fn name(&self) -> &'static str {
        "geom, refined"
    }

    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool {
        let on_grid = || offers.prepared.problem.grid().is_some();
        offers.detected.is_some() && offers.list.is_empty() && on_grid()
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        let prepared = offers.prepared;
        let outcome = papers::GEOM.map(prepared.problem, &mut offers.budget.clone());
        let place_of = outcome.map(|outcome| prepared.by_vertex(outcome.place_of_task));
        place_of.map(|place_of| Candidate::new(self.name(), place_of)).into_iter().collect()
    }
}

/// A regular pattern that is no grid, split along its blocks.
struct BlocksByCycles;

impl Generator for BlocksByCycles {
    fn name(&self) -> &'static str {
        "blocks by cycles"
    }

    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool {
        offers.list.is_empty() && is_regular(&offers.prepared.graph)
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        if let Some(graph) = by_cycles(&offers.prepared.graph) {
            return vec![Candidate::new(self.name(), split(offers, &graph, 0))];
        }
        // Without blocks, one start on a tree is as good as several.
        if offers.prepared.tree.is_some() {
            offers.effort = offers.effort.for_regular();
        }
        Vec::new()
    }
}

/// The tasks split among the groups of a tree, from the root down.
struct Multisection;

impl Generator for Multisection {
    fn name(&self) -> &'static str {
        "multisection"
    }

    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool {
        offers.prepared.tree.is_some()
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        starts(self.name(), offers)
    }
}

/// The tasks and a machine that is no tree, halved together.
struct DualBisection;

impl Generator for DualBisection {
    fn name(&self) -> &'static str {
        "dual recursive bisection"
    }

    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool {
        offers.prepared.tree.is_none()
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        starts(self.name(), offers)
    }
}

/// The order of the launcher, where nothing else is offered.
pub(super) struct GivenOrder;

impl Generator for GivenOrder {
    fn name(&self) -> &'static str {
        "given order, refined"
    }

    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool {
        offers.list.is_empty()
    }

    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate> {
        let prepared = offers.prepared;
        let place_of = prepared.by_vertex(prepared.problem.identity_places());
        vec![Candidate::new(self.name(), place_of)]
    }
}

/// As many splittings of the whole graph as candidates are refined.
fn starts(name: &'static str, offers: &Offers<'_, '_, '_>) -> Vec<Candidate> {
    let starts = offers.effort.polished.max(1) as u64;
    let graph = &offers.prepared.graph;
    (0..starts).map(|start| Candidate::new(name, split(offers, graph, start))).collect()
}

/// The place of every vertex by recursive splitting of `graph`; `start` numbers the random streams.
fn split(offers: &Offers<'_, '_, '_>, graph: &Csr, start: u64) -> Vec<u32> {
    let prepared = offers.prepared;
    let mut bisector = Bisector::new(offers.effort.bisect, offers.budget);
    let rng = &match start {
        0 => prepared.rng.clone(),
        _ => prepared.rng.fork(0x57a7 + start),
    };
    if let Some(tree) = &prepared.tree {
        let mut sorted = multisect(graph, tree, &mut bisector, rng);
        align_tree(prepared, tree, &mut sorted);
        return sorted.iter().map(|&k| tree.order[k as usize]).collect();
    }
    let grid = prepared.problem.grid();
    let halves = match &grid {
        Some((grid, points)) => Halves::Grid(grid, points),
        None => Halves::Distances,
    };
    with_distance!(&prepared.lookup, d => {
        dual_bisect(graph, &prepared.chosen, d, &halves, &mut bisector, rng)
    })
}

/// The names of all generators that a problem can need.
#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    let all = BY_SHAPE.iter().chain(&BY_STENCIL).chain(&BY_SEARCH);
    all.map(|generator| generator.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::permutation::is_injective;
    use crate::mapping::Problem;
    use crate::matrix::synthetic::pattern;
    use crate::topology::parse;
    use std::collections::BTreeSet;

    /// Every candidate of every generator puts each task on a place of its own, and every generator
    /// has one for some problem.
    #[test]
    fn all_generators_make_placements() {
        let mut asked = BTreeSet::new();
        for (machine, text, slots) in [
            ("tree:4:4@1:10", "stencil:4x4,shuffle=1", 16),
            ("tree:4:5@1:10", "rgg:15", 20),
            ("tree:4:16@1:10", "cg:64", 64),
            ("torus:4x4", "torus:4x4,shuffle=1", 16),
            ("mesh:6x6", "stencil:4x3", 15),
            ("torus:4x4", "powerlaw:16", 16),
            ("tree:5:6@1:10", "stencil:6x5", 30),
        ] {
            let (topology, graph) = (parse(machine).unwrap(), pattern(text).unwrap());
            let slots: Vec<usize> = (0..slots).map(|k| k * 7 % topology.slots()).collect();
            let slots: Vec<usize> = match graph.vertices() == topology.slots() {
                true => (0..topology.slots()).collect(),
                false => slots,
            };
            let builder = Problem::builder(&graph, topology.as_ref()).slots(&slots);
            let problem = builder.fix(1, slots[0]).preset(Preset::Fast).build().unwrap();
            let prepared = Prepared::new(&problem);
            let budget = Budget::unlimited();
            for generator in BY_SHAPE.iter().chain(&BY_STENCIL).chain(&BY_SEARCH) {
                let mut offers = Offers::new(&prepared, &budget);
                if !generator.applies(&offers) {
                    continue;
                }
                for mut candidate in generator.candidates(&mut offers) {
                    asked.insert(generator.name());
                    assert!(is_injective(&candidate.place_of, problem.places().len()), "{text}");
                    prepared.honour_fixed(&mut candidate.place_of);
                    assert_eq!(prepared.by_task(candidate.place_of)[1], 0, "{text}");
                }
            }
        }
        assert_eq!(asked, names().into_iter().collect());
    }
}
