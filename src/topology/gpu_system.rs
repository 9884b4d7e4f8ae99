//! The topology XML of GPU systems that NCCL and RCCL read (`NCCL_TOPO_FILE`) and write (`NCCL_TOPO_DUMP_FILE`):
//! `<system><cpu numaid affinity><pci busid class><gpu dev/><nic><net name/></nic></pci></cpu></system>`.
//!
//! The files of NVIDIA and AMD systems differ in details only: the class of a GPU, links beside PCI (`nvlink`, `xgmi`,
//! `c2c`, which are left out), and how many bridges are listed. The files have no host bridges. The first entry of the
//! path of a device is therefore the CPU above it, `cpu0`, so that devices of one CPU have something in common. A file
//! without `affinity` says nothing about PUs; the sets of PUs are then empty, and [`GpuSystem::missing`] says so.
//!
//! Vendors of cloud machines ship files that list PCI functions and their classes only, without `gpu` and `net`: the
//! rest is found when the program starts. There, the class of a function tells what it is (display and 3-D controllers
//! 03xx and accelerators 12xx: GPUs; network controllers 02xx: adapters), and its name is its bus id. A function with
//! a `gpu` or `net` of its own is that device, and counts once.
//!
//! Source: `src/graph/xml.cc` and `topo.cc` of NCCL, `tools/topo_expl/models` of RCCL. The format has no document type.

use super::cpuset::CpuSet;
use super::device::{Device, DeviceKind};
use super::machine::{Division, Machine};
use super::pci::PciType;
use crate::{Error, ErrorKind, Result};
use roxmltree::{Document, Node, ParsingOptions};

/// More nodes than this in an XML text are refused; the largest systems have some hundreds.
const MAX_NODES: u32 = 1_000_000;

/// Devices below more elements than this are refused; real ones are below about eight.
const MAX_DEPTH: usize = 64;

/// More devices than this are refused.
const MAX_DEVICES: usize = 4096;

/// Longer texts of CPU sets are refused; this is enough for 8192 PUs.
const MAX_AFFINITY: usize = 4096;

/// A CPU, which is a NUMA domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuSystemCpu {
    /// Number of the NUMA domain, −1 if there is only one.
    pub numa: i64,
    /// Its PUs; empty if the file does not tell.
    pub pus: CpuSet,
}

/// The CPUs and devices of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuSystem {
    /// In the order of the file.
    pub cpus: Vec<GpuSystemCpu>,
    /// GPUs and network adapters, in the order of the file.
    pub devices: Vec<Device>,
}

impl GpuSystem {
    /// Whether an XML text is such a description: its first element is `<system>`.
    pub fn is_one(text: &str) -> bool {
        super::xml::root_element(text) == Some("system")
    }

    /// The machine, with the NUMA domains as its only level. It has no PUs if the description names none, and then only
    /// its devices are known: [`GpuSystem::missing`].
    ///
    /// Errors: the description says neither which PUs the CPUs have nor which devices there are.
    pub fn machine(self) -> Result<Machine> {
        let pus: CpuSet = self.cpus.iter().flat_map(|cpu| cpu.pus.iter()).collect();
        if pus.is_empty() && self.devices.is_empty() {
            return Err(refuse(
                "the description of the GPU system names neither the PUs of its CPUs (affinity) nor a GPU or network \
                 adapter, so that nothing is known of the machine"
                    .into(),
            ));
        }
        let sets = self.cpus.into_iter().map(|cpu| cpu.pus).collect();
        let domains = Division { name: "numa".into(), sets };
        Ok(Machine::from_divisions(&pus, vec![domains]).with_devices(self.devices))
    }

    /// What the description does not tell, and what that means; `None` if nothing is missing.
    pub fn missing(&self) -> Option<String> {
        let without: Vec<String> = (self.cpus.iter().enumerate())
            .filter(|(_, cpu)| cpu.pus.is_empty())
            .map(|(place, cpu)| if cpu.numa < 0 { place as i64 } else { cpu.numa }.to_string())
            .collect();
        match without.len() {
            0 => None,
            all if all == self.cpus.len() => Some(
                "the file has no affinity, so that the PUs and cores of the machine are not known; the devices and \
                 the nearest network adapter of each GPU are"
                    .into(),
            ),
            _ => Some(format!(
                "the file has no affinity for CPU {}: its PUs are not known, and its devices count as near to all PUs",
                without.join(", ")
            )),
        }
    }

