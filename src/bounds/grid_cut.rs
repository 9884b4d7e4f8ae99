//! How much traffic leaves the groups of a level, if the tasks are points of a grid.
//!
//! A set of m points is hit by p lines of a dimension. It has at most m − p pairs of neighbours along this dimension,
//! if no line is a ring that lies in the set. By the inequality of Loomis and Whitney (1949), the product of the numbers
//! of lines in all d dimensions is at least m^(d−1). So the sum of the a·p over the dimensions is at least
//! d · (product of all a)^(1/d) · m^((d−1)/d), where a is the weight of a pair along the dimension.
//!
//! If a ring lies in the set, the set is hit by as many lines of each other dimension as the ring has points.

use super::certificate::GridWitness;
use crate::matrix::Graph;

/// All choices of dimensions are tried, so there cannot be many.
const MOST_DIMENSIONS: usize = 12;

/// A grid that was compared with the graph.
struct Measured<'a> {
    witness: &'a GridWitness,
    /// By dimension: the smallest weight of a pair of neighbours.
    weights: Vec<u128>,
    /// The sum over all pairs of neighbours of the smallest weight of their dimension.
    total: u128,
}

/// A lower bound for the weight between different groups, with at most `places` tasks in each group.
pub(super) fn least(
    witness: &GridWitness,
    graph: &Graph,
    places: &[usize],
) -> Result<u128, String> {
    let grid = Measured::new(witness, graph)?;
    let n = graph.vertices();
    // Only if all places are taken, the sizes of the groups are known.
    let full = places.iter().sum::<usize>() == n;
    let (mut left, mut inside) = (n, 0u128);
    let mut known: Option<(usize, (u128, u128))> = None;
    for &places in places {
        // Weight inside of a group, for so many of its tasks.
        let (weight, tasks) = match known {
            Some((p, most)) if p == places => most,
            _ if full => (grid.most_inside(places), places as u128),
            _ => grid.densest(places.min(n)),
        };
        known = Some((places, (weight, tasks)));
        // The larger the group, the more weight for each of its tasks. So the large groups are full at worst.
        let size = places.min(left);
        left -= size;
        inside += (weight * size as u128).div_ceil(tasks.max(1));
    }
    Ok(grid.total.saturating_sub(inside))
}

