//! Scotch's target architectures (`.tgt`), read as whitespace-separated words.
//!
//! The kinds are `tleaf`, `ltleaf`, `mesh2D`, `mesh3D`, `meshXD`, `torus2D`, `torus3D`, `torusXD`, `hcub`,
//! `cmplt`, `cmpltw`, `sub`, and the uncompiled form of `deco` (type 0). Slots have Scotch's numbers. In grids
//! of Scotch the first coordinate varies fastest, so that the dimensions are reversed here. Processor weights
//! of `cmpltw` and `deco` are read and not used.

use super::shapes::too_large;
use super::{MAX_SLOTS, bounded, read_text, usage};
use crate::topology::{DistanceMatrix, Grid, Subset, Topology, Tree};
use crate::{Error, ErrorKind, Result};

pub(super) fn read(path: &str) -> Result<Box<dyn Topology>> {
    parse(&read_text(path)?, &format!("scotch:{path}")).map_err(|e| e.at(path))
}

fn bad(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Format, what)
}

/// The words of a file, one after the other.
struct Words<'a> {
    words: std::str::SplitWhitespace<'a>,
}

impl<'a> Words<'a> {
    fn word(&mut self, what: &str) -> Result<&'a str> {
        self.words.next().ok_or_else(|| bad(format!("the file ends before {what}")))
    }

    fn number(&mut self, what: &str) -> Result<usize> {
        let word = self.word(what)?;
        match word.parse::<usize>() {
            Ok(number) if number <= u32::MAX as usize => Ok(number),
            _ => Err(bad(format!("'{word}' is not {what}"))),
        }
    }

    fn positive(&mut self, what: &str) -> Result<usize> {
        match self.number(what)? {
            0 => Err(bad(format!("{what} is 0"))),
            number => Ok(number),
        }
    }

    /// The file must end here. To be called before a large machine is made: each architecture is the last in its file.
    fn end(&mut self) -> Result<()> {
        match self.words.next() {
            Some(extra) => Err(bad(format!("'{extra}' stands behind the end of the architecture"))),
            None => Ok(()),
        }
    }

    fn list(&mut self, count: usize, what: &str) -> Result<Vec<usize>> {
        (0..count).map(|_| self.number(what)).collect()
    }
}

fn parse(text: &str, label: &str) -> Result<Box<dyn Topology>> {
    let mut words = Words { words: text.split_whitespace() };
    let topology = architecture(&mut words, label)?;
    words.end()?;
    Ok(topology)
}

fn architecture(words: &mut Words, label: &str) -> Result<Box<dyn Topology>> {
    let kind = words.word("an architecture")?;
    match kind.to_ascii_lowercase().as_str() {
        "tleaf" => {
            let levels = levels(words)?;
            words.end()?;
            Ok(Box::new(leaf_tree(levels)?.with_label(label.into())))
        }
        "ltleaf" => {
            let levels = levels(words)?;
            let count = words.positive("the length of the permutation")?;
            let labels = words.list(count, "a label of the permutation")?;
            words.end()?;
            let tree = leaf_tree(levels)?;
            let slots = tree.slots();
            let position =
                positions(&labels).map_err(|_| bad(format!("{labels:?} is not a permutation")))?;
            if slots % count != 0 {
                return Err(bad(format!(
                    "the length {count} of the permutation does not divide the \
                                        {slots} slots"
                )));
            }
            let order: Vec<usize> =
                (0..slots).map(|slot| slot / count * count + position[slot % count]).collect();
            Ok(Box::new(tree.restricted(&order).with_label(label.into())))
        }
        shape @ ("mesh2d" | "torus2d") => grid(words, 2, shape == "torus2d", label),
        shape @ ("mesh3d" | "torus3d") => grid(words, 3, shape == "torus3d", label),
        shape @ ("meshxd" | "torusxd") => {
            let dims = words.positive("the number of dimensions")?;
            if dims > 32 {
                return Err(bad(format!("{dims} dimensions, more than 32")));
            }
            grid(words, dims, shape == "torusxd", label)
        }
        "hcub" => {
            let dims = words.positive("the number of dimensions")?;
            let grid = Some(dims).filter(|&d| d <= MAX_SLOTS.ilog2() as usize);
            let grid = grid.ok_or_else(|| bad(format!("{dims} dimensions are too many")))?;
            words.end()?;
            let grid = Grid::hypercube(grid).ok_or_else(|| bad(too_large(dims)))?;
            Ok(Box::new(grid.with_label(label.into())))
        }
        complete @ ("cmplt" | "cmpltw") => {
            let slots = words.positive("the number of processors")?;
            if slots > MAX_SLOTS {
                return Err(bad(format!("{slots} processors, more than {MAX_SLOTS}")));
            }
            if complete == "cmpltw" {
                words.list(slots, "a processor weight")?;
            }
            words.end()?;
            let tree = Tree::regular(&[slots], &[1]).ok_or_else(|| bad("no processors"))?;
            Ok(Box::new(tree.with_label(label.into())))
        }
        "sub" => {
            let count = words.positive("the number of processors")?;
            let slots = words.list(count.min(MAX_SLOTS), "a processor")?;
            let whole = architecture(words, label)?;
            Ok(Box::new(Subset::of_owned(whole, &slots)?))
        }
        "deco" => decomposition(words, label),
        _ => Err(bad(format!("the architecture '{kind}' is not known")).advise(
            "tleaf, ltleaf, mesh2D, mesh3D, meshXD, torus2D, torus3D, torusXD, hcub, cmplt, \
             cmpltw, sub or deco 0",
        )),
    }
}

