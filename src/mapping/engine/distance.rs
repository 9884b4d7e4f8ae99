//! Distances between places, as fast as the topology allows.
//!
//! Local search spends its time on distances. It is therefore compiled once for each kind of distance: path
//! codes for trees, a table of all pairs for other topologies of moderate size, and calls of the topology for
//! larger ones.

use super::{Axes, Scale, TreePlaces, ask_for};
use crate::mapping::Problem;

/// Largest number of places for which a table of all pairs is made (32 MiB); on grids distances
/// are computed nearly as fast, and a table only pays while it fits into the cache.
const TABLE_LIMIT: usize = 4096;
const TABLE_LIMIT_GRID: usize = 1024;

/// Distance between two places given by index.
pub(crate) trait Distance {
    fn between(&self, a: u32, b: u32) -> i64;

    /// Tells the processor to load what is known about a place.
    #[inline(always)]
    fn ask_for(&self, _: u32) {}

    /// The distances between one place and others, for loops. What depends on place `a` only is computed once.
    #[inline(always)]
    fn distances_of(&self, a: u32) -> impl Fn(u32) -> i64 {
        move |b| self.between(a, b)
    }

    /// The axes, if every distance is the sum of the distances along them.
    fn axes(&self) -> Option<&Axes> {
        None
    }
}

/// The axes of the places of a problem on a grid, in a search with these numbers.
fn axes_of(problem: &Problem<'_>, scale: Scale) -> Option<Axes> {
    let (grid, points) = problem.grid()?;
    if scale.distance(1) != 1 {
        return None;
    }
    let points = points.iter().map(|&slot| grid.coordinates(slot as usize));
    Axes::new(grid.dims(), |axis, a, b| grid.along(axis, a, b), points)
}

/// Tree distances by path codes, indexed by place.
pub(crate) struct TreeDistance {
    codes: Vec<u64>,
    distance_of: Box<[i64; 65]>,
}

impl TreeDistance {
    /// For the places in `tree`, which are numbered from 0 without gaps.
    pub(crate) fn new(tree: &TreePlaces) -> Self {
        let mut codes = vec![0u64; tree.order.len()];
        for (&place, &code) in tree.order.iter().zip(&tree.codes) {
            codes[place as usize] = code;
        }
        TreeDistance { codes, distance_of: Box::new(tree.distance_of) }
    }
}

impl Distance for TreeDistance {
    #[inline(always)]
    fn ask_for(&self, a: u32) {
        ask_for(&self.codes[a as usize..]);
    }

    #[inline(always)]
    fn between(&self, a: u32, b: u32) -> i64 {
        let zeros = (self.codes[a as usize] ^ self.codes[b as usize]).leading_zeros();
        self.distance_of[zeros as usize]
    }

    #[inline(always)]
    fn distances_of(&self, a: u32) -> impl Fn(u32) -> i64 {
        let code = self.codes[a as usize];
        move |b| self.distance_of[(code ^ self.codes[b as usize]).leading_zeros() as usize]
    }
}

/// All pairs, 16 bits each.
pub(crate) struct DistanceTable {
    places: usize,
    table: Vec<u16>,
    axes: Option<Axes>,
}

impl DistanceTable {
    /// `None` if there are too many places, or if a distance does not fit into 16 bits.
    fn new(problem: &Problem<'_>, scale: Scale) -> Option<Self> {
        let slots = problem.places();
        let places = slots.len();
        if places > TABLE_LIMIT {
            return None;
        }
        let mut table = vec![0u16; places * places];
        for a in 0..places {
            for b in 0..a {
                let d = problem.topology().distance(slots[a] as usize, slots[b] as usize);
                let d = u16::try_from(scale.distance(d)).ok()?;
                table[a * places + b] = d;
                table[b * places + a] = d;
            }
        }
        Some(DistanceTable { places, table, axes: axes_of(problem, scale) })
    }
}

impl Distance for DistanceTable {
    #[inline(always)]
    fn between(&self, a: u32, b: u32) -> i64 {
        i64::from(self.table[a as usize * self.places + b as usize])
    }

    #[inline(always)]
    fn distances_of(&self, a: u32) -> impl Fn(u32) -> i64 {
        let row = &self.table[a as usize * self.places..][..self.places];
        move |b| i64::from(row[b as usize])
    }

    fn axes(&self) -> Option<&Axes> {
        self.axes.as_ref()
    }
}

