//! The panic barrier: an error in this library must not end the program into which it is loaded.

use crate::sys::floating_point;

/// Runs a part of the library that may fail, or panic because of an error in the library. Returns `None` in
/// both cases, so the program goes on. The first panic of a process is reported.
pub fn guarded<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        crate::sys::message::once("internal error; part of the traffic is not recorded");
        None
    })
}

/// As [`guarded`], and the program's floating-point environment is kept. It takes about 90 ns more (decision 107), so it is
/// for the borders of slow work: the start and the end of a job, and what computes an order of the ranks.
pub fn shielded<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    floating_point::kept(|| guarded(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_none() {
        assert_eq!(guarded(|| Some(1)), Some(1));
        assert_eq!(guarded(|| None::<u8>), None);
        assert_eq!(guarded::<u8>(|| panic!("on purpose")), None);
    }
}
