//! Finds a packing: which flows and cliques use the traffic so that the bound becomes large.
//!
//! This is a linear program with a row for each pair of tasks, and columns that nobody lists: for each task the trees of
//! ways to the nearest tasks, and cliques. It is solved approximately with prices on the pairs that grow exponentially
//! with their use (Garg and Könemann, SIAM Journal on Computing 2007): again and again, a column is taken whose price is
//! nearly the lowest, for each unit by which it raises the bound. In the end the most used pair sets the scale. Small
//! steps lead nearer to the optimum, and take more time.
//!
//! The answer is only a proposal. [`super::check`] computes the bound from it.

use super::certificate::{Clique, Flow, Packing};
use super::check::Facts;
use crate::matrix::Graph;
use fnv::FnvHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Amounts are whole numbers of 1/UNIT of a byte, unless weights are very large.
const UNIT: f64 = (1u64 << 24) as f64;

/// No weight is more amounts than this.
const HEAVIEST: f64 = (1u64 << 50) as f64;

/// The search ends at this load, so that 64 bits can add up all amounts.
const LAST_LOAD: f64 = 4096.0;

/// Loads that differ by more than this have prices as if they differed by this. So no price is infinite or 0.
const POWERS: f64 = 600.0;

/// The largest noise of prices.
const NOISE: f64 = 0.2;

/// Finds packings of one graph.
pub(super) struct Packer<'a> {
    graph: &'a Graph,
    facts: &'a Facts,
    /// By arc: the number of its pair, and the task that it starts at.
    pair: Vec<u32>,
    from: Vec<u32>,
    weights: Vec<f64>,
    /// The amounts in a byte.
    unit: f64,
    /// By task: the cliques whose smallest task it is, with the numbers of their pairs.
    cliques: Vec<Vec<(Vec<u32>, Vec<u32>)>>,
}

/// What one task takes at once.
struct Column {
    /// The price of what it uses, for each unit by which it raises the bound.
    price: f64,
    taken: Taken,
}

/// A number that can be sorted.
#[derive(PartialEq)]
struct Logarithm(f64);

impl Eq for Logarithm {}

impl PartialOrd for Logarithm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Logarithm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

enum Taken {
    /// Tasks in the order in which they were reached, each with the arc to it and the index of the one before.
    Tree(Vec<Reached>),
    Clique(usize),
}

#[derive(Clone, Copy)]
struct Reached {
    arc: u32,
    before: u32,
}

/// Scratch of the search for trees, by task.
struct Scratch {
    distance: Vec<f64>,
    /// The part of the distance that the way pays for.
    paid: Vec<f64>,
    arc: Vec<u32>,
    hops: Vec<u32>,
    index: Vec<u32>,
    touched: Vec<u32>,
    /// Changes the noise.
    round: u64,
    /// The largest noise.
    noise: f64,
    /// Arcs that were looked at.
    looked_at: u64,
}

impl Scratch {
    fn new(n: usize, noise: f64) -> Scratch {
        Scratch {
            distance: vec![f64::INFINITY; n],
            paid: vec![0.0; n],
            arc: vec![u32::MAX; n],
            hops: vec![0; n],
            index: vec![u32::MAX; n],
            touched: Vec::new(),
            round: 0,
            noise,
            looked_at: 0,
        }
    }

