//! Robust tabu search (Taillard 1991, "Robust taboo search for the quadratic assignment problem") for few tasks.
//!
//! Each step makes the best of all swaps, even if the cost rises. A swap is not made if both of its tasks were on
//! their new places a short time ago. Free places take part as tasks without traffic. Several searches begin at the
//! given placement and at random ones.
//!
//! A table has what each task would cost on each place, with all others where they are. With it, the change that a swap
//! makes is a sum of five numbers. A swap changes an entry of the table by one product, so a step takes one pass over the
//! table. The numbers are integers in the format of floating point, because processors multiply several of these at a time.
//!
//! Limits: [`PLACES`] places. Weights are rounded down where a sum could be too large for the exact integers of that
//! format. The result may be the placement that was given.

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

/// Numbers that are changed or compared at a time. Rows of tables have a multiple of it.
const TOGETHER: usize = 4;

/// A problem of few tasks. Its *items* are the tasks that may move, then the free places, then the fixed tasks.
pub(crate) struct FewTasks {
    /// The number of items, which is that of places.
    size: usize,
    /// Entries of a row of a table.
    row: usize,
    /// The items that may move, and those of them that are tasks.
    movable: usize,
    tasks: usize,
    /// The item of each task.
    item_of: Vec<usize>,
    /// The traffic of each pair of items, by rows.
    weights: Vec<f64>,
    /// The distance of each pair of places, by rows.
    distances: Vec<f64>,
}

/// One search. Its tables have a row for each place, which is that of the item there.
struct Search<'a> {
    problem: &'a FewTasks,
    item_at: Vec<usize>,
    /// The traffic of the items on two places.
    traffic: Vec<f64>,
    /// What the item of the row would cost on the place of the column.
    cost_at: Vec<f64>,
    /// What the items cost where they are.
    own: [f64; PLACES],
    /// For two places, the smaller one first: what both items would cost on each other's place. Infinite if this swap is
    /// none.
    swapped: Vec<f64>,
    cost: f64,
    /// For each item and place: the step until which the item is not to return there.
    until: Vec<u64>,
    /// The step of the next search for swaps that have waited too long. A swap of two items that came to their places after
    /// the last search may wait too long before this step. It is found then.
    next_urgent: u64,
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
        let row = places.next_multiple_of(TOGETHER);
        let mut distances = vec![0.0; places * row];
        let mut longest = 0;
        for (a, distances) in distances.chunks_exact_mut(row).enumerate() {
            for (b, entry) in distances.iter_mut().take(places).enumerate() {
                let distance = between(a as u32, b as u32);
                longest = longest.max(distance);
                *entry = distance as f64;
            }
        }
        let shift = shift(graph, longest);
        let mut weights = vec![0.0; places * row];
        for v in 0..graph.len() {
            let of_v = &mut weights[item_of[v] * row..];
            graph.arcs(v).for_each(|(t, w)| of_v[item_of[t]] = (w >> shift) as f64);
        }
        FewTasks { size: places, row, movable, tasks, item_of, weights, distances }
    }

    /// Looks for a placement that costs less than the given one. A step computes anew what the swap of each pair of places
    /// costs, also where tasks are fixed. The steps of all searches together compute about so many `pairs`. `None` if
    /// nothing was found.
    pub(crate) fn better(
        &self,
        start: &[u32],
        pairs: u64,
        rng: &mut Rng,
        budget: &Budget,
    ) -> Option<Vec<u32>> {
        if self.tasks == 0 || self.movable < 2 {
            return None;
        }
        let (searches, steps) = self.plan(pairs);
        let (mut best, mut least) = (None, f64::INFINITY);
        for number in 0..searches {
            if budget.expired() {
                break;
            }
            let mut item_at = self.placed(start);
            if number > 0 {
                self.scatter(&mut item_at, rng);
            }
            let mut search = Search::new(self, item_at);
            if number == 0 {
                least = search.cost;
            }
            search.run(steps, &mut least, &mut best, rng, budget);
        }
        let mut place_of = vec![0; self.size];
        for (place, item) in best?.into_iter().enumerate() {
            place_of[item] = place as u32;
        }
        Some(self.item_of.iter().map(|&item| place_of[item]).collect())
    }

    /// The number of searches, and the steps of each.
    fn plan(&self, pairs: u64) -> (u64, u64) {
        let in_step = (self.size * self.size / 2).max(1) as u64;
        let (all, least_steps) = (pairs / in_step, STEPS_FOR_PLACE * self.size as u64);
        let searches = (all / least_steps).clamp(1, MOST_SEARCHES);
        let steps = if searches < MOST_SEARCHES { all / searches } else { least_steps };
        (searches, steps)
    }

    /// The item on each place.
    fn placed(&self, start: &[u32]) -> Vec<usize> {
        let mut item_at = vec![usize::MAX; self.size];
        for (&item, &place) in self.item_of.iter().zip(start) {
            item_at[place as usize] = item;
        }
        let free = item_at.iter_mut().filter(|item| **item == usize::MAX);
        free.zip(self.tasks..).for_each(|(item, number)| *item = number);
        item_at
    }

    /// Puts the items that may move on each other's places, at random.
    fn scatter(&self, item_at: &mut [usize], rng: &mut Rng) {
        let is_movable = |place: &usize| item_at[*place] < self.movable;
        let places: Vec<usize> = (0..self.size).filter(is_movable).collect();
        let items: Vec<usize> = places.iter().map(|&place| item_at[place]).collect();
        let mut order = Vec::new();
        shuffled(rng, self.movable, &mut order);
        for (&place, &k) in places.iter().zip(&order) {
            item_at[place] = items[k as usize];
        }
    }

    /// True if a swap of these items changes something, and both may move.
    fn is_swap(&self, a: usize, b: usize) -> bool {
        a != b && a.max(b) < self.movable && a.min(b) < self.tasks
    }
}

