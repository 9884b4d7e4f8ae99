//! Mapping as a user asks for it: odd input, every algorithm, loads, prices for moves, noise.

use crate::support::{Place, Run};
use serde_json::Value;

fn json(place: &Place, args: &[&str]) -> Value {
    serde_json::from_str(&place.ok(args)).expect("JSON")
}

fn mapping(out: &str) -> Vec<usize> {
    out.lines().map(|l| l.parse().expect("a slot")).collect()
}

/// Error with an exit code of 2, a message that says what to try, and no output.
fn refused(run: &Run, part: &str) {
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.err.contains(part) && run.err.starts_with("rankweave: "), "{part}: {}", run.err);
}

#[test]
fn odd_matrices_get_right_answers() {
    let place = Place::new();
    let header = "src,dst,bytes,messages\n";
    let huge = u64::MAX / 2;
    for (name, text, tasks, hop_bytes) in [
        ("one", "0,0,5,1\n".to_string(), 1, 0u128),
        ("silent", "0,1,0,1\n".to_string(), 2, 0),
        ("self", "0,0,99,1\n0,1,3,1\n".to_string(), 2, 3),
        ("duplicates", "0,1,3,1\n0,1,4,1\n1,0,5,1\n".to_string(), 2, 12),
        ("asymmetric", "0,1,3,1\n1,2,4,1\n".to_string(), 3, 7),
        ("disconnected", "0,1,3,1\n2,3,4,1\n5,5,1,1\n".to_string(), 6, 7),
        ("huge", format!("0,1,{huge},1\n1,0,{huge},1\n"), 2, 2 * u128::from(huge)),
    ] {
        let file = place.file(&format!("{name}.csv"), format!("{header}{text}"));
        for topology in ["mesh:8", "tree:2:2:2", "dragonfly:2x2x2"] {
            let args = ["map", "--matrix", &file, "--topology", topology];
            let order = mapping(&place.ok(&args));
            assert_eq!(order.len(), tasks, "{name}");
            let mut used = order.clone();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used.len(), tasks, "{name}: {order:?}");
            let answer = json(&place, &[&args[..], &["--json"]].concat());
            assert!(answer["cost"].as_f64() <= answer["identity_cost"].as_f64(), "{name}");
            if topology == "mesh:8" {
                assert_eq!(answer["cost"].to_string(), hop_bytes.to_string(), "{name}");
            }
        }
    }
    let empty = place.file("empty.csv", header);
    let run = place.run(&["map", "--matrix", &empty, "--topology", "mesh:8"]);
    assert!(matches!(run.code, Some(0 | 2)) && run.out.is_empty(), "{run:?}");
    let nothing = place.file("nothing.csv", "");
    refused(&place.run(&["map", "--matrix", &nothing, "--topology", "mesh:8"]), "try:");
}

#[test]
fn every_algorithm_takes_odd_matrices_or_says_why_not() {
    let place = Place::new();
    let file = place.file(
        "m.csv",
        "src,dst,bytes,messages\n0,1,3,1\n1,0,9,2\n2,2,8,1\n3,4,18446744073709551615,1\n6,5,1,1\n",
    );
    let list = place.ok(&["map", "--algorithm", "list", "--matrix", &file, "--topology", "mesh:8"]);
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{list}");
    for name in names {
        for extra in [&[][..], &["--slots", "1,3,5,7", "--oversubscribe", "2"]] {
            let args = ["map", "--matrix", &file, "--topology", "torus:3x3", "--algorithm", name];
            let run = place.run(&[&args[..], extra].concat());
            if run.code == Some(0) {
                assert_eq!(mapping(&run.out).len(), 7, "{name}");
            } else {
                refused(&run, "try:");
            }
        }
    }
}

