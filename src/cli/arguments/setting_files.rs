//! The settings in files, put among the variables of this command before anything else reads them.
//!
//! All parts of the command, and the processes of a launch, read settings from variables. So a value of a file becomes
//! a variable, unless the user has set this variable. [`origin`] remembers which file it came from.

use crate::base::error::{Error, Result};
use crate::launch;
use crate::options::{Opt, SettingFile, Settings, TABLE};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The name of the user's file, below `$XDG_CONFIG_HOME` or `~/.config`.
const NAME: &str = "rankweave.toml";

/// What the files gave.
#[derive(Debug, Default)]
struct Applied {
    /// The options whose value is from a file.
    origins: Vec<(&'static str, PathBuf)>,
    /// The files that cannot be used, and whether the user can repair them.
    problems: Vec<(Error, bool)>,
}

static APPLIED: OnceLock<Applied> = OnceLock::new();

/// Reads the files and sets the variables. Call it once, before this process has a second thread.
///
/// `words` is the command line: the option `--site` names another file of the site.
pub(in crate::cli) fn apply(words: &[OsString]) {
    let mut applied = Applied::default();
    applied.problems.extend(missing_site(words, variable).map(|error| (error, true)));
    for (path, is_users) in files(words, variable) {
        let file = match SettingFile::read(&path, variable) {
            Ok(Some(file)) => file,
            Ok(None) => continue,
            Err(error) => {
                applied.problems.push((error, is_users));
                continue;
            }
        };
        for (option, value) in &file.values {
            if std::env::var_os(option.env)
                .is_none_or(|set| set.to_string_lossy().trim().is_empty())
            {
                // SAFETY: the caller says that this process has no other thread yet, so nothing reads the
                // environment at the same time.
                unsafe { std::env::set_var(option.env, value) };
                applied.origins.push((option.name, path.clone()));
            }
        }
    }
    let _ = APPLIED.set(applied);
}

/// The files, the one with priority first, and whether it is the user who can repair each.
fn files(words: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Vec<(PathBuf, bool)> {
    let of_user = of_user(&variable).map(|path| (path, true));
    let (settings, _) = site_settings(words, variable);
    let is_named = settings.site.is_some();
    let of_site = launch::site_files(&settings).into_iter().map(|path| (path, is_named));
    of_user.into_iter().chain(of_site).collect()
}

/// The settings with the site file that the user names, and what names it.
fn site_settings(
    words: &[OsString],
    variable: impl Fn(&str) -> Option<String>,
) -> (Settings, &'static str) {
    let mut settings = Settings::default();
    let (named, by) = match named_site(words) {
        Some(name) => (Some(name), "--site"),
        None => (variable("RANKWEAVE_SITE"), "RANKWEAVE_SITE"),
    };
    if let Some(name) = named {
        let _ = settings.set("site", &name);
    }
    (settings, by)
}

/// The error that the site file which the user names does not exist.
fn missing_site(words: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Option<Error> {
    let (settings, by) = site_settings(words, variable);
    launch::missing_site_file(&settings).map(|error| error.at(by))
}

/// The files that may exist, the one with priority first, and whether each is the user's own.
pub(in crate::cli) fn all() -> Vec<(PathBuf, bool)> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let own = of_user(variable);
    files(&words, variable)
        .into_iter()
        .map(|(path, _)| {
            let is_own = own.as_ref() == Some(&path);
            (path, is_own)
        })
        .collect()
}

/// Whether the site file exists that the user names.
///
/// Errors: it does not.
pub(in crate::cli) fn check_named() -> Result<()> {
    let words: Vec<OsString> = std::env::args_os().collect();
    missing_site(&words, variable).map_or(Ok(()), Err)
}

/// The value of a variable, unless it is empty.
pub(in crate::cli) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The file of the user.
fn of_user(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let config = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = config.or_else(|| Some(Path::new(&variable("HOME")?).join(".config")));
    config.map(|folder| folder.join(NAME))
}

/// The value of `--site` in a command line. Behind `--` are the words of the launch.
fn named_site(words: &[OsString]) -> Option<String> {
    let own: Vec<&str> =
        words.iter().map(|word| word.to_str().unwrap_or("")).take_while(|w| *w != "--").collect();
    own.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--site")? {
        "" => own.get(at + 1).map(ToString::to_string),
        value => value.strip_prefix('=').map(str::to_string),
    })
}

/// The file that the value of this option is from; `None` if it is not from a file.
pub(in crate::cli) fn origin(option: &Opt) -> Option<&'static Path> {
    let origins = &APPLIED.get()?.origins;
    origins.iter().find(|(name, _)| *name == option.name).map(|(_, path)| path.as_path())
}

/// The options whose values are from files, with their values.
pub(in crate::cli) fn from_files() -> impl Iterator<Item = (&'static Opt, String)> {
    TABLE
        .iter()
        .filter(|option| origin(option).is_some())
        .filter_map(|option| std::env::var(option.env).ok().map(|value| (option, value)))
}

/// A sentence about each file of the site that cannot be used. The user cannot repair it, so the command goes on.
pub(in crate::cli) fn unusable_site_files() -> Vec<String> {
    let problems = APPLIED.get().map(|applied| applied.problems.as_slice()).unwrap_or_default();
    let of_site = problems.iter().filter(|(_, is_users)| !is_users);
    of_site
        .map(|(error, _)| {
            format!(
                "{}; the settings of this file are not used; try: tell the administrators",
                error.problem()
            )
        })
        .collect()
}

/// Whether the files that the user wrote or named can be used. Errors: the first one that cannot.
pub(in crate::cli) fn check() -> Result<()> {
    let problems = APPLIED.get().map(|applied| applied.problems.as_slice()).unwrap_or_default();
    problems.iter().find(|(_, is_users)| *is_users).map_or(Ok(()), |(error, _)| Err(error.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_site_file_of_the_command_line() {
        assert_eq!(named_site(&words("rankweave run --site /a -- x")).as_deref(), Some("/a"));
        assert_eq!(named_site(&words("rankweave run --site=none -- x")).as_deref(), Some("none"));
        assert_eq!(named_site(&words("rankweave run -- x --site /a")), None);
        assert_eq!(named_site(&words("rankweave run --site")), None);
    }

    #[test]
    fn a_site_file_that_does_not_exist_is_named_with_its_origin() {
        let set = |name: &str| (name == "RANKWEAVE_SITE").then(|| "/nowhere/s.toml".to_string());
        let error = missing_site(&[], set).unwrap().to_string();
        assert!(error.contains("(in RANKWEAVE_SITE)") && error.contains("/nowhere/s.toml"));
        let error = missing_site(&words("rankweave run --site /nowhere/a"), set).unwrap();
        assert!(error.to_string().contains("(in --site)"), "{error}");
        assert_eq!(missing_site(&words("rankweave run --site none"), set), None);
        assert_eq!(missing_site(&[], |_| None), None);
    }

    #[test]
    fn the_users_file_has_priority() {
        let variable = |name: &str| match name {
            "HOME" => Some("/home/me".to_string()),
            "RANKWEAVE_SITE" => Some("/opt/site.toml".to_string()),
            _ => None,
        };
        let own = ("/home/me/.config/rankweave.toml".into(), true);
        assert_eq!(files(&[], variable), [own.clone(), ("/opt/site.toml".into(), true)]);
        assert_eq!(files(&words("r --site none"), variable), [own]);
        let none = files(&[], |_| None);
        assert_eq!(none.first(), Some(&("/etc/rankweave.toml".into(), false)));
    }
}
