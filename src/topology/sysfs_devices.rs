//! GPUs and network adapters in Linux' `/sys`.
//!
//! The folders of drivers in `bus/pci/drivers`, and `class/drm`, lead to the GPUs; where a copy of `/sys` has no drivers,
//! the class of every function in `bus/pci/devices` tells them. `class/infiniband`, `class/cxi` and
//! `class/bxi` have the adapters of fabrics, `class/net` the interfaces. The
//! real path of each entry goes through the PCI functions from the host bridge down.
//!
//! Left out are interfaces without a PCI function (loopback, bridges, tunnels, virtual Ethernet), interfaces on USB,
//! adapters and interfaces without a connection, and all but one of a physical function and its virtual functions,
//! because they share its port. In a container, the physical function is often not among the adapters.

use super::cpuset::CpuSet;
use super::device::{Device, DeviceKind};
use super::pci::{PciType, bus_id, is_function};
use super::sys_tree::SysTree;
use crate::base::sorting::Arrange;
use std::collections::{BTreeMap, BTreeSet};

const PCI: &str = "bus/pci/devices";
const DRIVERS: &str = "bus/pci/drivers";

/// Drivers of GPUs. Programs cannot use a GPU without a driver.
const GPU_DRIVERS: [&str; 7] =
    ["nvidia", "amdgpu", "i915", "xe", "habanalabs", "nouveau", "radeon"];

/// More entries than this of a folder are not looked at.
const MOST_ENTRIES: usize = 8192;

/// Classes of the adapters of fabrics: InfiniBand, RoCE, Omni-Path and EFA; Slingshot; BXI.
const FABRICS: [&str; 3] = ["class/infiniband", "class/cxi", "class/bxi"];

/// The place of an entry: bus ids from the host bridge down, and the folder of the last of them.
struct Place {
    path: Vec<String>,
    folder: String,
}

/// The devices that the tree lists.
pub(super) fn devices(tree: &dyn SysTree) -> Vec<Device> {
    let mut nics: BTreeMap<String, (String, Place)> = BTreeMap::new();
    for class in FABRICS {
        for (name, entry, place) in placed(tree, class) {
            if is_connected_adapter(tree, &entry) {
                nics.entry(id_of(&place)).or_insert((name, place));
            }
        }
    }
    for (name, entry, place) in placed(tree, "class/net") {
        if is_connected_interface(tree, &entry) && pci_type(tree, &place.folder).is_network() {
            nics.entry(id_of(&place)).or_insert((name, place));
        }
    }
    let gpus = gpus(tree);
    let mut devices = Vec::new();
    for (kind, found) in [(DeviceKind::Gpu, gpus), (DeviceKind::Nic, nics)] {
        let mut ports: BTreeSet<String> = BTreeSet::new();
        for (bus_id, (name, place)) in &found {
            if let Some(physical) = physical_function(tree, place) {
                let is_first = kind == DeviceKind::Gpu || ports.insert(physical.clone());
                if found.contains_key(&physical) || !is_first {
                    continue;
                }
            }
            devices.push(Device {
                kind,
                name: name.clone(),
                bus_id: bus_id.clone(),
                pus: local_pus(tree, &place.folder),
                pci_path: place.path.clone(),
            });
        }
    }
    devices
}

/// The bus id of the physical function of a virtual one.
fn physical_function(tree: &dyn SysTree, place: &Place) -> Option<String> {
    let link = tree.link(&format!("{}/physfn", place.folder))?;
    link.rsplit('/').next().and_then(bus_id)
}

