//! TopoMatch's adaptive grouping: n tasks (or groups) into n/a groups of a, by affinity.
//!
//! Jeannot, "Process mapping on any topology with TopoMatch", JPDC 2022, section 4.2.2, Algorithm 1.
//! Few candidate groups are enumerated and selected in three orders; many are grouped by buckets of
//! pairs (a = 2), greedily (a ≤ 5) or by partitioning.

use super::filled_problem::partition;
use super::quotient::volume;
use crate::base::permutation::identity;
use crate::base::sorting::Arrange;
use crate::mapping::Budget;
use crate::mapping::engine::{Csr, Rng};
use crate::mapping::multisection::Bisector;
use std::cmp::Reverse;

/// τ: up to this many candidate groups all are enumerated.
const ENUMERATED: u64 = 30_000;

/// Candidates from which fast grouping takes the best.
const CANDIDATES: usize = 10;

/// Groups of exactly `arity` vertices; `arity` divides their number. Where there are too many candidates
/// to enumerate, TopoMatch is `adaptive` (buckets for pairs, greedily up to five, else by
/// partitioning), and TreeMatch makes one group after the other, greedily.
pub(super) fn group(
    graph: &Csr,
    arity: usize,
    adaptive: bool,
    bisector: &mut Bisector,
    rng: &mut Rng,
    budget: &Budget,
) -> Vec<Vec<u32>> {
    let n = graph.len();
    if arity <= 1 || n <= arity {
        return chunks(&identity(n), arity.max(1));
    }
    match binomial(n as u64, arity as u64) {
        count if count <= ENUMERATED => exhaustive(graph, arity),
        _ if adaptive && arity == 2 => by_buckets(graph, rng),
        _ if !adaptive || arity <= 5 => fast(graph, arity, budget),
        _ => partition(graph, &identity(n), &vec![arity; n / arity], bisector, rng),
    }
}

/// Groups of `arity` in the order of the list.
fn chunks(list: &[u32], arity: usize) -> Vec<Vec<u32>> {
    list.chunks(arity).map(<[u32]>::to_vec).collect()
}

/// Number of subsets, saturated just above [`ENUMERATED`].
fn binomial(n: u64, k: u64) -> u64 {
    let mut count = 1u64;
    for i in 0..k.min(n - k) {
        count = count * (n - i) / (i + 1);
        if count > ENUMERATED {
            return ENUMERATED + 1;
        }
    }
    count
}

/// Enumerates all groups and selects independent ones in three orders: by rising and by falling
/// traffic to the outside, and by falling weighted degree (the mean outside traffic of the groups
/// that share a member, counted once for each shared member). Round-robin is the start; the least
/// traffic between groups wins.
fn exhaustive(graph: &Csr, arity: usize) -> Vec<Vec<u32>> {
    let n = graph.len();
    let mut weights = vec![0i64; n * n];
    for v in 0..n {
        for (other, w) in graph.arcs(v) {
            weights[v * n + other] = w;
        }
    }
    let volumes: Vec<i64> = (0..n).map(|v| volume(graph, v)).collect();
    let outside = |members: &[u32]| -> i64 {
        let total: i64 = members.iter().map(|&v| volumes[v as usize]).sum();
        let weight = |v: u32, u: u32| weights[v as usize * n + u as usize];
        let to_members = |&v: &u32| members.iter().map(|&u| weight(v, u)).sum::<i64>();
        total - members.iter().map(to_members).sum::<i64>()
    };
    let mut members: Vec<u32> = Vec::new();
    let mut values: Vec<i64> = Vec::new();
    let mut current = identity(arity);
    let mut next = Some(0);
    while next.is_some() {
        values.push(outside(&current));
        members.extend_from_slice(&current);
        // The next subset in lexicographic order.
        next = (0..arity).rev().find(|&k| current[k] < (n - arity + k) as u32);
        if let Some(k) = next {
            current[k] += 1;
            (k + 1..arity).for_each(|j| current[j] = current[j - 1] + 1);
        }
    }
    let group = |g: u32| &members[g as usize * arity..(g as usize + 1) * arity];

    let mut best = chunks(&identity(n), arity);
    let mut best_value: i64 = best.iter().map(|g| outside(g)).sum();
    let mut sums = vec![(0i64, 0i64); n];
    for (g, &value) in (0..).zip(&values) {
        for &v in group(g) {
            sums[v as usize].0 += value;
            sums[v as usize].1 += 1;
        }
    }
    let degree = |g: u32| {
        let of_members = group(g).iter().map(|&v| sums[v as usize]);
        let (sum, count) =
            of_members.fold((0i64, 0i64), |a, b| (a.0.saturating_add(b.0), a.1 + b.1));
        sum / count.max(1)
    };
    let mut order = identity(values.len());
    for rule in 0..3 {
        match rule {
            0 => order.arrange_by_key(|&g| (values[g as usize], g)),
            1 => order.arrange_by_key(|&g| (-values[g as usize], g)),
            _ => order.arrange_by_key(|&g| (-degree(g), g)),
        }
        let mut used = vec![false; n];
        let mut chosen: Vec<Vec<u32>> = Vec::with_capacity(n / arity);
        let mut value = 0;
        for &g in &order {
            if group(g).iter().all(|&v| !used[v as usize]) {
                group(g).iter().for_each(|&v| used[v as usize] = true);
                value += values[g as usize];
                chosen.push(group(g).to_vec());
            }
        }
        if value < best_value {
            (best, best_value) = (chosen, value);
        }
    }
    best
}

