//! The names of places in Cray and HPE Cray systems: which router or node a name belongs to.
//!
//! | name | belongs to | system |
//! |---|---|---|
//! | `x1000c0r3j14p0`, `x1000c0r3a0l12`, `x1000c0r3b0` | router `x1000c0r3` | HPE Cray EX and Shasta (Slingshot) |
//! | `x1000c0s3b0n0h1` | node `x1000c0s3b0n0` | the same |
//! | `c0-0c1s4a0l10`, `c0-0c1s4g1l32` | router `c0-0c1s4a0`, `c0-0c1s4g1` | Cray XC (Aries), XE and XK (Gemini) |
//! | `c0-0c1s4n2` | node `c0-0c1s4n2` | the same |
//!
//! Slingshot lists also write dots, `x1000.c0.r3.j14`. Letters are cabinet (x, c), chassis (c), slot (s), router or
//! switch (r, w, a, g), board (b), node (n), interface (h), jack (j), port (p) and link (l).
//! Sources: the names of HPE's Cray System Management (`hms-xname`) and Cray's `rtr --interconnect`.

/// What a name stands for, under the name without port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A router or switch.
    Router(String),
    /// A compute node.
    Node(String),
}

/// The letters and numbers of a name, in which the cabinet of older systems has two numbers (`c0-0`).
fn parts(name: &str) -> Option<Vec<(char, &str)>> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        if !letter.is_ascii_lowercase() || parts.len() == 12 {
            return None;
        }
        let after = &rest[1..];
        let end = after.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(after.len());
        let number = &after[..end];
        let is_number = |text: &str| {
            !text.is_empty() && text.len() <= 6 && text.bytes().all(|b| b.is_ascii_digit())
        };
        let fits = match number.split_once('-') {
            Some((row, column)) => {
                parts.is_empty() && letter == 'c' && is_number(row) && is_number(column)
            }
            None => is_number(number),
        };
        if !fits {
            return None;
        }
        parts.push((letter, number));
        rest = &after[end..];
    }
    Some(parts)
}

/// The place that a name belongs to; `None` if it is no such name.
pub(super) fn place(name: &str) -> Option<Place> {
    if !name.starts_with(['x', 'c', 'X', 'C']) || name.len() > 64 {
        return None;
    }
    let mut name = name.to_ascii_lowercase();
    if name.starts_with('x') {
        name.retain(|c| c != '.');
    }
    let parts = parts(&name)?;
    let letters: String = parts.iter().map(|part| part.0).collect();
    let first = |count: usize| {
        parts[..count].iter().map(|(letter, number)| format!("{letter}{number}")).collect()
    };
    let is_old = parts[0].1.contains('-');
    match letters.as_str() {
        _ if !is_old && (letters.starts_with("xcr") || letters.starts_with("xcw")) => {
            Some(Place::Router(first(3)))
        }
        _ if !is_old && letters.starts_with("xcsbn") => Some(Place::Node(first(5))),
        _ if !is_old && letters.starts_with("xcsn") => Some(Place::Node(first(4))),
        "ccsa" | "ccsal" | "ccsg" | "ccsgl" if is_old => Some(Place::Router(first(4))),
        "ccsn" if is_old => Some(Place::Node(first(4))),
        _ => None,
    }
}

/// What the names of the routers begin with to which a node is attached, and whether they are the whole name.
///
/// - Slingshot: all routers of the chassis of the node, `x1000c0r`. The name of a node does not tell its routers, and
///   all nodes of a chassis can have links to all of its routers.
/// - Aries: the router of the blade, `c0-0c1s4a0`.
/// - Gemini: the first router of the blade for the nodes 0 and 1, the second one for the nodes 2 and 3.
pub(super) fn routers_of(node: &str) -> Option<[(String, bool); 2]> {
    let Place::Node(node) = place(node)? else { return None };
    let parts = parts(&node)?;
    let blade: String =
        parts[..3].iter().map(|(letter, number)| format!("{letter}{number}")).collect();
    if node.starts_with('x') {
        let chassis: String =
            parts[..2].iter().map(|(letter, number)| format!("{letter}{number}")).collect();
        return Some([(format!("{chassis}r"), false), (format!("{chassis}w"), false)]);
    }
    let number: usize = parts.last()?.1.parse().ok()?;
    Some([(format!("{blade}a0"), true), (format!("{blade}g{}", number / 2), true)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_belong_to_places() {
        let router = |name: &str| Some(Place::Router(name.into()));
        let node = |name: &str| Some(Place::Node(name.into()));
        for (name, want) in [
            ("x1000c0r3j14", router("x1000c0r3")),
            ("x1000c0r3j14p1", router("x1000c0r3")),
            ("x1000c0r3a0l12", router("x1000c0r3")),
            ("X1000C0R3", router("x1000c0r3")),
            ("x3000.c0.r15.j13", router("x3000c0r15")),
            ("x3000c0w14j3", router("x3000c0w14")),
            ("x1000c0s3b0n1", node("x1000c0s3b0n1")),
            ("x3000.c0.s22.b1.n0.h0", node("x3000c0s22b1n0")),
            ("x7000c0s0n0h11", node("x7000c0s0n0")),
            ("c0-0c0s0a0l10", router("c0-0c0s0a0")),
            ("c12-3c2s15a0", router("c12-3c2s15a0")),
            ("c0-0c1s4g1l32", router("c0-0c1s4g1")),
            ("c0-0c0s3n2", node("c0-0c0s3n2")),
            ("c0", None),
            ("x1000c0", None),
            ("x1", None),
            ("xc", None),
            ("c0-0", None),
            ("cluster1", None),
            ("c0-0c0s0a0x", None),
            ("x1000c0s3b0", None),
            ("", None),
        ] {
            assert_eq!(place(name), want, "{name}");
        }
    }

    #[test]
    fn nodes_are_attached_by_their_names() {
        let of = |name| routers_of(name).map(|routers| routers.map(|router| router.0));
        assert_eq!(of("x1000c2s3b0n0").unwrap()[0], "x1000c2r");
        assert_eq!(of("c0-0c1s4n1").unwrap(), ["c0-0c1s4a0", "c0-0c1s4g0"]);
        assert_eq!(of("c0-0c1s4n2").unwrap()[1], "c0-0c1s4g1");
        assert_eq!((of("c0-0c1s4a0"), of("n7")), (None, None));
    }
}
