//! The benchmarks: folders of `benches`, each with a script `run` or a program of Cargo.

use crate::shell::{cargo, command, repository, run};
use std::collections::BTreeMap;

/// Name and first line of what each benchmark says about itself.
fn all() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let entries = std::fs::read_dir(repository().join("benches"));
    for folder in entries.into_iter().flatten().flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let head = |file: &str| std::fs::read_to_string(folder.path().join(file)).ok();
        if let Some(text) = head("run").or_else(|| head("main.rs")) {
            found.insert(name, about(&text));
        }
    }
    found
}

/// The first sentence of a script's or a program's head.
fn about(text: &str) -> String {
    let mut words = String::new();
    for line in text.lines().skip_while(|line| line.starts_with("#!")) {
        let line = line.trim_start_matches(['#', '/', '!', '"', ' ']);
        let end = line.find(". ").or_else(|| line.ends_with('.').then(|| line.len() - 1));
        words.push_str(line.get(..end.unwrap_or(line.len())).unwrap_or_default());
        if end.is_some() || line.is_empty() {
            break;
        }
        words.push(' ');
    }
    words.trim().to_string()
}

pub fn bench(arguments: &[String]) -> Result<(), String> {
    let all = all();
    let Some((name, rest)) = arguments.split_first() else {
        for (name, about) in all {
            println!("  {name:<14} {about}");
        }
        return Ok(());
    };
    if !all.contains_key(name) {
        let names: Vec<String> = all.into_keys().collect();
        return Err(format!("there is no benchmark {name}; there are {}", names.join(", ")));
    }
    let script = format!("benches/{name}/run");
    let mut chosen = match repository().join(&script).is_file() {
        true => command(&script, &[]),
        false => cargo(&["bench", "--bench", name, "--"]),
    };
    chosen.args(rest);
    run(chosen)
}

#[cfg(test)]
mod tests {
    use super::{about, all};

    #[test]
    fn the_head_of_a_file_is_cut_to_its_first_sentence() {
        assert_eq!(about("#!/bin/sh\n# What it is\n# for. More.\n"), "What it is for");
        assert_eq!(about("//! One line.\n//!\n"), "One line");
        assert_eq!(about("#!/usr/bin/env python3\n\"\"\"No end\n\nmore"), "No end");
    }

    #[test]
    fn every_folder_of_benches_can_be_run() {
        let all = all();
        assert!(all.contains_key("overhead") && all.contains_key("papers"), "{all:?}");
        assert!(all.values().all(|about| !about.is_empty()), "{all:?}");
    }
}
