//! The store that is asked for, and whether by the option or by a variable.

use crate::cli::arguments::selection::StoreArgs;
use clap::parser::ValueSource;

/// The store that is asked for.
#[derive(Debug)]
pub(super) struct AskedStore {
    pub(super) store: StoreArgs,
    /// By the option, not by a variable that is set for all that is launched.
    pub(super) typed: bool,
}

impl clap::FromArgMatches for AskedStore {
    fn from_arg_matches(matches: &clap::ArgMatches) -> std::result::Result<Self, clap::Error> {
        let typed = matches.value_source("store") == Some(ValueSource::CommandLine);
        Ok(AskedStore { store: StoreArgs::from_arg_matches(matches)?, typed })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &clap::ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for AskedStore {
    fn augment_args(command: clap::Command) -> clap::Command {
        StoreArgs::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        StoreArgs::augment_args_for_update(command)
    }
}
