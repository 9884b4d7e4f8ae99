//! Exchanges parts of the busiest rail with parts of other rails.

use super::parts::Part;
use super::rail_node::RailNode;

/// Of the exchanges that help the rails most, so many are compared by what they cost inside the node.
const COMPARED: usize = 8;
/// Parts of another rail that are looked at for each part of the busiest one, on each side of the best load.
const NEAR: usize = 2;

/// An exchange of two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Exchange {
    /// Bytes of the busiest rail after it, and of the busier one of its two rails.
    busiest: u128,
    of_two: u128,
    /// Their numbers.
    parts: [usize; 2],
}

/// A part as it is looked for.
type Key = (usize, usize, u128, usize);

/// Exchanges parts as long as the busiest rail gets less, and keeps the best state. Returns the change of the cost of
/// the node, which is not above 0.
pub(super) fn balance(node: &mut RailNode, parts: &[Part]) -> i128 {
    let mut loads: Vec<[u128; 2]> = parts.iter().map(|part| load(node, part)).collect();
    let even = node.even();
    let (mut change, mut best) = (0i128, 0i128);
    let (mut made, mut kept) = (Vec::new(), 0);
    for _ in 0..parts.len() {
        let before = node.busiest().2;
        if before <= even {
            break;
        }
        let Some(Exchange { parts: [a, b], .. }) = next(node, parts, &loads) else { break };
        let inside = exchange(node, &parts[a], &parts[b]);
        let rails = node.cost_of(before, node.busiest().2);
        change = change.saturating_add(inside).saturating_add(rails);
        loads.swap(a, b);
        made.push([a, b]);
        if change < best {
            (best, kept) = (change, made.len());
        }
    }
    for &[a, b] in made[kept..].iter().rev() {
        exchange(node, &parts[a], &parts[b]);
    }
    best
}

/// The exchange with the lowest cost, among those after which both of its rails have less than the busiest one has
/// now. So either the busiest rail has less afterwards, or one rail less is as busy, and the exchanges come to an end.
fn next(node: &mut RailNode, parts: &[Part], loads: &[[u128; 2]]) -> Option<Exchange> {
    let (busiest, way, most) = node.busiest();
    let mut keys: Vec<Key> = (0..parts.len())
        .map(|k| (parts[k].rail, parts[k].places.len(), loads[k][way], k))
        .collect();
    keys.sort_unstable();
    let others: Vec<usize> = (0..node.rails())
        .filter(|&rail| rail != busiest && node.rail_load(rail).iter().all(|&bytes| bytes < most))
        .collect();
    let without = |pair: [usize; 2]| {
        let rest = (0..node.rails()).filter(|rail| !pair.contains(rail));
        rest.flat_map(|rail| node.rail_load(rail)).max().unwrap_or(0)
    };
    let mut found = Vec::new();
    for &rail in &others {
        let rest = without([busiest, rail]);
        let half = (most - node.rail_load(rail)[way]) / 2;
        for &(of, size, bytes, k) in keys.iter().filter(|key| key.0 == busiest && key.2 > 0) {
            let wanted = (rail, size, bytes.saturating_sub(half), 0);
            let at = keys.partition_point(|key| *key < wanted);
            for key in &keys[at.saturating_sub(NEAR)..(at + NEAR).min(keys.len())] {
                if (key.0, key.1) != (rail, size) {
                    continue;
                }
                let after = |rail: usize, gives: usize, takes: usize, way: usize| {
                    node.rail_load(rail)[way] + loads[takes][way] - loads[gives][way]
                };
                let of_two = (0..2)
                    .map(|way| after(of, k, key.3, way).max(after(rail, key.3, k, way)))
                    .max()
                    .unwrap_or(0);
                if of_two < most {
                    found.push(Exchange { busiest: of_two.max(rest), of_two, parts: [k, key.3] });
                }
            }
        }
    }
    found.sort_unstable();
    found.truncate(COMPARED);
    let cost = |node: &mut RailNode, found: &Exchange| {
        let [a, b] = found.parts.map(|k| &parts[k]);
        let inside = match (&a.places[..], &b.places[..]) {
            (&[p], &[q]) => node.inside_change(p, q),
            _ => {
                let inside = exchange(node, a, b);
                exchange(node, a, b);
                inside
            }
        };
        inside.saturating_add(node.cost_of(most, found.busiest))
    };
    found.into_iter().map(|found| (cost(node, &found), found)).min().map(|(_, found)| found)
}

/// Bytes out and in of the tasks of a part.
fn load(node: &RailNode, part: &Part) -> [u128; 2] {
    part.places.iter().fold([0, 0], |sum, &place| {
        let load = node.load_at(place);
        [sum[0] + load[0], sum[1] + load[1]]
    })
}

/// Exchanges the tasks of two parts with equally many places. Returns the change of the hop-bytes inside the node.
fn exchange(node: &mut RailNode, a: &Part, b: &Part) -> i128 {
    let pairs = a.places.iter().zip(&b.places);
    pairs.fold(0i128, |change, (&p, &q)| change.saturating_add(node.exchange(p, q)))
}
