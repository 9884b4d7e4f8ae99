//! The atomics and locks through which threads share memory. `wrappers/models` compiles some files of this
//! library with the atomics of loom, and runs their threads in every order. These files therefore use no other
//! atomics and locks than those of this file.

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
