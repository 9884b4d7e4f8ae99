//! Random problems of all kinds, and the worth of their answers with each preset.

use rankweave::base::random::SplitMix64;
use rankweave::mapping::{
    Budget, Loads, Mapper, Objective, Preset, Previous, Problem, ProblemBuilder, by_name,
    map_with_loads, remap, remap_with_loads,
};
use rankweave::matrix::synthetic::pattern;
use rankweave::matrix::{Graph, SparseMatrix, Traffic};
use rankweave::metrics::{Evaluation, evaluate};
use rankweave::topology::{DistanceMatrix, Topology, parse};

/// What is asked.
#[derive(Debug, Clone)]
enum Question {
    /// A mapping, perhaps with tasks that are fixed to slots.
    Plain { fixed: Vec<(u32, usize)> },
    /// More tasks than slots; how many tasks each slot takes.
    Shared { capacities: Vec<u32> },
    /// Tasks with loads, and the imbalance.
    Loads { loads: Vec<u64>, imbalance: f64 },
    /// A new mapping after this one, with a price for each move.
    Again { slot_of_task: Vec<usize>, price: u64 },
    /// Both.
    LoadsAgain { loads: Vec<u64>, slot_of_task: Vec<usize>, price: u64 },
}

/// A problem.
pub struct Instance {
    name: String,
    topology: Box<dyn Topology>,
    graph: Graph,
    traffic: SparseMatrix,
    slots: Vec<usize>,
    objective: Objective,
    question: Question,
    seed: u64,
}

/// What decides between two answers, in this order: the load that a slot may have, and the value.
type Worth = (u128, f64);

/// A directed matrix with the weights of a pattern: each edge goes one way, the other way, or both.
fn directed(graph: &Graph, random: &mut SplitMix64) -> SparseMatrix {
    let mut entries = Vec::new();
    for v in 0..graph.vertices() {
        for (u, w) in graph.arcs(v).filter(|arc| arc.0 as usize > v) {
            let there = match random.below(3) {
                0 => w,
                1 => 0,
                _ => w / 2,
            };
            for (i, j, bytes) in [(v as u32, u, there), (u, v as u32, w - there)] {
                entries.push((i, j, Traffic { bytes, messages: u64::from(bytes > 0) }));
            }
        }
    }
    SparseMatrix::from_entries(graph.vertices(), &entries)
}

fn random_graph(tasks: usize, random: &mut SplitMix64) -> Graph {
    let often = 1 + random.below(6);
    let mut edges = Vec::new();
    for a in 0..tasks as u32 {
        for b in 0..a {
            if random.below(often) == 0 {
                edges.push((a, b, 1 + random.next_u64() % 50));
            }
        }
    }
    Graph::from_edges(tasks, &edges)
}

/// A symmetric table of distances from 1 to 9.
pub fn random_distances(n: usize, random: &mut SplitMix64) -> Vec<Vec<u32>> {
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for a in 0..n {
        let below: Vec<u32> = (0..a).map(|_| 1 + random.below(9) as u32).collect();
        for (b, &distance) in below.iter().enumerate() {
            rows[b].push(distance);
        }
        rows.push(below.into_iter().chain([0]).collect());
    }
    rows
}

fn random_table(random: &mut SplitMix64) -> Box<dyn Topology> {
    match DistanceMatrix::new(&random_distances(2 + random.below(30), random)) {
        Ok(table) => Box::new(table),
        Err(_) => machine("mesh:8"),
    }
}

fn machine(text: &str) -> Box<dyn Topology> {
    match parse(text) {
        Ok(topology) => topology,
        Err(error) => unreachable!("{error}"),
    }
}

/// `count` distinct numbers below `all`, in any order.
fn some_of(all: usize, count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..all).collect();
    for k in 0..count.min(all) {
        let other = k + random.below(all - k);
        order.swap(k, other);
    }
    order.truncate(count);
    order
}

/// The first number of problems with all routings.
pub const ROUTED: u64 = 100_000;

