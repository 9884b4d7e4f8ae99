//! A candidate of the portfolio.

/// A mapping before local search.
#[derive(Clone)]
pub(super) struct Candidate {
    /// The generator or the decomposition that made it.
    pub(super) name: &'static str,
    /// The place of every vertex.
    pub(super) place_of: Vec<u32>,
    pub(super) origin: Origin,
}

/// How a candidate was made, where that says how much local search can improve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// By a search, or in no way that says anything.
    Search,
    /// From the stencil alone.
    Stencil,
    /// From the shape of the grid, so that neighbours are only partly together.
    Folding,
    /// From the shape of a grid of lines, on a machine that is a grid.
    EvenLines,
    /// From the shape of a grid of lines, whose tasks also talk in ways that this shape does not tell.
    UnevenLines,
    /// By a search that placed blocks of the grid.
    Blocks,
    /// By a search that placed clusters of tasks that form no grid.
    Clusters,
}

impl Candidate {
    pub(super) fn new(name: &'static str, place_of: Vec<u32>) -> Candidate {
        Candidate { name, place_of, origin: Origin::Search }
    }
}
