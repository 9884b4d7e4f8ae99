//! One line of a list of cables, in each of the forms that lists have.
//!
//! | line | from |
//! |---|---|
//! | `A B`, `A:1, B:2, 100G`, `A 1 B 2` | any list; blanks, commas and semicolons separate words |
//! | `c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)` | Cray's `rtr --interconnect` |
//! | columns that a header line names, such as `src_conn_a` and `dst_conn_a` | Slingshot's point-to-point list |
//! | `hosts LIST`, `switches LIST`, `host NAME router ROUTER`, `host NAME at XNAME` | written by hand |

use super::{hostlist, ib_description, usage};
use crate::Result;

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// As in the file, with its port where the port is a part of the name (`x1000c0r3j14`).
    pub name: String,
    /// The port that was separate from the name.
    pub port: Option<String>,
}

impl End {
    /// What tells this port from all others of its router; `None` if there is no port.
    pub(super) fn whole_port(&self) -> Option<String> {
        let in_name = super::xname::place(&self.name).is_some_and(|place| match place {
            super::xname::Place::Router(name) | super::xname::Place::Node(name) => {
                name.len() < self.name.len()
            }
        });
        match &self.port {
            Some(port) => Some(format!("{}:{port}", self.name)),
            None => in_name.then(|| self.name.clone()),
        }
    }
}

/// One cable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cable {
    pub from: End,
    pub to: End,
    /// Gbit/s.
    pub bandwidth: Option<f64>,
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Nothing,
    Cables(Vec<Cable>),
    Hosts(Vec<String>),
    Switches(Vec<String>),
    /// A router that has an unused port, or one to its processors.
    Router(End),
    /// Host, router and bandwidth.
    HostAtRouter(String, End, Option<f64>),
    /// Host and the name of the node's place.
    HostAtPlace(String, String),
}

/// Reads lines one after the other, because a header line gives the columns of those below it.
#[derive(Default)]
pub(super) struct Lines {
    columns: Option<Columns>,
}

/// The columns of the ends of a cable, and of its bandwidth.
struct Columns {
    separator: char,
    from: Vec<usize>,
    from_port: Option<usize>,
    to: Vec<usize>,
    to_port: Option<usize>,
    bandwidth: Option<usize>,
    /// The column `link_type` of Slingshot, where a cable is `edge`, `local` or `global`.
    kind: Option<usize>,
}

/// More names in all lists of hosts and switches are refused: a short list must not ask for much memory.
pub(super) const MAX_LISTED: usize = 1 << 14;

/// Gbit/s of a port of Slingshot. A cable between switches has two ports at each end.
const SLINGSHOT_PORT: f64 = 200.0;

impl Lines {
    /// Errors: a line that is none of these, without its place.
    pub(super) fn read(&mut self, line: &str) -> Result<Line> {
        let line = line.trim_start_matches('\u{feff}').trim();
        let lower = line.to_ascii_lowercase();
        if let Some(list) = directive(line, &lower, &["# hosts:", "#hosts:", "hosts:", "hosts "]) {
            return Ok(Line::Hosts(hostlist::expand_at_most(list, MAX_LISTED)?));
        }
        let switches =
            ["# switches:", "# routers:", "switches:", "switches ", "routers:", "routers "];
        if let Some(list) = directive(line, &lower, &switches) {
            return Ok(Line::Switches(hostlist::expand_at_most(list, MAX_LISTED)?));
        }
        // Spreadsheets put a comment in quotes.
        if line.trim_start_matches('"').starts_with('#') || line.starts_with("//") {
            return Ok(Line::Nothing);
        }
        let line = line.split(" #").next().unwrap_or("").trim();
        if line.trim_matches([',', ';']).is_empty() {
            return Ok(Line::Nothing);
        }
        if let Some(columns) = Columns::of_header(&lower) {
            self.columns = Some(columns);
            return Ok(Line::Nothing);
        }
        if lower.starts_with("host ") || lower.starts_with("host\t") {
            return host(line);
        }
        if let Some((from, to)) =
            ["<-->", "<->", "-->", "->"].iter().find_map(|arrow| line.split_once(arrow))
        {
            return arrow(from, to);
        }
        match &self.columns {
            Some(columns) => columns.cables(line),
            None => words(line),
        }
    }
}