/// Meshes and tori of up to four dimensions, by coordinates.
pub(crate) struct GridDistance {
    points: Vec<[i32; DIMENSIONS]>,
    /// Length of every ring. For a dimension without a ring it is so large that it has no effect.
    lengths: [i32; DIMENSIONS],
    axes: Option<Axes>,
}

const DIMENSIONS: usize = 4;

impl GridDistance {
    fn new(problem: &Problem<'_>, scale: Scale) -> Option<Self> {
        let (grid, points) = problem.grid()?;
        if grid.dims().len() > DIMENSIONS || scale.distance(1) != 1 {
            return None;
        }
        let mut lengths = [i32::MAX / 2; DIMENSIONS];
        for (k, (&length, &wrap)) in grid.dims().iter().zip(grid.wrap()).enumerate() {
            if wrap {
                lengths[k] = i32::try_from(length).ok()?;
            }
        }
        let point = |&slot: &u32| {
            let mut point = [0; DIMENSIONS];
            for (x, &c) in point.iter_mut().zip(grid.coordinates(slot as usize)) {
                *x = c as i32;
            }
            point
        };
        let points = points.iter().map(point).collect();
        Some(GridDistance { points, lengths, axes: axes_of(problem, scale) })
    }
}

impl Distance for GridDistance {
    #[inline(always)]
    fn between(&self, a: u32, b: u32) -> i64 {
        let (p, q) = (&self.points[a as usize], &self.points[b as usize]);
        let mut sum = 0;
        for k in 0..DIMENSIONS {
            let direct = (p[k] - q[k]).abs();
            sum += direct.min(self.lengths[k] - direct);
        }
        i64::from(sum)
    }

    fn axes(&self) -> Option<&Axes> {
        self.axes.as_ref()
    }
}

/// Asks the topology every time.
pub(crate) struct Asked<'a, 'b> {
    problem: &'b Problem<'a>,
    scale: Scale,
}

impl Distance for Asked<'_, '_> {
    #[inline]
    fn between(&self, a: u32, b: u32) -> i64 {
        let places = self.problem.places();
        self.scale.distance(
            self.problem
                .topology()
                .distance(places[a as usize] as usize, places[b as usize] as usize),
        )
    }
}

/// The kinds of distance there are; match on it and call code that is generic over [`Distance`].
pub(crate) enum Lookup<'a, 'b> {
    Tree(TreeDistance),
    Table(DistanceTable),
    Grid(GridDistance),
    Asked(Asked<'a, 'b>),
}

/// Runs `$body` with `$d` bound to the distance inside a [`Lookup`], compiled for each kind.
macro_rules! with_distance {
    ($lookup:expr, $d:ident => $body:expr) => {
        match $lookup {
            $crate::mapping::engine::Lookup::Tree($d) => $body,
            $crate::mapping::engine::Lookup::Table($d) => $body,
            $crate::mapping::engine::Lookup::Grid($d) => $body,
            $crate::mapping::engine::Lookup::Asked($d) => $body,
        }
    };
}
pub(crate) use with_distance;

/// The fastest distance for a problem. `tree` are the sorted places where the topology is a tree.
pub(crate) fn lookup<'a, 'b>(
    problem: &'b Problem<'a>,
    tree: Option<&TreePlaces>,
    scale: Scale,
) -> Lookup<'a, 'b> {
    let places = problem.places().len();
    let tree = tree.map(|tree| Lookup::Tree(TreeDistance::new(tree)));
    let grid = || (places > TABLE_LIMIT_GRID).then(|| GridDistance::new(problem, scale)).flatten();
    let table = || DistanceTable::new(problem, scale);
    tree.or_else(|| grid().map(Lookup::Grid))
        .or_else(|| table().map(Lookup::Table))
        .unwrap_or(Lookup::Asked(Asked { problem, scale }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Graph;
    use crate::topology::{Grid, Topology};

    #[test]
    fn coordinates_give_the_grid_distance() {
        let graph = Graph::from_edges(1, &[]);
        for grid in [Grid::torus(&[5, 4, 3]), Grid::mesh(&[3, 7]), Grid::torus(&[2, 3, 2, 4])] {
            let grid = grid.unwrap();
            let problem = Problem::builder(&graph, &grid).build().unwrap();
            let fast = GridDistance::new(&problem, Scale::new(1, 8)).unwrap();
            for a in 0..grid.slots() {
                for b in 0..grid.slots() {
                    let d = grid.distance(a, b) as i64;
                    assert_eq!(fast.between(a as u32, b as u32), d, "{a} {b} on {}", grid.name());
                }
            }
        }
    }
}
