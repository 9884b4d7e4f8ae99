//! Communication patterns of well-known programs. The same text always makes the same pattern.
//!
//! Tests, benchmarks and the command line use the same patterns. A pattern is given by a short text, such as
//! `stencil:8x8x8`, `stencil27:8x8x8` or `rgg:1024`. `,seed=N` after it chooses the random numbers of the pattern.
//! `,shuffle=N` numbers the tasks at random, so the difference of two task numbers means nothing. `,far=PERCENT` moves
//! one end of so many of the edges to any task, and `,near=PERCENT` to a neighbour of that end. On the patterns that
//! are stencils, `,periodic=1` makes the dimensions rings, and `,along=3:1` multiplies the weights along each
//! dimension. `,steps=8:1` gives the weights of one step, two steps and so on of `star`.

use super::Graph;
use super::grid_pattern::{GridPattern, Stencil};
use super::moved_edges::{MovedTo, with_moved_edges};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::permutation::identity;
use crate::base::random::SplitMix64;

/// The patterns: name, form of the text after the colon, meaning.
pub const PATTERNS: [(&str, &str, &str); 15] = [
    ("stencil", "AxB[xC]", "nearest neighbours of a grid (5- and 7-point stencils), weight 1"),
    ("torus", "AxB[xC]", "the same with periodic boundaries"),
    ("stencil27", "AxB[xC]", "all neighbours of a grid: faces 100, edges 10, corners 1"),
    ("moore", "AxB[xC]", "all neighbours of a grid (9- and 27-point stencils), weight 1"),
    (
        "star",
        "AxB[xC]",
        "points up to two steps away along the axes, weight 1; steps=W:W:… for others",
    ),
    ("stencil19", "AxB[xC]", "neighbours that differ in one or two coordinates, weight 1"),
    ("hex", "AxB[xC]", "nearest neighbours and one diagonal (triangular lattice), weight 1"),
    ("lines", "AxB[xC]", "all pairs on each line of a grid (FFT in pencils): 1000 over its points"),
    ("rgg", "N", "random geometric graph in the unit square, about 8 neighbours, weight 1"),
    ("spmv", "N", "sparse matrix-vector product: irregular cells, weight = shared boundary"),
    ("fft", "N", "butterfly: every power-of-two stride, weight 1; N a power of two"),
    ("bt", "N", "NAS BT: square torus with one diagonal (multipartition); N a square"),
    ("cg", "N", "NAS CG: row butterflies and the transpose; N a power of two"),
    ("lu", "N", "NAS LU: 2-D wavefront mesh, the two directions unequal; N a power of two"),
    ("powerlaw", "N", "preferential attachment, 4 edges a task, weights 1 to 16"),
];

/// What to write after a pattern.
const OPTIONS: &str = "use seed=N, shuffle=N, far=PERCENT or near=PERCENT, for stencils also periodic=1 or \
     along=W:W, and for star also steps=W:W";

/// Most steps along an axis.
const MOST_STEPS: usize = 16;

/// What follows a pattern.
#[derive(Default)]
struct Options {
    seed: Option<u64>,
    shuffle: Option<u64>,
    moves: Vec<(f64, MovedTo)>,
    periodic: Option<bool>,
    along: Option<Vec<u64>>,
    steps: Option<Vec<u64>>,
}

impl Options {
    /// Adds an option; `bad` makes an error of what is wrong with it.
    fn add(&mut self, option: &str, bad: &impl Fn(String) -> Error) -> Result<()> {
        let number = |v: &str| v.parse().map_err(|_| bad(format!("'{v}' is not a number")));
        let share = |v: &str| match v.parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
            _ => Err(bad(format!("'{v}' is not a number from 0 to 100"))),
        };
        match option.split_once('=') {
            Some(("seed", v)) => self.seed = Some(number(v)?),
            Some(("shuffle", v)) => self.shuffle = Some(number(v)?),
            Some(("periodic", "0")) => self.periodic = Some(false),
            Some(("periodic", "1")) => self.periodic = Some(true),
            Some(("along", v)) => self.along = Some(weights(v).ok_or_else(|| bad(no_weights(v)))?),
            Some(("steps", v)) => self.steps = Some(weights(v).ok_or_else(|| bad(no_weights(v)))?),
            Some(("far", v)) => self.moves.push((share(v)?, MovedTo::Anywhere)),
            Some(("near", v)) => self.moves.push((share(v)?, MovedTo::Neighbour)),
            _ => return Err(bad(format!("unknown option '{option}'")).advise(OPTIONS)),
        }
        Ok(())
    }
}

