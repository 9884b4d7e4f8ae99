//! Which kind of document an XML text is, found without reading all of it.

/// The name of the first element of an XML text; `None` if the text does not begin as XML does.
pub(super) fn root_element(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let inner = rest.strip_prefix('<')?;
        let end = match inner.chars().next()? {
            '?' => "?>",
            '!' if inner.starts_with("!--") => "-->",
            '!' => ">",
            _ => {
                let end = inner.find(|c: char| c.is_whitespace() || c == '>' || c == '/');
                return end.map(|end| &inner[..end]).filter(|name| !name.is_empty());
            }
        };
        // A document type may have declarations in brackets.
        let from = match (end, inner.find('['), inner.find('>')) {
            (">", Some(open), Some(close)) if open < close => inner.find("]")?,
            // In `<!--->`, the comment goes on.
            ("-->", ..) => "!--".len(),
            _ => 0,
        };
        rest = inner[from..].split_once(end)?.1.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_element_is_found() {
        for (text, want) in [
            ("<system/>", Some("system")),
            (
                "\u{feff} <?xml version='1.0'?>\n<!-- <x> -->\n<system version=\"1\">",
                Some("system"),
            ),
            (
                "<!DOCTYPE platform SYSTEM \"simgrid.dtd\">\n<platform version=\"4.1\">",
                Some("platform"),
            ),
            ("<!DOCTYPE a [<!ENTITY b \"c\">]><a>", Some("a")),
            ("<!--->- text -->\n<system>", Some("system")),
            ("<!---->\n<system>", Some("system")),
            ("<!--->", None),
            ("Switch 8", None),
            ("<", None),
            ("<a", None),
            ("<!--", None),
            ("", None),
        ] {
            assert_eq!(root_element(text), want, "{text}");
        }
    }
}
