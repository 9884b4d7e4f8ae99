//! Changes one mapping into another as far as the moves save more than they cost.

use super::{NONE, OldPlaces};
use crate::mapping::engine::{Distance, Placement, Prepared};

/// The largest number of rounds over all chains. There are several rounds because each chain that is applied
/// changes the gain of others.
const ROUNDS: usize = 3;

/// Applies the chains of moves from `from` towards `to` that save more than they cost. All mappings are by
/// task.
pub(super) fn merge<D: Distance>(
    prepared: &Prepared<'_, '_>,
    old: &OldPlaces,
    d: &D,
    from: &[u32],
    to: &[u32],
    price: i64,
) -> Vec<u32> {
    let to = same_places(old, from, to);
    let n = from.len();
    let mut now = prepared.by_vertex(from.to_vec());
    let goal = prepared.by_vertex(to);
    let placement = Placement::new(now.clone(), old.slot_place.len());
    // Chains: each task is followed by the task that is now on its goal.
    let mut chain_of = vec![NONE; n];
    let mut chains: Vec<Vec<u32>> = Vec::new();
    let mut entered = vec![false; n];
    for v in 0..n {
        let next = placement.task_at[goal[v] as usize];
        if now[v] != goal[v] && next != NONE {
            entered[next as usize] = true;
        }
    }
    // First the chains whose first task is on the goal of no other task, then the cycles.
    for start in (0..n).filter(|&v| !entered[v]).chain(0..n).collect::<Vec<_>>() {
        let mut chain = Vec::new();
        let mut v = start;
        while now[v] != goal[v] && chain_of[v] == NONE {
            chain_of[v] = chains.len() as u32;
            chain.push(v as u32);
            match placement.task_at[goal[v] as usize] {
                NONE => break,
                next => v = next as usize,
            }
        }
        if !chain.is_empty() {
            chains.push(chain);
        }
    }
    let graph = &prepared.graph;
    let start = now.clone();
    let mut applied = vec![false; chains.len()];
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (k, chain) in chains.iter().enumerate() {
            let there = if applied[k] { &start } else { &goal };
            let in_chain = |t: usize| chain_of[t] == k as u32;
            let mut delta = 0i128;
            for &v in chain {
                let v = v as usize;
                for (t, w) in graph.arcs(v) {
                    let (was, is) = (now[t], if in_chain(t) { there[t] } else { now[t] });
                    let change = w * (d.between(there[v], is) - d.between(now[v], was));
                    // Edges inside the chain are seen from both ends.
                    delta += if in_chain(t) { i128::from(change) } else { 2 * i128::from(change) };
                }
                let task = prepared.task(v);
                let moves = old.left(task, there[v]) - old.left(task, now[v]);
                delta += 2 * i128::from(price) * i128::from(moves);
            }
            if delta < 0 {
                chain.iter().for_each(|&v| now[v as usize] = there[v as usize]);
                applied[k] = !applied[k];
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    prepared.by_task(now)
}

/// `to` with places exchanged inside slots, so that tasks that keep their slot keep their place.
fn same_places(old: &OldPlaces, from: &[u32], to: &[u32]) -> Vec<u32> {
    let mut free = vec![true; old.slot_place.len()];
    let mut answer = vec![NONE; to.len()];
    for (task, (&a, &b)) in from.iter().zip(to).enumerate() {
        if old.slot_place[a as usize] == old.slot_place[b as usize] {
            answer[task] = a;
            free[a as usize] = false;
        }
    }
    for (place, &b) in answer.iter_mut().zip(to) {
        if *place == NONE {
            let first = old.slot_place[b as usize] as usize;
            let at = (first..free.len()).find(|&at| free[at]).unwrap_or(first);
            *place = at as u32;
            free[at] = false;
        }
    }
    answer
}
