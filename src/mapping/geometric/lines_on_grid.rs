//! Lays a grid of lines ([`super::lines`]) out on a mesh or torus.
//!
//! Each dimension of the tasks is written as a number of several digits, of which each dimension of the machine holds one.
//! A dimension of the machine holds its digits nested: the inner ones run through all values within each value of the outer
//! ones. All tasks on a line talk to each other, so the cost is a sum over the dimensions of the machine, and that of a
//! digit depends on its number of values and its stride alone. The best sizes and orders of all digits are found one
//! dimension of the machine after the other, for all factors of the tasks that are left.
//!
//! Limits: the sizes of the digits have to divide the dimensions of the tasks. The tasks fill a box of slots. The traffic
//! along a dimension of the tasks counts as even.

use super::GridShape;
use crate::mapping::engine::Csr;
use crate::topology::Grid;
use std::collections::BTreeMap;

/// The slot of every vertex with the least total distance of all nested digits; `None` if no digits fit.
pub(crate) fn lines_on_grid(graph: &Csr, shape: &GridShape, machine: &Grid) -> Option<Vec<u32>> {
    let mut search = Search { machine, traffic: traffic(graph, shape), known: BTreeMap::new() };
    search.best(0, &shape.dims)?;
    let (mut left, mut held) = (shape.dims.clone(), Vec::new());
    for k in 0..machine.dims().len() {
        let (_, digits) = search.known.get(&(k, left.clone()))?.clone()?;
        for digit in &digits {
            left[digit.dimension] /= digit.size;
        }
        held.push(digits);
    }
    slots(shape, machine, &held)
}

/// The traffic along each dimension, from both ends, as if each point also had the mean traffic of a pair with itself.
fn traffic(graph: &Csr, shape: &GridShape) -> Vec<f64> {
    let mut sums = vec![0.0; shape.dims.len()];
    for v in 0..graph.len() {
        for (t, weight) in graph.arcs(v) {
            if let Some(k) = shape.line(v, t) {
                sums[k] += weight as f64;
            }
        }
    }
    let all_pairs = |(sum, &length): (f64, &usize)| sum * length as f64 / (length - 1) as f64;
    sums.into_iter().zip(&shape.dims).map(all_pairs).collect()
}

/// What a dimension of the machine holds of a dimension of the tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Digit {
    /// The dimension of the tasks.
    dimension: usize,
    /// Values of the digit.
    size: usize,
    /// Steps of the machine between two neighbouring values.
    stride: usize,
}

/// The cost and the digits of a dimension of the machine and those after it; `None` if none fit. The digits are those of
/// the first of these dimensions.
type Choice = Option<(f64, Vec<Digit>)>;

/// The search for the digits of all dimensions of the machine.
struct Search<'a> {
    machine: &'a Grid,
    traffic: Vec<f64>,
    /// By the dimension of the machine, and what is left of those of the tasks.
    known: BTreeMap<(usize, Vec<usize>), Choice>,
}