/// The text behind one of the words that a line may begin with.
fn directive<'a>(line: &'a str, lower: &str, words: &[&str]) -> Option<&'a str> {
    let word = words.iter().find(|word| lower.starts_with(**word))?;
    line.get(word.len()..).map(str::trim)
}

/// A name, with its port behind `:` or `/`, or in brackets: `sw1:3`, `sw1/3`, `sw1[3]`.
fn end(word: &str) -> Option<End> {
    let word = word.trim().trim_matches(['"', '\'']);
    let (name, port) = match word.split_once('[') {
        Some((name, port)) => (name, Some(port.trim_end_matches(']'))),
        None => match word.rsplit_once([':', '/']) {
            Some((name, port)) if !name.is_empty() => (name, Some(port)),
            _ => (word, None),
        },
    };
    let port = port.filter(|port| !port.is_empty()).map(String::from);
    (!name.is_empty()).then(|| End { name: name.to_string(), port })
}

/// Whether a field says that there is nothing.
fn is_none(field: &str) -> bool {
    ["", "none", "n/a", "na", "-", "null", "unused"].contains(&field.to_ascii_lowercase().as_str())
}

/// `host NAME router ROUTER [BANDWIDTH]` or `host NAME at XNAME`.
fn host(line: &str) -> Result<Line> {
    let words: Vec<&str> =
        line.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty()).collect();
    let wrong = || usage("the line is not `host NAME router ROUTER` or `host NAME at XNAME`");
    match words[..] {
        [_, name, by, router, ref rest @ ..]
            if by.eq_ignore_ascii_case("router") || by.eq_ignore_ascii_case("switch") =>
        {
            let router = end(router).ok_or_else(wrong)?;
            Ok(Line::HostAtRouter(name.to_string(), router, bandwidth_of_words(rest)?))
        }
        [_, name, at, place] if at.eq_ignore_ascii_case("at") => {
            Ok(Line::HostAtPlace(name.to_string(), place.to_string()))
        }
        _ => Err(wrong()),
    }
}

/// A text without the coordinates of routers, `(0:0:6)` or `[(0,0,6)]`.
fn without_coordinates(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        let (inside, behind) = after.split_once(')').unwrap_or((after, ""));
        plain.push_str(before);
        if !inside.bytes().all(|b| b.is_ascii_digit() || b",: ".contains(&b)) {
            plain.push(' ');
            plain.push_str(inside);
            plain.push(' ');
        }
        rest = behind;
    }
    plain.push_str(rest);
    plain.replace("[]", "")
}

/// A line with an arrow: the first word of each side is an end, the others say what kind of link it is.
fn arrow(from: &str, to: &str) -> Result<Line> {
    let wrong = || usage("the line has no names on both sides of the arrow");
    let separated = |c: char| c.is_whitespace() || c == ',' || c == ';';
    let (from, to) = (without_coordinates(from), without_coordinates(to));
    let mut left = from.split(separated).filter(|w| !w.is_empty());
    let mut right = to.split(separated).filter(|w| !w.is_empty());
    let from = left.next().and_then(end).ok_or_else(wrong)?;
    let to = right.next().ok_or_else(wrong)?;
    if is_none(to) || to.eq_ignore_ascii_case("processor") || to.eq_ignore_ascii_case("host") {
        return Ok(Line::Router(from));
    }
    let to = end(to).ok_or_else(wrong)?;
    let others: Vec<&str> = left.chain(right).collect();
    Ok(Line::Cables(vec![Cable { from, to, bandwidth: bandwidth_of_words(&others)? }]))
}

