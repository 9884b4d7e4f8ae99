//! A stronger preset is never worse than a weaker one, on random problems of all kinds.
//!
//! `cargo bench --bench presets` tries a thousand, and larger ones.

#[path = "../../benches/presets/instances.rs"]
mod instances;

use instances::Instance;

#[test]
fn a_stronger_preset_is_never_worse() {
    let violations: Vec<String> = (5000..5048)
        .filter_map(|number| {
            let instance = Instance::new(number, 14);
            instance.violation().unwrap_or_else(|error| panic!("{}: {error}", instance.name()))
        })
        .collect();
    assert!(violations.is_empty(), "{violations:#?}");
}
