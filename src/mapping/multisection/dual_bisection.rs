//! Dual recursive bisection: halve the machine and the tasks together.
//!
//! For machines that are no trees (Pellegrini, "Static mapping by dual recursive bipartitioning of
//! process and architecture graphs", SHPCC 1994). It works level by level. When the tasks of a part are
//! split, a task is drawn to the half that is nearer to its partners outside the part, as far as their
//! places are known.

use super::Bisector;
use super::place_halves::Halves;
use crate::mapping::engine::{Csr, Distance, Rng};

/// One part under construction: tasks and as many places.
struct Part {
    tasks: Vec<u32>,
    places: Vec<u32>,
}

/// Places the vertices of `graph` on `places`, as many as there are vertices.
pub(crate) fn dual_bisect<D: Distance>(
    graph: &Csr,
    places: &[u32],
    d: &D,
    halves: &Halves<'_>,
    bisector: &mut Bisector,
    rng: &Rng,
) -> Vec<u32> {
    let n = graph.len();
    // A place in the middle of the part of every task: its place as far as it is known.
    let whole: Vec<u32> = places.to_vec();
    let centre = middle(&whole, d);
    let mut near = vec![centre; n];
    let mut parts = vec![Part { tasks: (0..n as u32).collect(), places: whole }];
    let mut local = vec![u32::MAX; n];
    let mut level = 0u64;
    while parts.iter().any(|p| p.tasks.len() > 1) {
        level += 1;
        let mut next = Vec::with_capacity(2 * parts.len());
        for (number, mut part) in parts.into_iter().enumerate() {
            if part.tasks.len() <= 1 {
                next.push(part);
                continue;
            }
            let mut rng = rng.fork(level << 32 | number as u64);
            let half = halves.split(&mut part.places, d, &mut rng);
            let (first, second) = part.places.split_at(half);
            let centres = [middle(first, d), middle(second, d)];
            let across = d.between(centres[0], centres[1]).max(1);
            let mut sub = graph.subgraph(&part.tasks, &mut local);
            for (i, &v) in part.tasks.iter().enumerate() {
                local[v as usize] = i as u32;
            }
            sub.bias = part
                .tasks
                .iter()
                .map(|&v| {
                    graph
                        .arcs(v as usize)
                        .filter(|&(t, _)| local[t] == u32::MAX)
                        .map(|(t, w)| {
                            w * (d.between(centres[1], near[t]) - d.between(centres[0], near[t]))
                        })
                        .sum::<i64>()
                        / across
                })
                .collect();
            part.tasks.iter().for_each(|&v| local[v as usize] = u32::MAX);
            let b = bisector.bisect(&sub, half as i64, &mut rng);
            let mut sides = [Vec::with_capacity(half), Vec::new()];
            for (i, &v) in part.tasks.iter().enumerate() {
                let side = usize::from(b.side[i]);
                sides[side].push(v);
                near[v as usize] = centres[side];
            }
            let [tasks, other] = sides;
            next.push(Part { tasks, places: first.to_vec() });
            next.push(Part { tasks: other, places: second.to_vec() });
        }
        parts = next;
    }
    let mut answer = vec![0u32; n];
    for part in parts {
        if let (Some(&task), Some(&place)) = (part.tasks.first(), part.places.first()) {
            answer[task as usize] = place;
        }
    }
    answer
}

/// A place in the middle: least total distance to a sample.
fn middle<D: Distance>(places: &[u32], d: &D) -> u32 {
    const SAMPLE: usize = 16;
    let step = places.len().div_ceil(SAMPLE).max(1);
    let candidates = places.iter().step_by(places.len().div_ceil(4 * SAMPLE).max(1));
    candidates
        .min_by_key(|&&p| places.iter().step_by(step).map(|&q| d.between(p, q)).sum::<i64>())
        .copied()
        .unwrap_or(0)
}
