//! Weak references to MPI functions that the MPI library does not have: they are set back to zero.
//!
//! A program that tests a weak symbol, as in `if (MPI_Send_c) MPI_Send_c(…)`, reads its global offset
//! table. The loader fills that table before any code of this library runs. When entry points are
//! hidden, this file goes once through the relocations of all mapped objects. A weak reference that
//! holds the address of a hidden entry point gets the value that it would have without this library:
//! zero. The cost is one look at every relocation that names a symbol, in MPI processes only.
//!
//! Limit: a pointer that a constructor copied elsewhere before this ran keeps its value.

use crate::sys::elf::{Object, for_each_object};

/// Sets weak references to any of these addresses to zero, in all objects of the process.
pub fn take_back(hidden: &[usize]) {
    let (Some(&first), Some(&last)) = (hidden.iter().min(), hidden.iter().max()) else { return };
    // The range is compared first, because few references of a process point to this library.
    let is_hidden = |value| (first..=last).contains(&value) && hidden.contains(&value);
    for_each_object(|info| {
        // SAFETY: a mapped object, which stays so during the visit. Zero is what a weak reference
        // holds that nothing was found for; no thread of the program runs yet.
        unsafe {
            if let Some(object) = Object::of(info) {
                object
                    .references()
                    .filter(|r| r.weak && !r.defined && is_hidden(r.value()))
                    .for_each(|r| r.write(0));
            }
        }
        true
    });
}
