//! Communication matrices: how much each task sends to each other task, always indexed by task.
//!
//! A *task* is a rank of the program, as the program itself sees it. A task stays the same when another process
//! gets it, so a launch with reordered ranks records the same matrix. Rows are senders, columns are
//! receivers.

mod collected;
pub mod collectives;
mod comm_matrix;
mod graph;
mod grid_pattern;
pub mod moved_edges;
mod program_patterns;
mod sketch;
mod sparse;
pub mod synthetic;

pub use collected::Collected;
pub use comm_matrix::{CommMatrix, Kind};
pub use graph::Graph;
pub use sketch::{TrafficSketch, difference};
pub use sparse::{SparseMatrix, Traffic};
