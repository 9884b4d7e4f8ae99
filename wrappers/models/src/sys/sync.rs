//! loom's atomics and locks by the names that the library uses.
//!
//! loom looks for orders that it has not tried by the last access to an atomic alone. A thread that loads before it
//! stores, as all writers of a table do, hides the loads of other threads from it: "load, load, store" is never tried
//! with the store before the first load. Each access here therefore begins with a store to a second atomic, so that
//! every two accesses to the same atomic are tried in both orders.

use loom::sync::atomic as real;
use std::fmt::{self, Debug, Formatter};
use std::sync::atomic::Ordering;

pub use loom::sync::Arc;
pub use loom::thread::yield_now;
pub use real::fence;

pub const MODEL: bool = true;

macro_rules! constant {
    ($visibility:vis fn $($rest:tt)*) => { $visibility fn $($rest)* };
}
pub(crate) use constant;

macro_rules! atomic {
    ($name:ident $(<$parameter:ident>)?, $value:ty) => {
        pub struct $name $(<$parameter>)? {
            accesses: real::AtomicU8,
            value: real::$name $(<$parameter>)?,
        }

        impl $(<$parameter>)? $name $(<$parameter>)? {
            pub fn new(value: $value) -> Self {
                let accesses = real::AtomicU8::new(0);
                Self { accesses, value: real::$name::new(value) }
            }

            fn real(&self) -> &real::$name $(<$parameter>)? {
                self.accesses.store(0, Ordering::Relaxed);
                &self.value
            }

            pub fn load(&self, order: Ordering) -> $value {
                self.real().load(order)
            }

            pub fn store(&self, value: $value, order: Ordering) {
                self.real().store(value, order);
            }

            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.real().swap(value, order)
            }
        }

        impl $(<$parameter>)? Debug for $name $(<$parameter>)? {
            fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
                formatter.write_str(stringify!($name))
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicPtr<T>, *mut T);

impl<T> AtomicPtr<T> {
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.real().compare_exchange(current, new, success, failure)
    }
}

impl AtomicU64 {
    pub fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.real().fetch_add(value, order)
    }
}

impl Default for AtomicU32 {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Default for AtomicU64 {
    fn default() -> Self {
        Self::new(0)
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

#[derive(Debug)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }
}
