//! Trees over the ranks of a communicator, and the messages along their edges: broadcast, reduction, gather and
//! scatter.
//!
//! All but the in-order binary tree are built over ranks relative to the root.

use super::Visit;
use super::member::{Member, powers_of_two_below};

/// The shape of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    /// The root is the parent of all others.
    Flat,
    /// Each rank is the parent of the next one: a pipeline.
    Chain,
    /// A complete binary tree by levels: node v of level l has the children v + 2^l, v + 2·2^l.
    Binary,
    /// Binomial tree in which v has the children v + 2^k for 2^k > v.
    Binomial,
    /// The k-nomial tree with this base, which is at least 2. The ranks of each subtree are consecutive. With
    /// base b, v has the children v + digit · b^k (0 < digit < b) for all places k below the lowest digit of v
    /// that is not 0.
    KNomial(u32),
}

impl Tree {
    /// The binomial tree in which the ranks of each subtree are consecutive.
    pub const IN_ORDER_BINOMIAL: Tree = Tree::KNomial(2);

    /// The parent of relative rank `v`; `None` for the root.
    pub fn parent(self, v: u32, size: u32) -> Option<u32> {
        if v == 0 || v >= size {
            return None;
        }
        Some(match self {
            Tree::Flat => 0,
            Tree::Chain => v - 1,
            Tree::Binary => {
                // Levels start at 2^l − 1; the parent's level is half as wide.
                let width = 1u32 << (v + 1).ilog2();
                let half = width / 2;
                half - 1 + (v + 1 - width) % half.max(1)
            }
            Tree::Binomial => v - (1 << v.ilog2()),
            Tree::KNomial(radix) => {
                let radix = u64::from(radix);
                let mut place = radix;
                while u64::from(v) % place == 0 {
                    place *= radix;
                }
                (u64::from(v) / place * place) as u32
            }
        })
    }

    /// Calls `visit` with every child of relative rank `v`.
    pub fn children(self, v: u32, size: u32, visit: &mut dyn FnMut(u32)) {
        let mut child = |distance: u64| {
            let child = u64::from(v) + distance;
            if child < u64::from(size) {
                visit(child as u32);
            }
        };
        match self {
            Tree::Flat if v == 0 => (1..u64::from(size)).for_each(child),
            Tree::Flat => {}
            Tree::Chain => child(1),
            Tree::Binary => {
                let width = 1u64 << (u64::from(v) + 1).ilog2();
                child(width);
                child(2 * width);
            }
            Tree::Binomial => {
                powers_of_two_below(size).filter(|&bit| bit > v).map(u64::from).for_each(child);
            }
            Tree::KNomial(radix) => {
                let radix = u64::from(radix);
                let mut place = 1u64;
                while place < u64::from(size) && u64::from(v) % (place * radix) == 0 {
                    (1..radix).for_each(|digit| child(digit * place));
                    place *= radix;
                }
            }
        }
    }
}

impl Tree {
    /// Every parent sends a message of `bytes` to each of its children.
    pub fn down(self, me: Member, root: u32, bytes: u64, visit: &mut Visit) {
        self.children(me.relative(root), me.size, &mut |child| {
            visit(me.absolute(child, root), bytes, 1);
        });
    }

    /// Every rank sends `bytes` in `messages` messages to its parent.
    pub fn up(self, me: Member, root: u32, bytes: u64, messages: u64, visit: &mut Visit) {
        if let Some(parent) = self.parent(me.relative(root), me.size) {
            visit(me.absolute(parent, root), bytes, messages);
        }
    }
}

/// Number of ranks in the subtree of `v` in [`Tree::IN_ORDER_BINOMIAL`].
pub(super) fn in_order_subtree(v: u32, size: u32) -> u32 {
    if v == 0 { size } else { (1 << v.trailing_zeros()).min(size - v) }
}

/// Number of messages for `bytes` in segments of `segment` bytes; 0 means one message.
pub(super) fn segments(bytes: u64, segment: u64) -> u64 {
    if segment == 0 { 1 } else { bytes.div_ceil(segment).max(1) }
}

/// Gather of equal blocks along the in-order binomial tree: every rank sends the blocks of its subtree.
pub(super) fn gather_binomial(me: Member, root: u32, block: u64, visit: &mut Visit) {
    let own = u64::from(in_order_subtree(me.relative(root), me.size));
    Tree::IN_ORDER_BINOMIAL.up(me, root, own * block, 1, visit);
}

/// Scatter of equal blocks along the in-order binomial tree.
pub(super) fn scatter_binomial(me: Member, root: u32, block: u64, visit: &mut Visit) {
    Tree::IN_ORDER_BINOMIAL.children(me.relative(root), me.size, &mut |child| {
        let theirs = u64::from(in_order_subtree(child, me.size));
        visit(me.absolute(child, root), theirs * block, 1);
    });
}

/// Reduction over the binary tree that keeps the order of ranks, for operations that do not commute.
/// The last rank of a range is the root of the range. The first half of its other ranks is one subtree,
/// the second half is the other one. The last rank of all hands the result to `root`.
pub(super) fn reduce_in_order_binary(me: Member, root: u32, bytes: u64, visit: &mut Visit) {
    let (mut first, mut last) = (0, me.size - 1);
    let mut parent = None;
    while me.rank != last {
        parent = Some(last);
        let half = (last - first).div_ceil(2);
        if me.rank < first + half {
            last = first + half - 1;
        } else {
            first += half;
            last -= 1;
        }
    }
    match parent {
        Some(parent) => visit(parent, bytes, 1),
        None if root != me.rank => visit(root, bytes, 1),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREES: [Tree; 7] = [
        Tree::Flat,
        Tree::Chain,
        Tree::Binary,
        Tree::Binomial,
        Tree::IN_ORDER_BINOMIAL,
        Tree::KNomial(4),
        Tree::KNomial(3),
    ];

    #[test]
    fn parents_and_children_agree_and_each_rank_is_reached_once() {
        for tree in TREES {
            for size in 1..80 {
                let mut parents = vec![None; size as usize];
                for v in 0..size {
                    tree.children(v, size, &mut |child| {
                        assert_eq!(parents[child as usize], None, "{tree:?} {size} {child}");
                        assert!(child > v);
                        parents[child as usize] = Some(v);
                    });
                }
                for v in 0..size {
                    assert_eq!(tree.parent(v, size), parents[v as usize], "{tree:?} {size} {v}");
                    assert_eq!(parents[v as usize].is_none(), v == 0);
                }
            }
        }
    }

    #[test]
    fn subtrees_add_up() {
        for size in 1..80 {
            for v in 0..size {
                let mut sum = 1;
                Tree::IN_ORDER_BINOMIAL
                    .children(v, size, &mut |c| sum += in_order_subtree(c, size));
                assert_eq!(sum, in_order_subtree(v, size));
            }
        }
    }

    #[test]
    fn the_in_order_tree_leads_every_rank_to_the_root() {
        for size in 2..40u32 {
            for root in [0, size / 2, size - 1] {
                let next = |rank| {
                    let mut parent = None;
                    let me = Member { rank, size };
                    reduce_in_order_binary(me, root, 1, &mut |p, _, _| parent = Some(p));
                    parent
                };
                let mut messages = 0;
                for rank in 0..size {
                    messages += u32::from(next(rank).is_some());
                    let mut at = rank;
                    let mut steps = 0;
                    // The root may send itself, as an inner node of the tree.
                    while at != size - 1 {
                        at = next(at).unwrap();
                        steps += 1;
                        assert!(steps <= size);
                    }
                }
                assert_eq!(messages, size - u32::from(root == size - 1));
            }
        }
    }
}
