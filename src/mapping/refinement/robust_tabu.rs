//! Robust tabu search (Taillard 1991, "Robust taboo search for the quadratic assignment problem") for few tasks.
//!
//! Each step makes the best of all swaps, even if the cost rises. A swap is not made if both of its tasks were on
//! their new places a short time ago. Free places take part as tasks without traffic. The change that each swap would
//! make is kept in a table; after a swap, each entry changes by one product, so a step takes one pass over the table.
//! Several searches begin at the given placement and at random ones.
//!
//! Limits: [`PLACES`] places. The result may be the placement that was given.

use crate::mapping::Budget;
use crate::mapping::engine::{Csr, Rng, shuffled};

/// The largest number of places.
pub(crate) const PLACES: usize = 64;

/// Steps between two looks at the clock.
const BETWEEN_CLOCKS: u64 = 256;

/// Steps of one search for each place; a single search has up to twice as many.
const STEPS_FOR_PLACE: u64 = 500;

/// The most searches: more find nothing new if there are few tasks.
const MOST_SEARCHES: u64 = 16;

/// A problem of few tasks. Its *items* are the tasks that may move, then the free places, then the fixed tasks.
pub(crate) struct FewTasks {
    /// The number of items, which is that of places.
    size: usize,
    /// The items that may move, and those of them that are tasks.
    movable: usize,
    tasks: usize,
    /// The item of each task.
    item_of: Vec<usize>,
    /// The traffic of each pair of items, by rows.
    weights: Vec<i64>,
    /// The distance of each pair of places, by rows.
    distances: Vec<i64>,
}

/// One search.
struct Search<'a> {
    problem: &'a FewTasks,
    /// The place of each item.
    place_of: Vec<usize>,
    /// The distance of each pair of items, by rows.
    apart: Vec<i64>,
    cost: i128,
    /// What the swap of two items adds to the cost, by rows; only pairs with the smaller item first.
    deltas: Vec<i64>,
    /// For each item and place: the step until which the item is not to return there.
    until: Vec<u64>,
    /// For each pair of items: the smaller and the larger one of the steps until which their swap leads back.
    earlier: Vec<u64>,
    later: Vec<u64>,
}

impl FewTasks {
    /// The tasks of a graph on places whose distances `between` gives. `is_fixed`: tasks that do not move.
    pub(crate) fn new(
        graph: &Csr,
        places: usize,
        between: impl Fn(u32, u32) -> i64,
        is_fixed: impl Fn(usize) -> bool,
    ) -> Self {
        let tasks = (0..graph.len()).filter(|&v| !is_fixed(v)).count();
        let movable = tasks + (places - graph.len());
        let (mut next, mut next_fixed) = (0, movable);
        let mut item_of = Vec::with_capacity(graph.len());
        for v in 0..graph.len() {
            let number = if is_fixed(v) { &mut next_fixed } else { &mut next };
            item_of.push(*number);
            *number += 1;
        }
        let mut weights = vec![0; places * places];
        for v in 0..graph.len() {
            graph.arcs(v).for_each(|(t, w)| weights[item_of[v] * places + item_of[t]] = w);
        }
        let distances = (0..places * places)
            .map(|k| between((k / places) as u32, (k % places) as u32))
            .collect();
        FewTasks { size: places, movable, tasks, item_of, weights, distances }
    }

    /// Looks for a placement that costs less than the given one, which costs `known`. At most about `pairs` entries of
    /// tables are changed. `None` if there is none.
    pub(crate) fn better(
        &self,
        start: &[u32],
        known: i128,
        pairs: u64,
        rng: &mut Rng,
        budget: &Budget,
    ) -> Option<Vec<u32>> {
        let in_step = (self.movable * self.movable / 2).max(1) as u64;
        let (all, least_steps) = (pairs / in_step, STEPS_FOR_PLACE * self.size as u64);
        let searches = (all / least_steps).clamp(1, MOST_SEARCHES);
        let steps = if searches == 1 { all } else { least_steps };
        let (mut best, mut least) = (None, known);
        for number in 0..searches {
            if budget.expired() {
                break;
            }
            let mut search = Search::new(self, self.placed(start), known);
            if number > 0 {
                search.scatter(rng);
            }
            search.run(steps, &mut least, &mut best, rng, budget);
        }
        let best = best?;
        Some(self.item_of.iter().map(|&item| best[item] as u32).collect())
    }

    /// The place of each item.
    fn placed(&self, start: &[u32]) -> Vec<usize> {
        let mut place_of = vec![usize::MAX; self.size];
        let mut free = vec![true; self.size];
        for (&item, &place) in self.item_of.iter().zip(start) {
            place_of[item] = place as usize;
            free[place as usize] = false;
        }
        let free_places = (0..self.size).filter(|&place| free[place]);
        place_of[self.tasks..self.movable].iter_mut().zip(free_places).for_each(|(p, f)| *p = f);
        place_of
    }
}

