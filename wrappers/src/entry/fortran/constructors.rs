//! The constructors of topologies from Fortran: the counterparts of `entry::constructors`.
//!
//! MPI_Cart_create and MPI_Graph_create get the same arguments in every process. They are passed on to the
//! Fortran function, on another communicator if the ranks are new. If the edges of a distributed graph move to
//! other processes, the C function is called instead.

use crate::entry::constructors::{cartesian, graph, with_edges};
use crate::entry::fortran_arguments::{comm, effective, info, int};
use crate::entry::next::{self, Argument};
use crate::mpi::abi::Abi;
use crate::mpi::library;
use crate::reorder::adjacency::{Adjacency, Given, Sentinels, Side};
use crate::reorder::create::{self, Step};
use crate::sys::panic_barrier::shielded;
use libc::c_int;
use rw::launch::DeclaredTopology;
use std::sync::OnceLock;

/// What Fortran passes for MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY: the addresses of variables. Each MPI library
/// has other names for these variables, and in MPICH's mpi_f08 each compiler as well. `None` if none of the
/// names is found: the numbers at these addresses could then be taken for weights.
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

fn array(argument: Argument) -> *const c_int {
    argument.cast_const().cast()
}

/// The communicator and the LOGICAL `reorder` to pass on. `base` and `none` are memory for the values.
unsafe fn arguments<A: Abi>(
    step: &Step<A>,
    base: &mut c_int,
    none: &mut c_int,
    on: Argument,
    reorder: Argument,
) -> (Argument, Argument) {
    *none = 0;
    match step {
        // SAFETY: the program's own argument.
        Step::Plain => (unsafe { effective::<A>(on) }, reorder),
        // SAFETY: addresses of the program's own arguments; the next function takes the same.
        Step::Unchanged => (unsafe { effective::<A>(on) }, std::ptr::from_mut(none).cast()),
        Step::On(comm, _) => {
            *base = A::comm_to_fortran(*comm);
            (std::ptr::from_mut(base).cast(), std::ptr::from_mut(none).cast())
        }
    }
}

/// The communicator that a constructor has written to this address.
unsafe fn made_there<A: Abi>(made: Argument, ierror: Argument) -> Option<A::Comm> {
    // SAFETY: the program's own arguments, after the call.
    unsafe { (crate::entry::fortran_arguments::code(ierror) == 0).then(|| comm::<A>(made)) }
}

/// A constructor of a topology that every process describes.
///
/// # Safety
/// Arguments of the program; `construct` sets `made` and `ierror`.
unsafe fn shaped<A: Abi>(
    [on, reorder, made, ierror]: [Argument; 4],
    what: &'static str,
    read: impl Fn(usize) -> Option<DeclaredTopology>,
    construct: impl FnOnce(Argument, Argument),
) {
    // SAFETY: the addresses that the program passed to the constructor.
    unsafe {
        let (base, reorders) = (comm::<A>(on), int(reorder) != 0);
        let step = shielded(|| Some(create::shaped::<A>(base, reorders, what, read)));
        let step = step.unwrap_or(Step::Plain);
        let (mut base, mut none) = (0, 0);
        let (on, reorder) = arguments(&step, &mut base, &mut none, on, reorder);
        construct(on, reorder);
        step.done(made_there::<A>(made, ierror));
    }
}

/// `MPI_Cart_create`
pub unsafe extern "C-unwind" fn cart_create<A: Abi, const B: usize>(
    on: Argument,
    ndims: Argument,
    dims: Argument,
    periods: Argument,
    reorder: Argument,
    made: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let read = |size| cartesian(int(ndims), array(dims), array(periods), size);
        shaped::<A>([on, reorder, made, ierror], "MPI_Cart_create", read, |on, reorder| {
            next::in_fortran::mpi_cart_create::<B>(on, ndims, dims, periods, reorder, made, ierror);
        });
    }
}

/// `MPI_Graph_create`
pub unsafe extern "C-unwind" fn graph_create<A: Abi, const B: usize>(
    on: Argument,
    nodes: Argument,
    ends: Argument,
    edges: Argument,
    reorder: Argument,
    made: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let read = |size| graph(int(nodes), array(ends), array(edges), size);
        shaped::<A>([on, reorder, made, ierror], "MPI_Graph_create", read, |on, reorder| {
            next::in_fortran::mpi_graph_create::<B>(on, nodes, ends, edges, reorder, made, ierror);
        });
    }
}

/// Writes the rank that a constructor of the same topology gave, if the program called one.
///
/// # Safety
/// Arguments of the program, after the call that set `rank` and `ierror`.
unsafe fn remembered<A: Abi>(
    [on, rank, ierror]: [Argument; 3],
    read: impl Fn(usize) -> Option<DeclaredTopology>,
) {
    // SAFETY: the addresses that the program passed to the constructor.
    unsafe {
        let on = comm::<A>(on);
        if crate::entry::fortran_arguments::code(ierror) == 0
            && let Some(known) = shielded(|| create::remembered::<A>(on, read))
        {
            *rank.cast::<c_int>() = known;
        }
    }
}

/// `MPI_Cart_map`
pub unsafe extern "C-unwind" fn cart_map<A: Abi, const B: usize>(
    on: Argument,
    ndims: Argument,
    dims: Argument,
    periods: Argument,
    rank: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        next::in_fortran::mpi_cart_map::<B>(effective::<A>(on), ndims, dims, periods, rank, ierror);
        let read = |size| cartesian(int(ndims), array(dims), array(periods), size);
        remembered::<A>([on, rank, ierror], read);
    }
}

/// `MPI_Graph_map`
pub unsafe extern "C-unwind" fn graph_map<A: Abi, const B: usize>(
    on: Argument,
    nodes: Argument,
    ends: Argument,
    edges: Argument,
    rank: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        next::in_fortran::mpi_graph_map::<B>(effective::<A>(on), nodes, ends, edges, rank, ierror);
        let read = |size| graph(int(nodes), array(ends), array(edges), size);
        remembered::<A>([on, rank, ierror], read);
    }
}

/// Makes the communicator of a vertex with these edges.
unsafe fn made_with<A: Abi>(
    step: &Step<A>,
    on: Argument,
    edges: &Adjacency,
    info_argument: Argument,
    made: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
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
    on: Argument,
    indegree: Argument,
    sources: Argument,
    source_weights: Argument,
    outdegree: Argument,
    destinations: Argument,
    weights: Argument,
    info: Argument,
    reorder: Argument,
    made: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let found = shielded(|| {
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
            next::in_fortran::mpi_dist_graph_create_adjacent::<B>(
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
    on: Argument,
    count: Argument,
    sources: Argument,
    degrees: Argument,
    destinations: Argument,
    weights: Argument,
    info: Argument,
    reorder: Argument,
    made: Argument,
    ierror: Argument,
) {
    // SAFETY: addresses of the program's own arguments; the next function takes the same.
    unsafe {
        let found = shielded(|| {
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
            next::in_fortran::mpi_dist_graph_create::<B>(
                on,
                count,
                sources,
                degrees,
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
