//! Whether a list of slots is a mapping.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::topology::Topology;

/// Checks that `slot_of_task` gives each of `tasks` tasks a slot of `topology`, and no slot more
/// than `capacity` tasks.
///
/// Errors name the first violation: a wrong number of tasks, a slot that does not exist, a slot that
/// is full.
pub fn check_mapping(
    tasks: usize,
    topology: &dyn Topology,
    slot_of_task: &[usize],
    capacity: u32,
) -> Result<()> {
    let bad = |what: String| Error::new(ErrorKind::Infeasible, what);
    if slot_of_task.len() != tasks {
        return Err(bad(format!(
            "the mapping has {} for {}",
            counted(slot_of_task.len(), "entry"),
            counted(tasks, "task")
        ))
        .advise("write one line for each task; line i (from 0) is the slot of task i"));
    }
    let slots = topology.slots();
    let mut used = vec![0u32; slots];
    for (task, &slot) in slot_of_task.iter().enumerate() {
        let Some(count) = used.get_mut(slot) else {
            return Err(bad(format!("task {task} is on slot {slot}, which does not exist"))
                .at(topology.name())
                .advise(format!("use slots 0 to {}", slots.saturating_sub(1))));
        };
        *count += 1;
        if *count > capacity {
            let first = slot_of_task.iter().position(|&s| s == slot).unwrap_or(task);
            let what = match capacity {
                1 => format!("slot {slot} is used twice: by task {first} and by task {task}"),
                _ => format!("slot {slot} is used by more than {capacity} tasks"),
            };
            return Err(bad(what)
                .at(topology.name())
                .advise("give each task a slot of its own, or use --oversubscribe"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Grid;

    #[test]
    fn violations_are_named() {
        let ring = Grid::torus(&[4]).unwrap();
        assert!(check_mapping(3, &ring, &[2, 0, 3], 1).is_ok());
        assert!(check_mapping(3, &ring, &[2, 0, 2], 2).is_ok());
        for (tasks, mapping, capacity, what) in [
            (3, vec![0, 1], 1, "2 entries for 3 tasks"),
            (2, vec![0, 4], 1, "slot 4, which does not exist"),
            (3, vec![2, 0, 2], 1, "slot 2 is used twice: by task 0 and by task 2"),
            (3, vec![2, 2, 2], 2, "more than 2 tasks"),
        ] {
            let error = check_mapping(tasks, &ring, &mapping, capacity).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
