//! What every task costs at every coordinate of a grid.
//!
//! A task has one number for each coordinate of each axis: the weights of its edges, times the distances of its partners
//! from this coordinate along this axis. What the task costs on a place is the sum of the numbers of the place's
//! coordinates. Thus an exchange of two tasks is judged by a few numbers, whatever their number of edges. An exchange that
//! is made changes the numbers of all partners of both tasks, along the axes on which the two places differ.
//!
//! Numbers are changed eight at a time: the compiler makes a few vector instructions of each part of a row.

use crate::mapping::engine::{Axes, Columns, Csr, EMPTY, Placement};
use std::ops::{Add, AddAssign, BitAnd, Mul, Sub};

/// Places that are judged at once.
pub(super) const BUNCH: usize = 8;

/// The type of the numbers: as narrow as the weights permit.
pub(super) trait Amount:
    Copy
    + Default
    + From<i32>
    + Into<i64>
    + AddAssign
    + Sub<Output = Self>
    + Add<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
{
    /// The number. It has to be a weight or a cost, none of which is larger than [`AxisCosts::new`] permits.
    fn of(number: i64) -> Self;

    /// The number, rounded to 24 bits.
    fn to_f32(self) -> f32;
}

impl Amount for i32 {
    #[inline(always)]
    fn of(number: i64) -> Self {
        number as i32
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self as f32
    }
}

impl Amount for i64 {
    #[inline(always)]
    fn of(number: i64) -> Self {
        number
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self as f32
    }
}

/// Numbers that a move changes together.
const LANES: usize = 8;

/// The costs of all tasks at all coordinates.
pub(super) struct AxisCosts<'a, A> {
    graph: &'a Csr,
    axes: &'a Axes,
    /// Numbers of a row: the columns, rounded up.
    stride: usize,
    /// Row by row, one for each task, and a row of zeros for a place without a task.
    costs: Vec<[A; LANES]>,
    /// How the costs of the partners change if a task moves.
    steps: Vec<Step<A>>,
    /// By column: the changes of the distances from which the steps are made. Those after the last column stay 0.
    changes: Vec<i32>,
}

/// How the distances from eight columns change by a move.
struct Step<A> {
    /// Which of the parts of a row.
    part: usize,
    /// Whether all changes are -1, 0 and 1.
    is_short: bool,
    changes: [A; LANES],
    /// All bits where the change is 1, else 0.
    farther: [A; LANES],
    /// All bits where the change is -1, else 0.
    nearer: [A; LANES],
}

/// The sum of a row's numbers at the columns of a place. It is most of the time of a search, so it is written without a loop:
/// where code is compiled for its size, the compiler would keep one.
#[inline(always)]
fn sum<const AXES: usize, A: Amount>(row: &[A], columns: &Columns) -> A {
    let at = |k: usize| row[columns[k] as usize];
    match AXES {
        1 => at(0),
        2 => at(0) + at(1),
        3 => at(0) + at(1) + at(2),
        _ => at(0) + at(1) + at(2) + at(3),
    }
}

impl<'a, A: Amount> AxisCosts<'a, A> {
    /// `None` if there is no axis, or if a sum could need more than `bits` bits.
    pub(super) fn new(
        graph: &'a Csr,
        axes: &'a Axes,
        placement: &Placement,
        bits: u32,
    ) -> Option<Self> {
        let width = axes.width();
        let strength = |v: usize| graph.arcs(v).map(|(_, w)| w).sum::<i64>();
        let strongest = (0..graph.len()).map(strength).max().unwrap_or(0);
        // An exchange adds two numbers for each axis and task.
        if axes.list().is_empty()
            || strongest.checked_mul(4 * axes.largest_distance().max(1))? >= 1 << bits
        {
            return None;
        }
        let parts = width.div_ceil(LANES).max(1);
        let mut costs = vec![[A::default(); LANES]; parts * (graph.len() + 1)];
        for (v, row) in costs.chunks_exact_mut(parts).take(graph.len()).enumerate() {
            let row = row.as_flattened_mut();
            for (t, w) in graph.arcs(v) {
                let columns = axes.columns(placement.place_of[t]);
                for (axis, &column) in axes.list().iter().zip(columns) {
                    let row = &mut row[axis.first..axis.first + axis.length];
                    for (cost, &d) in row.iter_mut().zip(axis.distances_from(column)) {
                        *cost += A::of(w) * A::from(d);
                    }
                }
            }
        }
        let changes = vec![0; parts * LANES];
        Some(AxisCosts { graph, axes, stride: parts * LANES, costs, steps: Vec::new(), changes })
    }

