//! Simulated annealing of single tasks between slots, within the load limit.
//!
//! A proposal takes a task next to one on another slot, and moves it there. If that slot is full, a task from there that
//! has a partner on the first slot comes back in exchange. Proposals that raise the cost are accepted with a
//! probability that falls with the cost and with time. So tasks also pass through states that the local search does not
//! leave, which matters most for graphs without good cuts.

use super::local_search::LocalSearch;
use crate::mapping::engine::Rng;
use crate::mapping::{Budget, Objective, Preset};

/// Most slots: their distances are in a table.
const MOST_SLOTS: usize = 1024;

/// Steps between two looks at the clock.
const STRIDE: u64 = 4096;

/// A proposal is one step, or one for each so many partners of its tasks if they have more.
const PARTNERS: u64 = 64;

/// Partners that are tried for an exchange.
const TRIED: usize = 4;

/// How long and how hot the annealing is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Annealing {
    /// Proposals of tasks with up to [`PARTNERS`] partners together. Where tasks have more, there are fewer.
    pub(super) steps: u64,
    /// First and last temperature, in units of the mean rise of the cost by a proposal.
    pub(super) hot: f64,
    pub(super) cold: f64,
}

/// A mapping that is annealed. Slots are numbered from 0 among those that the tasks may use.
struct State<'a, 'p> {
    search: &'a LocalSearch<'a, 'p>,
    /// By both slots.
    distances: Vec<f64>,
    slot_of: Vec<u32>,
    sums: Vec<u128>,
    /// The tasks of each slot that may move, and the index of each task there.
    members: Vec<Vec<u32>>,
    index: Vec<u32>,
    /// By task: its partners on other slots.
    outside: Vec<u32>,
    /// The tasks that may move and have partners on other slots, and the index of each task there.
    border: Vec<u32>,
    border_index: Vec<u32>,
}

/// A task that moves, and perhaps another one that comes back.
struct Proposal {
    task: usize,
    there: u32,
    back: Option<usize>,
    rise: f64,
}

impl Annealing {
    /// What is done with each preset, one after the other. The first changes little of a mapping. The second one leaves poor
    /// groups, and costs more where a few distances are far larger than most.
    pub(super) fn phases(preset: Preset, tasks: usize) -> Vec<Annealing> {
        let steps = |per_task: u64, most: u64| (per_task * tasks as u64).min(most);
        let cool = |steps| Annealing { steps, hot: 0.1, cold: 0.01 };
        let hot = |steps| Annealing { steps, hot: 0.3, cold: 0.03 };
        match preset {
            Preset::Fast => vec![cool(steps(120, 1_000_000))],
            Preset::Default => vec![cool(steps(240, 2_000_000)), hot(steps(1200, 10_000_000))],
            Preset::Strong => vec![cool(steps(1200, 10_000_000)), hot(steps(12_000, 100_000_000))],
        }
    }

    /// The mapping after annealing; `slots` are those that the tasks may use. `None` if there are too many, or if
    /// no proposal raises the cost. The prices of previous slots are not looked at.
    pub(super) fn run(
        self,
        search: &LocalSearch<'_, '_>,
        slots: &[usize],
        slot_of_task: &[usize],
        rng: &mut Rng,
        budget: &Budget,
    ) -> Option<Vec<usize>> {
        let mut state = State::new(search, slots, slot_of_task)?;
        let rises = (0..1000).filter_map(|_| state.propose(rng)).map(|p| p.rise);
        let rises: Vec<f64> = rises.filter(|&rise| rise > 0.0).collect();
        let mean = rises.iter().sum::<f64>() / rises.len().max(1) as f64;
        if mean <= 0.0 {
            return None;
        }
        let work = self.steps.max(1) * PARTNERS;
        let mut done = 0;
        while done < work && !budget.expired() {
            let share = done as f64 / work as f64;
            let temperature = self.hot * mean * libm::pow(self.cold / self.hot, share);
            let pause = done + STRIDE * PARTNERS;
            while done < pause {
                done += PARTNERS;
                let Some(proposal) = state.propose(rng) else { continue };
                done += state.partners(&proposal).saturating_sub(PARTNERS);
                let x = proposal.rise / temperature;
                if x <= 0.0 || (x < 30.0 && rng.unit() < libm::exp(-x)) {
                    state.accept(&proposal);
                }
            }
        }
        Some(state.slot_of.iter().map(|&slot| slots[slot as usize]).collect())
    }
}

