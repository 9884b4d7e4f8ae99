//! The best of all placements of a few tasks for objectives that are a largest load, by branch and bound.
//!
//! A placement puts loads on *resources*: on links, on the slots and nodes at the ends of messages, or, for the largest
//! cost of a pair, on the pair itself. The value is the largest load. Loads only grow while tasks are placed, so a branch
//! is left as soon as one load is as large as the best value so far. The tasks with the most partners among the placed
//! ones come first. Where a grid looks the same from all of its slots, the first task has one place.
//!
//! Limits: [`TASKS`] tasks, [`PLACES`] places, and a number of branches by the preset. The loads of a pair must follow
//! from its places alone. So there is no such search for the predicted time where messages choose their ways, or where
//! a hash does.

use crate::base::sorting::Arrange;
use crate::mapping::evaluation::directed;
use crate::mapping::{Budget, Objective, Preset, Problem};
use crate::metrics::ends::{Ends, Sent};
use crate::topology::{Network, Routing, Topology};
use std::collections::HashMap;

/// The largest number of tasks.
const TASKS: usize = 10;

/// The largest number of places.
const PLACES: usize = 16;

/// Branches between two looks at the clock.
const BETWEEN_CLOCKS: u64 = 4096;

/// A value has to be lower than the best one by this part. The rest is left to the rounding of sums.
const LOWER: f64 = 1.0 - 1e-9;

/// Branches after which the search gives up. All placements of nine tasks on nine places have fewer than the second number, and
/// those of ten tasks on ten places fewer than the third one.
fn most_branches(preset: Preset) -> u64 {
    match preset {
        Preset::Fast => 20_000,
        Preset::Default => 2_000_000,
        Preset::Strong => 12_000_000,
    }
}

/// A placement whose value is below `known`, if this search fits the problem and finds one. The places are by task.
pub(super) fn better(
    problem: &Problem<'_>,
    preset: Preset,
    known: f64,
    budget: &Budget,
) -> Option<Vec<u32>> {
    if problem.tasks() > TASKS || problem.places().len() > PLACES {
        return None;
    }
    let loads = Loads::new(problem)?;
    let mut search = Search::new(problem, &loads, known * loads.unit, most_branches(preset));
    search.branch(0, &vec![0.0; loads.resources], budget);
    search.best
}

/// The loads of all ordered pairs of tasks on all ordered pairs of places.
struct Loads {
    tasks: usize,
    places: usize,
    resources: usize,
    /// By first task, second task, first place and second place: resources with loads. Empty without traffic.
    of: Vec<Vec<(u32, f64)>>,
    /// So many units of load are one unit of the objective.
    unit: f64,
}

impl Loads {
    /// `None` if the loads of a pair do not follow from its places.
    fn new(problem: &Problem<'_>) -> Option<Loads> {
        let objective = problem.objective();
        let network = problem.topology().network();
        let routing = network.map(|network| network.routing());
        let slots = problem.places();
        let fits = match (objective, &routing) {
            (Objective::MaxCom, _) | (Objective::Mc | Objective::Mmc, Some(_)) => true,
            (Objective::Time, Some(routing)) => is_fixed(routing.as_ref(), slots),
            _ => false,
        };
        if !fits {
            return None;
        }
        let (tasks, places) = (problem.tasks(), slots.len());
        let matrix = directed(problem.graph(), problem.traffic());
        let charged = network.filter(|_| objective == Objective::Time);
        let maker = Maker {
            topology: problem.topology(),
            network: network.zip(routing.as_deref()),
            ends: charged.and_then(|network| Ends::new(problem.topology(), network)),
            objective,
            halves: if matrix.counts_halves() { 2.0 } else { 1.0 },
        };
        let mut of = vec![Vec::new(); tasks * tasks * places * places];
        // Few of the links of a large network are between these slots.
        let mut numbers: HashMap<usize, u32> = HashMap::new();
        for (i, j, traffic) in matrix.entries().filter(|&(i, j, _)| i != j) {
            let pair = i as usize * tasks + j as usize;
            for a in 0..places {
                for b in (0..places).filter(|&b| b != a) {
                    let ends = (slots[a] as usize, slots[b] as usize);
                    let (bytes, messages) = (traffic.bytes as f64, traffic.messages as f64);
                    let loads = &mut of[(pair * places + a) * places + b];
                    maker.visit(pair, ends, [bytes, messages], &mut |resource, load| {
                        let next = numbers.len() as u32;
                        loads.push((*numbers.entry(resource).or_insert(next), load));
                    });
                }
            }
        }
        let unit = if objective == Objective::Mmc { 1.0 } else { maker.halves };
        Some(Loads { tasks, places, resources: numbers.len(), of, unit })
    }

