//! Memory of large graphs that are no longer needed, for the next graphs.
//!
//! A bisection of a large graph makes a handful of smaller graphs and drops them. If their memory went back
//! to the system, the system would have to clear it again for each new graph.

use super::arcs::{Arc, Arcs};
use super::roomy;

/// Vectors with fewer elements come from the allocator, which itself keeps their memory.
const FROM: usize = 1 << 20;

/// Vectors that are kept of each kind.
const KEPT: usize = 6;

/// Large vectors out of use.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    arcs: Vec<Vec<Arc>>,
    high: Vec<Vec<u32>>,
}

impl Pool {
    /// No arcs, with room for `capacity` of them. If they are `wide`, there is also room for the upper halves of
    /// their weights.
    pub(crate) fn arcs(&mut self, capacity: usize, wide: bool) -> Arcs {
        let high = if wide { take(&mut self.high, capacity) } else { Vec::new() };
        Arcs { list: take(&mut self.arcs, capacity), high }
    }

    /// Keeps the memory of arcs that are no longer needed.
    pub(super) fn keep(&mut self, arcs: Arcs) {
        keep(&mut self.arcs, arcs.list);
        keep(&mut self.high, arcs.high);
    }
}

/// The smallest vector with enough room, unless it has far too much room.
fn take<T>(kept: &mut Vec<Vec<T>>, capacity: usize) -> Vec<T> {
    let fits = |v: &Vec<T>| v.capacity() >= capacity && v.capacity() / 4 <= capacity;
    let best = kept
        .iter()
        .enumerate()
        .filter(|&(_, v)| capacity >= FROM && fits(v))
        .min_by_key(|(_, v)| v.capacity())
        .map(|(k, _)| k);
    best.map_or_else(|| roomy(capacity), |k| kept.swap_remove(k))
}

fn keep<T>(kept: &mut Vec<Vec<T>>, mut vector: Vec<T>) {
    if vector.capacity() < FROM {
        return;
    }
    vector.clear();
    kept.push(vector);
    if kept.len() > KEPT
        && let Some((k, _)) = kept.iter().enumerate().min_by_key(|(_, v)| v.capacity())
    {
        kept.swap_remove(k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_memory_comes_back() {
        let mut pool = Pool::default();
        let large = with_room(3 * FROM);
        let address = large.list.as_ptr();
        pool.keep(with_room(100));
        pool.keep(large);
        let (small, larger) = (pool.arcs(100, false).list, pool.arcs(4 * FROM, false).list);
        assert!(small.capacity() < FROM && larger.as_ptr() != address);
        let again = pool.arcs(2 * FROM, true);
        assert_eq!((again.list.as_ptr(), again.len()), (address, 0));
        let other = pool.arcs(2 * FROM, false).list;
        assert!(other.as_ptr() != address);
    }

    #[test]
    fn no_more_vectors_are_kept_than_the_limit() {
        let mut pool = Pool::default();
        for _ in 0..2 * KEPT {
            pool.keep(with_room(FROM));
        }
        assert_eq!(pool.arcs.len(), KEPT);
    }

    fn with_room(room: usize) -> Arcs {
        let mut arcs = Arcs { list: Vec::with_capacity(room), high: Vec::new() };
        arcs.push(1, 1);
        arcs
    }
}
