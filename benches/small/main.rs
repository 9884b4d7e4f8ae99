//! How far mappings of few tasks are from the best known ones, with each preset.
//!
//!     cargo bench --bench small
//!
//! Problems: those of Nugent, Vollmann and Ruml with 21 to 30 tasks on grids, whose optima are known (QAPLIB of Burkard,
//! Karisch and Rendl); tasks on grids with flows of the same kind (like those of Skorin-Kapov); uniform flows and
//! distances (like those of Taillard); and problems of 8 to 12 tasks on several machines. For up to ten tasks the optimum
//! is found by trying all placements. Where no optimum is known, the best known cost is that of a long tabu search, which
//! is written here again and shares nothing with the engine, or of the engine if this is lower.

mod all_placements;
mod reference;

use rankweave::base::clock::cpu_time;
use rankweave::base::random::SplitMix64;
use rankweave::mapping::{Budget, Preset, Problem, by_name};
use rankweave::matrix::Graph;
use rankweave::topology::{DistanceMatrix, Topology, parse};
use reference::Table;

type Failure = Box<dyn std::error::Error>;

/// The sizes, machines and optima (each pair counted once) of Nugent's problems.
const NUGENT: [(usize, &str, u64); 6] = [
    (21, "mesh:3x7", 1219),
    (22, "mesh:2x11", 1798),
    (24, "mesh:4x6", 1744),
    (27, "mesh:3x9", 2617),
    (28, "mesh:4x7", 2583),
    (30, "mesh:5x6", 3062),
];

struct Instance {
    name: String,
    weights: Table,
    topology: Box<dyn Topology>,
    optimum: Option<u64>,
}

/// A symmetric table with zeros on its diagonal.
fn symmetric(n: usize, mut draw: impl FnMut() -> u64) -> Table {
    let below: Vec<Vec<u64>> = (0..n).map(|a| (0..a).map(|_| draw()).collect()).collect();
    let at = |a: usize, b: usize| if a == b { 0 } else { below[a.max(b)][a.min(b)] };
    (0..n).map(|a| (0..n).map(|b| at(a, b)).collect()).collect()
}

fn nugent() -> Result<Vec<Instance>, Failure> {
    let text = include_str!("nugent30.txt");
    let rows: Vec<Vec<u64>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(' ').map(str::parse).collect::<Result<_, _>>())
        .collect::<Result<_, _>>()?;
    let flow = |a: usize, b: usize| if a == b { 0 } else { rows[a.max(b) - 1][a.min(b)] };
    let instance = |(n, machine, optimum): (usize, &str, u64)| -> Result<Instance, Failure> {
        let weights = (0..n).map(|a| (0..n).map(|b| flow(a, b)).collect()).collect();
        let topology = parse(machine)?;
        Ok(Instance { name: format!("nug{n}"), weights, topology, optimum: Some(optimum) })
    };
    NUGENT.into_iter().map(instance).collect()
}

/// Flows as Nugent's on grids, and uniform flows and distances.
fn of_kinds() -> Result<Vec<Instance>, Failure> {
    let mut all = Vec::new();
    let random = &mut SplitMix64::new(30);
    for seed in 1..=2 {
        for machine in ["mesh:3x4", "mesh:4x4", "mesh:4x5", "mesh:5x5", "mesh:5x6"] {
            let topology = parse(machine)?;
            let flow = || [0, 0, 0, 1, 2, 3, 4, 5, 6, 10][random.below(10)];
            let weights = symmetric(topology.slots(), flow);
            let name = format!("flows like Nugent's {seed}, {machine}");
            all.push(Instance { name, weights, topology, optimum: None });
        }
        for n in [12, 15, 17, 20, 25, 30] {
            let uniform = |random: &mut SplitMix64| symmetric(n, || 1 + random.below(99) as u64);
            let (weights, distances) = (uniform(random), uniform(random));
            let rows: Vec<Vec<u32>> =
                distances.iter().map(|row| row.iter().map(|&d| d as u32).collect()).collect();
            let topology = Box::new(DistanceMatrix::new(&rows)?);
            let name = format!("uniform {seed}, {n} tasks");
            all.push(Instance { name, weights, topology, optimum: None });
        }
    }
    Ok(all)
}

