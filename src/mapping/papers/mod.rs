//! The algorithms of the papers this project builds on, under the papers' names.
//!
//! They are here to be compared with, as building blocks, and because users ask for them by name;
//! the default is [`super::Auto`]. Each file says which paper and section it follows and where it
//! differs. All of them fill every place at most once, keep fixed tasks (by swapping them to their
//! places at the end where the algorithm knows no such constraint), and are deterministic.
//!
//! | family | names | source |
//! |---|---|---|
//! | baselines | `random`, `round-robin`, `packed` | – |
//! | libtopomap | `libtopomap-greedy`, `libtopomap-rb`, `libtopomap-rcm` | Hoefler and Snir, ICS 2011 |
//! | TopoLB | `topolb`, `topolb-third-order`, `topocentlb`, `refine-topolb` | Agarwal, Sharma, Kalé, IPDPS 2006 |
//! | UMPA | `umpa-greedy`, `umpa-wh`, `umpa-th`, `umpa-mc`, `umpa-mmc` | Deveci et al., IPDPS 2015 |
//! | TopoMatch | `topomatch`, `treematch` | Jeannot, JPDC 2022; Jeannot and Mercier 2010 |
//! | HierTopoMap | `hiertopomap-tree`, `hiertopomap-bipart`, `hiertopomap-bipart-wrap` | Wu et al. 2015 |
//! | GEOM | `geom`, `gsearch`, `gsearch-by-rank`, `gsearch-best`, `multi-jagged` | GSearch paper; Deveci et al. 2014 |

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
mod quotient;
mod refine_topolb;
mod topocentlb;
mod topolb;
mod topomatch;
mod topomatch_grouping;
mod umpa_congestion;
mod umpa_greedy;
mod umpa_hops;

#[cfg(test)]
mod tests;

use super::Mapper;

/// Grids on allocations with gaps, for the portfolio.
pub(super) const GEOM: &dyn Mapper = &geom::Geom;

/// UMPA's refinement of the most loaded link by bytes, for the portfolio.
pub(super) const MAXIMUM_CONGESTION: &dyn Mapper = &umpa_congestion::MAXIMUM_CONGESTION;

/// UMPA's refinement of the most loaded link by messages, for the portfolio.
pub(super) const MAXIMUM_MESSAGE_CONGESTION: &dyn Mapper =
    &umpa_congestion::MAXIMUM_MESSAGE_CONGESTION;

/// All algorithms of this folder.
pub(super) const ALL: &[&dyn Mapper] = &[
    &baselines::Random,
    &baselines::RoundRobin,
    &baselines::Packed,
    &libtopomap::Greedy,
    &libtopomap::RecursiveBisection,
    &libtopomap::Rcm,
    &topolb::SECOND_ORDER,
    &topolb::THIRD_ORDER,
    &topocentlb::TopoCentLb,
    &refine_topolb::RefineTopoLb,
    &umpa_greedy::UmpaGreedy,
    &umpa_hops::WEIGHTED_HOPS,
    &umpa_hops::TOTAL_HOPS,
    &umpa_congestion::MAXIMUM_CONGESTION,
    &umpa_congestion::MAXIMUM_MESSAGE_CONGESTION,
    &topomatch::TopoMatch,
    &topomatch::TreeMatch,
    &hiertopomap::TREE,
    &hiertopomap::BIPART,
    &hiertopomap::BIPART_WRAP,
    &geom::Geom,
    &gsearch::GSEARCH,
    &gsearch::BY_RANK,
    &gsearch::BEST,
    &multi_jagged::MultiJagged,
];
