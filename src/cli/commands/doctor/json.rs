//! The diagnosis for scripts.

use crate::cli::diagnosis::{Diagnosed, Diagnosis};
use crate::cli::inspect::{Image, Mpi};
use serde_json::{Value, json};

/// The whole diagnosis.
pub(super) fn json(diagnosis: &Diagnosis) -> Value {
    let d = diagnosis;
    json!({
        "schema": 1,
        "launcher": {
            "family": d.launch.launcher.name(),
            "file": d.launch.path,
            "mpi": d.launcher_mpi.as_ref().map(mpi),
            "several_hosts": d.launch.hosts,
        },
        "programs": d.programs.iter().map(program).collect::<Vec<_>>(),
        "preload": {
            "library": d.library.as_ref().map(|l| &l.0),
            "before": d.before,
        },
        "mode": d.settings.mode.name(),
        "store": d.store,
        "spill": d.spill,
        "key": d.key.as_ref().map(|k| &k.0),
        "stored_at": d.key.as_ref().and_then(|k| k.1),
        "nodes": d.nodes,
        "place_launcher": d.placing,
        "network": d.network,
        "outcome": d.outcome(),
        "recorded": d.recorded(),
        "findings": d.findings,
    })
}

fn program(p: &Diagnosed) -> Value {
    json!({
        "command": p.part.words,
        "ranks": p.part.ranks,
        "file": p.started.path,
        "through": p.started.through.iter().map(|t| &t.name).collect::<Vec<_>>(),
        "architecture": p.started.binary().map(Image::architecture),
        "mpi": p.mpi.as_ref().map(|m| mpi(&m.0)),
        "mpi_loaded_by_itself": p.mpi.as_ref().is_some_and(|m| m.1.is_some()),
        "mpi_known_from": p.mpi.as_ref().and_then(|m| m.1.clone()),
        "functions": p.bindings,
        "functions_seen": p.seen,
        "recorded": p.recorded(),
        "findings": p.findings,
    })
}

fn mpi(mpi: &Mpi) -> Value {
    json!({ "library": mpi.path, "abi": mpi.family.name(), "version": mpi.version() })
}
