//! Platform files of SimGrid (XML, versions 3 to 4.1). Slots are hosts.
//!
//! - `<cluster>`: a star, or `topology="TORUS"`, `FAT_TREE`, `DRAGONFLY` ([`simgrid_cluster`]). The backbone of a star
//!   lies between its switch and its router. A torus that is the whole platform is a grid.
//! - Zones with the routing `Full`: a link of SimGrid has no ends, only routes name it. Every link is therefore a
//!   vertex of the graph, next to the links before and behind it in any route. SimGrid's own export of graphs does so.
//! - Zones with the routing `Floyd` or `Dijkstra`: routes lead to neighbours, and are the edges of the graph.
//! - Zones with the routing `Cluster`: hosts with `<host_link>` or `<cabinet>`, on one switch.
//! - `<zoneRoute>` connects the gateways of two zones. Nested zones, routers, and the old names `AS` and `ASroute`.
//!
//! Other routings (Vivaldi, rules, Star), `<peer>` and `<include>` are refused. Latencies, `bypass…` routes and
//! everything about computing do not matter here. Bandwidths are Gbit/s.
//!
//! Source: SimGrid's reference of the XML tags and its `examples/platforms`.

use super::rate::gbits;
use super::simgrid_cluster::{self, MAX_HOSTS, radical};
use super::wiring::Wiring;
use super::{bad, in_file, read_text};
use crate::Result;
use crate::topology::{Grid, Topology};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{HashMap, HashSet};

/// More nodes than this in an XML text are refused.
const MAX_NODES: u32 = 4_000_000;

/// Zones nested more deeply are refused.
const MAX_DEPTH: usize = 32;

/// Links of one route; more are refused.
const MAX_ROUTE: usize = 1024;

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    of_text(&read_text(path)?, path)
}

pub(super) fn of_text(text: &str, path: &str) -> Result<Box<dyn Topology>> {
    parse(text, format!("simgrid:{path}")).map_err(|e| in_file(e, path))
}

fn parse(text: &str, label: String) -> Result<Box<dyn Topology>> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..Default::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|e| bad(format!("the platform is not XML: {e}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "platform" {
        return Err(bad(format!(
            "the file starts with <{}> instead of <platform>",
            root.tag_name().name()
        )));
    }
    if let Some(grid) = lone_torus(&root, &label)? {
        return Ok(Box::new(grid));
    }
    let mut platform = Platform::default();
    for link in root.descendants().filter(|node| is(node, &["link", "backbone"])) {
        let id = attribute(&link, "id")?;
        platform.bandwidths.insert(id, link.attribute("bandwidth").and_then(gbits));
    }
    for zone in root.children().filter(|node| is(node, &["zone", "AS"])) {
        platform.zone(&zone, 0)?;
    }
    platform.children(&root, None)?;
    Ok(Box::new(platform.wiring.build(label, &[])?))
}

fn is(node: &Node, names: &[&str]) -> bool {
    node.is_element() && names.contains(&node.tag_name().name())
}

fn attribute<'a>(node: &Node<'a, '_>, name: &str) -> Result<&'a str> {
    let tag = node.tag_name().name();
    node.attribute(name)
        .filter(|value| !value.is_empty())
        .ok_or_else(|| bad(format!("an element <{tag}> has no attribute '{name}'")).at(place(node)))
}

fn place(node: &Node) -> String {
    format!("line {}", node.document().text_pos_at(node.range().start).row)
}

/// The names of the hosts of a cluster or cabinet.
fn host_names(node: &Node, most: usize) -> Result<Vec<String>> {
    let (prefix, suffix) =
        (node.attribute("prefix").unwrap_or(""), node.attribute("suffix").unwrap_or(""));
    if prefix.len() + suffix.len() > 128 {
        return Err(
            bad("the prefix and suffix of hosts have more than 128 letters").at(place(node))
        );
    }
    let numbers = radical(attribute(node, "radical")?, most).map_err(|e| e.at(place(node)))?;
    Ok(numbers.iter().map(|number| format!("{prefix}{number}{suffix}")).collect())
}

