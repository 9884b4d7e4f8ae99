//! A new mapping of weighted tasks after a change of resources or loads, with little movement.
//!
//! It minimises the objective plus a price for every task that leaves its slot, under the load limit of a
//! fresh mapping. There are two candidates: a fresh mapping, and the previous one. In the latter, tasks
//! whose slot is gone or overloaded are put elsewhere. A local search that knows the price improves both.

use super::judge::value;
use super::loads::Loads;
use super::local_search::LocalSearch;
use super::move_costs::{Homes, NOWHERE};
use super::weighted_mapping::{Balanced, map_with_loads};
use crate::base::error::Result;
use crate::base::sorting::Arrange;
use crate::mapping::problem::refused;
use crate::mapping::remap::check;
use crate::mapping::{Budget, Mapper, Preset, Previous, ProblemBuilder, remap};

/// A mapping of weighted tasks with what was moved for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebalanced {
    /// The mapping.
    pub mapping: Balanced,
    /// Tasks that are not on their previous slot.
    pub moved: usize,
    /// The number of moved tasks whose previous slot may not be used any more.
    pub forced: usize,
}

/// As [`map_with_loads`], with the price of moves. `builder` is the problem without capacities.
///
/// Errors: those of [`map_with_loads`] and of [`remap()`].
pub fn remap_with_loads(
    builder: ProblemBuilder<'_>,
    loads: &Loads,
    previous: &Previous,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<Rebalanced> {
    let graph = builder.graph;
    check(previous, graph.vertices(), builder.objective)?;
    let slots = builder.allowed_slots();
    if graph.vertices() <= slots.len() && loads.tasks() == graph.vertices() {
        let answer = remap(&builder.build()?, previous, mapper, budget)?;
        let mapping = Balanced {
            slot_of_task: answer.outcome.slot_of_task,
            limit: loads.limit(graph.vertices()),
            diagnostics: answer.outcome.diagnostics,
        };
        return Ok(Rebalanced { mapping, moved: answer.moved, forced: answer.forced });
    }
    // A stronger preset has the answers of the weaker ones too, so it is never worse.
    let first = if mapper.compares() { Preset::Fast } else { builder.preset };
    let mut best: Option<(Worth, Rebalanced)> = None;
    for preset in builder.preset.and_cheaper().skip(first as usize) {
        if best.is_some() && budget.expired() {
            break;
        }
        let problem = builder.clone().preset(preset);
        let (worth, answer) = by_preset(&problem, loads, previous, mapper, budget)?;
        if best.as_ref().is_none_or(|best| worth < best.0) {
            best = Some((worth, answer));
        }
    }
    best.map(|best| best.1).ok_or_else(|| refused("there is no preset"))
}

/// The load that a slot may have or has, the value with prices, and the number of moved tasks.
type Worth = (u128, f64, usize);

/// The best mapping with the preset of the problem, and its worth.
fn by_preset(
    builder: &ProblemBuilder<'_>,
    loads: &Loads,
    previous: &Previous,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<(Worth, Rebalanced)> {
    let (graph, topology) = (builder.graph, builder.topology);
    let slots = builder.allowed_slots();
    let fresh = map_with_loads(builder.clone(), loads, mapper, budget)?;
    let mut allowed = vec![false; topology.slots()];
    slots.iter().for_each(|&slot| allowed[slot] = true);
    let home = |task: usize| {
        let slot = previous.slot_of_task.get(task).copied();
        slot.filter(|&slot| allowed.get(slot) == Some(&true)).unwrap_or(NOWHERE)
    };
    let homes: Vec<usize> = (0..graph.vertices()).map(home).collect();
    let had_slots = previous.slot_of_task.len();
    let forced = homes[..had_slots].iter().filter(|&&home| home == NOWHERE).count();
    let mut pinned = vec![false; graph.vertices()];
    let mut stay = homes.clone();
    for &(task, slot) in &builder.fixed {
        pinned[task as usize] = true;
        stay[task as usize] = slot;
    }
    let price = i128::from(previous.migration_cost);
    let homes = Some(Homes { slot_of_task: &homes, price });
    let limit = fresh.limit;
    let search = LocalSearch { problem: builder, loads, limit, pinned: &pinned, homes };
    search.settle(&slots, &mut stay);
    // These decide, in this order: load above the limit, objective with price, tasks that moved.
    let key = |mapping: &[usize]| {
        let moved = previous.moved(mapping);
        let heaviest = loads.of_slots(topology.slots(), mapping).into_iter().max().unwrap_or(0);
        let price = previous.migration_cost as f64 * moved as f64;
        (heaviest.saturating_sub(limit), value(builder, mapping) + price, moved)
    };
    let starts = [("previous mapping", stay), ("fresh mapping", fresh.slot_of_task)];
    let best = search.best_from(starts, key, budget);
    let ((over, value, moved), name, slot_of_task) = best.unwrap_or_default();
    let mut diagnostics = fresh.diagnostics;
    diagnostics.push(("kept", name.to_string()));
    let mapping = Balanced { slot_of_task, limit, diagnostics };
    Ok(((limit.saturating_add(over), value, moved), Rebalanced { mapping, moved, forced }))
}

impl LocalSearch<'_, '_> {
    /// Puts tasks without a slot somewhere, and takes tasks off slots that are too full. `slots` are the
    /// allowed ones.
    fn settle(&self, slots: &[usize], slot_of_task: &mut [usize]) {
        let (graph, pinned) = (self.problem.graph, self.pinned);
        let mut sums = vec![0u128; self.problem.topology.slots()];
        let mut at: Vec<Vec<u32>> = vec![Vec::new(); sums.len()];
        let mut homeless: Vec<u32> = Vec::new();
        for (task, &slot) in slot_of_task.iter().enumerate() {
            match sums.get_mut(slot) {
                Some(sum) => {
                    *sum += self.loads.of(task);
                    at[slot].push(task as u32);
                }
                None => homeless.push(task as u32),
            }
        }
        // Tasks that send least to the other tasks of a slot that is too full leave it first.
        for &slot in slots {
            let beside = |task: u32| -> u128 {
                let arcs = graph.arcs(task as usize);
                let here = arcs.filter(|&(t, _)| slot_of_task[t as usize] == slot);
                here.map(|(_, w)| u128::from(w)).sum()
            };
            if sums[slot] <= self.limit {
                continue;
            }
            let mut list: Vec<(u128, u32)> = at[slot].iter().map(|&t| (beside(t), t)).collect();
            list.sort_unstable();
            for (_, task) in list {
                let load = self.loads.of(task as usize);
                if sums[slot] > self.limit && load > 0 && !pinned[task as usize] {
                    sums[slot] -= load;
                    slot_of_task[task as usize] = NOWHERE;
                    homeless.push(task);
                }
            }
        }
        homeless.arrange_by_key(|&t| (std::cmp::Reverse(self.loads.of(t as usize)), t));
        for task in homeless {
            let slot = self.nearest_open(task as usize, slots, slot_of_task, &sums);
            slot_of_task[task as usize] = slot;
            sums[slot] += self.loads.of(task as usize);
        }
    }

    /// Of the slots that have room for the load of a task, the one nearest to its partners. If no slot has
    /// room, the least loaded slot.
    fn nearest_open(
        &self,
        task: usize,
        slots: &[usize],
        slot_of_task: &[usize],
        sums: &[u128],
    ) -> usize {
        let load = self.loads.of(task);
        let least = slots.iter().copied().min_by_key(|&slot| (sums[slot], slot));
        let cost = |slot: usize| -> u128 {
            let arcs = self.problem.graph.arcs(task);
            let placed = arcs.map(|(t, w)| (slot_of_task[t as usize], w));
            let placed = placed.filter(|&(there, _)| there != NOWHERE);
            let distance = |there| self.problem.topology.distance(slot, there);
            placed.map(|(there, w)| u128::from(w) * u128::from(distance(there))).sum()
        };
        let fits = |slot: &usize| sums[*slot] + load <= self.limit;
        let open = slots.iter().copied().filter(fits);
        open.min_by_key(|&slot| (cost(slot), sums[slot], slot)).or(least).unwrap_or(0)
    }
}
