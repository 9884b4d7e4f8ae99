//! Communicators: private ones, messages over them, and the world that the program sees.

pub mod callbacks;
pub mod encoding;
pub mod exchange;
pub mod handle;
pub mod neighbours;
pub mod private;
pub mod request;
pub mod task_group;
pub mod world;
