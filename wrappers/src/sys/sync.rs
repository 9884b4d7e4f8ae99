//! The atomics and locks through which threads share memory. `wrappers/models` compiles some files of this
//! library with the atomics of loom, and runs their threads in every order. These files therefore use no other
//! atomics and locks than those of this file.

#[cfg(miri)]
pub use checked::Mutex;
#[cfg(not(miri))]
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

/// A lock for Miri, which rejects how a lock of parking_lot waits: the pointers that it makes of numbers, and the types
/// with which it calls the kernel.
#[cfg(miri)]
mod checked {
    use std::sync::{MutexGuard, PoisonError};

    /// As parking_lot's.
    #[derive(Debug)]
    pub struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Self {
            Mutex(std::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