    fn of(&self, (i, j): (usize, usize), (a, b): (u32, u32)) -> &[(u32, f64)] {
        let pair = i * self.tasks + j;
        &self.of[(pair * self.places + a as usize) * self.places + b as usize]
    }
}

/// True if the bytes of a pair of slots always take the same ways.
fn is_fixed(routing: &dyn Routing, slots: &[u32]) -> bool {
    let detours = |&a: &u32| slots.iter().any(|&b| routing.detours(a as usize, b as usize) > 0);
    !routing.is_hashed() && !routing.chooses() && !slots.iter().any(detours)
}

/// What the loads of a pair follow from.
struct Maker<'a> {
    topology: &'a dyn Topology,
    network: Option<(&'a dyn Network, &'a dyn Routing)>,
    ends: Option<Ends<'a>>,
    objective: Objective,
    halves: f64,
}

impl Maker<'_> {
    /// Visits the resources on which a pair of tasks with these bytes and messages puts loads if it is on these slots.
    fn visit(
        &self,
        pair: usize,
        (from, to): (usize, usize),
        [bytes, messages]: [f64; 2],
        visit: &mut dyn FnMut(usize, f64),
    ) {
        let Some((network, routing)) = self.network.filter(|_| self.objective != Objective::MaxCom)
        else {
            return visit(pair, bytes * self.topology.distance(from, to) as f64);
        };
        match self.objective {
            Objective::Mmc => network.route(from, to, &mut |link| visit(link, 1.0)),
            Objective::Mc => {
                network.route(from, to, &mut |link| visit(link, bytes / network.bandwidth(link)));
            }
            _ => {
                routing.spread(from, to, &mut |link, share| {
                    visit(link, bytes * share / network.bandwidth(link));
                });
                let sent = Sent { from, to, bytes, messages: messages * self.halves };
                if let Some(ends) = &self.ends {
                    ends.visit(sent, &mut |end, time| visit(network.links() + end, time));
                }
            }
        }
    }
}

struct Search<'a> {
    loads: &'a Loads,
    /// The tasks in the order in which they are placed.
    order: Vec<usize>,
    /// The place that a task is fixed to.
    fixed: Vec<Option<u32>>,
    /// The first task may be put on the first place: all places look the same.
    first_is_any: bool,
    taken: Vec<bool>,
    place_of: Vec<u32>,
    /// The value that is to be beaten.
    most: f64,
    best: Option<Vec<u32>>,
    branches: u64,
    most_branches: u64,
}

impl<'a> Search<'a> {
    fn new(problem: &Problem<'_>, loads: &'a Loads, most: f64, most_branches: u64) -> Search<'a> {
        let fixed: Vec<Option<u32>> =
            (0..loads.tasks).map(|task| problem.fixed_place(task).map(|p| p as u32)).collect();
        let topology = problem.topology();
        let looks_alike = topology.as_grid().is_some_and(|grid| {
            grid.dims().iter().zip(grid.wrap()).all(|(&length, &wraps)| wraps || length == 1)
        });
        let is_whole = loads.places == topology.slots() && fixed.iter().all(Option::is_none);
        Search {
            order: order(problem, &fixed),
            fixed,
            first_is_any: looks_alike && is_whole && topology.rails().is_none(),
            taken: vec![false; loads.places],
            place_of: vec![0; loads.tasks],
            most,
            best: None,
            branches: 0,
            most_branches,
            loads,
        }
    }

    /// Places the task number `placed` of the order on every free place in turn. `before` has the loads of the placed
    /// tasks.
    fn branch(&mut self, placed: usize, before: &[f64], budget: &Budget) {
        self.branches += 1;
        if self.branches.is_multiple_of(BETWEEN_CLOCKS) && budget.expired() {
            self.most_branches = 0;
        }
        let Some(&task) = self.order.get(placed) else {
            self.most = before.iter().copied().fold(0.0, f64::max);
            self.best = Some(self.place_of.clone());
            return;
        };
        let fixed = self.fixed[task];
        let mut branches = Vec::new();
        for place in (0..self.loads.places as u32).filter(|&p| fixed.is_none_or(|f| f == p)) {
            let others = placed == 0 && self.first_is_any && place > 0;
            if self.taken[place as usize] || others {
                continue;
            }
            self.place_of[task] = place;
            if let Some(found) = self.with(placed, before) {
                branches.push((found, place));
            }
        }
        branches.arrange_by(|a, b| a.0.0.total_cmp(&b.0.0));
        for ((largest, after), place) in branches {
            if largest >= self.most * LOWER || self.branches >= self.most_branches {
                return;
            }
            (self.place_of[task], self.taken[place as usize]) = (place, true);
            self.branch(placed + 1, &after, budget);
            self.taken[place as usize] = false;
        }
    }

    /// The largest load and all loads if one more task is placed as [`Self::place_of`] says. `None` if a load is as large
    /// as the best value.
    fn with(&self, placed: usize, before: &[f64]) -> Option<(f64, Vec<f64>)> {
        let task = self.order[placed];
        let mut after = before.to_vec();
        let mut largest = before.iter().copied().fold(0.0, f64::max);
        let mut add = |loads: &[(u32, f64)]| {
            for &(resource, load) in loads {
                let sum = &mut after[resource as usize];
                *sum += load;
                largest = largest.max(*sum);
            }
        };
        let here = self.place_of[task];
        for &other in &self.order[..placed] {
            let there = self.place_of[other];
            add(self.loads.of((task, other), (here, there)));
            add(self.loads.of((other, task), (there, here)));
        }
        (largest < self.most * LOWER).then_some((largest, after))
    }
}

