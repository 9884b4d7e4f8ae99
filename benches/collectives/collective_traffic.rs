//! Prints what a model says that one collective call sends: `sender receiver bytes messages` by
//! line. `benches/collectives/run` compares this with what an MPI library really sent.
//!
//! usage: collective_traffic MODEL OPERATION TASKS BYTES [ROOT [ELEMENT [n]]]
//! The arguments after MODEL are those of `tests/programs/collectives/coll_traffic.c`, blocks of v-operations
//! included: task i has (1 + i % 3) × BYTES. An operation with a leading i is nonblocking.

use rankweave::matrix::collectives::{Call, Model, Operation, sends_blocks};
use std::process::ExitCode;

fn run(arguments: &[String]) -> Option<()> {
    let [model, operation, size, bytes, rest @ ..] = arguments else { return None };
    let model = Model::ALL.into_iter().find(|m| m.name() == model)?;
    let by_name = |name: &str| Operation::ALL.into_iter().find(|o| o.name() == name);
    let (operation, nonblocking) = match by_name(operation) {
        Some(operation) => (operation, false),
        None => (by_name(operation.strip_prefix('i')?)?, true),
    };
    let size = size.parse().ok()?;
    let bytes: u64 = bytes.parse().ok()?;
    let number = |i: usize| rest.get(i).map_or(Some(0), |text| text.parse::<u32>().ok());
    let (root, element) = (number(0)?, number(1)?);
    let unequal = matches!(
        operation,
        Operation::Gatherv
            | Operation::Scatterv
            | Operation::Allgatherv
            | Operation::Alltoallv
            | Operation::Alltoallw
            | Operation::ReduceScatter
    );
    let block = |i: u32| if unequal { u64::from(1 + i % 3) * bytes } else { bytes };
    for rank in 0..size {
        let call = Call {
            operation,
            size,
            rank,
            root,
            bytes: block(rank),
            element,
            commutative: rest.get(2).is_none(),
            nonblocking,
        };
        sends_blocks(model, &call, &block, &mut |peer, bytes, messages| {
            println!("{rank} {peer} {bytes} {messages}");
        });
    }
    Some(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Some(()) => ExitCode::SUCCESS,
        None => {
            eprintln!("usage: collective_traffic MODEL OPERATION TASKS BYTES [ROOT [ELEMENT [n]]]");
            ExitCode::from(2)
        }
    }
}
