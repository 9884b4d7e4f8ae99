//! GSEARCH: GEOM, and then swaps of two tasks as long as they shorten the paths of their traffic.
//!
//! GSearch paper (Chen and Bunde), section II, with the two variants of section IV-C and the limit
//! of 0.35 n + 20 swaps of section IV-B. The paper counts the hops of pairs with traffic. Here every
//! hop counts with the pair's traffic, which leads to the same swaps for the paper's stencils.

use super::filled_problem::FilledProblem;
use super::geom;
use crate::base::error::Result;
use crate::mapping::engine::{Distance, Placement};
use crate::mapping::{Budget, Outcome, Problem};

/// The algorithm as the paper recommends it: every swap that helps, as soon as it is found.
pub(super) fn first(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    map(problem, budget, |run| run.first())
}

/// Variation 1: the best swap of each task.
pub(super) fn by_rank(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    map(problem, budget, |run| run.best_of_task())
}

/// Variation 2: the best swap of all pairs.
pub(super) fn best(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    map(problem, budget, |run| run.best_of_all())
}

fn map(problem: &Problem<'_>, budget: &Budget, search: fn(&mut Run<'_>)) -> Result<Outcome> {
    let start = geom::map(problem, budget)?;
    let filled = FilledProblem::new(problem, budget);
    let n = problem.tasks();
    let mut run = Run {
        placement: Placement::new(start.place_of_task, filled.len()),
        filled: &filled,
        free: (0..n).map(|t| problem.fixed_place(t).is_none()).collect(),
        slack: Vec::new(),
        swaps: 0,
        limit: (0.35 * n as f64) as usize + 20,
    };
    run.slack = (0..n).map(|t| run.slack_of(t)).collect();
    search(&mut run);
    let (place_of, swaps) = (run.placement.place_of, run.swaps);
    Ok(filled.outcome(place_of).with("swaps", swaps))
}

struct Run<'a> {
    filled: &'a FilledProblem<'a>,
    placement: Placement,
    /// Whether each task may move.
    free: Vec<bool>,
    /// How much the cost of a task's edges could decrease at most. A swap gains at most the sum of the slacks
    /// of both tasks.
    slack: Vec<i64>,
    swaps: usize,
    limit: usize,
}

impl Run<'_> {
    /// The decrease of hop-bytes if two tasks swap their places. It is 0 if a decrease is impossible.
    fn gain(&self, a: usize, b: usize) -> i64 {
        let placement = &self.placement;
        match self.free[a] && self.free[b] && self.slack[a] + self.slack[b] > 0 {
            true => -placement.delta(&self.filled.graph, self.filled, a, placement.place_of[b]),
            false => 0,
        }
    }

    /// Cost of a task's edges above what it is with all partners one hop away; where slots take
    /// several tasks, above nothing.
    fn slack_of(&self, task: usize) -> i64 {
        let places = self.filled.problem.places();
        let one = i64::from(places.windows(2).all(|w| w[0] != w[1]));
        let at = &self.placement.place_of;
        let above = |other: usize| self.filled.between(at[task], at[other]) - one;
        self.filled.graph.arcs(task).map(|(other, w)| w * above(other)).sum()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.placement.swap(a, self.placement.place_of[b]);
        self.swaps += 1;
        for task in [a, b] {
            self.slack[task] = self.slack_of(task);
            for (other, _) in self.filled.graph.arcs(task) {
                self.slack[other] = self.slack_of(other);
            }
        }
    }

    fn over(&self) -> bool {
        self.swaps >= self.limit || self.filled.budget.expired()
    }

    fn first(&mut self) {
        let n = self.free.len();
        loop {
            let before = self.swaps;
            for a in 0..n {
                if self.over() {
                    return;
                }
                for b in a + 1..n {
                    if self.gain(a, b) > 0 {
                        self.swap(a, b);
                        if self.swaps >= self.limit {
                            return;
                        }
                    }
                }
            }
            if self.swaps == before {
                return;
            }
        }
    }

    /// The best partner of a task among those from `from` on, if it gains.
    fn best_partner(&self, a: usize, from: usize) -> Option<(i64, usize)> {
        let n = self.free.len();
        (from..n)
            .filter(|&b| b != a)
            .map(|b| (self.gain(a, b), b))
            .filter(|&(gain, _)| gain > 0)
            .max_by_key(|&(gain, b)| (gain, n - b))
    }

    fn best_of_task(&mut self) {
        loop {
            let before = self.swaps;
            for a in 0..self.free.len() {
                if self.over() {
                    return;
                }
                if let Some((_, b)) = self.best_partner(a, 0) {
                    self.swap(a, b);
                }
            }
            if self.swaps == before {
                return;
            }
        }
    }

    /// Keeps the best partner above each task. A swap changes only gains that involve the two tasks
    /// or their neighbours, so only these are computed again.
    fn best_of_all(&mut self) {
        let n = self.free.len();
        let mut best: Vec<Option<(i64, usize)>> =
            (0..n).map(|a| self.best_partner(a, a + 1)).collect();
        let mut touched = vec![false; n];
        while !self.over() {
            let top = (0..n).filter_map(|a| best[a].map(|(gain, b)| (gain, n - a, b))).max();
            let Some((_, a, b)) = top else { return };
            let a = n - a;
            self.swap(a, b);
            let near = |t: usize| self.filled.graph.arcs(t).map(|(other, _)| other);
            let mut changed: Vec<usize> =
                [a, b].into_iter().chain(near(a)).chain(near(b)).filter(|&t| t < n).collect();
            changed.sort_unstable();
            changed.dedup();
            changed.iter().for_each(|&t| touched[t] = true);
            for t in 0..n {
                if touched[t] || best[t].is_some_and(|(_, partner)| touched[partner]) {
                    best[t] = self.best_partner(t, t + 1);
                    continue;
                }
                let start = changed.partition_point(|&c| c <= t);
                for &c in &changed[start..] {
                    let gain = self.gain(t, c);
                    let better = |(g, partner): (i64, usize)| (gain, n - c) > (g, n - partner);
                    if gain > 0 && best[t].is_none_or(better) {
                        best[t] = Some((gain, c));
                    }
                }
            }
            changed.iter().for_each(|&t| touched[t] = false);
        }
    }
}
