//! Lists of cables: one cable in each line, with the names of its two ends. Slots are hosts.
//!
//! The lists of Cray and HPE systems are read, and any list of two names: `docs/topologies.md` describes the format.
//! `cable.rs` reads a line. Here it is decided which names are hosts:
//!
//! 1. the names of `host` and `hosts` lines, and names of nodes ([`xname`]);
//! 2. if there are none, the names with one neighbour, because switches have several.
//!
//! All other names are switches. Hosts without a cable are attached by their names if they are names of nodes
//! ([`xname::routers_of`]). A cable that is listed from both of its ends counts once if the ports are told.

use super::cable::{Cable, End, Line, Lines, MAX_LISTED};
use super::wiring::Wiring;
use super::xname;
use super::{bad, in_file, in_line, read_text};
use crate::Result;
use crate::topology::Topology;
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path, &[])
}

/// The fabric of a text. `known` are hosts that a caller looks for: where the file names no hosts, those of them are
/// attached whose names tell their router.
pub(super) fn of_text(text: &str, path: &str, known: &[String]) -> Result<Box<dyn Topology>> {
    let label = format!("cabling:{path}");
    let net = parse(text, known).and_then(|wiring| wiring.build(label, known));
    Ok(Box::new(net.map_err(|e| in_file(e, path))?))
}

/// Routers of a chassis of HPE Cray EX.
const ROUTERS_OF_A_CHASSIS: usize = 8;

/// What the lines of a list say.
#[derive(Default)]
struct List {
    /// Number of each name.
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    /// Whether a name is a host; `None` if nothing tells.
    is_host: Vec<Option<bool>>,
    cables: Vec<(u32, u32, Option<f64>)>,
    seen: HashSet<[(u32, String); 2]>,
    /// Names in lists of hosts and switches.
    count_listed: usize,
    /// Hosts at the place of a node: `host nid001 at x1000c0s3b0n0`.
    places: Vec<(u32, String)>,
}

impl List {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_string(), number);
        self.names.push(name.to_string());
        self.is_host.push(None);
        number
    }

    fn named(&mut self, name: &str, is_host: bool) -> u32 {
        let number = self.number(name);
        self.is_host[number as usize] = Some(is_host);
        number
    }

    fn listed(&mut self, names: &[String], are_hosts: bool) {
        self.count_listed += names.len();
        for name in names {
            self.named(name, are_hosts);
        }
    }

    /// The vertex of an end, and its kind if the name tells.
    fn end(&mut self, end: &End) -> u32 {
        match xname::place(&end.name) {
            Some(xname::Place::Router(name)) => {
                let number = self.number(&name);
                self.is_host[number as usize].get_or_insert(false);
                number
            }
            Some(xname::Place::Node(name)) => {
                let number = self.number(&name);
                self.is_host[number as usize].get_or_insert(true);
                number
            }
            None => self.number(&end.name),
        }
    }

    fn cable(&mut self, cable: &Cable) {
        let (a, b) = (self.end(&cable.from), self.end(&cable.to));
        if let (Some(x), Some(y)) = (cable.from.whole_port(), cable.to.whole_port()) {
            let mut key = [(a, x), (b, y)];
            key.sort_unstable();
            if !self.seen.insert(key) {
                return;
            }
        }
        self.cables.push((a, b, cable.bandwidth));
    }
}

fn parse(text: &str, known: &[String]) -> Result<Wiring> {
    let mut list = List::default();
    let mut lines = Lines::default();
    let mut read = 0;
    for (number, line) in text.lines().enumerate() {
        let line = lines.read(line).map_err(|e| match e.place() {
            Some(_) => e,
            None => in_line(number + 1, e.problem()),
        })?;
        match line {
            Line::Nothing => continue,
            Line::Cables(cables) => cables.iter().for_each(|cable| list.cable(cable)),
            Line::Hosts(names) => list.listed(&names, true),
            Line::Switches(names) => list.listed(&names, false),
            Line::Router(end) => {
                list.end(&end);
            }
            Line::HostAtRouter(host, router, bandwidth) => {
                let host = list.named(&host, true);
                let router = list.end(&router);
                list.is_host[router as usize].get_or_insert(false);
                list.cables.push((host, router, bandwidth));
            }
            Line::HostAtPlace(host, place) => {
                let host = list.named(&host, true);
                list.places.push((host, place));
            }
        }
        read += 1;
        if list.count_listed > MAX_LISTED {
            return Err(in_line(
                number + 1,
                format!("the lists name more than {MAX_LISTED} hosts and switches"),
            ));
        }
    }
    if read == 0 {
        return Err(bad("the list has no cables"));
    }
    wire(list, known)
}

