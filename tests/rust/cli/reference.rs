//! The reference chapters of the book that are made from what the program itself knows: commands, exit codes, metrics,
//! algorithms. `RANKWEAVE_UPDATE_SNAPSHOTS=1` writes them.

use crate::support::{Place, repository, same_as_file};
use clap::{Arg, Command};
use rankweave::mapping::{Objective, registry};
use rankweave::options::TABLE;
use std::fmt::Write;

/// The commands of the program, without `help`.
fn commands() -> Vec<Command> {
    let mut top = rankweave::cli::command();
    top.build();
    top.get_subcommands().filter(|c| c.get_name() != "help").cloned().collect()
}

/// Text for a cell of a table, or for a line of a page.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace('\n', " ")
}

/// `--name VALUE`, `-n, --name VALUE`, or `VALUE` of an argument without a name.
fn spelled(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default().join(" ");
    let values = if arg.get_action().takes_values() { values } else { String::new() };
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        (Some(short), None) => format!("-{short}"),
        _ => String::new(),
    };
    [name, values].iter().filter(|s| !s.is_empty()).cloned().collect::<Vec<_>>().join(" ")
}

/// What an argument means: its whole help, with its default.
fn meaning(arg: &Arg) -> String {
    let short = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let whole = arg.get_long_help().map_or_else(|| short.clone(), ToString::to_string);
    let mut paragraphs: Vec<String> =
        whole.split("\n\n").map(|p| cell(p.trim())).filter(|p| !p.is_empty()).collect();
    if let Some(last) = paragraphs.last_mut().filter(|p| !p.ends_with('.')) {
        last.push('.');
    }
    if paragraphs.len() > 1 && !paragraphs[0].ends_with('.') {
        paragraphs[0].push('.');
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        paragraphs.push(format!("Default: `{}`.", defaults.join(",")));
    }
    paragraphs.join(" ")
}

/// The paragraphs of the text about a command, without that about its exit codes.
fn about(command: &Command) -> String {
    let text = command.get_long_about().or(command.get_about());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let kept = text.split("\n\n").filter(|p| !p.starts_with("Exit codes:"));
    kept.map(paragraph).collect::<Vec<_>>().join("\n\n")
}

/// A paragraph of a help text as Markdown: one whose lines are indented stays as it is.
fn paragraph(text: &str) -> String {
    let text = text.trim_end();
    if text.lines().skip(1).any(|line| line.starts_with("  ")) {
        return format!("```text\n{text}\n```");
    }
    let end = if text.ends_with(['.', ':', '?']) { "" } else { "." };
    text.replace('<', "&lt;").replace('*', "\\*") + end
}

#[test]
fn the_chapter_of_commands_is_fresh() {
    let mut page = String::from(
        "# Commands\n\nThis page has every command with its arguments. It is made from the texts that \
         `rankweave COMMAND --help` prints. The settings of a launch, which `run`, `check`, `compare` and others \
         take, are in [Settings and variables](configuration.md). Every command also takes `--help`.\n",
    );
    for command in commands() {
        let name = command.get_name();
        write!(page, "\n## rankweave {name}\n\n{}\n", about(&command)).unwrap();
        let mut settings = 0;
        let mut rows = String::new();
        for arg in command.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help") {
            if TABLE.iter().any(|o| Some(o.name) == arg.get_long()) {
                settings += 1;
            } else {
                writeln!(rows, "| `{}` | {} |", cell(&spelled(arg)), meaning(arg)).unwrap();
            }
        }
        if !rows.is_empty() {
            write!(page, "\n| argument | meaning |\n|---|---|\n{rows}").unwrap();
        }
        match settings {
            0 => {}
            n if n == TABLE.len() => {
                page.push_str("\nThis command also takes all [settings](configuration.md).\n");
            }
            _ => {
                let names = command.get_arguments().filter_map(Arg::get_long);
                let names: Vec<String> = names
                    .filter(|long| TABLE.iter().any(|o| o.name == *long))
                    .map(|long| format!("`--{long}`"))
                    .collect();
                writeln!(page, "\nOf the [settings](configuration.md): {}.", names.join(", "))
                    .unwrap();
            }
        }
    }
    same_as_file("docs/commands.md", &page);
}

