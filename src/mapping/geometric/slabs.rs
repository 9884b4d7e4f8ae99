//! Places a grid on a tree in slabs, for groups of any size.
//!
//! The boxes of [`super::boxes`] need groups whose sizes divide the grid. Few machines have such groups: 48 cores in a
//! node, or 14 nodes at a switch, fit few grids. Here the points of a part are sorted along one dimension, and each group
//! takes the next points of this order. Its last plane is seldom full, so its surface has a step. A plane is filled row
//! by row, there and back, so every group is connected. With many groups, the order is first cut into slabs of several
//! groups each, and every slab is divided along another dimension.
//!
//! For each part, the dimensions and the numbers of slabs are compared by the weight that they cut. Of those that cut
//! least, the one is taken that also leaves the least to be cut in the levels below. This is estimated from some of the
//! groups. For the whole grid, the best three by the estimate are completed and compared. Large grids and grids of lines go
//! without this. A part that has the shape of an earlier one is divided as that one was.
//!
//! Limits: grids of up to four dimensions. The search is greedy from the root down. Edges that are not part of the
//! stencil count where they are cut, but two parts of the same shape are divided in the same way.

use super::part::{MOST_DIMENSIONS, Part};
use super::{GridShape, best_sides};
use crate::base::sorting::Arrange;
use crate::mapping::Budget;
use crate::mapping::engine::{Csr, TreePlaces};
use fnv::FnvHashMap;
use std::ops::Range;
use std::rc::Rc;

/// Tasks above which the division takes more than a second.
const MOST: usize = 262_144;
/// Tasks above which fewer numbers of slabs are tried.
const MANY: usize = 8192;
/// Divisions of a part for which the levels below are looked at.
const AHEAD: usize = 4;
/// Divisions of the whole grid that are completed and compared.
const COMPARED: usize = 3;

/// Places `graph`, a grid of `shape`, on the sorted places of a tree; returns each vertex's index in sorted order. With
/// `compare`, divisions of the whole grid are compared to the end, if it is not large. When the budget has expired, the
/// rest is divided along the longest dimension. `None` if there are too many tasks or dimensions.
pub(crate) fn place_in_slabs(
    graph: &Csr,
    shape: &GridShape,
    places: &TreePlaces,
    budget: &Budget,
    compare: bool,
) -> Option<Vec<u32>> {
    let n = graph.len();
    if n > MOST || n != places.codes.len() || shape.dims.len() > MOST_DIMENSIONS {
        return None;
    }
    let compare = compare && n <= MANY;
    let (look, sample) = if compare { (Look::Compare, 8) } else { (Look::Below, 2) };
    let (mut slabs, vertex_at) = Slabs::new(graph, shape, places, budget, sample)?;
    let all = Part::new((0..n as u32).collect(), &slabs.coordinates);
    let (_, order) = slabs.solve(&all, 0..n, 0, look);
    let mut answer = vec![0u32; n];
    for (k, &point) in order.iter().enumerate() {
        answer[vertex_at[point as usize] as usize] = k as u32;
    }
    Some(answer)
}

/// How a division of a part is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The one that cuts least.
    Nowhere,
    /// Of those that cut least, the one that also leaves the least to be cut in the levels below, by an estimate.
    Below,
    /// Of those that are best by this estimate, the one that costs least when all of its parts are divided to the end.
    Compare,
}

/// What the edges inside a part cost, and its points in the order of the places, each as its number in the part.
type Solved = (f64, Rc<[u32]>);

/// The points of a part, one group after the other, and the weight between the groups.
struct Division {
    cut: i64,
    points: Vec<u32>,
}

