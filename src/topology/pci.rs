//! PCI addresses and classes, as hwloc and `/sys` write them.
//!
//! A bus id is the address of a PCI function. Its class and vendor tell what it is for, where no driver has given
//! it a name.

/// A PCI address in the form that Linux writes, `0000:c1:00.0`, or the bus of a host bridge, `0000:c0`.
/// The domain may be missing. `None` if the text is neither.
pub fn bus_id(text: &str) -> Option<String> {
    let mut parts: Vec<&str> = text.trim().split(':').collect();
    let hex = |text: &str, most_digits: usize, most: u32| {
        let fits = (1..=most_digits).contains(&text.len());
        let digits = text.chars().all(|c| c.is_ascii_hexdigit());
        (fits && digits)
            .then(|| u32::from_str_radix(text, 16).ok())
            .flatten()
            .filter(|&n| n <= most)
    };
    let function = match parts.last()?.split_once('.') {
        Some((device, function)) => {
            parts.pop();
            Some((hex(device, 2, 0x1f)?, hex(function, 1, 7)?))
        }
        None => None,
    };
    let (domain, bus) = match parts[..] {
        [domain, bus] => (hex(domain, 8, u32::MAX)?, bus),
        [bus] if function.is_some() => (0, bus),
        _ => return None,
    };
    let bus = hex(bus, 2, 0xff)?;
    Some(match function {
        Some((device, function)) => format!("{domain:04x}:{bus:02x}:{device:02x}.{function}"),
        None => format!("{domain:04x}:{bus:02x}"),
    })
}

/// Whether a bus id of a path is that of a PCI function, and not that of a host bridge.
pub(super) fn is_function(bus_id: &str) -> bool {
    bus_id.contains('.')
}

/// Class and vendor of a PCI function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PciType {
    /// Class and subclass: `0x0302` is a 3-D controller.
    pub class: u16,
    /// Vendor.
    pub vendor: u16,
}

/// Vendors of display adapters that compute nothing: management controllers of servers, and adapters that
/// hypervisors emulate (ASPEED, Matrox, Huawei, Silicon Motion, XGI, Nuvoton; virtio, Red Hat, Cirrus, Bochs,
/// VMware, Microsoft, VirtualBox, Parallels, Amazon).
const DISPLAYS_ONLY: [u16; 15] = [
    0x1a03, 0x102b, 0x19e5, 0x126f, 0x18ca, 0x1050, 0x1af4, 0x1b36, 0x1013, 0x1234, 0x15ad, 0x1414,
    0x80ee, 0x1ab8, 0x1d0f,
];

/// AMD and Habana, whose accelerators have the class of a "processing accelerator". Devices of other vendors with
/// this class do not run programs of users.
const ACCELERATORS: [u16; 2] = [0x1002, 0x1da3];

impl PciType {
    /// Whether this is a GPU, judged without a driver's name for it: display and 3-D controllers (03xx) and
    /// accelerators (1200).
    pub fn is_gpu(self) -> bool {
        match self.class {
            0x0300..=0x03ff => !DISPLAYS_ONLY.contains(&self.vendor),
            0x1200 => ACCELERATORS.contains(&self.vendor),
            _ => false,
        }
    }

    /// Whether this is a network controller (02xx). Interfaces of other functions are adapters on USB, such as
    /// those of management controllers.
    pub fn is_network(self) -> bool {
        self.class >> 8 == 0x02
    }
}

/// The fields of a bus id as a number that has their order.
pub(super) fn number(bus_id: &str) -> u64 {
    let digits = bus_id.chars().filter_map(|c| c.to_digit(16));
    digits.fold(0, |number, digit| number << 4 | u64::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_form() {
        for (text, id) in [
            ("0000:C1:00.0", "0000:c1:00.0"),
            ("c1:00.1", "0000:c1:00.1"),
            ("00000000:07:00.0", "0000:07:00.0"),
            ("10000:01:1f.7", "10000:01:1f.7"),
            ("0001:a0", "0001:a0"),
        ] {
            assert_eq!(bus_id(text).as_deref(), Some(id));
        }
        let wrong = [
            "",
            "c1",
            "0000",
            ":",
            "00:00:00:00.0",
            "0000:c1:20.0",
            "0:1:2.8",
            "0000:+1:00.0",
            "é:0.0",
        ];
        for text in wrong {
            assert_eq!(bus_id(text), None, "{text}");
        }
    }

    #[test]
    fn display_adapters_of_management_controllers_are_no_gpus() {
        let is_gpu = |class, vendor| PciType { class, vendor }.is_gpu();
        assert!(is_gpu(0x0302, 0x10de) && is_gpu(0x0380, 0x1002) && is_gpu(0x0380, 0x8086));
        assert!(is_gpu(0x1200, 0x1002) && !is_gpu(0x1200, 0x8086));
        assert!(!is_gpu(0x0300, 0x1a03) && !is_gpu(0x0300, 0x1af4) && !is_gpu(0x0200, 0x15b3));
    }
}
