//! The constructors of topologies from Fortran: the counterparts of `entry::constructors`.
//!
//! Calls that every process makes with the same arguments go on to the Fortran function, with
//! another communicator where the ranks are new. Edges that moved go to the C function.

use super::{P, comm, effective, int};
use crate::entry::constructors::{cartesian, graph, with_edges};
use crate::entry::slots;
use crate::mpi::abi::Abi;
use crate::mpi::library;
use crate::reorder::adjacency::{Adjacency, Given, Sentinels, Side};
use crate::reorder::create::{self, Step};
use crate::reorder::shape::Shape;
use crate::sys::panic_barrier::guarded;
use libc::c_int;
use std::sync::OnceLock;

/// What Fortran passes for MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY: addresses of variables that have
/// other names in every MPI and, in MPICH's mpi_f08, with every compiler. `None` if none is known:
/// then the numbers at these addresses could be taken for weights.
fn sentinels() -> Option<&'static Sentinels> {
    static KNOWN: OnceLock<Sentinels> = OnceLock::new();
    let known = KNOWN.get_or_init(|| Sentinels {
        unweighted: [
            c"mpi_fortran_unweighted_",
            c"mpi_fortran_unweighted",
            c"mpi_fortran_unweighted__",
            c"MPI_FORTRAN_UNWEIGHTED",
            c"MPIR_F08_MPI_UNWEIGHTED",
            c"__mpi_f08_link_constants_MOD_mpi_unweighted",
            c"mpi_f08_link_constants_mp_mpi_unweighted_",
        ]
        .map(library::symbol),
        empty: [
            c"mpi_fortran_weights_empty_",
            c"mpi_fortran_weights_empty",
            c"mpi_fortran_weights_empty__",
            c"MPI_FORTRAN_WEIGHTS_EMPTY",
            c"MPIR_F08_MPI_WEIGHTS_EMPTY",
            c"__mpi_f08_link_constants_MOD_mpi_weights_empty",
            c"mpi_f08_link_constants_mp_mpi_weights_empty_",
        ]
        .map(library::symbol),
    });
    known.are_known().then_some(known)
}

/// The C handle of an info object.
unsafe fn info<A: Abi>(argument: P) -> A::Info {
    // SAFETY: an integer of the program.
    A::from_fortran(crate::mpi::abi::Kind::Info, unsafe { int(argument) })
}

fn array(argument: P) -> *const c_int {
    argument.cast_const().cast()
}

/// The communicator and the LOGICAL `reorder` to pass on; the first two arguments are where they
/// can be.
unsafe fn arguments<A: Abi>(
    step: &Step<A>,
    base: &mut c_int,
    none: &mut c_int,
    on: P,
    reorder: P,
) -> (P, P) {
    *none = 0;
    match step {
        // SAFETY: the program's own argument.
        Step::Plain => (unsafe { effective::<A>(on) }, reorder),
        // SAFETY: as above.
        Step::Unchanged => (unsafe { effective::<A>(on) }, std::ptr::from_mut(none).cast()),
        Step::On(comm, _) => {
            *base = A::comm_to_fortran(*comm);
            (std::ptr::from_mut(base).cast(), std::ptr::from_mut(none).cast())
        }
    }
}

/// The communicator that a constructor has put there.
unsafe fn made_there<A: Abi>(made: P, ierror: P) -> Option<A::Comm> {
    // SAFETY: the program's own arguments, after the call.
    unsafe { (super::code(ierror) == 0).then(|| comm::<A>(made)) }
}

/// A constructor of a topology that every process describes.
unsafe fn shaped<A: Abi>(
    entry: usize,
    what: &'static str,
    read: unsafe fn(c_int, *const c_int, *const c_int, usize) -> Option<Shape>,
    [on, count, first, second, reorder, made, ierror]: [P; 7],
) {
    // SAFETY: addresses of the program's own arguments; the real function takes the same.
    unsafe {
        let step = guarded(|| {
            Some(create::shaped::<A>(comm::<A>(on), int(reorder) != 0, what, |size| {
                read(int(count), array(first), array(second), size)
            }))
        })
        .unwrap_or(Step::Plain);
        let (mut base, mut none) = (0, 0);
        let (on, reorder) = arguments(&step, &mut base, &mut none, on, reorder);
        let next: unsafe extern "C-unwind" fn(P, P, P, P, P, P, P) = slots::next(entry);
        next(on, count, first, second, reorder, made, ierror);
        step.done(made_there::<A>(made, ierror));
    }
}

/// `MPI_Cart_create`
pub unsafe extern "C-unwind" fn cart_create<A: Abi, const B: usize>(
    on: P,
    ndims: P,
    dims: P,
    periods: P,
    reorder: P,
    made: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { slots::fortran_number("mpi_cart_create") });
    let all = [on, ndims, dims, periods, reorder, made, ierror];
    // SAFETY: passed on.
    unsafe { shaped::<A>(entry, "MPI_Cart_create", cartesian, all) }
}

/// `MPI_Graph_create`
pub unsafe extern "C-unwind" fn graph_create<A: Abi, const B: usize>(
    on: P,
    nodes: P,
    ends: P,
    edges: P,
    reorder: P,
    made: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { slots::fortran_number("mpi_graph_create") });
    let all = [on, nodes, ends, edges, reorder, made, ierror];
    // SAFETY: passed on.
    unsafe { shaped::<A>(entry, "MPI_Graph_create", graph, all) }
}

