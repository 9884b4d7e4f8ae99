//! Settings that come from files: the site's, the installation's and the user's.
//!
//! ```toml
//! [settings]                           # names of the options of 'rankweave run'
//! store = "/project/$GROUP/rankweave"  # ~ and variables are replaced; a relative path begins at this file
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
use crate::base::nearest::nearest;
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

/// Options whose values are paths, or lists of paths with the separator `:`.
const PATHS: [&str; 4] = ["store", "also-read", "spill", "place"];

/// The part of a file that this module reads.
#[derive(Debug, Default, Deserialize)]
struct Sections {
    #[serde(default)]
    settings: BTreeMap<Spanned<String>, Spanned<Value>>,
}

/// Options with their values, in the form that the command line has.
type Values = Vec<(&'static Opt, String)>;
/// Mistakes, each with the line that it is about.
type Mistakes = Vec<(usize, Error)>;

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
        let (values, mistakes) = parse(text, &folder_of(path), variable);
        match mistakes.into_iter().next() {
            None => Ok(SettingFile { path: path.into(), values }),
            Some((line, error)) => Err(error.at(format!("{}, line {line}", path.display()))),
        }
    }

    /// The right settings of a file, and all mistakes, each with its line. The arguments are those of
    /// [`SettingFile::of_text`].
    pub fn checked(
        path: &Path,
        text: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> (Values, Mistakes) {
        parse(text, &folder_of(path), variable)
    }

    /// The value of an option in this file.
    pub fn value(&self, option: &Opt) -> Option<&str> {
        self.values.iter().find(|(o, _)| o.name == option.name).map(|(_, value)| value.as_str())
    }
}

/// The folder of a file, in which the relative paths of the file begin.
fn folder_of(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.into());
    full.parent().unwrap_or(Path::new("/")).into()
}

