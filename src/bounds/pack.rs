//! Finds a packing: which flows and cliques use the traffic so that the bound becomes large.
//!
//! This is a linear program with a row for each pair of tasks. It is solved approximately as a game of two players, each
//! of which learns with multiplicative weights (Plotkin, Shmoys and Tardos 1995): one sets prices on the pairs, high
//! where they are used much. For each task, the other takes the cheapest tree of ways to the nearest tasks, or the
//! cheapest clique, by these prices. Everything that was taken counts; in the end the most used pair sets the scale.
//!
//! The answer is only a proposal. [`super::check`] computes the bound from it.

use super::certificate::{Clique, Flow, Packing};
use super::check::Facts;
use crate::matrix::Graph;
use fnv::FnvHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Amounts are whole numbers of 1/UNIT of a byte.
const UNIT: f64 = (1u64 << 24) as f64;

/// By how much a round raises the load of the most used pairs, in powers of e of their price.
const STEP: f64 = 0.3;

/// How fast the shares of the tasks change.
const LEARN: f64 = 0.05;

/// Finds packings of one graph.
pub(super) struct Packer<'a> {
    graph: &'a Graph,
    facts: &'a Facts,
    /// By arc: the number of its pair, and the task that it starts at.
    pair: Vec<u32>,
    from: Vec<u32>,
    weights: Vec<f64>,
    /// By task: the cliques whose smallest task it is, with the numbers of their pairs.
    cliques: Vec<Vec<(Vec<u32>, Vec<u32>)>>,
}

/// What one task takes in one round.
struct Column {
    /// The price of what it uses, for each unit by which it raises the bound.
    price: f64,
    profit: f64,
    taken: Taken,
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
    arc: Vec<u32>,
    hops: Vec<u32>,
    index: Vec<u32>,
    touched: Vec<u32>,
    round: u64,
}

impl Scratch {
    fn new(n: usize) -> Scratch {
        Scratch {
            distance: vec![f64::INFINITY; n],
            arc: vec![u32::MAX; n],
            hops: vec![0; n],
            index: vec![u32::MAX; n],
            touched: Vec::new(),
            round: 0,
        }
    }

