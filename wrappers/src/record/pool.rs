//! What threads own one after another: each takes one that is free, or a new one, and gives it back at its end.
//!
//! No lock is needed, and a process may be forked at any moment: what was made is never removed.

use crate::sys::sync::{self, AtomicBool, AtomicPtr};
use std::sync::atomic::Ordering;

/// Something, and whether a thread has it; never dropped.
#[derive(Debug)]
pub struct Owned<T> {
    pub what: T,
    in_use: AtomicBool,
    /// The one that was made before it.
    next: AtomicPtr<Owned<T>>,
}

impl<T> Owned<T> {
    /// The next thread that takes it sees all that its owner did. To be called by the owner.
    pub fn give_back(&self) {
        self.in_use.store(false, Ordering::Release);
    }
}

/// All of them: the one that was made last.
#[derive(Debug)]
pub struct Pool<T: 'static>(AtomicPtr<Owned<T>>);

impl<T> Pool<T> {
    sync::constant! { pub fn new() -> Self {
        Pool(AtomicPtr::new(std::ptr::null_mut()))
    } }

    /// Those that were made so far.
    pub fn all(&self) -> impl Iterator<Item = &'static Owned<T>> {
        // SAFETY: null, or one that is leaked.
        let of = |owned: *mut Owned<T>| unsafe { owned.cast_const().as_ref() };
        std::iter::successors(of(self.0.load(Ordering::Acquire)), move |owned| {
            of(owned.next.load(Ordering::Acquire))
        })
    }

    /// One that is free, or a new one; `None` if it cannot be made.
    pub fn take(&self, make: impl FnOnce() -> Option<T>) -> Option<&'static Owned<T>> {
        let free = self.all().find(|owned| !owned.in_use.swap(true, Ordering::AcqRel));
        if free.is_some() {
            return free;
        }
        let (in_use, next) = (AtomicBool::new(true), AtomicPtr::new(std::ptr::null_mut()));
        let made: &'static Owned<T> = Box::leak(Box::new(Owned { what: make()?, in_use, next }));
        let this = std::ptr::from_ref(made).cast_mut();
        let mut last = self.0.load(Ordering::Acquire);
        loop {
            made.next.store(last, Ordering::Release);
            match self.0.compare_exchange(last, this, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(made),
                Err(now) => last = now,
            }
        }
    }
}
