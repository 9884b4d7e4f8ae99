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

/// Routing over all shortest paths of a grid.
pub(super) struct MinimalPaths<'a>(pub(super) &'a Grid);

/// The way in one dimension: the dimension, its steps, and its direction.
#[derive(Debug, Clone, Copy)]
struct Leg {
    dimension: usize,
    steps: usize,
    up: bool,
}

impl Routing for MinimalPaths<'_> {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn spread(&self, from: usize, to: usize, visit: &mut dyn FnMut(usize, f64)) {
        let (mut legs, mut halves) = self.legs(from, to);
        // Above this number the ways are so many that the direction of the rest hardly matters.
        halves.truncate(6);
        let share = 1.0 / (1u32 << halves.len()) as f64;
        for turns in 0..1u32 << halves.len() {
            for (bit, &leg) in halves.iter().enumerate() {
                legs[leg].up = turns >> bit & 1 == 1;
            }
            self.directed(from, &legs, share, visit);
        }
    }

    fn chooses(&self) -> bool {
        true
    }

    /// A message takes the links at a point in proportion to 1 / time⁴, so mostly those with less to carry.
    fn choose(&self, from: usize, to: usize, times: &[f64], visit: &mut dyn FnMut(usize, f64)) {
        let (legs, halves) = self.legs(from, to);
        let points = legs.iter().try_fold(1usize, |all, leg| all.checked_mul(leg.steps + 1));
        let Some(points) = points.filter(|&points| points <= MOST_CHOOSING) else {
            return self.spread(from, to, visit);
        };
        if halves.is_empty() {
            return self.chosen_box(from, &legs, points, times, visit);
        }
        self.chosen_by_layers(from, to, times, visit);
    }
}

/// How much messages prefer a link, where the link of that point with the least to carry takes the time `least`.
fn preference(time: f64, least: f64) -> f64 {
    if time > 0.0 { (least / time).powi(PREFERENCE) } else { 1.0 }
}

