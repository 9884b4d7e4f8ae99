//! Memory of large graphs that are no longer needed, for the next graphs.
//!
//! A bisection of a large graph makes a handful of smaller graphs and drops them. If their memory went back
//! to the system, the system would have to clear it again for each new graph.

use super::roomy;

/// Vectors with fewer elements come from the allocator, which itself keeps their memory.
const FROM: usize = 1 << 20;

/// Vectors that are kept of each kind.
const KEPT: usize = 6;

/// Large vectors out of use.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    narrow: Vec<Vec<u32>>,
    wide: Vec<Vec<i64>>,
}

impl Pool {
    /// An empty vector with room for `capacity` ids.
    pub(crate) fn ids(&mut self, capacity: usize) -> Vec<u32> {
        take(&mut self.narrow, capacity)
    }

    /// An empty vector with room for `capacity` weights.
    pub(crate) fn weights(&mut self, capacity: usize) -> Vec<i64> {
        take(&mut self.wide, capacity)
    }

    /// Keeps the memory of ids and weights that are no longer needed.
    pub(super) fn keep(&mut self, ids: Vec<u32>, weights: Vec<i64>) {
        keep(&mut self.narrow, ids);
        keep(&mut self.wide, weights);
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
        let large = pool_free(3 * FROM);
        let address = large.as_ptr();
        pool.keep(pool_free(100), Vec::new());
        pool.keep(large, Vec::new());
        let (small, larger) = (pool.ids(100), pool.ids(4 * FROM));
        assert!(small.capacity() < FROM && larger.as_ptr() != address);
        let again = pool.ids(2 * FROM);
        assert_eq!((again.as_ptr(), again.len()), (address, 0));
        let other = pool.ids(2 * FROM);
        assert!(other.as_ptr() != address);
    }

    #[test]
    fn no_more_vectors_are_kept_than_the_limit() {
        let mut pool = Pool::default();
        for _ in 0..2 * KEPT {
            pool.keep(Vec::new(), Vec::with_capacity(FROM));
        }
        assert_eq!(pool.wide.len(), KEPT);
    }

    fn pool_free(room: usize) -> Vec<u32> {
        let mut vector = Vec::with_capacity(room);
        vector.push(1);
        vector
    }
}
