//! Recognises grids in a graph, also with a few irregular edges.

use super::detect::detect;
use super::lattice::lattice_grid;
use super::near_grid::near_grid;
use super::product::product_grid;
use super::shape::GridShape;
use crate::mapping::engine::Csr;

/// A grid that was recognised in a graph.
#[derive(Debug, Clone)]
pub(crate) struct Recognised {
    pub(crate) shape: GridShape,
    /// The edges of the grid, if the graph has others too.
    regular: Option<Csr>,
}

impl Recognised {
    /// True if the graph has no edges that the grid does not explain, apart from light ones.
    pub(crate) fn is_exact(&self) -> bool {
        self.regular.is_none()
    }

    /// The part of `graph` that the grid explains.
    pub(crate) fn pattern<'a>(&'a self, graph: &'a Csr) -> &'a Csr {
        self.regular.as_ref().unwrap_or(graph)
    }
}

/// The grid that the edges of `graph` form, or nearly all of them.
pub(crate) fn recognise(graph: &Csr) -> Option<Recognised> {
    let exact = detect(graph).or_else(|| product_grid(graph)).or_else(|| lattice_grid(graph));
    let exact = exact.map(|shape| Recognised { shape, regular: None });
    exact.or_else(|| {
        let (shape, regular) = near_grid(graph)?;
        Some(Recognised { shape, regular: Some(regular) })
    })
}