/// The kind of a cluster, in capitals.
fn kind(cluster: &Node) -> String {
    cluster.attribute("topology").unwrap_or("FLAT").to_ascii_uppercase()
}

/// The grid, if one cluster with the topology of a torus is the whole platform.
fn lone_torus(root: &Node, label: &str) -> Result<Option<Grid>> {
    let points = ["cluster", "cabinet", "host", "router", "peer", "include"];
    let mut parts = root.descendants().filter(|node| is(node, &points));
    let (Some(cluster), None) = (parts.next(), parts.next()) else { return Ok(None) };
    if !is(&cluster, &["cluster"]) || kind(&cluster) != "TORUS" {
        return Ok(None);
    }
    let names = host_names(&cluster, MAX_HOSTS)?;
    let parameters = attribute(&cluster, "topo_parameters")?;
    let mut dims =
        simgrid_cluster::torus_dims(parameters, names.len()).map_err(|e| e.at(place(&cluster)))?;
    let bandwidth = cluster.attribute("bw").and_then(gbits).unwrap_or(1.0);
    // The first dimension varies fastest, which is the last one here.
    dims.reverse();
    let grid =
        Grid::torus(&dims).and_then(|grid| grid.with_bandwidths(&vec![bandwidth; dims.len()]));
    let grid =
        grid.ok_or_else(|| bad("the torus has more points than can be kept, or a bandwidth of 0"))?;
    Ok(Some(grid.with_label(label.to_string()).with_slot_names(names)))
}

/// How the routes of a zone become edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Routing {
    /// Routes lead from end to end.
    Full,
    /// Routes lead to neighbours.
    Graph,
    /// All hosts are on one switch.
    Cluster,
    /// There are no routes.
    None,
}

/// The parts of a platform that were read so far.
#[derive(Default)]
struct Platform<'a> {
    wiring: Wiring,
    /// Hosts, routers and gateways by name, and whether they are hosts.
    points: HashMap<String, (usize, bool)>,
    bandwidths: HashMap<&'a str, Option<f64>>,
    /// The vertices of links.
    links: HashMap<&'a str, usize>,
    edges: HashSet<(usize, usize)>,
}