/// Makes the affinity graph of a pattern text.
///
/// Errors: unknown pattern, sizes or options that the pattern does not take.
pub fn pattern(text: &str) -> Result<Graph> {
    let bad = |what: String| Error::new(ErrorKind::Usage, what).at(format!("pattern '{text}'"));
    let mut parts = text.split(',');
    let head = parts.next().unwrap_or_default();
    let (name, size) = head.split_once(':').unwrap_or((head, ""));
    let mut options = Options::default();
    parts.try_for_each(|option| options.add(option, &bad))?;
    let seed = options.seed.unwrap_or(1);
    let dims: Vec<usize> = size
        .split('x')
        .map(|d| d.parse().ok().filter(|&d| d > 0))
        .collect::<Option<_>>()
        .filter(|d: &Vec<usize>| d.iter().try_fold(1u32, |a, &b| a.checked_mul(b as u32)).is_some())
        .ok_or_else(|| {
            bad(format!("'{size}' is not a size")).advise("give a size such as 1024 or 8x8x8")
        })?;
    let n: usize = dims.iter().product();
    let one = |ok: bool, want: &str| match ok && dims.len() == 1 {
        true => Ok(()),
        false => Err(bad(format!("{name} takes {want}, not '{size}'"))),
    };
    let grid = grid(name, &dims, &options).map_err(|what| bad(what).advise(OPTIONS))?;
    let edges = match name {
        _ if grid.is_some() => grid.unwrap_or_default(),
        "lines" => all_pairs_on_lines(&dims),
        "rgg" => one(true, "a number").map(|()| geometric(n, seed))?,
        "spmv" => one(true, "a number").map(|()| cells(n, seed))?,
        "fft" => one(n.is_power_of_two(), "a power of two").map(|()| butterfly(n))?,
        "bt" => one(n.isqrt().pow(2) == n, "a square").map(|()| multipartition(n))?,
        "cg" => one(n.is_power_of_two(), "a power of two").map(|()| conjugate_gradient(n))?,
        "lu" => one(n.is_power_of_two(), "a power of two").map(|()| wavefront(n))?,
        "powerlaw" => one(true, "a number").map(|()| attachment(n, seed))?,
        _ => {
            let names: Vec<&str> = PATTERNS.iter().map(|p| p.0).collect();
            return Err(
                bad("unknown pattern".into()).advise(format!("use one of {}", names.join(", ")))
            );
        }
    };
    let shuffled = match options.shuffle {
        Some(s) => renumber(n, edges, s),
        None => edges,
    };
    let moved = |graph: Graph, (share, to)| with_moved_edges(&graph, share, to, seed);
    Ok(options.moves.into_iter().fold(Graph::from_edges(n, &shuffled), moved))
}

/// The edges of a pattern that is a stencil; `None` if it is none. An error tells what is wrong with the options.
fn grid(
    name: &str,
    dims: &[usize],
    options: &Options,
) -> std::result::Result<Option<Edges>, String> {
    if options.steps.is_some() && name != "star" {
        return Err("only star takes steps".into());
    }
    let stencil = match name {
        "stencil" | "torus" => Stencil::Faces,
        "stencil27" => Stencil::LighterDiagonals,
        "moore" => Stencil::EqualDiagonals,
        "star" => Stencil::Steps(options.steps.clone().unwrap_or_else(|| vec![1; 2])),
        "stencil19" => Stencil::FacesAndEdges,
        "hex" => Stencil::OneDiagonal,
        _ if options.periodic.is_some() || options.along.is_some() => {
            return Err(format!("{name} takes neither periodic nor along"));
        }
        _ => return Ok(None),
    };
    let along = options.along.clone().unwrap_or_else(|| vec![1; dims.len()]);
    if along.len() != dims.len() {
        return Err("along must have one weight for each dimension".into());
    }
    let periodic = options.periodic.unwrap_or(name == "torus");
    Ok(Some(GridPattern { dims: dims.to_vec(), periodic, stencil, along }.edges()))
}

/// The weights in a text such as `8:1`. `None` if one is no number from 1 to a million, or if there are too many.
fn weights(text: &str) -> Option<Vec<u64>> {
    let weight = |w: &str| w.parse().ok().filter(|w| (1..=1_000_000).contains(w));
    text.split(':')
        .map(weight)
        .collect::<Option<Vec<u64>>>()
        .filter(|list| list.len() <= MOST_STEPS)
}

fn no_weights(text: &str) -> String {
    format!("'{text}' is no list of up to {MOST_STEPS} weights from 1 to 1000000, such as 8:1")
}

type Edges = Vec<(u32, u32, u64)>;

/// A random permutation of 0 … n − 1.
fn permutation(random: &mut SplitMix64, n: usize) -> Vec<u32> {
    let mut p = identity(n);
    for i in (1..n).rev() {
        p.swap(i, random.below_wide(i + 1));
    }
    p
}

fn renumber(n: usize, edges: Edges, seed: u64) -> Edges {
    let p = permutation(&mut SplitMix64::new(seed ^ 0xabcd), n);
    edges.into_iter().map(|(a, b, w)| (p[a as usize], p[b as usize], w)).collect()
}

