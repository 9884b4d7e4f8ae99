//! How far mappings of irregular patterns on tori are from the best known ones.
//!
//!     cargo bench --bench annealing                            the table of docs/benchmarks.md
//!     cargo bench --bench annealing -- PATTERN TOPOLOGY [SEEDS [FACTOR]]
//!
//! The judge is a search of another kind, which shares no code with the engine: simulated annealing by exchanges of two
//! tasks (Kirkpatrick, Gelatt, Vecchi 1983), from a random order, with FACTOR (10) times the processor time that preset
//! `default` took. Half of its proposals bring a task next to one of its partners, the others are random. A second run
//! begins with the answer of `default`, at a low temperature, and shows what a local search could still gain. The best
//! known cost of an instance is the least of all that were found, those of preset `strong` included. The last ratio is the
//! cost of `default` over that of the annealing from a random order.
//!
//! Seconds are CPU seconds of one thread.

use rankweave::base::random::SplitMix64;
use rankweave::mapping::{Budget, Preset, Problem, by_name};
use rankweave::matrix::Graph;
use rankweave::matrix::synthetic::pattern;
use rankweave::metrics::hop_bytes;
use rankweave::topology::{Topology, parse};

type Failure = Box<dyn std::error::Error>;

/// Pattern and topology: those of `benches/mapping/run --set irregular`.
const CASES: [(&str, &str); 6] = [
    ("rgg:512", "torus:8x8x8"),
    ("spmv:512", "torus:8x8x8"),
    ("powerlaw:512", "torus:8x8x8"),
    ("spmv:1024", "torus:32x32"),
    ("rgg:1024", "torus:8x8x16"),
    ("rgg:4096", "torus:16x16x16"),
];
const PRESETS: [&str; 3] = ["fast", "default", "strong"];

/// Seconds of processor time that this process has used.
fn cpu_seconds() -> f64 {
    rankweave::base::clock::cpu_time().as_secs_f64()
}

/// An order of the tasks, the distances between all slots, and the slots at the least distance from each.
struct Annealer<'a> {
    graph: &'a Graph,
    distances: Vec<u8>,
    near: Vec<Vec<u32>>,
    slot_of: Vec<u32>,
    task_at: Vec<u32>,
    random: SplitMix64,
}

impl<'a> Annealer<'a> {
    fn new(graph: &'a Graph, topology: &dyn Topology, seed: u64) -> Self {
        let n = graph.vertices();
        let distances: Vec<u8> =
            (0..n * n).map(|i| topology.distance(i / n, i % n) as u8).collect();
        let near = |a: usize| {
            let row = &distances[a * n..(a + 1) * n];
            let least = row.iter().filter(|&&d| d > 0).min().copied().unwrap_or(0);
            (0..n as u32).filter(|&b| b as usize != a && row[b as usize] == least).collect()
        };
        let near = (0..n).map(near).collect();
        let order: Vec<u32> = (0..n as u32).collect();
        let random = SplitMix64::new(seed);
        Annealer { graph, distances, near, slot_of: order.clone(), task_at: order, random }
    }

    /// Begins with this order.
    fn begin_with(&mut self, slot_of_task: &[usize]) {
        for (task, &slot) in slot_of_task.iter().enumerate() {
            self.slot_of[task] = slot as u32;
            self.task_at[slot] = task as u32;
        }
    }

    /// Begins with a random order.
    fn begin_anew(&mut self) {
        let n = self.slot_of.len();
        for last in (1..n).rev() {
            let other = self.random.below(last + 1);
            self.exchange(last, other);
        }
    }

    fn exchange(&mut self, a: usize, b: usize) {
        let (at, bt) = (self.slot_of[a], self.slot_of[b]);
        (self.slot_of[a], self.slot_of[b]) = (bt, at);
        (self.task_at[at as usize], self.task_at[bt as usize]) = (b as u32, a as u32);
    }

    /// How the cost changes if `task` moves from slot `from` to `to`, without its edges to `other`.
    fn change(&self, task: usize, from: u32, to: u32, other: usize) -> i64 {
        let n = self.slot_of.len();
        let (old, new) = (&self.distances[from as usize * n..], &self.distances[to as usize * n..]);
        let edges = self.graph.arcs(task).filter(|&(u, _)| u as usize != other);
        edges
            .map(|(u, weight)| {
                let at = self.slot_of[u as usize] as usize;
                weight as i64 * (i64::from(new[at]) - i64::from(old[at]))
            })
            .sum()
    }

    /// Two tasks that may be exchanged: the second is random, or sits next to a partner of the first.
    fn proposal(&mut self) -> (usize, usize) {
        let n = self.slot_of.len();
        let a = self.random.below(n);
        let partners = self.graph.neighbours(a);
        if partners.is_empty() || self.random.below(2) == 0 {
            return (a, self.random.below(n));
        }
        let partner = partners[self.random.below(partners.len())];
        let around = &self.near[self.slot_of[partner as usize] as usize];
        let slot = around[self.random.below(around.len())];
        (a, self.task_at[slot as usize] as usize)
    }

    /// The sum of weight times distance over all edges, each counted once.
    fn cost(&self) -> i64 {
        let n = self.slot_of.len();
        let at = |task: usize| self.slot_of[task] as usize;
        let of = |v: usize| {
            let edges = self.graph.arcs(v).filter(move |&(u, _)| u as usize > v);
            edges.map(move |(u, weight)| {
                weight as i64 * i64::from(self.distances[at(v) * n + at(u as usize)])
            })
        };
        (0..n).flat_map(of).sum()
    }

