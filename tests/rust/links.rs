//! The links of all Markdown files: the file is there, and it has the heading. The pages of the book link only to pages
//! of the book, because a reader of the site has nothing else, and SUMMARY.md lists every page.

use crate::support::repository;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// All Markdown files of the repository, relative to its top folder.
fn pages() -> Vec<PathBuf> {
    let top = repository("");
    let (mut found, mut folders) = (Vec::new(), vec![top.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() && !path.is_symlink() {
                if name != "target" && !(name.starts_with('.') && name.len() > 1) {
                    folders.push(path);
                }
            } else if name.ends_with(".md") {
                found.push(path.strip_prefix(&top).expect("below the top").to_path_buf());
            }
        }
    }
    found.sort();
    assert!(found.len() > 100, "the files were found");
    found
}

/// The lines of a page with their numbers, without code.
fn prose(text: &str) -> Vec<(usize, String)> {
    let (mut lines, mut fenced) = (Vec::new(), false);
    for (k, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            let kept = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            lines.push((k + 1, kept));
        }
    }
    lines
}

/// The targets of the links of a page, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, words) in prose(text) {
        for rest in words.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((line, target.to_string()));
            }
        }
    }
    found
}

/// The anchors of the headings of a page, as mdBook and GitHub make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let lower = title.trim().to_lowercase();
        let kept = lower.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        // The second heading of the same name has a number.
        let again = (1..).map(|n| format!("{anchor}-{n}"));
        let free = std::iter::once(anchor.clone()).chain(again).find(|a| !found.contains(a));
        found.extend(free);
    }
    found
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            _ => out.push(part),
        }
    }
    out
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(repository(&page.display().to_string())).expect("a page")
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        for (line, target) in links(&text) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.parent().unwrap_or(Path::new(""));
            let to = if file.is_empty() { page.clone() } else { normal(&folder.join(file)) };
            let place = format!("{}:{line}: {target}", page.display());
            if !repository(&to.display().to_string()).exists() {
                wrong.push(format!("{place}: there is no such file"));
            } else if !anchor.is_empty() && !anchors(&read(&to)).contains(anchor) {
                wrong.push(format!("{place}: no heading has this anchor"));
            } else if page.starts_with("docs") && !to.starts_with("docs") {
                wrong.push(format!(
                    "{place}: the site does not have this file; write its path as code"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_lists_every_page() {
    let summary = links(&read(Path::new("docs/SUMMARY.md")));
    let listed: Vec<PathBuf> = summary.iter().map(|(_, to)| Path::new("docs").join(to)).collect();
    let unique: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed once");
    for page in pages().iter().filter(|page| page.starts_with("docs")) {
        // The index of the decisions lists them (`decisions.rs`).
        let decision = page.starts_with("docs/decisions") && !page.ends_with("README.md");
        if !decision && !page.ends_with("SUMMARY.md") {
            assert!(listed.contains(page), "docs/SUMMARY.md lacks {}", page.display());
        }
    }
}
