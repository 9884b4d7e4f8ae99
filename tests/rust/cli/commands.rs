//! Every command as a user runs it.

use crate::support::{Place, of, repository};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

const RING: &str = "src,dst,bytes,messages\n0,1,4096,4\n1,2,1024,4\n2,3,4096,4\n3,0,1024,4\n";

/// Keys of a JSON object, sorted.
fn keys(text: &str) -> Vec<String> {
    let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(value["schema"], 1);
    value.as_object().expect("an object").keys().cloned().collect()
}

fn sorted(text: &str) -> Vec<String> {
    let mut names: Vec<String> = text.split(", ").map(str::to_string).collect();
    names.push("schema".into());
    names.sort();
    names
}

#[test]
fn import_list_show_remove() {
    let place = Place::new();
    let empty = place.run(&["list"]);
    assert_eq!((empty.code, empty.out.as_str()), (Some(1), ""));
    assert_eq!(place.run(&["show"]).code, Some(1));

    place.file("ring.csv", RING);
    let import = place.run(&["import", "ring.csv"]);
    assert_eq!((import.code, import.out.as_str()), (Some(0), ""));
    assert!(import.err.contains("4 tasks, 4 pairs") && import.err.contains("'ring'"));
    place.ok(&["import", "--key", "other", "ring.csv"]);
    let list = place.ok(&["list"]);
    assert!(list.contains("ring") && list.contains("other"));
    let json: serde_json::Value = serde_json::from_str(&place.ok(&["list", "--json"])).unwrap();
    assert_eq!(json["records"].as_array().unwrap().len(), 2);

    let show = place.ok(&["show", "rin", "--color", "never", "--width", "60"]);
    assert!(show.contains("10.0 KiB") && show.contains("receiver (column)"));
    assert!(!show.contains('\x1b'));
    assert!(place.ok(&["show", "ring", "--color", "always"]).contains("\x1b["));
    let figures = place.ok(&["show", "ring", "--json"]);
    assert!(keys(&figures).contains(&"total".to_string()));
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    assert_eq!(figures["total"]["bytes"], 10240);
    assert_eq!(figures["tasks"], 4);

    assert_eq!(place.run(&["rm", "ring", "nonsense"]).code, Some(1));
    assert!(place.ok(&["list"]).contains("ring"), "a slip removes nothing");
    place.ok(&["rm", "ring", "oth"]);
    assert_eq!(place.run(&["list"]).code, Some(1));
}

#[test]
fn several_files_are_added_up() {
    let place = Place::new();
    place.file("mon.0.prof", "E\t0\t1\t10 bytes\t1 msgs sent\n");
    place.file("mon.1.prof", "E\t1\t2\t20 bytes\t2 msgs sent\n");
    place.ok(&["import", "--key", "mon", "mon.0.prof", "mon.1.prof"]);
    let csv = place.ok(&["export", "mon", "--to", "csv", "--kind", "p2p"]);
    assert_eq!(csv, "src,dst,bytes,messages\n0,1,10,1\n1,2,20,2\n");
}

#[test]
fn every_fixture_reads_as_the_same_matrix() {
    let place = Place::new();
    let mut seen = 0;
    for file in std::fs::read_dir(repository("tests/formats")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "md") {
            continue;
        }
        let name = path.display().to_string();
        let json = place.ok(&["eval", "--matrix", &name, "--topology", "mesh:4", "--json"]);
        let metrics: serde_json::Value = serde_json::from_str(&json).unwrap();
        // 0-1 600 bytes at distance 1, 1-2 40 at 1, 0-3 8 at 3; both directions together.
        assert_eq!(metrics["hop_bytes"], 664, "{name}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen} fixtures");
}

#[test]
fn every_format_is_written() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    for format in rankweave::formats::FORMATS.iter().filter(|f| f.writes()) {
        let run = place.run(&["export", &ring, "--to", format.name, "--out", "file"]);
        if format.places_ranks || format.name == "scotch-tgt" {
            assert_eq!(run.code, Some(2), "{}: no places are known", format.name);
            continue;
        }
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}: {}", format.name, run.err);
        let size = std::fs::metadata(place.path("file")).unwrap().len();
        assert!(size > 10, "{}", format.name);
        if format.reads() {
            let eval = ["eval", "--matrix", "./file", "--topology", "tree:2:2", "--json"];
            let json: serde_json::Value = serde_json::from_str(&place.ok(&eval)).unwrap();
            assert_eq!(json["hop_bytes"], 8192 * 2 + 2048 * 4, "{}", format.name);
        }
    }
    let left: Vec<_> = std::fs::read_dir(place.path("")).unwrap().flatten().collect();
    assert!(left.iter().all(|f| !f.file_name().to_string_lossy().contains(".tmp")));
}