    /// The numbers of a task.
    #[inline(always)]
    fn row(&self, t: usize) -> &[A] {
        &self.costs.as_flattened()[t * self.stride..][..self.stride]
    }

    /// How the cost of all edges changes if task `u` moves to one of `places`, and the task there, if any, to the place of
    /// `u`, as if these two tasks had no edge: this counts their edge as if both came closer to the other's old place.
    #[inline(always)]
    pub(super) fn at_least(
        &self,
        placement: &Placement,
        u: usize,
        places: &[u32],
        changes: &mut [A; BUNCH],
    ) {
        match self.axes.list().len() {
            1 => self.at_least_along::<1>(placement, u, places, changes),
            2 => self.at_least_along::<2>(placement, u, places, changes),
            3 => self.at_least_along::<3>(placement, u, places, changes),
            _ => self.at_least_along::<4>(placement, u, places, changes),
        }
    }

    #[inline(always)]
    fn at_least_along<const AXES: usize>(
        &self,
        placement: &Placement,
        u: usize,
        places: &[u32],
        changes: &mut [A; BUNCH],
    ) {
        let (row, from) = (self.row(u), self.axes.columns(placement.place_of[u]));
        let own = sum::<AXES, A>(row, from);
        let nobody = self.graph.len();
        for (change, &q) in changes.iter_mut().zip(places) {
            let to = self.axes.columns(q);
            let other = self.row((placement.task_at[q as usize] as usize).min(nobody));
            let after = sum::<AXES, A>(row, to) + sum::<AXES, A>(other, from);
            *change = after - own - sum::<AXES, A>(other, to);
        }
    }

    /// The set of those of `places`, as bits, that have the coordinates of the place of task `u`: this place itself, and those
    /// of the same slot.
    #[inline(always)]
    pub(super) fn same_slot(&self, placement: &Placement, u: usize, places: &[u32]) -> u32 {
        let own = self.axes.columns(placement.place_of[u]);
        let same = |(k, &q): (usize, &u32)| u32::from(self.axes.columns(q) == own) << k;
        places.iter().enumerate().map(same).fold(0, |set, bit| set | bit)
    }

    /// What [`Self::at_least`] lacks for a place, because of the edge of task `u` and the task there.
    #[inline(always)]
    pub(super) fn between(&self, placement: &Placement, u: usize, q: u32) -> i64 {
        let v = placement.task_at[q as usize];
        let mut arcs = self.graph.arcs(u);
        arcs.find(|&(t, _)| t as u32 == v).map_or(0, |(_, w)| self.of_edge(placement, u, q, w))
    }

    /// The same, if the edge of task `u` and the task there has this weight.
    #[inline(always)]
    pub(super) fn of_edge(&self, placement: &Placement, u: usize, q: u32, weight: i64) -> i64 {
        2 * weight * self.distance(placement.place_of[u], q)
    }

    #[inline(always)]
    fn distance(&self, p: u32, q: u32) -> i64 {
        let columns = self.axes.columns(p).iter().zip(self.axes.columns(q));
        let axes = self.axes.list().iter().zip(columns);
        let along = axes.map(|(axis, (&a, &b))| axis.distances_from(a)[b as usize - axis.first]);
        along.map(i64::from).sum()
    }

    /// Makes the exchange.
    pub(super) fn swap(&mut self, placement: &mut Placement, u: usize, q: u32) {
        let (p, v) = (placement.place_of[u], placement.task_at[q as usize]);
        placement.swap(u, q);
        self.set_steps(p, q);
        let (graph, parts) = (self.graph, self.stride / LANES);
        for (t, w) in graph.arcs(u) {
            let row = &mut self.costs[t * parts..][..parts];
            self.steps.iter().for_each(|step| step.add(&mut row[step.part], A::of(w)));
        }
        if v != EMPTY {
            for (t, w) in graph.arcs(v as usize) {
                let row = &mut self.costs[t * parts..][..parts];
                self.steps.iter().for_each(|step| step.add(&mut row[step.part], A::of(-w)));
            }
        }
    }

