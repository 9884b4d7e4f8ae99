//! A node of the launch as sources see it.

use crate::base::file;
use crate::store::Placement;
use std::path::Path;

/// The files in which HPE Cray systems give the physical position of a node.
const POSITION_FILES: [&str; 2] = ["/etc/cray/xname", "/proc/cray_xt/cname"];

/// A node of the launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// Its host name.
    pub name: String,
    /// Where the scheduler says that it is in the network: its switches from the root down, then the node, such
    /// as `root.s3.s0.dev2`. Empty if the scheduler says nothing.
    pub address: String,
    /// Its physical position, such as the xname `x1000c0s3b0n1`. Empty if the system does not give one.
    pub position: String,
}

impl Host {
    /// A host of which only the name is known.
    pub fn named(name: &str) -> Host {
        Host { name: name.into(), ..Host::default() }
    }

    /// The node of this process. `name` is its host name.
    pub fn here(name: String) -> Host {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let address = variable("RANKWEAVE_ADDRESS").or_else(|| variable("SLURM_TOPOLOGY_ADDR"));
        let read = |file: &str| {
            let bytes = file::read(Path::new(file), 4096).ok()?;
            Some(String::from_utf8_lossy(&bytes).trim().to_string())
        };
        let position = POSITION_FILES.into_iter().find_map(read);
        let (address, position) = (address.unwrap_or_default(), position.unwrap_or_default());
        Host { name, address, position }
    }

    /// The nodes of a placement, by number.
    pub fn all_of(placement: &Placement) -> Vec<Host> {
        let text = |list: &[String], node: usize| list.get(node).cloned().unwrap_or_default();
        let host = |(node, name): (usize, &String)| Host {
            name: name.clone(),
            address: text(&placement.node_addresses, node),
            position: text(&placement.node_positions, node),
        };
        placement.node_names.iter().enumerate().map(host).collect()
    }
}