/// The GPUs by their bus ids. If `class/drm` has no name for a GPU, it is called by its bus id.
fn gpus(tree: &dyn SysTree) -> BTreeMap<String, (String, Place)> {
    // Connectors of displays are in this class as well: `card0-DP-1`.
    let is_card =
        |name: &str| name.strip_prefix("card").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let cards = names(tree, "class/drm").into_iter().filter(|name| is_card(name));
    let mut names_of: BTreeMap<String, String> = BTreeMap::new();
    for name in cards {
        if let Some(place) = place_of(tree, &format!("class/drm/{name}")) {
            names_of.entry(id_of(&place)).or_insert(name);
        }
    }
    // To read the class of every function takes milliseconds on large nodes.
    let candidates: BTreeSet<String> = match tree.list(DRIVERS) {
        Ok(_) => {
            let bound =
                GPU_DRIVERS.iter().flat_map(|driver| names(tree, &format!("{DRIVERS}/{driver}")));
            bound.filter_map(|name| bus_id(&name)).chain(names_of.keys().cloned()).collect()
        }
        Err(_) => names(tree, PCI).iter().filter_map(|name| bus_id(name)).collect(),
    };
    let mut gpus = BTreeMap::new();
    for id in candidates {
        let at = format!("{PCI}/{id}");
        let Some(place) = place_of(tree, &at).filter(|place| id_of(place) == id) else { continue };
        if pci_type(tree, &place.folder).is_gpu() {
            let name = names_of.get(&id).cloned().unwrap_or_else(|| id.clone());
            gpus.insert(id, (name, place));
        }
    }
    gpus
}

/// The names in a folder, sorted.
fn names(tree: &dyn SysTree, folder: &str) -> Vec<String> {
    let mut names = tree.list(folder).unwrap_or_default();
    names.arrange();
    names.truncate(MOST_ENTRIES);
    names
}

/// The entries of a class that belong to a PCI function: name, path, and place.
fn placed(tree: &dyn SysTree, class: &str) -> Vec<(String, String, Place)> {
    let entry = |name: String| {
        let at = format!("{class}/{name}");
        let place = place_of(tree, &at)?;
        let real = tree.link(&at).unwrap_or(at);
        Some((name, real, place))
    };
    names(tree, class).into_iter().filter_map(entry).collect()
}

/// The place of an entry by where its link leads, or that of its `device` on systems where it is no link. `None` if
/// no PCI function is on the way, or a device on USB.
fn place_of(tree: &dyn SysTree, entry: &str) -> Option<Place> {
    let real = tree.link(entry).or_else(|| tree.link(&format!("{entry}/device")))?;
    let mut place = Place { path: Vec::new(), folder: String::new() };
    let mut end = 0;
    for part in real.split('/') {
        end += part.len() + 1;
        if part.starts_with("usb") && !place.path.is_empty() {
            return None;
        }
        let bridge = || part.strip_prefix("pci").and_then(bus_id).filter(|id| !is_function(id));
        let function = bus_id(part).filter(|id| is_function(id));
        if function.is_some() {
            place.folder = real[..end - 1].into();
        }
        place.path.extend(function.or_else(bridge));
    }
    place.path.last().is_some_and(|last| is_function(last)).then_some(place)
}

fn id_of(place: &Place) -> String {
    place.path.last().cloned().unwrap_or_default()
}

fn pci_type(tree: &dyn SysTree, folder: &str) -> PciType {
    let number = |file: &str| {
        let text = tree.read(&format!("{folder}/{file}"))?;
        u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
    };
    // The class has the programming interface in its last byte.
    let class = number("class").map_or(0, |class| (class >> 8) as u16);
    // Most functions are bridges and system devices; their vendor does not matter.
    let matters = matches!(class >> 8, 0x02 | 0x03 | 0x12);
    let vendor = if matters { number("vendor").unwrap_or(0) as u16 } else { 0 };
    PciType { class, vendor }
}

/// Whether one of the ports of an adapter is connected; true if nothing is known about them.
fn is_connected_adapter(tree: &dyn SysTree, entry: &str) -> bool {
    let ports = format!("{entry}/ports");
    let mut states = names(tree, &ports)
        .into_iter()
        .filter_map(|port| tree.read(&format!("{ports}/{port}/state")))
        .peekable();
    states.peek().is_none() || states.any(|state| state.contains("ACTIVE"))
}

/// Whether an interface is connected; true if nothing is known about it.
fn is_connected_interface(tree: &dyn SysTree, entry: &str) -> bool {
    let state = tree.read(&format!("{entry}/operstate"));
    !state.is_some_and(|state| ["down", "lowerlayerdown", "notpresent"].contains(&state.trim()))
}