impl<'a, 'p> State<'a, 'p> {
    fn new(
        search: &'a LocalSearch<'a, 'p>,
        slots: &[usize],
        slot_of_task: &[usize],
    ) -> Option<Self> {
        let topology = search.problem.topology;
        if slots.len() > MOST_SLOTS {
            return None;
        }
        let mut number = vec![u32::MAX; topology.slots()];
        slots.iter().zip(0..).for_each(|(&slot, k)| number[slot] = k);
        let slot_of: Vec<u32> = slot_of_task.iter().map(|&slot| number[slot]).collect();
        if slot_of.contains(&u32::MAX) {
            return None;
        }
        let mut distances = Vec::with_capacity(slots.len() * slots.len());
        let mut row = vec![0u64; slots.len()];
        for &slot in slots {
            topology.distances(slot, slots, &mut row);
            distances.extend(row.iter().map(|&distance| distance as f64));
        }
        let mut members = vec![Vec::new(); slots.len()];
        let mut index = vec![0; slot_of.len()];
        let mut sums = vec![0; slots.len()];
        for (task, &slot) in slot_of.iter().enumerate() {
            sums[slot as usize] += search.loads.of(task);
            if !search.pinned[task] {
                index[task] = members[slot as usize].len() as u32;
                members[slot as usize].push(task as u32);
            }
        }
        let tasks = slot_of.len();
        let mut state = State {
            search,
            distances,
            slot_of,
            sums,
            members,
            index,
            outside: vec![0; tasks],
            border: Vec::new(),
            border_index: vec![0; tasks],
        };
        for task in 0..tasks {
            let row = search.problem.graph.neighbours(task).iter();
            let is_outside = |&&t: &&u32| state.slot_of[t as usize] != state.slot_of[task];
            state.outside[task] = row.filter(is_outside).count() as u32;
            if state.outside[task] > 0 {
                state.join_border(task);
            }
        }
        Some(state)
    }

    fn join_border(&mut self, task: usize) {
        if !self.search.pinned[task] {
            self.border_index[task] = self.border.len() as u32;
            self.border.push(task as u32);
        }
    }

    fn leave_border(&mut self, task: usize) {
        if !self.search.pinned[task] {
            let at = self.border_index[task] as usize;
            self.border.swap_remove(at);
            if let Some(&moved) = self.border.get(at) {
                self.border_index[moved as usize] = at as u32;
            }
        }
    }

    /// Changes the number of a task's partners on other slots.
    fn set_outside(&mut self, task: usize, count: u32) {
        match (std::mem::replace(&mut self.outside[task], count), count) {
            (0, 1..) => self.join_border(task),
            (1.., 0) => self.leave_border(task),
            _ => {}
        }
    }

    #[inline]
    fn weight(&self, weight: u64) -> f64 {
        if self.search.problem.objective == Objective::TotalHops { 1.0 } else { weight as f64 }
    }

    /// How much the cost rises if a task goes from one slot to another.
    fn rise(&self, task: usize, from: u32, to: u32) -> f64 {
        let slots = self.members.len();
        let (from, to) = (from as usize * slots, to as usize * slots);
        let arcs = self.search.problem.graph.arcs(task);
        arcs.map(|(t, w)| {
            let there = self.slot_of[t as usize] as usize;
            self.weight(w) * (self.distances[to + there] - self.distances[from + there])
        })
        .sum()
    }

    /// The partners of all tasks of a proposal.
    fn partners(&self, proposal: &Proposal) -> u64 {
        let degree = |task: usize| self.search.problem.graph.degree(task) as u64;
        degree(proposal.task) + proposal.back.map_or(0, degree)
    }

