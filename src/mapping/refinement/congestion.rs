//! Lowers the load of the most loaded link, from a good hop-bytes answer.
//!
//! UMPA's Algorithm 3 takes a swap only if it lowers the maximum itself, and so stops where two
//! links share it. Here the search minimises Σ (load/maximum)^8 over the links, which sees all links
//! near the maximum at once, by simulated annealing of swaps; most proposals take a task whose
//! messages pass one of the most loaded links. The best state by the true maximum is the answer.
//! Works on directed traffic and on any topology with static routes.

use super::link_annealing::{LinkState, Proposals, ROUND, penalty};
use super::near::Near;
use crate::mapping::Budget;
use crate::mapping::engine::{EMPTY, Maxima, Placement, Rng};
use crate::matrix::SparseMatrix;
use crate::topology::Network;

/// What the search works on.
pub(crate) struct Links<'a> {
    network: &'a dyn Network,
    /// The slot of every place.
    slots: &'a [u32],
    pairs: Vec<(u32, u32, f64)>,
    /// For every task, the pairs that it belongs to.
    incident: Vec<Vec<u32>>,
    /// 1 over the bandwidth of every link; 1 where messages are counted.
    inverse: Vec<f64>,
}

impl<'a> Links<'a> {
    /// `by_volume`: bytes over bandwidth, else the number of pairs.
    pub(crate) fn new(
        matrix: &SparseMatrix,
        network: &'a dyn Network,
        slots: &'a [u32],
        by_volume: bool,
    ) -> Self {
        let pairs: Vec<(u32, u32, f64)> = matrix
            .entries()
            .filter(|&(i, j, t)| i != j && (t.bytes > 0 || !by_volume))
            .map(|(i, j, t)| (i, j, if by_volume { t.bytes as f64 } else { 1.0 }))
            .collect();
        let mut incident = vec![Vec::new(); matrix.tasks()];
        for (k, &(i, j, _)) in (0..).zip(&pairs) {
            incident[i as usize].push(k);
            incident[j as usize].push(k);
        }
        let inverse = (0..network.links())
            .map(|link| if by_volume { 1.0 / network.bandwidth(link) } else { 1.0 })
            .collect();
        Links { network, slots, pairs, incident, inverse }
    }

    /// The slot of a place.
    fn slot(&self, place: u32) -> usize {
        self.slots[place as usize] as usize
    }
}

/// Loads of all links under a placement that changes.
struct State<'a, 'b> {
    links: &'b Links<'a>,
    placement: Placement,
    load: Vec<f64>,
    maxima: Maxima,
    /// Change of every link under the proposal at hand, and which links have one.
    change: Vec<f64>,
    touched: Vec<u32>,
    /// The proposal that last touched a link.
    stamp: Vec<u32>,
    proposal: u32,
    /// Load that counts as 1.
    unit: f64,
}

impl State<'_, '_> {
    fn route(&mut self, from: u32, to: u32, weight: f64) {
        let (change, touched, links) = (&mut self.change, &mut self.touched, self.links);
        let (stamp, proposal) = (&mut self.stamp, self.proposal);
        links.network.route(links.slot(from), links.slot(to), &mut |link| {
            if std::mem::replace(&mut stamp[link], proposal) != proposal {
                touched.push(link as u32);
            }
            change[link] += weight * links.inverse[link];
        });
    }

    fn penalty(&self, load: f64) -> f64 {
        penalty((load / self.unit).max(0.0))
    }

    /// Pairs that pass the most loaded links.
    fn hot_pairs(&mut self, out: &mut Vec<u32>) {
        let mut hot = Vec::new();
        self.maxima.at_least(0.9 * self.maxima.top(), &mut hot);
        let mut is_hot = vec![false; self.load.len()];
        hot.iter().for_each(|&l| is_hot[l as usize] = true);
        out.clear();
        let links = self.links;
        let slot = |t: u32| links.slot(self.placement.place_of[t as usize]);
        for (k, &(i, j, _)) in links.pairs.iter().enumerate() {
            let mut passes = false;
            links.network.route(slot(i), slot(j), &mut |link| passes |= is_hot[link]);
            if passes {
                out.push(k as u32);
            }
        }
    }
}

