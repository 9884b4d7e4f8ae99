//! Priority queue of vertices by gain: a 4-ary heap with the position of every vertex.

use super::refill;

const ABSENT: u32 = u32::MAX;

/// An entry as one number: gain, time at which it was set, and vertex, from the highest bits down. Entries
/// are compared as whole numbers, without a branch.
type Entry = i128;

#[inline]
fn entry(gain: i64, clock: u32, v: usize) -> Entry {
    i128::from(gain) << 64 | i128::from(clock) << 32 | v as i128
}

#[inline]
fn gain_of(entry: Entry) -> i64 {
    (entry >> 64) as i64
}

#[inline]
fn vertex_of(entry: Entry) -> usize {
    entry as u32 as usize
}

/// Largest gain first; ties go to the vertex that was touched last (as FM's LIFO buckets do).
#[derive(Debug, Clone, Default)]
pub(crate) struct GainHeap {
    heap: Vec<Entry>,
    position: Vec<u32>,
    clock: u32,
}

impl GainHeap {
    /// Empties the queue and makes room for vertices below `n`.
    pub(crate) fn reset(&mut self, n: usize) {
        for &e in &self.heap {
            self.position[vertex_of(e)] = ABSENT;
        }
        self.heap.clear();
        self.clock = 0;
        if self.position.len() < n {
            refill(&mut self.position, n, ABSENT);
        }
    }

    #[inline]
    pub(crate) fn contains(&self, v: usize) -> bool {
        self.position[v] != ABSENT
    }

    /// The gain that `v` has in the queue.
    #[inline]
    pub(crate) fn gain(&self, v: usize) -> Option<i64> {
        self.heap.get(self.position[v] as usize).map(|&e| gain_of(e))
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<(i64, usize)> {
        self.heap.first().map(|&e| (gain_of(e), vertex_of(e)))
    }

    /// Inserts `v` or changes its gain.
    #[inline]
    pub(crate) fn set(&mut self, v: usize, gain: i64) {
        self.clock = self.clock.wrapping_add(1);
        let entry = entry(gain, self.clock, v);
        match self.position[v] {
            ABSENT => {
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
            p => {
                let p = p as usize;
                if entry >= self.heap[p] {
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
            if last >= self.heap[p] {
                self.sift_up(p, last);
            } else {
                self.sift_down(p, last);
            }
        }
    }

    #[inline]
    fn sift_up(&mut self, mut p: usize, entry: Entry) {
        let heap = &mut self.heap[..];
        while p > 0 {
            let parent = (p - 1) / 4;
            let other = heap[parent];
            if other >= entry {
                break;
            }
            heap[p] = other;
            self.position[vertex_of(other)] = p as u32;
            p = parent;
        }
        heap[p] = entry;
        self.position[vertex_of(entry)] = p as u32;
    }

    #[inline]
    fn sift_down(&mut self, mut p: usize, entry: Entry) {
        let heap = &mut self.heap[..];
        loop {
            let first = 4 * p + 1;
            let (mut best, mut other) = (first, entry);
            match heap.get(first..first + 4) {
                Some(four) => {
                    let (a, b) = (usize::from(four[1] > four[0]), usize::from(four[3] > four[2]));
                    let (low, high) = (four[a], four[2 + b]);
                    (best, other) =
                        if high > low { (first + 2 + b, high) } else { (first + a, low) };
                }
                None => {
                    for (c, &e) in heap.iter().enumerate().skip(first) {
                        (best, other) = if e > other { (c, e) } else { (best, other) };
                    }
                }
            }
            if entry >= other {
                break;
            }
            heap[p] = other;
            self.position[vertex_of(other)] = p as u32;
            p = best;
        }
        heap[p] = entry;
        self.position[vertex_of(entry)] = p as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::engine::seeded;

    #[test]
    fn agrees_with_a_sorted_list() {
        let mut rng = seeded(3);
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
