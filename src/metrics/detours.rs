//! Which pairs of slots send over detours, where a network has detours beside its shortest paths.
//!
//! The rule is that of UGAL (Singh 2005; Kim, Dally, Scott and Abts 2008, section 4): a message takes a detour if the queue
//! on its shortest path times the length of that path is longer than the same product for the detour. The queue of a way
//! is here the time of its slowest link. Links on both ways, as those of the hosts, offer no choice and do not count. A
//! router compares a few detours, drawn at random. So it finds a better one if more than a fifth of all are better.
//!
//! Many messages look one after another, so the shares of a pair on the two kinds of ways settle where neither is better
//! ([`settle`], method of successive averages). The share on detours is spread over all of them.

use crate::topology::Routing;

/// One of so many detours is about the best that a router finds.
const SEEN: usize = 5;

/// Whether a message from slot `from` to slot `to` takes a detour where the links have these `times`.
fn takes_detour(routing: &dyn Routing, times: &[f64], from: usize, to: usize) -> bool {
    let count = routing.detours(from, to);
    if count == 0 {
        return false;
    }
    let (mut short, mut long) = (Vec::new(), Vec::new());
    routing.spread(from, to, &mut |link, _| short.push(link));
    let worth = |way: &[usize], other: &[usize]| {
        let own = way.iter().filter(|link| !other.contains(link));
        let (length, queue) = own.fold((0u32, 0.0f64), |(n, q), &link| (n + 1, q.max(times[link])));
        f64::from(length) * queue
    };
    let mut better = 0;
    for way in 0..count {
        long.clear();
        routing.detour(from, to, way, &mut |link| long.push(link));
        better += usize::from(worth(&long, &short) < worth(&short, &long));
    }
    better > count / SEEN
}

/// Moves the share of each pair on its detours towards the better ways, in round `round` (from 0).
pub(crate) fn settle(
    routing: &dyn Routing,
    times: &[f64],
    pairs: impl Iterator<Item = (usize, usize)>,
    shares: &mut [f64],
    round: u32,
) {
    for ((from, to), share) in pairs.zip(shares) {
        let wanted = f64::from(takes_detour(routing, times, from, to));
        *share += (wanted - *share) / f64::from(round + 2);
    }
}

/// Visits the links of a pair that sends the share `part` of its bytes over detours, with the share of each link.
pub(crate) fn spread(
    routing: &dyn Routing,
    (from, to): (usize, usize),
    part: f64,
    visit: &mut dyn FnMut(usize, f64),
) {
    let count = if part > 0.0 { routing.detours(from, to) } else { 0 };
    for way in 0..count {
        routing.detour(from, to, way, &mut |link| visit(link, part / count as f64));
    }
    let short = if count > 0 { 1.0 - part } else { 1.0 };
    if short > 0.0 {
        routing.spread(from, to, &mut |link, share| visit(link, share * short));
    }
}
