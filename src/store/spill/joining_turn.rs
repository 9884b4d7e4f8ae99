//! Which nodes of a job join its parts, and when.
//!
//! When a job is killed, all of its nodes recover what they have at about the same time. If each of them joined the
//! parts of all others, a job of 1000 nodes would read a million files of the shared file system. Therefore each node
//! stores its own parts, and joins them with those of others only when it is its turn: as long as there are few nodes,
//! then at sixteen numbers of nodes between one power of two and the next, and when all tasks are there. One node
//! joins at a time. It has a file `JOB.joining` for as long as that takes. A node that finds this file leaves the
//! rest to its owner: the owner looks again after it has removed its file, so it sees the parts that came meanwhile. The
//! node that completes the job does not rely on this, because the owner may be killed: it waits until the record is
//! made, and else makes it.
//!
//! Limits: if a node never stores its parts, up to one in sixteen of the other nodes is not in the record. Their parts
//! wait, and `rankweave recover` on a node without files of the job adds them.

use crate::base::file;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file `JOB.joining` older than this belongs to a process that was killed.
const LONGEST: Duration = Duration::from_secs(60);
/// Up to so many nodes, each one joins.
const FEW: usize = 32;

/// The parts of a job that wait in a store, as the names of their files say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Nodes that have stored their parts.
    pub nodes: usize,
    /// Tasks of these nodes. `None` if a file of an earlier version is there, whose name does not tell.
    pub tasks: Option<usize>,
}

impl Census {
    /// Whether the node that has just stored its parts joins those of all, for a job of so many tasks.
    pub fn is_turn(&self, tasks: usize) -> bool {
        let step = self.nodes.div_ceil(FEW).next_power_of_two();
        self.nodes.is_multiple_of(step) || self.has_all(tasks)
    }

    /// Whether the parts of all tasks may be there.
    pub fn has_all(&self, tasks: usize) -> bool {
        self.tasks.is_none_or(|there| there >= tasks)
    }
}

/// The turn of one node. It ends when this is dropped.
#[derive(Debug)]
pub struct Turn {
    /// The file that others see. `None` if it could not be made, as in a folder without permission.
    file: Option<PathBuf>,
}

impl Turn {
    /// Begins a turn; `None` if another node has it.
    pub fn begin(file: PathBuf) -> Option<Turn> {
        let make = || OpenOptions::new().write(true).create_new(true).open(&file);
        let is_taken = |e: &std::io::Error| {
            e.kind() == std::io::ErrorKind::AlreadyExists && file::is_own(&file)
        };
        match make() {
            Ok(_) => Some(Turn { file: Some(file) }),
            Err(e) if is_taken(&e) => {
                // Nodes that find the old file at the same time may each get a turn, which costs time only.
                let own = file.with_extension(format!("joining.{}", std::process::id()));
                if !is_old(&file) || std::fs::rename(&file, &own).is_err() {
                    return None;
                }
                let _ = std::fs::remove_file(own);
                make().is_ok().then_some(Turn { file: Some(file) })
            }
            Err(_) => Some(Turn::unseen()),
        }
    }

    /// A turn that other nodes do not see. Parts that are joined twice cost time, and are joined in the same way.
    pub fn unseen() -> Turn {
        Turn { file: None }
    }
}

/// A file that has just been removed is not old. Neither is one whose time has not come yet: clocks differ.
fn is_old(file: &Path) -> bool {
    let time = file.symlink_metadata().and_then(|meta| meta.modified());
    time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > LONGEST))
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn the_work_grows_with_the_number_of_nodes_and_not_with_its_square() {
        let turns = |last: usize| {
            let tasks = Some(0);
            (1..=last).filter(|&nodes| Census { nodes, tasks }.is_turn(1)).collect::<Vec<usize>>()
        };
        assert_eq!(turns(32), (1..=32).collect::<Vec<_>>());
        for nodes in [100, 1000, 4096, 20_000] {
            let read: usize = turns(nodes).iter().sum();
            assert!(read <= 33 * nodes, "{read} files are read for {nodes} nodes");
        }
        // What docs/decisions/0100 says: these turns, and that of the last node, which has all tasks.
        let (before, last) = (turns(1000), 1000);
        assert_eq!((before.iter().sum::<usize>() + last, before.len() + 1), (24_808, 112));
    }

    #[test]
    fn the_last_node_joins() {
        for nodes in 1..200 {
            assert!(Census { nodes, tasks: Some(4 * nodes) }.is_turn(4 * nodes));
            assert!(Census { nodes, tasks: None }.is_turn(4 * nodes));
        }
        assert!(!Census { nodes: 33, tasks: Some(33) }.is_turn(34));
    }

    #[test]
    fn one_node_has_the_turn_until_it_ends_or_is_long_dead() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("J.joining");
        let begin = || Turn::begin(file.clone());
        let first = begin();
        assert!(first.is_some() && begin().is_none());
        drop(first);
        assert!(!file.exists());
        std::mem::forget(begin());
        assert!(begin().is_none());
        let old = SystemTime::now() - 2 * LONGEST;
        std::fs::File::open(&file).unwrap().set_modified(old).unwrap();
        assert!(begin().is_some() && !file.exists());
        assert!(Turn::begin(dir.path().join("none/J.joining")).is_some());
    }
}
