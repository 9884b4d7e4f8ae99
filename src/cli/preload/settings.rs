//! The settings of a launch, as environment variables that its processes get.

use super::{functions, library};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nearest::nearest;
use crate::cli::arguments::full_paths::in_full;
use crate::cli::arguments::origin::{is_given, origin};
use crate::cli::arguments::setting_files;
use crate::cli::arguments::settings::SettingsArgs;
use crate::launch::PLACED;
use crate::options::{FUNCTIONS, Settings, Slots, TABLE};
use crate::report::units::printable;
use crate::store::NOTE;
use std::ffi::OsString;

/// Variables that have no option.
const OTHER_VARIABLES: [&str; 10] = [
    library::VARIABLE,
    FUNCTIONS,
    PLACED,
    NOTE,
    functions::MPI,
    "RANKWEAVE_ADDRESS",
    "RANKWEAVE_CHAIN",
    "RANKWEAVE_INJECT",
    "RANKWEAVE_CACHE",
    "RANKWEAVE_UPDATE_SNAPSHOTS",
];

/// Names and values of environment variables.
pub(in crate::cli) type Variables = Vec<(String, String)>;

/// The variables that a launch passes on: those of this process's environment, and the options that
/// were given, which take precedence. Errors: a value cannot be understood.
pub(in crate::cli) fn variables(given: &SettingsArgs) -> Result<Variables> {
    setting_files::check()?;
    let variables = merged(std::env::vars_os(), given.variables()?);
    settings_in(&variables)?;
    Ok(variables)
}

/// The settings of a launch with these options. Errors: a value cannot be understood.
pub(in crate::cli) fn settings(given: &SettingsArgs) -> Result<Settings> {
    setting_files::check()?;
    settings_in(&merged(std::env::vars_os(), given.variables()?))
}

/// Checks what a launch would find out only in its processes: that the store is no file, that the topology is
/// understood, and that the files of the topology and of the slots can be read. Returns a message about a file that
/// cannot be read here: rank 0 may run on a node that has it.
///
/// Errors: the store is a file, the topology is not understood.
pub(in crate::cli) fn check_descriptions(settings: &Settings) -> Result<Option<String>> {
    let unread = |error: &Error| {
        let problem = error.problem();
        let advice = error.advice().map(|advice| format!("; try: {advice}")).unwrap_or_default();
        format!(
            "{problem}; unless the node of rank 0 can read it, this launch does not use it{advice}"
        )
    };
    if let Some(store) = &settings.store {
        crate::store::check_directory(store)?;
    }
    if let Some(text) = &settings.topology {
        match crate::topology::parse(text) {
            Err(error) if error.kind() == ErrorKind::Io => {
                return Ok(Some(unread(&error)));
            }
            Err(error) => {
                let inner = error.place().map_or(String::new(), |place| format!("{place}, "));
                let origin = origin("topology");
                return Err(error.at(format!("{inner}{origin}")));
            }
            Ok(_) => {}
        }
    }
    if let Some(Slots::File(path)) = &settings.slots
        && let Err(error) = std::fs::File::open(path)
    {
        let error = Error::io("cannot read the slots", path, &error)
            .advise("give slots such as 0-15, or the file with their numbers");
        return Ok(Some(unread(&error)));
    }
    Ok(None)
}

/// A sentence about the options of the command line that say where the network is described, if the given topology has
/// priority over them.
pub(in crate::cli) fn hidden_by_topology(settings: &Settings) -> Option<String> {
    let topology = settings.topology.as_deref()?;
    let hidden: Vec<&str> = ["site", "network"].into_iter().filter(|name| is_given(name)).collect();
    if hidden.is_empty() {
        return None;
    }
    let hidden: Vec<String> = hidden.iter().map(|name| format!("--{name}")).collect();
    let origin = origin("topology");
    let advice = match is_given("topology") {
        true => "leave --topology out".into(),
        false => format!("unset {origin}"),
    };
    Some(format!(
        "{origin} gives the topology {}, which has priority: this launch asks no other source of the network, and {} does \
         not change that; try: {advice}",
        printable(topology),
        hidden.join(" or "),
    ))
}

/// A sentence about slots that were given without the topology whose slots they are.
pub(in crate::cli) fn slots_of_nothing(settings: &Settings) -> Option<String> {
    if settings.slots.is_none() || settings.topology.is_some() {
        return None;
    }
    let origin = origin("slots");
    Some(format!(
        "{origin} says on which slots of a topology the processes are, and no topology is given: it has no effect, and the \
         places of the processes are found out as without it; try: give --topology, too"
    ))
}

