//! Help, manual page, completions and tables name every option, and the committed files are up to date.

use crate::support::{Place, repository, same_as_file};
use rankweave::options::TABLE;

fn commands() -> Vec<clap::Command> {
    let mut top = rankweave::cli::command();
    top.build();
    top.get_subcommands().cloned().collect()
}

/// Options of all commands: command, option.
fn options() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for command in commands() {
        for arg in command.get_arguments().filter(|a| !a.is_hide_set()) {
            if let Some(long) = arg.get_long() {
                all.push((command.get_name().to_string(), long.to_string()));
            }
        }
    }
    assert!(all.len() > 40, "the options were found");
    all
}

#[test]
fn every_option_is_in_the_manual_page() {
    let page = Place::new().ok(&["man"]);
    let plain =
        page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "");
    for (command, option) in options() {
        let start = plain
            .find(&format!(".SH \"{} COMMAND\"", command.to_uppercase()))
            .unwrap_or_else(|| panic!("no section of {command}"));
        let section = &plain[start..];
        let section = section[4..].find(".SH ").map_or(section, |end| &section[..end + 4]);
        assert!(section.contains(&format!("--{option}")), "{command} --{option}");
    }
    for option in TABLE {
        assert!(plain.contains(option.env), "{}", option.env);
    }
}

#[test]
fn every_option_is_in_the_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Place::new().ok(&["completions", shell]);
        for (command, option) in options() {
            let spelled = match shell {
                "fish" => format!("-l {option}"),
                _ => format!("--{option}"),
            };
            assert!(script.contains(&spelled), "{shell}: {command} --{option}");
        }
    }
}

#[test]
fn every_option_and_command_has_its_help() {
    for command in commands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.ends_with('.'), "{}", command.get_name());
        for arg in command.get_arguments() {
            let name = format!("{} {}", command.get_name(), arg.get_id());
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.is_empty(), "{name} has no help");
            assert!(!help.ends_with('.'), "{name}: the first line of help is no sentence");
        }
    }
}

#[test]
fn help_texts_are_as_committed() {
    let place = Place::new();
    same_as_file("tests/snapshots/help.txt", &place.ok(&["--help"]));
    same_as_file("tests/snapshots/help-short.txt", &place.ok(&["-h"]));
    for command in commands() {
        let name = command.get_name().to_string();
        if name != "help" {
            let text = place.ok(&[&name, "--help"]);
            same_as_file(&format!("tests/snapshots/help-{name}.txt"), &text);
        }
    }
}

#[test]
fn committed_documents_are_fresh() {
    let place = Place::new();
    same_as_file("docs/rankweave.1", &place.ok(&["man"]));
    for (shell, file) in
        [("bash", "rankweave.bash"), ("zsh", "_rankweave"), ("fish", "rankweave.fish")]
    {
        same_as_file(&format!("docs/completions/{file}"), &place.ok(&["completions", shell]));
    }
    let mut table = String::from(
        "# Settings and variables\n\nEvery option of `rankweave run` is also an environment variable, which \
         the preloaded library reads. Most of them can also be set in files ([Administrator's \
         guide](administration.md#settings-for-all-users)). The option has priority over the variable, and the \
         variable over a file. This page is made from the table in `src/options/table.rs`.\n\n\
         | option | variable | what it says |\n|---|---|---|\n",
    );
    for o in TABLE {
        table.push_str(&format!("| [`--{0}`](#--{0}) | `{1}` | {2} |\n", o.name, o.env, o.help));
    }
    for o in TABLE {
        let text = o.long.replace('<', "&lt;").replace('*', "\\*");
        let in_files = match rankweave::options::of_one_launch(o.name) {
            true => "It belongs to one launch, so no file can set it.",
            false => &format!("In a file: `{}`.", o.name),
        };
        table.push_str(&format!(
            "\n## --{}\n\n`--{0} {}`, `{}`. Default: {}. {in_files}\n\n{}. {text}\n",
            o.name, o.value, o.env, o.default, o.help
        ));
    }
    table.push_str(
        "\n## Other variables\n\n`RANKWEAVE_LIBRARY` names the library that `rankweave run` preloads, instead of looking \
         for it next to the command. `RANKWEAVE_MPI` names the MPI library of a program \
         that loads it while it runs (Python, Julia). It has to be given if this is neither the library \
         of mpi4py nor that of the launcher. `NO_COLOR` switches colours off. A value that cannot be read \
         is reported once by rank 0, and the default is used; `rankweave run` refuses it before the \
         launch. `rankweave env` shows what is set.\n",
    );
    same_as_file("docs/configuration.md", &table);
}

