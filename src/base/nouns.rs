//! Numbers with the things that they count: `1 node`, `2 nodes`, `0 matches`.

use std::fmt::Display;

/// A number with its noun, in the singular or the plural. If the noun has several words, the last one gets the ending.
pub fn counted(count: impl Copy + Display + PartialEq + From<u8>, noun: &str) -> String {
    match count == 1.into() {
        true => format!("{count} {noun}"),
        false => format!("{count} {}", plural(noun)),
    }
}

/// The noun alone, as it follows so many things.
pub fn noun(count: impl PartialEq + From<u8>, noun: &str) -> String {
    if count == 1.into() { noun.into() } else { plural(noun) }
}

/// The verb that follows so many things.
pub fn are(count: impl PartialEq + From<u8>) -> &'static str {
    if count == 1.into() { "is" } else { "are" }
}

fn plural(noun: &str) -> String {
    let is_consonant = |c: char| c.is_ascii_alphabetic() && !"aeiou".contains(c);
    if let Some(stem) = noun.strip_suffix('y').filter(|stem| stem.ends_with(is_consonant)) {
        return format!("{stem}ies");
    }
    for (singular, plural) in [("matrix", "matrices"), ("vertex", "vertices")] {
        if let Some(before) = noun.strip_suffix(singular) {
            return format!("{before}{plural}");
        }
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    format!("{noun}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_several() {
        assert_eq!([0usize, 1, 2].map(|n| counted(n, "node")), ["0 nodes", "1 node", "2 nodes"]);
        assert_eq!(counted(2u64, "switch"), "2 switches");
        assert_eq!(counted(2u32, "process"), "2 processes");
        assert_eq!(counted(3u64, "earlier entry"), "3 earlier entries");
        assert_eq!(counted(2usize, "day"), "2 days");
        assert_eq!(counted(2usize, "stored matrix"), "2 stored matrices");
        assert_eq!([are(0usize), are(1usize), are(2usize)], ["are", "is", "are"]);
        assert_eq!((noun(1usize, "task"), noun(2usize, "task")), ("task".into(), "tasks".into()));
    }
}
