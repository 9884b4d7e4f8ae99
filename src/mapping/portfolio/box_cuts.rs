//! Cuts a box of slots into smaller boxes, one for each of several grids, so that each grid fits its box well.
//!
//! A box is cut in two across one dimension, each of the two is cut again, and so on until each part has a box (a guillotine
//! partition). All cuts whose two sides have exactly as many slots as some of the parts have tasks are compared. The cost of
//! a part on a box is that of its folding ([`fold_on_grid`]), or of an embedding where there is one. Parts with the same shape
//! count as one kind, and a box of the same extents with the same kinds of parts is examined once.
//!
//! Limits: at most [`FOLDINGS`] foldings are tried, and fewer where the parts are large; at most [`CONTENTS`] boxes are
//! examined.

use crate::mapping::Budget;
use crate::mapping::geometric::{Part, distance, fold_on_grid, place_on_grid};
use crate::topology::{Grid, Topology};

/// Most foldings that are tried.
const FOLDINGS: usize = 200;

/// Most tasks in all foldings that are tried.
const FOLDED_TASKS: usize = 1 << 21;

/// Most ways to divide the parts of one box, if all of them are tried. If there are more, the parts are divided in their order
/// only, and each part is also tried alone.
const DIVISIONS: usize = 600;

/// Most boxes with some of the parts that are examined. Beyond these, no cut is found.
const CONTENTS: usize = 2000;

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

/// A box for each part so that all together cost little. A grid that is larger than the parts has free slots in
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
    let counts: Vec<usize> = members.iter().map(Vec::len).collect();
    let mut cutter = Cutter { kinds, grid, known: Vec::new(), folded: 0, foldings: 0, budget };
    cutter.cost(grid.dims(), &counts)?;
    let origin = Cuboid { start: vec![0; grid.dims().len()], dims: grid.dims().to_vec() };
    let mut boxes = vec![origin.clone(); parts.len() + 1];
    let mut open = vec![(origin, counts)];
    while let Some((cuboid, counts)) = open.pop() {
        match cutter.known(&cuboid.dims, &counts)?.as_ref()? {
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

/// The least cost of the parts in a box, and the first cut that leads to it; no cut where there is only one part. `None` where no
/// cut fits.
type Best = Option<(i128, Option<Cut>)>;

struct Cutter<'a> {
    kinds: Vec<Kind<'a>>,
    grid: &'a Grid,
    /// The extents of each box that was examined, followed by the number of parts of each kind, and the best for it. Sorted.
    known: Vec<(Vec<usize>, Best)>,
    /// Tasks in all foldings so far.
    folded: usize,
    foldings: usize,
    budget: &'a Budget,
}

impl Cutter<'_> {
    /// Where the box with these extents and parts is among those that are known, or where it belongs.
    fn position(&self, dims: &[usize], counts: &[usize]) -> Result<usize, usize> {
        self.known.binary_search_by(|(content, _)| content.iter().cmp(dims.iter().chain(counts)))
    }

    /// What is known about a box with these extents and parts.
    fn known(&self, dims: &[usize], counts: &[usize]) -> Option<&Best> {
        let position = self.position(dims, counts).ok()?;
        self.known.get(position).map(|(_, best)| best)
    }

    /// The least cost of parts, by kind, in a box with these extents. `None` if no cut fits.
    fn cost(&mut self, dims: &[usize], counts: &[usize]) -> Option<i128> {
        if let Some(known) = self.known(dims, counts) {
            return known.as_ref().map(|(cost, _)| *cost);
        }
        if self.known.len() >= CONTENTS || self.budget.expired() {
            return None;
        }
        let best = if counts.iter().sum::<usize>() == 1 {
            let kind = counts.iter().position(|&count| count > 0).unwrap_or(0);
            Some((self.alone(dims, kind), None))
        } else {
            self.cut(dims, counts)
        };
        let cost = best.as_ref().map(|(cost, _)| *cost);
        if let Err(position) = self.position(dims, counts) {
            self.known.insert(position, ([dims, counts].concat(), best));
        }
        cost
    }

    /// The best cut of a box with several parts.
    fn cut(&mut self, dims: &[usize], counts: &[usize]) -> Best {
        let volume: usize = dims.iter().product();
        let mut best: Best = None;
        for first in divisions(counts) {
            let size: usize = first.iter().zip(&self.kinds).map(|(n, kind)| n * kind.size).sum();
            let rest: Vec<usize> = counts.iter().zip(&first).map(|(all, n)| all - n).collect();
            for dimension in 0..dims.len() {
                let layer = volume / dims[dimension];
                let length = size / layer;
                if !size.is_multiple_of(layer) || length == 0 || length == dims[dimension] {
                    continue;
                }
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
        let least = part.graph.total_weight();
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
        fold_on_grid(pattern, &grid.shape, &machine)
            .map_or(3 * least, |slots| distance(&part.graph, &machine, &slots))
    }
}

/// Ways to choose some of the parts, by kind, but not all.
fn divisions(counts: &[usize]) -> Vec<Vec<usize>> {
    let all = counts.iter().try_fold(1usize, |all, &n| all.checked_mul(n + 1));
    let mut chosen = Vec::new();
    if all.is_some_and(|all| all <= DIVISIONS) {
        let mut first = vec![0; counts.len()];
        while next(&mut first, counts) {
            chosen.push(first.clone());
        }
        return chosen;
    }
    let mut first = vec![0; counts.len()];
    for (kind, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let mut alone = vec![0; counts.len()];
        alone[kind] = 1;
        chosen.push(alone);
        for n in 1..=count {
            first[kind] = n;
            chosen.push(first.clone());
        }
    }
    chosen.retain(|first| first != counts);
    chosen
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

    /// Without a limit, parts of the same size and of different shapes would be divided in a number of ways that grows with
    /// the power of their number.
    #[test]
    fn many_different_parts_come_to_an_end() {
        let kinds = ["64", "32x2", "16x4", "8x8", "16x2x2", "8x4x2", "4x4x4", "8x2x2x2", "4x4x2x2"];
        let text: Vec<String> = (0..32).map(|k| format!("stencil:{}", kinds[k % 9])).collect();
        let boxes = boxes_of(&text.join("+"), &Grid::torus(&[8, 16, 16]).unwrap());
        assert!(boxes.is_none_or(|boxes| boxes.len() == 32));
    }

    #[test]
    fn parts_that_fill_no_box_have_none() {
        assert_eq!(boxes_of("stencil:3x5+stencil:3x3", &Grid::mesh(&[4, 6]).unwrap()), None);
    }

    #[test]
    fn all_choices_of_some_parts_are_made_once() {
        assert_eq!(divisions(&[2, 1]), [[1, 0], [2, 0], [0, 1], [1, 1]]);
        let many = divisions(&[1; 20]);
        assert_eq!(many.len(), 20 + 19);
    }
}
