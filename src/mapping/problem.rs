//! A mapping problem: tasks, places, and what is allowed.
//!
//! A slot that may take several tasks is unrolled into *places*, one for each task that it can take. So
//! algorithms only have to put at most one task on each place.

use super::{Objective, Preset, TaskGrid};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::base::numbering::by_first_appearance;
use crate::matrix::{Graph, SparseMatrix};
use crate::topology::{Grid, Topology};

/// Marks a task that is not fixed to a place.
pub(crate) const FREE: u32 = u32::MAX;

/// Tasks to be placed, the places, and the constraints. Built by [`Problem::builder`].
#[derive(Clone)]
pub struct Problem<'a> {
    given: ProblemBuilder<'a>,
    /// The slot of every place.
    places: Vec<u32>,
    /// The place of every fixed task, [`FREE`] for the others.
    fixed: Vec<u32>,
}

impl<'a> Problem<'a> {
    /// Starts a problem that places the vertices of `graph` on the slots of `topology`.
    pub fn builder(graph: &'a Graph, topology: &'a dyn Topology) -> ProblemBuilder<'a> {
        ProblemBuilder {
            graph,
            topology,
            slots: None,
            capacities: None,
            fixed: Vec::new(),
            traffic: None,
            task_grid: None,
            objective: Objective::default(),
            preset: Preset::default(),
            seed: 1,
        }
    }

    /// The affinity graph; vertex = task.
    pub fn graph(&self) -> &'a Graph {
        self.given.graph
    }

    /// The machine.
    pub fn topology(&self) -> &'a dyn Topology {
        self.given.topology
    }

    /// The grid that the slots are points of, and the point of every place.
    pub(crate) fn grid(&self) -> Option<(&'a Grid, Vec<u32>)> {
        if let Some(grid) = self.given.topology.as_grid() {
            return Some((grid, self.places.clone()));
        }
        let (grid, points) = self.given.topology.as_part_of_grid()?;
        Some((grid, self.places.iter().map(|&s| points[s as usize] as u32).collect()))
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.given.graph.vertices()
    }

    /// The slot of every place, in the given order. A slot with capacity c appears c times in a
    /// row; there are at least as many places as tasks.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Places by the node that they are on, nodes in the order in which they first appear.
    pub(crate) fn by_node(&self, places: impl IntoIterator<Item = u32>) -> Vec<Vec<u32>> {
        let places: Vec<u32> = places.into_iter().collect();
        let node = |&place: &u32| self.given.topology.node_of(self.places[place as usize] as usize);
        let (numbers, nodes) = by_first_appearance(places.iter().map(node));
        let mut by_node = vec![Vec::new(); nodes.len()];
        for (place, number) in places.into_iter().zip(numbers) {
            by_node[number as usize].push(place);
        }
        by_node
    }

    /// The place a task is fixed to, if it is.
    pub fn fixed_place(&self, task: usize) -> Option<usize> {
        self.fixed.get(task).filter(|&&place| place != FREE).map(|&place| place as usize)
    }

    /// True if at least one task is fixed.
    pub fn has_fixed(&self) -> bool {
        self.fixed.iter().any(|&p| p != FREE)
    }

    /// The directed traffic that the affinity graph was made from, if it was given.
    pub fn traffic(&self) -> Option<&'a SparseMatrix> {
        self.given.traffic
    }

    /// The grid that the tasks are points of, if the program made one.
    pub fn task_grid(&self) -> Option<&TaskGrid> {
        self.given.task_grid.as_ref()
    }

    /// What to minimise.
    pub fn objective(&self) -> Objective {
        self.given.objective
    }

    /// The same problem with another objective.
    pub(crate) fn with_objective(&self, objective: Objective) -> Self {
        Problem { given: self.given.clone().objective(objective), ..self.clone() }
    }

    /// The same problem with another preset.
    pub(crate) fn with_preset(&self, preset: Preset) -> Self {
        Problem { given: self.given.clone().preset(preset), ..self.clone() }
    }

    /// How much effort to spend.
    pub fn preset(&self) -> Preset {
        self.given.preset
    }

    /// Seed of everything random.
    pub fn seed(&self) -> u64 {
        self.given.seed
    }

    /// The given order: task t is on place t. If another task is fixed to place t, task t takes one of the
    /// free places instead, in ascending order.
    pub fn identity_places(&self) -> Vec<u32> {
        let mut answer = self.fixed.clone();
        let mut taken = vec![false; self.places.len()];
        for &place in answer.iter().filter(|&&p| p != FREE) {
            taken[place as usize] = true;
        }
        for (task, place) in answer.iter_mut().enumerate() {
            if *place == FREE && !taken[task] {
                *place = task as u32;
                taken[task] = true;
            }
        }
        let free = (0..self.places.len() as u32).filter(|&p| !taken[p as usize]);
        answer.iter_mut().filter(|p| **p == FREE).zip(free).for_each(|(place, next)| *place = next);
        answer
    }

    /// The slot of every task, from the place of every task.
    pub fn slots_of(&self, place_of_task: &[u32]) -> Vec<usize> {
        place_of_task.iter().map(|&p| self.places[p as usize] as usize).collect()
    }

    /// Checks an answer: one allowed slot for every task, no slot above its capacity, fixed tasks
    /// on their slots. The error names the first violation.
    pub fn check(&self, slot_of_task: &[usize]) -> Result<()> {
        let bad = |what: String| Err(refused(what));
        if slot_of_task.len() != self.tasks() {
            return bad(format!(
                "{} for {}",
                counted(slot_of_task.len(), "answer"),
                counted(self.tasks(), "task")
            ));
        }
        let mut room = vec![0u32; self.given.topology.slots()];
        for &slot in &self.places {
            room[slot as usize] += 1;
        }
        for (task, &slot) in slot_of_task.iter().enumerate() {
            let Some(left) = room.get_mut(slot).filter(|left| **left > 0) else {
                return bad(format!("task {task} on slot {slot}, which is full or not allowed"));
            };
            *left -= 1;
            if self.fixed_place(task).is_some_and(|place| self.places[place] as usize != slot) {
                return bad(format!("fixed task {task} moved to slot {slot}"));
            }
        }
        Ok(())
    }
}

