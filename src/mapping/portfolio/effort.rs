//! The number of steps for each preset, by the size of the problem.

use crate::mapping::Preset;
use crate::mapping::blocks::BlockEffort;
use crate::mapping::engine::{Distance, Prepared, with_distance};
use crate::mapping::multisection::BisectEffort;

/// What is known about the distances of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    /// The machine is a tree.
    Tree,
    /// Distances are sums along axes, so a step of annealing takes less than half of its time elsewhere.
    Axes,
    /// Nothing else.
    Other,
}

impl Metric {
    pub(crate) fn of(prepared: &Prepared<'_, '_>) -> Self {
        match &prepared.tree {
            Some(_) => Metric::Tree,
            None if with_distance!(&prepared.lookup, d => d.axes().is_some()) => Metric::Axes,
            None => Metric::Other,
        }
    }
}

/// First temperature of annealing where clusters have found their places, in units of the mean uphill step, for a search
/// that begins at temperature `hot` elsewhere.
pub(crate) fn hot_after_clusters(hot: f64) -> f64 {
    (0.75 * hot).min(0.15)
}

/// The same where lines have been laid out on a mesh or torus. At a higher temperature, the layout is lost and not found
/// again.
pub(crate) const HOT_AFTER_LINES: f64 = 0.06;

/// Problems with more tasks are searched with less effort, because each step takes long.
const LARGE: u64 = 400_000;

/// Steps that each part of the portfolio may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) bisect: BisectEffort,
    /// Proposals of simulated annealing; 0 for none.
    pub(crate) anneal_steps: u64,
    /// First and last temperature of annealing, in units of the mean uphill step.
    pub(crate) hot: f64,
    pub(crate) cold: f64,
    /// Deltas that greedy swapping may compute.
    pub(crate) swap_evaluations: u64,
    /// Proposals of the search for less congestion.
    pub(crate) congestion_steps: u64,
    /// Swaps that the tabu search for few tasks may look at.
    pub(crate) tabu_pairs: u64,
    /// Proposals of the search for less predicted time.
    pub(crate) time_steps: u64,
    /// Search for a placement of blocks of a grid.
    pub(crate) blocks: BlockEffort,
    /// Search for a placement of clusters.
    pub(crate) clusters: BlockEffort,
}

impl Effort {
    /// Topologies that are no trees get more annealing, because fewer exact methods work on them.
    pub(crate) fn new(preset: Preset, tasks: usize, metric: Metric) -> Self {
        let n = tasks as u64;
        let tree = metric == Metric::Tree;
        let anneal_steps = anneal_steps(preset, metric, n);
        // A short run leaves more of its start as it is. Starts of more tasks are worse, and are unfolded at a higher
        // temperature only.
        let (hot, cold) = match (metric, preset, n) {
            (Metric::Axes, Preset::Fast, _) => (0.15, 0.02),
            (Metric::Axes, _, 0..=512) => (0.15, 0.015),
            (Metric::Axes, _, 513..=1024) => (0.3, 0.015),
            (Metric::Axes, ..) => (0.2, 0.015),
            _ => (0.2, 0.02),
        };
        let bisect = BisectEffort::new;
        match preset {
            Preset::Fast => Effort {
                bisect: BisectEffort {
                    // Fewer levels are faster if the graph of a level does not fit into the caches.
                    members: if n > 65_536 { 6 } else { 3 },
                    starts: if n > 8192 { 8 } else { 1 },
                    share: match n {
                        0..=65_536 => 4,
                        65_537..=LARGE => 32,
                        _ => 64,
                    },
                    hurried: n > LARGE,
                    inherits: n > LARGE,
                    ..match (tree, n) {
                        (true, 0..=3072) => bisect(4, 4, 2, 0),
                        (true, 3073..=8192) => bisect(2, 2, 2, 0),
                        _ => bisect(1, 2, 2, 0),
                    }
                },
                anneal_steps,
                hot,
                cold,
                // On large problems, most evaluations beyond this number find nothing.
                swap_evaluations: if n > 8192 { 20 * n } else { 200 * n },
                congestion_steps: 50 * n,
                tabu_pairs: 1_000_000,
                time_steps: (50 * n).max((300 * n).min(60_000)),
                blocks: of_blocks(preset, n),
                clusters: of_clusters(preset, n),
            },
            Preset::Default => Effort {
                bisect: match n {
                    // The answer of `fast` is one more run.
                    0..=8192 => bisect(3, 4, 4, if tree { 2 } else { 3 }),
                    // Starts on a coarse graph cost little and find more than one deep run.
                    8193..=65_536 => BisectEffort { starts: 4, share: 4, ..bisect(2, 4, 3, 1) },
                    65_537..=LARGE => BisectEffort { starts: 4, share: 8, ..bisect(2, 4, 3, 1) },
                    // With clusters of six, the cost is 1.6 % lower than with three. This pays for the shorter search
                    // where it finds least: in small parts, and in the first bisections of each level.
                    _ => BisectEffort {
                        members: 6,
                        starts: 4,
                        share: 8,
                        inherits: true,
                        cycles_to: 8,
                        brief_to: 255,
                        ..bisect(1, 4, 3, 1)
                    },
                },
                anneal_steps,
                hot,
                cold,
                // On large problems, most evaluations beyond 20 for each task find nothing.
                swap_evaluations: if n > LARGE { 20 * n } else { 1000 * n },
                congestion_steps: 200 * n.min(65_536),
                // On a tree it seldom finds more than the other steps, and a launch would start 100 ms later.
                tabu_pairs: if tree { 2_000_000 } else { 30_000_000 },
                time_steps: (200 * n.min(65_536)).max((2500 * n).min(500_000)),
                blocks: of_blocks(preset, n),
                clusters: of_clusters(preset, n),
            },
            Preset::Strong => Effort {
                bisect: bisect(6, 8, 8, 6),
                anneal_steps,
                hot,
                cold,
                swap_evaluations: 5000 * n,
                congestion_steps: 2000 * n.min(65_536),
                tabu_pairs: 160_000_000,
                time_steps: (2000 * n.min(65_536)).max((40_000 * n).min(10_000_000)),
                blocks: of_blocks(preset, n),
                clusters: of_clusters(preset, n),
            },
        }
    }
}

