//! Cuts a box of slots into smaller boxes, one for each of several grids, so that each grid fits its box well.
//!
//! A box is cut in two across one dimension, each of the two is cut again, and so on until each part has a box (a guillotine
//! partition). All cuts whose two sides have exactly as many slots as some of the parts have tasks are compared. The cost of
//! a part on a box is that of its folding ([`fold_on_grid`]), or of an embedding where there is one. Parts with the same shape
//! count as one kind, and a box of the same extents with the same kinds of parts is examined once.
//!
//! Limits: at most [`FOLDINGS`] foldings are tried, and fewer where the parts are large.

use crate::mapping::Budget;
use crate::mapping::geometric::{Part, fold_on_grid, place_on_grid};
use crate::topology::{Grid, Topology};
use std::collections::BTreeMap;

/// Most foldings that are tried.
const FOLDINGS: usize = 200;

/// Most tasks in all foldings that are tried.
const FOLDED_TASKS: usize = 1 << 21;

/// Most ways to divide the parts of one box.
const DIVISIONS: usize = 600;

/// The first coordinates and the extents of a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cuboid {
    pub(super) start: Vec<usize>,
    pub(super) dims: Vec<usize>,
}

impl Cuboid {
    /// The slots of the box in its grid, the last dimension fastest.
    pub(super) fn slots(&self, grid: &Grid) -> Vec<u32> {
        let count = self.dims.iter().product();
        let slot = |k: usize| {
            let (mut rest, mut point) = (k, vec![0; self.dims.len()]);
            for (x, (&start, &length)) in
                point.iter_mut().zip(self.start.iter().zip(&self.dims)).rev()
            {
                *x = (start + rest % length) as u32;
                rest /= length;
            }
            grid.slot_at(&point).map(|slot| slot as u32)
        };
        (0..count).filter_map(slot).collect()
    }
}

/// A box for each part so that all together cost little, and the cost. A grid that is larger than the parts has free slots in
/// one box. `None` if there is no such cut.
pub(super) fn boxes(grid: &Grid, parts: &[Part], budget: &Budget) -> Option<Vec<Cuboid>> {
    let tasks: usize = parts.iter().map(|part| part.vertices.len()).sum();
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (k, part) in parts.iter().enumerate() {
        let alike = kinds.iter().position(|kind| kind.part.is_some_and(|p| are_alike(p, part)));
        match alike {
            Some(kind) => members[kind].push(k),
            None => {
                kinds.push(Kind { part: Some(part), size: part.vertices.len() });
                members.push(vec![k]);
            }
        }
    }
    if let Some(free) = grid.slots().checked_sub(tasks).filter(|&free| free > 0) {
        kinds.push(Kind { part: None, size: free });
        members.push(vec![parts.len()]);
    }
    let mut counts: Vec<usize> = members.iter().map(Vec::len).collect();
    let mut cutter = Cutter { kinds, grid, known: BTreeMap::new(), folded: 0, foldings: 0, budget };
    cutter.cost(grid.dims(), &counts)?;
    let origin = Cuboid { start: vec![0; grid.dims().len()], dims: grid.dims().to_vec() };
    let mut boxes = vec![origin.clone(); parts.len() + 1];
    let mut open = vec![(origin, std::mem::take(&mut counts))];
    while let Some((cuboid, counts)) = open.pop() {
        match cutter.known.get(&(cuboid.dims.clone(), counts.clone()))?.as_ref()? {
            (_, None) => {
                let kind = counts.iter().position(|&count| count > 0)?;
                boxes[members[kind].pop()?] = cuboid;
            }
            (_, Some(Cut { dimension, length, first })) => {
                let rest = counts.iter().zip(first).map(|(all, first)| all - first).collect();
                let (mut a, mut b) = (cuboid.clone(), cuboid);
                a.dims[*dimension] = *length;
                b.dims[*dimension] -= length;
                b.start[*dimension] += length;
                open.push((b, rest));
                open.push((a, first.clone()));
            }
        }
    }
    boxes.truncate(parts.len());
    Some(boxes)
}

/// Parts with the same shape and the same edges at each point.
struct Kind<'a> {
    /// One of the parts. `None` for free slots.
    part: Option<&'a Part>,
    size: usize,
}

/// True if two parts have grids of the same shape, and as many edges.
fn are_alike(a: &Part, b: &Part) -> bool {
    match (&a.grid, &b.grid) {
        (Some(p), Some(q)) => {
            (&p.shape.dims, &p.shape.wrap) == (&q.shape.dims, &q.shape.wrap)
                && a.graph.arcs.len() == b.graph.arcs.len()
        }
        _ => false,
    }
}

/// Across which dimension a box is cut, the length of the first side, and the parts of this side, by kind.
struct Cut {
    dimension: usize,
    length: usize,
    first: Vec<usize>,
}

/// The extents of a box, and the number of parts of each kind.
type Content = (Vec<usize>, Vec<usize>);

struct Cutter<'a> {
    kinds: Vec<Kind<'a>>,
    grid: &'a Grid,
    /// The least cost of each content, and the first cut that leads to it; `None` inside where there is only one part. `None`
    /// where no cut fits.
    known: BTreeMap<Content, Option<(i128, Option<Cut>)>>,
    /// Tasks in all foldings so far.
    folded: usize,
    foldings: usize,
    budget: &'a Budget,
}