/// A line without a header: two names, each followed by its port or not, then the bandwidth or other words.
fn words(line: &str) -> Result<Line> {
    let words: Vec<&str> = line
        .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|w| !w.is_empty())
        .collect();
    let wrong = || usage(format!("'{line}' is not a cable: two names are expected"));
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    let (from, to, rest) = match words[..] {
        [a, port, b, ref rest @ ..] if is_number(port) && is_name(b) => {
            let from = End { port: Some(port.to_string()), ..end(a).ok_or_else(wrong)? };
            let to = end(b).ok_or_else(wrong)?;
            match rest {
                [port, rest @ ..] if is_number(port) => {
                    (from, End { port: Some(port.to_string()), ..to }, rest)
                }
                rest => (from, to, rest),
            }
        }
        [a, b, ref rest @ ..] => (end(a).ok_or_else(wrong)?, end(b).ok_or_else(wrong)?, rest),
        _ => return Err(wrong()),
    };
    Ok(Line::Cables(vec![Cable { bandwidth: bandwidth_of_words(rest)?, from, to }]))
}

/// The first bandwidth in some words; other words, such as the kind of the cable, do not matter.
fn bandwidth_of_words(words: &[&str]) -> Result<Option<f64>> {
    if let Some(bandwidth) = ib_description::bandwidth(&words.join(" ")) {
        return Ok(Some(bandwidth));
    }
    for word in words
        .iter()
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+'))
    {
        if let Some(bandwidth) = bandwidth(word) {
            return match bandwidth > 0.0 && bandwidth.is_finite() {
                true => Ok(Some(bandwidth)),
                false => Err(usage(format!("'{word}' is not a bandwidth above 0"))),
            };
        }
    }
    Ok(None)
}

/// `200`, `200G`, `200Gb/s`, `25GB/s` in Gbit/s; `None` for other texts, such as `3m`.
fn bandwidth(word: &str) -> Option<f64> {
    let end = word.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(word.len());
    let number: f64 = word[..end].parse().ok()?;
    let unit = &word[end..];
    let scale = match unit {
        "" | "G" | "Gb" | "Gb/s" | "Gbps" | "Gbit/s" | "GbE" | "GE" => 1.0,
        "T" | "Tb/s" | "Tbps" | "Tbit/s" => 1000.0,
        "M" | "Mb" | "Mb/s" | "Mbps" | "Mbit/s" => 0.001,
        "GB/s" | "GBps" => 8.0,
        "MB/s" | "MBps" => 0.008,
        _ => return None,
    };
    Some(number * scale)
}

impl Columns {
    /// The columns if a line, in lower case, names those of both ends.
    fn of_header(line: &str) -> Option<Columns> {
        let separator = [',', ';', '\t'].into_iter().find(|&c| line.contains(c)).unwrap_or(' ');
        let fields = fields(line, separator);
        let find = |names: &[&str]| fields.iter().position(|field| names.contains(&field.as_str()));
        let ends = |names: &[&str], all: &[&str]| -> Vec<usize> {
            let both: Vec<usize> = all.iter().filter_map(|name| find(&[name])).collect();
            if both.is_empty() { find(names).into_iter().collect() } else { both }
        };
        let from = ends(
            &["src", "source", "from", "src_name", "source_name", "endpoint1", "end1", "device1"],
            &["src_conn_a", "src_conn_b"],
        );
        let to = ends(
            &[
                "dst",
                "dest",
                "destination",
                "to",
                "dst_name",
                "destination_name",
                "endpoint2",
                "end2",
                "device2",
            ],
            &["dst_conn_a", "dst_conn_b"],
        );
        (!from.is_empty() && !to.is_empty()).then(|| Columns {
            separator,
            from,
            from_port: find(&["src_port", "source_port", "from_port", "port1"]),
            to,
            to_port: find(&["dst_port", "dest_port", "destination_port", "to_port", "port2"]),
            bandwidth: find(&["bandwidth", "speed", "rate", "bw", "gbps"]),
            kind: find(&["link_type"]),
        })
    }

