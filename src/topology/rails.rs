//! The rails of a node, and which GPU and which rail belong to a place.
//!
//! A *rail* is a network adapter that takes the traffic of the node. A node with adapters of a fabric sends its
//! messages through these; its Ethernet interfaces are rails only if there is nothing else.
//!
//! The nearest adapter of a GPU is the one with the shortest way over PCI ([`Nearness`], as in NCCL's
//! `ncclTopoGetLocal`, `src/graph/topo.cc`). The nearest devices of a place, which is a set of PUs, are those that
//! share the innermost level of the machine with it: the NUMA domain, else the package. Several that are equally
//! near take turns, as MPICH and Cray MPICH do with the processes of a node, and NCCL with its channels.

use super::cpuset::CpuSet;
use super::device::{Device, DeviceKind, Nearness};
use super::machine::{Machine, UNPLACED};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The devices that belong to a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attachment {
    /// Its GPU, an index into [`Machine::gpus`].
    pub gpu: Option<usize>,
    /// Its rail, an index into [`Machine::rails`].
    pub rail: Option<usize>,
}

impl Machine {
    /// The GPUs, by bus id.
    pub fn gpus(&self) -> Vec<&Device> {
        self.devices().iter().filter(|device| device.kind == DeviceKind::Gpu).collect()
    }

    /// The network adapters that take the traffic of this node, by bus id: those of a fabric, or all if there is no
    /// fabric.
    pub fn rails(&self) -> Vec<&Device> {
        let nics = || self.devices().iter().filter(|device| device.kind == DeviceKind::Nic);
        let has_fabric = nics().any(Device::is_of_fabric);
        nics().filter(|nic| nic.is_of_fabric() || !has_fabric).collect()
    }

    /// For each of [`Machine::gpus`] its nearest rail and how near that is; `None` without rails. GPUs to which the
    /// same rails are equally near take turns.
    pub fn rails_of_gpus(&self) -> Vec<Option<(usize, Nearness)>> {
        let rails = self.rails();
        let mut turns = Turns::default();
        let nearest = |gpu: &Device| {
            let ties = nearest(&rails, |rail| {
                let depth = self.depth(&gpu.pus.union(&rail.pus));
                (gpu.nearness(rail), Reverse(depth), Reverse(gpu.shared_path(rail)))
            });
            let rail = turns.next(&ties)?;
            Some((rail, gpu.nearness(rails[rail])))
        };
        self.gpus().into_iter().map(nearest).collect()
    }

    /// The devices of each place of this node, in the order of the processes. Places to which the same devices are
    /// equally near take turns. Of several rails that are equally near to a place, the one that is near to its GPU
    /// comes first, if the GPUs of such places have different ones.
    pub fn attachments(&self, places: &[CpuSet]) -> Vec<Attachment> {
        let near = Near::new(self);
        let [mut gpus, mut rails] = [Turns::default(), Turns::default()];
        let attached = |place: &CpuSet| {
            let [ties_of_gpus, ties_of_rails] = near.to_place(place);
            let gpu = gpus.next(&ties_of_gpus);
            let rail = near.rail_of_gpu(gpu, &ties_of_gpus, &ties_of_rails);
            Attachment { gpu, rail: rail.or_else(|| rails.next(&ties_of_rails)) }
        };
        places.iter().map(attached).collect()
    }

    /// The rail of one place without regard to others, an index into [`Machine::rails`]. Of rails that are equally
    /// near, the first takes the first part of the cores around, the second the next, and so on.
    pub fn rail_of(&self, place: &CpuSet) -> Option<usize> {
        let near = Near::new(self);
        let [ties_of_gpus, ties_of_rails] = near.to_place(place);
        let gpu = self.by_position(place, &near.gpus, &ties_of_gpus);
        near.rail_of_gpu(gpu, &ties_of_gpus, &ties_of_rails)
            .or_else(|| self.by_position(place, &near.rails, &ties_of_rails))
    }

    /// One of the `ties` among `devices`, by the position of the place in the PUs that are local to them.
    fn by_position(&self, place: &CpuSet, devices: &[&Device], ties: &[usize]) -> Option<usize> {
        let around = ties.iter().fold(CpuSet::new(), |all, &tie| all.union(&devices[tie].pus));
        let core = self.level_names().iter().position(|name| name == "core");
        let mut cores: Vec<usize> = Vec::new();
        let mut position = None;
        let first = place.iter().next();
        for (k, &pu) in self.pus().iter().enumerate().filter(|(_, pu)| around.contains(**pu)) {
            let of_core = core.map_or(k, |level| self.groups(level)[k] as usize);
            let at = cores.iter().position(|&known| known == of_core).unwrap_or_else(|| {
                cores.push(of_core);
                cores.len() - 1
            });
            if Some(pu) == first {
                position = Some(at);
            }
        }
        ties.get(position.unwrap_or(0) * ties.len() / cores.len().max(1)).copied()
    }