impl Search<'_> {
    /// The least cost of the dimensions of the machine from `k` on.
    fn best(&mut self, k: usize, left: &[usize]) -> Option<f64> {
        let Some(&length) = self.machine.dims().get(k) else {
            return left.iter().all(|&l| l == 1).then_some(0.0);
        };
        let key = (k, left.to_vec());
        if let Some(choice) = self.known.get(&key) {
            return choice.as_ref().map(|(cost, _)| *cost);
        }
        let mut choice: Choice = None;
        let room: usize = self.machine.dims()[k + 1..].iter().product();
        for sizes in factors(left, length) {
            let after: Vec<usize> = left.iter().zip(&sizes).map(|(l, size)| l / size).collect();
            if after.iter().product::<usize>() > room {
                continue;
            }
            let Some(rest) = self.best(k + 1, &after) else { continue };
            let (here, digits) = self.in_best_order(k, &sizes);
            if choice.as_ref().is_none_or(|(cost, _)| here + rest < *cost) {
                choice = Some((here + rest, digits));
            }
        }
        let cost = choice.as_ref().map(|(cost, _)| *cost);
        self.known.insert(key, choice);
        cost
    }

    /// Digits of these sizes in their best order along dimension `k` of the machine, with the cost.
    fn in_best_order(&self, k: usize, sizes: &[usize]) -> (f64, Vec<Digit>) {
        let unplaced = sizes.iter().enumerate().filter(|&(_, &size)| size > 1);
        let mut unplaced: Vec<(usize, usize)> = unplaced.map(|(i, &size)| (i, size)).collect();
        let mut best = (f64::INFINITY, Vec::new());
        self.extend(k, &mut Vec::new(), &mut unplaced, 0.0, &mut best);
        best
    }

    /// Puts each of the unplaced digits outside the placed ones, in turn.
    fn extend(
        &self,
        k: usize,
        placed: &mut Vec<Digit>,
        unplaced: &mut Vec<(usize, usize)>,
        cost: f64,
        best: &mut (f64, Vec<Digit>),
    ) {
        if unplaced.is_empty() && cost < best.0 {
            *best = (cost, placed.clone());
        }
        for at in 0..unplaced.len() {
            let (dimension, size) = unplaced.remove(at);
            let stride = placed.last().map_or(1, |inner| inner.stride * inner.size);
            let digit = Digit { dimension, size, stride };
            placed.push(digit);
            self.extend(k, placed, unplaced, cost + self.cost(k, digit), best);
            placed.pop();
            unplaced.insert(at, (dimension, size));
        }
    }

    /// The traffic along the digit's dimension of the tasks, times the mean distance along dimension `k` of the machine.
    fn cost(&self, k: usize, digit: Digit) -> f64 {
        let (length, is_ring) = (self.machine.dims()[k], self.machine.wrap()[k]);
        let pairs = |difference: usize| {
            let far = difference * digit.stride;
            let distance = if is_ring { far.min(length - far) } else { far };
            (2 * (digit.size - difference) * distance) as f64
        };
        let sum: f64 = (1..digit.size).map(pairs).sum();
        self.traffic[digit.dimension] * sum / (digit.size * digit.size) as f64
    }
}

/// All sizes that divide what is left of the dimensions of the tasks, with a product of `most` at most.
fn factors(left: &[usize], most: usize) -> Vec<Vec<usize>> {
    let Some((&first, others)) = left.split_first() else { return vec![Vec::new()] };
    let sizes = (1..=first.min(most)).filter(|&size| first.is_multiple_of(size));
    let with = |size: usize| {
        let rest = factors(others, most / size);
        rest.into_iter().map(move |rest| [&[size], rest.as_slice()].concat())
    };
    sizes.flat_map(with).collect()
}