#[test]
fn map_and_eval_agree() {
    let place = Place::new();
    let ring = place.file("ring.csv", "src,dst,bytes,messages\n0,2,4096,4\n1,3,4096,4\n");
    let base = ["--matrix", &ring, "--topology", "tree:2:2@1:10"];
    let map = place.run(&[&["map"][..], &base, &["--out", "order"]].concat());
    assert_eq!((map.code, map.out.as_str()), (Some(0), ""));
    assert!(map.err.contains("saved"), "{}", map.err);
    let order = std::fs::read_to_string(place.path("order")).unwrap();
    assert_eq!(order.lines().count(), 4);
    let cost = |extra: &[&str]| -> u64 {
        place
            .ok(&[&["eval"][..], &base, &["--objective", "hop-bytes"], extra].concat())
            .trim()
            .parse()
            .unwrap()
    };
    assert_eq!((cost(&[]), cost(&["--mapping", "order"])), (81920, 8192));

    let map = place.ok(&[&["map"][..], &base, &["--json"]].concat());
    let listed = "algorithm, preset, tasks, slots, objective, cost, identity_cost, seconds, \
                  cpu_seconds, peak_rss_bytes";
    assert_eq!(keys(&map), sorted(listed));
    let value: serde_json::Value = serde_json::from_str(&map).unwrap();
    assert_eq!((&value["cost"], &value["identity_cost"]), (&8192.into(), &81920.into()));
    let eval = place.ok(&[&["eval"][..], &base, &["--json"]].concat());
    let listed = "hop_bytes, total_hops, avg_hops, hops_per_byte, max_dilation, sum_com, max_com, mc, mmc, ac, \
                  amc, icv, icm, mnrv, mnrm, predicted_time";
    assert_eq!(keys(&eval), sorted(listed));
    // Without --out and --json the mapping itself is the output.
    assert_eq!(place.ok(&[&["map"][..], &base].concat()), order);
}

#[test]
fn map_keeps_to_slots_fixed_tasks_and_room() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    let slots = place.file("slots", "# allocation\n9\n4\n12\n7\n");
    let base = ["map", "--matrix", &ring, "--topology", "torus:4x4"];
    let numbers = |extra: &[&str]| -> Vec<usize> {
        let out = place.ok(&[&base[..], extra].concat());
        out.lines().map(|l| l.parse().unwrap()).collect()
    };
    let order = numbers(&["--slots", &slots, "--fix", "2=9"]);
    assert_eq!(order[2], 9);
    let mut used = order;
    used.sort_unstable();
    assert_eq!(used, [4, 7, 9, 12]);
    let few = ["--slots", "3,5", "--oversubscribe", "2"];
    assert!(numbers(&few).iter().all(|s| [3, 5].contains(s)));
    for (extra, code, part) in [
        (&["--slots", "3,5"][..], 2, "--oversubscribe"),
        (&["--slots", "3,99,1,2"], 2, "slot 99"),
        (&["--fix", "9=0"], 2, "9"),
        (&["--fix", "zero=0"], 2, "TASK=SLOT"),
        (&["--sparse-factor", "2"], 2, "--sparse-factor"),
        (&["--time-limit", "soon"], 2, "--time-limit"),
        (&["--algorithm", "magic"], 2, "magic"),
    ] {
        let run = place.run(&[&base[..], extra].concat());
        assert_eq!(run.code, Some(code), "{extra:?}: {}", run.err);
        assert!(run.err.contains(part), "{extra:?}: {}", run.err);
    }
    let dist = place.file("dist", "0 1 1 1\n1 0 1 1\n1 1 0 1\n1 1 1 0\n");
    let topology = format!("dist:{dist}");
    let run = place.run(&["eval", "--matrix", &ring, "--topology", &topology, "--objective", "mc"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("needs links"), "{}", run.err);
}

