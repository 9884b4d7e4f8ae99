//! InfiniBand fabrics as `ibnetdiscover` prints them, and the files of ibsim. Slots are hosts.
//!
//! Every block begins with a line `Switch`, `Ca` (ibsim also: `Hca`) or `Rt`, and has a line for each connected port.
//! All other lines are left out: identifiers, the chassis of `-g`, comments. Blocks may come in any order; the
//! description of an adapter is found at the adapter or at the port of its switch. If both differ, the port counts,
//! because only there `--node-name-map` has an effect.
//!
//! Adapters whose descriptions name the same host belong to one host with several links. Adapters that name no host
//! are left out with their links, as are the aggregation nodes of switches ([`ib_description`]). If no description of a
//! file names a host, the identifiers of the adapters are the names, so that its structure can be seen; no node of a
//! launch is found in it. Routers count as switches. The report of
//! `ibnetdiscover -p` is read by [`ib_ports`].
//!
//! Sources: `infiniband-diags/ibnetdiscover.c` of rdma-core, `ibsim/sim_net.c` and `net-examples` of ibsim.

use super::wiring::Wiring;
use super::{bad, ib_description, ib_ports, in_file, in_line, read_text};
use crate::Result;
use crate::base::nouns::counted;
use crate::base::sorting::Arrange;
use crate::topology::{NetworkGraph, Topology};
use std::collections::HashMap;

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path, Dialect::Ibnetdiscover, &[])
}

pub(super) fn read_ibsim(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path, Dialect::Ibsim, &[])
}

/// The fabric of a text; the path is for its name and for errors. `hosts` are looked for: they decide which part is used
/// if the fabric has several.
pub(super) fn of_text(
    text: &str,
    path: &str,
    dialect: Dialect,
    hosts: &[String],
) -> Result<Box<dyn Topology>> {
    let kind = if dialect == Dialect::Ibsim { "ibsim" } else { "ib" };
    let label = format!("{kind}:{path}");
    let network = match ib_ports::is_report(text) {
        true => ib_ports::parse(text).and_then(|wiring| wiring.build(label, hosts)),
        false => parse(text, label, dialect, hosts),
    };
    Ok(Box::new(network.map_err(|e| in_file(e, path))?))
}

/// The two kinds of files. An adapter of ibsim that has no description of a host is called by its identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Written by `ibnetdiscover`.
    Ibnetdiscover,
    /// Written for ibsim, which also reads what `ibnetdiscover` writes.
    Ibsim,
}

/// An adapter, a switch or a router.
#[derive(Debug)]
struct Device<'a> {
    id: &'a str,
    is_adapter: bool,
    /// Its description in the first line of its block, and at the port of another device.
    own: Option<&'a str>,
    at_peer: Option<&'a str>,
}

/// One end of a link: the device and its port.
type End = (u32, u32);

/// A link as one of its ends tells it.
struct Link<'a> {
    /// The lower one first.
    ends: [End; 2],
    /// The texts that may have its speed: between the peer and the comment, and behind the description in the comment.
    facts: &'a str,
    comment: &'a str,
}

impl Link<'_> {
    fn bandwidth(&self) -> Option<f64> {
        ib_description::bandwidth(self.comment)
            .or_else(|| ib_description::bandwidth(self.facts))
            .or_else(|| ib_description::bandwidth_of_options(self.facts))
            .or_else(|| ib_description::bandwidth_of_options(self.comment))
    }
}

/// Collects devices by their quoted identifiers.
#[derive(Default)]
struct Fabric<'a> {
    numbers: HashMap<&'a str, u32>,
    devices: Vec<Device<'a>>,
    /// Most links are there twice, once from each end.
    links: Vec<Link<'a>>,
}

impl<'a> Fabric<'a> {
    fn device(&mut self, id: &'a str) -> u32 {
        let next = self.devices.len() as u32;
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            let is_adapter = id.starts_with("H-");
            self.devices.push(Device { id, is_adapter, own: None, at_peer: None });
        }
        number
    }
}

/// The text between the first two quotes, and the text after them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

/// The number that a text begins with.
fn leading_number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..end].parse().ok()
}

