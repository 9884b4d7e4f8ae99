//! A node of a table of objects: an object and its key, or free space for one.

use crate::sys::sync::{AtomicPtr, AtomicU64};
use std::alloc::{self, Layout};
use std::sync::atomic::Ordering;

/// The key of a node that has no object.
pub const GONE: u64 = u64::MAX;
/// Bytes of a cache line.
const LINE: usize = 64;

/// A node: an object, or free space for one. The fast path of a send reads nodes by the offsets of their
/// fields.
#[derive(Debug)]
#[repr(C)]
pub struct Node<T> {
    pub(crate) key: AtomicU64,
    /// The next node of a chain. No chain leads through a home: a home leads to itself if it was tried to give its
    /// object a [digest](crate::record::digest).
    pub(crate) next: AtomicPtr<Node<T>>,
    /// The data of the object. They are atomics, because any thread may read them at any time.
    pub value: T,
}

impl<T> Node<T> {
    /// Whether the node has the object with this handle.
    #[inline(always)]
    pub fn is(&self, bits: u64) -> bool {
        self.key.load(Ordering::Acquire) == bits
    }
}

/// So many nodes without an object, in a row that begins at a cache line.
pub fn row<T: Default>(count: usize) -> &'static [Node<T>] {
    lines(count, || Node {
        key: AtomicU64::new(GONE),
        next: AtomicPtr::new(std::ptr::null_mut()),
        value: T::default(),
    })
}

/// So many values in a row that begins at a cache line. They are never given back.
pub fn lines<T>(count: usize, make: impl Fn() -> T) -> &'static [T] {
    let layout = Layout::array::<T>(count).and_then(|layout| layout.align_to(LINE));
    let Ok(layout) = layout else { return &[] };
    // SAFETY: the layout is not empty. Each value is written before the slice is made, and none is given back.
    unsafe {
        let values: *mut T = alloc::alloc(layout).cast();
        if values.is_null() {
            alloc::handle_alloc_error(layout);
        }
        for i in 0..count {
            values.add(i).write(make());
        }
        std::slice::from_raw_parts(values, count)
    }
}
