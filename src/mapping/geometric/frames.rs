//! The offset of every edge of a lattice, by the neighbours of one vertex after the other.
//!
//! A *frame* tells the label of each neighbour of a vertex (see `offsets`). The first frame is that of a vertex with
//! all neighbours: these are matched to the offsets so that neighbours of each other are those whose offsets say so.
//! The frame of the next vertex follows from that of a vertex beside it: a common neighbour has the difference of the
//! two offsets, and any other is known by which of the neighbours it is beside. At a border, where there are few of
//! these, the neighbours of the next vertex are compared with each other too. If this is not enough either, the frame
//! follows from another vertex later.
//!
//! A vertex that fits no offset ends the search, so most other graphs are refused at once. The work at a vertex is the
//! square of its number of neighbours. Limits: rings of three or four points must be known to the offsets.

use super::offsets::{Offset, Offsets};
use crate::mapping::engine::Csr;

/// No label.
const NONE: u8 = u8::MAX;

/// Attempts to match the neighbours of the first vertex.
const ATTEMPTS: usize = 20_000;

/// The label of every arc, and the offset of every vertex from the first one along the ways that were taken.
pub(super) struct Frames {
    pub(super) label_of_arc: Vec<u8>,
    pub(super) points: Vec<Offset>,
}

impl Frames {
    /// `None` if the graph is no lattice with these offsets.
    pub(super) fn new(graph: &Csr, offsets: &Offsets) -> Option<Self> {
        let n = graph.len();
        let first = (0..n).find(|&v| graph.degree(v) == offsets.list.len())?;
        let labels = first_frame(graph, offsets, first)?;
        let mut search = Search {
            graph,
            offsets,
            near: offsets.near(),
            label_of_arc: vec![NONE; graph.arcs.len()],
            label_of: vec![NONE; n],
        };
        search.set(first, &labels);
        let mut points = vec![None; n];
        points[first] = Some([0; 3]);
        let mut queue = vec![first as u32];
        let mut next = 0;
        while let Some(&v) = queue.get(next) {
            next += 1;
            let v = v as usize;
            let here: Offset = points[v]?;
            search.look_from(v);
            for (arc, (t, _)) in graph.range(v).zip(graph.arcs(v)) {
                if points[t].is_some() {
                    continue;
                }
                let s = usize::from(search.label_of_arc[arc]);
                if let Some(labels) = search.next_frame(v, t, s)? {
                    search.set(t, &labels);
                    points[t] = Some(std::array::from_fn(|k| here[k] + offsets.list[s][k]));
                    queue.push(t as u32);
                }
            }
            search.look_away(v);
        }
        let points = points.into_iter().collect::<Option<_>>()?;
        Some(Frames { label_of_arc: search.label_of_arc, points })
    }
}

struct Search<'a> {
    graph: &'a Csr,
    offsets: &'a Offsets,
    near: Vec<Vec<u32>>,
    label_of_arc: Vec<u8>,
    /// The labels of the neighbours of the vertex from which one looks.
    label_of: Vec<u8>,
}

