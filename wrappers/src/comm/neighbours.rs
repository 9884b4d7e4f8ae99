//! The neighbours of a process in a communicator with a topology, as neighbourhood collectives see
//! them (MPI-4.0, section 8.6): Cartesian, graph or distributed graph.

use crate::mpi::abi::{Abi, TopologyKind};
use crate::mpi::pmpi::pmpi;
use libc::c_int;

/// The kind of topology of a communicator, with the numbers that the queries for its neighbours need: the
/// number of dimensions, the number of neighbours, or the numbers of sources and destinations.
enum Topology {
    Cartesian(c_int),
    Graph(c_int),
    DistGraph(c_int, c_int),
    None,
}

/// Ranks that this process sends to in a neighbourhood collective, in the order of the blocks.
pub fn destinations<A: Abi>(comm: A::Comm, rank: u32) -> Vec<c_int> {
    let mpi = pmpi::<A>();
    match kind::<A>(comm, rank) {
        Topology::None => Vec::new(),
        Topology::Cartesian(dimensions) => {
            let mut ranks = Vec::new();
            for dimension in 0..dimensions {
                let (mut source, mut dest) = (A::PROC_NULL, A::PROC_NULL);
                // SAFETY: a Cartesian communicator with this dimension.
                unsafe {
                    let _ = mpi.cart_shift(comm, dimension, 1, &raw mut source, &raw mut dest);
                }
                ranks.extend([source, dest]);
            }
            ranks
        }
        Topology::Graph(count) => {
            let mut ranks = vec![A::PROC_NULL; count as usize];
            // SAFETY: a graph communicator; room for `count` neighbours.
            unsafe {
                let _ = mpi.graph_neighbors(comm, rank as c_int, count, ranks.as_mut_ptr());
            }
            ranks
        }
        Topology::DistGraph(sources, destinations) => {
            let mut from = vec![0; sources.max(1) as usize];
            let mut from_weights = vec![0; sources.max(1) as usize];
            let mut to = vec![A::PROC_NULL; destinations.max(1) as usize];
            let mut to_weights = vec![0; destinations.max(1) as usize];
            // SAFETY: a distributed graph communicator; room for all neighbours and weights.
            unsafe {
                let _ = mpi.dist_graph_neighbors(
                    comm,
                    sources,
                    from.as_mut_ptr(),
                    from_weights.as_mut_ptr(),
                    destinations,
                    to.as_mut_ptr(),
                    to_weights.as_mut_ptr(),
                );
            }
            to.truncate(destinations as usize);
            to
        }
    }
}

fn kind<A: Abi>(comm: A::Comm, rank: u32) -> Topology {
    let mpi = pmpi::<A>();
    let mut status = A::UNDEFINED;
    // SAFETY: a valid communicator. The queries below are made only for the kind it has.
    unsafe {
        if mpi.topo_test(comm, &raw mut status) != 0 {
            return Topology::None;
        }
        let (mut a, mut b, mut c) = (0, 0, 0);
        match A::topology_kind(status) {
            Some(TopologyKind::Cartesian) if mpi.cartdim_get(comm, &raw mut a) == 0 => {
                Topology::Cartesian(a.max(0))
            }
            Some(TopologyKind::Graph)
                if mpi.graph_neighbors_count(comm, rank as c_int, &raw mut a) == 0 =>
            {
                Topology::Graph(a.max(0))
            }
            Some(TopologyKind::DistGraph)
                if mpi.dist_graph_neighbors_count(comm, &raw mut a, &raw mut b, &raw mut c)
                    == 0 =>
            {
                Topology::DistGraph(a.max(0), b.max(0))
            }
            _ => Topology::None,
        }
    }
}
