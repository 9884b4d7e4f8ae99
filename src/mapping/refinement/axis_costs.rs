//! What every task costs at every coordinate of a grid.
//!
//! A task has one number for each coordinate of each axis: the weights of its edges, times the distances of its partners
//! from this coordinate along this axis. What the task costs on a place is the sum of the numbers of the place's
//! coordinates. Thus an exchange of two tasks is judged by a few numbers, whatever their number of edges. An exchange that
//! is made changes the numbers of all partners of both tasks, along the axes on which the two places differ.

use super::swap_costs::SwapCosts;
use crate::mapping::engine::{Axes, Columns, Csr, Distance, EMPTY, Placement};
use std::ops::{Add, AddAssign, BitAnd, Mul, Sub, SubAssign};

/// The type of the numbers: as narrow as the weights permit.
pub(super) trait Amount:
    Copy
    + Default
    + PartialEq
    + From<i32>
    + Into<i64>
    + AddAssign
    + SubAssign
    + Sub<Output = Self>
    + Add<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
{
    /// The weight of an edge. No weight is larger than [`AxisCosts::new`] permits.
    fn of_weight(weight: i64) -> Self;
}

impl Amount for i32 {
    #[inline(always)]
    fn of_weight(weight: i64) -> Self {
        weight as i32
    }
}

impl Amount for i64 {
    #[inline(always)]
    fn of_weight(weight: i64) -> Self {
        weight
    }
}

/// The costs of all tasks at all coordinates.
pub(super) struct AxisCosts<'a, D, A> {
    graph: &'a Csr,
    distance: &'a D,
    axes: &'a Axes,
    /// Columns of a row.
    width: usize,
    /// Number of axes.
    count: usize,
    /// Row by row, one for each task.
    costs: Vec<A>,
    /// How the distances of an axis change if a task moves.
    steps: Steps<A>,
}

/// By coordinate: how the distance from it changes by a move.
#[derive(Default)]
struct Steps<A> {
    /// The change; empty if all changes are -1, 0 and 1.
    changes: Vec<A>,
    /// All bits where the change is 1, else 0.
    farther: Vec<A>,
    /// All bits where the change is -1, else 0.
    nearer: Vec<A>,
}

impl<'a, D: Distance, A: Amount> AxisCosts<'a, D, A> {
    /// `None` if the distances have no axes, or if a sum could need more than `bits` bits.
    pub(super) fn new(
        graph: &'a Csr,
        distance: &'a D,
        placement: &Placement,
        bits: u32,
    ) -> Option<Self> {
        let axes = distance.axes()?;
        let width = axes.width();
        let strength = |v: usize| graph.arcs(v).map(|(_, w)| w).sum::<i64>();
        let strongest = (0..graph.len()).map(strength).max().unwrap_or(0);
        // An exchange adds two numbers for each axis and task.
        if strongest.checked_mul(4 * axes.largest_distance().max(1))? >= 1 << bits {
            return None;
        }
        let mut costs = vec![A::default(); width * graph.len()];
        for (v, row) in costs.chunks_exact_mut(width.max(1)).enumerate() {
            for (t, w) in graph.arcs(v) {
                let columns = axes.columns(placement.place_of[t]);
                for (axis, &column) in axes.list().iter().zip(columns) {
                    let row = &mut row[axis.first..axis.first + axis.length];
                    for (cost, &d) in row.iter_mut().zip(axis.distances_from(column)) {
                        *cost += A::of_weight(w) * A::from(d);
                    }
                }
            }
        }
        Some(AxisCosts {
            graph,
            distance,
            axes,
            width,
            count: axes.list().len(),
            costs,
            steps: Steps::default(),
        })
    }

    /// How the cost of task `t` changes by a move, without what its partners do. The changes along the axes are added up
    /// without a loop, because this is most of the time of a proposal. Columns beyond the number of axes are 0 for all
    /// places, so they add nothing.
    #[inline(always)]
    fn of_move(&self, t: usize, from: &Columns, to: &Columns) -> A {
        let row = &self.costs[t * self.width..][..self.width];
        let at = |k: usize| row[to[k] as usize] - row[from[k] as usize];
        match self.count {
            3 => at(0) + at(1) + at(2),
            2 => at(0) + at(1),
            0 => A::default(),
            _ => at(0) + at(1) + at(2) + at(3),
        }
    }
}

impl<A: Amount> Steps<A> {
    /// Takes the changes of the distances along one axis.
    #[inline(always)]
    fn set(&mut self, before: &[i32], after: &[i32]) {
        let changes = || before.iter().zip(after).map(|(&a, &b)| b - a);
        self.changes.clear();
        self.farther.clear();
        self.nearer.clear();
        if changes().any(|change| change.abs() > 1) {
            self.changes.extend(changes().map(A::from));
            return;
        }
        self.farther.extend(changes().map(|change| A::from(-i32::from(change > 0))));
        self.nearer.extend(changes().map(|change| A::from(-i32::from(change < 0))));
    }