#[test]
fn topologies_are_shown() {
    let place = Place::new();
    let text = place.ok(&["topo", "--topology", "tree:2:4@1:10"]);
    // As in the description, level 1 is the innermost: its slots are at distance 1.
    let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_string();
    assert!(line("level 1 ").ends_with(" 1") && line("level 2 ").ends_with(" 10"), "{text}");
    assert!(text.contains("slots     8"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["topo", "--topology", "torus:3x3", "--json"])).unwrap();
    assert_eq!((&json["schema"], &json["slots"]), (&1.into(), &9.into()));
    assert_eq!(json["distances"][0][4], 2);
    let xml = repository("tests/machines/2package-4numa-32core-64pu.xml").display().to_string();
    let text = place.ok(&["topo", "--xml", &xml]);
    assert!(text.contains("slots     64"), "{text}");
    assert_eq!(place.run(&["topo", "--topology", "cube"]).code, Some(2));
    place.ok(&["topo"]);
    // A listing of /sys with GPUs and adapters.
    let listing = repository("tests/machines/sys-efa-4gpu.sys").display().to_string();
    let text = place.ok(&["topo", "--xml", &listing]);
    assert!(text.contains("rdmap16s27 (PHB)") && text.contains("ens5"), "{text}");
    let json = place.ok(&["topo", "--xml", &listing, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["devices"]["rails"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["devices"]["gpus"][3]["nearest_rail"], "rdmap160s27");
    let broken = place.file("broken.sys", "devices/system/cpu/online=0\nrubbish\n");
    let run = place.run(&["topo", "--xml", &broken]);
    assert!(run.err.contains("line 2") && run.err.contains("try:"), "{}", run.err);
}

#[test]
fn reports_are_written() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    place.ok(&["report", &ring, "--html", "r.html"]);
    let page = std::fs::read_to_string(place.path("r.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("data:image/png;base64,"));
    assert_eq!(place.run(&["report", &ring, "--html", "no/such/dir/r.html"]).code, Some(2));
    assert_eq!(place.run(&["report", &ring]).code, Some(2), "--html is required");
}

#[test]
fn standard_input_is_a_file_too() {
    let place = Place::new();
    let mut child = place
        .command(&["show", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(RING.as_bytes()).unwrap();
    let run = of(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("10240"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    // More than a pipe holds, so that the writer notices.
    let mut csv = String::from("src,dst,bytes,messages\n");
    (0..20_000).for_each(|k| csv.push_str(&format!("{},{},1,1\n", k / 200, k % 200)));
    let file = place.file("big.csv", csv);
    let mut child = place
        .command(&["export", &file, "--to", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let run = of(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn a_failed_export_leaves_the_old_file() {
    let place = Place::new();
    let ring = place.file("ring.csv", RING);
    let out = place.file("out", "precious");
    assert_eq!(place.run(&["export", &ring, "--to", "slurm", "--out", &out]).code, Some(2));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 2);
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let place = Place::new();
    place.file("bad.csv", "src,dst,bytes,messages\n0,one,1,1\n");
    for (args, code, parts) in [
        (&["show", "./bad.csv"][..], 2, &["'one'", "bad.csv:2", "try:"][..]),
        (&["show", "nothing"], 1, &["nothing", "try:"]),
        (&["show", "./missing.csv"], 1, &["missing.csv", "try:"]),
        (&["map", "--matrix", "x", "--topology", "tree:2"], 1, &["'x'"]),
        (&["eval", "--matrix", "./bad.csv"], 2, &["--topology"]),
        (&["frobnicate"], 2, &["frobnicate"]),
        (&["export", "--to", "xls"], 2, &["xls", "csv"]),
        (&["import", "--key", "a\nb", "./bad.csv"], 2, &["one"]),
    ] {
        let run = place.run(args);
        assert_eq!(run.code, Some(code), "{args:?}: {}", run.err);
        assert_eq!(run.out, "", "{args:?}");
        for part in parts {
            assert!(run.err.contains(part), "{args:?}: {part} in {}", run.err);
        }
    }
}

#[test]
fn the_environment_is_explained() {
    let place = Place::new();
    let text = of(place.command(&["env"]).env("RANKWEAVE_SEED", "many").output().unwrap()).out;
    for option in rankweave::options::TABLE {
        assert!(text.contains(option.env));
    }
    assert!(text.contains("ignored") && text.contains("many"), "{text}");
    let list = of(place.command(&["env", "--json"]).env("RANKWEAVE_SEEED", "7").output().unwrap());
    let list = list.out;
    assert_eq!(keys(&list), ["schema", "unknown", "variables"]);
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let unknown =
        serde_json::json!([{ "variable": "RANKWEAVE_SEEED", "nearest": "RANKWEAVE_SEED" }]);
    assert_eq!(list["unknown"], unknown);
}

/// A launcher that prints its arguments, under the name of a real one.
fn launcher(place: &Place, name: &str, body: &str) -> String {
    let path = place.file(name, format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.file("librankweave.so", "");
    path
}

#[test]
fn launches_get_library_and_settings() {
    let place = Place::new();
    let print = "echo \"$@\"; echo preload=$LD_PRELOAD mode=$RANKWEAVE_MODE fix=$RANKWEAVE_FIX";
    let library = place.path("librankweave.so").display().to_string();
    let run = |name: &str| {
        let path = launcher(&place, name, print);
        let args = ["run", "--mode", "record", "--fix", "0,2-3", "--", &path, "-n", "2", "./a"];
        let output = place.command(&args).env("RANKWEAVE_LIBRARY", "librankweave.so").output();
        let run = of(output.unwrap());
        assert_eq!(run.code, Some(0), "{}", run.err);
        run.out
    };
    let text = run("orterun");
    assert!(text.starts_with(&format!("-x LD_PRELOAD={library} ")), "{text}");
    assert!(
        text.contains("-x RANKWEAVE_MODE=record") && text.contains("-x RANKWEAVE_FIX=0,2-3 -n 2")
    );
    assert!(text.contains("preload= "), "the launcher itself gets nothing preloaded: {text}");
    let text = run("mpiexec.hydra");
    assert!(text.starts_with(&format!("-genv LD_PRELOAD {library} ")), "{text}");
    let text = run("srun");
    assert!(text.starts_with(&format!("--export=ALL,LD_PRELOAD={library} -n 2 ./a")), "{text}");
    assert!(text.contains("mode=record fix=0,2-3"), "{text}");
    let text = run("sbatch");
    assert!(text.starts_with(&format!("--export=ALL,LD_PRELOAD={library} -n 2 ./a")), "{text}");
    assert!(text.contains("preload= mode=record"), "sbatch itself gets nothing preloaded: {text}");
    let text = run("anything");
    assert!(text.contains(&format!("preload={library} mode=record")), "{text}");
}

#[test]
fn exit_codes_and_signals_pass_through() {
    let place = Place::new();
    let exit = |body: &str| {
        let path = launcher(&place, "launch", body);
        let mut command = place.command(&["run", "--", &path]);
        command.env("RANKWEAVE_LIBRARY", place.path("librankweave.so"));
        command.stderr(Stdio::null()).status().unwrap()
    };
    for code in [0, 1, 2, 37, 255] {
        assert_eq!(exit(&format!("exit {code}")).code(), Some(code));
    }
    assert_eq!(exit("kill -TERM $$").signal(), Some(15));
}

#[test]
fn runs_that_cannot_start_say_why() {
    let place = Place::new();
    // Elsewhere: beside the one of the build there may be a library. Not a copy: another thread may start a process
    // while the copy is open for writing, and then the copy cannot be started ("Text file busy").
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let alone = elsewhere.path().join("rankweave");
    std::fs::hard_link(env!("CARGO_BIN_EXE_rankweave"), &alone).unwrap();
    let output = std::process::Command::new(alone)
        .args(["run", "--", "true"])
        .env_remove("RANKWEAVE_LIBRARY")
        .env("HOME", place.path(""))
        .output();
    let run = of(output.unwrap());
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("librankweave.so") && run.err.contains("RANKWEAVE_LIBRARY"));
    launcher(&place, "launch", "true");
    for (args, part) in [
        (&["run", "--", "mpirunn"][..], "mpirunn"),
        (&["run", "--min-gain", "much", "--", "true"], "--min-gain"),
        (&["run", "--mode", "fast", "--", "true"], "record"),
        (&["run"], "LAUNCHER"),
    ] {
        let output = place.command(args).env("RANKWEAVE_LIBRARY", "librankweave.so").output();
        let run = of(output.unwrap());
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.err.contains(part), "{args:?}: {}", run.err);
    }
    let mut bad = place.command(&["run", "--", "true"]);
    bad.env("RANKWEAVE_LIBRARY", "librankweave.so").env("RANKWEAVE_SEED", "x");
    let run = of(bad.output().unwrap());
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("RANKWEAVE_SEED"), "{}", run.err);
}
