//! Lowers the times of all links, most of all those of the slowest ones, under the routing of the network.
//!
//! Simulated annealing of swaps that minimises Σ (time/slowest)^8 and a little of Σ time, as `congestion` does for
//! static routes. The time of a link follows from the shares that the routing puts on it; under a hash it is the mean
//! and two standard deviations. Messages that choose hop by hop count with equal shares of all shortest paths. Where
//! messages can take detours, each pair keeps the share of its bytes on them that settled when the round began. The
//! answer is the best state by the norm (Σ time^8)^(1/8). The caller compares it with others by `metrics`.

use super::link_annealing::{LinkState, Proposals, ROUND, penalty};
use super::near::Near;
use super::path_table::PathTable;
use crate::mapping::Budget;
use crate::mapping::engine::{EMPTY, Placement, Rng};
use crate::matrix::SparseMatrix;
use crate::metrics::{DEVIATIONS, detours};
use crate::topology::{Network, Routing};

/// Looks at the detours in one search.
const SETTLED: u64 = 6;

/// The most links that a move may change in the mean; above, the search makes fewer proposals.
const WORK: f64 = 256.0;

/// A pair of tasks with traffic.
struct Pair {
    ends: [u32; 2],
    bytes: f64,
}

/// The search: what is placed, where, and its length.
pub(crate) struct TimeSearch<'a> {
    network: &'a dyn Network,
    routing: Box<dyn Routing + 'a>,
    hashed: bool,
    /// The slot of every place.
    slots: &'a [u32],
    pairs: Vec<Pair>,
    /// For every task, the pairs that it belongs to.
    incident: Vec<Vec<u32>>,
    /// 1 over the bandwidth of every link.
    inverse: Vec<f64>,
    /// Messages can take detours.
    has_detours: bool,
    /// The links of each pair of places on its shortest paths, and on its detours.
    tables: Option<[PathTable; 2]>,
    /// By task: it keeps its place.
    pinned: &'a [bool],
}

/// Mean time of a link, and the variance under a hash.
type Load = [f64; 2];

struct State<'s, 'a> {
    search: &'s TimeSearch<'a>,
    placement: Placement,
    load: Vec<Load>,
    change: Vec<Load>,
    touched: Vec<u32>,
    stamp: Vec<u32>,
    proposal: u32,
    /// By pair: the share of the bytes on detours.
    detours: Vec<f64>,
    /// Time that counts as 1.
    unit: f64,
}

fn time(load: Load) -> f64 {
    load[0].max(0.0) + DEVIATIONS * load[1].max(0.0).sqrt()
}

impl<'a> TimeSearch<'a> {
    pub(crate) fn new(
        matrix: &SparseMatrix,
        network: &'a dyn Network,
        slots: &'a [u32],
        pinned: &'a [bool],
    ) -> Self {
        let pairs: Vec<Pair> = matrix
            .entries()
            .filter(|&(i, j, t)| i != j && t.bytes > 0)
            .map(|(i, j, t)| Pair { ends: [i, j], bytes: t.bytes as f64 })
            .collect();
        let mut incident = vec![Vec::new(); matrix.tasks()];
        for (k, pair) in (0..).zip(&pairs) {
            pair.ends.iter().for_each(|&task| incident[task as usize].push(k));
        }
        let inverse = (0..network.links()).map(|link| 1.0 / network.bandwidth(link)).collect();
        let routing = network.routing();
        let hashed = routing.is_hashed();
        let detour = |from: u32, to: u32| routing.detours(from as usize, to as usize) > 0;
        let has_detours = slots.first().is_some_and(|&a| slots.iter().any(|&b| detour(a, b)));
        let table = |part: f64| {
            PathTable::new(slots.len(), |from, to, visit| {
                let ends = (slots[from as usize] as usize, slots[to as usize] as usize);
                detours::spread(routing.as_ref(), ends, part, visit);
            })
        };
        let long = if has_detours { 1.0 } else { 0.0 };
        let tables = table(0.0).zip(table(long)).map(|(short, long)| [short, long]);
        TimeSearch {
            network,
            hashed,
            slots,
            pairs,
            incident,
            inverse,
            has_detours,
            tables,
            pinned,
            routing,
        }
    }

    fn slot(&self, place: u32) -> usize {
        self.slots[place as usize] as usize
    }

