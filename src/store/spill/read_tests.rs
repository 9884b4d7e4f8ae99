//! Tests of reading spill files: files with the documented layout are read correctly, and no content of a file
//! causes a panic.

use super::*;
use crate::store::spill::{JobDescription, Order};
use proptest::prelude::*;

/// Puts a spill file together as the library does.
struct Builder(Vec<u8>);

impl Builder {
    fn new(tasks: u32, task: u32) -> Self {
        let job = JobDescription {
            id: 3,
            tasks,
            key: "k".into(),
            model: "logical".into(),
            ..JobDescription::default()
        };
        let order = Some(Order::default());
        let about = About { job, task, process: task, pid: 9, host: "n".into(), order };
        let mut builder = Builder(layout::header(&about.encode()));
        builder.pad();
        builder
    }

    fn pad(&mut self) {
        let length = self.0.len().next_multiple_of(layout::ALIGN);
        self.0.resize(length, 0);
    }

    fn region(mut self, mut head: Head, elements: u64, body: &[u8]) -> Self {
        head.count = elements;
        head.length = (layout::HEAD + body.len()).next_multiple_of(layout::ALIGN) as u64;
        self.0.extend(head.to_bytes());
        self.0.extend(body);
        self.pad();
        self
    }

    fn row(self, kind: usize, cells: &[(u64, u64)]) -> Self {
        let head = Head { tag: tag::ROW, number: kind as u64, ..Head::default() };
        let body: Vec<u8> =
            cells.iter().flat_map(|c| [c.0.to_ne_bytes(), c.1.to_ne_bytes()]).flatten().collect();
        self.region(head, cells.len() as u64, &body)
    }

    fn communicator(self, number: u64, shape: [u32; 4], tasks: &[u32]) -> Self {
        let head = Head { tag: tag::COMMUNICATOR, number, shape, ..Head::default() };
        let body: Vec<u8> = tasks.iter().flat_map(|t| t.to_ne_bytes()).collect();
        self.region(head, tasks.len() as u64, &body)
    }

    fn calls(self, entries: &[(Entry, u64)]) -> Self {
        let mut body = Vec::new();
        for (entry, calls) in entries {
            let mut bytes = entry.to_bytes();
            bytes[layout::CALLS..layout::CALLS + 8].copy_from_slice(&calls.to_ne_bytes());
            body.extend(bytes);
        }
        // A list has room for more.
        body.resize(body.len() + 2 * layout::ENTRY, 0);
        let head = Head { tag: tag::COLLECTIVES, ..Head::default() };
        self.region(head, entries.len() as u64 + 2, &body)
    }

    /// Gives the last region back, as it is; it began at `at`.
    fn give_back(mut self, at: usize) -> Self {
        self.0[at..at + 4].copy_from_slice(&layout::GIVEN_BACK.to_ne_bytes());
        self
    }

    /// Space that was reserved and is not used.
    fn gap(mut self, length: usize) -> Self {
        self.0.resize(self.0.len() + length, 0);
        self
    }
}

fn traffic(bytes: u64, messages: u64) -> Traffic {
    Traffic { bytes, messages }
}

fn operation(operation: Operation) -> u32 {
    Operation::ALL.iter().position(|&o| o == operation).unwrap() as u32
}

fn bcast(communicator: u64, bytes: u64, root: u32) -> Entry {
    let operation = operation(Operation::Bcast);
    Entry { communicator, bytes, operation, root, element: 1, flags: layout::COMMUTATIVE }
}

/// A file of everything: two rows of one kind (two threads), fetched bytes, collective calls on the
/// world, on half of it in reverse order, and on an intercommunicator.
fn full() -> Vec<u8> {
    let mut file = Builder::new(4, 1)
        .row(0, &[(10, 1), (0, 0), (30, 3), (0, 0), (99, 9)])
        .gap(192)
        .row(0, &[(1, 1), (0, 0), (0, 0), (5, 1), (0, 0)])
        .row(layout::FETCHED, &[(0, 0), (0, 0), (7, 1), (0, 0), (0, 0)])
        .communicator(1, [1, 4, 4, layout::IDENTITY], &[])
        .communicator(2, [1, 2, 2, 0], &[3, 1])
        .communicator(3, [0, 1, 2, layout::INTER], &[2, layout::NO_TASK])
        .calls(&[
            (bcast(1, 100, 1), 2),
            (bcast(2, 8, 1), 3),
            (bcast(2, 8, 0), 50),
            (bcast(3, 4, layout::ROOT_MYSELF), 1),
        ])
        .gap(640)
        .0;
    file[word::ENDED] = 1;
    file
}

