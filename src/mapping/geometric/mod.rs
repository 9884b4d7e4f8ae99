//! Geometry: recognise grids in the affinity graph, whatever the labels, and place them as blocks.

mod boxes;
mod detect;
mod embed;
mod skeleton;

pub(crate) use boxes::{divisors, inner_weight, place_on_tree};
pub(crate) use detect::{GridShape, detect};
pub(crate) use embed::place_on_grid;
