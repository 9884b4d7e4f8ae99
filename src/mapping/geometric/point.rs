//! Points of a grid relative to one of them.

/// Most dimensions.
pub(super) const DIMENSIONS: usize = 4;

/// Steps from the first vertex along each dimension.
pub(super) type Point = [i16; DIMENSIONS];

/// Steps between two points.
#[inline(always)]
pub(super) fn steps(p: Point, q: Point) -> u32 {
    p.iter().zip(&q).map(|(a, b)| u32::from(a.abs_diff(*b))).sum()
}
