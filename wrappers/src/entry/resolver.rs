//! Resolves a slot at the first call through it.

use crate::entry::real_functions::{further, real};
use crate::entry::{hooks, levels, library_symbols, slots, visibility};
use crate::mpi::library;
use crate::sys::unwinder;

// The stubs of all slots go here, with the number of the entry point.
crate::arch::resolver! {
    resolve = sym resolve,
}

/// Finds the address for entry point `index`, and points its slot there.
extern "C" fn resolve(index: u32) -> *const () {
    let index = index as usize;
    match std::panic::catch_unwind(|| target(index)) {
        Ok(Some(target)) => target,
        // There is no MPI library, or it does not have this function. A later object may still define the name,
        // for example a sequential replacement of MPI without PMPI names. The slot is not changed.
        _ => further(index).unwrap_or(missing as *const ()),
    }
}

/// Stands in for a function that the MPI library does not have.
extern "C" fn missing() -> libc::c_int {
    crate::sys::message::once(
        "the program called an MPI function that its MPI library does not have; try: start it \
         with `rankweave run`, which shows a program only the functions of its own MPI",
    );
    16
}

/// Points the slot to the address that the level asks for, and returns the address for this call.
fn target(index: usize) -> Option<*const ()> {
    let library = library::get()?;
    let next = real(index)?;
    hooks::register();
    library_symbols::lead_here(visibility::c_functions);
    unwinder::prepare();
    let target = levels::place(index, library.family, next);
    let Some(thunk) = slots::thunk_now(index) else { return Some(target) };
    // Another thread may point the slot back at this moment. The slot then keeps the thunk until it is pointed
    // again, and the thunk passes calls on.
    slots::exchange(index, target, thunk);
    Some(thunk)
}
