//! Tests of measured networks in the store.

use super::*;
use crate::store::stored_survey::{LONGEST_UNCERTAIN, renumbered};
use crate::store::{LONGEST_KEPT, MeasuredNetwork};
use crate::survey::{Evidence, Surveyed};
use std::collections::HashSet;

fn names(hosts: &[u32]) -> Vec<String> {
    hosts.iter().map(|host| format!("n{host}")).collect()
}

/// What a survey finds on a cluster with four hosts below each switch.
fn network(hosts: &[u32], at: u64) -> MeasuredNetwork {
    let path = |host: &u32| vec![host / 4];
    MeasuredNetwork {
        level_names: vec!["leaf".into()],
        group_of_host: renumbered(hosts.iter().map(path).collect(), 1),
        bandwidths: vec![4e6, 1e6],
        latencies: Vec::new(),
        measured_at: at,
        evidence: Evidence::default(),
        is_certain: true,
    }
}

fn store_with(surveys: &[(&[u32], u64)]) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s"));
    for &(hosts, at) in surveys {
        store.keep_measured_network(&names(hosts), &network(hosts, at)).unwrap();
    }
    (dir, store)
}

fn groups(store: &Store, hosts: &[u32], now: u64) -> Option<Vec<u32>> {
    let found = store.measured_network(&names(hosts), now).unwrap()?;
    Some(found.group_of_host.iter().map(|path| path[0]).collect())
}

#[test]
fn parts_of_a_survey_are_known_in_any_order() {
    let (_dir, store) = store_with(&[(&[0, 1, 4, 5, 8, 9], 10)]);
    assert_eq!(groups(&store, &[9, 0, 8, 4, 1], 11), Some(vec![0, 1, 0, 2, 1]));
    assert_eq!(groups(&store, &[0, 2], 11), None);
    assert_eq!(groups(&store, &[0, 1], 10 + LONGEST_KEPT), Some(vec![0, 0]));
    assert_eq!(groups(&store, &[0, 1], 11 + LONGEST_KEPT), None, "too old");
    assert_eq!(store.forget_measured_networks().unwrap(), 1);
    assert_eq!(groups(&store, &[0, 1], 11), None);
    assert_eq!(Store::open("/nonexistent/x").measured_network(&names(&[1]), 1).unwrap(), None);
}

#[test]
fn surveys_with_common_hosts_are_joined() {
    let (_dir, store) =
        store_with(&[(&[0, 1, 4, 5], 10), (&[2, 1, 5, 6], 11), (&[8, 9, 12, 13], 12)]);
    assert_eq!(groups(&store, &[0, 2, 4, 6], 13), Some(vec![0, 0, 1, 1]));
    // Nothing says how these are connected.
    assert_eq!(groups(&store, &[0, 4, 8, 12], 13), None);
    store.keep_measured_network(&names(&[0, 5, 8, 13]), &network(&[0, 5, 8, 13], 14)).unwrap();
    assert_eq!(groups(&store, &[0, 4, 9, 12, 2], 15), Some(vec![0, 1, 2, 3, 0]));
}

#[test]
fn of_two_surveys_that_contradict_each_other_the_newer_one_counts() {
    let (_dir, store) = store_with(&[(&[0, 1, 4, 5], 10)]);
    let moved = MeasuredNetwork {
        group_of_host: vec![vec![0], vec![1], vec![0], vec![1]],
        ..network(&[0, 1, 4, 5], 20)
    };
    store.keep_measured_network(&names(&[0, 1, 4, 6]), &moved).unwrap();
    assert_eq!(groups(&store, &[0, 1, 4, 6], 21), Some(vec![0, 1, 0, 1]));
    assert_eq!(groups(&store, &[0, 1, 6, 5], 21), None);
}

#[test]
fn the_newest_are_kept() {
    let (_dir, store) = store_with(&[]);
    for at in 0..MOST_NETWORKS as u32 + 5 {
        let hosts = [at, at + 1000];
        store.keep_measured_network(&names(&hosts), &network(&hosts, u64::from(at))).unwrap();
    }
    assert_eq!(store.network_files().unwrap().len(), MOST_NETWORKS);
    assert_eq!(groups(&store, &[0, 1000], 100), None);
    assert!(groups(&store, &[MOST_NETWORKS as u32, MOST_NETWORKS as u32 + 1000], 100).is_some());
}

