//! How far mappings are from the lower bounds of `rankweave::bounds`.
//!
//!     cargo bench --bench bounds -- --quick         the problems with up to 1024 slots, in a few minutes
//!     cargo bench --bench bounds                    all problems
//!     cargo bench --bench bounds -- TOPOLOGY PATTERN [TOPOLOGY PATTERN …]
//!     cargo bench --bench bounds -- --objective time    the largest predicted times of links; also mc
//!
//! Each line has the hop-bytes (or the objective that is asked for) of the mapping (`auto`, preset `default`), the bounds of `--bound quick` and `--bound
//! best`, how far the mapping is above each in percent, and the CPU seconds of the mapping and of the two bounds. The
//! patterns are those of `rankweave::matrix::synthetic`; `amr:N` is a quadtree that is refined along a circle until it has
//! about N leaves, with the length of the common boundary as weight. A bound above the cost of a mapping is wrong: the
//! benchmark ends with an error then.

use rankweave::base::random::SplitMix64;
use rankweave::bounds::{Certificate, Effort, find};
use rankweave::mapping::{Budget, Objective, Problem, by_name};
use rankweave::matrix::synthetic::pattern;
use rankweave::matrix::{Graph, SparseMatrix, Traffic};
use rankweave::metrics::evaluate;
use rankweave::topology::parse;

/// Kind of problem, topology, pattern.
const CASES: [(&str, &str, &str); 26] = [
    ("fits", "torus:16x16", "torus:16x16,shuffle=1"),
    ("fits", "mesh:32x32", "stencil:32x32,shuffle=1"),
    ("fits", "torus:16x16x16", "stencil:16x16x16,shuffle=1"),
    ("folded", "torus:8x8x8", "stencil:4x8x16,shuffle=1"),
    ("fits", "tree:4:4:16@1:10:100", "stencil:16x16,shuffle=1"),
    ("fits", "tree:16:4:16@1:10:100", "stencil:32x32,shuffle=1"),
    ("fits", "tree:16:4:16@1:10:100", "torus:32x32,shuffle=1"),
    ("fits", "tree:8:8:64@1:10:100", "stencil:16x16x16,shuffle=1"),
    ("trees", "tree:2:8:16@1:10:100", "spmv:256,shuffle=1"),
    ("trees", "tree:2:8:16@1:10:100", "rgg:256,shuffle=1"),
    ("trees", "tree:2:8:16@1:10:100", "amr:256"),
    ("trees", "tree:2:16:32@1:10:100", "spmv:1024,shuffle=1"),
    ("trees", "tree:2:16:32@1:10:100", "rgg:1024,shuffle=1"),
    ("trees", "tree:2:16:32@1:10:100", "amr:1024"),
    ("trees", "tree:4:16:64@1:10:100", "spmv:4096,shuffle=1"),
    ("trees", "tree:4:16:64@1:10:100", "rgg:4096,shuffle=1"),
    ("trees", "tree:4:16:64@1:10:100", "amr:4096"),
    ("tori", "torus:16x16", "spmv:256,shuffle=1"),
    ("tori", "torus:16x16", "rgg:256,shuffle=1"),
    ("tori", "torus:8x8x8", "spmv:512,shuffle=1"),
    ("tori", "torus:8x8x8", "rgg:512,shuffle=1"),
    ("tori", "torus:32x32", "spmv:1024,shuffle=1"),
    ("tori", "torus:32x32", "rgg:1024,shuffle=1"),
    ("tori", "torus:16x16x16", "spmv:4096,shuffle=1"),
    ("tori", "torus:16x16x16", "rgg:4096,shuffle=1"),
    ("tori", "torus:16x16x16", "amr:4096"),
];

