//! Numbers that are joined to groups, one pair after the other (union-find).

/// Which of the numbers from 0 on are joined.
pub(super) struct Joined {
    /// By number: a number of its group that is nearer to the root, or the number itself. A root is the least of its group.
    above: Vec<u32>,
    /// The number of groups.
    pub(super) count: usize,
}

impl Joined {
    /// The numbers below `n`, each in a group of its own.
    pub(super) fn new(n: usize) -> Self {
        Joined { above: (0..n as u32).collect(), count: n }
    }

    /// The least number of the group of `x`.
    pub(super) fn root(&mut self, mut x: u32) -> u32 {
        while self.above[x as usize] != x {
            self.above[x as usize] = self.above[self.above[x as usize] as usize];
            x = self.above[x as usize];
        }
        x
    }

    /// Makes one group of the groups of `a` and `b`.
    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.above[a.max(b) as usize] = a.min(b);
            self.count -= 1;
        }
    }

    /// The index of the group of every number. The groups are in the order of their least numbers.
    pub(super) fn numbered(&mut self) -> Vec<u32> {
        let mut index = vec![u32::MAX; self.above.len()];
        let mut next = 0;
        (0..self.above.len() as u32)
            .map(|x| {
                let root = self.root(x) as usize;
                if index[root] == u32::MAX {
                    index[root] = next;
                    next += 1;
                }
                index[root]
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_numbered_in_the_order_of_their_least_numbers() {
        let mut joined = Joined::new(6);
        joined.join(5, 1);
        joined.join(4, 2);
        joined.join(1, 5);
        assert_eq!((joined.count, joined.numbered()), (4, vec![0, 1, 2, 3, 2, 1]));
        joined.join(2, 5);
        assert_eq!((joined.count, joined.root(4)), (3, 1));
    }
}
