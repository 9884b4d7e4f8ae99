//! A sparse directed traffic matrix in compressed rows.
//!
//! Limits: at most `u32::MAX` tasks; sums saturate at `u64::MAX` instead of wrapping.
//!
//! A matrix can count its bytes in halves. Files of undirected graphs need this: a pair whose weight is odd has
//! half a byte in each direction.

use crate::base::compressed_rows;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use std::ops::Range;

/// Bytes and messages from one task to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Payload bytes (datatype size × count; no protocol headers).
    pub bytes: u64,
    /// Number of messages, those of zero bytes included.
    pub messages: u64,
}

impl Traffic {
    /// Adds, saturating.
    pub fn add(&mut self, other: Traffic) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.messages = self.messages.saturating_add(other.messages);
    }

    /// True if neither bytes nor messages were sent.
    pub fn is_zero(&self) -> bool {
        self.bytes == 0 && self.messages == 0
    }
}

/// A `tasks` × `tasks` matrix of [`Traffic`]: row = sender, column = receiver.
///
/// Invariants: the columns of a row ascend strictly; no cell is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Stored")]
pub struct SparseMatrix {
    rows: Rows,
    columns: Vec<u32>,
    cells: Vec<Traffic>,
    /// The bytes of the cells are halves of bytes. Never stored: records count whole bytes.
    halves: bool,
}

/// Where the rows begin.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rows {
    /// No row has an entry; the number of rows. A file of a line can name millions of tasks, and two of the three
    /// layers of such a matrix are empty.
    Empty(usize),
    /// The place of the first entry of each row, and the end of the last row.
    At(Vec<usize>),
}

impl Default for Rows {
    fn default() -> Self {
        Rows::Empty(0)
    }
}

/// The form in files: the offsets are always listed.
#[derive(Deserialize)]
#[serde(rename = "SparseMatrix")]
struct Stored {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    cells: Vec<Traffic>,
}

impl From<Stored> for SparseMatrix {
    fn from(stored: Stored) -> Self {
        let Stored { offsets, columns, cells } = stored;
        let empty = columns.is_empty() && cells.is_empty() && offsets.iter().all(|&o| o == 0);
        let rows = match offsets.len().checked_sub(1) {
            Some(tasks) if empty => Rows::Empty(tasks),
            _ => Rows::At(offsets),
        };
        SparseMatrix { rows, columns, cells, halves: false }
    }
}

impl Serialize for SparseMatrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("SparseMatrix", 3)?;
        match &self.rows {
            Rows::Empty(tasks) => fields.serialize_field("offsets", &Zeros(tasks + 1))?,
            Rows::At(offsets) => fields.serialize_field("offsets", offsets)?,
        }
        fields.serialize_field("columns", &self.columns)?;
        fields.serialize_field("cells", &self.cells)?;
        fields.end()
    }
}

/// A list of so many zeros.
struct Zeros(usize);

impl Serialize for Zeros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::repeat_n(0usize, self.0))
    }
}

impl SparseMatrix {
    /// A matrix of `tasks` tasks without traffic.
    pub fn empty(tasks: usize) -> Self {
        let (columns, cells) = (Vec::new(), Vec::new());
        SparseMatrix { rows: Rows::Empty(tasks), columns, cells, halves: false }
    }

    /// The same numbers, but the bytes of the cells now count halves of bytes.
    #[must_use]
    pub fn counted_in_halves(self) -> Self {
        SparseMatrix { halves: true, ..self }
    }

    /// True if the bytes of the cells count halves of bytes.
    pub fn counts_halves(&self) -> bool {
        self.halves
    }

    /// The matrix counted in whole bytes. Half a byte is rounded up from a task to a task with a larger number, and
    /// down in the other direction. So a pair keeps its sum if both directions have half a byte.
    #[must_use]
    pub fn in_whole_bytes(self) -> Self {
        if !self.halves {
            return self;
        }
        let whole = |i: u32, j: u32, bytes: u64| if i < j { bytes.div_ceil(2) } else { bytes / 2 };
        let entries: Vec<(u32, u32, Traffic)> = self
            .entries()
            .map(|(i, j, t)| (i, j, Traffic { bytes: whole(i, j, t.bytes), ..t }))
            .collect();
        SparseMatrix::from_entries(self.tasks(), &entries)
    }

    /// The sum of several matrices of `tasks` tasks, in halves of bytes if one of them is.
    pub fn sum_of(tasks: usize, parts: &[&SparseMatrix]) -> Self {
        let halves = parts.iter().any(|part| part.halves);
        let entries: Vec<(u32, u32, Traffic)> = parts
            .iter()
            .flat_map(|part| {
                let factor = 1 + u64::from(halves && !part.halves);
                let scaled =
                    move |t: Traffic| Traffic { bytes: t.bytes.saturating_mul(factor), ..t };
                part.entries().map(move |(i, j, t)| (i, j, scaled(t)))
            })
            .collect();
        SparseMatrix { halves, ..SparseMatrix::from_entries(tasks, &entries) }
    }