    /// Number of levels at which all of the PUs are in one group.
    fn depth(&self, pus: &CpuSet) -> usize {
        self.path_of(pus).iter().take_while(|&&group| group != UNPLACED).count()
    }
}

/// The devices of a machine, and which of them are near to each other.
struct Near<'a> {
    machine: &'a Machine,
    gpus: Vec<&'a Device>,
    rails: Vec<&'a Device>,
    rails_of_gpus: Vec<Option<(usize, Nearness)>>,
}

impl Near<'_> {
    fn new(machine: &Machine) -> Near<'_> {
        Near {
            machine,
            gpus: machine.gpus(),
            rails: machine.rails(),
            rails_of_gpus: machine.rails_of_gpus(),
        }
    }

    /// The GPUs and the rails that are nearest to a place.
    fn to_place(&self, place: &CpuSet) -> [Vec<usize>; 2] {
        let depth = |device: &Device| Reverse(self.machine.depth(&place.union(&device.pus)));
        [nearest(&self.gpus, depth), nearest(&self.rails, depth)]
    }

    /// The rail of a place by that of its GPU: if it is one of those nearest to the place, and if the GPUs near to
    /// the place share the load between several rails.
    fn rail_of_gpu(&self, gpu: Option<usize>, gpus: &[usize], rails: &[usize]) -> Option<usize> {
        let of_gpu = |&gpu: &usize| Some((*self.rails_of_gpus.get(gpu)?)?.0);
        let wanted: Vec<usize> =
            gpus.iter().filter_map(of_gpu).filter(|rail| rails.contains(rail)).collect();
        let own = gpu.as_ref().and_then(of_gpu)?;
        let shares = wanted.iter().any(|&rail| rail != own);
        (shares && rails.contains(&own)).then_some(own)
    }
}

/// The indices of those with the smallest key.
fn nearest<K: Ord>(devices: &[&Device], key: impl Fn(&Device) -> K) -> Vec<usize> {
    let keys: Vec<K> = devices.iter().map(|device| key(device)).collect();
    let least = keys.iter().min();
    (0..keys.len()).filter(|&k| Some(&keys[k]) == least).collect()
}

/// How often one of the same candidates was chosen.
#[derive(Default)]
struct Turns(HashMap<Vec<usize>, usize>);

