//! Places a grid on a tree as nested boxes.
//!
//! Every group gets a box of tasks. The boxes of a level are equal and divide those of the level above.
//! The share of the edges that a choice of boxes cuts at a level is a product over dimensions. Therefore
//! all nested choices are compared by their exact cost without placing a single task.

use super::{GridShape, best_sides};
use crate::mapping::engine::{Csr, TreePlaces};

/// Boxes that cost this much more than the ideal ones leave nothing to other shapes.
const GOOD: f64 = 1.03;

/// A grid in nested boxes.
pub(crate) struct Boxed {
    /// Each vertex's index in the sorted order of the places.
    pub(crate) position_of: Vec<u32>,
    /// No parts of another shape would cost much less.
    pub(crate) good: bool,
}

/// Places `graph`, a grid of `shape`, on the sorted places of a regular tree. `None` if the tree is irregular or no
/// boxes fit.
pub(crate) fn place_on_tree(graph: &Csr, shape: &GridShape, places: &TreePlaces) -> Option<Boxed> {
    let sizes = group_sizes(places)?;
    let offsets = offsets(graph, shape)?;
    let costs = level_costs(places);
    let boxes = if shape.dims.len() <= 4 {
        best_boxes(shape, &offsets, &sizes, &costs)?
    } else {
        greedy_boxes(shape, &offsets, &sizes)?
    };
    let good = are_good(shape, &offsets, &costs, &boxes);
    let mut answer = vec![0u32; graph.len()];
    for (k, coordinates) in shape.coordinates.iter().enumerate() {
        let shares = shares(shape, &boxes, &sizes, k);
        for (position, &x) in answer.iter_mut().zip(coordinates) {
            *position += shares[x as usize];
        }
    }
    Some(Boxed { position_of: answer, good })
}

/// Whether boxes cost about as little as boxes of any sides could, also of sides that are no whole numbers.
fn are_good(
    shape: &GridShape,
    offsets: &[(Vec<usize>, f64)],
    costs: &[i64],
    boxes: &[Vec<usize>],
) -> bool {
    let crossing: Vec<f64> = (0..shape.dims.len())
        .map(|k| offsets.iter().map(|(steps, w)| steps[k] as f64 * w).sum())
        .collect();
    let all: f64 = offsets.iter().map(|(_, w)| w).sum();
    let (mut cost, mut ideal) = (0.0, 0.0);
    for (l, sides) in boxes.iter().enumerate() {
        let drop = (costs[l] - costs.get(l + 1).copied().unwrap_or(0)) as f64;
        let volume: usize = sides.iter().product();
        let sides: Vec<f64> = sides.iter().map(|&side| side as f64).collect();
        cost += drop * (all - inner_weight_of(shape, offsets, &sides));
        ideal += drop * (all - most_inside(shape, offsets, &crossing, volume as f64));
    }
    cost <= GOOD * ideal
}

/// The position of a task is a sum over the dimensions of the grid. The share of dimension `k`, by the coordinate of the
/// task: the positions before its box at every level, as far as this dimension counts.
fn shares(shape: &GridShape, boxes: &[Vec<usize>], sizes: &[usize], k: usize) -> Vec<u32> {
    let mut shares = vec![0u32; shape.dims[k]];
    let mut outer = &shape.dims;
    for (inner, &size) in boxes.iter().zip(sizes) {
        // Boxes are counted with the last dimension fastest.
        let later = k + 1..shape.dims.len();
        let stride = later.map(|j| outer[j] / inner[j]).product::<usize>() * size;
        for (x, share) in shares.iter_mut().enumerate() {
            *share += (x % outer[k] / inner[k] * stride) as u32;
        }
        outer = inner;
    }
    shares
}

/// The number of tasks of a group at each level. The children of the root come first, and single places last. `None`
/// if two groups of a level have different sizes.
fn group_sizes(places: &TreePlaces) -> Option<Vec<usize>> {
    let n = places.codes.len();
    let mut sizes = Vec::new();
    for &shift in &places.shifts {
        let groups = 1 + places.codes.windows(2).filter(|w| w[0] >> shift != w[1] >> shift).count();
        let size = n / groups;
        let equal = n.is_multiple_of(groups)
            && places.codes.chunks(size).all(|c| c.iter().all(|x| x >> shift == c[0] >> shift));
        if !equal {
            return None;
        }
        sizes.push(size);
    }
    if sizes.last() != Some(&1) {
        sizes.push(1);
    }
    Some(sizes)
}

