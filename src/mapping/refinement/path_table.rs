//! The links between all pairs of places, for searches that ask for them again and again.
//!
//! To walk over all shortest paths of a torus takes far longer than to read them from a list. Larger machines have no
//! table: it would not fit into the caches, and such searches visit each pair only a few times.

/// The most links that a table holds, 16 bytes each.
const MOST: usize = 1 << 20;

/// The most places of a table.
const MOST_PLACES: usize = 512;

/// For each ordered pair of places, its links with their shares.
pub(super) struct PathTable {
    places: usize,
    first: Vec<u32>,
    links: Vec<(u32, f64)>,
}

impl PathTable {
    /// The table of so many places; `visit` visits the links of a pair, perhaps several times. `None` if it would be too
    /// large.
    pub(super) fn new(
        places: usize,
        visit: impl Fn(u32, u32, &mut dyn FnMut(usize, f64)),
    ) -> Option<PathTable> {
        if places > MOST_PLACES {
            return None;
        }
        let mut table = PathTable { places, first: vec![0], links: Vec::new() };
        let mut own = Vec::new();
        for from in 0..places as u32 {
            for to in 0..places as u32 {
                own.clear();
                visit(from, to, &mut |link, share| own.push((link as u32, share)));
                own.sort_by_key(|&(link, _)| link);
                own.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0.0 };
                    same
                });
                if table.links.len() + own.len() > MOST {
                    return None;
                }
                table.links.extend_from_slice(&own);
                table.first.push(table.links.len() as u32);
            }
        }
        Some(table)
    }

    /// The links of a pair.
    #[inline]
    pub(super) fn of(&self, from: u32, to: u32) -> &[(u32, f64)] {
        let pair = from as usize * self.places + to as usize;
        &self.links[self.first[pair] as usize..self.first[pair + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_what_was_visited() {
        let visit = |from: u32, to: u32, see: &mut dyn FnMut(usize, f64)| {
            (from..to).rev().for_each(|link| see(link as usize, f64::from(to)));
            (from..to).for_each(|link| see(link as usize, 1.0));
        };
        let table = PathTable::new(4, visit).unwrap();
        assert_eq!(table.of(1, 3), [(1, 4.0), (2, 4.0)]);
        assert!(table.of(3, 1).is_empty() && table.of(3, 3).is_empty());
        assert!(PathTable::new(MOST_PLACES + 1, visit).is_none());
        let many =
            |_: u32, _: u32, see: &mut dyn FnMut(usize, f64)| (0..MOST).for_each(|k| see(k, 1.0));
        assert!(PathTable::new(2, many).is_none());
    }
}
