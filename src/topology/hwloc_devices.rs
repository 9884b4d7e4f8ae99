//! GPUs and network adapters in hwloc's XML: its I/O objects, of versions 1, 2 and 3.
//!
//! A `PCIDev` is a PCI function, and its `Bridge` ancestors are the path to it. The `OSDev` objects below it are
//! the names that drivers give it. The nearest object around these that has PUs tells which PUs are local.
//! The numbers of the kinds of `OSDev` are those of hwloc.h: an enumeration up to version 2, bits since version 3.
//!
//! Limits: a PCI function below more than [`MOST_BRIDGES`] bridges is left out. hwloc does not say whether an
//! adapter is connected.

use super::cpuset::CpuSet;
use super::device::{Device, DeviceKind, MOST_DEVICES, is_name};
use super::pci::{PciType, bus_id};
use roxmltree::Node;
use std::collections::HashSet;
use std::rc::Rc;

/// More bridges than this are not above a PCI function; real machines have at most ten.
const MOST_BRIDGES: usize = 64;

/// Beginnings of the names of GPUs that are in libraries for programs, the one that gives the name first:
/// CUDA, ROCm SMI, Level Zero, NVML, OpenCL, and Linux' own names.
const GPU_NAMES: [&str; 8] = ["cuda", "rsmi", "ze", "nvml", "opencl", "gpu", "render", "card"];

/// How many of [`GPU_NAMES`] prove that the function is a GPU. Display adapters have the others as well.
const PROOFS: usize = 6;

/// The kind of an `OSDev`, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Os {
    Gpu,
    Network,
    OpenFabrics,
}

/// A PCI function, with what is known of it.
struct Function<'a> {
    bus_id: String,
    pci: PciType,
    /// The bus ids above and its own.
    path: Vec<String>,
    pus: CpuSet,
    /// The name of the model says that this is a virtual function, which shares the port of another function.
    is_virtual: bool,
    names: Vec<(Os, &'a str)>,
}

/// An object whose children are to be visited: the bus ids above them, the PUs around them, and the
/// PCI function that they belong to.
struct Visit<'a, 'i> {
    node: Node<'a, 'i>,
    path: Rc<Vec<String>>,
    local: Option<Node<'a, 'i>>,
    function: Option<usize>,
}

/// The devices of a document whose root element is this; in the order of the document. `is_version_3` says how
/// kinds of `OSDev` are numbered.
pub(super) fn devices(root: Node<'_, '_>, is_version_3: bool) -> Vec<Device> {
    let functions = functions(root, is_version_3);
    // Virtual functions hang below the same bridge as their physical function.
    let card = |function: &Function<'_>| {
        let above = &function.path[..function.path.len().saturating_sub(1)];
        (function.pci.vendor, above.to_vec())
    };
    let real: HashSet<_> =
        functions.iter().filter(|function| !function.is_virtual).map(card).collect();
    let kept =
        functions.iter().filter(|function| !function.is_virtual || !real.contains(&card(function)));
    kept.filter_map(device).collect()
}

/// The PCI functions in the order of the document. One pass, so that deep nesting takes linear time.
fn functions<'a>(root: Node<'a, '_>, is_version_3: bool) -> Vec<Function<'a>> {
    let mut functions: Vec<Function<'a>> = Vec::new();
    let mut open = vec![Visit { node: root, path: Rc::default(), local: None, function: None }];
    while let Some(Visit { node, mut path, mut local, mut function }) = open.pop() {
        match node.attribute("type") {
            Some("Bridge") => {
                // A host bridge has no address of its own, only the buses behind it.
                let behind = || {
                    let (domain, buses) = node.attribute("bridge_pci")?.rsplit_once(":[")?;
                    bus_id(&format!("{domain}:{}", buses.split('-').next()?))
                };
                let own = node.attribute("pci_busid").and_then(bus_id).or_else(behind);
                Rc::make_mut(&mut path).extend(own);
                function = None;
            }
            Some("PCIDev") => {
                function = read_function(&node, &path, local).map(|read| {
                    path = Rc::new(read.path.clone());
                    functions.push(read);
                    functions.len() - 1
                });
            }
            Some("OSDev") => {
                let found = function.and_then(|at| functions.get_mut(at));
                if let (Some(function), Some(name)) = (found, os_device(&node, is_version_3)) {
                    function.names.push(name);
                }
            }
            _ if node.has_attribute("cpuset") => local = Some(node),
            _ => {}
        }
        if path.len() > MOST_BRIDGES || functions.len() > MOST_DEVICES * 8 {
            continue;
        }
        let children = node.children().filter(|child| child.has_tag_name("object"));
        let at = open.len();
        open.extend(children.map(|node| Visit { node, path: Rc::clone(&path), local, function }));
        open[at..].reverse();
    }
    functions
}

