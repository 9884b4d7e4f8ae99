//! What earlier launches measured, from the store.

use super::source::{Answer, Source, Surroundings};
use crate::base::error::Result;

/// The measurements in the store.
pub struct Measured;

impl Source for Measured {
    fn name(&self) -> &'static str {
        "measured"
    }

    fn needs(&self) -> &'static str {
        "measure the network once: rankweave topo --measure -- LAUNCHER …"
    }

    fn find(&self, _: &Surroundings) -> Result<Answer> {
        Ok(Answer::Nothing("the network between these nodes was not measured".into()))
    }
}
