//! The permutations that constructors of topologies gave in this launch, by their question.
//!
//! Traffic is measured by task. If a topology is made again, in this launch or the next one, the traffic of its
//! vertices is needed. It is the traffic of the tasks that had these vertices during the measurement. The
//! process that found a permutation keeps it. At the end of the job, the newest permutations go to rank 0 with
//! the rows of the process, and into the record.
//!
//! Limits: a process keeps its newest `MOST`. If one question got different permutations, all its traffic
//! is taken for that of the last one.

use crate::store::Constructed;

/// Permutations that a process keeps.
const MOST: usize = 4;
/// The largest number of vertices in a record, for each task.
const PER_TASK: usize = 8;

/// The permutations that a process found.
#[derive(Debug, Default)]
pub struct ConstructedOrders {
    newest_first: Vec<Constructed>,
}

impl ConstructedOrders {
    /// None yet.
    pub const fn new() -> Self {
        ConstructedOrders { newest_first: Vec::new() }
    }

    /// Keeps an answer in place of an earlier one to the same question. `None` means that the ranks stayed;
    /// then only the earlier answer is removed.
    pub fn keep(&mut self, question: u64, task_of_vertex: Option<Vec<u32>>) {
        self.newest_first.retain(|one| one.question != question);
        if let Some(task_of_vertex) = task_of_vertex {
            self.newest_first.truncate(MOST - 1);
            self.newest_first.insert(0, Constructed { question, task_of_vertex });
        }
    }

    /// The latest answer to a question in this launch.
    pub fn answer(&self, question: u64) -> Option<Constructed> {
        self.newest_first.iter().find(|one| one.question == question).cloned()
    }

    /// Removes all kept answers and returns them, the newest first.
    pub fn take(&mut self) -> Vec<Constructed> {
        std::mem::take(&mut self.newest_first)
    }
}

/// Adds the permutations that a process kept to those of others, up to the limit for a record of `tasks` tasks.
/// Impossible permutations are left out.
pub fn add(all: &mut Vec<Constructed>, more: Vec<Constructed>, tasks: usize) {
    for one in more {
        let vertices: usize = all.iter().map(|c| c.task_of_vertex.len()).sum();
        if one.is_sound(tasks) && vertices + one.task_of_vertex.len() <= PER_TASK * tasks {
            all.push(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_answers_stay() {
        let mut orders = ConstructedOrders::new();
        for question in 0..6 {
            orders.keep(question, Some(vec![question as u32, 9]));
        }
        orders.keep(4, Some(vec![1, 0]));
        orders.keep(5, None);
        assert_eq!(orders.answer(4).map(|one| one.task_of_vertex), Some(vec![1, 0]));
        assert_eq!(orders.answer(5), None);
        assert_eq!(orders.take().iter().map(|one| one.question).collect::<Vec<_>>(), [4, 3, 2]);
        assert_eq!(orders.answer(4), None);
    }

    #[test]
    fn a_record_gets_a_bounded_number_of_sound_ones() {
        let of = |tasks: &[u32]| Constructed { question: 1, task_of_vertex: tasks.to_vec() };
        let mut all = Vec::new();
        add(&mut all, vec![of(&[1, 0]), of(&[0, 2]), of(&[1, 1]), of(&[])], 2);
        assert_eq!(all, [of(&[1, 0])]);
        add(&mut all, vec![of(&[0, 1]); 20], 2);
        assert_eq!(all.len(), PER_TASK);
    }
}