/// Pairs by falling affinity. Pairs are thrown into buckets whose bounds come from a sample at
/// geometric positions; only buckets that are needed are sorted.
fn by_buckets(graph: &Csr, rng: &mut Rng) -> Vec<Vec<u32>> {
    let n = graph.len();
    let mut pairs: Vec<(i64, u32, u32)> = Vec::with_capacity(graph.arcs.len() / 2);
    for v in 0..n {
        pairs.extend(graph.arcs(v).filter(|&(u, _)| u > v).map(|(u, w)| (w, v as u32, u as u32)));
    }
    // Buckets: the largest power of two up to log2(n); as many samples as 2 to their number.
    let buckets = 1usize << (n.max(4).ilog2().ilog2());
    let mut sample: Vec<i64> = (0..(1usize << buckets.min(20)).min(pairs.len()))
        .map(|_| pairs[rng.below(pairs.len())].0)
        .collect();
    sample.sort_unstable_by(|a, b| b.cmp(a));
    let bounds: Vec<i64> = (1..buckets).filter_map(|i| sample.get(1 << i).copied()).collect();
    let mut sorted: Vec<Vec<(i64, u32, u32)>> = vec![Vec::new(); bounds.len() + 1];
    for pair in pairs {
        sorted[bounds.partition_point(|&bound| bound > pair.0)].push(pair);
    }
    let mut used = vec![false; n];
    let mut groups = Vec::with_capacity(n / 2);
    for bucket in &mut sorted {
        if groups.len() == n / 2 {
            break;
        }
        bucket.sort_unstable_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for &(_, a, b) in bucket.iter() {
            if !used[a as usize] && !used[b as usize] {
                (used[a as usize], used[b as usize]) = (true, true);
                groups.push(vec![a, b]);
            }
        }
    }
    let rest: Vec<u32> = (0..n as u32).filter(|&v| !used[v as usize]).collect();
    groups.extend(chunks(&rest, 2));
    groups
}

/// One group after the other: several are grown greedily from the heaviest free vertices, the one
/// that keeps most traffic inside is taken.
fn fast(graph: &Csr, arity: usize, budget: &Budget) -> Vec<Vec<u32>> {
    let n = graph.len();
    let mut order = identity(n);
    order.arrange_by_key(|&v| Reverse(volume(graph, v as usize)));
    let mut used = vec![false; n];
    let mut near = Near { sum: vec![0; n], touched: Vec::new() };
    let (mut first, mut first_free) = (0, 0u32);
    let mut groups: Vec<Vec<u32>> = Vec::with_capacity(n / arity);
    while groups.len() < n / arity {
        while order.get(first).is_some_and(|&v| used[v as usize]) {
            first += 1;
        }
        while used.get(first_free as usize) == Some(&true) {
            first_free += 1;
        }
        // Vertices without traffic are all alike; one try is enough, and so it is out of time.
        let silent = order.get(first).is_some_and(|&v| graph.degree(v as usize) == 0);
        let tries = if silent || budget.expired() { 1 } else { CANDIDATES };
        let seeds = order[first..].iter().filter(|&&v| !used[v as usize]).take(tries);
        let best = seeds
            .map(|&seed| grow(graph, arity, seed, &used, first_free, &mut near))
            .max_by_key(|(inside, members)| (*inside, Reverse(members.clone())));
        let Some((_, members)) = best else { break };
        members.iter().for_each(|&v| used[v as usize] = true);
        groups.push(members);
    }
    groups
}