#[test]
fn the_table_of_formats_is_fresh() {
    let mut page = String::from(
        "# Formats\n\nThis page lists the formats that `rankweave import` reads and `rankweave export` \
         writes. Import recognises a format by the content of the file; the name does not matter.\n\n\
         In every format rows send, columns receive, and numbers are bytes unless the table says \
         otherwise. An undirected format has one number for a pair of tasks, the sum of both \
         directions; import gives half of it to each direction. So an edge of weight w costs w times the \
         distance in hop-bytes, and it counts as two pairs with traffic, one for each direction, in \
         `total_hops`, `mmc` and the other metrics of pairs.\n\n\
         An odd weight leaves half a byte in each direction. `rankweave map` and `rankweave eval` count \
         such halves exactly if they read the file itself, so the same traffic gives the same figures in \
         every format. `csv`, `mtx` and `treematch` write half a byte as `.5` and read it again; they \
         round other real numbers to whole bytes. The store, `json` and `npz` keep whole bytes: the odd \
         byte of a pair then goes from the lower task to the higher task.\n\n\
         A format without message counts is read as one message for each pair with \
         bytes. The comment at the top of each file in `src/formats` describes the format.\n\n\
         | name | reads | writes | content |\n|---|---|---|---|\n",
    );
    for f in rankweave::formats::FORMATS {
        let mark = |yes: bool| if yes { "yes" } else { "–" };
        page.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            f.name,
            mark(f.reads()),
            mark(f.writes()),
            f.about.replace('|', "\\|")
        ));
    }
    page.push_str("\n[files.md](files.md) describes the files that rankweave writes for itself.\n");
    same_as_file("docs/formats.md", &page);
}

#[test]
fn top_help_starts_with_examples_that_parse() {
    let help = Place::new().ok(&["--help"]);
    let mut lines = help.lines();
    assert_eq!(lines.next(), Some("Examples:"));
    let examples: Vec<&str> = lines.take_while(|l| l.starts_with("  rankweave ")).collect();
    assert_eq!(examples.len(), 8);
    for example in examples {
        let command = example.trim().split("   ").next().unwrap_or_default();
        rankweave::cli::command()
            .try_get_matches_from(command.split_whitespace())
            .unwrap_or_else(|e| panic!("{command}: {e}"));
    }
}

/// The files of Rust below a folder.
fn sources(folder: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|end| end == "rs") => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// An installed command has no folder `docs`, so that no message may name a page of it. Comments and tests may.
#[test]
fn messages_name_no_page_of_the_repository() {
    let mut looked_at = 0;
    for path in sources("src").into_iter().chain(sources("wrappers/src")) {
        let text = std::fs::read_to_string(&path).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_test =
            path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("tests.rs"));
        for (at, line) in code.lines().enumerate().filter(|_| !is_test) {
            looked_at += 1;
            let is_page = line.contains("docs/") || line.contains(".md");
            let is_comment = line.trim_start().starts_with("//");
            assert!(is_comment || !is_page, "{}:{}: {line}", path.display(), at + 1);
        }
    }
    assert!(looked_at > 10_000, "the sources were found");
}

/// Messages send users to the help of these commands.
#[test]
fn help_texts_have_what_messages_promise() {
    let place = Place::new();
    let help = |command: &str| place.ok(&[command, "--help"]);
    for kind in ["tree:", "torus:", "hwloc:", "slurm:", "ib:", "cabling:", "fabric:", "dist:"] {
        assert!(help("topo").contains(&format!("  {kind}")), "{kind}");
    }
    for part in ["[settings]", "[[cluster]]", "topology = ", "names = ", "torus = "] {
        assert!(help("env").contains(part), "{part}");
    }
    for format in ["metis", "mtx", "csv", "scotch"] {
        assert!(help("import").contains(&format!("- {format}:")), "{format}");
    }
    let page = place.ok(&["man"]);
    assert!(page.contains("[[cluster]]") && page.contains("cabling:cables.csv"));
}
