//! A best cost by other code than the engine's: a plain tabu search.

use rankweave::base::random::SplitMix64;

pub use super::all_placements::Table;

/// Searches of [`tabu`], and the steps of each.
const SEARCHES: u64 = 8;
const STEPS: u64 = 60_000;

/// The cost of a placement; each pair counts once.
pub fn cost(weights: &Table, place_of: &[usize], distance: impl Fn(usize, usize) -> u64) -> u64 {
    let pairs = (0..place_of.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    pairs.map(|(a, b)| weights[a][b] * distance(place_of[a], place_of[b])).sum()
}

/// The least cost of several tabu searches (Taillard 1991), without tables of changes.
pub fn tabu(weights: &Table, distances: &Table) -> u64 {
    let n = weights.len();
    let mut least = u64::MAX;
    for seed in 1..=SEARCHES {
        let random = &mut SplitMix64::new(seed);
        let mut place_of: Vec<usize> = (0..n).collect();
        (1..n).for_each(|k| place_of.swap(k, random.below(k + 1)));
        let mut now = cost(weights, &place_of, |a, b| distances[a][b]) as i64;
        let mut until = vec![vec![0; n]; n];
        for step in 1..=STEPS {
            let mut choice: Option<(i64, usize, usize)> = None;
            for u in 0..n {
                for v in u + 1..n {
                    let (p, q) = (place_of[u], place_of[v]);
                    let others = (0..n).filter(|&k| k != u && k != v);
                    let change = |k: usize| {
                        let way =
                            distances[q][place_of[k]] as i64 - distances[p][place_of[k]] as i64;
                        (weights[u][k] as i64 - weights[v][k] as i64) * way
                    };
                    let delta: i64 = others.map(change).sum();
                    let free = until[u][q] < step || until[v][p] < step;
                    let lower = choice.is_none_or(|(best, ..)| delta < best);
                    if lower && (free || ((now + delta) as u64) < least) {
                        choice = Some((delta, u, v));
                    }
                }
            }
            let Some((delta, u, v)) = choice else { continue };
            until[u][place_of[u]] = step + (9 * n / 10 + random.below(n / 5 + 1)) as u64 + 1;
            until[v][place_of[v]] = step + (9 * n / 10 + random.below(n / 5 + 1)) as u64 + 1;
            place_of.swap(u, v);
            now += delta;
            least = least.min(now as u64);
        }
    }
    least
}