    /// A random proposal that keeps the limit.
    fn propose(&self, rng: &mut Rng) -> Option<Proposal> {
        let graph = self.search.problem.graph;
        let task = *self.border.get(rng.below(self.border.len().max(1)))? as usize;
        let row = graph.neighbours(task);
        let there = self.slot_of[row[rng.below(row.len())] as usize];
        let here = self.slot_of[task];
        if there == here {
            return None;
        }
        let (load, limit) = (self.search.loads.of(task), self.search.limit);
        let after = self.sums[there as usize] + load;
        let alone = Proposal { task, there, back: None, rise: self.rise(task, here, there) };
        if after <= limit {
            return Some(alone);
        }
        let least = after - limit;
        let most = (limit + load).checked_sub(self.sums[here as usize])?;
        let fits = |other: usize| (least..=most).contains(&self.search.loads.of(other));
        for _ in 0..TRIED {
            let beside = &self.members[here as usize];
            let row = graph.neighbours(*beside.get(rng.below(beside.len().max(1)))? as usize);
            let Some(&other) = row.get(rng.below(row.len().max(1))) else { continue };
            let other = other as usize;
            if self.slot_of[other] != there || self.search.pinned[other] || !fits(other) {
                continue;
            }
            return Some(self.exchange(alone, other, here));
        }
        let members = &self.members[there as usize];
        let other = *members.get(rng.below(members.len().max(1)))? as usize;
        fits(other).then(|| self.exchange(alone, other, here))
    }

    /// The proposal with another task that comes back.
    fn exchange(&self, alone: Proposal, other: usize, here: u32) -> Proposal {
        let graph = self.search.problem.graph;
        let weight = graph.weight_between(alone.task, other);
        let apart = self.distances[alone.there as usize * self.members.len() + here as usize];
        let between = if weight == 0 { 0.0 } else { self.weight(weight) * apart };
        let rise = alone.rise + self.rise(other, alone.there, here) + 2.0 * between;
        Proposal { back: Some(other), rise, ..alone }
    }

    fn accept(&mut self, proposal: &Proposal) {
        let here = self.slot_of[proposal.task];
        self.move_task(proposal.task, proposal.there);
        if let Some(other) = proposal.back {
            self.move_task(other, here);
        }
    }

