//! Recognises grids whose tasks also talk to tasks several steps away along an axis, for every numbering of the tasks.
//!
//! Programs with finite differences of a higher order have such stencils. Their graph is a Cartesian product: each
//! dimension is a line, an `axis`, whose points may have longer steps between them. So the axes can be told apart
//! before anything is known of the steps (Imrich and Peterin, "Recognizing Cartesian products in linear time",
//! Discrete Mathematics 2007; this is a simpler method that is enough here). The neighbours of a vertex on one axis
//! hang together, and no edge joins those on different axes. Two groups of neighbours without a further common
//! neighbour are on the same axis too.
//!
//! All other vertices follow in the order of their distance from the first one. If a vertex has two nearer neighbours
//! that differ in two coordinates, these two give all its coordinates. If it has none, it lies on an axis through the
//! first vertex, and gets a new coordinate there. All edges are checked in the end, so no wrong answer is possible.
//!
//! The work is linear in the number of edges. Other graphs are refused at the first vertex that does not fit. Limits:
//! two to four axes, which must be lines or rings that `axis` recognises, or grids that `lattice` recognises. If all
//! tasks on each axis talk to each other, `lines` is the better model, unless most of the traffic is that of one step.

use super::axis::{Axis, Order};
use super::lattice::lattice_grid;
use super::part::MOST_DIMENSIONS;
use super::shape::GridShape;
use crate::mapping::engine::Csr;
use std::ops::RangeInclusive;

/// Dimensions that are told apart.
const DIMENSIONS: RangeInclusive<usize> = 2..=MOST_DIMENSIONS;

/// Largest degree of a vertex in a stencil.
const MAX_DEGREE: usize = 64;

/// The number of a vertex on each axis, 0 for the first vertex.
type Numbers = [u32; MOST_DIMENSIONS];

/// The grid, if the edges are those of a product of lines, rings and lattices.
pub(super) fn product_grid(graph: &Csr) -> Option<GridShape> {
    let lines = Lines::new(graph)?;
    let axes = lines.axes()?;
    let orders: Vec<Option<Order>> = axes.iter().map(Axis::order).collect();
    // Where each axis is a complete graph, only the weights tell the order of its points.
    let is_told = |(axis, order): (&Axis, &Option<Order>)| {
        order.as_ref().is_some_and(|order| axis.is_told_by_weights(order))
    };
    if axes.iter().all(Axis::is_complete) && !axes.iter().zip(&orders).all(is_told) {
        return None;
    }
    let mut shape = GridShape { dims: vec![], wrap: vec![], coordinates: vec![] };
    for (k, (axis, order)) in axes.iter().zip(orders).enumerate() {
        let inner = match order {
            Some(Order { position_of, wrap }) => {
                let dims = vec![position_of.len()];
                GridShape { dims, wrap: vec![wrap], coordinates: vec![position_of] }
            }
            None => lattice_grid(&axis.graph())?,
        };
        let along = |positions: Vec<u32>| {
            lines.numbers.iter().map(|numbers| positions[numbers[k] as usize]).collect()
        };
        shape.coordinates.extend(inner.coordinates.into_iter().map(along));
        shape.dims.extend(inner.dims);
        shape.wrap.extend(inner.wrap);
    }
    Some(shape)
}

/// The lines through the first vertex, and the numbers of all vertices on them.
struct Lines<'a> {
    graph: &'a Csr,
    /// The vertices on each line, the first vertex first.
    on_line: Vec<Vec<u32>>,
    numbers: Vec<Numbers>,
    /// Steps from the first vertex.
    level: Vec<u32>,
}

impl<'a> Lines<'a> {
    /// `None` if the numbers of a vertex do not follow from those of its nearer neighbours.
    fn new(graph: &'a Csr) -> Option<Self> {
        const FIRST: u32 = 0;
        if graph.len() < 4 {
            return None;
        }
        let beside = lines_at(graph, FIRST as usize)?;
        let dimensions = 1 + beside.iter().map(|&(_, k)| k).max()?;
        if !DIMENSIONS.contains(&dimensions) {
            return None;
        }
        let n = graph.len();
        let mut lines = Lines {
            graph,
            on_line: vec![vec![FIRST]; dimensions],
            numbers: vec![[0; MOST_DIMENSIONS]; n],
            level: vec![u32::MAX; n],
        };
        lines.level[FIRST as usize] = 0;
        let mut queue: Vec<u32> = vec![FIRST];
        let mut next = 0;
        while let Some(&v) = queue.get(next) {
            next += 1;
            let v = v as usize;
            if graph.degree(v) > MAX_DEGREE {
                return None;
            }
            lines.numbers[v] = match lines.level[v] {
                0 => [0; MOST_DIMENSIONS],
                1 => {
                    let &(_, k) = beside.iter().find(|&&(t, _)| t == v)?;
                    lines.on_line(v, k)
                }
                _ => lines.numbers_by_nearer(v)?,
            };
            for (t, _) in graph.arcs(v) {
                if lines.level[t] == u32::MAX {
                    lines.level[t] = lines.level[v] + 1;
                    queue.push(t as u32);
                }
            }
        }
        (queue.len() == n).then_some(lines)
    }