/// Proposals of simulated annealing.
fn anneal_steps(preset: Preset, metric: Metric, n: u64) -> u64 {
    match preset {
        Preset::Fast => match (metric, n) {
            (Metric::Tree, 0..=512) => 30_000,
            // It finds least where there are about a thousand tasks.
            (Metric::Tree, 1025..=8192) => 20_000,
            (Metric::Axes, 0..=8192) => 1000 * n,
            (Metric::Other, 0..=8192) => 300 * n,
            _ => 0,
        },
        Preset::Default => match (metric, n) {
            (Metric::Tree, 0..=8192) => 110_000 + 80 * n,
            (Metric::Axes, 0..=512) => 85_000 * n,
            (Metric::Axes, 513..=1024) => 25_000_000,
            (Metric::Axes, 0..=8192) => 10_000_000 + 9500 * n,
            (Metric::Other, 0..=512) => 24_000 * n,
            (Metric::Other, 513..=1024) => 8_000_000,
            (Metric::Other, 0..=8192) => 2_000_000 + 4000 * n,
            (_, 0..=65_536) => 30 * n,
            _ => 0,
        },
        // Off trees, five times as much as the preset before it finds another percent on irregular patterns.
        Preset::Strong => match (metric, n) {
            (Metric::Tree, _) => 20_000 * n.min(65_536),
            (Metric::Axes, 0..=1024) => 450_000 * n,
            (Metric::Axes, _) => (34_000 * n.min(65_536)).max(450_000_000),
            (Metric::Other, 0..=1024) => 120_000 * n,
            (Metric::Other, _) => (20_000 * n.min(65_536)).max(120_000_000),
        },
    }
}

/// The search for a placement of blocks of a grid.
fn of_blocks(preset: Preset, tasks: u64) -> BlockEffort {
    let (least_per_block, per_level, most_per_block) = match preset {
        Preset::Fast => (if tasks <= 8192 { 300 } else { 60 }, (450 * tasks).min(2_000_000), 3000),
        Preset::Default => {
            (if tasks <= 8192 { 1000 } else { 300 }, (2000 * tasks).min(5_000_000), 10_000)
        }
        Preset::Strong => (3000, (10_000 * tasks).min(20_000_000), 50_000),
    };
    // On a long ring, the mean step is far larger than the steps that matter in the end.
    let (hot, cold) = (0.15, 0.005);
    BlockEffort { least_per_block, per_level, most_per_block, most_blocks: 65_536, hot, cold }
}

/// The search for a placement of clusters of tasks that form no grid.
fn of_clusters(preset: Preset, tasks: u64) -> BlockEffort {
    let (least_per_block, per_level, most_per_block) = match (preset, tasks) {
        (Preset::Fast, 0..=8192) => (100, (150 * tasks).min(1_000_000), 1000),
        (Preset::Fast, _) => (20, 400_000, 1000),
        (Preset::Default, 0..=512) => (1500, 3000 * tasks, 15_000),
        (Preset::Default, 513..=8192) => (2500, (5000 * tasks).min(12_500_000), 25_000),
        (Preset::Default, _) => (100, 2_500_000, 5000),
        (Preset::Strong, _) => (3000, (10_000 * tasks).min(20_000_000), 50_000),
    };
    // Single tasks are annealed afterwards, as those of every candidate, unless there are too many.
    let most_blocks = if tasks <= 8192 { tasks.saturating_sub(1) as usize } else { 65_536 };
    let (hot, cold) = (0.1, 0.02);
    BlockEffort { least_per_block, per_level, most_per_block, most_blocks, hot, cold }
}
