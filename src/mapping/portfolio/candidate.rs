//! A candidate of the portfolio.

/// One first answer.
pub(super) struct Candidate {
    /// Who made it.
    pub(super) name: &'static str,
    /// By vertex.
    pub(super) place_of: Vec<u32>,
    /// Made from the stencil alone.
    pub(super) by_stencil: bool,
}

impl Candidate {
    pub(super) fn new(name: &'static str, place_of: Vec<u32>) -> Candidate {
        Candidate { name, place_of, by_stencil: false }
    }
}