/// All pairs of points on a line of a grid. The weight is 1000 over the points of the line, so a task has about as much
/// traffic along each dimension. The last dimension varies fastest.
fn all_pairs_on_lines(dims: &[usize]) -> Edges {
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

fn geometric(n: usize, seed: u64) -> Edges {
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
fn cells(n: usize, seed: u64) -> Edges {
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

fn butterfly(n: usize) -> Edges {
    let strides = (0..usize::BITS).map(|k| 1usize << k).take_while(|&s| s < n);
    strides
        .flat_map(|s| {
            (0..n).filter(move |v| v & s == 0).map(move |v| (v as u32, (v ^ s) as u32, 1))
        })
        .collect()
}

/// NAS BT (and SP) 3.4: neighbours in x, y and along the diagonal of a square torus.
fn multipartition(n: usize) -> Edges {
    let side = n.isqrt();
    let at = |x: usize, y: usize| ((y % side) * side + x % side) as u32;
    let others = |x, y| [at(x + 1, y), at(x, y + 1), at(x + side - 1, y + 1)];
    (0..n as u32)
        .flat_map(|v| others(v as usize % side, v as usize / side).map(|other| (v, other, 10)))
        .collect()
}

/// NAS CG 3.4: sums within a row by recursive doubling, then the exchange with the transpose.
fn conjugate_gradient(n: usize) -> Edges {
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
fn wavefront(n: usize) -> Edges {
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
fn attachment(n: usize, seed: u64) -> Edges {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_degrees() {
        assert_eq!(pattern("stencil:32x32").unwrap().edges(), 2 * 32 * 31);
        assert_eq!(pattern("torus:4x4x4").unwrap().edges(), 3 * 64);
        assert_eq!(pattern("torus:2x4").unwrap().edges(), 4 + 8);
        assert_eq!(pattern("stencil27:3x3x3").unwrap().degree(13), 26);
        let moore = pattern("moore:3x3").unwrap();
        assert_eq!(
            (moore.degree(4), moore.total_weight()),
            (8, pattern("stencil:3x3").unwrap().total_weight() + 8)
        );
        assert_eq!(pattern("star:9x9").unwrap().degree(40), 8);
        let star = pattern("star:9x9,steps=8:1:1,along=3:1,periodic=1").unwrap();
        assert_eq!((star.degree(0), star.total_weight()), (12, 81 * (24 + 6 + 8 + 2)));
        assert_eq!(pattern("stencil19:3x3x3").unwrap().degree(13), 18);
        assert_eq!(pattern("hex:3x3").unwrap().degree(4), 6);
        assert_eq!(pattern("stencil:4x4,periodic=1").unwrap(), pattern("torus:4x4").unwrap());
        assert_eq!(pattern("fft:1024").unwrap().edges(), 5120);
        assert_eq!(pattern("bt:64").unwrap().degree(0), 6);
        assert_eq!(pattern("lu:32").unwrap().vertices(), 32);
        for name in ["rgg", "spmv", "powerlaw", "cg"] {
            let graph = pattern(&format!("{name}:512")).unwrap();
            let mean = 2.0 * graph.edges() as f64 / 512.0;
            assert!((3.0..9.0).contains(&mean), "{name}: {mean}");
        }
    }

    #[test]
    fn seeds_and_shuffles() {
        assert_eq!(pattern("rgg:200,seed=2").unwrap(), pattern("rgg:200,seed=2").unwrap());
        assert_ne!(pattern("rgg:200,seed=2").unwrap(), pattern("rgg:200").unwrap());
        let shuffled = pattern("stencil:8x8,shuffle=3").unwrap();
        assert_ne!(shuffled, pattern("stencil:8x8").unwrap());
        assert_eq!(shuffled.total_weight(), 2 * 8 * 7);
        let moved = pattern("stencil:8x8,shuffle=3,far=2.5,near=5").unwrap();
        assert!(moved != shuffled && moved.total_weight() == shuffled.total_weight());
    }

    #[test]
    fn wrong_pattern_texts_are_refused() {
        for text in [
            "",
            "rgg",
            "rgg:0",
            "rgg:4x4",
            "fft:12",
            "bt:8",
            "ring:4",
            "rgg:9,x=1",
            "rgg:9,far=101",
            "rgg:9,near=NaN",
            "rgg:9,far=",
            "rgg:9,periodic=1",
            "fft:8,along=1",
            "stencil:8x8,steps=2:1",
            "stencil:8x8,along=2",
            "stencil:8x8,periodic=yes",
            "star:8x8,steps=",
            "star:8x8,steps=8:0",
            "star:8x8,steps=1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1",
            "star:8x8,along=2:x",
        ] {
            assert_eq!(pattern(text).unwrap_err().kind(), ErrorKind::Usage, "{text}");
        }
    }
}
