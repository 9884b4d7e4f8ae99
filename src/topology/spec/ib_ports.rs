//! The report of all ports that `ibnetdiscover -p` prints, one line for each port:
//! `CA 21 1 0x0002c903000e0b72 4x HDR - SW 2 14 0x0002c902004885b0 ( 'n1 HCA-1' - 'leaf1' )`.
//!
//! The identifier of a switch is the same at all its ports. That of an adapter belongs to one port, and the ports of
//! a host are found by the name in the description. A line of a port that is not connected has no second half. If no
//! description names a host, each port of an adapter is called by its identifier.

use super::wiring::Wiring;
use super::{ib_description, in_line};
use crate::Result;
use std::collections::{HashMap, HashSet};

/// Whether a text is such a report: its first line with a word is the line of a port.
pub(super) fn is_report(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        matches!(words[..], ["CA" | "SW" | "RT", _, _, guid] if guid.starts_with("0x"))
    })
}

pub(super) fn parse(text: &str) -> Result<Wiring> {
    let wiring = parse_by(text, |_, name| ib_description::host(name))?;
    if wiring.count_hosts() > 0 {
        return Ok(wiring);
    }
    let by_guid = |guid: &str, name: &str| {
        let is_host = !ib_description::is_aggregation_node(name);
        is_host.then(|| format!("H-{}", guid.trim_start_matches("0x")))
    };
    let mut wiring = parse_by(text, by_guid)?;
    wiring.nameless();
    Ok(wiring)
}

/// The fabric, where `host` is the name of the host of an adapter by the identifier and the description of its port.
fn parse_by(text: &str, host: impl Fn(&str, &str) -> Option<String>) -> Result<Wiring> {
    let mut wiring = Wiring::default();
    let mut switches: HashMap<String, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for (number, line) in text.lines().enumerate() {
        let at = number + 1;
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let left: Vec<&str> = left.split_whitespace().collect();
        if !matches!(left.first(), Some(&("CA" | "SW" | "RT"))) {
            continue;
        }
        let (right, names) = right
            .split_once('(')
            .ok_or_else(|| in_line(at, "the line of a port has no descriptions in parentheses"))?;
        let right: Vec<&str> = right.split_whitespace().collect();
        let (&[kind_a, _, port_a, guid_a, ..], &[kind_b, _, port_b, guid_b, ..]) =
            (&left[..], &right[..])
        else {
            return Err(in_line(
                at,
                "the line of a port is not `TYPE LID PORT GUID WIDTH SPEED - TYPE LID PORT GUID`",
            ));
        };
        let names = names.trim().trim_end_matches(')').trim();
        let (name_a, name_b) = names.split_once("' - '").unwrap_or((names, ""));
        let mut vertex = |kind: &str, guid: &str, name: &str| match kind {
            "CA" => host(guid, name.trim_matches('\'')).map(|host| wiring.host(&host)),
            _ => Some(*switches.entry(guid.to_string()).or_insert_with(|| wiring.switch())),
        };
        let ends = (vertex(kind_a, guid_a, name_a), vertex(kind_b, guid_b, name_b));
        let mut key =
            [(guid_a.to_string(), port_a.to_string()), (guid_b.to_string(), port_b.to_string())];
        key.sort_unstable();
        if let (Some(a), Some(b)) = ends
            && seen.insert(key)
        {
            wiring.link(a, b, ib_description::bandwidth(&left[4..].join(" ")));
        }
    }
    Ok(wiring)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    const REPORT: &str = "\
SW     2 14 0x00000000000000a1 4x HDR - CA    21  1 0x0000000000000001 ( 'leaf1' - 'n1 HCA-1' )
SW     2 15 0x00000000000000a1 4x HDR - CA    22  1 0x0000000000000002 ( 'leaf1' - 'n2 mlx5_0' )
SW     2 16 0x00000000000000a1 4x SDR                                    'leaf1'
SW     2 17 0x00000000000000a1 4x NDR - SW     3 17 0x00000000000000a2 ( 'leaf1' - 'leaf2' )
SW     2 41 0x00000000000000a1 4x HDR - CA    29  1 0x0000000000000009 ( 'leaf1' - 'Mellanox Technologies Aggregation Node' )
CA    21  1 0x0000000000000001 4x HDR - SW     2 14 0x00000000000000a1 ( 'n1 HCA-1' - 'leaf1' )
CA    23  1 0x0000000000000003 4x HDR - SW     3  1 0x00000000000000a2 ( 'n1 HCA-2' - 'leaf2' )
CA    24  1 0x0000000000000004 4x HDR - SW     3  2 0x00000000000000a2 ( 'n3 HCA-1' - 'leaf2' )
";

    #[test]
    fn ports_of_a_host_are_one_slot() {
        assert!(is_report(REPORT) && !is_report("Switch 8 \"S-1\"\n") && !is_report(""));
        let net = parse(REPORT).unwrap().build(String::new(), &[]).unwrap();
        let names: Vec<_> = (0..net.slots()).filter_map(|s| net.slot_name(s)).collect();
        assert_eq!(names, ["n1", "n2", "n3"]);
        assert_eq!((net.distance(0, 2), net.distance(1, 2)), (2, 3));
        let network = net.network().unwrap();
        let mut seen = Vec::new();
        network.route(1, 2, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [200.0, 400.0, 200.0]);
    }

    #[test]
    fn a_report_without_names_of_hosts_is_read() {
        let text = REPORT.replace("n1 HCA-1", "MT25408 ConnectX Mellanox Technologies");
        let text = ["n2 mlx5_0", "n1 HCA-2", "n3 HCA-1"]
            .iter()
            .fold(text, |text, name| text.replace(name, "localhost HCA-1"));
        let net = parse(&text).unwrap().build(String::new(), &[]).unwrap();
        assert_eq!((net.slots(), net.slot_name(0)), (4, Some("H-0000000000000001")));
        assert!(net.nameless() && net.distance(0, 1) == 2 && net.distance(0, 2) == 3);
    }

    #[test]
    fn wrong_lines_are_named() {
        for text in ["CA 1 1 0x1 4x HDR - SW 2 3 0x2", "CA 1 - SW ( 'a' - 'b' )"] {
            assert!(parse(text).err().unwrap().to_string().contains("line 1"), "{text}");
        }
    }
}