impl Instance {
    /// The problem with this number; the same for ever. At most about `most` tasks. From number [`ROUTED`] on, the machines have
    /// other routings as well, for which a search takes longer.
    pub fn new(number: u64, most: usize) -> Instance {
        const MACHINES: [&str; 16] = [
            "tree:4:4:2@1:10:100",
            "tree:3:5:2@1:5:20",
            "tree:2:16@1:10",
            "tree:8:4",
            "torus:4x4x2",
            "torus:6x5",
            "torus:32",
            "mesh:8x4",
            "mesh:3x3x3",
            "hypercube:5",
            "dragonfly:5x3x2",
            "dragonfly:4x4x2@1:1:2",
            "fattree:4:4:2",
            "fattree:4:3:3@2:1",
            "torus:8x4@1:3",
            "mesh:30",
        ];
        const ROUTED_MACHINES: [&str; 4] = [
            "torus:4x4x2,routing=adaptive",
            "fattree:4:3:3@2:1,routing=ecmp",
            "dragonfly:5x3x2,routing=adaptive",
            "dragonfly:4x2x2@4:1:1,routing=adaptive",
        ];
        let random = &mut SplitMix64::new(number ^ 0x009e_57ed);
        let topology = match random.below(6) {
            0 => random_table(random),
            _ => {
                let routed = ROUTED_MACHINES.iter().filter(|_| number >= ROUTED);
                let machines: Vec<&str> = MACHINES.iter().chain(routed).copied().collect();
                machine(machines[random.below(machines.len())])
            }
        };
        let all = topology.slots();
        let count = 2 + random.below(all - 1);
        let slots = some_of(all, if random.below(2) == 0 { all } else { count }, random);
        let shared = random.below(4) == 0;
        let room = if shared { 4 * slots.len() } else { slots.len() };
        let tasks = (2 + random.below(room)).min(room).min(most).max(1);
        let graph = some_graph(tasks, random);
        let tasks = graph.vertices();
        let traffic = directed(&graph, random);
        let objective = match topology.network() {
            Some(_) => Objective::ALL[random.below(Objective::ALL.len())],
            None => [Objective::HopBytes, Objective::TotalHops, Objective::MaxCom][random.below(3)],
        };
        let sum =
            [Objective::HopBytes, Objective::SumCom, Objective::TotalHops].contains(&objective);
        let question = some_question((tasks, all, &slots, sum), random);
        let name = format!(
            "{number}: {tasks} tasks, {} of {}, {}",
            slots.len(),
            topology.name(),
            objective.name()
        );
        Instance { name, topology, graph, traffic, slots, objective, question, seed: number % 5 }
    }

    /// What it is, for messages.
    pub fn name(&self) -> String {
        let what = match &self.question {
            Question::Plain { fixed } => format!("{} fixed", fixed.len()),
            Question::Shared { .. } => "shared slots".into(),
            Question::Loads { .. } => "loads".into(),
            Question::Again { .. } => "previous".into(),
            Question::LoadsAgain { .. } => "loads, previous".into(),
        };
        format!("{}, {what}", self.name)
    }

    fn builder(&self, preset: Preset) -> ProblemBuilder<'_> {
        Problem::builder(&self.graph, self.topology.as_ref())
            .traffic(&self.traffic)
            .slots(&self.slots)
            .objective(self.objective)
            .preset(preset)
            .seed(self.seed)
    }

    /// The value of a mapping by the independent evaluator.
    fn value(&self, slot_of_task: &[usize]) -> rankweave::Result<f64> {
        let e: Evaluation = evaluate(&self.traffic, self.topology.as_ref(), slot_of_task)?;
        Ok(match self.objective {
            Objective::HopBytes => e.hop_bytes as f64,
            Objective::SumCom => e.sum_com as f64,
            Objective::TotalHops => e.total_hops as f64,
            Objective::MaxCom => e.max_com.real(),
            Objective::Mc => e.mc.unwrap_or(f64::INFINITY),
            Objective::Mmc => e.mmc.map_or(f64::INFINITY, |mmc| mmc as f64),
            Objective::Time => e.predicted_time.unwrap_or(f64::INFINITY),
        })
    }

    /// The worth of the answer with a preset.
    pub fn worth(&self, preset: Preset) -> rankweave::Result<Worth> {
        let auto: &dyn Mapper = by_name("auto")?;
        let budget = &mut Budget::unlimited();
        let previous = |slot_of_task: &Vec<usize>, price: u64| Previous {
            slot_of_task: slot_of_task.clone(),
            migration_cost: price,
        };
        let paid = |moved: usize, price: u64| moved as f64 * price as f64;
        let mut builder = self.builder(preset);
        match &self.question {
            Question::Plain { fixed } => {
                builder = fixed.iter().fold(builder, |b, &(task, slot)| b.fix(task, slot));
                let slots = auto.map(&builder.build()?, budget)?.slot_of_task;
                Ok((0, self.value(&slots)?))
            }
            Question::Shared { capacities } => {
                let problem = builder.capacities(capacities).build()?;
                Ok((0, self.value(&auto.map(&problem, budget)?.slot_of_task)?))
            }
            Question::Loads { loads, imbalance } => {
                let loads = Loads::new(loads.clone(), *imbalance)?;
                let answer = map_with_loads(builder, &loads, auto, budget)?;
                Ok((answer.limit, self.value(&answer.slot_of_task)?))
            }
            Question::Again { slot_of_task, price } => {
                let answer =
                    remap(&builder.build()?, &previous(slot_of_task, *price), auto, budget)?;
                Ok((0, self.value(&answer.outcome.slot_of_task)? + paid(answer.moved, *price)))
            }
            Question::LoadsAgain { loads, slot_of_task, price } => {
                let loads = Loads::new(loads.clone(), 0.1)?;
                let previous = previous(slot_of_task, *price);
                let answer = remap_with_loads(builder, &loads, &previous, auto, budget)?;
                let slots = &answer.mapping.slot_of_task;
                let most =
                    loads.of_slots(self.topology.slots(), slots).into_iter().max().unwrap_or(0);
                let over = most.saturating_sub(answer.mapping.limit);
                Ok((answer.mapping.limit + over, self.value(slots)? + paid(answer.moved, *price)))
            }
        }
    }

    /// The worth of the launcher's order, where it is an answer.
    fn given(&self) -> rankweave::Result<Option<Worth>> {
        match &self.question {
            Question::Plain { fixed } if fixed.is_empty() => {
                Ok(Some((0, self.value(&self.slots[..self.graph.vertices()])?)))
            }
            _ => Ok(None),
        }
    }

    /// A line about an answer that is worse than that of a weaker preset, or than the launcher's order.
    ///
    /// Errors: a problem that the engine refuses.
    pub fn violation(&self) -> rankweave::Result<Option<String>> {
        let mut before = self.given()?.map(|worth| ("launcher's order", worth));
        for preset in Preset::ALL {
            let worth = self.worth(preset)?;
            if let Some((weaker, known)) = before
                && worth > known
            {
                let name = preset.name();
                return Ok(Some(format!("{}: {name} {worth:?}, {weaker} {known:?}", self.name())));
            }
            before = Some((preset.name(), worth));
        }
        Ok(None)
    }
}

