//! A matrix whose rows arrive process by process.

use super::{CommMatrix, Kind, SparseMatrix, Traffic};

/// The rows of all processes, put together on rank 0.
#[derive(Debug)]
pub struct Collected {
    tasks: usize,
    entries: [Vec<(u32, u32, Traffic)>; 3],
    /// The rows of at least one process are missing.
    pub incomplete: bool,
}

impl Collected {
    /// No rows yet.
    pub fn new(tasks: usize) -> Self {
        Collected { tasks, entries: Default::default(), incomplete: false }
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Adds the traffic that a task sent, by kind. Also adds the one-sided traffic that it fetched from other
    /// tasks, which counts as sent by these tasks.
    pub fn add(
        &mut self,
        task: usize,
        sent: &[Vec<(u32, Traffic)>; 3],
        fetched: &[(u32, Traffic)],
    ) {
        let task = task as u32;
        for (entries, row) in self.entries.iter_mut().zip(sent) {
            entries.extend(row.iter().map(|&(to, traffic)| (task, to, traffic)));
        }
        let onesided = &mut self.entries[Kind::OneSided as usize];
        onesided.extend(fetched.iter().map(|&(from, traffic)| (from, task, traffic)));
    }

    /// The matrix of all rows that were added.
    pub fn matrix(self) -> CommMatrix {
        let layers = self.entries.map(|e| SparseMatrix::from_entries(self.tasks, &e));
        CommMatrix { layers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetched_bytes_belong_to_the_row_of_the_target() {
        let traffic = Traffic { bytes: 8, messages: 1 };
        let mut collected = Collected::new(3);
        collected.add(2, &[vec![(0, traffic)], vec![], vec![]], &[(1, traffic)]);
        let matrix = collected.matrix();
        assert_eq!(matrix.layer(Kind::PointToPoint).get(2, 0), traffic);
        assert_eq!(matrix.layer(Kind::OneSided).get(1, 2), traffic);
    }
}
