//! The axes of a figure: captions, numbers or names of nodes, and lines between nodes.

use super::{Figure, LEFT, TOP};
use crate::report::units;
use maud::{Markup, html};
use std::fmt::Write;

/// The largest number of groups that are named on the axes. More groups are only separated by lines.
const NAMED: usize = 16;
/// The largest number of numbers on an axis.
const NUMBERS: usize = 9;
/// The largest number of characters of a name.
const LONGEST: usize = 9;
/// The approximate width of a character.
const CHARACTER: f64 = 7.0;

/// The captions of both axes, and the numbers or names along them.
pub(super) fn labels(figure: &Figure<'_>) -> Markup {
    let middle = figure.used() / 2.0;
    html! {
        text x=(LEFT + middle) y="36" text-anchor="middle" { "receiver (" (figure.unit) ") →" }
        text transform={ "translate(14 " (TOP + middle) ") rotate(-90)" } text-anchor="middle" {
            "← sender (" (figure.unit) ")"
        }
        @for (at, text) in ticks(figure) {
            text x=(format!("{:.1}", LEFT + at)) y=(TOP - 6.0) text-anchor="middle" font-size="11" {
                (text)
            }
            text x=(LEFT - 5.0) y=(format!("{:.1}", TOP + at + 4.0)) text-anchor="end"
                font-size="11" { (text) }
        }
    }
}

/// The places along an axis that have a label, each with its label.
fn ticks(figure: &Figure<'_>) -> Vec<(f64, String)> {
    let (tasks, scale) = (figure.tasks(), figure.scale());
    let groups = &figure.groups;
    if !(2..=NAMED).contains(&groups.len()) {
        let numbers = (0..tasks).step_by(step(tasks, NUMBERS));
        return numbers.map(|n| ((n as f64 + 0.5) * scale, n.to_string())).collect();
    }
    let ends = groups.iter().skip(1).map(|group| group.0).chain([tasks]);
    groups
        .iter()
        .zip(ends)
        .map(|((start, name), end)| {
            let room = (end.saturating_sub(*start) as f64 * scale / CHARACTER) as usize;
            ((start + end) as f64 / 2.0 * scale, shortened(&units::printable(name), room))
        })
        .collect()
}

/// The end of a name, as long as the room allows. Host names usually differ at their ends.
fn shortened(name: &str, room: usize) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= room.min(LONGEST) {
        return name.to_string();
    }
    let keep = room.clamp(2, LONGEST).min(characters.len());
    characters[characters.len() - keep..].iter().collect()
}

/// Lines between groups, unless the lines would hide the cells between them.
pub(super) fn separators(figure: &Figure<'_>) -> Markup {
    let (groups, used) = (figure.groups.len(), figure.used());
    if groups < 2 || used / (groups as f64) < 5.0 {
        return html! {};
    }
    let mut path = String::new();
    for (start, _) in figure.groups.iter().skip(1) {
        let at = *start as f64 * figure.scale();
        // Writing into a string does not fail.
        let _ = write!(path, "M{:.1} {TOP}v{used:.1}M{LEFT} {:.1}h{used:.1}", LEFT + at, TOP + at);
    }
    html! { path d=(path) stroke="#fff" stroke-opacity=".45" fill="none" {} }
}

/// A step of 1, 2 or 5 times a power of ten that gives at most `most` ticks up to `end`.
fn step(end: usize, most: usize) -> usize {
    let mut base = 1usize;
    loop {
        for factor in [1, 2, 5] {
            let step = base.saturating_mul(factor);
            if end / step <= most || step == usize::MAX {
                return step;
            }
        }
        base = base.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!([step(4, 9), step(64, 9), step(100, 9), step(5000, 9)], [1, 10, 20, 1000]);
        step(usize::MAX, 9);
    }

    #[test]
    fn names_keep_their_end() {
        assert_eq!(shortened("node12", 20), "node12");
        assert_eq!(shortened("cluster-node12", 20), "er-node12");
        assert_eq!(shortened("node12", 0), "12");
    }
}
