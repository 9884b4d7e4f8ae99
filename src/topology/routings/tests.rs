//! Properties of every routing, on networks of each kind that has it.

use super::*;
use crate::topology::{Network, parse};

fn all() -> Vec<Box<dyn Topology>> {
    let graph = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines/fabrics/network.graph");
    let specs = [
        "torus:4x3x2",
        "torus:5",
        "torus:4x4x4",
        "mesh:3x4",
        "hypercube:4",
        "dragonfly:5x2x2",
        "dragonfly:3x3x1",
        "dragonfly:2x2x2",
        "fattree:4:3:2@2:1",
        &format!("graph:{graph}"),
    ];
    let mut routed = Vec::new();
    for spec in specs {
        for kind in RoutingKind::of(parse(spec).unwrap().as_ref()) {
            routed.push(parse(&format!("{spec},routing={}", kind.name())).unwrap());
        }
    }
    routed
}

/// What flows into each vertex less what flows out of it.
fn surplus(network: &dyn Network, shares: &[(usize, f64)]) -> Vec<f64> {
    let mut by_link = vec![0.0; network.links()];
    shares.iter().for_each(|&(link, share)| by_link[link] += share);
    let mut surplus = vec![0.0; network.vertices()];
    for vertex in 0..network.vertices() {
        network.neighbours(vertex, &mut |other, link| {
            surplus[vertex] -= by_link[link];
            surplus[other] += by_link[link];
        });
    }
    surplus
}

#[test]
fn bytes_are_neither_lost_nor_made() {
    for topology in all() {
        let network = topology.network().unwrap();
        let routing = network.routing();
        for a in 0..topology.slots() {
            for b in 0..topology.slots() {
                let mut shares = Vec::new();
                routing.spread(a, b, &mut |link, share| shares.push((link, share)));
                let times: Vec<f64> = (0..network.links()).map(|link| (link % 7) as f64).collect();
                let mut chosen = Vec::new();
                routing.choose(a, b, &times, &mut |link, share| chosen.push((link, share)));
                let mut all = vec![shares, chosen];
                assert!(routing.detours(a, b) == 0 || routing.has_detours(), "{}", topology.name());
                for way in 0..routing.detours(a, b) {
                    let mut links = Vec::new();
                    routing.detour(a, b, way, &mut |link| links.push((link, 1.0)));
                    all.push(links);
                }
                for shares in all.into_iter().filter(|_| a != b) {
                    for (vertex, surplus) in surplus(network, &shares).into_iter().enumerate() {
                        let want = f64::from(vertex == b) - f64::from(vertex == a);
                        assert!((surplus - want).abs() < 1e-9, "{}: {a} {b}", topology.name());
                    }
                }
            }
        }
    }
}

/// The loads of all links add up to bytes times path lengths.
#[test]
fn shortest_paths_have_the_length_of_the_distance() {
    for topology in all() {
        let network = topology.network().unwrap();
        let routing = network.routing();
        if routing.name() == "valiant" {
            continue;
        }
        for a in 0..topology.slots() {
            for b in 0..topology.slots() {
                let (mut sum, mut hops) = (0.0, 0);
                routing.spread(a, b, &mut |_, share| sum += share);
                network.route(a, b, &mut |_| hops += 1);
                assert!((sum - f64::from(hops)).abs() < 1e-9, "{}: {a} {b}", topology.name());
            }
        }
    }
}

#[test]
fn a_square_of_a_mesh_is_used_on_both_sides() {
    let mesh = parse("mesh:2x2,routing=adaptive").unwrap();
    let mut shares = Vec::new();
    mesh.network().unwrap().routing().spread(0, 3, &mut |_, share| shares.push(share));
    assert_eq!(shares, [0.5; 4]);
}

#[test]
fn messages_that_choose_avoid_what_is_loaded() {
    let mesh = parse("mesh:2x2,routing=adaptive").unwrap();
    let network = mesh.network().unwrap();
    let mut times = vec![1.0; network.links()];
    network.neighbours(0, &mut |other, link| times[link] = if other == 1 { 2.0 } else { 1.0 });
    let mut shares = Vec::new();
    network.routing().choose(0, 3, &times, &mut |link, share| shares.push((times[link], share)));
    let slow: f64 = shares.iter().filter(|(time, _)| *time > 1.5).map(|(_, share)| share).sum();
    assert!((slow - 1.0 / 17.0).abs() < 1e-9, "{shares:?}");
}

#[test]
fn a_hash_chooses_among_the_physical_links() {
    let tree = parse("fattree:4:3:2@2:1,routing=ecmp").unwrap();
    let network = tree.network().unwrap();
    let routing = network.routing();
    let mut lanes = Vec::new();
    routing.spread(0, 23, &mut |link, _| lanes.push(routing.lanes(link)));
    assert_eq!(lanes, [1.0, 2.0, 6.0, 6.0, 2.0, 1.0]);
    assert!(routing.is_hashed());
}

#[test]
fn routings_that_do_not_fit_are_refused() {
    for (spec, what) in [
        ("torus:4x4,routing=valiant", "dimension-order, adaptive"),
        ("torus:4x4,routing=shortest", "shortest"),
        ("torus:4x4,speed=3", "routing=, message=, hop= or injection="),
        ("torus:4x4,message=-1", "'-1'"),
    ] {
        let error = parse(spec).err().unwrap().to_string();
        assert!(error.contains(what) && error.contains("try:"), "{spec}: {error}");
    }
    let name = "torus:4x4,routing=adaptive,message=100";
    let topology = parse(name).unwrap();
    assert_eq!(topology.name(), name);
    assert!((topology.network().unwrap().charges().message - 100.0).abs() < 1e-9);
}
