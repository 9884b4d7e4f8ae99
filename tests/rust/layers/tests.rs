//! The layer test on made-up sources: each kind of departure is found, and nothing else.

use super::order::{self, Finding};
use super::sources::{Crate, Files};
use super::verdict;
use std::collections::BTreeMap;
use std::path::Path;

struct Made(BTreeMap<&'static str, &'static str>);

impl Files for Made {
    fn read(&self, path: &Path) -> Option<String> {
        self.0.get(path.to_str()?).map(|text| text.to_string())
    }
}

const ROOT: &str = "mod low; mod middle; mod high; pub use high::Exported;";
const ORDER: &str = "# lowest first\nlow  what is basic\nmiddle\nhigh\n";

/// Departures of sources with three layers; `changed` replaces files or adds some.
fn of(changed: &[(&'static str, &'static str)]) -> Vec<String> {
    let mut files = BTreeMap::from([
        ("lib.rs", ROOT),
        ("LAYERS", ORDER),
        ("low/mod.rs", "mod one; mod two; pub use one::One; pub struct Base;"),
        ("low/one.rs", "pub struct One;"),
        ("low/two.rs", "use super::One; pub struct Two(One);"),
        ("middle.rs", "use crate::low::{self, Base, One}; pub struct Middle(Base, One);"),
        ("high.rs", "use crate::middle::Middle; pub struct Exported(Middle);"),
    ]);
    files.extend(changed.iter().copied());
    let files = Made(files);
    let source = Crate::read(&files).expect("sources that can be read");
    order::findings("made", &source, &files).into_iter().map(|f| f.rule).collect()
}

#[test]
fn sources_in_order_have_no_departures() {
    assert_eq!(of(&[]), Vec::<String>::new());
}

#[test]
fn every_way_to_name_a_higher_folder_is_found() {
    for text in [
        "use crate::high::Exported;",
        "use crate::{low::Base, high};",
        "use crate::{low::{One, Base}, high::{self as h}};",
        "use super::high;",
        "use super::high::*;",
        "pub use crate::high::Exported as Other;",
        "fn f() -> crate::high::Exported { todo!() }",
        "fn f() { let _ = super::high::make(); }",
        "fn f() { println!(\"{:?}\", crate::high::VALUE); }",
        "fn f() { let _ = vec![(1, crate::high::VALUE)]; }",
        "macro_rules! m { () => { $crate::high::make() } }",
        "fn f<T: crate::high::Trait>() {}",
        "impl crate::high::Trait for u8 {}",
        "mod inner { use super::super::high::Exported; }",
        "mod inner { fn f() { use crate::high::Exported; } }",
        // By the name that the root of the crate gives it.
        "use crate::Exported;",
    ] {
        assert_eq!(of(&[("middle.rs", text)]), ["made: middle names high"], "{text}");
    }
}

#[test]
fn a_macro_at_the_root_belongs_to_the_folder_that_defines_it() {
    let high = "#[macro_export] macro_rules! shout { () => {} }";
    let found = of(&[
        ("high.rs", high),
        ("lib.rs", "mod low; mod middle; mod high;"),
        ("middle.rs", "fn f() { crate::shout!(); }"),
    ]);
    assert_eq!(found, ["made: middle names high"]);
}

#[test]
fn what_is_compiled_for_tests_only_may_name_everything() {
    for text in [
        "#[cfg(test)] mod tests { use crate::high::Exported; }",
        "#[cfg(test)] use crate::high::Exported;",
        "#[cfg(all(test, unix))] fn f() { crate::high::make(); }",
        "#[test] fn f() { crate::high::make(); }",
        "#[cfg(test)] #[path = \"middle_tests.rs\"] mod tests;",
        "// use crate::high;\n/// [`crate::high`]\npub(in crate::high) struct S;",
        "fn f() { let high = 1; let _ = high::<u8>; \"crate::high\"; }",
        "use high_level::Thing; use std::high::Nothing;",
    ] {
        assert_eq!(of(&[("middle.rs", text)]), Vec::<String>::new(), "{text}");
    }
    let kept = "#[cfg(not(test))] use crate::high::Exported;";
    assert_eq!(of(&[("middle.rs", kept)]), ["made: middle names high"]);
    let kept = "#[cfg(any(test, unix))] use crate::high::Exported;";
    assert_eq!(of(&[("middle.rs", kept)]), ["made: middle names high"]);
}

#[test]
fn what_lives_in_the_root_stands_above_all_folders() {
    let root = "mod low; mod middle; mod high; pub struct Top;";
    let found = of(&[("lib.rs", root), ("low/one.rs", "pub struct One(crate::Top);")]);
    assert_eq!(found, ["made: low names mod"]);
}

#[test]
fn the_list_and_the_folders_are_the_same() {
    assert_eq!(of(&[("LAYERS", "low\nhigh\n")]), ["made/LAYERS does not list middle"]);
    let more = "low\nmiddle\nhigh\nhigher\n";
    assert_eq!(of(&[("LAYERS", more)]), ["made/LAYERS lists higher, which is not there"]);
    let twice = "low\nmiddle\nhigh\nlow\n";
    assert_eq!(of(&[("LAYERS", twice)]), ["made/LAYERS lists low twice"]);
}

#[test]
fn files_of_one_folder_have_an_order_too() {
    let layers = ("low/LAYERS", "two\none\n");
    assert_eq!(of(&[layers]), ["made/low: two names one"]);
    assert_eq!(of(&[("low/LAYERS", "one\ntwo\n")]), Vec::<String>::new());
    // What lives in the head of the folder is above its files, unless it is listed.
    let head = ("low/one.rs", "use super::Base; pub struct One;");
    assert_eq!(of(&[("low/LAYERS", "one\ntwo\n"), head]), ["made/low: one names mod"]);
    assert_eq!(of(&[("low/LAYERS", "mod\none\ntwo\n"), head]), ["made/low: mod names one"]);
}

#[test]
fn circles_are_found_in_every_folder() {
    let one = ("low/one.rs", "use super::two::Two; pub struct One;");
    assert_eq!(of(&[one]), ["circle in made/low"]);
    // Where the order is written, a circle has an arrow against it.
    let low = ("low/one.rs", "use crate::middle::Middle; pub struct One;");
    assert_eq!(of(&[low]), ["made: low names middle"]);
}

#[test]
fn an_exception_covers_one_departure_and_has_to_occur() {
    let found =
        [Finding { rule: "made: low names high".into(), places: vec!["made/low.rs:3".into()] }];
    assert_eq!(verdict(&found, ""), ["made: low names high\n    made/low.rs:3"]);
    assert_eq!(verdict(&found, "# why\nmade: low names high\n"), Vec::<String>::new());
    let wrong = verdict(&[], "made: low names high\n");
    assert!(wrong.len() == 1 && wrong[0].contains("take it out"), "{wrong:?}");
}