    /// Builds from `(sender, receiver, traffic)` in any order; duplicates are added up, zero cells
    /// dropped.
    ///
    /// Entries with a task `>= tasks` are ignored. Readers of files have to look for them first, so that
    /// they can report them.
    pub fn from_entries(tasks: usize, entries: &[(u32, u32, Traffic)]) -> Self {
        let counts = |(i, j, t): &&(u32, u32, Traffic)| {
            (*i as usize) < tasks && (*j as usize) < tasks && !t.is_zero()
        };
        let kept = || entries.iter().filter(counts);
        let offsets = compressed_rows::offsets(tasks, kept().map(|entry| entry.0 as usize));
        if offsets[tasks] == 0 {
            return SparseMatrix::empty(tasks);
        }
        let count = offsets[tasks];
        let (mut columns, mut cells) = (Vec::with_capacity(count), Vec::with_capacity(count));
        if entries.windows(2).all(|two| (two[0].0, two[0].1) < (two[1].0, two[1].1)) {
            columns.extend(kept().map(|entry| entry.1));
            cells.extend(kept().map(|entry| entry.2));
            return SparseMatrix { rows: Rows::At(offsets), columns, cells, halves: false };
        }
        let mut next = offsets.clone();
        columns.resize(count, 0);
        cells.resize(count, Traffic::default());
        for &(i, j, traffic) in kept() {
            let at = &mut next[i as usize];
            (columns[*at], cells[*at]) = (j, traffic);
            *at += 1;
        }
        drop(next);
        let mut matrix = SparseMatrix { rows: Rows::At(offsets), columns, cells, halves: false };
        matrix.sort_rows();
        matrix
    }

    /// Builds from rows: row `i` has the columns and cells from `offsets[i]` to `offsets[i + 1]`, in any order.
    /// `None` if they are no square rows, a column is in a row twice, or a cell is zero.
    pub fn from_rows(
        offsets: Vec<usize>,
        columns: Vec<u32>,
        cells: Vec<Traffic>,
    ) -> Option<SparseMatrix> {
        let ends = (offsets.first(), offsets.last());
        let count = columns.len();
        if ends != (Some(&0), Some(&count))
            || cells.len() != count
            || offsets.windows(2).any(|w| w[0] > w[1])
        {
            return None;
        }
        if count == 0 {
            return Some(SparseMatrix::empty(offsets.len() - 1));
        }
        let mut matrix = SparseMatrix { rows: Rows::At(offsets), columns, cells, halves: false };
        matrix.sort_rows();
        (matrix.columns.len() == count && matrix.is_valid()).then_some(matrix)
    }

    /// Sorts each row by column, and adds up the cells of a column that is in a row several times.
    fn sort_rows(&mut self) {
        let Rows::At(offsets) = &mut self.rows else { return };
        let mut row: Vec<(u32, Traffic)> = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for offset in &mut offsets[1..] {
            let range = begin..*offset;
            begin = *offset;
            let columns = &self.columns[range.clone()];
            if columns.is_sorted_by(|a, b| a < b) {
                if end < range.start {
                    self.columns.copy_within(range.clone(), end);
                    self.cells.copy_within(range.clone(), end);
                }
                end += range.len();
            } else {
                row.clear();
                row.extend(columns.iter().copied().zip(self.cells[range].iter().copied()));
                row.sort_unstable_by_key(|&(column, _)| column);
                for same in row.chunk_by(|a, b| a.0 == b.0) {
                    let mut sum = Traffic::default();
                    same.iter().for_each(|&(_, traffic)| sum.add(traffic));
                    (self.columns[end], self.cells[end]) = (same[0].0, sum);
                    end += 1;
                }
            }
            *offset = end;
        }
        self.columns.truncate(end);
        self.cells.truncate(end);
    }

    /// True if both directions of every pair have the same traffic.
    ///
    /// Rows are visited in ascending order, so those that send to a task come in the order of the entries in its own
    /// row. One place for each row is therefore enough: that of its next entry below the diagonal.
    pub fn is_symmetric(&self) -> bool {
        let Rows::At(offsets) = &self.rows else { return true };
        let mut next = offsets[..self.tasks()].to_vec();
        for (i, ends) in offsets.windows(2).enumerate() {
            // Every entry below the diagonal has been met from its other side, or there is none on that side.
            let mut at = next[i];
            if at < ends[1] && (self.columns[at] as usize) < i {
                return false;
            }
            at += usize::from(at < ends[1] && self.columns[at] as usize == i);
            for k in at..ends[1] {
                let j = self.columns[k] as usize;
                let other = next[j];
                let mirrored = other < offsets[j + 1]
                    && self.columns[other] as usize == i
                    && self.cells[other] == self.cells[k];
                if !mirrored {
                    return false;
                }
                next[j] = other + 1;
            }
        }
        true
    }

