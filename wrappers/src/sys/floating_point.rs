//! Keeps the floating-point environment of the program while this library computes.
//!
//! A program may have turned on traps, so that a division by zero ends it with SIGFPE (`-ffpe-trap` of gfortran, `-fpe0` of
//! Intel's compiler, `feenableexcept`). It may round in another direction. It may look at the flags of exceptions, as every
//! Fortran program does that ends with STOP. What this library and the libraries behind it compute must not meet the traps,
//! and must leave no flag.
//!
//! Limit: a `longjmp` out of the work leaves the default environment.

use crate::arch::FloatingPoint;

/// Gives the environment back, also if the work panics.
struct Kept(FloatingPoint);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.restore();
    }
}

/// Does the work in the environment of a new process: no traps, rounding to nearest. Afterwards the thread has its
/// environment back, with the flags that it had before.
pub fn kept<T>(work: impl FnOnce() -> T) -> T {
    // Miri has no assembler.
    let _kept = (!cfg!(miri)).then(|| Kept(FloatingPoint::replace_by_default()));
    apart(work)
}

/// Gives a new thread, which inherits the environment of the thread that starts it, that of a new process.
pub fn forget_inherited() {
    if !cfg!(miri) {
        FloatingPoint::replace_by_default();
    }
}

/// A call of its own. In one function with the change of the environment, the compiler might compute something before the
/// change.
#[inline(never)]
fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    unsafe extern "C" {
        fn feraiseexcept(exceptions: libc::c_int) -> libc::c_int;
        fn fetestexcept(exceptions: libc::c_int) -> libc::c_int;
        fn feclearexcept(exceptions: libc::c_int) -> libc::c_int;
        fn fesetround(direction: libc::c_int) -> libc::c_int;
        fn fegetround() -> libc::c_int;
    }

    #[cfg(target_arch = "x86_64")]
    const INVALID_ZERO_DOWN: [libc::c_int; 3] = [1, 4, 0x400];
    #[cfg(target_arch = "aarch64")]
    const INVALID_ZERO_DOWN: [libc::c_int; 3] = [1, 2, 0x80_0000];

    fn divide(a: f64, b: f64) -> f64 {
        black_box(black_box(a) / black_box(b))
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no assembler")]
    fn flags_and_rounding_are_those_of_before() {
        let [invalid, zero, down] = INVALID_ZERO_DOWN;
        // SAFETY: functions of the C library that change the environment of this thread only.
        unsafe {
            feclearexcept(invalid | zero);
            feraiseexcept(invalid);
            fesetround(down);
            let inside = kept(|| {
                let flags = fetestexcept(invalid | zero);
                (flags, fegetround(), divide(1.0, 0.0))
            });
            assert_eq!(inside, (0, 0, f64::INFINITY));
            assert_eq!((fetestexcept(invalid | zero), fegetround()), (invalid, down));
            let _ = std::panic::catch_unwind(|| kept(|| panic!("{}", divide(0.0, 0.0))));
            assert_eq!((fetestexcept(invalid | zero), fegetround()), (invalid, down));
            fesetround(0);
            feclearexcept(invalid);
            // Without it, the flag stays: the test can fail.
            divide(1.0, 0.0);
            assert_eq!(fetestexcept(zero), zero);
            feclearexcept(zero);
        }
    }
}
