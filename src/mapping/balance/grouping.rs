//! Partition of the tasks into groups of balanced load.

use super::loads::Loads;
use crate::base::sorting::Arrange;
use crate::mapping::engine::{Csr, Rng, Scale, seeded};
use crate::mapping::multisection::{BisectEffort, Bisector};
use crate::mapping::{Budget, Preset, ProblemBuilder};
use crate::matrix::Graph;

/// Groups of tasks, as many as slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The group of every task.
    pub of_task: Vec<u32>,
    /// Load of every group.
    pub loads: Vec<u128>,
    /// The load that no group exceeds.
    pub limit: u128,
}

/// Large loads are scaled for the search, so that the mean size of a group is this.
const MEAN_SIZE: u128 = 4096;

impl Groups {
    /// Partitions the tasks of a problem into `count` groups with little traffic between them. No group is
    /// loaded above the limit. The tasks of each list in `together` are in one group, and no two lists are in
    /// the same group.
    pub(super) fn new(
        problem: &ProblemBuilder<'_>,
        loads: &Loads,
        count: usize,
        together: &[Vec<u32>],
        budget: &Budget,
    ) -> Groups {
        let (graph, preset, seed) = (problem.graph, problem.preset, problem.seed);
        let csr = sized(graph, loads, count);
        let (runs, passes) = match preset {
            Preset::Fast => (1, 2),
            Preset::Default => (2, 4),
            Preset::Strong => (6, 8),
        };
        let effort = BisectEffort::new(runs, 4, passes, 1);
        let mut split = Split {
            bisector: Bisector::new(effort, budget),
            rng: seeded(seed).fork(11),
            imbalance: loads.imbalance(),
            of_task: vec![0; graph.vertices()],
        };
        let members: Vec<u32> = (0..graph.vertices() as u32).collect();
        split.halve(&csr, &members, 0, count as u32, count.max(2).ilog2() + 1);
        let of_task = split.of_task;
        let mut groups = Groups { of_task, loads: Vec::new(), limit: 0 };
        let pinned = groups.gather(together, count);
        groups.loads = loads.of_groups(&groups.of_task, count);
        groups.limit = loads.limit(count).max(loads.pinned_maximum(together));
        groups.rebalance(graph, loads, &pinned);
        let longest_first = loads.longest_first(count, together);
        let worst = |g: &Groups| g.loads.iter().copied().max().unwrap_or(0);
        if worst(&groups) > groups.limit {
            let of_groups = loads.of_groups(&longest_first, count);
            let other = Groups { of_task: longest_first, loads: of_groups, limit: groups.limit };
            if worst(&other) < worst(&groups) {
                groups = other;
            }
            groups.limit = groups.limit.max(worst(&groups));
        }
        groups
    }

    /// Moves the tasks of each list into the group that has most of them already. Returns which tasks must not
    /// leave their group.
    fn gather(&mut self, together: &[Vec<u32>], count: usize) -> Vec<bool> {
        let mut pinned = vec![false; self.of_task.len()];
        let mut claimed = vec![false; count];
        for list in together {
            let mut votes = vec![0u32; count];
            list.iter().for_each(|&t| votes[self.of_task[t as usize] as usize] += 1);
            let free = (0..count).filter(|&g| !claimed[g]);
            let Some(group) = free.max_by_key(|&g| (votes[g], std::cmp::Reverse(g))) else { break };
            claimed[group] = true;
            for &task in list {
                self.of_task[task as usize] = group as u32;
                pinned[task as usize] = true;
            }
        }
        pinned
    }

