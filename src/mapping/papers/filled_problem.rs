//! The common preparation of the papers' algorithms: the affinity graph in the engine's form with as many
//! vertices as places, the distances between places, and the conversion back to an answer.
//!
//! The papers assume as many tasks as processors. If there are fewer tasks, vertices without edges are
//! added to the graph. They take the places that are left over.

use crate::mapping::engine::{Csr, Distance, Rng, Scale, heaviest, honour_fixed, is_dense, seeded};
use crate::mapping::multisection::{BisectEffort, Bisector};
use crate::mapping::{Budget, Objective, Outcome, Preset, Problem};
use crate::matrix::Graph;

/// A problem in the form that the algorithms work on.
pub(super) struct FilledProblem<'a> {
    pub(super) problem: &'a Problem<'a>,
    /// As many vertices as places; the first [`Problem::tasks`] are the tasks.
    pub(super) graph: Csr,
    pub(super) rng: Rng,
    /// How input numbers became those of the search.
    pub(super) scale: Scale,
    pub(super) budget: Budget,
}

impl<'a> FilledProblem<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, budget: &Budget) -> Self {
        FilledProblem::with_graph(problem, budget, Csr::from_graph)
    }

    /// As [`FilledProblem::new`], but of a dense matrix only the heaviest pairs.
    pub(super) fn thinned(problem: &'a Problem<'a>, budget: &Budget) -> Self {
        let dense = is_dense(problem.graph());
        FilledProblem::with_graph(problem, budget, if dense { heaviest } else { Csr::from_graph })
    }

    fn with_graph(
        problem: &'a Problem<'a>,
        budget: &Budget,
        make: fn(&Graph, Scale) -> Csr,
    ) -> Self {
        let (topology, places) = (problem.topology(), problem.places());
        // By the triangle inequality no distance is more than twice the largest one from the first
        // slot. The other factor of 4 is a margin for tables of distances that break the inequality.
        let first = places.first().copied().unwrap_or(0) as usize;
        let largest = places.iter().map(|&p| topology.distance(first, p as usize)).max();
        let largest = largest.unwrap_or(1).max(1).saturating_mul(8);
        let scale = Scale::new(problem.graph().total_weight().max(1), largest);
        let mut graph = make(problem.graph(), scale);
        if problem.objective() == Objective::TotalHops {
            graph.arcs.forget_weights();
        }
        graph.sizes.resize(places.len(), 1);
        let end = graph.offsets.last().copied().unwrap_or(0);
        graph.offsets.resize(places.len() + 1, end);
        let rng = seeded(problem.seed());
        FilledProblem { problem, graph, rng, scale, budget: budget.clone() }
    }

    /// Number of places, and of vertices of the graph.
    pub(super) fn len(&self) -> usize {
        self.problem.places().len()
    }

    /// Distance of two slots.
    #[inline]
    pub(super) fn between_slots(&self, a: usize, b: usize) -> i64 {
        self.scale.distance(self.problem.topology().distance(a, b))
    }

    /// Bisections at the effort of the problem's preset.
    pub(super) fn bisector(&self) -> Bisector {
        let (runs, growings, passes) = match self.problem.preset() {
            Preset::Fast => (1, 2, 2),
            Preset::Default => (1, 4, 4),
            Preset::Strong => (3, 8, 8),
        };
        Bisector::new(BisectEffort::new(runs, growings, passes, 0), &self.budget)
    }

    /// Extends an answer for the tasks to all vertices: the added ones take the places left over.
    pub(super) fn fill_up(&self, mut place_of: Vec<u32>) -> Vec<u32> {
        let mut taken = vec![false; self.len()];
        place_of.iter().for_each(|&p| taken[p as usize] = true);
        place_of.extend((0..self.len() as u32).filter(|&p| !taken[p as usize]));
        place_of
    }

    /// The answer: drops the added vertices, swaps fixed tasks to their places and evaluates.
    pub(super) fn outcome(&self, mut place_of: Vec<u32>) -> Outcome {
        place_of.truncate(self.problem.tasks());
        if self.problem.has_fixed() {
            honour_fixed(&mut place_of, self.len(), |task| self.problem.fixed_place(task));
        }
        Outcome::new(self.problem, place_of)
    }
}

/// Distances of places.
impl Distance for FilledProblem<'_> {
    #[inline]
    fn between(&self, a: u32, b: u32) -> i64 {
        let places = self.problem.places();
        self.between_slots(places[a as usize] as usize, places[b as usize] as usize)
    }
}

/// Splits `members`, which are the vertices of `graph`, into parts of exactly the given sizes by
/// recursive bisection, with little weight between parts. The sizes add up to the number of members.
pub(super) fn partition(
    graph: &Csr,
    members: &[u32],
    sizes: &[usize],
    bisector: &mut Bisector,
    rng: &mut Rng,
) -> Vec<Vec<u32>> {
    if sizes.len() <= 1 {
        return sizes.iter().map(|_| members.to_vec()).collect();
    }
    let (left, right) = sizes.split_at(sizes.len() / 2);
    let target: usize = left.iter().sum();
    let side = match (target, members.len() - target) {
        (0, _) => vec![1; members.len()],
        (_, 0) => vec![0; members.len()],
        _ => bisector.bisect(graph, target as i64, rng).side,
    };
    let mut local = vec![u32::MAX; graph.len()];
    let mut part = |which: u8, sizes: &[usize]| {
        let chosen: Vec<u32> =
            (0..members.len() as u32).filter(|&v| side[v as usize] == which).collect();
        let tasks: Vec<u32> = chosen.iter().map(|&v| members[v as usize]).collect();
        partition(&graph.subgraph(&chosen, &mut local), &tasks, sizes, bisector, rng)
    };
    let mut parts = part(0, left);
    parts.extend(part(1, right));
    parts
}
