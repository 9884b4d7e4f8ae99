//! The communication matrix of a program: one sparse layer per kind of traffic.

use super::{Graph, SparseMatrix};
use crate::base::named_enum::named_enum;
use serde::{Deserialize, Serialize};

named_enum! {
    /// The kinds of traffic that are kept apart. The layers of a matrix are in this order.
    #[derive(Serialize, Deserialize)]
    pub enum Kind, "kind of traffic" {
        /// Sends of every form, persistent and partitioned ones included.
        PointToPoint = "p2p",
        /// Collective calls, as messages between pairs of tasks that a model gives.
        Collective = "collective",
        /// Put, get and accumulate calls.
        OneSided = "onesided",
    }
}

/// Bytes and messages from task i (row) to task j (column), by kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommMatrix {
    pub(super) layers: [SparseMatrix; 3],
}

impl CommMatrix {
    /// A matrix of `tasks` tasks without traffic.
    pub fn empty(tasks: usize) -> Self {
        CommMatrix { layers: std::array::from_fn(|_| SparseMatrix::empty(tasks)) }
    }

    /// Builds from one layer per kind, in the order of [`Kind::ALL`]; `None` if their sizes differ.
    pub fn from_layers(layers: [SparseMatrix; 3]) -> Option<Self> {
        let tasks = layers[0].tasks();
        layers.iter().all(|l| l.tasks() == tasks).then_some(CommMatrix { layers })
    }

    /// A matrix with point-to-point traffic only, as most files give it.
    pub fn from_point_to_point(layer: SparseMatrix) -> Self {
        let tasks = layer.tasks();
        CommMatrix { layers: [layer, SparseMatrix::empty(tasks), SparseMatrix::empty(tasks)] }
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.layers[0].tasks()
    }

    /// The layer of one kind.
    pub fn layer(&self, kind: Kind) -> &SparseMatrix {
        &self.layers[kind as usize]
    }

    /// The bytes of all kinds between tasks on different nodes.
    pub fn bytes_between<N: PartialEq>(&self, node_of_task: impl Fn(usize) -> N) -> u64 {
        self.layers.iter().fold(0, |sum, l| sum.saturating_add(l.bytes_between(&node_of_task)))
    }

    /// The bytes of all kinds between all tasks.
    pub fn total_bytes(&self) -> u64 {
        let bytes = self.layers.iter().flat_map(SparseMatrix::entries).map(|(_, _, t)| t.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// All kinds added up.
    pub fn sum(&self) -> SparseMatrix {
        self.sum_of(&Kind::ALL)
    }

    /// The layers of some kinds added up.
    pub fn sum_of(&self, kinds: &[Kind]) -> SparseMatrix {
        let layers = kinds.iter().map(|&kind| self.layer(kind));
        let filled: Vec<&SparseMatrix> = layers.filter(|layer| layer.pairs() > 0).collect();
        match filled.as_slice() {
            [] => SparseMatrix::empty(self.tasks()),
            [one] => (*one).clone(),
            many => SparseMatrix::sum_of(self.tasks(), many),
        }
    }

    /// [`Self::sum_of`], without a copy where one kind has all the traffic.
    #[must_use]
    pub fn into_sum_of(self, kinds: &[Kind]) -> SparseMatrix {
        let mut filled = kinds.iter().filter(|&&kind| self.layer(kind).pairs() > 0);
        match (filled.next(), filled.next()) {
            (Some(&kind), None) => {
                let [p2p, collective, one_sided] = self.layers;
                match kind {
                    Kind::PointToPoint => p2p,
                    Kind::Collective => collective,
                    Kind::OneSided => one_sided,
                }
            }
            _ => self.sum_of(kinds),
        }
    }

    /// True if a layer counts its bytes in halves, as matrices of some files do ([`SparseMatrix::counts_halves`]).
    pub fn counts_halves(&self) -> bool {
        self.layers.iter().any(SparseMatrix::counts_halves)
    }

    /// The matrix in whole bytes: what records hold ([`SparseMatrix::in_whole_bytes`]).
    #[must_use]
    pub fn in_whole_bytes(self) -> Self {
        CommMatrix { layers: self.layers.map(SparseMatrix::in_whole_bytes) }
    }

    /// The undirected affinity graph of all kinds: the input of the mapping algorithms.
    pub fn affinity(&self) -> Graph {
        Graph::from_traffic(&self.sum())
    }

    /// Checks the invariants of every layer; used after reading from a file.
    pub fn is_valid(&self) -> bool {
        self.layers.iter().all(|l| l.is_valid() && l.tasks() == self.tasks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;

    #[test]
    fn sum_adds_the_kinds() {
        let cell = |b| Traffic { bytes: b, messages: 1 };
        let p2p = SparseMatrix::from_entries(2, &[(0, 1, cell(5))]);
        let coll = SparseMatrix::from_entries(2, &[(0, 1, cell(7)), (1, 0, cell(1))]);
        let m = CommMatrix::from_layers([p2p, coll, SparseMatrix::empty(2)]).unwrap();
        assert_eq!(m.sum().get(0, 1), Traffic { bytes: 12, messages: 2 });
        assert_eq!(m.affinity().weight_between(0, 1), 13);
        for kinds in [&Kind::ALL[..], &[Kind::Collective], &[Kind::OneSided]] {
            assert_eq!(m.clone().into_sum_of(kinds), m.sum_of(kinds));
        }
        assert!(m.is_valid());
    }

    #[test]
    fn layers_of_different_size_are_refused() {
        let layers = [SparseMatrix::empty(2), SparseMatrix::empty(3), SparseMatrix::empty(2)];
        assert!(CommMatrix::from_layers(layers).is_none());
    }
}
