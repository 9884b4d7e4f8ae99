//! The last source: nothing is known about the network, and all nodes are equally far from each other.

use super::source::{Answer, Source, Surroundings};
use crate::base::error::Result;

/// All nodes are equally far from each other. The template for a new source.
pub struct Flat;

impl Source for Flat {
    fn name(&self) -> &'static str {
        "flat"
    }

    fn needs(&self) -> &'static str {
        "nothing; this is what is left if no other source knows the network"
    }

    fn find(&self, _: &Surroundings) -> Result<Answer> {
        Ok(Answer::Nothing("all nodes count as equally far from each other".into()))
    }
}
