//! A problem in the engine's own terms, shared by all candidates.

use super::chosen_places::choose_places;
use super::{Csr, Lookup, Placement, Rng, Scale, TreePlaces, cost, lookup, seeded, with_distance};
use crate::mapping::{Objective, Problem};
use std::sync::Arc;

/// Problems above this size are renumbered for locality.
const RENUMBER_FROM: usize = 8192;

/// Problems above this size are searched with weights of 32 bits. Of weights that need more, the search sees the upper
/// bits. No exact search handles so many tasks, and the answers are evaluated with the weights of the problem.
const NARROW_FROM: usize = 65_536;

/// Scaled graph, sorted places, distances.
pub(crate) struct Prepared<'a, 'b> {
    pub(crate) problem: &'b Problem<'a>,
    /// The affinity graph; its vertices are tasks, or for large problems tasks renumbered.
    pub(crate) graph: Csr,
    /// The task of every vertex, if they are renumbered.
    order: Option<Vec<u32>>,
    /// All places, where the topology is a tree.
    pub(crate) all: Option<Arc<TreePlaces>>,
    /// The chosen places, where the topology is a tree. The same list as `all` if all places are chosen.
    pub(crate) tree: Option<Arc<TreePlaces>>,
    /// As many places as tasks, ascending: all places, or the places that lie closest together.
    pub(crate) chosen: Vec<u32>,
    pub(crate) lookup: Lookup<'a, 'b>,
    /// By vertex: whether its task is fixed. Empty if no task is fixed.
    pub(crate) pinned: Vec<bool>,
    pub(crate) rng: Rng,
    /// How input numbers became those of the search.
    pub(crate) scale: Scale,
}

impl<'a, 'b> Prepared<'a, 'b> {
    pub(crate) fn new(problem: &'b Problem<'a>) -> Self {
        Self::by(1, problem)
    }

    /// As [`Self::new`], with several threads.
    pub(crate) fn by(threads: usize, problem: &'b Problem<'a>) -> Self {
        Self::numbered(problem, problem.tasks() > RENUMBER_FROM, threads)
    }

    /// The same, but vertex = task for large problems too. Renumbering takes longer than a search that changes little.
    pub(crate) fn by_tasks(problem: &'b Problem<'a>) -> Self {
        Self::numbered(problem, false, 1)
    }

    fn numbered(problem: &'b Problem<'a>, anew: bool, threads: usize) -> Self {
        let graph = problem.graph();
        let narrow = anew && problem.tasks() > NARROW_FROM;
        let scale = if narrow { Scale::narrow } else { Scale::new };
        let scale = scale(graph.total_weight(), largest_distance(problem));
        let renumbered = || {
            if anew {
                let (csr, order) = Csr::breadth_first(graph, |w| scale.weight(w), threads);
                return (csr, Some(order));
            }
            (Csr::from_graph(graph, scale), None)
        };
        let tree = problem.topology().as_tree();
        let sorted = || tree.and_then(|tree| TreePlaces::new(tree, problem.places(), scale));
        let ((csr, order), all) = if threads > 1 && problem.tasks() > NARROW_FROM {
            std::thread::scope(|scope| {
                let beside = scope.spawn(sorted);
                let renumbered = renumbered();
                let panicked = |cause| std::panic::resume_unwind(cause);
                (renumbered, beside.join().unwrap_or_else(panicked))
            })
        } else {
            (renumbered(), sorted())
        };
        let all = all.map(Arc::new);
        let lookup = lookup(problem, all.as_deref(), scale);
        let chosen = choose_places(problem, all.as_deref(), &lookup);
        let tree = all.as_ref().map(|all| {
            if chosen.len() == all.order.len() {
                return Arc::clone(all);
            }
            let mut keep = vec![false; problem.places().len()];
            chosen.iter().for_each(|&p| keep[p as usize] = true);
            Arc::new(all.restricted(&keep))
        });
        let (pinned, rng) = (Vec::new(), seeded(problem.seed()));
        let mut prepared =
            Prepared { problem, graph: csr, order, all, tree, chosen, lookup, pinned, rng, scale };
        if problem.objective() == Objective::TotalHops {
            prepared.count_pairs();
        }
        if problem.has_fixed() {
            let is_fixed = |v| prepared.fixed_place(v).is_some();
            prepared.pinned = (0..problem.tasks()).map(is_fixed).collect();
        }
        prepared
    }