/// Decides which names are hosts, attaches hosts without cables, and connects everything.
fn wire(mut list: List, known: &[String]) -> Result<Wiring> {
    let told = |list: &List| list.is_host.contains(&Some(true));
    if !told(&list) {
        for name in known.iter().filter(|name| xname::routers_of(name).is_some()) {
            list.named(name, true);
        }
    }
    if !told(&list) {
        hosts_by_neighbours(&mut list);
    }
    if !told(&list) {
        return Err(bad(
            "the list has no hosts: no name has one switch as its only neighbour, and no line tells hosts",
        ));
    }
    attach(&mut list);
    let mut wiring = Wiring::default();
    let vertex: Vec<usize> = list
        .names
        .iter()
        .zip(&list.is_host)
        .map(|(name, host)| match host {
            Some(true) => wiring.host(name),
            _ => wiring.named_switch(name),
        })
        .collect();
    for (a, b, bandwidth) in list.cables {
        wiring.link(vertex[a as usize], vertex[b as usize], bandwidth);
    }
    Ok(wiring)
}

/// Names of unknown kind with one neighbour are hosts, unless the neighbour has only this one and is no switch: two
/// words of a text that is no list of cables are no hosts.
fn hosts_by_neighbours(list: &mut List) {
    let mut neighbour: Vec<Option<u32>> = vec![None; list.names.len()];
    let mut several = vec![false; list.names.len()];
    for &(a, b, _) in list.cables.iter().filter(|cable| cable.0 != cable.1) {
        for (x, y) in [(a, b), (b, a)] {
            let known = neighbour[x as usize].get_or_insert(y);
            several[x as usize] |= *known != y;
        }
    }
    let is_switch: Vec<bool> =
        (0..several.len()).map(|k| several[k] || list.is_host[k] == Some(false)).collect();
    for (k, host) in list.is_host.iter_mut().enumerate() {
        if let Some(other) = neighbour[k].filter(|_| host.is_none()) {
            *host = Some(!several[k] && is_switch[other as usize]);
        }
    }
}

