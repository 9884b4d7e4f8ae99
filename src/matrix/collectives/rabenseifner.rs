//! Rabenseifner's reductions ("Optimization of collective reduction operations", 2004): halve the
//! vector in each round until everybody holds the sum of one part, then collect the parts.
//!
//! Implementations differ in how they cut the vector and in how they fold a number of tasks that is
//! no power of two, so both are parameters.

use super::member::{Folding, Member, Part};
use super::ring::Pieces;
use super::vector::Vector;
use super::{Visit, linear};

/// The vector as a range of units that is halved.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// Single elements of this many bytes: halves differ by one element at most.
    Elements { count: u64, element: u64 },
    /// One piece per staying task.
    Pieces(Pieces, u32),
}

impl Cut {
    fn units(self) -> u64 {
        match self {
            Cut::Elements { count, .. } => count,
            Cut::Pieces(_, pieces) => u64::from(pieces),
        }
    }

    fn bytes(self, range: Range) -> u64 {
        match self {
            Cut::Elements { element, .. } => (range.end - range.start) * element,
            Cut::Pieces(pieces, _) => {
                (range.start..range.end).map(|i| pieces.bytes(i as u32)).sum()
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Range {
    start: u64,
    end: u64,
}

/// What task `number` keeps in each round, beginning with everything; nearest partner first.
struct Halving {
    kept: [Range; 33],
    rounds: usize,
}

impl Halving {
    fn new(number: u32, staying: u32, cut: Cut) -> Self {
        let rounds = staying.ilog2() as usize;
        let mut kept = [Range::default(); 33];
        kept[0] = Range { start: 0, end: cut.units() };
        for round in 0..rounds {
            let Range { start, end } = kept[round];
            let middle = start + (end - start) / 2;
            kept[round + 1] = if number >> round & 1 == 0 {
                Range { start, end: middle }
            } else {
                Range { start: middle, end }
            };
        }
        Halving { kept, rounds }
    }

    /// What is given away in `round`: the half that is not kept.
    fn given(&self, round: usize) -> Range {
        let (all, kept) = (self.kept[round], self.kept[round + 1]);
        if kept.start == all.start {
            Range { start: kept.end, end: all.end }
        } else {
            Range { start: all.start, end: kept.start }
        }
    }
}

/// How a number of tasks that is no power of two is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// The even rank of a pair hands over the whole vector.
    WholeToOdd,
    /// The odd rank of a pair hands over the whole vector.
    WholeToEven,
    /// The pair splits the work: halves are exchanged, then the odd one hands over its sum.
    Halves,
}

fn fold(me: Member, kind: Fold, vector: Vector, visit: &mut Visit) -> (Folding, Option<u32>) {
    let folding = match kind {
        Fold::WholeToOdd => Folding::odd(me.size),
        Fold::WholeToEven | Fold::Halves => Folding::even(me.size),
    };
    let Vector { bytes, element } = vector;
    let first_half = bytes / element / 2 * element;
    let number = match folding.part(me.rank) {
        Part::Waits(partner) => {
            match kind {
                Fold::WholeToOdd | Fold::WholeToEven => visit(partner, bytes, 1),
                // The first half to be summed there, then the summed second half.
                Fold::Halves => visit(partner, bytes, 2),
            }
            None
        }
        Part::Stays(number) => Some(number),
        Part::StaysFor(number, waiting) => {
            if kind == Fold::Halves {
                visit(waiting, bytes - first_half, 1);
            }
            Some(number)
        }
    };
    (folding, number)
}

/// Allreduce: halving, then the same exchanges backwards.
pub(super) fn allreduce(me: Member, kind: Fold, cut: Cut, vector: Vector, visit: &mut Visit) {
    let (folding, number) = fold(me, kind, vector, visit);
    let Some(number) = number else { return };
    let halving = Halving::new(number, folding.staying, cut);
    for round in 0..halving.rounds {
        let peer = folding.rank(number ^ 1 << round);
        let both = cut.bytes(halving.given(round)) + cut.bytes(halving.kept[round + 1]);
        visit(peer, both, 2);
    }
    if let Part::StaysFor(_, waiting) = folding.part(me.rank) {
        visit(waiting, vector.bytes, 1);
    }
}

/// Reduce: halving, then a binomial gather towards `root`. A waiting root takes the place of task 0,
/// which hands it its part.
pub(super) fn reduce(
    me: Member,
    root: u32,
    kind: Fold,
    cut: Cut,
    vector: Vector,
    visit: &mut Visit,
) {
    let (folding, number) = fold(me, kind, vector, visit);
    let waiting_root = matches!(folding.part(root), Part::Waits(_));
    let root_number = match folding.part(root) {
        Part::Waits(_) => 0,
        Part::Stays(number) | Part::StaysFor(number, _) => number,
    };
    if let Some(number) = number {
        let halving = Halving::new(number, folding.staying, cut);
        for round in 0..halving.rounds {
            visit(folding.rank(number ^ 1 << round), cut.bytes(halving.given(round)), 1);
        }
        if waiting_root && number == 0 {
            return visit(root, cut.bytes(halving.kept[halving.rounds]), 1);
        }
        for round in (0..halving.rounds).rev() {
            let peer = number ^ 1 << round;
            // The peer's side of this round has the root: everything collected so far goes there.
            if peer >> round == root_number >> round {
                let to = if waiting_root && peer == 0 { root } else { folding.rank(peer) };
                return visit(to, cut.bytes(halving.kept[round + 1]), 1);
            }
        }
    }
}

/// Whether the vector has fewer elements than there are staying tasks; implementations then take
/// something simpler.
pub(super) fn too_short(me: Member, count: u64) -> bool {
    count < u64::from(super::member::power_of_two_within(me.size))
}

/// Linear allreduce: everybody to rank 0 and back.
pub(super) fn allreduce_linear(me: Member, bytes: u64, visit: &mut Visit) {
    linear::fan_in(me, 0, bytes, visit);
    linear::fan_out(me, 0, &|_| bytes, visit);
}
