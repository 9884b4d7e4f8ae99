//! What the texts of InfiniBand tools tell: the host in the description of an adapter, and the bandwidth of a link.
//!
//! The kernel describes an adapter as `HOST DEVICE`, such as `n101 mlx5_0` (rdma-ndd(8), `%h %d`), and older releases
//! as `n101 HCA-1`. Before the host has started, an adapter has the description of its firmware instead:
//! `MT4129 ConnectX7   Mellanox Technologies`. This is no host. The switches of Quantum and later have adapters for
//! reductions inside the network, `Mellanox Technologies Aggregation Node`, which are no hosts either. A host that does
//! not know its own name when the adapter starts calls itself `localhost` or `(none)`: many adapters may have such a
//! name, and it is that of no host.

/// The host that an adapter of this description belongs to; `None` if the description names no host.
pub(super) fn host(description: &str) -> Option<String> {
    let words: Vec<&str> = description.split_whitespace().collect();
    let first = *words.first()?;
    if is_of_vendor(&words) {
        return None;
    }
    let named = words.iter().rposition(|word| !is_device(word))? + 1;
    let name = match &words[..named] {
        // A description of one word may have the device at its end.
        [one] => without_device(one).to_string(),
        // The last words were names of devices, so that all others are the host.
        several if named < words.len() => several.join(" "),
        [name, number] if number.bytes().all(|b| b.is_ascii_digit()) => format!("{name} {number}"),
        // The device has an unusual name.
        [name, _] => (*name).to_string(),
        several if first.contains(|c: char| c.is_ascii_digit() || c == '.') => {
            several[0].to_string()
        }
        several => several.join(" "),
    };
    is_of_host(&name).then_some(name)
}

/// What stands where a name is missing: in the kernel, in scripts that set descriptions, in tools.
const PLACEHOLDERS: [&str; 16] = [
    "localhost",
    "localhost4",
    "localhost6",
    "ip6-localhost",
    "ip6-loopback",
    "none",
    "(none)",
    "null",
    "(null)",
    "unknown",
    "unnamed",
    "noname",
    "undefined",
    "n/a",
    "-",
    "?",
];

/// Whether a name can be that of one host, and does not only stand where a name is missing: `localhost`,
/// `localhost.localdomain`, `(none)`, `<unknown>`.
pub(super) fn is_of_host(name: &str) -> bool {
    let short = name.split('.').next().unwrap_or(name);
    let bare = short.trim_matches(['<', '>', '[', ']', '"', '\'', ' ']);
    !bare.is_empty() && !PLACEHOLDERS.iter().any(|known| bare.eq_ignore_ascii_case(known))
}

/// Whether a description is that of the adapter inside a switch that reduces messages.
pub(super) fn is_aggregation_node(description: &str) -> bool {
    let mut words = description.split_whitespace();
    words.any(|word| word.eq_ignore_ascii_case("aggregation"))
}

/// Whether a description is that of a vendor's firmware.
fn is_of_vendor(words: &[&str]) -> bool {
    let numbered = |word: &str, prefix: &str| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() >= 4 && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    if numbered(words[0], "MT") {
        return true;
    }
    let vendors = ["Mellanox", "NVIDIA", "Voltaire", "QLogic", "Topspin", "Intel", "Xsigo"];
    let begins = vendors.contains(&words[0]) && words.get(1).is_some_and(|word| !is_device(word));
    begins
        || words.iter().skip(1).any(|word| {
            let whole = ["mellanox", "technologies", "infinihost", "aggregation"];
            whole.iter().any(|known| word.eq_ignore_ascii_case(known))
                || ["connectx", "connect-ib"].iter().any(|known| after(word, known).is_some())
        })
}

/// What follows a prefix, in upper or lower case.
fn after<'a>(word: &'a str, prefix: &str) -> Option<&'a str> {
    let head = word.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &word[prefix.len()..])
}