pub(super) fn parse(
    text: &str,
    label: String,
    dialect: Dialect,
    hosts: &[String],
) -> Result<NetworkGraph> {
    let mut fabric = Fabric::default();
    let mut current = None;
    for (number, line) in text.lines().enumerate() {
        let at = number + 1;
        let line = line.trim();
        // Most lines are identifiers and ports. Only lines with one of these first letters can begin a block.
        let head = match line.as_bytes().first() {
            Some(b'S' | b'C' | b'H' | b'R' | b'i' | b'm') => {
                line.split_whitespace().next().unwrap_or("")
            }
            _ => "",
        };
        match head {
            "Switch" | "Ca" | "Hca" | "Rt" => {
                current = Some(block(&mut fabric, head, line).map_err(|what| in_line(at, what))?);
            }
            "include" | "module" if dialect == Dialect::Ibsim => {
                return Err(in_line(at, format!("'{head}' of ibsim is not read")));
            }
            _ if line.starts_with('@') && dialect == Dialect::Ibsim => {
                return Err(in_line(at, "names for ports ('@') of ibsim are not read"));
            }
            _ if line.starts_with('[') => {
                let own = current.ok_or_else(|| {
                    in_line(at, "a line of a port stands before the first line of a Switch or Ca")
                })?;
                port(&mut fabric, own, line, dialect).map_err(|what| in_line(at, what))?;
            }
            _ => {}
        }
    }
    // The end that comes first in the file counts.
    fabric.links.arrange_by_key(|link| link.ends);
    fabric.links.dedup_by_key(|link| link.ends);
    wire(&fabric, dialect)?.build(label, hosts)
}

/// The first line of a block: `Switch 8 "S-a1" # "leaf1" base port 0 lid 1 lmc 0`.
fn block<'a>(
    fabric: &mut Fabric<'a>,
    head: &str,
    line: &'a str,
) -> std::result::Result<u32, String> {
    if line[head.len()..].trim_start().starts_with(':') {
        return Err("the file is a list of devices (`ibnetdiscover -l`), which has no links".into());
    }
    let (id, rest) = quoted(line).ok_or_else(|| format!("{head} has no \"identifier\""))?;
    let number = fabric.device(id);
    let device = &mut fabric.devices[number as usize];
    device.is_adapter = matches!(head, "Ca" | "Hca");
    device.own = quoted(rest).map(|(description, _)| description).or(device.own);
    Ok(number)
}

/// The line of a port: `[1](01) "S-a1"[1] # lid 4 lmc 0 "leaf1" lid 1 4xHDR`.
fn port<'a>(
    fabric: &mut Fabric<'a>,
    own: u32,
    line: &'a str,
    dialect: Dialect,
) -> std::result::Result<(), String> {
    let own_port = leading_number(&line[1..]).ok_or("a port has no number")?;
    let (id, rest) = quoted(line).ok_or("a port has no \"identifier\" of a peer")?;
    let (facts, comment) = rest.split_once('#').unwrap_or((rest, ""));
    // ibsim takes port 1 if there is no number, and the number may be inside the quotes.
    let (id, inside) = match id.split_once('[') {
        Some((id, port)) if dialect == Dialect::Ibsim => (id, Some(port)),
        _ => (id, None),
    };
    let peer_port = match facts.trim_start().strip_prefix('[').or(inside) {
        Some(text) => leading_number(text).ok_or("the port of the peer has no number")?,
        None if dialect == Dialect::Ibsim => 1,
        None => return Err("the port of the peer has no number".into()),
    };
    let peer = fabric.device(id);
    let (described, comment) = match quoted(comment) {
        Some((description, rest)) => (Some(description), rest),
        None => (None, comment),
    };
    let device = &mut fabric.devices[peer as usize];
    device.at_peer = device.at_peer.or(described);
    let mut ends = [(own, own_port), (peer, peer_port)];
    ends.sort_unstable();
    fabric.links.push(Link { ends, facts, comment });
    Ok(())
}

