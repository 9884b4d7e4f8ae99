//! Properties of every model: no task sends to itself or to a rank outside the communicator, the messages carry
//! the data that the operation must deliver, and the time for a row is linear in the number of tasks.

use super::*;
use proptest::prelude::*;
use std::cell::Cell;

/// Bytes and messages of all rows of one call, by sender and receiver.
pub(super) fn matrix(model: Model, call: Call, block: &Blocks) -> Vec<Vec<(u64, u64)>> {
    let size = call.size as usize;
    let mut cells = vec![vec![(0, 0); size]; size];
    for rank in 0..call.size {
        let own = Call { rank, bytes: own_bytes(call, rank, block), ..call };
        sends_blocks(model, &own, block, &mut |peer, bytes, messages| {
            assert_ne!(peer, rank, "{model:?} {own:?}: sends to itself");
            assert!(peer < call.size, "{model:?} {own:?}: sends to {peer}");
            let cell = &mut cells[rank as usize][peer as usize];
            *cell = (cell.0 + bytes, cell.1 + messages);
        });
    }
    cells
}

fn has_blocks(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Gatherv
            | Operation::Scatterv
            | Operation::Allgatherv
            | Operation::Alltoallv
            | Operation::Alltoallw
            | Operation::ReduceScatter
    )
}

fn own_bytes(call: Call, rank: u32, block: &Blocks) -> u64 {
    if has_blocks(call.operation) { block(rank) } else { call.bytes }
}

/// For each ordered pair of tasks: true if a chain of messages leads from the first task to the second. The order
/// of the messages in time is not considered.
fn reach(cells: &[Vec<(u64, u64)>]) -> Vec<Vec<bool>> {
    let size = cells.len();
    (0..size)
        .map(|start| {
            let mut seen = vec![false; size];
            let mut open = vec![start];
            seen[start] = true;
            while let Some(at) = open.pop() {
                for next in 0..size {
                    if cells[at][next].1 > 0 && !seen[next] {
                        seen[next] = true;
                        open.push(next);
                    }
                }
            }
            seen
        })
        .collect()
}

/// What the tasks of a call send under a model.
struct Flow<'a> {
    call: Call,
    block: &'a Blocks<'a>,
    cells: Vec<Vec<(u64, u64)>>,
    reach: Vec<Vec<bool>>,
    context: String,
}

impl Flow<'_> {
    fn size(&self) -> usize {
        self.call.size as usize
    }

    fn sent(&self, i: usize) -> u64 {
        self.cells[i].iter().map(|c| c.0).sum()
    }

    fn received(&self, j: usize) -> u64 {
        self.cells.iter().map(|row| row[j].0).sum()
    }

    fn bytes_of(&self, i: usize) -> u64 {
        own_bytes(self.call, i as u32, self.block)
    }

    fn all(&self) -> u64 {
        (0..self.size()).map(|i| self.bytes_of(i)).sum()
    }

    fn others(&self, than: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.size()).filter(move |&i| i != than)
    }
}

/// Checks that the messages of `call` carry at least the data that every algorithm must carry.
fn check(model: Model, call: Call, block: &Blocks) -> Result<(), TestCaseError> {
    let cells = matrix(model, call, block);
    let reach = reach(&cells);
    let context = format!("{model:?} {call:?}");
    let flow = Flow { call, block, cells, reach, context };
    check_rooted(call, &flow)?;
    check_unrooted(model, call, &flow)
}

fn check_rooted(call: Call, flow: &Flow) -> Result<(), TestCaseError> {
    let root = call.root as usize;
    // Without data, a library may send nothing.
    let empty = call.bytes == 0;
    match call.operation {
        Operation::Bcast => {
            for i in flow.others(root) {
                prop_assert!(flow.received(i) >= call.bytes, "{} {}", flow.context, i);
                prop_assert!(empty || flow.reach[root][i], "{} {}", flow.context, i);
            }
        }
        Operation::Scatter | Operation::Scatterv => {
            for i in flow.others(root) {
                prop_assert!(
                    flow.received(i) >= flow.sent(i) + flow.bytes_of(i),
                    "{} {}",
                    flow.context,
                    i
                );
                prop_assert!(
                    flow.bytes_of(i) == 0 || flow.reach[root][i],
                    "{} {}",
                    flow.context,
                    i
                );
            }
        }
        Operation::Gather | Operation::Gatherv => {
            for i in flow.others(root) {
                prop_assert_eq!(
                    flow.sent(i),
                    flow.received(i) + flow.bytes_of(i),
                    "{} {}",
                    flow.context,
                    i
                );
                prop_assert!(
                    flow.bytes_of(i) == 0 || flow.reach[i][root],
                    "{} {}",
                    flow.context,
                    i
                );
            }
            prop_assert_eq!(
                flow.received(root),
                flow.all() - flow.bytes_of(root),
                "{}",
                flow.context
            );
        }
        Operation::Reduce => {
            for i in flow.others(root) {
                prop_assert!(flow.sent(i) >= call.bytes, "{} {}", flow.context, i);
                prop_assert!(empty || flow.reach[i][root], "{} {}", flow.context, i);
            }
            prop_assert!(flow.received(root) >= call.bytes, "{}", flow.context);
        }
        _ => {}
    }
    Ok(())
}