/// The function of a `PCIDev` object; `None` if it has no address.
fn read_function<'a>(
    node: &Node<'a, '_>,
    above: &[String],
    local: Option<Node<'a, '_>>,
) -> Option<Function<'a>> {
    let bus_id = node.attribute("pci_busid").and_then(bus_id)?;
    let cpuset = local.and_then(|object| CpuSet::from_hwloc(object.attribute("cpuset")?));
    let model = |info: &Node<'_, '_>| {
        info.has_tag_name("info")
            && info.attribute("name") == Some("PCIDevice")
            && info.attribute("value").is_some_and(|value| value.contains("Virtual Function"))
    };
    Some(Function {
        path: above.iter().chain([&bus_id]).cloned().collect(),
        bus_id,
        pci: pci_type(node.attribute("pci_type").unwrap_or_default()),
        pus: cpuset.unwrap_or_default(),
        is_virtual: node.children().any(|child| model(&child)),
        names: Vec::new(),
    })
}

/// Class and vendor of `0302 [10de:20b0] [10de:1463] a1`; zeros if the text is not so.
fn pci_type(text: &str) -> PciType {
    let mut words = text.split_whitespace();
    let hex = |word: &str| u16::from_str_radix(word, 16).ok();
    let class = words.next().and_then(hex);
    let vendor = words.next().and_then(|word| hex(word.strip_prefix('[')?.split(':').next()?));
    PciType { class: class.unwrap_or(0), vendor: vendor.unwrap_or(0) }
}

/// Kind and name of an `OSDev` object; `None` for other kinds and for objects without a name.
fn os_device<'a>(node: &Node<'a, '_>, is_version_3: bool) -> Option<(Os, &'a str)> {
    let kind: u64 = node.attribute("osdev_type")?.parse().ok()?;
    let name = node.attribute("name").filter(|name| is_name(name))?;
    let kind = if is_version_3 {
        // Storage 1, memory 2, GPU 4, co-processor 8, network 16, OpenFabrics 32, DMA 64. A device may be several.
        [(32, Os::OpenFabrics), (16, Os::Network), (12, Os::Gpu)]
            .into_iter()
            .find_map(|(bits, os)| (kind & bits != 0).then_some(os))?
    } else {
        match kind {
            1 | 5 => Os::Gpu,
            2 => Os::Network,
            3 => Os::OpenFabrics,
            _ => return None,
        }
    };
    Some((kind, name))
}

