//! Which places are near a place. Local search moves tasks to such places.

use crate::mapping::engine::{Distance, Rng, TreePlaces, ask_for, seeded};
use crate::topology::Network;
use std::sync::OnceLock;

/// The places near a given place, with this place itself.
pub(crate) trait Near {
    /// A random place near `p`, the nearer the likelier.
    fn pick(&self, p: u32, rng: &mut Rng) -> u32;

    /// The nearest places, at most a few dozen.
    fn nearest(&self, p: u32) -> &[u32];

    /// Tells the processor to load what [`Near::nearest`] reads for a place.
    fn ask_for(&self, _: u32) {}

    /// The lists, if the near places are in lists.
    fn lists(&self) -> Option<&ListNear> {
        None
    }

    /// True if all places of one [`Near::nearest`] are at the same distance from any place outside.
    fn alike(&self) -> bool {
        false
    }
}

/// Groups of a tree: places are near each other if they share a group.
pub(crate) struct TreeNear<'a> {
    places: &'a TreePlaces,
    /// The ranges of the deepest level with a group larger than one place.
    lowest: Ranges,
    /// Levels up to this one, from the deepest one on.
    deepest: usize,
    /// The ranges of all other levels with such a group, the deepest first. They are made when they are first needed.
    upper: OnceLock<Vec<Ranges>>,
}

/// The range of a place's group in the order of the places, by place.
type Ranges = Vec<(u32, u32)>;

impl<'a> TreeNear<'a> {
    /// Candidates that [`Near::nearest`] lists at most.
    const WINDOW: u32 = 32;

    pub(crate) fn new(places: &'a TreePlaces) -> Self {
        let n = places.order.len();
        let mut levels = places.shifts.iter().rev().enumerate();
        let found = levels.find_map(|(k, &shift)| Some((k + 1, ranges(places, shift)?)));
        let (deepest, lowest) = found.unwrap_or_else(|| (0, vec![(0, n as u32); n]));
        TreeNear { places, lowest, deepest, upper: OnceLock::new() }
    }

    fn upper(&self) -> &[Ranges] {
        self.upper.get_or_init(|| {
            let levels = self.places.shifts.iter().rev().skip(self.deepest);
            levels.filter_map(|&shift| ranges(self.places, shift)).collect()
        })
    }
}

/// The ranges of the groups of one level. `None` if all groups are single places.
fn ranges(places: &TreePlaces, shift: u32) -> Option<Ranges> {
    let n = places.order.len();
    let codes = &places.codes;
    if codes.windows(2).all(|pair| pair[0] >> shift != pair[1] >> shift) {
        return None;
    }
    let mut ranges = vec![(0u32, 0u32); n];
    let mut lo = 0;
    for k in 1..=n {
        if k == n || codes[k] >> shift != codes[lo] >> shift {
            for &place in &places.order[lo..k] {
                ranges[place as usize] = (lo as u32, k as u32);
            }
            lo = k;
        }
    }
    Some(ranges)
}

impl Near for TreeNear<'_> {
    #[inline(always)]
    fn ask_for(&self, p: u32) {
        ask_for(&self.lowest[p as usize..]);
    }

    fn alike(&self) -> bool {
        true
    }

    #[inline(always)]
    fn pick(&self, p: u32, rng: &mut Rng) -> u32 {
        let (upper, coin) = (self.upper(), rng.next_u64());
        let ranges = match !upper.is_empty() && coin & 3 == 0 {
            true => &upper[(coin >> 2) as usize % upper.len()],
            false => &self.lowest,
        };
        let (lo, hi) = ranges[p as usize];
        self.places.order[lo as usize + rng.below((hi - lo) as usize)]
    }

    #[inline(always)]
    fn nearest(&self, p: u32) -> &[u32] {
        let (lo, hi) = self.lowest[p as usize];
        let own = hi - lo;
        if own <= Self::WINDOW {
            return &self.places.order[lo as usize..hi as usize];
        }
        let start = lo + (p % (own - Self::WINDOW));
        &self.places.order[start as usize..(start + Self::WINDOW) as usize]
    }
}