/// Collects the parts of a [`Problem`]; what is not set has its default: all slots, one task each,
/// nothing fixed, hop-bytes, preset `default`, seed 1.
#[derive(Clone)]
pub struct ProblemBuilder<'a> {
    pub(super) graph: &'a Graph,
    pub(super) topology: &'a dyn Topology,
    slots: Option<Vec<usize>>,
    capacities: Option<Vec<u32>>,
    pub(super) fixed: Vec<(u32, usize)>,
    pub(super) traffic: Option<&'a SparseMatrix>,
    task_grid: Option<TaskGrid>,
    pub(super) objective: Objective,
    pub(super) preset: Preset,
    pub(super) seed: u64,
}

impl<'a> ProblemBuilder<'a> {
    /// The allowed slots; their order is the given order that [`super::Identity`] keeps.
    #[must_use]
    pub fn slots(mut self, slots: &[usize]) -> Self {
        self.slots = Some(slots.to_vec());
        self
    }

    /// How many tasks each allowed slot may take, in the order of the allowed slots.
    #[must_use]
    pub fn capacities(mut self, capacities: &[u32]) -> Self {
        self.capacities = Some(capacities.to_vec());
        self
    }

    /// Fixes a task to a slot.
    #[must_use]
    pub fn fix(mut self, task: u32, slot: usize) -> Self {
        self.fixed.push((task, slot));
        self
    }

    /// The directed traffic that the graph was made from. Congestion depends on directions, and
    /// total hops on which directions are used; without it every edge counts in both.
    #[must_use]
    pub fn traffic(mut self, traffic: &'a SparseMatrix) -> Self {
        self.traffic = Some(traffic);
        self
    }