impl LinkState for State<'_, '_> {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Collects the changes of the links' loads for a swap: task `u` to place `q`, and a task on `q` to
    /// the place of `u`. Returns the change of the objective.
    fn propose(&mut self, u: usize, q: u32) -> f64 {
        self.touched.clear();
        self.proposal = self.proposal.wrapping_add(1);
        let p = self.placement.place_of[u];
        let v = self.placement.task_at[q as usize];
        let links = self.links;
        for (task, other, skip) in [(u, v, false), (v as usize, u as u32, true)] {
            if task == EMPTY as usize {
                continue;
            }
            for &k in &links.incident[task] {
                let (i, j, weight) = links.pairs[k as usize];
                if skip && (i == other || j == other) {
                    continue;
                }
                let (a, b) =
                    (self.placement.place_of[i as usize], self.placement.place_of[j as usize]);
                let after = |t: u32, here: u32| match t {
                    t if t as usize == u => q,
                    t if t == v => p,
                    _ => here,
                };
                self.route(a, b, -weight);
                self.route(after(i, a), after(j, b), weight);
            }
        }
        let change = |&link: &u32| {
            let before = self.load[link as usize];
            self.penalty(before + self.change[link as usize]) - self.penalty(before)
        };
        self.touched.iter().map(change).sum()
    }

    fn finish(&mut self, u: usize, q: u32, accept: bool) {
        for k in 0..self.touched.len() {
            let link = self.touched[k] as usize;
            let change = std::mem::take(&mut self.change[link]);
            if accept && change != 0.0 {
                // Sums of whole numbers stay exact; the rest of a division must not go below 0.
                self.load[link] = (self.load[link] + change).max(0.0);
                self.maxima.set(link, self.load[link]);
            }
        }
        if accept {
            self.placement.swap(u, q);
        }
    }
}

/// The search: its links, the tasks that stay, and its length.
pub(crate) struct LinkSearch<'a, 'b> {
    pub(crate) links: &'b Links<'a>,
    /// By task: it keeps its place. Empty if all may move.
    pub(crate) pinned: &'b [bool],
    /// Proposals in all.
    pub(crate) steps: u64,
    pub(crate) budget: &'b Budget,
}

impl<'a> State<'a, '_> {
    /// The loads under `place_of`. `None` if no bytes travel over links.
    fn new<'b>(links: &'b Links<'a>, place_of: &[u32]) -> Option<State<'a, 'b>> {
        let count = links.inverse.len();
        let mut state = State {
            links,
            placement: Placement::new(place_of.to_vec(), links.slots.len()),
            load: vec![0.0; count],
            maxima: Maxima::new(count),
            change: vec![0.0; count],
            touched: Vec::new(),
            stamp: vec![0; count],
            proposal: 0,
            unit: 1.0,
        };
        for &(i, j, weight) in &links.pairs {
            let slot = |t: u32| links.slot(place_of[t as usize]);
            let load = &mut state.load;
            links.network.route(slot(i), slot(j), &mut |link| {
                load[link] += weight * links.inverse[link];
            });
        }
        for (link, &load) in state.load.iter().enumerate() {
            state.maxima.set(link, load);
        }
        state.unit = state.maxima.top();
        if state.unit <= 0.0 || links.pairs.is_empty() {
            return None;
        }
        Some(state)
    }
}

