//! `rankweave env`: the variables, their values and what they mean.

use crate::base::error::Result;
use crate::cli::arguments::setting_files;
use crate::cli::console::{Exit, output, shell};
use crate::cli::preload::settings::unknown_variables;
use crate::options::{Opt, Settings, TABLE};
use serde_json::json;

/// List the RANKWEAVE_* variables: value, default, meaning
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the list as JSON
    #[arg(long, conflicts_with = "export")]
    json: bool,

    /// Print the settings that come from files as lines for a shell
    ///
    /// The preloaded library reads variables only, and no files. Where it is preloaded without 'rankweave run', a
    /// module file or a login script can do: eval "$(rankweave env --export)".
    #[arg(long)]
    export: bool,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
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
            output::print_json(&json!({ "schema": 1, "variables": list }))?;
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
        for sentence in unknown_variables() {
            text.push_str(&format!("{sentence}\n"));
        }
        output::print(&text)?;
        setting_files::check()?;
        Ok(Exit::Done)
    }
}
