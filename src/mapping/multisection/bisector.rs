//! Multilevel bisection with an exact number of tasks on each side.

use super::inheritance::{Inheritance, Step};
use crate::mapping::Budget;
use crate::mapping::coarsening::{ClusterLimits, Clusterer, Contractor};
use crate::mapping::engine::{Bisection, Csr, Pool, Rng};
use crate::mapping::initial::{Growing, InOrder, InitialBisection};
use crate::mapping::refinement::{BisectionRefiner, Fm, FmLimits, Unrefined};
use std::borrow::Cow;

/// How much work one bisection may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BisectEffort {
    /// Independent multilevel runs; the best cut wins.
    pub(crate) runs: usize,
    /// Growings on the coarsest graph of a run.
    pub(crate) growings: usize,
    /// Passes of FM on every level.
    pub(crate) passes: usize,
    /// Runs that start from the best cut and coarsen within its sides (iterated multilevel).
    pub(crate) cycles: usize,
    /// On a tree, only parts that go to at most this many groups get cycles: the later bisections of a level cut most
    /// edges.
    pub(crate) cycles_to: usize,
    /// On a tree, parts of at most this many tasks are bisected with the least effort.
    pub(crate) brief_to: usize,
    /// FM goes on longer without success, as it should where several runs are compared.
    pub(crate) patient: bool,
    /// Vertices that a cluster may join at once.
    pub(crate) members: u32,
    /// Multilevel runs on a coarse graph, of which the best goes on to the whole one.
    pub(crate) starts: usize,
    /// That coarse graph has at most one vertex for this many vertices of the whole graph.
    pub(crate) share: usize,
    /// For large problems: FM gives up sooner on small graphs.
    pub(crate) hurried: bool,
    /// For large problems: the bisections of both sides start from the clusters of the bisection above them, and FM
    /// tries only vertices at the cut while these suffice.
    pub(crate) inherits: bool,
}

impl BisectEffort {
    /// These runs, growings, passes and cycles; all other values are those for small problems.
    pub(crate) fn new(runs: usize, growings: usize, passes: usize, cycles: usize) -> Self {
        BisectEffort {
            runs,
            growings,
            passes,
            cycles,
            cycles_to: usize::MAX,
            brief_to: 0,
            patient: runs > 1 || cycles > 0,
            members: 3,
            starts: 1,
            share: 1,
            hurried: false,
            inherits: false,
        }
    }

    /// The effort for a part of a tree's tasks that goes to some groups.
    pub(super) fn of_part(self, tasks: usize, groups: usize) -> Self {
        if tasks <= self.brief_to {
            return BisectEffort {
                runs: 1,
                growings: 2,
                passes: 2,
                cycles: 0,
                hurried: true,
                ..self
            };
        }
        BisectEffort { cycles: if groups <= self.cycles_to { self.cycles } else { 0 }, ..self }
    }
}

/// Multilevel bisection and its buffers.
pub(crate) struct Bisector {
    pub(super) effort: BisectEffort,
    fm: Fm,
    growing: Growing,
    clusterer: Clusterer,
    contractor: Contractor,
    scratch: Vec<u32>,
    pool: Pool,
    /// The coarsening that the next run takes over instead of finding its own.
    pub(super) inherited: Option<Inheritance>,
    /// The coarsening of the last run.
    left: Option<Inheritance>,
    /// Deviation from the target that the answer may have.
    allowed: i64,
    /// Threads that the next bisections may use; the answers do not depend on them.
    pub(super) threads: usize,
    pub(super) budget: Budget,
}

/// One level of a run: the graph, contracted by the cluster of every vertex of the one below.
struct Level {
    coarse: Csr,
    of: Vec<u32>,
}

/// All levels of a run, the finest first, and the sides of the coarsest graph's vertices, if some were
/// given.
struct Coarsening {
    levels: Vec<Level>,
    sides: Vec<u8>,
}

/// Coarsening stops at this many vertices.
const COARSEST: usize = 48;

/// The buffers for graphs from this size on are freed after the bisection: the two parts take much memory, and need only
/// half of the buffers.
const FREED_FROM: usize = 1 << 20;

