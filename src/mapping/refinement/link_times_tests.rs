//! Tests of the search for less predicted time.

use super::*;
use crate::mapping::engine::{Distance, seeded};
use crate::mapping::refinement::ListNear;
use crate::matrix::Traffic;
use crate::metrics::predicted_time;
use crate::topology::parse;
use proptest::prelude::*;

const SPECS: [&str; 9] = [
    "torus:3x4",
    "torus:3x4,routing=adaptive",
    "fattree:2:3:2@2:1,routing=ecmp",
    "dragonfly:3x2x2",
    "dragonfly:3x2x2,routing=adaptive",
    "dragonfly:3x2x2,routing=valiant",
    "torus:3x4,hop=20",
    "fattree:2:3:2@2:1,injection=0.5,message=10,hop=10",
    "mesh:3x4,injection=0.25",
];

fn of_spec<'a>(
    matrix: &SparseMatrix,
    topology: &'a dyn Topology,
    slots: &'a [u32],
    pinned: &'a [bool],
) -> TimeSearch<'a> {
    TimeSearch::new(matrix, topology, topology.network().unwrap(), slots, pinned)
}

struct Far<'t>(&'t dyn Topology);

impl Distance for Far<'_> {
    fn between(&self, a: u32, b: u32) -> i64 {
        self.0.distance(a as usize, b as usize) as i64
    }
}

fn matrix(raw: &[(u32, u32, u64)]) -> SparseMatrix {
    let entry = |&(i, j, bytes)| (i, j, Traffic { bytes, messages: 1 });
    SparseMatrix::from_entries(10, &raw.iter().map(entry).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// After any swaps, the loads that were updated are those of the placement, and the time is that of `metrics`.
    #[test]
    fn updated_loads_are_exact(
        raw in prop::collection::vec((0u32..10, 0u32..10, 1u64..1000), 1..40),
        swaps in prop::collection::vec((0usize..10, 0u32..12, any::<bool>()), 1..60),
        kind in 0usize..9)
    {
        let topology = parse(SPECS[kind]).unwrap();
        let matrix = matrix(&raw);
        let slots: Vec<u32> = (0..12).collect();
        let search = of_spec(&matrix, topology.as_ref(), &slots, &[]);
        let mut state = State::new(&search, &(0..10).collect::<Vec<_>>());
        let detours = kind == 4;
        if detours {
            state.settle();
        }
        for (u, q, accept) in swaps {
            if state.placement.place_of[u] == q {
                continue;
            }
            let whole = |state: &State<'_, '_>| {
                state.load.iter().map(|&load| state.penalty(load)).sum::<f64>()
            };
            state.unit = state.slowest().max(1.0);
            let before = whole(&state);
            let delta = state.propose(u, q);
            state.finish(u, q, accept);
            let after = whole(&state);
            let want = if accept { before + delta } else { before };
            prop_assert!((after - want).abs() <= 1e-6 * want.max(1.0), "{} {}", after, want);
        }
        let kept = state.load.clone();
        state.sum();
        for (a, b) in kept.iter().zip(&state.load) {
            prop_assert!((a[0] - b[0]).abs() < 1e-6 && (a[1] - b[1]).abs() < 1e-3);
        }
        let place_of: Vec<usize> =
            state.placement.place_of.iter().map(|&p| p as usize).collect();
        let judged = predicted_time(&matrix, topology.as_ref(), &place_of).unwrap();
        // With detours the shares are those of the start, and messages that choose hop by hop have no fixed shares.
        if !detours && kind != 1 {
            // Under a hash the slowest link is judged in another way.
            prop_assert!(kind == 2 || state.slowest() <= judged.slowest * (1.0 + 1e-6) + 1e-6);
            state.unit = state.slowest().max(1e-300);
            prop_assert!((state.norm() - judged.links).abs() <= 1e-3 * judged.links.max(1.0));
        }
    }

    /// By the norm of all links the answer is never worse than the start; what is pinned stays.
    #[test]
    fn never_worse_than_the_start(
        raw in prop::collection::vec((0u32..10, 0u32..10, 1u64..100), 1..40),
        seed in 0u64..100, kind in 0usize..7)
    {
        // Those whose shares the search knows exactly.
        let topology = parse(SPECS[[0, 2, 3, 5, 6, 7, 8][kind]]).unwrap();
        let matrix = matrix(&raw);
        let slots: Vec<u32> = (0..12).collect();
        let pinned: Vec<bool> = (0..10).map(|task| task == 0).collect();
        let search = of_spec(&matrix, topology.as_ref(), &slots, &pinned);
        let near = ListNear::scan(&Far(topology.as_ref()), 12, 6);
        let start: Vec<u32> = (0..10).collect();
        let budget = Budget::unlimited();
        let answers = search.lower(&near, start.clone(), 2000, &budget, &mut seeded(seed));
        prop_assert!(answers.iter().all(|answer| answer[0] == 0));
        let judged = |place_of: &[u32]| {
            let slots: Vec<usize> = place_of.iter().map(|&p| p as usize).collect();
            predicted_time(&matrix, topology.as_ref(), &slots).unwrap()
        };
        let (first, last) = (judged(&answers[0]), judged(&answers[answers.len() - 1]));
        let start = judged(&start);
        prop_assert!(first.links <= start.links * (1.0 + 1e-6));
        prop_assert!(kind == 1 || last.slowest <= start.slowest * (1.0 + 1e-6));
    }
}
