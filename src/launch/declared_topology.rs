//! Topologies as the program describes them to MPI_Cart_create and MPI_Graph_create: whether they are possible,
//! whether all processes describe the same one, and the edges of a vertex.

use crate::base::hash::Fnv1a;
use crate::mapping::TaskGrid;

/// A topology that every process describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclaredTopology {
    /// As for MPI_Cart_create; vertices in row-major order.
    Cartesian {
        /// Extent of each dimension.
        dims: Vec<i32>,
        /// Whether it is periodic (not 0).
        periods: Vec<i32>,
    },
    /// As for MPI_Graph_create.
    Graph {
        /// Where the edges of each vertex end in `edges`.
        index: Vec<i32>,
        /// The vertices that edges lead to.
        edges: Vec<i32>,
    },
}

impl DeclaredTopology {
    /// A grid for at most `size` processes. `None` if MPI would report an error, or if the grid has nothing to
    /// place.
    pub fn cartesian(dims: Vec<i32>, periods: Vec<i32>, size: usize) -> Option<DeclaredTopology> {
        let mut vertices = 1usize;
        for &extent in &dims {
            vertices = vertices.checked_mul(usize::try_from(extent).ok().filter(|&e| e > 0)?)?;
        }
        (!dims.is_empty() && dims.len() == periods.len() && vertices <= size)
            .then_some(DeclaredTopology::Cartesian { dims, periods })
    }

    /// A graph for at most `size` processes; `None` as for [`Self::cartesian`].
    pub fn graph(index: Vec<i32>, edges: Vec<i32>, size: usize) -> Option<DeclaredTopology> {
        let vertices = index.len();
        let ordered = index.first().is_some_and(|&i| i >= 0) && index.is_sorted();
        let last = index.last().and_then(|&i| usize::try_from(i).ok());
        let in_range = |&v: &i32| usize::try_from(v).is_ok_and(|v| v < vertices);
        (vertices <= size && ordered && last == Some(edges.len()) && edges.iter().all(in_range))
            .then_some(DeclaredTopology::Graph { index, edges })
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        match self {
            DeclaredTopology::Cartesian { dims, .. } => dims.iter().map(|&d| d as usize).product(),
            DeclaredTopology::Graph { index, .. } => index.len(),
        }
    }

    /// The grid that the vertices are points of.
    pub fn grid(&self) -> Option<TaskGrid> {
        let DeclaredTopology::Cartesian { dims, periods } = self else { return None };
        let dims: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
        let wrap: Vec<bool> = periods.iter().map(|&p| p != 0).collect();
        TaskGrid::new(&dims, &wrap)
    }

    /// The vertices to which `vertex` sends, each with weight 1. A vertex with several edges is in the list
    /// several times.
    pub fn edges(&self, vertex: usize) -> Vec<(u32, u64)> {
        if vertex >= self.vertices() {
            return Vec::new();
        }
        match self {
            DeclaredTopology::Graph { index, edges } => {
                let end = index[vertex] as usize;
                let start = if vertex == 0 { 0 } else { index[vertex - 1] as usize };
                edges[start..end].iter().map(|&to| (to as u32, 1)).collect()
            }
            DeclaredTopology::Cartesian { dims, periods } => {
                let mut found = Vec::with_capacity(2 * dims.len());
                let mut stride = 1usize;
                for (&extent, &periodic) in dims.iter().zip(periods).rev() {
                    let extent = extent as usize;
                    let at = vertex / stride % extent;
                    let base = vertex - at * stride;
                    let mut link = |to: usize| {
                        if to != at {
                            found.push(((base + to * stride) as u32, 1));
                        }
                    };
                    if at > 0 || periodic != 0 {
                        link((at + extent - 1) % extent);
                    }
                    if at + 1 < extent || periodic != 0 {
                        link((at + 1) % extent);
                    }
                    stride *= extent;
                }
                found
            }
        }
    }

    /// A hash of the topology.
    pub fn hash(&self) -> u64 {
        let (kind, a, b) = match self {
            DeclaredTopology::Cartesian { dims, periods } => (1, dims, periods),
            DeclaredTopology::Graph { index, edges } => (2, index, edges),
        };
        let words = [kind, a.len() as i32].into_iter().chain(a.iter().copied());
        let mut hash = Fnv1a::default();
        words.chain(b.iter().copied()).for_each(|word: i32| hash.bytes(&word.to_le_bytes()));
        hash.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dims: &[i32], periods: &[i32], size: usize) -> Option<DeclaredTopology> {
        DeclaredTopology::cartesian(dims.to_vec(), periods.to_vec(), size)
    }

