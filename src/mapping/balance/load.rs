//! What tasks weigh, and the mapping of weighted tasks.

use super::grouping::Groups;
use super::improve::improve;
use crate::error::{Error, ErrorKind, Result};
use crate::mapping::{Budget, Mapper, Objective, Problem, ProblemBuilder, portfolio};
use std::collections::BTreeMap;

/// Compute load of every task, and how uneven slots may be loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Loads {
    loads: Vec<u64>,
    imbalance: f64,
}

impl Loads {
    /// `imbalance`: how much more than the mean a slot may be loaded, 0.03 for 3 %.
    ///
    /// Errors: an imbalance that is negative or no number.
    pub fn new(loads: Vec<u64>, imbalance: f64) -> Result<Loads> {
        if !(0.0..=1e6).contains(&imbalance) {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("an imbalance of {} %", 100.0 * imbalance),
            )
            .advise("a number from 0; 3 is usual"));
        }
        Ok(Loads { loads, imbalance })
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.loads.len()
    }

    /// Load of all tasks.
    pub fn total(&self) -> u128 {
        self.loads.iter().map(|&l| u128::from(l)).sum()
    }

    /// Load of every slot of a mapping.
    pub fn of_slots(&self, slots: usize, slot_of_task: &[usize]) -> Vec<u128> {
        let mut sums = vec![0u128; slots];
        for (&slot, &load) in slot_of_task.iter().zip(&self.loads) {
            if let Some(sum) = sums.get_mut(slot) {
                *sum += u128::from(load);
            }
        }
        sums
    }

    pub(super) fn of(&self, task: usize) -> u128 {
        self.loads.get(task).copied().map_or(0, u128::from)
    }

    pub(super) fn imbalance(&self) -> f64 {
        self.imbalance
    }

    pub(super) fn of_groups(&self, of_task: &[u32], count: usize) -> Vec<u128> {
        let slots: Vec<usize> = of_task.iter().map(|&g| g as usize).collect();
        self.of_slots(count, &slots)
    }

    /// The mean load of a group with the imbalance on top, at least the heaviest task.
    pub(super) fn limit(&self, count: usize) -> u128 {
        let count = count.max(1) as u128;
        let mean = self.total().div_ceil(count);
        // In millionths, so that huge loads do not lose their last digits.
        let extra = (self.imbalance * 1e6) as u128;
        let limit = mean.saturating_add((mean / 1_000_000).saturating_mul(extra))
            + (mean % 1_000_000) * extra / 1_000_000;
        let heaviest = self.loads.iter().copied().max().map_or(0, u128::from);
        limit.max(heaviest)
    }

    /// The load that tasks which must share a slot have at least.
    pub(super) fn pinned_maximum(&self, together: &[Vec<u32>]) -> u128 {
        let sum = |list: &Vec<u32>| list.iter().map(|&t| self.of(t as usize)).sum();
        together.iter().map(sum).max().unwrap_or(0)
    }

    /// The heaviest task to the least loaded group, again and again: at most 4/3 of the best
    /// possible (Graham 1969).
    pub(super) fn longest_first(&self, count: usize, together: &[Vec<u32>]) -> Vec<u32> {
        let mut of_task = vec![u32::MAX; self.loads.len()];
        let mut sums = vec![0u128; count];
        for (group, list) in together.iter().enumerate().take(count) {
            for &task in list {
                of_task[task as usize] = group as u32;
                sums[group] += self.of(task as usize);
            }
        }
        let mut queue: std::collections::BinaryHeap<_> =
            sums.iter().enumerate().map(|(g, &s)| std::cmp::Reverse((s, g))).collect();
        let mut order: Vec<usize> =
            (0..self.loads.len()).filter(|&t| of_task[t] == u32::MAX).collect();
        order.sort_by_key(|&t| (std::cmp::Reverse(self.loads[t]), t));
        for task in order {
            let Some(std::cmp::Reverse((sum, group))) = queue.pop() else { break };
            of_task[task] = group as u32;
            queue.push(std::cmp::Reverse((sum + self.of(task), group)));
        }
        of_task
    }
}

/// A mapping of weighted tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Balanced {
    /// The slot of every task.
    pub slot_of_task: Vec<usize>,
    /// What no slot exceeds.
    pub limit: u128,
    /// What the phases have to say, for people.
    pub diagnostics: Vec<(&'static str, String)>,
}

