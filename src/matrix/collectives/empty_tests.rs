//! Calls without data, or in which some tasks have none: how many messages the models count, compared with what the
//! libraries sent.

use super::tests::matrix;
use super::*;

/// The messages of a library in a call of five tasks, of which rank 1 is the root.
fn messages_of(model: Model, operation: Operation, nonblocking: bool, block: &Blocks) -> u64 {
    let call = Call {
        operation,
        size: 5,
        rank: 0,
        root: 1,
        bytes: 0,
        element: 4,
        commutative: true,
        nonblocking,
    };
    matrix(model, call, block).iter().flatten().map(|cell| cell.1).sum()
}

/// The figures of the monitoring of Open MPI 4.1.4.
#[test]
fn open_mpi_sends_nothing_without_data_in_most_calls() {
    for &operation in Operation::ALL.iter().filter(|&&o| o != Operation::Barrier) {
        assert_eq!(messages_of(Model::OpenMpi, operation, false, &|_| 0), 0, "{operation:?}");
        let expected = match operation {
            Operation::Allgather | Operation::Allgatherv | Operation::Alltoall => 20,
            Operation::Gather | Operation::Gatherv | Operation::Scatter | Operation::Scatterv => 4,
            Operation::Exscan => 4,
            _ => 0,
        };
        let messages = messages_of(Model::OpenMpi, operation, true, &|_| 0);
        assert_eq!(messages, expected, "nonblocking {operation:?}");
    }
}

/// The figures of the monitoring of Open MPI 4.1.4: some tasks have no data.
#[test]
fn open_mpi_sends_empty_blocks_in_nonblocking_calls_only() {
    let block = |rank: u32| u64::from(rank % 2) * 400;
    let messages =
        |operation, nonblocking| messages_of(Model::OpenMpi, operation, nonblocking, &block);
    // Ranks 1 and 3 have data, and rank 1 is the root.
    assert_eq!(messages(Operation::Gatherv, false), 1);
    assert_eq!(messages(Operation::Gatherv, true), 4);
    assert_eq!(messages(Operation::Scatterv, false), 1);
    assert_eq!(messages(Operation::Scatterv, true), 4);
    assert_eq!(messages(Operation::Allgatherv, true), 20);
    assert_eq!(messages(Operation::ReduceScatter, true), 8);
}

/// What MPICH 4.0.2 hands to its network layer.
#[test]
fn mpich_sends_nothing_without_data_in_most_calls() {
    for &operation in Operation::ALL.iter().filter(|&&o| o != Operation::Barrier) {
        for nonblocking in [false, true] {
            let sends = match operation {
                Operation::Bcast | Operation::Allreduce => nonblocking,
                _ => false,
            };
            let messages = messages_of(Model::Mpich, operation, nonblocking, &|_| 0);
            assert_eq!(messages > 0, sends, "{operation:?}, nonblocking {nonblocking}");
        }
    }
    // Ranks 1 and 3 of five have data.
    let block = |rank: u32| u64::from(rank % 2) * 400;
    for model in [Model::OpenMpi, Model::Mpich] {
        let messages = messages_of(model, Operation::ReduceScatter, false, &block);
        assert_eq!(messages, 7, "{model:?}");
    }
}
