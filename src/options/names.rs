//! Lists of programs, as patterns of their names.

/// Patterns such as `lmp*,/opt/site/bin/*,cg.?.16`: `*` stands for any characters, `?` for one. A
/// pattern with a slash is compared with the full path of the executable, any other with its name,
/// and with that of the script if it is an interpreter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    patterns: Vec<String>,
}

impl Names {
    /// Reads a list; separators are commas and blanks, `none` is the empty list.
    pub fn parse(text: &str) -> Names {
        let parts = text.split(|c: char| c == ',' || c.is_whitespace());
        let patterns = parts.filter(|p| !p.is_empty() && !p.eq_ignore_ascii_case("none"));
        Names { patterns: patterns.map(str::to_string).collect() }
    }

    /// The pattern that a program matches: `path` of its executable, `name` of the script or the
    /// program.
    pub fn matching(&self, path: &str, name: &str) -> Option<&str> {
        let base = path.rsplit('/').next().unwrap_or(path);
        self.patterns.iter().map(String::as_str).find(|pattern| match pattern.contains('/') {
            true => matches(pattern, path),
            false => matches(pattern, base) || matches(pattern, name),
        })
    }
}

/// Whether the pattern stands for the whole text. Takes time in proportion to the product of the two
/// lengths at most.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last star does not fit: behind the star, one character
    // further in the text.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                p += 1;
                retry = Some((p, t));
            }
            Some(&c) if c == '?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match retry {
                Some((after, from)) => {
                    (p, t) = (after, from + 1);
                    retry = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns() {
        for (pattern, text, wanted) in [
            ("lmp", "lmp", true),
            ("lmp", "lmp_mpi", false),
            ("lmp*", "lmp_mpi", true),
            ("*.x", "pw.x", true),
            ("c?.W", "cg.W", true),
            ("c?.W", "c.W", false),
            ("*a*b", "xaybzb", true),
            ("*a*b", "xaybz", false),
            ("*", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn programs() {
        let list = Names::parse("lmp*, /opt/site/*\tdriver.py none");
        assert_eq!(list.matching("/usr/bin/lmp_mpi", "lmp_mpi"), Some("lmp*"));
        assert_eq!(list.matching("/opt/site/bin/x", "x"), Some("/opt/site/*"));
        assert_eq!(list.matching("/usr/bin/python3", "driver.py"), Some("driver.py"));
        assert_eq!(list.matching("/home/me/app", "app"), None);
        assert_eq!(Names::parse("none").matching("/a/none", "none"), None);
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_and_stars_take_all(text in "[a-c*?]{0,12}", more in "[a-c]{0,9}") {
            prop_assert!(matches(&text, &text));
            let (starred, longer) = (format!("{text}*"), format!("{text}{more}"));
            prop_assert!(matches(&starred, &longer));
            let ending = format!("*{more}");
            prop_assert!(matches(&ending, &longer));
            let _ = matches(&more, &text);
        }
    }
}