/// The PUs that are local to a PCI function; empty if not known.
fn local_pus(tree: &dyn SysTree, folder: &str) -> CpuSet {
    let list = |path: &str| CpuSet::from_list(&tree.read(path)?).filter(|set| !set.is_empty());
    let of_node = || {
        let node = tree.read(&format!("{folder}/numa_node"))?;
        let node: usize = node.trim().parse().ok()?;
        list(&format!("devices/system/node/node{node}/cpulist"))
    };
    list(&format!("{folder}/local_cpulist")).or_else(of_node).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::topology::{DeviceKind, Machine};

    /// A machine with two CPUs and the given files.
    fn devices(files: &str) -> Vec<(DeviceKind, String, Vec<String>)> {
        let text = format!("devices/system/cpu/cpu[0-1]/topology/core_id=0\n{files}");
        let machine = Machine::from_sys_listing(&text).unwrap();
        let devices = machine.devices().iter();
        devices.map(|d| (d.kind, d.name.clone(), d.pci_path.clone())).collect()
    }

    const NIC: &str = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/class=0x020700
devices/pci0000:00/0000:00:01.0/0000:01:00.0/vendor=0x15b3
bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
";

    #[test]
    fn an_adapter_and_its_interface_are_one_device() {
        let found = devices(&format!(
            "{NIC}class/infiniband/mlx5_0 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0
class/net/ib0 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/net/ib0\n"
        ));
        let path = ["0000:00", "0000:00:01.0", "0000:01:00.0"].map(String::from).to_vec();
        assert_eq!(found, [(DeviceKind::Nic, "mlx5_0".into(), path)]);
    }

    #[test]
    fn adapters_without_a_connection_are_none() {
        let at = "devices/pci0000:00/0000:00:01.0/0000:01:00.0";
        let ib = format!("{NIC}class/infiniband/mlx5_0 -> ../../{at}/infiniband/mlx5_0\n");
        let state =
            |port: u32, state: &str| format!("{at}/infiniband/mlx5_0/ports/{port}/state={state}\n");
        assert_eq!(devices(&(ib.clone() + &state(1, "1: DOWN"))).len(), 0);
        assert_eq!(devices(&(ib + &state(1, "1: DOWN") + &state(2, "4: ACTIVE"))).len(), 1);
        let net = format!("{NIC}class/net/eth0 -> ../../{at}/net/eth0\n");
        assert_eq!(devices(&net).len(), 1);
        assert_eq!(devices(&format!("{net}{at}/net/eth0/operstate=down\n")).len(), 0);
    }

    #[test]
    fn interfaces_of_software_and_of_usb_are_none() {
        let found = devices(
            "class/net/lo -> ../../devices/virtual/net/lo
class/net/veth1 -> ../../devices/virtual/net/veth1
class/infiniband/rxe0 -> ../../devices/virtual/infiniband/rxe0
devices/pci0000:00/0000:00:14.0/class=0x0c0330
class/net/usb0 -> ../../devices/pci0000:00/0000:00:14.0/usb1/1-14/1-14:1.0/net/usb0
class/net/odd -> ../../devices/pci0000:00/0000:00:14.0/net/odd\n",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn virtual_functions_beside_their_physical_function_are_none() {
        let virtual_function = "devices/pci0000:00/0000:00:01.0/0000:01:00.1/class=0x020700
devices/pci0000:00/0000:00:01.0/0000:01:00.1/physfn -> ../0000:01:00.0
class/infiniband/mlx5_1 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.1/infiniband/mlx5_1\n";
        assert_eq!(devices(virtual_function).len(), 1, "a container that has only this one");
        let physical = "class/infiniband/mlx5_0 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0";
        let both = devices(&format!("{NIC}{virtual_function}{physical}\n"));
        assert_eq!(both.len(), 1);
        assert_eq!(both[0].1, "mlx5_0");
    }

    #[test]
    fn virtual_functions_of_one_port_are_one_device() {
        let function = |k: u32, physical: &str, class: &str| {
            let at = format!("devices/pci0000:00/0000:00:01.0/0000:01:00.{k}");
            format!(
                "{at}/class={class}\n{at}/vendor=0x10de\n{at}/physfn -> ../{physical}\n\
                 class/infiniband/mlx5_{k} -> ../../{at}/infiniband/mlx5_{k}\n\
                 bus/pci/devices/0000:01:00.{k} -> ../../../{at}\n"
            )
        };
        let found = |class: &str| {
            let ports = ["0000:01:00.0", "0000:01:00.0", "0000:01:00.1", "0000:01:00.0"];
            let files = (2..).zip(ports).map(|(k, port)| function(k, port, class));
            devices(&files.collect::<String>()).into_iter().map(|device| (device.0, device.1))
        };
        let nics: Vec<(DeviceKind, String)> = found("0x020700").collect();
        assert_eq!(nics, ["mlx5_2", "mlx5_4"].map(|name| (DeviceKind::Nic, name.into())));
        // Each virtual function of a GPU has a part of it.
        let gpus = found("0x030200").filter(|device| device.0 == DeviceKind::Gpu);
        assert_eq!(gpus.count(), 4);
    }

    /// The library looks for devices at the start of a launch.
    #[test]
    fn a_node_with_many_functions_is_read_at_once() {
        use std::fs;
        const FUNCTIONS: u32 = 500;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("bus/pci/devices")).unwrap();
        fs::create_dir_all(root.join("class/infiniband")).unwrap();
        for k in 0..FUNCTIONS {
            let id = format!("0000:{:02x}:{:02x}.{}", k / 256, k / 8 % 32, k % 8);
            let at = format!("devices/pci0000:00/{id}");
            fs::create_dir_all(root.join(&at)).unwrap();
            let class = if k % 50 == 0 { "0x030200\n" } else { "0x088000\n" };
            fs::write(root.join(&at).join("class"), class).unwrap();
            fs::write(root.join(&at).join("vendor"), "0x10de\n").unwrap();
            let link = root.join(format!("bus/pci/devices/{id}"));
            std::os::unix::fs::symlink(format!("../../../{at}"), link).unwrap();
            let driver = if k % 50 == 0 { "nvidia" } else { "other" };
            fs::create_dir_all(root.join("bus/pci/drivers").join(driver)).unwrap();
            let link = root.join(format!("bus/pci/drivers/{driver}/{id}"));
            std::os::unix::fs::symlink(format!("../../../../{at}"), link).unwrap();
        }
        let times = (0..5).map(|_| {
            let begin = std::time::Instant::now();
            let machine = Machine::single().with_devices_of_sysfs(root);
            assert_eq!(machine.gpus().len(), FUNCTIONS as usize / 50);
            begin.elapsed()
        });
        let best = times.min().unwrap();
        eprintln!("{FUNCTIONS} PCI functions were read in {:.2} ms", best.as_secs_f64() * 1e3);
        assert!(best.as_millis() < 500);
    }

    #[test]
    fn gpus_have_the_name_of_their_driver_or_none() {
        let mut files = String::new();
        for (bus, class, vendor) in
            [(1, "0x030200", "0x10de"), (2, "0x038000", "0x1002"), (3, "0x030000", "0x1a03")]
        {
            let at = format!("devices/pci0000:00/0000:00:0{bus}.0/0000:0{bus}:00.0");
            files += &format!(
                "{at}/class={class}\n{at}/vendor={vendor}\nclass/drm/card{bus}-DP-1 -> ../../{at}/x\n"
            );
            files += &format!("bus/pci/devices/0000:0{bus}:00.0 -> ../../../{at}\n");
            if bus == 2 {
                files += &format!("class/drm/card7 -> ../../{at}/drm/card7\n");
            }
        }
        let names: Vec<String> = devices(&files).into_iter().map(|device| device.1).collect();
        assert_eq!(names, ["0000:01:00.0", "card7"]);
    }

    proptest::proptest! {
        /// Damage gives an error or a machine with at most the device that is in the listing.
        #[test]
        fn damaged_listings_are_survived(
            at in 0usize..1000,
            cut in 0usize..40,
            put in proptest::collection::vec(proptest::sample::select(b"0129afx:.-[]/=> \n".to_vec()), 0..8),
        ) {
            let place = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0";
            let text = format!(
                "devices/system/cpu/cpu[0-3]/topology/core_cpus_list=0-1\n{NIC}class/infiniband/mlx5_0 -> ../../{place}\n"
            );
            let mut text = text.into_bytes();
            let at = at % text.len();
            let end = (at + cut).min(text.len());
            text.splice(at..end, put);
            let text = String::from_utf8(text).unwrap();
            if let Ok(machine) = Machine::from_sys_listing(&text) {
                proptest::prop_assert!(machine.devices().len() <= 1);
            }
        }
    }
}
