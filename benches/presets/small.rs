//! Small problems, each with the least cost of all placements by trying them all.

use super::all_placements::{Table, least};
use super::instances::random_distances;
use rankweave::base::random::SplitMix64;
use rankweave::mapping::{Budget, Preset, Problem, by_name};
use rankweave::matrix::Graph;
use rankweave::topology::{DistanceMatrix, Topology, parse};

/// Prints how many random problems of 4 to 10 tasks each preset solves exactly, and the seconds of the slowest.
pub fn report() -> Result<(), Box<dyn std::error::Error>> {
    const PROBLEMS: usize = 60;
    let random = &mut SplitMix64::new(18);
    let mut exact = [0; 3];
    let mut slowest = [0.0f64; 3];
    for number in 0..PROBLEMS {
        let n = 4 + number % 7;
        let mut edges = Vec::new();
        for a in 0..n as u32 {
            edges.extend((0..a).map(|b| (a, b, random.next_u64() % 10)));
        }
        let rows = random_distances(n, random);
        let graph = Graph::from_edges(n, &edges);
        let topology: Box<dyn Topology> = match number % 4 {
            0 => parse(&format!("torus:{n}"))?,
            1 => parse(&format!("mesh:{n}"))?,
            _ => Box::new(DistanceMatrix::new(&rows)?),
        };
        let table = |value: &dyn Fn(usize, usize) -> u64| -> Table {
            (0..n).map(|a| (0..n).map(|b| value(a, b)).collect()).collect()
        };
        let weight = |a: usize, b: usize| {
            graph.arcs(a).find(|arc| arc.0 as usize == b).map_or(0, |arc| arc.1)
        };
        let best = least(&table(&weight), &table(&|a, b| topology.distance(a, b)));
        for (k, preset) in Preset::ALL.into_iter().enumerate() {
            let start = std::time::Instant::now();
            let problem = Problem::builder(&graph, topology.as_ref()).preset(preset).build()?;
            let outcome = by_name("auto")?.map(&problem, &mut Budget::unlimited())?;
            slowest[k] = slowest[k].max(start.elapsed().as_secs_f64());
            exact[k] += usize::from(outcome.hop_bytes == u128::from(best));
        }
    }
    for (k, preset) in Preset::ALL.into_iter().enumerate() {
        let (name, exact, slowest) = (preset.name(), exact[k], slowest[k]);
        println!(
            "{name}: {exact} of {PROBLEMS} problems of 4 to 10 tasks exact, slowest {slowest:.3} s"
        );
    }
    Ok(())
}