fn check_unrooted(model: Model, call: Call, flow: &Flow) -> Result<(), TestCaseError> {
    let (size, block) = (flow.size(), flow.block);
    // Without data, a library may send nothing.
    let empty = call.bytes == 0;
    match call.operation {
        Operation::Barrier => {
            prop_assert_eq!(flow.cells.iter().flatten().map(|c| c.0).sum::<u64>(), 0);
            if model != Model::Logical {
                prop_assert!(flow.reach.iter().flatten().all(|&r| r), "{}", flow.context);
            }
        }
        Operation::Allreduce => {
            for i in 0..size {
                prop_assert!(
                    flow.sent(i) + 2 * size as u64 >= call.bytes,
                    "{} {}",
                    flow.context,
                    i
                );
                prop_assert!(
                    flow.received(i) + 2 * size as u64 >= call.bytes,
                    "{} {}",
                    flow.context,
                    i
                );
            }
            prop_assert!(empty || flow.reach.iter().flatten().all(|&r| r), "{}", flow.context);
            // Patarasuk and Yuan's lower bound for flow.all() together.
            let total: u64 = (0..size).map(|i| flow.sent(i)).sum();
            prop_assert!(total >= 2 * (size as u64 - 1) * call.bytes, "{} {}", flow.context, total);
        }
        Operation::Allgather | Operation::Allgatherv => {
            for i in 0..size {
                prop_assert!(
                    flow.received(i) >= flow.all() - flow.bytes_of(i),
                    "{} {}",
                    flow.context,
                    i
                );
                prop_assert!(flow.sent(i) >= flow.bytes_of(i), "{} {}", flow.context, i);
            }
        }
        Operation::Alltoall => {
            for i in 0..size {
                prop_assert!(
                    flow.sent(i) >= (size as u64 - 1) * call.bytes,
                    "{} {}",
                    flow.context,
                    i
                );
                prop_assert_eq!(flow.sent(i), flow.received(i), "{} {}", flow.context, i);
            }
        }
        Operation::Alltoallv | Operation::Alltoallw => {
            for (i, row) in flow.cells.iter().enumerate() {
                for j in flow.others(i) {
                    prop_assert_eq!(row[j].0, block(j as u32), "{} {} {}", flow.context, i, j);
                }
            }
        }
        Operation::ReduceScatterBlock | Operation::ReduceScatter => {
            for i in 0..size {
                prop_assert!(
                    flow.sent(i) >= flow.all() - flow.bytes_of(i),
                    "{} {}",
                    flow.context,
                    i
                );
                prop_assert!(flow.received(i) >= flow.bytes_of(i), "{} {}", flow.context, i);
            }
        }
        Operation::Scan | Operation::Exscan => {
            for (i, reached) in flow.reach.iter().enumerate() {
                prop_assert!(i == 0 || flow.received(i) >= call.bytes, "{} {}", flow.context, i);
                prop_assert!(i + 1 == size || flow.sent(i) >= call.bytes, "{} {}", flow.context, i);
                prop_assert!(empty || reached[i..].iter().all(|&r| r), "{} {}", flow.context, i);
            }
        }
        _ => {}
    }
    Ok(())
}