/// Problems of 8 to 12 tasks.
fn tiny() -> Result<Vec<Instance>, Failure> {
    let random = &mut SplitMix64::new(47);
    let mut all = Vec::new();
    for machine in [
        "mesh:2x4",
        "torus:8",
        "tree:2:4@1:10",
        "mesh:3x3",
        "torus:3x3",
        "tree:3:3@1:10",
        "torus:2x5",
        "mesh:10",
        "tree:2:5@1:10",
        "torus:11",
        "mesh:11",
        "mesh:3x4",
        "torus:3x4",
        "tree:3:4@1:10",
        "tree:2:2:3@1:5:25",
        "dragonfly:2x3x2",
    ] {
        for density in [3, 6, 10] {
            let topology = parse(machine)?;
            let flow = || {
                let draw = random.below(10);
                if draw < density { 1 + random.below(20) as u64 } else { 0 }
            };
            let weights = symmetric(topology.slots(), flow);
            let name = format!("{machine}, {density} of 10 pairs");
            all.push(Instance { name, weights, topology, optimum: None });
        }
    }
    Ok(all)
}

/// Costs and processor seconds of the presets.
fn costs(instance: &Instance) -> Result<Vec<(u64, f64)>, Failure> {
    let n = instance.weights.len();
    let mut edges = Vec::new();
    for a in 0..n {
        edges.extend((0..a).map(|b| (a as u32, b as u32, instance.weights[a][b])));
    }
    let graph = Graph::from_edges(n, &edges);
    let mut all = Vec::new();
    for preset in Preset::ALL {
        let problem =
            Problem::builder(&graph, instance.topology.as_ref()).preset(preset).build()?;
        let start = cpu_time();
        let outcome = by_name("auto")?.map(&problem, &mut Budget::unlimited())?;
        let seconds = (cpu_time() - start).as_secs_f64();
        let distance = |a, b| instance.topology.distance(a, b);
        let places: Vec<usize> = outcome.place_of_task.iter().map(|&p| p as usize).collect();
        all.push((reference::cost(&instance.weights, &places, distance), seconds));
    }
    Ok(all)
}

/// Prints a row for each instance, or if `brief` for all together.
fn report(title: &str, instances: &[Instance], brief: bool) -> Result<(), Failure> {
    println!(
        "\n{title}\n\n| problem | best known | fast | default | strong | seconds fast, default, strong |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let mut worst = [0.0f64; 3];
    let mut exact = [0; 3];
    for instance in instances {
        let found = costs(instance)?;
        let n = instance.weights.len();
        let distances: Table =
            (0..n).map(|a| (0..n).map(|b| instance.topology.distance(a, b)).collect()).collect();
        let known = match instance.optimum {
            Some(optimum) => optimum,
            None if n <= 10 => all_placements::least(&instance.weights, &distances),
            None => reference::tabu(&instance.weights, &distances),
        };
        let best = found.iter().map(|&(cost, _)| cost).fold(known, u64::min);
        if instance.optimum.is_some() && best < known {
            return Err(format!("{}: {best} is below the optimum {known}", instance.name).into());
        }
        let over: Vec<f64> =
            found.iter().map(|&(cost, _)| 100.0 * (cost as f64 / best as f64 - 1.0)).collect();
        for (k, percent) in over.iter().enumerate() {
            worst[k] = worst[k].max(*percent);
            exact[k] += usize::from(*percent == 0.0);
        }
        if !brief {
            let percents: Vec<String> = over.iter().map(|p| format!("+{p:.2} %")).collect();
            let seconds: Vec<String> = found.iter().map(|(_, s)| format!("{s:.3}")).collect();
            let (percents, seconds) = (percents.join(" | "), seconds.join(", "));
            println!("| {} | {best} | {percents} | {seconds} |", instance.name);
        }
    }
    let all = instances.len();
    let worst: Vec<String> = worst.iter().map(|p| format!("+{p:.2} %")).collect();
    println!("| worst of {all} | | {} | |", worst.join(" | "));
    let exact: Vec<String> = exact.iter().map(|number| format!("{number} of {all}")).collect();
    println!("| at the best known | | {} | |", exact.join(" | "));
    Ok(())
}

fn main() -> Result<(), Failure> {
    report("Problems of Nugent, Vollmann and Ruml: the optimum is known", &nugent()?, false)?;
    report("Problems of these kinds", &of_kinds()?, false)?;
    report("8 to 12 tasks: the optimum is known up to 10 tasks", &tiny()?, true)
}
