//! Communication patterns of well-known programs. The same text always makes the same pattern.
//!
//! Tests, benchmarks and the command line use the same patterns. A pattern is given by a short text, such as
//! `stencil:8x8x8`, `stencil27:8x8x8` or `rgg:1024`. `,seed=N` after it chooses the random numbers of the pattern.
//! `,shuffle=N` numbers the tasks at random, so the difference of two task numbers means nothing. `,far=PERCENT` moves
//! one end of so many of the edges to any task, and `,near=PERCENT` to a neighbour of that end. On the patterns that
//! are stencils, `,periodic=1` makes the dimensions rings, and `,along=3:1` multiplies the weights along each
//! dimension. `,steps=8:1` gives the weights of one step, two steps and so on of `star`.
//!
//! `+` joins patterns that run side by side, as the programs of a coupled simulation do: `stencil:16x16+torus:8x8` has 320
//! tasks, those of the first pattern first. Each pattern has its own seed, rings and weights. `,couple=WEIGHT` after the
//! last one makes each pattern exchange data with the next one: each task of the larger one does with the task that is
//! as far along in the other.

use super::Graph;
use super::grid_pattern::{GridPattern, Stencil};
use super::moved_edges::{MovedTo, with_moved_edges};
use super::program_patterns::{
    Edges, all_pairs_on_lines, attachment, butterfly, cells, conjugate_gradient, geometric,
    multipartition, wavefront,
};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nearest::one_of;
use crate::base::permutation::identity;
use crate::base::random::SplitMix64;
use std::ops::Range;

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
     along=W:W, for star also steps=W:W, and after the last of several patterns couple=WEIGHT";

/// Most steps along an axis.
const MOST_STEPS: usize = 16;

/// Most sides of a grid. A stencil with diagonals has 3 to the power of the sides as many neighbours.
const MOST_SIDES: usize = 8;

/// What follows a pattern.
#[derive(Default)]
struct Options {
    seed: Option<u64>,
    shuffle: Option<u64>,
    moves: Vec<(f64, MovedTo)>,
    periodic: Option<bool>,
    along: Option<Vec<u64>>,
    steps: Option<Vec<u64>>,
    couple: Option<u64>,
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
            Some(("couple", v)) => match weights(v).as_deref() {
                Some(&[weight]) => self.couple = Some(weight),
                _ => return Err(bad(format!("'{v}' is no weight from 1 to 1000000"))),
            },
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
    let parts: Vec<&str> = text.split('+').collect();
    let sizes = parts.iter().map(|part| dimensions(part.split(',').next().unwrap_or(part), &bad));
    let sizes = sizes.collect::<Result<Vec<Vec<usize>>>>()?;
    let mut starts = vec![0usize];
    for dims in &sizes {
        let end = starts.last().copied().unwrap_or(0) + dims.iter().product::<usize>();
        starts.push(end);
        if u32::try_from(end).is_err() {
            return Err(bad("there are 2^32 tasks or more".into()).advise("use fewer tasks"));
        }
    }
    let (mut edges, mut all) = (Edges::new(), Options::default());
    for (k, (part, dims)) in parts.iter().zip(&sizes).enumerate() {
        let (head, options) = part.split_once(',').map_or((*part, None), |(h, o)| (h, Some(o)));
        let mut own = Options::default();
        options.into_iter().flat_map(|o| o.split(',')).try_for_each(|o| own.add(o, &bad))?;
        if k + 1 < parts.len() && (own.shuffle.is_some() || !own.moves.is_empty()) {
            return Err(bad("shuffle, far and near come after the last pattern".into()));
        }
        if own.couple.is_some() && (k == 0 || k + 1 < parts.len()) {
            return Err(bad("couple comes after the last of several patterns".into()));
        }
        let of_part = one_pattern(head, dims, &own, &bad)?;
        let from = starts[k] as u32;
        edges.extend(of_part.into_iter().map(|(a, b, w)| (a + from, b + from, w)));
        all = own;
    }
    if let Some(weight) = all.couple {
        for (a, b) in starts.windows(2).zip(starts[1..].windows(2)) {
            couple((a[0]..a[1], b[0]..b[1]), weight, &mut edges);
        }
    }
    let n = starts.last().copied().unwrap_or(0);
    let seed = all.seed.unwrap_or(1);
    let shuffled = match all.shuffle {
        Some(s) => renumber(n, edges, s),
        None => edges,
    };
    let moved = |graph: Graph, (share, to)| with_moved_edges(&graph, share, to, seed);
    Ok(all.moves.into_iter().fold(Graph::from_edges(n, &shuffled), moved))
}