/// Whether a word is the name of an adapter: `HCA-1`, `mlx5_0`, `hfi1_0`, `rocep1s0`, `ib0`.
fn is_device(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(rest) = after(word, "hca") {
        return digits(rest.trim_start_matches(['-', '_']));
    }
    if let Some((before, _)) = word.rsplit_once('_').filter(|(_, number)| digits(number)) {
        let stem = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let known = [
            "mlx",
            "mlx5_ib",
            "mlx5_bond",
            "hfi",
            "mthca",
            "bnxt_re",
            "irdma",
            "qedr",
            "efa",
            "hns",
        ];
        let is = |known: &&str| [stem, before].iter().any(|name| name.eq_ignore_ascii_case(known));
        if known.iter().any(is) {
            return true;
        }
    }
    let numbered =
        ["ib", "qib", "mthca", "ehca", "ipath", "rdma", "irdma", "rxe", "siw", "hsn", "opa"];
    let udev = ["ibp", "ibs", "rocep", "roceo", "opap", "iwp"];
    numbered.iter().any(|prefix| after(word, prefix).is_some_and(digits))
        || udev.iter().any(|prefix| {
            after(word, prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
}

/// `n101/HCA-1`, `n101:mlx5_0` or `n101-HCA-1` without the device.
fn without_device(word: &str) -> &str {
    let ends = word.char_indices().filter(|&(_, c)| "/:-_".contains(c));
    for (at, c) in ends {
        let rest = &word[at + c.len_utf8()..];
        // `-ib0` or `_ib0` may well be a part of the name of a host.
        let certain = "/:".contains(c) || rest.len() > 4;
        if at > 0 && certain && is_device(rest) {
            return &word[..at];
        }
    }
    word
}

/// The bandwidth in Gbit/s in a text with `4xHDR`, `(4x HDR)` or `4x HDR`. `None` if there is none, as in `4x???`.
pub(super) fn bandwidth(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', ';']));
    while let Some(word) = words.next() {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        if !matches!((digits, word.as_bytes().get(digits)), (1.., Some(b'x' | b'X'))) {
            continue;
        }
        let Some(width) = word[..digits].parse::<u32>().ok().filter(|w| (1..=12).contains(w))
        else {
            continue;
        };
        let speed = &word[digits + 1..];
        let speed = if speed.is_empty() { words.next().unwrap_or("") } else { speed };
        if let Some(lane) = lane(speed) {
            return Some(f64::from(width) * lane);
        }
    }
    None
}

/// Gbit/s of one lane, without the coding of the line (InfiniBand Trade Association, roadmap of the speeds).
fn lane(speed: &str) -> Option<f64> {
    const LANES: [(&str, f64); 9] = [
        ("SDR", 2.0),
        ("DDR", 4.0),
        ("QDR", 8.0),
        ("FDR10", 10.0),
        ("FDR", 13.64),
        ("EDR", 25.0),
        ("HDR", 50.0),
        ("NDR", 100.0),
        ("XDR", 200.0),
    ];
    LANES.iter().find(|(name, _)| speed.eq_ignore_ascii_case(name)).map(|&(_, lane)| lane)
}

/// The bandwidth in the options of a port, `s=4 w=2`, which ibsim's files have. A width is a code of the
/// specification (1, 2, 4, 8 for 1x, 4x, 8x, 12x) or 12; the examples of ibsim write 4 for 4x.
pub(super) fn bandwidth_of_options(text: &str) -> Option<f64> {
    let option = |key: char| {
        text.split_whitespace()
            .filter_map(|word| word.split_once('='))
            .find(|(name, _)| name.chars().eq([key]))
            .and_then(|(_, value)| value.parse::<u32>().ok())
    };
    let (speed, width) = (option('s'), option('w'));
    if speed.is_none() && width.is_none() {
        return None;
    }
    let width = match width {
        Some(1) => 1.0,
        Some(8 | 12) => 12.0,
        _ => 4.0,
    };
    let lane = match speed {
        Some(2) => 4.0,
        Some(4) => 8.0,
        _ => 2.0,
    };
    Some(width * lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_name_hosts() {
        for (description, want) in [
            ("n101 HCA-1", Some("n101")),
            ("n101 hca-2", Some("n101")),
            ("n101 mlx5_0", Some("n101")),
            ("n101 mlx5_bond_0", Some("n101")),
            ("n101 hfi1_1", Some("n101")),
            ("n101 rocep65s0f0", Some("n101")),
            ("n101 mlx5_0 HCA-1", Some("n101")),
            ("n101", Some("n101")),
            ("gw201-1", Some("gw201-1")),
            ("n101 rail-3", Some("n101")),
            ("n101.example.org HCA-1", Some("n101.example.org")),
            ("compute node 7 HCA-1", Some("compute node 7")),
            ("node 7", Some("node 7")),
            ("node 7 mlx5_3", Some("node 7")),
            ("big storage server", Some("big storage server")),
            ("oss1 some long text", Some("oss1")),
            ("n101/HCA-1", Some("n101")),
            ("n101:mlx5_2", Some("n101")),
            ("n101-HCA-1", Some("n101")),
            ("n101-mlx5_2", Some("n101")),
            ("n1-ib0", Some("n1-ib0")),
            ("Intel HCA-1", Some("Intel")),
            ("  n101   HCA-1  ", Some("n101")),
            ("", None),
            ("HCA-1", None),
            ("mlx5_0", None),
            ("MT4123 ConnectX6   Mellanox Technologies", None),
            ("MT25408 ConnectX Mellanox Technologies", None),
            ("MT23108 InfiniHost Mellanox Technologies", None),
            ("MT4129", None),
            ("Mellanox Technologies Aggregation Node", None),
            ("Quantum Mellanox Technologies", None),
            ("Voltaire HCA410Ex-D", None),
            ("localhost mlx5_0", None),
            ("localhost.localdomain HCA-1", None),
            ("ip6-localhost mlx5_0", None),
            ("LOCALHOST", None),
            ("(none) mlx5_0", None),
            ("(none)", None),
            ("none HCA-1", None),
            ("unknown mlx5_1", None),
            ("<unknown>", None),
            ("localhost/HCA-1", None),
            ("localhost7 HCA-1", Some("localhost7")),
            ("none01 HCA-1", Some("none01")),
        ] {
            assert_eq!(host(description).as_deref(), want, "{description}");
        }
    }

    #[test]
    fn speeds_of_every_form() {
        for (text, want) in [
            ("lid 4 4xHDR", Some(200.0)),
            ("lid 4 4xNDR s=4 w=2 v=3", Some(400.0)),
            ("(4x HDR)", Some(200.0)),
            ("2x HDR", Some(100.0)),
            ("1xSDR", Some(2.0)),
            ("12xQDR", Some(96.0)),
            ("4x???", None),
            ("??SDR", None),
            ("0x10 4xEDR", Some(100.0)),
            ("", None),
            ("99999999999xHDR", None),
        ] {
            assert_eq!(bandwidth(text), want, "{text}");
        }
        assert_eq!(bandwidth_of_options("w=12"), Some(24.0));
        assert_eq!(bandwidth_of_options("s=4 w=2"), Some(32.0));
        assert_eq!(bandwidth_of_options("lid=3"), None);
    }
}