impl MinimalPaths<'_> {
    /// [`Routing::choose`] for all pairs: the points that messages reach with the same number of hops.
    fn chosen_by_layers(
        &self,
        from: usize,
        to: usize,
        times: &[f64],
        visit: &mut dyn FnMut(usize, f64),
    ) {
        let mut here = vec![(from, 1.0)];
        let mut links = Vec::new();
        while here.first().is_some_and(|&(slot, _)| slot != to) {
            let mut next: Vec<(usize, f64)> = Vec::new();
            for (slot, share) in here {
                self.closer(slot, to, &mut links);
                let least =
                    links.iter().map(|&(link, _)| times[link]).fold(f64::INFINITY, f64::min);
                let weight = |link: usize| preference(times[link], least);
                let sum: f64 = links.iter().map(|&(link, _)| weight(link)).sum();
                for &(link, other) in &links {
                    let part = share * weight(link) / sum;
                    if part <= 0.0 {
                        continue;
                    }
                    visit(link, part);
                    match next.iter_mut().find(|(slot, _)| *slot == other) {
                        Some((_, share)) => *share += part,
                        None => next.push((other, part)),
                    }
                }
            }
            here = next;
        }
    }

    /// The ways in all dimensions in which two slots differ. Behind them, the indices of those that are equally long in
    /// both directions, and of which the upward one is given.
    fn legs(&self, from: usize, to: usize) -> (Vec<Leg>, Vec<usize>) {
        let grid = self.0;
        let (a, b) = (grid.coordinates(from), grid.coordinates(to));
        let mut legs: Vec<Leg> = Vec::with_capacity(a.len());
        let mut halves = Vec::new();
        for (dimension, (&x, &y)) in a.iter().zip(b).enumerate() {
            let length = grid.dims()[dimension] as u32;
            let steps = grid.along(dimension, x, y);
            if steps == 0 {
                continue;
            }
            let wraps = grid.wrap()[dimension];
            let up = if wraps { (y + length - x) % length == steps } else { y > x };
            if wraps && 2 * steps == length {
                halves.push(legs.len());
            }
            legs.push(Leg { dimension, steps: steps as usize, up });
        }
        (legs, halves)
    }

    /// [`Routing::choose`] where every dimension has one direction: the points of the box between two slots, each after
    /// those from which bytes reach it. It takes a small part of the time of the search by layers.
    fn chosen_box(
        &self,
        from: usize,
        legs: &[Leg],
        points: usize,
        times: &[f64],
        visit: &mut dyn FnMut(usize, f64),
    ) {
        let (mut shares, mut slots) = ([0.0f64; MOST_CHOOSING], [0usize; MOST_CHOOSING]);
        (shares[0], slots[0]) = (1.0, from);
        let mut done = vec![0usize; legs.len()];
        for point in 0..points {
            let (slot, share) = (slots[point], shares[point]);
            let open = || legs.iter().zip(&done).filter(|(leg, done)| leg.steps > **done);
            let time = |leg: &Leg| times[self.0.link(slot, leg.dimension, leg.up)];
            let least = open().map(|(leg, _)| time(leg)).fold(f64::INFINITY, f64::min);
            let sum: f64 = open().map(|(leg, _)| preference(time(leg), least)).sum();
            let mut stride = points;
            for (leg, &done) in legs.iter().zip(&done) {
                stride /= leg.steps + 1;
                if leg.steps == done {
                    continue;
                }
                let part = share * preference(time(leg), least) / sum;
                if part > 0.0 {
                    visit(self.0.link(slot, leg.dimension, leg.up), part);
                    shares[point + stride] += part;
                }
                let next = self.0.step(slot, leg.dimension, leg.up);
                slots[point + stride] = next.unwrap_or(slot);
            }
            // The next point: the last count that does not begin again grows.
            for (leg, done) in legs.iter().zip(&mut done).rev() {
                if *done < leg.steps {
                    *done += 1;
                    break;
                }
                *done = 0;
            }
        }
    }

    /// The links at a slot that bring a message closer to another one, with the slots behind them.
    fn closer(&self, slot: usize, to: usize, links: &mut Vec<(usize, usize)>) {
        let grid = self.0;
        links.clear();
        let ends = grid.coordinates(slot).iter().zip(grid.coordinates(to));
        for (k, (&x, &y)) in ends.enumerate() {
            let (length, steps) = (grid.dims()[k] as u32, grid.along(k, x, y));
            for up in [false, true] {
                let way = match (grid.wrap()[k], up) {
                    (true, true) => (y + length - x) % length,
                    (true, false) => (x + length - y) % length,
                    (false, true) => y.saturating_sub(x),
                    (false, false) => x.saturating_sub(y),
                };
                if steps > 0
                    && way == steps
                    && let Some(other) = grid.step(slot, k, up)
                {
                    links.push((grid.link(slot, k, up), other));
                }
            }
        }
    }

    /// The shortest paths with given directions.
    fn directed(&self, from: usize, legs: &[Leg], share: f64, visit: &mut dyn FnMut(usize, f64)) {
        let points = legs.iter().try_fold(1usize, |all, leg| all.checked_mul(leg.steps + 1));
        match points {
            _ if legs.len() < 2 => self.in_order(from, legs, 0, share, visit),
            Some(points) if points <= MOST_POINTS => self.box_of(from, legs, points, share, visit),
            _ => {
                let part = share / legs.len() as f64;
                (0..legs.len()).for_each(|first| self.in_order(from, legs, first, part, visit));
            }
        }
    }

    /// One dimension after the other, beginning with `first`.
    fn in_order(
        &self,
        from: usize,
        legs: &[Leg],
        first: usize,
        share: f64,
        visit: &mut dyn FnMut(usize, f64),
    ) {
        let mut at = from;
        for leg in legs[first..].iter().chain(&legs[..first]) {
            for _ in 0..leg.steps {
                visit(self.0.link(at, leg.dimension, leg.up), share);
                at = self.0.step(at, leg.dimension, leg.up).unwrap_or(at);
            }
        }
    }

    /// All points of the box between two slots, in an order in which each comes after those from which bytes reach it.
    fn box_of(
        &self,
        from: usize,
        legs: &[Leg],
        points: usize,
        share: f64,
        visit: &mut dyn FnMut(usize, f64),
    ) {
        let mut shares = vec![0.0; points];
        shares[0] = share;
        let mut done = vec![0usize; legs.len()];
        let mut slots = vec![from; points];
        let mut left: usize = legs.iter().map(|leg| leg.steps).sum();
        for point in 0..points {
            let mut stride = points;
            for (leg, &done) in legs.iter().zip(&done) {
                stride /= leg.steps + 1;
                let to_go = leg.steps - done;
                if to_go > 0 {
                    let part = shares[point] * to_go as f64 / left as f64;
                    visit(self.0.link(slots[point], leg.dimension, leg.up), part);
                    shares[point + stride] += part;
                    let next = self.0.step(slots[point], leg.dimension, leg.up);
                    slots[point + stride] = next.unwrap_or(slots[point]);
                }
            }
            // The next point: the last count that does not begin again grows.
            for (leg, done) in legs.iter().zip(&mut done).rev() {
                if *done < leg.steps {
                    *done += 1;
                    left -= 1;
                    break;
                }
                left += *done;
                *done = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use proptest::prelude::*;

    proptest! {
        /// Both ways to walk from one slot to another give every link the same share.
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
            let (legs, halves) = paths.legs(from, to);
            let points = legs.iter().map(|leg| leg.steps + 1).product::<usize>();
            prop_assume!(halves.is_empty() && points <= MOST_CHOOSING);
            let mut shares = [vec![0.0; links], vec![0.0; links]];
            paths.chosen_box(from, &legs, points, &times, &mut |link, share| shares[0][link] += share);
            paths.chosen_by_layers(from, to, &times, &mut |link, share| shares[1][link] += share);
            for (a, b) in shares[0].iter().zip(&shares[1]) {
                prop_assert!((a - b).abs() < 1e-9, "{} {}", a, b);
            }
        }
    }
}
