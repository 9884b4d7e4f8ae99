//! Splits a set of places into two compact halves.

use crate::base::sorting::Arrange;
use crate::mapping::engine::{Distance, Rng};
use crate::topology::Grid;

/// How places are halved: along the longest dimension of a grid, or else between two places that are far from
/// each other.
pub(crate) enum Halves<'a> {
    /// Coordinates of the slots, and the slot of every place.
    Grid(&'a Grid, &'a [u32]),
    /// Distances only.
    Distances,
}

impl Halves<'_> {
    /// Reorders `places` so that the first part and the rest are two compact halves; returns the
    /// length of the first.
    pub(crate) fn split<D: Distance>(&self, places: &mut [u32], d: &D, rng: &mut Rng) -> usize {
        match self {
            Halves::Grid(grid, slots) => along_grid(places, grid, slots),
            Halves::Distances => between_ends(places, d, rng),
        }
        places.len() / 2
    }
}

fn along_grid(places: &mut [u32], grid: &Grid, slots: &[u32]) {
    let coordinate = |p: u32, k: usize| grid.coordinates(slots[p as usize] as usize)[k];
    // Per dimension: where a ring is cut open (its largest gap), and the extent that remains.
    let mut best = (0usize, 0usize, 0u32);
    let mut starts = vec![0u32; grid.dims().len()];
    for (k, &length) in grid.dims().iter().enumerate() {
        let mut used = vec![false; length];
        places.iter().for_each(|&p| used[coordinate(p, k) as usize] = true);
        let count = used.iter().filter(|&&u| u).count();
        let mut extent = length;
        if grid.wrap()[k] && count < length {
            let (mut gap, mut longest) = (0, 0);
            for x in 0..2 * length {
                gap = if used[x % length] { 0 } else { gap + 1 };
                if gap > longest {
                    longest = gap;
                    starts[k] = ((x + 1) % length) as u32;
                }
            }
            extent = length - longest.min(length);
        } else if let (Some(first), Some(last)) =
            (used.iter().position(|&u| u), used.iter().rposition(|&u| u))
        {
            starts[k] = first as u32;
            extent = last + 1 - first;
        }
        if extent > best.1 {
            best = (k, extent, starts[k]);
        }
    }
    let (k, _, start) = best;
    let length = grid.dims()[k] as u32;
    places.arrange_by_key(|&p| {
        let mut key = [0u32; 8];
        key[0] = (coordinate(p, k) + length - start) % length;
        for j in 0..grid.dims().len().min(7) {
            let l = grid.dims()[j] as u32;
            key[j + 1] = (coordinate(p, j) + l - starts[j]) % l;
        }
        key
    });
}

fn between_ends<D: Distance>(places: &mut [u32], d: &D, rng: &mut Rng) {
    let Some(&any) = places.get(rng.below(places.len())) else { return };
    let farthest =
        |from: u32| places.iter().copied().max_by_key(|&p| (d.between(from, p), p)).unwrap_or(from);
    let a = farthest(any);
    let b = farthest(a);
    places.sort_by_cached_key(|&p| (d.between(a, p) - d.between(b, p), d.between(a, p), p));
}