/// The options in the text of a file, and the mistakes, each with its line.
fn parse(
    text: &str,
    folder: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> (Values, Mistakes) {
    let line = |at: usize| 1 + text.get(..at).unwrap_or_default().matches('\n').count();
    let sections: Sections = match toml::from_str(text) {
        Ok(sections) => sections,
        Err(error) => {
            let at = error.span().map_or(1, |span| line(span.start));
            let advice = "write [settings], and below it lines such as min-gain = 5";
            let error = Error::new(ErrorKind::Format, error.message()).advise(advice);
            return (Vec::new(), vec![(at, error)]);
        }
    };
    let mut checked = Settings::default();
    let (mut values, mut mistakes) = (Vec::new(), Vec::new());
    let mut in_order: Vec<_> = sections.settings.into_iter().collect();
    in_order.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in in_order {
        let mut one = || -> Result<(&'static Opt, String)> {
            let option = option_of(name.get_ref())?;
            let text = match PATHS.contains(&option.name) {
                true => paths(option, &text_of(value.get_ref(), ":")?, folder, &variable)?,
                false => text_of(value.get_ref(), ",")?,
            };
            checked.set(option.name, &text)?;
            Ok((option, text))
        };
        match one() {
            Ok(value) => values.push(value),
            Err(error) => mistakes.push((line(name.span().start), error)),
        }
    }
    (values, mistakes)
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
        let advice = match nearest(&name, names.iter().copied()) {
            Some(like) => format!("write '{like}', or remove the line"),
            None => format!("use one of {}", names.join(", ")),
        };
        Error::new(ErrorKind::Usage, format!("there is no setting '{name}'")).advise(advice)
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

/// The value of an option whose value is a path, a list of paths, or a word. Relative paths begin at `folder`.
///
/// Errors: a variable in it is not set.
fn paths(
    option: &Opt,
    text: &str,
    folder: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    let full = |path: &str| full_path(path.trim(), folder, &variable);
    match option.name {
        "spill" if is("auto") || is("off") => Ok(text.into()),
        "also-read" if is("none") => Ok(text.into()),
        "also-read" => {
            let all: Result<Vec<String>> = text.split(':').map(full).collect();
            Ok(all?.join(":"))
        }
        "place" => match text.strip_prefix("file:") {
            Some(path) => Ok(format!("file:{}", full(path)?)),
            None => Ok(text.into()),
        },
        _ => full(text),
    }
}

/// A path with `~` at its beginning, `$NAME` and `${NAME}` replaced. A relative path begins at `folder`, because it
/// would name another place in every working directory. An empty path stays empty.
///
/// Errors: a variable is not set.
fn full_path(
    text: &str,
    folder: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String> {
    let value = |name: &str| {
        variable(name).filter(|value| !value.is_empty()).ok_or_else(|| {
            let what = format!("the variable {name}, which the path '{text}' names, is not set");
            Error::new(ErrorKind::Usage, what)
                .advise(format!("set {name}, or write the path without it"))
        })
    };
    let home = match text.strip_prefix('~') {
        Some(behind) if behind.is_empty() || behind.starts_with('/') => {
            format!("{}{behind}", value("HOME")?)
        }
        _ => text.to_string(),
    };
    let (mut result, mut rest) = (String::new(), home.as_str());
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
    if result.is_empty() || result.starts_with('/') {
        return Ok(result);
    }
    Ok(folder.join(result.trim_start_matches("./")).display().to_string())
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
        let (values, mistakes) = parse(text, Path::new("/etc/site"), variable);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        values.into_iter().map(|(option, value)| (option.name, value)).collect()
    }

    /// The rule for each option whose value is a path.
    #[test]
    fn relative_paths_begin_at_the_folder_of_the_file() {
        for (line, wanted) in [
            ("store = \"data\"", "/etc/site/data"),
            ("store = \"./data:old\"", "/etc/site/data:old"),
            ("store = \"../x\"", "/etc/site/../x"),
            ("store = \"/data\"", "/data"),
            ("store = \"~/data\"", "/home/me/data"),
            ("store = \"$GROUP/data\"", "/etc/site/ocean/data"),
            ("also-read = [\"a\", \"b/c\", \"/d\"]", "/etc/site/a:/etc/site/b/c:/d"),
            ("also-read = \"none\"", "none"),
            ("spill = \"scratch\"", "/etc/site/scratch"),
            ("spill = \"Off\"", "Off"),
            ("place = \"file:order.txt\"", "file:/etc/site/order.txt"),
            ("place = \"launcher\"", "launcher"),
        ] {
            let found = values(&format!("[settings]\n{line}\n"));
            assert_eq!(found[0].1, wanted, "{line}");
        }
    }

    #[test]
    fn all_mistakes_are_found_in_the_order_of_the_file() {
        let text = "[settings]\nverbos = 1\nmode = \"auto\"\nmode2 = 1\nseed = -1\n";
        let (right, found) = SettingFile::checked(Path::new("x.toml"), text, variable);
        assert_eq!(right.len(), 1);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4, 5]);
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
            ("[settings]\nmin-gian = 5\n", 2, "write 'min-gain'"),
            ("[settings]\nmin_gian = 5\n", 2, "write 'min-gain'"),
            ("[settings]\nkey = \"all\"\n", 2, "belongs to one launch"),
            ("[settings]\nmode = \"recrod\"\n", 2, "'recrod' is not a known value"),
            ("[settings]\nstore = \"$NOTHING/x\"\n", 2, "NOTHING"),
            ("[settings]\nstore = \"$EMPTY/x\"\n", 2, "EMPTY"),
            ("[settings]\nmode = {}\n", 2, "not text"),
            ("[settings]\nmode = \n", 2, ""),
        ] {
            let (_, mistakes) = parse(text, Path::new("/"), variable);
            let (line, error) = mistakes[0].clone();
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
            let folder = Path::new("/");
            let _ = parse(&text, folder, variable);
            let _ = parse(&format!("[settings]\nstore = {value}\n"), folder, variable);
            let _ = full_path(&value, folder, variable);
        }
    }
}
