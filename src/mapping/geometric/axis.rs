//! One dimension of a grid as a graph of its own, and the order of its points.
//!
//! The points are a line or a ring. Two of them are neighbours if they are one of certain numbers of steps apart, one
//! step among them. The edges of a step are all there or all missing. An order is looked for in which this is true:
//!
//! * In a ring, two points beside each other have more common neighbours than others, unless nearly all points are
//!   neighbours.
//! * On a line, one begins at an end and always goes on to the neighbour with the most neighbours that have their
//!   places already; of several, the one with the fewest others.
//! * If all or nearly all points are neighbours, the order is that of the heavier edges alone. If these do not tell it,
//!   the heaviest edges join points beside each other.
//!
//! Points of short lines and rings may have the same neighbours. Where this makes no difference to the edges, pairs of
//! points are exchanged as long as the traffic has fewer steps to go.
//!
//! Limits: at most [`MOST_STEPS`] steps, and all shorter ones are there, or nearly all. Where points have
//! the same neighbours, nearer points are taken to have more traffic.

use super::skeleton::Lists;
use crate::base::sorting::Arrange;
use crate::mapping::engine::Csr;

/// The longest step.
const MOST_STEPS: usize = 8;

/// Points up to which several may have the same neighbours, as there are so many within the longest steps.
const FEW: usize = 2 * MOST_STEPS + 2;

/// Times that all pairs are looked at.
const ROUNDS: usize = 8;

/// The points of one dimension with the edges between them.
pub(super) struct Axis {
    lists: Lists,
    /// The weight of each arc, in all lines of the grid together.
    weights: Vec<i128>,
}

/// The order of the points.
pub(super) struct Order {
    pub(super) position_of: Vec<u32>,
    /// The last point is beside the first one.
    pub(super) wrap: bool,
}

impl Order {
    /// Steps between two positions.
    fn steps(&self, a: u32, b: u32) -> usize {
        let (apart, n) = (a.abs_diff(b) as usize, self.position_of.len());
        if self.wrap { apart.min(n.saturating_sub(apart)) } else { apart }
    }
}

impl Axis {
    /// An axis with these neighbours of each point, without weights.
    pub(super) fn new(rows: impl Iterator<Item = Vec<u32>>) -> Self {
        let mut lists = Lists { offsets: vec![0], targets: Vec::new() };
        for mut row in rows {
            row.arrange();
            lists.targets.extend(row);
            lists.offsets.push(lists.targets.len() as u32);
        }
        let weights = vec![0; lists.targets.len()];
        Axis { lists, weights }
    }

    /// The same as a graph.
    pub(super) fn graph(&self) -> Csr {
        let mut graph = Csr { offsets: vec![0], sizes: vec![1; self.len()], ..Csr::default() };
        let mut weights = self.weights.iter();
        for v in 0..self.len() {
            for (&t, &weight) in self.lists.of(v).iter().zip(weights.by_ref()) {
                graph.arcs.push(t, i64::try_from(weight).unwrap_or(i64::MAX));
            }
            graph.end_row();
        }
        graph
    }

    /// The number of points.
    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    pub(super) fn arcs(&self) -> usize {
        self.lists.targets.len()
    }

    /// Adds weight to an arc. False if there is no such arc.
    pub(super) fn add(&mut self, from: u32, to: u32, weight: i64) -> bool {
        let Some(arc) = self.arc(from, to) else { return false };
        self.weights[arc] += i128::from(weight);
        true
    }

    pub(super) fn is_complete(&self) -> bool {
        self.arcs() == self.len() * (self.len() - 1)
    }

    /// The order of the points. `None` if none fits.
    pub(super) fn order(&self) -> Option<Order> {
        let n = self.len();
        let degrees = |wanted: usize| (0..n).all(|v| self.degree(v) == wanted);
        if n >= 4 && (degrees(n - 1) || degrees(n - 2)) {
            let by_heavy = self.heavy().and_then(|heavy| heavy.order());
            let fits = by_heavy.filter(|order| self.has_whole_steps(order));
            if fits.is_some() {
                return fits;
            }
        }
        let (order, wrap) = if self.is_complete() {
            let order = self.by_weight(self.lightest(n - 1)?, |_, _| true);
            let wrap = self.is_closed_by_weight(&order);
            (order, wrap)
        } else if n >= 6 && degrees(n - 2) {
            (self.around_opposites()?, true)
        } else if degrees(self.degree(0)) {
            (self.around_ring()?, true)
        } else {
            (self.along_line()?, false)
        };
        let mut position_of = vec![u32::MAX; n];
        for (position, &v) in (0..).zip(&order) {
            position_of[v as usize] = position;
        }
        let mut order = Order { position_of, wrap };
        if !self.has_whole_steps(&order) {
            return None;
        }
        if n <= FEW {
            self.exchange(&mut order);
        }
        Some(order)
    }

