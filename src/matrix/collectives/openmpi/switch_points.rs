//! Which algorithm Open MPI 4.1 and 5.0 take: the switch points of coll/tuned's fixed decision
//! rules (`coll_tuned_decision_fixed.c`), as tables.
//!
//! The switch points were averaged by the Open MPI developers from
//! measurements on several clusters (ompi-collectives-tuning), so neighbouring entries may look
//! arbitrary; they are facts of the implementation.

use super::decision_table::{ANY, Algorithm::*, MORE, Table};

/// A line for each row: the number of tasks; then pairs of bytes and an algorithm.
macro_rules! table {
    ($($tasks:tt: $($bytes:tt $algorithm:ident),+;)+) => {
        &[$(($tasks, &[$(($bytes, $algorithm)),+])),+]
    };
}

const K: u64 = 1024;
const M: u64 = 1024 * 1024;

/// By the bytes of the vector.
pub(super) const ALLREDUCE: Table = table! {
    4: 8 Ring, (4 * K) RecursiveDoubling, (8 * K) Ring, (16 * K) RecursiveDoubling, (64 * K) Ring,
        (256 * K) SegmentedRing, MORE Rabenseifner;
    8: 16 Ring, (8 * K) RecursiveDoubling, MORE Rabenseifner;
    16: (8 * K) RecursiveDoubling, MORE Rabenseifner;
    32: 64 SegmentedRing, (4 * K) RecursiveDoubling, MORE Rabenseifner;
    64: 128 SegmentedRing, MORE Rabenseifner;
    128: (256 * K) RecursiveDoubling, MORE Rabenseifner;
    256: (128 * K) Nonoverlapping, (256 * K) RecursiveDoubling, MORE Rabenseifner;
    512: (4 * K) Nonoverlapping, MORE Rabenseifner;
    2048: (2 * K) Nonoverlapping, (16 * K) RecursiveDoubling, MORE Rabenseifner;
    4096: (2 * K) Nonoverlapping, (4 * K) SegmentedRing, (16 * K) RecursiveDoubling, MORE Rabenseifner;
    ANY: (2 * K) Nonoverlapping, (16 * K) SegmentedRing, (32 * K) RecursiveDoubling, MORE Rabenseifner;
};

/// By the bytes of the vector, for operations that do not commute.
pub(super) const ALLREDUCE_ORDERED: Table = table! {
    4: (128 * K) RecursiveDoubling, MORE Linear;
    8: MORE RecursiveDoubling;
    16: M RecursiveDoubling, MORE Nonoverlapping;
    128: MORE RecursiveDoubling;
    256: (128 * K) Nonoverlapping, (512 * K) RecursiveDoubling, MORE Nonoverlapping;
    512: (4 * K) Nonoverlapping, (512 * K) RecursiveDoubling, MORE Nonoverlapping;
    ANY: (2 * K) Nonoverlapping, MORE RecursiveDoubling;
};

/// By the bytes of one block. All entries but Bruck's send the same messages in another order.
pub(super) const ALLTOALL: Table = table! {
    16: MORE Linear;
    32: 4 Linear, 512 Bruck, MORE Linear;
    64: 512 Bruck, MORE Linear;
    512: K Bruck, MORE Linear;
    2048: 512 Bruck, MORE Linear;
    4096: K Bruck, MORE Linear;
    ANY: (2 * K) Bruck, MORE Linear;
};

/// By the number of tasks alone.
pub(super) const BARRIER: Table = table! {
    4: MORE RecursiveDoubling;
    8: MORE Linear;
    64: MORE RecursiveDoubling;
    256: MORE Bruck;
    512: MORE Tree;
    1024: MORE Bruck;
    4096: MORE Tree;
    ANY: MORE Bruck;
};