impl<'a> Search<'a> {
    fn new(problem: &'a FewTasks, place_of: Vec<usize>, cost: i128) -> Self {
        let table = problem.size * problem.size;
        let mut search = Search {
            problem,
            place_of,
            apart: vec![0; table],
            cost,
            deltas: vec![0; table],
            until: vec![0; table],
            earlier: vec![0; table],
            later: vec![0; table],
        };
        search.compute_tables();
        search
    }

    /// Begins anew at a random placement.
    fn scatter(&mut self, rng: &mut Rng) {
        let movable = self.problem.movable;
        let places = self.place_of[..movable].to_vec();
        let mut order = Vec::new();
        shuffled(rng, movable, &mut order);
        for (item, &k) in order.iter().enumerate() {
            self.place_of[item] = places[k as usize];
        }
        self.cost = self.computed_cost();
        self.compute_tables();
    }

    fn computed_cost(&self) -> i128 {
        let FewTasks { size, weights, distances, .. } = self.problem;
        let mut sum = 0;
        for u in 0..*size {
            for v in 0..u {
                let distance = distances[self.place_of[u] * size + self.place_of[v]];
                sum += i128::from(weights[u * size + v]) * i128::from(distance);
            }
        }
        sum
    }

    /// Makes the tables of distances and of changes.
    fn compute_tables(&mut self) {
        let FewTasks { size, tasks, movable, .. } = *self.problem;
        for u in 0..size {
            for v in 0..size {
                let distance = self.problem.distances[self.place_of[u] * size + self.place_of[v]];
                self.apart[u * size + v] = distance;
            }
        }
        for u in 0..tasks {
            for v in u + 1..movable {
                self.deltas[u * size + v] = self.delta(u, v);
            }
        }
    }

    /// Makes `steps` swaps. `least` and `best` are the best placement of all searches.
    fn run(
        &mut self,
        steps: u64,
        least: &mut i128,
        best: &mut Option<Vec<usize>>,
        rng: &mut Rng,
        budget: &Budget,
    ) {
        let size = self.problem.size;
        // How long an item does not return: 0.9 to 1.1 times the number of places, as in the paper.
        let mut rest = || (size * 9 / 10 + rng.below(size / 5 + 1)) as u64 + 1;
        // A swap that was not made for so long is made once whatever it costs.
        let patience = 5 * (size * size) as u64;
        for step in 1..=steps {
            if step % BETWEEN_CLOCKS == 0 && budget.expired() {
                return;
            }
            let Some((u, v)) = self.choice(step, patience, *least) else { continue };
            self.until[u * size + self.place_of[u]] = step + rest();
            self.until[v * size + self.place_of[v]] = step + rest();
            self.swap(u, v);
            if self.cost < *least {
                *least = self.cost;
                *best = Some(self.place_of.clone());
            }
        }
    }

    /// The swap of a step: the best that is allowed, or one that leads to a new best cost, or one that was not made for
    /// a long time.
    fn choice(&self, step: u64, patience: u64, least: i128) -> Option<(usize, usize)> {
        let FewTasks { size, tasks, movable, .. } = *self.problem;
        // By how much a swap has to lower the cost for a new best placement.
        let wanted = i64::try_from(least - self.cost).unwrap_or(i64::MAX);
        let mut found = None;
        let (mut lowest, mut urgent) = (i64::MAX, false);
        for u in 0..tasks {
            let row = u * size + u + 1..u * size + movable;
            let deltas = self.deltas[row.clone()].iter();
            let until = self.earlier[row.clone()].iter().zip(&self.later[row]);
            for (k, (&delta, (&earlier, &later))) in deltas.zip(until).enumerate() {
                let is_urgent = delta < wanted || later + patience < step;
                let allowed = is_urgent || (earlier < step && !urgent);
                if allowed && (delta < lowest || (is_urgent && !urgent)) {
                    (lowest, found) = (delta, Some((u, u + 1 + k)));
                    urgent |= is_urgent;
                }
            }
        }
        found
    }

