//! The wrappers of the constructors in C.

use crate::comm::world::effective;
use crate::entry::next;
use crate::mpi::abi::Abi;
use crate::mpi::pmpi::pmpi;
use crate::reorder::adjacency::{Adjacency, Given, Sentinels, Side, copied};
use crate::reorder::create::{self, Step};
use crate::sys::panic_barrier::shielded;
use libc::c_int;
use rw::launch::DeclaredTopology;

/// The topology that the arguments of MPI_Cart_create describe.
///
/// # Safety
/// The pointers are null or arrays of `ndims` integers (false is 0).
pub unsafe fn cartesian(
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    size: usize,
) -> Option<DeclaredTopology> {
    let count = usize::try_from(ndims).ok()?;
    // SAFETY: the caller passes null or arrays of this length.
    let (dims, periods) = unsafe { (copied(dims, count)?, copied(periods, count)?) };
    DeclaredTopology::cartesian(dims, periods.iter().map(|&p| i32::from(p != 0)).collect(), size)
}

/// The topology that the arguments of MPI_Graph_create describe.
///
/// # Safety
/// The pointers are null or arrays as that function takes them.
pub unsafe fn graph(
    nodes: c_int,
    index: *const c_int,
    edges: *const c_int,
    size: usize,
) -> Option<DeclaredTopology> {
    let count = usize::try_from(nodes).ok().filter(|&n| n <= size)?;
    // SAFETY: the caller passes arrays of the program: the last of an ascending index is the number of edges.
    unsafe {
        let index = copied(index, count)?;
        let ordered = index.first().is_some_and(|&i| i >= 0) && index.is_sorted();
        let last = index.last().copied().filter(|_| ordered)?;
        let edges = copied(edges, usize::try_from(last).ok()?)?;
        DeclaredTopology::graph(index, edges, size)
    }
}

/// The communicator and the `reorder` to call a constructor with.
fn arguments<A: Abi>(step: &Step<A>, comm: A::Comm, reorder: c_int) -> (A::Comm, c_int) {
    match step {
        Step::Plain => (effective::<A>(comm), reorder),
        Step::Unchanged => (effective::<A>(comm), 0),
        Step::On(base, _) => (*base, 0),
    }
}

/// A constructor of a topology that every process describes by a count and two arrays.
///
/// # Safety
/// `made` is where `construct` puts the handle.
unsafe fn shaped<A: Abi>(
    (comm, reorder): (A::Comm, c_int),
    what: &'static str,
    read: impl Fn(usize) -> Option<DeclaredTopology>,
    made: *mut A::Comm,
    construct: impl FnOnce(A::Comm, c_int) -> c_int,
) -> c_int {
    let step = shielded(|| Some(create::shaped::<A>(comm, reorder != 0, what, read)));
    let step = step.unwrap_or(Step::Plain);
    let (on, reorder) = arguments(&step, comm, reorder);
    let code = construct(on, reorder);
    // SAFETY: the constructor has returned, so `made` has the handle if the code is 0.
    step.done(unsafe { create::made::<A>(code, made) });
    code
}

/// `MPI_Cart_create`
pub unsafe extern "C-unwind" fn cart_create<A: Abi>(
    comm: A::Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    reorder: c_int,
    made: *mut A::Comm,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let read = |size| cartesian(ndims, dims, periods, size);
        shaped::<A>((comm, reorder), "MPI_Cart_create", read, made, |comm, reorder| {
            next::mpi_cart_create::<A>(comm, ndims, dims, periods, reorder, made)
        })
    }
}

/// `MPI_Graph_create`
pub unsafe extern "C-unwind" fn graph_create<A: Abi>(
    comm: A::Comm,
    nodes: c_int,
    ends: *const c_int,
    edges: *const c_int,
    reorder: c_int,
    made: *mut A::Comm,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let read = |size| graph(nodes, ends, edges, size);
        shaped::<A>((comm, reorder), "MPI_Graph_create", read, made, |comm, reorder| {
            next::mpi_graph_create::<A>(comm, nodes, ends, edges, reorder, made)
        })
    }
}

