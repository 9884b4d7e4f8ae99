//! Memory that is never given back, and that leak checkers know.
//!
//! What a signal handler, a request of MPI or the program itself may still use has to stay until the
//! process ends. A leak checker (LeakSanitizer is part of AddressSanitizer) reports memory that no
//! pointer leads to and ends the process with another exit code. So one list leads to all of it.

use parking_lot::Mutex;

/// Addresses of what stays.
static LASTING: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Keeps `value` until the process ends.
pub fn keep<T>(value: T) -> &'static mut T {
    kept(Box::leak(Box::new(value)))
}

/// The same for something that is no longer owned by anything.
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
