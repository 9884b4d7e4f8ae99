//! The best of all placements of a few tasks, by branch and bound.
//!
//! The tasks are placed one after the other, those with much traffic to the placed ones first. A branch is left if
//! its cost plus a lower bound of the rest is not below the best placement so far. The bound has two parts: each
//! task that is left has at least the traffic to the placed tasks times the distance from its best free place, and
//! the pairs of tasks that are left have at least the product of their sorted weights with the shortest distances in
//! opposite order (as in Gilmore, "Optimal and suboptimal algorithms for the quadratic assignment problem", 1962).
//! Limits: [`TASKS`] tasks, [`PLACES`] places, and a number of branches by the preset.

use crate::mapping::engine::{Distance, Prepared, with_distance};
use crate::mapping::{Budget, Preset};

/// The largest number of tasks.
pub(super) const TASKS: usize = 10;

/// The largest number of places.
pub(super) const PLACES: usize = 16;

/// Branches between two looks at the clock.
const BETWEEN_CLOCKS: u64 = 4096;

/// Branches after which the search gives up. All placements of ten tasks on ten places have fewer, so presets other than
/// `fast` always finish there.
fn most_branches(preset: Preset, places: usize) -> u64 {
    match preset {
        Preset::Fast => 20_000,
        _ if places <= TASKS => 12_000_000,
        Preset::Default => 2_000_000,
        Preset::Strong => 12_000_000,
    }
}

/// True if the problem is small enough.
pub(super) fn are_few(prepared: &Prepared<'_, '_>) -> bool {
    prepared.graph.len() <= TASKS && prepared.problem.places().len() <= PLACES
}

/// What the search has found.
pub(super) struct Found {
    /// The best placement that it has seen, if one costs less than the known one.
    pub(super) place_of: Option<Vec<u32>>,
    /// True if there is no better placement than the one found or known.
    pub(super) complete: bool,
}

/// Looks for the best placement of all that cost less than `most`.
pub(super) fn best_of_all(
    prepared: &Prepared<'_, '_>,
    most: i128,
    preset: Preset,
    budget: &Budget,
) -> Found {
    let places = prepared.problem.places().len();
    let distances: Vec<Vec<i64>> = with_distance!(&prepared.lookup, d => {
        (0..places as u32).map(|a| (0..places as u32).map(|b| d.between(a, b)).collect()).collect()
    });
    let mut search = Search::new(prepared, distances, most, most_branches(preset, places));
    search.branch(0, 0, [[0; PLACES]; TASKS], budget);
    Found { place_of: search.best, complete: search.branches < search.most_branches }
}

/// For each task and place: the cost of the traffic to the tasks that are placed.
type Costs = [[i64; PLACES]; TASKS];

struct Search {
    /// The tasks in the order in which they are placed.
    order: Vec<usize>,
    weights: [[i64; TASKS]; TASKS],
    distances: Vec<Vec<i64>>,
    /// A lower bound of the cost between the tasks that are left, by the number of placed tasks.
    between_others: Vec<i64>,
    /// The place that a task is fixed to.
    fixed: Vec<Option<usize>>,
    taken: Vec<bool>,
    place_of: Vec<u32>,
    most: i128,
    best: Option<Vec<u32>>,
    branches: u64,
    most_branches: u64,
}

impl Search {
    fn new(
        prepared: &Prepared<'_, '_>,
        distances: Vec<Vec<i64>>,
        most: i128,
        most_branches: u64,
    ) -> Search {
        let graph = &prepared.graph;
        let (tasks, places) = (graph.len(), distances.len());
        let mut weights = [[0; TASKS]; TASKS];
        for (v, row) in weights.iter_mut().enumerate().take(tasks) {
            graph.arcs(v).for_each(|(t, w)| row[t] = w);
        }
        let fixed: Vec<Option<usize>> = (0..tasks).map(|v| prepared.fixed_place(v)).collect();
        let order = order(&weights, &fixed);
        let mut shortest: Vec<i64> = Vec::new();
        for a in 0..places {
            shortest.extend(&distances[a][..a]);
        }
        shortest.sort_unstable();
        let between_others = (0..=tasks).map(|placed| {
            let rest = &order[placed..];
            let mut heaviest: Vec<i64> = Vec::new();
            for (k, &v) in rest.iter().enumerate() {
                heaviest.extend(rest[..k].iter().map(|&t| weights[v][t]));
            }
            heaviest.sort_unstable_by_key(|&w| std::cmp::Reverse(w));
            heaviest.iter().zip(&shortest).map(|(w, d)| w * d).sum()
        });
        Search {
            between_others: between_others.collect(),
            order,
            weights,
            distances,
            fixed,
            taken: vec![false; places],
            place_of: vec![0; tasks],
            most,
            best: None,
            branches: 0,
            most_branches,
        }
    }