    /// A factor near 1: ways of the same price are taken in turn.
    fn noise(&self, v: usize, pair: u32) -> f64 {
        let mixed = (self.round << 48 ^ (v as u64) << 24 ^ u64::from(pair))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31)
            .wrapping_mul(0xd6e8_feb8_6659_fd93);
        1.0 + 0.1 * (mixed >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// What has been taken so far.
struct State {
    /// By pair: how much of it is used, in units of [`UNIT`].
    used: Vec<f64>,
    /// By pair: e to the power of its load, over its weight.
    prices: Vec<f64>,
    /// The load whose price is 1 over the weight.
    base: f64,
    flows: Vec<FnvHashMap<u32, u64>>,
    cliques: BTreeMap<(u32, usize), u64>,
}

impl State {
    fn add(&mut self, pair: usize, amount: u64, weights: &[f64]) {
        self.used[pair] += amount as f64;
        let load = self.used[pair] / UNIT / weights[pair];
        self.prices[pair] = libm::exp((load - self.base).min(600.0)) / weights[pair];
    }

    /// Sets prices so that the largest load has an ordinary one; the factor by which prices changed.
    fn reprice(&mut self, weights: &[f64]) -> f64 {
        let load = |k: usize, used: &[f64]| used[k] / UNIT / weights[k];
        let most = (0..weights.len()).map(|k| load(k, &self.used)).fold(0.0, f64::max);
        let factor = libm::exp(self.base - most);
        self.base = most;
        for (k, weight) in weights.iter().enumerate() {
            self.prices[k] = libm::exp(load(k, &self.used) - most) / weight;
        }
        factor
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
        let mut packer = Packer { graph, facts, pair, from, weights, cliques: Vec::new() };
        if facts.cliques.len() > 3 {
            packer.cliques = (0..graph.vertices()).map(|v| packer.cliques_of(v)).collect();
        }
        packer
    }

    /// The packing after so many rounds.
    pub(super) fn pack(&self, rounds: usize) -> Packing {
        let n = self.graph.vertices();
        let mut state = State {
            used: vec![0.0; self.weights.len()],
            prices: self.weights.iter().map(|w| 1.0 / w).collect(),
            base: 0.0,
            flows: vec![FnvHashMap::default(); n],
            cliques: BTreeMap::new(),
        };
        let mut share = vec![1.0 / n.max(1) as f64; n];
        let mut scratch = Scratch::new(n);
        let mut mean: Option<f64> = None;
        let mut paid = vec![f64::INFINITY; n];
        for round in 0..rounds {
            if let Some(mean) = &mut mean {
                *mean *= state.reprice(&self.weights);
            }
            let all: f64 = state.prices.iter().zip(&self.weights).map(|(p, w)| p * w).sum();
            scratch.round = round as u64;
            let (mut sum, mut counted) = (0.0, 0.0);
            for v in 0..n {
                let Some(column) = self.column(v, &state.prices, mean, &mut scratch) else {
                    continue;
                };
                paid[v] = column.price;
                sum += column.price * share[v];
                counted += share[v];
                let profit = STEP * share[v] * all / mean.unwrap_or(column.price);
                self.take(v, &column, profit / column.profit * UNIT, &mut state);
            }
            if counted <= 0.0 {
                break;
            }
            let now = sum / counted;
            mean = Some(now);
            // Tasks whose bound is cheap count for more in the next rounds.
            let mut total = 0.0;
            for (s, price) in share.iter_mut().zip(&paid) {
                *s *= libm::exp((LEARN * (1.0 - price / now)).clamp(-1.0, 1.0));
                total += *s;
            }
            share.iter_mut().for_each(|s| *s /= total);
        }
        self.finished(&state.used, state.flows, state.cliques)
    }

    /// Uses what a column needs, and raises the prices. No pair is used for more than [`STEP`] loads at once.
    fn take(&self, v: usize, column: &Column, amount: f64, state: &mut State) {
        let limit = |times: f64, pair: u32| STEP * UNIT * self.weights[pair as usize] / times;
        match &column.taken {
            Taken::Tree(tree) => {
                let mut through = vec![1u64; tree.len()];
                let mut most = amount;
                for k in (1..tree.len()).rev() {
                    let sum = through[k];
                    most = most.min(limit(sum as f64, self.pair[tree[k].arc as usize]));
                    through[tree[k].before as usize] += sum;
                }
                let amount = most as u64;
                for (reached, times) in tree.iter().zip(&through).skip(1) {
                    *state.flows[v].entry(reached.arc).or_default() += amount * times;
                    state.add(
                        self.pair[reached.arc as usize] as usize,
                        amount * times,
                        &self.weights,
                    );
                }
            }
            Taken::Clique(k) => {
                let pairs = &self.cliques[v][*k].1;
                let amount =
                    pairs.iter().map(|&pair| limit(1.0, pair)).fold(amount, f64::min) as u64;
                pairs.iter().for_each(|&pair| state.add(pair as usize, amount, &self.weights));
                *state.cliques.entry((v as u32, *k)).or_default() += amount;
            }
        }
    }

    /// The cheapest that a task can take. `mean` is what a unit of the bound costs so far.
    fn column(
        &self,
        v: usize,
        prices: &[f64],
        mean: Option<f64>,
        scratch: &mut Scratch,
    ) -> Option<Column> {
        let mut best = self.tree(v, prices, mean, scratch);
        let nearest = self.facts.sums.get(1).copied().unwrap_or(0) as f64;
        for (k, (tasks, pairs)) in self.cliques.get(v).into_iter().flatten().enumerate() {
            let profit = self.facts.cliques[tasks.len()] as f64 - nearest * pairs.len() as f64;
            let price = pairs.iter().map(|&p| prices[p as usize]).sum::<f64>() / profit;
            if profit > 0.0 && best.as_ref().is_none_or(|b| price < b.price) {
                best = Some(Column { price, profit, taken: Taken::Clique(k) });
            }
        }
        best
    }

    /// The cheapest tree of ways to the nearest tasks.
    fn tree(
        &self,
        v: usize,
        prices: &[f64],
        mean: Option<f64>,
        scratch: &mut Scratch,
    ) -> Option<Column> {
        let sums = &self.facts.sums;
        let nearest = sums.get(1).copied().unwrap_or(0);
        // A pair on the way also loses what it would cost at least.
        let fixed = nearest as f64 * mean.unwrap_or(prices[0]);
        let largest = sums.windows(2).map(|s| s[1] - s[0]).max().unwrap_or(0) as f64;
        let offsets = self.graph.offsets();
        let mut heap = BinaryHeap::new();
        let mut reached: Vec<Reached> = Vec::new();
        let (mut cost, mut hops) = (0.0, 0u64);
        let mut best: Option<(f64, f64, usize)> = None;
        scratch.distance[v] = 0.0;
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
                cost += distance - fixed * f64::from(scratch.hops[at]);
                let profit = sums[k] as f64 - (nearest * hops) as f64;
                let price = cost / profit;
                if profit > 0.0 && price > 0.0 && best.is_none_or(|b| price < b.0) {
                    best = Some((price, profit, k + 1));
                }
            }
            if !self.facts.metric && at != v {
                continue;
            }
            for (k, &next) in self.graph.neighbours(at).iter().enumerate() {
                let arc = offsets[at] + k;
                let pair = self.pair[arc];
                let far = distance + prices[pair as usize] * scratch.noise(v, pair) + fixed;
                let next = next as usize;
                if far < scratch.distance[next] {
                    if scratch.distance[next].is_infinite() {
                        scratch.touched.push(next as u32);
                    }
                    scratch.distance[next] = far;
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
        let (price, profit, length) = best?;
        reached.truncate(length);
        Some(Column { price, profit, taken: Taken::Tree(reached) })
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
        let scale = (most * (1.0 + 1e-9)).ceil().max(1.0) as u64;
        let target = |arc: u32| {
            self.graph.neighbours(self.from(arc))
                [arc as usize - self.graph.offsets()[self.from(arc)]]
        };
        let arcs = |flow: FnvHashMap<u32, u64>| {
            let mut filled: Vec<(u32, u64)> = flow.into_iter().filter(|arc| arc.1 > 0).collect();
            filled.sort_unstable();
            let filled = filled.into_iter();
            filled
                .map(|(arc, amount)| (self.from(arc) as u32, target(arc), amount))
                .collect::<Vec<_>>()
        };
        let flows = (0..).zip(flows).map(|(task, flow)| Flow { task, arcs: arcs(flow) });
        let cliques = cliques.into_iter().filter(|c| c.1 > 0).map(|((v, k), amount)| Clique {
            tasks: self.cliques[v as usize][k].0.clone(),
            amount,
        });
        Packing {
            scale,
            flows: flows.filter(|flow| !flow.arcs.is_empty()).collect(),
            cliques: cliques.collect(),
        }
    }

    /// Cliques whose smallest task is `v`: all triangles, and larger ones by adding tasks in ascending order.
    fn cliques_of(&self, v: usize) -> Vec<(Vec<u32>, Vec<u32>)> {
        /// The most cliques for a task.
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
