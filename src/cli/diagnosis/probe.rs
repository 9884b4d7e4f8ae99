//! `--probe`: the findings about the nodes of a launch, which answered a probe.

use super::finding::{Finding, note, problem};
use crate::base::nouns::counted;
use crate::cli::arguments::origin::origin;
use crate::cli::trial::ProbedNode;
use crate::options::Settings;
use crate::sources::Host;
use crate::store::Store;

/// The nodes on which processes lack the library.
pub(in crate::cli) fn lacking(nodes: &[ProbedNode]) -> Vec<Finding> {
    let lacking = nodes.iter().filter(|node| node.preloaded < node.processes);
    let finding = |node: &ProbedNode| {
        let ProbedNode { name, processes, preloaded, .. } = node;
        let all = counted(*processes, "process");
        let text = format!("on {name}, the library is in {preloaded} of {all}");
        problem("not-preloaded", text).advise("install it there under the same path")
    };
    lacking.map(finding).collect()
}

/// What is known of the network between the nodes; nothing for fewer than three nodes.
pub(in crate::cli) fn network(
    nodes: &[ProbedNode],
    settings: &Settings,
    store: Option<&Store>,
) -> Option<Finding> {
    let hosts: Vec<Host> = nodes.iter().map(ProbedNode::host).collect();
    let choice = crate::launch::choice_for(settings, &hosts, store)?;
    if let Some(topology) = &settings.topology {
        return Some(note(
            "network",
            format!("network: given by the user ({}): {topology}", origin("topology")),
        ));
    }
    let finding = note("network", choice.sentence());
    let lacks = choice.network.is_none();
    Some(if lacks && !choice.is_off {
        finding.advise(
            "see 'rankweave topo -- LAUNCHER …', which says what each source of the network needs",
        )
    } else {
        finding
    })
}
