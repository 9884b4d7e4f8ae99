//! Checks the order of the layers: a lower folder never names a higher one.
//!
//! The order of the folders is written in `src/LAYERS` and `wrappers/src/LAYERS`, lowest first, and
//! for the files of a folder in a file LAYERS inside of it. These tests read every path in the sources
//! and fail on one that leads upwards, on a folder that is not listed, on files of one folder that name
//! each other in a circle, on files of more than 500 lines, and on a folder without README.md.
//!
//! `layers_exceptions.txt` lists the departures that are allowed. It may only become shorter: a line that no
//! longer applies is an error, too (`cargo xtask golden` removes such lines).

mod order;
mod sources;
mod tests;

use crate::support::repository;
use order::Finding;
use sources::{Crate, Folder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOTS: [&str; 2] = ["src", "wrappers/src"];
const EXCEPTIONS: &str = "tests/rust/layers_exceptions.txt";
const MOST_LINES: usize = 500;

/// All departures from the rules in this repository, sorted.
fn departures() -> Vec<Finding> {
    let mut found = Vec::new();
    for root in ROOTS {
        let files = Folder(repository(root));
        let source = Crate::read(&files).unwrap_or_else(|e| panic!("{root}/{e}"));
        assert!(source.modules.len() > 30, "the modules of {root} were found");
        found.extend(order::findings(root, &source, &files));
        let folder = repository(root);
        described(&folder, root, &mut found);
        sizes(&folder, &repository(""), &mut found);
    }
    found.sort_by(|a, b| a.rule.cmp(&b.rule));
    found
}

/// Every folder has a README that names each of its files, but for tests.
fn described(folder: &Path, root: &str, found: &mut Vec<Finding>) {
    let mut complain = |rule: String| found.push(Finding { rule, places: vec![String::new()] });
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap_or_else(|_| {
        complain(format!("no README.md in {root}"));
        String::new()
    });
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    for path in &inside {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_known = ["mod", "lib", "main", "tests"].contains(&name.as_ref())
            || name.ends_with("_tests")
            || name.ends_with("_cases")
            || names(&readme, &name);
        if path.extension().is_some_and(|e| e == "rs") && !is_known && !readme.is_empty() {
            complain(format!("{root}/README.md does not name {name}.rs"));
        }
    }
    for path in inside.iter().filter(|path| path.is_dir()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        described(path, &format!("{root}/{name}"), found);
    }
}

/// Whether a text has a file's name as a word in backticks or at the end of a path.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    })
}

#[test]
fn readmes_name_whole_words() {
    assert!(names("the file `ring.rs`", "ring") && names("`a`, `ring`", "ring"));
    assert!(!names("a string, ring_buffer", "ring"));
}

/// Files that are too long.
fn sizes(folder: &Path, top: &Path, found: &mut Vec<Finding>) {
    let shown = |path: &Path| path.strip_prefix(top).unwrap_or(path).display().to_string();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut inside: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    inside.sort();
    for path in inside {
        if path.is_dir() {
            sizes(&path, top, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let lines = std::fs::read_to_string(&path).map_or(0, |text| text.lines().count());
            if lines > MOST_LINES {
                let rule = format!("more than {MOST_LINES} lines in {}", shown(&path));
                found.push(Finding { rule, places: vec![format!("{lines} lines")] });
            }
        }
    }
}

fn exceptions(text: &str) -> BTreeSet<&str> {
    text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect()
}

/// The departures that are not listed as exceptions, and the listed exceptions that are departures no more.
fn verdict(found: &[Finding], text: &str) -> Vec<String> {
    let allowed = exceptions(text);
    let mut wrong = Vec::new();
    for finding in found.iter().filter(|f| !allowed.contains(f.rule.as_str())) {
        let places = finding.places.iter().map(|p| format!("\n    {p}")).collect::<String>();
        wrong.push(format!("{}{places}", finding.rule));
    }
    for line in allowed.into_iter().filter(|line| !found.iter().any(|f| f.rule == *line)) {
        wrong.push(format!("{EXCEPTIONS}: does not occur any more, take it out: {line}"));
    }
    wrong
}

#[test]
fn sources_keep_the_written_order() {
    let path = repository(EXCEPTIONS);
    let mut text = std::fs::read_to_string(&path).unwrap_or_default();
    let found = departures();
    if std::env::var_os("RANKWEAVE_UPDATE_SNAPSHOTS").is_some() {
        // Only removes lines: a new departure cannot be added in this way.
        let kept =
            |l: &&str| l.is_empty() || l.starts_with('#') || found.iter().any(|f| f.rule == **l);
        text = text.lines().filter(kept).map(|l| format!("{l}\n")).collect();
        std::fs::write(&path, &text).expect("write the exceptions");
    }
    let wrong = verdict(&found, &text);
    assert!(wrong.is_empty(), "{} departures:\n{}", wrong.len(), wrong.join("\n"));
}
