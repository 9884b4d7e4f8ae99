//! The answer of a mapping algorithm.

use super::Problem;
use crate::metrics;

/// A mapping with its cost, and notes about how it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The place of every task, an index into [`Problem::places`].
    pub place_of_task: Vec<u32>,
    /// The slot of every task.
    pub slot_of_task: Vec<usize>,
    /// Hop-bytes by the independent evaluator.
    pub hop_bytes: u128,
    /// Notes of the algorithm about its run, for users: `(what, value)`.
    pub diagnostics: Vec<(&'static str, String)>,
}

impl Outcome {
    /// Evaluates the places that an algorithm chose. `place_of_task` holds a place for every task.
    pub fn new(problem: &Problem<'_>, place_of_task: Vec<u32>) -> Self {
        Self::by(1, problem, place_of_task)
    }

    /// As [`Self::new`], with several threads.
    pub(crate) fn by(threads: usize, problem: &Problem<'_>, place_of_task: Vec<u32>) -> Self {
        let slot_of_task = problem.slots_of(&place_of_task);
        let (graph, topology) = (problem.graph(), problem.topology());
        let hop_bytes = metrics::hop_bytes_by(threads, graph, topology, &slot_of_task);
        Outcome { place_of_task, slot_of_task, hop_bytes, diagnostics: Vec::new() }
    }

    /// As [`Self::new`]. `None` if the hop-bytes are above `limit`, which is found out sooner than how many they are.
    pub(crate) fn within(
        problem: &Problem<'_>,
        place_of_task: Vec<u32>,
        limit: u128,
    ) -> Option<Self> {
        let slot_of_task = problem.slots_of(&place_of_task);
        let (graph, topology) = (problem.graph(), problem.topology());
        let hop_bytes = metrics::hop_bytes_within(graph, topology, &slot_of_task, limit)?;
        Some(Outcome { place_of_task, slot_of_task, hop_bytes, diagnostics: Vec::new() })
    }

    /// Adds a diagnostic.
    #[must_use]
    pub fn with(mut self, what: &'static str, value: impl ToString) -> Self {
        self.diagnostics.push((what, value.to_string()));
        self
    }
}
