//! The next function of every entry point: the function that a wrapper passes its call on to. It is the
//! one of the MPI library, or that of another tool in between.
//!
//! The table [`NEXT`] is filled when an entry point is called for the first time. Wrappers do not read it:
//! for each MPI function there is a function here of the same name in small letters, whose signature is
//! generated from `prototypes.tsv`. Those of Fortran are in [`in_fortran`].

use crate::mpi::abi::Abi;
use libc::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// An argument as Fortran passes it: an address, or the length of a character argument.
pub type Argument = *mut c_void;

/// The next function of every entry point, once it was looked up; null before.
pub static NEXT: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

/// The next function of an entry point, as a value of the function type `F`.
///
/// # Safety
/// `F` is the type that the tables give to the function of this entry point, and the entry point was called
/// before: its next function is known then.
#[inline(always)]
unsafe fn function<F: Copy>(index: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*const ()>()) };
    let pointer = NEXT[index].load(Ordering::Relaxed);
    // SAFETY: the caller names the type of this entry point's function, and the table has its address.
    unsafe { std::mem::transmute_copy(&pointer) }
}

/// Number of the entry point of Fortran call `number` in a binding.
#[inline(always)]
pub const fn fortran(binding: usize, number: usize) -> usize {
    C_COUNT + binding * FORTRAN_COUNT + number
}

/// Number of the entry point of large-count Fortran call `number` in a binding: 0 with choice
/// buffers as addresses, 1 as descriptors.
#[inline(always)]
pub const fn fortran_large(binding: usize, number: usize) -> usize {
    C_COUNT + 3 * FORTRAN_COUNT + binding * FORTRAN_LARGE_COUNT + number
}

/// Declares the functions of C: the number of the entry point, the name and the parameters of each.
macro_rules! c_functions {
    ($($index:literal $mpi:ident $name:ident($($parameter:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("Calls the next `", stringify!($mpi), "`.")]
        ///
        /// # Safety
        /// Called by the wrapper of that function, with what the MPI standard asks for.
        #[inline(always)]
        pub unsafe fn $name<A: Abi>($($parameter: $type),*) -> c_int {
            // SAFETY: the type is that of the function's prototype with the handles of this ABI. The
            // caller is the wrapper, which nothing leads to before the entry point was called.
            unsafe {
                let next: unsafe extern "C-unwind" fn($($type),*) -> c_int = function($index);
                next($($parameter),*)
            }
        }
    )*};
}

/// Declares the functions of Fortran: the kind of the binding, the number of the function in it, the name
/// and the parameters of each.
macro_rules! fortran_functions {
    ($($binding:ident $number:literal $mpi:ident $name:ident($($parameter:ident),*);)*) => {$(
        #[doc = concat!("Calls the next `", stringify!($mpi), "` of Fortran binding `B`.")]
        ///
        /// # Safety
        /// Called by the wrapper of that function, with the addresses that Fortran passes.
        #[inline(always)]
        pub unsafe fn $name<const B: usize>($($parameter: Argument),*) {
            // SAFETY: Fortran passes as many addresses and lengths as the prototype says. The caller is the
            // wrapper, which nothing leads to before the entry point was called.
            unsafe {
                let next: unsafe extern "C-unwind" fn($(fortran_functions!(@type $parameter)),*) =
                    function($binding(B, $number));
                next($($parameter),*);
            }
        }
    )*};
    (@type $parameter:ident) => { Argument };
}

include!(concat!(env!("OUT_DIR"), "/next.rs"));