    /// Reads a description.
    ///
    /// Errors: text that is not XML, another document, a CPU set that is none, no CPU.
    pub fn parse(text: &str) -> Result<GpuSystem> {
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..Default::default() };
        let document = Document::parse_with_options(text, options)
            .map_err(|e| refuse(format!("the description of the GPU system is not XML: {e}")))?;
        let root = document.root_element();
        if root.tag_name().name() != "system" {
            return Err(refuse(format!(
                "the description starts with <{}> instead of <system>",
                root.tag_name().name()
            )));
        }
        let mut system = GpuSystem { cpus: Vec::new(), devices: Vec::new() };
        for cpu in root.children().filter(|node| node.has_tag_name("cpu")) {
            let numa = cpu.attribute("numaid").and_then(|id| id.trim().parse().ok()).unwrap_or(-1);
            let pus = match cpu.attribute("affinity").filter(|text| !text.trim().is_empty()) {
                Some(text) => CpuSet::from_hwloc(text)
                    .filter(|_| text.len() <= MAX_AFFINITY)
                    .ok_or_else(|| {
                        refuse(format!(
                            "the affinity of CPU {numa} is not a list of hexadecimal words"
                        ))
                    })?,
                None => CpuSet::new(),
            };
            let name = format!("cpu{}", cpu.attribute("numaid").map_or("0", str::trim));
            for node in cpu.descendants().filter(is_device) {
                if system.devices.len() == MAX_DEVICES {
                    return Err(refuse(format!(
                        "the description has more than {MAX_DEVICES} devices"
                    )));
                }
                let device = device(&node, &cpu, &name, &pus)?;
                system.devices.push(device);
            }
            system.cpus.push(GpuSystemCpu { numa, pus });
        }
        match system.cpus.is_empty() {
            true => Err(refuse("the description of the GPU system has no CPU".into())),
            false => Ok(system),
        }
    }
}

/// Whether an element stands for a device: `gpu`, `net`, or a PCI function that has neither and is of their classes.
fn is_device(node: &Node) -> bool {
    match node.tag_name().name() {
        "gpu" | "net" => true,
        "pci" => kind_of_class(node).is_some() && !has_device(node),
        _ => false,
    }
}

/// Whether a PCI function has a `gpu` or `net` of its own, and not only below further functions.
fn has_device(function: &Node) -> bool {
    let mut open: Vec<Node> = function.children().collect();
    while let Some(node) = open.pop() {
        match node.tag_name().name() {
            "gpu" | "net" => return true,
            "pci" => {}
            _ => open.extend(node.children()),
        }
    }
    false
}

/// What a PCI function of this class (`0x030200`) is. Files for cloud machines have no vendor, and list what programs
/// use: every display controller and accelerator counts as a GPU then.
fn kind_of_class(function: &Node) -> Option<DeviceKind> {
    let hex = |name: &str| {
        let text = function.attribute(name)?.trim();
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        u16::from_str_radix(digits.get(..4)?, 16).ok()
    };
    let (class, vendor) = (hex("class")?, hex("vendor"));
    let pci = PciType { class, vendor: vendor.unwrap_or_default() };
    let is_gpu = match vendor {
        Some(_) => pci.is_gpu(),
        None => matches!(class, 0x0300..=0x03ff | 0x1200..=0x12ff),
    };
    match is_gpu {
        true => Some(DeviceKind::Gpu),
        false => pci.is_network().then_some(DeviceKind::Nic),
    }
}

/// Class of an Ethernet controller in the first digits of a class.
const ETHERNET: &str = "0200";