/// The rank that a constructor of such a topology gave.
unsafe fn mapped<A: Abi>(
    entry: usize,
    read: unsafe fn(c_int, *const c_int, *const c_int, usize) -> Option<Shape>,
    [on, count, first, second, rank, ierror]: [P; 6],
) {
    // SAFETY: as above.
    unsafe {
        let next: unsafe extern "C-unwind" fn(P, P, P, P, P, P) = slots::next(entry);
        next(effective::<A>(on), count, first, second, rank, ierror);
        if super::code(ierror) == 0
            && let Some(known) = guarded(|| {
                create::remembered::<A>(comm::<A>(on), |size| {
                    read(int(count), array(first), array(second), size)
                })
            })
        {
            *rank.cast::<c_int>() = known;
        }
    }
}

/// `MPI_Cart_map`
pub unsafe extern "C-unwind" fn cart_map<A: Abi, const B: usize>(
    on: P,
    ndims: P,
    dims: P,
    periods: P,
    rank: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { slots::fortran_number("mpi_cart_map") });
    // SAFETY: passed on.
    unsafe { mapped::<A>(entry, cartesian, [on, ndims, dims, periods, rank, ierror]) }
}

/// `MPI_Graph_map`
pub unsafe extern "C-unwind" fn graph_map<A: Abi, const B: usize>(
    on: P,
    nodes: P,
    ends: P,
    edges: P,
    rank: P,
    ierror: P,
) {
    let entry = slots::fortran(B, const { slots::fortran_number("mpi_graph_map") });
    // SAFETY: passed on.
    unsafe { mapped::<A>(entry, graph, [on, nodes, ends, edges, rank, ierror]) }
}

/// Makes the communicator of a vertex with these edges.
unsafe fn made_with<A: Abi>(
    step: &Step<A>,
    on: P,
    edges: &Adjacency,
    info_argument: P,
    made: P,
    ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        let on = match step {
            Step::On(base, _) => *base,
            _ => crate::comm::world::effective::<A>(comm::<A>(on)),
        };
        let mut new = A::comm_null();
        let code = with_edges::<A>(on, edges, info::<A>(info_argument), &raw mut new);
        if code == 0 {
            *made.cast::<c_int>() = A::comm_to_fortran(new);
        }
        if !ierror.is_null() {
            *ierror.cast::<c_int>() = code;
        }
    }
}

/// `MPI_Dist_graph_create_adjacent`
pub unsafe extern "C-unwind" fn dist_graph_create_adjacent<A: Abi, const B: usize>(
    on: P,
    indegree: P,
    sources: P,
    source_weights: P,
    outdegree: P,
    destinations: P,
    weights: P,
    info: P,
    reorder: P,
    made: P,
    ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        let found = guarded(|| {
            Some(create::adjacent::<A>(comm::<A>(on), int(reorder) != 0, |size| {
                let known = sentinels()?;
                let (from, from_weights) = (array(sources), array(source_weights));
                let (to, to_weights) = (array(destinations), array(weights));
                Some(Adjacency {
                    sources: Side::read(int(indegree), from, from_weights, known, size)?,
                    destinations: Side::read(int(outdegree), to, to_weights, known, size)?,
                })
            }))
        });
        let (step, moved) = found.unwrap_or((Step::Plain, None));
        if let Some(edges) = &moved {
            made_with(&step, on, edges, info, made, ierror);
        } else {
            let (mut base, mut none) = (0, 0);
            let (on, reorder) = arguments(&step, &mut base, &mut none, on, reorder);
            let number = const { slots::fortran_number("mpi_dist_graph_create_adjacent") };
            let next: unsafe extern "C-unwind" fn(P, P, P, P, P, P, P, P, P, P, P) =
                slots::next(slots::fortran(B, number));
            next(
                on,
                indegree,
                sources,
                source_weights,
                outdegree,
                destinations,
                weights,
                info,
                reorder,
                made,
                ierror,
            );
        }
        step.done(made_there::<A>(made, ierror));
    }
}

/// `MPI_Dist_graph_create`
pub unsafe extern "C-unwind" fn dist_graph_create<A: Abi, const B: usize>(
    on: P,
    count: P,
    sources: P,
    degrees: P,
    destinations: P,
    weights: P,
    info: P,
    reorder: P,
    made: P,
    ierror: P,
) {
    // SAFETY: as above.
    unsafe {
        let found = guarded(|| {
            Some(create::distributed::<A>(comm::<A>(on), int(reorder) != 0, |size| {
                let (to, to_weights) = (array(destinations), array(weights));
                let (from, degrees) = (array(sources), array(degrees));
                Given::read(int(count), from, degrees, to, to_weights, sentinels()?, size)
            }))
        });
        let (step, moved) = found.unwrap_or((Step::Plain, None));
        if let Some(edges) = &moved {
            made_with(&step, on, edges, info, made, ierror);
        } else {
            let (mut base, mut none) = (0, 0);
            let (on, reorder) = arguments(&step, &mut base, &mut none, on, reorder);
            let next: unsafe extern "C-unwind" fn(P, P, P, P, P, P, P, P, P, P) = slots::next(
                slots::fortran(B, const { slots::fortran_number("mpi_dist_graph_create") }),
            );
            next(on, count, sources, degrees, destinations, weights, info, reorder, made, ierror);
        }
        step.done(made_there::<A>(made, ierror));
    }
}
