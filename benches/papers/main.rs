//! The papers' claims, one row each, with the algorithms of `src/mapping/papers`.
//!
//! Run with `cargo bench --bench papers [-- PART]`; parts are the names in front of the rows. Any
//! other comparison: `-- custom PATTERN TOPOLOGY ALGORITHM…`. CPU seconds are those of this process
//! and one thread. Costs are hops per byte, computed by
//! `rankweave::metrics`, not by the algorithms.

use rankweave::mapping::{Budget, Objective, Problem, by_name, registry};
use rankweave::matrix::{Graph, SparseMatrix, Traffic, synthetic::pattern};
use rankweave::metrics::{Evaluation, evaluate};
use rankweave::topology::{Topology, Tree, parse};

/// Seconds of processor time that this process has used.
fn cpu_seconds() -> f64 {
    rankweave::base::clock::cpu_time().as_secs_f64()
}

/// An undirected graph as a matrix: half of each weight either way.
fn matrix(graph: &Graph) -> SparseMatrix {
    let mut entries = Vec::new();
    for v in 0..graph.vertices() {
        for (u, w) in graph.arcs(v) {
            entries.push((v as u32, u, Traffic { bytes: w, messages: 1 }));
        }
    }
    SparseMatrix::from_entries(graph.vertices(), &entries)
}

struct Row {
    evaluation: Evaluation,
    seconds: f64,
    swaps: String,
    slots: Vec<usize>,
}

fn run(graph: &Graph, topology: &dyn Topology, slots: Option<&[usize]>, name: &str) -> Option<Row> {
    let mut builder = Problem::builder(graph, topology).objective(Objective::HopBytes);
    if let Some(slots) = slots {
        builder = builder.slots(slots);
    }
    let problem = builder.build().ok()?;
    let start = cpu_seconds();
    let outcome = by_name(name).ok()?.map(&problem, &mut Budget::unlimited()).ok()?;
    let seconds = cpu_seconds() - start;
    problem.check(&outcome.slot_of_task).ok()?;
    let swaps = outcome.diagnostics.iter().find(|d| d.0 == "swaps");
    Some(Row {
        evaluation: evaluate(&matrix(graph), topology, &outcome.slot_of_task).ok()?,
        seconds,
        swaps: swaps.map_or(String::new(), |d| d.1.clone()),
        slots: outcome.slot_of_task,
    })
}

fn rows(part: &str, spec: (&str, &str), slots: Option<&[usize]>, names: &[&str]) {
    let (Ok(graph), Ok(topology)) = (pattern(spec.0), parse(spec.1)) else {
        println!("{part}: cannot make {spec:?}");
        return;
    };
    for name in names {
        match run(&graph, topology.as_ref(), slots, name) {
            Some(row) => {
                let e = &row.evaluation;
                println!(
                    "{part} | {} | {} | {name} | {:.4} | {} | {} | {:.3} | {}",
                    spec.0,
                    spec.1,
                    e.hops_per_byte,
                    e.mc.map_or(String::new(), |mc| format!("{mc:.0}")),
                    e.mmc.map_or(String::new(), |mmc| mmc.to_string()),
                    row.seconds,
                    row.swaps
                );
            }
            None => println!("{part} | {} | {} | {name} | does not apply", spec.0, spec.1),
        }
    }
}

/// A sparse allocation: nodes in stretches along a snake through a 3-D machine, with gaps.
fn snake(sides: [usize; 3], wanted: usize, seed: u64) -> Vec<usize> {
    let [x, y, z] = sides;
    let mut order = Vec::new();
    for i in 0..x {
        for j in 0..y {
            let j = if i % 2 == 0 { j } else { y - 1 - j };
            for k in 0..z {
                let k = if (i + j) % 2 == 0 { k } else { z - 1 - k };
                order.push((i * y + j) * z + k);
            }
        }
    }
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut slots = Vec::new();
    let mut at = 0;
    while slots.len() < wanted && at < order.len() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let stretch = 1 + (state >> 33) as usize % 48;
        let gap = (state >> 45) as usize % 24;
        slots.extend(order[at..].iter().take(stretch.min(wanted - slots.len())));
        at += stretch + gap;
    }
    slots
}