/// The device of an element `gpu`, `net` or `pci` below a CPU.
fn device(node: &Node, cpu: &Node, cpu_name: &str, pus: &CpuSet) -> Result<Device> {
    let mut path: Vec<String> = Vec::new();
    // A function that is a device itself is part of its path.
    let from = usize::from(!node.has_tag_name("pci"));
    for (depth, above) in node.ancestors().skip(from).take_while(|above| above != cpu).enumerate() {
        if above.has_tag_name("pci") {
            path.push(above.attribute("busid").unwrap_or("").trim().to_ascii_lowercase());
        }
        if depth >= MAX_DEPTH {
            return Err(refuse(format!("a device is below more than {MAX_DEPTH} bridges")));
        }
    }
    let bus_id = path.first().cloned().unwrap_or_default();
    path.push(cpu_name.to_string());
    path.reverse();
    let number = node.attribute("dev").map(str::trim);
    let of_class = if node.has_tag_name("pci") { kind_of_class(node) } else { None };
    let (kind, name) = match (node.has_tag_name("gpu"), of_class) {
        (_, Some(kind)) => (kind, name_of_function(node, kind, &bus_id)),
        (true, _) => {
            (DeviceKind::Gpu, number.map_or_else(|| bus_id.clone(), |n| format!("gpu{n}")))
        }
        (false, _) => {
            let name = node.attribute("name").map(str::trim).filter(|name| !name.is_empty());
            let name = name.map(String::from).or_else(|| number.map(|n| format!("net{n}")));
            (DeviceKind::Nic, name.unwrap_or_else(|| bus_id.clone()))
        }
    };
    Ok(Device { kind, name, bus_id, pus: pus.clone(), pci_path: path })
}

/// The name of a device that is known by its class only. Ethernet controllers are told apart, because they take the
/// traffic only where there is no fabric.
fn name_of_function(function: &Node, kind: DeviceKind, bus_id: &str) -> String {
    let class = function.attribute("class").unwrap_or("").trim().trim_start_matches("0x");
    match kind == DeviceKind::Nic && class.starts_with(ETHERNET) {
        true => format!("eth-{bus_id}"),
        false => bus_id.to_string(),
    }
}

