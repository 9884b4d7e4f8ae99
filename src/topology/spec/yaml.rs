//! YAML texts, and JSON, which is YAML. They are read within bounds.
//!
//! The parser reads events one by one. Before the values are built, the events are checked: values may be nested
//! [`MAX_DEPTH`] deep, and may have no anchors and aliases, with which a few lines can describe gigabytes.

use super::bad;
use super::hostlist::HostLists;
use crate::{Error, Result};
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::{Yaml, YamlLoader};

/// Deeper values are refused; topologies need about six levels.
const MAX_DEPTH: usize = 64;

/// The first document of a text; `Yaml::BadValue` if there is none.
///
/// Errors: text that is not YAML, is nested too deeply, or has anchors.
pub(super) fn load(text: &str) -> Result<Yaml> {
    let not_yaml = |e: yaml_rust2::ScanError| bad(format!("the file is not YAML: {e}"));
    let mut parser = Parser::new_from_str(text);
    let mut depth = 0usize;
    loop {
        let (event, place) = parser.next_token().map_err(not_yaml)?;
        let anchor = match event {
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                depth += 1;
                anchor
            }
            Event::SequenceEnd | Event::MappingEnd => {
                depth = depth.saturating_sub(1);
                0
            }
            Event::Scalar(_, _, anchor, _) => anchor,
            Event::Alias(_) => 1,
            Event::StreamEnd => break,
            _ => 0,
        };
        let at = |error: Error| Err(error.at(format!("line {}", place.line())));
        if anchor > 0 {
            return at(bad("anchors ('&') and aliases ('*') are not read"));
        }
        if depth > MAX_DEPTH {
            return at(bad(format!("values are nested more than {MAX_DEPTH} deep")));
        }
    }
    let mut documents = YamlLoader::load_from_str(text).map_err(not_yaml)?;
    Ok(if documents.is_empty() { Yaml::BadValue } else { documents.swap_remove(0) })
}

/// A scalar as text; numbers may be names.
pub(super) fn text(value: &Yaml) -> Option<String> {
    match value {
        Yaml::String(text) | Yaml::Real(text) => Some(text.clone()),
        Yaml::Integer(number) => Some(number.to_string()),
        Yaml::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Whether a value is absent or null.
pub(super) fn is_absent(value: &Yaml) -> bool {
    value.is_badvalue() || value.is_null()
}

/// The hosts of a host list, or of a list of host lists; none if the value is absent.
pub(super) fn hosts(value: &Yaml, lists: &HostLists) -> Result<Vec<String>> {
    match value {
        Yaml::Array(list) => {
            let mut all = Vec::new();
            for item in list {
                let item = text(item).ok_or_else(|| bad("a host list is not text"))?;
                all.append(&mut lists.expand(&item)?);
            }
            Ok(all)
        }
        _ => match text(value) {
            // `nodes: ""` names no host.
            Some(list) if list.trim().is_empty() => Ok(Vec::new()),
            Some(list) => lists.expand(&list),
            None if is_absent(value) => Ok(Vec::new()),
            None => Err(bad("a host list is not text")),
        },
    }
}

/// A whole number from 1 to `most`.
pub(super) fn count(value: &Yaml, most: usize) -> Option<usize> {
    value.as_i64().and_then(|n| usize::try_from(n).ok()).filter(|n| (1..=most).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_yaml() {
        let value = load("{\"a\": [1, \"n[1-2]\"], \"b\": null}").unwrap();
        assert_eq!(hosts(&value["a"], &HostLists::new()).unwrap(), ["1", "n1", "n2"]);
        assert!(is_absent(&value["b"]) && is_absent(&value["c"]));
        assert!(load("").unwrap().is_badvalue());
    }

    #[test]
    fn bombs_are_refused() {
        for (text, what) in [
            // The parser has a limit of its own for brackets.
            ("[".repeat(100_000), ""),
            ("{a: ".repeat(100_000), ""),
            ("- ".repeat(100_000), "nested"),
            (format!("a: &x [1]\nb: [{}]", "*x,".repeat(9)), "anchors"),
            ("a: *x".into(), ""),
            ("\"".into(), "not YAML"),
        ] {
            let error = load(&text).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
