//! TopoLB: the task whose placement is most critical goes next, to where it costs least.
//!
//! Agarwal, Sharma and Kalé, IPDPS 2006, sections 4.2 to 4.4. The estimate of a task's cost on a
//! place counts placed partners at their distance and the others at the place's mean distance to
//! all places (second order) or to the free ones (third order). The most critical task is the one
//! whose lowest estimate is farthest below the mean of its estimates over the free places.
//!
//! The paper keeps a table of n × n estimates. Rows of tasks without placed partners are multiples
//! of one row, so only the others are stored here. The memory is still n² in the worst case. Therefore
//! problems above a limit are refused.

use super::filled_problem::FilledProblem;
use super::infeasible;
use super::quotient::volume;
use crate::base::error::Result;
use crate::base::permutation::identity;
use crate::mapping::engine::Distance;
use crate::mapping::{Budget, Outcome, Problem};

/// Mean distance to all places: O(n · edges). For at most 8192 places.
pub(super) fn second_order(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    map(problem, budget, ("topolb", false, 8192))
}

/// Mean distance to the free places: O(n³) in the worst case. For at most 2048 places.
pub(super) fn third_order(problem: &Problem<'_>, budget: &Budget) -> Result<Outcome> {
    map(problem, budget, ("topolb-third-order", true, 2048))
}

fn map(
    problem: &Problem<'_>,
    budget: &Budget,
    (name, third_order, limit): (&str, bool, usize),
) -> Result<Outcome> {
    let places = problem.places().len();
    if places > limit {
        let what = format!(
            "{name} takes at most {limit} places, not {places}: it keeps an estimate for every \
             task on every place"
        );
        return Err(infeasible(what, "topocentlb"));
    }
    let filled = FilledProblem::new(problem, budget);
    let mut run = Run::new(&filled, third_order);
    for _ in 0..filled.len() {
        if budget.expired() {
            break;
        }
        run.step();
    }
    Ok(filled.outcome(run.finish()))
}

/// Estimates of one task: its cost with placed partners on every place.
struct Row {
    placed: Vec<i64>,
    /// The lowest estimate over the free places, and the place that has it.
    lowest: (f64, u32),
    /// The sum of the estimates over the free places.
    sum: f64,
}

struct Run<'a> {
    filled: &'a FilledProblem<'a>,
    third_order: bool,
    place_of: Vec<u32>,
    free: Vec<u32>,
    /// Mean distance of every place to all places or to the free ones.
    mean: Vec<f64>,
    /// Sum of distances to the free places (third order).
    to_free: Vec<i64>,
    /// Traffic with partners that are not placed.
    open: Vec<i64>,
    rows: Vec<Option<Box<Row>>>,
    unplaced: Vec<u32>,
}

impl<'a> Run<'a> {
    fn new(filled: &'a FilledProblem<'a>, third_order: bool) -> Self {
        let n = filled.len();
        let all = identity(n);
        let to_all = |&p: &u32| all.iter().map(|&q| filled.between(p, q)).sum();
        let to_free: Vec<i64> = all.iter().map(to_all).collect();
        Run {
            filled,
            third_order,
            place_of: vec![u32::MAX; n],
            free: all.clone(),
            mean: to_free.iter().map(|&sum| sum as f64 / n as f64).collect(),
            to_free,
            open: (0..n).map(|t| volume(&filled.graph, t)).collect(),
            rows: (0..n).map(|_| None).collect(),
            unplaced: all,
        }
    }

    fn estimate(&self, row: &Row, task: usize, place: u32) -> f64 {
        row.placed[place as usize] as f64 + self.open[task] as f64 * self.mean[place as usize]
    }

    /// Recomputes lowest and sum of a task's row.
    fn refresh(&mut self, task: usize) {
        let Some(mut row) = self.rows[task].take() else { return };
        row.lowest = (f64::INFINITY, u32::MAX);
        row.sum = 0.0;
        for &place in &self.free {
            let value = self.estimate(&row, task, place);
            row.sum += value;
            if value < row.lowest.0 {
                row.lowest = (value, place);
            }
        }
        self.rows[task] = Some(row);
    }

    /// Places one task.
    fn step(&mut self) {
        let count = self.free.len() as f64;
        let mean_sum: f64 = self.free.iter().map(|&p| self.mean[p as usize]).sum();
        let mut central = (f64::INFINITY, u32::MAX);
        for &p in &self.free {
            if self.mean[p as usize] < central.0 {
                central = (self.mean[p as usize], p);
            }
        }
        let mut best: Option<(f64, i64, usize)> = None;
        for (k, &task) in self.unplaced.iter().enumerate() {
            let t = task as usize;
            let gain = match &self.rows[t] {
                Some(row) => row.sum / count - row.lowest.0,
                None => self.open[t] as f64 * (mean_sum / count - central.0),
            };
            // The paper leaves ties open; the task with most traffic is the most critical of them.
            let key = (gain, self.open[t]);
            if best.is_none_or(|(g, open, _)| key > (g, open)) {
                best = Some((gain, self.open[t], k));
            }
        }
        let Some((_, _, k)) = best else { return };
        let task = self.unplaced.remove(k) as usize;
        let place = self.rows[task].take().map_or(central.1, |row| row.lowest.1);
        self.occupy(task, place);
    }

    fn occupy(&mut self, task: usize, place: u32) {
        self.place_of[task] = place;
        self.free.retain(|&p| p != place);
        let n = self.filled.len();
        if self.third_order && !self.free.is_empty() {
            for p in 0..n {
                self.to_free[p] -= self.filled.between(p as u32, place);
                self.mean[p] = self.to_free[p] as f64 / self.free.len() as f64;
            }
        }
        let filled = self.filled;
        let unplaced = |&(other, _): &(usize, i64)| self.place_of[other] == u32::MAX;
        let partners: Vec<(usize, i64)> = filled.graph.arcs(task).filter(unplaced).collect();
        for &(other, weight) in &partners {
            self.open[other] -= weight;
            let row = self.rows[other].get_or_insert_with(|| {
                Box::new(Row { placed: vec![0; n], lowest: (0.0, 0), sum: 0.0 })
            });
            for (p, cost) in (0..).zip(&mut row.placed) {
                *cost += weight * filled.between(p, place);
            }
        }
        // Second order: only partners and rows whose lowest place is gone change as a whole.
        for k in 0..self.unplaced.len() {
            let other = self.unplaced[k] as usize;
            let Some(row) = &self.rows[other] else { continue };
            let stale = self.third_order
                || row.lowest.1 == place
                || partners.iter().any(|&(partner, _)| partner == other);
            let gone = self.estimate(row, other, place);
            if stale {
                self.refresh(other);
            } else if let Some(row) = &mut self.rows[other] {
                row.sum -= gone;
            }
        }
    }

    /// The answer; tasks that the time limit left over take the free places in order.
    fn finish(mut self) -> Vec<u32> {
        for (&task, &place) in self.unplaced.iter().zip(&self.free) {
            self.place_of[task as usize] = place;
        }
        self.place_of
    }
}