/// The variables of this environment that begin as those of rankweave do, but are none of them, each with the
/// variable that is most like it.
pub(in crate::cli) fn unknown_variables() -> Vec<(String, Option<&'static str>)> {
    unknown_among(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
}

/// A sentence about each unknown variable of this environment.
pub(in crate::cli) fn about_unknown_variables() -> Vec<String> {
    let sentence = |(name, like): (String, Option<&str>)| {
        let advice = like.map(|like| format!("; try: {like}")).unwrap_or_default();
        format!("there is no variable {name}, and its value has no effect{advice}")
    };
    unknown_variables().into_iter().map(sentence).collect()
}

/// The unknown variables among these, each with the variable that is most like it.
fn unknown_among(names: impl Iterator<Item = String>) -> Vec<(String, Option<&'static str>)> {
    let known = || TABLE.iter().map(|option| option.env).chain(OTHER_VARIABLES);
    let is_unknown = |name: &String| {
        name.starts_with("RANKWEAVE_")
            && !name.starts_with("RANKWEAVE_TEST_")
            && known().all(|other| other != name)
    };
    let mut unknown: Vec<String> = names.filter(is_unknown).collect();
    unknown.sort();
    // All names begin alike, which says nothing about how like they are.
    let behind = |name: &'static str| name.strip_prefix("RANKWEAVE_").unwrap_or(name);
    let with_nearest = |name: String| {
        let own = name.strip_prefix("RANKWEAVE_").unwrap_or(&name);
        let like = nearest(own, known().map(behind));
        let like = like.and_then(|like| known().find(|other| behind(other) == like));
        (name, like)
    };
    unknown.into_iter().map(with_nearest).collect()
}

/// All `RANKWEAVE_` variables of an environment, sorted, and behind them those that were given.
///
/// The variables of the environment are passed on too, because the processes of other nodes do not inherit
/// this environment.
fn merged(environment: impl Iterator<Item = (OsString, OsString)>, given: Variables) -> Variables {
    // The values of these variables are found anew for every launch.
    let own = [library::VARIABLE, FUNCTIONS, PLACED, NOTE];
    let mut variables: Variables = environment
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("RANKWEAVE_") && !own.contains(&name.as_str()))
        .filter(|(name, _)| given.iter().all(|g| g.0 != *name))
        .map(|(name, value)| {
            let option = TABLE.iter().find(|option| option.env == name);
            let value = option
                .filter(|_| !value.trim().is_empty())
                .map_or(value.clone(), |option| in_full(option, &value));
            (name, value)
        })
        .collect();
    variables.sort();
    variables.extend(given);
    variables
}

/// The settings in a list of variables. If a name occurs several times, the last value counts. Errors: a value
/// cannot be understood.
fn settings_in(variables: &[(String, String)]) -> Result<Settings> {
    let (settings, errors) = Settings::from_env(|name| {
        variables.iter().rev().find(|v| v.0 == name).map(|v| v.1.clone())
    });
    errors.into_iter().next().map_or(Ok(settings), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_nearly_right() {
        let names =
            ["RANKWEAVE_MOD", "RANKWEAVE_STORE", "RANKWEAVE_XYZZY", "RANKWEAVE_CHAIN", "HOME"];
        assert_eq!(
            unknown_among(names.into_iter().map(String::from)),
            [
                ("RANKWEAVE_MOD".to_string(), Some("RANKWEAVE_MODE")),
                ("RANKWEAVE_XYZZY".to_string(), None)
            ]
        );
    }

    #[test]
    fn options_go_before_the_environment() {
        let pair = |n: &str, v: &str| (n.to_string(), v.to_string());
        let environment = [
            ("RANKWEAVE_SEED", "5"),
            ("RANKWEAVE_FIX", "none"),
            ("RANKWEAVE_LIBRARY", "/l.so"),
            ("HOME", "/h"),
        ];
        let environment = environment.map(|(n, v)| (n.into(), v.into()));
        let variables = merged(environment.into_iter(), vec![pair("RANKWEAVE_SEED", "7")]);
        assert_eq!(variables, [pair("RANKWEAVE_FIX", "none"), pair("RANKWEAVE_SEED", "7")]);
        // The processes may start in another directory.
        let relative = [("RANKWEAVE_STORE".into(), "data".into())];
        let here = std::env::current_dir().unwrap().join("data").display().to_string();
        assert_eq!(merged(relative.into_iter(), vec![]), [pair("RANKWEAVE_STORE", &here)]);
        assert_eq!(settings_in(&variables).unwrap().seed, 7);
        assert!(settings_in(&[pair("RANKWEAVE_SEED", "x")]).is_err());
    }
}
