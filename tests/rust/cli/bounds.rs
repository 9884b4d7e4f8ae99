//! Lower bounds and their certificates, as a user asks for them.

use crate::support::Place;

const RING: &str = "src,dst,bytes,messages\n0,3,100,1\n3,1,100,1\n1,2,100,1\n2,0,100,1\n";

#[test]
fn a_certificate_proves_that_a_mapping_is_optimal() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    for topology in ["tree:2:2@1:10", "torus:4", "mesh:2x2", "dragonfly:2x2x1"] {
        let base = ["--matrix", &ring, "--topology", topology];
        let asked = ["--out", "order", "--certificate", "proof"];
        let map = place.run(&[&["map"][..], &base, &asked].concat());
        assert_eq!(map.code, Some(0), "{map:?}");
        assert!(map.err.contains("no mapping costs less than "), "{}", map.err);
        let verified =
            place.ok(&[&["verify"][..], &base, &["--mapping", "order", "proof"]].concat());
        assert!(verified.contains("hop-bytes ") && verified.contains("valid"), "{verified}");
        if topology == "tree:2:2@1:10" || topology == "torus:4" {
            assert!(verified.contains("this one is optimal"), "{topology}: {verified}");
        }
        let text = std::fs::read_to_string(place.path("proof")).unwrap();
        let bound = text.split("\"bound\":").nth(1).unwrap().split(',').next().unwrap();
        let more = format!("\"bound\":{}", bound.parse::<u64>().unwrap() + 1);
        let file = place.file("more", text.replace(&format!("\"bound\":{bound}"), &more));
        let args = [&["verify"][..], &base, &["--mapping", "order", &file]].concat();
        let run = place.run(&args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
        assert!(run.err.contains("proves only") && run.err.contains("try:"), "{}", run.err);
    }
}

#[test]
fn bounds_are_in_the_json_where_they_are_asked_for() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    for command in ["map", "eval"] {
        let base = [command, "--matrix", &ring, "--topology", "torus:4", "--json"];
        assert!(!place.ok(&base).contains("lower_bound"));
        for effort in ["quick", "best"] {
            let text = place.ok(&[&base[..], &["--bound", effort]].concat());
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["lower_bound"], 400, "{text}");
            assert!(value["bound_found_by"].is_string(), "{text}");
        }
    }
    let hops = ["--topology", "torus:4", "--objective", "total-hops", "--bound", "quick", "--json"];
    let text = place.ok(&[&["eval", "--matrix", &ring][..], &hops].concat());
    assert!(text.contains("\"lower_bound\": 4") || text.contains("\"lower_bound\":4"), "{text}");
}

#[test]
fn bounds_that_cannot_be_computed_are_errors() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    let order = place.file("order", "0\n1\n2\n3\n");
    let double = place.file("double", "0\n0\n1\n1\n");
    let base = ["--matrix", &ring, "--topology", "mesh:2x4"];
    place.ok(&[&["eval"][..], &base, &["--certificate", "proof"]].concat());
    let proof = place.path("proof").display().to_string();
    for (command, options, part) in [
        ("map", vec!["--objective", "mmc", "--bound", "quick"], "no lower bound of mmc"),
        ("map", vec!["--objective", "max-com", "--certificate", "x"], "no lower bound of max-com"),
        ("eval", vec!["--objective", "mmc", "--certificate", "x"], "no lower bound of mmc"),
        ("eval", vec!["--bound", "off", "--certificate", "x"], "--bound off"),
        ("eval", vec!["--bound", "quick", "--noise", "all"], "--noise"),
        ("eval", vec!["--certificate", "/none/x"], "/none/x"),
        ("eval", vec!["--bound", "quick", "--slots", "4-7", "--mapping", &order], "slot 0"),
        ("verify", vec!["--mapping", &order, "none"], "none"),
        ("verify", vec!["--mapping", &order, &order], "no certificate"),
        ("verify", vec!["--mapping", &order, "--slots", "4-7", &proof], "slot 0"),
        ("verify", vec!["--mapping", &double, &proof], "task on a slot"),
    ] {
        let args = [&[command][..], &base, &options].concat();
        let run = place.run(&args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}: {run:?}");
        assert!(run.err.contains(part) && run.err.contains("try:"), "{args:?}: {}", run.err);
    }
    assert!(!place.path("x").exists());
}

#[test]
fn the_most_loaded_link_has_a_bound() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    let base = ["--matrix", &ring, "--topology", "mesh:2x4"];
    for objective in ["mc", "time"] {
        let options = ["--objective", objective, "--certificate", "proof", "--out", "order"];
        let mapped = place.run(&[&["map"][..], &base, &options].concat());
        assert!(mapped.err.contains("no mapping costs less than"), "{mapped:?}");
        let verify = [&["verify"][..], &base, &["--mapping", "order"]].concat();
        let verified = place.ok(&[&verify[..], &["proof"]].concat());
        assert!(verified.contains("the certificate is valid"), "{verified}");
        let text = std::fs::read_to_string(place.path("proof")).unwrap();
        let claim = place.file("claim", text.replace("\"real_bound\":", "\"real_bound\":9"));
        let refused = place.run(&[&verify[..], &[&claim]].concat());
        assert!(refused.code == Some(2) && refused.err.contains("proves only"), "{refused:?}");
    }
}
