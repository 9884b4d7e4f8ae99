//! FM on at most 64 vertices: sets are the bits of a word, and the best move is found by looking at
//! all of them.
//!
//! Half of the work of a multilevel bisection of a whole tree is done on graphs that small. There a
//! queue that is kept in order costs more than a look at all vertices. The moves are those of
//! [`super::Fm`], except that all gains are known from the start.

use super::bisection_refiner::BisectionRefiner;
use super::fm_limits::FmLimits;
use crate::mapping::engine::{Bisection, Csr, Rng};

/// Vertices at most.
pub(super) const MOST: usize = 64;

/// Buffers, kept between runs.
#[derive(Debug)]
pub(super) struct FmSmall {
    gain: [i64; MOST],
    /// When a vertex was last touched; of equal gains the latest moves.
    touched: [u32; MOST],
    clock: u32,
    neighbours: [u64; MOST],
    /// Vertices that are worth a try.
    listed: u64,
    /// Vertices on side 1.
    side_1: u64,
    moved: Vec<u8>,
}

impl Default for FmSmall {
    fn default() -> Self {
        FmSmall {
            gain: [0; MOST],
            touched: [0; MOST],
            clock: 0,
            neighbours: [0; MOST],
            listed: 0,
            side_1: 0,
            moved: Vec::with_capacity(MOST),
        }
    }
}

impl BisectionRefiner for FmSmall {
    /// For graphs of at most [`MOST`] vertices, all of which are looked at.
    fn refine(
        &mut self,
        graph: &Csr,
        b: &mut Bisection,
        limits: FmLimits,
        _near_cut: impl Fn(usize) -> bool,
    ) {
        let unbalanced = limits.excess(b) > 0;
        (self.listed, self.side_1) = (0, 0);
        for v in 0..graph.len().min(MOST) {
            let s = b.side[v];
            let (mut gain, mut neighbours) = (0, 0u64);
            let mut worthwhile = unbalanced || graph.degree(v) == 0;
            for (t, w) in graph.arcs(v) {
                let outside = b.side[t] != s;
                gain += if outside { w } else { -w };
                worthwhile |= outside;
                neighbours |= 1 << t;
            }
            if let Some(&bias) = graph.bias.get(v) {
                gain += if s == 0 { -bias } else { bias };
                worthwhile |= bias != 0;
            }
            self.gain[v] = gain;
            self.neighbours[v] = neighbours;
            self.listed |= u64::from(worthwhile) << v;
            self.side_1 |= u64::from(s) << v;
        }
        self.passes(graph, b, limits);
    }
}

impl FmSmall {
    fn passes(&mut self, graph: &Csr, b: &mut Bisection, limits: FmLimits) {
        for _ in 0..limits.passes {
            if !self.pass(graph, b, limits) {
                break;
            }
        }
    }

