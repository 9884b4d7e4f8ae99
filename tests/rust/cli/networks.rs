//! Networks between nodes: the probe of a launch with its time limit, and what the store keeps.

use crate::support::{Place, Run, of};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// A launcher of this content, and a library to preload.
fn launcher(place: &Place, script: &str) -> String {
    place.file("librankweave.so", "");
    let path = place.file("orterun", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(place: &Place, args: &[&str]) -> Run {
    let mut command = place.command(args);
    command.env("RANKWEAVE_LIBRARY", place.path("librankweave.so"));
    of(command.env("RANKWEAVE_SITE", place.path("site.toml")).output().unwrap())
}

/// What processes on these nodes answer.
fn answers(nodes: &str) -> String {
    format!("for node in {nodes}; do echo rankweave-probe $node 1 - -; done")
}

const SITE: &str = "[[cluster]]\nnames = \"r{}n{}\"\n";

#[test]
fn a_launcher_that_does_not_end_is_ended() {
    let place = Place::new();
    let script =
        format!("echo $$ > {}; {}; sleep 600 & wait", place.path("pid").display(), answers("r1n1"));
    let mpirun = launcher(&place, &script);
    place.file("site.toml", SITE);
    let begin = Instant::now();
    for command in [&["topo"][..], &["doctor", "--probe"]] {
        let args = [command, &["--timeout", "1", "--", &mpirun, "-n", "4", "/bin/true"]].concat();
        let run = run(&place, &args);
        assert_eq!(run.code, Some(2), "{run:?}");
        for part in
            ["did not end within 1 seconds", "1 of 4 processes", "were ended", "try:", "--timeout"]
        {
            assert!(run.err.contains(part), "{part}: {}", run.err);
        }
        let pid = std::fs::read_to_string(place.path("pid")).unwrap();
        let state =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "the launcher is still there: {state}");
    }
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn complete_answers_of_a_launcher_that_does_not_end_count() {
    let place = Place::new();
    let mpirun = launcher(&place, &format!("{}; sleep 600", answers("r1n1 r1n2 r2n1 r2n2")));
    place.file("site.toml", SITE);
    let run = run(&place, &["topo", "--timeout", "1", "--", &mpirun, "-n", "4", "/bin/true"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("4 nodes below 2 switches"), "{run:?}");
}

#[test]
fn a_launcher_that_loses_all_answers_is_asked_once_more() {
    let place = Place::new();
    let seen = place.path("seen").display().to_string();
    let again =
        format!("[ -e {seen} ] && {{ {}; exit 0; }}; touch {seen}", answers("r1n1 r1n2 r2n1"));
    let mpirun = launcher(&place, &again);
    place.file("site.toml", SITE);
    let args = ["topo", "--", mpirun.as_str(), "-n", "3", "/bin/true"];
    let run_again = run(&place, &args);
    assert_eq!(run_again.code, Some(0), "{run_again:?}");
    launcher(&place, "exit 0");
    let lost = run(&place, &args);
    assert_eq!(lost.code, Some(2));
    assert!(lost.err.contains("no process of the probe answered"), "{lost:?}");
    let others = "  slurm-address, slurm-files, pbs-nodes, flux-resources, names, fabric-files, measured\n                 \
                  not asked, because a more trusted source knows all nodes\n";
    assert!(run_again.out.contains("site  ") && run_again.out.contains(others), "{run_again:?}");
    assert!(!run_again.out.contains("to use it"), "{run_again:?}");
    place.file("site.toml", "");
    launcher(&place, &answers("r1n1 r1n2 r2n1"));
    let given = run(&place, &[&args[..1], &["--topology", "torus:2x2"], &args[1..]].concat());
    assert!(given.code == Some(0) && given.out.contains("given by the user"), "{given:?}");
    let wrong = run(&place, &[&args[..1], &["--topology", "toru:2x2"], &args[1..]].concat());
    assert!(wrong.code == Some(2) && wrong.err.contains("unknown topology 'toru'"), "{wrong:?}");
    let unknown = run(&place, &args);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    for part in ["pbs-nodes", "pbsnodes -av", "flux-resources", "flux-R.json", "to use it:"] {
        assert!(unknown.out.contains(part), "{part}: {}", unknown.out);
    }
}

#[test]
fn kept_networks_are_listed_and_removed() {
    let place = Place::new();
    let none = place.run(&["topo", "--kept"]);
    assert_eq!(none.code, Some(1));
    assert!(none.err.contains("no networks are kept"), "{none:?}");
    assert_eq!(place.run(&["topo", "--forget"]).code, Some(1));
    // A large description, about which a launch asks.
    let mpirun = launcher(&place, &answers("n1 n2 n3"));
    let text = format!(
        "{}SwitchName=a Nodes=n1,n2\nSwitchName=b Nodes=n3\nSwitchName=r Switches=a,b\n",
        "# large\n".repeat(9000)
    );
    let conf = place.file("topology.conf", text);
    let then = std::time::SystemTime::now() - Duration::from_secs(60);
    std::fs::File::options().append(true).open(&conf).unwrap().set_modified(then).unwrap();
    place.file("site.toml", "[[cluster]]\ntopology = \"topology.conf\"\n");
    let asked = run(&place, &["topo", "--", &mpirun, "-n", "3", "/bin/true"]);
    assert!(asked.out.contains("3 nodes below 2 switches"), "{asked:?}");
    let listed = place.ok(&["topo", "--kept"]);
    assert!(listed.contains("topology.conf  3 hosts (n1 n2 n3)"), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["topo", "--kept", "--json"])).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["descriptions"][0]["current"], true);
    assert_eq!(json["measured"], serde_json::json!([]));
    place.file("topology.conf", "SwitchName=a Nodes=n1\n");
    assert!(place.ok(&["topo", "--kept"]).contains("the file has changed"));
    let removed =
        place.run(&["topo", "--forget", "--store", &place.path("store").display().to_string()]);
    assert_eq!(removed.code, Some(0));
    assert!(
        removed.err.contains("0 measured networks and 1 answer of a description"),
        "{removed:?}"
    );
    assert_eq!(place.run(&["topo", "--kept"]).code, Some(1));
}