/// A grid and a tree. Points are the vertices, sorted by their coordinates, the last dimension fastest.
struct Slabs<'a> {
    places: &'a TreePlaces,
    budget: &'a Budget,
    /// Groups of a division for which the levels below are looked at.
    sample: usize,
    /// By point.
    coordinates: Vec<[u32; MOST_DIMENSIONS]>,
    /// For each point, the edges to later points.
    offsets: Vec<u32>,
    edges: Vec<(u32, i64)>,
    /// By dimension: the weight of all edges times their steps along it.
    crossing: Vec<f64>,
    /// By point: the group in the division that is looked at, counted from `base`. Less than `base` outside.
    group_of: Vec<u64>,
    base: u64,
    /// By point: its number in the part that is looked at.
    number_of: Vec<u32>,
    /// The best order of a part, by its shape, its places, and how far its divisions were compared.
    known: FnvHashMap<u64, Solved>,
    /// The best division of a slab, by its shape and the sizes of its groups.
    divided: FnvHashMap<u64, Rc<[u32]>>,
}

impl<'a> Slabs<'a> {
    /// Also returns the vertex of each point. `None` if two vertices have the same coordinates.
    fn new(
        graph: &Csr,
        shape: &GridShape,
        places: &'a TreePlaces,
        budget: &'a Budget,
        sample: usize,
    ) -> Option<(Self, Vec<u32>)> {
        let n = graph.len();
        let mut sorted: Vec<(u64, u32)> =
            (0..n as u32).map(|v| (shape.index(v as usize) as u64, v)).collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let vertex_at: Vec<u32> = sorted.iter().map(|&(_, v)| v).collect();
        let mut point_of = vec![0u32; n];
        vertex_at.iter().zip(0..).for_each(|(&v, point)| point_of[v as usize] = point);
        let (mut offsets, mut edges) = (vec![0u32], Vec::with_capacity(graph.arcs.len() / 2));
        let mut crossing = vec![0f64; shape.dims.len()];
        let mut coordinates = vec![[0u32; MOST_DIMENSIONS]; n];
        for (&v, point) in vertex_at.iter().zip(0u32..) {
            let v = v as usize;
            for (at, column) in coordinates[point as usize].iter_mut().zip(&shape.coordinates) {
                *at = column[v];
            }
            let later = graph.arcs(v).map(|(t, weight)| (point_of[t], t, weight));
            for (target, t, weight) in later.filter(|&(target, ..)| target > point) {
                edges.push((target, weight));
                for (k, crossing) in crossing.iter_mut().enumerate() {
                    *crossing += shape.step(k, v, t) as f64 * weight as f64;
                }
            }
            offsets.push(edges.len() as u32);
        }
        let slabs = Slabs {
            places,
            budget,
            sample,
            coordinates,
            offsets,
            edges,
            crossing,
            group_of: vec![0; n],
            base: 1,
            number_of: vec![0; n],
            known: FnvHashMap::default(),
            divided: FnvHashMap::default(),
        };
        Some((slabs, vertex_at))
    }

    /// Divides a part among the places `range` of the tree, from `level` down.
    fn solve(&mut self, part: &Part, range: Range<usize>, level: usize, look: Look) -> Solved {
        let groups = match level < self.places.shifts.len() {
            true => self.places.groups(range.clone(), level),
            // Places of one slot.
            false => return (0.0, (0..part.points.len() as u32).collect()),
        };
        if groups.len() == 1 {
            return self.solve(part, range, level + 1, look);
        }
        let below = (1u64 << self.places.shifts[level]) - 1;
        let sizes = groups.iter().map(|group| group.len() as u64);
        let codes = self.places.codes[range].iter().map(|code| code & below);
        let key = part.key(sizes.chain(codes).chain([3 * level as u64 + look as u64]));
        let known = self.known.get(&key);
        if let Some(known) = known.filter(|(_, order)| order.len() == part.points.len()) {
            return known.clone();
        }
        let solved = if groups.iter().all(|group| group.len() == 1) {
            let points = part.points.clone();
            let cut = self.division(points, &vec![1; groups.len()]).cut;
            (cut as f64 * self.distance(level), (0..part.points.len() as u32).collect())
        } else {
            self.best_division(part, &groups, level, look)
        };
        self.known.insert(key, solved.clone());
        solved
    }