#[test]
fn whatever_is_wrong_with_a_file_it_counts_as_absent() {
    let hosts = [0, 1, 4, 5];
    let (_dir, store) = store_with(&[(&hosts, 10)]);
    let path = store.network_files().unwrap().remove(0);
    let good = fs::read(&path).unwrap();
    let mut flipped = good.clone();
    flipped[30] ^= 4;
    let sealed =
        |survey: &StoredSurvey| seal(MAGIC, VERSION, &postcard::to_allocvec(survey).unwrap());
    let survey = StoredSurvey { hosts: names(&hosts), network: network(&hosts, 10) };
    let changed = |change: fn(&mut StoredSurvey)| {
        let mut survey = survey.clone();
        change(&mut survey);
        sealed(&survey)
    };
    assert_eq!(sealed(&survey), good);
    for bad in [
        good[..0].to_vec(),
        good[..good.len() - 1].to_vec(),
        flipped,
        changed(|s| s.hosts[1] = "n0".into()),
        changed(|s| s.network.group_of_host[0].clear()),
        changed(|s| s.network.bandwidths[0] = f64::NAN),
        changed(|s| s.network.latencies = vec![1.0]),
        changed(|s| s.hosts.clear()),
    ] {
        fs::write(&path, bad).unwrap();
        assert_eq!(groups(&store, &hosts, 11), None);
        store.keep_measured_network(&names(&hosts), &network(&hosts, 10)).unwrap();
        assert!(groups(&store, &hosts, 11).is_some());
    }
    let mut newer = good;
    newer[8] = 99;
    fs::write(&path, &newer).unwrap();
    assert_eq!(groups(&store, &hosts, 11), None);
    assert!(store.keep_measured_network(&names(&hosts), &network(&hosts, 10)).is_err());
    assert_eq!(fs::read(&path).unwrap(), newer, "that of a newer version stays");
    assert!(store.keep_measured_network(&names(&[1]), &network(&hosts, 10)).is_err());
}

#[test]
fn levels_have_names() {
    let surveyed = Surveyed { levels: vec![vec![0, 0, 1], vec![0, 1, 2]], ..Surveyed::default() };
    let network = MeasuredNetwork::of(&surveyed, 3, 5);
    assert_eq!(network.level_names, ["level2", "leaf"]);
    assert_eq!(network.group_of_host, [[0, 0], [0, 1], [1, 2]]);
}

#[test]
fn a_survey_without_a_certain_end_replaces_nothing_and_is_forgotten_soon() {
    let (_dir, store) = store_with(&[(&[0, 1, 4, 5], 10)]);
    let hosts = [0, 1, 4, 5];
    let cut = MeasuredNetwork {
        level_names: Vec::new(),
        group_of_host: vec![vec![]; 4],
        bandwidths: Vec::new(),
        measured_at: 20,
        is_certain: false,
        ..network(&hosts, 20)
    };
    store.keep_measured_network(&names(&hosts), &cut).unwrap();
    assert_eq!(groups(&store, &hosts, 21), Some(vec![0, 0, 1, 1]));
    let others = [2, 3, 6, 7];
    store.keep_measured_network(&names(&others), &cut).unwrap();
    let known = |now| store.measured_network(&names(&others), now).unwrap();
    assert!(known(20 + LONGEST_UNCERTAIN).is_some_and(|network| network.is_flat()));
    assert_eq!(known(21 + LONGEST_UNCERTAIN), None);
}

/// Joining compared all pairs of groups for each survey and kept the first process in MPI_Init for minutes.
#[test]
fn many_surveys_of_parts_of_a_large_cluster_are_joined_soon() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("s"));
    let mut random = crate::base::random::SplitMix64::new(1);
    let mut part = || {
        let chosen: HashSet<u32> = (0..500).map(|_| random.below(1000) as u32).collect();
        Vec::from_iter(chosen)
    };
    for at in 0..MOST_NETWORKS as u64 {
        let hosts = part();
        store.keep_measured_network(&names(&hosts), &network(&hosts, at)).unwrap();
    }
    let hosts = part();
    let begin = std::time::Instant::now();
    let found = groups(&store, &hosts, 100);
    let took = begin.elapsed().as_secs_f64();
    println!("{MOST_NETWORKS} surveys of up to 500 hosts: {took:.3} s");
    let found = found.expect("all pairs are known");
    for (a, &host) in hosts.iter().enumerate() {
        assert!((0..a).all(|b| (found[a] == found[b]) == (host / 4 == hosts[b] / 4)));
    }
}