impl<'a> Platform<'a> {
    fn zone(&mut self, zone: &Node<'a, '_>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(bad(format!("zones are nested more than {MAX_DEPTH} deep")).at(place(zone)));
        }
        let name = zone.attribute("routing").unwrap_or("None");
        let routing = match name.to_ascii_lowercase().as_str() {
            "full" => Routing::Full,
            "floyd" | "dijkstra" | "dijkstracache" => Routing::Graph,
            "cluster" => Routing::Cluster,
            "none" => Routing::None,
            _ => {
                return Err(
                    bad(format!("zones with the routing '{name}' are not read")).at(place(zone))
                );
            }
        };
        for inner in zone.children().filter(|node| is(node, &["zone", "AS"])) {
            self.zone(&inner, depth + 1)?;
        }
        let hub = (routing == Routing::Cluster).then(|| self.wiring.switch());
        self.children(zone, hub)?;
        for route in zone.children() {
            if is(&route, &["route", "zoneRoute", "ASroute"]) {
                self.route(&route, routing)?;
            } else if is(&route, &["host_link"])
                && let Some(hub) = hub
            {
                let host = self.point(&route, "id")?.0;
                let bandwidth = self.bandwidth(attribute(&route, "up")?);
                self.edge(host, hub, bandwidth);
            }
        }
        Ok(())
    }

    /// The hosts, routers and clusters that are directly in an element.
    fn children(&mut self, zone: &Node<'a, '_>, hub: Option<usize>) -> Result<()> {
        for node in zone.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "host" => {
                    let id = attribute(&node, "id")?;
                    let vertex = self.wiring.host(id);
                    self.points.insert(id.to_string(), (vertex, true));
                }
                "router" => {
                    let vertex = self.wiring.switch();
                    self.points.insert(attribute(&node, "id")?.to_string(), (vertex, false));
                    // The router of a zone of hosts on one switch.
                    self.link_hub(vertex, hub, zone);
                }
                "cluster" => self.cluster(&node)?,
                "cabinet" => self.cabinet(&node, hub)?,
                tag @ ("peer" | "include") => {
                    return Err(bad(format!("elements <{tag}> are not read")).at(place(&node)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn link_hub(&mut self, vertex: usize, hub: Option<usize>, zone: &Node<'a, '_>) {
        let backbone = zone.children().find(|node| is(node, &["backbone"]));
        let bandwidth =
            backbone.and_then(|node| node.attribute("id")).and_then(|id| self.bandwidth(id));
        if let Some(hub) = hub {
            self.edge(vertex, hub, bandwidth);
        }
    }

    fn hosts(&mut self, node: &Node) -> Result<Vec<usize>> {
        let left = MAX_HOSTS.saturating_sub(self.wiring.count_hosts());
        let names = host_names(node, left)?;
        let vertex = |name: String| {
            let vertex = self.wiring.host(&name);
            self.points.insert(name, (vertex, true));
            vertex
        };
        Ok(names.into_iter().map(vertex).collect())
    }

    fn cabinet(&mut self, node: &Node, hub: Option<usize>) -> Result<()> {
        let bandwidth = node.attribute("bw").and_then(gbits);
        let hub = hub.unwrap_or_else(|| self.wiring.switch());
        for host in self.hosts(node)? {
            self.edge(host, hub, bandwidth);
        }
        Ok(())
    }

    fn cluster(&mut self, node: &Node) -> Result<()> {
        let hosts = self.hosts(node)?;
        let bandwidth = node.attribute("bw").and_then(gbits);
        let build = match kind(node).as_str() {
            "FLAT" => {
                self.star(node, &hosts, bandwidth);
                return Ok(());
            }
            "TORUS" => simgrid_cluster::torus,
            "FAT_TREE" => simgrid_cluster::fat_tree,
            "DRAGONFLY" => simgrid_cluster::dragonfly,
            other => {
                return Err(bad(format!("clusters with the topology '{other}' are not read"))
                    .at(place(node)));
            }
        };
        build(&mut self.wiring, &hosts, attribute(node, "topo_parameters")?, bandwidth)
            .map_err(|e| e.at(place(node)))
    }

    /// Hosts on one switch, which is the router of the cluster, or which a backbone connects with the router.
    fn star(&mut self, node: &Node, hosts: &[usize], bandwidth: Option<f64>) {
        let switch = self.wiring.switch();
        for &host in hosts {
            self.edge(host, switch, bandwidth);
        }
        let mut router = switch;
        if let Some(backbone) = node.attribute("bb_bw") {
            router = self.wiring.switch();
            self.edge(switch, router, gbits(backbone));
        }
        let part = |name: &str| node.attribute(name).unwrap_or("");
        let name = match node.attribute("router_id").filter(|id| !id.is_empty()) {
            Some(id) => id.to_string(),
            None => format!("{}{}_router{}", part("prefix"), part("id"), part("suffix")),
        };
        self.points.insert(name, (router, false));
    }

    fn bandwidth(&self, link: &str) -> Option<f64> {
        self.bandwidths.get(link).copied().flatten()
    }

    /// An edge, once.
    fn edge(&mut self, a: usize, b: usize, bandwidth: Option<f64>) {
        if a != b && self.edges.insert((a.min(b), a.max(b))) {
            self.wiring.link(a, b, bandwidth);
        }
    }

    /// The host, router or gateway that an attribute names.
    fn point(&self, node: &Node, name: &str) -> Result<(usize, bool)> {
        let id = attribute(node, name)?;
        self.points.get(id).copied().ok_or_else(|| {
            bad(format!(
                "'{id}' is neither a host, a router nor the router of a cluster of this file"
            ))
            .at(place(node))
        })
    }

    fn route(&mut self, route: &Node<'a, '_>, routing: Routing) -> Result<()> {
        let (from, to) = if is(route, &["route"]) { ("src", "dst") } else { ("gw_src", "gw_dst") };
        let ((from, from_host), (to, to_host)) = (self.point(route, from)?, self.point(route, to)?);
        let mut links = Vec::new();
        for node in route.children().filter(|node| is(node, &["link_ctn"])) {
            let id = attribute(&node, "id")?;
            let plain = id.strip_suffix("_UP").or(id.strip_suffix("_DOWN")).unwrap_or(id);
            let known = [id, plain].into_iter().find(|id| self.bandwidths.contains_key(id));
            links.push(
                known.ok_or_else(|| {
                    bad(format!("link '{id}' is not in the file")).at(place(&node))
                })?,
            );
        }
        if links.len() > MAX_ROUTE {
            return Err(bad(format!("a route has more than {MAX_ROUTE} links")).at(place(route)));
        }
        // Messages pass hosts that are gateways of their zones, and hosts on the way to a neighbour.
        let gateway = !is(route, &["route"]) && (from_host || to_host);
        if gateway || routing == Routing::Graph && from_host && to_host {
            self.wiring.hosts_forward();
        }
        let mut at = from;
        let mut before = None;
        for (k, id) in links.iter().enumerate() {
            let bandwidth = self.bandwidth(id);
            let narrow = match (before, bandwidth) {
                (Some(a), Some(b)) => Some(f64::min(a, b)),
                (a, b) => a.or(b),
            };
            match routing {
                Routing::Graph => {
                    let last = k + 1 == links.len();
                    let next = if last { to } else { self.wiring.switch() };
                    self.edge(at, next, bandwidth);
                    at = next;
                }
                _ => {
                    let wiring = &mut self.wiring;
                    let vertex = *self.links.entry(id).or_insert_with(|| wiring.switch());
                    self.edge(at, vertex, narrow);
                    at = vertex;
                    before = bandwidth;
                }
            }
        }
        self.edge(at, to, before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Result<Box<dyn Topology>> {
        of_text(text, "x")
    }

    fn platform(inner: &str) -> String {
        format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"simgrid.dtd\">\n<platform version=\"4.1\">{inner}</platform>"
        )
    }

    #[test]
    fn a_torus_alone_is_a_grid() {
        let zone = "<zone id='w' routing='Full'><cluster id='c' prefix='n-' suffix='.x' radical='0-11' speed='1Gf' bw='125MBps' lat='50us' topology='TORUS' topo_parameters='3,2,2'/></zone>";
        let t = topology(&platform(zone)).unwrap();
        assert_eq!(t.as_grid().unwrap().dims(), [2, 2, 3]);
        assert_eq!((t.slot_name(11), t.distance(0, 2), t.distance(0, 3)), (Some("n-11.x"), 1, 1));
    }

    #[test]
    fn clusters_are_connected_by_their_routers() {
        let zone = "<zone id='w' routing='Full'>
            <cluster id='a' prefix='a' radical='0-1' suffix='' bw='125MBps' lat='0'/>
            <cluster id='b' prefix='b' radical='0-1' suffix='' bw='125MBps' bb_bw='1.25GBps' lat='0'/>
            <link id='l' bandwidth='1.25GBps' latency='0'/>
            <zoneRoute src='a' dst='b' gw_src='aa_router' gw_dst='bb_router'><link_ctn id='l'/></zoneRoute></zone>";
        let t = topology(&platform(zone)).unwrap();
        assert_eq!((t.slots(), t.distance(0, 1), t.distance(2, 3), t.distance(0, 2)), (4, 2, 2, 5));
        let network = t.network().unwrap();
        let mut seen = Vec::new();
        network.route(0, 2, &mut |link| seen.push(network.bandwidth(link)));
        assert_eq!(seen, [1.0, 10.0, 10.0, 10.0, 1.0]);
    }

    #[test]
    fn routes_of_both_kinds() {
        let hosts = "<host id='a' speed='1f'/><host id='b' speed='1f'/><host id='c' speed='1f'/><router id='r'/>";
        let link = |id: &str| format!("<link id='{id}' bandwidth='1Gbps' latency='0'/>");
        let links: String = ["1", "2", "3"].map(link).concat();
        let full = "<route src='a' dst='b'><link_ctn id='1_UP'/><link_ctn id='2'/></route><route src='a' dst='c'><link_ctn id='1'/><link_ctn id='3'/></route>";
        let t =
            topology(&platform(&format!("<AS id='w' routing='Full'>{hosts}{links}{full}</AS>")))
                .unwrap();
        assert_eq!((t.slots(), t.distance(0, 1), t.distance(1, 2)), (3, 3, 4));
        let near: String = [("a", "1"), ("b", "2"), ("c", "3")]
            .map(|(host, link)| {
                format!("<route src='{host}' dst='r'><link_ctn id='{link}'/></route>")
            })
            .concat();
        let t = topology(&platform(&format!(
            "<zone id='w' routing='Floyd'>{hosts}{links}{near}</zone>"
        )))
        .unwrap();
        assert_eq!((t.distance(0, 1), t.distance(1, 2)), (2, 2));
        let line = "<route src='a' dst='b'><link_ctn id='1'/></route><route src='b' dst='c'><link_ctn id='2'/></route>";
        let t = topology(&platform(&format!(
            "<zone id='w' routing='Dijkstra'>{hosts}{links}{line}</zone>"
        )))
        .unwrap();
        assert_eq!((t.distance(0, 1), t.distance(0, 2)), (1, 2));
    }

    #[test]
    fn zones_of_hosts_on_one_switch() {
        let zone = "<zone id='w' routing='Cluster'><host id='a' speed='1f'/><host id='b' speed='1f'/>
            <link id='la' bandwidth='1Gbps' latency='0'/><link id='lb' bandwidth='2Gbps' latency='0'/>
            <host_link id='a' up='la' down='la'/><host_link id='b' up='lb' down='lb'/>
            <cabinet id='c' prefix='c' suffix='' radical='1-2' speed='1f' bw='1Gbps' lat='0'/>
            <backbone id='bb' bandwidth='9Gbps' latency='0'/><router id='out'/></zone>";
        let t = topology(&platform(zone)).unwrap();
        assert_eq!((t.slots(), t.distance(0, 1), t.distance(0, 3)), (4, 2, 2));
    }

    #[test]
    fn what_is_not_read_is_named() {
        for (inner, what) in [
            ("", "no hosts"),
            ("<zone routing='Vivaldi'/>", "'Vivaldi'"),
            ("<zone routing='Full'><peer id='p'/></zone>", "<peer>"),
            ("<zone routing='Full'><include file='x'/></zone>", "<include>"),
            ("<zone routing='Full'><host/></zone>", "no attribute 'id'"),
            ("<zone routing='Full'><host id='a'/><host id='b'/></zone>", "no host of the fabric"),
            (
                "<zone routing='Full'><host id='a'/><route src='a' dst='b'/></zone>",
                "'b' is neither",
            ),
            (
                "<zone routing='Full'><host id='a'/><host id='b'/><route src='a' dst='b'><link_ctn id='l'/></route></zone>",
                "link 'l'",
            ),
            ("<zone><cluster id='c' radical='0-3' topology='RING' bw='1'/></zone>", "'RING'"),
            (
                "<zone><cluster id='c' radical='0-3' topology='TORUS' bw='1'/></zone>",
                "topo_parameters",
            ),
            (
                "<zone><cluster id='c' radical='0-999999999' bw='1'/></zone>",
                "more than 32768 hosts",
            ),
        ] {
            let error = topology(&platform(inner)).err().unwrap().to_string();
            assert!(error.contains(what), "{inner}: {error}");
        }
        let deep = format!("{}{}", "<zone routing='Full'>".repeat(40), "</zone>".repeat(40));
        assert!(topology(&platform(&deep)).err().unwrap().to_string().contains("32 deep"));
        assert!(topology("<platform").err().unwrap().to_string().contains("not XML"));
        assert!(topology("<topology/>").err().unwrap().to_string().contains("<topology>"));
    }
}
