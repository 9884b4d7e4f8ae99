//! The algorithms of the papers that this project builds on, under the papers' names.
//!
//! They are here for comparison, as building blocks, and for users who ask for them by name. The
//! default is [`super::Auto`]. Each file says which paper and section it follows and where it
//! differs. Every algorithm is deterministic, fills each place at most once, and puts fixed tasks on
//! their places. An algorithm whose paper knows no fixed tasks swaps them to their places at the end.

mod baselines;
mod bipartition;
mod dense_exchange;
mod filled_problem;
pub(super) mod geom;
mod gsearch;
mod hiertopomap;
mod libtopomap;
mod multi_jagged;
mod neighbour_joining;
mod network_search;
mod placed_groups;
mod quotient;
mod refine_topolb;
mod topocentlb;
mod topolb;
mod topomatch;
mod topomatch_grouping;
pub(super) mod umpa_congestion;
mod umpa_greedy;
mod umpa_hops;

use super::{Budget, Mapper, Outcome, Problem};
use crate::base::error::{Error, ErrorKind, Result};

/// A published algorithm: its name on the command line, its source (paper and section), to what it applies, and
/// the function that maps.
struct Published(
    &'static str,
    &'static str,
    &'static str,
    fn(&Problem<'_>, &Budget) -> Result<Outcome>,
);

impl Mapper for Published {
    fn name(&self) -> &'static str {
        self.0
    }

    fn source(&self) -> &'static str {
        self.1
    }

    fn applies_to(&self) -> &'static str {
        self.2
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        (self.3)(problem, budget)
    }
}

/// A line for each algorithm below the name of its paper: its name, the rest of its source, the function, and behind
/// `on` to what it applies, if that is not every problem.
macro_rules! published {
    ($(of $paper:literal $($name:literal: $section:literal, $map:path $(, on $what:expr)?;)+)+) => {
        &[$($(&Published($name, concat!($paper, $section), applies!($($what)?), $map)),+),+]
    };
}
macro_rules! applies {
    () => {
        "all"
    };
    ($what:expr) => {
        $what
    };
}

const LINKS: &str = "topologies with links";
const GRIDS: &str = "grids of tasks on meshes and tori, however the tasks are numbered";

/// All algorithms of this folder.
pub(super) const ALL: &[&dyn Mapper] = published! {
    of "baseline: "
        "random": "random permutation", baselines::random;
        "round-robin": "one task to each node in turn", baselines::round_robin;
        "packed": "node after node", baselines::packed;
    of "Hoefler and Snir 2011, section "
        "libtopomap-greedy": "4.1 (greedy heuristic)", libtopomap::greedy;
        "libtopomap-rb": "4.2 (recursive bisection mapping)", libtopomap::recursive_bisection;
        "libtopomap-rcm": "4.3 (graph similarity, reverse Cuthill-McKee)", libtopomap::cuthill_mckee;
    of "Agarwal, Sharma and Kale 2006, section "
        "topolb": "4.3 (TopoLB, second-order estimation)", topolb::second_order, on "up to 8192 slots";
        "topolb-third-order": "4.3 (TopoLB, third-order estimation)", topolb::third_order, on "up to 2048 slots";
        "topocentlb": "4.5 (TopoCentLB)", topocentlb::map;
        "refine-topolb": "5.2.4 (RefineTopoLB after TopoLB)", refine_topolb::map;
    of "Deveci et al. 2015, section "
        "umpa-greedy": "III-A, Algorithm 1 (UG)", umpa_greedy::map;
        "umpa-wh": "III-B, Algorithm 2 (UWH)", umpa_hops::weighted;
        "umpa-th": "III-B, Algorithm 2 for total hops (UTH)", umpa_hops::total;
        "umpa-mc": "III-C, Algorithm 3 (UMC)", umpa_congestion::by_bytes, on LINKS;
        "umpa-mmc": "III-C, Algorithm 3 for messages (UMMC)", umpa_congestion::by_messages, on LINKS;
    of "Jeannot 2022, "
        "topomatch": "sections 4.2 to 4.5 (TopoMatch; TreeMatch on trees)", topomatch::topomatch;
    of "Jeannot and Mercier 2010 "
        "treematch": "(TreeMatch, as in Open MPI)", topomatch::treematch, on "regular trees, if the job uses all slots";
    of "Wu, Xiong and Lan 2015, "
        "hiertopomap-tree": "sections 3.1.1 and 3.2 (recursive tree mapping)", hiertopomap::tree, on "trees; other topologies up to 8192 nodes";
        "hiertopomap-bipart": "section 3.1.2 (recursive bipartitioning)", hiertopomap::bipart, on "meshes and tori";
        "hiertopomap-bipart-wrap": "section 3.1.2, made aware of wrap-around links", hiertopomap::bipart_wrap, on "meshes and tori";
    of "GSearch paper, section "
        "geom": "II (GEOM, Leung et al. 2014)", geom::map, on GRIDS;
        "gsearch": "II, Figure 2", gsearch::first, on GRIDS;
        "gsearch-by-rank": "IV-C, variation 1", gsearch::by_rank, on GRIDS;
        "gsearch-best": "IV-C, variation 2", gsearch::best, on GRIDS;
    of "Deveci et al. 2014 "
        "multi-jagged": "(multi-jagged partitioning), rotations and shifts", multi_jagged::map, on GRIDS;
};

/// The error for a problem to which an algorithm does not apply. `instead` names one that does.
fn infeasible(what: impl Into<String>, instead: &str) -> Error {
    Error::new(ErrorKind::Infeasible, what)
        .advise(format!("use --algorithm {instead} or the default"))
}

#[cfg(test)]
mod tests;
