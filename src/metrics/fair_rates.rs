//! When the last of many flows ends, if all start at once and share links with max-min fair rates.
//!
//! The rates come from progressive filling (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2): all rates grow
//! alike until a link is full, and then the flows of this link keep theirs. They are computed anew whenever a flow has
//! ended. The last flow ends no earlier than the time that the slowest link needs for its bytes. It ends later if this link
//! is idle for a while because its flows wait for others.
//!
//! Limits: no latency, no buffers. Flows that would end within [`TOGETHER`] of the time since the start end together, and links are
//! full together within [`ALIKE`]. These errors add up: with thousands of flows of all sizes on one link, the end was 0.5 % too
//! early, and in random cases 0.1 %. No result is below what the slowest link needs.

/// See the head of this file.
const TOGETHER: f64 = 0.003;

/// Links whose fair share is above the least one by no more than this part are full together with it.
const ALIKE: f64 = 1e-3;

/// How much work a simulation may be.
pub(crate) struct Allowance<'a> {
    /// Links that it may still look at.
    pub looks: u64,
    /// Whether the time is over.
    pub is_over: &'a dyn Fn() -> bool,
}

impl Allowance<'_> {
    /// Takes so many looks. `None` if they are not left, or if the time is over.
    pub(super) fn take(&mut self, looks: u64) -> Option<()> {
        self.looks = self.looks.checked_sub(looks)?;
        (!(self.is_over)()).then_some(())
    }
}

/// Flows with the links that they use.
pub(super) struct SharedLinks {
    /// The bytes of each flow.
    bytes: Vec<f64>,
    /// Where the links of each flow begin in `links`; one more than flows.
    first: Vec<usize>,
    /// A link, and how much of it a byte of the flow takes.
    links: Vec<(u32, f64)>,
}

impl SharedLinks {
    /// Without any flow.
    pub(super) fn new() -> SharedLinks {
        SharedLinks { bytes: Vec::new(), first: vec![0], links: Vec::new() }
    }

    /// Adds a flow. A byte takes the given part of each link; parts of a link that is named twice add up.
    pub(super) fn add(&mut self, bytes: f64, links: impl Iterator<Item = (usize, f64)>) {
        self.bytes.push(bytes);
        self.links.extend(links.map(|(link, part)| (link as u32, part)));
        self.first.push(self.links.len());
    }

    fn links_of(&self, flow: u32) -> &[(u32, f64)] {
        &self.links[self.first[flow as usize]..self.first[flow as usize + 1]]
    }

    /// The flows of each link: where they begin in the list, and the list.
    fn flows_of_links(&self, links: usize) -> (Vec<usize>, Vec<u32>) {
        let mut first = vec![0usize; links + 1];
        self.links.iter().for_each(|&(link, _)| first[link as usize + 1] += 1);
        (0..links).for_each(|link| first[link + 1] += first[link]);
        let (mut next, mut flows) = (first.clone(), vec![0u32; self.links.len()]);
        for flow in 0..self.bytes.len() as u32 {
            for &(link, _) in self.links_of(flow) {
                flows[next[link as usize]] = flow;
                next[link as usize] += 1;
            }
        }
        (first, flows)
    }

    /// Numbers the links that are used from 0, so that the others take no time. Returns their bandwidths.
    fn compact(&mut self, width: &[f64]) -> Vec<f64> {
        const NONE: u32 = u32::MAX;
        let (mut number, mut used) = (vec![NONE; width.len()], Vec::new());
        for (link, _) in &mut self.links {
            let number = &mut number[*link as usize];
            if *number == NONE {
                *number = used.len() as u32;
                used.push(width[*link as usize]);
            }
            *link = *number;
        }
        used
    }

