//! `rankweave env`: the variables, their values and what they mean.

use super::settings_check::Check;
use crate::base::error::Result;
use crate::cli::arguments::setting_files;
use crate::cli::console::{Exit, output, shell};
use crate::cli::preload::settings::{about_unknown_variables, unknown_variables};
use crate::options::{Opt, Settings, TABLE};
use crate::sources::SITE_FILE_EXAMPLE;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  rankweave env                            all variables, with their values and where these are from
  rankweave env --check                    look for mistakes in the settings files
  rankweave env --check --site site.toml   the same, with this file in place of the site's
  eval \"$(rankweave env --export)\"         settings of files, for a preload by hand";

/// The form of a settings file, for the help and the manual page.
pub(in crate::cli) fn file_form() -> String {
    format!(
        "Settings files: ~/.config/rankweave.toml of a user, with [settings] only; /etc/rankweave.toml of the site; \
         etc/rankweave.toml of the installation. A relative path in a file begins at the folder of this file. Example:\n\n{}",
        SITE_FILE_EXAMPLE.trim_end()
    )
}

/// List the RANKWEAVE_* variables: value, default, meaning
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, after_long_help = file_form())]
pub struct Args {
    /// Print the list, or the mistakes, as JSON
    #[arg(long, conflicts_with = "export")]
    json: bool,

    /// Look for mistakes in the settings files, and list all of them
    ///
    /// The files are the user's, the site's and the installation's, and the site's files of the fabric. The topologies
    /// and fabrics that they name are read, and the nodes of each cluster are looked for in them. Each mistake is
    /// listed with its line and what to do. Nothing is launched. Exit codes: 0 no mistake; 1 some; 2 usage or I/O error.
    #[arg(long, conflicts_with = "export")]
    check: bool,

    /// The site file, instead of /etc/rankweave.toml and the file of the installation; none: no site file
    // `setting_files` reads it before the command line is parsed.
    #[arg(long, value_name = "FILE")]
    site: Option<String>,

    /// Print the settings that come from files as lines for a shell
    ///
    /// The preloaded library reads variables only, and no files. Where it is preloaded without 'rankweave run', a
    /// module file or a login script can do: eval "$(rankweave env --export)".
    #[arg(long)]
    export: bool,
}

impl Args {
    /// Whether the command itself tells what is wrong in the files.
    pub(in crate::cli) fn is_check(&self) -> bool {
        self.check
    }

    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        if self.check {
            setting_files::check_named()?;
            let check = Check::of_all_files();
            output::print_as(self.json, || &check, || check.text())?;
            return Ok(if check.is_right() { Exit::Done } else { Exit::Nothing });
        }
        if self.export {
            setting_files::check()?;
            let line = |(option, value): (&Opt, String)| {
                format!("export {}={}\n", option.env, shell::quoted(&value))
            };
            output::print(&setting_files::from_files().map(line).collect::<String>())?;
            return Ok(Exit::Done);
        }
        let value = |name: &str| {
            std::env::var_os(name)
                .map(|v| v.to_string_lossy().into_owned())
                .filter(|v| !v.is_empty())
        };
        let (_, errors) = Settings::from_env(value);
        let problem = |name: &str| errors.iter().find(|e| e.place() == Some(name));
        if self.json {
            let list: Vec<_> = TABLE
                .iter()
                .map(|o| {
                    json!({
                        "variable": o.env, "option": format!("--{}", o.name),
                        "value": value(o.env), "default": o.default, "meaning": o.help,
                        "file": setting_files::origin(o),
                        "problem": problem(o.env).map(ToString::to_string),
                    })
                })
                .collect();
            let unknown: Vec<_> = unknown_variables()
                .into_iter()
                .map(|(name, like)| json!({ "variable": name, "nearest": like }))
                .collect();
            output::print_json(&json!({ "schema": 1, "variables": list, "unknown": unknown }))?;
            return Ok(Exit::Done);
        }
        let mut text = String::new();
        for option in TABLE {
            let state = match (value(option.env), problem(option.env)) {
                (_, Some(error)) => format!("ignored: {error}"),
                (Some(value), None) => {
                    let file = setting_files::origin(option)
                        .map_or(String::new(), |path| format!(" (from {})", path.display()));
                    format!("= {}{file}", crate::report::units::printable(&value))
                }
                (None, None) => format!("not set, default {}", option.default),
            };
            text.push_str(&format!("{:<22} {state}\n    {}\n", option.env, option.help));
        }
        for sentence in about_unknown_variables() {
            text.push_str(&format!("{sentence}\n"));
        }
        output::print(&text)?;
        setting_files::check()?;
        Ok(Exit::Done)
    }
}