    /// The steps of a task that moves from place `p` to `q`.
    fn set_steps(&mut self, p: u32, q: u32) {
        let (from, to) = (self.axes.columns(p), self.axes.columns(q));
        for (axis, (&a, &b)) in self.axes.list().iter().zip(from.iter().zip(to)) {
            let distances = axis.distances_from(a).iter().zip(axis.distances_from(b));
            let changes = &mut self.changes[axis.first..axis.first + axis.length];
            changes.iter_mut().zip(distances).for_each(|(change, (&a, &b))| *change = b - a);
        }
        self.steps.clear();
        for (part, changes) in self.changes.as_chunks::<LANES>().0.iter().enumerate() {
            if *changes != [0; LANES] {
                self.steps.push(Step {
                    part,
                    is_short: changes.iter().all(|change| change.abs() <= 1),
                    changes: changes.map(A::from),
                    farther: changes.map(|change| A::from(-i32::from(change > 0))),
                    nearer: changes.map(|change| A::from(-i32::from(change < 0))),
                });
            }
        }
    }
}

impl<A: Amount> Step<A> {
    /// Adds the changes times a weight to a part of a row.
    #[inline(always)]
    fn add(&self, part: &mut [A; LANES], weight: A) {
        if self.is_short {
            let change = |k: usize| (weight & self.farther[k]) - (weight & self.nearer[k]);
            (0..LANES).for_each(|k| part[k] += change(k));
        } else {
            (0..LANES).for_each(|k| part[k] += weight * self.changes[k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::{Distance, Scale};
    use crate::matrix::Graph;
    use proptest::prelude::*;

    /// Places of a torus of 9×4: its 13 columns are in two parts of a row.
    struct Torus(Axes);

    const PLACES: u32 = 36;

    fn ring(axis: usize, a: u32, b: u32) -> u32 {
        a.abs_diff(b).min([9, 4][axis] - a.abs_diff(b))
    }

    impl Torus {
        fn new() -> Self {
            Torus(Axes::new(&[9, 4], ring, (0..PLACES).map(|p| [p / 4, p % 4])).unwrap())
        }
    }

    impl Distance for Torus {
        fn between(&self, a: u32, b: u32) -> i64 {
            i64::from(ring(0, a / 4, b / 4) + ring(1, a % 4, b % 4))
        }
    }

    /// Makes exchanges, each of which has to have the change that the sums say.
    fn check<A: Amount>(graph: &Csr, torus: &Torus, exchanges: &[(usize, u32)], bits: u32) {
        let places = |n: usize| (0..n as u32).map(|v| v * 5 % PLACES).collect::<Vec<u32>>();
        let mut placement = Placement::new(places(graph.len()), PLACES as usize);
        let mut costs = AxisCosts::<A>::new(graph, &torus.0, &placement, bits).unwrap();
        let near = [0, 3, 5, 11, 25];
        for &(u, q) in exchanges {
            let mut least = [A::default(); BUNCH];
            costs.at_least(&placement, u, &near, &mut least);
            for (&q, least) in near.iter().zip(least) {
                let change = least.into() + costs.between(&placement, u, q);
                let moves = placement.place_of[u] != q;
                let sum = if moves { placement.delta(graph, torus, u, q) } else { 0 };
                assert_eq!(change, sum);
                assert!(least.into() <= change);
            }
            if placement.place_of[u] != q {
                costs.swap(&mut placement, u, q);
            }
        }
    }

    proptest! {
        #[test]
        fn costs_at_coordinates_give_the_changes_of_sums(
            edges in prop::collection::vec((0u32..10, 0u32..10, 1u64..1000), 1..40),
            exchanges in prop::collection::vec((0usize..10, 0..PLACES), 1..60))
        {
            let graph = Csr::from_graph(&Graph::from_edges(10, &edges), Scale::new(1 << 20, 100));
            let torus = Torus::new();
            check::<i32>(&graph, &torus, &exchanges, 31);
            check::<i64>(&graph, &torus, &exchanges, 62);
        }
    }

    #[test]
    fn sums_that_need_more_bits_are_refused() {
        let graph = Graph::from_edges(2, &[(0, 1, 1 << 28)]);
        let graph = Csr::from_graph(&graph, Scale::new(1 << 40, 16));
        let (torus, placement) = (Torus::new(), Placement::new(vec![0, 1], PLACES as usize));
        assert!(AxisCosts::<i32>::new(&graph, &torus.0, &placement, 31).is_none());
        assert!(AxisCosts::<i64>::new(&graph, &torus.0, &placement, 62).is_some());
    }
}
