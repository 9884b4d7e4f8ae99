//! `rankweave map`: computes a mapping offline.

mod summary;

use crate::base::clock;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::threads::in_order;
use crate::cli::arguments::bound::{BoundArgs, in_words, lower_bound};
use crate::cli::arguments::instance::{Instance, InstanceArgs, ObjectiveValue, cost_of, no_links};
use crate::cli::arguments::number_file;
use crate::cli::console::progress::metered;
use crate::cli::console::{Exit, output};
use crate::decide::ChosenAim;
use crate::mapping::{self, Balanced, Basis, Budget, Loads, Mapper, Objective, Outcome};
use crate::mapping::{Preset, Previous, Problem, ProblemBuilder};
use crate::matrix::Graph;
use crate::options::{self, Aim};
use std::path::PathBuf;
use std::time::Instant;
use summary::{Load, MappingSummary, Moves};

const EXAMPLES: &str = "\
Examples:
  rankweave map --matrix app.graph --topology tree:16:4:8@1:10:100 --out order.txt
  rankweave map --matrix lulesh --topology torus:8x8x8 --preset strong
  rankweave map --matrix m.csv --topology slurm:topology.conf --slots nodes.txt --json
  rankweave map --matrix m.mtx --topology mesh:32x32 --objective mc --fix 0=0
  rankweave map --matrix chares.graph --topology torus:8x8 --weights loads.txt --imbalance 5
  rankweave map --matrix app.graph --topology torus:8x8x8 --slots left.txt \\
                --previous order.txt --migration-cost 1000000
  rankweave map --matrix new.graph --topology tree:16:4:8 --previous order.txt --previous-matrix app.graph
  rankweave eval --matrix app.graph --topology tree:16:4:8@1:10:100 --mapping order.txt";

/// The word for the objective that follows from the network.
const AUTO: &str = "auto";

/// Compute a mapping of tasks to slots, without running anything
///
/// Line i (from 0) of the output is the slot of task i. A summary goes to standard error.
/// The exit code is 0 whenever a mapping was computed, even if the launcher's order (task i on the
/// i-th slot) is already the best.
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    instance: InstanceArgs,

    /// How much effort to spend: fast, default or strong
    #[arg(long, value_name = "NAME", default_value = "default")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Preset::ALL.map(Preset::name)))]
    #[arg(hide_possible_values = true)]
    preset: String,

    /// The algorithm; auto runs several and takes the best result, list prints all names
    #[arg(long, value_name = "NAME", default_value = "auto")]
    algorithm: String,

    /// What to minimise: hop-bytes, total-hops, sum-com, max-com, mc, mmc, time or auto
    ///
    /// auto: time or hop-bytes, as a launch chooses by the links of the network ('rankweave run --objective'). hop-bytes: the sum of bytes times distance over all pairs of tasks. total-hops: the sum of the distances of all
    /// pairs with traffic. sum-com: the same value as
    /// hop-bytes, under its name in the TopoMatch paper. max-com: bytes times distance of the pair for which this is
    /// largest. mc: the bytes on a link divided by its bandwidth, for
    /// the link where this is largest. mmc: the number of pairs whose traffic uses a link, for the link where this is
    /// largest. time: the predicted time if all traffic flows at once. It is the time of the most loaded link, or of
    /// the node that takes longest where messages cost time or its injection is limited. mc, mmc and time need a
    /// topology with links.
    #[arg(long, value_name = "OBJECTIVE", default_value = "hop-bytes")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(
        Objective::ALL.map(Objective::name).into_iter().chain([AUTO])
    ))]
    #[arg(hide_possible_values = true)]
    objective: String,

    /// Tasks that must be on a certain slot, such as 0=0,3=17
    ///
    /// Unlike --fix of 'run', which lists tasks that keep their process, each task here has a slot of the topology. By
    /// default no task is fixed.
    #[arg(long, value_name = "TASK=SLOT,…")]
    fix: Option<String>,

    /// How many tasks share a slot on average, for more tasks than slots
    ///
    /// 1.5 allows two tasks on every second slot. No slot gets more than ⌈tasks/slots⌉ tasks.
    #[arg(long, value_name = "F", default_value_t = 1.0, conflicts_with = "weights")]
    oversubscribe: f64,

    /// The compute load of each task, one number a line; slots get equal loads instead of equal numbers of tasks
    ///
    /// For more tasks than slots. First the tasks are grouped by their traffic, into as many groups as
    /// there are slots, with about equal loads. Then the groups are mapped.
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,

    /// With --weights: how far above the mean the load of a slot may be, in percent
    #[arg(long, value_name = "PCT", default_value_t = 3.0, requires = "weights")]
    imbalance: f64,

    /// The mapping in use; a task leaves its slot only if that saves more than --migration-cost
    ///
    /// One slot a line, as --out writes it. A task whose slot is no longer allowed has to move.
    #[arg(long, value_name = "MAPPING")]
    previous: Option<PathBuf>,

    /// With --previous: the price of moving one task, in units of the objective
    ///
    /// The sum of the objective and of this price for every task that moves is minimised. The unit of
    /// hop-bytes is bytes times distance: the price of moving B bytes of a task's data over d hops is B
    /// times d.
    #[arg(long, value_name = "X", default_value_t = 0, requires = "previous")]
    migration_cost: u64,

    /// With --previous: the matrix that the mapping in use was searched for
    ///
    /// If the new matrix differs little from it, the mapping in use is only adapted, which takes a small part of the time of
    /// a new search. Give the matrix of the last search, also after several changes. Without this option there is
    /// always a new search.
    #[arg(long, value_name = "M", requires = "previous", conflicts_with = "weights")]
    previous_matrix: Option<String>,

    /// Ignore pairs with less than this part of the traffic of the heaviest pair (0 to 1)
    ///
    /// For matrices that are nearly full (TopoMatch paper, section 4). The printed cost is that of the
    /// whole matrix.
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    sparse_factor: f64,

    /// Stop after this time with the best mapping so far: 30, 500ms, 2m [default: no limit]
    ///
    /// The cheaper presets are searched first, so a short time already gives a mapping. With --preset strong and
    /// --algorithm auto, but without --weights and --previous, the search goes on with other random numbers until this
    /// time, unless the mapping is known to be optimal.
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<String>,

    /// Number of threads; without --time-limit, the answer does not depend on it [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,

    /// Seed of randomized algorithms
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Show progress of long work even if standard error is no terminal
    #[arg(long)]
    progress: bool,

    /// Write the mapping to this file [default: standard output, unless --json]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    lower: BoundArgs,

    /// Print the summary as JSON to standard output
    #[arg(long)]
    json: bool,
}

