//! The best of all placements of a few tasks for objectives that are a largest load, by branch and bound.
//!
//! A placement puts loads on *resources*: on links, on the slots and nodes at the ends of messages, or, for the largest
//! cost of a pair, on the pair itself. The value is the largest load. Loads only grow while tasks are placed, so a branch
//! is left as soon as one load is as large as the best value so far. The tasks with the most partners among the placed
//! ones come first. Where a grid looks the same from all of its slots, the first task has one place.
//!
//! Limits: [`TASKS`] tasks, [`PLACES`] places, [`MOST_STEPS`] links between all of these places, and as many looks at
//! loads as the preset has. The loads of a pair must follow from its places alone. So there is no such search for the
//! predicted time where messages choose their ways, or where a hash does.

use super::few_tasks::{PLACES, TASKS, order};
use crate::base::sorting::Arrange;
use crate::mapping::evaluation::directed;
use crate::mapping::{Budget, Objective, Preset, Problem};
use crate::metrics::ends::{Ends, Sent};
use crate::topology::{Network, Routing, Topology};

/// The most links on the ways between all places, each counted for each way.
const MOST_STEPS: usize = 1 << 16;

/// Looks at loads between two looks at the clock.
const BETWEEN_CLOCKS: u64 = 1 << 17;

/// A value has to be lower than the best one by this part. The rest is left to the rounding of sums.
const LOWER: f64 = 1.0 - 1e-9;

/// Looks at loads after which the search gives up.
fn most_looks(preset: Preset) -> u64 {
    match preset {
        Preset::Fast => 500_000,
        Preset::Default => 50_000_000,
        Preset::Strong => 1_000_000_000,
    }
}

/// What the search has found.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    /// The place of each task, if a placement is better than the known one.
    pub(super) place_of: Option<Vec<u32>>,
    /// True if there is no better placement than the one found or known.
    pub(super) complete: bool,
}

/// Looks for a placement whose value is below `known`. `None` if this search does not fit the problem.
pub(super) fn better(
    problem: &Problem<'_>,
    preset: Preset,
    known: f64,
    budget: &Budget,
) -> Option<Found> {
    if problem.tasks() > TASKS || problem.places().len() > PLACES || budget.expired() {
        return None;
    }
    let loads = Loads::new(problem)?;
    let mut search = Search::new(problem, &loads, known * loads.unit, most_looks(preset));
    search.branch(0, 0.0, budget);
    Some(Found { place_of: search.best, complete: search.left > 0 })
}

/// The load that a byte and a message of a pair of tasks put on a resource.
type Share = [f64; 2];

/// What a pair of places takes of a resource: a [`Share`] as bits.
type Taken = (usize, [u64; 2]);

/// What pairs of tasks put on resources.
struct Loads {
    tasks: usize,
    places: usize,
    resources: usize,
    /// The loads of different pairs of tasks on a resource add up.
    add_up: bool,
    /// Bytes and messages by first and second task.
    sent: Vec<Share>,
    /// By first and second place: resources with what they take.
    ways: Vec<Vec<(u32, Share)>>,
    /// So many units of load are one unit of the objective.
    unit: f64,
}

