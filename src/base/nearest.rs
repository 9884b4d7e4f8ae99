//! The known word that is most like a misspelt one. The distance between two words is the number of letters that are
//! inserted, removed, replaced, or exchanged with the next one (optimal string alignment, crate strsim).

/// Words with at most this distance are taken for misspelt, if most of their letters are right.
const FARTHEST: usize = 2;

/// A word with at least so many letters may also be the beginning of the word that was meant, as `--topo`.
const SHORTEST_BEGINNING: usize = 3;

/// So many letters of a name, up to a hyphen, may be what a misspelt word stands for, as `hiertopmap` for `hiertopomap-tree`.
const SHORTEST_PART: usize = 5;

/// The word among `known` that is most like `word`; `None` if none is like it.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let like = known.into_iter().filter_map(|name| Some((likeness(word, name)?, name)));
    like.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The distance of a word from a name that it may stand for. Not a part of `nearest`, which the compiler makes once for
/// each kind of list.
fn likeness(word: &str, name: &str) -> Option<usize> {
    let is_near = |distance: usize| distance <= FARTHEST && 2 * distance < word.len().max(2);
    let distance = strsim::osa_distance(word, name);
    let letters = word.chars().filter(|c| c.is_ascii_alphanumeric()).count();
    let begins = || {
        let mut parts = name.match_indices('-').map(|(end, _)| &name[..end]);
        parts.any(|part| part.len() >= SHORTEST_PART && is_near(strsim::osa_distance(word, part)))
    };
    let is_like = is_near(distance)
        || letters >= SHORTEST_BEGINNING && name.starts_with(word)
        || letters >= SHORTEST_PART && begins();
    is_like.then_some(distance)
}

/// The advice for a name that is not among `names`: the one that is most like it, and all of them.
pub(crate) fn one_of(name: &str, names: &[&str]) -> String {
    let all = names.join(", ");
    match nearest(&name.to_ascii_lowercase(), names.iter().copied()) {
        Some(like) => format!("write '{like}', or use one of {all}"),
        None => format!("use one of {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word() {
        let known = ["mpirun", "mpiexec", "srun"];
        assert_eq!(nearest("mpirum", known), Some("mpirun"));
        assert_eq!(nearest("mpirnu", known), Some("mpirun"));
        assert_eq!(nearest("mipexec", known), Some("mpiexec"));
        assert_eq!(nearest("lmp", known), None);
        assert_eq!(nearest("foo", ["fix", "fog"]), Some("fog"));
        assert_eq!(nearest("foo", ["fix", "of"]), None);
        assert_eq!(nearest("--topo", ["--mode", "--topology"]), Some("--topology"));
        let algorithms = ["topomatch", "hiertopomap-tree", "hiertopomap-bipart"];
        assert_eq!(nearest("hiertopmap", algorithms), Some("hiertopomap-tree"));
        assert_eq!(nearest("hierarchy", algorithms), None);
        assert_eq!(one_of("Tours", &["tree", "torus"]), "write 'torus', or use one of tree, torus");
        assert_eq!(one_of("ring", &["tree", "torus"]), "use one of tree, torus");
    }
}