fn any_call() -> impl Strategy<Value = Call> {
    let bytes = prop_oneof![1u64..200, 200u64..100_000, 100_000u64..3_000_000];
    (
        0..Operation::ALL.len(),
        prop_oneof![2u32..20, 20u32..70, 120u32..140],
        any::<prop::sample::Index>(),
        bytes,
        prop::sample::select(vec![0u32, 1, 4, 8]),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(operation, size, root, bytes, element, commutative, nonblocking)| Call {
            operation: Operation::ALL[operation],
            size,
            rank: 0,
            root: root.index(size as usize) as u32,
            bytes: bytes.next_multiple_of(u64::from(element.max(1))),
            element,
            commutative,
            nonblocking,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn every_model_carries_what_the_operation_needs(call in any_call()) {
        for model in Model::ALL {
            check(model, call, &|_| call.bytes)?;
        }
    }

    #[test]
    fn unequal_and_empty_blocks_are_carried_too(call in any_call(), most in 0u64..5000) {
        if has_blocks(call.operation) {
            for model in Model::ALL {
                check(model, call, &|i| u64::from(i) * 7919 % (most + 1) * 8)?;
            }
        }
    }

    #[test]
    fn a_task_alone_sends_nothing(call in any_call()) {
        for model in Model::ALL {
            let alone = Call { size: 1, root: 0, ..call };
            sends(model, &alone, &mut |peer, _, _| panic!("{model:?} {call:?} sends to {peer}"));
        }
    }

    #[test]
    fn wrong_ranks_send_nothing(call in any_call(), beyond in 0u32..1000) {
        for model in Model::ALL {
            let outside = Call { rank: call.size + beyond, ..call };
            sends(model, &outside, &mut |_, _, _| panic!("{outside:?} sends"));
            if call.operation.is_rooted() {
                let rootless = Call { root: call.size + beyond, ..call };
                sends(model, &rootless, &mut |_, _, _| panic!("{rootless:?} sends"));
            }
        }
    }

    #[test]
    fn between_groups_every_contribution_crosses_once(
        call in any_call(), remote in 1u32..40, root in 0u32..40,
    ) {
        let mut total = 0;
        for rank in 0..call.size {
            let role = match (call.operation.is_rooted(), call.operation) {
                (false, _) => InterRoot::None,
                (true, Operation::Bcast | Operation::Scatter | Operation::Scatterv) => {
                    if rank == call.root { InterRoot::Myself } else { InterRoot::OwnGroup }
                }
                (true, _) => InterRoot::Remote(root % remote),
            };
            let own = Call { rank, ..call };
            sends_inter(&own, role, remote, &|_| call.bytes, &mut |peer, bytes, _| {
                assert!(peer < remote);
                total += bytes;
            });
        }
        let (here, there) = (u64::from(call.size), u64::from(remote));
        let expected = match call.operation {
            Operation::Barrier | Operation::Scan | Operation::Exscan => 0,
            Operation::Bcast | Operation::Scatter | Operation::Scatterv => there * call.bytes,
            Operation::Reduce | Operation::Gather | Operation::Gatherv => here * call.bytes,
            Operation::Allreduce => here * call.bytes,
            Operation::ReduceScatter | Operation::ReduceScatterBlock => here * here * call.bytes,
            _ => here * there * call.bytes,
        };
        prop_assert_eq!(total, expected);
    }
}

#[test]
fn a_row_costs_time_linear_in_the_tasks() {
    for size in [4096u32, 5001] {
        for operation in Operation::ALL {
            for bytes in [1, 1000, 1_000_000] {
                for (model, nonblocking) in
                    Model::ALL.into_iter().flat_map(|m| [(m, false), (m, true)])
                {
                    for rank in [0, 1, size / 3, size / 2, size - 1] {
                        let (asked, visits) = (Cell::new(0u32), Cell::new(0u32));
                        let call = Call {
                            operation,
                            size,
                            rank,
                            root: 7,
                            bytes,
                            element: 1,
                            commutative: rank % 2 == 0,
                            nonblocking,
                        };
                        let block = |_| {
                            asked.set(asked.get() + 1);
                            bytes
                        };
                        sends_blocks(model, &call, &block, &mut |_, _, _| {
                            visits.set(visits.get() + 1);
                        });
                        let cost = asked.get() + visits.get();
                        assert!(cost <= 8 * size, "{model:?} {call:?}: {cost} steps");
                    }
                }
            }
        }
    }
}

#[test]
fn a_long_vector_is_cut_between_elements() {
    let call = Call {
        operation: Operation::Allreduce,
        size: 12,
        rank: 0,
        root: 0,
        bytes: 8 * 100_003,
        element: 8,
        commutative: true,
        nonblocking: false,
    };
    for model in [Model::OpenMpi, Model::Mpich] {
        for cell in matrix(model, call, &|_| call.bytes).iter().flatten() {
            assert_eq!(cell.0 % 8, 0, "{model:?}");
        }
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = Operation::ALL.iter().map(|o| o.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Operation::ALL.len());
}

#[test]
fn allgather_algorithms_bring_each_block_to_each_rank_once() {
    type Algorithm = fn(member::Member, &Blocks, &mut Visit);
    type Fits = fn(u32) -> bool;
    let algorithms: [(&str, Algorithm, Fits); 4] = [
        ("ring", |me, block, visit| ring::allgather(me, block, 0, visit), |_| true),
        ("bruck", bruck::allgather, |_| true),
        ("neighbor", neighbor::allgather, |size| size % 2 == 0),
        ("doubling", recursive::allgather, u32::is_power_of_two),
    ];
    // The blocks are different powers of two, so that the sum shows which blocks arrived.
    let block = |i: u32| 1u64 << i;
    for (name, algorithm, fits) in algorithms {
        for size in (2..=40).filter(|&size| fits(size)) {
            let mut received = vec![0; size as usize];
            for rank in 0..size {
                algorithm(member::Member { rank, size }, &block, &mut |peer, bytes, _| {
                    received[peer as usize] += bytes;
                });
            }
            for (rank, &sum) in received.iter().enumerate() {
                assert_eq!(sum, (1 << size) - 1 - (1 << rank), "{name} {size} {rank}");
            }
        }
    }
}
