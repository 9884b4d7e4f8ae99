//! What makes candidates.

use super::Effort;
use super::candidate::Candidate;
use crate::mapping::Budget;
use crate::mapping::engine::Prepared;
use crate::mapping::geometric::{GridShape, detect};

/// A source of candidates. [`super::generators::GivenOrder`] is the template for a new one.
pub(super) trait Generator: Sync {
    /// Name in messages and tests.
    fn name(&self) -> &'static str;

    /// Whether it is asked, given what others have offered so far.
    fn applies(&self, offers: &Offers<'_, '_, '_>) -> bool;

    /// First answers: a place for every vertex. None where the problem does not have the shape it
    /// works on. May change the effort that is spent on all candidates afterwards.
    fn candidates(&self, offers: &mut Offers<'_, '_, '_>) -> Vec<Candidate>;
}

/// A problem with the candidates that are there so far.
pub(super) struct Offers<'a, 'p, 'q> {
    pub(super) prepared: &'a Prepared<'p, 'q>,
    pub(super) budget: &'a Budget,
    /// The grid that the tasks form, if one is recognised.
    pub(super) detected: Option<GridShape>,
    pub(super) effort: Effort,
    pub(super) list: Vec<Candidate>,
    /// Candidates made from the stencil alone: they stand behind all others.
    pub(super) by_stencil: Vec<Candidate>,
}

impl<'a, 'p, 'q> Offers<'a, 'p, 'q> {
    pub(super) fn new(prepared: &'a Prepared<'p, 'q>, budget: &'a Budget) -> Self {
        let problem = prepared.problem;
        Offers {
            prepared,
            budget,
            detected: detect(&prepared.graph),
            effort: Effort::new(problem.preset(), problem.tasks(), prepared.tree.is_some()),
            list: Vec::new(),
            by_stencil: Vec::new(),
        }
    }

    /// Asks the generators that apply, one after the other.
    pub(super) fn ask(&mut self, generators: &[&dyn Generator]) {
        for generator in generators {
            if !generator.applies(self) {
                continue;
            }
            for candidate in generator.candidates(self) {
                #[cfg(test)]
                trace::note(generator.name());
                match candidate.by_stencil {
                    true => self.by_stencil.push(candidate),
                    false => self.list.push(candidate),
                }
            }
        }
    }

    /// True if a candidate cannot be beaten: every pair is at distance 1.
    pub(super) fn reach_the_least(&self) -> bool {
        let least = self.prepared.least();
        self.list.iter().any(|c| self.prepared.cost(&c.place_of) == least)
    }

    /// True if a placement by the stencil alone is better than all other candidates.
    pub(super) fn are_beaten_by_stencil(&self) -> bool {
        self.by_stencil.first().is_some_and(|by_stencil| {
            let cost = self.prepared.cost(&by_stencil.place_of);
            self.list.iter().all(|c| self.prepared.cost(&c.place_of) > cost)
        })
    }
}

/// Which generators have offered something on this thread: the proof that tests reach all of them.
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

    /// Those noted since the last call.
    pub(crate) fn take() -> BTreeSet<&'static str> {
        SEEN.take()
    }
}