    /// The time at which the last flow ends; infinity as soon as it is known to be above `limit`. `width` has the
    /// bandwidth of each link. Flows without links end at once. `None` if the allowance is used up.
    pub(super) fn last_end(
        mut self,
        width: &[f64],
        limit: f64,
        allowance: &mut Allowance<'_>,
    ) -> Option<f64> {
        let width = self.compact(width);
        let mut filling = Filling::new(&self, &width);
        let mut left = self.bytes.clone();
        let mut going: Vec<u32> = (0..self.bytes.len() as u32)
            .filter(|&flow| left[flow as usize] > 0.0 && !self.links_of(flow).is_empty())
            .collect();
        let (mut now, mut least) = (0.0, 0.0f64);
        while !going.is_empty() {
            // No link ends earlier than what is left on it takes.
            let needed = filling.fill(&going, &left, allowance)?;
            if now + needed > limit {
                return Some(f64::INFINITY);
            }
            if now == 0.0 {
                least = needed;
            }
            let until = |&flow: &u32| left[flow as usize] / filling.rate[flow as usize];
            let step = going.iter().map(until).fold(f64::INFINITY, f64::min);
            now += step;
            // The flow that sets the step ends here, so there is always progress.
            going.retain(|&flow| {
                let (rate, left) = (filling.rate[flow as usize], &mut left[flow as usize]);
                *left -= rate * step;
                *left > TOGETHER * rate * now
            });
        }
        Some(f64::max(now, least))
    }
}

/// The rates of flows, with memory that is used again.
struct Filling<'a> {
    flows: &'a SharedLinks,
    width: &'a [f64],
    /// Where the flows of each link begin in `of_link`.
    first: Vec<usize>,
    of_link: Vec<u32>,
    /// What is free of each link, what its open flows take of it at a rate of 1, and their number.
    room: Vec<f64>,
    wanted: Vec<f64>,
    users: Vec<u32>,
    /// Links with open flows.
    open_links: Vec<u32>,
    /// Whether the rate of a flow still grows.
    open: Vec<bool>,
    rate: Vec<f64>,
    /// How many links were looked at.
    looked: u64,
}

