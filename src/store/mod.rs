//! The store: what is kept between launches, one file per (program, number of tasks).

mod record;

pub use record::{Launch, Record};
