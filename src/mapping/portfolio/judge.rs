//! Which of several answers is the best in the objective of a problem. Of equal ones, it is the one with the least
//! hop-bytes. Of answers with the same predicted time, it is the one whose links take less time together, unless messages
//! take detours around loaded links: there, this sum says less of the simulated time than hop-bytes (docs/decisions/0124).

use crate::mapping::evaluation::{time, value};
use crate::mapping::{Budget, Objective, Outcome, Problem};
use std::time::{Duration, Instant};

/// So many answers are judged always: the given order, and one of a search.
const ALWAYS: u32 = 2;

/// After the time limit, answers are judged if that takes no longer than this.
const LONG: Duration = Duration::from_millis(50);

/// Keeps the best answer that it has seen; of equally good ones with equal hop-bytes, the first.
pub(super) struct Judge<'a, 'p> {
    problem: &'a Problem<'p>,
    /// After this time, what takes long is not judged.
    budget: &'a Budget,
    /// Messages take detours around loaded links.
    detours: bool,
    /// How many answers were judged.
    judged: u32,
    /// The longest time that an answer took.
    longest: Duration,
    best: Option<(Worth, Outcome)>,
}

/// The value of an answer, or 0 where it is the hop-bytes; for the time that of the links together, unless there are
/// detours; and the hop-bytes.
#[derive(PartialEq, PartialOrd)]
struct Worth(f64, f64, u128);

impl<'a, 'p> Judge<'a, 'p> {
    /// Judges only the first [`ALWAYS`] answers if the time is over and one answer took longer than [`LONG`]. The loads
    /// of all links for 4096 tasks on a torus with adaptive routing take 0.1 to 0.4 s.
    pub(super) fn new(problem: &'a Problem<'p>, budget: &'a Budget) -> Self {
        let network =
            problem.topology().network().filter(|_| problem.objective() == Objective::Time);
        let detours = network.is_some_and(|network| network.routing().has_detours());
        Judge { problem, budget, detours, judged: 0, longest: Duration::ZERO, best: None }
    }

    /// Looks at one more answer.
    pub(super) fn take(&mut self, answer: Outcome) {
        let begun = Instant::now();
        if self.judged >= ALWAYS && self.longest > LONG && self.budget.expired() {
            return;
        }
        self.judged += 1;
        let worth = self.worth(&answer);
        if self.best.as_ref().is_none_or(|(best, _)| worth < *best) {
            self.best = Some((worth, answer));
        }
        self.longest = self.longest.max(begun.elapsed());
    }

    /// Looks at an answer that is kept before all others unless one of them is better. The time limit does not matter.
    pub(super) fn prefer(&mut self, answer: Outcome) {
        let worth = self.worth(&answer);
        if self.best.as_ref().is_none_or(|(best, _)| worth <= *best) {
            self.best = Some((worth, answer));
        }
    }

    fn worth(&self, answer: &Outcome) -> Worth {
        match self.problem.objective() {
            Objective::HopBytes | Objective::SumCom => Worth(0.0, 0.0, answer.hop_bytes),
            Objective::Time => {
                let time = time(self.problem, &answer.slot_of_task);
                let (slowest, links) = time.map_or((f64::INFINITY, 0.0), |t| (t.slowest, t.links));
                Worth(slowest, if self.detours { 0.0 } else { links }, answer.hop_bytes)
            }
            _ => Worth(
                value(self.problem, &answer.slot_of_task).unwrap_or(f64::INFINITY),
                0.0,
                answer.hop_bytes,
            ),
        }
    }

    /// The value of the best answer in the objective, or 0 where this is the hop-bytes.
    pub(super) fn value(&self) -> Option<f64> {
        self.best.as_ref().map(|(worth, _)| worth.0)
    }

    /// The longest time that it took to judge an answer.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// The best answer so far.
    pub(super) fn best(&self) -> Option<&Outcome> {
        self.best.as_ref().map(|(_, answer)| answer)
    }

    /// The best answer.
    pub(super) fn answer(self) -> Option<Outcome> {
        self.best.map(|(_, answer)| answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Graph;
    use crate::topology::parse;

    /// The cost of the best of two answers, the second of which is better, after the time limit.
    fn judged(first_took: Duration) -> u128 {
        let graph = Graph::from_edges(4, &[(0, 3, 10)]);
        let topology = parse("mesh:4").unwrap();
        let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
        let budget = Budget::within(Duration::ZERO);
        assert!(budget.expired());
        let mut judge = Judge::new(&problem, &budget);
        judge.take(Outcome::new(&problem, vec![0, 1, 2, 3]));
        judge.take(Outcome::new(&problem, vec![0, 1, 2, 3]));
        judge.longest = first_took;
        judge.take(Outcome::new(&problem, vec![0, 3, 2, 1]));
        judge.answer().unwrap().hop_bytes
    }

    #[test]
    fn after_the_time_limit_only_quick_judgements_go_on() {
        assert_eq!(judged(Duration::ZERO), 10);
        assert_eq!(judged(2 * LONG), 30);
    }
}
