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

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid with a weight for the pairs of each dimension, and its graph.
    fn grid(dims: &[u32], periodic: &[bool], weights: &[u64]) -> (GridWitness, Graph) {
        let mut points = vec![Vec::new()];
        for &d in dims {
            let longer = |point: &Vec<u32>| {
                (0..d).map(|x| [point.as_slice(), &[x]].concat()).collect::<Vec<_>>()
            };
            points = points.iter().flat_map(longer).collect();
        }
        let n = points.len();
        let witness = GridWitness { dims: dims.to_vec(), periodic: periodic.to_vec(), points };
        let mut edges = Vec::new();
        for v in 0..n {
            for u in 0..v {
                if let Some(k) = step(&witness, u, v) {
                    edges.push((u as u32, v as u32, weights[k]));
                }
            }
        }
        (witness, Graph::from_edges(n, &edges))
    }

    /// The most weight between so many vertices, by their number.
    fn most_between(graph: &Graph) -> Vec<u64> {
        let n = graph.vertices();
        let arcs = (0..n).flat_map(|v| graph.arcs(v).map(move |(u, w)| (v, u as usize, w)));
        let pairs: Vec<(u32, u64)> =
            arcs.filter(|a| a.1 < a.0).map(|(v, u, w)| (1 << v | 1 << u, w)).collect();
        let mut most = vec![0; n + 1];
        for chosen in 0u32..1 << n {
            let inside = pairs.iter().filter(|pair| chosen & pair.0 == pair.0).map(|pair| pair.1);
            let m = chosen.count_ones() as usize;
            most[m] = inside.sum::<u64>().max(most[m]);
        }
        most
    }

    const GRIDS: [(&[u32], &[u64]); 12] = [
        (&[9], &[3]),
        (&[4, 4], &[1, 1]),
        (&[4, 4], &[1, 3]),
        (&[3, 5], &[1, 1]),
        (&[3, 5], &[5, 2]),
        (&[5, 3], &[1, 7]),
        (&[2, 6], &[2, 1]),
        (&[3, 3], &[1, 1]),
        (&[2, 2, 4], &[1, 1, 1]),
        (&[3, 2, 2], &[4, 1, 2]),
        (&[2, 2, 2, 2], &[1, 1, 1, 1]),
        (&[1, 7], &[1, 2]),
    ];

    /// All choices of periodic dimensions.
    fn choices(d: usize) -> impl Iterator<Item = Vec<bool>> {
        (0..1 << d).map(move |choice: u32| (0..d).map(|k| choice >> k & 1 == 1).collect())
    }

    #[test]
    fn no_set_of_points_holds_more() {
        for (dims, weights) in GRIDS {
            for periodic in choices(dims.len()) {
                let (witness, graph) = grid(dims, &periodic, weights);
                let measured = Measured::new(&witness, &graph).unwrap();
                for (m, most) in most_between(&graph).into_iter().enumerate() {
                    let bound = measured.most_inside(m);
                    assert!(u128::from(most) <= bound, "{dims:?} {periodic:?} {m}: {most} {bound}");
                }
            }
        }
    }

    #[test]
    fn no_division_cuts_less() {
        /// The least cut over all divisions of the vertices from `v` on.
        fn least_cut(graph: &Graph, places: &[usize], group: &mut Vec<usize>) -> u64 {
            let v = group.len();
            if v == graph.vertices() {
                return 0;
            }
            let mut best = u64::MAX;
            for g in 0..places.len() {
                if group.iter().filter(|&&other| other == g).count() < places[g] {
                    let earlier = graph.arcs(v).filter(|arc| (arc.0 as usize) < v);
                    let cut: u64 =
                        earlier.filter(|arc| group[arc.0 as usize] != g).map(|arc| arc.1).sum();
                    group.push(g);
                    best = best.min(least_cut(graph, places, group).saturating_add(cut));
                    group.pop();
                }
            }
            best
        }
        let divisions: [&[usize]; 9] = [
            &[4, 4, 4],
            &[3, 3, 3],
            &[6, 3],
            &[5, 5],
            &[7, 7],
            &[8, 2, 1],
            &[6, 6],
            &[9, 9],
            &[5, 2, 2],
        ];
        let grids: [(&[u32], &[u64]); 4] =
            [(&[3, 3], &[1, 1]), (&[3, 3], &[2, 5]), (&[9], &[1]), (&[2, 4], &[1, 3])];
        let mut met = 0;
        for (dims, weights) in grids {
            for periodic in choices(dims.len()) {
                let (witness, graph) = grid(dims, &periodic, weights);
                for places in divisions {
                    let cut = u128::from(least_cut(&graph, places, &mut Vec::new()));
                    let bound = least(&witness, &graph, places).unwrap();
                    assert!(bound <= cut, "{dims:?} {periodic:?} {places:?}: {bound} {cut}");
                    met += usize::from(bound > 0 && bound == cut);
                }
            }
        }
        assert!(met > 0);
    }

    #[test]
    fn witnesses_that_are_no_grid_are_refused() {
        let (witness, graph) = grid(&[3, 3], &[false, true], &[1, 1]);
        assert!(least(&witness, &graph, &[3, 3, 3]).is_ok());
        let changed = |change: fn(&mut GridWitness)| {
            let mut bad = witness.clone();
            change(&mut bad);
            least(&bad, &graph, &[3, 3, 3])
        };
        assert!(changed(|w| w.points[0] = vec![2, 2]).is_err());
        assert!(changed(|w| w.points[0] = vec![0, 3]).is_err());
        assert!(changed(|w| w.points.truncate(8)).is_err());
        assert!(changed(|w| w.periodic.truncate(1)).is_err());
        assert!(changed(|w| w.dims = vec![1; 40]).is_err());
    }
}
