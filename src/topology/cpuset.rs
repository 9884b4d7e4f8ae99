//! Sets of processing units (PUs), by the index that the operating system gives them.
//!
//! Three spellings are read: the words of an affinity mask (`sched_getaffinity`), hwloc's bitmap
//! strings and Linux' lists. Indices above [`CpuSet::MAX_PU`] are refused, so that a damaged file
//! cannot ask for gigabytes.

use std::fmt;

/// A set of PUs by OS index, one bit each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Bit `i % 64` of word `i / 64`; the last word is never zero.
    words: Vec<u64>,
}

impl CpuSet {
    /// Largest index that a set can hold (Linux is built for at most 8192 CPUs today).
    pub const MAX_PU: usize = (1 << 20) - 1;

    /// The set without members.
    pub fn new() -> Self {
        CpuSet::default()
    }

    /// From an affinity mask as `sched_getaffinity` fills it: bit `i % 64` of word `i / 64`.
    ///
    /// Words beyond [`CpuSet::MAX_PU`] are ignored.
    pub fn from_words(words: &[u64]) -> Self {
        let kept = words.len().min((CpuSet::MAX_PU + 1) / 64);
        let mut set = CpuSet { words: words[..kept].to_vec() };
        set.trim();
        set
    }

    /// From hwloc's bitmap string: 32-bit hexadecimal words, the highest first, such as
    /// `0x0000000f,0xffffffff`; words of zeros may be left empty (`0xf,,0x1`).
    ///
    /// Of an infinite set (`0xf...f,0x…`), only the finite words are taken. `None` if the text is not
    /// such a string.
    pub fn from_hwloc(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let text = match text.strip_prefix("0xf...f") {
            Some("") => return Some(CpuSet::new()),
            Some(rest) => rest.strip_prefix(',')?,
            None => text,
        };
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > (CpuSet::MAX_PU + 1) / 32 {
            return None;
        }
        let mut set = CpuSet { words: vec![0; parts.len().div_ceil(2)] };
        for (k, part) in parts.iter().rev().enumerate() {
            let digits = part.strip_prefix("0x").or(part.strip_prefix("0X")).unwrap_or(part);
            let word =
                if part.is_empty() { 0 } else { u64::from(u32::from_str_radix(digits, 16).ok()?) };
            set.words[k / 2] |= word << (32 * (k % 2));
        }
        set.trim();
        Some(set)
    }

    /// From Linux' list: `0-3,8,10-15`, with an optional stride `0-15:2/8` (groups of 8, of each
    /// the first 2). White space around the list and an empty list are accepted. `None` if the text is
    /// not such a list.
    pub fn from_list(text: &str) -> Option<Self> {
        let mut set = CpuSet::new();
        let text = text.trim();
        if text.is_empty() {
            return Some(set);
        }
        for part in text.split(',') {
            let (range, stride) = match part.split_once(':') {
                Some((range, stride)) => (range, Some(stride)),
                None => (part, None),
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (usize, usize) =
                (first.trim().parse().ok()?, last.trim().parse().ok()?);
            let (used, group) = match stride {
                Some(stride) => {
                    let (used, group) = stride.split_once('/')?;
                    (used.parse().ok()?, group.parse().ok()?)
                }
                None => (1usize, 1usize),
            };
            if first > last || last > CpuSet::MAX_PU || used > group || group == 0 {
                return None;
            }
            match used == group {
                true => set.insert_range(first, last),
                false => (first..=last)
                    .filter(|pu| (pu - first) % group < used)
                    .for_each(|pu| set.insert(pu)),
            }
        }
        Some(set)
    }

    /// Adds a PU; one above [`CpuSet::MAX_PU`] is ignored.
    pub fn insert(&mut self, pu: usize) {
        if pu > CpuSet::MAX_PU {
            return;
        }
        if self.words.len() <= pu / 64 {
            self.words.resize(pu / 64 + 1, 0);
        }
        self.words[pu / 64] |= 1 << (pu % 64);
    }

    /// Adds the PUs from `first` to `last`, which are at most [`CpuSet::MAX_PU`]: a word at a time, because a
    /// damaged file may list millions.
    fn insert_range(&mut self, first: usize, last: usize) {
        if self.words.len() <= last / 64 {
            self.words.resize(last / 64 + 1, 0);
        }
        for k in first / 64..=last / 64 {
            let low = if k == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
            let high = if k == last / 64 { u64::MAX >> (63 - last % 64) } else { u64::MAX };
            self.words[k] |= low & high;
        }
    }

    /// The PUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b);
        let mut set = CpuSet { words: words.collect() };
        set.trim();
        set
    }