    /// Visits the loads that some bytes put on the links between two places.
    fn loads(&self, from: u32, to: u32, weight: [f64; 2], visit: &mut dyn FnMut(usize, Load)) {
        let [bytes, detour] = weight;
        let mut add = |link: usize, share: f64| {
            let width = bytes * self.inverse[link];
            let spread = match self.hashed {
                true => width * width.abs() * share * (self.routing.lanes(link) - share).max(0.0),
                false => 0.0,
            };
            visit(link, [width * share, spread]);
        };
        let Some(tables) = &self.tables else {
            let ends = (self.slot(from), self.slot(to));
            return detours::spread(self.routing.as_ref(), ends, detour, &mut add);
        };
        for (table, part) in tables.iter().zip([1.0 - detour, detour]) {
            if part > 0.0 {
                let links = table.of(from, to).iter();
                links.for_each(|&(link, share)| add(link as usize, share * part));
            }
        }
    }

    /// How many links a move changes in the mean, for a start of the search.
    fn links_per_move(&self, place_of: &[u32]) -> f64 {
        let step = (self.pairs.len() / 256).max(1);
        let (mut seen, mut links) = (0u32, 0u32);
        for pair in self.pairs.iter().step_by(step) {
            let [from, to] = pair.ends.map(|task| self.slot(place_of[task as usize]));
            seen += 1;
            self.routing.spread(from, to, &mut |_, _| links += 1);
            for way in 0..self.routing.detours(from, to) {
                self.routing.detour(from, to, way, &mut |_| links += 1);
            }
        }
        let pairs_per_move = 8.0 * self.pairs.len() as f64 / self.incident.len().max(1) as f64;
        pairs_per_move * f64::from(links) / f64::from(seen.max(1))
    }
}

impl<'s, 'a> State<'s, 'a> {
    fn new(search: &'s TimeSearch<'a>, place_of: &[u32]) -> Self {
        let links = search.network.links();
        let mut state = State {
            search,
            placement: Placement::new(place_of.to_vec(), search.slots.len()),
            load: vec![[0.0; 2]; links],
            change: vec![[0.0; 2]; links],
            touched: Vec::new(),
            stamp: vec![0; links],
            proposal: 0,
            detours: vec![0.0; search.pairs.len()],
            unit: 1.0,
        };
        state.sum();
        state
    }

    /// Computes all loads anew.
    fn sum(&mut self) {
        self.load.iter_mut().for_each(|load| *load = [0.0; 2]);
        for (pair, &detour) in self.search.pairs.iter().zip(&self.detours) {
            let [from, to] = pair.ends.map(|task| self.placement.place_of[task as usize]);
            let load = &mut self.load;
            self.search.loads(from, to, [pair.bytes, detour], &mut |link, [mean, variance]| {
                load[link][0] += mean;
                load[link][1] += variance;
            });
        }
    }

    fn slowest(&self) -> f64 {
        self.load.iter().map(|&load| time(load)).fold(0.0, f64::max)
    }

    /// The norm of the times, as a number that does not depend on the unit.
    fn norm(&self) -> f64 {
        let sum: f64 = self.load.iter().map(|&load| (time(load) / self.unit).powi(8)).sum();
        libm::pow(sum, 0.125) * self.unit
    }

    /// Lets the pairs choose between shortest paths and detours. Does nothing where there are none.
    fn settle(&mut self, rounds: std::ops::Range<u32>) {
        let search = self.search;
        if !search.has_detours {
            return;
        }
        for round in rounds {
            let times: Vec<f64> = self.load.iter().map(|&load| time(load)).collect();
            let place_of = &self.placement.place_of;
            let pairs = search.pairs.iter().map(|pair| {
                let [from, to] = pair.ends.map(|task| search.slot(place_of[task as usize]));
                (from, to)
            });
            detours::settle(search.routing.as_ref(), &times, pairs, &mut self.detours, round);
            self.sum();
        }
    }

    fn penalty(&self, load: Load) -> f64 {
        penalty(time(load) / self.unit)
    }

    fn route(&mut self, from: u32, to: u32, weight: [f64; 2]) {
        let (change, touched) = (&mut self.change, &mut self.touched);
        let (stamp, proposal) = (&mut self.stamp, self.proposal);
        self.search.loads(from, to, weight, &mut |link, [mean, variance]| {
            if std::mem::replace(&mut stamp[link], proposal) != proposal {
                touched.push(link as u32);
            }
            change[link][0] += mean;
            change[link][1] += variance;
        });
    }

    /// Pairs that pass one of the slowest links.
    fn hot_pairs(&self, out: &mut Vec<u32>) {
        out.clear();
        let least = 0.9 * self.slowest();
        for (k, pair) in (0..).zip(&self.search.pairs) {
            let [from, to] = pair.ends.map(|task| self.placement.place_of[task as usize]);
            let mut passes = false;
            self.search.loads(from, to, [pair.bytes, self.detours[k as usize]], &mut |link, _| {
                passes |= time(self.load[link]) >= least;
            });
            if passes {
                out.push(k);
            }
        }
    }
}

