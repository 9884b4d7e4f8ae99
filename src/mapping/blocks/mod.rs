//! Places tasks on a mesh or torus with as many slots, block by block: grids of tasks whose dimensions do not fit, and
//! clusters of tasks that form no grid.

mod divisions;
mod level;
mod search;

pub(crate) use search::{BlockEffort, TaskNumbers, parts_of_line, place_in_blocks};