    /// The grid that the first tasks are points of, in row-major order. Candidates that need a grid then
    /// do not have to recognise it in the graph.
    #[must_use]
    pub fn task_grid(mut self, grid: Option<TaskGrid>) -> Self {
        self.task_grid = grid;
        self
    }

    /// What to minimise.
    #[must_use]
    pub fn objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    /// How much effort to spend.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks that everything fits together.
    ///
    /// Errors: a slot that does not exist or is given twice, fewer places than tasks, a fixed task
    /// or slot that does not exist, two places for one task, more fixed tasks than a slot takes.
    pub fn build(self) -> Result<Problem<'a>> {
        let tasks = self.graph.vertices();
        if let Some(traffic) = self.traffic.filter(|t| t.tasks() != tasks) {
            let given = traffic.tasks();
            return Err(refused(format!(
                "traffic of {} for a graph of {tasks}",
                counted(given, "task")
            ))
            .advise("give the traffic that the graph was made from"));
        }
        if let Some(grid) = self.task_grid.as_ref().filter(|g| g.points() > tasks) {
            return Err(refused(format!(
                "a grid of {} for {}",
                counted(grid.points(), "point"),
                counted(tasks, "task")
            ))
            .advise("give a grid with at most one point for each task"));
        }
        let (places, first_place) = self.unrolled()?;
        let fixed = self.fixed_places(&places, &first_place)?;
        Ok(Problem { given: self, places, fixed })
    }

    /// The allowed slots: all of the topology unless some were given.
    pub(super) fn allowed_slots(&self) -> Vec<usize> {
        self.slots.clone().unwrap_or_else(|| (0..self.topology.slots()).collect())
    }

    /// The slot of every place, and the first place of every slot ([`FREE`] if it has none).
    fn unrolled(&self) -> Result<(Vec<u32>, Vec<u32>)> {
        let tasks = self.graph.vertices();
        let slots = self.allowed_slots();
        if let Some(c) = self.capacities.as_ref().filter(|c| c.len() != slots.len()) {
            return Err(refused(format!(
                "{} for {}",
                counted(c.len(), "capacity"),
                counted(slots.len(), "slot")
            ))
            .advise("give one capacity for each allowed slot"));
        }
        let mut first_place = vec![FREE; self.topology.slots()];
        let mut places = Vec::with_capacity(slots.len());
        for (k, &slot) in slots.iter().enumerate() {
            match first_place.get_mut(slot) {
                None => {
                    let (name, last) = (self.topology.name(), first_place.len().saturating_sub(1));
                    return Err(refused(format!(
                        "slot {slot} does not exist: {name} has slots 0 to {last}"
                    ))
                    .advise(format!("use slots 0 to {last}")));
                }
                Some(place) if *place != FREE => {
                    return Err(refused(format!("slot {slot} is given twice"))
                        .advise("give it a capacity, if it may take several tasks"));
                }
                Some(place) => *place = places.len() as u32,
            }
            let capacity = self.capacities.as_ref().map_or(1, |c| c[k]) as usize;
            // A slot can never take more tasks than there are.
            let useful = capacity.min(tasks);
            places.extend(std::iter::repeat_n(slot as u32, useful));
            if useful == 0 {
                first_place[slot] = FREE;
            }
        }
        if places.len() < tasks {
            let (slots, room) = (slots.len(), places.len());
            let (all, room) = (counted(tasks, "task"), counted(room, "task"));
            let (does, has) =
                (if tasks == 1 { "does" } else { "do" }, if slots == 1 { "has" } else { "have" });
            let slots = counted(slots, "slot");
            let what = format!("{all} {does} not fit: {slots} {has} room for {room}");
            return Err(refused(what).advise("use more slots, --oversubscribe, or --weights"));
        }
        Ok((places, first_place))
    }

    /// The place of every fixed task, [`FREE`] for the others.
    fn fixed_places(&self, places: &[u32], first_place: &[u32]) -> Result<Vec<u32>> {
        let tasks = self.graph.vertices();
        let mut fixed = vec![FREE; tasks];
        let mut fixed_on = std::collections::BTreeMap::new();
        for &(task, slot) in &self.fixed {
            let place = fixed.get_mut(task as usize).ok_or_else(|| {
                refused(format!(
                    "fixed task {task} does not exist: the number of tasks is {tasks}, numbered from 0"
                ))
                .advise(format!("fix tasks 0 to {}", tasks.saturating_sub(1)))
            })?;
            if *place != FREE {
                if places[*place as usize] as usize == slot {
                    continue;
                }
                return Err(refused(format!("task {task} is fixed to two slots"))
                    .advise("give one slot for each fixed task"));
            }
            let first = first_place.get(slot).copied().filter(|&p| p != FREE).ok_or_else(|| {
                refused(format!(
                    "task {task} is fixed to slot {slot}, which is not one of the slots \
                                 that may be used"
                ))
                .advise("fix the task to an allowed slot, or allow this slot too")
            })?;
            let used = fixed_on.entry(slot).or_insert(0u32);
            let candidate = first + *used;
            if places.get(candidate as usize).copied() != Some(slot as u32) {
                return Err(refused(format!("more tasks are fixed to slot {slot} than it takes"))
                    .advise("fix fewer tasks to it, or use --oversubscribe or --weights"));
            }
            *used += 1;
            *place = candidate;
        }
        Ok(fixed)
    }
}