impl Bisector {
    /// When the time limit of `budget` is reached, graphs are cut in the order of their vertices.
    pub(crate) fn new(effort: BisectEffort, budget: &Budget) -> Self {
        Bisector {
            effort,
            fm: Fm::default(),
            growing: Growing::default(),
            clusterer: Clusterer::default(),
            contractor: Contractor::default(),
            scratch: Vec::new(),
            pool: Pool::default(),
            inherited: None,
            left: None,
            allowed: 0,
            threads: 1,
            budget: budget.clone(),
        }
    }

    /// The two subgraphs of the graph that was bisected last, each with the coarsening that its own
    /// bisection may take over, where it is worth using it again.
    pub(crate) fn split(
        &mut self,
        graph: Cow<'_, Csr>,
        side: &[u8],
    ) -> [(Csr, Option<Inheritance>); 2] {
        let parts = Csr::split(graph, side, &mut self.scratch, &mut self.pool, self.threads);
        let left = match self.left.take() {
            Some(left) => left.split(side, &parts, &mut self.contractor, &mut self.pool),
            None => [None, None],
        };
        let [part_0, part_1] = parts;
        let [left_0, left_1] = left;
        [(part_0, left_0), (part_1, left_1)]
    }

    /// Keeps the memory of a graph that is no longer needed for other graphs.
    pub(crate) fn recycle(&mut self, graph: Csr) {
        graph.recycle(&mut self.pool);
    }

    /// Splits `graph` so that side 0 has exactly `target` tasks. All vertices must have size 1.
    pub(crate) fn bisect(&mut self, graph: &Csr, target: i64, rng: &mut Rng) -> Bisection {
        self.bisect_within(graph, target, 0, rng)
    }

    /// Splits `graph` so that the sizes of side 0 add up to `target`, with a deviation of at most `allowed`. If
    /// large vertices make this impossible, the deviation is as small as the search finds.
    pub(crate) fn bisect_within(
        &mut self,
        graph: &Csr,
        target: i64,
        allowed: i64,
        rng: &mut Rng,
    ) -> Bisection {
        self.allowed = allowed;
        if self.budget.expired() {
            return InOrder.bisect(graph, target, rng);
        }
        let mut best = self.multilevel(graph, target, None, rng);
        for run in 1..self.effort.runs + self.effort.cycles {
            if self.budget.expired() {
                break;
            }
            let given = (run >= self.effort.runs).then_some(&best.side[..]);
            let other = self.multilevel(graph, target, given, rng);
            if other.cut < best.cut {
                best = other;
            }
        }
        if graph.len() >= FREED_FROM {
            (self.fm, self.clusterer) = (Fm::default(), Clusterer::default());
        }
        best
    }

    fn limits(&self, graph: &Csr, target: i64, finest: bool) -> FmLimits {
        let heaviest = i64::from(graph.sizes.iter().copied().max().unwrap_or(1));
        let n = graph.len();
        let patience = if n <= 1000 { 50 + n / 4 } else { 250 + n / 100 };
        let patience = if self.effort.patient { patience } else { patience / 2 };
        let patience = if self.effort.hurried { patience.min(4 + n / 8) } else { patience };
        FmLimits {
            target,
            allowed: if finest { self.allowed } else { heaviest.max(self.allowed) },
            slack: heaviest.max(if finest { 2 } else { 1 }),
            patience,
            passes: self.effort.passes,
            tries_all: !self.effort.inherits,
        }
    }

    /// One multilevel run, from sides that are `given` or from nothing.
    fn multilevel(
        &mut self,
        graph: &Csr,
        target: i64,
        given: Option<&[u8]>,
        rng: &mut Rng,
    ) -> Bisection {
        let several = self.effort.starts > 1 && given.is_none() && !self.budget.expired();
        let Coarsening { levels, sides } = self.coarsened(graph, target, given, several, rng);
        let coarsest = levels.last().map_or(graph, |level| &level.coarse);
        let limits = self.limits(coarsest, target, levels.is_empty());
        let b = if given.is_some() {
            let mut b = Bisection::new(coarsest, sides);
            self.fm.refine(coarsest, &mut b, limits, |_| true);
            b
        } else if several && coarsest.len() > 2 * COARSEST {
            self.best_start(coarsest, target, limits.allowed, rng)
        } else {
            self.first(coarsest, limits, rng)
        };
        let keeps = self.effort.inherits && graph.len() >= Inheritance::FROM;
        let (mut b, steps) = self.uncoarsened(graph, target, levels, b, keeps);
        self.left = keeps.then_some(Inheritance { steps });
        if (b.size[0] - target).abs() > self.allowed {
            force_balance(graph, &mut b, target, self.allowed);
        }
        b
    }