/// The names of the algorithms, each with its source.
fn algorithms() -> String {
    let names = mapping::registry().iter();
    names.map(|m| format!("{:<26}{}\n", m.name(), m.source())).collect()
}

/// A mapping, however it was computed.
struct Solution {
    slot_of_task: Vec<usize>,
    diagnostics: Vec<(&'static str, String)>,
    moves: Option<Moves>,
    load: Option<Load>,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        if self.algorithm == "list" {
            output::print(&algorithms())?;
            return Ok(Exit::Done);
        }
        if self.objective != AUTO {
            self.lower.wanted(self.objective.parse()?)?;
        }
        let preset: Preset = self.preset.parse()?;
        let mapper = mapping::by_name(&self.algorithm)?;
        let fixed = fixed(self.fix.as_deref())?;
        let instance = self.instance.load()?;
        let chosen =
            (self.objective == AUTO).then(|| ChosenAim::of(Aim::Auto, instance.topology.as_ref()));
        let objective = chosen.map_or_else(|| self.objective.parse(), |aim| Ok(aim.objective))?;
        self.lower.wanted(objective)?;
        let graph = self.thinned(Graph::from_traffic(&instance.matrix))?;
        let (mut budget, meter) = metered(self.budget()?, self.progress);
        if objective.needs_links() && instance.topology.network().is_none() {
            return Err(no_links(objective, instance.topology.as_ref()));
        }
        let builder = self
            .constrained(&graph, &instance, &fixed)?
            .traffic(&instance.matrix)
            .objective(objective)
            .preset(preset)
            .seed(self.seed);
        let basis = self.basis()?;
        let (wall, cpu) = (Instant::now(), clock::cpu_time());
        let solution = self.solve(builder, mapper, &instance, basis.as_ref(), &mut budget)?;
        drop(meter);
        let (seconds, cpu_seconds) = (wall.elapsed(), clock::cpu_time().saturating_sub(cpu));
        let mut identity = instance.identity();
        if solution.load.is_none() {
            let problem = self.constrained(&graph, &instance, &fixed)?.build()?;
            problem.check(&solution.slot_of_task)?;
            identity = problem.slots_of(&problem.identity_places());
        }
        let mappings = [&solution.slot_of_task[..], &identity];
        let [cost, identity_cost] = costs(objective, &instance, budget.threads(), mappings)?;
        let certificate = self.lower.find(&instance, &solution.slot_of_task, objective)?;
        let summary = MappingSummary {
            schema: 1,
            algorithm: mapper.name().into(),
            preset: preset.name().into(),
            tasks: graph.vertices(),
            slots: instance.slots.len(),
            objective: objective.name(),
            objective_chosen: chosen.map(|aim| aim.sentence()),
            cost,
            identity_cost,
            seconds: seconds.as_secs_f64(),
            cpu_seconds: cpu_seconds.as_secs_f64(),
            peak_rss_bytes: clock::peak_memory(),
            lower_bound: certificate.as_ref().map(lower_bound),
            bound_found_by: certificate.as_ref().map(|c| c.found_by.clone()),
            moves: solution.moves,
            load: solution.load,
        };
        let bound = in_words(certificate.as_ref(), summary.cost);
        self.write(&solution.slot_of_task)?;
        match self.json {
            true => output::print_json(&summary)?,
            false => eprint!("{}", summary.text(&instance, &solution.diagnostics) + &bound),
        }
        Ok(Exit::Done)
    }

