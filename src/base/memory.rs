//! Memory for large problems in large pages, where the system gives them on request.
//!
//! A processor cannot predict in which order the vertices of a large graph are visited. With pages of 4 KiB,
//! most visits miss its cache of page addresses. The request costs nothing on systems that give large pages
//! always or never.

/// An empty vector with room for `capacity` elements, in large pages from 4 MiB on.
pub(crate) fn roomy<T>(capacity: usize) -> Vec<T> {
    let mut vector = Vec::with_capacity(capacity);
    advise(&mut vector);
    vector
}

/// Makes `vector` hold `length` times `value`, in large pages where it has to grow far.
pub(crate) fn refill<T: Clone>(vector: &mut Vec<T>, length: usize, value: T) {
    emptied(vector, length).resize(length, value);
}

/// Empties `vector` and makes room for `capacity` elements, in large pages where it has to grow far.
pub(crate) fn emptied<T>(vector: &mut Vec<T>, capacity: usize) -> &mut Vec<T> {
    vector.clear();
    if vector.capacity() < capacity {
        *vector = roomy(capacity);
    }
    vector
}

/// Asks for large pages for the room of a vector, from 4 MiB on.
#[cfg(target_os = "linux")]
pub(crate) fn advise<T>(vector: &mut Vec<T>) {
    const FROM: usize = 4 << 20;
    const PAGE: usize = 4096;
    let bytes = vector.capacity().saturating_mul(size_of::<T>());
    if bytes < FROM {
        return;
    }
    let start = (vector.as_mut_ptr() as usize).next_multiple_of(PAGE);
    let end = (vector.as_ptr() as usize + bytes) / PAGE * PAGE;
    // SAFETY: the range lies within the allocation of the vector, and the advice changes how the
    // memory is backed, never what it holds. A refusal (no such feature) is no error.
    unsafe {
        libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
    }
}

/// Asks for large pages, which only Linux has.
#[cfg(not(target_os = "linux"))]
pub(crate) fn advise<T>(_: &mut Vec<T>) {}

/// Tells the processor to load the beginning of a slice, which is needed soon.
#[inline(always)]
pub(crate) fn ask_for<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint that reads nothing and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_room() {
        for capacity in [0, 10, 3 << 20] {
            let mut vector: Vec<u32> = roomy(capacity);
            assert!(vector.is_empty() && vector.capacity() >= capacity);
            vector.extend(0..capacity as u32);
            assert!(vector.iter().enumerate().all(|(k, &x)| k == x as usize));
        }
    }
}
