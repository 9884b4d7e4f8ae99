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
mod geom;
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
mod umpa_congestion;
mod umpa_greedy;
mod umpa_hops;

use super::{Budget, Mapper, Outcome, Problem};
use crate::base::error::{Error, ErrorKind, Result};

/// A published algorithm: its name on the command line, its source (paper and section), and the
/// function that maps.
struct Published(&'static str, &'static str, fn(&Problem<'_>, &Budget) -> Result<Outcome>);

impl Mapper for Published {
    fn name(&self) -> &'static str {
        self.0
    }

    fn source(&self) -> &'static str {
        self.1
    }

    fn map(&self, problem: &Problem<'_>, budget: &mut Budget) -> Result<Outcome> {
        (self.2)(problem, budget)
    }
}

/// Cuts a grid of tasks and an allocation with gaps in halves together. The portfolio uses it.
pub(super) const GEOM: &dyn Mapper =
    &Published("geom", "GSearch paper, section II (GEOM, Leung et al. 2014)", geom::map);

/// UMPA's refinement of the most loaded link by bytes. The portfolio uses it.
pub(super) const MAXIMUM_CONGESTION: &dyn Mapper = &Published(
    "umpa-mc",
    "Deveci et al. 2015, section III-C, Algorithm 3 (UMC)",
    umpa_congestion::by_bytes,
);

/// UMPA's refinement of the most loaded link by messages. The portfolio uses it.
pub(super) const MAXIMUM_MESSAGE_CONGESTION: &dyn Mapper = &Published(
    "umpa-mmc",
    "Deveci et al. 2015, section III-C, Algorithm 3 for messages (UMMC)",
    umpa_congestion::by_messages,
);

/// All algorithms of this folder.
pub(super) const ALL: &[&dyn Mapper] = &[
    &Published("random", "baseline: random permutation", baselines::random),
    &Published("round-robin", "baseline: one task to each node in turn", baselines::round_robin),
    &Published("packed", "baseline: node after node", baselines::packed),
    &Published(
        "libtopomap-greedy",
        "Hoefler and Snir 2011, section 4.1 (greedy heuristic)",
        libtopomap::greedy,
    ),
    &Published(
        "libtopomap-rb",
        "Hoefler and Snir 2011, section 4.2 (recursive bisection mapping)",
        libtopomap::recursive_bisection,
    ),
    &Published(
        "libtopomap-rcm",
        "Hoefler and Snir 2011, section 4.3 (graph similarity, reverse Cuthill-McKee)",
        libtopomap::cuthill_mckee,
    ),
    &Published(
        "topolb",
        "Agarwal, Sharma and Kale 2006, section 4.3 (TopoLB, second-order estimation)",
        topolb::second_order,
    ),
    &Published(
        "topolb-third-order",
        "Agarwal, Sharma and Kale 2006, section 4.3 (TopoLB, third-order estimation)",
        topolb::third_order,
    ),
    &Published(
        "topocentlb",
        "Agarwal, Sharma and Kale 2006, section 4.5 (TopoCentLB)",
        topocentlb::map,
    ),
    &Published(
        "refine-topolb",
        "Agarwal, Sharma and Kale 2006, section 5.2.4 (RefineTopoLB after TopoLB)",
        refine_topolb::map,
    ),
    &Published(
        "umpa-greedy",
        "Deveci et al. 2015, section III-A, Algorithm 1 (UG)",
        umpa_greedy::map,
    ),
    &Published(
        "umpa-wh",
        "Deveci et al. 2015, section III-B, Algorithm 2 (UWH)",
        umpa_hops::weighted,
    ),
    &Published(
        "umpa-th",
        "Deveci et al. 2015, section III-B, Algorithm 2 for total hops (UTH)",
        umpa_hops::total,
    ),
    MAXIMUM_CONGESTION,
    MAXIMUM_MESSAGE_CONGESTION,
    &Published(
        "topomatch",
        "Jeannot 2022, sections 4.2 to 4.5 (TopoMatch; TreeMatch on trees)",
        topomatch::topomatch,
    ),
    &Published(
        "treematch",
        "Jeannot and Mercier 2010 (TreeMatch, as in Open MPI)",
        topomatch::treematch,
    ),
    &Published(
        "hiertopomap-tree",
        "Wu, Xiong and Lan 2015, sections 3.1.1 and 3.2 (recursive tree mapping)",
        hiertopomap::tree,
    ),
    &Published(
        "hiertopomap-bipart",
        "Wu, Xiong and Lan 2015, section 3.1.2 (recursive bipartitioning)",
        hiertopomap::bipart,
    ),
    &Published(
        "hiertopomap-bipart-wrap",
        "Wu, Xiong and Lan 2015, section 3.1.2, made aware of wrap-around links",
        hiertopomap::bipart_wrap,
    ),
    GEOM,
    &Published("gsearch", "GSearch paper, section II, Figure 2", gsearch::first),
    &Published("gsearch-by-rank", "GSearch paper, section IV-C, variation 1", gsearch::by_rank),
    &Published("gsearch-best", "GSearch paper, section IV-C, variation 2", gsearch::best),
    &Published(
        "multi-jagged",
        "Deveci et al. 2014 (multi-jagged partitioning), rotations and shifts",
        multi_jagged::map,
    ),
];

/// The error for a problem to which an algorithm does not apply. `instead` names one that does.
fn infeasible(what: impl Into<String>, instead: &str) -> Error {
    Error::new(ErrorKind::Infeasible, what).advise(format!("--algorithm {instead} or the default"))
}

#[cfg(test)]
mod tests;
