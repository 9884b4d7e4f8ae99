//! A rank in a communicator and the arithmetic that algorithms do with it.

/// One task of a communicator: `rank < size`, `size >= 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    /// Own rank.
    pub rank: u32,
    /// Number of tasks.
    pub size: u32,
}

impl Member {
    /// The own rank, counted from `root`, which becomes 0.
    pub fn relative(self, root: u32) -> u32 {
        modulo(u64::from(self.rank) + u64::from(self.size) - u64::from(root), self.size)
    }

    /// The rank whose [`Member::relative`] is `relative`.
    pub fn absolute(self, relative: u32, root: u32) -> u32 {
        modulo(u64::from(relative) + u64::from(root), self.size)
    }

    /// The rank `distance` after the own one. After the last rank comes rank 0.
    pub fn ahead(self, distance: u32) -> u32 {
        modulo(u64::from(self.rank) + u64::from(distance), self.size)
    }

    /// The rank `distance` before the own one. Before rank 0 comes the last rank. `distance <= size`.
    pub fn behind(self, distance: u32) -> u32 {
        modulo(u64::from(self.rank) + u64::from(self.size) - u64::from(distance), self.size)
    }
}

fn modulo(value: u64, size: u32) -> u32 {
    (value % u64::from(size)) as u32
}

/// The largest power of two that is not larger than `size`; 1 for 0.
pub(super) fn power_of_two_within(size: u32) -> u32 {
    1 << size.max(1).ilog2()
}

/// The powers of two below `bound`, ascending.
pub(super) fn powers_of_two_below(bound: u32) -> impl DoubleEndedIterator<Item = u32> {
    (0..u32::BITS - bound.saturating_sub(1).leading_zeros()).map(|k| 1 << k)
}

/// Reduces a number of tasks that is no power of two to the largest power of two below it.
///
/// Of `p` tasks, `extra` are too many. The first `2 × extra` ranks form pairs. One rank of each pair sends its
/// data to the other one and waits. The `p − extra` ranks that do not wait are numbered from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folding {
    /// The number of tasks that stay in the algorithm: a power of two.
    pub staying: u32,
    /// The number of tasks that wait.
    pub extra: u32,
    odd_stays: bool,
}

/// What a task does in a [`Folding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Sends its data to this rank and waits for the result.
    Waits(u32),
    /// Takes part with this number, for itself only.
    Stays(u32),
    /// Takes part with the first number, for itself and for the waiting rank, which is the second number.
    StaysFor(u32, u32),
}

impl Folding {
    /// Folding where the odd rank of each pair stays.
    pub fn odd(size: u32) -> Self {
        let staying = power_of_two_within(size);
        Folding { staying, extra: size - staying, odd_stays: true }
    }

    /// Folding where the even rank of each pair stays.
    pub fn even(size: u32) -> Self {
        Folding { odd_stays: false, ..Folding::odd(size) }
    }

    /// What `rank` does.
    pub fn part(self, rank: u32) -> Part {
        if rank / 2 >= self.extra {
            Part::Stays(rank - self.extra)
        } else if (rank % 2 == 1) == self.odd_stays {
            Part::StaysFor(rank / 2, rank ^ 1)
        } else {
            Part::Waits(rank ^ 1)
        }
    }

    /// The rank of the task that takes part with `number`.
    pub fn rank(self, number: u32) -> u32 {
        if number < self.extra {
            2 * number + u32::from(self.odd_stays)
        } else {
            number + self.extra
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_and_absolute_undo_each_other() {
        for size in 1..20 {
            for root in 0..size {
                for rank in 0..size {
                    let me = Member { rank, size };
                    assert_eq!(me.absolute(me.relative(root), root), rank);
                    assert_eq!(Member { rank: me.ahead(3), size }.behind(3 % size), rank);
                }
            }
        }
    }

    #[test]
    fn each_rank_has_one_part_in_a_folding() {
        for size in 1..70 {
            for folding in [Folding::odd(size), Folding::even(size)] {
                let mut numbers = Vec::new();
                let mut waiting = 0;
                for rank in 0..size {
                    match folding.part(rank) {
                        Part::Waits(partner) => {
                            waiting += 1;
                            assert!(
                                matches!(folding.part(partner), Part::StaysFor(_, r) if r == rank)
                            );
                        }
                        Part::Stays(number) | Part::StaysFor(number, _) => {
                            assert_eq!(folding.rank(number), rank);
                            numbers.push(number);
                        }
                    }
                }
                numbers.sort_unstable();
                assert_eq!(numbers, (0..power_of_two_within(size)).collect::<Vec<_>>());
                assert_eq!(waiting, folding.extra);
            }
        }
    }
}
