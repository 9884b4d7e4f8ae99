//! Every decision in `docs/decisions` is in the index, has a number of its own, a status and a date.

use crate::support::repository;

#[test]
fn the_index_lists_every_decision_with_its_title() {
    let folder = repository("docs/decisions");
    let index = std::fs::read_to_string(folder.join("README.md")).expect("the index");
    let entries = std::fs::read_dir(&folder).expect("the decisions");
    let mut names: Vec<String> =
        entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "README.md");
    names.sort();
    assert!(names.len() > 60, "the decisions were found");
    for (k, name) in names.iter().enumerate() {
        let text = std::fs::read_to_string(folder.join(name)).expect("a decision");
        let mut lines = text.lines();
        let number = k + 1;
        assert!(name.starts_with(&format!("{number:04}-")), "{name}: the number {number} is due");
        let title = lines.next().and_then(|l| l.strip_prefix(&format!("# {number}. ")));
        let title = title.unwrap_or_else(|| panic!("{name}: no title with its number"));
        let status = lines.nth(1).unwrap_or_default();
        let (said, date) = status.split_once(" Date: ").unwrap_or_default();
        assert!(
            said == "Status: accepted." || said.starts_with("Status: replaced by "),
            "{name}: no status: {status}"
        );
        assert!(is_date(date), "{name}: no date: {status}");
        let line = format!("* [{number}. {title}]({name})");
        assert!(index.lines().any(|l| l == line), "docs/decisions/README.md lacks: {line}");
    }
    let listed = index.lines().filter(|line| line.starts_with("* [")).count();
    assert_eq!(listed, names.len(), "docs/decisions/README.md lists what is not there");
}

/// `2026-11-23.`
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.trim_end_matches('.').split('-').collect();
    let digits = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    parts.iter().map(|p| p.len()).eq([4, 2, 2]) && parts.iter().all(digits)
}
