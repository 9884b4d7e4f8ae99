//! A new mapping of weighted tasks after a change of resources or loads, with little movement.
//!
//! What counts is the objective plus a price for every task that leaves its slot, under the load
//! limit of a fresh mapping. Candidates are a fresh mapping, and the previous one with the tasks
//! whose slot is gone, and those that overload theirs now, put elsewhere; a local search that knows
//! the price works on both.

use super::judge::Judge;
use super::loads::Loads;
use super::local_search::{Homes, LocalSearch, NOWHERE};
use super::weighted_mapping::{Balanced, map_with_loads};
use crate::base::error::Result;
use crate::mapping::remap::check;
use crate::mapping::{Budget, Mapper, Previous, ProblemBuilder, remap};

/// A mapping of weighted tasks with what was moved for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebalanced {
    /// The mapping.
    pub mapping: Balanced,
    /// Tasks that are not on their previous slot.
    pub moved: usize,
    /// Of these, those whose previous slot may not be used any more.
    pub forced: usize,
}

/// As [`map_with_loads`], with the price of moves. `builder` is the problem without capacities.
///
/// Errors: those of [`map_with_loads`] and of [`remap`].
pub fn remap_with_loads(
    builder: ProblemBuilder<'_>,
    loads: &Loads,
    previous: &Previous,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<Rebalanced> {
    let (graph, topology) = (builder.graph, builder.topology);
    check(previous, graph.vertices(), builder.objective)?;
    let slots = builder.slots.clone().unwrap_or_else(|| (0..topology.slots()).collect());
    if graph.vertices() <= slots.len() && loads.tasks() == graph.vertices() {
        let answer = remap(&builder.build()?, previous, mapper, budget)?;
        let mapping = Balanced {
            slot_of_task: answer.outcome.slot_of_task,
            limit: loads.limit(graph.vertices()),
            diagnostics: answer.outcome.diagnostics,
        };
        return Ok(Rebalanced { mapping, moved: answer.moved, forced: answer.forced });
    }
    let fresh = map_with_loads(builder.clone(), loads, mapper, budget)?;
    let mut allowed = vec![false; topology.slots()];
    slots.iter().for_each(|&slot| allowed[slot] = true);
    let home = |task: usize| {
        let slot = previous.slot_of_task.get(task).copied();
        slot.filter(|&slot| allowed.get(slot) == Some(&true)).unwrap_or(NOWHERE)
    };
    let homes: Vec<usize> = (0..graph.vertices()).map(home).collect();
    let forced = previous.slot_of_task.len()
        - homes.iter().take(previous.slot_of_task.len()).filter(|&&h| h != NOWHERE).count();
    let mut pinned = vec![false; graph.vertices()];
    let mut stay = homes.clone();
    for &(task, slot) in &builder.fixed {
        pinned[task as usize] = true;
        stay[task as usize] = slot;
    }
    let movers = Movers { builder: &builder, loads, limit: fresh.limit, slots: &slots };
    movers.settle(&pinned, &mut stay);
    let price = i128::from(previous.migration_cost);
    let homes = Homes { slot_of_task: &homes, price };
    let judge = Judge::new(&builder);
    let search = LocalSearch {
        problem: &builder,
        loads,
        limit: fresh.limit,
        pinned: &pinned,
        homes: Some(homes),
    };
    let mut best: Option<(Key, &'static str, Vec<usize>)> = None;
    for (name, start) in [("previous mapping", stay), ("fresh mapping", fresh.slot_of_task)] {
        let mut improved = start.clone();
        search.improve(&mut improved, budget);
        for answer in [start, improved] {
            let moved = previous.moved(&answer);
            let heaviest = loads.of_slots(topology.slots(), &answer).into_iter().max();
            let above = heaviest.unwrap_or(0).saturating_sub(fresh.limit);
            let value = judge.value(&answer) + previous.migration_cost as f64 * moved as f64;
            let key = (above, value, moved);
            if best.as_ref().is_none_or(|b| key < b.0) {
                best = Some((key, name, answer));
            }
        }
    }
    let ((_, _, moved), name, slot_of_task) = best.unwrap_or_default();
    let mut diagnostics = fresh.diagnostics;
    diagnostics.push(("kept", name.to_string()));
    let mapping = Balanced { slot_of_task, limit: fresh.limit, diagnostics };
    Ok(Rebalanced { mapping, moved, forced })
}

/// What decides, in this order: load above the limit, objective and price, tasks that moved.
type Key = (u128, f64, usize);

/// Puts tasks without a slot somewhere, and takes tasks off slots that are too full.
struct Movers<'a, 'b> {
    builder: &'b ProblemBuilder<'a>,
    loads: &'b Loads,
    limit: u128,
    slots: &'b [usize],
}

impl Movers<'_, '_> {
    fn settle(&self, pinned: &[bool], slot_of_task: &mut [usize]) {
        let mut sums = vec![0u128; self.builder.topology.slots()];
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
        // Off a full slot go the tasks that talk least to those beside them.
        for &slot in self.slots {
            let beside = |task: u32| -> u128 {
                let arcs = self.builder.graph.arcs(task as usize);
                let here = arcs.filter(|&(t, _)| slot_of_task[t as usize] == slot);
                here.map(|(_, w)| u128::from(w)).sum()
            };
            let mut list: Vec<(u128, u32)> = match sums[slot] > self.limit {
                true => at[slot].iter().map(|&t| (beside(t), t)).collect(),
                false => continue,
            };
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
        homeless.sort_by_key(|&t| (std::cmp::Reverse(self.loads.of(t as usize)), t));
        for task in homeless {
            let slot = self.seat(task as usize, slot_of_task, &sums);
            slot_of_task[task as usize] = slot;
            sums[slot] += self.loads.of(task as usize);
        }
    }

    /// The slot nearest to the partners of a task that still takes its load, else the least loaded.
    fn seat(&self, task: usize, slot_of_task: &[usize], sums: &[u128]) -> usize {
        let load = self.loads.of(task);
        let least = self.slots.iter().copied().min_by_key(|&slot| (sums[slot], slot));
        let cost = |slot: usize| -> u128 {
            let arcs = self.builder.graph.arcs(task);
            let placed = arcs.filter(|&(t, _)| slot_of_task[t as usize] != NOWHERE);
            placed
                .map(|(t, w)| {
                    let d = self.builder.topology.distance(slot, slot_of_task[t as usize]);
                    u128::from(w) * u128::from(d)
                })
                .sum()
        };
        let fits = |slot: &usize| sums[*slot] + load <= self.limit;
        let open = self.slots.iter().copied().filter(fits);
        open.min_by_key(|&slot| (cost(slot), sums[slot], slot)).or(least).unwrap_or(0)
    }
}
