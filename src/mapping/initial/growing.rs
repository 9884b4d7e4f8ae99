//! Greedy graph growing: one side grows from a random vertex by the neighbour that saves most cut
//! (Karypis and Kumar, SIAM J. Sci. Comput. 1998, section 3.2).

use super::InitialBisection;
use crate::mapping::engine::{Bisection, Csr, GainHeap, Rng};

/// Graph growing and its queue, kept between runs.
#[derive(Default)]
pub(crate) struct Growing {
    queue: GainHeap,
}

impl InitialBisection for Growing {
    fn bisect(&mut self, graph: &Csr, target: i64, rng: &mut Rng) -> Bisection {
        let n = graph.len();
        let mut side = vec![1u8; n];
        let mut size = 0i64;
        self.queue.reset(n);
        let bias = |v: usize| graph.bias.get(v).copied().unwrap_or(0);
        let mut next_seed = rng.below(n);
        if !graph.bias.is_empty() && rng.below(2) == 0 {
            next_seed = (0..n).max_by_key(|&v| bias(v)).unwrap_or(next_seed);
        }
        while size < target {
            let v = match self.queue.peek() {
                Some((_, v)) => v,
                None => {
                    // A new component: the next vertex that is still outside, from a random start.
                    let Some(v) = (0..n).map(|k| (next_seed + k) % n).find(|&v| side[v] == 1)
                    else {
                        break;
                    };
                    next_seed = v;
                    v
                }
            };
            self.queue.remove(v);
            let own = i64::from(graph.sizes[v]);
            if size + own > target && size + own - target > target - size {
                break;
            }
            side[v] = 0;
            size += own;
            for (t, w) in graph.arcs(v) {
                if side[t] == 1 {
                    // Between t and side 0 there is now w more, and w less between t and side 1.
                    let gain = match self.queue.gain(t) {
                        Some(gain) => gain + 2 * w,
                        None => 2 * w - graph.arcs(t).map(|(_, w)| w).sum::<i64>() + bias(t),
                    };
                    self.queue.set(t, gain);
                }
            }
        }
        Bisection::new(graph, side)
    }
}