impl Loads {
    /// `None` if the loads of a pair do not follow from its places.
    fn new(problem: &Problem<'_>) -> Option<Loads> {
        let objective = problem.objective();
        let (network, slots) = (problem.topology().network(), problem.places());
        let routing = network.map(|network| network.routing());
        let fits = match (objective, &routing) {
            (Objective::MaxCom, _) | (Objective::Mc | Objective::Mmc, Some(_)) => true,
            (Objective::Time, Some(routing)) => is_fixed(routing.as_ref()),
            _ => false,
        };
        if !fits {
            return None;
        }
        let (tasks, places) = (problem.tasks(), slots.len());
        let charged = network.filter(|_| objective == Objective::Time);
        let maker = Maker {
            topology: problem.topology(),
            network: network.zip(routing.as_deref()),
            ends: charged.and_then(|network| Ends::new(problem.topology(), network)),
            objective,
        };
        // Resources, pairs of places, and what these take of them.
        let (mut taken, mut steps) = (Vec::<(usize, Taken)>::new(), 0);
        for pair in 0..places * places {
            let ends = (slots[pair / places] as usize, slots[pair % places] as usize);
            maker.visit(ends, &mut |resource, share| {
                steps += 1;
                if steps <= MOST_STEPS {
                    taken.push((resource, (pair, share.map(f64::to_bits))));
                }
            });
            if steps > MOST_STEPS {
                return None;
            }
        }
        // All links of a way between two junctions take the same.
        taken.arrange_by(|a, b| a.0.cmp(&b.0));
        let of_resource = taken.chunk_by(|a, b| a.0 == b.0);
        let mut resources: Vec<Vec<Taken>> =
            of_resource.map(|same| same.iter().map(|&(_, taken)| taken).collect()).collect();
        resources.arrange();
        resources.dedup();
        let mut ways = vec![Vec::new(); places * places];
        for (resource, pairs) in (0u32..).zip(&resources) {
            pairs.iter().for_each(|&(pair, share)| {
                ways[pair].push((resource, share.map(f64::from_bits)));
            });
        }
        let matrix = directed(problem.graph(), problem.traffic());
        let halves = if matrix.counts_halves() { 2.0 } else { 1.0 };
        let by_pairs = objective == Objective::Mmc;
        let mut sent = vec![[0.0; 2]; tasks * tasks];
        for (i, j, traffic) in matrix.entries().filter(|&(i, j, _)| i != j) {
            let bytes = if by_pairs { 1.0 } else { traffic.bytes as f64 };
            let messages = traffic.messages as f64 * halves;
            sent[i as usize * tasks + j as usize] = [bytes, messages];
        }
        Some(Loads {
            tasks,
            places,
            resources: resources.len(),
            add_up: objective != Objective::MaxCom,
            sent,
            ways,
            unit: if by_pairs { 1.0 } else { halves },
        })
    }

    fn way(&self, from: u32, to: u32) -> &[(u32, Share)] {
        &self.ways[from as usize * self.places + to as usize]
    }
}

/// True if the bytes of a pair of slots always take the same ways.
fn is_fixed(routing: &dyn Routing) -> bool {
    !routing.is_hashed() && !routing.chooses() && !routing.has_detours()
}

/// What the loads of a pair follow from.
struct Maker<'a> {
    topology: &'a dyn Topology,
    network: Option<(&'a dyn Network, &'a dyn Routing)>,
    ends: Option<Ends<'a>>,
    objective: Objective,
}

impl Maker<'_> {
    /// Visits the resources between two slots, with what a byte and a message put on them. For the cost of a pair, this
    /// is one resource.
    fn visit(&self, (from, to): (usize, usize), visit: &mut dyn FnMut(usize, Share)) {
        let Some((network, routing)) = self.network.filter(|_| self.objective != Objective::MaxCom)
        else {
            return visit(0, [self.topology.distance(from, to) as f64, 0.0]);
        };
        match self.objective {
            Objective::Mmc => network.route(from, to, &mut |link| visit(link, [1.0, 0.0])),
            Objective::Mc => network.route(from, to, &mut |link| {
                visit(link, [1.0 / network.bandwidth(link), 0.0]);
            }),
            _ => {
                routing.spread(from, to, &mut |link, share| {
                    visit(link, [share / network.bandwidth(link), 0.0]);
                });
                let Some(ends) = &self.ends else { return };
                let (byte, message) = ([1.0, 0.0], [0.0, 1.0]);
                for [bytes, messages] in [byte, message] {
                    let sent = Sent { from, to, bytes, messages };
                    ends.visit(sent, &mut |end, time| {
                        visit(network.links() + end, [bytes * time, messages * time]);
                    });
                }
            }
        }
    }
}

