//! References of the program and its libraries to MPI functions: takes back weak ones that were bound
//! to entry points the MPI library does not have.
//!
//! A program that says `if (MPI_Send_c) MPI_Send_c(…)` of a weak symbol has the answer in its global
//! offset table before any code of this library runs: relocation comes before initialisation. So
//! when entries are hidden, the relocations of all mapped objects are gone through once, and weak
//! ones that hold the address of a hidden entry get the value they would have without this library:
//! zero. Cost: one look at every relocation that names a symbol, in processes with MPI only.
//!
//! Limits: x86-64. A pointer that a constructor copied somewhere else before this ran stays.

use crate::sys::elf::{Object, for_each_object};

/// Sets weak references to any of these addresses to zero, in all objects of the process.
pub fn take_back(hidden: &[usize]) {
    let (Some(&first), Some(&last)) = (hidden.iter().min(), hidden.iter().max()) else { return };
    // Few references lead here at all.
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

/// True if the program itself, not a library, refers to a `PMPI_X` that this library wraps as
/// `MPI_X`: it has a profiling layer linked in, whose calls this library does not see.
pub fn program_profiles() -> bool {
    let mut found = false;
    for_each_object(|info| {
        // SAFETY: a mapped object, which stays so during the visit.
        unsafe {
            found = Object::of(info).is_some_and(|program| {
                program.references().any(|r| {
                    let name = r.name.to_bytes();
                    !r.defined && name.starts_with(b"PMPI_") && crate::entry::timed::wraps(name)
                })
            });
        }
        // The first object is the program.
        false
    });
    found
}