    /// Takes other random numbers, for one more round of the same search.
    pub(crate) fn set_round(&mut self, round: u64) {
        self.rng = seeded(self.problem.seed()).fork(round);
    }

    /// The task that a vertex stands for.
    #[inline]
    pub(crate) fn task(&self, vertex: usize) -> usize {
        self.order.as_ref().map_or(vertex, |o| o[vertex] as usize)
    }

    /// The place that a vertex is fixed to.
    pub(crate) fn fixed_place(&self, vertex: usize) -> Option<usize> {
        self.problem.fixed_place(self.task(vertex))
    }

    /// From places by vertex to places by task.
    pub(crate) fn by_task(&self, place_of_vertex: Vec<u32>) -> Vec<u32> {
        let Some(order) = &self.order else { return place_of_vertex };
        let mut answer = vec![0; place_of_vertex.len()];
        for (&task, place) in order.iter().zip(place_of_vertex) {
            answer[task as usize] = place;
        }
        answer
    }

    /// From places by task to places by vertex.
    pub(crate) fn by_vertex(&self, place_of_task: Vec<u32>) -> Vec<u32> {
        let Some(order) = &self.order else { return place_of_task };
        order.iter().map(|&task| place_of_task[task as usize]).collect()
    }

    /// Cost of a mapping in the search's own numbers.
    pub(crate) fn cost(&self, place_of: &[u32]) -> i128 {
        with_distance!(&self.lookup, d => cost(&self.graph, d, place_of))
    }

    /// A lower bound of the cost where all distances are at least 1: every pair at distance 1. It is only
    /// useful for grids; a tree reaches it only if all tasks fit in one group.
    pub(crate) fn least(&self) -> i128 {
        self.graph.total_weight()
    }

    /// True if no mapping costs less than this one: all tasks that exchange data are at distance 1, and no two
    /// places are on one slot.
    pub(crate) fn is_least(&self, cost: i128) -> bool {
        cost == self.least() && self.scale.distance_shift == 0 && {
            let mut seen = vec![false; self.problem.topology().slots()];
            let first = |&slot: &u32| !std::mem::replace(&mut seen[slot as usize], true);
            self.problem.places().iter().all(first)
        }
    }

    /// Puts fixed tasks on their places by swaps; all other tasks stay where they are.
    pub(crate) fn honour_fixed(&self, place_of: &mut [u32]) {
        if !self.pinned.is_empty() {
            let places = self.problem.places().len();
            honour_fixed(place_of, places, |vertex| self.fixed_place(vertex));
        }
    }

    /// Sets the weight of every edge to the number of directions in use: both where the traffic is not
    /// known.
    fn count_pairs(&mut self) {
        for v in 0..self.graph.len() {
            for k in self.graph.range(v) {
                let (a, b) = (self.task(v), self.task(self.graph.arcs.target(k) as usize));
                let weight = self.problem.traffic().map_or(2, |traffic| {
                    let used = |i, j| i64::from(!traffic.get(i, j).is_zero());
                    (used(a, b) + used(b, a)).max(1)
                });
                self.graph.arcs.set_weight(k, weight);
            }
        }
    }
}

/// Puts vertices on the places that `fixed_place` says, by swaps; all others stay where they are.
pub(crate) fn honour_fixed(
    place_of: &mut [u32],
    places: usize,
    fixed_place: impl Fn(usize) -> Option<usize>,
) {
    let mut placement = Placement::new(place_of.to_vec(), places);
    for vertex in 0..place_of.len() {
        if let Some(wanted) = fixed_place(vertex) {
            placement.swap(vertex, wanted as u32);
        }
    }
    place_of.copy_from_slice(&placement.place_of);
}

/// An upper bound for the distances between the problem's places.
fn largest_distance(problem: &Problem<'_>) -> u64 {
    if let Some(tree) = problem.topology().as_tree() {
        return (0..tree.levels()).map(|l| tree.cost(l)).max().unwrap_or(1).max(1);
    }
    // The triangle inequality bounds all pairs by twice the largest distance from one place; a
    // topology with costs need not obey it, so another factor of 4 is left as margin.
    let places = problem.places();
    let Some(&first) = places.first() else { return 1 };
    places
        .iter()
        .map(|&p| problem.topology().distance(first as usize, p as usize))
        .max()
        .unwrap_or(1)
        .saturating_mul(8)
        .max(1)
}
