//! The mapping of weighted tasks.

use super::grouping::Groups;
use super::judge::Judge;
use super::loads::Loads;
use super::local_search::improve;
use crate::base::error::{Error, ErrorKind, Result};
use crate::mapping::{Budget, Mapper, Problem, ProblemBuilder};
use std::collections::BTreeMap;

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
