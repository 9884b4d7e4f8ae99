//! Every error of the offline commands says what to try.

use crate::support::{Place, Run};

/// Runs a command that must fail, with a message of one line that ends in advice.
fn fails(place: &Place, args: &[&str], part: &str) {
    advises(&place.run(args), args, part);
}

/// Checks the message of a command that failed.
fn advises(run: &Run, args: &[&str], part: &str) {
    assert!(matches!(run.code, Some(1 | 2)), "{args:?}: {run:?}");
    assert!(run.out.is_empty(), "{args:?}: {run:?}");
    let message = run.err.lines().find(|line| line.starts_with("rankweave: ")).unwrap_or_default();
    assert!(message.contains(part), "{args:?}: '{part}' is missing in: {}", run.err);
    let advice = message.split_once("; try: ").map_or("", |(_, advice)| advice);
    assert!(advice.len() > 8, "{args:?}: no advice: {}", run.err);
}

#[test]
fn errors_of_matrix_files_say_what_to_try() {
    let place = Place::new();
    for (name, text, part) in [
        ("empty", "", "none of the known"),
        ("words", "hello world\n", "none of the known"),
        ("csv-task", "src,dst,bytes\n0,x,5\n", "csv-task:2"),
        ("csv-bytes", "src,dst,bytes\n0,1,-5\n", "csv-bytes:2"),
        (
            "csv-large",
            "src,dst,bytes\n0,1,18446744073709551616\n",
            "larger than 18446744073709551615",
        ),
        ("packed", "BZh91AY&SY", "bzcat"),
        ("csv-fields", "src,dst,bytes,messages\n0,1\n", "csv-fields:2"),
        ("csv-many", "src,dst,bytes\n0,99999999999,5\n", "csv-many:2"),
        ("mtx-head", "%%MatrixMarket vector array real general\n", "mtx-head:1"),
        (
            "mtx-size",
            "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 1 1\n",
            "mtx-size:2",
        ),
        (
            "mtx-short",
            "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n",
            "1 entry",
        ),
        (
            "mtx-index",
            "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 3 1\n",
            "mtx-index:3",
        ),
        ("metis-one-way", "2 1 1\n2 5\n\n", "metis-one-way"),
        ("metis-unequal", "2 1 1\n2 5\n1 6\n", "same weight"),
        ("metis-far", "2 1 1\n3 5\n1 5\n", "metis-far:2"),
        ("scotch-end", "0\n2 2\n0 010\n1 5 1\n", "the file ends"),
        ("treematch", "0 1 2\n1 0 2\n1 2\n", "treematch"),
        ("eagermap", "1,0\n0,2\n", "eagermap"),
        ("json", "{\"schema\": 9, \"tasks\": 1, \"traffic\": {}}", "schema 9"),
        ("json-kind", "{\"schema\": 1, \"tasks\": 1, \"traffic\": {\"x\": []}}", "unknown kind"),
        ("prof", "E\t0\t1\t300 bytes\t3 msgs sent\nE\t0\t1\n", "prof:2"),
    ] {
        let file = place.file(name, text);
        fails(&place, &["map", "--matrix", &file, "--topology", "mesh:8"], part);
        fails(&place, &["eval", "--matrix", &file, "--topology", "mesh:8"], part);
        fails(&place, &["import", &file], part);
    }
    fails(&place, &["eval", "--matrix", "./none.csv", "--topology", "mesh:8"], "none.csv");
    fails(&place, &["import", "none.csv"], "no such file");
    fails(&place, &["export", "--to", "csv"], "");
}

#[test]
fn errors_of_topologies_say_what_to_try() {
    let place = Place::new();
    let matrix = place.file("m.csv", "src,dst,bytes\n0,1,5\n");
    let files = [
        ("zero", "0 0\n0 0\n", "at least 1 for two different slots"),
        ("fraction", "0 1.5\n1.5 0\n", "multiply all distances"),
        ("odd", "0 1\n2 0\n", "symmetric"),
        ("ragged", "0 1\n1\n", "symmetric"),
    ];
    for (name, text, part) in files {
        let file = place.file(name, text);
        let topology = format!("dist:{file}");
        fails(&place, &["eval", "--matrix", &matrix, "--topology", &topology], part);
        fails(&place, &["map", "--matrix", &matrix, "--topology", &topology], &file);
    }
    let empty = place.file("nothing", "");
    let binary = place.file("binary", [0u8, 159, 146, 150]);
    let mut refused = 0;
    for kind in [
        "tree",
        "torus",
        "mesh",
        "hypercube",
        "dragonfly",
        "fattree",
        "hwloc",
        "hwloc-cores",
        "nodes",
        "hwloc-synthetic",
        "scotch",
        "slurm",
        "topograph",
        "pbs",
        "flux",
        "ib",
        "ibsim",
        "cabling",
        "simgrid",
        "fabric",
        "graph",
        "dist",
        "ring",
        "",
    ] {
        for description in
            ["", "x", "0", "-1", "4:x", "99999999999x99999999999", &empty, &binary, "/none"]
        {
            let topology = format!("{kind}:{description}");
            let args = ["eval", "--matrix", &matrix, "--topology", &topology];
            // Some kinds take a number.
            let run = place.run(&args);
            if run.code != Some(0) {
                advises(&run, &args, "");
                refused += 1;
            }
        }
    }
    // 24 kinds with 9 descriptions each; only a plain number can be understood by some.
    assert!(refused >= 24 * 8, "{refused} descriptions were refused");
}

