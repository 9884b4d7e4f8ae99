//! Arguments of Fortran calls: addresses of integers, handles, choice buffers.

use crate::comm::world;
use crate::entry::next::Argument;
use crate::mpi::abi::Abi;
use crate::mpi::library;
use crate::record::persistent::{self, PersistentSends};
use libc::{c_int, c_void};
use std::sync::OnceLock;

/// An INTEGER.
///
/// # Safety
/// `argument` is the address of one.
#[inline(always)]
pub unsafe fn int(argument: Argument) -> c_int {
    // SAFETY: the caller passes the address of an INTEGER.
    unsafe { *argument.cast::<c_int>() }
}

/// A communicator.
///
/// # Safety
/// As [`int`].
#[inline(always)]
pub unsafe fn comm<A: Abi>(argument: Argument) -> A::Comm {
    // SAFETY: the caller passes the address of an INTEGER.
    let fortran = unsafe { int(argument) };
    if fortran == A::FORTRAN_WORLD { A::comm_world() } else { A::comm_from_fortran(fortran) }
}

/// A datatype.
///
/// # Safety
/// As [`int`].
pub unsafe fn datatype<A: Abi>(argument: Argument) -> A::Datatype {
    // SAFETY: the caller passes the address of an INTEGER.
    A::type_from_fortran(unsafe { int(argument) })
}

/// A reduction operation.
///
/// # Safety
/// As [`int`].
pub unsafe fn op<A: Abi>(argument: Argument) -> A::Op {
    // SAFETY: the caller passes the address of an INTEGER.
    A::op_from_fortran(unsafe { int(argument) })
}

/// A window.
///
/// # Safety
/// As [`int`].
pub unsafe fn win<A: Abi>(argument: Argument) -> A::Win {
    // SAFETY: the caller passes the address of an INTEGER.
    A::win_from_fortran(unsafe { int(argument) })
}

/// A request.
///
/// # Safety
/// As [`int`].
pub unsafe fn request<A: Abi>(argument: Argument) -> A::Request {
    // SAFETY: the caller passes the address of an INTEGER.
    A::request_from_fortran(unsafe { int(argument) })
}

/// A group.
///
/// # Safety
/// As [`int`].
pub unsafe fn group<A: Abi>(argument: Argument) -> A::Group {
    // SAFETY: the caller passes the address of an INTEGER.
    A::group_from_fortran(unsafe { int(argument) })
}

/// A session.
///
/// # Safety
/// As [`int`].
pub unsafe fn session<A: Abi>(argument: Argument) -> A::Session {
    // SAFETY: the caller passes the address of an INTEGER.
    A::session_from_fortran(unsafe { int(argument) })
}

/// An info object.
///
/// # Safety
/// As [`int`].
pub unsafe fn info<A: Abi>(argument: Argument) -> A::Info {
    // SAFETY: the caller passes the address of an INTEGER.
    A::info_from_fortran(unsafe { int(argument) })
}

/// An array of datatypes.
#[derive(Debug, Clone, Copy)]
pub struct Types(pub *const c_int);

impl<A: Abi> crate::record::Types<A> for Types {
    unsafe fn at(self, i: u32) -> A::Datatype {
        // SAFETY: the caller passes an index within the array.
        A::type_from_fortran(unsafe { *self.0.add(i as usize) })
    }
}

/// A choice buffer as C sees it. MPI_IN_PLACE of Fortran becomes MPI_IN_PLACE of C.
///
/// # Safety
/// `argument` is a buffer's address or that of its descriptor.
pub unsafe fn buffer<A: Abi>(argument: Argument, descriptor: bool) -> *const c_void {
    static IN_PLACE: OnceLock<[usize; 4]> = OnceLock::new();
    let sentinels = IN_PLACE.get_or_init(|| {
        [
            c"mpi_fortran_in_place_",
            c"mpi_fortran_in_place",
            c"mpi_fortran_in_place__",
            c"MPI_FORTRAN_IN_PLACE",
        ]
        .map(library::symbol)
    });
    let address = if descriptor {
        // SAFETY: the base address is the first member of a descriptor (ISO_Fortran_binding.h).
        unsafe { *argument.cast::<usize>() }
    } else {
        argument as usize
    };
    if address != 0 && sentinels.contains(&address) {
        return A::IN_PLACE as *const c_void;
    }
    address as *const c_void
}

/// The communicator argument to pass on. If the program passes MPI_COMM_WORLD and the world is replaced, it is
/// the replacement.
///
/// # Safety
/// As [`int`].
#[inline(always)]
pub unsafe fn effective<A: Abi>(argument: Argument) -> Argument {
    // SAFETY: the caller passes the address of an INTEGER.
    if unsafe { int(argument) } == A::FORTRAN_WORLD
        && let Some(other) = world::replacement_in_fortran()
    {
        return other.cast();
    }
    argument
}

/// The error code that a call returned; 0 if the program passed no `ierror`, which is optional in mpi_f08.
///
/// # Safety
/// Null or the address of an INTEGER that the call has set.
pub unsafe fn code(ierror: Argument) -> c_int {
    // SAFETY: not null, so the address of an INTEGER.
    if ierror.is_null() { 0 } else { unsafe { int(ierror) } }
}

/// Keeps the plan of a persistent request that was just made.
///
/// # Safety
/// `ierror` and `request_argument` are those of a call that has returned.
pub unsafe fn keep<A: Abi>(ierror: Argument, request_argument: Argument, plan: PersistentSends) {
    // SAFETY: the arguments of a call that has returned: the addresses of INTEGERs.
    unsafe {
        let made = request::<A>(request_argument);
        persistent::keep::<A>(code(ierror), &raw const made, plan);
    }
}

/// The same for calls that make persistent requests. Programs make these calls seldom, and hundreds of wrappers have
/// them: each of these functions is in the library once for each family of handles.
pub mod seldom {
    use super::{Abi, Argument, PersistentSends, c_void};

    /// # Safety
    /// As [`comm`](super::comm).
    #[cold]
    #[inline(never)]
    pub unsafe fn comm<A: Abi>(argument: Argument) -> A::Comm {
        // SAFETY: as the caller says.
        unsafe { super::comm::<A>(argument) }
    }

    /// # Safety
    /// As [`datatype`](super::datatype).
    #[cold]
    #[inline(never)]
    pub unsafe fn datatype<A: Abi>(argument: Argument) -> A::Datatype {
        // SAFETY: as the caller says.
        unsafe { super::datatype::<A>(argument) }
    }

    /// # Safety
    /// As [`buffer`](super::buffer).
    #[cold]
    #[inline(never)]
    pub unsafe fn buffer<A: Abi>(argument: Argument, descriptor: bool) -> *const c_void {
        // SAFETY: as the caller says.
        unsafe { super::buffer::<A>(argument, descriptor) }
    }

    /// # Safety
    /// As [`effective`](super::effective).
    #[cold]
    #[inline(never)]
    pub unsafe fn effective<A: Abi>(argument: Argument) -> Argument {
        // SAFETY: as the caller says.
        unsafe { super::effective::<A>(argument) }
    }

    /// Takes the plan out of the caller's frame.
    ///
    /// # Safety
    /// As [`keep`](super::keep).
    #[cold]
    #[inline(never)]
    pub unsafe fn keep<A: Abi>(ierror: Argument, request: Argument, plan: &mut PersistentSends) {
        // SAFETY: as the caller says.
        unsafe { super::keep::<A>(ierror, request, std::mem::take(plan)) }
    }
}