    /// Swaps two items, and changes the tables: an entry of two other items changes by one product.
    fn swap(&mut self, r: usize, s: usize) {
        let FewTasks { size, tasks, movable, .. } = *self.problem;
        self.cost += i128::from(self.deltas[r.min(s) * size + r.max(s)]);
        // The change of an entry is the difference of two pulls times that of two ways.
        let difference = |table: &[i64]| -> [i64; PLACES] {
            let (of_r, of_s) = (&table[r * size..][..movable], &table[s * size..][..movable]);
            let mut all = [0; PLACES];
            let pairs = of_r.iter().zip(of_s);
            all.iter_mut().zip(pairs).for_each(|(one, (a, b))| *one = a - b);
            all
        };
        let (pulls, ways) = (difference(&self.problem.weights), difference(&self.apart));
        for u in 0..tasks {
            let (pull, way) = (pulls[u], ways[u]);
            let row = &mut self.deltas[u * size + u + 1..u * size + movable];
            let others = pulls[u + 1..movable].iter().zip(&ways[u + 1..movable]);
            for (delta, (other_pull, other_way)) in row.iter_mut().zip(others) {
                *delta += (pull - other_pull) * (way - other_way);
            }
        }
        self.place_of.swap(r, s);
        (0..size).for_each(|u| self.apart.swap(u * size + r, u * size + s));
        (0..size).for_each(|u| self.apart.swap(r * size + u, s * size + u));
        // The entries of the two items themselves are computed anew.
        for k in 0..movable {
            for t in [r, s].into_iter().filter(|&t| t != k) {
                let (u, v) = (k.min(t), k.max(t));
                if u < tasks {
                    self.deltas[u * size + v] = self.delta(u, v);
                }
                let back = [(u, v), (v, u)].map(|(a, b)| self.until[a * size + self.place_of[b]]);
                self.earlier[u * size + v] = back[0].min(back[1]);
                self.later[u * size + v] = back[0].max(back[1]);
            }
        }
    }

    /// What the swap of two items adds to the cost.
    fn delta(&self, u: usize, v: usize) -> i64 {
        let (size, weights) = (self.problem.size, &self.problem.weights);
        let (of_u, of_v) = (&weights[u * size..][..size], &weights[v * size..][..size]);
        let (from, to) = (&self.apart[u * size..][..size], &self.apart[v * size..][..size]);
        let all = of_u.iter().zip(of_v).zip(from.iter().zip(to));
        let sum: i64 = all.map(|((a, b), (near, far))| (a - b) * (far - near)).sum();
        // The sum has the two items themselves. Their distance does not change.
        let own = |t: usize| (of_u[t] - of_v[t]) * (to[t] - from[t]);
        sum - own(u) - own(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Problem;
    use crate::mapping::engine::{Distance, Prepared, seeded, with_distance};
    use crate::matrix::Graph;
    use crate::topology::parse;

    fn few(prepared: &Prepared<'_, '_>) -> FewTasks {
        let places = prepared.problem.places().len();
        let is_fixed = |v| prepared.fixed_place(v).is_some();
        with_distance!(&prepared.lookup, d => {
            FewTasks::new(&prepared.graph, places, |a, b| d.between(a, b), is_fixed)
        })
    }

    fn random_graph(tasks: u32) -> Graph {
        let mut rng = seeded(5);
        let mut edges = Vec::new();
        for a in 0..tasks {
            edges.extend((0..a).map(|b| (a, b, rng.next_u64() % 10)));
        }
        Graph::from_edges(tasks as usize, &edges)
    }

    /// The table of changes and the cost stay what they are when they are computed anew.
    #[test]
    fn the_table_follows_the_swaps() {
        for (machine, tasks) in [("torus:3x4", 12), ("tree:2:2:3@1:10:100", 9)] {
            let topology = parse(machine).unwrap();
            let graph = random_graph(tasks);
            let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
            let prepared = Prepared::new(&problem);
            let few = few(&prepared);
            let start: Vec<u32> = (0..tasks).collect();
            let mut search = Search::new(&few, few.placed(&start), prepared.cost(&start));
            let mut rng = seeded(1);
            for _ in 0..40 {
                let (u, v) = (rng.below(12), rng.below(12));
                if u == v || u.min(v) >= tasks as usize {
                    continue;
                }
                search.swap(u.min(v), u.max(v));
                assert_eq!(search.cost, search.computed_cost());
                for a in 0..tasks as usize {
                    for b in a + 1..12 {
                        assert_eq!(search.deltas[a * 12 + b], search.delta(a, b), "{machine}");
                    }
                }
            }
        }
    }

    /// A ring of other labels on a ring is found, fixed tasks stay, and nothing is found that is not better.
    #[test]
    fn a_ring_is_found_and_fixed_tasks_stay() {
        let topology = parse("torus:13").unwrap();
        let edges: Vec<_> = (0..13).map(|k| (5 * k % 13, 5 * (k + 1) % 13, 3)).collect();
        let graph = Graph::from_edges(13, &edges);
        let builder = Problem::builder(&graph, topology.as_ref());
        let problem = builder.fix(1, 4).build().unwrap();
        let prepared = Prepared::new(&problem);
        let mut start: Vec<u32> = (0..13).collect();
        start.swap(1, 4);
        let (few, known, rng) = (few(&prepared), prepared.cost(&start), &mut seeded(2));
        let budget = &Budget::unlimited();
        let found = few.better(&start, known, 1_000_000, rng, budget).unwrap();
        assert_eq!(found[1], 4);
        assert_eq!(prepared.cost(&found), prepared.least());
        assert!(few.better(&found, prepared.least(), 100_000, rng, budget).is_none());
    }
}
