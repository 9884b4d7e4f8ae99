//! Lists of programs, as patterns of their names.

use std::str::Chars;

/// Patterns such as `lmp*,/opt/site/bin/*,cg.?.16`: `*` stands for any characters, `?` for one character. A
/// pattern with a slash is compared with the full path of the executable. Any other pattern is compared with
/// the name of the executable, and with the name of the script if the executable is an interpreter.
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

    /// Whether the list has no pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The first pattern that a program matches. `path` is the path of its executable; `name` is the name of
    /// the script or of the program.
    pub fn matching(&self, path: &str, name: &str) -> Option<&str> {
        let base = path.rsplit('/').next().unwrap_or(path);
        self.patterns.iter().map(String::as_str).find(|pattern| match pattern.contains('/') {
            true => matches(pattern, path),
            false => matches(pattern, base) || matches(pattern, name),
        })
    }
}

/// Whether the whole text matches the pattern. The time grows at most with the product of the two lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // What is behind the last star in the pattern, and behind the characters that this star stands
    // for. If a character behind the star does not match, the star takes one character more.
    let mut retry: Option<(Chars, Chars)> = None;
    while let Some(c) = text.clone().next() {
        match pattern.clone().next() {
            Some('*') => {
                pattern.next();
                retry = Some((pattern.clone(), text.clone()));
            }
            Some(p) if p == '?' || p == c => {
                pattern.next();
                text.next();
            }
            _ => match &mut retry {
                Some((after, from)) => {
                    from.next();
                    (pattern, text) = (after.clone(), from.clone());
                }
                None => return false,
            },
        }
    }
    pattern.all(|c| c == '*')
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