/// Distance of places that first differ at each level of [`group_sizes`].
fn level_costs(places: &TreePlaces) -> Vec<i64> {
    let mut costs: Vec<i64> =
        places.shifts.iter().map(|&shift| places.distance_of[63 - shift as usize]).collect();
    // Several places on one slot are at distance 0.
    costs.push(0);
    costs
}

/// The different offsets between the ends of edges, each as the number of steps in every dimension, and the
/// weight of all edges with this offset. `None` if there are too many offsets for a stencil.
fn offsets(graph: &Csr, shape: &GridShape) -> Option<Vec<(Vec<usize>, f64)>> {
    const KINDS: usize = 512;
    let d = shape.dims.len();
    let mut list: Vec<(Vec<usize>, f64)> = Vec::new();
    // The number of each offset in the list, if all possible offsets are numbered: they are no more than the vertices.
    let mut numbers: Vec<u64> = Vec::new();
    let mut steps = vec![0usize; d];
    let mut last = 0;
    for v in 0..graph.len() {
        for (t, w) in graph.arcs(v) {
            if t < v {
                continue;
            }
            let mut number = 0u64;
            for (k, step) in steps.iter_mut().enumerate() {
                *step = shape.step(k, v, t);
                number = number * shape.dims[k] as u64 + *step as u64;
            }
            if numbers.get(last) != Some(&number) {
                last = match numbers.iter().position(|&n| n == number) {
                    Some(i) => i,
                    None if list.len() < KINDS => {
                        list.push((steps.clone(), 0.0));
                        numbers.push(number);
                        list.len() - 1
                    }
                    None => return None,
                };
            }
            list[last].1 += w as f64;
        }
    }
    Some(list)
}

/// The most weight that stays inside boxes of any sides. A box that takes all of a ring cuts nothing there, so all choices
/// of rings are tried.
fn most_inside(
    shape: &GridShape,
    offsets: &[(Vec<usize>, f64)],
    crossing: &[f64],
    volume: f64,
) -> f64 {
    let d = shape.dims.len();
    let is_whole = |choice: u32, k: usize| choice >> k & 1 == 1;
    let mut most = 0.0f64;
    for choice in 0..1u32 << d.min(4) {
        let whole: f64 =
            (0..d).filter(|&k| is_whole(choice, k)).map(|k| shape.dims[k] as f64).product();
        if whole > volume || (0..d).any(|k| is_whole(choice, k) && !shape.wrap[k]) {
            continue;
        }
        let rest: Vec<usize> = (0..d).filter(|&k| !is_whole(choice, k)).collect();
        let dims: Vec<usize> = rest.iter().map(|&k| shape.dims[k]).collect();
        let crossing: Vec<f64> = rest.iter().map(|&k| crossing[k]).collect();
        let mut sides: Vec<f64> = shape.dims.iter().map(|&side| side as f64).collect();
        for (&k, side) in rest.iter().zip(best_sides(&dims, &crossing, volume / whole)) {
            sides[k] = side;
        }
        most = most.max(inner_weight_of(shape, offsets, &sides));
    }
    most
}

/// Share of all pairs `step` apart in a dimension of `length` that stay in one box of `width`.
fn inside(step: usize, length: usize, wrap: bool, width: f64) -> f64 {
    if width >= length as f64 || step == 0 {
        return 1.0;
    }
    let kept = length as f64 / width * (width - step as f64).max(0.0);
    let pairs = match wrap {
        true if 2 * step == length => length / 2,
        true => length,
        false => length - step,
    };
    kept / pairs.max(1) as f64
}

/// Weight of the edges that stay inside if the grid is cut into boxes of these sides, which divide those of the grid,
/// from the weight of all edges by their steps.
pub(crate) fn inner_weight(
    shape: &GridShape,
    offsets: &[(Vec<usize>, f64)],
    sides: &[usize],
) -> f64 {
    let sides: Vec<f64> = sides.iter().map(|&side| side as f64).collect();
    inner_weight_of(shape, offsets, &sides)
}

