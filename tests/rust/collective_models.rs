//! The models of the collectives against the traffic that Open MPI and MPICH really had, as
//! measured by `benches/collectives/run` and kept in `tests/measured/collectives.txt`.

use rankweave::matrix::collectives::{Call, Model, Operation, sends_blocks};
use std::collections::BTreeMap;

/// Bytes and messages by sender and receiver.
type Cells = BTreeMap<(u32, u32), (u64, u64)>;

struct Case {
    model: Model,
    call: Call,
    measured: Cells,
}

fn parse(line: &str) -> Option<Case> {
    let (case, pairs) = line.split_once(" =")?;
    let mut words = case.split(' ');
    let model = words.next()?;
    let name = words.next()?;
    let mut number = || words.next()?.parse::<u32>().ok();
    let (size, bytes, root, element) = (number()?, number()?, number()?, number()?);
    let by_name = |name: &str| Operation::ALL.into_iter().find(|o| o.name() == name);
    let blocking = by_name(name);
    let operation = blocking.or_else(|| by_name(name.strip_prefix('i')?))?;
    let mut measured = Cells::new();
    for pair in pairs.split_whitespace() {
        let (ranks, traffic) = pair.split_once(':')?;
        let (sender, receiver) = ranks.split_once('>')?;
        let (bytes, messages) = traffic.split_once('/')?;
        let key = (sender.parse().ok()?, receiver.parse().ok()?);
        measured.insert(key, (bytes.parse().ok()?, messages.parse().ok()?));
    }
    Some(Case {
        model: Model::ALL.into_iter().find(|m| m.name() == model)?,
        call: Call {
            operation,
            size,
            rank: 0,
            root,
            bytes: u64::from(bytes),
            element,
            commutative: words.next().is_none(),
            nonblocking: blocking.is_none(),
        },
        measured,
    })
}

/// The blocks of `tests/programs/collectives/coll_traffic.c`.
fn block(call: &Call, rank: u32) -> u64 {
    match call.operation {
        Operation::Gatherv
        | Operation::Scatterv
        | Operation::Allgatherv
        | Operation::Alltoallv
        | Operation::Alltoallw
        | Operation::ReduceScatter => u64::from(1 + rank % 3) * call.bytes,
        _ => call.bytes,
    }
}

#[test]
fn models_agree_with_measured_traffic_in_every_pair() {
    let text = include_str!("../measured/collectives.txt");
    let mut cases = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let case = parse(line).unwrap_or_else(|| panic!("cannot read: {line}"));
        let mut cells = Cells::new();
        for rank in 0..case.call.size {
            let own = Call { rank, bytes: block(&case.call, rank), ..case.call };
            let blocks = |i| block(&case.call, i);
            sends_blocks(case.model, &own, &blocks, &mut |peer, bytes, messages| {
                let cell = cells.entry((rank, peer)).or_default();
                *cell = (cell.0 + bytes, cell.1 + messages);
            });
        }
        assert_eq!(cells, case.measured, "{line}");
        cases += 1;
    }
    assert!(cases > 250, "only {cases} cases: is the file complete?");
}
