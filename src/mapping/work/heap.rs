//! Priority queue of vertices by gain: a 4-ary heap that knows where every vertex is.

const ABSENT: u32 = u32::MAX;

/// Largest gain first; ties go to the vertex that was touched last (as FM's LIFO buckets do).
#[derive(Debug, Clone, Default)]
pub(crate) struct GainHeap {
    heap: Vec<(i64, u32, u32)>,
    position: Vec<u32>,
    clock: u32,
}

impl GainHeap {
    /// Empties the queue and makes room for vertices below `n`.
    pub(crate) fn reset(&mut self, n: usize) {
        for &(_, _, v) in &self.heap {
            self.position[v as usize] = ABSENT;
        }
        self.heap.clear();
        self.clock = 0;
        if self.position.len() < n {
            self.position.resize(n, ABSENT);
        }
    }

    #[inline]
    pub(crate) fn contains(&self, v: usize) -> bool {
        self.position[v] != ABSENT
    }

    /// The gain that `v` has in the queue.
    #[inline]
    pub(crate) fn gain(&self, v: usize) -> Option<i64> {
        self.heap.get(self.position[v] as usize).map(|entry| entry.0)
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<(i64, usize)> {
        self.heap.first().map(|&(g, _, v)| (g, v as usize))
    }

    /// Inserts `v` or changes its gain.
    #[inline]
    pub(crate) fn set(&mut self, v: usize, gain: i64) {
        self.clock = self.clock.wrapping_add(1);
        let entry = (gain, self.clock, v as u32);
        match self.position[v] {
            ABSENT => {
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
            p => {
                let p = p as usize;
                if (entry.0, entry.1) >= (self.heap[p].0, self.heap[p].1) {
                    self.sift_up(p, entry);
                } else {
                    self.sift_down(p, entry);
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, v: usize) {
        let p = self.position[v];
        if p == ABSENT {
            return;
        }
        self.position[v] = ABSENT;
        let p = p as usize;
        if let Some(last) = self.heap.pop()
            && p < self.heap.len()
        {
            let old = self.heap[p];
            if (last.0, last.1) >= (old.0, old.1) {
                self.sift_up(p, last);
            } else {
                self.sift_down(p, last);
            }
        }
    }

    #[inline]
    fn sift_up(&mut self, mut p: usize, entry: (i64, u32, u32)) {
        while p > 0 {
            let parent = (p - 1) / 4;
            let other = self.heap[parent];
            if (other.0, other.1) >= (entry.0, entry.1) {
                break;
            }
            self.heap[p] = other;
            self.position[other.2 as usize] = p as u32;
            p = parent;
        }
        self.heap[p] = entry;
        self.position[entry.2 as usize] = p as u32;
    }

    #[inline]
    fn sift_down(&mut self, mut p: usize, entry: (i64, u32, u32)) {
        loop {
            let first = 4 * p + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + 4).min(self.heap.len());
            let mut best = first;
            for c in first + 1..last {
                if (self.heap[c].0, self.heap[c].1) > (self.heap[best].0, self.heap[best].1) {
                    best = c;
                }
            }
            let other = self.heap[best];
            if (entry.0, entry.1) >= (other.0, other.1) {
                break;
            }
            self.heap[p] = other;
            self.position[other.2 as usize] = p as u32;
            p = best;
        }
        self.heap[p] = entry;
        self.position[entry.2 as usize] = p as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::work::Rng;

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut rng = Rng::new(3);
        let mut heap = GainHeap::default();
        heap.reset(64);
        let mut model = [None::<i64>; 64];
        for _ in 0..5000 {
            let v = rng.below(64);
            if rng.below(4) == 0 {
                heap.remove(v);
                model[v] = None;
            } else {
                let gain = rng.below(100) as i64 - 50;
                heap.set(v, gain);
                model[v] = Some(gain);
            }
            assert_eq!((heap.gain(v), heap.contains(v)), (model[v], model[v].is_some()));
            assert_eq!(heap.peek().map(|(g, _)| g), model.iter().flatten().max().copied());
            if let Some((g, v)) = heap.peek() {
                assert_eq!(model[v], Some(g));
            }
        }
    }
}