/// Maps tasks of different load: groups of balanced load, these to slots by `mapper`, then single
/// tasks. `builder` is the problem without capacities; there may be more tasks than slots.
///
/// Errors: a number of loads that is not that of the tasks; what [`ProblemBuilder::build`] and the
/// algorithm refuse.
pub fn map_with_loads(
    builder: ProblemBuilder<'_>,
    loads: &Loads,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<Balanced> {
    let (graph, topology) = (builder.graph, builder.topology);
    if loads.tasks() != graph.vertices() {
        return Err(Error::new(
            ErrorKind::Infeasible,
            format!("{} loads for {} tasks", loads.tasks(), graph.vertices()),
        )
        .advise("one load for each task, line i (from 0) that of task i"));
    }
    let slots = builder.slots.clone().unwrap_or_else(|| (0..topology.slots()).collect());
    if graph.vertices() <= slots.len() {
        // A slot for each: nothing to balance.
        let outcome = mapper.map(&builder.build()?, budget)?;
        return Ok(Balanced {
            slot_of_task: outcome.slot_of_task,
            limit: loads.limit(graph.vertices()),
            diagnostics: outcome.diagnostics,
        });
    }
    let mut fixed_on: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut slot_of_fixed: BTreeMap<u32, usize> = BTreeMap::new();
    for &(task, slot) in &builder.fixed {
        if task as usize >= graph.vertices() || !slots.contains(&slot) {
            return Err(Error::new(
                ErrorKind::Infeasible,
                format!("task {task} cannot be fixed to slot {slot}: one of them does not exist"),
            )
            .advise("tasks and slots are numbered from 0"));
        }
        if slot_of_fixed.insert(task, slot).is_some_and(|before| before != slot) {
            return Err(Error::new(
                ErrorKind::Infeasible,
                format!("task {task} is fixed to two slots"),
            )
            .advise("one slot for each task"));
        }
        let list = fixed_on.entry(slot).or_default();
        if !list.contains(&task) {
            list.push(task);
        }
    }
    let together: Vec<Vec<u32>> = fixed_on.values().cloned().collect();
    let groups =
        Groups::new(graph, loads, slots.len(), &together, builder.preset, builder.seed, budget);
    let quotient = groups.graph(graph);
    let mut inner = Problem::builder(&quotient, topology)
        .slots(&slots)
        .objective(builder.objective)
        .preset(builder.preset)
        .seed(builder.seed);
    for (&slot, list) in &fixed_on {
        if let Some(&task) = list.first() {
            inner = inner.fix(groups.of_task[task as usize], slot);
        }
    }
    let inner = inner.build()?;
    let outcome = mapper.map(&inner, budget)?;
    let slot_of_task: Vec<usize> =
        groups.of_task.iter().map(|&g| outcome.slot_of_task[g as usize]).collect();
    let pinned: Vec<bool> =
        (0..graph.vertices() as u32).map(|t| slot_of_fixed.contains_key(&t)).collect();
    // The given orders are candidates too, where they keep the balance.
    let n = slots.len();
    let round = |task: usize| slots[task % n];
    let block = |task: usize| slots[task * n / graph.vertices()];
    let mut candidates = vec![("groups", slot_of_task)];
    for (name, order) in [("round-robin", &round as &dyn Fn(usize) -> usize), ("blocks", &block)] {
        let slots: Vec<usize> = (0..graph.vertices())
            .map(|t| slot_of_fixed.get(&(t as u32)).copied().unwrap_or_else(|| order(t)))
            .collect();
        let most = loads.of_slots(topology.slots(), &slots).into_iter().max();
        if most.is_some_and(|most| most <= groups.limit) && mapper.name() == "auto" {
            candidates.push((name, slots));
        }
    }
    let judge = Judge::new(&builder);
    let mut best: Option<(f64, &'static str, Vec<usize>)> = None;
    for (name, slots) in candidates {
        let mut improved = slots.clone();
        improve(&builder, loads, groups.limit, &pinned, None, &mut improved, budget);
        for answer in [slots, improved] {
            let value = judge.value(&answer);
            if best.as_ref().is_none_or(|b| value < b.0) {
                best = Some((value, name, answer));
            }
        }
    }
    let (_, name, slot_of_task) = best.unwrap_or_default();
    let mut diagnostics = outcome.diagnostics;
    diagnostics.push(("started from", name.to_string()));
    diagnostics.push(("load limit of a slot", groups.limit.to_string()));
    Ok(Balanced { slot_of_task, limit: groups.limit, diagnostics })
}

/// Values of whole mappings by the independent evaluator.
pub(super) struct Judge<'a, 'b> {
    builder: &'b ProblemBuilder<'a>,
}

impl<'a, 'b> Judge<'a, 'b> {
    pub(super) fn new(builder: &'b ProblemBuilder<'a>) -> Self {
        Judge { builder }
    }

    pub(super) fn value(&self, slot_of_task: &[usize]) -> f64 {
        let b = self.builder;
        match b.objective {
            Objective::HopBytes | Objective::SumCom => {
                crate::metrics::hop_bytes(b.graph, b.topology, slot_of_task) as f64
            }
            objective => {
                portfolio::value_of(objective, b.graph, b.traffic, b.topology, slot_of_task)
                    .unwrap_or(f64::INFINITY)
            }
        }
    }
}
