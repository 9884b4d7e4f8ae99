//! Lower bounds of what any mapping costs, each with a certificate that proves it.
//!
//! [`find`] looks for the best bound, [`proved`] computes the bound of a certificate again. They share the facts about
//! topologies in `nearest.rs`. A bound does not use a mapping, and no algorithm uses a bound.
//!
//! Limits: hop-bytes, sum-com, total hops, mc and time only. Fixed tasks and loads are ignored, so the bound stays a bound.

mod certificate;
mod check;
mod grid_cut;
mod links;
mod nearest;
mod pack;
mod search;
mod weights;

#[cfg(test)]
mod tests;

pub use certificate::{Certificate, Clique, Flow, GridWitness, LevelProof, Packing, Proof};
pub use check::{Proved, proved};
pub use search::{Effort, find};
pub use weights::{KNOWN, known};