    /// Adds the changes times a weight to a row.
    #[inline(always)]
    fn add(&self, row: &mut [A], weight: A) {
        if self.changes.is_empty() {
            for ((cost, &up), &down) in row.iter_mut().zip(&self.farther).zip(&self.nearer) {
                *cost += (weight & up) - (weight & down);
            }
            return;
        }
        row.iter_mut().zip(&self.changes).for_each(|(cost, &change)| *cost += weight * change);
    }

    /// Takes them back from a row.
    #[inline(always)]
    fn take(&self, row: &mut [A], weight: A) {
        if self.changes.is_empty() {
            for ((cost, &up), &down) in row.iter_mut().zip(&self.farther).zip(&self.nearer) {
                *cost += (weight & down) - (weight & up);
            }
            return;
        }
        row.iter_mut().zip(&self.changes).for_each(|(cost, &change)| *cost -= weight * change);
    }
}

impl<D: Distance, A: Amount> SwapCosts for AxisCosts<'_, D, A> {
    /// As if the two tasks had no edge: this counts their edge as if both came closer to the other's old place.
    #[inline(always)]
    fn at_least(&self, placement: &Placement, u: usize, q: u32) -> i64 {
        let (p, v) = (placement.place_of[u], placement.task_at[q as usize]);
        let (from, to) = (self.axes.columns(p), self.axes.columns(q));
        let change = self.of_move(u, from, to);
        if v == EMPTY {
            change.into()
        } else {
            (change + self.of_move(v as usize, to, from)).into()
        }
    }

    #[inline(always)]
    fn change(&self, at_least: i64, placement: &Placement, u: usize, q: u32) -> i64 {
        let v = placement.task_at[q as usize];
        let mut arcs = self.graph.arcs(u);
        match arcs.find(|&(t, _)| t as u32 == v) {
            Some((_, w)) => at_least + 2 * w * self.distance.between(placement.place_of[u], q),
            None => at_least,
        }
    }

    fn swap(&mut self, placement: &mut Placement, u: usize, q: u32) {
        let (p, v) = (placement.place_of[u], placement.task_at[q as usize]);
        placement.swap(u, q);
        let AxisCosts { graph, axes, costs, steps, .. } = self;
        let (from, to) = (axes.columns(p), axes.columns(q));
        let width = axes.width();
        for (axis, (&a, &b)) in axes.list().iter().zip(from.iter().zip(to)) {
            if a == b {
                continue;
            }
            steps.set(axis.distances_from(a), axis.distances_from(b));
            let row = |t: usize| t * width + axis.first..t * width + axis.first + axis.length;
            for (t, w) in graph.arcs(u) {
                steps.add(&mut costs[row(t)], A::of_weight(w));
            }
            if v != EMPTY {
                for (t, w) in graph.arcs(v as usize) {
                    steps.take(&mut costs[row(t)], A::of_weight(w));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::swap_costs::Summed;
    use super::*;
    use crate::mapping::engine::Scale;
    use crate::matrix::Graph;
    use proptest::prelude::*;

    /// Places of a torus of 4×3.
    struct Torus(Axes);

    fn ring(axis: usize, a: u32, b: u32) -> u32 {
        a.abs_diff(b).min([4, 3][axis] - a.abs_diff(b))
    }

    impl Torus {
        fn new() -> Self {
            Torus(Axes::new(&[4, 3], ring, (0..12).map(|p| [p / 3, p % 3])).unwrap())
        }
    }

    impl Distance for Torus {
        fn between(&self, a: u32, b: u32) -> i64 {
            i64::from(ring(0, a / 3, b / 3) + ring(1, a % 3, b % 3))
        }

        fn axes(&self) -> Option<&Axes> {
            Some(&self.0)
        }
    }

    /// Makes exchanges, each of which has to have the change that the sums say.
    fn check<A: Amount>(graph: &Csr, torus: &Torus, exchanges: &[(usize, u32)], bits: u32) {
        let places = |n: usize| (0..n as u32).map(|v| v * 5 % 12).collect::<Vec<u32>>();
        let mut placement = Placement::new(places(graph.len()), 12);
        let mut costs = AxisCosts::<_, A>::new(graph, torus, &placement, bits).unwrap();
        let summed = Summed { graph, distance: torus };
        for &(u, q) in exchanges {
            if placement.place_of[u] == q {
                continue;
            }
            let least = costs.at_least(&placement, u, q);
            let change = costs.change(least, &placement, u, q);
            assert_eq!(change, summed.at_least(&placement, u, q));
            assert!(least <= change);
            costs.swap(&mut placement, u, q);
        }
    }

    proptest! {
        #[test]
        fn costs_at_coordinates_give_the_changes_of_sums(
            edges in prop::collection::vec((0u32..10, 0u32..10, 1u64..1000), 1..40),
            exchanges in prop::collection::vec((0usize..10, 0u32..12), 1..60))
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
        let (torus, placement) = (Torus::new(), Placement::new(vec![0, 1], 12));
        assert!(AxisCosts::<_, i32>::new(&graph, &torus, &placement, 31).is_none());
        assert!(AxisCosts::<_, i64>::new(&graph, &torus, &placement, 62).is_some());
    }
}
