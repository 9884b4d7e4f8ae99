//! How a bisection coarsened its graph, for the bisections of its two sides.
//!
//! For vertices that are not near the cut, the clusters of the whole graph are as good for a side as new
//! clusters. The contracted graph then differs only in the numbers of its vertices. On large problems,
//! therefore, the bisections take the clusters of the finest levels from the bisection above them.

use crate::mapping::coarsening::{Contractor, NONE, SideOfCut};
use crate::mapping::engine::{Csr, Pool};

/// One level of a coarsening.
#[derive(Debug)]
pub(crate) struct Step {
    /// The cluster of every vertex.
    pub(super) of: Vec<u32>,
    /// Number of clusters.
    pub(super) count: usize,
    /// The graph contracted by them, if it is at hand.
    pub(super) coarse: Option<Csr>,
}

/// The finest levels of a coarsening.
#[derive(Debug)]
pub(crate) struct Inheritance {
    /// The finest first; the vertices of each are the clusters of the one before.
    pub(super) steps: Vec<Step>,
}

impl Inheritance {
    /// Levels that are handed down.
    pub(super) const DEPTH: usize = 3;

    /// Smallest graph whose coarsening is handed down, and that takes one over.
    pub(super) const FROM: usize = 64;

    /// The coarsening that each side of a bisected graph inherits; `parts` are their subgraphs. A cluster at
    /// the cut is divided between both sides.
    pub(super) fn split(
        self,
        side: &[u8],
        parts: &[Csr; 2],
        contractor: &mut Contractor,
        pool: &mut Pool,
    ) -> [Option<Inheritance>; 2] {
        let mut steps = [Vec::new(), Vec::new()];
        // How many vertices of the level at hand are on each side, and their numbers in the whole. On the finest level,
        // `side` says as much.
        let mut counts = [0, 1].map(|s: usize| parts[s].len());
        let mut vertices: Option<[Vec<u32>; 2]> = None;
        for step in self.steps {
            if counts.iter().any(|&count| count >= Self::FROM) {
                let mut number = [(); 2].map(|()| vec![NONE; step.count]);
                let clusters = match &vertices {
                    Some(vertices) => {
                        [0, 1].map(|s| renumber(&step.of, &vertices[s], &mut number[s]))
                    }
                    None => renumber_by(side, &step.of, counts, &mut number),
                };
                let mut coarser = [Vec::new(), Vec::new()];
                for (s, (of, from)) in clusters.into_iter().enumerate() {
                    let steps: &mut Vec<Step> = &mut steps[s];
                    let graph = match steps.last() {
                        Some(finer) => finer.coarse.as_ref(),
                        None => Some(&parts[s]),
                    };
                    let coarse = match (&step.coarse, graph) {
                        (Some(whole), Some(graph)) if of.len() >= Self::FROM => {
                            let (number, cluster_of, from) = (&number, &of[..], &from[..]);
                            let part =
                                SideOfCut { whole, number, side: s, graph, cluster_of, from };
                            contractor.inherit(&part, pool)
                        }
                        _ => None,
                    };
                    if of.len() >= Self::FROM {
                        steps.push(Step { of, count: from.len(), coarse });
                    }
                    counts[s] = from.len();
                    coarser[s] = from;
                }
                vertices = Some(coarser);
            }
            step.coarse.into_iter().for_each(|coarse| coarse.recycle(pool));
        }
        steps.map(|steps| (!steps.is_empty()).then_some(Inheritance { steps }))
    }
}

/// The clusters of the vertices on either side, as [`renumber`] numbers them; `counts` vertices are on each side.
fn renumber_by(
    side: &[u8],
    of: &[u32],
    counts: [usize; 2],
    number: &mut [Vec<u32>; 2],
) -> [(Vec<u32>, Vec<u32>); 2] {
    let mut both = counts.map(|count| (Vec::with_capacity(count), Vec::with_capacity(count / 2)));
    for (&s, &c) in side.iter().zip(of) {
        let s = usize::from(s & 1);
        let (new, from) = &mut both[s];
        let id = &mut number[s][c as usize];
        if *id == NONE {
            *id = from.len() as u32;
            from.push(c);
        }
        new.push(*id);
    }
    both
}

/// The clusters of some `vertices`, numbered anew as they appear, and their old numbers. `number` is that of one side.
fn renumber(of: &[u32], vertices: &[u32], number: &mut [u32]) -> (Vec<u32>, Vec<u32>) {
    let mut from = Vec::with_capacity(number.len() / 2 + 1);
    let mut new = Vec::with_capacity(vertices.len());
    for &v in vertices {
        let c = of[v as usize];
        let id = &mut number[c as usize];
        if *id == NONE {
            *id = from.len() as u32;
            from.push(c);
        }
        new.push(*id);
    }
    (new, from)
}
