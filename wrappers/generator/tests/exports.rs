//! The exported names of the library are those of the committed list, so that a change of the tables
//! shows in review which names a program will see.
//!
//! `cargo xtask golden` writes the list.

use std::path::Path;

#[test]
fn exported_names_are_those_of_the_list() {
    let wrappers = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = wrappers.join("exports.txt");
    let exports = rankweave_generator::generate(&wrappers).unwrap().exports;
    if std::env::var_os("RANKWEAVE_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, exports).unwrap();
        return;
    }
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let only = |a: &str, b: &str| -> Vec<String> {
        let b: std::collections::HashSet<&str> = b.lines().collect();
        a.lines().filter(|name| !b.contains(name)).map(String::from).collect()
    };
    assert!(
        listed == exports,
        "wrappers/exports.txt is not what the tables say: new names {:?}, names that went {:?}. If that is \
         intended: cargo xtask golden",
        only(&exports, &listed),
        only(&listed, &exports),
    );
}
