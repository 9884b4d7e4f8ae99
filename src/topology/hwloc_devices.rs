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
    path: Vec<String>,
    local: Option<Node<'a, 'i>>,
    function: Option<usize>,
}

/// The devices of a document whose root element is this; in the order of the document. `is_version_3` says how
/// kinds of `OSDev` are numbered.
pub(super) fn devices(root: Node<'_, '_>, is_version_3: bool) -> Vec<Device> {
    let functions = functions(root, is_version_3);
    let is_real = |function: &&Function<'_>| !function.is_virtual;
    // The virtual functions of an adapter have its bus, or the next one.
    let beside = |function: &Function<'_>| {
        functions.iter().filter(is_real).any(|real| {
            real.pci.vendor == function.pci.vendor
                && real.path.len() == function.path.len()
                && real.path[..real.path.len() - 1] == function.path[..function.path.len() - 1]
        })
    };
    let kept = functions.iter().filter(|function| !function.is_virtual || !beside(function));
    kept.filter_map(device).collect()
}

/// The PCI functions in the order of the document. One pass, so that deep nesting takes linear time.
fn functions<'a>(root: Node<'a, '_>, is_version_3: bool) -> Vec<Function<'a>> {
    let mut functions: Vec<Function<'a>> = Vec::new();
    let mut open = vec![Visit { node: root, path: Vec::new(), local: None, function: None }];
    while let Some(Visit { node, mut path, mut local, mut function }) = open.pop() {
        match node.attribute("type") {
            Some("Bridge") => {
                // A host bridge has no address of its own, only the buses behind it.
                let behind = || {
                    let (domain, buses) = node.attribute("bridge_pci")?.rsplit_once(":[")?;
                    bus_id(&format!("{domain}:{}", buses.split('-').next()?))
                };
                let own = node.attribute("pci_busid").and_then(bus_id).or_else(behind);
                path.extend(own);
                function = None;
            }
            Some("PCIDev") => {
                function = read_function(&node, &path, local).map(|read| {
                    path.clone_from(&read.path);
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
        open.extend(children.map(|node| Visit { node, path: path.clone(), local, function }));
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