/// As [`inner_weight`], also for sides that do not divide those of the grid.
fn inner_weight_of(shape: &GridShape, offsets: &[(Vec<usize>, f64)], sides: &[f64]) -> f64 {
    let share =
        |steps: &[usize], k: usize| inside(steps[k], shape.dims[k], shape.wrap[k], sides[k]);
    offsets
        .iter()
        .map(|(steps, w)| w * (0..sides.len()).map(|k| share(steps, k)).product::<f64>())
        .sum()
}

/// All boxes of `volume` whose sides divide `outer`.
pub(crate) fn divisors(outer: &[usize], volume: usize) -> Vec<Vec<usize>> {
    let mut list: Vec<(Vec<usize>, usize)> = vec![(Vec::new(), volume)];
    for &side in outer {
        list = list
            .into_iter()
            .flat_map(|(prefix, rest)| {
                (1..=side).filter(move |s| side % s == 0 && rest % s == 0).map(move |s| {
                    let mut next = prefix.clone();
                    next.push(s);
                    (next, rest / s)
                })
            })
            .collect();
    }
    list.into_iter().filter(|(_, rest)| *rest == 1).map(|(sides, _)| sides).collect()
}

/// The cheapest nested boxes by dynamic programming from the root down.
fn best_boxes(
    shape: &GridShape,
    offsets: &[(Vec<usize>, f64)],
    sizes: &[usize],
    costs: &[i64],
) -> Option<Vec<Vec<usize>>> {
    // Cost = Σ over levels of (cost of this level − cost of the next) × weight cut at this level;
    // counted as what stays inside, which is saved.
    struct Step {
        sides: Vec<usize>,
        saved: f64,
        parent: usize,
    }
    let mut levels: Vec<Vec<Step>> =
        vec![vec![Step { sides: shape.dims.clone(), saved: 0.0, parent: 0 }]];
    for (l, &size) in sizes.iter().enumerate() {
        let next_cost = costs.get(l + 1).copied().unwrap_or(0);
        let drop = (costs[l] - next_cost) as f64;
        let above = levels.last()?;
        let mut row: Vec<Step> = Vec::new();
        for (parent, step) in above.iter().enumerate() {
            for sides in divisors(&step.sides, size) {
                let saved = step.saved + drop * inner_weight(shape, offsets, &sides);
                match row.iter_mut().find(|s| s.sides == sides) {
                    Some(known) if known.saved >= saved => {}
                    Some(known) => (known.saved, known.parent) = (saved, parent),
                    None => row.push(Step { sides, saved, parent }),
                }
            }
        }
        levels.push(row);
    }
    let last = levels.last()?;
    let mut best = 0;
    for (i, step) in last.iter().enumerate() {
        if step.saved > last[best].saved {
            best = i;
        }
    }
    let mut chosen = Vec::new();
    for level in levels[1..].iter().rev() {
        let step = level.get(best)?;
        chosen.push(step.sides.clone());
        best = step.parent;
    }
    chosen.reverse();
    Some(chosen)
}

/// Many dimensions (hypercubes): grows the boxes from single tasks, prime factor by prime factor.
fn greedy_boxes(
    shape: &GridShape,
    offsets: &[(Vec<usize>, f64)],
    sizes: &[usize],
) -> Option<Vec<Vec<usize>>> {
    let mut chosen = vec![vec![1; shape.dims.len()]];
    let mut volume = 1;
    for &size in sizes.iter().rev().skip(1) {
        let mut sides = chosen.last()?.clone();
        let mut factor = size / volume;
        while factor > 1 {
            let prime = (2..=factor).find(|p| factor % p == 0)?;
            let grown = (0..sides.len())
                .filter(|&k| (shape.dims[k] / sides[k]).is_multiple_of(prime))
                .map(|k| {
                    let mut s = sides.clone();
                    s[k] *= prime;
                    (inner_weight(shape, offsets, &s), s)
                });
            sides = grown.max_by(|a, b| a.0.total_cmp(&b.0))?.1;
            factor /= prime;
        }
        volume = size;
        chosen.push(sides);
    }
    chosen.reverse();
    Some(chosen)
}