/// GSEARCH on random nodes of a mesh: where it is below GEOM, and how many swaps that takes.
fn gsearch_random(side: usize, allocations: usize) {
    let (job, machine) = (format!("stencil:{side}x{side}x{side}"), "mesh:24x24x16");
    let (Ok(graph), Ok(topology)) = (pattern(&job), parse(machine)) else {
        println!("gsearch-random: cannot make {job} or {machine}");
        return;
    };
    let (mut below, mut ratios) = (0, Vec::new());
    let mut state = 1u64;
    for _ in 0..allocations {
        let mut nodes: Vec<usize> = (0..topology.slots()).collect();
        for i in (1..nodes.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            nodes.swap(i, (state >> 33) as usize % (i + 1));
        }
        nodes.truncate(side * side * side);
        nodes.sort_unstable();
        let [geom, gsearch] =
            ["geom", "gsearch"].map(|name| run(&graph, topology.as_ref(), Some(&nodes), name));
        let (Some(geom), Some(gsearch)) = (geom, gsearch) else { continue };
        below += usize::from(gsearch.evaluation.hops_per_byte < geom.evaluation.hops_per_byte);
        ratios.push(gsearch.swaps.parse().unwrap_or(f64::NAN) / nodes.len() as f64);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    println!("{job} | {} | {below} | {mean:.3}, {largest:.3}", ratios.len());
}

/// Papers whose measurements are of grids of tasks on grids of slots.
fn on_grids(part: &dyn Fn(&str) -> bool) {
    if part("topolb") {
        // TopoLB paper, 5.2: optimal on most 2-D meshes on 2-D tori, ahead of TopoCentLB; 1.0 for
        // 8x8 on 4x4x4.
        let all = ["random", "topocentlb", "topolb", "topolb-third-order", "refine-topolb"];
        for (mesh, torus) in [
            ("stencil:8x8", "torus:8x8"),
            ("stencil:8x8", "torus:4x4x4"),
            ("stencil:12x12", "torus:12x12"),
            ("stencil:16x16", "torus:16x16"),
            ("stencil:24x24", "torus:24x24"),
            ("stencil:32x32", "torus:32x32"),
            ("stencil:32x32,shuffle=1", "torus:32x32"),
        ] {
            rows("topolb", (mesh, torus), None, &all);
        }
    }
    if part("gsearch") {
        // GSearch paper, IV: below GEOM on sparse allocations of a 24x24x16 mesh, a bit less than
        // n/4 swaps; the variants swap 12 % and 35 % less.
        let all = ["geom", "gsearch", "gsearch-by-rank", "gsearch-best", "multi-jagged"];
        for (job, nodes) in [("stencil:8x8x4", 256), ("stencil:8x16x4", 512)] {
            for seed in 1..=4 {
                let slots = snake([24, 24, 16], nodes, seed);
                rows("gsearch", (job, "mesh:24x24x16"), Some(&slots), &all);
            }
        }
        let slots = snake([24, 24, 16], 2048, 1);
        rows("gsearch", ("stencil:16x16x8", "mesh:24x24x16"), Some(&slots), &all[..2]);
    }
    if part("gsearch-random") {
        // GSearch paper, IV-B, Figure 9: on random nodes a mean of a bit less than n/4 swaps.
        println!("pattern | allocations | GSearch below GEOM | swaps / n: mean, largest");
        for side in [4, 6, 8, 10, 12] {
            gsearch_random(side, 10);
        }
    }
    if part("hiertopomap") {
        // HierTopoMap paper, 5: hop-bytes down by up to 90 %, 8192 processes in 0.32 s on a fat tree
        // of nodes with 16 cores.
        let all = ["packed", "round-robin", "hiertopomap-tree"];
        rows("hiertopomap", ("stencil:16x16x32", "tree:8:2:16:32@1:2:4:6"), None, &all);
        let all = ["random", "hiertopomap-tree", "hiertopomap-bipart", "hiertopomap-bipart-wrap"];
        rows("hiertopomap", ("stencil:16x16x8", "torus:16x16x8"), None, &all);
        let slots = snake([24, 24, 16], 2048, 2);
        rows("hiertopomap", ("stencil:16x16x8", "torus:24x24x16"), Some(&slots), &all);
    }
}

/// The UMPA paper, whose measurements are of sparse allocations of a torus.
fn on_sparse_allocations(part: &dyn Fn(&str) -> bool) {
    if part("umpa") {
        // UMPA paper, IV: greedy and refinement lower weighted hops by 16 %, UMC the maximum
        // congestion by 27 to 37 %, against the default mapping of a sparse allocation.
        let all = ["packed", "umpa-greedy", "umpa-wh", "umpa-th", "umpa-mc", "umpa-mmc"];
        for job in ["spmv:1024", "rgg:1024", "stencil:16x16x4"] {
            let slots = snake([16, 12, 24], 1024, 3);
            rows("umpa", (job, "torus:16x12x24"), Some(&slots), &all);
        }
    }
    if part("congestion") {
        // UMPA paper, IV: UMC lowers the maximum congestion by 27 to 37 % and hop-bytes by 1 to 13 %.
        println!(
            "MC and hop-bytes against node order; MC, MMC of the best mapping that minimises hops"
        );
        for (tasks, machine) in [(512, [16, 12, 12]), (1024, [16, 12, 24]), (2048, [24, 24, 16])] {
            for seed in 1..=3 {
                congestion(&format!("spmv:{tasks},seed={seed}"), machine, seed);
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let only = arguments.first().cloned();
    let part = |name: &str| only.as_deref().is_none_or(|wanted| wanted == name);
    println!("part | pattern | topology | algorithm | hops per byte | MC | MMC | CPU s | swaps");
    if let [custom, pattern, topology, names @ ..] = arguments.as_slice()
        && custom == "custom"
    {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return rows("custom", (pattern, topology), None, &names);
    }
    on_grids(&part);
    on_sparse_allocations(&part);
    if part("topomatch") {
        // TopoMatch paper, 4.2 and 5: 1024 processes in less than 0.5 s.
        for (job, tree) in [
            ("stencil:32x32", "tree:4:2:8:16@1:5:10:100"),
            ("rgg:1024", "tree:4:2:8:16@1:5:10:100"),
            ("stencil:64x64", "tree:2:2:2:2:2:2:2:2:2:2:2:2"),
        ] {
            rows("topomatch", (job, tree), None, &["packed", "topomatch", "auto"]);
        }
    }
    if part("dense") {
        // TopoMatch paper, 5.1: uniform random matrices of order 1000 and 10 000 on a fat tree of
        // 86 400 leaves take 0.97 s and 27.7 s.
        dense(1000, "fattree:24:60:60", &["packed", "treematch", "topomatch"]);
        dense(10_000, "fattree:24:60:60", &["packed", "treematch", "topomatch"]);
    }
    if part("stencils") {
        stencils();
    }
    if part("libtopomap") {
        let all = ["random", "libtopomap-greedy", "libtopomap-rb", "libtopomap-rcm"];
        rows("libtopomap", ("rgg:1024", "torus:8x8x16"), None, &all);
        rows("libtopomap", ("rgg:1024", "tree:4:8:32@1:10:100"), None, &all);
    }
}

/// One SpMV pattern in its own order on a sparse allocation: UMPA's algorithms against the order of
/// the nodes, and the congestion objectives against every algorithm that minimises hops.
fn congestion(job: &str, machine: [usize; 3], seed: u64) {
    let Ok(graph) = pattern(job) else { return };
    let [x, y, z] = machine;
    let spec = format!("torus:{x}x{y}x{z}");
    let Ok(topology) = parse(&spec) else { return };
    let slots = snake(machine, graph.vertices(), seed);
    let traffic = matrix(&graph);
    let evaluated = |name: &str, objective: Objective| {
        let problem = Problem::builder(&graph, topology.as_ref())
            .slots(&slots)
            .traffic(&traffic)
            .objective(objective)
            .build()
            .ok()?;
        let start = cpu_seconds();
        let outcome = by_name(name).ok()?.map(&problem, &mut Budget::unlimited()).ok()?;
        let seconds = cpu_seconds() - start;
        let e = evaluate(&traffic, topology.as_ref(), &outcome.slot_of_task).ok()?;
        Some((e.mc?, e.mmc?, e.hop_bytes, seconds))
    };
    let Some(order) = evaluated("packed", Objective::HopBytes) else { return };
    for name in ["umpa-mc", "umpa-mmc"] {
        let Some(e) = evaluated(name, Objective::HopBytes) else { continue };
        let less = |now: f64, before: f64| 100.0 * (now / before - 1.0);
        println!(
            "congestion | {job} | {spec} | {name} | MC {} ({:+.0} %) | MMC {} ({:+.0} %) | WH {:+.0} % | {:.2} s",
            e.0,
            less(e.0, order.0),
            e.1,
            less(e.1 as f64, order.1 as f64),
            less(e.2 as f64, order.2 as f64),
            e.3
        );
    }
    let names = registry().iter().map(|m| m.name()).filter(|n| !n.ends_with("mc"));
    let hops: Vec<(f64, u64, &str)> =
        names.filter_map(|n| evaluated(n, Objective::HopBytes).map(|e| (e.0, e.1, n))).collect();
    let mc = hops.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let mmc = hops.iter().min_by_key(|h| h.1);
    let ours = [Objective::Mc, Objective::Mmc].map(|objective| evaluated("auto", objective));
    if let (Some(mc), Some(mmc), [Some(by_mc), Some(by_mmc)]) = (mc, mmc, ours) {
        println!(
            "congestion | {job} | {spec} | least MC by hops {} ({}), --objective mc {}, {:.2} s | \
             least MMC by hops {} ({}), --objective mmc {}, {:.2} s",
            mc.0, mc.2, by_mc.0, by_mc.3, mmc.1, mmc.2, by_mmc.1, by_mmc.3
        );
    }
}

/// The placements of grids on nodes with the stencils of CLUSTER 2020, section VI: edges between nodes
/// in all, those of the node with the most, and seconds.
fn stencils() {
    println!(
        "stencils | stencil | grid | nodes | algorithm | edges between nodes | worst node | CPU s"
    );
    let mixed: Vec<usize> = (0..50).map(|k| [40, 48, 56, 48][k % 4]).collect();
    let mixed: Vec<usize> = mixed[..49].iter().copied().chain([2400 - sum(&mixed[..49])]).collect();
    let machines: [(&[usize], &str, Vec<usize>); 6] = [
        (&[50, 48], "50 x 48", vec![48; 50]),
        (&[75, 64], "100 x 48", vec![48; 100]),
        (&[50, 48], "50 of 40 to 56", mixed),
        (&[60, 40], "30 x 24 and 35 x 48", [vec![24; 30], vec![48; 35]].concat()),
        (&[16, 15, 10], "50 x 48", vec![48; 50]),
        (&[20, 16, 15], "100 x 48", vec![48; 100]),
    ];
    let names = ["grid-rows", "nodecart", "hyperplane", "kd-tree", "stencil-strips", "auto"];
    for (dims, nodes, sizes) in &machines {
        for kind in ["nearest", "nearest and diagonal", "hops", "component"] {
            let graph = steps(dims, kind);
            let paths: Vec<Vec<u32>> =
                (0u32..).zip(sizes).flat_map(|(node, &size)| vec![vec![node]; size]).collect();
            let Some(tree) = Tree::from_paths(&paths, &[10, 1]) else { continue };
            let grid: Vec<String> = dims.iter().map(usize::to_string).collect();
            let start = format!("stencils | {kind} | {} | {nodes}", grid.join("x"));
            for name in names {
                let Some(row) = run(&graph, &tree, None, name) else {
                    println!("{start} | {name} | does not apply");
                    continue;
                };
                let (all, worst) = between(&graph, &tree, &row.slots);
                println!("{start} | {name} | {all} | {worst} | {:.3}", row.seconds);
            }
        }
    }
}

fn sum(sizes: &[usize]) -> usize {
    sizes.iter().sum()
}

/// A stencil on an open grid in row-major order, every edge with weight 1.
fn steps(dims: &[usize], kind: &str) -> Graph {
    let d = dims.len();
    let mut offsets: Vec<Vec<i64>> = vec![vec![]];
    for _ in dims {
        let longer =
            |o: &Vec<i64>| (-1..=1).map(|s| [o.as_slice(), &[s]].concat()).collect::<Vec<_>>();
        offsets = offsets.iter().flat_map(longer).collect();
    }
    offsets.retain(|o| o.iter().find(|&&s| s != 0) == Some(&1));
    let on_axis = |o: &Vec<i64>| o.iter().filter(|&&s| s != 0).count() == 1;
    let along =
        |k: usize, by: i64| (0..d).map(|j| if j == k { by } else { 0 }).collect::<Vec<i64>>();
    match kind {
        "nearest" => offsets.retain(on_axis),
        "hops" => {
            offsets.retain(on_axis);
            offsets.extend([along(0, 2), along(0, 3)]);
        }
        // All dimensions but the last one.
        "component" => offsets = (0..d - 1).map(|k| along(k, 1)).collect(),
        _ => {}
    }
    let n: usize = dims.iter().product();
    let mut edges = Vec::new();
    for v in 0..n {
        for offset in &offsets {
            let mut rest = v;
            let mut stride = 1;
            let mut to = Some(0i64);
            for (&length, &step) in dims.iter().zip(offset).rev() {
                let x = (rest % length) as i64 + step;
                rest /= length;
                let inside = (0..length as i64).contains(&x);
                to = to.filter(|_| inside).map(|t| t + x * stride);
                stride *= length as i64;
            }
            edges.extend(to.map(|to| (v as u32, to as u32, 1)));
        }
    }
    Graph::from_edges(n, &edges)
}

/// Weight of the edges between nodes, and of those of the node with the most.
fn between(graph: &Graph, topology: &dyn Topology, slots: &[usize]) -> (u64, u64) {
    let mut of_node = std::collections::BTreeMap::new();
    for v in 0..graph.vertices() {
        for (t, w) in graph.arcs(v) {
            let node = topology.node_of(slots[v]);
            if node != topology.node_of(slots[t as usize]) {
                *of_node.entry(node).or_insert(0) += w;
            }
        }
    }
    let all: u64 = of_node.values().sum();
    (all / 2, of_node.values().copied().max().unwrap_or(0))
}

/// A uniform random matrix of the given order, as the TopoMatch paper maps them.
fn dense(order: u32, tree: &str, names: &[&str]) {
    let mut edges = Vec::with_capacity(order as usize * order as usize / 2);
    for a in 0..order {
        for b in a + 1..order {
            let mixed = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            edges.push((
                a,
                b,
                1 + (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) % 1000,
            ));
        }
    }
    let graph = Graph::from_edges(order as usize, &edges);
    drop(edges);
    let Ok(topology) = parse(tree) else { return };
    let Ok(problem) = Problem::builder(&graph, topology.as_ref()).build() else { return };
    for name in names {
        let start = cpu_seconds();
        let outcome = by_name(name).and_then(|m| m.map(&problem, &mut Budget::unlimited()));
        let seconds = cpu_seconds() - start;
        if let Ok(outcome) = outcome {
            let hops = outcome.hop_bytes as f64 / graph.total_weight() as f64;
            println!("dense | {order} | {tree} | {name} | {hops:.4} | | | {seconds:.3} |");
        }
    }
}
