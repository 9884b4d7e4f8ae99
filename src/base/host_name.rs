//! The part of the name of a host by which hosts are told apart.

/// The name of a host without its domain, in lower case: launchers, batch systems and the hosts themselves name a
/// host with or without its domain. Addresses stay whole.
pub fn short_name(name: &str) -> String {
    let is_address = name.contains(':') || name.chars().all(|c| c.is_ascii_digit() || c == '.');
    let short = if is_address { name } else { name.split('.').next().unwrap_or(name) };
    short.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_domain_and_addresses_nothing() {
        for (name, short) in
            [("N0.site.org", "n0"), ("n0", "n0"), ("10.1.2.3", "10.1.2.3"), ("fe80::A", "fe80::a")]
        {
            assert_eq!(short_name(name), short);
        }
    }
}