/// The binary digits that weights lose, so that all sums are exact: none exceeds four times the weights of all pairs times
/// the longest distance.
fn shift(graph: &Csr, longest: i64) -> u32 {
    let arcs = (0..graph.len()).flat_map(|v| graph.arcs(v));
    let weights: i128 = arcs.map(|(_, w)| i128::from(w)).sum();
    let most = 4 * weights * i128::from(longest);
    (i128::BITS - most.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS)
}

impl<'a> Search<'a> {
    fn new(problem: &'a FewTasks, item_at: Vec<usize>) -> Self {
        let FewTasks { size, row, .. } = *problem;
        let mut search = Search {
            problem,
            item_at,
            traffic: vec![0.0; size * row],
            cost_at: vec![0.0; size * row],
            own: [0.0; PLACES],
            swapped: vec![f64::INFINITY; size * row],
            cost: 0.0,
            until: vec![0; size * size],
            next_urgent: 0,
        };
        search.compute_tables();
        search
    }

    /// Makes the tables of costs, and the cost.
    fn compute_tables(&mut self) {
        let FewTasks { size, row, weights, distances, .. } = self.problem;
        for (a, traffic) in self.traffic.chunks_exact_mut(*row).enumerate() {
            let of_a = &weights[self.item_at[a] * row..];
            traffic.iter_mut().zip(&self.item_at).for_each(|(entry, &item)| *entry = of_a[item]);
        }
        for a in 0..*size {
            let traffic = &self.traffic[a * row..][..*size];
            for b in 0..*size {
                let ways = &distances[b * row..][..*size];
                self.cost_at[a * row + b] = traffic.iter().zip(ways).map(|(w, d)| w * d).sum();
            }
            self.own[a] = self.cost_at[a * row + a];
        }
        (0..*size).for_each(|a| self.compute_swaps(a));
        self.cost = self.own.iter().sum::<f64>() / 2.0;
    }

    /// What the swaps with the item on a place cost.
    fn compute_swaps(&mut self, a: usize) {
        let FewTasks { size, row, distances, .. } = self.problem;
        for b in 0..*size {
            // The distance between the two items is the same after the swap, but the two entries of the table have it as 0.
            let sum = if self.problem.is_swap(self.item_at[a], self.item_at[b]) {
                let between = self.traffic[a * row + b] * distances[a * row + b];
                self.cost_at[a * row + b] + self.cost_at[b * row + a] + 2.0 * between
            } else {
                f64::INFINITY
            };
            self.swapped[a.min(b) * row + a.max(b)] = sum;
        }
    }

    /// Makes `steps` swaps. `least` and `best` are the best placement of all searches.
    fn run(
        &mut self,
        steps: u64,
        least: &mut f64,
        best: &mut Option<Vec<usize>>,
        rng: &mut Rng,
        budget: &Budget,
    ) {
        let size = self.problem.size;
        // How long an item does not return: 0.9 to 1.1 times the number of places, as in the paper.
        let mut rest = || (size * 9 / 10 + rng.below(size / 5 + 1)) as u64 + 1;
        // A swap that was not made for so long is made once whatever it costs.
        let patience = 5 * (size * size) as u64;
        self.next_urgent = patience + 1;
        for step in 1..=steps {
            if step % BETWEEN_CLOCKS == 0 && budget.expired() {
                return;
            }
            let Some((a, b)) = self.choice(step, patience, *least) else { continue };
            self.until[self.item_at[a] * size + a] = step + rest();
            self.until[self.item_at[b] * size + b] = step + rest();
            self.swap(a, b);
            if self.cost < *least {
                *least = self.cost;
                *best = Some(self.item_at.clone());
            }
        }
    }

