//! Meshes and tori: the bytes of a pair over all of its shortest paths.
//!
//! A model of routing that chooses, hop by hop, a dimension in which the message still has to go. Every shortest path
//! carries the same share. At a point from which `r` hops are left, `r_k` of them in dimension k, the share `r_k / r`
//! of the bytes therefore goes on in dimension k. Where both directions of a dimension are equally long, each
//! carries half.
//!
//! Limit: a box of more than [`MOST_POINTS`] points between two slots is not walked through. Then each of the orders
//! of the dimensions that begin with another one and go on in turn carries an equal share.

use crate::topology::{Grid, Routing};

/// How much messages that choose prefer links with less to carry: in proportion to 1 / time to this power.
const PREFERENCE: i32 = 4;

/// Between slots with more points between them, messages do not choose: it would take too long.
const MOST_CHOOSING: usize = 256;

/// The largest box whose points are visited one by one.
const MOST_POINTS: usize = 1024;

/// Boxes of at most so many points, and with so many ways at a point, need no memory from the heap.
const FEW_POINTS: usize = 64;
const FEW_WAYS: usize = 8;

/// Routing over all shortest paths of a grid.
pub(super) struct MinimalPaths<'a>(pub(super) &'a Grid);

/// One side of the box between two slots, with a point for each step. If both directions of its dimension are equally
/// long, the points of both are numbered in turn: 0, one up, one down, two up, two down, and at last the other end.
#[derive(Debug, Clone, Copy)]
struct Side {
    dimension: usize,
    /// The steps from one end to the other.
    steps: usize,
    up: bool,
    both: bool,
    /// The coordinate of the first end.
    start: usize,
    /// Its last point.
    last: usize,
    /// The difference of the numbers of two points of the box that are neighbours on this side.
    stride: usize,
    /// The present point of a walk.
    at: usize,
}

/// A link at a point of a box that brings bytes closer.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    link: usize,
    /// The point of the box behind the link.
    next: usize,
    weight: f64,
}

impl Side {
    fn points(&self) -> usize {
        self.last + 1
    }

    /// The steps to a point from the first end, and whether they go upwards.
    fn reached(&self, point: usize) -> (usize, bool) {
        match self.both {
            true => (point.div_ceil(2), point % 2 == 1),
            false => (point, self.up),
        }
    }

    /// The coordinate of a point, on a side of a dimension of this length.
    fn coordinate(&self, point: usize, length: usize) -> usize {
        let (steps, up) = self.reached(point);
        match (up, self.start.checked_sub(steps)) {
            (true, _) if self.start + steps >= length => self.start + steps - length,
            (true, _) => self.start + steps,
            (false, Some(below)) => below,
            (false, None) => self.start + length - steps,
        }
    }

    /// The point behind the present one, which is not the last one, and the direction. At the first point of two
    /// directions, this is the one upwards.
    fn next(&self) -> (usize, bool) {
        match self.both && self.at > 0 {
            true => ((self.at + 2).min(self.last), self.at % 2 == 1),
            false => (self.at + 1, self.up),
        }
    }
}

impl Routing for MinimalPaths<'_> {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        let mut sides = self.sides(from, to);
        if sides.len() > 1 && paths_points(&sides).is_some_and(|points| points <= MOST_POINTS) {
            // At first, a link counts with the steps that are left in its dimension.
            return self.walk(
                from,
                &mut sides,
                |ways| ways.iter().map(|way| way.weight).sum(),
                visit,
            );
        }
        // Above this number the ways are so many that the direction of the rest hardly matters.
        let halves: Vec<usize> = (0..sides.len()).filter(|&k| sides[k].both).take(6).collect();
        let share = 1.0 / (1u32 << halves.len()) as f64;
        for turns in 0..1u32 << halves.len() {
            for (bit, &side) in halves.iter().enumerate() {
                sides[side].up = turns >> bit & 1 == 1;
            }
            let part = share / sides.len() as f64;
            (0..sides.len()).for_each(|first| self.in_order(from, &sides, first, part, visit));
        }
    }

    fn chooses(&self) -> bool {
        true
    }

    /// A message takes the links at a point in proportion to 1 / time⁴, so mostly those with less to carry.
    fn choose(&self, from: usize, to: usize, times: &[f64], visit: &mut dyn FnMut(usize, f64)) {
        let mut sides = self.sides(from, to);
        if paths_points(&sides).is_none_or(|points| points > MOST_CHOOSING) {
            return self.spread(from, to, visit);
        }
        let weigh = |ways: &mut [Way]| {
            let least = ways.iter().map(|way| times[way.link]).fold(f64::INFINITY, f64::min);
            ways.iter_mut().for_each(|way| way.weight = preference(times[way.link], least));
            ways.iter().map(|way| way.weight).sum()
        };
        self.walk(from, &mut sides, weigh, visit);
    }
}

