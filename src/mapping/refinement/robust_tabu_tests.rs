//! Tests of the tabu search.

use super::*;
use crate::mapping::Problem;
use crate::mapping::engine::{Distance, Prepared, Scale, seeded, with_distance};
use crate::matrix::Graph;
use crate::topology::parse;

fn few(prepared: &Prepared<'_, '_>) -> FewTasks {
    let places = prepared.problem.places().len();
    let is_fixed = |v| prepared.fixed_place(v).is_some();
    with_distance!(&prepared.lookup, d => {
        FewTasks::new(&prepared.graph, places, |a, b| d.between(a, b), is_fixed)
    })
}

fn random_graph(tasks: u32) -> Graph {
    let mut rng = seeded(5);
    let mut edges = Vec::new();
    for a in 0..tasks {
        edges.extend((0..a).map(|b| (a, b, rng.next_u64() % 10)));
    }
    Graph::from_edges(tasks as usize, &edges)
}

/// The tables, the cost and what a swap adds stay what they are when they are computed anew.
#[test]
fn the_tables_follow_the_swaps() {
    for (machine, tasks) in [("torus:3x4", 12), ("tree:2:2:3@1:10:100", 9), ("mesh:3x3x3", 27)] {
        let topology = parse(machine).unwrap();
        let graph = random_graph(tasks);
        let problem = Problem::builder(&graph, topology.as_ref()).fix(2, 5).build().unwrap();
        let prepared = Prepared::new(&problem);
        let few = few(&prepared);
        let mut start: Vec<u32> = (0..tasks).collect();
        start.swap(2, 5);
        let mut search = Search::new(&few, few.placed(&start));
        assert_eq!(search.cost as i128, prepared.cost(&start), "{machine}");
        let (rng, mut swaps) = (&mut seeded(1), 0);
        while swaps < 40 {
            let (a, b) = (rng.below(few.size), rng.below(few.size));
            let is_swap = few.is_swap(search.item_at[a], search.item_at[b]);
            assert_eq!(search.change(a.min(b), a.max(b)) < f64::INFINITY, is_swap, "{machine}");
            if !is_swap {
                continue;
            }
            search.swap(a.min(b), a.max(b));
            swaps += 1;
            let anew = Search::new(&few, search.item_at.clone());
            assert_eq!(search.cost, anew.cost, "{machine}");
            assert_eq!(search.cost_at, anew.cost_at, "{machine}");
            for a in 0..few.size {
                let changes = |s: &Search<'_>| -> Vec<f64> {
                    (a + 1..few.size).map(|b| s.change(a, b)).collect()
                };
                assert_eq!(changes(&search), changes(&anew), "{machine}");
            }
        }
    }
}

/// The swap of each step is the best of all that are allowed, found by looking at each.
#[test]
fn the_best_allowed_swap_is_made() {
    let topology = parse("mesh:3x5").unwrap();
    let graph = random_graph(13);
    let problem = Problem::builder(&graph, topology.as_ref()).build().unwrap();
    let prepared = Prepared::new(&problem);
    let few = few(&prepared);
    let mut search = Search::new(&few, few.placed(&(0..13).collect::<Vec<_>>()));
    let (rng, mut least, patience) = (&mut seeded(3), search.cost, 60);
    let (mut urgent, mut forbidden) = (0, 0);
    for step in 1..=1500 {
        let looks = search.next_urgent <= step;
        let (mut expected, mut waited, mut passed) = (f64::INFINITY, f64::INFINITY, false);
        for a in 0..15 {
            for b in a + 1..15 {
                let (change, (earlier, later)) = (search.change(a, b), search.leads_back(a, b));
                if looks && change < f64::INFINITY && later + patience < step {
                    waited = waited.min(change);
                }
                if earlier < step || search.cost + change < least {
                    expected = expected.min(change);
                } else {
                    passed |= change < expected;
                }
            }
        }
        let (a, b) = search.choice(step, patience, least).unwrap();
        let wanted = if waited < f64::INFINITY { waited } else { expected };
        assert_eq!(search.change(a, b), wanted, "step {step}");
        urgent += u32::from(waited < f64::INFINITY);
        forbidden += u32::from(passed);
        for place in [a, b] {
            search.until[search.item_at[place] * 15 + place] = step + 8 + rng.below(8) as u64;
        }
        search.swap(a, b);
        least = least.min(search.cost);
    }
    assert!(urgent > 10 && forbidden > 10, "{urgent} urgent, {forbidden} forbidden");
}

/// The time of a step does not depend on how many tasks may move, so the number of steps must not either: with all
/// tasks but three fixed, a search took a hundred times as long as with none.
#[test]
fn fixed_tasks_do_not_make_the_search_longer() {
    let topology = parse("mesh:8x8").unwrap();
    let graph = random_graph(64);
    let start: Vec<u32> = (0..64).collect();
    let steps = |fixed: usize| {
        let mut builder = Problem::builder(&graph, topology.as_ref());
        for task in 0..fixed {
            builder = builder.fix(task as u32, task);
        }
        let problem = builder.build().unwrap();
        few(&Prepared::new(&problem)).plan(3_000_000)
    };
    assert_eq!(steps(61), steps(0));
    let mut builder = Problem::builder(&graph, topology.as_ref());
    for task in 0..63 {
        builder = builder.fix(task, task as usize);
    }
    let problem = builder.build().unwrap();
    let few = few(&Prepared::new(&problem));
    let (rng, budget) = (&mut seeded(1), &Budget::unlimited());
    assert_eq!(few.better(&start, u64::MAX, rng, budget), None, "nothing can move");
}

/// A ring of other labels on a ring is found, also with weights that have too many digits, fixed tasks stay, and
/// nothing is found that is not better.
#[test]
fn a_ring_is_found_and_fixed_tasks_stay() {
    for weight in [3, 3 << 48] {
        let topology = parse("torus:13").unwrap();
        let edges: Vec<_> = (0..13).map(|k| (5 * k % 13, 5 * (k + 1) % 13, weight)).collect();
        let graph = Graph::from_edges(13, &edges);
        let builder = Problem::builder(&graph, topology.as_ref());
        let problem = builder.fix(1, 4).build().unwrap();
        let prepared = Prepared::new(&problem);
        let mut start: Vec<u32> = (0..13).collect();
        start.swap(1, 4);
        let (few, rng, budget) = (few(&prepared), &mut seeded(2), &Budget::unlimited());
        let found = few.better(&start, 1_000_000, rng, budget).unwrap();
        assert_eq!(found[1], 4);
        assert_eq!(prepared.cost(&found), prepared.least());
        assert!(few.better(&found, 100_000, rng, budget).is_none());
    }
}

/// Weights lose no digit where all sums are exact, and enough where they are not.
#[test]
fn weights_lose_only_the_digits_that_do_not_fit() {
    for (weight, lost) in [(1 << 40, 0), (1 << 52, 3)] {
        let graph = Graph::from_edges(2, &[(0, 1, weight)]);
        assert_eq!(shift(&Csr::from_graph(&graph, Scale::new(1, 1)), 1), lost);
    }
}
