//! Which of several answers is the best in the objective of a problem. Of equal ones, it is the one with the least
//! hop-bytes. Of answers with the same predicted time, it is the one whose links take less time together.
//!
//! Where messages take detours around loaded links, this sum says little of the time that a simulation finds. There,
//! answers with the same predicted time are simulated (docs/decisions/0125). If the simulated times are alike, or if a
//! simulation would take too long, hop-bytes decide (docs/decisions/0124).

use crate::mapping::evaluation::{fair_time, time, value};
use crate::mapping::{Budget, Objective, Outcome, Preset, Problem};
use crate::metrics::Allowance;
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// So many answers are judged always: the given order, and one of a search.
const ALWAYS: u32 = 2;

/// After the time limit, answers are judged if that takes no longer than this.
const LONG: Duration = Duration::from_millis(50);

/// The links that the simulations for the answers of each preset may look at. A processor looks at 130 to 400 millions in
/// a second.
const LOOKS: [u64; 3] = [40_000_000, 160_000_000, 800_000_000];

/// One simulation may take this part of them. If it takes more, there would be too few of them to compare answers.
const PART: u64 = 8;

/// Simulated times that differ by no more than this part are alike: the simulation is hardly more exact.
const ALIKE: f64 = 0.004;

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
    /// The least simulated time of answers with the predicted time of the best one.
    least: f64,
    /// Whether another answer was simulated as well, and compared with the best one.
    compared: bool,
    /// The links that all simulations may still look at, and each of them.
    looks: u64,
    looks_of_one: u64,
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
            least: f64::INFINITY,
            compared: false,
            looks: 0,
            looks_of_one: 0,
        }
    }

    /// Allows what simulations may be for the answers of this preset. It does not depend on the preset of the problem, so that
    /// a stronger preset compares the answers of weaker ones as these do.
    pub(super) fn allow(&mut self, preset: Preset) {
        self.looks = LOOKS[preset as usize];
        self.looks_of_one = self.looks / PART;
    }

    /// Looks at one more answer.
    pub(super) fn take(&mut self, answer: Outcome) {
        if self.judged >= ALWAYS && self.longest > LONG && self.budget.expired() {
            return;
        }
        self.judged += 1;
        self.keep_better(answer, false);
    }

    /// Looks at an answer that is kept before all others unless one of them is better. The time limit does not matter. For objectives
    /// without simulations.
    pub(super) fn prefer(&mut self, answer: Outcome) {
        self.keep_better(answer, true);
    }

    /// Keeps the answer if it is better than the best one, or as good and `preferred`.
    fn keep_better(&mut self, answer: Outcome, preferred: bool) {
        // Simulations are not part of this time: after the time limit there are none.
        let begun = Instant::now();
        let worth = self.worth(&answer);
        self.longest = self.longest.max(begun.elapsed());
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
        let (predicted, by_hop_bytes) = (best.0, answer.hop_bytes.cmp(&known.hop_bytes));
        if answer.slot_of_task == known.slot_of_task {
            return (Ordering::Equal, self.simulated);
        }
        if self.simulated.is_none() {
            let known = known.slot_of_task.clone();
            self.simulated = self.simulate(&known, f64::INFINITY);
            self.least = self.simulated.unwrap_or(f64::INFINITY);
            self.compared = false;
        }
        let Some(known) = self.simulated else { return (by_hop_bytes, None) };
        if known <= predicted * (1.0 + ALIKE) && by_hop_bytes.is_ge() {
            return (Ordering::Greater, None);
        }
        let limit = self.least * (1.0 + ALIKE);
        let Some(found) = self.simulate(&answer.slot_of_task, limit) else {
            // An answer that was found to be faster than another one stays. One that was not compared is no better than others.
            return (if self.compared { Ordering::Greater } else { by_hop_bytes }, None);
        };
        self.compared = true;
        if found.is_infinite() {
            return (Ordering::Greater, None);
        }
        self.least = self.least.min(found);
        let is_slow = known > self.least * (1.0 + ALIKE);
        (if is_slow { Ordering::Less } else { by_hop_bytes }, Some(found))
    }

    /// The simulated time of a mapping, or infinity if it is above `limit`. `None` if it takes too long; then nothing more is
    /// simulated.
    fn simulate(&mut self, slot_of_task: &[usize], limit: f64) -> Option<f64> {
        let looks = self.looks.min(self.looks_of_one);
        if looks == 0 || self.budget.expired() {
            return None;
        }
        let is_over = || self.budget.expired();
        let mut allowance = Allowance { looks, is_over: &is_over };
        let found = fair_time(self.problem, slot_of_task, limit, &mut allowance);
        self.looks = found.map_or(0, |_| self.looks - (looks - allowance.looks));
        found
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
        self.looks > 0 && self.simulated.is_some_and(|time| time > worth * (1.0 + ALIKE))
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

    /// Placements of a ring of eight tasks, each of which also sends to the one after next, and their predicted and simulated times.
    fn simulated(problem: &Problem<'_>, count: usize) -> Vec<(Outcome, f64, f64)> {
        let mut rng = crate::base::random::SplitMix64::new(3);
        let one = |_| {
            let mut places: Vec<u32> = (0..16).collect();
            for k in (1..16).rev() {
                places.swap(k, rng.below(k + 1));
            }
            let answer = Outcome::new(problem, places);
            let predicted = time(problem, &answer.slot_of_task).unwrap().slowest;
            let mut allowance = Allowance { looks: u64::MAX, is_over: &|| false };
            let slots = &answer.slot_of_task;
            let simulated = fair_time(problem, slots, f64::INFINITY, &mut allowance).unwrap();
            (answer, predicted, simulated)
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn answers_with_the_same_predicted_time_are_simulated() {
        let edges: Vec<(u32, u32, u64)> =
            (0..8u32).flat_map(|a| [(a, (a + 1) % 8, 1000), (a, (a + 2) % 8, 400)]).collect();
        let graph = Graph::from_edges(16, &edges);
        let topology = parse("dragonfly:4x2x2,routing=adaptive").unwrap();
        let builder = Problem::builder(&graph, topology.as_ref()).objective(Objective::Time);
        let problem = builder.build().unwrap();
        let budget = Budget::unlimited();
        let answers = simulated(&problem, 150);
        // How many pairs there are, and in how many the right one is taken.
        let (mut faster, mut alike) = ([0, 0], [0, 0]);
        let pairs = answers.iter().flat_map(|a| answers.iter().map(move |b| (a, b)));
        // The first has more hop-bytes than the second, and the same predicted time.
        for (a, b) in pairs.filter(|(a, b)| a.1 == b.1 && a.0.hop_bytes > b.0.hop_bytes) {
            let judged = |preset: Option<Preset>, order: [&Outcome; 2]| {
                let mut judge = Judge::new(&problem, &budget);
                preset.into_iter().for_each(|preset| judge.allow(preset));
                order.into_iter().for_each(|answer| judge.take(answer.clone()));
                judge.answer().unwrap()
            };
            for order in [[&a.0, &b.0], [&b.0, &a.0]] {
                let found = judged(Some(Preset::Default), order);
                if a.2 < b.2 * 0.97 {
                    faster[0] += 1;
                    faster[1] += usize::from(found == a.0);
                } else if (a.2 - b.2).abs() < ALIKE * 0.9 * a.2 {
                    alike[0] += 1;
                    alike[1] += usize::from(found == b.0);
                }
                assert_eq!(judged(None, order), b.0, "nothing may be simulated");
            }
        }
        // An answer may be given up where its first draws mislead.
        assert!(faster[0] > 9 && faster[1] * 10 >= faster[0] * 9, "{faster:?}");
        assert!(alike[0] > 9 && alike[1] * 10 >= alike[0] * 9, "{alike:?}");
    }

    #[test]
    fn after_the_time_limit_only_quick_judgements_go_on() {
        assert_eq!(judged(Duration::ZERO), 10);
        assert_eq!(judged(2 * LONG), 30);
    }
}