    /// Moves tasks out of groups above the limit, the cheapest first.
    fn rebalance(&mut self, graph: &Graph, loads: &Loads, pinned: &[bool]) {
        let count = self.loads.len();
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (task, &group) in self.of_task.iter().enumerate() {
            members[group as usize].push(task as u32);
        }
        let mut over: Vec<usize> = (0..count).filter(|&g| self.loads[g] > self.limit).collect();
        over.arrange_by_key(|&g| std::cmp::Reverse(self.loads[g]));
        let mut traffic = vec![0u128; count];
        for from in over {
            while self.loads[from] > self.limit {
                let room = (0..count).min_by_key(|&g| (self.loads[g], g)).unwrap_or(from);
                let mut best: Option<((bool, i128, u128), usize, usize)> = None;
                for (k, &task) in members[from].iter().enumerate() {
                    let load = loads.of(task as usize);
                    if pinned[task as usize] || load == 0 {
                        continue;
                    }
                    let mut near: Vec<usize> = vec![room];
                    for (other, w) in graph.arcs(task as usize) {
                        let g = self.of_task[other as usize] as usize;
                        traffic[g] = traffic[g].saturating_add(u128::from(w));
                        near.push(g);
                    }
                    for &to in &near {
                        let after = self.loads[to] + load;
                        if to == from || after >= self.loads[from] {
                            continue;
                        }
                        let loss = traffic[from] as i128 - traffic[to] as i128;
                        let key = (after > self.limit, loss, after);
                        if best.is_none_or(|(b, _, _)| key < b) {
                            best = Some((key, k, to));
                        }
                    }
                    near.iter().for_each(|&g| traffic[g] = 0);
                }
                let Some((_, k, to)) = best else { break };
                let task = members[from].swap_remove(k);
                members[to].push(task);
                self.of_task[task as usize] = to as u32;
                let load = loads.of(task as usize);
                self.loads[from] -= load;
                self.loads[to] += load;
            }
        }
    }

    /// The affinity of the groups.
    pub(super) fn graph(&self, graph: &Graph) -> Graph {
        let group = |task: u32| self.of_task[task as usize];
        let edges: Vec<(u32, u32, u64)> =
            graph.each_edge().map(|(v, t, w)| (group(v), group(t), w)).collect();
        Graph::from_edges(self.loads.len(), &edges)
    }
}

/// The graph with loads as sizes; scaled only where their sum would be large. Without any load every
/// task counts 1.
fn sized(graph: &Graph, loads: &Loads, count: usize) -> Csr {
    let scale = Scale::new(graph.total_weight().max(1), 1);
    let mut csr = Csr::from_graph(graph, scale);
    let total = loads.total();
    if total == 0 {
        return csr;
    }
    let exact = total < 1 << 30;
    let mean = (total / count.max(1) as u128).max(1);
    for (task, size) in csr.sizes.iter_mut().enumerate() {
        let load = loads.of(task);
        *size = match exact {
            true => load as u32,
            // A load above that of a thousand slots is reduced to this load. The task gets a slot of its own in
            // any case.
            false => (load.min(mean.saturating_mul(1024)).saturating_mul(MEAN_SIZE) / mean) as u32,
        };
    }
    csr
}

struct Split {
    bisector: Bisector,
    rng: Rng,
    imbalance: f64,
    of_task: Vec<u32>,
}

impl Split {
    /// Splits `graph` (its vertices are `members`) into the groups from `first` on.
    fn halve(&mut self, graph: &Csr, members: &[u32], first: u32, count: u32, levels: u32) {
        if count <= 1 || members.len() <= 1 {
            members.iter().for_each(|&t| self.of_task[t as usize] = first);
            return;
        }
        let left = count / 2;
        let total = graph.total_size() as i64;
        let target = (i128::from(total) * i128::from(left) / i128::from(count)) as i64;
        // The load beyond its share that a side may get while no group exceeds the limit. It is
        // divided among the levels that are still to be split.
        let group = (total as f64 / f64::from(count)).ceil() * (1.0 + self.imbalance);
        let spare = (group * f64::from(left) - target as f64)
            .min(group * f64::from(count - left) - (total - target) as f64);
        let allowed = (spare / f64::from(levels.max(1))).max(0.0) as i64;
        let mut rng = self.rng.fork(u64::from(first) << 32 | u64::from(count));
        let side = self.bisector.bisect_within(graph, target.max(1), allowed, &mut rng).side;
        let mut local = vec![u32::MAX; graph.len()];
        for (which, first, count) in [(0, first, left), (1, first + left, count - left)] {
            let chosen: Vec<u32> =
                (0..members.len() as u32).filter(|&v| side[v as usize] == which).collect();
            let tasks: Vec<u32> = chosen.iter().map(|&v| members[v as usize]).collect();
            let sub = graph.subgraph(&chosen, &mut local);
            self.halve(&sub, &tasks, first, count, levels.saturating_sub(1));
        }
    }
}
