//! Lowers the times of all links, slots and nodes, most of all those of the slowest ones, under the routing of the
//! network.
//!
//! Simulated annealing of swaps that minimises Σ (time/slowest)^8 and a little of Σ time, as `congestion` does for
//! static routes. The time of a link follows from the shares that the routing puts on it; under a hash it is the mean
//! and two standard deviations. Messages that choose hop by hop count with equal shares of all shortest paths. Where
//! messages can take detours, each pair keeps the share of its bytes on them that it chose when the round began. The
//! answer is the best state by the norm (Σ time^8)^(1/8). The caller compares it with others by `metrics`.

use super::link_annealing::{LinkState, Proposals, ROUND, penalty};
use super::near::Near;
use super::path_table::PathTable;
use crate::mapping::Budget;
use crate::mapping::engine::{EMPTY, Placement, Rng};
use crate::matrix::SparseMatrix;
use crate::metrics::ends::{Ends, Sent};
use crate::metrics::{DEVIATIONS, detours};
use crate::topology::{Network, Routing, Topology};

/// Looks at the detours in one search.
const SETTLED: u64 = 6;

/// The most links that a move may change in the mean; above, the search makes fewer proposals. The second number holds
/// where there is no table of the links between two places, so that each of them takes longer.
const WORK: (f64, f64) = (256.0, 64.0);

/// A pair of tasks with traffic.
struct Pair {
    ends: [u32; 2],
    bytes: f64,
    messages: f64,
}

/// The search: what is placed, where, and its length.
pub(crate) struct TimeSearch<'a> {
    routing: Box<dyn Routing + 'a>,
    hashed: bool,
    /// The slot of every place.
    slots: &'a [u32],
    pairs: Vec<Pair>,
    /// For every task, the pairs that it belongs to.
    incident: Vec<Vec<u32>>,
    /// 1 over the bandwidth of every link.
    inverse: Vec<f64>,
    /// Slots and nodes, which are numbered behind the links; `None` if only links take time.
    charged: Option<Ends<'a>>,
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
        topology: &dyn Topology,
        network: &'a dyn Network,
        slots: &'a [u32],
        pinned: &'a [bool],
    ) -> Self {
        let unit = if matrix.counts_halves() { 2.0 } else { 1.0 };
        let charged = Ends::new(topology, network);
        let pairs: Vec<Pair> = matrix
            .entries()
            .filter(|&(i, j, t)| i != j && (t.bytes > 0 || charged.is_some() && t.messages > 0))
            .map(|(i, j, t)| {
                let (bytes, messages) = (t.bytes as f64, t.messages as f64 * unit);
                Pair { ends: [i, j], bytes, messages }
            })
            .collect();
        let mut incident = vec![Vec::new(); matrix.tasks()];
        for (k, pair) in (0..).zip(&pairs) {
            pair.ends.iter().for_each(|&task| incident[task as usize].push(k));
        }
        let inverse = (0..network.links()).map(|link| 1.0 / network.bandwidth(link)).collect();
        let routing = network.routing();
        let hashed = routing.is_hashed();
        let has_detours = routing.has_detours();
        let table = |part: f64| {
            PathTable::new(slots.len(), |from, to, visit| {
                let ends = (slots[from as usize] as usize, slots[to as usize] as usize);
                detours::spread(routing.as_ref(), ends, part, visit);
            })
        };
        let long = if has_detours { 1.0 } else { 0.0 };
        let tables = table(0.0).zip(table(long)).map(|(short, long)| [short, long]);
        TimeSearch {
            hashed,
            slots,
            pairs,
            incident,
            inverse,
            charged,
            has_detours,
            tables,
            pinned,
            routing,
        }
    }

    fn slot(&self, place: u32) -> usize {
        self.slots[place as usize] as usize
    }

    /// Links, slots and nodes that take time.
    fn resources(&self) -> usize {
        self.inverse.len() + self.charged.as_ref().map_or(0, Ends::count)
    }

    /// Visits the loads that some bytes and messages put on the links between two places, and on their ends.
    fn loads(&self, from: u32, to: u32, weight: [f64; 3], visit: &mut dyn FnMut(usize, Load)) {
        let [bytes, messages, detour] = weight;
        if let Some(charged) = &self.charged {
            let sent = Sent { from: self.slot(from), to: self.slot(to), bytes, messages };
            let first = self.inverse.len();
            charged.visit(sent, &mut |end, time| visit(first + end, [time, 0.0]));
        }
        if bytes == 0.0 {
            return;
        }
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
        let links = search.resources();
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
            let weight = [pair.bytes, pair.messages, detour];
            self.search.loads(from, to, weight, &mut |link, [mean, variance]| {
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
    fn settle(&mut self) {
        let search = self.search;
        if !search.has_detours {
            return;
        }
        let place_of = &self.placement.place_of;
        let flow = |pair: &Pair| {
            let [from, to] = pair.ends.map(|task| search.slot(place_of[task as usize]));
            (from, to, pair.bytes)
        };
        let flows: Vec<detours::Flow> = search.pairs.iter().map(flow).collect();
        let mut times = vec![0.0; search.inverse.len()];
        let inverse = |link: usize| search.inverse[link];
        self.detours = detours::assign(search.routing.as_ref(), inverse, &flows, &mut times);
        self.sum();
    }

    fn penalty(&self, load: Load) -> f64 {
        penalty(time(load) / self.unit)
    }

    fn route(&mut self, from: u32, to: u32, weight: [f64; 3]) {
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
            let weight = [pair.bytes, pair.messages, self.detours[k as usize]];
            self.search.loads(from, to, weight, &mut |link, _| {
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
                let Pair { ends: [i, j], bytes, messages } = search.pairs[k as usize];
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
                self.route(a, b, [-bytes, -messages, detour]);
                self.route(c, d, [bytes, messages, detour]);
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
    /// Searches from `place_of` (by task) with about `steps` proposals; fewer if each of them has to look at many
    /// links. The answers are the best state by the norm of all times, and the best by the slowest link.
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
        let most = if self.tables.is_some() { WORK.0 } else { WORK.1 };
        let work = (most / self.links_per_move(&place_of).max(1.0)).min(1.0);
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
                state.settle();
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
#[path = "link_times_tests.rs"]
mod tests;