/// How much messages prefer a link, where the link of that point with the least to carry takes the time `least`.
fn preference(time: f64, least: f64) -> f64 {
    if time > 0.0 { (least / time).powi(PREFERENCE) } else { 1.0 }
}

/// The points that the ways in one direction pass; `None` if they are too many to count.
fn paths_points(sides: &[Side]) -> Option<usize> {
    sides.iter().try_fold(1usize, |all, side| all.checked_mul(side.steps + 1))
}

impl MinimalPaths<'_> {
    /// The sides of the box between two slots: the dimensions in which they differ. Where both directions are equally
    /// long, [`Side::up`] is true.
    fn sides(&self, from: usize, to: usize) -> Vec<Side> {
        let grid = self.0;
        let (a, b) = (grid.coordinates(from), grid.coordinates(to));
        let mut sides: Vec<Side> = Vec::with_capacity(a.len());
        for (dimension, (&x, &y)) in a.iter().zip(b).enumerate() {
            let length = grid.dims()[dimension] as u32;
            let steps = grid.along(dimension, x, y);
            if steps == 0 {
                continue;
            }
            let wraps = grid.wrap()[dimension];
            let above = if y >= x { y - x } else { y + length - x };
            let up = if wraps { above == steps } else { y > x };
            let both = wraps && 2 * steps == length;
            let (steps, start) = (steps as usize, x as usize);
            let last = if both { 2 * steps - 1 } else { steps };
            sides.push(Side { dimension, steps, up, both, start, last, stride: 1, at: 0 });
        }
        for k in (1..sides.len()).rev() {
            sides[k - 1].stride = sides[k].stride.saturating_mul(sides[k].points());
        }
        sides
    }

    /// Walks through the points of a box, each after those from which bytes reach it. `weigh` gets the links at a point
    /// that bring bytes closer, with the steps that are left in their dimensions as weights. It may change the weights,
    /// and returns their sum. The bytes go on over the links in proportion to the weights.
    #[inline(never)]
    fn walk(
        &self,
        from: usize,
        sides: &mut [Side],
        weigh: impl Fn(&mut [Way]) -> f64,
        visit: &mut dyn FnMut(usize, f64),
    ) {
        let (grid, mut slot) = (self.0, from);
        let points: usize = sides.iter().map(Side::points).product();
        let (mut few, mut many) = ([0.0f64; FEW_POINTS], Vec::new());
        let shares = match points <= FEW_POINTS {
            true => &mut few[..],
            false => {
                many.resize(points, 0.0);
                &mut many[..]
            }
        };
        shares[0] = 1.0;
        let (mut few_ways, mut many_ways) = ([Way::default(); FEW_WAYS], Vec::new());
        let all_ways = match 2 * sides.len() <= FEW_WAYS {
            true => &mut few_ways[..],
            false => {
                many_ways.resize(2 * sides.len(), Way::default());
                &mut many_ways[..]
            }
        };
        for point in 0..points {
            let share = shares[point];
            let mut count = 0;
            // A point that no bytes reach has nothing to send on.
            for side in sides.iter().filter(|side| side.at < side.last && share > 0.0) {
                let left = (side.steps - side.reached(side.at).0) as f64;
                let (next, up) = side.next();
                let mut add = |next: usize, up, weight| {
                    let link = grid.link(slot, side.dimension, up);
                    let next = point + (next - side.at) * side.stride;
                    all_ways[count] = Way { link, next, weight };
                    count += 1;
                };
                if side.both && side.at == 0 {
                    add(next, true, left / 2.0);
                    add(2, false, left / 2.0);
                } else {
                    add(next, up, left);
                }
            }
            let ways = &mut all_ways[..count];
            let sum = weigh(ways);
            for way in ways {
                let part = share * way.weight / sum;
                if part > 0.0 {
                    visit(way.link, part);
                    shares[way.next] += part;
                }
            }
            slot = self.advance(sides, slot);
        }
    }

    /// Goes to the next point of a box: the last count that does not begin again grows. Returns its slot.
    fn advance(&self, sides: &mut [Side], mut slot: usize) -> usize {
        for side in sides.iter_mut().rev() {
            let (length, step) = (self.0.dims()[side.dimension], self.0.stride(side.dimension));
            let before = side.coordinate(side.at, length);
            let ends = side.at + 1 == side.points();
            side.at = if ends { 0 } else { side.at + 1 };
            slot = slot + side.coordinate(side.at, length) * step - before * step;
            if !ends {
                break;
            }
        }
        slot
    }

    /// One dimension after the other, beginning with `first`.
    fn in_order(
        &self,
        from: usize,
        sides: &[Side],
        first: usize,
        share: f64,
        visit: &mut dyn FnMut(usize, f64),
    ) {
        let mut at = from;
        for side in sides[first..].iter().chain(&sides[..first]) {
            for _ in 0..side.steps {
                visit(self.0.link(at, side.dimension, side.up), share);
                at = self.0.step(at, side.dimension, side.up).unwrap_or(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use crate::topology::{Network, Topology};
    use proptest::prelude::*;

    /// The shares of all links, where bytes at a point go on over the links that bring them closer in proportion to
    /// their weights: point by point, by the number of hops, with a search for these links at each point.
    fn by_layers(
        grid: &Grid,
        (from, to): (usize, usize),
        weight: impl Fn(usize, usize) -> f64,
    ) -> Vec<f64> {
        let mut shares = vec![0.0; 2 * grid.slots() * grid.dims().len()];
        let mut here = vec![0.0; grid.slots()];
        here[from] = 1.0;
        for _ in 0..grid.distance(from, to) {
            let mut next = vec![0.0; grid.slots()];
            for slot in (0..grid.slots()).filter(|&slot| here[slot] > 0.0) {
                let mut links = Vec::new();
                grid.neighbours(slot, &mut |other, link| {
                    if grid.distance(other, to) < grid.distance(slot, to) {
                        links.push((other, link));
                    }
                });
                let sum: f64 = links.iter().map(|&(_, link)| weight(slot, link)).sum();
                for (other, link) in links {
                    let part = here[slot] * weight(slot, link) / sum;
                    shares[link] += part;
                    next[other] += part;
                }
            }
            here = next;
        }
        shares
    }

    proptest! {
        #[test]
        fn a_box_is_walked_through_as_by_layers(
            dims in prop::collection::vec(1usize..7, 1..5), wraps in any::<bool>(), seed in any::<u64>())
        {
            let grid = if wraps { Grid::torus(&dims) } else { Grid::mesh(&dims) };
            let (grid, mut random) = (grid.unwrap(), SplitMix64::new(seed));
            let slots: usize = dims.iter().product();
            let (from, to) = (random.below_wide(slots), random.below_wide(slots));
            let links = 2 * slots * dims.len();
            // Some links carry nothing.
            let times: Vec<f64> =
                (0..links).map(|_| random.below_wide(4) as f64 * random.unit()).collect();
            let paths = MinimalPaths(&grid);
            let sides = paths.sides(from, to);
            prop_assume!(paths_points(&sides).unwrap() <= MOST_CHOOSING);
            let closer = |slot: usize| {
                let mut links = Vec::new();
                grid.neighbours(slot, &mut |other, link| {
                    if grid.distance(other, to) < grid.distance(slot, to) {
                        links.push(link);
                    }
                });
                links
            };
            // The steps that are left in the dimension of a link, divided by the directions that bring bytes closer.
            let steps_left = |slot: usize, link: usize| {
                let k = link / 2 % dims.len();
                let left = grid.along(k, grid.coordinates(slot)[k], grid.coordinates(to)[k]);
                let same = closer(slot).iter().filter(|&&other| other / 2 == link / 2).count();
                f64::from(left) / same as f64
            };
            let least_loaded = |slot: usize, link: usize| {
                let least = closer(slot).iter().map(|&link| times[link]).fold(f64::INFINITY, f64::min);
                preference(times[link], least)
            };
            let (mut spread, mut chosen) = (vec![0.0; links], vec![0.0; links]);
            paths.spread(from, to, &mut |link, share| spread[link] += share);
            paths.choose(from, to, &times, &mut |link, share| chosen[link] += share);
            let expected = [by_layers(&grid, (from, to), steps_left), by_layers(&grid, (from, to), least_loaded)];
            for (found, expected) in [spread, chosen].iter().zip(&expected) {
                for (a, b) in found.iter().zip(expected) {
                    prop_assert!((a - b).abs() < 1e-9, "{} {}", a, b);
                }
            }
        }
    }
}
