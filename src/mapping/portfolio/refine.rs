//! Improves the best candidates by local search, and keeps the best of them.
//!
//! Which candidates are improved depends on where they come from, because local search improves some of them less than others.

use super::candidate::{Candidate, Origin};
use super::effort::{HOT_AFTER_LINES, hot_after_clusters};
use super::{Effort, polish};
use crate::base::sorting::Arrange;
use crate::mapping::Budget;
use crate::mapping::engine::Prepared;

/// The best of the candidates after local search, with its cost, which is not computed if there is nothing to
/// compare.
pub(super) fn refined(
    prepared: &Prepared<'_, '_>,
    candidates: Vec<Candidate>,
    effort: &Effort,
    budget: &Budget,
) -> Option<(Candidate, Option<i128>)> {
    // On a large tree there is only one candidate, and no comparison.
    let compared = candidates.len() > 1 || prepared.tree.is_none();
    let alone = candidates.len() == 1;
    let mut list: Vec<(i128, Candidate)> = candidates
        .into_iter()
        .map(|mut candidate| {
            prepared.honour_fixed(&mut candidate.place_of);
            (if compared { prepared.cost(&candidate.place_of) } else { 0 }, candidate)
        })
        .collect();
    list.arrange_by_key(|(cost, _)| *cost);
    // The best is refined. Local search improves a placement by the stencil alone or by lines less than others, and a
    // folding even less: where such a placement is the best, the next one is refined too, unless it is much worse. If a
    // folding keeps most neighbours together, the others are no better.
    let share = list.first().and_then(|(cost, best)| {
        let loose = *cost > prepared.least() + prepared.least() / 4;
        match best.origin {
            Origin::Search | Origin::Clusters => None,
            Origin::Stencil => Some(8),
            Origin::EvenLines | Origin::UnevenLines => Some(4),
            Origin::Folding => loose.then_some(2),
            Origin::Blocks => loose.then_some(4),
        }
    });
    let most = list.first().map_or(0, |(cost, _)| cost + share.map_or(0, |share| cost / share));
    // If these two are a placement by the stencil and one by uneven lines, the one after them is refined too.
    let both = list.len() > 1
        && list[..2].iter().all(|(_, c)| matches!(c.origin, Origin::Stencil | Origin::UnevenLines));
    list.truncate(if share.is_some() { 2 + usize::from(both) } else { 1 });
    list.retain(|(cost, _)| *cost <= most);
    let polished = list.into_iter().map(|(cost, candidate)| {
        if prepared.tree.is_none() && prepared.is_least(cost) {
            return (Some(cost), candidate);
        }
        let effort = &match candidate.origin {
            // Blocks are annealed down to single tasks.
            Origin::Blocks => Effort { anneal_steps: 0, ..*effort },
            Origin::Clusters => Effort { hot: hot_after_clusters(effort.hot), ..*effort },
            Origin::EvenLines => Effort { hot: effort.hot.min(HOT_AFTER_LINES), ..*effort },
            Origin::Search | Origin::Stencil | Origin::Folding | Origin::UnevenLines => *effort,
        };
        let place_of = polish(prepared, candidate.place_of, effort, budget);
        let cost = (!alone).then(|| prepared.cost(&place_of));
        (cost, Candidate { place_of, ..candidate })
    });
    polished.min_by_key(|(cost, _)| *cost).map(|(cost, best)| (best, cost))
}