#[test]
fn errors_of_options_say_what_to_try() {
    let place = Place::new();
    let matrix = place.file("m.csv", "src,dst,bytes\n0,1,5\n1,2,5\n2,3,5\n");
    let three = place.file("three", "0\n1\n2\n");
    let twice = place.file("twice", "0\n1\n1\n9\n");
    let words = place.file("words", "zero\n");
    let table = place.file("table", "0 1 1 1\n1 0 1 1\n1 1 0 1\n1 1 1 0\n");
    let table = format!("dist:{table}");
    for (command, topology, options) in [
        ("map", "mesh:2", vec![]),
        ("map", "mesh:4", vec!["--slots", "0,1,2,4"]),
        ("map", "mesh:8", vec!["--slots", "0,1,2,2"]),
        ("map", "mesh:8", vec!["--slots", "0,x"]),
        ("map", "mesh:8", vec!["--slots", "none.txt"]),
        ("map", "mesh:4", vec!["--fix", "4=0"]),
        ("map", "mesh:4", vec!["--fix", "0=4"]),
        ("map", "mesh:4", vec!["--fix", "0=1,1=1"]),
        ("map", "mesh:4", vec!["--fix", "0=1,0=2"]),
        ("map", "mesh:4", vec!["--fix", "zero"]),
        ("map", "mesh:4", vec!["--algorithm", "best"]),
        ("map", "mesh:4", vec!["--algorithm", "nodecart", "--slots", "0,1,2"]),
        ("map", "mesh:4", vec!["--oversubscribe", "0.5"]),
        ("map", "mesh:4", vec!["--sparse-factor", "2"]),
        ("map", "mesh:4", vec!["--time-limit", "soon"]),
        ("map", "mesh:4", vec!["--weights", &three]),
        ("map", "mesh:4", vec!["--weights", &words]),
        ("map", "mesh:4", vec!["--weights", "none"]),
        ("map", "mesh:4", vec!["--weights", &three, "--imbalance", "-1"]),
        ("map", "mesh:4", vec!["--previous", &words]),
        ("map", "mesh:4", vec!["--previous", &twice, "--objective", "mc"]),
        ("map", "mesh:4", vec!["--out", "/none/order.txt"]),
        ("map", &table, vec!["--objective", "mc"]),
        ("eval", &table, vec!["--objective", "time"]),
        ("eval", "mesh:4", vec!["--mapping", &three]),
        ("eval", "mesh:4", vec!["--mapping", &twice]),
        ("eval", "mesh:4", vec!["--mapping", &words]),
        ("eval", "mesh:4", vec!["--mapping", "none"]),
        ("eval", "mesh:4", vec!["--noise", "all", "--noise-levels", "-1"]),
    ] {
        // clap explains options that it refuses itself, in a form of its own.
        let args = [&[command, "--matrix", &matrix, "--topology", topology][..], &options].concat();
        let run = place.run(&args);
        if run.err.starts_with("error: ") {
            assert_eq!(run.code, Some(2), "{args:?}: {run:?}");
        } else {
            advises(&run, &args, "");
        }
    }
}

/// Errors of the parser have a form of their own, and name the help of the command.
#[test]
fn errors_of_the_parser_say_what_to_try() {
    let place = Place::new();
    for (args, try_this) in [
        (&["map", "--threads", "x"][..], "rankweave map --help"),
        (&["map", "--seed", "x"], "rankweave map --help"),
        (&["map", "--preset", "x"], "rankweave map --help"),
        (&["map"], "rankweave map --help"),
        (&["eval", "--matrix"], "rankweave eval --help"),
        (&["run", "--mod", "record", "mpirun"], "rankweave run --help"),
        (&["nothing"], "rankweave --help"),
        (&["--nothing"], "rankweave --help"),
    ] {
        let run = place.run(args);
        assert_eq!(run.code, Some(2), "{args:?}: {run:?}");
        assert!(run.out.is_empty() && run.err.starts_with("error: "), "{args:?}: {run:?}");
        let last = run.err.lines().last().unwrap_or_default();
        assert_eq!(last, format!("try: {try_this}"), "{args:?}: {run:?}");
    }
    // Help is no error.
    assert_eq!(place.run(&["map", "--help"]).code, Some(0));
}
