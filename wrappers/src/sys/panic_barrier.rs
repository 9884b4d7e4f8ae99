//! The panic barrier: a mistake in this library must not end the program that it was loaded into.

/// Runs a part of the library that may fail or, by a mistake of ours, panic: neither may reach the
/// program. `None` after either; a panic is reported once per process.
pub fn guarded<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        crate::sys::message::once("internal error; part of the traffic is not recorded");
        None
    })
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
