//! What all algorithms of the papers start from: the affinity graph in the engine's form with as
//! many vertices as places, distances between places, and the way back to an answer.
//!
//! The papers assume as many tasks as processors. With fewer tasks, the graph is filled up with
//! tasks that talk to nobody, which take the places that are left over.

use crate::mapping::engine::{Csr, Rng, Scale, heaviest, is_dense, seeded};
use crate::mapping::multisection::{BisectEffort, Bisector};
use crate::mapping::{Budget, Objective, Outcome, Preset, Problem};
use crate::matrix::Graph;

/// Problem, graph and scale of a run.
pub(super) struct FilledProblem<'a, 'b> {
    pub(super) problem: &'b Problem<'a>,
    /// As many vertices as places; the first [`Problem::tasks`] are the tasks.
    pub(super) graph: Csr,
    pub(super) rng: Rng,
    scale: Scale,
    budget: Budget,
}

impl<'a, 'b> FilledProblem<'a, 'b> {
    pub(super) fn new(problem: &'b Problem<'a>, budget: &Budget) -> Self {
        FilledProblem::with_graph(problem, budget, Csr::from_graph)
    }

    /// As [`FilledProblem::new`], but of a dense matrix only the heaviest pairs.
    pub(super) fn thinned(problem: &'b Problem<'a>, budget: &Budget) -> Self {
        FilledProblem::with_graph(problem, budget, |graph, scale| match is_dense(graph) {
            true => heaviest(graph, scale),
            false => Csr::from_graph(graph, scale),
        })
    }

    fn with_graph(
        problem: &'b Problem<'a>,
        budget: &Budget,
        make: impl Fn(&Graph, Scale) -> Csr,
    ) -> Self {
        let topology = problem.topology();
        let places = problem.places();
        // Distances from one slot, doubled, bound all others by the triangle inequality; the other
        // factor is margin for tables that do not obey it.
        let first = places.first().copied().unwrap_or(0) as usize;
        let largest = places.iter().map(|&p| topology.distance(first, p as usize)).max();
        let scale = Scale::new(
            problem.graph().total_weight().max(1),
            largest.unwrap_or(1).max(1).saturating_mul(8),
        );
        let mut graph = make(problem.graph(), scale);
        if problem.objective() == Objective::TotalHops {
            graph.weights.fill(1);
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

    /// How input numbers became those of the search.
    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    /// Distance of two places.
    #[inline]
    pub(super) fn distance(&self, a: usize, b: usize) -> i64 {
        let places = self.problem.places();
        self.between_slots(places[a] as usize, places[b] as usize)
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
        let effort = BisectEffort::new(runs, growings, passes, 0);
        Bisector::new(effort, &self.budget)
    }

    /// The answer: drops the filling, swaps fixed tasks to their places and evaluates.
    pub(super) fn outcome(&self, mut place_of: Vec<u32>) -> Outcome {
        let tasks = self.problem.tasks();
        place_of.truncate(tasks);
        if self.problem.has_fixed() {
            let mut at = vec![u32::MAX; self.len()];
            for (task, &place) in place_of.iter().enumerate() {
                at[place as usize] = task as u32;
            }
            for task in 0..tasks {
                let Some(wanted) = self.problem.fixed_place(task) else { continue };
                let (here, other) = (place_of[task], at[wanted]);
                place_of[task] = wanted as u32;
                at[here as usize] = other;
                at[wanted] = task as u32;
                if other != task as u32
                    && let Some(moved) = place_of.get_mut(other as usize)
                {
                    *moved = here;
                }
            }
        }
        Outcome::new(self.problem, place_of)
    }
}

/// Splits `members` of `graph` into parts of exactly the given sizes by recursive bisection, with
/// few weight between parts. The sizes add up to the number of members. `local` is scratch as for
/// [`Csr::subgraph`].
pub(super) fn partition(
    graph: &Csr,
    members: &[u32],
    sizes: &[usize],
    bisector: &mut Bisector,
    rng: &mut Rng,
    local: &mut [u32],
) -> Vec<Vec<u32>> {
    let mut parts = Vec::with_capacity(sizes.len());
    let sub = graph.subgraph(members, local);
    split(&sub, members, sizes, bisector, rng, &mut parts);
    parts
}

fn split(
    graph: &Csr,
    members: &[u32],
    sizes: &[usize],
    bisector: &mut Bisector,
    rng: &mut Rng,
    parts: &mut Vec<Vec<u32>>,
) {
    if sizes.len() <= 1 {
        parts.extend(sizes.iter().map(|_| members.to_vec()));
        return;
    }
    let (left, right) = sizes.split_at(sizes.len() / 2);
    let target: usize = left.iter().sum();
    let side = match (target, members.len() - target) {
        (0, _) => vec![1; members.len()],
        (_, 0) => vec![0; members.len()],
        _ => bisector.bisect(graph, target as i64, rng).side,
    };
    let mut local = vec![u32::MAX; graph.len()];
    for (which, sizes) in [(0, left), (1, right)] {
        let chosen: Vec<u32> =
            (0..members.len() as u32).filter(|&v| side[v as usize] == which).collect();
        let tasks: Vec<u32> = chosen.iter().map(|&v| members[v as usize]).collect();
        let sub = graph.subgraph(&chosen, &mut local);
        split(&sub, &tasks, sizes, bisector, rng, parts);
    }
}