#[test]
fn the_chapter_of_exit_codes_is_fresh() {
    let mut page = String::from(
        "# Exit codes\n\nEvery command ends with one of these codes. `rankweave run` is the exception: it ends with \
         the exit code of the launcher, which is usually that of the program, or with 2 if the launcher could not be \
         started.\n\n\
         | command | 0 | 1 | 2 |\n|---|---|---|---|\n\
         | any | done | nothing found, or a negative answer | usage or I/O error |\n",
    );
    let top = rankweave::cli::command().get_before_long_help().map(ToString::to_string);
    let top = top.unwrap_or_default();
    assert!(top.contains("0 done; 1 nothing found, or a negative answer; 2 usage or I/O error."));
    for command in commands() {
        let text = command.get_long_about().map(ToString::to_string).unwrap_or_default();
        let Some(said) = text.split("Exit codes: ").nth(1) else { continue };
        let said = said.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let codes: Vec<&str> = said.trim_end_matches('.').split("; ").collect();
        let code = |digit: &str| {
            let found = codes.iter().find_map(|c| c.strip_prefix(digit));
            found.map(str::trim).unwrap_or_default().to_string()
        };
        assert_eq!(codes.len(), 3, "{}: {said}", command.get_name());
        writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            command.get_name(),
            code("0"),
            code("1"),
            code("2")
        )
        .unwrap();
    }
    page.push_str(
        "\nCommands without a row of their own follow the first row. For example, `rankweave show` ends with 1 if the \
         store has no such record, and `rankweave topo -- LAUNCHER` if no source knows the network.\n",
    );
    same_as_file("docs/exit-codes.md", &page);
}

#[test]
fn the_chapter_of_metrics_is_fresh() {
    let place = Place::new();
    let matrix = repository("tests/formats/four.csv").display().to_string();
    let text = place.ok(&["eval", "--matrix", &matrix, "--topology", "mesh:2x2"]);
    let mut page = String::from(
        "# Metrics\n\n`rankweave eval` prints what a mapping costs: one line for each of these metrics. With `--json`, \
         the names are the keys, and `time` is called `predicted_time`. A *pair* is an ordered pair of different \
         tasks with traffic. The *distance* of a pair is that of the slots of its two tasks. Metrics of links are `-` \
         if the topology has no links.\n\n\
         | metric | meaning |\n|---|---|\n",
    );
    let mut rows = 0;
    for line in text.lines() {
        let (name, rest) = line.split_once(' ').expect("a name and a value");
        let (_, meaning) = rest.trim().split_once("  ").expect("a value and a meaning");
        writeln!(page, "| `{name}` | {} |", cell(meaning.trim())).unwrap();
        rows += 1;
    }
    assert!(rows > 12, "{text}");
    page.push_str(
        "\nIf the topology has rails (network adapters), `rail_busiest`, `rail_balance` and `rail_cost` follow, and a \
         line for each rail.\n\n\
         The metrics with the names `hop-bytes`, `total-hops`, `sum-com`, `max-com`, `mc`, `mmc` and `time` \
         can be what `rankweave map --objective` minimises. [The glossary](glossary.md#mapping) has their definitions, \
         and [Reading the output](output.md) explains hop-bytes by an example.\n",
    );
    let names: Vec<String> = Objective::ALL.iter().map(|o| format!("`{}`", o.name())).collect();
    let (last, first) = names.split_last().expect("names");
    let spelled = format!("{} and {last}", first.join(", "));
    assert!(page.contains(&spelled), "the page names the objectives: {spelled}");
    same_as_file("docs/metrics.md", &page);
}

#[test]
fn the_table_of_algorithms_is_fresh() {
    let mut page = String::from(
        "# Algorithms by name\n\n`rankweave map --algorithm NAME` takes one of these names. Without `--algorithm` it \
         uses `auto`. Where an algorithm does not apply, it says so and the exit code is 2. \
         [Algorithms](algorithms.md) describes how they work together.\n\n\
         | name | source | applies to |\n|---|---|---|\n",
    );
    for mapper in registry() {
        writeln!(
            page,
            "| `{}` | {} | {} |",
            mapper.name(),
            cell(mapper.source()),
            cell(mapper.applies_to())
        )
        .unwrap();
    }
    same_as_file("docs/algorithm-names.md", &page);
}
