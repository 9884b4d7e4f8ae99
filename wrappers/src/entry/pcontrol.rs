//! `MPI_Pcontrol`: the call by which a program reaches this library without being linked with it.
//!
//! The function is variadic. A level that belongs to another tool may have any arguments, in integer
//! registers, in vector registers and on the stack. The entry therefore reads the level only. Unless
//! the level is one of `include/rankweave.h`, it jumps on with every argument in its place.
//!
//! Fortran passes the level alone, and MPI libraries differ in whether their Fortran binding calls the
//! C function. Levels without arguments work from Fortran. The others do nothing there.
//!
//! The instructions are those of the processor, in [`arch`](crate::arch).

use crate::entry::api;
use crate::entry::names;
use crate::entry::next::NEXT;
use crate::mpi::abi::{Abi, Handle};
use crate::reorder::api::OK;
use libc::{c_int, c_void};

/// The first level that belongs to this library: the letters "RW", and a number.
pub const FIRST: c_int = 0x5257_0001;
/// The number of levels that belong to this library, from the first one on.
pub const COUNT: c_int = 4;
const REORDER: c_int = FIRST;
const RESET: c_int = FIRST + 1;
const FLUSH: c_int = FIRST + 2;
const FUNCTIONS: c_int = FIRST + 3;

/// `MPI_Pcontrol`
///
/// # Safety
/// Called with the arguments of that function.
#[unsafe(naked)]
pub unsafe extern "C" fn pcontrol<A: Abi>() {
    crate::arch::by_level!(
        first = const FIRST,
        count = const COUNT,
        ours = sym ours::<A>,
        next = sym NEXT,
        index = const names::number("MPI_Pcontrol", "", 0),
    )
}

/// The functions of this library, as in `struct rankweave_functions` of the header. New fields are only added at
/// the end.
#[repr(C)]
struct Functions {
    /// Bytes of the program's struct.
    size: usize,
    pointers: [usize; 7],
}

/// Handles a level that belongs to this library. Its arguments, handles of any width and pointers, are in the
/// two registers after that of the level.
///
/// # Safety
/// The arguments are those that the header says for this level.
unsafe extern "C-unwind" fn ours<A: Abi>(level: c_int, second: usize, third: usize) -> c_int {
    match level {
        REORDER => {
            let mut made = A::comm_null();
            let out = third as *mut A::Comm;
            if !out.is_null() {
                // SAFETY: the program's communicator, and the address of a handle of its own, as the
                // header says for this level. What is there stays unless there is a communicator.
                unsafe {
                    let place = (&raw mut made).cast();
                    if api::rankweave_reorder(second, place) == OK && made.bits() != 0 {
                        *out = made;
                    }
                }
            }
        }
        FUNCTIONS => {
            let functions = second as *mut Functions;
            let pointers = [
                api::rankweave_version as *const () as usize,
                api::rankweave_reorder as *const () as usize,
                api::rankweave_newrank as *const () as usize,
                api::rankweave_reorder_roles as *const () as usize,
                api::rankweave_move as *const () as usize,
                api::rankweave_reset as *const () as usize,
                api::rankweave_flush as *const () as usize,
            ];
            if !functions.is_null() {
                // SAFETY: the address of such a struct, as the header says for this level, with room
                // for as many pointers as its size says.
                unsafe {
                    let room = (*functions).size / size_of::<usize>();
                    let places = (&raw mut (*functions).pointers).cast::<usize>();
                    for (i, &pointer) in pointers.iter().enumerate().take(room.saturating_sub(1)) {
                        *places.add(i) = pointer;
                    }
                }
            }
        }
        other => {
            obey(other);
        }
    }
    0
}

/// Does what a level without arguments asks for; `false` for other levels.
fn obey(level: c_int) -> bool {
    match level {
        RESET => {
            api::rankweave_reset();
        }
        FLUSH => {
            api::rankweave_flush();
        }
        _ => return false,
    }
    true
}

/// `MPI_Pcontrol` from Fortran. True if the level belongs to this library. The call is then not passed on.
///
/// # Safety
/// The address of an INTEGER.
pub unsafe fn from_fortran(level: *const c_void) -> bool {
    // SAFETY: the Fortran binding passes the address of an INTEGER.
    let level = unsafe { *level.cast::<c_int>() };
    obey(level) || (FIRST..FIRST + COUNT).contains(&level)
}
