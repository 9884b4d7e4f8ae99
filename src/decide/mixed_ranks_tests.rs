//! The rule with simulated traffic: programs that make a mistake, and many that do not.

use super::*;
use crate::base::random::SplitMix64;
use proptest::prelude::*;

struct Random(SplitMix64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    fn order(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// Neighbours in a grid, periodic or not.
fn grid(dims: &[usize], periodic: bool, vertex: usize) -> Vec<u32> {
    let (mut found, mut stride) = (Vec::new(), 1);
    for &extent in dims.iter().rev() {
        let at = vertex / stride % extent;
        for step in [extent - 1, 1] {
            let to = (at + step) % extent;
            if to != at && (periodic || to.abs_diff(at) == 1) {
                found.push((vertex - at * stride + to * stride) as u32);
            }
        }
        stride *= extent;
    }
    found
}

/// A job whose old ranks are its tasks, and whose processes got new ones.
struct Job {
    order: Vec<u32>,
    neighbours: Vec<Vec<u32>>,
}

impl Job {
    fn grid(dims: &[usize], periodic: bool, order: Vec<u32>) -> Job {
        let neighbours = (0..order.len()).map(|v| grid(dims, periodic, v)).collect();
        Job { order, neighbours }
    }

    /// What is concluded if the process with new rank `new` and old rank `old` sends to these tasks.
    fn judged(&self, sends: impl Fn(usize, usize) -> Vec<u32>) -> Option<Mixed> {
        let n = self.order.len();
        let tasks: Vec<u32> = (0..n as u32).collect();
        let mut tally = Tally::default();
        for (new, &old) in self.order.iter().enumerate() {
            let sets = Sets::new(View {
                tasks: &tasks,
                order: &self.order,
                rank: old,
                to: &self.neighbours[new],
                from: &self.neighbours[new],
                mistaken: &self.neighbours[old as usize],
            });
            let sent = sends(new, old as usize).into_iter().filter(|&t| t != old).collect();
            tally.add(&sets.sign(&sent, n as u32 - 1, false));
        }
        tally.verdict()
    }

    fn right(&self, new: usize) -> Vec<u32> {
        self.neighbours[new].iter().map(|&m| self.order[m as usize]).collect()
    }

    fn new_numbers(&self, new: usize) -> Vec<u32> {
        self.neighbours[new].clone()
    }

    fn old_rank(&self, old: usize) -> Vec<u32> {
        self.neighbours[old].iter().map(|&m| self.order[m as usize]).collect()
    }
}

const GRIDS: [&[usize]; 6] = [&[8], &[2, 4], &[4, 4], &[3, 5], &[4, 4, 4], &[100]];

fn jobs() -> Vec<Job> {
    let mut random = Random(SplitMix64::new(7));
    let mut jobs = Vec::new();
    for dims in GRIDS {
        for periodic in [false, true] {
            for _ in 0..20 {
                let n = dims.iter().product();
                jobs.push(Job::grid(dims, periodic, random.order(n)));
            }
        }
    }
    jobs
}

/// Most mistakes are found even in small jobs, all in larger ones.
#[test]
fn mistakes_are_found() {
    for (name, wanted) in [("numbers", Mistake::NewNumbers), ("rank", Mistake::OldRank)] {
        let (mut small, mut found) = (0, 0);
        for job in jobs() {
            let verdict = job.judged(|new, old| match wanted {
                Mistake::NewNumbers => job.new_numbers(new),
                Mistake::OldRank => job.old_rank(old),
            });
            assert!(verdict.is_none_or(|v| v.mistake == wanted), "{verdict:?}");
            if job.order.len() >= 15 {
                assert!(verdict.is_some(), "{name} {:?}", job.order);
            } else {
                small += 1;
                found += usize::from(verdict.is_some());
            }
        }
        assert!(found * 2 >= small, "{name}: {found} of {small} small ones");
    }
}

/// One direction only, and messages to rank 0 besides.
#[test]
fn mistakes_with_less_or_more_are_found() {
    let mut random = Random(SplitMix64::new(3));
    let job = Job::grid(&[4, 8], true, random.order(32));
    let half = |to: Vec<u32>| to.into_iter().step_by(2).collect::<Vec<u32>>();
    assert!(job.judged(|new, _| half(job.new_numbers(new))).is_some());
    assert!(job.judged(|_, old| half(job.old_rank(old))).is_some());
    let besides = |mut to: Vec<u32>| {
        to.push(0);
        to
    };
    assert!(job.judged(|new, _| besides(job.new_numbers(new))).is_some());
}

/// What correct programs do after a constructor.
#[test]
fn correct_programs_are_not_accused() {
    for job in jobs() {
        let n = job.order.len();
        let all = |_: usize, _: usize| (0..n as u32).collect::<Vec<u32>>();
        assert_eq!(job.judged(all), None, "to everybody");
        assert_eq!(job.judged(|_, _| Vec::new()), None, "nothing");
        assert_eq!(job.judged(|new, _| job.right(new)), None, "to its neighbours");
        assert_eq!(job.judged(|_, old| job.neighbours[old].clone()), None, "as before");
        assert_eq!(job.judged(|_, _| vec![0]), None, "to rank 0");
        let ring = |_: usize, old: usize| vec![((old + 1) % n) as u32, ((old + n - 1) % n) as u32];
        assert_eq!(job.judged(ring), None, "a ring on the old communicator");
        let new_ring = |new: usize, _: usize| vec![job.order[(new + 1) % n]];
        assert_eq!(job.judged(new_ring), None, "a ring on the new one");
        let cube = |_: usize, old: usize| {
            let partner = |bit: usize| (old ^ (1 << bit)) as u32;
            (0..8).map(partner).filter(|&p| (p as usize) < n).collect()
        };
        assert_eq!(job.judged(cube), None, "a hypercube");
        let grid = |_: usize, old: usize| match n % 4 {
            0 => super::tests::grid(&[4, n / 4], true, old),
            _ => vec![(n - 1 - old) as u32],
        };
        let same = n == 16 || n == 8;
        assert!(same || job.judged(grid).is_none(), "another grid on the old communicator");
        let both = |new: usize, old: usize| [job.right(new), job.old_rank(old)].concat();
        assert_eq!(job.judged(both), None, "right and something else");
    }
}

/// Orders with structure: rotations, reversals, swaps of neighbours, transposed grids, blocks.
#[test]
fn structured_orders_accuse_nobody() {
    for (rows, columns) in [(4usize, 4usize), (4, 8), (8, 8), (16, 16)] {
        let n = rows * columns;
        let orders: [Vec<u32>; 6] = [
            (0..n).map(|k| ((k + 1) % n) as u32).collect(),
            (0..n).map(|k| ((k + columns) % n) as u32).collect(),
            (0..n).rev().map(|k| k as u32).collect(),
            (0..n).map(|k| (k ^ 1) as u32).collect(),
            (0..n).map(|k| (k % rows * columns + k / rows) as u32).collect(),
            (0..n).map(|k| (k / 2 + k % 2 * (n / 2)) as u32).collect(),
        ];
        for (which, order) in orders.into_iter().enumerate() {
            for periodic in [false, true] {
                let job = Job::grid(&[rows, columns], periodic, order.clone());
                let shifts = |by: &'static [usize]| {
                    move |_: usize, old: usize| -> Vec<u32> {
                        by.iter()
                            .flat_map(|&s| [(old + s) % n, (old + n - s) % n])
                            .map(|t| t as u32)
                            .collect()
                    }
                };
                let case = format!("{rows}x{columns}, order {which}, periodic {periodic}");
                assert_eq!(job.judged(shifts(&[1])), None, "{case}: a ring");
                assert_eq!(job.judged(shifts(&[1, 2, 4, 8])), None, "{case}: powers of two");
                let wide = move |_: usize, old: usize| -> Vec<u32> {
                    let around = [1, columns, columns + 1, columns - 1];
                    around
                        .iter()
                        .flat_map(|&s| [(old + s) % n, (old + n - s) % n])
                        .map(|t| t as u32)
                        .collect()
                };
                assert_eq!(job.judged(wide), None, "{case}: with diagonals");
            }
        }
    }
}

#[test]
fn four_processes_prove_nothing() {
    let mut random = Random(SplitMix64::new(1));
    for _ in 0..50 {
        let job = Job::grid(&[4], true, random.order(4));
        assert_eq!(job.judged(|new, _| job.new_numbers(new)), None);
    }
}

#[test]
fn the_probability_of_a_coincidence() {
    let counts =
        |wrong, wrong_met, right| Counts { met: wrong_met, wrong, wrong_met, right, right_met: 0 };
    // One partner of three, the wrong one.
    assert!((coincidence(3, 1, &counts(1, 1, 1)) - (1f64 / 3.0).ln()).abs() < 1e-12);
    // Both of two among seven; one of two: ten ways without the right ones, of which one wrong.
    assert!((coincidence(7, 2, &counts(2, 2, 2)) - (1f64 / 21.0).ln()).abs() < 1e-12);
    assert!((coincidence(7, 2, &counts(2, 1, 2)) - (7f64 / 21.0).ln()).abs() < 1e-12);
    assert_eq!(coincidence(2, 2, &counts(2, 2, 2)), 0.0, "more than there are");
    let sum: f64 = (2..=40u64).map(|i| (i as f64).ln()).sum();
    assert!((ln_factorial(40) - sum).abs() < 1e-9);
    assert!(!ln_choose(3, 5).is_nan());
}

#[test]
fn statements_of_a_call_come_together() {
    let sign = Sign {
        partners: 2,
        others: 15,
        counts: [
            Counts { met: 2, wrong: 2, wrong_met: 2, right: 2, right_met: 0 },
            Counts::default(),
        ],
    };
    let say = |id, ordinal| Statement { id, ordinal, what: "MPI_Cart_create".into(), sign };
    let mut tallies = Tallies::default();
    tallies.add(&[say(1, 0), say(2, 0)]);
    assert_eq!(tallies.verdict(), None, "one process");
    for _ in 0..15 {
        tallies.add(&[say(2, 0), say(1, 1)]);
    }
    let said = tallies.verdict().unwrap();
    assert!(said.starts_with("after MPI_Cart_create gave new ranks, 1"), "{said}");
    assert!(said.contains("used rank numbers of the new communicator on the old one"), "{said}");
}

proptest! {
    /// Partners that have nothing to do with the topology are not taken for a mistake.
    #[test]
    fn chance_is_not_a_mistake(seed in any::<u64>(), which in 0..GRIDS.len(), degree in 1usize..7) {
        let mut random = Random(SplitMix64::new(seed));
        let n: usize = GRIDS[which].iter().product();
        let job = Job::grid(GRIDS[which], seed % 2 == 0, random.order(n));
        let partners: Vec<Vec<u32>> =
            (0..n).map(|_| (0..degree).map(|_| random.below(n) as u32).collect()).collect();
        prop_assert_eq!(job.judged(|_, old| partners[old].clone()), None);
    }

    /// Numbers that make no sense are survived.
    #[test]
    fn any_view_is_survived(
        tasks in prop::collection::vec(any::<u32>(), 0..9),
        order in prop::collection::vec(0u32..12, 0..9),
        to in prop::collection::vec(any::<u32>(), 0..9),
        numbers in any::<[u32; 6]>(),
    ) {
        let view = View { tasks: &tasks, order: &order, rank: 3, to: &to, from: &order, mistaken: &tasks };
        let sets = Sets::new(view);
        let _ = sets.sign(&to.iter().copied().collect(), numbers[0], false);
        let [partners, others, wrong, wrong_met, right, right_met] = numbers.map(|n| n % 100_000);
        let counts = Counts { met: wrong, wrong, wrong_met, right, right_met };
        let mut tally = Tally::default();
        tally.add(&Sign { partners, others, counts: [counts; 2] });
        let _ = tally.verdict();
    }
}