/// The error that says why a problem cannot be solved.
pub(super) fn refused(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Infeasible, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Tree;

    fn line(n: usize) -> Tree {
        let paths: Vec<Vec<u32>> = (0..n as u32).map(|s| vec![s / 2]).collect();
        Tree::from_paths(&paths, &[2, 1]).unwrap()
    }

    #[test]
    fn identity_makes_way_for_fixed_tasks() {
        let (graph, tree) = (Graph::from_edges(4, &[]), line(4));
        let problem = Problem::builder(&graph, &tree).fix(0, 2).build().unwrap();
        assert_eq!(problem.identity_places(), [2, 1, 0, 3]);
        assert!(problem.check(&[2, 1, 0, 3]).is_ok());
        assert!(problem.check(&[0, 1, 2, 3]).is_err());
        assert!(problem.check(&[2, 1, 1, 3]).is_err());
    }

    #[test]
    fn places_follow_slots_and_capacities() {
        let (graph, tree) = (Graph::from_edges(4, &[]), line(4));
        let problem = Problem::builder(&graph, &tree)
            .slots(&[3, 1])
            .capacities(&[3, 1])
            .fix(3, 3)
            .fix(2, 3)
            .build()
            .unwrap();
        assert_eq!(problem.places(), [3, 3, 3, 1]);
        assert_eq!(problem.slots_of(&problem.identity_places()), [3, 1, 3, 3]);
    }

    #[test]
    fn impossible_requests_are_refused() {
        let (graph, tree) = (Graph::from_edges(4, &[]), line(4));
        let build = |slots: &[usize], fixed: &[(u32, usize)]| {
            let start = Problem::builder(&graph, &tree).slots(slots);
            fixed.iter().fold(start, |b, &(t, s)| b.fix(t, s)).build().map(|_| ())
        };
        assert!(build(&[0, 1, 2], &[]).is_err(), "too few slots");
        assert!(build(&[0, 1, 2, 2], &[]).is_err(), "slot twice");
        assert!(build(&[0, 1, 2, 9], &[]).is_err(), "no such slot");
        assert!(build(&[0, 1, 2, 3], &[(4, 0)]).is_err(), "no such task");
        assert!(build(&[0, 1, 2, 3], &[(0, 0), (1, 0)]).is_err(), "slot overfull");
        assert!(build(&[0, 1, 2, 3], &[(0, 0), (0, 1)]).is_err(), "two slots for a task");
        assert!(build(&[0, 1, 2, 3], &[(0, 1), (1, 0)]).is_ok());
    }
}