    /// Coarsens until few vertices are left, within the sides that are given. It takes over the coarsening
    /// that a bisection above has left.
    fn coarsened(
        &mut self,
        graph: &Csr,
        target: i64,
        given: Option<&[u8]>,
        several: bool,
        rng: &mut Rng,
    ) -> Coarsening {
        let total = graph.total_size();
        let smaller = (target as u64).min(total - target as u64).max(1);
        let mut levels: Vec<Level> = Vec::new();
        let mut sides: Vec<u8> = given.map(<[u8]>::to_vec).unwrap_or_default();
        let mut handed = self.inherited.take().into_iter().flat_map(|i| i.steps);
        let most = if several { (graph.len() / self.effort.share).max(COARSEST) } else { COARSEST };
        loop {
            let current = levels.last().map_or(graph, |level| &level.coarse);
            if current.len() <= most {
                break;
            }
            let cap = (smaller / 8).max(2).min(u64::from(u32::MAX)) as u32;
            let limits = ClusterLimits { size: cap, members: self.effort.members };
            let (of, clusters, contracted) = match handed.next() {
                Some(step) if step.of.len() == current.len() => (step.of, step.count, step.coarse),
                _ => {
                    let (of, clusters) = self.clusterer.cluster(current, limits, &sides, rng);
                    (of, clusters, None)
                }
            };
            if clusters * 20 > current.len() * 19 {
                break;
            }
            if !sides.is_empty() {
                let mut coarse_sides = vec![0u8; clusters];
                for (v, &c) in of.iter().enumerate() {
                    coarse_sides[c as usize] = sides[v];
                }
                sides = coarse_sides;
            }
            let contracted = contracted.filter(|_| current.bias.is_empty());
            let coarse = contracted.unwrap_or_else(|| {
                self.contractor.contract(current, &of, clusters, &mut self.pool, self.threads)
            });
            levels.push(Level { coarse, of });
        }
        Coarsening { levels, sides }
    }

    /// Takes a bisection of the coarsest graph down to `graph`, refined on every level. With `keeps` it also
    /// returns the finest levels, the finest first.
    fn uncoarsened(
        &mut self,
        graph: &Csr,
        target: i64,
        mut levels: Vec<Level>,
        mut b: Bisection,
        keeps: bool,
    ) -> (Bisection, Vec<Step>) {
        let coarsest = levels.last().map_or(graph, |level| &level.coarse);
        // A vertex can be at the cut only if its cluster is at the cut.
        let mut near: Vec<bool> = (0..coarsest.len())
            .map(|c| coarsest.arcs(c).any(|(t, _)| b.side[t] != b.side[c]))
            .collect();
        let mut steps = Vec::new();
        while let Some(Level { coarse, of }) = levels.pop() {
            let finer = levels.last().map_or(graph, |level| &level.coarse);
            b.side = of.iter().map(|&c| b.side[c as usize]).collect();
            let limits = self.limits(finer, target, levels.is_empty());
            if self.budget.expired() {
                // No time is left to refine: the sizes and the cut are counted anew.
                Unrefined.refine(finer, &mut b, limits, |_| true);
                near = vec![true; finer.len()];
                coarse.recycle(&mut self.pool);
                steps.clear();
                continue;
            }
            self.fm.refine(finer, &mut b, limits, |v| near[of[v] as usize]);
            if !levels.is_empty() {
                near = self.fm.take_state().into_iter().map(Fm::was_near_cut).collect();
            }
            if keeps && levels.len() < Inheritance::DEPTH {
                steps.push(Step { of, count: coarse.len(), coarse: Some(coarse) });
            } else {
                coarse.recycle(&mut self.pool);
            }
        }
        steps.reverse();
        (b, steps)
    }

