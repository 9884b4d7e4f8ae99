//! Which tasks of a slot are worth an exchange with a task of another slot.
//!
//! For each two slots with traffic between them, the list has the tasks on the first slot that have a partner on the
//! second one, or had that slot before, and a few tasks that lose little wherever they go. Where a task wants back to
//! its previous slot, that slot has such a list as well. The tasks that gain most by the move come first. The lists are
//! those at the beginning of a round. A task of a list may have moved since, so its slot is checked and its gain is
//! computed anew.

use super::move_costs::MoveCosts;
use super::nearby::Nearby;

/// The lists of all pairs of slots.
pub(super) struct SwapPartners {
    /// From, to, and where the list begins; ascending.
    pairs: Vec<(u32, u32, u32)>,
    /// Gain and task; in each list the largest gain first.
    list: Vec<(i128, u32)>,
}

/// Stands for no task: the pair of slots has a list nevertheless.
const NO_TASK: u32 = u32::MAX;

/// A task that may go from one slot to another.
struct Candidate {
    from: u32,
    to: u32,
    gain: i128,
    task: u32,
}

impl SwapPartners {
    /// The most tasks of a list whose gain is computed anew.
    pub(super) const TRIED: usize = 16;

    /// The length of a list: more than [`Self::TRIED`], because some do not fit or have moved.
    const KEPT: usize = 64;

    /// How many tasks that lose little are in the lists of each slot.
    const LOOSE: usize = 8;

    pub(super) fn new(
        costs: MoveCosts<'_, '_>,
        pinned: &[bool],
        slot_of_task: &[usize],
        nearby: &mut Nearby<'_>,
    ) -> SwapPartners {
        let distances = costs.distances;
        let mut all: Vec<Candidate> = Vec::new();
        // By slot, the weight to other tasks of the slot and the task, the loosest first.
        let mut loose: Vec<Vec<(i128, u32)>> = vec![Vec::new(); costs.problem.topology.slots()];
        for (task, &from) in slot_of_task.iter().enumerate() {
            if pinned[task] {
                continue;
            }
            nearby.look(task, slot_of_task);
            let own = nearby.cost(from, distances);
            for to in nearby.slots().chain(costs.home_beside(task, nearby)) {
                if to != from {
                    let gain = own - nearby.cost(to, distances) - costs.dearer(task, from, to);
                    let (from, to) = (from as u32, to as u32);
                    all.push(Candidate { from, to, gain, task: task as u32 });
                }
            }
            // A task that wants back to a slot on which it has no partner needs a list of that slot.
            if let Some(home) = costs.home_beside(task, nearby).filter(|&home| home != from) {
                let (from, to) = (home as u32, from as u32);
                all.push(Candidate { from, to, gain: i128::MIN, task: NO_TASK });
            }
            keep_loosest(&mut loose[from], (nearby.weight_on(from), task as u32));
        }
        all.sort_unstable_by_key(|c| (c.from, c.to, std::cmp::Reverse(c.gain), c.task));
        let mut partners = SwapPartners { pairs: Vec::new(), list: Vec::new() };
        for list in all.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)) {
            let (from, to) = (list[0].from as usize, list[0].to as usize);
            partners.pairs.push((list[0].from, list[0].to, partners.list.len() as u32));
            let start = partners.list.len();
            let kept = list.iter().filter(|c| c.task != NO_TASK).take(Self::KEPT);
            partners.list.extend(kept.map(|c| (c.gain, c.task)));
            for &(_, task) in &loose[from] {
                if partners.list[start..].iter().all(|listed| listed.1 != task) {
                    let gain = costs.gain(task as usize, from, to, slot_of_task);
                    partners.list.push((gain, task));
                }
            }
            partners.list[start..]
                .sort_unstable_by_key(|&(gain, task)| (std::cmp::Reverse(gain), task));
        }
        partners
    }

    /// Tasks of slot `from` for slot `to`, each with its gain at the beginning of the round, the largest first.
    pub(super) fn between(&self, from: usize, to: usize) -> impl Iterator<Item = (i128, u32)> + '_ {
        let key = (from as u32, to as u32);
        let found = self.pairs.binary_search_by_key(&key, |&(from, to, _)| (from, to));
        let range = found.map_or(0..0, |k| {
            let end = self.pairs.get(k + 1).map_or(self.list.len(), |next| next.2 as usize);
            self.pairs[k].2 as usize..end
        });
        self.list[range].iter().copied()
    }
}

/// Adds a task to the loosest ones of a slot, if it is one.
fn keep_loosest(loose: &mut Vec<(i128, u32)>, task: (i128, u32)) {
    let at = loose.partition_point(|kept| *kept <= task);
    if at < SwapPartners::LOOSE {
        loose.truncate(SwapPartners::LOOSE - 1);
        loose.insert(at, task);
    }
}
