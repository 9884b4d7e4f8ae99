//! GPUs and network adapters of a node, and how near two of them are.
//!
//! A device is a function of a PCI adapter that programs use: a GPU, or a network adapter (NIC) through which
//! messages leave the node. Devices without a PCI address are left out, because nothing is known about their
//! place: loopback, bridges, tunnels and other interfaces that exist in software only.
//!
//! The nearness of two devices has the classes that NCCL uses (`src/graph/topo.h` there: PIX, PXB, PHB, SYS) and
//! that `nvidia-smi topo -m` prints, which has NODE between PHB and SYS. NVLink and other links beside PCI are not
//! described by hwloc or `/sys`, and do not count.

use super::cpuset::CpuSet;
use super::pci::{bus_id, is_function, number};
use crate::base::sorting::Arrange;
use serde::Serialize;
use std::fmt;

/// What a device is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A GPU.
    Gpu,
    /// A network adapter.
    Nic,
}

/// A GPU or a network adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// What it is for.
    pub kind: DeviceKind,
    /// Its name in the system, such as `cuda0`, `mlx5_0` or `hsn0`; the bus id if a GPU has no name.
    pub name: String,
    /// Its PCI address as Linux writes it, `0000:c1:00.0`.
    pub bus_id: String,
    /// The PUs that are local to it.
    pub pus: CpuSet,
    /// The bus ids from the host bridge down to the device, the device itself last. A host bridge has the
    /// number of its bus, such as `0000:c0`. The first entry is another bridge or the device itself if the
    /// description of the machine has no host bridges.
    pub pci_path: Vec<String>,
}

/// How near two devices are, the nearest class first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Nearness {
    /// At most one PCI switch is between them.
    Pix,
    /// Several PCI switches are between them, but no host bridge.
    Pxb,
    /// The host bridge that they share is between them.
    Phb,
    /// They have different host bridges that are local to the same PUs, such as those of a NUMA domain.
    Node,
    /// They are local to different PUs.
    Sys,
}

impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Nearness::Pix => "PIX",
            Nearness::Pxb => "PXB",
            Nearness::Phb => "PHB",
            Nearness::Node => "NODE",
            Nearness::Sys => "SYS",
        })
    }
}

/// Bridges of a PCI switch below the place where two paths part: a switch has one bridge upwards, which both paths
/// share, and one bridge downwards for each device.
const BRIDGES_OF_A_SWITCH: usize = 1;

impl Device {
    /// How near this device is to another one.
    ///
    /// Two devices on the host bridge itself, or on different ports of it, are [`Nearness::Phb`].
    pub fn nearness(&self, other: &Device) -> Nearness {
        let shared = self.shared_path(other);
        let below = |device: &Device| device.pci_path.len().saturating_sub(shared + 1);
        let meets_at_bridge = self.pci_path[..shared].last().is_some_and(|last| is_function(last));
        if self.bus_id == other.bus_id
            || meets_at_bridge
                && below(self) <= BRIDGES_OF_A_SWITCH
                && below(other) <= BRIDGES_OF_A_SWITCH
        {
            Nearness::Pix
        } else if meets_at_bridge {
            Nearness::Pxb
        } else if shared > 0 {
            Nearness::Phb
        } else if !self.pus.is_empty() && self.pus == other.pus {
            Nearness::Node
        } else {
            Nearness::Sys
        }
    }

    /// Number of bus ids that the paths of both devices begin with.
    pub(super) fn shared_path(&self, other: &Device) -> usize {
        self.pci_path.iter().zip(&other.pci_path).take_while(|(a, b)| a == b).count()
    }

    /// Whether this network adapter belongs to a fabric: InfiniBand, Omni-Path, Slingshot, EFA and others. Ethernet
    /// and Wi-Fi interfaces do not; the names that Linux gives them tell.
    pub fn is_of_fabric(&self) -> bool {
        self.kind == DeviceKind::Nic && !is_interface(&self.name)
    }
}

/// Whether this is the usual name of an Ethernet or Wi-Fi interface (systemd.net-naming-scheme(7), `eth0`, and
/// `eth-` with a bus id for a controller without a name).
fn is_interface(name: &str) -> bool {
    let digits_from = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let predictable = ["eno", "ens", "enp", "enP", "enx", "end", "wlo", "wls", "wlp", "wlP", "wlx"];
    predictable.iter().any(|prefix| name.starts_with(prefix))
        || ["eth", "eth-", "em", "wlan", "ww", "usb", "lan", "net", "p"]
            .into_iter()
            .any(digits_from)
}

/// Whether a name from a description can be one of a device: printable ASCII, at most 64 characters. Others come
/// from damaged files.
pub(super) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_graphic())
}

/// The most devices of a machine; more come from damaged descriptions.
pub(super) const MOST_DEVICES: usize = 1024;