impl<'a> Measured<'a> {
    fn new(witness: &'a GridWitness, graph: &Graph) -> Result<Self, String> {
        let d = witness.dims.len();
        let points = &witness.points;
        if d == 0 || witness.periodic.len() != d || points.len() != graph.vertices() {
            return Err("the grid does not have one point for each task".into());
        }
        if d > MOST_DIMENSIONS {
            return Err(format!("a grid of {d} dimensions is not checked"));
        }
        let fits = |point: &Vec<u32>| {
            point.len() == d && point.iter().zip(&witness.dims).all(|(x, n)| x < n)
        };
        let mut seen: Vec<&Vec<u32>> = points.iter().collect();
        seen.sort_unstable();
        if !points.iter().all(fits) || seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("two tasks are at one point of the grid, or a task is outside".into());
        }
        let mut found: Vec<(u64, u128)> = vec![(u64::MAX, 0); d];
        for v in 0..graph.vertices() {
            for (u, weight) in graph.arcs(v).filter(|arc| (arc.0 as usize) < v) {
                if let Some(k) = step(witness, v, u as usize) {
                    found[k] = (found[k].0.min(weight), found[k].1 + 1);
                }
            }
        }
        let weight = |f: &(u64, u128)| if f.1 == 0 { 0 } else { u128::from(f.0) };
        let weights: Vec<u128> = found.iter().map(weight).collect();
        let total = found.iter().zip(&weights).map(|(f, w)| f.1 * w).sum();
        Ok(Measured { witness, weights, total })
    }

    /// The most weight between `size` points.
    fn most_inside(&self, size: usize) -> u128 {
        let (d, m) = (self.weights.len() as u32, size as u128);
        if size == 0 {
            return 0;
        }
        let scale = self.weights.iter().copied().min().unwrap_or(0);
        let surface = match self.weights.iter().all(|&w| w == scale) {
            true => scale * root_above(u128::from(d).saturating_pow(d), m, d),
            false => {
                let product =
                    self.weights.iter().try_fold(1u128, |product, &w| product.checked_mul(w));
                product
                    .and_then(|product| product.checked_mul(u128::from(d).checked_pow(d)?))
                    .map_or(0, |factor| root_above(factor, m, d))
            }
        };
        let with_rings = self.surfaces_with_rings(m);
        let surface = with_rings.fold(surface, u128::min);
        let all: u128 = self.weights.iter().map(|w| w * m).sum();
        all.saturating_sub(surface)
    }

    /// Surfaces of `m` points that contain whole rings, one for each choice of the dimensions of these rings.
    fn surfaces_with_rings(&self, m: u128) -> impl Iterator<Item = u128> + '_ {
        let d = self.weights.len();
        let rings: Vec<usize> =
            (0..d).filter(|&k| self.is_ring(k) && self.length(k) <= m).collect();
        let choices = 1u32..1 << rings.len();
        choices.filter_map(move |choice| {
            let chosen: Vec<usize> =
                (0..rings.len()).filter(|k| choice >> k & 1 == 1).map(|k| rings[k]).collect();
            // Rings of two dimensions share at most one point.
            let count = chosen.len() as u128;
            let points: u128 = chosen.iter().map(|&k| self.length(k)).sum();
            if points > m + count * (count - 1) / 2 {
                return None;
            }
            let lines = |k: usize| {
                let others =
                    chosen.iter().filter(|&&ring| ring != k).map(|&ring| self.length(ring));
                let hit = others.max().unwrap_or(0);
                let whole = if chosen.contains(&k) { m / self.length(k) } else { 0 };
                hit.saturating_sub(whole)
            };
            Some((0..d).map(|k| self.weights[k] * lines(k)).sum())
        })
    }

    /// The most weight for each point in a group of at most `size` points: weight and number of points.
    fn densest(&self, size: usize) -> (u128, u128) {
        let mut best = (0u128, 1u128);
        for m in 1..=size {
            let (weight, points) = (self.most_inside(m), m as u128);
            if weight.saturating_mul(best.1) > best.0.saturating_mul(points) {
                best = (weight, points);
            }
        }
        best
    }

    fn is_ring(&self, k: usize) -> bool {
        self.witness.periodic[k] && self.witness.dims[k] > 2
    }

    fn length(&self, k: usize) -> u128 {
        u128::from(self.witness.dims[k])
    }
}

/// The smallest t with t^d ≥ factor · m^(d−1); 0 if that needs more than 128 bits.
fn root_above(factor: u128, m: u128, d: u32) -> u128 {
    let Some(wanted) = m.checked_pow(d - 1).and_then(|power| power.checked_mul(factor)) else {
        return 0;
    };
    let (mut low, mut high) = (0u128, 1u128);
    while high.checked_pow(d).is_some_and(|power| power < wanted) {
        low = high;
        high *= 2;
    }
    while low < high {
        let middle = (low + high) / 2;
        match middle.checked_pow(d).is_some_and(|power| power < wanted) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// The dimension in which two tasks are neighbours.
fn step(witness: &GridWitness, u: usize, v: usize) -> Option<usize> {
    let mut dimension = None;
    for (k, (&x, &y)) in witness.points[u].iter().zip(&witness.points[v]).enumerate() {
        if x == y {
            continue;
        }
        let near =
            x.abs_diff(y) == 1 || (witness.periodic[k] && x.abs_diff(y) + 1 == witness.dims[k]);
        if !near || dimension.replace(k).is_some() {
            return None;
        }
    }
    dimension
}