impl Turns {
    /// The next one of these candidates; `None` if there are none.
    fn next(&mut self, ties: &[usize]) -> Option<usize> {
        let turn = self.0.entry(ties.to_vec()).or_default();
        *turn += 1;
        ties.get((*turn - 1) % ties.len().max(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::machine::Division;

    fn set(text: &str) -> CpuSet {
        CpuSet::from_list(text).unwrap()
    }

    fn device(kind: DeviceKind, name: &str, path: &[&str], pus: &str) -> Device {
        Device {
            kind,
            name: name.into(),
            bus_id: path.last().unwrap().to_string(),
            pus: set(pus),
            pci_path: path.iter().map(|id| id.to_string()).collect(),
        }
    }

    /// Two packages of two domains of four cores.
    fn machine(devices: Vec<Device>) -> Machine {
        let division = |name: &str, sets: &[&str]| Division {
            name: name.into(),
            sets: sets.iter().map(|text| set(text)).collect(),
        };
        Machine::from_divisions(
            &set("0-15"),
            vec![
                division("package", &["0-7", "8-15"]),
                division("numa", &["0-3", "4-7", "8-11", "12-15"]),
            ],
        )
        .with_devices(devices)
    }

    use DeviceKind::{Gpu, Nic};

    #[test]
    fn a_machine_without_devices_has_no_rails() {
        let machine = machine(Vec::new());
        assert!(machine.rails().is_empty() && machine.rails_of_gpus().is_empty());
        assert_eq!(machine.rail_of(&set("0")), None);
        assert_eq!(machine.attachments(&[set("0")]), [Attachment::default()]);
    }

    #[test]
    fn a_place_has_the_rail_of_its_domain_then_of_its_package() {
        let machine = machine(vec![
            device(Nic, "mlx5_0", &["0000:00:01.0"], "4-7"),
            device(Nic, "mlx5_1", &["0000:80:01.0"], "8-11"),
            device(Nic, "eth0", &["0000:00:02.0"], "0-3"),
        ]);
        let names: Vec<&str> = machine.rails().iter().map(|rail| rail.name.as_str()).collect();
        assert_eq!(names, ["mlx5_0", "mlx5_1"], "messages go through the fabric");
        let of = |place: &str| machine.rail_of(&set(place));
        assert_eq!(
            [of("5"), of("0"), of("0-7"), of("9"), of("15")].map(Option::unwrap),
            [0, 0, 0, 1, 1]
        );
    }

    #[test]
    fn equally_near_rails_take_turns() {
        let machine = machine(vec![
            device(Nic, "hsn0", &["0000:01:00.0"], "0-7"),
            device(Nic, "hsn1", &["0000:02:00.0"], "0-7"),
        ]);
        let places: Vec<CpuSet> = (0..8).map(|pu| set(&pu.to_string())).collect();
        let rails: Vec<usize> =
            machine.attachments(&places).iter().map(|a| a.rail.unwrap()).collect();
        assert_eq!(rails, [0, 1, 0, 1, 0, 1, 0, 1]);
        let alone: Vec<usize> =
            places.iter().map(|place| machine.rail_of(place).unwrap()).collect();
        assert_eq!(alone, [0, 0, 0, 0, 1, 1, 1, 1]);
        let unbound = vec![set("0-15"); 4];
        let rails: Vec<usize> =
            machine.attachments(&unbound).iter().map(|a| a.rail.unwrap()).collect();
        assert_eq!(rails, [0, 1, 0, 1]);
    }

    #[test]
    fn a_gpu_has_the_adapter_of_its_switch_and_its_places_have_this_rail() {
        let on = |switch: &str, port: &str, id: &str| [switch, port, id].map(String::from);
        let mut devices = Vec::new();
        for (k, switch) in ["0000:01:00.0", "0000:11:00.0"].into_iter().enumerate() {
            let bus = if k == 0 { "0" } else { "1" };
            for (kind, name, at) in [(Gpu, "cuda", 3), (Nic, "mlx5_", 4)] {
                let port = format!("0000:{bus}2:0{at}.0");
                let id = format!("0000:{bus}{at}:00.0");
                let path = on(switch, &port, &id);
                let path: Vec<&str> =
                    std::iter::once("0000:00").chain(path.iter().map(String::as_str)).collect();
                // The adapters are in the opposite order of the GPUs.
                devices.push(device(kind, &format!("{name}{k}"), &path, "0-3"));
            }
        }
        devices.push(device(Nic, "mlx5_9", &["0000:00", "0000:00:09.0", "0000:09:00.0"], "0-3"));
        let machine = machine(devices);
        let rails = machine.rails();
        let near = machine.rails_of_gpus();
        let names: Vec<(&str, Nearness)> = near
            .iter()
            .map(|found| (rails[found.unwrap().0].name.as_str(), found.unwrap().1))
            .collect();
        assert_eq!(names, [("mlx5_0", Nearness::Pix), ("mlx5_1", Nearness::Pix)]);
        let attached = machine.attachments(&[set("0"), set("1"), set("2"), set("3")]);
        let names: Vec<&str> =
            attached.iter().map(|a| rails[a.rail.unwrap()].name.as_str()).collect();
        assert_eq!(names, ["mlx5_0", "mlx5_1", "mlx5_0", "mlx5_1"]);
        assert_eq!(attached.iter().map(|a| a.gpu.unwrap()).collect::<Vec<_>>(), [0, 1, 0, 1]);
    }

    #[test]
    fn gpus_on_one_switch_share_its_adapters() {
        let on_switch = |kind, name: &str, id: &str| {
            let port = format!("0000:02:{}.0", &id[5..7]);
            device(kind, name, &["0000:00", "0000:00:01.0", "0000:01:00.0", &port, id], "0-7")
        };
        let machine = machine(vec![
            on_switch(Gpu, "cuda0", "0000:03:00.0"),
            on_switch(Gpu, "cuda1", "0000:04:00.0"),
            on_switch(Nic, "mlx5_0", "0000:05:00.0"),
            on_switch(Nic, "mlx5_1", "0000:06:00.0"),
        ]);
        let rails: Vec<usize> =
            machine.rails_of_gpus().iter().map(|found| found.unwrap().0).collect();
        assert_eq!(rails, [0, 1]);
    }
}