    /// Places the task number `placed` of the order on every free place in turn. `cost` is that of the placed tasks.
    fn branch(&mut self, placed: usize, cost: i64, costs: Costs, budget: &Budget) {
        self.branches += 1;
        if self.branches.is_multiple_of(BETWEEN_CLOCKS) && budget.expired() {
            self.most_branches = 0;
        }
        let Some(&task) = self.order.get(placed) else {
            self.most = i128::from(cost);
            self.best = Some(self.place_of.clone());
            return;
        };
        let fixed = self.fixed[task];
        let mut free: Vec<usize> = (0..self.taken.len())
            .filter(|&place| !self.taken[place] && fixed.is_none_or(|f| f == place))
            .collect();
        free.sort_by_key(|&place| costs[task][place]);
        for place in free {
            let now = cost + costs[task][place];
            self.taken[place] = true;
            self.place_of[task] = place as u32;
            let mut next = costs;
            for &other in &self.order[placed + 1..] {
                let weight = self.weights[task][other];
                for (cost, distance) in next[other].iter_mut().zip(&self.distances[place]) {
                    *cost += weight * distance;
                }
            }
            let least = now + self.least(placed + 1, &next);
            if i128::from(least) < self.most && self.branches < self.most_branches {
                self.branch(placed + 1, now, next, budget);
            }
            self.taken[place] = false;
        }
    }

    /// A lower bound of the cost that the tasks after the first `placed` add.
    fn least(&self, placed: usize, costs: &Costs) -> i64 {
        let cheapest = |&task: &usize| -> i64 {
            let free = (0..self.taken.len()).filter(|&place| !self.taken[place]);
            free.map(|place| costs[task][place]).min().unwrap_or(0)
        };
        self.order[placed..].iter().map(cheapest).sum::<i64>() + self.between_others[placed]
    }
}

/// Fixed tasks first, then always the task with the most traffic to those before it. `weights` has the traffic of each
/// task to all others.
pub(super) fn order<W: AsRef<[i64]>>(weights: &[W], fixed: &[Option<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < fixed.len() {
        let rest = (0..fixed.len()).filter(|v| !order.contains(v));
        let next = rest.max_by_key(|&v| {
            let of = weights[v].as_ref();
            let near: i64 = order.iter().map(|&t| of[t]).sum();
            (fixed[v].is_some(), near, of.iter().sum::<i64>())
        });
        order.extend(next);
    }
    order
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use crate::mapping::Problem;
    use crate::matrix::Graph;
    use crate::topology::parse;

    pub(in crate::mapping::portfolio) fn random_graph(
        tasks: u32,
        random: &mut SplitMix64,
    ) -> Graph {
        let mut edges = Vec::new();
        for a in 0..tasks {
            for b in 0..a {
                if !random.next_u64().is_multiple_of(3) {
                    edges.push((a, b, 1 + random.next_u64() % 20));
                }
            }
        }
        Graph::from_edges(tasks as usize, &edges)
    }

    /// Visits all permutations of the places behind the first `at` that leave the fixed tasks of a problem where they are.
    pub(in crate::mapping::portfolio) fn permutations(
        problem: &Problem<'_>,
        place_of: &mut Vec<u32>,
        at: usize,
        visit: &mut dyn FnMut(&[u32]),
    ) {
        if at == place_of.len() {
            let moved = |v: usize| problem.fixed_place(v).is_some_and(|p| p as u32 != place_of[v]);
            if !(0..at).any(moved) {
                visit(place_of);
            }
            return;
        }
        for k in at..place_of.len() {
            place_of.swap(at, k);
            permutations(problem, place_of, at + 1, visit);
            place_of.swap(at, k);
        }
    }

    #[test]
    fn the_best_of_all_permutations_is_found() {
        let mut random = SplitMix64::new(7);
        for (machine, fixed) in
            [("torus:2x3", false), ("tree:2:3@1:10", true), ("mesh:6", false), ("torus:7", true)]
        {
            let topology = parse(machine).unwrap();
            let graph = random_graph(topology.slots() as u32, &mut random);
            let builder = Problem::builder(&graph, topology.as_ref());
            let problem = if fixed { builder.fix(1, 4) } else { builder }.build().unwrap();
            let prepared = Prepared::new(&problem);
            assert!(are_few(&prepared));
            let found = best_of_all(&prepared, i128::MAX, Preset::Default, &Budget::unlimited());
            assert!(found.complete);
            let found = found.place_of.unwrap();
            let mut all = (0..graph.vertices() as u32).collect();
            let cost = prepared.cost(&found);
            let mut least = i128::MAX;
            // Fixed tasks are those of the problem, and vertices are numbered otherwise.
            permutations(&problem, &mut all, 0, &mut |by_task| {
                least = least.min(prepared.cost(&prepared.by_vertex(by_task.to_vec())));
            });
            assert_eq!(cost, least, "{machine}");
            let again = best_of_all(&prepared, cost, Preset::Default, &Budget::unlimited());
            assert!(again.complete && again.place_of.is_none());
        }
    }

    #[test]
    fn ten_tasks_need_few_branches() {
        let mut random = SplitMix64::new(3);
        for machine in ["torus:2x5", "tree:2:5@1:10", "mesh:10"] {
            let topology = parse(machine).unwrap();
            for _ in 0..3 {
                let graph = random_graph(10, &mut random);
                let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
                let prepared = Prepared::new(&problem);
                assert!(
                    best_of_all(&prepared, i128::MAX, Preset::Default, &Budget::unlimited())
                        .complete,
                    "{machine}"
                );
            }
        }
    }
}
