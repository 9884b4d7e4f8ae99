//! Settings that come from files: the site's, the installation's and the user's.
//!
//! ```toml
//! [settings]                           # names of the options of 'rankweave run'
//! store = "/project/$GROUP/rankweave"  # ~ and variables are replaced
//! deny = ["vasp*", "/opt/old/*"]
//! min-gain = 5
//! ```
//!
//! The files are layers. An option of the command line has priority over a variable, a variable over the user's
//! file, the user's file over that of the site, and this one over that of the installation. Other sections of the
//! files belong to `crate::sources`.
//!
//! Limit: only the command reads these files. The preloaded library gets the values as variables, so that
//! the processes of a job do not all open the same files.

use super::settings::Settings;
use super::table::{Opt, TABLE, find};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Spanned, Value};

/// The largest file that is read.
const LARGEST: u64 = 16 << 20;

/// Options that belong to one launch. A file that set them would mix up the launches of all programs.
const OF_ONE_LAUNCH: [&str; 4] = ["key", "slots", "topology", "site"];

/// True for an option that belongs to one launch, which no file can set.
pub fn of_one_launch(name: &str) -> bool {
    OF_ONE_LAUNCH.contains(&name)
}

/// Options whose values are paths, or lists of paths.
const PATHS: [&str; 3] = ["store", "also-read", "spill"];

/// The part of a file that this module reads.
#[derive(Debug, Default, Deserialize)]
struct Sections {
    #[serde(default)]
    settings: BTreeMap<Spanned<String>, Spanned<Value>>,
}

/// The settings of one file.
#[derive(Debug, Clone)]
pub struct SettingFile {
    /// The file.
    pub path: PathBuf,
    /// Its options, each with its value in the form that the command line has.
    pub values: Vec<(&'static Opt, String)>,
}

impl SettingFile {
    /// Reads a file; `None` if it does not exist. `variable` gives the values of environment variables.
    ///
    /// Errors: the file cannot be read, it is not TOML, or an option or its value is wrong.
    pub fn read(
        path: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<SettingFile>> {
        let bytes = match file::read(path, LARGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("cannot read the settings", path, &error)),
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::new(ErrorKind::Format, "the file is not text").at(path.display())
        })?;
        SettingFile::of_text(path, &text, variable).map(Some)
    }

    /// The settings in the text of a file. `path` is for messages; the rest is as with [`SettingFile::read`].
    ///
    /// Errors: the text is not TOML, or an option or its value is wrong.
    pub fn of_text(
        path: &Path,
        text: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<SettingFile> {
        let values = parse(text, variable)
            .map_err(|(line, error)| error.at(format!("{}, line {line}", path.display())))?;
        Ok(SettingFile { path: path.into(), values })
    }

    /// The value of an option in this file.
    pub fn value(&self, option: &Opt) -> Option<&str> {
        self.values.iter().find(|(o, _)| o.name == option.name).map(|(_, value)| value.as_str())
    }
}

/// The options in the text of a file. Errors come with the line that they are about.
fn parse(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> std::result::Result<Vec<(&'static Opt, String)>, (usize, Error)> {
    let line = |at: usize| 1 + text.get(..at).unwrap_or_default().matches('\n').count();
    let sections: Sections = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(1, |span| line(span.start));
        let advice = "write [settings], and below it lines such as min-gain = 5";
        (at, Error::new(ErrorKind::Format, error.message()).advise(advice))
    })?;
    let mut checked = Settings::default();
    let mut values = Vec::new();
    for (name, value) in sections.settings {
        let at = line(name.span().start);
        let mut one = || -> Result<(&'static Opt, String)> {
            let option = option_of(name.get_ref())?;
            let text = match PATHS.contains(&option.name) {
                true => expanded(&text_of(value.get_ref(), ":")?, &variable)?,
                false => text_of(value.get_ref(), ",")?,
            };
            checked.set(option.name, &text)?;
            Ok((option, text))
        };
        values.push(one().map_err(|error| (at, error))?);
    }
    Ok(values)
}

/// The option of this name, if a file may set it.
fn option_of(name: &str) -> Result<&'static Opt> {
    let name = name.replace('_', "-").to_ascii_lowercase();
    if OF_ONE_LAUNCH.contains(&name.as_str()) {
        let what = format!("'{name}' belongs to one launch and cannot be set in a file");
        return Err(Error::new(ErrorKind::Usage, what)
            .advise(format!("remove the line, and give --{name} to 'rankweave run'")));
    }
    find(&name).ok_or_else(|| {
        let names: Vec<&str> =
            TABLE.iter().map(|o| o.name).filter(|n| !OF_ONE_LAUNCH.contains(n)).collect();
        Error::new(ErrorKind::Usage, format!("there is no setting '{name}'"))
            .advise(format!("use one of {}", names.join(", ")))
    })
}

/// A value in the form of the command line, with `separator` between the elements of a list.
fn text_of(value: &Value, separator: &str) -> Result<String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Array(list) => {
            let texts: Result<Vec<String>> =
                list.iter().map(|element| text_of(element, separator)).collect();
            texts?.join(separator)
        }
        Value::Boolean(true) => "on".into(),
        Value::Boolean(false) => "off".into(),
        Value::Datetime(_) | Value::Table(_) => {
            return Err(Error::new(ErrorKind::Format, "the value is not text, a number or a list")
                .advise("put the value in quotes, such as store = \"/project/rankweave\""));
        }
    })
}