impl Cutter<'_> {
    /// The least cost of parts, by kind, in a box with these extents. `None` if no cut fits.
    fn cost(&mut self, dims: &[usize], counts: &[usize]) -> Option<i128> {
        let content = (dims.to_vec(), counts.to_vec());
        if let Some(known) = self.known.get(&content) {
            return known.as_ref().map(|(cost, _)| *cost);
        }
        let best = if counts.iter().sum::<usize>() == 1 {
            let kind = counts.iter().position(|&count| count > 0).unwrap_or(0);
            Some((self.alone(dims, kind), None))
        } else {
            self.cut(dims, counts)
        };
        let cost = best.as_ref().map(|(cost, _)| *cost);
        self.known.insert(content, best);
        cost
    }

    /// The best cut of a box with several parts.
    fn cut(&mut self, dims: &[usize], counts: &[usize]) -> Option<(i128, Option<Cut>)> {
        let volume: usize = dims.iter().product();
        let mut best: Option<(i128, Option<Cut>)> = None;
        let mut first = vec![0; counts.len()];
        for _ in 0..DIVISIONS {
            if !next(&mut first, counts) {
                break;
            }
            let size: usize = first.iter().zip(&self.kinds).map(|(n, kind)| n * kind.size).sum();
            for dimension in 0..dims.len() {
                let layer = volume / dims[dimension];
                let length = size / layer;
                if size % layer != 0 || length == 0 || length == dims[dimension] {
                    continue;
                }
                let rest: Vec<usize> = counts.iter().zip(&first).map(|(all, n)| all - n).collect();
                let (mut a, mut b) = (dims.to_vec(), dims.to_vec());
                a[dimension] = length;
                b[dimension] -= length;
                let costs = self.cost(&a, &first).zip(self.cost(&b, &rest));
                let Some(cost) = costs.map(|(a, b)| a + b) else { continue };
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, Some(Cut { dimension, length, first: first.clone() })));
                }
            }
        }
        best
    }

    /// The cost of one part in a box with these extents.
    fn alone(&mut self, dims: &[usize], kind: usize) -> i128 {
        let Kind { part: Some(part), size } = self.kinds[kind] else { return 0 };
        let Some(grid) = &part.grid else { return 0 };
        let arcs = part.graph.arcs.iter(0..part.graph.arcs.len());
        let least = arcs.map(|(_, w)| i128::from(w)).sum::<i128>() / 2;
        let whole = |k: usize| self.grid.wrap()[k] && dims[k] == self.grid.dims()[k];
        let wrap: Vec<bool> = (0..dims.len()).map(whole).collect();
        let Some(machine) = Grid::new(dims, &wrap) else { return least };
        if grid.is_exact() && place_on_grid(&grid.shape, &machine).is_some() {
            return least;
        }
        let may = self.foldings < FOLDINGS && self.folded + size <= FOLDED_TASKS;
        if !may || self.budget.expired() {
            return 3 * least;
        }
        self.foldings += 1;
        self.folded += size;
        let pattern = grid.pattern(&part.graph);
        fold_on_grid(pattern, &grid.shape, &machine).map_or(3 * least, |slots| {
            let row = |v: usize| {
                let earlier = part.graph.arcs(v).filter(|&(t, _)| t < v);
                let far = |t: usize| machine.distance(slots[v] as usize, slots[t] as usize);
                earlier.map(|(t, w)| i128::from(w) * i128::from(far(t))).sum::<i128>()
            };
            (0..size).map(row).sum()
        })
    }
}

/// The next choice of some of the parts, by kind, as a number with a digit for each kind. False after the last one, which has
/// all parts.
fn next(first: &mut [usize], counts: &[usize]) -> bool {
    for (n, &count) in first.iter_mut().zip(counts) {
        if *n < count {
            *n += 1;
            return first.iter().zip(counts).any(|(n, count)| n < count);
        }
        *n = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::{Csr, Scale};
    use crate::mapping::geometric::several_grids;
    use crate::matrix::synthetic::pattern;

    fn boxes_of(text: &str, machine: &Grid) -> Option<Vec<Cuboid>> {
        let graph = Csr::from_graph(&pattern(text).unwrap(), Scale::new(1, 1));
        boxes(machine, &several_grids(&graph).unwrap(), &Budget::unlimited())
    }

    #[test]
    fn boxes_have_the_extents_of_the_grids_and_fill_the_machine() {
        let text = "stencil:8x6+stencil:4x8+stencil:4x8";
        let machine = Grid::mesh(&[8, 16]).unwrap();
        let boxes = boxes_of(text, &machine).unwrap();
        let dims: Vec<Vec<usize>> = boxes.iter().map(|cuboid| cuboid.dims.clone()).collect();
        assert_eq!(dims[0], [8, 6]);
        assert!(dims[1..].iter().all(|dims| *dims == [8, 4]), "{dims:?}");
        let mut slots: Vec<u32> = boxes.iter().flat_map(|cuboid| cuboid.slots(&machine)).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 48 + 64, "the free slots are in a box of their own");
    }

    #[test]
    fn parts_that_fill_no_box_have_none() {
        assert_eq!(boxes_of("stencil:3x5+stencil:3x3", &Grid::mesh(&[4, 6]).unwrap()), None);
    }

    #[test]
    fn all_choices_of_some_parts_are_made_once() {
        let (mut first, counts) = (vec![0, 0], [2, 1]);
        let mut all = Vec::new();
        while next(&mut first, &counts) {
            all.push(first.clone());
        }
        assert_eq!(all, [[1, 0], [2, 0], [0, 1], [1, 1]]);
    }
}
