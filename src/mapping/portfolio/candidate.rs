//! A candidate of the portfolio.

/// A mapping before local search.
#[derive(Clone)]
pub(super) struct Candidate {
    /// The generator or the decomposition that made it.
    pub(super) name: &'static str,
    /// The place of every vertex.
    pub(super) place_of: Vec<u32>,
    /// Whether the candidate was made from the stencil alone.
    pub(super) by_stencil: bool,
    /// Whether the candidate was made from the shape of the grid and keeps neighbours only partly together.
    pub(super) folded: bool,
}

impl Candidate {
    pub(super) fn new(name: &'static str, place_of: Vec<u32>) -> Candidate {
        Candidate { name, place_of, by_stencil: false, folded: false }
    }
}
