//! Geometry: recognises grids in the affinity graph, for every numbering of the tasks, and places them as
//! blocks.

mod axis;
mod axis_edges;
mod boxes;
#[cfg(test)]
mod changed_edges;
mod detect;
mod embed;
mod folding;
mod frames;
mod growth;
mod joined;
mod lattice;
mod line_layout;
mod lines;
mod lines_on_grid;
mod near_grid;
mod offsets;
mod part;
mod point;
mod product;
mod recognise;
mod several;
mod shape;
mod shells;
mod sides;
mod skeleton;
mod slabs;

pub(crate) use boxes::{divisors, inner_weight, place_on_tree};
#[cfg(any(test, feature = "cli"))]
pub(crate) use detect::detect;
pub(crate) use embed::place_on_grid;
pub(crate) use folding::{distance, fold_on_grid};
pub(crate) use lines::{are_even, detect_lines};
pub(crate) use lines_on_grid::lines_on_grid;
pub(crate) use recognise::{Recognised, recognise};
pub(crate) use several::{Part, several_grids};
pub(crate) use shape::GridShape;
pub(crate) use sides::best_sides;
pub(crate) use slabs::place_in_slabs;
