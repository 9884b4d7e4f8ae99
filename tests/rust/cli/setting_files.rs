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

fn said(mut command: Command) -> (Option<i32>, String, String) {
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
    let (code, out, _) = said(env);
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
    let (_, out, _) = said(command(&place, &["env", "--export"]));
    let shared = place.path("shared").display().to_string();
    for wanted in [
        format!("export RANKWEAVE_STORE={shared}\n"),
        "export RANKWEAVE_MIN_GAIN=7\n".into(),
        "export RANKWEAVE_VERBOSE=1\n".into(),
    ] {
        assert!(out.contains(&wanted), "{wanted} in {out}");
    }
    // Commands that read the store use that of the file, and the processes of a launch get the values.
    let (code, _, err) = said(command(&place, &["list"]));
    assert!(code == Some(1) && err.contains(&shared), "{err}");
    let launch = ["run", "--min-gain", "1", "--dry-run", "--", "mpirun", "-n", "2", "/bin/true"];
    let mut run = command(&place, &launch);
    run.env("RANKWEAVE_LIBRARY", place.file("librankweave.so", "a library"));
    let (_, out, err) = said(run);
    let words = format!("{out}{err}");
    assert!(
        words.contains("RANKWEAVE_MIN_GAIN=1") && words.contains("RANKWEAVE_VERBOSE=1"),
        "{words}"
    );
}

#[test]
fn a_mistake_in_the_users_file_stops_a_launch_and_names_the_line() {
    let place = place("[settings]\n\nmin-gian = 7\n", "");
    let (code, _, err) = said(command(&place, &["run", "--", "mpirun", "-n", "2", "/bin/true"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("rankweave.toml, line 3") && err.contains("min-gain"), "{err}");
    let (code, _, _) = said(command(&place, &["env", "--export"]));
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
    let (code, out, err) = said(env);
    let line = out.lines().find(|line| line.starts_with("RANKWEAVE_MIN_GAIN")).unwrap_or("");
    assert!(code == Some(0) && line.contains("= 9 (from"), "{line} {err}");
}
