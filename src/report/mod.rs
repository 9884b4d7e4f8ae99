//! Summaries, heat maps and the HTML report of a record.
//!
//! Everything here is a pure function from a [`crate::store::Record`] to text or pixels. The
//! capabilities of the terminal are an argument. Rows are senders and columns receivers in every picture
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
