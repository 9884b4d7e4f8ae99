//! The topology XML of GPU systems that NCCL and RCCL read (`NCCL_TOPO_FILE`) and write (`NCCL_TOPO_DUMP_FILE`):
//! `<system><cpu numaid affinity><pci busid class><gpu dev/><nic><net name/></nic></pci></cpu></system>`.
//!
//! The files of NVIDIA and AMD systems differ in details only: the class of a GPU, links beside PCI (`nvlink`, `xgmi`,
//! `c2c`, which are left out), and how many bridges are listed. The files have no host bridges. The first entry of the
//! path of a device is therefore the CPU above it, `cpu0`, so that devices of one CPU have something in common. A file
//! without `affinity` says nothing about PUs; the sets of PUs are then empty.
//!
//! Source: `src/graph/xml.cc` and `topo.cc` of NCCL, `tools/topo_expl/models` of RCCL. The format has no document type.

use super::cpuset::CpuSet;
use super::device::{Device, DeviceKind};
use super::machine::{Division, Machine};
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

    /// The machine, with the NUMA domains as its only level.
    ///
    /// Errors: the description does not say which PUs the CPUs have.
    pub fn machine(self) -> Result<Machine> {
        let pus: CpuSet = self.cpus.iter().flat_map(|cpu| cpu.pus.iter()).collect();
        if pus.is_empty() {
            return Err(refuse(
                "the description of the GPU system names no PUs of its CPUs".into(),
            )
            .advise(
                "give a file whose CPUs have an affinity, such as one that NCCL writes \
                         (NCCL_TOPO_DUMP_FILE)",
            ));
        }
        let sets = self.cpus.into_iter().map(|cpu| cpu.pus).collect();
        let domains = Division { name: "numa".into(), sets };
        Ok(Machine::from_divisions(&pus, vec![domains]).with_devices(self.devices))
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
            for node in cpu.descendants().filter(|n| n.has_tag_name("gpu") || n.has_tag_name("net"))
            {
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

/// The device of an element `gpu` or `net` below a CPU.
fn device(node: &Node, cpu: &Node, cpu_name: &str, pus: &CpuSet) -> Result<Device> {
    let mut path: Vec<String> = Vec::new();
    for (depth, above) in node.ancestors().skip(1).take_while(|above| above != cpu).enumerate() {
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
    let (kind, name) = match node.has_tag_name("gpu") {
        true => (DeviceKind::Gpu, number.map_or_else(|| bus_id.clone(), |n| format!("gpu{n}"))),
        false => {
            let name = node.attribute("name").map(str::trim).filter(|name| !name.is_empty());
            let name = name.map(String::from).or_else(|| number.map(|n| format!("net{n}")));
            (DeviceKind::Nic, name.unwrap_or_else(|| bus_id.clone()))
        }
    };
    Ok(Device { kind, name, bus_id, pus: pus.clone(), pci_path: path })
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