impl LinkState for State<'_, '_> {
    fn placement(&self) -> &Placement {
        &self.placement
    }

    fn propose(&mut self, u: usize, q: u32) -> f64 {
        self.touched.clear();
        self.proposal = self.proposal.wrapping_add(1);
        let p = self.placement.place_of[u];
        let v = self.placement.task_at[q as usize];
        let search = self.search;
        for (task, other) in [(u as u32, EMPTY), (v, u as u32)] {
            if task == EMPTY {
                continue;
            }
            for &k in &search.incident[task as usize] {
                let Pair { ends: [i, j], bytes } = search.pairs[k as usize];
                if i == other || j == other {
                    continue;
                }
                let here = |t: u32| self.placement.place_of[t as usize];
                let after = |t: u32| match t {
                    t if t as usize == u => q,
                    t if t == v => p,
                    t => here(t),
                };
                let (a, b, c, d) = (here(i), here(j), after(i), after(j));
                let detour = self.detours[k as usize];
                self.route(a, b, [-bytes, detour]);
                self.route(c, d, [bytes, detour]);
            }
        }
        let mut sum = 0.0;
        for &link in &self.touched {
            let (before, change) = (self.load[link as usize], self.change[link as usize]);
            let after = [before[0] + change[0], before[1] + change[1]];
            sum += self.penalty(after) - self.penalty(before);
        }
        sum
    }

    fn finish(&mut self, u: usize, q: u32, accept: bool) {
        for &link in &self.touched {
            let change = std::mem::take(&mut self.change[link as usize]);
            if accept {
                let load = &mut self.load[link as usize];
                *load = [(load[0] + change[0]).max(0.0), (load[1] + change[1]).max(0.0)];
            }
        }
        if accept {
            self.placement.swap(u, q);
        }
    }
}

