//! Communication matrices: who sends how much to whom, always indexed by task.
//!
//! A *task* is an application rank, the identity a program computes with; it does not change when
//! its process does, so a matrix recorded in a reordered launch is the same matrix. Rows are
//! senders, columns are receivers.

mod collected;
pub mod collectives;
mod comm_matrix;
mod graph;
mod sparse;
pub mod synthetic;

pub use collected::Collected;
pub use comm_matrix::{CommMatrix, Kind};
pub use graph::Graph;
pub use sparse::{SparseMatrix, Traffic};
