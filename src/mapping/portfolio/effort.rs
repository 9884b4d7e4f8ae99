//! What the presets mean in steps, by the size of the problem.

use crate::mapping::Preset;
use crate::mapping::multisection::BisectEffort;

/// Steps that each part of the portfolio may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) bisect: BisectEffort,
    /// Proposals of simulated annealing; 0 for none.
    pub(crate) anneal_steps: u64,
    /// Deltas that greedy swapping may compute.
    pub(crate) swap_evaluations: u64,
}

impl Effort {
    pub(crate) fn new(preset: Preset, tasks: usize, edges: usize) -> Self {
        let n = tasks as u64;
        let _ = edges;
        match preset {
            Preset::Fast => Effort {
                bisect: BisectEffort { runs: 1, growings: 2, passes: 2, cycles: 0, members: 3 },
                anneal_steps: 0,
                swap_evaluations: 200 * n,
            },
            Preset::Default => Effort {
                bisect: BisectEffort { runs: 3, growings: 4, passes: 4, cycles: 3, members: 3 },
                anneal_steps: if n <= 4096 { 300_000 } else { 0 },
                swap_evaluations: 1000 * n,
            },
            Preset::Strong => Effort {
                bisect: BisectEffort { runs: 3, growings: 8, passes: 8, cycles: 2, members: 2 },
                anneal_steps: if n <= 65536 { 4000 * n } else { 0 },
                swap_evaluations: 5000 * n,
            },
        }
    }
}
