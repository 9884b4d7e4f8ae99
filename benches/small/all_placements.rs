//! The best of all placements of a few tasks, one after the other. It shares nothing with the engine.

/// A symmetric table by rows.
pub type Table = Vec<Vec<u64>>;

/// The least cost of all placements.
pub fn least(weights: &Table, distances: &Table) -> u64 {
    let mut best = u64::MAX;
    place(weights, distances, &mut (0..weights.len()).collect(), 0, 0, &mut best);
    best
}

fn place(
    weights: &Table,
    distances: &Table,
    slots: &mut Vec<usize>,
    placed: usize,
    cost: u64,
    best: &mut u64,
) {
    if cost >= *best {
        return;
    }
    if placed == slots.len() {
        *best = cost;
        return;
    }
    for k in placed..slots.len() {
        slots.swap(placed, k);
        let slot = slots[placed];
        let more: u64 = (0..placed).map(|t| weights[placed][t] * distances[slot][slots[t]]).sum();
        place(weights, distances, slots, placed + 1, cost + more, best);
        slots.swap(placed, k);
    }
}