/// Traffic of vertices to a group that grows; all zero between two groups.
struct Near {
    sum: Vec<i64>,
    touched: Vec<u32>,
}

/// Grows a group from `seed` by the free vertex with most traffic to it; returns the traffic inside.
fn grow(
    graph: &Csr,
    arity: usize,
    seed: u32,
    used: &[bool],
    first_free: u32,
    near: &mut Near,
) -> (i64, Vec<u32>) {
    let mut members = vec![seed];
    let mut inside = 0;
    while members.len() < arity {
        let last = members[members.len() - 1];
        for (other, w) in graph.arcs(last as usize).filter(|&(other, _)| !used[other]) {
            if near.sum[other] == 0 {
                near.touched.push(other as u32);
            }
            near.sum[other] += w;
        }
        let sums = near.touched.iter().map(|&v| (near.sum[v as usize], v));
        let next =
            sums.filter(|(_, v)| !members.contains(v)).max_by_key(|&(sum, v)| (sum, Reverse(v)));
        let next = next.or_else(|| {
            let free = |v: &u32| !used[*v as usize] && !members.contains(v);
            (first_free..used.len() as u32).find(free).map(|v| (0, v))
        });
        let Some((w, v)) = next else { break };
        members.push(v);
        inside += w;
    }
    near.touched.drain(..).for_each(|v| near.sum[v as usize] = 0);
    (inside, members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::{Scale, seeded};
    use crate::mapping::multisection::BisectEffort;
    use crate::matrix::Graph;

    /// Pairs (or larger groups) of neighbours talk, the rest is noise.
    fn clustered(n: u32, size: u32) -> Csr {
        let mut edges = Vec::new();
        for v in 0..n {
            for u in v + 1..n {
                // Members of a cluster are a stride apart, so round-robin is wrong.
                let same = v % (n / size) == u % (n / size);
                if same || (v * 7 + u) % 5 == 0 {
                    edges.push((v, u, if same { 100 } else { 1 }));
                }
            }
        }
        let graph = Graph::from_edges(n as usize, &edges);
        Csr::from_graph(&graph, Scale::new(graph.total_weight(), 8))
    }

    #[test]
    fn every_strategy_finds_clear_clusters() {
        let effort = BisectEffort::new(1, 4, 4, 0);
        // Exhaustive for 2, 3 and 4 of few; buckets; fast; partitioning.
        for (n, size) in [(16, 2), (24, 3), (24, 4), (600, 2), (120, 4), (240, 5), (128, 8)] {
            let graph = clustered(n, size);
            let budget = &Budget::unlimited();
            let strategies = match size {
                3..=5 => [true, false].as_slice(),
                _ => &[true],
            };
            for &adaptive in strategies {
                let mut bisector = Bisector::new(effort, budget);
                let rng = &mut seeded(1);
                let mut groups = group(&graph, size as usize, adaptive, &mut bisector, rng, budget);
                assert_eq!(groups.len(), (n / size) as usize);
                let mut seen: Vec<u32> = groups.concat();
                seen.sort_unstable();
                assert_eq!(seen, (0..n).collect::<Vec<_>>());
                let whole = groups
                    .iter_mut()
                    .filter(|g| g.iter().all(|v| v % (n / size) == g[0] % (n / size)))
                    .count();
                assert!(whole * 10 >= groups.len() * 9, "{n}/{size}: {whole} of {}", groups.len());
            }
        }
    }

    #[test]
    fn counts_subsets() {
        assert_eq!((binomial(12, 2), binomial(6, 3), binomial(5, 5)), (66, 20, 1));
        assert_eq!(binomial(1000, 500), ENUMERATED + 1);
    }
}
