//! Distances between places, as fast as the topology allows.
//!
//! Local search spends its time here, so it is compiled once per kind of distance: path codes for
//! trees, a table of all pairs for other topologies of moderate size, the topology itself above.

use super::{Scale, TreePlaces};
use crate::mapping::Problem;

/// Largest number of places for which a table of all pairs is made (32 MiB).
const TABLE_LIMIT: usize = 4096;

/// Distance between two places given by index.
pub(crate) trait Distance {
    fn between(&self, a: u32, b: u32) -> i64;
}

/// Tree distances by path codes, indexed by place.
pub(crate) struct TreeDistance {
    codes: Vec<u64>,
    distance_of: Box<[i64; 65]>,
}

impl Distance for TreeDistance {
    #[inline(always)]
    fn between(&self, a: u32, b: u32) -> i64 {
        let zeros = (self.codes[a as usize] ^ self.codes[b as usize]).leading_zeros();
        self.distance_of[zeros as usize]
    }
}

/// All pairs, 16 bits each.
pub(crate) struct DistanceTable {
    places: usize,
    table: Vec<u16>,
}

impl Distance for DistanceTable {
    #[inline(always)]
    fn between(&self, a: u32, b: u32) -> i64 {
        i64::from(self.table[a as usize * self.places + b as usize])
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
    Asked(Asked<'a, 'b>),
}

/// The fastest distance for a problem. `tree` are the sorted places where the topology is a tree.
pub(crate) fn lookup<'a, 'b>(
    problem: &'b Problem<'a>,
    tree: Option<&TreePlaces>,
    scale: Scale,
) -> Lookup<'a, 'b> {
    let places = problem.places();
    if let Some(tree) = tree {
        let mut codes = vec![0u64; places.len()];
        for (&place, &code) in tree.order.iter().zip(&tree.codes) {
            codes[place as usize] = code;
        }
        return Lookup::Tree(TreeDistance { codes, distance_of: Box::new(tree.distance_of) });
    }
    if places.len() <= TABLE_LIMIT
        && let Some(table) = all_pairs(problem, scale)
    {
        return Lookup::Table(DistanceTable { places: places.len(), table });
    }
    Lookup::Asked(Asked { problem, scale })
}

/// All distances, or `None` if one does not fit into 16 bits.
fn all_pairs(problem: &Problem<'_>, scale: Scale) -> Option<Vec<u16>> {
    let places = problem.places();
    let mut table = vec![0u16; places.len() * places.len()];
    for a in 0..places.len() {
        for b in 0..a {
            let d = problem.topology().distance(places[a] as usize, places[b] as usize);
            let d = u16::try_from(scale.distance(d)).ok()?;
            table[a * places.len() + b] = d;
            table[b * places.len() + a] = d;
        }
    }
    Some(table)
}
