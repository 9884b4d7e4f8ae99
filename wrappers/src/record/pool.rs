//! A pool of objects that threads own one after the other. A thread takes an object that is free, or a new one,
//! and gives it back when the thread ends.
//!
//! No lock is needed, and a process may be forked at any moment, because an object is never removed.

use crate::sys::sync::{self, AtomicBool, AtomicPtr};
use std::sync::atomic::Ordering;

/// An object, and whether a thread owns it at present. It is never dropped.
#[derive(Debug)]
pub struct Owned<T> {
    pub what: T,
    in_use: AtomicBool,
    /// The object that was made before this one.
    next: AtomicPtr<Owned<T>>,
}

impl<T> Owned<T> {
    /// Gives the object back. To be called by the owner. The next owner sees everything that this owner wrote.
    pub fn give_back(&self) {
        self.in_use.store(false, Ordering::Release);
    }
}

/// All objects, as a list. The field is the object that was made last.
#[derive(Debug)]
pub struct Pool<T: 'static>(AtomicPtr<Owned<T>>);

impl<T> Pool<T> {
    sync::constant! { pub fn new() -> Self {
        Pool(AtomicPtr::new(std::ptr::null_mut()))
    } }

    /// All objects that were made so far.
    pub fn all(&self) -> impl Iterator<Item = &'static Owned<T>> {
        // SAFETY: null, or one that is leaked.
        let of = |owned: *mut Owned<T>| unsafe { owned.cast_const().as_ref() };
        std::iter::successors(of(self.0.load(Ordering::Acquire)), move |owned| {
            of(owned.next.load(Ordering::Acquire))
        })
    }

    /// Takes an object that is free, or a new one. `None` if a new one cannot be made.
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