    /// The traffic that the previous mapping was searched for, if it was given.
    fn basis(&self) -> Result<Option<Graph>> {
        let Some(matrix) = &self.previous_matrix else { return Ok(None) };
        let matrix = self.instance.other_matrix(matrix)?;
        self.thinned(Graph::from_traffic(&matrix)).map(Some)
    }

    /// Writes the mapping to the file that the user gave, or else to standard output. With --json, standard
    /// output is for the JSON.
    fn write(&self, slot_of_task: &[usize]) -> Result<()> {
        if self.out.is_none() && self.json {
            return Ok(());
        }
        output::write_to(self.out.as_deref(), |out| {
            let mut slots = slot_of_task.iter();
            slots.try_for_each(|slot| writeln!(out, "{slot}")).map_err(crate::formats::write_error)
        })
    }

    fn budget(&self) -> Result<Budget> {
        let budget = match &self.time_limit {
            Some(text) => {
                let limit = options::seconds(text).map_err(|e| e.at("--time-limit"))?;
                Budget::within(limit).using_all()
            }
            None => Budget::unlimited(),
        };
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(budget.with_threads(self.threads.unwrap_or_else(cores)))
    }

    /// The problem with its slots, capacities and fixed tasks.
    fn constrained<'a>(
        &self,
        graph: &'a Graph,
        instance: &'a Instance,
        fixed: &[(u32, usize)],
    ) -> Result<ProblemBuilder<'a>> {
        let mut builder =
            Problem::builder(graph, instance.topology.as_ref()).slots(&instance.slots);
        if let Some(capacities) = self.capacities(graph.vertices(), instance.slots.len())? {
            builder = builder.capacities(&capacities);
        }
        Ok(fixed.iter().fold(builder, |builder, &(task, slot)| builder.fix(task, slot)))
    }

    /// The graph without its light edges.
    fn thinned(&self, graph: Graph) -> Result<Graph> {
        let factor = self.sparse_factor;
        if !(0.0..=1.0).contains(&factor) {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("{factor} is not a number from 0 to 1"),
            )
            .at("--sparse-factor")
            .advise("give 0 for all pairs, 0.1 to leave out those below a tenth of the heaviest"));
        }
        if factor == 0.0 {
            return Ok(graph);
        }
        let vertices = graph.vertices();
        let weights = (0..vertices).flat_map(|v| graph.weights(v).iter().copied());
        let least = weights.max().unwrap_or(0) as f64 * factor;
        let edges: Vec<(u32, u32, u64)> = (0..vertices)
            .flat_map(|v| graph.arcs(v).map(move |(u, w)| (v as u32, u, w)))
            .filter(|&(v, u, w)| v < u && w as f64 > least)
            .collect();
        Ok(Graph::from_edges(vertices, &edges))
    }

    /// Computes the mapping: with or without loads, and with or without a previous mapping.
    fn solve(
        &self,
        builder: ProblemBuilder<'_>,
        mapper: &dyn Mapper,
        instance: &Instance,
        basis: Option<&Graph>,
        budget: &mut Budget,
    ) -> Result<Solution> {
        let migration_cost = self.migration_cost;
        let previous = self.previous.as_deref().map(number_file::mapping).transpose()?;
        let previous = previous.map(|slot_of_task| Previous { slot_of_task, migration_cost });
        let moves = |moved, forced_moves| Some(Moves { moved, forced_moves, migration_cost });
        let Some(path) = &self.weights else {
            let problem = builder.build()?;
            let (outcome, moves) = match &previous {
                None => (mapper.map(&problem, budget)?, None),
                Some(previous) => {
                    let answer = match basis {
                        Some(basis) => {
                            let basis = Basis::Graph(basis);
                            mapping::remap_from(&problem, previous, basis, mapper, budget)
                        }
                        None => mapping::remap(&problem, previous, mapper, budget),
                    };
                    let answer = answer.map_err(|e| e.at("--previous"))?;
                    (answer.outcome, moves(answer.moved, answer.forced))
                }
            };
            let Outcome { slot_of_task, diagnostics, .. } = outcome;
            return Ok(Solution { slot_of_task, diagnostics, moves, load: None });
        };
        let expected = "one load on each line; line i (from 0) belongs to task i";
        let weights = number_file::read(path, "the load", expected)?;
        let loads = Loads::new(weights, self.imbalance / 100.0).map_err(|e| e.at("--imbalance"))?;
        let placed = |e: Error| if e.place().is_none() { e.at(path.display()) } else { e };
        let (balanced, moves) = match &previous {
            None => {
                let answer = mapping::map_with_loads(builder, &loads, mapper, budget);
                (answer.map_err(placed)?, None)
            }
            Some(previous) => {
                let answer = mapping::remap_with_loads(builder, &loads, previous, mapper, budget);
                let answer = answer.map_err(|e| e.at("--weights with --previous"))?;
                (answer.mapping, moves(answer.moved, answer.forced))
            }
        };
        let Balanced { slot_of_task, diagnostics, .. } = balanced;
        let of_slots = loads.of_slots(instance.topology.slots(), &slot_of_task);
        let load = Some(Load {
            max_load: of_slots.into_iter().max().unwrap_or(0),
            mean_load: loads.total() as f64 / instance.slots.len().max(1) as f64,
        });
        Ok(Solution { slot_of_task, diagnostics, moves, load })
    }

    /// How many tasks each slot may take; `None` if every slot takes one task. No slot takes more tasks than an
    /// even distribution needs, so that no slot stays empty while others are shared.
    fn capacities(&self, tasks: usize, slots: usize) -> Result<Option<Vec<u32>>> {
        let factor = self.oversubscribe;
        if !(1.0..=1e6).contains(&factor) {
            return Err(Error::new(ErrorKind::Usage, format!("{factor} is not a number from 1"))
                .at("--oversubscribe")
                .advise("give 2 for two tasks on each slot"));
        }
        if factor == 1.0 {
            return Ok(None);
        }
        let even = tasks.div_ceil(slots.max(1)) as u64;
        let below = |k: usize| (k as f64 * factor + 1e-9).floor() as u64;
        Ok(Some((0..slots).map(|k| (below(k + 1) - below(k)).min(even) as u32).collect()))
    }
}