/// The position of each label of a permutation. The error is the first label that is too large or occurs twice.
fn positions(labels: &[usize]) -> std::result::Result<Vec<usize>, usize> {
    let mut position = vec![usize::MAX; labels.len()];
    for (k, &label) in labels.iter().enumerate() {
        match position.get_mut(label) {
            Some(free) if *free == usize::MAX => *free = k,
            _ => return Err(label),
        }
    }
    Ok(position)
}

/// `levels arity1 length1 …`, from the root down: arity and length of each level.
fn levels(words: &mut Words) -> Result<(Vec<usize>, Vec<u64>)> {
    let levels = words.positive("the number of levels")?;
    let (mut arity, mut lengths) = (Vec::new(), Vec::new());
    for _ in 0..levels {
        arity.push(words.positive("the arity of a level")?);
        lengths.push(words.positive("the length of a level")? as u64);
    }
    Ok((arity, lengths))
}

/// Scotch adds the lengths of the levels: the distance of two leaves that first differ at level k is the sum of the
/// lengths from level k down.
fn leaf_tree((arity, mut costs): (Vec<usize>, Vec<u64>)) -> Result<Tree> {
    for level in (1..costs.len()).rev() {
        costs[level - 1] += costs[level];
    }
    bounded(&arity).ok_or_else(|| bad(format!("more than {MAX_SLOTS} leaves")))?;
    Tree::regular(&arity, &costs).ok_or_else(|| bad("not a tree"))
}

fn grid(words: &mut Words, dims: usize, wrap: bool, label: &str) -> Result<Box<dyn Topology>> {
    let mut sides = (0..dims)
        .map(|_| words.positive("the length of a dimension"))
        .collect::<Result<Vec<usize>>>()?;
    sides.reverse();
    bounded(&sides).ok_or_else(|| bad(format!("more than {MAX_SLOTS} processors")))?;
    words.end()?;
    let grid = Grid::new(&sides, &vec![wrap; dims]).ok_or_else(|| bad(too_large(dims)))?;
    Ok(Box::new(grid.with_label(label.into())))
}

