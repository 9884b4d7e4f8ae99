//! The windows in use, by their handles. The table owns the entries.

use crate::record::registry::{Node, Registry};
use crate::record::window::Window;
use crate::sys::sync::{self, AtomicPtr};
use std::sync::atomic::Ordering;

/// The place of a window.
pub type Place = Node<AtomicPtr<Window>>;

/// The windows in use.
#[derive(Debug)]
pub struct Windows(Registry<AtomicPtr<Window>>);

impl Windows {
    sync::constant! { pub fn new() -> Self {
        Windows(Registry::new())
    } }

    /// The window of this handle, if it was used before; `last` is the one that the thread used last.
    #[inline(always)]
    pub fn known(&self, last: &AtomicPtr<Place>, bits: u64) -> Option<&'static Place> {
        // SAFETY: nodes are never given back.
        let known = unsafe { last.load(Ordering::Relaxed).as_ref() };
        if known.is_some_and(|known| known.is(bits)) {
            return known;
        }
        let found = self.0.get(bits)?;
        last.store(std::ptr::from_ref(found).cast_mut(), Ordering::Relaxed);
        Some(found)
    }

    /// Adds a window. Of several threads that meet it at the same time one adds it, and that one has MPI tell by
    /// `tell` when it is freed: an attribute that is set again would call the delete callback, which drops the
    /// entry. No lock is held meanwhile.
    pub fn add(
        &self,
        bits: u64,
        window: Box<Window>,
        tell: impl FnOnce() -> bool,
    ) -> Option<&'static Place> {
        let fill =
            |place: &AtomicPtr<Window>| place.store(Box::into_raw(window), Ordering::Relaxed);
        let place = match self.0.insert(bits, fill) {
            Ok(place) => place,
            Err(other) => return Some(other),
        };
        if tell() {
            return Some(place);
        }
        // Nothing would tell when it is freed. The entry stays in memory, because another thread may be using it.
        std::mem::forget(self.take(bits));
        None
    }

    /// Takes the window of a handle out.
    pub fn take(&self, bits: u64) -> Option<Box<Window>> {
        let out = |place: &AtomicPtr<Window>| {
            let entry = place.swap(std::ptr::null_mut(), Ordering::Relaxed);
            // SAFETY: made by `Box::into_raw` in `add` and taken out once.
            (!entry.is_null()).then(|| unsafe { Box::from_raw(entry) })
        };
        self.0.remove(bits, out)
    }
}
