//! The options of a launch as command line options, made from the table in [`crate::options`].

use super::full_paths::in_full;
use super::origin;
use crate::base::error::Result;
use crate::options::{Opt, Settings, TABLE, find};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

const HEADING: &str = "Options of the launch (also as environment variables)";
const SHORT_VERBOSE: &str = "v";

/// The options that the user gave, with their values.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct SettingsArgs {
    given: Vec<(&'static Opt, String)>,
}

fn arg(option: &'static Opt) -> Arg {
    let mut arg = Arg::new(option.name)
        .long(option.name)
        .value_name(option.value)
        .help(option.help)
        .long_help(format!(
            "{}.\n\n{}\n\n[default: {}] [env: {}]",
            option.help, option.long, option.default, option.env
        ))
        .help_heading(HEADING)
        .value_parser(clap::builder::StringValueParser::new())
        .num_args(1);
    if !option.choices.is_empty() {
        arg = arg
            .value_parser(clap::builder::PossibleValuesParser::new(option.choices))
            .ignore_case(true)
            .hide_possible_values(true);
    }
    if option.name == "verbose" {
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value("1");
    }
    arg
}

impl clap::Args for SettingsArgs {
    fn augment_args(command: Command) -> Command {
        let short = Arg::new(SHORT_VERBOSE)
            .short('v')
            .action(ArgAction::Count)
            .help("The same as --verbose; -vv as --verbose=2")
            .help_heading(HEADING);
        command.args(TABLE.iter().map(arg)).arg(short)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let given = |option: &'static Opt| {
            matches.get_one::<String>(option.name).map(|value| (option, value.clone()))
        };
        let mut given: Vec<_> = TABLE.iter().filter_map(given).collect();
        let count = matches.get_count(SHORT_VERBOSE).min(2);
        if let (1.., Some(option)) = (count, find("verbose"))
            && !given.iter().any(|(o, _)| o.name == option.name)
        {
            given.push((option, count.to_string()));
        }
        origin::remember(given.iter().map(|(option, _)| option.name));
        Ok(SettingsArgs { given })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl SettingsArgs {
    /// Sets an option as if the user had given it. A name without an option is ignored.
    pub(in crate::cli) fn give(&mut self, name: &str, value: String) {
        self.given.extend(find(name).map(|option| (option, value)));
    }

    /// The options that the user gave, as environment variables. Every value is checked. Paths are made
    /// absolute, because the processes may start in another directory.
    pub(in crate::cli) fn variables(&self) -> Result<Vec<(String, String)>> {
        let mut settings = Settings::default();
        let mut variables = Vec::new();
        for (option, value) in &self.given {
            settings.set(option.name, value).map_err(|e| e.at(format!("--{}", option.name)))?;
            let value = in_full(option, value);
            variables.push((option.env.to_string(), value));
        }
        Ok(variables)
    }
}