impl LinkSearch<'_, '_> {
    /// Searches from `place_of` (by task), and tries places near the partners of a task or near the task itself.
    /// The most loaded link of the result never has more load than that of `place_of`.
    pub(crate) fn lower<N: Near>(&self, near: &N, place_of: Vec<u32>, rng: &mut Rng) -> Vec<u32> {
        let links = self.links;
        let Some(mut state) = State::new(links, &place_of) else { return place_of };
        let proposals = Proposals { near, pinned: self.pinned, pairs: links.pairs.len() };
        let mut best = (state.unit, place_of);
        let mut hot = Vec::new();
        let mut temperature = 0.0;
        let rounds = self.steps.div_ceil(ROUND).max(1);
        for round in 0..rounds {
            // Without load on any link nothing is left to lower.
            if self.budget.expired() || state.maxima.top() <= 0.0 {
                break;
            }
            self.budget.report("congestion", round, rounds);
            state.hot_pairs(&mut hot);
            let ends = |pair: usize| (links.pairs[pair].0, links.pairs[pair].1);
            let uphill = proposals.round(&mut state, (&hot, temperature), ends, rng, |state| {
                if state.maxima.top() < best.0 * (1.0 - 1e-12) {
                    best = (state.maxima.top(), state.placement.place_of.clone());
                }
            });
            temperature = uphill.temperature(round, rounds);
            // The unit follows the maximum, so the power neither overflows nor becomes 0.
            state.unit = state.maxima.top().max(best.0 * 0.5);
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::seeded;
    use crate::mapping::refinement::ListNear;
    use crate::matrix::Traffic;
    use crate::metrics::evaluate;
    use crate::topology::{Grid, Topology};
    use proptest::prelude::*;

    struct Far(Grid);

    impl crate::mapping::engine::Distance for Far {
        fn between(&self, a: u32, b: u32) -> i64 {
            self.0.distance(a as usize, b as usize) as i64
        }
    }

    #[test]
    fn traffic_that_leaves_all_links_ends_the_search() {
        let grid = Grid::torus(&[3, 4]).unwrap();
        let traffic = Traffic { bytes: 9, messages: 1 };
        let matrix = SparseMatrix::from_entries(2, &[(0, 1, traffic)]);
        // The first and the third place are on the same slot, as processes of one core are.
        let slots = [0, 5, 0];
        let links = Links::new(&matrix, grid.network().unwrap(), &slots, true);
        let near = ListNear::scan(&Far(Grid::torus(&[3, 4]).unwrap()), 3, 3);
        let budget = Budget::unlimited();
        let search = LinkSearch { links: &links, pinned: &[], steps: 4000, budget: &budget };
        let answer = search.lower(&near, vec![0, 1], &mut seeded(1));
        assert_eq!(slots[answer[0] as usize], slots[answer[1] as usize]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn never_worse_and_exact_in_its_loads(
            raw in prop::collection::vec((0u32..10, 0u32..10, 1u64..100), 1..40),
            seed in 0u64..100, by_volume in any::<bool>())
        {
            let grid = Grid::torus(&[3, 4]).unwrap();
            let entries: Vec<_> = raw
                .iter()
                .map(|&(i, j, bytes)| (i, j, Traffic { bytes, messages: 1 }))
                .collect();
            let matrix = SparseMatrix::from_entries(10, &entries);
            let slots: Vec<u32> = (0..12).collect();
            let links = Links::new(&matrix, grid.network().unwrap(), &slots, by_volume);
            let far = Far(Grid::torus(&[3, 4]).unwrap());
            let near = ListNear::scan(&far, 12, 6);
            let start: Vec<u32> = (0..10).collect();
            let pinned = [true, false, false, false, false, false, false, false, false, false];
            let budget = Budget::unlimited();
            let search = LinkSearch { links: &links, pinned: &pinned, steps: 2000, budget: &budget };
            let answer = search.lower(&near, start.clone(), &mut seeded(seed));
            prop_assert_eq!(answer[0], 0);
            let value = |place_of: &[u32]| {
                let slots: Vec<usize> = place_of.iter().map(|&p| p as usize).collect();
                let e = evaluate(&matrix, &grid, &slots).unwrap();
                if by_volume { e.mc.unwrap() } else { e.mmc.unwrap() as f64 }
            };
            prop_assert!(value(&answer) <= value(&start));
        }
    }
}
