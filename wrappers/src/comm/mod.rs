//! Communicators: private ones, messages over them, and the world that the program sees.

pub mod callbacks;
pub mod exchange;
pub mod neighbours;
pub mod private;
pub mod world;
