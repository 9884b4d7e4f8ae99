//! Which pairs of slots send over detours, where a network has detours beside its shortest paths.
//!
//! The rule is that of UGAL (Singh 2005; Kim, Dally, Scott and Abts 2008, section 4): a message takes a detour if the
//! queue on its shortest path times the length of that path is longer than the same product for the detour. The queue
//! of a way is here the time of its slowest link. Links on both ways, as those of the hosts, offer no choice and do
//! not count. A router compares a few detours, drawn at random.
//!
//! Messages look one after another, and each finds the loads of those before it. So the bytes of every pair are sent
//! in parts, in turn with those of all other pairs ([`assign`]; incremental assignment, as in the planning of road
//! traffic). Before, all pairs chose at once, from round to round, until neither kind of way was better. That showed
//! which loads are possible. The loads that arise were missed by 5 % on a dragonfly with narrow channels, and are now
//! missed by 2 % (docs/decisions/0114).
//!
//! Limit: which detours are compared follows from the slots of a pair and from the part, so the loads vary with both by
//! about 1 %. They do not depend on the numbers of the tasks.

use crate::base::random::SplitMix64;
use crate::base::sorting::Arrange;
use crate::topology::Routing;

/// Detours that a router compares with the shortest paths.
const COMPARED: usize = 4;

/// Parts of the bytes of each pair: so many that all pairs together have at most [`MOST_PARTS`], within these bounds.
const PARTS: (usize, usize) = (4, 16);
const MOST_PARTS: usize = 400_000;

/// A pair of slots, and the bytes that it sends.
pub(crate) type Flow = (usize, usize, f64);

/// A link, with the share of the bytes that goes over it.
pub(crate) type LinkShare = (usize, f64);

/// What is done with each part: the number of its flow, and its links.
type TakePart<'a> = &'a mut dyn FnMut(usize, &[LinkShare]);

/// The choice of one message, with memory that is used again.
struct Router<'r> {
    routing: &'r dyn Routing,
    short: Vec<usize>,
    long: Vec<usize>,
    best: Vec<usize>,
}

impl Router<'_> {
    /// Puts a detour into `best` if it is better than the shortest paths at these `times`. `draw` says which detours
    /// are compared.
    fn takes_detour(&mut self, times: &[f64], (from, to): (usize, usize), draw: u64) -> bool {
        let count = self.routing.detours(from, to);
        if count == 0 {
            return false;
        }
        let (short, long) = (&mut self.short, &mut self.long);
        short.clear();
        self.routing.spread(from, to, &mut |link, _| short.push(link));
        let compared = count.min(COMPARED);
        let mut least = f64::INFINITY;
        for k in 0..compared {
            let way = ((draw >> 33) as usize % count + k * (count / compared)) % count;
            long.clear();
            self.routing.detour(from, to, way, &mut |link| long.push(link));
            let (found, limit) = (worth(long, short, times), worth(short, long, times));
            if found < limit && found < least {
                least = found;
                std::mem::swap(long, &mut self.best);
            }
        }
        least < f64::INFINITY
    }
}

/// The number of links that only this way has, times the time of the slowest of them.
fn worth(way: &[usize], other: &[usize], times: &[f64]) -> f64 {
    let own = way.iter().filter(|link| !other.contains(link));
    let (length, queue) = own.fold((0u32, 0.0f64), |(n, q), &link| (n + 1, q.max(times[link])));
    f64::from(length) * queue
}

/// The flows of a network, and the loads of those parts that were sent.
struct Sender<'r, W> {
    router: Router<'r>,
    inverse: W,
    flows: &'r [Flow],
    times: &'r mut [f64],
    /// The links of the part that was sent last, with the share of each.
    way: Vec<LinkShare>,
}

impl<'r, W: Fn(usize) -> f64> Sender<'r, W> {
    fn new(
        routing: &'r dyn Routing,
        inverse: W,
        flows: &'r [Flow],
        times: &'r mut [f64],
    ) -> Sender<'r, W> {
        let router = Router { routing, short: Vec::new(), long: Vec::new(), best: Vec::new() };
        Sender { router, inverse, flows, times, way: Vec::new() }
    }

    /// Sends a share of a flow over the way that is best now. `draw` says which detours are compared. Returns whether
    /// it is a detour.
    fn send(&mut self, flow: usize, share: f64, draw: u64) -> bool {
        let (from, to, bytes) = self.flows[flow];
        let detour = self.router.takes_detour(self.times, (from, to), draw);
        let way = &mut self.way;
        way.clear();
        match detour {
            true => way.extend(self.router.best.iter().map(|&link| (link, 1.0))),
            false => self.router.routing.spread(from, to, &mut |link, part| way.push((link, part))),
        }
        for &(link, part) in way.iter() {
            self.times[link] += bytes * share * part * (self.inverse)(link);
        }
        detour
    }
}

/// The flows that send bytes, in the order of their slots, so that the numbers of the tasks do not matter.
fn by_slots(flows: &[Flow]) -> Vec<u32> {
    let mut sending: Vec<u32> =
        (0..flows.len() as u32).filter(|&k| flows[k as usize].2 > 0.0).collect();
    sending.arrange_by(|&a, &b| {
        let slots = |k: u32| (flows[k as usize].0, flows[k as usize].1);
        slots(a).cmp(&slots(b))
    });
    sending
}

