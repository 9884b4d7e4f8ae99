//! Bandwidths in the units of SimGrid's platform files.

/// `125MBps`, `10Gbps`, `1e9` (bytes per second) in Gbit/s.
pub(super) fn gbits(text: &str) -> Option<f64> {
    let text = text.split(',').next()?.trim();
    let end =
        text.find(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c)).unwrap_or(text.len());
    let number: f64 = text[..end].trim().parse().ok()?;
    let unit = text[end..].trim();
    let (prefix, bits) = match (unit.strip_suffix("Bps"), unit.strip_suffix("bps")) {
        (Some(prefix), _) => (prefix, 8.0),
        (_, Some(prefix)) => (prefix, 1.0),
        _ if unit.is_empty() => ("", 8.0),
        _ => return None,
    };
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * scale * bits / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_have_units() {
        for (text, want) in [
            ("125MBps", Some(1.0)),
            ("10Gbps", Some(10.0)),
            ("1.25GBps", Some(10.0)),
            ("1e9", Some(8.0)),
            ("125000000", Some(1.0)),
            ("1Mbps,2Mbps", Some(0.001)),
            ("fast", None),
            ("", None),
        ] {
            assert_eq!(gbits(text), want, "{text}");
        }
    }
}