    /// The smaller and the larger one of the steps until which the swap of two places leads back.
    fn leads_back(&self, a: usize, b: usize) -> (u64, u64) {
        let until =
            |from: usize, to: usize| self.until[self.item_at[from] * self.problem.size + to];
        (until(a, b).min(until(b, a)), until(a, b).max(until(b, a)))
    }

    /// What a swap adds to the cost.
    fn change(&self, a: usize, b: usize) -> f64 {
        self.swapped[a * self.problem.row + b] - self.own[a] - self.own[b]
    }

    /// The swap of a step, with the smaller place first: one that was not made for a long time, or the best of those that
    /// are allowed or lead to a new best cost.
    fn choice(&mut self, step: u64, patience: u64, least: f64) -> Option<(usize, usize)> {
        if self.next_urgent <= step
            && let Some(urgent) = self.urgent(step, patience)
        {
            return Some(urgent);
        }
        let row = self.problem.row;
        // By how much a swap has to lower the cost for a new best placement.
        let wanted = least - self.cost;
        let (mut lowest, mut found) = (f64::INFINITY, None);
        for a in 0..self.problem.size {
            let from = a / TOGETHER * TOGETHER;
            let of_row = self.swapped[a * row + from..(a + 1) * row].chunks_exact(TOGETHER);
            let mut least_of = [f64::INFINITY; TOGETHER];
            for (swapped, own) in of_row.zip(self.own[from..].chunks_exact(TOGETHER)) {
                for k in 0..TOGETHER {
                    let change = swapped[k] - own[k];
                    least_of[k] = if change < least_of[k] { change } else { least_of[k] };
                }
            }
            // Most rows have nothing that is better.
            if least_of.into_iter().fold(f64::INFINITY, f64::min) - self.own[a] >= lowest {
                continue;
            }
            for b in a + 1..self.problem.size {
                let change = self.change(a, b);
                if change < lowest && (change < wanted || self.leads_back(a, b).0 < step) {
                    (lowest, found) = (change, Some((a, b)));
                }
            }
        }
        found
    }

    /// The best of the swaps that were not made for a long time, if there is one.
    fn urgent(&mut self, step: u64, patience: u64) -> Option<(usize, usize)> {
        let size = self.problem.size;
        let (mut lowest, mut found, mut next) = (f64::INFINITY, None, u64::MAX);
        for a in 0..size {
            for b in a + 1..size {
                let change = self.change(a, b);
                if change == f64::INFINITY {
                    continue;
                }
                let since = self.leads_back(a, b).1 + patience + 1;
                next = next.min(since);
                if since <= step && change < lowest {
                    (lowest, found) = (change, Some((a, b)));
                }
            }
        }
        self.next_urgent = next;
        found
    }

    /// Swaps the items on two places, the smaller one first, and changes the tables.
    fn swap(&mut self, a: usize, b: usize) {
        let FewTasks { size, row, distances, .. } = self.problem;
        let (size, row) = (*size, *row);
        self.cost += self.change(a, b);
        // Each item is pulled by the traffic with one item in place of the other, along another way.
        let difference = |table: &[f64], plus: usize, minus: usize| -> [f64; PLACES] {
            let (plus, minus) = (&table[plus * row..][..row], &table[minus * row..][..row]);
            let mut all = [0.0; PLACES];
            let pairs = plus.iter().zip(minus);
            all.iter_mut().zip(pairs).for_each(|(entry, (p, m))| *entry = p - m);
            all
        };
        let (pulls, ways) = (difference(&self.traffic, a, b), difference(distances, b, a));
        for c in 0..size {
            let (pull, way, from) = (pulls[c], ways[c], c / TOGETHER * TOGETHER);
            let costs = &mut self.cost_at[c * row..][..row];
            costs.iter_mut().zip(&ways).for_each(|(cost, way)| *cost += pull * way);
            let swapped = &mut self.swapped[c * row + from..(c + 1) * row];
            for (sum, (other_pull, other_way)) in
                swapped.iter_mut().zip(pulls[from..].iter().zip(&ways[from..]))
            {
                *sum += pull * other_way + other_pull * way;
            }
        }
        self.item_at.swap(a, b);
        for c in 0..size {
            self.traffic.swap(a * row + c, b * row + c);
            self.cost_at.swap(a * row + c, b * row + c);
        }
        (0..size).for_each(|c| self.traffic.swap(c * row + a, c * row + b));
        (0..size).for_each(|c| self.own[c] = self.cost_at[c * row + c]);
        self.compute_swaps(a);
        self.compute_swaps(b);
    }
}

#[cfg(test)]
#[path = "robust_tabu_tests.rs"]
mod tests;
