//! The Cartesian skeleton: drops the diagonals of a stencil and keeps its axes.
//!
//! In a strong product of paths and cycles (9- and 27-point stencils), an edge is a diagonal exactly if it has a
//! common neighbour that stands between its ends: it shares more neighbours with an end than the ends share with
//! each other, or its neighbours are more than those of one end and fewer than those of the other. The second
//! case is needed at the border of the grid (Hammack and Imrich, "On Cartesian skeletons of graphs",
//! Ars Math. Contemp. 2009, definition of dispensable edges). Without triangles nothing is dropped.

/// Neighbour lists as sorted rows of one array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Lists {
    pub(super) offsets: Vec<u32>,
    pub(super) targets: Vec<u32>,
}

impl Lists {
    pub(super) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    #[inline]
    pub(super) fn of(&self, v: usize) -> &[u32] {
        &self.targets[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }
}

/// Largest degree that the bit masks hold.
const MAX_DEGREE: usize = 63;

/// The skeleton, or `None` if a degree is too large for a stencil.
pub(super) fn skeleton(lists: &Lists) -> Option<Lists> {
    let n = lists.len();
    if (0..n).any(|v| lists.of(v).len() > MAX_DEGREE) {
        return None;
    }
    // shared[k] for arc k = (v → t): which of v's neighbours (bit i) are neighbours of t; bit 63
    // stands for v itself, bit of t for t itself (closed neighbourhoods).
    let mut shared = vec![0u64; lists.targets.len()];
    let mut bit_of = vec![u8::MAX; n];
    let mut triangles = false;
    for v in 0..n {
        let row = lists.of(v);
        for (i, &t) in row.iter().enumerate() {
            bit_of[t as usize] = i as u8;
        }
        for (i, &t) in row.iter().enumerate() {
            let mut mask = 1u64 << 63 | 1 << i;
            for &x in lists.of(t as usize) {
                let bit = bit_of[x as usize];
                if bit != u8::MAX {
                    mask |= 1 << bit;
                    triangles = true;
                }
            }
            shared[lists.offsets[v] as usize + i] = mask;
        }
        for &t in row {
            bit_of[t as usize] = u8::MAX;
        }
    }
    if !triangles {
        return Some(lists.clone());
    }
    let mask_of = |v: usize, t: u32| -> u64 {
        match lists.of(v).binary_search(&t) {
            Ok(i) => shared[lists.offsets[v] as usize + i],
            Err(_) => 0,
        }
    };
    let grows = |small: u64, large: u64| small != large && small & !large == 0;
    // Whether all neighbours of `a` are neighbours of `b`, which has more.
    let within = |a: usize, b: usize| {
        let (all, more) = (lists.of(a).len(), lists.of(b).len());
        all < more && mask_of(a, b as u32) == 1 << 63 | ((1 << all) - 1)
    };
    let between = |v: usize, z: usize, t: usize| within(v, z) && within(z, t);
    let mut kept = Lists { offsets: vec![0], targets: Vec::new() };
    for v in 0..n {
        for (i, &t) in lists.of(v).iter().enumerate() {
            let ours = shared[lists.offsets[v] as usize + i];
            let theirs = mask_of(t as usize, v as u32);
            let diagonal = lists.of(v).iter().enumerate().any(|(k, &z)| {
                z != t
                    && ours >> k & 1 == 1
                    && (grows(ours, shared[lists.offsets[v] as usize + k])
                        || between(v, z as usize, t as usize))
                    && (grows(theirs, mask_of(t as usize, z)) || between(t as usize, z as usize, v))
            });
            if !diagonal {
                kept.targets.push(t);
            }
        }
        kept.offsets.push(kept.targets.len() as u32);
    }
    Some(kept)
}
