//! What threads share memory with. Files that are read by `wrappers/models`, where loom runs them in every order
//! of the threads, name nothing else for that.

pub use parking_lot::Mutex;
pub use std::sync::Arc;
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, fence};
pub use std::thread::yield_now;

/// Whether this is a model. Tables are small there.
pub const MODEL: bool = false;

/// Defines a function that is `const`. In a model it is not.
macro_rules! constant {
    ($visibility:vis fn $($rest:tt)*) => { $visibility const fn $($rest)* };
}
pub(crate) use constant;
