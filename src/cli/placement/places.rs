//! Where the launcher would place the ranks by itself, before there is a process.
//!
//! The nodes follow from the hosts of the launch. Where the description of the hosts leaves something to the launcher
//! (the number of cores of a host), the recorded launch says it, if it ran on the same hosts. The places inside the
//! nodes are those of the recorded launch if its nodes had the same ranks, so that the mapping problem is the one
//! that the library would solve inside the launch.

use super::Refusal;
use super::launch_hosts::LaunchHosts;
use crate::allocation::filling::{Filling, host_of_rank};
use crate::allocation::{Allocation, Hosts, short_name};
use crate::base::nouns::counted;
use crate::base::numbering::by_first_appearance;
use crate::base::permutation::is_permutation;
use crate::store::{Placement, Record};
use crate::topology::{UNPLACED, costs};
use std::collections::HashMap;

/// The places of the ranks in the launcher's own order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// The places, with the names of the hosts as the launcher knows them.
    pub(super) placement: Placement,
    /// For each node, its number in the launcher's list of hosts.
    pub(super) number_of_node: Vec<u32>,
}

impl Places {
    /// The places of `tasks` ranks. Errors: the hosts or their numbers of ranks cannot be known; there is one host.
    pub(super) fn of(
        hosts: &LaunchHosts,
        tasks: usize,
        filling: Filling,
        record: Option<&Record>,
    ) -> Result<Places, Refusal> {
        let recorded = record.map(|record| &record.launch.placement);
        let Some(allocation) = hosts.asked() else {
            let several = recorded.is_some_and(|placement| placement.node_names.len() > 1);
            return Err(match several {
                true => Refusal::new(
                    "the hosts of this launch cannot be known before it: neither its command line \
                     nor a batch system names them",
                    "name the hosts on the command line of the launcher, each with its number of ranks",
                ),
                false => Refusal::usual("all ranks are on one host"),
            });
        };
        let list = allocation.hosts().map_err(Refusal::unreadable)?;
        if matches!(filling, Filling::Slots | Filling::Within) {
            check_slots(&list, tasks, hosts.allows_more, &allocation)?;
        }
        let order =
            host_of_rank(&list, tasks, filling).or_else(|| as_recorded(&list, recorded?, tasks));
        let order = order.ok_or_else(|| {
            Refusal::new(
                format!(
                    "how many ranks each host takes cannot be known before the launch ({} does not \
                     say it for {})",
                    allocation.source,
                    counted(tasks, "rank")
                ),
                "give the number of ranks of each host (slots=N, HOST:N, --ntasks-per-node N)",
            )
        })?;
        let (node_of_process, numbers) = by_first_appearance(order);
        if numbers.len() < 2 {
            return Err(Refusal::usual("all ranks are on one host"));
        }
        let names = numbers.iter().map(|&host| list.names[host as usize].clone()).collect();
        let listed = numbers_in_list(&list);
        let number_of_node = numbers.iter().map(|&host| listed[host as usize]).collect();
        let placement = inside(Placement::of_nodes(node_of_process, names), recorded);
        Ok(Places { placement, number_of_node })
    }
}

/// Errors: Open MPI starts so many ranks only if the user allows more ranks than slots, and never more than `max_slots`.
/// Its mapper `seq`, which reads the file, would start them.
fn check_slots(
    list: &Hosts,
    tasks: usize,
    allows_more: bool,
    allocation: &Allocation,
) -> Result<(), Refusal> {
    let Some(totals) = list.totals() else { return Ok(()) };
    let slots: usize = totals.iter().map(|&n| n as usize).sum();
    if tasks <= slots || allows_more && !allocation.has_limits {
        return Ok(());
    }
    let what = format!(
        "{} has {} for {}",
        allocation.source,
        counted(slots, "slot"),
        counted(tasks, "rank")
    );
    Err(match allows_more {
        true => Refusal::new(
            format!("{what}, and max_slots limits the further ones"),
            "give the hosts more slots, or leave max_slots out",
        ),
        false => {
            Refusal::new(what, "give the hosts more slots, or allow more ranks: --oversubscribe")
        }
    })
}

/// Whether every process of a launch was bound to one core.
pub(super) fn has_cores(placement: &Placement) -> bool {
    // The node is the first level, and not part of the places.
    let level = placement.level_names.iter().position(|name| name == "core");
    let Some(level) = level.and_then(|level| level.checked_sub(1)) else { return false };
    let is_core = |place: &Vec<u32>| place.get(level).is_some_and(|&core| core != UNPLACED);
    !placement.place_of_process.is_empty() && placement.place_of_process.iter().all(is_core)
}

/// The node of each process of a recorded launch, as indices of this list of hosts; `None` if the launch had other
/// hosts or another number of ranks.
fn as_recorded(list: &Hosts, placement: &Placement, tasks: usize) -> Option<Vec<u32>> {
    let nodes = &placement.node_of_process;
    if nodes.len() != tasks || list.names.len() != placement.node_names.len() {
        return None;
    }
    let listed: HashMap<String, u32> =
        list.names.iter().map(|name| short_name(name)).zip(0..).collect();
    let hosts: Option<Vec<u32>> =
        placement.node_names.iter().map(|name| listed.get(&short_name(name)).copied()).collect();
    // Two recorded nodes of different domains may have one short name, and are two hosts.
    let hosts = hosts.filter(|hosts| is_permutation(hosts))?;
    nodes.iter().map(|&node| hosts.get(node as usize).copied()).collect()
}

