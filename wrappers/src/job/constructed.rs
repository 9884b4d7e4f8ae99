//! The permutations that constructors of topologies found in this launch, by the question.
//!
//! Traffic is measured between tasks. A topology that is made again, in this launch or the next one,
//! needs the traffic between its vertices: between the tasks that had these vertices when it was
//! measured. Each permutation is kept by the process that found it; the newest ones go to rank 0 with
//! the process's rows, and into the record.
//!
//! Limits: a process keeps the newest [`MOST`]. If topologies of one question had different permutations,
//! their traffic is taken for that of the last one.

use parking_lot::Mutex;
use rw::store::Constructed;

/// Orders that a process keeps.
const MOST: usize = 4;
/// In a record there are so many vertices for each task at most.
const PER_TASK: usize = 8;

static EARLIER: Mutex<Vec<Constructed>> = Mutex::new(Vec::new());

/// Keeps an answer in place of an earlier one to the same question; `None`: all are where they were.
pub fn keep(question: u64, task_of_vertex: Option<Vec<u32>>) {
    let mut earlier = EARLIER.lock();
    earlier.retain(|one| one.question != question);
    if let Some(task_of_vertex) = task_of_vertex {
        earlier.truncate(MOST - 1);
        earlier.insert(0, Constructed { question, task_of_vertex });
    }
}

/// The latest answer to a question in this launch.
pub fn answer(question: u64) -> Option<Constructed> {
    EARLIER.lock().iter().find(|one| one.question == question).cloned()
}

/// All that is kept, at the end of the job.
pub fn take() -> Vec<Constructed> {
    std::mem::take(&mut *EARLIER.lock())
}

/// Adds what a process kept to that of others, as far as a record of so many tasks is to have it; what
/// cannot be right is left out.
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
        for question in 0..6 {
            keep(question, Some(vec![question as u32, 9]));
        }
        keep(4, Some(vec![1, 0]));
        keep(5, None);
        assert_eq!(answer(4).map(|one| one.task_of_vertex), Some(vec![1, 0]));
        assert_eq!(answer(5), None);
        assert_eq!(take().iter().map(|one| one.question).collect::<Vec<_>>(), [4, 3, 2]);
        assert_eq!(answer(4), None);
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