fn refuse(what: String) -> Error {
    Error::new(ErrorKind::Format, what).advise("write one with NCCL_TOPO_DUMP_FILE=system.xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = r#"<!-- two CPUs -->
<system version="1">
  <cpu numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200"><gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:91:00.0" count="12" tclass="0x030200"/></gpu></pci>
      <pci busid="0000:12:00.0" class="0x020700"><nic><net name="mlx5_0" dev="0" speed="200000" port="1"/></nic></pci>
    </pci>
    <nic><net name="eth0" dev="2" speed="10000"/></nic>
  </cpu>
  <cpu numaid="1" affinity="0000ffff,00000000">
    <pci busid="0000:91:00.0" class="0x030200"><gpu dev="1" sm="80" rank="1" gdr="1"/></pci>
  </cpu>
</system>"#;

    #[test]
    fn devices_have_their_bridges() {
        assert!(GpuSystem::is_one(SYSTEM));
        let system = GpuSystem::parse(SYSTEM).unwrap();
        let cpus: Vec<(i64, String)> =
            system.cpus.iter().map(|c| (c.numa, c.pus.to_string())).collect();
        assert_eq!(cpus, [(0, "0-15".into()), (1, "32-47".into())]);
        let paths: Vec<(&str, String)> =
            system.devices.iter().map(|d| (d.name.as_str(), d.pci_path.join(" "))).collect();
        assert_eq!(
            paths,
            [
                ("gpu0", "cpu0 0000:10:00.0 0000:11:00.0".into()),
                ("mlx5_0", "cpu0 0000:10:00.0 0000:12:00.0".into()),
                ("eth0", "cpu0".into()),
                ("gpu1", "cpu1 0000:91:00.0".into()),
            ]
        );
        assert_eq!(system.devices[3].pus.to_string(), "32-47");
        assert_eq!(
            (system.devices[0].kind, system.devices[1].kind),
            (DeviceKind::Gpu, DeviceKind::Nic)
        );
        assert_eq!(
            (system.devices[1].bus_id.as_str(), system.devices[2].bus_id.as_str()),
            ("0000:12:00.0", "")
        );
    }

    /// The names of the GPUs with those of their nearest adapters.
    fn nearest(text: &str) -> Vec<(String, Option<String>)> {
        let machine = GpuSystem::parse(text).unwrap().machine().unwrap();
        let rails = machine.rails();
        let rail = |found: Option<(usize, _)>| found.map(|(rail, _)| rails[rail].name.clone());
        let gpus = machine.gpus().into_iter().zip(machine.rails_of_gpus());
        gpus.map(|(gpu, near)| (gpu.name.clone(), rail(near))).collect()
    }

    #[test]
    fn classes_of_pci_functions_are_devices_and_none_counts_twice() {
        let system = r#"<system><cpu numaid="0" affinity="3">
            <pci busid="ffff:ff:01.0" class="0x060400">
              <pci busid="0001:00:00.0" class="0x030200"/>
              <pci busid="0002:00:00.0" class="0x120000"><gpu dev="7"/></pci>
              <pci busid="0101:00:00.0" class="0x020700"/>
              <pci busid="0102:00:00.0" class="0x020700"><nic><net name="mlx5_1"/></nic></pci>
              <pci busid="0103:00:00.0" class="0x020000"><nic/></pci>
              <pci busid="0104:00:00.0" class="0x010802"/>
              <pci busid="0105:00:00.0" class="0x030000" vendor="0x1a03"/>
            </pci></cpu></system>"#;
        let named = |gpu: &str, nic: &str| (gpu.to_string(), Some(nic.to_string()));
        assert_eq!(
            nearest(system),
            [named("0001:00:00.0", "0101:00:00.0"), named("gpu7", "mlx5_1")]
        );
        let parsed = GpuSystem::parse(system).unwrap();
        let names: Vec<&str> = parsed.devices.iter().map(|device| device.name.as_str()).collect();
        let all = ["0001:00:00.0", "gpu7", "0101:00:00.0", "mlx5_1", "eth-0103:00:00.0"];
        assert_eq!(names, all);
        assert_eq!(parsed.devices[0].pci_path.join(" "), "cpu0 ffff:ff:01.0 0001:00:00.0");
        assert_eq!(parsed.missing(), None);
        // Where there is no fabric, the Ethernet controllers take the traffic.
        let cloud = r#"<system><cpu numaid="0">
            <pci busid="ffff:ff:01.0" class="0x060400"><pci busid="0000:10:1c.0" class="0x0302"/><pci busid="0000:10:1b.0" class="020000"/></pci>
            <pci busid="ffff:ff:02.0" class="0x060400"><pci busid="0000:20:1c.0" class="0x0302"/><pci busid="0000:20:1b.0" class="0x02"/><pci busid="0000:20:1a.0" class="0x0280"/></pci>
            </cpu></system>"#;
        assert_eq!(nearest(cloud).len(), 2);
    }

    #[test]
    fn a_file_without_affinity_is_used_for_what_it_tells() {
        let without = SYSTEM
            .replace(" affinity=\"00000000,0000ffff\"", "")
            .replace(" affinity=\"0000ffff,00000000\"", "");
        assert_eq!(nearest(&without), nearest(SYSTEM));
        let system = GpuSystem::parse(&without).unwrap();
        assert!(system.missing().unwrap().contains("no affinity"));
        assert!(system.machine().unwrap().pus().is_empty());
        let half = SYSTEM.replace(" affinity=\"0000ffff,00000000\"", "");
        let half = GpuSystem::parse(&half).unwrap();
        assert!(half.missing().unwrap().contains("for CPU 1:"), "{:?}", half.missing());
        let nothing = GpuSystem::parse("<system><cpu numaid='0'/></system>").unwrap();
        assert!(nothing.machine().unwrap_err().to_string().contains("nothing is known"));
    }

    #[test]
    fn broken_descriptions_are_refused_with_advice() {
        let deep = format!("<system><cpu>{}<gpu/>", "<pci busid='a'>".repeat(70));
        let deep = format!("{deep}{}</cpu></system>", "</pci>".repeat(70));
        for (text, what) in [
            ("", "not XML"),
            ("<topology/>", "<topology>"),
            ("<system/>", "no CPU"),
            ("<system><cpu affinity='x'/></system>", "affinity"),
            (&deep, "64 bridges"),
        ] {
            let error = GpuSystem::parse(text).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("NCCL_TOPO_DUMP_FILE"), "{error}");
        }
        assert!(!GpuSystem::is_one("<topology/>") && !GpuSystem::is_one(""));
    }
}
