//! Two-way refinement after Fiduccia and Mattheyses (DAC 1982), with exact part sizes.
//!
//! The search moves single vertices and passes through slightly unbalanced states. A state is an answer only if
//! its imbalance is allowed. On the input graph the allowed imbalance is zero.

use super::bisection_refiner::BisectionRefiner;
use super::fm_limits::FmLimits;
use super::fm_small::{self, FmSmall};
use crate::mapping::engine::{Bisection, Csr, GainHeap, Rng, refill};

/// Buffers of FM, kept between runs.
#[derive(Debug, Default)]
pub(crate) struct Fm {
    queues: [GainHeap; 2],
    /// The gain of a vertex, which means nothing unless its state says that it is known.
    gain: Vec<i64>,
    state: Vec<u8>,
    moved: Vec<u32>,
    /// The vertices that were found at the cut. A pass tries only these.
    boundary: Vec<u32>,
    small: FmSmall,
}

/// Bits of a vertex's state: its gain is known, it has moved in this pass, it is in the boundary
/// list.
const KNOWN: u8 = 1;
const LOCKED: u8 = 2;
const LISTED: u8 = 4;

impl BisectionRefiner for Fm {
    fn refine(
        &mut self,
        graph: &Csr,
        b: &mut Bisection,
        limits: FmLimits,
        near_cut: impl Fn(usize) -> bool,
    ) {
        let n = graph.len();
        if n <= fm_small::MOST {
            self.state.clear();
            self.state.resize(n, LISTED);
            return self.small.refine(graph, b, limits, near_cut);
        }
        refill(&mut self.state, n, 0);
        if self.gain.len() < n {
            refill(&mut self.gain, n, 0);
        }
        self.boundary.clear();
        let all = limits.tries_all && limits.excess(b) > 0;
        let biased = !graph.bias.is_empty();
        for v in 0..n {
            if all || near_cut(v) || graph.degree(v) == 0 || biased {
                self.look(graph, b, v, all);
            }
        }
        for _ in 0..limits.passes {
            if !self.pass(graph, b, limits) {
                break;
            }
        }
    }
}

impl Fm {
    /// The best of `growings` bisections. Each of them is grown without an earlier bisection, and then refined.
    /// `None` if the graph has more than [`fm_small::MOST`] vertices.
    pub(crate) fn first(
        &mut self,
        graph: &Csr,
        limits: FmLimits,
        growings: usize,
        rng: &mut Rng,
    ) -> Option<Bisection> {
        (graph.len() <= fm_small::MOST).then(|| self.small.first(graph, limits, growings, rng))
    }

    /// Takes out the state of every vertex after the last run, for [`Fm::was_near_cut`].
    pub(crate) fn take_state(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.state)
    }

    /// False only if the vertex with this state is surely not at the cut.
    #[inline]
    pub(crate) fn was_near_cut(state: u8) -> bool {
        state & LISTED != 0
    }

    /// Computes the gain of `v` and lists it if it is worth a try.
    fn look(&mut self, graph: &Csr, b: &Bisection, v: usize, always: bool) {
        let s = b.side[v];
        let (mut gain, mut boundary) = (0, always || graph.degree(v) == 0);
        for (t, w) in graph.arcs(v) {
            if b.side[t] == s {
                gain -= w;
            } else {
                gain += w;
                boundary = true;
            }
        }
        if let Some(&bias) = graph.bias.get(v) {
            gain += if s == 0 { -bias } else { bias };
            boundary |= bias != 0;
        }
        self.gain[v] = gain;
        self.state[v] |= KNOWN;
        if boundary {
            self.list(v);
        }
    }

    #[inline]
    fn list(&mut self, v: usize) {
        if self.state[v] & LISTED == 0 {
            self.state[v] |= LISTED;
            self.boundary.push(v as u32);
        }
    }

    /// Lists and queues the vertices that are not at the cut, where those at the cut were too few to balance the
    /// sides. False if all are listed.
    #[cold]
    fn list_others(&mut self, graph: &Csr, b: &Bisection) -> bool {
        let before = self.boundary.len();
        for v in 0..graph.len() {
            if self.state[v] & LISTED == 0 {
                self.look(graph, b, v, true);
                self.queues[usize::from(b.side[v])].set(v, self.gain[v]);
            }
        }
        self.boundary.len() > before
    }

    fn flip(&mut self, graph: &Csr, b: &mut Bisection, v: usize, refill: bool) {
        let from = usize::from(b.side[v]);
        let size = i64::from(graph.sizes[v]);
        b.side[v] = (1 - from) as u8;
        b.size[from] -= size;
        b.size[1 - from] += size;
        b.cut -= self.gain[v];
        self.gain[v] = -self.gain[v];
        for (t, w) in graph.arcs(v) {
            if self.state[t] & KNOWN == 0 {
                self.look(graph, b, t, false);
            } else {
                let same = usize::from(b.side[t]) == from;
                self.gain[t] += if same { 2 * w } else { -2 * w };
                self.list(t);
            }
            if refill && self.state[t] & LOCKED == 0 {
                self.queues[usize::from(b.side[t])].set(t, self.gain[t]);
            }
        }
    }

    fn pass(&mut self, graph: &Csr, b: &mut Bisection, limits: FmLimits) -> bool {
        let n = graph.len();
        self.moved.clear();
        self.queues[0].reset(n);
        self.queues[1].reset(n);
        for &v in &self.boundary {
            let v = v as usize;
            self.queues[usize::from(b.side[v])].set(v, self.gain[v]);
        }
        let start = (limits.excess(b), b.cut);
        let mut best = start;
        let mut best_moves = 0;
        while self.moved.len() - best_moves < limits.patience {
            // Until an allowed state was seen, every move goes towards one.
            let slack = if best.0 == 0 { limits.slack } else { 0 };
            let best_of = |side: usize| self.queues[side].peek();
            let Some((_, v)) = limits.choose(b, slack, best_of) else {
                if best.0 == 0 || !self.list_others(graph, b) {
                    break;
                }
                continue;
            };
            self.queues[usize::from(b.side[v])].remove(v);
            self.state[v] |= LOCKED;
            self.moved.push(v as u32);
            self.flip(graph, b, v, true);
            let now = (limits.excess(b), b.cut);
            if now < best {
                best = now;
                best_moves = self.moved.len();
            }
        }
        for k in (0..self.moved.len()).rev() {
            let v = self.moved[k] as usize;
            self.state[v] &= !LOCKED;
            if k >= best_moves {
                self.flip(graph, b, v, false);
            }
        }
        best < start
    }
}
