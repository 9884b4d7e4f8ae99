//! `rankweave env --check`: all mistakes in the files of the user and of the site, with their lines.
//!
//! A launch says at most one mistake, and goes on. An administrator wants all of them before a launch. The descriptions
//! of networks that the files name are read, too.

use crate::base::error::Error;
use crate::base::file;
use crate::base::nouns::counted;
use crate::cli::arguments::setting_files;
use crate::options::SettingFile;
use crate::report::units::printable;
use crate::sources::{check_site_file, fabric_files};
use crate::store;
use crate::topology;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The largest file that is read.
const LARGEST: u64 = 16 << 20;

/// A mistake in a file.
#[derive(Debug, Serialize)]
struct Mistake {
    /// The line, from 1; `None`: it is about the file as a whole.
    line: Option<usize>,
    /// What is wrong, and where inside the line.
    what: String,
    advice: String,
}

impl Mistake {
    fn of(line: Option<usize>, error: Error) -> Mistake {
        let error = error.advised();
        let advice = error.advice().unwrap_or_default().to_string();
        Mistake { line, what: error.problem(), advice }
    }
}

/// A file that was checked.
#[derive(Debug, Serialize)]
struct Checked {
    file: PathBuf,
    /// Who has written it: user, site or fabric.
    of: &'static str,
    exists: bool,
    /// The number of options in `[settings]`.
    settings: usize,
    /// The number of `[[cluster]]`.
    clusters: usize,
    /// Whether launches use its `[[cluster]]`: only those of the first site file that exists.
    clusters_used: bool,
    mistakes: Vec<Mistake>,
}

/// What was found in all files.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    schema: u32,
    files: Vec<Checked>,
    mistakes: usize,
}

impl Check {
    /// Reads all files.
    pub(super) fn of_all_files() -> Check {
        let mut files: Vec<Checked> = Vec::new();
        for (path, is_of_user) in setting_files::all() {
            let is_first = !files.iter().any(|file| file.of == "site" && file.exists);
            files.push(settings_file(path, is_of_user, is_first));
        }
        files.extend(fabric_files(Path::new("/")).into_iter().map(fabric_file));
        let mistakes = files.iter().map(|file| file.mistakes.len()).sum();
        Check { schema: 1, files, mistakes }
    }

    pub(super) fn is_right(&self) -> bool {
        self.mistakes == 0
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            text.push_str(&format!(
                "{}: {}\n",
                printable(&file.file.to_string_lossy()),
                file.state()
            ));
            for Mistake { line, what, advice } in &file.mistakes {
                let line = line.map_or(String::new(), |line| format!("line {line}: "));
                let what = printable(what);
                text.push_str(&format!("  {line}{what}; try: {}\n", printable(advice)));
            }
        }
        text.push_str(&match self.mistakes {
            0 => "no mistake was found\n".into(),
            some => format!("{}\n", counted(some, "mistake")),
        });
        text
    }
}

impl Checked {
    fn new(file: PathBuf, of: &'static str) -> Checked {
        Checked {
            file,
            of,
            exists: true,
            settings: 0,
            clusters: 0,
            clusters_used: false,
            mistakes: Vec::new(),
        }
    }

    /// What the file has, in words.
    fn state(&self) -> String {
        if !self.exists {
            return "there is no such file".into();
        }
        let found = match self.mistakes.len() {
            0 => String::new(),
            some => format!(", {}", counted(some, "mistake")),
        };
        if self.of == "fabric" {
            return format!("a file of the fabric{found}");
        }
        let unused = match self.clusters > 0 && !self.clusters_used && self.of == "site" {
            true => " (not used, because an earlier site file exists)",
            false => "",
        };
        let (settings, clusters) =
            (counted(self.settings, "setting"), counted(self.clusters, "cluster"));
        format!("{settings}, {clusters}{unused}{found}")
    }
}

/// Checks a file with settings.
fn settings_file(path: PathBuf, is_of_user: bool, is_first: bool) -> Checked {
    let mut checked = Checked::new(path, if is_of_user { "user" } else { "site" });
    let path = checked.file.clone();
    let text = match file::read(&path, LARGEST) {
        Ok(bytes) => String::from_utf8(bytes).map_err(std::io::Error::other),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Checked { exists: false, ..checked };
        }
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            let error = Error::io("cannot read the settings", &path, &error);
            checked.mistakes.push(Mistake::of(None, error));
            return checked;
        }
    };
    let site = check_site_file(&path, &text);
    let (values, wrong) = SettingFile::checked(&path, &text, setting_files::variable);
    let mut mistakes = site.mistakes;
    // A file that is no TOML has the same mistake for both readers.
    let lines: Vec<usize> = mistakes.iter().map(|(line, _)| *line).collect();
    mistakes.extend(wrong.into_iter().filter(|(line, _)| !lines.contains(line)));
    if is_of_user && site.clusters > 0 {
        let error = Error::new(
            crate::ErrorKind::Usage,
            "[[cluster]] has no effect in the file of a user",
        )
        .advise("move it to a file of the site, and name this file with --site or RANKWEAVE_SITE");
        mistakes.push((line_of(&text, "[[cluster]]"), error));
    }
    let store = values.iter().find(|(option, _)| option.name == "store");
    if let Some(Err(error)) = store.map(|(_, value)| store::check_directory(Path::new(value))) {
        mistakes.push((line_of(&text, "store"), error));
    }
    mistakes.sort_by_key(|(line, _)| *line);
    checked.settings = values.len();
    checked.clusters = site.clusters;
    checked.clusters_used = !is_of_user && is_first;
    checked.mistakes =
        mistakes.into_iter().map(|(line, error)| Mistake::of(Some(line), error)).collect();
    checked
}

/// The first line that begins with these words.
fn line_of(text: &str, words: &str) -> usize {
    1 + text.lines().position(|line| line.trim_start().starts_with(words)).unwrap_or(0)
}

/// Checks a file in the folder of the site's fabrics.
fn fabric_file(path: PathBuf) -> Checked {
    let mut checked = Checked::new(path, "fabric");
    if let Err(error) = topology::read_fabric(&checked.file.display().to_string()) {
        checked.mistakes.push(Mistake::of(None, error));
    }
    checked
}
