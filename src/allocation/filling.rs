//! The host of each rank in the launcher's own order, as far as it follows from the hosts.
//!
//! | launcher | order |
//! |---|---|
//! | Open MPI 4 | The hosts are filled one after the other. Ranks beyond all slots are spread evenly, the first hosts getting one more; each host gets all of its ranks in a row. |
//! | Open MPI 5, PRRTE | The hosts are filled one after the other. With more ranks than slots the order is not known: PRRTE 3 was seen to start all of them on the first host. |
//! | hydra | The entries of the list are filled one after the other, and then again from the first, until all ranks have a host. |
//! | Slurm | Blocks, if there are exactly as many ranks as the hosts take. Otherwise the order depends on settings of the site. |
//!
//! No order ever gives a host more ranks than the launcher itself would. Sources: orte/mca/rmaps/round_robin of
//! Open MPI 4.1, src/pm/hydra of MPICH 4.0, the manual page of srun (Slurm 22.05).

use super::{Hosts, MOST};

/// How a launcher fills its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// Open MPI 4.
    Slots,
    /// Open MPI 5 and PRRTE.
    Within,
    /// hydra of MPICH and Intel MPI.
    Rounds,
    /// Slurm.
    Exact,
}

/// The host of each of `tasks` ranks, as an index of `hosts.names`; `None` if it cannot be known before the launch.
pub fn host_of_rank(hosts: &Hosts, tasks: usize, filling: Filling) -> Option<Vec<u32>> {
    if tasks == 0 || tasks > MOST || hosts.names.is_empty() {
        return None;
    }
    let totals = hosts.totals()?;
    let all: usize = totals.iter().map(|&n| n as usize).sum();
    let blocks = |counts: &[usize]| -> Vec<u32> {
        let block = |(host, &n): (usize, &usize)| std::iter::repeat_n(host as u32, n);
        counts.iter().enumerate().flat_map(block).take(tasks).collect()
    };
    let counts: Vec<usize> = totals.iter().map(|&n| n as usize).collect();
    match filling {
        Filling::Within => (tasks <= all).then(|| blocks(&counts)),
        Filling::Exact => (all == tasks).then(|| blocks(&counts)),
        Filling::Slots => {
            let beyond = tasks.saturating_sub(all);
            let (each, first) = (beyond / counts.len(), beyond % counts.len());
            let more = |(host, &n): (usize, &usize)| match beyond {
                0 => n,
                _ => n + each + usize::from(host < first),
            };
            Some(blocks(&counts.iter().enumerate().map(more).collect::<Vec<usize>>()))
        }
        Filling::Rounds => {
            let entry = |&(host, ranks): &(usize, Option<u32>)| {
                std::iter::repeat_n(host as u32, ranks.unwrap_or(0) as usize)
            };
            let round = hosts.entries.iter().flat_map(entry);
            (all > 0).then(|| round.cycle().take(tasks).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::{Allocation, HostEntry};
    use proptest::prelude::*;

    fn hosts(list: &[(&str, u32)]) -> Hosts {
        let entry =
            |&(name, ranks): &(&str, u32)| HostEntry { name: name.into(), ranks: Some(ranks) };
        Allocation { entries: list.iter().map(entry).collect(), ..Allocation::default() }
            .hosts()
            .unwrap()
    }

    #[test]
    fn orders_of_launchers() {
        let two = hosts(&[("a", 2), ("b", 1)]);
        let of = |tasks, filling| host_of_rank(&two, tasks, filling).unwrap();
        assert_eq!(of(2, Filling::Slots), [0, 0]);
        assert_eq!(of(3, Filling::Slots), [0, 0, 1]);
        assert_eq!(of(6, Filling::Slots), [0, 0, 0, 0, 1, 1], "two more on a, one more on b");
        let three = hosts(&[("a", 1), ("b", 1), ("c", 1)]);
        assert_eq!(host_of_rank(&three, 8, Filling::Slots).unwrap(), [0, 0, 0, 1, 1, 1, 2, 2]);
        assert_eq!(of(2, Filling::Within), [0, 0]);
        assert_eq!(host_of_rank(&two, 6, Filling::Within), None);
        assert_eq!(of(6, Filling::Rounds), [0, 0, 1, 0, 0, 1]);
        assert_eq!(of(3, Filling::Exact), [0, 0, 1]);
        assert_eq!(host_of_rank(&two, 2, Filling::Exact), None);
        let repeated = hosts(&[("a", 1), ("b", 1), ("a", 1)]);
        assert_eq!(host_of_rank(&repeated, 3, Filling::Rounds).unwrap(), [0, 1, 0]);
        assert_eq!(host_of_rank(&repeated, 3, Filling::Slots).unwrap(), [0, 0, 1]);
        assert_eq!(host_of_rank(&repeated, 0, Filling::Slots), None);
    }

    proptest! {
        #[test]
        fn no_host_gets_more_than_its_slots_unless_there_are_too_few(
            ranks in prop::collection::vec(1u32..6, 1..8), tasks in 1usize..60
        ) {
            let names: Vec<String> = (0..ranks.len()).map(|k| format!("n{k}")).collect();
            let list: Vec<(&str, u32)> = names.iter().map(String::as_str).zip(ranks.clone()).collect();
            let hosts = hosts(&list);
            let all: usize = ranks.iter().map(|&n| n as usize).sum();
            for filling in
                [Filling::Slots, Filling::Within, Filling::Rounds, Filling::Exact]
            {
                let Some(order) = host_of_rank(&hosts, tasks, filling) else {
                    let is_unknown = match filling {
                        Filling::Exact => all != tasks,
                        Filling::Within => all < tasks,
                        Filling::Slots | Filling::Rounds => false,
                    };
                    prop_assert!(is_unknown);
                    continue;
                };
                prop_assert_eq!(order.len(), tasks);
                for (host, &most) in ranks.iter().enumerate() {
                    let on = order.iter().filter(|&&h| h as usize == host).count();
                    prop_assert!(tasks > all || on <= most as usize);
                }
            }
        }
    }
}