    /// Exchanges pairs of points as long as this makes the order cost less and no worse otherwise.
    fn exchange(&self, order: &mut Order) {
        let n = self.len();
        let mut least = self.cost(order);
        for _ in 0..ROUNDS {
            let before = least;
            for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
                order.position_of.swap(i, j);
                let cost = self.cost(order);
                if cost < least && self.has_whole_steps(order) {
                    least = cost;
                } else {
                    order.position_of.swap(i, j);
                }
            }
            if least == before {
                break;
            }
        }
    }

    /// The traffic times its steps.
    fn cost(&self, order: &Order) -> i128 {
        let of = |v: usize| -> i128 {
            let arcs = self.lists.offsets[v] as usize..;
            let steps = |t: u32| order.steps(order.position_of[v], order.position_of[t as usize]);
            let row = arcs.zip(self.lists.of(v));
            row.map(|(arc, &t)| self.weights[arc] * steps(t) as i128).sum()
        };
        (0..self.len()).map(of).sum()
    }

    /// Whether there are longer steps than one, and the lightest edge of one step weighs at least twice as much as any
    /// longer one.
    pub(super) fn is_told_by_weights(&self, order: &Order) -> bool {
        let n = self.len();
        let (mut lightest, mut heaviest_longer) = (i128::MAX, 0);
        for v in 0..n as u32 {
            for &t in self.lists.of(v as usize) {
                let positions = (order.position_of[v as usize], order.position_of[t as usize]);
                let weight = self.weight(v, t);
                match order.steps(positions.0, positions.1) {
                    1 => lightest = weight.min(lightest),
                    _ => heaviest_longer = weight.max(heaviest_longer),
                }
            }
        }
        n <= 3 || (heaviest_longer > 0 && lightest / 2 >= heaviest_longer)
    }

    /// The same with the edges alone that weigh over an eighth more than the lightest one; `None` if there are none.
    fn heavy(&self) -> Option<Axis> {
        let lightest = *self.weights.iter().min()?;
        let most = lightest + lightest / 8;
        let mut heavy =
            Axis { lists: Lists { offsets: vec![0], targets: vec![] }, weights: Vec::new() };
        let mut weights = self.weights.iter();
        for v in 0..self.len() {
            let row = self.lists.of(v).iter().zip(weights.by_ref());
            for (&t, &weight) in row.filter(|&(_, &weight)| weight > most) {
                heavy.lists.targets.push(t);
                heavy.weights.push(weight);
            }
            heavy.lists.offsets.push(heavy.lists.targets.len() as u32);
        }
        (heavy.arcs() > 0).then_some(heavy)
    }

    fn degree(&self, v: usize) -> usize {
        self.lists.of(v).len()
    }

    fn arc(&self, from: u32, to: u32) -> Option<usize> {
        let at = self.lists.of(from as usize).binary_search(&to).ok()?;
        Some(self.lists.offsets[from as usize] as usize + at)
    }

    /// The weight of the edge between two points, 0 if there is none.
    fn weight(&self, a: u32, b: u32) -> i128 {
        self.arc(a, b).map_or(0, |arc| self.weights[arc])
    }

    /// The point of a degree with the least weight: on a line, an end.
    fn lightest(&self, degree: usize) -> Option<u32> {
        let range = |v: u32| {
            self.lists.offsets[v as usize] as usize..self.lists.offsets[v as usize + 1] as usize
        };
        let points = (0..self.len() as u32).filter(|&v| self.degree(v as usize) == degree);
        points.min_by_key(|&v| self.weights[range(v)].iter().sum::<i128>())
    }

    /// The number of edges from a point to those that have their places, and their weight.
    fn to_placed(&self, t: u32, is_placed: &[bool]) -> (usize, i128) {
        let arcs = self.lists.offsets[t as usize] as usize..;
        let row = arcs.zip(self.lists.of(t as usize)).filter(|&(_, &u)| is_placed[u as usize]);
        row.fold((0, 0), |(count, sum), (arc, _)| (count + 1, sum + self.weights[arc]))
    }

    /// From a point along the heaviest edges to points that `may` come next after those that came already.
    fn by_weight(&self, first: u32, may: impl Fn(u32, &[bool]) -> bool) -> Vec<u32> {
        let mut is_placed = vec![false; self.len()];
        let mut order = Vec::new();
        let mut next = Some(first);
        while let Some(v) = next {
            is_placed[v as usize] = true;
            order.push(v);
            let is_free = |&t: &u32| !is_placed[t as usize] && may(t, &is_placed);
            let free = self.lists.of(v as usize).iter().copied().filter(is_free);
            let rank = |&t: &u32| {
                let (_, weight) = self.to_placed(t, &is_placed);
                (weight, self.weight(v, t), std::cmp::Reverse(t))
            };
            next = free.max_by_key(rank);
        }
        order
    }

    /// Whether the ends of a complete graph are beside each other: the edge between them is as heavy as others of one
    /// step. If all weights are about the same, the points are a line.
    fn is_closed_by_weight(&self, order: &[u32]) -> bool {
        let [first, second, .., last] = order else { return false };
        let closing = self.weight(*first, *last);
        let least = self.weights.iter().min().copied().unwrap_or_default();
        4 * closing > 5 * least && 2 * closing > self.weight(*first, *second)
    }

    /// Around a ring in which each point is the neighbour of all others but the opposite one.
    fn around_opposites(&self) -> Option<Vec<u32>> {
        let n = self.len();
        let opposite: Vec<u32> = (0..n as u32)
            .map(|v| (0..n as u32).find(|&t| t != v && self.arc(v, t).is_none()))
            .collect::<Option<_>>()?;
        let free = |t: u32, is_placed: &[bool]| !is_placed[opposite[t as usize] as usize];
        let mut order = self.by_weight(0, free);
        order.extend_from_within(..);
        let half = order.len() / 2;
        order[half..].iter_mut().for_each(|v| *v = opposite[*v as usize]);
        (order.len() == n).then_some(order)
    }

    /// Around a ring: points beside each other have all neighbours but one in common.
    fn around_ring(&self) -> Option<Vec<u32>> {
        let mut order: Vec<u32> = vec![0];
        let (mut before, mut at) = (u32::MAX, 0u32);
        loop {
            let shared = self.degree(at as usize).checked_sub(2)?;
            let row = self.lists.of(at as usize);
            let mut beside = row.iter().copied().filter(|&t| self.common(at, t) == shared);
            let (Some(a), Some(b), None) = (beside.next(), beside.next(), beside.next()) else {
                return None;
            };
            let next = if a == before { b } else { a };
            if next == 0 {
                return (order.len() == self.len()).then_some(order);
            }
            if order.len() == self.len() {
                return None;
            }
            order.push(next);
            (before, at) = (at, next);
        }
    }

    /// The number of common neighbours of two points.
    fn common(&self, a: u32, b: u32) -> usize {
        let theirs = self.lists.of(b as usize);
        self.lists.of(a as usize).iter().filter(|t| theirs.binary_search(t).is_ok()).count()
    }

    /// Along a line from one of its ends.
    fn along_line(&self) -> Option<Vec<u32>> {
        let n = self.len();
        let least = (0..n).map(|v| self.degree(v)).min()?;
        let mut is_placed = vec![false; n];
        let mut order = Vec::with_capacity(n);
        let mut next = self.lightest(least);
        while let Some(v) = next {
            is_placed[v as usize] = true;
            order.push(v);
            let free = self.lists.of(v as usize).iter().filter(|&&t| !is_placed[t as usize]);
            next = free.copied().max_by_key(|&t| {
                let (placed, weight) = self.to_placed(t, &is_placed);
                let others = std::cmp::Reverse(self.degree(t as usize));
                (placed, others, weight, self.weight(v, t), std::cmp::Reverse(t))
            });
        }
        (order.len() == n).then_some(order)
    }

    /// Whether the edges of each number of steps are all there or all missing, and those of one step are there.
    fn has_whole_steps(&self, order: &Order) -> bool {
        let n = self.len();
        let mut counts = [0usize; MOST_STEPS + 1];
        for v in 0..n {
            for &t in self.lists.of(v) {
                let steps = order.steps(order.position_of[v], order.position_of[t as usize]);
                match counts.get_mut(steps) {
                    Some(count) => *count += 1,
                    None => return false,
                }
            }
        }
        let whole = |steps: usize| match order.wrap {
            true if 2 * steps == n => n,
            true if 2 * steps > n => 0,
            true => 2 * n,
            false => 2 * n.saturating_sub(steps),
        };
        let fits = |(steps, &count): (usize, &usize)| count == 0 || count == whole(steps);
        counts[0] == 0 && counts[1] > 0 && counts.iter().enumerate().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    /// A line or ring with the weights of 1, 2, … steps, its points numbered at random.
    fn axis(n: usize, wrap: bool, weights: &[i64], seed: u64) -> (Axis, Vec<u32>) {
        let mut random = SplitMix64::new(seed);
        let mut names: Vec<u32> = (0..n as u32).collect();
        (1..n).rev().for_each(|i| names.swap(i, random.below_wide(i + 1)));
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut all = Vec::new();
        for a in 0..n {
            for b in 0..n {
                let apart = a.abs_diff(b);
                let steps = if wrap { apart.min(n - apart) } else { apart };
                if steps > 0 && weights.get(steps - 1).is_some_and(|&weight| weight > 0) {
                    rows[names[a] as usize].push(names[b]);
                    all.push((names[a], names[b], weights[steps - 1]));
                }
            }
        }
        let mut axis = Axis::new(rows.into_iter());
        assert!(all.into_iter().all(|(a, b, weight)| axis.add(a, b, weight)));
        (axis, names)
    }

    /// The weights of all edges times their steps.
    fn cost(axis: &Axis, position_of: &[u32], wrap: bool) -> i128 {
        let n = axis.len();
        let pairs = (0..n as u32).flat_map(|a| (0..n as u32).map(move |b| (a, b)));
        let steps = |a: u32, b: u32| {
            let apart = position_of[a as usize].abs_diff(position_of[b as usize]) as usize;
            if wrap { apart.min(n - apart) } else { apart }
        };
        pairs.map(|(a, b)| axis.weight(a, b) * steps(a, b) as i128).sum()
    }

    #[test]
    fn lines_and_rings_of_all_lengths_get_their_order() {
        let ladders: [&[i64]; 13] = [
            &[1],
            &[1, 1],
            &[8, 1],
            &[1, 1, 1],
            &[9, 3, 1],
            &[1, 1, 1, 1],
            &[8, 4, 2, 1],
            &[1; 8],
            &[16, 1, 1, 1, 1],
            &[7, 7, 1],
            &[7, 7, 7, 1, 1],
            &[5, 5, 4],
            &[7, 7, 6, 3],
        ];
        for weights in ladders {
            for n in 2..40 {
                for (wrap, seed) in [(false, 1), (true, 2), (false, 3), (true, 4)] {
                    let (axis, names) = axis(n, wrap, weights, seed);
                    // A ring of four is a square.
                    if (wrap && n == 4 && weights.len() == 1) || axis.arcs() == 0 {
                        continue;
                    }
                    let text = format!("{n} {wrap} {weights:?}");
                    if n > 9 && axis.is_complete() {
                        // Longer steps than are looked at on a line.
                        assert!(axis.order().is_none_or(|order| order.wrap), "{text}");
                        continue;
                    }
                    let order = axis.order().unwrap_or_else(|| panic!("{text}"));
                    let mut given = vec![0; n];
                    (0..).zip(&names).for_each(|(at, &v)| given[v as usize] = at);
                    let (found, natural) =
                        (cost(&axis, &order.position_of, wrap), cost(&axis, &given, wrap));
                    assert!(found <= natural, "{text}: {found} {natural}");
                }
            }
        }
    }

    #[test]
    fn other_graphs_have_no_order() {
        // A star, a tree, a line with a chord, and a Petersen graph.
        let refused = |n: usize, edges: &[(u32, u32)]| {
            let row = |v: u32| {
                let ends = edges.iter().flat_map(move |&(a, b)| [(a, b), (b, a)]);
                ends.filter(move |&(a, _)| a == v).map(|(_, b)| b).collect()
            };
            assert!(Axis::new((0..n as u32).map(row)).order().is_none(), "{edges:?}");
        };
        refused(5, &[(0, 1), (0, 2), (0, 3), (0, 4)]);
        refused(5, &[(0, 1), (1, 2), (2, 3), (1, 4)]);
        refused(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 2)]);
        let petersen: Vec<(u32, u32)> =
            (0..5).flat_map(|i| [(i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5)]).collect();
        refused(10, &petersen);
    }
}
