//! The edges of patterns of programs that are no stencils. The same seed always makes the same edges.
//!
//! Each function says which exchange of which program it stands for. Limits: the caller checks that the number of tasks fits
//! the pattern, such as a power of two.

use crate::base::random::SplitMix64;

/// Pairs of tasks with a weight.
pub(super) type Edges = Vec<(u32, u32, u64)>;

/// All pairs of points on a line of a grid. The weight is 1000 over the points of the line, so a task has about as much
/// traffic along each dimension. The last dimension varies fastest.
pub(super) fn all_pairs_on_lines(dims: &[usize]) -> Edges {
    let n: usize = dims.iter().product();
    let (mut edges, mut stride) = (Vec::new(), n);
    for &len in dims {
        stride /= len;
        let weight = (1000 / len as u64).max(1);
        for v in 0..n {
            let after = len - 1 - v / stride % len;
            let others = (1..=after).map(|k| (v as u32, (v + k * stride) as u32, weight));
            edges.extend(others);
        }
    }
    edges
}

/// `n` random points `(x, y)` of the unit square, the points of each bucket of a grid over it, and the
/// number of buckets along a side.
fn buckets(n: usize, random: &mut SplitMix64) -> (Vec<(f64, f64)>, Vec<Vec<u32>>, usize) {
    let side = ((n as f64 / 2.0).sqrt().floor() as usize).max(1);
    let points: Vec<(f64, f64)> = (0..n).map(|_| (random.unit(), random.unit())).collect();
    let mut grid = vec![Vec::new(); side * side];
    for (i, &(x, y)) in points.iter().enumerate() {
        grid[(y * side as f64) as usize * side + (x * side as f64) as usize].push(i as u32);
    }
    (points, grid, side)
}

fn around(cell: usize, side: usize, reach: usize) -> impl Iterator<Item = usize> {
    let (cx, cy) = (cell % side, cell / side);
    let span = move |c: usize| c.saturating_sub(reach)..(c + reach + 1).min(side);
    span(cy).flat_map(move |y| span(cx).map(move |x| y * side + x))
}

pub(super) fn geometric(n: usize, seed: u64) -> Edges {
    let mut random = SplitMix64::new(seed ^ 0x0072_6767);
    let radius = (8.0 / (std::f64::consts::PI * n as f64)).sqrt();
    let (points, grid, side) = buckets(n, &mut random);
    let reach = (radius * side as f64).ceil() as usize;
    let mut edges = Vec::new();
    for cell in 0..grid.len() {
        for &i in &grid[cell] {
            let (x, y) = points[i as usize];
            for &j in around(cell, side, reach).flat_map(|c| &grid[c]) {
                let (u, v) = points[j as usize];
                if i < j && (x - u).powi(2) + (y - v).powi(2) < radius * radius {
                    edges.push((i, j, 1));
                }
            }
        }
    }
    edges
}

/// Every point of a fine grid belongs to the task whose random point is nearest. Two tasks whose areas share a
/// boundary exchange messages in proportion to the length of the boundary.
pub(super) fn cells(n: usize, seed: u64) -> Edges {
    let mut random = SplitMix64::new(seed ^ 0x7370_6d76);
    let (points, grid, side) = buckets(n, &mut random);
    let fine = ((n * 64) as f64).sqrt().ceil() as usize;
    let nearest = |fx: usize, fy: usize| -> u32 {
        let (x, y) = ((fx as f64 + 0.5) / fine as f64, (fy as f64 + 0.5) / fine as f64);
        let cell = (y * side as f64) as usize * side + (x * side as f64) as usize;
        for reach in 1..=side {
            let found = around(cell, side, reach)
                .flat_map(|c| &grid[c])
                .map(|&i| {
                    let (u, v) = points[i as usize];
                    ((x - u).powi(2) + (y - v).powi(2), i)
                })
                .min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((d, i)) = found
                && (d.sqrt() <= reach as f64 / side as f64 / 2.0 || reach == side)
            {
                return i;
            }
        }
        0
    };
    let owner: Vec<u32> = (0..fine * fine).map(|k| nearest(k % fine, k / fine)).collect();
    let mut edges = Vec::new();
    for (k, &here) in owner.iter().enumerate() {
        let (fx, fy) = (k % fine, k / fine);
        for (x, y) in [(fx + 1, fy), (fx, fy + 1)] {
            if x < fine && y < fine && owner[y * fine + x] != here {
                edges.push((here, owner[y * fine + x], 8));
            }
        }
    }
    edges
}

pub(super) fn butterfly(n: usize) -> Edges {
    let strides = (0..usize::BITS).map(|k| 1usize << k).take_while(|&s| s < n);
    strides
        .flat_map(|s| {
            (0..n).filter(move |v| v & s == 0).map(move |v| (v as u32, (v ^ s) as u32, 1))
        })
        .collect()
}

/// NAS BT (and SP) 3.4: neighbours in x, y and along the diagonal of a square torus.
pub(super) fn multipartition(n: usize) -> Edges {
    let side = n.isqrt();
    let at = |x: usize, y: usize| ((y % side) * side + x % side) as u32;
    let others = |x, y| [at(x + 1, y), at(x, y + 1), at(x + side - 1, y + 1)];
    (0..n as u32)
        .flat_map(|v| others(v as usize % side, v as usize / side).map(|other| (v, other, 10)))
        .collect()
}

/// NAS CG 3.4: sums within a row by recursive doubling, then the exchange with the transpose.
pub(super) fn conjugate_gradient(n: usize) -> Edges {
    let log = n.trailing_zeros();
    let rows = 1usize << (log / 2);
    let cols = n / rows;
    let mut edges = Vec::new();
    for me in 0..n {
        let (row, col) = (me / cols, me % cols);
        for k in 0..cols.trailing_zeros() {
            let other = row * cols + (col ^ (1 << k));
            if me < other {
                edges.push((me as u32, other as u32, 10));
            }
        }
        let transpose = if rows == cols {
            col * cols + row
        } else {
            2 * ((me / 2 % rows) * rows + me / 2 / rows) + me % 2
        };
        if me < transpose {
            edges.push((me as u32, transpose as u32, 20));
        }
    }
    edges
}

/// NAS LU 3.4: pipelined sweeps over a 2-D mesh, columns at most twice the rows.
pub(super) fn wavefront(n: usize) -> Edges {
    let rows = 1usize << (n.trailing_zeros() / 2);
    let cols = n / rows;
    let mut edges = Vec::new();
    for me in 0..n {
        if me % cols + 1 < cols {
            edges.push((me as u32, me as u32 + 1, 10));
        }
        if me / cols + 1 < rows {
            edges.push((me as u32, (me + cols) as u32, 10 * cols as u64 / rows as u64));
        }
    }
    edges
}

/// Barabási and Albert 1999.
pub(super) fn attachment(n: usize, seed: u64) -> Edges {
    let mut random = SplitMix64::new(seed ^ 0x0070_6f77);
    let mut ends: Vec<u32> = vec![0];
    let mut edges = Vec::new();
    for v in 1..n as u32 {
        for _ in 0..4 {
            let other = ends[random.below_wide(ends.len())];
            if other != v {
                edges.push((v, other, 1 + random.below_wide(16) as u64));
                ends.push(other);
            }
        }
        ends.extend([v; 4]);
    }
    edges
}