    /// A factor of 1 to 1 + `noise`: ways of the same price are taken in turn.
    fn noise(&self, v: usize, pair: u32) -> f64 {
        let mixed = (self.round << 48 ^ (v as u64) << 24 ^ u64::from(pair))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31)
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        1.0 + self.noise * (mixed >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// What has been taken so far.
struct State {
    /// By pair: how much of it is used, in amounts.
    used: Vec<f64>,
    /// By pair: e to the power of its load, over its weight.
    prices: Vec<f64>,
    /// The load whose price is 1 over the weight.
    base: f64,
    /// Whether a load has risen far above the base.
    is_far: bool,
    flows: Vec<FnvHashMap<u32, u64>>,
    cliques: BTreeMap<(u32, usize), u64>,
}

impl State {
    /// Uses an amount of a pair.
    fn add(&mut self, packer: &Packer<'_>, pair: usize, amount: u64) {
        self.used[pair] += amount as f64;
        self.prices[pair] = packer.price(&self.used, pair, self.base);
        self.is_far |= packer.load(&self.used, pair) > self.base + POWERS / 2.0;
    }

    /// Sets prices so that the largest load has an ordinary one.
    fn reprice(&mut self, packer: &Packer<'_>) {
        let pairs = 0..self.used.len();
        self.base = pairs.clone().map(|pair| packer.load(&self.used, pair)).fold(0.0, f64::max);
        self.prices.clear();
        self.prices.extend(pairs.map(|pair| packer.price(&self.used, pair, self.base)));
        self.is_far = false;
    }
}

impl<'a> Packer<'a> {
    pub(super) fn new(graph: &'a Graph, facts: &'a Facts) -> Self {
        let (mut pair, mut from) = (Vec::new(), Vec::new());
        let mut weights = Vec::new();
        let offsets = graph.offsets();
        for v in 0..graph.vertices() {
            from.resize(from.len() + graph.degree(v), v as u32);
            for (u, weight) in graph.arcs(v) {
                if (u as usize) < v {
                    let k = graph.neighbours(u as usize).partition_point(|&t| (t as usize) < v);
                    pair.push(pair[offsets[u as usize] + k]);
                } else {
                    pair.push(weights.len() as u32);
                    weights.push(weight as f64);
                }
            }
        }
        let unit = UNIT.min(HEAVIEST / weights.iter().copied().fold(1.0, f64::max));
        let mut packer = Packer { graph, facts, pair, from, weights, unit, cliques: Vec::new() };
        if facts.cliques.len() > 3 {
            packer.cliques = (0..graph.vertices()).map(|v| packer.cliques_of(v)).collect();
        }
        packer
    }

    /// How often a pair is used by as much as its weight.
    fn load(&self, used: &[f64], pair: usize) -> f64 {
        used[pair] / self.unit / self.weights[pair]
    }

    /// The price of a pair if a load of `base` has the price 1 over the weight.
    fn price(&self, used: &[f64], pair: usize, base: f64) -> f64 {
        libm::exp((self.load(used, pair) - base).clamp(-POWERS, POWERS)) / self.weights[pair]
    }

    /// The packing after so many rounds. In a round, as many tasks are looked at as there are.
    pub(super) fn pack(&self, rounds: usize) -> Packing {
        let n = self.graph.vertices();
        let mut state = State {
            used: vec![0.0; self.weights.len()],
            prices: Vec::new(),
            base: 0.0,
            is_far: false,
            flows: vec![FnvHashMap::default(); n],
            cliques: BTreeMap::new(),
        };
        state.reprice(self);
        let step = (4.0 / (rounds.max(1) as f64).sqrt()).min(1.5);
        let mut scratch = Scratch::new(n, step.min(NOISE));
        // The logarithm of the price of each task's cheapest column, when the task was last looked at. Prices rise, so the
        // cheapest column now is most likely that of the task with the least of them. Tasks that found no column come later.
        let mut queue: BinaryHeap<(Reverse<Logarithm>, u32)> = BinaryHeap::new();
        let (mut idle, mut dearest) = (Vec::new(), f64::NEG_INFINITY);
        for v in (0..n).filter(|&v| self.graph.degree(v) > 0) {
            // Nothing is known yet about the price of a unit of the bound. The mean price of the task's pairs stands for it.
            let arcs = self.graph.offsets()[v]..self.graph.offsets()[v + 1];
            let own = arcs.len() as f64;
            let own = self.pair[arcs].iter().map(|&p| state.prices[p as usize]).sum::<f64>() / own;
            match self.column(v, &state.prices, own, &mut scratch) {
                Some(column) => {
                    let price = libm::log(column.price);
                    dearest = dearest.max(price);
                    queue.push((Reverse(Logarithm(price)), v as u32));
                }
                None => idle.push(v as u32),
            }
        }
        // These tasks may find something to take once prices differ.
        queue.extend(idle.into_iter().map(|v| (Reverse(Logarithm(dearest + step)), v)));
        // Looking at few tasks with very many partners again and again is not worth its time.
        let most = (scratch.looked_at + n as u64).saturating_mul(4 * rounds as u64);
        let mut is_taken = dearest.is_finite();
        let mut level = queue.peek().map_or(0.0, |least| least.0.0.0);
        'rounds: for _ in 0..rounds {
            scratch.round += 1;
            state.reprice(self);
            if !is_taken {
                break;
            }
            is_taken = false;
            for _ in 0..queue.len() {
                if state.is_far {
                    state.reprice(self);
                }
                if state.base > LAST_LOAD || scratch.looked_at > most {
                    break 'rounds;
                }
                let Some((Reverse(known), v)) = queue.pop() else { break };
                let unit = libm::exp((level - state.base).clamp(-POWERS, POWERS));
                let next = queue.peek().map_or(f64::INFINITY, |next| next.0.0.0);
                let now = match self.column(v as usize, &state.prices, unit, &mut scratch) {
                    Some(column) => {
                        let now = libm::log(column.price) + state.base;
                        if now > next + step {
                            now
                        } else if self.take(v as usize, &column, step, &mut state) {
                            (level, is_taken) = (now, true);
                            now
                        } else {
                            known.0.max(now) + step
                        }
                    }
                    None => known.0 + step,
                };
                queue.push((Reverse(Logarithm(now)), v));
            }
        }
        self.finished(&state.used, state.flows, state.cliques)
    }

    /// Uses what a column needs, and raises the prices: no load rises by more than `step`. False if this is less than the
    /// smallest amount.
    fn take(&self, v: usize, column: &Column, step: f64, state: &mut State) -> bool {
        let limit = |times: f64, pair: u32| step * self.unit * self.weights[pair as usize] / times;
        match &column.taken {
            Taken::Tree(tree) => {
                let mut through = vec![1u64; tree.len()];
                let mut most = f64::INFINITY;
                for k in (1..tree.len()).rev() {
                    let sum = through[k];
                    most = most.min(limit(sum as f64, self.pair[tree[k].arc as usize]));
                    through[tree[k].before as usize] += sum;
                }
                let amount = most as u64;
                if amount == 0 {
                    return false;
                }
                for (reached, times) in tree.iter().zip(&through).skip(1) {
                    *state.flows[v].entry(reached.arc).or_default() += amount * times;
                    state.add(self, self.pair[reached.arc as usize] as usize, amount * times);
                }
            }
            Taken::Clique(k) => {
                let pairs = &self.cliques[v][*k].1;
                let limits = pairs.iter().map(|&pair| limit(1.0, pair));
                let amount = limits.fold(f64::INFINITY, f64::min) as u64;
                if amount == 0 {
                    return false;
                }
                pairs.iter().for_each(|&pair| state.add(self, pair as usize, amount));
                *state.cliques.entry((v as u32, *k)).or_default() += amount;
            }
        }
        true
    }

    /// The cheapest that a task can take. `unit` is about what a unit of the bound costs.
    fn column(&self, v: usize, prices: &[f64], unit: f64, scratch: &mut Scratch) -> Option<Column> {
        let mut best = self.tree(v, prices, unit, scratch);
        let nearest = self.facts.sums.get(1).copied().unwrap_or(0) as f64;
        for (k, (tasks, pairs)) in self.cliques.get(v).into_iter().flatten().enumerate() {
            let profit = self.facts.cliques[tasks.len()] as f64 - nearest * pairs.len() as f64;
            let price = pairs.iter().map(|&p| prices[p as usize]).sum::<f64>() / profit;
            if profit > 0.0 && best.as_ref().is_none_or(|b| price < b.price) {
                best = Some(Column { price, taken: Taken::Clique(k) });
            }
        }
        best
    }

    /// The cheapest tree of ways to the nearest tasks.
    fn tree(&self, v: usize, prices: &[f64], unit: f64, scratch: &mut Scratch) -> Option<Column> {
        let sums = &self.facts.sums;
        let nearest = sums.get(1).copied().unwrap_or(0);
        // A pair on the way also loses what it would cost at least.
        let fixed = nearest as f64 * unit;
        let largest = sums.windows(2).map(|s| s[1] - s[0]).max().unwrap_or(0) as f64;
        let offsets = self.graph.offsets();
        let mut heap = BinaryHeap::new();
        let mut reached: Vec<Reached> = Vec::new();
        let (mut cost, mut hops) = (0.0, 0u64);
        let mut best: Option<(f64, usize)> = None;
        (scratch.distance[v], scratch.paid[v]) = (0.0, 0.0);
        scratch.touched.push(v as u32);
        heap.push((Reverse(0u64), v as u32));
        while let Some((Reverse(bits), task)) = heap.pop() {
            let at = task as usize;
            let distance = f64::from_bits(bits);
            if distance > scratch.distance[at] || scratch.index[at] != u32::MAX {
                continue;
            }
            scratch.index[at] = reached.len() as u32;
            let arc = scratch.arc[at];
            if at == v {
                reached.push(Reached { arc, before: u32::MAX });
            } else {
                let k = reached.len();
                if k >= sums.len() || best.is_some_and(|b| distance > b.0 * largest) {
                    break;
                }
                reached.push(Reached { arc, before: scratch.index[self.from(arc)] });
                hops += u64::from(scratch.hops[at]);
                cost += scratch.paid[at];
                let profit = sums[k] as f64 - (nearest * hops) as f64;
                let price = cost / profit;
                if profit > 0.0 && price > 0.0 && best.is_none_or(|b| price < b.0) {
                    best = Some((price, k + 1));
                }
            }
            if !self.facts.metric && at != v {
                continue;
            }
            // Of a task with very many partners on the way, other ones are looked at in each round.
            let (begin, degree) = (offsets[at], self.graph.degree(at));
            let some = if at == v { degree } else { degree.min(16 * sums.len()) };
            let first = if some < degree { scratch.round as usize * some % degree } else { 0 };
            scratch.looked_at += some as u64;
            for k in first..first + some {
                let arc = begin + k % degree;
                let next = self.graph.neighbours(at)[k % degree];
                let pair = self.pair[arc];
                let paid = prices[pair as usize] * scratch.noise(v, pair);
                let far = distance + paid + fixed;
                let next = next as usize;
                if far < scratch.distance[next] {
                    if scratch.distance[next].is_infinite() {
                        scratch.touched.push(next as u32);
                    }
                    scratch.distance[next] = far;
                    scratch.paid[next] = scratch.paid[at] + paid;
                    scratch.arc[next] = arc as u32;
                    scratch.hops[next] = scratch.hops[at] + 1;
                    heap.push((Reverse(far.to_bits()), next as u32));
                }
            }
        }
        for &t in &scratch.touched {
            scratch.distance[t as usize] = f64::INFINITY;
            scratch.index[t as usize] = u32::MAX;
            scratch.hops[t as usize] = 0;
        }
        scratch.touched.clear();
        let (price, length) = best?;
        reached.truncate(length);
        Some(Column { price, taken: Taken::Tree(reached) })
    }

    /// The task that an arc starts at.
    fn from(&self, arc: u32) -> usize {
        self.from[arc as usize] as usize
    }

    fn finished(
        &self,
        used: &[f64],
        flows: Vec<FnvHashMap<u32, u64>>,
        cliques: BTreeMap<(u32, usize), u64>,
    ) -> Packing {
        let most = used.iter().zip(&self.weights).map(|(u, w)| u / w).fold(0.0, f64::max);
        // A little more than needed: sums of floating-point numbers are not exact.
        let most = most * (1.0 + 1e-9);
        let scale = most.ceil().max(1.0) as u64;
        // With very large weights, an amount is many bytes: whole multiples of the packing may fit.
        let times = if most > 0.0 { (1.0 / most).floor().max(1.0) as u64 } else { 1 };
        let target = |arc: u32| {
            self.graph.neighbours(self.from(arc))
                [arc as usize - self.graph.offsets()[self.from(arc)]]
        };
        let arcs = |flow: FnvHashMap<u32, u64>| {
            let mut filled: Vec<(u32, u64)> = flow.into_iter().filter(|arc| arc.1 > 0).collect();
            filled.sort_unstable();
            let filled = filled.into_iter();
            filled
                .map(|(arc, amount)| (self.from(arc) as u32, target(arc), amount * times))
                .collect::<Vec<_>>()
        };
        let flows = (0..).zip(flows).map(|(task, flow)| Flow { task, arcs: arcs(flow) });
        let cliques = cliques.into_iter().filter(|c| c.1 > 0).map(|((v, k), amount)| Clique {
            tasks: self.cliques[v as usize][k].0.clone(),
            amount: amount * times,
        });
        Packing {
            scale,
            flows: flows.filter(|flow| !flow.arcs.is_empty()).collect(),
            cliques: cliques.collect(),
        }
    }

    /// Cliques whose smallest task is `v`, triangles first. Tasks with very many partners have none.
    fn cliques_of(&self, v: usize) -> Vec<(Vec<u32>, Vec<u32>)> {
        /// The most pairs and cliques of a task that are made larger.
        const MOST: usize = 200;
        let largest = self.facts.cliques.len() - 1;
        let mut found: Vec<Vec<u32>> = vec![vec![v as u32]];
        let mut next = 0;
        while next < found.len() && found.len() < MOST {
            let clique = found[next].clone();
            next += 1;
            if clique.len() == largest {
                continue;
            }
            let last = clique[clique.len() - 1];
            let row = self.graph.neighbours(v);
            for &u in &row[row.partition_point(|&u| u <= last)..] {
                if clique.iter().all(|&c| self.graph.weight_between(c as usize, u as usize) > 0) {
                    found.push([clique.as_slice(), &[u]].concat());
                }
            }
        }
        found.retain(|clique| clique.len() > 2);
        found
            .into_iter()
            .map(|clique| (self.pairs_of(&clique), clique))
            .map(|(p, c)| (c, p))
            .collect()
    }

    fn pairs_of(&self, clique: &[u32]) -> Vec<u32> {
        let mut pairs = Vec::new();
        for (k, &a) in clique.iter().enumerate() {
            for &b in &clique[..k] {
                if let Ok(i) = self.graph.neighbours(a as usize).binary_search(&b) {
                    pairs.push(self.pair[self.graph.offsets()[a as usize] + i]);
                }
            }
        }
        pairs
    }
}