    /// The PUs that are in one of the sets.
    #[must_use]
    pub fn union(&self, other: &CpuSet) -> CpuSet {
        let word = |set: &CpuSet, k: usize| set.words.get(k).copied().unwrap_or(0);
        let words =
            (0..self.words.len().max(other.words.len())).map(|k| word(self, k) | word(other, k));
        CpuSet { words: words.collect() }
    }

    /// Whether it holds `pu`.
    pub fn contains(&self, pu: usize) -> bool {
        self.words.get(pu / 64).is_some_and(|w| w >> (pu % 64) & 1 == 1)
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(k, &word)| {
            std::iter::successors(Some(word), |w| Some(w & w.wrapping_sub(1)))
                .take_while(|&w| w != 0)
                .map(move |w| 64 * k + w.trailing_zeros() as usize)
        })
    }

    /// Drops zero words at the end, so that equal sets are equal values.
    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(pus: I) -> Self {
        let mut set = CpuSet::new();
        pus.into_iter().for_each(|pu| set.insert(pu));
        set
    }
}

/// As a Linux list: `0-3,8`.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = members.next() {
            let mut last = first;
            while members.peek() == Some(&(last + 1)) {
                last += 1;
                members.next();
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members(set: &CpuSet) -> Vec<usize> {
        set.iter().collect()
    }

    #[test]
    fn reads_hwloc_bitmaps() {
        let set = CpuSet::from_hwloc("0x0000000f,0xffffffff").unwrap();
        assert_eq!(members(&set), (0..36).collect::<Vec<_>>());
        assert_eq!(members(&CpuSet::from_hwloc("0x1,,0x80000000").unwrap()), [31, 64]);
        assert!(CpuSet::from_hwloc("0x0").unwrap().is_empty());
        assert_eq!(members(&CpuSet::from_hwloc("0xf...f,0x00000002").unwrap()), [1]);
        for bad in ["", "0xg", "cpu", "0x1ffffffff", "0x1 0x2"] {
            assert!(CpuSet::from_hwloc(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn reads_linux_lists() {
        assert_eq!(members(&CpuSet::from_list("0-3,8\n").unwrap()), [0, 1, 2, 3, 8]);
        assert_eq!(members(&CpuSet::from_list("0-9:2/4").unwrap()), [0, 1, 4, 5, 8, 9]);
        assert!(CpuSet::from_list(" \n").unwrap().is_empty());
        for bad in ["3-1", "x", "1,", "0-99999999999", "4000000", "0-4:1/0"] {
            assert!(CpuSet::from_list(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn reads_affinity_masks() {
        let set = CpuSet::from_words(&[0b1010, 0, 1, 0]);
        assert_eq!(members(&set), [1, 3, 128]);
        assert_eq!(set, [128, 3, 1].into_iter().collect());
        assert!(set.contains(128) && !set.contains(127) && !set.contains(1 << 30));
    }

    proptest! {
        #[test]
        fn lists_round_trip(pus in prop::collection::btree_set(0usize..300, 0..40)) {
            let set: CpuSet = pus.iter().copied().collect();
            prop_assert_eq!(set.len(), pus.len());
            prop_assert_eq!(members(&set), pus.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(CpuSet::from_list(&set.to_string()).unwrap(), set);
        }

        #[test]
        fn unions_and_intersections_have_the_right_members(
            a in prop::collection::btree_set(0usize..300, 0..40),
            b in prop::collection::btree_set(0usize..300, 0..40),
        ) {
            let [x, y]: [CpuSet; 2] = [&a, &b].map(|pus| pus.iter().copied().collect());
            prop_assert_eq!(x.union(&y), (&a | &b).into_iter().collect());
            prop_assert_eq!(x.intersection(&y), (&a & &b).into_iter().collect());
        }
    }
}
