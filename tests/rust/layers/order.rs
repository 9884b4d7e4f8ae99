//! The written order of the folders, and the departures of the sources from it.

use super::sources::{Crate, Files, Name};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One departure from the order. `rule` is what an exception repeats; `places` says where.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: String,
    pub places: Vec<String>,
}

/// Names of a folder's files and folders, lowest first, from its file LAYERS: one a line, each followed
/// by what lives there. Lines that begin with `#` are comments.
pub fn parse(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.filter_map(|l| l.split_whitespace().next()).map(str::to_string).collect()
}

/// All departures of the sources in a folder that is called `root` in findings.
pub fn findings(root: &str, source: &Crate, files: &dyn Files) -> Vec<Finding> {
    let mut found = Vec::new();
    for base in folders(source) {
        let place = base.join("/");
        let shown = if place.is_empty() { root.to_string() } else { format!("{root}/{place}") };
        let arrows = arrows(root, source, &base);
        if let Some(text) = files.read(&Path::new(&place).join("LAYERS")) {
            found.extend(against(&shown, &parse(&text), &children(source, &base), &arrows));
            continue;
        }
        if base.is_empty() {
            found.push(Finding { rule: format!("no LAYERS in {shown}"), places: Vec::new() });
        }
        if let Some(circle) = circle(&arrows) {
            let rule = format!("circle in {shown}");
            found.push(Finding { rule, places: vec![circle.join(", ")] });
        }
    }
    found
}

/// Modules that have modules of their own, the root first.
fn folders(source: &Crate) -> Vec<Name> {
    let with_children = source.modules.keys().filter(|name| !name.is_empty());
    let parents: BTreeSet<Name> = with_children.map(|n| n[..n.len() - 1].to_vec()).collect();
    parents.into_iter().collect()
}

fn children(source: &Crate, base: &Name) -> BTreeSet<String> {
    let below = source.modules.keys().filter(|n| n.len() > base.len() && n.starts_with(base));
    below.map(|n| n[base.len()].clone()).collect()
}

/// The head of a folder, which stands above all that it declares.
const HEAD: &str = "mod";

type Arrows = BTreeMap<(String, String), Vec<String>>;

/// Who names whom among the files and folders of `base`, with the places.
fn arrows(root: &str, source: &Crate, base: &Name) -> Arrows {
    let depth = base.len();
    let node = |name: &[String]| name.get(depth).map_or(HEAD.to_string(), Clone::clone);
    let mut found = Arrows::new();
    for (name, module) in source.modules.iter().filter(|(name, _)| name.starts_with(base)) {
        for reference in module.references.iter().filter(|r| r.path.starts_with(base)) {
            let named = &reference.path[..reference.path.len().min(depth + 1)];
            let to = if named.len() > depth && source.modules.contains_key(named) {
                node(named)
            } else {
                let home = source.home(&reference.path);
                if !home.starts_with(base) {
                    continue;
                }
                node(&home)
            };
            let from = node(name);
            if from != to {
                let place = format!("{root}/{}:{}", module.file.display(), reference.line);
                found.entry((from, to)).or_default().push(place);
            }
        }
    }
    found
}

fn against(
    shown: &str,
    order: &[String],
    there: &BTreeSet<String>,
    arrows: &Arrows,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |rule: String, places: &[String]| {
        found.push(Finding { rule, places: places.to_vec() });
    };
    for name in there.iter().filter(|name| !order.contains(name)) {
        say(format!("{shown}/LAYERS does not list {name}"), &[]);
    }
    for (k, name) in order.iter().enumerate() {
        if !there.contains(name) && name != HEAD {
            say(format!("{shown}/LAYERS lists {name}, which is not there"), &[]);
        }
        if order[..k].contains(name) {
            say(format!("{shown}/LAYERS lists {name} twice"), &[]);
        }
    }
    let height = |name: &str| match order.iter().position(|n| n == name) {
        None if name == HEAD => Some(order.len()),
        other => other,
    };
    for ((from, to), places) in arrows {
        if let (Some(a), Some(b)) = (height(from), height(to))
            && a < b
        {
            say(format!("{shown}: {from} names {to}"), places);
        }
    }
    found
}

/// The files and folders that lie on a circle of arrows, if there are any. The arrows of the folder's
/// head are left out: it names its children to hand their items on.
fn circle(arrows: &Arrows) -> Option<Vec<String>> {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys().filter(|(from, to)| from != HEAD && to != HEAD) {
        reached.entry(from).or_default().insert(to);
    }
    loop {
        let before = reached.clone();
        for onward in reached.values_mut() {
            let further = onward.iter().filter_map(|name| before.get(name)).flatten();
            let further: Vec<&str> = further.copied().collect();
            onward.extend(further);
        }
        if reached == before {
            break;
        }
    }
    let circle = reached.into_iter().filter(|(name, onward)| onward.contains(name));
    let names: Vec<String> = circle.map(|(name, _)| name.to_string()).collect();
    (!names.is_empty()).then_some(names)
}
