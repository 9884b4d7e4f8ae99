//! InfiniBand fabrics as `ibnetdiscover` prints them. Slots are hosts.
//!
//! Every adapter (`Ca`) belongs to a host. Adapters whose descriptions start with the same name (`"n101
//! HCA-1"`, `"n101 HCA-2"`) belong to one host with several links. Routers count as switches. The
//! bandwidth of a link follows from its width and speed (`4xHDR`), in Gbit/s; it is 1 where they are
//! missing.

use super::{in_file, in_line, read_text};
use crate::base::numbering::by_first_appearance;
use crate::topology::{NetworkGraph, Topology};
use crate::{Error, ErrorKind, Result};
use std::collections::{HashMap, HashSet};

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    let network = parse(&read_text(path)?, format!("ib:{path}"));
    Ok(Box::new(network.map_err(|e| in_file(e, path))?))
}

/// Collects vertices by their quoted identifiers.
#[derive(Default)]
struct Fabric {
    /// Number of each adapter or switch.
    devices: HashMap<String, usize>,
    /// Host name of an adapter, `None` for a switch.
    hosts: Vec<Option<String>>,
    links: HashSet<[(usize, u32); 2]>,
    speeds: Vec<(usize, usize, f64)>,
}

impl Fabric {
    fn device(&mut self, id: &str, comment: Option<&str>) -> usize {
        let next = self.hosts.len();
        let number = *self.devices.entry(id.to_string()).or_insert(next);
        if number == next {
            self.hosts.push(None);
        }
        if id.starts_with("H-") {
            let name = comment.and_then(|text| text.split_whitespace().next());
            let host = &mut self.hosts[number];
            if host.is_none() || name.is_some() {
                *host = Some(name.unwrap_or(id).to_string());
            }
        }
        number
    }
}

/// The text between the first two quotes, and the text after them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

fn parse(text: &str, label: String) -> Result<NetworkGraph> {
    let mut fabric = Fabric::default();
    let mut current = None;
    for (number, line) in text.lines().enumerate() {
        let at = number + 1;
        let line = line.trim();
        let head = line.split_whitespace().next().unwrap_or("");
        if let "Switch" | "Ca" | "Rt" = head {
            let (id, rest) =
                quoted(line).ok_or_else(|| in_line(at, format!("{head} has no \"identifier\"")))?;
            current = Some(fabric.device(id, quoted(rest).map(|(name, _)| name)));
        } else if let Some(port) = line.strip_prefix('[') {
            let own = current.ok_or_else(|| {
                in_line(
                    at,
                    "a line of a port stands before the first \
                                                         line of a Switch or Ca",
                )
            })?;
            let port_number = |text: &str| {
                let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<u32>().map_err(|_| in_line(at, "a port has no number"))
            };
            let own_port = port_number(port)?;
            let (id, rest) = quoted(port)
                .ok_or_else(|| in_line(at, "a port has no \"identifier\" of a peer"))?;
            let peer_port = port_number(rest.trim_start().trim_start_matches('['))?;
            let (facts, comment) = rest.split_once('#').unwrap_or((rest, ""));
            let peer = fabric.device(id, quoted(comment).map(|(name, _)| name));
            let mut ends = [(own, own_port), (peer, peer_port)];
            ends.sort_unstable();
            if fabric.links.insert(ends) {
                let speed = comment.split_whitespace().chain(facts.split_whitespace());
                fabric.speeds.push((own, peer, speed.filter_map(gbits).next().unwrap_or(1.0)));
            }
        }
    }
    build(fabric, label)
}

/// The bandwidth of `4xHDR` in Gbit/s.
fn gbits(word: &str) -> Option<f64> {
    let (width, speed) = word.trim_matches(['(', ')', ',']).split_once('x')?;
    let lane = match speed {
        "SDR" => 2.0,
        "DDR" => 4.0,
        "QDR" => 8.0,
        "FDR10" => 10.0,
        "FDR" => 13.64,
        "EDR" => 25.0,
        "HDR" => 50.0,
        "NDR" => 100.0,
        "XDR" => 200.0,
        _ => return None,
    };
    Some(width.parse::<u32>().ok().filter(|&w| w > 0)? as f64 * lane)
}

/// Numbers hosts in the order of their first adapter, then the switches.
fn build(fabric: Fabric, label: String) -> Result<NetworkGraph> {
    let hosts = fabric.hosts.iter().flatten().map(String::as_str);
    let (slots, names) = by_first_appearance(hosts);
    if names.is_empty() {
        return Err(Error::new(ErrorKind::Format, "the fabric has no hosts (lines `Ca …`)"));
    }
    let (mut slots, mut switches) = (slots.into_iter(), names.len() as u32..);
    let vertex: Vec<u32> = fabric
        .hosts
        .iter()
        .filter_map(|host| if host.is_some() { slots.next() } else { switches.next() })
        .collect();
    let vertices = names.len() + fabric.hosts.iter().filter(|host| host.is_none()).count();
    let links: Vec<(u32, u32, f64)> =
        fabric.speeds.iter().map(|&(a, b, speed)| (vertex[a], vertex[b], speed)).collect();
    Ok(NetworkGraph::with_forwarding(names.len(), vertices, &links, label, false)?
        .with_slot_names(names.into_iter().map(String::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two leaf switches below one spine with two cables each; n1 has two adapters.
    const FABRIC: &str = r#"
vendid=0x0
switchguid=0xa1(a1)
Switch	8 "S-a1"	# "leaf1" base port 0 lid 1 lmc 0
[1]	"H-01"[1](01)	# "n1 HCA-1" lid 4 4xHDR
[2]	"H-02"[1](02)	# "n2 HCA-1" lid 5 4xHDR
[7]	"S-c1"[1]	# "spine" lid 9 4xNDR
[8]	"S-c1"[2]	# "spine" lid 9 4xNDR

Switch	8 "S-b1"	# "leaf2" base port 0 lid 2 lmc 0
[1]	"H-03"[1](03)	# "n3 HCA-1" lid 6 4xHDR
[2]	"H-11"[1](11)	# "n1 HCA-2" lid 7 4xHDR
[8]	"S-c1"[3]	# "spine" lid 9 4xNDR

caguid=0x01
Ca	1 "H-01"	# "n1 HCA-1"
[1](01)	"S-a1"[1]	# lid 4 lmc 0 "leaf1" lid 1 4xHDR
"#;

    #[test]
    fn hosts_of_several_adapters_are_one_slot() {
        let net = parse(FABRIC, String::new()).unwrap();
        assert_eq!(net.slots(), 3);
        assert_eq!([net.slot_name(0), net.slot_name(2)], [Some("n1"), Some("n3")]);
        // n1 reaches n3 over its second adapter, n2 only over the spine.
        assert_eq!((net.distance(0, 1), net.distance(0, 2)), (2, 2));
        assert_eq!(net.distance(1, 2), 4);
    }

    #[test]
    fn parallel_cables_add_their_speed() {
        let net = parse(FABRIC, String::new()).unwrap();
        let network = net.network().unwrap();
        let mut seen = Vec::new();
        network.route(1, 2, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [200.0, 800.0, 400.0, 200.0]);
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("", "no hosts"),
            ("[1] \"H-1\"[1]", "line 1"),
            ("Switch 8", "identifier"),
            ("Switch 8 \"S-1\"\n[x] \"H-1\"[1]", "line 2"),
            ("Switch 8 \"S-1\"\n[1] nothing", "line 2"),
            ("Ca 1 \"H-1\" # \"a\"\nCa 1 \"H-2\" # \"b\"", "cannot be reached"),
        ] {
            let error = parse(text, String::new()).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
