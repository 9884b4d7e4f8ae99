//! The place of every task, and what a swap would change.

use super::{Csr, Distance};

/// No task on this place.
pub(crate) const EMPTY: u32 = u32::MAX;

/// A mapping under local search: tasks to places and back.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    pub(crate) place_of: Vec<u32>,
    pub(crate) task_at: Vec<u32>,
}

impl Placement {
    pub(crate) fn new(place_of: Vec<u32>, places: usize) -> Self {
        let mut task_at = vec![EMPTY; places];
        for (task, &place) in place_of.iter().enumerate() {
            task_at[place as usize] = task as u32;
        }
        Placement { place_of, task_at }
    }

    /// Change of cost if task `u` moves to place `q`, and the task there, if any, moves to the place of `u`.
    #[inline(always)]
    pub(crate) fn delta<D: Distance>(&self, graph: &Csr, d: &D, u: usize, q: u32) -> i64 {
        let (p, v) = (self.place_of[u], self.task_at[q as usize]);
        let mut delta = self.half_delta(graph, d, u, q);
        if v != EMPTY {
            let (from_p, from_q) = (d.distances_of(p), d.distances_of(q));
            for (t, w) in graph.arcs(v as usize) {
                if t != u {
                    let at = self.place_of[t];
                    delta += w * (from_p(at) - from_q(at));
                }
            }
        }
        delta
    }

    /// The part of [`Self::delta`] from the edges of task `u`.
    #[inline(always)]
    pub(crate) fn half_delta<D: Distance>(&self, graph: &Csr, d: &D, u: usize, q: u32) -> i64 {
        let (p, v) = (self.place_of[u], self.task_at[q as usize]);
        let (from_p, from_q) = (d.distances_of(p), d.distances_of(q));
        let mut delta = 0;
        for (t, w) in graph.arcs(u) {
            if t as u32 != v {
                let at = self.place_of[t];
                delta += w * (from_q(at) - from_p(at));
            }
        }
        delta
    }

    #[inline(always)]
    pub(crate) fn swap(&mut self, u: usize, q: u32) {
        let p = self.place_of[u];
        let v = self.task_at[q as usize];
        self.place_of[u] = q;
        self.task_at[q as usize] = u as u32;
        self.task_at[p as usize] = v;
        if v != EMPTY {
            self.place_of[v as usize] = p;
        }
    }
}

/// Cost of a mapping on the search's own (scaled) numbers.
pub(crate) fn cost<D: Distance>(graph: &Csr, d: &D, place_of: &[u32]) -> i128 {
    let mut sum = 0i128;
    for v in 0..graph.len() {
        for (t, w) in graph.arcs(v) {
            if t > v {
                sum += i128::from(w * d.between(place_of[v], place_of[t]));
            }
        }
    }
    sum
}