/// Sends the bytes of all flows in parts, one after another, each over the way that is best at that moment. Adds them
/// to the `times` of the links, whose unit is that of a byte on a link of bandwidth 1. `inverse` gives 1 over the
/// bandwidth of a link. Returns the share of each flow on detours.
pub(crate) fn assign(
    routing: &dyn Routing,
    inverse: impl Fn(usize) -> f64,
    flows: &[Flow],
    times: &mut [f64],
) -> Vec<f64> {
    let turns = by_slots(flows);
    let count = turns.len();
    let mut shares = vec![0.0; flows.len()];
    let parts = (MOST_PARTS / count.max(1)).clamp(PARTS.0, PARTS.1);
    let stride = stride(count);
    let part_of = 1.0 / parts as f64;
    let mut sender = Sender::new(routing, inverse, flows, times);
    for part in 0..parts {
        // Neighbouring slots are sent far from each other, in every part from another flow on.
        let mut turn = part * count / parts;
        for _ in 0..count {
            turn = (turn + stride) % count;
            let k = turns[turn] as usize;
            if sender.send(k, part_of, draw(flows[k].0, flows[k].1, part)) {
                shares[k] += part_of;
            }
        }
    }
    shares
}

/// As [`assign`], but the parts of all flows come in random order, and a router compares random detours. Calls `take`
/// for each part with the number of its flow and with its links and their shares. All parts of a flow are equal.
pub(crate) fn assign_by_chance(
    (routing, parts): (&dyn Routing, usize),
    inverse: impl Fn(usize) -> f64,
    (flows, times): (&[Flow], &mut [f64]),
    rng: &mut SplitMix64,
    take: TakePart<'_>,
) {
    let turns = by_slots(flows);
    let mut order: Vec<u32> = (0..parts).flat_map(|_| turns.iter().copied()).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, rng.below(k + 1));
    }
    let mut sender = Sender::new(routing, inverse, flows, times);
    for k in order {
        sender.send(k as usize, 1.0 / parts as f64, rng.next_u64());
        take(k as usize, &sender.way);
    }
}

/// A step with which every number below `count` comes once before the first one comes again.
fn stride(count: usize) -> usize {
    let divides_both = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a > 1
    };
    let mut stride = (count * 5 / 8).max(1);
    while divides_both(stride, count) && stride > 1 {
        stride -= 1;
    }
    stride
}

/// A number for a pair in a part.
fn draw(from: usize, to: usize, part: usize) -> u64 {
    let state = (from as u64) << 40 ^ (to as u64) << 16 ^ part as u64;
    SplitMix64::new(state).next_u64()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;
    use proptest::prelude::*;

    proptest! {
        /// Every flow has its turn once in every part.
        #[test]
        fn a_stride_visits_all(count in 1usize..3000) {
            let (step, mut seen, mut k) = (stride(count), vec![false; count], count / 3);
            for _ in 0..count {
                k = (k + step) % count;
                prop_assert!(!std::mem::replace(&mut seen[k], true));
            }
        }

        /// The numbers of the tasks do not matter: the same traffic between the same slots has the same loads.
        #[test]
        fn the_order_of_the_flows_does_not_matter(
            raw in prop::collection::btree_map((0usize..12, 0usize..12), 0u32..1000, 1..40),
            seed in 0usize..1000)
        {
            let topology = parse("dragonfly:3x2x2,routing=adaptive").unwrap();
            let network = topology.network().unwrap();
            let routing = network.routing();
            let mut flows: Vec<Flow> =
                raw.iter().map(|(&(a, b), &bytes)| (a, b, f64::from(bytes))).collect();
            let mut times = vec![vec![0.0; network.links()]; 2];
            assign(routing.as_ref(), |_| 1.0, &flows, &mut times[0]);
            let turned = seed % flows.len();
            flows.rotate_left(turned);
            flows.swap(0, turned);
            let shares = assign(routing.as_ref(), |_| 1.0, &flows, &mut times[1]);
            prop_assert_eq!(&times[0], &times[1]);
            // What sends no bytes has no share.
            prop_assert!(flows.iter().zip(shares).all(|(flow, share)| flow.2 > 0.0 || share == 0.0));
        }

        /// All bytes of all flows arrive: the links of the hosts carry what the flows send.
        #[test]
        fn nothing_is_lost(
            raw in prop::collection::vec((0usize..12, 0usize..12, 1u32..1000), 1..40))
        {
            let topology = parse("dragonfly:3x2x2,routing=adaptive").unwrap();
            let network = topology.network().unwrap();
            let routing = network.routing();
            let flows: Vec<Flow> = raw
                .iter()
                .filter(|(a, b, _)| a != b)
                .map(|&(a, b, bytes)| (a, b, f64::from(bytes)))
                .collect();
            let mut times = vec![0.0; network.links()];
            let shares = assign(routing.as_ref(), |link| 1.0 / network.bandwidth(link), &flows, &mut times);
            prop_assert!(shares.iter().all(|share| (0.0..=1.0 + 1e-9).contains(share)));
            for slot in 0..12 {
                let sent: f64 = flows.iter().filter(|flow| flow.0 == slot).map(|flow| flow.2).sum();
                let mut out = 0.0;
                let mut of_slot = vec![false; network.links()];
                for &(from, to, _) in flows.iter().filter(|flow| flow.0 == slot) {
                    let mut first = None;
                    network.route(from, to, &mut |link| { first.get_or_insert(link); });
                    if let Some(link) = first && !std::mem::replace(&mut of_slot[link], true) {
                        out += times[link] * network.bandwidth(link);
                    }
                }
                prop_assert!((out - sent).abs() <= 1e-6 * sent.max(1.0), "{} {}", out, sent);
            }
        }
    }
}