impl Search<'_> {
    fn set(&mut self, v: usize, labels: &[u8]) {
        self.label_of_arc[self.graph.range(v)].copy_from_slice(labels);
    }

    fn look_from(&mut self, v: usize) {
        for (arc, (t, _)) in self.graph.range(v).zip(self.graph.arcs(v)) {
            self.label_of[t] = self.label_of_arc[arc];
        }
    }

    fn look_away(&mut self, v: usize) {
        self.graph.arcs(v).for_each(|(t, _)| self.label_of[t] = NONE);
    }

    /// Labels of the neighbours of `v`, which has the label `s` at `from`. `None` if a neighbour has none,
    /// `Some(None)` if one may have several.
    fn next_frame(&self, from: usize, v: usize, s: usize) -> Option<Option<Vec<u8>>> {
        let known = self.graph.arcs(from).map(|(t, _)| 1u32 << self.label_of[t]).sum();
        let row = row(self.graph, v);
        if row.len() > self.offsets.list.len() {
            return None;
        }
        let mut choices = Vec::with_capacity(row.len());
        for &z in &row {
            choices.push(match self.label_of[z] {
                _ if z == from => 1 << (s ^ 1),
                NONE => {
                    let labels = self.graph.arcs(z).map(|(t, _)| self.label_of[t]);
                    let beside = labels.filter(|&u| u != NONE).map(|u| 1u32 << u).sum();
                    self.offsets.beyond(s, &self.near[s], known, beside)
                }
                u => 1 << self.offsets.difference(usize::from(u), s)?,
            });
        }
        if choices.iter().any(|bits: &u32| bits.count_ones() != 1) {
            self.narrow(&row, &mut choices);
        }
        let mut used = 0u32;
        for &bits in &choices {
            match bits.count_ones() {
                1 if used & bits == 0 => used |= bits,
                0 | 1 => return None,
                _ => return Some(None),
            }
        }
        Some(Some(choices.into_iter().map(|bits| bits.trailing_zeros() as u8).collect()))
    }

    /// Removes choices of labels that contradict labels with no choice.
    fn narrow(&self, row: &[usize], choices: &mut [u32]) {
        let joined = joined(self.graph, row);
        let mut is_done = vec![false; row.len()];
        let single = |i: usize, choices: &[u32], is_done: &[bool]| {
            !is_done[i] && choices[i].count_ones() == 1
        };
        while let Some(i) = (0..row.len()).find(|&i| single(i, choices, &is_done)) {
            is_done[i] = true;
            let label = choices[i];
            let beside = self.offsets.beside(label.trailing_zeros() as usize);
            for (j, choice) in choices.iter_mut().enumerate().filter(|&(j, _)| j != i) {
                *choice &= !label & if joined[i] >> j & 1 == 1 { beside } else { !beside };
            }
        }
    }
}

fn row(graph: &Csr, v: usize) -> Vec<usize> {
    graph.arcs(v).map(|(t, _)| t).collect()
}

/// By position in a row of vertices: a bit for each position whose vertex is a neighbour.
fn joined(graph: &Csr, row: &[usize]) -> Vec<u32> {
    let bits = |&v: &usize| {
        let beside = graph.arcs(v).filter_map(|(t, _)| row.iter().position(|&x| x == t));
        beside.map(|position| 1u32 << position).sum()
    };
    row.iter().map(bits).collect()
}

/// Labels of the neighbours of the first vertex.
fn first_frame(graph: &Csr, offsets: &Offsets, first: usize) -> Option<Vec<u8>> {
    let joined = joined(graph, &row(graph, first));
    let beside: Vec<u32> = (0..joined.len()).map(|t| offsets.beside(t)).collect();
    // As many neighbours with as many common neighbours as there are offsets.
    let counts = |masks: &[u32]| {
        let mut counts = [0u32; 33];
        masks.iter().for_each(|mask| counts[mask.count_ones() as usize] += 1);
        counts
    };
    if counts(&joined) != counts(&beside) {
        return None;
    }
    let order = connected(&joined);
    let mut labels = vec![NONE; joined.len()];
    matched(&order, &joined, &beside, &mut labels, &mut { ATTEMPTS }).then_some(labels)
}

/// The positions of all neighbours. Each one is beside as many as possible of those before it.
fn connected(joined: &[u32]) -> Vec<usize> {
    let mut order = Vec::with_capacity(joined.len());
    let mut done = 0u32;
    while let Some(next) = (0..joined.len())
        .filter(|&i| done >> i & 1 == 0)
        .max_by_key(|&i| ((joined[i] & done).count_ones(), joined[i].count_ones()))
    {
        done |= 1 << next;
        order.push(next);
    }
    order
}

/// Gives all neighbours labels, one after the other, so that neighbours of each other have labels beside each other.
fn matched(
    order: &[usize],
    joined: &[u32],
    beside: &[u32],
    labels: &mut [u8],
    attempts: &mut usize,
) -> bool {
    let Some((&i, rest)) = order.split_first() else { return true };
    for label in 0..beside.len() {
        if *attempts == 0 {
            return false;
        }
        *attempts -= 1;
        let fits = beside[label].count_ones() == joined[i].count_ones()
            && labels.iter().enumerate().all(|(j, &other)| {
                other == NONE
                    || (usize::from(other) != label
                        && beside[label] >> other & 1 == joined[i] >> j & 1)
            });
        if fits {
            labels[i] = label as u8;
            if matched(rest, joined, beside, labels, attempts) {
                return true;
            }
            labels[i] = NONE;
        }
    }
    false
}
