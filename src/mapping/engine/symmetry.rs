//! Uses the machine's symmetry to bring fixed tasks to their places at no cost.
//!
//! Groups of a tree that look alike can be exchanged, a torus can be shifted, and a mesh can be mirrored.
//! The cost stays the same, and a fixed task may come to its place. [`super::Prepared::honour_fixed`]
//! moves the fixed tasks that symmetry does not bring there.

use super::{Prepared, TreePlaces};
use crate::topology::Grid;
use std::ops::Range;

/// The place of each task, from its index `position[v]` in the sorted places, after fixed tasks were brought to their
/// places by exchanges of groups that look alike, as far as possible.
pub(crate) fn places_on_tree(
    prepared: &Prepared<'_, '_>,
    places: &TreePlaces,
    mut position: Vec<u32>,
) -> Vec<u32> {
    align_tree(prepared, places, &mut position);
    position.into_iter().map(|k| places.order[k as usize]).collect()
}

/// Exchanges groups of a tree that look alike until fixed tasks are on their places, as far as possible.
/// `position[v]` is an index into the sorted places; places and tasks are equal in number.
fn align_tree(prepared: &Prepared<'_, '_>, places: &TreePlaces, position: &mut [u32]) {
    if prepared.pinned.is_empty() || position.len() != places.order.len() {
        return;
    }
    let n = position.len();
    let index_of = places.index_of(prepared.problem.places().len());
    let mut task_at = vec![0u32; n];
    for (task, &k) in position.iter().enumerate() {
        task_at[k as usize] = task as u32;
    }
    // home[k]: whether the task at index k is fixed to its place, and has reached it.
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
            let free = |r: &Range<usize>| !home[r.clone()].iter().any(|&h| h);
            if !(free(&a) && free(&b) && places.alike(&a, &b, shift)) {
                break;
            }
            for (x, y) in a.zip(b) {
                task_at.swap(x, y);
            }
        }
        home[to] |= task_at[to] as usize == task;
    }
    for (k, &task) in task_at.iter().enumerate() {
        position[task as usize] = k as u32;
    }
}

/// The group just below `shift` that the place at index `k` is in.
fn group(places: &TreePlaces, k: usize, shift: u32) -> Range<usize> {
    let code = places.codes[k] >> shift;
    places.codes.partition_point(|&c| c >> shift < code)
        ..places.codes.partition_point(|&c| c >> shift <= code)
}

/// Shifts and mirrors slots of a full torus or mesh so that the first fixed task comes to its
/// place.
/// `slot_of` is the slot of every place.
pub(crate) fn align_grid(
    prepared: &Prepared<'_, '_>,
    machine: &Grid,
    slot_of: &[u32],
    slots: &mut [u32],
) {
    let fixed = |task| prepared.fixed_place(task).map(|place| (task, place));
    let Some((task, place)) = (0..slots.len()).find_map(fixed) else { return };
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