/// The number of each host in a list in which repeated hosts count once if they follow each other, as hydra numbers
/// them. A host that occurs several times has its first number.
fn numbers_in_list(list: &Hosts) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; list.names.len()];
    let mut next = 0;
    let mut before = usize::MAX;
    for &(host, _) in &list.entries {
        if host != before {
            numbers[host] = numbers[host].min(next);
            next += 1;
        }
        before = host;
    }
    numbers
}

/// Adds the places inside the nodes: those of the recorded launch if it had the same nodes, or none.
fn inside(mut placement: Placement, recorded: Option<&Placement>) -> Placement {
    let alike = recorded.filter(|r| {
        r.node_of_process == placement.node_of_process
            && r.place_of_process.len() == r.node_of_process.len()
            && !r.level_costs.is_empty()
    });
    match alike {
        Some(recorded) => {
            placement.place_of_process.clone_from(&recorded.place_of_process);
            placement.level_costs.clone_from(&recorded.level_costs);
            placement.level_names.clone_from(&recorded.level_names);
        }
        None => {
            placement.level_names = vec!["node".into()];
            placement.level_costs = costs::of_levels(&placement.level_names);
            placement.place_of_process = vec![Vec::new(); placement.node_of_process.len()];
        }
    }
    placement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::host_list;
    use crate::matrix::CommMatrix;

    fn hosts(list: &str) -> LaunchHosts {
        let allocation = host_list::with_counts(list, "--host").unwrap();
        LaunchHosts { allocation: Some(allocation), ..LaunchHosts::default() }
    }

    fn record(nodes: &[u32], names: &[&str]) -> Record {
        let mut record = Record::of_matrix("k", CommMatrix::empty(nodes.len()));
        let names = names.iter().map(|n| n.to_string()).collect();
        record.launch.placement = Placement::of_nodes(nodes.to_vec(), names);
        record
    }

    #[test]
    fn places_follow_from_hosts_or_from_the_same_hosts_as_recorded() {
        let of = |list: &str, tasks, record: Option<&Record>| {
            Places::of(&hosts(list), tasks, Filling::Slots, record)
        };
        let places = of("a:2,b:2", 4, None).unwrap().placement;
        assert_eq!(
            (places.node_of_process, places.node_names.join(" ")),
            (vec![0, 0, 1, 1], "a b".into())
        );
        let cyclic = record(&[0, 1, 0, 1], &["b.site", "A"]);
        let places = of("a:*,b:*", 4, Some(&cyclic)).unwrap();
        assert_eq!(places.placement.node_names, ["b", "a"], "as recorded");
        assert_eq!(places.placement.node_of_process, [0, 1, 0, 1]);
        assert_eq!(places.number_of_node, [1, 0]);
        for (list, what) in [
            ("a:*,b:*", "how many ranks"),
            ("a:*,c:*", "how many ranks"),
            ("a:4", "one host"),
            ("a:4,b:4", "one host"),
        ] {
            let other = record(&[0, 1], &["a", "b"]);
            let refusal = of(list, 4, Some(&other)).unwrap_err();
            assert!(refusal.what.contains(what), "{list}: {}", refusal.what);
        }
        let nowhere = LaunchHosts::default();
        let refusal = |record| Places::of(&nowhere, 4, Filling::Slots, record).unwrap_err();
        assert!(refusal(Some(&cyclic)).what.contains("cannot be known before it"));
        assert!(refusal(None).is_usual);
    }

    #[test]
    fn places_inside_nodes_are_those_of_a_launch_with_the_same_nodes() {
        let mut recorded = record(&[0, 0, 1, 1], &["x", "y"]);
        recorded.launch.placement.place_of_process = vec![vec![0], vec![1], vec![0], vec![1]];
        recorded.launch.placement.level_names = vec!["node".into(), "core".into()];
        recorded.launch.placement.level_costs = vec![100, 2, 1];
        let of = |list: &str| {
            Places::of(&hosts(list), 4, Filling::Slots, Some(&recorded)).unwrap().placement
        };
        let alike = of("a:2,b:2");
        assert_eq!(alike.place_of_process, recorded.launch.placement.place_of_process);
        assert_eq!(of("a:1,b:3").level_names, ["node"]);
    }

    #[test]
    fn recorded_nodes_of_two_domains_are_not_one_host() {
        let other = record(&[0, 1, 2, 2], &["a.east", "a.west", "b"]);
        let of = |list: &str| Places::of(&hosts(list), 4, Filling::Slots, Some(&other));
        for list in ["a:*,b:*", "a:*,b:*,c:*"] {
            assert!(of(list).unwrap_err().what.contains("how many ranks"), "{list}");
        }
        let refusal = of("n0.east:2,n0.west:2,b:4").unwrap_err();
        assert!(refusal.what.contains("two hosts are called n0"), "{}", refusal.what);
    }

    #[test]
    fn many_recorded_hosts_are_found_in_a_short_time() {
        let count = 20_000u32;
        let names: Vec<String> = (0..count).map(|k| format!("node{k:05}.cluster.site")).collect();
        let mut recorded = Record::of_matrix("k", CommMatrix::empty(count as usize));
        recorded.launch.placement = Placement::of_nodes((0..count).rev().collect(), names);
        let list: Vec<String> = (0..count).map(|k| format!("node{k:05}:*")).collect();
        let list = host_list::with_counts(&list.join(","), "--host").unwrap().hosts().unwrap();
        let begun = std::time::Instant::now();
        let order = as_recorded(&list, &recorded.launch.placement, count as usize).unwrap();
        assert_eq!(order, (0..count).rev().collect::<Vec<u32>>());
        // The comparison of every name with every other one took minutes.
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
