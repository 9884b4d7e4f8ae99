//! The windows in use, by their handles. The table owns the entries. `deleted` in `onesided.rs` takes an entry out
//! and frees it.

use crate::record::registry::{Node, Registry};
use crate::record::window::Window;
use crate::sys::sync::{self, AtomicPtr};
use std::sync::atomic::Ordering;

/// The node of a window in the table.
pub type Place = Node<AtomicPtr<Window>>;

/// The windows in use.
#[derive(Debug)]
pub struct Windows(Registry<AtomicPtr<Window>>);

impl Windows {
    sync::constant! { pub fn new() -> Self {
        Windows(Registry::new())
    } }

    /// The node of the window with this handle, if the window was used before. `last` is the node that the
    /// thread used last.
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

    /// Adds a window. If several threads add it at the same time, one of them succeeds, and only this one calls
    /// `tell`. `tell` sets the attribute by which MPI reports that the window is freed: an attribute that is
    /// set twice would call the delete callback, which drops the entry. No lock is held during `tell`.
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
        // Without the attribute, the library would not learn when the window is freed. The entry stays in
        // memory, because another thread may be using it.
        std::mem::forget(self.take(bits));
        None
    }

    /// Removes the window of this handle and returns it.
    pub fn take(&self, bits: u64) -> Option<Box<Window>> {
        let out = |place: &AtomicPtr<Window>| {
            let entry = place.swap(std::ptr::null_mut(), Ordering::Relaxed);
            // SAFETY: made by `Box::into_raw` in `add` and taken out once.
            (!entry.is_null()).then(|| unsafe { Box::from_raw(entry) })
        };
        self.0.remove(bits, out)
    }
}