/// The same for objectives of links.
const WITH_LINKS: [(&str, &str, &str); 12] = [
    ("fits", "torus:8x8x8", "torus:8x8x8,shuffle=1"),
    ("fits", "mesh:16x16", "stencil:16x16,shuffle=1"),
    ("folded", "torus:8x8x8", "stencil:4x8x16,shuffle=1"),
    ("trees", "fattree:16:4:4@2:2", "stencil:16x16,shuffle=1"),
    ("trees", "fattree:16:4:4@2:2", "rgg:256,shuffle=1"),
    ("trees", "fattree:16:4:4@2:2", "spmv:256,shuffle=1"),
    ("trees", "fattree:16:4:4@2:2,routing=ecmp", "stencil:16x16,shuffle=1"),
    ("tori", "torus:8x8x4", "rgg:256,shuffle=1"),
    ("tori", "torus:8x8x4", "spmv:256,shuffle=1"),
    ("tori", "torus:8x8x4,routing=adaptive", "spmv:256,shuffle=1"),
    ("dragonflies", "dragonfly:8x4x2", "stencil:8x8,shuffle=1"),
    ("dragonflies", "dragonfly:8x4x2,routing=adaptive", "rgg:64,shuffle=1"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let all = words.len();
    words.retain(|word| word != "--quick");
    let most = if words.len() < all { 1024 } else { usize::MAX };
    let objective = match words.iter().position(|word| word == "--objective") {
        Some(at) if at + 1 < words.len() => {
            let name = words.remove(at + 1);
            words.remove(at);
            name.parse()?
        }
        Some(_) => return Err("--objective needs a name".into()),
        None => Objective::HopBytes,
    };
    let cases = match objective {
        Objective::Mc | Objective::Time => WITH_LINKS.to_vec(),
        _ => CASES.to_vec(),
    };
    let own: Vec<(&str, &str, &str)> =
        words.chunks_exact(2).map(|pair| ("own", pair[0].as_str(), pair[1].as_str())).collect();
    println!(
        "| kind | topology | pattern | {} | quick | above, % | best | above, % | s, mapping | s, quick | s, best |",
        objective.name()
    );
    println!("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for case in if own.is_empty() { cases } else { own } {
        measure(case, objective, most)?;
    }
    Ok(())
}

/// Prints the line of a case, if the topology has at most `most` slots.
fn measure(
    (kind, topology_text, text): (&str, &str, &str),
    objective: Objective,
    most: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let topology = parse(topology_text)?;
    if topology.slots() > most {
        return Ok(());
    }
    let graph = match text.strip_prefix("amr:") {
        Some(size) => amr(size.parse()?),
        None => pattern(text)?,
    };
    let matrix = matrix_of(&graph, matches!(objective, Objective::Mc | Objective::Time));
    let slots: Vec<usize> = (0..topology.slots()).collect();
    let begin = cpu_seconds();
    let problem = Problem::builder(&graph, topology.as_ref()).objective(objective).build()?;
    let mapping =
        by_name("auto")?.map(&problem, &mut Budget::unlimited().with_threads(1))?.slot_of_task;
    let mut seconds = vec![cpu_seconds() - begin];
    let found = evaluate(&matrix, topology.as_ref(), &mapping)?;
    let cost = match objective {
        Objective::HopBytes => Some(found.hop_bytes as f64),
        Objective::Mc => found.mc,
        Objective::Time => found.predicted_time,
        _ => return Err(format!("--objective {} is not measured", objective.name()).into()),
    };
    let cost = cost.ok_or("the topology has no links")?;
    let mut columns = Vec::new();
    for effort in [Effort::Quick, Effort::Best] {
        let begin = cpu_seconds();
        let found = find(&matrix, topology.as_ref(), &slots, 1, objective, effort)?;
        seconds.push(cpu_seconds() - begin);
        let of =
            |certificate: Certificate| certificate.real_bound.unwrap_or(certificate.bound as f64);
        let bound = found.map_or(0.0, of);
        if bound > cost * (1.0 + 1e-9) {
            return Err(format!("{topology_text}, {text}: bound {bound}, mapping {cost}").into());
        }
        columns.push(format!("{bound} | {:.1}", 100.0 * (cost / bound - 1.0)));
    }
    let seconds: Vec<String> = seconds.iter().map(|s| format!("{s:.3}")).collect();
    let (columns, seconds) = (columns.join(" | "), seconds.join(" | "));
    println!("| {kind} | {topology_text} | {text} | {cost} | {columns} | {seconds} |");
    Ok(())
}

/// The edges as traffic of the lower task, or of both.
fn matrix_of(graph: &Graph, both: bool) -> SparseMatrix {
    let edges =
        (0..graph.vertices()).flat_map(|v| graph.arcs(v).map(move |(u, w)| (v as u32, u, w)));
    let entries: Vec<_> = edges
        .filter(|e| both || e.0 < e.1)
        .map(|(v, u, bytes)| (v, u, Traffic { bytes, messages: 1 }))
        .collect();
    SparseMatrix::from_entries(graph.vertices(), &entries)
}

/// Cells of a quadtree over a square of 2^12 units, the cells on a circle refined, renumbered at random. A refinement adds
/// three cells, so up to two of the `wanted` tasks have no cell and no traffic.
fn amr(wanted: usize) -> Graph {
    const SIDE: u32 = 1 << 12;
    let mut cells: Vec<(u32, u32, u32)> = vec![(0, 0, SIDE)];
    let on_circle = |&(x, y, s): &(u32, u32, u32)| {
        let half = f64::from(SIDE) / 2.0;
        let far = |c: u32| (f64::from(c) - half, f64::from(c + s) - half);
        let ((x0, x1), (y0, y1)) = (far(x), far(y));
        let near = |a: f64, b: f64| if a <= 0.0 && b >= 0.0 { 0.0 } else { a.abs().min(b.abs()) };
        let low = near(x0, x1).hypot(near(y0, y1));
        let high = x0.abs().max(x1.abs()).hypot(y0.abs().max(y1.abs()));
        let radius = 0.35 * f64::from(SIDE);
        low <= radius && radius <= high
    };
    while cells.len() + 3 <= wanted {
        // The largest cell first; those on the circle count as eight times as large.
        let size = |c: &(u32, u32, u32)| (c.2 * if on_circle(c) { 8 } else { 1 }, c.0, c.1);
        let Some(k) = (0..cells.len()).max_by_key(|&k| size(&cells[k])) else { break };
        let (x, y, s) = cells.swap_remove(k);
        let h = s / 2;
        cells.extend([(x, y, h), (x + h, y, h), (x, y + h, h), (x + h, y + h, h)]);
    }
    let mut random = SplitMix64::new(7);
    let mut order: Vec<(u64, (u32, u32, u32))> =
        cells.into_iter().map(|c| (random.next_u64(), c)).collect();
    order.sort_unstable();
    let cells: Vec<(u32, u32, u32)> = order.into_iter().map(|c| c.1).collect();
    let mut edges = Vec::new();
    for (i, a) in cells.iter().enumerate() {
        for (j, b) in cells[..i].iter().enumerate() {
            let common = |p: u32, s: u32, q: u32, t: u32| {
                i64::from((p + s).min(q + t)) - i64::from(p.max(q))
            };
            let (along, across) = (common(a.0, a.2, b.0, b.2), common(a.1, a.2, b.1, b.2));
            if along.min(across) == 0 && along.max(across) > 0 {
                edges.push((i as u32, j as u32, along.max(across) as u64));
            }
        }
    }
    Graph::from_edges(wanted, &edges)
}

/// Seconds of processor time that this process has used.
fn cpu_seconds() -> f64 {
    rankweave::base::clock::cpu_time().as_secs_f64()
}
