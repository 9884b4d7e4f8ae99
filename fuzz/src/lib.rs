//! What the fuzz targets do with an input. Each target is a function that panics if a promise is broken.
//!
//! Two programs use these functions: libFuzzer, through the programs in `fuzz_targets`, and the quick tests.
//! `tests/rust/fuzz_seeds.rs` includes this file as a module and gives every file in `seeds` to its target.
//! Therefore nothing here may depend on libFuzzer.

mod bounds;
mod formats;
mod launch;
pub mod limits;
mod machine;
mod mapping;
mod store;
mod topology;

use arbitrary::{Arbitrary, Unstructured};

/// The function of a target. It gets the input.
pub type Target = fn(&[u8]);

/// All targets. Each has a program of the same name in `fuzz_targets`.
pub const TARGETS: &[(&str, Target)] = &[
    ("certificate", bounds::certificate),
    ("fabric_cabling", |bytes| topology::of_kind("cabling", bytes)),
    ("fabric_detect", |bytes| topology::of_kind("fabric", bytes)),
    ("fabric_flux", |bytes| topology::of_kind("flux", bytes)),
    ("fabric_gpus", topology::gpu_system),
    ("fabric_ibsim", |bytes| topology::of_kind("ibsim", bytes)),
    ("fabric_infiniband", |bytes| topology::of_kind("ib", bytes)),
    ("fabric_pbs", |bytes| topology::of_kind("pbs", bytes)),
    ("fabric_simgrid", |bytes| topology::of_kind("simgrid", bytes)),
    ("fabric_slurm_conf", |bytes| topology::of_kind("slurm", bytes)),
    ("fabric_topograph", |bytes| topology::of_kind("topograph", bytes)),
    ("format_csv", |bytes| formats::reader("csv", bytes)),
    ("format_eagermap", |bytes| formats::reader("eagermap", bytes)),
    ("format_json", |bytes| formats::reader("json", bytes)),
    ("format_metis", |bytes| formats::reader("metis", bytes)),
    ("format_mtx", |bytes| formats::reader("mtx", bytes)),
    ("format_prof", |bytes| formats::reader("prof", bytes)),
    ("format_scotch", |bytes| formats::reader("scotch", bytes)),
    ("format_treematch", |bytes| formats::reader("treematch", bytes)),
    ("formats_detect", formats::detection),
    ("hosts", launch::hosts),
    ("identity", launch::identities),
    ("kept_network", store::kept_network_file),
    ("machine", machine::description),
    ("mapping", mapping::algorithm),
    ("measured_network", store::network_file),
    ("setting_file", launch::setting_file),
    ("settings", launch::settings),
    ("spill", store::spill_file),
    ("store", store::record_file),
    ("topology_file", topology::file),
    ("topology_text", topology::text),
];

/// Gives an input to the target of this name, within [`limits::INPUT`].
///
/// # Panics
/// If there is no such target, if it finds a mistake, or if it exceeds a limit.
pub fn check(name: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(target, _)| *target == name);
    let (_, target) = found.unwrap_or_else(|| panic!("there is no fuzz target {name}"));
    limits::INPUT.hold(|| target(bytes));
}

/// A value that is made of the bytes; `None` if they are too few. A byte that changes changes little of the value.
fn decoded<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> Option<T> {
    if bytes.len() < T::size_hint(0).0 {
        return None;
    }
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}