/// The hosts and switches, and the links between them.
fn wire(fabric: &Fabric, dialect: Dialect) -> Result<Wiring> {
    let adapters = || fabric.devices.iter().filter(|device| device.is_adapter);
    let named = |device: &Device| {
        let named = device.at_peer.and_then(ib_description::host);
        named.or_else(|| device.own.and_then(ib_description::host))
    };
    let nameless = adapters().all(|device| named(device).is_none());
    let host = |device: &Device| {
        let aggregates = |text: Option<&str>| text.is_some_and(ib_description::is_aggregation_node);
        let blank = device.own.is_none() && device.at_peer.is_none();
        let by_id = nameless || blank && dialect == Dialect::Ibsim;
        let is_host = by_id && !aggregates(device.own) && !aggregates(device.at_peer);
        named(device).or_else(|| (is_host && !device.id.is_empty()).then(|| device.id.to_string()))
    };
    let mut wiring = Wiring::default();
    let vertex: Vec<Option<usize>> = fabric
        .devices
        .iter()
        .map(|device| match device.is_adapter {
            true => host(device).map(|name| wiring.host(&name)),
            false => {
                let name = device.own.or(device.at_peer).filter(|name| !name.is_empty());
                Some(wiring.named_switch(name.unwrap_or(device.id)))
            }
        })
        .collect();
    if wiring.count_hosts() == 0 {
        return Err(match adapters().count() {
            0 => bad("the fabric has no hosts (lines `Ca …`)"),
            count => {
                let all = counted(count, "adapter");
                bad(format!("the fabric has {all}, and none of a host: they belong to switches"))
            }
        });
    }
    // Identifiers of ibsim are names that a person gave.
    if nameless && dialect == Dialect::Ibnetdiscover {
        wiring.nameless();
    }
    for link in &fabric.links {
        let [(a, _), (b, _)] = link.ends;
        if let (Some(a), Some(b)) = (vertex[a as usize], vertex[b as usize]) {
            wiring.link(a, b, link.bandwidth());
        }
    }
    Ok(wiring)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

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

    fn read(text: &str) -> Result<NetworkGraph> {
        parse(text, String::new(), Dialect::Ibnetdiscover, &[])
    }

    fn names(net: &dyn Topology) -> Vec<&str> {
        (0..net.slots()).filter_map(|slot| net.slot_name(slot)).collect()
    }

    #[test]
    fn hosts_of_several_adapters_are_one_slot() {
        let net = read(FABRIC).unwrap();
        assert_eq!(names(&net), ["n1", "n2", "n3"]);
        // n1 reaches n3 over its second adapter, n2 only over the spine.
        assert_eq!((net.distance(0, 1), net.distance(0, 2)), (2, 2));
        assert_eq!(net.distance(1, 2), 4);
    }

    #[test]
    fn parallel_cables_add_their_speed() {
        let net = read(FABRIC).unwrap();
        let network = net.network().unwrap();
        let mut seen = Vec::new();
        network.route(1, 2, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [200.0, 800.0, 400.0, 200.0]);
    }

    #[test]
    fn the_port_has_the_name_that_was_mapped() {
        let text = "Switch 8 \"S-1\"\n[1] \"H-1\"[1] # \"mapped HCA-1\"\n[2] \"H-2\"[1] # \"b\"\n";
        let header =
            "Ca 1 \"H-1\" # \"raw HCA-1\"\n[1](1) \"S-1\"[1] # lid 1 lmc 0 \"\" lid 2 4xHDR\n";
        for text in [format!("{text}{header}"), format!("{header}{text}")] {
            let net = read(&text).unwrap();
            assert_eq!(names(&net), ["mapped", "b"]);
        }
    }

    #[test]
    fn without_any_description_identifiers_are_names() {
        let text = "Switch 8 \"S-1\"\n[1] \"H-1\"[1]\n[2] \"H-2\"[1]\n";
        assert_eq!(names(&read(text).unwrap()), ["H-1", "H-2"]);
        let mixed = format!("{text}[3] \"H-3\"[1] # \"n3 HCA-1\"\n");
        assert_eq!(names(&read(&mixed).unwrap()), ["n3"]);
        let ibsim = parse(&mixed, String::new(), Dialect::Ibsim, &[]).unwrap();
        assert_eq!(names(&ibsim), ["H-1", "H-2", "n3"]);
    }

    #[test]
    fn a_fabric_whose_adapters_have_firmware_names_is_read() {
        for description in ["MT25408 ConnectX Mellanox Technologies", "", "localhost HCA-1"] {
            let text = format!(
                "Switch 8 \"S-1\" # \"leaf1\"\n[1] \"H-1\"[1] # \"{description}\"\n[2] \"H-2\"[1] # \"{description}\"\n\
                 [3] \"H-9\"[1] # \"Mellanox Technologies Aggregation Node\"\n[8] \"S-2\"[8] # \"leaf2\"\n\
                 Switch 8 \"S-2\" # \"leaf2\"\n[1] \"H-3\"[1] # \"{description}\"\n"
            );
            let net = read(&text).unwrap();
            assert_eq!((names(&net), net.nameless()), (vec!["H-1", "H-2", "H-3"], true));
            assert_eq!((net.distance(0, 1), net.distance(0, 2)), (2, 3));
        }
        assert!(!read(FABRIC).unwrap().nameless());
    }

    #[test]
    fn a_lonely_switch_does_not_spoil_a_fabric() {
        let lonely = "\nSwitch 8 \"S-z1\" # \"lonely\" base port 0 lid 99 lmc 0\n[1] \"H-z\"[1] # \"n9 HCA-1\" lid 98 4xHDR\n";
        for text in [format!("{FABRIC}{lonely}"), format!("{lonely}{FABRIC}")] {
            let net = read(&text).unwrap();
            assert_eq!(names(&net), ["n1", "n2", "n3"]);
            assert!(net.left_out().unwrap().contains("1 host: n9"), "{:?}", net.left_out());
            let job = ["n9".to_string()];
            let own = parse(&text, String::new(), Dialect::Ibnetdiscover, &job).unwrap();
            assert_eq!(names(&own), ["n9"]);
        }
        assert_eq!(read(FABRIC).unwrap().left_out(), None);
    }

    #[test]
    fn placeholders_for_names_are_no_hosts() {
        let port = |switch: u32, hosts: [&str; 3]| {
            let mut text = format!("Switch 8 \"S-{switch}\"\n");
            for (k, host) in hosts.iter().enumerate() {
                let _ = writeln!(text, "[{}] \"H-{switch}{k}\"[1] # \"{host}\"", k + 1);
            }
            text + "[8] \"S-9\"[1]\n"
        };
        let text = port(1, ["n1 mlx5_0", "localhost mlx5_0", "(none) mlx5_0"])
            + &port(2, ["n2 mlx5_0", "localhost mlx5_0", "localhost.localdomain HCA-1"]);
        for dialect in [Dialect::Ibnetdiscover, Dialect::Ibsim] {
            let net = parse(&text, String::new(), dialect, &[]).unwrap();
            assert_eq!(names(&net), ["n1", "n2"]);
            assert_eq!(net.distance(0, 1), 4, "no host connects the two leaves");
        }
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("", "no hosts"),
            ("[1] \"H-1\"[1]", "line 1"),
            ("Switch 8", "identifier"),
            ("Switch 8 \"S-1\"\n[x] \"H-1\"[1]", "line 2"),
            ("Switch 8 \"S-1\"\n[1] nothing", "line 2"),
            ("Switch 8 \"S-1\"\n[1] \"H-1\"", "port of the peer"),
            ("Ca 1 \"H-1\" # \"a\"\nCa 1 \"H-2\" # \"b\"", "no host of the fabric has a link"),
            ("Ca\t: 0x2 ports 1 devid 0x1 vendid 0x2 \"n1 HCA-1\"", "list of devices"),
            (
                "Switch 8 \"S-1\"\n[1] \"H-1\"[1] # \"Mellanox Technologies Aggregation Node\"",
                "belong to switches",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
        let ibsim = |text| parse(text, String::new(), Dialect::Ibsim, &[]).unwrap_err().to_string();
        assert!(ibsim("include \"other\"").contains("'include'"));
        assert!(ibsim("Hca 1 \"a\"\n@[1] \"x\"").contains("names for ports"));
    }
}