    /// The best of several bisections from nothing: side 0 grows from a random vertex by the
    /// neighbour that saves most cut (Karypis and Kumar, SIAM J. Sci. Comput. 1998, section 3.2),
    /// then each is refined.
    pub(super) fn first(
        &mut self,
        graph: &Csr,
        limits: FmLimits,
        growings: usize,
        rng: &mut Rng,
    ) -> Bisection {
        let n = graph.len().min(MOST);
        let all = if n == MOST { u64::MAX } else { (1 << n) - 1 };
        // The gains while all vertices are on side 1, and the vertices that are always worth a try.
        let mut start = [0i64; MOST];
        let (mut cut, mut lone) = (0, 0u64);
        for (v, gain) in start.iter_mut().enumerate().take(n) {
            let mut neighbours = 0u64;
            for (t, w) in graph.arcs(v) {
                *gain -= w;
                neighbours |= 1 << (t % MOST);
            }
            self.neighbours[v] = neighbours;
            let bias = graph.bias.get(v).copied().unwrap_or(0);
            *gain += bias;
            cut += bias;
            lone |= u64::from(neighbours == 0 || bias != 0) << v;
        }
        let total: i64 = graph.sizes.iter().map(|&s| i64::from(s)).sum();
        let mut best: Option<((i64, i64), Bisection)> = None;
        for _ in 0..growings.max(1) {
            self.gain = start;
            self.side_1 = all;
            self.touched = [0; MOST];
            self.clock = 0;
            let mut seed = rng.below(n.max(1));
            if !graph.bias.is_empty() && rng.below(2) == 0 {
                seed = (0..n).max_by_key(|&v| graph.bias[v]).unwrap_or(seed);
            }
            let mut b = Bisection { side: vec![1; n], size: [0, total], cut };
            let (mut frontier, mut reached) = (0u64, 0u64);
            while b.size[0] < limits.target {
                let v = match self.best(frontier) {
                    Some((_, v)) => v,
                    // A new component: the next vertex that is still outside, from the seed on.
                    None if self.side_1 == 0 => break,
                    None => {
                        let later = self.side_1 & (u64::MAX << seed);
                        let open = if later != 0 { later } else { self.side_1 };
                        seed = open.trailing_zeros() as usize % MOST;
                        seed
                    }
                };
                let own = i64::from(graph.sizes[v]);
                if b.size[0] + own > limits.target
                    && b.size[0] + own - limits.target > limits.target - b.size[0]
                {
                    break;
                }
                self.flip(graph, &mut b, v);
                reached |= self.neighbours[v];
                frontier = reached & self.side_1;
            }
            // The vertices at the cut, besides those that are always worth a try.
            let inside = all & !self.side_1;
            let at_cut = (0..n).filter(|&v| {
                let across = if inside >> v & 1 == 1 { self.side_1 } else { inside };
                self.neighbours[v] & across != 0
            });
            self.listed = at_cut.fold(lone, |set, v| set | 1 << v);
            if limits.excess(&b) > 0 {
                self.listed = all;
            }
            self.passes(graph, &mut b, limits);
            let key = (limits.excess(&b), b.cut);
            if best.as_ref().is_none_or(|(k, _)| key < *k) {
                best = Some((key, b));
            }
        }
        best.map(|(_, b)| b).unwrap_or_default()
    }

    /// The vertex of a set with the largest gain.
    #[inline]
    fn best(&self, mut set: u64) -> Option<(i64, usize)> {
        if set == 0 {
            return None;
        }
        let mut best = set.trailing_zeros() as usize;
        let mut key = (self.gain[best], self.touched[best]);
        set &= set - 1;
        while set != 0 {
            let v = set.trailing_zeros() as usize % MOST;
            set &= set - 1;
            let (gain, touched) = (self.gain[v], self.touched[v]);
            let better = gain > key.0 || (gain == key.0 && touched > key.1);
            (best, key) = if better { (v, (gain, touched)) } else { (best, key) };
        }
        Some((key.0, best))
    }

    #[inline]
    fn flip(&mut self, graph: &Csr, b: &mut Bisection, v: usize) {
        let from = usize::from(b.side[v]);
        let size = i64::from(graph.sizes[v]);
        b.side[v] = (1 - from) as u8;
        b.size[from] -= size;
        b.size[1 - from] += size;
        b.cut -= self.gain[v];
        self.gain[v] = -self.gain[v];
        // A neighbour on the side that v left now gains more by following. The others gain less by
        // leaving.
        let with = if from == 0 { !self.side_1 } else { self.side_1 };
        for (t, w) in graph.arcs(v) {
            let same = (with >> (t % MOST)) & 1;
            self.gain[t % MOST] += (4 * same as i64 - 2) * w;
            self.clock += 1;
            self.touched[t % MOST] = self.clock;
        }
        self.side_1 ^= 1 << v;
        self.listed |= self.neighbours[v];
    }

    fn pass(&mut self, graph: &Csr, b: &mut Bisection, limits: FmLimits) -> bool {
        self.moved.clear();
        self.touched = [0; MOST];
        self.clock = 0;
        let mut locked = 0u64;
        let start = (limits.excess(b), b.cut);
        let (mut best, mut best_moves) = (start, 0);
        while self.moved.len() - best_moves < limits.patience {
            let slack = if best.0 == 0 { limits.slack } else { 0 };
            let open = self.listed & !locked;
            let (side_1, this) = (self.side_1, &*self);
            let of = |side: usize| this.best(open & if side == 0 { !side_1 } else { side_1 });
            let Some((_, v)) = limits.choose(b, slack, of) else { break };
            locked |= 1 << v;
            self.moved.push(v as u8);
            self.flip(graph, b, v);
            let now = (limits.excess(b), b.cut);
            if now < best {
                best = now;
                best_moves = self.moved.len();
            }
        }
        for k in (best_moves..self.moved.len()).rev() {
            let v = usize::from(self.moved[k]);
            self.flip(graph, b, v);
        }
        best < start
    }
}
