//! Which of several answers is the best in the objective of a problem. Of equal ones, it is the one with the least
//! hop-bytes. Of answers with the same predicted time, it is the one whose links take less time together.
//!
//! Where messages take detours around loaded links, this sum says little of the time that a simulation finds. There,
//! answers with the same predicted time are simulated (docs/decisions/0125), and of large matrices the one with the
//! least hop-bytes is the best (docs/decisions/0124).

use crate::mapping::evaluation::{fair_time, time, value};
use crate::mapping::{Budget, Objective, Outcome, Problem};
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// So many answers are judged always: the given order, and one of a search.
const ALWAYS: u32 = 2;

/// After the time limit, answers are judged if that takes no longer than this.
const LONG: Duration = Duration::from_millis(50);

/// The links that all simulations of a problem may look at, by the preset. A processor looks at about 400 millions in a
/// second.
const LOOKS: [u64; 3] = [40_000_000, 200_000_000, 1_000_000_000];

/// A simulated time that is above the predicted one by no more than this part is not worth more simulations.
const LITTLE: f64 = 0.002;

/// Keeps the best answer that it has seen; of equally good ones, the first.
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
    /// The simulated time of the best answer, once it was needed.
    simulated: Option<f64>,
    /// The links that simulations may still look at.
    looks: u64,
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
        Judge {
            problem,
            budget,
            detours,
            judged: 0,
            longest: Duration::ZERO,
            best: None,
            simulated: None,
            looks: LOOKS[problem.preset() as usize],
        }
    }

    /// Looks at one more answer.
    pub(super) fn take(&mut self, answer: Outcome) {
        let begun = Instant::now();
        if self.judged >= ALWAYS && self.longest > LONG && self.budget.expired() {
            return;
        }
        self.judged += 1;
        self.keep_better(answer, false);
        self.longest = self.longest.max(begun.elapsed());
    }

    /// Looks at an answer that is kept before all others unless one of them is better. The time limit does not matter.
    pub(super) fn prefer(&mut self, answer: Outcome) {
        self.keep_better(answer, true);
    }

    /// Keeps the answer if it is better than the best one, or as good and `preferred`.
    fn keep_better(&mut self, answer: Outcome, preferred: bool) {
        let worth = self.worth(&answer);
        let (order, simulated) = match &self.best {
            None => (Ordering::Less, None),
            Some((best, _)) if self.detours && worth.0 == best.0 => self.by_simulation(&answer),
            Some((best, _)) => (worth.partial_cmp(best).unwrap_or(Ordering::Greater), None),
        };
        if order.is_lt() || preferred && order.is_eq() {
            self.best = Some((worth, answer));
            self.simulated = simulated;
        }
    }

    /// Compares an answer with the best one, which has the same predicted time. Returns the simulated time of the
    /// answer as well, where it was simulated.
    fn by_simulation(&mut self, answer: &Outcome) -> (Ordering, Option<f64>) {
        let Some((best, known)) = &self.best else { return (Ordering::Less, None) };
        let by_hop_bytes = answer.hop_bytes.cmp(&known.hop_bytes);
        let (problem, budget, looks) = (self.problem, self.budget, &mut self.looks);
        let mut simulate = |answer: &Outcome, limit| {
            if budget.expired() {
                return None;
            }
            let found = fair_time(problem, &answer.slot_of_task, limit, looks);
            if found.is_none() {
                *looks = 0;
            }
            found
        };
        let Some(known) = self.simulated.or_else(|| simulate(known, f64::INFINITY)) else {
            return (by_hop_bytes, None);
        };
        self.simulated = Some(known);
        // Nothing ends before the slowest link.
        let gains = known > best.0 * (1.0 + LITTLE) || by_hop_bytes.is_lt();
        let found = gains.then(|| simulate(answer, known)).flatten();
        // No answer takes the place of a simulated one without a simulation.
        let order =
            found.map_or(Ordering::Greater, |time| time.total_cmp(&known).then(by_hop_bytes));
        (order, found)
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

    /// Whether another answer with the same predicted time may take less time in a simulation.
    pub(super) fn gains_by_simulation(&self) -> bool {
        let worth = self.best.as_ref().map_or(0.0, |(worth, _)| worth.0);
        self.looks > 0 && self.simulated.is_some_and(|time| time > worth * (1.0 + LITTLE))
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

    /// Four tasks of a group send to another group over one channel. All placements inside of the groups have the same
    /// predicted time, that of the busiest host.
    #[test]
    fn answers_with_the_same_predicted_time_are_simulated() {
        let edges: Vec<(u32, u32, u64)> =
            (0..8u32).flat_map(|a| [(a, (a + 5) % 8, 1000), (a, (a + 2) % 8, 400)]).collect();
        let graph = Graph::from_edges(16, &edges);
        let topology = parse("dragonfly:4x2x2,routing=adaptive").unwrap();
        let builder = Problem::builder(&graph, topology.as_ref()).objective(Objective::Time);
        let problem = builder.build().unwrap();
        let budget = Budget::unlimited();
        let mut rng = crate::base::random::SplitMix64::new(3);
        let mut judge = Judge::new(&problem, &budget);
        let (mut least, mut taken) = (f64::INFINITY, 0);
        for _ in 0..40 {
            let mut places: Vec<u32> = (0..16).collect();
            for k in (1..16).rev() {
                places.swap(k, rng.below(k + 1));
            }
            let answer = Outcome::new(&problem, places);
            let predicted = time(&problem, &answer.slot_of_task).unwrap().slowest;
            let simulated =
                fair_time(&problem, &answer.slot_of_task, f64::INFINITY, &mut u64::MAX.clone());
            if judge.value().is_none_or(|value| predicted < value) {
                (least, taken) = (f64::INFINITY, 0);
            }
            judge.take(answer);
            if judge.value() == Some(predicted) {
                least = least.min(simulated.unwrap());
                taken += 1;
            }
        }
        let best = judge.answer().unwrap();
        let found =
            fair_time(&problem, &best.slot_of_task, f64::INFINITY, &mut u64::MAX.clone()).unwrap();
        assert!(taken > 1, "several answers have the same predicted time");
        // An answer may be given up by mistake where the first draws mislead.
        assert!(found <= least * 1.01, "{found} {least}");
    }

    #[test]
    fn after_the_time_limit_only_quick_judgements_go_on() {
        assert_eq!(judged(Duration::ZERO), 10);
        assert_eq!(judged(2 * LONG), 30);
    }
}