/// A pattern or a random graph with about `tasks` tasks, and never more.
fn some_graph(tasks: usize, random: &mut SplitMix64) -> Graph {
    let side = tasks.isqrt().max(1);
    let power = 1usize << tasks.max(1).ilog2();
    let kind = random.below(9);
    let text = match kind {
        0 => format!("stencil:{side}x{}", tasks / side),
        1 => format!("torus:{side}x{}", tasks / side),
        2 => format!("moore:{side}x{}", tasks / side),
        3 => format!("rgg:{tasks}"),
        4 => format!("spmv:{tasks}"),
        5 => format!("fft:{power}"),
        6 => format!("powerlaw:{tasks}"),
        _ => String::new(),
    };
    let (seed, shuffle) = (1 + random.below(9), 1 + random.below(9));
    // Some grids get irregular edges.
    let moved = if kind < 3 && seed > 5 { ",far=3" } else { "" };
    let shuffled = format!("{text},seed={seed},shuffle={shuffle}{moved}");
    match pattern(if random.below(3) == 0 { &text } else { &shuffled }) {
        Ok(graph) if graph.vertices() <= tasks => graph,
        _ => random_graph(tasks, random),
    }
}

fn some_question(
    (tasks, all, slots, sum): (usize, usize, &[usize], bool),
    random: &mut SplitMix64,
) -> Question {
    let loads: Vec<u64> = (0..tasks).map(|_| 1 + random.next_u64() % 20).collect();
    let price = [0, 1, 10, 100][random.below(4)];
    let previous: Vec<usize> = (0..tasks).map(|_| slots[random.below(slots.len())]).collect();
    if tasks > slots.len() {
        let even = tasks.div_ceil(slots.len()) as u32;
        return match random.below(3) {
            0 => Question::Shared { capacities: vec![even; slots.len()] },
            1 if sum => Question::LoadsAgain { loads, slot_of_task: previous, price },
            _ => Question::Loads { loads, imbalance: [0.0, 0.03, 0.2][random.below(3)] },
        };
    }
    if sum && random.below(4) == 0 {
        let slot_of_task = some_of(all, tasks, random);
        return Question::Again { slot_of_task, price };
    }
    let count = if random.below(3) == 0 { random.below(3).min(tasks) } else { 0 };
    let tasks_fixed = some_of(tasks, count, random);
    let on = some_of(slots.len(), count, random);
    let fixed = tasks_fixed.into_iter().zip(on).map(|(task, k)| (task as u32, slots[k])).collect();
    Question::Plain { fixed }
}