impl<'a> Filling<'a> {
    fn new(flows: &'a SharedLinks, width: &'a [f64]) -> Filling<'a> {
        let (first, of_link) = flows.flows_of_links(width.len());
        let (links, count) = (width.len(), flows.bytes.len());
        Filling {
            flows,
            width,
            first,
            of_link,
            room: vec![0.0; links],
            wanted: vec![0.0; links],
            users: vec![0; links],
            open_links: Vec::new(),
            open: vec![false; count],
            rate: vec![0.0; count],
            looked: 0,
        }
    }

    /// Computes the rates of the flows `going`. Returns the longest time that a link needs for what is `left` of them.
    fn fill(&mut self, going: &[u32], left: &[f64], allowance: &mut Allowance<'_>) -> Option<f64> {
        let needed = self.begin(going, left);
        let mut closed = 0;
        while closed < going.len() {
            let mut fair = f64::INFINITY;
            for &link in &self.open_links {
                fair = fair.min(self.room[link as usize] / self.wanted[link as usize]);
            }
            self.looked += 2 * self.open_links.len() as u64;
            allowance.take(std::mem::take(&mut self.looked))?;
            let before = closed;
            for k in 0..self.open_links.len() {
                let link = self.open_links[k] as usize;
                if self.users[link] > 0
                    && self.room[link] <= fair * self.wanted[link] * (1.0 + ALIKE)
                {
                    closed += self.close(link, fair);
                }
            }
            self.open_links.retain(|&link| self.users[link as usize] > 0);
            if closed == before {
                // Rounding left no link that is full. The other flows get what all links allow.
                for &flow in going.iter().filter(|&&flow| self.open[flow as usize]) {
                    self.rate[flow as usize] = fair;
                }
                break;
            }
        }
        Some(needed)
    }

    /// Opens the flows. Returns the longest time that a link needs.
    fn begin(&mut self, going: &[u32], left: &[f64]) -> f64 {
        self.wanted.fill(0.0);
        self.users.fill(0);
        self.room.fill(0.0);
        for &flow in going {
            self.open[flow as usize] = true;
            // Once here, and once when the flow is closed.
            self.looked += 2 * self.flows.links_of(flow).len() as u64;
            for &(link, part) in self.flows.links_of(flow) {
                self.users[link as usize] += 1;
                self.wanted[link as usize] += part;
                self.room[link as usize] += part * left[flow as usize];
            }
        }
        self.open_links.clear();
        self.looked += self.width.len() as u64;
        let mut needed = 0.0f64;
        for link in (0..self.width.len()).filter(|&link| self.users[link] > 0) {
            self.open_links.push(link as u32);
            needed = needed.max(self.room[link] / self.width[link]);
            self.room[link] = self.width[link];
        }
        needed
    }

    /// Gives the open flows of a full link their rate. Returns their number.
    fn close(&mut self, link: usize, rate: f64) -> usize {
        let mut closed = 0;
        for k in self.first[link]..self.first[link + 1] {
            let flow = self.of_link[k];
            if !std::mem::replace(&mut self.open[flow as usize], false) {
                continue;
            }
            closed += 1;
            self.rate[flow as usize] = rate;
            for &(link, part) in self.flows.links_of(flow) {
                let link = link as usize;
                self.room[link] = (self.room[link] - rate * part).max(0.0);
                self.wanted[link] -= part;
                self.users[link] -= 1;
            }
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allowance(looks: u64) -> Allowance<'static> {
        Allowance { looks, is_over: &|| false }
    }

    fn end(width: &[f64], flows: &[(f64, &[usize])]) -> f64 {
        let mut shared = SharedLinks::new();
        flows.iter().for_each(|(bytes, links)| shared.add(*bytes, links.iter().map(|&l| (l, 1.0))));
        shared.last_end(width, f64::INFINITY, &mut allowance(u64::MAX)).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn flows_share_a_link() {
        assert!(close(end(&[1.0], &[(100.0, &[0])]), 100.0));
        assert!(close(end(&[2.0], &[(100.0, &[0]), (100.0, &[0])]), 100.0));
        // Both have a rate of 0.5 until the small one ends.
        assert!(close(end(&[1.0], &[(50.0, &[0]), (150.0, &[0])]), 200.0));
        assert!(close(end(&[], &[]), 0.0));
        assert!(close(end(&[1.0], &[(5.0, &[]), (0.0, &[0])]), 0.0));
    }

    /// Three flows over link 0, two of them also over the narrow link 1: these get 1/4 each, the third gets 1/2.
    #[test]
    fn what_a_narrow_link_leaves_goes_to_others() {
        let flows: [(f64, &[usize]); 3] = [(100.0, &[0, 1]), (100.0, &[0, 1]), (100.0, &[0])];
        assert!(close(end(&[1.0, 0.5], &flows), 400.0));
        let alone: [(f64, &[usize]); 3] = [(0.0, &[0, 1]), (50.0, &[0, 1]), (100.0, &[0])];
        assert!(close(end(&[1.0, 0.5], &alone), 150.0));
    }

    /// Each link has 200 bytes, but the middle one is idle for a third of the first 150 units of time, because its two
    /// flows wait at the other links.
    #[test]
    fn flows_over_two_busy_links_end_late() {
        let flows: [(f64, &[usize]); 6] = [
            (100.0, &[0, 1]),
            (50.0, &[0]),
            (50.0, &[0]),
            (100.0, &[1, 2]),
            (50.0, &[2]),
            (50.0, &[2]),
        ];
        assert!(close(end(&[1.0, 1.0, 1.0], &flows), 250.0));
    }

    #[test]
    fn parts_of_links_and_limits_count() {
        let last = |limit, looks| {
            let mut shared = SharedLinks::new();
            shared.add(100.0, [(7, 0.5), (3, 0.5), (7, 0.5)].into_iter());
            shared.last_end(&[1.0; 8], limit, &mut allowance(looks))
        };
        assert!(close(last(f64::INFINITY, 1000).unwrap(), 100.0));
        assert!(close(last(100.0, 1000).unwrap(), 100.0));
        assert!(last(99.0, 1000).unwrap().is_infinite());
        assert_eq!(last(100.0, 3), None);
        let mut over = Allowance { looks: 1000, is_over: &|| true };
        let mut shared = SharedLinks::new();
        shared.add(100.0, [(0, 1.0)].into_iter());
        assert_eq!(shared.last_end(&[1.0], 100.0, &mut over), None);
    }

    /// Flows of many sizes on one link: they end one after another, and the sum of their bytes is exact.
    #[test]
    fn a_busy_link_is_never_too_early() {
        let flows: Vec<(f64, &[usize])> = (1..1000).map(|k| (f64::from(k), &[0][..])).collect();
        assert!(end(&[1.0], &flows) >= 499_500.0);
    }

    /// The end from rates that are found in small steps of water filling, one flow after the other.
    fn by_definition(width: &[f64], flows: &[(f64, Vec<usize>)]) -> f64 {
        let mut left: Vec<f64> = flows.iter().map(|flow| flow.0).collect();
        let mut now = 0.0;
        while left.iter().any(|&l| l > 1e-9) {
            let mut rate = vec![f64::NAN; flows.len()];
            let going = |k: usize, left: &[f64]| left[k] > 1e-9;
            loop {
                let share = |link: usize, rate: &[f64]| {
                    let (mut room, mut users) = (width[link], 0);
                    for (k, flow) in flows.iter().enumerate() {
                        if going(k, &left) && flow.1.contains(&link) {
                            match rate[k].is_nan() {
                                true => users += 1,
                                false => room -= rate[k],
                            }
                        }
                    }
                    (users > 0).then(|| room.max(0.0) / f64::from(users))
                };
                let shares: Vec<_> =
                    (0..width.len()).filter_map(|l| Some((share(l, &rate)?, l))).collect();
                let Some(&(fair, link)) = shares.iter().min_by(|a, b| a.0.total_cmp(&b.0)) else {
                    break;
                };
                for (k, flow) in flows.iter().enumerate() {
                    if going(k, &left) && flow.1.contains(&link) && rate[k].is_nan() {
                        rate[k] = fair;
                    }
                }
            }
            let step = (0..flows.len())
                .filter(|&k| going(k, &left))
                .map(|k| left[k] / rate[k])
                .fold(f64::INFINITY, f64::min);
            now += step;
            for k in 0..flows.len() {
                if going(k, &left) {
                    left[k] -= rate[k] * step;
                }
            }
        }
        now
    }

    proptest! {
        #[test]
        fn it_ends_when_the_definition_says(
            widths in prop::collection::vec(1u32..5, 1..6),
            raw in prop::collection::vec((1u32..100, prop::collection::btree_set(0usize..6, 1..4)), 1..12))
        {
            let width: Vec<f64> = widths.iter().map(|&w| f64::from(w)).collect();
            let flows: Vec<(f64, Vec<usize>)> = raw
                .iter()
                .map(|(bytes, links)| {
                    let links: std::collections::BTreeSet<usize> = links.iter().map(|l| l % width.len()).collect();
                    (f64::from(*bytes), links.into_iter().collect())
                })
                .collect();
            let wanted = by_definition(&width, &flows);
            let slices: Vec<(f64, &[usize])> = flows.iter().map(|(b, l)| (*b, l.as_slice())).collect();
            let found = end(&width, &slices);
            prop_assert!(found <= wanted * 1.01, "{} {}", found, wanted);
            prop_assert!(found >= wanted * 0.99, "{} {}", found, wanted);
            // No link can be faster than its bytes.
            for (link, width) in width.iter().enumerate() {
                let load: f64 = flows.iter().filter(|f| f.1.contains(&link)).map(|f| f.0).sum();
                prop_assert!(found >= load / width * (1.0 - 1e-9));
            }
        }
    }
}