    /// The best division of a part among groups, and the best orders of the groups.
    fn best_division(
        &mut self,
        part: &Part,
        groups: &[Range<usize>],
        level: usize,
        look: Look,
    ) -> Solved {
        let sizes: Vec<usize> = groups.iter().map(Range::len).collect();
        let mut dimensions: Vec<usize> = (0..self.crossing.len()).collect();
        if self.budget.expired() {
            let longest = dimensions.iter().copied().max_by_key(|&k| part.extents[k]);
            dimensions = longest.into_iter().collect();
        }
        let mut divisions = self.divisions(part, &sizes, &dimensions);
        divisions.arrange_by_key(|division| division.cut);
        divisions.dedup_by(|a, b| a.cut == b.cut && a.points == b.points);
        divisions.truncate(if look == Look::Nowhere { 1 } else { AHEAD });
        let (mut estimated, alone) = (Vec::new(), divisions.len() == 1);
        for division in divisions {
            let below = if alone { 0.0 } else { self.below(&division, groups, level) };
            estimated.push((division.cut as f64 * self.distance(level) + below, division));
        }
        estimated.arrange_by(|a, b| a.0.total_cmp(&b.0));
        estimated.truncate(if look == Look::Compare { COMPARED } else { 1 });
        let inner = if look == Look::Nowhere { Look::Nowhere } else { Look::Below };
        let mut best: Option<(f64, Vec<u32>)> = None;
        for (_, division) in &estimated {
            let (cost, order) = self.complete(division, groups, level, inner);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, order));
            }
        }
        let (cost, order) = best.unwrap_or_else(|| (0.0, part.points.clone()));
        (cost, self.numbers(part, &order))
    }

    /// Divides the groups of a division further: what it costs, and the points in the order of the places.
    fn complete(
        &mut self,
        division: &Division,
        groups: &[Range<usize>],
        level: usize,
        look: Look,
    ) -> (f64, Vec<u32>) {
        let mut cost = division.cut as f64 * self.distance(level);
        let mut order = Vec::with_capacity(division.points.len());
        let mut rest = &division.points[..];
        for group in groups {
            let (points, after) = rest.split_at(group.len());
            rest = after;
            let inner = Part::new(points.to_vec(), &self.coordinates);
            let (below, numbers) = self.solve(&inner, group.clone(), level + 1, look);
            cost += below;
            order.extend(numbers.iter().map(|&k| inner.points[k as usize]));
        }
        (cost, order)
    }

    /// The numbers in a part of the points of an order.
    fn numbers(&mut self, part: &Part, order: &[u32]) -> Rc<[u32]> {
        part.points.iter().zip(0..).for_each(|(&p, k)| self.number_of[p as usize] = k);
        order.iter().map(|&p| self.number_of[p as usize]).collect()
    }

    /// The distance of places that first differ at this level.
    fn distance(&self, level: usize) -> f64 {
        self.places.distance_of[63 - self.places.shifts[level] as usize] as f64
    }

    /// Estimates what the levels below a division cost, from some of its groups: all, if there are few.
    fn below(&mut self, division: &Division, groups: &[Range<usize>], level: usize) -> f64 {
        let looked_at = groups.len().min(self.sample);
        let (mut sum, mut start, mut next) = (0.0, 0, 0);
        for (k, group) in groups.iter().enumerate() {
            if k == next * groups.len() / looked_at {
                let points = division.points[start..start + group.len()].to_vec();
                let part = Part::new(points, &self.coordinates);
                sum += self.solve(&part, group.clone(), level + 1, Look::Nowhere).0;
                next += 1;
            }
            start += group.len();
        }
        sum * groups.len() as f64 / looked_at as f64
    }

    /// Divisions of a part into groups of these sizes, along some dimensions.
    fn divisions(&mut self, part: &Part, sizes: &[usize], along: &[usize]) -> Vec<Division> {
        let mut divisions = Vec::new();
        let useful = |&&k: &&usize| part.extents[k] > 1 || along.len() == 1;
        for &k in along.iter().filter(useful) {
            let mut others: Vec<usize> = (0..self.crossing.len()).filter(|&j| j != k).collect();
            others.arrange_by_key(|&j| std::cmp::Reverse(part.extents[j]));
            let points = part.sorted(k, &others, &self.coordinates);
            let rest: Vec<usize> = along.iter().copied().filter(|&j| j != k).collect();
            for count in self.counts(&part.extents, along, k, sizes.len()) {
                if !rest.is_empty() {
                    let points = self.in_slabs(&points, sizes, count, &rest);
                    divisions.push(self.division(points, sizes));
                }
            }
            divisions.push(self.division(points, sizes));
            if others.len() > 1 {
                others.reverse();
                let points = part.sorted(k, &others, &self.coordinates);
                divisions.push(self.division(points, sizes));
            }
        }
        divisions
    }

    /// Cuts an order of points into slabs for about equally many groups, and divides each slab along other dimensions.
    fn in_slabs(
        &mut self,
        points: &[u32],
        sizes: &[usize],
        count: usize,
        along: &[usize],
    ) -> Vec<u32> {
        let mut answer = Vec::with_capacity(points.len());
        let (mut rest, mut first) = (points, 0);
        for k in 1..=count {
            let last = k * sizes.len() / count;
            let sizes = &sizes[std::mem::replace(&mut first, last)..last];
            let (slab, after) = rest.split_at(sizes.iter().sum());
            rest = after;
            let slab = Part::new(slab.to_vec(), &self.coordinates);
            let key = slab.key(sizes.iter().chain(along).map(|&number| number as u64));
            let known = self.divided.get(&key).filter(|order| order.len() == slab.points.len());
            let order = match known {
                Some(order) => order.clone(),
                None => {
                    let divisions = self.divisions(&slab, sizes, along);
                    let best = divisions.into_iter().min_by_key(|division| division.cut);
                    let points = best.map_or_else(|| slab.points.clone(), |best| best.points);
                    let order = self.numbers(&slab, &points);
                    self.divided.insert(key, order.clone());
                    order
                }
            };
            answer.extend(order.iter().map(|&k| slab.points[k as usize]));
        }
        answer
    }

    /// Numbers of slabs along dimension `k` with which so many groups come near to the shape that cuts least.
    fn counts(&self, extents: &[usize], along: &[usize], k: usize, groups: usize) -> Vec<usize> {
        let dims: Vec<usize> = along.iter().map(|&k| extents[k]).collect();
        let crossing: Vec<f64> = along.iter().map(|&k| self.crossing[k]).collect();
        let size = dims.iter().product::<usize>() as f64 / groups as f64;
        let sides = best_sides(&dims, &crossing, size);
        let side = along.iter().zip(sides).find(|&(&j, _)| j == k).map_or(1.0, |(_, side)| side);
        let ideal = extents[k] as f64 / side;
        let mut counts: Vec<usize> = (2..groups.min(extents[k] + 1)).collect();
        let away = |count: usize| libm::fabs(libm::log(count as f64 / ideal));
        counts.arrange_by(|&a, &b| away(a).total_cmp(&away(b)));
        counts.truncate(if self.coordinates.len() > MANY { 2 } else { 3 });
        counts
    }

    /// Points in groups of these sizes, with the weight between the groups.
    fn division(&mut self, points: Vec<u32>, sizes: &[usize]) -> Division {
        let base = self.base;
        self.base += sizes.len() as u64;
        let mut rest = &points[..];
        for (&size, group) in sizes.iter().zip(base..) {
            let (points, after) = rest.split_at(size);
            rest = after;
            points.iter().for_each(|&point| self.group_of[point as usize] = group);
        }
        let mut cut = 0;
        for &point in &points {
            let point = point as usize;
            let group = self.group_of[point];
            let range = self.offsets[point] as usize..self.offsets[point + 1] as usize;
            for &(target, weight) in &self.edges[range] {
                let other = self.group_of[target as usize];
                if other != group && other >= base {
                    cut += weight;
                }
            }
        }
        Division { cut, points }
    }
}

#[cfg(test)]
#[path = "slabs_tests.rs"]
mod tests;
