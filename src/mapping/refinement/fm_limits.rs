//! How far two-way refinement may go, and which vertex it moves next.

use crate::mapping::engine::Bisection;

/// How far a run of FM may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FmLimits {
    /// Tasks that side 0 is to have.
    pub(crate) target: i64,
    /// Deviation from the target that an answer may have.
    pub(crate) allowed: i64,
    /// Deviation that states on the way may have beyond that.
    pub(crate) slack: i64,
    /// Moves without a better answer before a pass ends.
    pub(crate) patience: usize,
    /// Passes at most.
    pub(crate) passes: usize,
    /// If the sides are not balanced, all vertices are tried, and not only those at the cut.
    pub(crate) tries_all: bool,
}

impl FmLimits {
    /// How far the deviation of `b` from the target is beyond what an answer may have.
    #[inline]
    pub(super) fn excess(&self, b: &Bisection) -> i64 {
        ((b.size[0] - self.target).abs() - self.allowed).max(0)
    }

    /// The move to make, of the best from either side: from the heavy side when `slack` is used up,
    /// else the better gain.
    #[inline]
    pub(super) fn choose(
        &self,
        b: &Bisection,
        slack: i64,
        best_of: impl Fn(usize) -> Option<(i64, usize)>,
    ) -> Option<(i64, usize)> {
        let deviation = b.size[0] - self.target;
        let bound = self.allowed + slack;
        if deviation >= bound && deviation > 0 {
            return best_of(0);
        }
        if -deviation >= bound && deviation < 0 {
            return best_of(1);
        }
        match (best_of(0), best_of(1)) {
            (Some(x), Some(y)) => {
                let from_zero = if x.0 != y.0 { x.0 > y.0 } else { deviation >= 0 };
                Some(if from_zero { x } else { y })
            }
            (x, y) => x.or(y),
        }
    }
}
