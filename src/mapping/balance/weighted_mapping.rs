//! The mapping of weighted tasks.

use super::annealing::Annealing;
use super::grouping::Groups;
use super::judge::value;
use super::loads::Loads;
use super::local_search::LocalSearch;
use crate::base::error::Result;
use crate::base::nouns::{are, counted};
use crate::mapping::engine::seeded;
use crate::mapping::problem::refused;
use crate::mapping::{Budget, Mapper, Preset, Problem, ProblemBuilder};
use crate::matrix::Graph;
use std::collections::BTreeMap;

/// Up to this number of tasks, the search starts from every order of a launcher.
const FEW: usize = 4096;

/// A mapping of weighted tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Balanced {
    /// The slot of every task.
    pub slot_of_task: Vec<usize>,
    /// The load that no slot exceeds.
    pub limit: u128,
    /// Notes of the phases about their run, for users: `(what, value)`.
    pub diagnostics: Vec<(&'static str, String)>,
}

/// Maps tasks of different load: makes groups of balanced load, maps the groups to slots by `mapper`, and
/// then moves single tasks. `builder` is the problem without capacities; there may be more tasks than
/// slots.
///
/// Errors: a number of loads that is not that of the tasks; what [`ProblemBuilder::build`] and the
/// algorithm refuse.
pub fn map_with_loads(
    builder: ProblemBuilder<'_>,
    loads: &Loads,
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<Balanced> {
    let graph = builder.graph;
    if loads.tasks() != graph.vertices() {
        return Err(refused(format!(
            "{} {} given for {}",
            counted(loads.tasks(), "load"),
            are(loads.tasks()),
            counted(graph.vertices(), "task")
        ))
        .advise("give one load for each task; line i (from 0) belongs to task i"));
    }
    let slots = builder.allowed_slots();
    if graph.vertices() <= slots.len() {
        // Each task gets a slot of its own, so there is nothing to balance.
        let outcome = mapper.map(&builder.build()?, budget)?;
        return Ok(Balanced {
            slot_of_task: outcome.slot_of_task,
            limit: loads.limit(graph.vertices()),
            diagnostics: outcome.diagnostics,
        });
    }
    let fixed = Fixed::new(&builder, &slots)?;
    let budget = &mut budget.as_needed();
    // A stronger preset has the answers of the weaker ones too, so it is never worse.
    let first = if mapper.compares() { Preset::Fast } else { builder.preset };
    let mut best: Option<((u128, f64), Balanced)> = None;
    for preset in builder.preset.and_cheaper().skip(first as usize) {
        if best.is_some() && budget.expired() {
            break;
        }
        let problem = builder.clone().preset(preset);
        let answer = in_groups(&problem, loads, (&slots, &fixed), mapper, budget)?;
        let key = (answer.limit, value(&builder, &answer.slot_of_task));
        if best.as_ref().is_none_or(|best| key < best.0) {
            best = Some((key, answer));
        }
    }
    best.map(|best| best.1).ok_or_else(|| refused("there is no preset"))
}

/// The mapping of groups of tasks with the preset of the problem, with single tasks moved.
fn in_groups(
    builder: &ProblemBuilder<'_>,
    loads: &Loads,
    (slots, fixed): (&[usize], &Fixed),
    mapper: &dyn Mapper,
    budget: &mut Budget,
) -> Result<Balanced> {
    let (graph, topology) = (builder.graph, builder.topology);
    let together: Vec<Vec<u32>> = fixed.on_slot.values().cloned().collect();
    let groups = Groups::new(builder, loads, slots.len(), &together, budget);
    let affinity = groups.graph(graph);
    let problem = quotient(builder, slots, fixed, &affinity, &groups.of_task)?;
    let outcome = mapper.map(&problem, budget)?;
    let slot_of_task: Vec<usize> =
        groups.of_task.iter().map(|&g| outcome.slot_of_task[g as usize]).collect();
    let mut candidates = vec![("groups", slot_of_task)];
    if mapper.compares() {
        // The search does not lead from a poor order of many tasks to a good mapping, and takes long.
        let most = match graph.vertices() <= FEW {
            true => f64::INFINITY,
            false => 1.5 * value(builder, &candidates[0].1),
        };
        let within = |(_, mapping): &(_, Vec<usize>)| {
            let loads = loads.of_slots(topology.slots(), mapping);
            loads.into_iter().all(|load| load <= groups.limit) && value(builder, mapping) <= most
        };
        candidates.extend(given_orders(builder, slots, fixed).into_iter().filter(within));
    }
    let pinned: Vec<bool> =
        (0..graph.vertices() as u32).map(|t| fixed.slot_of.contains_key(&t)).collect();
    let limit = groups.limit;
    let search = LocalSearch { problem: builder, loads, limit, pinned: &pinned, homes: None };
    let best = search.best_from(candidates, |slots| value(builder, slots), budget);
    let best = best.map(|best| annealed(&search, slots, best, budget));
    let (_, name, slot_of_task) = best.unwrap_or_default();
    let mut diagnostics = outcome.diagnostics;
    diagnostics.push(("started from", name.to_string()));
    diagnostics.push(("load limit of a slot", limit.to_string()));
    Ok(Balanced { slot_of_task, limit, diagnostics })
}

/// True if tasks have very many partners in the mean over all edges. Local search takes long then.
fn has_hubs(graph: &Graph) -> bool {
    const MANY: u64 = 256;
    let degrees = || (0..graph.vertices()).map(|task| graph.degree(task) as u64);
    degrees().map(|degree| degree * degree).sum::<u64>() > MANY * degrees().sum::<u64>()
}

/// A mapping with its value, and with the name of its start.
type Known = (f64, &'static str, Vec<usize>);

/// The best of a mapping and of those that annealing and local search make of it.
fn annealed(
    search: &LocalSearch<'_, '_>,
    slots: &[usize],
    mut best: Known,
    budget: &Budget,
) -> Known {
    let problem = search.problem;
    let rng = seeded(problem.seed).fork(0xa22e);
    if problem.preset == Preset::Fast && has_hubs(problem.graph) {
        return best;
    }
    for (phase, annealing) in (0..).zip(Annealing::phases(problem.preset, problem.graph.vertices()))
    {
        let rng = &mut rng.fork(phase);
        let Some(start) = annealing.run(search, slots, &best.2, rng, budget) else { break };
        let found = search.best_from([(best.1, start)], |slots| value(problem, slots), budget);
        best = found.filter(|found| found.0 < best.0).unwrap_or(best);
    }
    best
}

/// Tasks that are fixed to slots.
#[derive(Default)]
struct Fixed {
    on_slot: BTreeMap<usize, Vec<u32>>,
    slot_of: BTreeMap<u32, usize>,
}

impl Fixed {
    /// Errors: a task or slot that does not exist, a task that is fixed to two slots.
    fn new(builder: &ProblemBuilder<'_>, slots: &[usize]) -> Result<Fixed> {
        let mut fixed = Fixed::default();
        for &(task, slot) in &builder.fixed {
            if task as usize >= builder.graph.vertices() || !slots.contains(&slot) {
                let what = "one of them does not exist";
                return Err(refused(format!("task {task} cannot be fixed to slot {slot}: {what}"))
                    .advise("check the numbers; tasks and slots are numbered from 0"));
            }
            match fixed.slot_of.insert(task, slot) {
                None => fixed.on_slot.entry(slot).or_default().push(task),
                Some(before) if before == slot => {}
                Some(_) => {
                    return Err(refused(format!("task {task} is fixed to two slots"))
                        .advise("give one slot for each task"));
                }
            }
        }
        Ok(fixed)
    }
}

/// The problem of placing the groups: those with fixed tasks stay on their slots.
fn quotient<'a>(
    builder: &ProblemBuilder<'a>,
    slots: &[usize],
    fixed: &Fixed,
    graph: &'a Graph,
    group_of_task: &[u32],
) -> Result<Problem<'a>> {
    let mut problem = Problem::builder(graph, builder.topology)
        .slots(slots)
        .objective(builder.objective)
        .preset(builder.preset)
        .seed(builder.seed);
    for (&slot, list) in &fixed.on_slot {
        if let Some(&task) = list.first() {
            problem = problem.fix(group_of_task[task as usize], slot);
        }
    }
    problem.build()
}

