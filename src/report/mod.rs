//! Summaries, heat maps and the HTML report of a record.
//!
//! Everything here is a pure function from a [`crate::store::Record`] to text or pixels. The capabilities of
//! the terminal are an argument. In every picture and table, rows are senders and columns are receivers, and
//! the axes are labelled so.

mod cell_image;
mod devices;
pub mod figure;
pub mod grid;
pub mod html;
pub mod node_order;
pub mod palette;
pub mod summary;
pub mod terminal;
pub mod units;

pub use devices::MachineDevices;
pub use grid::Grid;
pub use summary::Summary;
