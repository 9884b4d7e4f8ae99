//! The tasks and the pairs of tasks with most traffic.

use crate::matrix::{SparseMatrix, Traffic};
use serde::Serialize;

/// The traffic that a task sent, and the number of its receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sender {
    /// The task.
    pub task: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// Messages sent.
    pub messages: u64,
    /// Number of receivers.
    pub receivers: usize,
}

/// Traffic of two tasks, both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// The lower task.
    pub a: u32,
    /// The higher task.
    pub b: u32,
    /// Bytes both ways.
    pub bytes: u64,
    /// Messages both ways.
    pub messages: u64,
    /// True if the tasks were on different nodes; `None` if the nodes are not known.
    pub internode: Option<bool>,
}

/// The tasks that send most bytes, the most first.
pub(super) fn top_senders(matrix: &SparseMatrix, most: usize) -> Vec<Sender> {
    let sender = |task: usize| {
        let mut sum = Traffic::default();
        matrix.row(task).for_each(|(_, t)| sum.add(t));
        let Traffic { bytes, messages } = sum;
        Sender { task: task as u32, bytes, messages, receivers: matrix.row(task).count() }
    };
    let senders = (0..matrix.tasks()).map(sender);
    let mut senders: Vec<Sender> = senders.filter(|s| s.receivers > 0).collect();
    senders.sort_by_key(|s| (std::cmp::Reverse(s.bytes), s.task));
    senders.truncate(most);
    senders
}

/// The pairs with most traffic, both directions added up. Traffic of a task with itself does not count.
pub fn top_pairs(
    matrix: &SparseMatrix,
    most: usize,
    node_of: &dyn Fn(usize) -> Option<usize>,
) -> Vec<Pair> {
    // The list stays sorted and short, because a full matrix has too many pairs to sort them all.
    let mut top: Vec<Pair> = Vec::new();
    for (i, j, there) in matrix.entries().filter(|e| e.0 != e.1) {
        let back = matrix.get(j as usize, i as usize);
        if i > j && !back.is_zero() {
            continue;
        }
        let mut both = there;
        both.add(back);
        let (a, b) = (i.min(j), i.max(j));
        let rank = |p: &Pair| (std::cmp::Reverse(p.bytes), p.a, p.b);
        let mut pair = Pair { a, b, bytes: both.bytes, messages: both.messages, internode: None };
        let position = top.partition_point(|p| rank(p) < rank(&pair));
        if position >= most {
            continue;
        }
        pair.internode =
            node_of(a as usize).zip(node_of(b as usize)).map(|(first, second)| first != second);
        top.insert(position, pair);
        top.truncate(most);
    }
    top
}