    fn cables(&self, line: &str) -> Result<Line> {
        let fields = fields(line, self.separator);
        let field = |k: usize| fields.get(k).map_or("", String::as_str);
        let ends = |columns: &[usize], port: Option<usize>| -> Vec<End> {
            let present = columns.iter().filter(|&&k| !is_none(field(k)));
            let port = port.map(field).filter(|port| !is_none(port));
            present
                .filter_map(|&k| end(field(k)))
                .map(|end| End { port: port.map(String::from).or(end.port), name: end.name })
                .collect()
        };
        let (from, to) = (ends(&self.from, self.from_port), ends(&self.to, self.to_port));
        let (Some(first), Some(_)) = (from.first(), to.first()) else {
            return Err(usage("the line has no names in the columns of both ends"));
        };
        let bandwidth = match (self.bandwidth, self.kind) {
            (Some(column), _) => bandwidth_of_words(&[field(column)])?,
            (None, Some(kind)) if field(kind).eq_ignore_ascii_case("edge") => Some(SLINGSHOT_PORT),
            (None, Some(_)) => Some(2.0 * SLINGSHOT_PORT),
            _ => None,
        };
        let cable = |(k, to): (usize, &End)| {
            // The interfaces of two nodes on one jack are two links.
            let mut to = to.clone();
            to.port.get_or_insert_with(|| k.to_string());
            Cable { from: from.get(k).unwrap_or(first).clone(), to, bandwidth }
        };
        Ok(Line::Cables(to.iter().enumerate().map(cable).collect()))
    }
}

/// The fields of a line. Quotes around a field are left out.
fn fields(line: &str, separator: char) -> Vec<String> {
    let clean = |field: &str| field.trim().trim_matches('"').trim().to_string();
    match separator {
        ' ' => line.split_whitespace().map(clean).collect(),
        separator => line.split(separator).map(clean).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cable(line: &str) -> (String, String, Option<f64>) {
        let read = Lines::default().read(line).unwrap();
        let Line::Cables(cables) = read else { panic!("{line}: {read:?}") };
        let name = |end: &End| {
            end.port.as_ref().map_or(end.name.clone(), |port| format!("{}|{port}", end.name))
        };
        (name(&cables[0].from), name(&cables[0].to), cables[0].bandwidth)
    }

    #[test]
    fn cables_of_every_form() {
        for (line, from, to, bandwidth) in [
            ("a b", "a", "b", None),
            ("a,b", "a", "b", None),
            ("a; b; 100", "a", "b", Some(100.0)),
            ("a:1\tb:2 25GB/s", "a|1", "b|2", Some(200.0)),
            ("a 1 b 2 4xHDR", "a|1", "b|2", Some(200.0)),
            ("a/e1 b[7] 3m optical", "a|e1", "b|7", None),
            ("0 1", "0", "1", None),
            ("0 1 40", "0", "1", Some(40.0)),
            ("a <-> b 400Gb/s", "a", "b", Some(400.0)),
            ("x1c0r1j1 x1c0r2j1 # spare", "x1c0r1j1", "x1c0r2j1", None),
            (
                "c0-0c0s0g0l00[(0,0,0)] X+ -> c0-0c0s1g0l32[(1,0,0)] LinkType: backplane",
                "c0-0c0s0g0l00",
                "c0-0c0s1g0l32",
                None,
            ),
        ] {
            assert_eq!(cable(line), (from.into(), to.into(), bandwidth), "{line}");
        }
    }

    #[test]
    fn headers_name_columns() {
        let mut lines = Lines::default();
        assert_eq!(lines.read("src,src_port,dst,dst_port,length,speed").unwrap(), Line::Nothing);
        let Line::Cables(cables) = lines.read("a,1,b,2,3m,100G").unwrap() else { panic!() };
        assert_eq!((cables[0].from.port.as_deref(), cables[0].bandwidth), (Some("1"), Some(100.0)));
        assert!(lines.read("a,1,,2").is_err());
        assert_eq!(lines.read(",,,").unwrap(), Line::Nothing);
    }

    #[test]
    fn ports_in_names_tell_cables_apart() {
        let port = |name: &str| End { name: name.into(), port: None }.whole_port();
        assert_eq!(
            (port("x1c0r1j3"), port("x1c0r1"), port("a")),
            (Some("x1c0r1j3".into()), None, None)
        );
    }
}
