//! Places a grid of tasks on a mesh or torus with as many slots, block by block, where their dimensions do not fit.

mod divisions;
mod level;
mod search;

pub(crate) use search::{BlockEffort, place_in_blocks};