/// Explicit lists of the nearest places, nearest first.
pub(crate) struct ListNear {
    list: Vec<u32>,
    width: usize,
}

impl ListNear {
    /// From `width` near places for each place, one row after the other.
    pub(crate) fn of(list: Vec<u32>, width: usize) -> Self {
        ListNear { list, width }
    }

    /// Scans all pairs: for up to a few thousand places.
    pub(crate) fn scan<D: Distance>(d: &D, places: usize, width: usize) -> Self {
        let width = width.min(places).max(1);
        let mut list = Vec::with_capacity(places * width);
        let mut row: Vec<(i64, u32)> = Vec::with_capacity(places);
        for p in 0..places as u32 {
            row.clear();
            row.extend((0..places as u32).map(|q| (d.between(p, q), q)));
            if width < places {
                row.select_nth_unstable(width - 1);
            }
            let nearest = &mut row[..width];
            nearest.sort_unstable();
            list.extend(nearest.iter().map(|&(_, q)| q));
        }
        ListNear { list, width }
    }

    /// As [`ListNear::scan`] with a sample of `tries` places for each, half of them with numbers close to
    /// its own: for any number of places where there is no network to search.
    pub(crate) fn sample<D: Distance>(d: &D, places: usize, width: usize, tries: usize) -> Self {
        let width = width.min(places).max(1);
        let mut list = Vec::with_capacity(places * width);
        let mut row: Vec<(i64, u32)> = Vec::with_capacity(tries + 1);
        let mut rng = seeded(places as u64);
        let half = tries / 2;
        for p in 0..places {
            row.clear();
            let low = p.saturating_sub(half / 2).min(places.saturating_sub(half.max(width)));
            row.extend((low..(low + half.max(width)).min(places)).map(|q| (0, q as u32)));
            row.extend((0..half).map(|_| (0, rng.below(places) as u32)));
            row.iter_mut().for_each(|(far, q)| *far = d.between(p as u32, *q));
            row.sort_unstable();
            row.dedup();
            list.extend(row[..width].iter().map(|&(_, q)| q));
        }
        ListNear { list, width }
    }

    /// Searches the network around every place: for any number of places. `slots` is the slot of
    /// every place.
    pub(crate) fn search(network: &dyn Network, slots: &[u32], width: usize) -> Self {
        /// Vertices looked at before a list is filled up with what was found.
        const REACH: usize = 400;
        let width = width.min(slots.len()).max(1);
        let mut place_at = vec![u32::MAX; network.vertices()];
        for (place, &slot) in slots.iter().enumerate() {
            place_at[slot as usize] = place as u32;
        }
        let mut seen = vec![u32::MAX; network.vertices()];
        let mut list = Vec::with_capacity(slots.len() * width);
        let mut queue: Vec<usize> = Vec::new();
        for (p, &slot) in slots.iter().enumerate() {
            let start = list.len();
            list.push(p as u32);
            queue.clear();
            queue.push(slot as usize);
            seen[slot as usize] = p as u32;
            let mut next = 0;
            while next < queue.len() && queue.len() < REACH && list.len() - start < width {
                let vertex = queue[next];
                next += 1;
                network.neighbours(vertex, &mut |other, _| {
                    if std::mem::replace(&mut seen[other], p as u32) != p as u32 {
                        queue.push(other);
                        let place = place_at[other];
                        if place != u32::MAX && list.len() - start < width {
                            list.push(place);
                        }
                    }
                });
            }
            let found = list.len() - start;
            (found..width).for_each(|k| list.push(list[start + k % found]));
        }
        ListNear { list, width }
    }
}

impl Near for ListNear {
    fn lists(&self) -> Option<&ListNear> {
        Some(self)
    }

    #[inline(always)]
    fn ask_for(&self, p: u32) {
        ask_for(&self.list[p as usize * self.width..]);
    }

    #[inline(always)]
    fn pick(&self, p: u32, rng: &mut Rng) -> u32 {
        let start = p as usize * self.width;
        self.list[start + rng.below(self.width)]
    }

    #[inline(always)]
    fn nearest(&self, p: u32) -> &[u32] {
        let start = p as usize * self.width;
        &self.list[start..start + self.width]
    }
}