/// Fixed tasks first, then always the task with the most traffic to those before it.
fn order(problem: &Problem<'_>, fixed: &[Option<u32>]) -> Vec<usize> {
    let graph = problem.graph();
    let mut order: Vec<usize> = Vec::new();
    while order.len() < fixed.len() {
        let rest = (0..fixed.len()).filter(|v| !order.contains(v));
        let next = rest.max_by_key(|&v| {
            let to_placed = graph.arcs(v).filter(|(t, _)| order.contains(&(*t as usize)));
            let near: u64 = to_placed.map(|(_, weight)| weight).fold(0, u64::saturating_add);
            let all = graph.weights(v).iter().copied().fold(0, u64::saturating_add);
            (fixed[v].is_some(), near, all)
        });
        order.extend(next);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use crate::mapping::evaluation::value;
    use crate::matrix::Graph;
    use crate::topology::parse;

    fn random_graph(tasks: u32, random: &mut SplitMix64) -> Graph {
        let mut edges = Vec::new();
        for a in 0..tasks {
            for b in 0..a {
                if !random.next_u64().is_multiple_of(3) {
                    edges.push((a, b, 1 + random.next_u64() % 20));
                }
            }
        }
        Graph::from_edges(tasks as usize, &edges)
    }

    /// The least value of all permutations, by the independent evaluator.
    fn least(problem: &Problem<'_>, place_of: &mut Vec<u32>, at: usize) -> f64 {
        if at == place_of.len() {
            let moved = |(task, &place): (usize, &u32)| {
                problem.fixed_place(task).is_some_and(|fixed| fixed as u32 != place)
            };
            if place_of.iter().enumerate().any(moved) {
                return f64::INFINITY;
            }
            return value(problem, &problem.slots_of(place_of)).unwrap();
        }
        let mut best = f64::INFINITY;
        for k in at..place_of.len() {
            place_of.swap(at, k);
            best = best.min(least(problem, place_of, at + 1));
            place_of.swap(at, k);
        }
        best
    }

    #[test]
    fn the_best_of_all_permutations_is_found() {
        use Objective::{MaxCom, Mc, Mmc, Time};
        let mut random = SplitMix64::new(11);
        let machines = [
            ("torus:2x3", false),
            ("torus:5", true),
            ("mesh:2x3", true),
            ("torus:3x2,injection=1.5,message=3", false),
            ("tree:2:3@1:10", false),
            ("dragonfly:3x2x1", true),
        ];
        for (machine, is_fixed) in machines {
            let topology = parse(machine).unwrap();
            for objective in [MaxCom, Mc, Mmc, Time] {
                let graph = random_graph(topology.slots() as u32, &mut random);
                let builder = Problem::builder(&graph, topology.as_ref()).objective(objective);
                let builder = if is_fixed { builder.fix(1, 4) } else { builder };
                let problem = builder.build().unwrap();
                let unlimited = &Budget::unlimited();
                let found = better(&problem, Preset::Default, f64::MAX, unlimited).unwrap();
                let worth = value(&problem, &problem.slots_of(&found)).unwrap();
                let mut all = (0..graph.vertices() as u32).collect();
                let optimum = least(&problem, &mut all, 0);
                let is_optimal = (worth - optimum).abs() <= 1e-9 * optimum;
                assert!(is_optimal, "{machine} {objective:?}: {worth}, not {optimum}");
                assert_eq!(better(&problem, Preset::Default, worth, unlimited), None);
            }
        }
    }

    #[test]
    fn where_messages_choose_there_is_no_such_search() {
        let graph = random_graph(6, &mut SplitMix64::new(1));
        for machine in
            ["torus:2x3,routing=adaptive", "torus:2x10", "dragonfly:3x2x1,routing=adaptive"]
        {
            let topology = parse(machine).unwrap();
            let problem = Problem::builder(&graph, topology.as_ref()).objective(Objective::Time);
            let problem = problem.build().unwrap();
            let found = better(&problem, Preset::Default, f64::MAX, &Budget::unlimited());
            assert_eq!(found, None, "{machine}");
        }
    }
}
