//! The sources of the portfolio's candidates.

use super::candidate::{Candidate, Origin};
use super::several_grids::Several;
use super::{Effort, Metric};
use crate::mapping::engine::Prepared;
use crate::mapping::geometric::{Recognised, recognise};
use crate::mapping::{Budget, Preset};

/// A source of candidates. [`super::generators::GIVEN_ORDER`] is the template for a new one.
pub(super) struct Generator {
    /// Name in messages and tests.
    pub(super) name: &'static str,
    /// Whether the generator is asked, given the candidates so far.
    pub(super) applies: fn(&Offers<'_, '_, '_>) -> bool,
    /// Makes a candidate with the given name. `None` if the problem does not have the shape that the generator
    /// needs. The generator may change the effort that is spent on all candidates afterwards.
    pub(super) candidate: fn(&'static str, &mut Offers<'_, '_, '_>) -> Option<Candidate>,
}

/// A problem with the candidates that are there so far.
pub(super) struct Offers<'a, 'p, 'q> {
    pub(super) prepared: &'a Prepared<'p, 'q>,
    pub(super) budget: &'a Budget,
    /// The preset that the generators are asked for.
    pub(super) preset: Preset,
    /// The grid that the tasks form, if one is recognised. A few edges may not belong to it.
    pub(super) detected: Option<Recognised>,
    /// The tasks form a grid, and boxes of it cost about as little as any parts could.
    pub(super) has_good_boxes: bool,
    pub(super) effort: Effort,
    pub(super) list: Vec<Candidate>,
    /// The candidate made from lines, if there is one, where it was asked for. It does not depend on the preset.
    pub(super) by_lines: Option<Option<Candidate>>,
    /// The grids that the tasks form, if they form several, where they were asked for.
    pub(super) several: Option<Option<Several>>,
    /// The candidate made from the stencil alone. It comes last in the list of candidates.
    pub(super) by_stencil: Option<Candidate>,
}

impl<'a, 'p, 'q> Offers<'a, 'p, 'q> {
    pub(super) fn new(prepared: &'a Prepared<'p, 'q>, budget: &'a Budget) -> Self {
        let preset = prepared.problem.preset();
        Offers {
            prepared,
            budget,
            preset,
            detected: recognise(&prepared.graph),
            has_good_boxes: false,
            effort: effort(prepared, preset),
            list: Vec::new(),
            by_lines: None,
            several: None,
            by_stencil: None,
        }
    }

    /// Goes on with another preset. The candidates stay.
    pub(super) fn set_preset(&mut self, preset: Preset) {
        self.preset = preset;
        self.effort = effort(self.prepared, preset);
    }

    /// Asks the generators that apply, one after the other.
    pub(super) fn ask(&mut self, generators: &[Generator]) {
        for generator in generators {
            if !(generator.applies)(self) {
                continue;
            }
            let Some(candidate) = (generator.candidate)(generator.name, self) else { continue };
            #[cfg(test)]
            trace::note(generator.name);
            match candidate.origin {
                Origin::Stencil => self.by_stencil = Some(candidate),
                _ => self.list.push(candidate),
            }
        }
    }

    /// True if a candidate cannot be beaten: every pair is at distance 1.
    pub(super) fn reach_the_least(&self) -> bool {
        self.list.iter().any(|c| self.prepared.is_least(self.prepared.cost(&c.place_of)))
    }

    /// True if the shape of the grid tells all about the tasks, if there is one.
    pub(super) fn are_exact(&self) -> bool {
        self.detected.as_ref().is_none_or(Recognised::is_exact)
    }

    /// True off trees if a placement of several grids keeps most neighbours together. A search finds nothing better then, but
    /// local search may.
    pub(super) fn have_good_parts(&self) -> bool {
        let least = self.prepared.least();
        let good = |c: &Candidate| self.prepared.cost(&c.place_of) <= least + least / 4;
        let several = self.several.as_ref().is_some_and(Option::is_some);
        self.prepared.tree.is_none() && several && self.list.iter().any(good)
    }

    /// True on a tree if a search takes a few milliseconds only, or if the tasks form a grid with diagonals: boxes are
    /// seldom the best for such a grid.
    pub(super) fn are_worth_a_search(&self) -> bool {
        /// Tasks up to which a search takes so long. Where no boxes are good, it may take twice as long.
        const FEW: usize = 512;
        let graph = &self.prepared.graph;
        let has_diagonals = |grid: &Recognised| {
            grid.pattern(graph).arcs.len() > 2 * grid.shape.dims.len() * graph.len()
        };
        let few = if self.has_good_boxes { FEW } else { 2 * FEW };
        let by_shape = graph.len() <= few || self.detected.as_ref().is_some_and(has_diagonals);
        self.prepared.tree.is_some() && by_shape
    }

    /// True if a placement by the stencil alone is better than all other candidates.
    pub(super) fn are_beaten_by_stencil(&self) -> bool {
        self.by_stencil.as_ref().is_some_and(|by_stencil| {
            let cost = self.prepared.cost(&by_stencil.place_of);
            self.list.iter().all(|c| self.prepared.cost(&c.place_of) > cost)
        })
    }
}

fn effort(prepared: &Prepared<'_, '_>, preset: Preset) -> Effort {
    Effort::new(preset, prepared.problem.tasks(), Metric::of(prepared))
}

/// Which generators have made a candidate on this thread, for tests that must reach all generators.
#[cfg(test)]
pub(crate) mod trace {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    thread_local! {
        static SEEN: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(crate) fn note(name: &'static str) {
        SEEN.with_borrow_mut(|seen| seen.insert(name));
    }

    /// The names noted since the last call.
    pub(crate) fn take() -> BTreeSet<&'static str> {
        SEEN.take()
    }
}