/// Paths with `~` at their beginning, `$NAME` and `${NAME}` replaced. Colons separate them.
///
/// Errors: a variable is not set, or the result is not an absolute path. A relative path would name another place
/// in every working directory. Words such as `off` and `auto` are no paths and stay.
fn expanded(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String> {
    let value = |name: &str| {
        variable(name).filter(|value| !value.is_empty()).ok_or_else(|| {
            let what = format!("the variable {name}, which the path '{text}' names, is not set");
            Error::new(ErrorKind::Usage, what)
                .advise(format!("set {name}, or write the path without it"))
        })
    };
    let homes: Vec<String> = text
        .split(':')
        .map(|path| match path.strip_prefix('~') {
            Some(behind) if behind.is_empty() || behind.starts_with('/') => {
                Ok(format!("{}{behind}", value("HOME")?))
            }
            _ => Ok(path.to_string()),
        })
        .collect::<Result<_>>()?;
    let (text, mut result) = (homes.join(":"), String::new());
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once('$') {
        result.push_str(before);
        let braced = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, after) = braced.unwrap_or_else(|| {
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            behind.split_at(end.unwrap_or(behind.len()))
        });
        result.push_str(&value(name)?);
        rest = after;
    }
    result.push_str(rest);
    let is_word = !result.contains('/');
    if !is_word && result.split(':').any(|path| !path.is_empty() && !path.starts_with('/')) {
        return Err(Error::new(ErrorKind::Usage, format!("'{text}' is not an absolute path"))
            .advise("begin the path with / or ~/, or with a variable such as $SCRATCH"));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn variable(name: &str) -> Option<String> {
        let known = [("HOME", "/home/me"), ("GROUP", "ocean"), ("EMPTY", "")];
        known.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string())
    }

    fn values(text: &str) -> Vec<(&'static str, String)> {
        parse(text, variable).unwrap().into_iter().map(|(o, v)| (o.name, v)).collect()
    }

    #[test]
    fn values_have_the_form_of_the_command_line() {
        let text = "measure = \"off\"\n[settings]\nstore = \"/project/$GROUP/${GROUP}s\"\nmin_gain = 5\n\
                    deny = [\"vasp*\", \"/opt/old/*\"]\nspill = \"off\"\nalso-read = [\"~/a\", \"/b\"]\n\
                    [[cluster]]\ntopology = \"x\"\n";
        let found = values(text);
        assert!(found.contains(&("store", "/project/ocean/oceans".into())), "{found:?}");
        assert!(found.contains(&("min-gain", "5".into())));
        assert!(found.contains(&("deny", "vasp*,/opt/old/*".into())));
        assert!(found.contains(&("spill", "off".into())));
        assert!(found.contains(&("also-read", "/home/me/a:/b".into())));
        assert_eq!(values("measure = \"off\"\n"), []);
    }

    #[test]
    fn wrong_files_are_named_with_the_line_and_advice() {
        for (text, at, what) in [
            ("[settings]\n\nminimum = 5\n", 3, "no setting 'minimum'"),
            ("[settings]\nkey = \"all\"\n", 2, "belongs to one launch"),
            ("[settings]\nmode = \"recrod\"\n", 2, "'recrod' is not a known value"),
            ("[settings]\nstore = \"data\\\"/x\"\n", 2, "not an absolute path"),
            ("[settings]\nstore = \"$NOTHING/x\"\n", 2, "NOTHING"),
            ("[settings]\nstore = \"$EMPTY/x\"\n", 2, "EMPTY"),
            ("[settings]\nmode = {}\n", 2, "not text"),
            ("[settings]\nmode = \n", 2, ""),
        ] {
            let (line, error) = parse(text, variable).unwrap_err();
            let error = error.advised().to_string();
            assert!(line == at && error.contains(what), "{text}: line {line}: {error}");
            assert!(error.contains("try:"), "{error}");
        }
    }

    #[test]
    fn a_file_that_does_not_exist_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rankweave.toml");
        assert!(SettingFile::read(&path, variable).unwrap().is_none());
        std::fs::write(&path, "[settings]\nverbose = 1\n").unwrap();
        let file = SettingFile::read(&path, variable).unwrap().unwrap();
        assert_eq!(file.value(find("verbose").unwrap()), Some("1"));
        assert_eq!(file.value(find("mode").unwrap()), None);
        std::fs::write(&path, "[settings]\n\nverbos = 1\n").unwrap();
        let error = SettingFile::read(&path, variable).unwrap_err().to_string();
        assert!(error.contains("rankweave.toml, line 3"), "{error}");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(SettingFile::read(&path, variable).is_err());
        assert!(SettingFile::read(folder.path(), variable).is_err());
    }

    proptest! {
        #[test]
        fn no_text_gives_a_panic(text in ".{0,80}", value in "\\PC{0,20}") {
            let _ = parse(&text, variable);
            let _ = parse(&format!("[settings]\nstore = {value}\n"), variable);
            let _ = expanded(&value, variable);
        }
    }
}
