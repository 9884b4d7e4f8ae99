//! What people see of a record: summary, heat maps, HTML.
//!
//! Everything here is a pure function from a [`crate::store::Record`] to text or pixels; what a
//! terminal can do is told from outside. Rows are senders and columns receivers in every picture
//! and table, and every axis says so.

mod cell_image;
pub mod figure;
pub mod grid;
pub mod html;
pub mod node_order;
pub mod palette;
pub mod summary;
pub mod terminal;
pub mod units;

pub use grid::Grid;
pub use summary::Summary;