/// The slot of every vertex. `held` has the digits of each dimension of the machine.
fn slots(shape: &GridShape, machine: &Grid, held: &[Vec<Digit>]) -> Option<Vec<u32>> {
    let mut point = vec![0u32; held.len()];
    let vertices = shape.coordinates.first()?.len();
    (0..vertices)
        .map(|v| {
            let mut left: Vec<usize> = shape.coordinates.iter().map(|c| c[v] as usize).collect();
            for (x, digits) in point.iter_mut().zip(held) {
                let mut sum = 0;
                for digit in digits {
                    let rest = &mut left[digit.dimension];
                    sum += *rest % digit.size * digit.stride;
                    *rest /= digit.size;
                }
                *x = sum as u32;
            }
            machine.slot_at(&point).map(|slot| slot as u32)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::detect_lines;
    use super::*;
    use crate::base::permutation::{is_injective, is_permutation};
    use crate::mapping::engine::Scale;
    use crate::matrix::Graph;
    use crate::matrix::synthetic::pattern;
    use crate::metrics::hop_bytes;
    use crate::topology::Topology;
    use proptest::prelude::*;

    fn placed(graph: &Graph, machine: &Grid) -> Option<Vec<u32>> {
        let csr = Csr::from_graph(graph, Scale::new(1, 1));
        lines_on_grid(&csr, &detect_lines(&csr)?, machine)
    }

    fn cost(graph: &Graph, machine: &Grid, slots: &[u32]) -> u128 {
        let slots: Vec<usize> = slots.iter().map(|&slot| slot as usize).collect();
        hop_bytes(graph, machine, &slots)
    }

    #[test]
    fn lines_that_are_those_of_the_machine_stay_whole() {
        let graph = pattern("lines:6x8,shuffle=3").unwrap();
        let machine = Grid::torus(&[8, 6]).unwrap();
        let slots = placed(&graph, &machine).unwrap();
        // The pairs of a ring of 6 points have a sum of distances of 27, and those of a ring of 8 points of 64.
        assert_eq!(cost(&graph, &machine, &slots), 8 * 166 * 27 + 6 * 125 * 64);
    }

    /// On a ring, the four points of a line are next to each other or far apart, as their traffic asks for.
    #[test]
    fn the_heavier_digit_is_the_inner_one() {
        let machine = Grid::torus(&[16]).unwrap();
        for (rows, columns) in [(9, 1), (1, 9)] {
            let mut edges = Vec::new();
            for v in 0..16u32 {
                edges.extend((0..v).filter(|t| t / 4 == v / 4).map(|t| (v, t, rows)));
                edges.extend((0..v).filter(|t| t % 4 == v % 4).map(|t| (v, t, columns)));
            }
            let graph = Graph::from_edges(16, &edges);
            let slots = placed(&graph, &machine).unwrap();
            // Pairs of four neighbours: 10 steps. Of four quarters of the ring: 4 x 4 + 2 x 8.
            assert_eq!(cost(&graph, &machine, &slots), 4 * 9 * 10 + 4 * 32);
        }
    }

    /// The lines of six lie on the shorter ring, because their ends are two steps apart there.
    #[test]
    fn slots_may_stay_empty() {
        let graph = pattern("lines:6x4,shuffle=2").unwrap();
        let machine = Grid::torus(&[7, 9]).unwrap();
        let slots = placed(&graph, &machine).unwrap();
        assert!(is_injective(&slots, machine.slots()));
        assert_eq!(cost(&graph, &machine, &slots), 4 * 166 * 30 + 6 * 250 * 10);
    }

    #[test]
    fn other_sizes_have_no_digits() {
        let graph = pattern("lines:6x4").unwrap();
        assert!(placed(&graph, &Grid::torus(&[12, 2]).unwrap()).is_some());
        assert!(placed(&graph, &Grid::torus(&[5, 8]).unwrap()).is_some(), "more slots");
        assert_eq!(placed(&graph, &Grid::torus(&[5, 5]).unwrap()), None, "no box of 24 slots");
        assert_eq!(placed(&graph, &Grid::torus(&[3, 4]).unwrap()), None, "fewer slots");
    }

    proptest! {
        /// Every task has a slot of its own. The sum that was computed is the cost of these slots, and no choice of digits
        /// costs less.
        #[test]
        fn the_computed_cost_is_the_real_one_and_the_least(
            a in prop::sample::select(vec![2usize, 3, 4, 6]),
            b in prop::sample::select(vec![2usize, 3, 4, 6, 12]),
            c in 1usize..4,
            ring in any::<bool>(),
            shuffle in 0u64..100,
        ) {
            let machine = Grid::new(&[a * c, b], &[ring, ring]).unwrap();
            let graph = pattern(&format!("lines:{a}x{},shuffle={shuffle}", b * c)).unwrap();
            let csr = Csr::from_graph(&graph, Scale::new(1, 1));
            let shape = detect_lines(&csr).unwrap();
            let slots = lines_on_grid(&csr, &shape, &machine).unwrap();
            prop_assert!(is_permutation(&slots));
            let traffic = traffic(&csr, &shape);
            let mut search = Search { machine: &machine, traffic, known: BTreeMap::new() };
            let computed = search.best(0, &shape.dims).unwrap();
            let real = cost(&graph, &machine, &slots);
            prop_assert!((computed / 2.0 - real as f64).abs() < 1e-6 * real as f64, "{computed} {real}");
            prop_assert_eq!(real, least(a, b * c, &machine));
        }
    }

    /// The least cost of all choices of nested digits of `lines:AxB` on a machine of two dimensions, which are placed one by
    /// one.
    fn least(a: usize, b: usize, machine: &Grid) -> u128 {
        let graph = pattern(&format!("lines:{a}x{b}")).unwrap();
        let (first, second) = (machine.dims()[0], machine.dims()[1]);
        let mut least = u128::MAX;
        for p in (1..=first).filter(|p| first.is_multiple_of(*p)) {
            let q = first / p;
            let divides = a.is_multiple_of(p) && b.is_multiple_of(q);
            if !divides || (a / p) * (b / q) != second {
                continue;
            }
            for order in 0..4 {
                let at = |v: usize| {
                    let (i, j) = (v / b, v % b);
                    let x = if order % 2 == 0 { i % p + p * (j % q) } else { j % q + q * (i % p) };
                    let y = match order / 2 {
                        0 => i / p + a / p * (j / q),
                        _ => j / q + b / q * (i / p),
                    };
                    machine.slot_at(&[x as u32, y as u32]).unwrap() as u32
                };
                let slots: Vec<u32> = (0..a * b).map(at).collect();
                least = least.min(cost(&graph, machine, &slots));
            }
        }
        least
    }
}
