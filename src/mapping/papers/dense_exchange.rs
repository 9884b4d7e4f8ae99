//! Exchanges on all pairs of a dense matrix, on a tree.
//!
//! TopoMatch leaves out the light pairs of a dense matrix (paper, 4.3.2). If all pairs have similar weights,
//! the pairs left out are most of the cost, and a grouping by the heavy pairs alone is no better than a greedy
//! one that uses all pairs. The paper lets grouping take longer if that pays (4.2.2). Here the time saved on
//! light pairs is spent on exchanges of two tasks after Kernighan and Lin (Bell System Technical Journal,
//! 1970), with the gain of every exchange on the whole matrix.
//!
//! The traffic of every task to every group is kept in a table (tasks times groups entries), so the gain
//! of an exchange costs a few look-ups. If all weights are similar, a search that only takes exchanges that
//! lower the cost ends soon. Matrices of up to a few thousand tasks are therefore annealed first: a task
//! chooses among its exchanges with probabilities that depend on their gains (heat bath; Geman and Geman, IEEE
//! PAMI 1984), with a temperature that falls to zero.

use super::filled_problem::FilledProblem;
use crate::base::permutation::inverse;
use crate::mapping::engine::{Rng, TreePlaces};
use crate::matrix::Graph;

/// Rounds over all tasks at most that only take exchanges that pay.
const ROUNDS: usize = 8;

/// A further such round is worth its time if the last one saved this part of the cost.
const WORTHWHILE: i128 = 2000;

/// Annealed rounds for up to [`ANNEALED_TO`] tasks. For more tasks they fall with the square of the
/// number.
const ANNEALED: usize = 11;
const ANNEALED_TO: usize = 1100;

/// First temperature, in units of the mean gain of an exchange in the first round.
const HOT: f64 = 0.5;

/// Groups in which a task looks for partners: those where it would gain most.
const GROUPS: usize = 8;

/// Entries of the table of traffic to groups at most (1 GiB).
const ENTRIES: usize = 1 << 27;

/// One level of groups.
struct Level {
    /// By place of the tree: its group.
    group_of: Vec<u32>,
    groups: usize,
    /// What a byte saves if its sender and its receiver share a group of this level.
    saving: i64,
    /// `traffic[group][task]`, rows as long as there are tasks.
    traffic: Vec<i64>,
}

impl Level {
    /// The entries of the group at a place, in `traffic`.
    fn row(&self, place: usize) -> std::ops::Range<usize> {
        let (n, group) = (self.group_of.len(), self.group_of[place] as usize);
        group * n..(group + 1) * n
    }
}

/// The levels that split the places into more than one group and not into single places.
fn levels(tree: &TreePlaces) -> Vec<Level> {
    let n = tree.order.len();
    let (Some(first), Some(last)) = (tree.codes.first(), tree.codes.last()) else {
        return Vec::new();
    };
    let mut outer = tree.distance_of[(first ^ last).leading_zeros() as usize];
    let mut levels: Vec<Level> = Vec::new();
    for &shift in tree.shifts.iter().filter(|&&shift| shift > 0) {
        let mut group_of = vec![0u32; n];
        for k in 1..n {
            let next = tree.codes[k] >> shift != tree.codes[k - 1] >> shift;
            group_of[k] = group_of[k - 1] + u32::from(next);
        }
        let groups = group_of.last().map_or(0, |&g| g as usize + 1);
        // Two places that share a group of this level and none below.
        let inner = tree.distance_of[64 - shift as usize];
        if groups == n {
            break;
        }
        match levels.last_mut() {
            Some(same) if same.groups == groups => same.saving += outer - inner,
            _ if groups == 1 => {}
            _ => levels.push(Level { group_of, groups, saving: outer - inner, traffic: vec![] }),
        }
        outer = inner;
    }
    levels
}

/// Exchanges tasks as long as that pays; `position[task]` is an index into `tree.order`, each in use
/// once.
pub(super) fn exchange(filled: &FilledProblem, tree: &TreePlaces, position: &mut [u32]) {
    let n = position.len();
    let rng = &mut filled.rng.fork(9);
    let Some(mut state) = State::new(filled, tree, position) else { return };
    let total: i128 = state.own.iter().map(|&s| i128::from(s)).sum();
    let Some(gained) = state.round(0.0, rng) else { return };
    let unit = gained as f64 / n as f64;
    let annealed = (ANNEALED * ANNEALED_TO * ANNEALED_TO / (n * n).max(1)).min(ANNEALED);
    for k in 0..annealed {
        let temperature = HOT * unit * (annealed - k) as f64 / annealed as f64;
        if state.round(temperature, rng).is_none() {
            break;
        }
    }
    for _ in 0..ROUNDS {
        match state.round(0.0, rng) {
            Some(gained) if gained * WORTHWHILE >= total => {}
            _ => return,
        }
    }
}

