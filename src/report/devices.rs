//! The GPUs and network adapters of a machine: for scripts as JSON (these fields), for people as text.

use crate::report::units::printable;
use crate::topology::{Device, DeviceKind, Machine, Nearness};
use serde::Serialize;

/// The devices of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineDevices {
    /// The GPUs, by bus id.
    pub gpus: Vec<Gpu>,
    /// The network adapters, by bus id.
    pub nics: Vec<Nic>,
    /// Names of the adapters that take the traffic of the node, in the order of their numbers.
    pub rails: Vec<String>,
}

/// What GPUs and adapters have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Address {
    /// Name in the system.
    pub name: String,
    /// PCI address.
    pub bus_id: String,
    /// The local PUs, as a list of Linux.
    pub pus: String,
    /// Bus ids from the host bridge down.
    pub pci_path: Vec<String>,
}

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// What it has in common with adapters.
    #[serde(flatten)]
    pub address: Address,
    /// Name of its nearest rail; `None` without rails.
    pub nearest_rail: Option<String>,
    /// How near this rail is.
    pub nearness: Option<Nearness>,
}

/// A network adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Nic {
    /// What it has in common with GPUs.
    #[serde(flatten)]
    pub address: Address,
    /// Its number among the rails; `None` if it takes no traffic of programs.
    pub rail: Option<usize>,
}

impl Address {
    fn of(device: &Device) -> Address {
        Address {
            name: device.name.clone(),
            bus_id: device.bus_id.clone(),
            pus: device.pus.to_string(),
            pci_path: device.pci_path.clone(),
        }
    }
}

impl MachineDevices {
    /// The devices of this machine.
    pub fn new(machine: &Machine) -> MachineDevices {
        let rails: Vec<String> = machine.rails().iter().map(|rail| rail.name.clone()).collect();
        let ids: Vec<&String> = machine.rails().iter().map(|rail| &rail.bus_id).collect();
        let gpu = |(gpu, near): (&Device, Option<(usize, Nearness)>)| Gpu {
            address: Address::of(gpu),
            nearest_rail: near.and_then(|(rail, _)| rails.get(rail).cloned()),
            nearness: near.map(|(_, nearness)| nearness),
        };
        let nics = machine.devices().iter().filter(|device| device.kind == DeviceKind::Nic);
        let nic = |nic: &Device| Nic {
            address: Address::of(nic),
            rail: ids.iter().position(|&id| *id == nic.bus_id),
        };
        MachineDevices {
            gpus: machine.gpus().into_iter().zip(machine.rails_of_gpus()).map(gpu).collect(),
            nics: nics.map(nic).collect(),
            rails,
        }
    }

    /// The devices as text of a few lines; empty if there are none.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut row = |[name, bus, pus, last]: [&str; 4]| {
            let name = printable(name);
            let pus = if pus.is_empty() { "not known" } else { pus };
            out.push_str(format!("  {name:<18}  {bus:<12}  {pus:<16}  {last}").trim_end());
            out.push('\n');
        };
        if !self.gpus.is_empty() {
            row(["GPU", "address", "local PUs", "nearest rail"]);
        }
        for gpu in &self.gpus {
            let near = gpu.nearest_rail.as_ref().zip(gpu.nearness);
            let near = near.map_or(String::new(), |(rail, nearness)| {
                format!("{} ({nearness})", printable(rail))
            });
            row([&format!("  {}", gpu.address.name), &gpu.address.bus_id, &gpu.address.pus, &near]);
        }
        if !self.nics.is_empty() {
            row(["network adapter", "address", "local PUs", "rail"]);
        }
        for nic in &self.nics {
            let rail = nic
                .rail
                .map_or("none: the fabric takes the traffic".into(), |rail| rail.to_string());
            row([&format!("  {}", nic.address.name), &nic.address.bus_id, &nic.address.pus, &rail]);
        }
        match out.is_empty() {
            true => out,
            false => format!("\n{out}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_a_machine_as_text_and_json() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines/dgx-a100.xml");
        let machine = Machine::from_hwloc_xml(&std::fs::read_to_string(file).unwrap()).unwrap();
        let devices = MachineDevices::new(&machine);
        let text = devices.text();
        let line =
            |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        assert!(line("cuda0").ends_with("(PIX)"), "{text}");
        assert!(line("mlx5_0").trim_end().ends_with(" 0"), "{text}");
        let json: serde_json::Value = serde_json::to_value(&devices).unwrap();
        assert_eq!(json["gpus"][0]["nearness"], "PIX");
        assert_eq!(json["gpus"].as_array().unwrap().len(), 8);
        assert_eq!(json["nics"][0]["rail"], 0);
        assert_eq!(MachineDevices::new(&Machine::single()).text(), "");
    }
}
