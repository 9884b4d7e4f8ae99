//! Rabenseifner's reductions ("Optimization of collective reduction operations", 2004): the vector is
//! halved in each round until each task holds the sum of one part. Then the parts are collected.
//!
//! MPI libraries differ in how they fold a number of tasks that is no power of two, and in how they cut
//! the vector. Both follow from [`Fold`].

use super::member::{Folding, Member, Part, power_of_two_within};
use super::ring::Pieces;
use super::vector::Vector;
use super::{Visit, linear};

#[derive(Debug, Clone, Copy, Default)]
struct Range {
    start: u64,
    end: u64,
}

/// The range of units of the vector that a task keeps in each round. It begins with all units; the
/// nearest partner comes first.
struct Halving {
    kept: [Range; 33],
    rounds: usize,
    element: u64,
    /// The units are these pieces. With `None`, each element is a unit.
    pieces: Option<Pieces>,
}

impl Halving {
    /// The rounds of the task that takes part with `number`.
    fn new(number: u32, staying: u32, kind: Fold, vector: Vector) -> Self {
        let (units, pieces) = match kind {
            Fold::Halves => (vector.count(), None),
            Fold::WholeToOdd | Fold::WholeToEven => {
                (u64::from(staying), Some(Pieces::new(vector, staying)))
            }
        };
        let rounds = staying.ilog2() as usize;
        let mut kept = [Range::default(); 33];
        kept[0] = Range { start: 0, end: units };
        for round in 0..rounds {
            let Range { start, end } = kept[round];
            let middle = start + (end - start) / 2;
            kept[round + 1] = if number >> round & 1 == 0 {
                Range { start, end: middle }
            } else {
                Range { start: middle, end }
            };
        }
        Halving { kept, rounds, element: vector.element, pieces }
    }

    fn bytes(&self, range: Range) -> u64 {
        match self.pieces {
            None => (range.end - range.start) * self.element,
            Some(pieces) => (range.start..range.end).map(|i| pieces.bytes(i as u32)).sum(),
        }
    }

    /// Bytes of the half that the task keeps in `round`.
    fn kept(&self, round: usize) -> u64 {
        self.bytes(self.kept[round + 1])
    }

    /// Bytes of the half that the task gives away in `round`.
    fn given(&self, round: usize) -> u64 {
        let (all, kept) = (self.kept[round], self.kept[round + 1]);
        self.bytes(if kept.start == all.start {
            Range { start: kept.end, end: all.end }
        } else {
            Range { start: all.start, end: kept.start }
        })
    }
}

/// How a number of tasks that is no power of two is folded. If a pair hands over the whole vector, the vector
/// is later cut into one piece for each task that stays. Otherwise it is cut between any two elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// The even rank of a pair hands over the whole vector.
    WholeToOdd,
    /// The odd rank of a pair hands over the whole vector.
    WholeToEven,
    /// The pair exchanges halves of the vector. Then the odd rank hands over the sum of its half.
    Halves,
}

fn fold(me: Member, kind: Fold, vector: Vector, visit: &mut Visit) -> (Folding, Option<u32>) {
    let folding = match kind {
        Fold::WholeToOdd => Folding::odd(me.size),
        Fold::WholeToEven | Fold::Halves => Folding::even(me.size),
    };
    let first_half = vector.count() / 2 * vector.element;
    let number = match folding.part(me.rank) {
        Part::Waits(partner) => {
            match kind {
                Fold::WholeToOdd | Fold::WholeToEven => visit(partner, vector.bytes, 1),
                // The first half, which the partner sums, and then the sum of the second half.
                Fold::Halves => visit(partner, vector.bytes, 2),
            }
            None
        }
        Part::Stays(number) => Some(number),
        Part::StaysFor(number, waiting) => {
            if kind == Fold::Halves {
                visit(waiting, vector.bytes - first_half, 1);
            }
            Some(number)
        }
    };
    (folding, number)
}

/// Allreduce: halving, and then the same exchanges in reverse order.
pub(super) fn allreduce(me: Member, kind: Fold, vector: Vector, visit: &mut Visit) {
    let (folding, number) = fold(me, kind, vector, visit);
    let Some(number) = number else { return };
    let halving = Halving::new(number, folding.staying, kind, vector);
    for round in 0..halving.rounds {
        let peer = folding.rank(number ^ 1 << round);
        visit(peer, halving.given(round) + halving.kept(round), 2);
    }
    if let Part::StaysFor(_, waiting) = folding.part(me.rank) {
        visit(waiting, vector.bytes, 1);
    }
}

/// Reduce: halving, then a binomial gather towards `root`. A root that waits takes the place of the
/// task with number 0, which hands its part to the root.
pub(super) fn reduce(me: Member, root: u32, kind: Fold, vector: Vector, visit: &mut Visit) {
    let (folding, number) = fold(me, kind, vector, visit);
    let waiting_root = matches!(folding.part(root), Part::Waits(_));
    let root_number = match folding.part(root) {
        Part::Waits(_) => 0,
        Part::Stays(number) | Part::StaysFor(number, _) => number,
    };
    if let Some(number) = number {
        let halving = Halving::new(number, folding.staying, kind, vector);
        for round in 0..halving.rounds {
            visit(folding.rank(number ^ 1 << round), halving.given(round), 1);
        }
        if waiting_root && number == 0 {
            return visit(root, halving.bytes(halving.kept[halving.rounds]), 1);
        }
        for round in (0..halving.rounds).rev() {
            let peer = number ^ 1 << round;
            // The root is on the peer's side of this round: the parts collected so far go there.
            if peer >> round == root_number >> round {
                let to = if waiting_root && peer == 0 { root } else { folding.rank(peer) };
                return visit(to, halving.kept(round), 1);
            }
        }
    }
}

/// Whether the vector has fewer elements than there are tasks that stay. MPI libraries then take a
/// simpler algorithm.
pub(super) fn too_short(me: Member, vector: Vector) -> bool {
    vector.count() < u64::from(power_of_two_within(me.size))
}

/// Linear allreduce: all tasks send to rank 0, which sends the result to all.
pub(super) fn allreduce_linear(me: Member, bytes: u64, visit: &mut Visit) {
    linear::fan_in(me, 0, bytes, visit);
    linear::fan_out(me, 0, &|_| bytes, visit);
}