/// Entries of the table of noise.
const DRAWS: usize = 1024;

/// Noise of a distribution (Gumbel's) that makes the largest sum of gain and noise a choice with
/// probabilities as the exponential of the gains.
fn noise(temperature: f64) -> Vec<i64> {
    let draw = |k: usize| -libm::log(-libm::log((k as f64 + 0.5) / DRAWS as f64));
    (0..DRAWS).map(|k| (temperature * draw(k)) as i64).collect()
}

struct State<'a> {
    filled: &'a FilledProblem<'a>,
    /// The whole matrix.
    graph: &'a Graph,
    position: &'a mut [u32],
    task_at: Vec<u32>,
    /// First places of the groups of the finest level, and the end.
    starts: Vec<usize>,
    levels: Vec<Level>,
    /// What the traffic of a task saves at its present position.
    own: Vec<i64>,
    change: Vec<i64>,
}

impl<'a> State<'a> {
    /// `None` where nothing can be exchanged or the table would be too large.
    fn new(
        filled: &'a FilledProblem<'a>,
        tree: &TreePlaces,
        position: &'a mut [u32],
    ) -> Option<State<'a>> {
        let (n, graph) = (position.len(), filled.problem.graph());
        let mut levels = levels(tree);
        let entries: usize = levels.iter().map(|l| l.groups.saturating_mul(n)).sum();
        let fits = n == graph.vertices() && n == tree.order.len() && entries <= ENTRIES;
        if levels.is_empty() || !fits {
            return None;
        }
        for level in &mut levels {
            level.traffic = vec![0; level.groups * n];
            for (u, &at) in position.iter().enumerate() {
                let row = level.row(at as usize);
                let row = &mut level.traffic[row];
                graph.arcs(u).for_each(|(t, w)| row[t as usize] += filled.scale.weight(w));
            }
        }
        let finest = levels.last().map_or(&[][..], |l| &l.group_of);
        let first = |k: &usize| *k == 0 || finest[*k] != finest[k - 1];
        let starts = (0..n).filter(first).chain([n]).collect();
        let task_at = inverse(position);
        let (own, change) = (vec![0; n], vec![]);
        let mut state = State { filled, graph, own, change, position, task_at, starts, levels };
        (0..n).for_each(|t| state.refresh(t));
        Some(state)
    }

    /// What the traffic of `task` would save at a position.
    fn saved(&self, task: usize, position: usize) -> i64 {
        let n = self.own.len();
        let of = |l: &Level| l.saving * l.traffic[l.group_of[position] as usize * n + task];
        self.levels.iter().map(of).sum()
    }

    fn refresh(&mut self, task: usize) {
        self.own[task] = self.saved(task, self.position[task] as usize);
    }

    /// Every task in turn takes its best exchange; above temperature 0 there is noise on the gains.
    /// Returns the sum of what the exchanges saved, or `None` when the time is up.
    fn round(&mut self, temperature: f64, rng: &mut Rng) -> Option<i128> {
        let noise = if temperature > 0.0 { noise(temperature) } else { vec![0; DRAWS] };
        let mut gained = 0;
        for u in 0..self.own.len() {
            if u % 64 == 0 && self.filled.budget.expired() {
                return None;
            }
            if let Some((gain, v)) = self.best(u, &noise, rng) {
                gained += i128::from(gain);
                self.swap(u, v);
            }
        }
        Some(gained)
    }

    /// The exchange of `u` with the largest sum of gain and noise, if that is better than none.
    fn best(&self, u: usize, noise: &[i64], rng: &mut Rng) -> Option<(i64, usize)> {
        let (graph, scale, n) = (self.graph, self.filled.scale, self.own.len());
        let here = self.position[u] as usize;
        let finest = &self.levels.last()?.group_of;
        let groups = self.starts.windows(2).map(|r| (r[0], r[1]));
        let mut gains: Vec<(i64, usize, usize)> = groups
            .filter(|&(start, _)| finest[start] != finest[here])
            .map(|(start, end)| (self.own[u] - self.saved(u, start), start, end))
            .collect();
        if gains.len() > GROUPS {
            gains.select_nth_unstable(GROUPS - 1);
            gains.truncate(GROUPS);
        }
        let rows: Vec<(i64, &[i64])> =
            self.levels.iter().map(|l| (l.saving, &l.traffic[l.row(here)])).collect();
        let weights = graph.weights(u);
        let between = |v: usize| match weights.len() + 1 == n {
            // A full row lacks the task itself only.
            true => weights[v - usize::from(v > u)],
            false => graph.weight_between(u, v),
        };
        let both: i64 = self.levels.iter().map(|l| l.saving).sum();
        let draw = &mut rng.next_u64();
        let mut noise_of = || {
            *draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            noise[(*draw >> 54) as usize % DRAWS]
        };
        let (mut most, mut best) = (noise_of().max(0), None);
        for (loss, start, end) in gains {
            // What a byte between u and a task there seems to save although both only change sides.
            let share = |l: &&Level| l.group_of[start] == l.group_of[here];
            let already: i64 = self.levels.iter().filter(share).map(|l| l.saving).sum();
            let apparent = 2 * (both - already);
            for &v in &self.task_at[start..end] {
                let v = v as usize;
                let back: i64 = rows.iter().map(|(saving, row)| saving * row[v]).sum();
                let seen = match between(v) {
                    0 => 0,
                    w => apparent * scale.weight(w),
                };
                let gain = back - self.own[v] - loss - seen;
                let sum = gain + noise_of();
                if sum > most {
                    (most, best) = (sum, Some((gain, v)));
                }
            }
        }
        best
    }

    fn swap(&mut self, u: usize, v: usize) {
        let (graph, scale, n) = (self.graph, self.filled.scale, self.own.len());
        let (p, q) = (self.position[u] as usize, self.position[v] as usize);
        // What every other task has more traffic with u than with v.
        let change = &mut self.change;
        change.clear();
        change.resize(n, 0);
        graph.arcs(u).for_each(|(t, w)| change[t as usize] += scale.weight(w));
        graph.arcs(v).for_each(|(t, w)| change[t as usize] -= scale.weight(w));
        for level in &mut self.levels {
            if level.group_of[p] == level.group_of[q] {
                continue;
            }
            for (row, sign) in [(level.row(p), -1), (level.row(q), 1)] {
                let row = level.traffic[row].iter_mut();
                row.zip(change.iter()).for_each(|(sum, c)| *sum += sign * c);
            }
        }
        (self.position[u], self.position[v]) = (q as u32, p as u32);
        (self.task_at[p], self.task_at[q]) = (v as u32, u as u32);
        // The tasks that share a group with one of the two, on the outermost level where the two
        // are in different groups.
        let differs = |l: &&Level| l.group_of[p] != l.group_of[q];
        let Some(outer) = self.levels.iter().position(|l| differs(&l)) else { return };
        for at in [p, q] {
            let group_of = &self.levels[outer].group_of;
            let same = |k: &usize| group_of[*k] == group_of[at];
            let start = (0..at).rev().take_while(same).last().unwrap_or(at);
            let end = (at..n).take_while(same).last().unwrap_or(at);
            (start..=end).for_each(|k| self.refresh(self.task_at[k] as usize));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::seeded;
    use crate::mapping::{Budget, Problem};
    use crate::metrics::hop_bytes;
    use crate::topology::parse;

    #[test]
    fn exchanges_pay_and_their_gains_are_true() {
        let n = 60u32;
        let edges: Vec<(u32, u32, u64)> = (0..n)
            .flat_map(|a| (0..a).map(move |b| (a, b, 1 + u64::from((a * 7919 + b * 104_729) % 97))))
            .collect();
        let graph = Graph::from_edges(n as usize, &edges);
        for spec in ["tree:4:3:5@1:10:100", "tree:5:12@1:7", "tree:60@3", "tree:3:1:20@1:5:9"] {
            let topology = parse(spec).unwrap();
            let places: Vec<u32> = (0..n).collect();
            let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
            let filled = FilledProblem::new(&problem, &Budget::unlimited());
            let tree = TreePlaces::new(topology.as_tree().unwrap(), &places, filled.scale).unwrap();
            let mut position: Vec<u32> = places.clone();
            let cost = |position: &[u32]| -> i128 {
                let slots: Vec<usize> =
                    position.iter().map(|&k| tree.order[k as usize] as usize).collect();
                hop_bytes(&graph, topology.as_ref(), &slots) as i128
            };
            let before = cost(&position);
            let rng = &mut seeded(1);
            exchange(&filled, &tree, &mut position);
            let after = cost(&position);
            let mut sorted = position.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, places);
            assert_eq!(after < before, spec != "tree:60@3", "{spec}");
            // From another start, every gain that the search sees is the true one.
            let mut start: Vec<u32> = (0..n).rev().collect();
            let Some(mut state) = State::new(&filled, &tree, &mut start) else {
                assert_eq!(spec, "tree:60@3");
                continue;
            };
            for u in 0..n as usize {
                let noise = if u < 30 { vec![0; DRAWS] } else { noise(50.0) };
                if let Some((gain, v)) = state.best(u, &noise, rng) {
                    let before = cost(state.position);
                    state.swap(u, v);
                    assert_eq!(before - cost(state.position), i128::from(gain), "{spec} {u} {v}");
                }
            }
        }
    }
}
