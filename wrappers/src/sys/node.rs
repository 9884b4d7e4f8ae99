//! The node of this process: its name, its topology, and the PUs that this process may use.

use crate::sys::hwloc;
use rw::base::hash::Fnv1a;
use rw::topology::Machine;

/// The hash of these bytes.
pub fn hash_of(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut hash = Fnv1a::default();
    bytes.for_each(|byte| hash.bytes(&[byte]));
    hash.value()
}

/// A number that is the same in all processes of a node, and differs between nodes.
pub fn identity() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let name = host_name();
    hash_of(boot.into_iter().chain(*b"/").chain(name.bytes()))
}

/// This node's topology: from hwloc if its library is installed, else from /sys, else with a single level. The
/// devices are those of /sys, unless hwloc reads the machine from a file.
pub fn machine() -> Machine {
    let sys = std::path::Path::new("/sys");
    let of_hwloc = hwloc::export_xml().and_then(|xml| Machine::from_hwloc_xml(&xml).ok());
    match of_hwloc {
        Some(machine) if std::env::var_os(hwloc::XML_FILE).is_some() => machine,
        Some(machine) => machine.with_devices_of_sysfs(sys),
        None => Machine::from_sysfs(sys).unwrap_or_else(|_| Machine::single()),
    }
}

/// Bytes of the longest mask of PUs.
pub const MOST_AFFINITY: usize = 8 * 1024;

/// The PUs this process may run on, as a bit mask.
pub fn affinity() -> Vec<u64> {
    for words in [16usize, 128, MOST_AFFINITY / 8] {
        let mut mask = vec![0u64; words];
        // SAFETY: a buffer of this many bytes; the raw call returns how many were written.
        let written =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, words * 8, mask.as_mut_ptr()) };
        if written > 0 {
            mask.truncate((written as usize).div_ceil(8));
            while mask.last() == Some(&0) {
                mask.pop();
            }
            return mask;
        }
    }
    Vec::new()
}

/// Name of this node.
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: a buffer of this length; the last byte stays zero.
    let code = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&b| b == 0).unwrap_or(0);
    if code == 0 { String::from_utf8_lossy(&name[..end]).into_owned() } else { String::new() }
}
