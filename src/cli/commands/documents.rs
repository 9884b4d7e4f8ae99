//! `rankweave man` and `rankweave completions`: made from the definition of the command line.

use crate::base::error::Result;
use crate::cli::console::{Exit, output};
use crate::options::TABLE;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  rankweave completions bash > ~/.local/share/bash-completion/completions/rankweave
  rankweave completions zsh > ~/.zfunc/_rankweave
  rankweave completions fish > ~/.config/fish/completions/rankweave.fish")]
pub struct CompletionsArgs {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
    shell: clap_complete::Shell,
}

impl CompletionsArgs {
    pub(in crate::cli) fn execute(self, mut definition: clap::Command) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut definition, "rankweave", &mut script);
        output::print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Done)
    }
}

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  rankweave man | man -l -")]
pub struct ManArgs {}

impl ManArgs {
    pub(in crate::cli) fn execute(self, definition: clap::Command) -> Result<Exit> {
        output::print(&man_page(definition)?)?;
        Ok(Exit::Done)
    }
}

/// The manual page: all commands in one, then environment, files and exit codes.
fn man_page(mut top: clap::Command) -> Result<String> {
    let failed = crate::formats::write_error;
    let mut page = Vec::new();
    top.build();
    let man = clap_mangen::Man::new(top.clone());
    man.render_title(&mut page).map_err(failed)?;
    man.render_name_section(&mut page).map_err(failed)?;
    man.render_synopsis_section(&mut page).map_err(failed)?;
    man.render_description_section(&mut page).map_err(failed)?;
    page.extend(examples(&top, ".SH").bytes());
    for sub in top.get_subcommands() {
        let name = sub.get_name().to_uppercase();
        page.extend(format!(".SH \"{name} COMMAND\"\n").bytes());
        let man = clap_mangen::Man::new(sub.clone());
        let mut part = Vec::new();
        man.render_synopsis_section(&mut part).map_err(failed)?;
        man.render_description_section(&mut part).map_err(failed)?;
        man.render_options_section(&mut part).map_err(failed)?;
        // The sections of the command become subsections of the page.
        page.extend(String::from_utf8_lossy(&part).replace(".SH ", ".SS ").bytes());
        page.extend(examples(sub, ".SS").bytes());
        page.extend(behind(sub).bytes());
    }
    let mut rest = String::from(".SH ENVIRONMENT\n");
    for option in TABLE {
        rest.push_str(&format!(
            ".TP\n\\fB{}\\fR [default: {}]\n{}. {}\n",
            option.env,
            roff(option.default),
            roff(option.help),
            roff(option.long)
        ));
    }
    rest.push_str(
        ".TP\n\\fBRANKWEAVE_LIBRARY\\fR\nThe library that 'rankweave run' preloads, instead of \
         looking for it.\n\
         .TP\n\\fBRANKWEAVE_MPI\\fR\nThe MPI library (libmpi.so) of a program that loads it while it runs. It has to be given if it is neither the library of mpi4py nor that of the launcher.\n\
         .TP\n\\fBNO_COLOR\\fR\nNo colours in the terminal.\n\
         .SH FILES\n.TP\n/etc/rankweave.toml, ~/.config/rankweave.toml\nSettings files; the section on the env \
         command shows their form, and 'rankweave env \\-\\-check' looks for mistakes in them.\n.TP\n~/.local/share/rankweave/KEY.rkw\nOne record for each program and number \
         of ranks. A record that cannot be read is moved to KEY.rkw.corrupt when the program is \
         recorded again.\n\
         .SH \"EXIT STATUS\"\n.TP\n0\nDone.\n.TP\n1\nNothing found, or a negative answer.\n.TP\n2\n\
         Usage or I/O error.\n.PP\n\\&'rankweave run' ends with the exit status of the launcher.\n",
    );
    page.extend(rest.bytes());
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// The examples in the help of a command.
fn examples(command: &clap::Command, heading: &str) -> String {
    let Some(text) = command.get_before_long_help() else { return String::new() };
    let text = text.to_string();
    let lines = text.lines().skip_while(|line| !line.starts_with("  "));
    let lines: Vec<String> = lines
        .take_while(|line| line.starts_with("  "))
        .map(|line| roff(line.trim_start_matches(' ')))
        .collect();
    format!("{heading} EXAMPLES\n.nf\n{}\n.fi\n", lines.join("\n"))
}

/// The text behind the options in the help of a command, such as a list of the topologies.
fn behind(command: &clap::Command) -> String {
    let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    if !["topo", "env"].contains(&command.get_name()) || text.is_empty() {
        return String::new();
    }
    // A line that begins with a point or an apostrophe would be a request.
    let lines: Vec<String> = text.lines().map(|line| format!("\\&{}", roff(line))).collect();
    format!(".SS FORMS\n.nf\n{}\n.fi\n", lines.join("\n"))
}

fn roff(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}