    fn neighbours(shape: &DeclaredTopology, vertex: usize) -> Vec<u32> {
        let mut found: Vec<u32> = shape.edges(vertex).iter().map(|e| e.0).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn stencils_follow_the_row_major_order() {
        let open = grid(&[3, 4], &[0, 0], 12).unwrap();
        assert_eq!(neighbours(&open, 5), [1, 4, 6, 9]);
        assert_eq!(neighbours(&open, 0), [1, 4]);
        let torus = grid(&[3, 4], &[1, 1], 20).unwrap();
        assert_eq!(neighbours(&torus, 0), [1, 3, 4, 8]);
        assert_eq!(neighbours(&torus, 12), [0u32; 0], "no vertex");
        // Both neighbours of an extent of two are the same one; one of extent one has none.
        assert_eq!(neighbours(&grid(&[2, 1], &[1, 1], 2).unwrap(), 0), [1, 1]);
    }

    #[test]
    fn grids_are_passed_on_without_extents_of_one() {
        let shape = grid(&[3, 1, 4], &[1, 1, 0], 12).unwrap();
        assert_eq!(shape.grid(), TaskGrid::new(&[3, 4], &[true, false]));
        assert_eq!(grid(&[1], &[0], 12).unwrap().grid(), None);
        assert_eq!(DeclaredTopology::graph(vec![1, 2], vec![1, 0], 3).unwrap().grid(), None);
    }

    #[test]
    fn edges_are_mutual() {
        for periods in [[0, 0, 0], [1, 0, 1], [1, 1, 1]] {
            let shape = grid(&[2, 3, 4], &periods, 24).unwrap();
            for v in 0..24 {
                for to in neighbours(&shape, v) {
                    let count = |a, b| neighbours(&shape, a).iter().filter(|&&n| n == b).count();
                    assert_eq!(count(v, to), count(to as usize, v as u32));
                }
            }
        }
    }

    #[test]
    fn what_mpi_would_refuse_is_none() {
        assert_eq!(grid(&[2, 3], &[0, 0], 5), None);
        assert_eq!(grid(&[0], &[0], 5), None);
        assert_eq!(grid(&[-2, -2], &[0, 0], 5), None);
        assert_eq!(grid(&[], &[], 5), None);
        assert_eq!(grid(&[i32::MAX, i32::MAX, i32::MAX], &[0; 3], 5), None);
        let graph = |index: &[i32], edges: &[i32]| {
            DeclaredTopology::graph(index.to_vec(), edges.to_vec(), 3)
        };
        assert!(graph(&[1, 2], &[1, 0]).is_some());
        assert_eq!(graph(&[1, 2], &[1, 2]), None, "an edge to no vertex");
        assert_eq!(graph(&[1, 0], &[1]), None, "not ascending");
        assert_eq!(graph(&[-1, 1], &[1]), None);
        assert_eq!(graph(&[1, 2, 2, 2], &[1, 0]), None, "more vertices than processes");
        assert_eq!(graph(&[], &[]), None);
    }

    #[test]
    fn graphs_keep_their_edges_and_have_their_own_number() {
        let a = DeclaredTopology::graph(vec![2, 2, 3], vec![1, 2, 0], 3).unwrap();
        assert_eq!(
            (a.edges(0), a.edges(1), a.edges(2)),
            (vec![(1, 1), (2, 1)], vec![], vec![(0, 1)])
        );
        let b = DeclaredTopology::graph(vec![2, 2, 3], vec![2, 1, 0], 3).unwrap();
        assert_ne!(a.hash(), b.hash());
        assert_ne!(grid(&[2], &[3], 2).unwrap().hash(), grid(&[3], &[2], 3).unwrap().hash());
    }

    /// Records name the topologies of a program by these numbers. The values were worked out by a separate
    /// program.
    #[test]
    fn numbers_stay_the_same() {
        assert_eq!(grid(&[2, 3], &[1, 0], 6).unwrap().hash(), 0x4257_a6a7_7292_59b6);
        let graph = DeclaredTopology::graph(vec![1, 2], vec![1, 0], 2);
        assert_eq!(graph.unwrap().hash(), 0xc54b_d30b_d817_a967);
    }
}