#[test]
fn everything_in_a_file_is_added_up() {
    let part = read(&full()).unwrap();
    assert_eq!((part.about.task, part.about.job.tasks, part.said_end), (1, 4, true));
    assert_eq!(part.gaps, Gaps::default());
    assert_eq!(part.sent[0], [(0, traffic(11, 2)), (2, traffic(30, 3)), (3, traffic(5, 1))]);
    // 2 × 100 bytes from root 1 to everybody, 3 × 8 from rank 1 of the half to task 3, 4 across to
    // task 2; as no root it sends nothing.
    assert_eq!(
        part.sent[1],
        [(0, traffic(200, 2)), (2, traffic(204, 3)), (3, traffic(200 + 24, 5))]
    );
    assert_eq!(part.sent[2], []);
    assert_eq!(part.fetched, [(2, traffic(7, 1))]);
    assert_eq!(part.messages(), 2 + 3 + 1 + 2 + 3 + 5 + 1);
}

#[test]
fn regions_given_back_are_passed_over() {
    let file = Builder::new(4, 1);
    let at = file.0.len();
    let file = file
        .communicator(2, [1, 2, 2, 0], &[0xffff, 0xffff])
        .give_back(at)
        .row(0, &[(10, 1), (0, 0), (0, 0), (0, 0), (0, 0)]);
    let part = read(&file.0).unwrap();
    assert_eq!((part.gaps, part.messages()), (Gaps::default(), 1));
}

#[test]
fn what_cannot_be_expanded_is_said() {
    let file =
        |communicators: Builder| read(&communicators.calls(&[(bcast(2, 8, 1), 3)]).0).unwrap();
    // No such communicator; a rank whose task is not known; a damaged table.
    let nobody = Builder::new(4, 1).row(0, &[(0, 0); 5]);
    assert_eq!(file(nobody).gaps.unexpanded, 3);
    let unknown = Builder::new(4, 1).communicator(2, [1, 2, 2, 0], &[u32::MAX, 1]);
    assert_eq!(file(unknown).gaps.unexpanded, 3);
    let wrong = Builder::new(4, 1).communicator(2, [7, 2, 2, 0], &[3, 1]);
    let gaps = file(wrong).gaps;
    assert_eq!((gaps.unexpanded, gaps.damaged), (3, 1));
    assert_eq!(gaps.words().len(), 2);
    let mut folding = full();
    folding[word::FOLDING] = 1;
    folding[word::UNRESERVED] = 2;
    let gaps = read(&folding).unwrap().gaps;
    assert_eq!((gaps.folding, gaps.unreserved), (true, 2));
}

#[test]
fn other_files_and_versions_are_refused() {
    let good = full();
    let kind = |bytes: &[u8]| read(bytes).unwrap_err().kind();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    assert_eq!(kind(b"RKSPILL\n"), ErrorKind::Format);
    assert_eq!(kind(&with(0, 0)), ErrorKind::Format);
    assert_eq!(kind(&with(8, 200)), ErrorKind::NewerVersion);
    assert_eq!(kind(&with(12, 1)), ErrorKind::Format);
    assert_eq!(kind(&with(layout::HEADER + 3, 77)), ErrorKind::Format);
    assert_eq!(kind(&good[..80]), ErrorKind::Format);
    let impossible = Builder::new(4, 4);
    assert_eq!(kind(&impossible.0), ErrorKind::Format);
}

/// A file cut anywhere has what is in front of the cut.
#[test]
fn truncated_files_give_their_whole_regions() {
    let good = full();
    let mut most = 0;
    for length in 0..good.len() {
        if let Ok(part) = read(&good[..length]) {
            most = most.max(part.messages());
        }
    }
    assert_eq!(most, read(&good).unwrap().messages());
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let mut behind = Builder::new(4, 1).0;
        behind.extend(bytes);
        let _ = read(&behind);
    }

    /// A changed byte changes counters, or is found, and never changes whose file it is.
    #[test]
    fn any_changed_byte_is_survived(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = full();
        let about = read(&bytes).unwrap().about;
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(part) = read(&bytes) {
            prop_assert_eq!(part.about, about);
        }
    }

    /// Regions with a right checksum and numbers that cannot be.
    #[test]
    fn any_numbers_are_survived(
        tag in 0u32..5, number in 0u64..5, count in prop_oneof![0u64..40, any::<u64>()],
        shape in prop::array::uniform4(prop_oneof![0u32..9, any::<u32>()]),
        entry in (0u64..4, any::<u64>(), 0u32..20, prop_oneof![0u32..5, any::<u32>()], any::<u32>(), 0u32..4),
        calls in any::<u64>(),
        body in prop::collection::vec(any::<u32>(), 0..40),
    ) {
        let body: Vec<u8> = body.iter().flat_map(|n| n.to_ne_bytes()).collect();
        let head = Head { tag, number, shape, ..Head::default() };
        let (communicator, bytes, operation, root, element, flags) = entry;
        let entry = Entry { communicator, bytes, operation, root, element, flags };
        let file = Builder::new(4, 1)
            .row(0, &[(1, 1); 5])
            .communicator(1, [1, 4, 4, layout::IDENTITY], &[])
            .communicator(2, [1, 2, 2, 0], &[3, 1])
            .region(head, count, &body)
            .calls(&[(entry, calls)]);
        let part = read(&file.0).unwrap();
        for row in part.sent.iter().chain([&part.fetched]) {
            prop_assert!(row.iter().all(|(task, _)| *task < 4));
            prop_assert!(row.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