/// `deco 0`: processors as `label weight domain`, then the lower triangle of their distances.
fn decomposition(words: &mut Words, label: &str) -> Result<Box<dyn Topology>> {
    let kind = words.number("the type of the decomposition")?;
    if kind != 0 {
        return Err(usage(format!("decompositions of type {kind} are not read"))
            .advise("type 0, as `amk_grf` writes it"));
    }
    let slots = words.positive("the number of processors")?;
    if slots > 1 << 15 {
        return Err(bad(format!("{slots} processors have too many distances")));
    }
    words.number("the number of domains")?;
    let mut labels = Vec::with_capacity(slots);
    for _ in 0..slots {
        labels.push(words.number("the label of a processor")?);
        words.list(2, "weight and domain of a processor")?;
    }
    let order = positions(&labels)
        .map_err(|label| bad(format!("the label {label} is not one of {slots} different ones")))?;
    let mut lower: Vec<Vec<u32>> = Vec::with_capacity(slots);
    for i in 0..slots {
        let row = (0..i).map(|_| words.positive("a distance").map(|d| d as u32));
        lower.push(row.collect::<Result<_>>()?);
    }
    let between = |i: usize, j: usize| lower[i.max(j)].get(i.min(j)).copied().unwrap_or(0);
    let rows: Vec<Vec<u32>> =
        order.iter().map(|&i| order.iter().map(|&j| between(i, j)).collect()).collect();
    Ok(Box::new(DistanceMatrix::new(&rows)?.with_label(label.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(text: &str) -> Box<dyn Topology> {
        parse(text, "scotch:x").unwrap()
    }

    #[test]
    fn trees_from_the_root_down() {
        let t = topology("tleaf 3 3 20 2 7 2 2\n");
        let d: Vec<u64> = [1, 2, 4].iter().map(|&b| t.distance(0, b)).collect();
        assert_eq!((t.slots(), d), (12, vec![2, 9, 29]));
        // Label 3 sits beside label 1, as Scotch places two heavy pairs.
        let t = topology("ltleaf 2 2 10 2 1 4 0 2 3 1");
        assert_eq!((t.distance(3, 1), t.distance(2, 0), t.distance(0, 1)), (1, 1, 11));
    }

    /// The distances of all pairs together, as `gmap -vm` of Scotch 7.0.3 prints them (CommDilat) for
    /// a complete graph on the whole target.
    #[test]
    fn distances_are_those_of_scotch() {
        for (text, sum) in [
            ("tleaf 3 3 20 2 7 2 2", 1512),
            ("torus2D 4 3", 120),
            ("mesh3D 3 2 2", 136),
            ("hcub 3", 48),
            ("sub 3 0 5 3 tleaf 2 2 10 4 1", 23),
        ] {
            let t = topology(text);
            let pairs = (0..t.slots()).flat_map(|a| (0..a).map(move |b| (a, b)));
            assert_eq!(pairs.map(|(a, b)| t.distance(a, b)).sum::<u64>(), sum, "{text}");
        }
    }

    #[test]
    fn grids_number_the_first_coordinate_fastest() {
        let t = topology("mesh2D 3 2");
        assert_eq!((t.distance(0, 2), t.distance(0, 3)), (2, 1));
        assert_eq!(topology("torus3D 4 4 4").slots(), 64);
        assert_eq!(topology("torusXD 4 4 4 4 4").slots(), 256);
        assert_eq!(topology("hcub 3").distance(0, 7), 3);
        assert_eq!(topology("cmpltw 3 1 2 1").distance(0, 2), 1);
    }

    #[test]
    fn parts_of_a_machine() {
        let t = topology("sub 3 0 5 3 tleaf 2 2 10 4 1");
        assert_eq!((t.slots(), t.distance(0, 1), t.distance(0, 2)), (3, 11, 1));
        assert_eq!(t.as_tree().unwrap().slots(), 3);
    }

    #[test]
    fn decomposition_as_amk_m2_writes_it() {
        let t = topology(
            "deco\n0\n6 11\n0 1 8\n1 1 10\n2 1 6\n3 1 9\n4 1 11\n5 1 7\n1\n2 1\n1 2 3\n2 1 2 1\n3 2 \
             1 2 1\n",
        );
        let mesh = topology("mesh2D 3 2");
        for a in 0..6 {
            for b in 0..6 {
                assert_eq!(t.distance(a, b), mesh.distance(a, b));
            }
        }
    }

    #[test]
    fn wrong_files_are_named() {
        for (text, what) in [
            ("", "ends before an architecture"),
            ("ring 4", "'ring'"),
            ("tleaf 2 2 10", "ends before the arity"),
            ("tleaf 1 2 0", "length of a level is 0"),
            ("tleaf 1 2 1 9", "'9' stands behind"),
            ("tleaf 1 -2 1", "'-2'"),
            ("ltleaf 1 4 1 2 0 0", "not a permutation"),
            ("sub 2 0 9 cmplt 4", "slot 9"),
            ("deco 2", "type 2"),
            ("deco 0 2 3 0 1 2 0 1 3", "label 0"),
            ("mesh2D 100000 100000", "more than"),
        ] {
            let error = parse(text, "scotch:x").err().unwrap().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