/// The mappings of launchers that deal tasks out one by one, and in blocks.
fn given_orders(
    builder: &ProblemBuilder<'_>,
    slots: &[usize],
    fixed: &Fixed,
) -> [(&'static str, Vec<usize>); 2] {
    let (tasks, n) = (builder.graph.vertices(), slots.len());
    let with_fixed = |slot_of: &dyn Fn(usize) -> usize| {
        let slot = |t: usize| fixed.slot_of.get(&(t as u32)).copied().unwrap_or_else(|| slot_of(t));
        (0..tasks).map(slot).collect()
    };
    let round_robin = with_fixed(&|task| slots[task % n]);
    [("round-robin", round_robin), ("blocks", with_fixed(&|task| slots[task * n / tasks]))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::synthetic::pattern;

    #[test]
    fn hubs_are_tasks_that_most_edges_lead_to() {
        let star: Vec<(u32, u32, u64)> = (1..600).map(|t| (0, t, 1)).collect();
        assert!(has_hubs(&Graph::from_edges(600, &star)));
        assert!(!has_hubs(&Graph::from_edges(3, &[])));
        for text in ["powerlaw:4096", "rgg:600", "moore:8x8x8"] {
            assert!(!has_hubs(&pattern(text).unwrap()), "{text}");
        }
    }
}