impl TimeSearch<'_> {
    /// Searches from `place_of` (by task) with about `steps` proposals; fewer if each of them has to look at many links.
    /// The answers are the best state by the norm of all times, and the best by the slowest link.
    pub(crate) fn lower<N: Near>(
        &self,
        near: &N,
        place_of: Vec<u32>,
        steps: u64,
        budget: &Budget,
        rng: &mut Rng,
    ) -> Vec<Vec<u32>> {
        let mut state = State::new(self, &place_of);
        state.unit = state.slowest();
        if state.unit <= 0.0 {
            return vec![place_of];
        }
        let work = (WORK / self.links_per_move(&place_of).max(1.0)).min(1.0);
        let rounds = ((steps as f64 * work) as u64).div_ceil(ROUND).max(1);
        let proposals = Proposals { near, pinned: self.pinned, pairs: self.pairs.len() };
        let mut best = [(state.norm(), place_of.clone()), (state.slowest(), place_of)];
        let (mut hot, mut temperature) = (Vec::new(), 0.0);
        for round in 0..rounds {
            if budget.expired() {
                break;
            }
            budget.report("times of links", round, rounds);
            if round % rounds.div_ceil(SETTLED) == 0 {
                state.settle(if round == 0 { 0..8 } else { 4..8 });
                state.unit = state.slowest();
                if round == 0 {
                    (best[0].0, best[1].0) = (state.norm(), state.slowest());
                }
            }
            if state.unit <= 0.0 {
                break;
            }
            state.hot_pairs(&mut hot);
            let ends = |pair: usize| (self.pairs[pair].ends[0], self.pairs[pair].ends[1]);
            let uphill = proposals.round(&mut state, (&hot, temperature), ends, rng, |_| ());
            let worth = [state.norm(), state.slowest()];
            for (best, worth) in best.iter_mut().zip(worth) {
                if worth < best.0 * (1.0 - 1e-12) {
                    *best = (worth, state.placement.place_of.clone());
                }
            }
            temperature = uphill.temperature(round, rounds);
            state.unit = state.slowest();
        }
        let [norm, slowest] = best.map(|(_, place_of)| place_of);
        if norm == slowest { vec![norm] } else { vec![norm, slowest] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::{Distance, seeded};
    use crate::mapping::refinement::ListNear;
    use crate::matrix::Traffic;
    use crate::metrics::predicted_time;
    use crate::topology::{Topology, parse};
    use proptest::prelude::*;

    const SPECS: [&str; 6] = [
        "torus:3x4",
        "torus:3x4,routing=adaptive",
        "fattree:2:3:2@2:1,routing=ecmp",
        "dragonfly:3x2x2",
        "dragonfly:3x2x2,routing=adaptive",
        "dragonfly:3x2x2,routing=valiant",
    ];

    struct Far<'t>(&'t dyn Topology);

    impl Distance for Far<'_> {
        fn between(&self, a: u32, b: u32) -> i64 {
            self.0.distance(a as usize, b as usize) as i64
        }
    }

    fn matrix(raw: &[(u32, u32, u64)]) -> SparseMatrix {
        let entry = |&(i, j, bytes)| (i, j, Traffic { bytes, messages: 1 });
        SparseMatrix::from_entries(10, &raw.iter().map(entry).collect::<Vec<_>>())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// After any swaps, the loads that were updated are those of the placement, and the time is that of `metrics`.
        #[test]
        fn updated_loads_are_exact(
            raw in prop::collection::vec((0u32..10, 0u32..10, 1u64..1000), 1..40),
            swaps in prop::collection::vec((0usize..10, 0u32..12, any::<bool>()), 1..60),
            kind in 0usize..6)
        {
            let topology = parse(SPECS[kind]).unwrap();
            let matrix = matrix(&raw);
            let slots: Vec<u32> = (0..12).collect();
            let search = TimeSearch::new(&matrix, topology.network().unwrap(), &slots, &[]);
            let mut state = State::new(&search, &(0..10).collect::<Vec<_>>());
            let detours = kind == 4;
            if detours {
                state.settle(0..4);
            }
            for (u, q, accept) in swaps {
                if state.placement.place_of[u] == q {
                    continue;
                }
                let whole = |state: &State<'_, '_>| {
                    state.load.iter().map(|&load| state.penalty(load)).sum::<f64>()
                };
                state.unit = state.slowest().max(1.0);
                let before = whole(&state);
                let delta = state.propose(u, q);
                state.finish(u, q, accept);
                let after = whole(&state);
                let want = if accept { before + delta } else { before };
                prop_assert!((after - want).abs() <= 1e-6 * want.max(1.0), "{} {}", after, want);
            }
            let kept = state.load.clone();
            state.sum();
            for (a, b) in kept.iter().zip(&state.load) {
                prop_assert!((a[0] - b[0]).abs() < 1e-6 && (a[1] - b[1]).abs() < 1e-3);
            }
            let place_of: Vec<usize> =
                state.placement.place_of.iter().map(|&p| p as usize).collect();
            let judged = predicted_time(&matrix, topology.as_ref(), &place_of).unwrap();
            // With detours the shares are those of the start, and messages that choose hop by hop have no fixed shares.
            if !detours && kind != 1 {
                // Under a hash the slowest link is judged in another way.
                prop_assert!(kind == 2 || state.slowest() <= judged.slowest * (1.0 + 1e-6) + 1e-6);
                state.unit = state.slowest().max(1e-300);
                prop_assert!((state.norm() - judged.links).abs() <= 1e-3 * judged.links.max(1.0));
            }
        }

        /// By the norm of all links the answer is never worse than the start; what is pinned stays.
        #[test]
        fn never_worse_than_the_start(
            raw in prop::collection::vec((0u32..10, 0u32..10, 1u64..100), 1..40),
            seed in 0u64..100, kind in 0usize..4)
        {
            // Those whose shares the search knows exactly.
            let topology = parse(SPECS[[0, 2, 3, 5][kind]]).unwrap();
            let matrix = matrix(&raw);
            let slots: Vec<u32> = (0..12).collect();
            let pinned: Vec<bool> = (0..10).map(|task| task == 0).collect();
            let search = TimeSearch::new(&matrix, topology.network().unwrap(), &slots, &pinned);
            let near = ListNear::scan(&Far(topology.as_ref()), 12, 6);
            let start: Vec<u32> = (0..10).collect();
            let budget = Budget::unlimited();
            let answers = search.lower(&near, start.clone(), 2000, &budget, &mut seeded(seed));
            prop_assert!(answers.iter().all(|answer| answer[0] == 0));
            let judged = |place_of: &[u32]| {
                let slots: Vec<usize> = place_of.iter().map(|&p| p as usize).collect();
                predicted_time(&matrix, topology.as_ref(), &slots).unwrap()
            };
            let (first, last) = (judged(&answers[0]), judged(&answers[answers.len() - 1]));
            let start = judged(&start);
            prop_assert!(first.links <= start.links * (1.0 + 1e-6));
            prop_assert!(kind == 1 || last.slowest <= start.slowest * (1.0 + 1e-6));
        }
    }
}