/// The devices of a machine with these PUs, from all that was found: by kind and bus id, each function once, without
/// those whose PCI address is none. A device without known local PUs is local to all.
pub(super) fn arranged(found: Vec<Device>, pus: &[usize]) -> Vec<Device> {
    let mut devices: Vec<Device> = found
        .into_iter()
        .filter(|device| is_name(&device.name))
        .filter_map(|device| {
            let bus_id = bus_id(&device.bus_id).filter(|id| is_function(id))?;
            let local: CpuSet = pus.iter().copied().filter(|&pu| device.pus.contains(pu)).collect();
            let local = if local.is_empty() { pus.iter().copied().collect() } else { local };
            Some(Device { bus_id, pus: local, ..device })
        })
        .collect();
    devices.arrange_by_key(|device| (device.kind, number(&device.bus_id)));
    devices.dedup_by(|a, b| (a.kind, &a.bus_id) == (b.kind, &b.bus_id));
    devices.truncate(MOST_DEVICES);
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(path: &[&str], pus: &str) -> Device {
        Device {
            kind: DeviceKind::Nic,
            name: "mlx5_0".into(),
            bus_id: path.last().unwrap().to_string(),
            pus: CpuSet::from_list(pus).unwrap(),
            pci_path: path.iter().map(|id| id.to_string()).collect(),
        }
    }

    #[test]
    fn classes_are_those_of_nccl() {
        let gpu = device(
            &["0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"],
            "0-3",
        );
        let path = |ids: &[&str]| device(ids, "0-3");
        for (other, nearness) in [
            (gpu.clone(), Nearness::Pix),
            // Another port of the same switch.
            (
                path(&["0000:00", "0000:00:01.0", "0000:01:00.0", "0000:02:01.0", "0000:04:00.0"]),
                Nearness::Pix,
            ),
            // A second switch below the first one.
            (
                path(&[
                    "0000:00",
                    "0000:00:01.0",
                    "0000:01:00.0",
                    "0000:02:02.0",
                    "0000:05:00.0",
                    "0000:06:00.0",
                    "0000:07:00.0",
                ]),
                Nearness::Pxb,
            ),
            (path(&["0000:00", "0000:00:02.0", "0000:08:00.0"]), Nearness::Phb),
            (path(&["0000:40", "0000:40:01.0", "0000:41:00.0"]), Nearness::Node),
            (device(&["0000:80", "0000:80:01.0", "0000:81:00.0"], "4-7"), Nearness::Sys),
            (device(&["0000:81:00.0"], ""), Nearness::Sys),
        ] {
            assert_eq!(gpu.nearness(&other), nearness, "{:?}", other.pci_path);
            assert_eq!(other.nearness(&gpu), nearness, "{:?}", other.pci_path);
        }
        let empty = Device { pci_path: Vec::new(), ..device(&["0000:09:00.0"], "0-3") };
        assert_eq!(empty.nearness(&gpu), Nearness::Node);
        assert!(Nearness::Pix < Nearness::Pxb && Nearness::Node < Nearness::Sys);
    }

    #[test]
    fn two_functions_of_a_card_are_next_to_each_other() {
        let port = |id| device(&["0000:00", "0000:00:01.0", id], "0");
        assert_eq!(port("0000:01:00.0").nearness(&port("0000:01:00.1")), Nearness::Pix);
    }

    #[test]
    fn interfaces_of_ethernet_are_no_fabric() {
        let is_of_fabric = |name: &str| {
            Device { name: name.into(), ..device(&["0000:01:00.0"], "0") }.is_of_fabric()
        };
        for name in [
            "mlx5_0",
            "hsn0",
            "cxi0",
            "hfi1_0",
            "ib0",
            "ibp59s0",
            "efa_0",
            "rdmap16s27",
            "rocep1s0",
        ] {
            assert!(is_of_fabric(name), "{name}");
        }
        for name in
            ["eth0", "eno1", "ens5", "enp3s0f1", "enP2p1s0", "em1", "p2p1", "wlp3s0", "usb0"]
        {
            assert!(!is_of_fabric(name), "{name}");
        }
    }

    #[test]
    fn arranged_devices_are_in_order_and_once() {
        let nic =
            |id: &str| Device { bus_id: id.into(), pci_path: Vec::new(), ..device(&["x"], "") };
        let gpu = Device { kind: DeviceKind::Gpu, name: "cuda0".into(), ..nic("0000:ff:00.0") };
        let found = vec![
            nic("0001:01:00.0"),
            nic("0000:b1:00.0"),
            gpu,
            nic("b1:00.0"),
            nic("x"),
            nic("0000:b1"),
        ];
        let devices = arranged(found, &[3, 5]);
        let ids: Vec<&str> = devices.iter().map(|device| device.bus_id.as_str()).collect();
        assert_eq!(ids, ["0000:ff:00.0", "0000:b1:00.0", "0001:01:00.0"]);
        assert_eq!(devices[0].pus.to_string(), "3,5");
        let unnamed = Device { name: String::new(), ..nic("0000:01:00.0") };
        assert!(arranged(vec![unnamed], &[0]).is_empty());
    }
}