    /// Cools from the temperature `hot` to `cold` in `seconds` of processor time. Returns the least [`Self::cost`] that was
    /// met.
    fn cool(&mut self, hot: f64, cold: f64, seconds: f64) -> i64 {
        const STEP: usize = 20_000;
        let (start, mut cost) = (cpu_seconds(), self.cost());
        let mut least = cost;
        loop {
            let passed = (cpu_seconds() - start) / seconds;
            if passed >= 1.0 {
                assert_eq!(cost, self.cost(), "the sum of the changes is the change of the cost");
                return least;
            }
            let temperature = hot * (cold / hot).powf(passed);
            for _ in 0..STEP {
                let (a, b) = self.proposal();
                if a == b {
                    continue;
                }
                let (at, bt) = (self.slot_of[a], self.slot_of[b]);
                let change = self.change(a, at, bt, b) + self.change(b, bt, at, a);
                if change <= 0 || self.random.unit() < (-change as f64 / temperature).exp() {
                    self.exchange(a, b);
                    cost += change;
                    least = least.min(cost);
                }
            }
        }
    }

    /// The mean of what an edge adds to the cost for one hop: the scale of temperatures.
    fn scale(&self) -> f64 {
        let n = self.graph.vertices();
        let sum: u64 = (0..n).flat_map(|v| self.graph.arcs(v).map(|(_, weight)| weight)).sum();
        sum as f64 / (2 * self.graph.edges()).max(1) as f64
    }
}

/// Logarithms of ratios, and the largest ratio.
#[derive(Clone, Copy, Default)]
struct Ratios {
    sum: f64,
    worst: f64,
    number: usize,
}

impl Ratios {
    fn add(&mut self, ratio: f64) {
        self.sum += ratio.ln();
        self.worst = self.worst.max(ratio);
        self.number += 1;
    }

    fn print(&self) -> String {
        format!("{:.4}, {:.4}", (self.sum / self.number.max(1) as f64).exp(), self.worst)
    }
}

/// The costs of one instance: three presets, annealing, and annealing after `default`.
fn costs(
    text: &str,
    machine: &str,
    seed: u64,
    factor: f64,
) -> Result<([f64; 5], [f64; 3]), Failure> {
    let graph = pattern(&format!("{text},seed={seed},shuffle={seed}"))?;
    let (topology, auto) = (parse(machine)?, by_name("auto")?);
    let topology = topology.as_ref();
    let (mut found, mut seconds) = ([0.0; 5], [0.0; 3]);
    let mut answer = Vec::new();
    for (at, preset) in PRESETS.into_iter().enumerate() {
        let preset: Preset = preset.parse()?;
        let problem = Problem::builder(&graph, topology).preset(preset).seed(seed).build()?;
        let begin = cpu_seconds();
        let slots = auto.map(&problem, &mut Budget::unlimited())?.slot_of_task;
        seconds[at] = cpu_seconds() - begin;
        found[at] = hop_bytes(&graph, topology, &slots) as f64;
        if at == 1 {
            answer = slots;
        }
    }
    let mut annealer = Annealer::new(&graph, topology, seed);
    let limit = factor * seconds[1];
    let scale = annealer.scale();
    annealer.begin_with(&answer);
    // What the metric counts for each unit of the annealer's cost.
    let unit = found[1] / annealer.cost() as f64;
    found[4] = unit * annealer.cool(0.4 * scale, 0.1 * scale, limit) as f64;
    annealer.begin_anew();
    found[3] = unit * annealer.cool(4.0 * scale, 0.1 * scale, limit) as f64;
    Ok((found, seconds))
}

fn measure(
    text: &str,
    machine: &str,
    seeds: u64,
    factor: f64,
    all: &mut [Ratios; 6],
) -> Result<(), Failure> {
    let (mut ratios, mut sum) = ([Ratios::default(); 6], [0.0; 3]);
    for seed in 1..=seeds {
        let (found, seconds) = costs(text, machine, seed, factor)?;
        let best = found.iter().copied().fold(f64::INFINITY, f64::min);
        let beside = [found[1] / found[3]];
        for (at, ratio) in found.into_iter().map(|cost| cost / best).chain(beside).enumerate() {
            ratios[at].add(ratio);
            all[at].add(ratio);
        }
        for (total, one) in sum.iter_mut().zip(seconds) {
            *total += one / seeds as f64;
        }
    }
    let columns: Vec<String> = ratios.iter().map(Ratios::print).collect();
    println!(
        "| {text} | {machine} | {} | {:.3}, {:.2}, {:.2} |",
        columns.join(" | "),
        sum[0],
        sum[1],
        sum[2]
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, other: f64| words.get(at).map_or(Ok(other), |word| word.parse());
    let (seeds, factor) = (number(2, 5.0)? as u64, number(3, 10.0)?);
    println!(
        "Cost over the best known one of the instance: geometric mean of {seeds} instances, and the worst.\n\n\
         | pattern | topology | fast | default | strong | annealing | annealing after default | default over \
         annealing | CPU s of the presets |\n|---|---|---:|---:|---:|---:|---:|---:|---:|"
    );
    let mut all = [Ratios::default(); 6];
    match words.get(..2) {
        Some([text, machine]) => measure(text, machine, seeds, factor, &mut all)?,
        _ => {
            for (text, machine) in CASES {
                measure(text, machine, seeds, factor, &mut all)?;
            }
        }
    }
    let columns: Vec<String> = all.iter().map(Ratios::print).collect();
    println!("| all | | {} | |", columns.join(" | "));
    Ok(())
}