/// By the bytes of the vector.
pub(super) const BCAST: Table = table! {
    4: 32 Pipeline, 256 Binary, 512 Pipeline, K Knomial, (32 * K) Linear, (128 * K) Binary, (256 * K) Chain,
        (512 * K) Linear, M Binomial, MORE Binary;
    8: 64 Binary, 128 Binomial, (2 * K) Binary, (8 * K) Binomial, M Linear, MORE Chain;
    16: 8 Knomial, 64 Binary, (4 * K) Knomial, (16 * K) Binary, (32 * K) Binomial, MORE Linear;
    32: (4 * K) Knomial, M Binomial, MORE ScatterAllgather;
    64: (2 * K) Binomial, MORE Knomial;
    128: MORE Knomial;
    256: 2 Binomial, (16 * K) Binary, (32 * K) Linear, (64 * K) Binary, MORE Knomial;
    1024: (16 * K) Knomial, (32 * K) SplitBinary, MORE Knomial;
    2048: (512 * K) Knomial, MORE ScatterAllgather;
    4096: (256 * K) Knomial, MORE ScatterAllgather;
    ANY: (8 * K) Knomial, (16 * K) Binary, (256 * K) Knomial, MORE ScatterAllgather;
};

/// By the bytes of the vector.
pub(super) const REDUCE: Table = table! {
    4: 8 Rabenseifner, 16 Binary, 32 Pipeline, (256 * K) Linear, (512 * K) Pipeline, M Chain, MORE Pipeline;
    8: (4 * K) Binary, (64 * K) Chain, (256 * K) Binomial, (512 * K) Linear, M Binomial, MORE Linear;
    16: (8 * K) Binary, MORE Binomial;
    32: (4 * K) Binary, MORE Binomial;
    256: MORE Binomial;
    512: (8 * K) Binomial, (16 * K) InOrderBinary, MORE Binomial;
    2048: MORE Binomial;
    4096: 512 Binomial, K InOrderBinary, (8 * K) Binomial, (16 * K) InOrderBinary, MORE Binomial;
    ANY: 16 Binomial, 32 InOrderBinary, K Binomial, (2 * K) InOrderBinary, (8 * K) Binomial,
        (16 * K) InOrderBinary, MORE Binomial;
};

/// By the bytes of the vector, for operations that do not commute.
pub(super) const REDUCE_ORDERED: Table = table! {
    4: 8 InOrderBinary, MORE Linear;
    8: MORE Linear;
    16: K InOrderBinary, (8 * K) Linear, (16 * K) InOrderBinary, (256 * K) Linear, MORE InOrderBinary;
    128: MORE InOrderBinary;
    256: 512 InOrderBinary, K Linear, MORE InOrderBinary;
    ANY: MORE InOrderBinary;
};

/// By the bytes of all blocks together; operations that do not commute are always nonoverlapping.
pub(super) const REDUCE_SCATTER: Table = table! {
    4: (64 * K) Ring, (128 * K) Butterfly, MORE Ring;
    8: 8 Nonoverlapping, (256 * K) RecursiveHalving, MORE Ring;
    32: (256 * K) RecursiveHalving, MORE Ring;
    64: 64 Nonoverlapping, (2 * K) RecursiveHalving, (512 * K) Butterfly, MORE Ring;
    128: 256 Nonoverlapping, 512 RecursiveHalving, (2 * K) Butterfly, (4 * K) RecursiveHalving,
        MORE Butterfly;
    256: 256 Nonoverlapping, 512 RecursiveHalving, MORE Butterfly;
    512: 256 Nonoverlapping, K RecursiveHalving, MORE Butterfly;
    1024: 512 Nonoverlapping, (2 * K) RecursiveHalving, (8 * K) Butterfly, (16 * K) RecursiveHalving,
        MORE Butterfly;
    2048: 512 Nonoverlapping, (4 * K) RecursiveHalving, (16 * K) Butterfly, (32 * K) RecursiveHalving,
        MORE Butterfly;
    4096: 512 Nonoverlapping, (4 * K) RecursiveHalving, MORE Butterfly;
    ANY: K Nonoverlapping, (8 * K) RecursiveHalving, MORE Butterfly;
};

/// By the bytes of one block; operations that do not commute are always linear.
pub(super) const REDUCE_SCATTER_BLOCK: Table = table! {
    4: 4 RecursiveDoubling, 8 Butterfly, 16 RecursiveHalving, 128 Butterfly, 256 RecursiveHalving,
        (4 * K) Butterfly, (8 * K) RecursiveHalving, (128 * K) Butterfly, MORE Linear;
    8: 8 RecursiveHalving, 32 RecursiveDoubling, 256 Butterfly, (8 * K) RecursiveHalving, (16 * K) Butterfly,
        M RecursiveHalving, MORE Linear;
    16: 4 Linear, 32 RecursiveHalving, 128 Butterfly, (512 * K) RecursiveHalving, (4 * M) Linear,
        MORE Butterfly;
    32: 32 Linear, (512 * K) RecursiveHalving, (2 * M) Linear, (4 * M) RecursiveHalving, MORE Butterfly;
    ANY: 4 RecursiveHalving, 16 Linear, (64 * K) Butterfly, (256 * K) Linear, MORE Butterfly;
};