/// Attaches hosts without a cable to the routers that their names tell.
fn attach(list: &mut List) {
    let mut cabled = vec![false; list.names.len()];
    for &(a, b, _) in &list.cables {
        cabled[a as usize] = true;
        cabled[b as usize] = true;
    }
    let routers: BTreeMap<String, u32> = (list.names.iter().zip(0u32..))
        .filter(|&(_, number)| {
            list.is_host[number as usize] != Some(true) && cabled[number as usize]
        })
        .map(|(name, number)| (name.clone(), number))
        .collect();
    let places: HashMap<u32, &String> =
        list.places.iter().map(|(host, place)| (*host, place)).collect();
    let mut new = Vec::new();
    for host in 0..list.names.len() as u32 {
        if list.is_host[host as usize] != Some(true) || cabled[host as usize] {
            continue;
        }
        let name = places.get(&host).copied().unwrap_or(&list.names[host as usize]);
        for (prefix, whole) in xname::routers_of(name).into_iter().flatten() {
            let fits = routers
                .range(prefix.clone()..)
                .take_while(|(router, _)| router.starts_with(&prefix));
            let fits = fits.filter(|(router, _)| !whole || **router == prefix);
            new.extend(fits.take(ROUTERS_OF_A_CHASSIS).map(|(_, &router)| (host, router, None)));
        }
    }
    list.cables.append(&mut new);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Result<Box<dyn Topology>> {
        of_text(text, "x", &[])
    }

    fn names(t: &dyn Topology) -> Vec<&str> {
        (0..t.slots()).filter_map(|slot| t.slot_name(slot)).collect()
    }

    #[test]
    fn names_with_one_neighbour_are_hosts() {
        let t =
            topology("# a comment\nleaf1 n1\nn2, leaf1 ; 100G\nleaf2:3 n3\nleaf1:9 leaf2:9 400G\n")
                .unwrap();
        assert_eq!(names(t.as_ref()), ["n1", "n2", "n3"]);
        assert_eq!((t.distance(0, 1), t.distance(0, 2)), (2, 3));
        let network = t.network().unwrap();
        let mut seen = Vec::new();
        network.route(1, 2, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [100.0, 400.0, 400.0]);
    }

    #[test]
    fn two_words_are_no_network() {
        for text in ["garbage (\n", "n1 leaf1\n", "a b\nc d\n"] {
            let error = topology(text).err().unwrap().to_string();
            assert!(error.contains("the list has no hosts"), "{text}: {error}");
        }
        let t = topology("leaf1 n1\nleaf1 n2\nlonely x9\n").unwrap();
        assert_eq!(names(t.as_ref()), ["n1", "n2"]);
        assert_eq!(names(topology("switches leaf1\nleaf1 n1\n").unwrap().as_ref()), ["n1"]);
    }

    #[test]
    fn hosts_of_several_rails_are_told() {
        let t = topology("hosts: n[1-2]\nn1 l1\nn1 l2\nn2 l1\nn2 l2\n").unwrap();
        assert_eq!((names(t.as_ref()), t.distance(0, 1)), (vec!["n1", "n2"], 2));
        let t = topology("# hosts: n[1-2]\nn1 l1\nn1 l2\nn2 l1\nn2 l2\n").unwrap();
        assert_eq!(t.slots(), 2);
        let t = topology("host a router r1\nhost b router r2 200G\nr1 r2\n").unwrap();
        assert_eq!((names(t.as_ref()), t.distance(0, 1)), (vec!["a", "b"], 3));
    }

    #[test]
    fn aries_routers_and_their_nodes() {
        let links = "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l10(0:0:1)\nc0-0c0s1a0l10(0:0:1) green -> c0-0c0s0a0l00(0:0:0)\n\
                     c0-0c0s0a0l01(0:0:0) blue -> unused\nc0-0c0s0a0l50(0:0:0) ptile -> processor\n";
        let t = topology(&format!("{links}hosts c0-0c0s0n[0-3],c0-0c0s1n0\n")).unwrap();
        assert_eq!((t.slots(), t.distance(0, 3), t.distance(0, 4)), (5, 2, 3));
        // A cable that is listed at both ends is one cable.
        let network = t.network().unwrap();
        assert!((0..network.links()).all(|link| network.bandwidth(link) == 1.0));
        let known: Vec<String> = ["c0-0c0s1n3", "nid7"].map(String::from).into();
        assert_eq!(names(of_text(links, "x", &known).unwrap().as_ref()), ["c0-0c0s1n3"]);
        let alias = format!("{links}host nid00001 at c0-0c0s0n1\nhost nid00004 at c0-0c0s1n0\n");
        let t = topology(&alias).unwrap();
        assert_eq!((names(t.as_ref()), t.distance(0, 1)), (vec!["nid00001", "nid00004"], 3));
    }

    #[test]
    fn slingshot_lists_with_and_without_edge_cables() {
        let head = "#run,,,\n\"#\tdate\",,\ncable_id,src_conn_a,src_conn_b,dst_conn_a,dst_conn_b,stage,link_type\n";
        let local = "1,x1000c0r1j1,none,x1000c1r1j1,none,1,local\n";
        let edge = "2,x1000.c0.r1.j3,none,x1000.c0.s0.b0.n0.h0,x1000.c0.s0.b0.n1.h0,1,edge\n\
                    3,x1000c1r1j3,none,x1000c1s0b0n0h0,x1000c1s0b0n0h0,1,edge\n";
        let t = topology(&format!("{head}{local}{edge}")).unwrap();
        assert_eq!(names(t.as_ref()), ["x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c1s0b0n0"]);
        assert_eq!((t.distance(0, 1), t.distance(0, 2)), (2, 3));
        let t = topology(&format!("{head}{local}hosts x1000c[0-1]s[0-1]b0n0\n")).unwrap();
        assert_eq!((t.slots(), t.distance(0, 1), t.distance(0, 2)), (4, 2, 3));
    }

    #[test]
    fn a_management_network_beside_the_fabric_is_left_out() {
        let text = "leaf1 n1\nleaf1 n2\nleaf2 n3\nleaf1 leaf2\nmgmt pdu1\nmgmt pdu2\n";
        let t = topology(text).unwrap();
        assert_eq!(names(t.as_ref()), ["n1", "n2", "n3"]);
        assert!(t.left_out().unwrap().contains("pdu1, pdu2"), "{:?}", t.left_out());
        let job = ["n2", "n3"].map(String::from);
        let t = of_text(text, "x", &job).unwrap();
        assert_eq!(t.slots(), 3);
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("", "no cables"),
            ("# only\n# comments\n", "no cables"),
            ("alone", "line 1"),
            ("a b\nb c\nc a\n", "no hosts"),
            ("hosts n[1-", "line 1"),
            ("host a", "line 1"),
            ("hosts a,b\nc d\n", "no host of the fabric has a link"),
            ("a b -5G", "bandwidth"),
        ] {
            let error = topology(text).err().unwrap().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