    fn move_task(&mut self, task: usize, to: u32) {
        let from = std::mem::replace(&mut self.slot_of[task], to) as usize;
        let load = self.search.loads.of(task);
        self.sums[from] -= load;
        self.sums[to as usize] += load;
        let at = self.index[task] as usize;
        self.members[from].swap_remove(at);
        if let Some(&moved) = self.members[from].get(at) {
            self.index[moved as usize] = at as u32;
        }
        self.index[task] = self.members[to as usize].len() as u32;
        self.members[to as usize].push(task as u32);
        let mut outside = 0;
        for &t in self.search.problem.graph.neighbours(task) {
            let slot = self.slot_of[t as usize];
            outside += u32::from(slot != to);
            if slot == to {
                self.set_outside(t as usize, self.outside[t as usize] - 1);
            } else if slot as usize == from {
                self.set_outside(t as usize, self.outside[t as usize] + 1);
            }
        }
        self.set_outside(task, outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::balance::Loads;
    use crate::mapping::engine::seeded;
    use crate::mapping::{Problem, ProblemBuilder};
    use crate::matrix::{Graph, synthetic::pattern};
    use crate::metrics;
    use crate::topology::{Topology, parse};

    const SLOTS: [usize; 12] = [1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15];

    /// A graph on some slots of a torus, tasks dealt out one by one.
    struct Case {
        graph: Graph,
        topology: Box<dyn Topology>,
        loads: Loads,
        pinned: Vec<bool>,
        start: Vec<usize>,
    }

    impl Case {
        fn new(text: &str) -> Case {
            let graph = pattern(text).unwrap();
            let n = graph.vertices();
            let loads = Loads::new((0..n as u64).map(|t| t * 7 % 10).collect(), 0.05).unwrap();
            let pinned = (0..n).map(|t| t % 17 == 0).collect();
            let start = (0..n).map(|t| SLOTS[t % SLOTS.len()]).collect();
            Case { graph, topology: parse("torus:4x4").unwrap(), loads, pinned, start }
        }

        fn problem(&self) -> ProblemBuilder<'_> {
            Problem::builder(&self.graph, self.topology.as_ref())
        }

        fn search<'a, 'p>(&'a self, problem: &'a ProblemBuilder<'p>) -> LocalSearch<'a, 'p> {
            let limit = self.loads.limit(SLOTS.len()).max(self.most(&self.start));
            LocalSearch { problem, loads: &self.loads, limit, pinned: &self.pinned, homes: None }
        }

        fn most(&self, slot_of_task: &[usize]) -> u128 {
            self.loads.of_slots(16, slot_of_task).into_iter().max().unwrap()
        }

        fn cost(&self, slot_of_task: &[usize]) -> u128 {
            metrics::hop_bytes(&self.graph, self.topology.as_ref(), slot_of_task)
        }
    }

    #[test]
    fn annealing_lowers_the_cost_and_keeps_limit_slots_and_pinned_tasks() {
        for text in ["powerlaw:400", "rgg:400", "stencil:20x20,shuffle=1"] {
            let case = Case::new(text);
            let problem = case.problem();
            let search = case.search(&problem);
            let annealing = Annealing { steps: 400_000, hot: 0.3, cold: 0.01 };
            let run = || {
                let rng = &mut seeded(1);
                annealing.run(&search, &SLOTS, &case.start, rng, &Budget::unlimited()).unwrap()
            };
            let found = run();
            assert_eq!(found, run(), "{text}: the same seed");
            assert!(case.most(&found) <= search.limit, "{text}");
            assert!(found.iter().all(|slot| SLOTS.contains(slot)), "{text}");
            let kept = |t: usize| !case.pinned[t] || found[t] == case.start[t];
            assert!((0..found.len()).all(kept), "{text}");
            let (before, after) = (case.cost(&case.start), case.cost(&found));
            assert!(10 * after < 7 * before, "{text}: {before} {after}");
        }
    }

    /// The border and the rises of the cost stay right over many moves.
    #[test]
    fn what_is_kept_up_to_date_is_what_a_new_state_has() {
        let case = Case::new("powerlaw:300");
        let problem = case.problem();
        let search = case.search(&problem);
        let mut state = State::new(&search, &SLOTS, &case.start).unwrap();
        let rng = &mut seeded(3);
        let slots = |state: &State<'_, '_>| -> Vec<usize> {
            state.slot_of.iter().map(|&slot| SLOTS[slot as usize]).collect()
        };
        for step in 0..3000 {
            let Some(proposal) = state.propose(rng) else { continue };
            let before = case.cost(&slots(&state)) as f64;
            state.accept(&proposal);
            let after = case.cost(&slots(&state)) as f64;
            assert_eq!(after - before, proposal.rise, "step {step}");
        }
        let new = State::new(&search, &SLOTS, &slots(&state)).unwrap();
        assert_eq!((&state.outside, &state.sums), (&new.outside, &new.sums));
        let sorted = |list: &[u32]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        assert_eq!(sorted(&state.border), sorted(&new.border));
        for (members, others) in state.members.iter().zip(&new.members) {
            assert_eq!(sorted(members), sorted(others));
        }
    }

    #[test]
    fn nothing_to_anneal_is_no_error() {
        let case = Case { graph: Graph::from_edges(400, &[]), ..Case::new("rgg:400") };
        let problem = case.problem();
        let search = case.search(&problem);
        let annealing = Annealing { steps: 1000, hot: 0.3, cold: 0.01 };
        let rng = &mut seeded(1);
        let budget = Budget::unlimited();
        assert_eq!(annealing.run(&search, &SLOTS, &case.start, rng, &budget), None);
        // A task on a slot that may not be used.
        assert_eq!(annealing.run(&search, &SLOTS[1..], &case.start, rng, &budget), None);
    }
}