/// Joins each task of the larger of two patterns with the task that is as far along in the other one.
fn couple((first, second): (Range<usize>, Range<usize>), weight: u64, edges: &mut Edges) {
    let (large, small) =
        if first.len() >= second.len() { (first, second) } else { (second, first) };
    for (k, task) in large.clone().enumerate() {
        edges.push((task as u32, (small.start + k * small.len() / large.len()) as u32, weight));
    }
}

/// The sides in the text of a single pattern. `bad` makes an error of what is wrong.
fn dimensions(head: &str, bad: &impl Fn(String) -> Error) -> Result<Vec<usize>> {
    let size = head.split_once(':').map_or("", |(_, size)| size);
    let wrong = |what: String| bad(what).advise("give a size such as 1024 or 8x8x8");
    let sides = size.split('x').map(|d| d.parse().ok().filter(|&d| d > 0));
    let product = |dims: &Vec<u32>| dims.iter().try_fold(1u32, |a, &b| a.checked_mul(b)).is_some();
    let sides = sides.collect::<Option<Vec<u32>>>().filter(product);
    let sides = sides.ok_or_else(|| wrong(format!("'{size}' is not a size")))?;
    if sides.len() > MOST_SIDES {
        return Err(wrong(format!("'{size}' has more than {MOST_SIDES} sides")));
    }
    Ok(sides.into_iter().map(|d| d as usize).collect())
}

/// The edges of a single pattern. `bad` makes an error of what is wrong.
fn one_pattern(
    head: &str,
    dims: &[usize],
    options: &Options,
    bad: &impl Fn(String) -> Error,
) -> Result<Edges> {
    let (name, size) = head.split_once(':').unwrap_or((head, ""));
    let seed = options.seed.unwrap_or(1);
    let n: usize = dims.iter().product();
    let one = |ok: bool, want: &str| match ok && dims.len() == 1 {
        true => Ok(()),
        false => Err(bad(format!("{name} takes {want}, not '{size}'"))),
    };
    let grid = grid(name, dims, options).map_err(|what| bad(what).advise(OPTIONS))?;
    let edges = match name {
        _ if grid.is_some() => grid.unwrap_or_default(),
        "lines" => all_pairs_on_lines(dims),
        "rgg" => one(true, "a number").map(|()| geometric(n, seed))?,
        "spmv" => one(true, "a number").map(|()| cells(n, seed))?,
        "fft" => one(n.is_power_of_two(), "a power of two").map(|()| butterfly(n))?,
        "bt" => one(n.isqrt().pow(2) == n, "a square").map(|()| multipartition(n))?,
        "cg" => one(n.is_power_of_two(), "a power of two").map(|()| conjugate_gradient(n))?,
        "lu" => one(n.is_power_of_two(), "a power of two").map(|()| wavefront(n))?,
        "powerlaw" => one(true, "a number").map(|()| attachment(n, seed))?,
        _ => {
            let names: Vec<&str> = PATTERNS.iter().map(|p| p.0).collect();
            return Err(bad(format!("unknown pattern '{name}'")).advise(one_of(name, &names)));
        }
    };
    Ok(edges)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        let error = pattern("stencl:8x8").err().unwrap().to_string();
        assert!(error.starts_with("unknown pattern 'stencl' (in pattern 'stencl:8x8')"), "{error}");
        assert!(error.contains("try: write 'stencil', or use one of"), "{error}");
    }

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
    fn patterns_run_side_by_side() {
        let both = pattern("stencil:4x4,along=9:9+torus:2x4,couple=3").unwrap();
        assert_eq!((both.vertices(), both.edges()), (24, 24 + 12 + 16));
        assert_eq!(both.total_weight(), 24 * 9 + 12 + 16 * 3);
        let partners: Vec<u32> = both.arcs(16).map(|(t, _)| t).filter(|&t| t < 16).collect();
        assert_eq!(partners, [0, 1]);
        let three = pattern("rgg:8+rgg:8,seed=2+rgg:16,couple=1,shuffle=2").unwrap();
        assert_eq!(three.vertices(), 32);
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
            "rgg:8+",
            "rgg:8,couple=1",
            "rgg:8,couple=1+rgg:8",
            "rgg:8+rgg:8,couple=0",
            "rgg:8+rgg:8,couple=1:2",
            "rgg:8,shuffle=1+rgg:8",
            "rgg:4000000000+rgg:4000000000",
            "stencil:4294967297",
            "moore:2x2x2x2x2x2x2x2x2",
        ] {
            assert_eq!(pattern(text).unwrap_err().kind(), ErrorKind::Usage, "{text}");
        }
    }
}
