//! Certificates of lower bounds: whatever they say, they prove nothing that is wrong.

use rankweave::bounds::{Certificate, proved};
use rankweave::matrix::{SparseMatrix, Traffic};
use rankweave::metrics::evaluate;
use rankweave::topology::parse;

const MACHINES: [&str; 4] = ["mesh:4x4", "torus:4x4", "tree:2:2:4@1:10:100", "dragonfly:4x2x2"];

/// Any certificate for a grid of 4 x 4 tasks is refused, or it proves at most what the tasks in their own order cost. The
/// first byte chooses the machine.
pub fn certificate(bytes: &[u8]) {
    let Some((machine, text)) = bytes.split_first() else { return };
    let Ok(certificate) = serde_json::from_slice::<Certificate>(text) else { return };
    let Ok(topology) = parse(MACHINES[usize::from(machine % 4)]) else { return };
    let steps = (0..16u32).flat_map(|task| {
        let right = (task % 4 < 3).then_some((task, task + 1));
        let below = (task < 12).then_some((task, task + 4));
        right.into_iter().chain(below)
    });
    let cell = |(a, b): (u32, u32)| (a, b, Traffic { bytes: 10, messages: 1 });
    let matrix = SparseMatrix::from_entries(16, &steps.map(cell).collect::<Vec<_>>());
    let slots: Vec<usize> = (0..16).collect();
    if certificate.capacity > 1 {
        return;
    }
    let Ok(found) = proved(&certificate, &matrix, topology.as_ref(), &slots) else { return };
    if matches!(certificate.objective.as_str(), "mc" | "time") {
        let Ok(own) = evaluate(&matrix, topology.as_ref(), &slots) else { return };
        let cost = if certificate.objective == "mc" { own.mc } else { own.predicted_time };
        let bound = found.real_bound.unwrap_or(found.bound as f64);
        let Some(cost) = cost else { return };
        assert!(bound <= cost * (1.0 + 1e-9), "proves {bound}, but a mapping takes {cost}");
        return;
    }
    let bound = found.bound;
    let weight = |bytes: u64| if certificate.objective == "total-hops" { 1 } else { bytes };
    let cost: u64 = matrix
        .entries()
        .map(|(a, b, t)| weight(t.bytes) * topology.distance(a as usize, b as usize))
        .sum();
    assert!(bound <= cost, "proves {bound}, but a mapping costs {cost}");
}