/// By the bytes of one block.
pub(super) const ALLGATHER: Table = table! {
    3: MORE TwoTasks;
    32: MORE RecursiveDoubling;
    64: K RecursiveDoubling, (64 * K) Neighbor, MORE Ring;
    128: 512 RecursiveDoubling, (64 * K) Neighbor, MORE Ring;
    256: 512 RecursiveDoubling, (128 * K) Neighbor, (512 * K) Ring, M Neighbor, MORE Ring;
    512: 32 RecursiveDoubling, 128 Bruck, K RecursiveDoubling, (128 * K) Neighbor, (512 * K) Ring,
        M Neighbor, MORE Ring;
    1024: 64 RecursiveDoubling, 256 Bruck, (2 * K) RecursiveDoubling, MORE Neighbor;
    2048: 4 RecursiveDoubling, 8 Bruck, 16 RecursiveDoubling, 32 Bruck, 256 RecursiveDoubling, 512 Bruck,
        (4 * K) RecursiveDoubling, MORE Neighbor;
    4096: 32 Bruck, 128 RecursiveDoubling, 512 Bruck, (4 * K) RecursiveDoubling, MORE Neighbor;
    ANY: 2 RecursiveDoubling, 8 Bruck, 16 RecursiveDoubling, 512 Bruck, (4 * K) RecursiveDoubling,
        MORE Neighbor;
};

/// By the mean bytes of a block. `Linear` is a gather to rank 0 followed by a broadcast.
pub(super) const ALLGATHERV: Table = table! {
    3: (2 * K) Ring, (4 * K) TwoTasks, (8 * K) Ring, MORE TwoTasks;
    8: 256 Linear, (4 * K) Neighbor, (8 * K) Ring, (16 * K) Neighbor, (256 * K) Bruck, MORE Neighbor;
    16: K Linear, MORE Bruck;
    32: 128 Linear, (256 * K) Bruck, MORE Ring;
    64: 256 Linear, (8 * K) Bruck, MORE Ring;
    128: 256 Linear, (4 * K) Bruck, MORE Ring;
    256: K Bruck, (64 * K) Neighbor, MORE Ring;
    512: K Bruck, MORE Ring;
    1024: 512 Bruck, K Linear, (4 * K) Bruck, M Neighbor, MORE Ring;
    ANY: (4 * K) Bruck, MORE Neighbor;
};

/// By the bytes of one block.
pub(super) const GATHER: Table = table! {
    4: 2 LinearSync, 4 Linear, (32 * K) Binomial, (64 * K) Linear, (128 * K) Binomial, MORE LinearSync;
    8: K Binomial, (8 * K) Linear, (32 * K) Binomial, (256 * K) Linear, MORE LinearSync;
    256: MORE Binomial;
    512: (2 * K) Binomial, (8 * K) Linear, MORE Binomial;
    ANY: MORE Binomial;
};

/// By the bytes of one block.
pub(super) const SCATTER: Table = table! {
    4: MORE Linear;
    8: (2 * K) Binomial, (4 * K) Linear, (8 * K) Binomial, MORE Linear;
    32: (16 * K) Binomial, MORE Linear;
    64: 512 Binomial, (8 * K) Linear, (16 * K) Binomial, MORE Linear;
    ANY: 512 Binomial, MORE Linear;
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_ascend_and_have_no_holes() {
        let tables = [
            ALLREDUCE,
            ALLREDUCE_ORDERED,
            ALLTOALL,
            BARRIER,
            BCAST,
            REDUCE,
            REDUCE_ORDERED,
            REDUCE_SCATTER,
            REDUCE_SCATTER_BLOCK,
            ALLGATHER,
            ALLGATHERV,
            GATHER,
            SCATTER,
        ];
        for table in tables {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
            assert_eq!(table.last().map(|row| row.0), Some(ANY));
            for (_, row) in table {
                assert!(row.is_sorted_by(|a, b| a.0 < b.0));
                assert_eq!(row.last().map(|entry| entry.0), Some(MORE));
            }
        }
    }
}