    /// A new number on line `k` for a vertex on it.
    fn on_line(&mut self, v: usize, k: usize) -> Numbers {
        let mut numbers = [0; MOST_DIMENSIONS];
        numbers[k] = self.on_line[k].len() as u32;
        self.on_line[k].push(v as u32);
        numbers
    }

    /// The numbers of a vertex at least two steps away from the first one.
    fn numbers_by_nearer(&mut self, v: usize) -> Option<Numbers> {
        let before = self.level[v] - 1;
        let nearer = || self.graph.arcs(v).map(|(t, _)| t).filter(|&t| self.level[t] == before);
        let first = self.numbers[nearer().next()?];
        let across = |&t: &usize| differing(&self.numbers[t], &first) == 2;
        let Some(second) = nearer().find(across).map(|t| self.numbers[t]) else {
            let mut lines = (0..MOST_DIMENSIONS).filter(|&k| first[k] != 0);
            return match (lines.next(), lines.next()) {
                (Some(k), None) => Some(self.on_line(v, k)),
                _ => None,
            };
        };
        // Each of the two lacks a step on one line: there, the other one is farther from the first vertex.
        let mut numbers = first;
        for k in 0..self.on_line.len() {
            if self.distance(k, second[k]) > self.distance(k, first[k]) {
                numbers[k] = second[k];
            }
        }
        let fits = nearer().all(|t| differing(&self.numbers[t], &numbers) == 1);
        fits.then_some(numbers)
    }

    /// Steps from the first vertex to a number on a line.
    fn distance(&self, k: usize, number: u32) -> u32 {
        self.level[self.on_line[k][number as usize] as usize]
    }

    /// The axes with their edges. `None` if the graph is not exactly their product.
    fn axes(&self) -> Option<Vec<Axis>> {
        let n = self.graph.len();
        let lengths: Vec<usize> = self.on_line.iter().map(Vec::len).collect();
        if lengths.iter().try_fold(1usize, |all, &length| all.checked_mul(length)) != Some(n) {
            return None;
        }
        let mut axes = Vec::new();
        for (k, line) in self.on_line.iter().enumerate() {
            let on_line = |t: usize| {
                let number = self.numbers[t][k];
                (line.get(number as usize) == Some(&(t as u32))).then_some(number)
            };
            let row = |&v: &u32| {
                self.graph.arcs(v as usize).filter_map(|(t, _)| on_line(t)).collect::<Vec<u32>>()
            };
            axes.push(Axis::new(line.iter().map(row)));
        }
        let arcs = |axis: &Axis| n / axis.len() * axis.arcs();
        if axes.iter().map(arcs).sum::<usize>() != self.graph.arcs.len() {
            return None;
        }
        let mut seen = vec![false; n];
        for v in 0..n {
            let ours = &self.numbers[v];
            let index = lengths.iter().zip(ours).fold(0, |index, (l, &x)| index * l + x as usize);
            if std::mem::replace(seen.get_mut(index)?, true) {
                return None;
            }
            for (t, weight) in self.graph.arcs(v) {
                let theirs = &self.numbers[t];
                let k = (0..axes.len()).find(|&k| ours[k] != theirs[k])?;
                if differing(ours, theirs) != 1 || !axes[k].add(ours[k], theirs[k], weight) {
                    return None;
                }
            }
        }
        Some(axes)
    }
}

/// The number of lines on which two vertices have different numbers.
fn differing(a: &Numbers, b: &Numbers) -> usize {
    a.iter().zip(b).filter(|(x, y)| x != y).count()
}

/// The neighbours of a vertex, each with the number of its line. `None` if they are too many.
fn lines_at(graph: &Csr, v: usize) -> Option<Vec<(usize, usize)>> {
    let row: Vec<usize> = graph.arcs(v).map(|(t, _)| t).collect();
    let few = |v: usize| (1..=MAX_DEGREE).contains(&graph.degree(v));
    if !few(v) || !row.iter().all(|&t| few(t)) {
        return None;
    }
    let beside = |a: usize, b: usize| graph.arcs(a).any(|(t, _)| t == b);
    let meet = |a: usize, b: usize| graph.arcs(a).any(|(t, _)| t != v && beside(b, t));
    // Those that are neighbours of each other first, then groups of these.
    let mut group: Vec<usize> = (0..row.len()).collect();
    for i in 0..row.len() {
        for j in 0..i {
            if group[i] != group[j] && beside(row[i], row[j]) {
                join(&mut group, i, j);
            }
        }
    }
    for i in 0..row.len() {
        for j in 0..i {
            if group[i] != group[j] && !meet(row[i], row[j]) {
                join(&mut group, i, j);
            }
        }
    }
    let mut names: Vec<usize> = Vec::new();
    let numbered = row.into_iter().zip(group).map(|(t, name)| {
        let known = names.iter().position(|&other| other == name);
        let number = known.unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        (t, number)
    });
    Some(numbered.collect())
}

/// Makes the groups of two elements one.
fn join(group: &mut [usize], i: usize, j: usize) {
    let (gone, kept) = (group[i], group[j]);
    group.iter_mut().filter(|name| **name == gone).for_each(|name| *name = kept);
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