/// Replaces the rank that MPI gave by the rank that a constructor of such a topology gave, if there
/// was one and the call succeeded. Returns `code`.
///
/// # Safety
/// `rank` is where the call that returned `code` puts the rank.
unsafe fn remembered<A: Abi>(
    code: c_int,
    comm: A::Comm,
    rank: *mut c_int,
    read: impl Fn(usize) -> Option<DeclaredTopology>,
) -> c_int {
    if code == 0
        && let Some(known) = shielded(|| create::remembered::<A>(comm, read))
    {
        // SAFETY: the call succeeded, so MPI put a rank there.
        unsafe { *rank = known };
    }
    code
}

/// `MPI_Cart_map`: the rank that the constructor gave.
pub unsafe extern "C-unwind" fn cart_map<A: Abi>(
    comm: A::Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    rank: *mut c_int,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let code = next::mpi_cart_map::<A>(effective::<A>(comm), ndims, dims, periods, rank);
        remembered::<A>(code, comm, rank, |size| cartesian(ndims, dims, periods, size))
    }
}

/// `MPI_Graph_map`: the rank that the constructor gave.
pub unsafe extern "C-unwind" fn graph_map<A: Abi>(
    comm: A::Comm,
    nodes: c_int,
    ends: *const c_int,
    edges: *const c_int,
    rank: *mut c_int,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let code = next::mpi_graph_map::<A>(effective::<A>(comm), nodes, ends, edges, rank);
        remembered::<A>(code, comm, rank, |size| graph(nodes, ends, edges, size))
    }
}

/// Makes the communicator of a vertex with these edges.
///
/// # Safety
/// `made` is where the program wants the handle.
pub unsafe fn with_edges<A: Abi>(
    on: A::Comm,
    edges: &Adjacency,
    info: A::Info,
    made: *mut A::Comm,
) -> c_int {
    let (indegree, sources, source_weights) = edges.sources.arguments::<A>();
    let (outdegree, destinations, weights) = edges.destinations.arguments::<A>();
    // SAFETY: arrays of these lengths that live until the call returns.
    unsafe {
        pmpi::<A>().dist_graph_create_adjacent(
            on,
            indegree,
            sources,
            source_weights,
            outdegree,
            destinations,
            weights,
            info,
            0,
            made,
        )
    }
}

/// `MPI_Dist_graph_create_adjacent`
pub unsafe extern "C-unwind" fn dist_graph_create_adjacent<A: Abi>(
    comm: A::Comm,
    indegree: c_int,
    sources: *const c_int,
    source_weights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    weights: *const c_int,
    info: A::Info,
    reorder: c_int,
    made: *mut A::Comm,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let found = shielded(|| {
            Some(create::adjacent::<A>(comm, reorder != 0, |size| {
                let known = Sentinels::of_c::<A>()?;
                Some(Adjacency {
                    sources: Side::read(indegree, sources, source_weights, &known, size)?,
                    destinations: Side::read(outdegree, destinations, weights, &known, size)?,
                })
            }))
        });
        let (step, moved) = found.unwrap_or((Step::Plain, None));
        let (on, reorder) = arguments(&step, comm, reorder);
        let code = match &moved {
            Some(edges) => with_edges::<A>(on, edges, info, made),
            None => next::mpi_dist_graph_create_adjacent::<A>(
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
            ),
        };
        step.done(create::made::<A>(code, made));
        code
    }
}

/// `MPI_Dist_graph_create`
pub unsafe extern "C-unwind" fn dist_graph_create<A: Abi>(
    comm: A::Comm,
    count: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights: *const c_int,
    info: A::Info,
    reorder: c_int,
    made: *mut A::Comm,
) -> c_int {
    // SAFETY: the program's own arguments; the next function has the same prototype.
    unsafe {
        let found = shielded(|| {
            Some(create::distributed::<A>(comm, reorder != 0, |size| {
                let known = Sentinels::of_c::<A>()?;
                Given::read(count, sources, degrees, destinations, weights, &known, size)
            }))
        });
        let (step, moved) = found.unwrap_or((Step::Plain, None));
        let (on, reorder) = arguments(&step, comm, reorder);
        let code = match &moved {
            Some(edges) => with_edges::<A>(on, edges, info, made),
            None => next::mpi_dist_graph_create::<A>(
                on,
                count,
                sources,
                degrees,
                destinations,
                weights,
                info,
                reorder,
                made,
            ),
        };
        step.done(create::made::<A>(code, made));
        code
    }
}
