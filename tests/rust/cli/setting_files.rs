//! Settings in files: the layers, where a value is said to come from, and mistakes.

use crate::support::Place;
use std::process::Command;

/// A place whose user and site have a file each. The command reads the site's file through `RANKWEAVE_SITE`.
fn place(of_user: &str, of_site: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path(".config")).expect("a folder");
    place.file(".config/rankweave.toml", of_user);
    place.file("site.toml", of_site);
    place
}

fn command(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(words);
    command.env("RANKWEAVE_SITE", place.path("site.toml")).env_remove("RANKWEAVE_STORE");
    command
}

fn said_by(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("run the command");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn each_value_is_from_the_first_layer_that_has_it() {
    let place = place(
        "[settings]\nmin-gain = 7\nverbose = 1\nseed = 3\n",
        "measure = \"off\"\n[settings]\nmin-gain = 9\nstore = \"~/shared\"\n[[cluster]]\nnames = \"a{}n{}\"\n",
    );
    let mut env = command(&place, &["env"]);
    env.env("RANKWEAVE_SEED", "5");
    let (code, out, _) = said_by(env);
    assert_eq!(code, Some(0));
    let line = |name: &str| {
        out.lines().find(|l| l.starts_with(&format!("RANKWEAVE_{name} "))).unwrap_or("")
    };
    assert!(
        line("MIN_GAIN").contains("= 7 (from") && line("MIN_GAIN").contains(".config"),
        "{out}"
    );
    assert!(
        line("STORE").contains("/shared (from") && line("STORE").contains("site.toml"),
        "{out}"
    );
    assert!(line("SEED").ends_with("= 5"), "{}", line("SEED"));
    assert!(line("MODE").contains("not set, default"), "{out}");
    let (_, out, _) = said_by(command(&place, &["env", "--export"]));
    let shared = place.path("shared").display().to_string();
    for wanted in [
        format!("export RANKWEAVE_STORE={shared}\n"),
        "export RANKWEAVE_MIN_GAIN=7\n".into(),
        "export RANKWEAVE_VERBOSE=1\n".into(),
    ] {
        assert!(out.contains(&wanted), "{wanted} in {out}");
    }
    // Commands that read the store use that of the file, and the processes of a launch get the values.
    let (code, _, err) = said_by(command(&place, &["list"]));
    assert!(code == Some(1) && err.contains(&shared), "{err}");
    let launch = ["run", "--min-gain", "1", "--dry-run", "--", "mpirun", "-n", "2", "/bin/true"];
    let mut run = command(&place, &launch);
    run.env("RANKWEAVE_LIBRARY", place.file("librankweave.so", "a library"));
    let (_, out, err) = said_by(run);
    let words = format!("{out}{err}");
    assert!(
        words.contains("RANKWEAVE_MIN_GAIN=1") && words.contains("RANKWEAVE_VERBOSE=1"),
        "{words}"
    );
}

#[test]
fn a_mistake_in_the_users_file_stops_a_launch_and_names_the_line() {
    let place = place("[settings]\n\nmin-gian = 7\n", "");
    let (code, _, err) = said_by(command(&place, &["run", "--", "mpirun", "-n", "2", "/bin/true"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("rankweave.toml, line 3") && err.contains("min-gain"), "{err}");
    let (code, _, _) = said_by(command(&place, &["env", "--export"]));
    assert_eq!(code, Some(2));
}

/// The shell finds the command in PATH, and then its first word is no path.
#[test]
fn the_file_of_the_installation_is_found_through_path() {
    let place = Place::new();
    for folder in ["prefix/bin", "prefix/etc"] {
        std::fs::create_dir_all(place.path(folder)).expect("a folder");
    }
    std::fs::copy(env!("CARGO_BIN_EXE_rankweave"), place.path("prefix/bin/rankweave"))
        .expect("a copy of the command");
    place.file("prefix/etc/rankweave.toml", "[settings]\nmin-gain = 9\n");
    let mut env = Command::new("rankweave");
    env.arg("env").current_dir(place.path("")).env_clear().env("PATH", place.path("prefix/bin"));
    let (code, out, err) = said_by(env);
    let line = out.lines().find(|line| line.starts_with("RANKWEAVE_MIN_GAIN")).unwrap_or("");
    assert!(code == Some(0) && line.contains("= 9 (from"), "{line} {err}");
}

const LAUNCH: [&str; 6] = ["--", "mpirun", "-n", "2", "/bin/true", "x"];

/// `run --dry-run` with these options: what it prints on both streams.
fn dry_run(place: &Place, options: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let words = [&["run", "--dry-run"], options, &LAUNCH].concat();
    let mut run = place.command(&words);
    run.env("RANKWEAVE_LIBRARY", place.file("librankweave.so", "a library"));
    run.env_remove("RANKWEAVE_STORE").envs(variables.iter().copied());
    let (code, out, err) = said_by(run);
    (code, out + &err)
}

#[test]
fn a_site_file_that_does_not_exist_is_an_error_before_the_launch() {
    let place = Place::new();
    let (code, said) = dry_run(&place, &["--site", "none.toml"], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no site file") && said.contains("(in --site)"), "{said}");
    assert!(said.contains("none.toml") && said.contains("try: "), "{said}");
    let (code, said) = dry_run(&place, &[], &[("RANKWEAVE_SITE", "/nowhere/none.toml")]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("(in RANKWEAVE_SITE)"), "{said}");
    assert_eq!(dry_run(&place, &["--site", "none"], &[]).0, Some(0));
    place.file("site.toml", "");
    assert_eq!(dry_run(&place, &["--site", "site.toml"], &[]).0, Some(0));
}

/// Relative paths begin at the working directory of the command, or at the folder of the file that says them. The
/// processes of the launch, which may start elsewhere, get them in full.
#[test]
fn paths_arrive_in_full() {
    let place = Place::new();
    std::fs::create_dir(place.path("etc")).expect("a folder");
    let site = place.file("etc/site.toml", "[settings]\nstore = \"data\"\nalso-read = \"more\"\n");
    place.file("topology.conf", "SwitchName=s Nodes=a,b\n");
    let here = place.path("").canonicalize().expect("a path").display().to_string();
    let (_, said) = dry_run(&place, &["--site", "etc/site.toml"], &[]);
    for wanted in [
        format!("RANKWEAVE_STORE={here}/etc/data"),
        format!("RANKWEAVE_ALSO_READ={here}/etc/more"),
        format!("RANKWEAVE_SITE={here}/etc/site.toml"),
    ] {
        assert!(said.contains(&wanted), "{wanted}: {said}");
    }
    let mut env = place.command(&["env", "--export"]);
    env.env("RANKWEAVE_SITE", &site).env_remove("RANKWEAVE_STORE");
    let out = said_by(env).1;
    assert!(out.contains("/etc/data\n"), "{out}");
    let (_, said) = dry_run(
        &place,
        &["--topology", "slurm:topology.conf"],
        &[("RANKWEAVE_STORE", "data"), ("RANKWEAVE_ALSO_READ", "a:b")],
    );
    for wanted in [
        format!("RANKWEAVE_STORE={here}/data"),
        format!("RANKWEAVE_ALSO_READ={here}/a:{here}/b"),
        format!("RANKWEAVE_TOPOLOGY=slurm:{here}/topology.conf"),
    ] {
        assert!(said.contains(&wanted), "{wanted}: {said}");
    }
}

/// A topology has priority over the sources of the network. Who names a source is told, and where the topology is from.
#[test]
fn a_topology_that_hides_the_site_is_named() {
    let place = Place::new();
    place.file("site.toml", "");
    let run = |options: &[&str], topology: Option<&str>| {
        let words = [&["run"], options, &["--", "/bin/true"]].concat();
        let mut run = place.command(&words);
        run.env("RANKWEAVE_LIBRARY", place.file("librankweave.so", "a library"));
        run.envs(topology.map(|topology| ("RANKWEAVE_TOPOLOGY", topology)));
        said_by(run).2
    };
    let text = run(&["--site", "site.toml"], Some("tree:2:2"));
    assert!(text.contains("RANKWEAVE_TOPOLOGY gives the topology tree:2:2"), "{text}");
    assert!(text.contains("--site") && text.contains("try: unset RANKWEAVE_TOPOLOGY"), "{text}");
    let text = run(&["--network", "names", "--topology", "tree:2:2"], None);
    assert!(text.contains("--topology gives") && text.contains("leave --topology out"), "{text}");
    assert!(!run(&["--site", "site.toml"], None).contains("priority"));
    assert!(!run(&[], Some("tree:2:2")).contains("priority"));
    // Slots are those of a topology.
    let text = run(&["--slots", "0,1"], None);
    assert!(
        text.contains("--slots says on which slots") && text.contains("try: give --topology"),
        "{text}"
    );
    assert!(!run(&["--slots", "0,1", "--topology", "tree:2:2"], None).contains("has no effect"));
    // A wrong topology is named with its origin.
    assert!(run(&[], Some("tree:x")).contains("RANKWEAVE_TOPOLOGY)"));
    assert!(run(&["--topology", "tree:x"], None).contains("--topology)"));
}

#[test]
fn a_check_lists_all_mistakes_of_all_files() {
    let place = place(
        "[settings]\nmin-gain = 7\nverbos = 1\n[[cluster]]\nnames = \"a{}n{}\"\n",
        "measure = \"maybe\"\n[settings]\nsead = 1\nstore = \"site.toml\"\n[[cluster]]\nnodes = \"n[1-3]\"\n\
         topology = \"slurm:t.conf\"\n[[cluster]]\ntopology = \"fabric:none.txt\"\n",
    );
    place.file("t.conf", "SwitchName=s0 Nodes=n[1-2]\n");
    let (code, out, err) = said_by(command(&place, &["env", "--check"]));
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    for wanted in [
        "rankweave.toml: 1 setting, 1 cluster, 2 mistakes\n",
        "  line 3: there is no setting 'verbos'; try: ",
        "  line 4: [[cluster]] has no effect in the file of a user; try: ",
        "site.toml: 1 setting, 2 clusters, 5 mistakes\n",
        "  line 1: measure is not",
        "  line 3: there is no setting 'sead'; try: ",
        "  line 4: the store must be a directory",
        "  line 6: 1 of its 3 nodes is not in the topology slurm:t.conf: n3",
        "  line 9: cannot read the topology: No such file",
        "7 mistakes\n",
    ] {
        assert!(out.contains(wanted), "{wanted}: {out}");
    }
    let (code, out, _) = said_by(command(&place, &["env", "--check", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &json["schema"], &json["mistakes"]), (Some(1), &1.into(), &7.into()));
    let site = &json["files"][1];
    assert_eq!((&site["of"], &site["clusters"]), (&"site".into(), &2.into()), "{json:#}");
    assert_eq!(site["mistakes"][3]["line"], 6, "{json:#}");
    // A launch with the same descriptions goes on.
    place.file("good.toml", "[[cluster]]\nnodes = \"n[1-2]\"\ntopology = \"slurm:t.conf\"\n");
    place.file(".config/rankweave.toml", "");
    let (code, out, err) = said_by(command(&place, &["env", "--check", "--site", "good.toml"]));
    assert_eq!(code, Some(0), "{out} {err}");
    assert!(out.ends_with("good.toml: 0 settings, 1 cluster\nno mistake was found\n"), "{out}");
    let (code, _, err) = said_by(command(&place, &["env", "--check", "--site", "absent.toml"]));
    assert_eq!(code, Some(2), "{err}");
    place.file("bad.toml", "[settings\n");
    let (code, out, _) = said_by(command(&place, &["env", "--check", "--site", "bad.toml"]));
    assert!(
        code == Some(1) && out.contains("bad.toml: 0 settings, 0 clusters, 1 mistake\n"),
        "{out}"
    );
}
