//! GSEARCH: GEOM, then pairs of tasks swap as long as that shortens the way of their traffic.
//!
//! GSearch paper (Chen and Bunde), section II, with the two variants of section IV-C and the limit
//! of 0.35 n + 20 swaps of section IV-B. The paper counts hops of talking pairs; here every hop
//! counts with the pair's traffic, which is the same for its stencils.

use super::filled_problem::FilledProblem;
use super::geom::Geom;
use super::refine_topolb::{swap_gain, task_cost};
use crate::base::error::Result;
use crate::mapping::{Budget, Mapper, Outcome, Problem};

/// GSEARCH, with one of its rules for what to swap.
pub(in crate::mapping) struct GSearch {
    choice: Choice,
}

enum Choice {
    /// Every swap that helps, as soon as it is found.
    First,
    /// The best swap of each task.
    BestOfTask,
    /// The best swap of all pairs.
    BestOfAll,
}

/// The algorithm as the paper recommends it.
pub(in crate::mapping) const GSEARCH: GSearch = GSearch { choice: Choice::First };

/// Variation 1: the best swap of each rank.
pub(in crate::mapping) const BY_RANK: GSearch = GSearch { choice: Choice::BestOfTask };

/// Variation 2: the best swap of all pairs.
pub(in crate::mapping) const BEST: GSearch = GSearch { choice: Choice::BestOfAll };

impl Mapper for GSearch {
    fn name(&self) -> &'static str {
        match self.choice {
            Choice::First => "gsearch",
            Choice::BestOfTask => "gsearch-by-rank",
            Choice::BestOfAll => "gsearch-best",
        }
    }

    fn source(&self) -> &'static str {
        match self.choice {
            Choice::First => "GSearch paper, section II, Figure 2",
            Choice::BestOfTask => "GSearch paper, section IV-C, variation 1",
            Choice::BestOfAll => "GSearch paper, section IV-C, variation 2",
        }
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        let start = Geom.map(problem, budget)?;
        let filled = FilledProblem::new(problem, budget);
        let n = problem.tasks();
        let mut run = Run {
            filled: &filled,
            place_of: start.place_of_task,
            free: (0..n).map(|t| problem.fixed_place(t).is_none()).collect(),
            slack: Vec::new(),
            swaps: 0,
            limit: (0.35 * n as f64) as usize + 20,
            budget,
        };
        run.slack = (0..n).map(|t| run.slack_of(t)).collect();
        match self.choice {
            Choice::First => run.first(),
            Choice::BestOfTask => run.best_of_task(),
            Choice::BestOfAll => run.best_of_all(),
        }
        let (place_of, swaps) = (run.place_of, run.swaps);
        Ok(filled.outcome(place_of).with("swaps", swaps))
    }
}

struct Run<'a, 'b, 'c> {
    filled: &'c FilledProblem<'a, 'b>,
    place_of: Vec<u32>,
    free: Vec<bool>,
    /// How much less a task's edges could cost at most: a swap gains no more than that of both.
    slack: Vec<i64>,
    swaps: usize,
    limit: usize,
    budget: &'c Budget,
}

impl Run<'_, '_, '_> {
    fn gain(&self, a: usize, b: usize) -> i64 {
        match self.free[a] && self.free[b] && self.slack[a] + self.slack[b] > 0 {
            true => swap_gain(self.filled, &self.place_of, a, b),
            false => 0,
        }
    }

    /// Cost of a task's edges above what it is with all partners one hop away; where slots take
    /// several tasks, above nothing.
    fn slack_of(&self, task: usize) -> i64 {
        let places = self.filled.problem.places();
        let one = i64::from(places.windows(2).all(|w| w[0] != w[1]));
        let least: i64 = self.filled.graph.arcs(task).map(|(_, w)| w * one).sum();
        let place = self.place_of[task];
        task_cost(self.filled, &self.place_of, task, place, usize::MAX) - least
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.place_of.swap(a, b);
        self.swaps += 1;
        for task in [a, b] {
            self.slack[task] = self.slack_of(task);
            for (other, _) in self.filled.graph.arcs(task) {
                self.slack[other] = self.slack_of(other);
            }
        }
    }

    fn over(&self) -> bool {
        self.swaps >= self.limit || self.budget.expired()
    }

    fn first(&mut self) {
        let n = self.place_of.len();
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
        let n = self.place_of.len();
        (from..n)
            .filter(|&b| b != a)
            .map(|b| (self.gain(a, b), b))
            .filter(|&(gain, _)| gain > 0)
            .max_by_key(|&(gain, b)| (gain, n - b))
    }

    fn best_of_task(&mut self) {
        loop {
            let before = self.swaps;
            for a in 0..self.place_of.len() {
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
        let n = self.place_of.len();
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
