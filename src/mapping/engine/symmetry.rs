//! Uses the machine's symmetry to bring fixed tasks home at no cost.
//!
//! Groups of a tree that look alike can change places, a torus can be shifted, a mesh mirrored: the
//! cost stays, and a fixed task may land where it belongs. What symmetry cannot do is left to
//! [`super::Prepared::honour_fixed`].

use super::{Prepared, TreePlaces};
use crate::topology::Grid;

/// Swaps equal groups of a tree until fixed tasks sit on their places, as far as possible.
/// `position[v]` is an index into the sorted places; places and tasks are equal in number.
pub(crate) fn align_tree(prepared: &Prepared<'_, '_>, places: &TreePlaces, position: &mut [u32]) {
    if prepared.pinned.is_empty() || position.len() != places.order.len() {
        return;
    }
    let n = position.len();
    let mut index_of = vec![0u32; prepared.problem.places().len()];
    for (k, &place) in places.order.iter().enumerate() {
        index_of[place as usize] = k as u32;
    }
    let mut task_at = vec![0u32; n];
    for (task, &k) in position.iter().enumerate() {
        task_at[k as usize] = task as u32;
    }
    // home[k]: a fixed task sits here rightly.
    let mut home = vec![false; n];
    for task in 0..n {
        let Some(wanted) = prepared.fixed_place(task) else { continue };
        let to = index_of[wanted] as usize;
        for &shift in &places.shifts {
            let here = (0..n).position(|k| task_at[k] as usize == task).unwrap_or(to);
            if places.codes[here] >> shift == places.codes[to] >> shift {
                continue;
            }
            let (a, b) = (group(places, here, shift), group(places, to, shift));
            let free = |r: &std::ops::Range<usize>| !home[r.clone()].iter().any(|&h| h);
            if !(free(&a) && free(&b) && alike(places, &a, &b, shift)) {
                break;
            }
            for (x, y) in a.zip(b) {
                task_at.swap(x, y);
            }
        }
        if task_at[to] as usize == task {
            home[to] = true;
        }
    }
    for (k, &task) in task_at.iter().enumerate() {
        position[task as usize] = k as u32;
    }
}

fn group(places: &TreePlaces, k: usize, shift: u32) -> std::ops::Range<usize> {
    let code = places.codes[k] >> shift;
    places.codes.partition_point(|&c| c >> shift < code)
        ..places.codes.partition_point(|&c| c >> shift <= code)
}

/// Equal in size and in how they branch below.
fn alike(
    places: &TreePlaces,
    a: &std::ops::Range<usize>,
    b: &std::ops::Range<usize>,
    shift: u32,
) -> bool {
    let mask = (1u64 << shift) - 1;
    a.len() == b.len()
        && a.clone().zip(b.clone()).all(|(x, y)| places.codes[x] & mask == places.codes[y] & mask)
}

/// Shifts and mirrors slots of a full torus or mesh so that the first fixed task comes home.
/// `slot_of` is the slot of every place.
pub(crate) fn align_grid(
    prepared: &Prepared<'_, '_>,
    machine: &Grid,
    slot_of: &[u32],
    slots: &mut [u32],
) {
    let Some((task, place)) =
        (0..slots.len()).find_map(|t| prepared.fixed_place(t).map(|p| (t, p)))
    else {
        return;
    };
    let wanted = machine.coordinates(slot_of[place] as usize).to_vec();
    let here = machine.coordinates(slots[task] as usize).to_vec();
    for slot in slots {
        let mut point = machine.coordinates(*slot as usize).to_vec();
        for (k, x) in point.iter_mut().enumerate() {
            let length = machine.dims()[k] as u32;
            if machine.wrap()[k] {
                *x = (*x + wanted[k] + length - here[k]) % length;
            } else if wanted[k] == length - 1 - here[k] {
                *x = length - 1 - *x;
            }
        }
        if let Some(moved) = machine.slot_at(&point) {
            *slot = moved as u32;
        }
    }
}
