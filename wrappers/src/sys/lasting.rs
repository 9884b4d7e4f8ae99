//! Memory that is never freed, and that leak checkers do not report.
//!
//! Memory that a signal handler, a request of MPI or the program itself may still use has to stay until the
//! process ends. A leak checker (LeakSanitizer is part of AddressSanitizer) reports memory to which no pointer
//! leads, and makes the process end with another exit code. Therefore one list has pointers to all of this
//! memory.

use parking_lot::Mutex;

/// Addresses of this memory.
static LASTING: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Keeps `value` until the process ends.
pub fn keep<T>(value: T) -> &'static mut T {
    kept(Box::leak(Box::new(value)))
}

/// Keeps a value that was leaked before.
pub fn kept<T: ?Sized>(value: &'static mut T) -> &'static mut T {
    LASTING.lock().push((&raw const *value).cast::<()>() as usize);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_in_the_list() {
        let value = keep(7u64);
        assert!(LASTING.lock().contains(&(&raw const *value as usize)));
        let slice = kept(Box::leak(vec![1u8, 2].into_boxed_slice()));
        assert_eq!(*slice, [1, 2]);
    }
}