/// The device that a PCI function is, if it is one.
fn device(function: &Function<'_>) -> Option<Device> {
    let named = |os: Os| function.names.iter().filter(move |name| name.0 == os).map(|name| name.1);
    let begins = |prefix: &&str| {
        let is_it = |name: &&str| {
            name.strip_prefix(*prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
                || *prefix == "render" && name.starts_with("renderD")
        };
        named(Os::Gpu).find(is_it)
    };
    let proven = GPU_NAMES[..PROOFS].iter().find_map(begins);
    let name = proven.or_else(|| GPU_NAMES[PROOFS..].iter().find_map(begins));
    let of_network = || named(Os::Network).find(|_| function.pci.is_network());
    let nic = named(Os::OpenFabrics).next().or_else(of_network).filter(|&name| name != "lo");
    let (kind, name) = if proven.is_some() || function.pci.is_gpu() {
        (DeviceKind::Gpu, name.unwrap_or(&function.bus_id))
    } else {
        (DeviceKind::Nic, nic?)
    };
    Some(Device {
        kind,
        name: name.into(),
        bus_id: function.bus_id.clone(),
        pus: function.pus.clone(),
        pci_path: function.path.clone(),
    })
}

#[cfg(test)]
mod tests {
    use crate::topology::{DeviceKind, Machine};

    const MACHINE: &str = r#"<object type="Machine" cpuset="0x3"><object type="Package" cpuset="0x1"><object type="PU" os_index="0"/>"#;
    const REST: &str = r#"</object><object type="Package" cpuset="0x2"><object type="PU" os_index="1"/></object></object></topology>"#;

    /// The machine with these objects in its first package.
    fn machine(version: &str, objects: &str) -> Machine {
        let text = format!("<topology version=\"{version}\">{MACHINE}{objects}{REST}");
        Machine::from_hwloc_xml(&text).unwrap()
    }

    fn names(machine: &Machine) -> Vec<(DeviceKind, &str, String)> {
        let devices = machine.devices().iter();
        devices.map(|d| (d.kind, d.name.as_str(), d.pus.to_string())).collect()
    }

    fn function(id: &str, pci: &str, inside: &str) -> String {
        format!("<object type=\"PCIDev\" pci_busid=\"{id}\" pci_type=\"{pci}\">{inside}</object>")
    }

    fn os(kind: u32, name: &str) -> String {
        format!("<object type=\"OSDev\" osdev_type=\"{kind}\" name=\"{name}\"/>")
    }

    #[test]
    fn kinds_of_devices_have_other_numbers_in_version_3() {
        let both = |kind_2: u32, kind_3: u32, pci: &str, name: &str| {
            let found = ["2.0", "3.0"].map(|version| {
                let kind = if version == "3.0" { kind_3 } else { kind_2 };
                let machine = machine(version, &function("0000:01:00.0", pci, &os(kind, name)));
                machine.devices().first().map(|device| (device.kind, device.name.clone()))
            });
            assert_eq!(found[0], found[1]);
            found[0].clone().map(|(kind, _)| kind)
        };
        assert_eq!(both(3, 32, "0207 [15b3:1]", "mlx5_0"), Some(DeviceKind::Nic));
        assert_eq!(both(2, 16, "0200 [8086:1]", "eth0"), Some(DeviceKind::Nic));
        assert_eq!(both(5, 12, "1200 [1002:1]", "rsmi0"), Some(DeviceKind::Gpu));
        assert_eq!(both(0, 1, "0108 [144d:1]", "nvme0n1"), None);
        assert_eq!(both(6, 2, "0502 [8086:1]", "mem0"), None, "memory is no network");
    }

    #[test]
    fn the_path_and_the_local_pus_are_those_around() {
        let inner = function("0000:02:00.0", "0302 [10de:1]", &os(5, "cuda0"));
        let bridges = format!(
            "<object type=\"Bridge\" bridge_pci=\"0000:[00-02]\"><object type=\"Bridge\" \
             pci_busid=\"0000:00:01.0\" bridge_pci=\"0000:[02-02]\">{inner}</object></object>"
        );
        let machine = machine("2.0", &bridges);
        assert_eq!(names(&machine), [(DeviceKind::Gpu, "cuda0", "0".to_string())]);
        assert_eq!(machine.devices()[0].pci_path, ["0000:00", "0000:00:01.0", "0000:02:00.0"]);
    }

    #[test]
    fn names_without_a_function_and_functions_without_an_address_are_none() {
        let nic = os(3, "mlx5_0");
        for objects in [
            nic.clone(),
            function("", "0207 [15b3:1]", &nic),
            function("01:00", "0207 [15b3:1]", &nic),
            function("0000:01:00.0", "0207 [15b3:1]", ""),
            function("0000:01:00.0", "0207 [15b3:1]", &os(3, "")),
            function("0000:01:00.0", "0207 [15b3:1]", &os(3, "a b")),
            function("0000:01:00.0", "0c03 [8086:1]", &os(2, "usb0")),
            // The name belongs to another function: one that is a bridge away.
            function(
                "0000:01:00.0",
                "0207 [15b3:1]",
                &format!("<object type=\"Bridge\">{nic}</object>"),
            ),
        ] {
            assert!(machine("2.0", &objects).devices().is_empty(), "{objects}");
        }
        let twice = function("0000:01:00.0", "0207 [15b3:1]", &nic).repeat(2);
        assert_eq!(machine("2.0", &twice).devices().len(), 1);
    }

    #[test]
    fn deep_bridges_end() {
        let many = "<object type='Bridge' pci_busid='0000:01:00.0'>";
        let nic = function("0000:02:00.0", "0207 [15b3:1]", &os(3, "mlx5_0"));
        for (depth, devices) in [(10, 1), (3000, 0)] {
            let objects = format!("{}{nic}{}", many.repeat(depth), "</object>".repeat(depth));
            assert_eq!(machine("2.0", &objects).devices().len(), devices);
        }
    }

    proptest::proptest! {
        /// Damage gives an error or a machine with at most the devices that are in the text.
        #[test]
        fn damaged_devices_are_survived(
            at in 0usize..2000,
            cut in 0usize..40,
            put in proptest::collection::vec(proptest::sample::select(b"0129af:.-[]<>/\"= PCIDev".to_vec()), 0..8),
        ) {
            let objects = function("0000:01:00.0", "0302 [10de:1]", &os(5, "cuda0"))
                + &function("0000:02:00.0", "0207 [15b3:1]", &os(3, "mlx5_0"));
            let mut text = format!(
                "<topology version=\"2.0\">{MACHINE}<object type=\"Bridge\" bridge_pci=\"0000:[00-02]\">{objects}</object>{REST}"
            ).into_bytes();
            let at = at % text.len();
            let end = (at + cut).min(text.len());
            text.splice(at..end, put);
            let text = String::from_utf8(text).unwrap();
            if let Ok(machine) = Machine::from_hwloc_xml(&text) {
                proptest::prop_assert!(machine.devices().len() <= 2);
                proptest::prop_assert!(machine.rails_of_gpus().len() <= 2);
            }
        }
    }
}