    /// The best of several multilevel runs on a coarse graph. These runs cost next to nothing, and the
    /// refinement of the whole graph cannot correct a bad start.
    fn best_start(&mut self, graph: &Csr, target: i64, allowed: i64, rng: &mut Rng) -> Bisection {
        let outer = (self.effort, self.allowed, self.threads);
        self.effort = BisectEffort { starts: 1, members: outer.0.members.min(3), ..outer.0 };
        self.allowed = allowed;
        let stream = rng.fork(rng.clone().next_u64());
        rng.next_u64();
        let excess = |b: &Bisection| ((b.size[0] - target).abs() - allowed).max(0);
        // The best of every `threads`th start from `first` on.
        let some = |bisector: &mut Bisector, first: usize, threads: usize| {
            let run = |k| {
                let b = bisector.multilevel(graph, target, None, &mut stream.fork(k as u64));
                (excess(&b), b.cut, k, b)
            };
            let runs = (first..outer.0.starts).step_by(threads).map(run);
            runs.min_by_key(|&(excess, cut, k, _)| (excess, cut, k))
        };
        // Each start has one thread.
        let threads = self.threads.min(outer.0.starts).max(1);
        self.threads = 1;
        let mut found = Vec::with_capacity(threads);
        let (effort, budget) = (self.effort, self.budget.clone());
        std::thread::scope(|scope| {
            let beside = |first: usize| {
                let (some, budget) = (&some, &budget);
                scope.spawn(move || {
                    let mut own = Bisector::new(effort, budget);
                    own.allowed = allowed;
                    some(&mut own, first, threads)
                })
            };
            let others: Vec<_> = (1..threads).map(beside).collect();
            found.push(some(self, 0, threads));
            let panicked = |cause| std::panic::resume_unwind(cause);
            found.extend(others.into_iter().map(|other| other.join().unwrap_or_else(panicked)));
        });
        (self.effort, self.allowed, self.threads) = outer;
        let best = found.into_iter().flatten().min_by_key(|&(excess, cut, k, _)| (excess, cut, k));
        best.map(|(.., b)| b).unwrap_or_else(|| InOrder.bisect(graph, target, rng))
    }

    fn first(&mut self, graph: &Csr, limits: FmLimits, rng: &mut Rng) -> Bisection {
        if let Some(b) = self.fm.first(graph, limits, self.effort.growings, rng) {
            return b;
        }
        let grown = (0..self.effort.growings.max(1)).map(|_| {
            let mut b = self.growing.bisect(graph, limits.target, rng);
            self.fm.refine(graph, &mut b, limits, |_| true);
            b
        });
        let excess = |b: &Bisection| ((b.size[0] - limits.target).abs() - limits.allowed).max(0);
        grown.min_by_key(|b| (excess(b), b.cut)).unwrap_or_default()
    }
}

/// Moves the cheapest vertices one by one until the target is met. After FM this is only needed if FM reached
/// its number of passes, or if no set of vertices meets the target.
fn force_balance(graph: &Csr, b: &mut Bisection, target: i64, allowed: i64) {
    let from = u8::from(b.size[0] < target);
    let mut moves: Vec<(i64, u32)> = (0..graph.len())
        .filter(|&v| b.side[v] == from)
        .map(|v| {
            let loss = graph.arcs(v).map(|(t, w)| if b.side[t] == from { w } else { -w }).sum();
            (loss, v as u32)
        })
        .collect();
    moves.sort_unstable();
    let mut excess = (b.size[0] - target).abs();
    let size = |v: u32| i64::from(graph.sizes[v as usize]);
    moves.retain(|&(_, v)| {
        let takes = excess > allowed && size(v) > 0 && size(v) <= excess;
        if takes {
            b.side[v as usize] = 1 - from;
            excess -= size(v);
        }
        !takes
    });
    // A vertex that is a little too large may still reduce the deviation.
    let nearest = moves.iter().map(|&(_, v)| v).min_by_key(|&v| (size(v) - excess).abs());
    if let Some(v) = nearest.filter(|&v| excess > allowed && (size(v) - excess).abs() < excess) {
        b.side[v as usize] = 1 - from;
    }
    *b = Bisection::new(graph, std::mem::take(&mut b.side));
}