/// The costs of two mappings. Where one of them may take long, two threads compute them at the same time.
fn costs(
    objective: Objective,
    instance: &Instance,
    threads: usize,
    mappings: [&[usize]; 2],
) -> Result<[ObjectiveValue; 2]> {
    let mut costs = [ObjectiveValue::Whole(0); 2];
    let at_once = if instance.topology.as_tree().is_some() { 1 } else { threads };
    let cost = |k: usize| (k, cost_of(objective, instance, threads, mappings[k]));
    in_order(at_once, mappings.len(), cost, |(k, cost)| cost.map(|cost| costs[k] = cost))?;
    Ok(costs)
}

/// The pairs of task and slot in a list such as `0=0,3=17`.
fn fixed(text: Option<&str>) -> Result<Vec<(u32, usize)>> {
    let pair = |part: &str| {
        let (task, slot) = part.split_once('=')?;
        Some((task.trim().parse().ok()?, slot.trim().parse().ok()?))
    };
    let wrong = |part: &str| {
        Error::new(ErrorKind::Usage, format!("'{part}' is not TASK=SLOT"))
            .at("--fix")
            .advise("give a list such as 0=0,3=17")
    };
    let parts = text.unwrap_or("").split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| pair(part).ok_or_else(|| wrong(part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_tasks() {
        assert_eq!(fixed(Some("0=0, 3=17")).unwrap(), [(0, 0), (3, 17)]);
        assert_eq!(fixed(None).unwrap(), []);
        for bad in ["0", "a=1", "1=", "-1=0", "1=2=3"] {
            assert!(fixed(Some(bad)).is_err(), "{bad}");
        }
    }
}