    /// True if a task has traffic with itself.
    pub fn has_diagonal(&self) -> bool {
        (0..self.tasks()).any(|i| self.row(i).any(|(j, _)| j as usize == i))
    }

    /// Number of tasks (rows and columns).
    pub fn tasks(&self) -> usize {
        match &self.rows {
            Rows::Empty(tasks) => *tasks,
            Rows::At(offsets) => offsets.len().saturating_sub(1),
        }
    }

    /// The places of the entries of row `i`.
    fn places(&self, i: usize) -> Range<usize> {
        match &self.rows {
            Rows::Empty(_) => 0..0,
            Rows::At(offsets) => offsets[i]..offsets[i + 1],
        }
    }

    /// Number of ordered pairs with traffic.
    pub fn pairs(&self) -> usize {
        self.columns.len()
    }

    /// What task `i` sent: `(receiver, traffic)` by ascending receiver.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, Traffic)> + '_ {
        let range = self.places(i);
        self.columns[range.clone()].iter().copied().zip(self.cells[range].iter().copied())
    }

    /// What task `i` sent to task `j`.
    pub fn get(&self, i: usize, j: usize) -> Traffic {
        let range = self.places(i);
        match self.columns[range.clone()].binary_search(&(j as u32)) {
            Ok(k) => self.cells[range.start + k],
            Err(_) => Traffic::default(),
        }
    }

    /// All `(sender, receiver, traffic)` by row, then column.
    pub fn entries(&self) -> impl Iterator<Item = (u32, u32, Traffic)> + '_ {
        (0..self.tasks()).flat_map(move |i| self.row(i).map(move |(j, t)| (i as u32, j, t)))
    }

    /// The bytes between tasks on different nodes.
    pub fn bytes_between<N: PartialEq>(&self, node_of_task: impl Fn(usize) -> N) -> u64 {
        self.entries()
            .filter(|&(i, j, _)| node_of_task(i as usize) != node_of_task(j as usize))
            .fold(0, |sum, (_, _, traffic)| sum.saturating_add(traffic.bytes))
    }

    /// Sum over all pairs.
    pub fn total(&self) -> Traffic {
        let mut sum = Traffic::default();
        for cell in &self.cells {
            sum.add(*cell);
        }
        sum
    }

    /// Checks the invariants; used after reading a matrix from a file.
    pub fn is_valid(&self) -> bool {
        let rows_are_valid = match &self.rows {
            Rows::Empty(_) => self.columns.is_empty(),
            Rows::At(offsets) => compressed_rows::are_valid(offsets, &self.columns),
        };
        rows_are_valid
            && self.columns.len() == self.cells.len()
            && self.tasks() <= u32::MAX as usize
            && self.cells.iter().all(|c| !c.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn t(bytes: u64, messages: u64) -> Traffic {
        Traffic { bytes, messages }
    }

    #[test]
    fn adds_duplicates_and_drops_zeros() {
        let m = SparseMatrix::from_entries(3, &[(2, 0, t(5, 1)), (0, 1, t(0, 0)), (2, 0, t(7, 2))]);
        assert_eq!(m.pairs(), 1);
        assert_eq!(m.get(2, 0), t(12, 3));
        assert_eq!(m.get(0, 2), t(0, 0));
        assert!(m.is_valid());
    }

    #[test]
    fn symmetry_is_exact() {
        // A pair that has one direction only, beside another pair that has only the other direction.
        for (low, high) in [(0, 5), (1, 4), (2, 3), (0, 1)] {
            for other in 0..high {
                let entries = [(low, high, t(3, 1)), (high, other, t(3, 1))];
                let m = SparseMatrix::from_entries(6, &entries);
                assert_eq!(m.is_symmetric(), other == low, "{low} {high} {other}");
            }
        }
        let differs = |cell| SparseMatrix::from_entries(2, &[(0, 1, t(3, 1)), (1, 0, cell)]);
        assert!(differs(t(3, 1)).is_symmetric());
        assert!(!differs(t(3, 2)).is_symmetric() && !differs(t(4, 1)).is_symmetric());
        assert!(SparseMatrix::empty(3).is_symmetric());
    }

    #[test]
    fn empty_has_no_pairs() {
        for n in [0, 1, 4] {
            let m = SparseMatrix::empty(n);
            assert_eq!((m.tasks(), m.pairs()), (n, 0));
            assert!(m.is_valid());
        }
    }

    #[test]
    fn halves_keep_the_sum_of_a_pair() {
        let of = |entries: &[_]| SparseMatrix::from_entries(3, entries);
        let halves = of(&[(0, 1, t(3, 1)), (1, 0, t(3, 1)), (2, 1, t(1, 4))]).counted_in_halves();
        assert!(halves.counts_halves());
        let sum = SparseMatrix::sum_of(3, &[&halves, &of(&[(0, 1, t(5, 1))])]);
        assert_eq!((sum.get(0, 1), sum.get(2, 1)), (t(13, 2), t(1, 4)));
        let whole = halves.in_whole_bytes();
        assert!(!whole.counts_halves());
        assert_eq!(whole, of(&[(0, 1, t(2, 1)), (1, 0, t(1, 1)), (2, 1, t(0, 4))]));
        assert_eq!(whole.clone().in_whole_bytes(), whole);
    }

    #[test]
    fn files_list_the_offsets_of_empty_rows() {
        let text = r#"{"offsets":[0,0,0],"columns":[],"cells":[]}"#;
        let empty: SparseMatrix = serde_json::from_str(text).unwrap();
        assert_eq!(empty, SparseMatrix::empty(2));
        assert_eq!(empty, SparseMatrix::from_entries(2, &[]));
        assert_eq!(serde_json::to_string(&empty).unwrap(), text);
        let of = |text: &str| serde_json::from_str::<SparseMatrix>(text).unwrap().is_valid();
        assert!(!of(r#"{"offsets":[],"columns":[],"cells":[]}"#));
        assert!(!of(r#"{"offsets":[0,1],"columns":[],"cells":[]}"#));
        assert!(!of(r#"{"offsets":[0,0],"columns":[0],"cells":[]}"#));
    }

    proptest! {
        #[test]
        fn rows_in_any_order_are_the_matrix_of_their_entries(
            raw in prop::collection::vec((0u32..7, 0u32..7, 0u64..3, 0u64..3), 0..30)) {
            let entries: Vec<_> = raw.iter().map(|&(i, j, b, m)| (i, j, t(b, m))).collect();
            let expected = SparseMatrix::from_entries(7, &entries);
            let mut by_row = entries.clone();
            by_row.sort_by_key(|entry| entry.0);
            let offsets = compressed_rows::offsets(7, entries.iter().map(|entry| entry.0 as usize));
            let columns = by_row.iter().map(|entry| entry.1).collect();
            let found = SparseMatrix::from_rows(offsets, columns, by_row.iter().map(|e| e.2).collect());
            let mut pairs: Vec<(u32, u32)> = entries.iter().map(|e| (e.0, e.1)).collect();
            pairs.sort_unstable();
            let odd = pairs.windows(2).any(|w| w[0] == w[1]) || entries.iter().any(|e| e.2.is_zero());
            prop_assert_eq!(found, (!odd).then_some(expected));
        }

        #[test]
        fn symmetry_is_seen(raw in prop::collection::vec((0u32..6, 0u32..6, 1u64..3), 0..12), mirrored in any::<bool>()) {
            let one: Vec<_> = raw.iter().map(|&(i, j, b)| (i, j, t(b, 1))).collect();
            let other = one.iter().map(|&(i, j, t)| (j, i, t)).filter(|_| mirrored);
            let all: Vec<_> = one.iter().copied().chain(other).collect();
            let m = SparseMatrix::from_entries(6, &all);
            let same = (0..6).all(|i| (0..6).all(|j| m.get(i, j) == m.get(j, i)));
            prop_assert_eq!(m.is_symmetric(), same);
            prop_assert_eq!(m.has_diagonal(), (0..6).any(|i| !m.get(i, i).is_zero()));
        }

        #[test]
        fn entries_round_trip(raw in prop::collection::vec((0u32..9, 0u32..9, 0u64..5, 0u64..5), 0..60)) {
            let entries: Vec<_> = raw.iter().map(|&(i, j, b, m)| (i, j, t(b, m))).collect();
            let matrix = SparseMatrix::from_entries(9, &entries);
            prop_assert!(matrix.is_valid());
            let again: Vec<_> = matrix.entries().collect();
            prop_assert_eq!(&SparseMatrix::from_entries(9, &again), &matrix);
            let sum: u64 = entries.iter().map(|e| e.2.bytes).sum();
            prop_assert_eq!(matrix.total().bytes, sum);
            for i in 0..9usize { for j in 0..9usize {
                let want: u64 = entries.iter().filter(|e| e.0 as usize == i && e.1 as usize == j).map(|e| e.2.messages).sum();
                prop_assert_eq!(matrix.get(i, j).messages, want);
            }}
        }
    }
}