#[test]
fn impossible_wishes_are_refused_with_advice() {
    let place = Place::new();
    let file = place.file("m.csv", "src,dst,bytes,messages\n0,1,3,1\n1,2,3,1\n");
    let loads = place.file("loads", "1\n2\n");
    let order = place.file("order", "0\n1\n2\n3\n");
    let map = |extra: &[&str]| {
        place.run(&[&["map", "--matrix", &file, "--topology", "mesh:4"][..], extra].concat())
    };
    refused(&map(&["--fix", "0=1,1=1"]), "slot 1");
    refused(&map(&["--fix", "0=1,0=2"]), "two slots");
    refused(&map(&["--slots", "0,1"]), "--oversubscribe");
    refused(&map(&["--slots", "0,1", "--fix", "0=3", "--oversubscribe", "2"]), "slot 3");
    refused(&map(&["--weights", &loads]), "2 loads are given for 3 tasks");
    refused(&map(&["--previous", &order]), "4 tasks");
    refused(&map(&["--previous", "missing"]), "missing");
    let other = ["--previous", &order, "--objective", "max-com"];
    refused(&map(&other), "previous");
    refused(&map(&["--weights", &loads, "--previous", &order]), "4 tasks");
    let alone = map(&["--migration-cost", "5"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
    let dist = place.file("dist", "0 1 1\n1 0 1\n1 1 0\n");
    let topology = format!("dist:{dist}");
    for objective in ["mc", "mmc", "time"] {
        let run = place.run(&[
            "map",
            "--matrix",
            &file,
            "--topology",
            &topology,
            "--objective",
            objective,
        ]);
        refused(&run, "needs links");
    }
}

#[test]
fn loads_are_balanced() {
    let place = Place::new();
    // A path of twelve tasks, heavy at one end.
    let mut text = "src,dst,bytes,messages\n".to_string();
    (0..11).for_each(|t| text += &format!("{t},{},10,1\n", t + 1));
    let file = place.file("path.csv", text);
    let loads = place.file("loads", "6\n6\n2\n2\n2\n2\n2\n2\n# light\n2\n2\n4\n4\n");
    let args = ["map", "--matrix", &file, "--topology", "mesh:3", "--weights", &loads];
    let order = mapping(&place.ok(&args));
    assert_eq!(order.len(), 12);
    let answer = json(&place, &[&args[..], &["--imbalance", "0", "--json"]].concat());
    // 36 in all: two cuts of the path that keep 12 on each slot exist.
    assert_eq!((&answer["max_load"], &answer["cost"]), (&12.into(), &20.into()), "{answer}");
    assert_eq!(answer["mean_load"], 12.0);
}

#[test]
fn moves_have_a_price() {
    let place = Place::new();
    let mut text = "src,dst,bytes,messages\n".to_string();
    (0..8).for_each(|t| text += &format!("{t},{},10,1\n", (t + 1) % 8));
    let file = place.file("ring.csv", text);
    // Slot 3 of the ring is gone, 8 is new.
    let before = place.file("before", "0\n1\n2\n3\n4\n5\n6\n7\n");
    let args = [
        "map",
        "--matrix",
        &file,
        "--topology",
        "torus:9",
        "--slots",
        "0,1,2,4,5,6,7,8",
        "--previous",
        &before,
        "--json",
        "--migration-cost",
    ];
    let run = |price: &str| json(&place, &[&args[..], &[price]].concat());
    let dear = run("1000000");
    assert_eq!((&dear["moved"], &dear["forced_moves"]), (&1.into(), &1.into()), "{dear}");
    assert_eq!(dear["migration_cost"], 1_000_000);
    let free = run("0");
    assert!(free["cost"].as_u64() <= dear["cost"].as_u64(), "{free}");
    assert_eq!(free["cost"], 90, "once around, over the gap");
}

#[test]
fn loads_and_moves_go_together() {
    let place = Place::new();
    // Two rings of six tasks, one ring on each of two slots; now the load of task 0 has doubled.
    let mut text = "src,dst,bytes,messages\n".to_string();
    (0..12).for_each(|t| text += &format!("{t},{},10,1\n", t / 6 * 6 + (t + 1) % 6));
    let file = place.file("rings.csv", text);
    let loads = place.file("loads", "2\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n");
    let before = place.file("before", "0\n".repeat(6) + &"1\n".repeat(6));
    let args = ["map", "--matrix", &file, "--topology", "mesh:3", "--weights", &loads, "--json"];
    let run = |more: &[&str]| json(&place, &[&args[..], &["--previous", &before], more].concat());
    let dear = run(&["--slots", "0,1", "--migration-cost", "1000000", "--imbalance", "10"]);
    assert_eq!(
        (&dear["moved"], &dear["max_load"], &dear["cost"]),
        (&0.into(), &7.into(), &0.into())
    );
    // Slot 1 is gone: its tasks have to move, and no others.
    let gone = run(&["--slots", "0,2", "--migration-cost", "1000000", "--imbalance", "10"]);
    assert_eq!((&gone["moved"], &gone["forced_moves"]), (&6.into(), &6.into()), "{gone}");
    assert_eq!((&gone["max_load"], &gone["cost"]), (&7.into(), &0.into()), "{gone}");
    // One more slot: the balance requires some moves, whatever they cost.
    let wider = run(&["--migration-cost", "1000", "--imbalance", "0"]);
    assert_eq!(wider["max_load"], 5, "{wider}");
    assert!(wider["moved"].as_u64() >= Some(2) && wider["moved"].as_u64() <= Some(6), "{wider}");
}

#[test]
fn noise_is_studied() {
    let place = Place::new();
    let mut text = "src,dst,bytes,messages\n".to_string();
    (0..16).for_each(|t| text += &format!("{t},{},100,1\n", (t + 8) % 16));
    let file = place.file("pairs.csv", text);
    let args = ["eval", "--matrix", &file, "--topology", "tree:2:8@1:10", "--noise"];
    let table = place.ok(&[&args[..], &["all", "--samples", "2"]].concat());
    for kind in ["gaussian-additive", "uniform-multiplicative", "exact matrix", "random"] {
        assert!(table.contains(kind), "{table}");
    }
    let study = json(
        &place,
        &[&args[..], &["uniform-additive", "--noise-levels", "0,5", "--json"]].concat(),
    );
    assert_eq!(study["levels"].as_array().unwrap().len(), 2);
    assert_eq!(study["levels"][0]["mean"], study["exact"]);
    assert!(study["levels"][1]["mean"].as_f64() > study["exact"].as_f64());
    assert!(study["exact"].as_f64() < study["given_order"].as_f64());
    refused(&place.run(&[&args[..], &["white"]].concat()), "white");
    refused(&place.run(&[&args[..], &["all", "--noise-levels=-1"]].concat()), "-1");
}

#[test]
fn map_and_eval_agree_on_every_objective() {
    let place = Place::new();
    let mut text = "src,dst,bytes,messages\n".to_string();
    for t in 0..24u32 {
        text += &format!("{t},{},{},1\n{t},{},7,3\n", (t * 5 + 1) % 24, 3 + t, (t * 7 + 2) % 24);
    }
    let file = place.file("m.csv", text);
    let list = "hop-bytes total-hops sum-com max-com mc mmc time";
    for topology in ["torus:5x5", "tree:5:5@1:10", "fattree:5:5"] {
        for objective in list.split(' ') {
            let base = ["--matrix", &file, "--topology", topology, "--objective", objective];
            let fast = ["--preset", "fast", "--json", "--out"];
            let answer = json(&place, &[&["map"][..], &base, &fast, &["o"]].concat());
            let value = place.ok(&[&["eval"][..], &base, &["--mapping", "o"]].concat());
            let value: f64 = value.trim().parse().unwrap();
            assert_eq!(answer["cost"].as_f64(), Some(value), "{objective} on {topology}");
            assert!(value <= answer["identity_cost"].as_f64().unwrap(), "{objective}");
            // A mapping is best at the objective that it was computed for.
            let other = ["map", "--matrix", &file, "--topology", topology];
            place.ok(&[&other[..], &fast, &["h"]].concat());
            let hops = place.ok(&[&["eval"][..], &base, &["--mapping", "h"]].concat());
            assert!(value <= hops.trim().parse::<f64>().unwrap(), "{objective} on {topology}");
        }
    }
}

/// With more tasks than slots, both mean the same by the launcher's order: consecutive tasks share a slot.
#[test]
fn map_and_eval_agree_on_the_order_of_the_launcher() {
    let place = Place::new();
    for tasks in [4u32, 8, 10] {
        let mut text = "src,dst,bytes\n".to_string();
        for t in 0..tasks {
            text += &format!("{t},{},100\n", (t + 1) % tasks);
        }
        let file = place.file("ring.csv", text);
        let base = ["--matrix", &file, "--topology", "tree:2:2@1:7"];
        let share = tasks.div_ceil(4).to_string();
        let more: &[&str] = if share == "1" { &[] } else { &["--oversubscribe", &share] };
        let answer = json(&place, &[&["map"][..], &base, more, &["--json", "--out", "o"]].concat());
        let value = place.ok(&[&["eval"][..], &base, &["--objective", "hop-bytes"]].concat());
        assert_eq!(answer["identity_cost"].as_f64(), value.trim().parse().ok(), "{tasks} tasks");
    }
}

/// `--objective auto` says what it took, and why.
#[test]
fn the_network_chooses_the_objective() {
    let place = Place::new();
    let file = place.file("ring.csv", "src,dst,bytes,messages\n0,2,4096,4\n1,3,4096,4\n");
    for (topology, objective, why) in [
        ("torus:2x2", "time", "the links of the network are known"),
        (
            "fattree:4:2@2",
            "time",
            "the network has uplinks that are narrower than the nodes below them",
        ),
        (
            "fattree:4:2",
            "hop-bytes",
            "no link is known to be narrower than the nodes below it together",
        ),
    ] {
        let base = ["map", "--matrix", &file, "--topology", topology, "--objective", "auto"];
        let sentence = format!("objective: {objective} ({why})");
        let text = place.run(&[&base[..], &["--out", "order"]].concat());
        assert!(text.code == Some(0) && text.err.contains(&sentence), "{}", text.err);
        let json = place.ok(&[&base[..], &["--json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["objective"], objective);
        assert_eq!(json["objective_chosen"], sentence.as_str());
    }
}