struct Search<'a> {
    loads: &'a Loads,
    /// The load of each resource.
    load: Vec<f64>,
    /// Resources that were changed, with their loads before.
    trail: Vec<(u32, f64)>,
    /// The tasks in the order in which they are placed.
    order: Vec<usize>,
    /// The place that a task is fixed to.
    fixed: Vec<Option<usize>>,
    /// The first task may be put on the first place: all places look the same.
    first_is_any: bool,
    taken: Vec<bool>,
    place_of: Vec<u32>,
    /// The value that is to be beaten.
    most: f64,
    best: Option<Vec<u32>>,
    /// Looks at loads that are left.
    left: u64,
    /// Looks until the next look at the clock.
    clock: u64,
}

impl<'a> Search<'a> {
    fn new(problem: &Problem<'_>, loads: &'a Loads, most: f64, left: u64) -> Search<'a> {
        let fixed: Vec<Option<usize>> =
            (0..loads.tasks).map(|task| problem.fixed_place(task)).collect();
        // Weights that are far too large only have to be large.
        let weight = |weight: u64| weight.min(i64::MAX as u64 / TASKS as u64) as i64;
        let graph = problem.graph();
        let mut weights = vec![vec![0; loads.tasks]; loads.tasks];
        for (v, row) in weights.iter_mut().enumerate() {
            graph.arcs(v).for_each(|(t, w)| row[t as usize] = weight(w));
        }
        let topology = problem.topology();
        let looks_alike = topology.as_grid().is_some_and(|grid| {
            grid.dims().iter().zip(grid.wrap()).all(|(&length, &wraps)| wraps || length == 1)
        });
        // One place on each slot.
        let mut slots = problem.places().to_vec();
        slots.sort_unstable();
        slots.dedup();
        let is_whole = slots.len() == topology.slots() && loads.places == slots.len();
        let is_free = fixed.iter().all(Option::is_none) && topology.rails().is_none();
        Search {
            load: vec![0.0; loads.resources],
            trail: Vec::new(),
            order: order(&weights, &fixed),
            fixed,
            first_is_any: looks_alike && is_whole && is_free,
            taken: vec![false; loads.places],
            place_of: vec![0; loads.tasks],
            most,
            best: None,
            left,
            clock: BETWEEN_CLOCKS,
            loads,
        }
    }

    /// Places the task number `placed` of the order on every free place in turn. `largest` is the largest load of the
    /// tasks before it.
    fn branch(&mut self, placed: usize, largest: f64, budget: &Budget) {
        let Some(&task) = self.order.get(placed) else {
            self.most = largest;
            self.best = Some(self.place_of.clone());
            return;
        };
        let fixed = self.fixed[task];
        let mut branches = Vec::new();
        for place in
            (0..self.loads.places as u32).filter(|&p| fixed.is_none_or(|f| f == p as usize))
        {
            let others = placed == 0 && self.first_is_any && place > 0;
            if self.taken[place as usize] || others {
                continue;
            }
            self.place_of[task] = place;
            let from = self.trail.len();
            if let Some(found) = self.put(placed, largest) {
                branches.push((found, place));
            }
            self.undo(from);
        }
        branches.arrange_by(|a, b| a.0.total_cmp(&b.0));
        for (found, place) in branches {
            if self.clock == 0 {
                self.clock = BETWEEN_CLOCKS;
                self.left = if budget.expired() { 0 } else { self.left };
            }
            if found >= self.most * LOWER || self.left == 0 {
                return;
            }
            (self.place_of[task], self.taken[place as usize]) = (place, true);
            let from = self.trail.len();
            if self.put(placed, largest).is_some() {
                self.branch(placed + 1, found, budget);
            }
            self.undo(from);
            self.taken[place as usize] = false;
        }
    }

    /// Adds the loads of one more task, as [`Self::place_of`] says. Returns the largest load of all tasks. `None` if a load
    /// is as large as the best value; not all are added then.
    fn put(&mut self, placed: usize, mut largest: f64) -> Option<f64> {
        let (task, loads) = (self.order[placed], self.loads);
        let (here, limit) = (self.place_of[task], self.most * LOWER);
        for k in 0..placed {
            let other = self.order[k];
            let there = self.place_of[other];
            for (i, j, a, b) in [(task, other, here, there), (other, task, there, here)] {
                let [bytes, messages] = loads.sent[i * loads.tasks + j];
                if bytes == 0.0 && messages == 0.0 {
                    continue;
                }
                let way = loads.way(a, b);
                self.left = self.left.saturating_sub(way.len() as u64);
                self.clock = self.clock.saturating_sub(way.len() as u64);
                for &(resource, [by_bytes, by_messages]) in way {
                    let load = &mut self.load[resource as usize];
                    let before = *load;
                    let added = bytes * by_bytes + messages * by_messages;
                    if loads.add_up {
                        self.trail.push((resource, before));
                        *load = before + added;
                    }
                    largest = largest.max(if loads.add_up { *load } else { added });
                }
                if largest >= limit {
                    return None;
                }
            }
        }
        (largest < limit).then_some(largest)
    }

    /// Takes back what was put since the trail had this length.
    fn undo(&mut self, length: usize) {
        for &(resource, before) in self.trail[length..].iter().rev() {
            self.load[resource as usize] = before;
        }
        self.trail.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use crate::mapping::evaluation::value;
    use crate::mapping::portfolio::few_tasks::tests::{permutations, random_graph};
    use crate::topology::parse;

    /// The least value of all permutations, by the independent evaluator.
    fn least(problem: &Problem<'_>) -> f64 {
        let mut best = f64::INFINITY;
        let mut all = (0..problem.tasks() as u32).collect();
        permutations(problem, &mut all, 0, &mut |place_of| {
            best = best.min(value(problem, &problem.slots_of(place_of)).unwrap());
        });
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
                assert!(found.complete);
                let found = found.place_of.unwrap();
                let worth = value(&problem, &problem.slots_of(&found)).unwrap();
                let optimum = least(&problem);
                let is_optimal = (worth - optimum).abs() <= 1e-9 * optimum;
                assert!(is_optimal, "{machine} {objective:?}: {worth}, not {optimum}");
                let again = better(&problem, Preset::Default, worth, unlimited).unwrap();
                assert_eq!(again, Found { place_of: None, complete: true });
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

    /// Three slots of a ring do not look the same, also if there are as many places as the ring has slots.
    #[test]
    fn regression_several_tasks_on_some_slots_of_a_ring() {
        let mut random = SplitMix64::new(5);
        let topology = parse("torus:6").unwrap();
        for _ in 0..12 {
            let graph = random_graph(6, &mut random);
            for objective in [Objective::Mmc, Objective::Time] {
                let builder = Problem::builder(&graph, topology.as_ref()).objective(objective);
                let problem = builder.slots(&[0, 1, 2]).capacities(&[2; 3]).build().unwrap();
                let found = better(&problem, Preset::Default, f64::MAX, &Budget::unlimited());
                let found = found.unwrap().place_of.unwrap();
                let worth = value(&problem, &problem.slots_of(&found)).unwrap();
                let optimum = least(&problem);
                assert!((worth - optimum).abs() <= 1e-9 * optimum, "{worth}, not {optimum}");
            }
        }
    }

    /// The effort is bounded by looks at loads, also where slots are far apart.
    #[test]
    fn regression_few_tasks_on_a_large_machine() {
        let topology = parse("torus:16x16x16").unwrap();
        let graph = random_graph(10, &mut SplitMix64::new(9));
        let slots: Vec<usize> = (0..16).map(|k| k * 251 % 4096).collect();
        let builder = Problem::builder(&graph, topology.as_ref()).objective(Objective::Mc);
        let problem = builder.slots(&slots).build().unwrap();
        let loads = Loads::new(&problem).unwrap();
        let mut search = Search::new(&problem, &loads, f64::MAX, 100_000);
        search.branch(0, 0.0, &Budget::unlimited());
        assert!(search.left == 0 && search.best.is_some());
        let over = Budget::within(std::time::Duration::ZERO);
        assert_eq!(better(&problem, Preset::Fast, f64::MAX, &over), None);
    }
}
