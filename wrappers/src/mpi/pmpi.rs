//! The MPI functions that the library itself calls: always the PMPI names, looked up at first use.
//!
//! They are generated from `pmpi.txt`, which has their names, and `prototypes.tsv`. Each function is generic
//! over the ABI and returns the MPI error code; one that the MPI library lacks returns `ERR_OTHER`.

use crate::mpi::abi::Abi;
use crate::mpi::library;
use libc::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The PMPI functions of one ABI.
#[derive(Debug, Clone, Copy)]
pub struct Pmpi<A: Abi>(PhantomData<A>);

/// The PMPI functions of ABI `A`.
pub fn pmpi<A: Abi>() -> Pmpi<A> {
    Pmpi(PhantomData)
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal ($($arg:ident: $type:ty),* $(,)?);)*) => {
        // The parameters are those of the MPI functions.
        #[allow(clippy::too_many_arguments)]
        impl<A: Abi> Pmpi<A> {
            $(
                $(#[$doc])*
                ///
                /// # Safety
                /// The arguments must be what the MPI standard asks for at this point of the program.
                pub unsafe fn $name(self, $($arg: $type),*) -> c_int {
                    static ADDRESS: AtomicUsize = AtomicUsize::new(0);
                    let mut address = ADDRESS.load(Ordering::Relaxed);
                    if address == 0 {
                        address = library::symbol($symbol);
                        if address == 0 {
                            return A::ERR_OTHER;
                        }
                        ADDRESS.store(address, Ordering::Relaxed);
                    }
                    // SAFETY: the symbol has this C prototype in every MPI; handles have the width
                    // of this ABI.
                    unsafe {
                        let function: unsafe extern "C" fn($($type),*) -> c_int =
                            std::mem::transmute(address);
                        function($($arg),*)
                    }
                }
            )*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/pmpi.rs"));
